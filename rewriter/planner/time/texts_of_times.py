"""Texts of times that sort like the times: ``date_format(t, 'yyyy-MM')`` and ``CAST(t AS STRING)``.

Fields that begin with a year of four digits and go down to a unit compare as texts like the times, in the years 1 to
9999. A constant may have fewer fields, ``'2013-02'``: it sorts before all texts that begin with it. One with more
fields sorts after the text that it begins with.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.text.sqlglot_trees import is_of_type
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timestamp_casts import timestamp_text

_P = UpdatePeriod
#: Returns the pattern of a date_format as it was typed, or ``None``.
PatternOf = Callable[[exp.TimeToStr], str | None]
_FIELDS = r"(?P<year>[1-9]\d\d\d)(?:{d}(?P<month>\d\d)(?:{d}(?P<day>\d\d)(?:{b}(?P<hour>\d\d)(?:{c}(?P<minute>\d\d)"
_FIELDS += r"(?:{c}(?P<second>\d\d))?)?)?)?)?"
_NAMES = ("year", "month", "day", "hour", "minute", "second")
_UNITS = (_P.YEARLY, _P.MONTHLY, _P.DAILY, _P.HOURLY, _P.MINUTELY)
_SPACED = re.compile(_FIELDS.format(d="-", b=" ", c=":"), re.ASCII)
_COMPACT = re.compile(_FIELDS.format(d="", b="", c=""), re.ASCII)


#: Comparisons with a text that sorts before all texts that begin with it, and with one after the text it begins with.
_BEFORE_TEXTS: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.GTE, exp.LTE: exp.LT}
_AFTER_TEXT: dict[type[exp.Expr], type[exp.Expr]] = {exp.GTE: exp.GT, exp.LT: exp.LTE}


@dataclass(frozen=True)
class TimeComparison:
    """A comparison of times that is equivalent to one of their texts; without an ``instant`` it is never true."""

    op: type[exp.Expr]
    instant: int | None


@dataclass(frozen=True)
class Texts:
    """The texts of a function of time: their first ``fields`` fields, with or without punctuation.

    ``sorted`` says that they sort like the times. If it is not known (``y`` does not pad the years before 1000), only
    ``=`` is.
    """

    fields: int
    shape: re.Pattern[str]
    sorted: bool

    @property
    def unit(self) -> UpdatePeriod | None:
        """The unit that decides the text; ``None`` if all of the time does."""
        return _UNITS[self.fields - 1] if self.fields <= len(_UNITS) else None

    def compared(self, op: type[exp.Expr], text: str) -> TimeComparison | None:
        """Returns the comparison of the times that is equivalent to the comparison of their texts with ``text``;
        ``None`` if it is not certain.
        """
        match = self.shape.fullmatch(text)
        parts = [match[name] for name in _NAMES if match[name] is not None] if match else []
        if not parts or timestamp_text(_iso(parts)) is None:
            return None
        instant = timestamp_text(_iso(parts[: self.fields]))
        if len(parts) == self.fields and op is exp.EQ:
            return TimeComparison(op, instant)
        if not self.sorted:
            return None
        if len(parts) < self.fields:
            op = _BEFORE_TEXTS.get(op, op)
        elif len(parts) > self.fields:
            op = _AFTER_TEXT.get(op, op)
        return TimeComparison(op, None if op is exp.EQ else instant)


def _iso(parts: list[str]) -> str:
    return "-".join(parts[:3]) + (" " + ":".join(parts[3:]) if len(parts) > 3 else "")


#: Patterns of date_format as sqlglot translates them, and as they are typed where their texts sort like the times.
_PATTERNS = {
    "%Y": (Texts(1, _SPACED, sorted=True), "yyyy"),
    "%Y-%mstrict": (Texts(2, _SPACED, sorted=True), "yyyy-MM"),
    "%Y-%mstrict-%dstrict": (Texts(3, _SPACED, sorted=True), "yyyy-MM-dd"),
    "%Y-%mstrict-%dstrict %Hstrict": (Texts(4, _SPACED, sorted=True), "yyyy-MM-dd HH"),
    "%Y-%mstrict-%dstrict %Hstrict:%Mstrict": (Texts(5, _SPACED, sorted=True), "yyyy-MM-dd HH:mm"),
    "%Y%mstrict": (Texts(2, _COMPACT, sorted=True), "yyyyMM"),
    "%Y%mstrict%dstrict": (Texts(3, _COMPACT, sorted=True), "yyyyMMdd"),
    "%Y%mstrict%dstrict%Hstrict": (Texts(4, _COMPACT, sorted=True), "yyyyMMddHH"),
}


def texts_of(node: exp.Expr, operand: exp.Expr, *, is_date: bool, pattern_of: PatternOf | None) -> Texts | None:
    """Returns the texts of ``node``, a function of the time ``operand`` (a DATE if ``is_date``), or ``None``."""
    if node.this is not operand:
        return None
    if isinstance(node, exp.TimeToStr):
        texts, sorted_pattern = _PATTERNS.get(node.text("format"), (None, ""))
        if texts is None or (pattern_of is not None and pattern_of(node) == sorted_pattern):
            return texts
        return Texts(texts.fields, texts.shape, sorted=False) if texts.shape is _SPACED else None
    if isinstance(node, exp.Cast | exp.TryCast) and not node.args.get("format"):
        is_text = is_of_type(node.args["to"], exp.DType.TEXT)
        return Texts(3 if is_date else len(_NAMES), _SPACED, sorted=True) if is_text else None
    return None
