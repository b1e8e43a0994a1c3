"""The warnings of results as warnings of Python, so that a program that only fetches rows sees them, too.

``warnings.filterwarnings`` chooses what becomes of them: ``error`` for ``PartialResultWarning`` makes a partial result
an exception.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rewriter.runtime.result import Result

#: The packages between a program and the connection that it uses: the program's own line is shown.
_INNER_PACKAGES = frozenset({"rewriter", "pandas", "polars", "sqlalchemy"})


class Warning(UserWarning):  # PEP 249 wants this name
    """The category of all warnings about results. Raised only where the filters of Python make it an error."""


class PartialResultWarning(Warning):
    """A result lacks ranges that were requested (``SET rewriter.partial_data = true``)."""


def warn(result: Result) -> None:
    """Emits each warning of a result, with the line of the program that executed the statement."""
    if not result.warnings:
        return
    category = Warning if result.coverage.complete else PartialResultWarning
    level = _stack_level()
    for text in result.warnings:
        warnings.warn(text, category, stacklevel=level)


def _stack_level() -> int:
    """Returns the number of the frames from ``warn`` to the frame of the program."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INNER_PACKAGES:
        frame, level = frame.f_back, level + 1
    return level
