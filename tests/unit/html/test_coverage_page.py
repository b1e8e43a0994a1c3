"""Charts as SVG and as pages. Files are read by an XML parser; what scripts do is seen in a real Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from browser import Watched

from rewriter.cli.coverage_pictures import fact_charts, write_picture
from rewriter.display.html.coverage_picture import chart_data, chart_svg
from rewriter.display.html.page import coverage_page, json_text
from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.planner.model.coverage_chart import ChartRow, ChartState, CoverageChart, window_of
from rewriter.session import Session
from rewriter.statements.show.coverage import named_fact_chart
from rewriter.timeline.calendars import calendar_of
from rewriter.timeline.civil import DAY, HOUR
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import parse_instant
from rewriter.timeline.timeline import OrdinalRange

SVG = "{http://www.w3.org/2000/svg}"
SETUP = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN STORAGE s (
  TABLE days PERIOD DAILY PARTITIONED BY t AS (dt),
  TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'))
"""
EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>'\"&\x1b[31m\u202e\0🙂"


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:
        yield opened


def filled(session: Session) -> CoverageChart:
    list(session.script(SETUP))
    names = [f"2015-01-{1 + hour // 24:02}-{hour % 24:02}" for hour in range(240) if hour not in (150, 230)]
    session.execute("INSERT INTO hours VALUES " + ", ".join(f"(1, '{name}')" for name in names))
    session.execute("REFRESH FACT f FROM '2015-01-01' TO '2015-01-06'")
    session.execute("INSERT INTO hours VALUES (1, '2015-01-02-03')")
    session.execute("ALTER TABLE days ADD PARTITION (dt = '2015-01-12')")
    return named_fact_chart("f", session.snapshot(), session.settings.for_planner())


def evil_chart(name: str = EVIL) -> CoverageChart:
    requested = RangeSet.of(TimeRange(0, 9 * DAY))
    row = ChartRow(name, name, name, UpdatePeriod.DAILY, {ChartState.TAKEN: [OrdinalRange(0, 9)]})
    return CoverageChart(name, requested, window_of(requested), (row,), requested, base=UpdatePeriod.DAILY)


def ten_years() -> CoverageChart:
    """87,600 hours, of which every eleventh is missing."""
    hours = 87_600
    runs = [OrdinalRange(start, min(hours, start + 10)) for start in range(0, hours, 11)]
    ordinals = {ChartState.EXISTING: runs, ChartState.TAKEN: runs}
    row = ChartRow("f", "s", "hours", UpdatePeriod.HOURLY, ordinals)
    requested = RangeSet.of(TimeRange(0, hours * HOUR))
    missing = requested - row.ranges(ChartState.TAKEN)
    return CoverageChart("f", requested, window_of(requested), (row,), missing, base=UpdatePeriod.HOURLY)


def hours_of_a_year(period: int) -> CoverageChart:
    """One hour of each ``period`` exists, so that an hour and the hole after it are about a pixel."""
    runs = [OrdinalRange(start, start + 1) for start in range(0, 8760, period)]
    row = ChartRow("f", "s", "hours", UpdatePeriod.HOURLY, {ChartState.EXISTING: runs})
    requested = RangeSet.of(TimeRange(0, 8760 * HOUR))
    return CoverageChart("f", requested, window_of(requested), (row,), RangeSet.EMPTY)


class TestSvg:
    def test_each_state_is_drawn_and_in_the_legend(self, session: Session) -> None:
        tree = ElementTree.fromstring(chart_svg(filled(session), is_file=True))
        groups = {(str(group.get("class")), group[0].text): len(group) - 1 for group in tree.iter(f"{SVG}g")}
        # Three of the days follow each other. Hours are too narrow to be separated.
        assert groups.pop(("bounds", None)) == 1
        assert groups == {
            ("exists", "days DAILY: exists, 4 partitions"): 2,
            ("taken", "days DAILY: taken, 4 partitions"): 2,
            ("unproven", "days DAILY: unproven, 1 partition"): 1,
            ("outdated", "days DAILY: outdated, 1 partition"): 1,
            ("exists", "hours HOURLY: exists, 238 partitions"): 3,
            ("taken", "hours HOURLY: taken, 142 partitions"): 4,
            ("missing", "missing: 26 HOURLY periods"): 3,
        }
        texts = ["".join(text.itertext()) for text in tree.iter(f"{SVG}text")]
        assert texts[:4] == ["f: [2015-01-01, 2015-01-13)", "2015-01-01", "2015-01-13", "taken of existing"]
        assert {"4 of 6", "142 of 238", "26 HOURLY periods"} <= set(texts)
        assert {"exists", "taken", "unproven", "outdated", "missing"} <= set(texts)
        height = float(str(tree.get("height")))
        assert all(float(str(part.get("y"))) < height for part in tree.iter() if part.get("y"))

    @pytest.mark.parametrize("name", [EVIL, "漢" * 5000, "]]>", "a\nb\tc"])
    def test_names_are_texts(self, name: str) -> None:
        tree = ElementTree.fromstring(chart_svg(evil_chart(name)))
        assert {part.tag for part in tree.iter()} <= {f"{SVG}{tag}" for tag in ("svg", "g", "title", "text", "rect")}
        assert "\x1b" not in chart_svg(evil_chart(name))

    def test_ten_years_of_hours_have_few_rectangles(self) -> None:
        assert len(chart_svg(ten_years())) < 120_000

    def test_a_hidden_hole_is_drawn_in_part(self) -> None:
        """One hour of ten years is missing: a pixel around it is drawn in part, and all others are full."""
        hours = 87_600
        runs = [OrdinalRange(0, 40_000), OrdinalRange(40_001, hours)]
        row = ChartRow("f", "s", "hours", UpdatePeriod.HOURLY, {ChartState.EXISTING: runs})
        requested = RangeSet.of(TimeRange(0, hours * HOUR))
        chart = CoverageChart("f", requested, window_of(requested), (row,), RangeSet.EMPTY)
        (group,) = ElementTree.fromstring(chart_svg(chart)).iter(f"{SVG}g")
        spans = [
            (float(str(part.get("x"))), float(str(part.get("width"))), part.get("fill-opacity"))
            for part in group.iter(f"{SVG}rect")
        ]
        assert spans == [(240.0, 219.0, None), (459.0, 1.0, "0.55"), (460.0, 260.0, None)]

    @pytest.mark.parametrize("period", [6, 12, 15, 18, 19, 24])
    def test_a_mark_of_a_pixel_hides_no_hole(self, period: int) -> None:
        (group,) = ElementTree.fromstring(chart_svg(hours_of_a_year(period))).iter(f"{SVG}g")
        full = [part for part in group.iter(f"{SVG}rect") if part.get("fill-opacity") is None]
        assert sum(float(str(part.get("width"))) for part in full) < 100

    def test_nothing_exists(self, session: Session) -> None:
        list(session.script(SETUP))
        chart = named_fact_chart("f", session.snapshot(), session.settings.for_planner())
        assert "nothing exists" in "".join(ElementTree.fromstring(chart_svg(chart)).itertext())
        assert chart_data(chart)["window"] is None


class TestLongTexts:
    NAME = "warehouse_production_flights_by_carrier_and_day_last"

    def test_a_label_keeps_the_end_of_the_name_and_the_period(self) -> None:
        texts = [str(text.text) for text in ElementTree.fromstring(chart_svg(evil_chart(self.NAME))).iter(f"{SVG}text")]
        (label,) = [text for text in texts if text.endswith(" DAILY")]
        assert label == "warehouse_prod…_and_day_last DAILY"
        assert len(label) <= 34

    def test_a_title_of_many_ranges_is_cut(self) -> None:
        requested = RangeSet.of(*(TimeRange(day * DAY, day * DAY + HOUR) for day in range(1000)))
        chart = CoverageChart("f", requested, window_of(requested), (), RangeSet.EMPTY)
        title = chart_data(chart)["title"]
        assert isinstance(title, str)
        assert len(title) == 300
        assert title.endswith("…")


class TestPage:
    def test_no_text_ends_the_data(self) -> None:
        page = coverage_page(evil_chart())
        assert page.count("<script") == page.count("</script>") == 2
        assert "<!--" not in page
        assert "<img" not in page
        data = re.search(r'<script type="application/json" data-chart="chart">(.*?)</script>', page, re.DOTALL)
        assert data is not None
        assert json.loads(data[1])["rows"][0]["storage"].startswith("</script><script>alert(1)")
        assert json.loads(json_text({"x": EVIL})) == {"x": EVIL}

    def test_the_policy_allows_nothing_from_elsewhere(self) -> None:
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', coverage_page(ten_years()))
        assert policy is not None
        directives = dict(part.split(" ", 1) for part in policy[1].split("; "))
        assert directives["default-src"] == directives["base-uri"] == directives["form-action"] == "'none'"
        assert directives["script-src"].startswith("'sha256-")
        assert "unsafe" not in policy[1]

    def test_files_appear_whole(
        self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        filled(session)
        monkeypatch.chdir(tmp_path)
        out: list[str] = []
        charts = fact_charts("f", session)
        write_picture(charts, "svg", "-", out.append)
        ElementTree.fromstring(out[0])
        write_picture(charts, "svg", "a.svg", out.append)
        assert (tmp_path / "a.svg").read_text(encoding="utf-8") == out[0]
        (tmp_path / "linked.html").symlink_to(tmp_path / "target.html")
        write_picture(fact_charts("f", session, ("2015-01-02", "2015-01-03")), "html", "linked.html", out.append)
        assert (tmp_path / "linked.html").is_symlink()
        assert "f: [2015-01-02, 2015-01-03)" in (tmp_path / "target.html").read_text(encoding="utf-8")
        write_picture(charts, "svg", "/dev/null", out.append)
        assert not Path("/dev/null").is_file()
        for bad in ("absent/a.svg", ".", "a\0b"):
            with pytest.raises(Error) as info:
                write_picture(charts, "svg", bad, out.append)
            assert info.value.condition == "FAILED_WRITE_FILE"
        assert len(out) == 1
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "linked.html", "target.html", "w"]


@pytest.mark.browser
class TestInChromium:
    def opened(self, watched: Watched, chart: CoverageChart, folder: Path) -> None:
        file = folder / "page.html"
        file.write_text(coverage_page(chart), encoding="utf-8")
        watched.page.goto(file.as_uri())

    def hovered(self, watched: Watched, row: int, share: float) -> list[str]:
        """Returns the lines of the tooltip at a share of the plot of a row."""
        page = watched.page
        page.mouse.move(0, 0)
        box = page.evaluate(
            "([row, share]) => { const c = document.getElementById('chart').chart, b = c.main.getBoundingClientRect();"
            "return [b.left + c.labels + share * c.plot, b.top + c.top(row) + 7]; }",
            [row, share],
        )
        page.mouse.move(*box)
        return page.locator(".tooltip div").all_inner_texts() if page.locator(".tooltip").is_visible() else []

    def shown(self, watched: Watched) -> str:
        return str(watched.page.locator(".shown").inner_text())

    def test_tooltips_are_exact(self, session: Session, watched: Watched, tmp_path: Path) -> None:
        self.opened(watched, filled(session), tmp_path)
        assert watched.page.locator("#chart > svg[width='860']").count() == 0
        assert self.hovered(watched, 0, 0.02) == [
            "days DAILY, storage s of f",
            "taken: [2015-01-01, 2015-01-02), 1 DAILY partition",
            "exists: [2015-01-01, 2015-01-02), 1 DAILY partition",
        ]
        assert self.hovered(watched, 0, 1.5 / 12)[1] == "outdated: [2015-01-02, 2015-01-03), 1 DAILY partition"
        assert self.hovered(watched, 0, 11.5 / 12)[1] == "unproven: [2015-01-12, 2015-01-13), 1 DAILY partition"
        assert self.hovered(watched, 1, 9.3 / 12)[1:] == [
            "taken: [2015-01-07T07, 2015-01-10T14), 79 HOURLY partitions",
            "exists: [2015-01-07T07, 2015-01-10T14), 79 HOURLY partitions",
        ]
        # The missing hour is narrower than two pixels.
        assert self.hovered(watched, 2, 150.5 / 288)[1] == "missing: [2015-01-07T06, 2015-01-07T07), 1 HOURLY period"
        assert self.hovered(watched, 2, 0.0)[1] == "nothing at 2015-01-01"
        watched.check()

    def test_zoom_by_buttons_keys_wheel_and_mouse(self, session: Session, watched: Watched, tmp_path: Path) -> None:
        self.opened(watched, filled(session), tmp_path)
        page, everything = watched.page, "2015-01-01 … 2015-01-13"
        assert self.shown(watched) == everything
        page.get_by_role("button", name="Zoom in").click()
        assert self.shown(watched) == "2015-01-04 … 2015-01-10"
        page.get_by_role("button", name="Later").click()
        assert self.shown(watched) == "2015-01-05T12 … 2015-01-11T12"
        page.get_by_role("button", name="Show all").click()
        assert self.shown(watched) == everything
        page.locator("svg.main").focus()
        for key in ("+", "-"):
            page.keyboard.press(key)
        assert self.shown(watched) == everything
        page.keyboard.press("+")
        page.keyboard.press("ArrowLeft")
        assert self.shown(watched) == "2015-01-03T09:36 … 2015-01-09T09:36"
        page.keyboard.press("Home")
        # The wheel keeps the instant below the mouse where it is.
        self.hovered(watched, 0, 0.0)
        page.mouse.wheel(0, -100)
        page.wait_for_function("document.querySelector('.shown').textContent !== '2015-01-01 … 2015-01-13'")
        assert self.shown(watched) == "2015-01-01 … 2015-01-10T14:24"
        start = page.locator("svg.main").bounding_box()
        assert start is not None
        middle = (start["x"] + 600, start["y"] + 40)
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] - 5000, middle[1], steps=3)
        page.mouse.up()
        assert self.shown(watched).endswith(" … 2015-01-13")
        page.mouse.dblclick(*middle)
        assert self.shown(watched) == everything
        for _ in range(40):
            page.get_by_role("button", name="Zoom in").click()
        assert self.shown(watched) == "2015-01-06T23:59:30 … 2015-01-07T00:00:30"
        box = page.locator("svg.overview").bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] - 12, box["y"] + 4)
        assert self.shown(watched).startswith("2015-01-12T")
        watched.check()

    def test_names_run_no_script(self, watched: Watched, tmp_path: Path) -> None:
        self.opened(watched, evil_chart(), tmp_path)
        line = self.hovered(watched, 0, 0.5)[0]
        assert line.startswith("</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>")
        assert "\\u001b[31m\\u202e\\u0000🙂 DAILY" in line
        assert watched.page.locator("img").count() == 0
        assert watched.page.title().startswith("</script>")
        watched.check()
        # The policy stops what is put into the page nevertheless.
        watched.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=http://example.org/x.png>')")
        watched.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<b onclick=alert(3)>b</b>')")
        watched.page.locator("b").click()
        assert any("Content Security Policy" in problem for problem in watched.problems)
        assert [problem for problem in watched.problems if "dialog" in problem] == []

    def test_ten_years_of_hours(self, watched: Watched, tmp_path: Path) -> None:
        self.opened(watched, ten_years(), tmp_path)
        lengths = watched.page.evaluate(
            "[...document.querySelectorAll('svg.main path')].map((p) => p.getAttribute('d').split('M').length - 1)"
        )
        # What exists and is taken has holes in every pixel.
        classes = watched.page.locator("svg.main path").evaluate_all("(all) => all.map((p) => p.getAttribute('class'))")
        assert classes == ["exists part", "taken part", "missing"]
        # As many pieces as pixels at most, whatever the ranges.
        assert all(0 < length <= 2000 for length in lengths)
        assert self.hovered(watched, 1, 0.5)[1].endswith(", 1 HOURLY period")
        for _ in range(14):
            watched.page.get_by_role("button", name="Zoom in").click()
        assert "T" in self.shown(watched)
        assert self.hovered(watched, 0, 0.5)[1].endswith("10 HOURLY partitions")
        watched.check()

    @pytest.mark.parametrize("period", [6, 8, 10, 12, 15])
    def test_a_mark_of_a_pixel_hides_no_hole(self, watched: Watched, tmp_path: Path, period: int) -> None:
        self.opened(watched, hours_of_a_year(period), tmp_path)
        width, plot = watched.page.evaluate(
            "[[...document.querySelectorAll('svg.main path:not(.part)')].flatMap((p) => p.getAttribute('d')"
            ".match(/h[0-9.]+/g)).reduce((sum, part) => sum + Number(part.slice(1)), 0),"
            "document.getElementById('chart').chart.plot]"
        )
        assert width < plot / 4
        watched.check()

    @pytest.mark.parametrize("zone", ["America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "Pacific/Apia", "UTC"])
    def test_times_are_those_of_the_calendar(self, watched: Watched, tmp_path: Path, zone: str) -> None:
        calendar = calendar_of(zone)
        first, last = parse_instant("2011-01-01"), parse_instant("2013-01-01")
        requested = RangeSet.of(TimeRange(first, last))
        chart = CoverageChart("f", requested, window_of(requested), (), requested, calendar=calendar)
        self.opened(watched, chart, tmp_path)
        instants = [at + minutes * 60_000_000 for at in range(first, last, 31 * HOUR) for minutes in (0, 30)]
        around = [at.instant + hours * HOUR for at in calendar.transitions(first, last) for hours in range(-4, 5)]
        texts = watched.page.evaluate(
            "(all) => all.map((at) => document.getElementById('chart').chart.clock.text(at))",
            [at // 1_000_000 for at in instants + around],
        )
        assert texts == [calendar.text(at) for at in instants + around]
        watched.check()

    def test_without_scripts_there_is_a_picture(self, session: Session, browser: object, tmp_path: Path) -> None:
        file = tmp_path / "page.html"
        file.write_text(coverage_page(filled(session)), encoding="utf-8")
        page = browser.new_page(java_script_enabled=False)  # type: ignore[attr-defined]
        page.goto(file.as_uri())
        assert page.locator("svg text").first.inner_html() == "f: [2015-01-01, 2015-01-13)"
        page.close()

    def test_a_label_keeps_the_period(self, watched: Watched, tmp_path: Path) -> None:
        self.opened(watched, evil_chart(TestLongTexts.NAME), tmp_path)
        label = watched.page.evaluate("document.querySelector('svg.main text:not(.soft)').firstChild.textContent")
        assert label.startswith("warehouse_")
        assert label.endswith("_last DAILY")
        assert "…" in label
        watched.check()

    def test_an_empty_chart_has_no_view(self, session: Session, watched: Watched, tmp_path: Path) -> None:
        list(session.script(SETUP))
        self.opened(watched, named_fact_chart("f", session.snapshot(), session.settings.for_planner()), tmp_path)
        for name in ("Show all", "Zoom in", "Earlier"):
            watched.page.locator(f"button[aria-label^='{name}']").dispatch_event("click")
        assert self.shown(watched) == "nothing exists in this time"
        watched.check()

    def test_a_narrow_page_fits(self, session: Session, watched: Watched, tmp_path: Path) -> None:
        watched.page.set_viewport_size({"width": 360, "height": 700})
        self.opened(watched, evil_chart("x" * 400), tmp_path)
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_hours_of_ten_years_from_a_warehouse_are_ranges(session: Session) -> None:
    list(session.script(SETUP))
    first = datetime(2015, 1, 1)
    names = [f"{first + timedelta(hours=hour):%Y-%m-%d-%H}" for hour in range(400) if hour % 11 != 10]
    session.execute("ALTER TABLE hours ADD " + " ".join(f"PARTITION (dt = '{name}')" for name in names))
    data = chart_data(named_fact_chart("f", session.snapshot(), session.settings.for_planner()))
    rows = data["rows"]
    assert isinstance(rows, list)
    assert [len(row["states"].get("exists", ())) // 3 for row in rows[:2]] == [0, 37]
