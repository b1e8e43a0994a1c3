"""Filters as tests of the fields of a key, ready to plan and to run.

NOT is moved down to the predicates, each of which has an opposite. The remaining tree is monotone, so it only has to
decide what is TRUE: an AND is TRUE if all parts are, an OR if any part is, and NULL counts as not TRUE.
Comparisons are ranges of field bytes and decode nothing; LIKE decodes its own field.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import assert_never

from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.encoding import NOT_NULL, NULL, TOP
from rewriter.catalog.keys.like_patterns import LikePattern
from rewriter.catalog.keys.literal_bounds import comparison_range, text_field
from rewriter.catalog.model.key_ranges import KeyRange, after, merge_ranges
from rewriter.catalog.model.objects import Column
from rewriter.errors import AnalysisError, Error
from rewriter.grammar import filters as f
from rewriter.grammar.parser import parse_filter
from rewriter.grammar.terms import Literal
from rewriter.lazy_dataclass import dataclass

#: Sorted ranges of one field that neither overlap nor touch.
FieldRanges = tuple[KeyRange, ...]
#: Reads a literal for a column: ``literal_bounds.comparison_range`` or ``literal_bounds.partition_value_range``.
Comparand = Callable[[Column, Literal], KeyRange | None]

#: The maximum number of remembered filter texts, and the maximum number of characters of one.
REMEMBERED, LONGEST = 64, 8_000

_NULLS, _VALUES = KeyRange(NULL, NOT_NULL), KeyRange(NOT_NULL, TOP)
#: ``p < 1`` is FALSE if ``p >= 1`` is TRUE.
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True)
class FieldIn:
    """The field at ``index`` is in one of the ranges."""

    index: int
    ranges: FieldRanges

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Returns True if it is TRUE for a key's fields. O(log n)."""
        return lies_within(self.ranges, fields[self.index])


@dataclass(frozen=True)
class FieldLike:
    """The text of the field at ``index``, which is not NULL, matches the pattern or, ``negated``, does not."""

    index: int
    type: str
    pattern: LikePattern
    negated: bool

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Returns True if it is TRUE for a key's fields."""
        text = encoding.decode_value(self.type, fields[self.index])
        return text is not None and self.pattern.matches(text) is not self.negated


@dataclass(frozen=True)
class FieldsIn:
    """The fields at ``indexes`` are, together, one of these combinations."""

    indexes: tuple[int, ...]
    combinations: frozenset[tuple[bytes, ...]]

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Returns True if it is TRUE for a key's fields."""
        return tuple(fields[index] for index in self.indexes) in self.combinations


@dataclass(frozen=True)
class Subquery:
    """A query in a condition, where ``(:name)`` stands for it: for its one value, or for a list of its values."""

    name: str
    text: str
    is_list: bool


@dataclass(frozen=True)
class Computed:
    """A condition in Spark SQL on the columns at ``indexes``; ``alias`` is the name of the table in it.

    Only an engine can decide for which values it is TRUE, before partitions are looked up (``computed_pruning``).
    Until then it may be TRUE for all values. ``subqueries`` are computed before it.
    """

    text: str
    alias: str
    indexes: tuple[int, ...]
    subqueries: tuple[Subquery, ...] = ()

    @property
    def shown(self) -> str:
        """Returns the condition as typed, in one line."""
        text = self.text
        for subquery in self.subqueries:
            text = text.replace(f"(:{subquery.name})", f"({subquery.text})")
        return " ".join(text.split())

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Returns True: it may always be TRUE."""
        return True


@dataclass(frozen=True)
class NotOfNulls:
    """The part, unless it is TRUE for NULLs alone (one for each of ``columns``); then there is no condition.

    This is decided after the ``Computed`` conditions in the part have been computed.
    """

    part: ScanFilter
    columns: int

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Returns True: it may always be TRUE."""
        return True


@dataclass(frozen=True)
class AllOf:
    parts: tuple[ScanFilter, ...]

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Returns True if all parts are TRUE."""
        return all(part.holds(fields) for part in self.parts)


@dataclass(frozen=True)
class AnyOf:
    parts: tuple[ScanFilter, ...]

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Returns True if any part is TRUE."""
        return any(part.holds(fields) for part in self.parts)


ScanFilter = FieldIn | FieldLike | FieldsIn | Computed | NotOfNulls | AllOf | AnyOf


def lies_within(ranges: FieldRanges, field: bytes) -> bool:
    """Returns True if one of the ranges contains the field."""
    index = bisect_right(ranges, field, key=_start) - 1
    return index >= 0 and field < ranges[index].end


def intersection(left: FieldRanges, right: FieldRanges) -> FieldRanges:
    """Returns the intersection of both. O(n + m)."""
    common, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        overlap = left[i] & right[j]
        if overlap.start < overlap.end:
            common.append(overlap)
        i, j = (i + 1, j) if left[i].end <= right[j].end else (i, j + 1)
    return tuple(common)


def equal(index: int, column: Column, value: str | None) -> FieldIn:
    """Returns the test that the partition column has this canonical value, which may be NULL."""
    start = encoding.encode_value(column.type, value)
    return FieldIn(index, (KeyRange(start, after(start)),))


def bind_filter(tree: f.Filter, columns: Sequence[Column], comparand: Comparand = comparison_range) -> ScanFilter:
    """Returns the filter over a table's partition columns. Linear in the filter, except for the sorting of IN lists.

    Raises, with position in the filter's text: ``AnalysisError`` UNRESOLVED_COLUMN, FILTER_TOO_DEEP, INVALID_FORMAT of
    a pattern, and the errors of ``comparand`` for a literal.
    """
    f.check_depth(tree)
    return _Binder(columns, comparand).bound(tree, False)


def bind_text(text: str, columns: Sequence[Column]) -> ScanFilter:
    """Returns the filter in a text. Recent texts that are not long are cached.

    Raises ``ParseError`` and the errors of ``bind_filter``.
    """
    read = _remembered if len(text) <= LONGEST else _read
    return read(text, tuple(columns))


def _read(text: str, columns: tuple[Column, ...]) -> ScanFilter:
    return bind_filter(parse_filter(text), columns)


_remembered = lru_cache(maxsize=REMEMBERED)(_read)


@dataclass(frozen=True)
class _Binder:
    columns: Sequence[Column]
    comparand: Comparand

    def bound(self, tree: f.Filter, negated: bool) -> ScanFilter:
        match tree:
            case f.Not():
                return self.bound(tree.operand, not negated)
            case f.And():
                return (AnyOf if negated else AllOf)(self._parts(tree.operands, negated))
            case f.Or():
                return (AllOf if negated else AnyOf)(self._parts(tree.operands, negated))
            case f.Like():
                return self._like(tree, self._index(tree), negated)
            case f.IsNull() | f.Comparison() | f.Between() | f.InList():
                index = self._index(tree)
                return FieldIn(index, self._ranges(tree, self.columns[index], negated))
            case _:
                assert_never(tree)

    def _parts(self, operands: Sequence[f.Filter], negated: bool) -> tuple[ScanFilter, ...]:
        return tuple(self.bound(operand, negated) for operand in operands)

    def _ranges(
        self, tree: f.IsNull | f.Comparison | f.Between | f.InList, column: Column, negated: bool
    ) -> FieldRanges:
        """Returns the fields for which a predicate is TRUE or, ``negated``, FALSE; NULL is neither."""
        match tree:
            case f.IsNull():
                return (_VALUES,) if negated else (_NULLS,)
            case f.Comparison():
                return _compared(_OPPOSITE[tree.op] if negated else tree.op, self.comparand(column, tree.value))
            case f.Between():
                low, high = self.comparand(column, tree.low), self.comparand(column, tree.high)
                if negated:
                    return merge_ranges((*_compared("<", low), *_compared(">", high)))
                return intersection(_compared(">=", low), _compared("<=", high))
            case f.InList():
                comparands = [self.comparand(column, value) for value in tree.values]
                true_ranges = merge_ranges(key_range for key_range in comparands if key_range is not None)
                if negated:
                    return () if None in comparands else _complement(true_ranges)
                return true_ranges
            case _:
                assert_never(tree)

    def _like(self, tree: f.Like, index: int, negated: bool) -> ScanFilter:
        column = self.columns[index]
        try:
            pattern = LikePattern.of(tree.pattern.text)
            field = text_field(pattern.prefix)
        except Error as error:
            error.object = column.name
            raise error.at(tree.pattern.span) from None
        true_ranges: FieldRanges = (_VALUES,)
        if encoding.width_of(column.type) is None:
            # A field of text ends with 00, which occurs nowhere else in it.
            stem = field if pattern.is_plain else field[:-1]
            true_ranges = merge_ranges([KeyRange(stem, after(stem))])
            if pattern.is_plain or pattern.is_prefix:
                return FieldIn(index, _complement(true_ranges) if negated else true_ranges)
        test = FieldLike(index, column.type, pattern, negated)
        return AllOf((FieldIn(index, (_VALUES,) if negated else true_ranges), test))

    def _index(self, tree: f.Predicate) -> int:
        for index, column in enumerate(self.columns):
            if column.name.lower() == tree.column.lower():
                return index
        names = ", ".join(column.name for column in self.columns)
        raise AnalysisError(
            f"The partition column {tree.column} cannot be found.",
            condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
            sqlstate="42703",
            position=tree.span,
            object=tree.column,
            hint=f"The partition columns are {names}." if names else "The table is not partitioned.",
        )


def _compared(op: str, operand: KeyRange | None) -> FieldRanges:
    """Returns the values for which a comparison with a comparand is TRUE; none for ``None``, which is NULL."""
    if operand is None:
        return ()
    less, equal, greater = KeyRange(NOT_NULL, operand.start), operand, KeyRange(operand.end, TOP)
    true_ranges = {
        "=": (equal,),
        "<>": (less, greater),
        "<": (less,),
        "<=": (less, equal),
        ">": (greater,),
        ">=": (equal, greater),
    }[op]
    return merge_ranges(key_range & _VALUES for key_range in true_ranges)


def _complement(ranges: FieldRanges) -> FieldRanges:
    """Returns the values, except NULL, that are in none of the ranges of values."""
    edges = [NOT_NULL, *(edge for key_range in ranges for edge in (key_range.start, key_range.end)), TOP]
    return merge_ranges(KeyRange(edges[i], edges[i + 1]) & _VALUES for i in range(0, len(edges), 2))


def _start(key_range: KeyRange) -> bytes:
    return key_range.start


# Conditions that an engine computes on partition values, put into a filter as ranges of the existing values.
#
# For each such condition (``predicates.Computed``) an engine decides which of the existing values it keeps. In the
# order of keys the kept values are runs, and a run is a range: no other value is between two neighbors. So
# ``substr(dt, 1, 7) = '2024-01'`` is found like ``dt BETWEEN '2024-01-01' AND '2024-01-31'``, without knowledge of
# SUBSTR. This holds under one snapshot, for keys that satisfy the other conditions of the filter; other keys were not
# computed.

#: The fields of a key at the indexes of a condition.
Fields = tuple[bytes, ...]


def conditions(tree: ScanFilter, of_nulls: bool = False) -> Iterator[tuple[Computed, bool]]:
    """Yields each occurrence of a condition in a filter that has to be computed, and whether NULLs matter.

    NULLs matter if the filter needs the result for NULLs, too.
    """
    match tree:
        case Computed():
            yield tree, of_nulls
        case NotOfNulls():
            yield from conditions(tree.part, True)
        case AllOf() | AnyOf():
            for part in tree.parts:
                yield from conditions(part, of_nulls)
        case FieldIn() | FieldLike() | FieldsIn():
            pass
        case _:
            assert_never(tree)


def replace_computed(tree: ScanFilter, filters: Mapping[Computed, ScanFilter]) -> ScanFilter | None:
    """Returns the filter with ``filters`` in place of the computed conditions; ``None`` is no filter: everything.

    A condition without a filter is omitted from an AND, and makes an OR unrestricted. So without any filters the result
    holds for all partitions for which the filter can be TRUE.
    """
    match tree:
        case Computed():
            return filters.get(tree)
        case NotOfNulls():
            part = replace_computed(tree.part, filters)
            return None if part is None or part.holds((NULL,) * tree.columns) else part
        case AllOf() | AnyOf():
            parts = [replace_computed(part, filters) for part in tree.parts]
            parts_left = tuple(part for part in parts if part is not None)
            if not parts_left or (isinstance(tree, AnyOf) and len(parts_left) < len(parts)):
                return None
            return parts_left[0] if len(parts_left) == 1 else type(tree)(parts_left)
        case FieldIn() | FieldLike() | FieldsIn():
            return tree
        case _:
            assert_never(tree)


def filter_of_results(condition: Computed, results: Mapping[Fields, bool]) -> ScanFilter | None:
    """Returns the filter that holds for the fields whose result is True, and for no others; ``None`` if all are True.

    For several columns, the ranges of each are the ranges of its values in combinations that hold. O(n log n).
    """
    if all(results.values()):
        return None
    columns: list[tuple[int, FieldIn]] = []
    for number, index in enumerate(condition.indexes):
        values: dict[bytes, bool] = {}
        for fields, holds in results.items():
            values[fields[number]] = values.get(fields[number], False) or holds
        if not all(values.values()):
            columns.append((number, FieldIn(index, _runs(values))))
    parts: list[ScanFilter] = [column for _, column in columns]
    if any(
        not holds and all(lies_within(column.ranges, fields[position]) for position, column in columns)
        for fields, holds in results.items()
    ):
        parts.append(FieldsIn(condition.indexes, frozenset(fields for fields, holds in results.items() if holds)))
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _runs(results: Mapping[bytes, bool]) -> FieldRanges:
    """Returns the ranges of neighbouring values that all hold."""
    ranges = []
    for holds, run in groupby(sorted(results), key=results.__getitem__):
        if holds:
            neighbours = list(run)
            ranges.append(KeyRange(neighbours[0], after(neighbours[-1])))
    return tuple(ranges)
