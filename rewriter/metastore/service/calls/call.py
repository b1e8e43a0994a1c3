"""What the handlers share: the catalog, what the server permits, and the call that they handle."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rewriter.catalog.clusters.definitions import Clusters, clusters_of
from rewriter.catalog.keys.paths import default_directory
from rewriter.catalog.metastore_writes import CachedCatalog
from rewriter.errors import OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.service.calls.client_transactions import ClientTransactions
from rewriter.metastore.service.calls.locks import Locks
from rewriter.metastore.service.calls.write_id_lists import catalog_list, is_of_catalog
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
        if text is None or is_of_catalog(text):
            return text
        table = self.snapshot.table(name)
        return catalog_list(text, table, self.service.transactions.held_write_ids(table))

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
