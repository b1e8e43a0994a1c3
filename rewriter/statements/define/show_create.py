"""SHOW CREATE TABLE, VIEW, CUBE and FACT: the statement that makes the object again.

Running the statement in the same session makes an equal object. Names carry their database, so that they do not
depend on the current one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.model.column_statistics import is_reserved
from rewriter.catalog.model.objects import Column, Cube, Fact, Storage, StorageTable, Table, View, parts_of
from rewriter.catalog.model.row_formats import (
    ESCAPE,
    FIELD,
    NULL,
    TEXTFILE,
    csv_properties,
    row_format_properties,
)
from rewriter.catalog.model.stored_paths import MOVING
from rewriter.catalog.model.temporary_views import TemporaryView, session_of, with_typed_names
from rewriter.data_formats import CSV
from rewriter.errors import ParseError
from rewriter.exec.formats.csv_dialects import SERDE, shown_options
from rewriter.grammar.families.cubes import CreateCube, CubeColumn
from rewriter.grammar.families.descriptions import ShowCreate
from rewriter.grammar.families.facts import (
    CompleteWith,
    CreateFact,
    FactStorage,
    FactTable,
    LayoutColumn,
    RawColumn,
    Rollup,
)
from rewriter.grammar.families.tables import CreateTable
from rewriter.grammar.families.views import CreateView
from rewriter.grammar.lexer import tokens
from rewriter.grammar.row_formats import RowFormat
from rewriter.grammar.terms import ClusterName, ColumnDef, Literal, Name, Query
from rewriter.grammar.unparse import render
from rewriter.planner.scope.blocks import prefix_of
from rewriter.planner.scope.cte_references import names_in
from rewriter.planner.scope.expand_views import reads_temporary
from rewriter.planner.text.query_text import QueryText
from rewriter.runtime.result import Result, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.rollups import remade_rollups
from rewriter.statements.resolve.named_objects import named_cube, named_fact
from rewriter.timeline.layouts import SPELLINGS, TimeLayout

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context


@runs(ShowCreate, in_transaction=True)
def show_create(statement: ShowCreate, context: Context) -> Result:
    """Returns one row of (createtab_stmt). SHOW CREATE TABLE of a view shows the view, as in Spark.

    AS SERDE spells a table as Hive does: ``PARTITIONED BY (dt string)``, ``STORED AS``.
    """
    if statement.as_serde and statement.kind != "TABLE":
        raise ParseError(
            f"AS SERDE belongs to SHOW CREATE TABLE, not to SHOW CREATE {statement.kind}.",
            position=statement.span,
            object=statement.name.last,
            hint="Leave it out.",
        )
    if statement.kind == "CUBE":
        text = laid_out(render(declared_cube(named_cube(statement.name, context))))
    elif statement.kind == "FACT":
        fact = named_fact(statement.name, context)
        cube = context.snapshot.cube(fact.cube)
        text = laid_out(render(declared_fact(fact, remade_rollups(fact, fact.storages[0].tables, cube, context))))
    else:
        object_ = context.named(statement.name)
        if statement.kind == "VIEW" or (isinstance(object_, View) and not statement.as_serde):
            text = _view(context.view(statement.name), context)
        else:
            text = _table(context.table(statement.name), statement.as_serde)
    return listing(f"SHOW CREATE {statement.kind}", strings("createtab_stmt"), [(text,)])


def _table(table: Table, as_serde: bool) -> str:
    columns, partitioning = table.columns, tuple(map(_column, table.partition_columns))
    if not as_serde:
        columns = table.all_columns
        partitioning = tuple(_partitioning(column) for column in table.partition_columns)
    temporary = session_of(table.name) is not None
    options = table.file_options
    separators = row_format_properties(options) if table.format == TEXTFILE else csv_properties(options)
    is_text = table.format == TEXTFILE and any(key in table.properties for key in separators)
    stated = tuple(shown_options(options).items()) if table.format == CSV.name else ()
    properties = {
        key: value
        for key, value in table.properties.items()
        if not (is_reserved(key) or key.startswith(MOVING) or key in separators)
    }
    create_statement = CreateTable(
        table=Name((with_typed_names(table.name),)) if temporary else _name(table.name),
        columns=tuple(map(_column, columns)),
        partitioned_by=partitioning,
        external=table.external,
        temporary=temporary,
        format=None if as_serde else table.format,
        row_format=_row_format(table) if is_text else None,
        serde_properties=stated if SERDE in options else None,
        options=stated if SERDE not in options and stated else None,
        location=table.location if table.external else None,
        cluster=None if table.cluster is None else ClusterName(table.cluster),
        comment=table.comment,
        properties=tuple(sorted(properties.items())),
    )
    return laid_out(render(create_statement) + (f" STORED AS {table.format}" if as_serde else ""))


def _row_format(table: Table) -> RowFormat:
    options = table.file_options
    return RowFormat(options[FIELD], options.get(ESCAPE), options[NULL])


def _partitioning(column: Column) -> ColumnDef:
    """Returns what names a declared partition column in PARTITIONED BY."""
    if column.transform is None:
        return ColumnDef(column.name, None)
    return ColumnDef(column.transform.source, None, transform=column.transform.function)


def _column(column: Column) -> ColumnDef:
    if column.transform is not None:
        return _partitioning(column)
    return ColumnDef(column.name, column.type, column.comment, default=column.default, not_null=column.not_null)


def _view(view: View, context: Context) -> str:
    """Returns the CREATE VIEW statement of a view.

    The query is its author's text if the database of that time is current; otherwise its names get that database.
    """
    query = view.query
    if view.database != context.snapshot.current:
        names = [(node, span) for node, span in names_in(QueryText(query)) if node.args.get("db") is None]
        offsets = [span.start for node, span in names if not reads_temporary(view, node.name)]
        for offset in sorted(offsets, reverse=True):
            query = query[:offset] + prefix_of(view.database) + query[offset:]
    columns = tuple(ColumnDef(name, None, comment) for name, comment in view.columns)
    temporary = isinstance(view, TemporaryView)
    create_statement = CreateView(
        view=Name((with_typed_names(view.name),)) if temporary else _name(view.name),
        temporary=temporary,
        query=Query(query),
        columns=columns or None,
        comment=view.comment,
        properties=tuple(sorted(view.properties.items())),
    )
    head = render(create_statement).removesuffix(f" AS {query}")
    return f"{laid_out(head)}\nAS {query}"


def declared_cube(cube: Cube) -> CreateCube:
    """Returns the statement that creates the cube."""
    dimensions = {column.name: column for column in cube.dimensions}
    measures = {measure.name: measure for measure in cube.measures}
    columns = []
    for name in cube.column_order:
        if name in dimensions:
            columns.append(CubeColumn(name, dimensions[name].type))
        elif name in measures:
            measure = measures[name]
            columns.append(
                CubeColumn(
                    name,
                    measure.type,
                    measure.aggregate.value,
                    measure.counted_by,
                    measure.not_null,
                    measure.events,
                    measure.bucketed_by,
                    measure.ordered_by,
                    measure.per,
                    measure.precision,
                )
            )
        else:
            columns.append(CubeColumn(name, "timestamp", "TIME"))
    zone = None if cube.calendar.is_utc else cube.zone
    return CreateCube(name=_name(cube.name), columns=tuple(columns), time_zone=zone)


def declared_fact(fact: Fact, rollups: Mapping[str, Rollup] | None = None) -> CreateFact:
    """Returns the statement that creates the fact. ROLLUPS stands for the tables of ``rollups``; each other table has a
    TABLE clause.
    """
    rollups = rollups or {}
    left = tuple(table for table in fact.storages[0].tables if table.table not in rollups)
    storages = (replace(fact.storages[0], tables=left), *fact.storages[1:])
    return CreateFact(
        name=_name(fact.name),
        cube=_name(fact.cube),
        storages=tuple(map(_storage, storages)),
        columns=fact.columns,
        weight=fact.weight,
        lateness=fact.lateness,
        refresh_on_commit=fact.refresh_on_commit,
        rollups=tuple(rollups.values()),
    )


def _storage(storage: Storage) -> FactStorage:
    tables = tuple(map(_storage_table, storage.tables))
    return FactStorage(storage.name, tables, start=storage.start, end=storage.end)


def _storage_table(table: StorageTable) -> FactTable:
    layouts_by_time = ((table.time, table.layouts), *((other.time, other.layouts) for other in table.others))
    # One layout serves several periods only where each has its own default.
    first = next(iter(table.layouts))
    partitioned = tuple((time, _layout(layouts[first], len(layouts) > 1)) for time, layouts in layouts_by_time)
    return FactTable(
        _name(table.table),
        tuple(layout.period.name for layout in table.layouts.values()),
        partitioned,
        ("TRUSTED",) if table.trusted else (),
        tuple(
            CompleteWith(rule.column, None if rule.values is None else tuple(map(_literal, rule.values)))
            for rule in table.complete
        ),
        table.start,
        table.end,
        None if table.raw is None else tuple(RawColumn(column, sql) for column, sql in table.raw.items()),
        table.columns,
        table.retain,
    )


def _layout(layout: TimeLayout, by_default: bool) -> tuple[LayoutColumn, ...]:
    return tuple(
        LayoutColumn(part.column, None if by_default or part.type in SPELLINGS else part.pattern)
        for part in layout.parts
    )


def _literal(value: str | None) -> Literal:
    return Literal("null", "") if value is None else Literal("string", value)


def _name(full_name: str) -> Name:
    return Name(parts_of(full_name))


#: Words that begin a new line outside of parentheses.
_CLAUSES = (
    "USING",
    "ROW",
    "PARTITIONED",
    "COMMENT",
    "LOCATION",
    "TBLPROPERTIES",
    "STORED",
    "ROLLUPS",
    "TIME",
    "WEIGHT",
    "LATENESS",
    "ON",
)


def laid_out(text: str) -> str:
    """Returns a statement on several lines, with the same tokens: one line for each clause, and for each item of an
    outermost list.

    The lists behind BY and AS stay on their lines.
    """
    return "".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    listed_tokens = tokens(text)
    depth, angles, end = 0, 0, 0
    has_list = False
    for index, token in enumerate(listed_tokens):
        before = listed_tokens[index - 1] if index else None
        gap = text[end : token.start]
        if before is not None and has_list and depth == 1 and angles == 0 and before.is_operator(",", "("):
            gap = "\n  "
        elif before is not None and depth == 0 and token.is_word(*_CLAUSES) and not before.is_word("REFRESH"):
            gap = "\n"
        yield gap + token.text
        end = token.end
        if token.is_operator("("):
            has_list = (before is None or not before.is_word("BY", "AS")) if depth == 0 else has_list
            depth += 1
        elif token.is_operator(")"):
            depth -= 1
        elif token.text.strip("<>") == "":
            angles += token.text.count("<") - token.text.count(">")
