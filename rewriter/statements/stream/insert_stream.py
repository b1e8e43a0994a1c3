"""INSERT … FROM STREAM: loads the files of a directory, each once, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rewriter.catalog.model.batches import Batch, is_committed
from rewriter.errors import Error, IntegrityError
from rewriter.exec.engine import Relation, ScanFile, WrittenFile
from rewriter.grammar.families.streams import InsertStream
from rewriter.planner.model.plan import quote_identifier
from rewriter.runtime.result import Result, listing, strings
from rewriter.runtime.running_streams import RunningStream
from rewriter.runtime.statement_context import BatchRows, Context
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.locations import check_table_format
from rewriter.statements.stream.row_queries import check_row_query
from rewriter.statements.stream.stream_batches import StreamRun, alive, begin, check_target
from rewriter.statements.stream.stream_options import StreamOptions, read_options
from rewriter.statements.write.insert import checked, write_batch
from rewriter.storage.data_files import FoundFile, expand
from rewriter.storage.stream_checkpoints import FileCheckpoint

#: The seconds between two listings of a stream without pause that finds no files.
_LEAST_PAUSE = 0.2


@runs(InsertStream)
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
    run = begin(options.stream, statement.insert.table, options.checkpoint, context)
    result = listing("INSERT", strings("stream"), [(options.stream,)])
    if not options.trigger.available_now:
        assert context.streams is not None
        context.streams.add(RunningStream(options.stream, partial(_go_on, statement, options, run), run.stopping))
        return replace(result, rowcount=-1)
    with alive(run):
        _load_files(statement, options, run)
    return replace(result, rowcount=run.rows)


def _go_on(statement: InsertStream, options: StreamOptions, run: StreamRun) -> None:
    """Loads new files until the stream is stopped."""
    assert run.context.streams is not None
    with alive(run):
        engine = run.context.streams.new_engine()
        run.context = run.context.in_background(engine)
        try:
            while not run.stopping.is_set():
                _load_files(statement, options, run)
                run.stopping.wait(max(options.trigger.seconds, _LEAST_PAUSE))
        finally:
            engine.close()


def _load_files(statement: InsertStream, options: StreamOptions, run: StreamRun) -> None:
    format = check_table_format(statement.format, statement.path_span, statement.path)
    source = f"{format}.{quote_identifier(os.path.abspath(statement.path))}"
    checkpoint = FileCheckpoint.open(options.checkpoint, source)
    batches = list(checkpoint.batches())
    last = run.context.catalog.last_batch(run.context.table(statement.insert.table), options.stream)
    number = 0 if last is None else int(last.id) + 1
    is_committed(Batch(str(number), options.stream, checkpoint.id), last)
    if number > len(batches):
        raise _lost(options, number, len(batches))
    loaded_paths = {file.path for batch in batches for file in batch}
    while not run.stopping.is_set():
        if number == len(batches):
            files = [file for file in _listed(statement) if file.path not in loaded_paths][: options.max_files]
            if not files:
                return
            checkpoint.plan(number, files)
            batches.append(tuple(files))
            loaded_paths.update(file.path for file in files)
        _load(statement, format, batches[number], number, checkpoint.id, run)
        number += 1


def _load(
    statement: InsertStream, format: str, files: Sequence[FoundFile], number: int, checkpoint: str, run: StreamRun
) -> None:
    def load(batch: Batch, context: Context) -> Sequence[WrittenFile]:
        columns = context.engine().file_columns(format, files[0].path)
        scanned = tuple([ScanFile(file.path, (), file.bytes, file.modified) for file in files])
        relation = Relation("", format, columns, (), scanned)
        checked_insert = checked(statement.insert, replace(context, batch=BatchRows(statement.path, relation)))
        assert checked_insert is not None  # IF NOT EXISTS goes with OVERWRITE.
        return write_batch(checked_insert, batch, context)

    try:
        run.load(number, checkpoint, load)
    except Error as error:
        raise error.at(statement.insert.query.span) from None


def _listed(statement: InsertStream) -> tuple[FoundFile, ...]:
    """Returns the files, the oldest first."""
    try:
        files = expand(statement.path)
    except Error as error:
        if error.condition == "PATH_NOT_FOUND" and os.path.isdir(statement.path):
            return ()
        raise error.at(statement.path_span) from None
    return tuple(sorted(files, key=lambda file: (file.modified, file.path)))


def _lost(options: StreamOptions, committed: int, planned: int) -> IntegrityError:
    return IntegrityError(
        f"The table has {committed} batches of the stream {options.stream}, but the checkpoint has only {planned}: the "
        "files of the others would be loaded again.",
        condition="STREAM_CHECKPOINT_RESET",
        object=options.stream,
        hint="The checkpoint was restored from an older copy. Use a new one, with another stream id.",
    )
