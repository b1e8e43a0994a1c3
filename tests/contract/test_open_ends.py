"""Open ends: the reach of an open range and its missing times are reported like those of a closed one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError, MissingDataError
from rewriter.exec.engine import Engine
from rewriter.runtime.result import Result
from rewriter.session import Session

NEWEST = "the end of the newest existing period"


@pytest.fixture
def session(tmp_path: Path, engine: Engine) -> Iterator[Session]:
    with Session(tmp_path, engine) as opened:
        yield opened


def run(session: Session, text: str) -> list[tuple[object, ...]]:
    return [row for _, result in session.script(text) for row in result.rows()]


def ask(session: Session, text: str) -> tuple[list[tuple[object, ...]], Result]:
    result = session.execute(text)
    return list(result.rows()), result


def missing(session: Session, text: str) -> tuple[str, ...]:
    """Returns the missing range of a refused query. With partial_data the warning is the same, and the rest is
    returned.
    """
    with pytest.raises(MissingDataError) as caught:
        session.execute(text).fetch()
    run(session, "SET rewriter.partial_data = true")
    _, result = ask(session, text)
    run(session, "RESET rewriter.partial_data")
    assert not result.coverage.complete
    assert result.coverage.missing == caught.value.missing
    assert any("lacks" in warning for warning in result.warnings)
    return caught.value.missing


SALES = """
CREATE CUBE sales (country STRING, n BIGINT MEASURE COUNT NOT NULL, sold TIMESTAMP TIME);
CREATE TABLE sale_days (n BIGINT) PARTITIONED BY (ds STRING, country STRING);
CREATE FACT sales_all OF CUBE sales STORED IN (
  TABLE sale_days PERIOD DAILY PARTITIONED BY sold AS (ds = 'yyyy-MM-dd') COMPLETE WITH country IN ('us', 'eu'));
INSERT INTO sale_days VALUES (5, '2013-01-02', 'us'), (4, '2013-01-02', 'eu')
"""


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd", "dd.MM.yyyy"])
def test_an_incomplete_newest_or_oldest_period_is_missing(session: Session, pattern: str) -> None:
    def day(number: int) -> str:
        return f"2013-01-0{number}" if pattern == "yyyy-MM-dd" else f"0{number}.01.2013"

    run(session, SALES.replace("yyyy-MM-dd", pattern).replace("2013-01-02", day(2)))
    assert ask(session, "SELECT COUNT(*) FROM sales")[0] == [(9,)]
    run(session, f"INSERT INTO sale_days VALUES (6, '{day(3)}', 'us')")
    for query in ("SELECT COUNT(*) FROM sales", "SELECT COUNT(*) FROM sales WHERE sold >= '2013-01-01 12:00'"):
        assert "[2013-01-03, 2013-01-04)" in missing(session, query)
    run(session, f"INSERT INTO sale_days VALUES (1, '{day(3)}', 'eu'), (2, '{day(1)}', 'eu')")
    assert ask(session, "SELECT COUNT(*) FROM sales WHERE sold >= '2013-01-02'")[0] == [(16,)]
    for query in ("SELECT COUNT(*) FROM sales", "SELECT n FROM sales WHERE sold < '2013-01-03'"):
        assert missing(session, query) == ("[2013-01-01, 2013-01-02)",)


def test_a_period_of_which_a_part_was_dropped_is_there(session: Session) -> None:
    run(session, SALES)
    run(session, "INSERT INTO sale_days VALUES (5, '2013-01-03', 'us'), (4, '2013-01-03', 'eu')")
    run(session, "ALTER TABLE sale_days DROP PARTITION (ds = '2013-01-03', country = 'eu')")
    assert missing(session, "SELECT COUNT(*) FROM sales") == ("[2013-01-03, 2013-01-04)",)
    assert run(session, "SHOW COVERAGE OF sales_all")[-1][:3] == ("2013-01-03", "2013-01-04", "missing")
    assert run(session, "SHOW LATEST OF sales_all")[-1] == (None, "2013-01-02", "2013-01-03", "2013-01-04", 1)
    # Retention drops the rest: nothing of the day exists, and nothing is hidden.
    run(session, "ALTER TABLE sale_days DROP PARTITION (ds = '2013-01-03')")
    rows, result = ask(session, "SELECT COUNT(*) FROM sales")
    assert (rows, result.coverage.open_ends) == ([(9,)], ("2013-01-03",))


def test_any_part_of_another_time_is_there(session: Session) -> None:
    run(
        session,
        """
        CREATE CUBE records (n BIGINT MEASURE COUNT NOT NULL, processed TIMESTAMP TIME, happened TIMESTAMP TIME);
        CREATE TABLE record_hours (n BIGINT) PARTITIONED BY (pt STRING, et STRING);
        CREATE FACT records_all OF CUBE records STORED IN (TABLE record_hours PERIOD HOURLY
          PARTITIONED BY processed AS (pt) PARTITIONED BY happened AS (et));
        INSERT INTO record_hours VALUES (1, '2013-02-01-05', '2013-02-01-05'), (1, '2013-02-01-06', '2013-02-01-06'),
          (1, '2013-02-01-06', '2013-02-01-04');
        """,
    )
    assert ask(session, "SELECT COUNT(*) FROM records WHERE happened < '2013-02-01 05:00'")[0] == [(1,)]
    run(session, "ALTER TABLE record_hours DROP PARTITION (pt = '2013-02-01-06', et = '2013-02-01-04')")
    for where in ("", "WHERE happened < '2013-02-01 05:00'", "WHERE processed >= '2013-02-01 05:00'"):
        assert missing(session, f"SELECT COUNT(*) FROM records {where}") == ("[2013-02-01T06, 2013-02-01T07)",)


FLIGHTS = """
CREATE CUBE flights (carrier STRING, n BIGINT MEASURE COUNT NOT NULL, m BIGINT MEASURE MAX, t TIMESTAMP TIME) {zone};
CREATE TABLE hours (carrier STRING, n BIGINT, m BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE days (carrier STRING, n BIGINT, m BIGINT) PARTITIONED BY (ds STRING);
CREATE FACT all_flights OF CUBE flights {lateness} STORED IN (
  TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), TABLE days PERIOD DAILY PARTITIONED BY t AS (ds) TRUSTED);
INSERT INTO hours PARTITION (dt) SELECT 'UA', 1, 1, concat('2013-12-31-', a.x, b.x)
  FROM VALUES ('0'), ('1'), ('2') AS a(x)
  CROSS JOIN VALUES ('0'), ('1'), ('2'), ('3'), ('4'), ('5'), ('6'), ('7'), ('8'), ('9') AS b(x)
  WHERE concat(a.x, b.x) < '24';
INSERT INTO days VALUES ('UA', 20, 20, '2013-12-30');
SET rewriter.now = '2014-01-03T09:00:00'
"""


@pytest.fixture
def flights(session: Session) -> Callable[..., Session]:
    def build(lateness: str = "", zone: str = "") -> Session:
        run(session, FLIGHTS.format(lateness=lateness, zone=zone))
        return session

    return build


BEHIND = (
    ("t >= '2020-01-01'", "[2020-01-01, ∞)"),
    ("t >= '2014-01-01'", "[2014-01-01, ∞)"),
    ("t > '2013-12-31 23:00'", "[2014-01-01, ∞)"),
    ("t < '2013-12-30'", "[-∞, 2013-12-30)"),
    ("year(t) >= 2014", "[2014-01-01, ∞)"),
    ("t < '2010-01-01' OR t >= '2013-12-31'", "[-∞, 2010-01-01)"),
    ("t BETWEEN '2013-12-30' AND '2013-12-31 23:59:59' OR t >= '2020-01-01'", "[2020-01-01, ∞)"),
    ("t >= current_date", "[2014-01-03, ∞)"),
    ("t >= current_date + INTERVAL 1 DAY", "[2014-01-04, ∞)"),
    ("NOT time_range_in(t, '2013-12-30', '2014')", "[-∞, 2013-12-30)"),
)


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize(("where", "lacking"), BEHIND)
def test_a_range_wholly_beyond_an_open_end_is_missing(
    flights: Callable[..., Session], where: str, lacking: str
) -> None:
    session = flights()
    assert lacking in missing(session, f"SELECT COUNT(*) FROM flights WHERE {where}")
    text = "\n".join(str(row[0]) for row in run(session, f"EXPLAIN COVER SELECT COUNT(*) FROM flights WHERE {where}"))
    assert lacking in text


def test_it_is_missing_in_views_joins_and_subqueries(flights: Callable[..., Session]) -> None:
    session = flights()
    run(
        session,
        "CREATE VIEW late AS SELECT carrier, n FROM flights WHERE t >= '2014-01-01'; CREATE TABLE c (carrier STRING)",
    )
    for query in (
        "SELECT SUM(n) FROM late",
        "SELECT c.carrier, SUM(f.n) FROM c LEFT JOIN flights f ON c.carrier = f.carrier AND f.t >= '2014-01-01' "
        "GROUP BY 1",
        "SELECT carrier FROM c WHERE carrier IN (SELECT carrier FROM flights WHERE t >= '2014-01-01')",
        "WITH x AS (SELECT n, t FROM flights) SELECT SUM(n) FROM x WHERE t >= '2014-01-01'",
        "SELECT SUM(m + n) FROM flights WHERE t >= '2014-01-01'",
    ):
        assert missing(session, query) == ("[2014-01-01, ∞)",), query


def test_an_empty_fact_has_all_that_there_is_and_nothing_that_is_named(flights: Callable[..., Session]) -> None:
    session = flights()
    run(session, "ALTER TABLE hours DROP PARTITION (dt > '2000'); ALTER TABLE days DROP PARTITION (ds > '2000')")
    rows, result = ask(session, "SELECT COUNT(*) FROM flights")
    assert (rows, result.coverage.complete, result.coverage.open_ends) == ([(0,)], True, ())
    assert missing(session, "SELECT COUNT(*) FROM flights WHERE t >= '2013-01-01'") == ("[2013-01-01, ∞)",)
    assert missing(session, "SELECT COUNT(*) FROM flights WHERE t < '2013-01-01'") == ("[-∞, 2013-01-01)",)
    run(session, "ALTER FACT all_flights SET LATENESS '6 hours'")
    assert missing(session, "SELECT COUNT(*) FROM flights") == ("[-∞, 2014-01-03T03)",)
    assert missing(session, "SELECT COUNT(*) FROM flights WHERE t >= '2014-01-03'") == ("[2014-01-03, 2014-01-03T03)",)


def test_where_an_open_end_was_closed_is_told(flights: Callable[..., Session]) -> None:
    session = flights()
    rows, result = ask(session, "SELECT COUNT(*) FROM flights")
    assert (rows, result.warnings) == ([(44,)], ())
    assert (result.coverage.open_begins, result.coverage.open_ends) == (("2013-12-30",), ("2014-01-01",))
    assert result.coverage.notes == (
        "the range of flights begins at 2013-12-30, the start of the oldest existing period; "
        f"it ends at 2014-01-01, {NEWEST}",
    )
    _, result = ask(session, "SELECT COUNT(*) FROM flights WHERE t >= '2013-12-31'")
    assert (result.coverage.open_begins, result.coverage.open_ends) == ((), ("2014-01-01",))
    _, result = ask(session, "SELECT COUNT(*) FROM flights WHERE t >= '2013-12-31' AND t < '2014-01-01'")
    assert (result.coverage.notes, result.coverage.open_ends) == ((), ())
    lines = [row[0] for row in run(session, "EXPLAIN COVER SELECT COUNT(*) FROM flights WHERE t >= '2013-12-31'")]
    assert lines[1] == f"  open end: closed at 2014-01-01, {NEWEST}"


def test_an_outdated_rollup_is_there(flights: Callable[..., Session]) -> None:
    """An outdated newest rollup keeps the end open. The part of it that nothing else serves is missing."""
    session = flights()
    run(
        session,
        """
        ALTER TABLE days DROP PARTITION (ds = '2013-12-30');
        ALTER FACT all_flights TABLE days UNSET TRUSTED;
        INSERT INTO hours MARK COMPLETE FROM '2013-12-30' TO '2013-12-31' VALUES ('UA', 20, 20, '2013-12-30-07');
        INSERT INTO hours MARK COMPLETE FROM '2014-01-01' TO '2014-01-02' VALUES ('UA', 3, 3, '2014-01-01-07');
        INSERT INTO days
          SELECT carrier, SUM(n), MAX(m), substr(dt, 1, 10) FROM hours GROUP BY carrier, substr(dt, 1, 10);
        ALTER TABLE hours DROP PARTITION (dt < '2013-12-31');
        ALTER TABLE hours DROP PARTITION (dt >= '2014-01-01')
        """,
    )
    rows, result = ask(session, "SELECT COUNT(*) FROM flights")
    assert (rows, result.coverage.open_ends) == ([(47,)], ("2014-01-02",))
    run(session, "INSERT INTO hours VALUES ('UA', 1, 1, '2014-01-01-00')")
    assert missing(session, "SELECT COUNT(*) FROM flights") == ("[2014-01-01T01, 2014-01-02)",)
    latest = run(session, "SHOW LATEST OF all_flights")[-1]
    assert latest == (None, "2013-12-30", "2014-01-01T01", "2014-01-02", 23)


NOW = (
    ("t >= current_date - INTERVAL 7 DAY", True),
    ("t >= current_date() - INTERVAL 7 DAYS", True),
    ("t >= date_sub(current_date(), 7)", True),
    ("t >= now() - INTERVAL 7 DAYS", True),
    ("to_date(t) > current_date - INTERVAL 7 DAY", True),
    ("t > current_timestamp() - INTERVAL 7 DAYS", True),
    ("NOT t < date_trunc('MONTH', current_timestamp - INTERVAL 1 MONTH)", True),
    ("NOT time_range_in(t, 'now.day - 30 days', 'now.day - 4 days')", True),
    ("t >= '2013-12-27'", False),
    ("time_range_in(t, 'now.day - 4 days', 'now.day - 2 days')", False),
)


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize(("where", "lags"), NOW)
def test_a_bound_computed_from_now_warns_of_the_lag(flights: Callable[..., Session], where: str, lags: bool) -> None:
    session = flights()
    run(session, "SET rewriter.partial_data = true")
    rows, result = ask(session, f"SELECT COUNT(*) FROM flights WHERE {where}")
    told = [warning for warning in result.warnings if "before now" in warning]
    assert told == (["flights ends at 2014-01-01, 2 days 9 hours before now (2014-01-03T09)"] if lags else [])
    assert rows == [(44,)]


def test_no_lag_where_the_last_whole_base_period_is_there(flights: Callable[..., Session]) -> None:
    session = flights()
    query = "SELECT COUNT(*) FROM flights WHERE t >= current_date - INTERVAL 2 DAY"
    run(session, "SET rewriter.now = '2014-01-01T00:59:59'")
    assert ask(session, query)[1].warnings == ()
    run(session, "SET rewriter.now = '2014-01-01T01:00:30'")
    assert ask(session, query)[1].warnings == ("flights ends at 2014-01-01, 1 hour before now (2014-01-01T01:00:30)",)


def test_another_day_than_today_asks_for_no_tomorrow(flights: Callable[..., Session]) -> None:
    session = flights()
    run(session, "SET rewriter.now = '2014-01-01T09:00:00'")
    rows, result = ask(session, "SELECT COUNT(*) FROM flights WHERE to_date(t) <> current_date")
    assert (rows, result.coverage.complete) == ([(44,)], True)
    run(session, "SET rewriter.now = '2014-01-02T09:00:00'")
    assert missing(session, "SELECT COUNT(*) FROM flights WHERE to_date(t) <> current_date") == (
        "[2014-01-01, 2014-01-02)",
    )


def test_what_is_older_than_its_lateness_is_missing(flights: Callable[..., Session]) -> None:
    session = flights("LATENESS '6 hours'")
    for where in ("", "WHERE t >= '2013-12-30'", "WHERE t >= current_date - INTERVAL 7 DAY AND t >= '2013-12-30'"):
        assert missing(session, f"SELECT COUNT(*) FROM flights {where}") == ("[2014-01-01, 2014-01-03T03)",)
    assert missing(session, "SELECT COUNT(*) FROM flights WHERE t >= '2014-01-02'") == ("[2014-01-02, 2014-01-03T03)",)
    assert missing(session, "SELECT COUNT(*) FROM flights WHERE t >= '2014-01-03 05:00'") == ("[2014-01-03T05, ∞)",)
    assert ask(session, "SELECT COUNT(*) FROM flights WHERE t < '2014-01-01'")[0] == [(44,)]
    lines = [row[0] for row in run(session, "EXPLAIN COVER SELECT COUNT(*) FROM flights WHERE t >= '2013-12-31'")]
    assert lines[1] == "  open end: closed at 2014-01-03T03, now minus the LATENESS '6 hours' of all_flights"
    assert run(session, "SHOW COVERAGE OF all_flights")[-1][:3] == ("2014-01-01", "2014-01-03T03", "missing")
    # Data that arrives early is returned; a day later, it is missing again.
    run(session, "SET rewriter.now = '2014-01-01T06:59:59'")
    assert ask(session, "SELECT COUNT(*) FROM flights")[0] == [(44,)]
    run(session, "SET rewriter.now = '2014-01-01T07:00:00'")
    assert missing(session, "SELECT COUNT(*) FROM flights") == ("[2014-01-01, 2014-01-01T01)",)
    run(session, "ALTER FACT all_flights UNSET LATENESS")
    assert ask(session, "SELECT COUNT(*) FROM flights")[0] == [(44,)]


def test_a_window_that_has_ended_promises_nothing_behind_it(flights: Callable[..., Session]) -> None:
    session = flights()
    run(
        session,
        "CREATE TABLE old_days (n BIGINT) PARTITIONED BY (ds STRING); "
        "CREATE FACT old OF CUBE flights (n) LATENESS '1 hour' STORED IN "
        "(TABLE old_days PERIOD DAILY PARTITIONED BY t AS (ds)) END '2014-01-01'",
    )
    assert ask(session, "SELECT COUNT(*) FROM flights")[1].coverage.open_ends == ("2014-01-01",)
    run(session, "DROP FACT old")
    run(
        session,
        "CREATE FACT old OF CUBE flights (n) LATENESS '1 hour' STORED IN "
        "(TABLE old_days PERIOD DAILY PARTITIONED BY t AS (ds)) END '2014-01-02'",
    )
    # The other fact promises nothing, but the promise of this one holds for the events of both.
    assert missing(session, "SELECT COUNT(*) FROM flights") == ("[2014-01-01, 2014-01-02)",)
    assert ask(session, "SELECT carrier, COUNT(*) FROM flights GROUP BY carrier")[0] == [("UA", 44)]


def test_a_zone_has_its_own_days(flights: Callable[..., Session]) -> None:
    session = flights("LATENESS '1 day'", "TIME ZONE 'America/New_York'")
    assert missing(session, "SELECT COUNT(*) FROM flights WHERE t >= '2013-12-31'") == (
        "[2013-12-31T19, 2014-01-02T04) America/New_York",
    )
    run(session, "ALTER FACT all_flights UNSET LATENESS")
    assert missing(session, "SELECT COUNT(*) FROM flights WHERE t >= '2014-01-01'") == (
        "[2014-01-01, ∞) America/New_York",
    )
    assert missing(session, "SELECT COUNT(*) FROM flights WHERE t < '2010-01-01'") == (
        "[-∞, 2010-01-01) America/New_York",
    )
    query = "SELECT COUNT(*) FROM flights WHERE NOT to_date(t) < date_sub(current_date(), 3)"
    rows, result = ask(session, query)
    assert (rows, result.coverage.open_ends) == ([(19,)], ("2013-12-31T19",))
    assert result.warnings == ("flights ends at 2013-12-31T19, 2 days 9 hours before now (2014-01-03T04)",)


def test_a_bound_inside_the_base_period_is_not_exact(flights: Callable[..., Session]) -> None:
    session = flights()
    query = "SELECT COUNT(*) FROM flights WHERE t >= '2013-12-31' AND t < '2013-12-31 15:30'"
    rows, result = ask(session, query)
    assert (rows, result.coverage.complete, result.coverage.exact) == ([(16,)], True, False)
    assert any("2013-12-31T15:30 is inside an HOURLY period" in warning for warning in result.warnings)
    text = "\n".join(str(row[0]) for row in run(session, f"EXPLAIN COVER {query}"))
    assert "\n  exact: no, a base period is read completely or not at all at 2013-12-31T15:30\n" in text
    assert ask(session, query.replace("15:30", "15:00"))[1].coverage.exact
    assert ask(session, query.replace("< '2013-12-31 15:30", "<= '2013-12-31 15:59:59"))[1].coverage.exact
    run(session, "SET rewriter.strict_bounds = true")
    with pytest.raises(AnalysisError) as caught:
        session.execute(query)
    assert caught.value.condition == "UNALIGNED_TIME_RANGE"
    assert caught.value.position is not None
    assert "2013-12-31T15 or 2013-12-31T16" in str(caught.value.hint)
    assert ask(session, query.replace("15:30", "15:00"))[0] == [(15,)]


INSIDE = "'2013-12-31T15:30:00'"
COMPARISONS = (
    f"SELECT COUNT(*) FROM flights WHERE t IN ('2013-12-31', {INSIDE})",
    f"SELECT COUNT(*) FROM flights WHERE t <> {INSIDE}",
    f"SELECT COUNT(*) FROM flights WHERE t < {INSIDE} OR carrier = 'UA'",
    f"SELECT COUNT(*) FROM flights WHERE NOT (t IN ({INSIDE}, '2014-01-01') AND carrier = 'UA')",
    f"SELECT COUNT(*) FROM flights WHERE carrier = 'UA' OR t BETWEEN '2013-12-31' AND {INSIDE}",
    f"SELECT COUNT(*) FROM flights WHERE carrier = 'UA' OR {INSIDE} BETWEEN t AND t + INTERVAL 1 HOUR",
    "SELECT COUNT(*) FROM flights WHERE carrier = 'UA' OR date_format(t, 'yyyy-MM-dd HH:mm') = '2013-12-31 15:30'",
    "SELECT COUNT(*) FROM flights WHERE carrier = 'UA' OR CAST(t AS STRING) > '2013-12-31 15:30:00'",
    "SELECT COUNT(*) FROM flights WHERE carrier = 'UA' OR t + INTERVAL 30 MINUTES > '2013-12-31T16:00:00'",
    f"SELECT CASE WHEN t > {INSIDE} THEN 1 ELSE 0 END AS late, COUNT(*) FROM flights GROUP BY 1",
    f"SELECT CASE t WHEN {INSIDE} THEN 1 ELSE 0 END AS late, COUNT(*) FROM flights GROUP BY 1",
    f"SELECT NULLIF(t, {INSIDE}) FROM flights",
    f"SELECT DECODE(t, TIMESTAMP {INSIDE}, 1, 2) FROM flights",
    f"SELECT SUM(n) FILTER (WHERE t > {INSIDE}) FROM flights",
    f"SELECT t, COUNT(*) FROM flights GROUP BY t HAVING t > {INSIDE}",
    f"SELECT t AS x, COUNT(*) FROM flights GROUP BY t HAVING x > {INSIDE}",
    f"SELECT carrier, COUNT(*) FROM flights GROUP BY carrier HAVING MAX(t) > {INSIDE}",
    f"SELECT t, COUNT(*) FROM flights GROUP BY t ORDER BY t > {INSIDE}",
    f"SELECT c FROM (SELECT t AS x, COUNT(*) AS c FROM flights GROUP BY t) AS s WHERE s.x > {INSIDE}",
    f"WITH s AS (SELECT t, COUNT(*) AS c FROM flights GROUP BY t) SELECT SUM(c) FROM s WHERE t > {INSIDE}",
    f"SELECT COUNT(*) FROM flights AS f LEFT JOIN (SELECT 1 AS k) AS d ON f.t > {INSIDE} AND k = 1",
)
ALIGNED = (
    "SELECT COUNT(*) FROM flights WHERE carrier = 'UA' OR t <= '2013-12-31T15:59:59'",
    f"SELECT COUNT(*) FROM flights WHERE carrier = 'UA' OR date_trunc('HOUR', t) >= {INSIDE}",
    "SELECT SUM(n) FILTER (WHERE t > '2013-12-31T15:00:00') FROM flights",
    "SELECT CASE WHEN minute(t) = 30 THEN 1 ELSE 0 END FROM flights",
    f"SELECT c FROM (SELECT carrier AS x, MAX(t) AS t, COUNT(*) AS c FROM flights GROUP BY carrier) AS s "
    f"WHERE x <> {INSIDE}",
)


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("query", COMPARISONS)
def test_a_comparison_inside_the_base_period_is_not_exact(flights: Callable[..., Session], query: str) -> None:
    session = flights()
    run(session, "SET rewriter.partial_data = true")  # the rollup is used for none of these
    _, result = ask(session, query)
    assert not result.coverage.exact
    assert any("2013-12-31T15:30 is inside an HOURLY period" in warning for warning in result.warnings)
    run(session, "SET rewriter.strict_bounds = true")
    with pytest.raises(AnalysisError) as caught:
        session.execute(query)
    assert caught.value.condition == "UNALIGNED_TIME_RANGE"


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("query", ALIGNED)
def test_a_comparison_on_a_base_periods_bound_is_exact(flights: Callable[..., Session], query: str) -> None:
    session = flights()
    run(session, "SET rewriter.partial_data = true")  # the rollup is used for none of these
    _, result = ask(session, query)
    assert result.coverage.exact
    assert not any("is inside" in warning for warning in result.warnings)


def test_a_comparison_of_tuples_inside_the_base_period_is_not_exact(flights: Callable[..., Session]) -> None:
    session = flights()
    query = f"EXPLAIN COVER SELECT COUNT(*) FROM flights WHERE (t, carrier) = ({INSIDE}, 'UA')"
    assert "exact: no, a base period is read completely" in "\n".join(str(row[0]) for row in run(session, query))


def test_a_comparison_inside_a_zones_base_period_is_not_exact(flights: Callable[..., Session]) -> None:
    session = flights("LATENESS '1 day'", "TIME ZONE 'America/New_York'")
    run(session, "SET rewriter.partial_data = true")
    query = "SELECT COUNT(*) FROM flights WHERE carrier = 'UA' OR t > '2013-12-31 15:{}:00'"
    assert not ask(session, query.format(30))[1].coverage.exact
    assert ask(session, query.format("00"))[1].coverage.exact
