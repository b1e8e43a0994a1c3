"""DESCRIBE of tables, partitions, columns and queries. Only DESCRIBE QUERY may start an engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rewriter.catalog.model.column_statistics import without_statistics
from rewriter.catalog.model.json_codec import damaged
from rewriter.catalog.model.objects import Column, Cube, Fact, Partition, Table, View
from rewriter.catalog.model.system_tables import SystemTable, system_read_only
from rewriter.catalog.model.temporary_views import place_of
from rewriter.data_formats import SOURCE_FORMATS
from rewriter.errors import AnalysisError, Error, NotSupportedError, Span
from rewriter.grammar.families import descriptions as s
from rewriter.grammar.terms import ColumnName, Name, Query
from rewriter.grammar.unparse import quote_name
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.query.engine_errors import with_position
from rewriter.statements.query.select import prepare
from rewriter.statements.resolve.named_objects import (
    column_named,
    columns_of_view,
    fits_pattern,
    named_cube,
    named_fact,
    partition_named,
    require_columns,
)
from rewriter.statements.resolve.type_trees import draw_schema
from rewriter.statements.show.content_statistics import statistics_of
from rewriter.statements.show.listings import described_cube, described_fact, described_view
from rewriter.statements.show.object_metadata import (
    CATALOG,
    Metadata,
    columns_json,
    names_of,
    own_partition_metadata,
    own_table_metadata,
    partition_metadata,
    schema_text,
    storage_metadata,
    table_metadata,
    table_text,
    value_json,
    value_text,
    view_metadata,
)

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context

_INFO = strings("info_name", "info_value")
_COLUMNS = strings("col_name", "data_type", "comment")
_STATISTICS = ("min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len", "histogram")
_JSON_NAMES = {"inputformat": "input_format", "outputformat": "output_format"}


_HISTORY = (
    Column("version", "bigint"),
    Column("timestamp", "timestamp"),
    *strings("operation", "name", "operationParameters", "operationMetrics"),
    Column("readVersion", "bigint"),
)


@runs(s.DescribeHistory, in_transaction=True)
def describe_history(statement: s.DescribeHistory, context: Context) -> Result:
    """DESCRIBE HISTORY: the changes of a table, view, cube or fact that the log has, the newest first; of a fact those
    of its tables, too. ``version`` is the number of the commit, ``readVersion`` that of the state that the statement
    saw.

    Raises TABLE_OR_VIEW_NOT_FOUND. Reads the log, which ``rewriter.log_retention_hours`` limits.
    """
    snapshot, described = context.snapshot, context.named(statement.name)
    if described is None:
        described = context.table(statement.name)
    ids = [described.id]
    if isinstance(described, Fact):
        tables = [snapshot.find(stored.table) for stored in described.tables]
        ids += [table.id for table in tables if table is not None]
    rows: list[Row] = []
    for change in snapshot.logged_changes(ids, statement.limit):
        try:
            payload = json.loads(change.payload)
            name = str(payload.pop("name"))
            payload.pop("write_ids", None)
        except (ValueError, KeyError, AttributeError, TypeError):
            raise damaged("an entry of the log", change.payload, "it is no object with a name") from None
        metrics = {key: value for key, value in payload.items() if isinstance(value, int | float)}
        parameters = {key: value for key, value in payload.items() if key not in metrics}
        moment = None if change.at is None else datetime.fromtimestamp(change.at, UTC)
        texts = (json.dumps(parameters, ensure_ascii=False), json.dumps(metrics, ensure_ascii=False))
        rows.append((change.commit, moment, change.kind.replace("_", " "), name, *texts, change.read_commit))
    return listing("DESCRIBE HISTORY", _HISTORY, rows)


@runs(s.Describe, in_transaction=True, reads_system_tables=True, without_warehouse=True)
def describe(statement: s.Describe, context: Context) -> Result:
    """DESCRIBE of a table or view as in Spark, of one of its partitions or columns; or of a cube or fact.

    Raises the errors of ``named_objects`` for a missing partition or column, DESCRIBE_JSON_NOT_EXTENDED 0A000,
    UNSUPPORTED_FEATURE.DESC_TABLE_COLUMN_JSON 0A000, FORBIDDEN_OPERATION 42809 for a partition of a view.
    """
    if len(statement.name.parts) == 2 and statement.name.parts[0].lower() in SOURCE_FORMATS:
        return _describe_files(statement, context)
    if statement.kind == "CUBE":
        return described_cube(named_cube(statement.name, context))
    if statement.kind == "FACT":
        return described_fact(named_fact(statement.name, context))
    object_ = context.named(statement.name)
    if isinstance(object_, Cube | Fact):
        _refuse_parts(statement, object_)
        return described_cube(object_) if isinstance(object_, Cube) else described_fact(object_)
    if isinstance(object_, View):
        return _describe_view(statement, object_, context)
    if isinstance(object_, SystemTable):
        return _describe_system_table(statement, object_)
    return _describe_table(statement, context.table(statement.name), context)


def _describe_files(statement: s.Describe, context: Context) -> Result:
    """Returns the columns of ``format.`path```, or one of them. Files have no partitions and no properties."""
    if statement.partition is not None or statement.as_json:
        raise NotSupportedError(
            "Files have columns alone: no partitions, and no properties to describe AS JSON.",
            position=statement.name.span,
            hint="Write DESCRIBE format.`path`.",
        )
    name = statement.name
    select = "SELECT * FROM "
    text = select + ".".join(quote_name(part) for part in name.parts)
    described = describe_query(
        s.DescribeQuery(query=Query(text, Span(name.span.start - len(select), name.span.end))), context
    )
    if statement.column is None:
        return described
    columns = [Column(str(row[0]), str(row[1])) for row in described.rows()]
    return listing("DESCRIBE", _INFO, _column_rows(statement.column, column_named(columns, statement.column)))


def _describe_system_table(statement: s.Describe, table: SystemTable) -> Result:
    """Returns the columns of a system table, or one of them. It has no partitions, and no other properties."""
    if statement.partition is not None or statement.as_json:
        raise system_read_only(table.name).at(statement.name.span)
    if statement.column is not None:
        return listing(
            "DESCRIBE", _INFO, _column_rows(statement.column, column_named(table.all_columns, statement.column))
        )
    return listing("DESCRIBE", _COLUMNS, [(column.name, column.type, column.comment) for column in table.all_columns])


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
        described = columns_json(columns_of_view(view, context.snapshot))
        return _as_json(statement, view, described, [view_metadata(view, context)])
    if statement.column is None:
        return described_view(view, statement.extended, context)
    columns = require_columns(view, statement.name.span, context)
    rows = _column_rows(statement.column, column_named(columns, statement.column))
    rows += [(label, "NULL") for label in _STATISTICS] if statement.extended else []
    return listing("DESCRIBE", _INFO, rows)


def _describe_table(statement: s.Describe, table: Table, context: Context) -> Result:
    partition = partition_named(table, statement.partition, context) if statement.partition is not None else None
    if statement.as_json:
        sections = [partition_metadata(table, partition, context, storage=True)] if partition is not None else []
        sections.append(table_metadata(table, context, storage=True))
        sections.append(_own_metadata(table, partition, context))
        return _as_json(statement, table, columns_json(table.all_columns), sections)
    if statement.column is not None:
        return _describe_column(statement, statement.column, table, partition, context)
    rows: list[Row] = [(column.name, column.type, column.comment) for column in table.all_columns]
    if table.partition_columns:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [(column.name, column.type, _partition_comment(column)) for column in table.partition_columns]
    if statement.extended and partition is None:
        details = table_metadata(table, context, storage=True) | _own_metadata(table, partition, context)
        rows += _section("Detailed Table Information", details)
    elif statement.extended and partition is not None:
        names: Metadata = names_of(table)
        names |= partition_metadata(table, partition, context, storage=True)
        rows += _section("Detailed Partition Information", names | _own_metadata(table, partition, context))
        rows += _section("Storage Information", {"Location": table.location, **storage_metadata(table)})
    defaults: list[Row] = [(c.name, c.type, c.default) for c in table.columns if c.default is not None]
    if defaults and not statement.extended:
        rows += [("", "", ""), ("# Column Default Values", "", ""), *defaults]
    not_null: list[Row] = [(c.name, c.type, "NOT NULL") for c in table.columns if c.not_null]
    if not_null and partition is None:
        rows += [("", "", ""), ("# Not Null Columns", "", ""), *not_null]
    return listing("DESCRIBE", _COLUMNS, rows)


def _partition_comment(column: Column) -> str | None:
    """Returns the comment of a partition column; for a hidden one, how it is computed."""
    return column.comment if column.transform is None else f"{column.transform.function}({column.transform.source})"


def _own_metadata(table: Table, partition: Partition | None, context: Context) -> Metadata:
    if partition is None:
        return own_table_metadata(table, context)
    return own_partition_metadata(table, partition, context)


@runs(s.DescribeQuery, in_transaction=True, without_warehouse=True)
def describe_query(statement: s.DescribeQuery, context: Context) -> Result:
    """DESCRIBE QUERY: rows of (col_name, data_type, comment), one for each column that the query would return."""
    prepared = prepare(statement.query, context)
    context = context.on(prepared.route.cluster)
    try:
        columns = context.engine().columns(prepared.query)
    except Error as error:
        raise with_position(error, statement.query, prepared.query.sql) from None
    return listing("DESCRIBE", _COLUMNS, [(column.name, column.type, None) for column in columns])


def _section(title: str, metadata: Metadata) -> list[Row]:
    """Returns an empty row, the title, and a row for each value. Partition columns have been listed above."""
    rows: list[Row] = [("", "", ""), (f"# {title}", "", "")]
    return rows + [(name, value_text(value), "") for name, value in metadata.items() if name != "Partition Columns"]


def _column_rows(name: ColumnName, column: Column) -> list[Row]:
    return [
        ("col_name", name.last),
        ("data_type", column.type or "NULL"),
        ("comment", "NULL" if column.comment is None else column.comment),
    ]


def _describe_column(
    statement: s.Describe, name: ColumnName, table: Table, partition: Partition | None, context: Context
) -> Result:
    """Returns rows of (info_name, info_value). An unknown value is the text NULL, as in Spark.

    Statistics are returned with EXTENDED, or for a partition. Where ANALYZE has counted another content than the
    current one, they are NULL, and a last row states this.
    """
    column = column_named(table.all_columns, name)
    rows = _column_rows(name, column)
    if statement.extended or partition is not None:
        figures, stale = _figures(column, table, partition, context)
        rows += [(label, figures.get(label) or "NULL") for label in _STATISTICS]
        rows += [("statistics", "stale: written after ANALYZE TABLE")] if stale else []
        rows += [] if column.default is None else [("default", column.default)]
        rows += [("nullable", "false")] if column.not_null else []
        rows += [] if column.stored is None else [("stored_name", column.stored)]
    return listing("DESCRIBE", _INFO, rows)


def _figures(
    column: Column, table: Table, partition: Partition | None, context: Context
) -> tuple[Mapping[str, str | None], bool]:
    content = statistics_of(table, partition, context)
    statistics = content.columns.get(column.stored_name.lower())
    if statistics is None or statistics.type != column.type:
        return {}, content.stale
    lengths = (statistics.average_length, statistics.greatest_length)
    numbers = [None if number is None else str(number) for number in (statistics.nulls, statistics.distinct, *lengths)]
    return dict(zip(_STATISTICS, (statistics.minimum, statistics.maximum, *numbers), strict=False)), False


def _as_json(
    statement: s.Describe, relation: Table | View, columns: list[dict[str, object]], metadata: list[Metadata]
) -> Result:
    """Returns one row with one JSON object, with Spark's names; values that Spark does not have come last."""
    name = statement.name.last
    if not statement.extended:
        raise NotSupportedError(
            "DESCRIBE … AS JSON requires EXTENDED or FORMATTED.",
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
    database, table_name = place_of(relation.name)
    description: dict[str, object] = {
        "table_name": table_name,
        "catalog_name": CATALOG,
        "namespace": [database] if database else [],
        "schema_name": database,
        "columns": columns,
    }
    for section in metadata:
        _add(description, section)
    text = json.dumps(description, ensure_ascii=False, separators=(",", ":"))
    return listing("DESCRIBE", strings("json_metadata"), [(text,)])


def _add(json: dict[str, object], metadata: Metadata) -> None:
    """Adds the values that are missing so far: a partition's values take precedence over its table's values."""
    for label, value in metadata.items():
        name = label.lower().replace(" ", "_")
        if name not in ("catalog", "database", "table"):
            json.setdefault(_JSON_NAMES.get(name, name), value_json(value))


def _refuse_parts(statement: s.Describe, object_: Cube | Fact) -> None:
    """Refuses parts of cubes and facts, which are described as a whole."""
    if statement.partition is None and statement.column is None and not statement.as_json:
        return
    span = statement.name.span
    if statement.column is not None:
        span = statement.column.span
    elif statement.partition is not None:
        span = Span(statement.partition[0].span.start, statement.partition[-1].span.end)
    raise NotSupportedError(
        f"{object_.name} is a {type(object_).__name__.lower()}, which can only be described as a whole.",
        position=span,
        object=object_.name,
        hint=f"Write DESCRIBE {object_.name}, or describe one of its tables.",
    )


# SHOW TABLE EXTENDED, SHOW COLUMNS and SHOW TBLPROPERTIES, from the catalog alone.

_EXTENDED = (*strings("namespace", "tableName"), Column("isTemporary", "boolean"), *strings("information"))


@runs(s.ShowTableExtended, in_transaction=True)
def show_table_extended(statement: s.ShowTableExtended, context: Context) -> Result:
    """Returns rows of (namespace, tableName, isTemporary, information), as Spark does; views are listed among the
    tables.

    Lists the current database, or the database of IN. Temporary tables are in no database, and are listed with each.

    With PARTITION the pattern is the name of one table. Raises, at the pattern, TABLE_OR_VIEW_NOT_FOUND 42P01, and
    the errors of ``named_objects.partition_named``. Lists the files of external tables.
    """
    database = context.database(statement.database).name
    if statement.partition is not None:
        temporary = statement.database is None and context.is_temporary(statement.like)
        parts = (statement.like,) if temporary else (database, statement.like)
        table = context.table(Name(parts, statement.like_span))
        partition = partition_named(table, statement.partition, context)
        information = schema_text(partition_metadata(table, partition, context), "")
        return listing("SHOW TABLE EXTENDED", _EXTENDED, [_row(table, information)])
    relations: list[Table | View] = [*context.snapshot.tables(), *context.snapshot.views()]
    rows = [
        _row(relation, _information(relation, context))
        for relation in relations
        if place_of(relation.name)[0] in (database, "") and fits_pattern(statement.like, place_of(relation.name)[1])
    ]
    return listing("SHOW TABLE EXTENDED", _EXTENDED, sorted(rows, key=lambda row: (str(row[1]).lower(), row[0])))


def _row(relation: Table | View, information: str) -> Row:
    database, name = place_of(relation.name)
    return database, name, not database, information


def _information(relation: Table | View, context: Context) -> str:
    if isinstance(relation, Table):
        return table_text(relation, context)
    columns = columns_of_view(relation, context.snapshot)
    all_typed = bool(columns) and all(column.type for column in columns)
    return schema_text(view_metadata(relation, context), draw_schema(columns) if all_typed else "")


@runs(s.ShowColumns, in_transaction=True, reads_system_tables=True)
def show_columns(statement: s.ShowColumns, context: Context) -> Result:
    """Returns the names of the columns of a table or view, partition columns last. Raises UNKNOWN_VIEW_COLUMNS."""
    object_ = _table_or_view(statement.table, context)
    if isinstance(object_, Table):
        columns: Sequence[Column] = object_.all_columns
    else:
        columns = require_columns(object_, statement.table.span, context)
    return listing("SHOW COLUMNS", strings("col_name"), [(column.name,) for column in columns])


@runs(s.ShowTableProperties, in_transaction=True)
def show_table_properties(statement: s.ShowTableProperties, context: Context) -> Result:
    """Returns rows of (key, value), by key. For a missing key the value says so, as in Spark."""
    object_ = _table_or_view(statement.table, context)
    properties = without_statistics(object_.properties)
    if statement.key is not None:
        name = ".".join(filter(None, place_of(object_.name)))
        absence_text = f"Table {name} does not have property: {statement.key}"
        rows: list[Row] = [(statement.key, properties.get(statement.key, absence_text))]
    else:
        rows = sorted(properties.items())
    return listing("SHOW TBLPROPERTIES", strings("key", "value"), rows)


def _table_or_view(name: Name, context: Context) -> Table | View:
    object_ = context.named(name)
    return object_ if isinstance(object_, View | SystemTable) else context.table(name)
