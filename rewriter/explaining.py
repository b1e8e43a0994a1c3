"""EXPLAIN SCAN of the statements that find partitions by themselves: SHOW PARTITIONS and DROP PARTITION."""

from __future__ import annotations

from rewriter.catalog.lookup import Lookup
from rewriter.catalog.models import Column
from rewriter.catalog.temporary import plainly
from rewriter.context import Context
from rewriter.ddl import dropped
from rewriter.discovering import Discovery
from rewriter.grammar import statements as s
from rewriter.grammar.filters import render_filter
from rewriter.planner.explain import counted
from rewriter.result import Result, Row
from rewriter.showing import listed


def explain_scan(statement: s.ExplainScan, context: Context) -> Result:
    """How the partitions are found that the statement would show (before LIMIT), or drop. Rows of one column.

    Raises what the statement raises for its words; to find nothing is no error here.
    """
    inner = statement.statement
    if isinstance(inner, s.ShowPartitions):
        lookup = listed(inner, context)
        lines = [f"{lookup.table.name}: {_found(lookup)}", *indented(lookup)]
    else:
        lines = []
        for spec, lookup in dropped(inner, context):
            lines += [
                f"{lookup.table.name} PARTITION ({', '.join(map(render_filter, spec))}): {_found(lookup)}",
                *indented(lookup),
            ]
    rows: list[Row] = [(plainly(line, context.snapshot.session),) for line in lines]
    return Result("EXPLAIN", (Column("plan", "string"),), rows, rowcount=len(rows))


def indented(lookup: Lookup | Discovery) -> list[str]:
    """The lines of ``Lookup.explained`` as they stand below the line of their table."""
    return [f"  {line}" for line in lookup.explained()]


def _found(lookup: Lookup | Discovery) -> str:
    return counted(lookup.count(), "partition")
