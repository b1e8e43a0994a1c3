"""The directories of one table's partitions, in memory, while an import adds many.

The checks are those of ``statements.resolve.location_conflicts``, which look at all partitions of the table for each
statement. Here each new directory costs its depth.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from rewriter.catalog.commit.directory_moves import default_directory
from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.catalog.model.real_paths import PathIndex, RealPaths, is_in
from rewriter.errors import IntegrityError
from rewriter.statements.resolve.location_conflicts import (
    LocationContext,
    check_apart_from_tables,
    error_shared,
    is_shared,
)
from rewriter.uris import is_uri

#: The levels above a place at which a check is tried that then holds for all places below.
_LEVELS = (3, 2, 1)


class Places:
    """The places of a table's partitions, and checks of new ones.

    ``partitions`` are those that are there. Other tables are looked at once: a commit and each OVERWRITE check again.
    """

    def __init__(self, table: Table, partitions: Iterable[Partition]) -> None:
        self._table = table
        self._real = RealPaths()
        self._root = self._real.of(table.location)
        #: Whether all places below a directory are apart from other tables.
        self._is_apart: dict[str, bool] = {}
        self.reload(partitions)

    def reload(self, partitions: Iterable[Partition]) -> None:
        """Takes these partitions as those that are there."""
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
        for values, place in before.items():
            if place is None:
                self._current.pop(values, None)
            else:
                self._current[values] = place

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
