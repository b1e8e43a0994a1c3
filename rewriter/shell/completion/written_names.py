"""Names and values as a completion writes them: always one identifier or one literal, without control characters."""

from __future__ import annotations

import re
from collections.abc import Container

from rewriter.terminal_text import printable

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TO_ESCAPE = re.compile(r"[\\'\"\x00-\x1f]")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_TEXT_TYPES = ("string", "varchar", "char")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")

#: The words that a query cannot use as a name without backquotes: for Spark, for sqlglot, or for a reader.
RESERVED = frozenset(
    (
        "ALL ALTER ANALYZE AND ANTI ANY ARRAY AS ASC ASOF BETWEEN BOTH BY CASE CAST COLLATE CONSTRAINT CREATE "
        "CROSS CUBE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DESC DESCRIBE DISTINCT "
        "DISTRIBUTE DIV DROP ELSE END EXCEPT EXISTS EXPLAIN EXTRACT FALSE FETCH FOR FOREIGN FROM FULL GLOB "
        "GRANT GROUP GROUPING HAVING IF ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN LATERAL LEADING "
        "LEFT LIKE LIMIT LOCK MAP MINUS NATURAL NOT NOTNULL NULL OFFSET ON OR ORDER OUTER OVER OVERWRITE "
        "PARTITION PARTITIONED_BY PIVOT QUALIFY REGEXP RETURNING REVOKE RIGHT RLIKE ROLLBACK ROLLUP SELECT "
        "SEMI SERDEPROPERTIES SESSION_USER SET SETMINUS SOME SORT STRAIGHT_JOIN STRUCT TABLE TABLESAMPLE THEN "
        "TO TRAILING TRUE UNCACHE UNION UNIQUE UNPIVOT USING VALUES WHEN WHERE WINDOW WITH XOR"
    ).split()
)


def can_be_typed(name: str) -> bool:
    """Tests whether a name has only characters that a terminal shows as they are."""
    return bool(name) and "\n" not in name and "\t" not in name and printable(name) == name


def written_name(name: str, reserved: Container[str] = RESERVED, *, quoted: bool = False) -> str:
    """Returns the name as one identifier, in backquotes where it needs them, or where one was typed.

    ``reserved`` are the words, in upper case, that are no names in that place.
    """
    if not quoted and _PLAIN.fullmatch(name) and name.upper() not in reserved:
        return name
    return "`" + name.replace("`", "``") + "`"


def written_string(value: str, quote: str = "'") -> str:
    r"""Returns the value as a string literal on one line. Characters that a terminal acts on become ``\u001b``."""
    return quote + printable(_TO_ESCAPE.sub(lambda hit: _escaped(hit[0], quote), value)) + quote


def _escaped(char: str, quote: str) -> str:
    if char in "'\"":
        return f"\\{char}" if char == quote else char
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}"


def written_literal(value: str, type_: str) -> str:
    """Returns a partition value as a literal of its column's type."""
    name = type_.partition("(")[0].lower()
    if name in ("date", "timestamp"):
        return f"{name.upper()} {written_string(value)}"
    if name == "boolean" and value.lower() in ("true", "false"):
        return value.upper()
    if name in _NUMBERS and _NUMBER.fullmatch(value):
        return value
    return written_string(value)
