"""The time that partition columns name, inferred from their names, types and an example of their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from rewriter.errors import AnalysisError, DataError
from rewriter.timeline import time_patterns
from rewriter.timeline.layouts import DATE, STRING, TIMESTAMP, TimeLayout, default_pattern
from rewriter.timeline.periods import UpdatePeriod

#: Texts of digits that name a time by themselves. Their widths differ.
_DIGITS = ("yyyyMM", "yyyyMMdd", "yyyyMMddHH", "yyyyMMddHHmm")
#: The names of columns that hold one field of a time.
_FIELD_NAMES = {
    "yyyy": ("year", "yyyy", "yy", "y"),
    "MM": ("month", "mon", "mm", "m"),
    "dd": ("day", "dd", "d"),
    "HH": ("hour", "hr", "hh", "h"),
    "mm": ("minute", "min"),
}
_FIELDS = {name: field for field, names in _FIELD_NAMES.items() for name in names}


def inferred_layout(
    columns: Sequence[tuple[str, str]], values: Sequence[str | None] | None, period: UpdatePeriod | None = None
) -> TimeLayout | None:
    """Returns the layout of (name, type) columns whose values in one partition are ``values``: the only one that reads
    them. Returns ``None`` if there is none. ``period`` is the period where it is declared; without it and without
    values, a DATE is a day. A TIMESTAMP names no period by itself. Types are as Spark names them.

    >>> inferred_layout([("year", "int"), ("month", "int"), ("day", "int")], ["2024", "5", "31"]).period.name
    'DAILY'
    """
    if period is None and any(type_ == TIMESTAMP for _, type_ in columns):
        return None
    if period is None and values is None:
        if [type_ for _, type_ in columns] != [DATE]:
            return None
        period = UpdatePeriod.DAILY
    types, names = dict(columns), [name for name, _ in columns]
    for candidate in UpdatePeriod if period is None else (period,):
        examples = values or [None] * len(columns)
        candidates = (list(_patterns(*column, value)) for column, value in zip(columns, examples, strict=True))
        for patterns in product(*candidates):
            try:
                layout = TimeLayout.of(candidate, list(zip(names, patterns, strict=True)), types)
                if values is not None:
                    layout.ordinal([values[names.index(column)] for column in layout.columns])
            except (AnalysisError, DataError):
                continue
            return layout
    return None


def _patterns(name: str, type_: str, value: str | None) -> Iterator[str | None]:
    """Yields the patterns that the values of a column may have; ``None`` for the default of its period, or where the
    type needs none.
    """
    if type_ in (DATE, TIMESTAMP):
        yield None
        return
    field = _FIELDS.get(name.lower())
    if value is None:
        yield from (None, field) if field is not None else (None,)
        return
    if field is not None and len(value) <= time_patterns.WIDTHS[field]:
        yield field
    defaults = [default_pattern(period) for period in UpdatePeriod] if type_ == STRING else []
    for pattern in (*_DIGITS, *defaults):
        if time_patterns.read(pattern, value) is not None:
            yield pattern
