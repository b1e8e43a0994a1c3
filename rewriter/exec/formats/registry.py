"""The code that reads and writes each format, by name.

Each module has a ``WRITER`` and a ``READER``. The writers travel to Spark's Python workers, the readers do not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rewriter.data_formats import DATA_FORMATS

if TYPE_CHECKING:
    from rewriter.exec.formats.file_format import FileFormat, FileReader

_MODULES = {name: import_module(f"{__package__}.{format.module}") for name, format in DATA_FORMATS.items()}
FORMATS: dict[str, FileFormat] = {name: module.WRITER for name, module in _MODULES.items()}
READERS: dict[str, FileReader] = {name: module.READER for name, module in _MODULES.items()}


def format_named(name: str) -> FileFormat:
    """Returns a format by its name, in any case. Raises ``KeyError`` for an unknown one."""
    return FORMATS[name.lower()]


def reader_named(name: str) -> FileReader:
    """Returns the reader of a format by its name, in any case. Raises ``KeyError`` for an unknown one."""
    return READERS[name.lower()]
