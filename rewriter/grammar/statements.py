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
class ColumnName:
    """A column, or with several ``parts`` a field within it; without quotes, as typed. It belongs to no database."""

    parts: tuple[str, ...]
    span: Span = field(default=Span(0, 0), compare=False)

    @property
    def last(self) -> str:
        return self.parts[-1]


@dataclass(frozen=True)
class DatabaseName:
    """The name of a database, without quotes, as typed. It belongs to no other database."""

    text: str
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class NewName:
    """What something is to be called; without a database it stays in the one where it is."""

    parts: tuple[str, ...]
    span: Span = field(default=Span(0, 0), compare=False)


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
class NewTable(Statement):
    """What all forms of CREATE TABLE say."""

    table: Name
    external: bool = False
    temporary: bool = False
    if_not_exists: bool = False
    format: str | None = None
    location: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    property_spans: tuple[Span, ...] = field(default=(), compare=False)
    format_span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class CreateTable(NewTable):
    """``CREATE [OR REPLACE] [TEMPORARY] [EXTERNAL] TABLE [IF NOT EXISTS] t (columns) …``."""

    columns: tuple[ColumnDef, ...]
    partitioned_by: tuple[ColumnDef, ...] = ()
    comment: str | None = None
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateTableAs(NewTable):
    """``CREATE [OR REPLACE] [TEMPORARY] [EXTERNAL] TABLE [IF NOT EXISTS] t … AS query``.

    ``partitioned_by`` refers to columns that the query answers: none has a type.
    """

    query: Query
    partitioned_by: tuple[ColumnDef, ...] = ()
    comment: str | None = None
    or_replace: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateTableLike(NewTable):
    """``CREATE [TEMPORARY] [EXTERNAL] TABLE [IF NOT EXISTS] t LIKE source …``."""

    source: Name


@dataclass(frozen=True, kw_only=True)
class AddColumns(Statement):
    """``ALTER TABLE t ADD COLUMNS (c type [COMMENT '…'], …)``."""

    table: Name
    columns: tuple[ColumnDef, ...]


@dataclass(frozen=True, kw_only=True)
class CommentColumn(Statement):
    """``ALTER TABLE t ALTER COLUMN c COMMENT '…'``, or ``CHANGE COLUMN c c type [COMMENT '…']``, which changes no more.

    ``comment`` is ``None`` where ``COMMENT ON COLUMN t.c IS NULL`` takes it away, and where CHANGE leaves it as it is.
    ``renamed`` is what CHANGE says of the column: it must be as the column is.
    """

    table: Name
    column: str
    comment: str | None
    renamed: ColumnDef | None = None
    column_span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, kw_only=True)
class CommentTable(Statement):
    """``COMMENT ON TABLE t IS '…'``, or ``IS NULL``, where ``comment`` is ``None``."""

    table: Name
    comment: str | None


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
    database: DatabaseName | None = None


@dataclass(frozen=True, kw_only=True)
class ShowCubes(Statement):
    """``SHOW CUBES`` or, with ``facts``, ``SHOW FACTS``."""

    facts: bool = False
    database: DatabaseName | None = None


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    """``DESCRIBE [EXTENDED|FORMATTED] [TABLE] t [PARTITION (…)] [column] [AS JSON]``.

    ``kind`` is ``TABLE``, ``CUBE`` or ``FACT``; of these two everything but the name is left out.
    """

    name: Name
    kind: str = "TABLE"
    extended: bool = False
    partition: tuple[PartitionItem, ...] | None = None
    column: ColumnName | None = None
    as_json: bool = False


@dataclass(frozen=True, kw_only=True)
class DescribeQuery(Statement):
    """``DESCRIBE [QUERY] query``."""

    query: Query


@dataclass(frozen=True, kw_only=True)
class ShowTableExtended(Statement):
    """``SHOW TABLE EXTENDED [IN database] LIKE 'pattern' [PARTITION (…)]``."""

    like: str
    database: DatabaseName | None = None
    partition: tuple[PartitionItem, ...] | None = None
    like_span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, kw_only=True)
class ShowColumns(Statement):
    """``SHOW COLUMNS IN t [IN database]``: the database is part of the name."""

    table: Name


@dataclass(frozen=True, kw_only=True)
class ShowTableProperties(Statement):
    """``SHOW TBLPROPERTIES t [('key')]``."""

    table: Name
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class AnalyzeTable(Statement):
    """``ANALYZE TABLE t [PARTITION (…)] COMPUTE STATISTICS [NOSCAN | FOR COLUMNS … | FOR ALL COLUMNS]``.

    ``columns`` is ``None`` without FOR and empty for all of them; NOSCAN and columns exclude each other.
    """

    table: Name
    partition: tuple[PartitionItem, ...] | None = None
    columns: tuple[ColumnName, ...] | None = None
    noscan: bool = False


@dataclass(frozen=True, kw_only=True)
class AnalyzeTables(Statement):
    """``ANALYZE TABLES [IN database] COMPUTE STATISTICS [NOSCAN]``."""

    database: DatabaseName | None = None
    noscan: bool = False


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
    database: DatabaseName | None = None


@dataclass(frozen=True, kw_only=True)
class Insert(Statement):
    """``INSERT INTO|OVERWRITE [TABLE] t [PARTITION (…) [IF NOT EXISTS]] [(cols)|BY NAME] query``.

    ``partition`` is ``None`` without the clause. A WITH or FROM that stands before INSERT belongs to ``query``, in
    which blanks take the place of what is between them.
    """

    table: Name
    query: Query
    overwrite: bool = False
    partition: tuple[PartitionItem, ...] | None = None
    if_not_exists: bool = False
    columns: tuple[str, ...] | None = None
    by_name: bool = False


@dataclass(frozen=True, kw_only=True)
class MultiInsert(Statement):
    """``[WITH …] FROM source INSERT … SELECT … INSERT … SELECT …``, two of them at least.

    ``source`` reaches from WITH or FROM to the first INSERT; the query of each insert is its own SELECT alone.
    """

    source: Query
    inserts: tuple[Insert, ...]


@dataclass(frozen=True, kw_only=True)
class LoadData(Statement):
    """``LOAD DATA [LOCAL] INPATH 'path' [OVERWRITE] INTO TABLE t [PARTITION (…)]``."""

    path: str
    table: Name
    partition: tuple[PartitionItem, ...] | None = None
    overwrite: bool = False
    local: bool = False
    path_span: Span = field(default=Span(0, 0), compare=False)


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


@dataclass(frozen=True, kw_only=True)
class RenamePartition(Statement):
    """``ALTER TABLE t PARTITION (…) RENAME TO PARTITION (…)``."""

    table: Name
    partition: tuple[PartitionItem, ...]
    to: tuple[PartitionItem, ...]


@dataclass(frozen=True, kw_only=True)
class ExchangePartitions(Statement):
    """``ALTER TABLE t EXCHANGE PARTITION (…)[, (…)] WITH TABLE source``: from ``source`` to ``table``."""

    table: Name
    partitions: tuple[tuple[PartitionItem, ...], ...]
    source: Name


@dataclass(frozen=True, kw_only=True)
class Truncate(Statement):
    """``TRUNCATE TABLE t [PARTITION (…)]``; the spec may be partial."""

    table: Name
    partition: tuple[PartitionItem, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Compact(Statement):
    """``ALTER TABLE t [PARTITION (…)] COMPACT``; the spec may be partial."""

    table: Name
    partition: tuple[PartitionItem, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Vacuum(Statement):
    """``VACUUM [TABLE t] [RETAIN n HOURS] [DRY RUN]``; without a table, of all that there are or were."""

    table: Name | None = None
    hours: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True)
class SetLocation(Statement):
    """``ALTER TABLE t [PARTITION (…)] SET LOCATION '…'``."""

    table: Name
    location: str
    partition: tuple[PartitionItem, ...] | None = None
    location_span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, kw_only=True)
class SetFileFormat(Statement):
    """``ALTER TABLE t [PARTITION (…)] SET FILEFORMAT f``; the format is in lower case."""

    table: Name
    format: str
    partition: tuple[PartitionItem, ...] | None = None
    format_span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, kw_only=True)
class SetSerde(Statement):
    """``ALTER TABLE t [PARTITION (…)] SET SERDE '…' [WITH SERDEPROPERTIES (…)]``, or ``SET SERDEPROPERTIES (…)``, where
    ``serde`` is ``None``.
    """

    table: Name
    serde: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    partition: tuple[PartitionItem, ...] | None = None
    serde_span: Span = field(default=Span(0, 0), compare=False)
    property_spans: tuple[Span, ...] = field(default=(), compare=False)


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
class RepairTable(Statement):
    """``MSCK [REPAIR] TABLE t [ADD|DROP|SYNC PARTITIONS] [PARTITION (filter)]``; ``what`` is one of the three words.

    Without ``repair`` it only reports. ALTER TABLE … RECOVER PARTITIONS is a repair that adds.
    """

    table: Name
    repair: bool
    what: str
    where: Filter | None = None


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
class RefreshTable(Statement):
    """``REFRESH TABLE t`` of Spark's scripts, which finds nothing to forget."""

    table: Name


@dataclass(frozen=True, kw_only=True)
class RefreshTimelines(Statement):
    fact: Name


@dataclass(frozen=True, kw_only=True)
class CreateDatabase(Statement):
    database: DatabaseName
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class DropDatabase(Statement):
    database: DatabaseName
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, kw_only=True)
class ShowDatabases(Statement):
    """``SHOW DATABASES [LIKE 'pattern']``, or, with ``current``, ``SHOW CURRENT DATABASE``."""

    like: str | None = None
    current: bool = False


@dataclass(frozen=True, kw_only=True)
class DescribeDatabase(Statement):
    database: DatabaseName
    extended: bool = False


@dataclass(frozen=True, kw_only=True)
class UseDatabase(Statement):
    database: DatabaseName


@dataclass(frozen=True, kw_only=True)
class Rename(Statement):
    """``ALTER TABLE|VIEW a RENAME TO b``; ``kind`` is ``TABLE`` or ``VIEW``."""

    kind: str
    name: Name
    to: NewName


@dataclass(frozen=True, kw_only=True)
class ShowCreate(Statement):
    """``SHOW CREATE TABLE|VIEW|CUBE|FACT x [AS SERDE]``; ``kind`` is the word before the name."""

    kind: str
    name: Name
    as_serde: bool = False


@dataclass(frozen=True, kw_only=True)
class StartTransaction(Statement):
    """``START TRANSACTION``, or ``BEGIN [TRANSACTION | WORK]``."""


@dataclass(frozen=True, kw_only=True)
class Commit(Statement):
    """``COMMIT [WORK]``."""


@dataclass(frozen=True, kw_only=True)
class Rollback(Statement):
    """``ROLLBACK [WORK]``."""


@dataclass(frozen=True, kw_only=True)
class ShowCache(Statement):
    """``SHOW CACHE``."""


@dataclass(frozen=True, kw_only=True)
class SetSetting(Statement):
    """``SET key = value``; ``SET key`` has no value; a bare ``SET`` has neither."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True, kw_only=True)
class ResetSetting(Statement):
    key: str | None = None
