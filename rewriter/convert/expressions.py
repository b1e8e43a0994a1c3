"""The expressions in a statement's tokens: what is computed, and where it stands in the text.

Only expressions are read, by the precedence of Spark's operators; the clauses around them are skipped. So the reader
takes any statement, and finds in it each cast, operator and call with its place. sqlglot's trees keep no places of
operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from rewriter.grammar.lexer import Token, TokenKind, identifier_value
from rewriter.lazy_dataclass import dataclass


class ExpressionForm(Enum):
    """What an expression is. ``GROUP`` is one expression in parentheses, ``OTHER`` anything with expressions in it."""

    LITERAL = "literal"
    NAME = "name"
    CALL = "call"
    CAST = "cast"
    OPERATION = "operation"
    SIGN = "sign"
    INDEX = "index"
    GROUP = "group"
    CASE = "case"
    IN = "in"
    BETWEEN = "between"
    OTHER = "other"


@dataclass(frozen=True)
class Expression:
    """An expression at the tokens ``first`` to ``last``, with the expressions in it, in order.

    ``word`` is the value of a literal's first token, the name of a call in lower case, the type of a cast in lower
    case, or the operator in upper case. ``at`` is the token of the operator. ``operands`` are those that decide the
    value: the arguments of a call, the operands of an operator, the results of a CASE. Each is among ``parts`` too.
    """

    form: ExpressionForm
    first: int
    last: int
    word: str = ""
    parts: tuple[Expression, ...] = ()
    operands: tuple[Expression, ...] = ()
    at: int = 0
    names: tuple[str, ...] = ()
    is_windowed: bool = False


#: The binary operators, from those that bind most.
_LEVELS = (
    ("*", "/", "%", "DIV"),
    ("+", "-", "||"),
    ("<<", ">>", ">>>"),
    ("&",),
    ("^",),
    ("|",),
    ("=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">="),
)
COMPARING = _LEVELS[-1]
#: Words that begin no expression: they join the parts of a statement, or are operators of conditions.
_JOINING = frozenset(
    "ALL AND ANTI ANY AS ASC BETWEEN BOTH BY CLUSTER CROSS CUBE DESC DISTINCT DISTRIBUTE ELSE END ESCAPE EXCEPT EXISTS "
    "FETCH FILTER FOR FROM FULL GROUP GROUPING HAVING ILIKE IN INNER INSERT INTERSECT INTO IS JOIN LATERAL LEADING "
    "LIKE LIMIT MINUS NATURAL NOT OFFSET ON OR ORDER OUTER OVER OVERWRITE PARTITION QUALIFY REGEXP RLIKE ROLLUP ROWS "
    "SELECT SEMI SET SETS SOME SORT TABLE TABLESAMPLE THEN TRAILING UNION USING VALUES VIEW WHEN WHERE WINDOW WITH "
    "WITHIN".split()
)
#: Words that join, except before a parenthesis, where they are functions.
_CALLED = frozenset(("ANY", "SOME", "GROUPING"))
_CASTS = ("CAST", "TRY_CAST")
_UNITS = frozenset(
    f"{unit}{plural}" for unit in "YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND".split()
    for plural in ("", "S")
)  # fmt: skip


def expressions(tokens: Sequence[Token]) -> tuple[Expression, ...]:
    """Returns the expressions of a statement, in order: those that are part of no other one. Linear in the tokens,
    except for what is nested.

    Raises ``RecursionError`` for an expression that is nested some hundred levels deep.
    """
    return tuple(_Reader(tokens).scan(0, len(tokens)))


def all_parts(roots: Sequence[Expression]) -> Iterator[Expression]:
    """Yields expressions and all expressions in them."""
    stack = list(reversed(roots))
    while stack:
        expression = stack.pop()
        yield expression
        stack += reversed(expression.parts)


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._closing = closings(tokens)

    def scan(self, start: int, end: int) -> list[Expression]:
        """Returns the expressions among the tokens from ``start`` on, up to ``end``."""
        found: list[Expression] = []
        index = start
        while index < end:
            if self._tokens[index].is_word("PARTITION") and index + 1 in self._closing:
                index = self._closing[index + 1] + 1  # The partition of an INSERT.
                continue
            if self._tokens[index].is_operator("/*+"):
                while index < end and not self._tokens[index].is_operator("*/"):
                    index += 1
                continue
            expression = self._expression(index, end, len(_LEVELS)) if self._begins(index, end) else None
            if expression is not None:
                found.append(expression)
            index = index + 1 if expression is None else expression.last + 1
        return found

    def _begins(self, index: int, end: int) -> bool:
        token = self._tokens[index]
        if token.kind is TokenKind.WORD:
            if token.upper not in _JOINING:
                return True
            return token.upper in _CALLED and self._is(index + 1, end, "(") and not self._follows(index, "LIKE")
        if token.kind is TokenKind.OPERATOR:
            return token.text in ("(", "-", "+", "~") and not (token.text == "(" and index not in self._closing)
        return True

    def _is(self, index: int, end: int, *operators: str) -> bool:
        return index < end and self._tokens[index].is_operator(*operators)

    def _follows(self, index: int, *words: str) -> bool:
        return index > 0 and self._tokens[index - 1].is_word(*words)

    def _expression(self, start: int, end: int, level: int) -> Expression | None:
        """Reads an expression of operators that bind at least as much as those of the level."""
        if level == 0:
            return self._signed(start, end)
        left = self._expression(start, end, level - 1)
        while left is not None:
            index = left.last + 1
            operator = self._operator(index, end, level - 1)
            if operator is None:
                break
            behind = index + (3 if operator == ">>>" else 2 if operator == ">>" else 1)
            if behind >= end or not self._begins(behind, end):
                break
            right = self._expression(behind, end, level - 1)
            if right is None:
                break
            both = (left, right)
            left = Expression(ExpressionForm.OPERATION, left.first, right.last, operator, both, both, index)
        return self._condition(left, end) if left is not None and level == len(_LEVELS) else left

    def _operator(self, index: int, end: int, level: int) -> str | None:
        if index >= end:
            return None
        token = self._tokens[index]
        word = token.upper
        if word == ">" and self._is(index + 1, end, ">") and token.end == self._tokens[index + 1].start:
            third = self._is(index + 2, end, ">") and self._tokens[index + 1].end == self._tokens[index + 2].start
            word = ">>>" if third else ">>"
        is_operator = token.kind is TokenKind.OPERATOR or token.is_word("DIV")
        return word if is_operator and word in _LEVELS[level] else None

    def _condition(self, left: Expression, end: int) -> Expression:
        """Reads ``[NOT] IN (…)`` and ``[NOT] BETWEEN a AND b`` behind an operand."""
        index = left.last + 1
        if index < end and self._tokens[index].is_word("NOT"):
            index += 1
        if index + 1 >= end:
            return left
        if self._tokens[index].is_word("IN") and self._is(index + 1, end, "("):
            close = self._closing.get(index + 1)
            if close is None or close >= end or self._tokens[index + 2].is_word("SELECT", "WITH"):
                return left
            items = self._list(index + 2, close)
            return Expression(ExpressionForm.IN, left.first, close, "IN", (left, *items), (left, *items))
        if self._tokens[index].is_word("BETWEEN"):
            low = self._expression(index + 1, end, len(_LEVELS) - 1) if self._begins(index + 1, end) else None
            if low is None or low.last + 2 >= end or not self._tokens[low.last + 1].is_word("AND"):
                return left
            high = self._expression(low.last + 2, end, len(_LEVELS) - 1)
            if high is not None:
                return Expression(
                    ExpressionForm.BETWEEN, left.first, high.last, "BETWEEN", (left, low, high), (left, low, high)
                )
        return left

    def _signed(self, start: int, end: int) -> Expression | None:
        token = self._tokens[start]
        if not token.is_operator("-", "+", "~"):
            return self._behind(self._primary(start, end), end)
        if start + 1 >= end or not self._begins(start + 1, end):
            return None
        operand = self._signed(start + 1, end)
        if operand is None:
            return None
        return Expression(ExpressionForm.SIGN, start, operand.last, token.text, (operand,), (operand,), start)

    def _behind(self, left: Expression, end: int) -> Expression:
        """Reads ``[index]``, ``::type`` and ``.field`` behind an operand."""
        while left.last + 1 < end:
            index = left.last + 1
            token = self._tokens[index]
            close = self._closing.get(index)
            if token.is_operator("[") and close is not None and close < end:
                inner = self._one(index + 1, close)
                left = Expression(ExpressionForm.INDEX, left.first, close, "", (left, inner), (left, inner), index)
            elif token.is_operator("::") and index + 1 < end:
                last = self._type_end(index + 1, end)
                left = Expression(
                    ExpressionForm.CAST, left.first, last, self._type(index + 1, last), (left,), (left,), index
                )
            elif token.is_operator(":") and index + 1 < end and token.start == self._tokens[left.last].end:
                left = Expression(ExpressionForm.OTHER, left.first, index + 1, "", (left,))  # A path in a VARIANT.
            elif token.is_operator(".") and index + 1 < end and left.form is not ExpressionForm.NAME:
                left = Expression(ExpressionForm.OTHER, left.first, index + 1, "", (left,))
            else:
                break
        return left

    def _type_end(self, start: int, end: int) -> int:
        behind = start + 1
        if self._is(behind, end, "(") and behind in self._closing:
            return self._closing[behind]
        if not self._is(behind, end, "<"):
            return start
        depth = 0
        for index in range(behind, end):
            depth += self._tokens[index].is_operator("<") - self._tokens[index].is_operator(">")
            if depth == 0:
                return index
        return start

    def _type(self, first: int, last: int) -> str:
        return "".join(token.text for token in self._tokens[first : last + 1]).lower()

    def _one(self, start: int, end: int) -> Expression:
        """Returns what stands between ``start`` and ``end``: one expression, or others."""
        parts = self.scan(start, end)
        if len(parts) == 1 and (parts[0].first, parts[0].last) == (start, end - 1):
            return parts[0]
        return Expression(ExpressionForm.OTHER, start, max(start, end - 1), "", tuple(parts))

    def _list(self, start: int, close: int) -> tuple[Expression, ...]:
        """Returns what stands between commas."""
        items = []
        first = start
        index = start
        while index <= close:
            if index in self._closing:
                index = self._closing[index]
            elif index == close or self._tokens[index].is_operator(","):
                if first < index:
                    items.append(self._one(first, index))
                first = index + 1
            index += 1
        return tuple(items)

    def _primary(self, start: int, end: int) -> Expression:
        token = self._tokens[start]
        if token.kind is TokenKind.STRING:
            last = start
            while last + 1 < end and self._tokens[last + 1].kind is TokenKind.STRING:
                last += 1
            return Expression(ExpressionForm.LITERAL, start, last, token.text)
        if token.kind in (TokenKind.NUMBER, TokenKind.PARAMETER):
            return Expression(
                ExpressionForm.LITERAL if token.kind is TokenKind.NUMBER else ExpressionForm.OTHER,
                start,
                start,
                token.text,
            )
        if token.is_operator("("):
            return self._group(start)
        if token.kind is TokenKind.WORD:
            special = self._special(start, end)
            if special is not None:
                return special
        return self._named(start, end)

    def _special(self, start: int, end: int) -> Expression | None:
        token = self._tokens[start]
        behind = self._tokens[start + 1] if start + 1 < end else None
        if token.is_word("CASE"):
            return self._case(start, end)
        if token.is_word("NULL", "TRUE", "FALSE"):
            return Expression(ExpressionForm.LITERAL, start, start, token.upper)
        if behind is None:
            return None
        if token.is_word("INTERVAL"):
            return self._interval(start, end)
        if (
            token.is_word("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "X")
            and behind.kind is TokenKind.STRING
        ):
            return Expression(ExpressionForm.LITERAL, start, start + 1, token.upper)
        close = self._closing.get(start + 1)
        if token.is_word(*_CASTS) and behind.is_operator("(") and close is not None:
            split = next(
                (
                    i
                    for i in range(close - 1, start + 2, -1)
                    if self._tokens[i].is_word("AS") and self._depth(start + 1, i) == 1
                ),
                None,
            )
            if split is None:
                return None
            operand = self._one(start + 2, split)
            type_name = self._type(split + 1, close - 1)
            is_tolerant = token.is_word("TRY_CAST")
            names = ("TRY_CAST",) if is_tolerant else ("CAST",)
            return Expression(ExpressionForm.CAST, start, close, type_name, (operand,), (operand,), start, names)
        return None

    def _depth(self, first: int, index: int) -> int:
        opened = sum(t.is_operator("(", "[") - t.is_operator(")", "]") for t in self._tokens[first:index])
        return int(opened)

    def _interval(self, start: int, end: int) -> Expression | None:
        index = start + 1
        parts: list[Expression] = []
        while index < end:
            value = index + self._tokens[index].is_operator("-", "+")
            if value >= end or (self._tokens[value].kind is TokenKind.WORD and not parts and value == index):
                break
            token = self._tokens[value]
            if token.kind not in (TokenKind.STRING, TokenKind.NUMBER) and not token.is_operator("("):
                break
            last = self._closing.get(value, value)
            parts += self.scan(value, last + 1)
            index = last + 1
            while index < end and (self._tokens[index].upper in _UNITS or self._tokens[index].is_word("TO")):
                index += 1
        return (
            Expression(ExpressionForm.OTHER, start, index - 1, "INTERVAL", tuple(parts)) if index > start + 1 else None
        )

    def _case(self, start: int, end: int) -> Expression | None:
        depth = 0
        close = None
        for index in range(start, end):
            depth += self._tokens[index].is_word("CASE") - self._tokens[index].is_word("END")
            if depth == 0:
                close = index
                break
        if close is None:
            return None
        parts = tuple(self.scan(start + 1, close))
        results = tuple(part for part in parts if self._tokens[part.first - 1].is_word("THEN", "ELSE"))
        return Expression(ExpressionForm.CASE, start, close, "CASE", parts, results)

    def _group(self, start: int) -> Expression:
        close = self._closing[start]
        parts = tuple(self.scan(start + 1, close))
        is_one = len(parts) == 1 and (parts[0].first, parts[0].last) == (start + 1, close - 1)
        return Expression(
            ExpressionForm.GROUP if is_one else ExpressionForm.OTHER, start, close, "", parts, parts if is_one else ()
        )

    def _named(self, start: int, end: int) -> Expression:
        """Reads a name, a star behind its qualifier, or a call with what belongs to it."""
        index = start
        names = [identifier_value(self._tokens[start])]
        while self._is(index + 1, end, ".") and index + 2 < end:
            following = self._tokens[index + 2]
            if following.is_operator("*"):
                return Expression(ExpressionForm.OTHER, start, index + 2, "*")
            if following.kind not in (TokenKind.WORD, TokenKind.IDENTIFIER):
                break
            names.append(identifier_value(following))
            index += 2
        lowered = tuple(name.lower() for name in names)
        close = self._closing.get(index + 1)
        if not self._is(index + 1, end, "(") or close is None or close >= end:
            return Expression(ExpressionForm.NAME, start, index, lowered[-1], names=lowered)
        arguments = self._list(index + 2, close)
        parts = list(arguments)
        last, is_windowed = close, False
        while last + 1 < end:
            token = self._tokens[last + 1]
            behind = self._closing.get(last + 2)
            if token.is_word("FILTER") and behind is not None:
                parts += self.scan(last + 3, behind)
                last = behind
            elif token.is_word("WITHIN") and last + 3 in self._closing:
                behind = self._closing[last + 3]
                parts += self.scan(last + 4, behind)
                last = behind
            elif token.is_word("IGNORE", "RESPECT") and last + 2 < end and self._tokens[last + 2].is_word("NULLS"):
                last += 2
            elif token.is_word("OVER") and last + 2 < end:
                is_windowed = True
                parts += self.scan(last + 3, behind) if behind is not None else ()
                last = behind if behind is not None else last + 2
            else:
                break
        name = ".".join(lowered)
        return Expression(
            ExpressionForm.CALL, start, last, name, tuple(parts), arguments, index + 1, is_windowed=is_windowed
        )


def closings(tokens: Sequence[Token]) -> dict[int, int]:
    """Returns the index of each parenthesis or bracket that is closed, with that of its counterpart."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.is_operator("(", "["):
            opened.append(index)
        elif token.is_operator(")", "]") and opened:
            closing[opened.pop()] = index
    return closing
