"""Spark SQL text for the translator: sqlglot's tree, our lexer's strings, and positions for errors.

sqlglot misreads doubled quotes, drops what it considers redundant (``varchar(3)`` becomes text), and rewrites calls,
which ``planner.text.sqlglot_trees`` keeps as typed. Other text that it may have misread is taken from our own lexer, or
refused.
"""

from __future__ import annotations

import bisect
from functools import cached_property
from itertools import pairwise
from typing import NoReturn

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from rewriter.errors import EngineError, NotSupportedError, ParseError, Span
from rewriter.grammar.datatypes import check_type_name
from rewriter.grammar.lexer import Token, TokenKind, string_value, tokens
from rewriter.planner.text.query_text import parser_words
from rewriter.planner.text.sqlglot_trees import (
    CALL,
    PLUS_TOKEN,
    called,
    names_nested_type,
    nests_too_deeply,
    read_with_calls,
    settle,
)

_HINT = "Use the Spark engine (engine spark), or write it differently."
_LONGEST_SHOWN = 40


class SqlText:
    """A text and its tree. Raises ``ParseError`` if it is unreadable, and ``NotSupportedError`` for text that sqlglot
    reads differently from Spark.
    """

    def __init__(self, text: str, lexed: tuple[Token, ...] | None = None) -> None:
        """``lexed`` are the tokens of ``text``, if they are known."""
        self.text = text
        self.tokens = tokens(text) if lexed is None else lexed

    @cached_property
    def tree(self) -> exp.Expr:
        self._refuse_misread()
        if nests_too_deeply(self.tokens):
            raise _too_deep()
        try:
            trees = [tree for tree in read_with_calls(self.text, self.tokens, self._replaced()) if tree is not None]
        except SqlglotError as error:
            shift = self._unsigned_shift()
            if shift is not None:
                raise NotSupportedError(
                    ">>> is not supported on DuckDB.",
                    condition="DUCKDB_UNSUPPORTED",
                    position=shift,
                    hint="Write shiftrightunsigned(a, n), or use the Spark engine (engine spark).",
                ) from None
            self._refuse_window()
            words = parser_words(error).replace(CALL, "")
            raise ParseError(
                f"DuckDB's translator cannot parse this query: {words}.",
                hint="Check the syntax. If Spark reads this form, use the Spark engine (engine spark).",
            ) from None
        except RecursionError:
            raise _too_deep() from None
        if len(trees) != 1:
            raise ParseError("Expected one query.", position=Span(0, len(self.text)))
        for identifier in settle(trees[0]):
            if not isinstance(identifier, exp.Identifier):
                continue
            # The alias in ``AS v(x, y)`` is not a call.
            if str(identifier.this).startswith(CALL):
                identifier.set("this", str(identifier.this).removeprefix(CALL))
            string = self._strings.get(identifier.meta.get("start", -1)) if identifier._meta else None
            if string is not None:
                raise _no_name(string)
        return trees[0]

    def _refuse_window(self) -> None:
        """Raises for a call of window(…), which sqlglot reads as the clause WINDOW."""
        for word, parenthesis in zip(self.tokens, self.tokens[1:], strict=False):
            if word.is_word("WINDOW") and parenthesis.is_operator("("):
                raise NotSupportedError(
                    "The function window is not supported on DuckDB.",
                    condition="DUCKDB_UNSUPPORTED",
                    position=word.span,
                    object="window",
                    hint="Write date_trunc('hour', t), or use the Spark engine (engine spark).",
                )

    def _unsigned_shift(self) -> Span | None:
        """The position of the first ``>>>``, which sqlglot cannot read as an operator."""
        for first, third in zip(self.tokens, self.tokens[2:], strict=False):
            if self.text[first.start : third.end] == ">>>":
                return Span(first.start, third.end)
        return None

    def called(self, node: exp.Expr) -> str | None:
        """The name of the function that a node calls, in lower case; ``None`` if the node is not a marked call."""
        return called(node)

    def shown(self, node: exp.Expr) -> str:
        """The node as typed, truncated if it is long."""
        span = self._span(node)
        if span is None:
            return node.sql(dialect="spark").replace(CALL, "")
        typed = " ".join(self.text[span.start : span.end].split())
        return typed if len(typed) <= _LONGEST_SHOWN else typed[: _LONGEST_SHOWN - 1] + "…"

    def position(self, node: exp.Expr) -> Span | None:
        """The position of the node. If sqlglot has lost it, the position of an enclosing node."""
        span = self._span(node)
        return self.position(node.parent) if span is None and node.parent is not None else span

    def _span(self, node: exp.Expr) -> Span | None:
        """The span from the first to the last position that sqlglot kept within the node; of a call, with its name and
        its parentheses.
        """
        places = [child.meta for child in node.walk() if child._meta and "start" in child.meta]
        if not places:
            return None
        start, end = min(place["start"] for place in places), max(place["end"] for place in places) + 1
        name = self._name_before(start) if isinstance(node, exp.Func) and not node._meta else None
        start = start if name is None else name.start
        return Span(start, self._balanced(start, end, isinstance(node, exp.Func)))

    def _balanced(self, start: int, end: int, called: bool) -> int:
        """The end of a span, including the parentheses that it leaves open and those after a ``called`` name."""
        index = bisect.bisect_left(self._starts, start)
        depth = 0
        for token in self.tokens[index:]:
            opens = token.is_operator("(", "[")
            if token.start >= end and depth == 0 and not (called and opens):
                break
            depth += opens - token.is_operator(")", "]")
            end, called = max(end, token.end), called and not opens
        return end

    def is_typed(self, node: exp.Paren) -> bool:
        """True if the parentheses are in the text: sqlglot inserts some where it reads operators in another order."""
        span = self._span(node.this)
        index = 0 if span is None else bisect.bisect_left(self._starts, span.start)
        while span is not None and index and _begins(self.tokens[index - 1]):
            index -= 1
            if self._balanced(self._starts[index], self.tokens[index].end, called=False) > span.end:
                return True
        return False

    def is_not_null(self, test: exp.Is) -> bool:
        """True if the text has ``x IS NOT NULL``, not ``NOT x IS NULL``, for which sqlglot builds the same tree."""
        span = self._span(test.this)
        if not isinstance(test.expression, exp.Null) or span is None:
            return False
        index = bisect.bisect_left(self._starts, span.end)
        while index < len(self.tokens) and not self.tokens[index].is_word("IS"):
            index += 1
        return index + 1 < len(self.tokens) and self.tokens[index + 1].is_word("NOT")

    def function_name(self, call: exp.Expr) -> str | None:
        """The name of a function that has its own sqlglot class, as typed: ``current_date``, ``extract``."""
        span = self._span(call)
        if span is None:
            return call.sql_name().lower() if isinstance(call, exp.Func) else None
        token = self._token_at(span.start)
        if token is None or token.kind is not TokenKind.WORD:
            return None
        behind = self._token_at(token.end)
        alone = token.end == span.end or (behind is not None and behind.is_operator("("))
        return token.text.lower() if alone else None

    def extracted(self, node: exp.Extract) -> str | None:
        """The field of ``EXTRACT(field FROM …)`` as typed; sqlglot converts it to upper case."""
        span = self.position(node.expression)
        index = 0 if span is None else bisect.bisect_left(self._starts, span.start)
        while index > 1 and not self.tokens[index - 2].is_word("EXTRACT"):
            index -= 1
        return self.tokens[index].text if index > 1 else None

    def _name_before(self, start: int) -> Token | None:
        """The word before a parenthesis that opens before ``start``."""
        index = bisect.bisect_left(self._starts, start)
        if index >= 2 and self.tokens[index - 1].is_operator("(") and self.tokens[index - 2].kind is TokenKind.WORD:
            return self.tokens[index - 2]
        return None

    def _token_at(self, start: int) -> Token | None:
        index = bisect.bisect_left(self._starts, start)
        return self.tokens[index] if index < len(self.tokens) else None

    def refuse(self, what: str, node: exp.Expr | None = None, hint: str = _HINT) -> NoReturn:
        """Raises the error for a construct whose result on DuckDB is not proven equal to Spark's."""
        raise NotSupportedError(
            f"{what} is not supported on DuckDB.",
            condition="DUCKDB_UNSUPPORTED",
            position=None if node is None else self.position(node),
            hint=hint,
        )

    def wrong(
        self,
        message: str,
        condition: str,
        sqlstate: str,
        node: exp.Expr,
        object: str | None = None,
        hint: str | None = None,
    ) -> NoReturn:
        """Raises the error that Spark, too, raises for this node."""
        raise EngineError(
            message, condition=condition, sqlstate=sqlstate, position=self.position(node), object=object, hint=hint
        )

    def string(self, node: exp.Expr) -> str:
        """The value of a string literal, as Spark reads it.

        Refuses a literal whose position sqlglot has lost, unless its text is unambiguous.
        """
        start = node.meta.get("start") if node._meta else None
        token = self._strings.get(start) if start is not None else None
        if token is not None:
            return string_value(token)
        text = str(node.this)
        if not all(char.isalnum() or char in " .+-:" for char in text):
            self.refuse("This string literal", node)
        return text

    def strings_from(self, node: exp.Literal, count: int) -> str:
        """The value of ``count`` string literals side by side, of which sqlglot keeps the position of the first."""
        start = node.meta.get("start", -1) if node._meta else -1
        index = bisect.bisect_left(self._starts, start)
        strings = self.tokens[index : index + count]
        if start < 0 or len(strings) < count or any(token.kind is not TokenKind.STRING for token in strings):
            self.refuse("These string literals side by side", node)
        return "".join(map(string_value, strings))

    @cached_property
    def _strings(self) -> dict[int, Token]:
        return {token.start: token for token in self.tokens if token.kind is TokenKind.STRING}

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    def _test_ends(self) -> set[int]:
        """The start positions of the last tokens of ``IS [NOT] NULL``, ``IS [NOT] TRUE`` and the like."""
        ends = set()
        for first, second, third in zip(self.tokens, self.tokens[1:], (*self.tokens[2:], None), strict=False):
            if first.is_word("IS"):
                last = third if second.is_word("NOT") else second
                if last is not None and last.is_word("NULL", "TRUE", "FALSE", "UNKNOWN"):
                    ends.add(last.start)
        return ends

    def _replaced(self) -> dict[int, TokenType]:
        """The tokens that sqlglot reads as others: a plus before a value, and ``FROM`` and the like in a call."""
        replaced = {
            second.start: PLUS_TOKEN
            for first, second in zip(self.tokens, self.tokens[1:], strict=False)
            if second.is_operator("+") and _expects_value(first)
        }
        for index, token in enumerate(self.tokens[:-1]):
            words = _CALL_WORDS.get(token.upper) if token.kind is TokenKind.WORD else None
            if words is not None and self.tokens[index + 1].is_operator("("):
                replaced |= dict.fromkeys(self._words_of_call(index + 1, words), TokenType.COMMA)
        return replaced

    def _words_of_call(self, index: int, words: tuple[str, ...]) -> list[int]:
        """The positions of words that separate the arguments of the call whose parenthesis opens at an index."""
        depth, starts = 0, []
        for token in self.tokens[index:]:
            depth += token.is_operator("(", "[") - token.is_operator(")", "]")
            if depth == 0:
                break
            if depth == 1 and token.is_word(*words):
                starts.append(token.start)
        return starts

    def _refuse_misread(self) -> None:
        self._refuse_negative_parts()
        self._check_cast_types()
        ends = self._test_ends()
        is_value = False
        before: Token | None = None
        for first, second in pairwise(self.tokens):
            if second.kind is TokenKind.STRING:
                # In a chain of strings, the first one tells whether all are one value: ``DATE 'a' 'b'`` is none.
                is_value = (first.kind is TokenKind.STRING and is_value) or _expects_value(first)
                if first.kind is TokenKind.STRING and not is_value:
                    raise _misread("Two string literals side by side are", Span(first.start, second.end))
                if first.is_operator("."):
                    raise _no_name(second)
            if first.kind is TokenKind.WORD:
                self._refuse_misread_word(before, first, second)
            before = first
            # After a test, Spark's grammar allows AND, OR and the end of the expression; sqlglot continues the operand.
            if first.start in ends and (second.is_operator(*_GOING_ON) or second.is_word(*_GOING_ON_WORDS)):
                raise ParseError(
                    f"Syntax error at or near '{second.text}': a test cannot be an operand.",
                    position=second.span,
                    hint="Write the test in parentheses.",
                )

    def _refuse_misread_word(self, before: Token | None, word: Token, second: Token) -> None:
        """Refuses a word between two tokens that sqlglot reads in another way than Spark."""
        is_type = before is not None and (before.is_word("AS") or before.is_operator("::"))
        # As the type of a cast, they are STRING. CHAR is a function elsewhere.
        if second.is_operator("(") and not is_type:
            if word.is_word("VARCHAR", "CHARACTER") or (word.is_word("CHAR") and names_nested_type(self.tokens)):
                raise _misread(f"{word.upper}(…) is", Span(word.start, second.end))
        # sqlglot reads these words as a table of that name with an alias.
        elif second.kind in (TokenKind.WORD, TokenKind.IDENTIFIER) and word.is_word("TABLE", "STREAM"):
            raise _misread(f"{word.upper} is", Span(word.start, second.end))

    def _check_cast_types(self) -> None:
        """Raises ``ParseError`` for a cast to a type of other databases: sqlglot reads INT8 as TINYINT."""
        if "::" not in self.text and "CAST" not in self.text.upper():
            return
        casts: list[bool] = []  # For each open parenthesis, whether it belongs to a CAST.
        for before, token, after in zip(self.tokens, self.tokens[1:], self.tokens[2:], strict=False):
            if token.is_operator("("):
                casts.append(before.is_word("CAST", "TRY_CAST"))
            elif token.is_operator(")") and casts:
                casts.pop()
            is_typed = token.is_operator("::") or (token.is_word("AS") and casts[-1:] == [True])
            if is_typed and after.kind is TokenKind.WORD:
                check_type_name(after.text, after.span)

    def _refuse_negative_parts(self) -> None:
        """Refuses ``INTERVAL 1 DAY - 2 HOURS``, of which sqlglot reads ``- 2`` outside the interval, with an alias."""
        for index, token in enumerate(self.tokens if "INTERVAL" in self.text.upper() else ()):
            if not token.is_word("INTERVAL"):
                continue
            place = index + 1
            while self._is_part_of_interval(place):
                place += 2
                if self.tokens[place : place + 1] and self.tokens[place].is_operator("-", "+"):
                    if self.tokens[place].text == "-" and self._is_part_of_interval(place + 1):
                        raise _misread("A negative part of an interval is", self.tokens[place].span)
                    place += 1

    @cached_property
    def has_long_intervals(self) -> bool:
        """Whether the text has intervals like ``INTERVAL 1 DAY 2 HOURS``, which sqlglot reads as sums."""
        starts = (index + 1 for index, token in enumerate(self.tokens) if token.is_word("INTERVAL"))
        return any(self._is_part_of_interval(place) and self._is_part_of_interval(place + 2) for place in starts)

    @cached_property
    def has_interval_sums(self) -> bool:
        """Whether the text has sums like ``INTERVAL 1 DAY + INTERVAL 2 HOURS``."""
        return any(
            plus.is_operator("+")
            and after.is_word("INTERVAL")
            and (unit.upper.removesuffix("S") in _INTERVAL_UNITS or before.is_word("INTERVAL"))
            for before, unit, plus, after in zip(*(self.tokens[place:] for place in range(4)), strict=False)
        )

    def _is_part_of_interval(self, place: int) -> bool:
        """Tests for a number or string, and a word behind it."""
        pair = self.tokens[place : place + 2]
        return (
            len(pair) == 2
            and pair[0].kind in (TokenKind.NUMBER, TokenKind.STRING)
            and pair[1].kind is TokenKind.WORD
            and pair[1].upper.removesuffix("S") in _INTERVAL_UNITS
        )


def _begins(token: Token) -> bool:
    """True if a token may precede the first name or value of an expression, as a part of it or around it."""
    return token.is_operator("(", "!", "-") or token.is_word("NOT")


#: Words that separate arguments: ``SUBSTRING(s FROM 2 FOR 3)`` is ``SUBSTRING(s, 2, 3)``.
_CALL_WORDS = {"SUBSTRING": ("FROM", "FOR"), "OVERLAY": ("PLACING", "FROM", "FOR")}
_INTERVAL_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND",
                   "NANOSECOND")  # fmt: skip
#: Words and operators after which an expression begins.
_BEFORE_VALUES = ("SELECT", "DISTINCT", "ALL", "WHERE", "AND", "OR", "NOT", "CASE", "WHEN", "THEN", "ELSE", "BETWEEN",
                  "LIKE", "ILIKE", "RLIKE", "REGEXP", "BY", "ON", "HAVING", "QUALIFY", "DIV", "LIMIT", "OFFSET",
                  "VALUES", "IN")  # fmt: skip
_BEFORE_VALUES_OPERATORS = tuple("( , [ + - * / % || | & ^ ~ = == <=> <> != < <= > >=".split())


def _expects_value(token: Token) -> bool:
    """True if an expression begins after the token, so that a plus there has no left operand."""
    return token.is_operator(*_BEFORE_VALUES_OPERATORS) or token.is_word(*_BEFORE_VALUES)


#: Tokens that continue an expression after an operand.
_GOING_ON = tuple(":: = == <=> <> != < <= > >= + - * / % || | & ^ [".split())
_GOING_ON_WORDS = ("IS", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "DIV", "NOT", "COLLATE")


def _too_deep() -> ParseError:
    return ParseError("This query is nested too deeply to be parsed.", hint="Split it with CTEs.")


def _no_name(string: Token) -> ParseError:
    """The error for quotes around a name: sqlglot reads a name, Spark a string literal."""
    return ParseError(
        f"Syntax error at or near {string.text}: a string is not a name.",
        position=string.span,
        hint="Write names in backquotes: `name`.",
    )


def _misread(what: str, span: Span) -> NotSupportedError:
    return NotSupportedError(
        f"{what} not supported on DuckDB.", condition="DUCKDB_UNSUPPORTED", position=span, hint=_HINT
    )
