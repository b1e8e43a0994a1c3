"""AVG, MIN, MAX, median … of sums and counts are over base rows, and a warning says so, on every engine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import rewriter
from rewriter.session import Session

RANGE = "t >= '2024-05-01' AND t < '2024-05-01 02:00'"
COLUMNS = "page STRING, views BIGINT, ms BIGINT, paid BIGINT, waited BIGINT, slowest BIGINT"
CUBE = (
    "CREATE CUBE page_views (page STRING, views BIGINT MEASURE COUNT EVENTS NOT NULL, ms BIGINT MEASURE SUM, "
    "paid BIGINT MEASURE SUM NOT NULL, waited BIGINT MEASURE SUM COUNTED BY views NOT NULL, "
    "slowest BIGINT MEASURE MAX, t TIMESTAMP TIME)"
)
ROWS = "('a', 2, 20, 20, 20, 15, '2024-05-01-00'), ('a', 3, 60, 60, 60, 40, '2024-05-01-01')"
#: An aggregate and what its warning advises.
WARNED = {
    "AVG(ms)": "Declare ms BIGINT MEASURE SUM COUNTED BY …, or write SUM(ms) / COUNT(*) if ms is never NULL.",
    "mean(ms)": "Declare ms BIGINT MEASURE SUM COUNTED BY …, or write SUM(ms) / COUNT(*) if ms is never NULL.",
    "AVG(paid)": "Declare paid BIGINT MEASURE SUM COUNTED BY views NOT NULL, or write SUM(paid) / COUNT(*).",
    "AVG(CASE WHEN page = 'a' THEN ms END)": "if ms is never NULL.",
    "AVG(waited * 2)": "Write AVG(waited), which is SUM(waited) / SUM(views), for events.",
    "AVG(views)": "For the counts of groups, write SUM(views) in a subquery with GROUP BY.",
    "MIN(ms)": "For the smallest value of an event, declare a measure MIN.",
    "MAX(ms)": "For the largest value of an event, declare a measure MAX.",
    "median(ms)": "the base of the fact must be a table of events (RAW).",
    "percentile(ms, 0.5)": "the base of the fact must be a table of events (RAW).",
    "percentile_approx(ms, 0.5)": "the base of the fact must be a table of events (RAW).",
    "percentile_cont(0.5)": "the base of the fact must be a table of events (RAW).",
    "stddev(ms)": "the base of the fact must be a table of events (RAW).",
    "std(ms)": "the base of the fact must be a table of events (RAW).",
    "variance(ms)": "the base of the fact must be a table of events (RAW).",
}
#: Items of a SELECT list that are meant as they are, or that are sums.
NOT_WARNED = [
    "AVG(waited)",
    "SUM(ms) / COUNT(*)",
    "SUM(ms), SUM(ms + 1), COUNT(*), COUNT(page), COUNT(ms)",
    "MAX(slowest), AVG(slowest)",
    "MAX(page), MIN(t)",
    "AVG(ms / views)",
    "page, AVG(ms) OVER (PARTITION BY page)",
    "collect_list(ms)",
]


def make(session: Session, cube: str = CUBE) -> None:
    """Writes two hours with the sums of five events."""
    session.execute(f"CREATE TABLE hours ({COLUMNS}) PARTITIONED BY (dt STRING)")
    session.execute(cube)
    session.execute(
        "CREATE FACT web_log OF CUBE page_views STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt))"
    )
    session.execute(f"INSERT INTO hours VALUES {ROWS}")


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


def test_aggregates_over_rows_of_several_events_are_warned_of(session: Session) -> None:
    make(session)
    for text, advice in WARNED.items():
        item = f"{text} WITHIN GROUP (ORDER BY ms)" if text == "percentile_cont(0.5)" else text
        (warning,) = session.execute(f"SELECT {item} FROM page_views WHERE {RANGE}").warnings
        held = "counts" if "views)" in text else "sums"
        assert warning.startswith(f"{text} is over the rows of hours, which hold {held} of several events each. "), text
        assert warning.endswith(advice), text
    for item in NOT_WARNED:
        assert not session.execute(f"SELECT {item} FROM page_views WHERE {RANGE}").warnings, item


def test_the_advice_computes_the_average_of_the_events(bare: Session) -> None:
    make(bare)
    result = bare.execute(f"SELECT AVG(ms), SUM(ms) / COUNT(*), AVG(waited) FROM page_views WHERE {RANGE}")
    assert list(result.fetch()) == [(40.0, 16.0, 16.0)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT page FROM page_views WHERE {} GROUP BY page HAVING AVG(ms) > 1",
        "SELECT page FROM page_views WHERE {} GROUP BY page ORDER BY AVG(ms)",
        "SELECT AVG(ms) + AVG(ms) AS twice FROM page_views WHERE {}",
        "SELECT AVG(ms) FILTER (WHERE page = 'a') FROM page_views WHERE {}",
        "SELECT AVG(ms) FROM (SELECT ms FROM page_views WHERE {}) q",
        "WITH q AS (SELECT ms FROM page_views WHERE {}) SELECT AVG(ms) FROM q",
        "SELECT AVG(ms) FROM page_views WHERE {0} UNION ALL SELECT AVG(ms) FROM page_views WHERE {0}",
        "INSERT INTO averages SELECT AVG(ms) FROM page_views WHERE {}",
        "CREATE TABLE another AS SELECT AVG(ms) AS a FROM page_views WHERE {}",
    ],
)
def test_one_warning_for_a_text_wherever_it_is(bare: Session, query: str) -> None:
    make(bare)
    bare.execute("CREATE TABLE averages (a DOUBLE)")
    (warning,) = (text for text in bare.execute(query.format(RANGE)).warnings if "several events" in text)
    assert warning.startswith("AVG(ms) is over the rows of hours")


def test_at_most_three_warnings(bare: Session) -> None:
    make(bare)
    result = bare.execute(f"SELECT AVG(ms), MIN(ms), MAX(ms), median(ms) FROM page_views WHERE {RANGE}")
    assert [warning.split(" ")[0] for warning in result.warnings] == ["AVG(ms)", "MIN(ms)", "MAX(ms)"]


def test_groups_without_rows_of_the_cube_need_no_warning(bare: Session) -> None:
    make(bare)
    of_groups = f"SELECT AVG(ms) FROM (SELECT SUM(ms) AS ms FROM page_views WHERE {RANGE} GROUP BY page) q"
    assert not bare.execute(of_groups).warnings
    assert not bare.execute("SELECT AVG(ms) FROM page_views WHERE t >= '2024-05-01' AND t < '2024-05-01'").warnings
    assert not bare.execute("SELECT AVG(ms) FROM hours").warnings


def test_a_cube_without_a_count_measure_gets_no_warning(bare: Session) -> None:
    make(bare, "CREATE CUBE page_views (page STRING, ms BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    assert not bare.execute(f"SELECT AVG(ms), MAX(ms) FROM page_views WHERE {RANGE}").warnings


def test_a_measure_whose_count_is_unknown_is_not_advised_to_be_divided_by_events(bare: Session) -> None:
    make(bare, CUBE.replace(" EVENTS NOT NULL", "").replace("COUNTED BY views NOT NULL", "COUNTED BY views"))
    (warning,) = bare.execute(f"SELECT AVG(ms) FROM page_views WHERE {RANGE}").warnings
    assert warning.endswith("Declare which COUNT measure counts its values: ms BIGINT MEASURE SUM COUNTED BY ….")


def test_rows_of_a_table_of_events_are_events(bare: Session) -> None:
    bare.execute("CREATE TABLE events (page STRING, views BIGINT, ms BIGINT, at TIMESTAMP) PARTITIONED BY (dt STRING)")
    bare.execute(
        "CREATE CUBE page_views (page STRING, views BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM, at TIMESTAMP TIME)"
    )
    bare.execute(
        "CREATE FACT web_log OF CUBE page_views STORED IN (TABLE events PERIOD HOURLY PARTITIONED BY at AS (dt) RAW)"
    )
    bare.execute("INSERT INTO events VALUES ('a', 1, 20, TIMESTAMP '2024-05-01 00:10:00', '2024-05-01-00')")
    query = "SELECT AVG(ms), MAX(ms) FROM page_views WHERE at >= '2024-05-01' AND at < '2024-05-01 01:00'"
    assert not bare.execute(query).warnings


def test_explain_cover_shows_the_warning(bare: Session) -> None:
    make(bare)
    lines = [
        str(line) for (line,) in bare.execute(f"EXPLAIN COVER SELECT AVG(ms) FROM page_views WHERE {RANGE}").fetch()
    ]
    assert any(line.strip().startswith("warning: AVG(ms) is over the rows of hours") for line in lines)


def test_it_is_a_warning_of_python(tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        make(opened)
    with rewriter.connect(str(tmp_path / "warehouse"), engine="duckdb") as connection:
        with pytest.warns(rewriter.Warning, match=r"AVG\(ms\) is over the rows of hours"):
            cursor = connection.execute(f"SELECT AVG(ms) FROM page_views WHERE {RANGE}")
        assert cursor.fetchall() == [(40.0,)]
        assert len(cursor.warnings) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            connection.execute(f"SELECT AVG(waited) FROM page_views WHERE {RANGE}")
