"""Hashes, codes and URLs, for the allow-list of ``expressions``. DuckDB calls functions in Python for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.exec.sql_types import BIGINT, BINARY, BOOLEAN, DATE, INT, STRING, TIMESTAMP, VOID, SqlType
from rewriter.exec.translate.casts import plain_cast, string_literal
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions

if TYPE_CHECKING:
    from sqlglot import exp

#: Spark's seed of the first argument.
_SEED = 42
_MOST_COLUMNS = 1000
#: The digits of a decimal that Spark hashes as a BIGINT.
_MOST_DIGITS = 18


def _hash(macro: str, type_: SqlType) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        sql = plain_cast(str(_SEED), type_)
        names = []
        for argument in e.arguments(node, 1, _MOST_COLUMNS):
            value = e.translate(argument, scope)
            names.append(value.name)
            if value.type == VOID:
                continue
            hashed = _hashed_value(value)
            if hashed is None:
                e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
            kind, hashed_sql = hashed
            sql = f"{macro}_of_{kind}({hashed_sql}, {sql})"
        return Typed(sql, type_, call(str(e.text.called(node)), *names))

    return translate


def _hashed_value(value: Typed) -> tuple[str, str] | None:
    """Returns the kind of a value that is hashed, and its SQL; ``None`` for a type that DuckDB does not hash."""
    if (value.type.is_integer and value.type != BIGINT) or value.type == BOOLEAN:
        return "ints", plain_cast(value.sql, INT)
    if value.type == BIGINT:
        return "longs", value.sql
    if value.type == DATE:
        return "ints", plain_cast(f"{value.sql} - DATE '1970-01-01'", INT)
    if value.type == TIMESTAMP:
        return "longs", f"epoch_us({value.sql})"
    if value.type.is_floating:
        return f"{value.type.name}s", value.sql
    if value.type == STRING:
        return "bytes", f"encode({value.sql})"
    if value.type == BINARY:
        return "bytes", value.sql
    if value.type.is_decimal and value.type.precision <= _MOST_DIGITS:
        return "longs", plain_cast(f"rw_unscaled({value.sql})", BIGINT)
    return None


def _of_bytes(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``crc32(s)``."""
    value = e.translate(e.arguments(node, 1)[0], scope)
    return Typed(f"rw_crc32({_bytes(e, value, node)})", BIGINT, call("crc32", value.name))


def _bytes(e: Expressions, value: Typed, node: exp.Expr) -> str:
    """Returns SQL for the bytes of a text or BINARY."""
    if value.type not in (STRING, BINARY, VOID):
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
    return value.sql if value.type == BINARY else f"encode({e.cast(value, STRING, node)})"


def _sha2(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``sha2(s, bits)``. There are 224, 256, 384 and 512 bits, and 0 for 256; otherwise it is NULL."""
    first, second = e.arguments(node, 2)
    value, bits = e.translate(first, scope), e.translate(second, scope)
    name = call("sha2", value.name, bits.name)
    if bits.type == VOID or (bits.digits is not None and bits.digits not in (0, 224, 256, 384, 512)):
        return Typed(plain_cast("NULL", STRING), STRING, name)
    if bits.digits is None:
        e.refuse(node, "SHA2 of a number of bits that is not a literal")
    if bits.digits in (0, 256):
        return Typed(f"sha256({_bytes(e, value, node)})", STRING, name)
    return Typed(f"rw_sha2({_bytes(e, value, node)}, {bits.digits})", STRING, name)


def _of_texts(function: str, argument_count: int, type_: SqlType = STRING) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        values = [e.translate(argument, scope) for argument in e.arguments(node, argument_count)]
        sql = f"{function}({', '.join(e.cast(value, STRING, node) for value in values)})"
        return Typed(sql, type_, call(str(e.text.called(node)), *(value.name for value in values)))

    return translate


def _parse_url(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    values = [e.translate(argument, scope) for argument in e.arguments(node, 2, 3)]
    texts = ", ".join(e.cast(value, STRING, node) for value in values)
    sql = f"{'rw_url_part' if len(values) == 2 else 'rw_url_value'}({texts})"
    return Typed(sql, STRING, call("parse_url", *(value.name for value in values)))


def _conv(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    number, *bases = (e.translate(argument, scope) for argument in e.arguments(node, 3))
    if any(not (base.type.is_integer and base.type != BIGINT) and base.type != VOID for base in bases):
        e.refuse(node, "CONV of bases other than INT")
    arguments = [e.cast(number, STRING, node), *(plain_cast(base.sql, INT) for base in bases)]
    name = call("conv", number.name, *(base.name for base in bases))
    return Typed(f"rw_conv({', '.join(arguments)})", STRING, name)


def _typeof(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(e.arguments(node, 1)[0], scope)
    return Typed(string_literal(str(value.type)), STRING, call("typeof", value.name), str(value.type))


_URLS = "URLs of other parts and characters than java.net.URI certainly reads alike, when they occur"
_REFUSED = "DECIMAL of more than 18 digits, ARRAY"
FUNCTIONS = functions(
    "Numbers",
    ("hash(a, b, …)", _hash("rw_murmur", INT), _REFUSED),
    ("xxhash64(a, b, …)", _hash("rw_xx", BIGINT), _REFUSED),
    ("conv(x, base, base)", _conv, "bases of BIGINT"),
    ("crc32(s)", _of_bytes),
    ("typeof(x)", _typeof),
)
TEXT_FUNCTIONS = functions(
    "Strings",
    ("sha2(s, bits)", _sha2, "a number of bits that is not a literal"),
    ("soundex(s)", _of_texts("rw_soundex", 1)),
    ("unhex(s)", _of_texts("rw_unhex", 1, BINARY)),
    ("url_encode(s)", _of_texts("rw_url_encoded", 1)),
    ("parse_url(url, part[, key])", _parse_url, _URLS),
)
