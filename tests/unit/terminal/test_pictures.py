"""Pictures of coverage on a terminal: each state has its own character, at any width, and names do no harm."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from rewriter.display.terminal.pictures import axis, chart_picture, cover_picture, row_marks
from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.planner.cover.fact_chart import query_charts
from rewriter.planner.model.coverage_chart import ChartRow, ChartState, CoverageChart, window_of
from rewriter.session import Session
from rewriter.statements.show.coverage import named_fact_chart
from rewriter.terminal_text import width
from rewriter.timeline.civil import DAY, HOUR
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange

SETUP = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN STORAGE s (
  TABLE days PERIOD DAILY PARTITIONED BY t AS (dt),
  TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'))
"""


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:
        yield opened


def chart_of(session: Session, fact: str = "f", bounds: tuple[str, str] | None = None) -> CoverageChart:
    return named_fact_chart(fact, session.snapshot(), session.settings.for_planner(), bounds)


def filled(session: Session) -> CoverageChart:
    """Ten days of hours without two of them: days of five, of which one is outdated, and one that nothing proves."""
    list(session.script(SETUP))
    names = [f"2015-01-{1 + hour // 24:02}-{hour % 24:02}" for hour in range(240) if hour not in (150, 230)]
    session.execute("INSERT INTO hours VALUES " + ", ".join(f"(1, '{name}')" for name in names))
    session.execute("REFRESH FACT f FROM '2015-01-01' TO '2015-01-06'")
    session.execute("INSERT INTO hours VALUES (1, '2015-01-02-03')")
    session.execute("ALTER TABLE days ADD PARTITION (dt = '2015-01-12')")
    return chart_of(session)


def test_states_have_their_own_characters(session: Session) -> None:
    lines = """
f: [2015-01-01, 2015-01-13)
period   table    taken of  2015-01-01                                2015-01-13
DAILY    days       4 of 6  ████ooooo████████████▒·························?????
HOURLY   hours  142 of 238  ━━━━▒███▒━━━━━━━━━━━━▒█████▒█████████████▒█▒········
missing  26 HOURLY periods  ···························×·············×·×××××····
█ taken  ▒ taken in part  ━ exists  o outdated: 1  ? unproven: 1  × missing
"""
    assert chart_picture(filled(session), 80).plain == lines.strip()


def test_a_narrow_terminal_gets_bars_below_their_labels(session: Session) -> None:
    chart = filled(session)
    lines = """
f: [2015-01-01, 2015-01-13)
period  table  taken of
2015-01-01                    2015-01-13
DAILY  days  4 of 6
███oooo█████████▒···················????
HOURLY  hours  142 of 238
━━━▒██▒━━━━━━━━━▒███▒██████████▒▒▒······
missing  26 HOURLY periods
····················×··········××××××···
█ taken  ▒ taken in part  ━ exists
o outdated: 1  ? unproven: 1
× missing
"""
    assert chart_picture(chart, 40).plain == lines.strip()
    for columns in range(10, 130):
        assert max(map(width, chart_picture(chart, columns).plain.splitlines())) <= max(columns, 24)


def test_colours_add_nothing_that_is_read(session: Session) -> None:
    chart = filled(session)
    written = []
    for colours in (None, "truecolor"):
        out = io.StringIO()
        Console(file=out, width=80, color_system=colours, force_terminal=bool(colours)).print(chart_picture(chart, 80))
        written.append(out.getvalue())
    assert written[0].rstrip("\n") == chart_picture(chart, 80).plain
    assert "\x1b[36m" in written[1]
    assert "\x1b" not in written[0]


def test_a_cell_shows_the_worst_state_in_it() -> None:
    day = 24
    ordinals = {
        ChartState.TAKEN: [OrdinalRange(0, 10 * day)],
        ChartState.EXISTING: [OrdinalRange(0, 20 * day)],
        ChartState.OUTDATED: [OrdinalRange(20 * day, 20 * day + 1)],
        ChartState.UNPROVEN: [OrdinalRange(20 * day + 1, 20 * day + 2), OrdinalRange(31 * day, 31 * day + 1)],
        ChartState.INCOMPLETE: [OrdinalRange(40 * day, 40 * day + 1)],
        ChartState.OPEN: [OrdinalRange(50 * day, 60 * day)],
        ChartState.OUTSIDE: [OrdinalRange(60 * day, 70 * day)],
        ChartState.DROPPED: [OrdinalRange(80 * day, 90 * day)],
        ChartState.DIFFERING: [OrdinalRange(95 * day, 95 * day + 1)],
    }
    row = ChartRow("f", "s", "t", UpdatePeriod.HOURLY, ordinals)
    window = TimeRange(0, 100 * DAY)
    assert "".join(mark.character for mark in row_marks(row, window, 10)) == "█━o?i~-·'≠"
    # One hour of ten years is seen.
    ten_years = TimeRange(0, 3652 * DAY)
    marks = "".join(mark.character for mark in row_marks(row, ten_years, 40))
    assert marks.startswith("o≠")
    assert set(marks[2:]) == {"·"}
    # What was dropped does not exist.
    assert row.count() == 20 * day + 1 + 2 + 1 + 20 * day + 1
    assert row.ranges(ChartState.INCOMPLETE) == RangeSet.of(TimeRange(40 * DAY, 40 * DAY + HOUR))


def test_names_do_no_harm(session: Session) -> None:
    evil = "\x1b[31m</script>\u202e'\"🙂\n\t" + "漢" * 300
    row = ChartRow("f", "s", evil, UpdatePeriod.DAILY, {ChartState.TAKEN: [OrdinalRange(0, 9)]})
    requested = RangeSet.of(TimeRange(0, 9 * DAY))
    chart = CoverageChart(evil, requested, window_of(requested), (row,), RangeSet.EMPTY)
    for columns in (24, 40, 80, 200):
        picture = chart_picture(chart, columns).plain
        assert not {"\x1b", "\u202e", "\t"} & set(picture)
        assert len(picture.splitlines()) == len(picture.split("\n"))
        assert max(map(width, picture.splitlines())) <= columns


def test_nothing_exists(session: Session) -> None:
    list(session.script(SETUP))
    assert chart_picture(chart_of(session), 80).plain == "f: ∅\nnothing exists in this time"
    assert (
        chart_picture(chart_of(session, bounds=("2015-01-01", "2015-01-01")), 80).plain
        == "f: ∅\nnothing exists in this time"
    )
    lacking = chart_picture(chart_of(session, bounds=("2015-01-01", "2015-01-03")), 80).plain
    assert "missing  48 HOURLY periods" in lacking
    assert "××××" in lacking


def test_a_range_is_that_of_show_coverage(session: Session) -> None:
    filled(session)
    chart = chart_of(session, bounds=("2015-01-07", "2015-01-08"))
    assert str(chart.missing) == "[2015-01-07T06, 2015-01-07T07)"
    assert chart.lacking == "1 HOURLY period"
    assert [row.count() for row in chart.rows] == [0, 23]
    with pytest.raises(Error) as info:
        chart_of(session, bounds=("2015-01-08", "2015-01-07"))
    assert info.value.condition == "INVALID_TIME_RANGE"
    with pytest.raises(Error) as info:
        chart_of(session, "nope")
    assert info.value.condition == "FACT_NOT_FOUND"
    with pytest.raises(Error) as info:
        chart_of(session, "f; DROP")
    assert info.value.condition == "PARSE_SYNTAX_ERROR"


def test_facts_of_other_databases(session: Session) -> None:
    session.execute("CREATE DATABASE d")
    session.execute("USE d")
    list(session.script(SETUP))
    assert chart_of(session).subject == chart_of(session, "d.F").subject == "d.f"


def test_a_query_shows_what_exists_beside_what_it_takes(session: Session) -> None:
    filled(session)
    session.execute("SET rewriter.partial_data = true")
    plan = session.plan("SELECT SUM(n) FROM c WHERE time_range_in(t, '2015-01-02', '2015-01-08')")
    (reference,) = plan.coverage.references
    settings = session.settings.for_planner()
    (chart,) = query_charts(plan.coverage, session.snapshot(), settings)
    whole = chart_picture(chart, 80).plain
    assert "taken of" in whole
    assert "o outdated: 1" in whole
    assert "━ exists" in whole
    taken = cover_picture(reference, 80).plain
    assert "partitions" in taken
    assert "missing" in taken
    assert "━" not in taken
    for statement in ("DROP FACT f", "DROP CUBE c"):
        session.execute(statement)
    (dropped,) = query_charts(plan.coverage, session.snapshot(), settings)
    assert chart_picture(dropped, 80).plain == taken


def test_ends_of_the_axis() -> None:
    assert axis(TimeRange(0, DAY), 24) == "1970-01-01    1970-01-02"
    assert axis(TimeRange(0, DAY), 20) == "1970-01-01"
    assert window_of(RangeSet.of(TimeRange(1, 2), TimeRange(5, 9))) == TimeRange(1, 9)
    assert window_of(RangeSet.EMPTY) is None
    assert window_of(RangeSet.ALL) is None


def charts_of(session: Session, query: str) -> list[CoverageChart]:
    plan = session.plan(query)
    return query_charts(plan.coverage, session.snapshot(), session.settings.for_planner())


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_partitions_at_the_ends_of_time(session: Session, zone: str) -> None:
    list(session.script(SETUP.replace("t TIMESTAMP TIME)", f"t TIMESTAMP TIME) TIME ZONE '{zone}'")))
    # The clocks of New York are unknown in the first centuries.
    added = ["9999-12-31", "2015-01-01", *(["0001-01-01", "0001-01-03"] if zone == "UTC" else [])]
    for number, date in enumerate(added, 1):
        session.execute(f"ALTER TABLE days ADD PARTITION (dt = '{date}')")
        chart = chart_of(session)
        existing = chart.rows[0].ranges(ChartState.UNPROVEN)
        assert chart.window == TimeRange(existing.ranges[0].start, existing.ranges[-1].end)
        assert chart.count(ChartState.UNPROVEN) == chart.rows[0].count() == number
        days = chart_picture(chart, 80).plain.splitlines()[2]
        assert days.startswith("DAILY ")
        assert days.endswith("?")
    assert chart_of(session, bounds=("9999-12-31", "9999-12-31T10")).rows[0].count() == 1
    if zone == "UTC":
        assert chart_of(session, bounds=("0001-01-01", "0001-01-02")).rows[0].count() == 1


def test_a_query_of_the_last_day_shows_what_it_takes(session: Session) -> None:
    list(session.script(SETUP.replace("AS (dt),", "AS (dt) TRUSTED,")))
    session.execute("ALTER TABLE days ADD PARTITION (dt = '9999-12-31') PARTITION (dt = '2015-01-01')")
    query = "SELECT SUM(n) FROM c WHERE t >= '9999-12-31'"
    (chart,) = charts_of(session, query)
    assert chart_picture(chart, 80).plain.splitlines()[2].startswith("DAILY   days     1 of 1  ███")
    (reference,) = session.plan(query).coverage.references
    assert "███" in cover_picture(reference, 80).plain


def test_missing_time_beyond_an_open_end_is_drawn(session: Session) -> None:
    filled(session)
    session.execute("SET rewriter.partial_data = true")
    (chart,) = charts_of(session, "SELECT SUM(n) FROM c WHERE t < '2015-01-02' OR t >= '2030-01-01'")
    assert chart.lacking == "all time from 2030-01-01"
    picture = chart_picture(chart, 120).plain
    missing = next(line for line in picture.splitlines() if line.startswith("missing"))
    assert missing.endswith("·×××××")
    (chart,) = charts_of(session, "SELECT SUM(n) FROM c WHERE t < '2000-01-01' OR t >= '2015-01-06'")
    assert chart.lacking == "50 HOURLY periods and all time before 2000-01-01"
    picture = chart_picture(chart, 120).plain
    missing = next(line for line in picture.splitlines() if line.startswith("missing"))
    assert "2000-01-01  ×××·" in missing
    (chart,) = charts_of(session, "SELECT SUM(n) FROM c WHERE t >= '2030-01-01'")
    assert chart_picture(chart, 80).plain.endswith("all of this time is missing")


def test_weeks_and_zones(session: Session) -> None:
    for statement in """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME) TIME ZONE 'America/New_York';
CREATE TABLE weeks (n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE weeks PERIOD WEEKLY PARTITIONED BY t AS (dt) TRUSTED,
  TABLE days PERIOD DAILY PARTITIONED BY t AS (dt));
ALTER TABLE weeks ADD PARTITION (dt='2015-W10') PARTITION (dt='2015-W11');
ALTER TABLE days ADD PARTITION (dt='2015-03-16') PARTITION (dt='2015-03-18')
""".split(";"):
        session.execute(statement)
    chart = chart_of(session)
    assert chart.title == "f: [2015-03-02, 2015-03-19) America/New_York"
    assert chart.lacking == "1 DAILY period"
    lines = chart_picture(chart, 80).plain.splitlines()
    assert lines[2].startswith("WEEKLY   weeks    2 of 2  ██")
    assert lines[1].endswith("2015-03-19")
