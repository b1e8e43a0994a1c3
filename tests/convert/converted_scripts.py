"""The scripts of this folder: their statements, their queries, and rows as text."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from rewriter.shell.script import PieceKind, pieces

HERE = Path(__file__).parent
SCRIPTS = sorted((HERE / "scripts").iterdir())


def script_statements(text: str) -> Iterator[tuple[int, str]]:
    """Yields the statements of a script, each with the line of its first word."""
    for piece in pieces(text):
        if piece.kind is not PieceKind.COMMAND:
            yield text.count("\n", 0, piece.span.start) + 1, piece.of(text)


def is_query(text: str) -> bool:
    return re.match(r"(SELECT|WITH)\b", text, re.IGNORECASE) is not None


def printed(row: Sequence[object]) -> str:
    """Returns a row as text, with timestamps in UTC."""
    return ", ".join(
        f"{value.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S.%f}" if isinstance(value, dt.datetime) else repr(value)
        for value in row
    )
