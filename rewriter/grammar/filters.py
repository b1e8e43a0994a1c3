"""Partition filters as trees: the values that ``filter_rules`` builds.

Columns are names as typed; what they mean, and what the literals are in the columns' types, is the catalog's to say.
AND and OR have any number of operands and never nest in the same operator; NOT never precedes NOT.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, assert_never

from rewriter.errors import AnalysisError, Span
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.terms import Literal

#: How deep AND, OR and NOT may alternate. Parentheses alone, repeated NOT and any number of operands count nothing.
MAX_DEPTH = 100

#: ``10 < p`` is ``p > 10``.
FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Comparison:
    """``column op literal``; ``op`` is one of ``= <> < <= > >=``."""

    column: str
    op: str
    value: Literal
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class Like:
    r"""``column LIKE 'pattern'``; ``%`` is any text, ``_`` any character, ``\`` takes one of the three plainly."""

    column: str
    pattern: Literal
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class InList:
    """``column IN (literal, …)``, at least one."""

    column: str
    values: tuple[Literal, ...]
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class Between:
    """``column BETWEEN low AND high``, both included."""

    column: str
    low: Literal
    high: Literal
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class IsNull:
    """``column IS NULL``: never unknown itself."""

    column: str
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class Not:
    operand: Filter


@dataclass(frozen=True)
class And:
    operands: tuple[Filter, ...]


@dataclass(frozen=True)
class Or:
    operands: tuple[Filter, ...]


Predicate = Comparison | Like | InList | Between | IsNull
Filter = Predicate | Not | And | Or


def negation(operand: Filter) -> Filter:
    """NOT of a filter; NOT of NOT is the filter itself, in three-valued logic, too."""
    return operand.operand if isinstance(operand, Not) else Not(operand)


def conjunction(operands: tuple[Filter, ...]) -> Filter:
    """AND of one or more filters, as one level."""
    flat = tuple(
        part for operand in operands for part in (operand.operands if isinstance(operand, And) else (operand,))
    )
    return flat[0] if len(flat) == 1 else And(flat)


def disjunction(operands: tuple[Filter, ...]) -> Filter:
    """OR of one or more filters, as one level."""
    flat = tuple(part for operand in operands for part in (operand.operands if isinstance(operand, Or) else (operand,)))
    return flat[0] if len(flat) == 1 else Or(flat)


def check_depth(tree: Filter) -> None:
    """Raises ``AnalysisError`` FILTER_TOO_DEEP beyond ``MAX_DEPTH``, so that other code may recurse. Does not recurse
    itself.
    """
    level: list[Filter] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    deepest = next(_predicates(level[0]))
    raise AnalysisError(
        f"The filter nests AND, OR and NOT more than {MAX_DEPTH} levels deep.",
        condition="FILTER_TOO_DEEP",
        sqlstate="54001",
        position=deepest.span,
        object=deepest.column,
        hint="Write it as one OR of ANDs. Parentheses and the number of operands do not count towards the depth.",
    )


def span_of(tree: Filter) -> Span:
    """Returns the span from the first to the last predicate of a filter."""
    spans = [predicate.span for predicate in _predicates(tree)]
    return Span(spans[0].start, spans[-1].end)


def _children(tree: Filter) -> tuple[Filter, ...]:
    if isinstance(tree, Not):
        return (tree.operand,)
    if isinstance(tree, (And, Or)):
        return tree.operands
    if isinstance(tree, (Comparison, Like, InList, Between, IsNull)):
        return ()
    assert_never(tree)


def _predicates(tree: Filter) -> Iterator[Predicate]:
    stack: list[Filter] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, (Not, And, Or)):
            stack += reversed(_children(node))
        else:
            yield node
