"""The origins of proofs: rollups of TRUSTED and of accepted rollups are as right as those, and follow them.

Months are the base, quarters are computed from months, years from quarters.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from fact_model import ALL, BLIND, FRESH, OUTDATED, UNKNOWN, UNPROVEN, Base, Content, Partitions, Shape, Word
from postgres import seeds

from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.model.changes import (
    AcceptPartitions,
    AlterStorages,
    DropObject,
    ListedPartition,
    MovePartitions,
    NoteFiles,
    PartitionMove,
    RefreshTimelines,
    RejectPartitions,
    SetTrusted,
    TruncatePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Storage, Table
from rewriter.catalog.model.origins import Origin, OriginKind
from rewriter.catalog.model.proofs import BY_COMPARISON

from .support import P, Warehouse, key, layout, write

Tables = dict[str, Table]
PERIODS = {"base": [P.MONTHLY], "quarters": [P.QUARTERLY], "years": [P.YEARLY]}
KINDS = ("timeline", "outdated", "unproven", "incomplete")
MONTHS = [f"2013-{month:02d}" for month in range(1, 13)]
QUARTERS = [layout(P.QUARTERLY).values(172 + number)[0] for number in range(4)]
YEAR = "2013"


@pytest.fixture
def tables(w: Warehouse) -> Tables:
    """Creates a fact of months, quarters and years, each in a table of its own, over a whole base."""
    tables = {name: w.create(name) for name in PERIODS}
    w.create_fact(PERIODS)
    w.into(tables["base"], *MONTHS, sources=[])
    return tables


def states(w: Warehouse, name: str = "years") -> dict[str, str]:
    """Returns the state of each existing rollup period. Each has one, and a rebuild has the same result."""
    (period,) = PERIODS[name]
    with w.catalog.begin() as tx:
        tx.commit([RefreshTimelines(tx.snapshot.fact("f"))])
        assert tx.differences == ()
    lines = {kind: w.line(name, period, kind) for kind in KINDS}
    told = [(when, kind) for kind, line in lines.items() for when in line]
    assert len(told) == len(dict(told))
    return dict(told)


def trust(w: Warehouse, table: Table, trusted: bool) -> None:
    w.commit(lambda tx: [SetTrusted(tx.snapshot.fact("f"), table, trusted)])


def accept(w: Warehouse, table: Table, *whens: str) -> int:
    return w.commit(lambda tx: [AcceptPartitions(table, tuple(key(table, when) for when in whens))])


@pytest.fixture
def resting(w: Warehouse, tables: Tables) -> Tables:
    """The same with quarters that no query computed, which are TRUSTED, and a year that was computed from them."""
    w.overwrite(tables["quarters"], *QUARTERS, sources=[])
    trust(w, tables["quarters"], True)
    w.overwrite(tables["years"], YEAR, sources=[tables["quarters"]])
    assert states(w) == {YEAR: "timeline"}
    return tables


# --- words that are withdrawn --------------------------------------------------------------------------------------


def test_what_was_computed_from_a_trusted_table_follows_its_declaration(w: Warehouse, resting: Tables) -> None:
    trust(w, resting["quarters"], False)
    assert states(w) == {YEAR: "unproven"}
    trust(w, resting["quarters"], True)
    assert states(w) == {YEAR: "timeline"}
    w.overwrite(resting["years"], YEAR, sources=[resting["base"]])
    trust(w, resting["quarters"], False)
    assert states(w) == {YEAR: "timeline"}


def test_what_was_computed_from_a_partition_that_differs_follows(w: Warehouse, resting: Tables) -> None:
    quarters = resting["quarters"]
    w.commit(lambda tx: [RejectPartitions(quarters, (key(quarters, QUARTERS[0]),), BY_COMPARISON)])
    assert states(w) == {YEAR: "unproven"}
    w.overwrite(resting["years"], YEAR, sources=[resting["base"]])
    assert states(w) == {YEAR: "timeline"}


def test_what_rests_on_a_word_is_recorded(w: Warehouse, resting: Tables) -> None:
    snapshot, quarters = w.catalog.snapshot(), resting["quarters"]
    ((_, (origin,)),) = snapshot.origins(resting["years"]).items()
    year = P.YEARLY.ordinal(P.QUARTERLY.start(172))
    times = (P.YEARLY.start(year), P.YEARLY.end(year))
    assert origin == Origin(OriginKind.TRUSTED, quarters.id, int(P.QUARTERLY), origin.as_of, *times)
    assert snapshot.words([origin]) == ("on the word of the owner of quarters (TRUSTED)",)
    trust(w, quarters, False)
    (reason,) = w.catalog.snapshot().doubts(resting["years"], [KeyRange.of_key(key(resting["years"], YEAR))])
    assert reason.startswith("it rests on the word of the owner of quarters (TRUSTED)")


def test_a_trusted_rollup_that_was_computed_from_its_own_table_stays_trusted(w: Warehouse, resting: Tables) -> None:
    quarters = resting["quarters"]
    w.overwrite(quarters, *QUARTERS, sources=[quarters])
    assert w.fresh("quarters", P.QUARTERLY) == QUARTERS
    w.overwrite(quarters, QUARTERS[0], sources=[])
    assert w.fresh("quarters", P.QUARTERLY) == QUARTERS
    w.commit(lambda tx: [RefreshTimelines(tx.snapshot.fact("f"))])
    assert w.fresh("quarters", P.QUARTERLY) == QUARTERS


def without(w: Warehouse, name: str) -> None:
    """Takes a table out of the fact."""
    fact = w.catalog.snapshot().fact("f")
    kept = tuple(table for table in fact.tables if table.table != name)
    w.commit(lambda tx: [AlterStorages(tx.snapshot.fact("f"), (Storage("default", kept),))])


def test_what_rests_on_a_table_that_leaves_the_fact_is_unproven(w: Warehouse, resting: Tables) -> None:
    before = w.catalog.snapshot().fact("f").storages
    without(w, "quarters")
    assert states(w) == {YEAR: "unproven"}
    untrusted = Storage("default", tuple(replace(table, trusted=False) for table in before[0].tables))
    w.commit(lambda tx: [AlterStorages(tx.snapshot.fact("f"), (untrusted,))])
    assert states(w) == {YEAR: "unproven"}
    trust(w, resting["quarters"], True)
    assert states(w) == {YEAR: "timeline"}


def test_the_word_passes_on(w: Warehouse) -> None:
    """Months from trusted days, quarters from months, years from quarters: all of them rest on the days."""
    periods = {"hours": [P.HOURLY], "days": [P.DAILY], "months": [P.MONTHLY], "quarters": [P.QUARTERLY]}
    tables = {name: w.create(name) for name in periods}
    w.create_fact(periods, trusted=["days"])
    days = [f"2013-01-{day:02d}" for day in range(1, 32)]
    w.into(tables["hours"], "2013-01-01-00", sources=[])
    w.overwrite(tables["days"], *days, sources=[])
    w.overwrite(tables["months"], MONTHS[0], sources=[tables["days"]])
    w.overwrite(tables["quarters"], QUARTERS[0], sources=[tables["months"]])
    assert w.fresh("months", P.MONTHLY) == [MONTHS[0]]
    assert w.line("quarters", P.QUARTERLY, "incomplete") == [QUARTERS[0]]
    trust(w, tables["days"], False)
    assert w.unproven("months", P.MONTHLY) == [MONTHS[0]]
    assert w.unproven("quarters", P.QUARTERLY) == [QUARTERS[0]]
    assert [finding for finding in findings(w.catalog.database) if "cannot be read" not in finding.problem] == []


@pytest.mark.parametrize("change", ["overwrite", "drop", "wipe", "truncate", "append", "rename", "add after drop"])
def test_what_rests_on_a_partition_that_changes_is_unproven(w: Warehouse, resting: Tables, change: str) -> None:
    quarters = resting["quarters"]
    third = key(quarters, QUARTERS[2])
    match change:
        case "overwrite":
            w.overwrite(quarters, QUARTERS[2], sources=[])
        case "append":
            w.into(quarters, QUARTERS[2], sources=[])
        case "drop" | "add after drop":
            w.drop(quarters, QUARTERS[2])
            if change != "drop":
                w.add(quarters, QUARTERS[2])
        case "wipe":
            alone = KeyRange.of_key(third)
            w.commit(lambda tx: [write(tx, quarters, overwrite=True, wipes=(alone,))])
        case "truncate":
            w.commit(lambda tx: [TruncatePartitions(quarters, (third,))])
        case "rename":
            later = layout(P.QUARTERLY).values(180)[0]
            w.commit(lambda tx: [MovePartitions(quarters, quarters, (PartitionMove(third, (later,)),))])
    assert states(w) == {YEAR: "unproven"}


def test_a_partition_of_another_time_concerns_nothing(w: Warehouse, resting: Tables) -> None:
    w.overwrite(resting["quarters"], layout(P.QUARTERLY).values(176)[0], sources=[])
    assert states(w) == {YEAR: "timeline"}


def test_a_partition_that_changes_while_a_rollup_is_computed_from_it(w: Warehouse, resting: Tables) -> None:
    with w.catalog.begin() as tx:
        change = write(tx, resting["years"], YEAR, overwrite=True)
        w.drop(resting["quarters"], QUARTERS[1])
        tx.commit([change], [resting["quarters"].id])
    assert states(w) == {YEAR: "unproven"}


def test_what_rests_on_a_word_may_become_outdated(w: Warehouse, resting: Tables) -> None:
    w.into(resting["base"], MONTHS[3], sources=[])
    assert states(w) == {YEAR: "outdated"}
    trust(w, resting["quarters"], False)
    assert states(w) == {YEAR: "unproven"}
    accept(w, resting["years"], YEAR)
    assert states(w) == {YEAR: "timeline"}
    trust(w, resting["quarters"], True)
    trust(w, resting["quarters"], False)
    assert states(w) == {YEAR: "timeline"}


# --- accepted rollups ----------------------------------------------------------------------------------------------


def test_what_rests_on_an_accepted_rollup_names_the_acceptance(w: Warehouse, tables: Tables) -> None:
    quarters, years = tables["quarters"], tables["years"]
    w.overwrite(quarters, *QUARTERS, sources=[])
    accepted = accept(w, quarters, *QUARTERS)
    w.overwrite(years, YEAR, sources=[quarters])
    assert states(w) == {YEAR: "timeline"}
    ((_, (origin,)),) = w.catalog.snapshot().origins(years).items()
    assert (origin.kind, origin.table, origin.accepted) == (OriginKind.ACCEPTED, quarters.id, accepted)
    w.overwrite(quarters, QUARTERS[0], sources=[tables["base"]])
    assert states(w) == {YEAR: "unproven"}


def test_files_of_an_accepted_rollup_that_change_concern_what_rests_on_it(w: Warehouse) -> None:
    tables = {name: w.create(name, external=name == "quarters") for name in PERIODS}
    w.create_fact(PERIODS)
    w.into(tables["base"], *MONTHS, sources=[])
    quarters = tables["quarters"]
    w.add(quarters, *QUARTERS)
    keys = tuple(key(quarters, when) for when in QUARTERS)
    w.commit(lambda tx: [AcceptPartitions(quarters, keys, dict.fromkeys(keys, "a"))])
    w.overwrite(tables["years"], YEAR, sources=[quarters])
    assert states(w) == {YEAR: "timeline"}
    w.commit(lambda tx: [NoteFiles(quarters, (ListedPartition(keys[1], "b", "b"),))])
    assert states(w) == {YEAR: "unproven"}


# --- copies of another fact ----------------------------------------------------------------------------------------


@pytest.mark.share(1)
def test_a_copy_is_outdated_by_the_base_that_it_was_copied_from(w: Warehouse, tables: Tables) -> None:
    base, copies = tables["base"], w.create("copies")
    w.create_fact({"copies": [P.MONTHLY]}, name="g")
    first, last = P.MONTHLY.start(516), P.MONTHLY.start(528)
    with w.catalog.begin() as tx:
        seen = tx.snapshot.sequence
        origin = Origin(OriginKind.COPIED, base.id, int(P.MONTHLY), seen, first, last)
        change = replace(write(tx, copies, *MONTHS, overwrite=True), origins=(origin,), keeps_time=True)
        tx.commit([change], [base.id])
    w.drop(base, MONTHS[5])
    assert w.fresh("copies", P.MONTHLY) == MONTHS
    w.into(base, MONTHS[2], sources=[])
    assert w.outdated("copies", P.MONTHLY) == [MONTHS[2]]
    w.commit(lambda tx: [DropObject(tx.snapshot.fact("f"))])
    assert w.outdated("copies", P.MONTHLY) == [MONTHS[2]]
    assert [finding for finding in findings(w.catalog.database) if "cannot be read" not in finding.problem] == []
    w.overwrite(copies, MONTHS[2], sources=[])
    assert w.fresh("copies", P.MONTHLY) == MONTHS


# --- transactions of several statements, upgrades ------------------------------------------------------------------


def test_an_upgraded_catalog_knows_what_was_computed_from_a_trusted_table(w: Warehouse, resting: Tables) -> None:
    w.catalog.close()
    w.sql("DROP INDEX partitions_with_origins")
    w.sql("ALTER TABLE partitions DROP COLUMN origins")
    w.sql("UPDATE schema_version SET version = 20")
    w.catalog = w.opened()
    assert states(w) == {YEAR: "timeline"}
    trust(w, resting["quarters"], False)
    assert states(w) == {YEAR: "unproven"}
    w.catalog.close()


# --- random histories ----------------------------------------------------------------------------------------------

QUARTER = Shape(lambda when: MONTHS[3 * QUARTERS.index(str(when)) :][:3])
WHOLE_YEAR = Shape(lambda when: MONTHS)


def computed_year(base: Base, quarters: Partitions, promised: bool, seen_at: int) -> Content:
    """Returns a year that is computed from all quarters that exist."""
    found = {when: FRESH if promised else QUARTER.state(base, quarters, when) for when, _ in quarters.live}
    if UNPROVEN in found.values():
        return BLIND
    read = {month for when, state in found.items() if state != OUTDATED for month in QUARTER.inside(when)}
    if OUTDATED in found.values() or any(month not in read for month, _ in base.known()):
        return Content(("",), UNKNOWN)
    words = {word for when in found for word in quarters.live[when, ALL].words}
    words |= {Word(None, seen_at)} if promised else set()
    whole = set(found.values()) == {FRESH} and len(found) == len(QUARTERS)
    return Content(("",), seen_at, "" if whole else "incomplete", tuple(Word(word.accepted, seen_at) for word in words))


@pytest.mark.share(3)
@pytest.mark.parametrize(("catalog_url", "seed"), seeds(6), indirect=["catalog_url"])
def test_random_words_agree_with_a_model(w: Warehouse, tables: Tables, seed: int) -> None:
    """Quarters from months or from nothing, years from quarters, and words that are given and withdrawn."""
    rng = random.Random(seed)
    base, quarters, years = (tables[name] for name in PERIODS)
    months, rollups, whole_years = Base(), Partitions(), Partitions()
    for month in MONTHS:
        months.write((month, ALL), Content(("",)), 1)
    changes: list[int] = []
    promised, seen = False, set[str]()
    actions = ["into", "gone", "roll", "roll", "blind", "accept", "trust", "fill", "year", "year", "year"]
    for step in range(60 if w.url is None else 8):
        month, when = (rng.choice(MONTHS), ALL), (rng.choice(QUARTERS), ALL)
        match rng.choice(actions):
            case "into":
                months.write(month, Content(("",)), w.into(base, month[0], sources=[]))
            case "roll":
                seen_at = w.catalog.snapshot().sequence
                changes.append(w.overwrite(quarters, when[0], sources=[base]))
                rollups.put(when, QUARTER.computed(months, when[0], seen_at))
            case "fill":
                seen_at = w.catalog.snapshot().sequence
                changes.append(w.overwrite(quarters, *QUARTERS, sources=[base]))
                for quarter in QUARTERS:
                    rollups.put((quarter, ALL), QUARTER.computed(months, quarter, seen_at))
            case "blind":
                changes.append(w.overwrite(quarters, when[0], sources=[]))
                rollups.put(when, BLIND)
            case "accept" if when in rollups.live:
                accepted = accept(w, quarters, str(when[0]))
                changes.append(accepted)
                rollups.put(when, Content(("",), accepted, words=(Word(accepted, accepted),)))
            case "gone" if when in rollups.live:
                changes.append(w.drop(quarters, when[0]))
                rollups.drop(when)
            case "trust":
                promised = not promised
                trust(w, quarters, promised)
            case "year" if rollups.live:
                seen_at = w.catalog.snapshot().sequence
                w.overwrite(years, YEAR, sources=[quarters])
                whole_years.put((YEAR, ALL), computed_year(months, rollups, promised, seen_at))
        content = whole_years.live.get((YEAR, ALL))
        withdrawn = content is not None and any(
            (word.accepted is None and not promised) or any(commit > word.as_of for commit in changes)
            for word in content.words
        )
        if content is None:
            continue
        state = UNPROVEN if withdrawn else WHOLE_YEAR.state(months, whole_years, YEAR)
        assert states(w) == {YEAR: "timeline" if state == FRESH else state}, (seed, step)
        seen.add(state + (" on a word" if content.words else ""))
    assert w.url is not None or {"outdated", "unproven on a word"} & seen
