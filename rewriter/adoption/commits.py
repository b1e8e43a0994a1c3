"""The commits of an import: each on a snapshot of its own, and again after a conflict with other writers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from rewriter.adoption.places import Places
from rewriter.adoption.plan import alteration
from rewriter.catalog.catalog import Catalog
from rewriter.catalog.clusters.definitions import Clusters, clusters_of
from rewriter.catalog.commit.directory_moves import default_directory
from rewriter.catalog.commit.transaction import Transaction
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterPartitions,
    Change,
    DropPartitions,
    PartitionAlteration,
    PartitionWrite,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.errors import ConflictError, DataError, Error, IntegrityError, NotSupportedError, ProgrammingError

#: How often a commit is tried that conflicts with others.
ATTEMPTS = 5
#: The partitions of one table that are refused one by one. After these, the rest of their batch is refused with them.
MOST_SINGLE = 100
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


def committed(catalog: Catalog, changes: Callable[[State, Transaction], tuple[Sequence[Change], _Result]]) -> _Result:
    """Commits the changes that a function returns for the newest state, and returns its result.

    The function is called again after a conflict. Raises the errors of the commit, and ``ConflictError`` after some
    attempts.
    """
    for attempt in range(ATTEMPTS):
        state = State(catalog)
        try:
            with catalog.begin(state.snapshot) as transaction:
                made, result = changes(state, transaction)
                transaction.commit(list(made))
                return result
        except ConflictError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


@dataclass
class PartitionCommits:
    """Commits the partitions of one table in batches. ``refused`` gets those that the catalog refuses.

    ``places`` are those of the partitions after ``writes`` commits that wrote the table.
    """

    catalog: Catalog
    table: Table
    refused: Refused
    places: Places
    writes: int
    _single: int = 0

    def put(self, writes: Sequence[PartitionWrite], live: dict[PartitionValues, Partition]) -> tuple[int, int]:
        """Adds partitions, and changes those that are there and differ. Returns the numbers of both.

        ``live`` has the partitions that are there. One commit, or none if all are equal. If the catalog refuses the
        commit, each half of it is tried, and so on.
        """
        added: list[PartitionWrite] = []
        altered: list[tuple[PartitionWrite, PartitionAlteration]] = []
        for write in writes:
            partition = live.get(write.values)
            if partition is None:
                added.append(write)
            elif (change := alteration(partition, write, self.table)) is not None:
                altered.append((write, change))
        return self._halved(added, altered)

    def drop(self, partitions: Sequence[Partition]) -> int:
        """Drops partitions in one commit. Files stay. Returns their number."""
        keys = tuple(sorted(partition.key for partition in partitions))

        def changes(state: State, _: Transaction) -> tuple[Sequence[Change], None]:
            there = {
                partition.key for partition in state.snapshot.partitions(self.table, list(map(KeyRange.of_key, keys)))
            }
            found = tuple(key for key in keys if key in there)
            return ([DropPartitions(self.table, found, tuple(map(KeyRange.of_key, found)))] if found else []), None

        try:
            committed(self.catalog, changes)
            self.writes = -1
        except REFUSALS as error:
            self.refused([partition.values for partition in partitions], error)
            return 0
        return len(keys)

    def _halved(
        self, added: list[PartitionWrite], altered: list[tuple[PartitionWrite, PartitionAlteration]]
    ) -> tuple[int, int]:
        count = len(added) + len(altered)
        if not count:
            return 0, 0
        before = self.places.current([*(write.values for write in added), *(write.values for write, _ in altered)])
        try:
            committed(self.catalog, lambda state, _: (self._changes(state, added, altered), None))
            self.writes += 1
            return len(added), len(altered)
        except REFUSALS as error:
            self.places.restore(before)
            if count == 1 or self._single >= MOST_SINGLE:
                self._single += count
                self.refused([*(write.values for write in added), *(write.values for write, _ in altered)], error)
                return 0, 0
        if added and altered:
            halves = (self._halved(added, []), self._halved([], altered))
        else:
            half = count // 2
            halves = self._halved(added[:half], altered[:half]), self._halved(added[half:], altered[half:])
        return halves[0][0] + halves[1][0], halves[0][1] + halves[1][1]

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
