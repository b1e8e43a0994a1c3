"""A command ``rewriter`` that starts at once, for the pages that run many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from warm_commands import command


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Returns a directory for the PATH with the command."""
    directory = tmp_path_factory.mktemp("commands")
    with command(directory):
        yield directory
