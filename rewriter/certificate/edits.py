"""Edits of a query's text that keep its meaning: names of items, counts and averages of events, ranges of time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp

from rewriter.certificate.periods import read_time
from rewriter.certificate.verdicts import NotUnderstood, Refuted

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
    typed = re.sub(r"\w+\.", "", re.sub(r"\s", "", before).lower().replace("`", ""))
    if not typed.endswith((re.sub(r"\s", "", name), re.sub(r"\s", "", name).replace("count(1)", "count(*)"))):
        raise NotUnderstood(f"the name {name[:80]!r} of an item")


def check_edit(before: str, after: str, cubes: Sequence[Object], parameters: Mapping[str, str]) -> None:
    if before == after:
        return
    old, new = (_bind(sqlglot.parse_one(part, dialect="spark"), parameters) for part in (before, after))
    if isinstance(new, exp.Alias):
        check_name(before, after[after.rindex(" AS `") :])
        new = new.this
    new = new.unnest()
    if isinstance(old, exp.Anonymous) and old.name.lower() == "time_range_in" and _is_range(old, new):
        return
    if len(cubes) == 1 and isinstance(old, exp.Count) and _is_count_of_events(old, new, cubes[0]):
        return
    if len(cubes) == 1 and isinstance(old, exp.Avg) and _is_ratio(old, new, cubes[0]):
        return
    raise NotUnderstood(f"the edit of {before[:60]!r} to {after[:80]!r}")


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


def _is_range(call: exp.Anonymous, node: exp.Expr) -> bool:
    """Tests for ``(t >= TIMESTAMP '…' AND t < TIMESTAMP '…')`` in place of ``time_range_in(t, …)``."""
    column, *bounds = call.expressions
    node = node.unnest()
    if not isinstance(node, exp.And) or len(bounds) != 2:
        return False
    low, high = node.this, node.expression
    if not isinstance(low, exp.GTE) or not isinstance(high, exp.LT):
        return False
    if low.this.sql() != column.sql() or high.this.sql() != column.sql():
        return False
    for bound, side in zip(bounds, (low, high), strict=True):
        value = side.expression
        literal = value.this if isinstance(value, exp.Cast) else value
        if (
            not bound.is_string
            or read_time(bound.name, "UTC") is None
            or read_time(bound.name, "UTC") != read_time(literal.name, "UTC")
        ):
            return False
    return True
