"""The options of files as statements state them: those of CSV, and those that state how other files are anyway."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewriter.catalog.model.objects import Column
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.exec.formats.csv_dialects import CsvOptionError, open_csv_options, spark_csv_options
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, tokens


def csv_options(pairs: Sequence[tuple[str, str]], spans: Sequence[Span] | None = None) -> dict[str, str]:
    """Returns the options of Spark's CSV source, under one name each, with a header only if they state one.

    Raises ``NotSupportedError`` at an option with an unknown name or value, or without a position if there are no
    ``spans``.
    """
    try:
        return {"header": "false", **spark_csv_options(dict(pairs))}
    except CsvOptionError as error:
        if not spans:
            raise _refused(error, None) from None
        places = {key.lower(): span for (key, _), span in zip(pairs, spans, strict=True)}
        # A default may be at fault.
        raise _refused(error, places.get(error.option.lower(), spans[0])) from None


def hive_csv_options(pairs: Sequence[tuple[str, str]], span: Span | None) -> dict[str, str]:
    """Returns the options of OpenCSVSerde with these properties. Raises ``NotSupportedError`` at the class."""
    try:
        return open_csv_options(dict(pairs))
    except CsvOptionError as error:
        raise _refused(error, span) from None


def _refused(error: CsvOptionError, span: Span | None) -> NotSupportedError:
    return NotSupportedError(f"{error}.", position=span, object=error.option, hint=error.hint)


def check_csv_type(column: Column, position: Span) -> None:
    """Raises ``NotSupportedError`` for a column whose values have no text in CSV files with options."""
    if column.type.lower().startswith(("binary", "array", "map", "struct")):
        raise NotSupportedError(
            f"The column {column.name}, {column.type.upper()}, cannot be in a CSV file with options.",
            position=position,
            object=column.name,
            hint="Use another format, such as parquet, or write CAST(… AS STRING).",
        )


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


def declared_columns(text: str) -> tuple[Column, ...]:
    """Returns the columns of a schema in a text: ``id INT, name STRING``. Raises ``ParseError`` for another text, and
    ``NotSupportedError`` for types that files of CSV do not hold.
    """
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens(text):
        depth += token.is_operator("(", "<") - token.is_operator(")", ">")
        if depth == 0 and token.is_operator(","):
            parts.append([])
        else:
            parts[-1].append(token)
    columns = []
    for part in parts:
        if len(part) < 2 or part[0].kind not in (TokenKind.WORD, TokenKind.IDENTIFIER):
            raise _wrong_schema(text)
        name = identifier_value(part[0]) if part[0].kind is TokenKind.IDENTIFIER else part[0].text
        type_text = "".join(token.text for token in part[1:]).lower()
        type_text = _OTHER_TYPES.get(type_text, type_text)
        if _TYPE.fullmatch(type_text) is None:
            raise _wrong_schema(text)
        columns.append(Column(name, type_text))
    if len({column.name.lower() for column in columns}) < len(columns):
        raise _wrong_schema(text)
    return tuple(columns)


_OTHER_TYPES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float"}
_TYPE = re.compile(r"boolean|tinyint|smallint|int|bigint|float|double|string|date|timestamp|decimal\(\d+,\d+\)")


def _wrong_schema(text: str) -> ParseError:
    return ParseError(
        f"The schema '{text}' is not a list of columns with types of CSV files.",
        condition="PARSE_SYNTAX_ERROR",
        sqlstate="42601",
        object="schema",
        hint="Write schema => 'id INT, name STRING, price DECIMAL(10,2), day DATE'.",
    )
