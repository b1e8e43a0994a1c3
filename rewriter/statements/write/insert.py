"""INSERT: files go into a new directory first, then one catalog transaction commits them.

Managed tables: no reader sees anything before the commit, and a crash leaves nothing half done.

External tables are plain directories that others may read. Files are written to a staging directory below the table
and renamed into their partitions; new partitions are then registered. That is not atomic: a crash between the
renames leaves some files in place (and, for OVERWRITE, old files beside new ones). A partition is registered only
when it is complete.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from rewriter.cancellation import cancellable
from rewriter.catalog.commit.reserved_properties import is_immutable, not_empty
from rewriter.catalog.keys.encoding import partition_key
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.model.changes import AddPartitions, Batch, Change, PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column, DataFile, Partition, PartitionValues, Table
from rewriter.catalog.storage.data_files import directory
from rewriter.catalog.storage.discovered_partitions import discovered
from rewriter.directory_changes import discard_tree, make_directory, move_file, remove_file
from rewriter.errors import (
    AnalysisError,
    CommitUnknownError,
    ConflictError,
    Error,
    NotSupportedError,
    OperationalError,
    Span,
    disk_full,
    is_disk_full,
)
from rewriter.exec.engine import EngineQuery, Write, WrittenFile
from rewriter.grammar.families import writes as s
from rewriter.grammar.lexer import Token, tokens
from rewriter.grammar.terms import Query
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.mark_complete import check_window, empty_copies, loaded_window
from rewriter.statements.query.engine_errors import with_position
from rewriter.statements.query.not_null_measures import check_not_null
from rewriter.statements.query.select import prepare, start_proof, the_partition, with_proof
from rewriter.statements.query.words_relied_on import first_write
from rewriter.statements.resolve.default_values import default_sql
from rewriter.statements.resolve.location_conflicts import check_table_location
from rewriter.statements.resolve.locations import refuse_external_write, refuse_spark_write
from rewriter.statements.resolve.partition_specs import check_unmoved, key_range, read_static
from rewriter.statements.resolve.text_comparisons import check_named
from rewriter.statements.write.commit_policies import with_batch
from rewriter.statements.write.event_times import check_events
from rewriter.statements.write.external_base_changes import (
    Listing,
    check_places,
    external_binding,
    note_changed,
    old_files,
    read_files,
    refuse_foreign,
    refuse_links,
)
from rewriter.statements.write.external_base_changes import note_written_files as files_written
from rewriter.statements.write.insert_target import Target, check_columns, named_target, read_target, refuse_static_wipe
from rewriter.statements.write.managed_write import (
    WriteChange,
    group_files,
    rows_of,
    stats_of,
    tiny_files_warning,
    write_managed,
)
from rewriter.statements.write.partition_clocks import check_partition_clocks
from rewriter.statements.write.rollup_proof import deriving, doubt_about, fact_binding, keeps_time, unproven_warning
from rewriter.statements.write.sink_choice import packing_of, sink_of

if TYPE_CHECKING:
    from rewriter.planner.model.plan import Plan
    from rewriter.runtime.prepared_queries import Prepared
    from rewriter.runtime.statement_context import Context

_T = TypeVar("_T")

_ATTEMPTS = 4

#: The prefix of the staging directories of external tables; a unique suffix follows.
STAGING = ".rewriter-staging-"


@runs(s.Insert, in_transaction=True, writes=lambda statement: (statement.table,))
def insert(statement: s.Insert, context: Context) -> Result:
    """Runs an INSERT. INTO is retried over a new snapshot when another transaction came between; OVERWRITE is not.

    Raises ``ConflictError`` (retryable) after a few attempts. Raises the errors of the statement itself before any
    work.
    """
    return retry_on_conflict(lambda now: _insert(statement, now), only_adds(statement), context)


def only_adds(statement: s.Insert) -> bool:
    """Returns whether an INSERT replaces nothing, so that it can be retried safely."""
    return not statement.overwrite or statement.if_not_exists


def retry_on_conflict(run: Callable[[Context], _T], safe: bool, context: Context) -> _T:
    """Runs a statement that writes. If it is ``safe``, retries it a few times over newer snapshots after conflicts.

    Does not retry in a transaction of several statements, because all of them read one snapshot.
    """
    for _ in range(_ATTEMPTS - 1 if safe and context.transaction is None else 0):
        try:
            return run(context)
        except ConflictError:
            context = context.renewed()
    return run(context)


def _refuse_partial(statement: s.Insert, table: Table, prepared: Prepared, context: Context) -> None:
    """Refuses to write a partial result into a table of a fact: its partitions would look complete."""
    if prepared.plan.coverage.complete:
        return
    fact = context.snapshot.fact_using(table.name)
    if fact is not None:
        raise AnalysisError(
            f"A partial result, without {', '.join(prepared.plan.coverage.missing[:3])}, cannot be written into "
            f"{table.name}, which holds partitions of the fact {fact.name}.",
            condition="PARTIAL_ROLLUP",
            position=statement.query.span,
            object=table.name,
            hint="Load the missing partitions, or RESET rewriter.partial_data.",
        )


@dataclass(frozen=True)
class Checked:
    """An INSERT that has passed every check possible before any work: only its ``query`` remains to be written.

    ``doubt`` is the reason why the rollups that it writes are unproven, or ``None``.
    """

    statement: s.Insert
    target: Target
    prepared: Prepared
    query: EngineQuery
    doubt: str | None

    def listings(self, context: Context) -> tuple[Listing, ...]:
        """Returns the files that the query reads of the external tables of facts, for a table of a fact."""
        if self.target.table.external:
            return ()
        return read_files(self.target.table, self.prepared.plan.uses, self.prepared.query.relations, context)


def check_insert(statement: s.Insert, context: Context, at: Span | None = None) -> Checked | None:
    """Returns the INSERT with its columns and types checked; ``None`` where IF NOT EXISTS leaves nothing to do.

    Starts the engine, reads no data. ``at`` is the position of errors about the query as a whole.
    """
    at = at or statement.query.span
    context.progress.report("planning")
    table = context.table(statement.table)
    target = read_target(statement, table)
    check_named(table, statement.partition or (), context.snapshot)
    if context.settings.static_overwrite and statement.overwrite and not target.is_static:
        refuse_static_wipe(target, statement.table.span)
    if statement.if_not_exists and _existing(target, context):
        return None
    if is_immutable(table) and not statement.overwrite and target.is_static and context.transaction is None:
        # The commit checks this again; checking here saves the work.
        existing_partition = next((partition for partition in _existing(target, context) if partition.files), None)
        if existing_partition is not None:
            raise not_empty(table, existing_partition.values).at(at)
    if statement.complete is not None:
        check_window(statement.complete, fact_binding(target, context), context)
    query = statement.query if statement.by_name else with_defaults(statement.query, target.provided)
    with _errors_at(at if query is not statement.query else None):
        prepared = prepare(query, deriving(target, context))
        _refuse_partial(statement, table, prepared, context)
        # A temporary table is written by the cluster of the query.
        context = context.on(prepared.route.cluster)
        try:
            columns = context.engine().columns(prepared.query)
        except Error as error:
            raise with_position(error, query, prepared.query.sql) from None
    if statement.by_name:
        target = named_target(target, columns, at)
    check_columns(target, columns, at)
    _check_zoned_casts(statement, target, columns, prepared, context)
    check_partition_clocks(target, prepared.plan, context)
    arranged = prepared.query.with_sql(target.arranged(prepared.query.sql))
    doubt = doubt_about(prepared.plan, target, context)
    return Checked(replace(statement, query=query), target, prepared, arranged, doubt)


def _insert(statement: s.Insert, context: Context) -> Result:
    started = time.perf_counter()
    context, proof = with_proof(statement.query, context)
    checked_insert = check_insert(statement, context)
    if checked_insert is not None and note_changed(checked_insert.listings(context), context):
        context = context.renewed()
        checked_insert = check_insert(statement, context)
    if checked_insert is None:
        return Result("INSERT", rowcount=0)
    context = context.on(checked_insert.prepared.route.cluster)
    write = _write_external if checked_insert.target.table.external else _write_managed
    try:
        files = write(checked_insert, context)
    except Error as error:
        # The commit may refuse what the query produced, such as a partition that fits no layout.
        raise error.at(statement.query.span) from None
    plan = checked_insert.prepared.plan
    if proof is not None and proof.is_pending:
        start_proof(proof, plan, context)
    return Result(
        "INSERT",
        rowcount=rows_of(files),
        coverage=plan.coverage,
        plan=plan,
        warnings=(
            *plan.warnings,
            *unproven_warning(checked_insert.doubt, checked_insert.target, context),
            *tiny_files_warning(checked_insert.target.table, files),
            *first_write(checked_insert.target.table, plan.readings, context),
        ),
        stats=stats_of(
            files,
            time.perf_counter() - started - checked_insert.prepared.planning_seconds,
            checked_insert.prepared,
            proof,
        ),
    )


def _existing(target: Target, context: Context) -> tuple[Partition, ...]:
    """Returns the partition that a static target names, if it exists."""
    if is_discovered(target.table):
        return tuple(known_partitions(target, context).values())
    return context.snapshot.partitions(target.table, [key_range(target.table, target.static)])


def write_batch(insert: Checked, batch: Batch, context: Context) -> tuple[WrittenFile, ...]:
    """Writes the rows of a batch into a managed table. Its commit also notes the batch."""
    return _write_managed(insert, context, batch)


def _write_managed(insert: Checked, context: Context, batch: Batch | None = None) -> tuple[WrittenFile, ...]:
    def changes(write_id: int, files: Sequence[WrittenFile]) -> Sequence[WriteChange]:
        made = _changes_of(insert, write_id, files, context)
        return made if batch is None else with_batch(made, insert.target.table, batch, files, context)

    return write_managed(
        insert.target.table,
        lambda folder: write_query(insert.query, insert.statement.query, insert.target, folder, context),
        changes,
        insert.prepared.plan.readings,
        context,
        insert.listings(context),
    )


def write_query(
    query: EngineQuery, source: Query, target: Target, folder: str, context: Context
) -> tuple[WrittenFile, ...]:
    """Runs the engine on a query, which was typed as ``source``. Files without rows are left out."""
    try:
        return write_rows(query, target, folder, context)
    except Error as error:
        raise with_position(error, source, query.sql) from None


def write_rows(query: EngineQuery, target: Target, folder: str, context: Context) -> tuple[WrittenFile, ...]:
    """Runs the engine on a query. Files without rows are left out. Raises the engine's errors, and the errors of
    ``check_events`` and ``check_not_null``.
    """
    table = target.table
    refuse_spark_write(table, context)
    sink = sink_of(target, query, context)
    packing = packing_of(table, sink)
    write = Write(
        folder,
        table.format,
        table.columns,
        table.partition_columns,
        target.static,
        context.settings.max_dynamic_partitions(is_packed=packing is not None),
        packing,
        options=table.file_options,
        sink=sink,
    )
    with context.progress.watching(folder):
        files = tuple([file for file in context.engine().write(query, write) if file.rows != 0])
    check_events(table, files, context)
    check_not_null(table, files, context)
    return files


def _changes_of(insert: Checked, write_id: int, files: Sequence[WrittenFile], context: Context) -> list[WriteChange]:
    """Returns the changes that an INSERT commits: the partitions it writes, and the periods it marks complete."""
    change = change_of(insert.statement, insert.target, write_id, files, insert.doubt, context, insert.prepared.plan)
    return [*([] if change is None else [change]), *marked_complete(insert, change, context)]


def marked_complete(insert: Checked, change: WritePartitions | None, context: Context) -> list[AddPartitions]:
    """Returns the partitions that MARK COMPLETE of an INSERT registers beside those that its ``change`` writes."""
    action, target = insert.statement.complete, insert.target
    if action is None:
        return []
    written_values = [] if change is None else [partition.values for partition in change.partitions]
    added = loaded_window(action, fact_binding(target, context), written_values, context)
    keeps = change.keeps_time if change is not None else keeps_time(insert.prepared.plan, target, context)
    return [replace(registered, keeps_time=keeps) for registered in added]


def change_of(
    statement: s.Insert | s.LoadData,
    target: Target,
    write_id: int,
    files: Sequence[WrittenFile],
    doubt: str | None,
    context: Context,
    plan: Plan | None = None,
) -> WritePartitions | None:
    """Returns the catalog change of the write; ``None`` where it changes nothing. ``doubt`` is the reason why written
    rollups are unproven, ``plan`` the plan of the query, if one computed the rows.
    """
    partitions = group_files(files)
    if statement.overwrite and isinstance(statement, s.Insert) and not target.is_static:
        for values in empty_copies(statement.complete, fact_binding(target, context), partitions, context):
            if values[: len(target.static)] == target.static:
                partitions.setdefault(values, ())
    if target.is_static and not partitions:
        if not statement.overwrite and (_existing(target, context) or not target.table.partition_columns):
            return None
        partitions = {target.static: ()}
    static_wipe = statement.overwrite and context.settings.static_overwrite and not target.is_static
    if not partitions and not static_wipe:
        return None
    return WritePartitions(
        target.table,
        write_id,
        tuple([PartitionWrite(values, files) for values, files in partitions.items()]),
        overwrite=statement.overwrite,
        wipes=(key_range(target.table, target.static),) if static_wipe else (),
        if_not_exists=isinstance(statement, s.Insert) and statement.if_not_exists,
        doubt=doubt,
        keeps_time=plan is not None and keeps_time(plan, target, context),
    )


def _write_external(insert: Checked, context: Context) -> tuple[WrittenFile, ...]:
    def fill(folder: str) -> tuple[WrittenFile, ...]:
        return write_query(insert.query, insert.statement.query, insert.target, folder, context)

    def marked(written: Iterable[PartitionValues]) -> Sequence[AddPartitions]:
        action = insert.statement.complete
        return () if action is None else loaded_window(action, fact_binding(insert.target, context), written, context)

    return write_external(insert.target, insert.statement.overwrite, fill, context, marked)


def write_external(
    target: Target,
    overwrite: bool,
    fill: Callable[[str], tuple[WrittenFile, ...]],
    context: Context,
    marked: Callable[[Iterable[PartitionValues]], Sequence[AddPartitions]] = lambda written: (),
) -> tuple[WrittenFile, ...]:
    """Lets ``fill`` write files into a staging directory, moves them into their partitions, and registers these.

    ``marked`` returns the partitions to be registered without files beside the partitions that were written.
    """
    table = target.table
    context.require_transactional(table)
    refuse_external_write(table)
    if overwrite:
        check_table_location(table, context)
    with staging_directory(table) as staging:
        files = fill(staging)
        partitions = group_files(files)
        context.progress.report("committing", total=len(partitions), unit="partitions")
        if target.is_static and (overwrite or table.partition_columns):
            partitions.setdefault(target.static, ())
        existing = known_partitions(target, context)
        new = [values for values in partitions if values not in existing]
        if not overwrite and is_immutable(table):
            _refuse_filled(target, partitions, existing)
        _check_layouts(target, new, context)
        directories = {
            values: directory(table, existing.get(values) or Partition(b"", values)) for values in partitions
        }
        refuse_external_write(table, directories.values())
        refuse_links(table, directories.values())
        check_places(table, directories if overwrite else {values: directories[values] for values in new}, context)
        replaced_partitions = (
            [existing.get(values) or Partition(b"", values) for values in partitions] if overwrite else []
        )
        old = old_files(table, replaced_partitions)
        refuse_foreign(table, old)
        moved_paths = _move_files(table, partitions, directories, existing, context)
        # Only one of our own errors shows that nothing was registered; after any other error the files must stay.
        with take_back_files(table, moved_paths, Error):
            _register(target, list(partitions), new, marked(partitions), context)
        with cancellable(None):  # The rows are replaced now: what follows is not canceled.
            for old_file in old:
                with suppress(FileNotFoundError):
                    remove_file(old_file.file.path, (table.location, old_file.directory))
            if old:
                _register(target, list(partitions), (), (), context)
    return files


def _move_files(
    table: Table,
    partitions: Mapping[PartitionValues, Sequence[DataFile]],
    directories: Mapping[PartitionValues, str],
    existing: Mapping[PartitionValues, Partition],
    context: Context,
) -> list[str]:
    """Moves written files into the directories of their partitions. Returns their paths there. Takes them back after
    any error, and if an existing partition has another location by then.
    """
    unique = uuid.uuid4().hex
    moved_paths: list[str] = []
    with take_back_files(table, moved_paths, BaseException):
        for values, data_files in partitions.items():
            move(table, data_files, directories[values], unique, moved_paths)
        if table.partition_columns:
            check_unmoved(table, [existing[values] for values in partitions if values in existing], context)
    return moved_paths


@contextmanager
def staging_directory(table: Table) -> Iterator[str]:
    """Yields the path of a staging directory of an external table; creates the table's directory. Removes the staging
    directory after the block.

    Raises ``OperationalError`` EXTERNAL_WRITE_FAILED for errors of the disk in the block.
    """
    staging = os.path.join(table.location, f"{STAGING}{uuid.uuid4().hex}")
    try:
        os.makedirs(table.location, exist_ok=True)
        yield staging
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(f"The external table {table.name} in {table.location}", table.name) from error
        raise OperationalError(
            f"The external table {table.name} cannot be written: {error}.",
            condition="EXTERNAL_WRITE_FAILED",
            object=table.name,
            hint=f"Check the directory {table.location}.",
        ) from error
    finally:
        discard_tree(staging, (table.location,))


@contextmanager
def take_back_files(table: Table, moved_paths: Sequence[str], failure: type[BaseException]) -> Iterator[None]:
    """Removes the moved files after such a failure, unless the commit may have succeeded. Raises
    ``OperationalError`` EXTERNAL_WRITE_FAILED where some cannot be removed.
    """
    try:
        yield
    except CommitUnknownError:
        raise
    except failure as error:
        left = [path for path in moved_paths if not _is_removed(table, path)]
        if not left:
            raise
        raise OperationalError(
            f"The external table {table.name} cannot be written, and {len(left)} of the new files cannot be removed, "
            f"among them {left[0]}: {error}.",
            condition="EXTERNAL_WRITE_FAILED",
            object=table.name,
            hint="Remove them before you run the statement again: queries read them.",
        ) from error


def _is_removed(table: Table, path: str) -> bool:
    """Removes a moved file. Returns whether it is gone."""
    try:
        remove_file(path, (table.location, os.path.dirname(path)))
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def known_partitions(target: Target, context: Context) -> dict[PartitionValues, Partition]:
    """Returns the partitions that the catalog has; an unpartitioned table has one, its location."""
    table = target.table
    if not table.partition_columns:
        return {(): the_partition(table)}
    if is_discovered(table):
        filter_ = read_static(table, dict(enumerate(target.static)))
        return {partition.values: partition for partition in discovered(table, filter_, context.snapshot).values()}
    ranges = [key_range(table, target.static)]
    return {partition.values: partition for partition in context.snapshot.partitions(table, ranges)}


def _refuse_filled(
    target: Target,
    partitions: dict[PartitionValues, tuple[DataFile, ...]],
    registered: dict[PartitionValues, Partition],
) -> None:
    for values, files in partitions.items():
        if files and old_files(target.table, (registered.get(values) or Partition(b"", values),)):
            raise not_empty(target.table, values)


def move(table: Table, files: Sequence[DataFile], directory: str, unique: str, moved_paths: list[str]) -> None:
    """Renames the files into ``directory`` under unique names. Appends each path to ``moved`` after its rename."""
    roots = (table.location, directory)
    make_directory(directory, roots, exist_ok=True)
    for number, file in enumerate(files):
        path = os.path.join(directory, f"{unique}-{number:05d}-{os.path.basename(file.path)}")
        move_file(file.path, path, roots)
        moved_paths.append(path)


def _register(
    target: Target,
    partitions: Sequence[PartitionValues],
    new: Sequence[PartitionValues],
    marked: Sequence[AddPartitions],
    context: Context,
) -> None:
    """Commits the written partitions: registers the partitions that are ``new`` or ``marked``.

    For a table of a fact, it also notes that the files of the partitions have changed.
    """
    table = target.table
    changes: list[Change] = [*marked]
    if new and table.partition_columns and not is_discovered(table):
        changes.append(AddPartitions(table, tuple(map(PartitionWrite, new)), if_not_exists=True))
    if external_binding(table, context) is not None:
        changes.append(files_written(table, [partition_key(table, values) for values in partitions]))
    if changes:
        with context.catalog.begin(context.snapshot) as transaction:
            transaction.commit(changes)


def _check_layouts(target: Target, new: Sequence[PartitionValues], context: Context) -> None:
    """Raises unless a storage table's new partitions fit its layouts.

    The commit checks the same; this check runs before files are moved.
    """
    binding = fact_binding(target, context)
    if binding is not None:
        for values in new:
            binding.locate(values)


# Casts of times that an INSERT would make in UTC although the cube that it reads or fills has another zone.


def _check_zoned_casts(
    statement: s.Insert, target: Target, query_columns: Sequence[Column], prepared: Prepared, context: Context
) -> None:
    """Raises ``NotSupportedError`` ZONED_TIME for columns that an assignment cast would convert in UTC although the
    cube has another zone.

    An instant from a cube with a zone has its date and its text in that zone; the cast would take the date and the text
    of UTC. An instant from any cube is not a wall time, which a TIMESTAMP column that names a zone's days holds.
    """
    zones = [reference.calendar.zone for reference in prepared.plan.coverage.references]
    zone = next((zone for zone in zones if zone != "UTC"), None)
    fact = context.snapshot.fact_using(target.table.name)
    storage_table = fact.storage_table(target.table.name) if fact is not None else None
    for column, query_column in zip(target.provided, query_columns, strict=True):
        if query_column.type != "timestamp":
            continue
        if (
            fact is not None
            and storage_table is not None
            and zones
            and column.name.lower() in storage_table.wall_columns
        ):
            kind, of = "wall time", fact.zone
            hint = f"Write a date, such as to_date(…): {column.name} becomes its midnight."
        elif zone is not None and column.type != "timestamp":
            kind, of = column.type.upper(), zone
            hint = f"Write to_date(…) or date_format(…, '…') in the query, or declare {column.name} TIMESTAMP."
        else:
            continue
        raise NotSupportedError(
            f"{query_column.name} is an instant, and {column.name} a {kind}: in {of} its value would differ from UTC.",
            condition="ZONED_TIME",
            position=statement.query.span,
            object=column.name,
            hint=hint,
        )


# The word DEFAULT in the rows of an INSERT: INSERT INTO t VALUES (DEFAULT, 1), INSERT INTO t SELECT DEFAULT, 1.

#: In a query with one of them, a SELECT item DEFAULT is a column.
_NO_ITEMS = ("FROM", "UNION", "EXCEPT", "MINUS", "INTERSECT")


def with_defaults(query: Query, columns: Sequence[Column]) -> Query:
    """Returns a query with the DEFAULT of the column in place of each item DEFAULT; otherwise the query itself.

    Items are the items of VALUES, or of a SELECT without FROM: elsewhere DEFAULT is a column. ``columns`` are the
    columns that the query fills, in its order. Raises ``AnalysisError`` DEFAULT_PLACEMENT_INVALID 42608 for DEFAULT
    inside an expression. A query without the word costs one look at its text.
    """
    if "DEFAULT" not in query.text.upper():
        return query
    query_tokens = query.tokens or tuple(tokens(query.text))
    edits: list[tuple[Token, str]] = []
    for index, item in _items(query_tokens):
        keywords = [token for position, token in enumerate(item) if _is_keyword(item, position)]
        if keywords and len(item) > 1:
            raise AnalysisError(
                "DEFAULT is part of an expression here.",
                condition="DEFAULT_PLACEMENT_INVALID",
                sqlstate="42608",
                position=keywords[0].span.shifted(query.span.start),
                object="DEFAULT",
                hint="Write DEFAULT alone, as the value of a column.",
            )
        if keywords:
            edits.append((keywords[0], default_sql(columns[index]) if index < len(columns) else "NULL"))
    if not edits:
        return query
    text = query.text
    for token, sql in reversed(edits):
        text = f"{text[: token.start]}{sql}{text[token.end :]}"
    return Query(text, query.span)


@contextmanager
def _errors_at(position: Span | None) -> Iterator[None]:
    """Gives errors a position; ``None`` leaves theirs. A query with DEFAULT replaced has other places than its text."""
    try:
        yield
    except Error as error:
        error.position = position or error.position
        raise


def _is_keyword(item: Sequence[Token], index: int) -> bool:
    """Tests for DEFAULT that is no part of a name with points, such as ``default.t``."""
    neighbours = [item[near] for near in (index - 1, index + 1) if 0 <= near < len(item)]
    return item[index].is_word("DEFAULT") and not any(token.is_operator(".") for token in neighbours)


def _items(query_tokens: Sequence[Token]) -> Iterator[tuple[int, Sequence[Token]]]:
    """Yields the items of VALUES or of a SELECT list, each with its position in the row."""
    if query_tokens[0].is_word("VALUES"):
        yield from _items_of_rows(query_tokens[1:])
    elif query_tokens[0].is_word("SELECT") and not any(token.is_word(*_NO_ITEMS) for token in query_tokens):
        yield from enumerate(_split(query_tokens[1:]))


def _items_of_rows(row_tokens: Sequence[Token]) -> Iterator[tuple[int, Sequence[Token]]]:
    for row in _split(row_tokens):
        if len(row) > 1 and row[0].is_operator("(") and row[-1].is_operator(")"):
            yield from enumerate(_split(row[1:-1]))
        else:
            yield 0, row


def _split(item_tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yields the parts between commas that no brackets enclose."""
    depth, start = 0, 0
    for index, token in enumerate(item_tokens):
        depth += token.is_operator("(", "[") - token.is_operator(")", "]")
        if not depth and token.is_operator(","):
            yield item_tokens[start:index]
            start = index + 1
    yield item_tokens[start:]
