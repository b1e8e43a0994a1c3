"""On whose word partitions of rollups count as right, as text: TRUSTED tables, acceptances, and what rests on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.model.origins import OriginKind, Origins
from rewriter.statements.query.select import selected_partitions
from rewriter.terminal_text import counted

if TYPE_CHECKING:
    from rewriter.catalog.model.key_ranges import KeyRange
    from rewriter.catalog.model.objects import Fact, Table
    from rewriter.planner.model.plan import Plan, Reading, TableUse
    from rewriter.runtime.statement_context import Context

#: The word that the rollups of a TRUSTED table rest on.
OWNER = "on the word of its owner (TRUSTED)"


def words_of_plan(plan: Plan, context: Context) -> Iterator[str]:
    """Yields, for each table of a fact, how many of the partitions that a query reads rest on whose word; then the
    facts that were filled independently and fill each other's gaps.

    Reads the rows of the partitions that rest on any, of each table that is read.
    """
    for use in plan.uses:
        fact = context.snapshot.fact_using(use.table.name)
        stored = None if fact is None else fact.storage_table(use.table.name)
        if fact is None or stored is None or not use.table.kind.is_in_catalog:
            continue
        if stored.trusted and any(not fact.is_base(stored, period) for period in stored.layouts):
            yield f"{use.table.name}: {OWNER}"
        origins = context.snapshot.origins(use.table)
        keys = [partition.key for partition in selected_partitions(use, context)] if origins else []
        for text in _counted_words({key: origins[key] for key in keys if key in origins}, context):
            yield f"{use.table.name}: {text}"
    for reading in plan.readings:
        names = {fact.name for use in reading.uses if (fact := context.snapshot.fact_using(use.table.name)) is not None}
        independent = sorted(name for name in names if not _is_copied(context.snapshot.fact(name), context))
        if len(independent) > 1:
            yield f"{', '.join(independent)}: {_SAME_EVENTS}"


#: The word on which facts fill each other's gaps that no statement filled from one another.
_SAME_EVENTS = "that these facts hold the same events is their owner's word; CHECK FACT compares them"


def _is_copied(fact: Fact, context: Context) -> bool:
    """Returns whether base partitions of a fact were computed from another fact. One indexed statement for each base
    table.
    """
    bases = (stored for stored in fact.tables if fact.has_base_in(stored))
    return any(
        origin.kind is OriginKind.COPIED
        for stored in bases
        for origins in context.snapshot.origins(context.snapshot.table(stored.table)).values()
        for origin in origins
    )


def words_of_table(table: Table, ranges: Sequence[KeyRange], context: Context) -> tuple[str, ...]:
    """Returns how many of the partitions of a table in key ranges rest on whose word. One indexed statement."""
    return tuple(_counted_words(context.snapshot.origins(table, ranges), context))


def _counted_words(origins: Mapping[bytes, Origins], context: Context) -> Iterator[str]:
    counts: dict[str, int] = {}
    for partition_origins in origins.values():
        for word in context.snapshot.words(partition_origins):
            counts[word] = counts.get(word, 0) + 1
    for word, count in sorted(counts.items()):
        yield f"{counted(count, 'partition')} {word}"


def first_write(table: Table, readings: Sequence[Reading], context: Context) -> Iterator[str]:
    """Yields a warning where the first rows of a base table come from nowhere that the catalog knows, and the cube has
    other facts: nothing says that all of them hold the same events. ``context`` is the write's context.

    ``readings`` are the query's readings. Reads nothing if the cube has no other fact.
    """
    fact = context.snapshot.fact_using(table.name)
    others = _other_facts(fact, context)
    stored = None if fact is None else fact.storage_table(table.name)
    if fact is None or stored is None or not others or not fact.has_base_in(stored):
        return
    if context.snapshot.partition_count(table):
        return
    is_derived = any(_has_origin(use, context) for reading in readings for use in reading.uses)
    if table.external or not is_derived:
        yield _on_your_word(fact, others)


def new_fact(fact: Fact, context: Context) -> Iterator[str]:
    """Yields the same warning for a new fact that takes over base tables with rows of their own, or external ones."""
    others = _other_facts(fact, context)
    bases = [stored for stored in fact.tables if fact.has_base_in(stored)]
    tables = [context.snapshot.table(stored.table) for stored in bases] if others else []
    for table in tables:
        count = context.snapshot.partition_count(table)
        if table.external or count > len(context.snapshot.origins(table)):
            yield _on_your_word(fact, others)
            return


def _other_facts(fact: Fact | None, context: Context) -> list[str]:
    facts = () if fact is None else context.snapshot.facts_of(fact.cube)
    return [other.name for other in facts if fact is None or other.id != fact.id]


def _has_origin(use: TableUse, context: Context) -> bool:
    """Returns whether rows of a table that was read are rows of a fact: of any, or through a table of none."""
    return context.snapshot.fact_using(use.table.name) is not None or bool(context.snapshot.origins(use.table))


def _on_your_word(fact: Fact, others: Sequence[str]) -> str:
    return (
        f"the cube {fact.cube} has other facts ({', '.join(others)}): on your word, {fact.name} holds the same events; "
        f"CHECK FACT {fact.name} compares them"
    )
