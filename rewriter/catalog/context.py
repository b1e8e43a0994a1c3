"""What the parts of one commit share: its numbers, its write ids, its events, and the live objects."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import sqlalchemy as sa

from rewriter.catalog import reads, schema
from rewriter.catalog.bulk import insert_rows
from rewriter.catalog.codec import Object
from rewriter.catalog.database import NOW, Database, next_number
from rewriter.catalog.freshness import Sources
from rewriter.catalog.models import Fact, Table
from rewriter.catalog.prepared import changed, fetch_value, once
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.timelines import TimelineDifference
from rewriter.catalog.writeids import ValidTxnList
from rewriter.errors import ConflictError

_Kind = TypeVar("_Kind", bound=Object)

_INSERT_EVENT, _INSERT_ID = schema.events.insert(), schema.write_ids.insert()
_EVERYONE = ValidTxnList(schema.NEVER, frozenset())


class CommitContext:
    """One commit inside its write transaction, under a number that nobody else can hold."""

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
        """What is there for a commit of this number. Reads and writes nothing."""
        self.database = database
        self.connection = connection
        self.transaction_id = transaction_id
        self.snapshot = snapshot
        self.sources = sources
        self.unproven = unproven
        self.sequence = sequence
        #: What the timelines that this commit rebuilt said otherwise before.
        self.differences: list[TimelineDifference] = []
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
        """Takes the next commit number. ``ConflictError`` where the transaction is not open any more."""
        sequence = next_number(connection, "commit")
        context = cls(database, connection, transaction_id, snapshot, sources, unproven, sequence)
        context._close_transaction()
        return context

    def _close_transaction(self) -> None:
        dialect, given = self.connection.dialect, {"mine": self.transaction_id, "sequence": self.sequence}
        if changed(self.connection, _close(dialect), **given) != 1:
            raise not_open(self.transaction_id)
        changed(self.connection, _commit_ids(dialect), **given)

    def write_id(self, object_id: int) -> int:
        """The transaction's write id for an object; allocated now where it had none."""
        if object_id not in self._touched:
            self._touched[object_id] = hold_write_id(
                self.connection, self.transaction_id, object_id, commit_seq=self.sequence
            )
        return self._touched[object_id]

    def log(self, kind: str, thing: Object, **payload: object) -> None:
        """Notes an event; it gets its number at the end of the commit."""
        self._events.append((kind, thing.id, {"name": thing.name, **payload}))

    def live_table(self, table: Table) -> Table:
        """The table as it is now; ``ConflictError`` where it was dropped since the transaction began."""
        if self.live_row(table) is None:
            raise ConflictError(
                f"another transaction has dropped the table '{table.name}'", object=table.name, hint="look it up again"
            )
        return table

    def check_columns(self, table: Table) -> None:
        """``ConflictError`` where another transaction has altered the table's columns since this one looked."""
        live = self.live(table)
        if live is not None and _names_and_types(live) != _names_and_types(table):
            raise ConflictError(
                f"another transaction has altered the columns of '{table.name}' since this one began",
                object=table.name,
                hint="look at the columns, then run the statement again",
            )

    def live_object(self, name: str) -> Object | None:
        """The object of that name as of now, changes of this commit included."""
        found = reads.objects(self.connection, self.sequence, name=name)
        return found[0][0] if found else None

    def live(self, thing: _Kind) -> _Kind | None:
        """The object as of now, changes of this commit included, whatever it is called; ``None`` where it is gone."""
        found = reads.objects(self.connection, self.sequence, id=thing.id)
        return found[0][0] if found and isinstance(found[0][0], type(thing)) else None

    def live_row(self, thing: Object) -> int | None:
        """The row of a table, cube or fact; ``None`` where it is not there any more."""
        found: int | None = fetch_value(self.connection, _row_of(self.connection.dialect), object=thing.id)
        return found

    def live_facts(self) -> list[tuple[Fact, int]]:
        """All facts as of now, each with the number of the commit that made it."""
        found = reads.objects(self.connection, self.sequence, kind="fact")
        return [(thing, made_by) for thing, made_by in found if isinstance(thing, Fact)]

    def write_log(self) -> None:
        """Writes the events and the commit's own, numbered on without a gap. Each carries the write ids now valid."""
        held = schema.write_ids
        # An id that was taken and wrote nothing is valid from this commit on, too.
        mine = sa.select(held.c.object_id).where(held.c.transaction_id == self.transaction_id)
        lists = {
            object_id: str(reads.write_id_list(self.connection, object_id, self.sequence, _EVERYONE))
            for object_id in self.connection.execute(mine.order_by(held.c.object_id)).scalars().all()
        }
        entries: list[tuple[str, int | None, dict[str, Any]]] = [
            (kind, object_id, {**payload, "write_ids": lists.get(object_id or 0)})
            for kind, object_id, payload in self._events
        ]
        entries.append(("COMMIT", None, {"write_ids": lists}))
        first = next_number(self.connection, "event", len(entries))
        common = (self.transaction_id, self.sequence)
        rows = [
            (first + place, kind, object_id, json.dumps(payload, ensure_ascii=False), *common)
            for place, (kind, object_id, payload) in enumerate(entries)
        ]
        columns = ("event_seq", "kind", "object_id", "payload", "transaction_id", "commit_seq")
        insert_rows(self.connection, _INSERT_EVENT, columns, rows)


def _names_and_types(table: Table) -> list[tuple[str, str]]:
    return [(column.name, column.type) for column in table.all_columns]


def hold_write_id(connection: sa.Connection, transaction_id: int, object_id: int, commit_seq: int | None = None) -> int:
    """The write id that a transaction holds of an object; the next of its sequence where it holds none yet."""
    dialect = connection.dialect
    mine = fetch_value(connection, _held(dialect), mine=transaction_id, object=object_id)
    if mine is not None:
        return int(mine)
    write_id: int = (fetch_value(connection, _newest_id(dialect), object=object_id) or 0) + 1
    columns = ("object_id", "write_id", "transaction_id", "commit_seq")
    insert_rows(connection, _INSERT_ID, columns, [(object_id, write_id, transaction_id, commit_seq)])
    return write_id


def _number(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, 0, sa.BigInteger)


@once
def _close() -> sa.Update:
    row = schema.transactions
    mine = sa.update(row).where(row.c.transaction_id == _number("mine"), row.c.state == "open")
    return mine.values(state="committed", heartbeat_at=NOW, commit_seq=_number("sequence"))


@once
def _commit_ids() -> sa.Update:
    held = schema.write_ids
    return sa.update(held).where(held.c.transaction_id == _number("mine")).values(commit_seq=_number("sequence"))


@once
def _row_of() -> sa.Select[Any]:
    row = schema.objects.c
    return sa.select(row.row_id).where(row.object_id == _number("object"), row.ended == schema.NEVER)


@once
def _held() -> sa.Select[Any]:
    held = schema.write_ids.c
    return sa.select(held.write_id).where(held.transaction_id == _number("mine"), held.object_id == _number("object"))


@once
def _newest_id() -> sa.Select[Any]:
    held = schema.write_ids.c
    return sa.select(sa.func.max(held.write_id)).where(held.object_id == _number("object"))


def not_open(transaction_id: int) -> ConflictError:
    """The error of a transaction that others have aborted, or that has ended."""
    return ConflictError(
        f"transaction {transaction_id} is not open any more",
        condition="TRANSACTION_NOT_OPEN",
        sqlstate="40001",
        hint="it was silent for too long, or has ended; run the statement again",
    )
