"""Streams of Spark: hands each batch of a streaming DataFrame over, as a view that all sessions see."""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING, Any

from rewriter.catalog.model.objects import Column
from rewriter.errors import EngineError, InterfaceError, NotSupportedError
from rewriter.exec.engine import FrameView, LoadBatch, Relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

#: The seconds that the first batch waits for the id of its query.
_START_SECONDS = 60.0
_HINT = "Check the source and the checkpoint directory."


class FrameStream:
    """The streaming query of a DataFrame, whose batches ``load`` loads. It starts at once."""

    def __init__(self, frame: object, checkpoint: str, available_now: bool, seconds: float, load: LoadBatch) -> None:
        """Starts the query as ``Engine.stream`` does. Spark Connect is not supported."""
        streaming_frame = _checked(frame)
        self._load = load
        self._id: str | None = None
        self._started = threading.Event()
        #: Held while a batch is loaded.
        self._busy = threading.Lock()
        self._stopped = False
        self._error: Exception | None = None
        interval = f"{seconds:f} seconds"
        trigger: dict[str, Any] = {"availableNow": True} if available_now else {"processingTime": interval}
        writer = streaming_frame.writeStream.foreachBatch(self._batch).option("checkpointLocation", checkpoint)
        try:
            self._query: StreamingQuery = writer.trigger(**trigger).start()
        except Exception as error:
            raise EngineError(
                f"The stream cannot be started: {_first_line(error)}.", condition="STREAM_NOT_STARTED", hint=_HINT
            ) from None
        self._id = self._query.id
        self._started.set()

    def _batch(self, frame: DataFrame, number: int) -> None:
        with self._busy:
            self._started.wait(_START_SECONDS)
            if self._stopped or self._id is None:
                raise InterruptedError("The stream is being stopped.")
            view = f"rewriter_batch_{uuid.uuid4().hex}"
            frame.createOrReplaceGlobalTempView(view)
            try:
                columns = tuple([Column(field.name, field.dataType.simpleString()) for field in frame.schema.fields])
                self._load(number, self._id, Relation("", "parquet", columns, (), (), view=FrameView(view)))
            except Exception as error:
                self._error = error
                raise
            finally:
                frame.sparkSession.catalog.dropGlobalTempView(view)

    def wait(self, seconds: float) -> bool:
        try:
            has_ended = bool(self._query.awaitTermination(seconds))
        except Exception as error:
            if self._stopped:
                return True
            if self._error is not None:
                raise self._error from None
            raise EngineError(
                f"The stream has failed: {_first_line(error)}.", condition="STREAM_FAILED", sqlstate="XXKST", hint=_HINT
            ) from None
        return has_ended

    def stop(self) -> None:
        with self._busy:
            self._stopped = True
        self._query.stop()


def _checked(frame: object) -> DataFrame:
    from pyspark.sql import DataFrame

    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        raise InterfaceError(
            f"A {type(frame).__name__} is not a streaming DataFrame.",
            hint="Pass what spark.readStream returns. For other DataFrames use connection.append.",
        )
    if "connect" in type(frame).__module__:
        raise NotSupportedError(
            "Spark Connect runs the batches of a stream on its server, which does not have this catalog.",
            hint="Use a classic session of Spark, in this process.",
        )
    return frame


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
