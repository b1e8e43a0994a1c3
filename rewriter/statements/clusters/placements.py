"""The clusters of tables and partitions: ALTER TABLE … ADD, DROP and SET PRIMARY CLUSTER, REPLICATE. None runs yet."""

from __future__ import annotations

from rewriter.errors import NotSupportedError
from rewriter.grammar.families import clusters as s
from rewriter.grammar.statements import Statement
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs


@runs(s.AddCluster)
def add_cluster(statement: s.AddCluster, context: Context) -> Result:
    """ALTER TABLE … ADD CLUSTER."""
    raise _not_supported("ADD CLUSTER", statement)


@runs(s.DropCluster)
def drop_cluster(statement: s.DropCluster, context: Context) -> Result:
    """ALTER TABLE … DROP CLUSTER."""
    raise _not_supported("DROP CLUSTER", statement)


@runs(s.SetPrimaryCluster)
def set_primary_cluster(statement: s.SetPrimaryCluster, context: Context) -> Result:
    """ALTER TABLE … SET PRIMARY CLUSTER."""
    raise _not_supported("SET PRIMARY CLUSTER", statement)


@runs(s.Replicate)
def replicate(statement: s.Replicate, context: Context) -> Result:
    """REPLICATE TABLE."""
    raise _not_supported("REPLICATE TABLE", statement)


def _not_supported(title: str, statement: Statement) -> NotSupportedError:
    return NotSupportedError(
        f"{title} is not supported yet.", position=statement.span, hint="A table is in the warehouse directory."
    )
