"""The text of golden files: cases, errors with their line, and outputs that are replaced without touching the rest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.errors import ParseError
from rewriter.golden.golden_file import read_cases, with_outputs

FILE = (
    "\ufeff# First.\n\n  \noptions now=2024-03-01 engine=duckdb\n\n# About it.\nquery   format=csv\n"
    "SELECT 1\n\n  AS one -- ä\u2028b\n----\none\n1\n\n\n# Between.\nsql session=b\nSHOW TABLES\n----\n----\na\n\n"
    "b\n----\n----\n# Close.\nerror\nx\n----"
)


def test_cases_have_their_lines_options_and_text() -> None:
    file = read_cases(FILE)
    assert file.options == {"now": "2024-03-01", "engine": "duckdb"}
    one, two, three = file.cases
    assert (one.start, one.command, one.options) == (7, "query", {"format": "csv"})
    assert (one.text, one.expected, one.output_start) == ("SELECT 1\n\n  AS one -- ä\u2028b", "one\n1", 12)
    assert (two.start, two.options, two.expected, two.output_start) == (17, {"session": "b"}, "a\n\nb", 21)
    assert (three.start, three.text, three.expected) == (27, "x", "")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_only_the_output_of_a_changed_case_changes(line_end: str) -> None:
    text = FILE.replace("\n", line_end)
    file = read_cases(text)
    assert [case.text for case in file.cases] == [case.text for case in read_cases(FILE).cases]
    assert with_outputs(file, {}) == text
    for outputs, before, after in (
        ({0: "two\n2\n3"}, "one\n1\n\n\n", "two\n2\n3\n\n\n"),
        ({0: ""}, "one\n1\n\n\n", "\n\n"),
        ({0: "a\n\nb"}, "----\none\n1\n", "----\n----\na\n\nb\n----\n----\n"),
        ({1: "c"}, "----\n----\na\n\nb\n----\n----\n", "----\nc\n\n"),
        ({1: ""}, "----\n----\na\n\nb\n----\n----\n", "----\n\n"),
        ({2: "an error"}, "error\nx\n----", "error\nx\n----\nan error\n"),
    ):
        before, after = before.replace("\n", line_end), after.replace("\n", line_end)
        assert text.count(before) == 1
        assert with_outputs(file, outputs) == text.replace(before, after)


outputs = st.text(st.sampled_from("a-\n \t\r#\u2028"), max_size=12) | st.sampled_from(["----", "sql", "# c", "----\n"])
pieces = st.lists(st.sampled_from(["", "# comment", "  ", "#----"]), max_size=3)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from(["\n", "\r\n"]))
def test_whatever_is_written_is_read_again(data: st.DataObject, line_end: str) -> None:
    lines: list[str] = []
    for number in range(data.draw(st.integers(1, 3))):
        lines += [*data.draw(pieces), "parse", f"SET a{number}", "----"]
        lines += data.draw(st.sampled_from([[], ["x"], ["----", "", "y", "----", "----"]]))
        lines.append("")
    text = line_end.join(lines)
    file = read_cases(text)
    index = data.draw(st.integers(0, len(file.cases) - 1))
    output = data.draw(outputs)
    try:
        written = with_outputs(file, {index: output})
    except ParseError:
        # Only what the format cannot hold is refused: line ends inside, and separators.
        assert "\r" in output or "----" in output
        return
    again = read_cases(written)
    assert [case.expected for case in again.cases] == [
        output if i == index else case.expected for i, case in enumerate(file.cases)
    ]
    start, end = file.cases[index].output
    assert written.startswith(text[:start])
    assert written.endswith(text[end:])


@pytest.mark.parametrize(
    ("text", "line", "problem", "hint"),
    [
        ("fly\nx\n----\n", 1, "unknown command fly", "put # before a comment"),
        ("# a\n\nqurey\nSELECT 1\n----\n", 3, "unknown command qurey", "Did you mean query?"),
        ("parse\nSET a\n----\nSET a\n\nmore output\n", 6, "unknown command more", "Commands are"),
        ("sql\nSELECT 1\n", 1, "the case has no ----", "Put ---- on a separate line"),
        ("sql\nSELECT 1\n\nquery\nSELECT 2\n----\n", 1, "the case has no ---- before the query in line 4", "Put ----"),
        ("sql\nx\n----\n----\na\n\nb\n", 3, "the output between doubled ---- has no end", "Put two lines"),
        ("sql\nx\n----\n----\na\n\nb\n----\n", 3, "the output between doubled ---- has no end", "Put two lines"),
        ("sql colour=red\nx\n----\n", 1, "sql has no option colour", "engine, format, session"),
        ("parse engine=duckdb\nx\n----\n", 1, "parse has no option engine", "Write parse alone"),
        ("sql engine\nx\n----\n", 1, "the option engine has no value", "engine"),
        ("sql engine=\nx\n----\n", 1, "nothing is no value of the option engine", "engine"),
        ("sql engine=oracle\nx\n----\n", 1, "oracle is no value of the option engine: it is one of spark, duckdb", ""),
        ("sql format=xml\nx\n----\n", 1, "xml is no value of the option format", ""),
        ("explain what=x\nx\n----\n", 1, "x is no value of the option what", ""),
        ("sql session=a session=b\nx\n----\n", 1, "the option session is given twice", ""),
        ("\noptions now=today\n", 2, "today is no value of the option now: it is a time in UTC", ""),
        ("options warehouse=mine\n", 1, "mine is no value of the option warehouse: it is one of new, read, write", ""),
        ("options now=2024\noptions now=2024\n", 2, "options is not at the top", "one such line"),
        ("sql\nx\n----\n\noptions now=2024\n", 5, "options is not at the top", "one such line"),
    ],
)
def test_nothing_is_dropped(text: str, line: int, problem: str, hint: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_cases(text)
    error = caught.value
    assert error.condition == "INVALID_GOLDEN_FILE"
    assert error.message.startswith(f"Line {line}: {problem}")
    assert hint in (error.hint or "")


def test_an_output_that_could_not_be_read_again_is_refused() -> None:
    file = read_cases("sql\nx\n----\n")
    for output in ("----\n----", "a\n----\n----\nb", "----"):
        with pytest.raises(ParseError, match="cannot be written"):
            with_outputs(file, {0: output})
