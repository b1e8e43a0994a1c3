"""Additivity: decides whether a block has the same result over rollups as over base rows (rule 1 of ``semantics.md``).

The check is an allow-list. A measure may stand only inside an aggregate that is known to be additive for it. Any other
node is a reason, and with a reason the block reads the base period of one fact. COUNT and AVG become sums of the
counting measure, on every period, including the base.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.model.objects import DEFAULT_PRECISION, PRECISIONS, Aggregate, Cube, Measure
from rewriter.catalog.model.wider_types import decimal_digits, decimal_sum
from rewriter.errors import NotSupportedError
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import ReasonKind, quote_identifier
from rewriter.planner.scope.blocks import Block, CubeSource, modifiers
from rewriter.planner.scope.counted_relations import counts_all_rows
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.joins import relations
from rewriter.planner.text.sqlglot_trees import find_all, is_of_type, one_of, walk

if TYPE_CHECKING:
    from rewriter.planner.text.query_text import QueryText

#: Types whose rows may be added before or after they are summed: decimals and FLOAT would round, INT overflow.
_SUMMED_TYPES = ("bigint", "double")
_DECIMALS = (exp.DType.DECIMAL, exp.DType.BIGDECIMAL)
#: The precision and the scale of an INT among decimals.
_INT_DIGITS = (10, 0)
MeasureOf = Callable[[exp.Column], Measure | None]
TypeOf = Callable[[exp.Column], str | None]

_folds, _names_groups = one_of(exp.AggFunc), one_of(exp.Grouping, exp.GroupingId)
#: What may stand between a function and its window.
_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)
#: Nodes that organize a block without computing anything.
_is_structure = one_of(
    exp.Group, exp.GroupingSets, exp.Cube, exp.Rollup, exp.Grouping, exp.GroupingId, exp.Having, exp.Order, exp.Limit,
    exp.Offset, exp.Where, exp.Join, exp.Filter, exp.Subquery, exp.TableAlias, exp.Lateral, exp.Qualify, exp.WindowSpec,
    exp.IgnoreNulls, exp.RespectNulls, exp.AggFunc, exp.Window,
)  # fmt: skip


#: Aggregates to which a repeated row adds nothing, with the kind of measure that each rolls up.
_IDEMPOTENT: Mapping[type[exp.Expr], Aggregate] = {
    exp.Min: Aggregate.MIN,
    exp.Max: Aggregate.MAX,
    exp.LogicalAnd: Aggregate.BOOL_AND,
    exp.LogicalOr: Aggregate.BOOL_OR,
    exp.BitwiseAndAgg: Aggregate.BIT_AND,
    exp.BitwiseOrAgg: Aggregate.BIT_OR,
    exp.BitmapOrAgg: Aggregate.BITMAP_OR,
    exp.AnonymousAggFunc: Aggregate.THETA_UNION,
}
#: Aggregates that return the value of one row, with the kind of measure that each rolls up.
_CHOOSING: Mapping[type[exp.Expr], Aggregate] = {exp.ArgMax: Aggregate.LAST, exp.ArgMin: Aggregate.FIRST}
#: Functions that expand one row into several: allowed in LATERAL VIEW, where they depend on single values.
_COLUMNS = (exp.Column, exp.Star)
_GENERATORS = (exp.Explode, exp.ExplodeOuter, exp.Posexplode, exp.PosexplodeOuter, exp.Inline)


@dataclass(frozen=True)
class Objection:
    """The reason why a reference is not additive, and the node that causes it."""

    kind: ReasonKind
    text: str
    node: exp.Expr


@dataclass(frozen=True)
class CountCall:
    """A COUNT(*) (``argument`` is ``None``), COUNT(expression) or COUNT_IF(condition) that becomes a sum of the COUNT
    measure.
    """

    node: exp.Count | exp.CountIf
    argument: exp.Expr | None


@dataclass(frozen=True)
class AvgCall:
    """An AVG of a measure that is declared ``COUNTED BY``."""

    node: exp.Avg
    measure: Measure


@dataclass(frozen=True)
class TypedCall:
    """An aggregate of a measure whose result would have another type over rollups with a wider column.

    ``type`` is the type of its result over base rows.
    """

    node: exp.Expr
    measure: Measure
    type: str


@dataclass(frozen=True)
class Additivity:
    """The result of judging the aggregates of a block: the objections, the COUNT and AVG calls to rewrite, and the
    calls that must keep their type.
    """

    reasons: tuple[Objection, ...]
    counts: tuple[CountCall, ...]
    averages: tuple[AvgCall, ...]
    typed: tuple[TypedCall, ...]


@dataclass(frozen=True)
class Subject:
    """The reference that is judged: one cube in a block.

    ``measure_of`` returns the measure that a column denotes, and ``owns`` tests whether a column is one of the cube.
    ``any_measure`` tests for measures of any cube in the
    block. ``type_of`` returns the types of columns where they are known. ``join_value`` tests whether a name in USING
    denotes a measure. ``shows_rows`` says that ``*`` shows a measure of it. ``tested`` says that only the existence of
    its rows matters (EXISTS, IN, the right side of a semi join), and ``is_only_cube`` that it is the only cube whose
    rows the block counts.
    """

    cube: Cube
    measure_of: MeasureOf
    owns: Callable[[exp.Column], bool]
    any_measure: Callable[[exp.Column], bool]
    type_of: TypeOf
    join_value: Callable[[exp.Identifier], bool]
    shows_rows: bool
    tested: bool
    is_only_cube: bool


def judge(select: exp.Select, nodes: Sequence[exp.Expr], subject: Subject) -> Additivity:
    """Judges one reference. ``nodes`` are the block's own nodes and the conditions inlined with the reference."""
    verdict = _Verdict(subject)
    over_rows, in_groups = windows(select, nodes)
    for node in over_rows:
        verdict.over_rows(node)
    functions = {id(node) for node in (*over_rows, *in_groups)}
    aggregates = [node for node in nodes if is_aggregate(node)]
    for node in aggregates:
        if id(node) not in functions:
            verdict.aggregate(node)
    if not _is_aggregated(select, aggregates) and not subject.tested:
        verdict.reason(ReasonKind.ROWS, "the query returns rows, not aggregates", select)
    for node in nodes:
        verdict.other(node)
    return Additivity(tuple(verdict.reasons), tuple(verdict.counts), tuple(verdict.averages), tuple(verdict.typed))


def rolls_up(node: exp.Expr, measure: Measure) -> bool:
    """Tests whether a node is a call of the rollup function of a measure, with the order of a LAST or FIRST one."""
    if isinstance(node, exp.ArgMax | exp.ArgMin):
        order, is_plain = node.expression, isinstance(node.expression, exp.Column) and not node.expressions
        is_own = is_plain and order.name.lower() == (measure.ordered_by or "").lower()
        return is_own and _CHOOSING[type(node)] is measure.aggregate
    if isinstance(node, exp.AnonymousAggFunc):
        precision = union_precision(node)
        return precision is not None and measure.precision is not None and precision <= measure.precision
    additive = _IDEMPOTENT.get(type(node), Aggregate.SUM if isinstance(node, exp.Sum) else None)
    return additive is not None and additive.rollup_function == measure.aggregate.rollup_function


def union_precision(node: exp.Expr) -> int | None:
    """Returns the precision of a THETA_UNION_AGG of a column; ``None`` where it is no literal, or of anything else."""
    is_union = isinstance(node, exp.AnonymousAggFunc) and node.name.lower() == "theta_union_agg"
    if not is_union or not node.expressions:
        return None
    value, *precision = node.expressions
    if not isinstance(value, exp.Column) or len(precision) > 1:
        return None
    if not precision:
        return DEFAULT_PRECISION
    literal = precision[0].unnest()
    is_number = isinstance(literal, exp.Literal) and not literal.is_string and literal.name.isdigit()
    # Spark takes 4, too.
    is_valid = is_number and PRECISIONS[0] - 1 <= int(literal.name) <= PRECISIONS[-1]
    return int(literal.name) if is_valid else None


def is_aggregate(node: exp.Expr) -> bool:
    """Tests whether a node folds several rows into one value."""
    return _folds(type(node)) and not _names_groups(type(node))


def _is_aggregated(select: exp.Select, nodes: Iterable[exp.Expr]) -> bool:
    """Tests whether a block returns groups (or distinct rows), not the rows that it reads."""
    if select.args.get("group") is not None or select.args.get("distinct") is not None:
        return True
    return any(is_aggregate(node) and not in_window(node) for node in nodes)


def windows(select: exp.Select, nodes: Sequence[exp.Expr]) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Returns the functions of windows over single rows, and of those over groups, which are free.

    ``SUM(SUM(distance)) OVER (…)`` in a grouped block sees one row per group, after aggregation.
    """
    functions = [function for node in nodes if isinstance(node, exp.Window) and (function := _function(node))]
    inner = {
        id(aggregate)
        for function in functions
        for aggregate in function.find_all(exp.AggFunc)
        if aggregate is not function
    }
    grouped = (
        select.args.get("group") is not None
        or bool(inner)
        or any(is_aggregate(node) and not in_window(node) for node in nodes)
    )
    return ([], functions) if grouped else (functions, [])


def _function(window: exp.Window) -> exp.Expr | None:
    """Returns the function of a window; ``None`` for a definition in WINDOW."""
    node = window.this
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node if isinstance(node, exp.Func) else None


def in_window(node: exp.Expr) -> bool:
    """Tests whether a node is the function of a window."""
    parent = node.parent
    while isinstance(parent, _WRAPPERS):
        parent = parent.parent
    return isinstance(parent, exp.Window)


class _Verdict:
    """Collects what the aggregates and the other nodes of a block say about one reference."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.reasons: list[Objection] = []
        self.counts: list[CountCall] = []
        self.averages: list[AvgCall] = []
        self.typed: list[TypedCall] = []
        self._aggregated_columns: set[int] = set()

    def reason(self, kind: ReasonKind, text: str, node: exp.Expr) -> None:
        self.reasons.append(Objection(kind, text, node))

    def aggregate(self, node: exp.Expr) -> None:
        """Judges one aggregate; measures that it makes additive are noted."""
        argument, distinct = node.this, isinstance(node.this, exp.Distinct)
        if any(is_aggregate(inner_node) for inner_node in walk(node) if inner_node is not node):
            self._not_additive("an aggregate is nested in another", node)
        elif isinstance(node, exp.Count | exp.CountIf) and not distinct:
            self._count(node)
        elif isinstance(node, exp.Sum) and not distinct:
            self._sum(node)
        elif isinstance(node, exp.Avg) and not distinct:
            self._average(node)
        elif isinstance(node, exp.AnonymousAggFunc):
            self._anonymous(node)
        elif type(node) in _IDEMPOTENT:
            self._idempotent(node, argument, _IDEMPOTENT[type(node)])
        elif type(node) in _CHOOSING:
            self._choice(node, _CHOOSING[type(node)])
        elif isinstance(node, exp.Count):
            if self._measures(node):
                self._not_additive(f"{_function_name(node)} of a measure depends on single rows", node)
        else:
            self._not_additive("this aggregate is not known to be additive", node)

    def over_rows(self, node: exp.Expr) -> None:
        """Judges the function of a window over rows: it needs the base period, and COUNT counts events there, too."""
        self.reason(ReasonKind.WINDOW, "a window function reads single rows", node)
        if isinstance(node, exp.Count | exp.CountIf) and not isinstance(node.this, exp.Distinct):
            self._count(node)
        elif isinstance(node, exp.Avg) and not isinstance(node.this, exp.Distinct):
            self._average(node)

    def _not_additive(self, text: str, node: exp.Expr) -> None:
        self._aggregated_columns |= {id(column) for column in self._measures(node)}
        if not self._subject.tested:
            self.reason(ReasonKind.AGGREGATE, text, node)

    def _measures(self, node: exp.Expr) -> list[exp.Column]:
        return [column for column in find_all(node, exp.Column) if self._subject.measure_of(column) is not None]

    def _count(self, node: exp.Count | exp.CountIf) -> None:
        argument, cube = node.this, self._subject.cube
        if self._measures(node):
            self._not_additive("COUNT of a measure counts single rows", node)
        elif not cube.counters or not self._subject.is_only_cube:
            self._not_additive(f"the cube {cube.name} declares no COUNT measure, so COUNT counts base rows", node)
        elif isinstance(argument, exp.Star) or (
            isinstance(node, exp.Count) and isinstance(argument, exp.Literal) and not node.expressions
        ):
            self.counts.append(CountCall(node, None))
        elif node.expressions or argument is None or argument.find(exp.Star):
            raise NotSupportedError(
                f"COUNT of several columns of the cube {cube.name} would count rows, not events.",
                condition="AMBIGUOUS_COUNT",
                object=cube.name,
                hint="Write COUNT(*) FILTER (WHERE a IS NOT NULL AND b IS NOT NULL).",
            )
        else:
            self.counts.append(CountCall(node, argument))

    def _sum(self, node: exp.Sum) -> None:
        columns = _combined(node.this, self._subject)
        measures = [measure for column in columns or () if (measure := self._subject.measure_of(column)) is not None]
        additive = all(measure.aggregate.rollup_function == "SUM" for measure in measures)
        if (
            columns is None
            and any(self._subject.any_measure(c) for c in node.find_all(exp.Column))
            and not self._measures(node)
        ):
            self._not_additive("a measure of another cube is summed over the joined rows", node)
        elif columns is None or not additive:
            self._not_additive("this SUM is not a SUM measure times a coefficient without measures", node)
        elif len(measures) > 1 and not all(measure.not_null and measure.type in _SUMMED_TYPES for measure in measures):
            # NULL + 1 is NULL in a row; in a rollup, the NULL may have been summed away.
            self._not_additive("a SUM of several measures is additive only where all are declared NOT NULL", node)
        else:
            self._aggregated_columns |= {id(column) for column in columns}
            type_ = _decimal_type(node.this, self._subject)
            if type_ is not None:
                self.typed.append(TypedCall(node, measures[0], decimal_sum(*type_)))

    def _average(self, node: exp.Avg) -> None:
        argument = node.this.unnest()
        measure = self._subject.measure_of(argument) if isinstance(argument, exp.Column) else None
        if measure is not None and measure.counted_by and measure.aggregate is Aggregate.SUM:
            self.averages.append(AvgCall(node, measure))
            self._aggregated_columns.add(id(argument))
        else:
            self._not_additive("AVG is additive only for a measure declared MEASURE SUM COUNTED BY", node)

    def _idempotent(self, node: exp.Expr, argument: exp.Expr, aggregate: Aggregate) -> None:
        """Judges an aggregate that returns the same value if a row is repeated, such as MAX: also a dimension's is the
        same over rollups.
        """
        name = aggregate.rollup_function
        is_column = isinstance(argument, exp.Column) and not node.expressions
        measure = self._subject.measure_of(argument) if isinstance(argument, exp.Column) and is_column else None
        if measure is not None and measure.aggregate is aggregate:
            self._aggregated_columns.add(id(argument))
            self.typed.append(TypedCall(node, measure, measure.type))
        elif self._measures(node):
            self._not_additive(f"{name} is additive only for a measure declared {aggregate.value}", node)
        elif node.expressions:
            self._not_additive(f"{name} of several values is not known to be additive", node)

    def _anonymous(self, node: exp.AnonymousAggFunc) -> None:
        """Judges an aggregate that sqlglot does not know."""
        match node.name.lower():
            case "theta_union_agg":
                self._union(node)
            case "percentile":
                self._percentile(node)
            case _:  # THETA_SKETCH_AGG of what rollups have: a repeated value adds nothing.
                if self._measures(node):
                    self._not_additive("THETA_SKETCH_AGG of a measure depends on single rows", node)

    def _union(self, node: exp.AnonymousAggFunc) -> None:
        """Judges THETA_UNION_AGG: of a THETA_UNION measure, with at most its precision."""
        value = node.expressions[0] if node.expressions else None
        measure = self._subject.measure_of(value) if isinstance(value, exp.Column) else None
        if measure is not None and rolls_up(node, measure):
            self._aggregated_columns.add(id(value))
        elif measure is None or measure.precision is None:
            self._not_additive("THETA_UNION_AGG is additive only for a measure declared THETA_UNION", node)
        else:
            text = f"rollups of {measure.name} have the precision {measure.precision}: write a literal up to it"
            self._not_additive(text, node)

    def _percentile(self, node: exp.AnonymousAggFunc) -> None:
        """Judges PERCENTILE of a dimension, with a COUNT measure as how often each value occurs."""
        *values, frequency = node.expressions or (None,)
        measure = self._subject.measure_of(frequency) if isinstance(frequency, exp.Column) else None
        is_plain = len(values) == 2 and not any(self._measures(value) for value in values)
        if measure is None or measure.aggregate is not Aggregate.COUNT or not is_plain:
            self._not_additive("PERCENTILE is additive only of dimensions, with a COUNT measure as frequency", node)
        elif isinstance(values[0], exp.Distinct):
            self._not_additive("PERCENTILE(DISTINCT …) depends on single rows", node)
        else:
            self._aggregated_columns.add(id(frequency))

    def _choice(self, node: exp.Expr, aggregate: Aggregate) -> None:
        """Judges MAX_BY and MIN_BY: of a LAST or FIRST measure by its own time, one row of each rollup decides."""
        columns = [column for column in (node.this, node.expression) if isinstance(column, exp.Column)]
        measures = [self._subject.measure_of(column) for column in columns]
        measure = measures[0] if len(measures) == 2 and measures[1] is not None else None
        if measure is not None and rolls_up(node, measure):
            self._aggregated_columns |= {id(column) for column in columns}
            self.typed.append(TypedCall(node, measure, measure.type))
            return
        name = aggregate.rollup_function
        self._not_additive(f"{name} is additive only for a measure declared {aggregate.value}, by its own time", node)

    def other(self, node: exp.Expr) -> None:
        """Judges a node that is not an aggregate."""
        reason_kind, subject = ReasonKind.MEASURE_OUTSIDE_AGGREGATE, self._subject
        if isinstance(node, exp.Identifier):
            if isinstance(node.parent, exp.Join) and subject.join_value(node):
                self.reason(reason_kind, f"the measure {node.name} is used in USING", node)
        elif isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            if id(node) not in self._aggregated_columns and subject.measure_of(node) is not None:
                self.reason(reason_kind, f"the measure {node.name} is used outside an aggregate", node)
        elif isinstance(node, _COLUMNS):
            if subject.shows_rows and not isinstance(node.parent, exp.Column | exp.Count):
                self.reason(reason_kind, "* returns the measures of single rows", node)
        elif isinstance(node, _GENERATORS):
            if not isinstance(node.parent, exp.Lateral):
                self.reason(ReasonKind.NOT_DETERMINISTIC, f"{_function_name(node)} generates rows", node)
        elif not (_is_structure(type(node)) or is_scalar(node) or _is_ours(node) or in_window(node)):
            text = "this is not known to be a deterministic function of single values"
            self.reason(ReasonKind.NOT_DETERMINISTIC, text, node)


def _combined(node: exp.Expr, subject: Subject) -> list[exp.Column] | None:
    """Returns the measure columns of ``a``, ``a + 2 * b``, ``a - b``, one for each term; ``None`` for anything else."""
    if isinstance(node, exp.Paren):
        return _combined(node.this, subject)
    if isinstance(node, exp.Add | exp.Sub):
        left, right = _combined(node.this, subject), _combined(node.expression, subject)
        return None if left is None or right is None else left + right
    column = _linear(node, subject)
    return None if column is None else [column]


def _linear(node: exp.Expr | None, subject: Subject) -> exp.Column | None:
    """Returns the one measure column of ``measure``, ``measure * coefficient``, ``-measure``, ``CASE … THEN measure
    [ELSE 0] END``; else ``None``.
    """
    match node:
        case exp.Paren() | exp.Neg():
            return _linear(node.this, subject)
        case exp.Column():
            return node if subject.measure_of(node) is not None else None
        case exp.Mul():
            for factor, other in ((node.this, node.expression), (node.expression, node.this)):
                column = _linear(factor, subject)
                measure = subject.measure_of(column) if column is not None else None
                if measure is not None and not _has_measure(other, subject):
                    return column if _distributes(measure.type, node, subject.type_of) else None
            return None
        case exp.Case() if not (node.this and _has_measure(node.this, subject)):
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            if any(_has_measure(branch.this, subject) for branch in node.args["ifs"]):
                return None
            return _one_branch([*branches, node.args.get("default")], subject)
        case exp.If() if not _has_measure(node.this, subject):
            return _one_branch([node.args["true"], node.args.get("false")], subject)
    return None


def _distributes(measure: str, product: exp.Expr, type_of: TypeOf) -> bool:
    """Tests whether a product with a measure of that type has the same sum over rollups as over base rows.

    A decimal product may round each row by itself; so may one of FLOAT, whose sum is DOUBLE. A product of INT may
    overflow for the sum alone. BIGINT times short decimal literals (BIGINT has 20 digits, a decimal 38) is exact;
    DOUBLE has the same accuracy either way.
    """
    if measure == "double":
        return True
    if measure != "bigint":
        return False
    digits = 0
    for node in product.walk():
        if isinstance(node, exp.Column):
            kind = type_of(node)
            if kind is None or kind.startswith("decimal"):
                return False
        elif isinstance(node, exp.Placeholder) or (isinstance(node, exp.DataType) and is_of_type(node, *_DECIMALS)):
            return False
        elif isinstance(node, exp.Literal) and not node.is_string and "." in node.name and "e" not in node.name.lower():
            digits += len(node.name) + 1
    return digits == 0 or (digits <= 17 and product.find(exp.Div) is None)


def _one_branch(branches: list[exp.Expr | None], subject: Subject) -> exp.Column | None:
    measure_column: exp.Column | None = None
    for branch in branches:
        if branch is None or isinstance(branch, exp.Null) or (branch.is_number and branch.name == "0"):
            continue
        column = _linear(branch, subject)
        if column is None or measure_column is not None:
            return None
        measure_column = column
    return measure_column


def _decimal_type(term: exp.Expr, subject: Subject) -> tuple[int, int] | None:
    """Returns the precision and the scale of the argument of a SUM over base rows; ``None`` if it is no decimal.

    ``term`` is of a form that ``_linear`` accepts. A branch with 0 is an INT, which counts as DECIMAL(10,0).
    """
    match term:
        case exp.Paren() | exp.Neg():
            return _decimal_type(term.this, subject)
        case exp.Column():
            measure = subject.measure_of(term)
            return None if measure is None else decimal_digits(measure.type)
        case exp.Case():
            branches = [*(branch.args["true"] for branch in term.args["ifs"]), term.args.get("default")]
        case exp.If():
            branches = [term.args["true"], term.args.get("false")]
        case _:
            return None
    digits = [_decimal_type(branch, subject) for branch in branches if _linear(branch, subject) is not None]
    has_zero = any(branch is not None and branch.is_number for branch in branches)
    types = [type_ for type_ in digits if type_ is not None] + ([_INT_DIGITS] if has_zero else [])
    if not any(digits):
        return None
    scale = max(scale for _, scale in types)
    return max(precision - scale for precision, scale in types) + scale, scale


def _has_measure(node: exp.Expr, subject: Subject) -> bool:
    return any(subject.any_measure(column) for column in find_all(node, exp.Column))


def _is_ours(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in ("TIME_RANGE_IN", "NOW")


def _function_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return node.name.upper()
    return (node.sql_name() if isinstance(node, exp.Func) else node.key).upper()


# Warnings for AVG, MIN, MAX, median … of a SUM or COUNT measure: their values are base rows, each of several events.
#
# By the law the result is that over the base rows. A user who means the events gets a number that they did not ask
# for.

#: Aggregates whose result depends on what a row is. COUNT is not one of them: it counts events, or is refused.
_AVERAGES = (exp.Avg,)
_EXTREMES = (exp.Min, exp.Max)
_may_be_of_base_rows = one_of(
    *_AVERAGES, *_EXTREMES, exp.Median, exp.Mode, exp.Quantile, exp.ApproxQuantile, exp.PercentileCont,
    exp.PercentileDisc, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Skewness,
    exp.Kurtosis, exp.Anonymous,
)  # fmt: skip
#: Other names of such aggregates, which sqlglot does not know.
_MEAN, _STD = "MEAN", "STD"


@dataclass(frozen=True)
class RowAggregate:
    """An aggregate ``node`` of one SUM or COUNT ``measure`` that is computed over base rows."""

    node: exp.Expr
    measure: Measure


def row_aggregates(
    nodes: Iterable[exp.Expr], cube: Cube, measure_of: MeasureOf, rewritten: Collection[int]
) -> Iterator[RowAggregate]:
    """Yields the aggregates of a block that are computed over base rows although a row holds several events.

    A cube without a COUNT measure yields none: its rows may be events. Neither do calls over several measures, such as
    ``AVG(ms / views)``, nor functions of windows, nor the calls in ``rewritten``, by identity, which are sums.
    """
    if not cube.counters:
        return
    for node in [node for node in nodes if _may_be_of_base_rows(type(node))]:
        if not _is_of_base_rows(node) or id(node) in rewritten or in_window(node):
            continue
        call = node.parent if isinstance(node.parent, exp.WithinGroup) else node
        measures = {measure for column in find_all(call, exp.Column) if (measure := measure_of(column)) is not None}
        is_nested = any(is_aggregate(inner_node) for inner_node in walk(node) if inner_node is not node)
        if len(measures) == 1 and not is_nested:
            measure = measures.pop()
            if measure.aggregate.rollup_function == "SUM":
                yield RowAggregate(node, measure)


def _is_of_base_rows(node: exp.Expr) -> bool:
    return not isinstance(node, exp.Anonymous) or node.name.upper() in (_MEAN, _STD)


def row_aggregate_warnings(
    aggregates: Iterable[RowAggregate], cube: Cube, tables: Collection[str], words: Callable[[exp.Expr], str]
) -> tuple[str, ...]:
    """Returns a warning for each text of an aggregate. ``tables`` are read; without one, no row is there."""
    if not tables:
        return ()
    names = " and ".join(dict.fromkeys(tables))
    warnings = {}
    for aggregate in aggregates:
        held = "sums" if aggregate.measure.aggregate is Aggregate.SUM else "counts"
        text = words(aggregate.node)
        fact = f"{text} is over the rows of {names}, which hold {held} of several events each."
        warnings[text] = f"{fact} {_advice(aggregate, cube)}"
    return tuple(warnings.values())


def _advice(aggregate: RowAggregate, cube: Cube) -> str:
    """Returns the declaration or the query that computes what the user probably means."""
    node, measure = aggregate.node, aggregate.measure
    name = quote_identifier(measure.name)
    if measure.aggregate is Aggregate.COUNT:
        return f"For the counts of groups, write SUM({name}) in a subquery with GROUP BY."
    if isinstance(node, _EXTREMES):
        extreme, adjective = ("MIN", "smallest") if isinstance(node, exp.Min) else ("MAX", "largest")
        return f"For the {adjective} value of an event, declare a measure {extreme}."
    if not isinstance(node, _AVERAGES) and not (isinstance(node, exp.Anonymous) and node.name.upper() == _MEAN):
        return "For the values of events, the base of the fact must be a table of events (RAW)."
    if measure.counted_by is not None:
        return f"Write AVG({name}), which is SUM({name}) / SUM({quote_identifier(measure.counted_by)}), for events."
    return _counting(measure, cube)


def _counting(measure: Measure, cube: Cube) -> str:
    """Returns how an average over events is declared, or written without a declaration."""
    name, counter = quote_identifier(measure.name), cube.count_measure
    declared = f"{name} {measure.type.upper()} MEASURE SUM COUNTED BY"
    if counter is None:
        return f"Declare which COUNT measure counts its values: {declared} …."
    if measure.not_null:
        return f"Declare {declared} {quote_identifier(counter.name)} NOT NULL, or write SUM({name}) / COUNT(*)."
    return f"Declare {declared} …, or write SUM({name}) / COUNT(*) if {name} is never NULL."


# Shapes of a block that are refused beside a cube, because they are not planned yet or could mean two things.


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
