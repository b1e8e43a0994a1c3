"""INSERT … FROM STREAM: loads the files of a directory, each once, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.keys.paths import is_hidden
from rewriter.catalog.model.changes import Batch, is_committed
from rewriter.catalog.storage.data_files import FoundFile, expand
from rewriter.catalog.storage.stream_checkpoints import FileCheckpoint
from rewriter.catalog.store import stream_runs
from rewriter.errors import Error, IntegrityError, InternalError, NotSupportedError, Span
from rewriter.exec.engine import Relation, ScanFile, WrittenFile
from rewriter.grammar.families.streams import InsertStream
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.text.query_text import QueryText
from rewriter.runtime.result import Result, listing, strings
from rewriter.runtime.running_streams import RunningStream
from rewriter.runtime.statement_context import BatchRows, Context
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.locations import check_table_format, refuse_uri
from rewriter.statements.stream.stream_batches import StreamRun, alive, begin, check_target
from rewriter.statements.stream.stream_options import StreamOptions, read_options
from rewriter.statements.write.insert import check_insert, write_batch

if TYPE_CHECKING:
    from rewriter.grammar.lexer import Token
    from rewriter.grammar.terms import Query

#: The seconds between two listings of a stream without pause that finds no files.
_LEAST_PAUSE = 0.2


@runs(InsertStream, writes=lambda statement: (statement.insert.table,))
def insert_stream(statement: InsertStream, context: Context) -> Result:
    """Loads the files that exist and were not loaded before, and returns the id of the stream. With another trigger
    than "available now", the stream goes on in the background, with an engine of its own.

    A file that changes after it was loaded is not loaded again, as in Spark. Raises the errors of INSERT, of
    ``read_options``, ``_check_row_query``, ``check_target``, ``begin`` and ``FileCheckpoint``.
    """
    table = context.table(statement.insert.table)
    with context.catalog.database.read() as connection:
        earlier = [
            (run.stream, run.checkpoint) for run in stream_runs.stream_runs(connection) if run.table_id == table.id
        ]
    options = read_options(statement.options, statement.path_span, table, context.catalog.warehouse, earlier)
    _check_row_query(statement.insert.query, statement.path)
    try:
        check_target(table, options.checkpoint, context)
    except Error as error:
        raise error.at(statement.insert.table.span) from None
    _check_outside(statement, options)
    run = begin(options.stream, statement.insert.table, options.checkpoint, context)
    result = listing("INSERT", strings("stream"), [(options.stream,)])
    if not options.trigger.available_now:
        assert context.streams is not None
        context.streams.add(RunningStream(options.stream, partial(_go_on, statement, options, run), run.stopping))
        return replace(result, rowcount=-1)
    late_before = context.catalog.stream_progress(table, options.stream).late
    with alive(run):
        _FileBatches.open(statement, options, run).load()
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
            batches = _FileBatches.open(statement, options, run)
            while not run.stopping.is_set():
                batches.load()
                run.stopping.wait(max(options.trigger.seconds, _LEAST_PAUSE))
        finally:
            engine.close()


# The batches of a stream of files: the batches that its checkpoint has planned, and the batches of files that are new.


class _FileBatches:
    """The batches of one run of a stream. The checkpoint is read once, and each ``load`` lists the files once."""

    def __init__(
        self,
        statement: InsertStream,
        options: StreamOptions,
        run: StreamRun,
        format: str,
        checkpoint: FileCheckpoint,
        files: Sequence[FoundFile],
    ) -> None:
        """Reads the plans of the checkpoint. ``files`` are the files that exist, for the first ``load``. Raises the
        errors of ``batches.is_committed``.
        """
        self._statement = statement
        self._options = options
        self._run = run
        self._format = format
        self._checkpoint = checkpoint
        self._first_files: Sequence[FoundFile] | None = files
        self._batches = list(checkpoint.batches())
        self._planned_paths = {file.path for batch in self._batches for file in batch}
        last = run.context.catalog.last_batch(run.context.table(statement.insert.table), options.stream)
        #: The number of the next batch.
        self._next = 0 if last is None else int(last.id) + 1
        is_committed(Batch(str(self._next), options.stream, checkpoint.id), last)
        if self._next > len(self._batches):
            raise _lost(options, self._next, len(self._batches))

    @classmethod
    def open(cls, statement: InsertStream, options: StreamOptions, run: StreamRun) -> _FileBatches:
        """Opens the checkpoint of a stream, which is created if the source exists and it does not."""
        format = check_table_format(statement.format, statement.path_span, statement.path)
        refuse_uri(
            statement.path,
            "The files of a stream",
            "Load them by INSERT … SELECT … FROM a path, or copy them here.",
            statement.path_span,
        )
        existed = FileCheckpoint.is_in(options.checkpoint)
        files = _listed(statement, options)
        source = f"{format}.{quote_identifier(os.path.abspath(statement.path))}"
        checkpoint = FileCheckpoint.open(options.checkpoint, options.stream, source)
        if _is_pattern(statement.path) and not existed:
            # The pattern may match the files of the checkpoint, which exist from now on.
            files = _listed(statement, options)
        return cls(statement, options, run, format, checkpoint, files)

    def load(self) -> None:
        """Loads the batches that are planned, and then the files that exist now, until the run is to stop."""
        self._load_planned()
        if self._run.stopping.is_set():
            return
        first, self._first_files = self._first_files, None
        listed = _listed(self._statement, self._options) if first is None else first
        files = [file for file in listed if file.path not in self._planned_paths]
        for start in range(0, len(files), self._options.max_files):
            # Files that have gone since are none of the stream.
            batch = [file for file in files[start : start + self._options.max_files] if os.path.exists(file.path)]
            if batch:
                self._checkpoint.plan(self._next, batch)
                self._batches.append(tuple(batch))
                self._planned_paths.update(file.path for file in batch)
            self._load_planned()
            if self._run.stopping.is_set():
                return

    def _load_planned(self) -> None:
        while self._next < len(self._batches) and not self._run.stopping.is_set():
            self._load(self._next)
            self._next += 1

    def _load(self, number: int) -> None:
        files = self._batches[number]

        def load(batch: Batch, context: Context) -> Sequence[WrittenFile]:
            columns = context.engine().file_columns(self._format, files[0].path)
            scanned = tuple([ScanFile(file.path, (), file.bytes, file.modified) for file in files])
            relation = Relation("", self._format, columns, (), scanned)
            checked_insert = check_insert(
                self._statement.insert, replace(context, batch=BatchRows(self._statement.path, relation))
            )
            assert checked_insert is not None  # IF NOT EXISTS goes with OVERWRITE.
            return write_batch(checked_insert, batch, context)

        try:
            self._run.load(number, self._checkpoint.id, load)
        except Error as error:
            if error.condition in ("PATH_NOT_FOUND", "FAILED_READ_FILE"):
                error.hint = (
                    f"The file belongs to batch {number} of the stream, and the next run reads it again: restore or "
                    "correct it, or put one without rows in its place."
                )
            raise error.at(self._statement.insert.query.span) from None


def _listed(statement: InsertStream, options: StreamOptions) -> tuple[FoundFile, ...]:
    """Returns the files, the oldest first. Raises ``IntegrityError`` UNSAFE_LOCATION for files of the checkpoint."""
    try:
        files = expand(statement.path)
    except Error as error:
        if error.condition == "PATH_NOT_FOUND" and (_is_pattern(statement.path) or os.path.isdir(statement.path)):
            return ()
        raise error.at(statement.path_span) from None
    own_folder = os.path.realpath(options.checkpoint)
    if any(
        _is_below(os.path.realpath(folder), own_folder) for folder in {os.path.dirname(file.path) for file in files}
    ):
        raise _among_files(statement, options)
    return tuple(sorted(files, key=lambda file: (file.modified, file.path)))


def _is_pattern(path: str) -> bool:
    return any(char in path for char in "*?[")


def _is_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def _check_outside(statement: InsertStream, options: StreamOptions) -> None:
    """Checks that a directory of files does not contain the checkpoint, before that is created. The checkpoint may lie
    in a hidden directory.
    """
    folder, checkpoint = os.path.realpath(statement.path), os.path.realpath(options.checkpoint)
    if os.path.isdir(folder) and _is_below(checkpoint, folder):
        names = os.path.relpath(checkpoint, folder).split("/")
        if not any(is_hidden(name) for name in names if name != "."):
            raise _among_files(statement, options)


def _among_files(statement: InsertStream, options: StreamOptions) -> IntegrityError:
    return IntegrityError(
        f"The checkpoint {options.checkpoint} lies among the files of the stream: its own files would be loaded.",
        condition="UNSAFE_LOCATION",
        position=statement.path_span,
        object=options.checkpoint,
        hint="Name a directory outside of the files, or one whose name begins with _.",
    )


def _lost(options: StreamOptions, committed: int, planned: int) -> IntegrityError:
    return IntegrityError(
        f"The table has {committed} batches of the stream {options.stream}, but the checkpoint has only {planned}: the "
        "files of the others would be loaded again.",
        condition="STREAM_CHECKPOINT_RESET",
        object=options.stream,
        hint="The checkpoint was restored from an older copy. Use a new one, with another stream id.",
    )


# The check that a query makes the rows of a stream's batch from each row of the batch alone.
#
# Rows of a stream arrive in batches. A query with GROUP BY, DISTINCT or a window would compute each batch by itself,
# and its result would depend on how the rows happened to arrive.

_CLAUSES = {
    "group": "GROUP BY", "having": "HAVING", "distinct": "DISTINCT", "order": "ORDER BY", "limit": "LIMIT",
    "offset": "OFFSET", "qualify": "QUALIFY", "windows": "WINDOW", "sort": "SORT BY", "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
}  # fmt: skip
#: Spark's aggregates that sqlglot reads as calls of unknown functions.
UNKNOWN_AGGREGATES = frozenset({
    "bitmap_and_agg", "collect_union", "count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg",
    "hll_union_agg", "kll_merge_agg_bigint", "kll_merge_agg_double", "kll_merge_agg_float", "kll_sketch_agg_bigint",
    "kll_sketch_agg_double", "kll_sketch_agg_float", "mean", "measure", "some", "std", "theta_intersection_agg",
    "theta_sketch_agg", "theta_union_agg", "try_avg", "try_sum", "tuple_intersection_agg_double",
    "tuple_intersection_agg_integer", "tuple_sketch_agg_double", "tuple_sketch_agg_integer", "tuple_union_agg_double",
    "tuple_union_agg_integer",
})  # fmt: skip
_HINT = "Load the rows as they are, and aggregate them by a query, or by REFRESH FACT."


def _check_row_query(query: Query, path: str) -> None:
    """Checks a query that reads the files of ``path`` as a stream.

    It has to be one SELECT whose FROM begins with the stream, joined by inner, left and cross joins. Raises
    ``NotSupportedError`` STREAM_QUERY for others, with the position of what is not possible.
    """
    text = QueryText(query.text, query.span.start, query.tokens)
    tree = text.tree
    if not isinstance(tree, exp.Select):
        position = _word_span(text, "UNION", "EXCEPT", "MINUS", "INTERSECT", "VALUES")
        raise _refused("A stream is read by one SELECT, without UNION or VALUES.", position)
    uses = [table for table in tree.find_all(exp.Table) if table.name == path]
    source = tree.args.get("from_")
    first = source.this if source is not None else None
    if len(uses) != 1 or first is not uses[0]:
        misplaced = next((use for use in uses if use is not first), first)
        position = _table_span(text, misplaced) if isinstance(misplaced, exp.Table) else query.span
        raise _refused(
            "The STREAM has to be the first relation of the outer FROM, and its path may occur once.", position
        )
    for key, words in _CLAUSES.items():
        if tree.args.get(key):
            position = _word_span(text, words) if key == "distinct" else _clause_span(text, words)
            raise _refused(f"{words} would be computed for each batch of the stream alone.", position)
    for join in tree.args.get("joins") or ():
        side = join.side.upper()
        if side in ("RIGHT", "FULL"):
            position = _joined_span(text, join.this, side)
            raise _refused(f"A {side} JOIN would return the rows of the other side with each batch.", position)
    _check_stream(first, text)
    for item in tree.expressions:
        for node in item.walk(prune=lambda node: isinstance(node, exp.Query)):
            if is_fold(node):
                raise _refused(
                    "An aggregate or window would be computed for each batch of the stream alone.",
                    _call_span(text, node),
                )


def _check_stream(stream: exp.Table, text: QueryText) -> None:
    """Checks what follows the stream in FROM."""
    if any(not pivot.args.get("unpivot") for pivot in stream.args.get("pivots") or ()):
        position = _word_span(text, "PIVOT")
        raise _refused("PIVOT would be computed for each batch of the stream alone.", position)
    sample = stream.args.get("sample")
    if sample is not None and sample.args.get("size") is not None:
        position = _word_span(text, "TABLESAMPLE")
        raise _refused("TABLESAMPLE (… ROWS) would be computed for each batch of the stream alone.", position)


def is_fold(node: exp.Expr) -> bool:
    """Tests whether a node is an aggregate or a window."""
    if isinstance(node, exp.Any):  # any(x), but not LIKE ANY (…).
        return not isinstance(node.parent, exp.Like | exp.ILike)
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in UNKNOWN_AGGREGATES
    return isinstance(node, exp.AggFunc | exp.Window)


def _refused(message: str, position: Span) -> NotSupportedError:
    return NotSupportedError(message, condition="STREAM_QUERY", position=position, hint=_HINT)


# The positions of the parts of a SELECT that cannot be computed for each row of a stream alone.

#: The first words of the clauses that follow FROM.
_FIRST_WORDS = (
    "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "QUALIFY", "WINDOW", "SORT", "CLUSTER", "DISTRIBUTE",
)  # fmt: skip


def _clause_span(text: QueryText, words: str) -> Span:
    """Returns the stretch of a clause of the outer SELECT that begins with ``words``; the whole query if it has no such
    words. A column may have the name of a clause, so the last one counts.
    """
    outer = list(_outer(text))
    first, *rest = words.split()
    starts = [
        index
        for index, token in enumerate(outer)
        if token.is_word(first)
        and all(after.is_word(word) for after, word in zip(outer[index + 1 :], rest, strict=False))
    ]
    if not starts:
        return text.place(Span(0, len(text.text)))
    last = starts[-1] + len(rest)
    while last + 1 < len(outer) and not outer[last + 1].is_word(*_FIRST_WORDS):
        last += 1
    return text.place(Span(outer[starts[-1]].start, outer[last].end))


def _word_span(text: QueryText, *words: str) -> Span:
    """Returns the first of these words outside parentheses; the whole query if it has none."""
    spans = [token.span for token in _outer(text) if token.is_word(*words)]
    return text.place(spans[0] if spans else Span(0, len(text.text)))


def _call_span(text: QueryText, node: exp.Expr) -> Span:
    """Returns the stretch of an aggregate or of a window with its OVER; the whole item of the select list where the
    parser kept no place of the call.
    """
    is_window = isinstance(node, exp.Window)
    called = node.find(exp.Func) if is_window else node
    try:
        call, _ = text.call(called if called is not None else node)
    except InternalError:
        return text.place(_enclosing(text, text.span_of(node)))
    if not is_window:
        return text.place(call)
    index = text.index_at(call.start)
    while not text.tokens[index].is_word("OVER"):
        index += 1
    end = text.closing(index + 1) if text.tokens[index + 1].is_operator("(") else index + 1
    return text.place(Span(call.start, text.tokens[end].end))


def _table_span(text: QueryText, table: exp.Table) -> Span:
    """Returns the stretch of the name of a table, without its alias."""
    spans = [span for span in map(text.span_of, table.parts) if span is not None]
    return text.place(Span(spans[0].start, spans[-1].end) if spans else Span(0, len(text.text)))


def _joined_span(text: QueryText, relation: exp.Expr, side: str) -> Span:
    """Returns the stretch of a joined relation, from the word of its side on."""
    span = text.span_of(relation) or Span(0, len(text.text))
    before = [token for token in text.tokens if token.is_word(side) and token.end <= span.start]
    return text.place(Span(before[-1].start if before else span.start, span.end))


def _enclosing(text: QueryText, argument: Span | None) -> Span:
    """Returns the call of ANY or SOME around its argument, or the whole item of the select list."""
    if argument is None:
        return Span(0, len(text.text))
    call = text.enclosing_call(argument)
    if call is not None and text.tokens[text.index_at(call.start)].is_word("ANY", "SOME"):
        return call
    return text.select_item(argument.start)


def _outer(text: QueryText) -> Iterator[Token]:
    """Yields the tokens outside parentheses, and each closing one."""
    depth = 0
    for token in text.tokens:
        depth -= token.is_operator(")", "]")
        if depth == 0:
            yield token
        depth += token.is_operator("(", "[")
