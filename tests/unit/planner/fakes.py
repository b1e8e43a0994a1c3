"""A catalog in memory for planner tests: one cube of flights, its fact in three tables, and a plain table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import (
    Aggregate,
    Column,
    Cube,
    Fact,
    Function,
    Measure,
    Partition,
    Storage,
    StorageTable,
    Table,
    View,
)
from rewriter.catalog.model.temporary_views import NO_VIEWS, TemporaryView
from rewriter.errors import Span
from rewriter.grammar.terms import Query
from rewriter.planner.model.plan import Plan, Settings
from rewriter.planner.plan_query import plan_query
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.time_bounds import parse_instant
from rewriter.timeline.timeline import OrdinalRange

P = UpdatePeriod

FLIGHTS = Cube(
    1,
    "flights",
    (Column("origin", "string"), Column("carrier", "string")),
    (
        Measure("flights", "bigint", Aggregate.COUNT),
        Measure("departures", "bigint", Aggregate.COUNT),
        Measure("distance", "bigint", Aggregate.SUM),
        Measure("price", "decimal(10,2)", Aggregate.SUM),
        Measure("delay", "double", Aggregate.SUM, "departures"),
        Measure("worst", "double", Aggregate.MAX),
    ),
    ("departed",),
    ("origin", "carrier", "flights", "departures", "distance", "price", "delay", "worst", "departed"),
)
DATA = tuple(Column(c.name, c.type) for c in (*FLIGHTS.dimensions, *FLIGHTS.measures))


def table(number: int, name: str, *time_columns: str) -> Table:
    columns = tuple(Column(column, "string") for column in time_columns)
    return Table(number, name, DATA, columns, "parquet", f"/warehouse/{name}")


def storage_table(name: str, layouts: Mapping[UpdatePeriod, Sequence[tuple[str, str | None]]]) -> StorageTable:
    return StorageTable(name, "departed", {p: TimeLayout.of(p, columns) for p, columns in layouts.items()})


class FakeReader:
    """Returns the results of a snapshot; ``covered`` maps (table, period) to ranges of time as text pairs."""

    current = "default"
    temporary_views = NO_VIEWS

    def __init__(
        self,
        facts: Sequence[Fact],
        tables: Sequence[Table],
        covered: Mapping[tuple[str, UpdatePeriod], Sequence[tuple[str, str]]],
        sizes: Mapping[tuple[str, UpdatePeriod], int] | None = None,
    ) -> None:
        self._facts = tuple(facts)
        self._tables = {table.name: table for table in tables}
        self._covered = dict(covered)
        self._sizes = dict(sizes or {})

    def find_function(self, name: str) -> Function | None:
        return None

    def temporary(self, name: str) -> Table | None:
        return None

    def temporary_view(self, name: str) -> TemporaryView | None:
        return None

    def is_temporary(self, name: str) -> bool:
        return False

    def find(self, name: str) -> Table | Cube | Fact | None:
        objects: dict[str, Table | Cube | Fact] = {**self._tables, FLIGHTS.name: FLIGHTS}
        objects |= {fact.name: fact for fact in self._facts}
        return objects.get(name.lower())

    def find_view(self, name: str) -> View | None:
        return None

    def views(self) -> tuple[View, ...]:
        return ()

    def table(self, name: str) -> Table:
        return self._tables[name]

    def cube(self, name: str) -> Cube:
        return FLIGHTS

    def facts_of(self, cube_name: str) -> tuple[Fact, ...]:
        return self._facts

    def tables(self) -> tuple[Table, ...]:
        return tuple(self._tables.values())

    def cubes(self) -> tuple[Cube, ...]:
        return (FLIGHTS,)

    def facts(self) -> tuple[Fact, ...]:
        return self._facts

    def timeline(self, table_name: str, period: UpdatePeriod, time_dimension: str) -> RangesPartitionTimeline:
        return _line(period, self._covered.get((table_name, period), ()))

    def outdated(self, table_name: str, period: UpdatePeriod, time_dimension: str) -> RangesPartitionTimeline:
        return _line(period, ())

    def unproven(self, table_name: str, period: UpdatePeriod, time_dimension: str) -> RangesPartitionTimeline:
        return _line(period, ())

    def open(self, table_name: str, period: UpdatePeriod, time_dimension: str) -> RangesPartitionTimeline:
        return _line(period, ())

    def incomplete(self, table_name: str, period: UpdatePeriod, time_dimension: str) -> RangesPartitionTimeline:
        return _line(period, ())

    def retired(self, table_name: str, period: UpdatePeriod, time_dimension: str) -> RangesPartitionTimeline:
        return _line(period, ())

    def differing_keys(self, table: Table) -> frozenset[bytes]:
        return frozenset()

    def doubts(self, table: Table, ranges: Sequence[KeyRange]) -> tuple[str, ...]:
        return ("LOAD DATA loaded it",)

    def mean_bytes(self, table_name: str, period: UpdatePeriod) -> int | None:
        return self._sizes.get((table_name, period))

    def partitions(self, table: Table, ranges: Sequence[KeyRange] | None = None) -> tuple[Partition, ...]:
        return ()


def _line(period: UpdatePeriod, ranges: Sequence[tuple[str, str]]) -> RangesPartitionTimeline:
    bounds = [(period.ordinal(parse_instant(a)), period.ordinal(parse_instant(b))) for a, b in ranges]
    return RangesPartitionTimeline(OrdinalRange(a, b) for a, b in bounds)


FACT = Fact(
    2,
    "flights_all",
    "flights",
    (
        Storage(
            "default",
            (
                storage_table("hourly", {P.HOURLY: [("dt", None)]}),
                storage_table("daily", {P.DAILY: [("ds", None)]}),
                storage_table("monthly", {P.MONTHLY: [("month", None)]}),
            ),
        ),
    ),
)
AIRLINES = Table(20, "airlines", (Column("carrier", "string"), Column("name", "string")), (), "parquet", "/warehouse/a")
QUARTER = [("2013-01-01", "2013-04-01")]


def reader(**changes: object) -> FakeReader:
    """Returns a reader of hours, days and months of the first quarter of 2013. All exist except for ``changes``."""
    settings: dict[str, object] = {
        "facts": (FACT,),
        "tables": (table(10, "hourly", "dt"), table(11, "daily", "ds"), table(12, "monthly", "month"), AIRLINES),
        "covered": {("hourly", P.HOURLY): QUARTER, ("daily", P.DAILY): QUARTER, ("monthly", P.MONTHLY): QUARTER},
    }
    return FakeReader(**(settings | changes))  # type: ignore[arg-type]


def plan(
    sql: str, catalog: FakeReader | None = None, parameters: Mapping[str, object] | None = None, **settings: object
) -> Plan:
    """Returns the plan of ``sql`` with ``now`` at 2013-03-01T06:30."""
    chosen = Settings(now=parse_instant("2013-03-01T06:30"), **settings)  # type: ignore[arg-type]
    return plan_query(Query(sql, Span(0, len(sql))), catalog or reader(), chosen, parameters or {})


def cover_of(planned: Plan) -> dict[str, int]:
    """Returns the number of partitions per table of the first reference's cover."""
    return {part.table: part.partitions for part in planned.coverage.references[0].parts}
