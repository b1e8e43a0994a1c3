"""An engine's error, placed in the user's text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import AnalysisError, Error, Span
from rewriter.exec.data_files import DAMAGED_FILE
from rewriter.exec.spark_functions import is_function, similar_function
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, tokens
from rewriter.planner.text.query_text import QueryText

if TYPE_CHECKING:
    from rewriter.grammar.terms import Query

_QUOTED = re.compile(r"`((?:[^`]|``)+)`|\"((?:[^\"]|\"\")+)\"")


def with_position(error: Error, query: Query, sql: str) -> Error:
    """Returns an engine's error about ``sql``, placed in the user's query.

    Where the engine reports a position, it becomes the position of the same token in the user's text; otherwise the
    position of the only operation of the query that can fail so; otherwise the position of the name that the message
    quotes; otherwise the whole query.
    """
    engine_position, query_tokens = error.position, tokens(query.text)
    error.position = (
        (None if engine_position is None else _same_token(engine_position, sql, query_tokens))
        or _only_operation(error, query)
        or _quoted_name(error, query_tokens)
    )
    if error.position is not None:
        error.position = error.position.shifted(query.span.start)
    if error.hint is None:
        error.hint = next((hint for prefix, hint in _HINTS.items() if error.condition.startswith(prefix)), _ANY_HINT)
    return error.at(query.span)


#: Hints by the begin of a condition: the first that applies.
_HINTS = {
    "UNRESOLVED_ROUTINE": "SHOW FUNCTIONS lists all.",
    "UNSUPPORTED_DATATYPE": "Write a type of Spark: STRING, INT, BIGINT, DOUBLE, DECIMAL(10,2), DATE or TIMESTAMP.",
    "UNRESOLVED_COLUMN": "DESCRIBE a table, cube or fact to see its columns.",
    "ARITHMETIC_OVERFLOW": "CAST an operand to a wider type, or write try_add or try_multiply, which return NULL.",
    "BINARY_ARITHMETIC_OVERFLOW": "CAST an operand to INT.",
    "CANNOT_PARSE_TIMESTAMP": "Correct the text or the format, or write try_to_timestamp, which returns NULL.",
    "CAST_INVALID_INPUT": "Correct the value, or exclude its row with WHERE.",
    "CAST_OVERFLOW": "CAST to a wider type, or write TRY_CAST, which returns NULL.",
    "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES": "Cast one side, or write a time in quotes, such as '2013-07-01'.",
    "DATETIME_FIELD_OUT_OF_BOUNDS": "Write a date or time that exists, of the years 1 to 9999.",
    "INVALID_ARRAY_INDEX": "Use an index that exists; get(a, i) and try_element_at return NULL for the others.",
    "INVALID_INDEX_OF_ZERO": "Count from 1.",
    "INVALID_TYPED_LITERAL": "Write a value that exists, such as DATE '2013-02-28'.",
    "FAILED_READ_FILE": DAMAGED_FILE,
    "CANNOT_READ_FILE_FOOTER": DAMAGED_FILE,
    "MALFORMED_CSV_RECORD": DAMAGED_FILE,
    "MALFORMED_RECORD_IN_PARSING": DAMAGED_FILE,
    "DIVIDE_BY_ZERO": "Write NULLIF(…, 0) as the divisor.",
    "REMAINDER_BY_ZERO": "Write NULLIF(…, 0) as the divisor.",
    "NUMERIC_VALUE_OUT_OF_RANGE": "CAST to a DECIMAL with more digits before the point.",
    "PARTITION_VALUE_TOO_LONG": "Partition by a shorter value, and keep the long text in a data column.",
    "RECURSION_": "Give the recursive query a condition that ends it, such as WHERE n < 10.",
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": "Aggregate in the subquery, as MAX(…), or write IN or EXISTS.",
    "TIME_OUTSIDE_": "Exclude its row with WHERE, or store it as parquet.",
    "VALUE_OUTSIDE_CSV": "Exclude its row with WHERE, or store it as parquet. Options of CSV allow more values: "
    "nullValue another text of NULL, multiLine ends of lines, ignoreLeadingWhiteSpace = 'false' blanks.",
    "VALUE_OUTSIDE_TEXTFILE": "Exclude its row with WHERE, or store it as parquet. ESCAPED BY in the row format allows "
    "separators and line ends, NULL DEFINED AS another text of NULL.",
    "INVALID_PARTITION_VALUE": "Exclude its row with WHERE, or convert the value.",
}


_ANY_HINT = "The engine refused the query; EXPLAIN REWRITE shows it over the storage tables."


#: How many pairs of equal tokens may be compared: in two long lists of the same words, every word matches every other.
_MOST_PAIRS = 500_000


def _same_token(span: Span, sql: str, query_tokens: Sequence[Token]) -> Span | None:
    """Returns the span of the user's tokens that became the span ``span`` of the engine's text."""
    matching = [
        our_token
        for token, our_token in _same_tokens(tokens(sql), query_tokens)
        if token.start < max(span.end, span.start + 1) and span.start < token.end
    ]
    return Span(matching[0].start, matching[-1].end) if matching else None


def _same_tokens(engine_tokens: Sequence[Token], query_tokens: Sequence[Token]) -> list[tuple[Token, Token]]:
    """Returns the tokens that two texts have in common: the tokens at the begin and the end, and the tokens of the
    longest stretches between, unless these are too long to compare.
    """
    shorter = min(len(engine_tokens), len(query_tokens))
    begin = next((n for n in range(shorter) if engine_tokens[n].text != query_tokens[n].text), shorter)
    unmatched = shorter - begin
    end = next((n for n in range(unmatched) if engine_tokens[-1 - n].text != query_tokens[-1 - n].text), unmatched)
    theirs_between = [token.text for token in engine_tokens[begin : len(engine_tokens) - end]]
    ours_between = [token.text for token in query_tokens[begin : len(query_tokens) - end]]
    counts = Counter(ours_between)
    pairs: list[tuple[Token, Token]] = []
    if sum(counts[text] for text in theirs_between) <= _MOST_PAIRS:
        matcher = SequenceMatcher(None, theirs_between, ours_between, autojunk=False)
        pairs = [
            (engine_tokens[begin + block.a + number], query_tokens[begin + block.b + number])
            for block in matcher.get_matching_blocks()
            for number in range(block.size)
        ]
    ends = zip(engine_tokens[len(engine_tokens) - end :], query_tokens[len(query_tokens) - end :], strict=True)
    return [*zip(engine_tokens[:begin], query_tokens[:begin], strict=True), *pairs, *ends]


#: The operations that can fail with a condition.
_OPERATIONS: Mapping[str, tuple[type[exp.Expr], ...]] = {
    "ARITHMETIC_OVERFLOW": (exp.Add, exp.Sub, exp.Mul, exp.Sum),
    "CAST_INVALID_INPUT": (exp.Cast,),
    "CAST_OVERFLOW": (exp.Cast,),
    "DIVIDE_BY_ZERO": (exp.Div, exp.IntDiv),
    "REMAINDER_BY_ZERO": (exp.Mod,),
}


def _only_operation(error: Error, query: Query) -> Span | None:
    """Returns the span of the operation of a query that can fail with an error's condition, if it is the only one.

    Views and facts may hold others: then the error names no place in the text, or the span is the span of an operation
    that can fail, too.
    """
    kinds = _OPERATIONS.get(error.condition)
    if kinds is None:
        return None
    text = QueryText(query.text)
    try:
        spans = [_operation(node, text) for node in text.nodes if isinstance(node, kinds)]
    except Error:
        return None
    failing = [span for span in spans if span is not None]
    return failing[0] if len(failing) == 1 else None


def _operation(node: exp.Expr, text: QueryText) -> Span | None:
    """Returns the span of an operation, with its parentheses; ``None`` for TRY_CAST, which does not fail."""
    span = text.span_of(node)
    if span is None:
        return None
    call = text.enclosing_call(span) if isinstance(node, exp.Cast | exp.Sum) else None
    if call is not None and text.within(call)[0].is_word("CAST", "TRY_CAST", "SUM"):
        return None if text.within(call)[0].is_word("TRY_CAST") else call
    opened = sum(token.is_operator("(") - token.is_operator(")") for token in text.within(span))
    closing = [token.end for token in text.tokens if token.start >= span.end and token.is_operator(")")]
    return Span(span.start, closing[opened - 1]) if 0 < opened <= len(closing) else span


def _quoted_name(error: Error, query_tokens: Sequence[Token]) -> Span | None:
    """Returns the position of the name that the error is about, in the user's text."""
    quoted = (first or second for first, second in _QUOTED.findall(error.message))
    names = [name.lower() for name in (*((error.object,) if error.object else ()), *quoted)]
    spans_by_name: dict[str, Span] = {}
    for token in query_tokens:
        if token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER):
            spans_by_name.setdefault(identifier_value(token).lower(), token.span)
    return next((spans_by_name[name] for name in names if name in spans_by_name), None)


# Functions that a query calls by a misspelled name. A missing partition would hide the error of the engine.

#: The function of cubes that engines do not have.
_OWN = "time_range_in"


def misspelled_function(query: Query) -> Error | None:
    """Returns UNRESOLVED_ROUTINE 42883 for the first function of a query that Spark does not have, if its name is like
    one that Spark has; otherwise ``None``. Parses the query's text; starts no engine.
    """
    text = QueryText(query.text, query.span.start)
    for call in text.find_all(exp.Anonymous):
        name = call.name.lower()
        similar = None if is_function(name) or name == _OWN else similar_function(name)
        if similar is not None:
            return AnalysisError(
                f"There is no function {name}.",
                condition="UNRESOLVED_ROUTINE",
                sqlstate="42883",
                position=text.place(text.call(call)[0]),
                object=name,
                hint=f"Did you mean {similar}?",
            )
    return None
