"""CREATE CUBE … FROM: what it stands for, what it infers, what it refuses, and that an error leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.errors import DataError, Error
from rewriter.exec.engine import Engine
from rewriter.session import Session
from rewriter.statements.maintain import create_cube_from

START = datetime(2024, 1, 1)


def write_events(directory: Path) -> None:
    """Writes two files of 90 events, of which one has no time."""
    directory.mkdir()
    for number in range(2):
        numbers = range(number * 45, number * 45 + 45)
        columns: dict[str, Any] = {
            "viewed_at": pa.array(
                [START + timedelta(minutes=50 * n) if n != 44 else None for n in numbers], pa.timestamp("us", "UTC")
            ),
            "page": [f"p{n % 4}" for n in numbers],
            "country": [None if n % 7 == 0 else f"c{n % 3}" for n in numbers],
            "user_id": pa.array([n % 20 for n in numbers], pa.int64()),
            "ms": pa.array([None if n % 5 == 0 else n for n in numbers], pa.int32()),
            "price": pa.array([Decimal(n) for n in numbers], pa.decimal128(10, 2)),
        }
        pq.write_table(pa.table(columns), directory / f"part-{number}.parquet")


@pytest.fixture
def files(tmp_path: Path) -> str:
    write_events(tmp_path / "web.events")
    return f"parquet.`{tmp_path / 'web.events'}`"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "w", engine="duckdb") as opened:
        yield opened


def rows(session: Session, statement: str) -> list[tuple[object, ...]]:
    return list(session.execute(statement).rows())


def objects(session: Session) -> list[object]:
    shown = (rows(session, f"SHOW {kind}") for kind in ("TABLES", "CUBES", "FACTS"))
    return [row[0] for kind in shown for row in kind]


FULL = (
    "CREATE CUBE page_views FROM {} TIME viewed_at DIMENSIONS (page, country, user_id) MEASURES (COUNT(*) AS views, "
    "SUM(ms) AS ms, COUNT(ms) AS timed, MAX(ms * 2) AS slowest) ROLLUPS (DAILY, DAILY (country), MONTHLY (page))"
)


def check_queries(session: Session, files: str) -> None:
    where = "viewed_at >= '2024-01-01' AND viewed_at < '2024-01-03 07:00'"
    for keys in ("country", "page, user_id", "to_date(viewed_at)"):
        calls = "COUNT(*), SUM(ms), AVG(ms)"
        cube = rows(session, f"SELECT {keys}, {calls}, MAX(slowest) FROM page_views WHERE {where} GROUP BY {keys}")
        base = rows(session, f"SELECT {keys}, {calls}, MAX(ms * 2) FROM {files} WHERE {where} GROUP BY {keys}")
        assert sorted(map(str, cube)) == sorted(map(str, base))
    assert rows(session, "SELECT COUNT(*) FROM page_views") == [(90,)]


def check_statement(session: Session, files: str, other: Session) -> None:
    texts = [str(text) for (text,) in rows(session, FULL.format(files))]
    assert [text.split(" ", 2)[:2] for text in texts] == [
        ["CREATE", "TABLE"], ["CREATE", "CUBE"], ["CREATE", "FACT"], ["INSERT", "INTO"], ["REFRESH", "FACT"]
    ]  # fmt: skip
    check_queries(session, files)
    list(other.script("\n".join(texts)))
    check_queries(other, files)
    for shown in ("TABLE page_views_events", "CUBE page_views", "FACT page_views_all"):
        assert rows(other, f"SHOW CREATE {shown}") == rows(session, f"SHOW CREATE {shown}")
    findings = {row[8] for row in rows(session, "CHECK FACT page_views_all")}
    assert findings <= {"agrees", "nothing compared"}


def test_files_become_a_covered_cube(session: Session, files: str, tmp_path: Path) -> None:
    with Session(tmp_path / "other", engine="duckdb") as other:
        check_statement(session, files, other)
    session.execute("SET rewriter.verify = certificate")
    days = "viewed_at >= '2024-01-01' AND viewed_at < '2024-01-03'"
    query = f"SELECT country, COUNT(*) FROM page_views WHERE {days} GROUP BY 1"
    session.execute(query)
    assert "page_views_all_daily_country" in session.plan(query).sql


def test_files_become_a_covered_cube_on_spark(spark: Engine, files: str, tmp_path: Path) -> None:
    with Session(tmp_path / "w", engine=spark) as session, Session(tmp_path / "other", engine=spark) as other:
        check_statement(session, files, other)


def test_what_is_left_out_is_inferred(session: Session, files: str) -> None:
    texts = [str(text) for (text,) in rows(session, f"CREATE CUBE v FROM {files}")]
    assert texts[1] == (
        "CREATE CUBE v (\n  page string,\n  country string,\n  user_id bigint,\n  `events` bigint MEASURE COUNT,\n"
        "  ms bigint MEASURE SUM,\n  price decimal(20,2) MEASURE SUM,\n  viewed_at timestamp TIME);"
    )
    assert len(texts) == 4  # Without ROLLUPS nothing is refreshed.
    assert rows(session, "SELECT SUM(events), SUM(price) FROM v") == [(90, Decimal("4005.00"))]


@pytest.mark.parametrize(("rollup", "period"), [("HOURLY (page)", "HOURLY"), ("WEEKLY (page)", "DAILY")])
def test_days_of_a_zone(session: Session, files: str, rollup: str, period: str) -> None:
    texts = rows(session, f"CREATE CUBE v FROM {files} ROLLUPS ({rollup}) TIME ZONE 'America/New_York'")
    assert f"TABLE v_events PERIOD {period} " in str(texts[2][0])
    # A partition that does not hold its events would be found.
    assert {row[8] for row in rows(session, "CHECK FACT v_all")} <= {"agrees", "nothing compared"}
    ((count,),) = rows(session, "SELECT COUNT(*) FROM v WHERE viewed_at >= '2024-01-01' AND viewed_at < '2024-01-02'")
    ((wanted,),) = rows(
        session,
        f"SELECT COUNT(*) FROM {files} WHERE viewed_at >= TIMESTAMP '2024-01-01 05:00:00' "
        "AND viewed_at < TIMESTAMP '2024-01-02 05:00:00'",
    )
    assert count == wanted


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("TIME page", "page is STRING, and no time."),
        ("TIME user_id", "user_id is BIGINT, and no time."),
        ("TIME nope", "The events have no column nope."),
        ("DIMENSIONS (nope)", "The events have no column nope."),
        ("DIMENSIONS (viewed_at)", "The column viewed_at already exists."),
        ("MEASURES (SUM(page) AS x)", "SUM(page) adds up STRING values."),
        ("MEASURES (COUNT(*) AS ms)", "The events have a column ms: it would be read as the number of events."),
        ("MEASURES (SUM(ms) AS page)", "The column page already exists."),
        ("ROLLUPS (DAILY (city))", "city is not a dimension of the fact."),
        ("ROLLUPS (DAILY, DAILY)", "The rollup DAILY occurs twice."),
        ("ROLLUPS (MINUTELY, FORTNIGHTLY)", "'FORTNIGHTLY' is not an update period"),
        ("TIME ZONE 'Mars/Olympus'", "'Mars/Olympus' is not a time zone"),
        ("MEASURES (AVG(ms) AS x)", "AVG(ms) AS x is not a measure."),
        ("MEASURES (SUM(ms) + 1 AS x)", "SUM(ms) + 1 AS x is not a measure."),
        ("MEASURES (COUNT(*))", "COUNT(*) is not a measure."),
        ("MEASURES (SUM(*) AS x)", "SUM(*) AS x is not a measure."),
        ("MEASURES (SUM(ms), MAX(ms))", None),
        ("MEASURES (COUNT(DISTINCT page) AS pages)", "COUNT(DISTINCT page) AS pages is not a measure."),
        ("MEASURES (SUM(nope))", "nope"),
    ],
)
def test_a_wrong_declaration_leaves_nothing_behind(
    session: Session, files: str, clauses: str, message: str | None
) -> None:
    session.execute("CREATE DATABASE made")
    with pytest.raises(Error) as caught:
        session.execute(f"CREATE CUBE v FROM {files} {clauses}")
    assert message is None or message in caught.value.message
    assert caught.value.hint
    assert caught.value.position is not None
    assert objects(session) == []


@pytest.mark.parametrize("source", ["logs", "`./logs`", "'logs'"])
def test_files_are_named_by_their_format(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    (tmp_path / "logs").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Error) as caught:  # There is no warehouse yet.
        session.execute(f"CREATE CUBE v FROM {source}")
    assert "by their format: FROM parquet.`" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["v", "v_events"])
def test_a_name_that_exists(session: Session, files: str, name: str) -> None:
    session.execute(f"CREATE TABLE {name} (a INT)")
    with pytest.raises(Error, match=f"Cannot create {name} because it already exists") as caught:
        session.execute(f"CREATE CUBE v FROM {files}")
    assert caught.value.hint == "Choose a different name, or drop the existing object."


def test_no_column_is_the_time(session: Session, tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    pq.write_table(pa.table({"at": ["2024-01-01"], "n": [1]}), tmp_path / "e" / "a.parquet")
    with pytest.raises(Error, match=r"No column is a TIMESTAMP or DATE: at STRING, n BIGINT\.") as caught:
        session.execute(f"CREATE CUBE v FROM parquet.`{tmp_path / 'e'}`")
    assert "to_timestamp(t) AS t, CAST(n AS BIGINT) AS n" in str(caught.value.hint)
    two = {name: pa.array([START], pa.timestamp("us", "UTC")) for name in ("sent", "came")}
    pq.write_table(pa.table(two), tmp_path / "e" / "a.parquet")
    with pytest.raises(Error, match="sent, came are TIMESTAMP: nothing says which is the time of an event"):
        session.execute(f"CREATE CUBE v FROM parquet.`{tmp_path / 'e'}`")
    session.execute(f"CREATE CUBE v FROM parquet.`{tmp_path / 'e'}` TIME came")


@pytest.mark.parametrize("step", ["insert_stream", "refresh_fact"])
def test_an_error_of_a_step_leaves_nothing_behind(
    session: Session, files: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DataError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(create_cube_from, step, fail)
        with pytest.raises(DataError, match="the disk is full"):
            session.execute(FULL.format(files))
    assert objects(session) == []
    assert rows(session, "SHOW STREAMS") == []
    assert [*(tmp_path / "w").glob("_streams/*")] == []
    session.execute(FULL.format(files))
    check_queries(session, files)


def test_further_files_are_loaded_once_each(session: Session, files: str, tmp_path: Path) -> None:
    texts = [str(text) for (text,) in rows(session, FULL.format(files))]
    loads = "\n".join(texts[-2:])
    for copies in (1, 2, 2):
        if copies > 1:
            copy = tmp_path / "web.events" / f"copy-{copies}.parquet"
            copy.write_bytes((tmp_path / "web.events" / "part-1.parquet").read_bytes())
        list(session.script(loads))
        list(session.script(loads))
        assert rows(session, "SELECT COUNT(*) FROM page_views") == rows(session, f"SELECT COUNT(*) FROM {files}")
        check_days(session, files)
    # A table that is created again is loaded again.
    for statement in ("DROP FACT page_views_all CASCADE", "DROP CUBE page_views", "DROP TABLE page_views_events"):
        session.execute(statement)
    session.execute(FULL.format(files))
    assert rows(session, "SELECT COUNT(*) FROM page_views") == rows(session, f"SELECT COUNT(*) FROM {files}")


def check_days(session: Session, files: str) -> None:
    where = "viewed_at >= '2024-01-01' AND viewed_at < '2024-01-03'"
    query = f"SELECT country, COUNT(*), SUM(ms) FROM {{}} WHERE {where} GROUP BY country ORDER BY country"
    assert rows(session, query.format("page_views")) == rows(session, query.format(files))


def write_directories(directory: Path, *levels: str) -> None:
    """Writes events into directories that are named by patterns of ``strftime``, such as ``dt=%Y-%m-%d``."""
    columns: dict[str, list[Any]] = {}
    for n in range(90):
        at = START + timedelta(minutes=50 * n)
        path = "/".join(at.strftime(level) for level in levels)
        columns.setdefault(path, []).append((at, f"p{n % 4}", n))
    for path, events in columns.items():
        (directory / path).mkdir(parents=True)
        at, page, ms = zip(*events, strict=True)
        table = pa.table({"viewed_at": pa.array(at, pa.timestamp("us", "UTC")), "page": page, "ms": ms})
        pq.write_table(table, directory / path / "a.parquet")


@pytest.mark.parametrize(
    ("levels", "declared"),
    [
        (["dt=%Y-%m-%d"], "PERIOD DAILY PARTITIONED BY viewed_at AS (dt = 'yyyy-MM-dd')"),
        (["date=%Y%m%d"], "PERIOD DAILY PARTITIONED BY viewed_at AS (`date` = 'yyyyMMdd')"),
        (["dt=%Y-%m-%d", "hr=%H"], "PERIOD HOURLY PARTITIONED BY viewed_at AS (dt = 'yyyy-MM-dd', hr = 'HH')"),
        (
            ["year=%Y", "month=%-m", "day=%-d", "hour=%-H"],
            "PERIOD HOURLY PARTITIONED BY viewed_at AS (year = 'yyyy', month = 'MM', day = 'dd', hour = 'HH')",
        ),
    ],
)
def test_external_files_stay_where_they_are(session: Session, tmp_path: Path, levels: list[str], declared: str) -> None:
    place = tmp_path / "by time"
    write_directories(place, *levels)
    before = sorted(place.rglob("*"))
    result = session.execute(f"CREATE CUBE c FROM parquet.`{place}` EXTERNAL ROLLUPS (DAILY (page))")
    texts = [str(text) for (text,) in result.rows()]
    assert result.warnings == ()
    assert declared in texts[2]
    assert sorted(place.rglob("*")) == before
    query = (
        "SELECT page, COUNT(*), SUM(ms) FROM {} WHERE viewed_at >= '2024-01-01' AND viewed_at < '2024-01-03' GROUP BY 1"
    )
    pattern = f"parquet.`{place}{'/*' * len(levels)}/*.parquet`"
    assert sorted(rows(session, query.format("c"))) == sorted(rows(session, query.format(pattern)))
    assert "FROM c_all_daily " in session.plan(query.format("c")).sql
    with Session(tmp_path / "other", engine="duckdb") as other:
        list(other.script("\n".join(texts)))
        assert sorted(rows(other, query.format("c"))) == sorted(rows(session, query.format("c")))
        assert rows(other, "SHOW CREATE FACT c_all") == rows(session, "SHOW CREATE FACT c_all")


def test_external_files_on_spark(spark: Engine, tmp_path: Path) -> None:
    write_directories(tmp_path / "e", "dt=%Y-%m-%d")
    with Session(tmp_path / "w", engine=spark) as session:
        session.execute(f"CREATE CUBE c FROM parquet.`{tmp_path / 'e'}` EXTERNAL ROLLUPS (DAILY (page))")
        days = "viewed_at >= '2024-01-01' AND viewed_at < '2024-01-03'"
        assert rows(session, f"SELECT SUM(ms) FROM c WHERE {days}") == [(sum(range(58)),)]


def test_external_files_that_are_no_partitions_are_refused(session: Session, tmp_path: Path) -> None:
    place = tmp_path / "e"
    create = f"CREATE CUBE c FROM parquet.`{place}` EXTERNAL ROLLUPS (DAILY (page))"

    def refused(message: str) -> None:
        with pytest.raises(Error, match=message) as caught:
            session.execute(create)
        assert caught.value.condition == "INVALID_CUBE"
        assert caught.value.hint
        assert objects(session) == []

    session.execute("CREATE TABLE made (n INT)")
    session.execute("DROP TABLE made")
    refused("is no directory with files")
    write_directories(place, "dt=%Y-%m-%d")
    event = (place / "dt=2024-01-01" / "a.parquet").read_bytes()
    for directory, message in (
        ("", "Files lie in .*/e itself: a query of a day would read them all"),
        ("other", "The directory other of .* names no time"),
        ("dt=yesterday", "dt = 'yesterday' is not a DAILY partition"),
        ("day=2024-01-09", "The directories day=2024-01-09 and dt=2024-01-01 of .* name different columns"),
        ("dt=2024-01-09", "The partition of c_events from 2024-01-09 to 2024-01-10 has 29 events outside"),
    ):
        (place / directory).mkdir(exist_ok=True)
        (place / directory / "b.parquet").write_bytes(event)
        refused(message)
        (place / directory / "b.parquet").unlink()
        if directory:
            (place / directory).rmdir()
    session.execute(create)
    with pytest.raises(Error, match="EXTERNAL is about files, and c_events is a table"):
        session.execute("CREATE CUBE d FROM c_events EXTERNAL")


def test_a_column_of_max_stays_a_dimension(session: Session, files: str) -> None:
    session.execute(f"CREATE CUBE v FROM {files} MEASURES (COUNT(*) AS n, MAX(page) AS last_page, SUM(user_id) AS ids)")
    columns = {row[0]: row[2] for row in rows(session, "DESCRIBE CUBE v")}
    assert [name for name, role in columns.items() if role == "DIMENSION"] == ["page", "country"]


def test_a_measure_named_as_the_partition_column(session: Session, files: str) -> None:
    session.execute(f"CREATE CUBE v FROM {files} MEASURES (COUNT(*) AS dt, COUNT(ms) AS dt_) ROLLUPS (DAILY (page))")
    assert rows(session, "SELECT COUNT(*), SUM(dt_) FROM v") == [(90, 72)]


def test_events_of_a_date_have_no_hours(session: Session, tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    days = [(START + timedelta(days=n)).date() for n in (0, 3)]
    pq.write_table(pa.table({"day": days, "k": ["a", "b"]}), tmp_path / "e" / "a.parquet")
    with pytest.raises(Error, match="day is a DATE: the events have no HOURLY periods"):
        session.execute(f"CREATE CUBE v FROM parquet.`{tmp_path / 'e'}` ROLLUPS (DAILY, HOURLY)")
    (warning,) = session.execute(f"CREATE CUBE v FROM parquet.`{tmp_path / 'e'}` ROLLUPS (DAILY)").warnings
    assert warning.startswith("2 of 4 DAILY periods have no events: ")
    session.execute(warning.partition("until ")[2].partition(" says")[0])
    assert rows(session, "SELECT COUNT(*) FROM v WHERE day >= '2024-01-01' AND day < '2024-01-05'") == [(2,)]


def test_a_cube_is_no_source_of_events(session: Session, files: str) -> None:
    session.execute(f"CREATE CUBE v FROM {files}")
    for source, kind in (("v", "cube"), ("v_all", "fact")):
        with pytest.raises(Error, match=f"{source} is a {kind}: its rows are sums, and no events"):
            session.execute(f"CREATE CUBE w FROM {source}")
    session.execute(f"CREATE VIEW events AS SELECT * FROM {files} WHERE page = 'p1'")
    session.execute("CREATE CUBE w FROM events")
    assert rows(session, "SELECT COUNT(*) FROM w") == rows(session, f"SELECT COUNT(*) FROM {files} WHERE page = 'p1'")


def test_a_table_of_events_becomes_the_base_as_it_is(session: Session) -> None:
    session.execute("CREATE TABLE ev (k STRING, n INT, at TIMESTAMP) PARTITIONED BY (day STRING)")
    with pytest.raises(Error, match="Nothing says which time the partitions of ev hold: it is partitioned by day\\."):
        session.execute("CREATE CUBE c FROM ev")
    session.execute("INSERT INTO ev VALUES ('a', 3, TIMESTAMP '2024-01-01 05:00:00', '2024-01-01')")
    session.execute("INSERT INTO ev VALUES ('a', 3, TIMESTAMP '2024-01-01 05:00:00', '2024-01-02')")
    with pytest.raises(Error, match="The partition of ev from 2024-01-02 to 2024-01-03 has 1 event outside"):
        session.execute("CREATE CUBE c FROM ev ROLLUPS (DAILY (k))")
    assert objects(session) == ["ev"]
    session.execute("ALTER TABLE ev DROP PARTITION (day = '2024-01-02')")
    assert session.execute("CREATE CUBE c FROM ev ROLLUPS (DAILY (k))").warnings == ()
    session.execute("INSERT INTO ev VALUES ('a', 4, TIMESTAMP '2024-01-02 05:00:00', '2024-01-02')")
    session.execute("REFRESH FACT c_all")
    query = "SELECT k, SUM(n) FROM c WHERE at >= '2024-01-01' AND at < '2024-01-03' GROUP BY k"
    assert rows(session, query) == [("a", 7)]
    assert "FROM c_all_daily " in session.plan(query).sql
    with pytest.raises(Error, match="already belongs to the fact c_all"):
        session.execute("CREATE CUBE d FROM ev")
    session.execute("CREATE TABLE flat (k STRING, at TIMESTAMP)")
    with pytest.raises(Error, match="it has no partitions"):
        session.execute("CREATE CUBE d FROM flat")
    with pytest.raises(Error, match="already exists"):
        session.execute("CREATE CUBE c FROM flat")
    with pytest.raises(Error, match="cannot be found"):
        session.execute("CREATE CUBE d FROM nowhere")


def test_the_files_are_one_commit(session: Session, tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    pq.write_table(pa.table({"at": pa.array([START], pa.timestamp("us", "UTC"))}), tmp_path / "e" / "0.parquet")
    for number in range(1, 1002):  # A stream reads 1,000 files in a batch.
        os.link(tmp_path / "e" / "0.parquet", tmp_path / "e" / f"{number}.parquet")
    session.execute(f"CREATE CUBE c FROM parquet.`{tmp_path / 'e'}`")
    assert [row[3] for row in rows(session, "SHOW STREAMS")] == [1]
    assert rows(session, "SELECT COUNT(*) FROM c") == [(1002,)]


@pytest.mark.parametrize("external", ["", " EXTERNAL"])
def test_columns_of_later_files_are_left_out_with_a_warning(session: Session, tmp_path: Path, external: str) -> None:
    for day in (1, 2, 3):
        folder = tmp_path / "days" / f"day=2024-01-0{day}" if external else tmp_path / "days"
        folder.mkdir(parents=True, exist_ok=True)
        columns: dict[str, Any] = {"at": [datetime(2024, 1, day, 5)], "ms": [day]}
        if day == 3:
            columns |= {"bytes": [1], "Page": ["a"]}
        pq.write_table(pa.table(columns), folder / f"part-{day}.parquet")
    created = session.execute(f"CREATE CUBE c FROM parquet.`{tmp_path / 'days'}`{external}")
    (warning,) = created.warnings
    assert "has 2 columns that" in warning
    assert warning.endswith(
        "left out: bytes, Page. To have them, write the first file again with all columns, or name the files with all "
        "columns alone."
    )
    assert rows(session, "SELECT SUM(ms) FROM c") == [(6,)]
