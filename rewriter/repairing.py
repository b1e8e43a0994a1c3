"""MSCK [REPAIR] TABLE and ALTER TABLE … RECOVER PARTITIONS: an external table's directories against the catalog.

The directories are listed, and all that is changed is one transaction. No engine is started, no file is opened, and
none is moved or removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rewriter.catalog.binding import TimeBinding
from rewriter.catalog.changes import AddPartitions, DropPartitions, PartitionWrite
from rewriter.catalog.models import Partition, PartitionValues, Table
from rewriter.catalog.partition_paths import is_discovered, partition_path
from rewriter.catalog.scan_filters import ScanFilter
from rewriter.catalog.values import partition_name
from rewriter.context import Context
from rewriter.directories import (
    FoundDirectory,
    folders_in,
    in_parallel,
    is_directory,
    list_directories,
    printable,
)
from rewriter.errors import AnalysisError, ConflictError, DataError, Error, OperationalError
from rewriter.files import directory
from rewriter.grammar import statements as s
from rewriter.result import Result, Row
from rewriter.showing import listing, strings
from rewriter.specs import read_filter

ABSENT_IN_CATALOG, ABSENT_ON_DISK = "missing in catalog", "missing on disk"
ADDED, DROPPED = "added", "dropped"
AMBIGUOUS, IGNORED = "ambiguous", "ignored"

_ATTEMPTS = 4


@dataclass(frozen=True)
class _New:
    """A partition that the catalog lacks."""

    found: FoundDirectory
    is_default: bool


@dataclass
class _Findings:
    """What is to be done, and the rows that say so: (partition, status, location, reason)."""

    table: Table
    new: list[_New] = field(default_factory=list)
    gone: list[Partition] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, values: PartitionValues | None, status: str, path: str, reason: str | None = None) -> None:
        name = None if values is None else partition_name(self.table.partition_columns, values)
        self.rows.append((name, status, printable(path), reason))


def repair_table(statement: s.RepairTable, context: Context) -> Result:
    """Rows of (partition, status, location, reason): what is missing on either side, or what was done about it.

    What lies on disk and names no partition, or names one that another directory names, is ``ignored`` or
    ``ambiguous``, with the reason; nothing is registered for it. Without REPAIR nothing is changed. Of a managed table,
    whose files are the catalog's own, there is nothing to tell.

    Raises NOT_A_PARTITIONED_TABLE 42809, what ``specs.read_dropped`` raises for the filter, FAILED_READ_FILE for a
    directory that may not be read, PATH_NOT_FOUND rather than drop all because the table's directory is not there.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _repair_table(statement, context)
        except ConflictError:
            context = context.renewed()
    return _repair_table(statement, context)


def _repair_table(statement: s.RepairTable, context: Context) -> Result:
    table = context.table(statement.table)
    kind = "MSCK REPAIR TABLE" if statement.repair else "MSCK TABLE"
    _require_partitioned(table, kind, statement)
    wanted = None if statement.where is None else read_filter(table, statement.where)
    found = _Findings(table)
    if not table.external:
        found.warnings.append(f"{table.name} is a managed table: its files are the catalog's own.")
    else:
        try:
            _compare(found, statement.what, wanted, context)
            if statement.repair:
                _commit(found, context)
        except Error as error:
            raise error.at(statement.table.span) from None
    statuses = {ABSENT_IN_CATALOG: ADDED, ABSENT_ON_DISK: DROPPED} if statement.repair else {}
    rows: list[Row] = [(name, statuses.get(str(status), status), *rest) for name, status, *rest in found.rows]
    rows.sort(key=lambda row: (row[0] is None, row[0] or "", row[2]))
    answer = listing(kind, strings("partition", "status", "location", "reason"), rows)
    return replace(answer, warnings=tuple(found.warnings))


def _require_partitioned(table: Table, kind: str, statement: s.RepairTable) -> None:
    if not table.partition_columns:
        raise AnalysisError(
            f"Operation {kind} is not allowed for {table.name} because it is not a partitioned table.",
            condition="NOT_A_PARTITIONED_TABLE",
            sqlstate="42809",
            position=statement.table.span,
            object=table.name,
            hint="Its files are read as they are; partitions belong to tables created with PARTITIONED BY.",
        )


def _compare(found: _Findings, what: str, wanted: ScanFilter | None, context: Context) -> None:
    """Notes what differs between the directories and the catalog."""
    table = found.table
    known = {one.key: one for one in context.snapshot.satisfying(table, wanted)}
    if what != "ADD":
        places = [directory(table, one) for one in known.values()]
        advance = context.progress.counter("checking", "directories", len(places))
        present = in_parallel(is_directory, places, advance)
        found.gone = [one for one, there in zip(known.values(), present, strict=True) if not there]
        for one in found.gone:
            found.note(one.values, ABSENT_ON_DISK, directory(table, one))
    if what != "DROP":
        replaced = {one.key for one in found.gone}
        _look_for_new(found, {key: one for key, one in known.items() if key not in replaced}, wanted, context)
    if not is_directory(table.location):
        found.warnings.append(f"The directory {table.location} of {table.name} is not there.")


def _look_for_new(found: _Findings, known: dict[bytes, Partition], wanted: ScanFilter | None, context: Context) -> None:
    table = found.table
    listed = list_directories(table, wanted, context.progress.counter("listing", "directories"))
    misfit = _fits_no_layout(table, context)
    for key, group in listed.by_key().items():
        if key in known:
            _compare_places(found, group, directory(table, known[key]))
        elif len(group) > 1:
            for one in group:
                found.note(one.values, AMBIGUOUS, one.path, f"{len(group)} directories name this partition")
        elif is_discovered(table):
            continue
        elif (reason := misfit(group[0].values)) is not None:
            found.note(group[0].values, IGNORED, group[0].path, reason)
        else:
            default = os.path.join(table.location, partition_path(table, group[0].values))
            found.new.append(_New(group[0], group[0].path == default))
            found.note(group[0].values, ABSENT_IN_CATALOG, group[0].path)
    for stray in listed.strays:
        found.note(None, IGNORED, stray.path, stray.reason)
    if listed.hidden:
        found.warnings.append(f"Hidden directories were passed over: {_some(listed.hidden)}.")
    advance = context.progress.counter("checking", "directories", len(found.new))
    deeper = in_parallel(folders_in, [new.found.path for new in found.new], advance)
    paths = [os.path.join(new.found.path, names[0]) for new, names in zip(found.new, deeper, strict=True) if names]
    if paths:
        found.warnings.append(
            f"Files in directories below the last partition column are read as rows of the partition: {_some(paths)}."
        )


def _compare_places(found: _Findings, group: Sequence[FoundDirectory], place: str) -> None:
    """Notes the directories that name a registered partition and are not where it is registered."""
    others = [one for one in group if not _same(one.path, place)]
    if others:
        reason = f"the partition is registered at {place}"
        if not is_directory(place):
            reason += ", which is not there: SYNC PARTITIONS or SET LOCATION corrects it"
        for one in others:
            found.note(one.values, AMBIGUOUS, one.path, reason)


def _fits_no_layout(table: Table, context: Context) -> Callable[[PartitionValues], str | None]:
    """Says why a partition cannot be one of a fact's table; nothing of a table that no fact uses."""
    fact = context.snapshot.fact_using(table.name)
    stored = fact.storage_table(table.name) if fact is not None else None
    if fact is None or stored is None:
        return lambda values: None
    binding = TimeBinding(fact, stored, table)

    def reason(values: PartitionValues) -> str | None:
        try:
            binding.check_period(values, {}, binding.locate(values))
        except DataError as error:
            return error.message
        return None

    return reason


def _commit(found: _Findings, context: Context) -> None:
    table = found.table
    if found.gone and not is_directory(table.location):
        raise OperationalError(
            f"The directory {table.location} of {table.name} is not there, so no partition of it was dropped.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=table.name,
            hint=f"Mount it, or drop the partitions by ALTER TABLE {table.name} DROP PARTITION (…).",
        )
    changes: list[DropPartitions | AddPartitions] = []
    if found.gone:
        changes.append(DropPartitions(table, tuple(one.key for one in found.gone)))
    if found.new:
        writes = tuple(
            PartitionWrite(new.found.values, location=None if new.is_default else new.found.path) for new in found.new
        )
        changes.append(AddPartitions(table, writes))
    if changes:
        context.progress.tell("committing", total=len(found.gone) + len(found.new), unit="partitions")
        with context.catalog.begin(context.snapshot) as transaction:
            transaction.commit(changes)


def _same(one: str, other: str) -> bool:
    """Whether two paths are one directory."""
    if one == os.path.normpath(other):
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return printable(", ".join(paths[:3])) + more
