"""MSCK [REPAIR] TABLE, ALTER TABLE … RECOVER PARTITIONS and REFRESH TABLE: compare an external table's directories and
files with the catalog.

The directories are listed; for the base of a fact and for accepted rollups, the files in them are listed, too. All
changes are one transaction. No engine is started, no file is opened, and none is moved or removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.keys.paths import is_discovered, partition_path
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.changes import AddPartitions, DropPartitions, NoteFiles, PartitionWrite
from rewriter.catalog.model.objects import Partition, PartitionValues, Table, View
from rewriter.catalog.storage.data_files import directory
from rewriter.catalog.storage.partition_directories import (
    FoundDirectory,
    folders_in,
    in_parallel,
    is_directory,
    list_directories,
    printable,
)
from rewriter.errors import AnalysisError, ConflictError, DataError, Error, OperationalError
from rewriter.grammar.families import maintenance as s
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.fact_periods import StoredPeriod, passed_time
from rewriter.statements.resolve.partition_specs import read_filter
from rewriter.statements.resolve.text_comparisons import comparable
from rewriter.statements.write.external_base_changes import (
    Listing,
    as_listed,
    external_binding,
    holds_base,
    list_files,
    note_listed,
)

if TYPE_CHECKING:
    from rewriter.catalog.filters.predicates import ScanFilter
    from rewriter.runtime.statement_context import Context

_ABSENT_IN_CATALOG, _ABSENT_ON_DISK = "missing in catalog", "missing on disk"
_CHANGED_ON_DISK = "changed on disk"
ADDED, _DROPPED, _NOTED = "added", "dropped", "noted"
AMBIGUOUS, IGNORED = "ambiguous", "ignored"

_ATTEMPTS = 4


@dataclass(frozen=True)
class _New:
    """A partition that the catalog lacks."""

    directory: FoundDirectory
    is_default: bool


@dataclass
class _Findings:
    """The changes to make, and the rows that report them: (partition, status, location, reason)."""

    table: Table
    new: list[_New] = field(default_factory=list)
    absent: list[Partition] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    files: Listing | None = None
    warnings: list[str] = field(default_factory=list)

    def note(self, values: PartitionValues | None, status: str, path: str, reason: str | None = None) -> None:
        name = None if values is None else partition_name(self.table.partition_columns, values)
        self.rows.append((name, status, printable(path), reason))


@runs(s.RepairTable)
def repair_table(statement: s.RepairTable, context: Context) -> Result:
    """Returns rows of (partition, status, location, reason): the partitions missing on either side, or what was done
    about them.

    A directory that names no partition, or one that another directory names, is ``ignored`` or ``ambiguous``, with
    the reason; nothing is registered for it. Without REPAIR nothing is changed. A managed table has no rows, because
    its files are the catalog's own.

    Raises NOT_A_PARTITIONED_TABLE 42809, the errors of ``partition_specs.read_dropped`` for the filter,
    FAILED_READ_FILE for a directory that may not be read, and PATH_NOT_FOUND, rather than drop all, if the table's
    directory is missing.
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
    where = None if statement.where is None else comparable(table, statement.where, context.snapshot)
    filter_ = None if where is None else read_filter(table, where)
    findings = _Findings(table)
    if not table.external:
        findings.warnings.append(f"{table.name} is a managed table: the catalog owns its files.")
    else:
        try:
            _compare(findings, statement.what, filter_, context)
            if statement.repair:
                _commit(findings, context)
        except Error as error:
            raise error.at(statement.table.span) from None
    statuses = {_ABSENT_IN_CATALOG: ADDED, _CHANGED_ON_DISK: _NOTED} if statement.repair else {}
    if statement.repair and statement.what != "ADD":
        statuses[_ABSENT_ON_DISK] = _DROPPED
    rows: list[Row] = [(name, statuses.get(str(status), status), *details) for name, status, *details in findings.rows]
    rows.sort(key=lambda row: (row[0] is None, row[0] or "", row[2]))
    result = listing(kind, strings("partition", "status", "location", "reason"), rows)
    return replace(result, warnings=tuple(findings.warnings))


@runs(s.RefreshTable, in_transaction=True)
def refresh_table(statement: s.RefreshTable, context: Context) -> Result:
    """REFRESH TABLE: compares the files of an external table of a fact with the files that rollups were computed from,
    or that CHECK FACT accepted. Changes of the base outdate rollups; a changed rollup is unproven.

    Costs a listing of the table's files. Does nothing for any other table, or for a view: each statement lists the
    files again, and reads everything else under its snapshot. Raises PATH_NOT_FOUND for a directory that does not
    exist, and FAILED_READ_FILE for one that may not be read.
    """
    if isinstance(context.named(statement.table), View):
        return Result("REFRESH TABLE")
    table = context.table(statement.table)
    binding = external_binding(table, context)
    if binding is not None:
        try:
            note_listed(list_files(binding, context.snapshot.partitions(table), context).complete(), context)
        except Error as error:
            raise error.at(statement.table.span) from None
    return Result("REFRESH TABLE")


def _require_partitioned(table: Table, kind: str, statement: s.RepairTable) -> None:
    if not table.partition_columns:
        raise AnalysisError(
            f"Operation {kind} is not allowed for {table.name} because it is not a partitioned table.",
            condition="NOT_A_PARTITIONED_TABLE",
            sqlstate="42809",
            position=statement.table.span,
            object=table.name,
            hint="Its files are read directly; only tables created with PARTITIONED BY have partitions.",
        )


def _compare(findings: _Findings, action: str, scan_filter: ScanFilter | None, context: Context) -> None:
    """Notes the differences between the directories and the catalog."""
    table = findings.table
    registered = {partition.key: partition for partition in context.snapshot.satisfying(table, scan_filter)}
    if action != "ADD":
        directories = [directory(table, partition) for partition in registered.values()]
        advance = context.progress.counter("checking", "directories", len(directories))
        exist = in_parallel(is_directory, directories, advance)
        findings.absent = [
            partition for partition, exists in zip(registered.values(), exist, strict=True) if not exists
        ]
        for partition in findings.absent:
            findings.note(partition.values, _ABSENT_ON_DISK, directory(table, partition))
    if action != "DROP":
        replaced = {partition.key for partition in findings.absent}
        _look_for_new(
            findings,
            {key: partition for key, partition in registered.items() if key not in replaced},
            scan_filter,
            context,
        )
    _compare_files(findings, registered, action, context)
    if not is_directory(table.location):
        findings.warnings.append(f"The directory {table.location} of {table.name} does not exist.")


def _compare_files(findings: _Findings, registered: Mapping[bytes, Partition], action: str, context: Context) -> None:
    """Notes the differences between the files of a fact's table and the files that the catalog has listed."""
    table = findings.table
    binding = external_binding(table, context)
    if binding is None:
        return
    absent_keys = {partition.key for partition in findings.absent}
    findings.files = list_files(
        binding, [partition for key, partition in registered.items() if key not in absent_keys], context
    )
    for unlisted in findings.files.unlisted:
        if unlisted.error.condition != "PATH_NOT_FOUND":
            raise unlisted.error
        reason = "SYNC PARTITIONS drops it" if action == "ADD" else None
        findings.note(unlisted.partition.values, _ABSENT_ON_DISK, directory(table, unlisted.partition), reason)
        if action != "ADD":  # It has vanished since the directories were checked.
            findings.absent.append(unlisted.partition)
    for partition in findings.files.changed.values():
        effect = "rollups over it are outdated" if holds_base(binding, partition) else "the rollup is unproven"
        findings.note(partition.values, _CHANGED_ON_DISK, directory(table, partition), effect)


def _look_for_new(
    findings: _Findings, registered: dict[bytes, Partition], scan_filter: ScanFilter | None, context: Context
) -> None:
    table = findings.table
    directory_listing = list_directories(table, scan_filter, context.progress.counter("listing", "directories"))
    misfit = _fits_no_layout(table, context)
    for key, group in directory_listing.by_key().items():
        if key in registered:
            _compare_locations(findings, group, directory(table, registered[key]))
        elif len(group) > 1:
            for duplicate in group:
                findings.note(
                    duplicate.values, AMBIGUOUS, duplicate.path, f"{len(group)} directories name this partition"
                )
        elif is_discovered(table):
            continue
        elif (reason := misfit(group[0].values)) is not None:
            findings.note(group[0].values, IGNORED, group[0].path, reason)
        else:
            default = os.path.join(table.location, partition_path(table, group[0].values))
            findings.new.append(_New(group[0], group[0].path == default))
            findings.note(group[0].values, _ABSENT_IN_CATALOG, group[0].path)
    for stray in directory_listing.stray_directories:
        findings.note(None, IGNORED, stray.path, stray.reason)
    if directory_listing.hidden:
        findings.warnings.append(f"Hidden directories were skipped: {_shortened(directory_listing.hidden)}.")
    advance = context.progress.counter("checking", "directories", len(findings.new))
    deeper = in_parallel(folders_in, [new.directory.path for new in findings.new], advance)
    paths = [
        os.path.join(new.directory.path, names[0]) for new, names in zip(findings.new, deeper, strict=True) if names
    ]
    if paths:
        findings.warnings.append(
            "Files in directories below the last partition column are read as rows of the partition: "
            f"{_shortened(paths)}."
        )


def _compare_locations(findings: _Findings, group: Sequence[FoundDirectory], location: str) -> None:
    """Notes the directories that name a registered partition but are not where it is registered."""
    other_directories = [other for other in group if not _is_same_path(other.path, location)]
    if other_directories:
        reason = f"the partition is registered at {location}"
        if not is_directory(location):
            reason += ", which does not exist: SYNC PARTITIONS or SET LOCATION corrects it"
        for other in other_directories:
            findings.note(other.values, AMBIGUOUS, other.path, reason)


def _fits_no_layout(table: Table, context: Context) -> Callable[[PartitionValues], str | None]:
    """Returns a function that says why a partition cannot be one of a fact's table; ``None`` for a table that no fact
    uses.
    """
    fact = context.snapshot.fact_using(table.name)
    stored = fact.storage_table(table.name) if fact is not None else None
    if fact is None or stored is None:
        return lambda values: None
    binding, storage = TimeBinding(fact, stored, table), fact.storages[0]
    passed = {
        period: passed_time(StoredPeriod(fact, storage, stored, period), int(context.planning.now))
        for period in stored.layouts
    }

    def reason(values: PartitionValues) -> str | None:
        try:
            slot = binding.locate(values)
            binding.check_period(values, {}, slot)
        except DataError as error:
            return error.message
        if slot is not None and passed[slot.period].contains(slot.start):
            return f"RETAIN {str(stored.retain).upper()} of the fact {fact.name} does not keep it"
        return None

    return reason


def _commit(findings: _Findings, context: Context) -> None:
    table = findings.table
    if findings.absent and not is_directory(table.location):
        raise OperationalError(
            f"The directory {table.location} of {table.name} does not exist, so no partition was dropped.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=table.name,
            hint=f"Mount it, or drop the partitions by ALTER TABLE {table.name} DROP PARTITION (…).",
        )
    changes: list[DropPartitions | AddPartitions | NoteFiles] = []
    if findings.absent:
        changes.append(DropPartitions(table, tuple(partition.key for partition in findings.absent)))
    if findings.new:
        writes = tuple(
            PartitionWrite(new.directory.values, location=None if new.is_default else new.directory.path)
            for new in findings.new
        )
        changes.append(AddPartitions(table, writes))
    note = as_listed(findings.files) if findings.files is not None else NoteFiles(table, ())
    if note.partitions:
        changes.append(note)
    if changes:
        total = len(findings.absent) + len(findings.new) + len(note.partitions)
        context.progress.report("committing", total=total, unit="partitions")
        with context.begin() as transaction:
            transaction.commit(changes)


def _is_same_path(path: str, other: str) -> bool:
    """Returns whether two paths are one directory."""
    if path in (other, os.path.normpath(other)):
        return True
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _shortened(paths: Sequence[str]) -> str:
    omitted = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return printable(", ".join(paths[:3])) + omitted
