"""The SELECT blocks of a statement: what each reads, and the columns that it returns, as far as they are certain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from rewriter.convert.expressions import Expression, ExpressionForm, all_parts, closings
from rewriter.grammar.lexer import Token, TokenKind, identifier_value
from rewriter.lazy_dataclass import dataclass

_BEGINNINGS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
_SET_OPERATORS = ("UNION", "INTERSECT", "EXCEPT", "MINUS")
_AFTER_FROM = ("SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "UNION",
               "INTERSECT", "EXCEPT", "MINUS", "WINDOW", "INSERT", "QUALIFY")  # fmt: skip
#: The clauses in which a name stands for an item of the select list before it stands for a column.
_BY_ALIAS = ("ORDER", "SORT", "DISTRIBUTE", "CLUSTER", "HAVING", "GROUP")
#: Words behind a relation that are no alias of it.
_NO_ALIAS = (*_AFTER_FROM, "ON", "USING", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "LATERAL", "NATURAL",
             "SEMI", "ANTI", "OUTER", "TABLESAMPLE", "PIVOT", "UNPIVOT")  # fmt: skip


@dataclass(frozen=True)
class ListedItem:
    """An item of a select list: its name in lower case (``None`` if it is not certain) and its expression.

    A star is an item without both. ``is_several`` says that the number of its columns is not certain: ``t.*``.
    """

    name: str | None
    expression: Expression | None
    is_star: bool = False
    is_several: bool = False


@dataclass(frozen=True)
class BlockRelation:
    """What a block reads: a table by its ``name``, or the block of a subquery or a common table expression.

    ``generated`` are the columns of a LATERAL VIEW, and ``generator`` its call. ``is_renamed`` says that its columns
    have other names: ``t(a, b)``.
    """

    name: str | None = None
    block: QueryBlock | None = None
    is_renamed: bool = False
    generated: tuple[str, ...] = ()
    generator: Expression | None = None


class QueryBlock:
    """The SELECT, or the set operation, at the tokens from ``start`` up to ``end``, without those in parentheses.

    A set operation reads no relations itself: its ``branches`` do.
    """

    def __init__(self, blocks: QueryBlocks, start: int, end: int, outer: QueryBlock | None) -> None:
        self._blocks, self.start, self.end, self.outer = blocks, start, end, outer

    @cached_property
    def _places(self) -> list[int]:
        """The indexes of the tokens outside of parentheses, with those that open parentheses."""
        places, index = [], self.start
        while index < self.end:
            places.append(index)
            index = self._blocks.closing.get(index, index) + 1
        return places

    @cached_property
    def set_operators(self) -> tuple[int, ...]:
        """The indexes of UNION, INTERSECT, EXCEPT and MINUS between the branches of the block."""
        tokens = self._blocks.tokens
        return tuple(
            index
            for index in self._places
            if tokens[index].is_word(*_SET_OPERATORS)
            and self.start < index < self.end - 1
            and not tokens[index - 1].is_operator("*", ".")
            and (tokens[index + 1].is_word(*_BEGINNINGS, "ALL", "DISTINCT") or tokens[index + 1].is_operator("("))
        )

    @cached_property
    def branches(self) -> tuple[QueryBlock, ...]:
        """The operands of the set operators of the block; none if it is one SELECT."""
        if not self.set_operators:
            return ()
        tokens = self._blocks.tokens
        starts = [index + 1 + tokens[index + 1].is_word("ALL", "DISTINCT") for index in self.set_operators]
        bounds = zip((self.start, *starts), (*self.set_operators, self.end), strict=True)
        return tuple(QueryBlock(self._blocks, start, end, self) for start, end in bounds)

    @cached_property
    def nested(self) -> QueryBlock | None:
        """The block in the parentheses that are all of this one, but for what sorts and limits its rows."""
        return self._blocks.at(self.start) if self._blocks.tokens[self.start].is_operator("(") else None

    def has_word(self, *words: str) -> bool:
        """Tests whether a word stands in the block outside of parentheses."""
        return any(self._blocks.tokens[index].is_word(*words) for index in self._places)

    @cached_property
    def joined_names(self) -> tuple[str, ...]:
        """The columns in the USING of the block's joins, in lower case."""
        tokens, names = self._blocks.tokens, []
        for index in self._places:
            close = self._blocks.closing.get(index + 1)
            if tokens[index].is_word("USING") and close is not None and self.has_word("JOIN"):
                listed = tokens[index + 2 : close]
                names += [identifier_value(token).lower() for token in listed if token.kind is not TokenKind.OPERATOR]
        return tuple(names)

    @cached_property
    def expressions_of(self) -> dict[str, QueryBlock]:
        """The common table expressions of this block by name."""
        tokens, named = self._blocks.tokens, {}
        for index in self._places:
            if tokens[index].is_operator("(") and index - 2 >= self.start and tokens[index - 1].is_word("AS"):
                inner = self._blocks.at(index)
                before = index - 2
                if tokens[before].is_operator(")"):
                    continue
                if inner is not None and tokens[before].kind is not TokenKind.OPERATOR:
                    named[identifier_value(tokens[before]).lower()] = inner
        return named

    def named(self, name: str) -> QueryBlock | None:
        """Returns the common table expression of that name, of this block or of those around it."""
        block: QueryBlock | None = self
        while block is not None:
            inner = block.expressions_of.get(name)
            if inner is not None:
                return inner
            block = block.outer
        return None

    @cached_property
    def relations(self) -> tuple[BlockRelation, ...]:
        """What FROM names, in order."""
        if self.branches:
            return ()
        tokens, relations = self._blocks.tokens, []
        in_from = False
        places = self._places
        for number, index in enumerate(places):
            token = tokens[index]
            if token.is_word("FROM") and not tokens[index - 1].is_word("DISTINCT"):
                in_from = True
            elif token.is_word(*_AFTER_FROM):
                in_from = False
            elif token.is_word("VIEW") and tokens[index - 1].is_word("LATERAL"):
                relations.append(self._generated(places, number))
                continue
            begins = token.is_word("FROM", "JOIN") or (token.is_operator(",") and self._separates(places, number))
            if in_from and begins and number + 1 < len(places):
                relations.append(self._relation(places, number + 1))
        return tuple(relations)

    def _separates(self, places: Sequence[int], number: int) -> bool:
        """Tests whether a comma behind FROM stands between relations, not between the columns of a LATERAL VIEW."""
        for index in reversed(places[:number]):
            token = self._blocks.tokens[index]
            if token.is_word("FROM", "JOIN"):
                return True
            if token.is_word("VIEW", "SELECT", "BY"):
                return False
        return False

    def _relation(self, places: Sequence[int], number: int) -> BlockRelation:
        tokens, index = self._blocks.tokens, places[number]
        if tokens[index].is_operator("("):
            return self._called(BlockRelation(None, self._blocks.at(index)), places, number)
        if tokens[index].is_word("VALUES", "TABLE", "LATERAL") or tokens[index].kind is TokenKind.OPERATOR:
            return BlockRelation()
        names = [identifier_value(tokens[places[number]]).lower()]
        while number + 2 < len(places) and tokens[places[number + 1]].is_operator("."):
            number += 2
            names.append(identifier_value(tokens[places[number]]).lower())
        name = ".".join(names)
        inner = self.named(name)
        if inner is self or (inner is not None and inner.start <= self.start and self.end <= inner.end):
            return BlockRelation()  # A recursive one.
        return self._called(BlockRelation(name, inner), places, number)

    def _called(self, relation: BlockRelation, places: Sequence[int], number: int) -> BlockRelation:
        """Returns a relation with what stands behind it: a call, or an alias with names of columns."""
        tokens = self._blocks.tokens
        behind = [tokens[place] for place in places[number + 1 : number + 4]]
        if behind and behind[0].is_operator("("):
            return BlockRelation()  # A function that returns a table.
        if behind and behind[0].is_word("AS"):
            behind = behind[1:]
        has_alias = bool(behind) and behind[0].kind is not TokenKind.OPERATOR and not behind[0].is_word(*_NO_ALIAS)
        is_renamed = has_alias and len(behind) > 1 and behind[1].is_operator("(")
        return BlockRelation(relation.name, relation.block, is_renamed)

    def _generated(self, places: Sequence[int], number: int) -> BlockRelation:
        tokens, names = self._blocks.tokens, []
        rest = places[number + 1 :]
        at = next((n for n, index in enumerate(rest) if tokens[index].is_word("AS")), None)
        first = next((index for index in rest if not tokens[index].is_word("OUTER")), None)
        generator = None if first is None else self._blocks.beginning.get(first)
        if at is None:
            return BlockRelation()
        for index in rest[at + 1 :]:
            if tokens[index].is_operator(","):
                continue
            if tokens[index].kind is TokenKind.OPERATOR or tokens[index].is_word(*_NO_ALIAS):
                break
            names.append(identifier_value(tokens[index]).lower())
        return BlockRelation(generated=tuple(names), generator=generator)

    @cached_property
    def selects(self) -> tuple[tuple[ListedItem, ...], ...]:
        """The select lists of the block: one, or those of a union."""
        tokens = self._blocks.tokens
        return tuple(
            tuple(self._items(number + 1))
            for number, index in enumerate(self._places)
            if tokens[index].is_word("SELECT")
        )

    def _items(self, number: int) -> Iterator[ListedItem]:
        tokens, places = self._blocks.tokens, self._places
        while number < len(places) and tokens[places[number]].is_word("DISTINCT", "ALL"):
            number += 1
        first = number
        for number in range(first, len(places) + 1):
            index = places[number] if number < len(places) else self.end
            ends = number == len(places) or tokens[index].is_word("FROM", *_AFTER_FROM[1:])
            ends = ends and not (number < len(places) and tokens[index - 1].is_word("DISTINCT", "WITHIN"))
            if ends or tokens[index].is_operator(","):
                if first < number:
                    yield self._item(places[first], index - 1)
                first = number + 1
            if ends:
                return

    def _item(self, first: int, last: int) -> ListedItem:
        tokens, by_place = self._blocks.tokens, self._blocks.by_place
        if tokens[last].is_operator("*"):
            return ListedItem(None, None, is_star=first == last, is_several=first < last)
        whole = by_place.get((first, last))
        if whole is not None:
            return ListedItem(whole.word if whole.form is ExpressionForm.NAME else None, whole)
        if tokens[last].kind not in (TokenKind.WORD, TokenKind.IDENTIFIER):
            return ListedItem(None, None, is_several=tokens[last].is_operator(")"))
        end = last - 2 if tokens[last - 1].is_word("AS") else last - 1
        return ListedItem(identifier_value(tokens[last]).lower(), by_place.get((first, end)))

    @cached_property
    def aliases(self) -> dict[str, Expression | None]:
        """The names that items of the block give to expressions; ``None`` for two items of one name."""
        aliases: dict[str, Expression | None] = {}
        for item in (item for items in self.selects for item in items):
            if item.name is not None and not (item.expression is not None and item.expression.word == item.name
                                              and item.expression.form is ExpressionForm.NAME):  # fmt: skip
                aliases[item.name] = None if item.name in aliases else item.expression
        return aliases

    def is_by_alias(self, index: int) -> bool:
        """Tests whether a token stands in a clause that names items of the select list."""
        tokens = self._blocks.tokens
        for place in reversed([place for place in self._places if place <= index]):
            if tokens[place].is_word(*_BY_ALIAS):
                return True
            if tokens[place].is_word("SELECT", "FROM", "WHERE", "ON"):
                return False
        return False


class QueryBlocks:
    """The blocks of a statement with the tokens ``tokens`` and the expressions ``roots``."""

    def __init__(self, tokens: Sequence[Token], roots: Sequence[Expression]) -> None:
        self.tokens = tokens
        self.closing = closings(tokens)
        self.by_place: dict[tuple[int, int], Expression] = {}
        #: The longest expression that begins at a token.
        self.beginning: dict[int, Expression] = {}
        for part in all_parts(roots):
            self.by_place.setdefault((part.first, part.last), part)
            self.beginning.setdefault(part.first, part)
        self.whole = QueryBlock(self, 0, len(tokens), None)
        self._by_opening: dict[int, QueryBlock] = {}
        #: Each block, and each branch of it, before the blocks in it.
        self.all: list[QueryBlock] = [self.whole, *self.whole.branches]
        for opening in sorted(self.closing):
            inner = opening + 1
            while inner < len(tokens) and tokens[inner].is_operator("("):
                inner += 1
            if tokens[opening].is_operator("(") and inner < len(tokens) and tokens[inner].is_word(*_BEGINNINGS):
                block = QueryBlock(self, opening + 1, self.closing[opening], self.around(opening))
                self._by_opening[opening] = block
                self.all += (block, *block.branches)

    def at(self, opening: int) -> QueryBlock | None:
        """Returns the block in the parentheses that a token opens; that of inner ones if they hold all of it."""
        block = self._by_opening.get(opening)
        while (
            block is not None
            and self.closing.get(block.start) == block.end - 1
            and self.tokens[block.start].text == "("
        ):
            block = self._by_opening.get(block.start)
        return block

    def around(self, index: int) -> QueryBlock:
        """Returns the innermost block around a token."""
        return next(block for block in reversed(self.all) if block.start <= index < block.end)
