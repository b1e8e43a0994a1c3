"""SHOW CLUSTERS, USE CLUSTER and SHOW CATALOG PROPERTIES. None runs yet."""

from __future__ import annotations

from rewriter.errors import NotSupportedError
from rewriter.grammar.families import clusters as s
from rewriter.grammar.statements import Statement
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs


@runs(s.ShowClusters)
def show_clusters(statement: s.ShowClusters, context: Context) -> Result:
    """SHOW CLUSTERS."""
    raise _not_supported("SHOW CLUSTERS", statement)


@runs(s.UseCluster)
def use_cluster(statement: s.UseCluster, context: Context) -> Result:
    """USE CLUSTER."""
    raise _not_supported("USE CLUSTER", statement)


@runs(s.ShowCatalogProperties)
def show_catalog_properties(statement: s.ShowCatalogProperties, context: Context) -> Result:
    """SHOW CATALOG PROPERTIES."""
    raise _not_supported("SHOW CATALOG PROPERTIES", statement)


def _not_supported(title: str, statement: Statement) -> NotSupportedError:
    return NotSupportedError(
        f"{title} is not supported yet.",
        position=statement.span,
        hint="The engine is chosen when the session is opened. To use a database of that name, quote it: `cluster`.",
    )
