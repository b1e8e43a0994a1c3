"""What a query expects at the cursor: by its clause, and by whether an operand has just ended."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.grammar.lexer import Token, TokenKind, identifier_value
from rewriter.shell.completion.comparisons import compared_column, given_values
from rewriter.shell.completion.expectations import (
    Columns,
    Databases,
    Expectation,
    Functions,
    Keywords,
    Objects,
    PartitionValues,
    Relation,
    Words,
)
from rewriter.shell.completion.query_scope import CLAUSES_BY, JOIN_WORDS, Scope, is_name, scope_at

#: The kinds of objects that a query reads.
_READABLE = ("table", "cube", "view")

_OPERATORS = ("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "IS", "ESCAPE")
_IN_CASE = ("WHEN", "THEN", "ELSE", "END")
_OPERANDS = ("CASE", "CAST", "NOT", "EXISTS", "NULL", "TRUE", "FALSE", "DATE", "TIMESTAMP", "INTERVAL")
_JOINS = ("JOIN", *JOIN_WORDS)
#: The clauses that may follow each clause.
_NEXT = {
    "": ("SELECT", "WITH", "VALUES", "FROM", "TABLE"),
    "SELECT": ("AS", "FROM", "UNION", "EXCEPT", "INTERSECT"),
    "FROM": (
        *("AS", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "EXCEPT", "INTERSECT"),
        *("LATERAL VIEW", "TABLESAMPLE", "PIVOT", "WINDOW", "SELECT", "INSERT INTO", "INSERT OVERWRITE"),
    ),
    "WHERE": ("GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "WINDOW"),
    "GROUP": ("HAVING", "ORDER BY", "LIMIT", "UNION", "WITH ROLLUP", "WITH CUBE", "GROUPING SETS"),
    "HAVING": ("ORDER BY", "LIMIT", "UNION"),
    "ORDER": ("ASC", "DESC", "NULLS FIRST", "NULLS LAST", "LIMIT", "OFFSET"),
    "LIMIT": ("OFFSET", "UNION"),
}
_KEYWORDS_OF_OPERANDS = frozenset({"NULL", "TRUE", "FALSE", "END", "ASC", "DESC", "CURRENT_DATE", "CURRENT_TIMESTAMP"})


def query_expectations(
    tokens: Sequence[Token], index: int, qualifier: tuple[str, ...], in_string: bool
) -> tuple[Expectation, ...]:
    """Returns what is expected in front of the token ``index`` of a query. ``qualifier`` was typed there with a point
    behind it; its tokens are in front of ``index``.
    """
    scope = scope_at(tokens, index)
    before = scope.before[: len(scope.before) - 2 * len(qualifier)] if qualifier else scope.before
    everywhere = (*scope.relations, *scope.outer)
    values = _values(scope, before, everywhere)
    if in_string:
        return values
    if scope.clause in ("FROM", "JOIN", "TABLESAMPLE") and not (before and before[-1].is_word("EXTRACT")):
        return _in_from(scope, before, qualifier)
    if qualifier:
        return _qualified(scope, qualifier)
    if scope.clause == "USING":
        is_closed = bool(before) and before[-1].is_operator(")")
        return (Keywords(_JOINS + _NEXT["FROM"]),) if is_closed else (Columns(scope.relations),)
    if scope.clause == "WITH":
        return (Keywords(("AS", "RECURSIVE", "SELECT")),)
    if scope.clause in ("LIMIT", "OFFSET"):
        return (Keywords(_NEXT["LIMIT"] if before else ("ALL",)),)
    if not scope.clause:
        return (Keywords(_NEXT[""]),)
    return (*values, *_in_expression(scope, before))


def _values(scope: Scope, before: Sequence[Token], relations: tuple[Relation, ...]) -> tuple[PartitionValues, ...]:
    compared = compared_column(before)
    if compared is None:
        return ()
    given = given_values(before)
    return (PartitionValues(relations, compared.column, given, compared.typed_literal),)


def _in_from(scope: Scope, before: Sequence[Token], qualifier: tuple[str, ...]) -> tuple[Expectation, ...]:
    expects_relation = not before or before[-1].is_operator(",", "(") or before[-1].is_word("LATERAL", "TABLE")
    if not expects_relation:
        return () if qualifier else (Keywords((*_JOINS, "ON", "USING", *_NEXT["FROM"])),)
    if qualifier:
        return (Objects(_READABLE, qualifier[-1]),)
    words = Words(tuple(cte.alias for cte in scope.ctes), "CTE")
    return (words, Objects(_READABLE), Databases(qualifying=True), Keywords(("LATERAL", "SELECT", "VALUES")))


def _qualified(scope: Scope, qualifier: tuple[str, ...]) -> tuple[Expectation, ...]:
    """Returns the columns of the relation that the qualifier names: an alias, or a name with its database."""
    for relations in (scope.relations, scope.outer):
        named = tuple(
            relation
            for relation in relations
            if (len(qualifier) == 1 and relation.alias.lower() == qualifier[0].lower())
            or tuple(part.lower() for part in relation.parts[-len(qualifier) :])
            == tuple(part.lower() for part in qualifier)
        )
        if named:
            return (Columns(named),)
    return ()


def _in_expression(scope: Scope, before: Sequence[Token]) -> tuple[Expectation, ...]:
    if _ends_operand(before):
        return (_expect_behind_operand(scope, before),)
    if before and before[-1].is_word("AS"):
        is_cast = len(before) > 1 and any(token.is_word("CAST", "TRY_CAST") for token in before[-40:])
        return (Keywords(TYPES),) if is_cast else ()
    if before and before[-1].is_word("IS"):
        return (Keywords(("NULL", "NOT", "TRUE", "FALSE", "DISTINCT FROM")),)
    return _expect_operand(scope, before)


def _expect_behind_operand(scope: Scope, before: Sequence[Token]) -> Keywords:
    """Returns the operators, and the clauses that may follow."""
    in_case: tuple[str, ...] = _IN_CASE if any(token.is_word("CASE") for token in before) else ()
    if scope.clause == "ON":
        clauses: tuple[str, ...] = (*_JOINS, *_NEXT["FROM"])
    else:
        clauses = _NEXT.get(scope.clause, ("AND", "OR", *_NEXT["FROM"]))
    return Keywords((*_OPERATORS, *in_case, *clauses, "OVER"))


def _expect_operand(scope: Scope, before: Sequence[Token]) -> tuple[Expectation, ...]:
    """Returns what an operand can be, and the words that may stand in front of it."""
    starts = ("DISTINCT", "ALL") if scope.clause == "SELECT" and not before else ()
    when = ("WHEN",) if before and before[-1].is_word("CASE") else ()
    subquery = ("SELECT",) if before and before[-1].is_operator("(") else ()
    aliases = scope.aliases if scope.clause in ("GROUP", "HAVING", "ORDER") else ()
    relations = Words(tuple(relation.alias for relation in scope.relations if relation.alias), "relation")
    in_time_range = len(before) > 1 and before[-1].is_operator("(") and before[-2].is_word("TIME_RANGE_IN")
    return (
        Columns(scope.relations, times=in_time_range, outer=scope.outer),
        Words(aliases, "column of the result"),
        relations,
        Functions(),
        Keywords((*starts, *when, *subquery, *_OPERANDS)),
    )


#: The names of types that a CAST or a column can have.
TYPES = tuple(
    (
        "STRING INT BIGINT SMALLINT TINYINT DOUBLE FLOAT BOOLEAN DATE TIMESTAMP TIMESTAMP_NTZ DECIMAL BINARY "
        "ARRAY MAP STRUCT VARCHAR CHAR"
    ).split()
)

_BEFORE_OPERAND = frozenset(
    {
        *_OPERATORS,
        *CLAUSES_BY,
        "BY",
        "SELECT",
        "WHERE",
        "ON",
        "HAVING",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "DISTINCT",
        "ALL",
    }
    | {"AS", "DATE", "TIMESTAMP", "INTERVAL", "DIV", "QUALIFY"}
)


def _ends_operand(before: Sequence[Token]) -> bool:
    """Tests whether an operand has ended, so that an operator or the next clause follows."""
    if not before:
        return False
    last = before[-1]
    if last.kind is TokenKind.OPERATOR:
        is_star = last.text == "*" and (
            len(before) == 1 or before[-2].is_operator(",", ".") or before[-2].is_word("ALL")
        )
        return last.text in (")", "]") or is_star
    if last.kind is not TokenKind.WORD:
        return True
    if len(before) > 1 and before[-2].is_operator("."):
        return True
    return last.upper not in _BEFORE_OPERAND


def typed_qualifier(tokens: Sequence[Token], index: int) -> tuple[str, ...]:
    """Returns the names with points that end in front of a token: ``f.`` or ``sales.f.``."""
    parts: list[str] = []
    while index >= 2 and tokens[index - 1].is_operator(".") and is_name(tokens[index - 2]):
        parts.insert(0, identifier_value(tokens[index - 2]))
        index -= 2
    return tuple(parts)
