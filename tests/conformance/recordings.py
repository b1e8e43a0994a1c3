"""Recorded results of Apache Spark 4.3.0, the results here, and the intended differences.

``recorded/*.txt`` has statements in their order of execution, with Spark's results. A line ``NEW`` has a statement
whose result is not recorded yet. ``deviations.toml`` lists the statements with other results here, each with the
reason, and ``pending.txt`` those that are not implemented yet. ``refusals.toml`` lists the queries that DuckDB's
translation refuses (``docs/reference/duckdb.md``), by their construct. A result is one text: ``OK`` and the rows, or
the condition of an error and its SQLSTATE.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from rewriter.errors import Error
from rewriter.runtime.result import Result
from rewriter.session import Session

FOLDER = Path(__file__).parent
_LINE = re.compile(r"(OK|ERR) +(.*) =>(.*)")


@dataclass(frozen=True)
class Recorded:
    """A statement and its result on Spark, which may contain ``<warehouse>``, ``<dir>`` and ``<time>``."""

    recording: str
    line: int
    statement: str
    answer: str


@dataclass(frozen=True)
class Deviation:
    """A statement with another result here. Spark's is ``theirs`` (a recording may contain the statement several
    times).

    ``then`` are statements that restore the state of Spark after its own statement.
    """

    recording: str
    statement: str
    ours: str
    theirs: str
    reason: str
    then: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pending:
    """A statement that is not implemented yet. ``then`` is as in ``Deviation``, ``subject`` the part that it belongs
    to.
    """

    recording: str
    statement: str
    subject: str
    then: tuple[str, ...] = ()


def recordings() -> list[str]:
    """Returns the names of all recordings."""
    return sorted(path.stem for path in (FOLDER / "recorded").glob("*.txt"))


def recorded(name: str) -> list[Recorded]:
    """Returns the statements of a recording, in order."""
    lines = (FOLDER / "recorded" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    statements = []
    for number, line in enumerate(lines, start=1):
        if line.startswith(("#", "NEW ")):  # NEW: record.py has not recorded the result yet.
            continue
        match = _LINE.fullmatch(line)
        assert match, f"{name}.txt:{number} is no answer"
        kind, statement, rest = match.groups()
        statements.append(
            Recorded(name, number, statement, f"OK {rest.strip()}".strip() if kind == "OK" else rest.strip())
        )
    return statements


def deviations() -> list[Deviation]:
    """Returns the intended deviations, in the order of the file."""
    tables: list[dict[str, Any]] = tomllib.loads((FOLDER / "deviations.toml").read_text(encoding="utf-8"))["deviation"]
    return [Deviation(**{**table, "then": tuple(table.get("then", ()))}) for table in tables]


def pending() -> list[Pending]:
    """Reads the statements that are not implemented: ``subject | recording | statement | stand-ins``, ``;`` between the
    last.
    """
    listed = []
    for line in (FOLDER / "pending.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            subject, recording, statement, then = (part.strip() for part in f"{line} | ".split(" | ")[:4])
            listed.append(
                Pending(recording, statement, subject, tuple(part.strip() for part in then.split(";") if part))
            )
    return listed


def refusals() -> dict[str, list[tuple[str, str]]]:
    """Returns the recordings and statements that are refused on DuckDB, by the construct that is refused."""
    tables = tomllib.loads((FOLDER / "refusals.toml").read_text(encoding="utf-8"))
    return {
        construct: [(recording, statement) for recording in lists for statement in lists[recording]]
        for construct, lists in tables.items()
    }


def other_conditions() -> list[tuple[str, str]]:
    """Returns the recordings and statements that fail on DuckDB, too, with another condition than Spark's."""
    lists = tomllib.loads((FOLDER / "other_conditions.toml").read_text(encoding="utf-8"))
    return [(recording, statement) for recording in lists for statement in lists[recording]]


class Replay:
    """Runs the statements of one recording in a session of a fresh warehouse."""

    def __init__(self, session: Session, warehouse: Path, directory: Path) -> None:
        self._session = session
        self._places = {"<warehouse>": str(warehouse), "<dir>": str(directory)}

    def answer(self, statement: str) -> str:
        """Returns our result, with placeholders for this machine's directories."""
        try:
            result = self._session.execute(self._placed(statement))
            text = _rows(result)
        except Error as error:
            return f"{error.condition} {error.sqlstate}"
        for placeholder, path in self._places.items():
            text = text.replace(path, placeholder)
        return f"OK {text}".strip()

    def restore(self, statements: Sequence[str]) -> Iterator[str]:
        """Runs the statements that restore Spark's state, and returns their errors."""
        for statement in statements:
            answer = self.answer(statement)
            if not answer.startswith("OK"):
                yield f"    {statement}\n      failed: {answer}"

    def _placed(self, statement: str) -> str:
        for placeholder, path in self._places.items():
            statement = statement.replace(placeholder, path)
        return statement


def agree(answer: str, expected: str) -> bool:
    """Returns True if a result is the expected one, where ``<time>`` and ``<number>`` match any text."""
    pattern = ".+?".join(re.escape(part) for part in re.split("<time>|<number>", _plain(expected)))
    return re.fullmatch(pattern, _plain(answer), re.DOTALL) is not None


def differences(name: str, replay: Replay, on_duckdb: bool) -> list[str]:
    """Returns all differences between a replay and the recording, the deviations, the pending and the refused
    statements.
    """
    refused = {
        statement
        for statements in (refusals().values() if on_duckdb else ())
        for recording, statement in statements
        if recording == name
    }
    failing = {statement for recording, statement in (other_conditions() if on_duckdb else ()) if recording == name}
    deviating = {
        (deviation.statement, deviation.theirs): deviation for deviation in deviations() if deviation.recording == name
    }
    waiting = {entry.statement: entry for entry in pending() if entry.recording == name}
    report: list[str] = []
    for statement in recorded(name):
        where = f"{name}.txt:{statement.line}: {statement.statement}"
        answer = replay.answer(statement.statement)
        same, entry = agree(answer, statement.answer), deviating.get((statement.statement, statement.answer))
        if statement.statement in refused:
            if not answer.startswith(("DUCKDB_UNSUPPORTED ", "PARSE_SYNTAX_ERROR ")):
                report.append(
                    f"{where}\n    is not refused on DuckDB: delete it from refusals.toml\n    ours  {answer}"
                )
        elif statement.statement in failing:
            if same or answer.startswith("OK"):
                report.append(
                    f"{where}\n    does not fail with another condition: delete it from other_conditions.toml\n"
                    f"    ours  {answer}"
                )
        elif statement.statement in waiting:
            if same or (entry is not None and agree(answer, entry.ours)):
                report.append(f"{where}\n    is answered as it should be: delete it from pending.txt")
            elif answer.startswith("OK"):
                report.append(
                    f"{where}\n    is pending, and yet answered\n    Spark {statement.answer}\n    ours  {answer}"
                )
            else:
                report += replay.restore(waiting[statement.statement].then)
        elif entry is not None:
            if same:
                report.append(f"{where}\n    is answered as Spark does: delete it from deviations.toml")
            elif not agree(answer, entry.ours):
                report.append(f"{where}\n    deviations.toml has {entry.ours}\n    now it is        {answer}")
            report += replay.restore(entry.then)
        elif not same:
            report.append(f"{where}\n    Spark {statement.answer}\n    ours  {answer}")
    return report


def table() -> list[str]:
    """Returns the deviations as lines of a Markdown table, one for each. Pending statements are not deviations yet."""
    waiting = {(entry.recording, entry.statement) for entry in pending()}
    lines = ["| statement | Spark 4.3 | here | reason |", "| --- | --- | --- | --- |"]
    for deviation in deviations():
        if (deviation.recording, deviation.statement) in waiting:
            continue
        cells = (
            f"`{deviation.statement}`",
            _shown(deviation.theirs, deviation.ours),
            _shown(deviation.ours, deviation.theirs),
            deviation.reason,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def _shown(answer: str, compared: str) -> str:
    """Returns a result for the table. If both results have rows, only those that the other lacks."""
    if not answer.startswith("OK"):
        return f"`{answer.removesuffix(' None')}`"
    rows, other_rows = _plain(answer).split("\n")[1:], _plain(compared).split("\n")[1:]
    if not rows or not other_rows:
        return "rows" if rows else "OK"
    return " ".join(f"`{row}`" for row in rows if row not in other_rows) or "no more"


def _rows(result: Result) -> str:
    rows = ["|".join(cell(value) for value in row) for row in result.rows()]
    return repr(rows) if result.columns is not None else ""


def cell(value: object) -> str:
    """Returns a value of a row as the text of recordings."""
    if isinstance(value, datetime):
        value = value.replace(tzinfo=None)  # Instants are in UTC on both sides.
    return "NULL" if value is None else str(value)


def _plain(answer: str) -> str:
    """Returns rows, one per line, without the quotes and backslashes of their list."""
    if not answer.startswith("OK ["):
        return answer
    rows: list[str] = ast.literal_eval(answer.removeprefix("OK "))
    return "\n".join(("OK", *rows))
