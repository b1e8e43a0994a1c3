"""``rewriter coverage FACT --svg FILE | --html FILE``: the coverage of a fact as a picture or as a page."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from rewriter.durable_files import write_whole
from rewriter.errors import OperationalError

if TYPE_CHECKING:
    from rewriter.session import Session

#: The forms of a picture, as options.
FORMS = ("svg", "html")


def write_picture(
    fact: str,
    form: str,
    path: str,
    session: Session,
    write: Callable[[str], object],
    bounds: tuple[str, str] | None = None,
) -> None:
    """Writes the coverage of a fact, over all time or between two bounds, to a file, or for ``-`` by ``write``.

    The file appears with its whole content. Raises the errors of ``named_fact_chart``, and ``OperationalError``
    FAILED_WRITE_FILE. O(ranges).
    """
    from rewriter.html.coverage_picture import chart_svg
    from rewriter.html.page import coverage_page
    from rewriter.statements.show.fact_chart import named_fact_chart

    chart = named_fact_chart(fact, session.snapshot(), session.settings.for_planner(), bounds)
    text = f"{chart_svg(chart, is_file=True)}\n" if form == "svg" else coverage_page(chart)
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
