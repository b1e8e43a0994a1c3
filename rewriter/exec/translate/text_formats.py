"""Numbers and texts by a format, for the allow-list of ``expressions``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, BOOLEAN, DOUBLE, MAX_PRECISION, STRING, VOID, decimal
from rewriter.exec.translate.casts import plain_cast, string_literal
from rewriter.exec.translate.expressions import Expressions, Scope, Typed, call, functions

_DIRECTIVE = re.compile(r"%(?:%|([-0,]?)([1-9]\d{0,2})?(?:\.(\d{1,2}))?([sdf]))", re.ASCII)
_MOST_ARGUMENTS = 100
#: Digits behind the point that a double below 2^53 leaves in a decimal.
_MOST_PLACES = MAX_PRECISION - 18
_MOST_DOUBLE_PLACES = 15


@dataclass(frozen=True)
class _Directive:
    """``%-5s`` and the like."""

    flag: str
    width: int
    places: int | None
    conversion: str


def _pieces(format: str) -> list[str | _Directive] | None:
    """Returns the texts and directives of a format; ``None`` if it has others than those of the list."""
    pieces: list[str | _Directive] = []
    position = 0
    for match in _DIRECTIVE.finditer(format):
        pieces.append(format[position : match.start()])
        position = match.end()
        flag, width, places, conversion = match.groups()
        if conversion is None:
            pieces.append("%")
            continue
        if (conversion == "f") != (places is not None) or (flag in ("-", "0") and width is None):
            return None
        if (flag == "0" and conversion != "d") or (flag == "," and conversion == "s"):
            return None
        pieces.append(_Directive(flag or "", int(width or 0), None if places is None else int(places), conversion))
    pieces.append(format[position:])
    return None if any("%" in piece and piece != "%" for piece in pieces if isinstance(piece, str)) else pieces


def _format_string(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, *arguments = e.arguments(node, 1, _MOST_ARGUMENTS)
    format, values = e.translate(first, scope), [e.translate(argument, scope) for argument in arguments]
    pieces = None if format.text is None else _pieces(format.text)
    directives = [piece for piece in pieces or () if isinstance(piece, _Directive)]
    if pieces is None or len(directives) != len(values):
        e.refuse(node, f"The format {e.text.shown(first)}")
    remaining = iter(values)
    parts = [
        _formatted(e, node, next(remaining), piece) if isinstance(piece, _Directive) else string_literal(piece)
        for piece in pieces
        if piece
    ]
    name = call(str(e.text.called(node)), format.name, *(value.name for value in values))
    return Typed(f"({' || '.join(parts) or string_literal('')})", STRING, name)


def _formatted(e: Expressions, node: exp.Expr, value: Typed, directive: _Directive) -> str:
    """Returns the text of a value. NULL is ``null``."""
    null = "'null'"
    if directive.conversion == "s":
        if value.type not in (STRING, BOOLEAN, VOID) and not value.type.is_integer and not value.type.is_decimal:
            e.refuse(node, f"{value.type} by %s")
        sql = e.cast(value, STRING, node)
    elif directive.conversion == "d":
        if not value.type.is_integer:
            e.refuse(node, f"{value.type} by %d")
        sql = plain_cast(value.sql, STRING)
        sql = f"rw_grouped({sql})" if directive.flag == "," else sql
        sql = f"rw_zero_filled({sql}, {directive.width})" if directive.flag == "0" else sql
    else:
        places = directive.places or 0
        if value.type != DOUBLE or places > _MOST_PLACES:
            e.refuse(node, f"{value.type} by %.{places}f")
        rounded = plain_cast(plain_cast(f"abs({value.sql})", STRING), decimal(MAX_PRECISION, places))
        sql = f"rw_fixed_double({value.sql}, CASE WHEN abs({value.sql}) < 9007199254740992 THEN {rounded} END)"
        sql = f"rw_grouped_number({sql})" if directive.flag == "," else sql
        null = string_literal("null"[:places])
    sql = f"coalesce({sql}, {null})"
    if directive.width and directive.flag != "0":
        return f"rw_wide({sql}, {directive.width}, {'true' if directive.flag == '-' else 'false'})"
    return f"rw_wide({sql}, {directive.width}, false)" if directive.width else sql


def _format_number(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``format_number(x, places)``, which rounds half to even."""
    first, second = e.arguments(node, 2)
    value, places = e.translate(first, scope), e.translate(second, scope)
    name = call("format_number", value.name, places.name)
    if value.type == VOID or (places.digits or 0) < 0:
        return Typed(plain_cast("NULL", STRING), STRING, name)
    if places.digits is None or places.digits > _MOST_PLACES:
        e.refuse(node, "FORMAT_NUMBER to other than a literal number of digits")
    zeros = f"'{'.' * (places.digits > 0)}{'0' * places.digits}'"
    if value.type.is_integer:
        return Typed(f"(rw_grouped({plain_cast(plain_cast(value.sql, BIGINT), STRING)}) || {zeros})", STRING, name)
    if value.type == DOUBLE and places.digits <= _MOST_DOUBLE_PLACES:
        format = string_literal(f"{{:,.{places.digits}f}}")
        return Typed(f"rw_format_double({value.sql}, {format}, {places.digits})", STRING, name)
    if not value.type.is_decimal:
        e.refuse(node, f"FORMAT_NUMBER of {value.type}")
    return Typed(_grouped_decimal(value, places.digits, zeros), STRING, name)


def _grouped_decimal(value: Typed, places: int, zeros: str) -> str:
    """Returns a decimal rounded half to even. A negative one keeps its sign, even if its digits are zeros."""
    scale = value.type.scale
    digits = f"rw_unscaled({value.sql})"
    if scale > places:
        digits = f"rw_even_quotient({digits}, CAST('1{'0' * (scale - places)}' AS HUGEINT))"
        scale = places
    text = f"rw_scaled(abs({digits}), {scale})" if scale else plain_cast(f"abs({digits})", STRING)
    filled = "" if places == scale else f" || '{'.' * (scale == 0)}{'0' * (places - scale)}'"
    return f"(CASE WHEN {value.sql} < 0 THEN '-' ELSE '' END || rw_grouped_number({text}){filled})"


FUNCTIONS = functions(
    "Strings",
    ("format_string('format', x, …)", _format_string, "other than `%s %d %.nf %%` with a width, `-`, `0` or `,`"),
    ("printf('format', x, …)", _format_string, "as FORMAT_STRING"),
    ("format_number(x, places)", _format_number, "FLOAT; DOUBLE of more than 15 digits, when it occurs; a format"),
)
