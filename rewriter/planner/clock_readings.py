"""The clocks that the values of a query's output columns were read off.

A function of a cube's time, such as ``date_format(t, …)``, reads the clocks of the cube's zone. Its value is traced
through subqueries, CTEs, views and set operations to the query's output columns, and through functions of the value.
A value of which nothing is known, such as a table's column, has no readings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import Span
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import ClockReading, moved_from
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.joins import relations
from rewriter.planner.text.sqlglot_trees import TIMESTAMPS, children, is_of_type
from rewriter.planner.time.granularity import truncation, value_unit
from rewriter.planner.time.time_expressions import utc_time
from rewriter.planner.zones.zone_rewrites import SECONDS
from rewriter.planner.zones.zoned_expressions import climbed, passed_on
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.planner.scope.blocks import CubeSource, Resolved
    from rewriter.planner.text.query_text import QueryText


@dataclass(frozen=True)
class _Value:
    """A column of a relation: the zone of the cube whose instants it has, if any, and the clock readings that its
    values are computed from.
    """

    zone: str | None = None
    readings: tuple[ClockReading, ...] = ()

    @property
    def read(self) -> tuple[ClockReading, ...]:
        """The readings that a function of the value keeps: an instant that is read otherwise is not assigned."""
        return tuple(reading for reading in self.readings if not reading.is_instant)


_UNKNOWN = _Value()
_UTC = "UTC"
#: Functions of texts, for which an instant is cast to one.
_TEXT_FUNCTIONS = (exp.Substring, exp.Left, exp.Right, exp.Concat, exp.DPipe, exp.Replace, exp.RegexpReplace)
#: The columns of a relation with their names in lower case, in order; ``None`` if the columns are unknown.
_Columns = Sequence[tuple[str, _Value]] | None


def clock_readings(text: QueryText, resolved: Resolved) -> tuple[tuple[ClockReading, ...], ...]:
    """Returns the clock readings of each output column of a query; empty if its columns are unknown."""
    columns = _Tracer(text, resolved).columns(text.tree)
    return () if columns is None else tuple(value.readings for _, value in columns)


class _Tracer:
    """Traces the columns of one query. Each CTE is traced once."""

    def __init__(self, text: QueryText, resolved: Resolved) -> None:
        self._text = text
        self._ctes = CteReferences(text.nodes)
        self._relations: dict[int, _Columns] = {
            id(reference.node): [(column.name.lower(), _UNKNOWN) for column in reference.table.all_columns] or None
            for reference in resolved.tables
        }
        for block in resolved.blocks:
            for source in block.cubes:
                times = {time.lower(): self._instant(time, source) for time in source.cube.times}
                names = [name.lower() for name in source.cube.column_order]
                self._relations[id(source.node)] = [(name, times.get(name, _UNKNOWN)) for name in names]

    def _instant(self, time: str, source: CubeSource) -> _Value:
        """Returns the value of a time of a cube."""
        position, zone = self._text.place(source.span), source.cube.zone
        return _Value(zone, (ClockReading(time, time, position, zone, _UTC, UpdatePeriod.DAILY, is_instant=True),))

    def columns(self, query: exp.Expr) -> _Columns:
        """Returns the output columns of a query."""
        if isinstance(query, exp.Subquery):
            return self.columns(query.this)
        if isinstance(query, exp.Select):
            return self._select_columns(query)
        if not isinstance(query, exp.SetOperation):
            return None
        sides = [side for side in map(self.columns, _sides(query)) if side is not None]
        if not sides or len({len(side) for side in sides}) != 1:
            return None
        names = [name for name, _ in sides[0]]
        return [(name, _combined([side[index][1] for side in sides])) for index, name in enumerate(names)]

    def _relation(self, relation: exp.Expr) -> _Columns:
        cte = self._ctes.cte_of(relation) if isinstance(relation, exp.Table) else None
        if id(relation) not in self._relations:
            columns: _Columns = None
            self._relations[id(relation)] = None  # a recursive CTE names itself
            if cte is not None:
                columns = _renamed(self.columns(cte.this), cte)
            elif isinstance(relation, exp.Subquery):
                columns = self.columns(relation.this)
            self._relations[id(relation)] = columns
        return _renamed(self._relations[id(relation)], relation)

    def _select_columns(self, select: exp.Select) -> _Columns:
        sources = [(relation.alias_or_name.lower(), self._relation(relation)) for relation in relations(select)]
        values: dict[tuple[str, str], _Value] = {}
        for alias, columns in sources:
            for name, value in columns or ():
                values.setdefault((alias, name), value)
                values.setdefault(("", name), value)
        outputs: list[tuple[str, _Value]] = []
        for item in select.expressions:
            if item.is_star:
                qualifier = item.table.lower() if isinstance(item, exp.Column) else None
                starred = [columns for name, columns in sources if qualifier in (None, name)]
                if None in starred or not _returns_all_columns(select, item):
                    return None
                outputs += [column for columns in starred for column in columns or ()]
                continue
            value = self._value(item.unalias(), values)
            outputs.append((item.alias_or_name.lower(), value))
            if isinstance(item, exp.Alias):
                values.setdefault(("", item.alias.lower()), value)
        return outputs

    def _value(self, expression: exp.Expr, values: Mapping[tuple[str, str], _Value]) -> _Value:
        known_values: list[_Value] = []
        for node in _deciding(expression):
            if isinstance(node, exp.Query):
                columns = self.columns(node)
                known_values += [value for _, value in columns or ()]
            elif isinstance(node, exp.Column):
                value = values.get((node.table.lower(), node.name.lower()), _UNKNOWN)
                known_values.append(_Value(None, value.read))
                if value.zone is not None:
                    known_values.append(self._value_of_instant(node, value.zone, expression))
        return _combined(known_values)

    def _value_of_instant(self, column: exp.Column, zone: str, expression: exp.Expr) -> _Value:
        """Returns what is known of an expression over an instant of a cube."""
        time: exp.Expr = column
        clock = zone
        if zone != _UTC and (utc := utc_time(column, zone)) is not None:
            time, clock = utc, _UTC
        around = _above(time)
        if clock == _UTC and isinstance(around, exp.AtTimeZone) and around.args["zone"].is_string:
            time, clock = around, around.args["zone"].name
        use = climbed(time)
        if use.utc is not None:  # moved from another zone
            moved_zone = use.utc.args["zone"]
            if clock != _UTC or not moved_zone.is_string or use.top.find(exp.AtTimeZone):
                return _UNKNOWN
            clock = moved_from(moved_zone.name)
        if use.date or use.value:
            return _Value(None, (self._reading(use.top, column, zone, clock, _unit(time, use.top)),))
        reader = _text_reader(use.top)
        if reader is not None and clock == _UTC:
            return _Value(None, (self._reading(reader, column, zone, clock, UpdatePeriod.MINUTELY),))
        if passed_on(use.top) is not expression or time is not column:
            return _UNKNOWN
        instant = self._reading(use.top, column, zone, _UTC, UpdatePeriod.DAILY)
        return _Value(zone, (replace(instant, is_instant=True),))

    def _reading(
        self, function: exp.Expr, column: exp.Column, zone: str, clock: str, unit: UpdatePeriod
    ) -> ClockReading:
        column_span = self._text.span_of(column) or Span(0, 0)
        if function is column:
            span = column_span
        elif function._meta and "start" in function.meta:
            span = self._text.call(function)[0]
        else:
            span = self._text.enclosing_call(column_span) or column_span
        words, time = (" ".join(self._text.text[at.start : at.end].split()) for at in (span, column_span))
        return ClockReading(words, time, self._text.place(span), zone, clock, unit)


def _sides(query: exp.SetOperation) -> Iterator[exp.Expr]:
    """Yields the queries of a chain of set operations, in order. A long chain is a tree as deep."""
    stack: list[exp.Expr] = [query]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.SetOperation):
            stack += (node.expression, node.this)
        else:
            yield node


def _returns_all_columns(select: exp.Select, star: exp.Expr) -> bool:
    """Tests whether ``*`` returns the columns of the block's relations one after the other."""
    joins = select.args.get("joins") or ()
    merges = any(join.args.get("using") or join.args.get("method") or join.args.get("kind") for join in joins)
    asterisk = star.this if isinstance(star, exp.Column) else star
    return not (merges or select.args.get("laterals") or any(asterisk.args.values()))


def _deciding(expression: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the nodes of an expression that its value consists of: no conditions, and nothing that is only counted."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, exp.If):
            stack += [part for part in (node.args.get("true"), node.args.get("false")) if part is not None]
        elif isinstance(node, exp.Case):
            stack += [*node.args["ifs"], *([node.args["default"]] if node.args.get("default") else [])]
        elif isinstance(node, exp.Filter | exp.Window):
            stack.append(node.this)
        elif not isinstance(node, exp.Query | exp.Count):
            stack += children(node)


def _above(node: exp.Expr) -> exp.Expr | None:
    """Returns the node around an instant, above parentheses and casts to TIMESTAMP."""
    while node.parent is not None and node.parent.this is node and _keeps_instant(node.parent):
        node = node.parent
    return node.parent


def _keeps_instant(node: exp.Expr) -> bool:
    return isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and is_of_type(node.to, *TIMESTAMPS))


def _text_reader(instant: exp.Expr) -> exp.Expr | None:
    """Returns the node around an instant that reads its text: ``CAST(t AS STRING)``, ``left(t, 10)``,
    ``from_unixtime(unix_timestamp(t))``.
    """
    node = _above(instant)
    if isinstance(node, SECONDS):
        reader = _above(node)
        return reader if isinstance(reader, exp.UnixToStr) else None
    is_cast = isinstance(node, exp.Cast | exp.TryCast) and is_of_type(node.args["to"], exp.DType.TEXT)
    return node if is_cast or isinstance(node, _TEXT_FUNCTIONS) else None


def _unit(time: exp.Expr, top: exp.Expr) -> UpdatePeriod:
    """Returns the unit of the functions from ``time`` to ``top``."""
    units: list[UpdatePeriod | None] = []
    node = time
    while node is not top and node.parent is not None:
        units += [truncation(node.parent, node), value_unit(node.parent, node)]
        node = node.parent
    return min((unit for unit in units if unit is not None), default=UpdatePeriod.DAILY)


def _combined(values: Sequence[_Value]) -> _Value:
    zones = {value.zone for value in values if value.zone is not None}
    readings = dict.fromkeys(reading for value in values for reading in value.readings)
    return _Value(zones.pop() if len(zones) == 1 else None, tuple(readings))


def _renamed(columns: _Columns, relation: exp.Expr) -> _Columns:
    """``AS x (a, b)`` gives the columns other names."""
    alias = relation.args.get("alias")
    names = [] if alias is None else [column.name.lower() for column in alias.args.get("columns") or ()]
    if columns is None or not names:
        return columns
    if len(names) != len(columns):
        return None
    return [(name, value) for name, (_, value) in zip(names, columns, strict=True)]
