"""One run of a stream: its entry in the catalog, its signs of life, and its batches, each committed at most once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING

from rewriter.cancellation import cancellable
from rewriter.catalog.model.changes import Batch, CommitPartitions, is_committed
from rewriter.catalog.model.temporary_views import session_of
from rewriter.catalog.store import stream_runs
from rewriter.errors import ConflictError, Error, NotSupportedError
from rewriter.exec.engine import WrittenFile
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.background import signs_of_life
from rewriter.runtime.statement_context import Context
from rewriter.statements.resolve.location_conflicts import check_output_directory
from rewriter.statements.write.auto_compact import compact_after
from rewriter.statements.write.commit_policies import check_policies, run_policies
from rewriter.statements.write.insert import retry_on_conflict
from rewriter.statements.write.managed_write import rows_of

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Table
    from rewriter.grammar.terms import Name

#: The seconds between two signs of life.
_REPORT_SECONDS = 5.0

#: Writes the rows of a batch in a context, and commits them with the note of the batch.
LoadBatch = Callable[[Batch, Context], Sequence[WrittenFile]]


@dataclass
class StreamRun:
    """A run of a stream into a table. ``rows`` counts what this run has committed. ``warnings`` say what failed beside
    the batches.
    """

    stream: str
    table: Name
    context: Context
    id: str
    rows: int = 0
    warnings: tuple[str, ...] = ()
    #: Set when STOP STREAM asks the run to end.
    stopping: threading.Event = field(default_factory=threading.Event)
    #: The error of a report that found another run, or of a policy; the run ends with it.
    failure: Error | None = None

    def load(self, number: int, checkpoint: str, load: LoadBatch) -> bool:
        """Loads a batch, unless it was committed before, and compacts what it has written, where the table asks for it.
        Returns whether it was loaded now.

        Raises the errors of ``batches.is_committed`` and of the INSERT, and ``ConflictError`` STREAM_TAKEN_OVER if
        another run has begun since. The policies of the partitions that the batch commits follow: raises their errors.
        """
        if self.failure is not None:
            raise self.failure
        batch = Batch(str(number), self.stream, checkpoint)
        loaded: list[tuple[Sequence[WrittenFile], Context]] = []

        def attempt(context: Context) -> None:
            table = context.table(self.table)
            if not is_committed(batch, context.catalog.last_batch(table, self.stream)):
                loaded.append((load(batch, context), context))

        planning = self.context.settings.for_planner()
        context = self.context.renewed()
        retry_on_conflict(attempt, True, replace(context, planning=planning))
        self.rows += sum(rows_of(files) for files, _ in loaded)
        run_policies(context.table(self.table), context)
        if loaded and not self.stopping.is_set():
            warnings = compact_after(self.table, *loaded[-1])
            self.warnings = tuple(dict.fromkeys((*self.warnings, *warnings)))
        return bool(loaded)

    def report(self) -> None:
        """Reports that the run lives, and learns whether it is to stop. Raises ``ConflictError`` STREAM_TAKEN_OVER."""
        with self.context.catalog.database.write() as connection:
            if stream_runs.report(connection, self.id, self.rows):
                self.stopping.set()


def begin(stream: str, table: Name, checkpoint: str, context: Context) -> StreamRun:
    """Begins a run of a stream. Raises the errors of ``stream_runs.begin_run``."""
    with context.catalog.database.write() as connection:
        id = stream_runs.begin_run(connection, stream, context.table(table).id, checkpoint)
    return StreamRun(stream, table, context, id)


@contextmanager
def alive(run: StreamRun) -> Iterator[None]:
    """Reports that a run lives while the block runs, and ends it: as finished, stopped or failed."""

    def report() -> None:
        run.report()
        _commit_due_partitions(run.table, run.context)

    def is_final(error: Error) -> bool:
        if error.condition not in ("STREAM_TAKEN_OVER", "COMMIT_POLICY_FAILED"):
            return False
        run.failure = error  # The next batch fails with it.
        run.stopping.set()
        return True

    try:
        _commit_due_partitions(run.table, run.context)
        with signs_of_life(report, "rewriter-stream-report", _REPORT_SECONDS, is_final):
            yield
        if run.failure is not None:
            raise run.failure
        _commit_due_partitions(run.table, run.context)
    except BaseException as error:
        with cancellable(None):
            end(run, stream_runs.FAILED, str(error) or type(error).__name__)
        raise
    state = stream_runs.STOPPED if run.stopping.is_set() else stream_runs.FINISHED
    end(run, state, "\n".join(run.warnings) or None)


def end(run: StreamRun, state: str, message: str | None = None) -> None:
    """Ends a run in the catalog, unless another run has begun since."""
    if message is not None:
        # The name of a file need not be UTF-8, and PostgreSQL stores no NUL.
        message = message.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    with run.context.catalog.database.write() as connection:
        stream_runs.end_run(connection, run.id, run.rows, state, message)


def check_target(table: Table, checkpoint: str, context: Context) -> None:
    """Raises ``NotSupportedError`` for tables whose batches cannot be committed at most once, and for temporary ones;
    ``IntegrityError`` UNSAFE_LOCATION for a checkpoint among the files of a table; the errors of ``check_policies``.
    """
    if table.external or session_of(table.name) is not None:
        kind, reason = (
            ("external", "its files appear before the commit of their batch")
            if table.external
            else ("temporary", "it ends with the session, and the checkpoint does not")
        )
        raise NotSupportedError(
            f"The {kind} table {table.name} cannot be the target of a stream: {reason}.",
            object=table.name,
            hint="Use a managed table.",
        )
    context.require_own_engine(table)
    check_policies(table, context)
    check_output_directory(checkpoint, context)


# The commit of partitions that are due although no batch comes: by process time, or after a silent stream.


def _commit_due_partitions(name: Name, context: Context) -> None:
    """Commits the open partitions of a table that are due, and runs the policies that are left over. One or two reads
    if there is nothing to do. Raises the errors of ``run_policies``.
    """
    now = context.renewed()
    table = now.table(name)
    if now.catalog.due_partitions(table, now.snapshot):
        try:
            with now.catalog.begin(now.snapshot) as transaction:
                transaction.commit([CommitPartitions(table)])
        except ConflictError:
            return  # The next call tries again.
    run_policies(table, now)
