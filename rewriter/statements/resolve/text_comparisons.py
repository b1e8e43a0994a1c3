"""Comparisons of text columns with values that can never be one of theirs are refused.

The values of a column have forms: ``2024-01-31`` has the form of dates, a digit for each digit. The forms are the
layout's, if the table is part of a fact, and otherwise the forms of the partitions that exist. A text of another form
has a place in the order of texts, too: all dates are less than ``'CURRENT_DATE'``, and ``'2024-01-31'`` is less than
all of ``'20240101'``. The beginning of a value, as ``'2024-01'``, is in the order of time, and is allowed. Digits that
are no time are refused where the values are times: ``'240131'`` would be the month 31 of the year 2401, and is more
than all of ``'20240131'``. Columns of free text have no forms.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from rewriter.catalog.keys.encoding import decode_value
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.keys.types import partition_type
from rewriter.errors import AnalysisError
from rewriter.grammar import filters as f
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline import time_patterns

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Table
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.grammar.terms import Literal, PartitionItem

_TEXTS = ("string", "varchar", "char")
#: Values of numbers and times: digits, and the characters between them.
_OF_DIGITS = re.compile(r"[0-9][0-9TWQ:/ ._+-]*", re.ASCII)
_DATE = re.compile(r"([0-9]{4})([-/_. ]?)([0-9]{2})\2([0-9]{2})(?![0-9]{3})", re.ASCII)
_DATE_FORM = "9999-99-99"
#: The beginning of a year of these centuries. Other digits are a year of two digits.
_BEGINS_YEAR = re.compile(r"[12]|19[0-9]?|2[01][0-9]?", re.ASCII)
#: The smallest and the largest month, day, hour, minute and second.
_FIELDS = ((1, 12), (1, 31), (0, 24), (0, 60), (0, 60))
#: The patterns of frequent forms, as hints show them.
_PATTERNS = {
    _DATE_FORM: "yyyy-MM-dd",
    "99999999": "yyyyMMdd",
    "9999-99": "yyyy-MM",
    "999999": "yyyyMM",
    "9999-99-99-99": "yyyy-MM-dd-HH",
    "9999999999": "yyyyMMddHH",
}


@dataclass(frozen=True)
class _Forms:
    """The forms of a column's values. ``complete``: no value has another one. ``example`` is a value, or a pattern.

    ``are_times``: the values are dates or times that begin with the year. ``others`` are the forms of values that are
    not dates, where only a part of the values are dates.
    """

    forms: frozenset[str]
    complete: bool
    example: str
    are_times: bool
    others: frozenset[str] = frozenset()

    def allow(self, text: str, needed: str) -> bool:
        """Returns True if the text is comparable with all values: as ``'Germany'`` is, too, if it is one of them."""
        form = _form_of(text)
        if form in self.others or (needed == "order" and self.are_times and _BEGINS_YEAR.fullmatch(text)):
            return True
        return _fits(form, self.forms, needed) and not (self.are_times and self.forms and _is_no_time(text, self.forms))


def comparable(table: Table, tree: f.Filter, snapshot: Snapshot) -> f.Filter:
    """Returns a filter in which the dates that text columns are compared with are texts.

    Raises ``AnalysisError`` INCOMPARABLE_PARTITION_VALUE, at the literal, for a comparison by order, or a negated one,
    with a text that cannot be one of the column's values or the beginning of one; for a DATE unless all values have
    the form of dates; and for other types. Reads the keys of the partitions, about 2 µs each, if a text column of a
    table that is part of no fact is compared so.
    """
    return _Comparisons(table, snapshot, {}).checked(tree, False)


def check_named(table: Table, items: Sequence[PartitionItem], snapshot: Snapshot) -> None:
    """Raises ``AnalysisError`` INCOMPARABLE_PARTITION_VALUE, at the literal, where a DATE or a TIMESTAMP would name a
    new partition of a text column whose values have another form. Costs as ``comparable`` does, if there is one.
    """
    comparisons = _Comparisons(table, snapshot, {})
    for item in items:
        column = None if item.value is None else comparisons.text_column(item.column)
        if column is None or item.value is None or item.value.kind not in ("date", "timestamp"):
            continue
        forms = comparisons.forms_of(column)
        if forms is not None and forms.complete and _form_of(item.value.text.removesuffix("Z")) not in forms.forms:
            raise _refusal(column, item.value, forms)


@dataclass(frozen=True)
class _Comparisons:
    table: Table
    snapshot: Snapshot
    known: dict[str, _Forms | None]

    def checked(self, tree: f.Filter, negated: bool) -> f.Filter:
        match tree:
            case f.Not():
                return f.Not(self.checked(tree.operand, not negated))
            case f.And() | f.Or():
                return replace(tree, operands=tuple(self.checked(part, negated) for part in tree.operands))
            case f.IsNull():
                return tree
            case f.Like():
                column = self.text_column(tree.column)
                if column is not None and negated:
                    self._check_pattern(column, tree.pattern)
                return tree
            case f.Comparison():
                return replace(tree, value=self._value(tree.column, tree.value, _needed(tree.op, negated)))
            case f.InList():
                needed = _needed("=", negated)
                return replace(tree, values=tuple(self._value(tree.column, value, needed) for value in tree.values))
            case f.Between():
                low, high = (self._value(tree.column, bound, "order") for bound in (tree.low, tree.high))
                return replace(tree, low=low, high=high)
            case _:
                assert_never(tree)

    def forms_of(self, column: Column) -> _Forms | None:
        """Returns the forms of a text column's values; ``None`` where it has no values, or they are not listed."""
        if column.name not in self.known:
            self.known[column.name] = self._layout_forms(column) or self._existing_forms(column)
        return self.known[column.name]

    def text_column(self, name: str) -> Column | None:
        """Returns the column of that name, if it is one of text."""
        for column in self.table.partition_columns:
            if column.name.lower() == name.lower() and partition_type(column.type).name in _TEXTS:
                return column
        return None

    def _value(self, name: str, literal: Literal, needed: str) -> Literal:
        """Returns the literal as it is compared with a column, if it is comparable."""
        column = self.text_column(name)
        if column is None or literal.kind == "null" or is_discovered(self.table):
            return literal
        if literal.kind == "date":
            forms = self.forms_of(column)
            if forms is not None and not (forms.complete and forms.forms == {_DATE_FORM}):
                raise _refusal(column, literal, forms)
            return replace(literal, kind="string")
        if needed == "equality":
            return literal
        forms = self.forms_of(column)
        if literal.kind == "string" and (forms is None or forms.allow(literal.text, needed)):
            return literal
        raise _refusal(column, literal, forms)

    def _check_pattern(self, column: Column, pattern: Literal) -> None:
        """Raises where NOT LIKE is true of all values, because none of them begins as the pattern does."""
        forms = None if is_discovered(self.table) else self.forms_of(column)
        plain = _form_of(re.split(r"[%_\\]", pattern.text)[0])
        if forms is not None and forms.forms and not any(form.startswith(plain) for form in forms.forms | forms.others):
            raise _refusal(column, pattern, forms)

    def _layout_forms(self, column: Column) -> _Forms | None:
        fact = self.snapshot.fact_using(self.table.name)
        storage_table = None if fact is None else fact.storage_table(self.table.name)
        if storage_table is None:
            return None
        layouts = [layout for layouts in storage_table.layouts_of_times for layout in layouts.values()]
        patterns = [
            part.pattern for layout in layouts for part in layout.parts if part.column.lower() == column.name.lower()
        ]
        forms = frozenset(
            "".join("9" * token.width if token.is_field else _form_of(token.text) for token in tokens)
            for tokens in map(time_patterns.tokens, patterns)
        )
        if not forms:
            return None
        return _Forms(forms, True, f"the pattern '{patterns[0]}'", all(pattern.startswith("y") for pattern in patterns))

    def _existing_forms(self, column: Column) -> _Forms | None:
        index = self.table.partition_columns.index(column)
        lookup = self.snapshot.lookup(self.table, None)
        fields = {lookup.fields_of(key)[index] for key in lookup.found_keys()}
        values = sorted(value for field in fields if (value := decode_value(column.type, field)) is not None)
        if not values:
            return None
        if all(map(_OF_DIGITS.fullmatch, values)):
            forms = frozenset(map(_form_of, values))
            are_times = not any(_is_no_time(value, ()) for value in values)
            return _Forms(forms, True, f"the form of '{values[0]}'", are_times)
        of_dates = [value for value in values if _is_date(value)]
        others = {_form_of(value) for value in values if not _is_date(value)}
        forms = frozenset(_form_of(value) for value in of_dates) - others
        example = next((value for value in of_dates if _form_of(value) in forms), values[0])
        return _Forms(forms, False, f"the form of '{example}'", True, frozenset(others))


def _form_of(text: str) -> str:
    """Returns a text with 9 for each digit."""
    return re.sub(r"[0-9]", "9", text, flags=re.ASCII)


def _needed(op: str, negated: bool) -> str:
    """Returns how a comparison depends on its value: by ``equality``, ``inequality`` or ``order``."""
    if op not in ("=", "<>"):
        return "order"
    return "equality" if (op == "=") is not negated else "inequality"


def _fits(form: str, forms: Collection[str], needed: str) -> bool:
    """Tests whether a text of a form is comparable with all values of these forms, or is like some of them."""
    if not forms or form in forms:
        return True
    if needed == "inequality":
        return False
    return any(_begins(form, other) for other in forms) and all(
        _begins(form, other) or _begins(other, form) for other in forms
    )


def _begins(beginning: str, form: str) -> bool:
    """Tests whether texts of a form begin with whole fields that ``beginning`` is the form of."""
    if not form.startswith(beginning):
        return False
    following = form[len(beginning) : len(beginning) + 1]
    if following != "9" or not beginning.endswith("9"):
        return True
    return form.startswith("9999") and beginning.isdigit() and len(beginning) in (4, 6, 8, 10, 12)


def _is_no_time(text: str, forms: Collection[str]) -> bool:
    """Tests whether the digits of a text are no year, month, day, hour, minute and second, as far as it has them.

    The years 0000, 0001 and 9999 stand before and after all others, whatever follows. Digits that are only the
    beginning of a value of ``forms`` need a year of these centuries: others are a year of two digits.
    """
    if not re.fullmatch(r"[0-9]{4}.*", text, re.ASCII | re.DOTALL):
        return True
    if text[:4] in ("0000", "0001", "9999"):
        return False
    if forms and text.isdigit() and _form_of(text) not in forms and not 1900 <= int(text[:4]) < 2200:
        return True
    rest = text[4:].lstrip("-/_. ")
    if re.match(r"[QW]|[0-9]{3}(?![0-9])", rest, re.ASCII):
        return False
    fields = re.findall(r"[0-9]{2}", rest, re.ASCII)[: len(_FIELDS)]
    return not all(low <= int(field) <= high for field, (low, high) in zip(fields, _FIELDS, strict=False))


def _is_date(value: str) -> bool:
    match = _DATE.match(value)
    return match is not None and 1 <= int(match[3]) <= 12 and 1 <= int(match[4]) <= 31


def _refusal(column: Column, literal: Literal, forms: _Forms | None) -> AnalysisError:
    shown = {"string": f"'{literal.text}'", "date": f"DATE '{literal.text}'"}.get(literal.kind, literal.text)
    if forms is None:
        reason = f"The column {column.name} is text, which is not compared with {shown} by its value"
    elif literal.kind == "date" and not forms.complete:
        reason = f"The column {column.name} is text, and not all of its values are dates such as '2024-01-31'"
    else:
        reason = f"The values of {column.name} have {forms.example}, and {shown} is never one of them"
    pattern = None if forms is None or len(forms.forms) != 1 else _PATTERNS.get(next(iter(forms.forms)))
    return AnalysisError(
        f"{reason}.",
        condition="INCOMPARABLE_PARTITION_VALUE",
        sqlstate="42K09",
        position=literal.span,
        object=column.name,
        hint="Compare it with a text of the form of its values."
        if pattern is None
        else f"Compare it with a text of this form, as from date_format(CURRENT_DATE, '{pattern}').",
    )
