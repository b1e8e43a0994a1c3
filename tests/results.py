"""What a statement returned, by the names of its columns."""

from __future__ import annotations

from rewriter.runtime.result import Result


def named_rows(result: Result) -> list[dict[str, object]]:
    """All rows of a result."""
    names = [column.name for column in result.columns or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetch()]
