"""Values for the placeholders of a statement: ``?`` by position, ``:name`` by name.

Engines support named parameters only. So each ``?`` becomes ``:p1``, ``:p2`` … in the text, and positions in errors
are mapped back to the text that was typed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

from rewriter.errors import DataError, ProgrammingError, Span
from rewriter.grammar.lexer import Token, TokenKind, tokens

Parameters = Sequence[object] | Mapping[str, object] | None

_LARGEST = 2**63 - 1


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
    values = {}
    for token in names:
        name = token.text[1:]
        if name not in parameters:
            raise _error_unbound(token, f"Add a value for '{name}' to the parameters.")
        values[name] = _checked(parameters[name], token)
    return BoundText(text, values)


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
    parts: list[str] = []
    edits: list[tuple[Span, int]] = []
    values: dict[str, object] = {}
    position = 0
    for number, (token, value) in enumerate(zip(marks, parameters, strict=True), start=1):
        name = f"p{number}"
        values[name] = _checked(value, token)
        parts += [text[position : token.start], f":{name}"]
        edits.append((token.span, len(name) + 1))
        position = token.end
    return BoundText("".join([*parts, text[position:]]), values, tuple(edits))


def _checked(value: object, token: Token) -> object:
    """Returns the value as engines accept it: instants are aware and in UTC, numbers fit."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if value is None or isinstance(value, bool | str | date):
        return value
    if isinstance(value, int):
        if -_LARGEST - 1 <= value <= _LARGEST:
            return value
        raise DataError(
            f"{value} does not fit a BIGINT.", position=token.span, hint="Pass it as a Decimal, or as a str with CAST."
        )
    if isinstance(value, float):
        return value
    if isinstance(value, Decimal):
        digits, exponent = value.as_tuple().digits, value.as_tuple().exponent
        if isinstance(exponent, int) and max(len(digits), -exponent) + max(exponent, 0) <= 38:
            return value
        raise DataError(f"{value} is not a DECIMAL of at most 38 digits.", position=token.span, hint="Round it first.")
    raise DataError(
        f"A value of the type {type(value).__name__} cannot be a parameter.",
        position=token.span,
        hint="Use None, bool, int, float, str, Decimal, date or datetime.",
    )


def _error_unbound(token: Token, hint: str) -> ProgrammingError:
    return ProgrammingError(
        f"The placeholder {token.text} has no value.",
        condition="UNBOUND_SQL_PARAMETER",
        sqlstate="42P02",
        position=token.span,
        object=token.text,
        hint=hint,
    )
