"""What the handlers share: the catalog, what the server permits, and the call that they handle."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rewriter.catalog.clusters.definitions import Clusters, clusters_of
from rewriter.catalog.keys.paths import default_directory
from rewriter.catalog.metastore_writes import CachedCatalog
from rewriter.catalog.model.objects import DEFAULT_DATABASE, Table, full_name, parts_of
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.errors import DataError, OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.service.calls.client_transactions import ClientTransactions
from rewriter.metastore.service.calls.locks import Locks
from rewriter.metastore.service.calls.names import database_name
from rewriter.statements.resolve.location_conflicts import (
    check_new_location,
    check_partition_locations,
    check_partitions_apart,
    check_table_location,
    unused_locations,
)

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.model.changes import Change, PartitionWrite
    from rewriter.catalog.model.objects import Table
    from rewriter.catalog.reading.snapshot import Snapshot

# The names of the partitions of a few tables, under the list of write ids that they were made for.

#: The most names that are kept together, and tables.
_NAMES, _TABLES = 2_000_000, 64


class RememberedNames:
    """Keeps the last lists of names. A list is found again only under an equal list of write ids, so it is never stale.
    For any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lists: OrderedDict[int, tuple[str, list[str]]] = OrderedDict()

    def of(self, table_id: int, write_ids: str, make: Callable[[], list[str]]) -> list[str]:
        """Returns the names of all partitions of a table: the kept names, or new ones. Do not change the list."""
        with self._lock:
            kept = self._lists.get(table_id)
            if kept is not None and kept[0] == write_ids:
                self._lists.move_to_end(table_id)
                return kept[1]
        names = make()
        with self._lock:
            self._lists[table_id] = (write_ids, names)
            self._lists.move_to_end(table_id)
            total = sum(len(names) for _, names in self._lists.values())
            while len(self._lists) > _TABLES or (total > _NAMES and self._lists):
                total -= len(self._lists.popitem(last=False)[1][1])
        return names


# Counters of the calls of a server, under the names that fb303 clients ask for.


class CallMetrics:
    """Counts calls, errors and microseconds by method. For any thread. Some microseconds for each call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def record(self, method: str, milliseconds: float, failed: bool) -> None:
        """Counts a call that has ended."""
        with self._lock:
            self._counts[f"{method}.calls"] += 1
            self._counts[f"{method}.microseconds"] += int(milliseconds * 1000)
            if failed:
                self._counts[f"{method}.errors"] += 1

    def counters(self) -> dict[str, int]:
        """Returns all counters by name, such as ``get_table.calls``."""
        with self._lock:
            return dict(self._counts)


@dataclass(frozen=True)
class Service:
    """A catalog under service. ``read_only`` refuses all changes.

    Directories are made and removed for clients only below ``roots``, and below the folder of the warehouse for tables
    of clients. ``transactions`` and ``locks`` belong to its clients, ``metrics`` count their calls.
    """

    catalog: Catalog
    read_only: bool = False
    roots: tuple[str, ...] = ()
    transactions: ClientTransactions = field(default_factory=ClientTransactions)
    locks: Locks = field(default_factory=Locks)
    metrics: CallMetrics = field(default_factory=CallMetrics)
    partition_names: RememberedNames = field(default_factory=RememberedNames)

    @cached_property
    def listed(self) -> CachedCatalog:
        """The catalog for callers with a list of write ids."""
        return CachedCatalog(self.catalog)


@dataclass
class Client:
    """A connection. ``user`` is what the client says; nothing proves it."""

    address: str
    user: str = ""


@dataclass
class Call:
    """One call of a client: its arguments, and the state of the catalog that it sees."""

    service: Service
    client: Client
    arguments: Any

    @cached_property
    def snapshot(self) -> Snapshot:
        """The newest state at the first use. One read."""
        return self.service.catalog.snapshot()

    def renew(self, snapshot: Snapshot | None = None) -> None:
        """Takes another snapshot: the given one, or a new one at the next use."""
        self.__dict__.pop("snapshot", None)
        if snapshot is not None:
            self.__dict__["snapshot"] = snapshot

    @property
    def write_ids(self) -> str | None:
        """The list of write ids that the client sees, as it writes it; ``None`` if it sends none."""
        return getattr(self.arguments, "validWriteIdList", None)

    def write_ids_of(self, name: str) -> str | None:
        """Returns the client's list for a table as the catalog writes lists; ``None`` if it sends none.

        A list in Hive's form needs the state of the call. Raises the errors of ``catalog_list``, and
        TABLE_OR_VIEW_NOT_FOUND.
        """
        text = self.write_ids
        if text is None or _is_of_catalog(text):
            return text
        table = self.snapshot.table(name)
        return _catalog_list(text, table, self.service.transactions.held_write_ids(table))

    @property
    def cluster(self) -> str | None:
        return getattr(self.arguments, "cluster", None)

    @cached_property
    def clusters(self) -> Clusters:
        return clusters_of(self.snapshot.properties())

    @property
    def catalog(self) -> Catalog:
        return self.service.catalog

    @cached_property
    def now(self) -> float:
        """The time of the call, in seconds since 1970."""
        return time.time()

    def commit(self, changes: Sequence[Change]) -> None:
        """Commits changes on the snapshot of the call. Raises the errors of the commit, and READ_ONLY_SERVER."""
        self.check_writable()
        if changes:
            with self.catalog.begin(self.snapshot) as transaction:
                transaction.commit(list(changes))

    def check_location(self, table: Table) -> None:
        """Raises the errors of ``check_table_location``, for a new table."""
        check_table_location(table, self)

    def check_new_location(self, table: Table, location: str) -> None:
        """Raises the errors of ``check_new_location``, for another location of a table."""
        check_new_location(table, location, self)

    def unused_locations(self, table: Table, locations: Sequence[str]) -> list[str]:
        """Returns the directories that nobody reads after the commit of the call: ``unused_locations``."""
        self.renew()
        return unused_locations(table, locations, self)

    def check_partition_locations(self, table: Table, writes: Sequence[PartitionWrite]) -> None:
        """Raises the errors of ``location_conflicts`` for new places of partitions."""
        own = [(write.values, write.location) for write in writes if write.location is not None]
        default = {write.values: default_directory(table, write.values) for write in writes if write.location is None}
        if own:
            check_partition_locations(table, own, self)
        if default:
            check_partitions_apart(table, default, self)

    def check_writable(self) -> None:
        """Raises ``OperationalError`` READ_ONLY_SERVER if the server makes no changes."""
        if self.service.read_only:
            raise OperationalError(
                "This metastore is read-only.",
                condition="READ_ONLY_SERVER",
                hint="Start it without --read-only, and with --allow-writes if other machines reach it.",
            )


#: A handler returns what the method returns. The names are the interface's.
Handler = Callable[[Call], Any]
Handlers = Mapping[str, Handler]


# Lists of write ids as Hive's clients write them: with the name of the table in front. The catalog's own lists have
# the table's id there: a table that was dropped and created anew has another one.

#: What Hive writes as the least open id if none is open: the greatest number that it has.
_NONE_OPEN = (1 << 63) - 1

# ``ValidReaderWriteIdList`` reads texts that end after the high-water mark, or after a later part, too.
_HIVE = re.compile(
    r"(?P<name>[^:]+):(?P<hwm>[0-9]{1,19})(?::(?P<min>[0-9]{1,19})(?::(?P<open>[0-9,]*)(?::(?P<aborted>[0-9,]*))?)?)?"
)


def _is_of_catalog(text: str) -> bool:
    """Returns whether a list has a table's id in front. Names of tables do not: they have a database."""
    first = text.partition(":")[0]
    return first.isascii() and first.isdigit()


def _hive_name(table: Table) -> str:
    """Returns the name of a table as lists of Hive have it: ``database.table``, in lower case."""
    return ".".join(parts_of(table.name)).lower()


def _catalog_list(text: str, table: Table, held: Collection[int] = ()) -> str:
    """Returns a list of Hive's form for a table as the catalog writes it.

    ``held`` are write ids of open transactions: a writer's list has its own one as the high-water mark (seed 001). Here
    it is open. Nothing was written under it yet, so the list shows the same. Raises ``DataError`` INVALID_WRITE_ID_LIST
    for any other text, and for the list of another table.
    """
    match = _HIVE.fullmatch(text)
    if match is None:
        raise _invalid(text, table)
    if _full_name(match["name"]) != _full_name(_hive_name(table)):
        raise DataError(
            f"'{text}' is a list of write ids of {match['name']}, not of {table.name}",
            condition="INVALID_WRITE_ID_LIST",
            object=table.name,
            hint="Pass the list that get_valid_write_ids returns for this table.",
        )
    mark = int(match["hwm"])
    open_ids, aborted = _ids(match["open"]), _ids(match["aborted"])
    if open_ids is None or aborted is None or open_ids & aborted or mark > _NONE_OPEN:
        raise _invalid(text, table)
    if any(not 0 < id <= _NONE_OPEN for id in open_ids | aborted):
        raise _invalid(text, table)
    least = int(match["min"] or _NONE_OPEN)
    if least != _NONE_OPEN and (least != min(open_ids) if open_ids else least <= mark):
        raise _invalid(text, table)
    # Hive ignores ids above the mark: they are not seen anyway.
    own = {id for id in held if id <= mark} - aborted
    seen_open = frozenset(id for id in open_ids | own if id <= mark)
    return str(ValidWriteIdList(str(table.id), mark, seen_open, frozenset(id for id in aborted if id <= mark)))


def _ids(text: str | None) -> frozenset[int] | None:
    """Returns the ids of a list, ascending and each once; ``None`` for any other text."""
    if not text:
        return frozenset()
    numbers = text.split(",")
    if not all(0 < len(number) <= len(str(_NONE_OPEN)) for number in numbers):
        return None
    ids = list(map(int, numbers))
    return frozenset(ids) if ids == sorted(set(ids)) else None


def _full_name(name: str) -> str:
    database, dot, table = name.partition(".")
    return full_name(database_name(database), table).lower() if dot else full_name(DEFAULT_DATABASE, name).lower()


def _invalid(text: str, table: Table) -> DataError:
    return DataError(
        f"'{text}' is not a list of write ids of {table.name}",
        condition="INVALID_WRITE_ID_LIST",
        object=table.name,
        hint="Its form is <database>.<table>:<high-water mark>:<least open>:<open,…>:<aborted,…>.",
    )
