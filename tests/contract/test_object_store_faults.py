"""A store that is slow, refuses requests or cuts connections: a statement succeeds, or fails and leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from object_store import CREDENTIALS, Fault, ObjectStore

from rewriter.catalog.filesystems import object_files, registry
from rewriter.catalog.filesystems.options import store_options
from rewriter.errors import Error, OperationalError
from rewriter.session import Session

SECRETS = tuple(CREDENTIALS.values())


@pytest.fixture
def session(tmp_path: Path, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session whose requests are repeated soon."""
    monkeypatch.setattr(object_files, "_PAUSE", 0.01)
    monkeypatch.setattr(registry, "_REQUEST_ATTEMPTS", 1)
    monkeypatch.setattr(registry, "_clients", {})
    with Session(tmp_path / "warehouse", "duckdb", filesystems=store_options(object_store.options, "test")) as opened:
        opened.execute(f"CREATE DATABASE d LOCATION '{object_store.uri}'")
        opened.execute(
            "CREATE TABLE d.t (a INT, b STRING) PARTITIONED BY (p INT) TBLPROPERTIES ('rewriter.packed' = 'false')"
        )
        opened.execute("INSERT INTO d.t VALUES (1, 'x', 1)")
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def times(count: int, kind: str | float, *methods: str) -> Fault:
    """Returns a fault of the first requests by these methods for files."""
    left = [count]

    def fault(method: str, path: str) -> str | float | None:
        if method not in methods or ".parquet" not in path or not left[0]:
            return None
        left[0] -= 1
        return kind

    return fault


#: Faults from which a write recovers.
PASSING = [
    ("503", 3, ("PUT",)),
    ("cut", 2, ("PUT",)),
    (0.5, 3, ("PUT", "HEAD")),
    ("503", 2, ("HEAD",)),
    ("short", 1, ("HEAD",)),
]


@pytest.mark.parametrize(("kind", "count", "methods"), PASSING)
def test_a_write_survives(
    session: Session, object_store: ObjectStore, kind: str | float, count: int, methods: tuple[str, ...]
) -> None:
    object_store.fail(times(count, kind, *methods))
    session.execute("INSERT INTO d.t VALUES (2, 'y', 2), (3, 'z', 3)")
    object_store.fail(None)
    assert rows(session, "SELECT * FROM d.t ORDER BY a") == [(1, "x", 1), (2, "y", 2), (3, "z", 3)]
    assert len(object_store.files()) == 3


@pytest.mark.parametrize(("kind", "methods"), [("503", ("PUT",)), ("cut", ("PUT",)), ("short", ("HEAD",))])
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OVERWRITE d.t VALUES (2, 'y', 2), (3, 'z', 1)",
        "CREATE TABLE d.u AS SELECT * FROM d.t",
        "ALTER TABLE d.t PARTITION (p = 1) COMPACT",
    ],
)
@pytest.mark.share(3)
def test_a_write_that_fails_leaves_nothing(
    session: Session, object_store: ObjectStore, statement: str, kind: str, methods: tuple[str, ...]
) -> None:
    session.execute("INSERT INTO d.t VALUES (5, 'w', 1)")
    before = object_store.files()
    expected = rows(session, "SELECT * FROM d.t ORDER BY a")
    object_store.fail(times(10**6, kind, *methods))
    with pytest.raises(OperationalError) as caught:
        session.execute(statement)
    object_store.fail(None)
    assert caught.value.condition == "FAILED_WRITE_FILE"
    assert caught.value.hint
    assert not any(secret in str(caught.value) for secret in SECRETS)
    assert object_store.files() == before
    assert rows(session, "SELECT * FROM d.t ORDER BY a") == expected
    session.execute(statement)


@pytest.mark.parametrize(("kind", "count"), [("503", 3), ("cut", 2), (0.4, 3), ("cut body", 1)])
def test_a_read_survives(session: Session, object_store: ObjectStore, kind: str | float, count: int) -> None:
    object_store.fail(times(count, kind, "GET", "HEAD"))
    assert rows(session, "SELECT * FROM d.t") == [(1, "x", 1)]


@pytest.mark.parametrize("kind", ["503", "cut", "cut body"])
@pytest.mark.parametrize("query", ["SELECT * FROM d.t", "SELECT MAX(a) FROM d.t"])
def test_a_read_fails(session: Session, object_store: ObjectStore, query: str, kind: str) -> None:
    object_store.fail(times(10**6, kind, "GET"))
    with pytest.raises(Error) as caught:
        rows(session, query)
    object_store.fail(None)
    assert caught.value.condition == "FAILED_READ_FILE"
    assert object_store.uri in caught.value.message
    assert not any(secret in str(caught.value) for secret in SECRETS)
    assert rows(session, query) in ([(1, "x", 1)], [(1,)])


def test_a_file_that_is_gone(session: Session, object_store: ObjectStore) -> None:
    (key,) = object_store.files()
    object_store.delete(key)
    with pytest.raises(Error) as caught:
        rows(session, "SELECT * FROM d.t")
    assert caught.value.condition == "FAILED_READ_FILE"
    assert key in caught.value.message
    with pytest.raises(Error) as caught:
        session.execute("ANALYZE TABLE d.t COMPUTE STATISTICS FOR ALL COLUMNS")
    assert key in caught.value.message


def test_vacuum_goes_on(session: Session, object_store: ObjectStore) -> None:
    """A file that cannot be removed is a warning, and the next VACUUM removes it."""
    session.execute("INSERT OVERWRITE d.t VALUES (2, 'y', 1)")
    session.execute("SET rewriter.least_retention_hours = 0")
    object_store.fail(times(10**6, "503", "DELETE"))
    result = session.execute("VACUUM RETAIN 0 HOURS")
    object_store.fail(None)
    assert result.fetch() == []
    assert object_store.uri in result.warnings[0]
    assert rows(session, "VACUUM RETAIN 0 HOURS")[0][:3] == ("d.t", "superseded", 1)
    assert len(object_store.files()) == 1
    assert rows(session, "SELECT * FROM d.t") == [(2, "y", 1)]


def test_another_catalog_writes_there(session: Session, object_store: ObjectStore) -> None:
    """Its files stay: those of the write id, after VACUUM too."""
    written = {key.split("/")[1] for key in object_store.files()}
    assert written == {"rewriter_write_id=2"}
    foreign = "t-2/rewriter_write_id=3/part-of-another.parquet"
    object_store.put(foreign, b"x")
    with pytest.raises(OperationalError) as caught:
        session.execute("INSERT INTO d.t VALUES (2, 'y', 2)")
    assert caught.value.condition == "WRITE_DIRECTORY_EXISTS"
    session.execute("INSERT INTO d.t VALUES (2, 'y', 2)")
    session.execute("SET rewriter.least_retention_hours = 0")
    assert rows(session, "VACUUM RETAIN 0 HOURS") == []
    assert foreign in object_store.files()
    assert rows(session, "SELECT a FROM d.t ORDER BY a") == [(1,), (2,)]


def test_vacuum_passes_over_a_bucket(session: Session, object_store: ObjectStore) -> None:
    """One that is gone, or refuses this user, is a warning; local tables are cleaned."""
    session.execute("SET rewriter.least_retention_hours = 0")
    session.execute("CREATE TABLE near AS SELECT 1 AS a")
    session.execute("INSERT OVERWRITE d.t VALUES (2, 'y', 1)")
    for fault, words in (("403", "Nothing is removed in"), (None, "does not exist")):
        session.execute("INSERT OVERWRITE near VALUES (2)")
        if fault is None:
            object_store.client.delete_dir(object_store.bucket)
        object_store.fail(lambda method, path, fault=fault: fault)
        result = session.execute("VACUUM RETAIN 0 HOURS")
        object_store.fail(None)
        assert [row[:3] for row in result.fetch()] == [("near", "superseded", 1)]
        assert len(result.warnings) == 1
        assert f"{object_store.uri}" in result.warnings[0]
        assert words in result.warnings[0]


def test_a_name_like_a_final_error(session: Session, object_store: ObjectStore) -> None:
    """What the path contains does not decide whether a request is repeated."""
    session.execute("CREATE TABLE d.n (a INT) PARTITIONED BY (q STRING) TBLPROPERTIES ('rewriter.packed' = 'false')")
    object_store.fail(times(2, "503", "PUT"))
    session.execute("INSERT INTO d.n VALUES (1, 'INVALID_CODE')")
    object_store.fail(None)
    assert rows(session, "SELECT * FROM d.n") == [(1, "INVALID_CODE")]


def test_a_load_survives(session: Session, object_store: ObjectStore) -> None:
    """Pieces of a file whose responses are cut are read again."""
    key = next(key for key in object_store.files() if key.endswith(".parquet"))
    session.execute("CREATE TABLE d.l (a INT, b STRING)")
    uri = object_store.put("in/f.parquet", object_store.get(key))
    object_store.fail(times(2, "cut body", "GET"))
    session.execute(f"LOAD DATA INPATH '{uri}' INTO TABLE d.l")
    object_store.fail(None)
    assert rows(session, "SELECT * FROM d.l") == [(1, "x")]
