"""Spark's casts of literals to partition values: literal → text → canonical text of the type.

The casts are Spark 4.3's in ANSI mode, in UTC. They are refused if Spark would drop part of the value: a time of day in
a DATE, decimals beyond a DECIMAL's scale, digits beyond microseconds, numbers that overflow to infinity. Years are
1–9999.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal, localcontext

from rewriter.catalog.keys.java_floats import java_double, java_float, nearest_float
from rewriter.catalog.keys.types import INTEGER_WIDTHS, PartitionType
from rewriter.errors import DataError

_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>[0-9]+)(?P<point>\.(?P<fraction>[0-9]*))?|\.(?P<only>[0-9]+))"
    r"(?P<exponent>[eE][+-]?[0-9]+)?(?P<suffix>L|S|Y|BD|D|F)?",
    re.IGNORECASE,
)
_SUFFIX_WIDTHS = {"Y": 1, "S": 2, "L": 8}
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,38}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,60}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_SPECIAL_FLOATS = {"inf": "Infinity", "infinity": "Infinity", "nan": "NaN"}
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_TIMESTAMP = re.compile(
    r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[T ]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{0,9}))?"
    r"\s*(Z|UTC|GMT|[+-][0-9]{1,2}(?::[0-9]{1,2})?)?)?)?)?)?"
)
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
#: The characters that Spark trims around everything but strings: blanks and control characters.
_TRIMMED = "".join(map(chr, range(0x21))) + "\x7f"


def literal_text(kind: str, text: str) -> str:
    """Returns the text that Spark makes of a literal before the cast to the column's type: ``007`` is ``7``.

    Raises ``DataError`` for an invalid literal: ``300Y``, ``DATE '2015-02-30'``.
    """
    if kind == "number":
        return _number_text(text)
    if kind == "boolean":
        return text.lower()
    if kind in ("date", "timestamp"):
        return _typed_text(kind, text)
    return text


def cast_text(kind: PartitionType, text: str) -> str:
    """Returns the canonical text of ``text`` cast to the type. Raises ``DataError`` if there is none."""
    if kind.name in ("string", "char", "varchar"):
        return _string(kind, text)
    caster = _integer if kind.name in INTEGER_WIDTHS else _CASTERS[kind.name]
    return caster(kind, text.strip(_TRIMMED))


def _malformed(kind: PartitionType, text: str, hint: str) -> DataError:
    return DataError(f"the value '{text}' cannot be cast to {kind} because it is malformed", hint=hint)


def _typed_text(kind: str, text: str) -> str:
    try:
        return cast_text(PartitionType(kind), text)
    except DataError as error:
        raise DataError(
            f"the value of the literal {kind.upper()} '{text}' is invalid",
            condition="INVALID_TYPED_LITERAL",
            sqlstate="42604",
            hint=error.hint,
        ) from None


def _literal_range(text: str, kind: str) -> DataError:
    return DataError(
        f"the number {text} is outside the range of {kind.upper()}",
        condition="INVALID_NUMERIC_LITERAL_RANGE",
        sqlstate="22003",
        hint="Remove the suffix, or correct the number.",
    )


def _number_text(text: str) -> str:
    if _WHOLE_NUMBER.fullmatch(text) is not None:
        return str(int(text))
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise DataError(f"'{text}' is not a number", hint="Write digits, as in -12.5.")
    suffix = (match["suffix"] or "").upper()
    bare = text.strip()[: match.start("suffix")] if suffix else text.strip()
    if suffix in ("D", "F") or (match["exponent"] and suffix != "BD"):
        kind = "float" if suffix == "F" else "double"
        try:
            return cast_text(PartitionType(kind), bare)
        except DataError:
            raise _literal_range(text, kind) from None
    with localcontext() as context:
        context.prec = 80
        number = Decimal(bare)
        if len(number.as_tuple().digits) > 38 or abs(number.adjusted()) > 60:
            raise DataError(
                f"the number {text} has more than 38 digits",
                condition="DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
                sqlstate="22003",
                hint="Write at most 38 digits, or a string.",
            )
        # A decimal zero has no sign, as in Java.
        plain = f"{number if number else abs(number):f}"
    if suffix in _SUFFIX_WIDTHS:
        bound = 1 << (8 * _SUFFIX_WIDTHS[suffix] - 1)
        if "." in plain or not -bound <= int(plain) < bound:
            raise _literal_range(text, {"Y": "tinyint", "S": "smallint", "L": "bigint"}[suffix])
    return plain


def _string(kind: PartitionType, text: str) -> str:
    if (not text.isascii() and not _encodable(text)) or "\x00" in text:
        raise DataError(
            "a partition value cannot contain the character NUL or half of a surrogate pair",
            condition="INVALID_PARTITION_SPEC",
            sqlstate="42601",
            hint="Partition names are paths: remove the character, or write hex(…) of the value.",
        )
    if not kind.length:
        return text
    if len(text) > kind.length:
        if text[kind.length :].strip(" "):
            raise DataError(
                f"'{text}' exceeds the length limitation of {kind}",
                condition="EXCEED_LIMIT_LENGTH",
                sqlstate="54006",
                hint=f"Write at most {kind.length} characters; trailing blanks are not counted.",
            )
        text = text[: kind.length]
    return text.ljust(kind.length) if kind.name == "char" else text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _integer(kind: PartitionType, text: str) -> str:
    if _INTEGER.fullmatch(text) is None:
        raise _malformed(kind, text, "Write a whole number.")
    number, bound = int(text), 1 << (8 * INTEGER_WIDTHS[kind.name] - 1)
    if not -bound <= number < bound:
        raise DataError(
            f"the value '{text}' cannot be cast to {kind} because it is out of range",
            hint=f"{kind} holds {-bound} to {bound - 1}.",
        )
    return str(number)


def _decimal(kind: PartitionType, text: str) -> str:
    if _DECIMAL.fullmatch(text) is None:
        raise _malformed(kind, text, "Write a number, as in 12.5.")
    with localcontext() as context:
        context.prec = 200
        number = Decimal(text)
        if number and number.adjusted() >= kind.precision - kind.scale:
            raise DataError(
                f"the value '{text}' does not fit {kind}",
                condition="NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
                sqlstate="22003",
                hint=f"{kind} has {kind.precision - kind.scale} digits before the decimal point.",
            )
        scaled = number.quantize(Decimal(1).scaleb(-kind.scale))
        if scaled != number:
            raise DataError(
                f"the value '{text}' has more decimal places than {kind}",
                condition="NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION",
                sqlstate="22003",
                hint=f"Round it yourself, as in {scaled:f}; a partition value is never rounded silently.",
            )
        return f"{scaled if scaled else abs(scaled):f}"


def _date(kind: PartitionType, text: str) -> str:
    match = _DATE.fullmatch(text)
    if match is None:
        has_time = _DATE.match(text) is not None and re.match(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[ T]", text)
        raise _malformed(kind, text, "A DATE has no time of day; remove it." if has_time else "Write it as 2015-01-29.")
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1)).isoformat()
    except ValueError as error:
        raise _malformed(kind, text, f"{str(error).capitalize()}.") from error


def _timestamp(kind: PartitionType, text: str) -> str:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise _malformed(
            kind, text, "Write it as 2015-01-29 06:30:15, with Z or an offset such as +02:00 if it is not in UTC."
        )
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    digits = (fraction or "").ljust(6, "0")
    if digits[6:].strip("0"):
        raise _malformed(kind, text, "Timestamps have microseconds: at most six digits.")
    try:
        moment = datetime(int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0))
        moment -= _offset(zone)
    except (ValueError, OverflowError) as error:
        raise _malformed(kind, text, f"{str(error).capitalize()}.") from error
    tail = digits[:6].rstrip("0")
    return moment.isoformat(" ") + (f".{tail}" if tail else "")


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone in ("Z", "UTC", "GMT"):
        return timedelta()
    hours, _, minutes = zone[1:].partition(":")
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    if offset > timedelta(hours=18) or int(minutes or 0) > 59:
        raise ValueError("an offset must be between -18:00 and +18:00")
    return -offset if zone[0] == "-" else offset


def _boolean(kind: PartitionType, text: str) -> str:
    word = text.lower()
    if word not in _TRUE | _FALSE:
        raise _malformed(kind, text, "Write true or false.")
    return "true" if word in _TRUE else "false"


def _double(kind: PartitionType, text: str) -> str:
    return _special(text) or java_double(_finite(kind, text, float))


def _float(kind: PartitionType, text: str) -> str:
    return _special(text) or java_float(_finite(kind, text, nearest_float))


def _special(text: str) -> str | None:
    word = _SPECIAL_FLOATS.get(text.lstrip("+-").lower()) if text[:2] not in ("++", "--", "+-", "-+") else None
    return f"-{word}" if word == "Infinity" and text.startswith("-") else word


def _finite(kind: PartitionType, text: str, read: Callable[[str], float]) -> float:
    # Java reads '1.5f' and '1.5d', too.
    bare = text[:-1] if text[-1:] in ("f", "F", "d", "D") else text
    if _DECIMAL.fullmatch(bare) is None:
        raise _malformed(kind, text, "Write a number, as in 12.5, or NaN, Infinity or -Infinity.")
    number = read(bare)
    if number in (float("inf"), float("-inf")):
        raise DataError(
            f"the value '{text}' cannot be cast to {kind} due to an overflow",
            condition="CAST_OVERFLOW",
            sqlstate="22003",
            hint="Write Infinity or -Infinity if you mean that.",
        )
    return number


_CASTERS: dict[str, Callable[[PartitionType, str], str]] = {
    "decimal": _decimal,
    "date": _date,
    "timestamp": _timestamp,
    "boolean": _boolean,
    "double": _double,
    "float": _float,
}
