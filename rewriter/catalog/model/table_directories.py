"""The directories of managed tables."""

from __future__ import annotations

from pathlib import Path

from rewriter.catalog.model.qualified_names import DEFAULT_DATABASE, parts_of


def managed_directory(name: str, table_id: int, database_location: str | None, warehouse: Path) -> str:
    """Returns the directory of a managed table: one of its own, below that of its database.

    >>> managed_directory("sales.t", 7, None, Path("/w"))
    '/w/sales.db/t-7'
    """
    database, short = parts_of(name)
    below = warehouse.absolute() if database == DEFAULT_DATABASE else warehouse.absolute() / f"{database}.db"
    return str((Path(database_location) if database_location else below) / f"{short}-{table_id}")
