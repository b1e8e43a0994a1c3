"""Compares two sides that should agree about a fact, by one query: base and rollup, or two facts.

Both sides are aggregated to periods and dimensions, each measure by its own aggregate, and combined by UNION ALL and
GROUP BY, so that NULL is a value like any other and a row that only one side has is found, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rewriter.catalog.model.key_ranges import merged
from rewriter.catalog.model.objects import Aggregate, Column, Cube, Measure, Table
from rewriter.exec.engine import EngineQuery, Relation
from rewriter.planner.cover.arms import Arm, key_ranges
from rewriter.planner.model.plan import Selection, SqlTemplate, TableToken, TableUse, quote_identifier
from rewriter.planner.rewrite.union_arms import relation
from rewriter.planner.zones.zone_sql import truncated
from rewriter.runtime.statement_context import Context
from rewriter.statements.query.routing import placed
from rewriter.statements.query.select import scan_files
from rewriter.timeline.calendars import Calendar, Period
from rewriter.timeline.civil import MIN_INSTANT
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

#: The allowed difference of sums of floating-point numbers, relative to the sum of their magnitudes.
_TOLERANCE = "1e-9"

_UNITS = {
    UpdatePeriod.MINUTELY: "MINUTE",
    UpdatePeriod.HOURLY: "HOUR",
    UpdatePeriod.DAILY: "DAY",
    UpdatePeriod.WEEKLY: "WEEK",
    UpdatePeriod.MONTHLY: "MONTH",
    UpdatePeriod.QUARTERLY: "QUARTER",
    UpdatePeriod.YEARLY: "YEAR",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Comparison:
    """The partitions of both sides to be compared, over the same time, in units of ``period``.

    ``times`` are the time dimensions beside the leading one that both sides have; they are in units of ``period``,
    too.
    """

    cube: Cube
    period: Period
    base: tuple[Arm, ...]
    other: tuple[Arm, ...]
    times: tuple[str, ...]
    dimensions: tuple[Column, ...]
    measures: tuple[Measure, ...]

    @property
    def keys(self) -> tuple[Column, ...]:
        """Returns the columns that identify a row within a period: other times and dimensions."""
        return (*(Column(time, "timestamp") for time in self.times), *self.dimensions)


@dataclass(frozen=True)
class Difference:
    """A group of rows in which the sides differ. ``values`` are those of the comparison's keys.

    ``finding`` is ``row missing`` (the base has it), ``row surplus``, or ``value differs``; for the last, ``base``
    and ``found_value`` are the measure's values.
    """

    ordinal: int
    values: tuple[object, ...]
    finding: str
    measure: str | None = None
    base: object = None
    found_value: object = None


def differences(comparison: Comparison, context: Context) -> Iterator[Difference]:
    """Runs the comparison. Yields the differences in order of time, dimensions and measures; none if both agree."""
    uses = _uses(comparison)
    context = placed(uses, context)
    reader = context.engine().execute(engine_query(_template(comparison), uses, context))
    dimensions, period = len(comparison.keys), comparison.period
    for batch in reader:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            ordinal = period.ordinal((row[0] - _EPOCH) // timedelta(microseconds=1))
            values, (base_rows, other_rows) = row[1 : dimensions + 1], row[dimensions + 1 : dimensions + 3]
            if not base_rows or not other_rows:
                yield Difference(ordinal, values, "row missing" if base_rows else "row surplus")
                continue
            for number, measure in enumerate(comparison.measures):
                base, other, agrees = row[dimensions + 3 + 3 * number : dimensions + 6 + 3 * number]
                if not agrees:
                    yield Difference(ordinal, values, "value differs", measure.name, base, other)


def engine_query(template: SqlTemplate, uses: Sequence[TableUse], context: Context) -> EngineQuery:
    """Returns the query of the template over exactly the partitions of the uses."""
    names = {use.table.id: f"rw_{next(context.serial)}" for use in uses}
    relations = tuple(
        Relation(
            names[use.table.id],
            use.table.format,
            use.table.columns,
            use.table.partition_columns,
            scan_files(use, context),
            options=use.table.file_options,
        )
        for use in uses
    )
    return EngineQuery(template.render(lambda table: names[table.id]), relations)


def uses_of(arms: Sequence[Arm]) -> tuple[TableUse, ...]:
    """Returns the partitions of the arms, once for each table."""
    by_table: dict[int, tuple[Table, list[Arm]]] = {}
    for arm in arms:
        by_table.setdefault(arm.table.id, (arm.table, []))[1].append(arm)
    return tuple(
        TableUse(
            table,
            merged(key_range for arm in table_arms for key_range in key_ranges(arm)),
            tuple(Selection(arm.layout, arm.ranges, arm.null_time, arm.secondary_selections) for arm in table_arms),
        )
        for table, table_arms in by_table.values()
    )


def period_start(period: Period, time: str, arms: Sequence[Arm], calendar: Calendar) -> str:
    """Returns the start of the period that holds a time dimension of the arms' rows, as Spark SQL."""
    return truncated(_UNITS[period.kind], period, calendar, quote_identifier(time), time_of(arms, time, calendar))


def time_of(arms: Sequence[Arm], time: str, calendar: Calendar) -> TimeRange:
    """Returns the time from the first instant of a time dimension in the arms' rows to the last.

    Returns the first instant of all where no arm has any rows.
    """
    ranges = RangeSet(time_range for arm in arms for time_range in arm.within(time, calendar)).ranges
    return TimeRange(ranges[0].start, ranges[-1].end) if ranges else TimeRange(MIN_INSTANT, MIN_INSTANT + 1)


def aggregated(measure: Measure, expression: str) -> str:
    """Returns the measure rolled up, as Spark SQL."""
    return f"{measure.aggregate.rollup_function}({expression})"


def _uses(comparison: Comparison) -> tuple[TableUse, ...]:
    return uses_of([*comparison.base, *comparison.other])


def _template(comparison: Comparison) -> SqlTemplate:
    dimensions = [f"d{number}" for number in range(len(comparison.keys))]
    groups = ["t", *dimensions]
    inner_items = [*groups, *(f"COUNT(CASE WHEN s = {side} THEN 1 END) AS r{side}" for side in (0, 1))]
    outer_items = [*groups, "r0", "r1"]
    agree = ["r0 > 0", "r1 > 0"]
    for number, measure in enumerate(comparison.measures):
        for side in (0, 1):
            value = aggregated(measure, f"CASE WHEN s = {side} THEN m{number} END")
            inner_items.append(f"{value} AS v{side}{number}")
        equality = f"v0{number} <=> v1{number}"
        if measure.aggregate is Aggregate.SUM and measure.rollup_type == "double":
            inner_items.append(f"SUM(CASE WHEN s = 0 THEN ABS(m{number}) END) AS a{number}")
            # Only numbers are near each other: a tolerance of Infinity or NaN would let anything pass.
            approximate_equality = (
                f"a{number} < CAST('Infinity' AS DOUBLE) AND ABS(v0{number} - v1{number}) <= {_TOLERANCE} * a{number}"
            )
            equality = f"({equality} OR COALESCE({approximate_equality}, FALSE))"
        outer_items += [f"v0{number}", f"v1{number}", f"{equality} AS e{number}"]
        agree.append(equality)
    parts: list[str | TableToken] = [
        f"SELECT {', '.join(outer_items)} FROM (SELECT {', '.join(inner_items)} FROM (",
        *_side(comparison, comparison.base, 0),
        " UNION ALL ",
        *_side(comparison, comparison.other, 1),
        f") AS sides GROUP BY {', '.join(groups)}) AS compared WHERE NOT ({' AND '.join(agree)}) "
        f"ORDER BY {', '.join(groups)}",
    ]
    return SqlTemplate(tuple(parts))


def _side(comparison: Comparison, arms: Sequence[Arm], side: int) -> Iterator[str | TableToken]:
    time = arms[0].storage_table.time
    calendar = comparison.cube.calendar
    items = [f"{side} AS s", f"{period_start(comparison.period, time, arms, calendar)} AS t"]
    keys = [period_start(comparison.period, other, arms, calendar) for other in comparison.times]
    keys += [quote_identifier(column.name) for column in comparison.dimensions]
    items += [f"{key} AS d{n}" for n, key in enumerate(keys)]
    items += [f"{quote_identifier(measure.name)} AS m{n}" for n, measure in enumerate(comparison.measures)]
    yield f"SELECT {', '.join(items)} FROM "
    yield from relation(arms, comparison.cube, _columns(comparison, time))
    yield f" AS side{side}"


def _columns(comparison: Comparison, time: str) -> list[str]:
    return [time, *(c.name for c in comparison.keys), *(m.name for m in comparison.measures)]
