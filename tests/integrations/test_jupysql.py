"""The dialect of SQLAlchemy in JupySQL, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest
from integrations.environments import python_with

CASES = Path(__file__).with_name("jupysql_cases.py")
ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_the_magic_commands_work(tmp_path: Path) -> None:
    # JupySQL imports Spark Connect where PySpark is installed; these are the packages that Connect requires.
    connect = ("grpcio>=1.48.1", "grpcio-status", "googleapis-common-protos", "zstandard")
    # JupySQL runs in IPython, and does not require it.
    needed = ("jupysql>=0.11,<1", "ipython", "pandas", *connect)
    python = python_with(needed, "REWRITER_TEST_JUPYSQL", tmp_path)
    paths = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})"
    code = f"{paths}; import runpy; runpy.run_path({str(CASES)!r}, run_name='__main__')"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PLOOMBER_STATS_ENABLED": "false", "HOME": str(tmp_path)}
    command = [python, "-c", code, str(tmp_path / "warehouse")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
