"""What a transaction of several statements is to commit, as its own statements see it.

Rows come with the commit, so no read under the transaction's snapshot shows them. Objects that the transaction has made
or dropped are few, and shown as they will be. A table whose partitions it has changed is not read at all before the
commit: nobody gets an answer without his own rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rewriter.catalog.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    MovePartitions,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.codec import Object, key_of, kind_of
from rewriter.catalog.models import Table
from rewriter.errors import InternalError, NotSupportedError


@dataclass(frozen=True)
class Pending:
    """``written`` are the tables whose partitions are changed, ``dropped`` the objects that end, both by id."""

    written: Mapping[int, Table] = field(default_factory=dict)
    created: Mapping[str, Object] = field(default_factory=dict)
    dropped: Mapping[int, Object] = field(default_factory=dict)

    @classmethod
    def of(cls, changes: Iterable[Change]) -> Pending:
        """What these changes come to. ``InternalError`` for a kind that is part of no such transaction."""
        written: dict[int, Table] = {}
        created: dict[str, Object] = {}
        dropped: dict[int, Object] = {}
        for change in changes:
            match change:
                case CreateObject(thing):
                    created[key_of(thing)] = thing
                case DropObject(thing):
                    dropped[thing.id] = thing
                case WritePartitions() | AddPartitions() | DropPartitions() | TruncatePartitions():
                    written[change.table.id] = change.table
                case MovePartitions():
                    written |= {table.id: table for table in (change.source, change.target)}
                case _:
                    raise InternalError(f"{type(change).__name__} is part of no transaction of several statements")
        return cls(written, created, dropped)

    def named(self, key: str, found: Object | None) -> Object | None:
        """What a name means, under which ``found`` is committed."""
        if key in self.created:
            return self.created[key]
        return None if found is not None and found.id in self.dropped else found

    def among(self, kind: str, found: Sequence[Object]) -> list[Object]:
        """All objects of a kind, of which ``found`` are committed."""
        made = [thing for thing in self.created.values() if kind_of(thing) == kind]
        return [*(thing for thing in found if thing.id not in self.dropped), *made]

    def check_unchanged(self, id: int) -> None:
        """``NotSupportedError`` CHANGED_IN_TRANSACTION where the partitions of this table are changed."""
        if id in self.written:
            raise changed(self.written[id].name, "its partitions are not read before COMMIT")

    def check_droppable(self, thing: Object) -> None:
        """``NotSupportedError`` CHANGED_IN_TRANSACTION for what the transaction has made, or written."""
        if thing.id in self.written or any(thing.id == one.id for one in self.created.values()):
            raise changed(thing.name, "it is not dropped before COMMIT")


NOTHING = Pending()


def changed(name: str, what: str) -> NotSupportedError:
    """The error for what cannot be done with an object once the open transaction has changed it."""
    return NotSupportedError(
        f"The open transaction has changed '{name}': {what}.",
        condition="CHANGED_IN_TRANSACTION",
        sqlstate="0A000",
        object=name,
        hint="COMMIT first; or do this before the statement that changes it.",
    )
