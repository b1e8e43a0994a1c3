"""Instants inside a base period that a query compares a time dimension with.

A base period is read whole or not at all, and the time of its rows is its start. So a comparison with an instant inside
it gives the same result for all its events, before the instant and after it. That is the result of the rows, and it is
not *exact*. Bounds of ranges are found in the ranges, all other comparisons in the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import AnalysisError
from rewriter.planner.text.sqlglot_trees import find_all, is_of_type
from rewriter.planner.time.time_expressions import climb
from rewriter.planner.time.time_predicates import Form, compare, operand_of
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube
    from rewriter.planner.time.constant_folding import Constants
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.ranges import RangeSet

#: Expressions that return one of their time arguments.
_ONE_OF_THEM = (exp.Paren, exp.Max, exp.Min, exp.AnyValue, exp.First, exp.Last, exp.Coalesce, exp.Filter)
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
#: A comparison with a time: the operator as seen from the time, and the other side.
_Comparison = tuple[type[exp.Expr], exp.Expr]


def compared_ranges(column: exp.Column, constants: Constants) -> Iterator[RangeSet]:
    """Returns the ranges for which the comparisons of ``column``, a time dimension, with constants are true.

    If a derived table or a CTE passes ``column`` on, comparisons of it in outer blocks count, too. A constant that
    cannot be folded is skipped.
    """
    _, outermost = climb(column, constants)
    for node in (outermost, outermost.parent):
        operand = operand_of(node, column, constants) if node is not None else None
        if node is None or operand is None:
            continue
        # Comparisons with the time itself are all read as ``=``: the bound of ``>`` would be a microsecond later.
        is_time = operand.unit is None and operand.form is Form.TIME
        for op, other in chain.from_iterable(map(compared_with, uses(node, as_text=True))):
            value = constants.fold(other)
            ranges = compare(exp.EQ if is_time else op, operand, value) if value is not None else None
            if ranges is not None:
                yield ranges
    if outermost is column:
        for outer_column in _passed_on(column):
            yield from compared_ranges(outer_column, constants)


def uses(node: exp.Expr, *, as_text: bool = False) -> Iterator[exp.Expr]:
    """Returns a node, and the nodes around it that return its value for some row, ``as_text`` also as a text."""
    yield node
    while isinstance(node.parent, _ONE_OF_THEM) or (as_text and _is_text_of(node.parent, node)):
        assert node.parent is not None
        node = node.parent
        yield node


def _is_text_of(parent: exp.Expr | None, node: exp.Expr) -> bool:
    """Tests whether a node is a time as text, ``2014-01-01 15:30:00``, which is compared like the time."""
    return (
        isinstance(parent, exp.Cast | exp.TryCast)
        and parent.this is node
        and is_of_type(parent.args["to"], exp.DType.TEXT)
    )


def compared_with(node: exp.Expr) -> Iterator[_Comparison]:
    """Returns the values with which the surrounding node compares a time."""
    parent = node.parent
    match parent:
        case exp.EQ() | exp.NEQ() | exp.NullSafeEQ() | exp.NullSafeNEQ() | exp.Nullif():
            yield exp.EQ, parent.expression if parent.this is node else parent.this
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            left = parent.this is node
            yield (type(parent), parent.expression) if left else (_FLIPPED[type(parent)], parent.this)
        case exp.Between():
            if parent.this is node:
                yield exp.GTE, parent.args["low"]
                yield exp.LTE, parent.args["high"]
            else:
                yield exp.LTE if parent.args["low"] is node else exp.GTE, parent.this
        case exp.In():
            yield from ((exp.EQ, item) for item in (parent.expressions if parent.this is node else [parent.this]))
        case exp.Case() if parent.this is node:
            yield from ((exp.EQ, branch.this) for branch in parent.args["ifs"])
        case exp.DecodeCase() if parent.expressions[0] is node:
            yield from ((exp.EQ, search) for search in parent.expressions[1:-1:2])
        case exp.Greatest() | exp.Least():
            yield from ((exp.GTE, argument) for argument in (parent.this, *parent.expressions) if argument is not node)
        case exp.Tuple():
            index = next(i for i, element in enumerate(parent.expressions) if element is node)
            yield from (
                (op, other.expressions[index])
                for op, other in compared_with(parent)
                if isinstance(other, exp.Tuple) and len(other.expressions) == len(parent.expressions)
            )


def _passed_on(column: exp.Column) -> Iterator[exp.Column]:
    """Returns the columns that are ``column``, an item of a select list, under the name that it has there."""
    item = column.parent if isinstance(column.parent, exp.Alias) else column
    select = item.parent
    if not isinstance(select, exp.Select) or item.arg_key != "expressions":
        return
    name = item.alias_or_name.lower()
    if isinstance(column.parent, exp.Alias):
        for key in ("having", "order", "qualify"):
            part = select.args.get(key)
            yield from _columns_named(part, name, {""}) if isinstance(part, exp.Expr) else ()
    around = select.parent
    match around:
        case exp.Subquery():
            yield from _read_by(around, name)
        case exp.CTE():
            query = around.parent.parent if around.parent is not None else None
            for table in find_all(query, exp.Table) if query is not None else ():
                if table.name.lower() == around.alias.lower() and not table.db:
                    yield from _read_by(table, name)


def _read_by(relation: exp.Expr, name: str) -> Iterator[exp.Column]:
    """Returns the columns of that name in the block that has ``relation`` in its FROM clause."""
    alias = relation.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        return
    clause = relation.find_ancestor(exp.From, exp.Join, exp.Select)
    select = clause.parent if isinstance(clause, exp.From | exp.Join) else None
    if isinstance(select, exp.Select):
        is_only_relation = not select.args.get("joins") and not select.args.get("laterals")
        yield from _columns_named(select, name, {relation.alias_or_name.lower(), *([""] if is_only_relation else [])})


def _columns_named(root: exp.Expr, name: str, qualifiers: set[str]) -> Iterator[exp.Column]:
    """Columns of that name below ``root``, except columns of blocks inside it."""
    for column in find_all(root, exp.Column):
        select = column.find_ancestor(exp.Select)
        if (
            column.name.lower() == name
            and column.table.lower() in qualifiers
            and select is (root if isinstance(root, exp.Select) else root.find_ancestor(exp.Select))
        ):
            yield column


def instants_inside(ranges: Iterable[RangeSet], base: Period) -> Iterator[int]:
    """Returns the bounds of ranges inside a base period, as they were typed, except those in its last second."""
    yielded: set[int] = set()
    for time_range in chain.from_iterable(ranges):
        for bound in (time_range.start, time_range.end):
            # A bound such as ``<= '05:00'``, ``> '05:00'`` or ``= '05:30'`` was converted to the next microsecond.
            typed_instant = bound - 1 if bound % 1_000_000 == 1 or bound - 1 in yielded else bound
            if (
                MIN_INSTANT < bound < MAX_INSTANT
                and base.ceil(typed_instant) - typed_instant > 1_000_000
                and typed_instant not in yielded
            ):
                yielded.add(typed_instant)
                yield typed_instant


def inside_warnings(instants: Iterable[int], base: Period, cube: Cube) -> Iterator[str]:
    """Warnings about bounds inside a base period: plain SQL over the base rows gives the same, surprising result."""
    for bound in instants:
        yield (
            f"{cube.calendar.text(bound)} is inside {_with_article(base)} of {cube.name}: a row's time is the "
            "start of its period"
        )


def unit_warnings(units: Mapping[UpdatePeriod, str], base: Period, cube: Cube) -> Iterator[str]:
    """Warnings about uses of time, as typed, in ``units`` shorter than a base period: ``hour(t)`` over days is 0."""
    for unit, words in units.items():
        if unit < base.kind:
            yield f"{words} is of the start of {_with_article(base)} of {cube.name}: its rows have no other time"


def inexact(cube: Cube, base: Period, instants: Sequence[int]) -> AnalysisError:
    return AnalysisError(
        f"{', '.join(map(cube.calendar.text, instants))} is inside {_with_article(base)} of {cube.name}, which is "
        "read completely or not at all.",
        condition="UNALIGNED_TIME_RANGE",
        object=cube.name,
        hint=f"Write {cube.calendar.text(base.floor(instants[0]))} or "
        f"{cube.calendar.text(base.ceil(instants[0]))}, or SET rewriter.strict_bounds = false to get a "
        "result with a warning.",
    )


def _with_article(period: Period) -> str:
    return f"{'an' if period.kind is UpdatePeriod.HOURLY else 'a'} {period.name} period"
