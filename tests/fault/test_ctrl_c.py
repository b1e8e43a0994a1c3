"""Ctrl-C at a random moment, of a script and at the prompt: no traceback, a whole catalog, each row once, no lock.

The seed of an ordinary run comes from the commit. ``pytest -m long tests/fault/test_ctrl_c.py`` tries 500 moments.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
import warm_commands
from rotation import turn
from terminals import Terminal

import rewriter
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.store import schema
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

WORLD = """
CREATE CUBE v (n INT MEASURE SUM, at TIMESTAMP TIME);
CREATE TABLE h (n INT) PARTITIONED BY (dt DATE);
CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD DAILY PARTITIONED BY at AS (dt)) ROLLUPS (MONTHLY);
CREATE TABLE plain (n INT) PARTITIONED BY (p INT);
INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-02-01' VALUES (0, DATE '2024-01-01');
"""
SUM = "SELECT SUM(n) FROM v WHERE at >= '2024-01-01' AND at < '2024-02-01'"
#: The directory of the package's modules, as tracebacks show it.
PACKAGE = str(Path(rewriter.__file__).parent)
#: The days that a script writes, one a statement. Each has a number of its own.
DAYS = range(1, 5)


def numbered(day: int) -> list[str]:
    """Returns the statements that write the rows of a day."""
    return [
        f"INSERT INTO h VALUES ({1 << day}, DATE '2024-01-{day:02}')",
        f"INSERT INTO plain VALUES ({day}, {day % 3})",
    ]


def script(days: range) -> str:
    texts = [text for day in days for text in (*numbered(day), "REFRESH FACT f", SUM)]
    return ";\n".join([*texts, "ALTER TABLE plain COMPACT", "VACUUM RETAIN 2 HOURS"]) + ";\n"


def made(folder: Path, engine: DuckDBEngine) -> Path:
    folder.mkdir(exist_ok=True)
    with Session(folder / "w", engine) as session:
        list(session.script(WORLD))
    return folder / "w"


def written(session: Session, table: str) -> list[int]:
    """Returns the numbers of a table, and checks that the catalog is whole, and that no work is left open."""
    assert [finding.problem for finding in findings(session.catalog.database)] == []
    with session.catalog.database.read() as connection:
        row = schema.transactions
        assert connection.execute(sa.select(row.c.transaction_id).where(row.c.state == "open")).fetchall() == []
    return sorted(int(str(number)) for (number,) in session.execute(f"SELECT n FROM {table}").fetch())


def check_script(folder: Path, engine: DuckDBEngine, command: list[str], moment: float) -> tuple[int, float]:
    """Interrupts a script after so many seconds. Returns its exit code, and the seconds that it took."""
    warehouse = made(folder, engine)
    file = folder / "script.sql"
    file.write_text(script(DAYS))
    started = time.monotonic()
    arguments = [*command, "sql", "-w", str(warehouse), "--engine", "duckdb", "-f", str(file)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    took = time.monotonic() - started
    # While Python itself starts, it shows the signal in its own way. At its very end, it leaves it to the system.
    if "KeyboardInterrupt" not in err or PACKAGE in err:
        assert process.returncode in (0, 130, -signal.SIGINT), (process.returncode, out, err)
        # Arrow sends a signal again that came while it read: Python may be at its very end then. A shell sees 130.
        expected = {130: ("Interrupted.\n",), 0: ("",)}.get(process.returncode, ("", "Interrupted.\n"))
        assert err in expected, (process.returncode, err)
    with Session(warehouse, engine) as session:
        days = [number.bit_length() - 1 for number in written(session, "h")][1:]
        assert days == list(DAYS[: len(days)]), days
        plain = written(session, "plain")
        assert plain in (days, days[:-1])
        assert len(days) == len(DAYS) or process.returncode != 0
        for day in DAYS:
            texts = numbered(day)
            for text in texts[:1] * (day not in days) + texts[1:] * (day not in plain):
                session.execute(text)
        session.execute("REFRESH FACT f")
        assert session.execute(SUM).fetch() == [(sum(1 << day for day in DAYS),)]
        assert session.execute("CHECK FACT f").differs is False
        assert written(session, "plain") == list(DAYS)
    return process.returncode, took


@pytest.mark.parametrize("moments", [6, pytest.param(200, marks=pytest.mark.long)])
def test_a_script(folder: Path, duckdb: DuckDBEngine, moments: int) -> None:
    """The process has its modules: each moment is of the statements."""
    rng, codes = random.Random(turn()), []
    with warm_commands.command(folder) as executable:
        code, whole = check_script(folder / "whole", duckdb, [str(executable)], 60)
        assert code == 0
        for number in range(moments):
            codes.append(check_script(folder / str(number), duckdb, [str(executable)], rng.uniform(0.2, whole))[0])
    assert codes.count(130) > moments // 2, codes


@pytest.mark.parametrize("moments", [1, pytest.param(100, marks=pytest.mark.long)])
def test_a_script_from_its_first_import(folder: Path, duckdb: DuckDBEngine, moments: int) -> None:
    rng, whole = random.Random(turn()), 3.0
    for number in range(moments):
        moment = rng.uniform(0.1, whole)
        _, took = check_script(folder / str(number), duckdb, [sys.executable, "-m", "rewriter"], moment)
        whole = took if took < moment else whole


@pytest.mark.parametrize("moments", [4, pytest.param(200, marks=pytest.mark.long)])
def test_the_prompt(folder: Path, duckdb: DuckDBEngine, moments: int) -> None:
    warehouse, rng = made(folder, duckdb), random.Random(turn())
    command = [sys.executable, "-m", "rewriter", "-w", str(warehouse), "--engine", "duckdb"]
    canceled = 0
    with Terminal(command, folder) as terminal, Session(warehouse, duckdb) as session:
        terminal.run("SELECT 1 AS ready;")
        expected: list[int] = []
        for number in range(moments):
            expected.append(number)
            terminal.until(lambda _: terminal.is_ready())
            text = f"INSERT INTO plain VALUES ({number}, {number % 3});"
            terminal.type(f"{text}\r")
            terminal.until(lambda shown, text=text: text in shown)  # type: ignore[misc]
            time.sleep(rng.uniform(0, 0.3))
            terminal.type("\x03")
            terminal.until(lambda _: terminal.is_ready())
            terminal.type(f"SELECT 1 AS probe_{number};\r")
            terminal.until(f"probe_{number}\n---")
            numbers = written(session, "plain")
            assert numbers in (expected, expected[:-1])
            if numbers != expected:
                canceled += 1
                terminal.run(f"INSERT INTO plain VALUES ({number}, {number % 3});")
                assert written(session, "plain") == expected
        assert "Traceback" not in terminal.shown()
        terminal.run("SELECT 1 AS last;")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert canceled > 0 or moments < 10
