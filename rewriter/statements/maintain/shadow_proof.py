"""Shadow proofs: compares the rollups that a query has read with their base, within a limit of time."""

from __future__ import annotations

import math
import random
import time
from typing import TYPE_CHECKING

from rewriter.catalog.model.proofs import BY_SHADOW_PROOF
from rewriter.errors import ConflictError
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.program_statements import ProveRollups
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.maintain.check_fact import (
    Difference,
    comparable_time,
    comparison_with_base,
    difference_text,
    differences,
    file_listings,
    ordinals_of,
    reject,
)
from rewriter.statements.resolve.fact_periods import StoredPeriod, stored_periods, time_of_ordinals, widths
from rewriter.statements.write.external_base_changes import note_changed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rewriter.planner.model.plan import CoverPart
    from rewriter.runtime.statement_context import Context
    from rewriter.timeline.ranges import RangeSet

#: The partitions of the first comparison of a session. Each further one has at most so many times more.
_FIRST_PARTITIONS, _GROWTH = 16, 4


@dataclass
class _Pending:
    """Rollups that are not compared yet: the ordinals of a period in a table, in order from a random one."""

    stored: StoredPeriod
    ordinals: list[int]

    def take(self, most: int) -> Sequence[int]:
        """Takes the ordinals of up to ``most`` periods away, and returns them."""
        taken, self.ordinals = self.ordinals[:most], self.ordinals[most:]
        return taken


@runs(ProveRollups)
def prove_rollups(statement: ProveRollups, context: Context) -> Result:
    """Compares rollups with their base, beginning at a random one, until the time is over. Rollups that differ become
    unproven in a commit of their own for each comparison, and what was computed from them follows.

    A comparison is one query, over neighboring partitions of one table and their base, as CHECK FACT makes it. Those
    that an earlier proof of the session has compared come last, and the first comparison has as many partitions as that
    proof found to be possible in its time. The files of external tables are compared first with those that were noted,
    so that an outdated rollup is not called wrong.
    """
    started = time.monotonic()
    proof = statement.proof
    pending = [rollups for part in statement.parts if (rollups := _pending(part, statement, context)) is not None]
    proof.partitions = sum(len(rollups.ordinals) for rollups in pending)
    most = max(_FIRST_PARTITIONS, math.ceil(statement.share * proof.partitions))
    while pending and most > 0:
        rollups = random.choice(pending)
        place = rollups.stored.table.table, rollups.stored.period.name
        size = min(statement.earlier.sizes.get(place, _FIRST_PARTITIONS), most)
        # If the deadline ends this comparison, the next proof begins with a smaller one.
        statement.earlier.sizes[place] = max(1, size // 4)
        begun = time.monotonic()
        taken = rollups.take(size)
        _compare(rollups.stored, time_of_ordinals(rollups.stored.period, taken), statement, context)
        pending = [rollups for rollups in pending if rollups.ordinals]
        context = context.renewed()
        now = time.monotonic()
        most -= len(taken)
        seconds_left = statement.seconds - (now - started)
        # So large that the next comparison, here or in the next proof, ends in time if a partition takes as long.
        time_of_next = seconds_left if seconds_left > 0 else statement.seconds
        following = min(_GROWTH * size, int(size * time_of_next / max(now - begun, 1e-3)))
        statement.earlier.sizes[place] = following if following >= 1 else size
        if following < 1 or seconds_left <= 0:
            break
    return Result("SHADOW PROOF")


def _pending(part: CoverPart, statement: ProveRollups, context: Context) -> _Pending | None:
    """Returns the rollups of a part of a cover; ``None`` for base partitions, and where the fact has gone."""
    fact = next((fact for fact in context.snapshot.facts() if fact.name == part.fact), None)
    if fact is None:
        return None
    places = (
        stored
        for stored in stored_periods(fact)
        if stored.table.table == part.table and stored.period == part.period and not stored.is_base
    )
    stored = next(places, None)
    if stored is None:
        return None
    ordinals = [ordinal for range_ in part.ranges for ordinal in range(range_.start, range_.end)]
    # Neighbors share files, so a comparison is of neighbors.
    first = random.randrange(max(1, len(ordinals)))
    ordinals = ordinals[first:] + ordinals[:first]
    ordinals.sort(key=lambda ordinal: (part.table, part.period.name, ordinal) in statement.earlier.compared)
    return _Pending(stored, ordinals)


def _compare(stored: StoredPeriod, requested: RangeSet, statement: ProveRollups, context: Context) -> None:
    """Compares some rollups, and rejects those that differ. TRUSTED ones stay in use until the word is withdrawn."""
    listings = [listing.complete() for _, listing in file_listings(stored.fact, requested, context)]
    if note_changed(listings, context):
        context = context.renewed()
    checked = comparable_time(stored, requested, context)
    if not checked:
        return
    differing: dict[int, Difference] = {}
    first_difference = ""
    for lacking, part in widths(stored, checked, context.snapshot):
        comparison = comparison_with_base(stored, part, lacking, context)
        for difference in differences(comparison, context):
            first_difference = first_difference or difference_text(comparison, difference)
            differing.setdefault(difference.ordinal, difference)
    period, proof, table = stored.period, statement.proof, stored.table.table
    compared = [ordinal for range_ in ordinals_of(period, checked) for ordinal in range(range_.start, range_.end)]
    if differing:
        before = proof.differing, proof.trusted, proof.first_difference
        names = tuple(
            f"{table} {period.name} {stored.fact.calendar.text(period.start(ordinal))}" for ordinal in differing
        )
        proof.first_difference = proof.first_difference or first_difference
        proof.differing += names
        proof.trusted += names if stored.table.trusted else ()
        try:
            reject(stored, time_of_ordinals(period, differing), BY_SHADOW_PROOF, context)
        except ConflictError:
            # Another statement is writing one of them: what was compared is not what is there.
            proof.differing, proof.trusted, proof.first_difference = before
            return
    statement.earlier.compared.update((table, period.name, ordinal) for ordinal in compared)
    proof.compared += len(compared)
