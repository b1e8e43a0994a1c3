"""The condition of a DELETE: which partitions satisfy it, where its value follows from their values alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import AnalysisError, NotSupportedError, ParseError, Span
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import Settings, quote_identifier
from rewriter.planner.plan_query import now_edits
from rewriter.planner.scope.blocks import Block, OtherSource, TableReference, did_you_mean
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.joins import filters
from rewriter.planner.scope.pushdown import Pushdown
from rewriter.planner.subquery_pruning import outer_nodes
from rewriter.planner.table_pruning import LONGEST, Pruner
from rewriter.planner.text.query_text import QueryText
from rewriter.planner.text.sqlglot_trees import walk
from rewriter.planner.time.constant_folding import Constants

if TYPE_CHECKING:
    from rewriter.catalog.filters.predicates import Computed, ScanFilter
    from rewriter.catalog.model.objects import Table
    from rewriter.grammar.terms import Query
    from rewriter.planner.text.query_text import Edit
    from rewriter.timeline.calendars import Calendar

_CLAUSES = frozenset(("expressions", "from_", "where"))


@dataclass(frozen=True)
class PartitionCondition:
    """What a condition says about the partitions of a table.

    ``wanted`` is TRUE for every partition for which the condition is (``None``: for all). ``computed`` is the condition
    itself, to be computed on the values of these partitions; ``None`` if ``wanted`` is exactly the condition.
    ``constant`` is the text of a condition that names no column. ``row_column`` is the first column of the condition
    that is no partition column: then partitions do not decide it, and all else is ``None``. ``fixed`` are the texts of
    the partition columns' values that the condition requires by ``=``, by the column's index.
    """

    wanted: ScanFilter | None = None
    computed: Computed | None = None
    constant: str | None = None
    row_column: str | None = None
    fixed: Mapping[int, str] | None = None


def partition_condition(
    table: Table, name: str, alias: str | None, where: Query, settings: Settings, parameters: Mapping[str, object],
    calendar: Calendar,
) -> PartitionCondition:  # fmt: skip
    """Reads the WHERE of a DELETE from ``table``, whose name as typed is ``name``, with the present moment of
    ``settings``. ``calendar`` is the one of the table's fact.

    Raises, at the position in the statement: ``ParseError`` for text that is no condition, ``AnalysisError``
    UNRESOLVED_COLUMN for a column that the table does not have, and ``NotSupportedError`` for a condition that is no
    function of values, has a subquery that depends on the row, or asks for the date of another zone than UTC.
    """
    head = f"SELECT * FROM {name}{'' if alias is None else f' AS {quote_identifier(alias)}'} WHERE "
    text = QueryText(head + where.text, where.span.start - len(head))
    select, relation = _read(text, where)
    condition = select.args["where"].this
    columns = {column.name.lower(): column.type for column in table.all_columns}
    shown = alias or name.rpartition(".")[2].strip("`")
    row_column = _row_column(condition, text, table, shown)
    fixed = _fixed(select, table, text)
    if row_column is not None:
        return PartitionCondition(row_column=row_column, fixed=fixed)
    constants = Constants(settings.now, parameters, calendar)
    edits = cache(partial(now_edits, text, constants, calendar, set(columns), False))
    _check_values(condition, text, edits(), calendar, where)
    block = Block(select, select, (), (OtherSource(shown, columns),))
    pruner = Pruner(text, (block,), parameters, edits, constants, Pushdown(text.nodes))
    reference = TableReference(relation, table, Span(0, 0), None)
    nodes = outer_nodes(condition)
    if not any(isinstance(node, exp.Column) for node in nodes):
        if any(isinstance(node, exp.Query) for node in nodes):
            raise _undecided(where, "it compares no partition column with its subquery")
        return PartitionCondition(constant=text.edited(Span(len(head), len(text.text)), edits()))
    pruning = pruner.pruned(reference)
    if all(id(part) in pruning.exact_conditions for part in filters(select, 0)):
        return PartitionCondition(pruning.wanted, fixed=fixed)
    computed = pruner.computed(reference, condition)
    if computed is None:
        has_subquery = any(isinstance(node, exp.Query) for node in nodes)
        raise _undecided(
            where,
            "its subquery cannot be computed before it" if has_subquery else _uncomputed_reason(nodes, table),
        )
    return PartitionCondition(pruning.wanted, computed, fixed=fixed)


def _read(text: QueryText, where: Query) -> tuple[exp.Select, exp.Table]:
    unread = text.unread()
    if unread is not None:
        raise unread
    select = text.tree
    relations = [node for node in walk(select) if isinstance(node, exp.Table)] if isinstance(select, exp.Select) else []
    if not isinstance(select, exp.Select) or not {name for name, value in select.args.items() if value} <= _CLAUSES:
        raise ParseError(
            "The text behind WHERE is not a condition.",
            position=where.span,
            hint="DELETE has no ORDER BY, LIMIT, GROUP BY or UNION: write DELETE FROM t WHERE condition.",
        )
    return select, relations[0]


def _row_column(condition: exp.Expr, text: QueryText, table: Table, shown: str) -> str | None:
    """Returns the first data column outside subqueries. Raises UNRESOLVED_COLUMN for a column that is unknown."""
    data_columns = {column.name.lower(): column.name for column in table.columns}
    partition_columns = {column.name.lower() for column in table.partition_columns}
    row_column = None
    for node in outer_nodes(condition):
        if not isinstance(node, exp.Column):
            continue
        name, qualifier = node.name.lower(), node.table.lower()
        if qualifier not in ("", shown.lower()):
            name = qualifier  # A field of a struct, a.b.
        hidden = next((column for column in table.partition_columns if column.name.lower() == name), None)
        if hidden is not None and hidden.transform is not None:
            span = text.span_of(node)
            raise NotSupportedError(
                f"DELETE cannot name {hidden.name}, which is computed from {hidden.transform.source}.",
                position=text.place(span) if span else None,
                object=hidden.name,
                hint=f"Write the rows that stay, with a condition on {hidden.transform.source}: INSERT OVERWRITE "
                f"{table.name} SELECT * FROM {table.name} WHERE …, while rewriter.partition_overwrite_mode is static.",
            )
        if name in data_columns and row_column is None:
            row_column = data_columns[name]
        elif name not in partition_columns and name not in data_columns:
            names = [column.name for column in table.all_columns]
            span = text.span_of(node)
            raise AnalysisError(
                f"The table {table.name} has no column {node.name}."
                if not qualifier or qualifier == shown.lower()
                else f"{node.table} is not the name of the table in this statement.",
                condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
                sqlstate="42703",
                position=text.place(span) if span else None,
                object=node.name,
                hint=did_you_mean(node.name, names) or f"The columns are {', '.join(names)}.",
            )
    return row_column


def _fixed(select: exp.Select, table: Table, text: QueryText) -> dict[int, str]:
    """Returns, by the index of their column, the texts of the values that the conditions of an AND require by ``=``."""
    indexes = {column.name.lower(): index for index, column in enumerate(table.partition_columns)}
    texts: dict[int, str] = {}
    for part in filters(select, 0):
        if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Literal):
            index, span = indexes.get(part.this.name.lower()), text.exactly(part.expression)
            if index is not None and span is not None:
                texts[index] = text.text[span.start : span.end]
    return texts


def _check_values(condition: exp.Expr, text: QueryText, clock: list[Edit], calendar: Calendar, where: Query) -> None:
    for node in outer_nodes(condition):
        if not isinstance(node, exp.Query) and not is_scalar(node):
            raise _undecided(where, "it is not a function of single values, or not one that always returns the same")
    if clock and not calendar.is_utc:
        raise NotSupportedError(
            f"The condition reads the clock in UTC, and the fact of the table has the zone {calendar.zone}.",
            condition="ZONED_TIME",
            position=text.place(clock[0].span),
            hint="Write the value itself, as in WHERE dt < '2024-01-01'.",
        )


def _uncomputed_reason(nodes: Sequence[exp.Expr], table: Table) -> str:
    """Returns why the values of partitions do not decide a condition without subqueries."""
    names = {node.name.lower() for node in nodes if isinstance(node, exp.Column)}
    named = [column for column in table.partition_columns if column.name.lower() in names]
    of_char = next((column.name for column in named if column.type.startswith("char(")), None)
    if of_char is not None:
        return f"{of_char} is a CHAR column, whose trailing blanks count in some comparisons only"
    return f"it has more than {LONGEST:,} parts" if len(nodes) > LONGEST else "a part of it is not understood"


def _undecided(where: Query, reason: str) -> NotSupportedError:
    return NotSupportedError(
        f"The condition cannot be decided by the values of partitions: {reason}.",
        condition="UNDECIDED_CONDITION",
        position=where.span,
        hint="Compare partition columns with values: DELETE FROM t WHERE dt < '2024-01-01'. SHOW PARTITIONS t lists "
        "the values; ALTER TABLE t DROP PARTITION (…) drops the partitions by name.",
    )
