"""SHOW STREAMS, STOP STREAM and DROP STREAM: the streams of all processes, through the catalog."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import Column
from rewriter.catalog.store import stream_runs
from rewriter.errors import Error
from rewriter.grammar.families.streams import DropStream, ShowStreams, StopStream
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context


@runs(ShowStreams, in_transaction=True)
def show_streams(_: ShowStreams, context: Context) -> Result:
    """Returns the last run of every stream, by id.

    ``state`` is ``running``, ``finished``, ``stopped``, ``failed`` (``message`` is the error), or ``lost`` where the
    process was killed. ``batches`` are the batches of all runs, ``rows`` the rows of the last one until its last
    report. ``watermark`` is the greatest time of the stream's rows, as far as it is known, and ``late`` the number of
    times that a batch of late rows has committed a partition again.
    """
    names = {table.id: table.name for table in context.snapshot.tables()}
    with context.catalog.database.read() as connection:
        runs_of_streams = stream_runs.stream_runs(connection)
    rows: list[Row] = [
        (
            run.stream,
            names.get(run.table_id),
            run.state,
            run.batches,
            run.rows,
            datetime.fromtimestamp(run.started_at, UTC),
            datetime.fromtimestamp(run.heartbeat_at, UTC),
            run.process,
            run.checkpoint,
            run.message,
            None if run.watermark is None else _instant(run.watermark),
            run.late,
        )
        for run in runs_of_streams
    ]
    numbers = (Column("batches", "bigint"), Column("rows", "bigint"))
    times = (Column("started", "timestamp"), Column("reported", "timestamp"))
    progress = (Column("watermark", "timestamp"), Column("late", "bigint"))
    texts = strings("process", "checkpoint", "message")
    columns = (*strings("stream", "table", "state"), *numbers, *times, *texts, *progress)
    return listing("SHOW STREAMS", columns, rows)


def _instant(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


@runs(StopStream)
def stop_stream(statement: StopStream, context: Context) -> Result:
    """Asks the process that runs a stream to stop after its current batch. It stops within seconds. A stream that does
    not run stays as it is.
    """
    try:
        with context.catalog.database.write() as connection:
            stream_runs.request_stop(connection, statement.stream)
    except Error as error:
        raise error.at(statement.stream_span) from None
    return Result("STOP STREAM")


@runs(DropStream)
def drop_stream(statement: DropStream, context: Context) -> Result:
    """Removes a stream that does not run from the list. It does not hold the watermark of its table back any more. A
    later run goes on where it ended.
    """
    try:
        with context.catalog.database.write() as connection:
            stream_runs.forget(connection, statement.stream)
    except Error as error:
        raise error.at(statement.stream_span) from None
    return Result("DROP STREAM")
