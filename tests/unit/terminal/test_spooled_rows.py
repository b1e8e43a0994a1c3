"""Tables in bounded memory: rows wait in a temporary file until the widths of all are known."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.display.terminal import spooled_rows
from rewriter.display.terminal.rendering import Layout, render_lines
from rewriter.display.terminal.spooled_rows import SpooledRows
from rewriter.errors import OperationalError

TEXTS = ["a", "", "zwölf", "\ud800", "漢字", "x" * 3000]


def test_rows_come_again_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    for held in (10, 1 << 20):
        monkeypatch.setattr(spooled_rows, "HELD_BYTES", held)
        with SpooledRows([text, text[::-1]] for text in TEXTS) as rows:
            assert (len(rows), list(rows), list(rows)) == (
                6,
                [[t, t[::-1]] for t in TEXTS],
                [[t, t[::-1]] for t in TEXTS],
            )
        with SpooledRows(iter(TEXTS)) as lines:
            assert list(lines) == TEXTS


class _Value:
    """A value that counts how many are alive."""

    alive = most = 0

    def __init__(self, number: int) -> None:
        self.number = number
        _Value.alive += 1
        _Value.most = max(_Value.most, _Value.alive)

    def __del__(self) -> None:
        _Value.alive -= 1

    def __str__(self) -> str:
        return f"value {self.number}"


@pytest.mark.parametrize("form", ["table", "markdown", "vertical", "csv", "jsonl"])
def test_no_format_holds_the_rows(form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spooled_rows, "HELD_BYTES", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _Value.alive = _Value.most = 0
    count = 0
    for line in render_lines(["v", "n"], ((_Value(number), number) for number in range(5000)), form):
        count += 1
        assert os.listdir(tmp_path) == []  # The file has no name: nothing is left by a process that is killed.
        if count > 4990:
            assert line
    assert count >= 5000
    assert _Value.most <= 3


def test_widths_are_those_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooled_rows, "HELD_BYTES", 10)
    rows = [(1, "a", None), (None, "漢字e\u0301", None), (1000, "x\ty", True)]
    assert list(render_lines(["n", "text", "flag"], iter(rows), "table")) == [
        "   n | text  | flag",
        "-----+-------+-----",
        "   1 | a     | NULL",
        "NULL | 漢字e\u0301 | NULL",
        "1000 | x\\ty  | true",
    ]
    with Layout(["n", "text", "flag"], [*rows, (1, "x" * 9, 1)], longest=6) as layout:
        assert layout.width == len("-----+---------+-----")
        assert list(layout.vertical())[3:6] == ["flag | NULL", "-[ row 2 ]-", "n    | NULL"]
        assert list(layout.vertical())[-2:] == ["text | xxxxxx…", "flag | 1"]


def test_a_full_disk_is_our_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            pass

    monkeypatch.setattr("tempfile.SpooledTemporaryFile", lambda _: Full())
    with pytest.raises(OperationalError) as caught:
        SpooledRows([["a"]])
    assert caught.value.condition == "DISK_FULL"


def test_an_error_of_the_rows_comes_through() -> None:
    def failing() -> Iterator[list[str]]:
        yield ["a"]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        SpooledRows(failing())
