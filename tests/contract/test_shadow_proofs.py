"""A shadow proof runs beside the session, on both engines, with a copied setting, and leaves the session's engine."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rewriter
from rewriter.exec.engine import Engine

WORLD = """
CREATE CUBE rides (line STRING, rides BIGINT MEASURE COUNT, late DOUBLE MEASURE MAX, t TIMESTAMP TIME)
  TIME ZONE 'Europe/Berlin';
CREATE TABLE ridden (t TIMESTAMP, line STRING, late DOUBLE) PARTITIONED BY (h TIMESTAMP);
CREATE TABLE days (line STRING, rides BIGINT, late DOUBLE) PARTITIONED BY (d DATE);
CREATE FACT log OF CUBE rides STORED IN (
  TABLE ridden PERIOD HOURLY PARTITIONED BY t AS (h) RAW, TABLE days PERIOD DAILY PARTITIONED BY t AS (d));
INSERT INTO ridden MARK COMPLETE FROM '2024-03-30' TO '2024-04-02'
  SELECT x, line, late, date_trunc('HOUR', x) FROM VALUES (TIMESTAMP '2024-03-30 08:10:00Z', 'U1', 1.5D),
  (TIMESTAMP '2024-03-31 00:30:00Z', NULL, 2.5D), (TIMESTAMP '2024-03-31 12:00:00Z', 'U1', CAST('NaN' AS DOUBLE)),
  (TIMESTAMP '2024-04-01 21:59:00Z', 'U2', NULL) AS v (x, line, late);
REFRESH FACT log
"""
QUERY = "SELECT SUM(rides) AS n FROM rides WHERE t >= '2024-03-30' AND t < '2024-04-02'"


@pytest.mark.filterwarnings("ignore:days DAILY")
def test_a_proof_finds_the_wrong_row_and_no_other(engine: Engine, tmp_path: Path) -> None:
    with rewriter.connect(tmp_path / "w", engine=engine) as connection:
        for statement in WORLD.split(";"):
            connection.execute(statement)
        connection.execute("SET rewriter.verify = 100%")
        connection.execute("SET rewriter.verify_seconds = 300")
        for expected in ((), ("days DAILY 2024-03-31",), ()):
            if expected:
                for path in (tmp_path / "w").rglob("days-*/**/*.parquet"):
                    rows = pq.read_table(path)
                    pairs = zip(rows["line"].to_pylist(), rows["rides"].to_pylist(), strict=True)
                    changed = pa.array([4 if line is None else n for line, n in pairs], rows.schema.field("rides").type)
                    pq.write_table(rows.set_column(rows.schema.get_field_index("rides"), "rides", changed), path)
            cursor = connection.execute(QUERY)
            assert cursor.fetchall() == [(7 if expected else 4,)]
            assert cursor.stats is not None
            proof = cursor.stats.shadow_proof
            assert proof is not None
            assert proof.wait(300)
            assert (proof.error, proof.differing) == (None, expected)
            assert proof.compared == proof.partitions > 0
            if expected:
                assert connection.execute(QUERY).fetchall() == [(4,)]
                connection.execute("REFRESH FACT log")
