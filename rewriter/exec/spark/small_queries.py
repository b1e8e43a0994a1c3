"""Queries of little work, by their text: Spark computes them in one piece.

A query over little data may still return much: ``range``, ``explode``, ``repeat``, or a join of a table with itself.
So a query counts as small only if each of its words is known to add nothing: it reads relations without joining them,
and calls functions whose value is not longer than their arguments. Every other query gets the ordinary session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.grammar.lexer import Token, TokenKind, identifier_value

if TYPE_CHECKING:
    from rewriter.exec.engine import EngineQuery

#: The most bytes of the files of a small query, which one task reads. A file counts for each place that names it.
_MOST_BYTES = 8 << 20
#: The characters of the longest text that is looked at, which takes some milliseconds.
_LONGEST = 20_000

#: Functions with short values, or with values that are not longer than their arguments.
_FUNCTIONS = frozenset("""
    abs acos any any_value approx_count_distinct approx_percentile asin atan atan2 avg bigint bool_and bool_or
    boolean bround cast cbrt ceil ceiling char_length character_length coalesce corr cos count count_if covar_pop
    covar_samp current_date current_timestamp date date_add date_diff date_format date_part date_sub date_trunc
    dateadd datediff day dayname dayofmonth dayofweek dayofyear decimal degrees dense_rank double every exp extract
    first first_value float floor from_unixtime from_utc_timestamp greatest hll_sketch_estimate hour if ifnull instr
    int isnan isnotnull isnull kurtosis lag last last_day last_value lcase lead least left length ln locate log log10
    log2 lower ltrim make_date max max_by md5 mean median min min_by minute mod month months_between nanvl negative
    next_day now ntile nullif nvl nvl2 octet_length percent_rank percentile percentile_approx percentile_cont
    percentile_disc pmod position pow power quarter radians rand rank right rint round row_number rtrim second sign
    signum sin sinh skewness smallint some sqrt std stddev stddev_pop stddev_samp substr substring sum tan tanh
    timestamp timestamp_micros timestamp_millis timestamp_seconds timestampadd timestampdiff tinyint to_date
    to_timestamp to_unix_timestamp to_utc_timestamp trim trunc try_add try_avg try_cast try_divide try_subtract
    try_sum try_to_number typeof ucase unix_date unix_micros unix_millis unix_seconds unix_timestamp upper var_pop
    var_samp variance weekday weekofyear year
""".split())  # fmt: skip
#: Words that stand before a parenthesis and are no function.
_BEFORE_PARENTHESIS = frozenset("""
    ALL AND AS BETWEEN BY CASE DISTINCT ELSE EXCEPT EXISTS FILTER FROM HAVING IN INTERSECT LIKE LIMIT NOT ON OR OVER
    SELECT THEN UNION WHEN WHERE GROUP DECIMAL NUMERIC DEC VARCHAR CHAR
""".split())  # fmt: skip
#: Words behind the only relation of FROM, and its name.
_BEHIND_RELATION = ("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "SORT")
#: Words before a SELECT in parentheses that is no subquery of an expression: Spark would join its rows.
_BEFORE_SUBQUERY = ("FROM", "UNION", "EXCEPT", "INTERSECT", "ALL", "DISTINCT")
#: Words of queries that join, repeat or make rows.
_MULTIPLYING = ("JOIN", "LATERAL", "WITH", "VALUES", "TABLE", "TABLESAMPLE", "PIVOT", "UNPIVOT", "TRANSFORM")


def is_small(query: EngineQuery) -> bool:
    """Returns True if the rows that a query reads are few, and it computes no more than these.

    >>> is_small(EngineQuery("SELECT 1 AS a")), is_small(EngineQuery("SELECT explode(sequence(1, 1000000)) AS a"))
    (True, False)
    """
    sizes = {relation.name.lower(): sum([file.bytes for file in relation.files]) for relation in query.relations}
    is_known = len(query.sql) <= _LONGEST and all(relation.view is None for relation in query.relations)
    if not is_known or sum(sizes.values()) > _MOST_BYTES:
        return False
    words = query.lexed().tokens or ()
    if not words or not words[0].is_word("SELECT"):
        return False
    readers = Counter(_name(word) for word, before in zip(words[1:], words, strict=False) if before.is_word("FROM"))
    if sum(size * readers[name] for name, size in sizes.items()) > _MOST_BYTES:
        return False
    return all(_adds_nothing(words, place, sizes) for place in range(len(words)))


def _adds_nothing(words: Sequence[Token], place: int, relations: Mapping[str, int]) -> bool:
    """Tests one word of the text, with what follows it."""
    token = words[place]
    if token.is_word(*_MULTIPLYING) or token.is_operator("||", "|>", "->", "/*+", "["):
        return False
    if token.is_word("FROM"):
        return _reads_one(words, place + 1, relations)
    if token.is_word("SELECT") and place and words[place - 1].is_operator("("):
        return words[place - 2].is_word(*_BEFORE_SUBQUERY)
    is_named = token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER)
    if is_named and place + 1 < len(words) and words[place + 1].is_operator("("):
        return token.upper in _BEFORE_PARENTHESIS or token.text.lower() in _FUNCTIONS
    return True


def _reads_one(words: Sequence[Token], place: int, relations: Mapping[str, int]) -> bool:
    """Tests whether FROM reads one relation or subquery, and nothing beside it. ``place`` is behind FROM."""
    if place + 1 < len(words) and words[place].is_operator("(") and words[place + 1].is_word("SELECT"):
        place = _behind_parenthesis(words, place)
    elif place < len(words) and _name(words[place]) in relations:
        place += 1
    else:
        return False
    if place < len(words) and words[place].is_word("AS"):
        place += 1
    if place < len(words) and _is_alias(words[place]):
        place += 1
    return place >= len(words) or words[place].is_word(*_BEHIND_RELATION) or words[place].is_operator(")", ";")


def _is_alias(token: Token) -> bool:
    return token.kind is TokenKind.IDENTIFIER or (
        token.kind is TokenKind.WORD and not token.is_word(*_BEHIND_RELATION, "CROSS", "INNER", "LEFT", "RIGHT", "FULL")
    )


def _behind_parenthesis(words: Sequence[Token], place: int) -> int:
    depth = 0
    for position in range(place, len(words)):
        depth += words[position].is_operator("(") - words[position].is_operator(")")
        if not depth:
            return position + 1
    return len(words)


def _name(token: Token) -> str:
    return identifier_value(token).lower()
