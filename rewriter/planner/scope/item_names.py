"""The names that Spark gives to unaliased items of a SELECT list, for items whose name an edit would change.

Spark prints the resolved expression: ``COUNT(*) + 1`` is named ``(count(1) + 1)``. The rules here use the syntax alone;
``tests/contract/test_item_names.py`` compares them with Spark's names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewriter.catalog.model.objects import Column, Cube, Fact, Table
from rewriter.errors import Span
from rewriter.grammar.lexer import Token, TokenKind, string_value, tokens
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.blocks import CatalogReader, meaning
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.joins import relations
from rewriter.planner.scope.projections import descend
from rewriter.planner.text.call_names import call_name, infix_name
from rewriter.planner.text.literals import LARGEST, MIRRORED, rounded_bound
from rewriter.planner.text.query_text import Edit, QueryText
from rewriter.planner.text.sqlglot_trees import CALL, called, chain_name, read_with_calls, walk

_PREFIX = "SELECT "


def item_name(item_text: str, integers: Collection[str] = (), aliases: Collection[str] = ()) -> str:
    """Returns the name of a column whose item is ``typed``; the item as typed where the rules do not cover it.

    ``integers`` are the names, in lower case, of columns of integers, ``aliases`` the names of the relations of its
    block.
    """
    name = _named(item_text, integers, aliases)
    return " ".join(item_text.split()) if name is None else name


def certain_item_name(item_text: str, columns: Collection[str]) -> str | None:
    """Returns the name of a column whose item is ``typed`` and reads ``columns``, in lower case, of any types; ``None``
    where the rules do not cover it, or it may depend on the types.
    """
    names = {_named(item_text, integers, ()) for integers in ((), columns)}
    return names.pop() if len(names) == 1 else None


def _named(item_text: str, integers: Collection[str], aliases: Collection[str]) -> str | None:
    try:
        return _Namer(item_text, integers, aliases).name()
    except (_UnknownError, SqlglotError, RecursionError):
        return None


def item_name_edits(
    text: QueryText,
    select: exp.Select,
    is_changed: Callable[[exp.Expr, Span], bool],
    named: Iterable[int] = (),
    integers: Collection[str] = (),
) -> Iterator[Edit]:
    """Yields the edits that put ``AS name`` behind the unaliased items of a block that other edits change.

    ``is_changed`` receives an item and its span. Items that end at an offset of ``named`` are skipped: they already
    have their name. ``integers`` are the names, in lower case, of columns of integers.
    """
    ends, aliases = set(named), {relation.alias_or_name.lower() for relation in relations(select)}
    for item in select.expressions:
        if isinstance(item, exp.Alias | exp.Star):
            continue
        # Nodes of a subquery are skipped: it has a select list of its own.
        item_node = next(
            (node.meta["start"] for node in (item, *descend(item)) if node._meta and "start" in node.meta), None
        )
        if item_node is None:
            continue
        item_span = text.select_item(item_node)
        if item_span.end not in ends and is_changed(item, item_span):
            name = item_name(text.text[item_span.start : item_span.end], integers, aliases)
            end = Span(item_span.end, item_span.end)
            yield Edit(end, (f" AS {quote_identifier(name)}",), f"the column keeps its name {name}")


class _UnknownError(Exception):
    """An expression has no rule."""


#: Casts that are spelled as calls have the name of their operand.
_CASTS = frozenset("bigint binary boolean date decimal double float int smallint string timestamp tinyint".split())
#: Functions whose names do not follow from their arguments alone.
_UNNAMED_FUNCTIONS = frozenset(
    "explode posexplode inline stack window session_window lag lead array_sort mask div in".split()
)
_RANKS = ("rank", "dense_rank", "percent_rank", "row_number", "ntile")
_INFIX: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div", exp.And: "AND",
    exp.Or: "OR", exp.EQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
}  # fmt: skip
_TYPES = {"TIMESTAMPTZ": "TIMESTAMP", "TIMESTAMPLTZ": "TIMESTAMP", "DECIMAL": "DECIMAL(10,0)", "INTEGER": "INT"}
_PLAIN_TYPES = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE", "TIMESTAMP")
_CANONICAL = {"DATE": re.compile(r"\d{4}-\d\d-\d\d"), "TIMESTAMP": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")}


class _Namer:
    def __init__(self, item_text: str, integers: Collection[str], aliases: Collection[str]) -> None:
        self._integers, self._aliases = integers, aliases
        self._text = _PREFIX + item_text
        self._tokens = tokens(self._text)
        self._strings = {token.start: token for token in self._tokens if token.kind is TokenKind.STRING}
        self._fields = _extracted(self._tokens)
        self._null_tests = _null_tests(self._tokens)

    def name(self) -> str:
        """Raises ``_UnknownError`` where an expression has no rule."""
        # sqlglot drops the sign of ``+x``.
        if any(second.is_operator("+") and _opens(first) for first, second in pairwise(self._tokens)):
            raise _UnknownError
        trees = read_with_calls(self._text, self._tokens)
        select = trees[0] if len(trees) == 1 else None
        if not isinstance(select, exp.Select) or len(select.expressions) != 1:
            raise _UnknownError
        (item,) = select.expressions
        while isinstance(item, exp.Paren):
            item = item.this
        if isinstance(item, exp.Cast) and isinstance(item.this, exp.Column):
            return item.this.name
        return self._of(item)

    def _of(self, node: exp.Expr | None) -> str:
        if node is None:
            raise _UnknownError
        function = called(node)
        if function is not None:
            return self._call(function, node.expressions)
        operator = _INFIX.get(type(node))
        if operator in MIRRORED:
            return self._compared(operator, node)
        if operator is not None:
            return self._infix(operator, node)
        rule = _RULES.get(type(node))
        if rule is None:
            raise _UnknownError
        return rule(self, node)

    def _infix(self, operator: str, node: exp.Expr) -> str:
        # Recursion would need one frame for each operator of a long chain.
        parts = [node]
        while type(parts[-1].this) is type(node):
            parts.append(parts[-1].this)
        if isinstance(node, exp.And | exp.Or):
            operands = [parts[-1].this, *(part.expression for part in reversed(parts))]
            return chain_name(operator, [self._of(operand) for operand in operands])
        name = self._of(parts[-1].this)
        for part in reversed(parts):
            name = infix_name(operator, name, self._of(part.expression))
        return name

    def _compared(self, operator: str, node: exp.Expr) -> str:
        """Returns the name of a comparison, in which Spark rounds a decimal literal beside an integer."""
        left, right = node.this, node.expression
        names = [self._of(left), self._of(right)]
        for index, (literal, other, seen) in enumerate(((left, right, MIRRORED[operator]), (right, left, operator))):
            value = _decimal_literal(literal)
            if value is not None and _is_integer(other, self._integers):
                bound = rounded_bound(value, seen)
                if isinstance(bound, bool):
                    return str(bound).lower()
                names[index] = str(bound)
                break
        return infix_name(operator, *names)

    def _outer(self, query: exp.Expr) -> str:
        """Returns the columns of the item's block that a subquery reads, which its name lists. They are known by their
        qualifiers.
        """
        nodes = walk(query)
        own = {node.name.lower() for node in nodes if isinstance(node, exp.Table)}
        own |= {
            node.this.name.removeprefix(CALL).lower()
            for node in nodes
            if isinstance(node, exp.TableAlias) and node.this is not None
        }
        aliases = set(self._aliases) - own
        columns = [node for node in nodes if isinstance(node, exp.Column) and node.table.lower() in aliases]
        columns.sort(key=lambda column: int(column.this.meta.get("start", -1)))
        return ", ".join(column.name for column in columns)

    def _list(self, nodes: Iterable[exp.Expr]) -> str:
        return ", ".join(map(self._of, nodes))

    def _call(self, function: str, arguments: list[exp.Expr]) -> str:
        if function in _UNNAMED_FUNCTIONS or (function in _CASTS and len(arguments) != 1):
            raise _UnknownError
        if function in _CASTS:
            return self._of(arguments[0])
        if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
            return call_name(function, ["1" if function == "count" else "*"])
        if function == "position" and len(arguments) == 1 and isinstance(arguments[0], exp.In):
            # POSITION('a' IN s)
            part, value = arguments[0].this, arguments[0].args.get("field")
            return call_name("locate", [self._of(part), self._of(value)])
        return call_name(function, [self._of(argument) for argument in arguments])

    # -- rules of nodes -----------------------------------------------------------------------------------------

    def _column(self, node: exp.Expr) -> str:
        name = node.this
        if isinstance(name, exp.Star):
            raise _UnknownError
        return str(node.name).removeprefix(CALL)

    def _literal(self, node: exp.Expr) -> str:
        if not node.args.get("is_string"):
            return _number(str(node.this))
        token = self._strings.get(node.meta.get("start", -1)) if node._meta else None
        if token is None:
            raise _UnknownError
        return string_value(token)

    def _negative(self, node: exp.Expr) -> str:
        operand = node.this
        literal = operand.this if isinstance(operand, exp.Cast) else operand
        is_number = isinstance(literal, exp.Literal) and not literal.args.get("is_string")
        if is_number and (operand is literal or self._has_suffix(literal)):
            return f"-{self._of(operand)}"
        return f"(- {self._of(operand)})"

    def _not(self, node: exp.Expr) -> str:
        operand_name = self._of(node.this)
        # The trees of ``NOT a IS NULL`` and ``a IS NOT NULL`` are the same.
        return (
            operand_name
            if operand_name.endswith(" IS NOT NULL)") and isinstance(node.this, exp.Is)
            else f"(NOT {operand_name})"
        )

    def _is(self, node: exp.Expr) -> str:
        value = self._of(node.this)
        if isinstance(node.expression, exp.Null):
            return f"({value} IS {next(self._null_tests)})"
        if isinstance(node.expression, exp.Boolean):
            return f"({value} <=> {self._of(node.expression)})"
        raise _UnknownError

    def _in(self, node: exp.Expr) -> str:
        value = self._of(node.this)
        if node.args.get("query") is not None:
            return f"({value} IN (listquery({self._outer(node.args['query'])})))"
        if not node.expressions:
            raise _UnknownError
        return f"({value} IN ({self._list(node.expressions)}))"

    def _between(self, node: exp.Expr) -> str:
        return f"between({self._list([node.this, node.args['low'], node.args['high']])})"

    def _case(self, node: exp.Expr) -> str:
        subject = self._of(node.this) if node.this is not None else None
        arms = []
        for branch in node.args["ifs"]:
            test = self._of(branch.this)
            test = test if subject is None else f"({subject} = {test})"
            arms.append(f"WHEN {test} THEN {self._of(branch.args['true'])}")
        default = node.args.get("default")
        return " ".join(["CASE", *arms, *([] if default is None else [f"ELSE {self._of(default)}"]), "END"])

    def _cast(self, node: exp.Expr) -> str:
        word = "TRY_CAST" if node.args.get("safe") else "CAST"
        target = _type_name(node.args["to"])
        literal = node.this
        if isinstance(literal, exp.Literal) and not literal.args.get("is_string") and self._has_suffix(literal):
            return _floating(str(literal.this)) if target in ("FLOAT", "DOUBLE") else self._of(literal)
        if isinstance(literal, exp.Literal) and self._is_typed(literal, target):
            value = self._of(literal)
            canonical = _CANONICAL[target].fullmatch(value)
            if canonical is None:
                raise _UnknownError
            return f"{target} '{value}'"
        return f"{word}({self._of(literal)} AS {target})"

    def _has_suffix(self, literal: exp.Expr) -> bool:
        token = self._token(literal)
        return token is not None and token.text[-1:].isalpha()

    def _is_typed(self, literal: exp.Expr, target: str) -> bool:
        """Tests whether a string literal follows the name of its type: ``DATE '2015-01-01'``."""
        token = self._token(literal)
        index = 0 if token is None else self._tokens.index(token)
        return target in _CANONICAL and index > 0 and self._tokens[index - 1].is_word(target)

    def _token(self, node: exp.Expr) -> Token | None:
        start = node.meta.get("start", -1) if node._meta else -1
        return next((token for token in self._tokens if token.start == start), None)

    def _filter(self, node: exp.Expr) -> str:
        return f"{self._of(node.this)} FILTER (WHERE {self._of(node.expression.this)})"

    def _window(self, node: exp.Expr) -> str:
        if node.args.get("alias") or node.args.get("first") is not None:
            raise _UnknownError
        partition, order, frame = (node.args.get(key) for key in ("partition_by", "order", "spec"))
        parts = [f"PARTITION BY {self._list(partition)}"] if partition else []
        if order is not None:
            parts.append(f"ORDER BY {', '.join(map(self._key, order.expressions))}")
        if frame is not None:
            parts.append(self._frame(frame))
        elif order is None:
            parts.append("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")
        else:
            kind = "ROWS" if called(node.this) in _RANKS else "RANGE"
            parts.append(f"{kind} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
        return f"{self._of(node.this)} OVER ({' '.join(parts)})"

    def _key(self, sort_key: exp.Expr) -> str:
        direction = "DESC" if sort_key.args.get("desc") else "ASC"
        return f"{self._of(sort_key.this)} {direction} NULLS {'FIRST' if sort_key.args.get('nulls_first') else 'LAST'}"

    def _frame(self, spec: exp.Expr) -> str:
        bounds = []
        for key in ("start", "end"):
            bound_node, side = spec.args.get(key), spec.args.get(f"{key}_side")
            if isinstance(bound_node, exp.Literal):
                bound_node = self._of(bound_node)
            elif bound_node is None and key == "end":
                bound_node = "CURRENT ROW"
            if not isinstance(bound_node, str):
                raise _UnknownError
            bounds.append(f"{bound_node} {side or ''}".strip().upper())
        return f"{str(spec.args.get('kind')).upper()} BETWEEN {' AND '.join(bounds)}"

    def _extract(self, node: exp.Expr) -> str:
        field = next(self._fields, None)
        if field is None:
            raise _UnknownError
        return f"extract({field} FROM {self._of(node.expression)})"

    def _trim(self, node: exp.Expr) -> str:
        side = str(node.args.get("position") or "").upper()
        if node.expression is not None:
            raise _UnknownError
        return f"{ ({'LEADING': 'ltrim', 'TRAILING': 'rtrim'}.get(side, 'trim')) }({self._of(node.this)})"

    def _pattern(self, function: str, node: exp.Expr) -> str:
        return f"{function}({self._of(node.this)}, {self._of(node.expression)})"

    def _like(self, node: exp.Expr) -> str:
        name = f"{self._of(node.this)} LIKE {self._of(node.expression)}"
        return f"(NOT {name})" if node.args.get("negate") else name

    def _ilike(self, node: exp.Expr) -> str:
        name = self._pattern("ilike", node)
        return f"(NOT {name})" if node.args.get("negate") else name

    def _bracket(self, node: exp.Expr) -> str:
        offset = node.args.get("offset") or 0
        if offset or len(node.expressions) != 1:
            raise _UnknownError
        return f"{self._of(node.this)}[{self._of(node.expressions[0])}]"

    def _distinct(self, node: exp.Expr) -> str:
        return f"DISTINCT {self._list(node.expressions)}"


def _extracted(tokens: tuple[Token, ...]) -> Iterator[str]:
    """Returns the fields of ``EXTRACT(field FROM …)`` as typed, in the order of the text."""
    for first, second, third in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if first.is_word("EXTRACT") and second.is_operator("("):
            yield third.text


def _null_tests(tokens: tuple[Token, ...]) -> Iterator[str]:
    """Returns ``NULL`` or ``NOT NULL`` of the tests for NULL, in the order of the text."""
    for first, second, third in zip(tokens, tokens[1:], (*tokens[2:], None), strict=False):
        if first.is_word("IS") and second.is_word("NULL", "UNKNOWN"):
            yield "NULL"
        if first.is_word("IS") and second.is_word("NOT") and third is not None and third.is_word("NULL", "UNKNOWN"):
            yield "NOT NULL"


def _opens(token: Token) -> bool:
    """Tests whether an operand begins after a token."""
    opens = token.kind is TokenKind.OPERATOR and not token.is_operator(")", "]")
    return opens or token.is_word("SELECT", "WHEN", "THEN", "ELSE")


def _type_name(node: exp.Expr) -> str:
    name = node.sql(dialect="spark").upper().replace(" ", "")
    if name.startswith(("VARCHAR", "CHAR")):
        return "STRING"
    name = _TYPES.get(name, name)
    if name not in _PLAIN_TYPES and not name.startswith("DECIMAL("):
        raise _UnknownError
    return name


def _number(digits: str) -> str:
    return _floating(digits) if "e" in digits.lower() else digits


def _floating(digits: str) -> str:
    """Returns a DOUBLE in Java's notation."""
    value = float(digits)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return str(value)
    decimal_value = Decimal(repr(value)).normalize()
    _, figures, _ = decimal_value.as_tuple()
    return f"{figures[0]}.{''.join(map(str, figures[1:])) or '0'}E{decimal_value.adjusted()}"


_RULES: dict[type[exp.Expr], Callable[[_Namer, exp.Expr], str]] = {
    exp.Column: _Namer._column,
    exp.Literal: _Namer._literal,
    exp.Boolean: lambda _, node: "true" if node.this else "false",
    exp.Null: lambda _, node: "NULL",
    exp.Paren: lambda namer, node: namer._of(node.this),
    exp.Neg: _Namer._negative,
    exp.BitwiseNot: lambda namer, node: f"~{namer._of(node.this)}",
    exp.NEQ: lambda namer, node: f"(NOT ({namer._of(node.this)} = {namer._of(node.expression)}))",
    exp.NullSafeNEQ: lambda namer, node: f"(NOT ({namer._of(node.this)} <=> {namer._of(node.expression)}))",
    exp.Not: _Namer._not,
    exp.Is: _Namer._is,
    exp.In: _Namer._in,
    exp.Between: _Namer._between,
    exp.Case: _Namer._case,
    exp.Cast: _Namer._cast,
    exp.TryCast: _Namer._cast,
    exp.Filter: _Namer._filter,
    exp.Window: _Namer._window,
    exp.Extract: _Namer._extract,
    exp.Trim: _Namer._trim,
    exp.Like: _Namer._like,
    exp.RegexpLike: lambda namer, node: namer._pattern("RLIKE", node),
    exp.ILike: _Namer._ilike,
    exp.Bracket: _Namer._bracket,
    exp.Distinct: _Namer._distinct,
    exp.DPipe: lambda namer, node: namer._pattern("concat", node),
    exp.First: lambda namer, node: f"first({namer._of(node.this)})",
    exp.Exists: lambda namer, node: f"exists({namer._outer(node.this)})",
    exp.Subquery: lambda namer, node: f"scalarsubquery({namer._outer(node.this)})",
    exp.CurrentDate: lambda _, node: "current_date()",
    exp.CurrentTimestamp: lambda _, node: "current_timestamp()",
}


# Expressions that are integers in Spark by their syntax, and decimal literals.

#: Functions that return integers, whatever their arguments.
_INTEGERS = frozenset(
    "count count_if approx_count_distinct regr_count length len char_length character_length octet_length bit_length "
    "year quarter month day dayofmonth dayofweek dayofyear weekday weekofyear hour minute second datediff "
    "unix_timestamp ascii size cardinality instr locate position levenshtein crc32 row_number rank dense_rank ntile "
    "tinyint smallint int bigint grouping grouping_id regexp_count hash xxhash64 bit_count".split()
)
#: Functions that return an integer if all of their arguments are integers.
_OF_INTEGERS = frozenset(
    "sum max min abs first last first_value last_value any_value coalesce nvl ifnull greatest least mode negative "
    "positive".split()
)
_INTEGER_TYPES = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
_BITS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_DIGITS = re.compile(r"\d+(?:\.\d*)?|\.\d+")


def _is_integer(node: exp.Expr | None, columns: Collection[str]) -> bool:
    """Tests whether an expression of ``read_with_calls`` is known to be an integer. ``columns`` are the names, in lower
    case, of columns that are.
    """
    function = None if node is None else called(node)
    match node:
        case exp.Paren() | exp.Neg() | exp.BitwiseNot() | exp.Filter() | exp.Window():
            return _is_integer(node.this, columns)
        case exp.Column():
            return str(node.name).removeprefix(CALL).lower() in columns
        case exp.Literal():
            return not node.is_string and node.name.isdigit() and int(node.name) <= LARGEST
        case exp.Cast():
            return node.to.this in _INTEGER_TYPES
        case exp.IntDiv() | exp.Extract():
            return isinstance(node, exp.IntDiv)
        case exp.Case():
            values = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
            return all(value is None or _is_integer(value, columns) for value in values)
        case exp.Distinct():
            return all(_is_integer(value, columns) for value in node.expressions)
        case exp.First():
            return _is_integer(node.this, columns)
    if isinstance(node, (*_ARITHMETIC, *_BITS)):
        return _is_integer(node.this, columns) and _is_integer(node.expression, columns)
    if function is None or node is None:
        return False
    arguments = node.expressions
    if function == "if":
        arguments = arguments[1:]
    elif function == "nullif":
        arguments = arguments[:1]
    elif function not in _OF_INTEGERS:
        return function in _INTEGERS
    return bool(arguments) and all(_is_integer(argument, columns) for argument in arguments)


def _decimal_literal(node: exp.Expr) -> Decimal | None:
    """Returns the value of a literal of the type DECIMAL; ``None`` for anything else."""
    node = node.unnest()
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        value = _decimal_literal(node.this)
        return None if value is None else -value
    if not isinstance(node, exp.Literal) or node.is_string or not _DIGITS.fullmatch(node.name):
        return None
    value = Decimal(node.name)
    return value if "." in node.name or value > LARGEST else None


# The columns that the relations of a query offer, as far as they are known without an engine.

#: Columns in order. A name or a type of '' is unknown; ``None`` represents any number of columns.
Offered = tuple[Column | None, ...]

_UNKNOWN: Offered = (None,)


class OutputColumns:
    """The columns that the relations of one query offer. Each SELECT is examined once.

    The columns of views and of functions in FROM are those that ``of_view`` returns, and unknown without it.
    """

    def __init__(
        self, tree: exp.Expr, reader: CatalogReader, of_view: Callable[[exp.Table], Offered] | None = None
    ) -> None:
        self._reader = reader
        self._of_view = of_view
        self._ctes = CteReferences(tuple(tree.root().walk()))
        self._columns_of: dict[int, tuple[tuple[str, Offered], ...]] = {}

    def of_relations(self, select: exp.Select) -> tuple[tuple[str, Offered], ...]:
        """Returns the alias, in lower case, and the columns of each relation of a SELECT."""
        if id(select) not in self._columns_of:
            self._columns_of[id(select)] = ()  # the columns that a recursive CTE offers itself are unknown
            sources = [*relations(select), *(select.args.get("laterals") or ())]
            self._columns_of[id(select)] = tuple(
                (_alias(relation).lower(), self._columns(relation)) for relation in sources
            )
        return self._columns_of[id(select)]

    def of_query(self, query: exp.Expr) -> Offered:
        """Returns the output columns of a query."""
        while isinstance(query, exp.Subquery | exp.SetOperation):
            query = query.this
        if not isinstance(query, exp.Select):
            return _UNKNOWN
        return tuple(column for item in query.expressions for column in self._item(item, query))

    def _item(self, item: exp.Expr, select: exp.Select) -> Iterator[Column | None]:
        value = item.unalias()
        star = value.this if isinstance(value, exp.Column) else value
        if isinstance(star, exp.Star):
            alias = value.table.lower() if isinstance(value, exp.Column) else ""
            columns_of_relations = [columns for name, columns in self.of_relations(select) if alias in ("", name)]
            is_merged = len(columns_of_relations) > 1 and any(_merges(join) for join in select.args.get("joins") or ())
            is_plain = columns_of_relations and not is_merged and not any(star.args.values())  # no * EXCEPT (…)
            yield from (column for columns in columns_of_relations for column in columns) if is_plain else _UNKNOWN
        elif isinstance(item, exp.Alias | exp.Column):
            yield Column(item.alias_or_name, self._type(value, select))
        elif is_scalar(value) or isinstance(value, exp.AggFunc | exp.Window):
            yield Column("", "")
        else:
            yield None

    def _type(self, value: exp.Expr, select: exp.Select) -> str:
        if not isinstance(value, exp.Column):
            return ""
        alias, name = value.table.lower(), value.name.lower()
        columns_of_relations = [columns for relation, columns in self.of_relations(select) if alias in ("", relation)]
        if any(None in columns for columns in columns_of_relations):
            return ""
        types = {
            column.type
            for columns in columns_of_relations
            for column in columns
            if column and column.name.lower() == name
        }
        return types.pop() if len(types) == 1 else ""

    def _columns(self, relation: exp.Expr) -> Offered:
        alias = relation.args.get("alias")
        if relation.args.get("pivots"):
            return _UNKNOWN
        columns = self._unnamed(relation)
        if alias is not None and alias.args.get("columns"):
            return renamed(columns, [column.name for column in alias.args["columns"]])
        return columns

    def _unnamed(self, relation: exp.Expr) -> Offered:
        if isinstance(relation, exp.Subquery):
            return self.of_query(relation.this)
        if not isinstance(relation, exp.Table):
            return _UNKNOWN
        if isinstance(relation.this, exp.Func):
            return _UNKNOWN if self._of_view is None else self._of_view(relation)
        cte = self._ctes.cte_of(relation)
        if cte is not None:
            column_list = cte.args["alias"].args.get("columns")
            columns = self.of_query(cte.this)
            return renamed(columns, [column.name for column in column_list]) if column_list else columns
        resolved = meaning(relation, self._reader)
        if isinstance(resolved, Table):
            return resolved.all_columns
        if resolved is None:
            return _UNKNOWN if self._of_view is None else self._of_view(relation)
        return _cube_columns(self._reader.cube(resolved.cube) if isinstance(resolved, Fact) else resolved)


def _alias(relation: exp.Expr) -> str:
    """Returns the name by which columns name a relation; that of a call in FROM is the function's."""
    is_call = isinstance(relation, exp.Table) and isinstance(relation.this, exp.Anonymous)
    return relation.alias_or_name or (str(relation.this.name) if is_call else "")


def renamed(offered: Offered, names: Sequence[str]) -> Offered:
    """Returns the columns under the names of a list."""
    is_known = len(offered) == len(names) and None not in offered
    types = [column.type for column in offered if column] if is_known else [""] * len(names)
    return tuple(Column(name, type_) for name, type_ in zip(names, types, strict=True))


def _merges(join: exp.Join) -> bool:
    """Tests whether a join removes columns from ``*``: USING and NATURAL merge two columns, SEMI and ANTI drop
    a side.
    """
    kind = (join.args.get("kind") or "").upper()
    return bool(join.args.get("using") or join.args.get("method")) or kind in ("SEMI", "ANTI")


def _cube_columns(cube: Cube) -> Offered:
    types = {column.name: column.type for column in cube.dimensions}
    types |= {measure.name: measure.type for measure in cube.measures}
    return tuple(Column(name, types.get(name, "timestamp")) for name in cube.column_order)
