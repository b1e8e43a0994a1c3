"""Computes expressions over partition values and constants, as Spark computes them.

A timestamp is a ``datetime`` in UTC without a zone, whatever the zone of the clocks is; a date is a ``date``, a number
an ``int``; NULL is ``None``.
"""

from __future__ import annotations

import calendar
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import exp

from rewriter.certificate.evidence import NotUnderstood
from rewriter.certificate.periods import NESTS, floor, from_clocks, instant, moment, read_pattern, read_time, to_clocks
from rewriter.lazy_dataclass import dataclass

#: Values by column, in lower case.
Values = Mapping[str, Any]
Compute = Callable[[Values], Any]

_COMPARISONS: Mapping[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq, exp.NEQ: operator.ne, exp.LT: operator.lt, exp.LTE: operator.le, exp.GT: operator.gt,
    exp.GTE: operator.ge,
}  # fmt: skip
#: The periods to which the units of ``date_trunc`` cut a time.
UNITS = {
    "YEAR": "YEARLY", "YYYY": "YEARLY", "YY": "YEARLY", "QUARTER": "QUARTERLY", "MONTH": "MONTHLY", "MM": "MONTHLY",
    "MON": "MONTHLY", "WEEK": "WEEKLY", "DAY": "DAILY", "DD": "DAILY", "HOUR": "HOURLY", "MINUTE": "MINUTELY",
}  # fmt: skip
_RELATIVE = re.compile(r"now(?:\.(\w+))?((?:\s*[+-]\s*\d+\s*\w+)*)")
#: Units of intervals: those of a length, and those of the calendar in months.
_LENGTHS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_INTERVAL_UNITS = (*_LENGTHS, *_MONTHS, "DAY", "WEEK")
_FIELDS: Mapping[type[exp.Expr], Callable[[datetime], int]] = {
    exp.Year: lambda at: at.year, exp.Quarter: lambda at: (at.month + 2) // 3, exp.Month: lambda at: at.month,
    exp.Day: lambda at: at.day, exp.DayOfMonth: lambda at: at.day, exp.Hour: lambda at: at.hour,
    exp.Minute: lambda at: at.minute, exp.DayOfWeek: lambda at: at.isoweekday() % 7 + 1,
    exp.DayOfYear: lambda at: at.timetuple().tm_yday, exp.WeekOfYear: lambda at: at.isocalendar().week,
}  # fmt: skip
#: The letters of ``date_format`` that show fields of a fixed width, the longest unit first.
_SHOWN: Mapping[str, Callable[[datetime], str]] = {
    "yyyy": lambda at: f"{at.year:04}", "MM": lambda at: f"{at.month:02}", "dd": lambda at: f"{at.day:02}",
    "HH": lambda at: f"{at.hour:02}", "mm": lambda at: f"{at.minute:02}", "ss": lambda at: f"{at.second:02}",
}  # fmt: skip
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
#: The types of columns whose values are computed, beside VARCHAR.
_TYPES = (*_INTEGERS, "date", "timestamp", "string")


@dataclass(frozen=True)
class _Span:
    """The value of INTERVAL."""

    count: int
    unit: str


def typed_values(columns: Sequence[Sequence[Any]], values: Sequence[str | None]) -> dict[str, Any]:
    """Returns the values of a partition by column: those of types whose comparisons are known. ``columns`` are names
    and types, ``values`` texts of the catalog.
    """
    return {
        name.lower(): None if text is None else _typed(text, type.lower())
        for (name, type, *_), text in zip(columns, values, strict=True)
        if type.lower() in _TYPES or type.lower().startswith("varchar")
    }


def _typed(text: str, type: str) -> Any:
    if type in _INTEGERS:
        return int(text)
    if type == "date":
        return date.fromisoformat(text)
    return datetime.fromisoformat(text) if type == "timestamp" else text


#: What sqlglot reads in another way than Spark: years of weeks in patterns, and the ends of such comments.
_UNCLEAR = re.compile(r"'[yMdHhmsS/:T. -]*Y[YyMdHhmsS/:T. -]*'|--[^\n]*\\\n")


@lru_cache(maxsize=256)
def tree_of(text: str) -> exp.Expr:
    """Returns the tree of a text. It is not to be changed: each text is read once."""
    if _UNCLEAR.search(text):
        raise NotUnderstood("a pattern of years of weeks, or a comment that ends in a backslash")
    dialect = sqlglot.Dialect.get_or_raise("spark")
    tokens: list[Any] = dialect.tokenize(text)
    for token, following in pairwise(tokens):
        is_call = token.token_type is sqlglot.TokenType.VAR and following.token_type is sqlglot.TokenType.L_PAREN
        if is_call and token.text.upper() == "PERCENTILE":
            token.text = _PERCENTILE
    trees = dialect.parser().parse(tokens, text)
    if len(trees) != 1 or trees[0] is None:
        raise NotUnderstood("a text that is not one statement")
    return _with_aggregates(trees[0])


#: Stands for PERCENTILE, of which sqlglot would drop the third argument.
_PERCENTILE = "rw_percentile"


def _with_aggregates(tree: exp.Expr) -> exp.Expr:
    """Makes aggregates of THETA_UNION_AGG, THETA_SKETCH_AGG and PERCENTILE with frequencies, which sqlglot lacks."""
    for node in list(tree.find_all(exp.Anonymous)):
        if isinstance(node.parent, exp.Dot):
            continue
        if node.name.lower() in ("theta_union_agg", "theta_sketch_agg"):
            aggregate: exp.Expr = exp.AnonymousAggFunc(this=node.this, expressions=node.expressions)
        elif node.name == _PERCENTILE and len(node.expressions) == 2:
            aggregate = exp.Quantile(this=node.expressions[0], quantile=node.expressions[1])
        elif node.name == _PERCENTILE:
            aggregate = exp.AnonymousAggFunc(this="percentile", expressions=node.expressions)
        else:
            continue
        node.replace(aggregate)
        tree = aggregate if node is tree else tree
    return tree


class ComputedExpressions:
    """Computes expressions on the clocks of a zone, at the time ``now`` in microseconds; ``None`` for no clock."""

    def __init__(self, zone: str = "UTC", now: int | None = None) -> None:
        self._zone, self._now = zone, now

    def read(self, node: exp.Expr) -> Compute:
        """Returns a function that computes an expression from values. Raises ``NotUnderstood``."""
        kind = type(node)
        has_format = node.args.get("format") and kind not in (exp.StrToTime, exp.TimeToStr, exp.TsOrDsToDate)
        if node.args.get("zone") or has_format:
            raise _not_understood(node)
        if isinstance(node, exp.Paren | exp.TimeStrToTime | exp.TsOrDsToTimestamp):
            return self.read(node.this)
        if isinstance(node, exp.Column):
            return self._column(node)
        if kind in _COMPARISONS:
            if isinstance(node.this, exp.Column) and not node.expression.find(exp.Column):
                return self._comparison(node.this.name.lower(), _COMPARISONS[kind], self.constant(node.expression))
            return self._call(self._compared(_COMPARISONS[kind]), node.this, node.expression)
        if isinstance(node, exp.And | exp.Or):
            return self._junction(node)
        if kind in _FIELDS:
            return self._call(lambda value: _FIELDS[kind](self._shown(value)), node.this)
        reader = self._READERS.get(kind)
        if reader is None:
            raise _not_understood(node)
        return reader(self, node)

    def constant(self, node: exp.Expr) -> Any:
        """Returns the value of an expression without columns."""
        return self.read(node)({})

    def instant(self, node: exp.Expr) -> int | None:
        """Returns the time that a constant is beside a time; ``None`` for NULL, and for a text that is no time."""
        value = self.constant(node)
        at = self._timestamp(value) if isinstance(value, str | date) else None
        return None if at is None else instant(at)

    def day(self, node: exp.Expr) -> date | None:
        """Returns the day that a constant is beside a date: a text means the day that it names. ``None`` for NULL, for
        a text that is no day, and for a timestamp inside a day.
        """
        value = self.constant(node)
        is_inside = isinstance(value, datetime) and to_clocks(instant(value), self._zone).time() != time.min
        return self._date(value) if isinstance(value, str | date) and not is_inside else None

    def bound(self, node: exp.Expr) -> int | None:
        """Returns the time of a bound of ``time_range_in``, such as '2013-01' or 'now.day - 7 days'."""
        matched = _RELATIVE.fullmatch(node.name.strip().lower()) if node.is_string else None
        if matched is None or self._now is None:
            return None if node.find(exp.Column, exp.Query) else self.instant(node)
        unit, steps = matched.groups()
        if unit is not None and unit.upper() not in UNITS:
            return None
        at = self._now if unit is None else floor(UNITS[unit.upper()], self._zone, self._now)
        value = moment(at)
        for sign, count, step in re.findall(r"([+-])\s*(\d+)\s*(\w+)", steps):
            span = _Span(int(count) * (-1 if sign == "-" else 1), step.upper().removesuffix("S"))
            if span.unit not in _INTERVAL_UNITS:
                return None
            value = self._added(value, span)
        return instant(value)

    # -- Values ---------------------------------------------------------------------------------------------------

    def _call(self, function: Callable[..., Any], *nodes: exp.Expr) -> Compute:
        """Returns the call of a function whose result is NULL where an argument is."""
        arguments = [self.read(node) for node in nodes]

        def compute(values: Values) -> Any:
            computed = [argument(values) for argument in arguments]
            return None if None in computed else function(*computed)

        return compute

    def _column(self, node: exp.Column) -> Compute:
        name = node.name.lower()

        def compute(values: Values) -> Any:
            if name not in values:
                raise _not_understood(node)
            return values[name]

        return compute

    def _literal(self, node: exp.Literal) -> Compute:
        if not node.is_string and not re.fullmatch("[0-9]+", node.name):
            raise _not_understood(node)
        value = node.name if node.is_string else int(node.name)
        return lambda _: value

    def _timestamp(self, value: Any) -> datetime | None:
        """Returns a value as a timestamp; ``None`` for a text that is none."""
        if isinstance(value, datetime):
            return value
        if isinstance(value, date):
            return moment(from_clocks(datetime(value.year, value.month, value.day), self._zone))
        if not isinstance(value, str):
            raise NotUnderstood(f"{value!r} as a time")
        at = read_time(value, self._zone)
        return None if at is None else moment(at)

    def _shown(self, value: Any) -> datetime:
        """Returns what the clocks show at a timestamp or a text that is one, or the first moment of a date."""
        if isinstance(value, date) and not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)
        at = self._timestamp(value)
        if at is None:
            raise NotUnderstood(f"{value!r} as a time")
        return to_clocks(instant(at), self._zone)

    def _date(self, value: Any) -> date | None:
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        if isinstance(value, str):  # The clocks of the zone may have skipped the day that the text names.
            day = read_time(re.split("[ T]", value.strip())[0], "UTC")
            return None if day is None else moment(day).date()
        at = self._timestamp(value)
        return None if at is None else to_clocks(instant(at), self._zone).date()

    def _compared(self, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
        """Returns a comparison: of a number and a text by numbers, of a time and a text by times."""

        def compared(left: Any, right: Any) -> bool:
            if type(left) is not type(right):
                left, right = self._alike(left, right), self._alike(right, left)
            if type(left) is not type(right):
                raise NotUnderstood(f"the comparison of {left!r} with {right!r}")
            return compare(left, right)

        return compared

    def _comparison(self, name: str, compare: Callable[[Any, Any], bool], constant: Any) -> Compute:
        """Returns the comparison of a column with a constant, as most conditions of partitions are."""
        compared, kind = self._compared(compare), type(constant)

        def compute(values: Values) -> bool | None:
            value = values[name]
            if type(value) is kind:
                return compare(value, constant)
            return None if value is None or constant is None else compared(value, constant)

        return compute

    def _alike(self, value: Any, other: Any) -> Any:
        """Returns a value with the type of another one, or with the type to which both are cast."""
        if isinstance(value, str) and isinstance(other, int):
            return _whole_number("bigint", value)
        if isinstance(other, datetime):
            converted: date | None = self._timestamp(value)
        elif isinstance(other, date) and isinstance(value, str):
            converted = self._date(value)
        else:
            return value
        if converted is None:
            raise NotUnderstood(f"{value!r} as a time")
        return converted

    # -- Operators ------------------------------------------------------------------------------------------------

    def _junction(self, node: exp.And | exp.Or) -> Compute:
        kind, decisive = type(node), isinstance(node, exp.Or)
        left: list[exp.Expr] = [node]
        parts: list[Compute] = []
        while left:
            part = left.pop().unnest()
            if type(part) is kind:
                left += [part.expression, part.this]
            else:
                parts.append(self.read(part))

        def compute(values: Values) -> bool | None:
            result: bool | None = not decisive
            for index, part in enumerate(parts):
                value = part(values)
                if value is None:
                    result = None
                elif not isinstance(value, bool):
                    raise NotUnderstood(f"{value!r} as a condition")
                elif value is decisive:
                    if index:  # It will decide about the next partition, too.
                        parts.insert(0, parts.pop(index))
                    return decisive
            return result

        return compute

    def _in(self, node: exp.In) -> Compute:
        if node.args.get("query") or node.args.get("unnest"):
            raise _not_understood(node)
        equals = [self.read(exp.EQ(this=node.this.copy(), expression=option.copy())) for option in node.expressions]

        def compute(values: Values) -> bool | None:
            results = [equal(values) for equal in equals]
            return True if True in results else None if None in results else False

        return compute

    def _between(self, node: exp.Between) -> Compute:
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        return self.read(exp.And(this=low, expression=high))

    def _case(self, node: exp.Case) -> Compute:
        if node.this is not None:
            raise _not_understood(node)
        branches = [(self.read(branch.this), self.read(branch.args["true"])) for branch in node.args["ifs"]]
        default = self.read(node.args["default"]) if node.args.get("default") is not None else lambda _: None
        return lambda values: next((value for test, value in branches if test(values)), default)(values)

    def _cast(self, node: exp.Cast) -> Compute:
        target = node.to.sql("spark").lower()
        if target in _INTEGERS:
            return self._call(partial(_whole_number, target), node.this)
        if target in ("timestamp", "date"):
            return self._call(self._timestamp if target == "timestamp" else self._date, node.this)
        if target != "string":
            raise _not_understood(node)
        return self._call(self._as_text, node.this)

    def _as_text(self, value: Any) -> str:
        if isinstance(value, datetime):
            shown = self._shown(value)
            fraction = f"{shown.microsecond:06}".rstrip("0")
            return f"{shown.isoformat(' ', 'seconds')}{'.' if fraction else ''}{fraction}"
        return value.isoformat() if isinstance(value, date) else _text(value)

    def _formatted(self, node: exp.TimeToStr) -> Compute:
        pattern = pattern_of(node)
        parts = re.findall(r"yyyy|MM|dd|HH|mm|ss|[^A-Za-z']", pattern or "")
        if not pattern or "".join(parts) != pattern:
            raise _not_understood(node)

        def formatted(value: Any) -> str:
            shown = self._shown(value)
            return "".join(_SHOWN[part](shown) if part in _SHOWN else part for part in parts)

        return self._call(formatted, node.this)

    def _parsed(self, node: exp.StrToTime) -> Compute:
        pattern = pattern_of(node)
        if pattern is None:
            raise _not_understood(node)

        def parse(text: Any) -> datetime | None:
            shown = read_pattern(pattern, str(text))
            return None if shown is None else moment(from_clocks(shown, self._zone))

        return self._call(parse, node.this)

    def _to_date(self, node: exp.TsOrDsToDate) -> Compute:
        if not node.args.get("format"):
            return self._call(self._date, node.this)
        pattern = pattern_of(node)
        if pattern is None:
            raise _not_understood(node)

        def parse(text: Any) -> date | None:
            shown = read_pattern(pattern, text) if isinstance(text, str) else self._shown(text)
            return None if shown is None else shown.date()

        return self._call(parse, node.this)

    def _truncated(self, node: exp.TimestampTrunc | exp.DateTrunc) -> Compute:
        period = UNITS.get(node.text("unit").upper())
        if period is None:
            raise _not_understood(node)

        def cut(value: Any) -> datetime:
            shown = instant(self._shown(value))  # A period of the clocks, hours and minutes included.
            return moment(from_clocks(moment(floor(period, "UTC", shown)), self._zone))

        return self._call(cut if isinstance(node, exp.TimestampTrunc) else lambda v: self._date(cut(v)), node.this)

    def _added(self, value: Any, span: _Span) -> Any:
        """Adds an interval: days and longer units on the clocks of the zone."""
        if span.unit in _LENGTHS:
            at = self._timestamp(value)
            return None if at is None else at + timedelta(seconds=span.count * _LENGTHS[span.unit])
        shown = self._shown(value)
        if span.unit in _MONTHS:
            months = shown.year * 12 + shown.month - 1 + span.count * _MONTHS[span.unit]
            year, month = months // 12, months % 12 + 1
            moved = shown.replace(year=year, month=month, day=min(shown.day, calendar.monthrange(year, month)[1]))
        else:
            moved = shown + timedelta(days=span.count * {"DAY": 1, "WEEK": 7}[span.unit])
        is_date = isinstance(value, date) and not isinstance(value, datetime)
        return moved.date() if is_date else moment(from_clocks(moved, self._zone))

    def _sum(self, left: Any, right: Any, sign: int) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            return left + sign * right
        if isinstance(right, int) and isinstance(left, date) and not isinstance(left, datetime):
            right = _Span(right, "DAY")
        if isinstance(right, _Span) and isinstance(left, date | str):
            return self._added(left, _Span(sign * right.count, right.unit))
        raise NotUnderstood(f"the sum of {left!r} and {right!r}")

    def _interval(self, node: exp.Interval) -> Compute:
        unit, number = _unit(node), node.this
        count = self.read(exp.Literal.number(number.name) if isinstance(number, exp.Literal) else number)
        return lambda values: _Span(count(values), unit)

    def _timestampadd(self, node: exp.TimestampAdd) -> Compute:
        unit = _unit(node)
        # A date becomes the timestamp of its first moment.
        return self._call(
            lambda value, count: self._added(self._timestamp(value), _Span(count, unit)), node.this, node.expression
        )

    def _with_months(self, value: Any, count: Any) -> date | None:
        day = self._date(value)
        added: date | None = None if day is None else self._added(day, _Span(_integer(count), "MONTH"))
        return added

    def _days_added(self, node: exp.TsOrDsAdd) -> Compute:
        if _unit(node) != "DAY":
            raise _not_understood(node)
        return self._call(lambda v, count: self._sum(self._date(v), count, 1), node.this, node.expression)

    def _from_parts(self, node: exp.TimestampFromParts) -> Compute:
        names = ("year", "month", "day", "hour", "min", "sec")
        if any(value for name, value in node.args.items() if name not in names):
            raise _not_understood(node)
        parts = [node.args[name] for name in names]
        return self._call(lambda *numbers: moment(from_clocks(datetime(*numbers), self._zone)), *parts)

    def _clock(self, node: exp.Expr) -> Compute:
        if self._now is None:
            raise _not_understood(node)
        now = moment(self._now)
        value = self._date(now) if isinstance(node, exp.CurrentDate) else now
        return lambda _: value

    def _function(self, node: exp.Anonymous) -> Compute:
        if node.name.lower() == "now" and not node.expressions:
            return self._clock(node)
        if node.name.lower() == "make_date" and len(node.expressions) == 3:
            return self._call(date, *node.expressions)
        raise _not_understood(node)

    _READERS: Mapping[type[exp.Expr], Callable[[Any, Any], Compute]] = {
        exp.Literal: _literal,
        exp.Null: lambda self, node: lambda _: None,
        exp.Not: lambda self, node: self._call(operator.not_, node.this),
        exp.Is: lambda self, node: self._is_null(node),
        exp.In: _in,
        exp.Between: _between,
        exp.Case: _case,
        exp.Cast: _cast,
        exp.TryCast: _cast,
        exp.TsOrDsToDate: lambda self, node: self._to_date(node),
        exp.Date: lambda self, node: self._call(self._date, node.this),
        exp.StrToTime: _parsed,
        exp.TimeToStr: _formatted,
        exp.Concat: lambda self, node: self._call(lambda *parts: "".join(map(_text, parts)), *node.expressions),
        exp.Substring: lambda self, node: self._substring(node),
        exp.RegexpLike: lambda self, node: self._matches(node),
        exp.TimestampTrunc: _truncated,
        exp.DateTrunc: _truncated,
        exp.TimestampAdd: _timestampadd,
        exp.TsOrDsAdd: _days_added,
        exp.AddMonths: lambda self, node: self._call(self._with_months, node.this, node.expression),
        exp.TimestampFromParts: _from_parts,
        exp.Interval: _interval,
        exp.Add: lambda self, node: self._call(lambda a, b: self._sum(a, b, 1), node.this, node.expression),
        exp.Sub: lambda self, node: self._call(lambda a, b: self._sum(a, b, -1), node.this, node.expression),
        exp.Mul: lambda self, node: self._call(lambda a, b: _integer(a) * _integer(b), node.this, node.expression),
        exp.IntDiv: lambda self, node: self._call(lambda a, b: _divided(a, b)[0], node.this, node.expression),
        exp.Mod: lambda self, node: self._call(lambda a, b: _divided(a, b)[1], node.this, node.expression),
        exp.Neg: lambda self, node: self._call(lambda a: -_integer(a), node.this),
        exp.CurrentDate: _clock,
        exp.CurrentTimestamp: _clock,
        exp.Anonymous: _function,
    }

    def _is_null(self, node: exp.Is) -> Compute:
        if not isinstance(node.expression, exp.Null):
            raise _not_understood(node)
        value = self.read(node.this)
        return lambda values: value(values) is None

    def _substring(self, node: exp.Substring) -> Compute:
        if node.args.get("length") is None:
            raise _not_understood(node)
        return self._call(
            lambda text, start, length: _text(text)[_positive(start) - 1 : start - 1 + _positive(length)],
            node.this, node.args["start"], node.args["length"],
        )  # fmt: skip

    def _matches(self, node: exp.RegexpLike) -> Compute:
        pattern = node.expression.name if node.expression.is_string else ""
        if not re.fullmatch(r"\^(?:[\w\-: ]|\[\d-\d\](?:\{\d\})?)+\$", pattern):
            raise _not_understood(node)
        compiled = re.compile(pattern)
        return self._call(lambda text: compiled.fullmatch(_text(text)) is not None, node.this)


#: A number, a text, a quoted name, a name, a symbol. No comment, and no text with a backslash or a quote in it.
_TOKEN = re.compile(
    r"\s*(?:(\d+)(?![\w.])|('[^'\\]*')(?!')|(`[^`]+`)|([A-Za-z_]\w*)(?!')|"
    r"(<=|>=|<>|[=<>(),.+%]|\*(?!/)|/(?!\*)|-(?!-)))",
    re.ASCII,
)
_OPERATORS: Mapping[str, type[exp.Binary]] = {
    "=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE,
}  # fmt: skip


@dataclass(frozen=True)
class _Words:
    """The tokens of a text, keywords and names in capitals, and where they end; parentheses are in pairs."""

    tokens: Sequence[str]
    ends: Sequence[int]
    #: How many parentheses are open behind each token.
    depths: Sequence[int]

    def outermost(self, *words: str) -> list[int]:
        """Returns where a sequence of words stands outside of parentheses."""
        return [
            index
            for index, token in enumerate(self.tokens)
            if token == words[0] and not self.depths[index] and (*self.tokens[index : index + len(words)],) == words
        ]


@lru_cache(maxsize=16)
def _words_of(text: str) -> _Words | None:
    """Returns the tokens of a text; ``None`` where it has others than these."""
    tokens, ends, depths, position, depth = list[str](), list[int](), list[int](), 0, 0
    while position < len(text):
        matched = _TOKEN.match(text, position)
        if matched is None:
            return None
        position = matched.end()
        token = matched[4].upper() if matched[4] else matched[matched.lastindex or 0]
        depth += (token == "(") - (token == ")")
        if depth < 0:
            return None
        tokens.append(token)
        ends.append(position)
        depths.append(depth)
    return _Words(tokens, ends, depths) if depth == 0 else None


def union_in(text: str) -> str | None:
    """Returns the query in ``(query)`` and ``(query) AS name``; ``None`` for another text."""
    words = _words_of(text)
    if words is None or words.tokens[:2] != ["(", "SELECT"] or not text.startswith("("):
        return None
    last = words.depths.index(0)
    is_named = len(words.tokens) == last + 3 and words.tokens[last + 1] == "AS"
    return text[1 : words.ends[last] - 1] if is_named or len(words.tokens) == last + 1 else None


@dataclass(frozen=True)
class ArmQuery:
    """A query of a union in place of a cube, and its condition. ``text`` is that of both, if it is known. A query whose
    condition has rare words has it in its own tree. The trees are not to be changed.
    """

    query: exp.Expr
    condition: exp.Expr | None
    text: str | None


@lru_cache(maxsize=64)
def arms_in(union: str) -> Sequence[ArmQuery]:
    """Returns the queries of a union that ``union_in`` has returned."""
    words = _words_of(union)
    assert words is not None
    arms = list[ArmQuery]()
    starts = [0, *(index + 2 for index in words.outermost("UNION", "ALL"))]
    wheres = words.outermost("WHERE")
    for start, behind in zip(starts, [*(start - 2 for start in starts[1:]), len(words.tokens)], strict=True):
        begin, end = (words.ends[start - 1] if start else 0), words.ends[behind - 1]
        where = next((index for index in wheres if start < index < behind), behind)
        condition = _condition_in([*words.tokens[where + 1 : behind], ""]) if where < behind else None
        head = union[begin : end if condition is None else words.ends[where - 1]]
        arms.append(ArmQuery(tree_of(head), condition, union[begin:end]))
    return arms


#: Names that are no columns.
_KEYWORDS = {"NOT", "CASE", "CAST", "TRUE", "FALSE", "NULL", "EXISTS", "INTERVAL", "CURRENT_DATE", "CURRENT_TIMESTAMP"}


def _condition_in(tokens: Sequence[str]) -> exp.Expr | None:
    """Returns the tree of comparisons of columns with literals, under AND and OR; ``None`` for another condition."""
    try:
        condition, end = _junction(tokens, 0)
    except NotUnderstood:
        return None
    return condition if tokens[end] == "" else None


#: The words that join conditions, and those that bind more strongly behind them.
_JUNCTIONS: Sequence[tuple[str, type[exp.Binary]]] = (("OR", exp.Or), ("AND", exp.And))


def _junction(tokens: Sequence[str], at: int, level: int = 0) -> tuple[exp.Expr, int]:
    if level == len(_JUNCTIONS):
        return _comparison(tokens, at)
    word, kind = _JUNCTIONS[level]
    node, at = _junction(tokens, at, level + 1)
    while tokens[at] == word:
        right, at = _junction(tokens, at + 1, level + 1)
        node = kind(this=node, expression=right)
    return node, at


def _comparison(tokens: Sequence[str], at: int) -> tuple[exp.Expr, int]:
    if tokens[at] == "(":
        node, at = _junction(tokens, at + 1)
        if tokens[at] != ")":
            raise NotUnderstood(tokens[at])
        return node, at + 1
    name, operator = tokens[at], tokens[at + 1] if tokens[at] else ""
    is_name = name.startswith("`") or (name.isidentifier() and name not in _KEYWORDS)
    kind = _OPERATORS.get(operator)
    if not is_name or (kind is None and operator != "IN"):
        raise NotUnderstood(name)
    column = exp.Column(this=exp.Identifier(this=name.strip("`")))
    if kind is not None:
        literal, at = _literal(tokens, at + 2)
        return kind(this=column, expression=literal), at
    options, separator, at = list[exp.Expr](), "", at + 2
    while separator != ")":
        if tokens[at] != ("," if options else "("):
            raise NotUnderstood(tokens[at])
        option, at = _literal(tokens, at + 1)
        options.append(option)
        separator = tokens[at]
    return exp.In(this=column, expressions=options), at + 1


def _literal(tokens: Sequence[str], at: int) -> tuple[exp.Expr, int]:
    if tokens[at] == "DATE" and tokens[at + 1].startswith("'"):
        day, at = _literal(tokens, at + 1)
        return exp.TsOrDsToDate(this=day), at
    token = tokens[at]
    if not token.isdigit() and not token.startswith("'"):
        raise NotUnderstood(token)
    return exp.Literal(this=token.strip("'"), is_string=not token.isdigit()), at + 1


def unit_of_pattern(node: exp.TimeToStr) -> str | None:
    """Returns the shortest unit that the pattern of ``date_format`` shows; ``None`` for other letters."""
    pattern = pattern_of(node)
    letters = set(re.sub(r"'[^']*'|[^A-Za-z]", "", pattern)) if pattern is not None else {"?"}
    if not letters <= _LETTERS.keys():
        return None
    return min((_LETTERS[letter] for letter in letters), key=tuple(NESTS).index, default=None)


_LETTERS = {
    "y": "YEARLY",
    "M": "MONTHLY",
    "d": "DAILY",
    "H": "HOURLY",
    "m": "MINUTELY",
    "Q": "QUARTERLY",
    "q": "QUARTERLY",
}


def pattern_of(node: exp.StrToTime | exp.TimeToStr | exp.TsOrDsToDate) -> str | None:
    """Returns Spark's pattern of a time; ``None`` for one that is computed."""
    # sqlglot keeps the pattern in another notation: its own text has Spark's.
    matched = re.search(r"'((?:[^']|'')*)'\)$", node.sql("spark"))
    return None if matched is None else matched[1].replace("''", "'")


def is_ordered_text(node: exp.Expr) -> bool:
    """Tests for a text of a time whose order is that of the times: its fields from the year on, apart or together."""
    if isinstance(node, exp.Cast):
        return node.to.sql("spark").lower() == "string"
    pattern = pattern_of(node) if isinstance(node, exp.TimeToStr) else None
    fields = re.findall(r"yyyy|MM|dd|HH|mm|ss|[A-Za-z']", pattern or "")
    return bool(fields) and fields == [*_SHOWN][: len(fields)]


def period_of_unit(node: exp.Expr) -> str | None:
    """Returns the period to which ``date_trunc`` cuts a time; ``None`` for anything else."""
    return UNITS.get(node.text("unit").upper()) if isinstance(node, exp.TimestampTrunc) else None


def _not_understood(node: exp.Expr) -> NotUnderstood:
    return NotUnderstood(f"the expression {node.sql('spark')[:80]}")


def _unit(node: exp.Expr) -> str:
    unit = node.text("unit").upper().removesuffix("S")
    if unit not in _INTERVAL_UNITS:
        raise _not_understood(node)
    return unit


def _divided(dividend: Any, divisor: Any) -> tuple[int, int]:
    """Returns the quotient without its fraction and the remainder, which has the sign of the dividend."""
    a, b = _integer(dividend), _integer(divisor)
    if b == 0:
        raise NotUnderstood("a division by zero")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - b * quotient


def _positive(value: Any) -> int:
    if _integer(value) < 1:
        raise NotUnderstood(f"{value!r} as a position")
    return int(value)


def _whole_number(type: str, value: Any) -> int:
    """Returns a number or its digits as an integer of a type; what Spark refuses or cuts is not understood."""
    is_digits = isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value) is not None
    number = int(value) if is_digits else _integer(value)
    if abs(number) >= 1 << (7, 15, 31, 63)[_INTEGERS.index(type)]:
        raise NotUnderstood(f"{value!r} as a number")
    return number


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise NotUnderstood(f"{value!r} as a number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise NotUnderstood(f"{value!r} as a text")
    return str(value)
