"""Keeps the translations of queries that may run again."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewriter.exec.engine import EngineQuery
from rewriter.exec.translate.queries import Translation

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class PreparedQuery:
    """A translated query, and DuckDB's statement for it, which contains the relations and is parsed."""

    translation: Translation
    statement: duckdb.Statement


class PreparedQueries:
    """The prepared queries of one database, by the identity of the ``EngineQuery``.

    An entry ends with the last reference to its query: a caller that runs a query again keeps the query. Entries may be
    read and added from several threads.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[EngineQuery], PreparedQuery]] = {}

    def get(self, query: EngineQuery) -> PreparedQuery | None:
        """Returns the entry of a query; ``None`` if there is none."""
        reference, prepared = self._entries.get(id(query), (None, None))
        return prepared if reference is not None and reference() is query else None

    def keep(self, query: EngineQuery, prepared: PreparedQuery) -> None:
        """Keeps an entry as long as the query exists."""
        key, owner = id(query), weakref.ref(self)

        def remove(reference: weakref.ref[EngineQuery]) -> None:
            queries = owner()
            entry = None if queries is None else queries._entries.get(key)
            if queries is not None and entry is not None and entry[0] is reference:
                del queries._entries[key]

        self._entries[key] = weakref.ref(query, remove), prepared

    def clear(self) -> None:
        """Drops all entries."""
        self._entries.clear()
