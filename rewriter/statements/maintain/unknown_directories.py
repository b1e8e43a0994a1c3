"""VACUUM UNKNOWN DIRECTORIES: removes directories that VACUUM leaves below the warehouse, because another catalog made
them.

After a restore of an older catalog, or a new beginning, directories of writes remain that this catalog did not give
out. Only a person can decide whether they are still needed: a dry run lists them and prints a code. That code removes
only the same directories with the same content.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from rewriter.catalog.maintenance import file_garbage as unused
from rewriter.catalog.maintenance.warehouse_identity import write_directories
from rewriter.catalog.model.objects import Column
from rewriter.errors import DataError
from rewriter.grammar.families import maintenance as s
from rewriter.runtime.result import Result, Row, listing
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs
from rewriter.safe_removal import remove_tree

_COLUMNS = (Column("directory", "string"), Column("files", "bigint"), Column("bytes", "bigint"))
_DIGITS = 16


@dataclass(frozen=True)
class _Unknown:
    """A directory (absolute path) and its files: path, size in bytes, and time of the last change in nanoseconds."""

    path: str
    files: tuple[tuple[str, int, int], ...]


@runs(s.VacuumUnknown)
def vacuum_unknown(statement: s.VacuumUnknown, context: Context) -> Result:
    """VACUUM UNKNOWN DIRECTORIES: rows of (directory below the warehouse, files, bytes) of the directories that were
    removed, or with DRY RUN would be; then a warning states the code that removes them.

    A directory is unknown if its name is that of a write which this catalog did not give out, or whose directory
    another catalog made, and no row names a file in it. Links are not followed, and nothing outside the warehouse is
    looked at. Raises ``DataError`` CONFIRMATION_MISMATCH where the code does not match the current directories. A
    warning names each directory that cannot be removed. Lists all directories of writes, and reads the paths of all
    files.
    """
    warehouse = str(context.catalog.warehouse)
    entries = _unknown_directories(context)
    code = _code(entries)
    warnings: list[str] = []
    if statement.code is None:
        if entries:
            warnings.append(f"VACUUM UNKNOWN DIRECTORIES CONFIRM '{code}' permanently removes these directories.")
    elif statement.code != code:
        raise DataError(
            f"'{statement.code}' is not the code of the current unknown directories.",
            condition="CONFIRMATION_MISMATCH",
            position=statement.code_span,
            object=statement.code,
            hint="VACUUM UNKNOWN DIRECTORIES DRY RUN lists them with their code.",
        )
    else:
        context.catalog.begin(context.snapshot).rollback()  # Raises without write access to the catalog.
        for entry in list(entries):
            try:
                remove_tree(entry.path, (warehouse,))
            except OSError as error:
                warnings.append(f"{entry.path} cannot be removed: {error.strerror}.")
                entries.remove(entry)
    rows: list[Row] = [
        (os.path.relpath(entry.path, warehouse), len(entry.files), sum(size for _, size, _ in entry.files))
        for entry in entries
    ]
    result = listing("VACUUM", _COLUMNS, rows)
    result.warnings = tuple(warnings)
    return result


def _unknown_directories(context: Context) -> list[_Unknown]:
    directories = list(write_directories(context.catalog.warehouse))
    with context.catalog.database.read() as connection:  # Read later: it has the writes that began meanwhile.
        allocated_writes = unused.allocated_writes(connection)
        entries = [
            _Unknown(entry.path, tuple(_files(entry.path)))
            for entry in directories
            if (entry.table_id, entry.write_id) not in allocated_writes
        ]
        referenced_paths = unused.referenced_paths(
            connection, {path for entry in entries for path, _, _ in entry.files}
        )
    return [entry for entry in entries if not any(path in referenced_paths for path, _, _ in entry.files)]


def _files(root: str) -> Iterator[tuple[str, int, int]]:
    for folder, _, names in sorted(os.walk(root)):
        for path in (os.path.join(folder, name) for name in sorted(names)):
            status = os.lstat(path)
            yield path, status.st_size, status.st_mtime_ns


def _code(directories: list[_Unknown]) -> str:
    text = "\0".join(repr((entry.path, entry.files)) for entry in directories)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
