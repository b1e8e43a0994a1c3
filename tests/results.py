"""Rows of a statement by the names of their columns."""

from __future__ import annotations

from rewriter.runtime.result import Result


def named_rows(result: Result) -> list[dict[str, object]]:
    """Returns all rows of a result."""
    names = [column.name for column in result.columns or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetch()]
