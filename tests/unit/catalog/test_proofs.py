"""Proofs of rollup partitions, and unproven or incomplete ones. Months are the base of quarters and years.

Three months make a quarter complete. Tests of freshness write a few hours of a day, which never do.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import sqlalchemy as sa
from fact_model import ALL, BLIND, FRESH, Base, Content, Partitions, Shape
from postgres import seeds

from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.maintenance.dump import dump, restore
from rewriter.catalog.model.changes import (
    AcceptPartitions,
    DropObject,
    ListedPartition,
    MovePartitions,
    NoteFiles,
    PartitionMove,
    RefreshTimelines,
    SetTrusted,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.proofs import (
    BEFORE_FACT,
    BY_ADD_PARTITION,
    BY_EXCHANGE,
    BY_OTHER_FILES,
    BY_RENAME,
    FROM_UNPROVEN,
    NO_BASE_READ,
)
from rewriter.catalog.store import schema
from rewriter.errors import ConflictError, OperationalError

from .support import P, Warehouse, key, layout, write

Tables = dict[str, Table]
PERIODS = {"base": [P.MONTHLY], "quarters": [P.QUARTERLY], "years": [P.YEARLY]}
KINDS = ("timeline", "outdated", "unproven", "incomplete")
MONTHS = [f"2013-{month:02d}" for month in range(1, 7)]
QUARTERS = [layout(P.QUARTERLY).values(172 + number)[0] for number in range(2)]
FIRST, SECOND = QUARTERS


@pytest.fixture
def tables(w: Warehouse) -> Tables:
    """Creates a fact of months, quarters and years, each in a table of its own."""
    tables = {name: w.create(name) for name in PERIODS}
    w.create_fact(PERIODS)
    return tables


def states(w: Warehouse, name: str = "quarters") -> dict[str, str]:
    """Returns the state of each existing rollup period. Each has one, and a rebuild has the same result."""
    (period,) = PERIODS[name]
    with w.catalog.begin() as tx:
        tx.commit([RefreshTimelines(tx.snapshot.fact("f"))])
        assert tx.differences == ()
    lines = {kind: w.line(name, period, kind) for kind in KINDS}
    told = [(when, kind) for kind, line in lines.items() for when in line]
    assert len(told) == len(dict(told))
    return dict(told)


def reasons(w: Warehouse, table: Table) -> tuple[str, ...]:
    """Returns the doubts of a table's partitions, from snapshots."""
    return w.catalog.snapshot().doubts(table, [KeyRange.of_prefix(key(table, "2")[:-1])])


#: The relation of quarters to months.
QUARTER = Shape(lambda when: MONTHS[:3] if when == FIRST else MONTHS[3:])


def load(w: Warehouse, base: Table, months: Sequence[str] = tuple(MONTHS)) -> None:
    w.into(base, *months, sources=[])


# --- proven --------------------------------------------------------------------------------------------------------


def test_what_was_computed_from_a_whole_base_is_fresh(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"])
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    w.into(tables["quarters"], SECOND, sources=[tables["base"]])
    assert states(w) == {FIRST: "timeline", SECOND: "timeline"}
    assert reasons(w, tables["quarters"]) == ()


# --- unproven ------------------------------------------------------------------------------------------------------


def test_without_sources_nothing_is_proven(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"])
    second = w.create("other")
    w.overwrite(tables["quarters"], FIRST, sources=[])
    w.overwrite(tables["quarters"], SECOND, sources=[second])
    assert states(w) == {FIRST: "unproven", SECOND: "unproven"}
    assert reasons(w, tables["quarters"]) == (NO_BASE_READ,)
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    assert states(w) == {FIRST: "timeline", SECOND: "unproven"}


def test_what_add_partition_registers_is_unproven(w: Warehouse, tables: Tables) -> None:
    w.add(tables["quarters"], FIRST)
    assert states(w) == {FIRST: "unproven"}
    assert reasons(w, tables["quarters"]) == (BY_ADD_PARTITION,)


def test_the_reason_that_a_writer_gives_is_told(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"])
    doubted = "its query calls rand()"
    with w.catalog.begin() as tx:
        change = write(tx, tables["quarters"], FIRST, overwrite=True, doubt=doubted)
        tx.commit([change], [tables["base"].id])
    w.overwrite(tables["quarters"], SECOND, sources=[tables["base"]])
    assert states(w) == {FIRST: "unproven", SECOND: "timeline"}
    assert reasons(w, tables["quarters"]) == (doubted,)
    # A base table asks for no proof.
    w.commit(lambda tx: [write(tx, tables["base"], "2014-01", doubt=doubted)])
    assert w.line("base", P.MONTHLY) == [*MONTHS, "2014-01"]


def test_what_is_exchanged_from_outside_the_fact_is_unproven(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"])
    stage = w.create("stage")
    w.overwrite(stage, FIRST, sources=[tables["base"]])
    w.catalog.exchange_partitions("quarters", "stage", [(FIRST,)])
    assert states(w) == {FIRST: "unproven"}
    assert reasons(w, tables["quarters"]) == (BY_EXCHANGE,)


def test_what_leaves_the_fact_and_comes_back_is_unproven(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"])
    w.create("archive")
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    w.catalog.exchange_partitions("archive", "quarters", [(FIRST,)])
    assert states(w) == {}
    w.catalog.exchange_partitions("quarters", "archive", [(FIRST,)])
    assert states(w) == {FIRST: "unproven"}


def test_another_name_proves_nothing(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"])
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    move = PartitionMove(key(tables["quarters"], FIRST), (SECOND,))
    w.commit(lambda tx: [MovePartitions(tables["quarters"], tables["quarters"], (move,))])
    assert states(w) == {SECOND: "unproven"}
    assert reasons(w, tables["quarters"]) == (BY_RENAME,)


def test_what_was_written_outside_of_facts_is_unproven(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"])
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    w.commit(lambda tx: [DropObject(tx.snapshot.fact("f"))])
    w.overwrite(tables["quarters"], SECOND, sources=[tables["base"]])
    w.create_fact(PERIODS)
    # The fact means the same as the dropped one, and the second quarter was written in between.
    assert states(w) == {FIRST: "timeline", SECOND: "unproven"}
    assert BEFORE_FACT in reasons(w, tables["quarters"])


def test_what_came_of_unproven_rollups_is_unproven(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"])
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    w.overwrite(tables["quarters"], SECOND, sources=[])
    w.overwrite(tables["years"], "2013", sources=[tables["quarters"]])
    assert states(w, "years") == {"2013": "unproven"}
    assert reasons(w, tables["years"]) == (FROM_UNPROVEN,)


def test_a_base_write_leaves_unproven_what_was(w: Warehouse, tables: Tables) -> None:
    w.overwrite(tables["quarters"], FIRST, sources=[])
    load(w, tables["base"])
    assert states(w) == {FIRST: "unproven"}
    w.drop(tables["quarters"], FIRST)
    assert states(w) == {}


# --- incomplete ----------------------------------------------------------------------------------------------------


def test_the_missing_base_periods_complete_a_rollup(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"], MONTHS[:1])
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    before = w.catalog.snapshot()
    w.add(tables["base"], MONTHS[1])
    assert states(w) == {FIRST: "incomplete"}
    w.add(tables["base"], MONTHS[2])
    assert states(w) == {FIRST: "timeline"}
    assert before.incomplete("quarters", P.QUARTERLY, "t").count == 1
    assert before.timeline("quarters", P.QUARTERLY, "t").is_empty
    # It is judged by events again, and what is made of it is proven.
    w.add(tables["base"], *MONTHS[3:], *(f"2013-{month:02d}" for month in range(7, 13)))
    w.overwrite(tables["years"], "2013", sources=[tables["quarters"], tables["base"]])
    assert states(w, "years") == {"2013": "timeline"}
    w.into(tables["base"], MONTHS[2])
    assert (states(w), states(w, "years")) == ({FIRST: "outdated"}, {"2013": "outdated"})


def test_one_commit_may_complete_what_it_writes(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"], MONTHS[:2])
    with w.catalog.begin() as tx:
        change = write(tx, tables["quarters"], FIRST, overwrite=True)
        w.add(tables["base"], MONTHS[2])
        tx.commit([change], [tables["base"].id])
    assert states(w) == {FIRST: "timeline"}


def test_content_outdates_what_was_incomplete(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"], MONTHS[:2])
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    assert states(w) == {FIRST: "incomplete"}
    w.into(tables["base"], MONTHS[2])
    assert states(w) == {FIRST: "outdated"}
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    assert states(w) == {FIRST: "timeline"}


def test_what_retention_dropped_was_there(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"], MONTHS[:2])
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    w.drop(tables["base"], MONTHS[0])
    assert states(w) == {FIRST: "incomplete"}
    w.add(tables["base"], MONTHS[2])
    assert states(w) == {FIRST: "timeline"}


def test_an_external_base_completes_nothing(w: Warehouse) -> None:
    tables = {name: w.create(name, external=name == "base") for name in PERIODS}
    w.create_fact(PERIODS)
    w.add(tables["base"], *MONTHS[:2])
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    assert states(w) == {FIRST: "incomplete"}
    w.add(tables["base"], MONTHS[2])
    assert states(w) == {FIRST: "outdated"}
    w.overwrite(tables["quarters"], FIRST, sources=[tables["base"]])
    assert states(w) == {FIRST: "timeline"}


def test_what_came_of_incomplete_rollups_is_incomplete(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"], MONTHS[:5])
    w.overwrite(tables["quarters"], FIRST, SECOND, sources=[tables["base"]])
    w.overwrite(tables["years"], "2013", sources=[tables["quarters"]])
    assert states(w) == {FIRST: "timeline", SECOND: "incomplete"}
    assert states(w, "years") == {"2013": "incomplete"}


# --- TRUSTED -------------------------------------------------------------------------------------------------------


def trust(w: Warehouse, table: Table, trusted: bool) -> None:
    w.commit(lambda tx: [SetTrusted(tx.snapshot.fact("f"), table, trusted)])


def test_a_promise_is_given_and_taken_back(w: Warehouse, tables: Tables) -> None:
    base, quarters = tables["base"], tables["quarters"]
    load(w, base, MONTHS[:5])
    w.overwrite(quarters, FIRST, SECOND, sources=[base])
    w.overwrite(tables["years"], "2013", sources=[])
    before = {FIRST: "timeline", SECOND: "incomplete"}
    assert (states(w), states(w, "years")) == (before, {"2013": "unproven"})
    trust(w, quarters, True)
    trust(w, tables["years"], True)
    assert states(w) == {FIRST: "timeline", SECOND: "timeline"}
    assert states(w, "years") == {"2013": "timeline"}
    trust(w, quarters, False)
    trust(w, tables["years"], False)
    assert (states(w), states(w, "years")) == (before, {"2013": "unproven"})


def test_what_happened_under_a_promise_counts_once_it_is_gone(w: Warehouse, tables: Tables) -> None:
    base, quarters = tables["base"], tables["quarters"]
    load(w, base)
    w.overwrite(quarters, FIRST, SECOND, sources=[base])
    trust(w, quarters, True)
    w.into(base, MONTHS[0])
    w.overwrite(quarters, SECOND, sources=[])
    assert states(w) == {FIRST: "timeline", SECOND: "timeline"}
    trust(w, quarters, False)
    assert states(w) == {FIRST: "outdated", SECOND: "unproven"}


# --- ACCEPT --------------------------------------------------------------------------------------------------------


def test_what_was_compared_is_fresh(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"])
    w.overwrite(tables["quarters"], FIRST, SECOND, sources=[])
    w.commit(lambda tx: [AcceptPartitions(tables["quarters"], (key(tables["quarters"], FIRST),))])
    assert states(w) == {FIRST: "timeline", SECOND: "unproven"}
    assert reasons(w, tables["quarters"]) == (NO_BASE_READ,)
    assert [partition.values[0] for partition in w.catalog.snapshot().partitions(tables["quarters"])] == [FIRST, SECOND]
    w.into(tables["base"], MONTHS[0])
    assert states(w) == {FIRST: "outdated", SECOND: "unproven"}


@pytest.fixture
def outside(w: Warehouse) -> Tables:
    """Creates the same fact with external quarters, two of which are registered over a whole base."""
    tables = {name: w.create(name, external=name == "quarters") for name in PERIODS}
    w.create_fact(PERIODS)
    load(w, tables["base"])
    w.add(tables["quarters"], FIRST, SECOND)
    return tables


def accept_files(w: Warehouse, quarters: Table, **files: str) -> None:
    """Accepts both quarters. ``files`` are the digests of the ``first`` and the ``second``."""
    keys = {"first": key(quarters, FIRST), "second": key(quarters, SECOND)}
    digests = {keys[name]: digest for name, digest in files.items()}
    w.commit(lambda tx: [AcceptPartitions(quarters, tuple(keys.values()), digests)])


def list_files(w: Warehouse, quarters: Table, before: str | None, after: str | None) -> None:
    """Lists the files of both quarters."""
    listed = tuple(ListedPartition(key(quarters, when), before, after) for when in (FIRST, SECOND))
    w.commit(lambda tx: [NoteFiles(quarters, listed)])


def test_accepted_files_that_change_leave_the_rollup_unproven(w: Warehouse, outside: Tables) -> None:
    quarters = outside["quarters"]
    list_files(w, quarters, "b", "b")
    assert reasons(w, quarters) == (BY_ADD_PARTITION,)
    accept_files(w, quarters, first="a", second="b")
    for _ in range(2):
        list_files(w, quarters, "b", "b")
        assert states(w) == {FIRST: "unproven", SECOND: "timeline"}
        assert reasons(w, quarters) == (BY_OTHER_FILES,)
    w.into(outside["base"], *MONTHS)
    assert states(w) == {FIRST: "unproven", SECOND: "outdated"}
    list_files(w, quarters, "a", "a")
    assert states(w) == {FIRST: "unproven", SECOND: "unproven"}
    accept_files(w, quarters, first="a", second="a")
    assert states(w) == {FIRST: "timeline", SECOND: "timeline"}
    list_files(w, quarters, "a", "a")
    assert states(w) == {FIRST: "timeline", SECOND: "timeline"}


@pytest.mark.parametrize(("before", "after"), [("a", "b"), (None, None), (None, "a")])
def test_accepted_files_that_are_written_leave_the_rollup_unproven(
    w: Warehouse, outside: Tables, before: str | None, after: str | None
) -> None:
    accept_files(w, outside["quarters"], first="a", second="a")
    list_files(w, outside["quarters"], before, after)
    assert states(w) == {FIRST: "unproven", SECOND: "unproven"}


def test_only_our_own_write_concerns_a_rollup_that_was_accepted_without_a_digest(w: Warehouse, outside: Tables) -> None:
    accept_files(w, outside["quarters"])
    list_files(w, outside["quarters"], "a", "a")
    list_files(w, outside["quarters"], "a", "b")
    assert states(w) == {FIRST: "timeline", SECOND: "timeline"}
    list_files(w, outside["quarters"], None, None)
    assert states(w) == {FIRST: "unproven", SECOND: "unproven"}


def test_files_that_an_earlier_fact_accepted_prove_nothing(w: Warehouse, outside: Tables) -> None:
    quarters = outside["quarters"]
    accept_files(w, quarters, first="a", second="b")
    w.commit(lambda tx: [DropObject(tx.snapshot.fact("f"))])
    w.create_fact(PERIODS)
    for _ in range(2):
        assert states(w) == {FIRST: "unproven", SECOND: "unproven"}
        list_files(w, quarters, "b", "b")


def test_what_another_wrote_meanwhile_is_not_accepted(w: Warehouse, tables: Tables) -> None:
    quarters = tables["quarters"]
    load(w, tables["base"])
    w.overwrite(quarters, FIRST, SECOND, sources=[])
    with w.catalog.begin() as tx:
        w.overwrite(quarters, SECOND, sources=[])
        with pytest.raises(ConflictError):
            tx.commit([AcceptPartitions(quarters, (key(quarters, FIRST), key(quarters, SECOND)))])
    assert states(w) == {FIRST: "unproven", SECOND: "unproven"}


def test_a_base_that_was_written_since_the_comparison_outdates(w: Warehouse, tables: Tables) -> None:
    quarters = tables["quarters"]
    load(w, tables["base"])
    w.overwrite(quarters, FIRST, SECOND, sources=[])
    with w.catalog.begin() as tx:
        w.into(tables["base"], MONTHS[5])
        tx.commit([AcceptPartitions(quarters, (key(quarters, FIRST), key(quarters, SECOND)))])
    assert states(w) == {FIRST: "timeline", SECOND: "outdated"}


# --- catalogs of earlier releases, dumps ---------------------------------------------------------------------------


def make_older(w: Warehouse) -> None:
    """Makes the database that of the release before doubts, whose rows have none."""
    w.catalog.close()
    w.sql("DROP INDEX open_partitions")
    w.sql("ALTER TABLE partitions DROP COLUMN doubt")
    w.sql("DELETE FROM counters WHERE name = 'trusted'")
    w.sql("UPDATE schema_version SET version = 12")


def test_an_upgraded_catalog_keeps_what_it_has(w: Warehouse) -> None:
    base, quarters, years = (w.create(name, external=name == "years") for name in PERIODS)
    load(w, base)
    # That release trusted the writer's word, also from before the fact.
    w.overwrite(quarters, FIRST, sources=[base])
    fact = w.create_fact(PERIODS)
    w.overwrite(quarters, SECOND, sources=[base])
    w.overwrite(years, "2013", sources=[])
    make_older(w)
    # The states that it had: all that was written after the base is fresh.
    w.sql(f"UPDATE timeline_ranges SET state = 1 WHERE ended = {schema.NEVER}")
    w.catalog = w.opened()
    assert [stored.trusted for stored in w.catalog.snapshot().fact("f").tables] == [False, False, True]
    assert states(w) == {FIRST: "timeline", SECOND: "timeline"}
    assert states(w, "years") == {"2013": "timeline"}
    # The files of these tests are only names.
    assert [finding for finding in findings(w.catalog.database) if "cannot be read" not in finding.problem] == []
    # From now on proofs are asked for.
    w.into(base, MONTHS[0])
    w.overwrite(quarters, SECOND, sources=[])
    assert states(w) == {FIRST: "outdated", SECOND: "unproven"}
    assert states(w, "years") == {"2013": "timeline"}
    # A fact of this release asks what was there before it for one, too.
    w.commit(lambda tx: [DropObject(fact)])
    w.create_fact(PERIODS)
    assert states(w) == {FIRST: "unproven", SECOND: "unproven"}
    w.catalog.close()


def test_a_dump_keeps_doubts(w: Warehouse, tables: Tables) -> None:
    load(w, tables["base"], MONTHS[:5])
    w.overwrite(tables["quarters"], FIRST, sources=[])
    w.overwrite(tables["quarters"], SECOND, sources=[tables["base"]])
    before = states(w)
    assert before == {FIRST: "unproven", SECOND: "incomplete"}
    lines = list(dump(w.catalog.database, w.catalog.warehouse))
    with w.catalog.database.write() as connection:
        for table in schema.metadata.sorted_tables:
            if table is not schema.schema_version:
                connection.execute(table.delete())
    older = [lines[0].replace(f'"version":{w.catalog.database.version}', '"version":11'), *lines[1:]]
    with pytest.raises(OperationalError) as caught:
        restore(w.catalog.database, w.catalog.warehouse, older)
    assert caught.value.condition == "DUMP_OF_ANOTHER_VERSION"
    restore(w.catalog.database, w.catalog.warehouse, lines)
    w.catalog.close()
    w.catalog = w.opened()
    assert states(w) == before
    assert NO_BASE_READ in reasons(w, tables["quarters"])
    with w.catalog.database.read() as connection:
        query = sa.select(schema.counters.c.value).where(schema.counters.c.name == "trusted")
        assert connection.execute(query).scalar_one() == 0


# --- random histories ----------------------------------------------------------------------------------------------


@pytest.mark.share(3)
@pytest.mark.parametrize(("catalog_url", "seed"), seeds(6), indirect=["catalog_url"])
def test_random_histories_agree_with_a_model(w: Warehouse, tables: Tables, seed: int) -> None:
    """Writes of months, and of quarters from months or from nothing, against a model that follows the rules."""
    rng = random.Random(seed)
    base, quarters = tables["base"], tables["quarters"]
    months, rollups = Base(), Partitions()
    promised, seen = False, set[str]()
    for step in range(60 if w.url is None else 8):
        month, when = (rng.choice(MONTHS), ALL), (rng.choice(QUARTERS), ALL)
        match rng.choice(["into", "add", "add", "drop", "wipe", "roll", "roll", "blind", "accept", "gone", "trust"]):
            case "into":
                months.write(month, Content(("",)), w.into(base, month[0]))
            case "add" if month not in months.live:
                months.add(month, w.add(base, month[0]))
            case "drop" if month in months.live:
                w.drop(base, month[0])
                months.drop(month)
            case "wipe" if month in months.live:
                alone = KeyRange.of_key(key(base, month[0]))
                wiping = w.commit(lambda tx, alone=alone: [write(tx, base, overwrite=True, wipes=(alone,))])  # type: ignore[misc]
                months.wipe(month, wiping)
            case "roll":
                seen_at = w.catalog.snapshot().sequence
                w.overwrite(quarters, when[0], sources=[base])
                rollups.put(when, QUARTER.computed(months, when[0], seen_at))
            case "blind":
                w.overwrite(quarters, when[0], sources=[])
                rollups.put(when, BLIND)
            case "accept" if when in rollups.live:
                keys = (key(quarters, when[0]),)
                accepted = w.commit(lambda tx, keys=keys: [AcceptPartitions(quarters, keys)])  # type: ignore[misc]
                rollups.put(when, Content(("",), accepted))
            case "gone" if when in rollups.live:
                w.drop(quarters, when[0])
                rollups.drop(when)
            case "trust":
                promised = not promised
                trust(w, quarters, promised)
        judged = {str(key): QUARTER.state(months, rollups, key) for key, _ in rollups.live}
        wanted = {key: "timeline" if promised or state == FRESH else state for key, state in judged.items()}
        assert states(w) == wanted, (seed, step)
        seen |= set(wanted.values())
    assert seen == set(KINDS) or w.url is not None
