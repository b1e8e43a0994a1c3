"""SHOW MISSING, OUTDATED and UNPROVEN PARTITIONS, and ``rewriter coverage``: doing what the lists say empties them."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rewriter.cli import main
from rewriter.exec.engine import Engine
from rewriter.session import Session
from tests.rotation import turn

START, DAYS = datetime(2024, 1, 30), 5
END = START + timedelta(days=DAYS)
FORMS = {"HOURLY": "%Y-%m-%d-%H", "DAILY": "%Y-%m-%d"}
STATES = ("MISSING", "OUTDATED", "UNPROVEN")
SETUP = (
    "CREATE TABLE hours (item STRING, n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE days (item STRING, n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE CUBE sales (item STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
    "CREATE FACT f OF CUBE sales STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'), "
    "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt = 'yyyy-MM-dd'))",
)


@pytest.fixture
def session(duckdb: Engine, tmp_path: Path) -> Any:
    with Session(tmp_path / "warehouse", duckdb) as opened:
        for statement in SETUP:
            opened.execute(statement)
        yield opened


def _hours(first: str, last: str) -> list[datetime]:
    start, end = (datetime.fromisoformat(text + ":00" if "T" in text else text) for text in (first, last))
    return [start + timedelta(hours=number) for number in range((end - start) // timedelta(hours=1))]


def _lists(session: Session) -> dict[str, list[tuple[Any, ...]]]:
    bounds = f"FROM '{START:%Y-%m-%d}' TO '{END:%Y-%m-%d}'"
    return {state: session.execute(f"SHOW {state} PARTITIONS OF f {bounds}").fetch() for state in STATES}


def _insert(session: Session, hours: list[datetime]) -> None:
    rows = ", ".join(f"('a', 1, '{hour:{FORMS['HOURLY']}}')" for hour in hours)
    session.execute(f"INSERT INTO hours VALUES {rows}")


def _step(session: Session, source: random.Random) -> None:
    hour = START + timedelta(hours=source.randrange(24 * DAYS))
    kind = source.choice(["insert", "insert", "refresh", "day", "drop day", "drop hour"])
    if kind == "insert":
        _insert(session, [hour + timedelta(hours=number) for number in range(source.choice([1, 5, 24]))])
    elif kind == "refresh":
        session.execute("REFRESH FACT f")
    elif kind == "day":
        session.execute(f"INSERT INTO days VALUES ('a', 24, '{hour:%Y-%m-%d}')")
    elif kind == "drop day":
        session.execute(f"ALTER TABLE days DROP IF EXISTS PARTITION (dt = '{hour:%Y-%m-%d}')")
    else:
        session.execute(f"ALTER TABLE hours DROP IF EXISTS PARTITION (dt = '{hour:{FORMS['HOURLY']}}')")


@pytest.mark.parametrize("number", range(4))
def test_doing_what_the_lists_say_empties_them(session: Session, number: int) -> None:
    source = random.Random(1000 * turn() + number)
    for _ in range(12):
        _step(session, source)
    lists = _lists(session)
    loads = [row for row in lists["MISSING"] if row[0] == "hours"]
    assert {row[5] for row in loads} <= {"load"}
    for _, _, first, last, count, _ in loads:
        hours = _hours(first, last)
        assert len(hours) == count
        _insert(session, hours)
    # Now each hour exists or was dropped: nothing waits for a load of the base any more.
    lists = _lists(session)
    assert [row for row in lists["MISSING"] if row[5] != "refresh"] == []
    assert not [row for state in STATES for row in lists[state] if row[5].startswith("load,")]
    refreshable = [row for state in STATES for row in lists[state] if row[5] in ("refresh", "check")]
    refreshed = session.execute(f"REFRESH FACT f FROM '{START:%Y-%m-%d}' TO '{END:%Y-%m-%d}'").fetch()
    done = sum(row[6] for row in refreshed if row[5] == "refreshed")
    assert done == sum(row[4] for row in refreshable)
    after = _lists(session)
    assert after["MISSING"] == []
    # The base of these days was dropped: only their owner can write them.
    assert {row[5] for state in ("OUTDATED", "UNPROVEN") for row in after[state]} <= {"load"}


def test_a_copy_of_the_base_is_not_missing(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", duckdb) as session:
        for name in ("old", "new"):
            session.execute(f"CREATE TABLE {name} (n BIGINT) PARTITIONED BY (dt STRING)")
        session.execute("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        tables = [f"TABLE {name} PERIOD DAILY PARTITIONED BY t AS (dt)" for name in ("old", "new")]
        session.execute(
            f"CREATE FACT g OF CUBE c STORED IN STORAGE a ({tables[0]}) END '2024-01-03' "
            f"STORED IN STORAGE b ({tables[1]}) START '2024-01-02'"
        )
        session.execute("INSERT INTO old VALUES (1, '2024-01-01'), (1, '2024-01-02')")
        rows = session.execute("SHOW MISSING PARTITIONS OF g FROM '2024-01-01' TO '2024-01-05'").fetch()
        assert rows == [("new", "DAILY", "2024-01-03", "2024-01-05", 2, "load")]
        session.execute("ALTER TABLE old DROP PARTITION (dt = '2024-01-01')")
        rows = session.execute("SHOW MISSING PARTITIONS OF g FROM '2023-12-31' TO '2024-01-03'").fetch()
        assert rows == [("old", "DAILY", "2023-12-31", "2024-01-01", 1, "load")]


def test_the_command_has_exit_codes(duckdb: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warehouse = str(tmp_path / "warehouse")

    def coverage(*arguments: str) -> tuple[int, str, str]:
        code = main.main(["coverage", "f", "-w", warehouse, *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    with Session(warehouse, duckdb) as session:
        for statement in SETUP:
            session.execute(statement)
        assert coverage()[0] == 0
        _insert(session, _hours("2024-01-30", "2024-02-01"))
        assert coverage()[0] == 3
        session.execute("REFRESH FACT f")
        assert coverage("--require", "2024-01-30", "2024-02-01")[0] == 0
        code, out, err = coverage("--require", "2024-01-30", "2024-02-02", "--json")
        answer = json.loads(out)
        assert (code, err, answer["complete"], answer["from"], answer["to"]) == (
            3,
            "",
            False,
            "2024-01-30",
            "2024-02-02",
        )
        assert answer["work"][0] == {
            "state": "missing", "table": "hours", "period": "HOURLY", "from": "2024-02-01", "to": "2024-02-02",
            "periods": 24, "action": "load",
        }  # fmt: skip
        session.execute("ALTER TABLE days DROP PARTITION (dt = '2024-01-30')")
        session.execute("INSERT INTO days VALUES ('a', 5, '2024-01-30')")
        assert coverage()[0] == 5
        _insert(session, [datetime(2024, 1, 31, 5)])
        code, out, _ = coverage()
        assert code == 4
        assert [line.split(" | ")[0].strip() for line in out.splitlines()[2:]] == ["outdated", "unproven"]
    code, out, err = coverage("--require", "2024-02-01", "x")
    assert (code, out) == (1, "")
    assert "INVALID_TIME_BOUND" in err
    assert main.main(["coverage", "nothing", "-w", warehouse]) == 1
    assert "FACT_NOT_FOUND" in capsys.readouterr().err
    assert main.main(["coverage", "f", "-w", str(tmp_path / "absent")]) == 2
    assert not (tmp_path / "absent").exists()
