"""Databases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rewriter.catalog.model.changes import AlterDatabase, Change, CreateObject, DropObject
from rewriter.catalog.model.objects import DEFAULT_DATABASE, Cube, Fact, Namespace, Table, database_of
from rewriter.catalog.table_definitions import check_database_name
from rewriter.errors import NotSupportedError
from rewriter.metastore.descriptors import CATALOG, KEPT, kept, path, uri
from rewriter.metastore.service.calls.files import (
    database_root,
    make_table_directory,
    remove_empty_location,
    remove_locations,
)
from rewriter.metastore.service.calls.lookup import is_shown
from rewriter.metastore.service.calls.names import database_name, database_pattern
from rewriter.metastore.wire.interface import structure
from rewriter.statements.resolve.location_conflicts import check_database_location

if TYPE_CHECKING:
    from rewriter.catalog.model.json_codec import Object
    from rewriter.metastore.service.calls.call import Call, Handlers

_Database: Any = structure("Database")
#: How the names of this project's own properties begin.
_OWN = "rewriter."
_OWNER_IS_USER, _OWNER_IS_ROLE = 1, 2


def get_catalogs(call: Call) -> Any:
    return structure("GetCatalogsResponse")(names=[CATALOG])


def get_catalog(call: Call) -> Any:
    """Returns the one catalog of Hive that there is."""
    name = str(call.arguments.catName.name or "")
    if name.lower() != CATALOG:
        raise structure("NoSuchObjectException")(message=f"Catalog {name} does not exist: there is {CATALOG} alone.")
    root = database_root(call.snapshot.database(DEFAULT_DATABASE), call.catalog)
    described = structure("Catalog")(name=CATALOG, description="Default Hive catalog", locationUri=uri(root))
    return structure("GetCatalogResponse")(catalog=described)


def get_all_databases(call: Call) -> list[str]:
    return [database.name for database in call.snapshot.databases()]


def get_databases(call: Call) -> list[str]:
    wanted = database_pattern(call.arguments.pattern)
    return [name for name in get_all_databases(call) if wanted.fullmatch(name)]


def get_database(call: Call) -> Any:
    database = call.snapshot.database(database_name(call.arguments.name))
    values = kept(database.properties)
    if database.name == DEFAULT_DATABASE:
        values = {"ownerName": "public", "ownerType": _OWNER_IS_ROLE, "description": "Default Hive database"}
    return _Database(
        name=database.name,
        description=values.get("description", database.comment or ""),
        locationUri=uri(database_root(database, call.catalog)),
        parameters={key: value for key, value in database.properties.items() if key != KEPT},
        ownerName=values.get("ownerName", ""),
        ownerType=values.get("ownerType", _OWNER_IS_USER),
        catalogName=CATALOG,
    )


def create_database(call: Call) -> None:
    """The location may be anywhere that CREATE DATABASE permits."""
    call.check_writable()
    given = call.arguments.database
    name = database_name(given.name) if given.name else ""
    check_database_name(name)
    if name == DEFAULT_DATABASE:  # It always exists, and no commit has made it.
        raise structure("AlreadyExistsException")(message="Database default already exists")
    with call.catalog.begin(call.snapshot) as transaction:
        database = _database(given, transaction.allocate_id(), call)
        transaction.commit([CreateObject(database)])
    make_table_directory(database_root(database, call.catalog), call.service)


def alter_database(call: Call) -> None:
    name = database_name(call.arguments.dbname)
    live = call.snapshot.database(name)
    if name == DEFAULT_DATABASE:
        raise NotSupportedError(f"The database {name} cannot be changed.", object=name)
    call.check_writable()
    given = call.arguments.db
    given.name = live.name
    changed = _database(given, live.id, call)
    call.commit([AlterDatabase(changed)])


def drop_database(call: Call) -> None:
    name = database_name(call.arguments.name)
    database = call.snapshot.database(name)
    if name == DEFAULT_DATABASE:
        raise structure("MetaException")(message="The database default cannot be dropped.")
    objects = _objects_in(name, call)
    if objects and not call.arguments.cascade:
        raise structure("InvalidOperationException")(
            message=f"Database {name} is not empty. One or more objects exist."
        )
    hidden = next((one for one in objects if not _is_of_clients(one)), None)
    if hidden is not None:
        raise structure("InvalidOperationException")(
            message=f"{hidden.name} in the database {name} is managed here: only DROP DATABASE of a session drops it."
        )
    drops: list[Change] = [DropObject(object_) for object_ in objects]
    call.commit([*drops, DropObject(database)])
    if call.arguments.deleteData:
        for object_ in objects:
            if isinstance(object_, Table):
                remove_locations(object_, [object_.location], call)
        remove_empty_location(database_root(database, call.catalog), call.service)


def _database(given: Any, id: int, call: Call) -> Namespace:
    """Returns the database that a client describes.

    Raises ``NotSupportedError`` for properties of this project, and the errors of ``check_database_location``.
    """
    reserved = next((key for key in given.parameters or {} if key.lower().startswith(_OWN)), None)
    if reserved is not None:
        raise NotSupportedError(f"The property {reserved} has a meaning here.", object=reserved, hint="Rename it.")
    values = {"ownerName": given.ownerName, "ownerType": given.ownerType}
    text = json.dumps({key: value for key, value in values.items() if value is not None})
    properties = {**(given.parameters or {}), KEPT: text}
    database = Namespace(id, database_name(given.name), None, given.description or None, properties)
    location = path(given.locationUri) if given.locationUri else None
    if location is None or location == database_root(database, call.catalog):
        return database
    if all(location != live.location for live in call.snapshot.databases() if live.id == id):
        check_database_location(location, call)
    return replace(database, location=location)


def _is_of_clients(object_: Object) -> bool:
    """Returns False for what clients do not write: cubes, facts, tables that they do not see, and managed tables, which
    need a list of write ids.
    """
    if isinstance(object_, Table):
        return object_.external and is_shown(object_)
    return not isinstance(object_, Cube | Fact)


def _objects_in(name: str, call: Call) -> Sequence[Object]:
    """Returns the objects of a database in an order in which they can be dropped."""
    snapshot = call.snapshot
    groups = (snapshot.facts(), snapshot.cubes(), snapshot.views(), snapshot.tables(), snapshot.functions(name))
    return [object_ for group in groups for object_ in group if database_of(object_.name) == name]


HANDLERS: Handlers = {
    "get_catalogs": get_catalogs,
    "get_catalog": get_catalog,
    "get_all_databases": get_all_databases,
    "get_databases": get_databases,
    "get_database": get_database,
    "create_database": create_database,
    "alter_database": alter_database,
    "drop_database": drop_database,
}
