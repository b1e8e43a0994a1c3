"""Names of Spark's types, and their canonical spelling."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from rewriter.errors import NotSupportedError, ParseError, Span

_CANONICAL = {
    "boolean": "boolean",
    "tinyint": "tinyint",
    "byte": "tinyint",
    "smallint": "smallint",
    "short": "smallint",
    "int": "int",
    "integer": "int",
    "bigint": "bigint",
    "long": "bigint",
    "float": "float",
    "real": "float",
    "double": "double",
    "decimal": "decimal",
    "dec": "decimal",
    "numeric": "decimal",
    "string": "string",
    "char": "char",
    "character": "char",
    "varchar": "varchar",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "variant": "variant",
    "void": "void",
}
_UNSUPPORTED = ("time", "interval", "geometry", "geography")
#: Types of other databases, each with the nearest type of Spark.
_OF_OTHER_DATABASES = {
    "bool": "boolean",
    "datetime": "timestamp",
    "double_precision": "double",
    "float8": "double",
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "text": "string",
    "timestamptz": "timestamp",
}
_NESTED = {"array": "ARRAY<INT>", "map": "MAP<STRING, INT>", "struct": "STRUCT<a: INT>"}
#: The maximum nesting depth of ARRAY, MAP and STRUCT in a column's type, so that other code may recurse.
MAX_DEPTH = 100
_DEPTHS = {"<": 1, ">": -1}
_COMMON = "string, int, bigint, double, decimal(10,2), boolean, date, timestamp"
_MAX_PRECISION = 38
_QUOTED = re.compile("`(?:[^`]|``)*`")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def scalar_type(name: str, sizes: Sequence[str], span: Span) -> str:
    """Returns Spark's spelling of a type that is typed as ``name`` or ``name(size, …)``: lower case, no blanks.

    ``INTEGER`` is ``int``, ``DEC(5)`` is ``decimal(5,0)``. Raises errors at ``span``, with Spark's conditions, for an
    unknown type, a missing or surplus size, and a size out of bounds.
    """
    lower = name.lower()
    canonical = _CANONICAL.get(lower)
    if canonical is None:
        raise _unknown(name, span)
    if any(not size.isdigit() for size in sizes):
        raise ParseError(f"A size of type {name} is not a whole number.", position=span, hint=f"Use one of {_COMMON}.")
    numbers = [int(size) for size in sizes]
    if canonical == "decimal":
        return _decimal(numbers, span)
    if canonical in ("char", "varchar"):
        if not numbers:
            raise ParseError(
                f"Type {name} needs a length.",
                condition="DATATYPE_MISSING_SIZE",
                sqlstate="42K01",
                position=span,
                hint=f"Write {canonical}(20), or string.",
            )
        if len(numbers) == 1:
            return f"{canonical}({numbers[0]})"
    elif not numbers:
        return canonical
    raise ParseError(
        f"Type {name} has too many sizes.",
        condition="UNSUPPORTED_DATATYPE",
        sqlstate="0A000",
        position=span,
        hint=f"Use one of {_COMMON}.",
    )


def check_type_name(name: str, span: Span) -> None:
    """Raises ``ParseError`` UNSUPPORTED_DATATYPE 0A000 if Spark has no type that begins with the word ``name``."""
    if name.lower() not in {*_CANONICAL, *_NESTED, *_UNSUPPORTED}:
        raise _unknown(name, span)


def struct_type(fields: Sequence[tuple[str, str]]) -> str:
    """Returns Spark's spelling of a struct; a field's name keeps its case and is quoted where it must be."""
    names = (name if _PLAIN.match(name) else "`" + name.replace("`", "``") + "`" for name, _ in fields)
    return f"struct<{','.join(f'{name}:{type_}' for name, (_, type_) in zip(names, fields, strict=True))}>"


def check_type_depth(type_: str, span: Span) -> None:
    """Raises ``NotSupportedError`` TYPE_TOO_DEEP beyond ``MAX_DEPTH``. Linear in the text."""
    if type_depth(type_) > MAX_DEPTH:
        raise NotSupportedError(
            f"The type is nested more than {MAX_DEPTH} levels deep.",
            condition="TYPE_TOO_DEEP",
            sqlstate="54001",
            position=span,
            hint="Store the deeper levels as a STRING of JSON.",
        )


def type_depth(type_: str) -> int:
    """Returns the nesting depth of ARRAY, MAP and STRUCT in a type in this module's spelling: 0 for a scalar."""
    depth = deepest = 0
    for piece in _QUOTED.sub("", type_):
        depth += _DEPTHS.get(piece, 0)
        deepest = max(deepest, depth)
    return deepest


def _decimal(numbers: Sequence[int], span: Span) -> str:
    precision, scale = (*numbers, *(10, 0)[len(numbers) :])[:2]
    if len(numbers) > 2:
        raise ParseError("Type decimal has a precision and a scale.", position=span, hint="Write decimal(10,2).")
    if not 0 < precision <= _MAX_PRECISION:
        raise ParseError(
            f"Decimal precision {precision} is not between 1 and {_MAX_PRECISION}.",
            condition="DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
            sqlstate="22003",
            position=span,
            hint=f"Write at most decimal({_MAX_PRECISION},…).",
        )
    if scale > precision:
        raise ParseError(
            f"Decimal scale {scale} exceeds its precision {precision}.",
            condition="DECIMAL_SCALE_EXCEEDS_PRECISION",
            sqlstate="22003",
            position=span,
            hint="The scale is the number of digits after the decimal point; the precision is the total "
            "number of digits.",
        )
    return f"decimal({precision},{scale})"


def _unknown(name: str, span: Span) -> ParseError | NotSupportedError:
    lower = name.lower()
    if lower in _UNSUPPORTED:
        return NotSupportedError(f"Type {name} is not supported yet.", position=span, hint=f"Use one of {_COMMON}.")
    if lower in _NESTED:
        return ParseError(
            f"Type {name} needs element types.",
            condition=f"INCOMPLETE_TYPE_DEFINITION.{lower.upper()}",
            sqlstate="42K01",
            position=span,
            hint=f"Write {_NESTED[lower]}.",
        )
    near = (
        [_OF_OTHER_DATABASES[lower]]
        if lower in _OF_OTHER_DATABASES
        else difflib.get_close_matches(lower, _CANONICAL, 1)
    )
    return ParseError(
        f"Unsupported data type '{name}'.",
        condition="UNSUPPORTED_DATATYPE",
        sqlstate="0A000",
        position=span,
        hint=f"Did you mean {near[0].upper()}?" if near else f"Use one of {_COMMON}.",
    )
