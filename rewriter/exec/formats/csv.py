"""Writes CSV files: a header, a comma between fields, quotes around strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rewriter.exec.formats.file_format import FileFormat, FileWriter

if TYPE_CHECKING:
    import pyarrow as pa


def _open(path: str, schema: pa.Schema, options: Mapping[str, str]) -> FileWriter:
    import pyarrow.csv

    writer: FileWriter = pyarrow.csv.CSVWriter(path, schema)
    return writer


CSV = FileFormat("csv", _open, has_row_groups=False)
