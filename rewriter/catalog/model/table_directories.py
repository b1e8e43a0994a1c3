"""The directories of managed tables."""

from __future__ import annotations

from rewriter.catalog.model.qualified_names import DEFAULT_DATABASE, parts_of


def managed_directory(name: str, table_id: int, database_location: str | None, root: str) -> str:
    """Returns the directory of a managed table: one of its own, below that of its database, or below the directory of
    its cluster: a local path or a URI.

    >>> managed_directory("sales.t", 7, None, "/w")
    '/w/sales.db/t-7'
    >>> managed_directory("t", 7, None, "s3://bucket/w")
    's3://bucket/w/t-7'
    """
    database, short = parts_of(name)
    below = root if database == DEFAULT_DATABASE else f"{root.rstrip('/')}/{database}.db"
    return f"{(database_location or below).rstrip('/')}/{short}-{table_id}"
