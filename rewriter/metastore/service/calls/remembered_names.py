"""The names of the partitions of a few tables, under the list of write ids that they were made for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

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
        """Returns the names of all partitions of a table: those that are kept, or new ones. Do not change the list."""
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
