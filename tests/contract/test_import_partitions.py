"""Both engines read the files that ADD PARTITION … LOCATION copied into a managed table, in every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.exec.engine import Engine
from rewriter.session import Session

FORMATS = {
    "parquet": "USING parquet",
    "orc": "USING orc",
    "csv": "USING csv",
    "json": "USING json",
    "textfile": "STORED AS TEXTFILE",
}


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_the_rows_are_those_of_the_directory(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    running: Engine = request.getfixturevalue(engine)
    with Session(tmp_path / "warehouse", running) as session:
        for name, clause in FORMATS.items():
            folder = tmp_path / name
            session.execute(f"CREATE EXTERNAL TABLE {name}_files (a INT, b STRING) {clause} LOCATION '{folder}'")
            session.execute(f"INSERT INTO {name}_files VALUES (1, 'x'), (NULL, 'é'), (3, NULL)")
            session.execute(f"CREATE TABLE {name}_days (a INT, b STRING) {clause} PARTITIONED BY (day STRING)")
            session.execute(f"ALTER TABLE {name}_days ADD PARTITION (day = '2024-05-01') LOCATION '{folder}'")
            rows = session.execute(f"SELECT a, b, day FROM {name}_days ORDER BY a NULLS FIRST").fetch()
            assert rows == [(None, "é", "2024-05-01"), (1, "x", "2024-05-01"), (3, None, "2024-05-01")], name
