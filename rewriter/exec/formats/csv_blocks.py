"""Blocks of whole lines of CSV files, and the columns of those that Arrow reads as ``csv_rows`` does.

Such a block has no comment, no carriage return and no line of blanks, is UTF-8, and has as many fields in each line as
there are columns. Its quotes are around whole fields, which have neither escapes nor line ends, and are not empty.
``csv_rows`` reads the others. Workers of Spark run this code: it uses nothing outside
this folder.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewriter.exec.formats.text_input import COMPRESSED_ENDINGS, OpenBytes

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.formats.csv_dialects import CsvDialect

#: The bytes of a block, or more if a line is longer. The first one, which has the header, is short.
_FIRST_BYTES, _BLOCK_BYTES = 1 << 16, 1 << 20
#: The most fields that Spark reads.
MOST_FIELDS = 20_480
_BLANK_LINE = re.compile(rb"\n[\x00-\x09\x0b-\x20]*\n")


def has_blocks(path: str, dialect: CsvDialect, width: int) -> bool:
    """Tests whether a file may be read in blocks: lines stand alone, and no option changes plain fields."""
    return (
        not (dialect.multi_line or dialect.is_hives or dialect.trims_left or dialect.trims_right)
        and dialect.encoding == "UTF-8"
        and len(dialect.separator) == 1
        and dialect.separator.isascii()
        and 1 < width <= MOST_FIELDS
        and not path.lower().endswith(COMPRESSED_ENDINGS)
    )


def line_blocks(path: str, open_bytes: OpenBytes) -> Iterator[bytes]:
    """Yields the bytes of a file in blocks that end behind a line feed, but for the last."""
    with open_bytes(path) as file:
        parts: list[bytes] = []
        size = _FIRST_BYTES
        while data := file.read(size):
            size = _BLOCK_BYTES
            end = data.rfind(b"\n") + 1
            if end:
                yield b"".join((*parts, data[:end]))
                parts = []
            parts.append(data[end:])
        if rest := b"".join(parts):
            yield rest


def block_columns(block: bytes, width: int, dialect: CsvDialect) -> list[pa.Array] | None:
    """Returns the columns of a block as texts, a row for each line; ``None`` if Arrow may read it in another way."""
    import pyarrow as pa
    import pyarrow.csv

    if any(character is not None and character.encode() in block for character in (dialect.comment, "\r", "\x00")):
        return None
    if block.startswith(codecs.BOM_UTF8):
        return None  # Arrow takes it for the mark of a file.
    lines = block if block.endswith(b"\n") else block + b"\n"
    quote = None if dialect.quote is None or dialect.quote.encode() not in block else dialect.quote
    if _BLANK_LINE.search(b"\n" + lines) or (quote is not None and not _has_plain_quotes(lines, dialect)):
        return None
    names = [str(number) for number in range(width)]
    try:
        if not block.isascii():
            block.decode()
        table = pyarrow.csv.read_csv(
            pa.py_buffer(lines),
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=names),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=dialect.separator,
                quote_char=quote or False,
                double_quote=False,
                escape_char=False,
                ignore_empty_lines=False,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=["", dialect.null],
                strings_can_be_null=True,
            ),
        )
    except (UnicodeDecodeError, pa.ArrowInvalid):
        return None
    if table.num_rows != lines.count(b"\n"):
        return None
    return [pa.concat_arrays(column.chunks) for column in table.columns]


def _has_plain_quotes(lines: bytes, dialect: CsvDialect) -> bool:
    """Tests whether all quotes of lines are around whole fields without escapes, of one character at least."""
    if dialect.quote is None or not dialect.quote.isascii():
        return False
    quote, separator, escape = (re.escape(text.encode()) for text in (dialect.quote, dialect.separator, dialect.escape))
    field = rb"(?<=[%b\n])%b[^%b%b\n]+%b(?=[%b\n])" % (separator, quote, quote, escape, quote, separator)
    return re.fullmatch(rb"[^%b]*(?:%b[^%b]*)*" % (quote, field, quote), b"\n" + lines) is not None
