"""The completer of prompt_toolkit."""

from __future__ import annotations

from pathlib import Path

import pytest
from completion_world import NAMES, values
from prompt_toolkit.completion import CompleteEvent, ThreadedCompleter
from prompt_toolkit.document import Document

from rewriter.session import Session
from rewriter.shell.completion import partition_values
from rewriter.shell.completion.partition_values import PartitionValuesReader
from rewriter.shell.completion.prompt_completer import ShellCompleter
from rewriter.shell.completion.refresher import Refresher

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


def test_values_are_read_again_after_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_values, "_LONGEST_READ", 30.0)
    with Session(tmp_path, engine="duckdb") as session:
        session.execute("CREATE TABLE flights (x INT) PARTITIONED BY (d STRING)")
        session.execute("ALTER TABLE flights ADD PARTITION (d = 'a')")
        refresher = Refresher(session.catalog)
        refresher.step()
        completer = ShellCompleter(lambda: refresher.names, PartitionValuesReader(session.catalog))

        def found() -> list[str]:
            document = Document("SELECT 1 FROM flights WHERE d = '")
            return [completion.text for completion in completer.get_completions(document, UNBIDDEN)]

        assert found() == found() == ["'a'"]
        session.execute("ALTER TABLE flights ADD PARTITION (d = 'b')")
        assert found() == ["'a'", "'b'"]


def test_values_of_a_read_that_took_too_long_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Session(tmp_path, engine="duckdb") as session:
        session.execute("CREATE TABLE flights (x INT) PARTITIONED BY (d STRING)")
        session.execute("ALTER TABLE flights ADD PARTITION (d = 'a')")
        refresher = Refresher(session.catalog)
        refresher.step()
        completer = ShellCompleter(lambda: refresher.names, PartitionValuesReader(session.catalog))
        document = Document("SELECT 1 FROM flights WHERE d = '")
        found = []
        for seconds in (-1.0, 30.0):
            monkeypatch.setattr(partition_values, "_LONGEST_READ", seconds)
            found.append([completion.text for completion in completer.get_completions(document, UNBIDDEN)])
        assert found == [[], ["'a'"]]
