"""The smallest and largest timestamp of a data file, as its footer states them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from rewriter.exec.data_files import unreadable

_TIMESTAMP = pa.timestamp("us", tz="UTC")


def time_bounds(path: str, column: str) -> tuple[int, int] | None:
    """Returns the smallest and largest value of a TIMESTAMP column of a Parquet file, as instants in microseconds.

    Returns ``None`` unless every row group states both and has no NULL: the rows must be read then. Costs one footer,
    about 0.2 ms. Raises ``EngineError`` if the file cannot be read.
    """
    try:
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    fields = [field for field in schema if field.name.lower() == column.lower()]
    if len(fields) != 1 or fields[0].type != _TIMESTAMP:
        return None
    index = next(i for i in range(metadata.num_columns) if metadata.schema.column(i).path == fields[0].name)
    bounds: list[tuple[int, int]] = []
    for number in range(metadata.num_row_groups):
        statistics = metadata.row_group(number).column(index).statistics
        is_stated = statistics is not None and statistics.has_min_max and statistics.has_null_count
        if not is_stated or statistics.null_count:
            return None
        bounds.append((statistics.min_raw, statistics.max_raw))
    return (min(low for low, _ in bounds), max(high for _, high in bounds)) if bounds else None
