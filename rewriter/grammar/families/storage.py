"""The storage of tables and partitions: SET LOCATION, SET FILEFORMAT, SET SERDE."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.errors import NotSupportedError, Span
from rewriter.grammar.statement_parts import Terminal, refuse_duplicates, require_values
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.table_clauses import file_format_name
from rewriter.grammar.unparse import listed, name_text, partition_text, quote, quote_name, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.terms import Name, PartitionItem

RULES = r"""
?statement: set_location | set_file_format | set_serde

set_location: "ALTER" "TABLE" name [partition_spec] "SET" "LOCATION" STRING
set_file_format: "ALTER" "TABLE" name [partition_spec] "SET" "FILEFORMAT" (NAME | hive_format)
hive_format: INPUTFORMAT STRING "OUTPUTFORMAT" STRING ["SERDE" STRING]
set_serde: "ALTER" "TABLE" name [partition_spec] "SET" (serde_class | serde_properties)
serde_class: "SERDE" STRING ["WITH" serde_properties]
serde_properties: "SERDEPROPERTIES" "(" property ("," property)* ")"
"""


@dataclass(frozen=True, kw_only=True)
class SetLocation(Statement):
    """``ALTER TABLE t [PARTITION (…)] SET LOCATION '…'``."""

    table: Name
    location: str
    partition: tuple[PartitionItem, ...] | None = None
    location_span: Span = field(default=Span(0, 0), compare=False)


@builds("set_location")
def set_location(table: Name, partition: tuple[PartitionItem, ...] | None, location: Terminal) -> SetLocation:
    require_values(partition or ())
    return SetLocation(table=table, location=location.string, partition=partition, location_span=location.span)


@renders(SetLocation)
def set_location_text(s: SetLocation) -> str:
    return stored_text(s, f"LOCATION {quote(s.location)}")


@dataclass(frozen=True, kw_only=True)
class SetFileFormat(Statement):
    """``ALTER TABLE t [PARTITION (…)] SET FILEFORMAT f``; the format is in lower case."""

    table: Name
    format: str
    partition: tuple[PartitionItem, ...] | None = None
    format_span: Span = field(default=Span(0, 0), compare=False)


@builds("set_file_format")
def set_file_format(table: Name, partition: tuple[PartitionItem, ...] | None, name: Terminal) -> SetFileFormat:
    require_values(partition or ())
    return SetFileFormat(table=table, format=file_format_name(name), partition=partition, format_span=name.span)


@builds("hive_format")
def hive_format(word: Terminal, *_classes: Terminal | None) -> Terminal:
    raise NotSupportedError(
        "SET FILEFORMAT with classes of Hive is not supported.",
        position=word.span,
        hint="Name the format: ALTER TABLE t SET FILEFORMAT parquet.",
    )


@renders(SetFileFormat)
def set_file_format_text(s: SetFileFormat) -> str:
    return stored_text(s, f"FILEFORMAT {quote_name(s.format)}")


@dataclass(frozen=True, kw_only=True)
class SetSerde(Statement):
    """``ALTER TABLE t [PARTITION (…)] SET SERDE '…' [WITH SERDEPROPERTIES (…)]``, or ``SET SERDEPROPERTIES (…)``, where
    ``serde`` is ``None``.
    """

    table: Name
    serde: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    partition: tuple[PartitionItem, ...] | None = None
    serde_span: Span = field(default=Span(0, 0), compare=False)
    property_spans: tuple[Span, ...] = field(default=(), compare=False)


@builds("set_serde")
def set_serde(
    table: Name, partition: tuple[PartitionItem, ...] | None, change: tuple[Terminal | None, Any]
) -> SetSerde:
    require_values(partition or ())
    serde, values = change
    return SetSerde(
        table=table,
        serde=serde.string if serde is not None else None,
        properties=tuple(pair for pair, _ in values),
        partition=partition,
        serde_span=serde.span if serde is not None else table.span,
        property_spans=tuple(span for _, span in values),
    )


@builds("serde_class")
def serde_class(serde: Terminal, properties: tuple[None, Any] | None) -> tuple[Terminal, Any]:
    return serde, properties[1] if properties is not None else ()


@builds("serde_properties")
def serde_properties(*properties: tuple[tuple[str, str], Span]) -> tuple[None, Any]:
    refuse_duplicates([(key, span) for (key, _), span in properties], str)
    return None, properties


@renders(SetSerde)
def set_serde_text(s: SetSerde) -> str:
    pairs = "SERDEPROPERTIES " + listed(f"{quote(key)} = {quote(value)}" for key, value in s.properties)
    if s.serde is None:
        return stored_text(s, pairs)
    return stored_text(s, f"SERDE {quote(s.serde)}", f"WITH {pairs}" if s.properties else None)


def stored_text(s: SetLocation | SetFileFormat | SetSerde, *rest: str | None) -> str:
    return words(f"ALTER TABLE {name_text(s.table)}", partition_text(s.partition), "SET", *rest)
