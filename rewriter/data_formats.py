"""All formats of data files: formats of tables and queries, and formats of Hive and Spark that are refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from rewriter.lazy_dataclass import dataclass

# What is known of a format of data files without opening one.


class Reading(Enum):
    """How an engine reads the files of a format."""

    #: By the engine's own reader.
    OWN = "own"
    #: By our reader: DuckDB gets a copy of the rows as a temporary table, Spark runs the reader in its Python workers.
    OURS = "ours"


@dataclass(frozen=True)
class HiveClasses:
    """The classes of Hive for a format: of its rows, its input and its output."""

    serde: str
    input: str
    output: str


@dataclass(frozen=True, kw_only=True)
class DataFormat:
    """One format of data files.

    ``name`` is the one after ``USING`` and the ending of new files; ``title`` is the name in messages: "CSV".
    ``aliases`` are other names after ``STORED AS``. ``module`` is the module of ``exec.formats`` that reads and writes
    the files. ``classes`` are the classes that DESCRIBE shows, ``other_serdes`` more names of the class of rows, the
    most usual first.

    ``is_hives``: Hive reads and writes these files by ``classes`` as we do. Otherwise a table of Hive's clients has
    the format only if Spark made it with ``spark_options`` and no others; ``None`` is any options.
    ``hive_misreads`` is a regular expression of the types of columns whose values Hive reads as others in our files.

    ``is_text``: values are texts, which a table casts to its types; else a file states the types. ``has_header``: the
    first line names the columns. ``names_columns``: a file does, in any way. ``omits_nulls``: rows may lack columns.
    ``names_are_case_sensitive``: every reader takes the names in a file with their letters as they are.
    ``is_source``: queries read ``name.`path```, and no database has that name. ``marks``: the first bytes of a file.

    ``duckdb`` and ``spark`` say how these read the files. ``widens``: both read a column by a wider type. ``nests``:
    both read arrays, maps and structs alike.

    ``unstorable`` is a regular expression of the types of columns that a table cannot have, matched at their
    beginning; ``unwritable`` is searched in the types of columns that cannot be written.
    ``column_names`` is the regular expression of the names that columns can have; ``None`` is any.

    ``read_as`` are properties of Hive's serdes, in lower case, with the values that state how the files are read
    anyway; ``None`` if all others are harmless, too, but those in ``by_position`` that are true. ``written_options``
    are options of INSERT OVERWRITE DIRECTORY that state how files are written anyway.

    ``library`` is a package that reading and writing take, which the ``extra`` of ours installs.
    """

    name: str
    title: str
    module: str
    classes: HiveClasses
    aliases: tuple[str, ...] = ()
    other_serdes: tuple[str, ...] = ()
    is_hives: bool = True
    spark_options: Mapping[str, str] | None = None
    hive_misreads: str | None = None
    is_text: bool = False
    has_header: bool = False
    names_columns: bool = True
    omits_nulls: bool = False
    names_are_case_sensitive: bool = False
    is_source: bool = True
    marks: tuple[bytes, ...] = ()
    duckdb: Reading = Reading.OWN
    spark: Reading = Reading.OWN
    nests: bool = False
    widens: bool = False
    unstorable: str | None = None
    unwritable: str | None = None
    column_names: str | None = None
    read_as: Mapping[str, str] | None = None
    by_position: tuple[str, ...] = ()
    written_options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    library: str | None = None
    extra: str | None = None

    def nests_type(self, type_name: str) -> bool:
        """Tests whether both engines read values of this type, an array, a map or a struct, alike."""
        return self.nests and not (self.unwritable and re.search(self.unwritable, type_name.lower()))

    @property
    def serdes(self) -> tuple[str, ...]:
        """All names of the class of rows."""
        return (self.classes.serde, *self.other_serdes)

    @property
    def a_file(self) -> str:
        """A file of the format in a sentence: "a text file", "an ORC file"."""
        return f"{'an' if self.title[0] in 'AO' else 'a'} {self.title} file"


@dataclass(frozen=True)
class RefusedFormat:
    """A format of Hive or Spark that no table has here: the reason, and Hive's classes. ``is_source`` says that Spark
    reads ``name.`path```.
    """

    name: str
    reason: str | None = None
    classes: tuple[str, ...] = ()
    is_source: bool = False


_QL, _SERDE = "org.apache.hadoop.hive.ql.io", "org.apache.hadoop.hive.serde2"
_TEXT_INPUT, _TEXT_OUTPUT = "org.apache.hadoop.mapred.TextInputFormat", f"{_QL}.HiveIgnoreKeyTextOutputFormat"
_UNCOMPRESSED = ("none", "uncompressed")

PARQUET = DataFormat(
    name="parquet",
    title="parquet",
    module="parquet",
    aliases=("parquetfile",),
    classes=HiveClasses(
        f"{_QL}.parquet.serde.ParquetHiveSerDe",
        f"{_QL}.parquet.MapredParquetInputFormat",
        f"{_QL}.parquet.MapredParquetOutputFormat",
    ),
    other_serdes=("parquet.hive.serde.ParquetHiveSerDe",),
    # Encrypted Parquet has a mark of its own.
    marks=(b"PAR1", b"PARE"),
    nests=True,
    widens=True,
    by_position=("parquet.column.index.access",),
    written_options={"compression": ("snappy",)},
)

CSV = DataFormat(
    name="csv",
    names_are_case_sensitive=True,
    title="CSV",
    module="csv",
    classes=HiveClasses(f"{_SERDE}.OpenCSVSerde", _TEXT_INPUT, _TEXT_OUTPUT),
    is_hives=False,
    # By default, Spark writes a backslash before quotes, and no header.
    spark_options={"header": "true", "escape": '"'},
    is_text=True,
    has_header=True,
    read_as={
        "field.delim": ",", "separatorchar": ",", "delimiter": ",", "sep": ",", "quotechar": '"', "quote": '"',
        "header": "true", "skip.header.line.count": "1",
    },
)  # fmt: skip

JSON = DataFormat(
    name="json",
    names_are_case_sensitive=True,
    title="JSON",
    module="json_lines",
    classes=HiveClasses(f"{_SERDE}.JsonSerDe", _TEXT_INPUT, _TEXT_OUTPUT),
    other_serdes=("org.apache.hive.hcatalog.data.JsonSerDe", "org.openx.data.jsonserde.JsonSerDe"),
    is_hives=False,
    spark_options={},
    is_text=True,
    omits_nulls=True,
    nests=True,
    unwritable=r"\bmap<(?!string,)",
    read_as={},
    written_options={"compression": _UNCOMPRESSED},
)

ORC = DataFormat(
    name="orc",
    title="ORC",
    module="orc",
    aliases=("orcfile",),
    classes=HiveClasses(f"{_QL}.orc.OrcSerde", f"{_QL}.orc.OrcInputFormat", f"{_QL}.orc.OrcOutputFormat"),
    marks=(b"ORC",),
    duckdb=Reading.OURS,
    nests=True,
    by_position=("orc.force.positional.evolution", "orc.column.index.access"),
    written_options={"compression": ("snappy",)},
)

#: Its separators are the table's (``catalog.model.row_formats``).
TEXTFILE = DataFormat(
    name="textfile",
    title="text",
    module="delimited_text",
    classes=HiveClasses(f"{_SERDE}.lazy.LazySimpleSerDe", _TEXT_INPUT, _TEXT_OUTPUT),
    is_text=True,
    names_columns=False,
    is_source=False,
    duckdb=Reading.OURS,
    spark=Reading.OURS,
    unstorable="array|map|struct|binary",
    written_options={"compression": _UNCOMPRESSED},
)

AVRO = DataFormat(
    name="avro",
    title="Avro",
    module="avro",
    classes=HiveClasses(
        f"{_SERDE}.avro.AvroSerDe", f"{_QL}.avro.AvroContainerInputFormat", f"{_QL}.avro.AvroContainerOutputFormat"
    ),
    marks=(b"Obj\x01",),
    # It takes microseconds for milliseconds.
    hive_misreads="timestamp",
    # PySpark does not contain Spark's reader (spark-avro), and DuckDB has none.
    duckdb=Reading.OURS,
    spark=Reading.OURS,
    unstorable="array|map|struct",
    column_names="[A-Za-z_][A-Za-z0-9_]*",
    written_options={"compression": ("deflate",)},
    library="fastavro",
    extra="avro",
)

#: The formats of tables, by name.
DATA_FORMATS: Mapping[str, DataFormat] = {format.name: format for format in (PARQUET, CSV, JSON, ORC, TEXTFILE, AVRO)}

_JAVA = "its rows are objects of {} Java classes, which neither DuckDB nor Spark's own readers read."
REFUSED_FORMATS: Mapping[str, RefusedFormat] = {
    format.name: format
    for format in (
        RefusedFormat(
            "sequencefile",
            _JAVA.format("Hadoop's"),
            ("org.apache.hadoop.mapred.SequenceFileInputFormat", f"{_QL}.HiveSequenceFileOutputFormat"),
        ),
        RefusedFormat(
            "rcfile",
            _JAVA.format("Hive's"),
            (
                f"{_SERDE}.columnar.LazyBinaryColumnarSerDe",
                f"{_SERDE}.columnar.ColumnarSerDe",
                f"{_QL}.RCFileInputFormat",
                f"{_QL}.RCFileOutputFormat",
            ),
        ),
        RefusedFormat("text", "it has one column and no separators.", is_source=True),
        *(RefusedFormat(name, is_source=True) for name in ("binaryfile", "delta", "hudi", "iceberg", "xml")),
    )
}

#: The formats that can precede a path: SELECT … FROM parquet.`path`.
SOURCE_FORMATS = tuple(format.name for format in DATA_FORMATS.values() if format.is_source)


def known_format(name: str) -> DataFormat | None:
    """Returns a format by its name, in any case; ``None`` for one that no table of ours has."""
    return DATA_FORMATS.get(name.lower())


def name_of_alias(name: str) -> str:
    """Returns the name of a format after STORED AS, in lower case; of an unknown one, the word itself."""
    lower = name.lower()
    return next((format.name for format in DATA_FORMATS.values() if lower in format.aliases), lower)


def classes_of_formats() -> dict[str, str]:
    """Returns the names of formats by the classes of Hive, in lower case, that mean them in CREATE TABLE: refused
    formats, too.
    """
    by_class: dict[str, str] = {}
    for format in DATA_FORMATS.values():
        names = format.serdes
        if format.is_hives:
            names = (*names, format.classes.input, format.classes.output)
        by_class |= {name.lower(): format.name for name in names}
    for refused in REFUSED_FORMATS.values():
        by_class |= {name.lower(): refused.name for name in refused.classes}
    return by_class


def format_of_serde(serde: str) -> DataFormat | None:
    """Returns the format whose rows a class of Hive reads and writes, by its exact name; ``None`` if there is none."""
    return next((format for format in DATA_FORMATS.values() if serde in format.serdes), None)
