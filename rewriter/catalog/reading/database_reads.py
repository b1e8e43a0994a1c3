"""The databases, functions and properties that a snapshot sees: databases of the catalog and of system tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from rewriter.catalog.model.json_codec import Object
from rewriter.catalog.model.objects import NO_PROPERTIES, CatalogProperties, Function, Namespace
from rewriter.catalog.model.qualified_names import (
    DEFAULT_DATABASE,
    PROPERTIES_KEY,
    database_key,
    database_of,
    function_key,
)
from rewriter.catalog.model.system_tables import SYSTEM_DATABASES, SYSTEM_TABLES, SystemTable
from rewriter.catalog.reading.missing_objects import database_not_found, function_not_found

_DEFAULT = Namespace(0, DEFAULT_DATABASE, comment="Default database")


class DatabaseReads(ABC):
    """Reads of databases, functions, system tables and properties, all of a snapshot by name or kind."""

    #: Whether the catalog has properties.
    _has_properties = False

    @abstractmethod
    def named(self, name: str) -> Object | None:
        """Returns the object of the catalog with that name."""

    @abstractmethod
    def _all(self, kind: str) -> tuple[Object, ...]:
        """Returns all objects of a kind by name."""

    def properties(self) -> Mapping[str, str]:
        """Returns the properties of the catalog by name. One indexed read, or none if there are no properties."""
        object_ = self.named(PROPERTIES_KEY) if self._has_properties else None
        return object_.properties if isinstance(object_, CatalogProperties) else NO_PROPERTIES

    def databases(self) -> tuple[Namespace, ...]:
        """Returns the databases of the catalog by name, including ``default``."""
        named_databases = [object_ for object_ in self._all("database") if isinstance(object_, Namespace)]
        return tuple(sorted((_DEFAULT, *named_databases), key=lambda database: database.name))

    def all_databases(self) -> tuple[Namespace, ...]:
        """Returns all databases by name, including those of system tables."""
        own = [database for name in SYSTEM_DATABASES if (database := self.system_database(name)) is not None]
        return tuple(sorted((*self.databases(), *own), key=lambda database: database.name))

    def database(self, name: str) -> Namespace:
        """Returns the database of that name, in any case, or that of system tables. Raises ``AnalysisError``
        SCHEMA_NOT_FOUND.
        """
        object_ = _DEFAULT if name.lower() == DEFAULT_DATABASE else self.named(database_key(name))
        object_ = object_ or self.system_database(name)
        if isinstance(object_, Namespace):
            return object_
        raise database_not_found(name, [database.name for database in self.all_databases()])

    def find_function(self, name: str) -> Function | None:
        """Returns the function of that name, in any case; ``None`` if there is none. One indexed read."""
        object_ = self.named(function_key(name))
        return object_ if isinstance(object_, Function) else None

    def function(self, name: str) -> Function:
        """Returns the function of that name, in any case. Raises ``AnalysisError`` ROUTINE_NOT_FOUND 42883, with near
        names as hint.
        """
        function = self.find_function(name)
        if function is None:
            raise function_not_found(name, [function.name for function in self.functions()])
        return function

    def functions(self, database: str | None = None) -> tuple[Function, ...]:
        """Returns the functions of a database by name, none if it does not exist; without a database those of all.

        One read of the functions of all databases.
        """
        functions = [object_ for object_ in self._all("function") if isinstance(object_, Function)]
        key = None if database is None else database.lower()
        return tuple(function for function in functions if key in (None, database_of(function.name)))

    def system_table(self, name: str) -> SystemTable | None:
        """Returns the system table of that name, in any case; ``None`` for other names, and where the catalog has a
        database of that name itself.
        """
        table = SYSTEM_TABLES.get(name.lower())
        return None if table is None or self.system_database(database_of(name)) is None else table

    def system_database(self, name: str) -> Namespace | None:
        """Returns the database of system tables of that name; ``None`` as ``system_table`` does. One indexed read."""
        database = SYSTEM_DATABASES.get(name.lower())
        return None if database is None or self.named(database_key(name)) is not None else database
