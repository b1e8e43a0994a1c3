"""NULLs in the measures of a fact that are declared NOT NULL. Statements write none (``query.not_null_measures``), but
files of other programs may have them, and so may tables of earlier releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from rewriter.catalog.model.objects import Cube, Measure
from rewriter.planner.cover.arms import Arm
from rewriter.planner.model.plan import SqlTemplate, quote_identifier
from rewriter.planner.rewrite.union_arms import relation
from rewriter.runtime.statement_context import Context
from rewriter.statements.maintain.fact_comparison import engine_query, period_start, uses_of
from rewriter.statements.query.routing import placed
from rewriter.timeline.calendars import Period

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def null_measures(
    arms: Sequence[Arm], cube: Cube, measures: Sequence[Measure], period: Period, context: Context
) -> Iterator[tuple[int, str, int]]:
    """Yields (ordinal, measure, number of rows) for each period whose rows have NULL in one of the measures, in the
    order of time. Runs one query over the arms.
    """
    if not arms or not measures:
        return
    time, names = arms[0].storage_table.time, [quote_identifier(measure.name) for measure in measures]
    counts = [f"COUNT(CASE WHEN {name} IS NULL THEN 1 END) AS n{n}" for n, name in enumerate(names)]
    start = period_start(period, time, arms, cube.calendar)
    template = SqlTemplate(
        (
            f"SELECT {start} AS t, {', '.join(counts)} FROM ",
            *relation(arms, cube, [time, *(measure.name for measure in measures)]),
            f" AS measured WHERE {' OR '.join(f'{name} IS NULL' for name in names)} GROUP BY {start} ORDER BY t",
        )
    )
    uses = uses_of(arms)
    context = placed(uses, context)
    for batch in context.engine().execute(engine_query(template, uses, context)):
        for first, *nulls in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            ordinal = period.ordinal((first - _EPOCH) // timedelta(microseconds=1))
            yield from ((ordinal, measure.name, n) for measure, n in zip(measures, nulls, strict=True) if n)
