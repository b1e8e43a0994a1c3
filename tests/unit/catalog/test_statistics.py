"""Figures of partitions are noted without any content changing; and when partitions came to be."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import pytest

from rewriter.catalog import Snapshot
from rewriter.catalog.model.changes import Counted, NoteStatistics, RefreshTimelines
from rewriter.catalog.model.column_statistics import ColumnStatistics, Statistics, statistics_in, without_statistics
from rewriter.catalog.model.objects import Table

from .support import P, Warehouse, key, paths, write

_FIGURES = {"figures": "some"}


def _note(w: Warehouse, table: Table, values: Sequence[str], rows: int | None = None) -> int:
    """Notes figures of partitions with the content that they have now."""
    commits = _commits(w.catalog.snapshot(), table)
    counted = tuple(Counted(key(table, value), commits[key(table, value)], rows, _FIGURES) for value in values)
    return w.commit(lambda tx: [NoteStatistics(table, counted)])


def _commits(snapshot: Snapshot, table: Table) -> dict[bytes, int]:
    return {content.key: content.commit for content in snapshot.contents(table)}


def _properties(snapshot: Snapshot, table: Table) -> dict[str | None, Mapping[str, str]]:
    return {partition.values[0]: partition.properties for partition in snapshot.partitions(table)}


def test_a_partition_has_new_figures_and_the_content_it_had(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "a", files=2)
    written = w.overwrite(t, "b")
    before = w.catalog.snapshot()
    assert paths(before, t) == ["2/a/0", "2/a/1", "3/b/0"]
    _note(w, t, ["a", "b"], 7)
    after = w.catalog.snapshot()
    assert [(partition.rows, partition.bytes, partition.files) for partition in after.partitions(t)] == [
        (7, 200, 2),
        (7, 100, 1),
    ]
    assert _properties(after, t) == {"a": _FIGURES, "b": _FIGURES}
    assert [partition.rows for partition in before.partitions(t)] == [20, 10]
    assert _properties(before, t) == {"a": {}, "b": {}}
    assert paths(after, t) == paths(before, t)
    assert _commits(after, t)[key(t, "b")] == written == _commits(before, t)[key(t, "b")]
    assert w.catalog.events(limit=10**6)[-2].kind == "ANALYZE"


def test_it_outdates_nothing_and_hides_nothing_that_is_outdated(w: Warehouse, fact: dict[str, Table]) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2015-01-01-00", "2015-01-02-00", "2015-01-03-00")
    w.into(days, "2015-01-01", "2015-01-02", sources=[hours])
    w.into(hours, "2015-01-02-00")
    w.drop(hours, "2015-01-03-00")
    fresh, outdated = w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)
    assert (fresh, outdated) == (["2015-01-01"], ["2015-01-02"])
    _note(w, hours, ["2015-01-01-00", "2015-01-02-00"], 3)
    _note(w, days, ["2015-01-01", "2015-01-02"], 3)

    def lines() -> list[list[str]]:
        return [
            w.fresh("days", P.DAILY),
            w.outdated("days", P.DAILY),
            w.fresh("hours", P.HOURLY),
            w.line("hours", P.HOURLY, "retired"),
        ]

    wanted = [["2015-01-01"], ["2015-01-02"], ["2015-01-01-00", "2015-01-02-00"], ["2015-01-03-00"]]
    assert lines() == wanted
    snapshot = w.catalog.snapshot()
    with w.catalog.begin() as tx:
        tx.commit([RefreshTimelines(snapshot.fact("f"))])
    assert tx.differences == ()
    assert lines() == wanted
    w.into(hours, "2015-01-01-00")
    assert w.outdated("days", P.DAILY) == ["2015-01-01", "2015-01-02"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_writers_that_have_not_seen_it_meet_no_conflict(w: Warehouse, overwrite: bool) -> None:
    t = w.create("t")
    w.into(t, "a", "b")
    with w.catalog.begin() as tx:
        change = write(tx, t, "a", overwrite=overwrite)
        _note(w, t, ["a", "b"])
        tx.commit([change])
    after = w.catalog.snapshot()
    assert [partition.rows for partition in after.partitions(t)] == [10 if overwrite else 20, 10]
    assert len(paths(after, t)) == (2 if overwrite else 3)


@pytest.mark.parametrize("then", ["into", "overwrite", "drop"])
def test_what_was_written_since_it_was_counted_is_left_alone(w: Warehouse, then: str) -> None:
    t = w.create("t")
    w.into(t, "a", "b")
    commits = _commits(w.catalog.snapshot(), t)
    getattr(w, then)(t, "a")
    before = {partition.key: partition for partition in w.catalog.snapshot().partitions(t)}
    counted = tuple(Counted(partition_key, commit, 99, _FIGURES) for partition_key, commit in commits.items())
    w.commit(lambda tx: [NoteStatistics(t, counted)])
    after = {partition.key: partition for partition in w.catalog.snapshot().partitions(t)}
    assert after.get(key(t, "a")) == before.get(key(t, "a"))
    assert (after[key(t, "b")].rows, after[key(t, "b")].properties) == (99, _FIGURES)


def _moments(w: Warehouse, table: Table, value: str) -> tuple[float, float, int]:
    """Returns when a partition was created and changed, and by which write."""
    history = w.catalog.snapshot().history(table, key(table, value))
    assert history is not None
    assert history.created is not None
    assert history.changed is not None
    return history.created, history.changed, history.write_id


def test_moments_of_partitions_and_objects(w: Warehouse) -> None:
    begun = time.time()
    t = w.create("t")
    w.into(t, "a", "b")
    born, changed, first = _moments(w, t, "a")
    created = w.catalog.snapshot().created(t)
    assert created is not None
    assert begun - 5 <= created <= born == changed <= time.time() + 5
    time.sleep(0.05)
    w.into(t, "a")
    _note(w, t, ["a"])
    still_born, changed, last = _moments(w, t, "a")
    assert still_born == born < changed
    assert (first, last) == (2, 4)
    w.drop(t, "a")
    assert w.catalog.snapshot().history(t, key(t, "a")) is None
    w.add(t, "a")
    assert _moments(w, t, "a")[0] == _moments(w, t, "a")[1] > changed
    assert _moments(w, t, "b")[:2] == (born, born)


def test_a_moment_is_that_of_the_commit(w: Warehouse) -> None:
    t = w.create("t")
    with w.catalog.begin() as tx:
        change = write(tx, t, "a")
        time.sleep(0.2)
        before = time.time()
        tx.commit([change])
    assert _moments(w, t, "a")[0] >= before - 0.1


def test_statistics_are_one_property() -> None:
    column = ColumnStatistics("string", 1, 2, None, None, 3, 4)
    statistics = Statistics("digest", 5, 1, 10, {"é": column})
    assert statistics_in({"owner": "me", **statistics.to_property()}) == statistics
    assert without_statistics({"owner": "me", **statistics.to_property()}) == {"owner": "me"}
    for damaged in ("", "[]", "{}", "null", '{"columns":1}', '{"columns":{"a":{"kind":1}}}'):
        assert statistics_in({"rewriter.statistics": damaged}) is None
