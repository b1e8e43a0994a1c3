"""A query's text, its tokens and its tree, and edits of the text.

The tree (sqlglot) is read, never printed: what the plan changes is a list of edits to the user's own text.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, TypeGuard, TypeVar

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from rewriter.errors import Error, InternalError, NotSupportedError, ParseError, Span, is_of_signal_handler
from rewriter.gc_pause import paused
from rewriter.grammar.lexer import Token, TokenKind, tokens
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import Replacement, SqlTemplate, TableToken
from rewriter.planner.text.literal_lists import list_parser
from rewriter.planner.text.sqlglot_trees import (
    PERCENTILE,
    children,
    joins_by,
    nests_too_deeply,
    settle,
    sqlglot_tokens,
    walk,
)

_Node = TypeVar("_Node", bound=exp.Expr)


#: The number of tokens by which a constant may extend beyond its parts that have a place.
_WIDEST = 6
_SPARK = Dialect.get_or_raise("spark")


class QueryText:
    """A query as typed. Offsets are characters of ``text``; ``origin`` is the position of the text in its statement."""

    def __init__(self, text: str, origin: int = 0, lexed: tuple[Token, ...] | None = None) -> None:
        """``lexed`` are the tokens of ``text``, if they are known."""
        self.text = text
        self.origin = origin
        self._lexed = lexed
        self._kinds: dict[type[exp.Expr], tuple[Any, ...]] = {}

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The lexer's tokens, without blanks and comments."""
        return tokens(self.text) if self._lexed is None else self._lexed

    @cached_property
    def words(self) -> frozenset[str]:
        """The words and keywords of the text, in upper case."""
        return frozenset([token.text.upper() for token in self.tokens if token.kind is TokenKind.WORD])

    @cached_property
    def nests_too_deeply(self) -> bool:
        """Returns True if parentheses are nested too deeply for any text to be parsed."""
        return nests_too_deeply(self.tokens)

    @cached_property
    def tree(self) -> exp.Expr:
        """The tree, from stock sqlglot. Raises ``ParseError`` at the place where it stopped reading."""
        return self.nodes[0]

    @cached_property
    def nodes(self) -> tuple[exp.Expr, ...]:
        """All nodes of the tree, breadth first. Nothing changes the tree, and it is traversed repeatedly."""
        if self.nests_too_deeply:
            raise self._too_deep()
        try:
            with paused():
                trees = list_parser(_SPARK).parse(self._parsed_tokens(), self.text)
        except SqlglotError as error:
            raise self._unreadable(error) from None
        except RecursionError:
            raise self._too_deep() from None
        except Exception as error:  # sqlglot stumbles over some texts with errors of any kind
            if is_of_signal_handler(error):
                raise
            full_position = self.place(Span(0, len(self.text)))
            raise ParseError(
                f"This query cannot be parsed ({type(error).__name__} in the parser).", position=full_position
            ) from error
        if len(trees) != 1 or trees[0] is None:
            raise ParseError("Expected one query.", position=self.place(Span(0, len(self.text))))
        return tuple(settle(trees[0]))

    def _too_deep(self) -> ParseError:
        full_position = self.place(Span(0, len(self.text)))
        return ParseError(
            "This query is nested too deeply to be parsed.", position=full_position, hint="Split it with CTEs."
        )

    @cached_property
    def _hinted(self) -> frozenset[int]:
        """The nodes inside hints, by identity."""
        hints = [node for node in self.nodes if isinstance(node, exp.Hint)]
        return frozenset(id(inner) for hint in hints for inner in walk(hint))

    def in_hint(self, node: exp.Expr) -> bool:
        """Tests whether a node of the tree is part of a hint."""
        return id(node) in self._hinted

    @cached_property
    def _outermost(self) -> frozenset[int]:
        """The SELECTs that stand in no other SELECT, by identity."""
        outermost: list[exp.Expr] = []
        stack = [self.tree]
        while stack:
            node = stack.pop()
            if isinstance(node, exp.Select):
                outermost.append(node)
            else:
                stack += children(node)
        return frozenset(map(id, outermost))

    def is_outermost(self, select: exp.Select) -> bool:
        """Tests whether a SELECT of the tree stands in no other SELECT."""
        return id(select) in self._outermost

    def find_all(self, kind: type[_Node]) -> Iterator[_Node]:
        """The nodes of that kind, breadth first. They are looked for once."""
        if kind not in self._kinds:
            self._kinds[kind] = tuple(node for node in self.nodes if isinstance(node, kind))
        return iter(self._kinds[kind])

    def unread(self) -> Error | None:
        """Returns the reason why the text was not understood as a query, or ``None`` where it was."""
        for token in self.tokens if "|>" in self.text else ():
            if token.is_operator("|>"):
                return NotSupportedError(
                    "Pipe syntax over a cube is not supported yet.", position=self.place(token.span)
                )
        unbalanced = self._unbalanced()
        if unbalanced is not None:
            return ParseError(
                f"This query cannot be parsed: unmatched '{unbalanced.text}'.",
                position=self.place(unbalanced.span),
                hint="Check that parentheses match.",
            )
        try:
            tree = self.tree
        except ParseError as error:
            return error
        unlike = self._read_unlike()
        if unlike is not None:
            return ParseError(
                "The planner and the engine would parse the comments in this query differently.",
                position=self.place(Span(unlike, unlike + 1)),
                hint="Write comments as /* … */, without a backslash at the end of a line.",
            )
        full_position = self.place(Span(0, len(self.text)))
        if not isinstance(tree, exp.Query | exp.Values):
            return ParseError("This query cannot be parsed.", position=full_position)
        # sqlglot takes TABLE t and STREAM t for a table of that name with an alias.
        for table in self.find_all(exp.Table):
            bare = isinstance(table.this, exp.Identifier) and not table.this.quoted
            if bare and table.alias and table.name.upper() in ("TABLE", "STREAM"):
                return ParseError(f"{table.name.upper()} in FROM cannot be parsed.", position=full_position)
        return None

    def _unbalanced(self) -> Token | None:
        """The parenthesis that has no counterpart: sqlglot forgives some, and reports others where it ends."""
        open_: list[Token] = []
        for token in [token for token in self.tokens if token.kind is TokenKind.OPERATOR]:
            if token.text == "(":
                open_.append(token)
            elif token.text == ")":
                if not open_:
                    return token
                open_.pop()
        return open_[-1] if open_ else None

    @cached_property
    def _their_tokens(self) -> list[Any]:
        return sqlglot_tokens(_SPARK, self.text, self.tokens)

    def _parsed_tokens(self) -> list[Any]:
        """sqlglot's tokens, with some things put right that it reads otherwise than Spark."""
        parsed: list[Any] = []
        for token in _with_shifts(self._their_tokens) if ">>>" in self.text else self._their_tokens:
            if token.token_type is TokenType.L_PAREN and parsed:
                _read_synonym(parsed)
            if parsed and joins_by(parsed[-1], token):
                continue
            if parsed and parsed[-1].token_type is TokenType.WINDOW and token.token_type is TokenType.L_PAREN:
                parsed[-1].token_type = TokenType.VAR  # the function window(t, '1 day'), not the clause
            parsed.append(token)
        return parsed

    def _read_unlike(self) -> int | None:
        """The first character that is part of a token to our lexer and of a comment to sqlglot's, or the reverse."""
        ours, sqlglots = bytearray(len(self.text)), bytearray(len(self.text))
        for token in self.tokens:
            ours[token.start : token.end] = b"\1" * (token.end - token.start)
        for token in self._their_tokens:
            sqlglots[token.start : token.end + 1] = b"\1" * (token.end + 1 - token.start)
        if ours == sqlglots:
            return None
        # Blanks inside GROUP BY, which is one token to sqlglot, are nothing to look at one by one.
        unlike = (int.from_bytes(ours) ^ int.from_bytes(sqlglots)).to_bytes(len(ours))
        return next((hit.start() for hit in re.finditer(b"\1", unlike) if not self.text[hit.start()].isspace()), None)

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    @cached_property
    def _ends(self) -> list[int]:
        return [token.end for token in self.tokens]

    @cached_property
    def _parameters(self) -> dict[str, list[Span]]:
        """The places of the tokens that begin with a colon, by their texts."""
        places: dict[str, list[Span]] = {}
        for token in self.tokens:
            if token.text.startswith(":"):
                places.setdefault(token.text, []).append(token.span)
        return places

    @property
    def typed(self) -> str:
        """The text as the user typed it."""
        return self.text

    def place(self, span: Span) -> Span:
        """The stretch in the statement's text."""
        return span.shifted(self.origin)

    def span_of(self, node: exp.Expr) -> Span | None:
        """From the first to the last place that sqlglot remembers within the node (parentheses at its ends are not
        counted).
        """
        places = [child.meta for child in walk(node) if child._meta and "start" in child.meta]
        if not places:
            return None
        return Span(
            min(token_place["start"] for token_place in places), max(token_place["end"] for token_place in places) + 1
        )

    def exactly(self, node: exp.Expr) -> Span | None:
        """The stretch that is read as the constant ``node``, as ``current_date() - 7``; ``None`` if there is none."""
        span_of_node = self.span_of(node)
        if span_of_node is None:
            parameters = self._parameters.get(f":{node.name}", ()) if isinstance(node, exp.Placeholder) else ()
            return parameters[0] if len(parameters) == 1 else None
        first = self.index_at(span_of_node.start)
        last = bisect.bisect_left(self._ends, span_of_node.end)
        for wider in range(2 * _WIDEST):
            for left in range(max(0, wider - _WIDEST), min(wider, _WIDEST, first) + 1):
                right = last + wider - left
                if right < len(self.tokens) and self._balanced(first - left, right):
                    span = Span(self.tokens[first - left].start, self.tokens[right].end)
                    if reads_as(self.text[span.start : span.end], node):
                        return span
        return None

    def comparison(self, node: exp.Expr) -> Span | None:
        """The stretch of a comparison of a column with a constant, of BETWEEN, or of a call; ``None`` for others.

        >>> text = QueryText("SELECT 1 FROM t WHERE a >= '2024' AND b = 1")
        >>> span = text.comparison(text.tree.args["where"].this.this)
        >>> text.text[span.start : span.end]
        "a >= '2024'"
        """
        if isinstance(node, exp.Anonymous):
            return self.call(node)[0]
        if not isinstance(node, exp.GTE | exp.GT | exp.LTE | exp.LT | exp.EQ | exp.Between):
            return None
        column = self.span_of(node.this) if isinstance(node.this, exp.Column) else None
        last = node.args["high"] if isinstance(node, exp.Between) else node.expression
        constant = None if column is None else self._literal(last) or self.exactly(last)
        if column is None or constant is None:
            return None
        span = Span(column.start, self.with_parentheses(constant).end)
        following = self.tokens[bisect.bisect_left(self._starts, span.end) :][:1]
        is_whole = all(token.kind is TokenKind.WORD or token.is_operator(")") for token in following)
        return span if is_whole else None

    def _literal(self, node: exp.Expr) -> Span | None:
        """The stretch of a literal without parts."""
        span = self.span_of(node) if isinstance(node, exp.Literal) else None
        return span if span is not None and [token.span for token in self.within(span)] == [span] else None

    def within(self, span: Span) -> tuple[Token, ...]:
        """The tokens that begin in a stretch."""
        return self.tokens[bisect.bisect_left(self._starts, span.start) : bisect.bisect_left(self._starts, span.end)]

    def with_parentheses(self, name: Span) -> Span:
        """A function's name, and the empty parentheses behind it where there are any."""
        at = bisect.bisect_left(self._ends, name.end)
        parentheses = self.tokens[at + 1 : at + 3]
        called = len(parentheses) == 2 and parentheses[0].is_operator("(") and parentheses[1].is_operator(")")
        return Span(name.start, parentheses[1].end) if called else name

    def _balanced(self, first: int, last: int) -> bool:
        """Tests whether the parentheses in a range of tokens are balanced."""
        depths = [0]
        for token in self.tokens[first : last + 1]:
            depths.append(depths[-1] + token.is_operator("(") - token.is_operator(")"))
        return min(depths) == depths[-1] == 0

    def index_at(self, offset: int) -> int:
        """The index of the token that begins at ``offset``."""
        index = bisect.bisect_left(self._starts, offset)
        if index == len(self.tokens) or self.tokens[index].start != offset:
            raise InternalError(f"no token begins at {offset}")
        return index

    def call(self, node: exp.Expr) -> tuple[Span, Span]:
        """The stretch of a function call from its name to its closing parenthesis, and the stretch inside the
        parentheses.
        """
        if node._meta and "start" in node.meta:
            start = node.meta["start"]
        else:
            argument = self.span_of(node)
            around = None if argument is None else self.enclosing_call(argument)
            if around is None:
                raise InternalError(f"sqlglot kept no position of {node.key}")
            start = around.start
        first = self.index_at(start)
        if first + 1 >= len(self.tokens) or not self.tokens[first + 1].is_operator("("):
            raise InternalError(f"{node.key} is not a call")
        last = self.closing(first + 1)
        return (
            Span(self.tokens[first].start, self.tokens[last].end),
            Span(self.tokens[first + 1].end, self.tokens[last].start),
        )

    def enclosing_call(self, span: Span) -> Span | None:
        """The innermost call ``name(…)`` around a stretch, or ``None``."""
        depth = 0
        for i in range(self.index_at(span.start) - 1, 0, -1):
            if self.tokens[i].is_operator(")", "]"):
                depth += 1
            elif self.tokens[i].is_operator("(", "["):
                depth -= 1
                if depth < 0:
                    return Span(self.tokens[i - 1].start, self.tokens[self.closing(i)].end)
        return None

    def closing(self, index: int) -> int:
        """The index of the parenthesis that closes the one at ``index``."""
        depth = 0
        for i in range(index, len(self.tokens)):
            if self.tokens[i].is_operator("("):
                depth += 1
            elif self.tokens[i].is_operator(")"):
                depth -= 1
                if depth == 0:
                    return i
        raise InternalError("unbalanced parentheses")

    def comma(self, index: int) -> int:
        """The index of the first comma from ``index`` on outside parentheses, or of the token that closes the list."""
        depth = 0
        for i in range(index, len(self.tokens)):
            if self.tokens[i].is_operator("(", "["):
                depth += 1
            elif self.tokens[i].is_operator(")", "]"):
                depth -= 1
            if depth < 0 or (depth == 0 and self.tokens[i].is_operator(",")):
                return i
        raise InternalError("unbalanced parentheses")

    @cached_property
    def items(self) -> ListItems:
        """The items of the select lists."""
        return ListItems(self.tokens)

    def select_item(self, offset: int) -> Span:
        """The whole item of the select list in which the token at ``offset`` stands, however deep."""
        return self.items.item(self.index_at(offset))

    def select_list(self, select: exp.Select) -> int:
        """Returns the start of the select list of a SELECT, behind hints and DISTINCT."""
        stack: list[exp.Expr] = list(select.expressions)
        while stack:
            node = stack.pop()
            if node._meta and "start" in node.meta:
                return self.tokens[self.items.start(self.index_at(node.meta["start"]))].start
            stack += [child for child in children(node) if not isinstance(child, exp.Query)]
        from_ = select.args.get("from_")
        if from_ is not None and isinstance(from_.this, exp.Table):
            # NULL, TRUE and the like have no place: the list ends where FROM begins.
            return self.tokens[self.items.start(self.index_at(from_.this.this.meta["start"]))].start
        raise NotSupportedError("This select list cannot be extended: it has no name or value with a position.")

    def apply(self, edits: Sequence[Edit]) -> SqlTemplate:
        """The text with all edits made. Edits must not overlap; insertions at one place keep their order.

        An edit inside a stretch that another one replaces is made where that one copies the stretch (``Copied``).
        """
        ordered = sorted(edits, key=lambda e: (e.span.start, e.span.start < e.span.end, -e.span.end))
        return SqlTemplate(tuple(_joined(self._edited(Span(0, len(self.text)), ordered))))

    def replacements(self, edits: Sequence[Edit]) -> tuple[Replacement, ...]:
        """Returns what ``apply`` replaces, in order: each outer edit with the edits inside it."""
        ordered = sorted(edits, key=lambda e: (e.span.start, e.span.start < e.span.end, -e.span.end))
        outer: list[list[Edit]] = []
        for edit in ordered:
            if outer and edit.span.start < outer[-1][0].span.end:
                outer[-1].append(edit)
            else:
                outer.append([edit])
        return tuple(
            Replacement(group[0].span, SqlTemplate(tuple(_joined(self._edited(group[0].span, group)))))
            for group in outer
        )

    def edited(self, within: Span, edits: Sequence[Edit]) -> str:
        """A stretch of the text with edits inside it made, which put no tables in."""
        return "".join(part for part in self._edited(within, edits) if isinstance(part, str))

    def _edited(self, within: Span, edits: Sequence[Edit]) -> list[str | TableToken]:
        """A stretch of the text with the edits inside it made; they come in order, outer ones first."""
        parts: list[str | TableToken] = []
        position, index = within.start, 0
        while index < len(edits):
            edit, index = edits[index], index + 1
            inner: list[Edit] = []
            while index < len(edits) and edits[index].span.start < edit.span.end:
                inner.append(edits[index])
                index += 1
            if edit.span.start < position or any(e.span.end > edit.span.end or e.span == edit.span for e in inner):
                raise InternalError(f"two edits overlap at {edit.span.start}: {edit.what}")
            parts.append(self.text[position : edit.span.start])
            made: list[str | TableToken] = []
            for part in edit.parts:
                if isinstance(part, Copied):
                    copied = part.span
                    inside = [e for e in inner if copied.start <= e.span.start and e.span.end <= copied.end]
                    made += self._edited(copied, inside)
                elif part:
                    made.append(part)
            parts += self._apart(made, edit.span)
            position = edit.span.end
        parts.append(self.text[position : within.end])
        return parts

    def _apart(self, made: list[str | TableToken], span: Span) -> list[str | TableToken]:
        """Returns the replacement of a span, with blanks where it would join with an adjacent word:
        ``FROM`hours`JOIN``.
        """
        if not made:
            return []
        first, last = made[0], made[-1]
        before = self.text[span.start - 1 : span.start]
        after = self.text[span.end : span.end + 1]
        left = " " if in_word(before) and (not isinstance(first, str) or in_word(first[:1])) else ""
        right = " " if in_word(after) and (not isinstance(last, str) or in_word(last[-1:])) else ""
        return [left, *made, right]

    def _unreadable(self, error: SqlglotError) -> ParseError:
        details = getattr(error, "errors", None) or [{}]
        line, column = details[0].get("line"), details[0].get("col")
        position = self.place(Span(0, len(self.text)))
        if isinstance(line, int) and isinstance(column, int):
            lines = self.text.split("\n")
            end = sum(len(text) + 1 for text in lines[: line - 1]) + column
            word = str(details[0].get("highlight") or " ")
            start = max(0, min(end, len(self.text)) - len(word))
            position = self.place(Span(start, start + len(word)))
        return ParseError(f"This query cannot be parsed: {parser_words(error)}.", position=position)


def parser_words(error: SqlglotError) -> str:
    """Returns sqlglot's message about a text, without the names of its classes."""
    details = (getattr(error, "errors", None) or [{}])[0]
    words = str(details.get("description") or error).strip().rstrip(".")
    clause = re.fullmatch(r"Required keyword: .*<class '[\w.]*?(\w+)'>", words)
    return f"{clause[1].upper()} is not complete" if clause else words


def _joined(parts: Sequence[str | TableToken]) -> list[str | TableToken]:
    """Joins neighboring strings and drops empty ones."""
    out: list[str | TableToken] = []
    for is_text, neighbors in groupby(parts, lambda part: isinstance(part, str)):
        if is_text:
            joined = "".join(map(str, neighbors))
            out += [joined] if joined else []
        else:
            out += neighbors
    return out


def reads_as(text: str, node: exp.Expr) -> bool:
    """Tests whether a text is read as an expression that equals ``node``."""
    try:
        tree = QueryText(f"SELECT {text}").tree
    except ParseError:
        return False
    return (
        isinstance(tree, exp.Select)
        and tree.expressions == [node]
        and not any(value for key, value in tree.args.items() if key not in ("expressions", "kind"))
    )


def has_place(node: object) -> TypeGuard[exp.Identifier]:
    """Tests whether a name's place in the text is known."""
    return isinstance(node, exp.Identifier) and bool(node._meta) and "start" in node.meta


def in_word(character: str) -> bool:
    """Tests whether a character beside a name would be read as a part of it."""
    return character in ("_", "`") or character.isalnum()


def _with_shifts(theirs: Iterable[Any]) -> Iterator[Any]:
    """Yields the tokens with ``>>>`` as the shift ``>>``, which sqlglot knows. To the planner both are alike. The
    brackets at the end of a type, ``ARRAY<ARRAY<ARRAY<INT>>>``, stay.
    """
    open_types, before = 0, [None, None]
    for token in theirs:
        if token.token_type is TokenType.LT and before[-1] is not None and before[-1].text.upper() in _NESTED_TYPES:
            open_types += 1
        elif token.token_type is TokenType.GT and open_types:
            open_types -= 1
        elif token.token_type is TokenType.GT and all(
            other is not None and other.token_type is TokenType.GT and other.end == token.start - distance
            for distance, other in zip((2, 1), before, strict=True)
        ):
            continue
        yield token
        before = [before[1], token]


_NESTED_TYPES = ("ARRAY", "MAP", "STRUCT")


def _read_synonym(parsed: list[Any]) -> None:
    """Makes the last token, which is before a parenthesis, the name by which sqlglot knows an aggregate. It stays where
    it is in the text.
    """
    token, before = parsed[-1], parsed[-2].token_type if len(parsed) > 1 else None
    name = _SYNONYMS.get(token.text.upper()) if token.token_type in _NAMES else None
    if name is not None and before not in _NOT_BEFORE_CALLS:
        token.text, token.token_type = name, TokenType.VAR


#: ``LIKE ANY (…)`` is no call, and ``db.mean(…)`` another function.
_NOT_BEFORE_CALLS = (TokenType.DOT, TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE)
_NAMES = (TokenType.VAR, TokenType.ANY, TokenType.SOME)
#: Spark's other names of aggregates, which sqlglot does not know.
_SYNONYMS = {"MEAN": "avg", "EVERY": "bool_and", "ANY": "bool_or", "SOME": "bool_or", "PERCENTILE": PERCENTILE}


# The select lists of a text: where each begins, and where an item ends. Each token is visited a few times at most,
# however many items are asked for.

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
            if token.kind is TokenKind.OPERATOR:
                if token.text in ("(", "["):
                    around.append(index_behind)
                elif token.text in (")", "]"):
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


# Edits of the user's text, and the parts that an edit puts there.


@dataclass(frozen=True)
class Copied:
    """In an edit's parts: a stretch of the text, with the edits inside it made."""

    span: Span


Part = str | TableToken | Copied


@dataclass(frozen=True)
class Edit:
    """Replaces a span of the text (an empty span inserts). ``what`` is a short description of the edit."""

    span: Span
    parts: tuple[Part, ...]
    what: str = ""
