"""Edits of a query's text that keep its meaning: names of items, counts and averages of events, times of a zone.

The executed text is read on the clocks of UTC. Where the query's own text is read on the clocks of a zone, both must
have the same values: at each change of the clocks in the time that is read, and at the units around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp

from rewriter.certificate.expressions import Expressions, period_of_unit
from rewriter.certificate.periods import Range, floor, following, moment, to_clocks, transitions
from rewriter.certificate.verdicts import NotUnderstood, Refuted
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.certificate.evidence import Object


def bound_query(certificate: Mapping[str, Any]) -> exp.Expr:
    tree = sqlglot.parse_one(certificate["query"], dialect="spark")
    names = {placeholder.name for placeholder in tree.find_all(exp.Placeholder)}
    if names != certificate["parameters"].keys():
        raise Refuted("the parameters are not those of the query")
    return _bind(tree, certificate["parameters"])


def _bind(tree: exp.Expr, parameters: Mapping[str, str]) -> exp.Expr:
    """Puts the values of parameters in place of their names: all as strings, so that a number is not understood."""
    for placeholder in [*tree.find_all(exp.Placeholder)]:
        value = exp.Literal.string(parameters[placeholder.name])
        if placeholder is tree:
            return value
        placeholder.replace(value)
    return tree


def check_name(before: str, inserted: str) -> None:
    """An insertion gives an item its name: the item as typed, as Spark writes it."""
    matched = re.fullmatch(r"\s*AS (?:`((?:[^`]|``)*)`|(\w+))\s*", inserted)
    if matched is None:
        raise NotUnderstood(f"the insertion {inserted.strip()[:80]!r}")
    name = (matched[1] or matched[2]).replace("``", "`").lower()
    # The name has no qualifiers, and counts 1 where the item counts *.
    typed = re.sub(r"\w+\.", "", re.sub(r"[\s`'()]", "", before).lower())
    plain = re.sub(r"[\s'()]", "", name)
    if not typed.endswith((plain, plain.replace("count1", "count*"))):
        raise NotUnderstood(f"the name {name[:80]!r} of an item")


#: Functions that read the clocks, so that a time on them may stand in place of a time in UTC.
_CLOCK_READERS = (
    exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear, exp.WeekOfYear, exp.Hour,
    exp.Minute, exp.Second, exp.TsOrDsToDate, exp.Date, exp.TimeToStr,
)  # fmt: skip
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.NullSafeEQ)


@dataclass(frozen=True)
class Clocks:
    """The clocks of a query's cubes: their ``zone``; ``None`` for several. ``now`` is the time of the query, ``times``
    are names of columns, ``ranges`` the time that is read.
    """

    zone: str | None
    now: int
    times: frozenset[str]
    ranges: Sequence[Range]

    def is_time(self, node: exp.Expr | None) -> bool:
        return isinstance(node, exp.Column) and node.name.lower() in self.times

    def is_first_time(self, node: exp.Expr) -> bool:
        """Tests for a time, and for the first time of a unit."""
        return self.is_time(node) or (isinstance(node, exp.TimestampTrunc) and self.is_time(node.this))

    def samples(self, zone: str, edited: exp.Expr, period: str) -> list[int]:
        """Returns the times of the ranges at which two expressions on the clocks can begin to differ."""
        literals = [Expressions().instant(cast) for cast in edited.find_all(exp.Cast) if cast.this.is_string]
        edges = [edge for range_ in self.ranges for edge in (*range_, *transitions(zone, range_))]
        around: set[int] = set()
        for edge in [*edges, *(literal for literal in literals if literal is not None)]:
            start = floor(period, zone, edge)
            around |= {edge, start, following(period, zone, start), floor(period, zone, start - 1)}
        beside = {at + step for at in around for step in (-1, 0, 1)}
        return sorted(at for at in beside if any(start <= at < end for start, end in self.ranges))


def node_at(tree: exp.Expr, start: int, end: int) -> exp.Expr | None:
    """Returns the node of a tree that stands at a place of the text that it was read from: the largest one whose names
    and literals are all there.
    """

    def is_inside(node: exp.Expr) -> bool:
        places = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        return all(start <= place < end for place in places)

    first = next((node for node in tree.walk() if start <= node.meta.get("start", -1) < end and is_inside(node)), None)
    while first is not None and first.parent is not None and is_inside(first.parent):
        first = first.parent
    return first


def check_edit(
    before: str, after: str, place: exp.Expr | None, cubes: Sequence[Object], parameters: Mapping[str, str],
    clocks: Clocks,
) -> None:  # fmt: skip
    """Checks that an edit keeps the meaning. ``place`` is the node of the query's tree at which it is made, if that is
    a literal or a column.
    """
    if before == after:
        return
    old, new = (_bind(sqlglot.parse_one(part, dialect="spark"), parameters) for part in (before, after))
    if isinstance(new, exp.Alias) and isinstance(place, exp.Table):
        if new.this != old or new.alias.lower() != old.name.lower():
            raise Refuted(f"the table {before[:60]} is called {new.alias}")
        return
    if isinstance(new, exp.Alias):
        check_name(before, after[after.rindex(" AS `") :])
        new = new.this
    new = new.unnest()
    if isinstance(old, exp.Anonymous) and old.name.lower() == "time_range_in" and _is_range(old, new, clocks):
        return
    if len(cubes) == 1 and isinstance(old, exp.Count) and _is_count_of_events(old, new, cubes[0]):
        return
    if len(cubes) == 1 and isinstance(old, exp.Avg) and _is_ratio(old, new, cubes[0]):
        return
    if clocks.zone is not None and _is_same_time(old, new, place, clocks, clocks.zone):
        return
    raise NotUnderstood(f"the edit of {before[:60]!r} to {after[:80]!r}")


def _is_same_time(old: exp.Expr, new: exp.Expr, place: exp.Expr | None, clocks: Clocks, zone: str) -> bool:
    """Tests whether an expression on the clocks of the zone is another one on those of UTC."""
    local, utc = Expressions(zone, clocks.now), Expressions(now=clocks.now)
    columns = [*old.find_all(exp.Column), *new.find_all(exp.Column)]
    if not columns:
        before, after = local.constant(old), utc.constant(new)
        if type(before) is type(after) and not isinstance(before, str):
            return bool(before == after)
        if isinstance(after, date) and not isinstance(after, datetime):
            return _is_compared(place, _is_date) and local.instant(old) == local.instant(new) is not None
        return _is_compared(place, clocks.is_first_time) and local.instant(old) == utc.instant(new) is not None
    if not all(clocks.is_time(column) for column in columns):
        return False
    name = columns[0].name.lower()
    computed = utc.read(new)
    if isinstance(old, exp.Column):
        if not _is_read_on_clocks(place):
            return False
        return all(computed({name: moment(at)}) == to_clocks(at, zone) for at in clocks.samples(zone, new, "DAILY"))
    period = period_of_unit(old)
    if period is None or not clocks.is_time(old.this):
        return False
    expected = local.read(old)
    return all(computed({name: moment(at)}) == expected({name: moment(at)}) for at in clocks.samples(zone, new, period))


def _is_read_on_clocks(place: exp.Expr | None) -> bool:
    parent = place.parent if place is not None else None
    while isinstance(parent, exp.Paren | exp.TsOrDsToTimestamp):
        parent = parent.parent
    return isinstance(parent, _CLOCK_READERS) or (isinstance(parent, exp.Cast) and parent.is_type("date"))


def _is_date(node: exp.Expr) -> bool:
    return isinstance(node, exp.TsOrDsToDate | exp.Date) or (isinstance(node, exp.Cast) and bool(node.is_type("date")))


def _is_compared(place: exp.Expr | None, is_kind: Callable[[exp.Expr], bool]) -> bool:
    """Tests whether a constant is compared with an expression of a kind."""
    parent = place.parent if place is not None else None
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    if not isinstance(parent, _COMPARISONS):
        return False
    sides = [side.unnest() for side in (parent.this, parent.args.get("expression")) if isinstance(side, exp.Expr)]
    return any(is_kind(side) for side in sides)


def _is_count_of_events(count: exp.Count, node: exp.Expr, cube: Object) -> bool:
    """Tests for ``COALESCE(SUM(counter), 0)`` in place of ``COUNT(*)``, where ``counter`` counts the cube's events."""
    if not isinstance(count.this, exp.Star | exp.Literal) or not isinstance(node, exp.Coalesce):
        return False
    column = node.this.this.unnest() if isinstance(node.this, exp.Sum) else None
    if not isinstance(column, exp.Column) or [part.sql() for part in node.expressions] != ["0"]:
        return False
    measures = cube.definition["measures"]
    # A measure is its name, type, kind, counter, NOT NULL and EVENTS.
    of_values = {measure[3].lower() for measure in measures if measure[3] and not measure[4]}
    counters = [measure for measure in measures if measure[2] == "COUNT"]
    marked = [measure for measure in counters if measure[5]]
    of_events = marked or [measure for measure in counters if measure[0].lower() not in of_values]
    return len(of_events) == 1 and of_events[0][0].lower() == unmarked(column.name, cube)


def unmarked(name: str, cube: Object) -> str:
    """Returns the measure that ``rw_…`` names beside an item of the query's own that has the measure's name; otherwise
    the name itself, in lower case.
    """
    lowered = name.lower()
    measures = {measure[0].lower() for measure in cube.definition["measures"]}
    others = {column[0].lower() for column in cube.definition["dimensions"]} | {
        time.lower() for time in cube.definition["times"]
    }
    measure = lowered.removeprefix("rw_")
    return measure if measure in measures and lowered not in measures | others else lowered


def _is_ratio(average: exp.Avg, node: exp.Expr, cube: Object) -> bool:
    """Tests for ``SUM(m) / NULLIF(SUM(counter), 0)`` in place of ``AVG(m)``, where the sum of an integer is that of a
    DECIMAL, as a DOUBLE.
    """
    column = average.this.unnest()
    measures = {measure[0].lower(): measure for measure in cube.definition["measures"]}
    measure = measures.get(column.name.lower()) if isinstance(column, exp.Column) else None
    if measure is None or not isinstance(node, exp.Div) or not isinstance(node.expression, exp.Nullif):
        return False
    above, below = node.this, node.expression.this
    if isinstance(above, exp.Cast) and above.to.sql("spark") == "DOUBLE":
        above = above.this.copy()
        value = above.this
        if not isinstance(value, exp.Cast) or value.to.sql("spark") != "DECIMAL(20, 0)":
            return False
        value.replace(value.this)
    if not (isinstance(above, exp.Sum) and isinstance(below, exp.Sum) and node.expression.expression.sql() == "0"):
        return False
    counter = (measure[3] or "").lower()
    return above.this.sql() == average.this.sql() and bool(counter) and unmarked(below.this.name, cube) == counter


def _is_range(call: exp.Anonymous, node: exp.Expr, clocks: Clocks) -> bool:
    """Tests for ``(t >= TIMESTAMP '…' AND t < TIMESTAMP '…')`` in place of ``time_range_in(t, …)``."""
    column, *bounds = call.expressions
    node = node.unnest()
    if not isinstance(node, exp.And) or len(bounds) != 2 or clocks.zone is None:
        return False
    low, high = node.this, node.expression
    if not isinstance(low, exp.GTE) or not isinstance(high, exp.LT):
        return False
    if low.this.sql() != column.sql() or high.this.sql() != column.sql():
        return False
    local, utc = Expressions(clocks.zone, clocks.now), Expressions(now=clocks.now)
    return all(
        bound.is_string and local.instant(bound) == utc.instant(side.expression) is not None
        for bound, side in zip(bounds, (low, high), strict=True)
    )
