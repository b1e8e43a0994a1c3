"""The work of a call in executed lines of Python: the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def executed_lines(run: Callable[[], object]) -> int:
    """Returns the number of lines of Python that ``run`` executes. Lines of loops count each time."""
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
