"""Statements that people type first, on every engine: TABLE t, TRUNCATE t, reserved names, aliases, VALUES in views."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError
from rewriter.session import Session

#: Words of the grammar that a table may be called, in backquotes.
RESERVED = ("select", "table", "values", "order", "join", "range", "with")


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


def numbers(session: Session) -> None:
    session.execute("CREATE TABLE t (k STRING, v INT)")
    session.execute("INSERT INTO t VALUES ('a', 1), ('a', 2), ('b', 5)")


def test_views_over_values_keep_the_names(session: Session) -> None:
    rows = [(1, "x"), (2, "y")]
    for number, query in enumerate(
        (
            "VALUES (1, 'x'), (2, 'y') AS t(a, b)",
            "SELECT * FROM VALUES (1, 'x'), (2, 'y') AS t(a, b)",
            "SELECT * FROM (VALUES (1, 'x'), (2, 'y') AS t(a, b))",
            "VALUES (2, 'y'), (1, 'x'), (3, 'z') AS t(a, b) ORDER BY a LIMIT 2",
        )
    ):
        session.execute(f"CREATE VIEW v{number} AS {query}")
        session.execute(f"CREATE TEMPORARY VIEW w{number} AS {query}")
        for view in (f"v{number}", f"w{number} AS w"):
            result = session.execute(f"SELECT * FROM {view} ORDER BY a")
            assert [column.name for column in result.columns] == ["a", "b"]
            assert result.fetch() == rows
    joined = session.execute("SELECT v0.b, x.b FROM v0 JOIN v1 x ON v0.a = x.a WHERE x.a = 2")
    assert joined.fetch() == [("y", "y")]
    session.execute("CREATE VIEW renamed (c, d) AS VALUES (1, 'x') AS t(a, b)")
    assert session.execute("SELECT d, c FROM renamed").fetch() == [("x", 1)]


def test_table_is_a_query(session: Session) -> None:
    numbers(session)
    session.execute("CREATE TABLE u LIKE t")
    session.execute("INSERT INTO u TABLE t")
    session.execute("INSERT OVERWRITE TABLE u TABLE t")
    session.execute("CREATE TABLE copied AS TABLE u")
    session.execute("CREATE VIEW v AS TABLE t")
    assert sorted(session.execute("TABLE copied").fetch()) == [("a", 1), ("a", 2), ("b", 5)]
    for query, expected in (
        ("TABLE t ORDER BY v DESC LIMIT 1", [("b", 5)]),
        ("SELECT COUNT(*) FROM (TABLE t UNION ALL TABLE u) x", [(6,)]),
        ("WITH w AS (TABLE t) SELECT SUM(v) FROM w", [(8,)]),
        ("WITH w AS (SELECT MAX(v) AS m FROM t) TABLE w", [(5,)]),
        ("SELECT COUNT(*) FROM t WHERE v IN (SELECT v FROM u) AND EXISTS (TABLE v)", [(3,)]),
        ("SELECT COUNT(*) FROM v", [(3,)]),
    ):
        assert session.execute(query).fetch() == expected, query


def test_table_of_a_cube_is_its_rows(bare: Session) -> None:
    make_cube(bare)
    assert len(bare.execute("TABLE c").fetch()) == 24
    with pytest.raises(AnalysisError) as caught:
        bare.execute("SELECT 1 UNION ALL TABLE nowhere")
    assert caught.value.position is not None
    assert caught.value.position.start == len("SELECT 1 UNION ALL TABLE ")


def test_truncate_needs_no_table(bare: Session) -> None:
    numbers(bare)
    bare.execute("TRUNCATE t")
    assert bare.execute("SELECT COUNT(*) FROM t").fetch() == [(0,)]
    bare.execute("CREATE TABLE `table` (v INT) PARTITIONED BY (p INT)")
    bare.execute("INSERT INTO `table` VALUES (1, 1), (2, 2)")
    bare.execute("TRUNCATE `table` PARTITION (p = 1)")
    assert bare.execute("SELECT v FROM `table`").fetch() == [(2,)]


def test_reserved_words_name_tables_and_columns(session: Session) -> None:
    for word in RESERVED:
        session.execute(f"CREATE TABLE `{word}` (a INT, `from` STRING) PARTITIONED BY (`where` STRING)")
        session.execute(f"INSERT INTO `{word}` PARTITION (`where` = 'x') VALUES (1, 'y')")
        session.execute(f"INSERT INTO `{word}` SELECT a + 1, `from`, 'z' FROM `{word}`")
        session.execute(f"ALTER TABLE `{word}` ADD PARTITION (`where` = 'q')")
        assert session.execute(f"SHOW PARTITIONS `{word}`").fetch() == [("where=q",), ("where=x",), ("where=z",)]
        session.execute(f"ALTER TABLE `{word}` DROP PARTITION (`where` = 'q')")
        assert session.execute(f"SELECT * FROM `{word}` ORDER BY a").fetch() == [(1, "y", "x"), (2, "y", "z")]
        joined = f"`{word}` JOIN default.`{word}` AS s ON s.a = `{word}`.a"
        query = f"SELECT `{word}`.a, s.`from` FROM {joined} WHERE s.`where` = 'x'"
        assert session.execute(query).fetch() == [(1, "y")]
        session.execute(f"TRUNCATE TABLE `{word}`")
        assert session.execute(f"SELECT COUNT(*) FROM `{word}`").fetch() == [(0,)]


def make_cube(session: Session, name: str = "c") -> None:
    session.execute(
        f"CREATE CUBE `{name}` (k STRING, n BIGINT MEASURE COUNT, v DECIMAL(10,2) MEASURE SUM, t TIMESTAMP TIME)"
    )
    session.execute("CREATE TABLE hours (k STRING, n BIGINT, v DECIMAL(10,2)) PARTITIONED BY (dt STRING)")
    session.execute("CREATE TABLE days (k STRING, n BIGINT, v DECIMAL(20,2)) PARTITIONED BY (dt STRING)")
    session.execute(
        f"CREATE FACT f OF CUBE `{name}` STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
    )
    rows = ", ".join(f"('{'ab'[hour % 2]}', 1, {hour}, '2013-01-01-{hour:02}')" for hour in range(24))
    session.execute(f"INSERT INTO hours VALUES {rows}")
    session.execute("REFRESH FACT f")


def test_aliases_over_aggregates_of_a_cube(session: Session) -> None:
    make_cube(session, "select")
    day = "WHERE t >= '2013-01-01' AND t < '2013-01-02'"
    items = "k, COUNT(*) AS c, SUM(v) AS s, s * 2, CAST(s AS DOUBLE) / c AS mean, mean + 1 AS more"
    result = session.execute(f"SELECT {items} FROM `select` {day} GROUP BY k ORDER BY k")
    plain = session.execute(f"SELECT {items} FROM hours GROUP BY k ORDER BY k")
    assert (result.columns, result.fetch()) == (plain.columns, plain.fetch())
    assert result.stats.partitions == 1
    windowed = session.execute(
        f"SELECT k, SUM(SUM(v)) OVER () AS total, total - 1 AS rest FROM `select` {day} GROUP BY k ORDER BY k"
    )
    assert [row[1] - row[2] for row in windowed.fetch()] == [1, 1]


def test_a_correlation_reaches_through_from(session: Session) -> None:
    make_cube(session)
    numbers(session)
    day = "t >= '2013-01-01' AND t < '2013-01-02'"
    query = (
        "SELECT x.k, (SELECT MAX(z.v) FROM (SELECT v FROM t AS y WHERE y.k = x.k) z) AS most FROM t AS x ORDER BY x.v"
    )
    assert session.execute(query).fetch() == [("a", 2), ("a", 2), ("b", 5)]
    counted = (
        f"SELECT x.k, (SELECT MAX(z.s) FROM (SELECT SUM(v) AS s FROM c WHERE {day} AND c.k = x.k) z) AS s FROM t AS x"
    )
    assert {(k, int(s)) for k, s in session.execute(counted).fetch()} == {("a", 132), ("b", 144)}


def test_the_clock_in_seconds_is_the_statements(session: Session) -> None:
    make_cube(session)
    session.execute("SET rewriter.now = '2013-01-02'")
    result = session.execute(
        "SELECT unix_timestamp(), MAX(unix_timestamp()) - 1 AS before FROM c "
        "WHERE t >= current_timestamp() - INTERVAL 1 DAY GROUP BY unix_timestamp()"
    )
    assert result.columns[0].name == "unix_timestamp(current_timestamp(), yyyy-MM-dd HH:mm:ss)"
    assert result.fetch() == [(1357084800, 1357084799)]
