"""The proofs in the rows of partitions, as a snapshot sees them: why some are unproven, and what others rest on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from rewriter.catalog.model.key_ranges import KeyRange, merged
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.origins import Origin, OriginKind, Origins
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.catalog.reading import history, queries
from rewriter.catalog.store.database import Database


class ProofReads(ABC):
    """Reads of proofs, which are all reads of a snapshot under the write ids of a table."""

    _database: Database

    @property
    @abstractmethod
    def sequence(self) -> int:
        """The number of the newest commit that the snapshot sees."""

    @abstractmethod
    def write_ids(self, object_id: int) -> ValidWriteIdList:
        """Returns the visible write ids of a table."""

    @abstractmethod
    def _store(self, object_id: int) -> Database:
        """Returns the database that has the rows of a table."""

    def doubts(self, table: Table, ranges: Sequence[KeyRange]) -> tuple[str, ...]:
        """Returns the reasons why partitions with keys in any of the ranges are unproven, the most frequent one first;
        then the words that they rest on.

        Costs a scan of the partitions in the ranges, inside the database.
        """
        with self._store(table.id).read() as connection:
            doubts = history.doubts(connection, self.write_ids(table.id), merged(ranges))
        words = self.words(
            origin
            for origins in self.origins(table, ranges).values()
            for origin in origins
            if origin.kind is not OriginKind.COPIED  # a change there makes it outdated
            and (origin.table != table.id or origin.accepted != origin.as_of)  # an accepted partition itself
        )
        return (*doubts, *(f"it rests {word}, and that has changed or is not given any more" for word in words))

    def origins(self, table: Table, ranges: Sequence[KeyRange] | None = None) -> Mapping[bytes, Origins]:
        """Returns what partitions with keys in any of the ranges (``None``: all) rest on, by key, of those that rest on
        anything. One indexed statement, which reads those alone.
        """
        key_ranges = None if ranges is None else merged(ranges)
        with self._store(table.id).read() as connection:
            return history.origins(connection, self.write_ids(table.id), table.id, key_ranges)

    def words(self, origins: Iterable[Origin]) -> tuple[str, ...]:
        """Returns what content with some origins rests on, as texts, each once, in order, such as 'on the content of
        hours'. One indexed read for each table.
        """
        by_table: dict[int, set[OriginKind]] = {}
        for origin in origins:
            by_table.setdefault(origin.table, set()).add(origin.kind)
        words: list[str] = []
        for table_id, kinds in by_table.items():
            with self._database.read() as connection:
                objects = queries.objects(connection, self.sequence, id=table_id)
            name = objects[0][0].name if objects else f"the dropped table with the id {table_id}"
            words += [_WORDS[kind].format(name) for kind in kinds]
        return tuple(sorted(words))

    def open_keys(self, table: Table) -> frozenset[bytes]:
        """Returns the keys of the partitions of a table that streams fill. O(partitions), inside the database."""
        with self._store(table.id).read() as connection:
            return history.open_keys(connection, self.write_ids(table.id), table.id)


_WORDS = {
    OriginKind.TRUSTED: "on the word of the owner of {} (TRUSTED)",
    OriginKind.ACCEPTED: "on the acceptance of {} by CHECK FACT",
    OriginKind.COPIED: "on the content of {}",
}
