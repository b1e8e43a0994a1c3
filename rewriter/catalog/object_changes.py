"""CREATE and DROP of tables, views, cubes and facts, as part of a commit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rewriter.catalog import conflicts, reads, schema, timeline_properties
from rewriter.catalog.binding import TimeBinding, bind
from rewriter.catalog.changes import AlterTable
from rewriter.catalog.codec import Object, kind_of, to_text
from rewriter.catalog.conflicts import Claims
from rewriter.catalog.context import CommitContext
from rewriter.catalog.factwork import FactWorks
from rewriter.catalog.keys import KeyRange, prefix
from rewriter.catalog.models import Cube, Fact, Table
from rewriter.catalog.timelines import end_rows
from rewriter.errors import AnalysisError, ConflictError, IntegrityError, InternalError


class ObjectChanges:
    """Applies ``CreateObject``, ``DropObject``, ``AlterTable`` and ``RefreshTimelines``."""

    def __init__(self, context: CommitContext, works: FactWorks) -> None:
        self._context = context
        self._works = works

    def create(self, thing: Object) -> None:
        """A new object under a free name. A fact takes over what its tables hold."""
        taken = reads.objects(self._context.connection, self._context.sequence, name=thing.name)
        if taken:
            other, made_by = taken[0]
            if self._context.snapshot.sequence < made_by < self._context.sequence:
                raise ConflictError(
                    f"another transaction has just created the {kind_of(other)} '{other.name}'", object=other.name
                )
            raise IntegrityError(
                f"a {kind_of(other)} named '{other.name}' exists already",
                condition="TABLE_OR_VIEW_ALREADY_EXISTS",
                sqlstate="42P07",
                object=other.name,
                hint=f"choose another name, or drop the {kind_of(other)} first",
            )
        bindings = self._checked_bindings(thing) if isinstance(thing, Fact) else ()
        self._insert(thing)
        self._context.log(f"CREATE_{kind_of(thing).upper()}", thing)
        if isinstance(thing, Fact):
            self._works.start(bindings)
            self._say_present(bindings)

    def alter(self, change: AlterTable) -> None:
        """A new version of a table under its id. Its partitions and the fact that uses it know nothing of it."""
        table = self._context.live_table(change.table)
        live = self._context.live_object(table.name)
        if not isinstance(live, Table):
            raise InternalError(f"the table '{table.name}' has no definition")
        kept = {key: value for key, value in live.properties.items() if key not in change.unset}
        altered = replace(live, properties={**kept, **change.set})
        if altered != live:
            self._renew(altered)
            self._context.log("ALTER_TABLE", altered)
        if timeline_properties.asks_for_rebuild(altered.properties):
            for fact, _ in self._context.live_facts():
                if fact.storage_table(altered.name) is not None:
                    self._rebuild(fact, [altered.id])

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

    def _renew(self, table: Table) -> None:
        """Ends a table's definition and puts this one in its place."""
        row_id = self._context.live_row(table)
        if row_id is not None:
            end_rows(self._context.connection, schema.objects, [row_id], self._context.write_id(table.id))
        self._insert(table)

    def _insert(self, thing: Object) -> None:
        self._context.connection.execute(
            schema.objects.insert(),
            {
                "object_id": thing.id,
                "kind": kind_of(thing),
                "name": thing.name,
                "name_key": thing.name.lower(),
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
        for binding in bindings:
            for other, _ in self._context.live_facts():
                if other.storage_table(binding.table.name) is not None:
                    raise IntegrityError(
                        f"the table '{binding.table.name}' belongs to the fact '{other.name}' already",
                        condition="TABLE_IN_USE",
                        object=binding.table.name,
                        hint=f"DROP FACT {other.name} first, or use another table",
                    )
        return bindings

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

    def _check_unused(self, thing: Object) -> None:
        if isinstance(thing, Table):
            users = [fact for fact, _ in self._context.live_facts() if fact.storage_table(thing.name) is not None]
        elif isinstance(thing, Cube):
            name = thing.name.lower()
            users = [fact for fact, _ in self._context.live_facts() if fact.cube.lower() == name]
        else:
            users = []
        if users:
            names = ", ".join(sorted(fact.name for fact in users))
            raise IntegrityError(
                f"the {kind_of(thing)} '{thing.name}' is used by the fact {names}",
                condition="TABLE_IN_USE" if isinstance(thing, Table) else "CUBE_IN_USE",
                object=thing.name,
                hint=f"DROP FACT {names} first",
            )
