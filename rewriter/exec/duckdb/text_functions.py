"""Functions of texts that DuckDB lacks, or that it computes in another way than Spark."""

from __future__ import annotations

import binascii
import hashlib
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote_plus, unquote_to_bytes

#: A column of Arrow.
_Column = Any

_MOST_BASE = 36
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UNSIGNED = 1 << 64
#: Soundex: the code of each letter from A on. H and W (7) do not part two letters of one code; vowels (0) do.
_SOUNDEX = "01230127022455012623017202"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_CHARACTERS = r"(?:[A-Za-z0-9_.!~*'():@&=+$,;/-]|%[0-9A-Fa-f]{2})*"
#: URLs that java.net.URI reads in the same way as this pattern.
_URL = re.compile(
    rf"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>(?:(?P<userinfo>[A-Za-z0-9_.!~*'();:&=+$,-]*)@)?"
    rf"(?P<host>(?:{_LABEL}\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?|(?:(?:25[0-5]|2[0-4]\d|1?[1-9]?\d)\.){{3}}"
    rf"(?:25[0-5]|2[0-4]\d|1?[1-9]?\d))(?::\d{{1,5}})?)(?P<path>(?:/{_CHARACTERS})?)"
    rf"(?:\?(?P<query>(?:{_CHARACTERS[:-1]}|\?)*))?(?:#(?P<ref>(?:{_CHARACTERS[:-1]}|\?)*))?",
    re.ASCII,
)
_OTHER_BASE64 = re.compile("[^A-Za-z0-9+/=]+")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?")
_ESCAPE = re.compile("%(.{0,2})", re.DOTALL)
#: The kinds of characters that MASK replaces, by their general categories.
_MASKED = ("Lu", "Ll", "Nd")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def _mapped(function: Callable[..., Any], arrow_type: str, arity: int) -> Callable[..., _Column]:
    """Returns a function of columns that maps rows; a row with a NULL gives NULL. DuckDB counts its parameters."""

    def of_columns(*columns: _Column) -> _Column:
        import pyarrow as pa

        rows = zip(*(_values(column) for column in columns), strict=True)
        results = [None if None in row else function(*row) for row in rows]
        return pa.array(results, type=pa.type_for_alias(arrow_type))

    functions: dict[int, Callable[..., _Column]] = {
        1: lambda a: of_columns(a),
        2: lambda a, b: of_columns(a, b),
        3: lambda a, b, c: of_columns(a, b, c),
    }
    return functions[arity]


def _values(column: _Column) -> Iterator[Any]:
    for chunk in column.chunks:
        yield from chunk.to_pylist()


def _conv(text: str, from_base: int, to_base: int) -> str | None:
    """Returns a number's text in another base: of its leading digits, without a sign, in 64 bits."""
    digits = text.strip(" ")
    bases = range(2, _MOST_BASE + 1)
    if from_base not in bases or abs(to_base) not in bases or not digits:
        return None
    is_negative = digits.startswith("-")
    value = 0
    for character in digits[is_negative:]:
        digit = _DIGITS.find(character.upper()) if character.isascii() else -1
        if not 0 <= digit < from_base:
            break
        value = value * from_base + digit
        if value >= _UNSIGNED:
            raise ValueError(f"[ARITHMETIC_OVERFLOW] CONV of {text}: the number is too large for 64 bits.")
    is_high = value >= _UNSIGNED >> 1
    if is_negative and to_base > 0:
        value = _UNSIGNED - 1 if is_high else -value % _UNSIGNED
    if to_base < 0 and is_high:
        value, is_negative = _UNSIGNED - value, True
    shown = ""
    while value or not shown:
        value, digit = divmod(value, abs(to_base))
        shown = _DIGITS[digit] + shown
    return f"-{shown}" if is_negative and to_base < 0 else shown


def _soundex(text: str) -> str:
    """Returns the code of a text that begins with a letter of A to Z, and any other text as it is."""
    if not text or not (text[0].isascii() and text[0].isalpha()):
        return text
    code = text[0].upper()
    last = _SOUNDEX[ord(code) - ord("A")]
    for character in text[1:].encode():
        letter = chr(character).upper()
        if not "A" <= letter <= "Z":
            last = "0"
            continue
        digit = _SOUNDEX[ord(letter) - ord("A")]
        if digit == "7":
            continue
        if digit not in ("0", last):
            code += digit
            if len(code) == 4:
                break
        last = digit
    return code.ljust(4, "0")


def _crc32(value: bytes) -> int:
    return zlib.crc32(value)


def _sha2(value: bytes, bits: int) -> str:
    return hashlib.new(f"sha{bits}", value).hexdigest()


def _unhex(text: str) -> bytes | None:
    if not re.fullmatch("[0-9A-Fa-f]*", text, re.ASCII):
        return None
    return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")


def _url_encoded(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")


def _url_decoded(text: str) -> str:
    for match in _ESCAPE.finditer(text):
        if re.fullmatch("[0-9A-Fa-f]{2}", match[1]) is None:
            # Java reads the two characters as a number, which may have a sign or digits of other alphabets.
            if len(match[1]) == 2 and (not match[1].isascii() or match[1][0] in "+-"):
                raise ValueError(f"[DUCKDB_UNSUPPORTED] URL_DECODE of the text '{text}' is not supported on DuckDB.")
            raise ValueError(f"[CANNOT_DECODE_URL] The text {text} cannot be decoded as a part of a URL.")
    return _decoded(unquote_to_bytes(text.replace("+", " ")))


def _decoded(value: bytes) -> str:
    """Returns the text of bytes. Spark keeps those that are not UTF-8, or replaces some of them."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        shown = value[:50].hex().upper()
        raise ValueError(
            f"[DUCKDB_UNSUPPORTED] The bytes {shown}, which are not UTF-8, as a text are not supported on DuckDB."
        ) from None


def _from_base64(text: str) -> bytes:
    """Returns the bytes of a text of Base64. Other characters are passed over, and padding may lack."""
    digits = _OTHER_BASE64.sub("", text)
    if not _BASE64.fullmatch(digits):
        raise ValueError(f"[DUCKDB_UNSUPPORTED] UNBASE64 of the text '{text}' is not supported on DuckDB.")
    return binascii.a2b_base64(digits.rstrip("=") + "=" * (-len(digits.rstrip("=")) % 4))


def _luhn_check(text: str) -> bool:
    """Tests the check digit of a number, by the formula of Luhn."""
    if not re.fullmatch("[0-9]+", text, re.ASCII):
        if text and all(character.isdecimal() for character in text):
            raise ValueError(f"[DUCKDB_UNSUPPORTED] LUHN_CHECK of the text '{text}' is not supported on DuckDB.")
        return False
    digits = [int(digit) for digit in reversed(text)]
    return (sum(digits[::2]) + sum(digit * 2 - 9 * (digit > 4) for digit in digits[1::2])) % 10 == 0


def _masked(text: str, masks: str) -> str:
    """Replaces letters and digits. ``masks`` has the characters for upper-case and lower-case letters, digits and other
    characters; that of U+0000 stands for no replacement.
    """
    return "".join(_mask(character, masks) for character in text)


def _mask(character: str, masks: str) -> str:
    kind = unicodedata.category(character)
    # Releases of Java know letters of different releases of Unicode.
    if kind == "Cn" or (kind in _MASKED and unicodedata.ucd_3_2_0.category(character) != kind):
        raise ValueError(f"[DUCKDB_UNSUPPORTED] MASK of the character '{character}' is not supported on DuckDB.")
    mask = masks[_MASKED.index(kind)] if kind in _MASKED else masks[3]
    return character if mask == "\0" else mask


def _integer_bytes(digits: str) -> bytes:
    """Returns the fewest bytes of a whole number with its sign, the highest one first."""
    number = int(digits)
    size = number if number >= 0 else ~number
    return number.to_bytes(size.bit_length() // 8 + 1, "big", signed=True)


def _url_part(url: str, part: str) -> str | None:
    match = _URL.fullmatch(url)
    if match is None:
        raise ValueError(f"[DUCKDB_UNSUPPORTED] PARSE_URL of the text '{url}' is not supported on DuckDB.")
    if part == "FILE":
        query = match["query"]
        return match["path"] if query is None else f"{match['path']}?{query}"
    name = part.lower()
    return match[name] if name.upper() == part and name in _URL.groupindex else None


def _url_value(url: str, part: str, key: str) -> str | None:
    query = _url_part(url, "QUERY")
    if part != "QUERY" or query is None:
        return None
    if not _PLAIN_KEY.fullmatch(key):
        raise ValueError(f"[DUCKDB_UNSUPPORTED] PARSE_URL with the key '{key}' is not supported on DuckDB.")
    match = re.search(f"(?:&|^){key}=([^&]*)", query)
    return None if match is None else match[1]


#: The functions of DuckDB by name, with the types of their arguments and of their results.
OWN_TEXT_FUNCTIONS: dict[str, tuple[Callable[..., _Column], tuple[str, ...], str]] = {
    name: (_mapped(function, arrow_type, len(types)), types, returned)
    for name, function, types, returned, arrow_type in (
        ("rw_conv", _conv, ("VARCHAR", "INTEGER", "INTEGER"), "VARCHAR", "string"),
        ("rw_soundex", _soundex, ("VARCHAR",), "VARCHAR", "string"),
        ("rw_crc32", _crc32, ("BLOB",), "BIGINT", "int64"),
        ("rw_sha2", _sha2, ("BLOB", "INTEGER"), "VARCHAR", "string"),
        ("rw_unhex", _unhex, ("VARCHAR",), "BLOB", "binary"),
        ("rw_url_encoded", _url_encoded, ("VARCHAR",), "VARCHAR", "string"),
        ("rw_url_decoded", _url_decoded, ("VARCHAR",), "VARCHAR", "string"),
        ("rw_decoded", _decoded, ("BLOB",), "VARCHAR", "string"),
        ("rw_from_base64", _from_base64, ("VARCHAR",), "BLOB", "binary"),
        ("rw_luhn_check", _luhn_check, ("VARCHAR",), "BOOLEAN", "bool"),
        ("rw_masked", _masked, ("VARCHAR", "VARCHAR"), "VARCHAR", "string"),
        ("rw_integer_bytes", _integer_bytes, ("VARCHAR",), "BLOB", "binary"),
        ("rw_url_part", _url_part, ("VARCHAR", "VARCHAR"), "VARCHAR", "string"),
        ("rw_url_value", _url_value, ("VARCHAR", "VARCHAR", "VARCHAR"), "VARCHAR", "string"),
    )
}
