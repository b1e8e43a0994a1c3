"""The select lists of a text: where each begins, and where an item ends. Each token is visited a few times at most,
however many items are asked for.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import cached_property

from rewriter.errors import Span
from rewriter.grammar.lexer import Token

_AFTER_SELECT_LIST = (
    "FROM", "WHERE", "GROUP", "HAVING", "QUALIFY", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET",
    "UNION", "INTERSECT", "EXCEPT", "MINUS", "WINDOW", "LATERAL", "PIVOT", "UNPIVOT",
)  # fmt: skip
#: Words behind which a name is no item of a select list.
_BEHIND_LIST = ("FROM", "WHERE", "BY", "HAVING", "ON", "VALUES", "IN")


class ListItems:
    """The items of the select lists among a text's tokens."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._lists: dict[int, _Commas] = {}

    def item(self, index: int) -> Span:
        """Returns the whole item in which the token at ``index`` stands, however deep."""
        start = self.start(index)
        if start not in self._lists:
            self._lists[start] = _Commas(self._tokens, start)
        first = self._lists[start].behind(index)
        depth, last = 0, first
        for i in range(first, len(self._tokens)):
            token, before = self._tokens[i], self._tokens[i - 1]
            if token.is_operator("(", "["):
                depth += 1
            elif token.is_operator(")", "]"):
                depth -= 1
            ends = token.is_operator(",", ";") or (token.is_word(*_AFTER_SELECT_LIST) and not before.is_operator("."))
            # … IS DISTINCT FROM … and … WITHIN GROUP (…) go on.
            goes_on = (token.is_word("FROM") and before.is_word("DISTINCT")) or before.is_word("WITHIN")
            if depth < 0 or (i > index and depth == 0 and ends and not goes_on):
                break
            last = i
        return Span(self._tokens[first].start, self._tokens[last].end)

    def start(self, index: int) -> int:
        """Returns the index of the first token of the list around the token at ``index``, behind hints and DISTINCT."""
        first = self._behind_select[index]
        while self._tokens[first].is_operator("/*+"):
            first = next(i for i in range(first, len(self._tokens)) if self._tokens[i].is_operator("*/")) + 1
        return first + 1 if self._tokens[first].is_word("DISTINCT", "ALL") else first

    @cached_property
    def _behind_select(self) -> list[int]:
        """For each token, the index behind the last SELECT before it, without those in parentheses that are closed
        before it; 0 where there is none.
        """
        indexes: list[int] = []
        around: list[int] = []
        index_behind = 0
        for index, token in enumerate(self._tokens):
            indexes.append(index_behind)
            if token.is_operator("(", "["):
                around.append(index_behind)
            elif token.is_operator(")", "]"):
                index_behind = around.pop() if around else index_behind
            elif token.is_word("SELECT"):
                index_behind = index + 1
        return indexes

    def directly_in_list(self, index: int) -> bool:
        """Tests whether the token at ``index`` stands in a select list, and in no parentheses there."""
        return self._directly[index]

    @cached_property
    def _directly(self) -> list[bool]:
        directly: list[bool] = []
        around: list[bool] = []
        is_in_list = False
        for token in self._tokens:
            directly.append(is_in_list)
            if token.is_operator("(", "["):
                around.append(is_in_list)
                is_in_list = False
            elif token.is_operator(")", "]"):
                is_in_list = around.pop() if around else is_in_list
            elif token.is_word("SELECT"):
                is_in_list = True
            elif token.is_word(*_BEHIND_LIST):
                is_in_list = False
        return directly


class _Commas:
    """The commas between the items of one list, read as far as an item was asked for."""

    def __init__(self, tokens: Sequence[Token], first: int) -> None:
        self._tokens = tokens
        self._first = self._read_until = first
        self._depth = 0
        self._indexes: list[int] = []

    def behind(self, index: int) -> int:
        """Returns the index behind the last comma between items before ``index``; the list's first without one."""
        while self._read_until < index and self._depth >= 0:
            token = self._tokens[self._read_until]
            if token.is_operator("(", "["):
                self._depth += 1
            elif token.is_operator(")", "]"):
                self._depth -= 1
            elif self._depth == 0 and token.is_operator(","):
                self._indexes.append(self._read_until)
            self._read_until += 1
        number = bisect.bisect_left(self._indexes, index)
        return self._indexes[number - 1] + 1 if number else self._first
