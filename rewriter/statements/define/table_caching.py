"""CACHE TABLE and its kin: accepted for the scripts of Spark, without effect on any result.

Every query reads the rows of its snapshot, so no cache of rows exists that could be stale. CACHE TABLE … AS creates a
temporary view, as in Spark, whose rows are computed by each query. Spark's cache keeps the rows of one run, which
differ from the rows of the next run only if the query is not deterministic; such a query is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.errors import AnalysisError, NotSupportedError
from rewriter.grammar.families import table_caching as s
from rewriter.grammar.families.views import CreateView
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, tokens
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.views import create_temporary_view

if TYPE_CHECKING:
    from rewriter.grammar.terms import Name, Query
    from rewriter.runtime.statement_context import Context

#: Functions that return another value in each run.
_UNSTABLE = frozenset(
    """
    rand randn random uniform randstr uuid shuffle monotonically_increasing_id spark_partition_id
    current_date current_time current_timestamp curdate localtimestamp now
    """.split()
)
#: Reads the clock if it has no argument.
_CLOCK = "unix_timestamp"
#: Functions that are written without parentheses, too; and a sample.
_UNSTABLE_WORDS = ("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "TABLESAMPLE")

_NO_EFFECT = "CACHE TABLE has no effect here: each query reads the current rows."
#: What keeps rows in Spark.
_IN_SPARK = " connection.sql('SELECT …').cache() keeps the rows of a query in Spark."


@runs(s.CacheTable, in_transaction=True, without_warehouse=True)
def cache_table(statement: s.CacheTable, context: Context) -> Result:
    """CACHE TABLE. Without a query only checks that the object exists; with one, creates a temporary view.

    Raises TABLE_OR_VIEW_NOT_FOUND, the errors of CREATE TEMPORARY VIEW, and ``NotSupportedError`` for a query whose
    rows differ in each run.
    """
    if statement.query is None:
        _check_exists(statement.table, context)
        return Result("CACHE TABLE", warnings=(_NO_EFFECT + (_IN_SPARK if context.engine_name == "spark" else ""),))
    _check_stable(statement.query, statement.table.last)
    create_temporary_view(CreateView(view=statement.table, query=statement.query, temporary=True), context)
    name = statement.table.last
    is_view = f"{name} is a temporary view here: each query computes its rows."
    return Result("CACHE TABLE", warnings=(is_view + (_IN_SPARK if context.engine_name == "spark" else ""),))


@runs(s.UncacheTable, in_transaction=True, without_warehouse=True)
def uncache_table(statement: s.UncacheTable, context: Context) -> Result:
    """UNCACHE TABLE. Checks that the object exists, unless IF EXISTS. A temporary view stays, as in Spark."""
    if not statement.if_exists:
        _check_exists(statement.table, context)
    return Result("UNCACHE TABLE")


@runs(s.ClearCache, in_transaction=True, without_warehouse=True)
def clear_cache(_statement: s.ClearCache, _context: Context) -> Result:
    """CLEAR CACHE. Does nothing."""
    return Result("CLEAR CACHE")


@runs(s.RefreshPath, in_transaction=True, without_warehouse=True)
def refresh_path(_statement: s.RefreshPath, _context: Context) -> Result:
    """REFRESH 'path'. Does nothing: each query lists the files of a path again."""
    return Result("REFRESH")


def _check_exists(name: Name, context: Context) -> None:
    if context.named(name) is None:
        raise AnalysisError(
            f"the table or view '{'.'.join(name.parts)}' cannot be found",
            condition="TABLE_OR_VIEW_NOT_FOUND",
            sqlstate="42P01",
            position=name.span,
            object=name.last,
            hint="SHOW TABLES lists all.",
        )


def _check_stable(query: Query, view: str) -> None:
    query_tokens = tokens(query.text)
    unstable = next(_unstable(query_tokens), None)
    if unstable is not None:
        raise NotSupportedError(
            f"CACHE TABLE … AS a query with {unstable.text} is not supported: each query that reads {view} would "
            "compute other rows.",
            position=unstable.span.shifted(query.span.start),
            object=view,
            hint=f"CREATE TEMPORARY TABLE {view} AS … keeps the rows of one run.",
        )


def _unstable(query_tokens: Sequence[Token]) -> Iterator[Token]:
    """Yields the tokens that make the rows of a query differ in each run. ``unix_timestamp`` of a time does not."""
    for index, token in enumerate(query_tokens):
        following = [after.text for after in query_tokens[index + 1 : index + 3]]
        is_call = token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER) and following[:1] == ["("]
        name = identifier_value(token).lower() if is_call else ""
        if token.is_word(*_UNSTABLE_WORDS) or name in _UNSTABLE or (name == _CLOCK and following[1:] == [")"]):
            yield token
