"""ALTER CUBE … RENAME COLUMN: no file and no proof changes, and every reader uses the new name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.catalog.model.changes import AlterCube
from rewriter.errors import ConflictError, Error
from rewriter.session import Session
from rewriter.statements.define import alter_cube

MONTH = "t >= '2024-01-01' AND t < '2024-02-01'"


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "w", "duckdb", catalog=catalog_url) as opened:
        for statement in (
            "CREATE CUBE v (page STRING, city STRING, n BIGINT MEASURE COUNT EVENTS, "
            "ms BIGINT MEASURE SUM COUNTED BY k, k BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE TABLE h (page STRING, city STRING, n BIGINT, ms BIGINT, k BIGINT, note STRING) "
            "PARTITIONED BY (dt STRING)",
            "CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt)) "
            "ROLLUPS (DAILY, DAILY (city), MONTHLY)",
            "INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-02-01' VALUES "
            "('a', 'rome', 1, 5, 1, 'x', '2024-01-01-03'), ('b', 'oslo', 2, NULL, 0, 'y', '2024-01-02-03')",
            "REFRESH FACT f",
        ):
            opened.execute(statement)
        yield opened


def rows(session: Session, statement: str) -> list[tuple[object, ...]]:
    return list(session.execute(statement).rows())


def declarations(session: Session) -> list[str]:
    return [str(rows(session, f"SHOW CREATE {kind}")[0][0]) for kind in ("CUBE v", "FACT f")]


def rename_all(session: Session) -> None:
    for old, new in (("city", "town"), ("k", "known"), ("ms", "millis"), ("n", "hits")):
        session.execute(f"ALTER CUBE v RENAME COLUMN {old} TO {new}")


def test_the_new_name_is_everywhere_and_proofs_stay(session: Session) -> None:
    rename_all(session)
    assert rows(session, "REFRESH FACT f DRY RUN") == []
    assert {row[8] for row in rows(session, "CHECK FACT f")} == {"agrees"}
    session.execute("SET rewriter.verify = certificate")
    query = f"SELECT town, SUM(hits), SUM(millis), AVG(millis), COUNT(*) FROM v WHERE {MONTH} GROUP BY town ORDER BY 1"
    assert rows(session, query) == [("oslo", 2, None, None, 2), ("rome", 1, 5, 5.0, 1)]
    assert "FROM f_monthly WHERE" in session.plan(query).sql
    assert [row[0] for row in rows(session, "DESCRIBE v")][:5] == ["page", "town", "hits", "millis", "known"]
    assert "town" in [row[0] for row in rows(session, "DESCRIBE f_daily_city")]
    with pytest.raises(Error, match="The cube v has no column city"):
        session.execute(f"SELECT city FROM v WHERE {MONTH}")
    session.execute("INSERT INTO h VALUES ('c', 'rome', 4, 7, 1, 'z', '2024-01-03-03')")
    session.execute("REFRESH FACT f")
    assert rows(session, query)[1] == ("rome", 5, 12, 6.0, 5)
    assert {row[8] for row in rows(session, "CHECK FACT f")} == {"agrees"}


def test_a_dropped_fact_keeps_its_proofs_by_the_new_name_alone(session: Session) -> None:
    rename_all(session)
    cube, fact = declarations(session)
    for statement in ("DROP FACT f", "DROP CUBE v", cube, fact):
        session.execute(statement)
    assert rows(session, "REFRESH FACT f DRY RUN") == []
    # By the old name, the same columns are others for the catalog: nothing is claimed, and nothing is wrong.
    for statement in ("DROP FACT f", "DROP CUBE v", cube.replace("town", "city")):
        session.execute(statement)
    for table in ("h", "f_daily", "f_daily_city", "f_monthly"):
        session.execute(f"ALTER TABLE {table} RENAME COLUMN town TO city")
    tables = (
        "TABLE f_daily PERIOD DAILY PARTITIONED BY t AS (dt), TABLE f_monthly PERIOD MONTHLY PARTITIONED BY t AS (dt)"
    )
    listed = fact.replace("town", "city").partition("ROLLUPS")[0].rstrip().removesuffix(")")
    session.execute(f"{listed}, {tables})")
    assert {row[5] for row in rows(session, "REFRESH FACT f DRY RUN")} == {"to refresh"}
    query = f"SELECT city, SUM(hits) FROM v WHERE {MONTH} GROUP BY city ORDER BY city"
    assert rows(session, query) == [("oslo", 2), ("rome", 1)]
    assert "FROM h WHERE" in session.plan(query).sql


def test_random_histories_return_what_the_base_holds(session: Session) -> None:
    source = random.Random(11)
    names = {"page": "page", "city": "city", "n": "n", "ms": "ms", "k": "k"}
    for number in range(20):
        match source.randrange(4):
            case 0:
                column, new = source.choice(list(names)), f"x{number}"
                session.execute(f"ALTER CUBE v RENAME COLUMN {names[column]} TO {new}")
                names[column] = new
            case 1:
                session.execute("REFRESH FACT f")
            case _:
                hour, ms = f"2024-01-0{source.randint(1, 5)}-{source.randrange(24):02d}", source.choice((3, None))
                values = (
                    f"'{source.choice('ab')}', '{source.choice(('rome', 'oslo'))}', 1, {ms or 'NULL'}, {int(bool(ms))}"
                )
                session.execute(f"INSERT INTO h VALUES ({values}, '', '{hour}')")
        key = names[source.choice(("page", "city"))]
        sums = ", ".join(f"SUM({names[measure]})" for measure in ("n", "ms", "k"))
        query = f"SELECT {key}, {sums} FROM v WHERE {MONTH} GROUP BY {key}"
        base = query.replace("FROM v", "FROM h").replace("t >=", "dt >=").replace("t <", "dt <")
        assert sorted(map(str, rows(session, query))) == sorted(map(str, rows(session, base))), query
    session.execute("REFRESH FACT f")
    assert {row[8] for row in rows(session, "CHECK FACT f")} == {"agrees"}


def test_events_keep_their_columns(session: Session) -> None:
    for statement in (
        "CREATE CUBE e (page STRING, n BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM, slow INT MEASURE SUM, "
        "t TIMESTAMP TIME)",
        "CREATE TABLE events (page STRING, ms BIGINT, t TIMESTAMP) PARTITIONED BY (dt DATE)",
        "CREATE FACT g OF CUBE e STORED IN (TABLE events RAW (slow AS IF(ms > 5, 1, 0)) PERIOD DAILY "
        "PARTITIONED BY t AS (dt)) ROLLUPS (MONTHLY)",
        "INSERT INTO events MARK COMPLETE FROM '2024-01-01' TO '2024-02-01' VALUES "
        "('a', 7, TIMESTAMP '2024-01-02 03:00:00', DATE '2024-01-02')",
        "REFRESH FACT g",
        "ALTER CUBE e RENAME COLUMN page TO url",
        "ALTER CUBE e RENAME COLUMN ms TO millis",
        "ALTER CUBE e RENAME COLUMN slow TO slows",
        "ALTER CUBE e RENAME COLUMN n TO hits",
        "INSERT INTO events VALUES ('b', 2, TIMESTAMP '2024-01-03 03:00:00', DATE '2024-01-03')",
    ):
        session.execute(statement)
    query = f"SELECT url, SUM(hits), SUM(millis), SUM(slows) FROM e WHERE {MONTH} GROUP BY url ORDER BY url"
    session.execute("SET rewriter.verify = certificate")
    assert rows(session, query) == [("a", 1, 7, 1), ("b", 1, 2, 0)]
    session.execute("REFRESH FACT g")
    assert {row[8] for row in rows(session, "CHECK FACT g")} == {"agrees"}
    assert rows(session, query) == [("a", 1, 7, 1), ("b", 1, 2, 0)]
    text = str(rows(session, "SHOW CREATE FACT g")[0][0])
    for statement in ("DROP FACT g", text):
        session.execute(statement)
    assert rows(session, "REFRESH FACT g DRY RUN") == []
    for change in ("RENAME COLUMN page TO url", "DROP COLUMN ms"):
        with pytest.raises(Error, match="the fact 'g' reads it"):
            session.execute(f"ALTER TABLE events {change}")
    assert "millis AS ms" in text
    session.execute("ALTER CUBE e RENAME COLUMN millis TO ms")
    assert "millis" not in str(rows(session, "SHOW CREATE FACT g")[0][0])
    assert rows(session, query.replace("millis", "ms")) == [("a", 1, 7, 1), ("b", 1, 2, 0)]
    assert rows(session, "REFRESH FACT g DRY RUN") == []
    session.execute("ALTER CUBE e RENAME COLUMN ms TO millis")
    with pytest.raises(Error, match="The table events has another column ms"):
        session.execute("ALTER CUBE e RENAME COLUMN hits TO ms")


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("statement", "condition", "message"),
    [
        ("CUBE v RENAME COLUMN x TO y", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "The cube v has no column x."),
        ("CUBE v RENAME COLUMN page TO CITY", "COLUMN_ALREADY_EXISTS", "The column CITY already exists"),
        ("CUBE v RENAME COLUMN page TO note", "INVALID_FACT", "The table h has another column note."),
        ("CUBE v RENAME COLUMN page TO dt", "INVALID_FACT", "The table h has another column dt."),
        ("CUBE v RENAME COLUMN t TO u", "INVALID_CUBE", "t is a time of the cube v."),
        ("CUBE v RENAME COLUMN ms TO u", "COLUMN_IN_USE", "The view w reads v and names ms."),
        ("CUBE v RENAME COLUMN k TO u", "COLUMN_IN_USE", "The view x reads h and names k."),
        ("TABLE h RENAME COLUMN page TO u", "COLUMN_IN_USE", "the column page of 'h' cannot be renamed: the fact 'f'"),
        ("TABLE h DROP COLUMN page", "COLUMN_IN_USE", "the column page of 'h' cannot be dropped: the fact 'f' reads"),
    ],
)
def test_what_is_refused_changes_nothing(session: Session, statement: str, condition: str, message: str) -> None:
    session.execute(f"CREATE VIEW w AS SELECT ms FROM v WHERE {MONTH}")
    session.execute("CREATE VIEW x AS SELECT k FROM h")
    before = declarations(session)
    with pytest.raises(Error) as caught:
        session.execute(f"ALTER {statement}")
    assert caught.value.message.startswith(message)
    assert (caught.value.condition, caught.value.position is not None) == (condition, True)
    assert caught.value.hint
    assert declarations(session) == before


def test_measures_that_are_not_null_stay_so(session: Session) -> None:
    for statement in (
        "CREATE CUBE e (n BIGINT MEASURE SUM NOT NULL, t TIMESTAMP TIME)",
        "CREATE TABLE facts (n BIGINT, other BIGINT) PARTITIONED BY (dt DATE)",
        "CREATE FACT g OF CUBE e STORED IN (TABLE facts PERIOD DAILY PARTITIONED BY t AS (dt))",
        "INSERT INTO facts VALUES (1, NULL, DATE '2024-01-02')",
        "ALTER CUBE e RENAME COLUMN n TO m",
        "ALTER TABLE facts RENAME COLUMN other TO n",
        "INSERT INTO facts VALUES (2, NULL, DATE '2024-01-03')",
    ):
        session.execute(statement)
    with pytest.raises(Error, match="NULL in m of facts"):
        session.execute("INSERT INTO facts VALUES (NULL, 2, DATE '2024-01-04')")
    assert rows(session, "SELECT SUM(m) FROM facts") == [(3,)]


def test_columns_that_the_cube_does_not_have_are_those_of_the_table(session: Session) -> None:
    session.execute("ALTER TABLE h RENAME COLUMN note TO remark")
    session.execute("ALTER CUBE v DROP (city)")
    session.execute("ALTER FACT f DROP STORAGE f_daily_city")
    session.execute("ALTER TABLE h DROP COLUMNS (remark, city)")
    query = f"SELECT page, SUM(n) FROM v WHERE {MONTH} GROUP BY page ORDER BY page"
    assert rows(session, query) == [("a", 1), ("b", 2)]
    assert "f_monthly" in session.plan(query).sql


def test_another_change_in_between_is_a_conflict(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def altered(*arguments: object) -> AlterCube:
        seen.append(1)
        if len(seen) == 1:
            session.execute("INSERT INTO h VALUES ('c', 'rome', 4, 7, 1, 'z', '2024-01-03-03')")
        return AlterCube(*arguments)  # type: ignore[arg-type]

    seen: list[int] = []
    monkeypatch.setattr(alter_cube, "AlterCube", altered)
    with pytest.raises(ConflictError):
        session.execute("ALTER CUBE v RENAME COLUMN city TO town")
    session.execute("ALTER CUBE v RENAME COLUMN city TO town")


def test_a_column_that_the_base_loses_meanwhile_does_not_join_the_cube(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def altered(*arguments: object) -> AlterCube:
        session.execute("ALTER TABLE h DROP COLUMN note")
        return AlterCube(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(alter_cube, "AlterCube", altered)
    with pytest.raises(ConflictError, match="altered the columns of 'h'"):
        session.execute("ALTER CUBE v ADD (note STRING)")


def test_an_external_base_keeps_its_names(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE CUBE e (page STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
    session.execute(
        f"CREATE EXTERNAL TABLE files (page STRING, n BIGINT) PARTITIONED BY (dt DATE) LOCATION '{tmp_path / 'files'}'"
    )
    session.execute("CREATE FACT g OF CUBE e STORED IN (TABLE files PERIOD DAILY PARTITIONED BY t AS (dt))")
    with pytest.raises(Error, match="by the name page") as caught:
        session.execute("ALTER CUBE e RENAME COLUMN page TO url")
    assert caught.value.condition == "INVALID_FACT"
