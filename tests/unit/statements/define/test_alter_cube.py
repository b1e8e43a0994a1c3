"""ALTER CUBE: rollups stay, the base serves what is new, and what is refused."""

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
    session.execute("ALTER FACT f DROP ROLLUP DAILY ()")
    session.execute("ALTER FACT f TABLE f_daily SET TRUSTED")
    (warning,) = session.execute("ALTER CUBE v ADD (city STRING, ms BIGINT MEASURE SUM)").warnings
    assert warning == "these rollups do not have city, ms: f_daily; ALTER FACT … ADD ROLLUP makes rollups that do"
    session.execute("ALTER FACT f TABLE f_daily UNSET TRUSTED")
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
            session.execute("ALTER FACT f ADD ROLLUP DAILY (page), DAILY (city)")
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


def test_a_dropped_column_is_in_no_query_and_no_rollup(session: Session) -> None:
    session.execute("ALTER CUBE v ADD (city STRING, ms BIGINT MEASURE SUM)")
    session.execute("ALTER FACT f ADD ROLLUP MONTHLY")
    session.execute("ALTER CUBE v DROP (city, MS)")
    assert rows(session, "REFRESH FACT f DRY RUN") == []
    assert {row[8] for row in rows(session, "CHECK FACT f")} == {"agrees", "nothing compared"}
    for column in ("city", "ms"):
        with pytest.raises(Error) as caught:
            session.execute(f"SELECT MAX({column}) FROM v WHERE {DAYS}")
        assert caught.value.condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    query = f"SELECT page, SUM(n), COUNT(*) FROM v WHERE {DAYS} GROUP BY page ORDER BY page"
    assert rows(session, query) == [("a", 1, 1), ("b", 2, 2)]
    assert "f_daily" in session.plan(query).sql


def test_a_rollup_that_was_refreshed_without_a_column_never_serves_it(session: Session) -> None:
    session.execute("ALTER FACT f DROP STORAGE f_daily_total")
    cube, fact = (str(rows(session, f"SHOW CREATE {kind}")[0][0]) for kind in ("CUBE v", "FACT f"))
    session.execute("ALTER CUBE v DROP page")
    session.execute("INSERT INTO h VALUES ('a', 5, NULL, NULL, '2024-01-01-04')")
    session.execute("REFRESH FACT f")
    assert sorted(map(str, rows(session, "SELECT page, n FROM f_daily WHERE dt <= '2024-01-02'"))) == [
        "('b', 2)",
        "(None, 6)",
    ]
    pages = f"SELECT page, SUM(n) FROM v WHERE {DAYS} GROUP BY page ORDER BY page"
    session.execute("SET rewriter.verify = certificate")
    session.execute("ALTER CUBE v ADD (page STRING)")
    assert rows(session, pages) == [("a", 6), ("b", 2)]
    for statement in ("DROP FACT f", "DROP CUBE v", cube, fact):
        session.execute(statement)
    assert rows(session, pages) == [("a", 6), ("b", 2)]
    findings = [row[8] for row in rows(session, "CHECK FACT f")]
    assert "row missing" in findings, findings
    session.execute("REFRESH FACT f")
    assert rows(session, pages) == [("a", 6), ("b", 2)]


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("change", "condition", "message"),
    [
        ("DROP (zz)", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "The cube v has no column zz."),
        ("DROP T", "INVALID_CUBE", "T is a time of the cube v."),
        ("DROP n", "INVALID_FACT", "The table own has no other measure."),
        ("DROP ms", "COLUMN_IN_USE", "The view more reads v and names ms."),
        ("DROP kind", "INVALID_FACT", "The partitions of h are named by kind."),
        (
            "DROP city",
            "INVALID_FACT",
            "f_daily_total and f_daily_city would hold the same rollup: DAILY, with the same",
        ),
        ("ALTER zz TYPE BIGINT", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "The cube v has no column zz."),
        ("ALTER t TYPE BIGINT", "INVALID_CUBE", "The column t TIMESTAMP of v cannot become BIGINT."),
        ("ALTER n TYPE INT", "INVALID_CUBE", "The column n BIGINT of v cannot become INT."),
        ("ALTER kind TYPE BIGINT", "INVALID_FACT", "The partitions of h are named by kind."),
    ],
)
def test_columns_that_are_needed_stay(
    tmp_path: Path, catalog_url: str | None, change: str, condition: str, message: str
) -> None:
    with Session(tmp_path / "w", "duckdb", catalog=catalog_url) as session:
        columns = "page STRING, city STRING, n BIGINT, ms BIGINT"
        for statement in (
            "CREATE CUBE v (page STRING, city STRING, kind INT, n BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM, "
            "t TIMESTAMP TIME)",
            f"CREATE TABLE h ({columns}) PARTITIONED BY (dt STRING, kind INT)",
            f"CREATE TABLE own ({columns}) PARTITIONED BY (dt STRING, kind INT)",
            "CREATE FACT f OF CUBE v STORED IN "
            "(TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt) COMPLETE WITH ANY kind, "
            "TABLE own PERIOD MONTHLY PARTITIONED BY t AS (dt) COMPLETE WITH ANY kind) "
            "ROLLUPS (DAILY, DAILY (), DAILY (city))",
            "ALTER CUBE v DROP (ms)",
            "ALTER CUBE v ADD (ms BIGINT MEASURE SUM)",
            "CREATE VIEW pages AS SELECT * FROM v",
            f"CREATE VIEW more AS SELECT SUM(ms) FROM pages WHERE {DAYS}",
        ):
            session.execute(statement)
        kinds = ("CUBE v", "FACT f")
        before = [rows(session, f"SHOW CREATE {kind}") for kind in kinds]
        with pytest.raises(Error) as caught:
            session.execute(f"ALTER CUBE v {change}")
        assert (caught.value.condition, caught.value.position is not None) == (condition, True)
        assert caught.value.message.startswith(message)
        assert caught.value.hint
        assert [rows(session, f"SHOW CREATE {kind}") for kind in kinds] == before


def test_a_measure_that_counts_another_goes_with_it(session: Session) -> None:
    session.execute("CREATE CUBE w (d BIGINT MEASURE COUNT, delay INT MEASURE SUM COUNTED BY d, t TIMESTAMP TIME)")
    with pytest.raises(Error, match="d counts the values of delay") as caught:
        session.execute("ALTER CUBE w DROP d")
    assert caught.value.hint == "Drop both: ALTER CUBE w DROP (d, delay)."
    result = session.execute("ALTER CUBE w DROP (d, delay)")
    assert result.warnings == ("COUNT(*) of w means the rows of the base from now on",)


def test_what_count_means_from_now_on_is_said(session: Session) -> None:
    session.execute("CREATE CUBE w (n BIGINT MEASURE COUNT EVENTS, m BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
    assert session.execute("ALTER CUBE w DROP n").warnings == ("COUNT(*) of w means SUM(m) from now on",)
    assert session.execute("ALTER CUBE w DROP m").warnings == ("COUNT(*) of w means the rows of the base from now on",)


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_wider_type_comes_with_its_tables_and_proofs(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    with Session(tmp_path / "w", request.getfixturevalue(engine)) as session:
        for statement in (
            "CREATE CUBE v (page INT, n BIGINT MEASURE COUNT, ms INT MEASURE SUM, "
            "cost DECIMAL(6, 2) MEASURE SUM, t TIMESTAMP TIME)",
            "CREATE TABLE h (page INT, n BIGINT, ms INT, cost DECIMAL(6, 2)) PARTITIONED BY (dt STRING)",
            "CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt)) ROLLUPS (DAILY)",
            "INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-01-03' VALUES "
            "(1, 1, 5, 1.5, '2024-01-01-03'), (2, 2, 7, 2.5, '2024-01-02-03')",
            "REFRESH FACT f",
            "ALTER CUBE v ALTER page TYPE BIGINT",
            "ALTER CUBE v ALTER ms TYPE BIGINT",
            "ALTER CUBE v ALTER cost TYPE DECIMAL(12, 2)",
        ):
            session.execute(statement)
        session.execute("SET rewriter.verify = certificate")
        assert rows(session, "REFRESH FACT f DRY RUN") == []
        query = "SELECT page, SUM(ms), SUM(cost) FROM v WHERE t >= '2024-01-01' AND t < '2024-01-03' GROUP BY page"
        assert "FROM f_daily WHERE" in session.plan(query).sql
        assert sorted(map(str, rows(session, query))) == [
            "(1, 5, Decimal('1.50'))",
            "(2, 7, Decimal('2.50'))",
        ]
        session.execute("INSERT INTO h VALUES (3000000000, 1, 3000000000, 12345678.25, '2024-01-02-04')")
        session.execute("INSERT INTO h VALUES (1, 1, 3000000000, 12345678.25, '2024-01-01-04')")
        session.execute("REFRESH FACT f")
        assert {row[8] for row in rows(session, "CHECK FACT f")} == {"agrees"}
        assert sorted(map(str, rows(session, query))) == [
            "(1, 3000000005, Decimal('12345679.75'))",
            "(2, 7, Decimal('2.50'))",
            "(3000000000, 3000000000, Decimal('12345678.25'))",
        ]


def test_the_first_declaration_keeps_the_proofs_of_a_cube_that_has_its_columns_again(session: Session) -> None:
    cube, fact = (str(rows(session, f"SHOW CREATE {kind}")[0][0]) for kind in ("CUBE v", "FACT f"))
    session.execute("ALTER CUBE v ADD (city STRING)")
    session.execute("ALTER CUBE v DROP (city)")
    for statement in ("DROP FACT f", "DROP CUBE v", cube, fact):
        session.execute(statement)
    assert rows(session, "REFRESH FACT f DRY RUN") == []
    assert "f_daily" in session.plan(f"SELECT page, SUM(n) FROM v WHERE {DAYS} GROUP BY page").sql


def test_a_column_that_an_expression_of_raw_reads_keeps_its_type(tmp_path: Path) -> None:
    with Session(tmp_path / "w", "duckdb") as session:
        for statement in (
            "CREATE TABLE ev (ms INT, kb INT, t TIMESTAMP) PARTITIONED BY (dt STRING)",
            "CREATE CUBE c (m BIGINT MEASURE SUM, ms INT MEASURE MAX, kb INT MEASURE SUM, t TIMESTAMP TIME)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE ev PERIOD DAILY PARTITIONED BY t AS (dt) "
            "RAW (m AS CAST(try_multiply(`MS`, 1000000) AS BIGINT))) ROLLUPS (MONTHLY)",
            "INSERT INTO ev MARK COMPLETE FROM '2024-01-01' TO '2024-02-01' VALUES "
            "(5000, 1, TIMESTAMP '2024-01-05 01:00:00', '2024-01-05'), "
            "(7, 2, TIMESTAMP '2024-01-06 01:00:00', '2024-01-06')",
            "REFRESH FACT f",
        ):
            session.execute(statement)
        with pytest.raises(Error, match="An expression of RAW in ev computes or reads ms") as caught:
            session.execute("ALTER CUBE c ALTER ms TYPE BIGINT")
        assert caught.value.condition == "INVALID_FACT"
        session.execute("ALTER CUBE c ALTER kb TYPE BIGINT")
        query = "SELECT SUM(m), SUM(kb) FROM c WHERE t >= '2024-01-01' AND t < '2024-02-01'"
        assert rows(session, query) == [(7000000, 3)]
        assert {row[8] for row in rows(session, "CHECK FACT f")} == {"agrees"}


def test_a_measure_that_counts_events_needs_no_column(tmp_path: Path) -> None:
    with Session(tmp_path / "w", "duckdb") as session:
        for statement in (
            "CREATE TABLE ev (ms INT, t TIMESTAMP) PARTITIONED BY (dt STRING)",
            "CREATE CUBE c (ms INT MEASURE SUM, t TIMESTAMP TIME)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE ev PERIOD DAILY PARTITIONED BY t AS (dt) RAW) ROLLUPS (MONTHLY)",
            "INSERT INTO ev MARK COMPLETE FROM '2024-01-01' TO '2024-02-01' VALUES "
            "(5, TIMESTAMP '2024-01-05 01:00:00', '2024-01-05'), (7, TIMESTAMP '2024-01-06 01:00:00', '2024-01-06')",
            "REFRESH FACT f",
        ):
            session.execute(statement)
        added = session.execute("ALTER CUBE c ADD (n BIGINT MEASURE COUNT)").warnings
        assert added[-1] == "COUNT(*) of c means SUM(n) from now on"
        query = "SELECT SUM(ms), COUNT(*), SUM(n) FROM c WHERE t >= '2024-01-01' AND t < '2024-02-01'"
        assert rows(session, query) == [(12, 2, 2)]
        session.execute("ALTER CUBE c DROP (n)")
        session.execute("ALTER CUBE c ADD (n BIGINT MEASURE COUNT)")
        assert rows(session, query) == [(12, 2, 2)]


def test_add_says_what_count_means_from_now_on(session: Session) -> None:
    session.execute("ALTER TABLE h ADD COLUMNS (k BIGINT)")
    (_, warning) = session.execute("ALTER CUBE v ADD (k BIGINT MEASURE COUNT EVENTS)").warnings
    assert warning == "COUNT(*) of v means SUM(k) from now on"
    session.execute("ALTER CUBE v DROP k")
    (_, warning) = session.execute("ALTER CUBE v ADD (k BIGINT MEASURE COUNT)").warnings
    assert warning.startswith("COUNT(*) of v is refused from now on. Each of n and k may count")


def test_rollups_after_a_drop_are_those_of_the_declaration(session: Session) -> None:
    session.execute("ALTER CUBE v ADD (city STRING)")
    session.execute("ALTER FACT f ADD ROLLUP MONTHLY")
    session.execute("ALTER CUBE v DROP (city)")
    with pytest.raises(Error, match="f_monthly holds the same rollup: MONTHLY"):
        session.execute("ALTER FACT f ADD ROLLUP MONTHLY")
    for kind in ("FACT f", "CUBE v"):
        assert "city" not in str(rows(session, f"SHOW CREATE {kind}"))
    texts = [str(rows(session, f"SHOW CREATE {kind}")[0][0]) for kind in ("CUBE v", "FACT f")]
    for statement in ("DROP FACT f", "DROP CUBE v", *texts):
        session.execute(statement)
    assert rows(session, "REFRESH FACT f DRY RUN") == []
    session.execute("ALTER CUBE v ADD (city STRING)")
    session.execute("ALTER FACT f ADD ROLLUP MONTHLY (page), YEARLY")
    session.execute("ALTER FACT f DROP ROLLUP MONTHLY")
    session.execute("INSERT INTO h VALUES ('a', 5, 'rome', 77, '2024-01-01-04')")
    session.execute("REFRESH FACT f")
    query = f"SELECT city, SUM(n) FROM v WHERE {DAYS} GROUP BY city"
    assert sorted(map(str, rows(session, query))) == ["('rome', 5)", "(None, 3)"]


def test_the_column_that_names_the_time_is_none_of_a_cube(session: Session) -> None:
    with pytest.raises(Error, match="The table h lacks the column dt"):
        session.execute("ALTER CUBE v ADD (dt STRING)")


@pytest.mark.parametrize(
    ("measures", "change"),
    [
        ("k BIGINT MEASURE COUNT", "ADD (ms INT MEASURE SUM COUNTED BY k)"),
        ("n BIGINT MEASURE COUNT, k BIGINT MEASURE COUNT, ms INT MEASURE SUM COUNTED BY k", "DROP (ms)"),
    ],
)
def test_what_a_count_of_events_counts_does_not_change(tmp_path: Path, measures: str, change: str) -> None:
    with Session(tmp_path / "w", "duckdb") as session:
        for statement in (
            "CREATE TABLE b (ms INT, t TIMESTAMP) PARTITIONED BY (dt STRING)",
            f"CREATE CUBE c ({measures}, t TIMESTAMP TIME)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE b PERIOD HOURLY PARTITIONED BY t AS (dt) RAW) ROLLUPS (DAILY)",
            "INSERT INTO b MARK COMPLETE FROM '2024-01-01' TO '2024-01-03' VALUES "
            "(5, TIMESTAMP '2024-01-01 03:00:00', '2024-01-01-03'), "
            "(NULL, TIMESTAMP '2024-01-01 04:00:00', '2024-01-01-04')",
            "REFRESH FACT f",
        ):
            session.execute(statement)
        with pytest.raises(Error, match="k would count something else in the events of b") as caught:
            session.execute(f"ALTER CUBE c {change}")
        assert caught.value.condition == "INVALID_FACT"
        session.execute(
            "ALTER CUBE c ADD (ms2 BIGINT MEASURE COUNT)" if "ADD" in change else "ALTER CUBE c DROP (ms, k)"
        )


def test_a_rollup_keeps_a_measure(session: Session) -> None:
    session.execute("ALTER CUBE v ADD (ms BIGINT MEASURE SUM)")
    session.execute("ALTER CUBE v DROP (n)")
    with pytest.raises(Error, match="The table h has no other measure"):
        session.execute("ALTER CUBE v DROP (ms)")
