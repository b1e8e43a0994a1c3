"""Frames of windows: ROWS, and RANGE with a distance.

The distance of RANGE has the type of the sort key, in which Spark, too, computes the ends: an overflow is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.exec.sql_types import DATE, STRING, TIMESTAMP
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Expressions, Typed
from rewriter.exec.translate.intervals import CLOCK_UNITS, interval_of_one_unit
from rewriter.exec.translate.math_functions import literal_int

_MISMATCH = "DATATYPE_MISMATCH."
_NO_DISTANCE = "Cast the sort key to BIGINT, DATE or TIMESTAMP in a subquery, if its values allow it."
#: The least value that an integer type does not have.
_LIMITS = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}


@dataclass(frozen=True)
class Frame:
    """A translated frame, and its text in Spark's name of the column."""

    sql: str
    name: str


@dataclass(frozen=True)
class _Bound:
    """An end of a frame. ``offset`` is the signed distance; ``None`` for UNBOUNDED and CURRENT ROW. ``unit`` is that of
    an interval.
    """

    sql: str
    name: str
    offset: int | None = None
    unit: str = ""


def frame(e: Expressions, spec: exp.Expr, keys: Sequence[Typed]) -> Frame:
    """Translates a frame of a window that is sorted by ``keys``."""
    e.allow_only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind") or "").upper()
    has_distance = kind == "RANGE" and not all(
        isinstance(spec.args.get(end), str | None) for end in ("start", "end")
    )  # fmt: skip
    if has_distance and len(keys) != 1:
        e.text.wrong(
            "RANGE with a distance needs exactly one sort key in ORDER BY.",
            f"{_MISMATCH}RANGE_FRAME_{'MULTI_ORDER' if keys else 'WITHOUT_ORDER'}", "42K09", spec,
        )  # fmt: skip
    if kind not in ("ROWS", "RANGE") or not keys:
        e.refuse(spec, "A frame without ORDER BY")
    e.construct(f"{kind} BETWEEN … AND …")
    key = keys[0] if kind == "RANGE" else None
    start = _bound(e, spec, "start", key)
    end = _Bound("CURRENT ROW", "CURRENT ROW") if spec.args.get("end") is None else _bound(e, spec, "end", key)
    _check(e, spec, start, end)
    return Frame(f"{kind} BETWEEN {start.sql} AND {end.sql}", f"{kind} BETWEEN {start.name} AND {end.name}")


def _check(e: Expressions, spec: exp.Expr, start: _Bound, end: _Bound) -> None:
    if start.sql == "UNBOUNDED FOLLOWING" or end.sql == "UNBOUNDED PRECEDING":
        e.text.wrong(
            f"A frame cannot begin with UNBOUNDED FOLLOWING or end with UNBOUNDED PRECEDING: {e.text.shown(spec)}.",
            f"{_MISMATCH}SPECIFIED_WINDOW_FRAME_INVALID_BOUND", "42K09", spec,
        )  # fmt: skip
    if start.offset is None and end.offset is None:
        return
    if start.offset is None or end.offset is None:
        before, after = start.offset or 0, end.offset or 0
        if "UNBOUNDED" not in start.sql + end.sql and before > after:
            e.refuse(spec, f"The frame from {start.name} to {end.name}, which has no rows,")
    elif start.unit != end.unit:
        e.text.wrong(
            f"The distances of a frame have one unit, not {start.unit or 'none'} and {end.unit or 'none'}.",
            f"{_MISMATCH}SPECIFIED_WINDOW_FRAME_DIFF_TYPES", "42K09", spec,
        )  # fmt: skip
    elif start.offset > end.offset:
        e.text.wrong(
            f"The frame begins at {start.name}, behind its end {end.name}.",
            f"{_MISMATCH}SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON", "42K09", spec,
        )  # fmt: skip


def _bound(e: Expressions, spec: exp.Expr, end: str, key: Typed | None) -> _Bound:
    """Translates an end. ``key`` is the sort key of RANGE."""
    node, side = spec.args[end], str(spec.args.get(f"{end}_side") or "").upper()
    if isinstance(node, str):
        text = f"{node.upper()} {side}".strip()
        return _Bound(text, text)
    sign = -1 if side == "PRECEDING" else 1
    if key is None:
        distance = literal_int(e, node)
        return _Bound(f"{distance} {side}", f"{distance} {side}", sign * distance)
    return _range_bound(e, node, side, sign, key)


def _range_bound(e: Expressions, node: exp.Expr, side: str, sign: int, key: Typed) -> _Bound:
    type_ = key.type
    if type_ == STRING:
        e.text.wrong(
            "RANGE with a distance needs a sort key that is a number or a time, not a STRING.",
            f"{_MISMATCH}SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE", "42K09", node,
        )  # fmt: skip
    if isinstance(node, exp.Interval):
        amount, unit = interval_of_one_unit(e, node)
        if not type_.is_datetime or (type_ == DATE and unit in CLOCK_UNITS):
            e.text.refuse(f"RANGE with an interval of {unit} over {type_}", node, _NO_DISTANCE)
        shown = f"{amount:02d}" if unit in CLOCK_UNITS else str(amount)
        sql, name = f"INTERVAL ({amount}) {unit}", f"INTERVAL '{shown}' {unit}"
    else:
        if not type_.is_integer and type_ not in (DATE, TIMESTAMP):
            e.text.refuse(f"RANGE with a distance over {type_}", node, _NO_DISTANCE)
        amount, unit = literal_int(e, node), ""
        if type_ == TIMESTAMP:
            e.text.wrong(
                "RANGE over a TIMESTAMP needs an interval: INTERVAL 1 HOUR.",
                f"{_MISMATCH}RANGE_FRAME_INVALID_TYPE", "42K09", node,
            )  # fmt: skip
        if amount >= _LIMITS.get(type_.name, 2**31):
            e.refuse(node, f"RANGE with the distance {amount} over {type_}")
        sql, name = (f"INTERVAL ({amount}) DAY" if type_ == DATE else plain_cast(str(amount), type_)), str(amount)
    if amount < 0:
        e.text.refuse("RANGE with a negative distance", node, "Write PRECEDING in place of FOLLOWING, or the reverse.")
    return _Bound(f"{sql} {side}", f"{name} {side}", sign * amount, unit)
