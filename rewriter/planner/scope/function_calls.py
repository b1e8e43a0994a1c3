"""The calls of SQL functions: where one may stand, and which arguments it may have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from rewriter.catalog.model.objects import Function, parts_of
from rewriter.errors import AnalysisError, NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import identifier_value
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.text.query_text import QueryText
from rewriter.planner.text.sqlglot_trees import walk

_SELECT = "SELECT "
#: Aggregates that return the same value each time that a block names them.
_REPEATABLE = (exp.Sum, exp.Count, exp.Min, exp.Max, exp.Avg)
#: What may follow the call of a function in FROM.
_PARTS = ("this", "db", "catalog", "alias", "joins", "laterals", "pivots")


@dataclass(frozen=True)
class Use:
    """A use of a parameter in a body: its number, and what is around it there.

    ``alias`` is the name of the item of a subquery that the use is, empty for others.
    """

    index: int
    in_query: bool
    lambdas: frozenset[str]
    alias: str = ""


#: Text in which parameters of the function around it are open.
Parts = tuple[str | Use, ...]


def shown_name(function: Function) -> str:
    """Returns the name of a function without its database."""
    return parts_of(function.name)[1]


def alias_in_from(text: QueryText, node: exp.Anonymous, function: Function, position: Span) -> str | None:
    """Returns the name that a call gets in FROM, ``None`` where it has one or stands elsewhere. Raises for a function
    of the other kind.
    """
    assert function.sql is not None
    relation, shown = node.parent, shown_name(function)
    is_relation = isinstance(relation, exp.Table | exp.Lateral) and node.arg_key == "this"
    if is_relation != function.sql.is_table:
        kind, defined = ("table", "scalar") if is_relation else ("scalar", "table")
        raise AnalysisError(
            f"{shown} appears as a {kind} function here, but the function was defined as a {defined} function.",
            condition="NOT_A_TABLE_FUNCTION" if is_relation else "NOT_A_SCALAR_FUNCTION",
            sqlstate="42887",
            position=position,
            object=shown,
            hint=f"Call it {'outside of FROM' if is_relation else f'in FROM: SELECT … FROM {shown}(…)'}.",
        )
    if not is_relation:
        return None
    if not isinstance(relation, exp.Table) or any(value and key not in _PARTS for key, value in relation.args.items()):
        clause = "LATERAL" if isinstance(relation, exp.Lateral) else "TABLESAMPLE or time travel"
        raise NotSupportedError(
            f"The table function {shown} cannot be called with {clause}.",
            position=position,
            object=shown,
            hint="Join it, with arguments that are constants: FROM t JOIN f(1) AS g ON t.a = g.a.",
        )
    alias = relation.args.get("alias")
    renamed = None if alias is None else alias.args.get("columns")
    if renamed and function.sql.columns and len(renamed) != len(function.sql.columns):
        raise AnalysisError(
            "Number of given aliases does not match number of output columns. Function name: "
            f"{shown}; number of aliases: {len(renamed)}; number of output columns: {len(function.sql.columns)}.",
            condition="NUM_TABLE_VALUE_ALIASES_MISMATCH",
            sqlstate="42826",
            position=position,
            object=shown,
            hint=f"Its columns are {', '.join(column.name for column in function.sql.columns)}.",
        )
    return shown if alias is None else None


def argument_spans(text: QueryText, inside: Span) -> Iterator[Span]:
    """Yields the arguments of a call, from what is inside its parentheses, each from its first to its last token."""
    inner = text.within(inside)
    if not inner:
        return
    index = text.index_at(inner[0].start)
    last = index + len(inner)
    while index <= last:
        comma = text.comma(index)
        if comma == index:
            raise ParseError("An argument is empty.", position=text.place(text.tokens[comma].span))
        yield Span(text.tokens[index].start, text.tokens[comma - 1].end)
        index = comma + 1


def bound_arguments(text: QueryText, function: Function, call: Span, arguments: Sequence[Span]) -> list[Span | str]:
    """Returns the argument of each parameter: a stretch of the text, or the text of a default.

    ``arguments`` are those of the ``call``, as ``argument_spans`` returns them. Raises ``AnalysisError``.
    """
    assert function.sql is not None
    parameters, shown = function.sql.parameters, shown_name(function)
    numbers = {parameter.name.lower(): number for number, parameter in enumerate(parameters)}
    bound: dict[int, Span] = {}
    is_named, positional = False, 0
    for position, span in enumerate(arguments):
        first, second = (*text.within(span), None, None)[:2]
        if first is None or first.is_word("DISTINCT") or first.is_operator("*"):
            raise no_clause(function, "*" if first is None else first.upper, text.place(call))
        if second is None or not second.is_operator("=>"):
            if is_named:
                raise _misnamed(
                    f"A positional argument of {shown} follows one with a name.",
                    shown,
                    "Write arguments with names last.",
                    condition="UNEXPECTED_POSITIONAL_ARGUMENT",
                    sqlstate="4274K",
                )
            bound[position] = span
            positional += 1
            continue
        is_named = True
        name = identifier_value(first)
        number = numbers.get(name.lower())
        if number is None:
            raise _misnamed(
                f"The function {shown} has no parameter {name}.",
                shown,
                f"Its parameters are {', '.join(p.name for p in parameters)}.",
                condition="UNRECOGNIZED_PARAMETER_NAME",
                sqlstate="4274K",
            )
        if number in bound and number < positional:
            raise _misnamed(
                f"The parameter {name} of {shown} is given by its position and by its name.",
                shown,
                "Give each parameter once.",
                condition="DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.BOTH_POSITIONAL_AND_NAMED",
                sqlstate="4274K",
            )
        if number in bound:
            raise _misnamed(
                f"The parameter {name} of {shown} is given twice.",
                shown,
                "Give each parameter once.",
                condition="DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE",
                sqlstate="4274K",
            )
        bound[number] = Span(text.within(span)[2].start, span.end)
    missing = [number for number, p in enumerate(parameters) if number not in bound and p.default is None]
    if len(arguments) > len(parameters) or (missing and not is_named):
        least = sum(parameter.default is None for parameter in parameters)
        count = str(least) if least == len(parameters) else f"[{least}, {len(parameters)}]"
        raise AnalysisError(
            f"The {shown} requires {count} parameters but the actual number is {len(arguments)}.",
            condition="WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
            sqlstate="42605",
            object=shown,
            hint=f"DESCRIBE FUNCTION {shown} lists its parameters.",
        )
    if missing:
        raise _misnamed(
            f"The parameter {parameters[missing[0]].name} of {shown} has no value.",
            shown,
            "Give it a value.",
            condition="REQUIRED_PARAMETER_NOT_FOUND",
            sqlstate="4274K",
        )
    return [bound.get(number, p.default or "") for number, p in enumerate(parameters)]


def check_table_argument(function: Function, parameter: str, argument: Parts) -> None:
    """Refuses an argument of a function in FROM that is no constant: its names would mean something else in the
    function's query.
    """
    argument_text = "".join(part if isinstance(part, str) else "NULL" for part in argument)
    nodes = walk(QueryText(_SELECT + argument_text).tree)[1:]
    if any(isinstance(node, exp.Column | exp.Query) or not is_scalar(node) for node in nodes):
        raise NotSupportedError(
            f"The argument for {parameter} of the table function {shown_name(function)} is no constant.",
            object=shown_name(function),
            hint="Pass an expression of literals, parameters, variables and the time of the query. Rows of other "
            "relations are joined: FROM t JOIN f(1) AS g ON t.a = g.a.",
        )


def check_argument(function: Function, parameter: str, argument: Parts, uses: Sequence[Use]) -> None:
    """Refuses an argument that would mean something else in the places of its parameter, or be computed anew there."""
    is_plain = not any(use.in_query or use.lambdas for use in uses)
    if len(uses) == 1 and is_plain:
        return
    # A parameter that stands in a query gets no columns.
    argument_text = "".join(
        part if isinstance(part, str) else "NULL" if part.in_query else "rewriter_argument" for part in argument
    )
    nodes = walk(QueryText(_SELECT + argument_text).tree)[1:]
    columns = {part.name.lower() for node in nodes if isinstance(node, exp.Column) for part in node.parts}
    shown = shown_name(function)
    has_query = any(isinstance(node, exp.Query) for node in nodes)
    if any((use.in_query and (columns or has_query)) or not use.lambdas.isdisjoint(columns) for use in uses) or (
        columns and "rewriter_argument" in columns and any(use.lambdas for use in uses)
    ):
        raise NotSupportedError(
            f"The function {shown} uses its parameter {parameter} in a subquery or a lambda, where the columns of the "
            "argument would have another meaning.",
            object=shown,
            hint="Pass a constant, or join the relation that the function reads.",
        )
    if len(uses) > 1 and not all(is_scalar(node) or isinstance(node, _REPEATABLE) for node in nodes):
        raise NotSupportedError(
            f"The function {shown} uses its parameter {parameter} {len(uses)} times, and the argument may not return "
            "the same value each time.",
            object=shown,
            hint="Compute the argument in a subquery: SELECT f(x) FROM (SELECT … AS x FROM …).",
        )


def no_clause(function: Function, clause: str, position: Span) -> AnalysisError:
    shown = shown_name(function)
    condition, sqlstate = "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX", "42000"
    if clause == "OVER":
        condition, sqlstate = "UNSUPPORTED_SQL_UDF_USAGE", "0A000"
    return AnalysisError(
        f"The function {shown} does not support {clause}.",
        condition=condition,
        sqlstate=sqlstate,
        position=position,
        object=shown,
        hint="A SQL function is computed for each row.",
    )


def _misnamed(message: str, shown: str, hint: str, *, condition: str, sqlstate: str) -> AnalysisError:
    return AnalysisError(message, condition=condition, sqlstate=sqlstate, object=shown, hint=hint)
