"""The outcomes of the statements of ``statements.sql``: how they are got, normalized, recorded and shown.

An outcome is normalized equally for each metastore. Directories, times, sizes, the user and the version become
placeholders such as ``${dir}``. Properties are sorted, and so are rows where SQL gives no order.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from statement_texts import Statement

HERE = Path(__file__).parent
SCRIPT = HERE / "statements.sql"
RECORDED = HERE / "recorded.jsonl"

_CLIENT = HERE / "spark_client.py"
_LIMIT_SECONDS = 900
#: Statements whose rows have an order.
_ORDERED = re.compile(r"DESC|SHOW\s+(COLUMNS|PARTITIONS|CREATE)\b|.*\bORDER\s+BY\b", re.IGNORECASE | re.DOTALL)
_SIZE = re.compile(r"\b[1-9]\d*(?= bytes\b)|(?<=\btotalSize=)[1-9]\d*")
_DDL_TIME = re.compile(r"(?<=\btransient_lastDdlTime)('? ?= ?'?)\d+")
_VERSION = re.compile(r"\d+\.\d+\.\d+\S*")
_ENTRY_END = re.compile(r", (?=[\w.]+=)")


@dataclass(frozen=True)
class Outcome:
    """The columns and rows that a statement returns, or the name of its error. ``message`` is for readers only."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    error: str | None = None

    def text(self) -> str:
        """Returns the outcome as lines: ``OK``, the error, or the columns and then a line for each row."""
        if self.error is not None:
            return f"ERROR {self.error}"
        lines = [" | ".join("NULL" if cell is None else cell for cell in row) for row in (self.columns, *self.rows)]
        return "\n".join(lines) if self.columns else "OK"


@dataclass(frozen=True)
class Executed:
    """A statement and its outcome. ``message`` is the first line of an error's message, which is not compared."""

    statement: Statement
    outcome: Outcome
    message: str = ""


@dataclass(frozen=True)
class Surroundings:
    """What differs between runs: the scratch directory, the location of the database ``default``, and the user."""

    dir: str
    warehouse: str
    user: str


def execute(uri: str, scratch: Path) -> list[Executed]:
    """Runs the script against the metastore at a URI with a Spark of its own, which takes about a minute.

    ``scratch`` is an empty directory, which gets the files and the log of Spark. Raises ``AssertionError`` with the end
    of the log if Spark does not start or stops early.
    """
    log = scratch / "spark.log"
    path = os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    with SCRIPT.open("rb") as script, log.open("wb") as sink:
        process = subprocess.run(
            [sys.executable, str(_CLIENT), uri, str(scratch)],
            stdin=script,
            stdout=subprocess.PIPE,
            stderr=sink,
            env={**os.environ, "PYTHONPATH": path},
            timeout=_LIMIT_SECONDS,
            check=False,
        )
    tail = log.read_text(encoding="utf-8", errors="replace")[-3000:]
    assert process.returncode == 0, f"The client ended with {process.returncode}:\n{tail}"
    first, *lines = (json.loads(line) for line in process.stdout.decode().splitlines())
    return [executed(line, Surroundings(**first)) for line in lines]


def executed(line: Mapping[str, Any], surroundings: Surroundings) -> Executed:
    """Returns the normalized outcome in a line of the client."""
    statement = Statement(line["line"], line["statement"])
    return Executed(statement, normalized(statement.text, _outcome(line), surroundings), line.get("message", ""))


def normalized(statement: str, outcome: Outcome, surroundings: Surroundings) -> Outcome:
    """Returns the outcome without what differs between runs."""
    rows = [_row(row, surroundings) for row in outcome.rows]
    if not _ORDERED.match(statement):
        rows.sort(key=lambda row: [(cell is None, cell or "") for cell in row])
    error = None if outcome.error is None else _placed(outcome.error, surroundings)
    return Outcome(outcome.columns, tuple(rows), error)


def recorded() -> list[tuple[str, Outcome]]:
    """Returns the statements of the recording, each with its outcome."""
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    return [(line["statement"], _outcome(line)) for line in map(json.loads, lines)]


def record(results: Sequence[Executed]) -> None:
    """Writes the recording: a line of JSON for each statement, without the line numbers of the script."""
    lines = [json.dumps(_recorded(result), ensure_ascii=False) + "\n" for result in results]
    RECORDED.write_text("".join(lines), encoding="utf-8")


def _recorded(result: Executed) -> dict[str, object]:
    outcome = result.outcome
    if outcome.error is not None:
        return {"statement": result.statement.text, "error": outcome.error}
    return {"statement": result.statement.text, "columns": outcome.columns, "rows": outcome.rows}


def _outcome(line: Mapping[str, Any]) -> Outcome:
    rows = tuple(tuple(row) for row in line.get("rows", ()))
    return Outcome(tuple(line.get("columns", ())), rows, line.get("error"))


def _row(row: Sequence[str | None], surroundings: Surroundings) -> tuple[str | None, ...]:
    cells = [None if cell is None else _cell(cell, surroundings) for cell in row]
    label = cells[0] if cells else None
    if len(cells) > 1 and label is not None and cells[1] is not None:
        cells[1] = _labelled(label, cells[1], surroundings)
    return tuple(cells)


def _cell(cell: str, surroundings: Surroundings) -> str:
    lines = [_placed(line, surroundings) for line in cell.split("\n")]
    for number, line in enumerate(lines):
        label, colon, value = line.partition(": ")
        if colon:
            lines[number] = f"{label}: {_labelled(label, value, surroundings)}"
    return _DDL_TIME.sub(r"\1${time}", "\n".join(lines))


def _placed(text: str, surroundings: Surroundings) -> str:
    return text.replace(surroundings.dir, "${dir}").replace(surroundings.warehouse, "${warehouse}")


def _labelled(label: str, value: str, surroundings: Surroundings) -> str:
    """Returns the value that ``DESCRIBE`` and ``SHOW`` print beside a label."""
    if label == "Owner":
        return "${user}" if value == surroundings.user else value
    return _VALUES.get(label, str)(value)


def _sorted_entries(value: str) -> str:
    if not (value.startswith("[") and value.endswith("]")):
        return value
    return f"[{', '.join(sorted(_ENTRY_END.split(_SIZE.sub('${size}', value[1:-1]))))}]"


_VALUES: Mapping[str, Callable[[str], str]] = {
    "Created Time": lambda value: "${time}",
    "Last Access": lambda value: value if value == "UNKNOWN" else "${time}",
    "Created By": lambda value: _VERSION.sub("${version}", value),
    "transient_lastDdlTime": lambda value: "${time}",
    "Statistics": lambda value: _SIZE.sub("${size}", value),
    "Partition Statistics": lambda value: _SIZE.sub("${size}", value),
    "Storage Properties": _sorted_entries,
    "Table Properties": _sorted_entries,
    "Partition Parameters": _sorted_entries,
}
