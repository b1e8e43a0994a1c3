"""The content of a partition that a client alters: clients of Hive write files first, and call ALTER PARTITION then."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.catalog.commit.directory_moves import directory
from rewriter.catalog.commit.external_file_changes import recorded_digest
from rewriter.catalog.model.file_parameters import BYTES, COUNT, has_other_files
from rewriter.catalog.model.objects import Partition, Table
from rewriter.catalog.storage.data_files import external_files
from rewriter.errors import Error
from rewriter.metastore.service.calls.basic_parameters import has_time
from rewriter.metastore.service.calls.call import Call
from rewriter.metastore.service.calls.files import is_below_roots
from rewriter.statements.show.content_statistics import listed_content


def has_new_content(
    call: Call, table: Table, before: Partition, given: Mapping[str, str] | None, stored: Mapping[str, str]
) -> bool:
    """Returns whether the content of a partition counts as written by a client that alters it.

    It does if the client gives another number, size or time of files than the partition had, or no time, as Spark does
    after INSERT, or if the server has counted other files: ``stored`` are the properties with its counts. It does not
    if a rollup was computed from exactly the files that are there, below the directories that the server lists. The
    files of managed tables are the catalog's own. One listing at most.
    """
    if not table.external:
        return False
    parameters = given or {}
    counted = {key: stored[key] for key in (COUNT, BYTES) if key in stored and key in before.properties}
    is_told = not has_time(parameters) or has_other_files(before.properties, parameters)
    return (is_told or has_other_files(before.properties, counted)) and not _is_unchanged(call, table, before)


def _is_unchanged(call: Call, table: Table, partition: Partition) -> bool:
    """Returns whether the files of a partition are those from which rollups were computed last."""
    digest = recorded_digest(partition.properties)
    if digest is None or not is_below_roots(directory(table, partition), call.service):
        return False
    try:
        files = [file for _, file in external_files(table, (partition,))]
    except Error:
        return False
    return listed_content(table, partition, files) == digest
