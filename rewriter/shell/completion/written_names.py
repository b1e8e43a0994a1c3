"""Names and values as a completion writes them: always one identifier or one literal, without control characters."""

from __future__ import annotations

import re

from rewriter.grammar.unparse import quote_name
from rewriter.terminal_text import printable

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TO_ESCAPE = re.compile(r"[\\'\"\x00-\x1f]")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_TEXT_TYPES = ("string", "varchar", "char")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")

#: The words that a query cannot use as a name without backquotes.
RESERVED = frozenset(
    (
        "ALL ALTER ANALYZE AND ANTI ANY ARRAY AS ASC AT BETWEEN BOTH BY CASE CAST COLLATE COLUMN CONSTRAINT "
        "CREATE CROSS CUBE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DELETE DESC DESCRIBE "
        "DISTINCT DISTRIBUTE DIV DROP ELSE END ESCAPE EXCEPT EXECUTE EXISTS EXPLAIN EXTRACT FALSE FETCH "
        "FILTER FOR FOREIGN FROM FULL GRANT GROUP GROUPING HAVING ILIKE IN INNER INSERT INTERSECT INTERVAL "
        "INTO IS JOIN LATERAL LEADING LEFT LIKE LIMIT MAP MERGE MINUS NATURAL NOT NULL OF OFFSET ON ONLY OR "
        "ORDER OUTER OVER OVERLAPS OVERWRITE PARTITION PIVOT PRIMARY QUALIFY REFERENCES REPLACE RIGHT RLIKE "
        "ROLLBACK ROLLUP SELECT SEMI SET SOME SORT STRUCT TABLE TABLESAMPLE THEN TO TRAILING TRUE TRUNCATE "
        "UNION UNIQUE UNKNOWN UNPIVOT UPDATE USE USER USING VALUES VIEW WHEN WHERE WINDOW WITH"
    ).split()
)


def can_be_typed(name: str) -> bool:
    """Tests whether a name has only characters that a terminal shows as they are."""
    return bool(name) and "\n" not in name and "\t" not in name and printable(name) == name


def written_name(name: str, *, in_query: bool, quoted: bool = False) -> str:
    """Returns the name as one identifier, in backquotes where it needs them, or where one was typed."""
    if not quoted and (is_plain(name) if in_query else quote_name(name) == name):
        return name
    return "`" + name.replace("`", "``") + "`"


def is_plain(name: str) -> bool:
    """Tests whether a query can use the name without backquotes."""
    return _PLAIN.fullmatch(name) is not None and name.upper() not in RESERVED


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
