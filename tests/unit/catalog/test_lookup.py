"""Reading partitions by filter from the catalog: whole, named, counted, page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rewriter.catalog import Transaction
from rewriter.catalog.model.changes import AddPartitions, Change, DropPartitions, PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column, Table
from rewriter.catalog.reading import partition_lookup as module
from rewriter.errors import AnalysisError, ConflictError, DataError, InterfaceError, ParseError
from rewriter.grammar.filters import Comparison
from rewriter.grammar.parser import parse_filter
from rewriter.grammar.terms import Literal

from .filter_model import truth
from .support import Warehouse, key

COLUMNS = (Column("ds", "string"), Column("hr", "int"))
VALUES = [(f"2020-01-{day:02}", str(hour)) for day in range(1, 6) for hour in range(24)]
ALL: list[tuple[str | None, str | None]] = [*VALUES, (None, None), (None, "3"), ("2020-01-03", None)]


@pytest.fixture
def table(w: Warehouse) -> Table:
    table = w.create("t", COLUMNS)
    w.commit(lambda tx: [_written(table, tx.write_id(table), ALL)])
    return table


def _written(table: Table, write_id: int, values: list[tuple[str | None, str | None]]) -> WritePartitions:
    return WritePartitions(table, write_id, tuple(map(PartitionWrite, values)), False)


FILTERS = {
    "ds = '2020-01-02' and hr = 7": 1,
    "ds = '2020-01-03'": 25,
    "'2020-01-02' < ds and hr <= 1": 6,
    "hr = 3": 6,
    "hr is null": 2,
    "ds is null and hr is null": 1,
    "not (ds is null) and hr in (1, 99, 2.5)": 5,
    "ds like '2020-01-0%' and hr between 5 and 6.5": 10,
    "ds like '%5'": 24,
    "hr > 3.5 or ds = '2020-01-01'": 5 * 20 + 4,
    "hr = 300000000000": 0,
    "ds = null": 0,
    "ds <> 'x''; drop table partitions; --'": 121,
}


@pytest.mark.parametrize(("text", "count"), FILTERS.items())
def test_the_forms_agree(w: Warehouse, table: Table, text: str, count: int) -> None:
    snapshot = w.catalog.snapshot()
    partitions = snapshot.get_partitions_by_filter(table, text)
    assert len(partitions) == len({partition.key for partition in partitions}) == count
    assert [partition.key for partition in partitions] == sorted(partition.key for partition in partitions)
    assert partitions == snapshot.get_partitions_by_expr(table, parse_filter(text))
    names = snapshot.partition_names_by_filter(table, text)
    keys = {partition.key: partition.values for partition in snapshot.partitions(table)}
    assert all(keys[partition.key] == partition.values for partition in partitions)
    assert names == tuple(
        f"ds={_shown(ds)}/hr={_shown(hr)}" for ds, hr in (partition.values for partition in partitions)
    )
    assert snapshot.count_partitions_by_filter(table, text) == count


def _shown(value: str | None) -> str:
    return "__HIVE_DEFAULT_PARTITION__" if value is None else value


def test_no_filter_is_everything(w: Warehouse, table: Table) -> None:
    snapshot = w.catalog.snapshot()
    assert snapshot.get_partitions_by_expr(table, None) == snapshot.partitions(table)


@pytest.mark.parametrize("text", ["hr >= 0", "hr = 3", "ds like '%1' or hr = 5"])
def test_pages_follow_each_other(
    w: Warehouse, table: Table, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(module, "PAGE", 4)
    snapshot = w.catalog.snapshot()
    names = list(snapshot.partition_names_by_filter(table, text))
    paged: list[str] = []
    while page := snapshot.partition_names_by_filter(table, text, 7, paged[-1] if paged else None):
        paged += page
    assert paged == names
    last = snapshot.get_partitions_by_filter(table, text, 2)[-1]
    assert snapshot.get_partitions_by_filter(table, text, 3, last.key)[0].key > last.key
    assert snapshot.partition_names_by_filter(table, text, 0) == ()


def test_what_the_database_rejects_is_never_read(w: Warehouse, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    key_page = module.queries.key_page

    def recorded(*given: Any) -> list[bytes]:
        read.extend(page := key_page(*given))
        return page

    monkeypatch.setattr(module.queries, "key_page", recorded)
    snapshot = w.catalog.snapshot()
    assert len(snapshot.partition_names_by_filter(table, "ds like '%5'")) == len(read) == 24
    assert len(snapshot.partition_names_by_filter(table, "ds like '%5'", 7)) == 7
    assert len(read) == 24 + 7
    # Counted where the rows are; the first of two branches has nothing left to test.
    assert snapshot.count_partitions_by_filter(table, "ds like '%5'") == 24
    assert snapshot.count_partitions_by_filter(table, "ds = '2020-01-01' or ds > '2020-01-02' and ds like '%5'") == 48
    assert len(read) == 24 + 7
    # A pattern of single characters is not a condition on bytes: keys with its prefix are read.
    assert snapshot.count_partitions_by_filter(table, "ds like '2020-01-_5'") == 24
    assert len(read) == 24 + 7 + 121


@pytest.mark.parametrize(
    ("text", "entries", "count"),
    [
        ("hr = 3 and ds like '%5'", 1, 1),
        ("hr in (3, 4) and ds like '%_5'", 11, 2),
        ("(ds > '2020-01-03' or ds like '%2') and hr = 3 or ds is null and hr = 3", 4, 4),
    ],
)
def test_what_an_index_finds_is_tested_there(
    w: Warehouse, table: Table, monkeypatch: pytest.MonkeyPatch, text: str, entries: int, count: int
) -> None:
    read: list[bytes] = []
    indexed_keys = module.queries.indexed_keys

    def recorded(*given: Any) -> list[bytes]:
        read.extend(page := indexed_keys(*given))
        return page

    monkeypatch.setattr(module.queries, "indexed_keys", recorded)
    assert w.catalog.snapshot().count_partitions_by_filter(table, text) == count
    assert len(read) == entries


def test_a_filter_as_deep_as_they_may_be(w: Warehouse, table: Table) -> None:
    text = "hr = 5 and ds <> 'x'"
    for number in range(6, 53):
        text = f"not (hr <> {number} and ds <> '{number}' and ({text}))"
    snapshot = w.catalog.snapshot()
    types = {column.name: column.type for column in COLUMNS}
    rows = [row for row in ALL if truth(parse_filter(text), types, dict(zip(types, row, strict=True)))]
    assert 0 < len(rows) < len(VALUES)
    assert snapshot.count_partitions_by_filter(table, text) == len(rows)
    assert {partition.values for partition in snapshot.get_partitions_by_filter(table, text)} == set(rows)


def test_resuming_behind_a_partition_that_is_gone(w: Warehouse, table: Table) -> None:
    snapshot = w.catalog.snapshot()
    assert snapshot.partition_names_by_filter(table, "hr = 3", after="DS=2020-01-02/hr=99")[0] == "ds=2020-01-03/hr=3"
    with pytest.raises(DataError, match="not a partition name"):
        snapshot.partition_names_by_filter(table, "hr = 3", after="hr=3")
    with pytest.raises(InterfaceError):
        snapshot.partition_names_by_filter(table, "hr = 3", -1)


def test_streaming_keeps_to_its_snapshot(w: Warehouse, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 10)
    stream = w.catalog.snapshot().lookup(table, None).names()
    first = next(stream)
    w.commit(lambda tx: [DropPartitions(table, tuple(partition.key for partition in tx.snapshot.partitions(table)))])
    assert len([first, *stream]) == len(ALL)
    assert list(w.catalog.snapshot().lookup(table, None).names()) == []


ERRORS = [
    ("ds = 7", AnalysisError, "a text of the form of its values", (5, 6)),
    ("nosuch = 1", AnalysisError, "ds, hr", (0, 10)),
    ("hr = 'abc'", DataError, "number", (5, 10)),
    ("hr = true", AnalysisError, "number", (5, 9)),
    ("hr = date '2020-01-01'", AnalysisError, "number", (5, 22)),
    ("ds = '__HIVE_DEFAULT_PARTITION__'", AnalysisError, "ds IS NULL", (5, 33)),
    (r"ds like 'a\\b'", AnalysisError, "backslash", (8, 14)),
    ("hr = 1 hr = 2", ParseError, "OR, AND", (7, 9)),
    ("hr = 1; drop table t", ParseError, "OR, AND", (6, 7)),
    ("ds = 'a", ParseError, "Close it", (5, 6)),
    ("ds = hr", ParseError, "must be a literal", (5, 7)),
    ("", ParseError, "conditions", (0, 0)),
]


@pytest.mark.parametrize(("text", "kind", "hint", "span"), ERRORS)
def test_errors_say_where_and_what_to_do(
    w: Warehouse, table: Table, text: str, kind: type, hint: str, span: tuple[int, int]
) -> None:
    with pytest.raises(kind) as caught:
        w.catalog.snapshot().get_partitions_by_filter(table, text)
    error = caught.value
    assert (error.position.start, error.position.end) == span
    assert hint in error.hint


def test_a_tree_of_ones_own_is_checked_like_text(w: Warehouse, table: Table) -> None:
    snapshot = w.catalog.snapshot()
    with pytest.raises(DataError, match="surrogate"):
        snapshot.get_partitions_by_expr(table, Comparison("ds", "=", Literal("string", "\ud800")))


def test_a_drop_by_filter_conflicts_with_writes_into_what_it_searched(w: Warehouse, table: Table) -> None:
    with w.catalog.begin() as dropping, w.catalog.begin() as near, w.catalog.begin() as far:
        partitions = dropping.snapshot.get_partitions_by_filter(table, "ds = '2020-01-02' and hr > 20")
        ranges = dropping.snapshot.lookup(table, None).ranges
        near.commit([_written(table, near.write_id(table), [("2020-01-02", "24")])])
        with pytest.raises(ConflictError):
            dropping.commit([DropPartitions(table, tuple(partition.key for partition in partitions), ranges)])
        far.commit([_written(table, far.write_id(table), [("2020-02-02", "24")])])


def test_one_partition_is_what_the_list_has_of_it(w: Warehouse, table: Table) -> None:
    """Under each snapshot of a history with an open and an aborted transaction, that of another table included."""
    second = w.create("u", COLUMNS)
    new = PartitionWrite(("2020-01-04", "99"), location="/elsewhere", properties={"a": "b"})
    changes: list[Callable[[Transaction], Change]] = [
        lambda tx: DropPartitions(table, (key(table, "2020-01-03", "3"), key(table, None, "3"))),
        lambda tx: AddPartitions(table, (PartitionWrite(("2020-01-03", "3")), new)),
        lambda tx: _written(second, tx.write_id(second), ALL[:3]),
        lambda tx: _written(table, tx.write_id(table), ALL[:9]),
    ]
    snapshots = [w.catalog.snapshot()]
    still_open = w.catalog.begin()
    still_open.write_id(table)
    for change in changes:
        with w.catalog.begin() as aborted:
            aborted.write_id(table)
        w.commit(lambda tx, change=change: [change(tx)])  # type: ignore[misc]
        snapshots.append(w.catalog.snapshot())
    still_open.commit([_written(table, still_open.write_id(table), [("2020-01-01", "77")])])
    for snapshot in [*snapshots, w.catalog.snapshot()]:
        for changed in (table, second):
            there = {partition.values: partition for partition in snapshot.partitions(changed)}
            for values in [*ALL, new.values, ("2020-01-01", "77")]:
                assert snapshot.partition(changed, values) == there.get(values)


@pytest.mark.parametrize("values", [("2020-01-01", "03"), ("2020-01-01", "x"), ("2020-01-01",), ("", "1")])
def test_values_that_name_no_partition_are_refused(w: Warehouse, table: Table, values: tuple[str | None, ...]) -> None:
    with pytest.raises(DataError):
        w.catalog.snapshot().partition(table, values)
