"""FROM source INSERT … INSERT …: several writes into managed tables, one transaction.

All of it is checked before any work, all tables are read under one snapshot, and one commit makes everything: whatever
fails, nothing was written. What must not be computed twice (``planner.repeatable``) is computed once, into a directory
of files that is gone afterwards.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rewriter.catalog.changes import WritePartitions
from rewriter.catalog.models import PartitionValues
from rewriter.catalog.several import together
from rewriter.catalog.values import partition_name
from rewriter.context import Context
from rewriter.errors import AnalysisError, Error, NotSupportedError, OperationalError
from rewriter.exec.engine import Write, WrittenFile
from rewriter.exec.files import write_empty
from rewriter.grammar import statements as s
from rewriter.grammar.inserts import joined
from rewriter.managed import Place, proven, write_tables
from rewriter.planner.plan import Coverage, quote_identifier
from rewriter.planner.repeatable import Shared, shared_part
from rewriter.reading import Prepared, placed, prepare
from rewriter.result import Result, Scan, Stats
from rewriter.writing import Checked, change_of, checked, only_adds, retried, rows_of, written


def multi_insert(statement: s.MultiInsert, context: Context) -> Result:
    """Runs a multi-insert: all or nothing. Run anew after a conflict as INSERT is, where it overwrites nothing.

    Raises before any work what is wrong with one of the statements, and CONFLICTING_INSERTS where one of them
    overwrites a partition that another one writes.
    """
    return retried(lambda now: _multi_insert(statement, now), all(map(only_adds, statement.inserts)), context)


def _multi_insert(statement: s.MultiInsert, context: Context) -> Result:
    started = time.perf_counter()
    shared = shared_part(statement.source, context.snapshot)
    branches = [found for one in statement.inserts if (found := _checked(statement.source, one, context)) is not None]
    _refuse_same(branches)
    if not branches:
        return Result("INSERT", rowcount=0)
    with _computed(shared, statement.source, context) as source:
        if source is not None:
            branches = [source.under(one, context) for one in branches]
        files = _write(branches, context)
    plans = [one.prepared.plan for one in branches]
    scans = [scan for one in branches for scan in one.prepared.scans] if source is None else source.scans
    every = [file for some in files for file in some]
    planning = sum(one.prepared.planning_seconds for one in branches)
    return Result(
        "INSERT",
        rowcount=rows_of(every),
        coverage=Coverage(tuple(one for plan in plans for one in plan.coverage.references)),
        warnings=tuple(dict.fromkeys(warning for plan in plans for warning in plan.warnings)),
        stats=Stats(
            tuple(scans),
            written_partitions=len(
                {(one.target.table.id, file.values) for one, some in zip(branches, files, strict=True) for file in some}
            ),
            written_files=len(every),
            written_bytes=sum(file.bytes for file in every),
            planning_seconds=planning,
            execution_seconds=time.perf_counter() - started - planning,
        ),
    )


def _checked(source: s.Query, insert: s.Insert, context: Context) -> Checked | None:
    whole = replace(insert, query=joined(source, insert.query))
    table = context.table(insert.table)
    if table.external:
        raise NotSupportedError(
            f"{table.name} is an external table: files moved into plain directories are no part of a transaction.",
            condition="MULTI_INSERT_EXTERNAL",
            position=insert.table.span,
            object=table.name,
            hint=f"Write INSERT INTO {table.name} SELECT … FROM … as a statement of its own.",
        )
    return checked(whole, context, insert.query.span)


# ---- what is written twice


def _refuse_same(branches: Sequence[Checked]) -> None:
    """Refuses, before any work, what surely overwrites what another one writes."""
    for number, one in enumerate(branches):
        for other in branches[:number]:
            if one.target.table.id != other.target.table.id:
                continue
            first, second = one.target, other.target
            if not (one.statement.overwrite or other.statement.overwrite):
                continue
            if first.is_static and second.is_static and first.static == second.static:
                raise _conflict(one, first.static)


def _conflict(one: Checked, values: PartitionValues) -> AnalysisError:
    table = one.target.table
    name = partition_name(table.partition_columns, values) if values else ""
    what = f"the partition {name} of {table.name}" if name else f"the table {table.name}"
    return AnalysisError(
        f"An INSERT overwrites {what}, which another one of the same statement writes.",
        condition="CONFLICTING_INSERTS",
        position=one.statement.table.span,
        object=table.name,
        hint="Write each partition in one of them, or INSERT INTO in all of them.",
    )


def _changes(
    branches: Sequence[Checked], files: Sequence[Sequence[WrittenFile]], places: Mapping[int, Place], context: Context
) -> list[WritePartitions]:
    """What the catalog is told: each partition once."""
    made: list[tuple[Checked, WritePartitions]] = []
    for one, some in zip(branches, files, strict=True):
        table = one.target.table
        change = change_of(one.statement, one.target, places[table.id].write_id, some, context)
        if change is not None:
            sources, unproven = proven(one.prepared.plan.readings, context)
            made.append((one, replace(change, sources=sources, unproven=unproven)))
    for number, (one, change) in enumerate(made):
        for other, earlier in made[:number]:
            if earlier.table.id == change.table.id:
                _refuse_overlap(one, change, other, earlier)
    return together([change for _, change in made])


def _refuse_overlap(one: Checked, change: WritePartitions, other: Checked, earlier: WritePartitions) -> None:
    if not (change.overwrite or earlier.overwrite):
        return
    mine, theirs = ({p.values for p in some.partitions} for some in (change, earlier))
    both = mine & theirs
    for wiping, wiper, values in ((change, one, theirs), (earlier, other, mine)):
        prefix = wiper.target.static
        both |= {value for value in values if wiping.wipes and value[: len(prefix)] == prefix}
    if both:
        raise _conflict(one, min(both, key=lambda values: [value or "" for value in values]))


def _write(branches: Sequence[Checked], context: Context) -> list[tuple[WrittenFile, ...]]:
    files: list[tuple[WrittenFile, ...]] = []

    def fill(places: Mapping[int, Place]) -> list[WritePartitions]:
        for one in branches:
            files.append(
                written(one.query, one.statement.query, one.target, places[one.target.table.id].folder, context)
            )
        return _changes(branches, files, places, context)

    tables = {one.target.table.id: one.target.table for one in branches}
    try:
        write_tables(list(tables.values()), fill, (), context)
    except Error as error:
        raise error.at(branches[0].statement.query.span) from None
    return files


# ---- a source that is computed once


@dataclass(frozen=True)
class _Source:
    """A source whose one relation lies in files.

    ``text`` is the source with these in its place, ``length`` that of the source as typed.
    """

    text: str
    length: int
    scans: tuple[Scan, ...]

    def under(self, one: Checked, context: Context) -> Checked:
        """The INSERT, to be read from the files. What it read and proves stays as planned over the source itself."""
        query = one.statement.query
        body = query.text[self.length :]
        try:
            prepared = prepare(s.Query(f"{self.text} {body}", query.span), context)
        except Error as error:
            error.position = None
            raise error.at(query.span) from None
        return replace(one, query=replace(prepared.query, sql=one.target.arranged(prepared.query.sql)))


@contextmanager
def _computed(shared: Shared | None, source: s.Query, context: Context) -> Iterator[_Source | None]:
    """Computes the shared part of a source into a directory of the warehouse, which is removed afterwards."""
    if shared is None:
        yield None
        return
    prepared = prepare(shared.query, context)
    folder = os.path.join(context.catalog.warehouse, f".rewriter-source-{uuid.uuid4().hex}")
    try:
        _fill(folder, shared, prepared, context)
        reference = f"parquet.{quote_identifier(folder)}"
        alias = f" AS {quote_identifier(shared.alias)}" if shared.alias else ""
        text = f"{source.text[: shared.place.start]} {reference}{alias}{source.text[shared.place.end :]}"
        yield _Source(text, len(source.text), prepared.scans)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(folder: str, shared: Shared, prepared: Prepared, context: Context) -> None:
    try:
        columns = context.engine().columns(prepared.query)
    except Error as error:
        raise placed(error, shared.query, prepared.query.sql) from None
    names = [column.name.lower() for column in columns]
    for number, column in enumerate(columns):
        if column.name.lower() in names[:number] or column.type == "void":
            twice = column.type != "void"
            raise AnalysisError(
                f"The source answers a column {column.name} {'twice' if twice else 'of no type, NULL'}.",
                condition="COLUMN_ALREADY_EXISTS" if twice else "UNSUPPORTED_DATATYPE",
                sqlstate="42711" if twice else "0A000",
                position=shared.query.span,
                object=column.name,
                hint="Give each column a name of its own." if twice else "Write CAST(NULL AS type).",
            )
    write = Write(folder, "parquet", columns, ())
    try:
        context.engine().write(prepared.query, write)
        if not os.listdir(folder):
            write_empty(os.path.join(folder, "none.parquet"), columns)
    except Error as error:
        raise placed(error, shared.query, prepared.query.sql) from None
    except OSError as error:
        raise OperationalError(
            f"The source cannot be kept in {folder}: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            position=shared.query.span,
            hint="See that the warehouse may be written and has room.",
        ) from error
    kept = context.engine().file_columns("parquet", folder)
    for column, found in zip(columns, kept, strict=True):
        if column.type != found.type:
            raise NotSupportedError(
                f"The source's column {column.name} is a {column.type.upper()}, which cannot be kept in a file.",
                position=shared.query.span,
                object=column.name,
                hint=f"Write CAST({column.name} AS STRING) in the source, or one INSERT for each target.",
            )
