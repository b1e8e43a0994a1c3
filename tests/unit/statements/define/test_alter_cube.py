"""ALTER CUBE … ADD: rollups stay, the base serves what is new, and what is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.catalog.model.changes import AlterCube
from rewriter.errors import ConflictError, Error
from rewriter.session import Session
from rewriter.statements.define import alter_cube

DAYS = "t >= '2024-01-01' AND t < '2024-01-05'"


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "w", "duckdb", catalog=catalog_url) as opened:
        for statement in (
            "CREATE CUBE v (page STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE TABLE h (page STRING, n BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt)) "
            "ROLLUPS (DAILY, DAILY ())",
            "INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-01-05' "
            "VALUES ('a', 1, '2024-01-01-03'), ('b', 2, '2024-01-02-03')",
            "REFRESH FACT f",
            "ALTER TABLE h ADD COLUMNS (city STRING, ms BIGINT)",
        ):
            opened.execute(statement)
        yield opened


def rows(session: Session, statement: str) -> list[tuple[object, ...]]:
    return list(session.execute(statement).rows())


def test_rollups_serve_what_they_have_and_others_come(session: Session) -> None:
    (warning,) = session.execute("ALTER CUBE v ADD (city STRING, ms BIGINT MEASURE SUM)").warnings
    assert warning.startswith("these rollups do not have city, ms: f_daily; ALTER FACT")
    old = f"SELECT page, SUM(n) FROM v WHERE {DAYS} GROUP BY page"
    new = f"SELECT city, SUM(ms) FROM v WHERE {DAYS} GROUP BY city"
    assert "FROM f_daily WHERE" in session.plan(old).sql
    assert "FROM h WHERE" in session.plan(new).sql
    assert rows(session, "REFRESH FACT f DRY RUN") == []
    session.execute("INSERT INTO h VALUES ('a', 5, 'rome', 77, '2024-01-01-04')")
    session.execute("REFRESH FACT f")
    session.execute("SET rewriter.verify = certificate")
    assert sorted(map(str, rows(session, new))) == ["('rome', 77)", "(None, None)"]
    session.execute("ALTER FACT f ADD ROLLUP DAILY")
    session.execute("REFRESH FACT f")
    assert "FROM f_daily_" in session.plan(new).sql
    assert sorted(map(str, rows(session, new))) == ["('rome', 77)", "(None, None)"]
    assert sorted(rows(session, old)) == [("a", 6), ("b", 2)]
    assert {row[8] for row in rows(session, "CHECK FACT f")} == {"agrees"}
    # What SHOW CREATE returns means the same: all proofs stay.
    texts = [str(text) for kind in ("CUBE v", "FACT f") for (text,) in rows(session, f"SHOW CREATE {kind}")]
    for statement in ("DROP FACT f", "DROP CUBE v", *texts):
        session.execute(statement)
    assert rows(session, "REFRESH FACT f DRY RUN") == []
    session.execute("ALTER FACT f DROP STORAGE f_daily")
    assert sorted(rows(session, old)) == [("a", 6), ("b", 2)]


def test_random_queries_return_what_the_base_holds(session: Session) -> None:
    source = random.Random(7)
    session.execute("ALTER CUBE v ADD (city STRING, ms BIGINT MEASURE SUM)")
    for number in range(60):
        day = source.randint(1, 4)
        city, ms = source.choice(("'rome'", "'oslo'", "NULL")), source.choice((3, 9, "NULL"))
        hour = f"2024-01-0{day}-{source.randrange(24):02d}"
        session.execute(f"INSERT INTO h VALUES ('{source.choice('abc')}', 1, {city}, {ms}, '{hour}')")
        if number % 20 == 10:
            session.execute("REFRESH FACT f")
        if number == 30:
            session.execute("ALTER FACT f ADD ROLLUP DAILY, DAILY (city)")
        keys = ", ".join(source.sample(["page", "city"], source.randint(1, 2)))
        first, last = sorted(source.sample(range(1, 6), 2))
        calls = source.choice(("SUM(n), COUNT(*)", "SUM(ms)", "SUM(n), SUM(ms)"))
        where = source.choice(("", " AND city = 'rome'", " AND page <> 'a'", " AND city IS NULL"))
        query = f"SELECT {keys}, {calls} FROM v WHERE t >= '2024-01-0{first}' AND t < '2024-01-0{last}'"
        cube = f"{query}{where} GROUP BY {keys}"
        base = cube.replace("FROM v", "FROM h").replace("t >=", "dt >=").replace("t <", "dt <")
        base = base.replace("COUNT(*)", "SUM(n)")
        assert sorted(map(str, rows(session, cube))) == sorted(map(str, rows(session, base))), cube


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("columns", "condition", "message"),
    [
        ("(user_id BIGINT)", "INVALID_FACT", "The table h lacks the column user_id, and holds the base."),
        ("(city INT)", "INVALID_FACT", "city is STRING in h, but INT in v."),
        ("(ms INT MEASURE SUM)", "INVALID_FACT", "ms is BIGINT in h, which holds base rows, but INT in v."),
        ("(Page STRING)", "COLUMN_ALREADY_EXISTS", "The column Page already exists."),
        ("(u TIMESTAMP TIME)", "INVALID_CUBE", "A time cannot be added to the cube v."),
        ("(city STRING MEASURE SUM)", "INVALID_CUBE", "A string cannot be summed."),
        ("(ms BIGINT MEASURE SUM NOT NULL)", "NOT_NULL_ASSERT_VIOLATION", "2 rows have NULL in ms of h"),
    ],
)
def test_what_is_refused_changes_nothing(session: Session, columns: str, condition: str, message: str) -> None:
    before = rows(session, "SHOW CREATE CUBE v"), rows(session, "SHOW CREATE FACT f")
    with pytest.raises(Error) as caught:
        session.execute(f"ALTER CUBE v ADD {columns}")
    assert (caught.value.condition, caught.value.position is not None) == (condition, True)
    assert caught.value.message.startswith(message)
    assert caught.value.hint
    assert (rows(session, "SHOW CREATE CUBE v"), rows(session, "SHOW CREATE FACT f")) == before


def test_facts_that_list_their_columns_stay(session: Session) -> None:
    session.execute("CREATE TABLE other (page STRING, n BIGINT) PARTITIONED BY (dt STRING)")
    stored = "STORED IN (TABLE other PERIOD HOURLY PARTITIONED BY t AS (dt))"
    session.execute(f"CREATE FACT g OF CUBE v (page, n) {stored}")
    session.execute("ALTER CUBE v ADD (city STRING)")
    session.execute("CREATE CUBE empty (page STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
    assert session.execute("ALTER CUBE empty ADD (anything STRING)").warnings == ()
    assert "FROM h WHERE" in session.plan(f"SELECT city, SUM(n) FROM v WHERE {DAYS} GROUP BY city").sql


def test_another_change_in_between_is_a_conflict(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def altered(*arguments: object) -> AlterCube:
        session.execute("ALTER FACT f ADD ROLLUP MONTHLY") if not seen else None
        seen.append(1)
        return AlterCube(*arguments)  # type: ignore[arg-type]

    seen: list[int] = []
    monkeypatch.setattr(alter_cube, "AlterCube", altered)
    with pytest.raises(ConflictError, match="another transaction has changed the cube 'v' or its facts"):
        session.execute("ALTER CUBE v ADD (city STRING)")
    session.execute("ALTER CUBE v ADD (city STRING)")
