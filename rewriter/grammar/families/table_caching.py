"""Spark's cache of tables: CACHE TABLE, UNCACHE TABLE, CLEAR CACHE, REFRESH of a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rewriter.errors import ParseError, Span
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.terms import Name, Query
from rewriter.grammar.unparse import name_text, options_text, quote, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.statement_parts import Terminal

RULES = r"""
?statement: cache_table | uncache_table | clear_cache | refresh_path

cache_table: "CACHE" [LAZY] "TABLE" name [cache_options] ["AS"? QUERY]
cache_options: "OPTIONS" "(" property ("," property)* ")"
uncache_table: "UNCACHE" "TABLE" [if_exists] name
clear_cache: "CLEAR" "CACHE"
refresh_path: "REFRESH" STRING
"""


@dataclass(frozen=True, kw_only=True)
class CacheTable(Statement):
    """``CACHE [LAZY] TABLE t [OPTIONS (…)] [[AS] query]``. With a query, ``table`` is a new temporary view."""

    table: Name
    query: Query | None = None
    lazy: bool = False
    options: tuple[tuple[str, str], ...] = ()

    def unqualified_names(self) -> tuple[str, ...]:
        return () if self.query is None else ("table",)


@builds("cache_table")
def cache_table(
    lazy: Terminal | None, table: Name, options: tuple[tuple[str, str], ...] | None, query: Terminal | None
) -> CacheTable:
    if query is not None and len(table.parts) > 1:
        raise ParseError(
            f"CACHE TABLE … AS creates a temporary view, which cannot be qualified with {'.'.join(table.parts[:-1])}.",
            condition="INVALID_TEMP_OBJ_QUALIFIER",
            sqlstate="42602",
            position=table.span,
            object=table.last,
            hint=f"Write CACHE TABLE {table.last} AS ….",
        )
    return CacheTable(
        table=table,
        query=None if query is None else Query(query.token.text, query.span),
        lazy=lazy is not None,
        options=options or (),
    )


@builds("cache_options")
def cache_options(*options: tuple[tuple[str, str], Span]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair, _ in options)


@renders(CacheTable)
def cache_table_text(s: CacheTable) -> str:
    return words(
        "CACHE LAZY TABLE" if s.lazy else "CACHE TABLE",
        name_text(s.table),
        options_text(s.options),
        None if s.query is None else f"AS {s.query.text}",
    )


@dataclass(frozen=True, kw_only=True)
class UncacheTable(Statement):
    table: Name
    if_exists: bool = False


@builds("uncache_table")
def uncache_table(if_exists: bool | None, table: Name) -> UncacheTable:
    return UncacheTable(table=table, if_exists=bool(if_exists))


@renders(UncacheTable)
def uncache_table_text(s: UncacheTable) -> str:
    return words("UNCACHE TABLE", "IF EXISTS" if s.if_exists else None, name_text(s.table))


@dataclass(frozen=True, kw_only=True)
class ClearCache(Statement):
    """``CLEAR CACHE``."""


@builds("clear_cache")
def clear_cache(*_: Any) -> ClearCache:
    return ClearCache()


@renders(ClearCache)
def clear_cache_text(_: ClearCache) -> str:
    return "CLEAR CACHE"


@dataclass(frozen=True, kw_only=True)
class RefreshPath(Statement):
    """``REFRESH 'path'``."""

    path: str


@builds("refresh_path")
def refresh_path(path: Terminal) -> RefreshPath:
    return RefreshPath(path=path.string)


@renders(RefreshPath)
def refresh_path_text(s: RefreshPath) -> str:
    return f"REFRESH {quote(s.path)}"
