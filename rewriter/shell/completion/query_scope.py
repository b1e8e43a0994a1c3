"""The clause of a query in which a cursor is, and the relations in its scope, from tokens alone.

Texts may be unfinished: what cannot be recognized is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewriter.grammar.lexer import Token, TokenKind, identifier_value
from rewriter.grammar.query_spans import QUERY_STARTS
from rewriter.lazy_dataclass import dataclass
from rewriter.shell.completion.expectations import Relation

_SETS = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
JOIN_WORDS = ("INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "OUTER", "SEMI", "ANTI", "LATERAL")
#: The words that begin a clause; words that take BY are followed by it.
_CLAUSES = tuple(
    ("SELECT FROM JOIN ON USING WHERE HAVING LIMIT OFFSET QUALIFY WINDOW VALUES PIVOT UNPIVOT TABLESAMPLE").split()
)
CLAUSES_BY = ("GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "PARTITION")
#: Words that end a relation, and so are no alias.
_NO_ALIAS = frozenset({*_SETS, *JOIN_WORDS, *_CLAUSES, *CLAUSES_BY, "AS", "WITH", "SET", "INSERT"})
#: The most queries inside queries that are followed for the columns of one.
_MOST_NESTED = 20


@dataclass(frozen=True)
class Scope:
    """A query block at a cursor. ``clause`` is the word of the clause, empty in front of the first.

    ``before`` are the tokens of the clause in front of the cursor, ``relations`` the relations of FROM, ``outer`` the
    relations of the queries around it, ``ctes`` the names of CTEs, ``aliases`` the names that SELECT gives to columns.
    """

    clause: str
    before: tuple[Token, ...]
    relations: tuple[Relation, ...]
    outer: tuple[Relation, ...]
    ctes: tuple[Relation, ...]
    aliases: tuple[str, ...]
    conditions: tuple[Token, ...]


def scope_at(tokens: Sequence[Token], index: int) -> Scope:
    """Returns the scope of a cursor in front of the token ``index`` of a query. Linear in the tokens, for each nesting
    of the cursor.
    """
    ends = _pairs(tokens)
    starts = [0, *(start for start in _open_before(tokens, index) if start < index and _begins_query(tokens, start))]
    ctes: tuple[Relation, ...] = ()
    outer: tuple[Relation, ...] = ()
    scope = Scope("", (), (), (), (), (), ())
    for depth, start in enumerate(starts):
        end = ends.get(start - 1, len(tokens)) if depth else len(tokens)
        inside = starts[depth + 1] if depth + 1 < len(starts) else index
        inner_ctes, main = _ctes(tokens, start, end, ends, ctes, inside)
        ctes = inner_ctes
        if inside < main:  # In the WITH clause, or in one of its queries.
            scope = Scope("WITH", tuple(tokens[start:inside]), (), (), ctes, (), ())
            outer = ()
            continue
        first, last = _arm(tokens, main, end, ends, inside)
        relations = _relations(tokens, first, last, ends, ctes)
        clause, clause_start = _clause(tokens, first, inside, ends)
        aliases = _output(tokens, first, last, ends)[0]
        scope = Scope(
            clause, tuple(tokens[clause_start:inside]), relations, outer, ctes, aliases, tuple(tokens[first:inside])
        )
        outer = () if clause in ("FROM", "JOIN") else (*relations, *outer)
    return scope


def _relation_named(parts: Sequence[str], alias: str | None, ctes: Sequence[Relation]) -> Relation:
    """Returns the relation of a name: a CTE, or an object of the catalog."""
    if len(parts) == 1:
        for cte in ctes:
            if cte.alias.lower() == parts[0].lower():
                return Relation(alias or cte.alias, (), cte.columns, cte.sources)
    return Relation(alias or parts[-1], tuple(parts))


def is_name(token: Token) -> bool:
    return token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER)


def name_at(tokens: Sequence[Token], index: int) -> tuple[tuple[str, ...], int]:
    """Returns the parts of the qualified name at a token, and the number of the token behind it."""
    parts: list[str] = []
    while index < len(tokens) and is_name(tokens[index]):
        parts.append(identifier_value(tokens[index]))
        if index + 2 >= len(tokens) or not tokens[index + 1].is_operator(".") or not is_name(tokens[index + 2]):
            return tuple(parts), index + 1
        index += 2
    return tuple(parts), index


def _pairs(tokens: Sequence[Token]) -> dict[int, int]:
    """Returns the numbers of the closing parentheses by the numbers of the opening ones."""
    opened: list[int] = []
    pairs: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token.is_operator("("):
            opened.append(index)
        elif token.is_operator(")") and opened:
            pairs[opened.pop()] = index
    return pairs


def _open_before(tokens: Sequence[Token], index: int) -> list[int]:
    """Returns the numbers of the tokens behind each parenthesis that is open at ``index``, the outermost first."""
    opened: list[int] = []
    for position in range(min(index, len(tokens))):
        if tokens[position].is_operator("("):
            opened.append(position + 1)
        elif tokens[position].is_operator(")") and opened:
            opened.pop()
    return opened


def _begins_query(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].is_word(*QUERY_STARTS)


def _flat(start: int, end: int, ends: dict[int, int]) -> Iterator[int]:
    """Yields the numbers of the tokens outside of parentheses; of these only the opening one. Behind a parenthesis
    that is not closed, all tokens are outside.
    """
    index = start
    while index < end:
        yield index
        index = ends.get(index, index) + 1


def _ctes(
    tokens: Sequence[Token],
    start: int,
    end: int,
    ends: dict[int, int],
    outer: tuple[Relation, ...],
    until: int,
    nested: int = 0,
) -> tuple[tuple[Relation, ...], int]:
    """Returns the outer CTEs and the CTEs of a WITH clause that end in front of ``until``, and where the query behind
    it begins.
    """
    if start >= end or not tokens[start].is_word("WITH"):
        return outer, start
    index = start + 1
    if index < end and tokens[index].is_word("RECURSIVE"):
        index += 1
    while index < end and is_name(tokens[index]) and not tokens[index].is_word("SELECT", "FROM", "INSERT"):
        name = identifier_value(tokens[index])
        columns, index = _read_cte_columns(tokens, index + 1, end, ends)
        if index >= end or not tokens[index].is_operator("("):
            return outer, end
        close = ends.get(index, end)
        if close > until or close >= end:
            return outer, end
        derived = (
            Relation(name, (), columns) if columns else _derived(tokens, index + 1, close, ends, outer, name, nested)
        )
        outer = (derived, *outer)
        index = close + 1
        if index < end and tokens[index].is_operator(","):
            index += 1
            continue
        return outer, index
    return outer, end if index >= end or not _begins_query(tokens, index) else index


def _read_cte_columns(
    tokens: Sequence[Token], index: int, end: int, ends: dict[int, int]
) -> tuple[tuple[str, ...], int]:
    """Returns the columns in parentheses behind the name of a CTE, if there are any, and the number of the token behind
    AS.
    """
    columns: tuple[str, ...] = ()
    if index < end and tokens[index].is_operator("("):
        close = ends.get(index, end)
        columns = tuple(identifier_value(token) for token in tokens[index + 1 : close] if is_name(token))
        index = close + 1
    if index < end and tokens[index].is_word("AS"):
        index += 1
    return columns, index


def _derived(
    tokens: Sequence[Token],
    start: int,
    end: int,
    ends: dict[int, int],
    ctes: tuple[Relation, ...],
    alias: str,
    nested: int,
) -> Relation:
    """Returns the relation that a subquery is."""
    if nested > _MOST_NESTED:
        return Relation(alias)
    ctes, main = _ctes(tokens, start, end, ends, ctes, end, nested + 1)
    first, last = _arm(tokens, main, end, ends, main)
    columns, stars = _output(tokens, first, last, ends)
    relations = _relations(tokens, first, last, ends, ctes, nested + 1) if stars else ()
    named = {qualifier.lower() for qualifier in stars}
    sources = relations if "" in named else tuple(r for r in relations if r.alias.lower() in named)
    return Relation(alias, (), columns, sources)


def _arm(tokens: Sequence[Token], start: int, end: int, ends: dict[int, int], inside: int) -> tuple[int, int]:
    """Returns the ends of the query between two set operations that contains ``inside``."""
    first = start
    for index in _flat(start, end, ends):
        if tokens[index].is_word(*_SETS) and index > start:
            if index >= inside:
                return first, index
            first = index + 1
            if first < end and tokens[first].is_word("ALL", "DISTINCT"):
                first += 1
    return first, end


def _clause(tokens: Sequence[Token], start: int, index: int, ends: dict[int, int]) -> tuple[str, int]:
    """Returns the word of the clause at ``index``, and the number of the token behind it."""
    clause, begins = "", start
    shut = {opening: close for opening, close in ends.items() if close < index}
    position = start
    while position < index:
        token = tokens[position]
        following = tokens[position + 1] if position + 1 < index else None
        if token.is_operator("("):
            if position not in shut:
                position += 1
                continue
            position = shut[position]
        elif token.is_word(*_CLAUSES) and not (position and tokens[position - 1].is_operator(".")):
            clause, begins = token.upper, position + 1
        elif token.is_word(*CLAUSES_BY) and following is not None and following.is_word("BY"):
            clause, begins = token.upper, position + 2
        position += 1
    return clause, begins


def _relations(
    tokens: Sequence[Token],
    start: int,
    end: int,
    ends: dict[int, int],
    ctes: tuple[Relation, ...],
    nested: int = 0,
) -> tuple[Relation, ...]:
    """Returns the relations of the FROM clause of a query."""
    relations: list[Relation] = []
    in_from = expects = False
    flat = list(_flat(start, end, ends))
    jumped = start
    for index in flat:
        token = tokens[index]
        if index < jumped or _continues_name(tokens, index):
            continue
        if token.is_word("FROM", "JOIN"):
            in_from = expects = True
        elif token.is_word(*_CLAUSES) or token.is_word(*CLAUSES_BY):
            in_from = token.is_word("ON", "USING", "PIVOT", "UNPIVOT", "TABLESAMPLE") and in_from
            expects = False
        elif in_from and token.is_operator(","):
            expects = True
        elif expects and token.is_operator("("):
            close = ends.get(index, end)
            alias, jumped = _alias(tokens, close + 1, end)
            if _begins_query(tokens, index + 1):
                relations.append(
                    _renamed(tokens, jumped, ends, _derived(tokens, index + 1, close, ends, ctes, alias or "", nested))
                )
            else:
                relations += _relations(tokens, index + 1, close, ends, ctes, nested) if nested < _MOST_NESTED else ()
            expects = False
        elif expects and is_name(token) and not token.is_word(*_NO_ALIAS):
            relation, jumped = _read_relation(tokens, index, end, ends, ctes)
            relations.append(relation)
            expects = False
    return tuple(relations)


def _continues_name(tokens: Sequence[Token], index: int) -> bool:
    """Tests whether a token is a point, or behind one: a part of a name, even if it is a keyword elsewhere."""
    return tokens[index].is_operator(".") or (index > 0 and tokens[index - 1].is_operator("."))


def _read_relation(
    tokens: Sequence[Token], index: int, end: int, ends: dict[int, int], ctes: tuple[Relation, ...]
) -> tuple[Relation, int]:
    """Returns the relation whose name, or the function whose call, is at a token of FROM, and the number of the token
    behind its alias.
    """
    parts, after = name_at(tokens[:end], index)
    if after < end and tokens[after].is_operator("("):
        after = ends.get(after, end) + 1
        alias, after = _alias(tokens, after, end)
        return _renamed(tokens, after, ends, Relation(alias or parts[-1])), after
    alias, after = _alias(tokens, after, end)
    return _relation_named(parts, alias, ctes), after


def _renamed(tokens: Sequence[Token], index: int, ends: dict[int, int], relation: Relation) -> Relation:
    """Returns the relation with the columns in parentheses behind its alias, if there are any."""
    if index >= len(tokens) or not tokens[index].is_operator("(") or index not in ends:
        return relation
    columns = tuple(identifier_value(token) for token in tokens[index + 1 : ends[index]] if is_name(token))
    return Relation(relation.alias, (), columns)


def _alias(tokens: Sequence[Token], index: int, end: int) -> tuple[str | None, int]:
    """Returns the alias at a token, ``None`` if there is none, and the number of the token behind it."""
    if index < end and tokens[index].is_word("AS"):
        index += 1
    if index < end and is_name(tokens[index]) and not tokens[index].is_word(*_NO_ALIAS):
        return identifier_value(tokens[index]), index + 1
    return None, index


def _output(
    tokens: Sequence[Token], start: int, end: int, ends: dict[int, int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the names of the columns of a SELECT list, and the qualifiers of its stars, empty for ``*`` alone."""
    names: list[str] = []
    stars: list[str] = []
    item: list[int] = []
    in_list = False
    for index in [*_flat(start, end, ends), end]:
        token = tokens[index] if index < end else None
        if token is None or token.is_operator(",") or (token.is_word(*_CLAUSES) and not token.is_word("SELECT")):
            if in_list and item:
                _add_output([tokens[position] for position in item], names, stars)
            item = []
            if token is None or (in_list and not token.is_operator(",")):
                break
        elif token.is_word("SELECT"):
            in_list = True
        elif in_list:
            item.append(index)
    return tuple(names), tuple(stars)


def _add_output(item: Sequence[Token], names: list[str], stars: list[str]) -> None:
    last = item[-1]
    if last.is_operator("*"):
        stars.append(identifier_value(item[-3]) if len(item) > 2 and is_name(item[-3]) else "")
    elif is_name(last) and _names_item(item):
        names.append(identifier_value(last))


def _names_item(item: Sequence[Token]) -> bool:
    """Tests whether the last word of an item of SELECT names its column: alone, behind a point, or as an alias."""
    if len(item) == 1 or item[-2].is_operator("."):
        return True
    if item[-2].is_word("AS"):
        return True
    ends_operand = item[-2].kind is not TokenKind.OPERATOR or item[-2].is_operator("(", "]")
    return ends_operand and not item[-1].is_word("END", "NULL", "TRUE", "FALSE")


def query_relation(tokens: Sequence[Token]) -> Relation:
    """Returns the relation that a complete query is."""
    return _derived(tokens, 0, len(tokens), _pairs(tokens), (), "", 0)
