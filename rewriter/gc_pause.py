"""Pauses Python's cyclic garbage collector during work that creates many long-lived objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Disables the cyclic garbage collector of this process until the block ends: it would visit every new object
    several times, and free none. Use it for work of at most some seconds that does not wait for other processes.

    If the collector is already disabled, it stays so. If blocks of several threads overlap, the first to end enables
    it.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
