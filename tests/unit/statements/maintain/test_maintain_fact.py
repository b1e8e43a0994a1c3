"""MAINTAIN FACT and RETAIN: which partitions leave, which stay, and what is refused afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from rewriter.cli import main
from rewriter.errors import Error, IntegrityError, MissingDataError
from rewriter.session import Session
from rewriter.statements.maintain import maintain_fact

FACT = (
    "CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt) RETAIN 20 DAYS) "
    "ROLLUPS (DAILY RETAIN 2 MONTHS, MONTHLY (page))"
)
JANUARY = "t >= '2024-01-01' AND t < '2024-02-01'"


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "w", "duckdb", catalog=catalog_url) as opened:
        for statement in (
            "CREATE CUBE v (page STRING, u BIGINT, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE TABLE h (page STRING, u BIGINT, n BIGINT) PARTITIONED BY (dt STRING)",
            FACT,
            "SET rewriter.now = '2024-03-10 05:00'",
            "INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-03-10' VALUES ('a', 1, 1, '2024-01-01-03'), "
            "('b', 2, 2, '2024-01-20-03'), ('b', 2, 5, '2024-02-02-03')",
        ):
            opened.execute(statement)
        yield opened


def rows(session: Session, statement: str) -> list[tuple[object, ...]]:
    return list(session.execute(statement).rows())


def retained(session: Session, statement: str = "MAINTAIN FACT f") -> list[tuple[object, ...]]:
    return [(*row[1:6], row[7]) for row in rows(session, statement) if row[0] == "retain"]


YOUNG = [
    ("h", "HOURLY", "2024-02-19", "2024-02-19T05", 5, "kept: the DAILY period around it is not old enough as a whole"),
    ("h", "HOURLY", "2024-02-01", "2024-02-19", 432, "kept: the MONTHLY period around it is not old enough as a whole"),
]


def test_whole_months_leave_when_they_are_proven(session: Session) -> None:
    dry = retained(session, "MAINTAIN FACT f DRY RUN")
    assert [row[5] for row in dry] == [
        "kept: f_daily has no proven DAILY period over it", "kept: f_monthly_page has no proven MONTHLY period over it"
    ]  # fmt: skip
    by_page = rows(session, f"SELECT page, SUM(n) FROM v WHERE {JANUARY} GROUP BY page ORDER BY page")
    assert rows(session, "SHOW MISSING PARTITIONS OF f")[0][:4] == ("f_daily", "DAILY", "2024-01-10", "2024-03-10")
    assert retained(session) == [("h", "HOURLY", "2024-01-01", "2024-02-01", 744, "dropped"), *YOUNG]
    assert retained(session) == YOUNG
    session.execute("SET rewriter.verify = certificate")
    assert rows(session, f"SELECT page, SUM(n) FROM v WHERE {JANUARY} GROUP BY page ORDER BY page") == by_page
    with pytest.raises(MissingDataError, match=r"\[2024-01-01, 2024-01-10\)"):
        session.execute(f"SELECT u, SUM(n) FROM v WHERE {JANUARY} GROUP BY u")
    assert rows(session, "SELECT SUM(n) FROM v WHERE t >= '2024-01-20' AND t < '2024-01-21' AND u = 2") == [(2,)]
    # Days that RETAIN does not keep are not computed, and the others leave when their month is old.
    session.execute("SET rewriter.now = '2024-05-01 00:00'")
    session.execute("ALTER FACT f MARK COMPLETE FROM '2024-03-10' TO '2024-05-01'")
    told = [row for row in retained(session) if row[5] == "dropped"]
    assert told == [
        ("h", "HOURLY", "2024-02-01", "2024-04-01", 1440, "dropped"),
        ("f_daily", "DAILY", "2024-01-10", "2024-03-01", 51, "dropped"),
    ]
    assert rows(session, f"SELECT SUM(n) FROM v WHERE {JANUARY}") == [(3,)]


def test_an_outdated_rollup_keeps_its_base(session: Session) -> None:
    session.execute("REFRESH FACT f")
    session.execute("INSERT INTO h VALUES ('c', 1, 9, '2024-01-31-03')")
    session.execute("ALTER TABLE f_monthly_page DROP PARTITION (dt = '2024-01')")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(maintain_fact, "refresh_fact", lambda *_: session.execute("REFRESH FACT f DRY RUN"))
        kept = [row for row in retained(session) if "no proven" in str(row[5])]
    assert kept == [
        ("h", "HOURLY", "2024-01-31", "2024-02-01", 24, "kept: f_daily has no proven DAILY period over it"),
        ("h", "HOURLY", "2024-01-01", "2024-01-31", 720, "kept: f_monthly_page has no proven MONTHLY period over it"),
    ]
    assert retained(session)[0] == ("h", "HOURLY", "2024-01-01", "2024-02-01", 744, "dropped")
    assert rows(session, f"SELECT SUM(n) FROM v WHERE {JANUARY}") == [(12,)]


def test_late_events_for_dropped_time_are_refused(session: Session) -> None:
    session.execute("MAINTAIN FACT f")
    with pytest.raises(IntegrityError, match="are too late, such as dt=2024-01-01-03: MAINTAIN FACT") as late:
        session.execute("INSERT INTO h VALUES ('late', 1, 1, '2024-01-01-03'), ('new', 1, 1, '2024-03-10-00')")
    assert late.value.condition == "LATE_EVENTS"
    assert rows(session, f"SELECT SUM(n) FROM v WHERE {JANUARY}") == [(3,)]
    session.execute("INSERT INTO h VALUES ('late', 1, 1, '2024-02-01-03')")
    # A partition that is loaded as a whole is another thing.
    session.execute("INSERT OVERWRITE h VALUES ('a', 1, 8, '2024-01-01-03')")
    with pytest.raises(MissingDataError):
        session.execute(f"SELECT SUM(n) FROM v WHERE {JANUARY}")


def test_a_dropped_partition_does_not_come_back_empty(session: Session, tmp_path: Path) -> None:
    session.execute("MAINTAIN FACT f")
    with pytest.raises(IntegrityError, match="are too late, such as dt=2024-01-01-03"):
        session.execute("ALTER TABLE h ADD PARTITION (dt = '2024-01-01-03')")
    marked = rows(session, "ALTER FACT f MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'")
    assert [row[4] for row in marked] == ["dropped"]
    assert rows(session, f"SELECT SUM(n) FROM v WHERE {JANUARY}") == [(3,)]
    # Nor by MSCK, from the files that an external table keeps.
    columns = "(page STRING, n BIGINT) PARTITIONED BY (dt STRING)"
    session.execute(f"CREATE EXTERNAL TABLE theirs {columns} LOCATION '{tmp_path / 'theirs'}'")
    session.execute("CREATE CUBE w (page STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
    session.execute(
        "CREATE FACT g OF CUBE w STORED IN (TABLE theirs PERIOD DAILY PARTITIONED BY t AS (dt) RETAIN 20 DAYS) "
        "ROLLUPS (MONTHLY)"
    )
    session.execute("INSERT INTO theirs VALUES ('a', 4, '2024-01-05')")
    session.execute("ALTER FACT g MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'")
    assert retained(session, "MAINTAIN FACT g")[0][4:] == (31, "dropped")
    directories = rows(session, "MSCK REPAIR TABLE theirs")
    assert {(row[1], row[3]) for row in directories} == {("ignored", "RETAIN 20 DAYS of the fact g does not keep it")}
    assert rows(session, f"SELECT SUM(n) FROM w WHERE {JANUARY}") == [(4,)]


def test_a_rollup_with_the_only_copy_is_not_dropped(session: Session) -> None:
    session.execute("ALTER FACT f TABLE f_daily UNSET RETAIN")
    session.execute("ALTER FACT f ADD ROLLUP DAILY (u), MONTHLY")
    session.execute("REFRESH FACT f")
    assert retained(session)[0][-1] == "dropped"
    session.execute("ALTER FACT f DROP ROLLUP MONTHLY")  # f_daily has its columns, for shorter periods.
    session.execute("ALTER FACT f DROP ROLLUP DAILY (u)")
    with pytest.raises(Error, match=r"f_daily has the only copy of \[2024-01-01, 2024-02-01\)") as caught:
        session.execute("ALTER FACT f DROP ROLLUP DAILY")
    assert "DROP STORAGE f_daily" in str(caught.value.hint)
    assert rows(session, f"SELECT u, SUM(n) FROM v WHERE {JANUARY} GROUP BY u ORDER BY u") == [(1, 1), (2, 2)]
    session.execute("ALTER FACT f DROP STORAGE f_daily")
    assert rows(session, "SELECT COUNT(*) FROM f_daily")[0][0]


def test_the_declaration_comes_back_and_changes(session: Session) -> None:
    ((shown,),) = rows(session, "SHOW CREATE FACT f")
    assert "PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH') RETAIN 20 DAYS)" in str(shown)
    assert "DAILY RETAIN 2 MONTHS,\n  MONTHLY (page))" in str(shown)
    session.execute("ALTER FACT f TABLE h UNSET RETAIN")
    session.execute("ALTER FACT f TABLE f_daily SET RETAIN 3 weeks")
    ((shown,),) = rows(session, "SHOW CREATE FACT f")
    assert str(shown).count("RETAIN") == 1
    assert "DAILY RETAIN 3 WEEKS" in str(shown)
    session.execute("REFRESH FACT f")
    session.execute("DROP FACT f")
    assert "keeps its proofs" in session.execute(FACT).warnings[0]
    with pytest.raises(Error, match="'3 fortnights' is not a length of time"):
        session.execute("ALTER FACT f TABLE h SET RETAIN 3 FORTNIGHTS")
    session.execute("DROP FACT f")
    with pytest.raises(Error, match="'3 fortnights' is not a length of time"):
        session.execute(FACT.replace("2 MONTHS", "3 FORTNIGHTS"))


def test_a_write_in_between_is_tried_again(
    session: Session, catalog_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("REFRESH FACT f")
    blocked, meanwhile = maintain_fact._blocked, ["INSERT INTO h VALUES ('c', 1, 9, '2024-01-31-03')"]

    def write_then(*arguments: object) -> object:
        for statement in meanwhile:
            meanwhile.remove(statement)
            with Session(session.catalog.warehouse, "duckdb", catalog=catalog_url) as other:
                other.execute(statement)
        return blocked(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(maintain_fact, "_blocked", write_then)
    assert [row[5] for row in retained(session) if row[5] == "dropped"] == []
    assert not meanwhile
    assert retained(session)[0] == ("h", "HOURLY", "2024-01-01", "2024-02-01", 744, "dropped")
    assert rows(session, f"SELECT SUM(n) FROM v WHERE {JANUARY}") == [(12,)]


def test_the_command(
    session: Session, tmp_path: Path, catalog_url: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["-w", str(tmp_path / "w"), "--engine", "duckdb"]
    named += [] if catalog_url is None else ["--catalog", catalog_url]
    assert main.main(["maintain", "--dry-run", *named]) == 0
    assert "refresh f_monthly_page MONTHLY [2024-01-01, " in capsys.readouterr().out
    assert main.main(["maintain", *named]) == 0
    out = capsys.readouterr().out
    assert "retain h HOURLY [2024-01-01, 2024-03-01): 1440 partitions, " in out
    assert "VACUUM" in out
    assert main.main(["maintain", "f", "--max", "5", *named]) == 0
    assert main.main(["maintain", "nope", "f", *named]) == 1
    captured = capsys.readouterr()
    assert "the fact 'nope' cannot be found" in captured.err
    assert "MAINTAIN FACT f" in captured.out
    assert main.main(["maintain", "-w", str(tmp_path / "none"), "--engine", "duckdb"]) == 2
    assert "There is no warehouse" in capsys.readouterr().err


def test_the_command_follows_the_commits_of_other_processes(
    session: Session, tmp_path: Path, catalog_url: str | None
) -> None:
    for table in ("h", "f_daily"):
        session.execute(f"ALTER FACT f TABLE {table} UNSET RETAIN")
    words = ["maintain", "--follow", "--every", "0.2", "-w", str(tmp_path / "w"), "--engine", "duckdb"]
    words += [] if catalog_url is None else ["--catalog", catalog_url]
    command = [sys.executable, "-m", "rewriter", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:

        def wait_for_refresh() -> None:
            deadline = monotonic() + 60
            while rows(session, "REFRESH FACT f DRY RUN"):
                assert process.poll() is None
                assert monotonic() < deadline
                sleep(0.1)

        wait_for_refresh()
        for n in (3, 4):
            session.execute(f"INSERT INTO h VALUES ('a', 1, {n}, '2024-02-1{n}-01')")
            wait_for_refresh()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.count("MAINTAIN FACT") >= 3
    assert "nothing to do" not in out
    assert rows(session, "SELECT SUM(n) FROM v WHERE t >= '2024-02-01' AND t < '2024-03-01'") == [(12,)]
    assert main.main(["maintain", "--follow", "--dry-run", "-w", str(tmp_path / "w")]) == 2
