"""The effects of one commit on all facts whose tables it changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.commit.fact_timelines import FactTimelineUpdate
from rewriter.catalog.commit.origin_changes import Dependent, OriginChanges, dependents, has_dependents, touches
from rewriter.catalog.commit.partition_rows import replace_origins
from rewriter.catalog.commit.stored_timelines import narrow_timelines
from rewriter.catalog.facts.time_binding import Slot, TimeBinding, bind
from rewriter.catalog.model.objects import Fact, Table
from rewriter.catalog.model.origins import LOST, over_time
from rewriter.catalog.reading import queries

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext
    from rewriter.catalog.commit.stored_timelines import TimelineDifference


class FactTimelineUpdates:
    """The timeline updates of one commit, for all facts that it affects."""

    def __init__(self, context: CommitContext) -> None:
        self._context = context
        self._facts: list[tuple[Fact, int]] | None = None
        self._timeline_updates: dict[int, FactTimelineUpdate] = {}

    def of(self, table: Table) -> FactTimelineUpdate | None:
        """Returns the update of the fact that the table belongs to now; ``None`` if it belongs to none."""
        if self._facts is None:
            self._facts = self._context.live_facts()
        for fact, made_by in self._facts:
            if fact.storage_table(table.name) is not None:
                if fact.id not in self._timeline_updates:
                    self._timeline_updates[fact.id] = FactTimelineUpdate(
                        self._context, bind(fact, self._context.live_object), made_by
                    )
                return self._timeline_updates[fact.id]
        return None

    def start(self, bindings: Sequence[TimeBinding]) -> None:
        """Builds the timelines of a fact that was created."""
        self.finish()
        FactTimelineUpdate(self._context, bindings, self._context.sequence).build()

    def rebuild(self, fact: Fact, tables: Collection[int] | None = None) -> list[TimelineDifference]:
        """Rebuilds the timelines of some tables (``None``: all) of a live fact and returns the differences."""
        self.finish()
        made_by = next(made_by for live, made_by in self._context.live_facts() if live.id == fact.id)
        return FactTimelineUpdate(self._context, bind(fact, self._context.live_object), made_by).build(tables)

    def remove_tables(self, fact: Fact, removed_bindings: Sequence[TimeBinding]) -> None:
        """Removes tables from a live fact.

        A rollup that is outdated in a remaining table becomes unproven until it is written again, because a table that
        no longer counts may have outdated it.
        """
        if not removed_bindings:
            return
        self.finish()
        made_by = next(made_by for live, made_by in self._context.live_facts() if live.id == fact.id)
        bindings = bind(fact, self._context.live_object)
        outdated = FactTimelineUpdate(self._context, bindings, made_by).outdated()
        for binding in bindings:
            if binding not in removed_bindings and outdated.get(binding.table.id):
                FactTimelineUpdate(self._context, bindings, made_by).remove_proofs(binding, outdated[binding.table.id])
        FactTimelineUpdate(self._context, removed_bindings, made_by).end()

    def narrow(self, table: Table, widening: int) -> None:
        """Notes that the partitions of a rollup table lack the columns that a widening of this commit adds."""
        self.finish()
        context = self._context
        narrow_timelines(context.connection, table.id, widening, lambda: context.write_id(table.id), context.sequence)

    def keep_changes(self, bindings: Sequence[TimeBinding]) -> None:
        """Notes of copies of tables that leave their fact that these have changed, before their changes count no
        longer.
        """
        self.finish()
        changes = OriginChanges(self._context.connection, self._context.bindings_with)
        lost: dict[int, list[Dependent]] = {}
        own_bindings: dict[int, Sequence[TimeBinding]] = {}
        times: dict[bytes, tuple[int, int]] = {}
        for dependent in dependents(self._context.connection, {binding.table.id for binding in bindings}):
            if dependent.table not in own_bindings:
                own_bindings[dependent.table] = self._context.bindings_with(dependent.table)
            own = own_bindings[dependent.table]
            slot = own[0].locate(dependent.values) if own else None
            times[dependent.key] = (0, 0) if slot is None else (slot.start, slot.end)
            if changes.are_outdated(over_time(dependent.origins, *times[dependent.key])):
                lost.setdefault(dependent.table, []).append(dependent)
        for table_id, partitions in lost.items():
            origins_of_keys = {
                dependent.key: tuple(
                    origin._replace(as_of=LOST)
                    if changes.are_outdated(over_time((origin,), *times[dependent.key]))
                    else origin
                    for origin in dependent.origins
                )
                for dependent in partitions
            }
            objects = queries.objects(self._context.connection, self._context.sequence, id=table_id)
            table = objects[0][0] if objects else None
            if isinstance(table, Table):
                replace_origins(self._context.connection, table, origins_of_keys, self._context.write_id(table_id))

    def end(self, bindings: Sequence[TimeBinding]) -> None:
        """Ends the timelines of a fact that was dropped."""
        self.finish()
        FactTimelineUpdate(self._context, bindings, self._context.sequence).end()

    def follow(self, tables: Collection[Table]) -> None:
        """Judges the partitions again that rest on one of these tables, whose declaration has changed."""
        self.finish()
        self._judge_again(dependents(self._context.connection, {table.id for table in tables}))
        self._finish()

    def finish(self) -> None:
        """Brings all timelines up to the changes made so far."""
        changed: dict[int, Collection[Slot]] = {}
        for timeline_update in self._timeline_updates.values():
            changed |= timeline_update.changed
        if changed and has_dependents(self._context.connection):
            self._judge_again(dependents(self._context.connection, changed), changed)
        self._finish()

    def _judge_again(
        self, partitions: Iterable[Dependent], changed: Mapping[int, Collection[Slot]] | None = None
    ) -> None:
        """Judges partitions again; with ``changed``, only the partitions that rest on one of the changed slots, by
        table.
        """
        by_table: dict[int, list[Dependent]] = {}
        for dependent in partitions:
            by_table.setdefault(dependent.table, []).append(dependent)
        for table_id, partitions_of_table in by_table.items():
            objects = queries.objects(self._context.connection, self._context.sequence, id=table_id)
            table = objects[0][0] if objects else None
            timeline_update = self.of(table) if isinstance(table, Table) else None
            if isinstance(table, Table) and timeline_update is not None:
                locate = timeline_update.binding(table).locate
                slots = {
                    slot
                    for dependent in partitions_of_table
                    if (slot := locate(dependent.values)) is not None
                    and (changed is None or touches(over_time(dependent.origins, slot.start, slot.end), changed))
                }
                timeline_update.judge_again(table, slots)

    def _finish(self) -> None:
        for timeline_update in self._timeline_updates.values():
            timeline_update.finish()
        self._timeline_updates.clear()
        self._facts = None
