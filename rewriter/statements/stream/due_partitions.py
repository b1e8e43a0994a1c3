"""The commit of partitions that are due although no batch comes: by process time, or after a silent stream."""

from __future__ import annotations

from rewriter.catalog.model.changes import CommitPartitions
from rewriter.errors import ConflictError
from rewriter.grammar.terms import Name
from rewriter.runtime.statement_context import Context
from rewriter.statements.write.commit_policies import run_policies


def commit_due_partitions(name: Name, context: Context) -> None:
    """Commits the open partitions of a table that are due, and runs the policies that are left over. One or two reads
    if there is nothing to do. Raises the errors of ``run_policies``.
    """
    now = context.renewed()
    table = now.table(name)
    if now.catalog.due_partitions(table, now.snapshot):
        try:
            with now.catalog.begin(now.snapshot) as transaction:
                transaction.commit([CommitPartitions(table)])
        except ConflictError:
            return  # The next call tries again.
    run_policies(table, now)
