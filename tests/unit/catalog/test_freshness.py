"""Timelines and freshness, case by case. Days are base partitions in some tests, hours in others."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pytest

from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.changes import (
    AcceptPartitions,
    AddPartitions,
    Change,
    CreateObject,
    DropObject,
    ListedPartition,
    NoteFiles,
    PartitionWrite,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, Cube, Fact, Storage, StorageTable, Table
from rewriter.errors import AnalysisError, DataError, IntegrityError, NotSupportedError
from rewriter.timeline.layouts import TimeLayout

from .support import BASE, P, Warehouse, key, storage_table, write

Tables = dict[str, Table]


def test_partitions_stand_on_their_timelines(w: Warehouse, fact: Tables) -> None:
    w.into(fact["hours"], "2013-01-01-00", "2013-01-01-02")
    w.add(fact["hours"], "2013-01-01-01")
    w.overwrite(fact["coarse"], "2013-01", "2013", sources=[fact["hours"]])
    assert w.fresh("hours", P.HOURLY) == ["2013-01-01-00", "2013-01-01-01", "2013-01-01-02"]
    assert (w.fresh("coarse", P.MONTHLY), w.fresh("coarse", P.YEARLY)) == (["2013-01"], ["2013"])
    assert w.fresh("days", P.DAILY) == []
    w.drop(fact["hours"], "2013-01-01-01")
    assert w.fresh("hours", P.HOURLY) == ["2013-01-01-00", "2013-01-01-02"]


def test_a_table_of_no_fact_has_no_timeline(w: Warehouse) -> None:
    w.into(w.create("t"), "2013-01-01")
    assert w.fresh("t", P.DAILY) == []


@pytest.mark.parametrize("how", ["into", "overwrite", "add back", "into other hour", "wipe"])
def test_a_base_write_outdates_the_rollups_over_it(w: Warehouse, fact: Tables, how: str) -> None:
    hours = fact["hours"]
    w.into(hours, "2013-01-01-00", "2013-01-02-00", "2012-12-31-23")
    w.overwrite(fact["days"], "2013-01-01", "2013-01-02", "2012-12-31", sources=[hours])
    w.overwrite(fact["coarse"], "2013-01", "2012-12", "2013", "2012", sources=[hours])
    before = w.catalog.snapshot()
    if how == "into":
        w.into(hours, "2013-01-01-00")
    elif how == "overwrite":
        w.overwrite(hours, "2013-01-01-00")
    elif how == "add back":
        w.drop(hours, "2013-01-01-00")
        w.add(hours, "2013-01-01-00")
    elif how == "into other hour":
        w.into(hours, "2013-01-01-17")
    else:
        day = KeyRange(key(hours, "2013-01-01-00"), key(hours, "2013-01-02-00"))
        w.commit(lambda tx: [write(tx, hours, overwrite=True, wipes=(day,))])
    assert w.outdated("days", P.DAILY) == ["2013-01-01"]
    assert w.fresh("days", P.DAILY) == ["2012-12-31", "2013-01-02"]
    assert (w.outdated("coarse", P.MONTHLY), w.outdated("coarse", P.YEARLY)) == (["2013-01"], ["2013"])
    assert (w.fresh("coarse", P.MONTHLY), w.fresh("coarse", P.YEARLY)) == (["2012-12"], ["2012"])
    # The older snapshot goes on seeing them as they were: of days with missing hours.
    assert before.outdated("days", P.DAILY, "t").is_empty
    assert before.incomplete("days", P.DAILY, "t").count == 3


def test_refreshing_makes_fresh_again(w: Warehouse, fact: Tables) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2013-01-01-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    w.into(hours, "2013-01-01-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == (["2013-01-01"], [])


def test_retention_outdates_nothing(w: Warehouse, fact: Tables) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2013-01-01-00", "2013-01-01-01")
    w.overwrite(days, "2013-01-01", sources=[hours])
    w.drop(hours, "2013-01-01-00")
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == (["2013-01-01"], [])
    assert w.line("hours", P.HOURLY, "retired") == ["2013-01-01-00"]


def test_what_retention_dropped_cannot_be_rolled_up_any_more(w: Warehouse, fact: Tables) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2013-01-01-00", "2013-01-01-01", "2013-01-02-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    w.drop(hours, "2013-01-01-00")
    # From the days, which still have the hour, it can.
    w.overwrite(fact["coarse"], "2013", sources=[days, hours])
    assert w.fresh("coarse", P.YEARLY) == ["2013"]
    w.overwrite(days, "2013-01-01", "2013-01-02", sources=[hours])
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == (["2013-01-02"], ["2013-01-01"])
    # After the hour is written again, its old content is no longer requested.
    w.into(hours, "2013-01-01-00")
    assert w.line("hours", P.HOURLY, "retired") == []
    w.overwrite(days, "2013-01-01", sources=[hours])
    assert w.fresh("days", P.DAILY) == ["2013-01-01", "2013-01-02"]


def test_dropping_does_not_undo_an_outdating_write(w: Warehouse, fact: Tables) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2013-01-01-00")
    with w.catalog.begin() as rollup:
        change = write(rollup, days, "2013-01-01", overwrite=True)
        w.into(hours, "2013-01-01-07")
        w.drop(hours, "2013-01-01-07")
        rollup.commit([change], [hours.id])
    assert w.outdated("days", P.DAILY) == ["2013-01-01"]


@pytest.mark.parametrize("write_to_base", ["into", "overwrite", "wipe"])
def test_a_rollup_of_an_older_snapshot_than_the_base_is_outdated(
    w: Warehouse, fact: Tables, write_to_base: str
) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2013-01-01-00", "2013-01-02-00")
    with w.catalog.begin() as rollup:
        change = write(rollup, days, "2013-01-01", "2013-01-02", overwrite=True)
        if write_to_base == "wipe":
            day = KeyRange(key(hours, "2013-01-01-00"), key(hours, "2013-01-02-00"))
            w.commit(lambda tx: [write(tx, hours, overwrite=True, wipes=(day,))])
        else:
            getattr(w, write_to_base)(hours, "2013-01-01-00")
        rollup.commit([change], [hours.id])
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == (["2013-01-02"], ["2013-01-01"])


def test_a_rollup_of_an_outdated_rollup_is_outdated(w: Warehouse, fact: Tables) -> None:
    hours, days, coarse = fact["hours"], fact["days"], fact["coarse"]
    w.into(hours, "2013-01-01-00", "2013-02-01-00")
    w.overwrite(days, "2013-01-01", "2013-02-01", sources=[hours])
    w.overwrite(coarse, "2013-01", "2013-02", sources=[days])
    assert w.fresh("coarse", P.MONTHLY) == ["2013-01", "2013-02"]
    w.into(hours, "2013-01-01-00")
    w.overwrite(coarse, "2013-01", "2013-02", sources=[days])
    assert (w.fresh("coarse", P.MONTHLY), w.outdated("coarse", P.MONTHLY)) == (["2013-02"], ["2013-01"])


def test_a_rollup_knows_the_base_no_later_than_the_rollup_it_came_from(w: Warehouse, fact: Tables) -> None:
    hours, days, coarse = fact["hours"], fact["days"], fact["coarse"]
    w.into(hours, "2013-01-01-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    with w.catalog.begin() as rollup:
        change = write(rollup, coarse, "2013-01", overwrite=True)
        w.into(hours, "2013-01-01-00")
        w.overwrite(days, "2013-01-01", sources=[hours])
        rollup.commit([change], [days.id])
    assert w.outdated("coarse", P.MONTHLY) == ["2013-01"]


def test_a_rollup_of_rollups_that_were_written_one_after_the_other_is_fresh(w: Warehouse, fact: Tables) -> None:
    hours, days, coarse = fact["hours"], fact["days"], fact["coarse"]
    for day in ("2013-01-01", "2013-01-02"):
        w.into(hours, f"{day}-00")
        w.overwrite(days, day, sources=[hours])
    w.overwrite(coarse, "2013-01", sources=[days])
    assert w.fresh("coarse", P.MONTHLY) == ["2013-01"]


def test_a_rollup_of_rollups_that_lack_a_part_is_outdated(w: Warehouse, fact: Tables) -> None:
    hours, days, coarse = fact["hours"], fact["days"], fact["coarse"]
    w.into(hours, "2013-01-01-00", "2013-01-02-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    w.overwrite(coarse, "2013-01", sources=[days])
    assert w.outdated("coarse", P.MONTHLY) == ["2013-01"]
    w.overwrite(coarse, "2013-01", sources=[days, hours])
    assert w.fresh("coarse", P.MONTHLY) == ["2013-01"]


def test_the_ranges_that_were_scanned_prove_more_than_ids(w: Warehouse) -> None:
    t = w.create("t")
    w.create_fact({"t": (P.DAILY, P.MONTHLY)})
    days = KeyRange(key(t, "2013-01-01"), key(t, "2013-01-99"))
    w.into(t, "2013-01-01", "2013-01-02")

    def refresh(scanned: KeyRange | None) -> None:
        with w.catalog.begin() as tx:
            tx.commit([write(tx, t, "2013-01", overwrite=True)], {t.id: None if scanned is None else [scanned]})

    refresh(None)
    w.into(t, "2013-01-01")
    assert w.outdated("t", P.MONTHLY) == ["2013-01"]
    # All of the table: the outdated month may have been read, too.
    refresh(None)
    assert w.outdated("t", P.MONTHLY) == ["2013-01"]
    refresh(days)
    assert (w.fresh("t", P.MONTHLY), w.outdated("t", P.MONTHLY)) == (["2013-01"], [])
    refresh(KeyRange(key(t, "2013-01-02"), key(t, "2013-01-99")))
    assert w.outdated("t", P.MONTHLY) == ["2013-01"]


def test_into_a_rollup_that_has_content_proves_nothing(w: Warehouse, fact: Tables) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2013-01-01-00")
    w.into(days, "2013-01-01", sources=[hours])
    assert w.fresh("days", P.DAILY) == ["2013-01-01"]
    w.into(days, "2013-01-01", sources=[hours])
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == ([], ["2013-01-01"])
    # An INSERT of no rows changes nothing. In an empty table it is a result.
    w.overwrite(days, "2013-01-01", sources=[hours], files=0)
    w.into(days, "2013-01-01", sources=[hours])
    assert w.fresh("days", P.DAILY) == ["2013-01-01"]
    w.into(days, "2013-01-01", sources=[hours], files=0)
    assert w.fresh("days", P.DAILY) == ["2013-01-01"]


def test_a_registered_rollup_is_unproven(w: Warehouse, fact: Tables) -> None:
    w.into(fact["hours"], "2013-01-01-00")
    w.add(fact["days"], "2013-01-01", "2013-01-02")
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == ([], [])
    assert w.unproven("days", P.DAILY) == ["2013-01-01", "2013-01-02"]


def test_registering_empty_base_partitions_is_no_news(w: Warehouse, fact: Tables) -> None:
    hours, days = fact["hours"], fact["days"]
    w.add(hours, "2013-01-01-00", "2013-01-01-01")
    w.overwrite(days, "2013-01-01", "2013-01-02", sources=[hours])
    w.into(hours, "2013-01-03-00")
    w.overwrite(days, "2013-01-03", sources=[hours])
    w.add(hours, "2013-01-01-02", "2013-01-02-00", "2013-01-03-01")
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == (["2013-01-01", "2013-01-02", "2013-01-03"], [])
    w.drop(hours, "2013-01-03-00")
    w.add(hours, "2013-01-03-00")
    assert w.outdated("days", P.DAILY) == ["2013-01-03"]


def test_a_dropped_rollup_stands_nowhere(w: Warehouse, fact: Tables) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2013-01-01-00")
    w.overwrite(days, "2013-01-01", "2013-01-02", sources=[hours])
    w.into(hours, "2013-01-01-00")
    w.drop(days, "2013-01-01", "2013-01-02")
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY), w.line("days", P.DAILY, "retired")) == ([], [], [])


def test_a_trusted_table_is_its_owners_promise_and_an_external_one_is_not(w: Warehouse) -> None:
    hours, days, months = w.create("hours"), w.create("days"), w.create("months", external=True)
    w.create_fact({"hours": [P.HOURLY], "days": [P.DAILY], "months": [P.MONTHLY]}, trusted=["days"])
    w.into(hours, "2013-01-01-00")
    w.into(days, "2013-01-01")
    w.into(days, "2013-01-01")
    w.into(days, "2013-01-02", sources=[])
    w.add(days, "2013-01-03")
    w.into(months, "2013-01")
    w.into(months, "2013-02", sources=[])
    assert w.line("months", P.MONTHLY, "incomplete") == ["2013-01"]
    w.overwrite(hours, "2013-01-01-00")
    assert w.line("days", P.DAILY) == ["2013-01-01", "2013-01-02", "2013-01-03"]
    assert (w.outdated("months", P.MONTHLY), w.unproven("months", P.MONTHLY)) == (["2013-01"], ["2013-02"])
    assert w.fresh("months", P.MONTHLY) == []


def test_a_partition_of_an_external_base_comes_with_content(w: Warehouse) -> None:
    hours, days = w.create("hours", external=True), w.create("days")
    w.create_fact({"hours": [P.HOURLY], "days": [P.DAILY]})
    w.add(hours, "2013-01-01-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    assert w.fresh("days", P.DAILY) == ["2013-01-01"]
    w.add(hours, "2013-01-01-01")
    assert w.outdated("days", P.DAILY) == ["2013-01-01"]


def note(w: Warehouse, table: Table, hour: str, before: str | None, after: str | None, *more: Change) -> None:
    w.commit(lambda tx: [*more, NoteFiles(table, (ListedPartition(key(table, hour), before, after),))])


def test_files_that_are_noted_first_are_no_news(w: Warehouse) -> None:
    hours, days = w.create("hours", external=True), w.create("days")
    w.create_fact({"hours": [P.HOURLY], "days": [P.DAILY]})
    w.add(hours, "2013-01-01-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    note(w, hours, "2013-01-01-00", "a", "a")
    note(w, hours, "2013-01-01-00", "a", "a")
    note(w, hours, "2013-01-01-05", "a", "b")  # There is no such partition.
    assert w.fresh("days", P.DAILY) == ["2013-01-01"]


@pytest.mark.parametrize(("before", "after"), [("b", "b"), ("a", "b"), (None, None), (None, "a"), ("", "a")])
def test_files_that_are_noted_otherwise_are_news(w: Warehouse, before: str | None, after: str | None) -> None:
    hours, days = w.create("hours", external=True), w.create("days")
    w.create_fact({"hours": [P.HOURLY], "days": [P.DAILY]})
    w.add(hours, "2013-01-01-00")
    note(w, hours, "2013-01-01-00", "a", "a")
    w.overwrite(days, "2013-01-01", sources=[hours])
    note(w, hours, "2013-01-01-00", before, after)
    assert w.outdated("days", P.DAILY) == ["2013-01-01"]
    w.overwrite(days, "2013-01-01", sources=[hours])
    assert w.fresh("days", P.DAILY) == ["2013-01-01"]


def test_a_rollup_of_files_that_changed_meanwhile_is_outdated_at_once(w: Warehouse) -> None:
    """Two writers read different files: whatever order they commit in, neither rollup passes for that of the other."""
    hours, days, weeks = w.create("hours", external=True), w.create("days"), w.create("weeks")
    w.create_fact({"hours": [P.HOURLY], "days": [P.DAILY], "weeks": [P.WEEKLY]})
    w.add(hours, "2013-01-01-00")
    first, second = w.catalog.begin(), w.catalog.begin()
    for tx, table, name, digest in ((first, days, "2013-01-01", "a"), (second, weeks, "2013-W01", "b")):
        listed = ListedPartition(key(hours, "2013-01-01-00"), digest, digest)
        with tx:
            tx.commit([write(tx, table, name, overwrite=True), NoteFiles(hours, (listed,))], [hours.id])
    assert w.outdated("days", P.DAILY) == ["2013-01-01"]
    assert w.outdated("weeks", P.WEEKLY) == ["2013-W01"]


def test_weeks_and_months_are_outdated_where_they_overlap(w: Warehouse) -> None:
    days, weeks, months = w.create("days"), w.create("weeks"), w.create("months")
    w.create_fact({"days": [P.DAILY], "weeks": [P.WEEKLY], "months": [P.MONTHLY]})
    w.into(days, "2015-01-31", "2015-02-02")
    w.overwrite(weeks, "2015-W05", "2015-W06", sources=[days])
    w.overwrite(months, "2015-01", "2015-02", sources=[days])
    w.into(days, "2015-02-01")
    assert (w.outdated("weeks", P.WEEKLY), w.fresh("weeks", P.WEEKLY)) == (["2015-W05"], ["2015-W06"])
    assert (w.outdated("months", P.MONTHLY), w.fresh("months", P.MONTHLY)) == (["2015-02"], ["2015-01"])


def test_a_month_of_weeks_is_outdated_by_every_week_that_overlaps(w: Warehouse) -> None:
    weeks, months = w.create("weeks"), w.create("months")
    w.create_fact({"weeks": [P.WEEKLY], "months": [P.MONTHLY]})
    w.overwrite(months, "2015-01", "2015-02", "2015-03")
    # Weeks do not add up to months: these are right only where a comparison has shown it.
    assert w.outdated("months", P.MONTHLY) == ["2015-01", "2015-02", "2015-03"]
    compared = tuple(key(months, month) for month in ("2015-01", "2015-02", "2015-03"))
    w.commit(lambda tx: [AcceptPartitions(months, compared)])
    assert w.outdated("months", P.MONTHLY) == []
    w.into(weeks, "2015-W05")
    assert w.outdated("months", P.MONTHLY) == ["2015-01", "2015-02"]
    assert w.fresh("months", P.MONTHLY) == ["2015-03"]


def test_null_time_is_for_base_tables_only(w: Warehouse, fact: Tables) -> None:
    w.commit(lambda tx: [AddPartitions(fact["hours"], (PartitionWrite((None,)),))])
    assert w.fresh("hours", P.HOURLY) == []
    with pytest.raises(DataError) as caught:
        w.commit(lambda tx: [AddPartitions(fact["days"], (PartitionWrite((None,)),))])
    assert caught.value.condition == "INVALID_TIME_PARTITION"


@pytest.mark.parametrize(("table", "value"), [("hours", "2013-01-01"), ("days", "2013-02-30"), ("coarse", "2013-1")])
def test_partitions_that_fit_no_layout_are_refused(w: Warehouse, fact: Tables, table: str, value: str) -> None:
    for act in (w.into, w.overwrite, w.add):
        with pytest.raises(DataError) as caught:
            act(fact[table], value)
        assert caught.value.condition == "INVALID_TIME_PARTITION"
        assert value in caught.value.message
        assert caught.value.hint


def test_several_columns_name_time_in_any_order(w: Warehouse) -> None:
    t = w.create("t", (Column("hr", "string"), Column("ds", "date")))
    layout = TimeLayout.of(P.HOURLY, [("DS", None), ("hr", "HH")], {"DS": "date"})
    with w.catalog.begin() as tx:
        cube = Cube(tx.allocate_id(), "c", (), (), ("t",), ("t",))
        fact = Fact(tx.allocate_id(), "f", "c", (Storage("s", (StorageTable("t", "t", {P.HOURLY: layout}),)),))
        tx.commit([CreateObject(cube), CreateObject(fact)])
    w.commit(lambda tx: [AddPartitions(t, (PartitionWrite(("07", "2013-01-01")),))])
    line = w.catalog.snapshot().timeline("t", P.HOURLY, "t")
    assert [layout.values(r.start) for r in line.ranges()] == [("2013-01-01", "07")]
    with pytest.raises(DataError):
        w.commit(lambda tx: [AddPartitions(t, (PartitionWrite((None, "2013-01-01")),))])


# --- CREATE FACT and DROP FACT over what exists --------------------------------------------------------------------


def test_a_fact_takes_over_what_its_tables_hold(w: Warehouse) -> None:
    tables = {name: w.create(name) for name in BASE}
    hours, days, coarse = tables.values()
    w.into(hours, "2013-01-01-00", "2013-01-02-00", "2013-01-03-00")
    w.overwrite(days, "2013-01-01", "2013-01-02", sources=[hours])
    w.into(days, "2013-01-03", sources=[hours])
    w.into(days, "2013-01-03", sources=[hours])
    w.overwrite(coarse, "2013-01", sources=[days])
    w.overwrite(coarse, "2013", sources=[hours])
    w.overwrite(coarse, "2012")
    w.into(hours, "2013-01-01-00")
    w.create_fact(BASE)
    assert w.fresh("hours", P.HOURLY) == ["2013-01-01-00", "2013-01-02-00", "2013-01-03-00"]
    # The origin of what was written before the fact existed is not recorded.
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == ([], [])
    assert w.unproven("days", P.DAILY) == ["2013-01-01", "2013-01-02", "2013-01-03"]
    assert (w.unproven("coarse", P.MONTHLY), w.unproven("coarse", P.YEARLY)) == (["2013-01"], ["2012", "2013"])
    w.overwrite(days, "2013-01-02", sources=[hours])
    assert (w.fresh("days", P.DAILY), w.unproven("days", P.DAILY)) == (["2013-01-02"], ["2013-01-01", "2013-01-03"])


def test_what_is_made_of_a_rollup_from_before_the_fact_is_unproven(w: Warehouse) -> None:
    hours, days, coarse = (w.create(name) for name in BASE)
    w.into(hours, "2013-01-01-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    w.overwrite(coarse, "2013-01", sources=[days])
    w.create_fact(BASE)
    w.overwrite(coarse, "2013", sources=[coarse])
    assert (w.unproven("coarse", P.MONTHLY), w.unproven("coarse", P.YEARLY)) == (["2013-01"], ["2013"])
    assert (w.outdated("coarse", P.MONTHLY), w.outdated("coarse", P.YEARLY)) == ([], [])


def test_a_fact_over_partitions_that_fit_no_layout_is_refused(w: Warehouse) -> None:
    w.into(w.create("days"), "2013-01-01", "2013-13-01")
    with pytest.raises(DataError, match="2013-13-01"):
        w.create_fact({"days": [P.DAILY]})
    assert w.catalog.snapshot().facts() == ()


def test_dropping_a_fact_ends_its_timelines(w: Warehouse, fact: Tables) -> None:
    w.into(fact["hours"], "2013-01-01-00")
    before = w.catalog.snapshot()
    w.commit(lambda tx: [DropObject(before.fact("f"))])
    assert w.fresh("hours", P.HOURLY) == []
    assert before.timeline("hours", P.HOURLY, "t").count == 1
    w.into(fact["hours"], "no time at all")
    w.drop(fact["hours"], "no time at all")
    w.create_fact(BASE)
    assert w.fresh("hours", P.HOURLY) == ["2013-01-01-00"]


def test_a_writer_meets_a_fact_that_was_created_meanwhile(w: Warehouse) -> None:
    tables = {name: w.create(name) for name in BASE}
    w.into(tables["hours"], "2013-01-01-00")
    with w.catalog.begin() as into, w.catalog.begin() as rollup:
        changes = write(into, tables["hours"], "2013-01-01-05"), write(rollup, tables["days"], "2013-01-01")
        w.create_fact(BASE)
        into.commit([changes[0]])
        rollup.commit([changes[1]], [tables["hours"].id])
    assert w.fresh("hours", P.HOURLY) == ["2013-01-01-00", "2013-01-01-05"]
    assert w.outdated("days", P.DAILY) == ["2013-01-01"]


@pytest.mark.share(1)
def test_a_base_that_was_read_with_rollups_beside_it_proves_nothing(w: Warehouse) -> None:
    both = w.create("both")
    w.into(both, "2013-01-01")
    with w.catalog.begin() as tx:
        month = write(tx, both, "2013-01")
        w.create_fact({"both": (P.DAILY, P.MONTHLY)})
        tx.commit([month], {both.id: None})
    assert (w.fresh("both", P.MONTHLY), w.outdated("both", P.MONTHLY)) == ([], ["2013-01"])


@pytest.mark.share(1)
def test_a_base_of_another_leading_time_outdates_every_rollup(w: Warehouse) -> None:
    hours, days = w.create("hours"), w.create("days")
    tables = (storage_table("hours", [P.HOURLY]), replace(storage_table("days", [P.DAILY]), time="u"))
    with w.catalog.begin() as tx:
        cube = Cube(tx.allocate_id(), "c", (), (), ("t", "u"), ("t", "u"))
        tx.commit([CreateObject(cube), CreateObject(Fact(tx.allocate_id(), "f", "c", (Storage("default", tables),)))])
    w.into(hours, "2013-05-05-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    assert w.catalog.snapshot().timeline("days", P.DAILY, "u").count == 1
    w.into(hours, "2013-07-07-00")
    assert w.catalog.snapshot().outdated("days", P.DAILY, "u").count == 1


@pytest.mark.share(1)
def test_a_whole_base_alone_proves_what_was_read_before_the_fact(w: Warehouse) -> None:
    hours, more, days, coarse = (w.create(name) for name in ("hours", "more", "days", "coarse"))
    w.into(hours, "2013-01-01-00")
    first_day = KeyRange(key(hours, "2013-01-01"), key(hours, "2013-01-02"))
    read_by_month = {
        "2013-01": {hours.id: None, more.id: None},
        "2013-02": {hours.id: [first_day], more.id: None},
        "2013-03": {hours.id: None, more.id: None, days.id: None},
        "2013-04": {hours.id: None},
    }
    with ExitStack() as stack:
        transactions = {month: stack.enter_context(w.catalog.begin()) for month in read_by_month}
        written = {month: write(tx, coarse, month) for month, tx in transactions.items()}
        w.create_fact({**BASE, "more": (P.HOURLY,)})
        for month, sources in read_by_month.items():
            transactions[month].commit([written[month]], sources)
    assert (w.fresh("coarse", P.MONTHLY), w.unproven("coarse", P.MONTHLY)) == (["2013-01"], [])
    assert w.outdated("coarse", P.MONTHLY) == ["2013-02", "2013-03", "2013-04"]


@pytest.mark.parametrize(
    ("tables", "error", "condition"),
    [
        ([("nosuch", P.DAILY)], AnalysisError, "TABLE_OR_VIEW_NOT_FOUND"),
        ([("days", P.DAILY), ("Days", P.MONTHLY)], IntegrityError, "DUPLICATE_STORAGE_TABLE"),
        ([("wide", P.DAILY)], NotSupportedError, "INCOMPLETE_TIME_LAYOUT"),
        ([("flat", P.DAILY)], AnalysisError, "INVALID_TIME_LAYOUT"),
        ([("used", P.DAILY)], IntegrityError, "TABLE_IN_USE"),
    ],
)
def test_facts_that_do_not_fit_their_tables(
    w: Warehouse, tables: list[tuple[str, P]], error: type[Exception], condition: str
) -> None:
    w.create("days")
    w.create("used")
    w.create("wide", (Column("dt", "string"), Column("country", "string")))
    w.create("flat", ())
    w.create_fact({"used": [P.DAILY]})
    storage = Storage("s", tuple(storage_table(name, [period]) for name, period in tables))
    with pytest.raises(error) as caught, w.catalog.begin() as tx:
        tx.commit([CreateObject(Fact(tx.allocate_id(), "g", "c", (storage,)))])
    assert getattr(caught.value, "condition", None) == condition


def test_a_fact_needs_its_cube(w: Warehouse) -> None:
    w.create("days")
    with pytest.raises(AnalysisError) as caught, w.catalog.begin() as tx:
        tx.commit(
            [CreateObject(Fact(tx.allocate_id(), "g", "days", (Storage("s", (storage_table("days", [P.DAILY]),)),)))]
        )
    assert caught.value.condition == "CUBE_NOT_FOUND"


def test_a_wipe_of_everything_leaves_empty_timelines(w: Warehouse, fact: Tables) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2013-01-01-00", "2013-01-02-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    w.commit(
        lambda tx: [
            WritePartitions(
                hours, tx.write_id(hours), (), overwrite=True, wipes=(KeyRange.of_prefix(prefix(hours.id)),)
            )
        ]
    )
    assert (w.fresh("hours", P.HOURLY), w.line("hours", P.HOURLY, "retired")) == ([], [])
    assert w.outdated("days", P.DAILY) == ["2013-01-01"]
