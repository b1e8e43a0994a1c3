"""The cache of a session: settings, SHOW CACHE, and two sessions over one warehouse."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import rewriter
from rewriter.errors import DataError
from rewriter.session import Session

MIB = 1 << 20


def metrics(session: Session) -> dict[str, int]:
    return {str(name): int(str(value)) for name, value, _ in session.execute("SHOW CACHE").rows()}


def test_a_session_keeps_nothing_until_it_is_told_to(tmp_path: Path) -> None:
    threads = threading.active_count()
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE TABLE t (x INT)")
        session.execute("DESCRIBE t")
        assert set(metrics(session).values()) == {0}
        session.execute(f"SET rewriter.cache_bytes = {MIB}")
        session.execute("DESCRIBE t")
        session.execute("DESCRIBE t")
        assert threading.active_count() == threads + 1
        counters = metrics(session)
        assert counters["capacity_bytes"] == MIB
        assert counters["hits"] > 0
        session.execute("SET rewriter.partial_data = true")
        assert metrics(session)["hits"] == counters["hits"], "other settings leave the cache as it is"
        session.execute("RESET")
        assert set(metrics(session).values()) == {0}
        with pytest.raises(DataError):
            session.execute("SET rewriter.cache_bytes = many")
        assert threading.active_count() == threads


def test_two_sessions_with_caches_see_what_the_other_commits(tmp_path: Path, catalog_url: str | None) -> None:
    sessions = [Session(tmp_path, "duckdb", settings={"rewriter.cache_bytes": MIB}, catalog=catalog_url) for _ in "ab"]
    sessions[0].execute("CREATE TABLE t (x INT) PARTITIONED BY (d STRING)")
    for number in range(20):
        writer, reader = sessions[number % 2], sessions[1 - number % 2]
        writer.execute(f"ALTER TABLE t ADD PARTITION (d = '{number:02}')")
        for session in (reader, writer):
            assert len(list(session.execute("SHOW PARTITIONS t").rows())) == number + 1
    writer.execute("DROP TABLE t")
    assert list(reader.execute("SHOW TABLES").rows()) == []
    reader.execute("CREATE TABLE t (y INT)")
    assert [row[0] for row in writer.execute("DESCRIBE t").rows()] == ["y"]
    for session in sessions:
        session.close()


def test_a_connection_is_given_a_cache_and_fills_it(tmp_path: Path) -> None:
    with rewriter.connect(tmp_path, engine="duckdb") as plain:
        plain.execute("CREATE TABLE t (x INT)")
    with rewriter.connect(tmp_path, engine="duckdb", cache_bytes=MIB, cache_prewarm=True) as connection:
        prewarming = connection.session.catalog.prewarming
        assert prewarming is not None
        assert prewarming.wait(30)
        before = metrics(connection.session)
        connection.execute("DESCRIBE t")
        after = metrics(connection.session)
        assert after["hits"] > before["hits"]
