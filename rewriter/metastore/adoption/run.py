"""The import: databases, tables and views, then the partitions of each table.

What is there and equal is skipped, so an import that was interrupted goes on where it was. Each batch is one commit.
A batch is fetched while the one before it is committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from rewriter.catalog.model.changes import AlterDatabase, Change, CreateObject, DropObject, PartitionWrite
from rewriter.catalog.model.objects import (
    DEFAULT_DATABASE,
    Function,
    Namespace,
    Partition,
    PartitionValues,
    Table,
    View,
    full_name,
    parts_of,
)
from rewriter.errors import DataError, Error, IntegrityError, OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.adoption.commits import REFUSALS, PartitionCommits, State, committed
from rewriter.metastore.adoption.definitions import IMPORTED, Wanted, wanted_database, wanted_object
from rewriter.metastore.adoption.plan import (
    NamedPartitions,
    PartitionReader,
    Places,
    RowFormat,
    Selection,
    name_of,
    needs_replacement,
    table_changes,
)
from rewriter.metastore.adoption.report import Counts, Report
from rewriter.metastore.adoption.source import TABLES, Source
from rewriter.metastore.column_statistics import ColumnStatistics, given_statistics, statistics_text
from rewriter.metastore.descriptors import STATISTICS
from rewriter.metastore.functions import catalog_function
from rewriter.runtime.progress import ProgressReporter
from rewriter.statements.resolve.location_conflicts import check_table_location, refused_locations

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog

#: The partitions of one request and one commit.
_BATCH = 2_000
#: The batches that are fetched ahead.
_AHEAD = 2
_UNASKED = "The source returned it, but was asked for others."
_LEFT_OUT = "They have a meaning here, or are reserved."

_Item = TypeVar("_Item")
_Fetched = TypeVar("_Fetched")
_Name = tuple[str, str]
_Created = tuple[set[str], dict[str, Error]]


@dataclass(frozen=True)
class _Found:
    """An object of the source: as Thrift has it, and as the catalog is to have it.

    ``has_said`` is whether the source has said which column statistics a table has.
    """

    name: str
    given: Any
    wanted: Wanted
    has_said: bool = False


@dataclass
class Import:
    """Brings the catalog in step with a source. All methods raise the errors of ``Source``, and the errors of the
    catalog's database; what cannot be taken is in the report instead.
    """

    catalog: Catalog
    source: Source
    selection: Selection = field(default_factory=Selection)
    report: Report = field(default_factory=Report)
    progress: ProgressReporter = field(default_factory=ProgressReporter)
    batch: int = _BATCH

    def everything(self) -> frozenset[_Name]:
        """Compares all that is selected, and returns the tables and views that the source has of it.

        Costs two requests for each database, one for each 100 tables, each table, each batch of partitions and each
        function, and one more for each batch of a table with column statistics of partitions.
        """
        self._databases()
        names = self.listed()
        # First: a table with another name has the directory of the one that is gone.
        self.drop_missing(names)
        self.tables(names)
        self.functions()
        self._drop_databases()
        return frozenset(names)

    def functions(self) -> None:
        """Compares the functions of the databases that are selected as a whole. One request for each of both."""
        databases = [name for name in self._source_databases() if self.selection.has_all_of(name)]
        _Functions(self.catalog, self.source, self.selection, self.report).compare(databases)

    def listed(self) -> list[_Name]:
        """Returns the selected tables that the source has."""
        return [
            (database, table)
            for database in self._source_databases()
            for table in (text.lower() for text in self.source.tables(database))
            if self.selection.has_table(database, table)
        ]

    def tables(self, names: Sequence[_Name]) -> None:
        """Compares some tables and views with the source, with all their partitions. Missing ones stay as they are."""
        for number, (database, some) in enumerate(_by_database(names)):
            self.progress.report("comparing", number, None, "", subject=database)
            self._try(database, "tables", self._some_tables, database, some)

    def _some_tables(self, database: str, names: Sequence[str]) -> None:
        for entry in self._defined(list(self._found(database, names))):
            self._partitions(database, entry)

    def drop_missing(self, names: Collection[_Name]) -> None:
        """Drops the tables and views that this source had, that are selected, and that are not among the names."""
        there = set(names)
        snapshot = self.catalog.snapshot()
        objects: list[Table | View] = [*snapshot.tables(), *snapshot.views()]
        for object_ in objects:
            database, name = _pair(object_)
            is_gone = (database, name) not in there and self.selection.has_table(database, name)
            if is_gone and self._is_ours(object_):
                self._try(object_.name, _kind(object_), self._drop, object_.name)
        for database, name in sorted(self.selection.tables - there):
            if snapshot.named(full_name(database, name)) is None:
                self.report.not_taken(f"{database}.{name}", "table", "The source does not have it.")

    def _drop(self, name: str) -> None:
        def changes(state: State) -> tuple[Sequence[Change], bool]:
            live = state.snapshot.named(name)
            is_ours = isinstance(live, Table | View) and self._is_ours(live)
            return ([DropObject(live)] if live is not None and is_ours else []), is_ours

        if committed(self.catalog, changes):
            self.report.tables.add(Counts(dropped=1))
            self.report.notice(f"{name}: dropped")

    # Databases

    def _source_databases(self) -> list[str]:
        names = (name.lower() for name in self.source.databases())
        return sorted({name for name in names if self.selection.has_database(name)})

    def _databases(self) -> None:
        for name in self._source_databases():
            if name != DEFAULT_DATABASE:
                self._try(name, "database", self._database, name)

    def _database(self, name: str) -> None:
        wanted = wanted_database(self.source.database(name), name, self.source.uri)

        def changes(state: State) -> tuple[Sequence[Change], Counts]:
            live = _database_in(state, name)
            if live is None:
                return [CreateObject(wanted)], Counts(created=1)
            # The location is that which a user of this catalog gave it.
            altered = replace(wanted, id=live.id, location=live.location)
            if live.properties.get(IMPORTED) != self.source.uri or altered == live:
                return [], Counts()
            return [AlterDatabase(altered)], Counts(changed=1)

        self.report.databases.add(committed(self.catalog, changes))

    def _drop_databases(self) -> None:
        if not self.selection.is_everything:
            return
        there = set(self._source_databases())
        for database in self.catalog.snapshot().databases():
            if database.name not in there and database.properties.get(IMPORTED) == self.source.uri:
                self._try(database.name, "database", self._drop_database, database)

    def _drop_database(self, database: Namespace) -> None:
        committed(self.catalog, lambda _: ([DropObject(database)], None))
        self.report.databases.add(Counts(dropped=1))

    # Tables and views

    def _found(self, database: str, names: Collection[str]) -> Iterator[_Found]:
        """Yields the named objects that the catalog can have."""
        missing = set(names)
        for given in self.source.table_objects(database, sorted(names)):
            name = str(given.tableName or "").lower()
            if str(given.dbName or "").lower() != database or name not in missing:
                self.report.not_taken(
                    f"{database}.{name}", "table", "The source returned it, but was asked for others."
                )
                continue
            missing.discard(name)
            try:
                yield self._with_statistics(
                    _Found(full_name(database, name), given, wanted_object(given, self.source.uri))
                )
            except REFUSALS as error:
                kind = "view" if given.viewOriginalText else "table"
                self.report.not_taken(f"{database}.{name}", kind, error.headline)
        for name in sorted(missing):
            self.report.not_taken(f"{database}.{name}", "table", "The source lists it, but does not return it.")

    def _with_statistics(self, entry: _Found) -> _Found:
        table = entry.wanted.object
        if not isinstance(table, Table):
            return entry
        text, has_said = _StatisticsOf(self.source, self.report, table, entry.given).of_table()
        return replace(entry, wanted=replace(entry.wanted, object=_add_statistics(table, text)), has_said=has_said)

    def _defined(self, found: Sequence[_Found]) -> list[_Found]:
        """Creates and changes objects. Returns the objects that the catalog now has as they are wanted."""
        taken, refused = self._created(found)
        for entry in found:
            if entry.name in taken or entry.name in refused:
                continue
            if self._try(entry.name, _kind(entry.wanted.object), self._changed, entry):
                taken.add(entry.name)
        for entry in found:
            if entry.name in taken and entry.wanted.left_out:
                names = ", ".join(entry.wanted.left_out)
                self.report.not_taken(
                    entry.name,
                    "properties",
                    "They have a meaning here, or are reserved.",
                    len(entry.wanted.left_out),
                    names,
                )
        return [entry for entry in found if entry.name in taken]

    def _created(self, found: Sequence[_Found]) -> tuple[set[str], set[str]]:
        """Creates the objects whose names are free, in one commit. Returns their names, and the refused names."""

        def changes(state: State) -> tuple[Sequence[Change], _Created]:
            new = [entry.wanted.object for entry in found if state.snapshot.named(entry.name) is None]
            tables = [object_ for object_ in new if isinstance(object_, Table)]
            errors: dict[str, Error] = dict(refused_locations(tables, state))
            new = [object_ for object_ in new if object_.name not in errors]
            return [CreateObject(object_) for object_ in new], ({object_.name for object_ in new}, errors)

        try:
            created, errors = committed(self.catalog, changes)
        except REFUSALS as refusal:
            if len(found) > 1:
                parts = [self._created([entry]) for entry in found]
                return set().union(*(made for made, _ in parts)), set().union(*(refused for _, refused in parts))
            created, errors = set(), dict.fromkeys((entry.name for entry in found), refusal)
        for name, error in errors.items():
            self.report.not_taken(name, "table", error.headline)
        self.report.tables.add(Counts(created=len(created)))
        return created, set(errors)

    def _changed(self, entry: _Found) -> None:
        def changes(state: State) -> tuple[Sequence[Change], bool]:
            wanted, live = entry.wanted.object, state.snapshot.named(entry.name)
            if live is None or not isinstance(live, Table | View) or not self._is_ours(live):
                raise IntegrityError(
                    "The catalog has an object of that name that this import did not make.",
                    condition="TABLE_OR_VIEW_ALREADY_EXISTS",
                    sqlstate="42P07",
                    object=entry.name,
                    hint="Rename one of them, and import again.",
                )
            if isinstance(wanted, Table) and not entry.has_said:
                wanted = _add_statistics(wanted, live.properties.get(STATISTICS))
            if isinstance(live, Table) and isinstance(wanted, Table) and not needs_replacement(live, wanted):
                changes = table_changes(live, replace(wanted, id=live.id))
                if live.location != wanted.location:
                    check_table_location(replace(wanted, id=live.id), state)
                    changes = table_changes(live, wanted, state.snapshot.partitions(live))
                return changes, bool(changes)
            if isinstance(live, View) and replace(wanted, id=live.id) == live:
                return [], False
            if isinstance(wanted, Table):
                check_table_location(wanted, state, (live.id,))
            return [DropObject(live), CreateObject(wanted)], True

        if committed(self.catalog, changes):
            self.report.tables.add(Counts(changed=1))

    def _is_ours(self, object_: Table | View) -> bool:
        return object_.properties.get(IMPORTED) == self.source.uri

    # Partitions

    def _partitions(self, database: str, one: _Found) -> None:
        if isinstance(one.wanted.object, Table) and one.wanted.object.partition_columns:
            self._try(one.name, "partitions", self._partitions_of, database, one)

    def _partitions_of(self, database: str, one: _Found) -> None:
        snapshot = self.catalog.snapshot()
        table = snapshot.table(one.name)
        reader = PartitionReader(table, RowFormat.of(one.given.sd, table.format))
        listed = NamedPartitions.of(self.source.partition_names(database, one.given.tableName), reader)
        for reason, names in listed.refused.items():
            self.report.not_taken(one.name, "partitions", reason, len(names), names[0])
        live = {partition.values: partition for partition in snapshot.partitions(table)}
        counts = Counts()
        commits = PartitionCommits(
            self.catalog,
            table,
            lambda values, error: self.report.not_taken(
                one.name, "partitions", error.headline, len(values), name_of(table, values[0])
            ),
            Places(table, live.values()),
            snapshot.write_ids(table.id).count,
        )
        # What the catalog has and cannot have any more is dropped, too: it would be read as something else.
        gone = [partition for values, partition in live.items() if values not in listed.by_values]
        for some in _batches(gone, self.batch):
            counts.dropped += commits.drop(some)
        statistics = _StatisticsOf(self.source, self.report, table, one.given)
        fetched = _prefetched(
            _batches(listed.by_values.items(), self.batch),
            lambda some: self._fetched(database, one, reader, dict(some), statistics, live),
        )
        done, total = 0, len(listed.by_values)
        with closing(fetched):
            try:
                for writes, refused in fetched:
                    self.progress.report("importing", done, total, "partitions", subject=one.name)
                    counts.dropped += commits.drop([live[values] for values in refused if values in live])
                    counts.add(commits.put(writes, live))
                    done += self.batch
            except KeyboardInterrupt:
                self.source.interrupt()
                raise
        self.report.partitions.add(counts)
        if counts:
            self.report.notice(f"{one.name}: partitions: {counts}")

    def _fetched(
        self,
        database: str,
        one: _Found,
        reader: PartitionReader,
        names: dict[PartitionValues, str],
        statistics: _StatisticsOf,
        live: Mapping[PartitionValues, Partition],
    ) -> tuple[list[PartitionWrite], list[PartitionValues]]:
        """Returns the partitions of these names that the catalog can have, and the values of the partitions that it
        cannot have.

        Runs beside the commits.
        """
        table, missing = one.given.tableName, dict(names)
        writes: list[PartitionWrite] = []
        refused: list[PartitionValues] = []
        is_said = False

        def refuse(reason: str, example: str | None, what: str = "partitions", count: int = 1) -> None:
            self.report.not_taken(one.name, what, reason, count, example)

        for given in self.source.partitions(database, table, list(names.values())):
            if (given.dbName, given.tableName) != (one.given.dbName, table):
                refuse("The source returned a partition of another table.", f"{given.dbName}.{given.tableName}")
                continue
            is_said |= _says_statistics(given.parameters)
            try:
                write, left_out = reader.read(given)
            except REFUSALS as error:
                values = reader.values_of(given)
                name = missing.pop(values or (), None)
                if values is not None and name is not None:
                    refused.append(values)
                refuse(error.headline, name or "/".join(map(str, given.values or ())))
                continue
            name = missing.pop(write.values, None)
            if name is None:
                refuse(_UNASKED, "/".join(map(str, given.values)))
                continue
            writes.append(write)
            if left_out:
                refuse(_LEFT_OUT, f"{name}: {', '.join(left_out)}", "properties of partitions", len(left_out))
        if missing:
            refuse("The source lists it, but does not return it.", next(iter(missing.values())), count=len(missing))
        return statistics.added(writes, names, live, is_said=is_said), refused

    def _try(self, name: str, what: str, run: Callable[..., None], *arguments: object) -> bool:
        """Runs a part of the import. Returns False if it was refused, which is then in the report."""
        try:
            run(*arguments)
        except REFUSALS as error:
            self.report.not_taken(name, what, error.headline)
            return False
        except OperationalError as error:
            if error.condition != "METASTORE_REFUSED":
                raise
            self.report.not_taken(name, what, error.headline)
            return False
        return True


def _database_in(state: State, name: str) -> Namespace | None:
    return next((database for database in state.snapshot.databases() if database.name == name), None)


def _pair(object_: Table | View) -> _Name:
    database, name = parts_of(object_.name)
    return database, name.lower()


def _kind(object_: Table | View) -> str:
    return "view" if isinstance(object_, View) else "table"


def _by_database(names: Sequence[_Name]) -> Iterator[tuple[str, list[str]]]:
    """Yields the tables of each database in parts of one request."""
    databases: dict[str, list[str]] = {}
    for database, table in sorted(set(names)):
        databases.setdefault(database, []).append(table)
    for database, tables in databases.items():
        for some in _batches(tables, TABLES):
            yield database, some


def _batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some


def _prefetched(items: Iterable[_Item], fetch: Callable[[_Item], _Fetched]) -> Generator[_Fetched]:
    """Yields what ``fetch`` returns for each item, in order. A thread is ahead by ``_AHEAD`` items at most."""
    with ThreadPoolExecutor(1, "rewriter-import") as pool:
        ahead: deque[Future[_Fetched]] = deque()
        try:
            for item in items:
                ahead.append(pool.submit(fetch, item))
                if len(ahead) > _AHEAD:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


# The permanent functions of a source's databases, which the catalog keeps for clients of the metastore.

_LISTING = "get_functions"


@dataclass(frozen=True)
class _Functions:
    """Brings the functions of the catalog in step with the functions of a source. It changes only the functions that an
    import made.
    """

    catalog: Catalog
    source: Source
    selection: Selection
    report: Report

    def compare(self, databases: Sequence[str]) -> None:
        """Compares the functions of databases of the source, and drops the functions of the source that are gone there.

        Costs a request for each database, and one for each function. Raises METASTORE_UNAVAILABLE, and the errors of
        the catalog's database.
        """
        listed: set[str] = set()
        unread: set[str] = set()
        for database in databases:
            try:
                names = sorted({name.lower(): name for name in self.source.functions(database)}.values())
            except OperationalError as error:
                if error.condition != "METASTORE_REFUSED":
                    raise
                if self.source.lacks(_LISTING):
                    self.report.not_taken(self.source.uri, "functions", f"The source does not have {_LISTING}.")
                    return
                self.report.not_taken(database, "functions", error.headline)
                unread.add(database)
                continue
            listed.update(full_name(database, name.lower()) for name in names)
            self._put(list(self._wanted(database, names)))
        self._drop_missing(listed, unread)

    def _wanted(self, database: str, names: Sequence[str]) -> Iterator[Function]:
        """Yields the functions that the catalog can have."""
        for name in names:
            try:
                given = self.source.function(database, name)
                returned = (str(given.dbName or "").lower(), str(given.functionName or "").lower())
                if returned == (database, name.lower()):
                    yield replace(catalog_function(given, 0, database, 0), source=self.source.uri)
                    continue
                reason = "The source returned another function."
            except REFUSALS as error:
                reason = error.headline
            except OperationalError as error:
                if error.condition != "METASTORE_REFUSED":
                    raise
                reason = error.headline
            self.report.not_taken(f"{database}.{name}", "function", reason)

    def _put(self, functions: Sequence[Function]) -> None:
        """Creates and replaces functions in one commit, or each in its own if that is refused."""
        try:
            counts = committed(self.catalog, self._changes(functions))
        except REFUSALS as error:
            if len(functions) > 1:
                for function in functions:
                    self._put([function])
                return
            self.report.not_taken(".".join(parts_of(functions[0].name)), "function", error.headline)
        else:
            self.report.functions.add(counts)

    def _changes(self, functions: Sequence[Function]) -> Callable[[State], tuple[list[Change], Counts]]:
        def changes(state: State) -> tuple[list[Change], Counts]:
            made: list[Change] = []
            counts = Counts()
            for wanted in functions:
                live = state.snapshot.find_function(wanted.name)
                if live is None:
                    counts.created += 1
                elif live.source != self.source.uri:
                    raise IntegrityError(
                        "The catalog has a function of that name that this import did not make.",
                        condition="ROUTINE_ALREADY_EXISTS",
                        sqlstate="42723",
                        object=wanted.name,
                        hint="Rename one of them, and import again.",
                    )
                elif replace(wanted, id=live.id) == live:
                    continue
                else:
                    made.append(DropObject(live))
                    counts.changed += 1
                made.append(CreateObject(wanted))
            return made, counts

        return changes

    def _drop_missing(self, listed: Collection[str], unread: Collection[str]) -> None:
        """Drops the selected functions of the source that it does not list. ``unread`` databases listed none."""

        def changes(state: State) -> tuple[list[Change], Counts]:
            gone = [
                function
                for function in state.snapshot.functions()
                if function.source == self.source.uri
                and function.name not in listed
                and (database := parts_of(function.name)[0]) not in unread
                and self.selection.has_all_of(database)
            ]
            return [DropObject(function) for function in gone], Counts(dropped=len(gone))

        self.report.functions.add(committed(self.catalog, changes))


# Column statistics of a source, as the hidden property in which the catalog keeps the statistics of clients.

_WHAT = "column statistics"
_OF_TABLE, _OF_PARTITIONS = "get_table_statistics_req", "get_partitions_statistics_req"
#: The moment of an analysis: the methods do not return it.
_UNKNOWN = 0
#: The parameter by which Hive says that it has statistics of columns, and the word in it.
_ACCURATE, _OF_COLUMNS = "COLUMN_STATS_ACCURATE", "COLUMN_STATS"


def _says_statistics(parameters: Mapping[str, str] | None) -> bool:
    """Returns whether the parameters of a partition say that it has column statistics. It may have some if not."""
    return _OF_COLUMNS in (parameters or {}).get(_ACCURATE, "")


@dataclass
class _StatisticsOf:
    """Reads the column statistics of one table and of its partitions.

    ``table`` is the table as the catalog has it or is to have it, ``given`` as the source has it.
    """

    source: Source
    report: Report
    table: Table
    given: Any
    #: Whether partitions had statistics; ``None`` before the first batch.
    _found: bool | None = None

    def of_table(self) -> tuple[str | None, bool]:
        """Returns the property of the table, ``None`` without statistics, and whether the source could say it.

        One request. Raises METASTORE_UNAVAILABLE.
        """
        objects = self._asked(_OF_TABLE, None)
        return (None, False) if objects is None else (self._text(objects, None), True)

    def added(
        self,
        writes: Sequence[PartitionWrite],
        names: Mapping[PartitionValues, str],
        live: Mapping[PartitionValues, Partition],
        *,
        is_said: bool,
    ) -> list[PartitionWrite]:
        """Returns the partitions of one batch with their statistics. One request, or none.

        If the first batch has no statistics, the source is not asked for later ones, but for those whose parameters
        say that there are some (``is_said``). The partitions that it is not asked for keep what they have in ``live``.
        Raises METASTORE_UNAVAILABLE.
        """
        given = (
            self._asked(_OF_PARTITIONS, list(names.values()))
            if writes and (is_said or self._found in (None, True))
            else None
        )
        if given is None:
            return [_with(write, _of(live.get(write.values))) for write in writes]
        self._found = bool(given) or self._found is True
        for name in given.keys() - set(names.values()):
            self._refuse("The source returned it, but was asked for others.", name)
        return [_with(write, self._text(given.get(names[write.values]) or (), names[write.values])) for write in writes]

    def _asked(self, method: str, names: Sequence[str] | None) -> Any:
        """Returns what the source has of the table, or of named partitions; ``None`` if it cannot say it."""
        own = {str(field.name).lower() for field in self.given.sd.cols or ()}
        columns = [column.name.lower() for column in self.table.columns if column.name.lower() in own]
        if self.source.lacks(method) or not columns:
            return None
        try:
            if names is None:
                return self.source.table_statistics(self.given.dbName, self.given.tableName, columns)
            return self.source.partition_statistics(self.given.dbName, self.given.tableName, columns, names)
        except OperationalError as error:
            if error.condition != "METASTORE_REFUSED":
                raise
            if self.source.lacks(method):
                self.report.not_taken(self.source.uri, _WHAT, f"The source does not have {method}.")
            else:
                self._refuse(error.headline, None)
                self._found = False if self._found is None else self._found
            return None

    def _text(self, objects: Iterable[Any], partition: str | None) -> str | None:
        given = list(objects)
        try:
            taken = self._taken(given)
        except DataError:
            taken = {}
            for one in given:
                try:
                    taken |= self._taken([one])
                except DataError as error:
                    self._refuse(error.headline, partition)
        return statistics_text(dict(sorted(taken.items()))) if taken else None

    def _taken(self, objects: Sequence[Any]) -> dict[str, ColumnStatistics]:
        return given_statistics(objects, self.table.columns, self.table.name, _UNKNOWN)

    def _refuse(self, reason: str, example: str | None) -> None:
        self.report.not_taken(self.table.name, _WHAT, reason, example=example)


def _of(live: Partition | None) -> str | None:
    return None if live is None else live.properties.get(STATISTICS)


def _with(write: PartitionWrite, text: str | None) -> PartitionWrite:
    return write if text is None else replace(write, properties={**write.properties, STATISTICS: text})


def _add_statistics(table: Table, text: str | None) -> Table:
    """Returns a table with that property, or as it is."""
    return table if text is None else replace(table, properties={**table.properties, STATISTICS: text})
