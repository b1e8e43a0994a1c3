"""The result of planning a query: rewritten SQL, the scan it needs, the covered ranges and the missing ones."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum, IntEnum
from functools import cached_property, reduce
from operator import and_, itemgetter, or_
from typing import TYPE_CHECKING, Literal, SupportsInt, TypeAlias

from rewriter.catalog.filters.predicates import AnyOf, ScanFilter
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.temporary_views import session_of, with_typed_names
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline import runs
from rewriter.timeline.calendars import UTC, Calendar, Period
from rewriter.timeline.ranges import RangeSet

if TYPE_CHECKING:
    from sqlglot import exp

    from rewriter.catalog.model.objects import Column, PartitionValues, Table
    from rewriter.errors import Span
    from rewriter.timeline.layouts import TimeLayout
    from rewriter.timeline.periods import UpdatePeriod
    from rewriter.timeline.timeline import OrdinalRange


class Clock:
    """The present moment of one statement, in microseconds UTC. Tells whether anything was computed from it.

    >>> clock = Clock(0)
    >>> int(clock), clock.was_read
    (0, True)
    """

    def __init__(self, now: int) -> None:
        self._now = now
        self.was_read = False

    def __int__(self) -> int:
        self.was_read = True
        return self._now


@dataclass(frozen=True)
class Settings:
    """The planner's settings in a session. ``now`` is in microseconds UTC, the same for the whole statement.

    ``explain`` asks for causes, too, why coarser periods serve only a part of what could be read from them;
    ``cost_in_bytes`` for the cover of the fewest bytes instead of the fewest partitions, where each table that is read
    counts as ``scan_bytes`` more; ``derive`` for what the output
    columns are computed from, which an INSERT into a rollup table needs; ``strict_bounds`` makes a bound inside a base
    period an error. ``now_is_fixed``: the user has chosen ``now``, so that no engine may use its own clock. ``clocks``
    asks for the clocks that the output columns were read off, which an INSERT into a fact's table needs, and
    ``certify`` for the edits of the text, which a certificate lists.
    """

    now: SupportsInt
    partial_data: bool = False
    periods: frozenset[UpdatePeriod] | None = None
    explain: bool = False
    cost_in_bytes: bool = False
    scan_bytes: int = 0
    derive: bool = False
    strict_bounds: bool = False
    now_is_fixed: bool = False
    clocks: bool = False
    certify: bool = False


@dataclass(frozen=True)
class Selection:
    """The partitions of one period in a table: ordinal ranges under a layout, or those whose time is NULL.

    ``secondary_selections`` select among them by further time dimensions.
    """

    layout: TimeLayout
    ranges: tuple[OrdinalRange, ...]
    null_time: bool = False
    secondary_selections: tuple[Selection, ...] = ()


@dataclass(frozen=True)
class TableUse:
    """A table that the query reads, and the partitions to read.

    These are the partitions of covers in key ranges (``None`` for the whole table), and the partitions that satisfy
    ``requested``, the filter of references to the table itself. Where periods share a table, other periods' keys lie
    inside the ranges, too: ``selections`` name the chosen ones.
    """

    table: Table
    ranges: tuple[KeyRange, ...] | None
    selections: tuple[Selection, ...] = ()
    wanted: ScanFilter | None = None

    def kept(self, values: Sequence[PartitionValues]) -> Sequence[bool]:
        """Tests for each of the partitions found in the ranges whether the plan reads it. No call for each of them."""
        if not self._tests:
            return [True] * len(values)
        return reduce(lambda left, right: list(map(or_, left, right)), (test(values) for test in self._tests))

    @cached_property
    def _tests(self) -> tuple[_Test, ...]:
        indexes = {column.name.lower(): index for index, column in enumerate(self.table.partition_columns)}
        return tuple(_test_of(selection, indexes) for selection in self.selections)

    def or_(self, other: TableUse) -> TableUse:
        """Returns the union of both uses; a table that one of them reads whole is read whole."""
        if self.ranges is None or other.ranges is None:
            return TableUse(self.table, None)
        covers = [use for use in (self, other) if use.ranges]
        # A use without a selection reads all of its ranges.
        selected = all(use.selections for use in covers)
        filters = tuple(use.wanted for use in (self, other) if use.wanted is not None)
        return TableUse(
            self.table,
            merge_ranges(key_range for use in covers for key_range in use.ranges or ()),
            tuple(selection for use in covers for selection in use.selections) if selected else (),
            AnyOf(filters) if len(filters) > 1 else filters[0] if filters else None,
        )


@dataclass(frozen=True)
class Reading:
    """The tables and partitions that one reference to a cube or a table reads.

    ``branch`` is the number of the branch of the query's outermost UNION ALL that contains it; ``None`` where there is
    no such union, or the reference stands outside of its branches. ``unread`` are the tables of the facts of a cube of
    which nothing is needed, because no time satisfies the query. ``alias`` is what the query calls a table; ``notes``
    say what became of conditions about its partition columns that are not looked up as they are. ``start`` is the
    position of the reference in the statement. ``cube`` is the name of the cube; '' for a table.
    """

    uses: tuple[TableUse, ...]
    branch: int | None = None
    unread: tuple[Table, ...] = ()
    alias: str = ""
    notes: tuple[str, ...] = ()
    start: int = 0
    cube: str = ""


#: Tests for each of several partitions whether something holds it.
_Test: TypeAlias = "Callable[[Sequence[PartitionValues]], list[bool]]"


def _test_of(selection: Selection, indexes: Mapping[str, int]) -> _Test:
    """Returns a test whether a selection holds partitions. ``indexes`` has the places of columns among their values."""
    time_indexes = [indexes[column.lower()] for column in selection.layout.columns]
    secondary_tests = [_test_of(other, indexes) for other in selection.secondary_selections]
    starts, ends = runs.of_ranges(selection.ranges)
    has_times_only = time_indexes == list(range(len(indexes)))

    def are_selected(values: Sequence[PartitionValues]) -> list[bool]:
        times = values
        if not has_times_only:
            times = list(zip(*(map(itemgetter(index), values) for index in time_indexes), strict=True))
        if selection.null_time:
            selected = [time[0] is None for time in times]
        else:
            selected = [
                ordinal is not None and (at := bisect_right(starts, ordinal)) > 0 and ordinal < ends[at - 1]
                for ordinal in selection.layout.ordinals(times)
            ]
        for are_selected_by_other in secondary_tests:
            selected = list(map(and_, selected, are_selected_by_other(values)))
        return selected

    return are_selected


@dataclass(frozen=True)
class TableToken:
    """The place of a table's name in a ``SqlTemplate``. ``alias`` is added where the user gave none."""

    table: Table
    alias: str | None = None


@dataclass(frozen=True)
class SqlTemplate:
    """SQL text in which the names of tables are still open."""

    parts: tuple[str | TableToken, ...]

    def render(self, name: Callable[[Table], str]) -> str:
        """Returns the text with every table named by ``name`` (already quoted where it needs to be)."""
        parts: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                parts.append(part)
            elif part.alias is not None:
                parts.append(f"{name(part.table)} AS {part.alias}")
            else:
                parts.append(name(part.table))
        return "".join(parts)


@dataclass(frozen=True)
class CoverPart:
    """The contribution of one (``storage`` ``table``, ``period``) of a ``fact`` to a cover: ordinal ``ranges`` of that
    period.
    """

    fact: str
    storage: str
    table: str
    period: Period
    ranges: tuple[OrdinalRange, ...]

    @property
    def partitions(self) -> int:
        """Returns the number of periods."""
        return sum(r.end - r.start for r in self.ranges)


class PruneCause(IntEnum):
    """The cause why a candidate does not serve, from the farthest miss to the nearest."""

    COLUMN_MISSING = 1
    NOT_ADDITIVE = 2
    PERIOD_TOO_COARSE = 3
    OUTSIDE_VALIDITY = 4
    EXCLUDED_BY_SETTING = 5
    OTHER_FACT = 6
    REACHES_BEYOND = 7
    PARTITIONS_MISSING = 8
    PARTITIONS_OUTDATED = 9
    PARTITIONS_INCOMPLETE = 10
    PARTITIONS_UNPROVEN = 11
    PARTITIONS_OPEN = 12
    PARTITIONS_NARROW = 13


@dataclass(frozen=True)
class Cause:
    """The cause why a candidate was rejected or lacks a part of the range: its ``kind``, the ``candidate`` as
    ``fact.table PERIOD``, and the ``detail`` in words.
    """

    kind: PruneCause
    candidate: str
    detail: str

    def __str__(self) -> str:
        return f"{self.candidate}: {self.detail} [{self.kind.name}]"


class ReasonKind(Enum):
    """The kinds of reasons why a reference reads the base period of one fact."""

    ROWS = "the query returns rows, not aggregates"
    MEASURE_OUTSIDE_AGGREGATE = "a measure is used outside an aggregate"
    AGGREGATE = "an aggregate is not additive"
    WINDOW = "a window function reads single rows"
    NOT_DETERMINISTIC = "a function is not known to be deterministic"
    RAW_TIME = "time is used directly"
    CORRELATED = "a subquery depends on single rows"
    MERGED_VALUES = "equal values of a dimension can be distinguished"


@dataclass(frozen=True)
class Reason:
    """The reason why a reference reads the base period of one fact: the ``kind`` of rule, and in ``text`` the words of
    the query that broke it.
    """

    kind: ReasonKind
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class OpenEnd:
    """The instant ``at`` which an open begin or end of a range was closed, in microseconds UTC, and the ``reason``."""

    at: int
    reason: str


@dataclass(frozen=True)
class ReferencePlan:
    """The plan of one reference to a ``cube``, at ``position`` in the statement, and at ``offset`` in the planned text,
    which has views in their places. ``alias`` is what the query calls it.

    ``requested`` is the time range asked for (snapped to the base period), ``parts`` the cover coarse to fine,
    ``missing`` what no partition covers, ``outdated`` the share of it that exists only outdated. ``reasons`` say why
    only the base period of one fact is allowed, ``units`` in which calendar units time is used, and by which words.
    ``cost`` is what the cover costs, in words; '' where partitions were counted.
    All this is the leading time; ``secondary_ranges`` are the ranges asked for on other time dimensions, snapped alike.
    ``open_begin`` and ``open_end`` say where open ends of the range were closed; ``None`` where none was open, or
    nothing is there. ``badness`` are the sums that a best cover minimizes. ``inexact`` are the bounds, as text,
    that lie inside a base period, which is read whole or not at all. ``remedies`` say what makes rollups serve that
    exist where something is missing. ``periods`` are the periods that the fact has, ``causes`` say why candidates were
    not chosen, ``warnings`` and ``edits`` are texts for a person; ``calendar`` is the cube's calendar.
    ``row_aggregates`` are the warnings for aggregates over base rows that hold several events each. ``columns`` are the
    columns of the cube that the query needs, and ``asked`` the instants that its conditions let through, with open
    ends.
    """

    cube: str
    alias: str
    requested: RangeSet
    parts: tuple[CoverPart, ...]
    missing: RangeSet
    outdated: RangeSet
    periods: tuple[Period, ...]
    causes: tuple[Cause, ...]
    reasons: tuple[Reason, ...]
    units: tuple[tuple[UpdatePeriod, str], ...]
    warnings: tuple[str, ...]
    edits: tuple[str, ...]
    position: Span
    offset: int
    cost: str = ""
    secondary_ranges: tuple[tuple[str, RangeSet], ...] = ()
    calendar: Calendar = UTC
    open_begin: OpenEnd | None = None
    open_end: OpenEnd | None = None
    inexact: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    badness: tuple[int, ...] = ()
    row_aggregates: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    asked: RangeSet = RangeSet.EMPTY


@dataclass(frozen=True)
class Coverage:
    """The covers of all ``references`` of a query to cubes."""

    references: tuple[ReferencePlan, ...] = ()

    @property
    def exact(self) -> bool:
        """True if no bound of a range lies inside a base period."""
        return not any(reference.inexact for reference in self.references)

    @property
    def open_begins(self) -> tuple[str, ...]:
        """The instants where open begins were closed, one text for each reference that has one, in order."""
        return tuple(r.calendar.text(r.open_begin.at) for r in self.references if r.open_begin is not None)

    @property
    def open_ends(self) -> tuple[str, ...]:
        """The instants where open ends were closed, one text for each reference that has one, in order."""
        return tuple(r.calendar.text(r.open_end.at) for r in self.references if r.open_end is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """The ends of the result, in words, for each reference whose range has an open begin or end."""
        return tuple(dict.fromkeys(filter(None, map(_reach, self.references))))

    @property
    def complete(self) -> bool:
        """True if nothing is missing."""
        return not any(reference.missing for reference in self.references)

    @property
    def summary(self) -> str:
        """The cubes and the periods that are read of each fact, coarse to fine; empty for a query of no cube.

        >>> Coverage().summary
        ''
        """
        return "; ".join(dict.fromkeys(map(_cover_words, self.references)))

    @property
    def missing(self) -> tuple[str, ...]:
        """The exact missing ranges, compact, in order."""
        return tuple(reference.calendar.shown(r) for reference in self.references for r in reference.missing)


def _cover_words(reference: ReferencePlan) -> str:
    """Returns a cube and its cover: ``visits: 1 month, 2 days of f``."""
    periods: dict[str, Counter[str]] = {}
    for part in reference.parts:
        periods.setdefault(part.fact, Counter())[_PERIOD_NOUNS[part.period.name]] += part.partitions
    covers = [
        ", ".join(f"{count:,} {noun}{'s' if count != 1 else ''}" for noun, count in counts.items()) + f" of {fact}"
        for fact, counts in periods.items()
    ]
    return f"{reference.cube}: {' and '.join(covers) or 'nothing'}"


#: The noun of each period, by its name.
_PERIOD_NOUNS = {
    "MINUTELY": "minute", "HOURLY": "hour", "DAILY": "day", "WEEKLY": "week", "MONTHLY": "month",
    "QUARTERLY": "quarter", "YEARLY": "year",
}  # fmt: skip


def _reach(reference: ReferencePlan) -> str:
    open_ends = (("begins at", reference.open_begin), ("ends at", reference.open_end))
    words = [
        f"{verb} {reference.calendar.text(open_end.at)}, {open_end.reason}"
        for verb, open_end in open_ends
        if open_end is not None
    ]
    return f"the range of {reference.cube} {'; it '.join(words)}" if words else ""


@dataclass(frozen=True)
class DerivedRows:
    """The rows of a query that come from one of its readings, selected by nothing but its partitions.

    ``outputs`` are the values of the output columns, in order, over the columns of the table or cube: ``exp.Expr``.
    ``computed`` says that a condition is left to be computed on the values of partitions, ``aggregated`` that rows are
    aggregated on the way; ``grouped`` are the columns, in lower case, that they are then grouped by. ``chosen`` are the
    conditions on dimensions of a cube that choose among the partitions that are read.
    """

    reading: int
    outputs: tuple[exp.Expr, ...]
    cube: str | None = None
    computed: bool = False
    aggregated: bool = False
    grouped: frozenset[str] = frozenset()
    chosen: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class Derivation:
    """The rows that the query's rows are derived from; or ``doubt``, the part of the query that prevents a
    derivation.
    """

    rows: tuple[DerivedRows, ...] = ()
    doubt: str | None = None


@dataclass(frozen=True)
class ClockReading:
    """A function of a cube's time that reads the clocks of a zone.

    ``words`` is the function and ``time`` the time, both as typed, at ``position``. ``cube_zone`` is the zone of the
    cube, ``zone`` the zone of the clocks: another one where the query converts the time. ``unit`` is the unit on which
    the function depends. ``is_instant`` says that the value is an instant: its clocks are UTC's, and are only read if
    it is assigned to a column of another type.
    """

    words: str
    time: str
    position: Span
    cube_zone: str
    zone: str
    unit: UpdatePeriod
    is_instant: bool = False


def moved_from(zone: str) -> str:
    """Returns the name of clocks that are none: the clocks of UTC, moved as if their times were a zone's times. A cube
    without a zone whose times are a zone's, by its owner's word, has them.
    """
    return f"UTC moved from {zone}"


@dataclass(frozen=True)
class TableAggregate:
    """An item of a SELECT: the number of rows of a table, or with ``column``, the number of its values that are not
    NULL, its least or its greatest value. ``name`` is the name of the output column.
    """

    function: Literal["COUNT", "MIN", "MAX"]
    name: str
    column: Column | None = None


@dataclass(frozen=True)
class Replacement:
    """A stretch of the text as planned, by offsets, and what stands in its place. An empty stretch is an insertion."""

    span: Span
    template: SqlTemplate


@dataclass(frozen=True)
class TextEdits:
    """The differences of the executed text from ``text``: ``replacements``, in order, which do not overlap.

    ``text`` is the user's text ``typed``, or has the queries of views and repeated queries in the places of their
    names.
    """

    text: str
    typed: str
    replacements: tuple[Replacement, ...]


@dataclass(frozen=True)
class Plan:
    """A planned query. ``sql`` with the tables' own names runs on any Spark where the storage tables are tables.

    ``coverage`` has the covers of the references to cubes, ``warnings`` are texts for a person, ``parameters`` the
    values of named parameters. ``edits`` are the edits of the text that belong to no reference. ``template`` and
    ``readings`` say what an engine reads. ``derivation`` is there where ``Settings.derive`` asks.
    With ``row_limit``, any so many rows of the only table are enough. ``aggregates`` are all items of a query of one
    table that selects all rows of partitions, or empty. ``clock_readings`` are the clock readings that the value of
    each output column is computed from, as far as they are known; empty where ``Settings.clocks`` does not ask.
    ``text_edits`` are there where ``Settings.certify`` asks. ``engine_template``, of a query over cubes, is
    ``template`` without what the covers imply: over the rows of ``readings`` alone, it returns the same rows.
    """

    template: SqlTemplate
    readings: tuple[Reading, ...]
    coverage: Coverage
    warnings: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    derivation: Derivation | None = None
    row_limit: int | None = None
    aggregates: tuple[TableAggregate, ...] = ()
    clock_readings: tuple[tuple[ClockReading, ...], ...] = ()
    text_edits: TextEdits | None = None
    engine_template: SqlTemplate | None = None

    @cached_property
    def uses(self) -> tuple[TableUse, ...]:
        """The combined reads of all references: one use for each table."""
        by_table: dict[int, TableUse] = {}
        for use in (use for reading in self.readings for use in reading.uses):
            earlier = by_table.get(use.table.id)
            by_table[use.table.id] = use if earlier is None else earlier.or_(use)
        return tuple(by_table.values())

    @property
    def sql(self) -> str:
        """The rewritten SQL over the storage tables' own names; those without a database are of ``default``."""
        return own_text(self.template)


def own_text(template: SqlTemplate) -> str:
    """Returns the text of a template over the storage tables' own names."""
    return template.render(_own_name)


def _own_name(table: Table) -> str:
    if table.kind.is_in_catalog:
        return quoted(table.name)
    # A file, or a source of the session.
    return table.name if session_of(table.name) is None else quoted(with_typed_names(table.name))


def quoted(name: str) -> str:
    """Quotes a catalog's name for Spark SQL."""
    return ".".join(map(quote_identifier, name.split(".")))


def quote_identifier(name: str) -> str:
    """Quotes ``name`` for Spark SQL: bare where it is plain, otherwise in backquotes."""
    is_plain = name.isascii() and name.isidentifier() and name.upper() not in _RESERVED
    return name if is_plain else "`" + name.replace("`", "``") + "`"


_RESERVED = frozenset(
    """
    ALL AND ANTI ANY AS AUTHORIZATION BOTH CASE CAST CHECK COLLATE COLUMN CONSTRAINT CREATE CROSS CURRENT_DATE
    CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DISTINCT ELSE END ESCAPE EXCEPT FALSE FETCH FILTER FOR FOREIGN FROM
    FULL GRANT GROUP HAVING IN INNER INTERSECT INTO IS JOIN LATERAL LEADING LEFT MINUS NATURAL NOT NULL OFFSET ON ONLY
    OR ORDER OUTER OVERLAPS PRIMARY REFERENCES RIGHT SELECT SEMI SESSION_USER SOME TABLE THEN TO TRAILING UNION UNIQUE
    UNKNOWN USER USING WHEN WHERE WITH WITHIN
    """.split()
)
