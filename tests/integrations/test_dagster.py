"""The adapter of Dagster: without the package here, with the real one in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from integrations.environments import python_with

from rewriter.errors import InterfaceError
from rewriter.integrations.dagster import partitions_definition
from rewriter.session import Session

CASES = Path(__file__).with_name("dagster_cases.py")
ROOT = Path(__file__).parents[2]


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dagster", None)
    with Session(tmp_path, "duckdb") as session, pytest.raises(InterfaceError) as caught:
        partitions_definition(session, "f", "hours", "2024-01-01")
    assert caught.value.hint == "pip install 'rewriter[dagster]'"


@pytest.mark.long
def test_with_the_package(tmp_path: Path) -> None:
    python = python_with("dagster>=1.13,<2", "REWRITER_TEST_DAGSTER", tmp_path)
    # The packages of this environment come last: Dagster finds the versions that it asked for.
    shared = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    paths = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})"
    code = f"{paths}; import pytest, sys; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {str(CASES)!r}]))"
    environment = {**os.environ, "PYTHONPATH": shared, "DAGSTER_DISABLE_TELEMETRY": "1"}
    done = subprocess.run([python, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
