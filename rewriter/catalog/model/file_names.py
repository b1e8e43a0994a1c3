"""Names that are paths of files. A query reads files as format.`path`, not by their path alone."""

from __future__ import annotations

from rewriter.data_formats import REFUSED_FORMATS, SOURCE_FORMATS

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
    refused = REFUSED_FORMATS.get(format.lower())
    if refused is not None and refused.is_source and path:
        return f"{READ_FILES}{', '.join(SOURCE_FORMATS)}. Files of {format} cannot be read."
    ending = name.rpartition(".")[2].lower()
    if "/" not in name and ending not in SOURCE_FORMATS:
        return None
    return f"{READ_FILES}FROM {ending if ending in SOURCE_FORMATS else 'parquet'}.`{name}`."


def path_of(name: str) -> str | None:
    """Returns the path of a name that is format.path, as in parquet.events; otherwise ``None``.

    >>> path_of("parquet.logs/2024"), path_of("sales.days")
    ('logs/2024', None)
    """
    format, _, path = name.partition(".")
    return path if path and format.lower() in SOURCE_FORMATS else None
