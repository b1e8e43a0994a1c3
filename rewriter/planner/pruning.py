"""Which partitions of an ordinary table a block can need, as a filter of the catalog over its partition columns.

Pruning only leaves out what the query's own predicate rejects; the predicate stays in the text. A condition becomes a
filter that is TRUE wherever the condition is, and perhaps elsewhere: what is not understood is left out of an AND, and
makes a whole OR say nothing. NOT is driven down to the comparisons, which are exact, so nothing is ever negated that
says too much.

A condition about partition columns alone that is no comparison of a column with a value (``substr(dt, 1, 7) = …``)
stays text, for an engine to compute on the values that there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal

from sqlglot import exp

from rewriter.catalog.computed import conditions
from rewriter.catalog.keys import NULL
from rewriter.catalog.models import Column, Table
from rewriter.catalog.names import database_of
from rewriter.catalog.partition_types import INTEGER_WIDTHS, partition_type
from rewriter.catalog.scan_filters import AllOf, AnyOf, Computed, NotOfNulls, ScanFilter, bind_filter
from rewriter.errors import Error
from rewriter.grammar import filters as f
from rewriter.grammar.statements import Literal
from rewriter.planner.blocks import Block, TableReference, modifiers, renames
from rewriter.planner.joins import filters, matching, nullable, relations
from rewriter.planner.text import Edit, QueryText
from rewriter.planner.trees import find_all, walk


@dataclass(frozen=True)
class Pruning:
    """What is TRUE of every partition that the block of a reference can need, ``None`` for all partitions.

    ``unused`` are conditions about partition columns that say nothing, each with the reason. ``timed`` says that the
    present moment went into what is to be computed.
    """

    wanted: ScanFilter | None = None
    unused: tuple[str, ...] = ()
    timed: bool = False


@dataclass(frozen=True)
class Pruner:
    """Prunes what one query reads. ``parameters`` are the values of its named parameters, ``clock`` answers the edits
    that put the present moment into its text. What is not used is told only to who wants to ``explain``.
    """

    text: QueryText
    blocks: Sequence[Block]
    parameters: Mapping[str, object]
    clock: Callable[[], Sequence[Edit]]
    explain: bool = False

    def pruned(self, reference: TableReference) -> Pruning:
        """Which partitions the block of a reference to a table can need."""
        if not reference.table.partition_columns or reference.table.id < 0:
            return Pruning()
        for block in self.blocks:
            found = relations(block.select)
            index = next((i for i, relation in enumerate(found) if relation is reference.node), None)
            if index is not None:
                return _of_block(block, index, reference, self)
        return Pruning()


def _of_block(block: Block, index: int, reference: TableReference, query: Pruner) -> Pruning:
    select, table = block.select, reference.table
    beside = modifiers(select)
    if any(renames(one) or one.args.get("joins") for one in relations(select)):
        beside.add("renamed columns or a join in parentheses")
    explain = query.explain
    if beside and not explain:
        return Pruning()
    alias = reference.node.alias.lower()
    called = alias or reference.node.name.lower()
    reader = _Reader(table, called, "" if alias else database_of(table.name), _unshared(block, table), query)
    columns = len(table.partition_columns)
    absent = (NULL,) * columns if nullable(select, index) else None
    matched = {id(condition) for condition in matching(select, index)}
    found: list[ScanFilter] = []
    unused: list[str | None] = []
    for condition in filters(select, index):
        if beside:
            unused.append(reader.unused(condition, f"beside {', '.join(sorted(beside)).replace('_', ' ')}"))
            continue
        wanted = reader.implied(condition, negated=False)
        if wanted is None:
            unused.append(reader.unused(condition) if explain else None)
        # Rows whose match was not read would come back as rows without one, which this condition may let through.
        elif absent is None or id(condition) in matched or not wanted.holds(absent):
            found.append(wanted)
        elif any(conditions(wanted)):
            found.append(NotOfNulls(wanted, columns))
        elif explain:
            unused.append(reader.unused(condition, f"NULL passes it, and {called} may be absent"))
    return Pruning(_all(found), tuple(one for one in unused if one), bool(reader.timed))


def _unshared(block: Block, table: Table) -> frozenset[str]:
    """The names, in lower case, that mean the table's partition columns without a qualifier: no other relation of the
    block has them, as far as is known.
    """
    names = {column.name.lower() for column in table.partition_columns}
    offered: list[Iterable[str]] = [cube.columns for cube in block.cubes]
    for other in block.others:
        if other.columns is None and len(block.others) + len(block.cubes) > 1:
            return frozenset()
        offered.append(other.columns or ())
    return frozenset(name for name in names - block.joined_names if sum(name in columns for columns in offered) <= 1)


@dataclass(frozen=True)
class _Found:
    """A filter that is TRUE wherever a condition is; ``exact``: and nowhere else."""

    wanted: ScanFilter | None
    exact: bool


@dataclass(frozen=True)
class _Reader:
    """Reads conditions about one relation: its table, what the block calls it, the database that may stand before that,
    and the names that need no qualifier. ``timed`` is what of the clock it has met in conditions to compute.
    """

    table: Table
    alias: str
    database: str
    bare: frozenset[str]
    query: Pruner
    timed: list[Edit] = field(default_factory=list)

    def implied(self, node: exp.Expr, negated: bool, compute: bool = True) -> ScanFilter | None:
        """What is TRUE of a partition wherever the condition (``negated``: its opposite) is; ``None`` if unknown."""
        match node:
            case exp.Paren():
                return self.implied(node.this, negated, compute)
            case exp.Not() if not isinstance(node.this, _TESTS):
                return self.implied(node.this, not negated, compute)
            case exp.And() | exp.Or():
                return self._chain(node, negated, compute)
            case exp.Not():
                # NOT may stand inside: x NOT IN (…), x IS NOT NULL.
                found = self._compared_alone(node.this, not negated)
            case _:
                found = self._compared_alone(node, negated)
        if found.exact or not compute:
            return found.wanted
        return _all([found.wanted, self._computed(node, negated)])

    def _chain(self, node: exp.And | exp.Or, negated: bool, compute: bool) -> ScanFilter | None:
        """AND and OR. A chain of a thousand is a tree as deep; one of many parts to compute is computed as a whole."""
        joined = _all if isinstance(node, exp.And) is not negated else _any
        operands = list(node.flatten())
        if not compute or len(operands) <= _MOST_APART:
            return joined([self.implied(part, negated, compute) for part in operands])
        parts = [self.implied(part, negated, compute=False) for part in operands]
        if parts.count(None) > _MOST_APART:
            return _all([joined(parts), self._computed(node, negated)])
        return joined([known or self.implied(part, negated) for known, part in zip(parts, operands, strict=True)])

    def _compared_alone(self, node: exp.Expr, negated: bool) -> _Found:
        """What comparisons of a column with values say."""
        if isinstance(node, exp.Between) and _plain(node, "this", "low", "high"):
            ends = [(node.this, ">=", node.args["low"]), (node.this, "<=", node.args["high"])]
            parts = [self._bound(self._compared(*end), negated) for end in ends]
            return _Found(_any(parts) if negated else _all(parts), None not in parts)
        found = self._bound(self._predicate(node), negated)
        return _Found(found, found is not None)

    def _computed(self, node: exp.Expr, negated: bool) -> ScanFilter | None:
        """A condition about nothing but partition columns, row by row, as it was typed."""
        nodes = walk(node)
        found = [one for one in nodes if isinstance(one, exp.Column)]
        columns = [self._column(one) for one in found]
        if not columns or None in columns or len(nodes) > _LONGEST:
            return None
        # By another name than the table's own it is not known where it is computed.
        if any(isinstance(one, _NO_VALUE) for one in nodes) or any(one.db for one in found):
            return None
        span = self.query.text.exactly(node)
        if span is None:
            return None
        span = self.query.text.with_parentheses(span)  # current_date and current_date() are one to sqlglot
        times = [edit for edit in self.query.clock() if span.start <= edit.span.start and edit.span.end <= span.end]
        typed = self.query.text.edited(span, times)
        if _SUBSTITUTED in typed:
            return None
        self.timed.extend(times)
        indexes = sorted({self.table.partition_columns.index(one) for one in columns if one is not None})
        return Computed(f"NOT ({typed})" if negated else typed, self.alias, tuple(indexes))

    def unused(self, node: exp.Expr, why: str | None = None) -> str | None:
        """A condition that rules nothing out, and why; ``None`` where it is about no partition column."""
        columns = find_all(node, exp.Column)
        if not any(self._column(one) for one in columns):
            return None
        other = next((one for one in columns if self._column(one) is None), None)
        if why is None and any(isinstance(one, exp.Query) for one in walk(node)):
            why = "it has a subquery"
        elif why is None and other is not None:
            why = f"{other.sql(dialect='spark')} is no partition column of {self.alias}"
        span = self.query.text.exactly(node)
        words = node.sql(dialect="spark") if span is None else self.query.text.text[span.start : span.end]
        return f"{' '.join(words.split())}: {why or 'it is too long, or no value of single rows'}"

    def _bound(self, exact: f.Filter | None, negated: bool) -> ScanFilter | None:
        if exact is None:
            return None
        # To the engines VARCHAR is a text like any other: blanks at the end count.
        columns = [replace(one, type="string") if _is_text(one) else one for one in self.table.partition_columns]
        try:
            return bind_filter(f.negation(exact) if negated else exact, columns)
        except Error:
            return None  # the engine is to say what is wrong with it

    def _predicate(self, node: exp.Expr) -> f.Filter | None:
        """The condition as a filter that is TRUE, FALSE and NULL wherever it is; ``None`` if that is not certain."""
        operator = _OPERATORS.get(type(node))
        if operator is not None and _plain(node, "this", "expression"):
            return self._compared(node.this, operator, node.expression)
        match node:
            case exp.NullSafeEQ() | exp.NullSafeNEQ() if _plain(node, "this", "expression"):
                same = self._same(node.this, node.expression)
                return f.negation(same) if same and isinstance(node, exp.NullSafeNEQ) else same
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
        """``<=>``, which is never NULL."""
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
        """The partition column that an expression is. ``a.b.c`` may be a field of a column ``b``."""
        while isinstance(node, exp.Paren):
            node = node.this
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return None
        if node.args.get("catalog") or node.db.lower() not in ("", self.database):
            return None
        name = node.name.lower()
        if node.table.lower() != self.alias if node.table else name not in self.bare:
            return None
        found = next((one for one in self.table.partition_columns if one.name.lower() == name), None)
        # Whether blanks at the end of a CHAR count depends on what it is compared with: the engine is to say.
        return None if found is not None and partition_type(found.type).name == "char" else found

    def _literals(self, column: Column, nodes: Sequence[exp.Expr]) -> tuple[Literal, ...] | None:
        """The literals, where Spark compares all of them with the column as a filter does."""
        found = [_literal(node, self.query.parameters) for node in nodes]
        known = tuple(one for one in found if one is not None)
        return known if len(known) == len(found) and _compare_alike(column, known) else None


#: Tests that NOT may stand inside of.
_TESTS = (exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike)
#: So many parts of an AND or OR are computed one by one, and a condition of so many nodes at most.
_MOST_APART, _LONGEST = 16, 4000
#: What has no value that follows from one row's partition values.
_NO_VALUE = (exp.Query, exp.AggFunc, exp.Window, exp.Star)
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip


def _plain(node: exp.Expr, *known: str) -> bool:
    """Whether a node has no parts but the known ones: sqlglot hangs NOT, SYMMETRIC and the like on some."""
    return all(key in known for key, value in node.args.items() if value)


def _all(parts: Iterable[ScanFilter | None]) -> ScanFilter | None:
    known = tuple(part for part in parts if part is not None)
    return AllOf(known) if len(known) > 1 else known[0] if known else None


def _any(parts: Sequence[ScanFilter | None]) -> ScanFilter | None:
    known = tuple(part for part in parts if part is not None)
    return AnyOf(known) if len(known) == len(parts) else None


def _is_text(column: Column) -> bool:
    return partition_type(column.type).name in ("string", "varchar")


def _compare_alike(column: Column, literals: Sequence[Literal]) -> bool:
    """Whether no side is cast to a type in which different values are equal, and texts are read as everybody reads
    them. IN finds one type for all that it lists.
    """
    kinds = {one.kind for one in literals} - {"null"}
    if len(kinds) > 1:
        return False
    values = [one.text for one in literals if one.kind != "null"]
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
    integral = kind.name in INTEGER_WIDTHS
    digits = _INTEGER_DIGITS if integral else kind.precision - kind.scale
    # Beyond BIGINT Spark answers TRUE or FALSE without looking, of NULL, too.
    beyond = integral and any(abs(Decimal(value)) >= 2**63 - 1 for value in values if _EXACT.fullmatch(value))
    return kinds <= {"number"} and not beyond and _is_exact(digits, kind.scale, values)


def _is_exact(digits: int, scale: int, values: Sequence[str]) -> bool:
    """Whether a column of so many digits before and behind the point and the numbers have a DECIMAL in common."""
    for value in values:
        number = _EXACT.fullmatch(value)
        if number is None:
            return False
        scale = max(scale, len(number[2] or ""))
        digits = max(digits, len(number[1]), _INTEGER_DIGITS if number[2] is None else 0)
    return digits + scale <= _MOST_DIGITS


def _literal(node: exp.Expr, parameters: Mapping[str, object]) -> Literal | None:
    """A literal in which sqlglot can have read nothing otherwise than Spark: no escapes, either; or a parameter."""
    while isinstance(node, exp.Paren):
        node = node.this
    match node:
        case exp.Null():
            return Literal("null", "")
        case exp.Boolean():
            return Literal("boolean", "true" if node.this else "false")
        case exp.Literal() if node.is_string:
            text = node.name
            one = bool(node._meta) and node.meta["end"] - node.meta["start"] == len(text) + 1
            return Literal("string", text) if one and _PLAIN.fullmatch(text) else None
        case exp.Literal():
            return Literal("number", node.name)
        case exp.Neg():
            number = _literal(node.this, parameters)
            return Literal("number", f"-{number.text}") if number is not None and number.kind == "number" else None
        case exp.Cast() if _plain(node, "this", "to"):
            text_of = _literal(node.this, parameters)
            if text_of is None or text_of.kind != "string":
                return None
            if node.to.is_type("date") and _DATE.fullmatch(text_of.text):
                return Literal("date", text_of.text)
            if node.to.is_type("timestamp", "timestamptz", "timestampltz") and _TIMESTAMP.fullmatch(text_of.text):
                return Literal("timestamp", text_of.text)
        case exp.Placeholder() if node.name in parameters:
            return _value(parameters[node.name])
    return None


def _value(value: object) -> Literal | None:
    """A parameter's value as a literal."""
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
            return Literal("timestamp", value.astimezone(UTC).replace(tzinfo=None).isoformat(" "))
        case date():
            return Literal("date", value.isoformat())
    return None


#: Spark puts values of variables into texts with a dollar sign.
_SUBSTITUTED = "${"
_PLAIN = re.compile(r"[^\\'\"$]*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)?")
_EXACT = re.compile(r"-?0*([0-9]*)(?:\.([0-9]*))?")
#: Those of BIGINT, and those of the widest DECIMAL.
_INTEGER_DIGITS, _MOST_DIGITS = 20, 38
