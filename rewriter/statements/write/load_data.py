"""LOAD DATA: copies files of the table's format into a new write. The original files stay where they are.

Nothing is converted, so a file is accepted only where every reader will find in it the columns that the table
declares.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.filesystems.reading import fetch_file
from rewriter.catalog.keys.values import files_of_others, hidden_column, partition_name
from rewriter.catalog.model.proofs import BY_LOAD_DATA
from rewriter.catalog.storage.data_files import FoundFile, expand
from rewriter.data_formats import DATA_FORMATS
from rewriter.directory_changes import remove_file
from rewriter.errors import AnalysisError, Error, NotSupportedError, OperationalError, disk_full, is_disk_full
from rewriter.exec.data_files import stored_columns, stored_rows
from rewriter.exec.engine import EngineQuery, Relation, ScanFile, WrittenFile
from rewriter.exec.formats.text_input import COMPRESSED_ENDINGS
from rewriter.grammar.families import writes as s
from rewriter.planner.model.plan import quote_identifier
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.query.not_null_measures import check_not_null
from rewriter.statements.query.words_relied_on import first_write
from rewriter.statements.resolve.locations import refuse_external_write
from rewriter.statements.resolve.partition_specs import Spec, incomplete, read_full, require_partitioned
from rewriter.statements.resolve.text_comparisons import check_named
from rewriter.statements.write.event_times import check_events
from rewriter.statements.write.insert import change_of, retry_on_conflict, write_external
from rewriter.statements.write.insert_target import Target
from rewriter.statements.write.managed_write import WriteChange, rows_of, stats_of, write_managed

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Table
    from rewriter.runtime.statement_context import Context


@runs(s.LoadData, in_transaction=True, writes=lambda statement: (statement.table,))
def load_data(statement: s.LoadData, context: Context) -> Result:
    """LOAD DATA [LOCAL] INPATH … [OVERWRITE] INTO TABLE …: loads all files that the path names, or none.

    A relative path starts at the working directory. Costs a copy. The engine also reads CSV and JSON files once, to
    check that their values are of the declared types. Raises LOAD_SCHEMA_MISMATCH for a file that does not have the
    table's columns, INVALID_PARTITION_SPEC unless all partition columns have a value, and the errors of
    ``data_files.expand``.
    """
    return retry_on_conflict(lambda now: _load(statement, now), not statement.overwrite, context)


def _load(statement: s.LoadData, context: Context) -> Result:
    started = time.perf_counter()
    target = load_target(statement, context.table(statement.table))
    check_named(target.table, statement.partition or (), context.snapshot)
    table = target.table
    refuse_external_write(table, position=statement.table.span)
    try:
        source_files = expand(statement.path)
        for file in source_files:
            check_file(table, file.path, file.path)

        def fill(folder: str) -> tuple[WrittenFile, ...]:
            return copy_loaded_files(source_files, target, folder, context)

        if table.external:
            files = write_external(target, statement.overwrite, fill, context)
        else:
            files = write_managed(
                table,
                fill,
                lambda write_id, made: _loaded(statement, target, write_id, made, context),
                (),
                context,
            )
    except Error as error:
        raise error.at(statement.path_span) from None
    return Result(
        "LOAD DATA",
        rowcount=rows_of(files),
        warnings=tuple(first_write(table, (), context)),
        stats=stats_of(files, time.perf_counter() - started),
    )


def load_target(statement: s.LoadData, table: Table) -> Target:
    """Returns the target of LOAD DATA: one partition, or an unpartitioned table. Raises the errors of ``load_data`` for
    the spec.
    """
    hidden = hidden_column(table)
    if hidden is not None:
        raise files_of_others(table, hidden).at(statement.table.span)
    if statement.partition is None:
        if table.partition_columns:
            raise incomplete(table, (), statement.table.span)
        return Target(table, Spec({}, frozenset()), (), (), {}, reordered=False)
    require_partitioned(table, statement.table.span)
    values = read_full(table, statement.partition)
    return Target(table, Spec(dict(enumerate(values)), frozenset()), (), values, {}, reordered=False)


def copy_loaded_files(
    files: Sequence[FoundFile], target: Target, folder: str, context: Context
) -> tuple[WrittenFile, ...]:
    """Copies the files that have rows. Checks each copy again, because the original may be changing.

    Raises TIME_OUTSIDE_PARTITION for events of other periods than the partition's, and NOT_NULL_ASSERT_VIOLATION for
    NULL in a measure that is declared NOT NULL.
    """
    table = target.table
    directory = (
        os.path.join(folder, partition_name(table.partition_columns, target.static)) if target.static else folder
    )
    copied_files: list[WrittenFile] = []
    try:
        os.makedirs(directory, exist_ok=True)
        for file in files:
            path = os.path.join(directory, f"part-{uuid.uuid4().hex}{_ending(table, file.path)}")
            fetch_file(file.path, path)
            check_file(table, path, file.path)
            rows = _rows(table, path, file.path, context)
            if rows:
                copied_files.append(WrittenFile(path, target.static, rows, os.path.getsize(path)))
            else:
                remove_file(path, (folder,))
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(f"The directory {directory}", table.name) from error
        raise OperationalError(
            f"The files cannot be copied to {directory}: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=table.name,
            hint="Check that this user can write to the table's location, and that it has free space.",
        ) from error
    check_events(table, copied_files, context)
    check_not_null(table, copied_files, context)
    return tuple(copied_files)


def _ending(table: Table, path: str) -> str:
    """Returns the ending of a loaded file, by which readers know that a text file is compressed."""
    compression = os.path.splitext(path)[1].lower()
    return f".{table.format}{compression if table.file_options and compression in COMPRESSED_ENDINGS else ''}"


def _rows(table: Table, path: str, path_text: str, context: Context) -> int:
    """Returns the number of rows of a file. For text formats every value is cast; this fails where one is not of its
    type.
    """
    declared_rows = stored_rows(table.format, path)
    if declared_rows is not None:
        return declared_rows
    relation = Relation(
        f"rw_{next(context.serial)}_load",
        table.format,
        table.columns,
        (),
        (ScanFile(path, (), os.path.getsize(path)),),
        options=table.file_options,
    )
    counts = ", ".join(f"COUNT({quote_identifier(column.name)})" for column in table.columns)
    query = EngineQuery(f"SELECT COUNT(*), {counts} FROM {relation.name}", (relation,))
    try:
        return int(context.engine().execute(query).read_all().column(0)[0].as_py())
    except Error as error:
        error.message, error.object = f"In the file {path_text}: {error.message}", path_text
        error.position, error.hint = None, _insert_hint(table)
        raise


def _loaded(
    statement: s.LoadData, target: Target, write_id: int, files: Sequence[WrittenFile], context: Context
) -> list[WriteChange]:
    change = change_of(statement, target, write_id, files, BY_LOAD_DATA, context)
    return [] if change is None else [change]


def check_file(table: Table, path: str, path_text: str) -> None:
    """Raises unless the file has the table's data columns, with their types. ``path_text`` is the path that the
    user gave.
    """
    limited = next((column for column in table.columns if column.type.startswith(("char", "varchar"))), None)
    if limited is not None:
        raise NotSupportedError(
            f"The column {limited.name} of {table.name} is {limited.type.upper()}, but LOAD DATA does "
            "not check lengths.",
            object=limited.name,
            hint=_insert_hint(table),
        )
    if table.file_options:
        return  # The reader compares the header, if there is one, and counts fields.
    renamed = next((column for column in table.columns if column.stored is not None), None)
    if renamed is not None:
        raise NotSupportedError(
            f"The column {renamed.name} of {table.name} has another name in its files, and LOAD DATA does not change "
            "files.",
            object=renamed.name,
            hint=_insert_hint(table),
        )
    try:
        stored = stored_columns(table.format, path)
    except Error as error:
        error.message, error.object = error.message.replace(path, path_text), path_text
        raise
    difference = _difference(table, stored)
    if difference:
        raise AnalysisError(
            f"The file {path_text} does not have the columns of {table.name}: {difference}.",
            condition="LOAD_SCHEMA_MISMATCH",
            object=path_text,
            hint=_insert_hint(table),
        )


def _difference(table: Table, stored: Sequence[Column]) -> str | None:
    declared = {column.name.lower(): column for column in table.columns}
    partitioning = {column.name.lower() for column in table.partition_columns}
    seen_names: set[str] = set()
    for column in stored:
        name = column.name.lower()
        declared_column = declared.get(name)
        if name in partitioning:
            return f"it contains the partition column {column.name}, whose value PARTITION gives"
        if declared_column is None:
            return f"it contains the column {column.name}, which the table does not have"
        if name in seen_names:
            return f"it contains {column.name} twice"
        if not DATA_FORMATS[table.format].is_text and column.type.lower() != declared_column.type.lower():
            return f"{column.name} is {column.type.upper()} in the file and {declared_column.type.upper()} in the table"
        seen_names.add(name)
    lacking = [column.name for column in table.columns if column.name.lower() not in seen_names]
    if lacking and not DATA_FORMATS[table.format].omits_nulls:
        return f"it lacks {', '.join(lacking)}"
    names = [column.name for column in stored]
    if DATA_FORMATS[table.format].has_header and names != [column.name for column in table.columns]:
        return f"its header is {','.join(names)}, but all files of a CSV table must have the same header"
    return None


def _insert_hint(table: Table) -> str:
    if table.file_options:
        return f"Check the options, the separators and the columns of {table.name}."
    return f"INSERT INTO {table.name} SELECT … FROM {table.format}.`…` converts the rows."
