"""A wrapper for a timeline of a user's class: failures name the class, and wrong results never reach a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from rewriter.errors import OperationalError
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.timeline import OrdinalRange


class GuardedTimeline:
    """A ``PartitionTimeline`` whose every result is compared with that of plain ranges.

    The conformance check of a class (``conformance_check``) is short and uses small ordinals only. An exception of the
    class, or a result that differs, becomes ``OperationalError`` TIMELINE_FAILED, which names the class. A call costs
    O(ranges in the result) more than the class takes.
    """

    def __init__(self, kind: Callable[..., Any], ranges: Iterable[OrdinalRange], implementation: str) -> None:
        """``implementation`` is the class's full name, for error messages and for display."""
        self.implementation = implementation
        self._reference = RangesPartitionTimeline(ranges)
        self._delegate = self._guarded("__init__", kind, self._reference.ranges())

    def __getattr__(self, member: str) -> Any:
        if member.startswith("_"):
            raise AttributeError(member)
        expected = getattr(self._reference, member)
        actual = self._guarded(member, getattr, self._delegate, member)
        if callable(expected):
            return partial(self._compared, member, expected, actual)
        return self._same(member, expected, actual)

    def _compared(
        self, member: str, expected: Callable[..., Any], actual: Callable[..., Any], *arguments: object
    ) -> Any:
        return self._same(member, expected(*arguments), self._guarded(member, actual, *arguments))

    def _same(self, member: str, expected: Any, actual: Any) -> Any:
        if actual != expected:
            raise self._failed(member, f"returned {_short_text(actual)}, not {_short_text(expected)}")
        return expected

    def _guarded(self, member: str, call: Callable[..., Any], *arguments: object) -> Any:
        try:
            return call(*arguments)
        except Exception as error:  # a user's class may raise any exception
            raise self._failed(member, f"raises {type(error).__name__}: {error}") from error

    def _failed(self, member: str, failure: str) -> OperationalError:
        return OperationalError(
            f"the timeline {self.implementation} fails: {member} {failure}",
            condition="TIMELINE_FAILED",
            object=self.implementation,
            hint="ALTER TABLE … SET TIMELINE … TO 'EndsAndHoles' keeps the same partitions with another class.",
        )


def _short_text(result: object) -> str:
    text = repr(result)
    return text if len(text) <= 80 else f"{text[:80]}…"
