"""INSERT … FROM STREAM: loads the files of a directory, each once, batch by batch."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from rewriter.errors import Error
from rewriter.grammar.families.streams import InsertStream
from rewriter.runtime.result import Result, listing, strings
from rewriter.runtime.running_streams import RunningStream
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs
from rewriter.statements.stream.file_batches import FileBatches, check_outside
from rewriter.statements.stream.row_queries import check_row_query
from rewriter.statements.stream.stream_batches import StreamRun, alive, begin, check_target
from rewriter.statements.stream.stream_options import StreamOptions, read_options

#: The seconds between two listings of a stream without pause that finds no files.
_LEAST_PAUSE = 0.2


@runs(InsertStream, writes=lambda statement: (statement.insert.table,))
def insert_stream(statement: InsertStream, context: Context) -> Result:
    """Loads the files that exist and were not loaded before, and returns the id of the stream. With another trigger
    than "available now", the stream goes on in the background, with an engine of its own.

    A file that changes after it was loaded is not loaded again, as in Spark. Raises the errors of INSERT, of
    ``read_options``, ``check_row_query``, ``check_target``, ``begin`` and ``FileCheckpoint``.
    """
    options = read_options(statement.options, statement.path_span)
    check_row_query(statement.insert.query, statement.path)
    try:
        check_target(context.table(statement.insert.table), options.checkpoint, context)
    except Error as error:
        raise error.at(statement.insert.table.span) from None
    check_outside(statement, options)
    run = begin(options.stream, statement.insert.table, options.checkpoint, context)
    result = listing("INSERT", strings("stream"), [(options.stream,)])
    if not options.trigger.available_now:
        assert context.streams is not None
        context.streams.add(RunningStream(options.stream, partial(_go_on, statement, options, run), run.stopping))
        return replace(result, rowcount=-1)
    table = context.table(statement.insert.table)
    late_before = context.catalog.stream_progress(table, options.stream).late
    with alive(run):
        FileBatches.open(statement, options, run).load()
    late = context.catalog.stream_progress(table, options.stream).late - late_before
    return replace(result, rowcount=run.rows, warnings=((_late(late, table.name),) if late else ()) + run.warnings)


def _late(count: int, table: str) -> str:
    partitions = "1 partition" if count == 1 else f"{count:,} partitions"
    return f"Late rows came for {partitions} of {table}: committed again, and rollups over them are outdated."


def _go_on(statement: InsertStream, options: StreamOptions, run: StreamRun) -> None:
    """Loads new files until the stream is stopped."""
    assert run.context.streams is not None
    with alive(run):
        engine = run.context.streams.new_engine()
        run.context = run.context.in_background(engine)
        try:
            batches = FileBatches.open(statement, options, run)
            while not run.stopping.is_set():
                batches.load()
                run.stopping.wait(max(options.trigger.seconds, _LEAST_PAUSE))
        finally:
            engine.close()
