"""Subqueries in conditions on partition columns, and joins with a filtered table, choose the partitions to read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

import rewriter
from rewriter.dbapi import Connection
from rewriter.errors import DataError, Error, NotSupportedError

_DAYS = 40
_FIRST = date(2024, 1, 1)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with rewriter.connect(tmp_path_factory.mktemp("subqueries") / "w", engine="duckdb") as opened:
        for statement in (
            "CREATE TABLE t (k BIGINT, v BIGINT) PARTITIONED BY (dt STRING, n INT)",
            "CREATE TABLE d (k BIGINT) PARTITIONED BY (day DATE)",
            f"INSERT INTO t SELECT id % 7, id, CAST(date_add(DATE '2024-01-01', CAST(id % {_DAYS} AS INT)) AS STRING), "
            f"CAST(id % {_DAYS} AS INT) FROM range(400)",
            "INSERT INTO d SELECT k, to_date(dt) FROM t",
            "CREATE TABLE plain AS SELECT * FROM t",
            "CREATE TABLE dim (dt STRING, day DATE, n INT, name STRING)",
            "INSERT INTO dim SELECT CAST(date_add(DATE '2024-01-01', CAST(id AS INT)) AS STRING), "
            "date_add(DATE '2024-01-01', CAST(id AS INT)), CAST(id AS INT), concat('x', id % 9) FROM range(0, 60, 3)",
            "CREATE TABLE holed (dt STRING, n INT)",
            "INSERT INTO holed VALUES ('2024-01-03', 2), (NULL, NULL)",
            "CREATE VIEW newest AS SELECT SUM(v) AS s FROM t WHERE dt = (SELECT max(dt) FROM t)",
        ):
            opened.execute(statement)
        yield opened


def _read(connection: Connection, query: str) -> tuple[list[tuple[object, ...]], int]:
    """Returns the rows of a query, and the number of partitions that it read."""
    cursor = connection.execute(query)
    rows = cursor.fetchall()
    assert cursor.stats is not None
    return rows, cursor.stats.partitions


@pytest.mark.parametrize(
    ("condition", "partitions"),
    [
        ("dt = (SELECT max(dt) FROM t)", 1),
        ("dt = ( SELECT max(dt) FROM t WHERE dt < '2024-01-20' )", 1),
        ("(SELECT max(dt) FROM t)=dt", 1),
        ("dt >= (SELECT max(dt) FROM t) AND n = (SELECT max(n) FROM t)", 1),
        ("n BETWEEN (SELECT min(n) FROM dim) AND 3", 4),
        ("dt IN (SELECT dt FROM dim WHERE name = 'x0')", 5),
        ("dt IN (SELECT dt FROM dim WHERE name = 'x0') OR n = 1", 6),
        ("dt NOT IN (SELECT dt FROM dim)", _DAYS - 14),
        ("NOT n > (SELECT count(*) FROM dim)", 21),
        ("substring(dt, 1, 7) = (SELECT max(substring(dt, 1, 7)) FROM t)", 9),
        ("dt IN (SELECT dt FROM dim WHERE n IN (SELECT max(n) FROM dim WHERE n < 30))", 1),
    ],
)
def test_a_subquery_chooses_the_partitions(connection: Connection, condition: str, partitions: int) -> None:
    query = "SELECT COUNT(*), SUM(v) FROM {} WHERE {}"
    rows, read = _read(connection, query.format("t", condition))
    assert rows == connection.execute(query.format("plain", condition)).fetchall()
    assert read == partitions


@pytest.mark.parametrize(
    ("rest", "partitions"),
    [
        ("JOIN dim ON {0}.dt = dim.dt WHERE dim.name = 'x0'", 5),
        ("JOIN dim x ON x.dt = {0}.dt AND x.name = 'x0' AND x.n < 10", 2),
        (", dim WHERE {0}.n = dim.n AND dim.name = 'x0' AND dim.n > 20", 2),
        ("LEFT JOIN dim ON {0}.dt = dim.dt WHERE dim.name = 'x0'", _DAYS),
        ("RIGHT JOIN dim ON {0}.dt = dim.dt AND dim.name = 'x0'", 5),
        ("LEFT JOIN dim ON {0}.dt = dim.dt AND dim.name = 'x0'", _DAYS),
        ("FULL JOIN dim ON {0}.dt = dim.dt AND dim.name = 'x0'", _DAYS),
        ("LEFT SEMI JOIN dim ON {0}.dt = dim.dt AND dim.name = 'x0'", 5),
        ("LEFT ANTI JOIN dim ON {0}.dt = dim.dt AND dim.name = 'x0'", _DAYS),
        ("JOIN dim ON {0}.dt = dim.dt", _DAYS),
        ("JOIN dim ON {0}.dt = dim.dt WHERE dim.name = 'x0' OR {0}.k = 1", _DAYS),
        # Where a row was not read, another table's row is without a match, and NULL passes the condition.
        ("JOIN dim ON {0}.dt = dim.dt RIGHT JOIN plain p ON p.v = {0}.v WHERE coalesce(dim.n, 3) = 3", _DAYS),
        ("JOIN dim ON {0}.dt = dim.dt FULL JOIN plain p ON p.v = {0}.v WHERE coalesce(dim.name, 'x0') = 'x0'", _DAYS),
        ("JOIN dim ON {0}.dt = dim.dt RIGHT JOIN plain p ON p.v = {0}.v JOIN holed h ON coalesce(dim.n, 3) = 3", _DAYS),
        ("JOIN dim ON {0}.dt = dim.dt AND dim.name = 'x0' RIGHT JOIN plain p ON p.v = {0}.v WHERE dim.n IS NULL", 5),
        ("RIGHT JOIN dim ON {0}.dt = dim.dt WHERE dim.name = 'x0'", 5),
    ],
)
def test_a_join_with_a_filtered_table_chooses_the_partitions(
    connection: Connection, rest: str, partitions: int
) -> None:
    query = "SELECT COUNT(*), SUM({0}.v) FROM {0} " + rest if "SEMI" not in rest and "ANTI" not in rest else (
        "SELECT COUNT(*), SUM(v) FROM {0} " + rest
    )  # fmt: skip
    rows, read = _read(connection, query.format("t"))
    assert rows == connection.execute(query.format("plain")).fetchall()
    assert read == partitions


def test_dates(connection: Connection) -> None:
    assert _read(connection, "SELECT COUNT(k) FROM d WHERE day = (SELECT max(day) FROM d)") == ([(10,)], 1)
    query = "SELECT COUNT(*) FROM d JOIN dim ON d.day = dim.day WHERE dim.name = 'x0'"
    assert _read(connection, query) == ([(50,)], 5)


@pytest.mark.parametrize(
    "query",
    [
        # A name means the CTE, not the table.
        "WITH dim AS (SELECT '2024-01-02' AS dt) SELECT COUNT(*) FROM {} WHERE dt IN (SELECT dt FROM dim)",
        "WITH dim AS (SELECT '2024-01-02' AS dt, 'x0' AS name) SELECT COUNT(*) FROM {0} JOIN dim ON {0}.dt = dim.dt "
        "WHERE dim.name = 'x0'",
        # Correlated.
        "SELECT COUNT(*) FROM {0} WHERE dt = (SELECT max(dim.dt) FROM dim WHERE dim.n = {0}.n)",
        "SELECT COUNT(*) FROM {0} WHERE dt IN (SELECT dim.dt FROM dim WHERE dim.n = k + 1)",
        # NULL among the values, no value.
        "SELECT COUNT(*) FROM {} WHERE dt NOT IN (SELECT dt FROM holed)",
        "SELECT COUNT(*) FROM {} WHERE dt IN (SELECT dt FROM holed)",
        "SELECT COUNT(*) FROM {} WHERE dt NOT IN (SELECT dt FROM dim WHERE name = 'none')",
        "SELECT COUNT(*) FROM {} WHERE dt = (SELECT max(dt) FROM dim WHERE name = 'none')",
        # Not read here.
        "SELECT COUNT(*) FROM {} WHERE dt IN (SELECT dt FROM dim ORDER BY dt LIMIT 2)",
        "SELECT COUNT(*) FROM {0} WHERE EXISTS (SELECT 1 FROM dim WHERE dim.dt = {0}.dt)",
        "SELECT COUNT(*) FROM {} WHERE k = (SELECT max(k) FROM dim, plain)",
        "SELECT (SELECT max(dt) FROM dim), COUNT(*) FROM {} WHERE dt <= (SELECT max(dt) FROM dim)",
        "SELECT COUNT(*) FROM {} WHERE n = (SELECT avg(n) FROM dim WHERE n < 7)",
        "SELECT COUNT(*), '(SELECT max(dt) FROM t)' FROM {} WHERE dt = (SELECT max(dt) FROM t)",
    ],
)
def test_other_subqueries_return_the_same_rows(connection: Connection, query: str) -> None:
    assert connection.execute(query.format("t")).fetchall() == connection.execute(query.format("plain")).fetchall()


@pytest.mark.parametrize(
    ("condition", "partitions"),
    [
        # A list beside a value in one condition; one subquery inside another one, too.
        ("CASE WHEN dt IN (SELECT dt FROM dim WHERE n = 3) THEN true ELSE dt = (SELECT max(dt) FROM t) END", 2),
        (
            "n <= (SELECT max(n) FROM t WHERE n < 10) AND n > (SELECT min(n) FROM t) "
            "AND n <= (SELECT max(n) FROM t WHERE n > (SELECT min(n) FROM t))",
            9,
        ),
    ],
)
def test_several_subqueries_keep_their_values(connection: Connection, condition: str, partitions: int) -> None:
    query = "SELECT COUNT(v), SUM(v) FROM {} WHERE {}"
    rows, read = _read(connection, query.format("t", condition))
    assert rows == connection.execute(query.format("plain", condition)).fetchall()
    assert read == partitions


@pytest.mark.parametrize("name", ["rewriter_subquery_0", "REWRITER_SUBQUERY_0", "rewriter_value_0", "Rewriter_Value_0"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(v), :{1} FROM {0} WHERE dt = (SELECT max(dt) FROM t)",
        "SELECT COUNT(v) FROM {0} WHERE dt = (SELECT max(dt) FROM t) OR dt = :{1}",
        "SELECT COUNT(v) FROM {0} WHERE concat(dt, '') = (SELECT max(dt) FROM t) OR concat(dt, '') IN (:{1})",
        "SELECT COUNT(v) FROM {0} WHERE CASE WHEN dt = (:{1}) THEN true ELSE dt = (SELECT max(dt) FROM t) END",
    ],
)
def test_parameters_of_the_user_keep_their_values(connection: Connection, query: str, name: str) -> None:
    parameters = {name: "2024-01-03"}
    expected = connection.execute(query.format("plain", name), parameters).fetchall()
    assert connection.execute(query.format("t", name), parameters).fetchall() == expected


def test_times_that_python_does_not_have(connection: Connection) -> None:
    connection.execute("CREATE TABLE far AS SELECT date_add(DATE '9999-12-31', 1) AS day, 1 AS n")
    for rest, count in (
        ("WHERE d.day < (SELECT max(day) FROM far)", 400),
        ("WHERE d.day IN (SELECT day FROM far)", 0),
        ("JOIN far ON d.day = far.day WHERE far.n = 1", 0),
    ):
        assert connection.execute(f"SELECT COUNT(k) FROM d {rest}").fetchall() == [(count,)]


@pytest.mark.parametrize("text", ["''", "'-'", "'.'", "(SELECT '' AS empty)"])
def test_a_text_without_digits_is_no_number(connection: Connection, text: str) -> None:
    with pytest.raises(DataError, match="cannot be cast"):
        connection.execute(f"SELECT COUNT(v) FROM t WHERE n = {text}").fetchall()


def test_a_subquery_of_several_rows_is_an_error(connection: Connection) -> None:
    for rows in ("SELECT dt FROM dim WHERE n < 9", "SELECT dt FROM t WHERE n = 2"):
        with pytest.raises(Error):
            connection.execute(f"SELECT COUNT(*) FROM t WHERE dt = ({rows})").fetchall()


def test_a_subquery_reads_the_state_of_its_query(tmp_path: Path) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        connection.execute("CREATE TABLE t (v BIGINT) PARTITIONED BY (dt STRING)")
        newest = "SELECT SUM(v) FROM t WHERE dt = (SELECT max(dt) FROM t)"
        for day in range(1, 9):
            connection.execute(f"INSERT INTO t VALUES ({day}, '2024-01-{day:02d}')")
            assert connection.execute(newest).fetchall() == [(day,)]
        connection.execute("START TRANSACTION")
        connection.execute("INSERT INTO t VALUES (9, '2024-01-09')")
        assert connection.execute(newest).fetchall() == [(9,)]
        connection.execute("ROLLBACK")
        assert connection.execute(newest).fetchall() == [(8,)]
        parameter = "SELECT SUM(v) FROM t WHERE dt = (SELECT max(dt) FROM t WHERE dt < :before)"
        assert connection.execute(parameter, {"before": "2024-01-05"}).fetchall() == [(4,)]


def test_views_and_inserts(connection: Connection) -> None:
    assert connection.execute("SELECT s FROM newest").fetchall() == connection.execute(
        f"SELECT SUM(v) FROM plain WHERE dt = '{_FIRST + timedelta(_DAYS - 1)}'"
    ).fetchall()  # fmt: skip
    connection.execute("CREATE TABLE copied AS SELECT * FROM t WHERE dt = (SELECT max(dt) FROM t)")
    assert connection.execute("SELECT COUNT(*) FROM copied").fetchall() == [(10,)]


def test_explain_scan_says_what_was_computed(connection: Connection) -> None:
    shown = "\n".join(
        str(row[0])
        for row in connection.execute("EXPLAIN SCAN SELECT SUM(v) FROM t WHERE dt = (SELECT max(dt) FROM t)").fetchall()
    )
    assert "t: 1 of 40 partitions" in shown
    assert "computed: dt = (SELECT max(dt) FROM t): TRUE of 1 of 40 values" in shown


@pytest.mark.parametrize("seed", range(3))
def test_random_conditions(connection: Connection, seed: int) -> None:
    """Random conditions on partition columns with subqueries select the rows that they select in a plain table."""
    rng = random.Random(seed)

    def value(column: str) -> str:
        source = rng.choice(("dim", "t", "holed"))
        where = rng.choice(("", f" WHERE n < {rng.randrange(45)}", f" WHERE dt > '2024-01-{rng.randrange(10, 31)}'"))
        return f"(SELECT {rng.choice(('max', 'min'))}({column}) FROM {source}{where})"

    def condition(depth: int = 0) -> str:
        column = rng.choice(("dt", "n"))
        if depth < 2 and rng.random() < 0.4:
            return f"({condition(depth + 1)} {rng.choice(('AND', 'OR'))} {condition(depth + 1)})"
        if rng.random() < 0.2:
            return f"NOT ({condition(depth + 1)})"
        if rng.random() < 0.4:
            source = f"SELECT {column} FROM {rng.choice(('dim', 'holed'))} WHERE n > {rng.randrange(50)}"
            return f"{column} {rng.choice(('', 'NOT '))}IN ({source})"
        return f"{column} {rng.choice(('=', '<', '>=', '<>', '<=>'))} {value(column)}"

    compared = 0
    for _ in range(60):
        where = condition()
        query = f"SELECT COUNT(*), SUM(v) FROM {{}} WHERE {where}"
        try:
            expected = connection.execute(query.format("plain")).fetchall()
        except NotSupportedError:
            continue  # The engine does not compute it.
        assert connection.execute(query.format("t")).fetchall() == expected, where
        compared += 1
    assert compared > 20
