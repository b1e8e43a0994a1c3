"""Python's collector of cycles, out of the way of work that makes many objects, all of which stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Collects no cycles in this process until the end: the collector would look at every new object several times, and
    find none to let go. For work of a second at most that waits for nobody.

    Where somebody has turned the collector off it stays so. Of threads that overlap, the first to end turns it on.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
