"""Shapes of a block that are refused beside a cube, because they are not planned yet or could mean two things."""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.grammar.lexer import TokenKind
from rewriter.planner.blocks import Block, modifiers, relations
from rewriter.planner.text import QueryText
from rewriter.planner.units import unit_named


def check_unit(text: QueryText, call: exp.Expr) -> None:
    """Refuses a unit that is no literal: sqlglot reads ``date_trunc(month, t)`` as if it were, Spark as a column."""
    if unit_named(call.text("unit")) is None:
        return
    span, inside = text.call(call)
    found = [token for token in text.tokens if inside.start <= token.start < inside.end]
    literal = [token.kind is TokenKind.STRING for token in (found[0], found[-1])]
    if not literal[0 if isinstance(call, exp.TimestampTrunc) else 1]:
        raise NotSupportedError(
            "The unit of a truncation must be a literal beside a cube.",
            position=text.place(span),
            hint="Write it in quotes: date_trunc('month', t).",
        )


def refuse_shapes(text: QueryText, block: Block) -> None:
    """Raises ``NotSupportedError``, at the cube's name, for a FROM in which a cube cannot be planned yet."""
    select, source = block.select, block.cubes[0]
    joins = select.args.get("joins") or ()
    refused = None
    if any(relation.args.get("joins") for relation in relations(select)):
        refused = "Joins in parentheses beside a cube are"
    elif len(block.cubes) > 1:
        refused = "Two cubes in one FROM clause are"
    elif found := modifiers(select):
        shape = next((_MODIFIERS[key] for key in sorted(found) if key in _MODIFIERS), "This form of FROM with")
        refused = f"{shape} a cube is"
    elif (alias := source.node.args.get("alias")) is not None and alias.args.get("columns"):
        refused = "A column list behind a cube's alias is"
    elif select.args.get("qualify") is not None:
        refused = "QUALIFY over a cube is"
    else:
        for join in joins:
            refused = refused or _refused_join(join, source.node)
    if refused:
        raise NotSupportedError(
            f"{refused} not supported yet.",
            position=text.place(source.span),
            object=source.cube.name,
            hint="Aggregate the cube in a subquery of its own, and use that.",
        )


_MODIFIERS = {
    "sample": "TABLESAMPLE over", "pivots": "PIVOT over", "laterals": "LATERAL beside", "version": "Time travel over",
    "when": "Time travel over",
}  # fmt: skip


def _refused_join(join: exp.Join, cube: exp.Table) -> str | None:
    side, kind, method = (join.args.get(key) or "" for key in ("side", "kind", "method"))
    if method:
        return f"{method} JOIN with a cube is"
    if side in ("RIGHT", "FULL"):
        return f"{side} JOIN with a cube is"
    if join.this is cube and (side == "LEFT" or kind not in ("", "INNER", "CROSS")):
        return f"A cube on the right of a {' '.join(filter(None, (side, kind)))} JOIN is"
    if kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
        return f"{kind} JOIN with a cube is"
    return None
