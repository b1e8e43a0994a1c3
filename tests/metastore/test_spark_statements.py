"""A stock Spark session executes a script against our metastore, with the outcomes of a real Hive metastore.

The client is a process with a JVM of its own. ``pytest tests/metastore -m long --rewrite`` records the outcomes of the
real metastore.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from comparison import compare, differences
from server import metastore
from statement_outcomes import SCRIPT, execute, record, recorded
from statement_texts import statements

from benchmarks import hive_metastore


@pytest.mark.long
def test_the_outcomes_are_those_of_a_hive_metastore(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    with metastore(tmp_path / "warehouse", files) as uri:
        results = execute(uri, files)
    _report(compare(results, recorded(), differences()))


@pytest.mark.long
def test_the_recording_is_what_a_hive_metastore_does(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with hive_metastore.running() as port:
        results = execute(f"thrift://127.0.0.1:{port}", tmp_path)
    if request.config.getoption("--rewrite"):
        record(results)
    _report(compare(results, recorded(), []))


def test_the_recording_has_the_statements_of_the_script() -> None:
    script = [statement.text for statement in statements(SCRIPT.read_text(encoding="utf-8"))]
    assert [statement for statement, _ in recorded()] == script
    assert len(script) >= 90


def test_each_difference_names_a_statement_of_the_script() -> None:
    assert {row.statement for row in differences()} <= {statement for statement, _ in recorded()}


def _report(problems: list[str]) -> None:
    if problems:
        pytest.fail("\n\n".join([f"{len(problems)} problems", *problems]), pytrace=False)
