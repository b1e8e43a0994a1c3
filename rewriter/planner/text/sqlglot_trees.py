"""Traversals of sqlglot's trees that return lists: sqlglot's own generators took most of the planning time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import sqlglot
from sqlglot import Token as SqlglotToken
from sqlglot import TokenType, exp

from rewriter.grammar.lexer import Token, TokenKind
from rewriter.planner.text.literal_lists import list_parser

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect

_Node = TypeVar("_Node", bound=exp.Expr)


def children(node: exp.Expr) -> list[exp.Expr]:
    """Returns the nodes directly below a node, in order (``iter_expressions``)."""
    nodes: list[exp.Expr] = []
    for value in node.args.values():
        if isinstance(value, exp.Expr):
            nodes.append(value)
        elif isinstance(value, list):
            nodes += [element for element in value if isinstance(element, exp.Expr)]
    return nodes


def walk(root: exp.Expr) -> list[exp.Expr]:
    """Returns a node and all below it, breadth first (``walk``)."""
    nodes = [root]
    for node in nodes:  # which grows meanwhile
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [element for element in value if isinstance(element, exp.Expr)]
    return nodes


def find_all(root: exp.Expr, kind: type[_Node]) -> list[_Node]:
    """Returns the nodes of that kind among a node and all below it, breadth first (``find_all``)."""
    return [node for node in walk(root) if isinstance(node, kind)]


def settle(tree: exp.Expr) -> list[exp.Expr]:
    """Settles the joins, the long chains and some aggregates of a tree. Returns all its nodes, breadth first."""
    nodes = walk(tree)
    has_changed = _settle_joins(nodes)
    has_changed |= _settle_chains(nodes)
    has_changed |= _settle_aggregates(nodes)
    return walk(tree) if has_changed else nodes


def _settle_joins(nodes: Iterable[exp.Expr]) -> bool:
    """Attaches the joins of ``FROM a JOIN b … SELECT …`` to the SELECT, like the joins of ``SELECT … FROM a JOIN b``.

    sqlglot leaves them on the first relation, where a query that begins with SELECT has none. Joins in parentheses that
    come first, ``FROM (a JOIN b …) JOIN c``, are joins without parentheses. Returns whether there were any.
    """
    has_changed = False
    for select in nodes:
        if not isinstance(select, exp.Select):
            continue
        from_ = select.args.get("from_")
        first = from_.this if isinstance(from_, exp.From) else None
        while isinstance(from_, exp.From) and (inner := _in_parentheses(first)) is not None:
            assert first is not None
            select.set("joins", [*(first.args.get("joins") or ()), *(select.args.get("joins") or ())])
            from_.set("this", inner)
            first, has_changed = inner, True
        joins = first.args.get("joins") if isinstance(first, exp.Expr) else None
        if first is not None and joins:
            first.set("joins", None)
            select.set("joins", [*joins, *(select.args.get("joins") or ())])
            has_changed = True
    return has_changed


def _settle_aggregates(nodes: Iterable[exp.Expr]) -> bool:
    """Makes THETA_UNION_AGG, THETA_SKETCH_AGG and PERCENTILE with frequencies, which sqlglot does not know, aggregates:
    an ``AnonymousAggFunc``. Returns whether there was any.
    """
    has_changed = False
    for node in nodes:
        if not isinstance(node, exp.Anonymous) or isinstance(node.parent, exp.Dot) or node.parent is None:
            continue
        if node.name.lower() in ("theta_union_agg", "theta_sketch_agg"):
            settled: exp.Expr = exp.AnonymousAggFunc(this=node.this, expressions=node.expressions)
        elif node.name != PERCENTILE:
            continue
        elif len(node.expressions) == 2:
            settled = exp.Quantile(this=node.expressions[0], quantile=node.expressions[1])
        else:
            settled = exp.AnonymousAggFunc(this="percentile", expressions=node.expressions)
        settled._meta = node._meta
        node.replace(settled)
        has_changed = True
    return has_changed


#: Stands for PERCENTILE, of which sqlglot would drop the third argument.
PERCENTILE = "rw_percentile"


def _in_parentheses(relation: exp.Expr | None) -> exp.Expr | None:
    """Returns the relation, perhaps with joins, of which ``relation`` adds no more than parentheses; else ``None``."""
    if not isinstance(relation, exp.Subquery) or not isinstance(relation.this, exp.Table | exp.Subquery):
        return None
    return (
        None if any(value and key not in ("this", "joins") for key, value in relation.args.items()) else relation.this
    )


#: How deep parentheses may nest: sqlglot needs several of Python's thousand frames for each, and takes long to run out
#: of them where there are many more.
_DEEPEST = 1000


def nests_too_deeply(tokens: Iterable[Token]) -> bool:
    """Tests whether the tokens of a text nest deeper than sqlglot can read."""
    depth = 0
    for token in tokens:
        if token.text == "(" or token.text == "[":
            depth += 1
            if depth > _DEEPEST:
                return True
        elif token.text == ")" or token.text == "]":
            depth -= 1
    return False


#: From how many operands on a chain of ANDs or ORs is a balanced tree.
_LONG_CHAIN = 64


def _settle_chains(nodes: Iterable[exp.Expr]) -> bool:
    """Balances the trees of long chains of AND and of OR, as Spark's parser does.

    sqlglot builds a tree as deep as such a chain is long. Code that visits the ancestors of each operand, or recurses
    into the operands, would take time quadratic in the chain's length. Returns whether there were any.
    """
    has_changed = False
    for node in nodes:
        kind = type(node)
        if isinstance(node, exp.And | exp.Or) and type(node.parent) is not kind:
            operands = _operands(node, kind)
            if len(operands) >= _LONG_CHAIN:
                middle = (len(operands) - 1) // 2
                node.set("this", _balanced(kind, operands[: middle + 1]))
                node.set("expression", _balanced(kind, operands[middle + 1 :]))
                has_changed = True
    return has_changed


def _operands(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """Returns the operands of a chain of one operator, in order; an expression in parentheses is one operand."""
    operands: list[exp.Expr] = []
    stack = [node]
    while stack:
        operand = stack.pop()
        if type(operand) is kind:
            stack += (operand.args["expression"], operand.args["this"])
        else:
            operands.append(operand)
    return operands


def _balanced(kind: type[exp.Expr], operands: list[exp.Expr]) -> exp.Expr:
    if len(operands) == 1:
        return operands[0]
    middle = (len(operands) - 1) // 2
    return kind(this=_balanced(kind, operands[: middle + 1]), expression=_balanced(kind, operands[middle + 1 :]))


#: The types that sqlglot's names for Spark's TIMESTAMP build.
TIMESTAMPS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)


def is_of_type(data_type: exp.Expr, *types: exp.DType) -> bool:
    """Tests whether a data type, as of a cast, is one of ``types``, with any parameters (``DataType.is_type``, which
    parses the names of types for each call).
    """
    return isinstance(data_type, exp.DataType) and data_type.this in types


def one_of(*kinds: type[exp.Expr]) -> Callable[[type[exp.Expr]], bool]:
    """Returns a test whether a class is one of these or derived from one. Results are cached for each class."""
    return cache(lambda kind: issubclass(kind, kinds))  # type: ignore[return-value]  # a class has a hash


def cast_type(cast: exp.Cast) -> str:
    """Returns the type of a cast as the catalog spells it: ``decimal(10,2)``."""
    return cast.to.sql(dialect="spark").lower().replace(" ", "")


# sqlglot's tokens of a text. Long lists of literals are converted from our own tokens.
#
# sqlglot's tokenizer takes a third of the time that it needs to parse ``IN (1, 2, …)``. A literal that both lexers
# read alike (digits alone, or a quoted text without escapes and quotes in it) is converted in half of the time.

#: The least number of tokens of a list that is converted.
_LONG_LIST = 64
_PUNCTUATION = {",": TokenType.COMMA, "(": TokenType.L_PAREN, ")": TokenType.R_PAREN}


def sqlglot_tokens(dialect: Dialect, text: str, tokens: Sequence[Token]) -> list[Any]:
    """Returns what ``dialect.tokenize(text)`` returns. ``tokens`` are our lexer's of a text of the same length that
    differs from it at most inside strings with escapes. Raises sqlglot's ``TokenError``.
    """
    # sqlglot counts a carriage return as the end of a line in some places and not in others.
    convertible = len(tokens) >= _LONG_LIST and "\r" not in text
    lists = list(_literal_lists(tokens, text)) if convertible else []
    if not lists:
        return dialect.tokenize(text)
    blanked: list[str] = []
    position = 0
    for first, last in lists:
        blanked += (text[position : tokens[first].start], _blanks(text[tokens[first].start : tokens[last].start]))
        position = tokens[last].start
    outside = dialect.tokenize("".join([*blanked, text[position:]]))
    starts = [token.start for token in outside]
    converted: list[Any] = []
    position = 0
    for first, last in lists:
        before = bisect_left(starts, tokens[first].start)
        converted += outside[position:before]
        converted += _converted(tokens[first:last], text)
        position = before
    return converted + outside[position:]


def _literal_lists(tokens: Sequence[Token], text: str) -> Iterator[tuple[int, int]]:
    """Yields the index of the first token of each long list to convert, and the index behind its last token.

    A list is ``(``, plain literals, commas and parentheses. Its last ``)`` is left to sqlglot.
    """
    first, last, end = -1, 0, 0
    follows_literal = False
    for index, token in enumerate(tokens):
        kind, typed, start, token_end = token
        if first < 0:
            if typed == "(":
                first, last, follows_literal = index, index, False
            end = token_end
            continue
        listed = start == end or text[end:start] == " " or not text[end:start].strip(" \n")
        end = token_end
        if listed and kind is TokenKind.OPERATOR and typed in _PUNCTUATION:
            follows_literal = False
            if typed == ")":
                last = index
        elif listed and not follows_literal and _is_plain(token):
            follows_literal = True
        else:
            if last - first >= _LONG_LIST:
                yield first, last
            first = -1
    if first >= 0 and last - first >= _LONG_LIST:
        yield first, last


def _is_plain(token: Token) -> bool:
    """Tests whether both lexers read a literal alike and give it the same text."""
    text = token.text
    if token.kind is TokenKind.NUMBER:
        return text.isascii() and text.isdigit()
    if token.kind is TokenKind.STRING:
        return (
            text[0] in "'\""
            and text[0] not in text[1:-1]
            and "\\" not in text
            and "\n" not in text
            and "\r" not in text
        )
    return False


def _blanks(text: str) -> str:
    """Returns blanks of the length of a text, with its line ends: sqlglot counts lines."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _converted(tokens: Sequence[Token], text: str) -> list[Any]:
    """Returns sqlglot's tokens for ours, which are plain literals and punctuation."""
    converted: list[Any] = []
    append = converted.append
    line = text.count("\n", 0, tokens[0].start) + 1
    line_start = text.rfind("\n", 0, tokens[0].start) + 1
    position = tokens[0].start
    for kind, typed, start, end in tokens:
        if start - position > 1 or text[position:start] == "\n":
            line += text.count("\n", position, start)
            line_start = max(line_start, text.rfind("\n", position, start) + 1)
        position = end
        if kind is TokenKind.OPERATOR:
            append(SqlglotToken(_PUNCTUATION[typed], typed, line, end - line_start, start, end - 1))
        elif kind is TokenKind.STRING:
            append(SqlglotToken(TokenType.STRING, typed[1:-1], line, end - line_start, start, end - 1))
        else:
            append(SqlglotToken(TokenType.NUMBER, typed, line, end - line_start, start, end - 1))
    return converted


# Parses a text with sqlglot so that every call keeps its name and its arguments as typed.
#
# sqlglot normalizes known calls: it merges names (``nvl`` and ``coalesce``), swaps arguments and translates formats.
# Here each call arrives as an ``Anonymous``, so sqlglot recognizes none of them.

#: Goes before the name of each call; names cannot contain a blank, so sqlglot has no such function.
CALL = "call "
#: Replaces text that sqlglot could misread. It is never taken for a value.
_MASK = "!"
#: Words that are types with parameters behind AS, and functions elsewhere.
_SIZED_TYPES = frozenset(("CHAR", "DECIMAL", "BINARY"))
#: The tokens before the type of a cast.
_BEFORE_TYPE = (TokenType.ALIAS, TokenType.DCOLON)
#: Calls with a grammar of their own, which sqlglot reads right, and the word before the parenthesis of UNPIVOT.
_OWN_GRAMMAR = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "GROUP", "NULLS")
#: The words before a parenthesis that sqlglot has tokens of their own for and Spark has functions of.
_FUNCTION_WORDS = frozenset(
    "LEFT RIGHT REPLACE IF DATE TIMESTAMP YEAR BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE STRING ANY SOME "
    "FORMAT ISNULL FIRST SEQUENCE RANGE MAP STRUCT".split()
)
_COMPARING = (TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.LIKE,
              TokenType.ILIKE, TokenType.RLIKE)  # fmt: skip


#: The node of a plus before a value, which sqlglot would drop. It is read as the root ``|/ x``, which Spark lacks.
PLUS = exp.Sqrt
PLUS_TOKEN = TokenType.PIPE_SLASH


#: The kinds of the tokens that sqlglot makes of a word and BY.
_BY = {
    "GROUP": TokenType.GROUP_BY, "ORDER": TokenType.ORDER_BY, "PARTITION": TokenType.PARTITION_BY,
    "SORT": TokenType.SORT_BY, "CLUSTER": TokenType.CLUSTER_BY, "DISTRIBUTE": TokenType.DISTRIBUTE_BY,
}  # fmt: skip


def joins_by(before: Any, token: Any) -> bool:
    """Makes one token of two where the second is BY: GROUP BY is one to sqlglot, unless a comment stands between.
    Returns whether it did.
    """
    if token.text.upper() != "BY" or before.token_type not in (TokenType.VAR, TokenType.PARTITION):
        return False
    joined = _BY.get(before.text.upper())
    before.token_type = joined or before.token_type
    return joined is not None


def read_with_calls(
    text: str, lexed: Sequence[Token], replaced: Mapping[int, TokenType] | None = None
) -> list[exp.Expr | None]:
    """Returns the statements of a text. ``lexed`` are its tokens, and ``replaced`` the kinds as which sqlglot reads the
    tokens at some positions: ``PLUS_TOKEN``, or a comma. Raises sqlglot's errors, and RecursionError.
    """
    masked = _masked(text, lexed)
    dialect = sqlglot.Dialect.get_or_raise("spark")
    tokens: list[Any] = []
    for token in sqlglot_tokens(dialect, masked, lexed):
        if not tokens or not joins_by(tokens[-1], token):
            tokens.append(token)
    if replaced:
        for token in tokens:
            token.token_type = replaced.get(token.start, token.token_type)
    has_nested_types = names_nested_type(lexed)
    for index, following in enumerate(tokens[1:]):
        if following.token_type is not TokenType.L_PAREN:
            continue
        token = tokens[index]
        word = token.text.upper()
        is_call = token.token_type is TokenType.VAR and word not in _OWN_GRAMMAR
        # ``= ANY (…)`` and ``LIKE ANY (…)`` are no calls.
        compared = word in ("ANY", "SOME") and index > 0 and tokens[index - 1].token_type in _COMPARING
        is_type = index > 0 and tokens[index - 1].token_type in _BEFORE_TYPE
        is_function = word in _FUNCTION_WORDS or (word in _SIZED_TYPES and not is_type and not has_nested_types)
        # TABLESAMPLE (…) REPEATABLE (seed)
        is_seed = word == "REPEATABLE" and index > 0 and tokens[index - 1].token_type is TokenType.R_PAREN
        if (is_call and not is_seed) or (is_function and not compared):
            token.text = CALL + token.text
    return list_parser(dialect).parse(tokens, masked)


def names_nested_type(lexed: Sequence[Token]) -> bool:
    """Tests whether a text names a type of other types: ``array<char(3)>``."""
    return any(
        second.kind is TokenKind.OPERATOR and second.text in ("<", "<>") and first.is_word("ARRAY", "MAP", "STRUCT")
        for first, second in pairwise(lexed)
    )


def called(node: exp.Expr) -> str | None:
    """Returns the name of the function that a node calls, in lower case; ``None`` if it is not a call."""
    name = str(node.this) if isinstance(node, exp.Anonymous) else ""
    return name.removeprefix(CALL).lower() if name.startswith(CALL) else None


def _masked(text: str, lexed: Iterable[Token]) -> str:
    """The text with strings that sqlglot could misread replaced by plain ones of the same length."""
    parts: list[str] = []
    position = 0
    for token in lexed:
        if token.kind is not TokenKind.STRING:
            continue
        body = token.text[1:-1]
        if token.text[0] in "rR" or "\\" in body or token.text[0] in body:
            parts += [text[position : token.start], "'", _MASK * (len(token.text) - 2), "'"]
            position = token.end
    return "".join([*parts, text[position:]])


# The names of columns that are chains of AND or OR.


def chain_name(word: str, names: Sequence[str]) -> str:
    """Returns Spark's name of a chain of at least one operand. Spark reads it as a balanced tree:
    ``a AND b AND c AND d`` is ``((a AND b) AND (c AND d))``.
    """
    if len(names) == 1:
        return names[0]
    middle = (len(names) + 1) // 2
    return f"({chain_name(word, names[:middle])} {word} {chain_name(word, names[middle:])})"
