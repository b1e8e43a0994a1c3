"""The table of docs/reference/dialect.md has all statements, with a link to the section of each."""

import pytest

from tests.reference_pages import statements_page
from tests.reference_pages.page_parts import is_current


def test_the_table_is_that_of_the_sections(request: pytest.FixtureRequest) -> None:
    rewrite = request.config.getoption("--rewrite")
    is_same = is_current(statements_page.PAGE, statements_page.MARKER, statements_page.index(), rewrite=rewrite)
    assert is_same, "run: pytest tests/unit/documents/test_statements_page.py --rewrite"


def test_forms_are_shortened() -> None:
    block = [
        "create (c type, …) [PARTITIONED BY ({c type | c}, …)]",
        "SHOW {CUBES | FACTS} [{IN | FROM} db]",
        "{DESCRIBE | DESC} [TABLE] t",
        "INSERT {INTO | OVERWRITE} t",
        "  query",
        "create: CREATE [EXTERNAL] TABLE t | CREATE OR REPLACE TABLE t",
    ]
    assert list(statements_page._forms(block)) == [
        "CREATE TABLE t (…)",
        "CREATE OR REPLACE TABLE t (…)",
        "SHOW CUBES",
        "SHOW FACTS",
        "DESCRIBE t",
        "INSERT INTO t query",
        "INSERT OVERWRITE t query",
    ]
