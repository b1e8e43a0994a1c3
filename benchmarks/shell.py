"""The SQL shell beside the shells of DuckDB, Spark and Hive: start to the prompt, start to the first answer, and a
million rows as CSV.

Each figure is of new processes, which read the same Parquet file.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import WideTable, shown

ROWS = 1_000_000
#: Runs of each contender. The tables show medians.
RUNS = 3
#: Seconds until a contender counts as failed.
_LIMIT = 300

REWRITER_ON_DUCKDB, REWRITER_ON_SPARK = "rewriter on DuckDB", "rewriter on Spark"
DUCKDB, SPARK_SQL, BEELINE = "duckdb CLI", "spark-sql", "beeline"


class Unavailable(Exception):
    """A contender cannot run here. The message says why."""


@dataclass(frozen=True)
class Place:
    """A folder with the rows, a warehouse and a home, and the environment of the contenders."""

    folder: Path
    environment: Mapping[str, str]

    @property
    def file(self) -> Path:
        return self.folder / "rows.parquet"

    @property
    def from_spark(self) -> str:
        return f"parquet.`{self.file}`"

    @property
    def from_duckdb(self) -> str:
        return f"'{self.file}'"


@contextmanager
def prepared() -> Iterator[Place]:
    """Writes the rows, and finds Java as ``rewriter`` does."""
    import pyspark

    from rewriter.exec.spark.java import find_java_home

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {
            **os.environ,
            "HOME": name,
            "JAVA_HOME": str(find_java_home()),
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TERM": "xterm-256color",
            "TZ": "UTC",
        }
        (folder / "spark").mkdir()
        place = Place(folder, environment)
        _write_rows(place.file)
        yield place


def _write_rows(path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    source, numbers = np.random.default_rng(1), np.arange(ROWS)
    words = ("New York", "Newark, NJ", 'the "big" one', "plain", "é", "O'Hare")

    def with_nulls(values: object, every: int, type_: pa.DataType) -> pa.Array:
        return pa.array(values, type_, mask=numbers % every == 0)

    table = pa.table(
        {
            "id": with_nulls(source.integers(-(1 << 60), 1 << 60, ROWS), 97, pa.int64()),
            "name": [None if n % 89 == 0 else f"{words[n % len(words)]} {n}" for n in range(ROWS)],
            "price": with_nulls(source.random(ROWS) * 1e4, 83, pa.float64()),
            "sold": with_nulls(1_357_000_000_000_000 + source.integers(0, 10**15, ROWS), 79, pa.timestamp("us", "UTC")),
            "amount": pa.array(source.integers(-(10**9), 10**9, ROWS)).cast(pa.decimal128(21, 2)),
        }
    )
    pq.write_table(table, path)


def _rewriter(place: Place, engine: str, *words: str) -> list[str]:
    return [_script("rewriter"), "-w", str(place.folder / "warehouse"), "--engine", engine, *words]


def _duckdb(*words: str) -> list[str]:
    if not Path(program := _script("duckdb")).exists():
        raise Unavailable("the package duckdb-cli is not installed: pip install 'rewriter[bench]'")
    return [program, *words]


def _spark(place: Place, program: str, *words: str) -> list[str]:
    return [f"{place.environment['SPARK_HOME']}/bin/{program}", *words]


def _script(name: str) -> str:
    return str(Path(sysconfig.get_path("scripts"), name))


# To the prompt


@dataclass(frozen=True)
class Started:
    """Seconds until the prompt was shown, and CPU seconds of the process and of its children until then."""

    seconds: float
    cpu: float
    children_cpu: float


def to_prompt(place: Place) -> WideTable:
    """Returns the times from the start of each shell in a terminal until its prompt is shown."""
    contenders: dict[str, tuple[Callable[[], list[str]], str]] = {
        REWRITER_ON_DUCKDB: (lambda: _rewriter(place, "duckdb"), "default>"),
        REWRITER_ON_SPARK: (lambda: _rewriter(place, "spark"), "default>"),
        # Without this option it asks the terminal for its colour, and waits for the answer.
        DUCKDB: (lambda: _duckdb("-dark-mode"), " D "),
        SPARK_SQL: (lambda: _spark(place, "spark-sql"), r"spark-sql \(default\)> "),
    }
    rows: list[tuple[str, ...]] = []
    failures = []
    for label, (command, prompt) in contenders.items():
        try:
            runs = [_started(command(), prompt, place) for _ in range(RUNS)]
        except Unavailable as error:
            failures.append(f"{label}: {error}.")
            continue
        each = ([run.cpu for run in runs], [run.children_cpu for run in runs], [run.seconds for run in runs])
        rows.append((label, *(f"{statistics.median(values):.2f} s" for values in each)))
    columns = ("shell", "CPU", "CPU of its children", "time")
    notes = (
        f"Medians of {RUNS} starts in a terminal, until the prompt is shown. CPU is user and system time.",
        "rewriter starts Spark in the background; the first statement waits for it. The JVM is a child.",
        *failures,
    )
    return WideTable("The SQL shell: start to the prompt", columns, tuple(rows), notes)


def _started(command: Sequence[str], prompt: str, place: Place) -> Started:
    import pexpect

    start = time.perf_counter()
    child = pexpect.spawn(
        command[0],
        list(command[1:]),
        env=dict(place.environment),
        cwd=str(place.folder / "spark"),
        encoding="utf-8",
        dimensions=(40, 120),
        timeout=_LIMIT,
    )
    try:
        child.expect(prompt)
        seconds = time.perf_counter() - start
        cpu, children_cpu = _cpu_of_tree(child.pid)
        child.sendeof()
        child.expect(pexpect.EOF)
    except (pexpect.EOF, pexpect.TIMEOUT) as error:
        raise Unavailable(f"no prompt: {type(error).__name__} after {child.before[-200:]!r}") from None
    finally:
        child.close(force=True)
    return Started(seconds, cpu, children_cpu)


def _cpu_of_tree(process: int) -> tuple[float, float]:
    """Returns the CPU seconds of a process, and the CPU seconds of all processes below it, with the processes that have
    ended.
    """
    tick = os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    times: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has ended.
        parents[int(entry.name)] = int(fields[1])
        user, system, waited_user, waited_system = map(int, fields[11:15])
        times[int(entry.name)] = (user + system, waited_user + waited_system)
    below, found = {process}, True
    while found:
        found = {child for child, parent in parents.items() if parent in below} - below
        below |= found
    own, waited = times[process]
    others = sum(sum(times[child]) for child in below - {process})
    return own / tick, (waited + others) / tick


# To the first answer


def to_first_answer(place: Place) -> WideTable:
    """Returns the times of processes that run one query over the rows."""
    columns = "COUNT(*) AS n, SUM(amount) AS total"
    spark_query = f"SELECT {columns} FROM {place.from_spark}"
    rows: list[tuple[str, ...]] = []
    failures, results, ours = [], set(), 0.0
    with _thrift_server(place) as (url, no_server):

        def beeline() -> list[str]:
            if no_server:
                raise Unavailable(no_server)
            return _spark(place, "beeline", "-u", url, "--silent=true", "--outputformat=csv2", "-e", spark_query)

        contenders: dict[str, Callable[[], list[str]]] = {
            REWRITER_ON_DUCKDB: lambda: _rewriter(place, "duckdb", "--format", "csv", "-e", spark_query),
            REWRITER_ON_SPARK: lambda: _rewriter(place, "spark", "--format", "csv", "-e", spark_query),
            DUCKDB: lambda: _duckdb("-csv", "-c", f"SELECT {columns} FROM {place.from_duckdb}"),
            SPARK_SQL: lambda: _spark(place, "spark-sql", "-e", spark_query),
            f"{BEELINE}, its server has started before": beeline,
        }
        for label, command in contenders.items():
            try:
                runs = [_run(command(), place) for _ in range(RUNS)]
                results.add(_figures(runs[-1].text))
            except Unavailable as error:
                failures.append(f"{label}: {error}.")
                continue
            seconds = statistics.median(run.seconds for run in runs)
            ours = ours or seconds
            rows.append((label, shown(seconds), "" if seconds == ours else f"{seconds / ours:.2f}×"))
    if len(results) != 1:
        raise RuntimeError(f"The contenders have different answers: {results}.")
    notes = (
        f"Medians of {RUNS} processes, from start to end: a COUNT and a SUM over {ROWS:,} rows, the same for all.",
        "The server of beeline is Spark's HiveThriftServer2, as the package pyspark has it; its start is not counted.",
        *failures,
    )
    header = ("shell", "time", f"of the time of {REWRITER_ON_DUCKDB}")
    return WideTable("The SQL shell: start to the first answer", header, tuple(rows), notes)


def _figures(text: str) -> tuple[str, str]:
    """Returns the count and the sum of an output."""
    if (found := re.search(r"^(\d+)[,\t](-?\d+\.\d+)$", text, re.MULTILINE)) is None:
        raise Unavailable(f"no answer in {text[-200:]!r}")
    return found[1], found[2]


@contextmanager
def _thrift_server(place: Place) -> Iterator[tuple[str, str]]:
    """Yields the URL of a server for beeline, and the reason where there is none."""
    folder = place.folder / "thrift"
    folder.mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    name = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    configuration = ("hive.server2.thrift.bind.host=127.0.0.1", f"hive.server2.thrift.port={port}")
    words = [word for setting in configuration for word in ("--hiveconf", setting)]
    command = _spark(
        place, "spark-submit", "--conf", "spark.ui.enabled=false", "--class", name, "spark-internal", *words
    )
    log = folder / "log.txt"
    with log.open("w") as output:
        server = subprocess.Popen(
            command, cwd=folder, env=place.environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield f"jdbc:hive2://127.0.0.1:{port}", _no_server(server, port, log)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def _no_server(server: subprocess.Popen[bytes], port: int, log: Path) -> str:
    """Waits for a server. Returns the reason if it does not start, otherwise an empty text."""
    end = time.monotonic() + _LIMIT
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return ""
        time.sleep(0.2)
    return f"HiveThriftServer2 did not start: {' '.join(log.read_text().splitlines()[-1:])}"


# A million rows


def to_csv(place: Place) -> WideTable:
    """Returns the times of processes that write all rows as text into a file."""
    spark_query, duckdb_query = f"SELECT * FROM {place.from_spark}", f"SELECT * FROM {place.from_duckdb}"
    output = place.folder / "out.csv"
    ours = ("--format", "csv", "-e", spark_query)
    contenders: dict[str, tuple[Callable[[], list[str]], bool]] = {
        f"{REWRITER_ON_DUCKDB}, -o FILE": (lambda: _rewriter(place, "duckdb", *ours, "-o", str(output)), False),
        f"{REWRITER_ON_DUCKDB}, > FILE": (lambda: _rewriter(place, "duckdb", *ours), True),
        f"{DUCKDB}, -csv > FILE": (lambda: _duckdb("-csv", "-c", duckdb_query), True),
        f"{REWRITER_ON_SPARK}, -o FILE": (lambda: _rewriter(place, "spark", *ours, "-o", str(output)), False),
        f"{SPARK_SQL} > FILE, text with tabs": (
            lambda: _spark(place, "spark-sql", "--conf", "spark.sql.cli.print.header=true", "-e", spark_query),
            True,
        ),
    }
    measured: dict[str, Run] = {}
    failures = []
    for label, (command, is_redirected) in contenders.items():
        try:
            runs = []
            for _ in range(RUNS):
                output.unlink(missing_ok=True)
                runs.append(_run(command(), place, output if is_redirected else None))
                with output.open("rb") as file:
                    lines = sum(1 for _ in file) - 1
                if lines != ROWS:
                    raise RuntimeError(f"{label} has written {lines:,} rows of {ROWS:,}.")
        except Unavailable as error:
            failures.append(f"{label}: {error}.")
            continue
        measured[label] = sorted(runs, key=lambda run: run.seconds)[RUNS // 2]
    rows = []
    for label, run in measured.items():
        rate = ROWS / run.seconds
        others = (
            f"{peer_run.seconds / run.seconds:.2f}×" if label.startswith("rewriter") and peer_run else ""
            for peer in (DUCKDB, SPARK_SQL)
            for peer_run in (next((r for name, r in measured.items() if name.startswith(peer)), None),)
        )
        # The JVM of rewriter on Spark is not waited for, so its time is not known.
        cpu = "" if label.startswith(REWRITER_ON_SPARK) else f"{run.cpu:.2f} s"
        rows.append((label, shown(run.seconds), cpu, f"{rate:,.0f}", *others))
    columns = ("shell", "time", "CPU", "rows/s", f"speed of the {DUCKDB}'s", f"of {SPARK_SQL}'s")
    notes = (
        f"Medians of {RUNS} processes, from start to end. Each file has a header and a line for each row.",
        "The rows have a bigint, a string (some with commas and quotes), a double, a timestamp, a decimal, and NULLs.",
        *failures,
    )
    return WideTable(f"The SQL shell: {ROWS:,} rows to a file", columns, tuple(rows), notes)


@dataclass(frozen=True)
class Run:
    """Seconds and CPU seconds of a process that has ended, and its output."""

    seconds: float
    cpu: float
    text: str


def _run(command: Sequence[str], place: Place, output: Path | None = None) -> Run:
    """Runs a process to its end. Raises ``Unavailable`` if it fails."""
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() if output is None else output.open("w+b") as out:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=place.folder / "spark",
            env=place.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip().splitlines()[-3:]
            raise Unavailable(f"{shutil.which(command[0])} failed: {' '.join(last)}")
        out.seek(0)
        text = out.read().decode() if output is None else ""
    return Run(seconds, usage.ru_utime + usage.ru_stime, text)


def measure() -> Iterator[WideTable]:
    """Yields the tables, one when it is complete."""
    with prepared() as place:
        for table in (to_prompt, to_first_answer, to_csv):
            yield table(place)
