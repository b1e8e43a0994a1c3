"""Databases: CREATE, DROP, DESCRIBE and SHOW. The session runs USE.

A database is a namespace of tables, views, cubes and facts, and one of functions. ``default`` always exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.catalog.model.changes import Change, CreateObject, DropObject
from rewriter.catalog.model.objects import (
    CATALOG,
    DEFAULT_DATABASE,
    Cube,
    Fact,
    Function,
    Namespace,
    Table,
    View,
    database_of,
    short_name,
)
from rewriter.catalog.model.system_tables import is_system_database
from rewriter.catalog.table_definitions import RESERVED_DATABASES
from rewriter.data_formats import SOURCE_FORMATS
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError
from rewriter.grammar.families import databases as s
from rewriter.grammar.terms import DatabaseName, Name
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.tables import PLAIN_NAME
from rewriter.statements.resolve.location_conflicts import check_database_location
from rewriter.statements.resolve.locations import absolute
from rewriter.statements.resolve.named_objects import fits_pattern

if TYPE_CHECKING:
    from rewriter.catalog.model.json_codec import Object
    from rewriter.runtime.statement_context import Context


@runs(s.CreateDatabase, without_warehouse=True)
def create_database(statement: s.CreateDatabase, context: Context) -> Result:
    """CREATE DATABASE. Its managed tables lie below LOCATION, or below ``<name>.db`` in the warehouse.

    Raises SCHEMA_ALREADY_EXISTS 42P06, unless IF NOT EXISTS, and the errors of ``_new_name``.
    """
    name = _new_name(statement.database)
    if any(database.name == name for database in context.snapshot.databases()):
        if statement.if_not_exists:
            return Result("CREATE DATABASE")
        raise IntegrityError(
            f"Cannot create the database {name} because it already exists.",
            condition="SCHEMA_ALREADY_EXISTS",
            sqlstate="42P06",
            position=statement.database.span,
            object=name,
            hint="Choose a different name, drop the existing database, or add IF NOT EXISTS.",
        )
    location = statement.location
    if location is not None:
        location = absolute(location, context.catalog.warehouse, Name((name,), statement.database.span))
        try:
            check_database_location(location, context)
        except Error as error:
            raise error.at(statement.database.span) from None
    with context.catalog.begin(context.snapshot) as transaction:
        namespace = Namespace(transaction.allocate_id(), name, location, statement.comment, dict(statement.properties))
        try:
            transaction.commit([CreateObject(namespace)])
        except Error as error:
            raise error.at(statement.database.span) from None
    return Result("CREATE DATABASE")


def _new_name(database: DatabaseName) -> str:
    """Returns the name in lower case. It consists of letters, digits and underscores, and is not reserved."""
    name = database.text.lower()
    if not PLAIN_NAME.fullmatch(name):
        raise AnalysisError(
            f"'{database.text}' is not a valid database name.",
            condition="INVALID_SCHEMA_OR_RELATION_NAME",
            sqlstate="42602",
            position=database.span,
            object=database.text,
            hint="Use letters, digits and underscores.",
        )
    if name in RESERVED_DATABASES:
        raise NotSupportedError(
            f"A database cannot be named {name}: that word has another meaning before a name.",
            position=database.span,
            object=name,
            hint=f"The name {name} stands for files: {name}.`path`."
            if name in SOURCE_FORMATS
            else "Choose another name.",
        )
    return name


@runs(s.DropDatabase)
def drop_database(statement: s.DropDatabase, context: Context) -> Result:
    """DROP DATABASE, RESTRICT by default; CASCADE drops all objects in it, in one transaction. Files stay.

    Raises SCHEMA_NOT_FOUND 42704, unless IF EXISTS; SCHEMA_NOT_EMPTY 2BP01; TABLE_IN_USE and CUBE_IN_USE where a
    fact of another database needs an object in it.
    """
    name, span = statement.database.text.lower(), statement.database.span
    if name == DEFAULT_DATABASE:
        raise NotSupportedError(
            f"The database {DEFAULT_DATABASE} cannot be dropped.",
            condition="UNSUPPORTED_FEATURE.DROP_DATABASE",
            sqlstate="0A000",
            position=span,
            object=name,
            hint="Drop its objects instead: SHOW TABLES, SHOW VIEWS, SHOW CUBES and SHOW FACTS list them.",
        )
    if statement.if_exists and all(existing.name != name for existing in context.snapshot.databases()):
        return Result("DROP DATABASE")
    database = context.database(statement.database)
    members = _members(name, context)
    if members and not statement.cascade:
        member_names = ", ".join(short_name(member.name) for member in members[:10]) + (
            " …" if len(members) > 10 else ""
        )
        raise IntegrityError(
            f"Cannot drop the database {name} because it contains objects: {member_names}.",
            condition="SCHEMA_NOT_EMPTY",
            sqlstate="2BP01",
            position=span,
            object=name,
            hint=f"DROP DATABASE {name} CASCADE also drops them.",
        )
    changes: list[Change] = [DropObject(member) for member in (*members, database)]
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit(changes)
        except Error as error:
            raise error.at(span) from None
    return Result("DROP DATABASE")


def _members(name: str, context: Context) -> list[Object]:
    """Returns all objects of a database, facts before the objects they need."""
    snapshot = context.snapshot
    kinds: tuple[tuple[Fact | Cube | View | Table | Function, ...], ...] = (
        snapshot.facts(), snapshot.cubes(), snapshot.views(), snapshot.tables(), snapshot.functions(name),
    )  # fmt: skip
    return [member for kind in kinds for member in kind if database_of(member.name) == name]


@runs(s.ShowDatabases, in_transaction=True)
def show_databases(statement: s.ShowDatabases, context: Context) -> Result:
    """Returns rows of (namespace); for SHOW CURRENT DATABASE, of (catalog, namespace)."""
    if statement.current:
        rows: list[Row] = [(CATALOG, context.snapshot.current)]
        return listing("SHOW CURRENT DATABASE", strings("catalog", "namespace"), rows)
    names = [database.name for database in context.snapshot.all_databases()]
    rows = [(name,) for name in names if statement.like is None or fits_pattern(statement.like, name)]
    return listing("SHOW DATABASES", strings("namespace"), rows)


@runs(s.DescribeDatabase, in_transaction=True, reads_system_tables=True)
def describe_database(statement: s.DescribeDatabase, context: Context) -> Result:
    """Returns rows of (info_name, info_value), as Spark does; Spark's databases have owners, ours have none."""
    database = context.database(statement.database)
    warehouse = context.catalog.warehouse.absolute()
    default_location = warehouse if database.name == DEFAULT_DATABASE else warehouse / f"{database.name}.db"
    rows: list[Row] = [
        ("Catalog Name", CATALOG),
        ("Namespace Name", database.name),
        ("Comment", database.comment or ""),
        ("Location", "" if is_system_database(database) else database.location or str(default_location)),
    ]
    if statement.extended:
        pairs = ", ".join(f"({key},{value})" for key, value in sorted(database.properties.items()))
        rows.append(("Properties", f"({pairs})" if pairs else ""))
    return listing("DESCRIBE DATABASE", strings("info_name", "info_value"), rows)
