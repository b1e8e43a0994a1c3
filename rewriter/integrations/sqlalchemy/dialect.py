"""The dialect: connections, their transactions, and the parts that write SQL and read the catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import sqlalchemy
from sqlalchemy import exc
from sqlalchemy.engine import URL, default, reflection
from sqlalchemy.sql import compiler, sqltypes
from sqlalchemy.sql.compiler import RESERVED_WORDS, AggregateOrderByStyle, IdentifierPreparer

from rewriter.catalog.model.objects import Column, Cube, Fact, Table, View, database_of, full_name, short_name
from rewriter.catalog.model.temporary_views import session_of, with_typed_names
from rewriter.errors import Error, InterfaceError
from rewriter.integrations.sqlalchemy.types import COLUMN_TYPES, TypeCompiler, column_type
from rewriter.statements.resolve.named_objects import columns_of_view

if TYPE_CHECKING:
    from rewriter.catalog.model.json_codec import Object
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.session import Session

# The catalog as inspectors read it, in the state that the connection's next statement sees.
#
# Cubes and facts are listed as tables, because queries read them as such. No engine starts, except for the columns of
# a view that only an engine can determine.

#: The name of the index that stands for the partition columns, as in Trino's dialect.
_PARTITION_INDEX = "partition"


class CatalogReflection:
    """The methods of a dialect that inspectors call. A missing object raises ``NoSuchTableError``."""

    @reflection.cache
    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        with _catalog(connection) as (_, snapshot):
            return [database.name for database in snapshot.databases()]

    @reflection.cache
    def has_schema(self, connection: Any, schema_name: str, **kw: Any) -> bool:
        return schema_name.lower() in self.get_schema_names(connection, **kw)

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        with _catalog(connection) as (session, snapshot):
            return _names((*snapshot.tables(), *snapshot.cubes(), *snapshot.facts()), schema or session.database)

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        with _catalog(connection) as (session, snapshot):
            return _names(snapshot.views(), schema or session.database)

    @reflection.cache
    def get_temp_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        with _catalog(connection) as (_, snapshot):
            return _temporary(snapshot.tables())

    @reflection.cache
    def get_temp_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        with _catalog(connection) as (_, snapshot):
            return _temporary(snapshot.views())

    @reflection.cache
    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        with _catalog(connection) as (session, snapshot):
            return _found(session, snapshot, table_name, schema) is not None

    @reflection.cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **kw: Any) -> str:
        object_ = _object(connection, view_name, schema)
        if not isinstance(object_, View):
            raise _missing(view_name, schema)
        return object_.query

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        with _catalog(connection) as (session, snapshot):
            object_ = _require(session, snapshot, table_name, schema)
            columns = _columns(object_, snapshot)
        if isinstance(object_, View) and not (columns and all(column.type for column in columns)):
            columns = self._described(connection, table_name, schema, columns)
        return [_column(column) for column in columns]

    @reflection.cache
    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        object_ = _object(connection, table_name, schema)
        if not isinstance(object_, Table) or not object_.partition_columns:
            return []
        names = [column.name for column in object_.partition_columns]
        return [{"name": _PARTITION_INDEX, "column_names": names, "unique": False}]

    @reflection.cache
    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return {"text": getattr(_object(connection, table_name, schema), "comment", None)}

    @reflection.cache
    def get_table_options(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        object_ = _object(connection, table_name, schema)
        if not isinstance(object_, Table):
            return {}
        options: dict[str, Any] = {"rewriter_format": object_.format}
        if object_.partition_columns:
            options["rewriter_partitioned_by"] = tuple(column.name for column in object_.partition_columns)
        return options

    @reflection.cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        _object(connection, table_name, schema)
        return {"constrained_columns": [], "name": None}

    @reflection.cache
    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        return _no_constraints(connection, table_name, schema)

    @reflection.cache
    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        return _no_constraints(connection, table_name, schema)

    @reflection.cache
    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        return _no_constraints(connection, table_name, schema)

    def _described(self, connection: Any, name: str, schema: str | None, columns: list[Column]) -> list[Column]:
        """Returns the columns of a view as the engine determines them, with the comments that the catalog has."""
        quote: Callable[[str], str] = connection.dialect.identifier_preparer.quote_identifier
        view = quote(name) if schema is None else f"{quote(schema)}.{quote(name)}"
        rows = connection.exec_driver_sql(f"DESCRIBE QUERY SELECT * FROM {view}").all()
        comments = {column.name: column.comment for column in columns}
        return [Column(row[0], row[1], comments.get(row[0])) for row in rows]


@contextmanager
def _catalog(connection: Any) -> Iterator[tuple[Session, Snapshot]]:
    """Yields the session and the state of its next statement. Errors become errors of SQLAlchemy."""
    try:
        session: Session = connection.connection.dbapi_connection.session
        yield session, session.snapshot()
    except Error as error:
        wrapped = exc.DBAPIError.instance(None, None, error, Error, dialect=connection.dialect)
        raise wrapped from error


def _object(connection: Any, name: str, schema: str | None) -> Object:
    with _catalog(connection) as (session, snapshot):
        return _require(session, snapshot, name, schema)


def _require(session: Session, snapshot: Snapshot, name: str, schema: str | None) -> Object:
    object_ = _found(session, snapshot, name, schema)
    if object_ is None:
        raise _missing(name, schema)
    return object_


def _found(session: Session, snapshot: Snapshot, name: str, schema: str | None) -> Object | None:
    """Returns the object that a query would read under the name; ``None`` if there is none."""
    temporary = None if schema is not None else snapshot.temporary_view(name) or snapshot.temporary(name)
    if temporary is None and "." in name:
        return None
    found = temporary or snapshot.named(full_name(schema or session.database, name))
    return found if isinstance(found, Table | View | Cube | Fact) else None


def _missing(name: str, schema: str | None) -> exc.NoSuchTableError:
    return exc.NoSuchTableError(name if schema is None else f"{schema}.{name}")


def _names(objects: Iterable[Any], database: str) -> list[str]:
    """Returns the names of the stored objects of a database."""
    return [
        short_name(object_.name)
        for object_ in objects
        if session_of(object_.name) is None and database_of(object_.name) == database.lower()
    ]


def _temporary(objects: Iterable[Any]) -> list[str]:
    return [with_typed_names(short_name(object_.name)) for object_ in objects if session_of(object_.name) is not None]


def _columns(object_: Object, snapshot: Snapshot) -> list[Column]:
    if isinstance(object_, Table):
        return list(object_.all_columns)
    if isinstance(object_, View):
        return columns_of_view(object_, snapshot)
    if isinstance(object_, Cube):
        return _cube_columns(object_, object_.column_order)
    assert isinstance(object_, Fact)
    cube = snapshot.cube(object_.cube)
    return _cube_columns(cube, cube.column_order if object_.columns is None else object_.columns)


def _cube_columns(cube: Cube, names: Iterable[str]) -> list[Column]:
    """Returns the dimensions, measures and times of these names."""
    columns = {column.name.lower(): column for column in cube.dimensions}
    columns |= {measure.name.lower(): Column(measure.name, measure.type) for measure in cube.measures}
    columns |= {time.lower(): Column(time, "timestamp") for time in cube.times}
    return [columns[name.lower()] for name in names]


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column_type(column.type),
        "nullable": not column.not_null,
        "default": column.default,
        "comment": column.comment,
    }


def _no_constraints(connection: Any, name: str, schema: str | None) -> list[Any]:
    _object(connection, name, schema)
    return []


# Names between backquotes.

#: Words that end a name's place in a query, beside SQLAlchemy's words.
_WORDS = frozenset(
    "anti any at both by cluster cross cube date day div exists extract filter from hour insert interval lateral "
    "leading limit map minus minute month natural offset over partition pivot position qualify row rows second semi "
    "set sort struct table tablesample timestamp timestampadd timestampdiff trailing transform unpivot values window "
    "with within year".split()
)


class _BackquotedNames(IdentifierPreparer):
    """Quotes all names but words of small ASCII letters, digits and underscores that are no keywords."""

    reserved_words = RESERVED_WORDS | _WORDS
    legal_characters = re.compile(r"[A-Za-z0-9_]+\Z")

    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`")


# Definitions of tables, views and databases in Spark's SQL.
#
# Constraints and indexes of a ``Table`` describe it for SQLAlchemy, and nothing enforces them: tables of files have
# none. Values that would have to be generated (computed columns, identity) are refused.


class _DefinitionCompiler(compiler.DDLCompiler):
    """Writes CREATE, DROP and COMMENT. An empty statement is not executed."""

    def get_column_specification(self, column: Any, **kwargs: Any) -> str:
        if column.computed is not None or column.identity is not None:
            raise exc.CompileError("No column is computed or generated: give its values in INSERT.")
        text = self.preparer.format_column(column)
        text += " " + self.dialect.type_compiler_instance.process(column.type, type_expression=column)
        default = self.get_column_default_string(column)
        if default is not None:
            text += f" DEFAULT {default}"
        if column.comment is not None:
            text += f" COMMENT {self._string(column.comment)}"
        return text

    def post_create_table(self, table: Any) -> str:
        options = table.dialect_options["rewriter"]
        text = ""
        if options["format"] is not None:
            text += f"\nUSING {self.preparer.quote(options['format'])}"
        if options["partitioned_by"]:
            names = (table.c[name] if isinstance(name, str) else name for name in options["partitioned_by"])
            text += f"\nPARTITIONED BY ({', '.join(map(self.preparer.format_column, names))})"
        if options["location"] is not None:
            text += f"\nLOCATION {self._string(options['location'])}"
        if table.comment is not None:
            text += f"\nCOMMENT {self._string(table.comment)}"
        if options["properties"]:
            pairs = (f"{self._string(key)} = {self._string(value)}" for key, value in options["properties"].items())
            text += f"\nTBLPROPERTIES ({', '.join(pairs)})"
        return text

    def visit_primary_key_constraint(self, constraint: Any, **kw: Any) -> Any:
        return None

    def visit_foreign_key_constraint(self, constraint: Any, **kw: Any) -> Any:
        return None

    def visit_unique_constraint(self, constraint: Any, **kw: Any) -> Any:
        return None

    def visit_check_constraint(self, constraint: Any, **kw: Any) -> Any:
        return None

    def visit_column_check_constraint(self, constraint: Any, **kw: Any) -> Any:
        return ""

    def visit_create_index(self, create: Any, *args: Any, **kw: Any) -> str:
        return ""

    def visit_drop_index(self, drop: Any, **kw: Any) -> str:
        return ""

    def _string(self, value: str) -> str:
        return self.sql_compiler.render_literal_value(value, sqltypes.String())


# Queries and INSERT in Spark's SQL.


class _QueryCompiler(compiler.SQLCompiler):
    """Writes the constructs in which Spark differs from SQLAlchemy's standard."""

    def render_literal_value(self, value: Any, type_: Any) -> str:
        """Returns a literal. In Spark's strings a backslash begins an escape."""
        text = super().render_literal_value(value, type_)
        return text.replace("\\", "\\\\") if text.startswith("'") else text

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        nulls = ", ".join("NULL" for _ in element_types)
        return f"SELECT {nulls} WHERE 1 != 1"

    def visit_empty_set_op_expr(self, type_: Any, expand_op: Any, **kw: Any) -> str:
        """Rows of NULLs in a list are not supported on DuckDB, an empty query is."""
        if len(type_) > 1:
            return self.visit_empty_set_expr(type_)
        return self._text(super().visit_empty_set_op_expr, type_, expand_op, **kw)

    def visit_insert(self, insert_stmt: Any, visited_bindparam: Any = None, visiting_cte: Any = None, **kw: Any) -> str:
        """Raises ``CompileError`` where a key that other databases would generate has no value: it would be NULL."""
        if self.column_keys is not None:
            key = _generated_key(insert_stmt.table)
            if key is not None and key.key not in _given(insert_stmt, self.column_keys):
                raise exc.CompileError(
                    f"{key} has no value, and tables generate none: give it one, or a default in Python."
                )
        return self._text(super().visit_insert, insert_stmt, visited_bindparam, visiting_cte, **kw)

    def visit_delete(self, delete_stmt: Any, visiting_cte: Any = None, **kw: Any) -> str:
        """DELETE of all rows is TRUNCATE TABLE. Any other one says itself what it removes."""
        text = self._text(super().visit_delete, delete_stmt, visiting_cte=visiting_cte, **kw)
        if delete_stmt._where_criteria or delete_stmt._independent_ctes or visiting_cte is not None:
            return text
        return f"TRUNCATE TABLE {self.preparer.format_table(delete_stmt.table)}"

    def limit_clause(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._limit_clause is not None:
            text += "\n LIMIT " + self.process(select._limit_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def fetch_clause(
        self,
        select: Any,
        fetch_clause: Any = None,
        require_offset: bool = False,
        use_literal_execute_for_simple_int: bool = False,
        **kw: Any,
    ) -> str:
        """FETCH FIRST n ROWS ONLY is LIMIT n."""
        options = select._fetch_clause_options or {}
        if options.get("percent") or options.get("with_ties"):
            raise exc.CompileError("FETCH … PERCENT and WITH TIES are not supported: use window functions.")
        text = "\n LIMIT " + self.process(select._fetch_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """Nothing: rows are not locked. Of two transactions that write the same partitions, one fails."""
        return ""

    def visit_frame_clause(self, frameclause: Any, **kw: Any) -> str:
        """The distances of a frame are literals."""
        return self._text(super().visit_frame_clause, frameclause, **kw | {"literal_execute": True})

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"{self._operand(binary.left, kw)} RLIKE {self._pattern(binary, binary.right, kw)}"

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"NOT {self._operand(binary.left, kw)} RLIKE {self._pattern(binary, binary.right, kw)}"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        self._refuse_flags(binary)
        return f"regexp_replace({self._operand(binary.left, kw)}, {self._operand(binary.right, kw)})"

    def visit_aggregate_strings_func(self, fn: Any, **kw: Any) -> str:
        return self._text(super().visit_aggregate_strings_func, fn, use_function_name="listagg", **kw)

    def _text(self, write: Callable[..., Any], *arguments: Any, **kw: Any) -> str:
        """Calls a method of SQLAlchemy's that has no types."""
        return str(write(*arguments, **kw))

    def _operand(self, operand: Any, kw: dict[str, Any]) -> str:
        return self._text(operand._compiler_dispatch, self, **kw)

    def _pattern(self, binary: Any, pattern: Any, kw: dict[str, Any]) -> str:
        self._refuse_flags(binary)
        return self._operand(pattern, kw)

    def _refuse_flags(self, binary: Any) -> None:
        if binary.modifiers.get("flags"):
            raise exc.CompileError("Regular expressions have no flags: write them in the pattern, as in (?i)abc.")


def _generated_key(table: Any) -> Any:
    """Returns the column of the primary key that other databases would generate; ``None`` if there is none."""
    key = getattr(table, "_autoincrement_column", None)
    return key if key is not None and key.default is None and key.server_default is None else None


def _given(insert: Any, keys: Iterable[str]) -> set[str]:
    """Returns the keys of the columns that an INSERT has values for."""
    named = {*keys, *(insert._select_names or ())}
    for values in (insert._values or {}, *(row for rows in insert._multi_values for row in rows)):
        named |= {getattr(column, "key", column) for column in values} if isinstance(values, dict) else set()
    return named if insert.select is None or insert._select_names else named | set(insert.table.c.keys())


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

    statement_compiler = _QueryCompiler
    ddl_compiler = _DefinitionCompiler
    type_compiler_cls = TypeCompiler
    preparer: Any = _BackquotedNames
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
