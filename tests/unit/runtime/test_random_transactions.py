"""Random transactions of several statements: they read, and leave, what the same statements do one after the other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from postgres import seeds

from rewriter.errors import Error
from rewriter.session import Session

HOURS = [f"2013-01-0{day}-{hour:02d}" for day in (1, 2) for hour in (0, 1)]
DAYS = ["2013-01-01", "2013-01-02"]
SETUP = (
    "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE other (n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE plain (n BIGINT)",
    "CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
    "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
    "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))",
    "INSERT INTO hours VALUES " + ", ".join(f"({n + 1}, '{hour}')" for n, hour in enumerate(HOURS)),
    "INSERT INTO days SELECT SUM(n), substr(dt, 1, 10) FROM hours GROUP BY substr(dt, 1, 10)",
)


def statement(rng: Random) -> str:
    """Returns a statement that changes something, or fails."""
    hour, day, n = rng.choice(HOURS), rng.choice(DAYS), rng.randrange(100)
    daily = f"SELECT SUM(n) FROM hours WHERE dt LIKE '{day}%'"
    return rng.choice(
        [
            f"INSERT INTO hours VALUES ({n}, '{hour}')",
            f"INSERT OVERWRITE hours PARTITION (dt = '{hour}') VALUES ({n})",
            f"ALTER TABLE hours DROP PARTITION (dt = '{hour}')",
            f"ALTER TABLE hours ADD PARTITION (dt = '{hour}')",
            f"TRUNCATE TABLE hours PARTITION (dt = '{hour}')",
            f"ALTER TABLE hours PARTITION (dt = '{hour}') RENAME TO PARTITION (dt = '{rng.choice(HOURS)}')",
            f"INSERT OVERWRITE days PARTITION (dt = '{day}') {daily}",
            f"INSERT OVERWRITE days PARTITION (dt = '{day}') {daily}",
            f"ALTER TABLE days DROP IF EXISTS PARTITION (dt = '{day}')",
            f"INSERT INTO other VALUES ({n}, '{hour}')",
            f"INSERT INTO other SELECT n, dt FROM hours WHERE dt >= '{hour}'",
            f"INSERT OVERWRITE other SELECT n, '{hour}' FROM plain",
            f"ALTER TABLE other EXCHANGE PARTITION (dt = '{hour}') WITH TABLE hours",
            f"INSERT INTO plain VALUES ({n})",
            "INSERT OVERWRITE plain SELECT SUM(n) FROM plain",
            "DROP TABLE IF EXISTS made",
            "CREATE TABLE IF NOT EXISTS made AS SELECT n FROM plain",
            f"INSERT INTO made VALUES ({n})",
            f"FROM plain INSERT INTO hours SELECT n, '{hour}' INSERT INTO other SELECT n, 'm'",
        ]
    )


QUERIES = (
    *(f"SELECT * FROM {table}" for table in ("hours", "days", "other", "plain", "made")),
    *(f"SHOW PARTITIONS {table}" for table in ("hours", "days", "other")),
)
#: The period of a day may be outdated where it could be fresh, and never the other way round.
COVERED = (
    "SELECT date_trunc('DAY', t), SUM(n) FROM c "
    "WHERE time_range_in(t, '2013-01-01', '2013-01-03') GROUP BY date_trunc('DAY', t)"
)
#: Within a transaction, each statement is judged as a commit.
TIMELINES = "SHOW TIMELINES OF f"

COUNTRIES = ("eu", "us")
#: Periods of several partitions, with a measure in each, and rollups by country.
PARTED_SETUP = (
    "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING, c STRING)",
    "CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING, c STRING)",
    "CREATE TABLE other (n BIGINT) PARTITIONED BY (dt STRING, c STRING)",
    "CREATE CUBE c (c STRING, n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
    "CREATE FACT f OF CUBE c STORED IN ("
    "TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt) COMPLETE WITH c IN ('eu', 'us'), "
    "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt) COMPLETE WITH ANY c)",
    "INSERT INTO hours VALUES "
    + ", ".join(f"({n + 1}, '{hour}', '{c}')" for n, hour in enumerate(HOURS) for c in COUNTRIES),
    "INSERT INTO days SELECT SUM(n), substr(dt, 1, 10), c FROM hours GROUP BY substr(dt, 1, 10), c",
)


def parted_statement(rng: Random) -> str:
    """Returns a statement about tables whose periods have several partitions, or one that fails."""
    hour, day, n, c = rng.choice(HOURS), rng.choice(DAYS), rng.randrange(100), rng.choice(COUNTRIES)
    daily = f"SELECT SUM(n), c FROM hours WHERE dt LIKE '{day}%' GROUP BY c"
    return rng.choice(
        [
            f"INSERT INTO hours VALUES ({n}, '{hour}', '{c}')",
            f"INSERT OVERWRITE hours PARTITION (dt = '{hour}', c = '{c}') VALUES ({n})",
            f"INSERT OVERWRITE hours PARTITION (dt = '{hour}', c) VALUES ({n}, '{c}')",
            f"ALTER TABLE hours DROP PARTITION (dt = '{hour}', c = '{c}')",
            f"ALTER TABLE hours DROP IF EXISTS PARTITION (dt = '{hour}')",
            f"ALTER TABLE hours ADD PARTITION (dt = '{hour}', c = '{c}')",
            f"TRUNCATE TABLE hours PARTITION (dt = '{hour}')",
            f"ALTER TABLE hours PARTITION (dt = '{hour}', c = '{c}') RENAME TO PARTITION (dt = '{hour}', c = 'fr')",
            f"INSERT OVERWRITE days PARTITION (dt = '{day}', c) {daily}",
            f"INSERT OVERWRITE days PARTITION (dt = '{day}', c) {daily}",
            f"INSERT OVERWRITE days PARTITION (dt = '{day}', c = '{c}') SELECT SUM(n) FROM hours "
            f"WHERE dt LIKE '{day}%' AND c = '{c}'",
            f"ALTER TABLE days DROP IF EXISTS PARTITION (dt = '{day}', c = '{c}')",
            f"ALTER TABLE other EXCHANGE PARTITION (dt = '{hour}') WITH TABLE hours",
            f"INSERT OVERWRITE other SELECT n, '{hour}', c FROM hours",
        ]
    )


WORLDS = {"plain": (SETUP, statement), "parted": (PARTED_SETUP, parted_statement)}


def answer(session: Session, query: str) -> object:
    try:
        return sorted(session.execute(query).fetch(), key=str)
    except Error as error:
        return error.condition


def attempt(session: Session, statement: str) -> str | None:
    """Runs a statement; the condition of its error."""
    try:
        session.execute(statement)
    except Error as error:
        return error.condition
    return None


@pytest.mark.share(10)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("catalog_url", "seed"), seeds(8), indirect=["catalog_url"])
def test_a_transaction_leaves_what_its_statements_leave_one_by_one(
    tmp_path: Path, catalog_url: str | None, seed: int, world: str
) -> None:
    rng, taken, told = Random(seed), 0, Counter[str]()
    setup_statements, draw = WORLDS[world]
    with (
        Session(tmp_path / "at-once", "duckdb", catalog=catalog_url) as session,
        Session(tmp_path / "at-once", "duckdb", catalog=catalog_url) as witness,
        Session(tmp_path / "one-by-one", "duckdb") as model,
    ):
        for setup in setup_statements:
            session.execute(setup)
            model.execute(setup)
        for number in range(5):
            ran: list[str] = []
            # The commit of a transaction may have outdated a rollup that single commits kept fresh.
            judged = (COVERED, TIMELINES) if number == 0 else ()
            session.execute("START TRANSACTION")
            before = [answer(session, query) for query in QUERIES]
            for drawn in (draw(rng) for _ in range(rng.randint(2, 9))):
                failure = attempt(session, drawn)
                assert attempt(model, drawn) == failure, f"seed {seed}: {drawn} after {ran}"
                if failure is None:
                    ran.append(drawn)
                if rng.random() < 0.5:
                    for query in (*QUERIES, *judged):
                        own, alone = answer(session, query), answer(model, query)
                        assert own == alone, f"seed {seed}: {query} after {ran}"
                        told["read"] += bool(ran)
            assert [answer(witness, query) for query in QUERIES] == before, f"seed {seed}: {ran}"
            is_kept = rng.random() < 0.8
            session.execute("COMMIT" if is_kept else "ROLLBACK")
            taken += len(ran) > 1
            if not is_kept:
                assert [answer(session, query) for query in QUERIES] == before, f"seed {seed}: {ran}"
                for drawn in ran:
                    session.execute(drawn)
            for query in QUERIES:
                assert answer(session, query) == answer(model, query), f"seed {seed}: {query} after {ran}"
            check_answers(session, model, f"seed {seed}: after {ran}")
    assert taken >= 2
    assert told["read"]


def check_answers(session: Session, model: Session, note: str) -> None:
    """Checks that the cube returns the model's result, and that a rebuild of its timelines changes nothing."""
    rows, expected = answer(session, COVERED), answer(model, COVERED)
    # If the base was dropped, only a fresh rollup is used.
    assert rows in (expected, "MISSING_PARTITIONS"), note
    lines = answer(session, "SHOW TIMELINES OF f")
    assert session.execute("REFRESH TIMELINES OF f").fetch() == [], note
    assert answer(session, "SHOW TIMELINES OF f") == lines, note


P = "dt = '2013-01-02-01'"
DAY = "INSERT OVERWRITE days PARTITION (dt = '2013-01-02') SELECT SUM(n) FROM hours WHERE dt LIKE '2013-01-02%'"
AWAY = f"ALTER TABLE hours PARTITION ({P}) RENAME TO PARTITION (dt = '2013-01-03-00')"
INSERT, DROP = "INSERT INTO hours VALUES (100, '2013-01-02-01')", f"ALTER TABLE hours DROP PARTITION ({P})"
OVERWRITE, ADD = f"INSERT OVERWRITE hours PARTITION ({P}) VALUES (7)", f"ALTER TABLE hours ADD PARTITION ({P})"
#: The hours of the day that SETUP lacks: without them, no rollup of it would be fresh.
REST = "INSERT INTO hours VALUES " + ", ".join(f"(1, '2013-01-02-{hour:02}')" for hour in range(2, 24))


@pytest.mark.parametrize(
    ("before", "within", "after"),
    [
        ((DROP,), (INSERT, DAY, AWAY), ()),
        ((DAY,), (AWAY, INSERT, DROP), ()),
        ((), (DAY, OVERWRITE, DROP), ()),
        ((DAY,), (INSERT, DROP), ()),
        ((DROP,), (INSERT, DAY, DROP), (ADD,)),
        ((DROP,), (INSERT, DROP), (ADD,)),
        ((DAY,), (DROP, ADD), ()),
        ((DROP, DAY), (ADD, DROP), ()),
        ((), (INSERT, DAY), ()),
        ((), (DAY, INSERT), ()),
        ((), (f"TRUNCATE TABLE hours PARTITION ({P})", DAY, DROP), (ADD,)),
    ],
)
def test_each_change_of_content_is_an_event_for_rollups(
    tmp_path: Path, before: tuple[str, ...], within: tuple[str, ...], after: tuple[str, ...]
) -> None:
    """A partition that is gone at the end was content for the rollups in between."""
    with Session(tmp_path / "a", "duckdb") as session, Session(tmp_path / "b", "duckdb") as model:
        for opened in (session, model):
            for text in (*SETUP, REST, *before):
                opened.execute(text)
        session.execute("START TRANSACTION")
        for text in within:
            session.execute(text)
            model.execute(text)
            assert answer(session, "SELECT SUM(n) FROM hours") == answer(model, "SELECT SUM(n) FROM hours")
        session.execute("COMMIT")
        for text in ("SHOW PARTITIONS hours", *after, "SHOW PARTITIONS hours", COVERED, TIMELINES):
            assert answer(session, text) == answer(model, text), text
        assert session.execute("REFRESH TIMELINES OF f").fetch() == []


def test_what_a_drop_took_does_not_come_back(tmp_path: Path) -> None:
    """Properties, and the limit of an immutable table, are those of the new partition; a named one stays claimed."""
    with Session(tmp_path, "duckdb") as session, Session(tmp_path, "duckdb") as other:
        for text in (
            "CREATE TABLE t (x INT) PARTITIONED BY (p INT) TBLPROPERTIES ('immutable' = 'true')",
            "INSERT INTO t VALUES (1, 1)",
            "ALTER TABLE t PARTITION (p = 1) SET SERDEPROPERTIES ('k' = 'old')",
            "START TRANSACTION",
            "ALTER TABLE t DROP PARTITION (p = 1)",
            "INSERT INTO t VALUES (2, 1)",
            "INSERT INTO t VALUES (3, 2)",
            "ALTER TABLE t DROP PARTITION (p = 2)",
            "INSERT INTO t VALUES (4, 2)",
            "COMMIT",
        ):
            session.execute(text)
        assert sorted(session.execute("SELECT * FROM t").fetch()) == [(2, 1), (4, 2)]
        snapshot = session.catalog.snapshot()
        assert [dict(partition.properties) for partition in snapshot.partitions(snapshot.table("t"))] == [{}, {}]
        for text in ("START TRANSACTION", "ALTER TABLE t ADD IF NOT EXISTS PARTITION (p = 1)"):
            session.execute(text)
        session.execute("INSERT INTO t VALUES (5, 5)")
        session.execute("SELECT * FROM t")
        other.execute("ALTER TABLE t DROP PARTITION (p = 1)")
        assert attempt(session, "COMMIT") == "CONCURRENT_WRITE"
