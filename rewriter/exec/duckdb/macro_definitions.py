"""Defines the macros that a statement calls, in a DuckDB database, when they are first called."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from rewriter.exec.translate.duckdb_macros import macros

if TYPE_CHECKING:
    import duckdb

_NAME = re.compile(r"\brw_[a-z0-9_]+")


class MacroDefinitions:
    """The macros of one database. Each definition costs about 1 ms, and most statements call none."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """``connection`` is used for nothing else."""
        self._connection = connection
        self._lock = threading.Lock()
        self._defined: set[str] = set()

    def define(self, sql: str) -> str:
        """Defines the macros that a statement calls, and the macros that these call. Returns the statement.

        May be called from several threads.
        """
        names = set(_NAME.findall(sql))
        if not names <= self._defined:
            with self._lock:
                self._define(names)
        return sql

    def _define(self, names: set[str]) -> None:
        for name in sorted(names - self._defined):
            statement = macros().get(name)
            if statement is not None:
                self._define(set(_NAME.findall(statement)) - {name})
                self._connection.execute(statement)
                self._defined.add(name)
