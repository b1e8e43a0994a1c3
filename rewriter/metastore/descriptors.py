"""Tables, views and partitions as Thrift structures, and back.

The catalog has columns, format, location, comment and parameters. All else that a client gave (its owner, the classes
of its format, …) is kept as JSON in the property ``KEPT``, and clients get it back. A table that SQL made has no such
property: it gets the descriptor that Hive would give it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewriter.catalog.commit.exposures import EXPOSED, NOTHING, table_directory
from rewriter.catalog.commit.reserved_properties import COMMENT
from rewriter.catalog.keys.paths import default_directory
from rewriter.catalog.keys.values import DEFAULT_PARTITION
from rewriter.catalog.model.column_statistics import WRITTEN_BY_CLIENTS
from rewriter.catalog.model.objects import Column, Partition, Table, View, full_name, parts_of
from rewriter.catalog.model.row_formats import HEADER_LINES, SERDE_PROPERTY, TEXTFILE
from rewriter.catalog.model.stored_paths import MOVING
from rewriter.catalog.table_definitions import check_definition, check_view, has_known_type
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import DataError, NotSupportedError
from rewriter.metastore.formats import PROVIDER, catalog_format, hive_format, row_properties
from rewriter.metastore.wire.interface import structure
from rewriter.uris import is_in_store, normalize_uri, shown

#: The one catalog in which Hive 3 and later have their databases.
CATALOG = "hive"
#: The property with what only clients need. It is not shown to them.
KEPT = "rewriter.metastore"
#: The property with column statistics (``column_statistics``). Clients get it by calls of its own.
STATISTICS = "rewriter.metastore.statistics"
#: The properties that clients do not see.
HIDDEN = frozenset({KEPT, STATISTICS, WRITTEN_BY_CLIENTS})
#: The location in the options of a table that Spark made.
_PATH = "path"
#: URIs of file systems that are not read here.
_FOREIGN = re.compile(r"(?P<scheme>[A-Za-z][\w+.-]*)://")
MANAGED, EXTERNAL, VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"
PURGE = "external.table.purge"
#: The parameters by which clients know what a table of SQL is.
_OF_EXTERNAL = {"EXTERNAL": "TRUE"}
_OF_MANAGED = {"transactional": "true", "transactional_properties": "insert_only"}
SYNTHETIC = frozenset({*_OF_EXTERNAL, *_OF_MANAGED})
#: The fields of a table and of its descriptor that the catalog does not have.
_TABLE_FIELDS = ("owner", "ownerType", "createTime", "lastAccessTime", "retention", "tableType")
_DESCRIPTOR_FIELDS = ("inputFormat", "outputFormat", "compressed", "numBuckets", "bucketCols", "storedAsSubDirectories")

#: Lines of text files that Hive skips, and readers here do not.
_SKIPPED = ("skip.header.line.count", "skip.footer.line.count")
#: Types of Hive and Spark that no column has here.
_OTHER_TYPE = re.compile(
    r"void|variant|time(\(\d+\))?|timestamp_(ntz|ltz)(\(\d+\))?|timestamp with local time zone|interval[\w ()]*|"
    r"(string|char\(\d+\)|varchar\(\d+\)) collate \w+|uniontype<.*>|geography\(.*\)|geometry\(.*\)|decimal",
    re.DOTALL | re.IGNORECASE,
)

_Table: Any = structure("Table")
_Partition: Any = structure("Partition")
_Descriptor: Any = structure("StorageDescriptor")
_Serde: Any = structure("SerDeInfo")
_Field: Any = structure("FieldSchema")
_Order: Any = structure("Order")
_Skewed: Any = structure("SkewedInfo")
_Cluster: Any = structure("ClusterDescriptor")


def uri(location: str) -> str:
    """Returns a location as Hive writes it: a path is a URI of files, and S3 has the scheme of Hadoop."""
    if location.startswith("s3://"):
        return f"s3a{location[2:]}"
    return f"file:{location}" if location.startswith("/") else location


def path(location: str) -> str:
    """Returns a location of Hive as the catalog keeps it: an absolute path, or a URI.

    Raises ``DataError`` INVALID_LOCATION for others, for paths with dots, and for URIs that ``normalize_uri`` refuses.
    """
    if location.startswith("file:"):
        location = "/" + location.removeprefix("file:").lstrip("/")
    shortened = location.rstrip("/") or "/"
    try:
        if is_in_store(shortened):
            return normalize_uri(shortened)
        if "\0" in location or "@" in location or not (_is_plain_path(shortened) or _FOREIGN.match(shortened)):
            raise ValueError("it is no absolute path without dots, and no URI")
    except ValueError as error:
        raise DataError(
            f"The location '{shown(location)}' is not supported: {error}.",
            condition="INVALID_LOCATION",
            object=shown(location),
            hint="Write file:/path, without dots, or a URI such as s3a://bucket/directory.",
        ) from None
    return shortened


def _is_plain_path(location: str) -> bool:
    return location.startswith("/") and os.path.normpath(location) == location


def stated_location(given: Any) -> str | None:
    """Returns the location of a table as a client writes it, or ``None`` if it names none.

    Spark reads a table that it made by USING at the path in its options; the location beside it may be a placeholder.
    """
    descriptor = given.sd
    options = (descriptor.serdeInfo.parameters if descriptor.serdeInfo is not None else None) or {}
    is_of_spark = (given.parameters or {}).get(PROVIDER, "hive").lower() != "hive"
    return (options.get(_PATH) if is_of_spark else None) or descriptor.location or None


def location_of(given: Any) -> str | None:
    """Returns ``stated_location`` as the catalog keeps locations. Raises the errors of ``path``."""
    location = stated_location(given)
    return path(location) if location else None


def kept(properties: Mapping[str, str]) -> dict[str, Any]:
    """Returns what only clients need, of a table, view or partition; nothing for one that SQL made."""
    try:
        values = json.loads(properties.get(KEPT, "{}"))
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def parameters_of(table: Table | View) -> dict[str, str]:
    """Returns the parameters of a table or view as clients see them."""
    parameters = {
        key: value
        for key, value in table.properties.items()
        if key not in HIDDEN and not key.startswith((SERDE_PROPERTY, MOVING))
    }
    if table.comment is not None:
        parameters[COMMENT] = table.comment
    if isinstance(table, Table) and KEPT not in table.properties:
        parameters = (_OF_EXTERNAL if table.external else _OF_MANAGED) | parameters
    return parameters


def _properties_of(given: Any) -> tuple[dict[str, str], str | None]:
    """Returns the properties and the comment of a table or view that a client gives."""
    parameters = dict(given.parameters or {})
    comment = parameters.pop(COMMENT, None)
    values: dict[str, Any] = {name: getattr(given, name) for name in _TABLE_FIELDS}
    descriptor = given.sd or _Descriptor()
    values |= {name: getattr(descriptor, name) for name in _DESCRIPTOR_FIELDS}
    values["sd"] = dict(descriptor.parameters or {})
    values["sort"] = [[order.col, order.order] for order in descriptor.sortCols or ()]
    serde = descriptor.serdeInfo or _Serde()
    values["serde"] = [serde.name, serde.serializationLib, dict(serde.parameters or {})]
    if parameters.get(PROVIDER) is not None or given.tableType == VIEW:
        values["cols"] = [[c.name, c.type, c.comment] for c in descriptor.cols or ()]
    if descriptor.location and given.tableType != VIEW and path(descriptor.location) != location_of(given):
        values["location"] = descriptor.location
    if given.tableType == VIEW:
        values["expanded"] = given.viewExpandedText
        values["query"] = str(given.viewOriginalText or given.viewExpandedText or "")
    text = json.dumps({name: value for name, value in values.items() if value is not None}, ensure_ascii=False)
    return {**parameters, KEPT: text}, comment


def catalog_table(given: Any, id: int, location: str) -> Table:
    """Returns the table of the catalog that a client describes. It is external.

    Raises ``DataError`` for columns that it cannot have.
    """
    properties, comment = _properties_of(given)
    descriptor = given.sd
    serde = descriptor.serdeInfo or _Serde()
    options = dict(serde.parameters or {})
    provider = properties.get(PROVIDER)
    rows = options | {key: properties[key] for key in _SKIPPED if properties.get(key, "").strip() not in ("", "0")}
    format = catalog_format(descriptor.inputFormat or "", serde.serializationLib or "", rows, provider)
    partition_columns = tuple(map(_column, given.partitionKeys or ()))
    columns = _columns_of_spark(properties, partition_columns) if provider is not None else None
    if columns is None:
        columns = tuple(map(_column, descriptor.cols or ()))
    if format == TEXTFILE:
        properties |= row_properties(options)
    format = _name_obstacles(format, columns, properties, location)
    if _has_constraints(properties) or descriptor.bucketCols:
        properties[WRITTEN_BY_CLIENTS] = "true"
    name = full_name(str(given.dbName or "default"), str(given.tableName or ""))
    table = Table(id, name, columns, partition_columns, format, location, True, comment, properties)
    check_definition(table, None)
    for column in columns:
        _check_type(column)
    return table


def _name_obstacles(format: str, columns: Sequence[Column], properties: Mapping[str, str], location: str) -> str:
    """Returns the name of a format with what keeps the table from being read here: no format of the project has it."""
    if format in DATA_FORMATS and not all(map(has_known_type, columns)):
        format = f"{format} with other types"
    if _has_defaults(properties):
        format = f"{format} with default values"
    foreign = None if location.startswith("s3://") else _FOREIGN.match(location)
    return format if foreign is None else f"{format} on {foreign['scheme']}"


def _check_type(column: Column) -> None:
    """Raises ``DataError`` INVALID_COLUMN for a type that neither this project nor Hive or Spark has."""
    if not has_known_type(column) and _OTHER_TYPE.fullmatch(column.type) is None:
        raise DataError(
            f"The column {column.name} has the type {column.type}, which does not exist.",
            condition="INVALID_COLUMN",
            object=column.name,
            hint="Use a type of Hive or Spark.",
        )


def _column(field: Any) -> Column:
    if not field.name or not field.type:
        raise DataError("A column needs a name and a type.", condition="INVALID_COLUMN")
    return Column(str(field.name), str(field.type), field.comment or None)


def _fields_of(columns: Sequence[Column]) -> list[Any]:
    """Returns columns as Thrift has them. Hive's names are in lower case."""
    return [_Field(name=column.name.lower(), type=column.type, comment=column.comment) for column in columns]


def thrift_table(table: Table, created: float | None) -> Any:
    """Returns a table as clients see it. ``created`` is in seconds since 1970, for a table that SQL made."""
    values = kept(table.properties)
    database, name = parts_of(table.name)
    return _Table(
        tableName=name.lower(),
        dbName=database,
        owner=values.get("owner", ""),
        ownerType=values.get("ownerType", 1),
        createTime=values.get("createTime") or int(created or 0),
        lastAccessTime=values.get("lastAccessTime") or 0,
        retention=values.get("retention") or 0,
        sd=descriptor_of(table, values),
        partitionKeys=_fields_of(table.partition_columns),
        parameters=parameters_of(table),
        tableType=values.get("tableType", EXTERNAL if table.external else MANAGED),
        catName=CATALOG,
        temporary=False,
        rewriteEnabled=False,
        writeId=-1,
    )


def as_exposed(table: Table, warehouse: str) -> Table:
    """Returns a managed table that is exposed as clients without a list of write ids see it: as an external one.

    Its location is above the locations of its partitions, each of which has its own in ``PartitionMaker``.
    """
    properties = {key: value for key, value in table.properties.items() if key not in {*HIDDEN, *SYNTHETIC}}
    location = table_directory(warehouse, table.id)
    return replace(table, external=True, location=location, properties=properties, cluster=None, copies=())


def at_exposed(table: Table, partition: Partition | None) -> Table:
    """Returns an unpartitioned table of ``as_exposed`` at the directory of its one partition, if it has one."""
    exposed = None if partition is None else partition.properties.get(EXPOSED)
    return replace(table, location=f"{table.location}/{exposed or NOTHING}")


def descriptor_of(table: Table, values: Mapping[str, Any], location: str | None = None) -> Any:
    """Returns the storage descriptor of a table, or of its partition at another location."""
    classes = hive_format(table.format)
    serde_name, library, options = values.get("serde") or (None, classes.serde, _row_options(table))
    if _PATH in options:  # Spark reads the table there.
        options = {**options, _PATH: uri(table.location)}
    fields = values.get("cols")
    return _Descriptor(
        cols=_fields_of(table.columns_in_files)  # Clients read the files themselves.
        if fields is None
        else [_Field(name=name, type=type, comment=comment) for name, type, comment in fields],
        location=values.get("location") or uri(table.location) if location is None else uri(location),
        inputFormat=values.get("inputFormat") or classes.input,
        outputFormat=values.get("outputFormat") or classes.output,
        compressed=values.get("compressed") or False,
        numBuckets=values.get("numBuckets", -1),
        serdeInfo=_Serde(name=serde_name, serializationLib=library, parameters=options),
        bucketCols=values.get("bucketCols") or [],
        sortCols=[_Order(col=column, order=order) for column, order in values.get("sort") or ()],
        parameters=values.get("sd") or {},
        skewedInfo=_no_skew(),
        storedAsSubDirectories=values.get("storedAsSubDirectories") or False,
        primaryCluster=None
        if table.cluster is None
        else _Cluster(clusterName=table.cluster, location=uri(table.location)),
        secondaryClusters=[_Cluster(clusterName=copy.cluster, location=uri(copy.location)) for copy in table.copies]
        or None,
    )


def _row_options(table: Table) -> dict[str, str]:
    options = {name: value for name, value in table.file_options.items() if name != HEADER_LINES}
    return {"serialization.format": options.get("field.delim", "1"), **options}


def is_of_client(view: View) -> bool:
    """Returns whether a view has the query that a client gave: then its columns and their types are known."""
    return kept(view.properties).get("query") == view.query


def thrift_view(view: View) -> Any:
    """Returns a view as clients see it.

    Raises ``NotSupportedError`` for a view whose query is of a session: clients need the types of its columns, which
    the catalog does not have.
    """
    if not is_of_client(view):
        raise NotSupportedError(
            f"The query of the view {view.name} was written in a session of SQL, and its columns have no types here.",
            object=view.name,
            hint="Create the view in the client, which says what its columns are.",
        )
    values = kept(view.properties)
    database, name = parts_of(view.name)
    serde_name, library, options = values["serde"]
    return _Table(
        tableName=name.lower(),
        dbName=database,
        owner=values.get("owner", ""),
        ownerType=values.get("ownerType", 1),
        createTime=values.get("createTime") or 0,
        lastAccessTime=0,
        retention=0,
        sd=_Descriptor(
            cols=[_Field(name=name, type=type, comment=comment) for name, type, comment in values.get("cols", ())],
            inputFormat=values.get("inputFormat"),
            outputFormat=values.get("outputFormat"),
            compressed=False,
            numBuckets=-1,
            serdeInfo=_Serde(name=serde_name, serializationLib=library, parameters=options),
            bucketCols=[],
            sortCols=[],
            parameters={},
            skewedInfo=_no_skew(),
            storedAsSubDirectories=False,
        ),
        partitionKeys=[],
        parameters=parameters_of(view),
        viewOriginalText=view.query,
        viewExpandedText=values.get("expanded") or view.query,
        tableType=VIEW,
        catName=CATALOG,
        temporary=False,
        rewriteEnabled=False,
        writeId=-1,
    )


def _no_skew() -> Any:
    return _Skewed(skewedColNames=[], skewedColValues=[], skewedColValueLocationMaps={})


def catalog_view(given: Any, id: int) -> View:
    """Returns the view of the catalog that a client describes. Its columns get the names that the client gives.

    Raises the errors of ``check_view``.
    """
    properties, comment = _properties_of(given)
    database = str(given.dbName or "default")
    current = properties.get("view.catalogAndNamespace.part.1", database)
    fields = given.sd.cols if given.sd is not None else ()
    columns = tuple((str(field.name), field.comment or None) for field in fields or ())
    text = str(given.viewOriginalText or given.viewExpandedText or "")
    name = full_name(database, str(given.tableName))
    check_view(name, text)
    return View(id, name, text, columns, comment, properties, current.lower())


class PartitionMaker:
    """Makes the Thrift structures of a table's partitions, which share all but a few fields.

    ``descriptor`` is the table's.
    """

    def __init__(self, table: Table, created: float | None = None) -> None:
        self.table = table
        self._database, name = parts_of(table.name)
        self._name = name.lower()
        self._values = kept(table.properties)
        self.descriptor = descriptor_of(table, self._values)
        self._shared = self.descriptor.__dict__
        self._created = self._values.get("createTime") or int(created or 0)

    def partition(self, partition: Partition) -> Any:
        """Returns a partition as clients see it. Some microseconds."""
        table = self.table
        location = partition.location
        if location is None:
            # Only the table that ``as_exposed`` makes is external, and has partitions with this property.
            exposed = partition.properties.get(EXPOSED) if table.external else None
            location = f"{table.location}/{exposed}" if exposed else default_directory(table, partition.values)
        values = kept(partition.properties) if KEPT in partition.properties else {}
        descriptor = _Descriptor.__new__(_Descriptor)
        descriptor.__dict__.update(self._shared, location=uri(location), numBuckets=values.get("numBuckets", 0))
        parameters = {key: value for key, value in partition.properties.items() if not is_hidden_of_partition(key)}
        return _Partition(
            values=[DEFAULT_PARTITION if value is None else value for value in partition.values],
            dbName=self._database,
            tableName=self._name,
            createTime=values.get("createTime", self._created),
            lastAccessTime=values.get("lastAccessTime", 0),
            sd=descriptor,
            parameters=parameters,
            catName=CATALOG,
            writeId=-1,
        )


def has_same_rows(descriptor: Any, of_table: Any) -> bool:
    """Returns whether the files of a partition are read as the files of its table: by the classes of the same format,
    and with the same separators of text files. A descriptor that names no classes is the table's.
    """
    serde = descriptor.serdeInfo
    library = None if serde is None else serde.serializationLib
    if descriptor.inputFormat not in (None, of_table.inputFormat):
        return False
    if library is None:
        return True
    if library != of_table.serdeInfo.serializationLib:
        return False
    is_text = of_table.inputFormat == hive_format(TEXTFILE).input
    options = (serde.parameters or {}, of_table.serdeInfo.parameters or {})
    return not is_text or row_properties(options[0]) == row_properties(options[1])


def is_hidden_of_partition(key: str) -> bool:
    """Returns whether clients do not see a property of a partition: they neither change nor remove it."""
    return key.startswith("rewriter.")


def partition_properties(given: Any, now: float) -> dict[str, str]:
    """Returns the properties of a partition that a client gives."""
    parameters = {key: value for key, value in (given.parameters or {}).items() if key not in HIDDEN}
    values = {"createTime": given.createTime or int(now)}
    if given.lastAccessTime:
        values["lastAccessTime"] = given.lastAccessTime
    if given.sd is not None and given.sd.numBuckets:
        values["numBuckets"] = given.sd.numBuckets
    return {**parameters, KEPT: json.dumps(values)}


# The columns of a table that Spark made by ``USING``, which are in its properties as JSON.
#
# The columns of its descriptor are those only if Hive could read the files; otherwise there is one column, ``col``.

_SCHEMA = "spark.sql.sources.schema"
_TYPES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


def _has_defaults(properties: Mapping[str, str]) -> bool:
    """Returns whether a column has a default value: then older files are to be read with it, which is not done here."""
    return any('"EXISTS_DEFAULT"' in text or '"CURRENT_DEFAULT"' in text for text in _texts(properties))


def _has_constraints(properties: Mapping[str, str]) -> bool:
    """Returns whether rows must obey what is not checked here: buckets, or columns without NULL."""
    is_bucketed = f"{_SCHEMA}.numBuckets" in properties
    return is_bucketed or any('"nullable":false' in text for text in _texts(properties))


def _texts(properties: Mapping[str, str]) -> list[str]:
    return [text for key, text in properties.items() if key == _SCHEMA or key.startswith(f"{_SCHEMA}.part.")]


def _columns_of_spark(properties: Mapping[str, str], partition_columns: Sequence[Column]) -> tuple[Column, ...] | None:
    """Returns the data columns of a table's properties, or ``None`` if they have none that the catalog can have."""
    text = properties.get(_SCHEMA)
    if text is None and f"{_SCHEMA}.numParts" in properties:
        count = properties[f"{_SCHEMA}.numParts"]
        text = "".join(properties.get(f"{_SCHEMA}.part.{n}", "") for n in range(int(count) if count.isdigit() else 0))
    partitioned = {column.name.lower() for column in partition_columns}
    try:
        fields = json.loads(text or "{}").get("fields", ())
        columns = tuple(
            Column(str(field["name"]), _type(field), field.get("metadata", {}).get("comment"))
            for field in fields
            if str(field["name"]).lower() not in partitioned
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return columns or None


def _type(field: Mapping[str, Any]) -> str:
    """Returns the type of a field. CHAR and VARCHAR are in its metadata."""
    stated = field.get("metadata", {}).get("__CHAR_VARCHAR_TYPE_STRING")
    return str(stated) if stated else _spelled(field["type"])


def _spelled(type: Any) -> str:
    if isinstance(type, str):
        return _TYPES.get(type, type)
    kind = type["type"]
    if kind == "array":
        return f"array<{_spelled(type['elementType'])}>"
    if kind == "map":
        return f"map<{_spelled(type['keyType'])},{_spelled(type['valueType'])}>"
    return "struct<" + ",".join(f"{field['name']}:{_type(field)}" for field in type["fields"]) + ">"
