"""The rows of a query in temporary Arrow files, which the workers of a local Spark write by a custom data source.

Spark's own ways to pass rows to Python hold all of them, convert each row by itself, or need pandas.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

FORMAT = "rewriter_rows"
_REPORT = "files.json"


def spool(frame: DataFrame, directory: str) -> list[str]:
    """Writes the rows of a query into files in a directory. Returns their paths, in the order of the rows."""
    # Generated names: those of a query may repeat.
    named = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    named.write.format(FORMAT).mode("append").option("directory", directory).save()
    with open(os.path.join(directory, _REPORT), encoding="utf-8") as file:
        paths: list[str] = json.load(file)
    return paths


def read_spooled(paths: Sequence[str], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yields the rows of these files, with columns of these names."""
    import pyarrow as pa

    for path in paths:
        with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
            schema = pa.schema([pa.field(name, field.type) for name, field in zip(names, reader.schema, strict=True)])
            for number in range(reader.num_record_batches):
                yield pa.RecordBatch.from_arrays(reader.get_batch(number).columns, schema=schema)


def data_source() -> Any:
    """Returns the class of the data source, which each session has to register. It is made here so that it travels to
    the workers by value.
    """
    from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

    name_of_format, report = FORMAT, _REPORT

    @dataclass
    class Written(WriterCommitMessage):  # type: ignore[misc]
        task: int
        path: str

    class Writer(DataSourceArrowWriter):  # type: ignore[misc]
        def __init__(self, directory: str) -> None:
            self.directory = directory

        def write(self, iterator: Any) -> Any:
            import os
            import uuid

            import pyarrow as pa
            from pyspark import TaskContext

            path, writer = os.path.join(self.directory, f"{uuid.uuid4().hex}.arrow"), None
            for batch in iterator:
                if writer is None:
                    options = pa.ipc.IpcWriteOptions(compression="lz4")
                    writer = pa.ipc.new_file(path, batch.schema, options=options)
                writer.write_batch(batch)
            if writer is None:
                path = ""
            else:
                writer.close()
            return Written(TaskContext.get().partitionId(), path)

        def commit(self, messages: Any) -> None:
            import json
            import os

            written = sorted((message.task, message.path) for message in messages if message is not None)
            with open(os.path.join(self.directory, report), "w", encoding="utf-8") as file:
                json.dump([path for _, path in written if path], file)

        def abort(self, messages: Any) -> None:
            pass

    class Source(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return name_of_format

        def writer(self, schema: Any, overwrite: bool) -> Any:
            return Writer(self.options["directory"])

    return Source
