"""Asks a question of a history and compares the answer with that of plain SQL over the model's base rows.

The reference takes no part in planner or catalog: the model's rows are one file for each cube, and a DuckDB engine of
its own answers the meaning of the query over them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

import rewriter
from rewriter.catalog.models import Column
from rewriter.errors import AnalysisError, Error, MissingDataError, NotSupportedError, ParseError
from rewriter.exec.duckdb import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Relation, ScanFile
from rewriter.exec.sqltypes import arrow_type, parse_type
from rewriter.planner.plan import Plan, ReferencePlan
from rewriter.result import spark_type
from rewriter.timeline.ranges import RangeSet, TimeRange

from .formatting import formatted
from .histories import History, Model
from .queries import WEIGHT, Cube, Expr, Query, Select, Written, asked, expectations, meaning, nodes
from .ranges import timestamp
from .schemas import CubeSchema, quoted
from .steps import Row

#: Refusals that are right: no fact has the columns, or a range of ``time_range_in`` cuts periods.
#: The last two are plain Spark's, of queries that DuckDB answers.
RIGHT_REFUSALS = (
    "NO_CANDIDATE_FACT",
    "UNALIGNED_TIME_RANGE",
    "SCALAR_SUBQUERY_IS_IN_GROUP_BY_OR_AGGREGATE_FUNCTION",
    "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION",
)


@dataclass(frozen=True)
class Question:
    """A query, and the seed of the odd way in which it is typed (``None``: plainly)."""

    query: Query
    style: int | None = None


@dataclass(frozen=True)
class Answer:
    """How a question was answered. ``refusal`` is why not; ``plans`` are those of each mention of a cube."""

    refusal: str = ""
    missing: bool = False
    plans: tuple[tuple[ReferencePlan, ...], ...] = ()

    @property
    def right(self) -> bool:
        """Whether it was answered, or could not be."""
        return not self.refusal or self.refusal.startswith(RIGHT_REFUSALS)


@dataclass(frozen=True)
class Rows:
    """Names and types of columns, rows, and whether something is missing from them."""

    columns: list[tuple[str, str]]
    rows: list[tuple[Any, ...]]
    missing: bool = False


class Wrong(AssertionError):
    """An answer that is not that of the base rows, or an exception that is none of ours. ``kind`` is which."""

    def __init__(self, kind: str, told: str) -> None:
        super().__init__(f"{kind}\n{told}")
        self.kind = kind


@dataclass
class Reference:
    """Answers plain SQL over the rows of a history's models, kept in files below ``folder``."""

    folder: Path
    engine: DuckDBEngine = field(default_factory=DuckDBEngine)
    relations: tuple[Relation, ...] = ()
    _serial: int = 0

    def load(self, history: History) -> None:
        """Takes over the rows that the history has now."""
        self._serial += 1
        found = [self._rows(model, "", model.rows) for model in history.models.values()]
        found += [self._rows(model, name, model.merged.get(name, {})) for model, name in _merging(history)]
        lookup = history.schema.lookup
        columns = tuple(Column(column.name, column.type) for column in lookup)
        found.append(self._file("lookup", columns, history.schema.lookup_rows))
        self.relations = tuple(found)

    def answer(self, sql: str) -> Rows:
        """What plain SQL answers."""
        used = tuple(one for one in self.relations if one.name in sql)
        reader = self.engine.execute(EngineQuery(sql, used))
        table = reader.read_all()
        columns = [(one.name, spark_type(one.type)) for one in table.schema]
        return Rows(columns, list(zip(*(column.to_pylist() for column in table.columns), strict=True)))

    def _rows(self, model: Model, fact: str, held: Mapping[int, Sequence[Row]]) -> Relation:
        cube, counter = model.cube, model.cube.counter
        position = None if counter is None else cube.columns.index(counter)
        columns = [Column(column.name, column.type) for column in cube.columns]
        columns += [Column(cube.time, "timestamp"), Column(WEIGHT, "bigint")]
        timed: list[tuple[Row, int | None]] = [
            (row, cube.base.start(ordinal)) for ordinal, rows in held.items() for row in rows
        ]
        timed += [(row, None) for row in model.timeless]
        rows = [(*row, time, 1 if position is None else row[position] or 0) for row, time in timed]
        return self._file(_relation_name(cube, fact), tuple(columns), rows)

    def _file(self, name: str, columns: tuple[Column, ...], rows: Any) -> Relation:
        path = self.folder / f"{name}_{self._serial}.parquet"
        fields = [pa.field(column.name, arrow_type(parse_type(column.type))) for column in columns]
        cells = list(zip(*rows, strict=True)) or [()] * len(columns)
        arrays = [pa.array(values, one.type) for values, one in zip(cells, fields, strict=True)]
        pyarrow.parquet.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), path)
        return Relation(name, "parquet", columns, (), (ScanFile(str(path), (), path.stat().st_size),))


def _relation_name(cube: CubeSchema, fact: str = "") -> str:
    """A plain name for the relation of a cube's base rows, or of those of a fact that merges them."""
    return "".join(char if char.isascii() else "_" for char in f"rows_of_{fact or cube.name}")


def _merging(history: History) -> Iterator[tuple[Model, str]]:
    for model in history.models.values():
        yield from ((model, fact.name) for fact in model.cube.facts if fact.merged)


@dataclass(frozen=True)
class _Asked:
    """What was typed, what a connection answered, and by which plans; ``missing`` is what strictness complained of."""

    text: str
    answer: Rows
    plans: tuple[tuple[ReferencePlan, ...], ...]
    missing: tuple[str, ...]
    plan: Plan


def check(history: History, reference: Reference, question: Question, connection: rewriter.Connection) -> Answer:
    """Asserts that the answer is right where all is there, and with what is there where something is missing.

    Raises ``Wrong``. The connection is strict before and after.
    """
    written = _typed(question)
    try:
        found = _ask(written, connection)
    except Error as error:
        planned = _planned(written, connection)
        if _careless(history, question.query, planned):
            raise Wrong("rollups are to serve what single rows decide", _told(history, written.text)) from error
        return _refused(error, history, reference, question, written.text, planned)
    except Exception as error:
        raise Wrong(f"{type(error).__name__}: {error}", _told(history, written.text)) from error
    sql = ""

    def wrong(kind: str, told: str) -> Wrong:
        return Wrong(kind, f"{told}\n{_told(history, written.text, found.plan.sql, sql)}")

    lacking = found.plan.coverage.missing
    if not set(found.missing) <= set(lacking) or bool(found.missing) != bool(lacking):
        raise wrong("strict and partial answers lack different ranges", str(found.missing))
    if any(isinstance(node, Expr) and node.cuts for node in nodes(question.query)):
        raise wrong("answered, though time_range_in names parts of base periods", "")
    for mention, plans in zip(written.mentions, found.plans, strict=True):
        for one in plans:
            hidden = _hidden(history.models[mention[1].name], mention[1], one)
            if hidden:
                raise wrong("missing, though it is there", hidden)
    sql = meaning(question.query, lambda number, use, cube: _base(history, cube, found.plans[number], use))
    try:
        right = reference.answer(sql)
    except NotSupportedError as error:
        return Answer(f"reference: {error.message}")
    except Error as error:
        raise wrong(f"answered, where the meaning is an error: {type(error).__name__}", str(error)) from error
    if found.answer.columns != right.columns:
        raise wrong("other columns", f"answered: {found.answer.columns}\nexpected: {right.columns}")
    ordered = isinstance(question.query, Select) and bool(question.query.order)
    first, second = normal(found.answer.rows, ordered=ordered), normal(right.rows, ordered=ordered)
    if first != second:
        raise wrong("other rows", difference(first, second))
    return Answer(missing=bool(found.missing), plans=found.plans)


def expected(history: History, reference: Reference, question: Question, connection: rewriter.Connection) -> Rows:
    """The right answer; of what is there, if the connection says that something is missing."""
    plans: tuple[tuple[ReferencePlan, ...], ...] = ()
    missing = False
    with suppress(Exception):
        found = _ask(_typed(question), connection)
        plans, missing = found.plans, bool(found.missing)
    sql = meaning(question.query, lambda number, use, cube: _base(history, cube, plans[number] if plans else (), use))
    return replace(reference.answer(sql), missing=missing)


def _typed(question: Question) -> Written:
    written = asked(question.query)
    return written if question.style is None else formatted(written, random.Random(question.style))


def _ask(written: Written, connection: rewriter.Connection) -> _Asked:
    cursor = connection.cursor()
    missing: tuple[str, ...] = ()
    try:
        cursor.execute(written.text)
    except MissingDataError as error:
        missing = error.missing
        cursor.execute("SET rewriter.partial_data = true")
        try:
            cursor.execute(written.text)
        finally:
            connection.cursor().execute("SET rewriter.partial_data = false")
    plans = _by_mention(written, cursor.plan)
    columns = [(column[0], column[1]) for column in cursor.description or ()]
    return _Asked(written.text, Rows(columns, cursor.fetchall()), plans, missing, cursor.plan)


def _by_mention(written: Written, plan: Plan) -> tuple[tuple[ReferencePlan, ...], ...]:
    by_place: dict[int, list[ReferencePlan]] = {}
    for one in plan.coverage.references:
        by_place.setdefault(one.position.start, []).append(one)
    return tuple(tuple(by_place.get(place, ())) for place, _ in written.mentions)


def _planned(written: Written, connection: rewriter.Connection) -> tuple[tuple[ReferencePlan, ...], ...]:
    """The plans of what an engine refused; none of what the planner did."""
    connection.execute("SET rewriter.partial_data = true")
    try:
        return _by_mention(written, connection.session.plan(written.text))
    except Error:
        return ((),) * len(written.mentions)
    finally:
        connection.execute("SET rewriter.partial_data = false")


def _careless(history: History, query: Query, plans: Sequence[Sequence[ReferencePlan]]) -> bool:
    """Whether rollups are to serve a mention whose single rows decide."""
    uses = expectations(query)
    return any(
        part.period is not history.models[one.cube].cube.base and not any(use.additive for use in uses[number])
        for number, some in enumerate(plans)
        for one in some
        for part in one.parts
    )


def _refused(
    error: Error,
    history: History,
    reference: Reference,
    question: Question,
    text: str,
    plans: Sequence[Sequence[ReferencePlan]],
) -> Answer:
    """A refusal is one where it says so, or where the meaning is an error, too."""
    refusal = f"{error.condition}: {error.message}"
    if isinstance(error, NotSupportedError | ParseError) or refusal.startswith(RIGHT_REFUSALS):
        return Answer(refusal)
    try:
        reference.answer(meaning(question.query, lambda number, use, cube: _base(history, cube, plans[number], use)))
    except Error as other:
        if isinstance(other, type(error)) and not isinstance(error, AnalysisError):
            return Answer(f"both fail: {refusal}")
        raise Wrong(f"the generator made an invalid query: {other}", _told(history, text)) from error
    raise Wrong(f"{type(error).__name__} {error.condition}", f"{error}\n{_told(history, text)}") from error


def _base(history: History, mention: Cube, plans: Sequence[ReferencePlan] = (), use: int = 0) -> str:
    """The base rows that one use of a mention stands for: all in sight of an open range, but for what is missing."""
    model = history.models[mention.name]
    plans = plans[use : use + 1] if len(plans) > 1 else plans
    start, end = model.extent(_candidates(model, mention, plans))
    time = quoted(model.cube.time)
    missing: RangeSet = plans[0].missing if plans else RangeSet.EMPTY
    tests = [f"({time} >= {timestamp(start)} AND {time} < {timestamp(end)})"]
    tests += [f"NOT ({time} >= {timestamp(one.start)} AND {time} < {timestamp(one.end)})" for one in missing]
    facts = {part.fact for plan in plans for part in plan.parts} or {mention.fact}
    merging = [fact.name for fact in model.cube.facts if fact.merged and {fact.name} == facts]
    rows = _relation_name(model.cube, *merging)
    return f"(SELECT * FROM {rows} WHERE {time} IS NULL OR ({' AND '.join(tests)}))"


def _hidden(model: Model, mention: Cube, plan: ReferencePlan) -> str:
    """A partition that fills a part of what a plan calls missing; ``""`` where there is none.

    Asked only where there is one candidate: several facts take turns.
    """
    facts = _candidates(model, mention, [plan])
    if len(facts) != 1:
        return ""
    base = model.cube.base
    present = [(base, ordinal) for ordinal in model.of(facts[0], base)]
    present += [(period, o) for fact, period, o in model.fresh if fact == facts[0] and period in plan.periods]
    for period, ordinal in present:
        one = RangeSet.of(TimeRange(period.start(ordinal), period.end(ordinal)))
        if (one & plan.missing) and not one - plan.wanted:
            return f"{period.name} {one} of {facts[0]}"
    return ""


def _candidates(model: Model, mention: Cube, plans: Sequence[ReferencePlan]) -> list[str]:
    """The facts that carry what is needed."""
    lacking = {cause.candidate for plan in plans for cause in plan.causes if cause.kind.name == "COLUMN_MISSING"}
    facts = [fact.name for fact in model.cube.facts if fact.name == (mention.fact or fact.name)]
    return [fact for fact in facts if fact not in lacking]


def _told(history: History, text: str, plan: str = "", sql: str = "") -> str:
    return f"asked: {text}\nplan: {plan}\nmeaning: {sql}\nhistory:\n" + ";\n".join(history.log)


def difference(first: list[Any], second: list[Any]) -> str:
    """The rows that only one of two answers has."""
    one, other = Counter(map(repr, first)), Counter(map(repr, second))
    surplus, lacking = list((one - other).elements()), list((other - one).elements())
    return f"surplus: {', '.join(surplus[:8])}\nlacking: {', '.join(lacking[:8])}"


def normal(rows: list[tuple[Any, ...]], *, ordered: bool = False) -> list[tuple[Any, ...]]:
    """Rows in a comparable order and form: times in UTC, floating point rounded far below its meaning."""
    found = [tuple(_normal(value) for value in row) for row in rows]
    return found if ordered else sorted(found, key=repr)


def _normal(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, float):
        return float(f"{value:.10g}") + 0.0
    if isinstance(value, Decimal):
        return str(value)
    return value
