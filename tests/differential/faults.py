"""Faults to plant, with settings that lead the generator to each of them. The generator must detect every one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from . import plants, plants_of_proof, plants_of_time
from .plants import Plant


@dataclass(frozen=True)
class Fault:
    """A fault, and the settings that lead the generator to it: shapes of queries, and further settings of a
    ``Generator``.

    With ``steps`` new histories of these steps, of ``seeds`` if any, are made with the fault in place. With ``seeds``
    alone they are made without it. ``mixed`` schemas have all kinds of features. ``numeric`` schemas have counters,
    sums of FLOAT and two zeros. ``states`` are compared, too, if the fault changes no result.
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
    mixed: bool = False
    numeric: bool = False
    states: bool = False


PLAIN = {"aggregate": 1}
JOINS = {"lookup": 1}
SUPPLIED = {"supplied": 1}
#: Each fact loses other partitions, so that only all facts together have every partition.
MIXING = {"drop_many": 2, "into": 1, "many": 1}
#: Rollups, and writes to the base below them.
WRITES = {"refresh": 2, "into": 3, "overwrite": 2}
#: Partitions of divided periods are dropped, below rollups and from them.
PARTS = {"drop_part": 4, "refresh_all": 1}
#: The newest base period is not complete in a divided table, and rollups over it are dropped or outdated.
UNFINISHED, OUTRUN = {"newest": 1, "drop_rollup": 3}, {"newest": 2, "newest_rollup": 1}
#: Proven and unproven rollups, each from a statement of its own.
DERIVED, ACCEPTED, MARKED = {"derive": 1}, {"derive": 3, "accept": 1}, {"drop": 1, "mark_complete": 2, "refresh_all": 1}
#: Rollups from a query of the cube, under conditions on time that are no ranges.
TIMED = {"derive_timed": 4, "mark_complete": 1}
#: Schemas with days that fields or columns name; with weeks alone; with a second time and rollups; with a zone whose
#: clocks change.
DATED, WEEKLY, TWICE, ZONED = (874,), (621, 848), (630, 725), (634, 869)
#: Schemas whose first cube has no COUNT measure, with rollups: proven ones, and TRUSTED ones.
UNCOUNTED = (551, 521)
#: Schemas of each kind of counters, with rollups.
NUMERIC = (510, 538, 515, 552)


def _objection(name: str, text: str, *single: str, **shapes: int) -> Fault:
    return Fault(name, plants.without_objection(text), shapes or PLAIN, additive=0.0, single=single)


def _mixed(plant: Plant, *seeds: int, steps: Mapping[str, int] | None = None) -> Fault:
    return Fault(plant.__name__, plant, PLAIN, steps=steps, seeds=seeds, mixed=True)


def _numeric(plant: Plant, steps: Mapping[str, int] = WRITES) -> Fault:
    return Fault(plant.__name__, plant, PLAIN, steps=steps, seeds=NUMERIC, numeric=True)


def _proof(plant: Plant, steps: Mapping[str, int] = DERIVED, seeds: tuple[int, ...] = ()) -> Fault:
    return Fault(plant.__name__, plant, PLAIN, steps=steps, seeds=seeds)


FAULTS = (
    _objection("rows", "returns rows", rows=1),
    _objection("count_of_a_measure", "COUNT of a measure counts", "count"),
    replace(
        _objection("count_without_a_counter", "declares no COUNT measure", "events"), steps=WRITES, seeds=UNCOUNTED
    ),
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
    Fault("bare_measures", plants.without_objection("is used outside an aggregate"), PLAIN, strange=0.6),
    Fault("measures_decide", plants.measures_decide, PLAIN, additive=0.0, single=("by_measure",)),
    Fault(
        "windows", plants.without_objection("window function", "outside an aggregate", "returns rows"), {"window": 1}
    ),
    Fault("correlated_measures", plants.correlated_measures_are_free, {"correlated_measure": 1}),
    _objection("stars", "* returns the measures", starred=1),
    Fault("all_functions_are_scalar", plants.all_functions_are_scalar, PLAIN, additive=0.0, single=("random",)),
    Fault("coefficients_distribute", plants.coefficients_distribute, PLAIN, additive=0.0, single=("overflow",)),
    Fault(
        "facts_are_mixed",
        plants.facts_are_mixed,
        PLAIN,
        0.0,
        ("tested", "plus_one"),
        steps=MIXING,
        seeds=(545, 564, 574),
    ),
    Fault("parts_of_periods_are_whole", plants.demanding(lambda uses: replace(uses, exact_ranges=())), PLAIN),
    Fault("counts_are_rows", plants.counts_are_rows, PLAIN),
    Fault("averages_are_of_rows", plants.averages_are_of_rows, PLAIN),
    Fault("nothing_is_nullable", plants.nothing_is_nullable, SUPPLIED, additive=1.0),
    Fault("measures_of_another_cube", plants.without_objection("another cube"), {"cubes": 1}),
    Fault("units_are_ignored", plants.demanding(lambda uses: replace(uses, units=frozenset())), PLAIN),
    Fault("raw_time_is_ignored", plants.demanding(lambda uses: replace(uses, raw=False)), PLAIN, strange=0.6),
    Fault("weeks_hold_months", plants.weeks_hold_months, PLAIN, time="'week'"),
    Fault("conditions_of_outer_joins_hold", plants.every_condition_holds, {**JOINS, **SUPPLIED}),
    Fault("no_time_is_null", plants.no_time_is_null, PLAIN, strange=0.5, steps={"timeless": 1, "refresh": 1}),
    Fault("limits_are_inlined", plants.inlined_in_spite_of("limit", "order"), {"above_rows": 1}),
    Fault("distinct_is_inlined", plants.inlined_in_spite_of("distinct"), {"above_distinct": 1}),
    Fault("ranges_inside_are_lost", plants.ranges_inside_are_lost, {"projected": 1}),
    Fault("one_range_for_all", plants.one_range_for_all, {"compound": 1, "scalar": 1}),
    Fault("outdated_is_fresh", plants.outdated_is_fresh, PLAIN),
    Fault("writes_outdate_nothing", plants.nothing_is_touched, PLAIN, steps=WRITES),
    Fault(
        "all_written_is_fresh", plants.all_written_is_fresh, PLAIN, steps={"drop": 1, "drop_many": 1, "refresh_all": 2}
    ),
    Fault("doubled_is_fresh", plants.doubled_is_fresh, PLAIN, steps={"refresh_all": 1, "double": 3}),
    Fault(
        "retention_outdates", plants.retention_outdates, PLAIN, steps={"drop": 1, "drop_many": 1}, seeds=(552, 531, 538)
    ),
    Fault("a_part_is_enough", plants.a_part_is_enough, PLAIN, steps=WRITES, seeds=(591, 571, 596, 520)),
    Fault("any_is_not_enough", plants.any_is_not_enough, PLAIN, steps=WRITES, seeds=(557, 568, 548, 527)),
    Fault(
        "dropped_parts_are_forgotten",
        plants.dropped_parts_are_forgotten,
        PLAIN,
        steps=PARTS,
        seeds=(557, 568, 548, 591),
    ),
    Fault(
        "dropped_parts_of_rollups",
        plants.dropped_parts_of_rollups_are_forgotten,
        PLAIN,
        steps={"drop_part": 1, "overwrite": 2, "refresh_fact": 2},
        seeds=(530, 588, 532),
    ),
    Fault("nothing_is_promised", plants.nothing_is_promised, PLAIN, steps=WRITES, seeds=(537, 521, 611, 589)),
    Fault("everything_is_promised", plants.everything_is_promised, PLAIN, steps=WRITES),
    Fault("the_last_partition_is_lost", plants.the_last_partition_is_lost, PLAIN),
    Fault("parts_overlap", plants.parts_overlap, PLAIN),
    Fault("holes_are_covered", plants.holes_are_covered, PLAIN),
    Fault(
        "extent_of_what_serves", plants.extent_of_what_serves, PLAIN, additive=0.0, steps={"drop": 1, "drop_many": 2}
    ),
    Fault(
        "open_ends_are_of_whole_periods",
        plants.open_ends_are_of_whole_periods,
        PLAIN,
        steps=UNFINISHED,
        seeds=(596, 571, 591),
    ),
    Fault(
        "open_ends_are_of_fresh_periods",
        plants.open_ends_are_of_fresh_periods,
        PLAIN,
        steps=OUTRUN,
        seeds=(557, 568, 548, 591),
    ),
    Fault(
        "windows_are_ignored",
        plants.windows_are_ignored,
        PLAIN,
        steps={"refresh_all": 1, "into": 1},
        seeds=(518, 522, 556),
    ),
    Fault(
        "the_coarsest_fact_is_base",
        plants.the_coarsest_fact_is_base,
        PLAIN,
        additive=0.0,
        steps=WRITES,
        seeds=(511, 541, 598, 607),
    ),
    Fault("bounds_are_floored", plants.bounds_are_floored, PLAIN),
    Fault("shapes_do_not_matter", plants.shapes_do_not_matter, PLAIN),
    Fault("timeless_rows_are_lost", plants.timeless_rows_are_lost, PLAIN),
    Fault("all_facts_carry_all", plants.all_facts_carry_all, PLAIN),
    _proof(plants_of_proof.doubts_are_ignored),
    _proof(plants_of_proof.conditions_outside_are_not_read, {"derive_half": 1}),
    _proof(plants_of_proof.conditions_on_time_are_ranges, TIMED),
    _proof(plants_of_proof.places_are_not_checked),
    _proof(plants_of_proof.measures_are_not_checked),
    _proof(plants_of_proof.what_is_incomplete_is_fresh, {"derive": 1, "refresh_all": 1}),
    replace(
        _proof(plants_of_proof.what_is_registered_completes_nothing, {"newest_rollup": 1, "mark_complete": 1}),
        states=True,
    ),
    _proof(plants_of_proof.what_differs_is_accepted, ACCEPTED),
    _proof(plants_of_proof.what_was_dropped_is_marked_empty, MARKED),
    _proof(plants_of_proof.words_are_forgotten, {"rely": 1}),
    _numeric(plants.the_first_counter_counts),
    _numeric(plants.sums_of_float_are_rounded, {"refresh": 1, "refresh_all": 1}),
    _numeric(plants.wider_rollups_widen_results, {"refresh": 1, "refresh_all": 1}),
    _numeric(plants.sums_fit_the_base, {"refresh": 1, "refresh_all": 1}),
    _numeric(plants.equal_values_are_the_same),
    _mixed(plants_of_time.days_and_months_change_places, *DATED, steps=WRITES),
    _mixed(plants_of_time.weeks_count_by_their_last_day, *WEEKLY),
    _mixed(plants_of_time.weeks_are_of_their_mondays_year, *WEEKLY),
    _mixed(plants_of_time.other_times_cut_nothing, *TWICE),
    _mixed(plants_of_time.other_times_end_early, *TWICE),
    _mixed(plants_of_time.other_times_are_in_no_unit, *TWICE),
    _mixed(plants_of_time.days_begin_at_their_last_offset, *ZONED),
    _mixed(plants_of_time.days_end_at_their_first_offset, *ZONED),
    _mixed(plants_of_time.walls_are_of_utc, *ZONED),
)
