"""The part of a filter that ranges of keys leave open, as a condition that the database tests on the key itself.

A filter over fields (``predicates``) is monotone and asks only what is TRUE, so it becomes a condition without NULLs:
AND, OR, and comparisons of the key's bytes with bound values. Comparisons of bytes are exact, and so is LIKE with at
most one piece between a plain beginning and a plain end. Everything else, and everything that would make the statement
too long, stays in Python. The database still tests the other parts of an AND; an OR needs all of its branches.

The position of a field follows from the fields before it. Fields whose length the range or the same AND determines (an
equality, or anything but NULL in a type of fixed width) are counted; only the other fields are measured in the key.

Consecutive scans with the same filters share a test. Other scans are distinguished by their ranges, so that one
condition serves one statement over all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from operator import attrgetter
from typing import assert_never

import sqlalchemy as sa

from rewriter.catalog.filters.key_sql import Condition, KeyPosition, begins_with, find
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
)
from rewriter.catalog.filters.scan_plans import Scan, ScanPlan, intersect_ranges
from rewriter.catalog.keys.encoding import NOT_NULL, NULL, TABLE_WIDTH, TOP
from rewriter.catalog.model.key_ranges import KeyRange, after, merge_ranges
from rewriter.lazy_dataclass import dataclass

#: The maximum number of reads of the key and of named values in one condition.
MAX_SIZE = 500

#: The maximum nesting: SQLite's parser has a stack of a hundred, of which an AND or OR takes three, a field of unknown
#: length before another one fifteen, and the statement around the condition some.
_MAX_DEPTH = 24
_DEPTH_OF_A_LENGTH = 5

#: The ranges that each field is known to be in; ``None`` for a field without such ranges.
_KnownRanges = tuple[FieldRanges | None, ...]

_VALUES: FieldRanges = (KeyRange(NOT_NULL, TOP),)


@dataclass(frozen=True)
class Residual:
    """A condition that is TRUE for every key that satisfies the filters and, if ``exact``, for no other key of the
    scans.

    ``condition`` is ``None`` if the database has nothing to test.
    """

    condition: Condition | None
    exact: bool


@dataclass(frozen=True)
class _Test:
    """A condition in progress: ``size`` counts its reads of the key and named values, ``depth`` is its nesting."""

    sql: Condition
    size: int
    exact: bool = True
    depth: int = 0


_UNTESTED = _Test(sa.true(), 0, exact=False)


def residual_of(scans: Sequence[Scan], widths: Sequence[int | None], key: sa.ColumnElement[bytes]) -> Residual:
    """Returns the condition that the database can test of the filters of one table's scans, on keys in any of them.

    ``scans`` are in key order, as ``scan_plans`` returns them; ``widths`` are the results of ``encoding.width_of``.
    Linear in the filters; the condition reads the key and names values at most ``MAX_SIZE`` times in all.
    """
    if not any(scan.filters for scan in scans):
        return Residual(None, True)
    tests = _Tests(tuple(widths), key)
    runs = [tuple(run) for _, run in groupby(scans, key=attrgetter("filters"))]
    run_tests: list[_Test] = []
    size = 2 * len(runs)
    for run in runs:
        test = tests.run(run)
        # If the runs would be too long together, some are distinguished by their ranges alone.
        run_tests.append(test if size + test.size <= MAX_SIZE else _UNTESTED)
        size += run_tests[-1].size
    exact = all(test.exact for test in run_tests)
    if all(isinstance(test.sql, sa.True_) for test in run_tests):
        return Residual(None, exact)
    if len(run_tests) == 1:
        return Residual(run_tests[0].sql, exact)
    branches = (
        sa.and_(key >= run[0].start, key < run[-1].end, test.sql) for run, test in zip(runs, run_tests, strict=True)
    )
    return Residual(sa.or_(*branches), exact)


def _implied_fields(scan: Scan, widths: Sequence[int | None]) -> _KnownRanges:
    """Returns what a table's range implies: leading fields that all keys share, and whether the next one is NULL."""
    ranges: list[FieldRanges | None] = [None] * len(widths)
    position = TABLE_WIDTH
    for column, width in enumerate(widths):
        first = scan.start[position : position + 1]
        if not first:
            break
        stop = position + 1
        if first != NULL:
            stop = position + width if width else scan.start.find(0, position) + 1
        if position < stop <= len(scan.start) and scan.end <= after(scan.start[:stop]):
            field = scan.start[position:stop]
            ranges[column] = (KeyRange(field, after(field)),)
            position = stop
            continue
        if first != NULL:
            ranges[column] = _VALUES
        break
    return tuple(ranges)


@dataclass(frozen=True)
class _Tests:
    """Makes conditions of filters. Each method returns ``None`` if no condition is worth its length."""

    widths: tuple[int | None, ...]
    key: sa.ColumnElement[bytes]

    def run(self, scans: Sequence[Scan]) -> _Test:
        """Returns the test of consecutive scans with the same filters."""
        implied_fields = [_implied_fields(scan, self.widths) for scan in scans]
        field_ranges = tuple(
            None
            if None in ranges
            else merge_ranges(key_range for column_ranges in ranges for key_range in column_ranges or ())
            for ranges in zip(*implied_fields, strict=True)
        )
        if not scans[0].filters:
            return _Test(sa.true(), 0)
        return _any(self.plan(conjunction, field_ranges) for conjunction in scans[0].filters) or _UNTESTED

    def plan(self, plan: ScanPlan, field_ranges: _KnownRanges) -> _Test | None:
        """Returns the test of one conjunction."""
        fields = (FieldIn(column, ranges) for column, ranges in enumerate(plan.ranges) if ranges is not None)
        return self._all((*fields, *plan.tests), field_ranges)

    def _all(self, parts: Sequence[ScanFilter], field_ranges: _KnownRanges) -> _Test | None:
        """Returns the test of an AND, without implied parts and without parts that the database cannot test."""
        ranges_by_column: dict[int, list[FieldRanges]] = {}
        for part in parts:
            if isinstance(part, FieldIn):
                ranges_by_column.setdefault(part.index, []).append(part.ranges)
        fields = [FieldIn(column, intersect_ranges(ranges)) for column, ranges in ranges_by_column.items()]
        known_ranges = field_ranges
        for field in fields:
            field_ranges = _narrowed(field_ranges, field)
        if () in field_ranges:
            return _Test(sa.false(), 0)
        open_fields = [field for field in fields if field_ranges[field.index] != known_ranges[field.index]]
        tests: list[_Test] = []
        exact, size = True, 0
        for part in (*open_fields, *(part for part in parts if not isinstance(part, FieldIn))):
            test = self._of(part, field_ranges)
            if test is None or size + test.size > MAX_SIZE or test.depth >= _MAX_DEPTH:
                exact = False
                continue
            tests.append(test)
            exact, size = exact and test.exact, size + test.size
        return _joined(sa.and_(sa.true(), *(test.sql for test in tests)), tests, exact) if tests or exact else None

    def _of(self, tree: ScanFilter, field_ranges: _KnownRanges) -> _Test | None:
        match tree:
            case FieldIn():
                return self._in(tree, field_ranges)
            case FieldLike():
                return self._like(tree, field_ranges)
            case AllOf():
                return self._all(tree.parts, field_ranges)
            case AnyOf():
                return _any(self._of(part, field_ranges) for part in tree.parts)
            case FieldsIn() | Computed() | NotOfNulls():
                return None
            case _:
                assert_never(tree)

    def _in(self, tree: FieldIn, field_ranges: _KnownRanges) -> _Test | None:
        """Returns the test that the field is in its ranges or, if shorter, in their hull and in none of the gaps."""
        key_position, ranges = self._position(tree.index, field_ranges), tree.ranges
        ranges_test = _union(key_position, ranges)
        if any(
            key_range.end != after(key_range.start) for key_range in ranges[1:]
        ):  # Values alone are never shorter by their gaps.
            hull = _in_range(key_position, KeyRange(ranges[0].start, ranges[-1].end))
            gaps = _union(key_position, [KeyRange(left.end, right.start) for left, right in pairwise(ranges)])
            if hull.size + gaps.size < ranges_test.size:
                ranges_test = _Test(sa.and_(hull.sql, sa.not_(gaps.sql)), hull.size + gaps.size)
        if ranges_test.size > MAX_SIZE:
            hull = _in_range(key_position, KeyRange(ranges[0].start, ranges[-1].end))
            ranges_test = _Test(hull.sql, hull.size, False)
        return replace(ranges_test, depth=_depth(key_position))

    def _like(self, tree: FieldLike, field_ranges: _KnownRanges) -> _Test | None:
        """Returns the test of the first, the last, and the only middle piece of a pattern."""
        pieces = ["".join(char or "\0" for char in piece) for piece in tree.pattern.pieces]
        middle = [piece for piece in pieces[1:-1] if piece]
        # 00 and 01 take two bytes each in a field, the second of which is 01 or 02; and "\0" is any character here.
        plain = all(char > "\2" for piece in pieces for char in piece)
        if self.widths[tree.index] is not None or len(pieces) == 1 or len(middle) > 1 or not plain:
            return None
        first, *_, last = map(_bytes, pieces)
        key_position = self._position(tree.index, field_ranges)
        text = key_position.advanced_by(1 + len(first))
        tests = self._begins(key_position, NOT_NULL + first, field_ranges[tree.index])
        reads = len(tests)
        if middle:
            piece = _bytes(middle[0])
            position = find(text.tail, piece)
            tests += [position > 0, position + (len(piece) + len(last)) <= text.text_length]
            reads += 3
        if last:
            # A field has one 00, so its last piece followed by that 00 can only be at its end.
            position = find(text.tail, last + NULL)
            tests += [position > 0, position + len(last) == text.text_length]
            reads += 3
        size = reads * (key_position.reads + 1) + 4
        matches = sa.and_(sa.true(), *tests)
        if not tree.negated:
            return _Test(matches, size, depth=_depth(key_position))
        values = self._begins(key_position, NOT_NULL, field_ranges[tree.index])
        return _Test(
            sa.and_(sa.true(), *values, sa.not_(matches)), size + key_position.reads + 2, depth=_depth(key_position)
        )

    def _begins(self, key_position: KeyPosition, stem: bytes, field_ranges: FieldRanges | None) -> list[Condition]:
        """Returns the test that the field begins with the bytes, unless the ranges imply it."""
        if field_ranges is not None and all(
            stem <= key_range.start and key_range.end <= after(stem) for key_range in field_ranges
        ):
            return []
        return [begins_with(key_position, [stem])]

    def _position(self, index: int, field_ranges: _KnownRanges) -> KeyPosition:
        """Returns the position of a field."""
        key_position = KeyPosition(self.key)
        for width, ranges in zip(self.widths[:index], field_ranges, strict=False):
            length = _length(ranges, width)
            key_position = key_position.after_field(width) if length is None else key_position.advanced_by(length)
        return key_position


def _any(branches: Iterable[_Test | None]) -> _Test | None:
    """Returns the test of an OR, which needs all of its branches."""
    tests = []
    size = 0
    for test in branches:
        if test is None or size + test.size > MAX_SIZE or test.depth >= _MAX_DEPTH:
            return None
        tests.append(test)
        size += test.size
    return _joined(sa.or_(sa.false(), *(test.sql for test in tests)), tests, all(test.exact for test in tests))


def _joined(sql: Condition, tests: Sequence[_Test], exact: bool = True) -> _Test:
    depth = max((test.depth for test in tests), default=0) + (len(tests) > 1)
    return _Test(sql, sum(test.size for test in tests), exact, depth)


def _union(key_position: KeyPosition, ranges: Sequence[KeyRange]) -> _Test:
    """Returns the test that the key's bytes from the position on are in one of the ranges.

    Then the field does, because no field is the beginning of another. A range of all bytes with one beginning, such as
    one value, needs only this beginning; beginnings of the same length are listed.
    """
    stems: dict[int, list[bytes]] = {}
    tests = []
    for key_range in ranges:
        if key_range.end == after(key_range.start):
            stems.setdefault(len(key_range.start), []).append(key_range.start)
        else:
            tests.append(_in_range(key_position, key_range))
    tests += (
        _Test(begins_with(key_position, same_length), key_position.reads + 1 + len(same_length))
        for same_length in stems.values()
    )
    return _Test(sa.or_(sa.false(), *(test.sql for test in tests)), sum(test.size for test in tests))


def _depth(key_position: KeyPosition) -> int:
    """Returns the nesting of a test of the bytes at a position."""
    return 3 + _DEPTH_OF_A_LENGTH * len(key_position.lengths)


def _in_range(key_position: KeyPosition, key_range: KeyRange) -> _Test:
    tests = []
    if key_range.start > NULL:
        tests.append(key_position.tail >= key_range.start)
    if key_range.end < TOP:
        tests.append(key_position.tail < key_range.end)
    return _Test(sa.and_(sa.true(), *tests), len(tests) * (key_position.reads + 2))


def _bytes(piece: str) -> bytes:
    """Encodes a piece of a pattern; half a surrogate pair, which no text has, becomes bytes that no text has either."""
    return piece.encode(errors="surrogatepass")


def _narrowed(field_ranges: _KnownRanges, test: FieldIn) -> _KnownRanges:
    ranges_before = field_ranges[test.index]
    narrowed = test.ranges if ranges_before is None else intersection(ranges_before, test.ranges)
    return (*field_ranges[: test.index], narrowed, *field_ranges[test.index + 1 :])


def _length(ranges: FieldRanges | None, width: int | None) -> int | None:
    """Returns the length in bytes of a field in the ranges, if all have the same."""
    lengths = {_length_in(key_range, width) for key_range in ranges or ()}
    return lengths.pop() if len(lengths) == 1 else None


def _length_in(key_range: KeyRange, width: int | None) -> int | None:
    if key_range.end <= NOT_NULL:
        return 1
    if width is not None:
        return width if key_range.start >= NOT_NULL else None
    is_value = key_range.start.endswith(NULL) and key_range.end == after(key_range.start)
    return len(key_range.start) if is_value else None
