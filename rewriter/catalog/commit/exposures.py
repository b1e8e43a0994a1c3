"""Managed tables for readers without a catalog of versions: plain directories of their newest state.

A table with the property ``EXPOSE`` has one directory for each partition, with a hard link to each of its data files.
A commit that gives partitions other content makes new directories, and records them in the same step, as the property
``EXPOSED`` of the partitions. Commits run one after the other, so the files that this one sees are the files of its
state. A directory never changes after its commit. VACUUM removes it when no reader needs it (``exposed_garbage``).
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, assert_never

import sqlalchemy as sa

from rewriter.catalog.commit import partition_rows as rows
from rewriter.catalog.commit.partition_rows import StoredPartition
from rewriter.catalog.commit.reserved_properties import EXPOSE, is_exposed, not_exposable
from rewriter.catalog.keys.encoding import partition_key, prefix
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterTable,
    Change,
    CreateObject,
    DefinitionChange,
    DropPartitions,
    MovePartitions,
    PartitionNote,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import DataFile, Table
from rewriter.catalog.model.stored_rows import properties_in
from rewriter.catalog.reading.queries import chunks
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.directory_changes import discard_tree, make_directory
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext

#: The property of a partition with its directory, below the table's directory.
EXPOSED = "rewriter.exposed"
#: The directory of an unpartitioned table without any rows, below the table's directory.
NOTHING = "0"
#: The names of the directories below a table's directory.
OF_A_COMMIT = re.compile(rf"[0-9]+-[0-9a-f]{{8}}|{NOTHING}")
#: The directory of all exposed tables, below the warehouse.
FOLDER = "exposed"

_PACKED_HINT = "SET TBLPROPERTIES ('rewriter.packed' = 'false'), then ALTER TABLE {0} COMPACT, separates them."
_LINK_HINT = "Its files must be in the file system of the warehouse, which must have hard links; or SET 'false'."


def table_directory(warehouse: str, table_id: int) -> str:
    """Returns the directory with the exposed directories of a table."""
    return os.path.join(warehouse, FOLDER, str(table_id))


class _Exposure(NamedTuple):
    """A partition that gets a directory, and whether this commit made its row."""

    stored: StoredPartition
    is_new: bool


def expose(context: CommitContext, changes: Sequence[Change], *, is_rehearsal: bool) -> list[str]:
    """Exposes the partitions of exposed tables to which applied changes gave other content, and all partitions of a
    table that is exposed from now on. Returns the directories that it made, for ``discard``.

    Raises ``NotSupportedError`` NOT_EXPOSABLE for files that cannot be linked, and then leaves no directory. A
    rehearsal makes no directories. One statement for each table with other content; for an exposed table, some
    statements more, one new directory for each partition, and one link for each of its files.
    """
    by_table: dict[int, tuple[Table, list[Change]]] = {}
    for change in changes:
        table = _table_of(change)
        if table is not None and not table.external:
            by_table.setdefault(table.id, (table, []))[1].append(change)
    made: list[str] = []
    try:
        for table, of_table in by_table.values():
            live = context.live(table)
            if live is not None and is_exposed(live):
                _expose_table(context, live, of_table, None if is_rehearsal else made)
    except BaseException:
        discard(context, made)
        raise
    return made


def discard(context: CommitContext, directories: Iterable[str]) -> None:
    """Removes directories of a commit that is not made."""
    for directory in directories:
        discard_tree(directory, (warehouse_of(context.connection),))


def _table_of(change: Change) -> Table | None:
    """Returns the table to whose partitions a change gives other content; ``None`` for other changes."""
    if isinstance(change, WritePartitions | AddPartitions | TruncatePartitions):
        return change.table
    if isinstance(change, MovePartitions):
        return change.target
    if isinstance(change, CreateObject):
        return change.object if isinstance(change.object, Table) else None
    if isinstance(change, AlterTable):
        return change.table if EXPOSE in change.set else None
    if isinstance(change, DefinitionChange | DropPartitions | PartitionNote):
        return None
    assert_never(change)


def _keys(table: Table, change: Change) -> Iterator[bytes]:
    """Yields the keys of the partitions that a change gives other content."""
    if isinstance(change, WritePartitions | AddPartitions):
        yield from (partition_key(table, partition.values) for partition in change.partitions)
    elif isinstance(change, MovePartitions):
        yield from (partition_key(table, move.values) for move in change.moves)
    elif isinstance(change, TruncatePartitions):
        yield from change.keys
    elif not isinstance(change, DefinitionChange | DropPartitions | PartitionNote):
        assert_never(change)


def _expose_table(context: CommitContext, table: Table, changes: Sequence[Change], made: list[str] | None) -> None:
    """Exposes partitions of one table. ``made`` gets the new directory; ``None`` makes none."""
    connection, version = context.connection, context.write_id(table.id)
    begins = any(isinstance(change, AlterTable | CreateObject) for change in changes)
    if begins:
        keys = [live.key for live in rows.live_in_range(connection, KeyRange.of_prefix(prefix(table.id)))]
    else:
        keys = list(dict.fromkeys(key for change in changes for key in _keys(table, change)))
    new_rows = _rows_made_by(connection, keys, version)
    exposures = [
        _Exposure(stored, stored.live.row_id in new_rows)
        for key, stored in rows.stored_by_key(connection, keys).items()
        if begins or stored.live.row_id in new_rows
    ]
    files = _files(
        connection, table, [exposure.stored.live.key for exposure in exposures if exposure.stored.live.files]
    )
    warehouse, name = warehouse_of(connection), f"{context.sequence}-{uuid.uuid4().hex[:8]}"
    directory = os.path.join(table_directory(warehouse, table.id), name)
    names = {exposure.stored.live.key: _directory_name(table, name, exposure.stored) for exposure in exposures}
    if made is not None:
        try:
            if begins:
                levels = () if table.partition_columns else (NOTHING,)
                make_directory(os.path.join(table_directory(warehouse, table.id), *levels), (warehouse,), exist_ok=True)
            if exposures:
                made.append(directory)
                make_directory(directory, (warehouse,))
                _link_all(os.path.dirname(directory), names, files)
        except OSError as error:
            raise not_exposable(
                table.name, f"its files cannot be linked below {directory}: {error.strerror}", _LINK_HINT
            ) from error
    _record(context, table, exposures, names)


def _rows_made_by(connection: sa.Connection, keys: Sequence[bytes], version: int) -> set[int]:
    """Returns the ids of the rows of these partitions that a write made."""
    row = schema.partitions.c
    made: set[int] = set()
    for chunk in chunks(keys):
        query = sa.select(row.row_id).where(row.key.in_(chunk), row.ended == schema.NEVER, row.made == version)
        made.update(connection.execute(query).scalars())
    return made


def _files(connection: sa.Connection, table: Table, keys: Sequence[bytes]) -> dict[bytes, list[DataFile]]:
    """Returns the files of partitions. Raises ``NotSupportedError`` NOT_EXPOSABLE if one cannot be linked."""
    by_origin = rows.live_files(connection, keys)
    files = {key: [*by_origin[True].get(key, ()), *by_origin[False].get(key, ())] for key in keys}
    for file in (file for of_partition in files.values() for file in of_partition):
        if file.part is not None:
            raise not_exposable(
                table.name, "several of its partitions are in one file", _PACKED_HINT.format(table.name)
            )
        if is_uri(file.path):
            raise not_exposable(table.name, "its files are in an object store", _LINK_HINT)
    return files


def _directory_name(table: Table, name: str, stored: StoredPartition) -> str:
    return os.path.join(name, partition_name(table.partition_columns, stored.live.values)).rstrip(os.sep)


def _link_all(folder: str, names: Mapping[bytes, str], files: Mapping[bytes, Sequence[DataFile]]) -> None:
    """Makes the directories of partitions, with links to their files. Files of one name get different ones."""
    for key, name in names.items():
        directory = os.path.join(folder, name)
        os.makedirs(directory, exist_ok=True)
        for number, file in enumerate(files.get(key, ())):
            os.link(file.path, os.path.join(directory, f"{number:05}-{os.path.basename(file.path)}"))


def _record(context: CommitContext, table: Table, exposures: Sequence[_Exposure], names: Mapping[bytes, str]) -> None:
    """Records the directories in the rows of this commit; partitions with another row get a new one."""
    connection = context.connection
    new_rows = []
    other_rows = []
    for stored, is_new in exposures:
        properties = {**properties_in(stored.live.properties, stored.live.key), EXPOSED: names[stored.live.key]}
        text = json.dumps(properties, ensure_ascii=False)
        if is_new:
            new_rows.append({"id": stored.live.row_id, "text": text})
        else:
            other_rows.append(
                StoredPartition(stored.live._replace(properties=text), stored.proof, stored.sources, stored.commit_seq)
            )
    if new_rows:
        row = schema.partitions
        update = sa.update(row).where(row.c.row_id == sa.bindparam("id")).values(properties=sa.bindparam("text"))
        connection.execute(update, new_rows)
    if other_rows:
        version = context.write_id(table.id)
        rows.end_partitions(connection, [stored.live for stored in other_rows], version)
        rows.insert_stored(connection, table, other_rows, version)
        context.log("ALTER_PARTITION", table, partitions=len(other_rows))
