"""The tables that an import is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rewriter.errors import InterfaceError


@dataclass(frozen=True)
class Selection:
    """Tables by database and name, and whole databases; all if both are empty. Names are in lower case."""

    tables: frozenset[tuple[str, str]] = frozenset()
    databases: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Selection:
        """Reads texts such as ``sales.orders`` and ``sales.*``. Raises ``InterfaceError`` for others.

        >>> Selection.parse(["Sales.*"]).databases
        frozenset({'sales'})
        """
        tables: set[tuple[str, str]] = set()
        databases: set[str] = set()
        for text in texts:
            database, point, table = text.strip().lower().partition(".")
            if not database or not point or not table or "." in table:
                raise InterfaceError(
                    f"'{text}' is no table of a database.",
                    object=text,
                    hint="Write database.table, or database.* for all tables of a database.",
                )
            if table == "*":
                databases.add(database)
            else:
                tables.add((database, table))
        return cls(frozenset(tables), frozenset(databases))

    @property
    def is_everything(self) -> bool:
        return not self.tables and not self.databases

    def has_database(self, database: str) -> bool:
        """Returns whether all tables of a database, or some, are selected."""
        return self.is_everything or database in self.databases or any(name == database for name, _ in self.tables)

    def has_all_of(self, database: str) -> bool:
        """Returns whether everything in a database is selected: its functions, too."""
        return self.is_everything or database in self.databases

    def has_table(self, database: str, table: str) -> bool:
        """Returns whether a table is selected."""
        return self.has_all_of(database) or (database, table) in self.tables
