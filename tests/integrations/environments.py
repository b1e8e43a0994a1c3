"""Environments of their own for programs that the tests do not install here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def python_with(requirement: str | Sequence[str], variable: str, directory: Path) -> str:
    """Returns a Python that has the packages: the one that an environment variable names, or a new environment, which
    takes some minutes.
    """
    requirements = [requirement] if isinstance(requirement, str) else requirement
    given = os.environ.get(variable)
    if given:
        return given
    subprocess.run([sys.executable, "-m", "venv", directory / "environment"], check=True)
    python = directory / "environment" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", *requirements], check=True)
    return str(python)
