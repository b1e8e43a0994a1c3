"""The rows of a DataFrame of a classic Spark as Arrow batches, a few partitions at a time.

``toArrow`` collects all rows. ``toLocalIterator`` has little memory, but sends rows one by one, and computes one
partition at a time. Here a job computes several partitions. The JVM holds their batches until they are read, and this
process one batch. The partitions follow one another, so sorted rows stay sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: The bytes that the partitions of one job should have at most, if each is as large as those before it.
_JOB_BYTES = 64 << 20


class ArrowPartitions:
    """The partitions of a frame's result. Making it runs the stages before the last one.

    ``is_packed`` states that a partition is no larger than some megabytes.
    """

    def __init__(self, frame: DataFrame, is_packed: bool) -> None:
        self._schema = arrow_schema(frame)
        self._context: Any = frame.sparkSession.sparkContext
        self._batches: Any = frame._jdf.toArrowBatchRdd().toJavaRDD()
        self._count: int = self._batches.getNumPartitions()
        self._most: int = max(1, self._context.defaultParallelism)
        self._step = self._most if is_packed else 1
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
        # The end of the last message, and that of a connection that broke, look the same here.
        server.getResult()
        self._largest = max(self._largest, size // len(partitions))


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """Returns the columns of a frame as Arrow has them. May ask Spark, about 10 ms."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(
        frame.schema, error_on_duplicated_field_names_in_struct=True, timezone="UTC", prefers_large_types=False
    )
