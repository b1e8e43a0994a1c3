"""Checks the locations of external tables and their partitions.

They must be apart from managed directories, from the file system's root, and, unless a property states that files
are shared, from each other. Tables that share files are overwritten together: an INSERT OVERWRITE of one removes the
files that the other reads. So a location is checked when it is given, and again before an OVERWRITE removes
anything: older catalogs keep the tables that they have, and a directory may have become a link.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from rewriter.catalog.commit.exposures import FOLDER
from rewriter.catalog.commit.location_claims import SHARED
from rewriter.catalog.keys.encoding import prefix_of
from rewriter.catalog.keys.paths import default_directory, is_discovered, level_text, level_value
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.stored_paths import PathIndex, RealPaths, is_in
from rewriter.catalog.model.temporary_views import with_typed_names
from rewriter.errors import AnalysisError, DataError, IntegrityError
from rewriter.lazy_dataclass import dataclass
from rewriter.statements.resolve.locations import root_of_cluster
from rewriter.uris import is_uri, root_and_levels

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.clusters.definitions import Clusters
    from rewriter.catalog.model.objects import Partition, PartitionValues, Table
    from rewriter.catalog.reading.snapshot import Snapshot

#: A directory with such a name in the warehouse, or in the LOCATION of a database, is a managed table's, or may become
#: one's.
_OF_A_TABLE = re.compile(r".+-[0-9]+", re.DOTALL)
_IN_THE_WAREHOUSE = re.compile(
    rf"(.+\.db|{FOLDER}|temporary-[0-9a-f]{{32}}|\.rewriter-.*|catalog\.db.*)", re.DOTALL | re.IGNORECASE
)


class LocationContext(Protocol):
    """The catalog and its state in which a location is checked. The context of a statement is one."""

    @property
    def catalog(self) -> Catalog: ...

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def clusters(self) -> Clusters: ...


def is_about_sharing(key: str) -> bool:
    """Returns whether a property is ``SHARED``, in any case."""
    return key.lower() == SHARED


def checked_sharing(key: str, value: str, table: Table) -> tuple[str, str]:
    """Returns the property in its canonical spelling.

    Raises ``AnalysisError`` INVALID_DIRECTORY_PROPERTY for another value, and for a managed table.
    """
    text = value.strip().lower()
    if text not in ("true", "false") or not table.external:
        raise AnalysisError(
            f"'{value}' is neither true nor false."
            if table.external
            else f"The files of the managed table {table.name} cannot be shared.",
            condition="INVALID_DIRECTORY_PROPERTY",
            object=key,
            hint=f"{key} = 'true' lets an external table share files with others.",
        )
    return SHARED, text


def check_table_location(table: Table, context: LocationContext, replaced_ids: Collection[int] = ()) -> None:
    """Raises ``IntegrityError`` where an external table may not have its location.

    UNSAFE_LOCATION: it is the root of the file system; it is or contains the warehouse or the LOCATION of a
    database; it lies in a managed directory there. SHARED_LOCATION: it is, contains or lies in the location of
    another external table or partition, and neither table has the property ``SHARED``. ``replaced_ids`` are
    tables that the statement drops.

    Links are resolved. Costs a look at the directories of all tables, and a scan of the partitions with a location
    of their own.
    """
    surroundings = _Surroundings.of(context, {table.id, *replaced_ids})
    surroundings.check(table, [table.location])
    has_own_partitions = table.partition_columns and not is_discovered(table) and not is_shared(table)
    real = RealPaths()
    for partition in context.snapshot.partitions_at(table, [table.location]) if has_own_partitions else ():
        # Locations below the table's are where its partitions usually lie.
        if is_in(real.of(table.location), real.of(partition.location or "")):
            raise error_shared(table, table.location, _user_text(table, partition))


def refused_locations(tables: Sequence[Table], context: LocationContext) -> dict[str, IntegrityError]:
    """Checks as ``check_table_location``, for new tables that are created together: they must be apart from each
    other, too. Returns the errors by the names of the tables; of two that share files, the first has none.

    Costs a look at the directories of all tables, and one scan of the partitions of each for all new ones together.
    """
    surroundings = _Surroundings.of(context, ())
    users = PathIndex(surroundings.partitions_at([table.location for table in tables]))
    real, errors = RealPaths(), dict[str, IntegrityError]()
    for table in tables:
        try:
            surroundings.check_tables(table, [table.location])
            user = next(users.overlapping(real.of(table.location)), None)
            if user is not None and not is_shared(table):
                raise error_shared(table, table.location, user)
        except IntegrityError as error:
            errors[table.name] = error
            continue
        added = (table, _Chain.of(table.location))
        surroundings = replace(surroundings, other_tables=(*surroundings.other_tables, added))
    return errors


def check_new_location(table: Table, location: str, context: LocationContext) -> None:
    """Checks as ``check_table_location``, for another location of a table whose partitions stay where they are."""
    check_table_location(replace(table, location=location), context)
    real = RealPaths()
    is_used = (
        partition
        for partition in _at_default(table, location, context)
        if is_in(real.of(location), real.of(default_directory(table, partition.values)))
    )
    user = next(is_used, None)
    if user is not None and not is_shared(table):
        raise error_shared(table, location, _user_text(table, user))


def check_partition_locations(
    table: Table,
    locations: Iterable[tuple[PartitionValues, str]],
    context: LocationContext,
    source: Table | None = None,
) -> None:
    """Checks as ``check_table_location``, for locations of partitions.

    They must also be apart from the table's other partitions. They may lie below the table, but not be or contain
    it. ``source`` is the table that they belonged to.
    """
    places = dict(locations)
    _Surroundings.of(context, {table.id, *([] if source is None else [source.id])}).check(table, places.values())
    if is_shared(table):
        return
    if source is not None and not is_shared(source):
        other = _Chain.of(source.location)
        for location, chain in ((location, _Chain.of(location)) for location in places.values()):
            if chain.holds(other) or other.holds(chain):
                raise error_shared(table, location, f"the table {source.name}")
    by_place: dict[str, PartitionValues] = {}
    paths = RealPaths()
    for values, location in places.items():
        real = paths.of(location)
        if real in by_place:
            raise error_shared(table, location, partition_name(table.partition_columns, by_place[real]))
        by_place[real] = values
        if is_in(paths.of(table.location), real):
            raise error_shared(table, location, f"the table {table.name}")
        user = next(
            (partition for partition in _at_default(table, location, context) if partition.values != values), None
        )
        if user is not None:
            raise error_shared(table, location, _user_text(table, user))
    check_partitions_apart(table, places, context)


def check_apart_from_tables(table: Table, location: str, context: LocationContext) -> None:
    """Checks as ``check_table_location``, for a place of a table, but not against the table's own partitions."""
    _Surroundings.of(context, {table.id}).check(table, [location])


def check_partitions_apart(table: Table, locations: Mapping[PartitionValues, str], context: LocationContext) -> None:
    """Raises SHARED_LOCATION where the directory of one of these partitions conflicts with another partition's own
    location.

    They conflict where one is, contains or lies in the other.
    """
    if not locations or is_shared(table) or not table.partition_columns or is_discovered(table):
        return
    real = RealPaths()
    places = {values: real.of(location) for values, location in locations.items()}
    if not any(map(is_uri, places.values())):
        # The index of many places is made only if any partition is near them.
        users = context.snapshot.partitions_at(table, [os.path.commonpath(places.values())])
    else:
        users = context.snapshot.partitions_at(table, list(locations.values()))
    if not users:
        return
    nest = PathIndex((places[values], (values, location)) for values, location in locations.items())
    for user in users:
        for values, location in nest.overlapping(real.of(user.location or "")):
            if values != user.values:
                raise error_shared(table, location, _user_text(table, user))


def check_database_location(location: str, context: LocationContext) -> None:
    """Raises ``IntegrityError`` UNSAFE_LOCATION where managed tables would lie in an external table's directory, in a
    managed directory, or in the root of the file system.
    """
    _refuse_root(location)
    _refuse_managed(location, [], context, is_ancestor=False)
    chain = _Chain.of(location)
    for table in context.snapshot.tables():
        if table.external and _Chain.of(table.location).holds(chain):
            raise _error_unsafe(
                location, f"is inside the location of the external table {with_typed_names(table.name)}"
            )
        for user in context.snapshot.partitions_at(table, [location]) if table.external else ():
            if _Chain.of(user.location or "").holds(chain):
                raise _error_unsafe(
                    location, f"is inside the location of {_user_text(table, user)} of {with_typed_names(table.name)}"
                )


def check_source_directory(path: str, context: LocationContext) -> None:
    """Raises ``IntegrityError`` UNSAFE_LOCATION where files are not to be copied from: directories of managed tables
    hold files that no reader sees, and files that VACUUM will remove.
    """
    managed = [(table.location, _Chain.of(table.location)) for table in context.snapshot.tables() if not table.external]
    try:
        _refuse_managed(path, managed, context)
    except IntegrityError as error:
        error.hint = "Read a managed table by its name: INSERT INTO t SELECT … FROM table."
        raise


def check_output_directory(path: str, context: LocationContext) -> None:
    """Raises ``IntegrityError`` UNSAFE_LOCATION where the content of a directory may not be replaced.

    It may not be, contain or lie in the location of a table or of a partition, nor be the root of the file system.
    """
    chain = _Chain.of(path)
    tables = [(table, _Chain.of(table.location)) for table in context.snapshot.tables()]
    _refuse_root(path)
    _refuse_managed(path, [(table.location, other) for table, other in tables if not table.external], context)
    for table, other in tables:
        if chain.holds(other) or other.holds(chain):
            raise _error_unsafe(path, f"shares files with the table {with_typed_names(table.name)}")
        if table.partition_columns and table.external and not is_discovered(table):
            for partition in context.snapshot.partitions_at(table, [path]):
                raise _error_unsafe(
                    path, f"shares files with {_user_text(table, partition)} of {with_typed_names(table.name)}"
                )


def unused_locations(table: Table, locations: Sequence[str], context: LocationContext) -> list[str]:
    """Returns those directories of a table, or of dropped partitions of it, whose files nobody else reads.

    None of a table that shares files; none that is, contains or lies in the location of another table or of a
    partition. Costs a look at the directories of all tables, and a scan of the partitions with a location of their own.
    """
    if is_shared(table) or not locations:
        return []
    others = _Surroundings.of(context, {table.id}).other_tables
    readers = [other for other, _ in others if other.external] + [
        live for live in context.snapshot.tables() if live.id == table.id
    ]
    registered = [reader for reader in readers if reader.partition_columns and not is_discovered(reader)]
    real = RealPaths()
    taken = PathIndex(
        (real.of(partition.location or ""), partition)
        for reader in registered
        for partition in context.snapshot.partitions_at(reader, locations)
    )
    chains = ((location, _Chain.of(location)) for location in locations)
    return [
        location
        for location, chain in chains
        if not any(chain.holds(other) or other.holds(chain) for _, other in others)
        and not any(True for _ in taken.overlapping(real.of(location)))
    ]


def is_shared(table: Table) -> bool:
    """Returns whether an external table states that it shares files."""
    return table.properties.get(SHARED) == "true"


@dataclass(frozen=True)
class _Chain:
    """A path: the identities of the existing directories, and the names after them. A bucket always exists."""

    directories: tuple[object, ...]
    missing_names: tuple[str, ...]

    @classmethod
    def of(cls, path: str) -> _Chain:
        if is_uri(path):
            root, names = root_and_levels(path)
            return cls((root,), names)
        levels = os.path.realpath(path).split(os.sep)[1:]
        directories: list[object] = []
        for number in range(len(levels) + 1):
            try:
                status = os.stat(os.path.join(os.sep, *levels[:number]))
            except OSError:
                return cls(tuple(directories), tuple(levels[number - 1 :]))
            directories.append((status.st_dev, status.st_ino))
        return cls(tuple(directories), ())

    def holds(self, other: _Chain) -> bool:
        """Returns whether a directory is the other one, or above it."""
        if not self.missing_names:
            return self.directories[-1] in other.directories
        return (
            self.directories[-1] == other.directories[-1]
            and other.missing_names[: len(self.missing_names)] == self.missing_names
        )


@dataclass(frozen=True)
class _Surroundings:
    """The other tables, each with the chain of its location."""

    context: LocationContext
    other_tables: tuple[tuple[Table, _Chain], ...]

    @classmethod
    def of(cls, context: LocationContext, own: Collection[int]) -> _Surroundings:
        others = (table for table in context.snapshot.tables() if table.id not in own)
        places = ((table, place) for table in others for place in (table.location, *copies_of(table)))
        return cls(context, tuple((_at(table, place), _Chain.of(place)) for table, place in places))

    def check(self, table: Table, locations: Iterable[str]) -> None:
        places = list(locations)
        self.check_tables(table, places)
        if is_shared(table):
            return
        for location, user in self.partitions_at(places):
            raise error_shared(table, location, user)

    def check_tables(self, table: Table, places: Sequence[str]) -> None:
        """Checks places against the tables alone, and not against their partitions."""
        managed = [
            (managed_table.location, chain) for managed_table, chain in self.other_tables if not managed_table.external
        ]
        for location in places:
            _refuse_root(location)
            _refuse_managed(location, managed, self.context)
        if is_shared(table):
            return
        others = [
            (external, chain) for external, chain in self.other_tables if external.external and not is_shared(external)
        ]
        for location in places:
            chain = _Chain.of(location)
            user = next((external for external, other in others if chain.holds(other) or other.holds(chain)), None)
            if user is not None:
                raise error_shared(table, location, f"the table {with_typed_names(user.name)}")

    def partitions_at(self, places: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yields the locations of registered partitions that conflict with one of the places, and what has them."""
        for other, _ in self.other_tables:
            if other.external and other.partition_columns and not is_shared(other) and not is_discovered(other):
                for partition in self.context.snapshot.partitions_at(other, places):
                    yield partition.location or "", f"{_user_text(other, partition)} of {with_typed_names(other.name)}"


def check_apart(location: str, others: Iterable[str]) -> None:
    """Raises ``IntegrityError`` UNSAFE_LOCATION for a directory that shares files with one of the others."""
    chain = _Chain.of(location)
    for place, other in ((place, _Chain.of(place)) for place in others):
        if chain.holds(other) or other.holds(chain):
            raise _error_unsafe(location, f"shares files with {place}")


def copies_of(table: Table) -> Iterator[str]:
    """Yields the directories of the copies that secondary clusters have."""
    return (copy.location for copy in table.copies)


def _at(table: Table, place: str) -> Table:
    """Returns a table as the user of one of its directories: directories of copies are managed."""
    return table if place == table.location else replace(table, location=place, external=False)


def _refuse_root(location: str) -> None:
    real = os.path.realpath(location)
    if os.path.dirname(real) == real and not is_uri(location):
        raise _error_unsafe(location, "is the root of the file system")


def _refuse_managed(
    path: str, managed: Iterable[tuple[str, _Chain]], context: LocationContext, is_ancestor: bool = True
) -> None:
    """Raises UNSAFE_LOCATION for directories that are managed, or would be. ``is_ancestor`` also refuses the
    directories above them.
    """
    chain = _Chain.of(path)
    warehouse, homes = str(context.catalog.warehouse.absolute()), _homes(context)
    for root, name in _roots(context):
        if (is_ancestor or root in homes) and chain.holds(_Chain.of(root)):
            raise _error_unsafe(path, f"is or contains {name}")
        write_directory = _first_level(path, root)
        pattern = _IN_THE_WAREHOUSE if root == warehouse else None
        if write_directory is not None and (
            _OF_A_TABLE.fullmatch(write_directory) or (pattern is not None and pattern.fullmatch(write_directory))
        ):
            raise _error_unsafe(
                path, f"is in {write_directory} of {name}, a name that is used for directories of managed tables"
            )
    for location, other in managed:
        if chain.holds(other) or other.holds(chain):
            raise _error_unsafe(path, f"shares the managed directory {location}")


def _first_level(path: str, root: str) -> str | None:
    """Returns the name below a root that leads to a path; ``None`` for a path that is not below it."""
    real = RealPaths()
    path, root = real.of(path), real.of(root)
    return path[len(root) :].strip(os.sep).split(os.sep)[0] if is_in(path, root) and path != root else None


def _roots(context: LocationContext) -> Iterator[tuple[str, str]]:
    """Yields the directories above the directories of managed tables, with their names."""
    yield str(context.catalog.warehouse.absolute()), "the warehouse"
    for database in context.snapshot.databases():
        if database.location is not None:
            yield database.location, f"the directory of the database {database.name}"
    for cluster in context.clusters.by_name.values():
        if cluster.root is not None:
            yield cluster.root, f"the filesystem of the cluster {cluster.name}"
            yield root_of_cluster(cluster, context.catalog), f"the directory of the cluster {cluster.name}"


def _homes(context: LocationContext) -> set[str]:
    """Returns the directories that are ours alone: the directories of the warehouse on each cluster."""
    clusters = context.clusters.by_name.values()
    homes = {root_of_cluster(cluster, context.catalog) for cluster in clusters}
    return homes | {str(context.catalog.warehouse.absolute())}


def _at_default(table: Table, location: str, context: LocationContext) -> Iterator[Partition]:
    """Yields the registered partitions whose default directory is, contains or lies in a place below the table."""
    paths = RealPaths()
    real, root = paths.of(location), paths.of(table.location)
    if is_discovered(table) or not is_in(real, root) or real == root:
        return
    values: list[str | None] = []
    for index, level in enumerate(real[len(root) :].strip(os.sep).split(os.sep)[: len(table.partition_columns)]):
        text = level_text(table, index, level)
        if text is None:
            return
        try:
            values.append(level_value(table.partition_columns[index], text))
        except DataError:
            return
    types = [column.type for column in table.partition_columns]
    for partition in context.snapshot.partitions(
        table, [KeyRange.of_prefix(prefix_of(table.id, types, tuple(values)))]
    ):
        default = paths.of(default_directory(table, partition.values))
        if partition.location is None and (is_in(real, default) or is_in(default, real)):
            yield partition


def _user_text(table: Table, partition: Partition) -> str:
    return f"the partition {partition_name(table.partition_columns, partition.values)}"


def _error_unsafe(location: str, reason: str) -> IntegrityError:
    return IntegrityError(
        f"The location {location} {reason}.",
        condition="UNSAFE_LOCATION",
        object=location,
        hint="Name a separate directory: INSERT OVERWRITE can remove files there.",
    )


def error_shared(table: Table, location: str, user: str) -> IntegrityError:
    """Returns the error for a location that shares files with something."""
    return IntegrityError(
        f"The location {location} shares files with {user}: an INSERT OVERWRITE of one removes files of the other.",
        condition="SHARED_LOCATION",
        object=location,
        hint=f"Name another directory, or declare that {with_typed_names(table.name)} shares files: TBLPROPERTIES "
        f"('{SHARED}' = 'true').",
    )
