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
        self._plain = RangesPartitionTimeline(ranges)
        self._theirs = self._guarded("__init__", kind, self._plain.ranges())

    def __getattr__(self, member: str) -> Any:
        if member.startswith("_"):
            raise AttributeError(member)
        ours = getattr(self._plain, member)
        theirs = self._guarded(member, getattr, self._theirs, member)
        if callable(ours):
            return partial(self._compared, member, ours, theirs)
        return self._same(member, ours, theirs)

    def _compared(self, member: str, ours: Callable[..., Any], theirs: Callable[..., Any], *arguments: object) -> Any:
        return self._same(member, ours(*arguments), self._guarded(member, theirs, *arguments))

    def _same(self, member: str, ours: Any, theirs: Any) -> Any:
        if theirs != ours:
            raise self._failed(member, f"returned {_shown(theirs)}, not {_shown(ours)}")
        return ours

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
            hint="ALTER TABLE … SET TIMELINE … TO 'EndsAndHoles' keeps the same partitions with another class",
        )


def _shown(answer: object) -> str:
    text = repr(answer)
    return text if len(text) <= 80 else f"{text[:80]}…"
