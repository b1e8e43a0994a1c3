"""SHOW CACHE: what the session keeps of the catalog in memory, and how often that served."""

from __future__ import annotations

from rewriter.catalog.cache_metrics import MEANINGS
from rewriter.catalog.models import Column
from rewriter.context import Context
from rewriter.grammar import statements as s
from rewriter.result import Result, Row
from rewriter.showing import listing


def show_cache(_statement: s.ShowCache, context: Context) -> Result:
    """Rows of (metric, value, meaning). Without a cache (``rewriter.cache_bytes``) every value is 0. Reads nothing."""
    metrics = context.catalog.cache_metrics()
    columns = (Column("metric", "string"), Column("value", "bigint"), Column("meaning", "string"))
    rows: list[Row] = [(name, metrics[name], meaning) for name, meaning in MEANINGS.items()]
    return listing("SHOW CACHE", columns, rows)
