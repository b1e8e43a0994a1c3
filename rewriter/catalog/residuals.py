"""What ranges of keys leave open of a filter, as a condition that the database tests on the key itself.

A filter over fields (``scan_filters``) is monotone and asks only what is TRUE, so it becomes a condition without NULLs:
AND, OR, and comparisons of the key's bytes with bound values. Comparisons of bytes are exact, and so is LIKE with at
most one piece between a plain beginning and a plain end; what is not, or would make the statement too long, stays in
Python. Of an AND the other parts are then tested by the database all the same; an OR needs all of its branches.

Where a field begins follows from the fields before it. Those whose length the range or the same AND settles (an
equality, or anything but NULL in a type of fixed width) are counted; only the others are measured in the key.

Scans that follow each other and leave the same open share a test. Others are told apart by their ranges, so that one
condition serves one statement over them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import attrgetter

import sqlalchemy as sa

from rewriter.catalog.key_sql import Condition, Place, begins_with, find
from rewriter.catalog.keys import NOT_NULL, NULL, TABLE_WIDTH, TOP, KeyRange, after, merged
from rewriter.catalog.scan_filters import AllOf, AnyOf, FieldIn, FieldLike, FieldRanges, ScanFilter, intersection
from rewriter.catalog.scan_plans import Scan, ScanPlan, intersected

#: How often one condition may read the key or name a value.
MAX_SIZE = 500

#: How deep it may nest: SQLite's parser has a stack of a hundred, of which an AND or OR takes three, a field of unknown
#: length before another one fifteen, and the statement around the condition some.
MAX_DEPTH = 24
_DEPTH_OF_A_LENGTH = 5

#: What is known of each field: the ranges it lies in, ``None`` where nothing is.
_Known = tuple[FieldRanges | None, ...]

_VALUES: FieldRanges = (KeyRange(NOT_NULL, TOP),)


@dataclass(frozen=True)
class Residual:
    """A condition that is TRUE of every key the filters hold for and, where ``exact``, of no other key of the scans.

    ``condition`` is ``None`` where the database has nothing to test.
    """

    condition: Condition | None
    exact: bool


@dataclass(frozen=True)
class _Test:
    """A condition on the way: ``size`` is how often it reads the key or names a value, ``depth`` how deep it nests."""

    sql: Condition
    size: int
    exact: bool = True
    depth: int = 0


_UNTESTED = _Test(sa.true(), 0, exact=False)


def residual_of(scans: Sequence[Scan], widths: Sequence[int | None], key: sa.ColumnElement[bytes]) -> Residual:
    """What the database can test of the filters of one table's scans, on keys that lie in any of them.

    ``scans`` are in key order, as ``scan_plans`` answers them; ``widths`` is what ``keys.width_of`` says of the types.
    Linear in the filters; the condition reads the key and names values at most ``MAX_SIZE`` times in all.
    """
    if not any(scan.filters for scan in scans):
        return Residual(None, True)
    tests = _Tests(tuple(widths), key)
    runs = [tuple(run) for _, run in groupby(scans, key=attrgetter("filters"))]
    found: list[_Test] = []
    size = 2 * len(runs)
    for run in runs:
        test = tests.run(run)
        # Where the runs would be too long together, some are told by their ranges alone.
        found.append(test if size + test.size <= MAX_SIZE else _UNTESTED)
        size += found[-1].size
    exact = all(test.exact for test in found)
    if all(isinstance(test.sql, sa.True_) for test in found):
        return Residual(None, exact)
    if len(found) == 1:
        return Residual(found[0].sql, exact)
    branches = (
        sa.and_(key >= run[0].start, key < run[-1].end, test.sql) for run, test in zip(runs, found, strict=True)
    )
    return Residual(sa.or_(*branches), exact)


def _settled(scan: Scan, widths: Sequence[int | None]) -> _Known:
    """What the range, one table's, says: leading fields that all of its keys share, of the next whether it is NULL."""
    known: list[FieldRanges | None] = [None] * len(widths)
    at = TABLE_WIDTH
    for column, width in enumerate(widths):
        first = scan.start[at : at + 1]
        if not first:
            break
        stop = at + 1
        if first != NULL:
            stop = at + width if width else scan.start.find(0, at) + 1
        if at < stop <= len(scan.start) and scan.end <= after(scan.start[:stop]):
            field = scan.start[at:stop]
            known[column] = (KeyRange(field, after(field)),)
            at = stop
            continue
        if first != NULL:
            known[column] = _VALUES
        break
    return tuple(known)


@dataclass(frozen=True)
class _Tests:
    """Makes conditions of filters. Each answer is ``None`` where there is none that is worth its length."""

    widths: tuple[int | None, ...]
    key: sa.ColumnElement[bytes]

    def run(self, scans: Sequence[Scan]) -> _Test:
        """Scans that leave the same open."""
        settled = [_settled(scan, self.widths) for scan in scans]
        known = tuple(
            None if None in ranges else merged(one for some in ranges for one in some or ())
            for ranges in zip(*settled, strict=True)
        )
        if not scans[0].filters:
            return _Test(sa.true(), 0)
        return _any(self.plan(one, known) for one in scans[0].filters) or _UNTESTED

    def plan(self, plan: ScanPlan, known: _Known) -> _Test | None:
        """One conjunction."""
        fields = (FieldIn(column, ranges) for column, ranges in enumerate(plan.ranges) if ranges is not None)
        return self._all((*fields, *plan.tests), known)

    def _all(self, parts: Sequence[ScanFilter], known: _Known) -> _Test | None:
        """An AND, without what is known and what the database cannot test."""
        single: dict[int, list[FieldRanges]] = {}
        for part in parts:
            if isinstance(part, FieldIn):
                single.setdefault(part.index, []).append(part.ranges)
        fields = [FieldIn(column, intersected(ranges)) for column, ranges in single.items()]
        before = known
        for one in fields:
            known = _narrowed(known, one)
        if () in known:
            return _Test(sa.false(), 0)
        open_fields = [one for one in fields if known[one.index] != before[one.index]]
        tests: list[_Test] = []
        exact, size = True, 0
        for part in (*open_fields, *(part for part in parts if not isinstance(part, FieldIn))):
            test = self._of(part, known)
            if test is None or size + test.size > MAX_SIZE or test.depth >= MAX_DEPTH:
                exact = False
                continue
            tests.append(test)
            exact, size = exact and test.exact, size + test.size
        return _joined(sa.and_(sa.true(), *(one.sql for one in tests)), tests, exact) if tests or exact else None

    def _of(self, tree: ScanFilter, known: _Known) -> _Test | None:
        if isinstance(tree, FieldIn):
            return self._in(tree, known)
        if isinstance(tree, FieldLike):
            return self._like(tree, known)
        if isinstance(tree, AllOf):
            return self._all(tree.parts, known)
        if not isinstance(tree, AnyOf):
            return None
        return _any(self._of(part, known) for part in tree.parts)

    def _in(self, tree: FieldIn, known: _Known) -> _Test | None:
        """The field is in its ranges or, if that is shorter, between the first and the last and in none of the gaps."""
        place, ranges = self._place(tree.index, known), tree.ranges
        found = _union(place, ranges)
        if any(one.end != after(one.start) for one in ranges[1:]):  # Values alone are never shorter by their gaps.
            hull = _between(place, KeyRange(ranges[0].start, ranges[-1].end))
            gaps = _union(place, [KeyRange(one.end, other.start) for one, other in pairwise(ranges)])
            if hull.size + gaps.size < found.size:
                found = _Test(sa.and_(hull.sql, sa.not_(gaps.sql)), hull.size + gaps.size)
        if found.size > MAX_SIZE:
            hull = _between(place, KeyRange(ranges[0].start, ranges[-1].end))
            found = _Test(hull.sql, hull.size, False)
        return replace(found, depth=_depth(place))

    def _like(self, tree: FieldLike, known: _Known) -> _Test | None:
        """The text begins with the first piece, ends with the last, and has the one between them in between."""
        pieces = ["".join(char or "\0" for char in piece) for piece in tree.pattern.pieces]
        middle = [piece for piece in pieces[1:-1] if piece]
        # 00 and 01 take two bytes each in a field, the second of which is 01 or 02; and "\0" is any character here.
        plain = all(char > "\2" for piece in pieces for char in piece)
        if self.widths[tree.index] is not None or len(pieces) == 1 or len(middle) > 1 or not plain:
            return None
        first, *_, last = map(_bytes, pieces)
        place = self._place(tree.index, known)
        text = place.behind(1 + len(first))
        tests = self._begins(place, NOT_NULL + first, known[tree.index])
        reads = len(tests)
        if middle:
            piece = _bytes(middle[0])
            found = find(text.tail, piece)
            tests += [found > 0, found + (len(piece) + len(last)) <= text.text_length]
            reads += 3
        if last:
            # A field has one 00, so its last piece and that 00 stand in it at its end only.
            found = find(text.tail, last + NULL)
            tests += [found > 0, found + len(last) == text.text_length]
            reads += 3
        size = reads * (place.reads + 1) + 4
        matches = sa.and_(sa.true(), *tests)
        if not tree.negated:
            return _Test(matches, size, depth=_depth(place))
        values = self._begins(place, NOT_NULL, known[tree.index])
        return _Test(sa.and_(sa.true(), *values, sa.not_(matches)), size + place.reads + 2, depth=_depth(place))

    def _begins(self, place: Place, stem: bytes, known: FieldRanges | None) -> list[Condition]:
        """The field begins with the bytes, where that is not known."""
        if known is not None and all(stem <= one.start and one.end <= after(stem) for one in known):
            return []
        return [begins_with(place, [stem])]

    def _place(self, index: int, known: _Known) -> Place:
        """Where a field begins."""
        place = Place(self.key)
        for width, ranges in zip(self.widths[:index], known, strict=False):
            length = _length(ranges, width)
            place = place.behind_field(width) if length is None else place.behind(length)
        return place


def _any(branches: Iterable[_Test | None]) -> _Test | None:
    """An OR, which needs all of its branches."""
    tests = []
    size = 0
    for test in branches:
        if test is None or size + test.size > MAX_SIZE or test.depth >= MAX_DEPTH:
            return None
        tests.append(test)
        size += test.size
    return _joined(sa.or_(sa.false(), *(one.sql for one in tests)), tests, all(one.exact for one in tests))


def _joined(sql: Condition, tests: Sequence[_Test], exact: bool = True) -> _Test:
    depth = max((one.depth for one in tests), default=0) + (len(tests) > 1)
    return _Test(sql, sum(one.size for one in tests), exact, depth)


def _union(place: Place, ranges: Sequence[KeyRange]) -> _Test:
    """The key's bytes from the place on lie in one of the ranges: the field does, as none is the beginning of another.

    A range of all that begins with some bytes, as one value is, needs only these bytes: such of one length are listed.
    """
    stems: dict[int, list[bytes]] = {}
    tests = []
    for one in ranges:
        if one.end == after(one.start):
            stems.setdefault(len(one.start), []).append(one.start)
        else:
            tests.append(_between(place, one))
    tests += (_Test(begins_with(place, some), place.reads + 1 + len(some)) for some in stems.values())
    return _Test(sa.or_(sa.false(), *(one.sql for one in tests)), sum(one.size for one in tests))


def _depth(place: Place) -> int:
    """How deep a test of the bytes at a place nests."""
    return 3 + _DEPTH_OF_A_LENGTH * len(place.lengths)


def _between(place: Place, one: KeyRange) -> _Test:
    tests = []
    if one.start > NULL:
        tests.append(place.tail >= one.start)
    if one.end < TOP:
        tests.append(place.tail < one.end)
    return _Test(sa.and_(sa.true(), *tests), len(tests) * (place.reads + 2))


def _bytes(piece: str) -> bytes:
    """A piece of a pattern; half a surrogate pair, which is in no text, becomes bytes that are in none either."""
    return piece.encode(errors="surrogatepass")


def _narrowed(known: _Known, test: FieldIn) -> _Known:
    before = known[test.index]
    now = test.ranges if before is None else intersection(before, test.ranges)
    return (*known[: test.index], now, *known[test.index + 1 :])


def _length(ranges: FieldRanges | None, width: int | None) -> int | None:
    """How many bytes a field in the ranges takes, where that is the same for all."""
    lengths = {_length_in(one, width) for one in ranges or ()}
    return lengths.pop() if len(lengths) == 1 else None


def _length_in(one: KeyRange, width: int | None) -> int | None:
    if one.end <= NOT_NULL:
        return 1
    if width is not None:
        return width if one.start >= NOT_NULL else None
    is_value = one.start.endswith(NULL) and one.end == after(one.start)
    return len(one.start) if is_value else None
