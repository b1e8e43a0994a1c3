"""Tests whether this machine sees the files that workers on other machines wrote."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rewriter.errors import EngineError
from rewriter.exec.engine import WrittenFile


def check_shared(files: Iterable[WrittenFile]) -> None:
    """Raises ``EngineError`` WRITTEN_FILES_NOT_SHARED for a file that is not here, or has another size.

    A worker that does not share the warehouse writes to its own disk, without an error: its rows would be lost. Costs
    a ``stat`` a file.
    """
    for path, size in {(f.path, f.bytes if f.part is None else f.part.file_bytes) for f in files}:
        try:
            is_here = os.stat(path).st_size == size
        except OSError:
            is_here = False
        if not is_here:
            raise EngineError(
                f"A worker of Spark wrote {path}, which this machine does not see.",
                condition="WRITTEN_FILES_NOT_SHARED",
                object=path,
                hint="None of the statement's changes were kept. Put the warehouse on storage that this machine and "
                "all workers mount under the same path. The worker's own copy of the file can be removed.",
            )
