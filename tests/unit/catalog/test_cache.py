"""The cache: how many calls reads make, what memory may take, threads, prewarm, metrics."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from postgres import on_sqlite
from statements import watch

from rewriter.catalog import Catalog
from rewriter.catalog.cache import cache, log_view
from rewriter.catalog.cache.entries import DEFINITION, MEANINGS, Entries, Entry, size_of
from rewriter.catalog.following import log_follower, prewarm
from rewriter.catalog.metastore_writes import CachedCatalog
from rewriter.catalog.model.changes import AlterTable, DropObject, DropPartitions
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.catalog.reading import partition_refresh
from rewriter.catalog.store.database import Database
from rewriter.errors import DataError, InterfaceError, OperationalError, ProgrammingError, Span
from rewriter.grammar.terms import Query
from rewriter.planner.model.plan import Settings
from rewriter.planner.plan_query import plan_query

from .support import P, Warehouse, key, names

MIB = 1 << 20
HOURS_OF_DAY = [f"2013-01-01-{hour:02d}" for hour in range(24)]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Counts the statements of this thread since the last call, sent by SQLAlchemy or by cursors of the driver."""
    own, sent = threading.get_ident(), [0]
    plain = Database.rows

    def note(text: str) -> None:
        # What begins and ends a transaction asks nothing.
        sent[0] += threading.get_ident() == own and not text.startswith(("BEGIN", "COMMIT", "ROLLBACK"))

    def rows(database: Database, *arguments: Any) -> Any:
        if database.dialect.name != "sqlite":
            note("SELECT")
        return plain(database, *arguments)

    def since() -> int:
        count, sent[0] = sent[0], 0
        return count

    end = watch(note)
    with monkeypatch.context() as patch:
        patch.setattr(Database, "rows", rows)
        yield since
    end()


def follow(catalog: Catalog) -> None:
    """Reads the log to its end, and renews."""
    assert catalog.follower is not None
    catalog.follower.catch_up()
    catalog.follower.refresh()


def wait_for(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not happens():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.005)


# ---- calls


def test_calls_of_each_read(w: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    table = w.create("t")
    w.into(table, "a", "b", "c")
    w.catalog.use_cache(MIB, follow=False)
    some = [KeyRange(key(table, "a"), key(table, "b"))]
    with counted(monkeypatch) as calls:
        snapshot = w.catalog.snapshot()
        begin = calls()
        reads: dict[str, Callable[[Any], object]] = {
            "table": lambda s: s.table("t"),
            "one partition": lambda s: s.partition(table, ("a",)),
            "a range": lambda s: s.partitions(table, some),
            "a filter": lambda s: s.get_partitions_by_filter(table, "dt > 'a'"),
            "files of a range": lambda s: s.files(table, some),
            "all partitions": lambda s: s.partitions(table),
            "a range, of all": lambda s: s.partitions(table, [KeyRange(key(table, "a"), key(table, "c"))]),
            "timelines": lambda s: s.timeline("t", P.HOURLY, "t"),
            "no such table": lambda s: s.find("nothing"),
            "cubes": lambda s: s.cubes(),
        }
        cold = {name: (read(snapshot), calls())[1] for name, read in reads.items()}
        assert cold == {
            "table": 3,  # The object, and the two statements of its list.
            "one partition": 1,
            "a range": 1,
            "a filter": 1,
            "files of a range": 2,  # Whether VACUUM has removed some, and the files.
            "all partitions": 1,
            "a range, of all": 0,
            "timelines": 1,
            "no such table": 1,
            "cubes": 1,
        }
        snapshot = w.catalog.snapshot()
        assert calls() == begin
        cached = {name: (read(snapshot), calls())[1] for name, read in reads.items()}
        assert {name: number for name, number in cached.items() if number} == {"a filter": 1}
        # A commit of another table: nothing of this one is read again, not even its list.
        w.create("u")
        follow(w.catalog)
        calls()
        snapshot = w.catalog.snapshot()
        calls()
        asked = [name for name in reads if name not in ("a filter", "no such table")]
        assert {name: (reads[name](snapshot), calls())[1] for name in asked} == dict.fromkeys(asked, 0)


def test_behind_the_log_a_known_table_costs_its_list_and_no_more(w: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    table = w.create("t")
    w.into(table, "a", "b")
    w.catalog.use_cache(MIB, follow=False)
    snapshot = w.catalog.snapshot()
    assert snapshot.partition(snapshot.table("t"), ("a",)) is not None
    w.create("u")
    with counted(monkeypatch) as calls:
        snapshot = w.catalog.snapshot()
        calls()
        assert snapshot.partition(snapshot.table("t"), ("a",)) is not None
        assert calls() == 2  # ``reads.write_id_list`` takes two statements.


def test_callers_with_lists_make_no_call_for_what_is_known(w: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    table = w.create("t")
    w.into(table, "a", "b")
    w.catalog.use_cache(MIB, follow=False)
    reads = CachedCatalog(w.catalog)
    ids = reads.valid_write_id_list("t")

    def read() -> tuple[object, ...]:
        return reads.get_table("t", ids), reads.get_partition("t", ("a",), ids), reads.get_partitions("t", ids)

    first = read()
    assert [partition.values for partition in reads.list_partitions_by_filter("t", "dt > 'a'", ids)] == [("b",)]
    with counted(monkeypatch) as calls:
        assert read() == first
        assert [partition.values for partition in reads.get_partitions_by_filter("t", "dt > 'a'", ids)] == [("b",)]
        assert calls() == 0


@on_sqlite
def test_a_plan_over_cached_timelines_makes_no_call(
    w: Warehouse, fact: dict[str, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    w.into(fact["hours"], *HOURS_OF_DAY)
    w.into(fact["days"], "2013-01-01", sources=[fact["hours"]])
    w.catalog.use_cache(MIB, follow=False)
    text = "SELECT count(*) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-02')"
    query = Query(text, Span(0, len(text)))

    def plan() -> str:
        return plan_query(query, w.catalog.snapshot(), Settings(now=0, partial_data=True), {}).sql

    with counted(monkeypatch) as calls:
        w.catalog.snapshot()
        snapshot = calls()
        first = plan()
        assert calls() > snapshot
        assert plan() == first
        assert calls() == snapshot
        # Nor after a write that the follower has read.
        w.into(fact["hours"], "2013-01-02-00")
        follow(w.catalog)
        calls()
        assert plan() == first
        assert calls() == snapshot


# ---- correctness that flows and histories do not reach


def test_a_list_that_sees_what_is_not_committed_poisons_nothing(w: Warehouse) -> None:
    table = w.create("t")
    w.into(table, "a")
    w.catalog.use_cache(MIB, follow=False)
    reads = CachedCatalog(w.catalog)
    with w.catalog.begin() as tx:
        taken = tx.write_id(table)
        early = str(ValidWriteIdList(str(table.id), taken))
        with pytest.raises(DataError) as caught:
            reads.get_partitions("t", early)
        assert caught.value.condition == "INVALID_WRITE_ID_LIST"
        tx.commit([AlterTable(table, {"a": "1"})])
    assert reads.get_table("t", early).properties == {"a": "1"}


def test_a_list_that_calls_a_commit_aborted_poisons_nothing(w: Warehouse) -> None:
    table = w.create("t")
    w.into(table, "a")
    w.catalog.use_cache(MIB, follow=False)
    reads = CachedCatalog(w.catalog)
    with w.catalog.begin() as tx:
        taken = tx.write_id(table)
        w.into(table, "b")
        before = reads.valid_write_id_list("t")
        ids = ValidWriteIdList.parse(before)
        assert ids.open == {taken}
        wrong = str(ValidWriteIdList(ids.table, ids.high_water_mark, aborted=ids.open))
        with pytest.raises(DataError) as caught:
            reads.get_partitions("t", wrong)
        assert caught.value.condition == "INVALID_WRITE_ID_LIST"
        tx.commit([DropPartitions(table, (key(table, "a"),))])
    with pytest.raises(DataError) as caught:
        reads.get_partitions("t", wrong)
    assert caught.value.condition == "INVALID_WRITE_ID_LIST"
    assert [partition.values for partition in reads.get_partitions("t", before)] == [("a",), ("b",)]


def test_a_list_with_aborted_writes_is_accepted(w: Warehouse) -> None:
    table = w.create("t")
    with w.catalog.begin() as tx:
        tx.write_id(table)
    w.into(table, "a")
    reads = CachedCatalog(w.catalog)
    ids = reads.valid_write_id_list("t")
    assert len(ValidWriteIdList.parse(ids).aborted) == 1
    assert [partition.values for partition in reads.get_partitions("t", ids)] == [("a",)]


def test_an_external_table_is_the_stores_where_nobody_reads_the_log(
    w: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, second = w.create("e", external=True), w.opened()
    w.add(table, "a")
    second.use_cache(MIB, follow=False)
    reads = CachedCatalog(second)

    def there() -> list[tuple[str | None, ...]]:
        return [partition.values for partition in reads.get_partitions("e")]

    assert there() == [("a",)]
    w.add(table, "b")
    assert there() == [("a",)]  # As the log was read a moment ago.
    monkeypatch.setattr(cache, "MAX_LOG_AGE_SECONDS", 0.0)
    assert there() == [("a",), ("b",)]
    w.add(table, "c")
    assert there() == [("a",), ("b",), ("c",)]
    second.close()


def test_lists_of_other_tables_and_other_texts_are_refused(w: Warehouse) -> None:
    reads = CachedCatalog(w.catalog)
    w.create("t")
    second = w.create("u")
    for text in (f"{second.id}:1:2::", "t:1:2::", "x", "9999:0:1::"):
        with pytest.raises((DataError, ProgrammingError)) as caught:
            reads.get_table("t", text)
        assert caught.value.condition in ("INVALID_WRITE_ID_LIST", "TABLE_OR_VIEW_NOT_FOUND")


def test_a_dropped_table_takes_no_room(w: Warehouse) -> None:
    table = w.create("t")
    w.into(table, "a")
    w.catalog.use_cache(MIB, follow=False)
    snapshot = w.catalog.snapshot()
    assert names(snapshot, snapshot.table("t")) == ["a"]
    w.commit(lambda tx: [DropObject(table)])
    follow(w.catalog)
    assert w.catalog.cache is not None
    assert w.catalog.cache.last(table.id, DEFINITION) is None
    assert w.catalog.snapshot().find("t") is None


def test_a_log_that_is_followed_too_far_begins_anew(w: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_view, "MOST_FOLLOWED", 4)
    w.catalog.use_cache(MIB, follow=False)
    for number in range(6):
        w.create(f"t{number}")
        follow(w.catalog)
        assert w.catalog.snapshot().find(f"t{number}") is not None
    assert w.catalog.cache_metrics()["gaps"] == 0


def test_an_empty_catalog_in_the_place_of_another_one_is_noticed(w: Warehouse) -> None:
    table = w.create("t")
    w.catalog.use_cache(MIB, follow=False)
    assert w.catalog.snapshot().table("t") == table
    w.sql("UPDATE counters SET value = 0 WHERE name = 'event'")
    follow(w.catalog)
    assert w.catalog.cache_metrics()["entries"] == 0


def test_retention_takes_old_entries_only(w: Warehouse) -> None:
    w.create("t")
    w.create("u")
    w.sql("UPDATE transactions SET heartbeat_at = heartbeat_at - 7200 WHERE commit_seq = 1")
    assert w.catalog.purge_events(3600) == 2
    assert [event.sequence for event in w.catalog.events()] == [3, 4]
    assert w.catalog.purge_events(3600) == 0


def test_a_follower_deletes_old_entries_where_it_is_told_to(w: Warehouse) -> None:
    w.create("t")
    w.sql("UPDATE transactions SET heartbeat_at = heartbeat_at - 7200")
    w.create("u")
    w.catalog.use_cache(MIB, retention=3600)
    wait_for(lambda: [event.sequence for event in w.catalog.events()] == [3, 4])
    assert w.catalog.cache_metrics()["gaps"] == 0


# ---- memory


def test_least_recently_used_answers_go_first() -> None:
    entries, ids = Entries(1000), ValidWriteIdList("1", 1)
    for name in "abc":
        entries.put(1, (name,), Entry(ids, name, 400))
        entries.get(1, ("a",))
    assert sorted(entries.questions(1)) == [("a",), ("c",)]
    assert (entries.bytes, entries.evicted) == (800, 1)
    assert not entries.put(2, ("big",), Entry(ids, "", 1001))
    assert not entries.put(2, ("late",), Entry(ids, "", 300), if_room=True)
    assert entries.put(2, ("late",), Entry(ids, "", 200), if_room=True)
    entries.forget(1)
    assert entries.bytes == 200


@on_sqlite
def test_memory_stays_within_its_bound(w: Warehouse) -> None:
    tables = [w.create(f"t{number}") for number in range(10)]
    for table in tables:
        w.into(table, *(f"v{n}" for n in range(20)))
    w.catalog.use_cache(40_000, follow=False)
    for _ in range(2):
        snapshot = w.catalog.snapshot()
        for table in tables:
            assert len(snapshot.partitions(table)) == 20
            assert w.catalog.cache_metrics()["bytes"] <= 40_000
    assert w.catalog.cache_metrics()["evicted"] > 0


@on_sqlite
def test_the_estimate_is_about_what_python_takes(w: Warehouse) -> None:
    import tracemalloc

    table = w.create("t")
    w.into(table, *(f"v{n:05}" for n in range(5000)))
    tracemalloc.start()
    partitions = w.catalog.snapshot().partitions(table)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 0.5 < size_of((), partitions) / taken < 2


@on_sqlite
def test_long_lists_are_kept_once(w: Warehouse) -> None:
    import tracemalloc

    table, days = w.create("t"), [f"v{n:03}" for n in range(100)]
    for _ in range(200):
        with w.catalog.begin() as tx:
            tx.write_id(table)
    w.into(table, *days)
    w.catalog.use_cache(MIB, follow=False)
    reads = CachedCatalog(w.catalog)
    text = reads.valid_write_id_list("t")
    tracemalloc.start()
    for day in days:  # Each makes a list of its own of the text.
        assert reads.get_partition("t", (day,), text) is not None
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert w.catalog.cache_metrics()["entries"] > len(days)
    assert taken < 3 * w.catalog.cache_metrics()["bytes"]


def test_a_negative_size_is_refused(w: Warehouse) -> None:
    with pytest.raises(InterfaceError):
        w.catalog.use_cache(-1)


# ---- threads


def test_a_follower_brings_another_instance_up_to_date(w: Warehouse) -> None:
    table, before_all = w.create("t"), threading.active_count()
    second = w.opened()
    second.use_cache(MIB)
    assert threading.active_count() == before_all + 1
    assert second.snapshot().table("t") == table
    w.commit(lambda tx: [AlterTable(table, {"a": "1"})])
    wait_for(lambda: second.cache_metrics()["refreshed"] > 0)
    before = second.cache_metrics()
    assert second.snapshot().table("t").properties == {"a": "1"}
    after = second.cache_metrics()
    assert after["hits"] == before["hits"] + 1
    assert after["lists_read"] == before["lists_read"]
    second.close()
    assert threading.active_count() == before_all


def test_of_a_set_that_has_changed_only_what_may_differ_is_read(w: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    table, second = w.create("t"), w.opened()
    w.into(table, *(f"v{number:04}" for number in range(1000)))
    second.use_cache(MIB, follow=False)
    assert len(second.snapshot().partitions(table)) == 1000
    w.overwrite(table, "v0007")
    w.into(table, "v0500", "v05001", "new")
    w.commit(lambda tx: [DropPartitions(table, (key(table, "v0999"),))])
    plain, read = partition_refresh.queries.partition_page, list[str]()

    def noted(*arguments: Any) -> Any:
        partitions = plain(*arguments)
        read.extend(partition.values[0] for partition in partitions)
        return partitions

    monkeypatch.setattr(partition_refresh.queries, "partition_page", noted)
    with counted(monkeypatch) as calls:
        follow(second)
        renewed = calls()
    snapshot = second.snapshot()
    read_again, read[:] = [*read], []
    assert read_again == ["new", "v0007", "v0500", "v05001"]
    assert renewed == 6  # Three to follow the log, the definition, the keys of what changed, and their rows.
    assert snapshot.partitions(table) == w.catalog.snapshot().partitions(table)
    # If many have changed, all are read again.
    monkeypatch.setattr(partition_refresh, "MOST", 3)
    w.into(table, *(f"v{number:04}" for number in range(4)))
    assert second.snapshot().partitions(table) == w.catalog.snapshot().partitions(table)
    second.close()


def test_a_follower_survives_a_database_that_is_away(w: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [0]
    plain = log_follower.newest_numbers

    def failing(connection: sa.Connection) -> tuple[int, int]:
        if failures[0] < 3:
            failures[0] += 1
            raise OperationalError("it is away", condition="CATALOG_UNAVAILABLE")
        return plain(connection)

    w.catalog.use_cache(MIB)
    monkeypatch.setattr(log_follower, "LONGEST_WAIT", 0.01)
    monkeypatch.setattr(log_follower, "newest_numbers", failing)
    w.create("t")
    wait_for(lambda: w.catalog.cache is not None and w.catalog.cache.commit == 1)
    assert failures[0] == 3


def test_a_follower_that_is_far_behind_ends_at_once(w: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    table, second, steps = w.create("t"), w.opened(), [0]
    second.use_cache(MIB, follow=False)
    for number in range(10):
        w.commit(lambda tx, n=number: [AlterTable(table, {"n": str(n)})])  # type: ignore[misc]
    plain, reading, go_on = log_follower.Follower.step, threading.Event(), threading.Event()

    def slow(follower: log_follower.Follower, limit: int = 1) -> int:
        steps[0] += 1
        reading.set()
        assert go_on.wait(30)
        return plain(follower, limit)

    monkeypatch.setattr(log_follower, "PAGE", 1)
    monkeypatch.setattr(log_follower.Follower, "step", slow)
    assert second.follower is not None
    second.follower.start()
    assert reading.wait(30)
    closing = threading.Thread(target=second.close)
    closing.start()
    wait_for(lambda: second.cache is None)
    time.sleep(0.05)
    go_on.set()
    closing.join(30)
    assert not closing.is_alive()
    assert steps == [1]


def test_a_follower_that_renews_much_ends_at_once(w: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prewarm, "PAGE", 1)
    tables, second, pages = [w.create(name) for name in "ab"], w.opened(), [0]
    for table in tables:
        w.into(table, *(f"v{n}" for n in range(9)))
    second.use_cache(MIB, follow=False)
    for table in tables:
        assert len(second.snapshot().partitions(table)) == 9
        w.into(table, "new")
    plain, reader = prewarm.queries.partition_page, second.follower
    assert reader is not None

    def stopped(*arguments: Any) -> Any:
        pages[0] += 1
        reader.stop()
        return plain(*arguments)

    monkeypatch.setattr(prewarm.queries, "partition_page", stopped)
    reader.catch_up()
    reader.refresh()
    assert pages == [1]
    second.close()


def test_what_is_damaged_is_left_to_readers(w: Warehouse, fact: dict[str, Table]) -> None:
    w.into(fact["hours"], *HOURS_OF_DAY)
    w.catalog.use_cache(MIB, follow=False)
    cache = w.catalog.cache
    assert cache is not None
    assert w.fresh("hours", P.HOURLY) == HOURS_OF_DAY
    w.into(fact["hours"], "2013-01-02-00")
    w.sql("UPDATE timeline_ranges SET end_ordinal = start_ordinal")
    follow(w.catalog)
    prewarm.prewarm(w.catalog._database, cache)
    with pytest.raises(OperationalError) as caught:
        w.fresh("hours", P.HOURLY)
    assert caught.value.condition == "DAMAGED_TIMELINE"


def test_prewarm_fills_what_readers_ask_for(w: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prewarm, "PAGE", 7)
    tables = [w.create(f"t{number}") for number in range(9)]
    for table in tables:
        w.into(table, *(f"v{n:02}" for n in range(20)))
    second = w.opened()
    second.use_cache(MIB, prewarm=True)
    assert second.prewarming is not None
    assert second.prewarming.wait(30)
    with counted(monkeypatch) as calls:
        snapshot = second.snapshot()
        calls()
        for table in tables:
            assert snapshot.table(table.name) == table
            assert len(snapshot.partitions(table)) == 20
            assert snapshot.partition(table, ("v03",)) is not None
        assert calls() == 0
    second.close()


def test_a_prewarm_takes_no_readers_place(w: Warehouse) -> None:
    first, second = w.create("a"), w.create("b")
    w.into(first, *(f"v{n:03}" for n in range(50)))
    w.into(second, *(f"v{n:03}" for n in range(50)))
    w.catalog.use_cache(40_000, follow=False)
    snapshot = w.catalog.snapshot()
    assert len(snapshot.partitions(snapshot.table("b"))) == 50
    cache = w.catalog.cache
    assert cache is not None
    prewarm.prewarm(w.catalog._database, cache)
    assert w.catalog.cache_metrics()["evicted"] == 0
    assert cache.last(second.id, ("partitions",)) is not None


def test_a_prewarm_reads_no_more_of_a_table_than_there_is_room_for(
    w: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prewarm, "PAGE", 10)
    table = w.create("t")
    w.into(table, *(f"v{n:03}" for n in range(500)))
    w.catalog.use_cache(20_000, follow=False)
    cache = w.catalog.cache
    assert cache is not None
    with counted(monkeypatch) as calls:
        prewarm.prewarm(w.catalog._database, cache)
        assert calls() < 20
    assert cache.last(table.id, DEFINITION) is not None
    assert cache.last(table.id, ("partitions",)) is None


def test_a_prewarm_that_hangs_delays_no_reader(w: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = w.create("a"), w.create("b")
    w.into(first, "v")
    w.into(second, "v")
    reading, go_on = threading.Event(), threading.Event()
    plain = prewarm.queries.partition_page

    def slow(*arguments: Any) -> Any:
        if threading.current_thread().name == "catalog-prewarm":
            reading.set()
            assert go_on.wait(30)
        return plain(*arguments)

    monkeypatch.setattr(prewarm.queries, "partition_page", slow)
    w.catalog.use_cache(MIB, prewarm=True)
    assert reading.wait(30)
    snapshot = w.catalog.snapshot()
    for table in (first, second):
        assert names(snapshot, snapshot.table(table.name)) == ["v"]
    w.into(first, "w")
    assert names(w.catalog.snapshot(), first) == ["v", "w"]
    go_on.set()
    assert w.catalog.prewarming is not None
    assert w.catalog.prewarming.wait(30)
    assert names(w.catalog.snapshot(), first) == ["v", "w"]


@on_sqlite
def test_threads_share_a_cache(w: Warehouse) -> None:
    """Readers of one catalog while its tables are written: each sees what its snapshot's number says."""
    table = w.create("t")
    versions = {0: None, w.catalog.snapshot().sequence: None}
    w.catalog.use_cache(MIB)
    stop, wrong = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            snapshot = w.catalog.snapshot()
            version = snapshot.table("t").properties.get("version")
            if version != (None if snapshot.sequence == 1 else str(snapshot.sequence)):
                wrong.append((snapshot.sequence, version))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(2, 30):
        versions[number] = w.commit(lambda tx, n=number: [AlterTable(table, {"version": str(n)})])  # type: ignore[misc]
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert versions[29] == 29
    assert w.catalog.cache_metrics()["hits"] > 0


@on_sqlite
def test_a_forked_child_reads_the_store(w: Warehouse) -> None:
    table = w.create("t")
    w.catalog.use_cache(MIB)
    assert w.catalog.snapshot().table("t") == table
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        os._exit(0 if w.catalog.cache is None and w.catalog.snapshot().table("t") == table else 1)
    assert os.waitpid(child, 0)[1] == 0


@on_sqlite
def test_a_forked_child_can_close_the_catalog(w: Warehouse) -> None:
    w.catalog.use_cache(MIB)
    assert w.catalog.cache is not None
    with w.catalog.cache.behind._cond:  # Which the thread holds when it begins to wait.
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(10)
            w.catalog.close()
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


# ---- metrics


def test_metrics_are_explained_and_logged(
    w: Warehouse, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert w.catalog.cache_metrics() == dict.fromkeys(MEANINGS, 0)
    monkeypatch.setattr(log_follower, "LOGGED_EVERY", 0.0)
    with caplog.at_level(logging.INFO, "rewriter.catalog.cache"):
        w.catalog.use_cache(MIB)
        w.create("t")
        wait_for(lambda: any("catalog cache" in record.message for record in caplog.records))
    assert list(w.catalog.cache_metrics()) == list(MEANINGS)
