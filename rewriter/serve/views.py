"""What the pages show, as JSON values. All is read from snapshots of the catalog; queries are planned and never run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from rewriter.cancellation import Cancellation, cancellable
from rewriter.catalog.model.temporary_views import session_of
from rewriter.display.html.coverage_picture import chart_data
from rewriter.errors import Error, MissingDataError, OperationalError, only_ours, render
from rewriter.planner.cover.fact_chart import fact_chart, query_charts
from rewriter.planner.model.coverage_chart import ChartRow, ChartState, CoverageChart
from rewriter.planner.model.plan import Plan, TableUse, quoted
from rewriter.statements.show.coverage import named_fact_chart
from rewriter.terminal_text import printable
from rewriter.uris import mask_credentials

if TYPE_CHECKING:
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.session import Session

T = TypeVar("T")
Value = Mapping[str, object]

#: Seconds that a query may be planned, that a request waits for others, and that ``close`` waits for a request.
PLANNING, _PATIENCE, _CLOSING = 10.0, 20.0, 1.0
_CANCELED = "OPERATION_CANCELED"
#: The most commits and references to cubes that are shown.
_COMMITS, _COVERS = 50, 20
#: Windows of validity and LATENESS move with the clock: charts are computed again after so many seconds.
_AGE = 60.0
#: The setting by which a query with missing partitions is planned nevertheless.
_PARTIAL = "rewriter.partial_data"
_EXISTING = tuple(state for state in ChartState if state is not ChartState.TAKEN)
_WORK = (ChartState.OUTDATED, ChartState.INCOMPLETE, ChartState.UNPROVEN, ChartState.OPEN)


class Views:
    """The values of the pages. ``open_session`` opens a session whose engine never starts. For any thread.

    All methods raise the errors of the catalog, and ``OperationalError`` SERVER_BUSY where others take too long.
    """

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._read, self._plan = _Shared(open_session), _Shared(open_session)
        #: The last values, by (page, fact), each with the commit that it was read at, and the time.
        self._known: dict[tuple[str, str], tuple[tuple[int, float], Value]] = {}
        #: The session that read them: another catalog may have the same numbers of commits.
        self._known_of: Session | None = None

    def open(self) -> None:
        """Opens the first session. Raises the errors of ``open_session``."""
        self._read.use(lambda session: None)

    def close(self) -> None:
        """Closes the sessions. Idempotent."""
        self._read.close()
        self._plan.close()

    def overview(self, since: str = "") -> Value | None:
        """Returns all facts with their freshness, and the recent commits; ``None`` if they are the facts and commits of
        the version ``since``. O(ranges of all timelines + transactions).
        """
        return self._current(("facts", ""), since, _overview)

    def fact(self, name: str, since: str = "") -> Value | None:
        """Returns the chart of a fact; ``None`` if it is the chart of the version ``since``.

        Raises the errors of ``named_fact_chart``.
        """

        def chart(session: Session, snapshot: Snapshot) -> Value:
            return {"chart": chart_data(named_fact_chart(name, snapshot, session.settings.for_planner()))}

        return self._current(("fact", name), since, chart)

    def query(self, text: str) -> Value:
        """Returns what a query would read: its covers, its tables, its warnings; or its error, with a caret; or both,
        if it fails because partitions are missing.

        Raises ``OperationalError`` PLANNING_TIMEOUT after ``PLANNING`` seconds, as soon as the planner notices.
        """

        def planned(session: Session) -> Value:
            try:
                return _planned(text, session)
            except MissingDataError as error:
                refusal = {"error": render(error, text)}
            except Error as error:
                if _ends_session(error) or error.condition == _CANCELED:
                    raise
                return {"error": render(error, text)}
            setting = session.settings.get(_PARTIAL)
            session.settings.set(_PARTIAL, "true")
            try:
                # As EXPLAIN COVER does.
                return {**_planned(text, session), **refusal}
            except Error:
                return refusal
            finally:
                session.settings.set(_PARTIAL, setting)

        return self._plan.use(planned, PLANNING)

    def _current(self, key: tuple[str, str], since: str, read: Callable[[Session, Snapshot], Value]) -> Value | None:
        def current(session: Session) -> Value | None:
            if session is not self._known_of:
                self._known.clear()
                self._known_of = session
            snapshot = session.snapshot()
            latest = self._known.get(key)
            if latest is None or latest[0][0] != snapshot.sequence or time.monotonic() - latest[0][1] > _AGE:
                value = read(session, snapshot)
                version = f"{snapshot.sequence}.{time.monotonic_ns()}"
                if latest is not None and _unversioned(latest[1]) == value:
                    version = str(latest[1]["version"])
                # Names come from requests: only names of facts are kept, and not many.
                if len(self._known) > 100:
                    self._known.clear()
                latest = (snapshot.sequence, time.monotonic()), {**value, "version": version}
                self._known[key] = latest
            return None if latest[1]["version"] == since else latest[1]

        return self._read.use(current)


def _unversioned(value: Value) -> Value:
    return {key: part for key, part in value.items() if key != "version"}


class _Shared:
    """A session that threads use one after the other."""

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._open = open_session
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._is_closed = False
        self._running = Cancellation()

    def use(self, work: Callable[[Session], T], limit: float | None = None) -> T:
        """Returns what ``work`` makes of the session. A session whose catalog has gone is opened again, once.

        After ``limit`` seconds, ``work`` is canceled.
        """
        if not self._lock.acquire(timeout=_PATIENCE):
            raise OperationalError(
                "Other requests take too long.", condition="SERVER_BUSY", hint="Try again in a moment."
            )
        running = self._running = Cancellation()
        timer = threading.Timer(limit or 0, running.request)
        timer.daemon = True
        if limit is not None:
            timer.start()
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
            if error.condition != _CANCELED or self._is_closed:
                raise
            raise OperationalError(
                f"The query is not planned after {limit:g} seconds.",
                condition="PLANNING_TIMEOUT",
                hint="Ask for a part of it, or write EXPLAIN in the shell, which has no limit.",
            ) from error
        finally:
            timer.cancel()
            self._lock.release()

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
        if self._lock.acquire(timeout=_CLOSING):
            try:
                self._drop()
            finally:
                self._lock.release()


def _ends_session(error: Error) -> bool:
    """Tests whether an error is of a catalog that a session cannot read any more: a new one may."""
    return (error.condition or "").startswith(("CATALOG_", "WAREHOUSE_"))


def _overview(session: Session, snapshot: Snapshot) -> Value:
    settings = session.settings.for_planner()
    facts: list[Value] = []
    for fact in snapshot.facts():
        try:
            facts.append(_fact(fact.cube, fact_chart(fact, snapshot, settings)))
        except Error as error:
            facts.append(
                {
                    "name": quoted(fact.name),
                    "shown": printable(fact.name),
                    "cube": printable(fact.cube),
                    "error": render(error),
                }
            )
    return {"facts": facts, "commits": _commits(snapshot)}


def _fact(cube: str, chart: CoverageChart) -> Value:
    """Returns the line of a fact. Its ``name`` is quoted, as ``Views.fact`` reads it."""
    return {
        "name": quoted(chart.subject),
        "shown": printable(chart.subject),
        "cube": printable(cube),
        "missing": chart.lacking if chart.missing else "",
        "periods": [_period(row, chart) for row in chart.rows],
    }


def _period(row: ChartRow, chart: CoverageChart) -> Value:
    ends = [row.period.start(row.ordinals[state][-1].end) for state in _EXISTING if state in row.ordinals]
    return {
        "table": printable(row.table),
        "period": row.period.name,
        "partitions": row.count(),
        "latest": chart.calendar.text(max(ends)) if ends else "",
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


def _planned(text: str, session: Session) -> Value:
    plan = session.plan(text)
    with only_ours():
        return _plan(plan, session, session.snapshot())


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
        read |= {p.values for p in snapshot.partitions(use.table, use.ranges) if use.keeps(p.values)}
    if use.wanted is not None:
        read |= {partition.values for partition in snapshot.satisfying(use.table, use.wanted)}
    return {"table": name, "read": len(read), "total": total}
