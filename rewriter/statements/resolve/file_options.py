"""The options of files as statements state them: those of CSV, and those that state how other files are anyway."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import NotSupportedError, Span
from rewriter.exec.formats.csv_dialects import CsvOptionError, open_csv_options, spark_csv_options


def csv_options(pairs: Sequence[tuple[str, str]], spans: Sequence[Span]) -> dict[str, str]:
    """Returns the options of Spark's CSV source, under one name each, with a header only if they state one.

    Raises ``NotSupportedError`` at an option with an unknown name or value.
    """
    try:
        return {"header": "false", **spark_csv_options(dict(pairs))}
    except CsvOptionError as error:
        places = {key.lower(): span for (key, _), span in zip(pairs, spans, strict=True)}
        # A default may be at fault.
        raise _refused(error, places.get(error.option.lower(), spans[0] if spans else None)) from None


def hive_csv_options(pairs: Sequence[tuple[str, str]], span: Span | None) -> dict[str, str]:
    """Returns the options of OpenCSVSerde with these properties. Raises ``NotSupportedError`` at the class."""
    try:
        return open_csv_options(dict(pairs))
    except CsvOptionError as error:
        raise _refused(error, span) from None


def _refused(error: CsvOptionError, span: Span | None) -> NotSupportedError:
    return NotSupportedError(f"{error}.", position=span, object=error.option, hint=error.hint)


def check_written_options(format: str, pairs: Sequence[tuple[str, str]], spans: Sequence[Span]) -> None:
    """Raises ``NotSupportedError`` for options by which files of another format would be written differently."""
    as_written = DATA_FORMATS[format].written_options
    for (key, value), span in zip(pairs, spans, strict=True):
        if value.lower() not in as_written.get(key.lower(), ()):
            accepted = ", ".join(f"{name} = '{values[0]}'" for name, values in as_written.items())
            raise NotSupportedError(
                f"The option {key} = '{value}' of {format} files is not supported.",
                position=span,
                object=key,
                hint=f"Files are written with {accepted}.",
            )
