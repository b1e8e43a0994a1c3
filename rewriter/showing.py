"""What exists: SHOW TABLES, SHOW PARTITIONS, SHOW CUBES, SHOW FACTS, DESCRIBE of views, cubes and facts.

All of it comes from the catalog alone.
"""

from __future__ import annotations

import json
import re

from rewriter.catalog.lookup import Lookup
from rewriter.catalog.models import Column, Completeness, Cube, Fact, Table, View
from rewriter.catalog.names import database_of, seen_from, short_name
from rewriter.catalog.scan_filters import AllOf, bind_filter
from rewriter.catalog.temporary import session_of, shown
from rewriter.context import Context, single
from rewriter.discovering import Discovery, look_up
from rewriter.errors import AnalysisError, Error
from rewriter.grammar import statements as s
from rewriter.grammar.render import quote
from rewriter.planner.apart import told_apart
from rewriter.planner.expand import expand
from rewriter.planner.offers import Offers, renamed
from rewriter.planner.text import QueryText
from rewriter.planner.validity import described
from rewriter.result import Result, Row
from rewriter.specs import read_spec, read_static, require_partitioned


def strings(*names: str) -> tuple[Column, ...]:
    """Columns of the type STRING."""
    return tuple(Column(name, "string") for name in names)


def listing(kind: str, columns: tuple[Column, ...], rows: list[Row]) -> Result:
    """A result whose rows stand ready."""
    return Result(kind, columns, rows, rowcount=len(rows))


def show_tables(statement: s.ShowTables, context: Context) -> Result:
    """Rows of (table, type, format, partitioned_by); views are listed, too, with nothing but their type.

    LIKE takes Spark's patterns: ``*`` any text, ``|`` or. Of the current database, or that of IN.
    """
    database = context.database(statement.database).name
    rows: list[Row] = [
        (
            shown(short_name(table.name)),
            type_of(table),
            table.format,
            ", ".join(column.name for column in table.partition_columns),
        )
        for table in context.snapshot.tables()
        if _shown(table.name, database, statement.like)
    ]
    rows += [(short_name(view.name), "VIEW", "", "") for view in _views(statement, context)]
    rows.sort(key=lambda row: str(row[0]).lower())
    return listing("SHOW TABLES", strings("table", "type", "format", "partitioned_by"), rows)


def type_of(table: Table) -> str:
    """MANAGED, EXTERNAL or TEMPORARY, wherever the files of this one lie."""
    return "TEMPORARY" if session_of(table.name) else "EXTERNAL" if table.external else "MANAGED"


def show_views(statement: s.ShowViews, context: Context) -> Result:
    """Rows of (view, comment), of the current database or that of IN."""
    rows: list[Row] = [(short_name(view.name), view.comment) for view in _views(statement, context)]
    return listing("SHOW VIEWS", strings("view", "comment"), rows)


def _views(statement: s.ShowTables | s.ShowViews, context: Context) -> list[View]:
    database = context.database(statement.database).name
    return [view for view in context.snapshot.views() if _shown(view.name, database, statement.like)]


def _shown(name: str, database: str, pattern: str | None) -> bool:
    """Whether the catalog's name is one in the database, and its last part agrees with a pattern."""
    here = database_of(name) == database or session_of(name) is not None
    return here and (pattern is None or fits_pattern(pattern, shown(short_name(name))))


def fits_pattern(pattern: str, name: str) -> bool:
    """Whether a name agrees with a pattern of SHOW … LIKE, in any case: ``*`` is any text, ``|`` stands for or."""
    return any(
        re.fullmatch(".*".join(map(re.escape, one.strip().split("*"))), name, re.IGNORECASE)
        for one in pattern.split("|")
    )


def listed(statement: s.ShowPartitions, context: Context) -> Lookup | Discovery:
    """The partitions that SHOW PARTITIONS speaks of, but for LIMIT."""
    table = context.table(statement.table)
    require_partitioned(table, statement.table.span)
    wanted = read_static(table, read_spec(table, statement.partition or ()).static)
    if statement.where is not None:
        wanted = AllOf((wanted, bind_filter(statement.where, table.partition_columns)))
    return look_up(table, wanted, context.snapshot, statement.table.span)


def show_partitions(statement: s.ShowPartitions, context: Context) -> Result:
    """Names of partitions in order of the escaped name's code points, or as ORDER BY says, NULL lowest.

    Those that agree with the spec and satisfy the filter, at most LIMIT of them. AS JSON answers one row, in which
    names and values stand as they are, all values as text, NULL as null.
    """
    lookup = listed(statement, context)
    table = lookup.table
    order = [(_sorted_by(table, key), key.descending) for key in reversed(statement.order_by)]
    if not order and not statement.as_json:
        names = sorted(lookup.names())[: statement.limit]
        return listing("SHOW PARTITIONS", strings("partition"), list(zip(names, strict=True)))
    found = sorted(lookup.named_keys())
    for index, descending in order:
        found.sort(key=lambda one: one[0] if index is None else lookup.fields_of(one[1])[index], reverse=descending)
    found = found[: statement.limit]
    if not statement.as_json:
        return listing("SHOW PARTITIONS", strings("partition"), [(name,) for name, _ in found])
    names = [column.name for column in table.partition_columns]
    shown = {"partitions": [dict(zip(names, lookup.values_of(key), strict=True)) for _, key in found]}
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return listing("SHOW PARTITIONS", strings("json_metadata"), [(text,)])


def _sorted_by(table: Table, key: s.SortKey) -> int | None:
    """The index of the column that a key of ORDER BY names; ``None`` for ``partition``, the name as a whole."""
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


def named_cube(name: s.Name, context: Context) -> Cube:
    """The cube, or ``AnalysisError`` CUBE_NOT_FOUND at the name."""
    plain = single(name)
    try:
        return context.snapshot.cube(plain)
    except Error as error:
        raise error.at(name.span) from None


def named_fact(name: s.Name, context: Context) -> Fact:
    """The fact, or ``AnalysisError`` FACT_NOT_FOUND at the name."""
    plain = single(name)
    try:
        return context.snapshot.fact(plain)
    except Error as error:
        raise error.at(name.span) from None


def described_view(view: View, extended: bool, context: Context) -> Result:
    """Columns where all of them are known without an engine, each with its type where that is known, too.

    Where they are not, or with EXTENDED, the text of the view.
    """
    columns = view_columns(view, context)
    comments = dict(view.columns)
    rows: list[Row] = [(column.name, column.type or None, comments.get(column.name)) for column in columns]
    if extended or not columns:
        rows += [("", "", "")] if columns else []
        rows += [("# Detailed View Information", "", ""), ("View", view.name, ""), ("Type", "VIEW", "")]
        rows += [("Comment", view.comment, "")] if view.comment is not None else []
        if view.properties:
            rows.append(("View Properties", ", ".join(f"{k}={v}" for k, v in sorted(view.properties.items())), ""))
        rows.append(("View Text", view.query, ""))
    return listing("DESCRIBE", strings("col_name", "data_type", "comment"), rows)


def view_columns(view: View, context: Context) -> tuple[Column, ...]:
    """The columns of a view; none where they are not known, as when something that it reads was dropped."""
    try:
        snapshot = context.snapshot.within(view.database)
        tree = expand(told_apart(QueryText(view.query), view.database), snapshot, within=view.name).tree
    except Error:
        return ()
    offered = Offers(tree, snapshot).answered(tree)
    if view.columns:
        offered = renamed(offered, [name for name, _ in view.columns])
    return tuple(column for column in offered if column) if all(one and one.name for one in offered) else ()


def show_cubes(statement: s.ShowCubes, context: Context) -> Result:
    """Rows of (cube, dimensions, measures, times), or of (fact, cube, base_period, tables, weight); of the current
    database or that of IN. What lies in another one than its fact has its database before it.
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
            for fact in context.snapshot.facts()
            if _shown(fact.name, database, None)
        ]
        return listing("SHOW FACTS", columns, rows)
    rows = [
        (
            short_name(cube.name),
            ", ".join(column.name for column in cube.dimensions),
            ", ".join(measure.name for measure in cube.measures),
            ", ".join(cube.times),
        )
        for cube in context.snapshot.cubes()
        if _shown(cube.name, database, None)
    ]
    return listing("SHOW CUBES", strings("cube", "dimensions", "measures", "times"), rows)


def described_cube(cube: Cube) -> Result:
    """Rows of (column, type, role, details)."""
    dimensions = {column.name: column for column in cube.dimensions}
    measures = {measure.name: measure for measure in cube.measures}
    rows: list[Row] = []
    for name in cube.column_order:
        if name in dimensions:
            rows.append((name, dimensions[name].type, "DIMENSION", ""))
        elif name in measures:
            measure = measures[name]
            details = [f"COUNTED BY {measure.counted_by}"] if measure.counted_by else []
            details += ["NOT NULL"] if measure.not_null else []
            rows.append((name, measure.type, f"MEASURE {measure.aggregate.value}", " ".join(details)))
        else:
            rows.append((name, "timestamp", "TIME", "" if cube.calendar.is_utc else f"TIME ZONE {quote(cube.zone)}"))
    return listing("DESCRIBE", strings("column", "type", "role", "details"), rows)


def described_fact(fact: Fact) -> Result:
    """Rows of (storage, table, period, time, layout, trusted, complete_with, valid)."""
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
        )
        for storage in fact.storages
        for table in storage.tables
        for period in sorted(table.layouts, reverse=True)
        for time, layouts in ((table.time, table.layouts), *((o.time, o.layouts) for o in table.others))
    ]
    columns = (
        *strings("storage", "table", "period", "time", "layout"),
        Column("trusted", "boolean"),
        *strings("complete_with", "valid"),
    )
    return listing("DESCRIBE", columns, rows)


def _completeness(rule: Completeness) -> str:
    if rule.values is None:
        return f"ANY {rule.column}"
    values = ("NULL" if value is None else f"'{value}'" for value in rule.values)
    return f"{rule.column} IN ({', '.join(values)})"
