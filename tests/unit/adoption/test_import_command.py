"""``rewriter import``: what goes where, exit codes, and Ctrl-C."""

from __future__ import annotations

import builtins
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_metastore import FakeMetastore
from imported import picture

from rewriter.cli import main


def _metastore() -> FakeMetastore:
    metastore = FakeMetastore()
    metastore.add_database("sales")
    metastore.add_table("orders", keys={"ds": "date"}, database="sales")
    for day in (1, 2, 3):
        metastore.add_partition("orders", f"ds=2026-01-0{day}", database="sales")
    return metastore


def test_an_import_that_takes_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with _metastore().serving() as url:
        assert main.main(["import", url, "-w", str(tmp_path)]) == 0
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.splitlines() == [
            "sales.orders: partitions: 3 created, 0 changed, 0 dropped",
            "databases: 1 created, 0 changed, 0 dropped; tables and views: 1 created, 0 changed, 0 dropped; "
            "partitions: 3 created, 0 changed, 0 dropped",
        ]
        assert main.main(["import", url, "-w", str(tmp_path)]) == 0
        assert capsys.readouterr().err == "nothing has changed\n"


def test_what_is_not_taken_is_a_table_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metastore = _metastore()
    metastore.add_table("far", location="hdfs://nn/x\x1b[31m", database="sales")
    with metastore.serving() as url:
        assert main.main(["import", url, "sales.*", "-w", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    head, line, row = captured.out.splitlines()
    assert [cell.strip() for cell in head.split("|")] == ["object", "not taken", "count", "example", "reason"]
    assert set(line) == {"-", "+"}
    assert row.startswith("sales.far | table")
    assert "hdfs" in row
    assert "\x1b" not in captured.out
    assert set(picture(tmp_path)) == {"sales.orders"}


def test_a_source_that_is_away(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("rewriter.metastore.adoption.source.PAUSES", ())
    assert main.main(["import", "thrift://127.0.0.1:1", "-w", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Error: [METASTORE_UNAVAILABLE]")


@pytest.mark.parametrize("arguments", [["thrift://"], ["thrift://h", "orders"], ["thrift://h", "a.b.c"], []])
def test_wrong_usage(tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["import", *arguments, "-w", str(tmp_path / "w")]) == 2
    assert not (tmp_path / "w").exists()
    assert capsys.readouterr().err


def test_without_thrift_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **options: Any) -> Any:
        if name.split(".")[0] == "thrift":
            raise ModuleNotFoundError("No module named 'thrift'")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert main.main(["import", "thrift://h", "-w", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert "pip install 'rewriter[metastore]'" in captured.err
    assert "Traceback" not in captured.err


def test_it_follows_until_ctrl_c(tmp_path: Path) -> None:
    metastore = _metastore()
    with metastore.serving() as url:
        command = [
            sys.executable,
            "-m",
            "rewriter",
            "import",
            url,
            "-w",
            str(tmp_path),
            "--follow",
            "--interval",
            "0.1",
        ]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        try:
            assert process.stderr is not None
            lines = [process.stderr.readline() for _ in range(2)]
            assert lines[1].startswith("databases: 1 created")
            metastore.add_partition("orders", "ds=2026-01-04", database="sales")
            assert process.stderr.readline() == "sales.orders: partitions: 1 created, 0 changed, 0 dropped\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()
            process.wait()
    assert len(picture(tmp_path)["sales.orders"][-1]) == 4
