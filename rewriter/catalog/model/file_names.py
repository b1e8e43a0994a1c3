"""Names that are paths of files. A query reads files as format.`path`, not by their path alone."""

from __future__ import annotations

#: The formats that can precede a path: SELECT … FROM parquet.`path`.
FILE_FORMATS = ("parquet", "csv", "json", "orc")

#: Formats of Spark and its extensions that no engine reads here.
_OTHER_FORMATS = ("avro", "binaryfile", "delta", "hudi", "iceberg", "text", "xml")

#: How each hint about files begins.
READ_FILES = "A query reads files by their format: "


def files_hint(name: str) -> str | None:
    """Returns the hint for a name that no object has, if it looks like a path of files; otherwise ``None``.

    >>> files_hint("logs/day.csv")
    'A query reads files by their format: FROM csv.`logs/day.csv`.'
    >>> files_hint("logs/day")
    'A query reads files by their format: FROM parquet.`logs/day`.'
    >>> files_hint("day") is None
    True
    """
    format, _, path = name.partition(".")
    if format.lower() in _OTHER_FORMATS and path:
        return f"{READ_FILES}{', '.join(FILE_FORMATS)}. Files of {format} cannot be read."
    ending = name.rpartition(".")[2].lower()
    if "/" not in name and ending not in FILE_FORMATS:
        return None
    return f"{READ_FILES}FROM {ending if ending in FILE_FORMATS else 'parquet'}.`{name}`."


def path_of(name: str) -> str | None:
    """Returns the path of a name that is format.path, as in parquet.events; otherwise ``None``.

    >>> path_of("parquet.logs/2024"), path_of("sales.days")
    ('logs/2024', None)
    """
    format, _, path = name.partition(".")
    return path if path and format.lower() in FILE_FORMATS else None
