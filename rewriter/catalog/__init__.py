"""Tables, partitions, cubes, facts, write ids and the notification log, on SQLite or PostgreSQL."""

from rewriter.catalog.cached import CachedCatalog
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.store import Catalog, Event
from rewriter.catalog.transaction import Transaction

__all__ = ["CachedCatalog", "Catalog", "Event", "Snapshot", "Transaction"]
