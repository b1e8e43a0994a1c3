"""CREATE TABLE … AS is atomic, whatever happens at the same time, and its content is unproven."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewriter.errors import ConflictError, EngineError, Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Write, WrittenFile
from rewriter.session import Session


class Disturbed(DuckDBEngine):
    """An engine that does something else right after it has written."""

    def __init__(self) -> None:
        super().__init__()
        self.then: Callable[[], object] = lambda: None

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        files = super().write(query, write)
        then, self.then = self.then, lambda: None
        then()
        return files


@pytest.fixture
def engine() -> Iterator[Disturbed]:
    disturbed = Disturbed()
    yield disturbed
    disturbed.close()


@pytest.fixture
def session(tmp_path: Path, engine: Disturbed) -> Iterator[Session]:
    with Session(tmp_path / "w", engine) as opened:
        opened.execute("CREATE TABLE src (id INT, dt STRING)")
        opened.execute("INSERT INTO src VALUES (1, 'a'), (2, 'b')")
        yield opened


@pytest.fixture
def other(session: Session, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(session.catalog.warehouse, duckdb) as opened:
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(sql).rows()]


def tree(session: Session) -> set[str]:
    paths = session.catalog.warehouse.rglob("*")
    return {str(path) for path in paths if not path.name.startswith(("catalog.db", "warehouse.json"))}


def fails(error: BaseException) -> Callable[[], object]:
    def fail() -> object:
        raise error

    return fail


FORMS = [
    "CREATE TABLE t AS SELECT * FROM src",
    "CREATE TABLE t PARTITIONED BY (dt) AS SELECT * FROM src",
    "CREATE TABLE t LOCATION 'there' PARTITIONED BY (dt) AS SELECT * FROM src",
    "CREATE OR REPLACE TABLE src AS SELECT id + 1 AS id, dt FROM src",
]


@pytest.mark.parametrize("error", [EngineError("broken"), KeyboardInterrupt(), OSError("no room")])
@pytest.mark.parametrize("sql", FORMS)
def test_after_a_failure_all_is_as_before(session: Session, engine: Disturbed, sql: str, error: BaseException) -> None:
    before = tree(session), rows(session, "SHOW TABLES"), rows(session, "SELECT * FROM src ORDER BY id")
    engine.then = fails(error)
    with pytest.raises((Error, KeyboardInterrupt, OSError)):
        session.execute(sql)
    left = {path for path in tree(session) if not path.endswith("/there")}
    assert (left, rows(session, "SHOW TABLES"), rows(session, "SELECT * FROM src ORDER BY id")) == before
    session.execute(sql)
    assert len(rows(session, f"SELECT * FROM {'src' if 'REPLACE' in sql else 't'}")) == 2


@pytest.mark.parametrize("sql", FORMS[:3])
def test_of_two_that_make_one_name_the_second_fails(
    session: Session, other: Session, engine: Disturbed, sql: str
) -> None:
    engine.then = lambda: other.execute("CREATE TABLE T AS SELECT 'mine' AS who")
    with pytest.raises(ConflictError) as caught:
        session.execute(sql)
    assert caught.value.sqlstate == "40001"
    assert caught.value.position is not None
    assert rows(session, "SELECT * FROM t") == [("mine",)]
    assert len([path for path in tree(session) if path.endswith(".parquet")]) == 2  # of src, and of the other's t


@pytest.mark.parametrize(
    "meanwhile", ["INSERT INTO src VALUES (3, 'c')", "DROP TABLE src", "ALTER TABLE src ADD COLUMNS (v INT)"]
)
def test_what_is_replaced_must_be_as_it_was_seen(
    session: Session, other: Session, engine: Disturbed, meanwhile: str
) -> None:
    def disturb() -> None:
        other.execute(meanwhile)

    engine.then = disturb
    replaced = "CREATE OR REPLACE TABLE src AS SELECT id FROM src"
    if "ADD COLUMNS" in meanwhile:
        session.execute(replaced)  # rows are those that it has seen: only the old table's columns are others
        return
    with pytest.raises(ConflictError):
        session.execute(replaced)
    assert ("src" in {str(row[0]) for row in rows(session, "SHOW TABLES")}) == ("INSERT" in meanwhile)


def test_a_reader_of_the_old_table_goes_on(session: Session, other: Session) -> None:
    reading = other.execute("SELECT id FROM src ORDER BY id")
    session.execute("CREATE OR REPLACE TABLE src AS SELECT 'new' AS id")
    assert [tuple(row) for row in reading.rows()] == [(1,), (2,)]
    assert rows(other, "SELECT id FROM src") == [("new",)]


@pytest.mark.parametrize(
    ("visits", "source", "accepted"),
    [
        ("SUM(visits)", "hours", True),
        ("CAST(99 AS BIGINT) + 0 * count(visits)", "hours", False),
        ("CAST(99 AS BIGINT) + 0 * count(visits)", "days", False),
    ],
)
def test_what_it_made_before_the_fact_is_unproven(session: Session, visits: str, source: str, accepted: bool) -> None:
    """Content older than its fact serves once CHECK FACT … ACCEPT has found it to agree, whatever it came out of."""
    session.execute("CREATE CUBE c (visits BIGINT MEASURE SUM, at TIMESTAMP TIME)")
    for table in ("hours", "days"):
        session.execute(f"CREATE TABLE {table} (visits BIGINT) PARTITIONED BY (dt STRING)")
    values = ", ".join(f"({7 if hour == 5 else 0}, '2015-01-01-{hour:02d}')" for hour in range(24))
    session.execute(f"INSERT INTO hours VALUES {values}")
    session.execute(
        f"CREATE TABLE other_days PARTITIONED BY (dt) AS SELECT {visits} AS visits, '2015-01-01' AS dt FROM {source}"
    )
    days = "PERIOD DAILY PARTITIONED BY at AS (dt = 'yyyy-MM-dd')"
    session.execute(
        "CREATE FACT f OF CUBE c STORED IN STORAGE a (TABLE hours PERIOD HOURLY PARTITIONED BY at AS "
        f"(dt = 'yyyy-MM-dd-HH'), TABLE days {days}) STORED IN STORAGE b (TABLE other_days {days})"
    )
    timelines = {row[0]: row for row in rows(session, "SHOW TIMELINES OF f")}
    assert timelines["other_days"][10:] == (0, 1, 0, 0, "it existed before the fact")
    assert served(session) == ([(7,)], {"hours"})
    findings = {row[0]: row[8] for row in rows(session, "CHECK FACT f ACCEPT")}
    assert findings["other_days"] == ("accepted" if accepted else "differs")
    assert served(session) == ([(7,)], {"other_days" if accepted else "hours"})


def served(session: Session) -> tuple[list[tuple[object, ...]], set[str]]:
    """Returns the rows of the day, and the tables that they came from."""
    result = session.execute("SELECT sum(visits) FROM c WHERE time_range_in(at, '2015-01-01', '2015-01-02')")
    fetched = [tuple(row) for row in result.rows()]
    return fetched, {part.table for reference in result.coverage.references for part in reference.parts}
