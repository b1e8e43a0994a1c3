"""Directories that are read as a whole, and so may hold no file but those that an engine names as its result.

Where a task of a cluster runs twice, because a worker died or was slow, the files of both attempts exist.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from rewriter.exec.engine import WrittenFile
from rewriter.safe_removal import discard_tree


def write_reported(fill: Callable[[str], tuple[WrittenFile, ...]], directory: str) -> tuple[WrittenFile, ...]:
    """Lets ``fill`` write into a directory beside a new one, and moves the files that it returns into the new one.

    Late attempts cannot write there. Raises ``OSError``. Costs a rename a file.
    """
    attempts = f"{directory}.attempts"
    try:
        files = fill(attempts)
        os.mkdir(directory)
        kept = []
        for file in files:
            path = os.path.join(directory, os.path.basename(file.path))
            os.rename(file.path, path)
            kept.append(replace(file, path=path))
        return tuple(kept)
    finally:
        discard_tree(attempts, (os.path.dirname(directory),))
