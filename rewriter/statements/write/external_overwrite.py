"""The files that an INSERT OVERWRITE of an external table removes, and the checks that prevent a removal.

It removes the data files of the partitions that it writes: all files that a query reads there, in sub-directories
too. Names that begin with ``.`` or ``_`` are no data and stay, as do directories. A link to a file is removed, but
not the file. A file that is not of the table's format belongs to another owner, and then nothing is overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.catalog.model.removal_roots import link_not_followed
from rewriter.catalog.storage.data_files import FoundFile, directory, external_paths
from rewriter.catalog.storage.partition_directories import printable
from rewriter.data_formats import known_format
from rewriter.errors import IntegrityError
from rewriter.runtime.statement_context import Context
from rewriter.safe_removal import link_in
from rewriter.statements.resolve.location_conflicts import check_partition_locations, check_partitions_apart


@dataclass(frozen=True)
class OldFile:
    """A file that an OVERWRITE removes, and the directory of its partition."""

    directory: str
    file: FoundFile


def old_files(table: Table, partitions: Iterable[Partition]) -> list[OldFile]:
    """Returns the data files of partitions of an external table, listed now. A partition that is not registered may
    have some, too.
    """
    return [
        OldFile(directory(table, partition), _measured(path))
        for partition in partitions
        for path in external_paths(table, (partition,))
    ]


def _measured(path: str) -> FoundFile:
    """Returns a file with its size. A link that leads nowhere, and a file that has vanished, have none."""
    try:
        status = os.stat(path)
    except OSError:
        return FoundFile(path, 0, 0)
    return FoundFile(path, status.st_size, status.st_mtime_ns)


def refuse_foreign(table: Table, old: Iterable[OldFile]) -> None:
    """Raises ``IntegrityError`` FOREIGN_FILE for the first file that is not of the table's format. Opens each file."""
    foreign = next((old_file.file.path for old_file in old if is_foreign(table, old_file.file)), None)
    if foreign is not None:
        raise IntegrityError(
            f"{printable(foreign)} is not a {table.format} file: INSERT OVERWRITE of {table.name} would remove it.",
            condition="FOREIGN_FILE",
            object=printable(foreign),
            hint="Move it away, or give it a name that begins with _. EXPLAIN INSERT OVERWRITE … lists the "
            "files to remove.",
        )


def is_foreign(table: Table, file: FoundFile) -> bool:
    """Returns whether a file is certainly not of the table's format. Empty files and plain-text formats never are
    foreign.
    """
    data_format = known_format(table.format)
    if data_format is None or not data_format.marks or file.bytes == 0:
        return False
    try:
        with open(file.path, "rb") as stream:
            return not stream.read(4).startswith(data_format.marks)
    except FileNotFoundError:
        return False


def refuse_links(table: Table, directories: Iterable[str]) -> None:
    """Raises ``OperationalError`` LINK_NOT_FOLLOWED where a directory of a partition is a link below the table's."""
    for location in directories:
        link = link_in(location, (table.location, location))
        if link is not None:
            raise link_not_followed(link, table)


def check_places(table: Table, directories: Mapping[PartitionValues, str], context: Context) -> None:
    """Raises SHARED_LOCATION and UNSAFE_LOCATION where other tables or partitions use the directories of partitions,
    too.
    """
    stem = os.path.join(table.location, "")
    directories_outside = {
        values: location for values, location in directories.items() if not location.startswith(stem)
    }
    if directories_outside and table.partition_columns:
        check_partition_locations(table, directories_outside.items(), context)
    check_partitions_apart(table, directories, context)
