"""Lists existing objects: SHOW TABLES, SHOW PARTITIONS, SHOW CUBES, SHOW FACTS, DESCRIBE of views, cubes and facts.

All of it comes from the catalog alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from rewriter.catalog.cache.entries import MEANINGS
from rewriter.catalog.model.objects import (
    Column,
    Completeness,
    Cube,
    Fact,
    Namespace,
    Table,
    View,
    database_of,
    seen_from,
    short_name,
)
from rewriter.catalog.model.system_tables import SYSTEM_TABLES, SystemTable, is_system_database
from rewriter.catalog.model.temporary_views import session_of, with_typed_names
from rewriter.catalog.storage.discovered_partitions import Discovery
from rewriter.errors import AnalysisError
from rewriter.grammar.families import settings as s
from rewriter.grammar.families.cubes import ShowCubes
from rewriter.grammar.families.partitions import ShowPartitions, SortKey
from rewriter.grammar.families.tables import ShowTables
from rewriter.grammar.families.views import ShowViews
from rewriter.grammar.unparse import quote
from rewriter.planner.cover.validity import described
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.named_objects import fits_pattern, view_columns
from rewriter.statements.resolve.partition_specs import list_partitions

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context

_Object = TypeVar("_Object", Table, View, Cube, Fact)


@runs(ShowTables, in_transaction=True, reads_system_tables=True)
def show_tables(statement: ShowTables, context: Context) -> Result:
    """Returns rows of (table, type, format, partitioned_by); views are listed, too, with their type only.

    LIKE takes Spark's patterns: ``*`` is any text, ``|`` is or. Lists the current database, or the database of IN.
    """
    database = context.database(statement.database)
    rows: list[Row] = [
        _row_of(table) for table in _sorted_objects(_tables(database, context), database.name, statement.like)
    ]
    views = _sorted_objects(context.snapshot.views(), database.name, statement.like)
    rows += [(with_typed_names(short_name(view.name)), type_of_view(view), "", "") for view in views]
    rows.sort(key=lambda row: str(row[0]).lower())
    return listing("SHOW TABLES", strings("table", "type", "format", "partitioned_by"), rows)


def _row_of(table: Table) -> Row:
    name = with_typed_names(short_name(table.name))
    if isinstance(table, SystemTable):
        return name, "SYSTEM", "", ""
    return name, type_of(table), table.format, ", ".join(column.name for column in table.partition_columns)


def _tables(database: Namespace, context: Context) -> Iterable[Table]:
    system_tables = SYSTEM_TABLES.values() if is_system_database(database) else ()
    return (*context.snapshot.tables(), *system_tables)


def type_of(table: Table) -> str:
    """Returns MANAGED, EXTERNAL or TEMPORARY; a temporary table is TEMPORARY wherever its files are."""
    return "TEMPORARY" if session_of(table.name) else "EXTERNAL" if table.external else "MANAGED"


def type_of_view(view: View) -> str:
    """Returns VIEW, or TEMPORARY VIEW."""
    return "TEMPORARY VIEW" if session_of(view.name) else "VIEW"


@runs(ShowViews, in_transaction=True, reads_system_tables=True)
def show_views(statement: ShowViews, context: Context) -> Result:
    """Returns rows of (view, comment, isTemporary), of the current database or the database of IN."""
    views = _sorted_objects(context.snapshot.views(), context.database(statement.database).name, statement.like)
    rows: list[Row] = [
        (with_typed_names(short_name(view.name)), view.comment, session_of(view.name) is not None) for view in views
    ]
    rows.sort(key=lambda row: str(row[0]).lower())
    return listing("SHOW VIEWS", (*strings("view", "comment"), Column("isTemporary", "boolean")), rows)


def _sorted_objects(objects: Iterable[_Object], database: str, pattern: str | None = None) -> list[_Object]:
    """Returns the objects of a database, and the temporary ones, whose last part of the name matches the pattern."""
    return [
        object_
        for object_ in objects
        if (database_of(object_.name) == database or session_of(object_.name) is not None)
        and (pattern is None or fits_pattern(pattern, with_typed_names(short_name(object_.name))))
    ]


@runs(ShowPartitions, in_transaction=True)
def show_partitions(statement: ShowPartitions, context: Context) -> Result:
    """Returns names of partitions in order of the escaped name's code points, or as ORDER BY states, NULL lowest.

    Lists the partitions that match the spec and satisfy the filter, at most LIMIT of them. STATUS adds whether each is
    ``committed``, or ``open``: a stream fills it, and covers do not use it. AS JSON returns one row, in which
    names and values are not escaped, all values are text, and NULL is null.
    """
    lookup = list_partitions(statement, context)
    table = lookup.table
    order = [(_sorted_by(table, key), key.descending) for key in reversed(statement.order_by)]
    if not order and not statement.as_json and not statement.status:
        names = sorted(lookup.names())[: statement.limit]
        return listing("SHOW PARTITIONS", strings("partition"), list(zip(names, strict=True)))
    named_keys = sorted(lookup.named_keys())
    for index, descending in order:
        named_keys.sort(
            key=lambda named_key: named_key[0] if index is None else lookup.fields_of(named_key[1])[index],
            reverse=descending,
        )
    named_keys = named_keys[: statement.limit]
    if statement.status:
        open_keys = frozenset() if isinstance(lookup, Discovery) else context.snapshot.open_keys(table)
        rows: list[Row] = [(name, "open" if key in open_keys else "committed") for name, key in named_keys]
        return listing("SHOW PARTITIONS", strings("partition", "status"), rows)
    if not statement.as_json:
        return listing("SHOW PARTITIONS", strings("partition"), [(name,) for name, _ in named_keys])
    names = [column.name for column in table.partition_columns]
    json_object = {"partitions": [dict(zip(names, lookup.values_of(key), strict=True)) for _, key in named_keys]}
    text = json.dumps(json_object, ensure_ascii=False, separators=(",", ":"))
    return listing("SHOW PARTITIONS", strings("json_metadata"), [(text,)])


def _sorted_by(table: Table, key: SortKey) -> int | None:
    """Returns the index of the column that a key of ORDER BY names; ``None`` for ``partition``, the name as a whole."""
    names = [column.name.lower() for column in table.partition_columns]
    if key.column.lower() in names:
        return names.index(key.column.lower())
    if key.column.lower() == "partition":
        return None
    raise AnalysisError(
        f"SHOW PARTITIONS cannot be ordered by {key.column}.",
        condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
        sqlstate="42703",
        position=key.span,
        object=key.column,
        hint=f"Order by {', '.join(column.name for column in table.partition_columns)} or partition, the name.",
    )


def described_view(view: View, extended: bool, context: Context) -> Result:
    """Returns the columns if all of them are known without an engine, each with its type if that is known, too.

    Otherwise, or with EXTENDED, adds the text of the view.
    """
    columns = view_columns(view, context.snapshot)
    comments = dict(view.columns)
    rows: list[Row] = [(column.name, column.type or None, comments.get(column.name)) for column in columns]
    if extended or not columns:
        rows += [("", "", "")] if columns else []
        rows += [
            ("# Detailed View Information", "", ""),
            ("View", with_typed_names(view.name), ""),
            ("Type", type_of_view(view), ""),
        ]
        rows += [("Comment", view.comment, "")] if view.comment is not None else []
        if view.properties:
            rows.append(("View Properties", ", ".join(f"{k}={v}" for k, v in sorted(view.properties.items())), ""))
        rows.append(("View Text", view.query, ""))
    return listing("DESCRIBE", strings("col_name", "data_type", "comment"), rows)


@runs(ShowCubes, in_transaction=True, reads_system_tables=True)
def show_cubes(statement: ShowCubes, context: Context) -> Result:
    """Returns rows of (cube, dimensions, measures, times), or of (fact, cube, base_period, tables, weight), of the
    current database or the database of IN.

    An object in another database than its fact has its database as a prefix.
    """
    database = context.database(statement.database).name
    if statement.facts:
        columns = (*strings("fact", "cube", "base_period", "tables"), Column("weight", "bigint"))
        rows: list[Row] = [
            (
                short_name(fact.name),
                seen_from(database, fact.cube),
                fact.base_period.name,
                ", ".join(seen_from(database, table.table) for table in fact.tables),
                fact.weight,
            )
            for fact in _sorted_objects(context.snapshot.facts(), database)
        ]
        return listing("SHOW FACTS", columns, rows)
    rows = [
        (
            short_name(cube.name),
            ", ".join(column.name for column in cube.dimensions),
            ", ".join(measure.name for measure in cube.measures),
            ", ".join(cube.times),
        )
        for cube in _sorted_objects(context.snapshot.cubes(), database)
    ]
    return listing("SHOW CUBES", strings("cube", "dimensions", "measures", "times"), rows)


def described_cube(cube: Cube) -> Result:
    """Returns rows of (column, type, role, details)."""
    dimensions = {column.name: column for column in cube.dimensions}
    measures = {measure.name: measure for measure in cube.measures}
    rows: list[Row] = []
    for name in cube.column_order:
        if name in dimensions:
            rows.append((name, dimensions[name].type, "DIMENSION", ""))
        elif name in measures:
            measure = measures[name]
            details = ["EVENTS"] if measure.events else []
            details += [f"COUNTED BY {measure.counted_by}"] if measure.counted_by else []
            details += [f"BUCKETED BY {measure.bucketed_by}"] if measure.bucketed_by else []
            details += [f"PRECISION {measure.precision}"] if measure.precision is not None else []
            details += [f"BY {measure.ordered_by} PER ({', '.join(measure.per)})"] if measure.ordered_by else []
            details += ["NOT NULL"] if measure.not_null else []
            rows.append((name, measure.type, f"MEASURE {measure.aggregate.value}", " ".join(details)))
        else:
            rows.append((name, "timestamp", "TIME", "" if cube.calendar.is_utc else f"TIME ZONE {quote(cube.zone)}"))
    return listing("DESCRIBE", strings("column", "type", "role", "details"), rows)


def described_fact(fact: Fact) -> Result:
    """Returns rows of (storage, table, period, time, layout, trusted, complete_with, valid, lateness of the fact)."""
    rows: list[Row] = [
        (
            storage.name,
            table.table,
            period.name,
            time,
            ", ".join(part.declared for part in layouts[period].parts),
            table.trusted,
            ", ".join(_completeness(rule) for rule in table.complete),
            described(storage, table),
            fact.lateness,
        )
        for storage in fact.storages
        for table in storage.tables
        for period in sorted(table.layouts, reverse=True)
        for time, layouts in ((table.time, table.layouts), *((o.time, o.layouts) for o in table.others))
    ]
    columns = (
        *strings("storage", "table", "period", "time", "layout"),
        Column("trusted", "boolean"),
        *strings("complete_with", "valid", "lateness"),
    )
    return listing("DESCRIBE", columns, rows)


def _completeness(rule: Completeness) -> str:
    if rule.values is None:
        return f"ANY {rule.column}"
    values = ("NULL" if value is None else f"'{value}'" for value in rule.values)
    return f"{rule.column} IN ({', '.join(values)})"


# SHOW CACHE: the catalog data that the session keeps in memory, and how often it was used.


@runs(s.ShowCache, in_transaction=True, without_warehouse=True)
def show_cache(_statement: s.ShowCache, context: Context) -> Result:
    """Returns rows of (metric, value, meaning). Without a cache (``rewriter.cache_bytes``) every value is 0. Reads
    nothing.
    """
    metrics = context.catalog.cache_metrics()
    columns = (Column("metric", "string"), Column("value", "bigint"), Column("meaning", "string"))
    rows: list[Row] = [(name, metrics[name], meaning) for name, meaning in MEANINGS.items()]
    return listing("SHOW CACHE", columns, rows)
