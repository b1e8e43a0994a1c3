"""The files that a statement wrote: their statistics, and the warning about tiny ones."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.model.objects import Table
from rewriter.exec.engine import WrittenFile
from rewriter.runtime.prepared_queries import Prepared
from rewriter.runtime.result import Stats

#: Files smaller than this are tiny where a statement writes so many of them.
_TINY_BYTES, _MANY_FILES = 1024 * 1024, 1000


def stats_of(files: Sequence[WrittenFile], seconds: float, prepared: Prepared | None = None) -> Stats:
    """Returns the statistics of a statement that wrote these files into one table.

    ``prepared`` is the query that produced the files.
    """
    return Stats(
        prepared.scans if prepared is not None else (),
        written_partitions=len({file.values for file in files}),
        written_files=len({file.path for file in files}),
        written_bytes=sum([file.bytes for file in files]),
        planning_seconds=prepared.planning_seconds if prepared is not None else 0.0,
        execution_seconds=seconds,
    )


def rows_of(files: Sequence[WrittenFile]) -> int:
    """Returns the number of rows in the files; -1 where a file has no row count."""
    counts = [file.rows for file in files]
    return -1 if None in counts else sum([count or 0 for count in counts])


def tiny_files_warning(table: Table, files: Sequence[WrittenFile]) -> tuple[str, ...]:
    """Returns a warning where a write made many tiny files, which cost every later query time."""
    sizes = {file.path: file.bytes if file.part is None else file.part.file_bytes for file in files}
    tiny = [size for size in sizes.values() if size < _TINY_BYTES]
    if len(tiny) < _MANY_FILES:
        return ()
    hint = (
        "a table STORED AS PARQUET without 'rewriter.packed' = 'false' has few files"
        if not table.external
        else "coarser partitions have fewer files"
    )
    return (f"{table.name}: wrote {len(tiny):,} files of {sum(tiny) // len(tiny):,} bytes on average: {hint}.",)
