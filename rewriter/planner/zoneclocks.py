"""The present moment in a query over a cube with a zone: today is the zone's date, and what else asks a clock for it is
refused, because both engines run in UTC.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from sqlglot import exp

from rewriter.catalog.models import Table
from rewriter.errors import NotSupportedError
from rewriter.planner.constants import Constants, Kind
from rewriter.planner.text import QueryText
from rewriter.planner.units import COMPARISONS
from rewriter.planner.zonechains import is_range
from rewriter.planner.zoneseconds import SECONDS
from rewriter.timeline.calendars import UTC, Calendar

_DATES = (exp.Cast, exp.TryCast, exp.TsOrDsToDate, exp.Date)


def calendar_of_today(text: QueryText, calendars: Collection[Calendar]) -> Calendar:
    """The calendar whose date ``current_date`` is in a query over cubes with these.

    Raises ``NotSupportedError`` ZONED_TIME where they differ and the query asks for today.
    """
    found = set(calendars)
    if len(found) > 1 and any(token.is_word("CURRENT_DATE", "CURDATE") for token in text.tokens):
        names = " and ".join(sorted(calendar.zone for calendar in found))
        raise _refused(text, None, f"current_date beside cubes of the zones {names}")
    return next(iter(found), UTC)


def check_clocks(text: QueryText, constants: Constants, calendar: Calendar) -> None:
    """Raises ``NotSupportedError`` ZONED_TIME where a function reads an instant that is no column off the clock of UTC:
    ``to_date(now())``, ``hour(?)`` of a ``datetime``. As they are, instants mean the same in every zone.
    """
    zoned = replace(constants, calendar=calendar)
    for node in text.nodes:
        if _is_moment(node, constants):
            parent = node.parent
            while isinstance(parent, exp.Paren):
                parent = parent.parent
            if not isinstance(parent, (*COMPARISONS, exp.Select, exp.Alias)) and not is_range(parent):
                raise _refused(text, parent, "A function of the present moment or of another instant", calendar)
        elif isinstance(node, _DATES) and _moves(node, zoned):
            raise _refused(text, node, "The date of an instant", calendar)
        elif isinstance(node, SECONDS) and node.find(exp.Column) is None and not _is_same(node.this, zoned):
            raise _refused(text, node, "Counting the seconds of a time that names no zone", calendar)


def check_seconds(text: QueryText, tables: Sequence[tuple[exp.Table, Table]], calendar: Calendar) -> None:
    """Raises ``NotSupportedError`` ZONED_TIME where the seconds of a column are counted that is no instant: a DATE or a
    text of a table, whose midnight is UTC's.
    """
    known: dict[int, set[str]] = {}
    for reference, table in tables:
        names = {one.name.lower() for one in table.all_columns if not one.type.lower().startswith("timestamp")}
        known.setdefault(id(reference.find_ancestor(exp.Select)), set()).update(names)
    for node in text.nodes:
        if isinstance(node, SECONDS):
            names = known.get(id(node.find_ancestor(exp.Select)), set())
            if any(column.name.lower() in names for column in node.find_all(exp.Column)):
                raise _refused(text, node, "Counting the seconds of a column that is no TIMESTAMP", calendar)


def _is_moment(node: exp.Expr, constants: Constants) -> bool:
    """Whether a node is now, or a parameter that is an instant."""
    if isinstance(node, exp.Placeholder):
        return isinstance(constants.parameters.get(node.name), datetime)
    return isinstance(node, exp.CurrentTimestamp) or (isinstance(node, exp.Anonymous) and node.name.upper() == "NOW")


def _moves(node: exp.Expr, zoned: Constants) -> bool:
    """Whether a constant date is another one in the zone than in UTC; today is written as the zone's."""
    if any(isinstance(inner, exp.CurrentDate | exp.Column) for inner in node.walk()):
        return False
    found, plain = zoned.fold(node), replace(zoned, calendar=UTC).fold(node)
    return any(one is not None and one.kind is Kind.DATE for one in (found, plain)) and found != plain


def _is_same(node: exp.Expr, zoned: Constants) -> bool:
    """Whether a constant is an instant, and the same one in the zone as in UTC."""
    found = zoned.fold(node)
    return found is not None and found.kind is Kind.TIMESTAMP and found == replace(zoned, calendar=UTC).fold(node)


def _refused(text: QueryText, node: exp.Expr | None, what: str, calendar: Calendar | None = None) -> NotSupportedError:
    span = text.span_of(node) if node is not None else None
    zone = f" with a time zone ({calendar.zone})" if calendar is not None else ""
    return NotSupportedError(
        f"{what} is not supported in a query over a cube{zone}.",
        condition="ZONED_TIME",
        position=text.place(span) if span is not None else None,
        hint="Compare the time dimension with the instant itself, or write time_range_in(t, 'now.day - 7 days'); "
        "current_date is the zone's date.",
    )
