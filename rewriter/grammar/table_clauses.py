"""The clauses of CREATE TABLE in all its forms: their combined meaning, and the refused clauses of Hive and Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewriter.data_formats import CSV, DATA_FORMATS, classes_of_formats, known_format, name_of_alias
from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.row_formats import TEXTFILE, RowFormat, checked_row_format
from rewriter.grammar.statement_parts import Clause, Terminal, from_to, values_by_kind
from rewriter.grammar.terms import ColumnDef, Name
from rewriter.grammar.unparse import listed, quote


class Format(NamedTuple):
    """A file format, in lower case, the span of its name, the row format of text files, and the properties of rows of
    OpenCSVSerde.
    """

    name: str
    span: Span
    row_format: RowFormat | None = None
    serde_properties: tuple[tuple[str, str], ...] | None = None


def file_format_name(name: Terminal) -> str:
    """Returns the name of the format after STORED AS or SET FILEFORMAT, in lower case: parquet for PARQUETFILE."""
    return name_of_alias(name.name)


def format_of_class(name: Terminal, properties: Sequence[tuple[tuple[str, str], Span]] = ()) -> Format:
    """Returns the format of one of Hive's classes with these properties. Raises ``NotSupportedError`` for an unknown
    class, and for a property by which it would read other files.
    """
    file_format = classes_of_formats().get(name.string.lower())
    if file_format is None:
        *titles, last = (format.title for format in DATA_FORMATS.values() if format.is_hives)
        raise NotSupportedError(
            f"The class {name.string} is not supported.",
            position=name.span,
            object=name.string,
            hint=f"Name the format, USING parquet: only Hive's classes for {', '.join(titles)} and {last} are "
            "supported.",
        )
    if file_format == CSV.name:
        return Format(file_format, name.span, serde_properties=tuple(pair for pair, _ in properties))
    stated = [((key.lower(), value), span) for (key, value), span in properties]
    if file_format == TEXTFILE and stated:
        return Format(file_format, name.span, _row_format_of_properties(stated))
    for (key, _), span in stated:
        if key != "serialization.format":
            raise _refused_property(key, name.string, span)
    return Format(file_format, name.span)


#: The properties of LazySimpleSerDe, with the clauses of ROW FORMAT DELIMITED that mean the same.
_CLAUSES = {
    "serialization.format": "FIELDS TERMINATED BY",
    "field.delim": "FIELDS TERMINATED BY",
    "escape.delim": "ESCAPED BY",
    "line.delim": "LINES TERMINATED BY",
    "serialization.null.format": "NULL DEFINED AS",
}


def _row_format_of_properties(properties: Sequence[tuple[tuple[str, str], Span]]) -> RowFormat:
    texts: dict[str, str] = {}
    spans: dict[str, Span] = {}
    # Hive takes serialization.format only without field.delim.
    for (key, value), span in sorted(properties, key=lambda item: item[0][0] != "serialization.format"):
        clause = _CLAUSES.get(key)
        if clause is None:
            raise _refused_property(key, "LazySimpleSerDe", span)
        texts[clause], spans[clause] = value, span
    return checked_row_format(texts, spans)


def _refused_property(key: str, class_name: str, span: Span) -> NotSupportedError:
    return NotSupportedError(
        f"The property {key} of {class_name} is not supported.",
        position=span,
        object=key,
        hint=f"LazySimpleSerDe has {', '.join(_CLAUSES)}; OpenCSVSerde has separatorChar, quoteChar and escapeChar.",
    )


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


def row_format_text(rows: RowFormat | None, serde_properties: Sequence[tuple[str, str]] | None = None) -> str | None:
    """Returns ROW FORMAT DELIMITED with its clauses, or ROW FORMAT SERDE of OpenCSVSerde with these properties;
    ``None`` without both.
    """
    if serde_properties is not None:
        pairs = listed(f"{quote(key)} = {quote(value)}" for key, value in serde_properties)
        return (
            f"ROW FORMAT SERDE {quote(CSV.classes.serde)}{f' WITH SERDEPROPERTIES {pairs}' if serde_properties else ''}"
        )
    if rows is None:
        return None
    escape = "" if rows.escape is None else f" ESCAPED BY {quote(rows.escape)}"
    return f"ROW FORMAT DELIMITED FIELDS TERMINATED BY {quote(rows.field)}{escape} NULL DEFINED AS {quote(rows.null)}"


def with_path_as_location(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of a new table, with the option ``path`` as its location, as Spark takes it. Raises
    ``ParseError`` if there is a LOCATION, too.
    """
    pairs = list(zip(fields["options"] or (), fields["option_spans"], strict=True))
    path = next(((pair, span) for pair, span in pairs if pair[0].lower() == "path"), None)
    if path is None:
        return fields
    (key, value), span = path
    if fields["location"] is not None:
        raise ParseError(
            "The table has a LOCATION and the option path.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=span,
            object=key,
            hint="Omit one of them.",
        )
    kept = [(pair, other) for pair, other in pairs if pair[0] != key]
    options, spans = tuple(pair for pair, _ in kept), tuple(other for _, other in kept)
    return {**fields, "options": options, "option_spans": spans, "location": value}


def table_options(clauses: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a statement that clauses fill: format, location, comment, properties."""
    format_clause, serde = clauses.get("USING or STORED AS"), clauses.get("ROW FORMAT")
    format_ = format_clause if serde is None else _agreeing(serde, format_clause)
    return {
        "format": None if format_ is None else format_.name,
        "row_format": None if serde is None else serde.row_format,
        "serde_properties": None if format_ is None else format_.serde_properties,
        "options": tuple(pair for pair, _ in clauses["OPTIONS"]) if "OPTIONS" in clauses else None,
        "option_spans": tuple(span for _, span in clauses.get("OPTIONS", ())),
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
