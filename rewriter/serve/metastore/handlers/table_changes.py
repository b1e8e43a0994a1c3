"""ALTER TABLE: the difference between a table and the one that the client wants instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rewriter.catalog.commit.reserved_properties import COMMENT
from rewriter.catalog.metastore_writes import check_properties
from rewriter.catalog.model.changes import AlterColumns, AlterTable, Change, CreateObject, DropObject, RenameObject
from rewriter.catalog.model.objects import Column, Table, View
from rewriter.catalog.model.row_formats import SERDE_PROPERTY
from rewriter.serve.metastore.column_statistics import statistics_of_present
from rewriter.serve.metastore.descriptors import KEPT, STATISTICS, catalog_table, catalog_view, kept, path
from rewriter.serve.metastore.files import make_table_directory
from rewriter.serve.metastore.lookup import seen_table
from rewriter.serve.metastore.names import table_name
from rewriter.serve.metastore.service import Call
from rewriter.serve.metastore.wire.interface import structure

_InvalidOperation: Any = structure("InvalidOperationException")


def alter_table(call: Call) -> None:
    """Commits all differences at once. A new name leaves the files where they are."""
    call.check_writable()
    arguments, given = call.arguments, call.arguments.new_tbl
    name = table_name(arguments.dbname, arguments.tbl_name)
    object_ = call.snapshot.named(name)
    if object_ is None:
        raise _InvalidOperation(message=f"table {name} doesn't exist")
    if isinstance(object_, View):
        return _alter_view(call, object_, given)
    table = seen_table(call, name, is_write=True)
    new_name = table_name(given.dbName or arguments.dbname, given.tableName)
    if given.sd is None:
        raise _InvalidOperation(message="The table has no storage descriptor.")
    given.tableType = given.tableType or kept(table.properties).get("tableType")
    location = path(given.sd.location) if given.sd.location else table.location
    wanted = catalog_table(given, table.id, location)
    changes = [*_changed_columns(table, wanted), *_changed_properties(table, wanted, call)]
    if new_name.lower() != table.name.lower():
        changes.append(RenameObject(replace(table), new_name))
    call.commit(changes)
    if location != table.location:
        make_table_directory(location, call.service)
    return None


def _alter_view(call: Call, view: View, given: Any) -> None:
    """A view is replaced: its id changes, and its name may."""
    with call.catalog.begin(call.snapshot) as transaction:
        created = catalog_view(given, transaction.allocate_id())
        transaction.commit([DropObject(view), CreateObject(created)])


def _changed_properties(table: Table, wanted: Table, call: Call) -> list[Change]:
    before = {key: value for key, value in table.properties.items() if not key.startswith(SERDE_PROPERTY)}
    after = {key: value for key, value in wanted.properties.items() if not key.startswith(SERDE_PROPERTY)}
    if KEPT not in before:
        # A table of SQL stays one: the descriptor that clients see follows from it.
        after.pop(KEPT, None)
        after.pop("EXTERNAL", None)
        before.pop("EXTERNAL", None)
        if wanted.format != table.format:
            raise _InvalidOperation(message=f"The format of {table.name} cannot be changed.")
    statistics = before.pop(STATISTICS, None)
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    removed = tuple(key for key in before if key not in after)
    check_properties({key: value for key, value in changed.items() if key != KEPT} | dict.fromkeys(removed))
    if KEPT in before and wanted.format != table.format:
        raise _InvalidOperation(message=f"The format of {table.name} cannot be changed: drop it, and create it anew.")
    if statistics is not None and (present := statistics_of_present(statistics, wanted.columns)) != statistics:
        # Statistics of columns that are gone, or have another type now, end with them.
        changed, removed = changed | ({STATISTICS: present} if present else {}), (*removed, STATISTICS)
    comment = {} if wanted.comment == table.comment or wanted.comment is None else {COMMENT: wanted.comment}
    if wanted.comment is None and table.comment is not None:
        removed = (*removed, COMMENT)
    location = None if wanted.location == table.location else wanted.location
    if location is not None:
        call.check_location(replace(table, location=location))
    if not changed and not removed and not comment and location is None:
        return []
    return [AlterTable(table, {**changed, **comment}, removed, location)]


def _changed_columns(table: Table, wanted: Table) -> list[Change]:
    """Returns the change of data columns: new ones at the end, other comments, other types.

    Raises ``InvalidOperationException`` for columns that are missing or elsewhere, and for partition columns.
    """
    if _names(table.partition_columns) != _names(wanted.partition_columns):
        raise _InvalidOperation(message="partition keys can not be changed.")
    known = len(table.columns)
    if _names(wanted.columns[:known]) != _names(table.columns):
        raise _InvalidOperation(
            message=f"The columns of {table.name} cannot be removed, renamed or moved: its files have them. "
            "New ones are added at the end."
        )
    pairs = [
        *zip(table.columns, wanted.columns, strict=False),
        *zip(table.partition_columns, wanted.partition_columns, strict=True),
    ]
    comments: dict[str | None, str | None] = {old.name: new.comment for old, new in pairs if old.comment != new.comment}
    types = {old.name: new.type for old, new in pairs if _spelled(old.type) != _spelled(new.type)}
    if any(column.name in types for column in table.partition_columns):
        raise _InvalidOperation(message="partition keys can not be changed.")
    added = tuple(wanted.columns[known:])
    return [AlterColumns(table, added, comments, types)] if added or comments or types else []


def _names(columns: tuple[Column, ...]) -> list[str]:
    return [column.name.lower() for column in columns]


def _spelled(type: str) -> str:
    return type.replace(" ", "").lower()
