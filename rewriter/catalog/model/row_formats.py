"""Properties of a table that state the spelling of rows in its text and CSV files."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter import data_formats as formats

#: The name of the format of Hive's text files.
TEXTFILE = formats.TEXTFILE.name
#: The prefix of the properties that are Hive's SERDEPROPERTIES.
SERDE_PROPERTY = "rewriter.serdeproperties."
#: The prefix of the properties that are the options of CSV files.
OPTION_PROPERTY = f"{SERDE_PROPERTY}option."
#: Hive's names.
FIELD, ESCAPE, NULL = "field.delim", "escape.delim", "serialization.null.format"
#: The property by which Hive skips lines at the beginning of each file.
HEADER_LINES = "skip.header.line.count"
_DEFAULTS = {FIELD: "\x01", NULL: "\\N"}


def file_options_of(format: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Returns the options by which the files of a table with these properties are read and written."""
    if format == TEXTFILE:
        stated = {name: properties.get(SERDE_PROPERTY + name) for name in (FIELD, ESCAPE, NULL)}
        options = _DEFAULTS | {name: value for name, value in stated.items() if value is not None}
    elif format == formats.CSV.name:
        options = {
            name.removeprefix(OPTION_PROPERTY): value
            for name, value in properties.items()
            if name.startswith(OPTION_PROPERTY)
        }
    else:
        return {}
    skipped = properties.get(HEADER_LINES, "0")
    return options | {HEADER_LINES: skipped} if options and skipped != "0" else options


def row_format_properties(separators: Mapping[str, str]) -> dict[str, str]:
    """Returns the properties of separators of text files that a table keeps."""
    return {SERDE_PROPERTY + name: value for name, value in separators.items() if name != HEADER_LINES}


def csv_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Returns the properties of options of CSV files that a table keeps."""
    return {OPTION_PROPERTY + name: value for name, value in options.items() if name != HEADER_LINES}
