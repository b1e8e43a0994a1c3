"""The rows of a DataFrame as Arrow batches, a few partitions at a time.

``toArrow`` collects all rows. ``toLocalIterator`` has little memory, but sends rows one by one, and computes one
partition at a time. Here a job computes as many partitions as Spark has cores. The JVM holds their batches until they
are read, and this process one batch. The partitions follow one another, so sorted rows stay sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class ArrowPartitions:
    """The partitions of a frame's result. Making it runs the stages before the last one."""

    def __init__(self, frame: DataFrame) -> None:
        from pyspark.sql.pandas.types import to_arrow_schema

        self.schema: pa.Schema = to_arrow_schema(
            frame.schema, error_on_duplicated_field_names_in_struct=True, timezone="UTC", prefers_large_types=False
        )
        self._context: Any = frame.sparkSession.sparkContext
        self._batches: Any = frame._jdf.toArrowBatchRdd().toJavaRDD()
        self._count: int = self._batches.getNumPartitions()

    def groups(self) -> Iterator[range]:
        """Yields the numbers of the partitions that one job computes."""
        step: int = max(1, self._context.defaultParallelism)
        for start in range(0, self._count, step):
            yield range(start, min(start + step, self._count))

    def compute(self, partitions: range) -> Any:
        """Runs the job of a group of partitions, and returns the address from which its batches are read."""
        numbers = self._context._gateway.jvm.java.util.ArrayList()
        for number in partitions:
            numbers.append(number)
        return self._context._jvm.PythonRDD.runJob(self._context._jsc.sc(), self._batches, numbers)

    @contextmanager
    def reading(self, address: Any) -> Iterator[Iterator[pa.RecordBatch]]:
        """Yields the batches of a job."""
        import pyarrow as pa
        from pyspark.serializers import NoOpSerializer
        from pyspark.util import _load_from_socket

        with _load_from_socket(address, NoOpSerializer()) as messages:
            yield (pa.ipc.read_record_batch(pa.py_buffer(message), self.schema) for message in messages)
