"""The questions that ``benchmarks.peers`` asks, and the form in which a peer's interpreter answers them.

Peers run this module with interpreters of their own, so it imports nothing but the standard library.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from numbers import Number
from typing import Any

from benchmarks.timing import seconds

REPEAT, REPEAT_SLOW, SLOW = 20, 3, 0.5
EVENT_MEASURES = "SUM(distance) AS distance, COUNT(*) AS flights, AVG(delay) AS delay, MAX(delay) AS worst"
HOUR_MEASURES = """SUM(distance) AS distance, SUM(flights) AS flights, SUM(delay) / SUM(departures) AS delay,
  MAX(worst_delay) AS worst"""


@dataclass(frozen=True)
class Question:
    """Asks for the measures of a time range by carrier, by a unit of time, or for the sum of distances by nothing."""

    name: str
    by: str
    start: str
    end: str

    @property
    def key(self) -> str:
        """Returns the expression to group by."""
        return self.by if self.by in ("", "carrier") else f"date_trunc('{self.by}', departed)"


QUESTIONS = (
    Question("mixed range", "carrier", "2013-01-29 06:00:00", "2013-03-01 06:00:00"),
    Question("a year by month", "month", "2013-01-01 00:00:00", "2014-01-01 00:00:00"),
    Question("a day by hour", "hour", "2013-03-01 00:00:00", "2013-03-02 00:00:00"),
    Question("range sum", "", "2013-02-04 00:00:00", "2013-02-18 00:00:00"),
)


@dataclass(frozen=True)
class Files:
    """The Parquet files of the events and of their hours, and a new folder for what a peer makes of them."""

    events: str
    hours: str
    folder: str


@dataclass(frozen=True)
class Answer:
    """The median time and the rows, or the reason why there is no answer."""

    seconds: float
    rows: list[list[Any]]
    reason: str = ""


@dataclass(frozen=True)
class Contender:
    """A row of the table: one answer to each of the questions asked."""

    label: str
    setup: str
    answers: tuple[Answer, ...]


def over_events(question: Question, source: str, literal: str = "TIMESTAMP") -> str:
    """Returns the question over a table of events."""
    where = f"departed >= {literal} '{question.start}' AND departed < {literal} '{question.end}'"
    return grouped(question, EVENT_MEASURES, source, where)


def over_hours(question: Question, source: str, literal: str = "TIMESTAMP") -> str:
    """Returns the question over a table of hours, which it filters by their timestamps."""
    where = f"departed >= {literal} '{question.start}' AND departed < {literal} '{question.end}'"
    return grouped(question, HOUR_MEASURES, source, where)


def over_partitions(question: Question, source: str) -> str:
    """Returns the question over a table of hours, which it filters by their partition column."""
    return grouped(question, HOUR_MEASURES, source, " AND ".join(f"dt {bound}" for bound in partition_bounds(question)))


def partition_bounds(question: Question) -> tuple[str, str]:
    """Returns the bounds of the partition column: ``>= '2013-01-29-06'`` and ``< '2013-03-01-06'``."""
    return f">= '{_partition(question.start)}'", f"< '{_partition(question.end)}'"


def grouped(question: Question, measures: str, source: str, where: str) -> str:
    """Returns the measures by the question's key, or the sum of distances where it has none."""
    if not question.key:
        return f"SELECT SUM(distance) AS distance FROM {source} WHERE {where}"
    return f"SELECT {question.key} AS grouped, {measures} FROM {source} WHERE {where} GROUP BY {question.key}"


def answered(run: Callable[[], Iterable[Sequence[Any]]]) -> Answer:
    """Runs a question twice, then times 20 runs, or 3 of a slow one, and returns the answer."""
    try:
        rows = comparable(run())
        return Answer(seconds(run, REPEAT_SLOW if seconds(run) > SLOW else REPEAT), rows)
    except Exception as error:
        return Answer(0.0, [], f"{type(error).__name__}: {str(error).splitlines()[0]}")


def comparable(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Returns the rows in order, with days and timestamps as texts."""
    texts = [[f"{v:%Y-%m-%d %H:%M:%S}" if isinstance(v, date) else v for v in row] for row in rows]
    return sorted(texts, key=lambda row: str(row[0]))


def difference(answer: Answer, expected: Answer) -> str:
    """Returns how the rows differ from the expected ones, or nothing. Floats may differ in their last digits."""
    if len(answer.rows) != len(expected.rows):
        return f"{len(answer.rows)} rows instead of {len(expected.rows)}"
    for actual_row, expected_row in zip(answer.rows, expected.rows, strict=True):
        if len(actual_row) != len(expected_row) or not all(map(_equal, actual_row, expected_row)):
            return f"{actual_row} instead of {expected_row}"
    return ""


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    """Returns the rows of an Arrow table."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def files_given() -> Files:
    """Returns the files that the parent names on the standard input."""
    return Files(**json.load(sys.stdin))


def print_contenders(contenders: Iterable[Contender]) -> None:
    """Prints the contenders in one line, which the parent reads."""
    print(json.dumps([asdict(contender) for contender in contenders], default=float))


def contenders_printed(output: str) -> list[Contender]:
    """Returns the contenders that a child printed in its last line."""
    return [
        Contender(row["label"], row["setup"], tuple(Answer(**answer) for answer in row["answers"]))
        for row in json.loads(output.splitlines()[-1])
    ]


def _partition(instant: str) -> str:
    return instant[:13].replace(" ", "-")


def _equal(actual: Any, expected: Any) -> bool:
    if not isinstance(actual, Number) or not isinstance(expected, Number):
        return actual == expected
    return math.isclose(float(actual), float(expected), rel_tol=1e-9)
