"""The time of events in RAW tables, which must lie in the period of their partition: a cover reads by partitions, and a
condition selects by the events' time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from rewriter.catalog.model.objects import Cube
from rewriter.planner.cover.arms import Arm
from rewriter.planner.model.plan import SqlTemplate, quote_identifier
from rewriter.planner.rewrite.union_arms import partition_column, relation
from rewriter.runtime.statement_context import Context
from rewriter.statements.maintain.fact_comparison import engine_query, period_start, uses_of
from rewriter.statements.query.routing import placed

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_START = "rewriter_period_start"


def misplaced_events(arm: Arm, cube: Cube, context: Context) -> Iterator[tuple[int | None, int]]:
    """Yields (ordinal, number of events) for each partition of a RAW table that holds events of another period, or
    without a time, in the order of time. Runs one query over the arm. For the arm of NULL time, the ordinal is
    ``None``, and the events are those that have a time.
    """
    period, time = cube.calendar.of(arm.layout.period), arm.storage_table.time
    parts = relation((arm,), cube, [time], {_START: lambda arm: partition_column(arm, time, cube)})
    # Events without a time belong into the partition of NULL time, and no others.
    own_start = quote_identifier(time) if arm.null_time else period_start(period, time, (arm,), cube.calendar)
    template = SqlTemplate(
        (
            f"SELECT {_START}, COUNT(*) AS events FROM (SELECT {_START}, {own_start} AS own_start FROM ",
            *parts,
            f" AS {quote_identifier('events')}) AS started WHERE NOT (own_start <=> {_START}) GROUP BY {_START} "
            f"ORDER BY {_START}",
        )
    )
    uses = uses_of((arm,))
    context = placed(uses, context)
    for batch in context.engine().execute(engine_query(template, uses, context)):
        for start, count in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield None if start is None else period.ordinal((start - _EPOCH) // timedelta(microseconds=1)), count
