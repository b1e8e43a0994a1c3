"""Dagster: a fact's periods as partitions definitions, and the keys of the partitions that its work lists contain.

``pip install 'rewriter[dagster]'``. ``docs/how-to/scheduling.md`` has an asset and a sensor that use both functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rewriter.catalog.model.objects import DEFAULT_DATABASE, Fact
from rewriter.errors import InterfaceError
from rewriter.grammar.families.timelines import ShowWork
from rewriter.grammar.terms import Literal, Name, parse_name
from rewriter.grammar.unparse import render
from rewriter.runtime.statement_context import single
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.time_bounds import earlier, resolve_bound

if TYPE_CHECKING:
    from dagster import TimeWindowPartitionsDefinition

    from rewriter.session import Session
    from rewriter.timeline.calendars import Calendar, Period

#: The schedule of each kind of period, and the form of its keys: as in Dagster's own definitions, weeks from Monday.
_SCHEDULES = {
    UpdatePeriod.MINUTELY: ("* * * * *", "%Y-%m-%d-%H:%M"),
    UpdatePeriod.HOURLY: ("0 * * * *", "%Y-%m-%d-%H:%M"),
    UpdatePeriod.DAILY: ("0 0 * * *", "%Y-%m-%d"),
    UpdatePeriod.WEEKLY: ("0 0 * * 1", "%Y-%m-%d"),
    UpdatePeriod.MONTHLY: ("0 0 1 * *", "%Y-%m-%d"),
    UpdatePeriod.QUARTERLY: ("0 0 1 1,4,7,10 *", "%Y-%m-%d"),
    UpdatePeriod.YEARLY: ("0 0 1 1 *", "%Y-%m-%d"),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def partitions_definition(
    session: Session, fact: str, table: str, start: str, *, period: str | None = None
) -> TimeWindowPartitionsDefinition:
    """Returns the periods of a storage table as Dagster's partitions, beginning with the first that starts at ``start``
    or later: a bound as in ``time_range_in``, such as ``'2024-01-01'`` or ``'now.day - 90 days'``.

    Hours and minutes follow UTC; days and longer periods follow the cube's zone, weeks from Monday. Of a table that
    holds several periods, ``period`` names one. Raises ``AnalysisError`` FACT_NOT_FOUND, ``InterfaceError`` for a table
    or period that the fact does not have, and ``DataError`` INVALID_TIME_BOUND. Reads the catalog only.

    A date that a zone leaves out is a partition for Dagster, which never becomes due here.
    """
    definition_type = _dagster().TimeWindowPartitionsDefinition
    stored_fact = _fact(session, fact)
    periods = _periods(stored_fact, table)
    if period is not None:
        periods = [candidate for candidate in periods if candidate.name == period.upper()]
    if len(periods) != 1:
        names = ", ".join(candidate.name for candidate in _periods(stored_fact, table))
        raise InterfaceError(
            f"The table {table} of the fact {stored_fact.name} has not one period {period or ''}".rstrip() + ".",
            object=table,
            hint=f"Give period=…; it has {names}.",
        )
    zone, (schedule, form) = _zone(periods[0], stored_fact.calendar), _SCHEDULES[periods[0].kind]
    first = periods[0].ceil(resolve_bound(start, _now(), stored_fact.calendar))
    definition: TimeWindowPartitionsDefinition = definition_type(
        start=_key(first, zone, form), fmt=form, timezone=zone, cron_schedule=schedule
    )
    return definition


def missing_partition_keys(
    session: Session,
    fact: str,
    table: str,
    partitions: TimeWindowPartitionsDefinition,
    *,
    states: Sequence[str] = ("MISSING",),
) -> list[str]:
    """Returns the keys of the partitions that are to be loaded or refreshed, in order of time.

    ``states`` are the states of the work lists: MISSING, OUTDATED, UNPROVEN. Only partitions whose time is over are
    asked for; where the fact declares its LATENESS, partitions that ended longer ago. Raises ``AnalysisError``
    FACT_NOT_FOUND, and ``InterfaceError`` if no period of the table is the period of ``partitions``, which a user may
    also define without ``partitions_definition``. Reads timelines only; O(ranges and keys).
    """
    stored_fact = _fact(session, fact)
    period = _period_of(partitions, stored_fact, table)
    calendar, zone = stored_fact.calendar, partitions.timezone
    first, last = partitions.get_first_partition_window(), partitions.get_last_partition_window()
    if first is None or last is None:
        return []
    start, end = _instant(first.start), _instant(last.end)
    if stored_fact.lateness is not None:
        end = min(end, period.floor(earlier(stored_fact.lateness, _now(), calendar)))
    if start >= end:
        return []
    bounds = (Literal("string", calendar.text(start)), Literal("string", calendar.text(end)))
    table_name = single(_qualified(table)).lower()
    ordinals: set[int] = set()
    for state in states:
        statement = ShowWork(state=state.upper(), fact=_qualified(fact), start=bounds[0], end=bounds[1])
        for row_table, row_period, row_start, row_end, *_ in session.execute(render(statement)).fetch():
            if str(row_table).lower() == table_name and row_period == period.name:
                instants = [resolve_bound(str(text), 0, calendar) for text in (row_start, row_end)]
                ordinals.update(range(period.ordinal(instants[0]), period.ordinal(instants[1] - 1) + 1))
    starts = [period.start(ordinal) for ordinal in sorted(ordinals) if period.start(ordinal) < period.end(ordinal)]
    keys = [_key(instant, zone, partitions.fmt) for instant in starts]
    return [key for key in keys if partitions.has_partition_key(key)] if partitions.exclusions else keys


def _dagster() -> Any:
    try:
        import dagster
    except ImportError as error:
        raise InterfaceError(
            f"Dagster cannot be imported: {error}.", hint="Run pip install 'rewriter[dagster]'."
        ) from error
    return dagster


def _fact(session: Session, name: str) -> Fact:
    return session.catalog.snapshot().fact(single(_qualified(name)))


def _qualified(name: str) -> Name:
    """Returns the name of a fact or table with its database, whatever the session's current one is."""
    parts = parse_name(name).parts
    return Name(parts if len(parts) > 1 else (DEFAULT_DATABASE, *parts))


def _periods(fact: Fact, table: str) -> list[Period]:
    stored = fact.storage_table(single(_qualified(table)))
    if stored is None:
        raise InterfaceError(
            f"The fact {fact.name} has no table {table}.",
            object=table,
            hint=f"Its tables are {', '.join(stored.table for stored in fact.tables)}.",
        )
    return list(stored.layouts)


def _period_of(partitions: TimeWindowPartitionsDefinition, fact: Fact, table: str) -> Period:
    """Returns the period of a table that is the one of a definition."""
    schedule = (partitions.cron_schedule, partitions.timezone)
    for period in _periods(fact, table):
        if schedule == (_SCHEDULES[period.kind][0], _zone(period, fact.calendar)):
            return period
    raise InterfaceError(
        f"The partitions definition ({' in '.join(schedule)}) has other periods than {table} of the fact {fact.name}.",
        object=table,
        hint="Make it with partitions_definition. Weeks begin on Monday, and hours are those of UTC.",
    )


def _zone(period: Period, calendar: Calendar) -> str:
    return "UTC" if period.kind < UpdatePeriod.DAILY else calendar.zone


def _key(instant: int, zone: str, form: str) -> str:
    return (_EPOCH + instant * _MICROSECOND).astimezone(ZoneInfo(zone)).strftime(form)


def _instant(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def _now() -> int:
    return _instant(datetime.now(UTC))
