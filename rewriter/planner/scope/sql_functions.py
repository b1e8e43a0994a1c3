"""Inlines SQL functions and session variables: a call becomes the function's expression, in FROM its query, a variable
its value.

This happens in the text before anything else, so that covers, additivity and proofs see what the function computes. An
argument is cast to the type of its parameter, the result to that of the function, as in Spark. A function's body is
read by itself: its names mean objects of the database in which it was created, and its other names are its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.model.objects import CATALOG, Column, Function, full_name, parts_of
from rewriter.errors import AnalysisError, Error, NotSupportedError, ParseError, Span
from rewriter.exec.spark_functions import function_groups, is_function
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, tokens
from rewriter.grammar.query_spans import QUERY_STARTS
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.blocks import CatalogReader, is_file, meaning, prefix_of
from rewriter.planner.scope.cte_references import names_in
from rewriter.planner.scope.deterministic import called_code, what_it_does
from rewriter.planner.scope.free_names import FreeName, Meaning, NameScopes
from rewriter.planner.scope.function_calls import (
    Parts,
    Use,
    alias_in_from,
    argument_spans,
    bound_arguments,
    check_argument,
    check_table_argument,
    no_clause,
    shown_name,
)
from rewriter.planner.scope.item_names import Offered, OutputColumns, item_name
from rewriter.planner.scope.joins import relations
from rewriter.planner.text.derived_text import DerivedText, Piece, Replacement, replaced
from rewriter.planner.text.query_text import Edit, QueryText
from rewriter.planner.text.sqlglot_trees import children

if TYPE_CHECKING:
    from rewriter.catalog.model.sql_functions import SqlBody

#: The longest text that the calls of a query may become, in characters.
_LONGEST = 1_000_000
#: How deep functions may call each other.
_DEEPEST = 100
_SELECT = "SELECT "
_NAMES = (TokenKind.WORD, TokenKind.IDENTIFIER)
#: Words before a parenthesis that are no calls.
_NO_CALLS = frozenset(
    "ALL AND ANY AS BETWEEN BY CASE CAST CUBE DISTINCT ELSE EXCEPT EXISTS FILTER FROM GROUP HAVING IN INTERSECT JOIN "
    "LATERAL LIKE LIMIT MINUS NOT ON OR ORDER OVER PARTITION PIVOT QUALIFY ROLLUP SELECT SETS SOME TABLE THEN UNION "
    "USING VALUES WHEN WHERE WITH TIME_RANGE_IN".split()
)
_QUALIFIERS = (("session",), ("system", "session"))
#: The groups of Spark's functions that a scalar function cannot contain.
_NOT_SCALAR = ("agg_funcs", "window_funcs", "generator_funcs")

#: Returns the columns of a view, as a query names it.
ViewColumns = Callable[[exp.Table], Offered]


@dataclass(frozen=True)
class _Mark:
    """A call of a SQL function in a text, a session variable, or the use of a parameter. ``prefix`` is the function's
    name in names of columns. ``alias`` is the name that a call in FROM gets, because it has none.
    """

    span: Span
    function: Function | None = None
    prefix: str = ""
    arguments: tuple[Span, ...] = ()
    alias: str | None = None
    name: FreeName | None = None
    use: Use | None = None


def may_name(tokens: Sequence[Token], reader: CatalogReader) -> bool:
    """Tests whether tokens may call a SQL function, or name a session variable. Costs a walk over them, and one indexed
    read for each call of a function that is not Spark's.
    """
    own = reader.temporary_views
    for index, token in enumerate(tokens):
        if token.kind not in _NAMES:
            continue
        name = identifier_value(token).lower()
        if name in own.variables:
            return True
        if index + 1 == len(tokens) or not tokens[index + 1].is_operator("(") or token.is_word(*_NO_CALLS):
            continue
        if name in own.functions:
            return True
        is_qualified = index > 1 and tokens[index - 1].is_operator(".")
        if not is_qualified and is_function(name):
            continue
        database = identifier_value(tokens[index - 2]).lower() if is_qualified else reader.current
        if _stored(database, name, reader) is not None:
            return True
    return False


def _stored(database: str, name: str, reader: CatalogReader) -> Function | None:
    if "." in database or "." in name or not name:
        return None
    function = reader.find_function(full_name(database, name))
    return function if function is not None and function.sql is not None else None


def inlined(
    text: QueryText, reader: CatalogReader, database: str, columns_of_views: ViewColumns, is_temporary: bool
) -> QueryText:
    """Returns the query of a view with its calls and variables inlined; ``text`` itself without any.

    Only the query of a temporary view names temporary functions and variables.
    """
    if not may_name(text.tokens, reader):
        return text
    edits = Inliner(reader, columns_of_views).edits(text, database, is_temporary)
    replacements = [
        Replacement(edit.span, (Piece("".join(map(str, edit.parts)), edit.span),)) for edit in edits if edit.parts
    ]
    return DerivedText(text, replaced(text, Span(0, len(text.text)), replacements), {}) if replacements else text


class Inliner:
    """Inlines the calls and variables of the queries of one statement."""

    def __init__(self, reader: CatalogReader, columns_of_views: ViewColumns, created: Function | None = None) -> None:
        """``created`` is a function that is being created: its name means its new body."""
        self._reader = reader
        self._columns_of_views = columns_of_views
        self._created = created
        self._templates: dict[tuple[str, bool], Parts] = {}

    def edits(self, text: QueryText, database: str, is_temporary: bool = True) -> list[Edit]:
        """Returns the edits that inline the calls and the variables of a query; an item without an alias keeps the name
        that Spark gives it.

        ``is_temporary`` tells whether temporary functions and variables are seen. Raises ``AnalysisError``,
        ``NotSupportedError`` and ``ParseError`` with positions in the statement.
        """
        marks = self._marks(text, database, is_temporary)
        edits: list[Edit] = []
        for mark in _outermost(marks):
            made = "".join(map(str, self._rendered(text, mark.span, marks, ())))
            edits.append(Edit(mark.span, (made,), f"{text.text[mark.span.start : mark.span.end]} is inlined"))
        return [*edits, *self._names(text, marks)] if marks else []

    def temporary_names(self, text: QueryText, database: str) -> Iterator[tuple[Span, str, str]]:
        """Yields the temporary functions and the variables that a query names: place, name and kind."""
        for mark in self._marks(text, database, True):
            if mark.name is not None:
                yield mark.span, mark.name.typed, "VARIABLE"
            elif mark.function is not None and _is_temporary(mark.function):
                yield mark.span, shown_name(mark.function), "FUNCTION"

    def defaults(self, function: Function) -> list[str | None]:
        """Returns the defaults of a function's parameters, inlined."""
        assert function.sql is not None
        return [
            None if p.default is None else "".join(map(str, self._default(p.default, function.sql, ())))
            for p in function.sql.parameters
        ]

    def called(self, function: Function, arguments: Sequence[str]) -> str:
        """Returns a call of a function with these texts as arguments, inlined. Raises the errors of its callers."""
        return "".join(map(str, self._applied(function, [(argument,) for argument in arguments], ())))

    # ---- the calls and names of a text

    def _marks(self, text: QueryText, database: str, is_temporary: bool) -> list[_Mark]:
        marks = [
            mark for node in text.find_all(exp.Anonymous) if (mark := self._call(text, node, database, is_temporary))
        ]
        variables = self._reader.temporary_views.variables if is_temporary else {}
        if variables:
            _refuse_in_states(text, variables)
            columns = self._output_columns(text, database, is_temporary)
            marks += [_Mark(name.span, name=name) for name in NameScopes(text, columns).free(variables, _QUALIFIERS)]
        return sorted(marks, key=lambda mark: (mark.span.start, -mark.span.end))

    def _call(self, text: QueryText, node: exp.Anonymous, database: str, is_temporary: bool) -> _Mark | None:
        if text.in_hint(node) or not node._meta or "start" not in node.meta:
            return None
        first = text.index_at(node.meta["start"])
        parts = [identifier_value(text.tokens[first])]
        while first > 1 and text.tokens[first - 1].is_operator(".") and text.tokens[first - 2].kind in _NAMES:
            first -= 2
            parts.insert(0, identifier_value(text.tokens[first]))
        function, prefix = self._found([part.lower() for part in parts], database, is_temporary)
        if function is None:
            return None
        call, inside = text.call(node)
        span = Span(text.tokens[first].start, call.end)
        alias = alias_in_from(text, node, function, text.place(span))
        if isinstance(node.parent, exp.Window | exp.Filter | exp.WithinGroup) and node.arg_key == "this":
            raise no_clause(function, "OVER" if isinstance(node.parent, exp.Window) else "FILTER", text.place(span))
        return _Mark(span, function, prefix, tuple(argument_spans(text, inside)), alias)

    def _output_columns(self, text: QueryText, database: str, is_temporary: bool) -> OutputColumns:
        """Returns the columns that the relations of a text offer, those of functions in FROM included."""

        def offered(relation: exp.Table) -> Offered:
            if not isinstance(relation.this, exp.Anonymous):
                return self._columns_of_views(relation)
            function, _ = self._found([part.name.lower() for part in relation.parts], database, is_temporary)
            columns = None if function is None or function.sql is None else function.sql.columns
            return (None,) if columns is None else tuple(Column(column.name, column.type) for column in columns)

        return OutputColumns(text.tree, self._reader, offered)

    def _found(self, parts: Sequence[str], database: str, is_temporary: bool) -> tuple[Function | None, str]:
        """Returns the function that a name means, and its name in names of columns."""
        *qualifier, name = parts
        if not qualifier and is_function(name):
            return None, ""
        own = self._own_function(name) if is_temporary else None
        if own is not None and (not qualifier or tuple(qualifier) in _QUALIFIERS):
            return own, own.name
        if len(qualifier) == 2 and qualifier[0] == CATALOG:
            qualifier = qualifier[1:]
        if len(qualifier) > 1:
            return None, ""
        owner = qualifier[0] if qualifier else database
        function = _stored(owner, name, self._reader)
        created = self._created
        if created is not None and not _is_temporary(created) and created.name.lower() == full_name(owner, name):
            function = created
        return function, f"{CATALOG}.{owner}.{name}"

    def _own_function(self, name: str) -> Function | None:
        created = self._created
        if created is not None and _is_temporary(created) and created.name.lower() == name:
            return created
        return self._reader.temporary_views.functions.get(name)

    # ---- what they become

    def _rendered(self, text: QueryText, span: Span, marks: Sequence[_Mark], chain: tuple[str, ...]) -> Parts:
        """Returns a stretch of a text with the marks in it inlined."""
        parts: list[str | Use] = []
        position = span.start
        for mark in _outermost(mark for mark in marks if mark.span.is_within(span)):
            parts.append(text.text[position : mark.span.start])
            parts += self._value(text, mark, marks, chain)
            position = mark.span.end
        return (*parts, text.text[position : span.end])

    def _value(self, text: QueryText, mark: _Mark, marks: Sequence[_Mark], chain: tuple[str, ...]) -> Parts:
        if mark.use is not None:
            return (mark.use,)
        if mark.name is not None:
            variable = self._reader.temporary_views.variables[mark.name.name]
            is_number = variable.value[:1].isdigit()
            return (
                f"CAST({variable.value} AS {variable.type})" if mark.name.is_ordinal and is_number else variable.value,
            )
        assert mark.function is not None
        assert mark.function.sql is not None
        try:
            inner = tuple(other for other in marks if other.span != mark.span)
            bound = bound_arguments(text, mark.function, mark.span, mark.arguments)
            arguments = [
                self._rendered(text, argument, inner, chain)
                if isinstance(argument, Span)
                else self._default(argument, mark.function.sql, chain)
                for argument in bound
            ]
            alias = () if mark.alias is None else (f" AS {quote_identifier(mark.alias)}",)
            return (*self._applied(mark.function, arguments, chain), *alias)
        except Error as error:
            raise error.at(text.place(mark.span)) from None

    def _default(self, expression: str, body: SqlBody, chain: tuple[str, ...]) -> Parts:
        text = QueryText(_SELECT + expression)
        marks = self._marks(text, body.database, False)
        return self._rendered(text, Span(len(_SELECT), len(text.text)), marks, chain)

    def _applied(self, function: Function, arguments: Sequence[Parts], chain: tuple[str, ...]) -> Parts:
        """Returns the body of a function with its arguments in the places of its parameters."""
        assert function.sql is not None
        template = self._template(function, _is_temporary(function), chain)
        uses = [part for part in template if isinstance(part, Use)]
        for index, argument in enumerate(arguments):
            own = [use for use in uses if use.index == index]
            if function.sql.is_table:
                check_table_argument(function, function.sql.parameters[index].name, argument)
            elif own:
                check_argument(function, function.sql.parameters[index].name, argument, own)
        made: list[str | Use] = [""]
        for part in template:
            pieces: Sequence[str | Use] = (part,)
            if isinstance(part, Use):
                alias = f" AS {quote_identifier(part.alias)}" if part.alias else ""
                pieces = ("CAST(", *arguments[part.index], f" AS {function.sql.parameters[part.index].type}){alias}")
            for piece in pieces:
                if isinstance(piece, str) and isinstance(made[-1], str):
                    made[-1] += piece
                else:
                    made.append(piece)
        if sum(len(part) for part in made if isinstance(part, str)) > _LONGEST:
            raise NotSupportedError(
                f"The calls of {shown_name(function)} become more than {_LONGEST:,} characters.",
                object=shown_name(function),
                hint="Compute a part of it in a subquery.",
            )
        return tuple(made)

    def _template(self, function: Function, is_temporary: bool, chain: tuple[str, ...]) -> Parts:
        """Returns the body of a function, with its own calls and variables inlined, cast to its type."""
        key = (function.name.lower(), is_temporary)
        step = shown_name(function) if is_temporary else f"{CATALOG}.{'.'.join(parts_of(function.name))}"
        if step in chain:
            raise AnalysisError(
                f"Cyclic function reference detected: {' -> '.join((*chain, step))}.",
                condition="CYCLIC_FUNCTION_REFERENCE",
                sqlstate="42887",
                object=shown_name(function),
                hint="A SQL function cannot call itself; replace one of them.",
            )
        if len(chain) >= _DEEPEST:
            raise NotSupportedError(
                f"SQL functions call each other more than {_DEEPEST} deep.",
                object=shown_name(function),
                hint="Write the expression of one of them into the others.",
            )
        if key not in self._templates:
            try:
                self._templates[key] = self._read(function, is_temporary, (*chain, step))
            except Error as error:
                error.position = None
                raise
        return self._templates[key]

    def _read(self, function: Function, is_temporary: bool, chain: tuple[str, ...]) -> Parts:
        body = function.sql
        assert body is not None
        text = self._qualified(body_text(body), function, is_temporary)
        code = None if is_temporary else called_code(text.tokens)
        if code is not None:
            raise NotSupportedError(
                f"The function {shown_name(function)} would run code on the machine of its callers: it "
                f"{what_it_does(code)}.",
                condition="CODE_IN_VIEW",
                object=shown_name(function),
                hint="Write this part in the query that calls it, or CREATE TEMPORARY FUNCTION.",
            )
        _check_scalar(text, function)
        marks = self._marks(text, body.database, is_temporary)
        columns = self._output_columns(text, body.database, is_temporary)
        scopes = NameScopes(text, columns)
        numbers = {parameter.name.lower(): number for number, parameter in enumerate(body.parameters)}
        qualifiers = ((shown_name(function).lower(),),)
        items = {
            text.span_of(item)
            for select in text.find_all(exp.Select)
            for item in select.expressions
            if isinstance(item, exp.Column)
        }
        uses: dict[Span, _Mark] = {}
        for name in scopes.free(numbers, qualifiers, "parameter"):
            alias = name.typed if name.in_query and name.span in items else ""
            uses[name.span] = _Mark(name.span, use=Use(numbers[name.name], name.in_query, name.lambdas, alias))
        marks = [mark for mark in marks if mark.span not in uses]
        self._check_columns(text, scopes, function, {*uses, *(mark.span for mark in marks if mark.name is not None)})
        marks = sorted([*marks, *uses.values()], key=lambda mark: (mark.span.start, -mark.span.end))
        parts = self._rendered(text, Span(len(_SELECT), len(text.text)), marks, chain)
        if body.is_table:
            return _table(body, shown_name(function), parts, self._certain_types(text, columns))
        return ("CAST(", *parts, f" AS {body.returns})") if body.returns else ("(", *parts, ")")

    def _certain_types(self, text: QueryText, columns: OutputColumns) -> list[str]:
        """Returns the type of each column of a function's query, empty where it is not that of a column of the catalog;
        nothing where the columns are not known.
        """
        query = text.tree.expressions[0]
        while isinstance(query, exp.Subquery | exp.Paren):
            query = query.this
        sources = relations(query) if isinstance(query, exp.Select) else []
        if not sources or not all(isinstance(r, exp.Table) and meaning(r, self._reader) is not None for r in sources):
            return []
        offered = columns.of_query(query)
        return [] if None in offered else [column.type for column in offered if column is not None]

    def _qualified(self, text: QueryText, function: Function, is_temporary: bool) -> QueryText:
        """Returns the body with the database of each relation."""
        body = function.sql
        assert body is not None
        unread = text.unread()
        tree = None if unread is not None else text.tree
        clauses = {name for name, value in tree.args.items() if value} if isinstance(tree, exp.Select) else set()
        is_expression = isinstance(tree, exp.Select) and len(tree.expressions) == 1 and clauses == {"expressions"}
        if body.is_table and unread is None and not (is_expression and _is_query(text.tree.expressions[0])):
            raise AnalysisError(
                f"User defined function is invalid: SQL table function {shown_name(function)} body must be a query.",
                condition="USER_DEFINED_FUNCTIONS.SQL_TABLE_UDF_BODY_MUST_BE_A_QUERY",
                sqlstate="42601",
                object=shown_name(function),
                hint="Write RETURN SELECT …. Rows of constants are SELECT * FROM VALUES ….",
            )
        if unread is not None or not is_expression or isinstance(text.tree.expressions[0], exp.Alias | exp.Star):
            reason = "is no expression" if unread is None else f"cannot be parsed: {unread.message}"
            raise ParseError(
                f"The body of the function {shown_name(function)} {reason.rstrip('.')}.",
                object=shown_name(function),
                hint="Write RETURN and one expression or query.",
            )
        replacements = []
        for node, span in names_in(text):
            if not node.db and is_temporary and self._reader.is_temporary(node.name):
                raise NotSupportedError(
                    f"The function {shown_name(function)} cannot read the temporary table or view {node.name}.",
                    object=node.name,
                    hint="Read it in the query that calls the function.",
                )
            if not node.db and not is_file(node):
                at = Span(span.start, span.start)
                replacements.append(Replacement(at, (Piece(prefix_of(body.database), at),)))
        if not replacements:
            return text
        return QueryText("".join(piece.text for piece in replaced(text, Span(0, len(text.text)), replacements)))

    def _check_columns(self, text: QueryText, scopes: NameScopes, function: Function, known: Collection[Span]) -> None:
        """Raises for a column that no relation of the body offers: the query around a call might have one."""
        for node in text.find_all(exp.Column):
            span = text.span_of(node)
            if span is None or span in known or isinstance(node.this, exp.Star):
                continue
            if isinstance(node.parent, exp.Dot) or scopes.meaning(node) is Meaning.COLUMN:
                continue
            name = text.text[span.start : span.end]
            raise AnalysisError(
                f"A column, variable, or function parameter with name {name} cannot be resolved.",
                condition="UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
                sqlstate="42703",
                object=name,
                hint=f"The parameters of {shown_name(function)} are "
                f"{', '.join(p.name for p in function.sql.parameters) or 'none'}."
                if function.sql is not None
                else None,
            )

    # ---- names of columns

    def _names(self, text: QueryText, marks: Sequence[_Mark]) -> Iterator[Edit]:
        """Yields the names of the items without an alias in which something is inlined."""
        places = {mark.span.start: mark for mark in marks}
        for select in text.find_all(exp.Select):
            for item in select.expressions:
                if isinstance(item, exp.Alias | exp.Star):
                    continue
                starts = sorted(
                    node.meta["start"] for node in _own(item) if node._meta and node.meta.get("start") is not None
                )
                first = next(
                    (start for start in starts if any(m.span.start <= start < m.span.end for m in marks)), None
                )
                if first is None:
                    continue
                span = text.select_item(first)
                whole = places.get(span.start)
                if whole is not None and whole.name is not None and whole.span == span:
                    name = whole.name.typed
                else:
                    name = self._item_name(text, span, marks)
                yield Edit(Span(span.end, span.end), (f" AS {quote_identifier(name)}",), f"the column is named {name}")

    def _item_name(self, text: QueryText, span: Span, marks: Sequence[_Mark]) -> str:
        """Returns Spark's name of an expression, in which a call and a variable have names of their own."""
        shown: dict[str, str] = {}
        typed, position = "", span.start
        for number, mark in enumerate(_outermost(mark for mark in marks if mark.span.is_within(span))):
            place = f"rewriter_{number}_()"
            typed += text.text[position : mark.span.start] + place
            position = mark.span.end
            shown[place] = self._shown_mark(text, mark, marks)
        name = item_name(typed + text.text[position : span.end])
        for place, value in shown.items():
            name = name.replace(place, value)
        return name

    def _shown_mark(self, text: QueryText, mark: _Mark, marks: Sequence[_Mark]) -> str:
        if mark.name is not None:
            variable = self._reader.temporary_views.variables[mark.name.name]
            return f"variablereference(system.session.{variable.name}={variable.shown})"
        assert mark.function is not None
        inner = [other for other in marks if other.span != mark.span]
        bound = bound_arguments(text, mark.function, mark.span, mark.arguments)
        if not any(text.within(span)[1:2] and text.within(span)[1].is_operator("=>") for span in mark.arguments):
            bound = bound[: len(mark.arguments)]  # Spark shows defaults only where an argument has a name.
        names = [
            item_name(argument) if isinstance(argument, str) else self._item_name(text, argument, inner)
            for argument in bound
        ]
        return f"{mark.prefix}({', '.join(names)})"


def is_callable_name(name: str) -> bool:
    """Tests whether calls of a name are read as calls of an unknown function, whatever their arguments."""
    if "." in name or name.upper() in _NO_CALLS:
        return False
    for arguments in ("", "1", "1, 2", "1, 2, 3"):
        text = QueryText(f"{_SELECT}{name}({arguments})")
        if text.unread() is not None or not isinstance(text.tree, exp.Select):
            return False
        item = text.tree.expressions[0]
        if not isinstance(item, exp.Anonymous) or item.name.lower() != name.lower():
            return False
    return True


def unknown_calls(text: QueryText) -> Iterator[str]:
    """Yields the functions that a text without calls of SQL functions calls, and Spark does not have."""
    for node in text.find_all(exp.Anonymous):
        if not is_function(node.name.lower()):
            yield node.name


def _outermost(marks: Iterable[_Mark]) -> Iterator[_Mark]:
    """Yields the marks that stand in no other one. They come in order, outer ones first."""
    end = -1
    for mark in marks:
        if mark.span.start >= end:
            yield mark
            end = mark.span.end


def _own(item: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the nodes of an item, without those of its subqueries, which name their own items."""
    stack = [item]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, exp.Query):
            stack += children(node)


def body_text(body: SqlBody) -> QueryText:
    """Returns the body of a function as the one item of a query; a query stands in parentheses there."""
    is_query = body.is_table or next(iter(tokens(body.expression))).is_word(*QUERY_STARTS)
    return QueryText(f"{_SELECT}({body.expression})" if is_query else _SELECT + body.expression)


def _is_query(item: exp.Expr) -> bool:
    while isinstance(item, exp.Subquery | exp.Paren):
        item = item.this
    return isinstance(item, exp.Query)


def _table(body: SqlBody, name: str, query: Parts, types: Sequence[str]) -> Parts:
    """Returns the relation that a function is: its query, whose columns get the names and types of the function's.

    ``types`` are those that the columns have, as far as they are known. A cast would hide a measure of a cube.
    """
    if not body.columns:
        return query
    names = [quote_identifier(column.name) for column in body.columns]
    has_type = [False] * len(names)
    if len(types) == len(names):
        has_type = [column.type == type_ for column, type_ in zip(body.columns, types, strict=True)]
    items = [
        name if is_same else f"CAST({name} AS {column.type}) AS {name}"
        for column, name, is_same in zip(body.columns, names, has_type, strict=True)
    ]
    return (f"(SELECT {', '.join(items)} FROM ", *query, f" AS {quote_identifier(name)}({', '.join(names)}))")


def _is_temporary(function: Function) -> bool:
    return function.id == 0


def _check_scalar(text: QueryText, function: Function) -> None:
    """Refuses aggregates, window functions and functions of several rows in a body, outside of its subqueries."""
    for node in _own(text.tree.expressions[0]):
        name = node.name.lower() if isinstance(node, exp.Anonymous) else node.key
        group = function_groups().get(name) if isinstance(node, exp.Func) else None
        if isinstance(node, exp.AggFunc | exp.Window | exp.UDTF) or group in _NOT_SCALAR:
            raise AnalysisError(
                "User defined function is invalid: SQL scalar function cannot contain aggregate/window/generate "
                f"functions: {name}.",
                condition="USER_DEFINED_FUNCTIONS.CANNOT_CONTAIN_COMPLEX_FUNCTIONS",
                sqlstate="42601",
                object=shown_name(function),
                hint="Write them into a subquery, or pass their result as an argument.",
            )


def _refuse_in_states(text: QueryText, variables: Collection[str]) -> None:
    """Refuses variables in clauses AS OF, as Spark does."""
    for version in text.find_all(exp.Version):
        for column in version.find_all(exp.Column):
            if column.name.lower() not in variables:
                continue
            first = column.parts[0].meta["start"]
            span = Span(first, column.this.meta["end"] + 1)
            is_instant = version.this == "TIMESTAMP"
            raise ParseError(
                f"{text.text[span.start : span.end]} is a variable: {version.this} AS OF "
                f"takes {'an expression of literals and parameters' if is_instant else 'a number or a parameter'}.",
                position=text.place(span),
                hint=f"Write EXECUTE IMMEDIATE 'SELECT … {version.this} AS OF ?' USING {column.name}.",
            )
