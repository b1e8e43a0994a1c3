"""The objects of the catalog, as values: databases, tables, partitions, files, views, cubes, facts, functions.

Names are kept as declared and compared without case. The name of an object outside the database ``default`` begins
with its database (``qualified_names``). A column type is Spark's spelling in lower case (``string``, ``bigint``,
``decimal(10,2)``). A partition value is the text in the partition's name before escaping, in canonical form for its
type (INT ``'01'`` is ``'1'``), or ``None`` for NULL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, assert_never

from rewriter.catalog.model.row_formats import file_options_of
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.calendars import Calendar, Period, ZonedPeriod, calendar_of
from rewriter.timeline.layouts import TIMESTAMP, TimeLayout

if TYPE_CHECKING:
    from rewriter.catalog.model.partition_transforms import PartitionTransform
    from rewriter.catalog.model.sql_functions import SqlBody

# Names of objects: a database and a name in it, as one text. An object in the database ``default`` is known by its name
# alone (``t``), all others by both (``sales.t``). Names contain no points, so a text identifies one object. Databases
# are in lower case, as in Spark. All functions are O(length of the name).

#: The database that always exists.
DEFAULT_DATABASE = "default"

#: Spark's name of the only catalog.
CATALOG = "spark_catalog"

#: The key of the catalog's properties: the key of a database without a name, which no object has.
PROPERTIES_KEY = "."


def full_name(database: str, name: str) -> str:
    """Returns the catalog's name of ``name`` in a database."""
    return name if database.lower() == DEFAULT_DATABASE else f"{database.lower()}.{name}"


def database_of(full: str) -> str:
    """Returns the database of an object, in lower case."""
    database, point, _ = full.partition(".")
    return database.lower() if point else DEFAULT_DATABASE


def short_name(full: str) -> str:
    """Returns the name of an object in its database."""
    return full.rpartition(".")[2]


def parts_of(full: str) -> tuple[str, str]:
    """Returns database and name."""
    return database_of(full), short_name(full)


def seen_from(database: str, full: str) -> str:
    """Returns an object's name as seen from a database: with its own database if that is another one."""
    database_name, short_name = parts_of(full)
    return short_name if database_name == database.lower() else f"{database_name}.{short_name}"


def database_key(database: str) -> str:
    """Returns the key of a database: no object's name, and the prefix of all objects in it."""
    return f"{database.lower()}."


def function_key(full: str) -> str:
    """Returns the key of a function, ``sales..f``; the key of one in ``default`` is ``default..f``.

    Functions have a name space of their own in each database: no name contains a point, so no other object has a key
    with two. The key begins with the database's key, as the keys of the other objects in it do.
    """
    database, name = parts_of(full)
    return f"{database_key(database)}.{name.lower()}"


PartitionValues = tuple[str | None, ...]

RollupFunction = Literal[
    "SUM", "MIN", "MAX", "BOOL_AND", "BOOL_OR", "BIT_AND", "BIT_OR", "BITMAP_OR_AGG", "THETA_UNION_AGG", "MAX_BY",
    "MIN_BY",
]  # fmt: skip

NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})

#: The property that says whether the catalog registers the partitions of an external table.
PARTITIONS = "rewriter.partitions"

#: The directory level that names a write below a managed table; no column may have this name.
WRITE_ID_LEVEL = "rewriter_write_id"


@dataclass(frozen=True)
class Column:
    """A column: ``name``, ``type`` in Spark's spelling, and ``comment``, or ``None``. ``default`` is the literal that
    an INSERT writes if it has no value for the column, as it was typed. ``stored`` is the name of its values in data
    files, which never changes; ``None`` if it is ``name``. ``transform`` is that of a hidden partition column.
    ``not_null`` says that no statement writes NULL into a data column; files of others may have it.
    """

    name: str
    type: str
    comment: str | None = None
    default: str | None = None
    stored: str | None = None
    transform: PartitionTransform | None = None
    not_null: bool = False

    @property
    def stored_name(self) -> str:
        """The name of its values in data files."""
        return self.name if self.stored is None else self.stored

    def renamed(self, name: str) -> Column:
        """Returns the column under another name. Its values in data files keep their name."""
        return replace(self, name=name, stored=None if name == self.stored_name else self.stored_name)


def shown_columns(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Returns the columns without those that a transform computes."""
    return tuple([column for column in columns if column.transform is None])


@dataclass(frozen=True)
class Namespace:
    """A database: a space of names. ``name`` is in lower case.

    ``location`` is the absolute directory above those of its managed tables; ``None`` is one of the warehouse.
    """

    id: int
    name: str
    location: str | None = None
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ClusterLocation:
    """A secondary descriptor of a table: a ``cluster``, and ``location``, the directory of the copies that it has."""

    cluster: str
    location: str


@dataclass(frozen=True)
class CatalogProperties:
    """The properties of the catalog, at least one. A catalog has one such object, or none."""

    id: int
    properties: Mapping[str, str]
    name: str = "properties"


class TableKind(Enum):
    """Where the rows of a table come from, and who lists its partitions."""

    #: The catalog lists the partitions and the files.
    MANAGED = "managed"
    #: The catalog lists the partitions; their directories list the files.
    EXTERNAL = "external"
    #: The directories list the partitions, too.
    DISCOVERED = "discovered"
    #: The files that a query names: ``parquet.`path```.
    FILES = "files"
    #: An object of a user's yields the rows.
    SOURCE = "source"
    #: The rows are about the catalog and the session.
    SYSTEM = "system"
    #: A managed table as an earlier commit left it. The catalog lists the partitions and the files.
    STATE = "state"

    @property
    def is_in_catalog(self) -> bool:
        """True for the tables of the catalog, and the temporary ones of a session; false for tables of one query."""
        match self:
            case TableKind.MANAGED | TableKind.EXTERNAL | TableKind.DISCOVERED:
                return True
            case TableKind.FILES | TableKind.SOURCE | TableKind.SYSTEM | TableKind.STATE:
                return False
            case _:
                assert_never(self)

    @property
    def lists_partitions(self) -> bool:
        """True if the partitions are rows of the catalog."""
        return self in (TableKind.MANAGED, TableKind.EXTERNAL, TableKind.STATE)


@dataclass(frozen=True)
class Table:
    """A table. ``columns`` are the data columns; ``partition_columns`` come after them in ``SELECT *``.

    ``id`` stays the same when a table is renamed. ``name`` begins with the database and a dot, except in ``default``.
    ``format`` is the format of its files, ``external`` says whose they are; ``comment`` and ``properties`` are as
    declared. ``location`` is an absolute directory. A managed table's files are in
    ``<location>/<WRITE_ID_LEVEL>=<write id>/``; later statements of one transaction, which share a write id, have
    ``…=<write id>.2/`` and so on.

    ``cluster`` is the primary cluster, which has all data; ``None`` is the default one. ``copies`` are the secondary
    clusters. Which partitions they have is not in the table (``catalog.reading.snapshot_reads``).

    ``dropped_columns`` are the stored names of columns that DROP COLUMN took away: files may have values of these
    names, which no later column may have.
    """

    id: int
    name: str
    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    format: str
    location: str
    external: bool = False
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    cluster: str | None = None
    copies: tuple[ClusterLocation, ...] = ()
    dropped_columns: tuple[str, ...] = ()

    def copy_on(self, cluster: str) -> ClusterLocation | None:
        """Returns the descriptor of a secondary cluster, named in any case; ``None`` if the table has none there."""
        return next((copy for copy in self.copies if copy.cluster.lower() == cluster.lower()), None)

    @property
    def kind(self) -> TableKind:
        """The kind of the table. A table that is no object of the catalog has a class of its own."""
        if self.properties.get(PARTITIONS) == "discovered":
            return TableKind.DISCOVERED
        return TableKind.EXTERNAL if self.external else TableKind.MANAGED

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """Returns the columns that a query sees: the data columns, then the partition columns that are not hidden."""
        return self.columns + shown_columns(self.partition_columns)

    @property
    def columns_in_files(self) -> tuple[Column, ...]:
        """Returns the data columns under the names that files have."""
        return tuple(column.renamed(column.stored_name) for column in self.columns)

    def with_free_stored_name(self, column: Column) -> Column:
        """Returns a new column of the table with a stored name that no column of it has ever had: values of a dropped
        or renamed column never become values of another one.
        """
        used = {column.stored_name.lower() for column in (*self.columns, *self.partition_columns)} | set(
            map(str.lower, self.dropped_columns)
        )
        names = (column.name, *(f"{column.name}_{number}" for number in range(2, len(used) + 3)))
        stored = next(name for name in names if name.lower() not in used)
        return replace(column, stored=None if stored == column.name else stored)

    @property
    def file_options(self) -> dict[str, str]:
        """Returns the options by which the files are read and written."""
        return file_options_of(self.format.lower(), self.properties)


@dataclass(frozen=True)
class FilesTable(Table):
    """The files that a query names. Its columns are found when it is read, unless the query has a ``schema``."""

    schema: str | None = None

    @property
    def kind(self) -> TableKind:
        return TableKind.FILES


@dataclass(frozen=True)
class TableState(Table):
    """A managed table as an earlier commit left it. Its id is of one query, and not the table's."""

    @property
    def kind(self) -> TableKind:
        return TableKind.STATE


@dataclass(frozen=True)
class SourceTable(Table):
    """The rows of a registered source."""

    @property
    def kind(self) -> TableKind:
        return TableKind.SOURCE


class Partition(NamedTuple):
    """One partition as a snapshot sees it. ``key`` sorts like the ``values`` (``catalog.keys.encoding``).

    ``location`` is set if the directory is not the default one. ``rows`` (``None`` if not counted), ``bytes`` and
    ``files`` are totals of the visible files.
    ``properties`` are the partition's own, like a metastore's parameters. A tuple is made in a quarter of the time of a
    dataclass, and look-ups make many.
    """

    key: bytes
    values: PartitionValues
    location: str | None = None
    rows: int | None = None
    bytes: int = 0
    files: int = 0
    properties: Mapping[str, str] = NO_PROPERTIES


class PackedPart(NamedTuple):
    """The position of one partition in a packed file, which holds several partitions, sorted by key.

    ``values`` are those in the partition columns of the file; after RENAME and EXCHANGE the catalog has others.
    The rows are in ``row_groups`` row groups from number ``first_row_group`` on. Neighbors may share a row group.
    ``partitions`` is the number of partitions that were written into the file, and ``file_bytes`` its size.
    ``position`` counts the partitions before this one in a file that is sorted by its values: texts by their
    characters, numbers and dates by value. It is ``None`` for all other files.
    """

    values: PartitionValues
    first_row_group: int
    row_groups: int
    partitions: int
    file_bytes: int
    position: int | None = None


class DataFile(NamedTuple):
    """A file of a partition, or the ``part`` of a packed file. ``path`` is absolute. A tuple, because there are many.

    ``rows`` is ``None`` if not counted. The ``bytes`` of the parts of a packed file are proportional to their rows, and
    add up to its size.
    """

    path: str
    rows: int | None
    bytes: int
    part: PackedPart | None = None

    @property
    def file_bytes(self) -> int:
        """The size of the file, with the other parts of a packed file."""
        return self.bytes if self.part is None else self.part.file_bytes


@dataclass(frozen=True)
class View:
    """A query under a name, in its author's words. ``columns`` rename the columns of its result; empty if they do not.

    ``columns`` are pairs of a name and a comment. The query is resolved again at every use, under the names at that
    time; names without a database are names in ``database``, which was current when the view was created.
    """

    id: int
    name: str
    query: str
    columns: tuple[tuple[str, str | None], ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    database: str = DEFAULT_DATABASE


@dataclass(frozen=True)
class Function:
    """A function: a SQL function, or one of metastore clients: a class of theirs, which this program never loads.

    ``name`` begins with its database, as the name of a table does, but functions have a name space of their own
    (``qualified_names.function_key``). ``created`` is in seconds since 1970. ``resources`` are pairs of a kind, such as
    ``JAR``, and the URI of a file that the class needs, as its author wrote it. ``source`` is the address of the
    metastore from which an import took it, ``None`` for others. A SQL function has a body, and no class.
    """

    id: int
    name: str
    class_name: str
    owner: str | None = None
    created: int = 0
    resources: tuple[tuple[str, str], ...] = ()
    source: str | None = None
    sql: SqlBody | None = None


class Aggregate(Enum):
    """The kind of a measure: what its column holds of the base rows.

    Whatever the order of the rows and their division among rollups, ``rollup_function`` returns the same value: it is
    associative and commutative, and all kinds but COUNT and SUM are idempotent. BITMAP_OR is Spark's bitmap of 32,768
    positions: the exact set of the ids of one bucket (``Measure.bucketed_by``). THETA_UNION is a theta sketch of Apache
    DataSketches: the least hashes of a set of values, 2^``Measure.precision`` at most. LAST and FIRST are the value of
    the newest and of the oldest row of a series (``Measure.ordered_by``, ``Measure.per``).
    """

    COUNT = "COUNT"
    SUM = "SUM"
    MIN = "MIN"
    MAX = "MAX"
    BOOL_AND = "BOOL_AND"
    BOOL_OR = "BOOL_OR"
    BIT_AND = "BIT_AND"
    BIT_OR = "BIT_OR"
    BITMAP_OR = "BITMAP_OR"
    THETA_UNION = "THETA_UNION"
    LAST = "LAST"
    FIRST = "FIRST"

    @property
    def rollup_function(self) -> RollupFunction:
        """The SQL function that computes the measure of a group from the measures of its rows."""
        match self:
            case Aggregate.COUNT | Aggregate.SUM:
                return "SUM"
            case Aggregate.MIN:
                return "MIN"
            case Aggregate.MAX:
                return "MAX"
            case Aggregate.BOOL_AND:
                return "BOOL_AND"
            case Aggregate.BOOL_OR:
                return "BOOL_OR"
            case Aggregate.BIT_AND:
                return "BIT_AND"
            case Aggregate.BIT_OR:
                return "BIT_OR"
            case Aggregate.BITMAP_OR:
                return "BITMAP_OR_AGG"
            case Aggregate.THETA_UNION:
                return "THETA_UNION_AGG"
            case Aggregate.LAST:
                return "MAX_BY"
            case Aggregate.FIRST:
                return "MIN_BY"
            case _:
                assert_never(self)


#: The precisions of theta sketches: the binary logarithm of how many hashes one has at most. Spark uses 12 without one.
#: It takes 4, too, which the library of other engines does not.
PRECISIONS = range(5, 27)
DEFAULT_PRECISION = 12


@dataclass(frozen=True)
class Measure:
    """A measure column. ``counted_by`` names the COUNT measure of its non-null rows, which makes AVG additive.

    ``events`` says that a COUNT measure counts the cube's events, besides any other meaning. ``bucketed_by`` names the
    dimension whose values have a bitmap each: bitmaps of different ones are of different ids, and are not united.
    ``ordered_by`` names the measure with the time of a LAST or FIRST value, and ``per`` the dimensions of its series:
    values of different series are not compared. ``precision`` is that of a THETA_UNION measure, from 5 to 26: its
    rollups keep 2^precision hashes.
    """

    name: str
    type: str
    aggregate: Aggregate
    counted_by: str | None = None
    not_null: bool = False
    events: bool = False
    bucketed_by: str | None = None
    ordered_by: str | None = None
    per: tuple[str, ...] = ()
    precision: int | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The dimensions without which rows of the measure cannot be united."""
        return self.per if self.bucketed_by is None else (self.bucketed_by,)

    @property
    def rollup_type(self) -> str:
        """The type of its column in rollups. A sum of FLOAT is DOUBLE, as SUM returns it: FLOAT would round it."""
        return "double" if self.aggregate is Aggregate.SUM and self.type == "float" else self.type


#: The aggregates that make the value of a measure from values of events, for the kinds that hold no value of an event.
CONSTRUCTORS: Mapping[Aggregate, str] = {
    Aggregate.BITMAP_OR: "bitmap_construct_agg",
    Aggregate.THETA_UNION: "theta_sketch_agg",
}

#: The kind of the measure with the time of a LAST or FIRST value, which is the newest or the oldest one.
KINDS_OF_ORDER: Mapping[Aggregate, Aggregate] = {Aggregate.LAST: Aggregate.MAX, Aggregate.FIRST: Aggregate.MIN}


@dataclass(frozen=True)
class Cube:
    """A logical table of events. Columns are in the order of the declaration; days are days in ``zone``.

    The first of ``times`` is the leading one: completeness, freshness and covers are judged on it.

    ``log_names`` are pairs of a name in the query log and the name that its column has now, in lower case, or an empty
    text for a column that was dropped. They are no part of the meaning. Other columns have their names there.
    """

    id: int
    name: str
    dimensions: tuple[Column, ...]
    measures: tuple[Measure, ...]
    times: tuple[str, ...]
    column_order: tuple[str, ...]
    zone: str = "UTC"
    log_names: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def log_name(self, column: str) -> str:
        """Returns the name of a column in the query log, which no other column of the cube has or had there."""
        key = column.lower()
        return next((logged for logged, present in self.log_names if present == key), key)

    def column_logged_as(self, name: str) -> str | None:
        """Returns the column, in lower case, that a name in the query log means; ``None`` for one that was dropped."""
        present = dict(self.log_names).get(name, name)
        is_own = present in {column.lower() for column in self.column_order}
        return present if is_own and self.log_name(present) == name else None

    def with_log_names(self, before: Cube, renamed: Mapping[str, str]) -> Cube:
        """Returns the cube, which was altered from ``before``, with names in the query log: a column keeps its own
        under a new name, and a new column gets a free one. ``renamed`` has new names by old ones.
        """
        old_names = {new.lower(): old.lower() for old, new in renamed.items()}
        columns_before = {column.lower(): before.log_name(column) for column in before.column_order}
        used = {*columns_before.values(), *(logged for logged, _ in before.log_names)}
        names: dict[str, str] = dict.fromkeys(sorted(used), "")
        for column in (column.lower() for column in self.column_order):
            logged = columns_before.get(old_names.get(column, column))
            if logged is None:
                free = (column, *(f"{column}_{number}" for number in range(2, len(names) + 3)))
                logged = next(name for name in free if name not in names)
            names[logged] = column
        return replace(self, log_names=tuple(pair for pair in names.items() if pair[0] != pair[1]))

    @property
    def calendar(self) -> Calendar:
        """The calendar that days and longer periods follow."""
        return calendar_of(self.zone)

    @property
    def counters(self) -> tuple[Measure, ...]:
        """The measures declared COUNT. If there is none, COUNT(*) counts base rows."""
        return tuple(measure for measure in self.measures if measure.aggregate is Aggregate.COUNT)

    @property
    def event_counters(self) -> tuple[Measure, ...]:
        """The COUNT measures that may count events: the one marked EVENTS, otherwise the measures that do not count a
        nullable measure's values. COUNT(*) is ambiguous if there are counters, but not exactly one of these.
        """
        marked = tuple(measure for measure in self.counters if measure.events)
        of_values = {m.counted_by.lower() for m in self.measures if m.counted_by and not m.not_null}
        return marked or tuple(measure for measure in self.counters if measure.name.lower() not in of_values)

    def measures_over(self, dimensions: Iterable[str], listed: Collection[str] | None) -> tuple[str, ...]:
        """Returns the measures in a list that a rollup over some dimensions has: all of them, but bitmaps only beside
        the dimension of their buckets, and LAST and FIRST beside those of their series. ``None`` lists all.
        """
        own = {name.lower() for name in dimensions}
        return tuple(
            measure.name
            for measure in self.measures
            if (listed is None or measure.name in listed) and own.issuperset(map(str.lower, measure.keys))
        )

    def columns_in(self, listed: tuple[str, ...] | None) -> frozenset[str]:
        """Returns the dimensions and measures in a list of a fact or table, in lower case; ``None`` lists all."""
        names = self.column_order if listed is None else listed
        return frozenset(name.lower() for name in names) - {time.lower() for time in self.times}

    @property
    def count_measure(self) -> Measure | None:
        """The measure that COUNT(*) means, if the declaration determines it."""
        candidates = self.event_counters
        return candidates[0] if len(candidates) == 1 else None

    @property
    def count_is_ambiguous(self) -> bool:
        """True if measures are declared COUNT, but none of them is known to count events."""
        return bool(self.counters) and self.count_measure is None

    def rounded_sums(self, table: Table) -> tuple[str, ...]:
        """Returns the measures with FLOAT columns in a table although their sums are DOUBLE: it cannot hold rollups."""
        types = {column.name.lower(): column.type for column in table.columns}
        wide = (measure for measure in self.measures if measure.rollup_type != measure.type)
        return tuple(measure.name for measure in wide if types.get(measure.name.lower()) == measure.type)


@dataclass(frozen=True)
class Completeness:
    """``COMPLETE WITH``: the required values of another partition column in a period; ``None`` is any value."""

    column: str
    values: tuple[str | None, ...] | None


@dataclass(frozen=True)
class OtherTime:
    """A time dimension besides the leading one; ``layouts`` define its names in each period's partitions."""

    time: str
    layouts: Mapping[Period, TimeLayout]


@dataclass(frozen=True)
class Widening:
    """Columns of the cube that a rollup table got after its first partitions were computed.

    ``commit`` is the number of the commit that added them; 0 until it commits. Content that an earlier commit wrote
    lacks them. ``columns`` has those that the cube still has.
    """

    commit: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class StorageTable:
    """A table that holds one or more periods of a fact; ``layouts`` define the names of ``time``, the leading time
    dimension, in each period's partitions. A partition also names one period of each of the ``others``, of the same
    kind. The periods are periods of the cube's calendar.

    ``complete`` has one entry for each partition column that names no time. A period exists if every combination of
    the values listed there has a partition. ``start`` and ``end`` bound the time that it serves, like a storage's.
    ``joined`` is the number of the commit that added the table to the fact; 0 if the fact was created with it.

    ``raw`` says that each row is an event, with the time at which it happened (``RAW``): it is the SQL of the cube's
    columns that are not columns of the table, by the names of the cube's columns. ``None`` for all other tables.

    ``columns`` are the dimensions and measures that a narrow rollup has; ``None`` if it has all that the fact has.
    ``made`` says that the statement that declared the rollup has created its table. ``retain`` is how long MAINTAIN
    FACT keeps its partitions, such as '90 days'; ``None`` is for ever. ``widenings`` are the columns that a rollup
    table got later, in the order of their commits: a partition lacks those of a widening and of all later ones.
    """

    table: str
    time: str
    layouts: Mapping[Period, TimeLayout]
    trusted: bool = False
    complete: tuple[Completeness, ...] = ()
    others: tuple[OtherTime, ...] = ()
    start: str | None = None
    end: str | None = None
    joined: int = 0
    raw: Mapping[str, str] | None = None
    columns: tuple[str, ...] | None = None
    made: bool = False
    retain: str | None = None
    widenings: tuple[Widening, ...] = ()

    def first_lacking(self, commit: int) -> int | None:
        """Returns the number of the first widening whose columns content of a commit lacks; ``None`` if it has all."""
        return next((number for number, widening in enumerate(self.widenings) if commit < widening.commit), None)

    def last_widening(self, columns: Iterable[str] | None = None) -> int | None:
        """Returns the number of the last widening that added one of some columns, in any case; of any for ``None``."""
        wanted = None if columns is None else {column.lower() for column in columns}
        numbers = [
            number
            for number, widening in enumerate(self.widenings)
            if any(wanted is None or column.lower() in wanted for column in widening.columns)
        ]
        return max(numbers, default=None)

    def lacking_columns(self, first: int) -> tuple[str, ...]:
        """Returns the columns that a partition lacks whose first lacking widening is ``first``."""
        return tuple(column for widening in self.widenings[first:] for column in widening.columns)

    @property
    def times(self) -> tuple[str, ...]:
        """All time dimensions that the partitions name, the leading one first."""
        return (self.time, *(other.time for other in self.others))

    @property
    def layouts_of_times(self) -> tuple[Mapping[Period, TimeLayout], ...]:
        """The layouts by period of each time dimension, the leading one first."""
        return (self.layouts, *(other.layouts for other in self.others))

    @property
    def wall_columns(self) -> frozenset[str]:
        """The TIMESTAMP columns, in lower case, whose values are wall times of a zone: the midnights of its days."""
        return frozenset(
            part.column.lower()
            for layouts in self.layouts_of_times
            for period, layout in layouts.items()
            if isinstance(period, ZonedPeriod)
            for part in layout.parts
            if part.type == TIMESTAMP
        )

    def holds_base(self, has_events: bool) -> bool:
        """Tests whether its partitions of the base period hold base rows: events where the base has events, otherwise
        all columns of the fact.
        """
        return self.raw is not None or (self.columns is None and not has_events)

    @property
    def parted(self) -> bool:
        """True if a period consists of several partitions: by columns that name no time, or by another time."""
        return bool(self.complete or self.others)


@dataclass(frozen=True)
class Storage:
    """Tables of a fact. ``start`` and ``end`` are bounds, absolute or relative to now, of the time that it serves."""

    name: str
    tables: tuple[StorageTable, ...]
    start: str | None = None
    end: str | None = None


@dataclass(frozen=True)
class FactLife:
    """The life of a dropped fact: the numbers of the commits that created and dropped it."""

    created: int
    dropped: int


@dataclass(frozen=True)
class Fact:
    """One physical realization of a cube. ``columns`` is ``None`` if the fact has all of the cube's; ``zone`` is the
    cube's. ``lateness`` is how late data may be, such as '6 hours' (``time_bounds.earlier``): older data should be
    present; ``None`` if it is not declared.

    ``earlier`` are the lives of dropped facts with the same meaning over the same tables, whose proofs count
    (``commit.object_changes``). ``refresh_on_commit`` says that a statement that writes the base refreshes rollups,
    too.
    """

    id: int
    name: str
    cube: str
    storages: tuple[Storage, ...]
    columns: tuple[str, ...] | None = None
    weight: int = 0
    zone: str = "UTC"
    lateness: str | None = None
    earlier: tuple[FactLife, ...] = ()
    refresh_on_commit: bool = False

    @cached_property
    def calendar(self) -> Calendar:
        """The calendar of its cube."""
        return calendar_of(self.zone)

    @cached_property
    def tables(self) -> tuple[StorageTable, ...]:
        return tuple(table for storage in self.storages for table in storage.tables)

    def storage_table(self, name: str) -> StorageTable | None:
        """Returns the storage table of that name, in any case; ``None`` if the fact has none."""
        key = name.lower()
        return next((table for table in self.tables if table.table.lower() == key), None)

    def columns_of(self, table: StorageTable) -> tuple[str, ...] | None:
        """Returns the columns of the cube that a table of the fact has; ``None`` if it has all."""
        return self.columns if table.columns is None else table.columns

    @cached_property
    def base_period(self) -> Period:
        """The finest period that the fact declares."""
        return min(period for table in self.tables for period in table.layouts)

    @cached_property
    def is_raw(self) -> bool:
        """True if its base rows are events with a time of their own, in a table that is declared RAW."""
        return any(table.raw is not None for table in self.tables)

    def is_base(self, table: StorageTable, period: Period) -> bool:
        """Tests whether a table's partitions of a period hold base rows.

        If a table is declared RAW, its events are the base, and other tables of the same period hold rollups. So do
        tables of the same period that have fewer columns than the fact.
        """
        return table.holds_base(self.is_raw) and period == self.base_period

    def has_base_in(self, table: StorageTable) -> bool:
        """Tests whether a table's partitions of some period hold base rows."""
        return any(self.is_base(table, period) for period in table.layouts)

    @cached_property
    def times(self) -> tuple[str, ...]:
        """The time dimensions that its base partitions name, the leading one first; all base tables name the same."""
        base = self.base_period
        return next(table.times for table in self.tables if base in table.layouts)


# The directories of managed tables.


def managed_directory(name: str, table_id: int, database_location: str | None, root: str) -> str:
    """Returns the directory of a managed table: one of its own, below the directory of its database, or below the
    directory of its cluster: a local path or a URI.

    >>> managed_directory("sales.t", 7, None, "/w")
    '/w/sales.db/t-7'
    >>> managed_directory("t", 7, None, "s3://bucket/w")
    's3://bucket/w/t-7'
    """
    database, short = parts_of(name)
    below = root if database == DEFAULT_DATABASE else f"{root.rstrip('/')}/{database}.db"
    return f"{(database_location or below).rstrip('/')}/{short}-{table_id}"
