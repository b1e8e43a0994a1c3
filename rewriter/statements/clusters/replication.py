"""REPLICATE TABLE … TO CLUSTER …: copies partitions to a secondary cluster, and registers the copies.

A transaction copies some files into a directory of its own below the location of the copies, compares them with their
originals, and commits. So an interrupted REPLICATE keeps what it has done, and goes on where it was. After a kill, the
directory of the transaction is an orphan that nothing refers to, as after a kill of any write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.changes import AddCopies, CopiedPartition
from rewriter.catalog.model.objects import WRITE_ID_LEVEL, ClusterLocation, Column, DataFile, Partition, Table
from rewriter.catalog.storage.file_copies import FileCopy, copy_files, is_same
from rewriter.catalog.storage.partition_directories import is_directory
from rewriter.errors import Error, IntegrityError
from rewriter.grammar.families import clusters as s
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.routing.routes import named
from rewriter.runtime.heartbeat import heartbeat
from rewriter.runtime.result import Result, Row, listing
from rewriter.runtime.statement_runners import runs
from rewriter.statements.clusters.descriptors import (
    absent_partitions,
    named_partitions,
    new_descriptor,
    placed_table,
    with_descriptor,
)
from rewriter.statements.show.content_statistics import contents_of, files_of
from rewriter.statements.write.managed_write import WriteDirectory, removed_on_failure, removed_on_refusal
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.catalog.reading.history import Content
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.runtime.statement_context import Context

_COLUMNS = (Column("partition", "string"), Column("files", "bigint"), Column("bytes", "bigint"))
#: The bytes after which a transaction commits.
_CHUNK_BYTES = 1 << 30
#: The most partitions of a transaction.
_CHUNK_PARTITIONS = 10_000
#: The most warnings that name a partition.
_MOST_NAMED = 5


@runs(s.Replicate)
def replicate(statement: s.Replicate, context: Context) -> Result:
    """REPLICATE TABLE t [PARTITION (…)] TO CLUSTER c [ONLY STALE]: rows of (partition, files, bytes) of the partitions
    that were copied, in key order.

    Partitions that the cluster has already are left alone. With ONLY STALE, so are partitions that it never had. A
    table without the cluster gets it. Of a packed file with several partitions, the whole file is copied. A partition
    that is written meanwhile is not registered, and named in a warning.

    Raises the errors of ``placed_table`` and ``copy_files``, ``IntegrityError`` CLUSTER_ALREADY_EXISTS for the primary
    cluster, and PARTITIONS_NOT_FOUND where the spec names nothing. What was committed before an error stays.
    """
    table, cluster = placed_table(statement, context)
    if context.clusters.is_primary(table, cluster):
        raise IntegrityError(
            f"{cluster} is the primary cluster of {table.name}: it has everything.",
            condition="CLUSTER_ALREADY_EXISTS",
            position=statement.cluster.span,
            object=cluster,
            hint="Name another cluster; SHOW CLUSTERS lists all.",
        )
    partitions = named_partitions(table, statement.partition, context)
    try:
        copy = table.copy_on(cluster) or new_descriptor(table, cluster, context)
    except Error as error:
        raise error.at(statement.cluster.span) from None
    context, table = with_descriptor(table, copy, context)
    chosen = absent_partitions(table, cluster, partitions, context)
    if statement.only_stale:
        chosen = _held_before(table, cluster, chosen, context)
    rows: list[Row] = []
    changed: list[str] = []
    try:
        originals, contents = files_of(table, chosen, context.snapshot), contents_of(table, chosen, context.snapshot)
        total = sum(file.file_bytes for file in _distinct(originals, chosen))
        advance = context.progress.counter("copying", "bytes", total)
        for chunk in _chunks(chosen, originals):
            step = _Step(table, copy, chunk, originals, contents, context)
            stale = step.run(advance)
            for partition in chunk:
                name = partition_name(table.partition_columns, partition.values)
                files = originals.get(partition.key, ())
                if partition.key in stale:
                    changed.append(name)
                else:
                    rows.append((name, len(files), sum(file.bytes for file in files)))
    except Error as error:
        raise error.at(statement.table.span) from None
    result = listing("REPLICATE", _COLUMNS, rows)
    if changed:
        was, copied = ("was", "it was") if len(changed) == 1 else ("were", "they were")
        listed = ", ".join(changed[:_MOST_NAMED]) + (", …" if len(changed) > _MOST_NAMED else "")
        noun = "partition" if len(changed) == 1 else "partitions"
        result.warnings = (
            f"{len(changed)} {noun} {was} changed while {copied} copied, and {was} not registered: {listed}. "
            "Run the statement again.",
        )
    return result


@dataclass(frozen=True)
class _Step:
    """One transaction: the partitions that it copies, with the files and contents of all."""

    table: Table
    copy: ClusterLocation
    partitions: Sequence[Partition]
    originals: Mapping[bytes, Sequence[DataFile]]
    contents: Mapping[bytes, Content]
    context: Context

    def run(self, advance: Callable[[int], None]) -> frozenset[bytes]:
        """Copies and commits. Returns the keys of the partitions that were changed meanwhile."""
        table, context = self.table, self.context
        with context.catalog.begin(context.snapshot) as transaction:
            (write_id,) = transaction.write_ids((table,))
            folder = f"{self.copy.location}/{WRITE_ID_LEVEL}={write_id}"
            roots = (os.path.dirname(self.copy.location),)
            directory = WriteDirectory(table, write_id, folder, folder, folder, roots)
            paths = self._paths(folder)
            directory.require_ours(context)
            if is_uri(folder):
                directory.uploaded.update(target for target, _ in paths.values())
            with removed_on_failure(directory), heartbeat(transaction):
                copy_files([FileCopy(p, t, size) for p, (t, size) in paths.items()], directory.roots, advance)
            copied = tuple(self._copied(partition, paths) for partition in self.partitions)
            with removed_on_refusal(directory):
                transaction.commit([AddCopies(table, self.copy.cluster, write_id, copied)])
            return frozenset(transaction.stale_copies)

    def _paths(self, folder: str) -> dict[str, tuple[str, int]]:
        """Returns the path of each copy, and its size, by the path of the original. No two copies have one path."""
        paths: dict[str, tuple[str, int]] = {}
        taken: set[str] = set()
        for partition in self.partitions:
            for file in self.originals.get(partition.key, ()):
                if file.path in paths:
                    continue
                levels = _relative_path(self.table, file).split("/")
                inside = "/".join(level for level in levels if not level.startswith(f"{WRITE_ID_LEVEL}="))
                stem, name = os.path.split(inside)
                target, number = f"{folder}/{inside}", 0
                while target in taken:
                    number += 1
                    target = os.path.join(folder, stem, f"{number}-{name}")
                taken.add(target)
                paths[file.path] = target, file.file_bytes
        return paths

    def _copied(self, partition: Partition, paths: Mapping[str, tuple[str, int]]) -> CopiedPartition:
        files = self.originals.get(partition.key, ())
        copies = tuple([file._replace(path=paths[file.path][0]) for file in files])
        commit = self.contents[partition.key].commit
        return CopiedPartition(partition.key, commit, tuple([file.path for file in files]), copies)


def _chunks(
    partitions: Sequence[Partition], originals: Mapping[bytes, Sequence[DataFile]]
) -> Iterator[list[Partition]]:
    """Yields the partitions of each transaction, in key order."""
    chunk: list[Partition] = []
    paths: set[str] = set()
    size = 0
    for partition in partitions:
        chunk.append(partition)
        for file in originals.get(partition.key, ()):
            size += 0 if file.path in paths else file.file_bytes
            paths.add(file.path)
        if size >= _CHUNK_BYTES or len(chunk) == _CHUNK_PARTITIONS:
            yield chunk
            chunk, paths, size = [], set(), 0
    if chunk:
        yield chunk


def _distinct(originals: Mapping[bytes, Sequence[DataFile]], partitions: Sequence[Partition]) -> list[DataFile]:
    """Returns each file once, though several partitions share it."""
    return list({file.path: file for part in partitions for file in originals.get(part.key, ())}.values())


def _held_before(table: Table, cluster: str, partitions: Sequence[Partition], context: Context) -> list[Partition]:
    """Returns the partitions that the cluster had once, in any version."""
    held = context.snapshot.once_copied_ranges(table, cluster)
    return [partition for partition in partitions if any(partition.key in keys for keys in held)]


# The files of a table's partitions on a secondary cluster: where they belong, and whether they are there.


def _relative_path(table: Table, file: DataFile) -> str:
    """Returns the path of a file below the location of its table. A file that came from another table keeps the last
    levels of its path.
    """
    if file.path.startswith(f"{table.location}/"):
        return file.path.removeprefix(f"{table.location}/")
    levels = file.path.split("/")
    return "/".join(levels[next((n for n, level in enumerate(levels) if "=" in level), len(levels) - 1) :])


def existing_copies(
    table: Table, copy: ClusterLocation, partitions: Sequence[Partition], snapshot: Snapshot
) -> list[CopiedPartition]:
    """Returns the partitions whose files all lie below the location of the copies, under the same relative paths and
    with the same content. Reads the files on both clusters.
    """
    if not is_directory(copy.location):
        return []
    originals = files_of(table, partitions, snapshot)
    contents = contents_of(table, partitions, snapshot)
    compared: dict[str, bool] = {}
    present = []
    for partition in partitions:
        files = originals.get(partition.key, ())
        copies = [_copy_of(table, copy, file) for file in files]
        for file, copied in zip(files, copies, strict=True):
            if copied.path not in compared:
                compared[copied.path] = is_same(file.path, copied.path, file.file_bytes)
        if all(compared[copied.path] for copied in copies):
            commit = contents[partition.key].commit
            present.append(CopiedPartition(partition.key, commit, tuple([file.path for file in files]), tuple(copies)))
    return present


def _copy_of(table: Table, copy: ClusterLocation, file: DataFile) -> DataFile:
    return file._replace(path=f"{copy.location}/{_relative_path(table, file)}")


def commit_copies(
    table: Table, copy: ClusterLocation, copies: Sequence[CopiedPartition], context: Context
) -> tuple[bytes, ...]:
    """Commits copies. Returns the keys of the partitions that were changed meanwhile, which are left out."""
    with context.catalog.begin(context.snapshot) as transaction:
        (write_id,) = transaction.write_ids((table,))
        transaction.commit([AddCopies(table, copy.cluster, write_id, tuple(copies), were_there=True)])
        return transaction.stale_copies


def not_copied(table: Table, copy: ClusterLocation, absent: Sequence[Partition]) -> IntegrityError:
    """Returns the error of partitions whose files are not at the location of the copies."""
    names = [partition_name(table.partition_columns, partition.values) for partition in absent]
    return IntegrityError(
        f"{copy.location} does not have the files of {named(names, table.name)}, or they differ from the originals.",
        condition="COPY_NOT_FOUND",
        object=table.name,
        hint=f"REPLICATE TABLE {table.name} TO CLUSTER {copy.cluster} copies them.",
    )
