"""The sources that a session has registered, and the files of their rows, and of system tables, while a statement
runs.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rewriter.errors import AnalysisError
from rewriter.scratch_directories import ScratchDirectory

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.catalog.filters.predicates import ScanFilter
    from rewriter.catalog.model.objects import Table
    from rewriter.connectors.table_source import PartitionableTableSource
    from rewriter.exec.engine import Engine, Relation


class Sources:
    """Sources by the ids of their tables. Nothing is on disk before the first is read."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._by_id: dict[int, PartitionableTableSource] = {}
        self._scratch: ScratchDirectory | None = None
        self._directories: list[str] = []

    def register(self, name: str, data: Any) -> Table:
        """Returns the table that stands for a source, or for the rows of a DataFrame or of Arrow data. Raises
        ``InterfaceError`` as ``as_source`` and ``source_table`` do.
        """
        from rewriter.connectors.table_source import as_source, source_table

        source = as_source(data)
        table = source_table(name, next(self._numbers), source)
        self._by_id[table.id] = source
        return table

    def read(self, name: str, table: Table, wanted: ScanFilter | None, engine: Engine) -> Relation:
        """Reads the rows that a query needs of a source into new files, unless the engine reads a DataFrame in place.
        Raises the errors of ``read_source``.
        """
        from rewriter.connectors.table_source import FrameSource, read_source
        from rewriter.exec.engine import Relation

        source = self._by_id[table.id]
        view = engine.view_of_frame(source.frame, table.columns) if isinstance(source, FrameSource) else None
        if view is not None:
            return Relation(name, "parquet", table.columns, (), (), view=view)
        return read_source(name, table, source, wanted, self._directory())

    def forget(self, id: int, engine: Engine | None) -> None:
        """Ends the registration of a source, by the id of its table."""
        from rewriter.connectors.table_source import FrameSource

        source = self._by_id.pop(id)
        if isinstance(source, FrameSource) and engine is not None:
            engine.forget_frame(source.frame)

    def store(self, name: str, table: Table, batches: Iterable[pa.RecordBatch]) -> Relation:
        """Writes the rows of a system table into new files. Raises the errors of the iterable."""
        from rewriter.connectors.table_source import stored_relation

        return stored_relation(name, table, batches, self._directory())

    def _directory(self) -> str:
        """Returns a new directory, which lasts until the end of the statement."""
        if self._scratch is None:
            self._scratch = ScratchDirectory("source")
        self._directories.append(tempfile.mkdtemp(dir=self._scratch.path))
        return self._directories[-1]

    def end_statement(self) -> None:
        """Removes the files that a statement has read."""
        while self._directories:
            shutil.rmtree(self._directories.pop(), ignore_errors=True)

    def close(self) -> None:
        """Removes all files. Idempotent."""
        self._directories = []
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None


def name_is_taken(name: str) -> AnalysisError:
    """Returns the error of a source with the name of a temporary table or view."""
    return AnalysisError(
        f"There is a temporary table or view {name}.",
        condition="TABLE_OR_VIEW_ALREADY_EXISTS",
        sqlstate="42P07",
        object=name,
        hint="Drop it, or register the source under another name.",
    )
