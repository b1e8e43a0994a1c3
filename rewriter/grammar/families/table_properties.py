"""ALTER TABLE for a complete table: its properties, and the timelines of its periods."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from rewriter.errors import Span
from rewriter.grammar.shared_rules import property_key
from rewriter.grammar.statement_parts import Clause, Terminal, period_name, refuse_duplicates
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.unparse import listed, name_text, properties_text, quote, quote_name, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.terms import ColumnName, Name

RULES = r"""
?statement: set_properties | unset_properties | set_timeline

set_properties: "ALTER" "TABLE" name "SET" properties
unset_properties: "ALTER" "TABLE" name "UNSET" TBLPROPERTIES [if_exists] "(" _property_key ("," _property_key)* ")"
set_timeline: "ALTER" "TABLE" name "SET" "TIMELINE" NAME "FOR" NAME "TO" STRING
"""


@dataclass(frozen=True, kw_only=True)
class SetProperties(Statement):
    """``ALTER TABLE t SET TBLPROPERTIES ('key' = 'value', …)``."""

    table: Name
    properties: tuple[tuple[str, str], ...]
    property_spans: tuple[Span, ...] = field(default=(), compare=False)


@builds("set_properties")
def set_properties(table: Name, clause: Clause) -> SetProperties:
    pairs, spans = zip(*clause.value, strict=True)
    return SetProperties(table=table, properties=pairs, property_spans=spans)


@renders(SetProperties)
def set_properties_text(s: SetProperties) -> str:
    return words(f"ALTER TABLE {name_text(s.table)} SET", properties_text(s.properties))


@dataclass(frozen=True, kw_only=True)
class UnsetProperties(Statement):
    """``ALTER TABLE t UNSET TBLPROPERTIES [IF EXISTS] ('key', …)``."""

    table: Name
    keys: tuple[str, ...]
    if_exists: bool = False


@builds("unset_properties")
def unset_properties(
    table: Name, _word: Terminal, if_exists: bool | None, *keys: Terminal | ColumnName
) -> UnsetProperties:
    names = [(property_key(key), key.span) for key in keys]
    refuse_duplicates(names, str)
    return UnsetProperties(table=table, keys=tuple(name for name, _ in names), if_exists=bool(if_exists))


@renders(UnsetProperties)
def unset_properties_text(s: UnsetProperties) -> str:
    exists = "IF EXISTS" if s.if_exists else None
    return words(f"ALTER TABLE {name_text(s.table)} UNSET TBLPROPERTIES", exists, listed(map(quote, s.keys)))


@dataclass(frozen=True, kw_only=True)
class SetTimeline(Statement):
    """``ALTER TABLE t SET TIMELINE period FOR column TO 'class'``.

    ``period`` is the name of an update period, upper case; ``column`` a partition column or a time dimension.
    """

    table: Name
    period: str
    column: str
    implementation: str
    period_span: Span = field(default=Span(0, 0), compare=False)
    column_span: Span = field(default=Span(0, 0), compare=False)
    implementation_span: Span = field(default=Span(0, 0), compare=False)


@builds("set_timeline")
def set_timeline(table: Name, period: Terminal, column: Terminal, to: Terminal) -> SetTimeline:
    return SetTimeline(
        table=table,
        period=period_name(period),
        column=column.name,
        implementation=to.string,
        period_span=period.span,
        column_span=column.span,
        implementation_span=to.span,
    )


@renders(SetTimeline)
def set_timeline_text(s: SetTimeline) -> str:
    timeline = f"TIMELINE {s.period} FOR {quote_name(s.column)} TO {quote(s.implementation)}"
    return f"ALTER TABLE {name_text(s.table)} SET {timeline}"
