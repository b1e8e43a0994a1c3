"""Long VALUES of literals as data: DuckDB takes much longer to parse and bind the cells of a text than to read them.

The types are as in the general translation (``literals``, ``queries``), which also gets everything else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, BOOLEAN, INT, STRING, SqlType, arrow_type
from rewriter.exec.translate.allowlist_entries import CONSTRUCTS, Entry
from rewriter.exec.translate.casts import cast_entry, common_type
from rewriter.exec.translate.literals import decimal_type
from rewriter.exec.translate.operators import NODES as OPERATORS
from rewriter.grammar import literal_rows
from rewriter.grammar.lexer import Token, string_value
from rewriter.grammar.literal_rows import LiteralColumn, literal_columns
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.translate.sql_text import SqlText

#: The name of the table in DuckDB. Its columns are ``c0``, ``c1`` …
NAME = "rewriter_literals"
#: From how many rows on VALUES become a table. EXPLAIN ENGINE shows the cells of shorter ones.
LEAST = 64

_DECIMAL = re.compile(r"[0-9]+\.[0-9]*|\.[0-9]+")
_NUMBERS = frozenset((literal_rows.NUMBER, literal_rows.NEGATIVE))
_BOOLEANS = {literal_rows.TRUE: True, literal_rows.FALSE: False, literal_rows.NULL: None}


@dataclass(frozen=True)
class LiteralTable:
    """The types and values of the columns of VALUES, and the lines of the allow-list that they use."""

    types: tuple[SqlType, ...]
    columns: tuple[Sequence[object], ...]
    entries: frozenset[Entry]

    @cached_property
    def arrow(self) -> pa.Table:
        """The table as DuckDB reads it."""
        import pyarrow as pa

        columns = zip(self.types, self.columns, strict=True)
        return pa.table([pa.array(values, arrow_type(type_)) for type_, values in columns], names=self.names)

    @property
    def names(self) -> list[str]:
        return [f"c{number}" for number in range(len(self.types))]


def literal_table(text: SqlText) -> LiteralTable | None:
    """Returns the rows of VALUES as a table; ``None`` if the general translation must read the text.

    Raises ``ParseError`` for a string with an escape that is no character.
    """
    columns = literal_columns(text.text, text.tokens)
    if columns is None or len(columns[0].kinds) < LEAST:
        return None
    types: list[SqlType] = []
    values: list[Sequence[object]] = []
    entries = {CONSTRUCTS["VALUES"]}
    for column in columns:
        column_literals = _column(column, entries)
        if column_literals is None:
            return None
        types.append(column_literals[0])
        values.append(column_literals[1])
    return LiteralTable(tuple(types), tuple(values), frozenset(entries))


def _column(column: LiteralColumn, entries: set[Entry]) -> tuple[SqlType, Sequence[object]] | None:
    """Returns the type and the values of a column, and adds the lines that it uses to ``entries``.

    Returns ``None`` where kinds are mixed, where all cells are NULL, and for a cell that is not certain.
    """
    kinds = set(column.kinds)
    if literal_rows.NULL in kinds:
        entries.add(CONSTRUCTS["NULL"])
        kinds.discard(literal_rows.NULL)
    if kinds == {literal_rows.STRING}:
        return _strings(column, entries)
    if kinds and kinds <= _NUMBERS:
        return _numbers(column, entries)
    if kinds and kinds <= _BOOLEANS.keys():
        entries.add(CONSTRUCTS["TRUE, FALSE"])
        return BOOLEAN, [_BOOLEANS[kind] for kind in column.kinds]
    return None


def _strings(column: LiteralColumn, entries: set[Entry]) -> tuple[SqlType, Sequence[object]] | None:
    entries.add(CONSTRUCTS["'string', \"string\", r'raw'"])
    null = literal_rows.NULL
    values = [None if kind == null else _text(token) for kind, token in zip(column.kinds, column.tokens, strict=True)]
    # A text with a NUL ends there in DuckDB's SQL, but not in a table.
    return None if any(value is not None and "\0" in value for value in values) else (STRING, values)


def _text(token: Token) -> str:
    token_text = token.text
    # Most strings are neither raw nor escaped.
    is_plain = token_text[0] == "'" and "\\" not in token_text and "''" not in token_text
    return token_text[1:-1] if is_plain else string_value(token)


def _numbers(column: LiteralColumn, entries: set[Entry]) -> tuple[SqlType, Sequence[object]] | None:
    types: dict[SqlType, None] = {}
    values: list[int | Decimal | None] = []
    for kind, token in zip(column.kinds, column.tokens, strict=True):
        if kind == literal_rows.NULL:
            values.append(None)
            continue
        number = _number(token.text)
        if number is None:
            return None
        negative = kind == literal_rows.NEGATIVE
        type_ = _type_of(number, negative)
        if type_ is None:
            return None
        types[type_] = None
        values.append(_negated(number) if negative else number)
    target = next(iter(types))
    for type_ in types:
        common_type_ = common_type(target, type_)
        if common_type_ is None:
            return None
        target = common_type_
    if any(type_.scale > target.scale for type_ in types):
        # The values would be rounded.
        return None
    entries.update(entry for type_ in types if (entry := cast_entry(type_, target, tolerant=False)))
    for type_ in types:
        entries.add(CONSTRUCTS["1.5, 1.5BD (DECIMAL)" if type_.is_decimal else "whole number (INT, BIGINT)"])
    if literal_rows.NEGATIVE in column.kinds:
        minus = OPERATORS[exp.Neg].entry
        assert minus is not None
        entries.add(minus)
    return target, [None if value is None else Decimal(value) for value in values] if target.is_decimal else values


def _negated(number: int | Decimal) -> int | Decimal:
    # The minus of a Decimal rounds to the precision of the application's context.
    return number.copy_negate() if isinstance(number, Decimal) else -number


def _number(digits: str) -> int | Decimal | None:
    """Returns the value of a number of digits, with a point or without one; ``None`` for other forms."""
    if digits.isdigit():
        return int(digits)
    return Decimal(digits) if _DECIMAL.fullmatch(digits) else None


def _type_of(number: int | Decimal, negative: bool) -> SqlType | None:
    """Returns the type of a literal; ``None`` if it is not certain. -2147483648 is an INT, and 2147483648 a BIGINT."""
    if isinstance(number, Decimal):
        return decimal_type(number)
    if number < 2**31 + negative:
        return INT
    return BIGINT if number < 2**63 else None
