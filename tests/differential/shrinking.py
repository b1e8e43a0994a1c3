"""Makes a failing case small: removes steps of its history and parts of its query while it fails in the same way."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any

from rewriter.display.terminal.rendering import render_lines
from rewriter.errors import Error
from rewriter.golden.runner import run_file

from .checking import Question, Wrong, check, expected
from .histories import NOW_TEXT, History, replay
from .model import Inconsistent
from .queries import Compound, Expr, Query, Select, With, asked, nodes
from .reference import Reference
from .schemas import Schema
from .steps import Drop, Load, RollUp, Step, Write

#: The maximum numbers of smaller queries and histories that are tried.
_QUERIES, _HISTORIES = 400, 60


@dataclass(frozen=True)
class Case:
    """A history and a question."""

    schema: Schema
    steps: tuple[Step, ...]
    question: Question


def shrunk(case: Case, kind: str, folder: Path) -> Case:
    """Returns the smallest case of a greedy search that still fails with this ``kind``. ``folder`` is scratch space."""
    numbers = itertools.count()

    def failing(steps: tuple[Step, ...], question: Question) -> bool:
        attempt = folder / str(next(numbers))
        attempt.mkdir(parents=True)
        try:
            history = replay(case.schema, steps, attempt / "warehouse")
            try:
                return _fails(history, attempt, question, kind)
            finally:
                history.connection.close()
        except (Inconsistent, Error):
            return False
        finally:
            shutil.rmtree(attempt)

    (folder / "query").mkdir(parents=True)
    try:
        history = replay(case.schema, case.steps, folder / "query" / "warehouse")
        with_query = _smallest_query(history, folder / "query", case.question, kind)
        history.connection.close()
        steps = _smallest_steps(case.steps, lambda some: failing(some, with_query))
    finally:
        shutil.rmtree(folder)
    return Case(case.schema, steps, with_query)


def _fails(history: History, directory: Path, question: Question, kind: str) -> bool:
    reference = Reference(directory)
    reference.load(history)
    try:
        check(history, reference, question, history.connection)
    except Wrong as wrong:
        return wrong.kind == kind
    return False


def _smallest_query(history: History, directory: Path, question: Question, kind: str) -> Question:
    tried = 0
    plain = replace(question, style=None)
    if _fails(history, directory, plain, kind):
        question = plain
    progress = True
    while progress:
        progress = False
        for smaller in simpler(question.query):
            tried += 1
            if tried > _QUERIES:
                return question
            simplified = replace(question, query=smaller)
            if _fails(history, directory, simplified, kind):
                question, progress = simplified, True
                break
    return question


def _smallest_steps(steps: tuple[Step, ...], failing: Callable[[tuple[Step, ...]], bool]) -> tuple[Step, ...]:
    tried, size = 0, max(1, len(steps) // 2)
    while size:
        start = 0
        while start < len(steps) and tried < _HISTORIES:
            tried += 1
            fewer = (*steps[:start], *steps[start + size :])
            if failing(fewer):
                steps = fewer
            else:
                start += size
        size //= 2
    for index in range(len(steps)):
        halved = True
        while halved and tried < 2 * _HISTORIES:
            halved = False
            for smaller in _halves(steps[index]):
                tried += 1
                shorter = (*steps[:index], smaller, *steps[index + 1 :])
                if failing(shorter):
                    steps, halved = shorter, True
                    break
    return steps


def _halves(step: Step) -> Iterator[Step]:
    """Returns the same step for each half of its partitions, or with fewer rows."""
    if isinstance(step, Write):
        middle = len(step.rows) // 2
        if middle:
            yield replace(step, rows=step.rows[:middle])
            yield replace(step, rows=step.rows[middle:])
        elif step.rows and len(step.rows[0][1]) > 1:
            ordinal, rows = step.rows[0]
            yield from (replace(step, rows=((ordinal, rows[:n] + rows[n + 1 :]),)) for n in range(len(rows)))
    elif isinstance(step, RollUp | Load) and len(step.targets) > 1:
        middle = len(step.targets) // 2
        yield replace(step, targets=step.targets[:middle])
        yield replace(step, targets=step.targets[middle:])
    elif isinstance(step, Drop) and len(step.ordinals) > 1:
        middle = len(step.ordinals) // 2
        yield replace(step, ordinals=step.ordinals[:middle])
        yield replace(step, ordinals=step.ordinals[middle:])


def simpler(query: Query) -> Iterator[Query]:
    """Returns queries with one part less, the largest removals first: a single part, then without a clause, then
    simpler inside.

    Many of them are invalid and fail in another way.
    """
    for inner in nodes(query):
        if isinstance(inner, Select | Compound | With) and inner is not query:
            yield inner
    yield from _simpler(query)


def _simpler(node: Any) -> Iterator[Any]:
    if isinstance(node, Expr):
        yield from _simpler_expr(node)
        return
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            least = 1 if field.default is MISSING else 0
            if len(value) > least:
                yield from (replace(node, **{field.name: value[:n] + value[n + 1 :]}) for n in range(len(value)))
        elif field.default is not MISSING and value != field.default:
            yield replace(node, **{field.name: field.default})
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            for number, child in enumerate(value):
                for smaller in _simpler(child) if hasattr(child, "__dataclass_fields__") else ():
                    yield replace(node, **{field.name: (*value[:number], smaller, *value[number + 1 :])})
        elif hasattr(value, "__dataclass_fields__"):
            yield from (replace(node, **{field.name: smaller}) for smaller in _simpler(value))


def _simpler_expr(expr: Expr) -> Iterator[Expr]:
    """Returns an operand of the same type instead of the expression, or a simpler one in its place."""
    yield from (part for part in expr.parts if isinstance(part, Expr) and part.type == expr.type)
    for number, part in enumerate(expr.parts):
        if isinstance(part, str):
            continue
        # If the meaning has the same operand, it changes there, too.
        for smaller in _simpler(part):
            plain = expr.plain and tuple(smaller if piece is part else piece for piece in expr.plain)
            yield replace(expr, parts=(*expr.parts[:number], smaller, *expr.parts[number + 1 :]), plain=plain)


def golden_text(case: Case, title: str, folder: Path) -> str:
    """Returns a golden file whose last case is the question. Its output is the correct one, as a table."""
    directory = folder / "golden"
    directory.mkdir()
    try:
        history = replay(case.schema, case.steps, directory / "warehouse")
        reference = Reference(directory)
        reference.load(history)
        right = expected(history, reference, case.question, history.connection)
        history.connection.close()
        setup = [f"SET rewriter.now = '{NOW_TEXT}'", *history.log]
        if right.missing:
            setup.append("SET rewriter.partial_data = true")
        path = directory / "case.test"
        lines = [
            f"# {title}",
            "",
            "sql",
            ";\n".join(setup),
            "----",
            "",
            "sql",
            asked(case.question.query).text,
            "----",
            "",
        ]
        path.write_text("\n".join(lines), encoding="utf-8")
        run = run_file(path)
        table = "\n".join(render_lines([name for name, _ in right.columns], iter(right.rows), "table"))
        right_outcome = replace(run.outcomes[-1], actual=table, failed=False)
        return replace(run, outcomes=(*run.outcomes[:-1], right_outcome)).rewritten
    finally:
        shutil.rmtree(directory)
