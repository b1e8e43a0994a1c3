"""REFRESH ON COMMIT: a statement that has changed the base of a fact also refreshes its rollups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import Fact, parts_of
from rewriter.errors import ConflictError, Error
from rewriter.grammar.families.timelines import RefreshFact
from rewriter.grammar.terms import Name
from rewriter.statements.maintain.refresh_fact import refresh_fact

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context

#: The most rollup partitions that one statement refreshes; the next ones, or REFRESH FACT, do the rest.
_MOST = 100


def refresh_after(tables: Iterable[Name], context: Context) -> Iterator[str]:
    """Refreshes the facts whose base is in tables that a committed statement has written, at most 100 partitions of
    each. Yields a warning where that fails: the write is committed. Conflicts with other transactions are no failures.

    Does nothing in a transaction of several statements. Reads the declarations of facts from memory.
    """
    if context.transaction is not None:
        return
    now = context.renewed()
    for fact in _asking(tables, now):
        try:
            refresh_fact(RefreshFact(fact=Name(parts_of(fact.name)), most=_MOST), now)
        except ConflictError:
            continue
        except Error as error:
            yield f"{fact.name}: the write is committed, but its rollups were not refreshed: {error.message}"


def _asking(tables: Iterable[Name], context: Context) -> list[Fact]:
    facts: dict[int, Fact] = {}
    for name in tables:
        fact = context.snapshot.fact_using(context.table(name).name)
        if fact is not None and fact.refresh_on_commit:
            facts[fact.id] = fact
    return list(facts.values())
