"""Sorts a relation's files by the way an engine can learn their partition values.

Usually the directories spell the values (``dt=2013-01-01/hr=05/part-0.parquet``). An engine that reads them from the
path gets the catalog's values and can prune. If a path differs (a custom location, a renamed or exchanged partition),
the engine must join the catalog's values to the file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rewriter.catalog.keys.values import DEFAULT_PARTITION, escape
from rewriter.catalog.model.objects import WRITE_ID_LEVEL, Column, PartitionValues
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import EngineError
from rewriter.exec.data_files import by_header
from rewriter.exec.formats.csv import delimiter
from rewriter.exec.formats.csv_dialects import has_dialect
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.exec.engine import Relation, ScanFile

#: The directory of a write; files below it never change.
_MANAGED = f"/{WRITE_ID_LEVEL}="
#: How long after a change of a file another one may have the same time.
_SETTLING_NANOSECONDS = 10 * 10**9
#: Each group is a separate read; files of further groups are joined with their values instead.
_MOST_GROUPS = 8
#: How many conditions select parts of packed files, and how many runs of values one of them names.
_MOST_SELECTIONS, _MOST_RUNS = 4, 1000


@dataclass(frozen=True)
class PathGroup:
    """Files below one directory whose paths spell their values. ``levels`` are the names as the paths have them."""

    levels: tuple[str, ...]
    files: tuple[ScanFile, ...]


@dataclass(frozen=True)
class Scan:
    """``by_path``: the paths contain the values. ``by_value``: only the ``ScanFile`` contains the values.

    ``packed``: packed files all of whose rows are read, with the values that they store. ``packed_parts``: parts of
    packed files, of which other rows must not be read, or which have other values now.
    """

    by_path: tuple[PathGroup, ...]
    by_value: tuple[ScanFile, ...]
    packed: tuple[str, ...] = ()
    packed_parts: tuple[ScanFile, ...] = ()


def is_managed_path(path: str) -> bool:
    """Tests whether a path is the path of a file of a managed table."""
    return _MANAGED in path


def is_managed(relation: Relation) -> bool:
    """Tests whether all files are files of a managed table, which never change."""
    for file in relation.files:  # noqa: SIM110 - a generator would be resumed for each file
        if _MANAGED not in file.path or file.modified != -1:
            return False
    return True


def settled_files(relation: Relation) -> tuple[tuple[int, int], ...] | None:
    """Returns what tells whether the files of a relation are those of an earlier query with the same paths: their bytes
    and times of change; ``()`` for managed files, which never change. Returns ``None`` for files that have changed in
    the last seconds, because a file system may give a later change the same time.
    """
    if is_managed(relation):
        return ()
    newest = time.time_ns() - _SETTLING_NANOSECONDS
    if not all(0 < file.modified < newest for file in relation.files):
        return None
    return tuple([(file.bytes, file.modified) for file in relation.files])


def scan(relation: Relation) -> Scan:
    """Sorts the files of a relation. Linear, about 20 ms for 7,000 files. Files without values are ``by_value``."""
    _check_columns(relation)
    columns = relation.partition_columns
    if not columns:
        return Scan((), relation.files)
    groups: dict[tuple[str, bool, tuple[str, ...]], list[ScanFile]] = {}
    files_elsewhere: list[ScanFile] = []
    whole_files, parts = _packed(relation)
    for file in relation.files:
        if file.part is not None:
            continue
        key = _path_form(file, columns)
        if key is None:
            files_elsewhere.append(file)
        else:
            groups.setdefault(key, []).append(file)
    largest_first = sorted(groups.items(), key=lambda item: -len(item[1]))
    for _, files in largest_first[_MOST_GROUPS:]:
        files_elsewhere += files
    by_path = tuple(PathGroup(key[2], tuple(files)) for key, files in largest_first[:_MOST_GROUPS])
    return Scan(by_path, tuple(files_elsewhere), whole_files, parts)


def _packed(relation: Relation) -> tuple[tuple[str, ...], tuple[ScanFile, ...]]:
    """Returns the packed files whose rows are all read as they are, and the parts that are read of the others."""
    stored_alike = relation.stored_partition_columns == relation.partition_columns
    whole_files: list[str] = []
    parts: list[ScanFile] = []
    for path, files in _parts_by_path(relation.files).items():
        if stored_alike and all(_is_whole(file, len(files)) for file in files):
            whole_files.append(path)
        else:
            parts += files
    return tuple(whole_files), tuple(parts)


def _parts_by_path(files: Iterable[ScanFile]) -> dict[str, list[ScanFile]]:
    """Returns the parts of packed files among these files, by the paths of the packed files."""
    by_path: dict[str, list[ScanFile]] = {}
    for file in files:
        if file.part is not None:
            by_path.setdefault(file.path, []).append(file)
    return by_path


def _is_whole(file: ScanFile, parts: int) -> bool:
    return file.part is not None and file.part.partitions == parts and file.part.values == file.values


class ValueRun(NamedTuple):
    """Partitions of a packed file with the same ``leading`` values: all whose last value lies from ``first`` to
    ``last``, which are equal for one partition.
    """

    leading: PartitionValues
    first: str | None
    last: str | None


Selections = dict[tuple[ValueRun, ...], list[str]]


def selections_of(relation: Relation, parts: Sequence[ScanFile]) -> tuple[Selections, tuple[ScanFile, ...]]:
    """Returns the packed files that a condition on the stored values can select from, by the runs of these values, and
    all other parts, which need a join. A join costs Spark some tenths of a second, and DuckDB a millisecond.
    """
    selections: Selections = {}
    joined_parts: list[ScanFile] = []
    stored_alike = relation.stored_partition_columns == relation.partition_columns
    for path, files in _parts_by_path(parts).items():
        is_unchanged = all(file.part is not None and file.part.values == file.values for file in files)
        runs = _value_runs(files)
        fits = runs in selections or len(selections) < _MOST_SELECTIONS
        if stored_alike and is_unchanged and fits and len(runs) <= _MOST_RUNS:
            selections.setdefault(runs, []).append(path)
        else:
            joined_parts += files
    return selections, tuple(joined_parts)


def _value_runs(files: Sequence[ScanFile]) -> tuple[ValueRun, ...]:
    """Returns the stored values of parts of one packed file. Neighbors in a sorted file are one run."""
    runs: list[ValueRun] = []
    next_position = -1
    parts = [file.part for file in files if file.part is not None]
    for part in sorted(parts, key=lambda part: (part.position is None, part.position or 0, repr(part.values))):
        *leading, last = part.values
        run = runs[-1] if runs else None
        if run is None or part.position != next_position or run.leading != tuple(leading) or None in (run.first, last):
            runs.append(ValueRun(tuple(leading), last, last))
        else:
            runs[-1] = run._replace(last=last)
        next_position = -1 if part.position is None else part.position + 1
    return tuple(runs)


def by_leading_values(runs: Sequence[ValueRun]) -> dict[PartitionValues, list[ValueRun]]:
    """Returns the runs by their leading values."""
    runs_by_leading: dict[PartitionValues, list[ValueRun]] = {}
    for run in runs:
        runs_by_leading.setdefault(run.leading, []).append(run)
    return runs_by_leading


def by_value(relation: Relation, format: str, scan_: Scan) -> list[tuple[ScanFile, ...]]:
    """Returns the files of ``scan_.by_value`` in groups that are read alike: CSV files with one header per group."""
    if DATA_FORMATS[format].has_header and relation.grown and scan_.by_value and not has_dialect(relation.options):
        return by_header(scan_.by_value, delimiter(relation.options), relation)
    return [scan_.by_value] if scan_.by_value else []


def _path_form(file: ScanFile, columns: Sequence[Column]) -> tuple[str, bool, tuple[str, ...]] | None:
    """Returns the path above the partition levels, whether a write id is in it, and the names of the levels.

    Returns ``None`` if the levels of the file's directory do not spell its values.
    """
    names: list[str] = []
    directory = file.path.rpartition(os.sep)[0]
    for column, value in zip(reversed(columns), reversed(file.values), strict=True):
        directory, _, level = directory.rpartition(os.sep)
        name, equals, text = level.partition("=")
        directory_value = DEFAULT_PARTITION if value is None else escape(value)
        if not equals or name.lower() != column.name.lower() or text != directory_value:
            return None
        names.append(name)
    parent, _, level = directory.rpartition(os.sep)
    has_write_id = level.startswith(WRITE_ID_LEVEL + "=")
    base = parent if has_write_id else directory
    # Engines take every level with a '=' as a column, and would overwrite a data column of that name.
    if "=" in base:
        return None
    return base, has_write_id, tuple(reversed(names))


def _check_columns(relation: Relation) -> None:
    names: set[str] = set()
    for column in relation.all_columns:
        name = column.name.lower()
        if name in names or name == WRITE_ID_LEVEL:
            raise EngineError(
                f"A relation cannot have the column {column.name} {'twice' if name in names else 'as a data column'}.",
                condition="COLUMN_ALREADY_EXISTS",
                sqlstate="42711",
                object=column.name,
                hint="Rename the column.",
            )
        names.add(name)
    for file in relation.files:
        if len(file.values) != len(relation.partition_columns):
            raise EngineError(
                f"The file {file.path} has {len(file.values)} partition values for "
                f"{len(relation.partition_columns)} partition columns.",
                condition="INVALID_PARTITION_SPEC",
                sqlstate="42601",
                object=relation.name,
                hint="Give each file one value for each partition column.",
            )
