"""Filters as tests of the fields of a key, ready to plan and to run.

NOT is driven down to the predicates, which know their own opposite; what is left is monotone, so "is it TRUE" is all
that needs to be asked: an AND is TRUE where all parts are, an OR where any is, and NULL comes out as not TRUE.
Comparisons are ranges of field bytes and decode nothing; LIKE decodes its own field.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rewriter.catalog import keys
from rewriter.catalog.comparands import compared, text_field
from rewriter.catalog.keys import NOT_NULL, NULL, TOP, KeyRange, merged
from rewriter.catalog.likes import LikePattern
from rewriter.catalog.models import Column
from rewriter.errors import AnalysisError, Error
from rewriter.grammar import filters as f
from rewriter.grammar.statements import Literal

#: Sorted ranges of one field that neither overlap nor touch.
FieldRanges = tuple[KeyRange, ...]
#: Reads a literal for a column: ``comparands.compared`` or ``comparands.named``.
Comparand = Callable[[Column, Literal], KeyRange | None]

#: How many texts of filters are remembered, and how many characters one has at most.
REMEMBERED, LONGEST = 64, 8_000

_NULLS, _VALUES = KeyRange(NULL, NOT_NULL), KeyRange(NOT_NULL, TOP)
_TEXTS = ("string", "varchar", "char")
#: ``p < 1`` is FALSE where ``p >= 1`` is TRUE.
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True)
class FieldIn:
    """The field at ``index`` lies in one of the ranges."""

    index: int
    ranges: FieldRanges

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Whether it is TRUE of a key's fields. O(log n)."""
        return within(self.ranges, fields[self.index])


@dataclass(frozen=True)
class FieldLike:
    """The text of the field at ``index``, which is not NULL, fits the pattern or, ``negated``, does not."""

    index: int
    type: str
    pattern: LikePattern
    negated: bool

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Whether it is TRUE of a key's fields."""
        text = keys.decode_value(self.type, fields[self.index])
        return text is not None and self.pattern.matches(text) is not self.negated


@dataclass(frozen=True)
class FieldsIn:
    """The fields at ``indexes`` are, together, one of these."""

    indexes: tuple[int, ...]
    found: frozenset[tuple[bytes, ...]]

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Whether it is TRUE of a key's fields."""
        return tuple(fields[index] for index in self.indexes) in self.found


@dataclass(frozen=True)
class Computed:
    """A condition about the columns at ``indexes`` that is Spark SQL, in which the table is called ``alias``.

    Only an engine can say of which values it is TRUE, and does before partitions are looked up (``computed``). Until
    then it may be TRUE of all.
    """

    text: str
    alias: str
    indexes: tuple[int, ...]

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Whether it may be TRUE: always."""
        return True


@dataclass(frozen=True)
class NotOfNulls:
    """The part, where it is not TRUE of nothing but NULLs (one for each of ``columns``), else no condition at all.

    Which it is shows when what is ``Computed`` in the part has been computed.
    """

    part: ScanFilter
    columns: int

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Whether it may be TRUE: always."""
        return True


@dataclass(frozen=True)
class AllOf:
    parts: tuple[ScanFilter, ...]

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Whether all parts are TRUE."""
        return all(part.holds(fields) for part in self.parts)


@dataclass(frozen=True)
class AnyOf:
    parts: tuple[ScanFilter, ...]

    def holds(self, fields: Sequence[bytes]) -> bool:
        """Whether some part is TRUE."""
        return any(part.holds(fields) for part in self.parts)


ScanFilter = FieldIn | FieldLike | FieldsIn | Computed | NotOfNulls | AllOf | AnyOf


def within(ranges: FieldRanges, field: bytes) -> bool:
    """Whether one of the ranges holds the field."""
    at = bisect_right(ranges, field, key=_start) - 1
    return at >= 0 and field < ranges[at].end


def intersection(left: FieldRanges, right: FieldRanges) -> FieldRanges:
    """What lies in both. O(n + m)."""
    found, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        both = left[i] & right[j]
        if both.start < both.end:
            found.append(both)
        i, j = (i + 1, j) if left[i].end <= right[j].end else (i, j + 1)
    return tuple(found)


def equal(index: int, column: Column, value: str | None) -> FieldIn:
    """The partition column has this canonical value, NULL included."""
    start = keys.encode_value(column.type, value)
    return FieldIn(index, (KeyRange(start, keys.after(start)),))


def bind_filter(tree: f.Filter, columns: Sequence[Column], comparand: Comparand = compared) -> ScanFilter:
    """The filter over a table's partition columns. Linear in the filter, but for sorting what IN lists.

    Raises, with position in the filter's text: ``AnalysisError`` UNRESOLVED_COLUMN, FILTER_TOO_DEEP, INVALID_FORMAT of
    a pattern, and what ``comparand`` raises for a literal.
    """
    f.check_depth(tree)
    return _Binder(columns, comparand).bound(tree, False)


def bind_text(text: str, columns: Sequence[Column]) -> ScanFilter:
    """The filter that a text is. Of what was asked lately, and is not long, it is known what it means.

    Raises ``ParseError`` and what ``bind_filter`` raises.
    """
    read = _remembered if len(text) <= LONGEST else _read
    return read(text, tuple(columns))


def _read(text: str, columns: tuple[Column, ...]) -> ScanFilter:
    return bind_filter(f.parse_filter(text), columns)


_remembered = lru_cache(maxsize=REMEMBERED)(_read)


@dataclass(frozen=True)
class _Binder:
    columns: Sequence[Column]
    comparand: Comparand

    def bound(self, tree: f.Filter, negated: bool) -> ScanFilter:
        if isinstance(tree, f.Not):
            return self.bound(tree.operand, not negated)
        if isinstance(tree, (f.And, f.Or)):
            parts = tuple(self.bound(one, negated) for one in tree.operands)
            return AllOf(parts) if isinstance(tree, f.And) is not negated else AnyOf(parts)
        index = self._index(tree)
        if isinstance(tree, f.Like):
            return self._like(tree, index, negated)
        return FieldIn(index, self._ranges(tree, self.columns[index], negated))

    def _ranges(self, tree: f.Predicate, column: Column, negated: bool) -> FieldRanges:
        """The fields of which a predicate is TRUE or, ``negated``, FALSE; NULL is neither."""
        if isinstance(tree, f.IsNull):
            return (_VALUES,) if negated else (_NULLS,)
        if isinstance(tree, f.Comparison):
            return _compared(_OPPOSITE[tree.op] if negated else tree.op, self.comparand(column, tree.value))
        if isinstance(tree, f.Between):
            low, high = self.comparand(column, tree.low), self.comparand(column, tree.high)
            if negated:
                return merged((*_compared("<", low), *_compared(">", high)))
            return intersection(_compared(">=", low), _compared("<=", high))
        assert isinstance(tree, f.InList)
        places = [self.comparand(column, value) for value in tree.values]
        true = merged(place for place in places if place is not None)
        if negated:
            return () if None in places else _complement(true)
        return true

    def _like(self, tree: f.Like, index: int, negated: bool) -> ScanFilter:
        column = self.columns[index]
        try:
            pattern = LikePattern.of(tree.pattern.text)
            field = text_field(pattern.prefix)
        except Error as error:
            error.object = column.name
            raise error.at(tree.pattern.span) from None
        true: FieldRanges = (_VALUES,)
        if keys.width_of(column.type) is None:
            # A field of text ends with 00, which stands nowhere else in it.
            stem = field if pattern.is_plain else field[:-1]
            true = merged([KeyRange(stem, keys.after(stem))])
            if pattern.is_plain or pattern.is_prefix:
                return FieldIn(index, _complement(true) if negated else true)
        test = FieldLike(index, column.type, pattern, negated)
        return AllOf((FieldIn(index, (_VALUES,) if negated else true), test))

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


def _compared(op: str, place: KeyRange | None) -> FieldRanges:
    """The values for which a comparison with a place is TRUE; ``None`` is NULL's: none."""
    if place is None:
        return ()
    less, equal, more = KeyRange(NOT_NULL, place.start), place, KeyRange(place.end, TOP)
    true = {
        "=": (equal,),
        "<>": (less, more),
        "<": (less,),
        "<=": (less, equal),
        ">": (more,),
        ">=": (equal, more),
    }[op]
    return merged(one & _VALUES for one in true)


def _complement(ranges: FieldRanges) -> FieldRanges:
    """The values, NULL not among them, that lie in none of the ranges of values."""
    edges = [NOT_NULL, *(edge for one in ranges for edge in (one.start, one.end)), TOP]
    return merged(KeyRange(edges[i], edges[i + 1]) & _VALUES for i in range(0, len(edges), 2))


def _start(one: KeyRange) -> bytes:
    return one.start
