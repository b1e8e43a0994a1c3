"""What the pages show, as JSON values. All is read from snapshots of the catalog; a query runs only where ``Views`` is
told so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import compress, groupby
from typing import TYPE_CHECKING, Any, TypeVar

from rewriter.cancellation import Cancellation, cancellable
from rewriter.catalog.model.objects import TableKind
from rewriter.catalog.model.temporary_views import session_of
from rewriter.display.html.coverage_picture import calendar_data, chart_data, shape_names
from rewriter.display.html.results import result_data
from rewriter.errors import Error, MissingDataError, NotSupportedError, OperationalError, only_ours, render
from rewriter.planner.cover.fact_chart import fact_chart, query_charts
from rewriter.planner.cover.fact_coverage import FactCoverage, Gap, Readable, Readiness
from rewriter.planner.model.coverage_chart import (
    EXISTING_STATES,
    ChartRow,
    ChartState,
    CoverageChart,
    slices_of,
)
from rewriter.planner.model.plan import Plan, TableUse, quoted
from rewriter.statements.show.coverage import named_fact_of
from rewriter.terminal_text import printable
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.uris import mask_credentials

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Fact
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.planner.model.plan import Settings
    from rewriter.session import Session
    from rewriter.timeline.calendars import Period

T = TypeVar("T")
Value = Mapping[str, object]

#: Seconds that a query may be planned and run, that a request waits for others, and that ``close`` waits for a request.
PLANNING, RUNNING, _PATIENCE, _CLOSING = 10.0, 30.0, 20.0, 1.0
_CANCELED = "OPERATION_CANCELED"
#: Seconds between the attempts to cancel what is late.
_PAUSE = 0.1
#: The most commits, references to cubes, rows of a result, gaps and examples that are shown.
_COMMITS, _COVERS, _ROWS, _GAPS, _EXAMPLES = 50, 20, 200, 20, 20
#: The most ranges of a chart.
_RANGES = 10_000
#: The facts of the overview with pictures, the slices of their bars, and the cells of a calendar there and elsewhere.
_DRAWN, _SLICES, _FEW_CELLS, _CELLS = 20, 120, 130, 400
#: Windows of validity and LATENESS move with the clock: charts are computed again after so many seconds.
_AGE = 60.0
#: The setting by which a query with missing partitions is planned nevertheless.
_PARTIAL = "rewriter.partial_data"
_WORK = (
    ChartState.OUTDATED,
    ChartState.INCOMPLETE,
    ChartState.UNPROVEN,
    ChartState.DIFFERING,
    ChartState.OPEN,
)


class Views:
    """The values of the pages. ``open_session`` opens a session that starts no engine but to run a query, where
    ``runs_queries``. For any thread.

    All methods raise the errors of the catalog, and ``OperationalError`` SERVER_BUSY where others take too long.
    """

    def __init__(self, open_session: Callable[[], Session], *, runs_queries: bool = False) -> None:
        # What is due may look at directories: no other page waits for it.
        self._read, self._work = _Remembering(open_session), _Remembering(open_session)
        self._queries = _Shared(open_session)
        self.runs_queries = runs_queries

    def open(self) -> None:
        """Opens the first session. Raises the errors of ``open_session``."""
        self._read.use(lambda session: None)

    def close(self) -> None:
        """Closes the sessions. Idempotent."""
        for shared in (self._read, self._work, self._queries):
            shared.close()

    def overview(self, since: str = "") -> Value | None:
        """Returns all facts with the time that queries can read, and the recent commits; ``None`` if they are the facts
        and commits of the version ``since``. O(ranges of all timelines + transactions).
        """
        return self._read.current("facts", since, _overview)

    def fact(self, name: str, since: str = "") -> Value | None:
        """Returns the chart, the calendar and the gaps of a fact; ``None`` if they are those of the version ``since``.

        Raises the errors of ``named_fact_of``.
        """

        def read(session: Session, snapshot: Snapshot) -> Value:
            fact, settings = named_fact_of(name, snapshot), session.settings.for_planner()
            readiness = FactCoverage(fact, snapshot, settings).readiness()
            chart, is_cut = _bounded_chart(fact, snapshot, settings)
            return {
                "fact": _glance(fact, readiness),
                "chart": chart_data(chart),
                "cut": fact.calendar.text(chart.window.start) if is_cut and chart.window else "",
                "calendar": calendar_data(readiness, fact.base_period, fact.calendar, most=_CELLS),
                "gaps": [_gap(gap, fact) for gap in reversed(readiness.gaps[-_GAPS:])],
                "omitted": max(0, len(readiness.gaps) - _GAPS),
            }

        return self._read.current(f"fact {name}", since, read)

    def calendar(self, name: str, window: TimeRange) -> Value:
        """Returns the calendar and the chart of a part of a fact's time. Raises the errors of ``named_fact_of``."""

        def read(session: Session) -> Value:
            snapshot, settings = session.snapshot(), session.settings.for_planner()
            fact = named_fact_of(name, snapshot)
            readiness = FactCoverage(fact, snapshot, settings).readiness()
            chart, _ = _bounded_chart(fact, snapshot, settings, RangeSet.of(window))
            return {
                "calendar": calendar_data(readiness, fact.base_period, fact.calendar, window, most=_CELLS),
                "chart": chart_data(chart),
            }

        return self._read.use(read)

    def due(self, since: str = "") -> Value | None:
        """Returns what is to be done for all facts, with the statements that do it; ``None`` if it is that of the
        version ``since``. Costs what SHOW … PARTITIONS and MAINTAIN FACT … DRY RUN cost.
        """
        return self._work.current("due", since, _due)

    def examples(self) -> Value:
        """Returns a query for each of the first facts, of time that it can read. Each is planned once, as a test."""
        value = self._read.current("examples", "", _examples)
        return {"runs": self.runs_queries, **(value or {})}

    def query(self, text: str, *, runs: bool = False, partial: bool = False) -> Value:
        """Returns what a query would read: its covers, its tables, its warnings; or its error, with a caret; or both,
        if it fails because partitions are missing. With ``runs``, the first rows besides. ``partial`` tolerates missing
        partitions.

        Raises ``OperationalError`` PLANNING_TIMEOUT after ``PLANNING`` seconds and QUERY_TIMEOUT after ``RUNNING``
        more, as soon as they are noticed.
        """
        started = time.monotonic()
        planned, plan = self._queries.use(
            lambda session: _planned(text, session, partial=partial),
            PLANNING,
            OperationalError(
                f"The query is not planned after {PLANNING:g} seconds.",
                condition="PLANNING_TIMEOUT",
                hint="Ask for a part of it, or write EXPLAIN in the shell, which has no limit.",
            ),
        )
        value = {**planned, "planned": time.monotonic() - started}
        if not runs or plan is None or "error" in value:
            return value
        ran = self._queries.use(
            lambda session: _ran(text, plan, session, partial=partial),
            RUNNING,
            OperationalError(
                f"The query has not ended after {RUNNING:g} seconds.",
                condition="QUERY_TIMEOUT",
                hint="Ask for a part of it, or run it in the shell, which has no limit.",
            ),
        )
        return {**value, **ran}


class _Shared:
    """A session that threads use one after the other."""

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._open = open_session
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._is_closed = False
        self._running = Cancellation()

    def use(
        self, work: Callable[[Session], T], seconds: float | None = None, timeout: OperationalError | None = None
    ) -> T:
        """Returns what ``work`` makes of the session. A session whose catalog has gone is opened again, once.

        After ``seconds``, ``work`` is canceled, and ``timeout`` is raised.
        """
        if not self._lock.acquire(timeout=_PATIENCE):
            raise OperationalError(
                "Other requests take too long.", condition="SERVER_BUSY", hint="Try again in a moment."
            )
        running, ended = Cancellation(), threading.Event()
        self._running = running
        if seconds is not None:
            threading.Thread(target=self._end_late, args=(running, ended, seconds), daemon=True).start()
        try:
            with only_ours(), cancellable(running):
                try:
                    return work(self._opened())
                except Error as error:
                    if not _ends_session(error):
                        raise
                    self._drop()
                return work(self._opened())
        except OperationalError as error:
            if error.condition != _CANCELED or self._is_closed or timeout is None:
                raise
            raise timeout from error
        finally:
            ended.set()
            self._lock.release()

    def _end_late(self, running: Cancellation, ended: threading.Event, seconds: float) -> None:
        """Cancels a use that has not ended in time: also the statement that its session begins after that."""
        if ended.wait(seconds):
            return
        running.request()
        while not ended.wait(_PAUSE):
            self._cancel_statement()

    def _cancel_statement(self) -> None:
        if session := self._session:
            with suppress(Error):
                session.cancel()

    def _opened(self) -> Session:
        if self._is_closed:
            raise OperationalError("The server stops.", condition="SERVER_BUSY", hint="Start it again.")
        if self._session is None:
            self._session = self._open()
        return self._session

    def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with suppress(Error):
                session.close()

    def close(self) -> None:
        """Cancels the current use and closes the session after it; leaves it to the end of the process if that takes
        long.
        """
        self._is_closed = True
        self._running.request()
        self._cancel_statement()
        if self._lock.acquire(timeout=_CLOSING):
            try:
                self._drop()
            finally:
                self._lock.release()


class _Remembering(_Shared):
    """A shared session, and the last values that were read by it, with their versions."""

    def __init__(self, open_session: Callable[[], Session]) -> None:
        super().__init__(open_session)
        #: By key: the commit that a value was read at, the time, and the value.
        self._known: dict[str, tuple[int, float, Value]] = {}
        #: The session that read them: another catalog may have the same numbers of commits.
        self._known_of: Session | None = None

    def current(self, key: str, since: str, read: Callable[[Session, Snapshot], Value]) -> Value | None:
        """Returns a value with its version; ``None`` if that is ``since``. It is read again after a commit, and after
        ``_AGE`` seconds, and has another version only if it is another one.
        """

        def latest(session: Session) -> Value | None:
            if session is not self._known_of:
                self._known.clear()
                self._known_of = session
            snapshot, known = session.snapshot(), self._known.get(key)
            if known is None or known[0] != snapshot.sequence or time.monotonic() - known[1] > _AGE:
                value = read(session, snapshot)
                version = f"{snapshot.sequence}.{time.monotonic_ns()}"
                if known is not None and {**known[2], "version": ""} == {**value, "version": ""}:
                    version = str(known[2]["version"])
                # Names come from requests: only names of facts are kept, and not many.
                if len(self._known) > 100:
                    self._known.clear()
                known = snapshot.sequence, time.monotonic(), {**value, "version": version}
                self._known[key] = known
            return None if known[2]["version"] == since else known[2]

        return self.use(latest)


def _ends_session(error: Error) -> bool:
    """Tests whether an error is of a catalog that a session cannot read any more: a new one may."""
    return (error.condition or "").startswith(("CATALOG_", "WAREHOUSE_"))


def _overview(session: Session, snapshot: Snapshot) -> Value:
    settings = session.settings.for_planner()
    facts: list[Value] = []
    for number, fact in enumerate(snapshot.facts()):
        try:
            readiness = FactCoverage(fact, snapshot, settings).readiness()
            chart = fact_chart(fact, snapshot, settings)
            facts.append(
                {
                    **_glance(fact, readiness),
                    "missing": chart.lacking if chart.missing else "",
                    "line": _readable_runs(readiness, chart.window) if number < _DRAWN else [],
                    "ends": [chart.calendar.text(at) for at in (chart.window.start, chart.window.end)]
                    if chart.window
                    else [],
                    "periods": [_period(row, chart, is_drawn=number < _DRAWN) for row in chart.rows],
                    "calendar": calendar_data(readiness, fact.base_period, fact.calendar, most=_FEW_CELLS)
                    if number < _DRAWN
                    else None,
                }
            )
        except Error as error:
            facts.append({**_names(fact), "error": render(error)})
    return {"facts": facts, "states": shape_names(), "commits": _commits(snapshot)}


def _names(fact: Fact) -> dict[str, object]:
    """Returns the names of a fact. The first one is quoted, as ``Views.fact`` reads it."""
    return {"name": quoted(fact.name), "shown": printable(fact.name), "cube": printable(fact.cube)}


def _glance(fact: Fact, readiness: Readiness) -> Value:
    """Returns how much of a fact can be read, in base periods."""
    times = {
        Readable.WHOLE: readiness.whole,
        Readable.PARTLY: readiness.partly,
        Readable.NOT: readiness.asked - readiness.whole - readiness.partly,
    }
    return {
        **_names(fact),
        "state": (readiness.readable() or Readable.NOT).value,
        "time": fact.calendar.shown(readiness.asked) if readiness.asked else "",
        "zone": fact.calendar.zone,
        "base": fact.base_period.name,
        "counts": {state.value: _count_periods(fact.base_period, time) for state, time in times.items()},
    }


def _count_periods(period: Period, time: RangeSet) -> int:
    firsts = period.ordinals(range_.start for range_ in time)
    lasts = period.ordinals(range_.end - 1 for range_ in time)
    return sum(lasts) - sum(firsts) + len(lasts)


def _bounded_chart(
    fact: Fact, snapshot: Snapshot, settings: Settings, requested: RangeSet | None = None
) -> tuple[CoverageChart, bool]:
    """Returns the chart of a fact, and whether it begins later than asked, because it would have too many ranges."""
    chart = fact_chart(fact, snapshot, settings, requested)
    starts = [row.period.starts(run.start for run in runs) for row in chart.rows for runs in row.ordinals.values()]
    starts.append([range_.start for range_ in chart.missing])
    instants = sorted(instant for each in starts for instant in each)
    if len(instants) <= _RANGES or chart.window is None:
        return chart, False
    newest = RangeSet.of(TimeRange(instants[-_RANGES], chart.window.end))
    return fact_chart(fact, snapshot, settings, newest), True


def _gap(gap: Gap, fact: Fact) -> Value:
    return {"time": fact.calendar.shown(gap.time), "state": gap.readable.value, "reason": printable(gap.reason)}


def _readable_runs(readiness: Readiness, window: TimeRange | None) -> list[tuple[str, int]]:
    """Returns how much of the slices of a bar can be read, as runs of slices."""
    slices = [] if window is None else slices_of(window, _SLICES)
    states = (readiness.readable(slice_.ranges[0]) for slice_ in slices)
    return [(state.value if state else "", len(list(run))) for state, run in groupby(states)]


def _period(row: ChartRow, chart: CoverageChart, *, is_drawn: bool) -> Value:
    """Returns the line of a table and period. Its bar is runs of slices: (state, whether all of it, slices)."""
    ends = [row.period.start(row.ordinals[state][-1].end) for state in EXISTING_STATES if state in row.ordinals]
    slices = row.slices(chart.window, _SLICES) if is_drawn and chart.window is not None else []
    return {
        "table": printable(row.table),
        "period": row.period.name,
        "partitions": row.count(),
        "latest": chart.calendar.text(max(ends)) if ends else "",
        "bar": [(state.value if state else "", whole, len(list(run))) for (state, whole), run in groupby(slices)],
        **{state.value: row.count(state) for state in _WORK},
    }


def _commits(snapshot: Snapshot) -> list[Value]:
    """Returns the newest commits, the newest first, with what they wrote as far as it still exists."""
    named = (snapshot.tables(), snapshot.views(), snapshot.cubes(), snapshot.facts(), snapshot.functions())
    kinds = (*named, snapshot.databases())
    names = {
        object_.id: object_.name
        for kind in kinds
        for object_ in kind
        if session_of(object_.name) is None and object_.id
    }
    committed = [record for record in snapshot.transaction_records() if record.commit is not None]
    committed.sort(key=lambda record: -(record.commit or 0))
    return [
        {
            "commit": record.commit,
            "ended": datetime.fromtimestamp(record.heartbeat_at, UTC).isoformat(" ", "seconds"),
            "objects": printable(", ".join(sorted(names[id_] for id_ in record.objects if id_ in names))),
        }
        for record in committed[:_COMMITS]
    ]


# What is due.

#: The lists of SHOW … PARTITIONS, in the order in which they are worked off.
_LISTS = ("MISSING", "OUTDATED", "UNPROVEN", "NARROW")


def _due(session: Session, snapshot: Snapshot) -> Value:
    work: list[Value] = []
    for fact in snapshot.facts():
        try:
            work += ({**_names(fact), **item} for item in _due_of(fact, session))
        except Error as error:
            work.append({**_names(fact), "error": render(error)})
    return {"due": work}


def _due_of(fact: Fact, session: Session) -> Iterator[Value]:
    """Yields the work on a fact, one item for each table, period, state and action."""
    name = quoted(fact.name)
    for state in _LISTS:
        rows = session.execute(f"SHOW {state} PARTITIONS OF {name}").fetch()
        for (table, period, action), listed in _grouped(rows, lambda row: (row[0], row[1], row[5])):
            yield {
                **_work_item(state.lower(), table, period, [(row[2], row[3], row[4]) for row in listed]),
                **_mended(action, state, name, quoted(table)),
            }
    if any(table.retain is not None for table in fact.tables):
        steps = session.execute(f"MAINTAIN FACT {name} DRY RUN").fetch()
        for (table, period), listed in _grouped(
            [row for row in steps if row[0] == "retain" and row[7] == "to drop"], lambda row: (row[1], row[2])
        ):
            item = _work_item("kept too long", table, period, [(row[3], row[4], row[5]) for row in listed])
            yield {**item, "statement": f"MAINTAIN FACT {name}"}


def _grouped(
    rows: Iterable[tuple[Any, ...]], key: Callable[[tuple[Any, ...]], tuple[str, ...]]
) -> Iterable[tuple[tuple[str, ...], list[tuple[Any, ...]]]]:
    """Returns the rows of each key, in the order in which the keys come."""
    groups: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups.items()


def _work_item(state: str, table: str, period: str, ranges: list[tuple[str, str, int]]) -> Value:
    """Returns an item of work on some ranges, each with its number of periods."""
    first, last, total = min(ranges), max(ranges), sum(count for _, _, count in ranges)
    return {
        "state": state,
        "table": printable(table),
        "periods": f"{total:,} {period} {'period' if total == 1 else 'periods'}",
        "time": f"[{first[0]}, {last[1]})" + (f", {len(ranges):,} ranges" if len(ranges) > 1 else ""),
    }


def _mended(action: str, state: str, fact: str, table: str) -> Value:
    """Returns the statement for an action of a work list, and what has to come before it."""
    match action:
        case "wait":
            return {"statement": "", "first": "A stream fills them."}
        case "load":
            return {"statement": f"INSERT {'INTO' if state == 'MISSING' else 'OVERWRITE'} {table} …"}
        case _:
            first, _, last = action.rpartition(", then ")
            statement = f"CHECK FACT {fact} ACCEPT" if last == "check" else f"REFRESH FACT {fact}"
            return {"statement": statement, "first": "Load their base first." if first else ""}


# Queries: examples, plans and rows.

#: The unit in which an example groups, by the base period, and the most units of it.
_EXAMPLE_UNITS = {
    UpdatePeriod.MINUTELY: UpdatePeriod.HOURLY,
    UpdatePeriod.HOURLY: UpdatePeriod.DAILY,
    UpdatePeriod.DAILY: UpdatePeriod.DAILY,
}
_UNIT_WORDS = {
    UpdatePeriod.HOURLY: "HOUR",
    UpdatePeriod.DAILY: "DAY",
    UpdatePeriod.WEEKLY: "WEEK",
    UpdatePeriod.MONTHLY: "MONTH",
    UpdatePeriod.QUARTERLY: "QUARTER",
    UpdatePeriod.YEARLY: "YEAR",
}
_EXAMPLE_LENGTH, _EXAMPLE_MEASURES = 7, 3


def _examples(session: Session, snapshot: Snapshot) -> Value:
    examples: list[Value] = []
    for fact in snapshot.facts()[:_EXAMPLES]:
        for text in _example_texts(fact, snapshot, FactCoverage(fact, snapshot, session.settings.for_planner())):
            with suppress(Error):
                session.plan(text)
                examples.append({**_names(fact), "sql": text})
                break
    return {"examples": examples}


def _example_texts(fact: Fact, snapshot: Snapshot, coverage: FactCoverage) -> Iterator[str]:
    """Yields queries of the newest time that a fact can read, the best first."""
    cube, readiness = snapshot.cube(fact.cube), coverage.readiness()
    carried, base = cube.columns_in(fact.columns), fact.base_period
    # Bitmaps, sketches and last values are shown by longer queries.
    numbers = [measure for measure in cube.measures if not measure.keys and measure.precision is None]
    plain = [measure for measure in numbers if measure.name.lower() in carried]
    measures = plain[:_EXAMPLE_MEASURES]
    values = [
        f"{measure.aggregate.rollup_function}({quoted(measure.name)}) AS {quoted(measure.name)}" for measure in measures
    ] or ["COUNT(*) AS rows"]
    column, calendar = quoted(cube.times[0]), fact.calendar
    unit_kind = _EXAMPLE_UNITS.get(base.kind, base.kind)
    unit = calendar.of(unit_kind)
    word = _UNIT_WORDS[unit_kind]
    grouped = f"date_trunc('{word}', {column})"
    lines = ",\n       ".join([f"{grouped} AS {word.lower()}_of", *values])

    def source(start: int, end: int) -> str:
        time = f"time_range_in({column}, '{calendar.text(start)}', '{calendar.text(end)}')"
        return f"FROM {quoted(fact.cube)}\nWHERE {time}"

    for newest in readiness.whole.ranges[-1:]:
        start = max(newest.start, unit.start(unit.ordinal(newest.end - 1) + 1 - _EXAMPLE_LENGTH))
        yield f"SELECT {lines}\n{source(start, newest.end)}\nGROUP BY {grouped}\nORDER BY {word.lower()}_of"
    for newest in (*readiness.partly.ranges[-1:], *readiness.whole.ranges[-1:]):
        yield f"SELECT {', '.join(values)}\n{source(newest.start, newest.end)}"


@contextmanager
def _tolerating(session: Session, partial: bool) -> Iterator[None]:
    """Lets the queries of a session read what exists, with ``partial``."""
    setting = session.settings.get(_PARTIAL)
    if partial:
        session.settings.set(_PARTIAL, "true")
    try:
        yield
    finally:
        session.settings.set(_PARTIAL, setting)


def _planned(text: str, session: Session, *, partial: bool) -> tuple[Value, Plan | None]:
    """Returns a query as the page shows it, with its plan: or its error, or both where partitions are missing, as
    EXPLAIN COVER does.
    """
    try:
        with _tolerating(session, partial):
            plan = session.plan(text)
            return _plan(plan, session, session.snapshot()), plan
    except Error as error:
        refusal = _refusal(error, text)
        if not isinstance(error, MissingDataError):
            return refusal, None
    with suppress(Error), _tolerating(session, partial=True):
        plan = session.plan(text)
        return {**_plan(plan, session, session.snapshot()), **refusal}, plan
    return refusal, None


def _refusal(error: Error, text: str) -> Value:
    """Returns an error of a query with its place in the text, in units of UTF-16. Raises an error that is not of the
    query.
    """
    if _ends_session(error) or error.condition == _CANCELED:
        raise error
    span = error.position
    place = {} if span is None else {"place": [_utf16_length(text[:at]) for at in (span.start, span.end)]}
    missing = [printable(range_) for range_ in error.missing[:_GAPS]] if isinstance(error, MissingDataError) else []
    return {"error": render(error, text), "missing": missing, **place}


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _ran(text: str, plan: Plan, session: Session, *, partial: bool) -> Value:
    """Returns the first rows of a query, whose plan reads tables of the catalog, or its error."""
    started = time.monotonic()
    try:
        _check_runnable(plan, session)
        with _tolerating(session, partial):
            result = session.execute(text)
            try:
                rows = result_data(result, _ROWS)
            finally:
                result.close()
    except Error as error:
        return _refusal(error, text)
    return {"result": rows, "elapsed": time.monotonic() - started}


def _check_runnable(plan: Plan, session: Session) -> None:
    """Raises ``NotSupportedError`` NOT_SERVED for a query that reads files by their path, or would run on a cluster:
    readers of the pages may read the tables of the catalog, and no more.
    """
    outside = [use.table.name for use in plan.uses if use.table.kind in (TableKind.FILES, TableKind.SOURCE)]
    if outside or session.execute("SHOW CLUSTERS").fetch():
        what = f"reads {outside[0]}, which is not a table of the catalog" if outside else "would run on a cluster"
        raise NotSupportedError(
            f"The query {what}.", condition="NOT_SERVED", hint="The page shows its plan. Run it in the shell."
        )


def _plan(plan: Plan, session: Session, snapshot: Snapshot) -> Value:
    charts = query_charts(plan.coverage, snapshot, session.settings.for_planner())
    return {
        "covers": [chart_data(chart) for chart in charts[:_COVERS]],
        "omitted": max(0, len(charts) - _COVERS),
        "tables": [_table(use, snapshot) for use in plan.uses],
        "warnings": [printable(mask_credentials(warning)) for warning in plan.warnings],
        "sql": printable(mask_credentials(plan.sql)),
    }


def _table(use: TableUse, snapshot: Snapshot) -> Value:
    """Returns how many partitions of a table are read, of how many; without numbers for what the catalog does not have.

    Conditions that only an engine can compute may leave fewer.
    """
    name = printable(use.table.name)
    if not use.table.kind.is_in_catalog or not use.table.partition_columns:
        return {"table": name}
    total = snapshot.partition_count(use.table)
    if use.ranges is None and use.wanted is None:
        return {"table": name, "read": total, "total": total}
    read = set()
    if use.ranges:
        values = [partition.values for partition in snapshot.partitions(use.table, use.ranges)]
        read |= set(compress(values, use.kept(values)))
    if use.wanted is not None:
        read |= {partition.values for partition in snapshot.satisfying(use.table, use.wanted)}
    return {"table": name, "read": len(read), "total": total}
