"""INSERT … FROM STREAM: each file of a directory is loaded once; SHOW STREAMS and STOP STREAM."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rewriter
from rewriter.catalog.storage.data_files import expand
from rewriter.catalog.store import stream_runs
from rewriter.errors import ConflictError, Error, IntegrityError, NotSupportedError, ParseError

TEN = pa.table({"x": pa.array(range(10), pa.int32()), "dt": [dt.date(2013, 1, 1 + n % 3) for n in range(10)]})


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[rewriter.Connection]:
    (tmp_path / "in").mkdir()
    with rewriter.connect(tmp_path / "warehouse", engine="duckdb") as opened:
        opened.execute("CREATE TABLE t (x INT) PARTITIONED BY (dt DATE)")
        yield opened


def statement(tmp_path: Path, query: str = "SELECT x, dt FROM {stream}", **options: str) -> str:
    settings = {"stream": "s", "checkpoint": f"{tmp_path}/checkpoint", **options}
    texts = ", ".join(f"'{key.replace('_', ' ')}' = '{value}'" for key, value in settings.items())
    return f"INSERT INTO t {query.format(stream=f'STREAM parquet.`{tmp_path}/in` OPTIONS ({texts})')}"


def put(tmp_path: Path, name: str, rows: pa.Table = TEN) -> None:
    pq.write_table(rows, tmp_path / f"_{name}")
    os.rename(tmp_path / f"_{name}", tmp_path / "in" / f"{name}.parquet")


def count(connection: rewriter.Connection) -> int:
    return int(connection.execute("SELECT COUNT(x) FROM t").fetchall()[0][0])


def test_each_file_is_loaded_once(connection: rewriter.Connection, tmp_path: Path) -> None:
    text = statement(tmp_path)
    assert connection.execute(text).rowcount == 0
    for name in "abc":
        put(tmp_path, name)
    cursor = connection.execute(text)
    assert (cursor.rowcount, cursor.fetchall()) == (30, [("s",)])
    put(tmp_path, "d")
    assert connection.execute(text).rowcount == 10
    assert connection.execute(text).rowcount == 0
    assert count(connection) == 40


def test_a_file_that_changes_is_not_loaded_again(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    connection.execute(statement(tmp_path))
    put(tmp_path, "a", pa.concat_tables([TEN, TEN]))
    assert connection.execute(statement(tmp_path)).rowcount == 0


@pytest.mark.parametrize("name", [b"\xff.parquet", b"a\\b.parquet"])
def test_a_failed_run_names_any_file(connection: rewriter.Connection, tmp_path: Path, name: bytes) -> None:
    with open(os.fsencode(tmp_path / "in") + b"/" + name, "wb"):
        pass
    for _ in range(2):
        with pytest.raises(Error) as caught:
            connection.execute(statement(tmp_path))
        assert caught.value.condition == "FAILED_READ_FILE"
    (stream,) = connection.execute("SHOW STREAMS").fetchall()
    assert stream[2] == "failed"
    assert "FAILED_READ_FILE" in stream[9]


def test_id_and_checkpoint_may_be_left_out(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    load = f"INSERT INTO t SELECT * FROM STREAM parquet.`{tmp_path / 'in'}`"
    assert [connection.execute(load).rowcount for _ in range(2)] == [10, 0]
    put(tmp_path, "b")
    assert connection.execute(load).rowcount == 10
    (stream,) = connection.execute("SHOW STREAMS").fetchall()
    assert (stream[0], stream[3], "/_streams/t-" in stream[8]) == ("t", 2, True)
    # Another id is another stream, and other files need one.
    assert connection.execute(f"{load} OPTIONS ('stream' = 'x/../y')").rowcount == 20
    (tmp_path / "other").mkdir()
    with pytest.raises(Error, match="belongs to"):
        connection.execute(load.replace("/in`", "/other`"))
    connection.execute("DROP TABLE t")
    connection.execute("CREATE TABLE t (x INT, dt DATE)")
    assert connection.execute(load).rowcount == 20


def test_a_renamed_table_goes_on_with_its_stream(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    load = f"INSERT INTO t SELECT * FROM STREAM parquet.`{tmp_path / 'in'}`"
    connection.execute(load)
    connection.execute("ALTER TABLE t RENAME TO renamed")
    put(tmp_path, "b")
    assert connection.execute(load.replace("INTO t", "INTO renamed")).rowcount == 10
    assert [row[:2] for row in connection.execute("SHOW STREAMS").fetchall()] == [("t", "renamed")]


@pytest.mark.parametrize("broken", ["a", "b"])
def test_a_file_that_is_gone_can_be_replaced(connection: rewriter.Connection, tmp_path: Path, broken: str) -> None:
    for name in "ab":
        put(tmp_path, name)
    path = tmp_path / "in" / f"{broken}.parquet"
    path.write_bytes(b"")
    for name in "ab":  # The first file of a batch, by time and name, tells the columns.
        os.utime(tmp_path / "in" / f"{name}.parquet", (1_400_000_000, 1_400_000_000))
    for condition in ("FAILED_READ_FILE", "PATH_NOT_FOUND" if broken == "a" else "FAILED_READ_FILE"):
        with pytest.raises(Error) as caught:
            connection.execute(statement(tmp_path))
        assert caught.value.condition == condition
        assert "belongs to batch 0" in str(caught.value.hint)
        path.unlink(missing_ok=True)
    put(tmp_path, broken, TEN.slice(0, 0))
    assert connection.execute(statement(tmp_path)).rowcount == 10


def test_a_batch_has_at_most_so_many_files(connection: rewriter.Connection, tmp_path: Path) -> None:
    for name in "abcde":
        put(tmp_path, name)
    connection.execute(statement(tmp_path, max_files="2"))
    (stream,) = connection.execute("SHOW STREAMS").fetchall()
    assert stream[:5] == ("s", "t", "finished", 3, 50)


def test_the_query_filters_joins_and_names(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    connection.execute("CREATE TABLE names (x INT, name STRING)")
    connection.execute("INSERT INTO names VALUES (1, 'one'), (2, 'two')")
    connection.execute("CREATE TABLE u (x INT, name STRING, dt DATE)")
    query = "SELECT s.dt, n.name, s.x FROM {stream} AS s LEFT JOIN names AS n ON n.x = s.x WHERE s.x < 3"
    connection.execute(statement(tmp_path, query).replace("INTO t", "INTO u BY NAME"))
    assert connection.execute("SELECT x, name FROM u ORDER BY x").fetchall() == [(0, None), (1, "one"), (2, "two")]


def test_text_files_are_read_like_tables_of_them(connection: rewriter.Connection, tmp_path: Path) -> None:
    (tmp_path / "in" / "a.csv").write_text("x,dt\n1,2013-01-01\n,2013-01-02\n")
    query = "SELECT CAST(x AS INT), CAST(dt AS DATE) FROM {stream}"
    connection.execute(statement(tmp_path, query).replace("parquet.", "csv."))
    assert connection.execute("SELECT x, dt FROM t ORDER BY dt").fetchall() == [
        (1, dt.date(2013, 1, 1)),
        (None, dt.date(2013, 1, 2)),
    ]


def test_a_query_that_computes_each_row_alone_runs(connection: rewriter.Connection, tmp_path: Path) -> None:
    for name in "ab":
        put(tmp_path, name)
    query = "SELECT y, dt FROM {stream} UNPIVOT (y FOR n IN (x)) WHERE IF(y LIKE ANY ('1', '2'), TRUE, y = 3)"
    assert connection.execute(statement(tmp_path, query, max_files="1")).rowcount == 6
    query = "SELECT IF(x LIKE ANY ('1', '2'), (SELECT MAX(x) FROM t), 0), dt FROM {stream}"
    assert connection.execute(statement(tmp_path, query, stream="like", checkpoint=f"{tmp_path}/2")).rowcount == 20


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("SELECT MAX(x), dt FROM {stream} GROUP BY dt", "GROUP BY dt"),
        ("SELECT MAX(x), dt FROM {stream} WHERE x > (SELECT 1) GROUP BY (dt) HAVING x > 1", "GROUP BY (dt)"),
        ("SELECT MAX(x), DATE'2013-01-01' FROM {stream} HAVING MAX(x) > 1", "HAVING MAX(x) > 1"),
        ("SELECT MAX(x), DATE'2013-01-01' FROM {stream}", "MAX(x)"),
        ("SELECT 1 + MAX(x), DATE'2013-01-01' FROM {stream}", "MAX(x)"),
        ("SELECT CAST(mean(x) AS INT), DATE'2013-01-01' FROM {stream}", "mean(x)"),
        ("SELECT CAST(`try_sum`(x) AS INT), DATE'2013-01-01' FROM {stream}", "`try_sum`(x)"),
        ("SELECT IF(any(x > 1), 1, 0), DATE'2013-01-01' FROM {stream}", "any(x > 1)"),
        ("SELECT IF(TRUE = any(x > 1), 1, 0), DATE'2013-01-01' FROM {stream}", "any(x > 1)"),
        ("SELECT IF(any((x) > 1), 1, 0), DATE'2013-01-01' FROM {stream}", "any((x) > 1)"),
        ("SELECT a, DATE'2013-01-01' FROM {stream} PIVOT (COUNT(*) FOR x IN (1 AS a))", "PIVOT"),
        ("SELECT x, dt FROM {stream} TABLESAMPLE (5 ROWS) AS s", "TABLESAMPLE"),
        ("SELECT COUNT(*) OVER (), dt FROM {stream}", "COUNT(*) OVER ()"),
        ("SELECT LAG(x) IGNORE NULLS OVER (ORDER BY (x)), dt FROM {stream}", "LAG(x) IGNORE NULLS OVER (ORDER BY (x))"),
        ("SELECT MAX(x) OVER w, dt FROM {stream} WINDOW w AS (ORDER BY x)", "WINDOW w AS (ORDER BY x)"),
        ("SELECT DISTINCT x, dt FROM {stream}", "DISTINCT"),
        ("SELECT x, dt FROM {stream} ORDER BY x LIMIT 3", "ORDER BY x"),
        ("SELECT x, dt FROM {stream} LIMIT 3", "LIMIT 3"),
        ("SELECT x, dt FROM {stream} UNION ALL SELECT x, dt FROM t", "UNION"),
        ("SELECT o.x, o.dt FROM t AS o JOIN {stream} AS s ON s.x = o.x", "parquet."),
        ("SELECT o.x, o.dt FROM {stream} AS s RIGHT JOIN t AS o ON s.x = o.x", "RIGHT JOIN t AS o"),
        ("SELECT o.x, o.dt FROM {stream} AS s FULL OUTER JOIN t AS o ON s.x = o.x", "FULL OUTER JOIN t AS o"),
        ("SELECT x, dt FROM (SELECT x, dt FROM {stream})", "parquet."),
        ("SELECT x, dt FROM t WHERE x IN (SELECT x FROM {stream})", "parquet."),
        ("SELECT x, {stream} FROM t", "t"),
        ("VALUES (1, {stream})", "VALUES"),
    ],
)
def test_a_query_that_depends_on_how_rows_arrive_is_refused_at_its_place(
    connection: rewriter.Connection, tmp_path: Path, query: str, at: str
) -> None:
    put(tmp_path, "a")
    text = statement(tmp_path, query)
    with pytest.raises(NotSupportedError) as caught:
        connection.execute(text)
    position = caught.value.position
    assert position is not None
    marked = text[position.start : position.end]
    assert marked == (f"parquet.`{tmp_path}/in`" if at == "parquet." else at)
    assert caught.value.condition == "STREAM_QUERY"
    assert connection.execute("SHOW STREAMS").fetchall() == []


@pytest.mark.parametrize(
    ("text", "condition", "at"),
    [
        ("INSERT OVERWRITE t SELECT * FROM STREAM csv.`z`", "PARSE_SYNTAX_ERROR", "STREAM"),
        ("SELECT * FROM STREAM csv.`z`", "STREAM_QUERY", "STREAM"),
        ("CREATE TABLE u AS SELECT * FROM STREAM csv.`z` OPTIONS ('stream' = 's')", "STREAM_QUERY", "STREAM"),
        ("CREATE VIEW v AS SELECT * FROM STREAM csv.`z`", "STREAM_QUERY", "STREAM"),
        ("FROM STREAM csv.`z` INSERT INTO t SELECT * INSERT INTO t SELECT *", "STREAM_QUERY", "STREAM"),
        ("WITH c AS (SELECT * FROM STREAM csv.`z`) SELECT * FROM c", "STREAM_QUERY", "STREAM"),
        ("INSERT OVERWRITE DIRECTORY 'd' USING csv SELECT * FROM STREAM csv.`z`", "STREAM_QUERY", "STREAM"),
        ("EXPLAIN SELECT * FROM STREAM csv.`z`", "STREAM_QUERY", "STREAM"),
        ("EXPLAIN INSERT INTO t SELECT * FROM STREAM csv.`z`", "STREAM_QUERY", "STREAM"),
        ("INSERT INTO t SELECT * FROM STREAM csv.`z`, STREAM csv.`y`", "PARSE_SYNTAX_ERROR", "STREAM"),
        ("INSERT INTO t SELECT * FROM STREAM csv.`z` OPTIONS ('a')", "PARSE_SYNTAX_ERROR", ")"),
        ("INSERT INTO t SELECT * FROM STREAM csv.`z` OPTIONS ('a' = 'b', 'A' = 'c')", "DUPLICATE_KEY", "'A' = 'c'"),
        ("INSERT INTO t SELECT * FROM STREAM csv.`z` OPTIONS ('a' = 'b')", "STREAM_OPTION", "'a' = 'b'"),
        ("INSERT INTO t SELECT * FROM STREAM csv.`z` OPTIONS ('stream' = ' ')", "STREAM_OPTION", "'stream' = ' '"),
        (
            "INSERT INTO t SELECT * FROM STREAM csv.`z` OPTIONS ('stream' = 's', 'checkpoint' = 'c', 'trigger' = 'x')",
            "STREAM_OPTION",
            "'trigger' = 'x'",
        ),
        (
            "INSERT INTO t SELECT x FROM STREAM csv.`z` OPTIONS ('stream' = 's', 'checkpoint'='c', 'max files'='0')",
            "STREAM_OPTION",
            "'max files'='0'",
        ),
        (
            "INSERT INTO t SELECT x FROM STREAM csv.`z` OPTIONS ('stream' = 's', 'checkpoint'='c', 'max files'='²')",
            "STREAM_OPTION",
            "'max files'='²'",
        ),
        (
            "INSERT INTO t SELECT * FROM STREAM csv.`z`OPTIONS('stream'='s','checkpoint'='c','trigger'='9999999 hour')",
            "STREAM_OPTION",
            "'trigger'='9999999 hour'",
        ),
        (
            "INSERT INTO missing SELECT * FROM STREAM csv.`z` OPTIONS ('stream' = 's', 'checkpoint' = 'c')",
            "",
            "missing",
        ),
        ("STOP STREAM missing", "STREAM_NOT_FOUND", "missing"),
    ],
)
def test_a_wrong_statement_is_an_error_at_its_place(
    connection: rewriter.Connection, text: str, condition: str, at: str
) -> None:
    with pytest.raises(Error) as caught:
        connection.execute(text)
    position = caught.value.position
    assert position is not None
    assert text[position.start : position.end] == at
    assert caught.value.condition == (condition or "TABLE_OR_VIEW_NOT_FOUND")


@pytest.mark.parametrize(("mark", "values"), [("?", ["s"]), (":name", {"name": "s"})])
def test_an_option_is_no_parameter(connection: rewriter.Connection, mark: str, values: Any) -> None:
    text = f"INSERT INTO t SELECT x, dt FROM STREAM csv.`z` OPTIONS ('stream' = {mark}, 'checkpoint' = 'c')"
    with pytest.raises(ParseError, match="A parameter is not allowed here") as caught:
        connection.execute(text, values)
    position = caught.value.position
    assert position is not None
    assert text[position.start : position.end] == mark


def test_a_table_may_be_named_stream(connection: rewriter.Connection) -> None:
    connection.execute("CREATE TABLE stream (x INT)")
    connection.execute("INSERT INTO stream SELECT 1")
    assert connection.execute("SELECT stream.x FROM stream").fetchall() == [(1,)]


def test_errors_of_a_batch_are_at_their_place(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    text = statement(tmp_path, "SELECT y, dt FROM {stream} AS s")
    with pytest.raises(Error) as caught:
        connection.execute(text)
    position = caught.value.position
    assert position is not None
    assert text[position.start : position.end] == "y"
    (stream,) = connection.execute("SHOW STREAMS").fetchall()
    assert stream[2] == "failed"
    assert "UNRESOLVED_COLUMN" in stream[9]


def test_a_reset_checkpoint_is_an_error(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    connection.execute(statement(tmp_path))
    with pytest.raises(IntegrityError) as caught:
        connection.execute(statement(tmp_path, checkpoint=f"{tmp_path}/other"))
    assert caught.value.condition == "STREAM_CHECKPOINT_RESET"
    assert connection.execute(statement(tmp_path, stream="again", checkpoint=f"{tmp_path}/again")).rowcount == 10


def test_a_checkpoint_that_lost_batches_is_an_error(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    connection.execute(statement(tmp_path))
    os.remove(tmp_path / "checkpoint" / "batches" / "00000000.json")
    with pytest.raises(IntegrityError) as caught:
        connection.execute(statement(tmp_path))
    assert caught.value.condition == "STREAM_CHECKPOINT_RESET"
    assert count(connection) == 10


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 3}', '{"files": [{"path": 1, "size": 2}]}'])
def test_a_damaged_checkpoint_is_an_error(connection: rewriter.Connection, tmp_path: Path, text: str) -> None:
    put(tmp_path, "a")
    connection.execute(statement(tmp_path))
    for name in ("batches/00000000.json", "rewriter-stream.json"):
        whole = (tmp_path / "checkpoint" / name).read_text()
        (tmp_path / "checkpoint" / name).write_text(text)
        with pytest.raises(Error) as caught:
            connection.execute(statement(tmp_path))
        assert caught.value.condition == "CHECKPOINT_DAMAGED", name
        (tmp_path / "checkpoint" / name).write_text(whole)
    assert connection.execute(statement(tmp_path)).rowcount == 0


def test_a_checkpoint_belongs_to_one_source(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    connection.execute(statement(tmp_path))
    (tmp_path / "more").mkdir()
    with pytest.raises(IntegrityError) as caught:
        connection.execute(statement(tmp_path).replace("/in`", "/more`"))
    assert caught.value.condition == "CHECKPOINT_OF_ANOTHER_STREAM"
    os.makedirs(tmp_path / "of_spark")
    (tmp_path / "of_spark" / "metadata").write_text(json.dumps({"id": "x"}))
    with pytest.raises(IntegrityError, match=r"belongs to a stream of Spark"):
        connection.execute(statement(tmp_path, stream="x", checkpoint=f"{tmp_path}/of_spark"))


@pytest.mark.parametrize("source", ["in", "in/*", "in/*/*/*", "link"])
def test_a_checkpoint_among_the_files_is_an_error(connection: rewriter.Connection, tmp_path: Path, source: str) -> None:
    os.symlink(tmp_path / "in", tmp_path / "link")
    text = statement(tmp_path, "SELECT 1, DATE'2013-01-01' FROM {stream}", checkpoint=f"{tmp_path}/in/a/checkpoint")
    text = text.replace("parquet.", "textfile.").replace("/in`", f"/{source}`")
    with pytest.raises(IntegrityError) as caught:
        connection.execute(text)
    assert caught.value.condition == "UNSAFE_LOCATION"
    position = caught.value.position
    assert position is not None
    assert text[position.start : position.end].startswith("textfile.")
    assert count(connection) == 0
    if "*" not in source:
        assert os.listdir(tmp_path / "in") == []
        for folder in (f"{tmp_path}/in", f"{tmp_path}/link/"):
            with pytest.raises(IntegrityError, match="lies among the files"):
                connection.execute(text.replace(f"{tmp_path}/in/a/checkpoint", folder))


def test_a_hidden_checkpoint_may_be_among_the_files(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    text = statement(tmp_path, checkpoint=f"{tmp_path}/in/_checkpoint")
    assert [connection.execute(text).rowcount for _ in "ab"] == [10, 0]


def test_a_mistyped_source_leaves_no_checkpoint(connection: rewriter.Connection, tmp_path: Path) -> None:
    with pytest.raises(Error) as caught:
        connection.execute(statement(tmp_path).replace("/in`", "/inn`"))
    assert caught.value.condition == "PATH_NOT_FOUND"
    put(tmp_path, "a")
    assert connection.execute(statement(tmp_path)).rowcount == 10


def test_a_pattern_may_have_no_files_yet(connection: rewriter.Connection, tmp_path: Path) -> None:
    text = statement(tmp_path).replace("/in`", "/in/b*.parquet`")
    put(tmp_path, "a")
    assert connection.execute(text).rowcount == 0
    put(tmp_path, "b")
    assert connection.execute(text).rowcount == 10


def test_two_streams_do_not_share_a_checkpoint(connection: rewriter.Connection, tmp_path: Path) -> None:
    connection.execute(statement(tmp_path))
    with pytest.raises(IntegrityError, match="belongs to the stream s"):
        connection.execute(statement(tmp_path, stream="other"))


def test_the_files_are_listed_once_for_a_run_of_many_batches(
    connection: rewriter.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listings: list[str] = []

    def counted(path: str) -> object:
        listings.append(path)
        return expand(path)

    monkeypatch.setattr("rewriter.statements.stream.insert_stream.expand", counted)
    for name in "abcde":
        put(tmp_path, name)
    assert connection.execute(statement(tmp_path, max_files="1")).rowcount == 50
    assert len(listings) == 1
    pattern = statement(tmp_path, stream="p", checkpoint=f"{tmp_path}/p").replace("/in`", "/in/*`")
    assert [connection.execute(pattern).rowcount for _ in "ab"] == [50, 0]
    assert len(listings) == 4  # With a new checkpoint, the pattern is tested against its files.


def test_a_stream_loads_one_table(connection: rewriter.Connection, tmp_path: Path) -> None:
    connection.execute(statement(tmp_path))
    connection.execute("CREATE TABLE u (x INT, dt DATE)")
    with pytest.raises(IntegrityError) as caught:
        connection.execute(statement(tmp_path).replace("INTO t", "INTO u"))
    assert caught.value.condition == "STREAM_OF_ANOTHER_TABLE"
    connection.execute("DROP TABLE t")
    put(tmp_path, "a")
    assert connection.execute(statement(tmp_path).replace("INTO t", "INTO u")).rowcount == 10


def test_targets_whose_batches_cannot_be_committed_once(connection: rewriter.Connection, tmp_path: Path) -> None:
    connection.execute(f"CREATE EXTERNAL TABLE e (x INT, dt DATE) LOCATION '{tmp_path}/e'")
    connection.execute("CREATE TEMPORARY TABLE v (x INT, dt DATE)")
    for name in "ev":
        with pytest.raises(NotSupportedError, match="cannot be the target of a stream"):
            connection.execute(statement(tmp_path).replace("INTO t", f"INTO {name}"))
    with pytest.raises(IntegrityError) as caught:
        connection.execute(statement(tmp_path, checkpoint=f"{tmp_path}/e/c"))
    assert caught.value.condition == "UNSAFE_LOCATION"
    connection.execute("START TRANSACTION")
    with pytest.raises(NotSupportedError) as refused:
        connection.execute(statement(tmp_path))
    assert refused.value.condition == "NOT_IN_TRANSACTION"


def until(connection: rewriter.Connection, state: str, rows: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        (stream,) = connection.execute("SHOW STREAMS").fetchall()
        if stream[2] == state and count(connection) == rows:
            return
        time.sleep(0.1)
    raise AssertionError(f"{stream} is not {state}, and the table has {count(connection)} rows")


def test_a_stream_goes_on_until_another_process_stops_it(
    connection: rewriter.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewriter.statements.stream.stream_batches._REPORT_SECONDS", 0.2)
    text = statement(tmp_path, trigger="0.1 seconds")
    assert connection.execute(text).fetchall() == [("s",)]
    put(tmp_path, "a")
    with rewriter.connect(tmp_path / "warehouse", engine="duckdb") as other:
        until(other, "running", 10)
        put(tmp_path, "b")
        until(other, "running", 20)
        with pytest.raises(ConflictError) as caught:
            other.execute(text)
        assert caught.value.condition == "STREAM_RUNNING"
        other.execute("STOP STREAM s")
        until(other, "stopped", 20)
        put(tmp_path, "c")
        assert other.execute(statement(tmp_path)).rowcount == 10
    connection.session.streams.wait()


def test_a_stream_ends_with_its_session(tmp_path: Path, connection: rewriter.Connection) -> None:
    with rewriter.connect(tmp_path / "warehouse", engine="duckdb") as own:
        own.execute(statement(tmp_path, trigger="continuous batches"))
        put(tmp_path, "a")
        until(own, "running", 10)
    until(connection, "stopped", 10)


def test_ctrl_c_lets_a_stream_end(tmp_path: Path, connection: rewriter.Connection) -> None:
    put(tmp_path, "a")
    text = statement(tmp_path, trigger="0.1 seconds")
    command = [sys.executable, "-m", "rewriter", "sql", "-w", f"{tmp_path}/warehouse", "--engine", "duckdb", "-e", text]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not count(connection):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert (*process.communicate(), process.returncode) == ("stream\n------\ns\n", "Interrupted.\n", 130)
    until(connection, "stopped", 10)


def test_a_failed_batch_ends_a_stream_and_is_loaded_by_the_next(
    connection: rewriter.Connection, tmp_path: Path
) -> None:
    put(tmp_path, "a", TEN.set_column(0, "x", pa.array([2**40] * 10)))
    connection.execute(statement(tmp_path, "SELECT CAST(x AS INT), dt FROM {stream}", trigger="1 second"))
    with pytest.raises(Error) as caught:
        connection.session.streams.wait()
    assert caught.value.condition == "CAST_OVERFLOW"
    until(connection, "failed", 0)
    assert connection.execute(statement(tmp_path, "SELECT CAST(x % 7 AS INT), dt FROM {stream}")).rowcount == 10


def test_the_stream_of_a_dead_process_of_this_host_is_lost_at_once(
    connection: rewriter.Connection, tmp_path: Path
) -> None:
    table = connection.session.catalog.snapshot().table("t")
    process = subprocess.Popen(["true"])
    process.wait()
    with connection.session.catalog.database.write() as database:
        stream_runs.begin_run(database, "s", table.id, "c")
    assert connection.execute("SHOW STREAMS").fetchall()[0][2] == "running"
    with connection.session.catalog.database.write() as database:
        ended = f"{socket.gethostname()}:{process.pid}"
        database.exec_driver_sql(f"UPDATE streams SET process = '{ended}'")
    assert connection.execute("SHOW STREAMS").fetchall()[0][2] == "lost"
    put(tmp_path, "a")
    assert connection.execute(statement(tmp_path)).rowcount == 10


def test_a_silent_stream_is_lost_and_can_be_taken_over(connection: rewriter.Connection, tmp_path: Path) -> None:
    table = connection.session.catalog.snapshot().table("t")
    with connection.session.catalog.database.write() as database:
        run = stream_runs.begin_run(database, "s", table.id, "c")
        database.exec_driver_sql("UPDATE streams SET process = 'elsewhere:1', heartbeat_at = heartbeat_at - 29")
    with pytest.raises(ConflictError):
        connection.execute(statement(tmp_path))
    with connection.session.catalog.database.write() as database:
        database.exec_driver_sql("UPDATE streams SET heartbeat_at = heartbeat_at - 2")
    assert connection.execute("SHOW STREAMS").fetchall()[0][2] == "lost"
    put(tmp_path, "a")
    assert connection.execute(statement(tmp_path)).rowcount == 10
    with connection.session.catalog.database.write() as database, pytest.raises(ConflictError) as caught:
        stream_runs.report(database, run, 0)
    assert caught.value.condition == "STREAM_TAKEN_OVER"


def test_a_run_that_was_taken_over_ends(
    connection: rewriter.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewriter.statements.stream.stream_batches._REPORT_SECONDS", 0.1)
    put(tmp_path, "a")
    connection.execute(statement(tmp_path, trigger="0.1 seconds"))
    until(connection, "running", 10)
    with connection.session.catalog.database.write() as database:
        database.exec_driver_sql("UPDATE streams SET run = 'another'")
    deadline = time.monotonic() + 30
    while any(thread.name == "rewriter-stream-report" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    put(tmp_path, "b")
    with pytest.raises(ConflictError) as caught:
        connection.session.streams.wait()
    assert caught.value.condition == "STREAM_TAKEN_OVER"
    assert count(connection) == 10
    until(connection, "running", 10)  # The other run.


def test_rows_are_reported_while_a_stream_runs_and_at_its_end(
    connection: rewriter.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> tuple[object, ...]:
        (stream,) = connection.execute("SHOW STREAMS").fetchall()
        return tuple(stream[2:5])

    monkeypatch.setattr("rewriter.statements.stream.stream_batches._REPORT_SECONDS", 0.1)
    put(tmp_path, "a")
    connection.execute(statement(tmp_path, trigger="0.1 seconds"))
    deadline = time.monotonic() + 30
    while shown() != ("running", 1, 10) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert shown() == ("running", 1, 10)
    connection.session.streams.close()
    assert shown() == ("stopped", 1, 10)
    monkeypatch.undo()
    for name in "bc":
        put(tmp_path, name)
    connection.execute(statement(tmp_path, max_files="1"))
    assert shown() == ("finished", 3, 20)


def test_a_dropped_stream_goes_on_where_it_ended(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    connection.execute(statement(tmp_path))
    connection.execute("DROP STREAM s")
    assert connection.execute("SHOW STREAMS").fetchall() == []
    put(tmp_path, "b")
    assert connection.execute(statement(tmp_path)).rowcount == 10
    assert count(connection) == 20


def test_a_running_stream_is_not_dropped(connection: rewriter.Connection, tmp_path: Path) -> None:
    put(tmp_path, "a")
    connection.execute(statement(tmp_path, trigger="10 seconds"))
    with pytest.raises(ConflictError) as caught:
        connection.execute("DROP STREAM s")
    assert caught.value.condition == "STREAM_RUNNING"
