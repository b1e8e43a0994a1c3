"""The programs of docs/how-to/streaming.md run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import dead_links

from rewriter.exec.spark.engine import SparkEngine

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "streaming.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_arrow_data_is_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(PROGRAMS[0], str(PAGE), "exec"), {})


def test_partitions_are_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(PROGRAMS[2], str(PAGE), "exec"), {})


def test_a_streaming_frame_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkEngine) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(PROGRAMS[1], str(PAGE), "exec"), {})


def test_all_programs_are_run_and_links_lead_somewhere() -> None:
    assert len(PROGRAMS) == 3
    assert dead_links(PAGE) == []
