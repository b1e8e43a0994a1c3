"""The parts that statements are built from, and the checks that no grammar can express."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rewriter.errors import AnalysisError, ParseError, Span
from rewriter.grammar.lexer import Token, identifier_value, string_value
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.grammar.terms import PartitionItem

_PERCENTAGE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,6})?", re.ASCII)


class Terminal(NamedTuple):
    """A token with the role that the grammar gave it; ``type`` is a terminal of the grammar."""

    type: str
    token: Token

    @property
    def span(self) -> Span:
        return self.token.span

    @property
    def word(self) -> str:
        return self.token.upper

    @property
    def name(self) -> str:
        """The name that a NAME denotes. Raises ``ParseError`` for the empty one, `` `` ``."""
        value = identifier_value(self.token)
        if not value:
            raise ParseError("A name is empty.", position=self.span, hint="Write a name between the backquotes.")
        return value

    @property
    def string(self) -> str:
        return string_value(self.token)


class Clause(NamedTuple):
    """A clause whose position is free: its kind, its value, and its span."""

    kind: str
    value: Any
    span: Span


def whole_number(terminal: Terminal) -> int | None:
    """Returns the number that a NUMBER denotes; ``None`` if it is not whole, or has more than 18 digits."""
    text = terminal.token.text
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def percentage(text: str) -> float | None:
    """Returns the number of percent that a text denotes; ``None`` if it is not above 0 and at most 100, or has more
    than six decimals.
    """
    percent = float(text) if _PERCENTAGE.fullmatch(text) else 0.0
    return percent if 0 < percent <= 100 else None


def percentage_text(percent: float) -> str:
    """Returns the text of a number of percent, which ``percentage`` reads.

    >>> percentage_text(5.0), percentage_text(0.001)
    ('5', '0.001')
    """
    return f"{percent:.6f}".rstrip("0").rstrip(".")


def from_to(first: Span, last: Span) -> Span:
    """Returns the span from the start of one to the end of the other."""
    return Span(first.start, last.end)


def values_by_kind(clauses: Iterable[Clause]) -> dict[str, Any]:
    """Returns the clauses' values by kind; a second clause of a kind is an error."""
    values: dict[str, Any] = {}
    for clause in clauses:
        if clause.kind in values:
            raise ParseError(
                f"Found duplicate clauses: {clause.kind}.",
                condition="DUPLICATE_CLAUSES",
                sqlstate="42614",
                position=clause.span,
                hint="A clause can occur only once; remove one of them.",
            )
        values[clause.kind] = clause.value
    return values


def refuse_duplicates(keys: Sequence[tuple[str, Span]], fold: Callable[[str], str]) -> None:
    """Raises ``ParseError`` DUPLICATE_KEY at the second of two keys that ``fold`` makes equal."""
    folded_keys: set[str] = set()
    for key, span in keys:
        if fold(key) in folded_keys:
            raise ParseError(
                f"Found duplicate keys `{key}`.",
                condition="DUPLICATE_KEY",
                sqlstate="23505",
                position=span,
                object=key,
                hint="Name each only once.",
            )
        folded_keys.add(fold(key))


def require_values(spec: Iterable[PartitionItem]) -> None:
    """Raises ``ParseError`` at a partition column without a value."""
    for item in spec:
        if item.value is None:
            raise ParseError(
                f"Invalid SQL syntax: Partition key `{item.column}` must set value.",
                condition="INVALID_SQL_SYNTAX.EMPTY_PARTITION_VALUE",
                sqlstate="42000",
                position=item.span,
                object=item.column,
                hint=f"Write {item.column} = '…'.",
            )


def period_name(name: Terminal) -> str:
    """Returns the update period's name in upper case; ``AnalysisError`` UNKNOWN_UPDATE_PERIOD if there is none."""
    try:
        return UpdatePeriod.named(name.name).name
    except AnalysisError as error:
        raise error.at(name.span) from None
