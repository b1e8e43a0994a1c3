"""Reads Hive's text files on Spark, in its Python workers, through a custom data source.

Spark without Hive has no reader for them. DuckDB reads them by the same code (``delimited_text``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rewriter.exec import delimited_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMAT = "rewriter_text_files"
#: The maximum number of tasks among which the files are distributed.
_MOST_TASKS = 64


def text_rows(
    session: SparkSession,
    paths: Sequence[str],
    columns: Sequence[tuple[str, bool]],
    options: Mapping[str, str],
    schema: StructType,
) -> DataFrame:
    """Returns the rows of text files: the columns as texts, then the path of the file, named by ``schema``.

    ``columns`` and ``options`` are those of ``delimited_text.read_columns``. A file that cannot be read fails the query
    with FAILED_READ_FILE.
    """
    plan = {
        "paths": list(paths),
        "columns": list(columns),
        "options": dict(options),
        "tasks": min(len(paths), _MOST_TASKS),
    }
    return session.read.format(FORMAT).schema(schema).option("plan", json.dumps(plan)).load()


def data_source() -> Any:
    """Returns the class of the data source, which each session has to register.

    The class is made here, so that it travels to the workers by value.
    """
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    name_of_format, read_columns = FORMAT, delimited_text.read_columns

    class Reader(DataSourceReader):  # type: ignore[misc]
        def __init__(self, plan: dict[str, Any], names: list[str]) -> None:
            self.plan = plan
            self.names = names

        def partitions(self) -> Sequence[InputPartition]:
            paths, tasks = self.plan["paths"], self.plan["tasks"]
            return [InputPartition(paths[task::tasks]) for task in range(tasks)]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            for path in partition.value:
                try:
                    for batch in read_columns(path, self.plan["columns"], self.plan["options"]):
                        located = [*batch.columns, pa.array([path] * batch.num_rows, pa.string())]
                        yield pa.RecordBatch.from_arrays(located, names=self.names)
                except (OSError, ValueError) as error:
                    reason = str(error).partition("\n")[0].rstrip(".")
                    text = f"[FAILED_READ_FILE] The file {path} cannot be read: {reason}."
                    raise ValueError(text) from None

    class Source(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return name_of_format

        def reader(self, schema: Any) -> DataSourceReader:
            import json

            return Reader(json.loads(self.options["plan"]), list(schema.names))

    return Source
