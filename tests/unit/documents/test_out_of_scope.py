"""docs/explanation/out-of-scope.md: the statements of its tables are refused as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

PAGE = (Path(__file__).parents[3] / "docs" / "explanation" / "out-of-scope.md").read_text(encoding="utf-8")
CONDITIONS = (Path(__file__).parents[3] / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
SETUP = """
CREATE CUBE flights (carrier STRING, flights BIGINT MEASURE COUNT NOT NULL, distance BIGINT MEASURE SUM,
  departed TIMESTAMP TIME);
CREATE TABLE hours (carrier STRING, flights BIGINT, distance BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT flights_all OF CUBE flights STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (dt));
CREATE CUBE calls (n BIGINT MEASURE COUNT, seconds BIGINT MEASURE SUM COUNTED BY n, began TIMESTAMP TIME);
CREATE TABLE call_hours (n BIGINT, seconds BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT calls_all OF CUBE calls STORED IN (TABLE call_hours PERIOD HOURLY PARTITIONED BY began AS (dt))
"""


def statements(heading: str) -> list[tuple[str, str]]:
    """Returns the statements below a heading, each with the condition of its refusal."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = [row.rstrip(" |").rpartition(" | ")[2] for row in section.splitlines() if " → " in row]
    matches = [re.fullmatch(r"(`+)(.+)\1 → ([A-Z_]+)", cell) for cell in cells]
    return [(match[2].replace("\\|", "|"), match[3]) for match in matches if match is not None]


ON_PURPOSE, NOT_YET = statements("On purpose"), statements("Not yet")


@pytest.mark.share(1)
@pytest.mark.parametrize(("statement", "condition"), [*ON_PURPOSE, *NOT_YET])
def test_statements_are_refused(statement: str, condition: str, tmp_path: Path, duckdb: DuckDBEngine) -> None:
    with Session(tmp_path / "w", duckdb) as session:
        list(session.script(SETUP))
        with pytest.raises(Error) as info:
            session.execute(statement).fetch()
    assert info.value.condition == condition
    assert len([*ON_PURPOSE, *NOT_YET]) == PAGE.count(" → ")
    assert not ((statement, condition) in ON_PURPOSE and "yet" in str(info.value)), "it is out of scope on purpose"


def test_conditions_exist() -> None:
    named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", PAGE)) - {"SYSTEM_TIME", "INTERFACE_ERROR"}
    assert {name for name in named if f"\n### {name}\n" not in CONDITIONS} == set()
