"""``system.cache`` and ``system.queries``: the state of the session. Nothing of it is in the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.catalog.cache.metrics import MEANINGS
from rewriter.runtime.result import Row
from rewriter.statements.system_tables.system_read import SystemRead, microseconds
from rewriter.terminal_text import encodable


def cache(read: SystemRead) -> Iterator[Row]:
    """Yields the rows of SHOW CACHE."""
    metrics = read.context.catalog.cache_metrics()
    for name, meaning in MEANINGS.items():
        yield name, metrics[name], meaning


def queries(read: SystemRead) -> Iterator[Row]:
    """Yields the last statements of the session, oldest first; the last one is the statement that reads them."""
    for statement in read.context.queries.statements():
        stats, failure = statement.stats, statement.failure
        yield (
            statement.query_id,
            microseconds(statement.started_at),
            microseconds(statement.ended_at),
            encodable(statement.text),
            statement.status,
            None if stats is None else stats.planning_seconds,
            None if stats is None else stats.execution_seconds,
            statement.row_count,
            None if failure is None else failure.condition,
            None if failure is None else encodable(failure.message),
        )
