"""What is known of a table, a view or a partition, as labelled values: one list for rows of text and for JSON.

Labels and their order are Spark's; what only we know comes after it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rewriter.catalog.binding import TimeBinding
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Column, Partition, Table, View
from rewriter.catalog.partition_paths import is_discovered
from rewriter.catalog.statistics import without_statistics
from rewriter.catalog.temporary import place_of
from rewriter.catalog.values import DEFAULT_PARTITION
from rewriter.context import Context
from rewriter.errors import Error
from rewriter.files import directory
from rewriter.known import Known, known_of
from rewriter.showing import type_of
from rewriter.typetrees import drawn, type_json, type_tree

#: Spark's name of the only catalog.
CATALOG = "spark_catalog"
UNKNOWN = "UNKNOWN"

_HADOOP = "org.apache.hadoop"
_PARQUET, _ORC = f"{_HADOOP}.hive.ql.io.parquet", f"{_HADOOP}.hive.ql.io.orc"
_LINES = (f"{_HADOOP}.mapred.TextInputFormat", f"{_HADOOP}.hive.ql.io.HiveIgnoreKeyTextOutputFormat")
#: What Hive reads and writes our files with: serde, input format, output format.
_SERDES = {
    "parquet": (
        f"{_PARQUET}.serde.ParquetHiveSerDe",
        f"{_PARQUET}.MapredParquetInputFormat",
        f"{_PARQUET}.MapredParquetOutputFormat",
    ),
    "orc": (f"{_ORC}.OrcSerde", f"{_ORC}.OrcInputFormat", f"{_ORC}.OrcOutputFormat"),
    "csv": (f"{_HADOOP}.hive.serde2.OpenCSVSerde", *_LINES),
    "json": (f"{_HADOOP}.hive.serde2.JsonSerDe", *_LINES),
}


@dataclass(frozen=True)
class Moment:
    """An instant in seconds since 1970; ``None`` where it is not known."""

    seconds: float | None

    @property
    def _time(self) -> datetime | None:
        return None if self.seconds is None else datetime.fromtimestamp(self.seconds, UTC)

    def __str__(self) -> str:
        """As Java writes a date: ``Sun Nov 22 00:11:34 UTC 2026``."""
        if self._time is None:
            return UNKNOWN
        # The names of days and months are English whatever the locale.
        return f"{self._time.ctime()[:7]} {self._time:%d %H:%M:%S} UTC {self._time:%Y}"

    @property
    def iso(self) -> str:
        """As JSON has it: ``2026-11-22T00:11:34Z``."""
        return UNKNOWN if self._time is None else f"{self._time:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True)
class Volume:
    """Bytes, and rows where they are known."""

    bytes: int
    rows: int | None

    def __str__(self) -> str:
        return f"{self.bytes} bytes" + ("" if self.rows is None else f", {self.rows} rows")

    @property
    def json(self) -> dict[str, int]:
        """As JSON has it."""
        return {"size_in_bytes": self.bytes} | ({} if self.rows is None else {"num_rows": self.rows})


#: Texts, numbers, names in a list, named texts (``None`` is NULL), moments and volumes, by label.
Value = str | bool | int | tuple[str, ...] | Mapping[str, str | None] | Moment | Volume
Metadata = dict[str, Value]


def value_text(value: Value) -> str:
    """A value as a row of DESCRIBE has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        names = ("`" + name.replace("`", "``") + "`" for name in value)
        return f"[{', '.join(names)}]"
    if isinstance(value, Mapping):
        return f"[{', '.join(f'{key}={DEFAULT_PARTITION if v is None else v}' for key, v in value.items())}]"
    return str(value)


def value_json(value: Value) -> object:
    """A value as JSON has it."""
    if isinstance(value, Moment):
        return value.iso
    if isinstance(value, Volume):
        return value.json
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def table_metadata(table: Table, context: Context, storage: bool = False) -> Metadata:
    """What Spark knows of a table, too; with ``storage`` how it is stored, as Hive's tables have it there.

    Lists the files of an external table.
    """
    known = known_of(table, None, context)
    return {
        **_identity(table, context),
        "Type": type_of(table),
        "Provider": table.format,
        **_described(table),
        **({"Statistics": Volume(known.bytes, known.rows)} if known.files else {}),
        "Location": table.location,
        **(storage_metadata(table) if storage else {}),
        **({"Partition Provider": "Catalog"} if table.partition_columns else {}),
        **_partition_columns(table),
    }


def names_of(thing: Table | View) -> Metadata:
    """Database and name; a temporary table is in no database, and has no such row."""
    database, name = place_of(thing.name)
    return {**({"Database": database} if database else {}), "Table": name}


def view_metadata(view: View, context: Context) -> Metadata:
    """What Spark knows of a view, too."""
    return {**_identity(view, context), "Type": "VIEW", **_described(view), "View Text": view.query}


def storage_metadata(table: Table) -> Metadata:
    """What Hive reads and writes the files of a table with; nothing where that is not known."""
    return dict(zip(("Serde Library", "InputFormat", "OutputFormat"), _SERDES.get(table.format, ()), strict=False))


def own_table_metadata(table: Table, context: Context) -> Metadata:
    """What only this catalog knows of a table."""
    found: Metadata = {}
    fact = context.snapshot.fact_using(table.name)
    if fact is not None:
        found["Fact"] = fact.name
    partitions = context.snapshot.partitions(table)
    if table.partition_columns:
        found["Partitions"] = "discovered" if is_discovered(table) else len(partitions)
    if not table.external:
        found["Files"] = sum(partition.files for partition in partitions)
        found["Valid write ids"] = str(context.snapshot.write_ids(table.id))
    return found


def partition_metadata(table: Table, partition: Partition, context: Context, storage: bool = False) -> Metadata:
    """What Spark knows of a partition, too; with ``storage`` how it is stored, as Hive's tables have it there."""
    known = known_of(table, partition, context)
    history = context.snapshot.history(table, partition.key)
    created, changed = (None, None) if history is None else (history.created, history.changed)
    stored: Metadata = {**storage_metadata(table), "Compressed": False} if storage else {}
    return {
        "Partition Values": partition_values(table, partition),
        "Location": partition_location(table, partition, context),
        **stored,
        "Partition Parameters": _parameters(partition, known, changed),
        "Created Time": Moment(created),
        "Last Access": UNKNOWN,
        **({"Partition Statistics": Volume(known.bytes, known.rows)} if known.files else {}),
    }


def own_partition_metadata(table: Table, partition: Partition, context: Context) -> Metadata:
    """What only this catalog knows of a partition: the write that left it as it is, and whether it is fresh."""
    found: Metadata = {}
    history = context.snapshot.history(table, partition.key)
    if history is not None:
        found["Write Id"] = history.write_id
    fact = context.snapshot.fact_using(table.name)
    place = fact.storage_table(table.name) if fact is not None else None
    if fact is not None and place is not None:
        found["Fact"] = fact.name
        state = _freshness(TimeBinding(fact, place, table), partition, context)
        found |= {} if state is None else {"Freshness": state}
    return found


def partition_values(table: Table, partition: Partition) -> dict[str, str | None]:
    """The values of a partition by the names of their columns."""
    names = [column.name for column in table.partition_columns]
    return dict(zip(names, partition.values, strict=True))


def partition_location(table: Table, partition: Partition, context: Context) -> str:
    """The directory that a partition lies in.

    Of a managed table the deepest one that holds all of its files: each write has its own. Without files the table's.
    """
    if table.external:
        return directory(table, partition)
    if not partition.files:
        return table.location
    files = context.snapshot.files(table, [KeyRange.of_key(partition.key)])
    return os.path.commonpath([os.path.dirname(file.path) for _, file in files])


def columns_json(columns: Sequence[Column]) -> list[dict[str, object]]:
    """Columns as JSON has them; a type that is not known is left out."""
    return [
        {
            "name": column.name,
            **({"type": type_json(type_tree(column.type))} if column.type else {}),
            "nullable": True,
            **({} if column.comment is None else {"comment": column.comment}),
        }
        for column in columns
    ]


def schema_text(metadata: Metadata, schema: str) -> str:
    """Labelled lines and a drawn schema, as SHOW TABLE EXTENDED answers them."""
    lines = [f"{label}: {value_text(value)}" for label, value in metadata.items()]
    return "\n".join([*lines, *([f"Schema: {schema}"] if schema else [])]) + "\n"


def table_text(table: Table, context: Context) -> str:
    """A table as SHOW TABLE EXTENDED answers it."""
    return schema_text(table_metadata(table, context), drawn(table.all_columns))


def _identity(thing: Table | View, context: Context) -> Metadata:
    return {
        "Catalog": CATALOG,
        **names_of(thing),
        "Created Time": Moment(context.snapshot.created(thing)),
        "Last Access": UNKNOWN,
        "Created By": "rewriter",
    }


def _described(thing: Table | View) -> Metadata:
    properties = dict(sorted(without_statistics(thing.properties).items()))
    return {
        **({} if thing.comment is None else {"Comment": thing.comment}),
        **({"Table Properties": properties} if properties else {}),
    }


def _partition_columns(table: Table) -> Metadata:
    names = tuple(column.name for column in table.partition_columns)
    return {"Partition Columns": names} if names else {}


def _parameters(partition: Partition, known: Known, changed: float | None) -> dict[str, str | None]:
    found = {**without_statistics(partition.properties), "numFiles": str(known.files), "totalSize": str(known.bytes)}
    if known.files and known.rows is not None:
        found["numRows"] = str(known.rows)
    if changed is not None:
        found["transient_lastDdlTime"] = str(int(changed))
    return dict(sorted(found.items()))


def _freshness(binding: TimeBinding, partition: Partition, context: Context) -> str | None:
    """What the timelines of its table say of the period that a partition names; ``None`` where it names none."""
    try:
        slot = binding.locate(partition.values)
    except Error:
        return None
    if slot is None:
        return None
    place = (binding.table.name, slot.period, binding.time_key)
    if context.snapshot.timeline(*place).exists(slot.ordinal):
        return "fresh"
    return "outdated" if context.snapshot.outdated(*place).exists(slot.ordinal) else "incomplete"
