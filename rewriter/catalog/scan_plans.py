"""From a filter to scans of keys (seed 002): which stretches of a table's keys hold all partitions that satisfy it.

A filter becomes a union of conjunctions, each a ``ScanPlan``: ranges for each partition column, and tests that no
range expresses. Laid out over the key, equalities on leading columns and then ranges of one column are stretches of
keys, ``[start ScanMarker, end ScanMarker)``; what the stretch does not decide is the scan's filter. Scans that overlap
or touch are one, so no key is visited twice.

Two bounds keep a plan small. An AND of ORs is multiplied out only up to ``MAX_PRODUCT`` conjunctions; beyond, the
longer OR is taken as what its branches allow column by column, and stays as a test. More than ``MAX_SCANS`` stretches
are joined with their neighbours to that many, each tested by the filter. So what a plan visits beyond the keys that
some branch needs is at most what lies between neighbours that were joined, or under values of leading columns that
another branch of an AND of many ORs asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from rewriter.catalog import keys
from rewriter.catalog.keys import KeyRange, merged
from rewriter.catalog.models import Column
from rewriter.catalog.scan_filters import AllOf, AnyOf, FieldIn, FieldRanges, ScanFilter, intersection, within

#: The most conjunctions that an AND of ORs is multiplied out to.
MAX_PRODUCT = 64
#: The most stretches of keys of one plan: as many as one statement reads.
MAX_SCANS = 256

_Item = TypeVar("_Item")

#: A place between keys: the first key of a scan, or the first one after it. Exclusive starts and inclusive ends are
#: byte successors, so a marker says all and belongs to its own scan.
ScanMarker = bytes


@dataclass(frozen=True)
class ScanPlan:
    """One conjunction: ``ranges`` of each partition column (``None``: any field), and further tests."""

    ranges: tuple[FieldRanges | None, ...]
    tests: tuple[ScanFilter, ...] = ()

    @property
    def plans(self) -> tuple[ScanPlan, ...]:
        return (self,)

    @property
    def is_possible(self) -> bool:
        """Whether it is no contradiction."""
        return () not in self.ranges

    def and_(self, other: FilterPlan) -> FilterPlan:
        """What satisfies both: each conjunction of the other with this one, contradictions left out."""
        return _plan_of(both for one in other.plans if (both := _both(self, one)).is_possible)

    def or_(self, other: FilterPlan) -> FilterPlan:
        """What satisfies one or the other."""
        return _plan_of((self, *other.plans))

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Whether a key's fields satisfy it."""
        return all(one is None or within(one, fields[i]) for i, one in enumerate(self.ranges)) and all(
            test.holds(fields) for test in self.tests
        )

    def beyond(self, column: int) -> ScanPlan | None:
        """What is left to be tested once the columns before ``column`` are settled."""
        return ScanPlan((None,) * column + self.ranges[column:], self.tests)._or_nothing()

    def without(self, column: int) -> ScanPlan | None:
        """What is left to be tested once one column is settled."""
        return ScanPlan((*self.ranges[:column], None, *self.ranges[column + 1 :]), self.tests)._or_nothing()

    def _or_nothing(self) -> ScanPlan | None:
        return self if self.tests or any(one is not None for one in self.ranges) else None


@dataclass(frozen=True)
class MultiScanPlan:
    """A union of conjunctions; none of them finds nothing."""

    plans: tuple[ScanPlan, ...]

    def and_(self, other: FilterPlan) -> FilterPlan:
        """What satisfies both: each conjunction with each."""
        return _plan_of(both for one in self.plans for both in one.and_(other).plans)

    def or_(self, other: FilterPlan) -> FilterPlan:
        """What satisfies one or the other."""
        return _plan_of((*self.plans, *other.plans))


FilterPlan = ScanPlan | MultiScanPlan


@dataclass(frozen=True)
class Scan:
    """The keys from ``start`` up to ``end``, of which those count that satisfy one of ``filters`` (none: all count)."""

    start: ScanMarker
    end: ScanMarker
    filters: tuple[ScanPlan, ...] = ()

    @property
    def keys(self) -> KeyRange:
        return KeyRange(self.start, self.end)

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Whether a key of the scan with these fields counts."""
        return not self.filters or any(one.holds(fields) for one in self.filters)


@dataclass(frozen=True)
class PartitionFilterGenerator:
    """Visits a bound filter over ``columns`` columns: plans of the leaves, then AND and OR of plans."""

    columns: int

    def plan(self, tree: ScanFilter | None) -> FilterPlan:
        """The plan of a filter; ``None`` is no filter: everything."""
        if tree is None:
            return self._of({})
        if isinstance(tree, FieldIn):
            leaf = self._of({tree.index: tree.ranges})
            return leaf if leaf.is_possible else MultiScanPlan(())
        if isinstance(tree, AnyOf):
            return self._simplified(one for part in tree.parts for one in self.plan(part).plans)
        if isinstance(tree, AllOf):
            return self._all(tree)
        return ScanPlan((None,) * self.columns, (tree,))

    def _all(self, tree: AllOf) -> FilterPlan:
        single: dict[int, list[FieldRanges]] = {}
        for part in tree.parts:
            if isinstance(part, FieldIn):
                single.setdefault(part.index, []).append(part.ranges)
        found: FilterPlan = self._of({column: intersected(ranges) for column, ranges in single.items()})
        if () in found.plans[0].ranges:
            return MultiScanPlan(())
        exact = True
        for part in tree.parts:
            if isinstance(part, FieldIn):
                continue
            plan = self.plan(part)
            if len(found.plans) * len(plan.plans) > max(MAX_PRODUCT, len(found.plans), len(plan.plans)):
                exact = False
                if len(plan.plans) >= len(found.plans):
                    plan = self._outline(plan)
                else:
                    found = self._outline(found)
            found = found.and_(plan)
        # The whole is one test, and not what its parts would add up to.
        return found if exact else _plan_of(replace(one, tests=(tree,)) for one in found.plans)

    def _outline(self, plan: FilterPlan) -> ScanPlan:
        """One conjunction that all of a union lies in, and perhaps more: what it allows column by column."""
        allowed = [
            None
            if any(one.ranges[column] is None for one in plan.plans)
            else merged(part for one in plan.plans for part in one.ranges[column] or ())
            for column in range(self.columns)
        ]
        return ScanPlan(tuple(allowed))

    def _simplified(self, plans: Iterable[ScanPlan]) -> FilterPlan:
        """A union in which those that restrict one and the same column, and nothing else, are one."""
        single: dict[int, list[KeyRange]] = {}
        others: list[ScanPlan] = []
        for one in plans:
            restricted = [column for column, ranges in enumerate(one.ranges) if ranges is not None]
            if not restricted and not one.tests:
                return one
            if len(restricted) == 1 and not one.tests:
                single.setdefault(restricted[0], []).extend(one.ranges[restricted[0]] or ())
            else:
                others.append(one)
        return _plan_of((*(self._of({column: merged(ranges)}) for column, ranges in single.items()), *others))

    def _of(self, ranges: dict[int, FieldRanges]) -> ScanPlan:
        return ScanPlan(tuple(ranges.get(column) for column in range(self.columns)))


def laid_out(plan: FilterPlan, columns: Sequence[Column], prefix: bytes) -> tuple[Scan, ...]:
    """The scans that find what satisfies a plan, in key order, apart from each other; at most ``MAX_SCANS``.

    ``prefix`` is that of the table's keys. O(n log n) in the filter's literals.
    """
    layout = _Layout(tuple(keys.width_of(column.type) for column in columns), prefix)
    pieces = [piece for one in plan.plans for piece in layout.pieces(one)]
    groups: list[_Group] = []
    for piece in sorted(pieces, key=lambda piece: (piece.keys.start, piece.keys.end)):
        if groups and piece.keys.start <= groups[-1].end:
            groups[-1].end = max(groups[-1].end, piece.keys.end)
            groups[-1].pieces.append(piece)
        else:
            groups.append(_Group(piece.keys.start, piece.keys.end, [piece]))
    return tuple(_scan(some) for some in _gathered(groups))


def within_ranges(scans: Iterable[Scan], ranges: Iterable[KeyRange]) -> tuple[Scan, ...]:
    """What of scans lies in some ranges of keys, in key order, apart from each other. O(scans · ranges)."""
    apart = merged(ranges)
    both = ((scan, scan.keys & one) for scan in scans for one in apart)
    return tuple(Scan(one.start, one.end, scan.filters) for scan, one in both if one.start < one.end)


def stretches_of(ranges: FieldRanges) -> FieldRanges:
    """At most ``MAX_SCANS`` ranges, in which the given ones lie: neighbours are joined."""
    return tuple(KeyRange(some[0].start, some[-1].end) for some in _gathered(ranges))


def only_keys(plan: FilterPlan, columns: Sequence[Column]) -> bool:
    """Whether every conjunction names single values of every column, so that whole keys are got and nothing is
    searched.
    """
    layout = _Layout(tuple(keys.width_of(column.type) for column in columns), b"")
    return all(
        ranges is not None and all(layout.is_value(part, column) for part in ranges)
        for one in plan.plans
        for column, ranges in enumerate(one.ranges)
    )


@dataclass(frozen=True)
class _Piece:
    """A stretch of keys that a conjunction needs, and what of it the stretch leaves open."""

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
        """Equalities of leading columns lengthen the stems; what else a column allows ends there."""
        stems, found, column = [self.prefix], [], 0
        while stems and column < len(self.widths):
            ranges = plan.ranges[column]
            if ranges is None or (column and len(stems) * len(ranges) > max(MAX_SCANS, len(stems))):
                break
            points = [one for one in ranges if self.is_value(one, column)]
            rest = plan.beyond(column + 1)
            if len(points) < len(ranges):
                wide = [one for one in ranges if not self.is_value(one, column)]
                found += [_Piece(KeyRange(s + one.start, s + one.end), plan, rest) for s in stems for one in wide]
            stems = [stem + one.start for stem in stems for one in points]
            column += 1
        rest = plan.beyond(column)
        return found + [_Piece(KeyRange(stem, keys.after(stem)), plan, rest) for stem in stems]

    def is_value(self, one: KeyRange, column: int) -> bool:
        """Whether the range holds exactly one field, NULL's or a value's."""
        width = self.widths[column]
        if one.end != keys.after(one.start):
            return False
        if one.start == keys.NULL:
            return True
        return len(one.start) == width if width else one.start.endswith(b"\x00")


def _gathered(items: Sequence[_Item]) -> list[Sequence[_Item]]:
    """The items in order, in at most ``MAX_SCANS`` groups of neighbours."""
    count = min(len(items), MAX_SCANS)
    cuts = [i * len(items) // count for i in range(count + 1)] if count else []
    return [items[cuts[i] : cuts[i + 1]] for i in range(count)]


def _scan(groups: Sequence[_Group]) -> Scan:
    pieces = [piece for group in groups for piece in group.pieces]
    if len(groups) == 1:
        first = pieces[0].open
        if all(piece.open is first or piece.open == first for piece in pieces):
            return Scan(groups[0].start, groups[0].end, () if first is None else (first,))
    whole = {id(piece.plan): piece.plan for piece in pieces}
    return Scan(groups[0].start, groups[-1].end, tuple(whole.values()))


def _both(left: ScanPlan, right: ScanPlan) -> ScanPlan:
    ranges = tuple(
        other if one is None else one if other is None else intersection(one, other)
        for one, other in zip(left.ranges, right.ranges, strict=True)
    )
    return ScanPlan(ranges, left.tests + right.tests)


def intersected(ranges: list[FieldRanges]) -> FieldRanges:
    """What lies in all of them, by halves, so that ten thousand ``<>`` cost no square."""
    while len(ranges) > 1:
        pairs = [intersection(*ranges[i : i + 2]) for i in range(0, len(ranges) - 1, 2)]
        ranges = pairs + ranges[len(pairs) * 2 :]
    return ranges[0]


def _plan_of(plans: Iterable[ScanPlan]) -> FilterPlan:
    found = tuple(plans)
    return found[0] if len(found) == 1 else MultiScanPlan(found)
