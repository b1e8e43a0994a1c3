"""The policies that follow the commit of a partition in the catalog: the success file, and the policies that users
registered.

The commit notes that policies are due, in its own transaction, and they run after it. A process that is killed in
between leaves the note, and the next run of a stream, or COMMIT PARTITION, runs them: at least once for each commit.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.filesystems.registry import store_of
from rewriter.catalog.keys.paths import partition_path
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.changes import Batch, CommitBatch, WritePartitions
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.partition_commit import SUCCESS_FILE, CommittedPartition, PartitionCommitRule, rule_of
from rewriter.catalog.model.stored_paths import roots_of
from rewriter.connectors.commit_policies import commit_policy
from rewriter.directory_changes import make_directory, remove_file
from rewriter.errors import AnalysisError, OperationalError
from rewriter.statements.write.event_times import latest_event
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import PartitionValues, Table
    from rewriter.exec.engine import WrittenFile
    from rewriter.runtime.statement_context import Context
    from rewriter.statements.write.managed_write import WriteChange

#: As Hadoop and Flink name it.
_FILE = "_SUCCESS"


def check_policies(table: Table, context: Context) -> None:
    """Checks, before a stream starts, that its table's partitions can be committed.

    Raises ``AnalysisError`` UNKNOWN_COMMIT_POLICY for a policy that this process does not have, and
    INVALID_PARTITION_COMMIT for partition time in a table whose partitions have no time.
    """
    rule = rule_of(table.properties)
    if rule is None:
        return
    for name in _own(rule):
        commit_policy(name)
    if rule.by_partition_time and context.snapshot.fact_using(table.name) is None:
        raise AnalysisError(
            f"The partitions of {table.name} have no time, because it belongs to no fact: the trigger 'partition time' "
            "would commit none of them.",
            condition="INVALID_PARTITION_COMMIT",
            object=table.name,
            hint="Create the fact first, or use the trigger 'process time'.",
        )


def run_policies(table: Table, context: Context) -> None:
    """Runs the policies of all commits of a table's partitions that have none yet. No read if the table has no
    policies, and one if there is nothing to do.

    Raises ``OperationalError`` COMMIT_POLICY_FAILED; what failed is tried again by the next call.
    """
    rule = rule_of(table.properties)
    if rule is None or not rule.policies:
        return
    pending = context.catalog.pending_policies(table)
    snapshot = context.catalog.snapshot() if pending else context.snapshot
    for due in pending:
        for partition in snapshot.partitions(table, [KeyRange.of_key(due.key)]):
            committed = CommittedPartition(
                table, partition.values, due.commit, due.late, partition.rows, partition.bytes
            )
            for name in rule.policies:
                _run(name, committed, context)
        context.catalog.settle_policies(table, due)


def _remove_success_files(table: Table, partitions: Iterable[PartitionValues], context: Context) -> None:
    """Removes the success files of partitions that are dropped, or that a stream begins again. It follows no link, and
    a file that is not there is no error.
    """
    for values in partitions if has_success_files(table) else ():
        path = _path(table, values)
        if is_uri(path):
            store_of(path).delete([path])
            continue
        try:
            remove_file(path, roots_of(table, context.catalog.warehouse))
        except OSError:
            continue


def has_success_files(table: Table) -> bool:
    """Tests whether the commits of a table's partitions write success files."""
    rule = rule_of(table.properties)
    return rule is not None and SUCCESS_FILE in rule.policies


def remove_success_files_now(table: Table, partitions: Iterable[PartitionValues], context: Context) -> None:
    """Removes the success files of partitions that a statement has dropped or moved away, unless it is part of a
    transaction that may still be rolled back.
    """
    if context.transaction is None and context.rehearsed is None:
        _remove_success_files(table, partitions, context)


def _own(rule: PartitionCommitRule) -> list[str]:
    return [name for name in rule.policies if name != SUCCESS_FILE]


def _run(name: str, partition: CommittedPartition, context: Context) -> None:
    try:
        if name == SUCCESS_FILE:
            _write_success_file(partition, context)
        else:
            commit_policy(name)(partition)
    except Exception as error:
        shown = partition_name(partition.table.partition_columns, partition.values)
        raise OperationalError(
            f"The partition {shown} of {partition.table.name} is committed, but its policy {name} has failed: {error}",
            condition="COMMIT_POLICY_FAILED",
            object=partition.table.name,
            hint="The next run of the stream, or COMMIT PARTITION, runs the policy again.",
        ) from error


def _path(table: Table, values: PartitionValues) -> str:
    return os.path.join(table.location, partition_path(table, values), _FILE)


def _write_success_file(partition: CommittedPartition, context: Context) -> None:
    path = _path(partition.table, partition.values)
    content = json.dumps({"commit": partition.commit, "rows": partition.rows, "bytes": partition.bytes})
    if is_uri(path):
        store_of(path).write(path, content.encode())
        return
    make_directory(os.path.dirname(path), roots_of(partition.table, context.catalog.warehouse), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with open(os.open(path, flags, 0o666), "w", encoding="utf-8") as file:
        file.write(content)


# The note of a batch beside the partitions that it writes, for one commit.


def with_batch(
    changes: Sequence[WriteChange], table: Table, batch: Batch, files: Sequence[WrittenFile], context: Context
) -> list[WriteChange]:
    """Returns the changes of a batch with its note. The changes of a stream name the batch, with the time of its last
    event if the table's trigger needs it.

    ``files`` are the files that the batch has written. Removes the success files of partitions that the batch begins.
    """
    if not batch.stream:
        return [*changes, CommitBatch(table, batch)]
    rule, written = rule_of(table.properties), {file.values for file in files}
    begun = (values for values in written if context.snapshot.partition(table, values) is None)
    _remove_success_files(table, begun, context)
    if rule is not None and rule.by_partition_time:
        batch = replace(batch, event_time=latest_event(table, files, context))
    of_stream = [replace(change, batch=batch) if isinstance(change, WritePartitions) else change for change in changes]
    return [*of_stream, CommitBatch(table, batch)]
