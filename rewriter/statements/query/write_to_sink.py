"""Writes the rows of a query into a user's sink."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.connectors.table_sink import PartitionableTableSink, with_static_columns
from rewriter.errors import AnalysisError, Error, OperationalError, ProgrammingError
from rewriter.exec.sinks.sink_kinds import SinkKind
from rewriter.grammar.families.queries import Select
from rewriter.planner.model.plan import quote_identifier
from rewriter.runtime.result import Result, Stats
from rewriter.statements.query.engine_errors import with_position
from rewriter.statements.query.select import prepare

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.engine import EngineQuery
    from rewriter.grammar.statements import Statement
    from rewriter.runtime.statement_context import Context


def write_to_sink(
    statement: Statement, sink: PartitionableTableSink, partition: Mapping[str, str], context: Context
) -> Result:
    """Runs a query and passes its rows to a sink, batch by batch. An error of the query may come after some of them.

    Raises ``ProgrammingError`` for another statement than a query; ``AnalysisError`` UNRESOLVED_PARTITION_COLUMN if the
    query lacks a column that the sink names, or returns one that ``partition`` has; and ``OperationalError``
    SINK_FAILED for errors of the sink, with the original as its cause.
    """
    if not isinstance(statement, Select):
        raise ProgrammingError("Only a query has rows for a sink.", position=statement.span, hint="Write SELECT ….")
    prepared = prepare(statement.query, context)
    context = context.on(prepared.route.cluster)
    started = time.perf_counter()
    try:
        columns = [column.name.lower() for column in context.engine().columns(prepared.query)]
        with_sink = _Guarded(sink)
        with_sink.set_static_partition(partition)
        dynamic = with_sink.dynamic_columns()
        _check_columns(columns, dynamic, partition, statement)
        may_group = context.settings.sink != SinkKind.UNGROUPED
        is_grouped = bool(dynamic) and may_group and with_sink.enable_grouping()
        query = _sorted(prepared.query, dynamic) if is_grouped else prepared.query
        rows = _QueryRows()
        with context.engine().batches(query) as batches:
            with_sink.write(with_static_columns(rows.passed(batches), partition), rows)
    except Error as error:
        raise with_position(error, statement.query, prepared.query.sql) from error.__cause__
    return Result(
        "WRITE",
        rowcount=rows.count,
        coverage=prepared.plan.coverage,
        plan=prepared.plan,
        warnings=prepared.plan.warnings,
        stats=Stats(
            prepared.scans,
            planning_seconds=prepared.planning_seconds,
            execution_seconds=time.perf_counter() - started,
        ),
    )


class _Guarded:
    """Calls a sink, and turns its errors into ``OperationalError`` SINK_FAILED."""

    def __init__(self, sink: PartitionableTableSink) -> None:
        self._sink = sink

    def set_static_partition(self, partition: Mapping[str, str]) -> None:
        try:
            self._sink.set_static_partition(dict(partition))
        except Exception as error:
            raise _failed(error) from error

    def dynamic_columns(self) -> list[str]:
        try:
            return list(self._sink.get_dynamic_partition_field_names())
        except Exception as error:
            raise _failed(error) from error

    def enable_grouping(self) -> bool:
        try:
            return bool(self._sink.enable_dynamic_partition_grouping())
        except Exception as error:
            raise _failed(error) from error

    def write(self, batches: Iterator[pa.RecordBatch], rows: _QueryRows) -> None:
        """Passes the batches. Raises the error of the query, if there was one, whatever the sink made of it."""
        try:
            self._sink.write(batches)
        except Exception as error:
            if rows.error is None:
                raise _failed(error) from error
        if rows.error is not None:
            raise rows.error


class _QueryRows:
    """The rows of a query on their way to a sink. ``count`` is the number of the rows that it has taken."""

    def __init__(self) -> None:
        self.count = 0
        self.error: Exception | None = None

    def passed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                self.count += batch.num_rows
                yield batch
        except Exception as error:
            self.error = error
            raise


def _failed(error: Exception) -> OperationalError:
    return OperationalError(
        f"The sink failed: {type(error).__name__}: {error}.",
        condition="SINK_FAILED",
        hint="The error came from a method of the sink.",
    )


def _check_columns(
    columns: Sequence[str], dynamic: Sequence[str], partition: Mapping[str, str], statement: Select
) -> None:
    missing = [name for name in dynamic if columns.count(name.lower()) != 1]
    surplus = [name for name in partition if name.lower() in columns]
    if missing or surplus:
        raise AnalysisError(
            f"The query returns no column {missing[0]}, by which the sink is partitioned, or several."
            if missing
            else f"The query returns a column {surplus[0]}, which has a static value.",
            condition="UNRESOLVED_PARTITION_COLUMN",
            position=statement.query.span,
            object=(missing or surplus)[0],
            hint=f"The query returns {', '.join(columns)}.",
        )


def _sorted(query: EngineQuery, dynamic: Sequence[str]) -> EngineQuery:
    """Returns the query with its rows sorted by columns. The line break ends a comment that it may end with."""
    order = ", ".join(quote_identifier(name) for name in dynamic)
    return query.with_sql(f"SELECT * FROM (\n{query.sql}\n) AS rw_rows ORDER BY {order}")
