"""The method ``_repr_html_`` of results, plans and covers, by which notebooks show them.

Their classes stand below the renderer and cannot import it, so ``connect`` gives them the method.
"""

from __future__ import annotations

from rewriter.planner.model.plan import Coverage, Plan
from rewriter.runtime.result import Result


def display_as_html() -> None:
    """Gives the classes of results, plans and covers the method. Idempotent."""
    for displayed in (Result, Plan, Coverage):
        setattr(displayed, "_repr_html_", html_of)  # noqa: B010 - mypy knows no such attribute.


def html_of(value: object) -> str | None:
    """Returns a result, plan or cover as HTML; ``None`` for any other object."""
    from rewriter.display.html.results import coverage_html, plan_html, result_html  # Loaded when it is used.

    if isinstance(value, Result):
        return result_html(value)
    if isinstance(value, Plan):
        return plan_html(value)
    return coverage_html(value) if isinstance(value, Coverage) else None
