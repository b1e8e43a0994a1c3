"""Statements of sessions, and their allowed outcomes for a state of the tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from .rowmodel import ALL_MONTHS, MONTHS, MONTHS_OF, QUARTERS, Change, Row, Rows, State, Table, summed

PLAIN = ("a", "b", "c")
PARTS = ("p1", "p2", "p3")
SETUP = (
    "CREATE CUBE sales (k STRING, n BIGINT MEASURE COUNT, v BIGINT MEASURE SUM, at TIMESTAMP TIME)",
    *(
        f"CREATE TABLE {name} (k STRING, n BIGINT, v BIGINT) PARTITIONED BY (dt STRING)"
        for name in (MONTHS, QUARTERS, f"spare_{MONTHS}", f"spare_{QUARTERS}")
    ),
    "CREATE FACT all_sales OF CUBE sales STORED IN ("
    "TABLE months PERIOD MONTHLY PARTITIONED BY at AS (dt = 'yyyy-MM'), "
    "TABLE quarters PERIOD QUARTERLY PARTITIONED BY at AS (dt = 'yyyy-q'))",
)
FACT = {name: Table(("k", "n", "v"), "dt") for name in (MONTHS, QUARTERS, f"spare_{MONTHS}", f"spare_{QUARTERS}")}
START = State(names={name: name for name in FACT}, tables=dict(FACT))

ABSENT = "TABLE_OR_VIEW_NOT_FOUND"
#: The conditions of an INSERT whose rows do not fit the table.
MISFITS = (
    "INSERT_COLUMN_ARITY_MISMATCH",
    "INSERT_PARTITION_COLUMN_ARITY_MISMATCH",
    "INVALID_PARTITION_OPERATION",
    "PARTITIONS_NOT_FOUND",
    "UNRESOLVED_COLUMN",
)


@dataclass(frozen=True)
class Refused:
    """An error with one of these conditions, and no effect."""

    conditions: frozenset[str]


@dataclass(frozen=True)
class Answer:
    """One of these results, sorted."""

    options: tuple[list[Row], ...]


#: The outcome of a statement: an error, a result, or its changes.
Outcome = Refused | Answer | tuple[Change, ...]


@dataclass(frozen=True)
class Statement:
    """A statement with its allowed outcomes.

    ``effect`` returns every correct outcome for the state that the statement saw. ``told`` computes the changes from
    the result, where only the result shows them. A statement that is ``alone`` never joins a transaction of several
    statements.
    """

    text: str
    effect: Callable[[State], Sequence[Outcome]]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    alone: bool = False
    told: Callable[[State, Rows], tuple[Change, ...]] | None = None


def refused(*conditions: str) -> list[Outcome]:
    return [Refused(frozenset(conditions))]


def answer(*options: Sequence[Row]) -> list[Outcome]:
    return [Answer(tuple(sorted(rows, key=repr) for rows in options))]


def partition_column(view: State, name: str) -> str:
    """Returns the partition column of a table, or a plausible one for a table that does not exist."""
    table = view.find(name)
    return "p" if table is None else table.key


def part_names(name: str) -> Sequence[str]:
    """Returns the names that partitions of a table may have."""
    return PARTS if name not in FACT else ALL_MONTHS if name.endswith(MONTHS) else tuple(MONTHS_OF)


def row_literal(row: Row) -> str:
    values = (f"'{value}'" if isinstance(value, str) else str(value) for value in row)
    return f"({', '.join(values)})"


def partition_spec(key: str, part: str) -> str:
    return f" PARTITION ({key} = '{part}')" if key else ""


def partitioned_by(key: str, type_: str = "") -> str:
    return f" PARTITIONED BY ({key}{type_})" if key else ""


def query_of_table(text: str, name: str, rows: Callable[[Table], Sequence[Row] | None]) -> Statement:
    """Returns a query over one table."""

    def effect(state: State) -> Sequence[Outcome]:
        table = state.find(name)
        selected = rows(table) if table is not None else None
        return refused(ABSENT if table is None else "UNRESOLVED_COLUMN") if selected is None else answer(selected)

    return Statement(text, effect, reads=(name,))


def copied_table(state: State, source: str, key: str) -> Table | Refused:
    """Returns the table that a query of the source's first column creates, partitioned by ``key``."""
    table = state.find(source)
    if table is None:
        return Refused(frozenset((ABSENT,)))
    if table.key != key:
        return Refused(frozenset(MISFITS))
    parts = {part: tuple(row[:1] for row in table.rows(part)) for part, rows in table.parts.items() if rows}
    return Table(("x",), key, parts)


def on_partitions(
    name: str, effect: Callable[[State, Table], Sequence[Outcome]]
) -> Callable[[State], Sequence[Outcome]]:
    """Returns the effect of a statement about partitions. It is refused if the table does not exist or has no
    partitions.
    """

    def checked(state: State) -> Sequence[Outcome]:
        table = state.find(name)
        if table is None:
            return refused(ABSENT)
        if not table.key:
            return refused("PARTITIONS_NOT_FOUND", "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY")
        return effect(state, table)

    return checked


def insert_changes(table: object, how: str, rows: dict[str, Rows]) -> tuple[Change, ...]:
    kind = "into" if how == "INTO" else "put"
    return tuple(Change(kind, table, part, written, name="insert") for part, written in rows.items())


def time_condition(first: int, last: int) -> str:
    ends = [*(f"{month}-01" for month in ALL_MONTHS), "2024-07-01"]
    return f"at >= '{ends[first]}' AND at < '{ends[last]}'"


def existing_rows(state: State, months: Sequence[str]) -> list[Row]:
    return [row for month in months for row in state.tables[MONTHS].rows(month)]


def cube_outcomes(state: State, first: int, last: int, partial: bool) -> Sequence[Outcome]:
    """Returns the allowed results over months [first, last): the rows that were written, even if partitions were
    dropped.

    Without months and without a rollup the query is refused, or its result is partial. The model does not decide
    whether a rollup is used.
    """
    asked, there = ALL_MONTHS[first:last], state.tables[MONTHS].parts
    choices: list[list[Rows]] = []
    is_sure, is_possible = True, True
    for quarter, months in MONTHS_OF.items():
        inside = [month for month in months if month in asked]
        present, truth = existing_rows(state, inside), [row for month in inside for row in state.truth.get(month, ())]
        is_whole = all(month in there for month in inside)
        is_served = inside == list(months) and quarter in state.tables[QUARTERS].parts
        is_sure &= is_whole
        is_possible &= is_whole or is_served
        choices.append([tuple(present)] if is_whole or not is_served else [tuple(truth), tuple(present)])
    if partial:
        return answer(*(summed(row for rows in chosen for row in rows) for chosen in product(*choices)))
    outcomes: list[Outcome] = []
    if is_possible:
        outcomes += answer(summed(row for options in choices for row in options[0]))
    return outcomes if is_sure else [*outcomes, *refused("MISSING_PARTITIONS")]
