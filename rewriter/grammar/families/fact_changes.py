"""Changes of facts: ALTER FACT and its actions, of which INSERT may take MARK COMPLETE along."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.errors import Span
from rewriter.grammar.families.facts import (
    FactStorage,
    Rollup,
    fact_table_text,
    length_of_time,
    retain_text,
    rollup_text,
)
from rewriter.grammar.statement_parts import Terminal, from_to
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.unparse import listed, literal_text, name_text, option, quote, quote_name, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.terms import Literal, Name

RULES = r"""
?statement: alter_fact

alter_fact: "ALTER" "FACT" name _fact_action
_fact_action: set_lateness | unset_lateness | set_trusted | unset_trusted | mark_complete | add_storage | drop_storage \
            | add_rollups | drop_rollup | set_refresh | unset_refresh | set_retention | unset_retention
set_lateness: "SET" "LATENESS" STRING
unset_lateness: "UNSET" "LATENESS"
set_refresh: "SET" "REFRESH" "ON" "COMMIT"
unset_refresh: "UNSET" "REFRESH" "ON" "COMMIT"
set_trusted: "TABLE" name "SET" "TRUSTED"
set_retention: "TABLE" name "SET" "RETAIN" NUMBER NAME
unset_retention: "TABLE" name "UNSET" "RETAIN"
unset_trusted: "TABLE" name "UNSET" "TRUSTED"
mark_complete: "MARK" "COMPLETE" "FROM" bound "TO" bound
add_storage: "ADD" "STORAGE" [NAME] "(" fact_table ("," fact_table)* ")" ["START" STRING] ["END" STRING]
drop_storage: "DROP" "STORAGE" name
add_rollups: "ADD" "ROLLUP" rollup ("," rollup)*
drop_rollup: "DROP" "ROLLUP" rollup
"""


@dataclass(frozen=True)
class SetLateness:
    """``SET LATENESS '6 hours'``; UNSET LATENESS if ``lateness`` is ``None``."""

    lateness: str | None
    span: Span = field(default=Span(0, 0), compare=False)


@builds("set_lateness")
def set_lateness(lateness: Terminal) -> SetLateness:
    return SetLateness(lateness.string, lateness.span)


@builds("unset_lateness")
def unset_lateness() -> SetLateness:
    return SetLateness(None)


@dataclass(frozen=True)
class SetRefresh:
    """``SET REFRESH ON COMMIT``, or UNSET."""

    on_commit: bool


@builds("set_refresh")
def set_refresh() -> SetRefresh:
    return SetRefresh(True)


@builds("unset_refresh")
def unset_refresh() -> SetRefresh:
    return SetRefresh(False)


@dataclass(frozen=True)
class SetRetention:
    """``TABLE t SET RETAIN 90 DAYS``; UNSET RETAIN if ``retain`` is ``None``."""

    table: Name
    retain: str | None
    span: Span = field(default=Span(0, 0), compare=False)


@builds("set_retention")
def set_retention(table: Name, number: Terminal, unit: Terminal) -> SetRetention:
    return SetRetention(table, length_of_time(number, unit), Span(number.span.start, unit.span.end))


@builds("unset_retention")
def unset_retention(table: Name) -> SetRetention:
    return SetRetention(table, None)


@dataclass(frozen=True)
class SetTrusted:
    """``TABLE t SET TRUSTED``, or UNSET."""

    table: Name
    trusted: bool


@builds("set_trusted")
def set_trusted(table: Name) -> SetTrusted:
    return SetTrusted(table, True)


@builds("unset_trusted")
def unset_trusted(table: Name) -> SetTrusted:
    return SetTrusted(table, False)


@dataclass(frozen=True)
class MarkComplete:
    """``MARK COMPLETE FROM a TO b``: base periods that are absent from the range had no rows."""

    start: Literal
    end: Literal
    span: Span = field(default=Span(0, 0), compare=False)


@builds("mark_complete")
def mark_complete(start: Literal, end: Literal) -> MarkComplete:
    return MarkComplete(start, end, from_to(start.span, end.span))


def mark_complete_text(action: MarkComplete) -> str:
    return f"MARK COMPLETE FROM {literal_text(action.start)} TO {literal_text(action.end)}"


@dataclass(frozen=True)
class AddStorage:
    """``ADD STORAGE [s] ( … ) [START '…'] [END '…']``: tables as in CREATE FACT."""

    storage: FactStorage


@builds("add_storage")
def add_storage(name: Terminal | None, *rest: Any) -> AddStorage:
    *tables, start, end = rest
    return AddStorage(
        FactStorage(
            name=name.name if name else "default",
            tables=tuple(tables),
            start=start.string if start else None,
            end=end.string if end else None,
            span=name.span if name else tables[0].span,
        )
    )


@dataclass(frozen=True)
class DropStorage:
    """``DROP STORAGE t``: the table leaves the fact."""

    table: Name


@builds("drop_storage")
def drop_storage(table: Name) -> DropStorage:
    return DropStorage(table)


@dataclass(frozen=True)
class AddRollups:
    """``ADD ROLLUP DAILY (page), MONTHLY``: creates the tables of the rollups, as ROLLUPS of CREATE FACT does."""

    rollups: tuple[Rollup, ...]


@builds("add_rollups")
def add_rollups(*rollups: Rollup) -> AddRollups:
    return AddRollups(rollups)


@dataclass(frozen=True)
class DropRollup:
    """``DROP ROLLUP DAILY (page)``: drops a rollup that ROLLUPS has made, and its table."""

    rollup: Rollup


@builds("drop_rollup")
def drop_rollup(rollup: Rollup) -> DropRollup:
    return DropRollup(rollup)


#: What ALTER FACT does.
FactAction = (
    SetLateness
    | SetRefresh
    | SetRetention
    | SetTrusted
    | MarkComplete
    | AddStorage
    | DropStorage
    | AddRollups
    | DropRollup
)


@dataclass(frozen=True, kw_only=True)
class AlterFact(Statement):
    """``ALTER FACT f action``."""

    fact: Name
    action: FactAction

    def permanent_names(self) -> tuple[str, ...]:
        return ("fact", "action") if isinstance(self.action, DropStorage) else ("fact",)


@builds("alter_fact")
def alter_fact(fact: Name, action: FactAction) -> AlterFact:
    return AlterFact(fact=fact, action=action)


@renders(AlterFact)
def alter_fact_text(s: AlterFact) -> str:
    return f"ALTER FACT {name_text(s.fact)} {fact_action_text(s.action)}"


def fact_action_text(action: FactAction) -> str:
    if isinstance(action, MarkComplete):
        return mark_complete_text(action)
    if isinstance(action, SetRefresh):
        return f"{'SET' if action.on_commit else 'UNSET'} REFRESH ON COMMIT"
    if isinstance(action, SetRetention):
        change = "UNSET RETAIN" if action.retain is None else f"SET {retain_text(action.retain)}"
        return f"TABLE {name_text(action.table)} {change}"
    if isinstance(action, SetTrusted):
        return f"TABLE {name_text(action.table)} {'SET' if action.trusted else 'UNSET'} TRUSTED"
    if isinstance(action, SetLateness):
        return "UNSET LATENESS" if action.lateness is None else f"SET LATENESS {quote(action.lateness)}"
    if isinstance(action, DropStorage):
        return f"DROP STORAGE {name_text(action.table)}"
    if isinstance(action, AddRollups):
        return f"ADD ROLLUP {', '.join(map(rollup_text, action.rollups))}"
    if isinstance(action, DropRollup):
        return f"DROP ROLLUP {rollup_text(action.rollup)}"
    storage = action.storage
    return words(
        "ADD STORAGE",
        quote_name(storage.name) if storage.name != "default" else None,
        listed(map(fact_table_text, storage.tables)),
        option("START", storage.start),
        option("END", storage.end),
    )
