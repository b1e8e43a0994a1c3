"""Time functions of a cube with a zone, as edits of the text: both engines run in UTC, and t is an instant there.

A function that reads t off a clock reads it off the zone's: ``year(t)`` becomes ``year(wall time of t)``, and
``date_trunc('day', t)`` becomes the instant at which the zone's day begins. An operand compared with t becomes an
instant. A use that is not known to mean the same in every zone, or to become such a call, is refused: it would silently
give the result for UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import Error, NotSupportedError, Span
from rewriter.planner.scope.blocks import Block, CubeSource, inner_queries
from rewriter.planner.scope.column_lineage import Columns
from rewriter.planner.scope.inlining import OutputNames
from rewriter.planner.scope.item_names import item_name_edits
from rewriter.planner.text.clock_places import place_beside
from rewriter.planner.text.literals import date_literal, string_literal, timestamp_literal
from rewriter.planner.text.query_text import Copied, Edit, Part, QueryText
from rewriter.planner.text.sqlglot_trees import is_of_type
from rewriter.planner.time.constant_folding import Constants, Kind, as_timestamp
from rewriter.planner.time.granularity import COMPARISONS
from rewriter.planner.time.time_expressions import utc_time
from rewriter.planner.zones.group_times import GroupTimes, instants_of, wall_of_start
from rewriter.planner.zones.zoned_expressions import (
    TimeOf,
    cases,
    climbed,
    counts_days,
    in_parentheses,
    is_instant,
    is_range,
    moved_parts,
    names_outside,
    others,
    own_columns,
    passed_on,
    seeing,
    truncations,
    wall_time,
)
from rewriter.timeline.calendars import UTC, Calendar
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Table

#: Nodes that pass on, count, order or group a time unchanged.
_PASSING = (
    exp.Select, exp.Alias, exp.Ordered, exp.Group, exp.GroupingSets, exp.Cube, exp.Rollup, exp.Window, exp.Count,
    exp.Is,
)  # fmt: skip
#: The names of operators in errors.
_WORDS: dict[type[exp.Expr], str] = {
    exp.Add: "Arithmetic", exp.Is: "IS", exp.Tuple: "A tuple", exp.Case: "CASE", exp.FromTimeZone: "to_utc_timestamp",
    exp.AtTimeZone: "from_utc_timestamp",
}  # fmt: skip


class ZoneEdits:
    """The edits of one reference to a cube with a zone. ``ranges_by_time`` holds all times of its rows, by time
    dimension in lower case.
    """

    def __init__(
        self,
        text: QueryText,
        block: Block,
        source: CubeSource,
        columns: Columns,
        constants: Constants,
        ranges_by_time: Mapping[str, RangeSet],
    ) -> None:
        self._text = text
        self._block = block
        self._source = source
        self._columns = columns
        self._constants = constants
        self._calendar = source.cube.calendar
        self._extents = {time: self._extent(ranges) for time, ranges in ranges_by_time.items()}
        self._edits: dict[Span, Edit] = {}
        self._output = OutputNames()
        #: Columns that a subquery computed from the seconds of instants.
        self._seconds: list[exp.Column] = []
        #: Columns that a subquery computed from instants, and that are none.
        self._read: list[exp.Column] = []
        #: The columns whose comparisons were checked, by ``id``.
        self._checked: set[int] = set()
        self._selects = list(self._find_times())
        #: The columns that are instants, by ``id``.
        self._instants = {id(column) for _, times in self._selects for column, _ in times}

    def _extent(self, ranges: RangeSet) -> TimeRange:
        """Returns all times of the rows. If subqueries may cut them, also the starts of the years and weeks around
        them.
        """
        if not ranges:
            return TimeRange(0, 1)
        start, end = ranges.ranges[0].start, ranges.ranges[-1].end
        if self._source.levels:
            year = self._calendar.of(UpdatePeriod.YEARLY).floor(start)
            start = self._calendar.of(UpdatePeriod.WEEKLY).floor(year)
        return TimeRange(start, end)

    def edits(self, earlier_edits: Sequence[Edit]) -> list[Edit]:
        """Returns all edits, in addition to ``earlier_edits``.

        Raises ``NotSupportedError`` ZONED_TIME for uses that cannot be expressed in the zone.
        """
        for column, value in self._columns.correlated():
            if self._columns.times_in(value):
                raise self._refused(column, "A correlated subquery reads the time dimension")
        for name in sorted(self._block.joined_names & self._source.columns.keys()):
            if self._columns.times_in(self._source.columns[name]):
                raise self._refused(self._block.select, f"USING or NATURAL over the time dimension ({name})")
        names: set[str] = set()
        for column in self._seconds:
            self._check_seconds(column, _reckoned(column))
            names |= names_outside(_reckoned(column))
        for column in self._read:
            self._check_value(column)
        for select, times in self._selects:
            uses = [(climbed(column), self._extents[time]) for column, time in times]
            groups = GroupTimes(select, [use for use, _ in uses])
            for use, extent in uses:
                self._check(use)
                self._edit(use, groups.group_of(use), extent)
                if not (use.date or use.value):
                    names |= names_outside(_seconds_above(passed_on(use.top)))
            if any(item.is_star for item in select.expressions):
                names |= {name.lower() for name in self._source.cube.times} | names_outside(select.expressions[0])
            self._name_items(select, {edit.span for edit in earlier_edits})
        if names:
            self._check_place(self._block.select)
        self._check_outside(names)
        return sorted(self._edits.values(), key=lambda edit: edit.span.start)

    def _find_times(self) -> Iterator[tuple[exp.Select, list[tuple[exp.Column, str]]]]:
        """Returns the SELECTs between the cube and the block, innermost first, with the columns that are instants in
        each and the time dimensions from which they are derived.
        """
        for level in self._source.levels:
            yield level.select, self._times(level.select, level.value_of)
        select, source = self._block.select, self._source
        if source.levels:

            def value_of(column: exp.Column) -> exp.Expr | None:
                is_own = column.table.lower() in ("", source.alias.lower()) and not self._output.shadow(column)
                return source.columns.get(column.name.lower()) if is_own else None

            yield select, self._times(select, value_of)
        else:
            times = (column for column in own_columns(select) if self._columns.is_time(column))
            yield select, [(column, column.name.lower()) for column in times]

    def _times(
        self, select: exp.Select, value_of: Callable[[exp.Column], exp.Expr | None]
    ) -> list[tuple[exp.Column, str]]:
        times: list[tuple[exp.Column, str]] = []
        for column in own_columns(select):
            value = value_of(column)
            time = self._time_of(column, value)
            if time is not None:
                times.append((column, time))
            elif value is not None and self._columns.times_in(value):
                if value.find(*SECONDS):
                    self._seconds.append(column)
                self._read.append(column)
        return times

    def _time_of(self, column: exp.Column, value: exp.Expr | None) -> str | None:
        """Returns the time dimension of which a column is an instant: t itself, or the start of one of its units."""
        if value is None or isinstance(column.this, exp.Star) or not self._columns.times_in(value):
            return None
        column_ = next(c for c in value.find_all(exp.Column) if self._columns.times_in(c))
        use = climbed(column_, value)
        return column_.name.lower() if use.top is value and not (use.date or use.value) else None

    def _check(self, use: TimeOf) -> None:
        """Raises an error if the time of ``use`` is used in a way that is not known to follow the zone."""
        top = passed_on(use.top)
        parent = top.parent
        if isinstance(parent, exp.Ordered) and counts_days(parent):
            raise self._refused(use.column, "A window over an interval of the time dimension")
        if use.utc is not None:
            self._check_utc(use, parent)
        if use.value:
            self._check_value(use.top)
            return
        if _is_taken_unchanged(use, parent):
            return
        if use.date and isinstance(parent, exp.DateDiff) and not parent.args.get("unit"):
            for other in others(parent, top):
                constant = isinstance(other, exp.TsOrDsToDate) and not other.find(exp.Column)
                self._compare(use, other.this if constant else other)
            return
        if parent is not None and not use.date and _counts_seconds(parent, top):
            self._check_seconds(use.column, _reckoned(parent))
            return
        if isinstance(parent, COMPARISONS):
            self._check_comparison(use, parent, top)
            return
        raise self._refused(use.column, f"{self._name(parent, use.column)} of the time dimension")

    def _check_comparison(self, use: TimeOf, comparison: exp.Expr, top: exp.Expr) -> None:
        """Checks the operands beside ``top``, the time of ``use``. Several of them must all be constants or dates."""
        operands = list(others(comparison, top))
        if isinstance(comparison, exp.Between | exp.In) and len(operands) > 1:
            columns = [column for other in operands for column in other.find_all(exp.Column)]
            if columns and not (use.date and all(self._is_date(other) for other in operands)):
                raise self._refused(columns[0], "Comparing the time dimension with several things")
        for other in operands:
            self._compare(use, other)

    def _check_value(self, value: exp.Expr) -> None:
        """Raises an error if a text or a number that was read off the zone's clocks is compared with an instant: the
        engine would read the instant off the clocks of UTC. Follows its names, here and outside the block.
        """
        node = value
        while node.parent is not None and not isinstance(node.parent, (*COMPARISONS, exp.Connector, exp.Query)):
            node = node.parent
        if isinstance(node.parent, exp.Select) and isinstance(node, exp.Alias | exp.Column):
            self._check_named_values(node, node.parent)
        if not isinstance(node.parent, COMPARISONS):
            return
        for other in others(node.parent, node):
            for operand in other.expressions if isinstance(other, exp.Tuple) else (other,):
                constant = self._constants.fold(operand)
                if (constant is not None and constant.kind is Kind.TIMESTAMP) or self._constants.is_naive(operand):
                    hint = "Compare the time dimension itself with it, or this with a text such as '2024-01-31'."
                    raise self._refused(operand, "Comparing a value of the zone's clocks with an instant", hint)

    def _check_named_values(self, item: exp.Expr, select: exp.Select) -> None:
        """Checks the uses of an item of a select list by its name."""
        for reader in (select, *seeing(select)):
            for column in own_columns(reader):
                is_other = reader is select and (column.table or isinstance(item, exp.Column))
                if column.name.lower() != item.alias_or_name.lower() or is_other or id(column) in self._checked:
                    continue
                self._checked.add(id(column))
                self._check_value(column)

    def _check_utc(self, use: TimeOf, parent: exp.Expr | None) -> None:
        """Raises an error unless ``to_utc_timestamp`` names the cube's zone and its clocks are read where it stands. An
        instant cannot be shifted, and a date of UTC cannot be compared with dates of the zone.
        """
        call = f"to_utc_timestamp({use.column.sql(dialect='spark')}, {string_literal(self._calendar.zone)})"
        if utc_time(use.column, self._calendar.zone) is not use.utc:
            raise self._refused(use.utc, "to_utc_timestamp of the time dimension with another zone", f"Write {call}.")
        if not (use.date or use.value) or isinstance(parent, (*COMPARISONS, exp.DateDiff)):
            hint = f"Write a function that reads the clocks of UTC, such as date_format({call}, 'yyyy-MM-dd-HH')."
            raise self._refused(use.utc, "This use of to_utc_timestamp", hint)

    def _compare(self, use: TimeOf, other: exp.Expr) -> None:
        """Checks an operand beside t: an instant of the same calendar, NULL, or a constant (made an instant)."""
        while isinstance(other, exp.Paren):
            other = other.this
        if isinstance(other, exp.Tuple):
            for item in other.expressions:
                self._compare(use, item)
            return
        if self._is_time_alike(use, other):
            return
        if self._constants.is_null(other) or (use.date and self._is_date(other)):
            return
        value = self._constants.fold(other)
        if use.date:
            if value is not None and value.kind is Kind.DATE:
                # Today itself becomes the zone's date everywhere (``clock_functions``). The engine would cut an instant
                # to the day of UTC.
                computed = other.find(exp.CurrentDate, exp.TimestampTrunc, exp.DateTrunc)
                if computed is not None and not isinstance(other, exp.CurrentDate):
                    self._replace(other, date_literal(value.number))
                return
            if value is not None and value.kind is Kind.STRING:
                return
        elif value is not None and value.kind in (Kind.STRING, Kind.DATE, Kind.TIMESTAMP):
            instant = as_timestamp(value, self._calendar)
            if instant is not None:
                if not is_instant(other, value):
                    self._replace(other, timestamp_literal(instant.number))
                return
        raise self._refused_operand(use, other)

    def _is_time_alike(self, use: TimeOf, other: exp.Expr) -> bool:
        """Tests whether an operand is a time of the same zone, of which the same is compared: instants or dates."""
        for column in other.find_all(exp.Column):
            zone = self._zone_of(column)
            other_use = climbed(column, other)
            is_same_use = other_use.top is other and (other_use.date, other_use.value) == (use.date, use.value)
            if is_same_use and zone is not None and (zone == self._calendar.zone or other_use.top is column):
                return True
        return False

    def _refused_operand(self, use: TimeOf, other: exp.Expr) -> Error:
        """Returns the error for an operand that cannot be compared with t, with what to write instead."""
        if use.date and other.find(exp.Column):
            hint = "A date of the time dimension is compared with a column that a table in this FROM declares DATE."
            return self._refused(other, "Comparing the time dimension with this", hint)
        if self._constants.is_naive(other):
            hint = "Pass a datetime with a zone, or a str or a date, which are read in the cube's zone."
            return self._refused(other, "Comparing the time dimension with a datetime without a zone", hint)
        if other.find(exp.Interval) and not other.find(exp.CurrentDate):
            hint = (
                "A day of the zone may have 23 or 25 hours: write current_date - INTERVAL 30 DAYS for its days, or "
                "now() - INTERVAL 720 HOURS."
            )
            return self._refused(other, "Moving an instant by an interval of days", hint)
        return self._refused(
            other,
            "Comparing the time dimension with this",
            "Write a string such as '2015-03-08 06:00:00', which is interpreted in the cube's zone, "
            "or one with an explicit zone ('2015-03-08 06:00:00Z'), or a date such as current_date - INTERVAL 30 DAYS "
            "or trunc(current_date, 'MM'), or time_range_in(t, 'now.day - 7 days').",
        )

    def _is_date(self, node: exp.Expr) -> bool:
        """Tests whether a node is a DATE column of a table of the block, or a dimension of the cube: a date in any
        zone.
        """
        while isinstance(node, exp.Paren | exp.TsOrDsToDate) and not node.args.get("format"):
            node = node.this
        if not isinstance(node, exp.Column) or self._output.shadow(node) or self._columns.type_of(node) != "date":
            return False
        aliases = {item.alias.lower() for item in self._block.select.selects}
        return bool(node.table) or node.name.lower() not in aliases | self._block.joined_names

    def _check_seconds(self, column: exp.Expr, top: exp.Expr) -> None:
        """Raises an error unless ``top``, computed from the seconds of an instant, is only compared with numbers and
        passed on. Converted back to a time, it would be read off the UTC clock.
        """
        parent = top.parent
        if isinstance(parent, COMPARISONS):
            for other in others(parent, top):
                if not _is_reckoned(other, self._instants):
                    raise self._refused(other, "Comparing seconds of the time dimension with this", "Write a number.")
        elif not isinstance(parent, _PASSING):
            hint = "Add, compare, group and aggregate them; a function of time takes the time dimension itself."
            raise self._refused(column, "Converting the seconds of the time dimension to a time or a string", hint)

    def _check_place(self, select: exp.Select) -> None:
        """Raises an error if a query that returns instants is not a separate relation: a scalar value, whose neighbors
        in an expression are unknown, a branch of a set operation, or a query in parentheses, which an outer ORDER BY
        may sort.
        """
        hint = "Convert it to a date or a string where the cube is read: to_date(t), date_format(t, …)."
        node: exp.Expr = select
        if isinstance(node.parent, exp.SetOperation):
            raise self._refused(select, "A set operation over the time dimension", hint)
        if isinstance(node.parent, exp.Subquery):
            node = node.parent
        relation = isinstance(node.parent, exp.From | exp.Join | exp.CTE | exp.Exists) or node is select
        if not relation or (node is select and not isinstance(node.parent, exp.CTE | exp.Exists | None)):
            raise self._refused(select, "A value from a subquery that returns instants", hint)
        for item in select.expressions if node.parent is not None and not isinstance(node.parent, exp.Exists) else ():
            if not isinstance(item, exp.Alias | exp.Column | exp.Star) and any(
                id(column) in self._instants for column in item.find_all(exp.Column)
            ):
                raise self._refused(item, "An unnamed instant in a subquery", "Give it a name with AS.")

    def _zone_of(self, column: exp.Column) -> str | None:
        """Returns the zone of the cube in this block whose time dimension a column is; ``None`` if it is none."""
        if id(column) in self._instants:
            return self._calendar.zone
        for source in self._block.cubes:
            if not source.levels and Columns(self._text, self._block, source, {}).is_time(column):
                return source.cube.zone
        return None

    def _replace(self, node: exp.Expr, literal: str) -> None:
        span = self._text.exactly(node) or place_beside(self._text, node)
        if span is None:
            raise self._refused(node, "Comparing the time dimension with this")
        if isinstance(node, exp.CurrentDate):
            span = self._text.with_parentheses(span)
        description = f"{self._text.text[span.start : span.end]} becomes {literal}"
        self._edits[span] = Edit(span, (literal,), f"{description} ({self._calendar.zone})")

    def _edit(self, use: TimeOf, group: TimeOf | None, extent: TimeRange) -> None:
        """Edits a use of t. If it is a function of ``group``, an instant by which the SELECT groups, it is computed
        from that instant.
        """
        span = self._text.span_of(use.column)
        if span is None:
            raise self._refused(use.column, "The position of the time dimension is unknown")
        name, zone = self._text.text[span.start : span.end], self._calendar.zone
        if use.utc is not None:
            call = self._text.call(use.utc)[0]
            self._edits[call] = Edit(call, (name,), f"{self._text.text[call.start : call.end]} becomes {name}, in UTC")
            return
        if group is not None and self._edit_function(use, group, Edit(span, (name,)), extent):
            return
        if use.date or use.value:
            wall = wall_time(self._calendar, name, extent)
            if wall != name:
                self._edits[span] = Edit(span, in_parentheses((wall,)), f"{name} becomes its wall time in {zone}")
        elif (edit := self._truncation(use, Edit(span, (name,)), extent)) is not None:
            self._edits[edit.span] = edit

    def _edit_function(self, use: TimeOf, group: TimeOf, time: Edit, extent: TimeRange) -> bool:
        """Edits a function of ``group``, an instant by which the SELECT groups, in which ``time`` is the edit of t.

        Returns False if the function cannot be computed from that instant.
        """
        if group.cut is None or group.unit is None:
            return False
        call = partial(self._truncated, group.cut)
        start = self._truncation(group, time, extent) or call(time)
        period, starts = self._calendar.of(group.unit), start.parts
        wall = wall_of_start(period, self._calendar, starts, extent, lambda moved: call(Edit(time.span, moved)).parts)
        if wall is None:
            return False
        if use.date or use.value:
            typed = self._text.text[start.span.start : start.span.end]
            edit = Edit(start.span, in_parentheses(wall), f"{typed} becomes its wall time in {self._calendar.zone}")
        else:
            edit = self._truncation(use, start, instants_of(period, extent)) or start
        self._edits[edit.span] = edit
        return True

    def _truncation(self, use: TimeOf, time: Edit, extent: TimeRange) -> Edit | None:
        """Returns the edit of a truncated time to the instant at which its unit of the zone begins; ``None`` if it is
        that of UTC. ``time`` is the edit of the time in it.
        """
        if use.cut is None or use.unit is None:
            return None
        pieces = truncations(self._calendar.of(use.unit), self._calendar, extent)
        if not any(offset or return_offset for _, (offset, return_offset) in pieces):
            return None
        if use.unit < UpdatePeriod.DAILY and self._calendar.since(use.unit) is not None:
            return None  # the zone's hours are UTC's hours
        cut = use.cut

        def rendered(offsets: tuple[int, ...]) -> tuple[Part, ...]:
            moved = self._truncated(cut, Edit(time.span, moved_parts(time.parts, offsets[0])))
            return moved_parts(moved.parts, -offsets[1])

        call = self._truncated(cut, time).span
        description = f"{self._text.text[call.start : call.end]} becomes that of {self._calendar.zone}"
        return Edit(call, cases(time.parts, pieces, rendered), description)

    def _truncated(self, cut: exp.Expr, time: Edit) -> Edit:
        """Returns the call that truncates a time, with the edit of the time made in it."""
        call = self._text.call(cut)[0]
        before, after = Span(call.start, time.span.start), Span(time.span.end, call.end)
        return Edit(call, (Copied(before), *time.parts, Copied(after)))

    def _name_items(self, select: exp.Select, edited_spans: Collection[Span]) -> None:
        """Keeps the name of an item of a select list that an edit changes."""

        def is_changed(item: exp.Expr, item_span: Span) -> bool:
            span = None if isinstance(item, exp.Column) else self._text.span_of(item)
            return span is not None and any(
                span.start <= edit.start < span.end or edit.start <= span.start < edit.end for edit in self._edits
            )

        name_positions = [span.start for span in edited_spans if span.start == span.end]
        for edit in list(item_name_edits(self._text, select, is_changed, name_positions)):
            self._edits[edit.span] = edit

    def _check_outside(self, names: set[str]) -> None:
        """Checks the uses outside the block. Its times are instants in UTC there, and may only be passed on and
        ordered.
        """
        own_select = self._block.select
        aliases = [column for column in own_columns(own_select) if not column.table and self._zone_of(column) is None]
        names |= self._check_passed(aliases, names)
        pending, visited = [(own_select, names)], {id(own_select)}
        while pending:
            inner_select, names = pending.pop()
            for outer_select in seeing(inner_select) if names else ():
                if id(outer_select) not in visited:
                    visited.add(id(outer_select))
                    inner_columns = (
                        column for query in inner_queries(outer_select) for column in query.find_all(exp.Column)
                    )
                    passed_names = self._check_passed([*own_columns(outer_select), *inner_columns], names)
                    for join in outer_select.args.get("joins") or ():
                        if any(name.name.lower() in names for name in join.args.get("using") or ()):
                            raise self._refused(outer_select, "USING over an instant")
                    stars = any(item.is_star for item in outer_select.expressions)
                    passed_on_names = (
                        passed_names | names | names_outside(outer_select.expressions[0]) if stars else passed_names
                    )
                    if passed_on_names:
                        self._check_place(outer_select)
                    pending.append((outer_select, passed_on_names))

    def _check_passed(self, columns: Sequence[exp.Column], names: set[str]) -> set[str]:
        """Returns the names under which the columns that are called ``names`` are passed on. Raises an error for other
        uses.
        """
        passed_names: set[str] = set()
        for column in columns:
            if id(column) in self._instants or column.name.lower() not in names | passed_names:
                continue
            parent = passed_on(column).parent
            if not isinstance(parent, _PASSING):
                construct = f"{self._name(parent, column)} of {column.name}, an instant, outside the block that"
                hint = "Apply functions of time to the time dimension itself, where the cube is read."
                raise self._refused(column, f"{construct} reads the cube,", hint)
            passed_names |= names_outside(column)
        return passed_names

    def _name(self, node: exp.Expr | None, column: exp.Expr) -> str:
        """Returns the name of a column's function in the text, or a description of the node."""
        span = self._text.span_of(column)
        call = self._text.enclosing_call(span) if span is not None and isinstance(node, exp.Func) else None
        if call is not None:
            return self._text.text[call.start : call.end].split("(")[0].strip().upper()
        if node is None:
            return "Use"
        return _WORDS.get(exp.Add if isinstance(node, exp.Sub) else type(node), node.key.upper())

    def _refused(self, node: exp.Expr | None, construct: str, hint: str | None = None) -> Error:
        span = self._text.span_of(node) if node is not None else None
        return NotSupportedError(
            f"{construct} is not supported in a cube with a time zone ({self._calendar.zone}).",
            condition="ZONED_TIME",
            position=self._text.place(span) if span is not None else None,
            object=self._source.cube.name,
            hint=hint
            or "Functions such as date_trunc, to_date, year, hour and date_format follow the cube's zone; "
            "t itself is an instant in UTC.",
        )


# The present moment in a query over a cube with a zone. Today is the zone's date. Other functions that read it off a
# clock are refused, because both engines run in UTC.

_STEPS = (exp.Add, exp.Sub, exp.TimestampAdd)
_DATES = (exp.Cast, exp.TryCast, exp.TsOrDsToDate, exp.Date)


def calendar_of_today(text: QueryText, calendars: Collection[Calendar]) -> Calendar:
    """Returns the calendar of ``current_date`` in a query over cubes with these calendars.

    Raises ``NotSupportedError`` ZONED_TIME if they differ and the query uses the current date.
    """
    distinct = set(calendars)
    if len(distinct) > 1 and any(token.is_word("CURRENT_DATE", "CURDATE") for token in text.tokens):
        names = " and ".join(sorted(calendar.zone for calendar in distinct))
        raise _clock_refused(text, None, f"current_date with cubes of the zones {names}")
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
                raise _clock_refused(text, parent, "A function of the current time or of another instant", calendar)
        elif isinstance(node, _DATES) and _moves(node, zoned):
            raise _clock_refused(text, node, "The date of an instant", calendar)
        elif isinstance(node, SECONDS) and node.find(exp.Column) is None and not _is_same(node.this, zoned):
            raise _clock_refused(text, node, "Counting the seconds of a time without a zone", calendar)


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
                raise _clock_refused(text, node, "Counting the seconds of a column that is not a TIMESTAMP", calendar)


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


def _clock_refused(
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


# Seconds since 1970 of a zoned cube's time: the same number in every zone, until it is converted back to a time.

#: Functions of an instant that do not depend on a zone.
SECONDS = (exp.UnixMicros, exp.UnixMillis, exp.UnixSeconds, exp.StrToUnix)
#: The format argument of unix_timestamp(t), which applies to texts.
_DEFAULT_FORMAT = "%Y-%mstrict-%dstrict %Hstrict:%Mstrict:%Sstrict"
#: Expressions that compute a number from numbers, and from the numbers of a group.
_RECKONING = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Floor, exp.Ceil, exp.Abs)
#: Expressions that return one of several numbers; their conditions are checked on their own.
_CHOOSING = (exp.If, exp.Case, exp.Coalesce)
_ROLLING = (exp.Min, exp.Max, exp.Sum, exp.Avg, exp.Distinct)


def _is_taken_unchanged(use: TimeOf, parent: exp.Expr | None) -> bool:
    """Tests whether ``parent`` means the same in every zone: it passes a time on, groups by it, is a range of it, or
    writes its date as a text.
    """
    if isinstance(parent, _PASSING) or is_range(parent):
        return True
    if isinstance(parent, exp.Tuple) and isinstance(parent.parent, exp.GroupingSets | exp.Cube | exp.Rollup):
        return True
    return use.date and isinstance(parent, exp.Cast | exp.TryCast) and is_of_type(parent.args["to"], exp.DType.TEXT)


def _counts_seconds(node: exp.Expr | None, operand: exp.Expr) -> bool:
    """Tests whether a node is the seconds since 1970, or parts of them, of ``operand``, an instant."""
    if not isinstance(node, SECONDS) or node.this is not operand:
        return False
    return not isinstance(node, exp.StrToUnix) or node.text("format") in ("", _DEFAULT_FORMAT)


def _reckoned(node: exp.Expr) -> exp.Expr:
    """Returns the outermost arithmetic expression around a number."""
    while (parent := node.parent) is not None:
        number = isinstance(parent, exp.Cast | exp.TryCast) and is_of_type(
            parent.args["to"], *exp.DataType.NUMERIC_TYPES
        )
        if not number and not isinstance(parent, (*_RECKONING, *_CHOOSING, *_ROLLING)):
            break
        node = parent
    return node


def _seconds_above(node: exp.Expr) -> exp.Expr:
    """Returns the arithmetic around the seconds of an instant; the instant itself if its seconds are not counted."""
    return _reckoned(node.parent) if isinstance(node.parent, SECONDS) else node


def _is_reckoned(node: exp.Expr, instants: Collection[int]) -> bool:
    """Tests whether a node is a number computed from numbers, columns and seconds of instants (``id`` of their
    columns).
    """
    if isinstance(node, _RECKONING):
        return all(_is_reckoned(operand, instants) for operand in node.iter_expressions())
    if isinstance(node, exp.Column) and isinstance(node.parent, SECONDS):
        return id(node) in instants
    if isinstance(node, SECONDS):
        return _counts_seconds(node, node.this) and _is_reckoned(node.this, instants)
    return isinstance(node, exp.Column | exp.Null) or (isinstance(node, exp.Literal) and not node.is_string)
