"""Faults to plant: each drops one rule of the planner or the catalog. The generator must find every one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rewriter.catalog import factwork, freshness, partition_changes
from rewriter.planner import additivity, arms, candidates, inlining, plan, predicates, projections, reference
from rewriter.planner.additivity import Additivity
from rewriter.planner.candidates import Demand
from rewriter.planner.cover import Cover
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet
from rewriter.timeline.timelines import OrdinalRange, RangesPartitionTimeline

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]


@dataclass(frozen=True)
class Fault:
    """A fault, and what steers the generator to it: shapes of queries, and what a ``Generator`` is told besides.

    With ``steps`` histories are made anew, with the fault in place and of these steps, of ``seeds`` if any.
    """

    name: str
    plant: Plant
    shapes: Mapping[str, int]
    additive: float = 1.0
    single: tuple[str, ...] = ()
    strange: float = 0.04
    time: str = ""
    steps: Mapping[str, int] | None = None
    seeds: tuple[int, ...] = ()


PLAIN = {"aggregate": 1}
JOINS = {"lookup": 1}
SUPPLIED = {"supplied": 1}
#: Each fact loses other partitions, so that only together they hold all.
MIXING = {"drop_many": 2, "into": 1, "many": 1}


# -- additivity -------------------------------------------------------------------------------------------------------


def without_objection(*texts: str) -> Plant:
    """Drops the objections that say so."""

    def plant(patch: Patch) -> None:
        judge = reference.judge

        def planted(*args: Any) -> Additivity:
            found = judge(*args)
            return replace(
                found, reasons=tuple(one for one in found.reasons if not any(text in one.text for text in texts))
            )

        patch.setattr(reference, "judge", planted)

    return plant


def measures_decide(patch: Patch) -> None:
    """What a measure decides is summed; that it stands outside an aggregate is a rule behind this one."""
    without_objection("stands outside an aggregate")(patch)
    patch.setattr(additivity, "_has_measure", lambda *args: False)


def counts_are_rows(patch: Patch) -> None:
    judge = reference.judge
    patch.setattr(reference, "judge", lambda *args: replace(judge(*args), counts=()))


def coefficients_distribute(patch: Patch) -> None:
    patch.setattr(additivity, "_distributes", lambda *args: True)


def all_functions_are_scalar(patch: Patch) -> None:
    patch.setattr(additivity, "is_scalar", lambda *args: True)


def correlated_measures_are_free(patch: Patch) -> None:
    correlated = reference._correlated
    patch.setattr(
        reference, "_correlated", lambda *args: [one for one in correlated(*args) if "measure" not in one.text]
    )
    without_objection("stands outside an aggregate")(patch)


def averages_are_of_rows(patch: Patch) -> None:
    judge = reference.judge
    patch.setattr(reference, "judge", lambda *args: replace(judge(*args), averages=()))


def nothing_is_nullable(patch: Patch) -> None:
    patch.setattr(reference, "nullable", lambda *args: False)


# -- time units -------------------------------------------------------------------------------------------------------


def _demanding(change: Callable[[Demand], Demand]) -> Plant:
    def plant(patch: Patch) -> None:
        choose = reference.choose
        patch.setattr(reference, "choose", lambda demand, *rest: choose(change(demand), *rest))

    return plant


def weeks_hold_months(patch: Patch) -> None:
    nests_in = UpdatePeriod.nests_in

    def planted(self: UpdatePeriod, other: UpdatePeriod) -> bool:
        return nests_in(self, other) or other is UpdatePeriod.WEEKLY

    patch.setattr(UpdatePeriod, "nests_in", planted)


# -- scope ------------------------------------------------------------------------------------------------------------


def every_condition_holds(patch: Patch) -> None:
    """A condition in ON of an outer join filters the preserved side, too."""
    filters = reference.filters

    def planted(select: Any, index: int) -> Iterator[Any]:
        yield from filters(select, index)
        for join in select.args.get("joins") or ():
            if join.args.get("side") and join.args.get("on") is not None:
                yield from join.args["on"].flatten()

    patch.setattr(reference, "filters", planted)


def no_time_is_null(patch: Patch) -> None:
    patch.setattr(predicates, "_IS_NULL", replace(predicates._IS_NULL, at_null=False))


def inlined_in_spite_of(*clauses: str) -> Plant:
    """Takes a subquery with these clauses for one that only projects and filters."""

    def plant(patch: Patch) -> None:
        patch.setattr(projections, "_CLAUSES", (*projections._CLAUSES, *clauses))

    return plant


def ranges_inside_are_lost(patch: Patch) -> None:
    patch.setattr(inlining.Level, "filters", lambda self: iter(()))


def one_range_for_all(patch: Patch) -> None:
    """The range of the first reference is that of all."""
    time_use = reference.time_use
    known: dict[int, RangeSet] = {}

    def planted(text: Any, *rest: Any) -> Any:
        use = time_use(text, *rest)
        use.wanted = known.setdefault(id(text), use.wanted)
        kept.append(text)
        return use

    kept: list[Any] = []
    patch.setattr(reference, "time_use", planted)


# -- freshness --------------------------------------------------------------------------------------------------------


def outdated_is_fresh(patch: Patch) -> None:
    timeline = candidates._timeline

    def planted(reader: Any, source: Any) -> RangesPartitionTimeline:
        both = RangesPartitionTimeline(timeline(reader, source).ranges())
        for one in candidates._outdated(reader, source).ranges():
            both.add_range(one)
        return both

    patch.setattr(candidates, "_timeline", planted)


def nothing_is_touched(patch: Patch) -> None:
    patch.setattr(factwork.FactWork, "_touched", lambda *args: [])


def all_written_is_fresh(patch: Patch) -> None:
    patch.setattr(freshness.BaseContent, "is_fresh", lambda *args: True)


def doubled_is_fresh(patch: Patch) -> None:
    patch.setattr(partition_changes, "UNKNOWN", 2**60)


def retention_outdates(patch: Patch) -> None:
    dropped = factwork.FactWork.dropped

    def planted(self: Any, table: Any, slot: Any) -> None:
        dropped(self, table, slot)
        self._note_base_change(self.binding(table), slot)

    patch.setattr(factwork.FactWork, "dropped", planted)


# -- covering ---------------------------------------------------------------------------------------------------------


def the_last_partition_is_lost(patch: Patch) -> None:
    arm_range = arms._range

    def planted(columns: Any, layout: Any, ordinals: OrdinalRange) -> str:
        short = OrdinalRange(ordinals.start, ordinals.end - 1) if len(ordinals) > 1 else ordinals
        return arm_range(columns, layout, short)

    patch.setattr(arms, "_range", planted)


def parts_overlap(patch: Patch) -> None:
    cover = candidates.cover

    def planted(target: RangeSet, found: Any) -> Cover:
        whole = cover(target, found)
        base = min((one.period for one in found), default=None)
        finest = cover(target, [one for one in found if one.period is base])
        coarse = tuple(part for part in whole.parts if part.period is not base)
        return replace(whole, parts=(*coarse, *finest.parts)) if coarse else whole

    patch.setattr(candidates, "cover", planted)


def holes_are_covered(patch: Patch) -> None:
    cover = candidates.cover
    patch.setattr(candidates, "cover", lambda *args: replace(cover(*args), missing=RangeSet.EMPTY))


def bounds_are_floored(patch: Patch) -> None:
    def planted(wanted: RangeSet, base: UpdatePeriod) -> RangeSet:
        return RangeSet.of(
            *(
                replace(one, start=base.floor(one.start), end=base.floor(one.end))
                for one in wanted
                if base.floor(one.start) < base.floor(one.end)
            )
        )

    snapped = candidates.snapped

    def careful(wanted: RangeSet, base: UpdatePeriod) -> RangeSet:
        try:
            return planted(wanted, base)
        except Exception:
            return snapped(wanted, base)

    patch.setattr(candidates, "snapped", careful)


def shapes_do_not_matter(patch: Patch) -> None:
    """Where periods share a table, all of their partitions in a range are read."""
    patch.setattr(TimeLayout, "regex", lambda *args: ".*")
    patch.setattr(plan.TableUse, "keeps", lambda *args: True)


def timeless_rows_are_lost(patch: Patch) -> None:
    patch.setattr(reference, "_null_arms", lambda *args: [])


def facts_are_mixed(patch: Patch) -> None:
    patch.setattr(candidates, "_groups", lambda facts, *args, **kwargs: [list(facts)])


def all_facts_carry_all(patch: Patch) -> None:
    patch.setattr(candidates, "missing_columns", lambda *args: [])


def _objection(name: str, text: str, *single: str, **shapes: int) -> Fault:
    return Fault(name, without_objection(text), shapes or PLAIN, additive=0.0, single=single)


FAULTS = (
    _objection("rows", "answers rows", rows=1),
    _objection("count_of_a_measure", "COUNT of a measure counts", "count"),
    _objection("count_without_a_counter", "declares no COUNT measure", "events"),
    _objection("sum_of_a_measure_plus_one", "this SUM is not", "plus_one"),
    _objection("sum_of_a_function", "this SUM is not", "modulo", "absolute", "tested"),
    _objection("sum_of_an_extreme", "this SUM is not", "of_extreme"),
    _objection("sum_of_a_dimension", "this SUM is not", "of_dimension"),
    _objection("sum_of_nullable_measures", "a SUM of several measures", "two_measures"),
    _objection("average_of_anything", "AVG is additive only", "average"),
    _objection("minimum_of_anything", "MIN is additive only", "minimum"),
    _objection("maximum_of_anything", "MAX is additive only", "maximum"),
    _objection("distinct_measures", "of a measure depends on single rows", "distinct_count"),
    _objection("distinct_sums", "aggregate is not known to be additive", "distinct_sum"),
    Fault("bare_measures", without_objection("stands outside an aggregate"), PLAIN, strange=0.6),
    Fault("measures_decide", measures_decide, PLAIN, additive=0.0, single=("by_measure",)),
    Fault("windows", without_objection("window function", "outside an aggregate", "answers rows"), {"window": 1}),
    Fault("correlated_measures", correlated_measures_are_free, {"correlated_measure": 1}),
    _objection("stars", "* answers the measures", starred=1),
    Fault("all_functions_are_scalar", all_functions_are_scalar, PLAIN, additive=0.0, single=("random",)),
    Fault("coefficients_distribute", coefficients_distribute, PLAIN, additive=0.0, single=("overflow",)),
    Fault("facts_are_mixed", facts_are_mixed, PLAIN, 0.0, ("tested", "plus_one"), steps=MIXING, seeds=(545, 564, 574)),
    Fault("parts_of_periods_are_whole", _demanding(lambda one: replace(one, exact=())), PLAIN),
    Fault("counts_are_rows", counts_are_rows, PLAIN),
    Fault("averages_are_of_rows", averages_are_of_rows, PLAIN),
    Fault("nothing_is_nullable", nothing_is_nullable, SUPPLIED, additive=1.0),
    Fault("measures_of_another_cube", without_objection("another cube"), {"cubes": 1}),
    Fault("units_are_ignored", _demanding(lambda one: replace(one, units=frozenset())), PLAIN),
    Fault("raw_time_is_ignored", _demanding(lambda one: replace(one, raw=False)), PLAIN, strange=0.6),
    Fault("weeks_hold_months", weeks_hold_months, PLAIN, time="'week'"),
    Fault("conditions_of_outer_joins_hold", every_condition_holds, {**JOINS, **SUPPLIED}),
    Fault("no_time_is_null", no_time_is_null, PLAIN, strange=0.5, steps={"timeless": 1, "refresh": 1}),
    Fault("limits_are_inlined", inlined_in_spite_of("limit", "order"), {"above_rows": 1}),
    Fault("distinct_is_inlined", inlined_in_spite_of("distinct"), {"above_distinct": 1}),
    Fault("ranges_inside_are_lost", ranges_inside_are_lost, {"projected": 1}),
    Fault("one_range_for_all", one_range_for_all, {"compound": 1, "scalar": 1}),
    Fault("outdated_is_fresh", outdated_is_fresh, PLAIN),
    Fault("writes_outdate_nothing", nothing_is_touched, PLAIN, steps={"refresh": 2, "into": 3, "overwrite": 2}),
    Fault("all_written_is_fresh", all_written_is_fresh, PLAIN, steps={"drop": 1, "drop_many": 1, "refresh_all": 2}),
    Fault("doubled_is_fresh", doubled_is_fresh, PLAIN, steps={"refresh_all": 1, "double": 3}),
    Fault("retention_outdates", retention_outdates, PLAIN, steps={"drop": 1, "drop_many": 1}, seeds=(552, 531, 538)),
    Fault("the_last_partition_is_lost", the_last_partition_is_lost, PLAIN),
    Fault("parts_overlap", parts_overlap, PLAIN),
    Fault("holes_are_covered", holes_are_covered, PLAIN),
    Fault("bounds_are_floored", bounds_are_floored, PLAIN),
    Fault("shapes_do_not_matter", shapes_do_not_matter, PLAIN),
    Fault("timeless_rows_are_lost", timeless_rows_are_lost, PLAIN),
    Fault("all_facts_carry_all", all_facts_carry_all, PLAIN),
)
