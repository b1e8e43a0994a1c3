"""The code that writes in Spark's Python workers travels by value: workers need not have this package."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contract.conftest import columns

from rewriter.exec.engine import Packing, Write
from rewriter.exec.sinks.sink_kinds import SinkChoice, SinkKind
from rewriter.exec.spark.session import data_sources
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
@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "json", "avro", "packed"])
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
    (tmp_path / "code").write_bytes(
        cloudpickle.dumps((data_source(), _plan(write, str(report), str(tmp_path / "found"))))
    )
    subprocess.run((sys.executable, "-c", SCRIPT, str(tmp_path / "code")), check=True, cwd=tmp_path, env={})
    files = sorted((tmp_path / "out").rglob("*.*"))
    assert len(files) == (1 if format == "packed" and kind is SinkKind.SORTED else 2)
    if format == "parquet":
        assert [pq.read_table(file)["x"].to_pylist() for file in files] == [[2], [1, 3]]
    assert report.read_text().count("part-") == 2


READING = """
import json, pickle, sys
from types import SimpleNamespace
sys.modules["rewriter"] = None  # an import of it fails
with open(sys.argv[1], "rb") as file:
    source, plan, names = pickle.load(file)
reader = source({"plan": plan}).reader(SimpleNamespace(names=names))
rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
print(json.dumps([list(row.values()) for row in rows]))
"""


def serialized(**types: pa.DataType) -> str:
    """Returns columns as a plan holds them."""
    return base64.b64encode(pa.schema(list(types.items())).serialize()).decode()


TEXT_OPTIONS = {"field.delim": ",", "escape.delim": "/", "serialization.null.format": "N"}


@pytest.mark.parametrize(
    ("format", "content", "plan", "rows"),
    [
        (
            "rewriter_files",
            "1,x/,y\n,N\n",
            {"format": "textfile", "columns": serialized(a=pa.int64(), b=pa.string()), "options": TEXT_OPTIONS},
            [["1", "x,y"], [None, None]],
        ),
        ("rewriter_csv_lines", "a\n1\n\n", {"separator": ","}, [["1"], [None]]),
    ],
)
def test_workers_read_without_the_package(
    format: str, content: str, plan: dict[str, object], rows: list[list[object]], tmp_path: Path
) -> None:
    from pyspark import cloudpickle

    (source,) = [source for source in data_sources() if source.name() == format]
    path = tmp_path / "file"
    path.write_text(content)
    text = json.dumps({**plan, "paths": [str(path)], "tasks": 1})
    names = ["a", "b", "file"] if format == "rewriter_files" else ["a", "file"]
    (tmp_path / "code").write_bytes(cloudpickle.dumps((source, text, names)))
    run = subprocess.run(
        (sys.executable, "-c", READING, str(tmp_path / "code")),
        check=True, cwd=tmp_path, env={}, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(run.stdout) == [[*row, str(path)] for row in rows]


PACKING = """
import pickle, sys
sys.modules["rewriter"] = None  # an import of it fails
import pyarrow as pa
with open(sys.argv[1], "rb") as file:
    pack = pickle.load(file)
packed = []
for count in (0, 1, 40):
    packed += pack(pa.record_batch({"n": [number], "s": ["x" * 100_000]}) for number in range(count))
with pa.ipc.new_file(sys.argv[2], packed[0].schema) as writer:
    for batch in packed:
        writer.write_batch(batch)
"""


def test_workers_pack_rows_without_the_package(tmp_path: Path) -> None:
    """Few rows of a partition arrive in memory, more in a file."""
    from pyspark import cloudpickle

    from rewriter.exec.spark.spilled_rows import _packing, unpack_rows

    (tmp_path / "rows").mkdir()
    (tmp_path / "code").write_bytes(cloudpickle.dumps(_packing(str(tmp_path / "rows"))))
    command = (sys.executable, "-c", PACKING, str(tmp_path / "code"), str(tmp_path / "packed"))
    subprocess.run(command, check=True, cwd=tmp_path, env={})
    with pa.ipc.open_file(str(tmp_path / "packed")) as reader:
        batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
    assert [path is None for batch in batches for path in batch.column("path").to_pylist()] == [True, False]
    assert len(list((tmp_path / "rows").iterdir())) == 1
    rows = pa.Table.from_batches(unpack_rows(batches))
    assert rows["n"].to_pylist() == [0, *range(40)]
    assert not list((tmp_path / "rows").iterdir())
