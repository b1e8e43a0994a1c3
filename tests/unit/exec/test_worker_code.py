"""The code that writes in Spark's Python workers travels by value: workers need not have this package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from contract.conftest import columns

from rewriter.exec.engine import Packing, Write
from rewriter.exec.sinks.choice import SinkChoice, SinkKind
from rewriter.exec.spark.writer import _plan, data_source

SCRIPT = """
import pickle, sys
sys.modules["rewriter"] = None  # an import of it fails
import pyarrow as pa
with open(sys.argv[1], "rb") as file:
    source, plan = pickle.load(file)
writer = source({"plan": plan}).writer(None, False)
message = writer.write(iter([pa.record_batch({"x": [1, 2, 3], "p": ["b", "a", "b"]})]))
writer.commit([message])
"""


@pytest.mark.parametrize("kind", [SinkKind.UNGROUPED, SinkKind.SORTED])
@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "json", "packed"])
def test_workers_write_without_the_package(kind: SinkKind, format: str, tmp_path: Path) -> None:
    from pyspark import cloudpickle

    write = Write(
        str(tmp_path / "out"),
        "parquet" if format == "packed" else format,
        columns("x bigint"),
        columns("p string"),
        packing=Packing(columns("p string")) if format == "packed" else None,
        sink=SinkChoice(kind),
    )
    report = tmp_path / "report.json"
    (tmp_path / "code").write_bytes(cloudpickle.dumps((data_source(), _plan(write, str(report)))))
    subprocess.run((sys.executable, "-c", SCRIPT, str(tmp_path / "code")), check=True, cwd=tmp_path, env={})
    files = sorted((tmp_path / "out").rglob("*.*"))
    assert len(files) == (1 if format == "packed" and kind is SinkKind.SORTED else 2)
    if format == "parquet":
        assert [pq.read_table(file)["x"].to_pylist() for file in files] == [[2], [1, 3]]
    assert report.read_text().count("part-") == 2
