"""SHOW CACHE: the catalog data that the session keeps in memory, and how often it was used."""

from __future__ import annotations

from rewriter.catalog.cache.metrics import MEANINGS
from rewriter.catalog.model.objects import Column
from rewriter.grammar.families import settings as s
from rewriter.runtime.result import Result, Row, listing
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs


@runs(s.ShowCache, in_transaction=True, without_warehouse=True)
def show_cache(_statement: s.ShowCache, context: Context) -> Result:
    """Returns rows of (metric, value, meaning). Without a cache (``rewriter.cache_bytes``) every value is 0. Reads
    nothing.
    """
    metrics = context.catalog.cache_metrics()
    columns = (Column("metric", "string"), Column("value", "bigint"), Column("meaning", "string"))
    rows: list[Row] = [(name, metrics[name], meaning) for name, meaning in MEANINGS.items()]
    return listing("SHOW CACHE", columns, rows)
