"""Aggregates that the catalog computes: no file is listed or opened, and no partition is enumerated."""

from __future__ import annotations

from rewriter.catalog.filters.predicates import AllOf, bind_filter
from rewriter.exec.engine import EngineQuery
from rewriter.grammar.filters import IsNull, Not
from rewriter.planner.model.plan import Plan, quote_identifier
from rewriter.runtime.statement_context import Context


def computed_query(plan: Plan, context: Context) -> EngineQuery | None:
    """Returns a query of one row that has the values of a plan's aggregates; ``None`` if the catalog lacks them because
    the rows of a file were not counted, or because the database cannot test the filter.
    """
    if not plan.catalog_aggregates:
        return None
    (use,) = plan.uses
    rows = context.snapshot.lookup(use.table, use.wanted).row_total()
    if rows is None:
        return None
    items: list[str] = []
    parameters: dict[str, object] = {}
    for number, aggregate in enumerate(plan.catalog_aggregates):
        value: int | str | None = rows
        type_name = "BIGINT"
        if aggregate.column is not None:
            not_null = bind_filter(Not(IsNull(aggregate.column.name)), use.table.partition_columns)
            wanted = not_null if use.wanted is None else AllOf((use.wanted, not_null))
            lookup = context.snapshot.lookup(use.table, wanted)
            key = lookup.edge_key(last=aggregate.function == "MAX")
            if key is None and lookup.row_total() != 0:
                return None
            type_name, value = aggregate.column.type, None if key is None else lookup.values_of(key)[0]
        items.append(f"CAST(:value_{number} AS {type_name}) AS {quote_identifier(aggregate.name)}")
        parameters[f"value_{number}"] = value
    return EngineQuery(f"SELECT {', '.join(items)}", (), parameters)
