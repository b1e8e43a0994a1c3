"""Whether a block's answer is the same over rollups as over base rows: rule 1 of ``semantics.md``.

The check is an allow-list. A measure may stand only inside an aggregate that is known to be additive for it; anything
that is not known here is a reason, and with a reason the block reads the base period of one fact. COUNT and AVG
become sums of the measure that counts, on every period, the base included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from rewriter.catalog.models import Aggregate, Cube, Measure
from rewriter.planner.blocks import joined
from rewriter.planner.scalars import is_scalar

_DECIMALS = ("decimal", "bigdecimal")
MeasureOf = Callable[[exp.Column], Measure | None]
TypeOf = Callable[[exp.Column], str | None]

#: What organises a block without computing anything.
_STRUCTURE = (
    exp.Group, exp.GroupingSets, exp.Cube, exp.Rollup, exp.Grouping, exp.GroupingId, exp.Having, exp.Order, exp.Limit,
    exp.Offset, exp.Where, exp.Join, exp.Filter, exp.Subquery, exp.TableAlias,
)  # fmt: skip


@dataclass(frozen=True)
class Reason:
    """Why a block is not additive, and the node that says so."""

    text: str
    node: exp.Expr


@dataclass(frozen=True)
class CountCall:
    """A COUNT(*) (``argument`` is ``None``) or COUNT(expression) that becomes a sum of the COUNT measure."""

    node: exp.Count
    argument: exp.Expr | None


@dataclass(frozen=True)
class AvgCall:
    """An AVG of a measure that is declared ``COUNTED BY``."""

    node: exp.Avg
    measure: Measure
    column: exp.Column


@dataclass(frozen=True)
class Additivity:
    """What the aggregates of a block allow and want."""

    reasons: tuple[Reason, ...]
    counts: tuple[CountCall, ...]
    averages: tuple[AvgCall, ...]


def judge(select: exp.Select, nodes: list[exp.Expr], cube: Cube, measure_of: MeasureOf, type_of: TypeOf) -> Additivity:
    """Judges one block. ``nodes`` are its own nodes; ``measure_of`` tells which columns are measures of the cube,
    ``type_of`` the types of all columns where they are known.
    """
    reasons: list[Reason] = []
    counts: list[CountCall] = []
    averages: list[AvgCall] = []
    inside: set[int] = set()
    aggregated = select.args.get("group") is not None or select.args.get("distinct") is not None
    for node in nodes:
        if isinstance(node, exp.Window):
            reasons.append(Reason("a window function sees single rows", node))
        if isinstance(node, exp.AggFunc) and not isinstance(node, exp.Grouping | exp.GroupingId):
            aggregated = True
            _judge_aggregate(node, cube, measure_of, type_of, reasons, counts, averages, inside)
    if not aggregated:
        reasons.append(Reason("the query answers rows, not aggregates", select))
    for node in nodes:
        if isinstance(node, exp.Column) and id(node) not in inside:
            if isinstance(node.this, exp.Star):
                reasons.append(Reason("* answers the measures of single rows", node))
            elif measure_of(node) is not None:
                reasons.append(Reason(f"the measure {node.name} stands outside an aggregate", node))
        elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Column | exp.Count):
            reasons.append(Reason("* answers the measures of single rows", node))
        elif isinstance(node, exp.Identifier) and isinstance(node.parent, exp.Join):
            if measure_of(joined(node)) is not None:
                reasons.append(Reason(f"the measure {node.name} stands in USING", node))
        elif (
            not isinstance(node, (*_STRUCTURE, exp.AggFunc, exp.Column, exp.Star, exp.Window))
            and not is_scalar(node)
            and not _is_ours(node)
        ):
            reasons.append(Reason(f"{_named(node)} is not known to be a deterministic function of single values", node))
    return Additivity(tuple(reasons), tuple(counts), tuple(averages))


def _judge_aggregate(
    node: exp.AggFunc,
    cube: Cube,
    measure_of: MeasureOf,
    type_of: TypeOf,
    reasons: list[Reason],
    counts: list[CountCall],
    averages: list[AvgCall],
    inside: set[int],
) -> None:
    """Judges one aggregate; measures that it makes additive are noted in ``inside``."""
    argument, distinct = node.this, isinstance(node.this, exp.Distinct)
    if any(isinstance(inner, exp.AggFunc) for inner in node.walk() if inner is not node):
        reasons.append(Reason("an aggregate stands inside another", node))
        return
    measures = [column for column in node.find_all(exp.Column) if measure_of(column) is not None]
    if isinstance(node, exp.Count) and not distinct:
        _judge_count(node, cube, measures, reasons, counts)
    elif isinstance(node, exp.Sum) and not distinct:
        column = _linear(argument, measure_of, type_of)
        measure = measure_of(column) if column is not None else None
        if measure is not None and measure.aggregate in (Aggregate.SUM, Aggregate.COUNT):
            inside.add(id(column))
        else:
            reasons.append(Reason("this SUM is not one SUM measure times a coefficient without measures", node))
    elif isinstance(node, exp.Avg) and not distinct:
        measure = measure_of(argument) if isinstance(argument, exp.Column) else None
        if measure is not None and measure.counted_by and measure.aggregate is Aggregate.SUM:
            averages.append(AvgCall(node, measure, argument))
            inside.add(id(argument))
        else:
            reasons.append(Reason("AVG is additive only for a measure declared MEASURE SUM COUNTED BY", node))
    elif isinstance(node, exp.Min | exp.Max):
        wanted = Aggregate.MIN if isinstance(node, exp.Min) else Aggregate.MAX
        plain = isinstance(argument, exp.Column) and not node.expressions
        measure = measure_of(argument) if plain else None
        if measure is not None and measure.aggregate is wanted:
            inside.add(id(argument))
        elif measures:
            reasons.append(Reason(f"{wanted.value} is additive only for a measure declared {wanted.value}", node))
        elif node.expressions:
            reasons.append(Reason(f"{wanted.value} of several values is not known to be additive", node))
    elif isinstance(node, exp.Count | exp.LogicalOr | exp.LogicalAnd):
        if measures:
            reasons.append(Reason(f"{_named(node)} of a measure depends on single rows", node))
    else:
        reasons.append(Reason(f"{_named(node)} is not known to be additive", node))


def _judge_count(
    node: exp.Count, cube: Cube, measures: list[exp.Column], reasons: list[Reason], counts: list[CountCall]
) -> None:
    argument = node.this
    if measures:
        reasons.append(Reason("COUNT of a measure counts single rows", node))
    elif cube.count_measure is None:
        reasons.append(Reason(f"the cube {cube.name} declares no COUNT measure, so COUNT counts base rows", node))
    elif isinstance(argument, exp.Star) or (isinstance(argument, exp.Literal) and not node.expressions):
        counts.append(CountCall(node, None))
    elif node.expressions or argument is None or argument.find(exp.Star):
        reasons.append(Reason("COUNT of several columns counts single rows", node))
    else:
        counts.append(CountCall(node, argument))


def _linear(node: exp.Expr | None, measure_of: MeasureOf, type_of: TypeOf) -> exp.Column | None:
    """The one measure column of ``measure``, ``measure * coefficient``, ``-measure``, ``CASE … THEN measure [ELSE 0]
    END``; else ``None``.
    """
    match node:
        case exp.Paren() | exp.Neg():
            return _linear(node.this, measure_of, type_of)
        case exp.Column():
            return node if measure_of(node) is not None else None
        case exp.Mul():
            for one, other in ((node.this, node.expression), (node.expression, node.this)):
                column = _linear(one, measure_of, type_of)
                measure = measure_of(column) if column is not None else None
                if measure is not None and not _has_measure(other, measure_of):
                    return column if _distributes(measure.type, node, type_of) else None
            return None
        case exp.Case() if not (node.this and _has_measure(node.this, measure_of)):
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            if any(_has_measure(branch.this, measure_of) for branch in node.args["ifs"]):
                return None
            return _one_branch([*branches, node.args.get("default")], measure_of, type_of)
        case exp.If() if not _has_measure(node.this, measure_of):
            return _one_branch([node.args["true"], node.args.get("false")], measure_of, type_of)
    return None


def _distributes(measure: str, product: exp.Expr, type_of: TypeOf) -> bool:
    """Whether a product with a measure of that type is the same for a sum of rows as summed over the rows.

    A decimal product may round, and rounds each row by itself; one of INT may overflow for the sum alone. BIGINT
    times short decimal literals (BIGINT has 20 digits, a decimal 38) is exact, floating point is as good either way.
    """
    if measure in ("double", "float"):
        return True
    if measure != "bigint":
        return False
    digits = 0
    for node in product.walk():
        if isinstance(node, exp.Column):
            kind = type_of(node)
            if kind is None or kind.startswith("decimal"):
                return False
        elif isinstance(node, exp.Placeholder) or (isinstance(node, exp.DataType) and node.is_type(*_DECIMALS)):
            return False
        elif isinstance(node, exp.Literal) and not node.is_string and "." in node.name and "e" not in node.name.lower():
            digits += len(node.name) + 1
    return digits == 0 or (digits <= 17 and product.find(exp.Div) is None)


def _one_branch(branches: list[exp.Expr | None], measure_of: MeasureOf, type_of: TypeOf) -> exp.Column | None:
    found: exp.Column | None = None
    for branch in branches:
        if branch is None or isinstance(branch, exp.Null) or (branch.is_number and branch.name == "0"):
            continue
        column = _linear(branch, measure_of, type_of)
        if column is None or found is not None:
            return None
        found = column
    return found


def _has_measure(node: exp.Expr, measure_of: MeasureOf) -> bool:
    return any(measure_of(column) is not None for column in node.find_all(exp.Column))


def _is_ours(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in ("TIME_RANGE_IN", "NOW")


def _named(node: exp.Expr) -> str:
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name() if isinstance(node, exp.Func) else node.key
    return name.upper()
