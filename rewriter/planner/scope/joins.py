"""The effect of a block's joins on each relation: the conditions that restrict it, and whether it may be absent.

Relations are numbered as ``relations`` lists them: FROM's first one is 0, join ``k`` (from 1) adds relation ``k``.
Joins are evaluated from left to right, as in Spark.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp


def relations(select: exp.Select) -> list[exp.Expr]:
    """Returns the relations of a block, in order: FROM's relation, then the joined ones."""
    from_ = select.args.get("from_")
    first = [] if from_ is None else [from_.this]
    # A join may be attached to the relation itself: FROM (a JOIN b).
    nested = [join.this for relation in first for join in relation.args.get("joins") or ()]
    return [*first, *nested, *(join.this for join in select.args.get("joins") or ())]


def contributes(select: exp.Select, index: int) -> bool:
    """Tests whether the result contains rows of a relation: the right sides of SEMI and ANTI only select other rows."""
    join = _join(select, index)
    return join is None or _kind(join) not in ("SEMI", "ANTI")


def nullable(select: exp.Select, index: int) -> bool:
    """Tests whether the block may contain rows in which a relation is absent and its columns are NULL."""
    own_join = _join(select, index)
    if own_join is not None and _kind(own_join) not in ("SEMI", "ANTI") and _side(own_join) in ("LEFT", "FULL"):
        return True
    return any(_side(join) in ("RIGHT", "FULL") for join in _later(select, index))


def filters(select: exp.Select, index: int) -> Iterator[exp.Expr]:
    """Yields the conditions that restrict a relation, whatever else the block joins to it.

    They are valid only as conditions that NULLs do not pass. Conditions stay in the query; a relation may in addition
    be read without the rows that fail them:

    - WHERE restricts every relation: rows in which an outer join left it absent do not pass, either.
    - ON of an inner or semi join restricts both sides.
    - ON of an outer or anti join restricts only the side that need not match, never the one that is kept.
    """
    where_clause = select.args.get("where")
    if where_clause is not None and contributes(select, index):
        yield from conjuncts(where_clause.this)
    yield from matching(select, index)
    for number, join in enumerate(select.args.get("joins") or (), start=1):
        if number <= index or not join.args.get("on") or not contributes(select, index):
            continue
        # As the left side: kept by LEFT, FULL and ANTI, restricted by the others.
        if _side(join) == "RIGHT" or _kind(join) == "SEMI" or (_kind(join) != "ANTI" and not _side(join)):
            yield from conjuncts(join.args["on"])


def matching(select: exp.Select, index: int) -> Iterator[exp.Expr]:
    """Yields the conditions of the relation's own join.

    A row of the right side that fails the ON of INNER, LEFT, SEMI or ANTI matches no row, whether NULLs pass it or not.
    """
    own_join = _join(select, index)
    if own_join is not None and own_join.args.get("on") and _side(own_join) not in ("RIGHT", "FULL"):
        yield from conjuncts(own_join.args["on"])


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the operands of AND in a condition."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
    else:
        yield node


def typed_conjuncts(typed: exp.Expr | None, read: exp.Expr | None) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yields the operands of AND in a WHERE as typed, each with an operand of AND that planning reads for it.

    ``read`` is the WHERE itself, or a copy of it in which columns are replaced by their values. A column whose value is
    an AND has several operands there.
    """
    if typed is None or read is None:
        return
    while isinstance(typed, exp.Where | exp.Paren):
        typed, read = typed.this, read.this
    if isinstance(typed, exp.And):
        yield from typed_conjuncts(typed.this, read.this)
        yield from typed_conjuncts(typed.expression, read.expression)
    else:
        yield from ((typed, conjunct) for conjunct in conjuncts(read))


def _join(select: exp.Select, index: int) -> exp.Join | None:
    """Returns the join that adds a relation; ``None`` for FROM's first one."""
    joins: list[exp.Join] = list(select.args.get("joins") or ())
    return joins[index - 1] if 1 <= index <= len(joins) else None


def _later(select: exp.Select, index: int) -> list[exp.Join]:
    joins: list[exp.Join] = list(select.args.get("joins") or ())
    return joins[index:]


def _side(join: exp.Join) -> str:
    return str(join.args.get("side") or "").upper()


def _kind(join: exp.Join) -> str:
    return str(join.args.get("kind") or "").upper()
