"""What planning a query answers: rewritten SQL, the scan it needs, and what it covers and lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cached_property

from rewriter.catalog.keys import KeyRange, merged
from rewriter.catalog.models import PartitionValues, Table
from rewriter.catalog.scan_filters import AnyOf, ScanFilter
from rewriter.errors import DataError, Span
from rewriter.timeline.calendars import UTC, Calendar, Period
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet
from rewriter.timeline.timelines import OrdinalRange


@dataclass(frozen=True)
class Settings:
    """What a session tells the planner. ``now`` is in microseconds UTC, read once per statement.

    ``explain`` asks for causes, too, why coarser periods serve only a part of what could be read from them;
    ``cost_in_bytes`` for the cover of the fewest bytes instead of the fewest partitions.
    """

    now: int
    partial_data: bool = False
    periods: frozenset[UpdatePeriod] | None = None
    explain: bool = False
    cost_in_bytes: bool = False


@dataclass(frozen=True)
class Selection:
    """The partitions of one period in a table: ordinal ranges under a layout, or those whose time is NULL.

    ``others`` select among them by further time dimensions.
    """

    layout: TimeLayout
    ranges: tuple[OrdinalRange, ...]
    null_time: bool = False
    others: tuple[Selection, ...] = ()


@dataclass(frozen=True)
class TableUse:
    """A table that the query reads, and which of its partitions: those of covers in key ranges, or ``None`` for all of
    the table; and those that satisfy ``wanted``, what references to the table itself can need.

    Where periods share a table, other periods' keys lie inside the ranges, too: ``selections`` name the chosen ones.
    """

    table: Table
    ranges: tuple[KeyRange, ...] | None
    selections: tuple[Selection, ...] = ()
    wanted: ScanFilter | None = None

    def keeps(self, values: PartitionValues) -> bool:
        """Whether a partition found in the ranges is one that the plan reads."""
        return not self.selections or any(_selected(s, self.table, values) for s in self.selections)

    def or_(self, other: TableUse) -> TableUse:
        """What either reads; whatever one of them reads whole is read whole."""
        if self.ranges is None or other.ranges is None:
            return TableUse(self.table, None)
        covers = [use for use in (self, other) if use.ranges]
        # Whoever reads a range without a selection reads all of it.
        selected = all(use.selections for use in covers)
        wanted = tuple(use.wanted for use in (self, other) if use.wanted is not None)
        return TableUse(
            self.table,
            merged(one for use in covers for one in use.ranges or ()),
            tuple(one for use in covers for one in use.selections) if selected else (),
            AnyOf(wanted) if len(wanted) > 1 else wanted[0] if wanted else None,
        )


@dataclass(frozen=True)
class Reading:
    """What one reference to a cube or a table reads.

    ``branch`` is the number of the branch of the query's outermost UNION ALL that it stands in; ``None`` where there is
    no such union, or the reference stands outside of its branches. ``unread`` are the tables of the facts of a cube of
    which nothing is needed, because no time satisfies the query. ``alias`` is what the query calls a table; ``notes``
    say what became of conditions about its partition columns that are not looked up as they are.
    """

    uses: tuple[TableUse, ...]
    branch: int | None = None
    unread: tuple[Table, ...] = ()
    alias: str = ""
    notes: tuple[str, ...] = ()


def _selected(selection: Selection, table: Table, values: PartitionValues) -> bool:
    named = dict(zip((column.name.lower() for column in table.partition_columns), values, strict=True))
    times = [named[column.lower()] for column in selection.layout.columns]
    if not all(_selected(other, table, values) for other in selection.others):
        return False
    if selection.null_time or None in times:
        return selection.null_time and times[0] is None
    try:
        ordinal = selection.layout.ordinal(times)
    except DataError:
        return False
    return any(r.start <= ordinal < r.end for r in selection.ranges)


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
        """The text with every table named by ``name`` (already quoted where it needs to be)."""
        out: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                out.append(part)
            elif part.alias is not None:
                out.append(f"{name(part.table)} AS {part.alias}")
            else:
                out.append(name(part.table))
        return "".join(out)


@dataclass(frozen=True)
class CoverPart:
    """What one (storage table, period) contributes to a cover: ordinal ranges of that period."""

    fact: str
    storage: str
    table: str
    period: Period
    ranges: tuple[OrdinalRange, ...]

    @property
    def partitions(self) -> int:
        return sum(r.end - r.start for r in self.ranges)


class PruneCause(IntEnum):
    """Why a candidate does not serve, from the farthest miss to the nearest."""

    COLUMN_MISSING = 1
    NOT_ADDITIVE = 2
    PERIOD_TOO_COARSE = 3
    OUTSIDE_VALIDITY = 4
    EXCLUDED_BY_SETTING = 5
    OTHER_FACT = 6
    REACHES_BEYOND = 7
    PARTITIONS_MISSING = 8
    PARTITIONS_OUTDATED = 9


@dataclass(frozen=True)
class Cause:
    """Why a candidate (``fact.table PERIOD``) fell out or lacks a part of the range."""

    kind: PruneCause
    candidate: str
    detail: str

    def __str__(self) -> str:
        return f"{self.candidate}: {self.detail} [{self.kind.name}]"


class ReasonKind(Enum):
    """Why a reference reads the base period of one fact."""

    ROWS = "the query answers rows, not aggregates"
    MEASURE_OUTSIDE_AGGREGATE = "a measure stands outside an aggregate"
    AGGREGATE = "an aggregate is not additive"
    WINDOW = "a window function sees single rows"
    NOT_DETERMINISTIC = "a function is not known to be deterministic"
    RAW_TIME = "time is used as it is"
    CORRELATED = "a subquery depends on single rows"


@dataclass(frozen=True)
class Reason:
    """Why a reference reads the base period of one fact: the rule, and the words of the query that broke it."""

    kind: ReasonKind
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ReferencePlan:
    """How one reference to a cube in the query is answered.

    ``wanted`` is the time range asked for (snapped to the base period), ``parts`` the cover coarse to fine,
    ``missing`` what no partition covers, ``outdated`` the share of it that exists only outdated. ``reasons`` say why
    only the base period of one fact is allowed, ``units`` in which calendar units time is used, and by which words.
    ``cost`` is what the cover costs, in words; '' where partitions were counted.
    All this is the leading time; ``others`` are the ranges asked for on other time dimensions, snapped alike.
    """

    cube: str
    alias: str
    wanted: RangeSet
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
    cost: str = ""
    others: tuple[tuple[str, RangeSet], ...] = ()
    calendar: Calendar = UTC


@dataclass(frozen=True)
class Coverage:
    """The covers of all references of a query. ``complete`` says that nothing is missing."""

    references: tuple[ReferencePlan, ...] = ()

    @property
    def complete(self) -> bool:
        return not any(reference.missing for reference in self.references)

    @property
    def missing(self) -> tuple[str, ...]:
        """The exact missing ranges, compact, in order."""
        return tuple(one.calendar.shown(r) for one in self.references for r in one.missing)


@dataclass(frozen=True)
class Plan:
    """A planned query. ``sql`` with the tables' own names runs on any Spark where the storage tables are tables.

    ``edits`` are those of the text that belong to no reference.
    """

    template: SqlTemplate
    readings: tuple[Reading, ...]
    coverage: Coverage
    warnings: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def uses(self) -> tuple[TableUse, ...]:
        """What all references read together: one use for each table."""
        by_table: dict[int, TableUse] = {}
        for use in (use for reading in self.readings for use in reading.uses):
            known = by_table.get(use.table.id)
            by_table[use.table.id] = use if known is None else known.or_(use)
        return tuple(by_table.values())

    @property
    def sql(self) -> str:
        """The rewritten SQL over the storage tables' own names; those without a database are of ``default``."""
        return self.template.render(lambda table: table.name if table.id < 0 else quoted(table.name))


def quoted(name: str) -> str:
    """A catalog's name as Spark SQL reads it back."""
    return ".".join(map(quote_identifier, name.split(".")))


def quote_identifier(name: str) -> str:
    """``name`` as Spark SQL reads it back: bare where it is plain, otherwise in backquotes."""
    plain = name.isascii() and name.isidentifier() and name.upper() not in _RESERVED
    return name if plain else "`" + name.replace("`", "``") + "`"


_RESERVED = frozenset(
    """
    ALL AND ANTI ANY AS AUTHORIZATION BOTH CASE CAST CHECK COLLATE COLUMN CONSTRAINT CREATE CROSS CURRENT_DATE
    CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DISTINCT ELSE END ESCAPE EXCEPT FALSE FETCH FILTER FOR FOREIGN FROM
    FULL GRANT GROUP HAVING IN INNER INTERSECT INTO IS JOIN LATERAL LEADING LEFT MINUS NATURAL NOT NULL OFFSET ON ONLY
    OR ORDER OUTER OVERLAPS PRIMARY REFERENCES RIGHT SELECT SEMI SESSION_USER SOME TABLE THEN TO TRAILING UNION UNIQUE
    UNKNOWN USER USING WHEN WHERE WITH WITHIN
    """.split()
)
