"""The clauses of CREATE TABLE in all its forms: their combined meaning, and the refused clauses of Hive and Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.statement_parts import Terminal, from_to
from rewriter.grammar.terms import ColumnDef, Name

_QL = "org.apache.hadoop.hive.ql.io."
#: Hive's classes, as its SHOW CREATE TABLE prints them, and the format that they read and write.
_CLASSES = {
    f"{_QL}parquet.serde.ParquetHiveSerDe": "parquet",
    f"{_QL}parquet.MapredParquetInputFormat": "parquet",
    f"{_QL}parquet.MapredParquetOutputFormat": "parquet",
    f"{_QL}orc.OrcSerde": "orc",
    f"{_QL}orc.OrcInputFormat": "orc",
    f"{_QL}orc.OrcOutputFormat": "orc",
}


class Format(NamedTuple):
    """A file format, in lower case, and the span of its name."""

    name: str
    span: Span


def format_of_class(name: Terminal) -> Format:
    """Returns the format of one of Hive's classes. Raises ``NotSupportedError`` for an unknown class."""
    file_format = {class_name.lower(): format for class_name, format in _CLASSES.items()}.get(name.string.lower())
    if file_format is None:
        raise NotSupportedError(
            f"The class {name.string} is not supported.",
            position=name.span,
            object=name.string,
            hint="Name the format, USING parquet: only Hive's classes for parquet and ORC are supported.",
        )
    return Format(file_format, name.span)


def format_of_classes(reads: Terminal, writes: Terminal) -> Format:
    """Returns the format of STORED AS INPUTFORMAT … OUTPUTFORMAT …, which must be one."""
    read_format = format_of_class(reads)
    return _agreeing(read_format, format_of_class(writes))._replace(span=from_to(reads.span, writes.span))


def _agreeing(first: Format, second: Format | None) -> Format:
    if second is not None and second.name != first.name:
        raise ParseError(
            f"The table would be read as {first.name} and written as {second.name}.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=second.span,
            hint="Name one format: USING parquet",
        )
    return first


def table_options(clauses: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a statement that clauses fill: format, location, comment, properties."""
    format_clause, serde = clauses.get("USING or STORED AS"), clauses.get("ROW FORMAT")
    format_ = format_clause if serde is None else _agreeing(serde, format_clause)
    return {
        "format": None if format_ is None else format_.name,
        "format_span": None if format_ is None else format_.span,
        "location": clauses.get("LOCATION"),
        "comment": clauses.get("COMMENT"),
        "properties": tuple(pair for pair, _ in clauses.get("TBLPROPERTIES", ())),
        "property_spans": tuple(span for _, span in clauses.get("TBLPROPERTIES", ())),
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


def refused_transform(name: Terminal, arguments: Sequence[Terminal]) -> NotSupportedError:
    """Returns the error for ``days(ts)``, ``bucket(8, id)`` and the like in PARTITIONED BY."""
    column = next((argument.token.text for argument in arguments if argument.type == "NAME"), "id")
    hints = {
        "years": f"PARTITIONED BY (y INT), and year({column}) in the INSERT query.",
        "months": f"PARTITIONED BY (m STRING), and date_format({column}, 'yyyy-MM') in the INSERT query.",
        "days": f"PARTITIONED BY (d DATE), and to_date({column}) in the INSERT query.",
        "hours": f"PARTITIONED BY (h STRING), and date_format({column}, 'yyyy-MM-dd-HH') in the INSERT query.",
    }
    column_text = "PARTITIONED BY (c type), and select the value of c in the query: a partition has a single value."
    word = name.token.text.lower()
    return NotSupportedError(
        f"PARTITIONED BY {word}(…) is not supported: a partition has a single value of each column.",
        position=name.span,
        object=word,
        hint=f"Write {hints.get(word) or hints.get(word + 's') or column_text}",
    )


def table_and_column(name: Name) -> tuple[Name, str]:
    """Splits ``t.c``. Raises ``ParseError`` if the column has no table."""
    if len(name.parts) < 2:
        raise ParseError(
            f"COMMENT ON COLUMN {name.last} does not name a table.", position=name.span, hint=f"Write t.{name.last}."
        )
    return Name(name.parts[:-1], name.span), name.last
