"""On whose word partitions of rollups count as right, as text: TRUSTED tables, acceptances, and what rests on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.origins import Origins
from rewriter.planner.explain import counted
from rewriter.planner.model.plan import Plan
from rewriter.runtime.statement_context import Context
from rewriter.statements.query.select import selected

#: The word that a TRUSTED table rests on.
OWNER = "the word of its owner (TRUSTED)"


def words_of_plan(plan: Plan, context: Context) -> Iterator[str]:
    """Yields, for each table of a fact, how many of the partitions that a query reads rest on whose word.

    Reads the rows of the partitions that rest on any, of each table that is read.
    """
    for use in plan.uses:
        fact = context.snapshot.fact_using(use.table.name)
        stored = None if fact is None else fact.storage_table(use.table.name)
        if fact is None or stored is None or use.table.id < 0:
            continue
        if stored.trusted and any(not fact.is_base(stored, period) for period in stored.layouts):
            yield f"{use.table.name}: on {OWNER}"
        origins = context.snapshot.origins(use.table)
        keys = [partition.key for partition in selected(use, context)] if origins else []
        for text in _counted_words({key: origins[key] for key in keys if key in origins}, context):
            yield f"{use.table.name}: {text}"


def words_of_table(table: Table, ranges: Sequence[KeyRange], context: Context) -> tuple[str, ...]:
    """Returns how many of the partitions of a table in key ranges rest on whose word. One indexed statement."""
    return tuple(_counted_words(context.snapshot.origins(table, ranges), context))


def _counted_words(origins: Mapping[bytes, Origins], context: Context) -> Iterator[str]:
    counts: dict[str, int] = {}
    for partition_origins in origins.values():
        for word in context.snapshot.words(partition_origins):
            counts[word] = counts.get(word, 0) + 1
    for word, count in sorted(counts.items()):
        yield f"{counted(count, 'partition')} on {word}"
