"""Keeps the views of queries that may run again."""

from __future__ import annotations

import weakref
from collections import deque

from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.relations import Views


class KeptViews:
    """The views of queries over files that never change, by the identity of the ``EngineQuery``.

    When a query ends, its views wait in ``expired``: the thread that drops the last reference may be any. Entries may
    be read and added from several threads.
    """

    def __init__(self) -> None:
        self.expired: deque[Views] = deque()
        self._entries: dict[int, tuple[weakref.ref[EngineQuery], Views]] = {}

    def get(self, query: EngineQuery) -> Views | None:
        """Returns the views of a query; ``None`` if there are none."""
        reference, views = self._entries.get(id(query), (None, None))
        return views if reference is not None and reference() is query else None

    def keep(self, query: EngineQuery, views: Views) -> None:
        """Keeps views as long as the query exists."""
        key, owner = id(query), weakref.ref(self)

        def expire(reference: weakref.ref[EngineQuery]) -> None:
            kept = owner()
            entry = None if kept is None else kept._entries.get(key)
            if kept is not None and entry is not None and entry[0] is reference:
                del kept._entries[key]
                kept.expired.append(entry[1])

        self._entries[key] = weakref.ref(query, expire), views

    def close_expired(self) -> None:
        """Drops the views of queries that have ended."""
        while self.expired:
            try:
                views = self.expired.popleft()
            except IndexError:  # Another thread was faster.
                return
            views.close()

    def close(self) -> None:
        """Drops all views."""
        self.expired.extend(views for _, views in self._entries.values())
        self._entries.clear()
        self.close_expired()
