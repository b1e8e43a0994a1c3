"""``rewriter coverage [FACT] --svg FILE | --html FILE``: the coverage of a fact, or the cover of a query."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rewriter.directory_changes import write_whole
from rewriter.errors import OperationalError

if TYPE_CHECKING:
    from rewriter.planner.model.coverage_chart import CoverageChart
    from rewriter.session import Session

#: The forms of a picture, as options.
_FORMS = ("svg", "html")


def fact_charts(fact: str, session: Session, bounds: tuple[str, str] | None = None) -> list[CoverageChart]:
    """Returns the chart of a fact, over all time or between two bounds. Raises the errors of ``named_fact_chart``."""
    from rewriter.statements.show.coverage import named_fact_chart

    return [named_fact_chart(fact, session.snapshot(), session.settings.for_planner(), bounds)]


def covers(query: str, session: Session) -> list[CoverageChart]:
    """Returns a chart for each reference to a cube in a query, with what is missing; none if it reads no cube.

    The query is planned and not run. Raises its errors.
    """
    from rewriter.planner.cover.fact_chart import query_charts

    session.settings.set("rewriter.partial_data", "true")  # As EXPLAIN COVER does.
    coverage = session.plan(query).coverage
    return query_charts(coverage, session.snapshot(), session.settings.for_planner())


def write_picture(charts: Sequence[CoverageChart], form: str, path: str, write: Callable[[str], object]) -> None:
    """Writes charts to a file, or for ``-`` by ``write``.

    The file appears with its whole content. Raises ``OperationalError`` FAILED_WRITE_FILE. O(ranges).
    """
    from rewriter.display.html.coverage_picture import charts_svg
    from rewriter.display.html.page import coverage_page

    text = f"{charts_svg(charts, is_file=True)}\n" if form == "svg" else coverage_page(*charts)
    if path == "-":
        write(text)
        return
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8") as device:
                device.write(text)
        else:
            write_whole(os.path.realpath(path), text, replace=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise OperationalError(
            f"The file {path} cannot be written: {reason or error}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=path,
            hint="Name a writable file, and check that there is free space.",
        ) from error
