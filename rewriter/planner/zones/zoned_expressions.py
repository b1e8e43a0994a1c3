"""The functions around a zoned cube's time dimension in the text, and the places that their values reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, assert_never

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.scope.projections import own_nodes
from rewriter.planner.text.literals import timestamp_literal
from rewriter.planner.text.sqlglot_trees import TIMESTAMPS, is_of_type
from rewriter.planner.time.constant_folding import Constant, Kind
from rewriter.planner.time.granularity import truncation, value_unit
from rewriter.timeline.calendars import Calendar, Period, Transition, ZonedPeriod
from rewriter.timeline.civil import HOUR, MINUTE, SECOND
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.planner.text.query_text import Part
    from rewriter.timeline.ranges import TimeRange
    from rewriter.timeline.timeline import OrdinalRange


@dataclass(frozen=True)
class TimeOf:
    """An occurrence of t. ``top`` is the outermost of the functions whose value is a time of it, ``cut`` the outermost
    date_trunc among them, and ``unit`` the unit that remains after all of them. ``date`` says that ``top`` is a DATE,
    ``value`` that it is neither a date nor a time. ``utc`` is the call of ``to_utc_timestamp`` among them: the
    functions around it read the clocks of UTC, or of the zone that ``from_utc_timestamp`` names.
    """

    column: exp.Expr
    top: exp.Expr
    cut: exp.Expr | None = None
    unit: UpdatePeriod | None = None
    date: bool = False
    value: bool = False
    utc: exp.FromTimeZone | None = None


def climbed(column: exp.Expr, last: exp.Expr | None = None) -> TimeOf:
    """Returns the functions around a column, as far as they are known, and up to ``last``."""
    use = TimeOf(column, column)
    while use.top is not last and use.top.parent is not None and not use.value:
        wider = _wider(use, use.top.parent)
        if wider is None:
            break
        use = wider
    return use


def own_columns(select: exp.Select) -> list[exp.Column]:
    """Returns the columns that a SELECT itself names."""
    return [node for node in own_nodes(select) if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star)]


def _wider(use: TimeOf, node: exp.Expr) -> TimeOf | None:
    """Returns the use of ``node``, a function of the given use; ``None`` if it is unknown."""
    operand = use.top
    if _is_same_kind(use, node):
        return replace(use, top=node)
    if isinstance(node, exp.FromTimeZone) and node.this is operand and not use.date and use.cut is None:
        return None if use.utc is not None else replace(use, top=node, utc=node)
    unit = truncation(node, operand)
    if isinstance(node, exp.TimestampTrunc):
        return None if unit is None or use.date else _truncate(use, node, unit)
    if unit is not None:
        return None if node.args.get("format") else replace(use, top=node, date=True)
    if _is_date_function(node, operand):
        return replace(use, top=node, date=True)
    return _read_value(use, node)


def _is_same_kind(use: TimeOf, node: exp.Expr) -> bool:
    """Tests whether ``node`` returns a time if the use is one, and a date if it is one."""
    operand = use.top
    match node:
        case exp.Paren() | exp.TimeStrToTime():
            return True
        case exp.AtTimeZone():  # the clocks of yet another zone
            return node.this is operand and use.utc is not None and not use.date
        case exp.Cast() | exp.TryCast():
            return not use.date and is_of_type(node.args["to"], *TIMESTAMPS)
        case exp.Add() | exp.Sub():
            return use.date and node.this is operand and _is_number(node.expression)
    return False


def _truncate(use: TimeOf, node: exp.TimestampTrunc, unit: UpdatePeriod) -> TimeOf | None:
    """Returns the use of a date_trunc of a time; ``None`` if its periods are not the periods of one unit."""
    if use.utc is not None:
        return replace(use, top=node)
    left = _left(use.unit, unit)
    return None if left is None else replace(use, top=node, cut=node, unit=left)


def _is_date_function(node: exp.Expr, operand: exp.Expr) -> bool:
    """Tests whether ``node`` returns another date than the operand's, in the same calendar."""
    match node:
        case exp.LastDay():
            return not node.args.get("unit")
        case exp.TsOrDsAdd():
            return node.text("unit").upper() in ("", "DAY") and node.this is operand
        case exp.AddMonths() | exp.NextDay():
            return node.this is operand
    return False


def _read_value(use: TimeOf, node: exp.Expr) -> TimeOf | None:
    """Returns the use of a function that reads a number or a text off a time's clocks; ``None`` for another one."""
    if isinstance(node, exp.Anonymous) and node.name.upper() in ("WINDOW", "TIME_BUCKET"):
        return None
    unit_of_value = value_unit(node, use.top)
    if unit_of_value is None or (use.unit is not None and unit_of_value < UpdatePeriod.DAILY <= use.unit):
        return None  # where a day begins with a gap, its first hour is not 0
    return replace(use, top=node, value=True)


def _left(unit: UpdatePeriod | None, cut: UpdatePeriod) -> UpdatePeriod | None:
    """Returns the remaining unit of a time that was cut to ``unit`` first and then to ``cut``."""
    if unit is None or unit.nests_in(cut):
        return cut
    return unit if cut >= UpdatePeriod.DAILY and cut.nests_in(unit) else None


def others(comparison: exp.Expr, operand: exp.Expr) -> Iterator[exp.Expr]:
    """Returns the other sides of a comparison. The value of a subquery among them is unknown."""
    for key, value in comparison.args.items():
        for side in value if isinstance(value, list) else [value]:
            if isinstance(side, exp.Expr) and not any(node is operand for node in side.walk()) and key != "symmetric":
                yield side


def passed_on(node: exp.Expr) -> exp.Expr:
    """Returns the outermost of parentheses and of MIN, MAX and windows over a value, which return such a value, too."""
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Min | exp.Max | exp.Distinct | exp.Filter | exp.Window):
        if parent.this is not node and not isinstance(parent, exp.Distinct):
            break  # a window is ordered or partitioned by it
        node, parent = parent, parent.parent
    return node


def is_range(node: exp.Expr | None) -> bool:
    """Tests whether a node is a call of time_range_in, which is read and edited separately (``time_usage``)."""
    return isinstance(node, exp.Anonymous) and node.name.upper() == "TIME_RANGE_IN"


def is_instant(node: exp.Expr, value: Constant) -> bool:
    """Tests whether a constant is the same instant in every zone: the present moment, or a parameter that is a time."""
    if isinstance(node, exp.Placeholder):
        return value.kind is Kind.TIMESTAMP
    now = isinstance(node, exp.Anonymous) and node.name.upper() == "NOW"
    return now or isinstance(node, exp.CurrentTimestamp)


def counts_days(node: exp.Ordered) -> bool:
    """Tests whether an order is the order of a window whose frame is an interval."""
    window = node.find_ancestor(exp.Window, exp.Select)
    return isinstance(window, exp.Window) and any(
        spec.find(exp.Interval) for spec in [window.args.get("spec")] if isinstance(spec, exp.Expr)
    )


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def names_outside(node: exp.Expr) -> set[str]:
    """Returns the names, in lower case, under which an item of a select list may be seen outside, if ``node`` is one;
    '' if it has no name.
    """
    item = node
    item = passed_on(item)
    item = item.parent if isinstance(item.parent, exp.Alias) else item
    select = item.parent
    if not isinstance(select, exp.Select) or item.arg_key != "expressions":
        return set()
    names = {item.alias_or_name.lower(), node.name.lower()}
    has_star = item.is_star or any(expression.is_star for expression in select.expressions)
    outer_node: exp.Expr | None = select.parent
    while isinstance(outer_node, exp.SetOperation | exp.Subquery | exp.CTE):
        outputs: list[exp.Expr] = []
        if isinstance(outer_node, exp.SetOperation):
            # The names come from its first SELECT.
            outputs = outer_node.selects
        elif isinstance(alias := outer_node.args.get("alias"), exp.TableAlias):
            outputs = alias.columns
        outputs_of_item = outputs if has_star else outputs[item.index or 0 : (item.index or 0) + 1]
        names |= {expression.alias_or_name.lower() for expression in outputs_of_item}
        outer_node = outer_node.parent
    return names


def seeing(select: exp.Select) -> Iterator[exp.Select]:
    """Returns the SELECTs that have this SELECT's result in their FROM."""
    node: exp.Expr = select
    while isinstance(node.parent, exp.SetOperation | exp.Subquery):
        node = node.parent
    outer_select = node.parent_select
    if isinstance(node.parent, exp.CTE):
        name = node.parent.alias.lower()
        for table in node.root().find_all(exp.Table):
            if table.name.lower() == name and table.parent_select is not None:
                yield table.parent_select
    elif isinstance(node.parent, exp.From | exp.Join | exp.Lateral) and outer_select is not None:
        yield outer_select


# Wall times and instants of a zone as Spark SQL, exact within a range of time.
#
# The changes of the offset inside the range are known (``timeline.calendars``), so they are written out as a CASE
# over instants. Both engines then agree with each other and with the plan, whatever zone tables they have.

#: The maximum number of offset changes in an expression. A century of summer times has 200.
_MOST_CHANGES = 1000

#: The first instant of a part (``None``: from the beginning), and the part's offsets in microseconds.
Piece = tuple[int | None, tuple[int, ...]]


def _moved_timestamp(expression: str, micros: int) -> str:
    """Returns a timestamp, moved later by whole seconds."""
    if not micros:
        return expression
    unit, length = next(
        (unit_length for unit_length in (("HOUR", HOUR), ("MINUTE", MINUTE)) if micros % unit_length[1] == 0),
        ("SECOND", SECOND),
    )
    return f"timestampadd({unit}, {micros // length}, {expression})"


def moved_parts(parts: Sequence[Part], micros: int) -> tuple[Part, ...]:
    """Returns the parts of a timestamp, moved later by whole seconds."""
    head, tail = _moved_timestamp("\0", micros).split("\0")
    return (head, *parts, tail) if micros else tuple(parts)


def in_parentheses(wall: tuple[Part, ...]) -> tuple[Part, ...]:
    """Returns a wall time that can stand in any expression."""
    return ("(", *wall, ")") if isinstance(wall[0], str) and wall[0].startswith("CASE") else wall


def offsets(calendar: Calendar, extent: TimeRange) -> list[Piece]:
    """Returns the zone's offset from UTC in each part of the range."""
    pieces: list[Piece] = [(None, (calendar.offset(extent.start),))]
    pieces += [(change.instant, (change.after,)) for change in _changes(calendar, extent.start + 1, extent.end)]
    return merged_pieces(pieces)


def truncations(period: Period, calendar: Calendar, extent: TimeRange) -> list[Piece]:
    """Returns, for each part of the range, the offset at an instant, and the offset that leads back from the start of
    its period.

    ``period`` is of the calendar. The starts of hours and minutes have the offset of the instant itself, as in Spark.
    """
    if isinstance(period, UpdatePeriod):
        return [(start, (offset, offset)) for start, (offset,) in offsets(calendar, extent)]
    if not isinstance(period, ZonedPeriod):
        assert_never(period)
    starts: list[int] = []
    for change in _changes(calendar, period.floor(extent.start), extent.end):
        ordinal = period.ordinal(change.instant)
        # After a gap at midnight, the day begins at another wall time than the days before and after it.
        starts += [change.instant, period.start(ordinal), period.start(ordinal + 1), period.start(ordinal + 2)]
    bounds = [None, *sorted({start for start in starts if extent.start < start < extent.end})]
    pieces: list[Piece] = []
    for bound in bounds:
        at = extent.start if bound is None else bound
        ordinal = period.ordinal(at)
        pieces.append((bound, (calendar.offset(at), period.kind.start(ordinal) - period.start(ordinal))))
    return merged_pieces(pieces)


def wall_time(calendar: Calendar, instant: str, extent: TimeRange) -> str:
    """Returns the wall time at an instant of the range, as a timestamp in UTC."""
    return _text(instant, offsets(calendar, extent))


def truncated_instant(unit: str, period: Period, calendar: Calendar, instant: str, extent: TimeRange) -> str:
    """Returns the first instant of the period around an instant of the range. ``unit`` is the name for date_trunc."""

    def rendered(shift: tuple[int, ...]) -> tuple[str]:
        return (_moved_timestamp(f"date_trunc('{unit}', {_moved_timestamp(instant, shift[0])})", -shift[1]),)

    pieces = truncations(period, calendar, extent) if isinstance(period, ZonedPeriod) else [(None, (0, 0))]
    return "".join(map(str, cases((instant,), pieces, rendered)))


def start_of(period: ZonedPeriod, wall: str, ranges: Sequence[OrdinalRange]) -> str:
    """Returns the first instant of the period that begins at the wall time, which is the wall time of one of the
    ordinals.
    """
    first, last = ranges[0].start, ranges[-1].end
    ordinals = {first}
    for change in _changes(period.calendar, period.start(first), period.start(last) + 1):
        # The start of the day after a change, or of the day that begins with a gap and of the one after it.
        ordinals |= {period.ordinal(change.instant) + step for step in (0, 1)}
    bounds = sorted(ordinal for ordinal in ordinals if first <= ordinal < last)
    pieces: list[Piece] = [
        (
            None if ordinal == first else period.kind.start(ordinal),
            (period.start(ordinal) - period.kind.start(ordinal),),
        )
        for ordinal in bounds
    ]
    return _text(wall, merged_pieces(pieces))


def _changes(calendar: Calendar, start: int, end: int) -> Iterator[Transition]:
    """Returns the changes of the offset in ``[start, end)``. Raises ``NotSupportedError`` if there are too many, before
    it searches all years up to a time like 9999.
    """
    for number, change in enumerate(calendar.transitions(start, end)):
        if number >= _MOST_CHANGES:
            raise NotSupportedError(
                f"The clocks of {calendar.zone} change too often in this range for a function of time.",
                condition="UNCERTAIN_TIME_ZONE",
                object=calendar.zone,
                hint="Use a shorter range.",
            )
        yield change


def merged_pieces(pieces: list[Piece]) -> list[Piece]:
    """Returns the pieces without the pieces that have the same offsets as the piece before."""
    return pieces[:1] + [piece for before, piece in pairwise(pieces) if piece[1] != before[1]]


def cases(
    subject: Sequence[Part], pieces: Sequence[Piece], rendered: Callable[[tuple[int, ...]], Sequence[Part]]
) -> tuple[Part, ...]:
    """Returns the rendered offsets of the part of the range in which the instant ``subject`` lies: a CASE, or a single
    expression.
    """
    if len(pieces) == 1:
        return tuple(rendered(pieces[0][1]))
    parts: list[Part] = ["CASE"]
    for (_, piece), (piece_start, _) in pairwise(pieces):
        parts += [" WHEN ", *subject, f" < {timestamp_literal(piece_start or 0)} THEN ", *rendered(piece)]
    return (*parts, " ELSE ", *rendered(pieces[-1][1]), " END")


def _text(subject: str, pieces: Sequence[Piece]) -> str:
    """Returns the subject, moved by the single offset of each piece."""
    return "".join(map(str, cases((subject,), pieces, lambda shift: [_moved_timestamp(subject, shift[0])])))
