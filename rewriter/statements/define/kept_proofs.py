"""The warnings of DROP FACT and CREATE FACT about proofs, which an equal declaration keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewriter.terminal_text import counted

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Fact
    from rewriter.runtime.statement_context import Context


def proofs_at_stake(fact: Fact, context: Context) -> Iterator[str]:
    """Yields how many proofs of a fact that is dropped another declaration would lose, if it has any.

    Yields nothing for a fact with an external table, which keeps none.
    """
    is_external = any(context.snapshot.table(stored.table).external for stored in fact.tables)
    proven = 0 if is_external else _proven_rollups(fact, context)
    if proven:
        yield (
            f"{_are_proven(proven)}: a CREATE FACT that means the same as {fact.name} keeps the proofs, another one "
            "loses them; ALTER FACT changes rollups and storages in place"
        )


def kept_proofs(fact: Fact, context: Context) -> Iterator[str]:
    """Yields how many rollups are proven of a new fact that means the same as a dropped one, and how many are not."""
    proven = _proven_rollups(fact, context)
    unproven = sum(
        len(ordinals)
        for stored in fact.tables
        for period in stored.layouts
        for ordinals in context.snapshot.unproven(stored.table, period, stored.time).ranges()
    )
    if proven or unproven:
        listed = f"SHOW UNPROVEN PARTITIONS OF {fact.name} lists them"
        rest = f"; {unproven:,} {'is' if unproven == 1 else 'are'} not: {listed}" if unproven else ""
        proofs = f"{_are_proven(proven)}{rest}"
        yield f"{fact.name} means the same as a fact that was dropped, and keeps its proofs: {proofs}"


def _are_proven(count: int) -> str:
    return f"{counted(count, 'rollup partition')} {'is' if count == 1 else 'are'} proven"


def _proven_rollups(fact: Fact, context: Context) -> int:
    """Returns the number of rollup periods that are fresh, without those of TRUSTED tables."""
    return sum(
        len(ordinals)
        for stored in fact.tables
        for period in stored.layouts
        if not stored.trusted and not fact.is_base(stored, period)
        for ordinals in context.snapshot.timeline(stored.table, period, stored.time).ranges()
    )
