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
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Self

from rewriter.display.terminal import FORMATS as FORMATS
from rewriter.display.terminal import RAW_FORMATS as RAW_FORMATS
from rewriter.display.terminal.spooled_rows import SpooledRows
from rewriter.runtime.result import python_values
from rewriter.terminal_text import printable, width

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.runtime.result import Result


#: Spark's name of the column of SHOW CREATE.
STATEMENT = "createtab_stmt"

Row = Sequence[object]


def render_lines(
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


def envelope_lines(result: Result, rows: Iterable[Row], count: Callable[[], int]) -> Iterator[str]:
    """Yields the lines of one object: ``columns`` with name and type, ``rows`` as in JSON, their number, what a result
    over cubes carries beside its rows (``Result.metadata``), notes and warnings. ``rows`` are the rows of the result,
    and ``count`` returns how many of them were taken.
    """
    columns = result.columns or ()
    head = json_line([{"name": column.name, "type": column.type} for column in columns])
    yield f'{{"columns": {head},'
    lines = _json([column.name for column in columns], rows)
    yield f'"rows": {next(lines)}'
    yield from lines
    tail = {"row_count": count(), **result.metadata(), "notes": list(result.coverage.notes)}
    for name, value in (*tail.items(), ("warnings", list(result.warnings))):
        yield f', "{name}": {json_line(value)}'
    yield "}"


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


# CSV and TSV of Arrow batches, column by column: the text of ``rendering``, in a tenth of the time.
#
# Values whose text Arrow writes otherwise (huge and tiny floats, decimals of a large scale, nested values) become
# Python values first.

ARROW_TEXT_FORMATS = ("csv", "tsv")
#: The rows of one chunk of text.
_ROWS = 16_384
#: The scale up to which Arrow writes all decimals without an exponent.
_PLAIN_SCALE = 6
#: Arrow and Python write floats of these sizes with the same digits, and without an exponent.
_LEAST_PLAIN, _MOST_PLAIN = 1e-4, 1e10


def chunks(
    names: Sequence[str], batches: Iterable[pa.RecordBatch], form: str, null: str | None = None
) -> Iterator[str]:
    """Yields text with its line breaks: the header, then the rows. Holds one batch at a time.

    Raises ``DataError`` for values that Python has not, as ``Result.rows`` does.
    """
    yield "".join(f"{line}\n" for line in render_lines(names, (), form, null))
    null_text = (r"\N" if form == "tsv" else "") if null is None else null
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            yield _chunk(batch.slice(start, _ROWS), form, null_text)


def _chunk(batch: pa.RecordBatch, form: str, null: str) -> str:
    import pyarrow.compute as pc

    if not batch.num_columns:
        return "\n" * int(batch.num_rows)
    fields = [_fields(column, form, null) for column in batch.columns]
    lines = fields[0]
    if len(fields) > 1:
        lines = pc.binary_join_element_wise(*fields, _large("," if form == "csv" else "\t"))
    lines = pc.binary_join_element_wise(lines, _large("\n"), _large(""))
    values: bytes = lines.buffers()[2].to_pybytes()
    return values.decode()  # The values of an array stand side by side.


def _fields(column: pa.Array, form: str, null: str) -> pa.Array:
    """Returns the fields of a column as large strings without nulls."""
    import pyarrow.compute as pc

    texts = _texts(column)
    if _has_plain_text(column.type) and (not null or form == "tsv"):
        pass
    elif form == "csv":
        is_empty = pc.or_(pc.equal(texts, ""), pc.equal(texts, null))
        is_quoted = pc.or_(pc.match_substring_regex(texts, '[,"\r\n]'), is_empty)
        if pc.any(is_quoted).as_py():
            doubled = pc.replace_substring(texts, '"', '""')
            texts = pc.if_else(
                is_quoted, pc.binary_join_element_wise(_large('"'), doubled, _large('"'), _large("")), texts
            )
    else:
        for char, escape in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
            texts = pc.replace_substring(texts, char, escape)
    return pc.fill_null(texts, _large(null))


def _large(text: str) -> pa.Scalar:
    import pyarrow as pa

    return pa.scalar(text, pa.large_string())


def _has_plain_text(type_: pa.DataType) -> bool:
    """Tests whether no value of the type needs quotes or escapes."""
    import pyarrow as pa

    is_ = pa.types
    checks = (is_.is_integer, is_.is_boolean, is_.is_floating, is_.is_decimal, is_.is_timestamp, is_.is_date)
    return any(check(type_) for check in checks)


def _texts(column: pa.Array) -> pa.Array:
    """Returns the texts of ``rendering.text_of``, as large strings; nulls stay."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_, type_ = pa.types, column.type
    if is_.is_string(type_) or is_.is_large_string(type_):
        return column.cast(pa.large_string())
    if is_.is_integer(type_) or is_.is_boolean(type_):
        return column.cast(pa.large_string())
    if is_.is_decimal(type_) and 0 <= type_.scale <= _PLAIN_SCALE:
        return column.cast(pa.large_string())
    if is_.is_float32(type_) or is_.is_float64(type_):
        return _float_texts(column.cast(pa.float64()))
    if is_.is_date32(type_):
        python_values(_extremes(column))  # Raises for years that Python has not.
        return column.cast(pa.large_string())
    if is_.is_timestamp(type_) and type_.unit == "us":
        python_values(_extremes(column))
        texts = column.view(pa.int64()).view(pa.timestamp("us")).cast(pa.large_string())
        return pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    return pa.array([None if value is None else text_of(value) for value in python_values(column)], pa.large_string())


def _float_texts(column: pa.Array) -> pa.Array:
    """Returns the texts of a column of ``DOUBLE``.

    Both Arrow and Python write the shortest digits that give the same number. Arrow omits ``.0`` of whole numbers, and
    begins with exponents at other sizes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    size = pc.abs(column)
    is_plain = pc.and_(pc.greater_equal(size, _LEAST_PLAIN), pc.less(size, _MOST_PLAIN))
    is_plain = pc.fill_null(pc.or_(is_plain, pc.equal(size, 0.0)), True)
    texts = column.cast(pa.large_string())
    is_whole = pc.equal(pc.trunc(column), column)
    if pc.any(is_whole).as_py():
        texts = pc.if_else(is_whole, pc.binary_join_element_wise(texts, _large(".0"), _large("")), texts)
    is_other = pc.invert(is_plain)
    others = [text_of(value) for value in column.filter(is_other).to_pylist()]
    return pc.replace_with_mask(texts, is_other, pa.array(others, pa.large_string())) if others else texts


def _extremes(column: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count == len(column):
        return column.slice(0, 0)
    extremes = pc.min_max(column)
    return pa.array([extremes["min"], extremes["max"]], column.type)
