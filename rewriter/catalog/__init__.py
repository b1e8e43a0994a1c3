"""The transactional catalog: tables, partitions, cubes, facts, write ids and the log, on SQLite or PostgreSQL.

``catalog.Catalog`` is its entrance. Every row carries the write id that made it and the one that ended it.
"""

from rewriter.catalog.catalog import Catalog, Event
from rewriter.catalog.commit.transaction import Transaction
from rewriter.catalog.metastore_api import CachedCatalog
from rewriter.catalog.reading.snapshot import Snapshot

__all__ = ["CachedCatalog", "Catalog", "Event", "Snapshot", "Transaction"]
