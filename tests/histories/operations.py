"""The operations of the processes of a history: values that a log can hold, chosen from what a snapshot shows.

The warehouse has a fact of ``days`` with ``months`` over them, and free tables ``t0``, ``t1``, … that are created and
dropped.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rewriter.catalog import Catalog, Snapshot, Transaction
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterColumns,
    AlterTable,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    MovePartitions,
    PartitionMove,
    PartitionWrite,
    RefreshTimelines,
    RenameObject,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, Cube, DataFile, Fact, Partition, Storage, StorageTable, Table
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod

PERIODS = {"days": UpdatePeriod.DAILY, "months": UpdatePeriod.MONTHLY}
LAYOUTS = {name: TimeLayout.of(period, [("dt", None)]) for name, period in PERIODS.items()}
MONTHS = ("2013-01", "2013-02")
#: There are few values, so that writers conflict.
DAYS = tuple([f"2013-01-{day}" for day in range(25, 32)] + [f"2013-02-0{day}" for day in range(1, 9)])
#: All days of these months, and those that are registered empty from the beginning. The other days complete months.
ALL_DAYS = tuple(f"2013-{month:02}-{day:02}" for month, days in ((1, 31), (2, 28)) for day in range(1, days + 1))
FIRST_DAYS = tuple(day for day in ALL_DAYS if day not in ("2013-01-31", "2013-02-01", "2013-02-02", "2013-02-03"))
FREE_NAMES = ("t0", "t1", "t2", "t3")
FREE_VALUES = tuple("abcdefgh")
VALUES = {"days": DAYS, "months": MONTHS}


@dataclass(frozen=True)
class Operation:
    """One change of one table. The kind determines the meaning of a field.

    ``files`` are the paths that a write adds, by partition. ``bounds`` are the values ``[a, b)`` in which it looked for
    partitions. ``goal`` is a new name or value. ``source`` is the table that an EXCHANGE takes from. ``sourced`` marks
    a rollup that was computed from the days of its month.
    """

    kind: str
    table: int
    name: str
    values: tuple[str, ...] = ()
    files: dict[str, list[str]] = field(default_factory=dict)
    bounds: tuple[str, str] | None = None
    goal: str = ""
    source: int = 0
    sourced: bool = False

    def logged(self) -> dict[str, Any]:
        """Returns the operation as a JSON value."""
        return asdict(self)

    @classmethod
    def read(cls, logged: dict[str, Any]) -> Operation:
        """Reads what ``logged`` has returned."""
        bounds = logged["bounds"]
        fields = {**logged, "values": tuple(logged["values"]), "bounds": tuple(bounds) if bounds else None}
        return cls(**fields)


def key(table: int, value: str) -> bytes:
    """Returns the key of a partition."""
    return encode(table, ["string"], [value])


def build(catalog: Catalog) -> None:
    """Creates the fact with its tables, two free tables, and the first days, in three commits."""
    with catalog.begin() as tx:
        fixed = [_table(tx, name) for name in PERIODS]
        tables = tuple(StorageTable(name, "t", {PERIODS[name]: LAYOUTS[name]}) for name in PERIODS)
        cube = Cube(tx.allocate_id(), "c", (), (), ("t",), ("t",))
        fact = Fact(tx.allocate_id(), "f", "c", (Storage("s", tables),))
        tx.commit([*map(CreateObject, fixed), CreateObject(cube), CreateObject(fact)])
    with catalog.begin() as tx:
        tx.commit([CreateObject(_table(tx, name)) for name in FREE_NAMES[:2]])
    with catalog.begin() as tx:
        parts = tuple(PartitionWrite((day,)) for day in FIRST_DAYS)
        tx.commit([AddPartitions(tx.snapshot.table("days"), parts)])


def _table(tx: Transaction, name: str) -> Table:
    id = tx.allocate_id()
    return Table(id, name, (Column("x", "int"),), (Column("dt", "string"),), "parquet", f"/w/{name}-{id}")


_WEIGHTS = {
    "into": 10,
    "overwrite": 10,
    "wipe": 3,
    "add": 3,
    "drop": 4,
    "rename_partition": 4,
    "truncate": 2,
    "exchange": 3,
    "refresh": 1,
    "create_table": 2,
    "drop_table": 1,
    "rename_table": 2,
    "add_column": 1,
    "set_property": 2,
}
_DDL = ("exchange", "create_table", "drop_table", "rename_table", "add_column")


def choose(rng: random.Random, tx: Transaction, worker: int) -> Operation | None:
    """Chooses an operation for a transaction by what its snapshot shows. ``None``: there is nothing to do."""
    snapshot = tx.snapshot
    tables = {table.name: table for table in snapshot.tables()}
    incomplete = snapshot.incomplete("months", PERIODS["months"], "t").ranges()
    if incomplete and rng.random() < 0.4:  # As MARK COMPLETE does: it adds the missing days of the months, empty.
        there = {str(partition.values[0]) for partition in snapshot.partitions(tables["days"])}
        absent = tuple(day for day in DAYS if day not in there)
        if absent:
            return Operation("add", tables["days"].id, "days", absent)
    kind = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    free = [table for name, table in tables.items() if name in FREE_NAMES]
    unused = [name for name in FREE_NAMES if name not in tables]
    if kind == "create_table":
        return Operation(kind, tx.allocate_id(), rng.choice(unused)) if unused else None
    table = rng.choice(free) if free and (kind in _DDL or rng.random() < 0.45) else None
    if table is None:
        if kind in _DDL:
            return None
        table = tables[rng.choices(["days", "months"], [3, 2])[0]]
    if kind == "rename_table":
        return Operation(kind, table.id, table.name, goal=rng.choice(unused)) if unused else None
    if kind in ("drop_table", "add_column", "set_property", "refresh"):
        return Operation(kind, table.id, table.name, goal=f"{worker}")
    if kind == "exchange":
        return _exchange(rng, snapshot, table, free)
    return _of_partitions(rng, kind, tx, table, snapshot.partitions(table))


def _exchange(rng: random.Random, snapshot: Snapshot, table: Table, free: Sequence[Table]) -> Operation | None:
    sources = [
        candidate for candidate in free if candidate.id != table.id and len(candidate.columns) == len(table.columns)
    ]
    if not sources:
        return None
    source = rng.choice(sources)
    taken = {partition.values[0] for partition in snapshot.partitions(table)}
    values = [str(partition.values[0]) for partition in snapshot.partitions(source) if partition.values[0] not in taken]
    if not values:
        return None
    return Operation("exchange", table.id, table.name, tuple(rng.sample(values, min(2, len(values)))), source=source.id)


def _of_partitions(
    rng: random.Random, kind: str, tx: Transaction, table: Table, partitions: Sequence[Partition]
) -> Operation | None:
    domain = VALUES.get(table.name, FREE_VALUES)
    there = [str(partition.values[0]) for partition in partitions if partition.values[0] in domain]
    absent = [value for value in domain if value not in there]
    some = there if kind in ("drop", "rename_partition", "truncate") else absent if kind == "add" else list(domain)
    if not some:
        return None
    values = tuple(sorted(rng.sample(some, min(len(some), rng.choice([1, 1, 1, 2, 4])))))
    operation = Operation(kind, table.id, table.name, values)
    if kind == "rename_partition":
        return Operation(kind, table.id, table.name, values[:1], goal=rng.choice(absent)) if absent else None
    if kind == "drop" and rng.random() < 0.4:
        bounds = _bounds(rng, domain)
        inside = tuple(value for value in there if bounds[0] <= value < bounds[1])
        return Operation(kind, table.id, table.name, inside, bounds=bounds)
    if kind not in ("into", "overwrite", "wipe"):
        return operation
    files = {v: [f"/w/{tx.id}/{v}/{n}" for n in range(rng.choice([0, 1, 1, 2]))] for v in values}
    sourced = table.name == "months" and rng.random() < 0.7
    bounds_of_wipe = _bounds(rng, domain) if kind == "wipe" else None
    return Operation(kind, table.id, table.name, values, files, bounds_of_wipe, sourced=sourced)


def _bounds(rng: random.Random, domain: Sequence[str]) -> tuple[str, str]:
    low, high = sorted(rng.sample(range(len(domain) + 1), 2))
    return domain[low], f"{domain[high - 1]}\1"


def changes(operation: Operation, tx: Transaction) -> list[Change]:
    """Returns the operation as changes of the catalog."""
    kind, values = operation.kind, operation.values
    if kind == "create_table":
        columns = (Column("x", "int"),), (Column("dt", "string"),)
        return [
            CreateObject(
                Table(operation.table, operation.name, *columns, "parquet", f"/w/{operation.name}-{operation.table}")
            )
        ]
    if kind == "refresh":
        return [RefreshTimelines(tx.snapshot.fact("f"))]
    table = tx.snapshot.table(operation.name)
    keys = tuple(key(table.id, value) for value in values)
    ranges = () if operation.bounds is None else (KeyRange(*(key(table.id, value) for value in operation.bounds)),)
    if kind in ("into", "overwrite", "wipe"):
        parts = tuple(PartitionWrite((v,), tuple(DataFile(p, 1, 10) for p in operation.files[v])) for v in values)
        return [WritePartitions(table, tx.write_id(table), parts, kind != "into", ranges)]
    if kind == "add":
        return [AddPartitions(table, tuple(PartitionWrite((value,)) for value in values))]
    if kind == "drop":
        return [DropPartitions(table, keys, ranges)]
    if kind == "truncate":
        return [TruncatePartitions(table, keys)]
    if kind == "rename_partition":
        return [MovePartitions(table, table, (PartitionMove(keys[0], (operation.goal,)),))]
    if kind == "exchange":
        source = next(candidate for candidate in tx.snapshot.tables() if candidate.id == operation.source)
        return [MovePartitions(source, table, tuple(PartitionMove(key(source.id, v), (v,)) for v in values))]
    if kind == "drop_table":
        return [DropObject(table)]
    if kind == "rename_table":
        return [RenameObject(table, operation.goal)]
    if kind == "add_column":
        return [AlterColumns(table, (Column(f"c{len(table.columns)}", "int"),))]
    return [AlterTable(table, {f"p{operation.goal}": str(tx.id)})]


def sources(operation: Operation, tx: Transaction) -> dict[int, Sequence[KeyRange] | None]:
    """Returns the partitions that the query of a write has read: the days of the months that it wrote."""
    if not operation.sourced:
        return {}
    days = tx.snapshot.table("days").id
    return {days: [KeyRange(key(days, month), key(days, f"{month}~")) for month in operation.values]}
