"""The row format of a TEXTFILE table, which the table keeps as properties."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter import data_formats as formats

#: The name of the format of Hive's text files.
TEXTFILE = formats.TEXTFILE.name
#: The prefix of the properties that are Hive's SERDEPROPERTIES.
SERDE_PROPERTY = "rewriter.serdeproperties."
#: Hive's names.
FIELD, ESCAPE, NULL = "field.delim", "escape.delim", "serialization.null.format"
_DEFAULTS = {FIELD: "\x01", NULL: "\\N"}


def row_format_of(properties: Mapping[str, str]) -> dict[str, str]:
    """Returns the separators that the properties of a table state, under Hive's names."""
    stated = {name: properties.get(SERDE_PROPERTY + name) for name in (FIELD, ESCAPE, NULL)}
    return _DEFAULTS | {name: value for name, value in stated.items() if value is not None}


def row_format_properties(separators: Mapping[str, str]) -> dict[str, str]:
    """Returns the properties that a table keeps."""
    return {SERDE_PROPERTY + name: value for name, value in separators.items()}
