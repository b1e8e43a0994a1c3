"""Changes of facts: ALTER FACT and its actions, of which INSERT may take MARK COMPLETE along. Also advice."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.errors import ParseError, Span
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
?statement: alter_fact | recommend_rollups | show_rollup_use

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
recommend_rollups: "RECOMMEND" "ROLLUPS" "FOR" name ["FROM" STRING] ["WITHIN" STRING]
show_rollup_use: "SHOW" "ROLLUP" "USE" "OF" name ["FROM" STRING]
"""
#: The units of sizes, in bytes.
_SIZE_UNITS = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,3})?)\s*([A-Za-z]+)", re.ASCII)


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


@dataclass(frozen=True, kw_only=True)
class RecommendRollups(Statement):
    """``RECOMMEND ROLLUPS FOR cube [FROM 'queries.sql'] [WITHIN '2 GB']``: advice from the query log, or from a file of
    queries. ``within`` is the text of a size, ``most_bytes`` what it says.
    """

    cube: Name
    file: str | None = None
    within: str | None = None
    file_span: Span = field(default=Span(0, 0), compare=False)

    @property
    def most_bytes(self) -> int | None:
        return None if self.within is None else _size(self.within)

    def permanent_names(self) -> tuple[str, ...]:
        return ("cube",)


@builds("recommend_rollups")
def recommend_rollups(cube: Name, file: Terminal | None, within: Terminal | None) -> RecommendRollups:
    if within is not None and not _size(within.string):
        raise ParseError(
            f"'{within.string}' is no size.",
            position=within.span,
            hint=f"Write a number and a unit, as in WITHIN '2 GB'. The units are {', '.join(_SIZE_UNITS)}.",
        )
    return RecommendRollups(
        cube=cube,
        file=None if file is None else file.string,
        within=None if within is None else within.string,
        file_span=Span(0, 0) if file is None else file.span,
    )


def _size(text: str) -> int | None:
    """Returns the bytes that a text like ``2 GB`` says; ``None`` for other texts."""
    parts = _SIZE.fullmatch(text.strip())
    unit = None if parts is None else _SIZE_UNITS.get(parts[2].upper())
    return None if parts is None or unit is None else int(float(parts[1]) * unit)


@renders(RecommendRollups)
def recommend_rollups_text(s: RecommendRollups) -> str:
    return words(f"RECOMMEND ROLLUPS FOR {name_text(s.cube)}", option("FROM", s.file), option("WITHIN", s.within))


@dataclass(frozen=True, kw_only=True)
class ShowRollupUse(Statement):
    """``SHOW ROLLUP USE OF fact [FROM 'queries.sql']``: which tables of a fact have served the queries of the log, or
    would serve those of a file.
    """

    fact: Name
    file: str | None = None
    file_span: Span = field(default=Span(0, 0), compare=False)

    def permanent_names(self) -> tuple[str, ...]:
        return ("fact",)


@builds("show_rollup_use")
def show_rollup_use(fact: Name, file: Terminal | None) -> ShowRollupUse:
    if file is None:
        return ShowRollupUse(fact=fact)
    return ShowRollupUse(fact=fact, file=file.string, file_span=file.span)


@renders(ShowRollupUse)
def show_rollup_use_text(s: ShowRollupUse) -> str:
    return words(f"SHOW ROLLUP USE OF {name_text(s.fact)}", option("FROM", s.file))
