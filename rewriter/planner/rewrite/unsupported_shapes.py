"""Shapes of a block that are refused beside a cube, because they are not planned yet or could mean two things."""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.planner.scope.blocks import Block, modifiers
from rewriter.planner.scope.joins import relations
from rewriter.planner.text.query_text import QueryText


def refuse_shapes(text: QueryText, block: Block) -> None:
    """Raises ``NotSupportedError``, at the first cube's name, for a FROM in which a cube cannot be planned."""
    select, source = block.select, block.cubes[0]
    refused = None
    if select.args.get("sample") or source.node.args.get("sample") or "sample" in _modifiers(select):
        raise NotSupportedError(
            f"TABLESAMPLE over the cube {source.cube.name} is not supported: a row stands for many events, so a sample "
            "of rows is no sample of events.",
            position=text.place(source.span),
            object=source.cube.name,
            hint="Sample a table of events, or an aggregation: FROM (SELECT … GROUP BY …) TABLESAMPLE (…).",
        )
    if any(relation.args.get("joins") for relation in relations(select)):
        refused = "Joins in parentheses with a cube are"
    elif unsupported := _modifiers(select):
        shape = next((_MODIFIERS[key] for key in sorted(unsupported) if key in _MODIFIERS), "This form of FROM with")
        refused = f"{shape} a cube is"
    elif any(_has_column_list(cube_source.node) for cube_source in block.cubes):
        refused = "A column list after a cube's alias is"
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
    "pivots": "PIVOT over", "laterals": "LATERAL beside", "version": "Time travel over",
    "when": "Time travel over",
}  # fmt: skip


def _modifiers(select: exp.Select) -> set[str]:
    """Returns the unsupported modifiers that a block applies to its relations; LATERAL VIEW only multiplies rows."""
    views = select.args.get("laterals") or ()
    has_only_views = all(view.args.get("view") for view in views) and not any(
        isinstance(relation, exp.Lateral) for relation in relations(select)
    )
    return modifiers(select) - ({"laterals"} if has_only_views else set())


def _has_column_list(node: exp.Table) -> bool:
    alias = node.args.get("alias")
    return alias is not None and bool(alias.args.get("columns"))


def _refused_join(join: exp.Join, block: Block) -> str | None:
    kind, method = (str(join.args.get(key) or "").upper() for key in ("kind", "method"))
    if method == "NATURAL":
        are_known = all(other.columns is not None for other in block.others) and not any(
            cube_source.levels for cube_source in block.cubes
        )
        return None if are_known else "NATURAL JOIN of a cube with a relation whose columns are unknown here is"
    if method:
        return f"{method} JOIN with a cube is"
    if kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
        return f"{kind} JOIN with a cube is"
    return None
