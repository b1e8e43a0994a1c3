"""Spark SQL text as the translator reads it: sqlglot's tree, our lexer's strings, and places for errors.

sqlglot misreads doubled quotes, drops what it finds redundant (``varchar(3)`` becomes text) and rewrites calls: names
become one (``nvl`` and ``coalesce``), arguments are swapped, formats translated. So it never learns that a function is
one it knows, and every call arrives as an ``Anonymous`` with its name and arguments as typed. What else it may have
misread is taken from our own lexer, or refused.
"""

from __future__ import annotations

import bisect
from functools import cached_property
from typing import NoReturn

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from rewriter.errors import EngineError, NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import Token, TokenKind, string_value, tokens
from rewriter.planner.text import parser_words
from rewriter.planner.trees import settle_joins

#: Takes the place of what sqlglot could misread; never taken for a value, because ``string`` knows no such text.
_MASK = "!"
_HINT = "Use the Spark engine (engine spark), or write it differently."
#: Goes before the name of each call; nobody can type a name with a blank, so sqlglot knows no function of it.
_CALL = "call "
#: Calls with a grammar of their own, which sqlglot reads right.
_OWN_GRAMMAR = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "GROUP")
#: The words before a parenthesis that sqlglot has tokens of their own for and Spark has functions of.
_FUNCTION_WORDS = frozenset(
    "LEFT RIGHT REPLACE IF DATE TIMESTAMP YEAR BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE STRING ANY SOME "
    "FORMAT ISNULL".split()
)
_LONGEST_SHOWN = 40


class SqlText:
    """A text and its tree. Raises ``ParseError`` where it cannot be read, ``NotSupportedError`` for what sqlglot
    would read otherwise than Spark.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self._refuse_misread()

    @cached_property
    def tree(self) -> exp.Expr:
        try:
            trees = [tree for tree in self._parsed() if tree is not None]
        except SqlglotError as error:
            words = parser_words(error).replace(_CALL, "")
            raise ParseError(f"DuckDB's translator cannot read this query: {words}.", hint=_HINT) from None
        except RecursionError:
            raise ParseError("This query nests too deeply to be read.", hint="Split it with CTEs.") from None
        if len(trees) != 1:
            raise ParseError("One query was expected here.", position=Span(0, len(self.text)))
        for identifier in trees[0].find_all(exp.Identifier):
            # The alias in ``AS v(x, y)`` is no call.
            if str(identifier.this).startswith(_CALL):
                identifier.set("this", str(identifier.this).removeprefix(_CALL))
        settle_joins(trees[0])
        return trees[0]

    def _parsed(self) -> list[exp.Expr | None]:
        masked = self._masked()
        dialect = sqlglot.Dialect.get_or_raise("spark")
        tokens = dialect.tokenize(masked)
        for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
            word = token.text.upper()
            called = token.token_type is TokenType.VAR and word not in _OWN_GRAMMAR
            # ``= ANY (…)`` and ``LIKE ANY (…)`` are no calls.
            compared = word in ("ANY", "SOME") and before is not None and before.token_type in _COMPARING
            if after.token_type is TokenType.L_PAREN and (called or (word in _FUNCTION_WORDS and not compared)):
                token.text = _CALL + token.text
        return dialect.parser().parse(tokens, masked)

    def called(self, node: exp.Expr) -> str | None:
        """The name of the function that a node calls, in lower case; ``None`` where it is none of ours."""
        name = str(node.this) if isinstance(node, exp.Anonymous) else ""
        return name.removeprefix(_CALL).lower() if name.startswith(_CALL) else None

    def shown(self, node: exp.Expr) -> str:
        """The node as typed, cut where it is long."""
        span = self._span(node)
        if span is None:
            return node.sql(dialect="spark").replace(_CALL, "")
        typed = " ".join(self.text[span.start : span.end].split())
        return typed if len(typed) <= _LONGEST_SHOWN else typed[: _LONGEST_SHOWN - 1] + "…"

    def position(self, node: exp.Expr) -> Span | None:
        """Where the node stands, or what it is a part of, where sqlglot has forgotten its place."""
        span = self._span(node)
        return self.position(node.parent) if span is None and node.parent is not None else span

    def _span(self, node: exp.Expr) -> Span | None:
        """From the first to the last place that sqlglot remembers within the node; a call with its name and its
        parentheses.
        """
        places = [child.meta for child in node.walk() if child._meta and "start" in child.meta]
        if not places:
            return None
        start, end = min(place["start"] for place in places), max(place["end"] for place in places) + 1
        name = self._name_before(start) if isinstance(node, exp.Func) and not node._meta else None
        start = start if name is None else name.start
        return Span(start, self._balanced(start, end, isinstance(node, exp.Func)))

    def _balanced(self, start: int, end: int, called: bool) -> int:
        """The end of a stretch with the parentheses that it leaves open, and those behind a name that is ``called``."""
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
        """Whether parentheses stand in the text; sqlglot puts some where it reads operators in another order."""
        span = self._span(node.this)
        index = 0 if span is None else bisect.bisect_left(self._starts, span.start)
        while span is not None and index and _begins(self.tokens[index - 1]):
            index -= 1
            if self._balanced(self._starts[index], self.tokens[index].end, called=False) > span.end:
                return True
        return False

    def function_name(self, call: exp.Expr) -> str | None:
        """The name of the function that sqlglot has a class for, as typed: ``current_date``, ``extract``."""
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
        """The field of ``EXTRACT(field FROM …)`` as typed; sqlglot puts it in upper case."""
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
        """Raises the error for a construct whose answer on DuckDB is not proven equal to Spark's."""
        raise NotSupportedError(
            f"{what} is not supported on DuckDB.",
            condition="DUCKDB_UNSUPPORTED",
            position=None if node is None else self.position(node),
            hint=hint,
        )

    def wrong(self, message: str, condition: str, sqlstate: str, node: exp.Expr, object: str | None = None) -> NoReturn:
        """Raises the error that Spark, too, has for this node."""
        raise EngineError(message, condition=condition, sqlstate=sqlstate, position=self.position(node), object=object)

    def string(self, node: exp.Expr) -> str:
        """The value of a string literal, as Spark reads it.

        Refuses one whose place sqlglot has forgotten, unless its text can only be itself.
        """
        start = node.meta.get("start") if node._meta else None
        token = self._strings.get(start) if start is not None else None
        if token is not None:
            return string_value(token)
        text = str(node.this)
        if not all(char.isalnum() or char in " .+-:" for char in text):
            self.refuse("This string literal", node)
        return text

    @cached_property
    def _strings(self) -> dict[int, Token]:
        return {token.start: token for token in self.tokens if token.kind is TokenKind.STRING}

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    def _masked(self) -> str:
        """The text with strings that sqlglot could misread replaced by plain ones of the same length."""
        parts: list[str] = []
        position = 0
        for token in self._strings.values():
            body = token.text[1:-1]
            if token.text[0] in "rR" or "\\" in body or token.text[0] in body:
                parts += [self.text[position : token.start], "'", _MASK * (len(token.text) - 2), "'"]
                position = token.end
        return "".join([*parts, self.text[position:]])

    def _refuse_misread(self) -> None:
        for first, second in zip(self.tokens, self.tokens[1:], strict=False):
            span = Span(first.start, second.end)
            if first.kind is TokenKind.STRING and second.kind is TokenKind.STRING:
                raise _misread("Two string literals side by side are", span)
            if first.is_word("VARCHAR", "CHAR", "CHARACTER") and second.is_operator("("):
                raise _misread(f"{first.upper}(…) is", span)
            # sqlglot takes these words for a table of that name with an alias.
            if first.is_word("TABLE", "STREAM") and second.kind in (TokenKind.WORD, TokenKind.IDENTIFIER):
                raise _misread(f"{first.upper} is", span)


def _begins(token: Token) -> bool:
    """Whether a token may stand before the first name or value of an expression, as a part of it or around it."""
    return token.is_operator("(", "!", "-") or token.is_word("NOT")


_COMPARING = (TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.LIKE,
              TokenType.ILIKE, TokenType.RLIKE)  # fmt: skip


def _misread(what: str, span: Span) -> NotSupportedError:
    return NotSupportedError(
        f"{what} not supported on DuckDB.", condition="DUCKDB_UNSUPPORTED", position=span, hint=_HINT
    )
