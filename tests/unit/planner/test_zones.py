"""Results of queries over a cube with a time zone, and queries that are refused because their result would be for
UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from rewriter.catalog.model import json_codec
from rewriter.catalog.model.objects import Cube
from rewriter.errors import Error
from rewriter.session import Session


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Creates three days of Tokyo with 1, 2 and 4, and a present of 11 March at five in the morning there."""
    with Session(tmp_path_factory.mktemp("zones") / "warehouse", "duckdb") as opened:
        for statement in (
            "CREATE CUBE f (o STRING, n BIGINT MEASURE SUM, c BIGINT MEASURE COUNT, t TIMESTAMP TIME) "
            "TIME ZONE 'Asia/Tokyo'",
            "CREATE TABLE d (o STRING, n BIGINT, c BIGINT) PARTITIONED BY (p STRING)",
            "CREATE TABLE other (ts TIMESTAMP, day DATE, s STRING)",
            "CREATE FACT ff OF CUBE f STORED IN (TABLE d PERIOD DAILY PARTITIONED BY t AS (p))",
            "INSERT INTO d VALUES ('a', 1, 1, '2015-03-08'), ('a', 2, 1, '2015-03-09'), ('b', 4, 1, '2015-03-10')",
            "SET rewriter.now = '2015-03-10T20'",
        ):
            opened.execute(statement).fetch()
        yield opened


def sums(session: Session, condition: str, *parameters: object) -> object:
    return session.execute(f"SELECT SUM(n) FROM f WHERE {condition}", list(parameters)).fetch()[0][0]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("t >= '2015-03-09'", 6),
        ("'2015-03-09' > t", 1),
        ("t >= DATE '2015-03-09'", 6),
        ("t >= CAST('2015-03-09' AS DATE)", 6),
        ("t >= date('2015-03-09') + 1", 4),
        ("t >= make_date(2015, 3, 9)", 6),
        ("t >= '2015-03-08 15:00:00Z'", 6),
        ("t > '2015-03-09 00:00:00+09:00'", 4),
        ("t >= TIMESTAMP '2015-03-08 15:00:00Z'", 6),
        ("t >= current_date() - 1", 4),
        ("to_date(t) >= current_date() - 1", 4),
        ("t < now() AND t >= '2015-03-10'", 4),
        ("NOT (t BETWEEN '2015-03-09' AND '2015-03-10')", 1),
        ("t IN ('2015-03-08', '2015-03-10')", 5),
        ("t <=> '2015-03-08' OR t IS NULL", 1),
        ("to_date(t) = '2015-03-09'", 2),
        ("date_trunc('day', t) = '2015-03-09'", 2),
        ("date_format(t, 'yyyy-MM-dd') = '2015-03-09'", 2),
        ("day(t) = 9", 2),
        ("date_sub(t, 1) = '2015-03-08'", 2),
        ("time_range_in(t, '2015-03-08', '2015-03-10') AND day(t) < 9", 1),
        ("time_range_in(t, 'now.day - 1 day', 'now.day')", 4),
        ("datediff(t, current_date()) = -1", 4),
        ("datediff(current_date(), t) = 2", 2),
        ("to_date(t) = current_date() - 1", 4),
        ("to_date(t) < current_date() AND t < current_date()", 7),
        ("date_format(t, 'yyyy-MM-dd') = CAST(date_sub(current_date(), 1) AS STRING)", 4),
        ("day(t) = day(current_date()) - 1", 4),
    ],
)
def test_conditions_are_read_in_the_zone(session: Session, condition: str, expected: int) -> None:
    bounds = "" if "time_range_in" in condition else " AND t >= '2015-03-08' AND t < '2015-03-11'"
    assert sums(session, f"({condition}){bounds}") == expected


def test_parameters_are_read_in_the_zone(session: Session) -> None:
    assert sums(session, "t >= ?", "2015-03-09") == 6
    assert sums(session, "t >= ?", date(2015, 3, 9)) == 6
    assert sums(session, "t >= ?", datetime(2015, 3, 8, 15, tzinfo=UTC)) == 6
    assert sums(session, "time_range_in(t, ?, ?)", "2015-03-09", "2015-03-10") == 2


@pytest.mark.parametrize(
    "query",
    [
        # What reads the clock of UTC.
        "SELECT CAST(t AS STRING), SUM(n) FROM f GROUP BY 1",
        "SELECT t + INTERVAL 1 DAY, SUM(n) FROM f GROUP BY 1",
        "SELECT timestampadd(DAY, 1, t) FROM f",
        "SELECT SUM(n) FROM f WHERE t + INTERVAL 1 HOUR > '2015-03-09'",
        "SELECT SUM(n) FROM f WHERE t LIKE '2015-03-09%'",
        "SELECT window(t, '1 day'), SUM(n) FROM f GROUP BY 1",
        "SELECT date_trunc('month', to_date(t)), SUM(n) FROM f GROUP BY 1",
        "SELECT date_format(t, 'yyyy-MM-dd HH:mm:ss z'), SUM(n) FROM f GROUP BY 1",
        "SELECT COALESCE(t, '2015-01-01'), SUM(n) FROM f GROUP BY 1",
        "SELECT from_utc_timestamp(t, 'Asia/Tokyo'), SUM(n) FROM f GROUP BY 1",
        "SELECT year(MAX(t)) FROM f",
        "SELECT hour(MAX(t) OVER ()) FROM f",
        "SELECT SUM(n) OVER (ORDER BY t RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) FROM f",
        # What is not certainly an instant, or of which instant it is.
        "SELECT SUM(n) FROM f WHERE t >= TIMESTAMP '2015-03-09 00:00:00'",
        "SELECT SUM(n) FROM f WHERE t >= current_timestamp() - INTERVAL 2 DAYS",
        "SELECT SUM(n) FROM f WHERE t > 'yesterday'",
        "SELECT SUM(n) FROM f WHERE to_date(t) > now()",
        "SELECT datediff(current_timestamp(), t) FROM f",
        "SELECT SUM(n) FROM f JOIN other ON f.t = other.ts",
        "SELECT SUM(n) FROM f JOIN other ON to_date(f.t) = other.s",
        "SELECT SUM(n) FROM f JOIN other ON to_date(f.t) = CAST(other.ts AS DATE)",
        "SELECT s FROM other WHERE EXISTS (SELECT 1 FROM f WHERE to_date(f.t) = other.ts)",
        "SELECT SUM(n) FROM f WHERE unix_seconds(t) IN (1, unix_timestamp('2015-03-09 00:00:00'))",
        "SELECT SUM(n) FROM f JOIN other ON unix_timestamp(f.t) = unix_timestamp(other.s)",
        "SELECT timestamp_seconds(unix_timestamp(t)) FROM f",
        "SELECT o FROM f WHERE EXISTS (SELECT 1 FROM other WHERE other.ts = f.t)",
        "SELECT s FROM other WHERE ts IN (SELECT date_trunc('day', t) FROM f)",
        "SELECT year((SELECT MAX(t) FROM f))",
        # Dates and hours of the present moment, or of another instant, are read off the clock of UTC.
        "SELECT SUM(n) FROM f WHERE to_date(t) = to_date(now())",
        "SELECT SUM(n) FROM f WHERE to_date(t) = date_add(now(), 0)",
        "SELECT SUM(n) FROM f WHERE to_date(t) = CAST(current_timestamp() AS DATE)",
        "SELECT SUM(n) FROM f WHERE date_format(t, 'yyyy-MM-dd') = date_format(now(), 'yyyy-MM-dd')",
        "SELECT SUM(n) FROM f WHERE hour(t) = hour(now())",
        "SELECT SUM(n) FROM f WHERE to_date(t) = CAST(TIMESTAMP '2015-03-09 20:00:00Z' AS DATE)",
        "SELECT SUM(n) FROM (SELECT to_date(t) AS d, n FROM f) AS s WHERE d = to_date(now())",
        # Instants as values, and next to unknown expressions.
        "SELECT to_date(m) FROM (SELECT (SELECT max(t) FROM f) AS m) AS s",
        "WITH mx AS (SELECT max(t) AS m FROM f) SELECT to_date((SELECT m FROM mx))",
        "WITH mx AS (SELECT max(t) AS m FROM f) SELECT s FROM other WHERE day IN (SELECT m FROM mx)",
        "SELECT to_date(`max(t)`) FROM (SELECT max(t) FROM f) AS s",
        "SELECT to_date(ts) FROM (SELECT * FROM other UNION ALL SELECT t, NULL, NULL FROM f) AS s",
        "SELECT t AS d FROM f GROUP BY t UNION ALL SELECT NULL WHERE 1 = 0 ORDER BY hour(d)",
        "(SELECT t AS d FROM f GROUP BY t) ORDER BY hour(d)",
        "SELECT day FROM other INTERSECT SELECT date_trunc('day', t) FROM f",
        "SELECT SUM(a.n) FROM f a JOIN f b ON a.o = b.o WHERE a.t BETWEEN '2015-03-08' AND b.t",
        # Times that have left the block that reads the cube.
        "SELECT year(d) FROM (SELECT date_trunc('day', t) AS d, SUM(n) AS n FROM f GROUP BY 1) AS s",
        "SELECT year(e) FROM (SELECT d AS e FROM (SELECT MAX(t) AS d FROM f) AS s) AS r",
        "SELECT year(x) FROM (SELECT MAX(t) FROM f) AS s(x)",
        "SELECT year(x) FROM (SELECT ts AS x FROM other UNION ALL SELECT MAX(t) AS d FROM f) AS u",
        "WITH w AS (SELECT SUM(n) AS s, MAX(t) AS m FROM f), v AS (SELECT * FROM w) SELECT hour(m) FROM v",
        "SELECT hour(x) FROM (SELECT * FROM f LIMIT 2) AS s(a, b, c, x)",
        "SELECT MAX(t) AS m FROM f HAVING m > '2015-03-09'",
        "SELECT date_trunc('day', t) AS d, year(d) FROM f",
        "SELECT s FROM (SELECT MAX(t) AS ts FROM f) AS q JOIN other USING (ts)",
    ],
)
def test_what_would_mean_utc_is_refused(session: Session, query: str) -> None:
    with pytest.raises(Error) as caught:
        session.execute(query).fetch()
    assert caught.value.condition == "ZONED_TIME", caught.value
    assert caught.value.hint
    assert caught.value.position is not None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT MAX(to_date(t)), COUNT(DISTINCT to_date(t)), MIN(year(t)) FROM f", [(date(2015, 3, 10), 3, 2015)]),
        ("SELECT hour(t), SUM(n) FROM f GROUP BY hour(t)", [(0, 7)]),
        ("SELECT day(d), SUM(n) FROM (SELECT date_trunc('day', t) AS d, n FROM f) AS s GROUP BY 1 HAVING day(d) = 9",
         [(9, 2)]),
        ("WITH w AS (SELECT t AS u, n FROM f WHERE t >= '2015-03-10') SELECT to_date(u), SUM(n) FROM w GROUP BY 1",
         [(date(2015, 3, 10), 4)]),
        ("SELECT SUM(a.n) FROM f AS a JOIN f AS b ON a.t = b.t AND to_date(a.t) = to_date(b.t)", [(7,)]),
        ("SELECT SUM(CASE WHEN t >= '2015-03-09' THEN n END), SUM(n) FILTER (WHERE day(t) = 9) FROM f", [(6, 2)]),
        ("SELECT n FROM f WHERE t < '2015-03-09' UNION ALL SELECT n FROM f WHERE t >= '2015-03-10'", [(1,), (4,)]),
        ("SELECT unix_micros(t) FROM f WHERE t < '2015-03-09'", [(1425740400000000,)]),
        ("SELECT SUM(n) FROM f WHERE unix_timestamp(t) < 1425740400 + 86400", [(1,)]),
        ("SELECT SUM(n) FROM f JOIN other ON to_date(f.t) = other.day", [(None,)]),
    ],
)  # fmt: skip
def test_answers(session: Session, query: str, expected: list[tuple[object, ...]]) -> None:
    assert sorted(session.execute(query).fetch(), key=str) == expected


def test_items_keep_their_names(session: Session) -> None:
    result = session.execute("SELECT date_trunc('day', t), year(t), SUM(n) FROM f GROUP BY 1, 2")
    assert [column.name for column in result.columns][:2] == ["date_trunc(day, t)", "year(t)"]


def test_definitions_without_a_zone_are_of_utc() -> None:
    old = {"dimensions": [], "measures": [], "times": ["t"], "column_order": ["t"]}
    cube = json_codec.decode_object("cube", 1, "c", json.dumps(old), "")
    assert isinstance(cube, Cube)
    assert cube.zone == "UTC"
    assert json.loads(json_codec.to_text(cube, "")) == old
    zoned = Cube(1, "c", (), (), ("t",), ("t",), "Asia/Tokyo")
    assert json_codec.decode_object("cube", 1, "c", json_codec.to_text(zoned, ""), "") == zoned


def test_a_month_that_began_under_another_offset(tmp_path: Path) -> None:
    """A subquery cuts time that lies before the range of its rows, where the zone's clocks had another offset."""
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        for statement in (
            "CREATE CUBE z (n BIGINT MEASURE SUM, t TIMESTAMP TIME) TIME ZONE 'America/New_York'",
            "CREATE TABLE h (n BIGINT) PARTITIONED BY (p STRING)",
            "CREATE FACT hf OF CUBE z STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (p))",
            "INSERT INTO h VALUES (1, '2015-11-05-12'), (2, '2015-11-05-13')",
        ):
            opened.execute(statement).fetch()
        within = "t >= '2015-11-05 07:00:00' AND t < '2015-11-05 09:00:00'"
        rows = f"(SELECT date_trunc('month', t) AS m, n FROM z WHERE {within}) AS s"
        assert opened.execute(f"SELECT month(m), to_date(m), SUM(n) FROM {rows} GROUP BY 1, 2").fetch() == [
            (11, date(2015, 11, 1), 3)
        ]
        assert opened.execute(f"SELECT SUM(n) FROM {rows} WHERE month(m) = 11").fetch() == [(3,)]


def test_hours_of_a_zone_that_once_had_others_are_refused(tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        for statement in (
            "CREATE CUBE v (n BIGINT MEASURE SUM, t TIMESTAMP TIME) TIME ZONE 'America/Caracas'",
            "CREATE TABLE m (n BIGINT) PARTITIONED BY (p STRING)",
            "CREATE FACT vf OF CUBE v STORED IN (TABLE m PERIOD MINUTELY PARTITIONED BY t AS (p))",
            "INSERT INTO m VALUES (1, '2010-01-01-04-30')",
        ):
            opened.execute(statement).fetch()
        with pytest.raises(Error, match="before 2016"):
            opened.execute("SELECT date_trunc('hour', t), SUM(n) FROM v GROUP BY 1")
