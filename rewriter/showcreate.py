"""SHOW CREATE TABLE, VIEW, CUBE and FACT: the statement that makes the object again.

What is shown, and run in the same session, makes an equal object. Names carry their database, so that they do not
depend on the current one.
"""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.catalog.directories import MOVING
from rewriter.catalog.models import Column, Cube, Fact, Storage, StorageTable, Table, View
from rewriter.catalog.names import parts_of
from rewriter.catalog.statistics import is_reserved
from rewriter.catalog.temporary import session_of, shown
from rewriter.context import Context
from rewriter.errors import ParseError
from rewriter.grammar import statements as s
from rewriter.grammar.lexer import tokens
from rewriter.grammar.render import render
from rewriter.planner.expand import names_in
from rewriter.planner.names import prefix_of
from rewriter.planner.text import QueryText
from rewriter.result import Result
from rewriter.showing import listing, named_cube, named_fact, strings
from rewriter.timeline.layout_parts import SPELLINGS
from rewriter.timeline.layouts import TimeLayout


def show_create(statement: s.ShowCreate, context: Context) -> Result:
    """One row of (createtab_stmt). SHOW CREATE TABLE of a view shows the view, as in Spark.

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
        text = laid_out(render(_cube(named_cube(statement.name, context))))
    elif statement.kind == "FACT":
        text = laid_out(render(_fact(named_fact(statement.name, context))))
    else:
        found = context.named(statement.name)
        if statement.kind == "VIEW" or (isinstance(found, View) and not statement.as_serde):
            text = _view(context.view(statement.name), context)
        else:
            text = _table(context.table(statement.name), statement.as_serde)
    return listing(f"SHOW CREATE {statement.kind}", strings("createtab_stmt"), [(text,)])


def _table(table: Table, as_serde: bool) -> str:
    columns, partitioning = table.columns, tuple(map(_column, table.partition_columns))
    if not as_serde:
        columns = table.all_columns
        partitioning = tuple(s.ColumnDef(column.name, None) for column in table.partition_columns)
    temporary = session_of(table.name) is not None
    properties = {
        key: value for key, value in table.properties.items() if not (is_reserved(key) or key.startswith(MOVING))
    }
    made = s.CreateTable(
        table=s.Name((shown(table.name),)) if temporary else _name(table.name),
        columns=tuple(map(_column, columns)),
        partitioned_by=partitioning,
        external=table.external,
        temporary=temporary,
        format=None if as_serde else table.format,
        location=table.location if table.external else None,
        comment=table.comment,
        properties=tuple(sorted(properties.items())),
    )
    return laid_out(render(made) + (f" STORED AS {table.format}" if as_serde else ""))


def _column(column: Column) -> s.ColumnDef:
    return s.ColumnDef(column.name, column.type, column.comment)


def _view(view: View, context: Context) -> str:
    """The query is its author's text where the database of then is current; otherwise its names get that database."""
    query = view.query
    if view.database != context.snapshot.current:
        places = [span.start for node, span in names_in(QueryText(query)) if node.args.get("db") is None]
        for place in sorted(places, reverse=True):
            query = query[:place] + prefix_of(view.database) + query[place:]
    columns = tuple(s.ColumnDef(name, None, comment) for name, comment in view.columns)
    made = s.CreateView(
        view=_name(view.name),
        query=s.Query(query),
        columns=columns or None,
        comment=view.comment,
        properties=tuple(sorted(view.properties.items())),
    )
    head = render(made).removesuffix(f" AS {query}")
    return f"{laid_out(head)}\nAS {query}"


def _cube(cube: Cube) -> s.CreateCube:
    dimensions = {column.name: column for column in cube.dimensions}
    measures = {measure.name: measure for measure in cube.measures}
    columns = []
    for name in cube.column_order:
        if name in dimensions:
            columns.append(s.CubeColumn(name, dimensions[name].type))
        elif name in measures:
            one = measures[name]
            columns.append(s.CubeColumn(name, one.type, one.aggregate.value, one.counted_by, one.not_null))
        else:
            columns.append(s.CubeColumn(name, "timestamp", "TIME"))
    zone = None if cube.calendar.is_utc else cube.zone
    return s.CreateCube(name=_name(cube.name), columns=tuple(columns), time_zone=zone)


def _fact(fact: Fact) -> s.CreateFact:
    return s.CreateFact(
        name=_name(fact.name),
        cube=_name(fact.cube),
        storages=tuple(map(_storage, fact.storages)),
        columns=fact.columns,
        weight=fact.weight,
    )


def _storage(storage: Storage) -> s.FactStorage:
    tables = tuple(map(_storage_table, storage.tables))
    return s.FactStorage(storage.name, tables, start=storage.start, end=storage.end)


def _storage_table(table: StorageTable) -> s.FactTable:
    named = ((table.time, table.layouts), *((other.time, other.layouts) for other in table.others))
    # One layout serves several periods only where each has its own default.
    first = next(iter(table.layouts))
    partitioned = tuple((time, _layout(layouts[first], len(layouts) > 1)) for time, layouts in named)
    return s.FactTable(
        _name(table.table),
        tuple(layout.period.name for layout in table.layouts.values()),
        partitioned,
        ("TRUSTED",) if table.trusted else (),
        tuple(
            s.CompleteWith(one.column, None if one.values is None else tuple(map(_literal, one.values)))
            for one in table.complete
        ),
        table.start,
        table.end,
    )


def _layout(layout: TimeLayout, by_default: bool) -> tuple[s.LayoutColumn, ...]:
    return tuple(
        s.LayoutColumn(part.column, None if by_default or part.type in SPELLINGS else part.pattern)
        for part in layout.parts
    )


def _literal(value: str | None) -> s.Literal:
    return s.Literal("null", "") if value is None else s.Literal("string", value)


def _name(full: str) -> s.Name:
    return s.Name(parts_of(full))


#: Words that begin a line where no parenthesis is open.
_CLAUSES = ("USING", "PARTITIONED", "COMMENT", "LOCATION", "TBLPROPERTIES", "STORED", "TIME", "WEIGHT")


def laid_out(text: str) -> str:
    """A statement on several lines, token by token the same: each clause, and each item of an outermost list.

    The lists behind BY and AS stay on their lines.
    """
    return "".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    found = tokens(text)
    depth, angles, end = 0, 0, 0
    listed = False
    for index, token in enumerate(found):
        before = found[index - 1] if index else None
        gap = text[end : token.start]
        if before is not None and listed and depth == 1 and angles == 0 and before.is_operator(",", "("):
            gap = "\n  "
        elif before is not None and depth == 0 and token.is_word(*_CLAUSES):
            gap = "\n"
        yield gap + token.text
        end = token.end
        if token.is_operator("("):
            listed = (before is None or not before.is_word("BY", "AS")) if depth == 0 else listed
            depth += 1
        elif token.is_operator(")"):
            depth -= 1
        elif token.text.strip("<>") == "":
            angles += token.text.count("<") - token.text.count(">")
