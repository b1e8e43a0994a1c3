"""Runs the statements whose results on Apache Spark 4.3.0 were recorded, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from recordings import Replay, deviations, differences, other_conditions, pending, recorded, recordings, refusals, table

from rewriter.exec.engine import Engine
from rewriter.session import Session

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "dialect.md"
#: The part of the recorded queries that may be refused on DuckDB. It becomes smaller as constructs are added.
MOST_REFUSED = 0.04
_BEGIN, _END = "<!-- deviations -->\n", "<!-- end of deviations -->"


@pytest.mark.share(8, "spark")
@pytest.mark.parametrize("name", recordings())
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_answers_are_those_of_spark(name: str, engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    running: Engine = request.getfixturevalue(engine)
    warehouse, directory = tmp_path / "warehouse", tmp_path / "directory"
    warehouse.mkdir()
    directory.mkdir()
    with Session(warehouse, running) as session:
        report = differences(name, Replay(session, warehouse, directory), engine == "duckdb")
    assert not report, "\n".join(["", *report])


def test_everything_listed_was_recorded() -> None:
    answers = {
        (statement.recording, statement.statement, statement.answer)
        for name in recordings()
        for statement in recorded(name)
    }
    assert [
        deviation
        for deviation in deviations()
        if (deviation.recording, deviation.statement, deviation.theirs) not in answers
    ] == []
    statements = {(recording, statement) for recording, statement, _ in answers}
    assert [entry for entry in pending() if (entry.recording, entry.statement) not in statements] == []
    assert [entry for entries in refusals().values() for entry in entries if entry not in statements] == []
    assert [entry for entry in other_conditions() if entry not in statements] == []


def test_nothing_is_listed_twice() -> None:
    listed = [(deviation.recording, deviation.statement, deviation.theirs) for deviation in deviations()]
    waiting = [(entry.recording, entry.statement) for entry in pending()]
    assert len(listed) == len(set(listed))
    assert len(waiting) == len(set(waiting))


def test_few_queries_are_refused_on_duckdb() -> None:
    counts = {construct: len(entries) for construct, entries in refusals().items()}
    recorded_queries = [entry for name in recordings() if name.startswith("select-") for entry in recorded(name)]
    queries = sum(not entry.statement.startswith(("CREATE ", "INSERT ")) for entry in recorded_queries)
    print(f"{sum(counts.values())} of {queries} queries are refused on DuckDB:", counts)
    assert sum(counts.values()) <= MOST_REFUSED * queries


def test_the_page_of_the_dialect_prints_the_deviations(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    wanted = before + _BEGIN + "\n".join(table()) + "\n" + end + after
    if request.config.getoption("--rewrite"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert end
    assert PAGE.read_text(encoding="utf-8") == wanted, "pytest tests/conformance --rewrite prints the table anew"
