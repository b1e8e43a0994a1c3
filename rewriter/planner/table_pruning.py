"""Partition pruning of an ordinary table: the partitions that a block can need, as a filter over partition columns.

Pruning only leaves out what the query's own predicate rejects; the predicate stays in the text. A condition becomes a
filter that is TRUE wherever the condition is, and perhaps elsewhere: an unsupported condition is left out of an AND,
and makes a whole OR say nothing. NOT is driven down to the comparisons, which are exact, so nothing is ever negated
that says too much.

A condition about partition columns alone that is no comparison of a column with a value (``substr(dt, 1, 7) = …``)
stays text, for an engine to compute on the values that there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.filters.predicates import (
    AllOf,
    AnyOf,
    Computed,
    NotOfNulls,
    ScanFilter,
    Subquery,
    bind_filter,
    conditions,
)
from rewriter.catalog.keys.encoding import NULL
from rewriter.catalog.keys.types import INTEGER_WIDTHS, partition_type
from rewriter.catalog.model.objects import Column, Table, database_of
from rewriter.errors import Error
from rewriter.grammar import filters as f
from rewriter.grammar.terms import Literal
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.scope.blocks import Block, TableReference, modifiers, renames
from rewriter.planner.scope.joins import filters, matching, nullable, relations
from rewriter.planner.subquery_pruning import joined_values, outer_nodes, with_placeholders
from rewriter.planner.text.sqlglot_trees import TIMESTAMPS, find_all, is_of_type, walk
from rewriter.planner.transform_pruning import implied_by_time
from rewriter.timeline.calendars import UTC

if TYPE_CHECKING:
    from rewriter.planner.scope.pushdown import Pushdown
    from rewriter.planner.text.query_text import Edit, QueryText
    from rewriter.planner.time.constant_folding import Constants


@dataclass(frozen=True)
class Pruning:
    """A condition that is TRUE for every partition that the block of a reference can need; ``None`` for all partitions.

    ``unused`` are conditions about partition columns that exclude nothing, each with the reason. ``timed`` says that a
    computed condition depends on the present moment. ``exact_conditions`` are the identities of the conditions, as
    typed, that each partition satisfies as a whole or not at all; ``computed`` are those for which this holds once they
    are computed.
    """

    wanted: ScanFilter | None = None
    unused: tuple[str, ...] = ()
    timed: bool = False
    exact_conditions: frozenset[int] = frozenset()
    computed: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Pruner:
    """Prunes the partitions that one query reads.

    ``parameters`` are the values of its named parameters. ``clock`` returns the edits that put the present moment into
    its text, and ``constants`` has the calendar of its date. Unused conditions are collected only if ``explain`` is
    set.
    """

    text: QueryText
    blocks: Sequence[Block]
    parameters: Mapping[str, object]
    clock: Callable[[], Sequence[Edit]]
    constants: Constants
    pushdown: Pushdown
    explain: bool = False

    def pruned(self, reference: TableReference) -> Pruning:
        """Returns the pruning for the block of a reference to a table."""
        if not reference.table.partition_columns:
            return Pruning()
        block_and_index = self._blocks_by_relation.get(id(reference.node))
        return Pruning() if block_and_index is None else _prune_reference(*block_and_index, reference, self)

    def computed(self, reference: TableReference, condition: exp.Expr) -> Computed | None:
        """Returns a condition of the block of a reference as one to compute on partition values, as typed; ``None``
        where it is not one about partition columns alone, or has a subquery that cannot be computed before it.
        """
        block, _ = self._blocks_by_relation[id(reference.node)]
        return _reader(block, reference, self)._computed(condition, negated=False)

    @cached_property
    def _blocks_by_relation(self) -> Mapping[int, tuple[Block, int]]:
        """The block of each relation, by the relation's identity, and its index there."""
        blocks_by_relation: dict[int, tuple[Block, int]] = {}
        for block in self.blocks:
            for index, relation in enumerate(relations(block.select)):
                blocks_by_relation.setdefault(id(relation), (block, index))
        return blocks_by_relation


def _prune_reference(block: Block, index: int, reference: TableReference, query: Pruner) -> Pruning:
    select, table = block.select, reference.table
    obstacles = _find_obstacles(select)
    explain = query.explain
    if obstacles and not explain:
        return Pruning()
    name = reference.node.alias_or_name.lower()
    reader = _reader(block, reference, query)
    columns = len(table.partition_columns)
    null_row = (NULL,) * columns if nullable(select, index) else None
    join_conditions = {id(condition) for condition in matching(select, index)}
    implied_filters: list[ScanFilter] = []
    unused_texts: list[str | None] = []
    exact_ids: set[int] = set()
    computed_ids: set[int] = set()
    conditions_ = _list_conditions(select, index, None if obstacles else query.pushdown)
    own_conditions = [original for original, _, is_own in conditions_ if is_own]
    for original, condition, is_own in conditions_:
        if obstacles:
            unused_texts.append(reader.unused_text(condition, f"with {', '.join(sorted(obstacles)).replace('_', ' ')}"))
            continue
        # A condition is typed in terms of its own block: only there can it be computed as typed.
        implied = reader.implied(condition, negated=False, compute=is_own)
        if reader.is_exact(condition):
            exact_ids.add(id(original))
        elif isinstance(implied, Computed) and not implied.subqueries:
            computed_ids.add(id(original))
        if implied is None and is_own:
            implied = reader.joined(condition, own_conditions, may_be_absent=null_row is not None)
        if implied is None:
            unused_texts.append(reader.unused_text(condition) if explain and is_own else None)
            continue
        implied_filter = _filter_beside(None if id(condition) in join_conditions else null_row, implied)
        if implied_filter is not None:
            implied_filters.append(implied_filter)
        elif explain:
            unused_texts.append(reader.unused_text(condition, f"it accepts NULL, and rows of {name} may be absent"))
    unused_conditions = tuple(text for text in unused_texts if text)
    return Pruning(
        _all(implied_filters),
        unused_conditions,
        bool(reader.clock_edits),
        frozenset(exact_ids),
        frozenset(computed_ids),
    )


def _reader(block: Block, reference: TableReference, query: Pruner) -> _Reader:
    alias, table = reference.node.alias.lower(), reference.table
    name = alias or reference.node.name.lower()
    return _Reader(table, name, "" if alias else database_of(table.name), _unshared(block, table), query)


def _find_obstacles(select: exp.Select) -> set[str]:
    """Returns what keeps a block's conditions from being read as conditions on the partitions."""
    obstacles = modifiers(select)
    if any(renames(relation) or relation.args.get("joins") for relation in relations(select)):
        obstacles.add("renamed columns or a join in parentheses")
    return obstacles


def _list_conditions(
    select: exp.Select, index: int, pushdown: Pushdown | None
) -> list[tuple[exp.Expr, exp.Expr, bool]]:
    """Returns the conditions that a relation's rows must satisfy: as typed, as read in this block, and whether they are
    the block's own. Conditions of blocks outside come from ``pushdown``.
    """
    own_conditions = [(condition, condition, True) for condition in filters(select, index)]
    pushed_conditions = [] if pushdown is None else pushdown.into(select)
    return own_conditions + [(pushed.original, pushed.value, False) for pushed in pushed_conditions]


def _filter_beside(null_row: tuple[bytes, ...] | None, implied: ScanFilter) -> ScanFilter | None:
    """Returns a filter that leaves out what ``implied`` does, but no match of a row that it lets through without one,
    as ``null_row``; ``None`` if there is no such filter.

    Rows whose match was not read would come back as rows without one, which the condition may let through.
    """
    if null_row is None or not implied.holds(null_row):
        return implied
    return NotOfNulls(implied, len(null_row)) if any(conditions(implied)) else None


def _unshared(block: Block, table: Table) -> frozenset[str]:
    """Returns the names, in lower case, that denote the table's partition columns without a qualifier, or the columns
    from which hidden ones are computed.

    No other relation of the block is known to have these names.
    """
    names = {
        (column.name if column.transform is None else column.transform.source).lower()
        for column in table.partition_columns
    }
    offered: list[Iterable[str]] = [cube.columns for cube in block.cubes]
    for other in block.others:
        if other.columns is None and len(block.others) + len(block.cubes) > 1:
            return frozenset()
        offered.append(other.columns or ())
    return frozenset(name for name in names - block.joined_names if sum(name in columns for columns in offered) <= 1)


@dataclass(frozen=True)
class _ImpliedFilter:
    """A filter that is TRUE wherever a condition is TRUE; if ``is_exact``, nowhere else."""

    scan_filter: ScanFilter | None
    is_exact: bool


@dataclass(frozen=True)
class _Reader:
    """Reads conditions about one relation.

    The fields are its table, its name in the block, the database that may precede that name, and the names that need no
    qualifier. ``clock_edits`` collects the clock edits in the conditions to compute. ``compared`` are the filters made
    so far, by the identity of the condition, which is kept.
    """

    table: Table
    alias: str
    database: str
    unqualified_names: frozenset[str]
    query: Pruner
    clock_edits: list[Edit] = field(default_factory=list)
    compared: dict[tuple[int, bool], tuple[exp.Expr, _ImpliedFilter]] = field(default_factory=dict)

    def implied(self, node: exp.Expr, negated: bool, compute: bool = True) -> ScanFilter | None:
        """Returns a filter that is TRUE wherever the condition (``negated``: its opposite) is TRUE; ``None`` if
        unknown.
        """
        match node:
            case exp.Paren():
                return self.implied(node.this, negated, compute)
            case exp.Not() if not isinstance(node.this, _TESTS):
                return self.implied(node.this, not negated, compute)
            case exp.And() | exp.Or():
                return self._chain(node, negated, compute)
            case exp.Not():
                # NOT may stand inside: x NOT IN (…), x IS NOT NULL.
                comparison = self._compared_alone(node.this, not negated)
            case _:
                comparison = self._compared_alone(node, negated)
        if comparison.is_exact or not compute:
            return comparison.scan_filter
        return _all([comparison.scan_filter, self._computed(node, negated)])

    def is_exact(self, node: exp.Expr) -> bool:
        """Tests whether comparisons of partition columns with values express the whole condition."""
        match node:
            case exp.Paren():
                return self.is_exact(node.this)
            case exp.And() | exp.Or():
                return all(map(self.is_exact, node.flatten()))
            case exp.Not() if not isinstance(node.this, _TESTS):
                return self.is_exact(node.this)
            case exp.Not():
                return self._compared_alone(node.this, negated=True).is_exact
        return self._compared_alone(node, negated=False).is_exact

    def _chain(self, node: exp.And | exp.Or, negated: bool, compute: bool) -> ScanFilter | None:
        """Reads AND and OR. A chain of a thousand is a tree as deep; one of many parts to compute is computed as a
        whole.
        """
        combine = _all if isinstance(node, exp.And) is not negated else _any
        operands = list(node.flatten())
        if not compute or len(operands) <= _MOST_SEPARATE:
            return combine([self.implied(part, negated, compute) for part in operands])
        parts = [self.implied(part, negated, compute=False) for part in operands]
        if parts.count(None) > _MOST_SEPARATE:
            return _all([combine(parts), self._computed(node, negated)])
        return combine([filter_ or self.implied(part, negated) for filter_, part in zip(parts, operands, strict=True)])

    def _compared_alone(self, node: exp.Expr, negated: bool) -> _ImpliedFilter:
        """Returns the filter that comparisons of a column with values imply. It is made once for each condition."""
        key = id(node), negated
        if key not in self.compared:
            self.compared[key] = node, self._compared_anew(node, negated)
        return self.compared[key][1]

    def _compared_anew(self, node: exp.Expr, negated: bool) -> _ImpliedFilter:
        if isinstance(node, exp.Between) and _plain(node, "this", "low", "high"):
            comparisons = [(node.this, ">=", node.args["low"]), (node.this, "<=", node.args["high"])]
            parts = [self._bind(self._compared(*end), negated) for end in comparisons]
            if parts != [None, None]:
                return _ImpliedFilter(_any(parts) if negated else _all(parts), None not in parts)
        implied_filter = self._bind(self._predicate(node), negated)
        if implied_filter is None:
            return self._implied_by_time(node, negated) or _ImpliedFilter(None, False)
        return _ImpliedFilter(implied_filter, True)

    def _implied_by_time(self, node: exp.Expr, negated: bool) -> _ImpliedFilter | None:
        """Returns the filter over a hidden partition column that a condition on its source implies."""
        columns = find_all(node, exp.Column)
        indexes = {self._source(column) for column in columns}
        index = indexes.pop() if len(indexes) == 1 else None
        if index is None:
            return None
        constants = replace(self.query.constants, calendar=UTC)
        implication = implied_by_time(node, negated, self.table, index, self._is_any_source, constants)
        if implication is None:
            return None
        if implication.asks_clock:
            # The engine has to read the moment by which the partitions are chosen.
            span = self.query.text.exactly(node) if self.query.constants.calendar.is_utc else None
            times = [] if span is None else [e for e in self.query.clock() if e.span.is_within(span)]
            if not times:
                return None
            self.clock_edits.extend(times)
        return _ImpliedFilter(implication.filter, implication.is_exact)

    def _is_any_source(self, node: exp.Column) -> bool:
        return self._source(node) is not None

    def _source(self, node: exp.Column) -> int | None:
        """Returns the position of the hidden partition column that is computed from a column."""
        name = self._own_name(node)
        return next(
            (
                index
                for index, column in enumerate(self.table.partition_columns)
                if column.transform is not None and column.transform.source.lower() == name
            ),
            None,
        )

    def _computed(self, node: exp.Expr, negated: bool) -> Computed | None:
        """Returns a condition about partition columns only, to compute row by row as typed."""
        nodes = walk(node)
        has_subqueries = any(isinstance(member, exp.Query) for member in nodes)
        nodes = outer_nodes(node) if has_subqueries else nodes
        column_nodes = [member for member in nodes if isinstance(member, exp.Column)]
        columns = [self._column(member) for member in column_nodes]
        if not columns or None in columns or len(nodes) > LONGEST:
            return None
        # With a name other than the table's own, the engine could not resolve it where it is computed.
        if any(isinstance(member, _NO_VALUE) for member in nodes) or any(member.db for member in column_nodes):
            return None
        span = self.query.text.exactly(node)
        if span is None:
            return None
        span = self.query.text.with_parentheses(span)  # current_date and current_date() are one to sqlglot
        times = [edit for edit in self.query.clock() if span.start <= edit.span.start and edit.span.end <= span.end]
        condition_text, subqueries = self.query.text.edited(span, times), tuple[Subquery, ...]()
        if has_subqueries:
            computable = None if times else with_placeholders(self.query.text, node, span)
            if computable is None:
                return None
            condition_text, subqueries = computable
        if _SUBSTITUTED in condition_text:
            return None
        self.clock_edits.extend(times)
        indexes = sorted({self.table.partition_columns.index(column) for column in columns if column is not None})
        condition_text = f"NOT ({condition_text})" if negated else condition_text
        return Computed(condition_text, self.alias, tuple(indexes), subqueries)

    def joined(self, node: exp.Expr, others: Sequence[exp.Expr], may_be_absent: bool) -> Computed | None:
        """Returns the condition that a partition column has a value that a joined table has in its wanted rows."""
        if self.query.clock():
            return None
        column_and_values = joined_values(self.query.text, node, others, self._column, may_be_absent)
        if column_and_values is None:
            return None
        column, subquery = column_and_values
        names = ".".join(f"`{name.replace('`', '``')}`" for name in (self.alias, column.name))
        index = self.table.partition_columns.index(column)
        return Computed(f"{names} IN (:{subquery.name})", self.alias, (index,), (subquery,))

    def unused_text(self, node: exp.Expr, reason: str | None = None) -> str | None:
        """Describes a condition that excludes nothing, and why; ``None`` where it is about no partition column."""
        columns = find_all(node, exp.Column)
        if not any(self._column(column) for column in columns):
            return None
        other = next((column for column in columns if self._column(column) is None), None)
        if reason is None and any(isinstance(part, exp.Query) for part in walk(node)):
            reason = "it has a subquery"
        elif reason is None and other is not None:
            reason = f"{other.sql(dialect='spark')} is not a partition column of {self.alias}"
        span = self.query.text.exactly(node)
        words = node.sql(dialect="spark") if span is None else self.query.text.text[span.start : span.end]
        return f"{' '.join(words.split())}: {reason or 'it is too long, or not a function of single rows'}"

    def _bind(self, typed_filter: f.Filter | None, negated: bool) -> ScanFilter | None:
        if typed_filter is None:
            return None
        # The engines compare VARCHAR as STRING: trailing blanks are significant.
        columns = [
            replace(column, type="string") if _is_text(column) else column for column in self.table.partition_columns
        ]
        try:
            return bind_filter(f.negation(typed_filter) if negated else typed_filter, columns)
        except Error:
            return None  # the engine is to say what is wrong with it

    def _predicate(self, node: exp.Expr) -> f.Filter | None:
        """Returns a filter with the same truth value (TRUE, FALSE or NULL) as the condition; ``None`` if that is not
        certain.
        """
        operator = _OPERATORS.get(type(node))
        if operator is not None and _plain(node, "this", "expression"):
            return self._compared(node.this, operator, node.expression)
        match node:
            case exp.NullSafeEQ() | exp.NullSafeNEQ() if _plain(node, "this", "expression"):
                equality = self._same(node.this, node.expression)
                return f.negation(equality) if equality and isinstance(node, exp.NullSafeNEQ) else equality
            case exp.Is() if _plain(node, "this", "expression") and isinstance(node.expression, exp.Null):
                column = self._column(node.this)
                return None if column is None else f.IsNull(column.name)
            case exp.In() if _plain(node, "this", "expressions"):
                column = self._column(node.this)
                values = None if column is None else self._literals(column, node.expressions)
                return f.InList(column.name, values) if column and values else None
            case exp.Like() if _plain(node, "this", "expression", "negate"):
                like = self._like(node.this, node.expression)
                return f.negation(like) if like and node.args.get("negate") else like
            case exp.Column():
                column = self._column(node)
                flag = column is not None and partition_type(column.type).name == "boolean"
                return f.Comparison(column.name, "=", Literal("boolean", "true")) if column and flag else None
        return None

    def _compared(self, left: exp.Expr, operator: str, right: exp.Expr) -> f.Filter | None:
        if self._column(left) is None:
            left, operator, right = right, f.FLIPPED[operator], left
        column = self._column(left)
        values = None if column is None else self._literals(column, [right])
        return f.Comparison(column.name, operator, values[0]) if column and values else None

    def _same(self, left: exp.Expr, right: exp.Expr) -> f.Filter | None:
        """Reads ``<=>``, which is never NULL."""
        equal = self._compared(left, "=", right)
        if not isinstance(equal, f.Comparison):
            return None
        null = f.IsNull(equal.column)
        return null if equal.value.kind == "null" else f.conjunction((f.Not(null), equal))

    def _like(self, left: exp.Expr, right: exp.Expr) -> f.Filter | None:
        column, pattern = self._column(left), _literal(right, self.query.parameters)
        if column is None or not _is_text(column) or pattern is None or pattern.kind != "string":
            return None
        return f.Like(column.name, pattern)

    def _column(self, node: exp.Expr) -> Column | None:
        """Returns the partition column that an expression denotes. ``a.b.c`` may be a field of a column ``b``."""
        while isinstance(node, exp.Paren):
            node = node.this
        if not isinstance(node, exp.Column):
            return None
        name = self._own_name(node)
        named = (c for c in self.table.partition_columns if c.name.lower() == name and c.transform is None)
        column = next(named, None)
        # Whether blanks at the end of a CHAR count depends on what it is compared with: the engine is to say.
        return None if column is not None and partition_type(column.type).name == "char" else column

    def _own_name(self, node: exp.Column) -> str | None:
        """Returns the name, in lower case, of the relation's column that a column denotes; ``None`` if it is not known
        to be one of those that matter.
        """
        if not isinstance(node.this, exp.Identifier):
            return None
        if node.args.get("catalog") or node.db.lower() not in ("", self.database):
            return None
        name = node.name.lower()
        is_own = node.table.lower() == self.alias if node.table else name in self.unqualified_names
        return name if is_own else None

    def _literals(self, column: Column, nodes: Sequence[exp.Expr]) -> tuple[Literal, ...] | None:
        """Returns the literals, if Spark compares all of them with the column as a filter does."""
        literals = [_literal(node, self.query.parameters) for node in nodes]
        readable = tuple(literal for literal in literals if literal is not None)
        return readable if len(readable) == len(literals) and _compare_alike(column, readable) else None


#: Tests that NOT may stand inside of.
_TESTS = (exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike)
#: So many parts of an AND or OR are computed one by one, and a condition of so many nodes at most.
_MOST_SEPARATE, LONGEST = 16, 4000
#: Expressions whose value does not follow from one row's partition values.
_NO_VALUE = (exp.AggFunc, exp.Window, exp.Star)
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip


def _plain(node: exp.Expr, *names: str) -> bool:
    """Tests whether a node has only the known parts: sqlglot attaches NOT, SYMMETRIC and the like to some nodes."""
    return all(key in names for key, value in node.args.items() if value)


def _all(parts: Iterable[ScanFilter | None]) -> ScanFilter | None:
    filters_ = tuple(part for part in parts if part is not None)
    return AllOf(filters_) if len(filters_) > 1 else filters_[0] if filters_ else None


def _any(parts: Sequence[ScanFilter | None]) -> ScanFilter | None:
    filters_ = tuple(part for part in parts if part is not None)
    return AnyOf(filters_) if len(filters_) == len(parts) else None


def _is_text(column: Column) -> bool:
    return partition_type(column.type).name in ("string", "varchar")


def _compare_alike(column: Column, literals: Sequence[Literal]) -> bool:
    """Tests whether no side is cast to a type in which different values are equal, and texts have one interpretation.

    IN finds one common type for all its elements.
    """
    kinds = {literal.kind for literal in literals} - {"null"}
    if len(kinds) > 1:
        return False
    values = [literal.text for literal in literals if literal.kind != "null"]
    kind = partition_type(column.type)
    match kind.name:
        case "string" | "varchar":
            return kinds <= {"string"}
        case "boolean":
            return kinds <= {"boolean"}
        case "double" | "float":
            return kinds <= {"number"}
        case "date" | "timestamp":
            shape = _DATE if kind.name == "date" else _TIMESTAMP
            return kinds <= {"date", "timestamp"} or (kinds == {"string"} and all(map(shape.fullmatch, values)))
    if not kinds <= {"number"}:
        return False
    integral = kind.name in INTEGER_WIDTHS
    digits = _INTEGER_DIGITS if integral else kind.precision - kind.scale
    # Beyond BIGINT, Spark returns TRUE or FALSE without a comparison, even for NULL.
    beyond = integral and any(abs(Decimal(value)) >= 2**63 - 1 for value in values if _EXACT.fullmatch(value))
    return not beyond and _is_exact(digits, kind.scale, values)


def _is_exact(digits: int, scale: int, values: Sequence[str]) -> bool:
    """Tests whether one DECIMAL type can hold the numbers and a column of so many digits before and after the point."""
    for value in values:
        number = _EXACT.fullmatch(value)
        if number is None:
            return False
        scale = max(scale, len(number[2] or ""))
        digits = max(digits, len(number[1]), _INTEGER_DIGITS if number[2] is None else 0)
    return digits + scale <= _MOST_DIGITS


def _literal(node: exp.Expr, parameters: Mapping[str, object]) -> Literal | None:
    """Returns a parameter, or a literal that sqlglot and Spark read alike (without escapes)."""
    while isinstance(node, exp.Paren):
        node = node.this
    match node:
        case exp.Null():
            return Literal("null", "")
        case exp.Boolean():
            return Literal("boolean", "true" if node.this else "false")
        case exp.Literal() if node.is_string:
            text = node.name
            is_single = bool(node._meta) and node.meta["end"] - node.meta["start"] == len(text) + 1
            return Literal("string", text) if is_single and _PLAIN.fullmatch(text) else None
        case exp.Literal():
            return Literal("number", node.name)
        case exp.Neg():
            number = _literal(node.this, parameters)
            return Literal("number", f"-{number.text}") if number is not None and number.kind == "number" else None
        case exp.Cast() if _plain(node, "this", "to"):
            text_of = _literal(node.this, parameters)
            if text_of is None or text_of.kind != "string":
                return None
            if is_of_type(node.to, exp.DType.DATE) and _DATE.fullmatch(text_of.text):
                return Literal("date", text_of.text)
            if is_of_type(node.to, *TIMESTAMPS) and _TIMESTAMP.fullmatch(text_of.text):
                return Literal("timestamp", text_of.text)
        case exp.Placeholder() if node.name in parameters:
            return _value(parameters[node.name])
    return None


def _value(value: object) -> Literal | None:
    """Returns a parameter's value as a literal."""
    match value:
        case None:
            return Literal("null", "")
        case bool():
            return Literal("boolean", str(value).lower())
        case int():
            return Literal("number", str(value))
        case str():
            return Literal("string", value)
        case datetime():
            return Literal("timestamp", value.replace(tzinfo=None).isoformat(" "))  # It is of UTC, or taken so.
        case date():
            return Literal("date", value.isoformat())
    return None


#: Spark puts values of variables into texts with a dollar sign.
_SUBSTITUTED = "${"
_PLAIN = re.compile(r"[^\\'\"$]*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)?")
_EXACT = re.compile(r"-?0*([0-9]*)(?:\.([0-9]*))?")
#: The digits of BIGINT, and the digits of the widest DECIMAL.
_INTEGER_DIGITS, _MOST_DIGITS = 20, 38
