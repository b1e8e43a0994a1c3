"""Rollups whose measures are wider than those of the base, on every engine: a day's sums exceed the base's type."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError
from rewriter.session import Session

CUBE = (
    "CREATE CUBE c (k STRING, n INT MEASURE COUNT NOT NULL, i INT MEASURE SUM COUNTED BY n NOT NULL, "
    "d DECIMAL(18,2) MEASURE SUM COUNTED BY n NOT NULL, e DECIMAL(5,2) MEASURE SUM, least SMALLINT MEASURE MIN, "
    "most DECIMAL(5,2) MEASURE MAX, t TIMESTAMP TIME)"
)
NARROW = "k STRING, n INT, i INT, d DECIMAL(18,2), e DECIMAL(5,2), least SMALLINT, most DECIMAL(5,2)"
WIDE = "k STRING, n BIGINT, i BIGINT, d DECIMAL(28,2), e DECIMAL(38,2), least BIGINT, most DECIMAL(18,2)"
PLACES = (
    "STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
)
DAY = "t >= '2013-01-01' AND t < '2013-01-02'"
#: The first day, and an hour of the next: a rollup and a base partition.
MIXED = "t >= '2013-01-01' AND t < '2013-01-02 01:00'"
#: Rows of the base: name, i, d, e, least, most, hour.
ROWS = (
    ("a", 2147483647, "9999999999999999.99", "999.99", -32768, "1.10", "01-00"),
    ("a", 2147483647, "9999999999999999.99", "999.99", 5, "999.99", "01-01"),
    ("b", -2147483647, "-0.01", "-999.99", 7, "-999.99", "01-01"),
    ("b", 2147483647, "0.01", "0.01", 7, "2.00", "02-00"),
)
ITEMS = (
    "SUM(i)", "SUM(-i)", "SUM(CASE WHEN k = 'a' THEN i ELSE 0 END)", "AVG(i)", "SUM(d)", "-SUM(d)",
    "SUM(-d) FILTER (WHERE k = 'a')",
    "SUM(CASE WHEN k = 'a' THEN d END)", "SUM(IF(k = 'a', e, 0))", "SUM(CASE WHEN k = 'a' THEN e ELSE 0 END)", "SUM(e)",
    "AVG(d)", "COUNT(*)", "SUM(n)", "MIN(least)", "MAX(most)", "MAX(most) + MIN(least)",
)  # fmt: skip


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        opened.execute(CUBE)
        yield opened


def table(session: Session, name: str, columns: str) -> None:
    session.execute(f"CREATE TABLE {name} ({columns}) PARTITIONED BY (dt STRING)")


def fill_hours(session: Session) -> None:
    empty = " ".join(f"PARTITION (dt = '2013-01-01-{hour:02}')" for hour in range(2, 24))
    session.execute(f"ALTER TABLE hours ADD {empty}")
    rows = ", ".join(
        f"('{k}', 1, {i}, {d}, {e}, {least}, {most}, '2013-01-{dt}')" for k, i, d, e, least, most, dt in ROWS
    )
    session.execute(f"INSERT INTO hours VALUES {rows}")


def make(session: Session) -> None:
    session.execute(CUBE)
    table(session, "hours", NARROW)
    table(session, "days", WIDE)
    session.execute(f"CREATE FACT f OF CUBE c {PLACES}")
    fill_hours(session)
    assert {row[-2] for row in session.execute("REFRESH FACT f").fetch()} == {"refreshed"}


def test_results_and_their_types_are_those_over_the_base(session: Session) -> None:
    make(session)
    columns = NARROW + ", t TIMESTAMP"
    session.execute(f"CREATE TABLE plain ({columns})")
    session.execute("INSERT INTO plain SELECT k, n, i, d, e, least, most, to_timestamp(dt, 'yyyy-MM-dd-HH') FROM hours")
    for where, partitions in ((DAY, 1), (MIXED, 2)):
        for grouping in ("", " GROUP BY k ORDER BY k", " GROUP BY k HAVING SUM(d) > 0 ORDER BY SUM(d), MAX(most)"):
            tail = f" WHERE {where}{grouping}"
            served = session.execute(f"SELECT {', '.join(ITEMS)} FROM c{tail}")
            expected = session.execute(f"SELECT {', '.join(ITEMS)} FROM plain{tail}")
            assert served.stats.partitions == partitions
            assert served.columns == expected.columns
            assert served.fetch() == expected.fetch()
    query = "SELECT k, SUM(SUM(d)) OVER (), MAX(SUM(d)) OVER () FROM {} GROUP BY k ORDER BY k"
    served = session.execute(query.format(f"c WHERE {DAY}"))
    expected = session.execute(query.format(f"plain WHERE {DAY}"))
    assert (served.columns, served.fetch()) == (expected.columns, expected.fetch())
    assert session.execute("SELECT k, i, d, least FROM days ORDER BY k").fetch() == [
        ("a", 4294967294, Decimal("19999999999999999.98"), -32768),
        ("b", -2147483647, Decimal("-0.01"), 7),
    ]


def test_a_view_has_the_types_of_the_base(session: Session) -> None:
    make(session)
    query = f"SELECT SUM(d) AS d, MIN(least) AS least, SUM(i) AS i FROM c WHERE {DAY}"
    session.execute(f"CREATE TABLE copied AS {query}")
    types = {row[0]: row[1] for row in session.execute("DESCRIBE copied").fetch()}
    assert types == {"d": "decimal(28,2)", "least": "smallint", "i": "bigint"}
    joined = session.execute(
        "SELECT x.k, COUNT(*), SUM(c.d), SUM(c.n) FROM (SELECT 'a' AS k UNION ALL SELECT 'z') AS x "
        f"LEFT JOIN (SELECT * FROM c WHERE {MIXED}) AS c ON c.k = x.k GROUP BY x.k ORDER BY x.k"
    )
    assert joined.columns[2].type == "decimal(28,2)"
    assert joined.fetch() == [("a", 2, Decimal("19999999999999999.98"), 2), ("z", 1, None, None)]


def test_the_check_compares_the_wide_sums(session: Session) -> None:
    make(session)
    assert [row[-2] for row in session.execute("CHECK FACT f").fetch()] == ["agrees"]
    session.execute(
        "INSERT OVERWRITE days PARTITION (dt = '2013-01-01') SELECT k, SUM(n), SUM(i), SUM(d) + 0.01BD, SUM(e), "
        "MIN(least), 100000 FROM hours WHERE dt < '2013-01-02' GROUP BY k"
    )
    found = [(row[5], row[6], row[7]) for row in session.execute("CHECK FACT f").fetch() if row[-2] == "value differs"]
    assert ("d", "19999999999999999.98", "19999999999999999.99") in found
    assert ("most", "999.99", "100000.00") in found


@pytest.mark.parametrize(
    ("items", "proven"),
    [
        ("SUM(n), SUM(i), SUM(d), SUM(e), MIN(least), MAX(most)", True),
        (
            "SUM(CAST(n AS BIGINT)), SUM(CAST(i AS BIGINT)), SUM(CAST(d AS DECIMAL(28,2))), "
            "CAST(SUM(e) AS DECIMAL(20,2)), MIN(CAST(least AS INT)), CAST(MAX(most) AS DECIMAL(18,2))",
            True,
        ),
        ("SUM(n), SUM(i), SUM(CAST(d AS DECIMAL(28,0))), SUM(e), MIN(least), MAX(most)", False),
        ("SUM(n), SUM(i), CAST(SUM(d) AS DECIMAL(28,1)), SUM(e), MIN(least), MAX(most)", False),
        ("SUM(n), SUM(TRY_CAST(i AS BIGINT)), SUM(d), SUM(e), MIN(least), MAX(most)", False),
        ("SUM(n), TRY_CAST(SUM(i) AS BIGINT), SUM(d), SUM(e), MIN(least), MAX(most)", False),
        ("SUM(n), SUM(i), SUM(d), SUM(e), CAST(MIN(least) AS DECIMAL(10,0)), MAX(most)", False),
    ],
)
def test_a_cast_to_a_wider_type_is_proven(bare: Session, items: str, proven: bool) -> None:
    table(bare, "hours", NARROW)
    table(bare, "days", WIDE)
    bare.execute(f"CREATE FACT f OF CUBE c {PLACES}")
    fill_hours(bare)
    for source, where in (("hours", "dt LIKE '2013-01-01-%'"), ("c", DAY)):
        bare.execute("ALTER TABLE days DROP IF EXISTS PARTITION (dt = '2013-01-01')")
        bare.execute(
            f"INSERT INTO days PARTITION (dt = '2013-01-01') SELECT k, {items} FROM {source} WHERE {where} GROUP BY k"
        )
        assert bare.execute(f"SELECT SUM(i) FROM c WHERE {DAY}").stats.partitions == (1 if proven else 24)


def test_a_narrow_base_counts_as_the_cube(session: Session) -> None:
    """The base has short columns, the cube and the rollup long ones: rows have the types of the cube."""
    session.execute("CREATE CUBE c (k STRING, i BIGINT MEASURE SUM, d DECIMAL(20,2) MEASURE SUM, t TIMESTAMP TIME)")
    table(session, "hours", "k STRING, i SMALLINT, d DECIMAL(5,2)")
    table(session, "days", "k STRING, i BIGINT, d DECIMAL(38,2)")
    session.execute(f"CREATE FACT f OF CUBE c {PLACES}")
    hours = ", ".join(f"('a', 32767, 999.99, '2013-01-01-{hour:02}')" for hour in range(24))
    session.execute(f"INSERT INTO hours VALUES {hours}")
    session.execute("REFRESH FACT f")
    rows = session.execute(f"SELECT i + 1, d + 0.01BD AS d FROM c WHERE {DAY} LIMIT 1")
    assert [column.type for column in rows.columns] == ["bigint", "decimal(21,2)"]
    assert rows.fetch() == [(32768, Decimal("1000.00"))]
    sums = session.execute(f"SELECT SUM(i), SUM(d) FROM c WHERE {DAY}")
    assert sums.stats.partitions == 1
    assert [(column.name, column.type) for column in sums.columns] == [
        ("sum(i)", "bigint"),
        ("sum(d)", "decimal(30,2)"),
    ]
    assert sums.fetch() == [(786408, Decimal("23999.76"))]
    assert [row[-2] for row in session.execute("CHECK FACT f").fetch()] == ["agrees"]


def test_events_may_be_narrower(bare: Session) -> None:
    bare.execute("CREATE CUBE e (k STRING, n BIGINT MEASURE COUNT, i BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    bare.execute("CREATE TABLE log (k STRING, i INT, t TIMESTAMP) PARTITIONED BY (dt STRING)")
    table(bare, "days", "k STRING, n BIGINT, i BIGINT")
    bare.execute(
        "CREATE FACT g OF CUBE e STORED IN (TABLE log RAW PERIOD DAILY PARTITIONED BY t AS (dt), "
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
    )
    event = "2147483647, TIMESTAMP '2013-01-01 10:00:00', '2013-01-01'"
    bare.execute(f"INSERT INTO log VALUES ('a', {event}), ('a', {event})")
    bare.execute("REFRESH FACT g")
    result = bare.execute(f"SELECT SUM(i) FROM e WHERE {DAY}")
    assert result.fetch() == [(4294967294,)]
    lines = bare.execute(f"EXPLAIN COVER SELECT SUM(i) FROM e WHERE {DAY}").fetch()
    assert any("days DAILY" in line for (line,) in lines)


def refused(session: Session, statement: str, *words: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        session.execute(statement)
    assert caught.value.condition == "INVALID_FACT"
    assert caught.value.position is not None
    assert all(word in f"{caught.value.message} {caught.value.hint}" for word in words), caught.value


def test_a_narrower_rollup_is_refused(bare: Session) -> None:
    table(bare, "hours", NARROW)
    for column, narrow in (
        ("i INT", "i SMALLINT"),
        ("d DECIMAL(18,2)", "d DECIMAL(17,2)"),
        ("least SMALLINT", "least TINYINT"),
    ):
        table(bare, "days", NARROW.replace(column, narrow))
        refused(bare, f"CREATE FACT f OF CUBE c {PLACES}", "DAILY rollups", "only base tables may hold a narrower one")
        bare.execute("DROP TABLE days")


def test_other_types_are_refused(bare: Session) -> None:
    table(bare, "hours", NARROW)
    for column, other in (
        ("i INT", "i DOUBLE"), ("i INT", "i DECIMAL(20,0)"), ("d DECIMAL(18,2)", "d DECIMAL(28,3)"),
        ("d DECIMAL(18,2)", "d DOUBLE"), ("k STRING", "k BIGINT"),
    ):  # fmt: skip
        table(bare, "days", NARROW.replace(column, other))
        refused(bare, f"CREATE FACT f OF CUBE c {PLACES}", "Declare both with the same type")
        bare.execute("DROP TABLE days")


def test_a_wider_base_is_refused(bare: Session) -> None:
    table(bare, "hours", NARROW.replace("i INT", "i BIGINT"))
    of = "STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt))"
    refused(bare, f"CREATE FACT f OF CUBE c {of}", "i is BIGINT in hours", "Declare i BIGINT in c")
    both = of.replace("PERIOD HOURLY", "PERIODS (HOURLY, DAILY)")
    refused(bare, f"CREATE FACT f OF CUBE c {both}", "i is BIGINT in hours", "Declare i BIGINT in c")


def test_a_coarser_fact_may_be_wider(bare: Session) -> None:
    table(bare, "hours", NARROW)
    table(bare, "days", WIDE)
    bare.execute("CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt))")
    bare.execute("CREATE FACT g OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))")
    fill_hours(bare)
    bare.execute(
        "INSERT INTO days SELECT k, n, CAST(3000000000 AS BIGINT), d, e, least, most, '2013-01-01' FROM hours LIMIT 1"
    )
    result = bare.execute(f"SELECT SUM(i), MIN(least) FROM c WHERE {MIXED}")
    assert (result.stats.partitions, result.fetch()) == (2, [(5147483647, -32768)])
    assert [column.type for column in result.columns] == ["bigint", "smallint"]
