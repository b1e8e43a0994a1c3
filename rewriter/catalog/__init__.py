"""The transactional catalog: tables, partitions, cubes, facts, write ids and the log, on SQLite or PostgreSQL.

``catalog.Catalog`` is its entrance. Every row carries the write id that made it and the one that ended it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog, Event
    from rewriter.catalog.commit.transaction import Transaction
    from rewriter.catalog.metastore_writes import CachedCatalog
    from rewriter.catalog.reading.snapshot import Snapshot

__all__ = ["CachedCatalog", "Catalog", "Event", "Snapshot", "Transaction"]

#: Loaded when used: most modules of this package need no SQLAlchemy, which takes half of the time.
_MODULES = {
    "CachedCatalog": "rewriter.catalog.metastore_writes",
    "Catalog": "rewriter.catalog.catalog",
    "Event": "rewriter.catalog.catalog",
    "Snapshot": "rewriter.catalog.reading.snapshot",
    "Transaction": "rewriter.catalog.commit.transaction",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
