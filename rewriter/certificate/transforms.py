"""Conditions on partitions: which ones a query in place of a cube selects.

Beside them, conditions on the times of events, of tables whose hidden partition columns are computed from such times.

The definition of a hidden partition column names its transform and its source: ``["days", "ts"]``. A condition on
``ts`` takes all rows of a partition, or none: the rows of a partition of ``days(ts)`` have any time of its day in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import product
from operator import itemgetter
from typing import Any

from sqlglot import exp

from rewriter.certificate.evidence import CatalogRecords, NotUnderstood, Object, Record, Refuted, keep
from rewriter.certificate.expressions import ArmQuery, ComputedExpressions, typed_values
from rewriter.certificate.periods import following, instant, moment
from rewriter.lazy_dataclass import dataclass

_PERIODS = {"years": "YEARLY", "months": "MONTHLY", "days": "DAILY", "hours": "HOURLY"}
_DAY = 86_400_000_000
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


@dataclass(frozen=True)
class _Transform:
    """The transform of a ``hidden`` column: its ``period``, its ``source`` column, and the smallest step of the source
    in microseconds.
    """

    hidden: str
    source: str
    period: str
    step: int


def partitions_of_arm(
    arm: ArmQuery, table: Object, catalog: CatalogRecords
) -> Sequence[tuple[Record, Mapping[str, Any]]]:
    """Returns the partitions of a table that a query in place of a cube selects at the commit of the catalog's records,
    and the typed values of their columns. A text that was read before at the commit is not read again.

    Raises ``NotUnderstood``, and ``Refuted`` as ``_partition_test``.
    """
    key = table.id, arm.text
    if arm.text is not None and key in catalog.selected:
        return catalog.selected[key]
    columns, condition = table.definition["partition_columns"], arm.condition
    test, typed = _partition_test(condition, table.definition), catalog.typed.setdefault(table.id, {})
    # The catalog reads partitions by the text of the first column.
    ranges = (
        [("", None)] if condition is None else _text_ranges(condition, columns[0][0].lower(), columns[0][1].lower())
    )
    selected = list[tuple[Record, Mapping[str, Any]]]()
    for version in catalog.versions_in(table, ranges):
        if not version.is_seen(catalog.commit):
            continue
        if version.values not in typed:
            typed[version.values] = typed_values(columns, version.values)
        values = typed[version.values]
        if test(values):
            selected.append((version, values))
    if arm.text is not None:
        keep(catalog.selected, key, selected)
    return selected


def _text_ranges(node: exp.Expr, column: str, type: str) -> list[tuple[str, str | None]]:
    """Returns ranges of texts, both ends included, in one of which a column lies where a condition is true; in order,
    apart from each other. ``None`` is no upper bound. ``type`` is that of the column; days are compared as texts.
    """
    node = node.unnest()
    if isinstance(node, exp.And):
        right = _text_ranges(node.expression, column, type)
        both = (
            (max(low, other), high if last is None else last if high is None else min(high, last))
            for low, high in _text_ranges(node.this, column, type)
            for other, last in right
        )
        return [(low, high) for low, high in both if high is None or low <= high]
    if isinstance(node, exp.Or):
        return _joined(range_ for part in node.flatten() for range_ in _text_ranges(part, column, type))
    is_column = isinstance(node.this, exp.Column) and node.this.name.lower() == column
    options = node.expressions if isinstance(node, exp.In) else [node.args.get("expression")]
    texts = [_text_of(option, type) for option in options]
    if not is_column or not texts or None in texts:
        return [("", None)]
    if isinstance(node, exp.EQ | exp.In):
        return _joined((text or "", text) for text in texts)
    low = texts[0] if isinstance(node, exp.GT | exp.GTE) else None
    return [(low or "", texts[0] if isinstance(node, exp.LT | exp.LTE) else None)]


def _text_of(option: Any, type: str) -> str | None:
    """Returns the text that a constant is beside a column of text, or beside one of days; ``None`` for no such one."""
    is_day = isinstance(option, exp.TsOrDsToDate) and not option.args.get("format")
    is_day |= isinstance(option, exp.Cast) and option.is_type("date")
    literal = option.this if is_day and type == "date" else option
    if not isinstance(literal, exp.Literal) or not literal.is_string:
        return None
    return literal.name if type == "string" or re.fullmatch(r"\d{4}-\d\d-\d\d", literal.name) else None


def _joined(ranges: Iterable[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    joined: list[tuple[str, str | None]] = []
    for low, high in sorted(ranges, key=itemgetter(0)):
        if joined and (joined[-1][1] is None or low <= joined[-1][1]):
            last = joined[-1][1]
            joined[-1] = joined[-1][0], None if last is None or high is None else max(last, high)
        else:
            joined.append((low, high))
    return joined


def _partition_test(condition: exp.Expr | None, table: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool | None]:
    """Returns a test of a partition, given by the values of its partition columns: whether a condition is true for all
    of its rows. ``table`` is the definition of the table. The test raises ``Refuted`` if the condition is true for a
    part of the rows that the partition may have. O(constants) for each partition.

    Raises ``NotUnderstood``.
    """
    if condition is None:
        return lambda _: True
    computed = ComputedExpressions()
    compute = computed.read(condition)
    transforms = [*_transforms(table)]
    edges = {transform: _edges(condition, transform, computed) for transform in transforms}

    def test(values: Mapping[str, Any]) -> bool:
        samples = [_samples(values[transform.hidden], transform, edges[transform]) for transform in transforms]
        sources = [transform.source for transform in transforms]
        results = {compute({**values, **dict(zip(sources, times, strict=True))}) is True for times in product(*samples)}
        if len(results) > 1:
            named = ", ".join(str(values[transform.hidden]) for transform in transforms)
            raise Refuted(f"the executed text reads a part of the partition {named}")
        return results.pop()

    return test if transforms else compute


def _transforms(table: Mapping[str, Any]) -> Iterator[_Transform]:
    types = {name.lower(): type.lower() for name, type, *_ in table["columns"]}
    for name, _, _, _, _, (transform, source) in (column for column in table["partition_columns"] if len(column) > 5):
        type = types[source.lower()]
        if transform not in _PERIODS or type not in ("date", "timestamp"):
            raise NotUnderstood(f"the hidden partition column {name} of {transform}({source}), a {type}")
        yield _Transform(name.lower(), source.lower(), _PERIODS[transform], _DAY if type == "date" else 1)


def _edges(condition: exp.Expr, transform: _Transform, computed: ComputedExpressions) -> Sequence[int]:
    """Returns the times with which a condition compares the source of a transform: only there its result changes."""
    edges, left = list[int](), [condition.unnest()]
    while left:
        node = left.pop()
        if isinstance(node, exp.And | exp.Or):
            left += [node.this.unnest(), node.expression.unnest()]
            continue
        if not any(column.name.lower() == transform.source for column in node.find_all(exp.Column)):
            continue
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            constants = []
        elif isinstance(node, exp.In) and not node.args.get("query"):
            constants = node.expressions
        elif isinstance(node, exp.Between):
            constants = [node.args["low"], node.args["high"]]
        elif isinstance(node, _COMPARISONS):
            constants = [node.expression]
        else:
            raise NotUnderstood(f"{node.sql('spark')[:80]} of the time of a hidden partition column")
        if not isinstance(node.this, exp.Column) or any(constant.find(exp.Column) for constant in constants):
            raise NotUnderstood(f"{node.sql('spark')[:80]} of the time of a hidden partition column")
        times = [computed.instant(constant) for constant in constants]
        edges += [time for time in times if time is not None]
    return edges


def _samples(value: date | None, transform: _Transform, edges: Sequence[int]) -> Sequence[date | None]:
    """Returns values of the source among which is one of each stretch between edges, in the partition of a value."""
    if value is None:
        return [None]
    first = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    begin = instant(first)
    end, step = following(transform.period, "UTC", begin), transform.step
    around = {edge // step * step + shift for edge in edges for shift in (-step, 0, step)}
    times = [moment(at) for at in sorted({begin, end - step} | {at for at in around if begin <= at < end})]
    return times if step == 1 else [time.date() for time in times]
