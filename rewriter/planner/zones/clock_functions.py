"""The present moment in a query over a cube with a zone. Today is the zone's date. Other functions that read it off a
clock are refused, because both engines run in UTC.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from sqlglot import exp

from rewriter.catalog.model.objects import Table
from rewriter.errors import NotSupportedError
from rewriter.planner.text.query_text import QueryText
from rewriter.planner.time.constant_folding import Constants, Kind
from rewriter.planner.time.granularity import COMPARISONS
from rewriter.planner.zones.unix_seconds import SECONDS
from rewriter.planner.zones.zoned_expressions import is_range
from rewriter.timeline.calendars import UTC, Calendar

_STEPS = (exp.Add, exp.Sub, exp.TimestampAdd)
_DATES = (exp.Cast, exp.TryCast, exp.TsOrDsToDate, exp.Date)


def calendar_of_today(text: QueryText, calendars: Collection[Calendar]) -> Calendar:
    """Returns the calendar of ``current_date`` in a query over cubes with these calendars.

    Raises ``NotSupportedError`` ZONED_TIME if they differ and the query uses the current date.
    """
    distinct = set(calendars)
    if len(distinct) > 1 and any(token.is_word("CURRENT_DATE", "CURDATE") for token in text.tokens):
        names = " and ".join(sorted(calendar.zone for calendar in distinct))
        raise _refused(text, None, f"current_date with cubes of the zones {names}")
    return next(iter(distinct), UTC)


def check_clocks(text: QueryText, constants: Constants, calendar: Calendar) -> None:
    """Raises ``NotSupportedError`` ZONED_TIME if a function reads an instant that is no column off the UTC clock:
    ``to_date(now())``, ``hour(?)`` of a ``datetime``. Used directly, instants mean the same in every zone.
    """
    zoned = replace(constants, calendar=calendar)
    for node in text.nodes:
        if _is_moment(node, constants):
            parent = node.parent
            while isinstance(parent, exp.Paren) or (isinstance(parent, _STEPS) and zoned.fold(parent) is not None):
                parent = parent.parent
            if not isinstance(parent, (*COMPARISONS, exp.Select, exp.Alias)) and not is_range(parent):
                raise _refused(text, parent, "A function of the current time or of another instant", calendar)
        elif isinstance(node, _DATES) and _moves(node, zoned):
            raise _refused(text, node, "The date of an instant", calendar)
        elif isinstance(node, SECONDS) and node.find(exp.Column) is None and not _is_same(node.this, zoned):
            raise _refused(text, node, "Counting the seconds of a time without a zone", calendar)


def check_seconds(text: QueryText, tables: Sequence[tuple[exp.Table, Table]], calendar: Calendar) -> None:
    """Raises ``NotSupportedError`` ZONED_TIME if a query counts the seconds of a column that is not an instant: a DATE
    or a text of a table, whose midnight is UTC's.
    """
    names_of_select: dict[int, set[str]] = {}
    for reference, table in tables:
        names = {column.name.lower() for column in table.all_columns if not column.type.lower().startswith("timestamp")}
        names_of_select.setdefault(id(reference.find_ancestor(exp.Select)), set()).update(names)
    for node in text.nodes:
        if isinstance(node, SECONDS):
            names = names_of_select.get(id(node.find_ancestor(exp.Select)), set())
            if any(column.name.lower() in names for column in node.find_all(exp.Column)):
                raise _refused(text, node, "Counting the seconds of a column that is not a TIMESTAMP", calendar)


def _is_moment(node: exp.Expr, constants: Constants) -> bool:
    """Tests whether a node is now, or a parameter that is an instant."""
    if isinstance(node, exp.Placeholder):
        return isinstance(constants.parameters.get(node.name), datetime)
    return isinstance(node, exp.CurrentTimestamp) or (isinstance(node, exp.Anonymous) and node.name.upper() == "NOW")


def _moves(node: exp.Expr, zoned: Constants) -> bool:
    """Tests whether a constant date differs between the zone and UTC. Today is written as the zone's date."""
    if any(isinstance(descendant, exp.CurrentDate | exp.Column) for descendant in node.walk()):
        return False
    zoned_value, utc_value = zoned.fold(node), replace(zoned, calendar=UTC).fold(node)
    return (
        any(constant is not None and constant.kind is Kind.DATE for constant in (zoned_value, utc_value))
        and zoned_value != utc_value
    )


def _is_same(node: exp.Expr, zoned: Constants) -> bool:
    """Tests whether a constant is an instant, and the same one in the zone as in UTC."""
    zoned_value = zoned.fold(node)
    return (
        zoned_value is not None
        and zoned_value.kind is Kind.TIMESTAMP
        and zoned_value == replace(zoned, calendar=UTC).fold(node)
    )


def _refused(
    text: QueryText, node: exp.Expr | None, construct: str, calendar: Calendar | None = None
) -> NotSupportedError:
    span = text.span_of(node) if node is not None else None
    zone = f" with a time zone ({calendar.zone})" if calendar is not None else ""
    return NotSupportedError(
        f"{construct} is not supported in a query over a cube{zone}.",
        condition="ZONED_TIME",
        position=text.place(span) if span is not None else None,
        hint="Compare the time dimension with the instant itself, or write time_range_in(t, 'now.day - 7 days'); "
        "current_date is the zone's date.",
    )
