"""``session.stream(frame).into(table, …)``: a streaming DataFrame of Spark as the source of a stream."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from rewriter.catalog.store import stream_runs
from rewriter.errors import Error, InterfaceError
from rewriter.runtime.program_statements import StartStream
from rewriter.runtime.result import Result, listing, strings
from rewriter.runtime.running_streams import RunningStream
from rewriter.runtime.statement_runners import runs
from rewriter.statements.stream.stream_batches import StreamRun, alive, begin, check_target, end
from rewriter.statements.stream.stream_options import read_options
from rewriter.statements.write.append import append_rows

if TYPE_CHECKING:
    from rewriter.catalog.model.changes import Batch
    from rewriter.exec.engine import Engine, EngineStream, Relation
    from rewriter.runtime.statement_context import Context

_WAIT_SECONDS = 0.5


@runs(StartStream, writes=lambda statement: (statement.table,))
def start_stream(statement: StartStream, context: Context) -> Result:
    """Starts a stream in the background, which the session then holds. It appends the batches of a DataFrame to a
    table, by the names of the columns.

    Raises the errors of ``read_options``, ``check_target``, ``begin`` and ``Engine.stream``.
    """
    table = statement.table
    named_options = tuple([(name, getattr(statement, name)) for name in ("stream", "checkpoint", "trigger")])
    for name, value in named_options:
        if not isinstance(value, str):
            raise InterfaceError(f"The {name} is a {type(value).__name__}.", hint="Pass it as a str.")
    target = context.table(table)
    options = read_options(
        [(name, value, None) for name, value in named_options], None, target, context.catalog.warehouse
    )
    check_target(target, options.checkpoint, context)
    assert context.streams is not None
    run = begin(options.stream, table, options.checkpoint, context)
    try:
        engine = context.streams.new_engine()
        run.context = context.in_background(engine)
        trigger, load = options.trigger, partial(_load, run)
        query = engine.stream(statement.frame, options.checkpoint, trigger.available_now, trigger.seconds, load)
    except BaseException as error:
        end(run, stream_runs.FAILED, str(error))
        raise
    context.streams.add(RunningStream(options.stream, partial(_watch, query, run, engine), run.stopping))
    return listing("INSERT", strings("stream"), [(options.stream,)])


def _load(run: StreamRun, number: int, checkpoint: str, rows: Relation) -> None:
    def load(batch: Batch, context: Context) -> Any:
        return append_rows(run.table, rows, batch, context)

    try:
        run.load(number, checkpoint, load)
    except Error as error:
        error.position = None  # There is no text.
        raise


def _watch(query: EngineStream, run: StreamRun, engine: Engine) -> None:
    """Waits for the end of a stream, and ends it where it is asked to."""
    try:
        with alive(run):
            while not query.wait(_WAIT_SECONDS):
                if run.stopping.is_set():
                    query.stop()
    finally:
        engine.close()
