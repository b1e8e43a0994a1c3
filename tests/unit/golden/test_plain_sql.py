"""Plain SQL as a golden file: nothing of it is lost, and each statement becomes a case."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.errors import ParseError
from rewriter.golden.golden_file import read_golden_file


def test_statements_become_cases_with_their_comments() -> None:
    sql = (
        "# Ours.\noptions now=2024\n\n-- The first.\nSELECT ';' AS a; -- same line\n\n\nCREATE TABLE t (x INT);"
        "SHOW TABLES\n;\n-- The end.\n\n-- Really.\n"
    )
    file = read_golden_file(sql)
    assert file.of_plain_sql
    assert file.options == {"now": "2024"}
    assert [(case.start, case.command, case.text, case.expected) for case in file.cases] == [
        (5, "query", "-- The first.\nSELECT ';' AS a; -- same line", ""),
        (8, "sql", "CREATE TABLE t (x INT);", ""),
        (8, "sql", "SHOW TABLES\n;", ""),
    ]
    assert file.text == (
        "# Ours.\noptions now=2024\n\nquery\n-- The first.\nSELECT ';' AS a; -- same line\n----\n\n\n"
        "sql\nCREATE TABLE t (x INT);\n----\n\nsql\nSHOW TABLES\n;\n----\n\n# -- The end.\n\n# -- Really.\n"
    )


@pytest.mark.parametrize("text", ["", "# Only a comment.\n", "sql\nSELECT 1\n----\n1\n", "parse\nSET a\n----"])
def test_files_with_cases_stay_as_they_are(text: str) -> None:
    file = read_golden_file(text)
    assert not file.of_plain_sql
    assert file.text == text


def test_a_text_that_cannot_be_split_is_one_case() -> None:
    (case,) = read_golden_file("SELECT 1;\nSELECT 'open;\n").cases
    assert case.text == "SELECT 1;\nSELECT 'open;"


pieces = st.sampled_from(
    [
        "SELECT 1",
        ";",
        "\n",
        "\n\n",
        " ",
        "-- c\n",
        "/* c\n; */",
        "'a;\n\nb'",
        "`;`",
        "\r\n",
        "sql",
        "# x",
        "-- c\\\n",
        "ä",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces, max_size=12).map("".join))
def test_all_characters_stay_in_their_order(sql: str) -> None:
    try:
        text = read_golden_file(sql).text
    except ParseError:
        return  # A command without a separator.
    position = 0
    for character in sql:
        position = text.find(character, position) + 1
        assert position > 0, (sql, text)
