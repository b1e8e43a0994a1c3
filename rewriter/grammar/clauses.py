"""The pieces that statements are built of, and the checks that no grammar can express."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from rewriter.errors import AnalysisError, ParseError, Span
from rewriter.grammar import statements as st
from rewriter.grammar.lexer import Token, identifier_value, string_value
from rewriter.timeline.periods import UpdatePeriod


class Terminal(NamedTuple):
    """A token with the role that the grammar gave it; ``type`` is a terminal of ``dialect.lark``."""

    type: str
    token: Token

    @property
    def span(self) -> Span:
        return self.token.span

    @property
    def word(self) -> str:
        return self.token.upper

    @property
    def name(self) -> str:
        """The name that a NAME means. ``ParseError`` for the empty one, `` `` ``."""
        value = identifier_value(self.token)
        if not value:
            raise ParseError("A name is empty.", position=self.span, hint="Write a name between the backquotes.")
        return value

    @property
    def string(self) -> str:
        return string_value(self.token)


class Clause(NamedTuple):
    """A clause that may stand in any place: what it is, its value, and where."""

    kind: str
    value: Any
    span: Span


def whole_number(terminal: Terminal) -> int | None:
    """The number that a NUMBER means; ``None`` where it is not whole, or has more than 18 digits."""
    text = terminal.token.text
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def from_to(first: Span, last: Span) -> Span:
    """The stretch from the start of one to the end of the other."""
    return Span(first.start, last.end)


def inside(table: st.Name, database: st.DatabaseName) -> st.Name:
    """The table in a database that is named behind it, as in SHOW COLUMNS IN t IN db; it may be named before it, too.

    Raises ``AnalysisError`` SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE 42K05 where these are two.
    """
    if len(table.parts) > 1 and table.parts[-2].lower() != database.text.lower():
        raise AnalysisError(
            f"SHOW COLUMNS names two databases, {table.parts[-2]} and {database.text}.",
            condition="SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE",
            sqlstate="42K05",
            position=database.span,
            object=database.text,
            hint=f"Write SHOW COLUMNS IN {'.'.join(table.parts)}.",
        )
    return table if len(table.parts) > 1 else st.Name((database.text, *table.parts), table.span)


def once(clauses: Iterable[Clause]) -> dict[str, Any]:
    """The clauses' values by kind; a second one of a kind is an error."""
    found: dict[str, Any] = {}
    for clause in clauses:
        if clause.kind in found:
            raise ParseError(
                f"Found duplicate clauses: {clause.kind}.",
                condition="DUPLICATE_CLAUSES",
                sqlstate="42614",
                position=clause.span,
                hint="Each clause stands once; remove one of them.",
            )
        found[clause.kind] = clause.value
    return found


def refuse_duplicates(keys: Sequence[tuple[str, Span]], fold: Callable[[str], str]) -> None:
    """Raises ``ParseError`` DUPLICATE_KEY at the second of two keys that ``fold`` makes equal."""
    seen: set[str] = set()
    for key, span in keys:
        if fold(key) in seen:
            raise ParseError(
                f"Found duplicate keys `{key}`.",
                condition="DUPLICATE_KEY",
                sqlstate="23505",
                position=span,
                object=key,
                hint="Name each one once.",
            )
        seen.add(fold(key))


def require_values(spec: Iterable[st.PartitionItem]) -> None:
    """Raises ``ParseError`` at a partition column without a value."""
    for item in spec:
        if item.value is None:
            raise ParseError(
                f"Invalid SQL syntax: Partition key `{item.column}` must set value.",
                condition="INVALID_SQL_SYNTAX.EMPTY_PARTITION_VALUE",
                sqlstate="42000",
                position=item.span,
                object=item.column,
                hint=f"Write {item.column} = '…'.",
            )


def check_if_not_exists(how: Terminal, partition: Iterable[st.PartitionItem], clause: Terminal) -> None:
    """Raises ``ParseError`` where INSERT's IF NOT EXISTS means nothing; ``how`` is INTO or OVERWRITE."""
    if how.type == "INTO":
        raise ParseError(
            "The statement or clause: INSERT INTO ... IF NOT EXISTS is not valid.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=clause.span,
            hint="IF NOT EXISTS goes with INSERT OVERWRITE.",
        )
    dynamic = next((item for item in partition if item.value is None), None)
    if dynamic is not None:
        raise if_not_exists_of(dynamic.column, dynamic.span)


def if_not_exists_of(column: str, position: Span) -> ParseError:
    """The error for INSERT OVERWRITE … IF NOT EXISTS with a dynamic partition column."""
    return ParseError(
        f"Operation not allowed: IF NOT EXISTS with dynamic partitions: {column}.",
        condition="INVALID_STATEMENT_OR_CLAUSE",
        sqlstate="42601",
        position=position,
        object=column,
        hint="Give every partition column a value, or leave IF NOT EXISTS out.",
    )


def period_name(name: Terminal) -> str:
    """The update period's name in upper case; ``AnalysisError`` UNKNOWN_UPDATE_PERIOD where there is none."""
    try:
        return UpdatePeriod.named(name.name).name
    except AnalysisError as error:
        raise error.at(name.span) from None


def fact_table(name: st.Name | None, span: Span, clauses: Sequence[Clause]) -> st.FactTable:
    """A table of a storage block; ``ParseError`` unless it has one period clause and a layout for each time."""
    repeatable = ("PARTITIONED BY", "COMPLETE")
    found = once(clause for clause in clauses if clause.kind not in repeatable)
    layouts = [clause for clause in clauses if clause.kind == "PARTITIONED BY"]
    complete = [clause.value for clause in clauses if clause.kind == "COMPLETE"]
    refuse_duplicates([(clause.value[0], clause.span) for clause in layouts], str.lower)
    refuse_duplicates([(rule.column, rule.span) for rule in complete], str.lower)
    missing = "PERIOD" if "PERIOD" not in found else "PARTITIONED BY" if not layouts else None
    if missing:
        raise ParseError(
            f"A table of a fact lacks {missing}.",
            position=span,
            hint="Write TABLE t PERIOD DAILY PARTITIONED BY event_time AS (dt = 'yyyy-MM-dd').",
        )
    flags = [flag for flag in ("RAW", "TRUSTED") if flag in found] + (["COMPLETE"] if complete else [])
    return st.FactTable(
        table=name,
        periods=found["PERIOD"],
        partitioned_by=tuple(clause.value for clause in layouts),
        flags=tuple(flags),
        complete=tuple(complete),
        start=found.get("START"),
        end=found.get("END"),
        span=span,
    )
