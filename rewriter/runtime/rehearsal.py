"""The writer of a statement that is explained: its changes are checked as those of a commit, and made nowhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import TracebackType

from rewriter.catalog.commit.freshness import Sources
from rewriter.catalog.commit.transaction import Writer
from rewriter.catalog.model.changes import Change
from rewriter.catalog.model.objects import Table
from rewriter.errors import InternalError


class Rehearsal:
    """A ``Writer`` for statements that write no files. ``changes`` gets what the statement would commit."""

    def __init__(self, rehearse: Callable[[Sequence[Change]], object], changes: list[Change]) -> None:
        self._rehearse = rehearse
        self._changes = changes

    def commit(
        self, changes: Sequence[Change], sources: Collection[int] | Sources = (), unproven: Collection[int] = ()
    ) -> None:
        """Raises the errors of a commit; keeps the changes as values."""
        self._rehearse(changes)
        self._changes += changes

    def allocate_id(self) -> int:
        """Raises ``InternalError``: a rehearsal uses up no numbers."""
        raise _not_rehearsed()

    def write_ids(self, tables: Sequence[Table]) -> tuple[int, ...]:
        """Raises ``InternalError``, as ``allocate_id`` does."""
        raise _not_rehearsed()

    def directory_name(self, table: Table) -> str:
        """Raises ``InternalError``, as ``allocate_id`` does."""
        raise _not_rehearsed()

    def heartbeat(self) -> None:
        """Does nothing: no transaction is open."""

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Does nothing: there is nothing to end."""


def _not_rehearsed() -> InternalError:
    return InternalError("a statement that creates objects or writes files is not rehearsed")
