"""How much a call works, in lines of Python that are executed: the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def executed_lines(run: Callable[[], object]) -> int:
    """How many lines of Python ``run`` executes, those of loops as often as they run."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> Callable[..., object]:
        nonlocal count
        count += 1
        return counted

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        run()
    finally:
        sys.settrace(before)
    return count
