"""The page of ten years of hours with holes: made from the catalog, and drawn by a real Chromium."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks.timing import Figure, Table, seconds
from rewriter.display.html.coverage_picture import chart_svg
from rewriter.display.html.page import coverage_page
from rewriter.display.terminal.pictures import chart_picture
from rewriter.session import Session
from rewriter.statements.show.coverage import named_fact_chart

HOURS = 87_600
#: One of so many hours is missing.
HOLES = 10
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SETUP = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt),
  TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'))
"""


def build(warehouse: Path) -> None:
    """Makes a fact of ten years of hours, of which a tenth is missing, and days that nothing proves."""
    chance, first = random.Random(1), datetime(2015, 1, 1)
    hours = [f"{first + timedelta(hours=hour):%Y-%m-%d-%H}" for hour in range(HOURS) if chance.randrange(HOLES)]
    days = [f"{first + timedelta(days=day):%Y-%m-%d}" for day in range(HOURS // 24) if chance.randrange(HOLES)]
    with Session(warehouse, "duckdb") as session:
        list(session.script(_SETUP))
        for table, names in (("hours", hours), ("days", days)):
            session.execute(f"ALTER TABLE {table} ADD " + " ".join(f"PARTITION (dt='{name}')" for name in names))


def measure() -> Table:
    """Returns the times to make the pictures, with their sizes, and to draw the page, where there is a Chromium."""
    with tempfile.TemporaryDirectory() as folder:
        warehouse, file = Path(folder, "w"), Path(folder, "page.html")
        build(warehouse)
        command = [sys.executable, "-m", "rewriter", "coverage", "-w", str(warehouse), "f", "--html", str(file)]
        whole = seconds(lambda: subprocess.run(command, check=True), 3)

        def chart_of() -> object:
            with Session(warehouse, "duckdb") as session:
                return named_fact_chart("f", session.snapshot(), session.settings.for_planner())

        with Session(warehouse, "duckdb") as session:
            chart = named_fact_chart("f", session.snapshot(), session.settings.for_planner())
        ranges = sum(len(ordinals) for row in chart.rows for ordinals in row.ordinals.values()) + len(chart.missing)
        figures = [
            Figure("`rewriter coverage f --html`, a new process", whole, f"{file.stat().st_size / 1000:,.0f} kB"),
            Figure("the chart, from the catalog", seconds(chart_of, 3), f"{ranges:,} ranges"),
            Figure("the page of the chart", seconds(lambda: coverage_page(chart), 3)),
            Figure("SVG of the chart", seconds(lambda: chart_svg(chart), 3), f"{len(chart_svg(chart)) / 1000:,.0f} kB"),
            Figure("the picture in a terminal, 80 columns", seconds(lambda: chart_picture(chart), 3)),
        ]
        path = next(filter(None, map(shutil.which, _NAMES)), None)
        if path is not None:
            figures += _drawn(path, file)
    return Table(f"Pictures of {HOURS:,} hours with holes", tuple(figures))


def _drawn(chromium: str, file: Path) -> list[Figure]:
    from playwright.sync_api import sync_playwright

    painted = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto("about:blank")

        def timed(act: object) -> float:
            start = time.perf_counter()
            act()  # type: ignore[operator]
            page.evaluate(painted)
            return time.perf_counter() - start

        first = timed(lambda: page.goto(file.as_uri()))
        zoom = timed(lambda: page.get_by_role("button", name="Zoom in").click())
        browser.close()
    return [Figure("drawn in Chromium, from its file", first), Figure("a zoom to half of it, drawn", zoom)]
