"""CREATE, DROP and renaming of databases, tables, views, cubes and facts, as part of a commit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import sqlalchemy as sa

from rewriter.catalog import conflicts, reads, schema, timeline_properties
from rewriter.catalog.binding import TimeBinding, bind
from rewriter.catalog.changes import AlterColumns, AlterTable, RenameObject
from rewriter.catalog.codec import Object, key_of, kind_of, to_text
from rewriter.catalog.conflicts import Claims
from rewriter.catalog.context import CommitContext
from rewriter.catalog.factwork import FactWorks
from rewriter.catalog.keys import KeyRange, prefix
from rewriter.catalog.models import Cube, Fact, Namespace, Table
from rewriter.catalog.names import DEFAULT_DATABASE, database_key, database_of, seen_from
from rewriter.catalog.timelines import end_rows
from rewriter.errors import AnalysisError, ConflictError, IntegrityError, InternalError


class ObjectChanges:
    """Applies ``CreateObject``, ``DropObject``, ``RenameObject``, ``AlterTable``, ``AlterColumns`` and
    ``RefreshTimelines``.
    """

    def __init__(self, context: CommitContext, works: FactWorks) -> None:
        self._context = context
        self._works = works

    def create(self, thing: Object) -> None:
        """A new object under a free name. A fact takes over what its tables hold."""
        self._check_free(thing)
        bindings = self._checked_bindings(thing) if isinstance(thing, Fact) else ()
        self._insert(thing)
        self._context.log(f"CREATE_{kind_of(thing).upper()}", thing)
        if isinstance(thing, Fact):
            self._works.start(bindings)
            self._say_present(bindings)

    def _check_free(self, thing: Object) -> None:
        """Raises where something has the name, and where the database that it names is not there."""
        taken = reads.objects(self._context.connection, self._context.sequence, name=key_of(thing))
        if taken:
            other, made_by = taken[0]
            if self._context.snapshot.sequence < made_by < self._context.sequence:
                raise ConflictError(
                    f"another transaction has just created the {kind_of(other)} '{other.name}'", object=other.name
                )
            of_database = isinstance(thing, Namespace)
            raise IntegrityError(
                f"a {kind_of(other)} named '{other.name}' exists already",
                condition="SCHEMA_ALREADY_EXISTS" if of_database else "TABLE_OR_VIEW_ALREADY_EXISTS",
                sqlstate="42P06" if of_database else "42P07",
                object=other.name,
                hint=f"choose another name, or drop the {kind_of(other)} first",
            )
        database = DEFAULT_DATABASE if isinstance(thing, Namespace) else database_of(thing.name)
        if database != DEFAULT_DATABASE and self._context.live_object(database_key(database)) is None:
            raise AnalysisError(
                f"the database '{database}' cannot be found",
                condition="SCHEMA_NOT_FOUND",
                sqlstate="42704",
                object=database,
                hint=f"CREATE DATABASE {database} makes it; SHOW DATABASES lists all",
            )

    def rename(self, change: RenameObject) -> None:
        """A new name for a table or view under its id: nothing else of it changes."""
        thing = self._context.live(change.object)
        if thing is None or thing.name != change.object.name or self._had_other_names(thing):
            done = "dropped" if thing is None else "renamed"
            raise ConflictError(
                f"another transaction has {done} the {kind_of(change.object)} '{change.object.name}'",
                object=change.object.name,
            )
        renamed = replace(thing, name=change.name)
        if key_of(renamed) != key_of(thing):
            self._check_free(renamed)
        self._check_unused(thing)
        if isinstance(thing, Table):
            whole = Claims(ranges=[KeyRange.of_prefix(prefix(thing.id))])
            conflicts.record(self._context.connection, thing, whole, self._context.sequence)
        self._renew(renamed)
        self._context.log(f"RENAME_{kind_of(thing).upper()}", renamed, before=thing.name)

    def _had_other_names(self, thing: Object) -> bool:
        """Whether others have renamed it since the transaction began, though it is called as it was again."""
        row, context = schema.objects.c, self._context
        other = sa.select(row.row_id).where(
            row.object_id == thing.id, row.commit_seq > context.snapshot.sequence, row.commit_seq < context.sequence
        )
        return context.connection.execute(other.where(row.name != thing.name).limit(1)).first() is not None

    def alter(self, change: AlterTable) -> None:
        """A new version of a table under its id. Its partitions and the fact that uses it know nothing of it."""
        live = self._context.live(self._context.live_table(change.table))
        if not isinstance(live, Table):
            raise InternalError(f"the table '{change.table.name}' has no definition")
        kept = {key: value for key, value in live.properties.items() if key not in change.unset}
        location = live.location if change.location is None else change.location
        altered = replace(live, properties={**kept, **change.set}, location=location)
        if altered != live:
            self._renew(altered)
            self._context.log("ALTER_TABLE", altered)
        if timeline_properties.asks_for_rebuild(altered.properties):
            for fact, _ in self._context.live_facts():
                if fact.storage_table(altered.name) is not None:
                    self._rebuild(fact, [altered.id])

    def alter_columns(self, change: AlterColumns) -> None:
        """A new version of a table under its id, with more columns, or with other comments."""
        table = self._context.live_table(change.table)
        live = self._context.live(table)  # Its name may be another one's by now.
        if not isinstance(live, Table):
            raise InternalError(f"the table '{table.name}' has no definition")
        if change.added:
            self._context.check_columns(table)
            whole, seen = Claims(ranges=[KeyRange.of_prefix(prefix(table.id))]), self._context.snapshot.sequence
            conflicts.check(self._context.connection, table, whole, seen, self._context.sequence)
        says = change.comments
        columns, partition_columns = (
            tuple(replace(one, comment=says[one.name]) if one.name in says else one for one in some)
            for some in (live.columns, live.partition_columns)
        )
        comment = says.get(None, live.comment)
        altered = replace(live, columns=(*columns, *change.added), partition_columns=partition_columns, comment=comment)
        if altered != live:
            self._renew(altered)
            self._context.log("ALTER_TABLE", altered)

    def refresh_timelines(self, fact: Fact) -> None:
        """The timelines of a fact, built anew from its partitions."""
        if self._context.live_row(fact) is None:
            raise ConflictError(f"another transaction has dropped the fact '{fact.name}'", object=fact.name)
        self._rebuild(fact)

    def _rebuild(self, fact: Fact, tables: Collection[int] | None = None) -> None:
        found = self._works.rebuild(fact, tables)
        self._context.differences += found
        self._context.log("REFRESH_TIMELINES", fact, differences=len(found))
        bindings = bind(fact, self._context.live_object)
        self._say_present([one for one in bindings if tables is None or one.table.id in tables])

    def _say_present(self, bindings: Collection[TimeBinding]) -> None:
        """The tables whose timelines were built, and which said that these are not there, say that they are."""
        for table in (binding.table for binding in bindings):
            if timeline_properties.asks_for_rebuild(table.properties):
                self._renew(replace(table, properties={**table.properties, timeline_properties.PRESENT: "true"}))

    def _renew(self, thing: Object) -> None:
        """Ends a definition and puts this one in its place."""
        row_id = self._context.live_row(thing)
        if row_id is not None:
            end_rows(self._context.connection, schema.objects, [row_id], self._context.write_id(thing.id))
        self._insert(thing)

    def _insert(self, thing: Object) -> None:
        self._context.connection.execute(
            schema.objects.insert(),
            {
                "object_id": thing.id,
                "kind": kind_of(thing),
                "name": thing.name,
                "name_key": key_of(thing),
                "definition": to_text(thing),
                "made": self._context.write_id(thing.id),
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
                hint="SHOW CUBES lists all",
            )
        bindings = bind(fact, self._context.live_object)
        self._check_same(fact.cube)
        for binding in bindings:
            self._check_same(binding.table.name)
            for other, _ in self._context.live_facts():
                if other.storage_table(binding.table.name) is not None:
                    user = self._seen(other)
                    raise IntegrityError(
                        f"the table '{self._seen(binding.table)}' belongs to the fact '{user}' already",
                        condition="TABLE_IN_USE",
                        object=binding.table.name,
                        hint=f"DROP FACT {user} first, or use another table",
                    )
        return bindings

    def _check_same(self, name: str) -> None:
        """A fact was checked against what its transaction saw under a name; another object may be called so by now."""
        seen, live = self._context.snapshot.named(name), self._context.live_object(name)
        if seen is not None and live is not None and seen.id != live.id:
            raise ConflictError(f"another transaction has given the name '{name}' to something else", object=name)

    def drop(self, thing: Object) -> None:
        """The end of an object that nothing uses. Rows of a table stay for those who still see it."""
        row_id = self._context.live_row(thing)
        if row_id is None:
            raise ConflictError(
                f"another transaction has dropped the {kind_of(thing)} '{thing.name}'", object=thing.name
            )
        self._check_unused(thing)
        if isinstance(thing, Table):
            whole = Claims(ranges=[KeyRange.of_prefix(prefix(thing.id))])
            conflicts.check(
                self._context.connection, thing, whole, self._context.snapshot.sequence, self._context.sequence
            )
        end_rows(self._context.connection, schema.objects, [row_id], self._context.write_id(thing.id))
        self._context.log(f"DROP_{kind_of(thing).upper()}", thing)
        if isinstance(thing, Fact):
            self._works.end(bind(thing, self._context.live_object))

    def _seen(self, thing: Object) -> str:
        """The name by which the transaction's owner calls an object, whose current database may be another one."""
        return seen_from(self._context.snapshot.current, thing.name)

    def _check_unused(self, thing: Object) -> None:
        if isinstance(thing, Namespace):
            left = reads.names_in(self._context.connection, thing.name)
            if left:
                raise IntegrityError(
                    f"the database '{thing.name}' is not empty: {', '.join(left)}",
                    condition="SCHEMA_NOT_EMPTY",
                    sqlstate="2BP01",
                    object=thing.name,
                    hint=f"DROP DATABASE {thing.name} CASCADE drops what is in it, too",
                )
            return
        if isinstance(thing, Table):
            users = [fact for fact, _ in self._context.live_facts() if fact.storage_table(thing.name) is not None]
        elif isinstance(thing, Cube):
            name = thing.name.lower()
            users = [fact for fact, _ in self._context.live_facts() if fact.cube.lower() == name]
        else:
            users = []
        if users:
            names = ", ".join(sorted(map(self._seen, users)))
            raise IntegrityError(
                f"the {kind_of(thing)} '{self._seen(thing)}' is used by the fact {names}",
                condition="TABLE_IN_USE" if isinstance(thing, Table) else "CUBE_IN_USE",
                object=thing.name,
                hint=f"DROP FACT {names} first",
            )
