"""Key ranges and their remaining filters, as text for people: values instead of bytes.

A key range is shown by the values at its edges: ``[ds='a'/hr=3, ds='b')`` reaches from the keys that begin with the
first values up to, but without, the keys that begin with ``ds='b'``. A round bracket excludes the keys that begin with
the values next to it, a square one includes them. ``[ds='a']`` are the keys that begin with this one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from rewriter.catalog.filters.predicates import (
    AllOf,
    AnyOf,
    Computed,
    FieldIn,
    FieldLike,
    FieldRanges,
    FieldsIn,
    NotOfNulls,
    ScanFilter,
)
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.encoding import NOT_NULL, NULL, TOP
from rewriter.catalog.keys.types import partition_type
from rewriter.catalog.model.key_ranges import KeyRange, after
from rewriter.grammar.unparse import quote, quote_name

if TYPE_CHECKING:
    from rewriter.catalog.filters.scan_plans import ScanPlan
    from rewriter.catalog.keys.like_patterns import LikePattern
    from rewriter.catalog.model.objects import Column

_QUOTED = ("string", "varchar", "char", "date", "timestamp")
#: The maximum number of characters of a filter that are shown.
_LONGEST = 500

#: The values at an edge, and whether it is behind all keys that begin with them.
_Edge = tuple[list[tuple[str, str]], bool]


def key_range_text(columns: Sequence[Column], head: bytes, key_range: KeyRange) -> str:
    """Returns a range of keys, or of index entries, which begin with ``head`` and then these columns' fields."""
    start, from_behind = _edge(columns, head, key_range.start)
    end, to_behind = _edge(columns, head, key_range.end)
    if not start and from_behind:
        return "nothing"  # Behind all values.
    if not start and not end:
        return "all keys"
    if start and key_range == KeyRange.of_key(key_range.start):
        return f"[{_values(start)}]"
    if start and not from_behind and _is_point(columns[len(start) - 1], key_range, start == end and to_behind):
        return f"[{_values(start)}]"
    low = f"{'(' if from_behind else '['}{_values(start)}" if start else "[start"
    return f"{low}, {_values(end)}{']' if to_behind else ')'}" if end else f"{low}, end)"


def filter_text(columns: Sequence[Column], filters: Sequence[ScanPlan]) -> str:
    """Returns the conjunctions of a filter as text, cut off if it is very long."""
    text = _joined("OR", [_plan_text(columns, conjunction) for conjunction in filters])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _values(values: list[tuple[str, str]]) -> str:
    return "/".join(f"{name}={value}" for name, value in values)


def _edge(columns: Sequence[Column], head: bytes, edge: bytes) -> _Edge:
    values: list[tuple[str, str]] = []
    if not edge.startswith(head):
        return values, True  # Behind all keys that begin with the head.
    remaining = edge[len(head) :]
    for column in columns:
        name = quote_name(column.name)
        if not remaining:
            break
        if remaining[:1] >= TOP:
            return values, True
        if remaining[:1] == NULL:
            values.append((name, "NULL"))
            remaining = remaining[1:]
            continue
        if remaining == NOT_NULL:
            return [*values, (name, "NULL")], True
        value, ends_behind, remaining = _field(column, remaining)
        if value is None:
            return values, True
        values.append((name, value))
        if ends_behind:
            return values, True
    return values, False


def _field(column: Column, remaining: bytes) -> tuple[str | None, bool, bytes]:
    """Returns the value of the first field of some bytes, whether they are behind it, and the remaining bytes.

    ``None`` is behind all values. Bytes that are no value, because they are a text's beginning with the last byte
    incremented, are shown as they are.
    """
    width = encoding.width_of(column.type)
    if width is not None:
        try:
            if column.type.lower() == "boolean" and remaining[1:2] > b"\x02":
                return None, True, b""
            return *_value_at(column, remaining[:width], len(remaining) == width), remaining[width:]
        except (ValueError, ArithmeticError):
            return None, True, b""
    end = remaining.find(b"\x00") + 1
    field = remaining[:end] if end else remaining
    ends_behind = not end and _ends_behind(remaining)
    if not end:
        field = (remaining[:-1] if ends_behind else remaining) + b"\x00"
    try:
        return _literal(column, field), ends_behind, remaining[len(field) :] if end else b""
    except UnicodeDecodeError:
        return f"X'{remaining[1:].hex().upper()}'", False, b""


def _value_at(column: Column, field: bytes, is_last: bool) -> tuple[str, bool]:
    """Returns a value, or the shorter one that the field is just behind: 1.5 and not 1.5000000000000002."""
    value = _literal(column, field)
    if value == "NaN":  # Of all bit patterns shown as NaN, one is a value.
        nan_field = encoding.encode_value(column.type, "NaN")
        return ("Infinity" if field < nan_field else value), field != nan_field
    if is_last and partition_type(column.type).name in ("double", "float", "timestamp"):
        previous = _literal(column, (int.from_bytes(field, "big") - 1).to_bytes(len(field), "big"))
        if len(previous) < len(value):
            return previous, True
    return value, False


def _ends_behind(remaining: bytes) -> bool:
    """Returns True if the bytes of an unfinished text are just behind it: an escape without its second byte."""
    plain = remaining[1:].replace(b"\x01\x01", b"").replace(b"\x01\x02", b"")
    return plain.endswith(b"\x01")


def _literal(column: Column, field: bytes) -> str:
    value = encoding.decode_value(column.type, field)
    if value is None:
        return "NULL"
    return quote(value) if partition_type(column.type).name in _QUOTED else value


def _plan_text(columns: Sequence[Column], plan: ScanPlan) -> str:
    parts = [_ranges_text(columns[index], ranges) for index, ranges in enumerate(plan.ranges) if ranges is not None]
    return _joined("AND", [*parts, *(_tree_text(columns, test) for test in plan.tests)])


def _tree_text(columns: Sequence[Column], tree: ScanFilter) -> str:
    match tree:
        case AllOf():
            return _joined("AND", [_tree_text(columns, part) for part in tree.parts])
        case AnyOf():
            return _joined("OR", [_tree_text(columns, part) for part in tree.parts])
        case FieldIn():
            return _ranges_text(columns[tree.index], tree.ranges)
        case FieldsIn():
            names = ", ".join(quote_name(columns[index].name) for index in tree.indexes)
            return f"({names}) is one of {len(tree.combinations):,} combinations"
        case Computed():
            return f"({tree.text})"
        case NotOfNulls():
            return _tree_text(columns, tree.part)
        case FieldLike():
            name, word = quote_name(columns[tree.index].name), "NOT LIKE" if tree.negated else "LIKE"
            return f"{name} {word} {quote(_pattern(tree.pattern))}"
        case _:
            assert_never(tree)


def _pattern(pattern: LikePattern) -> str:
    def shown(char: str | None) -> str:
        return "_" if char is None else f"\\{char}" if char in "\\%_" else char

    return "%".join("".join(map(shown, piece)) for piece in pattern.pieces)


def _ranges_text(column: Column, ranges: FieldRanges) -> str:
    """Returns the condition on a column that the ranges of its field express."""
    name = quote_name(column.name)
    parts: list[str] = []
    points: list[str] = []
    for key_range in ranges:
        if key_range.start == NULL:
            parts.append(f"{name} IS NULL")
            key_range = KeyRange(NOT_NULL, key_range.end)
        if key_range.start >= key_range.end:
            continue
        start, from_behind = _edge((column,), b"", key_range.start)
        end, to_behind = _edge((column,), b"", key_range.end)
        if from_behind and not start:
            continue  # Behind all values.
        if key_range.start == NOT_NULL and not end:
            parts.append(f"{name} IS NOT NULL")
        elif start and not from_behind and _is_point(column, key_range, start == end and to_behind):
            points.append(start[0][1])
        else:
            low = [] if key_range.start == NOT_NULL else [f"{name} {'>' if from_behind else '>='} {start[0][1]}"]
            high = [f"{name} {'<=' if to_behind else '<'} {end[0][1]}"] if end else []
            parts.append(_joined("AND", low + high))
    if points:
        parts.insert(0, f"{name} = {points[0]}" if len(points) == 1 else f"{name} IN ({', '.join(points)})")
    return _joined("OR", parts) if parts else "FALSE"


def _is_point(column: Column, key_range: KeyRange, same: bool) -> bool:
    """Returns True if a range contains exactly the keys that begin with a complete field, not with a part of a text.

    ``same``: the range begins at and ends behind one value, as both zeros of a floating-point number are.
    """
    is_complete = encoding.width_of(column.type) is not None or key_range.start.endswith(b"\x00")
    return same or (is_complete and key_range.end == after(key_range.start))


def _joined(word: str, parts: Sequence[str]) -> str:
    """Returns the parts with AND or OR between them; parts with the other operator are in parentheses."""
    if not parts:
        return "TRUE"
    other_word = {"AND": " OR ", "OR": " AND "}[word]
    if len(parts) == 1:
        return parts[0]
    return f" {word} ".join(f"({part})" if other_word in part else part for part in parts)
