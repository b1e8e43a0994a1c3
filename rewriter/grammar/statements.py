"""Statements as values. Each renders back to text that parses to itself.

Every statement keeps ``span``, its stretch of the parsed text. Names carry the span of their first mention so
that an error about them can point at it. Spans do not take part in comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rewriter.errors import Span

if TYPE_CHECKING:
    from rewriter.grammar.filters import Filter


@dataclass(frozen=True)
class Name:
    """A possibly qualified name: ``parts`` without quotes, as typed."""

    parts: tuple[str, ...]
    span: Span = field(default=Span(0, 0), compare=False)

    @property
    def last(self) -> str:
        return self.parts[-1]


@dataclass(frozen=True)
class Literal:
    """A literal of the dialect.

    ``kind`` is ``null``, ``string``, ``number``, ``boolean``, ``date`` or ``timestamp``; ``text`` is the value
    without quotes or escapes (``''`` for null; numbers as typed, sign and suffix included: ``-2L``, ``1.5BD``).
    """

    kind: str
    text: str
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class PartitionItem:
    """``column`` alone (dynamic), or ``column = literal`` (static)."""

    column: str
    value: Literal | None
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class ColumnDef:
    """A column of CREATE TABLE, or of CREATE VIEW, where it has no type.

    ``type`` is Spark's spelling in lower case, without blanks (a struct's fields keep their case); ``None`` refers to
    a declared column.
    """

    name: str
    type: str | None
    comment: str | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class Query:
    """A query in the user's own words: ``text[span]``. The planner reads it with sqlglot."""

    text: str
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, kw_only=True)
class Statement:
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, kw_only=True)
class Select(Statement):
    """SELECT, WITH, VALUES, FROM … SELECT: anything that answers rows."""

    query: Query


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """``what`` is ``REWRITE``, ``COVER``, ``SCAN``, ``ENGINE`` or ``ALL`` (the default)."""

    what: str
    query: Query


@dataclass(frozen=True, kw_only=True)
class CreateTable(Statement):
    table: Name
    columns: tuple[ColumnDef, ...]
    partitioned_by: tuple[ColumnDef, ...] = ()
    external: bool = False
    if_not_exists: bool = False
    format: str | None = None
    location: str | None = None
    comment: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    property_spans: tuple[Span, ...] = field(default=(), compare=False)


@dataclass(frozen=True, kw_only=True)
class DropTable(Statement):
    table: Name
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True, kw_only=True)
class SetProperties(Statement):
    """``ALTER TABLE t SET TBLPROPERTIES ('key' = 'value', …)``."""

    table: Name
    properties: tuple[tuple[str, str], ...]
    property_spans: tuple[Span, ...] = field(default=(), compare=False)


@dataclass(frozen=True, kw_only=True)
class UnsetProperties(Statement):
    """``ALTER TABLE t UNSET TBLPROPERTIES [IF EXISTS] ('key', …)``."""

    table: Name
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class SetTimeline(Statement):
    """``ALTER TABLE t SET TIMELINE period FOR column TO 'class'``.

    ``period`` is the name of an update period, upper case; ``column`` a partition column or a time dimension.
    """

    table: Name
    period: str
    column: str
    implementation: str
    period_span: Span = field(default=Span(0, 0), compare=False)
    column_span: Span = field(default=Span(0, 0), compare=False)
    implementation_span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, kw_only=True)
class ShowTables(Statement):
    like: str | None = None


@dataclass(frozen=True, kw_only=True)
class ShowCubes(Statement):
    """``SHOW CUBES`` or, with ``facts``, ``SHOW FACTS``."""

    facts: bool = False


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    """``DESCRIBE [EXTENDED|FORMATTED] [TABLE] t``; ``kind`` is ``TABLE``, ``CUBE`` or ``FACT``."""

    name: Name
    kind: str = "TABLE"
    extended: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateView(Statement):
    """``CREATE [OR REPLACE] VIEW v [(columns)] … AS query``. ``columns`` is ``None`` without the list."""

    view: Name
    query: Query
    columns: tuple[ColumnDef, ...] | None = None
    or_replace: bool = False
    if_not_exists: bool = False
    comment: str | None = None
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class DropView(Statement):
    view: Name
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class ShowViews(Statement):
    like: str | None = None


@dataclass(frozen=True, kw_only=True)
class Insert(Statement):
    """``INSERT INTO|OVERWRITE [TABLE] t [PARTITION (…) [IF NOT EXISTS]] [(cols)] query``.

    ``partition`` is ``None`` without the clause.
    """

    table: Name
    query: Query
    overwrite: bool = False
    partition: tuple[PartitionItem, ...] | None = None
    if_not_exists: bool = False
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class PartitionLocation:
    spec: tuple[PartitionItem, ...]
    location: str | None = None


@dataclass(frozen=True, kw_only=True)
class AddPartitions(Statement):
    table: Name
    partitions: tuple[PartitionLocation, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class DropPartitions(Statement):
    """Each item of ``specs`` is a conjunction of predicates, NOT before one at most; a partition goes if any holds."""

    table: Name
    specs: tuple[tuple[Filter, ...], ...]
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True)
class SortKey:
    """``column [ASC|DESC]`` in ORDER BY."""

    column: str
    descending: bool = False
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, kw_only=True)
class ShowPartitions(Statement):
    """``SHOW PARTITIONS t [PARTITION (…)] [WHERE filter] [ORDER BY …] [LIMIT n] [AS JSON]``."""

    table: Name
    partition: tuple[PartitionItem, ...] | None = None
    where: Filter | None = None
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    as_json: bool = False


@dataclass(frozen=True, kw_only=True)
class ExplainScan(Statement):
    """``EXPLAIN SCAN`` of a statement that finds partitions. Nothing of it is done."""

    statement: ShowPartitions | DropPartitions


@dataclass(frozen=True)
class CubeColumn:
    """A column of CREATE CUBE.

    ``role`` is ``DIMENSION``, ``TIME``, or the aggregate of a measure (``COUNT``, ``SUM``, ``MIN``, ``MAX``).
    """

    name: str
    type: str
    role: str = "DIMENSION"
    counted_by: str | None = None
    not_null: bool = False
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, kw_only=True)
class CreateCube(Statement):
    name: Name
    columns: tuple[CubeColumn, ...]
    if_not_exists: bool = False
    time_zone: str | None = None


@dataclass(frozen=True)
class LayoutColumn:
    """``column`` or ``column = 'pattern'`` in ``PARTITIONED BY time AS (…)``."""

    column: str
    pattern: str | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class CompleteWith:
    """``COMPLETE WITH column IN (…)``, or ``COMPLETE WITH ANY column``, where ``values`` is ``None``."""

    column: str
    values: tuple[Literal, ...] | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class FactTable:
    """One ``TABLE …`` of a storage block. ``periods`` are names of update periods, upper case.

    ``flags`` holds what is read here and judged later: ``RAW``, ``TRUSTED``, ``COMPLETE``; ``complete`` says with what.
    ``start`` and ``end`` bound the time for which the table answers.
    """

    table: Name | None
    periods: tuple[str, ...]
    partitioned_by: tuple[tuple[str, tuple[LayoutColumn, ...]], ...]
    flags: tuple[str, ...] = ()
    complete: tuple[CompleteWith, ...] = ()
    start: str | None = None
    end: str | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class FactStorage:
    """A storage block: ``STORED IN [STORAGE s [ON CLUSTER c]] ( … ) [START '…'] [END '…']``.

    ``name`` is ``default`` when unnamed.
    """

    name: str
    tables: tuple[FactTable, ...]
    cluster: str | None = None
    start: str | None = None
    end: str | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, kw_only=True)
class CreateFact(Statement):
    name: Name
    cube: Name
    storages: tuple[FactStorage, ...]
    columns: tuple[str, ...] | None = None
    weight: int = 0
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class DropCube(Statement):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class DropFact(Statement):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class ShowTimelines(Statement):
    fact: Name
    storage: str | None = None
    period: str | None = None


@dataclass(frozen=True, kw_only=True)
class ShowCoverage(Statement):
    """``SHOW COVERAGE OF f [FROM a TO b]``; the bounds are texts that ``time_range_in`` understands."""

    fact: Name
    start: Literal | None = None
    end: Literal | None = None


@dataclass(frozen=True, kw_only=True)
class ShowLatest(Statement):
    fact: Name


@dataclass(frozen=True, kw_only=True)
class CheckFact(Statement):
    """``CHECK FACT f [FROM a TO b]``; bounds as in ``ShowCoverage``."""

    fact: Name
    start: Literal | None = None
    end: Literal | None = None


@dataclass(frozen=True, kw_only=True)
class RefreshFact(Statement):
    """``REFRESH FACT f [FROM a TO b] [DRY RUN]``; bounds as in ``ShowCoverage``."""

    fact: Name
    start: Literal | None = None
    end: Literal | None = None
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True)
class RefreshTimelines(Statement):
    fact: Name


@dataclass(frozen=True, kw_only=True)
class SetSetting(Statement):
    """``SET key = value``; ``SET key`` has no value; a bare ``SET`` has neither."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True, kw_only=True)
class ResetSetting(Statement):
    key: str | None = None
