"""Rows as text: an aligned table, CSV, JSON lines or Markdown. The same rows give the same text everywhere.

Values are written as Spark writes them: NULL, true, ``2013-01-29 06:00:00`` (UTC). In CSV, NULL is an empty field.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal

#: What Spark calls the column of SHOW CREATE.
_STATEMENT = "createtab_stmt"

FORMATS = ("table", "csv", "json", "markdown")

Row = Sequence[object]


def rendered(names: Sequence[str], rows: Iterable[Row], form: str) -> Iterator[str]:
    """Lines of text, without line breaks at their ends. CSV and JSON stream; the others need all rows at once."""
    if form == "csv":
        return _csv(names, rows)
    if form == "json":
        return _json(names, rows)
    if form == "markdown":
        return _markdown(names, rows)
    return _table(names, rows)


def text_of(value: object) -> str:
    """A value as it stands in a table."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict | list | tuple):
        return json.dumps(_plain(value), ensure_ascii=False)
    return str(value)


def _instant(value: datetime) -> str:
    text = value.replace(tzinfo=None).isoformat(sep=" ")
    return text.rstrip("0") if value.microsecond else text


def _float(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _cell(value: object) -> str:
    """A value on one line: control characters as escapes."""
    text = text_of(value)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _ESCAPES.get(char, f"\\u{ord(char):04x}") for char in text)


def width(text: str) -> int:
    """Columns that the text takes in a terminal: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _table(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """Numbers to the right, all else to the left; a line below the header."""
    values = [tuple(row) for row in rows]
    if list(names) == [_STATEMENT]:
        # To be read and copied, not to be aligned.
        yield from (_cell(line) for (text,) in values for line in str(text).split("\n"))
        return
    cells = [[_cell(value) for value in row] for row in values]
    header = [_cell(name) for name in names]
    widths = [max(map(width, column), default=0) for column in zip(header, *cells, strict=True)]
    right = [_is_numeric([row[i] for row in values]) for i in range(len(header))]
    yield _line(header, widths, right)
    yield "-+-".join("-" * one for one in widths)
    for row in cells:
        yield _line(row, widths, right)


def _is_numeric(column: Sequence[object]) -> bool:
    found = [value for value in column if value is not None]
    return bool(found) and all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in found)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [
        " " * (size - width(cell)) + cell if to_right else cell + " " * (size - width(cell))
        for cell, size, to_right in zip(cells, widths, right, strict=True)
    ]
    return " | ".join(padded).rstrip()


def _markdown(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    values = [tuple(row) for row in rows]
    right = [_is_numeric([row[i] for row in values]) for i in range(len(names))]
    yield "| " + " | ".join(map(_markdown_cell, names)) + " |"
    yield "| " + " | ".join("---:" if one else "---" for one in right) + " |"
    for row in values:
        yield "| " + " | ".join(map(_markdown_cell, row)) + " |"


def _markdown_cell(value: object) -> str:
    return _cell(value).replace("|", "\\|")


def _csv(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    yield _csv_line(names)
    for row in rows:
        yield _csv_line(["" if value is None else text_of(value) for value in row])


def _csv_line(cells: Sequence[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(cells)
    return buffer.getvalue()


def _json(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """One object a line. A name that stands twice is numbered: ``a``, ``a_2``."""
    unique = _numbered(names)
    for row in rows:
        values = {name: _plain(value) for name, value in zip(unique, row, strict=True)}
        yield json.dumps(values, ensure_ascii=False, allow_nan=False)


def _numbered(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return found


def _plain(value: object) -> object:
    """A value as JSON has it; what JSON has not (decimals, instants, NaN) is text, so that no digit is lost."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        text = _float(value)
        return value if text[-1].isdigit() else text
    if isinstance(value, date | bytes | Decimal):
        return text_of(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value)
