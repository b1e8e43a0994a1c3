"""Writes a DataFrame as packed files, or as files for each partition, by Python workers with a custom data source.

``DataSourceArrowWriter`` is public, works on classic Spark and Connect, and needs no pandas. Tasks write files directly
into the write's directory. Only the list that the commit leaves counts, so files of failed attempts are harmless.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import starmap
from typing import TYPE_CHECKING, Any

from rewriter.catalog.keys.values import DEFAULT_PARTITION, escape
from rewriter.catalog.model.objects import PartitionValues
from rewriter.exec import delimited_text, json_lines, orc_files, packed_writer, partitioned_writer
from rewriter.exec.engine import Packing, WrittenFile, written_file
from rewriter.exec.sql_types import arrow_type, parse_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

FORMAT = "rewriter_partitions"


def data_source() -> Any:
    """Returns the class of the data source, which each session has to register."""
    from pyspark import cloudpickle

    # Workers need not have this package.
    for module in (partitioned_writer, packed_writer, orc_files, json_lines, delimited_text):
        cloudpickle.register_pickle_by_value(module)
    return _source()


@dataclass(frozen=True)
class PartitionTarget:
    """The target of a frame: the first ``data_columns`` columns go into files; the others, texts, into directory names.

    ``levels`` are the names of all partition columns as a path has them, ``static`` the values of the first of them.
    With ``packing``, the values of all partition columns go into packed files.
    """

    directory: str
    format: str
    levels: tuple[str, ...]
    static: PartitionValues
    data_columns: int
    escapes: Mapping[str, str]
    max_partitions: int | None
    packing: Packing | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def plan(self, report: str) -> str:
        """Returns the JSON of which a worker makes its list of files. ``report`` is the file for what was written."""
        target = {**asdict(self), "null": DEFAULT_PARTITION, "report": report}
        if self.packing is not None:
            fields = [(column.name, arrow_type(parse_type(column.type))) for column in self.packing.columns]
            target["packing"]["schema"] = base64.b64encode(_schema_bytes(fields)).decode()
            target["packing"]["levels"] = [escape(column.name) for column in self.packing.columns]
        return json.dumps(target)


def _schema_bytes(fields: Sequence[tuple[str, pa.DataType]]) -> bytes:
    import pyarrow as pa

    return bytes(pa.schema(list(fields)).serialize())


def write_partitions(frame: DataFrame, target: PartitionTarget, scratch: str) -> tuple[tuple[WrittenFile, ...], int]:
    """Writes the frame, in which the rows of a partition are adjacent. ``scratch`` is a working directory.

    Returns the files, and the number of partitions that were not written because there are more than
    ``target.max_partitions``.
    """
    handle, report = tempfile.mkstemp(prefix="write-", suffix=".json", dir=scratch)
    os.close(handle)
    try:
        frame.write.format(FORMAT).mode("append").option("plan", target.plan(report)).save()
        with open(report, encoding="utf-8") as file:
            manifest_files, remaining = json.load(file)
    finally:
        os.unlink(report)
    return tuple(starmap(written_file, manifest_files)), remaining


def _source() -> Any:
    """Returns the data source's class, made here so that it travels to the workers by value."""
    from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

    file_list, write_sorted, name_of_format = partitioned_writer.FileList, partitioned_writer.write_sorted, FORMAT
    packed_file_list = packed_writer.PackedFileList

    @dataclass
    class Written(WriterCommitMessage):  # type: ignore[misc]
        files: list[Any]
        unwritten_partitions: int

    class Writer(DataSourceArrowWriter):  # type: ignore[misc]
        def __init__(self, plan: dict[str, Any]) -> None:
            self.plan = plan

        def write(self, iterator: Any) -> Any:
            plan = self.plan
            packing, texts = plan["packing"], (plan["escapes"], plan["null"], plan["max_partitions"])
            files: Any
            if packing is None:
                files = file_list(plan["directory"], plan["format"], plan["levels"], *texts, plan["options"])
            else:
                import base64

                import pyarrow as pa

                schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(packing["schema"])))
                where = (plan["directory"], schema, packing["target_bytes"], packing["levels"])
                files = packed_file_list(*where, *texts, packing["keys"])
            write_sorted(iterator, plan["data_columns"], files, tuple(plan["static"]))
            return Written([list(file) for file in files.written], files.unwritten_partitions)

        def commit(self, messages: Any) -> None:
            import json

            reports = [message for message in messages if message is not None]
            written_files = [file for message in reports for file in message.files]
            with open(self.plan["report"], "w", encoding="utf-8") as file:
                json.dump([written_files, sum(message.unwritten_partitions for message in reports)], file)

        def abort(self, messages: Any) -> None:
            pass

    class Source(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return name_of_format

        def writer(self, schema: Any, overwrite: bool) -> Any:
            import json

            return Writer(json.loads(self.options["plan"]))

    return Source
