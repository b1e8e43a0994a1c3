"""The clauses of CREATE TABLE in all its forms: what they mean together, and what is refused of Hive's and Spark's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar import statements as st
from rewriter.grammar.clauses import Terminal, from_to

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
    """A file format, in lower case, and where it is named."""

    name: str
    span: Span


def format_of_class(name: Terminal) -> Format:
    """The format that one of Hive's classes stands for. Raises ``NotSupportedError`` for an unknown one."""
    found = {known.lower(): format for known, format in _CLASSES.items()}.get(name.string.lower())
    if found is None:
        raise NotSupportedError(
            f"The class {name.string} is not supported.",
            position=name.span,
            object=name.string,
            hint="Name the format, USING parquet: the classes that are known are Hive's for parquet and ORC.",
        )
    return Format(found, name.span)


def format_of_classes(reads: Terminal, writes: Terminal) -> Format:
    """The format of STORED AS INPUTFORMAT … OUTPUTFORMAT …, which must be one."""
    found = format_of_class(reads)
    return _agreeing(found, format_of_class(writes))._replace(span=from_to(reads.span, writes.span))


def _agreeing(one: Format, other: Format | None) -> Format:
    if other is not None and other.name != one.name:
        raise ParseError(
            f"The table would be read as {one.name} and written as {other.name}.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=other.span,
            hint="Name one format: USING parquet",
        )
    return one


def table_options(found: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a statement that clauses fill: format, location, comment, properties."""
    named, serde = found.get("USING or STORED AS"), found.get("ROW FORMAT")
    format_ = named if serde is None else _agreeing(serde, named)
    return {
        "format": None if format_ is None else format_.name,
        "format_span": None if format_ is None else format_.span,
        "location": found.get("LOCATION"),
        "comment": found.get("COMMENT"),
        "properties": tuple(pair for pair, _ in found.get("TBLPROPERTIES", ())),
        "property_spans": tuple(span for _, span in found.get("TBLPROPERTIES", ())),
    }


def table_flags(
    or_replace: bool | None,
    temporary: bool | None,
    external: Terminal | None,
    if_not_exists: bool | None,
    table: st.Name,
) -> dict[str, Any]:
    """The words before TABLE and IF NOT EXISTS. Raises ``ParseError`` where two of them exclude each other."""
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


def refuse_schema(
    table: st.Name, columns: Sequence[st.ColumnDef] | None, partitioned_by: Sequence[st.ColumnDef]
) -> None:
    """Raises ``ParseError``, as Spark does, where CREATE TABLE … AS declares what the query answers."""
    if columns:
        raise ParseError(
            f"CREATE TABLE {table.last} … AS has columns of its own: they are those of the query.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=from_to(columns[0].span, columns[-1].span),
            object=table.last,
            hint="Leave the list out, and write CAST(… AS type) AS name in the query; "
            "or create the table first, then INSERT INTO it.",
        )
    typed = next((column for column in partitioned_by if column.type is not None), None)
    if typed is not None:
        raise ParseError(
            f"The partition column {typed.name} of CREATE TABLE {table.last} … AS has a type: it is that of the query.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=typed.span,
            object=typed.name,
            hint=f"Write PARTITIONED BY ({typed.name}), and CAST(… AS {typed.type}) AS {typed.name} in the query.",
        )


def refused_transform(name: Terminal, arguments: Sequence[Terminal]) -> NotSupportedError:
    """The error for ``days(ts)``, ``bucket(8, id)`` and the like in PARTITIONED BY."""
    column = next((one.token.text for one in arguments if one.type == "NAME"), "id")
    hints = {
        "years": f"PARTITIONED BY (y INT), and year({column}) in the query that writes.",
        "months": f"PARTITIONED BY (m STRING), and date_format({column}, 'yyyy-MM') in the query that writes.",
        "days": f"PARTITIONED BY (d DATE), and to_date({column}) in the query that writes.",
        "hours": f"PARTITIONED BY (h STRING), and date_format({column}, 'yyyy-MM-dd-HH') in the query that writes.",
    }
    plain = "PARTITIONED BY (c type), and the value of c in the query that writes: partitions are single values."
    word = name.token.text.lower()
    return NotSupportedError(
        f"PARTITIONED BY {word}(…) is not supported: a partition has one value of each column.",
        position=name.span,
        object=word,
        hint=f"Write {hints.get(word) or hints.get(word + 's') or plain}",
    )


def table_and_column(name: st.Name) -> tuple[st.Name, str]:
    """``t.c`` apart. Raises ``ParseError`` where the column stands alone."""
    if len(name.parts) < 2:
        raise ParseError(
            f"COMMENT ON COLUMN {name.last} names no table.", position=name.span, hint=f"Write t.{name.last}."
        )
    return st.Name(name.parts[:-1], name.span), name.last
