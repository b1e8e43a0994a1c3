"""Reads the rows of CSV files in a dialect, as Spark's source reads them with the same options.

Where Spark would guess, this reader raises ``ValueError`` with the line: characters behind a closing quote, a quote
that is not closed, a row with too few or too many fields, a text that is no value of its column's type. Both engines
read by this code. Workers of Spark run it: it uses nothing outside this folder.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from rewriter.exec.formats.csv_blocks import MOST_FIELDS, block_columns, has_blocks, line_blocks
from rewriter.exec.formats.csv_dialects import CsvDialect, csv_dialect
from rewriter.exec.formats.text_input import OpenBytes, text_lines

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.formats.time_patterns import TimeSpelling

#: A row: the number of the line where it begins, and its fields. ``None`` is an empty field without quotes.
_Row = tuple[int, list["str | None"]]

_ROWS = 10_000
_LARGEST_EXPONENT = 100
_BLANKS = "".join(map(chr, range(33)))
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"


def read_csv_columns(
    path: str, open_bytes: OpenBytes, columns: pa.Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file as texts, which a cast takes to the types of the columns."""
    dialect = csv_dialect(options)
    first_block = b""
    if has_blocks(path, dialect, len(columns)):
        blocks = line_blocks(path, open_bytes)
        first_block = next(blocks, b"")
    # The header is in the first block, or the file is read as a whole.
    if first_block.count(b"\n") > dialect.skipped_lines and any(
        split_csv_rows("", partial(_opened, first_block), dialect)
    ):
        rows = read_csv_rows("", partial(_opened, first_block), columns.names, dialect)
        yield from _batches(rows, columns, dialect)
        yield from _read_blocks(blocks, len(first_block.splitlines()) + 1, columns, dialect)
    else:
        yield from _batches(read_csv_rows(path, open_bytes, columns.names, dialect), columns, dialect)


def _opened(block: bytes, _: str) -> io.BytesIO:
    return io.BytesIO(block)


def _read_blocks(
    blocks: Iterator[bytes], line: int, columns: pa.Schema, dialect: CsvDialect
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of blocks from a line on. Arrow reads those that it reads as this module does."""
    for block in blocks:
        arrays = block_columns(block, len(columns), dialect)
        if arrays is not None:
            yield _record_batch(arrays, columns, range(line, line + len(arrays[0])), dialect)
        else:
            rows = _rows(text_lines("", partial(_opened, block), first_line=line), dialect)
            yield from _batches(_with_width(rows, columns.names, dialect), columns, dialect)
        line += len(block.splitlines())


def _batches(rows: Iterator[_Row], columns: pa.Schema, dialect: CsvDialect) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    while chunk := list(islice(rows, _ROWS)):
        texts_of_columns = zip(*(fields for _, fields in chunk), strict=True)
        arrays = [pa.array(_with_nulls(texts, dialect), pa.string()) for texts in texts_of_columns]
        yield _record_batch(arrays, columns, [line for line, _ in chunk], dialect)


def _record_batch(
    arrays: Sequence[pa.Array], columns: pa.Schema, lines: Sequence[int], dialect: CsvDialect
) -> pa.RecordBatch:
    import pyarrow as pa

    checked = [_checked(array, field, lines, dialect) for array, field in zip(arrays, columns, strict=True)]
    return pa.RecordBatch.from_arrays(checked, names=columns.names)


def read_csv_rows(path: str, open_bytes: OpenBytes, names: Sequence[str], dialect: CsvDialect) -> Iterator[_Row]:
    """Yields the rows of a file, each with as many fields as there are names. Raises ``ValueError`` with the line."""
    rows = split_csv_rows(path, open_bytes, dialect)
    if dialect.header:
        for line, fields in islice(rows, 1):
            _check_header(line, fields, names, dialect)
    yield from _with_width(rows, names, dialect)


def _with_width(rows: Iterator[_Row], names: Sequence[str], dialect: CsvDialect) -> Iterator[_Row]:
    for line, fields in rows:
        if len(fields) != len(names):
            if not dialect.is_hives:
                raise ValueError(f"line {line} has {_count(len(fields), 'field')}, not {len(names)}")
            fields = [*fields, *[None] * (len(names) - len(fields))][: len(names)]
        yield line, fields


def split_csv_rows(path: str, open_bytes: OpenBytes, dialect: CsvDialect) -> Iterator[_Row]:
    """Yields all rows of a file, the header too, without empty lines and comments. Raises ``ValueError`` with the line
    for one that is not spelled as a row.
    """
    lines = text_lines(path, open_bytes, dialect.encoding, keeps_ends=dialect.multi_line)
    if dialect.multi_line:
        lines = _with_one_end(lines)
    for _ in islice(lines, dialect.skipped_lines):
        pass
    return _rows(lines, dialect)


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def _check_header(line: int, fields: Sequence[str | None], names: Sequence[str], dialect: CsvDialect) -> None:
    header_names = [(field or "").lower() for field in fields]
    if not dialect.ignores_names and header_names != [name.lower() for name in names]:
        shown = dialect.separator.join(field or "" for field in fields)[:200]
        raise ValueError(
            f"its header in line {line} is {shown}, but the columns are {dialect.separator.join(names)[:200]}; the "
            "option enforceSchema = 'true' takes the columns by their position"
        )


def _with_one_end(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yields the lines with line feeds as their ends. Raises ``ValueError`` where lines end differently: Spark finds
    out the end in a part of the file, and takes others for values, as it does a carriage return that ends the file.
    """
    number, end, first_end = 0, "", ""
    for number, line in lines:
        text = line.rstrip("\r\n")
        end = line[len(text) :]
        if end and first_end and end != first_end:
            raise ValueError(f"line {number} has another end than the lines before it")
        first_end = first_end or end
        yield number, f"{text}\n" if end else text
    if end == "\r":
        raise ValueError(f"line {number} ends with a carriage return, which Spark takes for a part of its last field")


def _rows(lines: Iterator[tuple[int, str]], dialect: CsvDialect) -> Iterator[_Row]:
    quote, separator, comment = dialect.quote, dialect.separator, dialect.comment
    trims = bool(dialect.trims_left or dialect.trims_right)
    is_plain = not trims and not dialect.is_hives
    fields = _Fields(dialect)
    for number, line in lines:
        if "\0" in line and (fields.is_open or (quote is not None and quote in line)):
            raise ValueError(f"line {number} has a zero character and quotes, which Spark reads in several ways")
        if fields.is_open:
            row = fields.resume(line, number)
        elif _is_skipped(line, number, dialect) or (comment is not None and line.startswith(comment)):
            continue
        elif is_plain and (quote is None or quote not in line):
            row = number, [text or None for text in line.removesuffix("\n").split(separator)]
        else:
            row = fields.split(line, number)
        if row is None:
            continue
        if len(row[1]) > MOST_FIELDS:
            raise ValueError(f"line {row[0]} has {len(row[1])} fields, but Spark reads {MOST_FIELDS} at most")
        yield row
    if fields.is_open:
        raise fields.unclosed()


def _is_skipped(line: str, number: int, dialect: CsvDialect) -> bool:
    """Tests whether a line is no row. Spark also skips lines of blanks. Those that separate fields raise an error."""
    if dialect.is_hives:
        return False
    if line == "\n" or line.strip(_BLANKS):
        return line == "\n"
    trims = bool(dialect.trims_left or dialect.trims_right)
    if dialect.separator in line or (dialect.multi_line and trims):
        raise ValueError(f"line {number} has blanks only, which readers of CSV skip or take for empty fields")
    return not dialect.multi_line


class _Fields:
    """Splits a row into its fields. A row with a quote that is not closed goes on in the next line."""

    def __init__(self, dialect: CsvDialect) -> None:
        self._dialect = dialect
        self._fields: list[str | None] = []
        self._parts: list[str] = []
        self._line = 0
        self._quote_line = 0
        self.is_open = False
        quote, escape = re.escape(dialect.quote or ""), re.escape(dialect.escape)
        separator = dialect.separator
        #: What is between quotes; it ends before the closing one.
        if dialect.escape == dialect.quote:
            content = f"[^{quote}]*(?:{quote}{quote}[^{quote}]*)*"
            self._escapes = re.compile(f"{quote}({quote})")
        elif dialect.is_hives:
            content = f"[^{quote}{escape}]*(?:(?:{escape}.|{quote}{quote})[^{quote}{escape}]*)*"
            self._escapes = re.compile(f"{escape}(.)|{quote}({quote})", re.DOTALL)
        else:
            content = f"[^{quote}{escape}]*(?:{escape}.[^{quote}{escape}]*)*"
            self._escapes = re.compile(f"{escape}([{quote}{escape}])")
        self._content = re.compile(content, re.DOTALL)
        self._blanks = re.compile(f"[{re.escape(_BLANKS.replace(separator, '').replace(chr(10), ''))}]*")
        self._unquoted = re.compile(f"[^{re.escape(separator)}\n]*")

    def split(self, line: str, number: int) -> _Row | None:
        """Returns the row of a line; ``None`` if it goes on in the next line."""
        self._fields, self._line = [], number
        return self._from(line, 0, number)

    def resume(self, line: str, number: int) -> _Row | None:
        """Returns the row that goes on in this line; ``None`` if it goes on in the next one."""
        end = self._quoted(line, 0, number)
        return None if end is None else self._from(line, end, number)

    def unclosed(self) -> ValueError:
        hint = "" if self._dialect.multi_line or self._dialect.is_hives else " in its line, and multiLine is not true"
        return ValueError(f"the quote in line {self._quote_line} is not closed{hint}")

    def _from(self, line: str, position: int, number: int) -> _Row | None:
        dialect = self._dialect
        length = len(line.removesuffix("\n"))
        # Behind a field that was resumed is a separator or the end of the line.
        if self.is_open:
            self.is_open = False
            if position >= length:
                return self._line, self._fields
            position += 1
        while True:
            blanks = self._blanks.match(line, position)
            start = blanks.end() if blanks is not None else position
            if dialect.quote is not None and line.startswith(dialect.quote, start):
                if start > position and not (dialect.trims_left or dialect.is_hives):
                    raise ValueError(f"line {number} has blanks before a quote")
                self._parts, self._quote_line = [], number
                end = self._quoted(line, start + 1, number)
                if end is None:
                    return None
                self.is_open = False
            else:
                end = self._plain(line, position, number)
            if end >= length:
                return self._line, self._fields
            position = end + 1

    def _quoted(self, line: str, position: int, number: int) -> int | None:
        """Reads what is between quotes from a position. Returns the end of the field; ``None`` if it is in another
        line.
        """
        dialect = self._dialect
        content = self._content.match(line, position)
        end = position if content is None else content.end()
        self._parts.append(line[position:end])
        if end >= len(line) or not line.startswith(dialect.quote or "", end):
            self._parts.append(line[end:])
            self.is_open = True
            if not dialect.multi_line:
                raise self.unclosed()
            return None
        blanks = self._blanks.match(line, end + 1)
        behind = end + 1 if blanks is None else blanks.end()
        if behind < len(line) and line[behind] not in (dialect.separator, "\n"):
            raise ValueError(f"line {number} has characters behind a closing quote")
        if behind > end + 1 and dialect.is_hives:
            raise ValueError(f"line {number} has blanks behind a closing quote")
        text = "".join(self._parts)
        if dialect.trims_right and text and not text.strip(_BLANKS):
            raise ValueError(f"line {number} has blanks in quotes, which Spark cannot read without the blanks at ends")
        if dialect.escape in text or (dialect.is_hives and str(dialect.quote) in text):
            text = self._escapes.sub(_escaped, text)
        self._fields.append(text or (dialect.empty or ""))
        self.is_open = True
        return behind

    def _plain(self, line: str, position: int, number: int) -> int:
        dialect = self._dialect
        match = self._unquoted.match(line, position)
        text = "" if match is None else match[0]
        end = position + len(text)
        if dialect.is_hives:
            if str(dialect.quote) in text or dialect.escape in text:
                raise ValueError(f"line {number} has a quote or an escape character in a field without quotes")
            self._fields.append(text)
            return end
        if dialect.null and (dialect.trims_left or dialect.trims_right) and text and not text.strip(_BLANKS):
            # Spark reads one as NULL, or as an empty text, by its place and by what is behind it.
            raise ValueError(f"line {number} has a field of blanks, which Spark trims to NULL or to an empty text")
        if dialect.trims_left:
            text = text.lstrip(_BLANKS)
        if dialect.trims_right:
            text = text.rstrip(_BLANKS)
        self._fields.append(text or None)
        return end


def _escaped(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None)


def _with_nulls(texts: Sequence[str | None], dialect: CsvDialect) -> list[str | None]:
    null = dialect.null
    if dialect.is_hives:
        return list(texts)
    return [text or None for text in texts] if not null else [None if text == null else text for text in texts]


def _checked(array: pa.Array, field: pa.Field, lines: Sequence[int], dialect: CsvDialect) -> pa.Array:
    """Returns the texts of a column, which are values of its type as Spark's source has them; the cast finds those that
    are too large. Raises ``ValueError`` with the line of another text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = field.type
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        pattern = dialect.date if pa.types.is_date(type_) else dialect.timestamp
        return array if pattern is None else _plain_times(array, field.name, pattern, lines)
    if pa.types.is_integer(type_):
        regex = "^[+-]?[0-9]+$"
    elif pa.types.is_boolean(type_):
        regex = "^(?i:true|false)$"
    elif pa.types.is_decimal(type_):
        regex = f"^{_NUMBER}$"
    elif pa.types.is_floating(type_):
        regex = rf"^([\x00-\x20]*{_NUMBER}[\x00-\x20]*|NaN|-?Inf|[+-]?Infinity)$"
    else:
        return array
    fits = pc.match_substring_regex(array, regex)
    if pc.all(fits).as_py() is False:
        place = pc.index(fits, False).as_py()
        raise _wrong_value(lines[place], array[place].as_py(), field.name)
    return _plain_decimals(array, field.name, lines) if pa.types.is_decimal(type_) else array


def _plain_decimals(array: pa.Array, column: str, lines: Sequence[int]) -> pa.Array:
    """Returns decimals without exponents, which DuckDB does not cast as Spark does."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring_regex(array, "[eE]")).as_py():
        return array
    texts = array.to_pylist()
    for place, text in enumerate(texts):
        if text is not None and "e" in text.lower():
            if abs(int(text.lower().partition("e")[2])) > _LARGEST_EXPONENT:
                raise _wrong_value(lines[place], text, column)
            texts[place] = plain_decimal(text)
    return pa.array(texts, pa.string())


def plain_decimal(text: str) -> str:
    """Returns the text of a decimal without an exponent."""
    return f"{Decimal(text):f}"


def _wrong_value(line: int, text: str, column: str) -> ValueError:
    shown = text if len(text) <= 100 else f"{text[:100]}…"
    return ValueError(f"line {line} has '{shown}' in the column {column}, which is no value of its type")


def _plain_times(array: pa.Array, column: str, pattern: TimeSpelling, lines: Sequence[int]) -> pa.Array:
    import pyarrow as pa

    regex = pattern.regex()
    plain_texts: dict[str, str] = {}
    texts = array.to_pylist()
    for line, text in zip(lines, texts, strict=True):
        if text is not None and text not in plain_texts:
            try:
                plain_texts[text] = pattern.plain(text, regex)
            except ValueError:
                raise _wrong_value(line, text, column) from None
    return pa.array([None if text is None else plain_texts[text] for text in texts], pa.string())
