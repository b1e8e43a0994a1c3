"""The pictures in docs/images are those that ``rewriter coverage`` draws. ``pytest --rewrite`` draws them again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from page_runner import blocks

from rewriter.cli.coverage_pictures import covers, fact_charts
from rewriter.display.html.coverage_picture import charts_svg
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.planner.model.coverage_chart import ChartState, CoverageChart
from rewriter.session import Session

ROOT = Path(__file__).parents[3]
IMAGES = ROOT / "docs" / "images"

#: The demo's warehouse: a quarter of flights in hours, days and months. Only timelines are needed, and no rows.
FLIGHTS = """
CREATE CUBE flights (carrier STRING, flights BIGINT MEASURE COUNT NOT NULL, landed BIGINT MEASURE COUNT NOT NULL,
  distance BIGINT MEASURE SUM, delay DOUBLE MEASURE SUM COUNTED BY landed, departed TIMESTAMP TIME);
CREATE TABLE flights_hourly (carrier STRING, flights BIGINT, landed BIGINT, distance BIGINT, delay DOUBLE)
  PARTITIONED BY (dt STRING);
CREATE TABLE flights_daily (carrier STRING, flights BIGINT, landed BIGINT, distance BIGINT, delay DOUBLE)
  PARTITIONED BY (ds STRING);
CREATE TABLE flights_monthly (carrier STRING, flights BIGINT, landed BIGINT, distance BIGINT, delay DOUBLE)
  PARTITIONED BY (month STRING);
CREATE FACT flights_all OF CUBE flights STORED IN (
  TABLE flights_hourly PERIOD HOURLY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH'),
  TABLE flights_daily PERIOD DAILY PARTITIONED BY departed AS (ds = 'yyyy-MM-dd') TRUSTED,
  TABLE flights_monthly PERIOD MONTHLY PARTITIONED BY departed AS (month = 'yyyy-MM') TRUSTED);
ALTER FACT flights_all MARK COMPLETE FROM '2013-01-01' TO '2013-04-01';
"""


@dataclass(frozen=True)
class Picture:
    """A picture of a query's cover. ``taken`` are the partitions that it takes, by period."""

    script: str
    query: str
    taken: str


def days(first: str, last: str) -> str:
    """Returns a statement that adds the days, both included, of one month."""
    month = first[:7]
    names = " ".join(f"PARTITION (ds = '{month}-{day:02}')" for day in range(int(first[8:]), int(last[8:]) + 1))
    return f"ALTER TABLE flights_daily ADD {names};\n"


FLIGHT_ROLLUPS = (
    days("2013-01-01", "2013-01-31")
    + days("2013-02-01", "2013-02-28")
    + days("2013-03-01", "2013-03-31")
    + "ALTER TABLE flights_monthly ADD"
    + " PARTITION (month = '2013-01') PARTITION (month = '2013-02') PARTITION (month = '2013-03');"
)
FLIGHT_QUERY = """
SELECT carrier, COUNT(*) AS flights, SUM(distance) AS distance, AVG(delay) AS delay FROM flights
WHERE departed >= '2013-01-29 06:00' AND departed < '2013-03-01 06:00' GROUP BY carrier
"""


def of_page(name: str, taken: str) -> Picture:
    """Returns a picture whose script and query are files of docs/explanation/cover.md."""
    files = {block.title: block.text for block in blocks(ROOT / "docs" / "explanation" / "cover.md") if block.title}
    return Picture(files[f"{name}.sql"], files[f"{name}-query.sql"], taken)


PICTURES = {
    "cover-hole": of_page("hole", "1 MONTHLY, 1 DAILY, 23 HOURLY"),
    "cover-weeks": of_page("weeks", "2 MONTHLY, 7 WEEKLY, 2 DAILY"),
    "readme-cover": Picture(FLIGHTS + FLIGHT_ROLLUPS, FLIGHT_QUERY, "1 MONTHLY, 2 DAILY, 24 HOURLY"),
}


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:
        yield opened


def taken(chart: CoverageChart) -> str:
    counts = [(row.period.name, row.count(ChartState.TAKEN)) for row in chart.rows]
    return ", ".join(f"{count} {name}" for name, count in counts if count)


def check(name: str, charts: Sequence[CoverageChart], *, rewrite: bool) -> None:
    """Checks that a file has the picture. A page that shows it needs no other file, and runs no script."""
    file, drawn = IMAGES / f"{name}.svg", f"{charts_svg(charts, is_file=True)}\n"
    tags = {part.tag.rpartition("}")[2] for part in ElementTree.fromstring(drawn).iter()}
    assert tags <= {"svg", "style", "g", "title", "text", "rect"}
    assert not re.search(r"url\(|href|@import|\bon\w+=", drawn)
    if rewrite:
        file.write_text(drawn, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == drawn, "pytest --rewrite draws it again"


@pytest.mark.share(1)
@pytest.mark.parametrize("name", PICTURES)
def test_covers(name: str, session: Session, request: pytest.FixtureRequest) -> None:
    picture = PICTURES[name]
    list(session.script(picture.script))
    charts = covers(picture.query, session)
    assert [taken(chart) for chart in charts] == [picture.taken]
    check(name, charts, rewrite=request.config.getoption("--rewrite"))


def test_the_coverage_of_a_fact(session: Session, request: pytest.FixtureRequest) -> None:
    """Days and hours, with an outdated day, an unproven day and missing hours."""
    list(
        session.script("""
        CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
        CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
        CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
        CREATE FACT f OF CUBE c STORED IN STORAGE s (
          TABLE days PERIOD DAILY PARTITIONED BY t AS (dt),
          TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'))""")
    )
    names = [f"2015-01-{1 + hour // 24:02}-{hour % 24:02}" for hour in range(240) if hour not in (150, 230)]
    session.execute("INSERT INTO hours VALUES " + ", ".join(f"(1, '{name}')" for name in names))
    session.execute("REFRESH FACT f FROM '2015-01-01' TO '2015-01-06'")
    session.execute("INSERT INTO hours VALUES (1, '2015-01-02-03')")
    session.execute("ALTER TABLE days ADD PARTITION (dt = '2015-01-12')")
    check("coverage", fact_charts("f", session), rewrite=request.config.getoption("--rewrite"))


def test_every_picture_is_drawn_and_used() -> None:
    files = {path.stem for path in IMAGES.glob("*.svg")}
    assert files == {*PICTURES, "coverage"}
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    assert {name for name in files - {"readme-cover"} if f"images/{name}.svg" not in pages} == set()
