"""Reads CSV files of one column on Spark, line by line in its Python workers, through a custom data source.

In such a file, an empty line is a row whose value is NULL. Spark's own reader silently skips it, and no option of Spark
changes that. With two columns, a row has at least a delimiter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rewriter.exec.spark.file_source import file_rows, file_source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_FORMAT = "rewriter_csv_lines"


def csv_lines(session: SparkSession, paths: Sequence[str], separator: str, schema: StructType | str) -> DataFrame:
    """Returns the rows of CSV files with a header of one name: the value as text and the path of the file, named by
    ``schema``.

    Reads about a million lines a second per core. A line with a delimiter, or an unterminated quote, fails the query
    with FAILED_READ_FILE.
    """
    return file_rows(session, _FORMAT, paths, {"separator": separator}, schema)


def data_source() -> Any:
    """Returns the class of the data source, which each session has to register. It uses nothing of this package."""

    def batches(path: str, separator: str, names: list[str]) -> Iterator[pa.RecordBatch]:
        import csv
        import itertools

        import pyarrow as pa

        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter=separator, strict=True)
            next(rows)
            while chunk := list(itertools.islice(rows, 10_000)):
                if max(map(len, chunk)) > 1:
                    raise ValueError("a row has more values than the header")
                values = pa.array([row[0] if row else None for row in chunk], pa.string())
                yield pa.RecordBatch.from_arrays([values, pa.array([path] * len(chunk))], names=names)

    def read_file(path: str, plan: Mapping[str, Any], names: list[str]) -> Iterator[pa.RecordBatch]:
        import csv

        csv.field_size_limit(2**31 - 1)
        count = 0
        try:
            for batch in batches(path, plan["separator"], names):
                yield batch
                count += batch.num_rows
        except (OSError, ValueError, csv.Error) as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            text = f"[FAILED_READ_FILE] The file {path} cannot be read after row {count}: {reason}."
            raise ValueError(text) from None

    return file_source(_FORMAT, read_file)
