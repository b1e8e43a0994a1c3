"""Rows that are not united: bitmaps of different buckets, where a position in each is another id, and the last values
of different series, such as the stocks of two shops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.rewrite.additivity import Subject, in_window, rolls_up
from rewriter.planner.text.sqlglot_trees import find_all

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube, Measure
    from rewriter.planner.scope.blocks import Block
    from rewriter.planner.text.query_text import QueryText

#: Tests whether a column is a dimension of this name.
_IsKey = Callable[[exp.Column, str], bool]


def _unites_bitmaps(node: exp.Expr) -> bool:
    """Tests for BITMAP_OR_AGG and BITMAP_AND_AGG, which sqlglot does not know."""
    is_and = isinstance(node, exp.Anonymous) and node.name.lower() == "bitmap_and_agg"
    return is_and or isinstance(node, exp.BitmapOrAgg)


def refuse_united_keys(text: QueryText, select: exp.Select, nodes: Iterable[exp.Expr], subject: Subject) -> None:
    """Raises ``NotSupportedError`` UNITED_BUCKETS for a BITMAP_OR_AGG, and UNITED_SERIES for a MAX_BY or MIN_BY, of a
    measure whose groups, or windows, may have several values of its ``keys``; UNITED_SERIES for its SUM, too.
    """
    has_keys = any(measure.keys for measure in subject.cube.measures)
    for node in nodes if has_keys else ():
        for column in _united_columns(node):
            measure = subject.measure_of(column)
            united = [] if measure is None else _united_keys(node, measure, select, subject)
            if measure is not None and united:
                raise _united(node, measure, united, text)


def _united_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """Yields the columns whose values an aggregate adds up, chooses from, or unites."""
    if _is_sum(node):
        yield from _added_columns(node.this if isinstance(node, exp.Sum) else node.expressions[0])
    elif isinstance(node, exp.ArgMax | exp.ArgMin):
        yield from find_all(node.this, exp.Column)
    elif _unites_bitmaps(node):
        yield from find_all(node, exp.Column)


def _is_sum(node: exp.Expr) -> bool:
    is_try = isinstance(node, exp.Anonymous) and node.name.lower() == "try_sum" and len(node.expressions) == 1
    return is_try or isinstance(node, exp.Sum)


def _added_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """Yields the columns of a term that a sum adds up: not those in conditions, other aggregates, or subqueries."""
    if isinstance(node, exp.Column):
        yield node
    elif isinstance(node, exp.Case | exp.If):
        branches = node.args.get("ifs") or [node]
        values = [branch.args.get("true") for branch in branches]
        for value in (*values, node.args.get("default"), node.args.get("false")):
            if isinstance(value, exp.Expr):
                yield from _added_columns(value)
    elif not isinstance(node, exp.AggFunc | exp.Query | exp.Subquery | exp.Predicate | exp.Window):
        for child in node.iter_expressions():
            yield from _added_columns(child)


def _united_keys(node: exp.Expr, measure: Measure, select: exp.Select, subject: Subject) -> list[str]:
    """Returns the keys of a measure of which a group, or a window, may have several values."""
    if _is_sum(node):
        return list(measure.per)
    if not (rolls_up(node, measure) or (measure.bucketed_by is not None and _unites_bitmaps(node))):
        return []

    def is_key(column: exp.Column, key: str) -> bool:
        return column.name.lower() == key.lower() and subject.owns(column)

    return _free_keys(node, select, measure.keys, is_key, subject.cube)


def _free_keys(node: exp.Expr, select: exp.Select, keys: Iterable[str], is_key: _IsKey, cube: Cube) -> list[str]:
    """Returns the keys of which the group, or the window, of an aggregate may have several values."""
    window = node.find_ancestor(exp.Window, exp.Select) if in_window(node) else None
    groups = list(_group_keys(select) if window is None else _partition_keys(window, select))
    conditions: list[exp.Expr] = []
    tests = [select.args.get("where"), node.parent.expression if isinstance(node.parent, exp.Filter) else None]
    for where in tests:
        if where is not None:
            conditions += where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
    texts = {dimension.name.lower() for dimension in cube.dimensions if dimension.type == "string"}
    return [
        key
        for key in keys
        if not any(_is_dimension(group, key, is_key) for group in groups)
        and not any(_is_one_value(condition, key, is_key, key.lower() in texts) for condition in conditions)
    ]


def refuse_united_outside(text: QueryText, blocks: Sequence[Block]) -> None:
    """Raises ``NotSupportedError`` UNITED_BUCKETS or UNITED_SERIES for an aggregate outside of the blocks of cubes,
    over columns that a subquery passes on. The names are followed by which subqueries pass measures and their keys on.
    Where a subquery joins two cubes, nothing tells whose key it is.
    """
    cubes = [source.cube for block in blocks for source in block.cubes]
    measures = {measure: cube for cube in cubes for measure in cube.measures if measure.keys}
    if not measures:
        return
    judged = {id(block.select) for block in blocks if block.cubes}
    is_joined = any(len(block.cubes) > 1 for block in blocks)
    ctes = {cte.alias.lower() for cte in text.tree.find_all(exp.CTE)}
    read = {column.name.lower() for column in text.tree.find_all(exp.Column)}
    for node in list(text.tree.walk()):
        select = node.find_ancestor(exp.Select) if next(_united_columns(node), None) is not None else None
        if select is None or id(select) in judged or not _reads_subquery(select, ctes):
            continue
        for measure, cube in measures.items():
            if measure.name.lower() not in read or not _is_of_measure(node, measure, text):
                continue
            names = {key: frozenset() if is_joined else _names_of(text, key.lower()) for key in measure.keys}
            is_key = partial(_is_named, names)
            united = list(measure.per) if _is_sum(node) else _free_keys(node, select, measure.keys, is_key, cube)
            if united:
                raise _united(node, measure, united, text)


def _reads_subquery(select: exp.Select, ctes: Collection[str]) -> bool:
    """Tests whether a block reads more than tables."""
    sources = [clause.this for clause in (select.args.get("from_"), *(select.args.get("joins") or ())) if clause]
    return any(not isinstance(source, exp.Table) or source.name.lower() in ctes for source in sources)


def _is_of_measure(node: exp.Expr, measure: Measure, text: QueryText) -> bool:
    """Tests whether an aggregate may be over a measure that subqueries pass on. Bitmaps may be passed on in any way."""
    if measure.ordered_by is None:
        return _unites_bitmaps(node)
    passed = _names_of(text, measure.name.lower())
    is_passed = any(column.name.lower() in passed for column in _united_columns(node))
    if isinstance(node, exp.ArgMax | exp.ArgMin):
        return is_passed and _is_column(node.expression, _names_of(text, measure.ordered_by.lower()))
    return is_passed and _is_sum(node)


def _is_named(names: Mapping[str, Collection[str]], column: exp.Column, key: str) -> bool:
    return column.name.lower() in names[key]


def _names_of(text: QueryText, name: str) -> set[str]:
    """Returns the names under which the blocks of a query pass a column on, unless something else has the name, too."""
    items = [(item.alias.lower(), item.this) for item in text.tree.walk() if isinstance(item, exp.Alias)]
    for alias in text.tree.find_all(exp.TableAlias):
        query = None if alias.parent is None else alias.parent.this
        if isinstance(query, exp.Query) and alias.columns:
            pairs = zip(alias.columns, query.selects, strict=False)
            items += [(column.name.lower(), item.unalias()) for column, item in pairs]
    names, size = {name}, 0
    while size < len(names):
        size = len(names)
        names |= {alias for alias, value in items if _is_column(value, names)}
    return names - {alias for alias, value in items if not _is_column(value, names)}


def _is_column(value: exp.Expr, names: Collection[str]) -> bool:
    return isinstance(value, exp.Column) and value.name.lower() in names


def _united(node: exp.Expr, measure: Measure, keys: Sequence[str], text: QueryText) -> NotSupportedError:
    names = ", ".join(map(quote_identifier, keys))
    place, name = text.place(text.call(node)[0]), measure.name
    if measure.ordered_by is None:
        return NotSupportedError(
            f"Bitmaps of several values of {names} would be united: the same position of {name} is another id in each.",
            condition="UNITED_BUCKETS",
            position=place,
            object=name,
            hint=f"Add {names} to GROUP BY, and sum up bitmap_count in a query around it: SELECT SUM(ids) FROM (SELECT "
            "bitmap_count(bitmap_or_agg(…)) AS ids … GROUP BY …).",
        )
    function = measure.aggregate.rollup_function
    call = f"{function}({quote_identifier(name)}, {quote_identifier(measure.ordered_by)})"
    message = f"{call} would return the value of one of several series: {names} may differ."
    if _is_sum(node):
        message = f"SUM({name}) would add up the values of all times: {name} is a {measure.aggregate.value} measure."
    return NotSupportedError(
        message,
        condition="UNITED_SERIES",
        position=place,
        object=name,
        hint=f"Sum up the values of the series in a query around it: SELECT SUM(v) FROM (SELECT {call} AS v … GROUP BY "
        f"{', '.join(map(quote_identifier, measure.per))}).",
    )


def _group_keys(select: exp.Select) -> Iterator[exp.Expr]:
    """Yields the expressions by which all rows are grouped; those of GROUPING SETS, ROLLUP and CUBE are not."""
    group = select.args.get("group")
    if group is None or group.args.get("grouping_sets"):
        return
    if any(not node.expressions for kind in ("rollup", "cube") for node in group.args.get(kind) or ()):
        return  # ``a, b WITH ROLLUP`` also groups by less than all of its expressions.
    items = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    keys = list(select.expressions) if group.args.get("all") else group.expressions
    for key in keys:
        if isinstance(key, exp.Literal) and not key.is_string and key.name.isdigit():
            place = int(key.name)
            yield from select.expressions[place - 1 : place]
        else:
            yield key
            if isinstance(key, exp.Column) and not key.table and key.name.lower() in items:
                yield items[key.name.lower()]


def _partition_keys(window: exp.Expr, select: exp.Select) -> Iterator[exp.Expr]:
    """Yields the expressions of PARTITION BY, also of the window of WINDOW that a window names."""
    yield from window.args.get("partition_by") or ()
    name = window.alias.lower()
    for named in select.args.get("windows") or ():
        if name and named.name.lower() == name:
            yield from named.args.get("partition_by") or ()


def _is_dimension(node: exp.Expr, name: str, is_key: _IsKey) -> bool:
    column = node.unalias().unnest()
    return isinstance(column, exp.Column) and is_key(column, name)


def _is_one_value(node: exp.Expr, name: str, is_key: _IsKey, is_text: bool) -> bool:
    """Tests for ``name = constant``, ``name <=> constant`` and ``name IN (constant)``."""
    node = node.unnest()
    sides: list[exp.Expr] = []
    if isinstance(node, exp.EQ | exp.NullSafeEQ):
        sides = [node.this, node.expression]
    elif isinstance(node, exp.In) and len(node.expressions) == 1:
        sides = [node.this, node.expressions[0]]
    return any(_is_dimension(side, name, is_key) for side in sides) and any(
        _is_constant(side) and (_fits_text(side) or not is_text) for side in sides
    )


def _is_constant(node: exp.Expr) -> bool:
    """Tests for an expression of literals and parameters."""
    parts = (exp.Literal, exp.Placeholder, exp.Neg, exp.Paren, exp.Cast, exp.DataType, exp.Add, exp.Sub, exp.Mul)
    return all(isinstance(part, parts) for part in node.walk())


def _fits_text(node: exp.Expr) -> bool:
    """Tests for a constant that equals one text: a number equals several, such as '1' and '01'."""
    value = node.unnest()
    is_text = isinstance(value, exp.Literal) and bool(value.args.get("is_string"))
    return is_text or isinstance(value, exp.Placeholder) or (isinstance(value, exp.Cast) and value.is_type("text"))
