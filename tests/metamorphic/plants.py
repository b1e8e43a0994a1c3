"""Functions that plant a fault in the product which the pairs must detect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sqlglot import exp

from rewriter.catalog.model.objects import Aggregate
from rewriter.exec.translate import allowlist
from rewriter.exec.translate.expressions import Allowed, Typed
from rewriter.planner import table_pruning
from rewriter.planner.cover import choose_facts
from rewriter.planner.rewrite import union_arms
from rewriter.statements.maintain import refresh_fact
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange
from tests.differential import plants as differential

Fault = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Plant:
    """A fault, and the world over which it must show, by the seed of its rows and queries."""

    fault: Fault
    world: str
    seed: int = 0


def a_period_is_lost(patch: pytest.MonkeyPatch) -> None:
    """Leaves the finest of several parts out of a cover."""
    cover = choose_facts.cover

    def planted(*args: Any) -> Any:
        covered = cover(*args)
        return replace(covered, parts=covered.parts[:-1]) if len(covered.parts) > 1 else covered

    patch.setattr(choose_facts, "cover", planted)


def the_last_hour_is_lost(patch: pytest.MonkeyPatch) -> None:
    """Ends each range of partitions one too early."""
    plain = union_arms._range

    def planted(columns: Any, layout: Any, ordinals: OrdinalRange) -> Any:
        return plain(columns, layout, OrdinalRange(ordinals.start, max(ordinals.start + 1, ordinals.end - 1)))

    patch.setattr(union_arms, "_range", planted)


def ranges_begin_late(patch: pytest.MonkeyPatch) -> None:
    """Begins each range one hour late."""
    plain = choose_facts.snapped

    def planted(requested: RangeSet, base: Any) -> RangeSet:
        hour = 3_600_000_000
        return RangeSet.of(
            *(
                TimeRange(each.start + hour, each.end)
                if base is UpdatePeriod.HOURLY and each.end - each.start > hour
                else each
                for each in plain(requested, base)
            )
        )

    patch.setattr(choose_facts, "snapped", planted)


def null_is_false_under_not(patch: pytest.MonkeyPatch) -> None:
    """Translates NOT so that it returns TRUE for NULL."""
    plain = allowlist.ALLOWED[exp.Not]

    def planted(*args: Any) -> Typed:
        typed = plain.translation(*args)
        return replace(typed, sql=f"COALESCE({typed.sql}, TRUE)")

    patch.setitem(allowlist.ALLOWED, exp.Not, Allowed(planted, plain.entry))


def negation_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Prunes partitions by the condition below NOT."""
    kind = table_pruning._Reader
    plain = kind.implied
    patch.setattr(kind, "implied", lambda self, node, negated, compute=True: plain(self, node, False, compute))


def minima_are_summed(patch: pytest.MonkeyPatch) -> None:
    """Rolls MIN up by SUM, and takes the MIN of the sums."""
    plain = union_arms.rolled_up

    def planted(measures: Any, number: int, value: Callable[[int], str], edge: str) -> str:
        rolled = plain(measures, number, value, edge)
        return rolled if measures[number].aggregate is not Aggregate.MIN else f"CAST(SUM({value(number)}) AS INT)"

    patch.setattr(refresh_fact, "rolled_up", planted)


#: Each fault, with the world in which it is looked for.
PLANTS = (
    Plant(a_period_is_lost, "hours"),
    Plant(the_last_hour_is_lost, "hours"),
    Plant(ranges_begin_late, "hours"),
    Plant(differential.averages_are_of_rows, "hours"),
    Plant(differential.counts_are_rows, "hours"),
    Plant(differential.outdated_is_fresh, "hours"),
    Plant(differential.parts_overlap, "hours"),
    Plant(minima_are_summed, "hours"),
    Plant(null_is_false_under_not, "tables"),
    Plant(negation_is_forgotten, "tables"),
)
