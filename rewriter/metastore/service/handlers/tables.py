"""Tables and views: look-ups, lists, CREATE, ALTER and DROP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rewriter.catalog.metastore_writes import check_properties
from rewriter.catalog.model.changes import CreateObject, DropObject
from rewriter.catalog.model.objects import Table, View
from rewriter.catalog.model.qualified_names import database_of, parts_of, short_name
from rewriter.metastore.descriptors import (
    CATALOG,
    EXTERNAL,
    MANAGED,
    VIEW,
    catalog_table,
    catalog_view,
    kept,
    location_of,
    parameters_of,
)
from rewriter.metastore.service.calls.basic_parameters import with_counts, with_time
from rewriter.metastore.service.calls.call import Call, Handlers
from rewriter.metastore.service.calls.files import database_root, make_table_directory, remove_locations
from rewriter.metastore.service.calls.lookup import is_readable, is_shown, seen_table, shown_table
from rewriter.metastore.service.calls.names import database_name, database_pattern, pattern, table_name
from rewriter.metastore.service.calls.table_filters import read_table_filter
from rewriter.metastore.service.handlers.table_changes import alter_table
from rewriter.metastore.wire.interface import structure

_MetaException: Any = structure("MetaException")
_Invalid: Any = structure("InvalidObjectException")
_TableMeta: Any = structure("TableMeta")


def get_table(call: Call) -> Any:
    return shown_table(call, table_name(call.arguments.dbname, call.arguments.tbl_name))


def get_table_req(call: Call) -> Any:
    request = call.arguments.req
    inner = replace(call, arguments=request)
    return structure("GetTableResult")(table=shown_table(inner, table_name(request.dbName, request.tblName)))


def get_table_objects_by_name(call: Call) -> list[Any]:
    return list(_by_names(call, call.arguments.dbname, call.arguments.tbl_names))


def get_table_objects_by_name_req(call: Call) -> Any:
    request = call.arguments.req
    inner = replace(call, arguments=request)
    return structure("GetTablesResult")(tables=list(_by_names(inner, request.dbName, request.tblNames)))


def _by_names(call: Call, database: str | None, names: list[str] | None) -> Iterator[Any]:
    """Yields the tables that exist and that the client may see, as Hive does."""
    for name in dict.fromkeys(filter(None, names or ())):
        object_ = call.snapshot.named(table_name(database, name))
        if isinstance(object_, Table | View) and is_shown(object_):
            yield shown_table(call, object_.name)


def get_all_tables(call: Call) -> list[str]:
    return _names(call, call.arguments.db_name, "*", None)


def get_tables(call: Call) -> list[str]:
    return _names(call, call.arguments.db_name, call.arguments.pattern, None)


def get_tables_by_type(call: Call) -> list[str]:
    return _names(call, call.arguments.db_name, call.arguments.pattern, call.arguments.tableType)


def _names(call: Call, database: str | None, text: str | None, kind: str | None) -> list[str]:
    wanted, name = pattern(text), database_name(database)
    return sorted(
        short.lower()
        for object_ in _objects(call, name)
        if wanted.fullmatch(short := short_name(object_.name)) and kind in (None, "", _kind(object_))
    )


def _objects(call: Call, database: str) -> list[Table | View]:
    objects: list[Table | View] = [*call.snapshot.tables(), *call.snapshot.views()]
    return [object_ for object_ in objects if database_of(object_.name) == database]


def _kind(object_: Table | View) -> str:
    if isinstance(object_, View):
        return VIEW
    return str(kept(object_.properties).get("tableType", EXTERNAL if is_readable(object_) else MANAGED))


def get_table_meta(call: Call) -> list[Any]:
    arguments = call.arguments
    databases, tables = database_pattern(arguments.db_patterns), pattern(arguments.tbl_patterns)
    metas: list[Any] = []
    objects: list[Table | View] = [*call.snapshot.tables(), *call.snapshot.views()]
    for object_ in objects:
        database, name = parts_of(object_.name)
        kind = _kind(object_)
        if databases.fullmatch(database) and tables.fullmatch(name) and kind in (arguments.tbl_types or [kind]):
            metas.append(
                _TableMeta(
                    dbName=database,
                    tableName=name.lower(),
                    tableType=kind,
                    comments=object_.comment,
                    catName=CATALOG,
                )
            )
    return metas


def get_table_names_by_filter(call: Call) -> list[str]:
    """Returns the names of the tables and views that a client sees, and whose parameters satisfy a filter."""
    arguments = call.arguments
    satisfies = read_table_filter(str(arguments.filter or ""))
    names = sorted(
        short_name(object_.name).lower()
        for object_ in _objects(call, database_name(arguments.dbname))
        if is_shown(object_) and satisfies(parameters_of(object_), str(kept(object_.properties).get("owner") or ""))
    )
    most = arguments.max_tables
    return names if most is None or most < 0 else names[:most]


def get_fields(call: Call) -> list[Any]:
    return list(_shown(call).sd.cols)


def get_schema(call: Call) -> list[Any]:
    table = _shown(call)
    return [*table.sd.cols, *table.partitionKeys]


def _shown(call: Call) -> Any:
    name = table_name(call.arguments.db_name, call.arguments.table_name)
    if call.snapshot.named(name) is None:
        raise structure("UnknownTableException")(message=f"{name} table not found")
    return shown_table(call, name)


def create_table(call: Call) -> None:
    """A managed table of a client is external here, in the folder for tables of clients: its files are the client's."""
    call.check_writable()
    given = call.arguments.tbl
    if given.sd is None:
        raise _Invalid(message="The table has no storage descriptor.")
    name = table_name(given.dbName, given.tableName)
    check_properties(given.parameters or {})
    database = call.snapshot.database(database_of(name))
    if call.snapshot.named(name) is not None:  # Before its location is in use.
        raise structure("AlreadyExistsException")(message=f"Table {name} already exists")
    given.dbName = database.name
    kind = given.tableType or (EXTERNAL if (given.parameters or {}).get("EXTERNAL") == "TRUE" else MANAGED)
    if kind not in (MANAGED, EXTERNAL, VIEW):
        raise _Invalid(message=f"Tables of the type {kind} are not supported.")
    given.tableType = kind
    given.createTime = given.createTime or int(call.now)
    given.parameters = with_time(given.parameters, call.now)
    with call.catalog.begin(call.snapshot) as transaction:
        id = transaction.allocate_id()
        if kind == VIEW:
            transaction.commit([CreateObject(catalog_view(given, id))])
            return
        location = location_of(given) or f"{database_root(database, call.catalog)}/{short_name(name).lower()}"
        if not given.partitionKeys:
            given.parameters = with_counts(given.parameters, location, call.service)
        table = catalog_table(given, id, location)
        call.check_location(table)
        transaction.commit([CreateObject(table)])
    make_table_directory(table.location, call.service)


def drop_table(call: Call) -> None:
    arguments = call.arguments
    name = table_name(arguments.dbname, arguments.name)
    object_ = call.snapshot.named(name)
    if not isinstance(object_, View):
        object_ = seen_table(call, name, is_write=True)
    call.commit([DropObject(object_)])
    if isinstance(object_, Table) and arguments.deleteData:
        remove_locations(object_, [object_.location], call)


def get_indexes(call: Call) -> list[Any]:
    """Returns none: no table has indexes. Raises ``NoSuchObjectException`` if the table does not exist."""
    call.snapshot.table(table_name(call.arguments.db_name, call.arguments.tbl_name))
    return []


def get_index_names(call: Call) -> list[str]:
    return []


def truncate_table(call: Call) -> None:
    raise _MetaException(
        message="TRUNCATE is not supported: the client removes the files, or a session of rewriter runs it."
    )


HANDLERS: Handlers = {
    "get_table": get_table,
    "get_table_req": get_table_req,
    "get_table_objects_by_name": get_table_objects_by_name,
    "get_table_objects_by_name_req": get_table_objects_by_name_req,
    "get_all_tables": get_all_tables,
    "get_tables": get_tables,
    "get_tables_by_type": get_tables_by_type,
    "get_table_meta": get_table_meta,
    "get_table_names_by_filter": get_table_names_by_filter,
    "get_fields": get_fields,
    "get_fields_with_environment_context": get_fields,
    "get_schema": get_schema,
    "get_schema_with_environment_context": get_schema,
    "create_table": create_table,
    "create_table_with_environment_context": create_table,
    "alter_table": alter_table,
    "alter_table_with_environment_context": alter_table,
    "alter_table_with_cascade": alter_table,
    "drop_table": drop_table,
    "drop_table_with_environment_context": drop_table,
    "truncate_table": truncate_table,
    "get_indexes": get_indexes,
    "get_index_names": get_index_names,
}
