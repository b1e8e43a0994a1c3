"""Line ends are the user's: the queries of tests/golden/editing.test, which cannot hold them, typed on Windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.golden.golden_file import Case, read_cases
from rewriter.session import Session

CASES = read_cases((Path(__file__).parents[2] / "golden" / "editing.test").read_text(encoding="utf-8")).cases
SEVERAL_LINES = [case for case in CASES if case.command == "rewrite" and "\n" in case.text]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(str(tmp_path_factory.mktemp("warehouse")), "duckdb") as session:
        for case in CASES:
            if case.command == "sql":
                for _ in session.script(case.text):
                    pass
        yield session


@pytest.mark.parametrize("ending", ["\r\n", "\r\n\r\n \t"])
@pytest.mark.parametrize("case", SEVERAL_LINES, ids=lambda case: str(case.start))
def test_line_ends_stay_as_they_were_typed(session: Session, case: Case, ending: str) -> None:
    assert session.plan(case.text.replace("\n", ending)).sql == case.expected.replace("\n", ending)
