"""Writes rows as CSV in a dialect, byte for byte as Spark's source writes them with the same options.

A file of a table is read again by the same dialect. So its writer raises ``ValueError`` for a row that would be read as
another one; Spark would lose the difference silently. Workers of Spark run this code: it uses nothing outside this
folder.
"""

from __future__ import annotations

import bz2
import gzip
import io
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import IO, TYPE_CHECKING

from rewriter.exec.formats.csv_dialects import SKIPPED_LINES, CsvDialect, csv_dialect, skipped_line
from rewriter.exec.formats.csv_rows import plain_decimal, read_csv_columns
from rewriter.exec.formats.json_lines import plain_times

if TYPE_CHECKING:
    import pyarrow as pa

#: The option of files that belong to no table: they are as Spark writes them, even if they read as other rows.
AS_SPARK = "rewriter.as_spark"
_ROWS = 10_000
_BLANKS = "".join(map(chr, range(33)))
_CONDITION = "VALUE_OUTSIDE_CSV"
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


class CsvDialectWriter:
    """Writes tables of one schema into a new file."""

    def __init__(self, path: str, schema: pa.Schema, options: Mapping[str, str]) -> None:
        self._options = {name: value for name, value in options.items() if name != AS_SPARK}
        self._dialect = csv_dialect(self._options)
        self._as_spark = AS_SPARK in options
        self._schema = schema
        self._field = _fields_writer(self._dialect)
        self._file = _opened(path, self._dialect)
        self._file.write(skipped_line(schema.names).encode() * self._dialect.skipped_lines)
        if self._dialect.header:
            self._file.write(self._lines([[name] for name in schema.names]))

    def write_table(self, table: pa.Table) -> None:
        """Writes rows. Raises ``ValueError`` for a value that the files cannot hold."""
        for batch in table.to_batches(max_chunksize=_ROWS):
            columns = [
                _texts(name, column, self._dialect, self._as_spark)
                for name, column in zip(table.column_names, batch.columns, strict=True)
            ]
            data = self._lines(columns)
            if not self._as_spark:
                self._check_readable(data, batch, columns)
            self._file.write(data)

    def close(self) -> None:
        self._file.close()

    def _lines(self, columns: Sequence[Sequence[str | None]]) -> bytes:
        """Returns rows, of which each column has the values of one field, as bytes of the file."""
        dialect, field = self._dialect, self._field
        spelled = [[field(text, number == 0) for text in texts] for number, texts in enumerate(columns)]
        lines = [dialect.separator.join(row) for row in zip(*spelled, strict=True)]
        if "" in lines:
            # Spark writes no line for such a row, and a reader skips an empty one.
            raise ValueError(
                f"[{_CONDITION}] A row of one column without a text would be an empty line, which is no row of CSV."
            )
        try:
            return "".join(f"{line}\n" for line in lines).encode(dialect.encoding)
        except UnicodeEncodeError as error:
            raise ValueError(
                f"[{_CONDITION}] The character {error.object[error.start]!r} is not in {dialect.encoding}."
            ) from None

    def _check_readable(self, data: bytes, batch: pa.RecordBatch, columns: Sequence[Sequence[str | None]]) -> None:
        """Raises ``ValueError`` unless the lines are read as the rows that were written."""
        import pyarrow as pa

        names = [f"c{number}" for number in range(len(columns))]
        schema = pa.schema([(name, field.type) for name, field in zip(names, batch.schema, strict=True)])
        options = {**self._options, "header": "false"} if self._dialect.header else self._options
        options = {name: value for name, value in options.items() if name != SKIPPED_LINES}
        try:
            read = pa.Table.from_batches(
                read_csv_columns("", lambda path: io.BytesIO(data), schema, options),
                pa.schema([(n, pa.string()) for n in names]),
            )
        except ValueError as error:
            raise ValueError(f"[{_CONDITION}] A row would not be read as it is: {error}.") from None
        plain = self._plain_columns(batch, columns)
        if read.num_rows != batch.num_rows:
            raise ValueError(f"[{_CONDITION}] A row would be skipped by readers, or be read as several rows.")
        for name, expected, actual in zip(batch.schema.names, plain, read.columns, strict=True):
            for written, read_text in zip(expected, actual.to_pylist(), strict=True):
                if written != read_text:
                    shown = "NULL" if read_text is None else repr(read_text)
                    raise ValueError(
                        f"[{_CONDITION}] A value of the column {name}, "
                        f"{'NULL' if written is None else repr(written)}, would be read as {shown}."
                    )

    def _plain_columns(
        self, batch: pa.RecordBatch, columns: Sequence[Sequence[str | None]]
    ) -> Sequence[Sequence[str | None]]:
        """Returns the texts that reading returns, which are not those of a pattern."""
        import pyarrow as pa

        plain = []
        for name, array, texts in zip(batch.schema.names, batch.columns, columns, strict=True):
            type_ = array.type
            if pa.types.is_date(type_) and self._dialect.date is not None:
                plain.append(plain_times(name, array, _CONDITION, "CSV files"))
            elif pa.types.is_timestamp(type_) and self._dialect.timestamp is not None:
                plain.append(_as_read(plain_times(name, array, _CONDITION, "CSV files"), self._dialect))
            elif pa.types.is_decimal(type_):
                plain.append([text if text is None or "E" not in text else plain_decimal(text) for text in texts])
            else:
                plain.append(list(texts))
        return plain


def _as_read(texts: Sequence[str | None], dialect: CsvDialect) -> list[str | None]:
    """Returns timestamps with microseconds as reading returns them if a pattern holds all of each."""
    pattern = dialect.timestamp
    assert pattern is not None
    fields = dict(pattern.pieces)
    width = len(fields.get("fraction", ""))
    zone = "Z" if "zone" in fields else ""
    results: list[str | None] = []
    for text in texts:
        if text is None:
            results.append(None)
            continue
        seconds, _, fraction = text.partition(".")
        fraction = f"{fraction:0<6}"
        shown = (
            fraction[:width]
            if width and not fraction[width:].strip("0")
            else ""
            if not fraction.strip("0")
            else fraction
        )
        results.append(f"{seconds}{'.' if shown else ''}{shown}{zone}")
    return results


def _opened(path: str, dialect: CsvDialect) -> IO[bytes]:
    if dialect.compression == "gzip":
        # Without a time, equal rows are equal bytes.
        return gzip.GzipFile(path, "wb", mtime=0)  # type: ignore[return-value]
    if dialect.compression == "bzip2":
        return bz2.BZ2File(path, "wb")
    return open(path, "wb")


def _fields_writer(dialect: CsvDialect) -> Callable[[str | None, bool], str]:
    """Returns the function that spells a value; its second argument tells whether it is the first of its row."""
    if dialect.is_hives:
        return _hive_field(dialect)
    quote, escape, separator = dialect.quote or "\0", dialect.escape, dialect.separator
    trims_left, trims_right = dialect.trims_left is not False, dialect.trims_right is not False
    comment = dialect.comment or "#"
    special = re.compile(f"[{re.escape(separator)}\r\n{re.escape(quote) if dialect.escapes_quotes else ''}]")
    escaped = (
        re.compile(f"[{re.escape(quote)}{re.escape(escape)}]") if escape != quote else re.compile(re.escape(quote))
    )
    empty = '""' if dialect.empty is None else dialect.empty

    def field(text: str | None, is_first: bool) -> str:
        is_special_text = not text
        if text is None:
            text = dialect.null
        elif not text:
            text = empty
        stripped = behind_blanks = text.lstrip(_BLANKS) if trims_left else text
        if trims_right:
            stripped = stripped.rstrip(_BLANKS)
        if not stripped and not is_special_text:
            if behind_blanks:
                # Spark writes the blanks and half of the empty value.
                raise ValueError(f"[{_CONDITION}] Spark trims only the right side of the blanks {text!r}.")
            stripped = behind_blanks = empty
            is_special_text = True
        is_quoted = (
            dialect.quotes_all
            or special.search(behind_blanks) is not None
            or stripped.startswith(quote)
            or (is_first and text.startswith(comment))
        )
        if is_special_text and stripped == quote * 2:
            return stripped
        if not is_quoted:
            return stripped
        if dialect.quote is None:
            raise ValueError(f"[{_CONDITION}] The value {text!r} needs quotes, which the option quote turns off.")
        return f"{quote}{escaped.sub(lambda match: escape + match[0], stripped)}{quote}"

    return field


def _hive_field(dialect: CsvDialect) -> Callable[[str | None, bool], str]:
    quote, escape = dialect.quote or "", dialect.written_escape or ""
    escaped = re.compile(f"[{re.escape(quote)}{re.escape(escape)}]")

    def field(text: str | None, is_first: bool) -> str:
        return "" if text is None else f"{quote}{escaped.sub(lambda match: escape + match[0], text)}{quote}"

    return field


def _texts(name: str, array: pa.Array, dialect: CsvDialect, as_spark: bool) -> Sequence[str | None]:
    """Returns the values of a column as Spark spells them."""
    import pyarrow as pa

    type_ = array.type
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        texts: list[str | None] = array.to_pylist()
        return texts
    if pa.types.is_date(type_):
        days = plain_times(name, array, _CONDITION, "CSV files")
        pattern = dialect.date
        return (
            days if pattern is None else [None if d is None else pattern.spell(d, "00:00:00", "000000") for d in days]
        )
    if pa.types.is_timestamp(type_):
        return [
            None if text is None else _timestamp(text, dialect, as_spark)
            for text in plain_times(name, array, _CONDITION, "CSV files")
        ]
    if pa.types.is_boolean(type_):
        return [None if value is None else "true" if value else "false" for value in array.to_pylist()]
    if pa.types.is_decimal(type_):
        # Python and Java write the same decimals with an exponent.
        return [None if value is None else str(value) for value in array.to_pylist()]
    if pa.types.is_floating(type_):
        code = "d" if pa.types.is_float64(type_) else "f"
        return [None if text is None else _double(text, code) for text in array.cast(pa.string()).to_pylist()]
    return list(array.cast(pa.string()).to_pylist())


def _timestamp(text: str, dialect: CsvDialect, as_spark: bool) -> str:
    seconds, _, fraction = text.partition(".")
    date, _, clock = seconds.partition(" ")
    fraction = f"{fraction:0<6}"
    if dialect.timestamp is not None:
        return dialect.timestamp.spell(date, clock, fraction)
    # Spark drops microseconds, which a table keeps.
    shown = fraction[:3] if as_spark or fraction[3:] == "000" else fraction
    return f"{date}T{clock}.{shown}Z"


def _double(text: str, code: str) -> str:
    """Returns a number that Arrow spells with the fewest digits as Java spells it. ``code`` is ``struct``'s for its
    type.
    """
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    mark = "-" if sign else ""
    point = len(digits) + exponent
    shown = "".join(map(str, digits)).rstrip("0")
    if not shown:
        return f"{mark}0.0"
    if 0 < point <= 7:
        padded = shown.ljust(point, "0")
        return f"{mark}{padded[:point]}.{padded[point:] or '0'}"
    if -3 < point <= 0:
        return f"{mark}0.{'0' * -point}{shown}"
    if len(shown) == 1:
        # Java takes the nearest of the texts of two digits.
        number = struct.unpack(code, struct.pack(code, abs(float(text))))[0]
        two_digits = f"{number:.1e}"
        if struct.pack(code, float(two_digits)) == struct.pack(code, number):
            shown = two_digits[0] + two_digits[2].rstrip("0")
            point = int(two_digits.partition("e")[2]) + 1
    return f"{mark}{shown[0]}.{shown[1:] or '0'}E{point - 1}"
