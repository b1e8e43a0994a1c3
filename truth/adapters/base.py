"""The base of all adapters: a trace of what was run, an outcome, and the loop of the child process."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from truth.model import Grouping, Question, Row, Scenario, Step, Value

#: What the events of a rollup by day and item cannot tell.
FINE_GROUPS: tuple[Grouping, ...] = ("hour", "amount")


class NotExpressibleError(Exception):
    """The tool has no notion of a step or of the question. The message says which."""


class Trace:
    """What was run, in order, and the warnings of the tool."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.warnings: list[str] = []

    def add(self, text: object) -> None:
        """Adds a statement, a call or a result."""
        self.lines.append(str(text))


class Adapter(ABC):
    """A tool in one way of use: one column of the table. One instance runs one scenario in an empty directory."""

    column: ClassVar[str]
    #: The page of the tool's documentation that recommends this use.
    page: ClassVar[str]
    #: Errors of the tool. Any other exception is a fault of this bench, and ends the run.
    refusals: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        self.folder, self.scenario, self.trace = folder, scenario, trace

    @abstractmethod
    def run(self, step: Step) -> None:
        """Runs a step. Raises ``NotExpressibleError``; one of ``refusals`` is a refusal."""

    @abstractmethod
    def ask(self, question: Question) -> list[Row]:
        """Returns the tool's answer in the form of ``Scenario.right``."""

    def close(self) -> None:  # noqa: B027 (most tools hold nothing)
        """Releases what the tool holds."""


def outcome(adapter: type[Adapter], scenario: Scenario) -> dict[str, Any]:
    """Runs a scenario and returns its rows, refusal, warnings and steps as JSON values."""
    trace = Trace()
    rows: list[Row] = []
    refused, not_expressible = "", ""
    folder = Path(tempfile.mkdtemp(prefix="truth-"))
    tool = adapter(folder, scenario, trace)
    try:
        for step in scenario.steps:
            trace.add(f"-- {type(step).__name__}")
            tool.run(step)
        trace.add("-- Question")
        rows = tool.ask(scenario.question)
        trace.add(f"result: {rows}")
    except NotExpressibleError as error:
        not_expressible = str(error)
    except adapter.refusals as error:
        refused = f"{type(error).__name__}: {error}"
        trace.add(f"refused: {refused}")
    finally:
        tool.close()
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "column": adapter.column,
        "page": adapter.page,
        "scenario": scenario.name,
        "rows": rows,
        "refused": refused,
        "not_expressible": not_expressible,
        "warnings": trace.warnings,
        "steps": [line.replace(str(folder), "<folder>") for line in trace.lines],
    }


def serve(adapters: Iterable[type[Adapter]]) -> None:
    """Prints a line of JSON for each scenario and column. Arguments are names of scenarios; without any, all run."""
    from truth.scenarios import SCENARIOS  # the oracle needs this module without them

    names = set(sys.argv[1:])
    for adapter in adapters:
        for scenario in SCENARIOS:
            if not names or scenario.name in names:
                print("\x1e" + json.dumps(outcome(adapter, scenario)), flush=True)


def group_text(value: Any, by: Grouping | None) -> Value:
    """Returns a group as the scenarios write it. ``value`` is of the group's type; a time is on the zone's clocks."""
    if value is None or by is None or by == "item":
        return None if value is None else str(value)
    if by == "amount":
        return float(value)
    text = value.isoformat(sep=" ") if isinstance(value, datetime) else str(value).replace("T", " ")
    return text[: {"hour": 16, "day": 10, "week": 10, "month": 7}[by]]


def plain(value: Any) -> Value:
    """Returns a number as int or float."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (date, datetime)):
        return str(value)
    return float(value) if isinstance(value, Decimal) or not hasattr(value, "item") else plain(value.item())


def tidy(rows: Iterable[Sequence[Any]], by: Grouping | None) -> list[Row]:
    """Returns rows of a tool, ordered by their group, with NULL first and NaN last."""
    if by is None:
        return [tuple(map(plain, row)) for row in rows]
    made: list[Row] = [(group_text(row[0], by), *map(plain, row[1:])) for row in rows]
    if by == "amount":
        return sorted(made, key=lambda row: (row[0] is not None, row[0] != row[0], row[0]))
    return sorted(made, key=lambda row: (row[0] is not None, str(row[0])))


def whole_days(question: Question) -> bool:
    """Returns whether a range of UTC begins and ends at midnight."""
    return question.start[11:19] == question.end[11:19] == "00:00:00"


def needs_events(question: Question) -> bool:
    """Returns whether a rollup by day and item, which counts and adds up, cannot have the result."""
    return question.by in FINE_GROUPS or not {"users", "amounts"}.isdisjoint(question.measures)
