"""The rows of a query, passed on by Python workers on this machine: few in memory, and more in temporary Arrow files.

Without workers, the JVM holds the rows of a partition before it sends them, and a Spark Connect server all rows that
the client has not read. A query may make gigabytes in one partition, by ORDER BY or by ``explode``. Here, each process
holds a batch, which Spark limits to ``spark.sql.execution.arrow.maxBytesPerBatch``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rewriter.exec.spark.session_kinds import is_connect

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

#: The bytes of a partition's rows that are passed on in memory.
_MOST_BYTES = 1 << 20


def packed(frame: DataFrame, directory: str) -> DataFrame:
    """Returns the same rows, packed: a row for each partition that has any. The files are put in ``directory``."""
    from pyspark.sql.types import BinaryType, StringType, StructField, StructType

    # The packed rows of a partition: an Arrow stream, or the path of a file that contains one.
    schema = StructType([StructField("stream", BinaryType()), StructField("path", StringType())])
    # Generated names: those of a query may repeat.
    named = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    pack = _packing(directory)
    return named.mapInArrow(pack, schema) if is_connect(frame) else _mapped(named, pack, schema)


def _mapped(frame: DataFrame, function: Callable[..., Any], schema: StructType) -> DataFrame:
    """Returns what ``DataFrame.mapInArrow`` does, which requires pandas. The workers have the Python of this process:
    they are on the same machine, and a session that was handed in may have chosen none.
    """
    from pyspark.core.rdd import _prepare_for_python_RDD
    from pyspark.sql import DataFrame
    from pyspark.sql.classic.column import _to_seq
    from pyspark.util import PythonEvalType

    session: Any = frame.sparkSession
    context: Any = session.sparkContext
    command, broadcasts, environment, includes = _prepare_for_python_RDD(context, (function, schema))
    code = context._jvm.SimplePythonFunction(
        bytearray(command),
        environment,
        includes,
        sys.executable,
        context.pythonVer,
        broadcasts,
        context._javaAccumulator,
    )
    result = session._jsparkSession.parseDataType(schema.json())
    kind = PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    functions = context._jvm.org.apache.spark.sql.execution.python
    udf = functions.UserDefinedPythonFunction("packed", code, result, kind, True, [], [])
    column = udf.apply(_to_seq(context, [frame[name]._jc for name in frame.columns]))
    return DataFrame(frame._jdf.mapInArrow(column, False, None), session)


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the rows of packed ones, and removes each file after its last row."""
    import pyarrow as pa

    for batch in batches:
        for stream, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if path is None:
                with pa.ipc.open_stream(stream) as reader:
                    yield from reader
            else:
                with pa.OSFile(path) as file, pa.ipc.open_stream(file) as reader:
                    os.unlink(path)  # Its space is free as soon as it is closed, wherever the reading ends.
                    yield from reader


def _packing(directory: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function that packs the rows of one partition. It is made here so that it travels to the workers by
    value.
    """
    most_bytes = _MOST_BYTES

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import uuid

        import pyarrow as pa

        held, size = [], 0
        batches = iter(batches)
        for batch in batches:
            held.append(batch)
            size += batch.nbytes
            if size > most_bytes:
                break
        if not held:
            return
        path = None if size <= most_bytes else os.path.join(directory, f"{uuid.uuid4().hex}.arrow")
        sink = pa.BufferOutputStream() if path is None else pa.OSFile(path, "wb")
        with sink, pa.ipc.new_stream(sink, held[0].schema) as writer:
            while held:
                writer.write_batch(held.pop(0))
            for batch in batches:
                writer.write_batch(batch)
        stream = sink.getvalue().to_pybytes() if path is None else None
        yield pa.record_batch({"stream": pa.array([stream], pa.binary()), "path": pa.array([path], pa.string())})

    return pack
