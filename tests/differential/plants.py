"""Functions that plant a fault: each disables one rule of the planner or the catalog."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rewriter.catalog.commit import fact_timelines, freshness, partition_changes
from rewriter.catalog.commit.completeness import Part, PeriodPartitions
from rewriter.catalog.commit.stored_timelines import States
from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.model.objects import Cube
from rewriter.planner import cube_reference
from rewriter.planner.cover import choose_facts
from rewriter.planner.cover.choose_facts import Demand
from rewriter.planner.cover.cover import Cover
from rewriter.planner.model import plan
from rewriter.planner.rewrite import additivity, union_arms
from rewriter.planner.rewrite.additivity import Additivity
from rewriter.planner.scope import inlining, projections
from rewriter.planner.time import time_predicates
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

from . import schemas

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]


# -- additivity -------------------------------------------------------------------------------------------------------


def without_objection(*texts: str) -> Plant:
    """Drops the objections with these texts."""

    def plant(patch: Patch) -> None:
        judge = cube_reference.judge

        def planted(*args: Any) -> Additivity:
            judged = judge(*args)
            return replace(
                judged,
                reasons=tuple(reason for reason in judged.reasons if not any(text in reason.text for text in texts)),
            )

        patch.setattr(cube_reference, "judge", planted)

    return plant


def measures_decide(patch: Patch) -> None:
    """Sums values that a measure selects. The rule against measures outside an aggregate is disabled, too."""
    without_objection("is used outside an aggregate")(patch)
    patch.setattr(additivity, "_has_measure", lambda *args: False)


def counts_are_rows(patch: Patch) -> None:
    judge = cube_reference.judge
    patch.setattr(cube_reference, "judge", lambda *args: replace(judge(*args), counts=()))


def coefficients_distribute(patch: Patch) -> None:
    patch.setattr(additivity, "_distributes", lambda *args: True)


def all_functions_are_scalar(patch: Patch) -> None:
    patch.setattr(additivity, "is_scalar", lambda *args: True)


def correlated_measures_are_free(patch: Patch) -> None:
    correlated = cube_reference._correlated
    patch.setattr(
        cube_reference,
        "_correlated",
        lambda *args: [reason for reason in correlated(*args) if "measure" not in reason.text],
    )
    without_objection("is used outside an aggregate")(patch)


def averages_are_of_rows(patch: Patch) -> None:
    judge = cube_reference.judge
    patch.setattr(cube_reference, "judge", lambda *args: replace(judge(*args), averages=()))


def the_first_counter_counts(patch: Patch) -> None:
    """Uses the first declared counting measure for COUNT(*), whatever it counts."""
    patch.setattr(Cube, "event_counters", property(lambda self: self.counters[:1]))


def sums_of_float_are_rounded(patch: Patch) -> None:
    """Stores sums of FLOAT as FLOAT in rollups."""
    patch.setattr(Cube, "rounded_sums", lambda *args: ())
    patch.setattr(schemas, "sums_of_float", lambda: "FLOAT")


def wider_rollups_widen_results(patch: Patch) -> None:
    """Leaves SUM, MIN and MAX the types that they have over the wider columns of rollups."""
    judge = cube_reference.judge
    patch.setattr(cube_reference, "judge", lambda *args: replace(judge(*args), typed=()))


def sums_fit_the_base(patch: Patch) -> None:
    """Casts the rows of wider rollups to the cube's types, as those of narrower bases."""
    patch.setattr(union_arms, "widest", lambda types: next(iter(types)))


def equal_values_are_the_same(patch: Patch) -> None:
    patch.setattr(cube_reference, "merged_uses", lambda *args: ())


def nothing_is_nullable(patch: Patch) -> None:
    patch.setattr(cube_reference, "nullable", lambda *args: False)


# -- time units -------------------------------------------------------------------------------------------------------


def demanding(change: Callable[[Demand], Demand]) -> Plant:
    def plant(patch: Patch) -> None:
        choose = cube_reference.choose
        patch.setattr(cube_reference, "choose", lambda demand, *rest: choose(change(demand), *rest))

    return plant


def weeks_hold_months(patch: Patch) -> None:
    nests_in = UpdatePeriod.nests_in

    def planted(self: UpdatePeriod, other: UpdatePeriod) -> bool:
        return nests_in(self, other) or other is UpdatePeriod.WEEKLY

    patch.setattr(UpdatePeriod, "nests_in", planted)


# -- scope ------------------------------------------------------------------------------------------------------------


def every_condition_holds(patch: Patch) -> None:
    """Applies a condition in ON of an outer join to the preserved side, too."""
    filters = cube_reference.filters

    def planted(select: Any, index: int) -> Iterator[Any]:
        yield from filters(select, index)
        for join in select.args.get("joins") or ():
            if join.args.get("side") and join.args.get("on") is not None:
                yield from join.args["on"].flatten()

    patch.setattr(cube_reference, "filters", planted)


def no_time_is_null(patch: Patch) -> None:
    patch.setattr(time_predicates, "_IS_NULL", replace(time_predicates._IS_NULL, at_null=False))


def inlined_in_spite_of(*clauses: str) -> Plant:
    """Treats a subquery with these clauses as one that only projects and filters."""

    def plant(patch: Patch) -> None:
        patch.setattr(projections, "_CLAUSES", (*projections._CLAUSES, *clauses))

    return plant


def ranges_inside_are_lost(patch: Patch) -> None:
    patch.setattr(inlining.Level, "filters", lambda self: iter(()))


def one_range_for_all(patch: Patch) -> None:
    """Uses the range of the first reference for all."""
    time_use = cube_reference.time_use
    first_ranges: dict[int, RangeSet] = {}

    def planted(text: Any, *rest: Any) -> Any:
        use = time_use(text, *rest)
        use.requested = first_ranges.setdefault(id(text), use.requested)
        kept.append(text)
        return use

    kept: list[Any] = []
    patch.setattr(cube_reference, "time_use", planted)


# -- freshness --------------------------------------------------------------------------------------------------------


def outdated_is_fresh(patch: Patch) -> None:
    timelines = choose_facts._timelines

    def planted(reader: Any, source: Any) -> Iterator[PartitionTimeline]:
        fresh, outdated, *rest = timelines(reader, source)
        both = RangesPartitionTimeline(fresh.ranges())
        for stretch in outdated.ranges():
            both.add_range(stretch)
        yield from (both, outdated, *rest)

    patch.setattr(choose_facts, "_timelines", planted)


def nothing_is_touched(patch: Patch) -> None:
    patch.setattr(fact_timelines.FactTimelineUpdate, "_touched", lambda *args: [])


def all_written_is_fresh(patch: Patch) -> None:
    patch.setattr(freshness.BaseContent, "is_fresh", lambda *args: True)


def doubled_is_fresh(patch: Patch) -> None:
    patch.setattr(partition_changes, "UNKNOWN", 2**60)


def retention_outdates(patch: Patch) -> None:
    dropped = fact_timelines.FactTimelineUpdate.note_dropped

    def planted(self: Any, table: Any, values: Any) -> None:
        dropped(self, table, values)
        self._note_base_change(self.binding(table), self.binding(table).locate(values))

    patch.setattr(fact_timelines.FactTimelineUpdate, "note_dropped", planted)


# -- completeness and promises ----------------------------------------------------------------------------------------


def a_part_is_enough(patch: Patch) -> None:
    """Takes a period as complete when its first part exists, whatever COMPLETE WITH lists."""
    patch.setattr(TimeBinding, "is_whole", lambda self, combinations: bool(combinations))


def any_is_not_enough(patch: Patch) -> None:
    """Ignores partitions of a table that is complete with any value."""
    is_whole = TimeBinding.is_whole

    def planted(self: TimeBinding, combinations: Collection[Any]) -> bool:
        listed = all(part.values is not None for part in self.storage_table.complete)
        return listed and is_whole(self, combinations)

    patch.setattr(TimeBinding, "is_whole", planted)


def dropped_parts_are_forgotten(patch: Patch) -> None:
    base_states = PeriodPartitions.base_states

    def planted(self: PeriodPartitions, binding: TimeBinding, parts: Sequence[Part]) -> States:
        return base_states(self, binding, [part for part in parts if not part.dropped])

    patch.setattr(PeriodPartitions, "base_states", planted)


def dropped_parts_of_rollups_are_forgotten(patch: Patch) -> None:
    rollup_states = PeriodPartitions.rollup_states

    def planted(self: PeriodPartitions, binding: TimeBinding, slot: Any, parts: Sequence[Part], content: Any) -> States:
        return rollup_states(self, binding, slot, [part for part in parts if not part.dropped], content)

    patch.setattr(PeriodPartitions, "rollup_states", planted)


def nothing_is_promised(patch: Patch) -> None:
    patch.setattr(TimeBinding, "is_trusted", property(lambda self: self.table.external))


def everything_is_promised(patch: Patch) -> None:
    patch.setattr(TimeBinding, "is_trusted", property(lambda self: True))


# -- covering ---------------------------------------------------------------------------------------------------------


def the_last_partition_is_lost(patch: Patch) -> None:
    arm_range = union_arms._range

    def planted(columns: Any, layout: Any, ordinals: OrdinalRange) -> str:
        short = OrdinalRange(ordinals.start, ordinals.end - 1) if len(ordinals) > 1 else ordinals
        return arm_range(columns, layout, short)

    patch.setattr(union_arms, "_range", planted)


def parts_overlap(patch: Patch) -> None:
    cover = choose_facts.cover

    def planted(target: RangeSet, candidates: Any) -> Cover:
        covered = cover(target, candidates)
        base = min((candidate.period for candidate in candidates), default=None)
        finest = cover(target, [candidate for candidate in candidates if candidate.period is base])
        coarse = tuple(part for part in covered.parts if part.period is not base)
        return replace(covered, parts=(*coarse, *finest.parts)) if coarse else covered

    patch.setattr(choose_facts, "cover", planted)


def holes_are_covered(patch: Patch) -> None:
    cover = choose_facts.cover
    patch.setattr(choose_facts, "cover", lambda *args: replace(cover(*args), missing=RangeSet.EMPTY))


def extent_of_what_serves(patch: Patch) -> None:
    """Computes an open end from the candidates that may serve."""
    judge, close = choose_facts._judge, choose_facts._close_ends
    given: list[Any] = []

    def remembered(*args: Any) -> Any:
        given[:] = args
        return close(*args)

    def planted(facts: Any, base: Any, target: Any, demand: Demand, lines: Any, *rest: Any) -> Any:
        settings = rest[-2]
        serving = {
            source: both
            for source, both in lines.items()
            if source.fact in facts and choose_facts._excluded(source, base, demand, settings) is None
        }
        wanted, _, _, valid, *closing_arguments = given
        windows = {source: ranges for source, ranges in valid.items() if source in serving}
        closing, _ = close(wanted, facts, serving, windows, *closing_arguments)
        return judge(facts, base, closing.searched, demand, lines, *rest)

    patch.setattr(choose_facts, "_close_ends", remembered)
    patch.setattr(choose_facts, "_judge", planted)


def open_ends_are_of_whole_periods(patch: Patch) -> None:
    """Places an open end at the end of the newest complete period."""
    patch.setattr(choose_facts, "widened", lambda there, *args: there)


def open_ends_are_of_fresh_periods(patch: Patch) -> None:
    """Places an open end at the end of the newest fresh period, as if outdated rollups did not exist."""
    close = choose_facts._close_ends

    def planted(wanted: Any, facts: Any, lines: Any, *rest: Any) -> Any:
        fresh = {source: (both.fresh,) for source, both in lines.items()}
        return close(wanted, facts, fresh, *rest)

    patch.setattr(choose_facts, "_close_ends", planted)


def windows_are_ignored(patch: Patch) -> None:
    patch.setattr(choose_facts, "window", lambda *args: RangeSet.ALL)


def the_coarsest_fact_is_base(patch: Patch) -> None:
    def planted(values: Any, **kwargs: Any) -> Any:
        periods = list(values)
        coarsest = all(isinstance(period, UpdatePeriod) for period in periods)
        return max(periods) if coarsest else min(periods, **kwargs)

    patch.setattr(choose_facts, "min", planted, raising=False)


def bounds_are_floored(patch: Patch) -> None:
    def planted(wanted: RangeSet, base: UpdatePeriod) -> RangeSet:
        return RangeSet.of(
            *(
                replace(stretch, start=base.floor(stretch.start), end=base.floor(stretch.end))
                for stretch in wanted
                if base.floor(stretch.start) < base.floor(stretch.end)
            )
        )

    snapped = choose_facts.snapped

    def careful(wanted: RangeSet, base: UpdatePeriod) -> RangeSet:
        try:
            return planted(wanted, base)
        except Exception:
            return snapped(wanted, base)

    patch.setattr(choose_facts, "snapped", careful)


def shapes_do_not_matter(patch: Patch) -> None:
    """Reads all partitions in a range of a table that several periods share."""
    patch.setattr(TimeLayout, "regex", lambda *args: ".*")
    patch.setattr(plan.TableUse, "keeps", lambda *args: True)


def timeless_rows_are_lost(patch: Patch) -> None:
    patch.setattr(cube_reference, "_null_arms", lambda *args: [])


def facts_are_mixed(patch: Patch) -> None:
    patch.setattr(choose_facts, "_groups", lambda facts, *args, **kwargs: [list(facts)])


def all_facts_carry_all(patch: Patch) -> None:
    patch.setattr(choose_facts, "missing_columns", lambda *args: [])
