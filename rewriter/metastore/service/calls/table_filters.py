"""Filters of tables: by their parameters and their owner. Trino finds its views and the tables of other formats so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from rewriter.catalog.filters.predicates import ScanFilter, bind_filter
from rewriter.catalog.keys.like_patterns import LikePattern
from rewriter.errors import NotSupportedError
from rewriter.grammar import filters as f
from rewriter.grammar.parser import parse_filter

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column

_CONDITION = re.compile(
    r"""\s*(?P<field>hive_filter_field_owner__|hive_filter_field_params__(?P<key>[\w.]+))
    \s*(?P<operator>=|!=|<>|like\b)\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_CONNECTIVE = re.compile(r"(and|or)\b", re.IGNORECASE)
#: Tests the parameters of a table, and its owner.
TableFilter = Callable[[Mapping[str, str], str], bool]


def read_table_filter(text: str) -> TableFilter:
    """Returns the test that a filter describes: comparisons joined by AND, which binds more, and OR.

    >>> test = read_table_filter('hive_filter_field_params__k = "v" or hive_filter_field_owner__ = "ada"')
    >>> test({"k": "v"}, "bob"), test({}, "bob")
    (True, False)

    Raises ``NotSupportedError`` for other filters.
    """
    alternatives: list[list[TableFilter]] = [[]]
    position = 0
    while True:
        condition = _CONDITION.match(text, position)
        if condition is None:
            raise _unsupported(text)
        alternatives[-1].append(_test(condition))
        position = condition.end()
        if position == len(text):
            return lambda parameters, owner: any(
                all(test(parameters, owner) for test in tests) for tests in alternatives
            )
        connective = _CONNECTIVE.match(text, position)
        if connective is None:
            raise _unsupported(text)
        if connective[1].lower() == "or":
            alternatives.append([])
        position = connective.end()


def _test(condition: re.Match[str]) -> TableFilter:
    key, operator = condition["key"], condition["operator"].lower()
    value = condition["double"] if condition["double"] is not None else condition["single"]
    if operator == "like":
        pattern = LikePattern.of(_like_pattern(value))
        return lambda parameters, owner: _matches(pattern, _field(key, parameters, owner))
    if operator == "=":
        return lambda parameters, owner: _field(key, parameters, owner) == value
    return lambda parameters, owner: _field(key, parameters, owner) not in (None, value)


def _field(key: str | None, parameters: Mapping[str, str], owner: str) -> str | None:
    return owner if key is None else parameters.get(key)


def _matches(pattern: LikePattern, text: str | None) -> bool:
    return text is not None and pattern.matches(text)


def _unsupported(text: str) -> NotSupportedError:
    return NotSupportedError(
        f"The filter of tables '{text[:200]}' is not supported.",
        object=text[:200],
        hint='Write hive_filter_field_params__KEY = "value", with = != LIKE, AND and OR.',
    )


# Filters of partitions as clients send them: the filters of the catalog, with regular expressions as patterns of LIKE.

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
        return replace(tree, pattern=replace(tree.pattern, text=_like_pattern(tree.pattern.text)))
    if isinstance(tree, f.Not):
        return f.Not(_with_patterns(tree.operand))
    if isinstance(tree, f.And | f.Or):
        return replace(tree, operands=tuple(map(_with_patterns, tree.operands)))
    if isinstance(tree, f.Comparison | f.InList | f.Between | f.IsNull):
        return tree
    assert_never(tree)


def _like_pattern(expression: str) -> str:
    r"""Returns an expression as a pattern of LIKE.

    >>> _like_pattern("x.*"), _like_pattern("a%b."), _like_pattern("1\\.5")
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
