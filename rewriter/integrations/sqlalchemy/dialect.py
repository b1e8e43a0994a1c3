"""The dialect: connections, their transactions, and the parts that write SQL and read the catalog."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import sqlalchemy
from sqlalchemy import exc
from sqlalchemy.engine import URL, default
from sqlalchemy.sql.compiler import AggregateOrderByStyle

from rewriter.errors import InterfaceError
from rewriter.integrations.sqlalchemy.compiler import QueryCompiler
from rewriter.integrations.sqlalchemy.ddl_compiler import DefinitionCompiler
from rewriter.integrations.sqlalchemy.identifiers import BackquotedNames
from rewriter.integrations.sqlalchemy.reflection import CatalogReflection
from rewriter.integrations.sqlalchemy.types import COLUMN_TYPES, TypeCompiler

#: The isolation levels: transactions over one state, and none.
_SNAPSHOT, _AUTOCOMMIT = "SNAPSHOT", "AUTOCOMMIT"

#: The arguments ``rewriter_…`` of a ``Table``: the clauses of CREATE TABLE.
_ARGUMENTS: list[Any] = [
    (sqlalchemy.Table, {"partitioned_by": (), "format": None, "location": None, "properties": None}),
]


class RewriterDialect(CatalogReflection, default.DefaultDialect):
    """``rewriter:///directory?engine=duckdb``. The parts of the query are arguments of ``rewriter.connect``.

    A connection is a transaction until ``commit``, as SQLAlchemy has it. ``isolation_level="AUTOCOMMIT"`` commits each
    statement by itself.
    """

    name = "rewriter"
    driver = "rewriter"
    default_paramstyle = "qmark"
    supports_statement_cache = True

    statement_compiler = QueryCompiler
    ddl_compiler = DefinitionCompiler
    type_compiler_cls = TypeCompiler
    preparer: Any = BackquotedNames
    colspecs = COLUMN_TYPES
    construct_arguments = _ARGUMENTS

    supports_schemas = True
    supports_views = True
    supports_comments = True
    inline_comments = True
    supports_alter = False
    supports_sequences = False
    supports_native_boolean = True
    supports_native_decimal = True
    supports_multivalues_insert = True
    supports_default_values = False
    supports_default_metavalue = False
    supports_empty_insert = False
    supports_is_distinct_from = True
    aggregate_order_by_style = AggregateOrderByStyle.WITHIN_GROUP
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    postfetch_lastrowid = False
    tuple_in_values = False
    div_is_floordiv = False
    cte_follows_insert = True
    returns_native_bytes = True
    max_identifier_length = 255

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        import rewriter

        return rewriter

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """Returns the arguments of ``rewriter.connect``: as in its own URLs, a path is absolute.

        Raises ``ArgumentError`` for a URL with a host.
        """
        if url.host or url.username:
            raise exc.ArgumentError("A warehouse has no host: write rewriter:///directory?engine=duckdb.")
        arguments: dict[str, Any] = {**url.query, "autocommit": False}
        if url.database:
            arguments["warehouse"] = "/" + url.database.removeprefix("/")
        return [], arguments

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        return [_SNAPSHOT, _AUTOCOMMIT]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        return _AUTOCOMMIT if dbapi_connection.autocommit else _SNAPSHOT

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        return _SNAPSHOT

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        dbapi_connection.autocommit = level == _AUTOCOMMIT

    def detect_autocommit_setting(self, dbapi_conn: Any) -> bool:
        return bool(dbapi_conn.autocommit)

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Reads the catalog. No engine starts."""
        dbapi_connection.session.snapshot()
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        """Returns whether the connection was closed, so that the pool replaces it."""
        if getattr(e, "condition", None) == "ENGINE_CLOSED":
            return True
        return isinstance(e, InterfaceError) and "The connection is closed" in str(e)

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if statement:
            cursor.execute(statement, parameters)

    def do_execute_no_params(self, cursor: Any, statement: str, context: Any = None) -> None:
        if statement:
            cursor.execute(statement)

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        import rewriter

        return tuple(int(part) for part in rewriter.__version__.split(".") if part.isdigit())

    def _get_default_schema_name(self, connection: Any) -> str:
        return str(connection.connection.dbapi_connection.session.database)
