"""Shapes of a block that are refused beside a cube, because they are not planned yet or could mean two things."""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.blocks import Block, CubeSource, modifiers
from rewriter.planner.scope.counted_rows import counts_all_rows
from rewriter.planner.scope.joins import relations
from rewriter.planner.text.query_text import QueryText
from rewriter.planner.text.sqlglot_trees import walk


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
    for cube_source in block.cubes:
        if cube_source.node.args.get("pivots"):
            raise _pivoted(text, cube_source)
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
            hint=_IN_SUBQUERY,
        )


def _pivoted(text: QueryText, source: CubeSource) -> NotSupportedError:
    """Returns the error for PIVOT and UNPIVOT of a cube, with a subquery of the columns that they name as a hint.

    PIVOT groups by all columns that it does not name: of a cube, by its time and by the measures of single rows.
    """
    cube, pivot = source.cube, source.node.args["pivots"][0]
    word = "UNPIVOT" if pivot.args.get("unpivot") else "PIVOT"
    calls = [node for node in walk(pivot) if isinstance(node, exp.Count | exp.CountIf | exp.Avg)]
    named = {node.name.lower() for node in walk(pivot) if isinstance(node, exp.Column)}
    clause, hint = _clause_of(text, source, word), _IN_SUBQUERY
    if calls and all(map(counts_all_rows, calls)) and cube.count_measure is not None:
        named.add(cube.count_measure.name.lower())
        for call in calls:
            span = text.call(call)[0]
            clause = clause.replace(text.text[span.start : span.end], f"SUM({cube.count_measure.name})")
        calls = []
    if not calls:
        columns = ", ".join(quote_identifier(name) for name in cube.column_order if name.lower() in named)
        hint = (
            f"Select the columns that it needs in a subquery, with the range of time: FROM (SELECT {columns} FROM "
            f"{text.text[source.span.start : source.span.end]}) {clause}."
        )
    verb = "would keep" if word == "UNPIVOT" else "would group by"
    return NotSupportedError(
        f"{word} over a cube is not supported: it {verb} all other columns, the measures and the time among them.",
        position=text.place(source.span),
        object=cube.name,
        hint=hint,
    )


def _clause_of(text: QueryText, source: CubeSource, word: str) -> str:
    """Returns the text of the PIVOT or UNPIVOT of a cube, to its last parenthesis."""
    tokens = text.tokens
    first = next(i for i in range(text.index_at(source.span.start), len(tokens)) if tokens[i].is_word(word))
    opening = next(i for i in range(first, len(tokens)) if tokens[i].is_operator("("))
    return text.text[tokens[first].start : tokens[text.closing(opening)].end]


_IN_SUBQUERY = "Select or aggregate the cube in a subquery, with its time range, and use that: FROM (SELECT …) x …."
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
