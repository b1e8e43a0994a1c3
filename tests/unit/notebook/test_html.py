"""Results, plans and covers as HTML. Each is read with an XML parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import rewriter
from rewriter.display.html.results import (
    LONGEST_VALUE,
    MOST_COLUMNS,
    MOST_PICTURES,
    MOST_ROWS,
    coverage_html,
    plan_html,
    result_html,
)
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

SVG = "{http://www.w3.org/2000/svg}"
SETUP = """
CREATE CUBE flights (carrier STRING, n BIGINT MEASURE COUNT, departed TIMESTAMP TIME);
CREATE TABLE hours (carrier STRING, n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE days (carrier STRING, n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE flights STORED IN
  STORAGE hot (TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH'))
  STORED IN STORAGE cold (TABLE days PERIOD DAILY PARTITIONED BY departed AS (dt));
INSERT INTO hours VALUES ('UA', 1, '2013-01-01-00'), ('UA', 1, '2013-01-02-05');
ALTER FACT f MARK COMPLETE FROM '2013-01-01' TO '2013-01-02';
REFRESH FACT f FROM '2013-01-01' TO '2013-01-02';
SET rewriter.partial_data = true
"""
TWO_DAYS = "SELECT SUM(n) AS n FROM flights WHERE time_range_in(departed, '2013-01-01', '2013-01-03')"


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:
        yield opened


def cells(html: str) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in ElementTree.fromstring(html).iter("tr")]


def words(html: str) -> list[str]:
    return ["".join(paragraph.itertext()) for paragraph in ElementTree.fromstring(html).iter("p")]


def test_values_are_texts_and_no_markup(session: Session) -> None:
    session.execute("CREATE TABLE t (x INT, `<b>&` STRING)")
    strange = '<script>alert("1")</script>&amp;\'\x00\x1b[31m\ud800\ufffe\u202e\n]]>'
    rows = pa.table({"x": [1, None], "<b>&": ["?", None]})
    session.append("t", rows)
    result = session.execute("SELECT x, `<b>&`, :v AS v FROM t ORDER BY x DESC", {"v": strange.replace("\ud800", "")})
    html = result_html(result)
    assert cells(html)[0] == ["x", "<b>&", "v"]
    assert cells(html)[1][:2] == ["1", "?"]
    assert cells(html)[2][:2] == ["NULL", "NULL"]
    assert cells(html)[1][2].startswith('<script>alert("1")</script>&amp;\'\\u0000\\u001b[31m')
    assert "<script" not in html
    assert words(html) == ["2 rows"]
    assert not re.search(r"color:|background", html)


def test_a_display_takes_no_row(session: Session) -> None:
    session.execute("CREATE TABLE t (x BIGINT)")
    session.execute("INSERT INTO t SELECT explode(sequence(1, 20000))")
    for sql in ("SELECT x FROM t ORDER BY x", "SELECT x FROM t WHERE x < 3 ORDER BY x", "SHOW TABLES"):
        expected = session.execute(sql).fetch()
        result = session.execute(sql)
        before = result_html(result)
        assert result_html(result) == before
        rows = result.rows()
        assert next(rows) == expected[0]
        result_html(result)
        assert [*rows] == expected[1:]
        assert words(result_html(result)) == ["0 rows"]
        result = session.execute(sql)
        result.fetch(1)
        result_html(result)
        table = result.arrow_table()
        assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == expected[1:]


def test_at_each_place_of_a_result(session: Session) -> None:
    session.execute("CREATE TABLE t (x BIGINT)")
    session.execute("INSERT INTO t SELECT explode(sequence(1, 9000))")
    result = session.execute("SELECT x FROM t ORDER BY x")
    fetched: list[object] = []
    for count in (1, 4090, 4, 1, 4090, 3, 900):
        rows, is_all = result.peek(7)
        expected = range(len(fetched) + 1, 9001)
        assert [value for (value,) in rows] == list(expected[: len(rows)])
        assert rows or not expected
        assert not is_all or len(rows) == len(expected)
        fetched += [value for (value,) in result.fetch(count)]
    assert fetched == list(range(1, 9001))
    assert result.peek(7) == ([], True)


def test_large_results_are_bounded(session: Session) -> None:
    many = ", ".join(f"x + {number} AS c{number}" for number in range(MOST_COLUMNS + 5))
    session.execute("CREATE TABLE t (x BIGINT)")
    session.execute("INSERT INTO t SELECT explode(sequence(1, 300000))")
    result = session.execute(f"SELECT {many} FROM t")
    html = result_html(result)
    assert len(cells(html)) == MOST_ROWS + 1
    assert {len(row) for row in cells(html)} == {MOST_COLUMNS}
    assert words(html) == [
        f"{MOST_ROWS} rows; more rows follow; the first {MOST_COLUMNS} of {MOST_COLUMNS + 5} columns"
    ]
    assert result.stream is not None
    assert result.stream.progress.rows < 300_000
    result.close()
    long = session.execute("SELECT repeat('é', 100000) AS x")
    assert len(cells(result_html(long))[1][0]) == LONGEST_VALUE


def test_an_exact_number_of_rows(session: Session) -> None:
    for count in (MOST_ROWS - 1, MOST_ROWS, MOST_ROWS + 1):
        result = session.execute(f"SELECT explode(sequence(1, {count})) AS x")
        more = "; more rows follow" if count > MOST_ROWS else ""
        assert words(result_html(result)) == [f"{min(count, MOST_ROWS)} rows{more}"]


def test_statements_without_rows_and_results_that_ended(session: Session) -> None:
    assert words(result_html(session.execute("CREATE TABLE t (x INT)"))) == ["CREATE TABLE: OK"]
    assert words(result_html(session.execute("INSERT INTO t VALUES (1), (2)"))) == ["INSERT: OK, 2 rows"]
    closed = session.execute("SELECT x FROM t")
    closed.close()
    assert words(result_html(closed)) == [
        "Error: [INTERFACE_ERROR] The result was closed before its last row was fetched."
    ]


def test_covers_are_drawn_with_their_holes(session: Session) -> None:
    list(session.script(SETUP))
    result = session.execute(TWO_DAYS)
    html = result_html(result)
    tree = ElementTree.fromstring(html)
    assert words(html)[0].startswith("Warning: partial data: flights lacks")
    assert [child.tag for child in tree][:2] == ["p", "table"]
    (picture,) = tree.iter(f"{SVG}svg")
    bars = {group.get("class"): list(group.iter(f"{SVG}rect")) for group in picture.iter(f"{SVG}g")}
    assert {kind: len(rectangles) for kind, rectangles in bars.items()} == {"taken": 1, "missing": 2}
    labels = ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]
    assert labels[1:3] == ["2013-01-01", "2013-01-03"]
    assert {"days DAILY", "hours HOURLY", "missing"} <= set(labels)
    assert {text.get("fill") for text in picture.iter(f"{SVG}text")} == {"currentColor"}
    width = float(str(picture.get("width")))
    for rectangle in picture.iter(f"{SVG}rect"):
        left, right = float(str(rectangle.get("x"))), float(str(rectangle.get("width")))
        assert left >= 240
        assert left + right <= width + 0.01
    assert "Missing" in words(coverage_html(result.coverage))[0]
    plan = session.plan(TWO_DAYS)
    assert "FROM days" in "".join(ElementTree.fromstring(plan_html(plan)).itertext())
    assert words(coverage_html(session.execute("SELECT 1 AS x").coverage)) == ["The query reads no cube."]


def test_outdated_time_is_drawn(session: Session) -> None:
    list(session.script(SETUP))
    session.execute("INSERT INTO hours VALUES ('AA', 1, '2013-01-01-05')")
    session.execute("ALTER TABLE hours DROP PARTITION (dt = '2013-01-01-00')")
    svg = coverage_html(session.execute(TWO_DAYS).coverage)
    assert "outdated" in {group.get("class") for group in ElementTree.fromstring(svg).iter(f"{SVG}g")}


def test_pictures_are_bounded(session: Session) -> None:
    list(session.script(SETUP))
    branches = " UNION ALL ".join([TWO_DAYS] * (MOST_PICTURES + 2))
    html = result_html(session.execute(branches))
    assert len(list(ElementTree.fromstring(html).iter(f"{SVG}svg"))) == MOST_PICTURES
    assert words(html)[-1] == "2 more covers are not drawn."
    session.execute("SET rewriter.periods = HOURLY")
    days = "(SELECT explode(sequence(1, 12)) AS m) CROSS JOIN (SELECT explode(sequence(1, 28)) AS d)"
    hours = f"{days} CROSS JOIN (SELECT explode(array('00', '12')) AS h)"
    name = "'2015-', lpad(CAST(m AS STRING), 2, '0'), '-', lpad(CAST(d AS STRING), 2, '0'), '-', h"
    session.execute(f"INSERT INTO hours SELECT 'UA', 1, concat({name}) FROM {hours}")
    year = TWO_DAYS.replace("2013-01-01", "2015-01-01").replace("2013-01-03", "2016-01-01")
    html = coverage_html(session.execute(year).coverage)
    assert len(list(ElementTree.fromstring(html).iter(f"{SVG}rect"))) < 2000
    assert len(html) < 300_000


def test_cursors_plans_and_covers_show_themselves(tmp_path: Path) -> None:
    with rewriter.connect(tmp_path, engine="duckdb") as connection:
        cursor = connection.cursor()
        assert cursor._repr_html_() is None
        for statement in filter(str.strip, SETUP.split(";")):
            cursor.execute(statement)
        cursor.execute("SELECT '<b>' AS x")
        shown: Any = (cursor, cursor.plan, cursor.coverage)
        assert "&lt;b&gt;" in shown[0]._repr_html_()
        assert "<pre>" in shown[1]._repr_html_()
        assert "no cube" in shown[2]._repr_html_()
        assert cursor.fetchall() == [("<b>",)]
