"""Calls that read or write times by a pattern, and whether Spark's policy LEGACY gives them another result than here.

LEGACY reads with Java's SimpleDateFormat, which takes 2024-13-01 for 2025-01-01 and ignores what follows the pattern's
end, so each call that reads a text is reported. It writes times as they are written here if the pattern has only the
letters of ``_ALIKE``, for years from 1583 to 9999.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from rewriter.convert.column_types import DATE, TIMESTAMP
from rewriter.convert.expressions import Expression, ExpressionForm, all_parts

POLICY = "spark.sql.legacy.timeparserpolicy"
#: Functions that read a text by the pattern that is their second argument.
_READING = ("to_date", "to_timestamp", "try_to_date", "try_to_timestamp")
#: Functions that read a text by a pattern, which has a default.
_READING_TEXTS = ("unix_timestamp", "to_unix_timestamp")
_WRITING = ("date_format", "from_unixtime")
#: Functions whose texts have times in them.
_NESTED = ("from_json", "to_json", "from_csv", "to_csv")
_ALIKE = re.compile(r"(yyyy|yy|MM|M|dd|d|HH|H|mm|m|ss|s|'[^']*'|[^A-Za-z'\[\]{}#])*")


def differing_calls(roots: Sequence[Expression], type_of: Callable[[Expression], str | None]) -> Iterator[str]:
    """Yields the names of the calls that may have another result. ``type_of`` returns the type of an argument."""
    for part in all_parts(roots):
        if part.form is ExpressionForm.CALL and _may_differ(part, type_of):
            yield part.word


def _may_differ(call: Expression, type_of: Callable[[Expression], str | None]) -> bool:
    arguments = call.operands
    if call.word in _READING:
        return len(arguments) > 1
    if call.word in _READING_TEXTS:
        return bool(arguments) and type_of(arguments[0]) not in (DATE, TIMESTAMP)
    if call.word in _WRITING and len(arguments) > 1:
        return not _is_written_alike(arguments[1])
    return call.word in _NESTED


def _is_written_alike(pattern: Expression) -> bool:
    """Tests whether a pattern is a string of one token, without escapes, that writes the same under both policies."""
    quote, text = pattern.word[:1], pattern.word[1:-1]
    is_string = pattern.form is ExpressionForm.LITERAL and pattern.first == pattern.last and quote in ("'", '"')
    return is_string and quote not in text and "\\" not in text and _ALIKE.fullmatch(text) is not None
