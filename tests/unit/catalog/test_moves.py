"""RENAME, EXCHANGE, TRUNCATE and SET LOCATION in the catalog: their effects, the reassessment of rollups, conflicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from postgres import on_sqlite

from rewriter.catalog import Snapshot, Transaction
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterPartitions,
    AlterTable,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    MovePartitions,
    PartitionAlteration,
    PartitionMove,
    PartitionWrite,
    RefreshTimelines,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, DataFile, Table
from rewriter.errors import AnalysisError, ConflictError, DataError, Error, IntegrityError, NotSupportedError

from .support import BASE, STRING, P, Warehouse, key, names, paths, write

Tables = dict[str, Table]


def rename(table: Table, old: str, new: str) -> MovePartitions:
    return MovePartitions(table, table, (PartitionMove(key(table, old), (new,)),))


def exchange(target: Table, source: Table, *values: str) -> MovePartitions:
    return MovePartitions(source, target, tuple(PartitionMove(key(source, v), (v,)) for v in values))


def truncate(table: Table, *values: str) -> TruncatePartitions:
    return TruncatePartitions(table, tuple(key(table, v) for v in values))


def do(w: Warehouse, *changes: Change) -> int:
    return w.commit(lambda tx: changes)


def judged(w: Warehouse, table: str = "days", period: P = P.DAILY) -> tuple[list[str], list[str]]:
    return w.fresh(table, period), w.outdated(table, period)


def seen(snapshot: Snapshot, *tables: Table) -> list[object]:
    return [(snapshot.partitions(table), snapshot.files(table)) for table in tables]


# --- what follows --------------------------------------------------------------------------------------------------


def test_all_that_belongs_to_a_partition_follows_its_name(w: Warehouse) -> None:
    t = w.create("t")
    write_id_files = (DataFile("/w/t/1/a/0", 10, 100), DataFile("/w/t/1/a/1", None, 50))
    with w.catalog.begin() as tx:
        part = PartitionWrite(("a",), write_id_files, properties={"owner": "me"})
        tx.commit([WritePartitions(t, tx.write_id(t), (part,), overwrite=True)])
    w.into(t, "a")
    before = w.catalog.snapshot()
    old = before.partitions(t)[0]
    w.catalog.rename_partition("t", ("a",), ("b",))
    after = w.catalog.snapshot()
    assert after.partitions(t) == (old._replace(key=key(t, "b"), values=("b",)),)
    assert [file for _, file in after.files(t)] == [file for _, file in before.files(t)]
    assert before.partitions(t) == (old,)
    assert len(before.files(t)) == 3
    # An OVERWRITE of the new name replaces what came, an INTO of the old one begins anew.
    w.overwrite(t, "b")
    w.into(t, "a")
    assert paths(w.catalog.snapshot(), t) == ["6/a/0", "5/b/0"]
    assert len(after.files(t)) == 3


def test_a_prefix_moves_what_lies_below_it(w: Warehouse) -> None:
    columns = (STRING, Column("n", "int"))
    first, second = w.create("one", columns), w.create("two", columns)

    def put(table: Table, *values: tuple[str, str]) -> None:
        with w.catalog.begin() as tx:
            write_id = tx.write_id(table)
            parts = tuple(PartitionWrite(v, (DataFile(f"{table.location}/{write_id}/{v}", 1, 1),)) for v in values)
            tx.commit([WritePartitions(table, write_id, parts, overwrite=False)])

    put(first, ("a", "1"), ("a", "10"), ("b", "1"), ("ab", "1"))
    put(second, ("a", "2"))
    assert w.catalog.exchange_partitions("two", "one", [("a",), ("b", "1"), ("a", "1")]) == 3
    snapshot = w.catalog.snapshot()
    assert [p.values for p in snapshot.partitions(first)] == [("ab", "1")]
    assert [p.values for p in snapshot.partitions(second)] == [("a", "1"), ("a", "2"), ("a", "10"), ("b", "1")]
    assert [p.values for p in snapshot.list_partitions_by_filter(second, "n >= 2")] == [("a", "2"), ("a", "10")]
    assert [file.path.split("/")[2] for _, file in snapshot.files(second)] == ["one", "two", "one", "one"]
    put(first, ("a", "7"), ("b", "1"))
    for prefixes, condition in [
        ([("a",), ("nope",)], "PARTITIONS_NOT_FOUND"),
        ([("a",), ("b",)], "PARTITIONS_ALREADY_EXIST"),
    ]:
        before = seen(w.catalog.snapshot(), first, second)
        with pytest.raises(Error) as caught:
            w.catalog.exchange_partitions("two", "one", prefixes)
        assert (caught.value.condition, caught.value.sqlstate) == (condition, "428FT")
        assert seen(w.catalog.snapshot(), first, second) == before


def test_what_is_not_there_and_what_is_are_told_in_the_commit(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "a", "b")
    for change, kind, condition in [
        (rename(t, "x", "y"), AnalysisError, "PARTITIONS_NOT_FOUND"),
        (rename(t, "a", "b"), IntegrityError, "PARTITIONS_ALREADY_EXIST"),
        (rename(t, "a", "a"), IntegrityError, "PARTITIONS_ALREADY_EXIST"),
        (truncate(t, "a", "x"), AnalysisError, "PARTITIONS_NOT_FOUND"),
        (AlterPartitions(t, (PartitionAlteration(key(t, "x")),)), AnalysisError, "PARTITIONS_NOT_FOUND"),
        (MovePartitions(t, t, (PartitionMove(key(t, "a"), ("",)),)), DataError, "INVALID_PARTITION_SPEC"),
    ]:
        before = seen(w.catalog.snapshot(), t)
        with pytest.raises(kind) as caught:
            do(w, change)
        assert caught.value.condition == condition
        assert seen(w.catalog.snapshot(), t) == before


def test_every_change_is_an_event_of_each_table(w: Warehouse) -> None:
    t, u = w.create("t"), w.create("u")
    w.into(t, "a")
    newest = w.catalog.events()[-1].sequence
    do(w, rename(t, "a", "b"))
    do(w, exchange(u, t, "b"))
    do(w, truncate(u, "b"))
    do(w, AlterPartitions(u, (PartitionAlteration(key(u, "b"), properties={"x": "y"}),)))
    told = [(event.kind, event.object_id) for event in w.catalog.events(newest) if event.kind != "COMMIT"]
    assert told == [
        ("RENAME_PARTITION", t.id),
        ("EXCHANGE_PARTITION", u.id),
        ("EXCHANGE_PARTITION", t.id),
        ("TRUNCATE", u.id),
        ("ALTER_PARTITION", u.id),
    ]


# --- who conflicts -------------------------------------------------------------------------------------------------


def _race(w: Warehouse, first: Callable[[Transaction], Change], second: Callable[[Transaction], Change]) -> None:
    earlier, later = w.catalog.begin(), w.catalog.begin()
    changes = first(earlier), second(later)
    earlier.commit([changes[0]])
    with later:
        later.commit([changes[1]])


def _movers(t: Table, u: Table) -> dict[str, tuple[Callable[[Transaction], Change], set[str]]]:
    """Returns changes by name, each with the partitions that it writes."""
    below = (KeyRange.of_prefix(prefix(t.id) + b"\x01" + b"a"),), (KeyRange.of_prefix(prefix(u.id) + b"\x01" + b"a"),)
    return {
        "rename a to n": (lambda tx: rename(t, "a", "n"), {"t.a", "t.n"}),
        "exchange a": (lambda tx: exchange(u, t, "a"), {"t.a", "u.a"}),
        "exchange a*": (lambda tx: replace(exchange(u, t, "a"), source_ranges=below[0], target_ranges=below[1]),
                        {"t.a", "u.a", "t.a2", "u.a2"}),
        "truncate a": (lambda tx: truncate(t, "a"), {"t.a"}),
        "alter a": (lambda tx: AlterPartitions(t, (PartitionAlteration(key(t, "a"), properties={"x": "y"}),)), {"t.a"}),
    }  # fmt: skip


@pytest.mark.share(4)
@on_sqlite
@pytest.mark.parametrize("mover", ["rename a to n", "exchange a", "exchange a*", "truncate a", "alter a"])
@pytest.mark.parametrize("role", ["t.a", "t.b", "t.n", "u.a", "u.a2", "u.c", "t.a2"])
@pytest.mark.parametrize("how", ["into", "overwrite", "drop or add"])
@pytest.mark.parametrize("mover_first", [True, False])
def test_who_conflicts_with_a_move(w: Warehouse, mover: str, role: str, how: str, mover_first: bool) -> None:
    t, u = w.create("t"), w.create("u")
    w.into(t, "a", "b")
    w.into(u, "c")
    move, written = _movers(t, u)[mover]
    table, value = (t, role[2:]) if role[0] == "t" else (u, role[2:])

    def second_change(tx: Transaction) -> Change:
        if how != "drop or add":
            return write(tx, table, value, overwrite=how == "overwrite")
        if role in ("t.a", "t.b", "u.c"):
            return DropPartitions(table, (key(table, value),))
        return AddPartitions(table, (PartitionWrite((value,)),))

    first, second = (move, second_change) if mover_first else (second_change, move)
    if role not in written:
        _race(w, first, second)
        return
    with pytest.raises(ConflictError) as caught:
        _race(w, first, second)
    assert (caught.value.sqlstate, caught.value.retryable) == ("40001", True)


def test_two_moves_of_one_partition_meet(w: Warehouse) -> None:
    t, u = w.create("t"), w.create("u")
    w.into(t, "a", "b")
    for first, second in [
        (rename(t, "a", "x"), rename(t, "a", "y")),
        (rename(t, "b", "z"), rename(t, "x", "z")),
        (exchange(u, t, "x"), truncate(t, "x")),
    ]:
        with pytest.raises(ConflictError):
            _race(w, lambda tx, first=first: first, lambda tx, second=second: second)  # type: ignore[misc]
    assert names(w.catalog.snapshot(), t) == ["z"]
    assert names(w.catalog.snapshot(), u) == ["x"]


def test_a_table_that_was_altered_meanwhile_exchanges_nothing(w: Warehouse) -> None:
    t, u = w.create("t"), w.create("u")
    w.into(t, "a")
    with w.catalog.begin() as tx:
        do(w, AlterTable(u, {"x": "y"}))
        tx.commit([exchange(u, t, "a")])
    altered = replace(t, columns=(*t.columns, Column("y", "int")))
    with pytest.raises(ConflictError):
        do(w, exchange(altered, u, "a"))
    do(w, DropObject(t))
    with pytest.raises(ConflictError):
        do(w, exchange(t, u, "a"))
    assert names(w.catalog.snapshot(), u) == ["a"]


def test_tables_that_do_not_fit_together(w: Warehouse) -> None:
    w.create("t")
    w.create("typed", (Column("dt", "date"),))
    w.create("outside", external=True)
    with w.catalog.begin() as tx:
        tx.commit([CreateObject(Table(tx.allocate_id(), "wide", (Column("y", "int"),), (STRING,), "parquet", "/w/x"))])
    for incompatible, kind, condition in [
        ("t", AnalysisError, "EXCHANGE_WITH_ITSELF"),
        ("typed", AnalysisError, "TABLES_INCOMPATIBLE_SCHEMAS"),
        ("wide", AnalysisError, "TABLES_INCOMPATIBLE_SCHEMAS"),
        ("outside", NotSupportedError, "EXCHANGE_MANAGED_WITH_EXTERNAL"),
    ]:
        with pytest.raises(kind) as caught:
            w.catalog.exchange_partitions("t", incompatible, [("a",)])
        assert caught.value.condition == condition


# --- timelines and freshness ---------------------------------------------------------------------------------------


@pytest.fixture
def loaded(w: Warehouse, fact: Tables) -> Tables:
    """Writes two hours of each of three days, and all days over them, fresh."""
    days = ["2013-01-01", "2013-01-02", "2013-01-03"]
    w.into(fact["hours"], *(f"{day}-{hour}" for day in days for hour in ("00", "01")))
    w.overwrite(fact["days"], *days, sources=[fact["hours"]])
    w.overwrite(fact["coarse"], "2013-01", sources=[fact["days"], fact["hours"]])
    assert judged(w) == (days, [])
    assert judged(w, "coarse", P.MONTHLY) == (["2013-01"], [])
    return fact


def test_a_base_partition_under_another_time_outdates_the_rollups_of_both(w: Warehouse, loaded: Tables) -> None:
    do(w, rename(loaded["hours"], "2013-01-01-00", "2013-01-02-07"))
    assert judged(w) == (["2013-01-03"], ["2013-01-01", "2013-01-02"])
    assert judged(w, "coarse", P.MONTHLY) == ([], ["2013-01"])
    hours = w.fresh("hours", P.HOURLY)
    assert "2013-01-01-00" not in hours
    assert "2013-01-02-07" in hours
    # It did not go by retention: computed from what there is, the day is whole again.
    assert w.line("hours", P.HOURLY, "retired") == []
    with w.catalog.begin() as tx:
        tx.commit([RefreshTimelines(tx.snapshot.fact("f"))])
    assert tx.differences == ()
    w.overwrite(loaded["days"], "2013-01-01", "2013-01-02", sources=[loaded["hours"]])
    assert judged(w)[1] == []


def test_a_rollup_of_before_a_rename_is_outdated_at_both_times(w: Warehouse, loaded: Tables) -> None:
    with w.catalog.begin() as rollup:
        change = write(rollup, loaded["days"], "2013-01-01", "2013-01-02", "2013-01-03", overwrite=True)
        do(w, rename(loaded["hours"], "2013-01-01-00", "2013-01-02-07"))
        rollup.commit([change], [loaded["hours"].id])
    assert judged(w) == (["2013-01-03"], ["2013-01-01", "2013-01-02"])


def test_a_rollup_under_another_time_proves_nothing(w: Warehouse, loaded: Tables) -> None:
    do(w, rename(loaded["days"], "2013-01-01", "2013-01-09"))
    assert judged(w) == (["2013-01-02", "2013-01-03"], [])
    w.overwrite(loaded["days"], "2013-01-10", sources=[])
    w.add(loaded["days"], "2013-01-20")
    do(w, rename(loaded["days"], "2013-01-10", "2013-01-11"), rename(loaded["days"], "2013-01-20", "2013-01-21"))
    assert judged(w) == (["2013-01-02", "2013-01-03"], [])
    assert w.unproven("days", P.DAILY) == ["2013-01-09", "2013-01-11", "2013-01-21"]
    # Back under its old name it proves no more, because its origin was not recorded.
    do(w, rename(loaded["days"], "2013-01-09", "2013-01-01"))
    w.into(loaded["hours"], "2013-01-11-00")
    assert w.unproven("days", P.DAILY) == ["2013-01-01", "2013-01-11", "2013-01-21"]


def test_names_that_fit_no_layout_are_refused(w: Warehouse, loaded: Tables) -> None:
    before = seen(w.catalog.snapshot(), loaded["hours"])
    with pytest.raises(DataError) as caught:
        w.catalog.rename_partition("hours", ("2013-01-01-00",), ("2013-01-01",))
    assert caught.value.condition == "INVALID_TIME_PARTITION"
    assert seen(w.catalog.snapshot(), loaded["hours"]) == before
    stage = w.create("stage")
    w.into(stage, "2013-01")
    with pytest.raises(DataError):
        w.catalog.exchange_partitions("hours", "stage", [("2013-01",)])
    assert names(w.catalog.snapshot(), stage) == ["2013-01"]


def test_a_base_partition_that_leaves_is_gone_as_by_retention(w: Warehouse, loaded: Tables) -> None:
    archive = w.create("archive")
    w.catalog.exchange_partitions("archive", "hours", [("2013-01-01-00",)])
    assert judged(w)[1] == []
    assert w.line("hours", P.HOURLY, "retired") == ["2013-01-01-00"]
    # It comes back as news.
    w.catalog.exchange_partitions("hours", "archive", [("2013-01-01-00",)])
    assert judged(w)[1] == ["2013-01-01"]
    assert w.line("hours", P.HOURLY, "retired") == []
    assert names(w.catalog.snapshot(), archive) == []


def test_a_registered_base_partition_is_no_news_wherever_it_comes(w: Warehouse, loaded: Tables) -> None:
    stage = w.create("stage")
    w.add(stage, "2013-01-01-07", "2013-01-01-00")
    w.catalog.exchange_partitions("hours", "stage", [("2013-01-01-07",)])
    assert judged(w)[1] == []
    # Where another was, the rollup knew that.
    w.drop(loaded["hours"], "2013-01-01-00")
    w.catalog.exchange_partitions("hours", "stage", [("2013-01-01-00",)])
    assert judged(w)[1] == ["2013-01-01"]


@pytest.mark.parametrize("source", ["nothing", "hours", "other"])
def test_a_staged_rollup_is_unproven(w: Warehouse, loaded: Tables, source: str) -> None:
    stage, second = w.create("stage"), w.create("other")
    w.overwrite(stage, "2013-01-08", sources={"hours": [loaded["hours"]], "other": [second], "nothing": []}[source])
    w.catalog.exchange_partitions("days", "stage", [("2013-01-08",)])
    assert w.unproven("days", P.DAILY) == ["2013-01-08"]
    assert judged(w) == (["2013-01-01", "2013-01-02", "2013-01-03"], [])
    # What comes into its base later makes it no less so; computed anew, it is proven.
    w.into(loaded["hours"], "2013-01-08-00")
    assert w.unproven("days", P.DAILY) == ["2013-01-08"]
    w.overwrite(loaded["days"], "2013-01-08", sources=[loaded["hours"]])
    assert (w.unproven("days", P.DAILY), "2013-01-08" in w.fresh("days", P.DAILY)) == ([], True)


def test_a_rollup_keeps_its_freshness_between_tables_of_one_fact(w: Warehouse) -> None:
    hours, days = w.create("hours"), w.create("days")
    w.create("copies")
    w.create_fact({"hours": [P.HOURLY], "days": [P.DAILY], "copies": [P.DAILY]})
    w.into(hours, "2013-01-01-00", "2013-01-02-00")
    w.overwrite(days, "2013-01-01", "2013-01-02", sources=[hours])
    w.into(hours, "2013-01-02-00")
    w.catalog.exchange_partitions("copies", "days", [("2013-01-01",), ("2013-01-02",)])
    assert judged(w, "copies") == (["2013-01-01"], ["2013-01-02"])
    assert judged(w, "days") == ([], [])


def test_a_renamed_partition_is_judged_by_a_later_fact(w: Warehouse) -> None:
    tables = {name: w.create(name) for name in BASE}
    w.into(tables["hours"], "2013-01-01-00", "2013-01-02-00")
    w.overwrite(tables["days"], "2013-01-01", sources=[tables["hours"]])
    w.overwrite(tables["days"], "2013-01-07", sources=[])
    do(w, rename(tables["days"], "2013-01-01", "2013-01-02"), rename(tables["days"], "2013-01-07", "2013-01-08"))
    w.create_fact(BASE)
    assert judged(w) == ([], [])
    assert w.unproven("days", P.DAILY) == ["2013-01-02", "2013-01-08"]


def test_truncating_wipes(w: Warehouse, loaded: Tables) -> None:
    do(w, truncate(loaded["hours"], "2013-01-01-00", "2013-01-01-01"))
    assert judged(w) == (["2013-01-02", "2013-01-03"], ["2013-01-01"])
    assert len(w.fresh("hours", P.HOURLY)) == 6
    # An empty rollup is not used for a time that has base content.
    do(w, truncate(loaded["days"], "2013-01-02"))
    assert judged(w) == (["2013-01-03"], ["2013-01-01", "2013-01-02"])
    w.into(loaded["days"], "2013-01-02", sources=[loaded["hours"]])
    assert judged(w) == (["2013-01-02", "2013-01-03"], ["2013-01-01"])
    partition = w.catalog.snapshot().partition(loaded["hours"], ("2013-01-01-00",))
    assert partition is not None
    assert (partition.rows, partition.bytes, partition.files) == (0, 0, 0)
    assert not [f for p, f in w.catalog.snapshot().files(loaded["hours"]) if p.values[0] == "2013-01-01-00"]


def test_truncating_what_is_empty_is_no_news(w: Warehouse, loaded: Tables) -> None:
    w.add(loaded["hours"], "2013-01-01-07")
    do(w, truncate(loaded["hours"], "2013-01-01-07"))
    assert judged(w)[1] == []


def test_properties_and_locations_outdate_nothing(w: Warehouse, loaded: Tables) -> None:
    altered = [loaded["hours"], loaded["days"]]
    for table in altered:
        some = tuple(
            PartitionAlteration(partition.key, properties={"x": "1"})
            for partition in w.catalog.snapshot().partitions(table)
        )
        do(w, AlterPartitions(table, some))
    assert judged(w)[1] == []
    assert {partition.properties["x"] for partition in w.catalog.snapshot().partitions(loaded["days"])} == {"1"}
    assert len(w.catalog.snapshot().files(loaded["days"])) == 3
    wrong = {"cube.storagetable.partition.update.period": "MONTHLY"}
    with pytest.raises(DataError):
        do(w, AlterPartitions(loaded["days"], (PartitionAlteration(key(loaded["days"], "2013-01-01"), None, wrong),)))


def test_a_location_is_set_beside_what_others_register(w: Warehouse) -> None:
    outside = w.create("outside", external=True)
    w.add(outside, "a")
    everything = (KeyRange.of_prefix(prefix(outside.id)),)

    def relocate(alterations: Sequence[PartitionAlteration]) -> list[Change]:
        return [AlterPartitions(outside, tuple(alterations), everything), AlterTable(outside, location="/w/new")]

    # A partition that was registered meanwhile lies below the old location, and must be told so.
    with w.catalog.begin() as tx:
        w.add(outside, "b")
        with pytest.raises(ConflictError):
            tx.commit(relocate([PartitionAlteration(key(outside, "a"), "/w/outside/dt=a")]))
    with w.catalog.begin() as late:
        do(w, *relocate([PartitionAlteration(key(outside, v), f"/w/outside/dt={v}") for v in "ab"]))
        with pytest.raises(ConflictError):
            late.commit([AddPartitions(outside, (PartitionWrite(("c",)),))])
    snapshot = w.catalog.snapshot()
    assert snapshot.table("outside").location == "/w/new"
    assert [partition.location for partition in snapshot.partitions(outside)] == ["/w/outside/dt=a", "/w/outside/dt=b"]
