"""CREATE TABLE … AS keeps CHAR and VARCHAR in the same cases as Spark 4.3: for columns that are selected unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.session import Session

_SOURCES = (
    "CREATE TABLE c (n INT, a CHAR(3), b VARCHAR(5), s STRING, a2 CHAR(2), b7 VARCHAR(7))",
    "INSERT INTO c VALUES (1, 'q', 'w', 's', 'z', 'u')",
    "CREATE VIEW v AS SELECT a, b AS x FROM c",
)

#: The query, and the types of Spark's table. Recorded by running each on Spark 4.3.0.
KEPT = [
    ("SELECT * FROM c", "int, char(3), varchar(5), string, char(2), varchar(7)"),
    ("SELECT a AS x, b AS y FROM c", "char(3), varchar(5)"),
    ("SELECT (a) AS x, ((b)) AS y FROM c", "char(3), varchar(5)"),
    ("SELECT * FROM (SELECT a, b FROM c)", "char(3), varchar(5)"),
    ("WITH t AS (SELECT a, b FROM c) SELECT * FROM t", "char(3), varchar(5)"),
    ("SELECT * FROM v", "char(3), varchar(5)"),
    ("SELECT x FROM v WHERE x = 'w'", "varchar(5)"),
    ("SELECT a FROM c UNION ALL SELECT a2 FROM c", "char(3)"),
    ("SELECT a2 FROM c UNION ALL SELECT a2 FROM c", "char(2)"),
    ("SELECT a FROM c UNION SELECT a FROM c", "char(3)"),
    ("SELECT b FROM c UNION ALL SELECT b7 FROM c", "varchar(5)"),
    ("SELECT a FROM c UNION ALL SELECT s FROM c", "char(3)"),
    ("SELECT s FROM c UNION ALL SELECT a FROM c", "string"),
    ("SELECT a FROM c UNION ALL SELECT NULL", "char(3)"),
    ("SELECT NULL AS x UNION ALL SELECT a FROM c", "string"),
    ("SELECT a FROM c INTERSECT SELECT a FROM c", "char(3)"),
    ("SELECT a FROM c EXCEPT SELECT a2 FROM c", "char(3)"),
    ("SELECT a, COUNT(*) AS n FROM c GROUP BY a", "char(3), bigint"),
    ("SELECT a FROM c GROUP BY ROLLUP (a)", "char(3)"),
    ("SELECT DISTINCT a FROM c", "char(3)"),
    ("SELECT a, b FROM c ORDER BY a LIMIT 1", "char(3), varchar(5)"),
    ("SELECT x.a, y.b FROM c x LEFT JOIN c y ON x.n = y.n", "char(3), varchar(5)"),
    ("SELECT x.a, y.b FROM c x FULL JOIN c y ON x.n = y.n", "char(3), varchar(5)"),
    ("SELECT a FROM c x RIGHT JOIN (SELECT a FROM c) y USING (a)", "char(3)"),
    ("SELECT a FROM c x FULL JOIN (SELECT a FROM c) y USING (a)", "string"),
    ("SELECT a.a FROM c a LEFT SEMI JOIN c b ON a.n = b.n", "char(3)"),
    ("SELECT a, ROW_NUMBER() OVER (ORDER BY a) AS r FROM c", "char(3), int"),
    ("SELECT COALESCE(a, a) AS x, COALESCE(b, 'x') AS y FROM c", "string, string"),
    ("SELECT a || '' AS x, UPPER(b) AS y FROM c", "string, string"),
    ("SELECT CAST(a AS STRING) AS x FROM c", "string"),
    ("SELECT MAX(a) AS m, MIN(b) AS n FROM c", "string, string"),
    ("SELECT CASE WHEN n = 1 THEN a ELSE a END AS x FROM c", "string"),
    ("SELECT (SELECT a FROM c) AS y", "string"),
    ("SELECT LAG(a) OVER (ORDER BY n) AS l, a FROM c", "string, char(3)"),
]


@pytest.fixture(params=["duckdb", "spark"], scope="module")
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    warehouse = tmp_path_factory.mktemp("declared") / "warehouse"
    with Session(warehouse, request.getfixturevalue(request.param)) as opened:
        for statement in _SOURCES:
            opened.execute(statement)
        yield opened


def _types(session: Session, table: str) -> str:
    """Returns the types of the columns. DESCRIBE shows them before an empty row."""
    rows = session.execute(f"DESCRIBE {table}").fetch()
    names = [str(row[0]) for row in rows]
    end = names.index("") if "" in names else len(rows)
    return ", ".join(str(row[1]) for row in rows[:end] if not str(row[0]).startswith("#"))


@pytest.mark.share(3, "spark")
@pytest.mark.parametrize(("query", "types"), KEPT)
def test_types_are_those_of_spark(session: Session, query: str, types: str) -> None:
    session.execute(f"CREATE OR REPLACE TABLE made AS {query}")
    assert _types(session, "made") == types


def test_copies_are_filtered_as_their_source(session: Session, tmp_path: Path) -> None:
    for clause in ("", "USING parquet", f"LOCATION '{tmp_path / 'there'}'", "PARTITIONED BY (a)"):
        session.execute(f"CREATE TABLE copied {clause} AS SELECT n, a, b FROM c")
        assert [tuple(row) for row in session.execute("SELECT n, length(a) FROM copied WHERE a = 'q'").fetch()] == [
            (1, 3)
        ]
        session.execute("DROP TABLE copied")
    session.execute("CREATE TEMPORARY TABLE copied AS SELECT a FROM c")
    assert len(session.execute("SELECT a FROM copied WHERE a = 'q'").fetch()) == 1


def test_lengths_are_checked_as_in_an_insert(session: Session) -> None:
    """Spark writes a text that is too long for its declared type."""
    session.execute("CREATE OR REPLACE TABLE made AS SELECT a2 FROM c UNION ALL SELECT a FROM c")
    assert [row[0] for row in session.execute("SELECT a2 FROM made ORDER BY a2").fetch()] == ["q ", "z "]
    with pytest.raises(Error) as caught:
        session.execute("CREATE OR REPLACE TABLE made AS SELECT a2 FROM c UNION ALL SELECT 'abc'")
    assert caught.value.condition == "EXCEED_LIMIT_LENGTH"


def test_queries_have_strings(session: Session) -> None:
    assert [row[1] for row in session.execute("DESCRIBE QUERY SELECT a, b FROM c").fetch()] == ["string", "string"]
    assert [column.type for column in session.execute("SELECT a, b FROM c").columns or ()] == ["string", "string"]


def test_dimensions_of_a_cube_keep_their_types(session: Session) -> None:
    for statement in (
        "CREATE CUBE visits (country CHAR(3), carrier VARCHAR(4), n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
        "CREATE TABLE hours (country CHAR(3), carrier VARCHAR(4), n BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE TABLE days (country CHAR(3), carrier VARCHAR(4), n BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE FACT visits_all OF CUBE visits STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))",
        "INSERT INTO hours VALUES ('us', 'UA', 1, '2014-01-01-00')",
        "CREATE TABLE made_of_cube AS SELECT country, carrier, SUM(n) AS n FROM visits "
        "WHERE t >= '2014-01-01' AND t < '2014-01-01 01:00' GROUP BY country, carrier",
    ):
        session.execute(statement)
    assert _types(session, "made_of_cube") == "char(3), varchar(4), bigint"
