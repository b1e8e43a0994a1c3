"""Rows that come late where a fact was copied from: the copy is not read as current, however it was made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.errors import MissingDataError
from rewriter.session import Session

CUBE = "CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT EVENTS NOT NULL, t TIMESTAMP TIME)"
SOURCE = "CREATE FACT f OF CUBE c STORED IN (TABLE fb PERIOD HOURLY PARTITIONED BY t AS (p){days})"
DAYS = ", TABLE fd PERIOD DAILY PARTITIONED BY t AS (p)"
COPY = "CREATE FACT g OF CUBE c STORED IN (TABLE gb PERIOD DAILY PARTITIONED BY t AS (p){more}"
JANUARY = "MARK COMPLETE FROM '2013-01-01' TO '2013-02-01'"
FIRST = f"INSERT INTO fb {JANUARY} VALUES ('a', 1, '2013-01-30-03')"
LATE = "INSERT INTO fb VALUES ('a', 1, '2013-01-30-05')"
OF_CUBE = (
    "INSERT OVERWRITE gb SELECT k, SUM(n), date_format(t, 'yyyy-MM-dd') FROM c "
    "WHERE t >= '2013-01-01' AND t < '2013-02-01' GROUP BY 1, 3"
)
OF_TABLE = "INSERT OVERWRITE gb {mark} SELECT k, SUM(n), substr(p, 1, 10) FROM fb GROUP BY 1, 3"
PLAIN = SOURCE.format(days="")
WIDE = SOURCE.format(days=DAYS)
FACT_G = COPY.format(more=")")
PARTED = COPY.format(more=" COMPLETE WITH ANY k)")
PARTED_TABLE = "DROP TABLE gb; CREATE TABLE gb (n BIGINT) PARTITIONED BY (p STRING, k STRING)"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, "duckdb") as opened:
        opened.execute(CUBE)
        for table in ("fb", "fd", "gb", "gx"):
            opened.execute(f"CREATE TABLE {table} (k STRING, n BIGINT) PARTITIONED BY (p STRING)")
        yield opened


def run(session: Session, script: str) -> None:
    for statement in script.split("; "):
        session.execute(statement)


def events(session: Session, start: str = "2013-01-30", end: str = "2013-01-31", source: str = "c") -> object:
    """Returns the number of events of some time, or ``None`` where the query is refused."""
    query = f"SELECT SUM(n) FROM {source} WHERE t >= '{start}' AND t < '{end}'"
    try:
        ((number,),) = session.execute(query).fetch()
    except MissingDataError:
        return None
    return number


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "script",
    {
        "read through rollups": f"{WIDE}; {FACT_G}; {FIRST}; REFRESH FACT f; {OF_CUBE}",
        "rollups by name": f"{WIDE}; {FACT_G}; {FIRST}; REFRESH FACT f; "
        "INSERT OVERWRITE gb SELECT k, SUM(n), p FROM fd GROUP BY 1, 3",
        "several branches": f"{WIDE}; {FACT_G}; {FIRST}; REFRESH FACT f; "
        "FROM fd INSERT OVERWRITE gb SELECT k, n, p INSERT OVERWRITE gx SELECT k, n, p",
        "through a plain table": f"{WIDE}; {FACT_G}; {FIRST}; REFRESH FACT f; "
        "CREATE TABLE st AS SELECT k, n, p FROM fd; INSERT OVERWRITE gb SELECT k, n, p FROM st",
        "rollups leave": f"{WIDE}; {FACT_G}; {FIRST}; REFRESH FACT f; {OF_CUBE}; DROP FACT f CASCADE; {PLAIN}",
        "in a transaction": f"{WIDE}; {FACT_G}; {FIRST}; REFRESH FACT f; BEGIN; {OF_CUBE}; COMMIT",
        "parts before their fact": f"{PARTED_TABLE}; {PLAIN}; {FIRST}; "
        f"INSERT OVERWRITE gb SELECT SUM(n), substr(p, 1, 10), k FROM fb GROUP BY 2, 3; {PARTED}",
    }.values(),
)
def test_a_late_event_outdates_the_copy(session: Session, script: str) -> None:
    run(session, script)
    assert events(session) == 1
    session.execute(LATE)
    assert events(session) == 2
    session.execute("SET rewriter.verify = certificate")
    assert events(session) == 2


def test_a_transaction_sees_what_it_outdates(session: Session) -> None:
    run(session, f"{PLAIN}; {FACT_G}; {FIRST}; {OF_CUBE}; BEGIN; {LATE}")
    assert events(session) == 2
    run(session, f"{OF_CUBE}; COMMIT")
    assert (events(session), events(session, source="g")) == (2, 2)


def test_what_was_absent_between_two_partitions_was_read(session: Session) -> None:
    """The days of the copy hold the events of two facts."""
    run(
        session,
        f"{PLAIN}; {CUBE.replace('CUBE c', 'CUBE d')}; {FACT_G.replace('CUBE c', 'CUBE d')}; "
        f"{PLAIN.replace('FACT f', 'FACT x').replace('fb', 'gx')}; "
        "INSERT INTO fb VALUES ('a', 1, '2013-01-29-03'), ('a', 1, '2013-01-30-03'), ('a', 1, '2013-01-31-03'); "
        "INSERT INTO gx VALUES ('a', 1, '2013-01-29-03'), ('a', 1, '2013-01-31-03'); INSERT OVERWRITE gb "
        "SELECT k, SUM(n), substr(p, 1, 10) FROM (SELECT * FROM fb UNION ALL SELECT * FROM gx) x GROUP BY 1, 3",
    )
    assert events(session, source="d") == 1
    session.execute("INSERT INTO gx VALUES ('a', 1, '2013-01-30-07')")
    assert events(session, source="d") is None


@pytest.mark.parametrize("start", ["2013-02-01", "2013-02-05"])
def test_a_partition_without_rows_says_that_there_were_none(session: Session, start: str) -> None:
    """Of the first day, some hours before it were read; of the second one, nothing at all."""
    day = f"WHERE p > '2013-01-30' AND p < '{start}-99'" if start < "2013-02-05" else f"WHERE p LIKE '{start}%'"
    run(
        session,
        f"{PLAIN}; {FACT_G}; INSERT INTO fb VALUES ('a', 1, '2013-01-30-03'); "
        f"INSERT OVERWRITE gb PARTITION (p = '{start}') SELECT k, SUM(n) FROM fb {day} GROUP BY k",
    )
    end = start[:-1] + str(int(start[-1]) + 1)
    session.execute(f"INSERT INTO fb VALUES ('a', 1, '{start}-05')")
    assert events(session, start, end, "g") is None


def test_rollups_of_a_copy_know_it_when_its_days_have_left(session: Session) -> None:
    run(
        session,
        f"{PLAIN}; {FACT_G} ROLLUPS (MONTHLY); {FIRST}; {OF_TABLE.format(mark=JANUARY)}; REFRESH FACT g; "
        "ALTER TABLE gb DROP PARTITION (p >= '2013-01-01')",
    )
    month = ("2013-01-01", "2013-02-01")
    assert events(session, *month, "g") == 1
    session.execute(LATE)
    assert (events(session, *month, "g"), events(session, *month)) == (None, 2)


@pytest.mark.parametrize("is_parted", [False, True])
def test_empty_days_of_a_copy_are_outdated_alone_and_mended_by_their_insert(session: Session, is_parted: bool) -> None:
    run(session, f"{PARTED_TABLE}; {PLAIN}; {PARTED}; {FIRST}" if is_parted else f"{PLAIN}; {FACT_G}; {FIRST}")
    columns = "SUM(n), substr(p, 1, 10), k FROM fb GROUP BY 2, 3"
    insert = f"INSERT OVERWRITE gb {JANUARY} SELECT {columns}" if is_parted else OF_TABLE.format(mark=JANUARY)
    session.execute(insert)
    run(session, "INSERT INTO fb VALUES ('a', 1, '2013-01-28-05')")
    assert (events(session, "2013-01-28", "2013-01-29", "g"), events(session, source="g")) == (None, 1)
    session.execute(insert)
    assert events(session, "2013-01-01", "2013-02-01", "g") == 2


def test_other_files_of_an_external_source_outdate_the_copy(session: Session, tmp_path: Path) -> None:
    """REFRESH TABLE compares the files with those that the copying INSERT has read."""

    def put(count: int) -> None:
        (tmp_path / "files" / "p=2013-01-30-03").mkdir(parents=True, exist_ok=True)
        rows = pa.table({"k": ["a"], "n": pa.array([count], pa.int64())})
        pq.write_table(rows, tmp_path / "files" / "p=2013-01-30-03" / "rows.parquet")

    put(1)
    run(
        session,
        "DROP TABLE fb; CREATE EXTERNAL TABLE fb (k STRING, n BIGINT) PARTITIONED BY (p STRING) STORED AS PARQUET "
        f"LOCATION '{tmp_path / 'files'}'; MSCK REPAIR TABLE fb; {PLAIN}; {FACT_G}; {OF_TABLE.format(mark='')}",
    )
    assert events(session, source="g") == 1
    put(5)
    session.execute("REFRESH TABLE fb")
    hour = ("2013-01-30 03:00", "2013-01-30 04:00")
    assert (events(session, source="g"), events(session, *hour, "f")) == (None, 5)


CHAIN = "CREATE FACT h OF CUBE c STORED IN (TABLE gx PERIOD DAILY PARTITIONED BY t AS (p))"


@pytest.mark.parametrize(
    ("script", "late", "time"),
    {
        "an accepted rollup of copies": (
            f"{PLAIN}; {FACT_G} ROLLUPS (MONTHLY); {FIRST}; {OF_TABLE.format(mark=JANUARY)}; "
            "INSERT OVERWRITE g_monthly VALUES ('a', 1, '2013-01'); CHECK FACT g ACCEPT; "
            "ALTER TABLE gb DROP PARTITION (p >= '2013-01-01')",
            LATE,
            ("2013-01-01", "2013-02-01", "g"),
        ),
        "a copy of a copy that lacks the day": (
            f"{PLAIN}; {FACT_G}; {CHAIN}; {FIRST}; INSERT OVERWRITE gb SELECT k, SUM(n), substr(p, 1, 10) FROM fb "
            "WHERE p LIKE '2013-01-30%' GROUP BY 1, 3; "
            "INSERT OVERWRITE gx PARTITION (p = '2013-01-29') "
            "SELECT k, SUM(n) FROM gb WHERE p = '2013-01-29' GROUP BY k",
            "INSERT INTO fb VALUES ('a', 1, '2013-01-29-05')",
            ("2013-01-29", "2013-01-30", "h"),
        ),
        "the source leaves after its late row": (
            f"{PLAIN}; {FACT_G}; {FIRST}; INSERT OVERWRITE gb PARTITION (p = '2013-01-31') "
            "SELECT k, SUM(n) FROM fb WHERE p < '2013-01-31-05' AND p > '2013-01-30-22' GROUP BY k",
            "INSERT INTO fb VALUES ('a', 1, '2013-01-31-14'); DROP FACT f",
            ("2013-01-31", "2013-02-01", "g"),
        ),
    }.values(),
)
def test_what_rests_on_a_copy_is_outdated_with_it(
    session: Session, script: str, late: str, time: tuple[str, str, str]
) -> None:
    run(session, script)
    run(session, late)
    assert events(session, *time) is None


def test_a_transaction_that_loads_and_copies_leaves_a_current_copy(session: Session) -> None:
    columns = "SUM(n), substr(p, 1, 10), k FROM fb GROUP BY 2, 3"
    run(session, f"{PARTED_TABLE}; {PLAIN}; {PARTED}")
    run(session, f"BEGIN; {FIRST}; INSERT OVERWRITE gb {JANUARY} SELECT {columns}; COMMIT")
    assert events(session, "2013-01-01", "2013-02-01", "g") == 1
    run(session, "INSERT INTO fb VALUES ('b', 1, '2013-01-29-05')")
    assert events(session, "2013-01-29", "2013-01-30", "g") is None
    # The day's own INSERT mends it: it looks again for what MARK COMPLETE had not found.
    run(
        session,
        "INSERT OVERWRITE gb PARTITION (p = '2013-01-29', k) "
        "SELECT SUM(n), k FROM fb WHERE p LIKE '2013-01-29%' GROUP BY k",
    )
    assert events(session, "2013-01-01", "2013-02-01", "g") == 2
