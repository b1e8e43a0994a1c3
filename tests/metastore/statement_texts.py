"""Splits a script into its statements, which end with ``;`` at the end of a line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """A statement and the number of its first line."""

    line: int
    text: str


def statements(script: str) -> list[Statement]:
    """Returns the statements in order. Lines between statements that are empty or begin with ``--`` are left out."""
    found: list[Statement] = []
    lines: list[str] = []
    first = 0
    for number, line in enumerate(script.splitlines(), start=1):
        if not lines and (not line.strip() or line.startswith("--")):
            continue
        first = first if lines else number
        lines.append(line.rstrip())
        if lines[-1].endswith(";"):
            found.append(Statement(first, "\n".join(lines)[:-1]))
            lines = []
    if lines:
        raise ValueError(f"The statement in line {first} does not end with a semicolon.")
    return found
