"""CREATE TABLE … AS, temporary tables and added columns have the same results on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from rewriter.errors import DataError
from rewriter.session import Session


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "w", request.getfixturevalue(request.param)) as opened:
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def test_tables_out_of_queries(session: Session, tmp_path: Path) -> None:
    session.execute(
        "CREATE TABLE t PARTITIONED BY (dt, n) AS SELECT n, id, dt, CAST(id AS DECIMAL(5,2)) AS d, `count(*)` "
        "FROM (SELECT n, id, dt, count(*) FROM VALUES (1, 10, 'a'), (2, 20, NULL), (2, 30, 'x/y') AS v(n, id, dt) "
        "GROUP BY n, id, dt) AS q(n, id, dt, `count(*)`)"
    )
    assert rows(session, "DESCRIBE t")[:5] == [
        ("id", "int", None),
        ("d", "decimal(5,2)", None),
        ("count(*)", "bigint", None),
        ("dt", "string", None),
        ("n", "int", None),
    ]
    assert rows(session, "SELECT id, d, `count(*)`, dt, n FROM t ORDER BY id") == rows(
        session, "SELECT * FROM t ORDER BY id"
    )
    assert [row[0] for row in rows(session, "SHOW PARTITIONS t")] == [
        "dt=__HIVE_DEFAULT_PARTITION__/n=2",
        "dt=a/n=1",
        "dt=x%2Fy/n=2",
    ]
    session.execute("CREATE OR REPLACE TABLE t AS SELECT id FROM t WHERE n = 2")
    assert rows(session, "SELECT id FROM t ORDER BY id") == [(20,), (30,)]
    session.execute(
        f"CREATE TABLE e USING csv PARTITIONED BY (p) LOCATION '{tmp_path}/e' AS SELECT id, 'a=b' AS p FROM t"
    )
    assert rows(session, "SELECT id, p FROM e ORDER BY id") == [(20, "a=b"), (30, "a=b")]
    session.execute(f"CREATE TABLE plain LOCATION '{tmp_path}/plain' AS SELECT id FROM t")
    assert rows(session, "SELECT id FROM plain ORDER BY id") == [(20,), (30,)]
    session.execute("CREATE TABLE nothing PARTITIONED BY (id) AS SELECT id, 'x' AS v FROM t WHERE false")
    assert rows(session, "SELECT * FROM nothing") == []


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_columns_that_were_added(session: Session, format_: str) -> None:
    session.execute(f"CREATE TABLE t (id INT) USING {format_} PARTITIONED BY (dt STRING)")
    session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    session.execute("ALTER TABLE t ADD COLUMNS (v STRING, n DECIMAL(5,2))")
    assert rows(session, "SELECT * FROM t WHERE v IS NULL ORDER BY id") == [(1, None, None, "a"), (2, None, None, "b")]
    session.execute("INSERT INTO t VALUES (3, 'three', 0.5, 'a')")
    session.execute("ALTER TABLE t ADD COLUMN at TIMESTAMP")
    session.execute("INSERT INTO t (id, dt) VALUES (4, 'c')")
    assert rows(session, "SELECT id, v, CAST(n AS STRING) AS n, dt FROM t WHERE at IS NULL ORDER BY id") == [
        (1, None, None, "a"),
        (2, None, None, "b"),
        (3, "three", "0.50", "a"),
        (4, None, None, "c"),
    ]
    assert rows(session, "SELECT count(v) AS v, count(*) AS n FROM t") == [(1, 4)]


def test_columns_added_to_files_of_json(session: Session, tmp_path: Path) -> None:
    folder = tmp_path / "json" / "dt=a"
    folder.mkdir(parents=True)
    (folder / "old.json").write_text('{"id": 1}\n')
    session.execute(f"CREATE TABLE t (id INT) USING json PARTITIONED BY (dt STRING) LOCATION '{tmp_path}/json'")
    session.execute("ALTER TABLE t ADD PARTITION (dt = 'a')")
    session.execute("ALTER TABLE t ADD COLUMNS (v STRING)")
    (folder / "new.json").write_text('{"id": 2, "v": "two"}\n')
    assert rows(session, "SELECT * FROM t ORDER BY id") == [(1, None, "a"), (2, "two", "a")]


def test_temporary_tables(session: Session) -> None:
    session.execute("CREATE TABLE t AS SELECT 'permanent' AS what")
    session.execute("CREATE VIEW v AS SELECT what FROM t")
    session.execute("CREATE TEMPORARY TABLE t PARTITIONED BY (dt) AS SELECT 'temporary' AS what, 'x' AS dt")
    session.execute("INSERT INTO t PARTITION (dt = 'y') VALUES ('more')")
    assert rows(session, "SELECT t.what, t.dt, v.what AS viewed FROM t JOIN v ON true ORDER BY t.dt") == [
        ("temporary", "x", "permanent"),
        ("more", "y", "permanent"),
    ]
    session.execute("DROP TABLE t")
    assert rows(session, "SELECT what FROM t") == [("permanent",)]


def test_columns_that_are_not_null(session: Session, tmp_path: Path) -> None:
    """Each way into a table refuses a NULL in such a column, where Spark alone writes it into tables of files."""
    session.execute("CREATE TABLE t (id INT NOT NULL, x DOUBLE NOT NULL, s STRING, p INT) PARTITIONED BY (p)")
    session.execute("INSERT INTO t VALUES (1, 0.5D, NULL, 1)")
    columns = {"id": pa.int32(), "x": pa.float64(), "s": pa.string(), "p": pa.int32()}
    appended = pa.table({"id": [2, None], "x": [1.0, 2.0], "s": ["a", "b"], "p": [1, 1]}, pa.schema(columns.items()))
    session.append("t", appended.slice(0, 1))
    directory = tmp_path / "loaded"
    session.execute(f"CREATE TABLE files (id INT, x DOUBLE, s STRING) STORED AS PARQUET LOCATION '{directory}'")
    session.execute("INSERT INTO files VALUES (3, NULL, 'c')")
    for write in (
        lambda: session.execute("INSERT INTO t VALUES (NULL, 0.5D, 's', 2)"),
        lambda: session.execute("INSERT INTO t VALUES (3, 0.5D, 's', 2), (3, CAST(NULL AS DOUBLE), 's', 3)"),
        lambda: session.execute("INSERT OVERWRITE t PARTITION (p = 1) SELECT NULL, 0.5D, 's'"),
        lambda: session.execute("INSERT INTO t (s, x, p) VALUES ('s', 0.5D, 2)"),
        lambda: session.append("t", appended),
        lambda: session.execute(f"LOAD DATA INPATH '{directory}' INTO TABLE t PARTITION (p = 4)"),
    ):
        with pytest.raises(DataError) as caught:
            write()
        assert (caught.value.condition, caught.value.sqlstate) == ("NOT_NULL_ASSERT_VIOLATION", "42000")
    assert rows(session, "SELECT id, x, s, p FROM t ORDER BY id") == [(1, 0.5, None, 1), (2, 1.0, "a", 1)]
    session.execute("ALTER TABLE t ALTER COLUMN id DROP NOT NULL")
    session.execute("INSERT INTO t VALUES (NULL, 0.5D, 's', 2)")
    assert rows(session, "SELECT count(*) FROM t WHERE id IS NULL") == [(1,)]
