"""INSERT with the results of Spark 4.3 (reference/spark-4.3-partition-dml-and-types.txt), on both engines.

Each step is a statement and its result on Spark: rows, the condition of its error, or nothing. If our result
differs on purpose, Spark's result follows it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

NULL = "__HIVE_DEFAULT_PARTITION__"
ARITY = "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS"
STATIC_ARITY = "INSERT_PARTITION_COLUMN_ARITY_MISMATCH"
UNSAFE = "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"

Step = tuple[str, "str | list[str] | None"]

STATIC: list[Step] = [
    ("CREATE TABLE p (id INT, v STRING) USING parquet PARTITIONED BY (c STRING, d INT)", None),
    ("INSERT INTO p PARTITION (c='US', d='01') VALUES (1,'a')", None),
    ("INSERT INTO p PARTITION (c='US', d=1) SELECT 2,'b'", None),
    ("INSERT INTO TABLE p PARTITION (C='x:y', D=2) SELECT 3,'c'", None),
    ("INSERT INTO p PARTITION (c='US', d='zz') VALUES (1,'a')", "CAST_INVALID_INPUT"),
    ("INSERT INTO p PARTITION (c='US', d=1) VALUES (1)", STATIC_ARITY),
    ("INSERT INTO p PARTITION (c='US', d=1) VALUES (1,'a',9)", STATIC_ARITY),
    ("INSERT INTO p PARTITION (c='US', e=1) VALUES (1,'a')", "PARTITIONS_NOT_FOUND"),
    ("INSERT INTO p PARTITION (c='US', d=1, e) VALUES (1,'a',1)", "PARTITIONS_NOT_FOUND"),
    ("INSERT INTO p PARTITION (c=null, d=null) VALUES (5,'n')", None),
    ("INSERT INTO p PARTITION (c='', d=3) VALUES (6,'e')", "INVALID_PARTITION_SPEC"),
    ("INSERT INTO p PARTITION (c='US', d=1) IF NOT EXISTS VALUES (1,'a')", "INVALID_STATEMENT_OR_CLAUSE"),
    ("INSERT OVERWRITE p PARTITION (c='US', d=1) IF NOT EXISTS VALUES (99,'zz')", None),
    ("INSERT OVERWRITE p PARTITION (c='new', d=1) IF NOT EXISTS VALUES (98,'zz')", None),
    # _LEGACY_ERROR_TEMP_0035
    ("INSERT OVERWRITE p PARTITION (c='new', d) IF NOT EXISTS VALUES (98,'zz',1)", "INVALID_STATEMENT_OR_CLAUSE"),
    ("SELECT * FROM p ORDER BY id", ["1|a|US|1", "2|b|US|1", "3|c|x:y|2", "5|n|NULL|NULL", "98|zz|new|1"]),
    ("SHOW PARTITIONS p", ["c=US/d=1", f"c={NULL}/d={NULL}", "c=new/d=1", "c=x%3Ay/d=2"]),
    ("INSERT INTO p PARTITION (c='emp', d='0007') SELECT 1,'a' WHERE false", None),
    ("INSERT OVERWRITE p PARTITION (c='US', d=1) SELECT 7,'o' WHERE false", None),
    ("SHOW PARTITIONS p", ["c=US/d=1", f"c={NULL}/d={NULL}", "c=emp/d=7", "c=new/d=1", "c=x%3Ay/d=2"]),
    ("SELECT * FROM p ORDER BY id", ["3|c|x:y|2", "5|n|NULL|NULL", "98|zz|new|1"]),
]

DYNAMIC: list[Step] = [
    ("INSERT INTO p PARTITION (c, d) VALUES (10,'j','DE',5),(11,'k',null,6),(12,'l','',7),(13,'m','FR',null)", None),
    ("INSERT INTO p PARTITION (c='DE', d) VALUES (14,'n',8)", None),
    ("INSERT INTO p PARTITION (c, d=9) VALUES (15,'o','IT')", None),  # _LEGACY_ERROR_TEMP_1147
    ("ALTER TABLE p DROP PARTITION (c='IT')", None),
    # Spark takes the table's order without an error, and here the types differ: INCOMPATIBLE_DATA_FOR_TABLE
    ("INSERT INTO p PARTITION (d, c) VALUES (16,'p',1,'ZZ')", "INVALID_PARTITION_SPEC"),
    ("INSERT INTO p PARTITION (d) VALUES (16,'p',1)", ARITY),
    ("INSERT INTO p VALUES (17,'q','ES',1)", None),
    ("INSERT INTO p (c, d, id, v) VALUES ('PT',1,18,'r')", None),
    ("INSERT INTO p PARTITION (c='PT', d) (id, v, d) VALUES (19,'s',2)", None),
    ("INSERT INTO p PARTITION (c='PT', d=3) (v, id) VALUES ('t',20)", None),
    ("INSERT INTO p PARTITION (c, d) VALUES (10,'j','DE','bad')", UNSAFE),
    (
        "SELECT * FROM p ORDER BY id",
        ["3|c|x:y|2", "5|n|NULL|NULL", "10|j|DE|5", "11|k|NULL|6", "12|l|NULL|7", "13|m|FR|NULL", "14|n|DE|8",
         "17|q|ES|1", "18|r|PT|1", "19|s|PT|2", "20|t|PT|3", "98|zz|new|1"],
    ),
    (
        "SHOW PARTITIONS p",
        ["c=DE/d=5", "c=DE/d=8", "c=ES/d=1", f"c=FR/d={NULL}", "c=PT/d=1", "c=PT/d=2", "c=PT/d=3", "c=US/d=1",
         f"c={NULL}/d=6", f"c={NULL}/d=7", f"c={NULL}/d={NULL}", "c=emp/d=7", "c=new/d=1", "c=x%3Ay/d=2"],
    ),
]  # fmt: skip

#: Spark's default is static; ours, as Hive's, is dynamic.
OVERWRITE: list[Step] = [
    ("SET spark.sql.sources.partitionOverwriteMode=static", ["spark.sql.sources.partitionOverwriteMode|static"]),
    ("INSERT OVERWRITE TABLE p PARTITION (c='DE', d) VALUES (30,'x',100)", None),
    ("SHOW PARTITIONS p PARTITION (c='DE')", ["c=DE/d=100"]),
    ("SET spark.sql.sources.partitionOverwriteMode=dynamic", ["spark.sql.sources.partitionOverwriteMode|dynamic"]),
    ("SET rewriter.partition_overwrite_mode", ["rewriter.partition_overwrite_mode|dynamic"]),
    ("INSERT OVERWRITE TABLE p PARTITION (c='PT', d) VALUES (31,'x',200)", None),
    ("SHOW PARTITIONS p PARTITION (c='PT')", ["c=PT/d=1", "c=PT/d=2", "c=PT/d=200", "c=PT/d=3"]),
    ("INSERT OVERWRITE TABLE p PARTITION (c, d) SELECT 1,'a','PT',1 WHERE false", None),
    ("SHOW PARTITIONS p PARTITION (c='PT')", ["c=PT/d=1", "c=PT/d=2", "c=PT/d=200", "c=PT/d=3"]),
    ("SET spark.sql.sources.partitionOverwriteMode=static", ["spark.sql.sources.partitionOverwriteMode|static"]),
    ("INSERT OVERWRITE TABLE p SELECT 40,'y','PT',1", None),
    ("SHOW PARTITIONS p", ["c=PT/d=1"]),
    ("SELECT * FROM p", ["40|y|PT|1"]),
    (
        "FROM p INSERT INTO p PARTITION (c='m1', d=1) SELECT 1,'a' INSERT INTO p PARTITION (c='m2', d=1) SELECT 2,'b'",
        None,
    ),
    ("SHOW PARTITIONS p", ["c=PT/d=1", "c=m1/d=1", "c=m2/d=1"]),
    ("INSERT OVERWRITE TABLE p PARTITION (c='m1') SELECT 1,'x',5", None),  # _LEGACY_ERROR_TEMP_1169; Flink's form
    ("SHOW PARTITIONS p", ["c=PT/d=1", "c=m1/d=5", "c=m2/d=1"]),
]


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


def said(session: Session, sql: str) -> str | list[str] | None:
    """Returns the rows as the recording shows them, the condition of an error, or nothing."""
    try:
        result = session.execute(sql)
    except Error as error:
        return error.condition if error.position is not None else f"{error.condition} without a place"
    if result.columns is None:
        return None
    return ["|".join("NULL" if value is None else str(value) for value in row) for row in result.fetch()]


def test_as_spark(session: Session) -> None:
    steps = [*STATIC, *DYNAMIC, *OVERWRITE]
    told = [(sql, said(session, sql)) for sql, _ in steps]
    assert [result for result, expected in zip(told, steps, strict=True) if result != expected] == []


def test_forms(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE raw (user STRING, amount INT, day STRING)")
    session.execute("CREATE TABLE a (user STRING, amount INT) PARTITIONED BY (day STRING)")
    session.execute("CREATE TABLE b (n BIGINT, amount BIGINT) PARTITIONED BY (day STRING)")
    session.execute("WITH x AS (SELECT 'ann' AS user) INSERT INTO raw SELECT user, 1, 'd1' FROM x")
    session.execute("INSERT INTO raw BY NAME SELECT 'd1' AS day, 2 AS amount, 'bob' AS user")
    session.execute("INSERT INTO raw VALUES ('eve', 3, 'd2'), ('eve', 3, 'd2')")
    session.execute(
        "FROM raw r LEFT JOIN (SELECT * FROM raw WHERE amount > 1) s ON r.user = s.user AND r.user <> 'eve' "
        "INSERT INTO a SELECT r.user, s.amount, r.day INSERT INTO b SELECT COUNT(*), SUM(r.amount), "
        "r.day GROUP BY r.day"
    )
    assert said(session, "SELECT * FROM a ORDER BY user") == ["ann|NULL|d1", "bob|2|d1", "eve|NULL|d2", "eve|NULL|d2"]
    assert said(session, "SELECT * FROM b ORDER BY day") == ["2|3|d1", "2|6|d2"]
    session.execute(
        "FROM (SELECT DISTINCT user, amount, day FROM raw) s INSERT OVERWRITE a SELECT user, amount, day "
        "INSERT INTO a PARTITION (day='all') SELECT user, amount INSERT INTO a PARTITION (day='all') "
        "SELECT 'n', COUNT(*)"
    )
    assert said(session, "SELECT day, COUNT(*) FROM a GROUP BY day ORDER BY day") == ["all|4", "d1|2", "d2|1"]
    session.execute(
        "FROM (SELECT user, MAX(amount) AS m FROM raw WHERE false GROUP BY user) s "
        "INSERT OVERWRITE a PARTITION (day='all') SELECT user, m INSERT OVERWRITE b SELECT 1, m, user"
    )
    assert said(session, "SHOW PARTITIONS a") == ["day=all", "day=d1", "day=d2"]
    assert said(session, "SELECT COUNT(*) FROM a WHERE day = 'all'") == ["0"]
    assert [path.name for path in (tmp_path / "warehouse").iterdir() if path.name.startswith(".")] == []


def test_too_many_partitions(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE t (a INT) PARTITIONED BY (p INT, q INT)")
    session.execute("SET rewriter.max_dynamic_partitions = 5")
    rows = ", ".join(f"({i}, {i % 40}, {i % 3})" for i in range(400))
    with pytest.raises(Error) as caught:
        session.execute(f"INSERT INTO t SELECT * FROM (VALUES {rows}) AS v(a, p, q)")
    assert caught.value.condition == "TOO_MANY_DYNAMIC_PARTITIONS"
    assert "more than 5 partitions" in caught.value.message
    assert not list(tmp_path.rglob("*.parquet"))
    session.execute("SET rewriter.max_dynamic_partitions = 120")
    session.execute(f"INSERT INTO t SELECT * FROM (VALUES {rows}) AS v(a, p, q)")
    assert len(session.execute("SHOW PARTITIONS t").fetch()) == 120


def test_load_data(session: Session, tmp_path: Path) -> None:
    for name, columns in (("source", "(id INT, v STRING)"), ("t", "(v STRING, id INT) PARTITIONED BY (p INT)")):
        session.execute(f"CREATE TABLE {name} {columns}")
    session.execute("INSERT INTO source VALUES (1, 'a'), (2, NULL)")
    folder = next((tmp_path / "warehouse").glob("source-*"))
    folder = next(folder.iterdir())
    assert session.execute(f"LOAD DATA INPATH '{folder}' INTO TABLE t PARTITION (p='07')").rowcount == 2
    assert said(session, "SELECT id, v, p FROM t ORDER BY id") == ["1|a|7", "2|NULL|7"]
    for name, lines in (("good", [["1", "a"], ["2", ""]]), ("bad", [["1", "a"], ["x", "b"]])):
        with open(tmp_path / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["id", "v"], *lines])
    session.execute("CREATE TABLE c (id INT, v STRING) USING csv")
    assert session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/good.csv' INTO TABLE c").rowcount == 2
    assert said(session, f"LOAD DATA LOCAL INPATH '{tmp_path}/bad.csv' OVERWRITE INTO TABLE c") == "CAST_INVALID_INPUT"
    assert said(session, "SELECT * FROM c ORDER BY id") == ["1|a", "2|NULL"]


def test_a_random_source_is_read_once(tmp_path: Path, spark: SparkEngine) -> None:
    with Session(tmp_path / "warehouse", spark) as session:
        session.execute("CREATE TABLE raw (id INT, items ARRAY<STRING>)")
        session.execute("INSERT INTO raw SELECT 1, array('x', 'y') UNION ALL SELECT 2, array('z')")
        session.execute(
            "CREATE TABLE t (id INT, r DOUBLE, at TIMESTAMP, items ARRAY<STRING>) PARTITIONED BY (p STRING)"
        )
        session.execute(
            "FROM (SELECT id, rand() AS r, current_timestamp() AS at, items FROM raw) s "
            "INSERT INTO t PARTITION (p='a') SELECT * INSERT INTO t PARTITION (p='b') SELECT s.id, s.r, s.at, s.items"
        )
        assert said(session, "SELECT COUNT(*), COUNT(DISTINCT r), COUNT(DISTINCT at) FROM t") == ["4|2|1"]
        session.execute("CREATE TABLE u (id INT, item STRING) PARTITIONED BY (p STRING)")
        session.execute(
            "FROM raw LATERAL VIEW explode(items) e AS item INSERT INTO u PARTITION (p='a') SELECT id, item "
            "INSERT INTO u PARTITION (p='b') SELECT id, item WHERE item > 'x'"
        )
        assert said(session, "SELECT p, COUNT(*) FROM u GROUP BY p ORDER BY p") == ["a|3", "b|2"]
        empty = "FROM (SELECT id, items, rand() AS r FROM raw WHERE false) s"
        session.execute(
            f"{empty} INSERT INTO u PARTITION (p='c') SELECT id, items[0] INSERT INTO u SELECT 1, 'x', items[0]"
        )
        assert said(session, "SHOW PARTITIONS u") == ["p=a", "p=b", "p=c"]


def test_a_struct_that_is_null_beside_a_literal(tmp_path: Path, spark: SparkEngine) -> None:
    """The fields of a literal are never NULL; those of the column may be."""
    with Session(tmp_path / "w", spark) as session:
        session.execute("CREATE TABLE p (a STRUCT<x: INT, y: STRING>) PARTITIONED BY (dt STRING)")
        session.execute("INSERT INTO p VALUES (named_struct('x', 1, 'y', 'q'), 'd1'), (NULL, 'd1')")
        rows = session.execute("SELECT a FROM p ORDER BY a").fetch()
    assert rows == [(None,), ({"x": 1, "y": "q"},)]
