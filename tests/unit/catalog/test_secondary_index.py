"""The secondary index: what is written, when it is chosen, what it visits, and many stretches in one statement."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.catalog import Catalog
from rewriter.catalog.filters.predicates import bind_filter
from rewriter.catalog.keys import encoding
from rewriter.catalog.model.changes import AddPartitions, DropPartitions, PartitionWrite
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, Table
from rewriter.catalog.reading import access_paths, partition_lookup, queries
from rewriter.catalog.reading.partition_lookup import Lookup
from rewriter.catalog.store import prepared_statements, schema
from rewriter.grammar.filters import Filter
from rewriter.grammar.parser import parse_filter
from rewriter.grammar.unparse import render_filter

from .filter_model import truth
from .support import Warehouse
from .support import key as key_of
from .test_scan_plans import filters, tables

COLUMNS = (Column("ds", "string"), Column("hr", "int"), Column("c", "string"))


def add(w: Warehouse, table: Table, values: Sequence[tuple[str | None, ...]]) -> None:
    w.commit(lambda tx: [AddPartitions(table, tuple(map(PartitionWrite, values)))])


def drop(w: Warehouse, table: Table, *values: tuple[str | None, ...]) -> None:
    w.commit(lambda tx: [DropPartitions(table, tuple(sorted(key_of(table, *row) for row in values)))])


def looked_up(w: Warehouse, table: Table, text: str) -> Lookup:
    return w.catalog.snapshot().lookup(table, bind_filter(parse_filter(text), table.partition_columns))


def way(lookup: Lookup) -> str:
    index = lookup.choice.index
    return "key" if index is None else lookup.table.partition_columns[index.column].name


@pytest.fixture
def days(w: Warehouse) -> Table:
    """Creates forty days of ten hours. One partition in a hundred has PT."""
    table = w.create("days", COLUMNS)
    values = [(f"2024-{d // 20 + 1:02}-{d % 20 + 1:02}", str(h)) for d in range(40) for h in range(10)]
    add(w, table, [(*row, "PT" if n % 100 == 7 else "US") for n, row in enumerate(values)])
    return table


CHOICES = [
    ("ds = '2024-01-03'", "key"),
    ("ds = '2024-01-03' and c = 'US'", "key"),
    ("ds < '2024-02-01' and c = 'PT'", "c"),
    ("c = 'PT'", "c"),
    ("c = 'US'", "key"),
    ("hr = 3", "hr"),
    ("hr in (1, 3) and c = 'PT'", "c"),
    ("hr = 3 and ds like '%1'", "hr"),
    ("hr = 3 or c = 'PT'", "key"),
    ("hr = 3 or hr = 5 and c = 'PT'", "hr"),
    ("(hr = 3 or hr = 99) and c <> 'PT'", "hr"),
    ("hr >= 0", "key"),
    ("hr is null", "hr"),
    ("ds = '2024-01-03' and hr = 3 and c = 'US'", "key"),
    ("hr = 3 and hr = 4", "key"),
]


@pytest.mark.parametrize(("text", "wanted"), CHOICES)
def test_the_way_with_the_fewest_entries_is_chosen(w: Warehouse, days: Table, text: str, wanted: str) -> None:
    lookup = looked_up(w, days, text)
    assert way(lookup) == wanted
    types = {column.name: column.type for column in COLUMNS}
    tree = parse_filter(text)
    rows = [partition.values for partition in w.catalog.snapshot().partitions(days)]
    right = [row for row in rows if truth(tree, types, dict(zip(types, row, strict=True))) is True]
    assert [partition.values for partition in lookup.partitions()] == right
    assert lookup.count() == len(right)
    assert [partition.values for partition in lookup.partitions(3, key_of(days, "2024-01-03", "2", "US"))] == [
        row for row in right if key_of(days, *row) > key_of(days, "2024-01-03", "2", "US")
    ][:3]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Records the number of entries of each count."""
    numbers: list[int] = []
    real = queries.entry_count

    def counting(*arguments: Any) -> int:
        numbers.append(real(*arguments))
        return numbers[-1]

    with monkeypatch.context() as patched:
        patched.setattr(queries, "entry_count", counting)
        yield numbers


@pytest.mark.parametrize(("text", "cheapest"), [("c = 'PT' and hr >= 0", 8), ("hr = 3 and c = 'US'", 80)])
def test_choosing_takes_a_few_times_the_cheapest_way(
    w: Warehouse, days: Table, text: str, cheapest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_paths, "FIRST_COUNT", 2)
    lookup = looked_up(w, days, text)
    with counted(monkeypatch) as numbers:
        assert lookup.choice.exact
    limit = 3
    assert sum(numbers) <= limit * (
        access_paths.GROWTH * cheapest * access_paths.GROWTH // (access_paths.GROWTH - 1) + len(numbers)
    )


def test_a_whole_key_and_a_range_are_not_counted(w: Warehouse, days: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as numbers:
        condition = "ds in ('2024-01-03', '2024-01-05') and hr = 3 and c = 'US'"
        assert looked_up(w, days, condition).count() == 2
        assert len(w.catalog.snapshot().partitions(days)) == 400
    assert numbers == []


class Visits:
    """The stretches that statements have searched, by the index they search."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.searched: list[tuple[str, KeyRange]] = []
        real = prepared_statements.search

        def search(connection: sa.Connection, key: sa.Column[bytes], *rest: Any) -> Any:
            self.searched += [(key.name, place) for place in rest[-1]]
            return real(connection, key, *rest)

        monkeypatch.setattr(prepared_statements, "search", search)

    def of(self, name: str, places: Sequence[bytes]) -> Counter[bytes]:
        """Returns the number of visits of each entry of an index."""
        return Counter(
            place for index, searched in self.searched if index == name for place in places if place in searched
        )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse(Catalog.open(tmp_path_factory.mktemp("shared")))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_key_is_visited_twice_and_none_beyond_the_best_index(data: st.DataObject, shared: Warehouse) -> None:
    columns, rows = data.draw(tables())
    tree = data.draw(filters(columns))
    table = shared.create(f"t{len(shared.catalog.snapshot().tables())}", tuple(columns))
    if rows:
        add(shared, table, rows)
    check_visits(shared, table, rows, tree)


def test_the_best_index_is_found_among_many_rows(shared: Warehouse) -> None:
    numbers = random.Random(11)
    columns = tuple(Column(name, "int") for name in "abcd")
    rows: list[tuple[str | None, ...]] = [
        tuple(str(value) for value in (a, b, a * b % 5, (a + b) % 11)) for a in range(12) for b in range(12)
    ]
    table = shared.create("dense", columns)
    add(shared, table, rows)
    taken: Counter[str] = Counter()
    for _ in range(120):
        branches = [
            " and ".join(
                f"{name} {numbers.choice('=<>')} {numbers.randint(0, 12)}" for name in numbers.sample("abcd", 2)
            )
            for _ in range(numbers.choice((1, 1, 2)))
        ]
        taken[check_visits(shared, table, rows, parse_filter(" or ".join(branches)))] += 1
    assert min(taken[name] for name in ("key", "b", "c", "d")) > 3


def check_visits(w: Warehouse, table: Table, rows: Sequence[tuple[str | None, ...]], tree: Filter) -> str:
    """Asserts correct results, no entry visited twice, and no more visits than the best single index. Returns the
    access path.

    An entry of a secondary index counts as two visits, its own and that of the row: counted so there is no slack.
    """
    columns = table.partition_columns
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(access_paths, "FIRST_COUNT", 1)
        lookup = w.catalog.snapshot().lookup(table, bind_filter(tree, columns))
        assert lookup.choice.exact or not lookup.indexes
        visits = Visits(patched)
        answered = [partition.values for partition in lookup.partitions()]
    types = {column.name: column.type for column in columns}
    right = [row for row in rows if truth(tree, types, dict(zip(types, row, strict=True))) is True]
    assert sorted(answered, key=lambda row: key_of(table, *row)) == answered
    assert Counter(answered) == Counter(right), render_filter(tree)
    by_key = {key_of(table, *row): row for row in rows}
    places = [
        encoding.entry_prefix(table.id, number, encoding.encode_value(column.type, row[number])) + key
        for key, row in by_key.items()
        for number, column in enumerate(columns)
        if number
    ]
    entries, looked = visits.of("place", places), visits.of("key", list(by_key))
    assert set(entries.values()) | set(looked.values()) <= {1}
    scanned = sum(any(key in scan.keys for scan in lookup.scans) for key in by_key)
    indexed = [
        2 * sum(any(place in ranges for ranges in index.entry_ranges) for place in places) for index in lookup.indexes
    ]
    assert entries.total() + looked.total() <= min([scanned, *indexed]), render_filter(tree)
    return way(lookup)


def test_entries_are_written_once_and_outlive_their_partition(w: Warehouse, days: Table) -> None:
    row = ("2024-01-03", "77", "PT")
    before = w.catalog.snapshot()
    add(w, days, [row])
    there = w.catalog.snapshot()
    drop(w, days, row)
    gone = w.catalog.snapshot()
    add(w, days, [row, ("2024-01-04", "77", "PT")])
    again = w.catalog.snapshot()

    def names(snapshot: Any) -> list[str]:
        lookup = snapshot.lookup(days, bind_filter(parse_filter("hr = 77"), COLUMNS))
        assert way(lookup) == "hr"
        assert lookup.count() == len(list(lookup.names()))
        return list(lookup.names())

    assert names(before) == names(gone) == []
    assert names(there) == ["ds=2024-01-03/hr=77/c=PT"]
    assert names(again) == ["ds=2024-01-03/hr=77/c=PT", "ds=2024-01-04/hr=77/c=PT"]


def test_more_keys_than_can_be_gathered_are_scanned(w: Warehouse, days: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    early, late = looked_up(w, days, "hr = 3"), looked_up(w, days, "hr = 3")
    assert way(late) == "hr"
    monkeypatch.setattr(access_paths, "MOST_GATHERED", 39)
    monkeypatch.setattr(access_paths, "FIRST_COUNT", 2)
    assert (way(early), early.choice.exact) == ("key", False)
    # Counted before, and too many by now.
    monkeypatch.setattr(partition_lookup, "MOST_GATHERED", 39)
    assert len(list(late.names())) == late.count() == len(list(early.names())) == 40


def test_an_older_catalog_is_indexed(tmp_path: Path) -> None:
    w = Warehouse(Catalog.open(tmp_path))
    first, second, plain = w.create("one", COLUMNS), w.create("two", COLUMNS), w.create("plain")
    values = [(f"d{n % 7}", str(n), None if n % 3 else f"é{n}") for n in range(50)]
    add(w, first, values)
    add(w, second, values[:5])
    w.add(plain, "2024")
    drop(w, first, *values[::2])
    add(w, first, values[:1])
    w.catalog.close()
    entries = "SELECT place, key FROM partition_fields ORDER BY place, key"
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        before = connection.execute(entries).fetchall()
        connection.execute("DROP TABLE partition_fields")
        connection.execute("UPDATE schema_version SET version = 5")
    assert len(before) == 2 * 55
    again = Warehouse(Catalog.open(tmp_path))
    assert again.catalog.snapshot().count_partitions_by_filter(first, "hr < 10") == 6
    again.catalog.close()
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        assert connection.execute(entries).fetchall() == before


def test_stretches_of_all_sizes_page_by_page(w: Warehouse, days: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = random.Random(5)
    snapshot = w.catalog.snapshot()
    every = [partition.key for partition in snapshot.partitions(days)]
    for size in (5, 40, 1000):
        monkeypatch.setattr(partition_lookup, "PAGE", size)
        for _ in range(2):
            edges = sorted(numbers.sample(every, 2 * numbers.randint(1, 40)))
            ranges = [KeyRange(*edges[at : at + 2]) for at in range(0, len(edges), 2)]
            wanted = [key for key in every if any(key in range_ for range_ in ranges)]
            lookup = snapshot.lookup(days, None, ranges)
            assert list(lookup.found_keys()) == [partition.key for partition in lookup.partitions()] == wanted
            assert [partition.key for partition in snapshot.partitions(days, ranges)] == wanted
            assert lookup.count() == len(wanted)
            limit, after = numbers.randint(0, 20), numbers.choice(every)
            assert list(lookup.found_keys(limit, after)) == [key for key in wanted if key > after][:limit]


def test_more_stretches_than_a_statement_takes(w: Warehouse) -> None:
    table = w.create("many")
    w.into(table, *(f"{n:04}" for n in range(1300)))
    snapshot = w.catalog.snapshot()
    ranges = [KeyRange.of_prefix(key_of(table, f"{n:04}")) for n in range(0, 1300, 2)]
    partitions = snapshot.partitions(table, ranges)
    assert [partition.values[0] for partition in partitions] == [f"{n:04}" for n in range(0, 1300, 2)]
    assert [file.path for _, file in snapshot.files(table, ranges)] == [
        f"/w/many/2/{n:04}/0" for n in range(0, 1300, 2)
    ]
    assert snapshot.lookup(table, None, ranges).count() == 650


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_stretches_are_ranges_of_an_index(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    engine = sa.create_engine(url)
    row, entry = schema.partitions.c, schema.partition_fields.c
    given = [KeyRange(encoding.prefix(n), encoding.prefix(n + 1)) for n in range(0, 500, 2)]
    common = {"partition_values": "[]", "bytes": 0, "files": 0, "as_of": 0, "sources": "[]", "made": 1, "commit_seq": 1}
    with engine.begin() as connection:
        schema.metadata.create_all(connection)
        some = [{**common, "table_id": n // 10, "key": encoding.prefix(n), "ended": schema.NEVER} for n in range(5000)]
        connection.execute(schema.partitions.insert(), some)
        connection.execute(schema.partition_fields.insert(), [{"place": row["key"], "key": b""} for row in some])
        if kind == "postgresql":
            connection.exec_driver_sql("ANALYZE")
        for searched, columns in ((row.key, (row.key, row.location)), (entry.place, (entry.place, entry.key))):
            for chosen in (given, given[:1]):
                query = prepared_statements.search(connection, searched, columns, (), chosen).order_by(searched.name)
                text = query.compile(dialect=engine.dialect)
                words = "EXPLAIN QUERY PLAN" if kind == "sqlite" else "EXPLAIN"
                bound = [text.params[name] for name in text.positiontup] if text.positiontup else text.params
                plan = " ".join(str(line[-1]) for line in connection.exec_driver_sql(f"{words} {text}", _tuple(bound)))
                if kind == "sqlite":
                    assert f"({searched.name}>? AND {searched.name}<?)" in plan
                    assert f"SCAN {searched.table.name}" not in plan
                else:
                    assert "Index Cond" in plan
                    assert "Seq Scan" not in plan
    engine.dispose()


def _tuple(bound: Any) -> Any:
    return tuple(bound) if isinstance(bound, list) else bound
