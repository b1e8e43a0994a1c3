"""The formats of data files, by name."""

from __future__ import annotations

from rewriter.exec.formats.csv import CSV
from rewriter.exec.formats.delimited_text import TEXTFILE
from rewriter.exec.formats.file_format import FileFormat
from rewriter.exec.formats.json_lines import JSON
from rewriter.exec.formats.orc import ORC
from rewriter.exec.formats.parquet import PARQUET

FORMATS = {format.name: format for format in (PARQUET, CSV, JSON, ORC, TEXTFILE)}


def format_named(name: str) -> FileFormat:
    """Returns a format by its name, in any case. Raises ``KeyError`` for an unknown one."""
    return FORMATS[name.lower()]
