"""The clauses of CREATE TABLE in all its forms: their combined meaning, and the refused clauses of Hive and Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewriter.data_formats import DATA_FORMATS, classes_of_formats, format_of_serde, known_format, name_of_alias
from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.row_formats import TEXTFILE, RowFormat, checked_row_format
from rewriter.grammar.statement_parts import Clause, Terminal, from_to, values_by_kind
from rewriter.grammar.terms import ColumnDef, Name
from rewriter.grammar.unparse import quote


class Format(NamedTuple):
    """A file format, in lower case, the span of its name, and the row format of text files."""

    name: str
    span: Span
    row_format: RowFormat | None = None


def file_format_name(name: Terminal) -> str:
    """Returns the name of the format after STORED AS or SET FILEFORMAT, in lower case: parquet for PARQUETFILE."""
    return name_of_alias(name.name)


def format_of_class(name: Terminal) -> Format:
    """Returns the format of one of Hive's classes. Raises ``NotSupportedError`` for an unknown class."""
    file_format = classes_of_formats().get(name.string.lower())
    misread = format_of_serde(name.string)
    if file_format is None and misread is not None and misread.misread_by_class is not None:
        raise NotSupportedError(
            f"The class {name.string} is not supported in CREATE TABLE: {misread.misread_by_class}.",
            position=name.span,
            object=name.string,
            hint=f"If the files are as they are here, name the format: USING {misread.name}.",
        )
    if file_format is None:
        *titles, last = (format.title for format in DATA_FORMATS.values() if format.is_hives)
        raise NotSupportedError(
            f"The class {name.string} is not supported.",
            position=name.span,
            object=name.string,
            hint=f"Name the format, USING parquet: only Hive's classes for {', '.join(titles)} and {last} are "
            "supported.",
        )
    return Format(file_format, name.span)


def format_of_classes(reads: Terminal, writes: Terminal) -> Format:
    """Returns the format of STORED AS INPUTFORMAT … OUTPUTFORMAT …, which must be one."""
    read_format = format_of_class(reads)
    return _agreeing(read_format, format_of_class(writes))._replace(span=from_to(reads.span, writes.span))


def _agreeing(first: Format, second: Format | None) -> Format:
    if second is not None and second.name == TEXTFILE and first.row_format is None and _is_of_lines(first.name):
        return first  # Hive's text files with another class of rows.
    if second is not None and second.name != first.name and first.row_format is not None:
        raise ParseError(
            f"ROW FORMAT DELIMITED is for text files, not for {second.name}.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=second.span,
            hint="Write STORED AS TEXTFILE, or leave ROW FORMAT out.",
        )
    if second is not None and second.name != first.name:
        raise ParseError(
            f"The table would be read as {first.name} and written as {second.name}.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=second.span,
            hint="Name one format: USING parquet.",
        )
    return first


def _is_of_lines(name: str) -> bool:
    data_format = known_format(name)
    return data_format is not None and data_format.classes.input == DATA_FORMATS[TEXTFILE].classes.input


def delimited_format(clauses: Sequence[Clause], span: Span) -> Format:
    """Returns the format of ROW FORMAT DELIMITED. Raises errors for separators that Hive would not take as typed."""
    values = values_by_kind(clauses)
    texts = {kind: text.string for kind, text in values.items()}
    spans = {clause.kind: clause.span for clause in clauses}
    return Format(TEXTFILE, span, checked_row_format(texts, spans))


def refused_nesting(span: Span) -> NotSupportedError:
    """Returns the error for COLLECTION ITEMS and MAP KEYS TERMINATED BY."""
    return NotSupportedError(
        "Text files with columns of ARRAY, MAP or STRUCT are not supported.",
        position=span,
        hint="Omit the clause, and store such columns as parquet or ORC.",
    )


def row_format_text(rows: RowFormat | None) -> str | None:
    """Returns ROW FORMAT DELIMITED with its clauses; ``None`` without it."""
    if rows is None:
        return None
    escape = "" if rows.escape is None else f" ESCAPED BY {quote(rows.escape)}"
    return f"ROW FORMAT DELIMITED FIELDS TERMINATED BY {quote(rows.field)}{escape} NULL DEFINED AS {quote(rows.null)}"


def table_options(clauses: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a statement that clauses fill: format, location, comment, properties."""
    format_clause, serde = clauses.get("USING or STORED AS"), clauses.get("ROW FORMAT")
    format_ = format_clause if serde is None else _agreeing(serde, format_clause)
    return {
        "format": None if format_ is None else format_.name,
        "row_format": None if serde is None else serde.row_format,
        "format_span": None if format_ is None else format_.span,
        "location": clauses.get("LOCATION"),
        "comment": clauses.get("COMMENT"),
        "properties": tuple(pair for pair, _ in clauses.get("TBLPROPERTIES", ())),
        "property_spans": tuple(span for _, span in clauses.get("TBLPROPERTIES", ())),
        "cluster": clauses.get("ON CLUSTER"),
    }


def table_flags(
    or_replace: bool | None,
    temporary: bool | None,
    external: Terminal | None,
    if_not_exists: bool | None,
    table: Name,
) -> dict[str, Any]:
    """Returns the words before TABLE and IF NOT EXISTS. Raises ``ParseError`` if two of them exclude each other."""
    if or_replace and if_not_exists:
        raise ParseError(
            "CREATE TABLE with both IF NOT EXISTS and OR REPLACE is not allowed.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=table.span,
            object=table.last,
            hint="Leave one of them out.",
        )
    return {
        "or_replace": bool(or_replace),
        "temporary": bool(temporary),
        "external": external is not None,
        "if_not_exists": bool(if_not_exists),
    }


def refuse_schema(table: Name, columns: Sequence[ColumnDef] | None, partitioned_by: Sequence[ColumnDef]) -> None:
    """Raises ``ParseError``, as Spark does, if CREATE TABLE … AS declares the columns that the query returns."""
    if columns:
        raise ParseError(
            f"CREATE TABLE {table.last} … AS has a column list, but the query defines the columns.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=from_to(columns[0].span, columns[-1].span),
            object=table.last,
            hint="Omit the list, and write CAST(… AS type) AS name in the query; "
            "or create the table first, then INSERT INTO it.",
        )
    typed = next((column for column in partitioned_by if column.type is not None), None)
    if typed is not None:
        raise ParseError(
            f"The partition column {typed.name} of CREATE TABLE {table.last} … AS has a type, but the "
            "query defines the type.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=typed.span,
            object=typed.name,
            hint=f"Write PARTITIONED BY ({typed.name}), and CAST(… AS {typed.type}) AS {typed.name} in the query.",
        )


#: The transforms of PARTITIONED BY, under the names that Spark and Iceberg have for them.
_TRANSFORMS = {
    "year": "years", "years": "years", "month": "months", "months": "months", "day": "days", "days": "days",
    "date": "days", "hour": "hours", "hours": "hours", "date_hour": "hours",
}  # fmt: skip


def partition_transform(name: Terminal, arguments: Sequence[Terminal]) -> ColumnDef:
    """Returns ``days(ts)`` in PARTITIONED BY. Raises ``NotSupportedError`` for ``bucket(8, id)`` and the like, and
    ``ParseError`` unless the argument is a column.
    """
    word = name.token.text.lower()
    transform = _TRANSFORMS.get(word)
    span = from_to(name.span, arguments[-1].span)
    if transform is None:
        raise NotSupportedError(
            f"PARTITIONED BY {word}(…) is not supported: a partition has a single value of each column.",
            position=name.span,
            object=word,
            hint="Write PARTITIONED BY (c type), and select the value of c in the query; or use one of the transforms "
            "years, months, days and hours of a time.",
        )
    if len(arguments) != 1 or arguments[0].type != "NAME":
        raise ParseError(
            f"{word}(…) in PARTITIONED BY takes one column.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=span,
            hint=f"Write PARTITIONED BY ({transform}(ts)), where ts is a column of the type TIMESTAMP or DATE.",
        )
    return ColumnDef(arguments[0].name, None, span=span, transform=transform)


def table_and_column(name: Name) -> tuple[Name, str]:
    """Splits ``t.c``. Raises ``ParseError`` if the column has no table."""
    if len(name.parts) < 2:
        raise ParseError(
            f"COMMENT ON COLUMN {name.last} does not name a table.", position=name.span, hint=f"Write t.{name.last}."
        )
    return Name(name.parts[:-1], name.span), name.last
