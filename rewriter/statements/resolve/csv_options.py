"""The options of CSV files as statements state them."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.errors import NotSupportedError, Span
from rewriter.exec.formats.csv_dialects import CsvOptionError, spark_csv_options


def csv_options(pairs: Sequence[tuple[str, str]], spans: Sequence[Span]) -> dict[str, str]:
    """Returns the options of Spark's CSV source, under one name each, with a header only if they state one.

    Raises ``NotSupportedError`` at an option with an unknown name or value.
    """
    try:
        return {"header": "false", **spark_csv_options(dict(pairs))}
    except CsvOptionError as error:
        raise refused_option(error, pairs, spans) from None


def refused_option(
    error: CsvOptionError, pairs: Sequence[tuple[str, str]], spans: Sequence[Span]
) -> NotSupportedError:
    """Returns the error for an option, at its place; at the first option if a default causes it."""
    places = {key.lower(): span for (key, _), span in zip(pairs, spans, strict=True)}
    return NotSupportedError(
        f"{error}.",
        position=places.get(error.option.lower(), spans[0] if spans else None),
        object=error.option,
        hint=error.hint,
    )
