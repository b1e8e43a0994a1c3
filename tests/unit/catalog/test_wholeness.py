"""COMPLETE WITH: when a period of a table with further partition columns exists, and when it is fresh."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fact_model import ABSENT, ADDED, ALL, BLIND, FRESH, Base, Content, Key, Partitions, Shape
from postgres import seeds

from rewriter.catalog import Catalog
from rewriter.catalog.commit.completeness import PeriodPartitions
from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    PartitionWrite,
    RefreshTimelines,
    WritePartitions,
)
from rewriter.catalog.model.json_codec import decode_object, to_text
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, Completeness, Cube, DataFile, Fact, Storage, StorageTable, Table
from rewriter.errors import AnalysisError, DataError, NotSupportedError
from rewriter.timeline.layouts import TimeLayout

from .support import P, Warehouse, key, layout, storage_table

COUNTRY = Column("country", "string")
PARTED = (Column("dt", "string"), COUNTRY)
BOTH = (Completeness("country", ("us", "eu")),)
ANY = (Completeness("country", None),)


@pytest.fixture
def w(tmp_path: Path) -> Warehouse:
    """Creates a warehouse on SQLite. The random history tests the rules on both databases."""
    return Warehouse(Catalog.open(tmp_path))


def make_fact(w: Warehouse, *tables: StorageTable, name: str = "f") -> Fact:
    with w.catalog.begin() as tx:
        changes: list[Change] = []
        if not w.catalog.snapshot().cubes():
            changes.append(CreateObject(Cube(tx.allocate_id(), "c", (COUNTRY,), (), ("t",), ("country", "t"))))
        fact = Fact(tx.allocate_id(), name, "c", (Storage("default", tables),))
        tx.commit([*changes, CreateObject(fact)])
    return fact


def parted(name: str, period: P, complete: tuple[Completeness, ...] = BOTH, trusted: bool = False) -> StorageTable:
    return StorageTable(name, "t", {period: layout(period)}, trusted, complete)


def change(
    tx: object, table: Table, *values: tuple[str | None, ...], overwrite: bool = False, files: int = 1, **more: object
) -> WritePartitions:
    write_id = tx.write_id(table)  # type: ignore[attr-defined]
    parts = tuple(
        PartitionWrite(v, tuple(DataFile(f"{table.location}/{write_id}/{v}/{n}", 10, 100) for n in range(files)))
        for v in values
    )
    return WritePartitions(table, write_id, parts, overwrite, **more)  # type: ignore[arg-type]


def put(w: Warehouse, table: Table, dt: str, *countries: str, sources: Iterable[Table] = (), files: int = 1) -> int:
    """Commits INSERT OVERWRITE of some countries of one period."""
    with w.catalog.begin() as tx:
        values = [(dt, country) for country in countries]
        return tx.commit([change(tx, table, *values, overwrite=True, files=files)], [t.id for t in sources])


def into(w: Warehouse, table: Table, dt: str, *countries: str, sources: Iterable[Table] = ()) -> int:
    with w.catalog.begin() as tx:
        return tx.commit([change(tx, table, *((dt, c) for c in countries))], [t.id for t in sources])


def add(w: Warehouse, table: Table, dt: str, *countries: str | None) -> int:
    return w.commit(lambda tx: [AddPartitions(table, tuple(PartitionWrite((dt, c)) for c in countries))])


def drop(w: Warehouse, table: Table, dt: str, *countries: str) -> int:
    return w.commit(lambda tx: [DropPartitions(table, tuple(key(table, dt, c) for c in countries))])


def status(w: Warehouse, table: str, period: P = P.DAILY) -> tuple[list[str], list[str]]:
    """Returns the fresh and the outdated partitions."""
    return w.fresh(table, period), w.outdated(table, period)


@pytest.fixture
def hours(w: Warehouse) -> Table:
    return w.create("hours", PARTED)


@pytest.fixture
def days(w: Warehouse, hours: Table) -> Table:
    """Creates a fact of hours and days, both by country, with a table of months that are not."""
    table, _ = w.create("days", PARTED), w.create("months")
    make_fact(w, parted("hours", P.HOURLY), parted("days", P.DAILY), storage_table("months", [P.MONTHLY]))
    return table


DAY, HOUR = "2013-01-01", "2013-01-01-00"


# --- when a period exists ------------------------------------------------------------------------------------------


def test_a_period_exists_when_every_listed_value_has_a_partition(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us")
    assert w.fresh("hours", P.HOURLY) == []
    before = w.catalog.snapshot()
    into(w, hours, HOUR, "eu")
    assert w.fresh("hours", P.HOURLY) == [HOUR]
    assert before.timeline("hours", P.HOURLY, "t").is_empty


@pytest.mark.parametrize("how", ["into", "put", "put empty", "add"])
def test_every_way_to_make_a_partition_counts(w: Warehouse, hours: Table, days: Table, how: str) -> None:
    into(w, hours, HOUR, "us")
    if how == "put empty":
        put(w, hours, HOUR, "eu", files=0)
    else:
        {"into": into, "put": put, "add": add}[how](w, hours, HOUR, "eu")
    assert w.fresh("hours", P.HOURLY) == [HOUR]


def test_other_values_neither_help_nor_harm(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "jp")
    assert w.fresh("hours", P.HOURLY) == []
    into(w, hours, HOUR, "eu")
    assert w.fresh("hours", P.HOURLY) == [HOUR]
    # Dropping is retention: what is left does not say any more what was there.
    drop(w, hours, HOUR, "jp")
    assert w.fresh("hours", P.HOURLY) == []


def test_a_period_ends_with_the_first_listed_value_that_goes(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "eu")
    drop(w, hours, HOUR, "eu")
    assert (w.fresh("hours", P.HOURLY), w.line("hours", P.HOURLY, "retired")) == ([], [HOUR])
    into(w, hours, HOUR, "eu")
    assert (w.fresh("hours", P.HOURLY), w.line("hours", P.HOURLY, "retired")) == ([HOUR], [])


def test_a_wipe_of_one_value_ends_the_period_and_outdates(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "eu")
    put(w, days, DAY, "us", "eu", sources=[hours])
    wipe = KeyRange(key(hours, HOUR, "eu"), key(hours, HOUR, "eu") + b"\0")
    w.commit(lambda tx: [change(tx, hours, overwrite=True, wipes=(wipe,))])
    assert (w.fresh("hours", P.HOURLY), w.line("hours", P.HOURLY, "retired")) == ([], [])
    assert status(w, "days") == ([], [DAY])


@pytest.mark.parametrize("kind", ["plain", "external", "empty"])
@pytest.mark.parametrize("complete", [(Completeness("country", ("us",)),), ANY])
def test_a_part_of_a_rollup_that_was_dropped_is_missed(
    w: Warehouse, complete: tuple[Completeness, ...], kind: str
) -> None:
    """The base is not partitioned by country, is somebody else's, or never had the day: only the drop tells that a
    country is missing.
    """
    base = w.create("base", PARTED[:1] if kind == "plain" else PARTED, external=kind == "external")
    days = w.create("days", PARTED)
    make_fact(w, parted("base", P.HOURLY, () if kind == "plain" else complete), parted("days", P.DAILY, complete))
    put(w, days, DAY, "us", "eu", sources=[base])
    assert status(w, "days") == ([DAY], [])
    drop(w, days, DAY, "eu")
    assert status(w, "days") == ([], [DAY])
    put(w, days, DAY, "us", sources=[base])
    assert status(w, "days") == ([], [DAY])
    put(w, days, DAY, "eu", sources=[base])
    assert status(w, "days") == ([DAY], [])


def test_a_wipe_of_a_rollup_forgets_what_was_dropped(w: Warehouse) -> None:
    base, days = w.create("base", PARTED[:1]), w.create("days", PARTED)
    make_fact(w, parted("base", P.HOURLY, ()), parted("days", P.DAILY, ANY))
    put(w, days, DAY, "us", "eu", sources=[base])
    drop(w, days, DAY, "eu")
    with w.catalog.begin() as tx:
        wipe = KeyRange(key(days, DAY, "a"), key(days, DAY, "z"))
        tx.commit([change(tx, days, (DAY, "us"), overwrite=True, wipes=(wipe,))], [base.id])
    assert status(w, "days") == ([DAY], [])


def test_any_value_makes_a_period(w: Warehouse) -> None:
    table = w.create("hours", PARTED)
    make_fact(w, parted("hours", P.HOURLY, ANY))
    into(w, table, HOUR, "jp")
    assert w.fresh("hours", P.HOURLY) == [HOUR]
    into(w, table, HOUR, "us")
    assert w.fresh("hours", P.HOURLY) == [HOUR]
    drop(w, table, HOUR, "jp")
    assert w.fresh("hours", P.HOURLY) == []


def test_several_columns_need_every_combination_of_listed_values(w: Warehouse) -> None:
    table = w.create("hours", (*PARTED, Column("version", "int"), Column("source", "string")))
    complete = (*BOTH, Completeness("version", ("1", "2")), Completeness("source", None))
    make_fact(w, parted("hours", P.HOURLY, complete))
    combinations = [("us", "1", "x"), ("us", "2", None), ("eu", "1", "x"), ("us", "3", "x"), ("eu", "1", "y")]
    w.commit(lambda tx: [change(tx, table, *((HOUR, *combination) for combination in combinations))])
    assert w.fresh("hours", P.HOURLY) == []
    w.commit(lambda tx: [change(tx, table, (HOUR, "eu", "2", "z"))])
    assert w.fresh("hours", P.HOURLY) == [HOUR]


def test_null_is_a_value_that_may_be_listed(w: Warehouse) -> None:
    table = w.create("hours", PARTED)
    make_fact(w, parted("hours", P.HOURLY, (Completeness("country", ("us", None)),)))
    into(w, table, HOUR, "us")
    add(w, table, "2013-01-01-01", "us", None)
    assert w.fresh("hours", P.HOURLY) == ["2013-01-01-01"]


def test_null_time_stands_on_no_timeline_whatever_the_country(w: Warehouse, hours: Table, days: Table) -> None:
    w.commit(lambda tx: [AddPartitions(hours, (PartitionWrite((None, "us")), PartitionWrite((None, "eu"))))])
    assert w.fresh("hours", P.HOURLY) == []
    with pytest.raises(DataError) as caught:
        w.commit(lambda tx: [AddPartitions(days, (PartitionWrite((None, "us")),))])
    assert caught.value.condition == "INVALID_TIME_PARTITION"


def test_periods_that_share_a_table_are_told_apart(w: Warehouse) -> None:
    table = w.create("t", PARTED)
    layouts = {period: layout(period) for period in (P.DAILY, P.MONTHLY)}
    make_fact(w, StorageTable("t", "t", layouts, complete=BOTH))
    into(w, table, "2013-01-31", "us", "eu")
    days = {table.id: [KeyRange(key(table, "2013-01-00", None), key(table, "2013-01-99", None))]}
    for month, *countries in [("2013-01", "us"), ("2013-02", "eu", "us")]:
        pairs = [(month, country) for country in countries]
        with w.catalog.begin() as tx:
            tx.commit([change(tx, table, *pairs, overwrite=True)], days)
    assert (w.fresh("t", P.DAILY), w.fresh("t", P.MONTHLY)) == (["2013-01-31"], ["2013-02"])
    put(w, table, "2013-01", "eu")
    assert (w.unproven("t", P.MONTHLY), w.fresh("t", P.MONTHLY)) == (["2013-01"], ["2013-02"])


def test_time_in_several_columns_before_the_country(w: Warehouse) -> None:
    table = w.create("t", (Column("ds", "string"), Column("hr", "string"), COUNTRY))
    hourly = TimeLayout.of(P.HOURLY, [("ds", "yyyy-MM-dd"), ("hr", "HH")])
    make_fact(w, StorageTable("t", "t", {P.HOURLY: hourly}, complete=BOTH))
    w.commit(lambda tx: [change(tx, table, (DAY, "07", "us"), (DAY, "08", "us"), (DAY, "08", "eu"))])
    line = w.catalog.snapshot().timeline("t", P.HOURLY, "t")
    assert [hourly.values(r.start) for r in line.ranges()] == [(DAY, "08")]


def test_the_two_halves_of_a_period_may_come_from_two_writers_at_once(w: Warehouse, hours: Table, days: Table) -> None:
    with w.catalog.begin() as first, w.catalog.begin() as second:
        changes = change(first, hours, (HOUR, "us")), change(second, hours, (HOUR, "eu"))
        first.commit([changes[0]])
        second.commit([changes[1]])
    assert w.fresh("hours", P.HOURLY) == [HOUR]


# --- when it is fresh ----------------------------------------------------------------------------------------------


def test_one_base_partition_outdates_the_rollups_over_its_time(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "eu")
    into(w, hours, "2013-01-02-00", "us", "eu")
    put(w, days, DAY, "us", "eu", sources=[hours])
    put(w, days, "2013-01-02", "us", "eu", sources=[hours])
    months = w.catalog.snapshot().table("months")
    w.overwrite(months, "2013-01", sources=[days])
    assert (status(w, "days"), status(w, "months", P.MONTHLY)) == (([DAY, "2013-01-02"], []), (["2013-01"], []))
    into(w, hours, HOUR, "eu")
    assert (status(w, "days"), status(w, "months", P.MONTHLY)) == ((["2013-01-02"], [DAY]), ([], ["2013-01"]))


def test_a_rollup_is_fresh_when_all_its_partitions_are(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "eu")
    put(w, days, DAY, "us", "eu", sources=[hours])
    into(w, hours, HOUR, "us")
    into(w, hours, HOUR, "eu")
    put(w, days, DAY, "us", sources=[hours])
    assert status(w, "days") == ([], [DAY])
    put(w, days, DAY, "eu", sources=[hours])
    assert status(w, "days") == ([DAY], [])


def test_the_second_country_does_not_hide_that_the_first_is_outdated(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "eu")
    put(w, days, DAY, "us", sources=[hours])
    assert status(w, "days") == ([], [])
    into(w, hours, HOUR, "us")
    into(w, days, DAY, "eu", sources=[hours])
    assert status(w, "days") == ([], [DAY])


def test_a_country_that_landed_later_does_not_concern_the_other(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us")
    put(w, days, DAY, "us", sources=[hours])
    into(w, hours, HOUR, "eu")
    put(w, days, DAY, "eu", sources=[hours])
    assert status(w, "days") == ([DAY], [])


def test_a_rollup_that_lacks_a_country_of_its_base_is_outdated(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "eu", "jp")
    put(w, days, DAY, "us", "eu", sources=[hours])
    assert status(w, "days") == ([], [DAY])
    put(w, days, DAY, "jp", sources=[hours])
    assert status(w, "days") == ([DAY], [])
    drop(w, days, DAY, "jp")
    assert status(w, "days") == ([], [DAY])


def test_a_country_that_retention_dropped_still_belongs_in_the_rollup(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "eu", "jp")
    put(w, days, DAY, "us", "eu", "jp", sources=[hours])
    drop(w, hours, HOUR, "jp")
    assert status(w, "days") == ([DAY], [])
    drop(w, days, DAY, "jp")
    assert status(w, "days") == ([], [DAY])


def test_an_empty_base_partition_asks_for_no_rollup(w: Warehouse, hours: Table, days: Table) -> None:
    put(w, hours, HOUR, "us", "eu")
    put(w, hours, HOUR, "jp", files=0)
    put(w, days, DAY, "us", "eu", sources=[hours])
    assert status(w, "days") == ([DAY], [])


def test_what_is_left_of_a_retired_period_proves_nothing(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "eu", "jp")
    put(w, days, DAY, "us", "eu", "jp", sources=[hours])
    drop(w, hours, HOUR, "jp")
    assert (w.fresh("hours", P.HOURLY), w.line("hours", P.HOURLY, "retired")) == ([], [HOUR])
    months = w.catalog.snapshot().table("months")
    w.overwrite(months, "2013-01", sources=[hours])
    assert status(w, "months", P.MONTHLY) == ([], ["2013-01"])
    # The day still has what the hour had.
    w.overwrite(months, "2013-01", sources=[days])
    assert status(w, "months", P.MONTHLY) == (["2013-01"], [])


def test_the_rest_of_a_retired_period_proves_nothing_where_ranges_were_read(
    w: Warehouse, hours: Table, days: Table
) -> None:
    into(w, hours, HOUR, "us", "eu", "jp")
    into(w, hours, "2013-02-01-00", "us", "eu")
    drop(w, hours, HOUR, "jp")
    months = w.catalog.snapshot().table("months")
    read = [KeyRange(key(hours, "2013", None), key(hours, "2014", None))]
    with w.catalog.begin() as tx:
        values = [PartitionWrite((month,)) for month in ("2013-01", "2013-02")]
        tx.commit([WritePartitions(months, tx.write_id(months), tuple(values), overwrite=True)], {hours.id: read})
    assert status(w, "months", P.MONTHLY) == (["2013-02"], ["2013-01"])


def test_what_comes_of_half_a_rollup_is_outdated(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "eu")
    put(w, days, DAY, "us", sources=[hours])
    months = w.catalog.snapshot().table("months")
    w.overwrite(months, "2013-01", sources=[days])
    assert status(w, "months", P.MONTHLY) == ([], ["2013-01"])


def test_into_a_part_that_has_content_outdates_the_period(w: Warehouse, hours: Table, days: Table) -> None:
    into(w, hours, HOUR, "us", "eu")
    put(w, days, DAY, "us", "eu", sources=[hours])
    into(w, days, DAY, "us", sources=[hours])
    assert status(w, "days") == ([], [DAY])


def test_a_base_by_country_under_rollups_that_are_not(w: Warehouse, hours: Table, days: Table) -> None:
    months = w.catalog.snapshot().table("months")
    into(w, hours, HOUR, "us", "eu")
    w.overwrite(months, "2013-01", sources=[hours])
    assert status(w, "months", P.MONTHLY) == (["2013-01"], [])
    into(w, hours, HOUR, "eu")
    assert status(w, "months", P.MONTHLY) == ([], ["2013-01"])


def test_rollups_by_country_over_a_base_that_is_not(w: Warehouse) -> None:
    base, table = w.create("hours"), w.create("days", PARTED)
    make_fact(w, storage_table("hours", [P.HOURLY]), parted("days", P.DAILY))
    w.into(base, HOUR)
    put(w, table, DAY, "us", sources=[base])
    w.into(base, HOUR)
    put(w, table, DAY, "eu", sources=[base])
    assert status(w, "days") == ([], [DAY])
    put(w, table, DAY, "us", sources=[base])
    assert status(w, "days") == ([DAY], [])


@pytest.fixture
def quarters(w: Warehouse) -> tuple[Table, Table]:
    """Creates a base of months by country and quarters that are not: three months make one complete."""
    base, quarters = w.create("base", PARTED), w.create("quarters")
    make_fact(w, parted("base", P.MONTHLY), storage_table("quarters", [P.QUARTERLY]))
    for month in ("2013-01", "2013-02"):
        into(w, base, month, "us", "eu")
    into(w, base, "2013-03", "us")
    return base, quarters


def test_a_base_period_that_lacked_a_country_completes_with_it(w: Warehouse, quarters: tuple[Table, Table]) -> None:
    base, table = quarters
    when = layout(P.QUARTERLY).values(P.QUARTERLY.ordinal(P.MONTHLY.start(516)))[0]
    w.overwrite(table, when, sources=[base])
    assert w.line("quarters", P.QUARTERLY, "incomplete") == [when]
    add(w, base, "2013-03", "eu")
    assert w.line("quarters", P.QUARTERLY) == [when]


def test_half_a_base_period_that_retention_drops_was_never_whole(w: Warehouse, quarters: tuple[Table, Table]) -> None:
    base, table = quarters
    when = layout(P.QUARTERLY).values(P.QUARTERLY.ordinal(P.MONTHLY.start(516)))[0]
    w.overwrite(table, when, sources=[base])
    drop(w, base, "2013-03", "us")
    assert w.line("quarters", P.QUARTERLY, "incomplete") == [when]
    with w.catalog.begin() as tx:
        tx.commit([RefreshTimelines(tx.snapshot.fact("f"))])
        assert tx.differences == ()
    add(w, base, "2013-03", "eu")
    # The other half is declared empty: now both halves have existed.
    assert w.line("quarters", P.QUARTERLY) == [when]
    with w.catalog.begin() as tx:
        tx.commit([RefreshTimelines(tx.snapshot.fact("f"))])
        assert tx.differences == ()


@pytest.mark.parametrize("external", [False, True])
def test_promised_rollups_need_to_be_whole_but_not_fresh(w: Warehouse, hours: Table, external: bool) -> None:
    table = w.create("days", PARTED, external)
    make_fact(w, parted("hours", P.HOURLY), parted("days", P.DAILY, trusted=True))
    into(w, hours, HOUR, "us", "eu", "jp")
    into(w, table, DAY, "us")
    assert status(w, "days") == ([], [])
    into(w, table, DAY, "eu")
    into(w, hours, HOUR, "us")
    assert (w.line("days", P.DAILY), w.outdated("days", P.DAILY)) == ([DAY], [])


def test_an_external_rollup_that_nobody_promises_is_judged_like_any_other(w: Warehouse, hours: Table) -> None:
    table = w.create("days", PARTED, external=True)
    make_fact(w, parted("hours", P.HOURLY), parted("days", P.DAILY))
    into(w, hours, HOUR, "us", "eu")
    into(w, table, DAY, "us", sources=[hours])
    into(w, table, DAY, "eu")
    assert (status(w, "days"), w.unproven("days", P.DAILY)) == (([], []), [DAY])
    put(w, table, DAY, "eu", sources=[hours])
    assert (status(w, "days"), w.unproven("days", P.DAILY)) == (([DAY], []), [])
    into(w, hours, HOUR, "us")
    assert status(w, "days") == ([], [DAY])


# --- CREATE FACT over what exists, and what is refused -------------------------------------------------------------


def test_a_fact_takes_over_whole_periods_only(w: Warehouse, hours: Table) -> None:
    table = w.create("days", PARTED)
    into(w, hours, HOUR, "us", "eu")
    into(w, hours, "2013-01-02-00", "us")
    put(w, table, DAY, "us", "eu", sources=[hours])
    put(w, table, "2013-01-02", "us", sources=[hours])
    put(w, table, "2013-01-03", "us", "eu", sources=[hours])
    into(w, hours, "2013-01-03-00", "us", "eu")
    fact = make_fact(w, parted("hours", P.HOURLY), parted("days", P.DAILY))
    assert w.fresh("hours", P.HOURLY) == [HOUR, "2013-01-03-00"]
    # Half of the second day is not there; the others were, and nothing says how they were computed.
    assert (status(w, "days"), w.unproven("days", P.DAILY)) == (([], []), [DAY, "2013-01-03"])
    put(w, table, "2013-01-02", "eu", sources=[hours])
    assert (status(w, "days"), w.unproven("days", P.DAILY)) == (([], []), [DAY, "2013-01-02", "2013-01-03"])
    put(w, table, "2013-01-02", "us", sources=[hours])
    assert (status(w, "days"), w.unproven("days", P.DAILY)) == ((["2013-01-02"], []), [DAY, "2013-01-03"])
    w.commit(lambda tx: [DropObject(fact)])
    assert w.fresh("hours", P.HOURLY) == []


def test_a_part_from_before_the_fact_makes_the_period_unproven(w: Warehouse, hours: Table) -> None:
    days, months = w.create("days"), w.create("months", PARTED)
    into(w, hours, HOUR, "us", "eu")
    w.overwrite(days, DAY, sources=[hours])
    put(w, months, "2013-01", "us", sources=[days])
    make_fact(w, parted("hours", P.HOURLY), storage_table("days", [P.DAILY]), parted("months", P.MONTHLY))
    put(w, months, "2013-01", "eu", sources=[hours])
    assert (status(w, "months", P.MONTHLY), w.unproven("months", P.MONTHLY)) == (([], []), ["2013-01"])
    put(w, months, "2013-01", "us", sources=[hours])
    assert status(w, "months", P.MONTHLY) == (["2013-01"], [])


def test_what_was_dropped_before_the_fact_is_missing(w: Warehouse, hours: Table) -> None:
    """A rollup may still include it, so the rest of the hour must not be read beside it."""
    table = w.create("days", PARTED)
    into(w, hours, HOUR, "us", "eu", "jp")
    drop(w, hours, HOUR, "jp")
    make_fact(w, parted("hours", P.HOURLY), parted("days", P.DAILY))
    into(w, hours, HOUR, "us")
    put(w, table, DAY, "us", "eu", sources=[hours])
    assert (w.line("hours", P.HOURLY, "retired"), status(w, "days")) == ([HOUR], ([], [DAY]))
    into(w, hours, HOUR, "jp")
    put(w, table, DAY, "us", "eu", sources=[hours])
    assert (w.line("hours", P.HOURLY, "retired"), status(w, "days")[1]) == ([], [DAY])
    put(w, table, DAY, "jp", sources=[hours])
    assert status(w, "days") == ([DAY], [])


@pytest.mark.parametrize(
    ("columns", "complete", "error", "condition"),
    [
        (PARTED, (), NotSupportedError, "INCOMPLETE_TIME_LAYOUT"),
        ((*PARTED, Column("x", "string")), BOTH, NotSupportedError, "INCOMPLETE_TIME_LAYOUT"),
        (PARTED, (*BOTH, Completeness("x", None)), AnalysisError, "INVALID_FACT"),
        (PARTED[:1], BOTH, AnalysisError, "INVALID_FACT"),
        (PARTED[::-1], BOTH, NotSupportedError, "INVALID_TIME_LAYOUT"),
    ],
)
def test_rules_that_do_not_fit_the_table(
    w: Warehouse,
    columns: tuple[Column, ...],
    complete: tuple[Completeness, ...],
    error: type[Exception],
    condition: str,
) -> None:
    w.create("days", columns)
    with pytest.raises(error) as caught:
        make_fact(w, parted("days", P.DAILY, complete))
    assert getattr(caught.value, "condition", None) == condition
    assert "COMPLETE WITH" in str(getattr(caught.value, "hint", "")) or condition == "INVALID_TIME_LAYOUT"


def test_a_fact_is_read_back_as_it_was_written() -> None:
    complete = (Completeness("country", ("us", None)), Completeness("source", None))
    fact = Fact(7, "f", "c", (Storage("s", (parted("days", P.DAILY, complete),)),))
    assert decode_object("fact", 7, "f", to_text(fact, "/w"), "/w") == fact
    older = to_text(fact, "/w").replace(',"complete":[["country",["us",null]],["source",null]]', "")
    older = older.replace(",null,null]]", "]]").replace(',"others":[]', "").replace(',"start":null,"end":null', "")
    assert older.count("null") == 1
    read = decode_object("fact", 7, "f", older, "/w")
    assert isinstance(read, Fact)
    assert (read.tables[0].complete, read.storages[0].start) == ((), None)
    bounded = replace(fact, storages=(replace(fact.storages[0], start="2013", end="now.day - 1 day"),))
    assert decode_object("fact", 7, "f", to_text(bounded, "/w"), "/w") == bounded
    table = replace(fact.tables[0], start="2012", end="2013")
    windowed = replace(fact, storages=(replace(fact.storages[0], tables=(table,)),))
    assert decode_object("fact", 7, "f", to_text(windowed, "/w"), "/w") == windowed


# --- random histories ----------------------------------------------------------------------------------------------

MODEL_COUNTRIES = ("us", "eu", "jp")
MODEL_MONTHS = [f"2013-{month:02d}" for month in range(1, 7)]
MODEL_QUARTERS = [layout(P.QUARTERLY).values(P.QUARTERLY.ordinal(P.MONTHLY.start(o)))[0] for o in (516, 519)]


def quarter(month: str) -> str:
    return MODEL_QUARTERS[MODEL_MONTHS.index(month) // 3]


def months_of(when: Hashable) -> list[str]:
    return [month for month in MODEL_MONTHS if quarter(month) == when]


#: The relation of quarters to months, which are complete with ``us`` and ``eu``.
SHAPES = {
    "both": Shape(months_of, ("us", "eu"), is_whole={"us", "eu"}.issubset, seen=lambda country: country),
    "any": Shape(months_of, ("us", "eu"), seen=lambda country: country),
    "plain": Shape(months_of, ("us", "eu")),
}


class Random:
    """A random history of base writes by country and of rollups with and without countries, and its model."""

    def __init__(self, directory: Path, seed: int, url: str | None = None) -> None:
        self.rng = random.Random(seed)
        self.w = Warehouse(Catalog.open(directory, url), url)
        self.tables = {name: self.w.create(name, PARTED) for name in ("base", "both", "any")}
        self.tables["plain"] = self.w.create("plain")
        make_fact(
            self.w,
            parted("base", P.MONTHLY),
            parted("both", P.QUARTERLY),
            parted("any", P.QUARTERLY, ANY),
            storage_table("plain", [P.QUARTERLY]),
        )
        self.base = Base()
        self.parts = {name: Partitions() for name in SHAPES}
        #: The number of rollups in each state.
        self.seen: Counter[str] = Counter()

    def some(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        return sorted(self.rng.sample(pairs, min(len(pairs), self.rng.choice([1, 1, 2, 3]))))

    def step(self) -> None:
        if self.rng.random() < 0.5:
            self.base_step()
        else:
            self.rollup_step(self.rng.choice(["both", "both", "any", "plain"]))

    def base_step(self) -> None:
        rng, base, table = self.rng, self.base, self.tables["base"]
        kind = rng.choices(["into", "overwrite", "add", "drop", "wipe"], [5, 3, 4, 1, 1])[0]
        dt = rng.choice(MODEL_MONTHS)
        chosen = self.some([(dt, c) for c in MODEL_COUNTRIES])
        if kind == "drop":
            chosen = [pair for pair in chosen if pair in base.live]
            self.w.commit(lambda tx: [DropPartitions(table, tuple(key(table, *pair) for pair in chosen))])
            for pair in chosen:
                base.drop(pair)
        elif kind == "wipe":
            everything = KeyRange(key(table, dt, "a"), key(table, dt, "z"))
            seq = self.w.commit(lambda tx: [change(tx, table, overwrite=True, wipes=(everything,))])
            # What retention took from the month is replaced, too.
            for pair in [pair for pair in base.known() if pair[0] == dt]:
                base.wipe(pair, seq)
        elif kind == "add":
            chosen = [pair for pair in chosen if pair not in base.live]
            seq = self.w.commit(lambda tx: [AddPartitions(table, tuple(map(PartitionWrite, chosen)))])
            for pair in chosen:
                base.add(pair, seq)
        else:
            seq = self.w.commit(lambda tx: [change(tx, table, *chosen, overwrite=kind == "overwrite")])
            for pair in chosen:
                base.write(pair, Content(("",)), seq)

    def rollup_step(self, name: str) -> None:
        rng, table, parts = self.rng, self.tables[name], self.parts[name]
        kind = rng.choices(["overwrite", "into", "add", "drop"], [8, 2, 1, 2])[0]
        when = rng.choice(MODEL_QUARTERS)
        chosen: list[Key] = [(when, ALL)] if name == "plain" else self.some([(when, c) for c in MODEL_COUNTRIES])
        if kind in ("drop", "add"):
            chosen = [pair for pair in chosen if (pair in parts.live) == (kind == "drop")]
        values = [pair[: len(table.partition_columns)] for pair in chosen]
        if kind == "drop":
            self.w.commit(lambda tx: [DropPartitions(table, tuple(key(table, *v) for v in values))])
            for pair in chosen:
                parts.drop(pair)
        elif kind == "add":
            self.w.commit(lambda tx: [AddPartitions(table, tuple(map(PartitionWrite, values)))])
            for pair in chosen:
                parts.put(pair, ADDED)
        else:
            with self.w.catalog.begin() as tx:
                sources = [self.tables["base"].id] if rng.random() < 0.8 else []
                computed = SHAPES[name].computed(self.base, when, tx.snapshot.sequence) if sources else BLIND
                if rng.random() < 0.4:
                    self.base_step()  # unseen by this writer
                tx.commit([change(tx, table, *values, overwrite=kind == "overwrite")], sources)
            for pair in chosen:
                before = parts.live.get(pair, Content())
                appended = kind == "into" and before.files
                parts.put(pair, before.appended(("",)) if appended else computed)

    def compare(self) -> None:
        base, line = self.base, self.w.line
        dropped = {dt for dt, _ in base.dropped}
        complete = {dt for dt in MODEL_MONTHS if {(dt, "us"), (dt, "eu")} <= base.live.keys()}
        # What is left of a month of which a country was dropped does not say what was there.
        assert set(line("base", P.MONTHLY)) == complete - dropped
        assert set(line("base", P.MONTHLY, "retired")) == dropped
        kinds = {FRESH: "timeline", "outdated": "outdated", "unproven": "unproven", "incomplete": "incomplete"}
        for name, parts in self.parts.items():
            lines = {state: line(name, P.QUARTERLY, kind) for state, kind in kinds.items()}
            for when in MODEL_QUARTERS:
                states = [state for state in kinds if when in lines[state]]
                assert states == [s for s in [SHAPES[name].state(base, parts, when)] if s != ABSENT], (name, when)
                self.seen.update(states)
        with self.w.catalog.begin() as tx:
            tx.commit([RefreshTimelines(tx.snapshot.fact("f"))])
            assert tx.differences == ()


@pytest.mark.share(8)
@pytest.mark.parametrize(("catalog_url", "seed"), seeds(8), indirect=["catalog_url"])
def test_random_histories_of_countries(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    history = Random(tmp_path, seed, catalog_url)
    for _ in range(80 if catalog_url is None else 8):
        history.step()
        history.compare()
    assert catalog_url is not None or all(history.seen[kind] for kind in ("outdated", "unproven", "incomplete"))


def test_random_histories_find_a_rule_that_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That a rollup lacks a part which the base has, and which it never had itself."""
    monkeypatch.setattr(PeriodPartitions, "_lacks_a_part", lambda *args: False)

    def histories() -> None:
        for seed in range(8):
            test_random_histories_of_countries(tmp_path / str(seed), None, seed)

    with pytest.raises(AssertionError):
        histories()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_long_random_histories_of_countries(tmp_path: Path, seed: int) -> None:
    history = Random(tmp_path, seed)
    for _ in range(250):
        history.step()
        history.compare()


def test_hours_between_the_days_of_a_table_are_no_parts_of_days(w: Warehouse) -> None:
    # By key, the hours of a day stand between it and the next day. The second day lacks a part that its hours have.
    both = w.create("both", PARTED)
    make_fact(w, StorageTable("both", "t", {P.HOURLY: layout(P.HOURLY), P.DAILY: layout(P.DAILY)}, False, BOTH))
    days = ["2013-01-01", "2013-01-02", "2013-01-03"]
    for day in days:
        put(w, both, f"{day}-05", "us", "eu")
    values = [(day, country) for day in days for country in ("us", "eu") if (day, country) != (days[1], "eu")]
    hours = [KeyRange(key(both, f"{day}-00", ""), key(both, f"{day}-24", "")) for day in days]
    with w.catalog.begin() as tx:
        tx.commit([change(tx, both, *values, overwrite=True)], {both.id: hours})
    assert status(w, "both") == ([days[0], days[2]], [])
    assert w.fresh("both", P.HOURLY) == [f"{day}-05" for day in days]


def test_partitions_that_were_dropped_before_the_fact_need_name_no_time(w: Warehouse) -> None:
    # By key, the first of them stands between both days.
    hours, days = w.create("hours", PARTED), w.create("days", PARTED)
    for table, values in ((hours, ("2013-01-01-00x", "later")), (days, ("2013-01-01x", "later"))):
        for value in values:
            put(w, table, value, "us")
            drop(w, table, value, "us")
    make_fact(w, parted("hours", P.HOURLY), parted("days", P.DAILY))
    for day in ("2013-01-01", "2013-01-02"):
        put(w, hours, f"{day}-00", "us", "eu")
    with w.catalog.begin() as tx:
        values = [(day, country) for day in ("2013-01-01", "2013-01-02") for country in ("us", "eu")]
        tx.commit([change(tx, days, *values, overwrite=True)], [hours.id])
    assert status(w, "days") == (["2013-01-01", "2013-01-02"], [])
    put(w, hours, "2013-01-02-01", "us", "eu")
    assert status(w, "days") == (["2013-01-01"], ["2013-01-02"])
