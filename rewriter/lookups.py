"""Finding what a statement names: columns of a table or view, one partition by its full spec; the errors where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewriter.catalog.models import Column, Partition, Table, View
from rewriter.catalog.partition_paths import is_discovered
from rewriter.context import Context
from rewriter.discovering import discovered
from rewriter.errors import AnalysisError, NotSupportedError, Span
from rewriter.grammar import statements as s
from rewriter.showing import view_columns
from rewriter.specs import read_full, read_spec, read_static, require_partitioned


def column_named(columns: Sequence[Column], name: s.ColumnName) -> Column:
    """The column of that name, in any case. Raises, at the name, ``AnalysisError`` COLUMN_NOT_FOUND 42703."""
    if len(name.parts) > 1:
        raise NotSupportedError(
            f"{'.'.join(name.parts)} is no column of its own: fields within columns are not described or counted.",
            condition="NESTED_COLUMN",
            position=name.span,
            object=".".join(name.parts),
            hint=f"Name the column alone: {name.parts[-2]} or {name.last}.",
        )
    found = next((column for column in columns if column.name.lower() == name.last.lower()), None)
    if found is not None:
        return found
    raise AnalysisError(
        f"There is no column {name.last}.",
        condition="COLUMN_NOT_FOUND",
        sqlstate="42703",
        position=name.span,
        object=name.last,
        hint=f"The columns are {', '.join(column.name for column in columns)}.",
    )


def columns_of_view(view: View, context: Context) -> list[Column]:
    """The columns of a view with its comments; a type that is not known is empty. None where they are not known."""
    comments = dict(view.columns)
    return [replace(column, comment=comments.get(column.name)) for column in view_columns(view, context)]


def require_columns(view: View, position: Span, context: Context) -> list[Column]:
    """The same; ``AnalysisError`` UNKNOWN_VIEW_COLUMNS where only an engine could tell them."""
    found = columns_of_view(view, context)
    if found:
        return found
    raise AnalysisError(
        f"The columns of the view {view.name} are not known without running it.",
        condition="UNKNOWN_VIEW_COLUMNS",
        position=position,
        object=view.name,
        hint=f"DESCRIBE QUERY SELECT * FROM {view.name} asks the engine.",
    )


def partition_named(table: Table, items: Sequence[s.PartitionItem], context: Context) -> Partition:
    """The partition that a full spec names.

    Raises what ``specs.read_full`` raises, and PARTITIONS_NOT_FOUND 428FT where there is none. Of a table whose
    partitions are discovered its directory is looked for.
    """
    require_partitioned(table, _span(items))
    values = read_full(table, items)
    if is_discovered(table):
        wanted = read_static(table, dict(enumerate(values)))
        found = next(iter(discovered(table, wanted, context.snapshot).values()), None)
    else:
        found = context.snapshot.partition(table, values)
    if found is None:
        raise not_found(table, items)
    return found


def not_found(table: Table, items: Sequence[s.PartitionItem]) -> AnalysisError:
    """The error for a spec that no partition agrees with; its values as the table's types have them."""
    static = read_spec(table, items).static
    shown = ", ".join(
        f"`{table.partition_columns[index].name}` = {'null' if value is None else value}"
        for index, value in sorted(static.items())
    )
    return AnalysisError(
        f"The partition(s) PARTITION ({shown}) cannot be found in the table {table.name}.",
        condition="PARTITIONS_NOT_FOUND",
        sqlstate="428FT",
        position=_span(items),
        object=table.name,
        hint=f"SHOW PARTITIONS {table.name} lists them.",
    )


def _span(items: Sequence[s.PartitionItem]) -> Span:
    return Span(items[0].span.start, items[-1].span.end)
