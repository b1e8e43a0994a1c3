"""Finds the objects that a statement names: columns of a table or view, one partition by its full spec. Also makes the
errors for missing ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.model.temporary_views import place_of
from rewriter.catalog.storage.discovered_partitions import discovered
from rewriter.errors import AnalysisError, Error, NotSupportedError, Span, partitions_not_found
from rewriter.runtime.statement_context import Context, single
from rewriter.statements.resolve.partition_specs import read_full, read_spec, read_static, require_partitioned

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Cube, Fact, Partition, Table, View
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.grammar.terms import ColumnName, Name, PartitionItem


def column_named(columns: Sequence[Column], name: ColumnName) -> Column:
    """Returns the column of that name, in any case. Raises, at the name, ``AnalysisError`` COLUMN_NOT_FOUND 42703."""
    if len(name.parts) > 1:
        raise NotSupportedError(
            f"{'.'.join(name.parts)} is a field of a column: fields are not described or counted.",
            condition="NESTED_COLUMN",
            position=name.span,
            object=".".join(name.parts),
            hint=f"Name the column alone: {name.parts[-2]} or {name.last}.",
        )
    match = next((column for column in columns if column.name.lower() == name.last.lower()), None)
    if match is not None:
        return match
    raise AnalysisError(
        f"There is no column {name.last}.",
        condition="COLUMN_NOT_FOUND",
        sqlstate="42703",
        position=name.span,
        object=name.last,
        hint=f"The columns are {', '.join(column.name for column in columns)}.",
    )


def columns_of_view(view: View, snapshot: Snapshot) -> list[Column]:
    """Returns the columns of a view with its comments; an unknown type is empty. No columns where they are unknown."""
    comments = dict(view.columns)
    return [replace(column, comment=comments.get(column.name)) for column in view_columns(view, snapshot)]


def require_columns(view: View, position: Span, context: Context) -> list[Column]:
    """Returns the same; ``AnalysisError`` UNKNOWN_VIEW_COLUMNS where only an engine could determine them."""
    columns = columns_of_view(view, context.snapshot)
    if columns:
        return columns
    raise AnalysisError(
        f"The columns of the view {view.name} are unknown until the engine analyzes it.",
        condition="UNKNOWN_VIEW_COLUMNS",
        position=position,
        object=view.name,
        hint=f"DESCRIBE QUERY SELECT * FROM {view.name} asks the engine.",
    )


def partition_named(table: Table, items: Sequence[PartitionItem], context: Context) -> Partition:
    """Returns the partition that a full spec names.

    Raises the errors of ``partition_specs.read_full``, and PARTITIONS_NOT_FOUND 428FT where there is none. Looks for
    the directory if the table's partitions are discovered.
    """
    require_partitioned(table, _span(items))
    values = read_full(table, items)
    if is_discovered(table):
        filter_ = read_static(table, dict(enumerate(values)))
        partition = next(iter(discovered(table, filter_, context.snapshot).values()), None)
    else:
        partition = context.snapshot.partition(table, values)
    if partition is None:
        raise not_found(table, items)
    return partition


def not_found(table: Table, items: Sequence[PartitionItem]) -> AnalysisError:
    """Returns the error for a spec that no partition matches; its values are shown as the table's types store them."""
    static = read_spec(table, items).static
    names_text = ", ".join(
        f"`{table.partition_columns[index].name}` = {'null' if value is None else value}"
        for index, value in sorted(static.items())
    )
    return partitions_not_found(f"The partition(s) PARTITION ({names_text})", table.name, position=_span(items))


def _span(items: Sequence[PartitionItem]) -> Span:
    return Span(items[0].span.start, items[-1].span.end)


def named_cube(name: Name, context: Context) -> Cube:
    """Returns the cube, or raises ``AnalysisError`` CUBE_NOT_FOUND at the name."""
    unqualified = single(name)
    try:
        return context.snapshot.cube(unqualified)
    except Error as error:
        raise error.at(name.span) from None


def named_fact(name: Name, context: Context) -> Fact:
    """Returns the fact, or raises ``AnalysisError`` FACT_NOT_FOUND at the name."""
    unqualified = single(name)
    try:
        return context.snapshot.fact(unqualified)
    except Error as error:
        raise error.at(name.span) from None


def view_columns(view: View, snapshot: Snapshot) -> tuple[Column, ...]:
    """Returns the columns of a view; none where they are unknown, as after an object that it reads was dropped."""
    # Only views need the planner's parser.
    from rewriter.planner.scope.expand_views import expand
    from rewriter.planner.scope.item_names import OutputColumns
    from rewriter.planner.text.query_text import QueryText

    try:
        tree = expand(QueryText(f"SELECT * FROM {typed_name(view)}"), snapshot).tree
    except Error:
        return ()
    offered = OutputColumns(tree, snapshot).of_query(tree)
    return (
        tuple(column for column in offered if column)
        if all(offered_column and offered_column.name for offered_column in offered)
        else ()
    )


def typed_name(view: View) -> str:
    """Returns the name of a view as a query types it; a database keeps it apart from a temporary view of its name."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in place_of(view.name) if part)


# Patterns of names, as SHOW … LIKE takes them.


def fits_pattern(pattern: str, name: str) -> bool:
    """Returns whether a name matches a pattern of SHOW … LIKE, in any case: ``*`` is any text, ``|`` is or."""
    return any(
        re.fullmatch(".*".join(map(re.escape, alternative.strip().split("*"))), name, re.IGNORECASE)
        for alternative in pattern.split("|")
    )
