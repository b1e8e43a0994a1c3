"""Compares an outcome with the right answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

Verdict = Literal["right", "refused or warned", "silently wrong", "not expressible"]


def same_value(left: Any, right: Any) -> bool:
    """Returns whether two values are equal. NaN equals NaN, -0.0 equals 0.0; floats may differ by rounding."""
    if left is None or right is None or isinstance(left, str) or isinstance(right, str):
        return bool(left == right)
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return math.isclose(left, right, rel_tol=1e-12)


def same_rows(left: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> bool:
    """Returns whether two results have the same rows in the same order."""
    return len(left) == len(right) and all(
        len(a) == len(b) and all(map(same_value, a, b)) for a, b in zip(left, right, strict=True)
    )


def verdict(outcome: dict[str, Any], right: Sequence[Sequence[Any]]) -> Verdict:
    """Returns the verdict on an outcome that ``adapters.base.outcome`` made.

    A result with a warning counts as right if its rows are right.
    """
    if outcome["not_expressible"]:
        return "not expressible"
    if outcome["refused"]:
        return "refused or warned"
    if same_rows(outcome["rows"], right):
        return "right"
    return "refused or warned" if outcome["warnings"] else "silently wrong"
