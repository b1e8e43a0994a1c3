"""A statement reads and translates each thing once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlglot.parser import Parser

from benchmarks.maintain import calls_of_ours
from rewriter.catalog.reading import queries
from rewriter.catalog.store.database import Database
from rewriter.exec.duckdb import engine
from rewriter.grammar import lexer
from rewriter.session import Session
from rewriter.timeline.layouts import TimeLayout

HOURS = [f"{datetime(2013, 1, 1) + timedelta(hours=hour):%Y-%m-%d-%H}" for hour in range(48)]
SUMS = "SELECT SUM(a) AS s FROM events WHERE time_range_in(t, '2013-01-01', '2013-01-03')"


def counted(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[object]:
    """Records the first arguments of the calls of a function from now on."""
    seen: list[object] = []
    real = getattr(module, name)

    def count(*given: object, **named: object) -> object:
        seen.append(given[0])
        return real(*given, **named)

    monkeypatch.setattr(module, name, count)
    return seen


def test_a_query_reads_the_partitions_of_a_table_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Session(tmp_path, engine="duckdb") as session:
        session.execute("CREATE TABLE parts (a INT) PARTITIONED BY (k INT)")
        session.execute(f"ALTER TABLE parts ADD {' '.join(f'PARTITION (k = {n})' for n in range(20))}")
    with Session(tmp_path, engine="duckdb", settings={"rewriter.cache_bytes": 0}) as session:
        pages = counted(monkeypatch, queries, "partition_page")
        assert list(session.execute("SELECT COUNT(a) FROM parts").rows()) == [(0,)]
        assert len(pages) == 1


def test_an_insert_is_translated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Session(tmp_path, engine="duckdb") as session:
        session.execute("CREATE TABLE t (a INT, b STRING)")
        translated = counted(monkeypatch, engine, "translate")
        session.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
        assert len(translated) == 1
        assert list(session.execute("SELECT COUNT(*) FROM t").rows()) == [(2,)]
        session.execute("INSERT INTO t (b, a) VALUES ('z', 3)")
        assert sorted(session.execute("SELECT * FROM t").rows()) == [(1, "x"), (2, "y"), (3, "z")]


def test_a_refresh_makes_few_calls_for_each_base_partition(tmp_path: Path) -> None:
    def calls(days: int, name: str) -> int:
        with Session(tmp_path / name, engine="duckdb") as session:
            session.execute("CREATE CUBE c (n BIGINT MEASURE COUNT, at TIMESTAMP TIME)")
            session.execute("CREATE TABLE hours (n BIGINT) PARTITIONED BY (h STRING)")
            session.execute("CREATE TABLE months (n BIGINT) PARTITIONED BY (m STRING)")
            session.execute(
                "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY at AS (h), "
                "TABLE months PERIOD MONTHLY PARTITIONED BY at AS (m = 'yyyy-MM'))"
            )
            session.execute(
                "INSERT INTO hours SELECT 1L, date_format(timestamp_seconds(1672531200 + 3600 * id), 'yyyy-MM-dd-HH') "
                f"FROM range({24 * days})"
            )
            made = calls_of_ours(lambda: list(session.execute("REFRESH FACT f").rows()))
            assert list(session.execute("SELECT SUM(n) FROM months").rows()) == [(24 * days,)]
            return made

    calls(31, "first")  # The first statement of a process imports modules.
    month, season = calls(31, "month"), calls(90, "season")
    assert season - month < 5 * 24 * (90 - 31)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """Creates a cube over 48 hourly partitions, a table of the same rows and one of three partitions. Nothing is
    cached.
    """
    with Session(tmp_path, engine="duckdb") as opened:
        opened.execute("CREATE TABLE hourly (a BIGINT) PARTITIONED BY (dt STRING)")
        opened.execute("CREATE CUBE events (a BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        opened.execute(
            "CREATE FACT f OF CUBE events STORED IN "
            "(TABLE hourly PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'))"
        )
        opened.execute("CREATE TABLE source (a BIGINT, dt STRING)")
        opened.execute(f"INSERT INTO source VALUES {', '.join(f'({n}, {hour!r})' for n, hour in enumerate(HOURS))}")
        opened.execute("INSERT INTO hourly PARTITION (dt) SELECT * FROM source")
        opened.execute("CREATE TABLE parts (a BIGINT) PARTITIONED BY (k INT)")
        opened.execute("INSERT INTO parts PARTITION (k) VALUES (1, 1), (2, 2), (3, 3)")
    with Session(tmp_path, engine="duckdb", settings={"rewriter.cache_bytes": 0}) as fresh:
        yield fresh


def rows_of(session: Session, sql: str) -> list[tuple[object, ...]]:
    return list(session.execute(sql).rows())


Work = Callable[[Session, str], dict[str, int]]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Runs a statement and returns how often it did each kind of work; kinds that did not occur are left out."""

    def run(session: Session, sql: str) -> dict[str, int]:
        with monkeypatch.context() as patched:
            # Each lexing counts, whether its tokens would have been remembered or not.
            patched.setattr(lexer, "_SHORTEST", 10**9)
            kinds = {
                "lexed": counted(patched, lexer, "_lexed"),
                "parsed": counted(patched, Parser, "parse"),
                "translated": counted(patched, engine, "translate"),
                "read": counted(patched, Database, "read"),
                "asked": counted(patched, Database, "rows"),
                "written": counted(patched, Database, "write"),
                "decoded": counted(patched, TimeLayout, "ordinal"),
            }
            session.execute(sql)
            return {kind: len(seen) for kind, seen in kinds.items() if seen}

    return run


#: The most work that statements may do. A query is lexed and parsed as typed, and as the engine gets it. An INSERT into
#: a table of a fact also reads the facts of its cube. An INSERT reads what the rows that it reads rest on, and a
#: comparison with a text reads the facts, whose layouts say which texts are dates.
LIMITS = {
    SUMS: {"lexed": 2, "parsed": 2, "translated": 1, "read": 7, "asked": 1, "decoded": 48},
    "SELECT SUM(a) AS s FROM source": {"lexed": 2, "parsed": 2, "translated": 1, "read": 4, "asked": 1},
    "INSERT INTO parts PARTITION (k) SELECT a, 3 FROM source": {
        "lexed": 2, "parsed": 2, "translated": 1, "read": 7, "asked": 1, "written": 3,
    },
    "INSERT INTO hourly PARTITION (dt) SELECT a, dt FROM source": {
        "lexed": 2, "parsed": 2, "translated": 1, "read": 8, "asked": 1, "written": 3, "decoded": 48,
    },
    "INSERT OVERWRITE hourly PARTITION (dt) SELECT a, dt FROM source": {
        "lexed": 2, "parsed": 2, "translated": 1, "read": 8, "asked": 1, "written": 3, "decoded": 48,
    },
    "ALTER TABLE parts DROP PARTITION (k = 1)": {"lexed": 1, "read": 3, "asked": 1, "written": 2},
    "ALTER TABLE hourly DROP PARTITION (dt < '2013-01-02')": {
        "lexed": 1, "read": 4, "asked": 1, "written": 2, "decoded": 24,
    },
    "INSERT INTO source VALUES (1, 'x')": {"lexed": 1, "parsed": 1, "translated": 1, "read": 3, "written": 3},
    f"INSERT INTO source VALUES {', '.join(f'({n}, {str(n)!r})' for n in range(100))}": {
        "lexed": 1, "translated": 1, "read": 3, "written": 3,
    },
    "SHOW TABLES": {"lexed": 1, "read": 3},
}  # fmt: skip


@pytest.mark.parametrize("sql", LIMITS, ids=lambda sql: sql[:60])
def test_a_statement_does_each_work_once(sql: str, session: Session, work: Work) -> None:
    rows_of(session, "SELECT 1")
    done = work(session, sql)
    assert {kind: count for kind, count in done.items() if count > LIMITS[sql].get(kind, 0)} == {}
