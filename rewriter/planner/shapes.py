"""Shapes of a block that are refused beside a cube, because they are not planned yet or could mean two things."""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.grammar.lexer import TokenKind
from rewriter.planner.blocks import Block, modifiers
from rewriter.planner.joins import relations
from rewriter.planner.text import QueryText
from rewriter.planner.units import unit_named


def check_unit(text: QueryText, call: exp.Expr) -> None:
    """Refuses a unit that sqlglot does not read as Spark does: ``date_trunc(month, t)`` has a column for Spark, and
    ``trunc(t, 'q')`` is NULL.
    """
    span, inside = text.call(call)
    found = text.within(inside)
    unit = found[0] if isinstance(call, exp.TimestampTrunc) else found[-1]
    literal = unit.kind is TokenKind.STRING
    if literal and unit_named(call.text("unit")) is None:
        return  # raw use
    if not literal or unit_named(unit.text[1:-1]) is None:
        raise NotSupportedError(
            "The unit of a truncation must be a literal that Spark knows beside a cube.",
            position=text.place(span),
            object=unit.text,
            hint="Write it in quotes and in full: date_trunc('month', t).",
        )


def refuse_shapes(text: QueryText, block: Block) -> None:
    """Raises ``NotSupportedError``, at the first cube's name, for a FROM in which a cube cannot be planned."""
    select, source = block.select, block.cubes[0]
    refused = None
    if any(relation.args.get("joins") for relation in relations(select)):
        refused = "Joins in parentheses beside a cube are"
    elif found := _modifiers(select):
        shape = next((_MODIFIERS[key] for key in sorted(found) if key in _MODIFIERS), "This form of FROM with")
        refused = f"{shape} a cube is"
    elif any(_has_column_list(one.node) for one in block.cubes):
        refused = "A column list behind a cube's alias is"
    else:
        for join in select.args.get("joins") or ():
            refused = refused or _refused_join(join, block)
    if refused:
        raise NotSupportedError(
            f"{refused} not supported yet.",
            position=text.place(source.span),
            object=source.cube.name,
            hint="Select or aggregate the cube in a subquery, with its time range, and use that: FROM (SELECT …) x …",
        )


_MODIFIERS = {
    "sample": "TABLESAMPLE over", "pivots": "PIVOT over", "laterals": "LATERAL beside", "version": "Time travel over",
    "when": "Time travel over",
}  # fmt: skip


def _modifiers(select: exp.Select) -> set[str]:
    """What a block does to its relations that is not understood; LATERAL VIEW only multiplies rows."""
    views = select.args.get("laterals") or ()
    plain = all(view.args.get("view") for view in views) and not any(
        isinstance(relation, exp.Lateral) for relation in relations(select)
    )
    return modifiers(select) - ({"laterals"} if plain else set())


def _has_column_list(node: exp.Table) -> bool:
    alias = node.args.get("alias")
    return alias is not None and bool(alias.args.get("columns"))


def _refused_join(join: exp.Join, block: Block) -> str | None:
    kind, method = (str(join.args.get(key) or "").upper() for key in ("kind", "method"))
    if method == "NATURAL":
        known = all(other.columns is not None for other in block.others) and not any(one.levels for one in block.cubes)
        return None if known else "NATURAL JOIN of a cube with a relation whose columns are not known here is"
    if method:
        return f"{method} JOIN with a cube is"
    if kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
        return f"{kind} JOIN with a cube is"
    return None
