"""Filters of partitions as clients send them: those of the catalog, with regular expressions as patterns of LIKE."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from rewriter.catalog.filters.predicates import ScanFilter, bind_filter
from rewriter.catalog.model.objects import Column
from rewriter.errors import NotSupportedError
from rewriter.grammar import filters as f
from rewriter.grammar.parser import parse_filter

#: The literals that Hive writes in another way: texts, and dates without quotes.
_LITERALS = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w.-])(?P<date>\d{4}-\d{2}-\d{2})(?![\w.-])""", re.DOTALL
)
#: The parts of an expression that a pattern of LIKE can say.
_PARTS = re.compile(r"(?P<any>\.\*)|(?P<one>\.)|\\(?P<escaped>\W)|(?P<plain>[^\\^$.|?*+()\[\]{}])", re.DOTALL)


def read_filter(text: str, columns: Sequence[Column]) -> ScanFilter:
    """Returns the filter in a text, for a table's partition columns.

    A text between quotes stands for itself, as in Hive: a backslash in it escapes nothing. Dates need no quotes.
    Raises ``ParseError``, the errors of ``bind_filter``, and ``NotSupportedError`` for an expression that is more than
    texts, ``.`` and ``.*``.
    """
    tree = parse_filter(_LITERALS.sub(_literal, text))
    f.check_depth(tree)
    return bind_filter(_with_patterns(tree), columns)


def _literal(match: re.Match[str]) -> str:
    """Returns a literal of Hive as one of the catalog's."""
    text = match["date"] or match[0][1:-1]
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _with_patterns(tree: f.Filter) -> f.Filter:
    if isinstance(tree, f.Like):
        return replace(tree, pattern=replace(tree.pattern, text=like_pattern(tree.pattern.text)))
    if isinstance(tree, f.Not):
        return f.Not(_with_patterns(tree.operand))
    if isinstance(tree, f.And | f.Or):
        return replace(tree, operands=tuple(map(_with_patterns, tree.operands)))
    if isinstance(tree, f.Comparison | f.InList | f.Between | f.IsNull):
        return tree
    assert_never(tree)


def like_pattern(expression: str) -> str:
    r"""Returns an expression as a pattern of LIKE.

    >>> like_pattern("x.*"), like_pattern("a%b."), like_pattern("1\\.5")
    ('x%', 'a\\%b_', '1.5')
    """
    pattern, position = "", 0
    while position < len(expression):
        part = _PARTS.match(expression, position)
        if part is None:
            raise NotSupportedError(
                f"The expression '{expression}' of LIKE is not supported.",
                object=expression,
                hint="Use texts, . for a character and .* for any text.",
            )
        position = part.end()
        if part["any"]:
            pattern += "%"
        elif part["one"]:
            pattern += "_"
        else:
            character = part["escaped"] or part["plain"]
            pattern += f"\\{character}" if character in "%_\\" else character
    return pattern
