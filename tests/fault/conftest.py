"""A directory in memory: tests that write thousands of times need not wait for a disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = "/dev/shm"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty directory, in memory where the system has that, beside which there is place for copies."""
    if not os.access(_MEMORY, os.W_OK):
        (tmp_path / "d").mkdir()
        yield tmp_path / "d"
        return
    with tempfile.TemporaryDirectory(dir=_MEMORY) as above:
        (Path(above) / "d").mkdir()
        yield Path(above) / "d"
