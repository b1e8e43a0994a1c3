"""Columns that meet in one type without an operator between them: in set operations, ``IN (SELECT …)`` and joins.

Without ANSI mode a text and a number become texts in set operations and ``IN (SELECT …)``, with it numbers. An integer
and a FLOAT become FLOAT, and DOUBLE with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from rewriter.convert.column_types import (
    DATE,
    INTEGERS,
    NULL,
    NUMBERS,
    STRING,
    TIMESTAMP,
    BlockColumn,
    ExpressionTypes,
)
from rewriter.convert.expressions import Expression, ExpressionForm
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.convert.query_blocks import QueryBlock
    from rewriter.grammar.lexer import Token

_WITH_TEXT = frozenset((*NUMBERS, DATE, TIMESTAMP))
_SINGLE_TIMES = ({DATE}, {TIMESTAMP})
#: The clauses in which the name of an item would stand for its text.
_AFTER_ITEMS = ("HAVING", "QUALIFY", "LIMIT", "SORT")


@dataclass
class MeetingColumns:
    """``casts`` are the types, STRING or FLOAT, to which expressions are cast, by the ids of these. ``nameless`` are
    the ids of those whose names do not count.

    ``unknown`` are the columns on whose types it depends whether they meet as texts, ``problems`` why columns that do
    are not converted.
    """

    casts: dict[int, str] = field(default_factory=dict)
    nameless: set[int] = field(default_factory=set)
    unknown: dict[str, None] = field(default_factory=dict)
    problems: dict[str, None] = field(default_factory=dict)


def meeting_columns(tokens: Sequence[Token], types: ExpressionTypes, *, is_hive: bool) -> MeetingColumns:
    """Returns what a statement needs so that its columns meet as without ANSI mode.

    ``is_hive`` says that ``IN (SELECT …)`` compares a text and a number as DOUBLE. Linear in the statement, but for
    what is nested.
    """
    meeting = MeetingColumns()
    for block in types.blocks.all:
        if block.branches:
            _unite(block, tokens, types, meeting)
        _join(block, types, meeting)
    for index, token in enumerate(tokens):
        inner = types.blocks.at(index + 1) if token.is_word("IN") else None
        if inner is not None:
            _look_up(index, inner, tokens, types, meeting, is_hive=is_hive)
    return meeting


def _unite(block: QueryBlock, tokens: Sequence[Token], types: ExpressionTypes, meeting: MeetingColumns) -> None:
    operator = tokens[block.set_operators[0]].upper
    branches = [types.columns_of(branch) for branch in block.branches]
    lists = [columns for columns in branches if columns is not None]
    if len(lists) < len(branches) or len({len(columns) for columns in lists}) > 1:
        meeting.unknown[f"the columns of {operator}"] = None
        return
    meeting.nameless |= {id(column.expression) for columns in lists[1:] for column in columns if column.expression}
    for columns in zip(*lists, strict=True):
        _meet(columns, block.branches, operator, types, meeting)


def _look_up(
    index: int, inner: QueryBlock, tokens: Sequence[Token], types: ExpressionTypes, meeting: MeetingColumns,
    *, is_hive: bool,
) -> None:  # fmt: skip
    last = index - (2 if tokens[index - 1].is_word("NOT") else 1)
    left = min((e for e in types.blocks.by_place.values() if e.last == last), key=lambda e: e.first, default=None)
    columns = types.columns_of(inner)
    is_list = left is not None and left.form is ExpressionForm.OTHER and tokens[left.first].is_operator("(")
    values = () if left is None else left.parts if is_list else (left,)
    if columns is None or len(columns) != len(values):
        meeting.unknown["IN (SELECT …)"] = None
        return
    for value, column in zip(values, columns, strict=True):
        pair = (BlockColumn(None, types.type_of(value), value), column)
        types_met = {met.type for met in pair}
        if is_hive and STRING in types_met and types_met & set(NUMBERS):
            meeting.problems["IN (SELECT …) compares a text with numbers, in Hive by their values: cast the text"] = (
                None
            )
        elif not (is_hive and types_met & set(NUMBERS) and None not in types_met):
            _meet(pair, (types.blocks.around(value.first), inner), "IN (SELECT …)", types, meeting, is_lookup=True)


def _meet(
    columns: Sequence[BlockColumn], blocks: Sequence[QueryBlock], operator: str, types: ExpressionTypes,
    meeting: MeetingColumns, *, is_lookup: bool = False,
) -> None:  # fmt: skip
    """Notes what one column of an operation needs: its values in each branch have the types of ``columns``."""
    valued = [pair for pair in zip(columns, blocks, strict=True) if pair[0].type != NULL]
    types_met = {column.type for column, _ in valued}
    others = types_met - {STRING, None}
    if len(valued) < 2 or not others <= _WITH_TEXT:
        return
    if None in types_met:
        if not _is_same(valued):
            meeting.unknown |= dict.fromkeys(_label(column, operator) for column, _ in valued if column.type is None)
        return
    if STRING not in types_met and not ("float" in others and others & set(INTEGERS)):
        return
    target = STRING if STRING in types_met else "float"
    cast = [(column, block) for column, block in valued if column.type != target]
    cast_types = {column.type for column, _ in cast}
    # Several numbers meet each other before they become texts: they have one scale then, and 0.0 is -0.0.
    is_exact = len(cast) == 1 or (target == STRING and (cast_types <= set(INTEGERS) or cast_types in _SINGLE_TIMES))
    for column, block in cast:
        expression = column.expression
        keeps_rows = (is_lookup and block is blocks[0]) or not _uses_item(block, column, types, is_lookup=is_lookup)
        if expression is None or not is_exact or not keeps_rows:
            met = "texts" if target == STRING else "FLOAT"
            label = _label(column, operator)
            meeting.problems[
                f"{operator} has {met} and {str(column.type).upper()} in {label}: cast them to {target.upper()}"
            ] = None
        else:
            meeting.casts[id(expression)] = target


def _is_same(valued: Sequence[tuple[BlockColumn, QueryBlock]]) -> bool:
    """Tests whether all values are one column of one table, so that they have one type."""
    origins = set()
    for column, block in valued:
        expression, relations = column.expression, [relation.name for relation in block.relations]
        if expression is None or expression.form is not ExpressionForm.NAME or len(relations) != 1:
            return False
        origins.add((expression.word, relations[0]))
    return len(origins) == 1 and None not in {table for _, table in origins}


def _label(column: BlockColumn, operator: str) -> str:
    expression = column.expression
    if expression is not None and expression.form is ExpressionForm.NAME:
        return ".".join(expression.names)
    return column.name or f"a column of {operator}"


def _uses_item(block: QueryBlock, column: BlockColumn, types: ExpressionTypes, *, is_lookup: bool) -> bool:
    """Tests whether a block perhaps reads an item by its name: it would read the text."""
    if block.has_word(*(_AFTER_ITEMS if is_lookup else _AFTER_ITEMS[:2])):
        return True
    expression = column.expression
    if column.name is None or expression is None or column.name not in block.aliases:
        return False
    return any(
        part.form is ExpressionForm.NAME and part.word == column.name and not _is_within(part, expression)
        for part in types.blocks.by_place.values()
        if block.start <= part.first and part.last < block.end and part.first != expression.last + 2
        and part.first != expression.last + 1
    )  # fmt: skip


def _is_within(part: Expression, whole: Expression) -> bool:
    return whole.first <= part.first and part.last <= whole.last


def _join(block: QueryBlock, types: ExpressionTypes, meeting: MeetingColumns) -> None:
    """Reports the columns of USING and NATURAL JOIN that have texts on one side.

    A comparison of both raises an error here before it returns other rows. Only a FULL JOIN returns values of both
    sides in one column, so that one of columns that are not known is reported.
    """
    relations = [types.relation_columns(relation) for relation in block.relations]
    is_natural = block.has_word("NATURAL")
    if not (block.joined_names or is_natural):
        return
    listed = (name for relation in relations if relation is not None for name in relation)
    names = dict.fromkeys(listed if is_natural else block.joined_names)
    for name in names:
        types_met = {relation[name] for relation in relations if relation is not None and name in relation}
        clause = "NATURAL JOIN" if is_natural else "USING"
        if "float" in types_met and types_met & set(INTEGERS):
            meeting.problems[f"{clause} has FLOAT and an integer in {name}: join with ON, and cast one"] = None
        elif STRING in types_met and types_met & _WITH_TEXT:
            meeting.problems[f"{clause} has a text and a number in {name}: join with ON, and cast one"] = None
        elif block.has_word("FULL") and (None in types_met or None in relations):
            meeting.unknown[name] = None
    if is_natural and not names and block.has_word("FULL"):
        meeting.unknown["the columns of NATURAL JOIN"] = None
