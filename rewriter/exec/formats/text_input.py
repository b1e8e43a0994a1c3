"""Lines of text files as they come: compressed or not, in an encoding, with any ends of lines.

Workers of Spark run this code: it uses nothing outside this folder.
"""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

#: Opens a file by its path, for reading bytes.
OpenBytes = Callable[[str], IO[Any]]
#: The byte order mark of UTF-8 in a text of one byte for each character. Spark removes it in every encoding.
_MARK = "\u00ef\u00bb\u00bf"
_UNREADABLE = (".deflate", ".lz4", ".lzo", ".snappy", ".zst")
#: The endings of names that say how a text file is compressed.
COMPRESSED_ENDINGS = (".gz", ".bz2", *_UNREADABLE)


def text_lines(
    path: str, open_bytes: OpenBytes, encoding: str = "UTF-8", keeps_ends: bool = False, first_line: int = 1
) -> Iterator[tuple[int, str]]:
    """Yields each line with its number, from ``first_line``, the first one of a file without a byte order mark. Its end
    is a line feed, or none in the last line; with ``keeps_ends``, it is as in the file. Files with names that end in
    ``.gz`` and ``.bz2`` are decompressed.

    Raises ``ValueError`` for bytes that are no text of the encoding, and for damaged or otherwise compressed files.
    """
    lower = path.lower()
    if lower.endswith(_UNREADABLE):
        raise ValueError("its compression is not supported: only gzip (.gz) and bzip2 (.bz2) are")
    codec = "utf-8-sig" if encoding == "UTF-8" and first_line == 1 else encoding
    with open_bytes(path) as file:
        data: Any = file
        if lower.endswith(".gz"):
            data = gzip.GzipFile(fileobj=file)
        elif lower.endswith(".bz2"):
            data = bz2.BZ2File(file)
        newline = "" if keeps_ends else None
        text = io.TextIOWrapper(data, encoding=codec, errors="surrogateescape", newline=newline)
        number = first_line - 1
        try:
            for number, line in enumerate(text, first_line):
                if not line.isascii():
                    if number == 1 and encoding != "UTF-8" and line.startswith(_MARK):
                        raise ValueError(f"it begins with the mark of UTF-8, but its encoding is {encoding}")
                    _check_text(line, number, encoding)
                yield number, line
        except (EOFError, OSError, zlib.error) as error:
            if data is file:
                raise
            raise ValueError(f"behind line {number}, its compressed data are damaged ({error})") from None


def _check_text(line: str, number: int, encoding: str) -> None:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"line {number} is not in {encoding}") from None
