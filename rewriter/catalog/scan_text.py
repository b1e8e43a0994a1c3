"""Stretches of keys and what they leave open, as text for people: values instead of bytes.

A stretch is shown by the values that its edges lie at: ``[ds='a'/hr=3, ds='b')``, from the keys that begin with these
values up to, but without, those that begin with ``ds='b'``. A round bracket leaves out the keys that begin with the
values next to it, a square one takes them in; ``[ds='a']`` are those that begin with this one value.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog import keys
from rewriter.catalog.keys import NOT_NULL, NULL, TOP, KeyRange
from rewriter.catalog.likes import LikePattern
from rewriter.catalog.models import Column
from rewriter.catalog.partition_types import partition_type
from rewriter.catalog.scan_filters import (
    AllOf,
    AnyOf,
    Computed,
    FieldIn,
    FieldRanges,
    FieldsIn,
    NotOfNulls,
    ScanFilter,
)
from rewriter.catalog.scan_plans import ScanPlan
from rewriter.grammar.render import quote, quote_name

_QUOTED = ("string", "varchar", "char", "date", "timestamp")
#: The most characters of a filter that are shown.
_LONGEST = 500

#: The values that an edge lies at, and whether behind all keys that begin with them.
_Edge = tuple[list[tuple[str, str]], bool]


def stretch_text(columns: Sequence[Column], head: bytes, stretch: KeyRange) -> str:
    """A stretch of keys (or of an index, of one column) that begin with ``head`` and then these columns' fields."""
    start, from_behind = _edge(columns, head, stretch.start)
    end, to_behind = _edge(columns, head, stretch.end)
    if not start and from_behind:
        return "nothing"  # Behind all values.
    if not start and not end:
        return "all keys"
    if start and not from_behind and _is_point(columns[len(start) - 1], stretch, start == end and to_behind):
        return f"[{_values(start)}]"
    low = f"{'(' if from_behind else '['}{_values(start)}" if start else "[start"
    return f"{low}, {_values(end)}{']' if to_behind else ')'}" if end else f"{low}, end)"


def filter_text(columns: Sequence[Column], filters: Sequence[ScanPlan]) -> str:
    """What is TRUE of a key that satisfies one of some conjunctions; cut off where it is very long."""
    text = _joined("OR", [_plan_text(columns, one) for one in filters])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _values(values: list[tuple[str, str]]) -> str:
    return "/".join(f"{name}={value}" for name, value in values)


def _edge(columns: Sequence[Column], head: bytes, edge: bytes) -> _Edge:
    found: list[tuple[str, str]] = []
    if not edge.startswith(head):
        return found, True  # Behind all that begins with the head.
    rest = edge[len(head) :]
    for column in columns:
        name = quote_name(column.name)
        if not rest:
            break
        if rest[:1] >= TOP:
            return found, True
        if rest[:1] == NULL:
            found.append((name, "NULL"))
            rest = rest[1:]
            continue
        if rest == NOT_NULL:
            return [*found, (name, "NULL")], True
        value, behind, rest = _field(column, rest)
        if value is None:
            return found, True
        found.append((name, value))
        if behind:
            return found, True
    return found, False


def _field(column: Column, rest: bytes) -> tuple[str | None, bool, bytes]:
    """The value of the field that bytes begin with, whether they lie behind it, and what follows.

    ``None`` is behind all values. Bytes that no value has, because they are those of a text's beginning, counted up,
    are shown as they are.
    """
    width = keys.width_of(column.type)
    if width is not None:
        try:
            if column.type.lower() == "boolean" and rest[1:2] > b"\x02":
                return None, True, b""
            return *_place(column, rest[:width], len(rest) == width), rest[width:]
        except (ValueError, ArithmeticError):
            return None, True, b""
    end = rest.find(b"\x00") + 1
    field = rest[:end] if end else rest
    behind = not end and _ends_behind(rest)
    if not end:
        field = (rest[:-1] if behind else rest) + b"\x00"
    try:
        return _literal(column, field), behind, rest[len(field) :] if end else b""
    except UnicodeDecodeError:
        return f"X'{rest[1:].hex().upper()}'", False, b""


def _place(column: Column, field: bytes, is_last: bool) -> tuple[str, bool]:
    """A value, or the one that the field lies just behind where that is shorter: 1.5 and not 1.5000000000000002."""
    value = _literal(column, field)
    if value == "NaN":  # Of all that are written so, one is a value.
        nan = keys.encode_value(column.type, "NaN")
        return ("Infinity" if field < nan else value), field != nan
    if is_last and partition_type(column.type).name in ("double", "float", "timestamp"):
        before = _literal(column, (int.from_bytes(field, "big") - 1).to_bytes(len(field), "big"))
        if len(before) < len(value):
            return before, True
    return value, False


def _ends_behind(rest: bytes) -> bool:
    """Whether the bytes of a text without its end are those just behind it: an escape without its second byte."""
    plain = rest[1:].replace(b"\x01\x01", b"").replace(b"\x01\x02", b"")
    return plain.endswith(b"\x01")


def _literal(column: Column, field: bytes) -> str:
    value = keys.decode_value(column.type, field)
    if value is None:
        return "NULL"
    return quote(value) if partition_type(column.type).name in _QUOTED else value


def _plan_text(columns: Sequence[Column], plan: ScanPlan) -> str:
    parts = [_ranges_text(columns[at], ranges) for at, ranges in enumerate(plan.ranges) if ranges is not None]
    return _joined("AND", [*parts, *(_tree_text(columns, test) for test in plan.tests)])


def _tree_text(columns: Sequence[Column], tree: ScanFilter) -> str:
    if isinstance(tree, AllOf | AnyOf):
        return _joined("AND" if isinstance(tree, AllOf) else "OR", [_tree_text(columns, one) for one in tree.parts])
    if isinstance(tree, FieldIn):
        return _ranges_text(columns[tree.index], tree.ranges)
    if isinstance(tree, FieldsIn):
        names = ", ".join(quote_name(columns[index].name) for index in tree.indexes)
        return f"({names}) is one of {len(tree.found):,} combinations"
    if isinstance(tree, Computed):
        return f"({tree.text})"
    if isinstance(tree, NotOfNulls):
        return _tree_text(columns, tree.part)
    name, word = quote_name(columns[tree.index].name), "NOT LIKE" if tree.negated else "LIKE"
    return f"{name} {word} {quote(_pattern(tree.pattern))}"


def _pattern(pattern: LikePattern) -> str:
    def shown(char: str | None) -> str:
        return "_" if char is None else f"\\{char}" if char in "\\%_" else char

    return "%".join("".join(map(shown, piece)) for piece in pattern.pieces)


def _ranges_text(column: Column, ranges: FieldRanges) -> str:
    """What the ranges of one field say of its column."""
    name = quote_name(column.name)
    parts: list[str] = []
    points: list[str] = []
    for one in ranges:
        if one.start == NULL:
            parts.append(f"{name} IS NULL")
            one = KeyRange(NOT_NULL, one.end)
        if one.start >= one.end:
            continue
        start, from_behind = _edge((column,), b"", one.start)
        end, to_behind = _edge((column,), b"", one.end)
        if from_behind and not start:
            continue  # Behind all values.
        if one.start == NOT_NULL and not end:
            parts.append(f"{name} IS NOT NULL")
        elif start and not from_behind and _is_point(column, one, start == end and to_behind):
            points.append(start[0][1])
        else:
            low = [] if one.start == NOT_NULL else [f"{name} {'>' if from_behind else '>='} {start[0][1]}"]
            high = [f"{name} {'<=' if to_behind else '<'} {end[0][1]}"] if end else []
            parts.append(_joined("AND", low + high))
    if points:
        parts.insert(0, f"{name} = {points[0]}" if len(points) == 1 else f"{name} IN ({', '.join(points)})")
    return _joined("OR", parts) if parts else "FALSE"


def _is_point(column: Column, one: KeyRange, same: bool) -> bool:
    """Whether a range is all that begins with a whole field, the last of its start, and not with a part of a text.

    ``same`` says that it begins at and ends behind one value, which both zeros of a floating-point number are.
    """
    whole = keys.width_of(column.type) is not None or one.start.endswith(b"\x00")
    return same or (whole and one.end == keys.after(one.start))


def _joined(word: str, parts: Sequence[str]) -> str:
    """The parts with AND or OR between them, each in parentheses that is joined itself."""
    if not parts:
        return "TRUE"
    other = {"AND": " OR ", "OR": " AND "}[word]
    if len(parts) == 1:
        return parts[0]
    return f" {word} ".join(f"({part})" if other in part else part for part in parts)
