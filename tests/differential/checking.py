"""Runs a query over a history and compares the result with that of plain SQL over the model's base rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import rewriter
from rewriter.errors import AnalysisError, Error, MissingDataError, NotSupportedError, ParseError
from rewriter.planner.model.plan import Plan, ReferencePlan
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

from .formatting import formatted
from .histories import History
from .model import Model
from .periods import Period
from .queries import Cube, Expr, Query, Select, Written, asked, expectations, meaning, nodes
from .ranges import timestamp
from .reference import Reference, Rows, relation_name
from .schemas import CubeSchema, FactSchema, quoted

#: Correct refusals: no fact has the columns, or a range of ``time_range_in`` cuts periods. The last two are plain
#: Spark's, for queries that DuckDB can run.
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
    """The result of a query. ``refusal`` is the reason if there is none; ``plans`` has one plan for each reference to a
    cube.
    """

    refusal: str = ""
    missing: bool = False
    plans: tuple[tuple[ReferencePlan, ...], ...] = ()

    @property
    def right(self) -> bool:
        """True if it has a result, or could not have one."""
        return not self.refusal or self.refusal.startswith(RIGHT_REFUSALS)


class Wrong(AssertionError):
    """A result that differs from that of the base rows, or an exception that is not ours. ``kind`` distinguishes
    them.
    """

    def __init__(self, kind: str, told: str) -> None:
        super().__init__(f"{kind}\n{told}")
        self.kind = kind


@dataclass(frozen=True)
class _Asked:
    """The text of a query, its result and its plans; ``missing`` is the range that strict mode reported."""

    text: str
    answer: Rows
    plans: tuple[tuple[ReferencePlan, ...], ...]
    missing: tuple[str, ...]
    plan: Plan


def check(
    history: History,
    reference: Reference,
    question: Question,
    connection: rewriter.Connection,
    *,
    frames: bool = False,
) -> Answer:
    """Asserts that the result is correct if all partitions exist, and correct for the existing ones if some are
    missing.

    With ``frames``, a DataFrame of the query has to have the same rows. Raises ``Wrong``. The connection is strict
    before and after.
    """
    written = _typed(question)
    ordered = isinstance(question.query, Select) and bool(question.query.order)
    try:
        outcome = _ask(written, connection)
        if frames:
            framed = _frame_rows(written.text, connection, partial=bool(outcome.missing))
            first, second = _loose(framed, ordered=ordered), _loose(outcome.answer.rows, ordered=ordered)
            if first != second:
                raise Wrong("the DataFrame has other rows", difference(first, second))
    except Wrong:
        raise
    except Error as error:
        planned = _planned(written, connection)
        if _careless(history, question.query, planned):
            raise Wrong("rollups are to serve what single rows decide", _told(history, written.text)) from error
        return _refused(error, history, reference, question, written.text, planned)
    except Exception as error:
        raise Wrong(f"{type(error).__name__}: {error}", _told(history, written.text)) from error
    sql = ""

    def wrong(kind: str, told: str) -> Wrong:
        return Wrong(kind, f"{told}\n{_told(history, written.text, outcome.plan.sql, sql)}")

    lacking = outcome.plan.coverage.missing
    if not set(outcome.missing) <= set(lacking) or bool(outcome.missing) != bool(lacking):
        raise wrong("strict and partial answers lack different ranges", str(outcome.missing))
    if any(isinstance(node, Expr) and node.cuts for node in nodes(question.query)):
        raise wrong("answered, though time_range_in names parts of base periods", "")
    for mention, plans in zip(written.mentions, outcome.plans, strict=True):
        for plan in plans:
            hidden = _hidden(history.models[mention[1].name], mention[1], plan)
            if hidden:
                raise wrong("missing, though it is there", hidden)
            elsewhere = _closed_elsewhere(history.models[mention[1].name], mention[1], plan)
            if elsewhere:
                raise wrong("an open end was closed elsewhere", elsewhere)
            unfinished = _unfinished(history.models[mention[1].name], plan)
            if unfinished:
                raise wrong("read, though it is not there as a whole", unfinished)
    sql = meaning(question.query, lambda number, use, cube: _base(history, cube, outcome.plans[number], use))
    try:
        right = reference.answer(sql)
    except NotSupportedError as error:
        return Answer(f"reference: {error.message}")
    except Error as error:
        raise wrong(f"answered, where the meaning is an error: {type(error).__name__}", str(error)) from error
    if outcome.answer.columns != right.columns:
        raise wrong("other columns", f"answered: {outcome.answer.columns}\nexpected: {right.columns}")
    first, second = normal(outcome.answer.rows, ordered=ordered), normal(right.rows, ordered=ordered)
    if first != second:
        raise wrong("other rows", difference(first, second))
    return Answer(missing=bool(outcome.missing), plans=outcome.plans)


def check_states(history: History) -> None:
    """Asserts that doubtful rollups are not fresh, and that those are which certainly say what the base says."""
    snapshot = history.connection.session.catalog.snapshot()
    lines = {
        (stored.table, period.kind): snapshot.timeline(stored.table, period, stored.time)
        for fact in snapshot.facts()
        for stored in fact.tables
        for period in stored.layouts
    }
    for model in history.models.values():
        facts = {fact.name: fact for fact in model.cube.facts}
        for wanted, places in ((True, model.fresh), (False, model.doubtful)):
            for name, period, ordinal in places:
                if lines[facts[name].table(period), period.kind].exists(ordinal) is not wanted:
                    told = f"{period.name} {period.start(ordinal)} of {name} is {'not ' * wanted}fresh"
                    raise Wrong("another freshness", _told(history, told))


def expected(history: History, reference: Reference, question: Question, connection: rewriter.Connection) -> Rows:
    """Returns the correct result; that of the existing partitions if the connection reports missing ones."""
    plans: tuple[tuple[ReferencePlan, ...], ...] = ()
    missing = False
    with suppress(Exception):
        outcome = _ask(_typed(question), connection)
        plans, missing = outcome.plans, bool(outcome.missing)
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


def _frame_rows(text: str, connection: rewriter.Connection, *, partial: bool) -> list[tuple[Any, ...]]:
    """Returns the rows of a query as pandas has them. Its times are those of the clock of the Spark session."""
    connection.execute(f"SET rewriter.partial_data = {str(partial).lower()}")
    try:
        frame = connection.sql(text)
        zone = ZoneInfo(frame.sparkSession.conf.get("spark.sql.session.timeZone"))
        rows = frame.toPandas().itertuples(index=False, name=None)
    finally:
        connection.execute("SET rewriter.partial_data = false")
    return [tuple(_in_zone(value, zone) for value in row) for row in rows]


def _in_zone(value: Any, zone: ZoneInfo) -> Any:
    has_clock = isinstance(value, datetime) and value == value and value.tzinfo is None
    return value.replace(tzinfo=zone) if has_clock else value


def _loose(rows: Sequence[tuple[Any, ...]], *, ordered: bool) -> list[tuple[Any, ...]]:
    """Returns rows in a form that survives pandas: a column of integers with NULL has floats there, and NULL is NaN."""

    def loose(value: Any) -> Any:
        if value is None or value != value:
            return None
        return float(value) if isinstance(value, int | float | Decimal) else value

    return normal(
        [tuple(loose(getattr(value, "item", lambda v=value: v)()) for value in row) for row in rows], ordered=ordered
    )


def _by_mention(written: Written, plan: Plan) -> tuple[tuple[ReferencePlan, ...], ...]:
    by_place: dict[int, list[ReferencePlan]] = {}
    for reference in plan.coverage.references:
        by_place.setdefault(reference.position.start, []).append(reference)
    return tuple(tuple(by_place.get(position, ())) for position, _ in written.mentions)


def _planned(written: Written, connection: rewriter.Connection) -> tuple[tuple[ReferencePlan, ...], ...]:
    """Returns the plans of a query that an engine refused, and none if the planner refused it."""
    connection.execute("SET rewriter.partial_data = true")
    try:
        return _by_mention(written, connection.session.plan(written.text))
    except Error:
        return ((),) * len(written.mentions)
    finally:
        connection.execute("SET rewriter.partial_data = false")


def _careless(history: History, query: Query, plans: Sequence[Sequence[ReferencePlan]]) -> bool:
    """Returns True if rollups should serve a mention whose single rows matter.

    Queries of several cubes are not judged: the rows of one may matter in a block where those of another do not.
    """
    uses, mentions = expectations(query), asked(query).mentions
    return len(mentions) == 1 and any(
        part.period.kind is not base_period(history.models[plan.cube].cube, mentions[number][1], [plan]).kind
        and not any(use.additive for use in uses[number])
        for number, some in enumerate(plans)
        for plan in some
        for part in plan.parts
    )


def _refused(
    error: Error,
    history: History,
    reference: Reference,
    question: Question,
    text: str,
    plans: Sequence[Sequence[ReferencePlan]],
) -> Answer:
    """Checks a refusal. It is correct if its condition says so, or if the meaning is an error, too."""
    refusal = f"{error.condition}: {error.message}"
    if isinstance(error, NotSupportedError | ParseError) or refusal.startswith(RIGHT_REFUSALS):
        return Answer(refusal)
    try:
        reference.answer(meaning(question.query, lambda number, use, cube: _base(history, cube, plans[number], use)))
    except Error as failure:
        if isinstance(failure, type(error)) and not isinstance(error, AnalysisError):
            return Answer(f"both fail: {refusal}")
        raise Wrong(f"the generator made an invalid query: {failure}", _told(history, text)) from error
    raise Wrong(f"{type(error).__name__} {error.condition}", f"{error}\n{_told(history, text)}") from error


def _base(history: History, mention: Cube, plans: Sequence[ReferencePlan] = (), use: int = 0) -> str:
    """Returns the base rows of one use of a mention: all rows of an open range's extent, without the missing ones."""
    model = history.models[mention.name]
    plans = plans[use : use + 1] if len(plans) > 1 else plans
    facts = candidates(model.cube, mention, plans)
    start, end = model.extent(facts)
    time = quoted(model.cube.time)
    missing: RangeSet = plans[0].missing if plans else RangeSet.EMPTY
    # Beyond an open end there are no rows, and no end that could be written.
    missing = missing & RangeSet.of_bounds([(start, end)] if start < end else [])
    tests = [f"({time} >= {timestamp(start)} AND {time} < {timestamp(end)})"]
    tests += [f"NOT ({time} >= {timestamp(gap.start)} AND {time} < {timestamp(gap.end)})" for gap in missing]
    # The base rows are those of the fact that is read alone, if it begins with the finest period.
    read = {part.fact for plan in plans for part in plan.parts} or {mention.fact}
    base = base_period(model.cube, mention, plans)
    alone = [f for f in facts if f.base is base and (f in model.cube.coarse or (f.merged and {f.name} == read))]
    rows = relation_name(model.cube, *alone)
    # No window contains a row without a time. A query that is not additive reads one fact with the finest base.
    mixed = not any(plan.reasons for plan in plans)
    timeless = any(fact.window == (None, None) for fact in facts if mixed or fact.base is base)
    chosen = [f"({' AND '.join(tests)})", *([f"{time} IS NULL"] if timeless else [])]
    return f"(SELECT * FROM {rows} WHERE {' OR '.join(chosen)})"


def _hidden(model: Model, mention: Cube, plan: ReferencePlan) -> str:
    """Returns a partition that fills a part of a range that a plan calls missing, or ``""``.

    This is checked only for a single candidate, because several facts take turns. Overlapping weeks and months take
    turns, too: one of these must be missing as a whole.
    """
    facts = candidates(model.cube, mention, [plan])
    if len(facts) != 1:
        return ""
    fact = facts[0]
    allowed = {period.kind for period in plan.periods}
    present = [(fact.base, ordinal) for ordinal in model.valid(fact, fact.base)]
    fresh = [(period, o) for name, period, o in model.fresh if name == fact.name and period.kind in allowed]
    present += [(period, o) for period, o in fresh if fact.is_valid(period, o)]
    crossing = UpdatePeriod.WEEKLY in allowed and max(allowed) > UpdatePeriod.WEEKLY
    for period, ordinal in present:
        stretch = RangeSet.of(TimeRange(period.start(ordinal), period.end(ordinal)))
        room = plan.missing if crossing and period.kind >= UpdatePeriod.WEEKLY else plan.requested
        if (stretch & plan.missing) and not stretch - room:
            return f"{period.name} {stretch} of {fact.name}"
    return ""


def _closed_elsewhere(model: Model, mention: Cube, plan: ReferencePlan) -> str:
    """Returns an open end that the plan does not place where the existing partitions begin or end, or ``""``."""
    extent = model.extent(candidates(model.cube, mention, [plan]))
    told = (plan.open_begin, plan.open_end)
    wrong = [end for end, right in zip(told, extent, strict=True) if end is not None and end.at != right]
    return f"{wrong} instead of {extent}" if wrong else ""


def _unfinished(model: Model, plan: ReferencePlan) -> str:
    """Returns a period that a plan reads and that is not complete, not valid or not proven, or ``""``."""
    facts = {fact.name: fact for fact in model.cube.facts}
    for part in plan.parts:
        period = facts[part.fact].of_kind(part.period.kind)
        narrow = next((narrow for narrow in facts[part.fact].narrow if narrow.table == part.table), None)
        there = model.valid(facts[part.fact], period) if narrow is None else model.narrow.get(part.table, set())
        lacking = [o for ordinals in part.ranges for o in range(ordinals.start, ordinals.end) if o not in there]
        lacking += [
            o
            for ordinals in part.ranges
            for o in range(ordinals.start, ordinals.end)
            if narrow is None and (part.fact, period, o) in model.doubtful
        ]
        if lacking:
            return f"{period.name} {period.start(lacking[0])} of {part.fact}"
    return ""


def base_period(cube: CubeSchema, mention: Cube, plans: Sequence[ReferencePlan]) -> Period:
    """Returns the finest period of all facts that carry the needed columns. Its rows are the meaning of a mention."""
    return min((fact.base for fact in candidates(cube, mention, plans)), default=cube.base)


def candidates(cube: CubeSchema, mention: Cube, plans: Sequence[ReferencePlan]) -> list[FactSchema]:
    """Returns the facts that carry the needed columns. A fact with all columns and times is always one of them."""
    everything = {column.name for column in cube.columns}
    lacking = {cause.candidate for plan in plans for cause in plan.causes if cause.kind.name == "COLUMN_MISSING"}
    facts = [fact for fact in cube.facts if fact.name == (mention.fact or fact.name)]
    return [fact for fact in facts if fact.name not in lacking or (not fact.partial and everything <= {*fact.columns})]


def _told(history: History, text: str, plan: str = "", sql: str = "") -> str:
    return f"asked: {text}\nplan: {plan}\nmeaning: {sql}\nhistory:\n" + ";\n".join(history.log)


def difference(first: list[Any], second: list[Any]) -> str:
    """Returns the rows that only one of two results has."""
    counted_first, counted_second = Counter(map(repr, first)), Counter(map(repr, second))
    surplus, lacking = (
        list((counted_first - counted_second).elements()),
        list((counted_second - counted_first).elements()),
    )
    return f"surplus: {', '.join(surplus[:8])}\nlacking: {', '.join(lacking[:8])}"


def normal(rows: list[tuple[Any, ...]], *, ordered: bool = False) -> list[tuple[Any, ...]]:
    """Returns rows in a comparable order and form: times in UTC, floating point rounded far below its precision."""
    comparable = [tuple(_normal(value) for value in row) for row in rows]
    return comparable if ordered else sorted(comparable, key=repr)


def _normal(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, float):
        return float(f"{value:.10g}") + 0.0
    if isinstance(value, Decimal):
        return str(value)
    return value
