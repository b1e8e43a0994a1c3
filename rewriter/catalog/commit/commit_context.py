"""The state that the parts of one commit share: its numbers, its write ids, its events, and the live objects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from rewriter.catalog.facts.time_binding import TimeBinding, bind
from rewriter.catalog.model.json_codec import Object
from rewriter.catalog.model.objects import Fact, Table
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.queries import ALL_COMMITTED, write_id_list
from rewriter.catalog.store import schema
from rewriter.catalog.store.database import NOW, Database, next_number
from rewriter.catalog.store.prepared_statements import changed_rows, fetch_value, insert_rows, once
from rewriter.errors import ConflictError

if TYPE_CHECKING:
    from rewriter.catalog.commit.freshness import Sources
    from rewriter.catalog.commit.stored_timelines import TimelineDifference
    from rewriter.catalog.reading.snapshot import Snapshot

_Kind = TypeVar("_Kind", bound=Object)

_INSERT_EVENT, _INSERT_ID = schema.events.insert(), schema.write_ids.insert()


class CommitContext:
    """One commit inside its write transaction, under a unique number."""

    def __init__(
        self,
        database: Database,
        connection: sa.Connection,
        transaction_id: int,
        snapshot: Snapshot,
        sources: Sources,
        unproven: frozenset[int],
        sequence: int,
    ) -> None:
        """Makes the context of a commit with this number. Reads and writes nothing."""
        self.database = database
        self.connection = connection
        self.transaction_id = transaction_id
        self.snapshot = snapshot
        self.sources = sources
        self.unproven = unproven
        self.sequence = sequence
        #: The differences between the timelines that this commit rebuilt and their previous state.
        self.differences: list[TimelineDifference] = []
        #: The keys of the partitions that were changed while they were copied.
        self.stale_copies: list[bytes] = []
        self._events: list[tuple[str, int | None, dict[str, Any]]] = []
        self._touched: dict[int, int] = {}

    @classmethod
    def begin(
        cls,
        database: Database,
        connection: sa.Connection,
        transaction_id: int,
        snapshot: Snapshot,
        sources: Sources,
        unproven: frozenset[int] = frozenset(),
    ) -> CommitContext:
        """Takes the next commit number. Raises ``ConflictError`` if the transaction is no longer open."""
        sequence = next_number(connection, "commit")
        context = cls(database, connection, transaction_id, snapshot, sources, unproven, sequence)
        context._close_transaction()
        return context

    @cached_property
    def trusted(self) -> int:
        """The newest commit of the releases that accepted rollups without a proof. One statement."""
        counter = schema.counters.c
        query = sa.select(counter.value).where(counter.name == "trusted")
        return int(self.connection.execute(query).scalar_one())

    def _close_transaction(self) -> None:
        dialect, parameters = self.connection.dialect, {"mine": self.transaction_id, "sequence": self.sequence}
        if changed_rows(self.connection, _close(dialect), **parameters) != 1:
            raise not_open(self.transaction_id)
        changed_rows(self.connection, _commit_ids(dialect), **parameters)

    def write_id(self, object_id: int) -> int:
        """Returns the transaction's write id for an object, and allocates it if there is none."""
        if object_id not in self._touched:
            self._touched[object_id] = hold_write_id(
                self.connection, self.transaction_id, object_id, commit_seq=self.sequence
            )
        return self._touched[object_id]

    def log(self, kind: str, object_: Object, **payload: object) -> None:
        """Notes an event, which gets its number at the end of the commit."""
        self._events.append((kind, object_.id, {"name": object_.name, **payload}))

    def live_table(self, table: Table) -> Table:
        """Returns the table. Raises ``ConflictError`` if it was dropped since the transaction began."""
        if self.live_row(table) is None:
            raise ConflictError(
                f"another transaction has dropped the table '{table.name}'", object=table.name, hint="Look it up again."
            )
        return table

    def check_columns(self, table: Table) -> None:
        """Raises ``ConflictError`` if another transaction has altered the table's columns since this one read them."""
        live = self.live(table)
        if live is not None and _read_columns(live) != _read_columns(table):
            raise ConflictError(
                f"another transaction altered the columns of '{table.name}' after this one began",
                object=table.name,
                hint="Check the columns, then run the statement again.",
            )

    def live_object(self, name: str) -> Object | None:
        """Returns the current object with that name, including the changes of this commit."""
        objects = queries.objects(self.connection, self.sequence, name=name)
        return objects[0][0] if objects else None

    def live(self, object_: _Kind) -> _Kind | None:
        """Returns the current object by id, including the changes of this commit; ``None`` if it was dropped."""
        objects = queries.objects(self.connection, self.sequence, id=object_.id)
        return objects[0][0] if objects and isinstance(objects[0][0], type(object_)) else None

    def live_row(self, object_: Object) -> int | None:
        """Returns the row id of a table, cube or fact; ``None`` if it no longer exists."""
        row_id: int | None = fetch_value(self.connection, _row_of(self.connection.dialect), object=object_.id)
        return row_id

    def live_facts(self) -> list[tuple[Fact, int]]:
        """Returns all current facts, each with the number of the commit that created it."""
        facts = queries.objects(self.connection, self.sequence, kind="fact", created=True)
        return [(object_, made_by) for object_, made_by in facts if isinstance(object_, Fact)]

    def bindings_with(self, table_id: int) -> Sequence[TimeBinding]:
        """Returns how the tables of the current fact of a table, given by id, store that fact; the one of the table
        itself first. Empty if it belongs to none.
        """
        objects = queries.objects(self.connection, self.sequence, id=table_id)
        name = objects[0][0].name if objects else ""
        fact = next((fact for fact, _ in self.live_facts() if fact.storage_table(name) is not None), None)
        bindings = () if fact is None else bind(fact, self.live_object)
        return sorted(bindings, key=lambda binding: binding.table.id != table_id)

    def write_log(self) -> None:
        """Writes the events and the commit's own event, numbered without a gap. Each has the write ids valid now."""
        write_ids = schema.write_ids
        # A write id that was taken becomes valid with this commit even if nothing was written under it.
        own_ids = sa.select(write_ids.c.object_id).where(write_ids.c.transaction_id == self.transaction_id)
        lists = {
            object_id: str(write_id_list(self.connection, object_id, self.sequence, ALL_COMMITTED))
            for object_id in self.connection.execute(own_ids.order_by(write_ids.c.object_id)).scalars().all()
        }
        entries: list[tuple[str, int | None, dict[str, Any]]] = [
            (kind, object_id, {**payload, "write_ids": lists.get(object_id or 0)})
            for kind, object_id, payload in self._events
        ]
        entries.append(("COMMIT", None, {"write_ids": lists}))
        first = next_number(self.connection, "event", len(entries))
        common = (self.transaction_id, self.sequence)
        rows = [
            (first + index, kind, object_id, json.dumps(payload, ensure_ascii=False), *common)
            for index, (kind, object_id, payload) in enumerate(entries)
        ]
        columns = ("event_seq", "kind", "object_id", "payload", "transaction_id", "commit_seq")
        insert_rows(self.connection, _INSERT_EVENT, columns, rows)


def _read_columns(table: Table) -> list[tuple[str, str, str]]:
    """Returns what writers and readers of files need of the columns."""
    return [(column.name, column.type, column.stored_name) for column in table.all_columns]


def next_write_id(connection: sa.Connection, object_id: int) -> int:
    """Returns the write id that an object's sequence gives out next."""
    return int(fetch_value(connection, _newest_id(connection.dialect), object=object_id) or 0) + 1


def hold_write_id(
    connection: sa.Connection, transaction_id: int, object_id: int, commit_seq: int | None = None, least: int = 1
) -> int:
    """Returns the write id that a transaction holds for an object, or takes the next one of the object's sequence that
    is not below ``least``.
    """
    dialect = connection.dialect
    held_id = fetch_value(connection, _held_write_id(dialect), mine=transaction_id, object=object_id)
    if held_id is not None:
        return int(held_id)
    write_id = max(least, next_write_id(connection, object_id))
    columns = ("object_id", "write_id", "transaction_id", "commit_seq")
    insert_rows(connection, _INSERT_ID, columns, [(object_id, write_id, transaction_id, commit_seq)])
    return write_id


def _number(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, 0, sa.BigInteger)


@once
def _close() -> sa.Update:
    row = schema.transactions
    own_row = sa.update(row).where(row.c.transaction_id == _number("mine"), row.c.state == "open")
    return own_row.values(state="committed", heartbeat_at=NOW, commit_seq=_number("sequence"))


@once
def _commit_ids() -> sa.Update:
    write_ids = schema.write_ids
    return (
        sa.update(write_ids).where(write_ids.c.transaction_id == _number("mine")).values(commit_seq=_number("sequence"))
    )


@once
def _row_of() -> sa.Select[Any]:
    row = schema.objects.c
    return sa.select(row.row_id).where(row.object_id == _number("object"), row.ended == schema.NEVER)


@once
def _held_write_id() -> sa.Select[Any]:
    write_ids = schema.write_ids.c
    return sa.select(write_ids.write_id).where(
        write_ids.transaction_id == _number("mine"), write_ids.object_id == _number("object")
    )


@once
def _newest_id() -> sa.Select[Any]:
    write_ids = schema.write_ids.c
    return sa.select(sa.func.max(write_ids.write_id)).where(write_ids.object_id == _number("object"))


def not_open(transaction_id: int) -> ConflictError:
    """Returns the error for a transaction that has ended, or that others have aborted."""
    return ConflictError(
        f"transaction {transaction_id} is no longer open",
        condition="TRANSACTION_NOT_OPEN",
        sqlstate="40001",
        hint="It timed out or has ended; run the statement again.",
    )
