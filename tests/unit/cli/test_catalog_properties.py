"""``rewriter catalog set``."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.cli import main

DEFAULT = "hive.default.cluster.name"


@pytest.fixture
def warehouse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main.main(["sql", "-w", str(tmp_path), "--engine", "duckdb", "-e", "CREATE TABLE t (x INT)"]) == 0
    capsys.readouterr()
    return str(tmp_path)


def show(warehouse: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    command = ["sql", "-w", warehouse, "--engine", "duckdb", "--format", "tsv", "-e", "SHOW CATALOG PROPERTIES"]
    assert main.main(command) == 0
    return capsys.readouterr().out.splitlines()[1:]


def test_a_property_is_set_and_removed(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["catalog", "set", "-w", warehouse, DEFAULT, "c1"]) == 0
    assert capsys.readouterr().out == f"{DEFAULT} is set\n"
    assert show(warehouse, capsys) == [f"{DEFAULT}\tc1\tcatalog"]
    assert main.main(["catalog", "set", "-w", warehouse, DEFAULT, "--unset"]) == 0
    assert capsys.readouterr().out == f"{DEFAULT} is removed\n"
    assert show(warehouse, capsys) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([DEFAULT], "Name a value or --unset."),
        ([DEFAULT, "c1", "--unset"], "exclude each other"),
        (["hive.default.cluster.nam", "c1"], "Did you mean hive.default.cluster.name?"),
        (["hive.cluster.properties", '{"c1": {"engine": "x"}}'], "INVALID_CLUSTER_PROPERTIES"),
    ],
)
def test_mistakes(warehouse: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main.main(["catalog", "set", "-w", warehouse, *arguments]) != 0
    assert message in capsys.readouterr().err
    assert show(warehouse, capsys) == []


def test_no_warehouse_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["catalog", "set", "-w", str(tmp_path / "none"), DEFAULT, "c1"]) != 0
    assert "WAREHOUSE_NOT_FOUND" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
