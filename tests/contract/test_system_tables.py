"""System tables are tables in queries on both engines, with the same rows and types."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rewriter.catalog.model.system_tables import SYSTEM_TABLES
from rewriter.errors import Error
from rewriter.exec.engine import Engine
from rewriter.session import Session

SETUP = """
CREATE TABLE t (x INT COMMENT 'é') PARTITIONED BY (s STRING, n INT);
INSERT INTO t VALUES (1, 'a/b', 1), (2, NULL, NULL);
CREATE VIEW v AS SELECT x / 2 AS half, CAST(x AS DECIMAL(5,1)) * x AS product, array(s) AS texts FROM t;
CREATE VIEW counts AS SELECT count(*) + 1 AS n FROM information_schema.columns;
CREATE CUBE flights (carrier STRING, flights BIGINT MEASURE COUNT, departed TIMESTAMP TIME);
CREATE TABLE days (carrier STRING, flights BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE flights STORED IN (TABLE days PERIOD DAILY PARTITIONED BY departed AS (dt));
INSERT INTO days VALUES ('UA', 1, '2013-01-01'), ('UA', 1, '2013-01-02')
"""


@pytest.fixture
def session(tmp_path: Path, engine: Engine) -> Iterator[Session]:
    with Session(tmp_path / "w", engine) as opened:
        list(opened.script(SETUP))
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def test_every_table_has_its_columns(session: Session) -> None:
    for name, table in SYSTEM_TABLES.items():
        result = session.execute(f"SELECT * FROM {name}")
        assert [(c.name, c.type) for c in result.columns or ()] == [(c.name, c.type) for c in table.all_columns], name
        assert result.fetch(), name


def test_rows(session: Session) -> None:
    assert rows(
        session,
        "SELECT i.table_name, c.column_name, c.ordinal_position, c.data_type FROM information_schema.tables AS i "
        "JOIN information_schema.columns AS c USING (table_schema, table_name) "
        "WHERE i.table_type = 'VIEW' AND table_schema = 'default' ORDER BY 1, 3",
    ) == [
        ("counts", "n", 1, "bigint"),
        ("v", "half", 1, "double"),
        ("v", "product", 2, "decimal(16,1)"),
        ("v", "texts", 3, "array<string>"),
    ]
    assert rows(
        session,
        "SELECT partition, partition_values, row_count, location FROM system.partitions "
        "WHERE table_name = 't' ORDER BY row_count, partition",
    ) == [
        ("s=__HIVE_DEFAULT_PARTITION__/n=__HIVE_DEFAULT_PARTITION__", '{"s":null,"n":null}', 1, None),
        ("s=a%2Fb/n=1", '{"s":"a/b","n":"1"}', 1, None),
    ]
    assert rows(session, "SELECT state, range_start, range_end, periods FROM system.timelines") == [
        ("fresh", datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 3, tzinfo=UTC), 2)
    ]


def test_any_text_of_a_statement_is_a_row(session: Session) -> None:
    """Half of a surrogate pair, which no engine takes, is shown as an escape: in the statement, and in its error."""
    for text in ("SELECT '\ud800' AS a", "SELECT * FROM `\udfff`", "nonsense \ud83d"):
        with pytest.raises(Error):
            session.execute(text)
    found = rows(session, "SELECT text, error_message FROM system.queries WHERE status = 'failed'")
    assert [text for text, _ in found] == [r"SELECT '\ud800' AS a", r"SELECT * FROM `\udfff`", r"nonsense \ud83d"]


def test_they_go_into_tables(session: Session) -> None:
    session.execute("CREATE TABLE kept AS SELECT * FROM system.partitions")
    session.execute("INSERT INTO kept SELECT * FROM system.partitions WHERE table_name = 'kept' OR table_name = 'days'")
    assert rows(session, "SELECT count(*), count(DISTINCT partition) FROM kept") == [(6, 4)]
    session.execute("CREATE TABLE log AS SELECT * FROM system.transactions")
    assert rows(session, "SELECT min(begun_at) < max(ended_at), count(commit) = max(commit) FROM log") == [(True, True)]
    session.execute("CREATE TABLE said AS SELECT * FROM system.queries")
    assert rows(session, "SELECT count(*) FROM said WHERE status = 'running'") == [(1,)]


def test_correlated_and_nested(session: Session) -> None:
    assert rows(
        session,
        "WITH mine AS (SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'default') "
        "SELECT name, (SELECT count(*) FROM system.partitions AS p WHERE p.table_name = mine.name) AS n FROM mine "
        "WHERE EXISTS (SELECT 1 FROM system.partitions AS q WHERE q.table_name = mine.name) ORDER BY name",
    ) == [("days", 2), ("t", 2)]
    assert rows(
        session,
        "SELECT t.x FROM t LEFT JOIN system.partitions AS p ON p.table_name = 't' AND p.partition = concat('s=', t.s) "
        "WHERE p.table_name IS NULL ORDER BY 1",
    ) == [(1,), (2,)]
