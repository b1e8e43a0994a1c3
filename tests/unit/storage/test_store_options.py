"""The options of object stores come from the reader's configuration, and credentials are never shown."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from object_store import ObjectStore

import rewriter
from rewriter import uris
from rewriter.catalog.filesystems.options import StoreOptions, store_options
from rewriter.errors import Error, InterfaceError
from rewriter.runtime.connection_settings import Source
from rewriter.runtime.profiles import resolve_connection
from rewriter.session import Session

WRONG = [
    ({"s3://bucket": 1}, "it is no table"),
    ({"s3://bucket/prefix": {}}, "options are those of a bucket"),
    ({"gs://bucket": {}}, "files of gs:// are not supported"),
    ({"s3://u:secret@bucket": {}}, "a URI has no user"),
    ({"s3://bucket": {}, "s3a://bucket/": {}}, "it is given twice"),
    ({"s3://bucket": {"regoin": "x"}}, "unknown option regoin"),
    ({"s3://bucket": {"region": 1}}, "region is not a text"),
    ({"s3://bucket": {"anonymous": "yes"}}, "anonymous is not true or false"),
    (
        {"s3://bucket": {"access_key_env": "pass/word", "secret_key_env": "S"}},
        "not the name of an environment",
    ),
    ({"s3://bucket": {"access_key_env": "A"}}, "only one of"),
    ({"s3://bucket": {"endpoint": "http://secret.example"}}, "not encrypted"),
    ({"s3://bucket": {"endpoint": "https://u:secret@h"}}, "has a user or password"),
    ({"s3://bucket": {"endpoint": "host:9000"}}, "not an address"),
    ({"s3://bucket": {"anonymous": True, "access_key_env": "A", "secret_key_env": "B"}}, "is anonymous, and has keys"),
]


@pytest.mark.parametrize(("tables", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_options(tables: dict[str, object], message: str) -> None:
    with pytest.raises(InterfaceError, match=message) as caught:
        store_options(tables, "The file f")
    assert not [word for word in ("secret@", "secret.", "pass/word") if word in str(caught.value)]
    assert caught.value.hint


def test_the_files_of_profiles_have_options(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "rewriter").mkdir(parents=True)
    (tmp_path / "rewriter.toml").write_text('[filesystems."s3://aaa"]\nregion = "here"\n')
    (home / "rewriter" / "rewriter.toml").write_text(
        '[filesystems."s3://aaa"]\nregion = "there"\n[filesystems."s3://"]\nanonymous = true\n'
    )
    parts = resolve_connection(Source("", "/w"), {"XDG_CONFIG_HOME": str(home)}, tmp_path)
    assert parts.filesystems == {"s3://aaa": StoreOptions(region="here"), "s3://": StoreOptions(anonymous=True)}
    (tmp_path / "rewriter.toml").write_text("filesystems = 1\n")
    with pytest.raises(InterfaceError, match="it is no table"):
        resolve_connection(Source("", "/w"), {}, tmp_path)


def test_the_environment_alone(tmp_path: Path, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", object_store.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key-of-tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-tests")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with Session(tmp_path / "w", "duckdb") as session:
        session.execute(f"CREATE DATABASE d LOCATION '{object_store.uri}'")
        session.execute("CREATE TABLE d.t AS SELECT 1 AS a")
        assert session.execute("SELECT * FROM d.t").fetch() == [(1,)]
    assert len(object_store.files()) == 1


def test_connect_takes_options(tmp_path: Path, object_store: ObjectStore) -> None:
    with rewriter.connect(tmp_path / "w", "duckdb", filesystems=object_store.options) as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE DATABASE d LOCATION '{object_store.uri}'")
        cursor.execute("CREATE TABLE d.t AS SELECT 1 AS a")
    with pytest.raises(InterfaceError, match="connect: filesystems"):
        rewriter.connect(tmp_path / "w", "duckdb", filesystems={"s3://bucket": {"key": "secret"}})
    # Nothing in the warehouse names a credential or the address.
    for path in (tmp_path / "w").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert not [word for word in (b"of-tests", b"REWRITER_TEST_KEY", b"127.0.0.1") if word in content]


def test_a_variable_that_is_not_set(tmp_path: Path, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REWRITER_TEST_SECRET")
    with Session(tmp_path / "w", "duckdb", filesystems=store_options(object_store.options, "test")) as session:
        with pytest.raises(Error, match="REWRITER_TEST_SECRET") as caught:
            session.execute(f"SELECT * FROM parquet.`{object_store.uri}/x`")
        assert caught.value.condition == "FILESYSTEM_CREDENTIALS_MISSING"


def test_keys_that_are_refused(tmp_path: Path, object_store: ObjectStore) -> None:
    """An error that does not pass is reported at once, without the keys."""
    object_store.fail(lambda method, path: "403")
    with Session(tmp_path / "w", "duckdb", filesystems=store_options(object_store.options, "test")) as session:
        object_store.forget()
        with pytest.raises(Error) as caught:
            session.execute(f"SELECT * FROM parquet.`{object_store.uri}/x`")
        assert caught.value.condition == "FAILED_READ_FILE"
        assert "of-tests" not in str(caught.value)
        assert len(object_store.requests) <= 2


def test_sessions_do_not_share_options(tmp_path: Path, object_store: ObjectStore) -> None:
    """An engine reads with the options of one session: with those of another one, it would be a guess."""
    object_store.put("x.csv", b"a\n1\n")
    query = f"SELECT * FROM csv.`{object_store.uri}/x.csv`"
    options = store_options(object_store.options, "test")
    with Session(tmp_path / "w", "duckdb", filesystems=options) as session:
        assert session.execute(query).fetch() == [("1",)]
        other = {**options, "s3://": StoreOptions(anonymous=True)}
        with Session(tmp_path / "v", session._started_engine(), filesystems=other) as second:
            with pytest.raises(InterfaceError) as caught:
                second.execute(query)
            assert caught.value.condition == "FILESYSTEMS_DIFFER"
        assert session.execute(query).fetch() == [("1",)]


def test_the_examples() -> None:
    assert doctest.testmod(uris).failed == 0
