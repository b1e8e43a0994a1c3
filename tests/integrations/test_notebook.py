"""The extension of IPython, with the real packages in an environment of their own; here, that nothing imports them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from documents import dead_links
from integrations.environments import python_with

CASES = Path(__file__).with_name("notebook_cases.py")
ROOT = Path(__file__).parents[2]
PACKAGES = (
    "ipython>=8.12,<10", "nbclient", "ipykernel", "jupysql", "pandas", "grpcio", "grpcio-status",
    "googleapis-common-protos", "zstandard",
)  # fmt: skip


def test_links_lead_somewhere() -> None:
    assert dead_links(ROOT / "docs" / "how-to" / "notebooks.md") == []


def test_nothing_imports_ipython_or_connect_before_the_extension() -> None:
    code = (
        "import sys, rewriter, rewriter.display.html.page, rewriter.shell.completion.refresher, rewriter.session; "
        "print([name for name in ('IPython', 'prompt_toolkit', 'grpc', 'pyspark.sql.connect') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.long
def test_with_the_packages(tmp_path: Path) -> None:
    python = python_with(PACKAGES, "REWRITER_TEST_NOTEBOOK", tmp_path)
    shared = os.pathsep.join([str(ROOT), str(ROOT / "tests"), sysconfig.get_path("purelib")])
    environment = {**os.environ, "PYTHONPATH": shared}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(CASES)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
