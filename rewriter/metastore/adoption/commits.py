"""The commits of an import: each on a snapshot of its own, and again after a conflict with other writers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from rewriter.catalog.clusters.definitions import Clusters, clusters_of
from rewriter.catalog.keys.paths import default_directory
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterPartitions,
    Change,
    CreateObject,
    DropPartitions,
    PartitionAlteration,
    PartitionWrite,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.errors import ConflictError, DataError, Error, IntegrityError, NotSupportedError, ProgrammingError
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.adoption.plan import Places, alteration
from rewriter.metastore.adoption.report import Counts

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.commit.transaction import Transaction
    from rewriter.catalog.reading.snapshot import Snapshot

#: How often a commit is tried that conflicts with others.
_ATTEMPTS = 5
#: The partitions of one table that are refused one by one. After these, the rest of their batch is refused with them.
_MOST_SINGLE = 100
#: Errors that are about what is committed, and not about the catalog's database.
REFUSALS = (DataError, IntegrityError, NotSupportedError, ProgrammingError)

_Result = TypeVar("_Result")
#: Gets the values of partitions that the catalog refuses, and the error.
Refused = Callable[[Sequence[PartitionValues], Error], None]


@dataclass(frozen=True)
class State:
    """The newest state of the catalog, as checks of locations read it."""

    catalog: Catalog

    @cached_property
    def snapshot(self) -> Snapshot:
        """The state at the first use. One read."""
        return self.catalog.snapshot()

    @cached_property
    def clusters(self) -> Clusters:
        return clusters_of(self.snapshot.properties())


def committed(catalog: Catalog, changes: Callable[[State], tuple[Sequence[Change], _Result]]) -> _Result:
    """Commits the changes that a function returns for the newest state, and returns its result. No change is no commit.

    New objects with the id 0 get one. The function is called again after a conflict. Raises the errors of the commit,
    and ``ConflictError`` after some attempts.
    """
    for attempt in range(_ATTEMPTS):
        state = State(catalog)
        made, result = changes(state)
        if not made:
            return result
        try:
            with catalog.begin(state.snapshot) as transaction:
                transaction.commit([_with_id(change, transaction) for change in made])
                return result
        except ConflictError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _with_id(change: Change, transaction: Transaction) -> Change:
    if isinstance(change, CreateObject) and change.object.id == 0:
        return CreateObject(replace(change.object, id=transaction.allocate_id()))
    return change


@dataclass
class PartitionCommits:
    """Commits the partitions of one table in batches. ``refused`` gets the partitions that the catalog refuses.

    ``places`` are the places of the partitions after ``writes`` commits that wrote the table.
    """

    catalog: Catalog
    table: Table
    refused: Refused
    places: Places
    writes: int
    #: The partitions that were refused, and the refused partitions that are there, until they are dropped.
    _single: int = 0
    _lost: list[PartitionValues] = field(default_factory=list)

    def put(self, writes: Sequence[PartitionWrite], live: Mapping[PartitionValues, Partition]) -> Counts:
        """Adds partitions, and changes the partitions that are there and differ. Returns the numbers.

        ``live`` has the partitions that are there. One commit, or none if all are equal. If the catalog refuses the
        commit, each half of it is tried, and so on. A partition whose change is refused is dropped: it is elsewhere.
        """
        added: list[PartitionWrite] = []
        altered: list[tuple[PartitionWrite, PartitionAlteration]] = []
        for write in writes:
            partition = live.get(write.values)
            if partition is None:
                added.append(write)
            elif (change := alteration(partition, write, self.table)) is not None:
                altered.append((write, change))
        counts = Counts()
        self._halved(added, altered, counts)
        lost, self._lost = self._lost, []
        counts.dropped += self.drop([live[values] for values in lost])
        return counts

    def drop(self, partitions: Sequence[Partition]) -> int:
        """Drops partitions in one commit. Files stay. Returns their number."""
        if not partitions:
            return 0
        keys = tuple(sorted(partition.key for partition in partitions))

        def changes(state: State) -> tuple[Sequence[Change], None]:
            existing = {
                partition.key for partition in state.snapshot.partitions(self.table, list(map(KeyRange.of_key, keys)))
            }
            dropped = tuple(key for key in keys if key in existing)
            return (
                [DropPartitions(self.table, dropped, tuple(map(KeyRange.of_key, dropped)))] if dropped else []
            ), None

        try:
            committed(self.catalog, changes)
            self.writes = -1
        except REFUSALS as error:
            self.refused([partition.values for partition in partitions], error)
            return 0
        return len(keys)

    def _halved(
        self, added: list[PartitionWrite], altered: list[tuple[PartitionWrite, PartitionAlteration]], counts: Counts
    ) -> None:
        number = len(added) + len(altered)
        if not number:
            return
        values = [*(write.values for write in added), *(write.values for write, _ in altered)]
        before = self.places.current(values)
        try:
            committed(self.catalog, lambda state: (self._changes(state, added, altered), None))
        except REFUSALS as error:
            self.places.restore(before)
            if number == 1 or self._single >= _MOST_SINGLE:
                self._single += number
                self._lost += [write.values for write, _ in altered]
                self.refused(values, error)
                return
        else:
            self.writes += 1
            counts.add(Counts(len(added), len(altered)))
            return
        if added and altered:
            self._halved(added, [], counts)
            self._halved([], altered, counts)
        else:
            half = number // 2
            self._halved(added[:half], altered[:half], counts)
            self._halved(added[half:], altered[half:], counts)

    def _changes(
        self, state: State, added: list[PartitionWrite], altered: list[tuple[PartitionWrite, PartitionAlteration]]
    ) -> list[Change]:
        table = self.table
        self._follow(state)
        locations = {write.values: write.location or default_directory(table, write.values) for write in added}
        locations |= {write.values: change.location for write, change in altered if change.location is not None}
        self.places.check(locations, state)
        changes: list[Change] = []
        if added:
            changes.append(AddPartitions(table, tuple(added), if_not_exists=True))
        if altered:
            changes.append(AlterPartitions(table, tuple(change for _, change in altered)))
        return changes

    def _follow(self, state: State) -> None:
        """Reads the partitions again if others have written the table since the last commit."""
        count = state.snapshot.write_ids(self.table.id).count
        if count != self.writes:
            self.places.reload(state.snapshot.partitions(self.table))
            self.writes = count
