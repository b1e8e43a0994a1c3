"""The completer of prompt_toolkit, and the help while typing that the prompt uses."""

from __future__ import annotations

import time
from pathlib import Path

from completion_world import NAMES, values
from prompt_toolkit.completion import CompleteEvent, ThreadedCompleter
from prompt_toolkit.document import Document

from rewriter.session import Session
from rewriter.shell.assistance import Assistance
from rewriter.shell.commands import commands
from rewriter.shell.completion.prompt_completer import ShellCompleter

COMPLETER = ShellCompleter(lambda: NAMES, values)
REQUESTED, UNBIDDEN = CompleteEvent(completion_requested=True), CompleteEvent(text_inserted=True)


def completed(text: str, event: CompleteEvent = UNBIDDEN) -> list[tuple[str, int, str, str]]:
    found = COMPLETER.get_completions(Document(text), event)
    return [(c.text, c.start_position, c.display_text, c.display_meta_text) for c in found]


def test_completions() -> None:
    assert completed("SELECT * FROM cus") == [("customers", -3, "customers", "table")]
    assert completed("SELECT o.am") == []
    assert completed("SELECT 1 FROM orders WHERE dt = '2023") == [("'2023-12-31'", -5, "2023-12-31", "dt string")]


def test_nothing_is_offered_unbidden_before_a_word_begins() -> None:
    assert completed("SELECT ") == []
    assert completed("SELECT ", REQUESTED) != []
    assert completed("") == []
    assert [found[0] for found in completed("SELECT * FROM sales.")] == ["orders_2024", "`select`"]
    assert len(completed("SELECT 1 FROM orders WHERE dt = '")) == 3


def test_values_that_act_on_a_terminal_are_shown_and_written_as_escapes() -> None:
    found = completed("SELECT 1 FROM customers WHERE country = '")
    assert ("'\\u001b[31mred'", -1, "\\u001b[31mred", "country string") in found
    assert ("'new\\nline'", -1, "new\\nline", "country string") in found


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "script.sql").touch()
    assert [found[0] for found in completed(f"\\i {tmp_path}/scr")] == ["ipt.sql"]
    assert completed("\\timing x") == []


def test_edits_in_the_middle_of_a_text() -> None:
    text = "SELECT 1;\nSELECT * FROM ;\nSELECT 2"
    cursor = text.index(" FROM ") + len(" FROM ")
    for letter in "cust":
        text, cursor = text[:cursor] + letter + text[cursor:], cursor + 1
        found = list(COMPLETER.get_completions(Document(text, cursor), UNBIDDEN))
    assert [completion.text for completion in found] == ["customers"]


def test_threads_may_overlap() -> None:
    threaded = ThreadedCompleter(COMPLETER)
    both = zip(
        threaded.get_completions(Document("SELECT * FROM cus"), UNBIDDEN),
        threaded.get_completions(Document("SELECT * FROM ord"), UNBIDDEN),
        strict=True,
    )
    assert [(one.text, other.text) for one, other in both] == [("customers", "orders")]


def test_the_prompt_has_the_names_of_its_session(tmp_path: Path) -> None:
    with Session(tmp_path, engine="duckdb") as session:
        assistance = Assistance(session, commands(), {"format": ("csv", "json")})
        try:
            session.execute("CREATE TABLE flights (x INT) PARTITIONED BY (d STRING)")
            session.execute("ALTER TABLE flights ADD PARTITION (d = 'a')")
            assistance.note()
            assert _texts_soon(assistance, "SELECT * FROM fl") == ["flights"]
            assert _texts_soon(assistance, "DROP TABLE fl") == ["flights"]
            assert _texts_soon(assistance, "SELECT 1 FROM flights WHERE d = '") == ["'a'"]
            session.execute("ALTER TABLE flights ADD PARTITION (d = 'b')")
            assistance.note()
            assert _texts_soon(assistance, "SELECT 1 FROM flights WHERE d = 'b") == ["'b'"]
            assert "\\coverage" in _texts_soon(assistance, "\\co")
            assert _texts_soon(assistance, "\\format j") == ["json"]
            assert _texts_soon(assistance, "\\d fl") == ["flights"]
        finally:
            assistance.stop()
            assistance.stop()


def _texts_soon(assistance: Assistance, text: str) -> list[str]:
    """Returns the completions of a text, once there are any."""
    end = time.monotonic() + 30
    while True:
        found = [c.text for c in assistance.completer.get_completions(Document(text), REQUESTED)]
        if found or time.monotonic() > end:
            return found
        time.sleep(0.01)
