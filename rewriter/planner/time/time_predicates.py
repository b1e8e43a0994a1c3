"""The instants that a predicate on a time dimension lets through.

``ranges_of`` returns an exact set of half-open ranges, in microseconds, or ``None`` if the predicate does not reduce to
one. It is then ordinary use of the time dimension and remains a row filter. SQL has three truth values, and NOT swaps
only two of them. So a predicate is tracked where it is true and where it is false, separately from where it is NULL.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.planner.text.sqlglot_trees import find_all
from rewriter.planner.time.constant_folding import Constant, Constants, Kind, as_date, as_timestamp
from rewriter.planner.time.monotone_functions import Form, Operand, compare, operand_of, select
from rewriter.planner.time.texts_of_times import PatternOf
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet

IsTime = Callable[[exp.Column], bool]
BoundsOf = Callable[[exp.Anonymous], RangeSet | None]


@dataclass(frozen=True)
class Truth:
    """The instants for which a predicate is true, those for which it is false, and its value for a NULL time."""

    true: RangeSet
    false: RangeSet
    at_null: bool | None = None

    def negated(self) -> Truth:
        return Truth(self.false, self.true, None if self.at_null is None else not self.at_null)


@dataclass(frozen=True)
class Reader:
    """Reads predicates over one time dimension. Every method returns ``None`` for a predicate that it does not
    understand.

    The result for recurring fields, ``month(t) = 2``, holds for the instants of ``bounds``. Fields of a unit below
    ``finest`` are not read.
    """

    is_time: IsTime
    constants: Constants
    bounds_of: BoundsOf
    bounds: RangeSet = RangeSet.ALL
    pattern_of: PatternOf | None = None
    finest: UpdatePeriod = UpdatePeriod.MINUTELY

    def truth(self, node: exp.Expr) -> Truth | None:
        """Returns the instants for which the predicate ``node`` is true and false. Linear in its nodes and the
        ranges.
        """
        match node:
            case exp.Paren():
                return self.truth(node.this)
            case exp.And() | exp.Or():
                return self._connected(node)
            case exp.Not():
                operand_truth = self.truth(node.this)
                return operand_truth.negated() if operand_truth is not None else None
            case exp.Is():
                return self._is(node)
            case exp.Between() if not node.args.get("symmetric"):
                low = self._compared(exp.GTE, node.this, node.args["low"])
                high = self._compared(exp.LTE, node.this, node.args["high"])
                return _conjunction([low, high]) if low is not None and high is not None else None
            case exp.In():
                return self._in(node)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                truth = self._null_safe(node.this, node.expression) or self._null_safe(node.expression, node.this)
                return truth.negated() if truth is not None and isinstance(node, exp.NullSafeNEQ) else truth
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                left, right = node.this, node.expression
                truth = self._compared(type(node), left, right)
                return truth if truth is not None else self._compared(_FLIPPED[type(node)], right, left)
            case exp.Anonymous():
                return self._call(node)
        value = self.constants.truth(node)
        if value is not None:
            return _constant(value)
        return _UNKNOWN if self.constants.is_null(node) else None

    def _connected(self, node: exp.Expr) -> Truth | None:
        # A chain of a thousand ORs is a tree as deep.
        parts = list(node.flatten())
        truths = [self.truth(part) for part in parts]
        is_and = isinstance(node, exp.And)
        # a OR b is NOT (NOT a AND NOT b).
        understood = [truth if is_and else truth.negated() for truth in truths if truth is not None]
        if len(understood) == len(truths):
            both: Truth | None = _conjunction(understood)
        else:
            pending = [part for part, truth in zip(parts, truths, strict=True) if truth is None]
            both = self._narrowed(_conjunction(understood), pending, negated=not is_and)
        return both if both is None or is_and else both.negated()

    def _narrowed(self, truth: Truth, parts: list[exp.Expr], *, negated: bool) -> Truth | None:
        """Returns ``truth AND parts`` (or their negations), for parts that are understood where ``truth`` is true, in
        some order. Elsewhere it must be false.
        """
        while parts:
            pending = []
            for part in parts:
                is_two_valued = truth.true | truth.false == RangeSet.ALL
                part_truth = replace(self, bounds=truth.true & self.bounds).truth(part) if is_two_valued else None
                if part_truth is None:
                    pending.append(part)
                    continue
                part_truth = part_truth.negated() if negated else part_truth
                at_null = _conjunction([truth, part_truth]).at_null
                truth = Truth(truth.true & part_truth.true, truth.false | (truth.true & part_truth.false), at_null)
            if len(pending) == len(parts):
                return None
            parts = pending
        return truth

    def _is(self, node: exp.Is) -> Truth | None:
        if isinstance(node.expression, exp.Null):
            if self._operand(node.this) is not None:
                return _IS_NULL
            operand_truth = self.truth(node.this)
            decided = operand_truth.true | operand_truth.false if operand_truth is not None else RangeSet.EMPTY
            return (
                Truth(RangeSet.ALL - decided, decided, operand_truth.at_null is None)
                if operand_truth is not None
                else None
            )
        operand_truth, tested = self.truth(node.this), self.constants.truth(node.expression)
        if operand_truth is None or tested is None:
            return None
        true = operand_truth.true if tested else operand_truth.false
        return Truth(true, RangeSet.ALL - true, operand_truth.at_null is tested)

    def _compared(self, op: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> Truth | None:
        """Reads ``left op right``, where the left side is a function of time and the right side a constant, or both are
        integers.
        """
        if op is exp.NEQ:
            equal = self._compared(exp.EQ, left, right)
            return equal.negated() if equal is not None else None
        operand = self._operand(left)
        if operand is None:
            number, other = self.constants.fold(left), self.constants.fold(right)
            if number is None or other is None or not number.kind is other.kind is Kind.INTEGER:
                return None
            return _constant(_NUMBERS[op](number.number, other.number))
        if self.constants.is_null(right):
            return _UNKNOWN
        value = self.constants.fold(right)
        true = self._where(op, operand, value) if value is not None else None
        return Truth(true, RangeSet.ALL - true) if true is not None else None

    def _where(self, op: type[exp.Expr], operand: Operand, value: Constant) -> RangeSet | None:
        if operand.form is Form.FIELD:
            if operand.unit is not None and operand.unit < self.finest:
                return None
            return select(_NUMBERS[op], operand, value, self.bounds)
        return compare(op, operand, value)

    def _null_safe(self, left: exp.Expr, right: exp.Expr) -> Truth | None:
        if self._operand(left) is None:
            return None
        if self.constants.is_null(right):
            return _IS_NULL
        equal = self._compared(exp.EQ, left, right)
        return Truth(equal.true, equal.false, at_null=False) if equal is not None else None

    def _in(self, node: exp.In) -> Truth | None:
        operand, items = self._operand(node.this), node.expressions
        if operand is None or not items or any(node.args.get(key) for key in ("query", "unnest", "field")):
            return None
        nulls = [self.constants.is_null(item) for item in items]
        values = [self.constants.fold(item) for item, null in zip(items, nulls, strict=True) if not null]
        constants = [value for value in values if value is not None]
        if len(constants) < len(values) or not _cast_alike(operand, constants):
            return None
        range_sets = [self._where(exp.EQ, operand, value) for value in constants]
        sets = [range_set for range_set in range_sets if range_set is not None]
        if len(sets) < len(range_sets):
            return None
        true = _union(sets)
        return Truth(true, RangeSet.EMPTY if any(nulls) else RangeSet.ALL - true)

    def _call(self, node: exp.Anonymous) -> Truth | None:
        name = node.name.upper()
        if name == "TIME_RANGE_IN":
            bounds = self.bounds_of(node)
            return Truth(bounds, RangeSet.ALL - bounds) if bounds is not None else None
        if name in ("ISNULL", "ISNOTNULL") and len(node.expressions) == 1:
            if self._operand(node.expressions[0]) is None:
                return None
            return _IS_NULL if name == "ISNULL" else _IS_NULL.negated()
        return None

    def _operand(self, node: exp.Expr) -> Operand | None:
        columns = find_all(node, exp.Column)
        if len(columns) != 1 or not self.is_time(columns[0]):
            return None
        return operand_of(node, columns[0], self.constants, self.pattern_of)


def ranges_of(node: exp.Expr, reader: Reader) -> RangeSet | None:
    """Returns the instants (of ``reader.within``, if that matters) for which ``node`` is true, or ``None`` if it is not
    a range predicate of this time dimension. A predicate that rows without a time satisfy is none: a set of instants
    cannot express that.

    ``reader.bounds_of`` raises for an unreadable ``time_range_in`` of this dimension.
    """
    truth = reader.truth(node)
    return None if truth is None or truth.at_null else truth.true


def _conjunction(parts: Iterable[Truth]) -> Truth:
    """Returns the conjunction: true where all parts are true, false where any part is false."""
    parts = list(parts)
    at_null = {part.at_null for part in parts}
    return Truth(
        RangeSet.ALL - _union(RangeSet.ALL - part.true for part in parts),
        _union(part.false for part in parts),
        False if False in at_null else None if None in at_null else True,
    )


def _union(sets: Iterable[RangeSet]) -> RangeSet:
    return RangeSet(time_range for ranges in sets for time_range in ranges)


def _cast_alike(operand: Operand, values: list[Constant]) -> bool:
    """Tests whether all items of a list are cast as each would be alone; Spark uses one type for all of them."""
    kinds = {value.kind for value in values}
    if not operand.chain.date or len(kinds) < 2:
        return len(kinds) < 2 or kinds <= {Kind.STRING, Kind.DATE, Kind.TIMESTAMP}
    # Beside a TIMESTAMP, a text is no longer a DATE.
    return all(_midnight(value) for value in values)


def _midnight(value: Constant) -> bool:
    return value.kind is not Kind.STRING or as_timestamp(as_date(value)) == as_timestamp(value)


def _constant(value: bool) -> Truth:
    return _TRUE if value else _TRUE.negated()


_TRUE = Truth(RangeSet.ALL, RangeSet.EMPTY, at_null=True)
_UNKNOWN = Truth(RangeSet.EMPTY, RangeSet.EMPTY, at_null=None)
_IS_NULL = Truth(RangeSet.EMPTY, RangeSet.ALL, at_null=True)
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
_NUMBERS: dict[type[exp.Expr], Callable[[int, int], bool]] = {
    exp.EQ: operator.eq, exp.LT: operator.lt, exp.LTE: operator.le, exp.GT: operator.gt, exp.GTE: operator.ge,
}  # fmt: skip
