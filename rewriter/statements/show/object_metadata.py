"""Metadata of a table, a view or a partition, as labelled values: one list for rows of text and for JSON.

Labels and their order are Spark's; our own values come after them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.keys.values import DEFAULT_PARTITION
from rewriter.catalog.model.column_statistics import without_statistics
from rewriter.catalog.model.key_ranges import KeyRange, outside
from rewriter.catalog.model.stored_paths import is_in
from rewriter.catalog.model.stored_rows import damaged_partition
from rewriter.catalog.model.temporary_views import place_of
from rewriter.catalog.storage.data_files import directory
from rewriter.data_formats import TEXTFILE, known_format
from rewriter.errors import Error
from rewriter.exec.formats.csv_dialects import shown_options
from rewriter.lazy_dataclass import dataclass
from rewriter.statements.resolve.type_trees import draw_schema, type_json, type_tree
from rewriter.statements.show.content_statistics import ContentStatistics, statistics_of
from rewriter.statements.show.listings import type_of, type_of_view
from rewriter.uris import bucket_and_key, is_uri

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Partition, Table, View
    from rewriter.runtime.statement_context import Context

#: Spark's name of the only catalog.
CATALOG = "spark_catalog"
UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Moment:
    """An instant in seconds since 1970; ``None`` where it is unknown."""

    seconds: float | None

    @property
    def _time(self) -> datetime | None:
        return None if self.seconds is None else datetime.fromtimestamp(self.seconds, UTC)

    def __str__(self) -> str:
        """Returns the date as Java writes it: ``Sun Nov 22 00:11:34 UTC 2026``."""
        if self._time is None:
            return UNKNOWN
        # The names of days and months are English whatever the locale.
        return f"{self._time.ctime()[:7]} {self._time:%d %H:%M:%S} UTC {self._time:%Y}"

    @property
    def iso(self) -> str:
        """Returns the date as in JSON: ``2026-11-22T00:11:34Z``."""
        return UNKNOWN if self._time is None else f"{self._time:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True)
class Volume:
    """A number of bytes, and of rows if it is known."""

    bytes: int
    rows: int | None

    def __str__(self) -> str:
        return f"{self.bytes} bytes" + ("" if self.rows is None else f", {self.rows} rows")

    @property
    def json(self) -> dict[str, int]:
        """Returns the JSON form."""
        return {"size_in_bytes": self.bytes} | ({} if self.rows is None else {"num_rows": self.rows})


#: Texts, numbers, names in a list, named texts (``None`` is NULL), moments and volumes, by label.
Value = str | bool | int | tuple[str, ...] | Mapping[str, str | None] | Moment | Volume
Metadata = dict[str, Value]


def value_text(value: Value) -> str:
    """Returns a value as in a row of DESCRIBE."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        names = ("`" + name.replace("`", "``") + "`" for name in value)
        return f"[{', '.join(names)}]"
    if isinstance(value, Mapping):
        return f"[{', '.join(f'{key}={DEFAULT_PARTITION if v is None else v}' for key, v in value.items())}]"
    return str(value)


def value_json(value: Value) -> object:
    """Returns a value as in JSON."""
    if isinstance(value, Moment):
        return value.iso
    if isinstance(value, Volume):
        return value.json
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def table_metadata(table: Table, context: Context, storage: bool = False) -> Metadata:
    """Returns the metadata of a table that Spark has, too; with ``storage`` also its storage, as in Hive.

    Lists the files of an external table.
    """
    content = statistics_of(table, None, context)
    return {
        **_identity(table, context),
        "Type": type_of(table),
        "Provider": table.format,
        **_described(table),
        **({"Statistics": Volume(content.bytes, content.rows)} if content.files else {}),
        "Location": table.location,
        **(storage_metadata(table) if storage else {}),
        **({"Partition Provider": "Catalog"} if table.partition_columns else {}),
        **_partition_columns(table),
    }


def names_of(relation: Table | View) -> Metadata:
    """Returns database and name; a temporary table is in no database, and has no such row."""
    database, name = place_of(relation.name)
    return {**({"Database": database} if database else {}), "Table": name}


def view_metadata(view: View, context: Context) -> Metadata:
    """Returns the metadata of a view that Spark has, too."""
    return {**_identity(view, context), "Type": type_of_view(view), **_described(view), "View Text": view.query}


def storage_metadata(table: Table) -> Metadata:
    """Returns the classes with which Hive reads and writes the files of a table; nothing for a format without any."""
    data_format = known_format(table.format)
    if data_format is None:
        return {}
    classes = data_format.classes
    metadata: Metadata = {
        "Serde Library": classes.serde,
        "InputFormat": classes.input,
        "OutputFormat": classes.output,
    }
    if table.file_options and data_format is not TEXTFILE:
        metadata["Storage Properties"] = shown_options(table.file_options)
    return metadata


def own_table_metadata(table: Table, context: Context) -> Metadata:
    """Returns the metadata of a table that only this catalog has."""
    metadata: Metadata = {}
    fact = context.snapshot.fact_using(table.name)
    if fact is not None:
        metadata["Fact"] = fact.name
    partitions = context.snapshot.partitions(table)
    if table.partition_columns:
        metadata["Partitions"] = "discovered" if is_discovered(table) else len(partitions)
    if not table.external:
        # A packed file is one file of several partitions.
        metadata["Files"] = len({file.path for _, file in context.snapshot.files(table)})
        metadata["Valid write ids"] = str(context.snapshot.write_ids(table.id))
    return metadata | _clusters(table, partitions, context)


def _clusters(table: Table, partitions: Sequence[Partition], context: Context) -> Metadata:
    """Returns the primary cluster of a table, and how many of these partitions each secondary one has, with its
    location; nothing without clusters.
    """
    primary = context.clusters.primary_of(table)
    if primary is None:
        return {}
    keys = [partition.key for partition in partitions]
    secondary = {
        copy.cluster: f"{len(keys) - len(outside(keys, context.snapshot.copied_ranges(table, copy.cluster)))} of "
        f"{len(keys)} partitions, {copy.location}"
        for copy in table.copies
    }
    return {"Primary Cluster": primary, **({"Secondary Clusters": secondary} if secondary else {})}


def partition_metadata(table: Table, partition: Partition, context: Context, storage: bool = False) -> Metadata:
    """Returns the metadata of a partition that Spark has, too; with ``storage`` also its storage, as in Hive."""
    content = statistics_of(table, partition, context)
    history = context.snapshot.history(table, partition.key)
    created, changed_at = (None, None) if history is None else (history.created, history.changed)
    stored: Metadata = {**storage_metadata(table), "Compressed": False} if storage else {}
    return {
        "Partition Values": partition_values(table, partition),
        "Location": partition_location(table, partition, context),
        **stored,
        "Partition Parameters": _parameters(partition, content, changed_at),
        "Created Time": Moment(created),
        "Last Access": UNKNOWN,
        **({"Partition Statistics": Volume(content.bytes, content.rows)} if content.files else {}),
    }


def own_partition_metadata(table: Table, partition: Partition, context: Context) -> Metadata:
    """Returns the metadata of a partition that only this catalog has: its last write, and its freshness."""
    metadata: Metadata = {}
    history = context.snapshot.history(table, partition.key)
    if history is not None:
        metadata["Write Id"] = history.write_id
    fact = context.snapshot.fact_using(table.name)
    storage_table = fact.storage_table(table.name) if fact is not None else None
    if fact is not None and storage_table is not None:
        metadata["Fact"] = fact.name
        state = _freshness(TimeBinding(fact, storage_table, table), partition, context)
        metadata |= {} if state is None else {"Freshness": state}
    return metadata | _clusters_of_partition(table, partition, context)


def _clusters_of_partition(table: Table, partition: Partition, context: Context) -> Metadata:
    """Returns the primary cluster of a partition, and the secondary ones that have it, with their locations."""
    primary = context.clusters.primary_of(table)
    if primary is None:
        return {}
    held = {
        copy.cluster: copy.location
        for copy in table.copies
        if not outside([partition.key], context.snapshot.copied_ranges(table, copy.cluster))
    }
    return {"Primary Cluster": primary, **({"Secondary Clusters": held} if held else {})}


def partition_values(table: Table, partition: Partition) -> dict[str, str | None]:
    """Returns the values of a partition by the names of their columns."""
    names = [column.name for column in table.partition_columns]
    return dict(zip(names, partition.values, strict=True))


def partition_location(table: Table, partition: Partition, context: Context) -> str:
    """Returns the directory of a partition.

    For a managed table this is the deepest directory that holds all of its files, because each write has its own.
    Without files it is the table's.
    """
    if table.external:
        return directory(table, partition)
    if not partition.files:
        return table.location
    files = context.snapshot.files(table, [KeyRange.of_key(partition.key)])
    if not files:
        raise damaged_partition(table.name, "its files do not exist")
    directories = [os.path.dirname(file.path) for _, file in files]
    if not any(map(is_uri, directories)):
        return os.path.commonpath(directories)
    is_here = all(is_in(path, table.location) for path in directories)
    # The first slash stands for the scheme, which ``commonpath`` would take for a level.
    common = os.path.commonpath([f"/{bucket_and_key(path)}" for path in directories]) if is_here else ""
    return f"{table.location.partition('://')[0]}:/{common}" if is_here else table.location


def columns_json(columns: Sequence[Column]) -> list[dict[str, object]]:
    """Returns columns as in JSON; an unknown type is left out."""
    return [
        {
            "name": column.name,
            **({"type": type_json(type_tree(column.type))} if column.type else {}),
            "nullable": not column.not_null,
            **({} if column.comment is None else {"comment": column.comment}),
            **({} if column.default is None else {"default": column.default}),
        }
        for column in columns
    ]


def schema_text(metadata: Metadata, schema: str) -> str:
    """Returns labelled lines and a drawn schema, as in SHOW TABLE EXTENDED."""
    lines = [f"{label}: {value_text(value)}" for label, value in metadata.items()]
    return "\n".join([*lines, *([f"Schema: {schema}"] if schema else [])]) + "\n"


def table_text(table: Table, context: Context) -> str:
    """Returns a table as in SHOW TABLE EXTENDED."""
    return schema_text(table_metadata(table, context), draw_schema(table.all_columns))


def _identity(relation: Table | View, context: Context) -> Metadata:
    return {
        "Catalog": CATALOG,
        **names_of(relation),
        "Created Time": Moment(context.snapshot.created(relation)),
        "Last Access": UNKNOWN,
        "Created By": "rewriter",
    }


def _described(relation: Table | View) -> Metadata:
    properties = dict(sorted(without_statistics(relation.properties).items()))
    return {
        **({} if relation.comment is None else {"Comment": relation.comment}),
        **({"Table Properties": properties} if properties else {}),
    }


def _partition_columns(table: Table) -> Metadata:
    names = tuple(column.name for column in table.partition_columns)
    return {"Partition Columns": names} if names else {}


def _parameters(partition: Partition, size: ContentStatistics, changed_at: float | None) -> dict[str, str | None]:
    parameters = {
        **without_statistics(partition.properties),
        "numFiles": str(size.files),
        "totalSize": str(size.bytes),
    }
    if size.files and size.rows is not None:
        parameters["numRows"] = str(size.rows)
    if changed_at is not None:
        parameters["transient_lastDdlTime"] = str(int(changed_at))
    return dict(sorted(parameters.items()))


def _freshness(binding: TimeBinding, partition: Partition, context: Context) -> str | None:
    """Returns the state of a partition's period in the timelines of its table; ``None`` if it names no period."""
    try:
        slot = binding.locate(partition.values)
    except Error:
        return None
    if slot is None:
        return None
    timeline_key = (binding.table.name, slot.period, binding.time_key)
    if context.snapshot.timeline(*timeline_key).exists(slot.ordinal):
        return "fresh"
    for state, line in (
        ("outdated", context.snapshot.outdated),
        ("unproven", context.snapshot.unproven),
        ("open", context.snapshot.open),
    ):
        if line(*timeline_key).exists(slot.ordinal):
            return state
    return "incomplete"
