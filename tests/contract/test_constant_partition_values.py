"""Constant expressions and parameters where a partition value stands, and texts that are no values, on both engines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.exec.engine import Engine
from rewriter.session import Session

NOW = "2024-03-31T22:30"
TODAY = dt.date(2024, 3, 31)
DAYS = [TODAY + dt.timedelta(days=number) for number in range(-5, 3)]
#: The columns of the tables, with the pattern of their values.
PATTERNS = {"dashed": "%Y-%m-%d", "digits": "%Y%m%d", "months": "%Y-%m", "hours": "%Y-%m-%d-%H", "days": None}


@pytest.fixture
def session(engine: Engine, tmp_path: Path) -> Iterator[Session]:
    yield from opened_session(engine, tmp_path)


@pytest.fixture
def duckdb_session(duckdb: Engine, tmp_path: Path) -> Iterator[Session]:
    yield from opened_session(duckdb, tmp_path)


def opened_session(engine: Engine, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine, settings={"rewriter.now": NOW}) as opened:
        for table, pattern in PATTERNS.items():
            opened.execute(f"CREATE TABLE {table} (x INT) PARTITIONED BY (d {'STRING' if pattern else 'DATE'})")
            names = dict.fromkeys(day.strftime(pattern or "%Y-%m-%d") for day in DAYS)
            opened.execute(f"ALTER TABLE {table} ADD " + " ".join(f"PARTITION (d = '{name}')" for name in names))
        yield opened


ROWS = "(VALUES " + ", ".join(f"(DATE '{day}')" for day in DAYS) + ") AS rows(d)"


def values(session: Session, table: str, rest: str = "", parameters: object = None) -> list[str]:
    rows = session.execute(f"SHOW PARTITIONS {table} {rest}", parameters).fetch()  # type: ignore[arg-type]
    return [str(name).removeprefix("d=") for (name,) in rows]


def days(first: int, last: int, pattern: str = "%Y-%m-%d") -> list[str]:
    """Returns the names of the days of ``DAYS`` from ``first`` to ``last`` days after today."""
    return [day.strftime(pattern) for day in DAYS if first <= (day - TODAY).days <= last]


#: Conditions on ``days`` and ``dashed``, and the partitions from and to which day they keep.
CONDITIONS = {
    "d < CURRENT_DATE": (-5, -1),
    "CURRENT_DATE > d": (-5, -1),
    "d >= current_date()": (0, 2),
    "d < current_date() - INTERVAL 3 DAYS": (-5, -4),
    "d <= date_sub(current_date, 3)": (-5, -3),
    "d > date_add(current_date(), -2)": (-1, 2),
    "d = curdate()": (0, 0),
    "d IN (current_date - 1, CURRENT_DATE)": (-1, 0),
    "d BETWEEN current_date - INTERVAL '2' DAY AND CURRENT_DATE": (-2, 0),
    "d < CAST(now() AS DATE)": (-5, -1),
    "d >= CAST(date_trunc('MONTH', current_date) AS DATE) AND d < trunc(add_months(current_date, 1), 'MM')": (-5, 0),
    "d > last_day(current_date)": (1, 2),
    "d >= to_date('20240330', 'yyyyMMdd')": (-1, 2),
    "d < '2024-' || '04' || '-01'": (-5, 0),
    "d < date_format(current_date, 'yyyy-MM-dd')": (-5, -1),
    "NOT (d >= CURRENT_DATE OR d < CURRENT_DATE - 1)": (-1, -1),
    "d < CASE WHEN 1 = 2 THEN DATE '2020-01-01' ELSE current_date END": (-5, -1),
}


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_with_a_constant_expression_keeps_the_rows_of_a_query(session: Session, condition: str) -> None:
    expected = days(*CONDITIONS[condition])
    for table in ("days", "dashed"):
        assert values(session, table, f"WHERE {condition}") == expected
    rows = session.execute(f"SELECT CAST(d AS STRING) FROM {ROWS} WHERE {condition} ORDER BY 1").fetch()
    assert [day for (day,) in rows] == expected


@pytest.mark.share(2, "spark")
@pytest.mark.parametrize("table", ["days", "dashed"])
def test_old_partitions_are_dropped_by_the_current_date(session: Session, table: str) -> None:
    session.execute(f"ALTER TABLE {table} DROP PARTITION (d < current_date() - INTERVAL 3 DAYS)")
    assert values(session, table) == days(-3, 2)
    session.execute(f"ALTER TABLE {table} DROP PARTITION (d = ?), PARTITION (d > ?)", [TODAY, TODAY])
    assert values(session, table) == days(-3, -1)
    session.execute(f"ALTER TABLE {table} DROP PARTITION (d IN (:days))", {"days": [TODAY - dt.timedelta(days=1)]})
    assert values(session, table) == days(-3, -2)


def test_texts_of_the_form_of_the_column_drop_its_partitions(session: Session) -> None:
    session.execute("ALTER TABLE digits DROP PARTITION (d < date_format(current_date - INTERVAL 3 DAYS, 'yyyyMMdd'))")
    assert values(session, "digits") == days(-3, 2, "%Y%m%d")
    session.execute("ALTER TABLE months DROP PARTITION (d < substr(add_months(current_date, 1), 1, 7))")
    assert values(session, "months") == ["2024-04"]
    session.execute("ALTER TABLE hours DROP PARTITION (d < date_format(now(), 'yyyy-MM-dd-HH'))")
    assert values(session, "hours") == days(1, 2, "%Y-%m-%d-00")


#: Conditions that compare a text column with what is never one of its values, by table.
REFUSED = [
    ("dashed", "d < 'CURRENT_DATE'"),
    ("dashed", "d <> 'CURRENT_DATE'"),
    ("dashed", "d NOT IN ('CURRENT_DATE')"),
    ("dashed", "NOT d = 'today'"),
    ("dashed", "d NOT BETWEEN 'a' AND 'b'"),
    ("dashed", "d NOT LIKE '202403%'"),
    ("dashed", "d < '20240331'"),
    ("dashed", "d < '31.03.2024'"),
    ("dashed", "d < '2024-3-31'"),
    ("dashed", "d < '2024-03-31 00:00:00'"),
    ("dashed", "d < 20240331"),
    ("dashed", "d < now()"),
    ("dashed", "d < date_format(current_date, 'yyyyMMdd')"),
    ("digits", "d < '2024-03-31'"),
    ("digits", "d < CURRENT_DATE"),
    ("digits", "d < DATE '2024-03-31'"),
    ("digits", "d >= DATE '2024-03-31'"),
    ("digits", "d > 5"),
    ("months", "d < CURRENT_DATE"),
    ("hours", "d < CURRENT_DATE"),
]


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize(("table", "condition"), REFUSED)
def test_what_is_never_a_value_is_not_compared(session: Session, table: str, condition: str) -> None:
    before = values(session, table)
    sql = f"ALTER TABLE {table} DROP IF EXISTS PARTITION ({condition})"
    for statement in (sql, f"SHOW PARTITIONS {table} WHERE {condition}", f"EXPLAIN SCAN {sql}"):
        with pytest.raises(Error) as caught:
            session.execute(statement)
        assert caught.value.condition == "INCOMPARABLE_PARTITION_VALUE"
        assert caught.value.position is not None
        assert caught.value.hint is not None
        assert "quote" not in caught.value.hint.lower()
    assert values(session, table) == before


@pytest.mark.parametrize(
    ("table", "condition", "count"),
    [
        ("dashed", "d < '2024'", 0), ("dashed", "d < '2024-04'", 6), ("dashed", "d > '2'", 8),
        ("dashed", "d <= '2024-03-31'", 6), ("digits", "d < '202404'", 6), ("hours", "d < '2024-03-31'", 5),
        ("dashed", "d = 'CURRENT_DATE'", 0), ("dashed", "d LIKE 'CURRENT%'", 0),
        ("dashed", "d NOT LIKE '2024-03-3%'", 6),
    ],
)  # fmt: skip
def test_the_beginning_of_a_value_is_in_the_order_of_time(
    duckdb_session: Session, table: str, condition: str, count: int
) -> None:
    assert len(values(duckdb_session, table, f"WHERE {condition}")) == count


def test_free_texts_have_no_form(duckdb_session: Session) -> None:
    duckdb_session.execute("CREATE TABLE free (x INT) PARTITIONED BY (d STRING)")
    duckdb_session.execute("ALTER TABLE free ADD PARTITION (d = 'US') PARTITION (d = '8f2a') PARTITION (d = '1234')")
    assert values(duckdb_session, "free", "WHERE d < '9e'") == ["1234", "8f2a"]
    duckdb_session.execute("ALTER TABLE free ADD PARTITION (d = '2024-01-31')")
    with pytest.raises(Error, match="have the form of '2024-01-31'"):
        duckdb_session.execute("ALTER TABLE free DROP PARTITION (d < 'CURRENT_DATE')")
    with pytest.raises(Error, match="not all of its values are dates"):
        duckdb_session.execute("ALTER TABLE free DROP PARTITION (d < CURRENT_DATE)")


@pytest.mark.share(2, "spark")
def test_partition_specs_take_constants_and_parameters(session: Session) -> None:
    session.execute("INSERT INTO dashed PARTITION (d = CURRENT_DATE) VALUES (1)")
    session.execute("INSERT INTO days PARTITION (d = date_add(current_date, 7)) SELECT CAST(? AS INT)", [5])
    session.execute("INSERT OVERWRITE digits PARTITION (d = :day) VALUES (:x)", {"day": "20240401", "x": 7})
    assert session.execute("SELECT x, d FROM dashed").fetch() == [(1, "2024-03-31")]
    assert session.execute("SELECT x, d FROM days").fetch() == [(5, dt.date(2024, 4, 7))]
    assert session.execute("SELECT x, d FROM digits").fetch() == [(7, "20240401")]
    session.execute("ALTER TABLE days ADD PARTITION (d = current_date + INTERVAL 1 MONTH)")
    session.execute(
        "ALTER TABLE days PARTITION (d = '2024-04-30') RENAME TO PARTITION (d = last_day(DATE '2024-05-01'))"
    )
    assert values(session, "days", "PARTITION (d = make_date(2024, 5, 31))") == ["2024-05-31"]
    session.execute("ANALYZE TABLE days PARTITION (d = current_date + 7) COMPUTE STATISTICS")
    session.execute("TRUNCATE TABLE dashed PARTITION (d = current_date())")
    assert session.execute("SELECT * FROM dashed").fetch() == []
    session.execute("ALTER TABLE days PARTITION (d = current_date + 7) COMPACT")
    assert session.execute("DESCRIBE days PARTITION (d = current_date)").fetch()


@pytest.mark.parametrize("table", ["digits", "hours"])
def test_a_date_does_not_name_a_partition_of_another_form(duckdb_session: Session, table: str) -> None:
    for statement in (
        f"INSERT INTO {table} PARTITION (d = CURRENT_DATE) VALUES (1)",
        f"INSERT INTO {table} PARTITION (d = now()) VALUES (1)",
        f"ALTER TABLE {table} ADD PARTITION (d = DATE '2024-03-31')",
        f"ALTER TABLE {table} PARTITION (d = '20240331') RENAME TO PARTITION (d = current_date)",
    ):
        with pytest.raises(Error) as caught:
            duckdb_session.execute(statement)
        assert caught.value.condition == "INCOMPARABLE_PARTITION_VALUE"


@pytest.mark.parametrize(
    ("expression", "condition", "message"),
    [
        ("x + 1", "NOT_A_CONSTANT", "`x` cannot be resolved"),
        ("yesterday()", "NOT_A_CONSTANT", "no function yesterday"),
        ("CAST(NULL AS STRING)", "NOT_A_CONSTANT", "it is NULL"),
        ("array(current_date)", "NOT_A_CONSTANT", "of the type ARRAY<DATE>"),
        ("(current_date 5)", "NOT_A_CONSTANT", "no expression"),
        ("date_add(DATE '9999-12-31', 5)", "NOT_A_CONSTANT", "years 1 to 9999"),
        ("rand()", "UNSUPPORTED", "not in the list of expressions"),
        ("CAST('2024-02-30' AS DATE)", "CAST_INVALID_INPUT", "2024-02-30"),
    ],
)
def test_an_expression_without_a_certain_value_is_refused_at_its_place(
    duckdb_session: Session, expression: str, condition: str, message: str
) -> None:
    statement = f"ALTER TABLE days DROP PARTITION (d < {expression})"
    with pytest.raises(Error, match="") as caught:
        duckdb_session.execute(statement)
    assert caught.value.condition == condition
    assert message in caught.value.message
    assert caught.value.position is not None
    assert statement[caught.value.position.start : caught.value.position.end] == expression


def test_a_fact_decides_the_form_of_its_tables(duckdb_session: Session) -> None:
    for statement in (
        "CREATE TABLE h (n BIGINT) PARTITIONED BY (ymd STRING, hr STRING)",
        "CREATE CUBE c (n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
        "CREATE FACT f OF CUBE c STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (ymd = 'yyyyMMdd', hr = 'HH'))",
    ):
        duckdb_session.execute(statement)
    for condition in ("ymd < CURRENT_DATE", "ymd < '2024-03-31'", "hr < '5'", "hr < 5", "hr <> 'x'"):
        with pytest.raises(Error) as caught:
            duckdb_session.execute(f"ALTER TABLE h DROP IF EXISTS PARTITION ({condition})")
        assert caught.value.condition == "INCOMPARABLE_PARTITION_VALUE"
    duckdb_session.execute("ALTER TABLE h DROP IF EXISTS PARTITION (ymd < '2024', hr < '05')")


def test_the_current_date_of_a_fact_with_a_zone_is_the_zones(duckdb_session: Session) -> None:
    for statement in (
        "CREATE TABLE tokyo (n BIGINT) PARTITIONED BY (d STRING)",
        "CREATE CUBE c (n BIGINT MEASURE COUNT, t TIMESTAMP TIME) TIME ZONE 'Asia/Tokyo'",
        "CREATE FACT f OF CUBE c STORED IN (TABLE tokyo PERIOD DAILY PARTITIONED BY t AS (d))",
        "INSERT INTO tokyo PARTITION (d = CURRENT_DATE) VALUES (1)",
    ):
        duckdb_session.execute(statement)
    assert values(duckdb_session, "tokyo") == ["2024-04-01"]
    parameters = {"t": dt.datetime(2024, 3, 31, tzinfo=dt.UTC)}
    for expression in ("CAST(now() AS DATE)", "date_format(now(), 'yyyy-MM-dd')", "date_format(:t, 'yyyy-MM-dd')"):
        with pytest.raises(Error) as caught:
            duckdb_session.execute(f"ALTER TABLE tokyo DROP IF EXISTS PARTITION (d < {expression})", parameters)
        assert caught.value.condition == "ZONED_TIME"
    missing = duckdb_session.execute("SHOW COVERAGE OF f FROM CURRENT_DATE TO current_date + 1").fetch()
    assert missing == duckdb_session.execute("SHOW COVERAGE OF f FROM '2024-04-01' TO '2024-04-02'").fetch()


def test_the_catalogs_filters_have_no_constant_expressions(duckdb_session: Session) -> None:
    snapshot = duckdb_session.snapshot()
    with pytest.raises(Error) as caught:
        snapshot.get_partitions_by_filter(snapshot.table("days"), "d < current_date")
    assert caught.value.hint is not None
    assert "must be a literal" in caught.value.hint
