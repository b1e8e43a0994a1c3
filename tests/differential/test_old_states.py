"""Random histories: VERSION AS OF and TIMESTAMP AS OF return what the same query returned right after each commit, or
the error that VACUUM has removed the files.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

SETUP = """
CREATE TABLE t (a INT, b STRING) PARTITIONED BY (d STRING);
CREATE TABLE u (a INT);
CREATE CUBE c (k STRING, n BIGINT MEASURE SUM, at TIMESTAMP TIME);
CREATE TABLE days (k STRING, n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE months (k STRING, n BIGINT) PARTITIONED BY (m STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY at AS (dt),
  TABLE months PERIOD MONTHLY PARTITIONED BY at AS (m));
INSERT INTO days PARTITION (dt) MARK COMPLETE FROM '2024-01-01' TO '2024-03-01' VALUES ('a', 1, '2024-01-05');
"""
#: Queries of one state. {} stands for the clause.
QUERIES = (
    "SELECT * FROM t {}",
    "SELECT d, count(*) AS n, max(a) AS m FROM t {} x WHERE x.d >= '2024-01-02' GROUP BY d",
    "SELECT count(*) AS n, min(a) AS a FROM u {}",
    "SELECT t.a, u.a AS other FROM t {} LEFT JOIN u {} ON t.a = u.a",
    "SELECT k, sum(n) AS n FROM c {} WHERE at >= '2024-01-01' AND at < '2024-03-01' GROUP BY k",
    "SELECT sum(n) AS n FROM c {} WHERE at >= '2024-01-01' AND at < '2024-02-01'",
    "SELECT k, n, m FROM months {}",
    "EXPLAIN COVER SELECT sum(n) AS n FROM c {} WHERE at >= '2024-01-01' AND at < '2024-03-01'",
)


def outcome(session: Session, sql: str) -> str:
    """The columns and the rows in some order, or the condition of the error."""
    try:
        result = session.execute(sql)
        names = [column.name for column in result.columns or ()]
        return repr((names, sorted(map(repr, result.rows()))))
    except Error as error:
        return f"{error.condition}"


def change(rng: random.Random, session: Session) -> None:
    """A random statement. It may fail, where a table or column is not there."""
    day, other = (f"2024-0{rng.choice('12')}-0{rng.randint(1, 4)}" for _ in range(2))
    number = rng.randint(1, 9)
    statements = [
        f"INSERT INTO t (a, d) VALUES ({number}, '{day}'), ({number + 1}, '{other}')",
        f"INSERT OVERWRITE t (a, d) VALUES ({number}, '{day}')",
        f"DELETE FROM t WHERE d <= '{day}'",
        f"TRUNCATE TABLE t PARTITION (d = '{day}')",
        f"ALTER TABLE t PARTITION (d = '{day}') RENAME TO PARTITION (d = '{other}')",
        "ALTER TABLE t COMPACT",
        f"ALTER TABLE t ADD COLUMNS (c{number} INT)",
        f"ALTER TABLE t RENAME COLUMN c{number} TO e{number}",
        f"ALTER TABLE t DROP COLUMN c{number}",
        "DROP TABLE u",
        f"CREATE TABLE IF NOT EXISTS u AS SELECT {number} AS a",
        f"INSERT INTO u VALUES ({number})",
        "DELETE FROM u",
        f"INSERT INTO days VALUES ('{rng.choice('ab')}', {number}, '{day}')",
        f"DELETE FROM days WHERE dt = '{day}'",
        "REFRESH FACT f",
        "REFRESH FACT f",
        f"DELETE FROM months WHERE m = '{day[:7]}'",
        f"ALTER TABLE days DROP IF EXISTS PARTITION (dt = '{day}')",
    ]
    outcome(session, rng.choice(statements))


def commits(session: Session) -> int:
    return session.snapshot().sequence


def clause_of(rng: random.Random, commit: int) -> str:
    return rng.choice(("VERSION AS OF {}", "FOR VERSION AS OF {}", "FOR SYSTEM_VERSION AS OF '{}'")).format(commit)


def history(session: Session, rng: random.Random, steps: int) -> dict[int, list[str]]:
    """Runs statements; returns the outcomes of the queries right after each commit."""
    outcomes: dict[int, list[str]] = {}
    for _ in session.script(SETUP):
        pass
    for _ in range(steps):
        change(rng, session)
        outcomes[commits(session)] = [outcome(session, query.replace(" {}", "")) for query in QUERIES]
    return outcomes


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb", catalog=catalog_url) as session:
        yield session


@pytest.mark.parametrize("seed", range(12))
def test_each_state_is_read_as_it_was(session: Session, seed: int) -> None:
    rng = random.Random(seed)
    recorded = history(session, rng, 14)
    for commit, expected in rng.sample(sorted(recorded.items()), min(6, len(recorded))):
        clause = clause_of(rng, commit)
        assert [outcome(session, query.format(*[clause] * 2)) for query in QUERIES] == expected, clause
    _check_mixed(session, rng, recorded)
    session.execute("SET rewriter.least_retention_hours = 0")
    session.execute("VACUUM RETAIN 0 HOURS")
    readable = 0
    for commit, expected in recorded.items():
        clause = clause_of(rng, commit)
        for query, rows in zip(QUERIES, expected, strict=True):
            found = outcome(session, query.format(*[clause] * 2))
            assert found in (rows, "SNAPSHOT_TOO_OLD"), clause
            readable += found == rows
    assert readable >= len(QUERIES)  # The newest state.


def _check_mixed(session: Session, rng: random.Random, recorded: dict[int, list[str]]) -> None:
    """Two states in one statement, with rows of the newest."""
    older, newer = sorted(rng.choices(sorted(recorded), k=2))
    counts = [
        session.execute(f"SELECT count(*) FROM t {clause}").fetch()[0][0]
        for clause in (f"VERSION AS OF {older}", f"VERSION AS OF {newer}", "")
    ]
    mixed = f"""SELECT (SELECT count(*) FROM t VERSION AS OF {older}),
      (SELECT count(*) FROM t VERSION AS OF {newer} x WHERE x.d IS NOT NULL), (SELECT count(*) FROM t)"""
    assert session.execute(mixed).fetch() == [tuple(counts)]
    before = recorded[older][0]
    session.execute(f"CREATE OR REPLACE TABLE restored AS SELECT * FROM t VERSION AS OF {older}")
    assert outcome(session, "SELECT * FROM restored") == before


def test_instants_are_those_of_the_history(session: Session) -> None:
    rng = random.Random(3)
    recorded = history(session, rng, 16)
    times = {row[0]: row[1] for row in session.execute("DESCRIBE HISTORY t").rows()}
    compared = 0
    for commit, expected in recorded.items():
        if commit in times:
            clause = f"TIMESTAMP AS OF '{times[commit].replace(tzinfo=None)}'"
            assert outcome(session, f"SELECT * FROM t {clause}") == expected[0]
            shown = f"FOR SYSTEM_TIME AS OF TIMESTAMP '{times[commit].replace(tzinfo=None)}' + INTERVAL 0 SECONDS"
            assert outcome(session, f"SELECT * FROM t {shown} AS t") == expected[0]
            compared += 1
    assert compared


def test_spark_reads_the_same_states(tmp_path: Path, spark: SparkEngine) -> None:
    rng = random.Random(5)
    with Session(tmp_path / "warehouse", "duckdb") as session:
        recorded = history(session, rng, 10)
        commit = rng.choice(sorted(recorded))
        mixed = f"SELECT count(*) AS n, count(y.a) AS old FROM t x FULL JOIN t VERSION AS OF {commit} y ON x.a = y.a"
        expected = outcome(session, mixed)
    with Session(tmp_path / "warehouse", engine=spark) as session:
        clause = clause_of(rng, commit)
        for query, rows in list(zip(QUERIES, recorded[commit], strict=True))[:7]:
            assert outcome(session, query.format(*[clause] * 2)) == rows, query
        assert outcome(session, mixed) == expected
