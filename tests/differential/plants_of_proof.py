"""Functions that plant a fault in the proof of rollups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rewriter.catalog.commit.fact_timelines import BasePresence, FactTimelineUpdate
from rewriter.catalog.commit.origin_changes import OriginChanges
from rewriter.catalog.model import proofs
from rewriter.planner import derivation
from rewriter.planner.model.plan import DerivedRows
from rewriter.planner.scope.pushdown import Pushdown
from rewriter.planner.time.time_usage import TimeUse
from rewriter.statements.define import mark_complete
from rewriter.statements.maintain import check_fact
from rewriter.statements.write import insert, rollup_proof
from rewriter.timeline.ranges import RangeSet

from .plants import Patch


def doubts_are_ignored(patch: Patch) -> None:
    """Takes the input of a query for the base, whatever the query does with it."""
    patch.setattr(insert, "doubt_about", lambda *args: None)


def doubts_are_forgotten(patch: Patch) -> None:
    """Records the reason against a partition without an effect."""
    patch.setattr(proofs.Proof, "is_unproven", property(lambda self: False))


def conditions_outside_are_not_read(patch: Patch) -> None:
    """Ignores conditions of outer blocks: they select no partitions and raise no doubt. Other tables are not checked
    either.
    """

    def planted(lineage: Any, reading: int, _: Any) -> DerivedRows:
        return derivation._rows(lineage, reading, None, computed=False)

    patch.setattr(Pushdown, "into", lambda *args: iter(()))
    patch.setattr(derivation, "_of_table", planted)
    places_are_not_checked(patch)


def conditions_on_time_are_ranges(patch: Patch) -> None:
    """Takes every condition on time for a part of the range."""
    patch.setattr(TimeUse, "exact_among", lambda _, conditions: frozenset(id(typed) for typed, _ in conditions))


def places_are_not_checked(patch: Patch) -> None:
    """Allows rows in the partition of any time."""
    patch.setattr(rollup_proof, "_check_targets", lambda *args: None)


def measures_are_not_checked(patch: Patch) -> None:
    """Allows any computation of measures."""
    patch.setattr(rollup_proof, "_check_columns", lambda *args: None)


def what_is_incomplete_is_fresh(patch: Patch) -> None:
    patch.setattr(BasePresence, "checked", lambda _, binding, slot, states, dependent: states)


def what_is_registered_completes_nothing(patch: Patch) -> None:
    patch.setattr(FactTimelineUpdate, "_completed", lambda *args: [])


def what_differs_is_accepted(patch: Patch) -> None:
    patch.setattr(check_fact, "_periods_without_differences", lambda period, time, differing: time)


def what_was_dropped_is_marked_empty(patch: Patch) -> None:
    """Lets MARK COMPLETE make periods empty that retention dropped."""
    absences = mark_complete.absences

    def planted(*args: Any) -> Any:
        return tuple(
            replace(absence, time=absence.time | absence.dropped, dropped=RangeSet.EMPTY) for absence in absences(*args)
        )

    patch.setattr(mark_complete, "absences", planted)


def words_are_forgotten(patch: Patch) -> None:
    """Lets a rollup be fresh that was computed from a TRUSTED one, whatever became of the declaration."""
    patch.setattr(OriginChanges, "are_withdrawn", lambda *args: False)
