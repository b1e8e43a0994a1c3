"""Derived tables whose rows COUNT and AVG take as events without inlining them: UNION ALL, and joins of a cube.

Each SELECT of such a table also selects the number of events that a row of it stands for, and the number of values
that an averaged measure of it sums. The block that counts adds these up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from rewriter.catalog.model.objects import Measure
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.projections import descend, own_nodes
from rewriter.planner.text.sqlglot_trees import walk

#: The column with the number of events that a row stands for.
EVENTS = "rw_events"


@dataclass(frozen=True)
class ShownCount:
    """A column that a SELECT of a derived table also selects.

    ``measure`` is the measure of the SELECT's cube that it shows, ``text`` its SQL over the relations of the SELECT.
    Neither: the events of the cube's row.
    """

    name: str
    measure: str = ""
    text: str = ""


@dataclass(frozen=True)
class CountedAverage:
    """An AVG of a measure, and the column of the derived table with the number of values that a row of it sums."""

    call: exp.Avg
    measure: Measure
    values: str


@dataclass(frozen=True, eq=False)
class CountedRows:
    """A derived table and the block that counts its rows.

    ``counts`` and ``averages`` are the calls that become sums. ``nullable`` says that an outer join of the block may
    put NULLs in the table's place.
    """

    select: exp.Select
    alias: str
    nullable: bool
    counts: tuple[exp.Count | exp.CountIf, ...]
    averages: tuple[CountedAverage, ...]


def counting_calls(select: exp.Select, relation: exp.Expr) -> list[exp.Count | exp.CountIf | exp.Avg]:
    """Returns the calls of COUNT and AVG in a block, or in a PIVOT of its relation, that depend on the number of
    rows.
    """
    kinds = (exp.Count, exp.CountIf, exp.Avg)
    pivots = relation.args.get("pivots") or ()
    nodes = (*own_nodes(select), *(node for pivot in pivots for node in descend(pivot)))
    return [node for node in nodes if isinstance(node, kinds) and not isinstance(node.this, exp.Distinct)]


def counts_all_rows(node: exp.Expr) -> bool:
    """Tests for COUNT(*) and COUNT(1)."""
    return isinstance(node, exp.Count) and not node.expressions and isinstance(node.this, exp.Star | exp.Literal)


def shows_star(select: exp.Select) -> bool:
    """Tests whether a ``*`` of a block shows all columns of its relations."""
    stars = (node for node in own_nodes(select) if isinstance(node, exp.Star))
    return any(not isinstance(node.parent, exp.Count) for node in stars)


def united_selects(query: exp.Expr) -> Iterator[exp.Select | None]:
    """Yields the SELECTs whose rows a query returns as they are; ``None`` for any other part of it."""
    stack = [query]
    while stack:
        node = stack.pop()
        if type(node) is exp.Union and clauses(node) <= {"this", "expression"}:
            stack += [node.expression, node.this]
        elif isinstance(node, exp.Subquery) and clauses(node) == {"this"}:
            stack.append(node.this)
        else:
            yield node if isinstance(node, exp.Select) and _returns_rows_as_read(node) else None


def _returns_rows_as_read(select: exp.Select) -> bool:
    """Tests for a SELECT whose items do not depend on the number of rows, and none of whose clauses on the positions of
    items.
    """
    group = select.args.get("group")
    by_position = group is not None and any(isinstance(node, exp.Literal) for node in walk(group))
    if by_position or clauses(select) & {"order", "sort", "cluster", "distribute", "with_"}:
        return False
    return not any(isinstance(node, exp.Func | exp.Window) and not _is_of_a_row(node) for node in own_nodes(select))


def _is_of_a_row(node: exp.Expr) -> bool:
    """Tests for a function that is the same for all events of a row, unlike a random number: a deterministic one, an
    aggregate, the generator of a LATERAL VIEW.
    """
    is_ours = isinstance(node, exp.Anonymous) and node.name.upper() == "TIME_RANGE_IN"
    return is_scalar(node) or is_ours or isinstance(node, exp.AggFunc) or isinstance(node.parent, exp.Lateral)


def clauses(node: exp.Expr) -> set[str]:
    """Returns the keys of the parts that a node has."""
    return {name for name, value in node.args.items() if value}
