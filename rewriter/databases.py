"""Databases: CREATE, DROP, DESCRIBE and SHOW. USE is the session's.

A database is a space of names for tables, views, cubes and facts. ``default`` is always there.
"""

from __future__ import annotations

from rewriter.catalog.changes import Change, CreateObject, DropObject
from rewriter.catalog.codec import Object
from rewriter.catalog.models import Cube, Fact, Namespace, Table, View
from rewriter.catalog.names import CATALOG, DEFAULT_DATABASE, database_of, short_name
from rewriter.context import Context
from rewriter.ddl import PLAIN_NAME, absolute
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError
from rewriter.grammar import statements as s
from rewriter.planner.blocks import FILE_FORMATS
from rewriter.result import Result, Row
from rewriter.showing import fits_pattern, listing, strings

#: What stands before a name and means something else than a database, there or in Spark.
_RESERVED = (*FILE_FORMATS, CATALOG, "global_temp", "session", "system")


def create_database(statement: s.CreateDatabase, context: Context) -> Result:
    """CREATE DATABASE. Its managed tables lie below LOCATION, or below ``<name>.db`` in the warehouse.

    Raises SCHEMA_ALREADY_EXISTS 42P06, unless IF NOT EXISTS, and what ``_new_name`` raises.
    """
    name = _new_name(statement.database)
    if any(one.name == name for one in context.snapshot.databases()):
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
        location = absolute(location, context.catalog.warehouse, s.Name((name,), statement.database.span))
    with context.catalog.begin(context.snapshot) as transaction:
        made = Namespace(transaction.allocate_id(), name, location, statement.comment, dict(statement.properties))
        try:
            transaction.commit([CreateObject(made)])
        except Error as error:
            raise error.at(statement.database.span) from None
    return Result("CREATE DATABASE")


def _new_name(database: s.DatabaseName) -> str:
    """The name in lower case: letters, digits and underscores that mean nothing else."""
    name = database.text.lower()
    if not PLAIN_NAME.fullmatch(name):
        raise AnalysisError(
            f"'{database.text}' is no name for a database.",
            condition="INVALID_SCHEMA_OR_RELATION_NAME",
            sqlstate="42602",
            position=database.span,
            object=database.text,
            hint="Use letters, digits and underscores.",
        )
    if name in _RESERVED:
        raise NotSupportedError(
            f"A database cannot be called {name}: before a name, that means something else.",
            position=database.span,
            object=name,
            hint=f"{name}.`path` reads files." if name in FILE_FORMATS else "Choose another name.",
        )
    return name


def drop_database(statement: s.DropDatabase, context: Context) -> Result:
    """DROP DATABASE, RESTRICT by default; CASCADE drops all that is in it, in one transaction. Files stay.

    Raises SCHEMA_NOT_FOUND 42704, unless IF EXISTS; SCHEMA_NOT_EMPTY 2BP01; TABLE_IN_USE and CUBE_IN_USE where a fact
    of another database needs what is in it.
    """
    name, place = statement.database.text.lower(), statement.database.span
    if name == DEFAULT_DATABASE:
        raise NotSupportedError(
            f"The database {DEFAULT_DATABASE} cannot be dropped.",
            condition="UNSUPPORTED_FEATURE.DROP_DATABASE",
            sqlstate="0A000",
            position=place,
            object=name,
            hint="Drop what is in it: SHOW TABLES, SHOW VIEWS, SHOW CUBES and SHOW FACTS list that.",
        )
    if statement.if_exists and all(one.name != name for one in context.snapshot.databases()):
        return Result("DROP DATABASE")
    database = context.database(statement.database)
    inside = _inside(name, context)
    if inside and not statement.cascade:
        shown = ", ".join(short_name(one.name) for one in inside[:10]) + (" …" if len(inside) > 10 else "")
        raise IntegrityError(
            f"Cannot drop the database {name} because it contains objects: {shown}.",
            condition="SCHEMA_NOT_EMPTY",
            sqlstate="2BP01",
            position=place,
            object=name,
            hint=f"DROP DATABASE {name} CASCADE drops them, too.",
        )
    changes: list[Change] = [DropObject(one) for one in (*inside, database)]
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit(changes)
        except Error as error:
            raise error.at(place) from None
    return Result("DROP DATABASE")


def _inside(name: str, context: Context) -> list[Object]:
    """All that lies in a database, facts before what they need."""
    snapshot = context.snapshot
    kinds: tuple[tuple[Fact | Cube | View | Table, ...], ...] = (
        snapshot.facts(), snapshot.cubes(), snapshot.views(), snapshot.tables(),
    )  # fmt: skip
    return [one for kind in kinds for one in kind if database_of(one.name) == name]


def show_databases(statement: s.ShowDatabases, context: Context) -> Result:
    """Rows of (namespace), or, of SHOW CURRENT DATABASE, of (catalog, namespace)."""
    if statement.current:
        rows: list[Row] = [(CATALOG, context.snapshot.current)]
        return listing("SHOW CURRENT DATABASE", strings("catalog", "namespace"), rows)
    names = [one.name for one in context.snapshot.databases()]
    rows = [(name,) for name in names if statement.like is None or fits_pattern(statement.like, name)]
    return listing("SHOW DATABASES", strings("namespace"), rows)


def describe_database(statement: s.DescribeDatabase, context: Context) -> Result:
    """Rows of (info_name, info_value), as Spark answers them; its databases have owners, ours have none."""
    database = context.database(statement.database)
    warehouse = context.catalog.warehouse.absolute()
    place = warehouse if database.name == DEFAULT_DATABASE else warehouse / f"{database.name}.db"
    rows: list[Row] = [
        ("Catalog Name", CATALOG),
        ("Namespace Name", database.name),
        ("Comment", database.comment or ""),
        ("Location", database.location or str(place)),
    ]
    if statement.extended:
        pairs = ", ".join(f"({key},{value})" for key, value in sorted(database.properties.items()))
        rows.append(("Properties", f"({pairs})" if pairs else ""))
    return listing("DESCRIBE DATABASE", strings("info_name", "info_value"), rows)
