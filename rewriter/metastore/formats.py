"""The formats of files as Hive's descriptors name them, and as the catalog does."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.catalog.model.row_formats import ESCAPE, FIELD, NULL, TEXTFILE, row_format_properties
from rewriter.data_formats import DATA_FORMATS, REFUSED_FORMATS, HiveClasses

#: The property of a table that Spark made by ``USING``.
PROVIDER = "spark.sql.sources.provider"
#: What Spark gives to tables of formats that Hive does not have: only Spark reads them.
_PLACEHOLDER = HiveClasses(
    DATA_FORMATS[TEXTFILE].classes.serde,
    *REFUSED_FORMATS["sequencefile"].classes,
)
#: The parameters of rows that change nothing in how files are read here.
_HARMLESS = {"serialization.format", "path", "header"}
_SEPARATORS = {FIELD, ESCAPE, NULL, "serialization.format", "line.delim"}


def hive_format(format: str) -> HiveClasses:
    """Returns the classes of a format of the catalog. Only Spark reads the classes of CSV and JSON."""
    data_format = DATA_FORMATS.get(format)
    return data_format.classes if data_format is not None and data_format.is_hives else _PLACEHOLDER


def catalog_format(input: str, serde: str, options: Mapping[str, str], provider: str | None) -> str:
    """Returns the format of the catalog that reads the files as the client writes them.

    For others it is a name that no reader has, such as ``csv of spark`` or ``sequencefile``: then this project lists
    the table and refuses to read its files. CSV files without a header, or with options, are of these.

    >>> catalog_format("", "", {"header": "true", "escape": '"'}, "csv")
    'csv'
    >>> catalog_format("", "", {"header": "true"}, "csv")
    'csv of spark'
    """
    if provider is not None and provider.lower() != "hive":
        name = provider.lower()
        data_format = DATA_FORMATS.get(name)
        if data_format is None or not data_format.names_columns:
            return f"{name.rpartition('.')[2]} of spark"
        return name if _is_plain(options, data_format.spark_options) else f"{name} of spark"
    for name, data_format in DATA_FORMATS.items():
        classes = data_format.classes
        if data_format.is_hives and (input, serde) == (classes.input, classes.serde):
            is_readable = name != TEXTFILE or _has_plain_rows(options)
            return name if is_readable else "textfile with other rows"
    return f"{input.rpartition('.')[2] or 'none'} of hive"


def _is_plain(options: Mapping[str, str], needed: Mapping[str, str] | None) -> bool:
    """Returns whether Spark's options are exactly those by which it writes files as they are written here."""
    if needed is None:
        return True
    is_known = options.keys() <= _HARMLESS | needed.keys()
    return is_known and all(options.get(name, "").lower() == value for name, value in needed.items())


def _has_plain_rows(options: Mapping[str, str]) -> bool:
    return options.keys() <= _SEPARATORS and options.get("line.delim", "\n") == "\n"


def row_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Returns the separators of text files as the properties of a table."""
    separators = {name: options[name] for name in (FIELD, ESCAPE, NULL) if name in options}
    if FIELD not in separators and options.get("serialization.format", "1") not in ("1", "\x01"):
        separators[FIELD] = options["serialization.format"]
    return row_format_properties(separators)
