"""Changes of all stored paths: from absolute to relative ones, or from one directory to another."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.model.json_codec import as_text, with_changed_paths
from rewriter.catalog.model.objects import DEFAULT_DATABASE, parts_of
from rewriter.catalog.model.stored_paths import root_of, stored
from rewriter.catalog.store import schema
from rewriter.uris import is_uri

_LOCATED = ("table", "database")


def make_relative(connection: sa.Connection, warehouse: str) -> None:
    """Makes paths inside a catalog's warehouse relative, which earlier releases stored as absolute paths.

    The warehouse may have been moved since, and may have had several names: the directories of managed tables show its
    earlier paths. Paths in the location of a database, or in an external table elsewhere, do not change.
    """
    if not warehouse:
        return
    replace_prefixes(connection, dict.fromkeys(_roots(connection, warehouse), ""))


def replace_prefixes(connection: sa.Connection, prefixes: Mapping[str, str]) -> None:
    """Replaces each of these directories by another one in all stored paths; ``""`` is the warehouse itself.

    The longest of nested directories counts. O(rows).
    """
    longest_first = sorted(prefixes, key=len, reverse=True)

    def changed(path: str) -> str:
        for prefix in longest_first:
            below = stored(path, prefix)
            if below != path:
                return os.path.normpath(os.path.join(prefixes[prefix], below))
        return path

    row = schema.objects
    query = sa.select(row.c.row_id, row.c.definition).where(row.c.kind.in_(_LOCATED))
    for row_id, text in connection.execute(query).all():
        definition = as_text(with_changed_paths(json.loads(text), changed))
        if definition != text:
            connection.execute(sa.update(row).where(row.c.row_id == row_id).values(definition=definition))
    for prefix in longest_first:
        root = prefix.rstrip(os.sep) + os.sep
        new_root = os.path.join(prefixes[prefix], "")
        for column in (schema.files.c.path, schema.partitions.c.location):
            inside = sa.func.substr(column, 1, len(root)) == root
            value = sa.literal(new_root, sa.Text).op("||")(sa.func.substr(column, len(root) + 1))
            connection.execute(sa.update(column.table).where(inside).values({column.name: value}))


def give_up_copies(connection: sa.Connection) -> None:
    """Removes all secondary clusters from all versions of tables, and their copies: the files belong to another
    warehouse. O(rows).
    """
    connection.execute(schema.partition_copies.delete())
    connection.execute(schema.copied_files.delete())
    row = schema.objects
    query = sa.select(row.c.row_id, row.c.definition).where(row.c.kind == "table")
    for row_id, text in connection.execute(query).all():
        definition = json.loads(text)
        if definition.pop("copies", None) is not None:
            connection.execute(sa.update(row).where(row.c.row_id == row_id).values(definition=as_text(definition)))


def give_up_former_places(connection: sa.Connection) -> None:
    """Removes the ended files outside the warehouse, and the places outside it that managed tables had before: they
    belong to another warehouse, and no VACUUM of this one may remove them. O(rows).
    """
    file = schema.files.c
    for id, path in connection.execute(sa.select(file.row_id, file.path).where(file.ended != schema.NEVER)).all():
        if _is_outside(path):
            connection.execute(sa.delete(schema.files).where(file.row_id == id))
    row = schema.objects
    query = sa.select(row.c.row_id, row.c.object_id, row.c.definition).where(row.c.kind == "table")
    versions = [(row_id, id, json.loads(text)) for row_id, id, text in connection.execute(query.order_by(row.c.row_id))]
    newest = {id: definition["location"] for _, id, definition in versions}
    for row_id, id, definition in versions:
        if not definition["external"] and _is_outside(definition["location"]):
            definition["location"] = newest[id]
            connection.execute(sa.update(row).where(row.c.row_id == row_id).values(definition=as_text(definition)))


def _is_outside(path: str) -> bool:
    return path.startswith(os.sep) or is_uri(path)


def _roots(connection: sa.Connection, warehouse: str) -> set[str]:
    """Returns the earlier directories of the warehouse, by all their names in stored paths."""
    row = schema.objects.c
    query = sa.select(row.kind, row.object_id, row.name, row.definition).order_by(row.row_id)
    first_names: dict[int, str] = {}
    tables: list[tuple[int, dict[str, Any]]] = []
    databases: set[str] = set()
    for kind, id, name, text in connection.execute(query.where(row.kind.in_(_LOCATED))):
        data = json.loads(text)
        if kind == "database":
            databases |= {data["location"]} - {None}
        else:
            first_names.setdefault(id, name)
            tables.append((id, data))
    locations = {data["location"] for _, data in tables} | databases | _partition_locations(connection)
    roots = {warehouse} | {root for location in locations if (root := root_of(location, warehouse)) is not None}
    for id, data in tables:
        location = data["location"]
        if not data["external"] and not _is_in(location, roots | databases):
            root = _root_by_name(location, id, first_names[id])
            roots |= set() if root is None else {root}
    return roots


def _partition_locations(connection: sa.Connection) -> set[str]:
    column = schema.partitions.c.location
    return {
        os.path.dirname(location)
        for location in connection.execute(sa.select(column).where(column.is_not(None))).scalars()
    }


def _is_in(location: str, directories: Collection[str]) -> bool:
    return any(stored(location, directory) != location for directory in directories)


def _root_by_name(location: str, id: int, name: str) -> str | None:
    """Returns the warehouse in which a managed table was created: its directory is ``<name>-<id>``, below the warehouse
    or below the directory of the database that the table was created in.
    """
    parent, folder = os.path.split(location)
    if not folder.endswith(f"-{id}"):
        return None
    grandparent, parent_name = os.path.split(parent)
    database, _ = parts_of(name)
    if parent_name.startswith("temporary-"):
        return grandparent
    if database == DEFAULT_DATABASE:
        return parent
    return grandparent if parent_name == f"{database}.db" else None
