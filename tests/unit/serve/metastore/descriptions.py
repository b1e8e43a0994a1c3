"""Descriptions of tables, views and partitions, as clients of a metastore send them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pymetastore.hive_metastore import ttypes

MANAGED, EXTERNAL, VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"
_QL = "org.apache.hadoop.hive.ql.io"
PARQUET = (
    f"{_QL}.parquet.MapredParquetInputFormat",
    f"{_QL}.parquet.MapredParquetOutputFormat",
    f"{_QL}.parquet.serde.ParquetHiveSerDe",
)
ORC = (f"{_QL}.orc.OrcInputFormat", f"{_QL}.orc.OrcOutputFormat", f"{_QL}.orc.OrcSerde")


def fields(columns: Mapping[str, str]) -> list[Any]:
    return [ttypes.FieldSchema(name, type, None) for name, type in columns.items()]


def descriptor(
    columns: Mapping[str, str], location: str | None, classes: tuple[str, str, str] = PARQUET, **others: Any
) -> Any:
    input, output, serde = classes
    return ttypes.StorageDescriptor(
        cols=fields(columns),
        location=location,
        inputFormat=input,
        outputFormat=output,
        serdeInfo=ttypes.SerDeInfo(serializationLib=serde, parameters={}),
        **others,
    )


def table(
    name: str,
    columns: Mapping[str, str] | None = None,
    keys: Mapping[str, str] | None = None,
    location: object = None,
    kind: str = MANAGED,
    database: str = "default",
    parameters: Mapping[str, str] | None = None,
) -> Any:
    place = None if location is None else f"file:{location}"
    return ttypes.Table(
        dbName=database,
        tableName=name,
        tableType=kind,
        partitionKeys=fields(keys or {}),
        parameters=dict(parameters or {}),
        sd=descriptor(columns or {"a": "int"}, place),
    )


def view(name: str, text: str = "SELECT 1 AS a", database: str = "default", **parameters: str) -> Any:
    given = table(name, kind=VIEW, database=database, parameters=parameters)
    given.viewOriginalText = given.viewExpandedText = text
    return given


def partition(
    name: str,
    values: Sequence[str],
    location: object = None,
    parameters: Mapping[str, str] | None = None,
    database: str = "default",
) -> Any:
    place = None if location is None else ttypes.StorageDescriptor(location=f"file:{location}")
    return ttypes.Partition(
        values=list(values), dbName=database, tableName=name, sd=place, parameters=dict(parameters or {})
    )


def changed(given: Any, **values: Any) -> Any:
    """Returns a copy of a structure with other values in some fields."""
    result = copy.deepcopy(given)
    for name, value in values.items():
        setattr(result, name, value)
    return result
