"""Four questions over the flights, asked of rewriter, of plain engines, and of other packages that keep rollups.

Packages of others run in interpreters of their own, because they need other versions of what we use. Environment
variables name them: see ``PEERS``. All contenders read the same two Parquet files, of the events and of their hours, or
what they make of them. An answer is shown only if its rows are the rows of plain DuckDB over the events.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import rewriter
from benchmarks.flights import unpack_flights
from benchmarks.planning import CUBE, DATA, FACT, PERIODS, SQL
from benchmarks.questions import (
    QUESTIONS,
    Answer,
    Contender,
    Files,
    Question,
    answered,
    contenders_printed,
    difference,
    over_events,
    over_hours,
    rows_of,
)
from benchmarks.timing import WideTable, shown
from rewriter.dbapi import Connection, Cursor

EVENTS = 336_776
SIZES = (EVENTS, 10_000_000)
SIZED = (QUESTIONS[0], QUESTIONS[3])
MEASURES = "SUM(distance) AS distance, COUNT(*) AS flights, AVG(delay) AS delay, MAX(worst_delay) AS worst"
COLUMNS = "origin, dest, carrier, flights, departures, distance, delay, worst_delay"
ROLLUP = "origin, dest, carrier, SUM(flights), SUM(departures), SUM(distance), SUM(delay), MAX(worst_delay)"
UNPACKED = " TBLPROPERTIES ('rewriter.packed' = 'false')"
#: The events of a CSV file in the order of their time: the hour of the file, and the minute of the schedule.
EVENTS_OF_CSV = """COPY (
  SELECT origin, dest, carrier, CAST(distance AS BIGINT) AS distance, TRY_CAST(dep_delay AS DOUBLE) AS delay,
    strptime(substring(replace(time_hour, 'T', ' '), 1, 13), '%Y-%m-%d %H') + to_minutes(CAST(minute AS INT))
      AS departed
  FROM read_csv('{csv}', all_varchar = true) ORDER BY departed
) TO '{events}'"""
EVENT_DATA = "origin STRING, dest STRING, carrier STRING, distance BIGINT, delay DOUBLE, departed TIMESTAMP"
RAW_FACT = """CREATE FACT flights_all OF CUBE flights STORED IN (
  TABLE flights_events PERIOD HOURLY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH') RAW (worst_delay AS delay))"""
#: The Parquet files of the RAW table, below its warehouse.
RAW_FILES = "flights_events-*/*/*.parquet"
#: Each event several times within its minute.
REPEATED = """COPY (
  SELECT * EXCLUDE copy REPLACE (departed + to_microseconds(copy * 59_000_000 // {copies}) AS departed)
  FROM (SELECT *, unnest(range({copies})) AS copy FROM '{events}')
) TO '{repeated}'"""
HOURS_OF_EVENTS = """COPY (
  SELECT origin, dest, carrier, COUNT(*) AS flights, COUNT(delay) AS departures,
    CAST(SUM(distance) AS BIGINT) AS distance, SUM(delay) AS delay, MAX(delay) AS worst_delay,
    strftime(hour, '%Y-%m-%d-%H') AS dt, hour AS departed
  FROM (SELECT *, date_trunc('hour', departed) AS hour FROM '{events}') GROUP BY origin, dest, carrier, hour ORDER BY dt
) TO '{hours}'"""


@dataclass(frozen=True)
class Peer:
    """Other packages: the module that asks them, and the variable that names an interpreter which has them."""

    module: str
    variable: str
    packages: str


PEERS = (
    Peer("timelake_peer", "TIMELAKE_PYTHON", "timelake"),
    Peer("sidemantic_peer", "SIDEMANTIC_PYTHON", "sidemantic"),
    Peer("lake_peer", "LAKE_PYTHON", "deltalake 'pyiceberg[sql-sqlite,pyarrow]' duckdb"),
)


def given() -> bool:
    """Returns whether there is an interpreter of any peer."""
    return any(os.environ.get(peer.variable) for peer in PEERS)


def missing() -> str | None:
    """Returns how to give the interpreters that are missing. ``None`` if all are there."""
    absent = [f"{peer.variable} (pip install {peer.packages})" for peer in PEERS if not os.environ.get(peer.variable)]
    return f"Peers need interpreters of their own, with what is in parentheses: {', '.join(absent)}" if absent else None


def measure(folder: Path, engine: Any = None, spark: Any = None) -> WideTable:
    """Returns the times of all contenders. ``engine`` is our Spark engine and ``spark`` its session, if any."""
    csv = folder / "flights.csv"
    unpack_flights(csv)
    files = Files(str(folder / "events.parquet"), str(folder / "hours.parquet"), str(folder))
    _copy(EVENTS_OF_CSV.format(csv=csv, events=files.events), HOURS_OF_EVENTS.format(**asdict(files)))
    build(folder / "packed", files.hours)
    build(folder / "unpacked", files.hours, UNPACKED)
    build_events(folder / "events", files.events)
    contenders = [_plain_duckdb("plain DuckDB, one file of events", over_events, files.events), *_ours(folder)]
    own = str(folder / "events" / RAW_FILES)
    contenders.append(_plain_duckdb("plain DuckDB, files of the RAW table", over_events, own))
    contenders.append(_plain_duckdb("plain DuckDB, one file of hours", over_hours, files.hours))
    if spark is not None:
        # Spark's machine compiles for the first minute whatever it runs: the first round is not shown.
        contenders += [list(_on_spark(folder / "packed", engine, spark, files)) for _ in range(2)][1]
    for peer in PEERS:
        contenders += _child(peer, files, folder / peer.module)
    title = f"Peers: {EVENTS:,} events; medians of 20 warm runs, of 3 where one takes half a second"
    return _table(title, QUESTIONS, contenders)


def measure_sizes(folder: Path, events: int | None = None) -> WideTable:
    """Returns the times of rewriter and of plain DuckDB over more and more events: ``SIZES`` and ``events``."""
    csv, base = folder / "flights.csv", folder / "events.parquet"
    unpack_flights(csv)
    _copy(EVENTS_OF_CSV.format(csv=csv, events=base))
    tables = [_sized(folder, base, round(size / EVENTS)) for size in (*SIZES, *([events] if events else []))]
    return WideTable(
        "Cost and size on DuckDB",
        ("contender", *(question.name for question in SIZED)),
        tuple(row for table in tables for row in table.rows),
        tuple(note for table in tables for note in table.notes),
    )


def build(warehouse: Path, hours: str, properties: str = "") -> None:
    """Builds a warehouse with the hours of the Parquet file, and their days and months."""
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        cursor = connection.cursor()
        for table in PERIODS.values():
            cursor.execute(f"CREATE TABLE {table} ({DATA}) PARTITIONED BY (dt STRING){properties}")
        cursor.execute(CUBE)
        cursor.execute(FACT)
        cursor.execute(f"INSERT INTO flights_hourly PARTITION (dt) SELECT {COLUMNS}, dt FROM parquet.`{hours}`")
        cursor.execute(f"ALTER TABLE flights_hourly ADD IF NOT EXISTS {_hours_of_2013()}")
        for name, length in (("flights_daily", 10), ("flights_monthly", 7)):
            key = f"substring(dt, 1, {length})"
            cursor.execute(
                f"INSERT INTO {name} PARTITION (dt) SELECT {ROLLUP}, {key} FROM flights_hourly "
                f"GROUP BY origin, dest, carrier, {key}"
            )


def build_events(warehouse: Path, events: str) -> None:
    """Builds a warehouse whose only table has the events of the Parquet file, by hour: the base of the cube, RAW."""
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE TABLE flights_events ({EVENT_DATA}) PARTITIONED BY (dt STRING)")
        cursor.execute(CUBE)
        cursor.execute(RAW_FACT)
        cursor.execute(
            "INSERT INTO flights_events PARTITION (dt) SELECT origin, dest, carrier, distance, delay, "
            f"departed, date_format(departed, 'yyyy-MM-dd-HH') FROM parquet.`{events}`"
        )
        cursor.execute(f"ALTER TABLE flights_events ADD IF NOT EXISTS {_hours_of_2013()}")


def _hours_of_2013() -> str:
    start = datetime(2013, 1, 1, tzinfo=UTC)
    hours = (start + timedelta(hours=number) for number in range(365 * 24))
    return " ".join(f"PARTITION (dt = '{hour:%Y-%m-%d-%H}')" for hour in hours)


def over_cube(question: Question) -> str:
    """Returns the question over our cube."""
    if question.by == "carrier":
        return SQL
    where = f"departed >= '{question.start}' AND departed < '{question.end}'"
    if not question.key:
        return f"SELECT SUM(distance) AS distance FROM flights WHERE {where}"
    return f"SELECT {question.key} AS grouped, {MEASURES} FROM flights WHERE {where} GROUP BY {question.key}"


def _ours(folder: Path) -> Iterator[Contender]:
    rollups = "hours, days and months"
    with rewriter.connect(folder / "packed", engine="duckdb") as connection:
        yield _rewriter("rewriter on DuckDB", f"{rollups}, packed; the same text in each run", connection)
        setup = "the same; each run has a text of its own, which ends in a new comment"
        yield _rewriter("rewriter on DuckDB, new texts", setup, connection, new_texts=True)
    with rewriter.connect(folder / "unpacked", engine="duckdb") as connection:
        yield _rewriter("rewriter on DuckDB, unpacked", f"{rollups}, a file for each partition", connection)
    with rewriter.connect(folder / "events", engine="duckdb") as connection:
        yield _rewriter("rewriter on DuckDB, events", "a RAW table alone, packed by hour", connection)


def _rewriter(
    label: str,
    setup: str,
    connection: Connection,
    questions: Sequence[Question] = QUESTIONS,
    *,
    new_texts: bool = False,
) -> Contender:
    cursor, runs = connection.cursor(), itertools.count()

    def run(sql: str) -> list[Any]:
        return _fetched(cursor, f"{sql} -- run {next(runs)}" if new_texts else sql)

    return Contender(label, setup, _answers(questions, lambda question: run(over_cube(question))))


def _fetched(cursor: Cursor, sql: str) -> list[Any]:
    cursor.execute(sql)
    return cursor.fetchall()


def _answers(questions: Sequence[Question], rows: Callable[[Question], list[Any]]) -> tuple[Answer, ...]:
    return tuple(answered(lambda asked=question: rows(asked)) for question in questions)


def _plain_duckdb(
    label: str, text: Callable[[Question, str], str], path: str, questions: Sequence[Question] = QUESTIONS
) -> Contender:
    import duckdb

    with closing(duckdb.connect()) as connection:
        answers = _answers(questions, lambda question: connection.execute(text(question, f"'{path}'")).fetchall())
    return Contender(label, "Parquet, sorted by time", answers)


def _on_spark(warehouse: Path, engine: Any, spark: Any, files: Files) -> Iterator[Contender]:
    with rewriter.connect(warehouse, engine=engine) as connection:
        yield _rewriter("rewriter on Spark", "hours, days and months, packed; the same text in each run", connection)
    with rewriter.connect(warehouse.parent / "events", engine=engine) as connection:
        yield _rewriter("rewriter on Spark, events", "a RAW table alone, packed by hour", connection)
    own = str(warehouse.parent / "events" / RAW_FILES)
    for label, text, path, literal in (
        ("plain Spark, one file of events", over_events, files.events, "TIMESTAMP_NTZ"),
        ("plain Spark, files of the RAW table", over_events, own, "TIMESTAMP"),
        ("plain Spark, one file of hours", over_hours, files.hours, "TIMESTAMP_NTZ"),
    ):
        spark.read.parquet(path).createOrReplaceTempView("peers")

        def run(
            question: Question, text: Callable[[Question, str, str], str] = text, literal: str = literal
        ) -> list[Any]:
            return rows_of(spark.sql(text(question, "peers", literal)).toArrow())

        yield Contender(label, "Parquet, sorted by time, as a temporary view", _answers(QUESTIONS, run))
        spark.catalog.dropTempView("peers")


def _child(peer: Peer, files: Files, folder: Path) -> list[Contender]:
    """Returns the contenders that a peer's interpreter measures. Without the interpreter there are none."""
    python = os.environ.get(peer.variable)
    if not python:
        return []
    folder.mkdir()
    done = subprocess.run(
        [python, "-m", f"benchmarks.{peer.module}"],
        input=json.dumps({**asdict(files), "folder": str(folder)}),
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return contenders_printed(done.stdout)
    reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return [Contender(peer.packages, "", (Answer(0.0, [], reason),) * len(QUESTIONS))]


def _sized(folder: Path, base: Path, copies: int) -> WideTable:
    events, hours = (folder / f"{name}_{copies}.parquet" for name in ("events", "hours"))
    warehouse = folder / f"warehouse_{copies}"
    _copy(
        REPEATED.format(copies=copies, events=base, repeated=events),
        HOURS_OF_EVENTS.format(events=events, hours=hours),
    )
    build(warehouse, str(hours))
    build_events(folder / f"events_{copies}", str(events))
    size = f"{copies * EVENTS:,} events"
    reference = _plain_duckdb(f"plain DuckDB, {size}", over_events, f"{events}", SIZED)
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        ours = _rewriter(f"rewriter on DuckDB, {size}", "hours, days and months, packed", connection, SIZED)
    with rewriter.connect(folder / f"events_{copies}", engine="duckdb") as connection:
        raw = _rewriter(f"rewriter on DuckDB, {size}, RAW", "a RAW table alone, packed by hour", connection, SIZED)
    return _table("", SIZED, [reference, ours, raw])


def _copy(*statements: str) -> None:
    import duckdb

    with closing(duckdb.connect()) as connection:
        for statement in statements:
            connection.execute(statement)


def _table(title: str, questions: Sequence[Question], contenders: Sequence[Contender]) -> WideTable:
    """Returns the table of the contenders. The first of them is right, and the others are compared with it."""
    reference, notes, rows = contenders[0], [], []
    for contender in contenders:
        cells = []
        if contender.setup:
            notes.append(f"{contender.label}: {contender.setup}.")
        for question, answer, expected in zip(questions, contender.answers, reference.answers, strict=True):
            cells.append(_cell(answer, expected))
            if answer.reason:
                notes.append(f"{contender.label}, {question.name}: {answer.reason}")
        rows.append((contender.label, *cells))
    return WideTable(title, ("contender", *(question.name for question in questions)), tuple(rows), tuple(notes))


def _cell(answer: Answer, expected: Answer) -> str:
    if answer.reason:
        return "—"
    wrong = difference(answer, expected)
    return f"wrong: {wrong}" if wrong else shown(answer.seconds)
