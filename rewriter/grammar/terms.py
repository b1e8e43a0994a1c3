"""The terms in statements and filters: names, literals, partition items, columns, queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, fields, is_dataclass
from functools import cache
from typing import Any

from rewriter.errors import Error, InterfaceError, ParseError, Span
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, tokens
from rewriter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Name:
    """A possibly qualified name: ``parts`` without quotes, as typed."""

    parts: tuple[str, ...]
    span: Span = field(default=Span(0, 0), compare=False)

    @property
    def last(self) -> str:
        return self.parts[-1]


@dataclass(frozen=True)
class ColumnName:
    """A column, or with several ``parts`` a field within it; without quotes, as typed. It belongs to no database."""

    parts: tuple[str, ...]
    span: Span = field(default=Span(0, 0), compare=False)

    @property
    def last(self) -> str:
        return self.parts[-1]


@dataclass(frozen=True)
class DatabaseName:
    """The name of a database, without quotes, as typed. It belongs to no other database."""

    text: str
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class ClusterName:
    """The name of a cluster, without quotes, as typed. It belongs to no database."""

    text: str
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class NewName:
    """The new name of an object; without a database the object stays in its own."""

    parts: tuple[str, ...]
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class Literal:
    """A literal of the dialect.

    ``kind`` is ``null``, ``string``, ``number``, ``boolean``, ``date`` or ``timestamp``; ``text`` is the value
    without quotes or escapes (``''`` for null; numbers as typed, sign and suffix included: ``-2L``, ``1.5BD``).
    A statement as parsed may also have the kind ``constant``: ``text`` is a constant expression as typed, which the
    session replaces by its value before the statement runs.
    """

    kind: str
    text: str
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class PartitionItem:
    """``column`` alone (dynamic), or ``column = literal`` (static)."""

    column: str
    value: Literal | None
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class ColumnDef:
    """A column of CREATE TABLE, or of CREATE VIEW, which has no types.

    ``type`` is Spark's spelling in lower case, without blanks (a struct's fields keep their case); ``None`` refers to
    a declared column. ``default`` is the text behind DEFAULT, ``not_null`` says NOT NULL. ``transform`` is the function
    in PARTITIONED BY of which the column is the argument: years, months, days or hours.
    """

    name: str
    type: str | None
    comment: str | None = None
    span: Span = field(default=Span(0, 0), compare=False)
    default: str | None = None
    default_span: Span = field(default=Span(0, 0), compare=False)
    transform: str | None = None
    not_null: bool = False
    not_null_span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class ReadState:
    """A clause AS OF of a query, and the commit that it reads. ``name`` is the name in front of it, and ``clause`` the
    clause alone, both by their places in the user's text. ``table`` is the catalog's name of the table; ``None`` where
    all names of the query have the same commit.
    """

    name: Span
    clause: Span
    commit: int
    table: str | None


@dataclass(frozen=True)
class ReadStates:
    """The clauses AS OF of a query that is planned without them, in order. ``text`` has them, as typed; ``planned``
    has the same length: blanks in the place of a clause, or the name ``@1`` in the place of name and clause.
    ``newest`` is the newest commit when they were read, and ``instant`` the present moment then, in microseconds since
    1970, where a clause names a time.
    """

    text: str
    planned: str
    clauses: tuple[ReadState, ...]
    newest: int
    instant: int | None


@dataclass(frozen=True)
class Query:
    """A query in the user's words: ``text[span]``. The planner reads it with sqlglot.

    ``tokens`` are the tokens of its text, if it was lexed: their positions are in it, not in the statement. ``states``
    are the clauses AS OF that the user's text has, and this one no longer.
    """

    text: str
    span: Span = field(default=Span(0, 0), compare=False)
    tokens: tuple[Token, ...] | None = field(default=None, compare=False, repr=False)
    states: ReadStates | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Expression:
    """An expression in the user's words: ``text[span]``."""

    text: str
    span: Span = field(default=Span(0, 0), compare=False)


def queries_in(value: object) -> Iterator[Query]:
    """Yields the queries in a statement, or in a part of one, in order."""
    return parts_in(value, (Query,))


def parts_in(value: Any, kinds: tuple[type, ...]) -> Iterator[Any]:
    """Yields the parts of these kinds in a statement, or in a part of one, in order. Those within them are not
    yielded. A part that holds values alone costs about 1 µs: a statement may name 100,000 partitions.
    """
    if isinstance(value, kinds):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from parts_in(item, kinds)
    else:
        for name in _fields_with_parts(value.__class__):
            yield from parts_in(getattr(value, name), kinds)


#: The type of a field that holds values, but no other part of a statement.
_OF_VALUES = re.compile(r"(?:\b(?:str|int|bool|float|None|Span|Name|Literal|tuple)\b|[\[\], .|])*")


@cache
def _fields_with_parts(kind: type) -> tuple[str, ...]:
    if not is_dataclass(kind):
        return ()
    return tuple(item.name for item in fields(kind) if not _OF_VALUES.fullmatch(str(item.type)))


# Names that a program or a command line passes as text.


def parse_name(text: str) -> Name:
    """Returns the name of an object as it is typed in a statement: ``t``, ``db.t``, or with backquotes.

    Raises ``ParseError`` for other texts, and ``InterfaceError`` for what is no text.
    """
    if not isinstance(text, str):
        raise InterfaceError(f"The name is a {type(text).__name__}.", hint="Pass it as a str.")
    try:
        name_tokens = tokens(text)
    except Error:
        name_tokens = ()
    parts, dots = name_tokens[::2], name_tokens[1::2]
    is_name = all(token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER) for token in parts)
    if not parts or len(parts) != len(dots) + 1 or not is_name or any(token.text != "." for token in dots):
        raise ParseError(f"'{text}' is not a name.", object=text, hint="Write table, or database.table.")
    return Name(tuple(map(identifier_value, parts)))
