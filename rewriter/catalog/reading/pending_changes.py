"""The uncommitted changes of a multi-statement transaction, as its own statements see them.

Rows come with the commit, so no read under the transaction's snapshot shows them. Objects that the transaction has made
or dropped are few, and are shown as they will be. The rows of tables whose partitions it has changed, and of the tables
of their facts, are read from its private catalog (``catalog.workspace``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    MovePartitions,
    NoteFiles,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.json_codec import Object, key_of, kind_of
from rewriter.catalog.reading.queries import ALL_COMMITTED, write_id_list
from rewriter.errors import InternalError, NotSupportedError
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Table
    from rewriter.catalog.model.write_ids import ValidWriteIdList
    from rewriter.catalog.store.database import Database


@dataclass(frozen=True)
class OwnRows:
    """The rows of the tables that a transaction affects, with its own changes.

    ``database`` returns the private catalog that has them, and ``sequence`` is the number of the newest commit in it
    that the statement sees. ``identity`` is the identity of the private catalog (``CatalogState``). ``tables`` are the
    ids of the affected tables.
    """

    identity: int
    tables: frozenset[int]
    sequence: int
    database: Callable[[], Database]
    _lists: dict[int, ValidWriteIdList] = field(default_factory=dict)

    def write_ids(self, table_id: int) -> ValidWriteIdList:
        """Returns the write ids of an affected table, numbers of the private catalog, that the statement sees."""
        if table_id not in self._lists:
            with self.database().read() as connection:
                self._lists[table_id] = write_id_list(connection, table_id, self.sequence, ALL_COMMITTED)
        return self._lists[table_id]


@dataclass(frozen=True)
class Pending:
    """``written`` are the tables whose partitions are changed, ``dropped`` the objects that end, both by id.

    ``own`` are the rows of all affected tables; ``None`` if there is none.
    """

    written: Mapping[int, Table] = field(default_factory=dict)
    created: Mapping[str, Object] = field(default_factory=dict)
    dropped: Mapping[int, Object] = field(default_factory=dict)
    own: OwnRows | None = None

    @classmethod
    def of(cls, changes: Iterable[Change], own: OwnRows | None = None) -> Pending:
        """Summarizes changes. Raises ``InternalError`` for a kind that such a transaction cannot contain."""
        written: dict[int, Table] = {}
        created: dict[str, Object] = {}
        dropped: dict[int, Object] = {}
        for change in changes:
            match change:
                case CreateObject(object_):
                    created[key_of(object_)] = object_
                case DropObject(object_):
                    if created.get(key_of(object_)) == object_:
                        del created[key_of(object_)]
                    dropped[object_.id] = object_
                case WritePartitions() | AddPartitions() | DropPartitions() | TruncatePartitions():
                    written[change.table.id] = change.table
                case MovePartitions():
                    written |= {table.id: table for table in (change.source, change.target)}
                case NoteFiles():
                    pass  # The table reads the same after it.
                case _:
                    raise InternalError(
                        f"{type(change).__name__} cannot be part of a transaction of several statements"
                    )
        return cls(written, created, dropped, own)

    def named(self, key: str, stored: Object | None) -> Object | None:
        """Returns the object with a name. ``stored`` is the committed one."""
        if key in self.created:
            return self.created[key]
        return None if stored is not None and stored.id in self.dropped else stored

    def among(self, kind: str, stored: Sequence[Object]) -> list[Object]:
        """Returns all objects of a kind. ``stored`` are the committed ones."""
        created = [object_ for object_ in self.created.values() if kind_of(object_) == kind]
        return [*(object_ for object_ in stored if object_.id not in self.dropped), *created]

    def has_changed(self, object_: Object) -> bool:
        """Returns True if the transaction has made or written the object."""
        return object_.id in self.written or any(object_.id == created.id for created in self.created.values())


NOTHING = Pending()


def changed_in_transaction(name: str, reason: str) -> NotSupportedError:
    """Returns the error for an operation on an object that the open transaction has changed."""
    return NotSupportedError(
        f"The open transaction has changed '{name}': {reason}.",
        condition="CHANGED_IN_TRANSACTION",
        sqlstate="0A000",
        object=name,
        hint="COMMIT first.",
    )
