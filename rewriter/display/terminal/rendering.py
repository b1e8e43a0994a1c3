r"""Rows as text: an aligned table, one value a line, CSV, TSV, JSON or Markdown. The same rows give the same text
everywhere.

Values are written as Spark writes them: NULL, true, ``2013-01-29 06:00:00`` (UTC). In CSV, NULL is an empty field
and the empty string is ``""``; in TSV, NULL is ``\N``, and tabs, line ends and backslashes are escapes, as PostgreSQL
writes them. Characters that a terminal acts on are escapes in tables, vertical rows, Markdown and JSON; CSV and TSV
are unchanged data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Self

from rewriter.display.terminal.formats import FORMATS as FORMATS
from rewriter.display.terminal.formats import RAW_FORMATS as RAW_FORMATS
from rewriter.display.terminal.spooled_rows import SpooledRows
from rewriter.terminal_text import printable, width

#: Spark's name of the column of SHOW CREATE.
STATEMENT = "createtab_stmt"

Row = Sequence[object]


def rendered(
    names: Sequence[str], rows: Iterable[Row], form: str, null: str | None = None, longest: int | None = None
) -> Iterator[str]:
    r"""Returns lines of text, without line breaks at their ends. Tables and Markdown take all rows before the first
    line; the others stream. All hold a bounded number of bytes.

    ``null`` is the text of NULL: ``NULL`` by default; ``\N`` in TSV; nothing at all in CSV, where a string of that text
    is quoted. JSON has its own null. In vertical rows, cells of more than ``longest`` characters are cut.
    """
    if form == "csv":
        return _csv(names, rows, null or "")
    if form == "tsv":
        return _tsv(names, rows, "\\N" if null is None else null)
    if form == "json":
        return _json(names, rows)
    if form == "jsonl":
        return _json_lines(names, rows)
    shown_null = "NULL" if null is None else null
    if form == "vertical":
        return _vertical(names, rows, shown_null, longest)
    return _markdown(names, rows, shown_null) if form == "markdown" else _table(names, rows, shown_null)


def text_of(value: object) -> str:
    """Returns the text of a value in a table."""
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
        return json.dumps(_json_value(value), ensure_ascii=False)
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


def _cell(value: object, null: str = "NULL", longest: int | None = None) -> str:
    """Returns a value on one line: control characters become escapes. A text longer than ``longest`` is cut."""
    text = null if value is None else text_of(value)
    if longest is not None and len(text) > longest:
        text = f"{text[:longest]}…"
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _ESCAPES.get(char, f"\\u{ord(char):04x}") for char in text)


class Layout:
    """The cells of all rows and the widths of their columns, in bounded memory. Close it.

    Cells of more than ``longest`` characters are cut.
    """

    def __init__(
        self, names: Sequence[str], rows: Iterable[Row], null: str = "NULL", longest: int | None = None
    ) -> None:
        self._header = [_cell(name) for name in names]
        self._widths = [width(name) for name in self._header]
        #: Of each column, whether it has a value, and whether it has a value that is no number.
        self._has_values, self._has_others = ([False] * len(self._header) for _ in range(2))
        self._cells = SpooledRows(self._row(row, null, longest) for row in rows)

    def _row(self, row: Row, null: str, longest: int | None) -> list[str]:
        cells = [_cell(value, null, longest) for value in row]
        for index, (value, cell) in enumerate(zip(row, cells, strict=True)):
            self._widths[index] = max(self._widths[index], width(cell))
            if value is not None:
                self._has_values[index] = True
                self._has_others[index] |= not _is_number(value)
        return cells

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cells.__exit__()

    @property
    def width(self) -> int:
        """The columns of a terminal that the table takes."""
        return sum(self._widths) + 3 * max(len(self._widths) - 1, 0)

    @property
    def _right(self) -> list[bool]:
        return [some and not others for some, others in zip(self._has_values, self._has_others, strict=True)]

    def table(self) -> Iterator[str]:
        """Yields the lines of a table: numbers to the right, all else to the left, with a line below the header."""
        yield _line(self._header, self._widths, self._right)
        yield "-+-".join("-" * column_width for column_width in self._widths)
        for row in self._cells:
            yield _line(row, self._widths, self._right)

    def vertical(self) -> Iterator[str]:
        """Yields a line for each value, below a line for each row."""
        return _vertical_lines(self._header, self._cells)

    def markdown(self) -> Iterator[str]:
        yield "| " + " | ".join(map(_markdown_cell, self._header)) + " |"
        yield "| " + " | ".join("---:" if to_right else "---" for to_right in self._right) + " |"
        for row in self._cells:
            yield "| " + " | ".join(map(_markdown_cell, row)) + " |"


def _table(names: Sequence[str], rows: Iterable[Row], null: str) -> Iterator[str]:
    if list(names) == [STATEMENT]:
        # The statement is to be read and copied, so it is not aligned.
        yield from (_cell(line) for (text,) in rows for line in str(text).split("\n"))
        return
    with Layout(names, rows, null) as layout:
        yield from layout.table()


def is_numeric(column: Sequence[object]) -> bool:
    values = [value for value in column if value is not None]
    return bool(values) and all(map(_is_number, values))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [
        " " * (size - width(cell)) + cell if to_right else cell + " " * (size - width(cell))
        for cell, size, to_right in zip(cells, widths, right, strict=True)
    ]
    return " | ".join(padded).rstrip()


def _vertical(names: Sequence[str], rows: Iterable[Row], null: str, longest: int | None) -> Iterator[str]:
    cells = ([_cell(value, null, longest) for value in row] for row in rows)
    return _vertical_lines([_cell(name) for name in names], cells)


def _vertical_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    longest = max(map(width, header), default=0)
    for number, row in enumerate(rows, 1):
        yield f"-[ row {number} ]-".ljust(longest + 3, "-")
        for name, cell in zip(header, row, strict=True):
            yield f"{name}{' ' * (longest - width(name))} | {cell}".rstrip()


def _markdown(names: Sequence[str], rows: Iterable[Row], null: str) -> Iterator[str]:
    with Layout(names, rows, null) as layout:
        yield from layout.markdown()


def _markdown_cell(cell: str) -> str:
    return cell.replace("|", "\\|")


def _csv(names: Sequence[str], rows: Iterable[Row], null: str) -> Iterator[str]:
    yield ",".join(_csv_field(name, null) for name in names)
    for row in rows:
        yield ",".join(null if value is None else _csv_field(text_of(value), null) for value in row)


#: The characters that require quotes around a CSV field; some readers end a line at a lone carriage return.
_QUOTED_IN_CSV = re.compile('[,"\r\n]')


def _csv_field(text: str, null: str) -> str:
    """Returns a value that is not NULL, quoted where a reader would take it for NULL, or for more than one value."""
    if text and text != null and not _QUOTED_IN_CSV.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


_TSV_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def _tsv(names: Sequence[str], rows: Iterable[Row], null: str) -> Iterator[str]:
    yield "\t".join(name.translate(_TSV_ESCAPES) for name in names)
    for row in rows:
        yield "\t".join(null if value is None else text_of(value).translate(_TSV_ESCAPES) for value in row)


def _json(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """Yields one array of objects, one object a line."""
    line = "["
    for number, text in enumerate(_json_lines(names, rows)):
        if number:
            yield f"{line},"
            line = f" {text}"
        else:
            line += text
    yield f"{line}]"


def _json_lines(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """Yields one object a line. A name that occurs twice is numbered: ``a``, ``a_2``."""
    unique = _numbered(names)
    for row in rows:
        yield json_line({name: _json_value(value) for name, value in zip(unique, row, strict=True)})


def json_line(value: object) -> str:
    """Returns a value as JSON on one line. Escapes all characters that a terminal acts on, even where JSON does not."""
    return printable(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _numbered(names: Sequence[str]) -> list[str]:
    numbered: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in numbered:
            number += 1
            unique = f"{name}_{number}"
        numbered.append(unique)
    return numbered


def _json_value(value: object) -> object:
    """Returns a value as in JSON; types that JSON lacks (decimals, instants, NaN) become text, so that no digit is
    lost.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        text = _float(value)
        return value if text[-1].isdigit() else text
    if isinstance(value, date | bytes | Decimal):
        return text_of(value)
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return str(value)
