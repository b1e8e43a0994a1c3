"""Removes what a write has left, wherever it is."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.safe_removal import discard_tree
from rewriter.storage.filesystems.registry import store_of
from rewriter.uris import is_uri


def discard_directory(path: str, roots: Sequence[str]) -> None:
    """Removes as much of a directory as possible, below its roots if it is local. Raises nothing."""
    if is_uri(path):
        store_of(path).delete_below(path)
    else:
        discard_tree(path, roots)
