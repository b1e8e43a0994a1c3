"""A data source of Spark that reads files in its Python workers, for formats that Spark has no exact reader for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: The maximum number of tasks among which the files are distributed.
_MOST_TASKS = 64

#: Reads the file of a path, by the plan of the query, as batches whose columns have these names.
ReadFile = Callable[[str, Mapping[str, Any], list[str]], "Iterator[pa.RecordBatch]"]


def file_rows(
    session: SparkSession, format_name: str, paths: Sequence[str], plan: Mapping[str, Any], schema: StructType | str
) -> DataFrame:
    """Returns the rows of files by a registered format. ``plan`` is what its ``ReadFile`` receives, of JSON's types."""
    text = json.dumps({**plan, "paths": list(paths), "tasks": min(len(paths), _MOST_TASKS)})
    return session.read.format(format_name).schema(schema).option("plan", text).load()


def file_source(format_name: str, read_file: ReadFile) -> Any:
    """Returns the class of a data source, which each session has to register.

    The class is made here, so that it travels to the workers by value. ``read_file`` has to be a local function, too.
    """
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

    class Reader(DataSourceReader):  # type: ignore[misc]
        def __init__(self, plan: dict[str, Any], names: list[str]) -> None:
            self.plan = plan
            self.names = names

        def partitions(self) -> Sequence[InputPartition]:
            paths, tasks = self.plan["paths"], self.plan["tasks"]
            return [InputPartition(paths[task::tasks]) for task in range(tasks)]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            for path in partition.value:
                yield from read_file(path, self.plan, self.names)

    class Source(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return format_name

        def reader(self, schema: Any) -> DataSourceReader:
            import json

            return Reader(json.loads(self.options["plan"]), list(schema.names))

    return Source
