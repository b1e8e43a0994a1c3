"""Tables and views: look-ups, lists, CREATE, ALTER and DROP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rewriter.catalog.commit.reserved_properties import COMMENT
from rewriter.catalog.keys import directory_moves
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.metastore_writes import check_properties
from rewriter.catalog.model.changes import (
    AlterColumns,
    AlterPartitions,
    AlterTable,
    Change,
    CreateObject,
    DropObject,
    PartitionAlteration,
    RenameObject,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, Table, View, database_of, parts_of, short_name
from rewriter.catalog.model.row_formats import SERDE_PROPERTY, row_format_properties
from rewriter.catalog.model.stored_paths import MOVING
from rewriter.data_formats import known_format
from rewriter.errors import CommitUnknownError
from rewriter.metastore.column_statistics import statistics_of_present
from rewriter.metastore.descriptors import (
    CATALOG,
    EXTERNAL,
    HIDDEN,
    KEPT,
    MANAGED,
    STATISTICS,
    SYNTHETIC,
    VIEW,
    catalog_table,
    catalog_view,
    kept,
    location_of,
    parameters_of,
    path,
    uri,
)
from rewriter.metastore.service.calls.basic_parameters import with_counts, with_time
from rewriter.metastore.service.calls.files import database_root, is_below_roots, make_table_directory, remove_locations
from rewriter.metastore.service.calls.lookup import is_readable, is_shown, seen_table, shown_table
from rewriter.metastore.service.calls.names import database_name, database_pattern, pattern, table_name
from rewriter.metastore.service.calls.table_filters import read_table_filter
from rewriter.metastore.wire.interface import structure
from rewriter.statements.define.alter_columns import reads_as_wider

if TYPE_CHECKING:
    from rewriter.metastore.service.calls.call import Call, Handlers

# ALTER TABLE: the difference between a table and the one that the client wants instead.

#: The location in the options of a table that Spark made.
_PATH = "path"
_InvalidOperation: Any = structure("InvalidOperationException")


def alter_table(call: Call) -> None:
    """Commits all differences at once. A new name moves the files if they are in the default directory of the old one
    (``_moved_location``).
    """
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
    check_properties({key: value for key, value in (given.parameters or {}).items() if key in HIDDEN})
    given.tableType = given.tableType or kept(table.properties).get("tableType")
    is_renamed = new_name.lower() != table.name.lower()
    location = _choose_location(given, table, is_renamed)
    moved = _moved_location(table, new_name, call) if is_renamed and location == table.location else None
    if is_renamed:
        _set_path_of_spark(given, table, location, moved)
    given.parameters = with_time(given.parameters, call.now)
    if not given.partitionKeys:
        given.parameters = with_counts(given.parameters, location, call.service, is_changed=True)
    wanted = catalog_table(given, table.id, location)
    changes = [*_changed_columns(table, wanted), *_changed_properties(table, wanted, call)]
    if is_renamed:
        changes.append(RenameObject(table, new_name))
    if moved is not None:
        return _commit_move(call, table, changes, moved)
    call.commit(changes)
    if location != table.location:
        make_table_directory(location, call.service)
    return None


def _choose_location(given: Any, table: Table, is_renamed: bool) -> str:
    location = location_of(given) or table.location
    if is_renamed and given.sd.location and path(given.sd.location) == table.location:
        return table.location  # Spark names the new path already, and expects that the files move there.
    return location


def _set_path_of_spark(given: Any, table: Table, location: str, moved: str | None) -> None:
    """Names the directory of a renamed table where Spark reads it, in its options. Spark expects that all files move,
    and would read an empty directory where they do not.
    """
    serde = given.sd.serdeInfo
    if serde is None or _PATH not in (serde.parameters or {}):
        return
    serde.parameters[_PATH] = uri(moved or location)
    if location == table.location and not kept(table.properties).get("location"):
        given.sd.location = uri(moved or location)


def _moved_location(table: Table, new_name: str, call: Call) -> str | None:
    """Returns the directory of a renamed table, if its files move: it was created as a managed one, is in the default
    directory of its old name, and the server may move that. Otherwise the files stay, and this is ``None``.
    """
    source = _default_location(table.name, call)
    target = _default_location(new_name, call)
    if kept(table.properties).get("tableType") != MANAGED or table.location != source:
        return None
    if not (is_below_roots(source, call.service) and is_below_roots(target, call.service)):
        return None
    return None if call.snapshot.partitions_at(table, [source]) else target


def _default_location(name: str, call: Call) -> str:
    root = database_root(call.snapshot.database(database_of(name)), call.catalog)
    return f"{root}/{short_name(name).lower()}"


def _commit_move(call: Call, table: Table, changes: Sequence[Change], target: str) -> None:
    """Commits a new name with a new directory, and moves the files. Every reader finds them at any time
    (``directory_moves``), and the next call finishes a move that was interrupted.

    Raises the errors of ``directory_moves.prepare``.
    """
    call.check_location(replace(table, location=target))
    moves = directory_moves.prepare([(table.location, target)])
    notes = {} if moves is None else {moves.key: moves.text}
    try:
        call.commit([AlterTable(table, notes, (), target), *changes])
    except BaseException as error:
        if moves is not None and not isinstance(error, CommitUnknownError):
            directory_moves.unmark(moves)
        raise
    if moves is not None:
        new_name = next(change.name for change in changes if isinstance(change, RenameObject))
        call.catalog.finish_moves(call.catalog.snapshot().table(new_name))


def _alter_view(call: Call, view: View, given: Any) -> None:
    """A view is replaced: its id changes, and its name may. Raises the errors of ``check_properties``."""
    name = table_name(given.dbName or call.arguments.dbname, given.tableName)
    given.dbName, given.tableName = database_of(name), short_name(name)
    check_properties(given.parameters or {})
    given.parameters = with_time(given.parameters, call.now)
    with call.catalog.begin(call.snapshot) as transaction:
        created = catalog_view(given, transaction.allocate_id())
        transaction.commit([DropObject(view), CreateObject(created)])


def _changed_properties(table: Table, wanted: Table, call: Call) -> list[Change]:
    changed, removed = _compare_properties(table, wanted)
    if KEPT in table.properties:
        changed |= _changed_separators(table, wanted, call)
    statistics = table.properties.get(STATISTICS)
    if statistics is not None and (present := statistics_of_present(statistics, wanted.columns)) != statistics:
        # Statistics of columns that are gone, or have another type now, end with them.
        changed, removed = changed | ({STATISTICS: present} if present else {}), (*removed, STATISTICS)
    comment = {} if wanted.comment == table.comment or wanted.comment is None else {COMMENT: wanted.comment}
    if wanted.comment is None and table.comment is not None:
        removed = (*removed, COMMENT)
    location = None if wanted.location == table.location else wanted.location
    if location is not None:
        call.check_new_location(table, location)
    if not changed and not removed and not comment and location is None:
        return []
    kept_places = [] if location is None else _kept_places(table, call)
    return [*kept_places, AlterTable(table, {**changed, **comment}, removed, location)]


def _compare_properties(table: Table, wanted: Table) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the properties that have other values, and the names of the properties that are gone, but for statistics.

    Raises ``InvalidOperationException`` for another format, and the errors of ``check_properties``.
    """
    before, after = _select_own_properties(table), _select_own_properties(wanted)
    if KEPT not in before:
        # A table of SQL stays one: the descriptor that clients see follows from it.
        for key in (*HIDDEN - {STATISTICS}, *SYNTHETIC):
            after.pop(key, None)
            before.pop(key, None)
        if wanted.format != table.format:
            raise _InvalidOperation(message=f"The format of {table.name} cannot be changed.")
    before.pop(STATISTICS, None)
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    removed = tuple(key for key in before if key not in after)
    given = {key: value for key, value in changed.items() if key not in HIDDEN}
    check_properties(given | {key: None for key in removed if key not in HIDDEN})
    if KEPT in before and wanted.format != table.format:
        raise _InvalidOperation(message=f"The format of {table.name} cannot be changed: drop it, and create it anew.")
    return changed, removed


def _select_own_properties(table: Table) -> dict[str, str]:
    """Returns the properties of a table without the properties of text files, and without the notes of directories that
    move.
    """
    return {key: value for key, value in table.properties.items() if not key.startswith((SERDE_PROPERTY, MOVING))}


def _changed_separators(table: Table, wanted: Table, call: Call) -> dict[str, str]:
    """Returns the separators of text files that differ, as properties.

    Raises ``InvalidOperationException`` if the table has partitions: their files keep the separators that they have.
    """
    before, after = table.file_options, wanted.file_options
    if before == after:
        return {}
    if table.partition_columns and call.snapshot.partition_count(table):
        raise _InvalidOperation(message=f"The separators of {table.name} cannot be changed: it has partitions.")
    return row_format_properties({key: after[key] for key in after if before.get(key) != after[key]})


def _kept_places(table: Table, call: Call) -> list[Change]:
    """Returns the change by which the partitions of a table stay where they are when its location changes, as in Hive.
    One read of the partitions.
    """
    if not table.partition_columns or is_discovered(table):
        return []
    there = call.snapshot.satisfying(table, None)
    kept_partitions = tuple(
        PartitionAlteration(partition.key, directory_moves.directory(table, partition))
        for partition in there
        if partition.location is None
    )
    return [AlterPartitions(table, kept_partitions, (KeyRange.of_prefix(prefix(table.id)),))]


def _changed_columns(table: Table, wanted: Table) -> list[Change]:
    """Returns the change of data columns: new ones at the end, other comments, other types.

    Raises ``InvalidOperationException`` for columns that are missing or elsewhere, and for partition columns.
    """
    if _table_change_names(table.partition_columns) != _table_change_names(wanted.partition_columns):
        raise _InvalidOperation(message="partition keys can not be changed.")
    known = len(table.columns)
    if _table_change_names(wanted.columns[:known]) != _table_change_names(table.columns_in_files):
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
    for old, new in pairs:
        data_format = known_format(table.format)
        is_wide = data_format is not None and data_format.widens and reads_as_wider(old.type, _spelled(new.type))
        if old.name in types and data_format is not None and not is_wide:
            raise _InvalidOperation(
                message=f"The type {old.type} of {old.name} cannot become {new.type}: files of {table.name} have it."
            )
    added = tuple(wanted.columns[known:])
    taken = {column.name.lower() for column in table.columns} | set(map(str.lower, table.dropped_columns))
    for column in added:
        if column.name.lower() in taken:
            raise _InvalidOperation(
                message=f"The column {column.name} cannot be added: a column of {table.name} has, or had, the name."
            )
    return [AlterColumns(table, added, comments, types)] if added or comments or types else []


def _table_change_names(columns: tuple[Column, ...]) -> list[str]:
    return [column.name.lower() for column in columns]


def _spelled(type: str) -> str:
    return type.replace(" ", "").lower()


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
