"""Short words for what the catalog's tests do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog import Catalog, Snapshot, Transaction
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropPartitions,
    PartitionWrite,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, Cube, DataFile, Fact, Storage, StorageTable, Table
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod

P = UpdatePeriod
STRING = Column("dt", "string")
BASE = {"hours": (P.HOURLY,), "days": (P.DAILY,), "coarse": (P.MONTHLY, P.YEARLY)}


@dataclass
class Warehouse:
    """A catalog and short words for what tests do to it."""

    catalog: Catalog
    url: str | None = None

    def opened(self) -> Catalog:
        """Opens another catalog over the same warehouse."""
        return Catalog.open(self.catalog.warehouse, self.url)

    def sql(self, statement: str, **values: object) -> list[tuple[object, ...]]:
        """Runs a statement behind the catalog's back."""
        engine = sa.create_engine(self.url or f"sqlite:///{self.catalog.warehouse / 'catalog.db'}")
        with engine.begin() as connection:
            result = connection.execute(sa.text(statement), values)
            rows = [tuple(row) for row in result] if result.returns_rows else []
        engine.dispose()
        return rows

    def create(self, name: str, columns: tuple[Column, ...] = (STRING,), external: bool = False) -> Table:
        with self.catalog.begin() as tx:
            table = Table(tx.allocate_id(), name, (Column("x", "int"),), columns, "parquet", f"/w/{name}", external)
            tx.commit([CreateObject(table)])
        return table

    def create_fact(
        self, tables: Mapping[str, Sequence[UpdatePeriod]], trusted: Collection[str] = (), name: str = "f"
    ) -> Fact:
        with self.catalog.begin() as tx:
            changes: list[Change] = []
            if self.catalog.snapshot().find("c") is None:
                changes.append(CreateObject(Cube(tx.allocate_id(), "c", (), (), ("t",), ("t",))))
            storage = Storage("default", tuple(storage_table(n, p, n in trusted) for n, p in tables.items()))
            fact = Fact(tx.allocate_id(), name, "c", (storage,))
            tx.commit([*changes, CreateObject(fact)])
        return fact

    def commit(self, changes: Callable[[Transaction], Sequence[Change]], sources: Iterable[int] = ()) -> int:
        with self.catalog.begin() as tx:
            return tx.commit(changes(tx), set(sources))

    def into(self, table: Table, *values: str, sources: Iterable[Table] | None = None, files: int = 1) -> int:
        return self.commit(lambda tx: [write(tx, table, *values, files=files)], self._sources(table, sources))

    def overwrite(self, table: Table, *values: str, sources: Iterable[Table] | None = None, files: int = 1) -> int:
        ids = self._sources(table, sources)
        return self.commit(lambda tx: [write(tx, table, *values, overwrite=True, files=files)], ids)

    def _sources(self, table: Table, sources: Iterable[Table] | None) -> list[int]:
        """Returns the ids of the tables that a query read. By default it is the base of the fact."""
        if sources is not None:
            return [source.id for source in sources]
        snapshot = self.catalog.snapshot()
        fact = snapshot.fact_using(table.name)
        bases = () if fact is None else (stored for stored in fact.tables if fact.base_period in stored.layouts)
        return [snapshot.table(stored.table).id for stored in bases if stored.table != table.name]

    def add(self, table: Table, *values: str) -> int:
        return self.commit(lambda tx: [AddPartitions(table, tuple(PartitionWrite((v,)) for v in values))])

    def drop(self, table: Table, *values: str) -> int:
        return self.commit(lambda tx: [DropPartitions(table, tuple(key(table, v) for v in values))])

    def line(self, table: str, period: UpdatePeriod, kind: str = "timeline") -> list[str]:
        """Returns the values of the periods on a timeline."""
        line = getattr(self.catalog.snapshot(), kind)(table, period, "T")
        return [layout(period).values(o)[0] for r in line.ranges() for o in range(r.start, r.end)]

    def fresh(self, table: str, period: UpdatePeriod) -> list[str]:
        """Returns what is proven and not outdated. Tests write a few hours of a day, so rollups may be incomplete."""
        return sorted(self.line(table, period) + self.line(table, period, "incomplete"))

    def unproven(self, table: str, period: UpdatePeriod) -> list[str]:
        return self.line(table, period, "unproven")

    def outdated(self, table: str, period: UpdatePeriod) -> list[str]:
        return self.line(table, period, "outdated")


def layout(period: UpdatePeriod) -> TimeLayout:
    return TimeLayout.of(period, [("dt", None)])


def storage_table(name: str, periods: Sequence[UpdatePeriod], trusted: bool = False) -> StorageTable:
    return StorageTable(name, "t", {period: layout(period) for period in periods}, trusted)


def key(table: Table, *values: str | None) -> bytes:
    return encode(table.id, [column.type for column in table.partition_columns], values)


def write(
    tx: Transaction, table: Table, *values: str, overwrite: bool = False, files: int = 1, **more: object
) -> WritePartitions:
    write_id = tx.write_id(table)
    parts = tuple(
        PartitionWrite((v,), tuple(DataFile(f"{table.location}/{write_id}/{v}/{n}", 10, 100) for n in range(files)))
        for v in values
    )
    return WritePartitions(table, write_id, parts, overwrite, **more)  # type: ignore[arg-type]


def paths(snapshot: Snapshot, table: Table, ranges: Sequence[KeyRange] | None = None) -> list[str]:
    return [file.path.removeprefix(table.location + "/") for _, file in snapshot.files(table, ranges)]


def names(snapshot: Snapshot, table: Table) -> list[str | None]:
    return [partition.values[0] for partition in snapshot.partitions(table)]
