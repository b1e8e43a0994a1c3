"""Values for the placeholders of a statement: ``?`` by position, ``:name`` by name.

Engines support named parameters only. So each ``?`` becomes ``:p1``, ``:p2`` … in the text, and positions in errors
are mapped back to the text that was typed. A list is allowed as an operand of IN: ``IN (?)`` with three values becomes
``IN (:p1_1, :p1_2, :p1_3)``. Values never become a part of the text; the unit of ``date_trunc(?, t)`` becomes the
literal of that name.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from rewriter.errors import DataError, ProgrammingError, Span
from rewriter.grammar.lexer import Token, TokenKind, tokens
from rewriter.lazy_dataclass import dataclass

#: The units of Spark's ``date_trunc`` and ``trunc``.
_UNITS = (
    "YEAR", "YYYY", "YY", "QUARTER", "MONTH", "MM", "MON", "WEEK", "DAY", "DD", "HOUR", "MINUTE", "SECOND",
    "MILLISECOND", "MICROSECOND",
)  # fmt: skip

Parameters = Sequence[object] | Mapping[str, object] | None


@dataclass(frozen=True)
class BoundText:
    """A statement's text with named placeholders only, their values, and the edits that lead back to the typed text."""

    text: str
    parameters: Mapping[str, object]
    edits: tuple[tuple[Span, int], ...] = ()

    def original(self, span: Span | None) -> Span | None:
        """Returns the stretch of the typed text that corresponds to ``span`` of ``text``."""
        if span is None or not self.edits:
            return span
        return Span(
            self._original_offset(span.start), max(self._original_offset(span.end), self._original_offset(span.start))
        )

    def _original_offset(self, offset: int) -> int:
        grown = 0
        for span, length in self.edits:
            new_start = span.start + grown
            if offset <= new_start:
                break
            if offset < new_start + length:
                return span.start
            grown += length - (span.end - span.start)
        return offset - grown


def bind(text: str, parameters: Parameters) -> BoundText:
    """Returns the text and its values, checked: every placeholder has a value that engines accept.

    Raises ``ProgrammingError`` UNBOUND_SQL_PARAMETER 42P02 with the placeholder's position, or for a count that does
    not fit; ``DataError`` for a value of another type.
    """
    if parameters is None and "?" not in text and ":" not in text:
        return BoundText(text, {})  # Skips the tokenizer: the parser reads the text anyway.
    placeholders = [token for token in tokens(text) if token.kind is TokenKind.PARAMETER]
    marks = [token for token in placeholders if token.text == "?"]
    names = [token for token in placeholders if token.text != "?"]
    if marks and names:
        raise ProgrammingError(
            "A statement has either ? or :name placeholders, not both.",
            position=names[0].span,
            hint="Give all placeholders names, and a mapping of values.",
        )
    if isinstance(parameters, Mapping):
        return _by_name(text, marks, names, parameters)
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence | None):
        raise ProgrammingError(
            f"Parameters are a sequence for ? or a mapping for :name, not a {type(parameters).__name__}.",
            hint="Put a single value into a list: [value].",
        )
    return _by_position(text, marks, names, parameters or ())


def _by_name(text: str, marks: list[Token], names: list[Token], parameters: Mapping[str, object]) -> BoundText:
    if marks:
        raise ProgrammingError(
            "A ? placeholder takes its value from a sequence, but a mapping was given.",
            position=marks[0].span,
            hint="Write :name in the text, or pass a list of values.",
        )
    for token in names:
        if token.text[1:] not in parameters:
            raise _error_unbound(token, f"Add a value for '{token.text[1:]}' to the parameters.")
    return _bound(text, [(token, token.text[1:], parameters[token.text[1:]]) for token in names])


def _by_position(text: str, marks: list[Token], names: list[Token], parameters: Sequence[object]) -> BoundText:
    if names:
        raise _error_unbound(names[0], "Pass a mapping of names to values as the parameters.")
    if len(marks) != len(parameters):
        if not parameters:
            raise _error_unbound(marks[0], "Pass a list of values as the parameters.")
        raise ProgrammingError(
            f"The statement has {len(marks)} placeholders, but {len(parameters)} values were given.",
            position=marks[-1].span if marks else None,
            hint="Give one value for each ?.",
        )
    numbered = enumerate(zip(marks, parameters, strict=True), start=1)
    return _bound(text, [(token, f"p{number}", value) for number, (token, value) in numbered])


def _bound(text: str, placeholders: list[tuple[Token, str, object]]) -> BoundText:
    """Returns the text with each placeholder under its name, and a list under one name for each of its items."""
    parts: list[str] = []
    edits: list[tuple[Span, int]] = []
    values: dict[str, object] = {}
    taken = {name for _, name, _ in placeholders}
    position = 0
    for token, name, value in placeholders:
        items = _list_items(value)
        if items is None:
            unit = _unit(text, token, value)
            if unit is None:
                values[name] = parameter_value(value, token.span)
            replacement = unit or f":{name}"
        else:
            expanded = {_free_name(name, number, taken): item for number, item in enumerate(items, start=1)}
            values |= {item_name: parameter_value(item, token.span) for item_name, item in expanded.items()}
            replacement = _in_list(text, token, [f":{item_name}" for item_name in expanded])
        if replacement != token.text:
            parts += [text[position : token.start], replacement]
            edits.append((token.span, len(replacement)))
            position = token.end
    return BoundText("".join([*parts, text[position:]]), values, tuple(edits))


def _unit(text: str, placeholder: Token, value: object) -> str | None:
    """Returns the literal of a unit that is bound in ``date_trunc(?, t)`` or ``trunc(t, ?)``; ``None`` for others.

    Engines and planner read a unit before they have values, and two placeholders of GROUP BY and SELECT would be two
    expressions. Only a unit of Spark becomes a literal, so no value gets into the text.
    """
    spellings = (*_UNITS, *map(str.lower, _UNITS)) if isinstance(value, str) else ()
    unit = next((unit for unit in spellings if unit == value), None)
    if unit is None:
        return None
    before = [token for token in tokens(text) if token.end <= placeholder.start]
    after = next((token for token in tokens(text) if token.start >= placeholder.end), None)
    opening, is_first = _innermost(before), bool(before) and before[-1].is_operator("(")
    call = before[opening - 1] if opening > 0 else None
    if call is None or after is None:
        return None
    of_date_trunc = call.is_word("DATE_TRUNC") and is_first and after.is_operator(",")
    of_trunc = call.is_word("TRUNC") and before[-1].is_operator(",") and after.is_operator(")")
    return f"'{unit}'" if of_date_trunc or of_trunc else None


def _innermost(before: Sequence[Token]) -> int:
    """Returns the index of the innermost open parenthesis, or -1."""
    depth = 0
    for index in range(len(before) - 1, -1, -1):
        if before[index].is_operator(")"):
            depth += 1
        elif before[index].is_operator("("):
            if depth == 0:
                return index
            depth -= 1
    return -1


def _free_name(name: str, number: int, taken: set[str]) -> str:
    """Returns the name of an item of a list, which no placeholder of the statement has."""
    item_name = f"{name}_{number}"
    while item_name in taken:
        item_name += "_"
    return item_name


def _in_list(text: str, placeholder: Token, items: list[str]) -> str:
    """Returns the placeholders of a list's items as the operand of IN, with parentheses unless the text has them.

    Raises ``DataError`` for an empty list, because ``IN ()`` is no SQL, and NOT IN of it would have to be true; and
    where the placeholder is no operand of IN.
    """
    before = [token for token in tokens(text) if token.end <= placeholder.start]
    bare = bool(before) and before[-1].is_word("IN")
    if not bare and not _is_in_parentheses_of_in(before):
        raise DataError(
            f"The value of {placeholder.text} is a list, which only IN takes.",
            position=placeholder.span,
            hint=f"Write column IN ({placeholder.text}), or pass a single value.",
        )
    if not items:
        raise DataError(
            f"The list for {placeholder.text} is empty.",
            condition="EMPTY_LIST_PARAMETER",
            position=placeholder.span,
            hint="Leave the condition out: nothing is in an empty list.",
        )
    joined = ", ".join(items)
    return f"({joined})" if bare else joined


def _is_in_parentheses_of_in(before: list[Token]) -> bool:
    """Tests whether the innermost open parenthesis follows IN, and the last token is it, or a comma."""
    if not before or not before[-1].is_operator("(", ","):
        return False
    opening = _innermost(before)
    return opening > 0 and before[opening - 1].is_word("IN")


def _error_unbound(token: Token, hint: str) -> ProgrammingError:
    return ProgrammingError(
        f"The placeholder {token.text} has no value.",
        condition="UNBOUND_SQL_PARAMETER",
        sqlstate="42P02",
        position=token.span,
        object=token.text,
        hint=hint,
    )


# Values of Python, numpy and pandas as values that both engines accept.
#
# numpy and pandas are never imported here: a value of theirs can only exist if the program has imported them.

_LARGEST = 2**63 - 1
_HINT = "Use None, bool, int, float, str, Decimal, date, datetime, UUID, or a scalar of numpy or pandas."


def parameter_value(value: object, position: Span | None) -> object:
    """Returns a value as engines accept it: ``None``, ``bool``, ``int``, ``float``, ``str``, ``Decimal``, ``date``, or
    a ``datetime`` in UTC or without a zone.

    A UUID becomes its text; a scalar of numpy or pandas becomes the Python value; ``NaT`` and ``NA`` become ``None``. A
    datetime without a zone stays so: engines take it as UTC, and the planner refuses it where a zone makes it
    ambiguous. Raises ``DataError`` at ``position`` for a value that does not fit its
    type, has nanoseconds, or is of another type.
    """
    value = _python_value(value, position)
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC)
    if value is None or isinstance(value, bool | date):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # Of an enumeration or numpy's own, the text alone.
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, int):
        if -_LARGEST - 1 <= value <= _LARGEST:
            return int(value)
        raise DataError(
            f"{value} does not fit a BIGINT.", position=position, hint="Pass it as a Decimal, or as a str with CAST."
        )
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Decimal):
        return _decimal(value, position)
    raise DataError(f"A value of the type {type(value).__name__} cannot be a parameter.", position=position, hint=_HINT)


def _list_items(value: object) -> Sequence[object] | None:
    """Returns the items of a list, tuple, set, or one-dimensional array of numpy or pandas; ``None`` for other
    values.
    """
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, set | frozenset):
        return list(value)
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1:
        return list(value)
    if pandas is not None and isinstance(value, pandas.Series | pandas.Index):
        return list(value)
    return None


def _decimal(value: Decimal, position: Span | None) -> Decimal:
    digits, exponent = value.as_tuple().digits, value.as_tuple().exponent
    if isinstance(exponent, int) and max(len(digits), -exponent) + max(exponent, 0) <= 38:
        return value
    raise DataError(f"{value} is not a DECIMAL of at most 38 digits.", position=position, hint="Round it first.")


def _python_value(value: object, position: Span | None) -> object:
    """Returns a scalar of numpy or pandas as a value of Python, and other values as they are."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if pandas is not None:
        if value is pandas.NaT or value is pandas.NA:
            return None
        if isinstance(value, pandas.Timestamp):
            if value.nanosecond:
                raise _too_fine(value, position)
            return value.to_pydatetime()
    if numpy is not None:
        if isinstance(value, numpy.datetime64):
            return _instant(value, numpy, position)
        if isinstance(value, numpy.longdouble):
            raise DataError(
                "A value of the type longdouble has more digits than a DOUBLE.",
                position=position,
                hint="Pass it as a float or a Decimal.",
            )
        if isinstance(value, numpy.generic):
            return value.item()
    return value


def _instant(value: Any, numpy: Any, position: Span | None) -> object:
    """Returns a date or an instant of numpy: days are dates, finer units datetimes."""
    if numpy.isnat(value):
        return None
    unit, _ = numpy.datetime_data(value.dtype)
    python_value = value.astype("datetime64[D]" if unit in ("Y", "M", "W", "D") else "datetime64[us]")
    if python_value != value:
        raise _too_fine(value, position)
    instant = python_value.item()
    if not isinstance(instant, date):
        raise DataError(
            f"{value} is not a date of the years 1 to 9999.", position=position, hint="Pass it as a str with CAST."
        )
    return instant


def _too_fine(value: object, position: Span | None) -> DataError:
    return DataError(
        f"{value} has nanoseconds, and a TIMESTAMP has microseconds.",
        position=position,
        hint="Round it first: Timestamp.floor('us'), or astype('datetime64[us]').",
    )
