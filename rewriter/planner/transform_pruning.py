"""What a condition on a time implies for the hidden partition column that is computed from it (``days(ts)``).

A condition is read as a predicate on a time dimension is (``time.time_predicates``): the instants for which it is true,
exactly. The periods that contain one of these instants are the partitions that can hold rows for which it is true. No
row has a time outside the years 1 to 9999, in which no partition can lie.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, SupportsInt

from sqlglot import exp

from rewriter.catalog.filters.predicates import FieldIn
from rewriter.catalog.keys.encoding import NOT_NULL, NULL, TOP, encode_value
from rewriter.catalog.model.key_ranges import KeyRange, after, merge_ranges
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.time.time_predicates import Reader, Truth
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Table
    from rewriter.catalog.model.partition_transforms import PartitionTransform
    from rewriter.planner.time.constant_folding import Constants


@dataclass(frozen=True)
class TimeImplication:
    """``filter`` is TRUE for the partitions that can hold rows for which a condition is TRUE; with ``is_exact``, it is
    TRUE for all rows of these. ``asks_clock`` says that the present moment decides.
    """

    filter: FieldIn
    is_exact: bool
    asks_clock: bool


def implied_by_time(
    node: exp.Expr,
    negated: bool,
    table: Table,
    index: int,
    is_source: Callable[[exp.Column], bool],
    constants: Constants,
) -> TimeImplication | None:
    """Returns what a condition (``negated``: its opposite) implies for the hidden partition column at ``index``, from
    whose source ``is_source`` tells columns; ``None`` if that is not certain.
    """
    column = table.partition_columns[index]
    assert column.transform is not None
    source = next(c for c in table.columns if c.name.lower() == column.transform.source.lower())
    clock = _Clock(constants.now)
    if source.type == "date":
        # Midnights of a TIMESTAMP that is cast to DATE are compared as a DATE is.
        node = node.copy()
        for member in list(node.find_all(exp.Column)):
            if member is not node:
                member.replace(exp.cast(member.copy(), "DATE"))
    truth = Reader(is_source, replace(constants, now=clock), _no_bounds).truth(node)
    if truth is None:
        return None
    field, is_exact = _periods(truth.negated() if negated else truth, column, column.transform)
    return TimeImplication(FieldIn(index, field), is_exact, clock.was_read)


class _Clock:
    """The present moment, which one condition may ask for."""

    def __init__(self, now: SupportsInt) -> None:
        self._now = now
        self.was_read = False

    def __int__(self) -> int:
        self.was_read = True
        return int(self._now)


def _no_bounds(_call: exp.Anonymous) -> None:
    """A plain table has no ``time_range_in``."""


def _periods(truth: Truth, column: Column, transform: PartitionTransform) -> tuple[tuple[KeyRange, ...], bool]:
    """Returns the values of the periods that contain an instant for which a predicate is true, with NULL if it is true
    for that, and whether it is true for all instants of them.
    """
    period = transform.period

    def field(ordinal: int) -> bytes:
        (value,) = transform.layout.values(ordinal)
        return encode_value(column.type, value)

    ranges = [KeyRange(NULL, NOT_NULL)] if truth.at_null else []
    is_exact = True
    for times in truth.true:
        is_first, is_last = times.start <= MIN_INSTANT, times.end >= MAX_INSTANT
        start = NOT_NULL if is_first else field(period.ordinal(times.start))
        end = TOP if is_last else after(field(period.ordinal(times.end - 1)))
        is_exact &= (is_first or period.floor(times.start) == times.start) and (
            is_last or period.floor(times.end) == times.end
        )
        ranges.append(KeyRange(start, end))
    return merge_ranges(ranges), is_exact
