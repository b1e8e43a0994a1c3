"""Reads of a catalog by callers that bring their list of valid write ids as text (seed 001)."""

from __future__ import annotations

from collections.abc import Callable

from rewriter.catalog.keys import encode
from rewriter.catalog.listed_reads import ListedReads
from rewriter.catalog.models import Partition, PartitionValues, Table
from rewriter.catalog.scan_filters import bind_text
from rewriter.catalog.store import Catalog
from rewriter.catalog.values import require_canonical
from rewriter.catalog.writeids import ValidWriteIdList
from rewriter.errors import AnalysisError, DataError, Error, ProgrammingError


class CachedCatalog:
    """Tables and partitions of a catalog, under lists that its callers bring.

    A list is the text of ``valid_write_id_list``, which the caller fetches once for all that it reads of a table. What
    memory holds under an equivalent list is answered without any call to the database. Without a list:

    - a managed table is an error, ``ProgrammingError`` VALID_WRITE_ID_LIST_REQUIRED: nobody could tell what is stale;
    - an external table is answered as memory has it, and the log brings that up to date: eventually consistent.

    Works with a catalog that keeps nothing in memory, too; every read goes to the store then.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def valid_write_id_list(self, name: str) -> str:
        """The write ids of a table that are valid now. Two reads, one where the log tells the list.

        Raises ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND.
        """
        snapshot = self._catalog.snapshot()
        return str(snapshot.write_ids(snapshot.table(name).id))

    def get_table(self, name: str, valid_write_id_list: str | None = None) -> Table:
        """The table of that name as the list sees it.

        Raises ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND, VALID_WRITE_ID_LIST_REQUIRED, and ``DataError``
        INVALID_WRITE_ID_LIST for what is no list of that table's, or one that sees what was not committed.
        """
        return self._listed(name, valid_write_id_list)[0]

    def get_partition(
        self, name: str, values: PartitionValues, valid_write_id_list: str | None = None
    ) -> Partition | None:
        """The partition with these canonical values; ``None`` where there is none.

        Raises what ``get_table`` raises, and ``DataError`` INVALID_PARTITION_SPEC.
        """
        table, listed = self._listed(name, valid_write_id_list)
        require_canonical(table.partition_columns, values)
        return listed.partition(table, encode(table.id, [one.type for one in table.partition_columns], values))

    def get_partitions(self, name: str, valid_write_id_list: str | None = None) -> tuple[Partition, ...]:
        """All partitions, in key order. Raises what ``get_table`` raises."""
        table, listed = self._listed(name, valid_write_id_list)
        return listed.satisfying(table, None)

    def get_partitions_by_filter(
        self, name: str, text: str, valid_write_id_list: str | None = None
    ) -> tuple[Partition, ...]:
        """The partitions for which a filter is TRUE, in key order.

        Raises what ``get_table`` and ``bind_text`` raise.
        """
        table, listed = self._listed(name, valid_write_id_list)
        return listed.satisfying(table, bind_text(text, table.partition_columns))

    def list_partitions_by_filter(
        self, name: str, text: str, valid_write_id_list: str | None = None
    ) -> tuple[Partition, ...]:
        """``get_partitions_by_filter`` under the name that the Flink proposal gives it."""
        return self.get_partitions_by_filter(name, text, valid_write_id_list)

    def _listed(self, name: str, text: str | None) -> tuple[Table, ListedReads]:
        if text is None:
            return self._newest(name)
        ids = ValidWriteIdList.parse(text)
        if not (ids.table.isascii() and ids.table.isdigit()):
            raise _of_another(name, text)
        listed = self._catalog.reads_under(ids)
        table = listed.definition(_missing(name))
        if table.name.lower() != name.lower():
            raise _of_another(name, text)
        if not isinstance(table, Table):
            raise _missing(name)()
        return table, listed

    def _newest(self, name: str) -> tuple[Table, ListedReads]:
        """An external table, as memory has it."""
        cache = self._catalog.cache
        found = None if cache is None else cache.newest(name.lower())
        if isinstance(found, Table):
            ids = None if cache is None else cache.newest_ids(found.id)
        else:
            snapshot = self._catalog.snapshot()
            found = snapshot.table(name)
            ids = snapshot.write_ids(found.id)
        if not found.external or ids is None:
            raise ProgrammingError(
                f"the table '{found.name}' is managed: what holds of it depends on the write ids that the reader sees",
                condition="VALID_WRITE_ID_LIST_REQUIRED",
                object=found.name,
                hint="bring the list that valid_write_id_list answers; only external tables are read without one",
            )
        return found, self._catalog.reads_under(ids)


def _missing(name: str) -> Callable[[], Error]:
    def error() -> Error:
        return AnalysisError(
            f"the table or view '{name}' cannot be found",
            condition="TABLE_OR_VIEW_NOT_FOUND",
            sqlstate="42P01",
            object=name,
            hint="the list sees no such table: it may have been dropped by then, or not yet made",
        )

    return error


def _of_another(name: str, text: str) -> DataError:
    return DataError(
        f"'{text}' is no list of the write ids of '{name}'",
        condition="INVALID_WRITE_ID_LIST",
        object=name,
        hint="a list begins with the table's id; bring the one that valid_write_id_list answers for this table",
    )
