"""A query's text, its tokens and its tree, and edits of the text.

The tree (sqlglot) is read, never printed: what the plan changes is a list of edits to the user's own text.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard, TypeVar

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from rewriter.errors import Error, InternalError, NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import Token, TokenKind, tokens
from rewriter.planner.plan import SqlTemplate, TableToken
from rewriter.planner.trees import children, settle_joins, walk

_Node = TypeVar("_Node", bound=exp.Expr)


@dataclass(frozen=True)
class Copied:
    """In an edit's parts: a stretch of the text, with the edits inside it made."""

    span: Span


Part = str | TableToken | Copied
#: By how many tokens a constant may reach beyond those of its parts that have a place.
_WIDEST = 6
_SPARK = Dialect.get_or_raise("spark")


@dataclass(frozen=True)
class Edit:
    """Replaces a stretch of the text (an empty one inserts). ``what`` says in a word what for."""

    span: Span
    parts: tuple[Part, ...]
    what: str = ""


class QueryText:
    """A query as typed. Offsets are characters of ``text``; ``origin`` is where the text stands in its statement."""

    def __init__(self, text: str, origin: int = 0) -> None:
        self.text = text
        self.origin = origin

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The lexer's tokens, without blanks and comments."""
        return tokens(self.text)

    @cached_property
    def tree(self) -> exp.Expr:
        """The tree, from stock sqlglot. Raises ``ParseError`` at the place where it stopped reading."""
        try:
            trees = _SPARK.parser().parse(self._parsed_tokens(), self.text)
        except SqlglotError as error:
            raise self._unreadable(error) from None
        except RecursionError:
            place = self.place(Span(0, len(self.text)))
            raise ParseError(
                "This query nests too deeply to be read.", position=place, hint="Split it with CTEs."
            ) from None
        except Exception as error:  # sqlglot stumbles over some texts with errors of any kind
            place = self.place(Span(0, len(self.text)))
            raise ParseError(
                f"This query cannot be read ({type(error).__name__} in the parser).", position=place
            ) from error
        if len(trees) != 1 or trees[0] is None:
            raise ParseError("One query was expected here.", position=self.place(Span(0, len(self.text))))
        settle_joins(trees[0])
        return trees[0]

    @cached_property
    def nodes(self) -> tuple[exp.Expr, ...]:
        """All nodes of the tree, breadth first: nobody changes it, and it is gone through again and again."""
        return tuple(walk(self.tree))

    def find_all(self, kind: type[_Node]) -> Iterator[_Node]:
        """The nodes of that kind, breadth first."""
        return (node for node in self.nodes if isinstance(node, kind))

    def unread(self) -> Error | None:
        """Why the text was not understood as a query, or ``None`` where it was."""
        for token in self.tokens if "|>" in self.text else ():
            if token.is_operator("|>"):
                return NotSupportedError(
                    "Pipe syntax over a cube is not supported yet.", position=self.place(token.span)
                )
        try:
            tree = self.tree
        except ParseError as error:
            return error
        unbalanced = self._unbalanced()
        if unbalanced is not None:
            return ParseError(
                f"This query cannot be read: nothing belongs to this '{unbalanced.text}'.",
                position=self.place(unbalanced.span),
                hint="Close each parenthesis that is opened, and no other.",
            )
        unlike = self._read_unlike()
        if unlike is not None:
            return ParseError(
                "This text is a comment to one reader and a part of the query to the other.",
                position=self.place(Span(unlike, unlike + 1)),
                hint="Write the comments around it more plainly: /* … */, without a backslash at the end of a line.",
            )
        place = self.place(Span(0, len(self.text)))
        if not isinstance(tree, exp.Query | exp.Values):
            return ParseError("This query cannot be read.", position=place)
        # sqlglot takes TABLE t and STREAM t for a table of that name with an alias.
        for table in self.find_all(exp.Table):
            bare = isinstance(table.this, exp.Identifier) and not table.this.quoted
            if bare and table.alias and table.name.upper() in ("TABLE", "STREAM"):
                return ParseError(f"{table.name.upper()} in FROM cannot be read.", position=place)
        return None

    def _unbalanced(self) -> Token | None:
        """The parenthesis that has no counterpart: sqlglot forgives some, such as that of ``percentile(f( 0.5)``."""
        open_: list[Token] = []
        for token in self.tokens:
            if token.is_operator("("):
                open_.append(token)
            elif token.is_operator(")"):
                if not open_:
                    return token
                open_.pop()
        return open_[-1] if open_ else None

    @cached_property
    def _their_tokens(self) -> list[Any]:
        return _SPARK.tokenize(self.text)

    def _parsed_tokens(self) -> list[Any]:
        """sqlglot's tokens, with two things put right that it reads otherwise than Spark."""
        found: list[Any] = []
        for token in self._their_tokens:
            if found and token.text.upper() == "BY" and found[-1].token_type in (TokenType.VAR, TokenType.PARTITION):
                # GROUP BY is one token to it, unless a comment stands between.
                found[-1].token_type = _BY.get(found[-1].text.upper(), found[-1].token_type)
                if found[-1].token_type in _BY.values():
                    continue
            elif found and found[-1].token_type is TokenType.WINDOW and token.token_type is TokenType.L_PAREN:
                found[-1].token_type = TokenType.VAR  # the function window(t, '1 day'), not the clause
            found.append(token)
        return found

    def _read_unlike(self) -> int | None:
        """The first character that is part of a token to our lexer and of a comment to sqlglot's, or the reverse."""
        ours, theirs = bytearray(len(self.text)), bytearray(len(self.text))
        for token in self.tokens:
            ours[token.start : token.end] = b"\1" * (token.end - token.start)
        for token in self._their_tokens:
            theirs[token.start : token.end + 1] = b"\1" * (token.end + 1 - token.start)
        if ours == theirs:
            return None
        # Blanks inside GROUP BY, which is one token to sqlglot, are nothing to look at one by one.
        unlike = (int.from_bytes(ours) ^ int.from_bytes(theirs)).to_bytes(len(ours))
        return next((hit.start() for hit in re.finditer(b"\1", unlike) if not self.text[hit.start()].isspace()), None)

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

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
        return Span(min(place["start"] for place in places), max(place["end"] for place in places) + 1)

    def exactly(self, node: exp.Expr) -> Span | None:
        """The stretch that is read as the constant ``node``, ``DATE '2015-03-08'`` or ``current_date() - 7``; ``None``
        where none is that holds all of it that has a place.
        """
        known = self.span_of(node)
        if known is None:
            parameters = [token.span for token in self.tokens if token.text == f":{node.name}"]
            return parameters[0] if isinstance(node, exp.Placeholder) and len(parameters) == 1 else None
        first = self.index_at(known.start)
        last = next(i for i, token in enumerate(self.tokens) if token.end >= known.end)
        for wider in range(2 * _WIDEST):
            for left in range(max(0, wider - _WIDEST), min(wider, _WIDEST, first) + 1):
                right = last + wider - left
                if right < len(self.tokens) and self._balanced(first - left, right):
                    span = Span(self.tokens[first - left].start, self.tokens[right].end)
                    if _reads_as(self.text[span.start : span.end], node):
                        return span
        return None

    def within(self, span: Span) -> tuple[Token, ...]:
        """The tokens that begin in a stretch."""
        return self.tokens[bisect.bisect_left(self._starts, span.start) : bisect.bisect_left(self._starts, span.end)]

    def with_parentheses(self, name: Span) -> Span:
        """A function's name, and the empty parentheses behind it where there are any."""
        at = next(index for index, token in enumerate(self.tokens) if token.end == name.end)
        behind = self.tokens[at + 1 : at + 3]
        called = len(behind) == 2 and behind[0].is_operator("(") and behind[1].is_operator(")")
        return Span(name.start, behind[1].end) if called else name

    def _balanced(self, first: int, last: int) -> bool:
        """Whether the parentheses among some tokens close each other."""
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
        """The stretch of a function call from its name to its closing parenthesis, and that of what is in the
        parentheses.
        """
        if not node._meta or "start" not in node.meta:
            raise InternalError(f"sqlglot kept no place of {node.key}")
        first = self.index_at(node.meta["start"])
        if first + 1 >= len(self.tokens) or not self.tokens[first + 1].is_operator("("):
            raise InternalError(f"{node.key} is no call")
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
        """The index of the first comma from ``index`` on that stands in no parentheses, or of what closes the list."""
        depth = 0
        for i in range(index, len(self.tokens)):
            if self.tokens[i].is_operator("(", "["):
                depth += 1
            elif self.tokens[i].is_operator(")", "]"):
                depth -= 1
            if depth < 0 or (depth == 0 and self.tokens[i].is_operator(",")):
                return i
        raise InternalError("unbalanced parentheses")

    def select_item(self, offset: int) -> Span:
        """The whole item of the select list in which the token at ``offset`` stands, however deep."""
        index = self.index_at(offset)
        first = self._list_start(index)
        depth, last = 0, first
        for i in range(first, len(self.tokens)):
            token, before = self.tokens[i], self.tokens[i - 1]
            if token.is_operator("(", "["):
                depth += 1
            elif token.is_operator(")", "]"):
                depth -= 1
            if depth == 0 and i < index and token.is_operator(","):
                first = i + 1
            ends = token.is_operator(",", ";") or (token.is_word(*_AFTER_SELECT_LIST) and not before.is_operator("."))
            # … IS DISTINCT FROM … and … WITHIN GROUP (…) go on.
            goes_on = (token.is_word("FROM") and before.is_word("DISTINCT")) or before.is_word("WITHIN")
            if depth < 0 or (i > index and depth == 0 and ends and not goes_on):
                break
            last = i
        return Span(self.tokens[first].start, self.tokens[last].end)

    def select_list(self, select: exp.Select) -> int:
        """Where the select list of a SELECT begins, behind hints and DISTINCT."""
        stack: list[exp.Expr] = list(select.expressions)
        while stack:
            node = stack.pop()
            if node._meta and "start" in node.meta:
                return self.tokens[self._list_start(self.index_at(node.meta["start"]))].start
            stack += [child for child in children(node) if not isinstance(child, exp.Query)]
        from_ = select.args.get("from_")
        if from_ is not None and isinstance(from_.this, exp.Table):
            # NULL, TRUE and the like have no place: the list ends where FROM begins.
            return self.tokens[self._list_start(self.index_at(from_.this.this.meta["start"]))].start
        raise NotSupportedError("A select list without any name or value with a place cannot be extended.")

    def _list_start(self, index: int) -> int:
        """The index of the first token in the select list around the token at ``index``, behind hints and DISTINCT."""
        first, depth = index, 0
        while first > 0:
            token = self.tokens[first - 1]
            if token.is_operator(")", "]"):
                depth += 1
            elif token.is_operator("(", "["):
                depth = max(0, depth - 1)  # at 0 it is one around the item, or around a part of it
            elif depth == 0 and token.is_word("SELECT"):
                break
            first -= 1
        while self.tokens[first].is_operator("/*+"):
            first = next(i for i in range(first, len(self.tokens)) if self.tokens[i].is_operator("*/")) + 1
        return first + 1 if self.tokens[first].is_word("DISTINCT", "ALL") else first

    def apply(self, edits: Sequence[Edit]) -> SqlTemplate:
        """The text with all edits made. Edits must not overlap; insertions at one place keep their order.

        An edit inside a stretch that another one replaces is made where that one copies the stretch (``Copied``).
        """
        ordered = sorted(edits, key=lambda e: (e.span.start, e.span.start < e.span.end, -e.span.end))
        return SqlTemplate(tuple(_joined(self._edited(Span(0, len(self.text)), ordered))))

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
                    mine = [e for e in inner if copied.start <= e.span.start and e.span.end <= copied.end]
                    made += self._edited(copied, mine)
                elif part:
                    made.append(part)
            parts += self._apart(made, edit.span)
            position = edit.span.end
        parts.append(self.text[position : within.end])
        return parts

    def _apart(self, made: list[str | TableToken], span: Span) -> list[str | TableToken]:
        """What takes the place of a stretch, with blanks where it would grow together with a word beside it:
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
        return ParseError(f"This query cannot be read: {parser_words(error)}.", position=position)


def parser_words(error: SqlglotError) -> str:
    """What sqlglot says of a text, without the names of its classes."""
    details = (getattr(error, "errors", None) or [{}])[0]
    words = str(details.get("description") or error).strip().rstrip(".")
    clause = re.fullmatch(r"Required keyword: .*<class '[\w.]*?(\w+)'>", words)
    return f"{clause[1].upper()} is not complete" if clause else words


def _joined(parts: Sequence[str | TableToken]) -> list[str | TableToken]:
    """Neighbouring strings made one, empty ones left out."""
    out: list[str | TableToken] = []
    for part in parts:
        if isinstance(part, str) and out and isinstance(out[-1], str):
            out[-1] += part
        elif part != "":
            out.append(part)
    return out


def _reads_as(text: str, node: exp.Expr) -> bool:
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
    """Whether a name's place in the text is known."""
    return isinstance(node, exp.Identifier) and bool(node._meta) and "start" in node.meta


def in_word(character: str) -> bool:
    """Whether a character beside a name would be read as a part of it."""
    return character in ("_", "`") or character.isalnum()


def is_name(token: Token) -> bool:
    return token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER)


_BY = {
    "GROUP": TokenType.GROUP_BY, "ORDER": TokenType.ORDER_BY, "PARTITION": TokenType.PARTITION_BY,
    "SORT": TokenType.SORT_BY, "CLUSTER": TokenType.CLUSTER_BY, "DISTRIBUTE": TokenType.DISTRIBUTE_BY,
}  # fmt: skip
_AFTER_SELECT_LIST = (
    "FROM", "WHERE", "GROUP", "HAVING", "QUALIFY", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET",
    "UNION", "INTERSECT", "EXCEPT", "MINUS", "WINDOW", "LATERAL", "PIVOT", "UNPIVOT",
)  # fmt: skip
