"""Values that name partitions are computed on the clocks of their layout, or refused with the expression that is right.

The expected names are computed with ``datetime`` and ``zoneinfo``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from rewriter.errors import NotSupportedError
from rewriter.exec.engine import Engine
from rewriter.session import Session

NEW_YORK, TOKYO = ZoneInfo("America/New_York"), ZoneInfo("Asia/Tokyo")
#: Around New York's change of the clocks, and on both sides of midnight in all three zones.
FIRST, LAST = datetime(2015, 3, 7, 22, tzinfo=UTC), datetime(2015, 3, 9, 18, tzinfo=UTC)
EVENTS = [FIRST + timedelta(minutes=90 * number) for number in range(int((LAST - FIRST) / timedelta(minutes=90)))]
RANGE = f"t >= '{FIRST:%Y-%m-%d %H:%M:%S}Z' AND t < '{LAST:%Y-%m-%d %H:%M:%S}Z'"
UTC_RANGE = RANGE.replace("Z'", "'")


def create(session: Session) -> None:
    """Creates the same minutes of three cubes, one in each zone."""
    session.execute("CREATE TABLE unrelated (n BIGINT) PARTITIONED BY (p STRING)")
    for name, zone in (("utc", ""), ("new_york", "TIME ZONE 'America/New_York'"), ("tokyo", "TIME ZONE 'Asia/Tokyo'")):
        for statement in (
            f"CREATE CUBE {name} (k STRING, n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME) {zone}",
            f"CREATE TABLE {name}_minutes (k STRING, n BIGINT) PARTITIONED BY (m STRING)",
            f"CREATE TABLE {name}_hours (k STRING, n BIGINT) PARTITIONED BY (h STRING)",
            f"CREATE TABLE {name}_starts (k STRING, n BIGINT) PARTITIONED BY (h TIMESTAMP)",
            f"CREATE TABLE {name}_pairs (k STRING, n BIGINT) PARTITIONED BY (d STRING, h INT)",
            f"CREATE TABLE {name}_days (k STRING, n BIGINT) PARTITIONED BY (d STRING)",
            f"CREATE TABLE {name}_dates (k STRING, n BIGINT) PARTITIONED BY (d DATE)",
            f"CREATE TABLE {name}_weeks (k STRING, n BIGINT) PARTITIONED BY (w STRING)",
            f"CREATE TABLE {name}_quarters (k STRING, n BIGINT) PARTITIONED BY (q STRING)",
            f"CREATE TABLE {name}_mixed (k STRING, n BIGINT) PARTITIONED BY (p STRING)",
            f"CREATE FACT of_{name} OF CUBE {name} STORED IN ("
            f"TABLE {name}_minutes PERIOD MINUTELY PARTITIONED BY t AS (m), "
            f"TABLE {name}_hours PERIOD HOURLY PARTITIONED BY t AS (h = 'yyyy-MM-dd''T''HH'), "
            f"TABLE {name}_starts PERIOD HOURLY PARTITIONED BY t AS (h), "
            f"TABLE {name}_pairs PERIOD HOURLY PARTITIONED BY t AS (d = 'yyyy-MM-dd', h = 'HH'), "
            f"TABLE {name}_days PERIOD DAILY PARTITIONED BY t AS (d), "
            f"TABLE {name}_dates PERIOD DAILY PARTITIONED BY t AS (d), "
            f"TABLE {name}_weeks PERIOD WEEKLY PARTITIONED BY t AS (w), "
            f"TABLE {name}_quarters PERIOD QUARTERLY PARTITIONED BY t AS (q), "
            f"TABLE {name}_mixed PERIODS (HOURLY, DAILY) PARTITIONED BY t AS (p))",
        ):
            session.execute(statement)
        rows = ", ".join(f"('a', 1, '{event:%Y-%m-%d-%H-%M}')" for event in EVENTS)
        bounds = f"FROM '{FIRST:%Y-%m-%dT%H:%M}Z' TO '{LAST:%Y-%m-%dT%H:%M}Z'"
        bounds = bounds if zone else bounds.replace("Z'", "'")
        session.execute(f"INSERT INTO {name}_minutes MARK COMPLETE {bounds} VALUES {rows}")


@pytest.fixture
def session(engine: Engine, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine) as opened:
        create(opened)
        yield opened


@pytest.fixture(scope="module")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("clocks"), "duckdb") as opened:
        create(opened)
        opened.execute("CREATE VIEW times AS SELECT t AS u, n FROM new_york")
        opened.execute("CREATE VIEW named AS SELECT n, k, date_format(t, 'yyyy-MM-dd\\'T\\'HH') AS h FROM new_york")
        yield opened


def week(moment: datetime) -> str:
    year, number, _ = moment.isocalendar()
    return f"{year}-W{number:02d}"


Name = Callable[[datetime], tuple[object, ...]]
#: The tables that the cube of New York may not fill by these values, with the zone of their names and the names.
NEW_YORKS: dict[str, tuple[str, ZoneInfo | None, Name]] = {
    "new_york_hours": ("date_format(t, 'yyyy-MM-dd\\'T\\'HH')", None, lambda at: (f"{at:%Y-%m-%dT%H}",)),
    "new_york_pairs": ("CAST(to_date(t) AS STRING), hour(t)", None, lambda at: (f"{at:%Y-%m-%d}", at.hour)),
    "new_york_starts": (
        "CAST(date_format(t, 'yyyy-MM-dd HH:00:00') AS TIMESTAMP)",
        None,
        lambda at: (at.replace(minute=0),),
    ),
    "new_york_mixed": ("date_format(t, 'yyyy-MM-dd-HH')", None, lambda at: (f"{at:%Y-%m-%d-%H}",)),
    "utc_hours": ("date_format(t, 'yyyy-MM-dd\\'T\\'HH')", None, lambda at: (f"{at:%Y-%m-%dT%H}",)),
    "utc_days": ("date_format(t, 'yyyy-MM-dd')", None, lambda at: (f"{at:%Y-%m-%d}",)),
    "utc_dates": ("to_date(t)", None, lambda at: (at.date(),)),
    "utc_weeks": ("concat(year(t), '-W', weekofyear(t))", None, lambda at: (week(at),)),
    "utc_quarters": ("concat(year(t), '-Q', quarter(t))", None, lambda at: (f"{at:%Y}-Q{(at.month + 2) // 3}",)),
    "tokyo_hours": ("date_format(t, 'yyyy-MM-dd\\'T\\'HH')", None, lambda at: (f"{at:%Y-%m-%dT%H}",)),
    "tokyo_days": ("date_format(t, 'yyyy-MM-dd')", TOKYO, lambda at: (f"{at:%Y-%m-%d}",)),
    "tokyo_dates": ("CAST(t AS DATE)", TOKYO, lambda at: (at.date(),)),
    "tokyo_mixed": ("date_format(t, 'yyyy-MM-dd')", TOKYO, lambda at: (f"{at:%Y-%m-%d}",)),
}
#: Those that the cube in UTC may not fill so.
UTCS: dict[str, tuple[str, ZoneInfo | None, Name]] = {
    "new_york_days": ("left(CAST(t AS STRING), 10)", NEW_YORK, lambda at: (f"{at:%Y-%m-%d}",)),
    "new_york_dates": ("date_trunc('day', t)", NEW_YORK, lambda at: (at.date(),)),
    "tokyo_days": ("date_format(t, 'yyyy-MM-dd')", TOKYO, lambda at: (f"{at:%Y-%m-%d}",)),
    "tokyo_weeks": ("concat(year(t), '-W', weekofyear(t))", TOKYO, lambda at: (week(at),)),
    "tokyo_quarters": ("concat(year(t), '-Q', quarter(t))", TOKYO, lambda at: (f"{at:%Y}-Q{(at.month + 2) // 3}",)),
}


def refused(session: Session, statement: str) -> NotSupportedError:
    with pytest.raises(NotSupportedError) as caught:
        session.execute(statement)
    assert caught.value.condition == "ZONED_TIME", caught.value
    assert "reads the clocks of" in caught.value.message, caught.value
    return caught.value


def statement_of(table: str, cube: str, values: str) -> str:
    where = UTC_RANGE if cube == "utc" else RANGE
    return f"INSERT OVERWRITE {table} SELECT k, COUNT(*), {values} FROM {cube} WHERE {where} GROUP BY ALL"


def test_the_expression_of_the_hint_writes_the_right_partitions(session: Session) -> None:
    for cube, cases in (("new_york", NEW_YORKS), ("utc", UTCS)):
        for table, (values, zone, name_of) in cases.items():
            error = refused(session, statement_of(table, cube, values))
            right = re.fullmatch(r"Write (.*)\.", str(error.hint))
            assert right is not None, error.hint
            session.execute(statement_of(table, cube, right[1]))
            written = session.execute(f"SELECT * FROM {table}").fetch()
            expected = Counter(name_of(event.astimezone(zone or UTC)) for event in EVENTS)
            assert {row[2:]: row[1] for row in written} == expected, (table, right[1])
            session.execute(f"TRUNCATE TABLE {table}")


#: Statements with the function that reads the clocks, and the values that are right.
ON_UTC = "date_format(to_utc_timestamp({}, 'America/New_York'), 'yyyy-MM-dd\\'T\\'HH') AS h"
READ = "date_format({}, 'yyyy-MM-dd\\'T\\'HH')"
WAYS = {
    "derived": (
        f"INSERT INTO new_york_hours SELECT k, n, h FROM (SELECT *, {READ.format('t')} AS h FROM new_york) x",
        "t",
    ),
    "renamed": (
        f"INSERT INTO new_york_hours SELECT k, n, {READ.format('x.b')} FROM (SELECT k, n, t AS b FROM new_york) x",
        "x.b",
    ),
    "CTE": (
        f"INSERT INTO new_york_hours WITH x (k, n, b) AS (SELECT k, n, t FROM new_york) SELECT k, n, "
        f"{READ.format('b')} FROM x",
        "b",
    ),
    "view of times": (f"INSERT INTO new_york_hours SELECT 'a', n, {READ.format('u')} FROM times", "u"),
    "UNION ALL": (
        f"INSERT INTO new_york_hours SELECT 'a', 1, '2015-03-08T05' UNION ALL SELECT k, n, {READ.format('t')} "
        "FROM new_york",
        "t",
    ),
    "by name": (f"INSERT INTO new_york_hours BY NAME SELECT {READ.format('t')} AS h, n, k FROM new_york", "t"),
    "column list": (f"INSERT INTO new_york_hours (h, n, k) SELECT {READ.format('t')}, n, k FROM new_york", "t"),
    "clause": (f"INSERT INTO new_york_hours PARTITION (h) SELECT k, n, {READ.format('t')} FROM new_york", "t"),
    "substring": (
        f"INSERT INTO new_york_hours SELECT k, n, substr({READ.format('t')}, 1, 13) FROM new_york",
        "t",
    ),
    "join": (
        f"INSERT INTO new_york_hours SELECT c.k, c.n, {READ.format('c.t')} FROM new_york c "
        "JOIN unrelated u ON c.k = u.p",
        "c.t",
    ),
    "maximum": (f"INSERT INTO new_york_hours SELECT 'a', 1, MAX({READ.format('t')}) FROM new_york", "t"),
    "choice": (
        f"INSERT INTO new_york_hours SELECT k, n, coalesce({READ.format('t')}, '2015-03-08T05') FROM new_york",
        "t",
    ),
    "several": (
        f"FROM new_york INSERT INTO new_york_days SELECT k, n, date_format(t, 'yyyy-MM-dd') "
        f"INSERT INTO new_york_hours SELECT k, n, {READ.format('t')}",
        "t",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_function_of_time_is_known_on_every_way_to_the_partition(on_duckdb: Session, way: str) -> None:
    statement, time = WAYS[way]
    error = refused(on_duckdb, statement)
    assert error.hint == f"Write {ON_UTC.format(time)}."
    assert error.object == "h"
    assert error.position is not None
    assert statement[error.position.start : error.position.end] == READ.format(time)


def test_the_text_of_a_view_is_read_like_the_query(on_duckdb: Session) -> None:
    error = refused(on_duckdb, "INSERT INTO new_york_hours SELECT k, n, h FROM named")
    assert error.hint == f"Write {ON_UTC.format('t')}."


def test_a_static_value_leaves_the_others(on_duckdb: Session) -> None:
    error = refused(
        on_duckdb, "INSERT INTO new_york_pairs PARTITION (d = '2015-03-08', h) SELECT k, n, hour(t) FROM new_york"
    )
    expected = "Write CAST(date_format(to_utc_timestamp(t, 'America/New_York'), 'HH') AS INT) AS h."
    assert error.hint == expected


#: Values on the clocks of their layouts, and values whose clocks nothing says.
ACCEPTED = (
    f"INSERT INTO new_york_days SELECT k, n, date_format(t, 'yyyy-MM-dd') FROM new_york WHERE {RANGE}",
    f"INSERT INTO new_york_dates SELECT k, n, to_date(t) FROM new_york WHERE {RANGE}",
    f"INSERT INTO new_york_mixed SELECT k, n, date_format(t, 'yyyy-MM-dd') FROM new_york WHERE {RANGE}",
    f"INSERT INTO new_york_starts SELECT k, n, date_trunc('hour', t) FROM new_york WHERE {RANGE}",
    f"INSERT INTO new_york_starts SELECT * FROM (SELECT k, n, date_trunc('hour', t) AS t FROM new_york WHERE {RANGE})",
    f"INSERT INTO utc_hours SELECT k, n, date_format(t, 'yyyy-MM-dd\\'T\\'HH') FROM utc WHERE {UTC_RANGE}",
    f"INSERT INTO new_york_hours SELECT k, n, date_format(t, 'yyyy-MM-dd\\'T\\'HH') FROM utc WHERE {UTC_RANGE}",
    f"INSERT INTO tokyo_days SELECT k, n, date_format(t + INTERVAL 9 HOURS, 'yyyy-MM-dd') FROM utc WHERE {UTC_RANGE}",
    f"INSERT INTO new_york_hours SELECT CAST(hour(t) AS STRING), n, '2015-03-08T06' FROM new_york WHERE {RANGE}",
    f"INSERT INTO new_york_hours SELECT k, n, CASE WHEN hour(t) < 5 THEN '2015-03-08T06' ELSE '2015-03-08T07' END "
    f"FROM new_york WHERE {RANGE}",
    f"INSERT INTO new_york_hours PARTITION (h = '2015-03-08T06') SELECT k, n FROM new_york WHERE {RANGE}",
    "INSERT INTO new_york_hours SELECT k, n, concat(left(m, 10), 'T', substr(m, 12, 2)) FROM new_york_minutes",
    f"INSERT INTO unrelated SELECT n, date_format(t, 'yyyy-MM-dd-HH') FROM new_york WHERE {RANGE}",
    f"CREATE TABLE copied PARTITIONED BY (h) AS SELECT n, date_format(t, 'yyyy-MM-dd-HH') AS h FROM new_york "
    f"WHERE {RANGE}",
)


@pytest.mark.parametrize("statement", ACCEPTED)
def test_the_clocks_of_other_values_are_right_or_unknown(on_duckdb: Session, statement: str) -> None:
    on_duckdb.execute(statement)


def test_hours_on_the_clocks_of_utc_are_proven(session: Session) -> None:
    values = ON_UTC.format("t")
    session.execute(f"INSERT INTO new_york_hours SELECT k, COUNT(*), {values} FROM new_york WHERE {RANGE} GROUP BY ALL")
    (row,) = [row for row in session.execute("SHOW TIMELINES OF of_new_york").fetch() if row[0] == "new_york_hours"]
    hours = {event.replace(minute=0) for event in EVENTS}
    assert (row[6], row[10:]) == (len(hours), (0, 0, 0, 0, None))
    assert {row[8] for row in session.execute("CHECK FACT of_new_york").fetch() if row[0] == "new_york_hours"} == {
        "agrees"
    }


def test_the_clocks_of_utc_are_read_as_they_are(session: Session) -> None:
    utc = "to_utc_timestamp(t, 'America/New_York')"
    values = f"date_format({utc}, 'yyyy-MM-dd HH:mm'), to_date({utc}), hour({utc}), date_format(t, 'HH:mm')"
    rows = session.execute(f"SELECT {values} FROM new_york WHERE {RANGE}").fetch()
    expected = [
        (f"{at:%Y-%m-%d %H:%M}", date(at.year, at.month, at.day), at.hour, f"{at.astimezone(NEW_YORK):%H:%M}")
        for at in EVENTS
    ]
    assert sorted(rows) == sorted(expected)


#: Uses of to_utc_timestamp that say nothing certain in a cube with a zone.
ODD = (
    "to_utc_timestamp(t, 'Asia/Tokyo')",
    "date_format(to_utc_timestamp(t, 'Asia/Tokyo'), 'HH')",
    "to_utc_timestamp(t, 'America/New_York')",
    "date_trunc('day', to_utc_timestamp(t, 'America/New_York'))",
    "to_date(to_utc_timestamp(t, 'America/New_York')) = current_date()",
    "hour(to_utc_timestamp(to_utc_timestamp(t, 'America/New_York'), 'America/New_York'))",
    "hour(from_utc_timestamp(t, 'Asia/Tokyo'))",
)


@pytest.mark.parametrize("value", ODD)
def test_other_conversions_are_refused(on_duckdb: Session, value: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        on_duckdb.execute(f"SELECT {value}, n FROM new_york WHERE {RANGE}")
    assert caught.value.condition == "ZONED_TIME"
    assert "utc_timestamp" in caught.value.message
