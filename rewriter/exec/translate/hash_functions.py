"""Hashes, codes and URLs, for the allow-list of ``expressions``. DuckDB calls functions in Python for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.exec.sql_types import BIGINT, BINARY, BOOLEAN, DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, SqlType
from rewriter.exec.translate.casts import field_sql, plain_cast, string_literal
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.nested_sql import with_values

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
            hashed = _hashed(macro, value.sql, value.type, sql)
            if "map" in value.type.leaves:
                message = f"{str(e.text.called(node)).upper()} takes no MAP: equal maps may have several hashes."
                e.text.wrong(message, "DATATYPE_MISMATCH.HASH_MAP_TYPE", "42K09", node)
            if hashed is None:
                e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
            sql = hashed
        return Typed(sql, type_, call(str(e.text.called(node)), *names))

    return translate


def _hashed(macro: str, sql: str, type_: SqlType, seed: str) -> str | None:
    """Returns SQL for the hash of a value; ``None`` for a type that DuckDB does not hash. The hash of each element of
    an array is the seed of the next one.
    """
    if type_ == VOID:
        return seed
    if type_.name == "struct":
        return _hashed_fields(macro, sql, type_, seed)
    if type_.element is not None:
        element = f"h{_depth(type_)}"
        hashed = _hashed(macro, element, type_.element, f"{element}a")
        if hashed is None:
            return None
        elements = f"coalesce({sql}, {plain_cast('[]', type_)})"
        return f"list_reduce({elements}, lambda {element}a, {element}: {hashed}, {seed})"
    hashed_value = _hashed_value(sql, type_)
    return None if hashed_value is None else f"{macro}_of_{hashed_value[0]}({hashed_value[1]}, {seed})"


def _hashed_fields(macro: str, sql: str, type_: SqlType, seed: str) -> str | None:
    """Returns SQL for the hash of a struct: that of each field is the seed of the next one. A NULL has no hash, and so
    has a struct whose fields all are NULL.
    """
    if any(_hashed(macro, "NULL", part, "NULL") is None for _, part in type_.parts):
        return None

    def fold(values: Mapping[str, str]) -> str:
        hashed = values["h"]
        for name, part in type_.parts:
            hashed = str(_hashed(macro, field_sql(values["v"], name), part, hashed))
        return hashed

    return with_values({"v": sql, "h": seed}, fold)


def _depth(type_: SqlType) -> int:
    """Returns a number that the types of the parts do not have."""
    return 1 + max((_depth(part) for _, part in type_.parts), default=-1)


def _hashed_value(sql: str, type_: SqlType) -> tuple[str, str] | None:
    """Returns the kind of a scalar that is hashed, and its SQL; ``None`` for a type that DuckDB does not hash."""
    if (type_.is_integer and type_ != BIGINT) or type_ == BOOLEAN:
        return "ints", plain_cast(sql, INT)
    if type_ == BIGINT:
        return "longs", sql
    if type_ == DATE:
        return "ints", plain_cast(f"{sql} - DATE '1970-01-01'", INT)
    if type_.is_interval:
        return "ints" if type_.is_month_interval else "longs", sql
    if type_ in (TIMESTAMP, TIMESTAMP_NTZ):
        return "longs", f"epoch_us({sql})"
    if type_.is_floating:
        return f"{type_.name}s", sql
    if type_ == STRING:
        return "bytes", f"encode({sql})"
    if type_ == BINARY:
        return "bytes", sql
    if type_.is_decimal and type_.precision <= _MOST_DIGITS:
        return "longs", plain_cast(f"rw_unscaled({sql})", BIGINT)
    if type_.is_decimal:
        return "bytes", f"rw_integer_bytes({plain_cast(f'rw_unscaled({sql})', STRING)})"
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


def _mask(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``mask(s[, upper[, lower[, digit[, other]]]])``. A replacement that is NULL replaces nothing."""
    first, *others = e.arguments(node, 1, 5)
    value, replacements = e.translate(first, scope), [e.translate(other, scope) for other in others]
    masks = [*(replacement.text for replacement in replacements), *"Xxn", None][: len(others)]
    masks += ["X", "x", "n", None][len(others) :]
    for other, replacement in zip(others, replacements, strict=True):
        text = replacement.text
        if replacement.type != VOID and (text is None or len(text) != 1 or not "\0" < text < "\ud800"):
            e.refuse(node, f"The replacement {e.text.shown(other)} in MASK")
    names = [*(replacement.name for replacement in replacements), *["X", "x", "n", "NULL"][len(others) :]]
    sql = f"rw_masked({e.cast(value, STRING, node)}, {_with_nul(masks)})"
    return Typed(sql, STRING, call("mask", value.name, *names))


def _with_nul(masks: Sequence[str | None]) -> str:
    """Returns SQL for a text of these characters, with U+0000 in place of ``None``."""
    return " || ".join("chr(0)" if mask is None else string_literal(mask) for mask in masks)


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
FUNCTIONS = functions(
    "Numbers",
    ("hash(a, b, …)", _hash("rw_murmur", INT)),
    ("xxhash64(a, b, …)", _hash("rw_xx", BIGINT)),
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
    ("url_decode(s)", _of_texts("rw_url_decoded", 1), "texts that are not UTF-8, when they occur"),
    ("unbase64(s)", _of_texts("rw_from_base64", 1, BINARY), "texts that are not Base64, when they occur"),
    ("luhn_check(s)", _of_texts("rw_luhn_check", 1, BOOLEAN), "digits of other alphabets, when they occur"),
    (
        "mask(s[, upper[, lower[, digit[, other]]]])",
        _mask,
        "replacements that are not literals of one character; letters of new releases of Unicode, when they occur",
    ),
    ("parse_url(url, part[, key])", _parse_url, _URLS),
)
