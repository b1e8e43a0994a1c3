"""DESCRIBE of tables, partitions, columns and queries. Only DESCRIBE QUERY may start an engine."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rewriter.catalog.models import Column, Cube, Fact, Partition, Table, View
from rewriter.catalog.temporary import place_of
from rewriter.context import Context
from rewriter.errors import AnalysisError, Error, NotSupportedError, Span
from rewriter.grammar import statements as s
from rewriter.known import known_of
from rewriter.lookups import column_named, columns_of_view, partition_named, require_columns
from rewriter.metadata import (
    CATALOG,
    Metadata,
    columns_json,
    names_of,
    own_partition_metadata,
    own_table_metadata,
    partition_metadata,
    storage_metadata,
    table_metadata,
    value_json,
    value_text,
    view_metadata,
)
from rewriter.reading import placed, prepare
from rewriter.result import Result, Row
from rewriter.showing import (
    described_cube,
    described_fact,
    described_view,
    listing,
    named_cube,
    named_fact,
    strings,
)

_INFO = strings("info_name", "info_value")
_COLUMNS = strings("col_name", "data_type", "comment")
_STATISTICS = ("min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len", "histogram")
_JSON_NAMES = {"inputformat": "input_format", "outputformat": "output_format"}


def describe(statement: s.Describe, context: Context) -> Result:
    """DESCRIBE of a table or view as Spark answers it, of one of its partitions or columns; or of a cube or fact.

    Raises what ``lookups`` raises for a partition or column that is not there, DESCRIBE_JSON_NOT_EXTENDED 0A000,
    UNSUPPORTED_FEATURE.DESC_TABLE_COLUMN_JSON 0A000, FORBIDDEN_OPERATION 42809 for a partition of a view.
    """
    if statement.kind == "CUBE":
        return described_cube(named_cube(statement.name, context))
    if statement.kind == "FACT":
        return described_fact(named_fact(statement.name, context))
    found = context.named(statement.name)
    if isinstance(found, Cube | Fact):
        _refuse_parts(statement, found)
        return described_cube(found) if isinstance(found, Cube) else described_fact(found)
    if isinstance(found, View):
        return _describe_view(statement, found, context)
    return _describe_table(statement, context.table(statement.name), context)


def _describe_view(statement: s.Describe, view: View, context: Context) -> Result:
    if statement.partition is not None:
        raise AnalysisError(
            f"DESCRIBE … PARTITION is not allowed on the view {view.name}.",
            condition="FORBIDDEN_OPERATION",
            sqlstate="42809",
            position=Span(statement.partition[0].span.start, statement.partition[-1].span.end),
            object=view.name,
            hint="Name the table that the view reads.",
        )
    if statement.as_json:
        return _as_json(statement, view, columns_json(columns_of_view(view, context)), [view_metadata(view, context)])
    if statement.column is None:
        return described_view(view, statement.extended, context)
    columns = require_columns(view, statement.name.span, context)
    rows = _column_rows(statement.column, column_named(columns, statement.column))
    rows += [(label, "NULL") for label in _STATISTICS] if statement.extended else []
    return listing("DESCRIBE", _INFO, rows)


def _describe_table(statement: s.Describe, table: Table, context: Context) -> Result:
    partition = partition_named(table, statement.partition, context) if statement.partition is not None else None
    if statement.as_json:
        found = [partition_metadata(table, partition, context, storage=True)] if partition is not None else []
        found.append(table_metadata(table, context, storage=True))
        found.append(_own(table, partition, context))
        return _as_json(statement, table, columns_json(table.all_columns), found)
    if statement.column is not None:
        return _describe_column(statement, statement.column, table, partition, context)
    rows: list[Row] = [(column.name, column.type, column.comment) for column in table.all_columns]
    if table.partition_columns:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [(column.name, column.type, column.comment) for column in table.partition_columns]
    if statement.extended and partition is None:
        details = table_metadata(table, context, storage=True) | _own(table, partition, context)
        rows += _section("Detailed Table Information", details)
    elif statement.extended and partition is not None:
        known: Metadata = names_of(table)
        known |= partition_metadata(table, partition, context, storage=True)
        rows += _section("Detailed Partition Information", known | _own(table, partition, context))
        rows += _section("Storage Information", {"Location": table.location, **storage_metadata(table)})
    return listing("DESCRIBE", _COLUMNS, rows)


def _own(table: Table, partition: Partition | None, context: Context) -> Metadata:
    if partition is None:
        return own_table_metadata(table, context)
    return own_partition_metadata(table, partition, context)


def describe_query(statement: s.DescribeQuery, context: Context) -> Result:
    """DESCRIBE QUERY: rows of (col_name, data_type, comment), one for each column that the query would answer."""
    prepared = prepare(statement.query, context)
    try:
        found = context.engine().columns(prepared.query)
    except Error as error:
        raise placed(error, statement.query, prepared.query.sql) from None
    return listing("DESCRIBE", _COLUMNS, [(column.name, column.type, None) for column in found])


def _section(title: str, metadata: Metadata) -> list[Row]:
    """An empty row, the title, and a row for each value. Partition columns have been listed above."""
    rows: list[Row] = [("", "", ""), (f"# {title}", "", "")]
    return rows + [(name, value_text(value), "") for name, value in metadata.items() if name != "Partition Columns"]


def _column_rows(name: s.ColumnName, column: Column) -> list[Row]:
    return [
        ("col_name", name.last),
        ("data_type", column.type or "NULL"),
        ("comment", "NULL" if column.comment is None else column.comment),
    ]


def _describe_column(
    statement: s.Describe, name: s.ColumnName, table: Table, partition: Partition | None, context: Context
) -> Result:
    """Rows of (info_name, info_value). What is not known is the text NULL, as in Spark.

    Figures are answered with EXTENDED, or of a partition. Where ANALYZE has counted another content than that of now,
    they are NULL, and a last row says so.
    """
    column = column_named(table.all_columns, name)
    rows = _column_rows(name, column)
    if statement.extended or partition is not None:
        figures, stale = _figures(column, table, partition, context)
        rows += [(label, figures.get(label) or "NULL") for label in _STATISTICS]
        rows += [("statistics", "stale: written after ANALYZE TABLE")] if stale else []
    return listing("DESCRIBE", _INFO, rows)


def _figures(
    column: Column, table: Table, partition: Partition | None, context: Context
) -> tuple[Mapping[str, str | None], bool]:
    known = known_of(table, partition, context)
    found = known.columns.get(column.name.lower())
    if found is None or found.type != column.type:
        return {}, known.stale
    lengths = (found.average_length, found.greatest_length)
    numbers = [None if one is None else str(one) for one in (found.nulls, found.distinct, *lengths)]
    return dict(zip(_STATISTICS, (found.minimum, found.maximum, *numbers), strict=False)), False


def _as_json(
    statement: s.Describe, thing: Table | View, columns: list[dict[str, object]], metadata: list[Metadata]
) -> Result:
    """One row with one JSON object, in Spark's names; what Spark does not know comes last."""
    name = statement.name.last
    if not statement.extended:
        raise NotSupportedError(
            "DESCRIBE … AS JSON is answered only with EXTENDED or FORMATTED.",
            condition="DESCRIBE_JSON_NOT_EXTENDED",
            sqlstate="0A000",
            position=statement.name.span,
            object=name,
            hint=f"Write DESCRIBE EXTENDED {name} AS JSON.",
        )
    if statement.column is not None:
        raise NotSupportedError(
            "DESCRIBE of a single column AS JSON is not supported.",
            condition="UNSUPPORTED_FEATURE.DESC_TABLE_COLUMN_JSON",
            sqlstate="0A000",
            position=statement.column.span,
            object=name,
            hint="Leave AS JSON out.",
        )
    database, table_name = place_of(thing.name)
    found: dict[str, object] = {
        "table_name": table_name,
        "catalog_name": CATALOG,
        "namespace": [database] if database else [],
        "schema_name": database,
        "columns": columns,
    }
    for one in metadata:
        _add(found, one)
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return listing("DESCRIBE", strings("json_metadata"), [(text,)])


def _add(found: dict[str, object], metadata: Metadata) -> None:
    """Adds what is not there yet: what is said of a partition stands before what is said of its table."""
    for label, value in metadata.items():
        name = label.lower().replace(" ", "_")
        if name not in ("catalog", "database", "table"):
            found.setdefault(_JSON_NAMES.get(name, name), value_json(value))


def _refuse_parts(statement: s.Describe, found: Cube | Fact) -> None:
    """Cubes and facts are described as a whole."""
    if statement.partition is None and statement.column is None and not statement.as_json:
        return
    span = statement.name.span
    if statement.column is not None:
        span = statement.column.span
    elif statement.partition is not None:
        span = Span(statement.partition[0].span.start, statement.partition[-1].span.end)
    raise NotSupportedError(
        f"{found.name} is a {type(found).__name__.lower()}, which is described as a whole.",
        position=span,
        object=found.name,
        hint=f"Write DESCRIBE {found.name}, or describe one of its tables.",
    )
