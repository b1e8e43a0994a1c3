"""The difference between what a source has and what the catalog has of it. All functions are pure."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.catalog.commit.reserved_properties import COMMENT
from rewriter.catalog.keys.paths import default_directory
from rewriter.catalog.keys.values import DEFAULT_PARTITION, canonical, parse_partition_name, partition_name
from rewriter.catalog.metastore_writes import has_other_files, is_interpreted
from rewriter.catalog.model.changes import (
    AlterColumns,
    AlterPartitions,
    AlterTable,
    Change,
    PartitionAlteration,
    PartitionWrite,
)
from rewriter.catalog.model.row_formats import SERDE_PROPERTY, TEXTFILE
from rewriter.catalog.model.stored_paths import PathIndex, RealPaths, is_in
from rewriter.errors import DataError, Error, IntegrityError, InterfaceError, NotSupportedError
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.adoption.definitions import place, taken_properties
from rewriter.metastore.descriptors import HIDDEN, partition_properties
from rewriter.metastore.formats import catalog_format, row_properties
from rewriter.statements.resolve.location_conflicts import (
    LocationContext,
    check_apart_from_tables,
    error_shared,
    is_shared,
)
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Partition, PartitionValues, Table


def needs_replacement(live: Table, wanted: Table) -> bool:
    """Returns whether a table must be dropped and created again: its partition columns or its format are others, or
    data columns were removed, renamed or moved.
    """
    columns = wanted.columns[: len(live.columns)]
    return (
        live.format != wanted.format
        or _names(columns) != _names(live.columns)
        or [(c.name.lower(), c.type) for c in live.partition_columns]
        != [(c.name.lower(), c.type) for c in wanted.partition_columns]
    )


def table_changes(live: Table, wanted: Table, partitions: Iterable[Partition] = ()) -> list[Change]:
    """Returns the changes that make a table the wanted one; none if it is equal.

    ``partitions`` are the table's, if its location changes: they stay where they are. Properties that have a meaning
    here are the catalog's own, and stay.
    """
    return [*_column_changes(live, wanted), *_property_changes(live, wanted), *_pinned(live, wanted, partitions)]


def _column_changes(live: Table, wanted: Table) -> list[Change]:
    pairs = [
        *zip(live.columns, wanted.columns, strict=False),
        *zip(live.partition_columns, wanted.partition_columns, strict=True),
    ]
    comments: dict[str | None, str | None] = {old.name: new.comment for old, new in pairs if old.comment != new.comment}
    types = {old.name: new.type for old, new in pairs if old.type != new.type}
    added = wanted.columns[len(live.columns) :]
    return [AlterColumns(live, added, comments, types)] if added or comments or types else []


def _property_changes(live: Table, wanted: Table) -> list[Change]:
    changed = {key: value for key, value in wanted.properties.items() if live.properties.get(key) != value}
    removed = [key for key in live.properties if key not in wanted.properties and _is_of_the_source(key)]
    if wanted.comment != live.comment:
        if wanted.comment is None:
            removed.append(COMMENT)
        else:
            changed[COMMENT] = wanted.comment
    location = None if wanted.location == live.location else wanted.location
    return [AlterTable(live, changed, tuple(removed), location)] if changed or removed or location else []


def _pinned(live: Table, wanted: Table, partitions: Iterable[Partition]) -> list[Change]:
    if wanted.location == live.location:
        return []
    pins = tuple(
        PartitionAlteration(partition.key, default_directory(live, partition.values))
        for partition in partitions
        if partition.location is None
    )
    return [AlterPartitions(live, pins)] if pins else []


def _is_of_the_source(key: str) -> bool:
    return key in HIDDEN or key.startswith(SERDE_PROPERTY) or not is_interpreted(key)


def _names(columns: Sequence[Column]) -> list[str]:
    return [column.name.lower() for column in columns]


@dataclass(frozen=True)
class RowFormat:
    """What decides how the files of a partition are read: classes, and the separators of text files."""

    input: str
    serde: str
    separators: tuple[str, tuple[tuple[str, str], ...]] | None = None

    @classmethod
    def of(cls, descriptor: Any, table_format: str) -> RowFormat:
        """Returns the format that a descriptor of a table or partition names."""
        serde = descriptor.serdeInfo
        input, library = descriptor.inputFormat or "", (serde.serializationLib or "") if serde is not None else ""
        separators = None
        if table_format.startswith(TEXTFILE):
            options = dict(serde.parameters or {}) if serde is not None else {}
            kind = catalog_format(input, library, options, None)
            # The catalog does not know how rows of other kinds are written: all their options count.
            separators = kind, tuple(sorted((row_properties(options) if kind == TEXTFILE else options).items()))
        return cls(input, library, separators)


class PartitionReader:
    """Reads the partitions of one table of a source, as Thrift has them.

    ``table`` is the table as the catalog has it, ``format`` the format of the table in the source.
    """

    def __init__(self, table: Table, format: RowFormat) -> None:
        self._table, self._format = table, format
        self._columns = table.partition_columns
        #: The canonical values of texts, by column: partitions repeat them.
        self._canonical: list[dict[str, str | None]] = [{} for _ in self._columns]

    def values_in(self, name: str) -> PartitionValues:
        """Returns the canonical values in the name of a partition. Raises ``DataError``."""
        pairs = parse_partition_name(name)
        if [column.lower() for column, _ in pairs] != [column.name.lower() for column in self._columns]:
            raise DataError(
                f"'{name}' does not name the partition columns of the table.",
                condition="INVALID_PARTITION_SPEC",
                sqlstate="42601",
            )
        return self._values([DEFAULT_PARTITION if value is None else value for _, value in pairs])

    def values_of(self, given: Any) -> PartitionValues | None:
        """Returns the canonical values of a partition; ``None`` if it has none."""
        try:
            return self._values(given.values or ())
        except Error:
            return None

    def _values(self, texts: Sequence[str]) -> PartitionValues:
        if len(texts) != len(self._columns):
            raise DataError(
                f"{len(texts)} partition values for {len(self._columns)} partition columns",
                condition="INVALID_PARTITION_SPEC",
                sqlstate="42601",
            )
        values: list[str | None] = []
        for column, known, text in zip(self._columns, self._canonical, texts, strict=True):
            if text not in known:
                known[text] = canonical(column, text)
            values.append(known[text])
        return tuple(values)

    def read(self, given: Any) -> tuple[PartitionWrite, tuple[str, ...]]:
        """Returns the partition that the catalog is to have, and the names of the properties that it does not take.

        Raises errors with the reason why it cannot have it, such as another format than the table's.
        """
        table, descriptor = self._table, given.sd
        values = self._values(given.values or ())
        if descriptor is None or not descriptor.location:
            raise NotSupportedError("The partition has no location.")
        format = RowFormat.of(descriptor, table.format)
        if format != self._format:
            raise NotSupportedError(_difference(format, self._format))
        location: str | None = place(descriptor.location)
        if location == default_directory(table, values):
            location = None
        parameters, left_out = taken_properties(given.parameters or {})
        given.parameters = parameters
        return PartitionWrite(values, location=location, properties=partition_properties(given, 0)), left_out


def _difference(format: RowFormat, of_table: RowFormat) -> str:
    if (format.input, format.serde) != (of_table.input, of_table.serde):
        return f"It has another format than its table: {format.input or 'none'}, {format.serde or 'none'}."
    return "Its text files have other separators than those of its table."


def alteration(live: Partition, wanted: PartitionWrite, table: Table) -> PartitionAlteration | None:
    """Returns the change that makes a partition the wanted one; ``None`` if it is equal.

    Its files are others if the source has counted them anew, or says that they have changed since.
    """
    default = default_directory(table, live.values)
    location = wanted.location or default
    removed = tuple(key for key in live.properties if key not in wanted.properties and _is_of_the_source(key))
    changed = {key: value for key, value in wanted.properties.items() if live.properties.get(key) != value}
    moved = None if location == (live.location or default) else location
    if not (moved or changed or removed):
        return None
    return PartitionAlteration(live.key, moved, changed, removed, has_other_files(live.properties, wanted.properties))


@dataclass(frozen=True)
class NamedPartitions:
    """The partitions that a source lists: names by canonical values, and names that are not taken, by the reason."""

    by_values: Mapping[PartitionValues, str]
    refused: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Iterable[str], reader: PartitionReader) -> NamedPartitions:
        """Reads the names. Linear in their number."""
        by_values: dict[PartitionValues, str] = {}
        refused: dict[str, list[str]] = {}
        for name in names:
            try:
                values = reader.values_in(name)
            except Error as error:
                refused.setdefault(str(error.headline), []).append(name)
                continue
            if by_values.setdefault(values, name) != name:
                refused.setdefault("Another partition of the table has the same values here.", []).append(name)
        return cls(by_values, refused)


def name_of(table: Table, values: PartitionValues) -> str:
    """Returns the name of a partition."""
    return partition_name(table.partition_columns, values)


@dataclass(frozen=True)
class Affected:
    """What notifications say has changed: tables by database and name, or everything. ``last`` is the newest number.

    ``names`` says that a table may have got another name, ``functions`` that functions have changed.
    """

    last: int
    tables: frozenset[tuple[str, str]] = frozenset()
    names: bool = False
    everything: bool = False
    functions: bool = False


#: The types of events that concern functions, and the types that concern nothing that is imported.
_OF_FUNCTIONS = ("CREATE_FUNCTION", "DROP_FUNCTION")
_ELSEWHERE = ("OPEN_TXN", "COMMIT_TXN", "ABORT_TXN", "ALLOC_WRITE_ID", "ACID_WRITE")


def affected(events: Collection[Any], last: int) -> Affected:
    """Returns what the events after the number ``last`` have changed. A gap in the numbers is everything.

    Events may come in any order, and more than once.
    """
    new = sorted({event.eventId or 0: event for event in events if (event.eventId or 0) > last}.items())
    if not new:
        return Affected(last)
    numbers = [number for number, _ in new]
    newest = numbers[-1]
    if numbers != list(range(last + 1, last + 1 + len(numbers))):
        return Affected(newest, everything=True)
    tables: set[tuple[str, str]] = set()
    names = everything = functions = False
    for _, event in new:
        kind = str(event.eventType or "").upper()
        if kind in _ELSEWHERE:
            continue
        if kind in _OF_FUNCTIONS:
            functions = True
        elif event.dbName and event.tableName:
            tables.add((str(event.dbName).lower(), str(event.tableName).lower()))
            names |= kind in ("ALTER_TABLE", "CREATE_TABLE", "DROP_TABLE")
        else:
            everything = True
    return Affected(newest, frozenset(tables), names, everything, functions)


# The tables that an import is asked for.


@dataclass(frozen=True)
class Selection:
    """Tables by database and name, and whole databases; all if both are empty. Names are in lower case."""

    tables: frozenset[tuple[str, str]] = frozenset()
    databases: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Selection:
        """Reads texts such as ``sales.orders`` and ``sales.*``. Raises ``InterfaceError`` for others.

        >>> Selection.parse(["Sales.*"]).databases
        frozenset({'sales'})
        """
        tables: set[tuple[str, str]] = set()
        databases: set[str] = set()
        for text in texts:
            database, point, table = text.strip().lower().partition(".")
            if not database or not point or not table or "." in table:
                raise InterfaceError(
                    f"'{text}' is no table of a database.",
                    object=text,
                    hint="Write database.table, or database.* for all tables of a database.",
                )
            if table == "*":
                databases.add(database)
            else:
                tables.add((database, table))
        return cls(frozenset(tables), frozenset(databases))

    @property
    def is_everything(self) -> bool:
        return not self.tables and not self.databases

    def has_database(self, database: str) -> bool:
        """Returns whether all tables of a database, or some, are selected."""
        return self.is_everything or database in self.databases or any(name == database for name, _ in self.tables)

    def has_all_of(self, database: str) -> bool:
        """Returns whether everything in a database is selected: its functions, too."""
        return self.is_everything or database in self.databases

    def has_table(self, database: str, table: str) -> bool:
        """Returns whether a table is selected."""
        return self.has_all_of(database) or (database, table) in self.tables


# The directories of one table's partitions, in memory, while an import adds many.
#
# The checks are the checks of ``statements.resolve.location_conflicts``, which look at all partitions of the table for
# each statement. Here each new directory costs its depth.

#: The levels above a place at which a check is tried that then holds for all places below.
_LEVELS = (3, 2, 1)


class Places:
    """The places of a table's partitions, and checks of new ones.

    ``partitions`` are the ones that are there. Other tables are looked at once: a commit and each OVERWRITE check
    again.
    """

    def __init__(self, table: Table, partitions: Iterable[Partition]) -> None:
        self._table = table
        self._real = RealPaths()
        self._root = self._real.of(table.location)
        #: Whether all places below a directory are apart from other tables.
        self._is_apart: dict[str, bool] = {}
        self.reload(partitions)

    def reload(self, partitions: Iterable[Partition]) -> None:
        """Takes these partitions as the ones that are there."""
        self._index: PathIndex[tuple[PartitionValues, str]] = PathIndex(())
        self._current: dict[PartitionValues, str] = {}
        for partition in partitions:
            self._put(partition.values, partition.location or default_directory(self._table, partition.values))

    def _put(self, values: PartitionValues, location: str) -> str:
        """Notes the place of a partition, and returns the real path. An earlier one does not count any more."""
        place = self._real.of(location)
        self._current[values] = place
        self._index.add(place, (values, place))
        return place

    def check(self, locations: Mapping[PartitionValues, str], context: LocationContext) -> None:
        """Checks places that partitions get, and notes them. Raises ``IntegrityError`` SHARED_LOCATION and
        UNSAFE_LOCATION; then none is noted.
        """
        before = {values: self._current.get(values) for values in locations}
        try:
            for values, location in locations.items():
                self._check(values, location, context)
        except IntegrityError:
            self.restore(before)
            raise

    def restore(self, before: Mapping[PartitionValues, str | None]) -> None:
        """Forgets new places: those before count again."""
        for values, earlier in before.items():
            if earlier is None:
                self._current.pop(values, None)
            else:
                self._current[values] = earlier

    def current(self, values: Iterable[PartitionValues]) -> dict[PartitionValues, str | None]:
        """Returns the places of partitions, for ``restore``."""
        return {key: self._current.get(key) for key in values}

    def _check(self, values: PartitionValues, location: str, context: LocationContext) -> None:
        table, place = self._table, self._put(values, location)
        if not is_in(place, self._root) or place == self._root:
            self._check_apart(location, context)
        if is_shared(table):
            return
        if is_in(self._root, place):
            raise error_shared(table, location, f"the table {table.name}")
        for other, at in self._index.overlapping(place):
            if other != values and self._current.get(other) == at:
                raise error_shared(table, location, f"the partition {list(other)}")

    def _check_apart(self, location: str, context: LocationContext) -> None:
        """Checks a place outside the table. If a directory above is apart from all tables, then so is the place."""
        for level in _LEVELS:
            above = location
            for _ in range(level):
                above = above.rpartition("/")[0] if is_uri(above) else os.path.dirname(above)
            if above.count("/") < (3 if is_uri(location) else 1) or above == "/":
                continue
            if above not in self._is_apart:
                self._is_apart[above] = False
                with suppress(IntegrityError):
                    check_apart_from_tables(self._table, above, context)
                    self._is_apart[above] = True
            if self._is_apart[above]:
                return
        check_apart_from_tables(self._table, location, context)
