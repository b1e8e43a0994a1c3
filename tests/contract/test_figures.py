"""ANALYZE counts the same on every engine, for every type. DESCRIBE QUERY returns the same types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.session import Session


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


TYPES = {
    "yes": ("BOOLEAN", "true", "false"),
    "i1": ("TINYINT", "-128", "127"),
    "i2": ("SMALLINT", "-3", "3"),
    "i4": ("INT", "-3", "3"),
    "i8": ("BIGINT", "-9223372036854775808", "3"),
    "d": ("DECIMAL(20,2)", "-1.50", "123456789012345678.25"),
    "f4": ("FLOAT", "0.1", "1e20"),
    "f8": ("DOUBLE", "-0.0", "NaN"),
    "day": ("DATE", "1969-12-31", "2024-02-29"),
    "at": ("TIMESTAMP", "2024-02-29 23:59:59.5", "1969-12-31 00:00:00"),
    "s": ("STRING", "ab", "日本語"),
    "v": ("VARCHAR(4)", "a", "b"),
    "c": ("CHAR(4)", "a", "b"),
}
#: min, max, distinct, avg_col_len, max_col_len: of each column one NULL, and each value twice.
WANTED = {
    "yes": ("false", "true", "2", "1", "1"),
    "i1": ("-128", "127", "2", "1", "1"),
    "i2": ("-3", "3", "2", "2", "2"),
    "i4": ("-3", "3", "2", "4", "4"),
    "i8": ("-9223372036854775808", "3", "2", "8", "8"),
    "d": ("-1.50", "123456789012345678.25", "2", "16", "16"),
    "f4": ("0.1", "1.0E20", "2", "4", "4"),
    "f8": ("0.0", "NaN", "2", "8", "8"),
    "day": ("1969-12-31", "2024-02-29", "2", "4", "4"),
    "at": ("1969-12-31 00:00:00", "2024-02-29 23:59:59.5", "2", "8", "8"),
    "s": ("NULL", "NULL", "2", "3", "3"),
    "v": ("NULL", "NULL", "2", "1", "1"),
    "c": ("NULL", "NULL", "2", "4", "4"),
}
_ORDER = ("min", "max", "distinct_count", "avg_col_len", "max_col_len")


def _figures(session: Session, described: str) -> dict[str, str]:
    return dict(session.execute(f"DESCRIBE EXTENDED {described}").fetch())  # type: ignore[arg-type]


def _literal(kind: str, text: str) -> str:
    """Returns a value in a query, where lengths have no meaning and a FLOAT has its own literal."""
    return f"{text}F" if kind == "FLOAT" else f"CAST('{text}' AS {'STRING' if 'CHAR' in kind else kind})"


def test_figures_of_every_type(session: Session) -> None:
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in TYPES.items())
    session.execute(f"CREATE TABLE t ({columns}) PARTITIONED BY (p INT, q STRING)")
    rows = [
        ", ".join(_literal(values[0], values[index]) for values in TYPES.values()) + f", {index}, 'a/b'"
        for index in (1, 2, 1, 2)
    ]
    rows.append(", ".join(["NULL"] * len(TYPES)) + ", NULL, NULL")
    session.execute("INSERT INTO t " + " UNION ALL ".join(f"SELECT {row}" for row in rows))
    session.execute("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    for name, wanted in WANTED.items():
        figures = _figures(session, f"t {name}")
        assert (name, *(figures[label] for label in _ORDER)) == (name, *wanted)
        assert figures["num_nulls"] == "1"
    assert [_figures(session, "t p")[label] for label in _ORDER] == ["1", "2", "2", "4", "4"]
    session.execute("ANALYZE TABLE t PARTITION (p, q) COMPUTE STATISTICS FOR ALL COLUMNS")
    assert _figures(session, "t PARTITION (p=1, q='a/b') i1")["max"] == "-128"
    assert _figures(session, "t PARTITION (p=2, q='a/b') i1")["max"] == "127"
    null = _figures(session, "t PARTITION (p=NULL, q=NULL) s")
    assert (null["num_nulls"], null["distinct_count"], null["avg_col_len"]) == ("1", "0", "NULL")
    snapshot = session.catalog.snapshot()
    assert [partition.rows for partition in snapshot.partitions(snapshot.table("t"))] == [1, 2, 2]


def test_rows_of_external_partitions(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE EXTERNAL TABLE e (a INT, b INT) PARTITIONED BY (p STRING) STORED AS csv LOCATION 'e'")
    session.execute("INSERT INTO e VALUES (1, 1, 'x'), (NULL, 1, 'x'), (3, 1, 'y z')")
    session.execute("ALTER TABLE e ADD PARTITION (p='empty')")
    (written,) = tmp_path.rglob("p=x")
    (written.parent / "p=empty").mkdir()
    session.execute("ANALYZE TABLE e COMPUTE STATISTICS")
    (told,) = (row for row in session.execute("DESCRIBE EXTENDED e").fetch() if row[0] == "Statistics")
    assert str(told[1]).endswith("bytes, 3 rows")
    session.execute("ANALYZE TABLE e PARTITION (p) COMPUTE STATISTICS FOR COLUMNS a")
    assert _figures(session, "e PARTITION (p='y z') a")["min"] == "3"
    assert _figures(session, "e PARTITION (p='empty') a")["num_nulls"] == "0"


def test_describe_query(session: Session) -> None:
    session.execute("CREATE TABLE t (a INT, b STRING)")
    described = session.execute("DESCRIBE QUERY SELECT a + 1L AS n, b, CAST(a AS DECIMAL(5,1)) AS d FROM t").fetch()
    assert described == [("n", "bigint", None), ("b", "string", None), ("d", "decimal(5,1)", None)]


def test_every_form_of_insert_keeps_the_figures_of_its_partitions(session: Session) -> None:
    """ANALYZE counts what the inserts have recorded. It finds nothing to correct, and every file as it was written."""
    session.execute("CREATE TABLE t (a INT, b STRING) PARTITIONED BY (p INT, q STRING)")
    session.execute("CREATE TABLE plain (a INT, b STRING)")
    for statement in (
        "INSERT INTO t VALUES (1, 'x', 1, 'a'), (2, 'y', 1, 'b'), (3, NULL, NULL, NULL)",
        "INSERT INTO t PARTITION (p=1, q='a') SELECT 4, 'z'",
        "INSERT INTO t PARTITION (p=1, q) VALUES (5, 'z', 'a'), (6, 'z', 'c')",
        "INSERT INTO t PARTITION (p, q='e') (b, p) VALUES ('only', 9)",
        "INSERT INTO t PARTITION (p=2, q='empty') SELECT 1, 'x' WHERE false",
        "INSERT OVERWRITE t PARTITION (p=1, q='b') SELECT a, b FROM t WHERE p = 1",
        "INSERT OVERWRITE t PARTITION (p=1, q='c') SELECT a, b FROM t WHERE false",
        "INSERT OVERWRITE t PARTITION (p=1, q='a') IF NOT EXISTS VALUES (0, 'never')",
        "INSERT OVERWRITE t PARTITION (p=3, q) VALUES (7, 'n', 'x'), (8, 'n', 'y')",
        "INSERT INTO plain VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO plain SELECT a, b FROM t",
        "INSERT OVERWRITE plain SELECT a, b FROM plain WHERE a < 5",
        "INSERT INTO plain VALUES (NULL, NULL)",
    ):
        session.execute(statement)
    snapshot = session.catalog.snapshot()
    partitions = snapshot.partitions(snapshot.table("t"))
    assert {partition.values: partition.rows for partition in partitions} == {
        (None, None): 1,
        ("1", "a"): 3,
        ("1", "b"): 5,
        ("1", "c"): 0,
        ("2", "empty"): 0,
        ("3", "x"): 1,
        ("3", "y"): 1,
        ("9", "e"): 1,
    }
    assert all((partition.files > 0) is (partition.rows != 0) is (partition.bytes > 0) for partition in partitions)
    session.execute("ANALYZE TABLES COMPUTE STATISTICS")
    session.execute("ANALYZE TABLES COMPUTE STATISTICS NOSCAN")
    assert session.catalog.snapshot().sequence == snapshot.sequence
