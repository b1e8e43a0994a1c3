"""SQL's three-valued logic on plain values: the meaning of a partition filter, without keys and scans."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from rewriter.grammar import filters as f
from rewriter.grammar.terms import Literal

#: By type: canonical texts of partitions, and literals as (kind, text) that filters name.
NUMBERS = [("number", n) for n in ("-3", "-1", "0", "1", "2", "5", "1.5", "-0.0", "300", "99999999999", "2e0", "1.0")]
DOMAINS: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "tinyint": (["-128", "-1", "0", "1", "2", "5", "127"], NUMBERS),
    "smallint": (["-32768", "-1", "0", "1", "2", "300", "32767"], NUMBERS),
    "int": (["-2147483648", "-1", "0", "1", "2", "255", "2147483647"], [*NUMBERS, ("string", "01"), ("number", "255")]),
    "bigint": (["-1", "0", "1", "2", "99999999999", str(2**63 - 1)], [*NUMBERS, ("number", str(2**63))]),
    "decimal(6,2)": (["-1.00", "0.00", "1.00", "1.50", "2.00", "9999.99"], [*NUMBERS, ("number", "1.505")]),
    "double": (["-Infinity", "-1.0", "0.0", "1.5", "2.0", "Infinity", "NaN"], [*NUMBERS, ("string", "NaN")]),
    "float": (["-1.0", "0.0", "0.1", "1.5", "3.0", "NaN"], [*NUMBERS, ("number", "0.1"), ("number", "0.1F")]),
    "string": (
        ["a", "ab", "b", "A%", "é", "z\x01", "\x01", "10", "2"],
        [("string", t) for t in ("", "a", "ab", "é", "b")],
    ),
    "varchar(4)": (["a", "ab", "b ", "abcd"], [("string", t) for t in ("", "a", "ab", "b ", "abcde")]),
    "char(3)": (["a  ", "ab ", "abc", "é  "], [("string", t) for t in ("a", "ab  ", "abc", "abcd", "ab\t", "")]),
    "date": (
        ["0001-01-01", "1969-12-31", "2020-01-02", "9999-12-31"],
        [("date", "2020-1-2"), ("string", "1970-01-01")],
    ),
    "timestamp": (
        ["1969-12-31 23:59:59.5", "2020-01-02 00:00:00", "2020-01-02 10:00:00"],
        [("timestamp", "2020-01-02 10:00:00"), ("date", "2020-01-02"), ("string", "2020-01-02 00:00:00.000001")],
    ),
    "boolean": (["false", "true"], [("boolean", "true"), ("boolean", "false"), ("string", "t")]),
}


def value(type: str, text: str | None) -> Any:
    """Returns a partition value as a value that compares as its type does; ``None`` for NULL."""
    if text is None:
        return None
    if type in ("double", "float"):
        return _float(text, type)
    if type == "date":
        return date.fromisoformat(text)
    if type == "timestamp":
        return datetime.fromisoformat(text)
    if type == "boolean":
        return text == "true"
    if type.startswith("char"):
        return _padded(text)
    return text if type.startswith(("string", "varchar")) else Decimal(text)


def literal_value(type: str, literal: Literal) -> Any:
    """Returns the same for a literal of ``DOMAINS``."""
    if literal.kind == "null":
        return None
    if type in ("double", "float"):
        return _float(literal.text.rstrip("F"), "float" if literal.text.endswith("F") else "double")
    if literal.kind == "date" or type == "date":
        year, month, day = map(int, literal.text.split("-"))
        return (date if type == "date" else datetime)(year, month, day)
    if type == "timestamp":
        return datetime.fromisoformat(literal.text)
    if type == "boolean":
        return literal.text in ("true", "t")
    if type.startswith("char"):
        return _padded(literal.text)
    return literal.text if type.startswith(("string", "varchar")) else Decimal(literal.text)


def _padded(text: str) -> str:
    """Pads a CHAR: it compares as if blanks followed without end."""
    return text.ljust(100)


def _float(text: str, type: str) -> tuple[bool, float]:
    """Returns a float for which NaN is greater than all numbers, and equal to itself."""
    import struct

    number = float(text.replace("Infinity", "inf"))
    if math.isnan(number):
        return True, 0.0
    return False, struct.unpack(">f", struct.pack(">f", number))[0] if type == "float" and abs(
        number
    ) < 1e30 else number


def truth(tree: f.Filter, types: dict[str, str], row: dict[str, str | None]) -> bool | None:
    """Returns TRUE, FALSE or NULL for a row of canonical texts."""
    if isinstance(tree, f.Not):
        inner = truth(tree.operand, types, row)
        return None if inner is None else not inner
    if isinstance(tree, f.And | f.Or):
        parts = [truth(operand, types, row) for operand in tree.operands]
        decisive = isinstance(tree, f.Or)
        return decisive if decisive in parts else None if None in parts else not decisive
    type, text = types[tree.column], row[tree.column]
    if isinstance(tree, f.IsNull):
        return text is None
    if isinstance(tree, f.Like):
        return None if text is None else _like(tree.pattern.text, text)
    mine = value(type, text)
    if isinstance(tree, f.Comparison):
        return _compare(mine, tree.op, literal_value(type, tree.value))
    if isinstance(tree, f.Between):
        low = _compare(mine, ">=", literal_value(type, tree.low))
        high = _compare(mine, "<=", literal_value(type, tree.high))
        return False if False in (low, high) else None if None in (low, high) else True
    truths = [_compare(mine, "=", literal_value(type, listed)) for listed in tree.values]
    return True if True in truths else None if None in truths else False


def _compare(left: Any, op: str, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    return {
        "=": left == right,
        "<>": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[op]


def _like(pattern: str, text: str) -> bool:
    regex, position = "", 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            position += 1
            regex += re.escape(pattern[position])
        else:
            regex += {"%": ".*", "_": "."}.get(char, re.escape(char))
        position += 1
    return re.fullmatch(regex, text, re.DOTALL) is not None
