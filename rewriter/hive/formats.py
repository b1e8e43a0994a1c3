"""The formats of files as Hive's descriptors name them, and as the catalog does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.catalog.model.row_formats import ESCAPE, FIELD, NULL, TEXTFILE, row_format_properties

#: The property of a table that Spark made by ``USING``.
PROVIDER = "spark.sql.sources.provider"
_SERDE = "org.apache.hadoop.hive.serde2"
_QL = "org.apache.hadoop.hive.ql.io"


@dataclass(frozen=True)
class HiveFormat:
    """The classes of a format: of its input, its output, and its rows."""

    input: str
    output: str
    serde: str


_LAZY = f"{_SERDE}.lazy.LazySimpleSerDe"
#: What Spark gives to tables of formats that Hive does not have: only Spark reads them.
PLACEHOLDER = HiveFormat(
    "org.apache.hadoop.mapred.SequenceFileInputFormat", f"{_QL}.HiveSequenceFileOutputFormat", _LAZY
)
_TEXT = HiveFormat("org.apache.hadoop.mapred.TextInputFormat", f"{_QL}.HiveIgnoreKeyTextOutputFormat", _LAZY)
_BY_NAME = {
    "parquet": HiveFormat(
        f"{_QL}.parquet.MapredParquetInputFormat",
        f"{_QL}.parquet.MapredParquetOutputFormat",
        f"{_QL}.parquet.serde.ParquetHiveSerDe",
    ),
    "orc": HiveFormat(f"{_QL}.orc.OrcInputFormat", f"{_QL}.orc.OrcOutputFormat", f"{_QL}.orc.OrcSerde"),
    TEXTFILE: _TEXT,
}
#: The parameters of rows that change nothing in how files are read here.
_HARMLESS = {"serialization.format", "path", "header"}
_SEPARATORS = {FIELD, ESCAPE, NULL, "serialization.format", "line.delim"}


def hive_format(format: str) -> HiveFormat:
    """Returns the classes of a format of the catalog. Those of CSV and JSON are read by Spark alone."""
    return _BY_NAME.get(format, PLACEHOLDER)


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
        is_plain = options.keys() <= _HARMLESS
        if name in ("parquet", "orc"):
            return name
        if name == "json":
            return name if is_plain else "json of spark"
        if name == "csv":
            return name if _has_plain_csv(options) else "csv of spark"
        return f"{name.rpartition('.')[2]} of spark"
    for name, classes in _BY_NAME.items():
        if (input, serde) == (classes.input, classes.serde):
            is_readable = name != TEXTFILE or _has_plain_rows(options)
            return name if is_readable else "textfile with other rows"
    return f"{input.rpartition('.')[2] or 'none'} of hive"


def _has_plain_csv(options: Mapping[str, str]) -> bool:
    """Returns whether CSV files of Spark are those that are written here: with a header, and quotes that are doubled.
    By default, Spark writes a backslash before them, and no header.
    """
    has_header = options.get("header", "").lower() == "true"
    return has_header and options.get("escape") == '"' and options.keys() <= _HARMLESS | {"escape"}


def _has_plain_rows(options: Mapping[str, str]) -> bool:
    return options.keys() <= _SEPARATORS and options.get("line.delim", "\n") == "\n"


def row_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Returns the separators of text files as the properties of a table."""
    separators = {name: options[name] for name in (FIELD, ESCAPE, NULL) if name in options}
    if FIELD not in separators and options.get("serialization.format", "1") not in ("1", "\x01"):
        separators[FIELD] = options["serialization.format"]
    return row_format_properties(separators)
