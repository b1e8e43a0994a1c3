"""CREATE, DROP and renaming of databases, tables, views, cubes, facts and functions, as part of a commit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rewriter.catalog.commit import conflicts
from rewriter.catalog.commit.conflicts import Claims
from rewriter.catalog.commit.reserved_properties import COMMENT
from rewriter.catalog.commit.stored_timelines import end_rows
from rewriter.catalog.facts import timeline_properties
from rewriter.catalog.facts.time_binding import TimeBinding, bind
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.json_codec import Object, decode_object, key_of, kind_of, to_text
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import (
    DEFAULT_DATABASE,
    Aggregate,
    CatalogProperties,
    Cube,
    Fact,
    FactLife,
    Function,
    Namespace,
    Storage,
    StorageTable,
    Table,
    database_key,
    database_of,
    seen_from,
)
from rewriter.catalog.reading import queries
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.errors import AnalysisError, ConflictError, IntegrityError, InternalError

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext
    from rewriter.catalog.commit.timeline_updates import FactTimelineUpdates
    from rewriter.catalog.facts.time_binding import TimeBinding
    from rewriter.catalog.model.changes import (
        AlterColumns,
        AlterCube,
        AlterStorages,
        AlterTable,
        RenameObject,
        SetLateness,
        SetRefreshOnCommit,
        SetRetention,
        SetTrusted,
    )


class ObjectChanges:
    """Applies ``CreateObject``, ``DropObject``, ``RenameObject``, ``AlterTable``, ``AlterColumns``,
    ``AlterCube``, ``SetLateness``,
    ``SetRefreshOnCommit``, ``SetRetention``, ``SetTrusted``, ``AlterStorages`` and ``RefreshTimelines``.
    """

    def __init__(self, context: CommitContext, timeline_updates: FactTimelineUpdates) -> None:
        self._context = context
        self._timeline_updates = timeline_updates

    def create(self, object_: Object) -> None:
        """Creates an object under a free name. A fact takes over the content of its tables, and the proofs of a dropped
        fact that means the same.
        """
        self._check_free(object_)
        bindings: Sequence[TimeBinding] = ()
        if isinstance(object_, Fact):
            bindings = self._checked_bindings(object_)
            cube = self._context.live_object(object_.cube)
            assert isinstance(cube, Cube)
            object_ = _continued(self._context.connection, object_, cube, bindings)
            bindings = bind(object_, self._context.live_object)
        self._insert(object_)
        self._context.log(f"CREATE_{kind_of(object_).upper()}", object_)
        if isinstance(object_, Fact):
            self._timeline_updates.start(bindings)
            self._timeline_updates.follow([binding.table for binding in bindings])
            self._mark_timelines_present(bindings)

    def _check_free(self, object_: Object) -> None:
        """Raises if the name is taken, or if the database that it names does not exist."""
        holders = queries.objects(self._context.connection, self._context.sequence, name=key_of(object_))
        if holders:
            holder, made_by = holders[0]
            if self._context.snapshot.sequence < made_by < self._context.sequence:
                raise ConflictError(
                    f"another transaction has just created the {kind_of(holder)} '{holder.name}'", object=holder.name
                )
            if isinstance(object_, Function):
                raise IntegrityError(
                    f"a function named '{holder.name}' already exists",
                    condition="ROUTINE_ALREADY_EXISTS",
                    sqlstate="42723",
                    object=holder.name,
                    hint="Choose another name, or drop the function first.",
                )
            of_database = isinstance(object_, Namespace)
            raise IntegrityError(
                f"a {kind_of(holder)} named '{holder.name}' already exists",
                condition="SCHEMA_ALREADY_EXISTS" if of_database else "TABLE_OR_VIEW_ALREADY_EXISTS",
                sqlstate="42P06" if of_database else "42P07",
                object=holder.name,
                hint=f"Choose another name, or drop the {kind_of(holder)} first.",
            )
        database = DEFAULT_DATABASE if isinstance(object_, Namespace) else database_of(object_.name)
        if database != DEFAULT_DATABASE and self._context.live_object(database_key(database)) is None:
            raise AnalysisError(
                f"the database '{database}' cannot be found",
                condition="SCHEMA_NOT_FOUND",
                sqlstate="42704",
                object=database,
                hint=f"CREATE DATABASE {database} creates it; SHOW DATABASES lists all.",
            )

    def rename(self, change: RenameObject) -> None:
        """Gives a table or view a new name under its id: nothing else of it changes."""
        object_ = self._context.live(change.object)
        if object_ is None or object_.name != change.object.name or self._was_renamed(object_):
            action = "dropped" if object_ is None else "renamed"
            raise ConflictError(
                f"another transaction has {action} the {kind_of(change.object)} '{change.object.name}'",
                object=change.object.name,
            )
        renamed = replace(object_, name=change.name)
        if key_of(renamed) != key_of(object_):
            self._check_free(renamed)
        self._check_unused(object_)
        if isinstance(object_, Table):
            table_claims = Claims(ranges=[KeyRange.of_prefix(prefix(object_.id))])
            conflicts.record(self._context.connection, object_, table_claims, self._context.sequence)
        self.renew(renamed)
        self._context.log(f"RENAME_{kind_of(object_).upper()}", renamed, before=object_.name)

    def _was_renamed(self, object_: Object) -> bool:
        """Returns True if others have renamed it since the transaction began, even if it has its old name again."""
        row, context = schema.objects.c, self._context
        since_snapshot = sa.select(row.row_id).where(
            row.object_id == object_.id, row.commit_seq > context.snapshot.sequence, row.commit_seq < context.sequence
        )
        return context.connection.execute(since_snapshot.where(row.name != object_.name).limit(1)).first() is not None

    def alter(self, change: AlterTable) -> None:
        """Makes a new version of a table under its id. Its partitions and its fact are not affected."""
        live = self._context.live(self._context.live_table(change.table))
        if not isinstance(live, Table):
            raise InternalError(f"the table '{change.table.name}' has no definition")
        new_properties, removed_keys = dict(change.set), {*change.unset, COMMENT}
        comment = new_properties.pop(COMMENT, None if COMMENT in change.unset else live.comment)
        remaining = {key: value for key, value in live.properties.items() if key not in removed_keys}
        location = live.location if change.location is None else change.location
        altered = replace(live, properties={**remaining, **new_properties}, location=location, comment=comment)
        if altered != live:
            self.renew(altered)
            self._context.log("ALTER_TABLE", altered)
        if timeline_properties.asks_for_rebuild(altered.properties):
            for fact, _ in self._context.live_facts():
                if fact.storage_table(altered.name) is not None:
                    self._rebuild(fact, [altered.id])

    def alter_columns(self, change: AlterColumns) -> None:
        """Makes a new version of a table under its id, with more or fewer columns, or with other names, comments, types
        or defaults.
        """
        table = self._context.live_table(change.table)
        live = self._context.live(table)  # Another object may have its name by now.
        if not isinstance(live, Table):
            raise InternalError(f"the table '{table.name}' has no definition")
        if change.types:
            self._check_columns_unused(live, change.types)
        self._check_names_unused(live, {**change.renamed, **dict.fromkeys(change.dropped)}, change.judged)
        if change.added or change.renamed:
            self._check_no_count_hidden(live, [*(column.name for column in change.added), *change.renamed.values()])
        if change.alters_reads:
            self._context.check_columns(table)
            table_claims, snapshot_sequence = (
                Claims(ranges=[KeyRange.of_prefix(prefix(table.id))]),
                self._context.snapshot.sequence,
            )
            conflicts.check(self._context.connection, table, table_claims, snapshot_sequence, self._context.sequence)
        new_comments = change.comments
        columns, partition_columns = (
            tuple(
                replace(column, comment=new_comments[column.name]) if column.name in new_comments else column
                for column in group
            )
            for group in (live.columns, live.partition_columns)
        )
        columns = tuple(
            replace(
                column,
                type=change.types.get(column.name, column.type),
                default=change.defaults.get(column.name, column.default),
                not_null=column.not_null and column.name not in change.nullable,
            ).renamed(change.renamed.get(column.name, column.name))
            for column in columns
            if column.name not in change.dropped
        )
        gone = tuple(column.stored_name for column in live.columns if column.name in change.dropped)
        altered = replace(
            live,
            columns=columns,
            partition_columns=partition_columns,
            comment=new_comments.get(None, live.comment),
            dropped_columns=(*live.dropped_columns, *gone),
        )
        for column in change.added:
            altered = replace(altered, columns=(*altered.columns, altered.with_free_stored_name(column)))
        if altered != live:
            self.renew(altered)
            self._context.log("ALTER_TABLE", altered)

    def _check_no_count_hidden(self, table: Table, columns: Collection[str]) -> None:
        """Raises ``IntegrityError`` COLUMN_IN_USE if a new column of a RAW table has the name of a COUNT measure that
        counts its events: the measure would be the column, NULL in all existing events.
        """
        for fact, _ in self._context.live_facts():
            stored = fact.storage_table(table.name)
            cube = self._context.live_object(fact.cube) if stored is not None else None
            if stored is None or stored.raw is None or not isinstance(cube, Cube):
                continue
            carried = cube.columns_in(fact.columns)
            counts = {measure.name.lower() for measure in cube.measures if measure.aggregate is Aggregate.COUNT}
            counted = (counts & carried) - {name.lower() for name in stored.raw}
            for column in columns:
                if column.lower() in counted:
                    raise IntegrityError(
                        f"the column {column} cannot be added to '{table.name}': the fact '{self._display_name(fact)}' "
                        f"counts the events of this RAW table as {column}",
                        condition="COLUMN_IN_USE",
                        object=column,
                        hint="Choose another name.",
                    )

    def _check_names_unused(self, table: Table, changed: Mapping[str, str | None], judged: Fact | None) -> None:
        """Raises ``IntegrityError`` COLUMN_IN_USE if a fact reads one of these columns of the table under its name.
        ``changed`` are the new names, ``None`` for a column that leaves. The fact ``judged`` of a RAW table does not.
        """
        for fact, _ in self._context.live_facts() if changed else ():
            stored = fact.storage_table(table.name)
            cube = self._context.live_object(fact.cube) if stored is not None else None
            if stored is None or not isinstance(cube, Cube) or fact == judged:
                continue
            own = cube.columns_in(fact.columns_of(stored)) | {time.lower() for time in cube.times}
            for column, name in changed.items():
                # An expression of RAW may read any column of its table.
                if stored.raw is None and column.lower() not in own:
                    continue
                user = self._display_name(fact)
                change, hint = ("dropped", "DROP ") if name is None else ("renamed", f"RENAME COLUMN {column} TO ")
                hint = f"ALTER CUBE {self._display_name(cube)} {hint}{column if name is None else name}"
                effect = "takes it from the cube and its facts" if name is None else "renames it in all its tables, too"
                raise IntegrityError(
                    f"the column {column} of '{self._display_name(table)}' cannot be {change}: the fact '{user}' "
                    "reads it",
                    condition="COLUMN_IN_USE",
                    object=column,
                    hint=f"DROP FACT {user} first."
                    if stored.raw is not None or column.lower() not in cube.columns_in(None)
                    else f"{hint} {effect}.",
                )

    def _check_columns_unused(self, table: Table, types: Mapping[str, str]) -> None:
        """Raises ``IntegrityError`` COLUMN_IN_USE if a fact reads one of these columns of the table, unless its cube
        has the column with the new type.
        """
        for fact, _ in self._context.live_facts():
            stored = fact.storage_table(table.name)
            cube = self._context.live_object(fact.cube) if stored is not None else None
            if stored is None or not isinstance(cube, Cube):
                continue
            cube_columns = {name.lower() for name in cube.column_order}
            cube_types = {column.name.lower(): column.type for column in cube.dimensions}
            cube_types |= {measure.name.lower(): measure.type for measure in cube.measures}
            for column, type_ in types.items():
                if cube_types.get(column.lower()) == type_:
                    continue
                if stored.raw is not None or column.lower() in cube_columns:
                    raise IntegrityError(
                        f"the column {column} of '{table.name}' cannot change its type: the fact "
                        f"'{self._display_name(fact)}' reads the table, and its cube and rollups keep the type",
                        condition="COLUMN_IN_USE",
                        object=column,
                        hint="Create a new table with the type, and a new fact over it.",
                    )

    def alter_properties(self, properties: CatalogProperties) -> None:
        """Makes a new version of the catalog's properties under their id."""
        self.renew(properties)
        self._context.log("ALTER_PROPERTIES", properties)

    def alter_database(self, database: Namespace) -> None:
        """Makes a new version of a database under its id."""
        versions = queries.objects(self._context.connection, self._context.sequence, name=key_of(database))
        live, made_by = versions[0] if versions else (None, 0)
        if live is None or live.id != database.id or self._context.snapshot.sequence < made_by < self._context.sequence:
            raise ConflictError(f"another transaction has changed the database '{database.name}'", object=database.name)
        if database != live:
            self.renew(database)
            self._context.log("ALTER_DATABASE", database)

    def set_trusted(self, change: SetTrusted) -> None:
        """Makes a new version of a fact under its id, and rebuilds the timelines of the table."""
        altered = _with_table(self._live_fact(change.fact), change.table.name, trusted=change.trusted)
        self.renew(altered)
        self._context.log("ALTER_FACT", altered)
        self._timeline_updates.rebuild(altered, [change.table.id])
        self._timeline_updates.follow([change.table])

    def set_lateness(self, change: SetLateness) -> None:
        """Makes a new version of a fact under its id. Its timelines and proofs stay as they are."""
        altered = replace(self._live_fact(change.fact), lateness=change.lateness)
        self.renew(altered)
        self._context.log("ALTER_FACT", altered)

    def alter_cube(self, change: AlterCube) -> None:
        """Makes new versions of a cube and its facts under their ids. Their timelines and proofs stay as they are, but
        for the partitions of rollup tables that get columns: they lack these.
        """
        live = self._context.live(change.cube)
        own = [fact for fact, _ in self._context.live_facts() if fact.cube.lower() == change.cube.name.lower()]
        before = {fact.id: fact for fact, _ in change.facts}
        if not isinstance(live, Cube) or live != change.cube or {fact.id: fact for fact in own} != before:
            raise ConflictError(
                f"another transaction has changed the cube '{change.cube.name}' or its facts", object=change.cube.name
            )
        for name in {stored.table for fact, _ in change.facts for stored in fact.tables}:
            visible = self._context.snapshot.named(name)
            if isinstance(visible, Table):
                self._context.check_columns(visible)  # The statement has compared them with those of the cube.
        self.renew(change.altered.with_log_names(live, change.renamed))
        self._context.log("ALTER_CUBE", change.altered)
        for fact, altered in change.facts:
            if altered != fact:
                dated = _dated(altered, self._context.sequence)
                self.renew(dated)
                self._context.log("ALTER_FACT", dated)
                for old, new in zip(fact.tables, dated.tables, strict=True):
                    if len(old.widenings) < len(new.widenings):
                        self._widen(new)

    def _widen(self, stored: StorageTable) -> None:
        """Notes the last widening of a rollup table. No other transaction may write it meanwhile: its partitions would
        lack the columns, or begin to have them before.
        """
        table = self._context.live_object(stored.table)
        assert isinstance(table, Table)
        claims, sequence = Claims(ranges=[KeyRange.of_prefix(prefix(table.id))]), self._context.sequence
        conflicts.check(self._context.connection, table, claims, self._context.snapshot.sequence, sequence)
        conflicts.record(self._context.connection, table, claims, sequence)
        self._timeline_updates.narrow(table, len(stored.widenings) - 1)

    def set_refresh_on_commit(self, change: SetRefreshOnCommit) -> None:
        """Makes a new version of a fact under its id. Its timelines and proofs stay as they are."""
        altered = replace(self._live_fact(change.fact), refresh_on_commit=change.on_commit)
        self.renew(altered)
        self._context.log("ALTER_FACT", altered)

    def set_retention(self, change: SetRetention) -> None:
        """Makes a new version of a fact under its id. Its timelines and proofs stay as they are."""
        altered = _with_table(self._live_fact(change.fact), change.table, retain=change.retain)
        self.renew(altered)
        self._context.log("ALTER_FACT", altered)

    def alter_storages(self, change: AlterStorages) -> None:
        """Makes a new version of a fact under its id, and rebuilds the timelines of its tables."""
        live, sequence = self._live_fact(change.fact), self._context.sequence
        if live.storages != change.fact.storages:
            raise ConflictError(f"another transaction has altered the fact '{live.name}'", object=live.name)
        old_tables = {table.table.lower() for table in live.tables}
        storages = tuple(
            replace(
                storage,
                tables=tuple(
                    table if table.table.lower() in old_tables else replace(table, joined=sequence)
                    for table in storage.tables
                ),
            )
            for storage in change.storages
        )
        altered = replace(live, storages=storages)
        bindings = self._checked_bindings(altered)
        remaining = {binding.table.id for binding in bindings}
        removed = [binding for binding in bind(live, self._context.live_object) if binding.table.id not in remaining]
        self._timeline_updates.keep_changes(removed)
        self._timeline_updates.remove_tables(live, removed)
        self.renew(altered)
        self._context.log("ALTER_FACT", altered)
        self._timeline_updates.rebuild(altered)
        self._timeline_updates.follow([binding.table for binding in (*removed, *bindings)])
        self._mark_timelines_present(bindings)

    def refresh_timelines(self, fact: Fact) -> None:
        """Rebuilds the timelines of a fact from its partitions."""
        self._live_fact(fact)
        self._rebuild(fact)

    def _live_fact(self, fact: Fact) -> Fact:
        """Returns the current fact. Raises ``ConflictError`` if it was dropped since the transaction began."""
        live = self._context.live(fact)
        if live is None:
            raise ConflictError(f"another transaction has dropped the fact '{fact.name}'", object=fact.name)
        return live

    def _rebuild(self, fact: Fact, tables: Collection[int] | None = None) -> None:
        differences = self._timeline_updates.rebuild(fact, tables)
        self._context.differences += differences
        self._context.log("REFRESH_TIMELINES", fact, differences=len(differences))
        bindings = bind(fact, self._context.live_object)
        self._mark_timelines_present([binding for binding in bindings if tables is None or binding.table.id in tables])

    def _mark_timelines_present(self, bindings: Collection[TimeBinding]) -> None:
        """Notes on the tables whose timelines were rebuilt, and that requested it, that timelines are present."""
        for table in (binding.table for binding in bindings):
            if timeline_properties.asks_for_rebuild(table.properties):
                self.renew(replace(table, properties={**table.properties, timeline_properties.PRESENT: "true"}))

    def renew(self, object_: Object) -> None:
        """Ends a definition and inserts this one instead."""
        row_id = self._context.live_row(object_)
        if row_id is not None:
            end_rows(self._context.connection, schema.objects, [row_id], self._context.write_id(object_.id))
        self._insert(object_)

    def _insert(self, object_: Object) -> None:
        self._context.connection.execute(
            schema.objects.insert(),
            {
                "object_id": object_.id,
                "kind": kind_of(object_),
                "name": object_.name,
                "name_key": key_of(object_),
                "definition": to_text(object_, warehouse_of(self._context.connection)),
                "made": self._context.write_id(object_.id),
                "ended": schema.NEVER,
                "commit_seq": self._context.sequence,
            },
        )

    def _checked_bindings(self, fact: Fact) -> tuple[TimeBinding, ...]:
        if not isinstance(self._context.live_object(fact.cube), Cube):
            raise AnalysisError(
                f"the cube '{fact.cube}' of fact '{fact.name}' cannot be found",
                condition="CUBE_NOT_FOUND",
                sqlstate="42P01",
                object=fact.cube,
                hint="SHOW CUBES lists all.",
            )
        bindings = bind(fact, self._context.live_object)
        self._check_same(fact.cube)
        for binding in bindings:
            self._check_same(binding.table.name)
            visible = self._context.snapshot.named(binding.table.name)
            if isinstance(visible, Table):
                self._context.check_columns(visible)
            for fact_in_use, _ in self._context.live_facts():
                if fact_in_use.id != fact.id and fact_in_use.storage_table(binding.table.name) is not None:
                    user = self._display_name(fact_in_use)
                    raise IntegrityError(
                        f"the table '{self._display_name(binding.table)}' already belongs to the fact '{user}'",
                        condition="TABLE_IN_USE",
                        object=binding.table.name,
                        hint=f"DROP FACT {user} first, or use another table.",
                    )
        return bindings

    def _check_same(self, name: str) -> None:
        """Raises if the name that the fact was checked against in the snapshot denotes another object now."""
        visible, live = self._context.snapshot.named(name), self._context.live_object(name)
        if visible is not None and live is not None and visible.id != live.id:
            raise ConflictError(f"another transaction has given the name '{name}' to another object", object=name)

    def drop(self, object_: Object) -> None:
        """Ends an object that nothing uses. Rows of a table stay for transactions that still see it."""
        row_id = self._context.live_row(object_)
        if row_id is None:
            raise ConflictError(
                f"another transaction has dropped the {kind_of(object_)} '{object_.name}'", object=object_.name
            )
        self._check_unused(object_)
        ended = bind(object_, self._context.live_object) if isinstance(object_, Fact) else ()
        self._timeline_updates.keep_changes(ended)
        if isinstance(object_, Table):
            table_claims = Claims(ranges=[KeyRange.of_prefix(prefix(object_.id))])
            conflicts.check(
                self._context.connection, object_, table_claims, self._context.snapshot.sequence, self._context.sequence
            )
        end_rows(self._context.connection, schema.objects, [row_id], self._context.write_id(object_.id))
        self._context.log(f"DROP_{kind_of(object_).upper()}", object_)
        if isinstance(object_, Fact):
            self._timeline_updates.end(ended)
            self._timeline_updates.follow([binding.table for binding in ended])

    def _display_name(self, object_: Object) -> str:
        """Returns an object's name as seen from the current database of the transaction's owner."""
        return seen_from(self._context.snapshot.current, object_.name)

    def _check_unused(self, object_: Object) -> None:
        if isinstance(object_, Namespace):
            object_names = queries.names_in(self._context.connection, object_.name)
            if object_names:
                raise IntegrityError(
                    f"the database '{object_.name}' is not empty: {', '.join(object_names)}",
                    condition="SCHEMA_NOT_EMPTY",
                    sqlstate="2BP01",
                    object=object_.name,
                    hint=f"DROP DATABASE {object_.name} CASCADE also drops its objects.",
                )
            return
        if isinstance(object_, Table):
            users = [fact for fact, _ in self._context.live_facts() if fact.storage_table(object_.name) is not None]
        elif isinstance(object_, Cube):
            name = object_.name.lower()
            users = [fact for fact, _ in self._context.live_facts() if fact.cube.lower() == name]
        else:
            users = []
        if users:
            names = ", ".join(sorted(map(self._display_name, users)))
            raise IntegrityError(
                f"the {kind_of(object_)} '{self._display_name(object_)}' is used by the fact {names}",
                condition="TABLE_IN_USE" if isinstance(object_, Table) else "CUBE_IN_USE",
                object=object_.name,
                hint=f"DROP FACT {names} first.",
            )


def _dated(fact: Fact, commit: int) -> Fact:
    """Returns a fact whose new widenings have the number of their commit."""

    def dated(table: StorageTable) -> StorageTable:
        widenings = tuple(w if w.commit else replace(w, commit=commit) for w in table.widenings)
        return replace(table, widenings=widenings)

    storages = (replace(storage, tables=tuple(map(dated, storage.tables))) for storage in fact.storages)
    return replace(fact, storages=tuple(storages))


def _with_table(fact: Fact, name: str, **changes: Any) -> Fact:
    """Returns a fact with other members of its storage table of a name, in any case."""
    key = name.lower()

    def changed(table: StorageTable) -> StorageTable:
        return replace(table, **changes) if table.table.lower() == key else table

    storages = (replace(storage, tables=tuple(map(changed, storage.tables))) for storage in fact.storages)
    return replace(fact, storages=tuple(storages))


# The dropped facts that a new fact continues: DROP FACT and an equal CREATE FACT keep all proofs. The row of a
# partition says which commit of the base its content includes, and which commit wrote it. So a fact with the meaning
# of a dropped one needs no more than the time of that one's life: what was written then is judged as if the fact had
# never been dropped, and what was written in between is unproven.


def _continued(connection: sa.Connection, fact: Fact, cube: Cube, bindings: Sequence[TimeBinding]) -> Fact:
    """Returns the new fact, with the lives of the newest dropped fact that means the same over the same tables; as it
    is if there is none, or if a table is external.

    Names, weights, lateness and retention are no part of the meaning. Columns, types, measures, times, layouts, bounds,
    the word of the owner and the places of the tables are. Costs one read of all versions of facts, and a few more for
    each dropped fact over a table of these names.
    """
    tables = {binding.storage_table.table.lower(): binding.table for binding in bindings}
    if any(table.external for table in tables.values()):
        return fact  # No row tells what has been written into their directories since.
    for dropped, life in _dropped_facts(connection):
        if _meaning(dropped, cube) != _meaning(fact, cube):
            continue
        old_cube = _object_before(connection, dropped.cube, life.dropped)
        if not isinstance(old_cube, Cube) or replace(old_cube, id=cube.id, name=cube.name) != cube:
            continue
        if all(_is_same(_object_before(connection, name, life.dropped), table) for name, table in tables.items()):
            before = {table.table.lower(): table for table in dropped.tables}
            storages = [_as_before(storage, before) for storage in fact.storages]
            return replace(fact, storages=tuple(storages), earlier=(*dropped.earlier, life))
    return fact


def _as_before(storage: Storage, before: Mapping[str, StorageTable]) -> Storage:
    """Returns a storage whose tables have joined the fact when those of the dropped one have, by name in lower case,
    and of which ROLLUPS has made those that it had made then: REFRESH FACT goes on to fill them.
    """

    def continued(table: StorageTable) -> StorageTable:
        old = before[table.table.lower()]
        return replace(table, joined=old.joined, made=table.made or old.made, widenings=old.widenings)

    return replace(storage, tables=tuple(map(continued, storage.tables)))


def _meaning(fact: Fact, cube: Cube) -> tuple[object, ...]:
    """Returns what two facts have in common that mean the same: the order of tables, storages and listed columns does
    not matter, nor does it whether a list has all columns or there is none.
    """
    storages = []
    for storage in sorted(fact.storages, key=lambda storage: storage.name):
        tables = [
            replace(
                t,
                table=t.table.lower(),
                joined=0,
                made=False,
                retain=None,
                widenings=(),
                columns=tuple(sorted(cube.columns_in(fact.columns_of(t)))),
            )
            for t in storage.tables
        ]
        storages.append((storage.name, sorted(tables, key=lambda t: t.table), storage.start, storage.end))
    return storages, cube.columns_in(fact.columns), fact.zone


def _is_same(then: object, now: Table) -> bool:
    """Tests whether a table is the one of that time, with the same columns in the same place."""
    if not isinstance(then, Table) or then.id != now.id:
        return False
    return replace(then, name=now.name, comment=now.comment, properties=now.properties) == now


def _object_before(connection: sa.Connection, name: str, commit: int) -> object:
    objects = queries.objects(connection, commit - 1, name=name)
    return objects[0][0] if objects else None


def _dropped_facts(connection: sa.Connection) -> Iterator[tuple[Fact, FactLife]]:
    """Yields the last version of each dropped fact, with its life, the newest first."""
    row, ender = schema.objects.c, schema.write_ids.c
    its_end = sa.and_(ender.object_id == row.object_id, ender.write_id == row.ended)
    query = sa.select(row.object_id, row.name, row.definition, row.commit_seq, ender.commit_seq)
    query = query.join_from(schema.objects, schema.write_ids, its_end, isouter=True).where(row.kind == "fact")
    created: dict[int, int] = {}
    last: dict[int, tuple[float, str, str]] = {}
    for id_, name, definition, made, ended in connection.execute(query):
        created[id_] = min(made, created.get(id_, made))
        version = (float("inf") if ended is None else ended, name, definition)
        last[id_] = max(version, last.get(id_, version), key=lambda version: version[0])
    warehouse = warehouse_of(connection)
    for id_, (dropped_at, name, definition) in sorted(last.items(), key=lambda item: item[1][0], reverse=True):
        if dropped_at != float("inf"):
            fact = decode_object("fact", id_, name, definition, warehouse)
            assert isinstance(fact, Fact)
            yield fact, FactLife(created[id_], int(dropped_at))
