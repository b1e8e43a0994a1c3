"""The batches of a stream of files: those that its checkpoint has planned, and those of files that are new."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from rewriter.catalog.keys.paths import is_hidden
from rewriter.catalog.model.batches import Batch, is_committed
from rewriter.catalog.storage.data_files import FoundFile, expand
from rewriter.catalog.storage.stream_checkpoints import FileCheckpoint
from rewriter.errors import Error, IntegrityError
from rewriter.exec.engine import Relation, ScanFile, WrittenFile
from rewriter.grammar.families.streams import InsertStream
from rewriter.planner.model.plan import quote_identifier
from rewriter.runtime.statement_context import BatchRows, Context
from rewriter.statements.resolve.locations import check_table_format
from rewriter.statements.resolve.object_stores import refuse_uri
from rewriter.statements.stream.stream_batches import StreamRun
from rewriter.statements.stream.stream_options import StreamOptions
from rewriter.statements.write.insert import checked, write_batch


class FileBatches:
    """The batches of one run of a stream. The checkpoint is read once, and each ``load`` lists the files once."""

    def __init__(
        self,
        statement: InsertStream,
        options: StreamOptions,
        run: StreamRun,
        format: str,
        checkpoint: FileCheckpoint,
        files: Sequence[FoundFile],
    ) -> None:
        """Reads the plans of the checkpoint. ``files`` are those that exist, for the first ``load``. Raises the errors
        of ``batches.is_committed``.
        """
        self._statement = statement
        self._options = options
        self._run = run
        self._format = format
        self._checkpoint = checkpoint
        self._first_files: Sequence[FoundFile] | None = files
        self._batches = list(checkpoint.batches())
        self._planned_paths = {file.path for batch in self._batches for file in batch}
        last = run.context.catalog.last_batch(run.context.table(statement.insert.table), options.stream)
        #: The number of the next batch.
        self._next = 0 if last is None else int(last.id) + 1
        is_committed(Batch(str(self._next), options.stream, checkpoint.id), last)
        if self._next > len(self._batches):
            raise _lost(options, self._next, len(self._batches))

    @classmethod
    def open(cls, statement: InsertStream, options: StreamOptions, run: StreamRun) -> FileBatches:
        """Opens the checkpoint of a stream, which is created if the source exists and it does not."""
        format = check_table_format(statement.format, statement.path_span, statement.path)
        refuse_uri(
            statement.path,
            "The files of a stream",
            "Load them by INSERT … SELECT … FROM a path, or copy them here.",
            statement.path_span,
        )
        existed = FileCheckpoint.is_in(options.checkpoint)
        files = _listed(statement, options)
        source = f"{format}.{quote_identifier(os.path.abspath(statement.path))}"
        checkpoint = FileCheckpoint.open(options.checkpoint, options.stream, source)
        if _is_pattern(statement.path) and not existed:
            # The pattern may match the files of the checkpoint, which exist from now on.
            files = _listed(statement, options)
        return cls(statement, options, run, format, checkpoint, files)

    def load(self) -> None:
        """Loads the batches that are planned, and then the files that exist now, until the run is to stop."""
        self._load_planned()
        if self._run.stopping.is_set():
            return
        first, self._first_files = self._first_files, None
        listed = _listed(self._statement, self._options) if first is None else first
        files = [file for file in listed if file.path not in self._planned_paths]
        for start in range(0, len(files), self._options.max_files):
            # Those that have gone since are none of the stream.
            batch = [file for file in files[start : start + self._options.max_files] if os.path.exists(file.path)]
            if batch:
                self._checkpoint.plan(self._next, batch)
                self._batches.append(tuple(batch))
                self._planned_paths.update(file.path for file in batch)
            self._load_planned()
            if self._run.stopping.is_set():
                return

    def _load_planned(self) -> None:
        while self._next < len(self._batches) and not self._run.stopping.is_set():
            self._load(self._next)
            self._next += 1

    def _load(self, number: int) -> None:
        files = self._batches[number]

        def load(batch: Batch, context: Context) -> Sequence[WrittenFile]:
            columns = context.engine().file_columns(self._format, files[0].path)
            scanned = tuple([ScanFile(file.path, (), file.bytes, file.modified) for file in files])
            relation = Relation("", self._format, columns, (), scanned)
            checked_insert = checked(
                self._statement.insert, replace(context, batch=BatchRows(self._statement.path, relation))
            )
            assert checked_insert is not None  # IF NOT EXISTS goes with OVERWRITE.
            return write_batch(checked_insert, batch, context)

        try:
            self._run.load(number, self._checkpoint.id, load)
        except Error as error:
            if error.condition in ("PATH_NOT_FOUND", "FAILED_READ_FILE"):
                error.hint = (
                    f"The file belongs to batch {number} of the stream, and the next run reads it again: restore or "
                    "correct it, or put one without rows in its place."
                )
            raise error.at(self._statement.insert.query.span) from None


def _listed(statement: InsertStream, options: StreamOptions) -> tuple[FoundFile, ...]:
    """Returns the files, the oldest first. Raises ``IntegrityError`` UNSAFE_LOCATION for files of the checkpoint."""
    try:
        files = expand(statement.path)
    except Error as error:
        if error.condition == "PATH_NOT_FOUND" and (_is_pattern(statement.path) or os.path.isdir(statement.path)):
            return ()
        raise error.at(statement.path_span) from None
    own_folder = os.path.realpath(options.checkpoint)
    if any(
        _is_below(os.path.realpath(folder), own_folder) for folder in {os.path.dirname(file.path) for file in files}
    ):
        raise _among_files(statement, options)
    return tuple(sorted(files, key=lambda file: (file.modified, file.path)))


def _is_pattern(path: str) -> bool:
    return any(char in path for char in "*?[")


def _is_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def check_outside(statement: InsertStream, options: StreamOptions) -> None:
    """Checks that a directory of files does not contain the checkpoint, before that is created. The checkpoint may lie
    in a hidden directory.
    """
    folder, checkpoint = os.path.realpath(statement.path), os.path.realpath(options.checkpoint)
    if os.path.isdir(folder) and _is_below(checkpoint, folder):
        names = os.path.relpath(checkpoint, folder).split("/")
        if not any(is_hidden(name) for name in names if name != "."):
            raise _among_files(statement, options)


def _among_files(statement: InsertStream, options: StreamOptions) -> IntegrityError:
    return IntegrityError(
        f"The checkpoint {options.checkpoint} lies among the files of the stream: its own files would be loaded.",
        condition="UNSAFE_LOCATION",
        position=statement.path_span,
        object=options.checkpoint,
        hint="Name a directory outside of the files, or one whose name begins with _.",
    )


def _lost(options: StreamOptions, committed: int, planned: int) -> IntegrityError:
    return IntegrityError(
        f"The table has {committed} batches of the stream {options.stream}, but the checkpoint has only {planned}: the "
        "files of the others would be loaded again.",
        condition="STREAM_CHECKPOINT_RESET",
        object=options.stream,
        hint="The checkpoint was restored from an older copy. Use a new one, with another stream id.",
    )
