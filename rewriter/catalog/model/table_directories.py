"""The directories of managed tables."""

from __future__ import annotations

from collections.abc import Callable

from rewriter.catalog.model.qualified_names import DEFAULT_DATABASE, parts_of

#: The digits of a warehouse's identity that name its directory below the root of a cluster.
_IDENTITY_DIGITS = 12


def cluster_directory(root: str | None, warehouse: str, identity: Callable[[], str]) -> str:
    """Returns the directory above the managed tables of a cluster: the warehouse, or a directory below the root of the
    cluster that bears the identity of the warehouse. So several warehouses may share a root.
    """
    if root is None or root.rstrip("/") == warehouse:
        return warehouse
    return f"{root.rstrip('/')}/{identity()[:_IDENTITY_DIGITS]}"


def managed_directory(name: str, table_id: int, database_location: str | None, root: str) -> str:
    """Returns the directory of a managed table: one of its own, below that of its database. ``root`` is the directory
    or URI above all databases without a location.

    >>> managed_directory("sales.t", 7, None, "/w"), managed_directory("t", 7, None, "s3://bucket/w/")
    ('/w/sales.db/t-7', 's3://bucket/w/t-7')
    """
    database, short = parts_of(name)
    parent = database_location or (root if database == DEFAULT_DATABASE else f"{root.rstrip('/')}/{database}.db")
    return f"{parent.rstrip('/')}/{short}-{table_id}"
