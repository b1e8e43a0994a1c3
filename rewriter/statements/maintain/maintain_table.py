"""MAINTAIN TABLE: drops the partitions of a plain table that its property ``rewriter.retain`` does not keep."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rewriter.catalog.facts.time_binding import UPDATE_PERIOD, declared_period
from rewriter.catalog.keys.types import partition_type
from rewriter.catalog.model.changes import DropPartitions
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.table_retention import Retention, retention_of
from rewriter.errors import AnalysisError, DataError
from rewriter.grammar.families.timelines import MaintainTable
from rewriter.runtime.result import Result, Row, listing
from rewriter.runtime.statement_runners import runs
from rewriter.statements.maintain.maintain_fact import STEP_COLUMNS, retried
from rewriter.timeline.inferred_layouts import inferred_layout
from rewriter.timeline.layouts import DATE
from rewriter.timeline.ranges import format_instant
from rewriter.timeline.time_bounds import earlier

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Partition, Table
    from rewriter.runtime.statement_context import Context
    from rewriter.timeline.layouts import TimeLayout

#: The most partitions without a time that are looked at.
_MOST_EXAMPLES = 1000


@runs(MaintainTable)
def maintain_table(statement: MaintainTable, context: Context) -> Result:
    """MAINTAIN TABLE t [DRY RUN]: rows of (step, table, period, from, to, partitions, bytes, status), at most two.

    The time of a partition is what its columns name: which ones, and how, is inferred from their types and from
    partitions, and the row shows the period. Days are those of UTC. A partition leaves when its whole period is
    older than the retention: it is "dropped", or "to drop" with DRY RUN. Partitions whose values name no such time stay
    ("kept"). Files of external tables stay, too. Of several partition columns, the property names those of the time.

    Raises ``AnalysisError`` INVALID_RETENTION for a table without the property, for a table of a fact, and for one
    whose partitions name no time; ``ConflictError`` if others write the same old partitions again and again. Costs a
    read of all partitions.
    """
    return listing("MAINTAIN TABLE", STEP_COLUMNS, retried(lambda: _retain(statement, context.renewed())))


def _retain(statement: MaintainTable, context: Context) -> list[Row]:
    table = context.table(statement.table)
    retention, fact = retention_of(table), context.snapshot.fact_using(table.name)
    if retention is None or fact is not None:
        raise AnalysisError(
            f"The table {table.name} has no retention." if fact is None else f"{table.name} is a table of {fact.name}.",
            condition="INVALID_RETENTION",
            position=statement.table.span,
            object=table.name,
            hint=f"ALTER TABLE {table.name} SET TBLPROPERTIES ('rewriter.retain' = '90 days') declares one."
            if fact is None
            else f"MAINTAIN FACT {fact.name} maintains it.",
        )
    partitions = context.snapshot.partitions(table)
    if not partitions:
        return []
    named = _named_periods(table, retention, partitions, statement)
    if named is None:
        return [("retain", table.name, None, None, None, len(partitions), None, "kept: their columns name no time")]
    layout, ordinals_by_key = named
    cutoff = earlier(retention.length, int(context.planning.now))
    old = [p for p in partitions if p.key in ordinals_by_key and layout.period.end(ordinals_by_key[p.key]) <= cutoff]
    nameless = len(partitions) - len(ordinals_by_key)
    if old and not statement.dry_run:
        keys = tuple(partition.key for partition in old)
        with context.begin() as transaction:
            transaction.commit([DropPartitions(table, keys, merge_ranges([*map(KeyRange.of_key, keys)]))])
    rows: list[Row] = []
    if old:
        ordinals = [ordinals_by_key[partition.key] for partition in old]
        bounds = format_instant(layout.period.start(min(ordinals))), format_instant(layout.period.end(max(ordinals)))
        size = None if table.external else sum(partition.bytes for partition in old)
        status = "to drop" if statement.dry_run else "dropped"
        rows.append(("retain", table.name, layout.period.name, *bounds, len(old), size, status))
    if nameless:
        status = f"kept: {', '.join(layout.columns)} names no {layout.period.name} period"
        rows.append(("retain", table.name, layout.period.name, None, None, nameless, None, status))
    return rows


def _names(table: Table) -> list[str]:
    return [column.name.lower() for column in table.partition_columns]


def _check_alike(
    table: Table,
    layout: TimeLayout,
    nameless: Sequence[Partition],
    types: dict[str, str],
    retention: Retention,
    statement: MaintainTable,
) -> None:
    """Raises ``AnalysisError`` if partitions that name no time in the inferred way name one in another way: the next
    run could infer that one.
    """
    if declared_period(table.properties) is not None:
        return
    names, columns = _names(table), [column.lower() for column in layout.columns]
    for partition in nameless[:_MOST_EXAMPLES]:
        values = dict(zip(names, partition.values, strict=True))
        other = inferred_layout([(c, types[c]) for c in columns], [values[c] for c in columns])
        if other is not None:
            shown = ", ".join(f"{c} = {'NULL' if values[c] is None else values[c]}" for c in columns)
            reason = f"{shown} reads as {_declared(other)}, others as {_declared(layout)}"
            raise _unclear(table, reason, retention, statement)


def _ordinals(table: Table, layout: TimeLayout, partitions: Sequence[Partition]) -> dict[bytes, int]:
    """Returns the periods of the partitions that name one, by key."""
    positions = [_names(table).index(column.lower()) for column in layout.columns]
    ordinals: dict[bytes, int] = {}
    for partition in partitions:
        with suppress(DataError):
            ordinals[partition.key] = layout.ordinal([partition.values[position] for position in positions])
    return ordinals


def _named_periods(
    table: Table, retention: Retention, partitions: Sequence[Partition], statement: MaintainTable
) -> tuple[TimeLayout, dict[bytes, int]] | None:
    """Returns how the partitions name their time, and their periods by key; ``None`` if they name none. What the first,
    the middle and the last one without NULL suggest is compared: most partitions must read so.
    """
    names = _names(table)
    types = {column.name.lower(): partition_type(column.type).name for column in table.partition_columns}
    whole = [partition for partition in partitions if None not in partition.values] or partitions
    examples = [dict(zip(names, whole[number].values, strict=True)) for number in (0, len(whole) // 2, -1)]
    period = declared_period(table.properties)
    columns = list(retention.columns or names)
    if len(columns) > 1 and not retention.columns:
        raise _unclear(table, f"it is partitioned by {', '.join(names)}", retention, statement)
    periods: dict[TimeLayout, dict[bytes, int]] = {}
    for example in examples:
        values = [example[name] for name in columns]
        layout = inferred_layout([(name, types[name]) for name in columns], values, period)
        if layout is not None and layout not in periods:
            periods[layout] = _ordinals(table, layout, partitions)
    if not periods:
        return None
    most = max(map(len, periods.values()))
    layouts = [layout for layout, ordinals in periods.items() if len(ordinals) == most]
    if len(layouts) > 1:
        read = " or ".join(_declared(layout) for layout in layouts)
        raise _unclear(table, f"its partitions read as {read}", retention, statement)
    has_separator = any(not letter.isalnum() for part in layouts[0].parts for letter in part.pattern)
    if not (retention.columns or has_separator or types[columns[0]] == DATE):
        raise _unclear(table, f"{columns[0]} has digits alone, which may be no time", retention, statement)
    layout, ordinals = layouts[0], periods[layouts[0]]
    nameless = [partition for partition in partitions if partition.key not in ordinals]
    _check_alike(table, layout, nameless, types, retention, statement)
    return layout, ordinals


def _declared(layout: TimeLayout) -> str:
    return ", ".join(part.declared for part in layout.parts)


def _unclear(table: Table, reason: str, retention: Retention, statement: MaintainTable) -> AnalysisError:
    names = _names(table)
    columns = ", ".join(retention.columns or names) if retention.columns or len(names) == 1 else "…"
    return AnalysisError(
        f"How old the partitions of {table.name} are is not known for certain: {reason}.",
        condition="INVALID_RETENTION",
        position=statement.table.span,
        object=table.name,
        hint=f"Name the columns that name a time: ALTER TABLE {table.name} SET TBLPROPERTIES ('rewriter.retain' = "
        f"'{retention.length} by {columns}'). Their period may be said by '{UPDATE_PERIOD}' = 'DAILY'.",
    )
