"""The contents of facts that the query of a write has read, as the origins of the partitions that it writes.

A table that is filled from a cube, or from tables of a fact, has a copy of the events of that fact: changes there make
the copy outdated. A copy of a copy rests on the first fact, too, also through tables of no fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.model.objects import Fact, Table
from rewriter.catalog.model.origins import Origin, OriginKind, Origins, merged_origins
from rewriter.catalog.model.proofs import REGISTERED
from rewriter.planner.model.plan import Reading, TableUse
from rewriter.runtime.statement_context import Context
from rewriter.statements.query.select import selected
from rewriter.timeline.calendars import Period
from rewriter.timeline.timeline import PartitionTimeline


def read_origins(table: Table, readings: Sequence[Reading], context: Context) -> Origins:
    """Returns the origins of what a query has read for a table: the facts of other tables, and what these rest on.

    Reads the partitions that were read, and one indexed statement for each table.
    """
    fact = context.snapshot.fact_using(table.name)
    uses = (use for reading in readings for use in reading.uses if use.table.kind.is_in_catalog)
    return merged_origins(origin for use in uses for origin in _origins(use, fact, context))


def _origins(use: TableUse, target: Fact | None, context: Context) -> Iterator[Origin]:
    snapshot = context.snapshot
    inherited, fact = snapshot.origins(use.table), snapshot.fact_using(use.table.name)
    is_copy = fact is not None and (target is None or fact.id != target.id)
    if not inherited and not is_copy:
        return
    stored = None if fact is None else fact.storage_table(use.table.name)
    binding = None if fact is None or stored is None else TimeBinding(fact, stored, use.table)
    fresh = {} if binding is None else _fresh(binding, context)
    read_at = snapshot.state.sequence
    for partition in selected(use, context):
        slot = None if binding is None else binding.locate(partition.values)
        if binding is None or slot is None:
            yield from inherited.get(partition.key, ())
            continue
        is_base, is_fresh = binding.is_base(slot.period), fresh[slot.period].exists(slot.ordinal)
        is_promised = binding.is_trusted and not is_base
        for origin in () if is_promised else inherited.get(partition.key, ()):
            yield origin._replace(as_of=read_at) if is_fresh else origin
        if is_copy:
            # A rollup that is not fresh is older than any change.
            as_of = read_at if is_base or is_fresh else REGISTERED
            yield Origin(OriginKind.COPIED, use.table.id, int(binding.base_period), as_of, slot.start, slot.end)
        if is_copy and is_promised:
            yield Origin(OriginKind.TRUSTED, use.table.id, int(slot.period), read_at, slot.start, slot.end)


def _fresh(binding: TimeBinding, context: Context) -> Mapping[Period, PartitionTimeline]:
    """Returns the timelines of a table of a fact."""
    return {
        period: context.snapshot.timeline(binding.table.name, period, binding.time_key)
        for period in binding.storage_table.layouts
    }
