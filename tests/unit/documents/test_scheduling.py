"""The scripts of docs/how-to/scheduling.md are run, with a warehouse of the test in place of theirs.

Its units of systemd name these scripts.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_runner import DOCS, blocks

from rewriter.exec.engine import Engine
from rewriter.session import Session

FILES = {block.title: block.text for block in blocks(DOCS / "how-to" / "scheduling.md") if block.title}
REPORT, LOAD, WORKER, METRIC = (FILES[name] for name in ("report.sh", "load.sh", "worker.sh", "metric.sh"))
(AIRFLOW,) = re.findall(r'bash_command="""\n(.*?)"""', FILES["dags/sales.py"], re.DOTALL)
NOW = "2024-01-03T04"
SETUP = (
    "CREATE TABLE hours (item STRING, n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE days (item STRING, n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE staging (item STRING, n BIGINT, dt STRING, t TIMESTAMP)",
    "CREATE CUBE sales (item STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
    "CREATE FACT sales_all OF CUBE sales STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
    "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))",
)


class _Shell:
    """Runs scripts of the page. ``rewriter`` is this checkout's, at a fixed time."""

    def __init__(self, directory: Path, executable: Path) -> None:
        self.warehouse = directory / "warehouse"
        self.directory = directory
        commands = directory / "bin"
        commands.mkdir()
        command = commands / "rewriter"
        command.write_text(f'#!/bin/sh\nexec "{executable}" "$@" --set rewriter.now={NOW}\n')
        command.chmod(0o755)
        (directory / "report.sql").write_text("SELECT 'reported', SUM(n) FROM sales")
        if shutil.which("jq") is None:
            (commands / "jq").write_text(f"#!{sys.executable}\n{_JQ}")
            (commands / "jq").chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        text = script.replace("/data/warehouse", str(self.warehouse))
        return subprocess.run(
            ["bash", "-c", text], cwd=self.directory, env=self.environment, capture_output=True, text=True, timeout=120
        )


@pytest.fixture
def session(duckdb: Engine, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", duckdb) as opened:
        for statement in SETUP:
            opened.execute(statement)
        yield opened


@pytest.fixture
def shell(session: Session, tmp_path: Path, commands: Path) -> _Shell:
    return _Shell(tmp_path, commands / "rewriter")


def _insert(session: Session, day: str, hours: range) -> None:
    session.execute("INSERT INTO hours VALUES " + ", ".join(f"('a', 1, '{day}-{hour:02d}')" for hour in hours))


def test_the_report_waits_for_yesterday(session: Session, shell: _Shell) -> None:
    _insert(session, "2024-01-02", range(23))
    waiting = shell.run(REPORT)
    assert (waiting.returncode, waiting.stderr) == (75, "yesterday is not complete yet\n")
    assert "reported" not in waiting.stdout
    _insert(session, "2024-01-02", range(23, 24))
    done = shell.run(REPORT)
    assert done.returncode == 0, done.stderr
    assert re.search(r"reported +\| +24", done.stdout)
    assert session.execute("SELECT COUNT(*) FROM days").fetch() == [(1,)]
    assert shell.run(REPORT.replace("sales_all", "nothing")).returncode == 1


def test_the_missing_hours_are_loaded(session: Session, shell: _Shell) -> None:
    _insert(session, "2024-01-01", range(5, 20))
    staged = [f"2024-01-0{day}-{hour:02d}" for day in (1, 2, 3) for hour in range(24)]
    rows = ", ".join(f"('b', 1, '{name}', TIMESTAMP '{name[:10]} {name[11:]}:00:00')" for name in staged)
    session.execute(f"INSERT INTO staging VALUES {rows}")
    done = shell.run(LOAD)
    assert done.returncode == 0, done.stderr
    count = session.execute("SELECT item, COUNT(*) FROM hours GROUP BY item ORDER BY item").fetch()
    assert count == [("a", 15), ("b", 24 * 2 + 4 - 15)]
    assert (
        session.execute("SHOW MISSING PARTITIONS OF sales_all FROM '2024-01-01' TO '2024-01-03'").fetch()[0][0]
        == "days"
    )


#: What the filters of the scripts select, for hosts without jq.
_JQ = """
import json, sys
listed = json.load(sys.stdin)
if "rewriter_missing_periods" in sys.argv[2]:
    missing = sum(row["periods"] for row in listed["work"] if row["state"] == "missing")
    print('rewriter_missing_periods{fact="%s"} %d' % (listed["fact"], missing))
else:
    for row in listed["work"]:
        if row["table"] == "hours" and row["action"] == "load":
            print(row["from"], row["to"], sep="\\t")
"""


def test_the_metric_is_the_number_of_missing_periods(session: Session, shell: _Shell) -> None:
    for day in ("2023-12-27", "2023-12-28", "2023-12-29", "2023-12-30", "2023-12-31", "2024-01-01"):
        _insert(session, day, range(24))
    _insert(session, "2024-01-02", range(20))
    session.execute("REFRESH FACT sales_all")
    done = shell.run(f"export REWRITER_WAREHOUSE=/data/warehouse\n{METRIC}")
    # Four hours, and their day.
    assert done.stdout == 'rewriter_missing_periods{fact="sales_all"} 5\n'


def test_the_units_of_systemd_run_the_report() -> None:
    service, timer = configparser.ConfigParser(), configparser.ConfigParser()
    service.optionxform = timer.optionxform = str  # type: ignore[assignment, method-assign]
    service.read_string(FILES["sales.service"])
    timer.read_string(FILES["sales.timer"])
    assert Path(service["Service"]["ExecStart"]).name == "report.sh"
    assert f"exit {service['Service']['SuccessExitStatus']} " in REPORT
    minute = FILES["crontab"].split()[0]
    assert timer["Timer"]["OnCalendar"] == f"*:{minute}"


def test_a_worker_refreshes_until_nothing_is_left(session: Session, shell: _Shell) -> None:
    for day in ("2024-01-01", "2024-01-02"):
        _insert(session, day, range(24))
    done = shell.run(WORKER.replace("MAX 100", "MAX 1"))
    assert (done.returncode, done.stderr) == (0, "")
    assert session.execute("REFRESH FACT sales_all DRY RUN").fetch() == []
    assert session.execute("SELECT SUM(n) FROM days").fetch() == [(48,)]


def test_the_sensor_of_airflow_waits_and_succeeds(session: Session, shell: _Shell) -> None:
    command = AIRFLOW.replace("{{ ds }}", "2024-01-02").replace("{{ macros.ds_add(ds, 1) }}", "2024-01-03")
    assert "{{" not in command
    _insert(session, "2024-01-02", range(23))
    assert shell.run(command).returncode == 3
    _insert(session, "2024-01-02", range(23, 24))
    assert shell.run(command).returncode == 0
    assert shell.run(command.replace("sales_all", "nothing")).returncode == 1
