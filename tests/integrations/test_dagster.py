"""The adapter of Dagster: without the package here, with the real one in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from integrations.environments import python_with

from rewriter.errors import AnalysisError, InterfaceError, ParseError
from rewriter.integrations.dagster import missing_partition_keys, partitions_definition
from rewriter.session import Session

CASES = Path(__file__).with_name("dagster_cases.py")
ROOT = Path(__file__).parents[2]


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dagster", None)
    with Session(tmp_path, "duckdb") as session, pytest.raises(InterfaceError) as caught:
        partitions_definition(session, "f", "hours", "2024-01-01")
    assert caught.value.hint == "Run pip install 'rewriter[dagster]'."


class Partitions(SimpleNamespace):
    """Dagster's definition of two days."""

    exclusions = None

    def get_first_partition_window(self) -> SimpleNamespace:
        return SimpleNamespace(start=datetime(2024, 1, 1, tzinfo=UTC))

    def get_last_partition_window(self) -> SimpleNamespace:
        return SimpleNamespace(end=datetime(2024, 1, 3, tzinfo=UTC))


@pytest.mark.parametrize(
    ("fact", "table"),
    [("`order`", "`days`"), ("default.`Order`", "spark_catalog.default.`Days`")],
)
def test_names_are_read_as_in_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fact: str, table: str
) -> None:
    monkeypatch.setitem(sys.modules, "dagster", SimpleNamespace(TimeWindowPartitionsDefinition=Partitions))
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE TABLE `days` (n BIGINT) PARTITIONED BY (dt STRING)")
        session.execute("CREATE CUBE sales (n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        session.execute(
            "CREATE FACT `order` OF CUBE sales STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
        )
        made = partitions_definition(session, fact, table, "2024-01-01")
        assert made.start == "2024-01-01"
        made.timezone = "UTC"
        assert missing_partition_keys(session, fact, table, made) == ["2024-01-01", "2024-01-02"]


def test_wrong_names_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dagster", SimpleNamespace(TimeWindowPartitionsDefinition=Partitions))
    with Session(tmp_path, "duckdb") as session:
        with pytest.raises(ParseError, match="is not a name"):
            partitions_definition(session, "my fact", "days", "2024-01-01")
        with pytest.raises(AnalysisError) as caught:
            partitions_definition(session, "a.b.f", "days", "2024-01-01")
        assert caught.value.condition == "REQUIRES_SINGLE_PART_NAMESPACE"


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
