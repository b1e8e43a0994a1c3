"""ROLLUP, CUBE and GROUPING SETS as the list of their sets.

Several of them, and keys beside them, make a product: each set of one is joined with each set of the others. As in
Spark, a set that occurs twice returns its groups twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.exec.translate.expressions import ExpressionKey

#: The keys of one set, each once.
KeySet: TypeAlias = tuple["ExpressionKey", ...]
#: Stands in SQL for GROUPING_ID of all keys, which are known after the SELECT list.
ALL_KEYS = "grouping_of_all_keys()"
#: Hive's name of GROUPING_ID().
GROUPING_ID_COLUMN = "grouping__id"

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_CLAUSES = ("rollup", "cube", "grouping_sets")


@dataclass(frozen=True)
class KeySets:
    """The sets of a GROUP BY. ``keys`` are their keys in the order of GROUPING_ID; ``words`` name what was typed."""

    sets: tuple[KeySet, ...]
    keys: KeySet
    words: tuple[str, ...]


def key_sets(clause: exp.Expr, key: Callable[[exp.Expr], ExpressionKey]) -> KeySets | None:
    """Returns the sets of a GROUP BY; ``None`` without ROLLUP, CUBE and GROUPING SETS. ``key`` translates a key."""
    behind = [node for name in _CLAUSES for node in clause.args.get(name) or ()]
    terms: list[exp.Expr] = list(clause.expressions)
    if not behind and not any(isinstance(term, _SETS) for term in terms):
        return None
    words = [_word(term) for term in (*terms, *behind) if isinstance(term, _SETS)]
    keys = [part for term in terms for part in _keys(term, key)]
    if behind and not isinstance(behind[0], exp.GroupingSets):
        # GROUP BY a, b WITH ROLLUP
        terms = [type(behind[0])(expressions=terms)]
    elif behind:
        # GROUP BY a, b GROUPING SETS (…): the keys before it only give the order of the columns.
        terms = behind
    products = itertools.product(*(_sets(term, key) for term in terms))
    sets = tuple(tuple(dict.fromkeys(itertools.chain(*product))) for product in products)
    return KeySets(sets, tuple(dict.fromkeys(keys)), tuple(words))


def number_of_sets(clause: exp.Expr) -> int:
    """Returns the number of sets of a GROUP BY, without making them."""
    behind = [node for name in _CLAUSES for node in clause.args.get(name) or ()]
    counts = [_count(term, len(clause.expressions)) for term in (behind or clause.expressions)]
    product = 1
    for count in counts:
        product *= count
    return product


def _count(node: exp.Expr, behind: int) -> int:
    length = len(node.expressions) or behind
    if isinstance(node, exp.Rollup):
        return length + 1
    if isinstance(node, exp.Cube):
        return 1 << min(length, 64)
    if isinstance(node, exp.GroupingSets):
        return sum(_count(element, 0) for element in node.expressions)
    return 1


def _word(node: exp.Expr) -> str:
    return "GROUPING SETS" if isinstance(node, exp.GroupingSets) else type(node).__name__.upper()


def _keys(node: exp.Expr, key: Callable[[exp.Expr], ExpressionKey]) -> list[ExpressionKey]:
    """Returns all keys of an element, in the order of the text."""
    if isinstance(node, (*_SETS, exp.Tuple)):
        return [part for element in node.expressions for part in _keys(element, key)]
    return [key(node.this if isinstance(node, exp.Paren) else node)]


def _sets(node: exp.Expr, key: Callable[[exp.Expr], ExpressionKey]) -> list[KeySet]:
    if isinstance(node, exp.GroupingSets):
        return [key_set for element in node.expressions for key_set in _sets(element, key)]
    if not isinstance(node, exp.Rollup | exp.Cube):
        return [tuple(_keys(node, key))]
    elements = [tuple(_keys(element, key)) for element in node.expressions]
    if isinstance(node, exp.Rollup):
        return [_joined(elements[:length]) for length in range(len(elements), -1, -1)]
    return [
        _joined(chosen)
        for length in range(len(elements), -1, -1)
        for chosen in itertools.combinations(elements, length)
    ]


def _joined(elements: Sequence[KeySet]) -> KeySet:
    return tuple(itertools.chain(*elements))
