"""Column statistics of a source, as the hidden property in which the catalog keeps those of clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewriter.catalog.model.changes import PartitionWrite
from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.errors import DataError, OperationalError
from rewriter.metastore.adoption.report import Report
from rewriter.metastore.adoption.source import Source
from rewriter.metastore.column_statistics import ColumnStatistics, given_statistics, statistics_text
from rewriter.metastore.descriptors import STATISTICS

_WHAT = "column statistics"
_OF_TABLE, _OF_PARTITIONS = "get_table_statistics_req", "get_partitions_statistics_req"
#: The moment of an analysis: the methods do not return it.
_UNKNOWN = 0
#: The parameter by which Hive says that it has statistics of columns, and the word in it.
_ACCURATE, _OF_COLUMNS = "COLUMN_STATS_ACCURATE", "COLUMN_STATS"


def says_statistics(parameters: Mapping[str, str] | None) -> bool:
    """Returns whether the parameters of a partition say that it has column statistics. It may have some if not."""
    return _OF_COLUMNS in (parameters or {}).get(_ACCURATE, "")


@dataclass
class StatisticsOf:
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


def with_statistics(table: Table, text: str | None) -> Table:
    """Returns a table with that property, or as it is."""
    return table if text is None else replace(table, properties={**table.properties, STATISTICS: text})
