"""``connection.append`` takes DataFrames of Polars, and ``fetch_polars`` returns them with the same types."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl

import rewriter


def test_a_frame_of_polars_goes_and_comes(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "n": [1, None],
            "s": ["é", None],
            "at": [datetime(2013, 1, 1, 5, tzinfo=UTC), None],
            "d": [Decimal("1.50"), None],
            "dt": [date(2013, 1, 1), date(2013, 1, 2)],
        },
        schema_overrides={"d": pl.Decimal(10, 2)},
    )
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        connection.execute(
            "CREATE TABLE t (n BIGINT, s STRING, at TIMESTAMP, d DECIMAL(10,2)) PARTITIONED BY (dt DATE)"
        )
        assert connection.append("t", frame, batch_id="1").rowcount == 2
        returned = connection.execute("SELECT n, s, at, d, dt FROM t ORDER BY dt").fetch_polars()
        assert returned.rows() == frame.rows()
        assert returned.schema == {**frame.schema, "at": pl.Datetime("us", "UTC")}
