"""The tasks of a group of jobs that are done, on a classic Spark and on Spark Connect."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rewriter.exec.interrupts import Measured

_UNIT = "tasks"


def tasks_of_group(session: SparkSession, group: str) -> Measured | None:
    """Returns the tasks of the stages of a group's active jobs that have begun; ``None`` if none has, or Spark is gone.

    A few calls of the JVM, about a millisecond each.
    """
    try:
        tracker = session.sparkContext.statusTracker()
        own_jobs = set(tracker.getJobIdsForGroup(group))
        jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds() if job in own_jobs]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    except Exception:  # Progress is no reason to fail.
        return None
    begun = [stage for stage in stages if stage is not None and (stage.numActiveTasks or stage.numCompletedTasks)]
    return _sum([(stage.numCompletedTasks, stage.numTasks) for stage in begun])


class ConnectTasks:
    """What a Spark Connect server reports about the queries of its sessions, by the group of the statement."""

    def __init__(self) -> None:
        #: The group of each thread: the client receives reports in the thread that waits for the query.
        self._thread = threading.local()
        self._measured: dict[str, Measured] = {}

    def enter(self, group: str) -> None:
        """Adds the queries of this thread, from now on, to a group."""
        self._thread.group = group
        self._measured.pop(group, None)

    def watch(self, session: Any) -> None:
        """Receives the reports about a session's queries from now on."""
        session.registerProgressHandler(self._receive)

    def measured(self, group: str) -> Measured | None:
        """Returns the tasks of the stages of a group's query; ``None`` if none was reported yet."""
        return self._measured.get(group)

    def _receive(self, stages: Iterable[Any] | None = None, done: bool = False, **_: object) -> None:
        group = getattr(self._thread, "group", None)
        if group is None:
            return
        measured = _sum([(stage.num_completed_tasks, stage.num_tasks) for stage in stages or ()])
        if done or measured is None:
            self._measured.pop(group, None)
        else:
            self._measured[group] = measured


def _sum(stages: list[tuple[int, int]]) -> Measured | None:
    total = sum(tasks for _, tasks in stages)
    return (sum(completed for completed, _ in stages), total, _UNIT) if total else None
