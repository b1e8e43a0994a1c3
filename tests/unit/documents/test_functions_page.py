"""docs/reference/functions.md lists each function of Spark once, with what the planner and DuckDB make of it."""

import re
from pathlib import Path

import pytest

from rewriter.exec.spark_functions import function_groups
from rewriter.exec.translate.function_support import runs_on_duckdb
from tests.functions_page import families, page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "functions.md"


def test_the_page_is_that_of_the_source(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = page(tmp_path)
    if request.config.getoption("--rewrite"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "run: pytest tests/unit/documents/test_functions_page.py --rewrite"


def test_each_group_has_a_family() -> None:
    assert set(function_groups().values()) - {"-"} == set(families()) - {"table_funcs"}


def test_each_function_is_listed_once() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\|", "|")
    rows = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    lists = re.findall(r"^On Spark only[^:]*: ([^.]*)\.$", text, re.MULTILINE)
    names = [*rows, *(name for listed in lists for name in re.findall(r"`([^`]+)`", listed))]
    assert len(names) == len(set(names))
    assert set(names) >= set(function_groups())
    assert {name for name in function_groups() if runs_on_duckdb(name)} <= set(rows)
