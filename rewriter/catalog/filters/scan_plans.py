"""From a filter to scans of keys (seed 002): the key ranges of a table that contain all matching partitions.

A filter becomes a union of conjunctions, each a ``ScanPlan``: ranges for each partition column, and tests that no
range expresses. Laid out over the key, equalities on leading columns and then ranges of one column are ranges of
keys, ``[start ScanMarker, end ScanMarker)``; the remaining conditions are the scan's filter. Scans that overlap or
touch are merged, so no key is visited twice.

Two bounds keep a plan small. An AND of ORs is multiplied out only up to ``_MAX_PRODUCT`` conjunctions; beyond that, the
longer OR is reduced to the ranges that its branches allow column by column, and stays as a test. If there are more than
``MAX_SCANS`` ranges, neighbours are joined and tested by the filter. So a plan visits surplus keys only between
joined neighbours, and if a large AND of ORs was reduced to ranges of each column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeVar, assert_never

from rewriter.catalog.filters.predicates import (
    AllOf,
    AnyOf,
    Computed,
    FieldIn,
    FieldLike,
    FieldRanges,
    FieldsIn,
    NotOfNulls,
    ScanFilter,
    intersection,
    lies_within,
)
from rewriter.catalog.keys import encoding as keys
from rewriter.catalog.model.key_ranges import KeyRange, after, merge_ranges
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column

#: The maximum number of conjunctions that an AND of ORs is multiplied out to.
_MAX_PRODUCT = 64
#: The maximum number of key ranges of one plan: as many as one statement reads.
MAX_SCANS = 256

_Item = TypeVar("_Item")

#: A position between keys: the first key of a scan, or the first one after it. Exclusive starts and inclusive ends are
#: byte successors, so a marker needs no flag and belongs to its own scan.
ScanMarker = bytes


@dataclass(frozen=True)
class ScanPlan:
    """One conjunction: ``ranges`` of each partition column (``None``: any field), and additional tests."""

    ranges: tuple[FieldRanges | None, ...]
    tests: tuple[ScanFilter, ...] = ()

    @property
    def plans(self) -> tuple[ScanPlan, ...]:
        return (self,)

    @property
    def is_possible(self) -> bool:
        """True unless it is a contradiction."""
        return () not in self.ranges

    def and_(self, other: FilterPlan) -> FilterPlan:
        """Returns the intersection: each conjunction of the other with this one, without contradictions."""
        return _plan_of(
            combined for conjunction in other.plans if (combined := _conjunction(self, conjunction)).is_possible
        )

    def or_(self, other: FilterPlan) -> FilterPlan:
        """Returns the union."""
        return _plan_of((self, *other.plans))

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Returns True if a key's fields satisfy it."""
        return all(ranges is None or lies_within(ranges, fields[i]) for i, ranges in enumerate(self.ranges)) and all(
            test.holds(fields) for test in self.tests
        )

    def beyond(self, column: int) -> ScanPlan | None:
        """Returns the remaining test once the columns before ``column`` are decided."""
        return ScanPlan((None,) * column + self.ranges[column:], self.tests)._or_nothing()

    def without(self, column: int) -> ScanPlan | None:
        """Returns the remaining test once one column is decided."""
        return ScanPlan((*self.ranges[:column], None, *self.ranges[column + 1 :]), self.tests)._or_nothing()

    def _or_nothing(self) -> ScanPlan | None:
        return self if self.tests or any(ranges is not None for ranges in self.ranges) else None


@dataclass(frozen=True)
class MultiScanPlan:
    """A union of conjunctions; none of them is a contradiction."""

    plans: tuple[ScanPlan, ...]

    def and_(self, other: FilterPlan) -> FilterPlan:
        """Returns the intersection: each conjunction with each."""
        return _plan_of(combined for conjunction in self.plans for combined in conjunction.and_(other).plans)

    def or_(self, other: FilterPlan) -> FilterPlan:
        """Returns the union."""
        return _plan_of((*self.plans, *other.plans))


FilterPlan = ScanPlan | MultiScanPlan


@dataclass(frozen=True)
class Scan:
    """The keys from ``start`` up to ``end`` that satisfy one of ``filters`` (empty: all keys)."""

    start: ScanMarker
    end: ScanMarker
    filters: tuple[ScanPlan, ...] = ()

    @property
    def keys(self) -> KeyRange:
        return KeyRange(self.start, self.end)

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Returns True if a key of the scan with these fields is part of the result."""
        return not self.filters or any(conjunction.holds(fields) for conjunction in self.filters)


@dataclass(frozen=True)
class PartitionFilterGenerator:
    """Visits a bound filter over ``columns`` columns: plans of the leaves, then AND and OR of plans."""

    columns: int

    def plan(self, tree: ScanFilter | None) -> FilterPlan:
        """Returns the plan of a filter; ``None`` is no filter: everything."""
        match tree:
            case None:
                return self._of({})
            case FieldIn():
                leaf = self._of({tree.index: tree.ranges})
                return leaf if leaf.is_possible else MultiScanPlan(())
            case AnyOf():
                return self._simplified(conjunction for part in tree.parts for conjunction in self.plan(part).plans)
            case AllOf():
                return self._all(tree)
            case FieldLike() | FieldsIn() | Computed() | NotOfNulls():
                return ScanPlan((None,) * self.columns, (tree,))
            case _:
                assert_never(tree)

    def _all(self, tree: AllOf) -> FilterPlan:
        ranges_by_column: dict[int, list[FieldRanges]] = {}
        for part in tree.parts:
            if isinstance(part, FieldIn):
                ranges_by_column.setdefault(part.index, []).append(part.ranges)
        combined: FilterPlan = self._of(
            {column: intersect_ranges(ranges) for column, ranges in ranges_by_column.items()}
        )
        if () in combined.plans[0].ranges:
            return MultiScanPlan(())
        exact = True
        for part in tree.parts:
            if isinstance(part, FieldIn):
                continue
            plan = self.plan(part)
            if len(combined.plans) * len(plan.plans) > max(_MAX_PRODUCT, len(combined.plans), len(plan.plans)):
                exact = False
                if len(plan.plans) >= len(combined.plans):
                    plan = self._outline(plan)
                else:
                    combined = self._outline(combined)
            combined = combined.and_(plan)
        # The complete AND is one test, instead of the tests of its parts.
        return combined if exact else _plan_of(replace(conjunction, tests=(tree,)) for conjunction in combined.plans)

    def _outline(self, plan: FilterPlan) -> ScanPlan:
        """Returns one conjunction that contains a union, and perhaps more: the ranges of each column."""
        allowed = [
            None
            if any(conjunction.ranges[column] is None for conjunction in plan.plans)
            else merge_ranges(part for conjunction in plan.plans for part in conjunction.ranges[column] or ())
            for column in range(self.columns)
        ]
        return ScanPlan(tuple(allowed))

    def _simplified(self, plans: Iterable[ScanPlan]) -> FilterPlan:
        """Returns a union in which conjunctions that restrict only one and the same column are merged."""
        single: dict[int, list[KeyRange]] = {}
        remaining: list[ScanPlan] = []
        for conjunction in plans:
            restricted = [column for column, ranges in enumerate(conjunction.ranges) if ranges is not None]
            if not restricted and not conjunction.tests:
                return conjunction
            if len(restricted) == 1 and not conjunction.tests:
                single.setdefault(restricted[0], []).extend(conjunction.ranges[restricted[0]] or ())
            else:
                remaining.append(conjunction)
        return _plan_of((*(self._of({column: merge_ranges(ranges)}) for column, ranges in single.items()), *remaining))

    def _of(self, ranges: dict[int, FieldRanges]) -> ScanPlan:
        return ScanPlan(tuple(ranges.get(column) for column in range(self.columns)))


def scans_of_plan(plan: FilterPlan, columns: Sequence[Column], prefix: bytes) -> tuple[Scan, ...]:
    """Returns the scans that find the partitions of a plan, in key order and disjoint; at most ``MAX_SCANS``.

    ``prefix`` is the prefix of the table's keys. O(n log n) in the filter's literals.
    """
    layout = _Layout(tuple(keys.width_of(column.type) for column in columns), prefix)
    pieces = [piece for conjunction in plan.plans for piece in layout.pieces(conjunction)]
    groups: list[_Group] = []
    for piece in sorted(pieces, key=lambda piece: (piece.keys.start, piece.keys.end)):
        if groups and piece.keys.start <= groups[-1].end:
            groups[-1].end = max(groups[-1].end, piece.keys.end)
            groups[-1].pieces.append(piece)
        else:
            groups.append(_Group(piece.keys.start, piece.keys.end, [piece]))
    return tuple(_scan(neighbours) for neighbours in _groups_of_neighbours(groups))


def within_ranges(scans: Iterable[Scan], ranges: Iterable[KeyRange]) -> tuple[Scan, ...]:
    """Returns the parts of scans inside some ranges of keys, in key order and disjoint. O(scans · ranges)."""
    disjoint_ranges = merge_ranges(ranges)
    overlaps = ((scan, scan.keys & key_range) for scan in scans for key_range in disjoint_ranges)
    return tuple(
        Scan(overlap.start, overlap.end, scan.filters) for scan, overlap in overlaps if overlap.start < overlap.end
    )


def join_ranges(ranges: FieldRanges) -> FieldRanges:
    """Returns at most ``MAX_SCANS`` ranges that contain the given ones: neighbours are joined."""
    return tuple(KeyRange(neighbours[0].start, neighbours[-1].end) for neighbours in _groups_of_neighbours(ranges))


def only_keys(plan: FilterPlan, columns: Sequence[Column]) -> bool:
    """Returns True if every conjunction names single values of every column.

    Then complete keys are looked up and nothing is searched.
    """
    layout = _Layout(tuple(keys.width_of(column.type) for column in columns), b"")
    return all(
        ranges is not None and all(layout.is_value(part, column) for part in ranges)
        for conjunction in plan.plans
        for column, ranges in enumerate(conjunction.ranges)
    )


@dataclass(frozen=True)
class _Piece:
    """A key range that a conjunction needs, and its remaining test there."""

    keys: KeyRange
    plan: ScanPlan
    open: ScanPlan | None


@dataclass
class _Group:
    """Pieces that overlap or touch."""

    start: bytes
    end: bytes
    pieces: list[_Piece] = field(default_factory=list)


@dataclass(frozen=True)
class _Layout:
    widths: tuple[int | None, ...]
    prefix: bytes

    def pieces(self, plan: ScanPlan) -> list[_Piece]:
        """Returns the key ranges of a conjunction: equalities of leading columns extend the stems; the next ranges end
        them.
        """
        stems, pieces, column = [self.prefix], [], 0
        while stems and column < len(self.widths):
            ranges = plan.ranges[column]
            if ranges is None or (column and len(stems) * len(ranges) > max(MAX_SCANS, len(stems))):
                break
            points = [key_range for key_range in ranges if self.is_value(key_range, column)]
            remaining = plan.beyond(column + 1)
            if len(points) < len(ranges):
                wider = [key_range for key_range in ranges if not self.is_value(key_range, column)]
                pieces += [
                    _Piece(KeyRange(s + key_range.start, s + key_range.end), plan, remaining)
                    for s in stems
                    for key_range in wider
                ]
            stems = [stem + point.start for stem in stems for point in points]
            column += 1
        remaining = plan.beyond(column)
        return pieces + [_Piece(KeyRange(stem, after(stem)), plan, remaining) for stem in stems]

    def is_value(self, key_range: KeyRange, column: int) -> bool:
        """Returns True if the range contains exactly one field, NULL's or a value's."""
        width = self.widths[column]
        if key_range.end != after(key_range.start):
            return False
        if key_range.start == keys.NULL:
            return True
        return len(key_range.start) == width if width else key_range.start.endswith(b"\x00")


def _groups_of_neighbours(items: Sequence[_Item]) -> list[Sequence[_Item]]:
    """Returns the items in order, in at most ``MAX_SCANS`` groups of neighbours."""
    count = min(len(items), MAX_SCANS)
    cuts = [i * len(items) // count for i in range(count + 1)] if count else []
    return [items[cuts[i] : cuts[i + 1]] for i in range(count)]


def _scan(groups: Sequence[_Group]) -> Scan:
    pieces = [piece for group in groups for piece in group.pieces]
    if len(groups) == 1:
        first = pieces[0].open
        if all(piece.open is first or piece.open == first for piece in pieces):
            return Scan(groups[0].start, groups[0].end, () if first is None else (first,))
    plans = {id(piece.plan): piece.plan for piece in pieces}
    return Scan(groups[0].start, groups[-1].end, tuple(plans.values()))


def _conjunction(left: ScanPlan, right: ScanPlan) -> ScanPlan:
    ranges = tuple(
        right_ranges
        if left_ranges is None
        else left_ranges
        if right_ranges is None
        else intersection(left_ranges, right_ranges)
        for left_ranges, right_ranges in zip(left.ranges, right.ranges, strict=True)
    )
    return ScanPlan(ranges, left.tests + right.tests)


def intersect_ranges(ranges: list[FieldRanges]) -> FieldRanges:
    """Returns the intersection of all ranges, by halves, so that ten thousand ``<>`` have no quadratic cost."""
    while len(ranges) > 1:
        pairs = [intersection(*ranges[i : i + 2]) for i in range(0, len(ranges) - 1, 2)]
        ranges = pairs + ranges[len(pairs) * 2 :]
    return ranges[0]


def _plan_of(plans: Iterable[ScanPlan]) -> FilterPlan:
    conjunctions = tuple(plans)
    return conjunctions[0] if len(conjunctions) == 1 else MultiScanPlan(conjunctions)
