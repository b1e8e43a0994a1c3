"""Which instants a predicate on a time dimension lets through.

``ranges_of`` answers an exact set of half-open ranges, in microseconds, or ``None`` where the predicate does not
reduce to one: then it is ordinary use of the time dimension and stays a row filter. SQL has three truth values, and
NOT turns only two of them: so it is followed where a predicate is true and where it is false, apart from where it is
NULL.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.planner.constants import Constant, Constants, Kind, as_date, as_timestamp
from rewriter.planner.operands import Form, Operand, compare, operand_of, select
from rewriter.planner.trees import find_all
from rewriter.timeline.ranges import RangeSet

IsTime = Callable[[exp.Column], bool]
BoundsOf = Callable[[exp.Anonymous], RangeSet | None]


@dataclass(frozen=True)
class Truth:
    """The instants for which a predicate is true, those for which it is false, and what it says of a NULL time."""

    true: RangeSet
    false: RangeSet
    at_null: bool | None = None

    def negated(self) -> Truth:
        return Truth(self.false, self.true, None if self.at_null is None else not self.at_null)


@dataclass(frozen=True)
class Reader:
    """Reads predicates over one time dimension; every method answers ``None`` for what is not understood.

    What it says of fields that come again and again, ``month(t) = 2``, holds for the instants of ``within``.
    """

    is_time: IsTime
    constants: Constants
    bounds_of: BoundsOf
    within: RangeSet = RangeSet.ALL

    def truth(self, node: exp.Expr) -> Truth | None:
        """Where the predicate ``node`` is true and false. Linear in its nodes and the ranges."""
        match node:
            case exp.Paren():
                return self.truth(node.this)
            case exp.And() | exp.Or():
                return self._connected(node)
            case exp.Not():
                inner = self.truth(node.this)
                return inner.negated() if inner is not None else None
            case exp.Is():
                return self._is(node)
            case exp.Between() if not node.args.get("symmetric"):
                low = self._compared(exp.GTE, node.this, node.args["low"])
                high = self._compared(exp.LTE, node.this, node.args["high"])
                return _all([low, high]) if low is not None and high is not None else None
            case exp.In():
                return self._in(node)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                found = self._null_safe(node.this, node.expression) or self._null_safe(node.expression, node.this)
                return found.negated() if found is not None and isinstance(node, exp.NullSafeNEQ) else found
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                left, right = node.this, node.expression
                found = self._compared(type(node), left, right)
                return found if found is not None else self._compared(_FLIPPED[type(node)], right, left)
            case exp.Anonymous():
                return self._call(node)
        value = self.constants.truth(node)
        if value is not None:
            return _constant(value)
        return _UNKNOWN if self.constants.is_null(node) else None

    def _connected(self, node: exp.Expr) -> Truth | None:
        # A chain of a thousand ORs is a tree as deep.
        parts = list(node.flatten())
        found = [self.truth(part) for part in parts]
        known = [one for one in found if one is not None]
        if isinstance(node, exp.And):
            return self._narrowed(_all(known), [p for p, one in zip(parts, found, strict=True) if one is None])
        return _all([one.negated() for one in known]).negated() if len(known) == len(found) else None

    def _narrowed(self, truth: Truth, parts: Iterable[exp.Expr]) -> Truth | None:
        """``truth AND parts``, for parts that are understood where ``truth`` is true. Elsewhere it must be false."""
        for part in parts:
            two_valued = truth.true | truth.false == RangeSet.ALL
            found = replace(self, within=truth.true).truth(part) if two_valued else None
            if found is None:
                return None
            at_null = _all([truth, found]).at_null
            truth = Truth(truth.true & found.true, truth.false | (truth.true & found.false), at_null)
        return truth

    def _is(self, node: exp.Is) -> Truth | None:
        if isinstance(node.expression, exp.Null):
            if self._operand(node.this) is not None:
                return _IS_NULL
            inner = self.truth(node.this)
            known = inner.true | inner.false if inner is not None else RangeSet.EMPTY
            return Truth(RangeSet.ALL - known, known, inner.at_null is None) if inner is not None else None
        inner, wanted = self.truth(node.this), self.constants.truth(node.expression)
        if inner is None or wanted is None:
            return None
        found = inner.true if wanted else inner.false
        return Truth(found, RangeSet.ALL - found, inner.at_null is wanted)

    def _compared(self, op: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> Truth | None:
        """``left op right``, where the left side is a function of time and the right side a constant, or both are
        whole numbers.
        """
        if op is exp.NEQ:
            equal = self._compared(exp.EQ, left, right)
            return equal.negated() if equal is not None else None
        operand = self._operand(left)
        if operand is None:
            one, other = self.constants.fold(left), self.constants.fold(right)
            if one is None or other is None or not one.kind is other.kind is Kind.INTEGER:
                return None
            return _constant(_NUMBERS[op](one.number, other.number))
        if self.constants.is_null(right):
            return _UNKNOWN
        value = self.constants.fold(right)
        found = self._where(op, operand, value) if value is not None else None
        return Truth(found, RangeSet.ALL - found) if found is not None else None

    def _where(self, op: type[exp.Expr], operand: Operand, value: Constant) -> RangeSet | None:
        if operand.form is Form.FIELD:
            return select(_NUMBERS[op], operand, value, self.within)
        return compare(op, operand, value)

    def _null_safe(self, left: exp.Expr, right: exp.Expr) -> Truth | None:
        if self._operand(left) is None:
            return None
        if self.constants.is_null(right):
            return _IS_NULL
        found = self._compared(exp.EQ, left, right)
        return Truth(found.true, found.false, at_null=False) if found is not None else None

    def _in(self, node: exp.In) -> Truth | None:
        operand, items = self._operand(node.this), node.expressions
        if operand is None or not items or any(node.args.get(key) for key in ("query", "unnest", "field")):
            return None
        nulls = [self.constants.is_null(item) for item in items]
        values = [self.constants.fold(item) for item, null in zip(items, nulls, strict=True) if not null]
        known = [value for value in values if value is not None]
        if len(known) < len(values) or not _alike(operand, known):
            return None
        found = [self._where(exp.EQ, operand, value) for value in known]
        sets = [one for one in found if one is not None]
        if len(sets) < len(found):
            return None
        true = _union(sets)
        return Truth(true, RangeSet.EMPTY if any(nulls) else RangeSet.ALL - true)

    def _call(self, node: exp.Anonymous) -> Truth | None:
        name = node.name.upper()
        if name == "TIME_RANGE_IN":
            found = self.bounds_of(node)
            return Truth(found, RangeSet.ALL - found) if found is not None else None
        if name in ("ISNULL", "ISNOTNULL") and len(node.expressions) == 1:
            if self._operand(node.expressions[0]) is None:
                return None
            return _IS_NULL if name == "ISNULL" else _IS_NULL.negated()
        return None

    def _operand(self, node: exp.Expr) -> Operand | None:
        columns = find_all(node, exp.Column)
        if len(columns) != 1 or not self.is_time(columns[0]):
            return None
        return operand_of(node, columns[0], self.constants)


def ranges_of(node: exp.Expr, reader: Reader) -> RangeSet | None:
    """The instants (of ``reader.within``, if that matters) for which ``node`` is true, or ``None`` where it is no range
    predicate of this time dimension, as is one that rows without a time satisfy: a set of instants cannot say that.

    ``reader.bounds_of`` raises for a ``time_range_in`` of this dimension that cannot be read.
    """
    truth = reader.truth(node)
    return None if truth is None or truth.at_null else truth.true


def _all(parts: Iterable[Truth]) -> Truth:
    """The conjunction: true where all are, false where any is."""
    parts = list(parts)
    at_null = {part.at_null for part in parts}
    return Truth(
        RangeSet.ALL - _union(RangeSet.ALL - part.true for part in parts),
        _union(part.false for part in parts),
        False if False in at_null else None if None in at_null else True,
    )


def _union(sets: Iterable[RangeSet]) -> RangeSet:
    return RangeSet(one for ranges in sets for one in ranges)


def _alike(operand: Operand, values: list[Constant]) -> bool:
    """Whether all items of a list are cast as each of them would be alone; Spark takes one type for all of them."""
    kinds = {value.kind for value in values}
    if not operand.chain.date or len(kinds) < 2:
        return len(kinds) < 2 or kinds <= {Kind.STRING, Kind.DATE, Kind.TIMESTAMP}
    # Beside a TIMESTAMP a text is no DATE any more.
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
