"""Which INSERTs into rollup tables are proven: by SQL, on DuckDB, with what SHOW TIMELINES says of the day written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from results import named_rows

from rewriter.session import Session

HOURS = [f"{hour:02d}" for hour in range(24)]
DAY = "dt >= '2013-01-01' AND dt < '2013-01-02'"
CUBE_DAY = "t >= '2013-01-01' AND t < '2013-01-02'"
MEASURES = "SUM(n), MAX(m)"


def setup(session: Session, zone: str = "") -> None:
    for statement in (
        f"CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT NOT NULL, m BIGINT MEASURE MAX, t TIMESTAMP TIME) {zone}",
        "CREATE TABLE hours (k STRING, n BIGINT, m BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE TABLE days (k STRING, n BIGINT, m BIGINT) PARTITIONED BY (ds STRING)",
        "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (ds))",
        "CREATE VIEW v AS SELECT * FROM hours",
    ):
        session.execute(statement)
    dates = ("2013-01-01", "2013-01-02")
    rows = ", ".join(f"('a', 1, {int(hour)}, '{date}-{hour}')" for date in dates for hour in HOURS)
    session.execute(f"INSERT INTO hours VALUES {rows}")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, "duckdb") as opened:
        setup(opened)
        yield opened


def day(session: Session) -> tuple[object, ...]:
    """Returns the numbers of fresh, outdated, unproven and incomplete days, and the reason."""
    told = named_rows(session.execute("SHOW TIMELINES OF f PERIOD DAILY"))[0]
    return tuple(told[name] for name in ("partitions", "outdated", "unproven", "incomplete", "reason"))


FRESH = (1, 0, 0, 0, None)
#: Queries of the plain form: static and dynamic partitions, any way to the table, any text of the day.
PROVEN = {
    "static": f"PARTITION (ds = '2013-01-01') SELECT k, {MEASURES} FROM hours WHERE {DAY} GROUP BY k",
    "substr": f"PARTITION (ds) SELECT k, {MEASURES}, substr(dt, 1, 10) FROM hours WHERE {DAY} GROUP BY 1, 4",
    "concat": f"SELECT k, {MEASURES}, concat(substr(dt, 1, 8), substr(dt, 9, 2)) FROM hours WHERE {DAY} GROUP BY 1, 4",
    "cast": f"SELECT k, CAST(SUM(n) AS BIGINT), MAX(m), left(dt, 10) FROM hours WHERE {DAY} GROUP BY 1, 4",
    "view": f"PARTITION (ds = '2013-01-01') SELECT k, {MEASURES} FROM v WHERE {DAY} GROUP BY k",
    "derived": f"PARTITION (ds = '2013-01-01') SELECT k, {MEASURES} FROM (SELECT * FROM v) x WHERE {DAY} GROUP BY k",
    "cte": f"WITH x AS (SELECT * FROM v WHERE {DAY}) SELECT k, {MEASURES}, left(dt, 10) FROM x GROUP BY 1, 4",
    "union": "PARTITION (ds = '2013-01-01') "
    f"SELECT k, {MEASURES} FROM hours WHERE {DAY} AND dt < '2013-01-01-12' GROUP BY k "
    f"UNION ALL SELECT k, {MEASURES} FROM hours WHERE {DAY} AND dt >= '2013-01-01-12' GROUP BY k",
    "cube": f"PARTITION (ds = '2013-01-01') SELECT k, COUNT(*), MAX(m) FROM c WHERE {CUBE_DAY} GROUP BY k",
    "cube, to_date": f"SELECT k, COUNT(*), MAX(m), CAST(to_date(t) AS STRING) FROM c WHERE {CUBE_DAY} GROUP BY 1, 4",
    "cube, date_format": f"SELECT k, {MEASURES}, date_format(t, 'yyyy-MM-dd') FROM c WHERE {CUBE_DAY} GROUP BY 1, 4",
}
#: Queries that may be right, and of which nothing shows it, each with a word of the reason.
UNPROVEN = {
    "values": ("VALUES ('a', 24, 23, '2013-01-01')", "read no table of the fact"),
    "having": (f"SELECT k, SUM(n), MAX(m), '2013-01-01' FROM hours WHERE {DAY} GROUP BY k HAVING SUM(n) > 0", "HAVING"),
    "filter": (
        f"SELECT k, SUM(n) FILTER (WHERE dt > '2013-01-01-05'), MAX(m), '2013-01-01' FROM v WHERE {DAY} GROUP BY k",
        "FILTER",
    ),
    "limit": (f"SELECT k, SUM(n), MAX(m), '2013-01-01' FROM hours WHERE {DAY} GROUP BY k LIMIT 9", "LIMIT"),
    "case": (
        "SELECT k, SUM(CASE WHEN dt > '2013-01-01-05' THEN n ELSE 0 END), MAX(m), '2013-01-01' "
        f"FROM v WHERE {DAY} GROUP BY k",
        "does not compute n as SUM(n)",
    ),
    "aggregate": (f"SELECT k, SUM(n), MIN(m), '2013-01-01' FROM hours WHERE {DAY} GROUP BY k", "MAX(m)"),
    "dimension": (f"SELECT upper(k), SUM(n), MAX(m), '2013-01-01' FROM hours WHERE {DAY} GROUP BY 1", "dimension k"),
    "rows": (f"SELECT k, SUM(n), MAX(m), '2013-01-01' FROM hours WHERE {DAY} AND n > 0 GROUP BY k", "whole partitions"),
    "place": (
        f"SELECT k, SUM(n), MAX(m), '2013-01-02' FROM hours WHERE {DAY} GROUP BY k",
        "a partition that does not match",
    ),
}


@pytest.mark.parametrize("query", PROVEN.values(), ids=PROVEN)
def test_the_plain_form_is_proven(session: Session, query: str) -> None:
    session.execute(f"INSERT OVERWRITE days {query}")
    assert day(session) == FRESH
    session.execute("INSERT INTO hours VALUES ('a', 1, 1, '2013-01-01-05')")
    assert day(session)[:2] == (0, 1)


@pytest.mark.parametrize(("query", "reason"), UNPROVEN.values(), ids=UNPROVEN)
def test_other_forms_are_unproven(session: Session, query: str, reason: str) -> None:
    session.execute(f"INSERT OVERWRITE days {query}")
    partitions, outdated, unproven, incomplete, told = day(session)
    assert (partitions, outdated, unproven, incomplete) == (0, 0, 1, 0)
    assert reason in str(told)


#: Queries that count rows twice, or rows that have no time.
HALVES = f"SELECT k, {MEASURES} FROM hours WHERE {DAY} GROUP BY k"
WRONG = {
    "hours twice": (f"{HALVES} UNION ALL {HALVES}", "twice"),
    "hours twice, inside": (
        f"SELECT k, {MEASURES} FROM (SELECT * FROM v WHERE {DAY} UNION ALL SELECT * FROM hours WHERE {DAY}) x "
        "GROUP BY k",
        "twice",
    ),
    "hours and their day": (f"{HALVES} UNION ALL SELECT k, n, m FROM days WHERE ds = '2013-01-01'", "twice"),
    "hours and the cube": (
        f"{HALVES} UNION ALL SELECT k, COUNT(*), MAX(m) FROM c WHERE {CUBE_DAY} GROUP BY k",
        "twice",
    ),
    "no time": (f"SELECT k, {MEASURES} FROM hours WHERE ({DAY}) OR dt IS NULL GROUP BY k", "without a time"),
}


@pytest.mark.parametrize(("query", "reason"), WRONG.values(), ids=WRONG)
def test_what_is_counted_twice_or_out_of_time_is_unproven(session: Session, query: str, reason: str) -> None:
    session.execute("INSERT INTO hours VALUES ('a', 1, 1, NULL)")
    session.execute(f"INSERT OVERWRITE days PARTITION (ds = '2013-01-01') {HALVES}")
    assert day(session) == FRESH
    session.execute(f"INSERT OVERWRITE days PARTITION (ds = '2013-01-01') {query}")
    assert day(session)[:4] == (0, 0, 1, 0)
    assert reason in str(day(session)[4])


def test_months_and_their_quarter_in_one_table_are_not_added(tmp_path: Path) -> None:
    with Session(tmp_path / "periods", "duckdb") as session:
        for statement in (
            "CREATE CUBE c (n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE TABLE parts (n BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE TABLE years (n BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE parts PERIODS (MONTHLY, QUARTERLY) PARTITIONED BY t AS (dt), "
            "TABLE years PERIOD YEARLY PARTITIONED BY t AS (dt))",
            "INSERT INTO parts MARK COMPLETE FROM '2013-01-01' TO '2014-01-01' VALUES (1, '2013-01')",
            "INSERT INTO parts PARTITION (dt = '2013-Q1') SELECT SUM(n) FROM parts "
            "WHERE dt BETWEEN '2013-01' AND '2013-03'",
            "INSERT INTO years PARTITION (dt = '2013') SELECT SUM(n) FROM parts",
        ):
            session.execute(statement)
        assert session.execute("SELECT n FROM years").fetch() == [(2,)]
        (row,) = session.execute("SHOW TIMELINES OF f PERIOD YEARLY").fetch()
        assert row[-4] == 1
        assert "twice" in str(row[-1])


@pytest.mark.parametrize("source", ["hours", "v", "(SELECT * FROM v) x"])
def test_what_a_condition_leaves_out_outdates(session: Session, source: str) -> None:
    query = f"SELECT k, SUM(n), MAX(m) FROM {source} WHERE dt >= '2013-01-01' AND dt < '2013-01-01-12' GROUP BY k"
    session.execute(f"INSERT OVERWRITE days PARTITION (ds = '2013-01-01') {query}")
    assert day(session) == (0, 1, 0, 0, None)


@pytest.mark.parametrize("text", ["CAST(to_date(t) AS STRING)", "date_format(t, 'yyyy-MM-dd')"])
def test_days_of_a_zone_are_proven_on_its_clocks(tmp_path: Path, text: str) -> None:
    with Session(tmp_path / "zoned", "duckdb") as session:
        setup(session, "TIME ZONE 'America/Sao_Paulo'")
        where = "t >= '2013-01-01' AND t < '2013-01-02'"
        session.execute(f"INSERT OVERWRITE days SELECT k, SUM(n), MAX(m), {text} FROM c WHERE {where} GROUP BY 1, 4")
        assert day(session) == FRESH


def test_a_dimension_that_partitions_the_rollups_alone_is_proven(tmp_path: Path) -> None:
    with Session(tmp_path / "countries", "duckdb") as session:
        for statement in (
            "CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE TABLE months (k STRING, n BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE TABLE quarters (n BIGINT) PARTITIONED BY (dt STRING, k STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt), "
            "TABLE quarters PERIOD QUARTERLY PARTITIONED BY t AS (dt) COMPLETE WITH ANY k)",
            "INSERT INTO months VALUES ('a', 1, '2013-01'), ('b', 2, '2013-02'), ('a', 4, '2013-03')",
            "INSERT OVERWRITE quarters PARTITION (dt = '2013-Q1', k) SELECT SUM(n), k FROM months GROUP BY k",
        ):
            session.execute(statement)
        (row,) = session.execute("SHOW TIMELINES OF f PERIOD QUARTERLY").fetch()
        assert row[-4:] == (0, 0, 0, None)
        session.execute("INSERT OVERWRITE quarters PARTITION (dt = '2013-Q1', k = 'a') SELECT SUM(n) FROM months")
        (row,) = session.execute("SHOW TIMELINES OF f PERIOD QUARTERLY").fetch()
        assert row[-4] == 1


def test_accepted_rollups_are_outdated_as_others_are(session: Session) -> None:
    session.execute("INSERT INTO days VALUES ('a', 24, 23, '2013-01-01'), ('a', 23, 23, '2013-01-02')")
    assert day(session)[:4] == (0, 0, 2, 0)
    session.execute("CHECK FACT f").close()
    assert day(session)[:4] == (0, 0, 2, 0)
    session.execute("CHECK FACT f ACCEPT").close()
    assert day(session)[:4] == (1, 0, 1, 0)
    session.execute("INSERT INTO hours VALUES ('a', 1, 1, '2013-01-01-05')")
    assert day(session)[:4] == (0, 1, 1, 0)


def test_an_incomplete_rollup_is_whole_once_its_base_is(session: Session) -> None:
    session.execute("ALTER TABLE hours DROP PARTITION (dt >= '2013-01-01')")
    session.execute("INSERT INTO hours VALUES ('a', 1, 1, '2013-01-03-05')")
    query = "SELECT k, SUM(n), MAX(m) FROM hours WHERE dt >= '2013-01-03' AND dt < '2013-01-04' GROUP BY k"
    session.execute(f"INSERT INTO days PARTITION (ds = '2013-01-03') {query}")
    assert day(session) == (0, 0, 0, 1, "its base lacks 23 HOURLY periods")
    session.execute("ALTER FACT f MARK COMPLETE FROM '2013-01-03' TO '2013-01-03 12:00'").close()
    assert day(session)[:4] == (0, 0, 0, 1)
    session.execute("ALTER FACT f MARK COMPLETE FROM '2013-01-03' TO '2013-01-04'").close()
    assert day(session) == FRESH


def test_what_comes_later_outdates_an_incomplete_rollup(session: Session) -> None:
    session.execute("INSERT INTO hours VALUES ('a', 1, 1, '2013-01-03-05')")
    query = "SELECT k, SUM(n), MAX(m) FROM hours WHERE dt >= '2013-01-03' AND dt < '2013-01-04' GROUP BY k"
    session.execute(f"INSERT INTO days PARTITION (ds = '2013-01-03') {query}")
    load = "INSERT INTO hours MARK COMPLETE FROM '2013-01-03' TO '2013-01-04' VALUES ('a', 1, 1, '2013-01-03-06')"
    session.execute(load)
    assert day(session)[:4] == (0, 1, 0, 0)
    session.execute("REFRESH FACT f FROM '2013-01-03' TO '2013-01-04'").close()
    assert day(session) == FRESH


def test_rows_beside_unproven_ones_prove_nothing(session: Session) -> None:
    session.execute("INSERT INTO days VALUES ('a', 20, 23, '2013-01-01')")
    before = day(session)
    assert before[:4] == (0, 0, 1, 0)
    session.execute(f"INSERT INTO days {PROVEN['static']}")
    assert day(session) == before
    session.execute("INSERT INTO days VALUES ('a', 4, 23, '2013-01-01')")
    assert day(session) == before
    # A rebuild says the same, and CHECK FACT compares it with the base: here it has other rows.
    session.execute("ALTER TABLE days SET TBLPROPERTIES ('present' = 'false')")
    assert day(session) == before
    assert any(row[8] == "differs" for row in session.execute("CHECK FACT f ACCEPT").fetch())
    assert day(session) == before
    session.execute(f"INSERT OVERWRITE days {PROVEN['static']}")
    assert day(session) == FRESH


def test_rows_beside_proven_ones_outdate(session: Session) -> None:
    session.execute(f"INSERT INTO days {PROVEN['static']}")
    session.execute("INSERT INTO days VALUES ('a', 4, 23, '2013-01-01')")
    assert day(session) == (0, 1, 0, 0, None)


def test_rows_beside_unproven_ones_are_accepted_where_all_agree(session: Session) -> None:
    session.execute("INSERT INTO days VALUES ('a', 20, 23, '2013-01-01')")
    session.execute("INSERT INTO days VALUES ('a', 4, 23, '2013-01-01')")
    session.execute("CHECK FACT f ACCEPT").fetch()
    assert day(session) == (*FRESH[:-1], "1 partition on the acceptance of days by CHECK FACT")


#: Conditions on the cube's time that no range takes over. Those of the first group lose hours of the day.
NO_RANGES = {
    "modulo": "hour(t) % 2 = 0",
    "negated modulo": "NOT (hour(t) % 2 = 1)",
    "text of an hour": "date_format(t, 'HH') <> '05'",
    "seconds": "unix_timestamp(t) % 7200 = 0",
    "case": "CASE WHEN hour(t) = 5 THEN false ELSE true END",
    "if": "if(hour(t) > 3, true, false)",
    "or": "(t < '2013-01-01 05:00:00' OR hour(t) % 2 = 0)",
    "with a dimension": "(hour(t) > 3 OR k = 'b')",
    "minute": "minute(t) = 0",
    "weekday": "dayofweek(t) <> 1",
    "name of a weekday": "date_format(t, 'EEE') <> 'Sun'",
    "day of the year": "dayofyear(t) <> 2",
    "days between": "datediff(t, DATE '2013-01-01') < 1",
    "last day": "last_day(t) = DATE '2013-01-31'",
    "modulo of a day": "mod(day(t), 2) = 1",
    "time with itself": "t = t",
}
#: The ways to the cube, with the conditions inside or outside.
PATHS = {
    "cube": "c WHERE {}",
    "inside": "(SELECT * FROM c WHERE {}) x WHERE true",
    "outside": "(SELECT k, n, m, t AS t FROM c) x WHERE {}",
    "renamed": "(SELECT k, n, m, x.u AS t FROM (SELECT k, n, m, t AS u FROM c) x) y WHERE {}",
    "view": "cube_view WHERE {}",
}
ZONE = "TIME ZONE 'America/Sao_Paulo'"


def from_cube(path: str, condition: str) -> str:
    return f"SELECT k, SUM(n), MAX(m) FROM {path.format(condition)} GROUP BY k"


@pytest.mark.parametrize("zone", ["", ZONE], ids=["UTC", "zone"])
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_condition_that_is_no_range_proves_nothing(tmp_path: Path, path: str, zone: str) -> None:
    with Session(tmp_path, "duckdb") as session:
        setup(session, zone)
        session.execute("CREATE VIEW cube_view AS SELECT * FROM c")
        events = session.execute(f"SELECT COUNT(*) FROM c WHERE {CUBE_DAY}").fetch()
        for condition in NO_RANGES.values():
            query = from_cube(path, f"{CUBE_DAY} AND {condition}")
            result = session.execute(f"INSERT OVERWRITE days PARTITION (ds = '2013-01-01') {query}")
            assert day(session)[:4] == (0, 0, 1, 0), condition
            # Some conditions compare units that are shorter than the periods, and warn of that, too.
            (warning,) = (text for text in result.warnings if text.startswith("days: what was written is unproven"))
            assert "a condition that does not select whole partitions" in warning, condition
            assert session.execute(f"SELECT COUNT(*) FROM c WHERE {CUBE_DAY}").fetch() == events


#: Conditions that are the day's range, or a part of it, with the state of the day.
RANGES = {
    "interval": (CUBE_DAY, FRESH),
    "call": ("time_range_in(t, '2013-01-01', '2013-01-02')", FRESH),
    "date": ("to_date(t) = '2013-01-01'", FRESH),
    "text": ("date_format(t, 'yyyy-MM-dd') = '2013-01-01'", FRESH),
    "fields": ("year(t) = 2013 AND month(t) = 1 AND day(t) = 1", FRESH),
    "fields in one condition": ("(year(t) = 2013 AND month(t) = 1 AND day(t) = 1)", FRESH),
    "no NULL": (f"{CUBE_DAY} AND t IS NOT NULL", FRESH),
    "always true": (f"{CUBE_DAY} AND 1 = 1", FRESH),
    # An hour's events have the time of its start, so that its end is no matter.
    "an end inside the last hour": ("t >= '2013-01-01' AND t < '2013-01-01 23:30:00'", FRESH),
    "half": (f"{CUBE_DAY} AND t < '2013-01-01 12:00:00'", (0, 1, 0, 0, None)),
    "hole": (f"{CUBE_DAY} AND t <> '2013-01-01 12:00:00'", (0, 1, 0, 0, None)),
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_condition_that_becomes_the_range_proves_its_periods(session: Session, path: str) -> None:
    session.execute("CREATE VIEW cube_view AS SELECT * FROM c")
    for condition, state in RANGES.values():
        query = f"INSERT OVERWRITE days PARTITION (ds = '2013-01-01') {from_cube(path, condition)}"
        assert session.execute(query).warnings[:1] in ((), INSIDE), condition
        assert day(session) == state, condition
        assert session.execute(f"SELECT COUNT(*) FROM c WHERE {CUBE_DAY}").fetch() == [(24,)]


INSIDE = ("2013-01-01T23:30 is inside an HOURLY period of c: a row's time is the start of its period",)


def test_a_column_that_is_two_conditions_must_be_a_range_as_a_whole(session: Session) -> None:
    for inside, state in (("t < '2013-01-02'", FRESH[:4]), ("hour(t) % 2 = 0", (0, 0, 1, 0))):
        source = f"(SELECT *, (t >= '2013-01-01' AND {inside}) AS chosen FROM c WHERE {CUBE_DAY}) x WHERE chosen"
        session.execute(f"INSERT OVERWRITE days PARTITION (ds = '2013-01-01') {from_cube(source, '')}")
        assert day(session)[:4] == state, inside


def test_branches_of_a_multi_insert_are_proven_one_by_one(session: Session) -> None:
    day_1 = f"SELECT k, SUM(n), MAX(m) WHERE {CUBE_DAY} AND hour(t) % 2 = 0 GROUP BY k"
    day_2 = "SELECT k, SUM(n), MAX(m) WHERE t >= '2013-01-02' AND t < '2013-01-03' GROUP BY k"
    result = session.execute(
        f"FROM c INSERT OVERWRITE TABLE days PARTITION (ds = '2013-01-01') {day_1} "
        f"INSERT OVERWRITE TABLE days PARTITION (ds = '2013-01-02') {day_2}"
    )
    assert day(session)[:4] == (1, 0, 1, 0)
    assert len(result.warnings) == 1
    assert "hour(t) % 2 = 0" in result.warnings[0].lower()


def test_events_inside_their_hours_prove_no_period(tmp_path: Path) -> None:
    with Session(tmp_path, "duckdb") as session:
        for statement in (
            "CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT NOT NULL, m BIGINT MEASURE MAX, t TIMESTAMP TIME)",
            "CREATE TABLE events (k STRING, m BIGINT, t TIMESTAMP) PARTITIONED BY (dt STRING)",
            "CREATE TABLE days (k STRING, n BIGINT, m BIGINT) PARTITIONED BY (ds STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE events PERIOD HOURLY PARTITIONED BY t AS (dt) RAW, "
            "TABLE days PERIOD DAILY PARTITIONED BY t AS (ds))",
        ):
            session.execute(statement)
        events = ", ".join(
            f"('a', {hour}, TIMESTAMP '2013-01-01 {hour}:{minute}:00', '2013-01-01-{hour}')"
            for hour in HOURS
            for minute in ("00", "30")
        )
        session.execute(f"INSERT INTO events VALUES {events}")
        doubted = [f"{CUBE_DAY} AND {condition}" for condition in NO_RANGES.values()]
        doubted += [f"{CUBE_DAY} AND minute(t) = 30", "t >= '2013-01-01' AND t < '2013-01-01 23:30:00'"]
        for condition in doubted:
            query = from_cube(PATHS["cube"], condition)
            result = session.execute(f"INSERT OVERWRITE days PARTITION (ds = '2013-01-01') {query}")
            assert day(session)[:4] == (0, 0, 1, 0), condition
            assert "days: what was written is unproven" in result.warnings[-1], condition
            assert session.execute(f"SELECT COUNT(*) FROM c WHERE {CUBE_DAY}").fetch() == [(48,)]
        session.execute(f"INSERT OVERWRITE days PARTITION (ds = '2013-01-01') {from_cube(PATHS['cube'], CUBE_DAY)}")
        assert day(session) == FRESH


#: Conditions of other places than WHERE, and on another time.
OTHER_PLACES = {
    "HAVING": f"SELECT k, SUM(n), MAX(m) FROM c WHERE {CUBE_DAY} GROUP BY k, t HAVING hour(t) % 2 = 0",
    "FILTER": f"SELECT k, SUM(n) FILTER (WHERE hour(t) % 2 = 0), MAX(m) FROM c WHERE {CUBE_DAY} GROUP BY k",
    "CASE": f"SELECT k, SUM(CASE WHEN hour(t) = 5 THEN 0 ELSE n END), MAX(m) FROM c WHERE {CUBE_DAY} GROUP BY k",
    "LIMIT": f"SELECT k, SUM(n), MAX(m) FROM c WHERE {CUBE_DAY} GROUP BY k LIMIT 5",
    "QUALIFY": f"SELECT k, n, m FROM c WHERE {CUBE_DAY} QUALIFY row_number() OVER (ORDER BY t) < 9",
    "IN": f"SELECT k, SUM(n), MAX(m) FROM c WHERE {CUBE_DAY} AND hour(t) IN (SELECT 5) GROUP BY k",
    "EXISTS": f"SELECT k, SUM(n), MAX(m) FROM c WHERE {CUBE_DAY} AND EXISTS (SELECT 1 FROM hours) GROUP BY k",
    "ON": f"SELECT c.k, SUM(n), MAX(m) FROM c JOIN (SELECT 1 AS x) y ON hour(t) % 2 = 0 WHERE {CUBE_DAY} GROUP BY 1",
    "SEMI JOIN": f"SELECT k, SUM(n), MAX(m) FROM c LEFT SEMI JOIN (SELECT 5 AS h) y ON hour(t) = h WHERE {CUBE_DAY} "
    "GROUP BY k",
    "above an aggregation": "SELECT k, SUM(n), MAX(m) FROM (SELECT k, t, SUM(n) AS n, MAX(m) AS m FROM c "
    f"WHERE {CUBE_DAY} GROUP BY k, t) x WHERE hour(t) % 2 = 0 GROUP BY k",
}


@pytest.mark.parametrize("query", OTHER_PLACES.values(), ids=OTHER_PLACES)
def test_conditions_on_time_in_other_places_prove_nothing(session: Session, query: str) -> None:
    result = session.execute(f"INSERT OVERWRITE days PARTITION (ds = '2013-01-01') {query}")
    assert day(session)[:4] == (0, 0, 1, 0)
    assert "days: what was written is unproven" in result.warnings[-1]


def test_a_condition_on_another_time_proves_nothing(tmp_path: Path) -> None:
    with Session(tmp_path, "duckdb") as session:
        for statement in (
            "CREATE CUBE c (n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME, u TIMESTAMP TIME)",
            "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING, du STRING)",
            "CREATE TABLE days (n BIGINT) PARTITIONED BY (ds STRING, us STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt) "
            "PARTITIONED BY u AS (du), TABLE days PERIOD DAILY PARTITIONED BY t AS (ds) PARTITIONED BY u AS (us))",
        ):
            session.execute(statement)
        rows = ", ".join(f"(1, '2013-01-01-{hour}', '2013-01-01-{hour}')" for hour in HOURS)
        session.execute(f"INSERT INTO hours VALUES {rows}")
        for condition in ("u >= '2013-01-01 12:00:00'", "hour(u) % 2 = 0", "u IS NOT NULL"):
            session.execute(
                "INSERT OVERWRITE days PARTITION (ds = '2013-01-01', us = '2013-01-01') "
                f"SELECT SUM(n) FROM c WHERE {CUBE_DAY} AND {condition}"
            )
            assert day(session)[:4] == (0, 0, 1, 0), condition
            assert session.execute(f"SELECT COUNT(*) FROM c WHERE {CUBE_DAY}").fetch() == [(24,)]
