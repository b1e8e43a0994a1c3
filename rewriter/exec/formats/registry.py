"""The formats of data files, by name."""

from __future__ import annotations

from rewriter.errors import NotSupportedError
from rewriter.exec.formats.csv import CSV
from rewriter.exec.formats.delimited_text import TEXTFILE
from rewriter.exec.formats.file_format import FileFormat
from rewriter.exec.formats.json_lines import JSON
from rewriter.exec.formats.orc import ORC
from rewriter.exec.formats.parquet import PARQUET

FORMATS = {format.name: format for format in (PARQUET, CSV, JSON, ORC, TEXTFILE)}


def format_named(name: str) -> FileFormat:
    """Returns a format by its name, in any case. Raises ``NotSupportedError`` for an unknown one."""
    if name.lower() not in FORMATS:
        raise unsupported_format(name)
    return FORMATS[name.lower()]


def unsupported_format(name: str) -> NotSupportedError:
    """Returns the error for a format of files that are neither read nor written here, such as those of another
    program's table.
    """
    return NotSupportedError(
        f"The file format {name} is not supported.", object=name, hint=f"Use one of {', '.join(FORMATS)}."
    )
