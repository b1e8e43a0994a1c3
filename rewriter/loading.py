"""LOAD DATA: copies files of the table's format into a write of its own. The files themselves stay where they are.

Nothing is converted, so a file is taken only where every reader will find in it what the table declares.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Sequence

from rewriter.catalog.models import Column, Table
from rewriter.catalog.values import partition_name
from rewriter.context import Context
from rewriter.errors import AnalysisError, Error, NotSupportedError, OperationalError
from rewriter.exec.engine import EngineQuery, Relation, ScanFile, WrittenFile
from rewriter.exec.files import TEXT_FORMATS, stored_columns, stored_rows
from rewriter.files import FoundFile, expand
from rewriter.grammar import statements as s
from rewriter.managed import write_managed
from rewriter.planner.plan import quote_identifier
from rewriter.result import Result
from rewriter.specs import Spec, incomplete, read_full, require_partitioned
from rewriter.targets import Target
from rewriter.writing import change_of, retried, rows_of, stats_of, write_external


def load_data(statement: s.LoadData, context: Context) -> Result:
    """LOAD DATA [LOCAL] INPATH … [OVERWRITE] INTO TABLE …: all files that the path names, or none.

    A relative path starts at the working directory. Costs a copy; CSV and JSON are read once by the engine besides, to
    see that their values are of the declared types. Raises LOAD_SCHEMA_MISMATCH for a file that is not of the table's
    columns, INVALID_PARTITION_SPEC unless all partition columns have a value, and what ``files.expand`` raises.
    """
    return retried(lambda now: _load(statement, now), not statement.overwrite, context)


def _load(statement: s.LoadData, context: Context) -> Result:
    started = time.perf_counter()
    target = _target(statement, context.table(statement.table))
    table = target.table
    try:
        found = expand(statement.path)
        for file in found:
            _check(table, file.path, file.path)

        def fill(folder: str) -> tuple[WrittenFile, ...]:
            return _copied(found, target, folder, context)

        if table.external:
            files = write_external(target, statement.overwrite, fill, context)
        else:
            files = write_managed(
                table,
                fill,
                lambda write_id, made: change_of(statement, target, write_id, made, context),
                (),
                context,
            )
    except Error as error:
        raise error.at(statement.path_span) from None
    return Result(
        "LOAD DATA",
        rowcount=rows_of(files),
        stats=stats_of(files, time.perf_counter() - started),
    )


def _target(statement: s.LoadData, table: Table) -> Target:
    if statement.partition is None:
        if table.partition_columns:
            raise incomplete(table, (), statement.table.span)
        return Target(table, Spec({}, frozenset()), (), (), {}, reordered=False)
    require_partitioned(table, statement.table.span)
    values = read_full(table, statement.partition)
    return Target(table, Spec(dict(enumerate(values)), frozenset()), (), values, {}, reordered=False)


def _copied(found: Sequence[FoundFile], target: Target, folder: str, context: Context) -> tuple[WrittenFile, ...]:
    """Copies of the files that have rows, each checked again: somebody may be writing at what is copied."""
    table = target.table
    place = os.path.join(folder, partition_name(table.partition_columns, target.static)) if target.static else folder
    made: list[WrittenFile] = []
    try:
        os.makedirs(place, exist_ok=True)
        for file in found:
            path = os.path.join(place, f"part-{uuid.uuid4().hex}.{table.format}")
            shutil.copyfile(file.path, path)
            _check(table, path, file.path)
            rows = _rows(table, path, file.path, context)
            if rows:
                made.append(WrittenFile(path, target.static, rows, os.path.getsize(path)))
            else:
                os.remove(path)
    except OSError as error:
        raise OperationalError(
            f"The files cannot be copied to {place}: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=table.name,
            hint="See that the table's location may be written and has room.",
        ) from error
    return tuple(made)


def _rows(table: Table, path: str, shown: str, context: Context) -> int:
    """How many rows a file has. Of text every value is cast, which fails where one is not of its type."""
    if table.format not in TEXT_FORMATS:
        return stored_rows(table.format, path)
    relation = Relation(
        f"rw_{next(context.serial)}_load", table.format, table.columns, (), (ScanFile(path, (), os.path.getsize(path)),)
    )
    counts = ", ".join(f"COUNT({quote_identifier(column.name)})" for column in table.columns)
    query = EngineQuery(f"SELECT COUNT(*), {counts} FROM {relation.name}", (relation,))
    try:
        return int(context.engine().execute(query).read_all().column(0)[0].as_py())
    except Error as error:
        error.message, error.object = f"In the file {shown}: {error.message}", shown
        error.position, error.hint = None, _instead(table)
        raise


def _check(table: Table, path: str, shown: str) -> None:
    """Raises unless the file has the table's data columns, with their types. ``shown`` is the path of the original."""
    limited = next((column for column in table.columns if column.type.startswith(("char", "varchar"))), None)
    if limited is not None:
        raise NotSupportedError(
            f"The column {limited.name} of {table.name} is {limited.type.upper()}, and LOAD DATA checks no lengths.",
            object=limited.name,
            hint=_instead(table),
        )
    try:
        stored = stored_columns(table.format, path)
    except Error as error:
        error.message, error.object = error.message.replace(path, shown), shown
        raise
    difference = _difference(table, stored)
    if difference:
        raise AnalysisError(
            f"The file {shown} is not of the columns of {table.name}: {difference}.",
            condition="LOAD_SCHEMA_MISMATCH",
            object=shown,
            hint=_instead(table),
        )


def _difference(table: Table, stored: Sequence[Column]) -> str | None:
    declared = {column.name.lower(): column for column in table.columns}
    partitioning = {column.name.lower() for column in table.partition_columns}
    seen: set[str] = set()
    for column in stored:
        name = column.name.lower()
        wanted = declared.get(name)
        if name in partitioning:
            return f"it holds the partition column {column.name}, whose value PARTITION gives"
        if wanted is None:
            return f"it holds {column.name}, which the table does not"
        if name in seen:
            return f"it holds {column.name} twice"
        if table.format not in TEXT_FORMATS and column.type.lower() != wanted.type.lower():
            return f"{column.name} is {column.type.upper()} in it and {wanted.type.upper()} in the table"
        seen.add(name)
    lacking = [column.name for column in table.columns if column.name.lower() not in seen]
    # JSON leaves out what is NULL.
    if lacking and table.format != "json":
        return f"it lacks {', '.join(lacking)}"
    names = [column.name for column in stored]
    if table.format == "csv" and names != [column.name for column in table.columns]:
        return f"its header is {','.join(names)}, and all files of a CSV table have the same one"
    return None


def _instead(table: Table) -> str:
    return f"INSERT INTO {table.name} SELECT … FROM {table.format}.`…` converts what it reads."
