"""Aggregates that the catalog computes: no file is listed or opened, and no partition is enumerated."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.filters.predicates import AllOf, bind_filter
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.model.objects import Column, Table
from rewriter.exec.engine import EngineQuery
from rewriter.grammar.filters import IsNull, Not
from rewriter.planner.model.plan import Plan, TableAggregate, quote_identifier
from rewriter.runtime.statement_context import Context

#: The types of partition columns whose keys sort exactly as an engine sorts the values.
SORTED_TYPES = frozenset(("string", "date", "tinyint", "smallint", "int", "bigint"))

Value = int | str | None


def computed_query(plan: Plan, context: Context) -> EngineQuery | None:
    """Returns a query of one row that has the values of a plan's aggregates; ``None`` if the catalog lacks them because
    it does not list the files, because the rows of a file were not counted, or because the database cannot test the
    filter.
    """
    if not plan.aggregates:
        return None
    (use,) = plan.uses
    table = use.table
    is_listed = not table.external and not is_discovered(table)
    if not is_listed or not all(_is_of_keys(aggregate, table) for aggregate in plan.aggregates):
        return None
    rows = context.snapshot.lookup(table, use.wanted).row_total()
    if rows is None:
        return None
    values: list[Value] = []
    for aggregate in plan.aggregates:
        value: Value = rows
        if aggregate.column is not None:
            not_null = bind_filter(Not(IsNull(aggregate.column.name)), table.partition_columns)
            wanted = not_null if use.wanted is None else AllOf((use.wanted, not_null))
            lookup = context.snapshot.lookup(table, wanted)
            if aggregate.function == "COUNT":
                value = lookup.row_total()
                if value is None:
                    return None
            else:
                key = lookup.edge_key(last=aggregate.function == "MAX")
                if key is None and lookup.row_total() != 0:
                    return None
                value = None if key is None else lookup.values_of(key)[0]
        values.append(value)
    return values_query(plan.aggregates, values)


def values_query(aggregates: Sequence[TableAggregate], values: Sequence[Value]) -> EngineQuery:
    """Returns a query of one row that has these values, with the names and types of the aggregates."""
    items = [
        f"CAST(:value_{number} AS {_type_name(aggregate)}) AS {quote_identifier(aggregate.name)}"
        for number, aggregate in enumerate(aggregates)
    ]
    parameters = {f"value_{number}": value for number, value in enumerate(values)}
    return EngineQuery(f"SELECT {', '.join(items)}", (), parameters)


def _type_name(aggregate: TableAggregate) -> str:
    return "BIGINT" if aggregate.function == "COUNT" or aggregate.column is None else aggregate.column.type


def _is_of_keys(aggregate: TableAggregate, table: Table) -> bool:
    """Tests whether the keys of partitions and their numbers of rows are enough."""
    column = aggregate.column
    if column is None:
        return True
    if aggregate.function == "COUNT":
        return column in table.partition_columns
    return column in table.partition_columns[:1] and is_sorted(column)


def is_sorted(column: Column) -> bool:
    return column.type.lower() in SORTED_TYPES
