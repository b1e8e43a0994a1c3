"""The runs of streams, by which processes learn of each other's streams: SHOW STREAMS, STOP STREAM.

A run is a process's work on a stream, from its start to its end. It reports every few seconds that it lives. Runs do
not make batches exactly once: the commit of a batch does (``catalog.model.changes.Batch``). A second run of a stream is
refused, so that two processes do not do the same work.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sqlalchemy as sa

from rewriter.catalog.store import schema
from rewriter.catalog.store.database_server import NOW
from rewriter.errors import AnalysisError, ConflictError, IntegrityError
from rewriter.lazy_dataclass import dataclass

#: A run that has not reported for this long, in seconds, belongs to a dead process.
_EXPIRY_SECONDS = 30.0

_RUNNING, FINISHED, STOPPED, FAILED, _LOST = "running", "finished", "stopped", "failed", "lost"


@dataclass(frozen=True)
class StreamRun:
    """The last run of a stream. ``started_at`` and ``heartbeat_at`` are seconds since 1970. ``rows`` is the number of
    rows of this run at its last sign of life, ``message`` the error of a ``failed`` run, ``batches`` the number of
    committed batches of all runs, ``watermark`` (in microseconds since 1970, ``None`` for unknown) and ``late`` are the
    ``batch_queries.StreamProgress``. The ``state`` of a dead process's run is ``lost``.
    """

    stream: str
    table_id: int
    checkpoint: str
    state: str
    started_at: float
    heartbeat_at: float
    process: str
    rows: int
    message: str | None
    batches: int
    watermark: int | None
    late: int


def begin_run(connection: sa.Connection, stream: str, table_id: int, checkpoint: str) -> str:
    """Begins a run, and returns its id. Raises ``ConflictError`` STREAM_RUNNING if another process runs the stream, and
    ``IntegrityError`` STREAM_OF_ANOTHER_TABLE if the stream has loaded another table.
    """
    previous = _run_of(connection, stream)
    row = schema.streams
    if previous is not None:
        _check_ended(previous)
    if previous is not None and previous.table_id != table_id and _exists(connection, previous.table_id):
        raise IntegrityError(
            f"The stream {stream} loads another table.",
            condition="STREAM_OF_ANOTHER_TABLE",
            object=stream,
            hint="Use another stream id. SHOW STREAMS lists those that exist.",
        )
    connection.execute(sa.delete(row).where(row.c.stream == stream))
    run = uuid.uuid4().hex
    values = {
        "stream": stream, "table_id": table_id, "run": run, "checkpoint": checkpoint, "state": _RUNNING,
        "stopping": False, "started_at": NOW, "heartbeat_at": NOW, "process": _this_process(), "rows": 0,
        "message": None,
    }  # fmt: skip
    connection.execute(row.insert().values(values))
    return run


def report(connection: sa.Connection, run: str, rows: int) -> bool:
    """Reports that a run lives, and how many rows it has committed. Returns whether it is to stop. Raises
    ``ConflictError`` STREAM_TAKEN_OVER if another run has begun since.
    """
    row = schema.streams
    is_own = sa.and_(row.c.run == run, row.c.state == _RUNNING)
    if connection.execute(sa.update(row).where(is_own).values(heartbeat_at=NOW, rows=rows)).rowcount != 1:
        raise ConflictError(
            "Another process has begun a new run of the stream, because this one did not report for a while.",
            condition="STREAM_TAKEN_OVER",
            hint="Nothing is lost: the other run goes on with the same checkpoint.",
        )
    return bool(connection.execute(sa.select(row.c.stopping).where(row.c.run == run)).scalar())


def end_run(connection: sa.Connection, run: str, rows: int, state: str, message: str | None = None) -> None:
    """Ends a run that has committed ``rows`` rows. Does nothing if another run has begun since."""
    row = schema.streams
    values = {row.c.state: state, row.c.message: message, row.c.rows: rows, row.c.heartbeat_at: NOW}
    connection.execute(sa.update(row).where(row.c.run == run).values(values))


def request_stop(connection: sa.Connection, stream: str) -> StreamRun:
    """Asks the process that runs a stream to stop it after the current batch, and returns the run. Raises
    ``AnalysisError`` STREAM_NOT_FOUND.
    """
    run, row = _existing(connection, stream), schema.streams
    connection.execute(sa.update(row).where(row.c.stream == stream, row.c.state == _RUNNING).values(stopping=True))
    return run


def forget(connection: sa.Connection, stream: str) -> None:
    """Removes the last run of a stream, and its watermark. The note of its last batch stays, so that no batch is
    committed twice. Raises ``AnalysisError`` STREAM_NOT_FOUND, and ``ConflictError`` STREAM_RUNNING.
    """
    run, row = _existing(connection, stream), schema.batches
    _check_ended(run)
    connection.execute(sa.delete(schema.streams).where(schema.streams.c.stream == stream))
    is_last = sa.and_(row.c.table_id == run.table_id, row.c.stream == stream)
    connection.execute(sa.update(row).where(is_last).values(watermark=None))


def _existing(connection: sa.Connection, stream: str) -> StreamRun:
    run = _run_of(connection, stream)
    if run is None:
        raise AnalysisError(
            f"There is no stream {stream}.",
            condition="STREAM_NOT_FOUND",
            object=stream,
            hint="SHOW STREAMS lists the streams.",
        )
    return run


def _check_ended(run: StreamRun) -> None:
    if run.state == _RUNNING:
        raise ConflictError(
            f"The stream {run.stream} is running in {run.process}.",
            condition="STREAM_RUNNING",
            object=run.stream,
            hint=f"STOP STREAM {run.stream} ends it. A process of another host that was killed loses its stream after "
            f"{_EXPIRY_SECONDS:.0f} seconds.",
        )


def stream_runs(connection: sa.Connection) -> tuple[StreamRun, ...]:
    """Returns the last run of every stream, by id. One statement."""
    return tuple([_run(values) for values in connection.execute(_RUNS.order_by(schema.streams.c.stream))])


def _run_of(connection: sa.Connection, stream: str) -> StreamRun | None:
    values = connection.execute(_RUNS.where(schema.streams.c.stream == stream)).first()
    return None if values is None else _run(values)


def _select_runs() -> sa.Select[Any]:
    row, last = schema.streams.c, schema.batches.c
    batches = sa.func.coalesce(sa.cast(last.batch, sa.BigInteger) + 1, 0)
    silence = sa.cast(NOW - row.heartbeat_at, sa.Double)
    is_last = sa.and_(last.table_id == row.table_id, last.stream == row.stream)
    return sa.select(
        row.stream, row.table_id, row.checkpoint, row.state, row.started_at, row.heartbeat_at, row.process, row.rows,
        row.message, batches, last.watermark, sa.func.coalesce(last.late, 0), silence,
    ).outerjoin_from(schema.streams, schema.batches, is_last)  # fmt: skip


_RUNS = _select_runs()


def _run(values: Sequence[Any]) -> StreamRun:
    *recorded, silent_seconds = values
    run = StreamRun(*recorded)
    # A report from the future is one of a clock that was set back.
    is_lost = abs(silent_seconds) > _EXPIRY_SECONDS or _has_ended(run.process)
    return replace(run, state=_LOST) if run.state == _RUNNING and is_lost else run


def _this_process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _has_ended(process: str) -> bool:
    """Tests whether a process of this host has certainly ended. Its stream is lost at once."""
    host, _, pid = process.rpartition(":")
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return False


def _exists(connection: sa.Connection, table_id: int) -> bool:
    row = schema.objects.c
    query = sa.select(row.row_id).where(row.object_id == table_id, row.ended == schema.NEVER)
    return connection.execute(query).first() is not None


# The commits of partitions whose policies have not run yet.


class PendingPolicies(NamedTuple):
    """A commit of a partition that its policies are to follow; ``late`` as in ``CommittedPartition``."""

    key: bytes
    commit: int
    late: bool


def pending_policies(connection: sa.Connection, table_id: int) -> tuple[PendingPolicies, ...]:
    """Returns the commits of a table's partitions whose policies have not run, the oldest first."""
    row = schema.pending_policies.c
    query = sa.select(row.key, row.commit_seq, row.late).where(row.table_id == table_id)
    return tuple(PendingPolicies(*values) for values in connection.execute(query.order_by(row.commit_seq, row.key)))


def settle(connection: sa.Connection, table_id: int, pending: PendingPolicies) -> None:
    """Notes that the policies of a commit have run. A newer commit of the partition stays."""
    row = schema.pending_policies
    is_it = sa.and_(row.c.table_id == table_id, row.c.key == pending.key, row.c.commit_seq == pending.commit)
    connection.execute(sa.delete(row).where(is_it))
