"""Passes Arrow batches to a sink, as rows of one partition at a time.

Runs of equal keys are found by column, so no Python code runs for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rewriter.exec.sinks.partition_limit import PartitionLimit, counted_ahead

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.sinks.file_target import Key, PartitionSink

#: Accumulate-and-sort holds so many bytes of rows, and as many again while it sorts them.
ACCUMULATED_BYTES = 128 * 1024 * 1024

#: A copy of sorted rows has about so many bytes: one partition may have most of the rows.
_COPIED_BYTES = 8 * 1024 * 1024

#: The values of the dynamic partition columns, and rows that have them.
PartitionRows = Iterator["tuple[list[Any], pa.RecordBatch]"]


def write_rows(
    rows: PartitionRows,
    sink: PartitionSink,
    static: Key = (),
    text: Callable[[int, Any], str | None] | None = None,
    limit: PartitionLimit | None = None,
) -> None:
    """Writes rows and finishes the files; discards them after a failure.

    ``static`` are the texts of the static columns, which come first in a key. ``text`` converts a value of a dynamic
    column (by its number) to text; without it, these columns are texts. Raises ``TooManyPartitionsError`` for rows
    beyond ``limit``.
    """
    keyed_rows = (
        ((*static, *(values if text is None else [text(i, value) for i, value in enumerate(values)])), batch)
        for values, batch in rows
    )
    try:
        for key, batch in keyed_rows if limit is None else counted_ahead(keyed_rows, limit):
            sink.add(key, batch)
        sink.close()
    except BaseException:
        sink.discard()
        raise


def adjacent_rows(batches: Iterable[pa.RecordBatch], data_columns: int) -> PartitionRows:
    """Yields the rows in their order, by runs of one partition. The first ``data_columns`` columns are data, and the
    others the dynamic partition columns.
    """
    for batch in batches:
        keys = [batch.column(i) for i in range(data_columns, batch.num_columns)]
        data = batch.select(list(range(data_columns)))
        start = 0
        for end in _run_ends(keys, batch.num_rows):
            yield [_python(key, start) for key in keys], data.slice(start, end - start)
            start = end


def sorted_rows(batches: Iterable[pa.RecordBatch], data_columns: int, most_bytes: int = 0) -> PartitionRows:
    """Yields the rows by partition, NULL first, for each ``most_bytes`` of rows: for each batch without it. Rows of one
    partition keep their order; many come in several pieces, one after the other.
    """
    held: list[pa.RecordBatch] = []
    held_bytes = 0
    for batch in batches:
        held.append(batch)
        held_bytes += batch.nbytes
        if held_bytes >= most_bytes:
            yield from _sorted_batch(held, data_columns)
            held_bytes = 0
    if held:
        yield from _sorted_batch(held, data_columns)


def _sorted_batch(held: list[pa.RecordBatch], data_columns: int) -> PartitionRows:
    """Yields the rows of batches, which are removed from the list, as copies that hold no other rows in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    batch = held[0] if len(held) == 1 else pa.concat_batches(held)
    held.clear()
    keys = [batch.column(i) for i in range(data_columns, batch.num_columns)]
    data = batch.select(list(range(data_columns)))
    if not batch.num_rows:
        return
    partitions, ranks = _ranks(keys)
    if partitions <= 1:
        yield [_python(key, 0) for key in keys], data
        return
    order = pc.sort_indices(ranks)
    most_rows = max(1, batch.num_rows * _COPIED_BYTES // max(1, batch.nbytes))
    start = 0
    for end in _run_ends([ranks.take(order)], batch.num_rows):
        values = [_python(key, order[start].as_py()) for key in keys]
        for first in range(start, end, most_rows):
            yield values, data.take(order.slice(first, min(most_rows, end - first)))
        start = end


def _ranks(keys: Sequence[pa.Array]) -> tuple[int, pa.Array]:
    """Returns the number of partitions, and the position of each row's partition among them: NULL first, then by value.

    Sorting these small integers takes a tenth of the time of sorting the values, where partitions have many rows.
    """
    import pyarrow.compute as pc

    partitions, ranks = _ranks_of_values(keys[0])
    for key in keys[1:]:
        values, key_ranks = _ranks_of_values(key)
        partitions, ranks = _ranks_of_values(pc.add(pc.multiply(ranks, values), key_ranks))
    return partitions, ranks


def _ranks_of_values(key: pa.Array) -> tuple[int, pa.Array]:
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(key, null_encoding="encode")
    values = encoded.dictionary
    # NULL comes first, as in both engines.
    columns = {"valid": pc.is_valid(values), "value": values}
    order = pc.sort_indices(pa.RecordBatch.from_pydict(columns), sort_keys=[(name, "ascending") for name in columns])
    # The order of a permutation is its inverse.
    ranks = pc.sort_indices(order).cast(pa.int64())
    return len(values), ranks.take(encoded.indices)


def _python(values: pa.Array, index: int) -> Any:
    try:
        return values[index].as_py()
    except (OverflowError, ValueError):  # no partition can have a date or timestamp that Python cannot hold
        raise _outside_years(str(values.cast("string")[index])) from None


def check_years(texts: Iterable[str | None]) -> None:
    """Raises ``ValueError`` INVALID_PARTITION_VALUE for the text of a date or timestamp that no partition can have."""
    for text in texts:
        if text is not None and (not text[:4].isdigit() or text.startswith("0000")):
            raise _outside_years(text)


def _outside_years(text: str) -> ValueError:
    return ValueError(
        f"[INVALID_PARTITION_VALUE] A partition column has the value {text}, which is not between the years 1 and 9999."
    )


def _run_ends(keys: Sequence[pa.Array], rows: int) -> list[int]:
    """Returns the offsets at which a run of equal keys ends, in order; NULL equals NULL."""
    import pyarrow.compute as pc

    ends = {rows} if rows else set()
    for key in keys if rows else ():
        ends.update(pc.run_end_encode(key).run_ends.to_pylist())
    return sorted(ends)
