"""Writes a DataFrame through a sink, by Python workers with a custom data source.

``DataSourceArrowWriter`` is public, works on classic Spark and Connect, and needs no pandas. Tasks write files directly
into the write's directory. Only the list that the commit leaves counts, so files of failed attempts are harmless.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
import uuid
from dataclasses import asdict, dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Any

from rewriter.exec import formats, sinks
from rewriter.exec.engine import Write, WrittenFile, written_file
from rewriter.exec.sinks.file_target import FileTarget
from rewriter.exec.sinks.partition_limit import PartitionLimit, SharedPartitions, TooManyPartitionsError
from rewriter.exec.sinks.sink_kinds import SinkChoice, SinkKind
from rewriter.exec.sinks.table_sink import FileTableSink
from rewriter.exec.write_target import file_target, packed_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FORMAT = "rewriter_partitions"
#: A worker whose task has failed ends after so many seconds. Spark reads the error within them, or when it ends.
_END_SECONDS = 2.0


def data_source() -> Any:
    """Returns the class of the data source, which each session has to register."""
    from pyspark import cloudpickle

    # Workers need not have this package.
    for folder in (formats, sinks):
        cloudpickle.register_pickle_by_value(folder)
    return _source()


def _plan(write: Write, report: str, found: str) -> str:
    """Returns the JSON of which a worker makes its sink. ``report`` is the file for what was written, and ``found`` the
    directory in which tasks tell each other the partitions of their rows.
    """
    columns = packed_columns(write)
    return json.dumps(
        {
            "target": asdict(file_target(write)),
            "sink": asdict(write.used_sink),
            "static": {
                column.name: value for column, value in zip(write.partition_columns, write.static, strict=False)
            },
            "dynamic": [column.name for column in write.dynamic_columns],
            "data_columns": len(write.columns),
            "packed_columns": None if columns is None else base64.b64encode(columns.serialize()).decode(),
            "packed_keys": () if write.packing is None else write.packing.keys,
            "most_partitions": write.most_partitions if write.dynamic_columns else None,
            "found": found,
            "report": report,
        }
    )


def write_partitions(frame: DataFrame, write: Write, scratch: str) -> tuple[WrittenFile, ...]:
    """Writes the frame: data columns, then the dynamic partition columns as texts. For a grouped sink, the rows of a
    partition are adjacent. ``scratch`` is a working directory.

    Returns the files. Raises ``TooManyPartitionsError`` if they have more than ``write.most_partitions``: a task that
    finds so many notes it in a file, and fails.
    """
    found = os.path.join(write.directory, f".found-{uuid.uuid4().hex}")
    handle, report = tempfile.mkstemp(prefix="write-", suffix=".json", dir=scratch)
    os.close(handle)
    try:
        frame.write.format(_FORMAT).mode("append").option("plan", _plan(write, report, found)).save()
        with open(report, encoding="utf-8") as file:
            files = tuple(starmap(written_file, json.load(file)))
    except Exception:
        if SharedPartitions(found).has_excess():
            raise TooManyPartitionsError from None
        raise
    finally:
        os.unlink(report)
        shutil.rmtree(found, ignore_errors=True)
    if write.most_partitions is not None and len({file.values for file in files}) > write.most_partitions:
        raise TooManyPartitionsError
    return files


def _source() -> Any:
    """Returns the data source's class, made here so that it travels to the workers by value."""
    from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

    # Local names travel with the class; names of this module would be imported by the workers.
    name_of_format, make_sink = _FORMAT, FileTableSink
    make_target, make_choice, make_kind = FileTarget, SinkChoice, SinkKind
    make_limit, make_shared, limit_error = PartitionLimit, SharedPartitions, TooManyPartitionsError
    end_seconds = _END_SECONDS

    def end_worker() -> None:
        """Ends this process soon. Spark computes the other rows of a failed task, and reads its error after them, as
        long as the worker takes them (``pyspark.daemon`` does): that may be hours.
        """
        import os
        import threading

        timer = threading.Timer(end_seconds, os._exit, (1,))
        timer.daemon = True
        timer.start()

    @dataclass
    class Written(WriterCommitMessage):  # type: ignore[misc]
        files: list[Any]

    class Writer(DataSourceArrowWriter):  # type: ignore[misc]
        def __init__(self, plan: dict[str, Any]) -> None:
            self.plan = plan

        def write(self, iterator: Any) -> Any:
            plan = self.plan
            target = make_target(**{**plan["target"], "levels": tuple(plan["target"]["levels"])})
            choice = make_choice(**{**plan["sink"], "kind": make_kind(plan["sink"]["kind"])})
            columns = plan["packed_columns"]
            if columns is not None:
                import base64

                import pyarrow as pa

                columns = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(columns)))
            most = plan["most_partitions"]
            shared = make_shared(plan["found"])
            sink = make_sink(
                choice,
                target,
                plan["data_columns"],
                plan["dynamic"],
                columns,
                plan["packed_keys"],
                limit=None if most is None else make_limit(most, shared),
            )
            sink.set_static_partition(plan["static"])
            if plan["dynamic"]:
                sink.enable_dynamic_partition_grouping()  # as the driver did, before it sorted the rows
            try:
                sink.write(iterator)
            except limit_error:
                shared.note_excess()
                end_worker()
                raise
            return Written([list(file) for file in sink.written])

        def commit(self, messages: Any) -> None:
            import json

            written_files = [file for message in messages if message is not None for file in message.files]
            with open(self.plan["report"], "w", encoding="utf-8") as file:
                json.dump(written_files, file)

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
