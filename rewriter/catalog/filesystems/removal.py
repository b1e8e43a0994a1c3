"""Removes files of object stores that a failed write has left."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from rewriter.cancellation import Grace, cancellable
from rewriter.catalog.filesystems.registry import store_of
from rewriter.errors import Error

#: How long files of an object store are deleted after a failure, in seconds. VACUUM finds the others.
_SECONDS = 60.0


def discard_files(paths: Iterable[str]) -> None:
    """Deletes files of one object store, as far as possible, also after a request that the statement ends. Raises
    nothing.

    A directory is never deleted as a whole: another catalog may have written below it.
    """
    listed = list(paths)
    if listed:
        with cancellable(Grace(_SECONDS)), suppress(Error):
            store_of(listed[0]).delete(listed)
