"""Compares the outcomes with a metastore with the recorded ones of a real Hive metastore.

``differences.toml`` lists the statements with another outcome on purpose, each with its reason and that outcome as
``Outcome.text`` prints it, without newlines around it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff

from statement_outcomes import HERE, Executed, Outcome

#: More deliberate differences than this are no compatibility.
MOST_DIFFERENCES = 10


@dataclass(frozen=True)
class Difference:
    """A statement, the reason why it has another outcome here, and that outcome. It applies wherever the statement
    occurs.
    """

    statement: str
    reason: str
    outcome: str


def differences() -> list[Difference]:
    """Returns the rows of ``differences.toml``."""
    tables = tomllib.loads((HERE / "differences.toml").read_text(encoding="utf-8")).get("difference", [])
    return [Difference(**{**table, "outcome": table["outcome"].strip("\n")}) for table in tables]


def compare(
    results: Sequence[Executed], recording: Sequence[tuple[str, Outcome]], accepted: Sequence[Difference]
) -> list[str]:
    """Returns what is wrong, each as a text of several lines: every statement whose outcome differs and is not
    accepted, every row of ``accepted`` that no statement uses, and too many rows.
    """
    executed = [result.statement.text for result in results]
    if executed != [statement for statement, _ in recording]:
        return ["recorded.jsonl has other statements than statements.sql: record it again"]
    problems: list[str] = []
    used: set[Difference] = set()
    for result, (_, expected) in zip(results, recording, strict=True):
        if result.outcome == expected:
            continue
        text = result.outcome.text().strip("\n")
        matching = {row for row in accepted if (row.statement, row.outcome) == (result.statement.text, text)}
        used |= matching
        if not matching:
            problems.append(_shown(result, expected))
    problems += [
        f"differences.toml has a row that no statement uses: {row.statement}" for row in accepted if row not in used
    ]
    if len(accepted) > MOST_DIFFERENCES:
        problems.append(f"differences.toml has {len(accepted)} rows, and {MOST_DIFFERENCES} are allowed")
    return problems


def _shown(result: Executed, expected: Outcome) -> str:
    """Returns a statement with both outcomes: the lines of Hive alone begin with ``-``, those of ours with ``+``."""
    before, now = expected.text().split("\n"), result.outcome.text().split("\n")
    lines = [line.rstrip("\n") for line in unified_diff(before, now, n=2, lineterm="")][2:]
    shown = [line for line in lines if not line.startswith("@@")] or ["(the lines are equal, the values are not)"]
    message = [f"    message: {result.message}"] if result.message and result.outcome.error else []
    head = f"statements.sql:{result.statement.line} {result.statement.text}"
    return "\n".join([head, *(f"    {line}" for line in shown), *message])
