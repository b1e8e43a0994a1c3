"""Which partitions of an ordinary table a block can need: equalities, IN and ranges of text on its first partition
column, joined by AND and OR.

Pruning only leaves out what the query's own predicate rejects; the predicate stays in the text. Anything that is not
understood prunes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from sqlglot import exp

from rewriter.catalog import keys
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Table
from rewriter.planner.blocks import Block, TableReference, modifiers, renames
from rewriter.planner.joins import filters, relations


def pruned(reference: TableReference, blocks: Iterable[Block]) -> tuple[KeyRange, ...] | None:
    """The key ranges that the block of a reference can need, or ``None`` for all partitions."""
    table = reference.table
    if not table.partition_columns or table.partition_columns[0].type != "string" or table.id < 0:
        return None
    for block in blocks:
        found = relations(block.select)
        index = next((i for i, relation in enumerate(found) if relation is reference.node), None)
        if index is not None:
            if modifiers(block.select) or any(renames(relation) for relation in found):
                return None
            return _of_block(block.select, index, reference.node, table, alone=len(found) == 1)
    return None


def _of_block(
    select: exp.Select, index: int, node: exp.Table, table: Table, *, alone: bool
) -> tuple[KeyRange, ...] | None:
    alias, column = (node.alias or node.name).lower(), table.partition_columns[0].name.lower()

    def is_column(candidate: exp.Expr | None) -> bool:
        if not isinstance(candidate, exp.Column) or candidate.name.lower() != column:
            return False
        return candidate.table.lower() == alias if candidate.table else alone

    chosen: list[KeyRange] | None = None
    # A comparison with a text is never true of NULL: it restricts a table that an outer join may leave absent, too.
    for condition in filters(select, index):
        ranges = _ranges(condition, is_column, table)
        if ranges is not None:
            chosen = ranges if chosen is None else _common(chosen, ranges)
    return None if chosen is None else tuple(_sorted(chosen))


def _ranges(node: exp.Expr, is_column: Callable[[exp.Expr | None], bool], table: Table) -> list[KeyRange] | None:
    match node:
        case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            operator: type[exp.Expr] = type(node)
            left, right = node.this, node.expression
            if is_column(right):
                operator, left, right = _FLIPPED[operator], right, left
            value = _text(right)
            return [_range(table, operator, value)] if is_column(left) and value is not None else None
        case exp.Between() if is_column(node.this) and not node.args.get("symmetric"):
            low, high = _text(node.args["low"]), _text(node.args["high"])
            if low is None or high is None:
                return None
            return _common([_range(table, exp.GTE, low)], [_range(table, exp.LTE, high)])
        case exp.In() if is_column(node.this) and node.expressions and not node.args.get("query"):
            texts = [_text(item) for item in node.expressions]
            return None if None in texts else [_range(table, exp.EQ, text) for text in texts if text is not None]
        case exp.Paren():
            return _ranges(node.this, is_column, table)
        case exp.Or():
            # A chain of a thousand ORs is a tree as deep.
            every = [_ranges(part, is_column, table) for part in node.flatten()]
            known = [ranges for ranges in every if ranges is not None]
            return [one for ranges in known for one in ranges] if len(known) == len(every) else None
        case exp.And():
            restricting = [r for part in node.flatten() if (r := _ranges(part, is_column, table)) is not None]
            return reduce(_common, restricting) if restricting else None
    return None


def _range(table: Table, operator: type[exp.Expr], value: str) -> KeyRange:
    types = [column.type for column in table.partition_columns]
    here = keys.prefix_of(table.id, types, (value,))
    behind = keys.successor(here)
    # NULL sorts first and is never equal to, below or above anything.
    start = keys.successor(keys.prefix_of(table.id, types, (None,)))
    end = keys.successor(keys.prefix(table.id))
    if operator in (exp.EQ, exp.GTE):
        start = here
    elif operator is exp.GT:
        start = behind
    if operator in (exp.EQ, exp.LTE):
        end = behind
    elif operator is exp.LT:
        end = here
    return KeyRange(start, max(start, end))


def _text(node: exp.Expr | None) -> str | None:
    """A string literal without anything in it that sqlglot could read otherwise than Spark: no escapes, either."""
    plain = isinstance(node, exp.Literal) and node.is_string and re.fullmatch(r"[\w .:+/-]*", node.name, re.ASCII)
    if node is None or not plain or not node._meta or node.meta["end"] - node.meta["start"] != len(node.name) + 1:
        return None
    return node.name


def _common(one: Sequence[KeyRange], other: Sequence[KeyRange]) -> list[KeyRange]:
    return [a & b for a in one for b in other if a.overlaps(b)]


def _sorted(ranges: Sequence[KeyRange]) -> list[KeyRange]:
    return list(keys.merged(ranges))


_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
