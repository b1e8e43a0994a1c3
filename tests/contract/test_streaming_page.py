"""The program of docs/how-to/streaming.md that takes Spark. ``test_pages.py`` runs the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_runner import DOCS, blocks

from rewriter.exec.spark.engine import SparkEngine

PAGE = DOCS / "how-to" / "streaming.md"


def test_a_streaming_frame_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkEngine) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = [block.text for block in blocks(PAGE) if block.title == "ticks.py"]
    exec(compile(program, str(PAGE), "exec"), {})
