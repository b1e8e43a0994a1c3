"""No exception but ours leaves the package: files that are not there, full disks, corrupt files, connections that are
closed while they work, and whatever is left.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rotation

import rewriter
from rewriter import errors
from rewriter.catalog.storage import data_files
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine
from rewriter.session import Session


@pytest.fixture(params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", duckdb) as opened:
        yield opened


def parquet(path: Path, rows: int = 3) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": list(range(rows)), "b": [str(n * 7919) for n in range(rows)]}), path)


def external(session: Session, name: str, folder: Path) -> None:
    session.execute(f"CREATE EXTERNAL TABLE {name} (a BIGINT, b STRING) STORED AS PARQUET LOCATION '{folder}'")


def failure(session: Session, sql: str) -> rewriter.Error:
    with pytest.raises(rewriter.Error) as caught:
        list(session.execute(sql).rows())
    return caught.value


class TestFilesThatAreNotThere:
    READ = (
        "SELECT * FROM e",
        "EXPLAIN SELECT * FROM e",
        "ANALYZE TABLE e COMPUTE STATISTICS",
        "CREATE TABLE n AS SELECT * FROM e",
    )
    SHOWN = (
        "SHOW TABLES",
        "SHOW TABLE EXTENDED LIKE '*'",
        "DESCRIBE EXTENDED e",
        "DESCRIBE FORMATTED e",
        "SHOW CREATE TABLE e",
    )

    @pytest.mark.parametrize("target", ["/nowhere/at/all", "b.parquet"], ids=["dangling", "loop"])
    def test_a_link_to_no_file_is_refused_where_its_rows_would_be_missing(
        self, session: Session, tmp_path: Path, target: str
    ) -> None:
        parquet(tmp_path / "e" / "a.parquet")
        (tmp_path / "e" / "b.parquet").symlink_to(target)
        external(session, "e", tmp_path / "e")
        for sql in (
            *self.READ,
            f"SELECT * FROM parquet.`{tmp_path}/e`",
            f"SELECT * FROM parquet.`{tmp_path}/e/b.parquet`",
        ):
            error = failure(session, sql)
            assert (error.condition, error.object) == ("FAILED_READ_FILE", str(tmp_path / "e" / "b.parquet")), sql
        for sql in self.SHOWN:
            assert list(session.execute(sql).rows()), sql
        session.execute("INSERT OVERWRITE e VALUES (7, 'x')")
        assert session.execute("SELECT * FROM e").fetch() == [(7, "x")]
        assert not (tmp_path / "e" / "b.parquet").is_symlink()

    def test_links_among_partitions(self, session: Session, tmp_path: Path) -> None:
        parquet(tmp_path / "p" / "k=1" / "a.parquet")
        (tmp_path / "p" / "k=1" / "b.parquet").symlink_to("/nowhere")
        (tmp_path / "p" / "k=2").symlink_to("/nowhere")
        (tmp_path / "p" / "k=3").symlink_to("k=3")
        session.execute(
            f"CREATE EXTERNAL TABLE p (a BIGINT) PARTITIONED BY (k INT) STORED AS PARQUET LOCATION '{tmp_path}/p'"
        )
        session.execute("MSCK REPAIR TABLE p")
        assert session.execute("SHOW PARTITIONS p").fetch() == [("k=1",)]
        assert failure(session, "SELECT * FROM p").condition == "FAILED_READ_FILE"
        assert session.execute("DESCRIBE EXTENDED p PARTITION (k = 1)").fetch()
        error = failure(session, "INSERT INTO p VALUES (1, 2)")
        assert (error.condition, error.object) == ("LINK_NOT_FOLLOWED", str(tmp_path / "p" / "k=2"))
        assert (tmp_path / "p" / "k=2").is_symlink()

    def test_a_pipe_is_no_data_file(self, session: Session, tmp_path: Path) -> None:
        (tmp_path / "e").mkdir()
        os.mkfifo(tmp_path / "e" / "a.parquet")
        external(session, "e", tmp_path / "e")
        assert "not a regular file" in failure(session, "SELECT * FROM e").message

    def test_a_file_that_vanishes_after_its_directory_was_listed_is_not_there(
        self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        parquet(tmp_path / "e" / "a.parquet")
        parquet(tmp_path / "e" / "b.parquet")
        external(session, "e", tmp_path / "e")
        listed = data_files._paths

        def vanishing(root: str) -> list[str]:
            listing = listed(root)
            (tmp_path / "e" / "b.parquet").unlink(missing_ok=True)
            return listing

        monkeypatch.setattr(data_files, "_paths", vanishing)
        assert session.execute("SELECT COUNT(*) FROM e").fetch() == [(3,)]

    def test_a_directory_that_may_not_be_listed_is_not_an_empty_one(
        self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        parquet(tmp_path / "e" / "below" / "a.parquet")
        external(session, "e", tmp_path / "e")
        scandir = os.scandir

        def refused(path: str) -> object:
            if str(path).endswith("below"):
                raise PermissionError(13, "Permission denied", str(path))
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refused)
        error = failure(session, "SELECT * FROM e")
        assert error.condition == "FAILED_READ_FILE"
        assert "below" in error.message


def damaged_files(folder: Path) -> dict[str, Path]:
    """Creates tables of two files each, of which the second cannot be read, by name."""
    sources: dict[str, Path] = {}
    for name in ("text", "half", "footer", "pages", "empty"):
        parquet(folder / name / "a.parquet", 20_000)
        path = folder / name / "b.parquet"
        parquet(path, 20_000)
        data = bytearray(path.read_bytes())
        if name == "footer":
            data[-200:-8] = b"\xfe" * 192
        elif name == "pages":
            data[4:20_000] = b"\xff" * 19_996
        path.write_bytes({"text": b"hello world" * 9, "half": data[: len(data) // 2], "empty": b""}.get(name, data))
        sources[name] = path
    for name, good, bad in (
        ("ragged.csv", b"a,b\n1,x\n", b"a,b\n1,x\n2,y,z,w\n"),
        ("binary.csv", b"a,b\n1,x\n", b"a,b\n" + bytes(range(256))),
        ("torn.json", b'{"a":1,"b":"x"}\n', b'{"a":1,"b":"x"}\n{"a":2,\n'),
        ("coded.json", b'{"a":1,"b":"x"}\n', b'{"a":1,"b":"\xff\xfe"}\n'),
    ):
        (folder / name).mkdir()
        suffix = name.rpartition(".")[2]
        (folder / name / f"a.{suffix}").write_bytes(good)
        sources[name] = folder / name / f"b.{suffix}"
        sources[name].write_bytes(bad)
    return sources


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, engine: Engine) -> None:
    with Session(tmp_path / "warehouse", engine) as session:
        for number, (name, path) in enumerate(damaged_files(tmp_path / "files").items()):
            format = name.rpartition(".")[2] if "." in name else "parquet"
            session.execute(f"CREATE TABLE t{number} (a BIGINT, b STRING) USING {format} LOCATION '{path.parent}'")
            error = failure(session, f"SELECT SUM(a), MAX(b) FROM t{number}")
            assert str(path) in error.message, (name, error)
            assert "EXPLAIN REWRITE" not in str(error.hint), (name, error)
            assert isinstance(error, rewriter.OperationalError | rewriter.DataError)
            assert not isinstance(error, rewriter.InternalError)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mounts a file system of 2 MB."""
    directory = tmp_path / "disk"
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(directory)]
    with contextlib.suppress(OSError):
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            try:
                yield directory
            finally:
                subprocess.run(["umount", "-l", str(directory)], check=True)
            return
    pytest.skip("this user may not mount a file system")


def fill(directory: Path) -> None:
    with contextlib.suppress(OSError), open(directory / "filling", "ab", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def test_a_full_disk_is_named(small_disk: Path, engine: Engine) -> None:
    digits = "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))"
    rows = " || ".join(f"CAST(d{n}.x * {7919 * n + 131071} AS STRING)" for n in range(6))
    source = f"SELECT {rows} AS v FROM " + " CROSS JOIN ".join(f"{digits} AS d{n}(x)" for n in range(6))
    with Session(small_disk / "w", engine) as session:
        session.execute("CREATE TABLE t (v STRING)")
        session.execute("CREATE TABLE p (v STRING) PARTITIONED BY (k INT)")
        session.execute(f"CREATE EXTERNAL TABLE e (v STRING) STORED AS PARQUET LOCATION '{small_disk}/e'")
        many = " UNION ALL ".join([source] * 2)
        statements = [
            f"INSERT INTO t {many}",
            f"INSERT INTO p PARTITION (k) SELECT v, 1 FROM ({many}) AS q",
            f"INSERT INTO e {many}",
            f"CREATE TABLE c AS {many}",
        ]
        for sql in rotation.share(statements, 4) if engine.name == "spark" else statements:
            error = failure(session, sql)
            assert (error.condition, error.sqlstate) == ("DISK_FULL", "53100"), sql
            assert str(small_disk) in error.message, sql
        assert session.execute("SELECT COUNT(*) FROM t").fetch() == [(0,)]
        fill(small_disk)
        error = failure(session, "INSERT INTO t VALUES ('x')")
        assert error.condition == "DISK_FULL"
        assert "catalog.db" in error.message
        (small_disk / "filling").unlink()
        session.execute("INSERT INTO t VALUES ('x')")
        assert session.execute("SELECT * FROM t").fetch() == [("x",)]


class TestClosingWhatIsBusy:
    @pytest.mark.parametrize("name", ["duckdb", "spark"])
    def test_a_statement_of_another_thread_ends_with_an_error_of_ours(
        self, tmp_path: Path, name: str, request: pytest.FixtureRequest
    ) -> None:
        request.getfixturevalue(name)  # So that no Spark of the connection's own is started.
        connection = rewriter.connect(tmp_path, engine=name)
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
        digits = "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))"
        tables = " CROSS JOIN ".join(f"{digits} AS d{n}(x)" for n in range(12))
        raised: list[BaseException] = []

        def work() -> None:
            try:
                connection.execute(f"SELECT COUNT(*) FROM {tables} WHERE d0.x + d5.x + d11.x > 25").fetchall()
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(1)
        connection.close()
        connection.close()
        thread.join(40)
        assert not thread.is_alive()
        assert [(type(error), getattr(error, "condition", "")) for error in raised] == [
            (errors.EngineError, "ENGINE_CLOSED")
        ]
        with pytest.raises(rewriter.InterfaceError):
            connection.execute("SELECT 1")

    def test_rows_that_another_thread_fetches(self, tmp_path: Path) -> None:
        connection = rewriter.connect(tmp_path, engine="duckdb")
        digits = "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))"
        cursor = connection.execute(
            f"SELECT a.x FROM {digits} AS a(x) " + " ".join(f"CROSS JOIN {digits} AS b{n}(y)" for n in range(4))
        )
        raised: list[BaseException] = []

        def work() -> None:
            try:
                while cursor.fetchone() is not None:
                    pass
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        connection.close()
        thread.join(40)
        assert not thread.is_alive()
        assert all(isinstance(error, rewriter.Error) for error in raised)


class TestWhatIsLeft:
    def broken(self, error: Exception) -> object:
        def run(*_: object, **__: object) -> object:
            raise error

        return run

    @pytest.mark.parametrize(
        ("error", "kind", "condition"),
        [
            (KeyError("x"), rewriter.InternalError, "INTERNAL_ERROR"),
            (RuntimeError("oh\nno"), rewriter.InternalError, "INTERNAL_ERROR"),
            (OSError(28, "No space left on device", "/a/b"), rewriter.OperationalError, "DISK_FULL"),
            (PermissionError(13, "Permission denied", "/a/b"), rewriter.OperationalError, "SYSTEM_IO_ERROR"),
            (RecursionError("maximum"), rewriter.OperationalError, "STATEMENT_TOO_COMPLEX"),
            (MemoryError(), rewriter.OperationalError, "OUT_OF_MEMORY"),
        ],
    )
    def test_it_becomes_ours_with_its_cause(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        error: Exception,
        kind: type[Exception],
        condition: str,
    ) -> None:
        with rewriter.connect(tmp_path, engine="duckdb") as connection:
            with monkeypatch.context() as patch:
                patch.setattr("rewriter.session.parse", self.broken(error))
                for run in (connection.execute, connection.session.plan):
                    with pytest.raises(kind) as caught:
                        run("SELECT 1")
                    assert caught.value.condition == condition
                    assert caught.value.__cause__ is error
                    assert caught.value.hint
            assert connection.execute("SELECT 1").fetchall() == [(1,)]

    def test_of_fetching_opening_and_closing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        connection = rewriter.connect(tmp_path, engine="duckdb")
        cursor = connection.execute("SELECT 1")
        with monkeypatch.context() as patch:
            patch.setattr("rewriter.runtime.result.python_values", self.broken(KeyError("x")))
            with pytest.raises(rewriter.InternalError):
                cursor.fetchone()
        with monkeypatch.context() as patch:
            patch.setattr("rewriter.session.Catalog.open", self.broken(KeyError("x")))
            with pytest.raises(rewriter.InternalError):
                rewriter.connect(tmp_path, engine="duckdb")
        with monkeypatch.context() as patch:
            patch.setattr("rewriter.exec.duckdb.engine.DuckDBEngine.close", self.broken(KeyError("x")))
            with pytest.raises(rewriter.InternalError):
                connection.close()

    def test_what_is_given_wrongly_is_told(self, tmp_path: Path) -> None:
        with rewriter.connect(tmp_path, engine="duckdb") as connection:
            cursor = connection.execute("SELECT 1")
            for call in (
                lambda: connection.execute(5),  # type: ignore[arg-type]
                lambda: cursor.execute(None),  # type: ignore[arg-type]
                lambda: connection.execute("SELECT 1").fetchmany(-1),
                lambda: connection.execute("SELECT 1").fetchmany("x"),  # type: ignore[arg-type]
                lambda: rewriter.connect(5, engine="duckdb"),  # type: ignore[arg-type]
            ):
                with pytest.raises(rewriter.InterfaceError):
                    call()


def nested(depth: int) -> str:
    return "STRUCT<a: " * depth + "INT" + ">" * depth


def test_types_nest_a_hundred_deep(session: Session) -> None:
    session.execute(f"CREATE TABLE deep (x {nested(100)})")
    for sql in ("SHOW TABLE EXTENDED LIKE '*'", "DESCRIBE EXTENDED deep AS JSON", "SHOW CREATE TABLE deep"):
        assert list(session.execute(sql).rows())
    for sql in (
        f"CREATE TABLE deeper (x {nested(101)})",
        f"CREATE TABLE deeper (x {nested(1_000)})",
        f"CREATE TABLE deeper (x ARRAY<{nested(100)}>)",
        f"ALTER TABLE deep ADD COLUMNS (y {nested(101)})",
        f"CREATE CUBE c (x {nested(101)}, n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
    ):
        error = failure(session, sql)
        assert (error.condition, error.sqlstate) == ("TYPE_TOO_DEEP", "54001")
        assert error.position is not None
    assert session.execute("SHOW TABLES").fetch() == [("deep", "MANAGED", "parquet", "")]


def test_the_hint_is_part_of_the_text_of_an_error(session: Session) -> None:
    error = failure(session, "SELECT * FROM nope")
    assert error.hint
    assert str(error) == f"[{error.condition}] {error.message}\nHint: {error.hint}"
    assert str(rewriter.OperationalError("why", condition="X")) == "[X] why"
    assert errors.render(error).count(error.hint) == 1
