"""SQLAlchemy's tests of dialects (``sqlalchemy.testing.suite``) on DuckDB, in processes of their own.

``docs/how-to/sqlalchemy.md`` has the numbers. ``pytest tests/integrations/test_sqlalchemy_suite.py -m long --rewrite``
writes them. Most tests run in transactions; those that cannot be part of one commit each statement.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "sqlalchemy.md"
SUITE = ROOT / "tests" / "sqlalchemy_suite"
#: The tests with temporary tables and COMMENT ON after other changes, which no transaction has.
AUTOCOMMIT = "ComponentReflectionTest or HasTableTest or add_table_comment or drop_table_comment"


def outcomes(directory: Path, selection: str, *, autocommit: bool) -> Counter[str]:
    """Runs the selected tests. Returns how many passed, failed, and were skipped for each reason."""
    report = directory / f"{autocommit}.xml"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "REWRITER_TEST_AUTOCOMMIT": "1" if autocommit else ""}
    command = [sys.executable, "-m", "pytest", "-c", "setup.cfg", "--rootdir", ".", "-p", "no:cacheprovider"]
    command += ["--dburi", f"rewriter:///{directory}/warehouse-{autocommit}?engine=duckdb"]
    command += ["-k", selection, "--junitxml", str(report)]
    run = subprocess.run(
        command,
        cwd=SUITE,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert report.exists(), run.stdout + run.stderr
    counts: Counter[str] = Counter()
    for case in xml.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            counts[f"failed: {case.get('classname')}.{case.get('name')}"] += 1
        elif skipped is not None:
            counts[reason(skipped.get("message", ""))] += 1
        else:
            counts["passed"] += 1
    return counts


def reason(message: str) -> str:
    """Returns the reason in a message such as ``'test_suite.py::Test::test (call)' : reason``."""
    return message.partition("(call)' : ")[2] or message


@pytest.mark.long
def test_the_suite_passes(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    counts = outcomes(tmp_path, f"not ({AUTOCOMMIT})", autocommit=False)
    counts += outcomes(tmp_path, AUTOCOMMIT, autocommit=True)
    assert [name for name in counts if name.startswith("failed")] == []
    rows = [f"| passed | {counts.pop('passed')} |"]
    rows += [f"| skipped: {name} | {number} |" for name, number in counts.most_common()]
    table = "\n".join(["| result | tests |", "| --- | --- |", *rows])
    text = PAGE.read_text(encoding="utf-8")
    written = re.sub(r"\| result \| tests \|\n(\|.*\n)+", lambda _: table + "\n", text)
    if pytestconfig.getoption("rewrite"):
        PAGE.write_text(written, encoding="utf-8")
    else:
        assert written == text
