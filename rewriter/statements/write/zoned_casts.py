"""Casts of times that an INSERT would make in UTC although the cube that it reads or fills has another zone."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.model.objects import Column
from rewriter.errors import NotSupportedError
from rewriter.grammar.families import writes as s
from rewriter.runtime.prepared_queries import Prepared
from rewriter.runtime.statement_context import Context
from rewriter.statements.write.insert_target import Target


def check_zoned_casts(
    statement: s.Insert, target: Target, query_columns: Sequence[Column], prepared: Prepared, context: Context
) -> None:
    """Raises ``NotSupportedError`` ZONED_TIME for columns that an assignment cast would convert in UTC although the
    cube has another zone.

    An instant from a cube with a zone has its date and its text in that zone; the cast would take those of UTC. An
    instant from any cube is not a wall time, which a TIMESTAMP column that names a zone's days holds.
    """
    zones = [reference.calendar.zone for reference in prepared.plan.coverage.references]
    zone = next((zone for zone in zones if zone != "UTC"), None)
    fact = context.snapshot.fact_using(target.table.name)
    storage_table = fact.storage_table(target.table.name) if fact is not None else None
    for column, query_column in zip(target.provided, query_columns, strict=True):
        if query_column.type != "timestamp":
            continue
        if (
            fact is not None
            and storage_table is not None
            and zones
            and column.name.lower() in storage_table.wall_columns
        ):
            kind, of = "wall time", fact.zone
            hint = f"Write a date, such as to_date(…): {column.name} becomes its midnight."
        elif zone is not None and column.type != "timestamp":
            kind, of = column.type.upper(), zone
            hint = f"Write to_date(…) or date_format(…, '…') in the query, or declare {column.name} TIMESTAMP."
        else:
            continue
        raise NotSupportedError(
            f"{query_column.name} is an instant, and {column.name} a {kind}: in {of} its value would differ from UTC.",
            condition="ZONED_TIME",
            position=statement.query.span,
            object=column.name,
            hint=hint,
        )
