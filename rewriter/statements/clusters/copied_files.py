"""The files of a table's partitions on a secondary cluster: where they belong, and whether they are there."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.changes import AddCopies, CopiedPartition
from rewriter.catalog.model.objects import ClusterLocation, DataFile, Partition, Table
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.catalog.storage.file_copies import is_same
from rewriter.catalog.storage.partition_directories import is_directory
from rewriter.errors import IntegrityError
from rewriter.planner.routing.routes import named
from rewriter.runtime.statement_context import Context
from rewriter.statements.show.content_statistics import contents_of, files_of


def relative_path(table: Table, file: DataFile) -> str:
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
    """Returns those of the partitions whose files all lie below the location of the copies, under the same relative
    paths and with the same content. Reads the files on both clusters.
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
    return file._replace(path=f"{copy.location}/{relative_path(table, file)}")


def register(
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
