"""``session.stream(frame).into(table, …)``: a streaming DataFrame of Spark as the source of a stream."""

from __future__ import annotations

from functools import partial
from typing import Any

from rewriter.catalog.model.batches import Batch
from rewriter.catalog.store import stream_runs
from rewriter.errors import Error, InterfaceError
from rewriter.exec.engine import Engine, EngineStream, Relation
from rewriter.grammar.terms import Name
from rewriter.runtime.running_streams import RunningStream
from rewriter.runtime.statement_context import Context
from rewriter.statements.stream.stream_batches import StreamRun, alive, begin, check_target, end
from rewriter.statements.stream.stream_options import read_options
from rewriter.statements.write.append import append_rows

_WAIT_SECONDS = 0.5


def start_stream(
    frame: Any, table: Name, stream: str, checkpoint: str, trigger: str, context: Context
) -> RunningStream:
    """Starts a stream that appends the batches of a DataFrame to a table, by the names of the columns.

    Raises the errors of ``read_options``, ``check_target``, ``begin`` and ``Engine.stream``.
    """
    named_options = (("stream", stream), ("checkpoint", checkpoint), ("trigger", trigger))
    for name, value in named_options:
        if not isinstance(value, str):
            raise InterfaceError(f"The {name} is a {type(value).__name__}.", hint="Pass it as a str.")
    options = read_options([(name, value, None) for name, value in named_options], None)
    check_target(context.table(table), options.checkpoint, context)
    assert context.streams is not None
    run = begin(options.stream, table, options.checkpoint, context)
    engine = context.streams.new_engine()
    run.context = context.in_background(engine)
    try:
        trigger_, load = options.trigger, partial(_load, run)
        query = engine.stream(frame, options.checkpoint, trigger_.available_now, trigger_.seconds, load)
    except BaseException as error:
        engine.close()
        end(run, stream_runs.FAILED, str(error))
        raise
    running_stream = RunningStream(options.stream, partial(_watch, query, run, engine), run.stopping)
    context.streams.add(running_stream)
    return running_stream


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
