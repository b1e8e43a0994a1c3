"""INSERT: into a directory of its own, then one catalog transaction.

Managed tables: until the commit no reader sees anything, after a crash nothing is half there.

External tables are plain directories that others may read. Files are written to a staging directory below the table,
renamed into their partitions, and new partitions are then registered. That is not atomic: a crash between the renames
leaves some files in place (and, for OVERWRITE, old beside new); a partition is registered only when it is complete.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rewriter.catalog.binding import TimeBinding
from rewriter.catalog.changes import AddPartitions, PartitionWrite, WritePartitions
from rewriter.catalog.models import Column, DataFile, Partition, PartitionValues, Table
from rewriter.catalog.partition_paths import is_discovered
from rewriter.context import Context
from rewriter.discovering import discovered
from rewriter.errors import (
    AnalysisError,
    CommitUnknownError,
    ConflictError,
    Error,
    NotSupportedError,
    OperationalError,
    Span,
)
from rewriter.exec.engine import EngineQuery, Write, WrittenFile
from rewriter.files import directory, external_files
from rewriter.grammar import statements as s
from rewriter.managed import grouped, write_managed
from rewriter.moving import check_unmoved
from rewriter.reading import Prepared, placed, prepare, the_partition
from rewriter.result import Result, Stats
from rewriter.specs import key_range, read_static
from rewriter.targets import Target, check_columns, named_target, read_target, refuse_static_wipe

_ATTEMPTS = 4

#: What the staging directories of external tables are called, before what tells them apart.
STAGING = ".rewriter-staging-"


def insert(statement: s.Insert, context: Context) -> Result:
    """Runs an INSERT. INTO is run anew, over a new snapshot, when another transaction came between; OVERWRITE is not.

    Raises ``ConflictError`` (retryable) after a few attempts, and before any work what is wrong with the statement.
    """
    return retried(lambda now: _insert(statement, now), only_adds(statement), context)


def only_adds(statement: s.Insert) -> bool:
    """Whether an INSERT replaces nothing, so that it may be run again without asking."""
    return not statement.overwrite or statement.if_not_exists


def retried(run: Callable[[Context], Result], safe: bool, context: Context) -> Result:
    """Runs a statement that writes, a few times over newer snapshots where it conflicts and is ``safe``.

    Not in a transaction of several statements, which all read one snapshot.
    """
    for _ in range(_ATTEMPTS - 1 if safe and context.transaction is None else 0):
        try:
            return run(context)
        except ConflictError:
            context = context.renewed()
    return run(context)


def _refuse_partial(statement: s.Insert, table: Table, prepared: Prepared, context: Context) -> None:
    """Refuses to write a partial answer into a table of a fact: its partitions would pass for whole ones."""
    if prepared.plan.coverage.complete:
        return
    fact = context.snapshot.fact_using(table.name)
    if fact is not None:
        raise AnalysisError(
            f"A partial answer, without {', '.join(prepared.plan.coverage.missing[:3])}, cannot be written into "
            f"{table.name}, which holds partitions of the fact {fact.name}.",
            condition="PARTIAL_ROLLUP",
            position=statement.query.span,
            object=table.name,
            hint="Load what is missing, or RESET rewriter.partial_data.",
        )


@dataclass(frozen=True)
class Checked:
    """An INSERT of which everything was judged that can be before any work: ``query`` is left to be written."""

    statement: s.Insert
    target: Target
    prepared: Prepared
    query: EngineQuery


def checked(statement: s.Insert, context: Context, at: Span | None = None) -> Checked | None:
    """The INSERT with its columns and types checked; ``None`` where IF NOT EXISTS leaves nothing to do.

    Starts the engine, reads no data. ``at`` is the place of what is wrong with the query as a whole.
    """
    at = at or statement.query.span
    context.progress.tell("planning")
    table = context.table(statement.table)
    target = read_target(statement, table)
    if context.settings.static_overwrite and statement.overwrite and not target.is_static:
        refuse_static_wipe(target, statement.table.span)
    if statement.if_not_exists and _existing(target, context):
        return None
    prepared = prepare(statement.query, context)
    _refuse_partial(statement, table, prepared, context)
    try:
        found = context.engine().columns(prepared.query)
    except Error as error:
        raise placed(error, statement.query, prepared.query.sql) from None
    if statement.by_name:
        target = named_target(target, found, at)
    check_columns(target, found, at)
    _refuse_zoned_casts(statement, target, found, prepared, context)
    return Checked(statement, target, prepared, replace(prepared.query, sql=target.arranged(prepared.query.sql)))


def _insert(statement: s.Insert, context: Context) -> Result:
    started = time.perf_counter()
    one = checked(statement, context)
    if one is None:
        return Result("INSERT", rowcount=0)
    write = _write_external if one.target.table.external else _write_managed
    try:
        files = write(one, context)
    except Error as error:
        # What the commit refuses, such as a partition that fits no layout, came out of the query.
        raise error.at(statement.query.span) from None
    plan = one.prepared.plan
    return Result(
        "INSERT",
        rowcount=rows_of(files),
        coverage=plan.coverage,
        plan=plan,
        warnings=plan.warnings,
        stats=stats_of(files, time.perf_counter() - started - one.prepared.planning_seconds, one.prepared),
    )


def stats_of(files: Sequence[WrittenFile], seconds: float, prepared: Prepared | None = None) -> Stats:
    """What a statement did that wrote these files into one table; ``prepared`` is the query that they came from."""
    return Stats(
        prepared.scans if prepared is not None else (),
        written_partitions=len({file.values for file in files}),
        written_files=len(files),
        written_bytes=sum(file.bytes for file in files),
        planning_seconds=prepared.planning_seconds if prepared is not None else 0.0,
        execution_seconds=seconds,
    )


def rows_of(files: Sequence[WrittenFile]) -> int:
    """How many rows the files have; -1 where nobody counted."""
    counts = [file.rows for file in files]
    return -1 if None in counts else sum(count or 0 for count in counts)


def _refuse_zoned_casts(
    statement: s.Insert, target: Target, found: Sequence[Column], prepared: Prepared, context: Context
) -> None:
    """An instant out of a cube with a zone has a date and a text there; assignment would make those of UTC. One out of
    any cube is no wall time, which a TIMESTAMP column that names a zone's days holds.
    """
    zones = [one.calendar.zone for one in prepared.plan.coverage.references]
    zone = next((zone for zone in zones if zone != "UTC"), None)
    fact = context.snapshot.fact_using(target.table.name)
    place = fact.storage_table(target.table.name) if fact is not None else None
    for column, given in zip(target.provided, found, strict=True):
        if given.type != "timestamp":
            continue
        if fact is not None and place is not None and zones and column.name.lower() in place.wall_columns:
            kind, of = "wall time", fact.zone
            hint = f"Write a date, such as to_date(…): {column.name} becomes its midnight."
        elif zone is not None and column.type != "timestamp":
            kind, of = column.type.upper(), zone
            hint = f"Write to_date(…) or date_format(…, '…') in the query, or declare {column.name} TIMESTAMP."
        else:
            continue
        raise NotSupportedError(
            f"{given.name} is an instant, and {column.name} a {kind}: in {of} it would be another one than in UTC.",
            condition="ZONED_TIME",
            position=statement.query.span,
            object=column.name,
            hint=hint,
        )


def _existing(target: Target, context: Context) -> tuple[Partition, ...]:
    """The partition that a static target names, where it exists."""
    if is_discovered(target.table):
        return tuple(_known(target, context).values())
    return context.snapshot.partitions(target.table, [key_range(target.table, target.static)])


def _write_managed(one: Checked, context: Context) -> tuple[WrittenFile, ...]:
    return write_managed(
        one.target.table,
        lambda folder: written(one.query, one.statement.query, one.target, folder, context),
        lambda write_id, files: change_of(one.statement, one.target, write_id, files, context),
        one.prepared.plan.readings,
        context,
    )


def written(
    query: EngineQuery, source: s.Query, target: Target, folder: str, context: Context
) -> tuple[WrittenFile, ...]:
    """Runs the engine on a query, which was typed as ``source``. Files without rows are left out."""
    table, limit = target.table, context.settings.max_dynamic_partitions
    write = Write(folder, table.format, table.columns, table.partition_columns, target.static, limit)
    try:
        with context.progress.watching(folder):
            return tuple(file for file in context.engine().write(query, write) if file.rows != 0)
    except Error as error:
        raise placed(error, source, query.sql) from None


def change_of(
    statement: s.Insert | s.LoadData, target: Target, write_id: int, files: Sequence[WrittenFile], context: Context
) -> WritePartitions | None:
    """What the write means to the catalog; ``None`` where it changes nothing."""
    partitions = grouped(files)
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
        tuple(PartitionWrite(values, files) for values, files in partitions.items()),
        overwrite=statement.overwrite,
        wipes=(key_range(target.table, target.static),) if static_wipe else (),
        if_not_exists=isinstance(statement, s.Insert) and statement.if_not_exists,
    )


def _write_external(one: Checked, context: Context) -> tuple[WrittenFile, ...]:
    def fill(folder: str) -> tuple[WrittenFile, ...]:
        return written(one.query, one.statement.query, one.target, folder, context)

    return write_external(one.target, one.statement.overwrite, fill, context)


def write_external(
    target: Target, overwrite: bool, fill: Callable[[str], tuple[WrittenFile, ...]], context: Context
) -> tuple[WrittenFile, ...]:
    """Lets ``fill`` write files into a staging directory and moves them into their partitions, which are registered."""
    table = target.table
    context.require_transactional(table)
    unique = uuid.uuid4().hex
    with staged(table) as staging:
        files = fill(staging)
        partitions = grouped(files)
        context.progress.tell("committing", total=len(partitions), unit="partitions")
        if target.is_static and (overwrite or table.partition_columns):
            partitions.setdefault(target.static, ())
        known = _known(target, context)
        new = [values for values in partitions if values not in known]
        _check_layouts(target, new, context)
        old = _old_files(target, partitions, known) if overwrite else []
        moved: list[str] = []
        with taken_back(moved, BaseException):
            for values, found in partitions.items():
                place = directory(table, known.get(values) or Partition(b"", values))
                move(found, place, unique, moved)
            if table.partition_columns:
                check_unmoved(table, [known[values] for values in partitions if values in known], context)
        # Only an error of ours says surely that nothing was registered; otherwise the files must stay.
        with taken_back(moved, Error):
            _register(target, new, context)
        for path in old:
            os.remove(path)
    return files


@contextmanager
def staged(table: Table) -> Iterator[str]:
    """The path of a staging directory of an external table's, whose own directory is made; removed after the block.

    Raises ``OperationalError`` EXTERNAL_WRITE_FAILED for what the disk refuses in the block.
    """
    staging = os.path.join(table.location, f"{STAGING}{uuid.uuid4().hex}")
    try:
        os.makedirs(table.location, exist_ok=True)
        yield staging
    except OSError as error:
        raise OperationalError(
            f"The external table {table.name} cannot be written: {error}.",
            condition="EXTERNAL_WRITE_FAILED",
            object=table.name,
            hint=f"Look at the directory {table.location}.",
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def taken_back(moved: Sequence[str], failure: type[BaseException]) -> Iterator[None]:
    """Removes the files that were moved after such a failure, unless the commit may have come to pass."""
    try:
        yield
    except CommitUnknownError:
        raise
    except failure:
        for path in moved:
            os.remove(path)
        raise


def _known(target: Target, context: Context) -> dict[PartitionValues, Partition]:
    """The partitions that the catalog has; an unpartitioned table has one, its location."""
    table = target.table
    if not table.partition_columns:
        return {(): the_partition(table)}
    if is_discovered(table):
        wanted = read_static(table, dict(enumerate(target.static)))
        return {partition.values: partition for partition in discovered(table, wanted, context.snapshot).values()}
    ranges = [key_range(table, target.static)]
    return {partition.values: partition for partition in context.snapshot.partitions(table, ranges)}


def _old_files(
    target: Target, partitions: dict[PartitionValues, tuple[DataFile, ...]], known: dict[PartitionValues, Partition]
) -> list[str]:
    """What OVERWRITE replaces, listed before anything new is there. An unregistered directory counts, too."""
    table = target.table
    places = tuple(known.get(values) or Partition(b"", values) for values in partitions)
    return [file.path for _, file in external_files(table, places)]


def move(files: Sequence[DataFile], place: str, unique: str, moved: list[str]) -> None:
    """Renames the files into ``place`` under unique names, and notes each in ``moved`` as soon as it is there."""
    os.makedirs(place, exist_ok=True)
    for number, file in enumerate(files):
        path = os.path.join(place, f"{unique}-{number:05d}-{os.path.basename(file.path)}")
        os.rename(file.path, path)
        moved.append(path)


def _register(target: Target, new: Sequence[PartitionValues], context: Context) -> None:
    if new and target.table.partition_columns and not is_discovered(target.table):
        with context.catalog.begin(context.snapshot) as transaction:
            writes = tuple(PartitionWrite(values) for values in new)
            transaction.commit([AddPartitions(target.table, writes, if_not_exists=True)])


def _check_layouts(target: Target, new: Sequence[PartitionValues], context: Context) -> None:
    """A storage table's new partitions must fit its layouts: judged before files are moved, as the commit would."""
    fact = context.snapshot.fact_using(target.table.name)
    stored = fact.storage_table(target.table.name) if fact is not None else None
    if fact is None or stored is None:
        return
    binding = TimeBinding(fact, stored, target.table)
    for values in new:
        binding.locate(values)
