"""Filters of tables: by their parameters and their owner. Trino finds its views and the tables of other formats so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rewriter.catalog.keys.like_patterns import LikePattern
from rewriter.errors import NotSupportedError
from rewriter.metastore.service.calls.partition_filters import like_pattern

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
        pattern = LikePattern.of(like_pattern(value))
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
