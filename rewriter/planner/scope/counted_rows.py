"""Derived tables whose rows COUNT(*) counts as events, although they are not inlined: UNION ALL, and joins of a cube.

Each SELECT of such a table also selects the number of events that a row of it stands for, and COUNT(*) becomes the sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.projections import own_nodes
from rewriter.planner.text.sqlglot_trees import walk

#: The column with the number of events that a row stands for.
EVENTS = "rw_events"


@dataclass(frozen=True, eq=False)
class CountedRows:
    """A derived table and the block that counts its rows.

    ``calls`` are the COUNT calls. ``of_cubes`` are the SELECTs whose rows stand for the events of a cube's row; a row
    of the ``others`` is one. ``nullable`` says that an outer join of the block may put NULLs in the table's place.
    """

    select: exp.Select
    alias: str
    nullable: bool
    calls: tuple[exp.Count, ...]
    of_cubes: tuple[exp.Select, ...]
    others: tuple[exp.Select, ...]


def counts_all_rows(node: exp.Expr) -> bool:
    """Tests for COUNT(*) and COUNT(1)."""
    return isinstance(node, exp.Count) and not node.expressions and isinstance(node.this, exp.Star | exp.Literal)


def shows_star(select: exp.Select) -> bool:
    """Tests whether a ``*`` of a block shows all columns of its relations."""
    stars = (node for node in own_nodes(select) if isinstance(node, exp.Star))
    return any(not isinstance(node.parent, exp.Count) for node in stars)


def united_selects(relation: exp.Expr) -> Iterator[exp.Expr | None]:
    """Yields the SELECTs whose rows a derived table returns; ``None`` for any other part of it."""
    if not isinstance(relation, exp.Subquery) or _clauses(relation) - {"this", "alias"}:
        yield None
        return
    alias = relation.args.get("alias")
    if not isinstance(alias, exp.TableAlias) or alias.columns:
        yield None
        return
    stack = [relation.this]
    while stack:
        node = stack.pop()
        if type(node) is exp.Union and _clauses(node) <= {"this", "expression"}:
            stack += [node.expression, node.this]
        elif isinstance(node, exp.Subquery) and _clauses(node) == {"this"}:
            stack.append(node.this)
        else:
            yield node if isinstance(node, exp.Select) and _returns_rows_as_read(node) else None


def _returns_rows_as_read(select: exp.Select) -> bool:
    """Tests for a SELECT whose items do not depend on the number of rows, and none of whose clauses on the positions of
    items.
    """
    group = select.args.get("group")
    by_position = group is not None and any(isinstance(node, exp.Literal) for node in walk(group))
    if by_position or _clauses(select) & {"order", "sort", "cluster", "distribute", "with_"}:
        return False
    return not any(isinstance(node, exp.Func | exp.Window) and not _is_of_a_row(node) for node in own_nodes(select))


def _is_of_a_row(node: exp.Expr) -> bool:
    """Tests for a function that is the same for all events of a row, unlike a random number: a deterministic one, an
    aggregate, the generator of a LATERAL VIEW.
    """
    is_ours = isinstance(node, exp.Anonymous) and node.name.upper() == "TIME_RANGE_IN"
    return is_scalar(node) or is_ours or isinstance(node, exp.AggFunc) or isinstance(node.parent, exp.Lateral)


def _clauses(node: exp.Expr) -> set[str]:
    return {name for name, value in node.args.items() if value}
