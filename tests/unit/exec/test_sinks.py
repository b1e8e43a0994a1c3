"""Sinks over batches: rows, files, and the bounds of open files and of rows in memory."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.connectors.table_sink import PartitionableTableSink
from rewriter.exec.formats.registry import FORMATS
from rewriter.exec.sinks import held_rows, partition_limit, partition_rows, ungrouped
from rewriter.exec.sinks.choice import choose_sink, open_sink
from rewriter.exec.sinks.choice import partition_rows as rows_of
from rewriter.exec.sinks.file_target import FileTarget, WrittenEntry
from rewriter.exec.sinks.open_file import OpenFile
from rewriter.exec.sinks.partition_limit import PartitionLimit, SharedPartitions, TooManyPartitionsError
from rewriter.exec.sinks.partition_rows import sorted_rows, write_rows
from rewriter.exec.sinks.sink_kinds import SinkChoice, SinkKind
from rewriter.exec.sinks.table_sink import FileTableSink

PARTITIONED = pa.schema([("x", pa.int64()), ("p", pa.string()), ("q", pa.string())])
KINDS = [SinkKind.GROUPED, SinkKind.UNGROUPED, SinkKind.SORTED]


def batches(source: random.Random, partitions: int, count: int, rows: int) -> list[pa.RecordBatch]:
    """Returns batches in no order. Some partitions have NULL."""
    made, number = [], 0
    for _ in range(count):
        keys = [source.randrange(partitions) for _ in range(rows)]
        made.append(
            pa.RecordBatch.from_pydict(
                {
                    "x": list(range(number, number + rows)),
                    "p": [None if key % 7 == 3 else f"p{key % 7}" for key in keys],
                    "q": [str(key) for key in keys],
                },
                schema=PARTITIONED,
            )
        )
        number += rows
    return made


def write(
    target: FileTarget, choice: SinkChoice, given: list[pa.RecordBatch], packed: bool = False
) -> list[WrittenEntry]:
    sink = open_sink(choice, target, (), pa.schema([("p", pa.string()), ("q", pa.string())]) if packed else None)
    if choice.is_grouped:
        rows = pa.Table.from_batches(given).to_pylist()
        rows.sort(key=lambda row: (row["p"] is not None, row["p"], row["q"]))
        given = pa.Table.from_pylist(rows, schema=PARTITIONED).to_batches(max_chunksize=70)
    write_rows(rows_of(choice, given, 1), sink)
    return sink.written


def expected(given: list[pa.RecordBatch]) -> Counter[object]:
    table = pa.Table.from_batches(given).to_pylist()
    return Counter((row["x"], (row["p"], row["q"])) for row in table)


def stored(written: list[WrittenEntry]) -> Counter[object]:
    found: Counter[object] = Counter()
    for path, key, rows, size, _ in written:
        values = pq.read_table(path)["x"].to_pylist()
        assert len(values) == rows
        assert os.path.getsize(path) == size
        found.update((value, key) for value in values)
    return found


@pytest.fixture
def target(tmp_path: Path) -> FileTarget:
    return FileTarget(str(tmp_path), "parquet", ("p", "q"), {"/": "%2F"}, "null")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("partitions", [1, 3, 40])
def test_each_sink_writes_the_rows_into_their_partitions(kind: SinkKind, partitions: int, target: FileTarget) -> None:
    given = batches(random.Random(partitions), partitions, 5, 200)
    written = write(target, SinkChoice(kind, max_open_writers=8), given)
    assert stored(written) == expected(given)
    assert all(os.path.dirname(path) == target.partition_directory(key) for path, key, *_ in written)
    if kind is not SinkKind.UNGROUPED:
        assert len(written) == len({key for _, key, *_ in written})


@pytest.mark.parametrize("kind", [SinkKind.GROUPED, SinkKind.SORTED])
def test_packed_files_hold_the_same_rows(kind: SinkKind, target: FileTarget) -> None:
    given = batches(random.Random(1), 40, 5, 200)
    written = write(target, SinkChoice(kind), given, packed=True)
    assert len({path for path, *_ in written}) == 1
    stored_rows = pq.read_table(written[0][0]).to_pylist()
    assert Counter((row["x"], (row["p"], row["q"])) for row in stored_rows) == expected(given)
    assert {key: rows for _, key, rows, *_ in written} == Counter(key for _, key in expected(given).elements())
    # The partitions are in the order of both engines, NULL first.
    assert [place[-1] for *_, place in written if place is not None] == list(range(len(written)))


def test_the_least_recently_used_file_is_closed(target: FileTarget) -> None:
    sink = open_sink(SinkChoice(SinkKind.UNGROUPED, max_open_writers=2), target, ())
    row = pa.record_batch({"x": pa.array([1], pa.int64())})
    for key in "abacb":
        sink.add((key, ""), row)
    assert [key for _, (key, _), *_ in sink.written] == ["b", "a"]
    sink.close()
    assert Counter(key for _, (key, _), *_ in sink.written) == {"a": 1, "b": 2, "c": 1}
    assert {rows for _, (key, _), rows, *_ in sink.written if key == "a"} == {2}


def test_open_files_hold_a_bounded_number_of_bytes(target: FileTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ungrouped, "MOST_HELD_BYTES", 4000)
    held: list[int] = []
    files: list[OpenFile] = []
    original = OpenFile.__init__

    def opened(self: OpenFile, *args: object) -> None:
        original(self, *args)  # type: ignore[arg-type]
        files.append(self)

    monkeypatch.setattr(OpenFile, "__init__", opened)
    given = batches(random.Random(2), 20, 20, 300)

    def observed() -> Iterator[pa.RecordBatch]:
        for batch in given:
            yield batch
            held.append(sum(file.held_bytes for file in files))

    choice = SinkChoice(SinkKind.UNGROUPED, max_open_writers=20)
    sink = open_sink(choice, target, ())
    write_rows(rows_of(choice, observed(), 1), sink)
    assert 0 < max(held) < 4000
    assert stored(list(sink.written)) == expected(given)
    assert len(sink.written) == 20


def test_rows_of_a_file_do_not_keep_their_batch_in_memory(target: FileTarget) -> None:
    """One row of each batch waits for the end of the write: the other rows must not wait with it."""
    before = pa.total_allocated_bytes()

    def given() -> Iterator[pa.RecordBatch]:
        for number in range(50):
            texts = pa.array(["x" * 1000] * 1000)
            keys = pa.array(["rare", *[f"often{number % 2}"] * 999])
            yield pa.RecordBatch.from_arrays([texts, keys, keys], names=["t", "p", "q"])

    choice = SinkChoice(SinkKind.UNGROUPED, max_open_writers=2)
    sink = open_sink(choice, target, ())
    for values, rows in rows_of(choice, given(), 1):
        key = tuple(values)
        sink.add(key, rows)
        if key[0] != "rare":
            sink._open[key].flush()  # type: ignore[attr-defined]
    assert pa.total_allocated_bytes() - before < 10_000_000
    sink.close()


def test_sorting_holds_a_bounded_number_of_bytes(target: FileTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewriter.exec.sinks import choice

    given = batches(random.Random(3), 5, 12, 100)
    monkeypatch.setattr(choice, "ACCUMULATED_BYTES", 4 * given[0].nbytes)
    written = write(target, SinkChoice(SinkKind.SORTED), given)
    assert stored(written) == expected(given)
    # Three times four batches, each with every partition; the last file of a round may be continued by the next.
    assert 13 <= len(written) <= 15


def test_a_file_ends_at_the_target_size(target: FileTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_rows, "MOST_HELD_ROWS", 100)
    small = FileTarget(target.directory, "parquet", (), {}, "", target_bytes=3000)
    sink = open_sink(SinkChoice(SinkKind.SINGLE), small, ())
    for start in range(0, 5000, 100):
        sink.add((), pa.record_batch({"x": pa.array(range(start, start + 100), pa.int64())}))
    sink.close()
    sizes = [size for *_, size, _ in sink.written]
    assert len(sizes) > 2
    assert all(3000 <= size < 5000 for size in sizes[:-1])
    assert sum(rows for _, _, rows, *_ in sink.written) == 5000


@pytest.mark.parametrize("kind", KINDS)
def test_rows_beyond_the_limit_are_not_read(kind: SinkKind, target: FileTarget) -> None:
    read: list[int] = []

    def given() -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches(random.Random(4), 8, 10, 50)):
            read.append(number)
            yield batch

    sink = open_sink(SinkChoice(kind), target, ())
    # The batches of the grouped sink are not sorted: a partition comes several times.
    rows = sorted_rows(given(), 1) if kind is SinkKind.SORTED else rows_of(SinkChoice(kind), given(), 1)
    with pytest.raises(TooManyPartitionsError):
        write_rows(rows, sink, limit=PartitionLimit(3))
    assert read == [0]
    # The rows that were read before are few, so that they were not written.
    assert (sink.written, os.listdir(target.directory)) == ([], [])


@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_allows_as_many_partitions(kind: SinkKind, target: FileTarget) -> None:
    given = batches(random.Random(4), 8, 10, 50)
    sink = open_sink(SinkChoice(kind), target, ())
    write_rows(rows_of(SinkChoice(kind), given, 1), sink, limit=PartitionLimit(8))
    assert stored(list(sink.written)) == expected(given)


def test_a_limit_counts_ahead_a_bounded_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    row = pa.record_batch({"x": pa.array([1] * 100, pa.int64())})
    monkeypatch.setattr(partition_limit, "AHEAD_BYTES", 3 * row.nbytes)
    read: list[int] = []

    def given() -> Iterator[tuple[tuple[str], pa.RecordBatch]]:
        for number in range(10):
            read.append(number)
            yield (str(number),), row

    taken = 0
    for (text,), _ in partition_limit.counted_ahead(given(), PartitionLimit(10)):
        assert (int(text), len(read)) == (taken, min(taken + 4, 10))
        taken += 1
    assert taken == 10


@pytest.mark.parametrize(("most", "together"), [(5, 6), (1000, 1100)])
def test_tasks_count_their_partitions_together(tmp_path: Path, most: int, together: int) -> None:
    """Three tasks have less than the limit each, and some partitions in common."""
    folder = str(tmp_path / "found")
    limits = [PartitionLimit(most, SharedPartitions(folder)) for _ in range(3)]
    for key in range(most * 9 // 10):
        for limit in limits:
            limit.count((str(key), None))
    counted = 0

    def count_others() -> None:
        nonlocal counted
        for key in range(most):
            for number, limit in enumerate(limits):
                limit.count((str(key), str(number)))
                counted += 1

    with pytest.raises(TooManyPartitionsError):
        count_others()
    assert counted <= together - most * 9 // 10


@pytest.mark.parametrize("kind", [SinkKind.SINGLE, *KINDS])
def test_a_failure_closes_the_files(kind: SinkKind, target: FileTarget) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from batches(random.Random(5), 1, 1, 10)
        raise ValueError("no more")

    sink = open_sink(SinkChoice(kind), target, ("p0", "0"))
    rows = rows_of(SinkChoice(kind), failing(), 3 if kind is SinkKind.SINGLE else 1)
    with pytest.raises(ValueError, match="no more"):
        write_rows(rows, sink, ("p0", "0") if kind is SinkKind.SINGLE else ())
    assert sink.written == []


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.float64(), [float("nan"), 0.0, None, -0.0, float("nan"), 1.5, -0.0]),
        (pa.bool_(), [True, None, False, True]),
        (pa.decimal128(20, 3), [None, 1, 2, 1]),
        (pa.date32(), [3, None, 1, 3]),
        (pa.timestamp("us", "UTC"), [3, 1, None, 3]),
        (pa.string(), ["é", "", None, "a", "é"]),
    ],
)
def test_every_type_of_partition_column_is_sorted(type_: pa.DataType, values: list[object], target: FileTarget) -> None:
    batch = pa.record_batch({"x": pa.array(range(len(values))), "p": pa.array(values, type_)})
    rows = list(partition_rows.sorted_rows([batch], 1))
    assert sorted(x for _, run in rows for x in run["x"].to_pylist()) == list(range(len(values)))
    keys = [repr(abs(key[0])) if isinstance(key[0], float) else repr(key[0]) for key, _ in rows]
    if type_ != pa.float64():
        assert len(keys) == len(set(keys))
        assert keys[0] == "None"


@pytest.mark.parametrize("seed", range(5))
def test_partitions_of_several_columns_are_sorted_by_value(seed: int) -> None:
    """NULL comes first in each column, and rows of one partition keep their order."""
    source = random.Random(seed)
    keys = [(source.choice([None, 9, 10, -1]), source.choice(["b", None, "", "a"])) for _ in range(500)]
    first, second = (pa.array(values) for values in zip(*keys, strict=True))
    batch = pa.record_batch({"x": pa.array(range(500)), "p": first, "q": second})

    def order(row: int) -> tuple[object, ...]:
        p, q = keys[row]
        return p is not None, p or 0, q is not None, q or ""

    runs = list(partition_rows.sorted_rows([batch], 1))
    assert [x for _, run in runs for x in run["x"].to_pylist()] == sorted(range(500), key=order)
    assert [tuple(key) for key, _ in runs] == [keys[run["x"][0].as_py()] for _, run in runs]
    assert len(runs) == len(set(keys))


def test_a_table_sink_that_is_not_asked_is_ungrouped(target: FileTarget) -> None:
    """Whoever cannot sort does not ask: the rows of a partition come apart, and are in one file all the same."""
    given = batches(random.Random(6), 6, 5, 100)
    sinks = [FileTableSink(SinkChoice(SinkKind.GROUPED), target, 1, ["p", "q"]) for _ in range(2)]
    assert isinstance(sinks[0], PartitionableTableSink)
    assert sinks[1].enable_dynamic_partition_grouping()
    for sink in sinks:
        sink.set_static_partition({})
        sink.write(given)
        assert stored(list(sink.written)) == expected(given)
    assert len(sinks[0].written) == 6
    assert len(sinks[1].written) > 100


def test_two_thousand_partitions_take_the_memory_of_one(target: FileTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the grouped sink, with the file that is open, stay below a bound that no number of partitions changes."""
    monkeypatch.setattr(held_rows, "MOST_HELD_BYTES", 1_000_000)
    partitions, size = 2_000, 50
    text = "x" * 200
    before, most = pa.total_allocated_bytes(), 0

    def given() -> Iterator[pa.RecordBatch]:
        nonlocal most
        for first in range(0, partitions, 10):
            keys = [f"{key:05}" for key in range(first, first + 10) for _ in range(size)]
            yield pa.record_batch({"t": [text] * len(keys), "p": keys, "q": keys})
            most = max(most, pa.total_allocated_bytes() - before)

    choice = SinkChoice(SinkKind.GROUPED)
    sink = open_sink(choice, target, ())
    write_rows(rows_of(choice, given(), 1), sink)
    assert len(sink.written) == partitions
    assert 0 < most < 3_000_000


def chosen(setting: str = "auto", format: str = "csv", most: int | None = None, **facts: bool) -> SinkKind:
    given = {
        "is_static": False,
        "is_packed": False,
        "has_many_tasks": False,
        "reads_little": False,
        "has_few_tasks": False,
        **facts,
    }
    return choose_sink(setting, FORMATS[format], lambda: most, max_open_writers=20, **given)[0]


def test_the_choice() -> None:
    assert chosen("ungrouped", is_static=True) is SinkKind.SINGLE
    assert chosen() is SinkKind.GROUPED
    assert chosen(most=20) is SinkKind.UNGROUPED
    assert chosen(most=21) is SinkKind.GROUPED
    assert chosen(most=9, format="parquet") is SinkKind.GROUPED
    assert chosen(most=8, format="orc") is SinkKind.UNGROUPED
    assert chosen(most=1, is_packed=True) is SinkKind.GROUPED
    assert chosen(most=1, has_many_tasks=True) is SinkKind.GROUPED
    assert chosen(most=1, has_many_tasks=True, reads_little=True) is SinkKind.SORTED
    assert chosen(has_many_tasks=True, reads_little=True, is_packed=True) is SinkKind.SORTED
    assert chosen(has_many_tasks=True, has_few_tasks=True, is_packed=True) is SinkKind.SORTED
    assert chosen(has_many_tasks=True, has_few_tasks=True) is SinkKind.GROUPED
    assert chosen(has_few_tasks=True, is_packed=True) is SinkKind.GROUPED
    assert chosen(most=1, reads_little=True) is SinkKind.UNGROUPED
    assert chosen("sorted", most=1, is_packed=True) is SinkKind.SORTED
