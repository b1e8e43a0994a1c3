"""The rows of system tables as Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from rewriter.catalog.catalog import not_found
from rewriter.exec.sql_types import arrow_type, parse_type
from rewriter.runtime.result import Row
from rewriter.statements.system_tables import information_schema, session_state
from rewriter.statements.system_tables.partitions import partitions
from rewriter.statements.system_tables.system_read import SystemRead
from rewriter.statements.system_tables.timelines import timelines
from rewriter.statements.system_tables.transactions import transactions

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 10_000

_OF_SESSION: Mapping[str, Callable[[SystemRead], Iterator[Row]]] = {
    "system.cache": session_state.cache,
    "system.queries": session_state.queries,
}
#: What yields the rows of each system table.
ROWS: Mapping[str, Callable[[SystemRead], Iterator[Row]]] = {
    "information_schema.schemata": information_schema.schemata,
    "information_schema.tables": information_schema.tables,
    "information_schema.columns": information_schema.columns,
    "information_schema.views": information_schema.views,
    "system.partitions": partitions,
    "system.timelines": timelines,
    "system.transactions": transactions,
    **_OF_SESSION,
}


def batches(read: SystemRead) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a system table. Holds one batch.

    Raises ``OperationalError`` WAREHOUSE_NOT_FOUND for tables about the catalog where there is none.
    """
    import pyarrow as pa

    catalog = read.context.catalog
    if catalog.is_absent and read.table.name not in _OF_SESSION:
        raise not_found(catalog.warehouse)
    schema = pa.schema([(column.name, arrow_type(parse_type(column.type))) for column in read.table.all_columns])
    rows = ROWS[read.table.name](read)
    while chunk := list(islice(rows, _BATCH_ROWS)):
        arrays = [pa.array(values, field.type) for values, field in zip(zip(*chunk, strict=True), schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
