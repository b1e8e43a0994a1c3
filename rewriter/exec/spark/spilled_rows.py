"""The rows of a query, passed on by Python workers on this machine: few in memory, and more in temporary Arrow files.

Without workers, the JVM holds the rows of a partition before it sends them, and a Spark Connect server all rows that
the client has not read. A query may make gigabytes in one partition, by ORDER BY or by ``explode``. Here, each process
holds a batch, which Spark limits to ``spark.sql.execution.arrow.maxBytesPerBatch``.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rewriter.errors import NotSupportedError
from rewriter.exec.spark.session_kinds import is_connect

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


#: The bytes of a partition's rows that are passed on in memory.
_MOST_BYTES = 1 << 20


def pack_rows(frame: DataFrame, directory: str) -> DataFrame:
    """Returns the same rows, packed: a row for each partition that has any. The files are put in ``directory``."""
    from pyspark.sql.types import BinaryType, StringType, StructField, StructType

    # The packed rows of a partition: an Arrow stream, or the path of a file that contains one.
    schema = StructType([StructField("stream", BinaryType()), StructField("path", StringType())])
    # Generated names: the names of a query may repeat.
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


def unpack_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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


# The rows of a DataFrame of a classic Spark as Arrow batches, a few partitions at a time.
#
# ``toArrow`` collects all rows. ``toLocalIterator`` has little memory, but sends rows one by one, and computes one
# partition at a time. Here a job computes several partitions. The JVM holds their batches until they are read, and
# this process one batch. The partitions follow one another, so sorted rows stay sorted.

#: The bytes that the partitions of one job should have at most, if each is as large as those before it.
_JOB_BYTES = 64 << 20


class ArrowPartitions:
    """The partitions of a frame's result. Making it runs the stages before the last one.

    ``are_small`` states that a partition is no larger than some megabytes: a job computes as many as Spark can at a
    time, or twice as many if these are all.
    """

    def __init__(self, frame: DataFrame, are_small: bool) -> None:
        self._schema = arrow_schema(frame)
        self._context: Any = frame.sparkSession.sparkContext
        self._batches: Any = frame._jdf.toArrowBatchRdd().toJavaRDD()
        self._count: int = self._batches.getNumPartitions()
        self._most: int = max(1, self._context.defaultParallelism)
        self._step = (self._count if self._count <= 2 * self._most else self._most) if are_small else 1
        self._largest = 1

    def groups(self) -> Iterator[range]:
        """Yields the numbers of the partitions that one job computes. Read the batches of a group before the next."""
        start = 0
        while start < self._count:
            group = range(start, min(start + self._step, self._count))
            yield group
            start = group.stop
            self._step = min(self._most, max(1, _JOB_BYTES // self._largest))

    def compute(self, partitions: range) -> Any:
        """Runs the job of a group of partitions, and returns the address from which its batches are read."""
        numbers = self._context._gateway.jvm.java.util.ArrayList()
        for number in partitions:
            numbers.append(number)
        return self._context._jvm.PythonRDD.runJob(self._context._jsc.sc(), self._batches, numbers)

    @contextmanager
    def reading(self, partitions: range, address: Any) -> Iterator[Iterator[pa.RecordBatch]]:
        """Yields the batches of a job. The iterator raises the error of a JVM that could not send all."""
        from pyspark.serializers import NoOpSerializer
        from pyspark.util import _load_from_socket

        with _load_from_socket(address, NoOpSerializer()) as messages:
            yield self._received(partitions, messages, address[2])

    def _received(self, partitions: range, messages: Iterator[bytes], server: Any) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        size = 0
        for message in messages:
            size += len(message)
            yield pa.ipc.read_record_batch(pa.py_buffer(message), self._schema)
        # The end of the last message, and the end of a connection that broke, look the same here.
        server.getResult()
        self._largest = max(self._largest, size // len(partitions))


#: A VARIANT, or a type with one inside, in the JSON of a type.
_VARIANT = re.compile(r'"(?:type|elementType|keyType|valueType)":\s*"variant"')


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """Returns the columns of a frame as Arrow has them. May ask Spark, about 10 ms. Raises ``NotSupportedError``
    UNSUPPORTED_DATATYPE for a VARIANT, which Arrow would have as the bytes of Spark's encoding.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    for field in frame.schema.fields:
        if _VARIANT.search(field.json()):
            raise NotSupportedError(
                f"The column {field.name} of the result is a VARIANT, which has no value outside of Spark.",
                condition="UNSUPPORTED_DATATYPE",
                sqlstate="0A000",
                object=field.name,
                hint="Write to_json(…) for its text, or variant_get(…, '$.a', 'int') for a value in it.",
            )
    schema = _nullable(frame.schema)
    return to_arrow_schema(
        schema, error_on_duplicated_field_names_in_struct=True, timezone="UTC", prefers_large_types=False
    )


def _nullable(type_: Any) -> Any:
    """Returns a type in which all values but keys of maps may be NULL, as on DuckDB. Spark infers which are not, and
    Arrow has no NULL type that is not nullable.
    """
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(type_, ArrayType):
        return ArrayType(_nullable(type_.elementType))
    if isinstance(type_, MapType):
        return MapType(_nullable(type_.keyType), _nullable(type_.valueType))
    if isinstance(type_, StructType):
        return StructType([StructField(field.name, _nullable(field.dataType)) for field in type_.fields])
    return type_
