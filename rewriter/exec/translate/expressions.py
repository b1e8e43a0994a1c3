"""Expressions: Spark SQL to DuckDB SQL, each with its Spark type and the name that Spark gives its column.

A call is translated only if its name is on the list of ``allowlist``, any other node only if its class is, and only if
the translation handles every argument that it carries. The entries that a query used are recorded, so that a test can
report which entries the differential tests prove.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from rewriter.exec.spark_functions import is_function, similar_function, wrong_arity
from rewriter.exec.sql_types import BOOLEAN, STRING, VOID, SqlType, decimal
from rewriter.exec.translate.allowlist_entries import CONSTRUCTS, Entry
from rewriter.exec.translate.casts import assigned_literal, cast, cast_entry, plain_cast, wider_type
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.text.call_names import call_name, infix_name
from rewriter.timeline.time_bounds import check_text, refuse_number

if TYPE_CHECKING:
    from rewriter.exec.translate.sql_text import SqlText

#: Clauses as users name them: sqlglot's names, or the text of a whole query, would not show users what is refused.
_CLAUSES = {
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "sort": "SORT BY",
    "windows": "WINDOW",
}


#: Functions whose unit Spark compares as it is spelled.
_FUNCTIONS_OF_UNITS = ("date_trunc", "trunc")
#: Spark's conditions and SQLSTATEs if the condition of a clause is not a BOOLEAN.
_NO_TESTS = {
    "WHERE": ("DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", "42K09"),
    "CASE": ("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09"),
    "ON": ("JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE", "42K0E"),
    "FILTER": ("INVALID_AGGREGATE_FILTER.NOT_BOOLEAN", "42903"),
}


@dataclass(frozen=True)
class Typed:
    """A translated expression. ``name`` is Spark's name for its column, if it is known. ``text`` is the value of a
    string constant, which is read as a date when compared with one; ``digits`` is the value of a literal integer,
    ``suffixed`` that of one with a letter for its type (``1L``).
    ``char`` and ``varchar`` are the length of the CHAR or VARCHAR column that the expression is. All values of a column
    with a ``time_pattern`` follow it.
    """

    sql: str
    type: SqlType
    name: str | None = None
    text: str | None = None
    digits: int | None = None
    suffixed: int | None = None
    char: int | None = None
    varchar: int | None = None
    time_pattern: str | None = None

    @property
    def declared(self) -> SqlType:
        """The type of a column that consists of exactly this expression: of a CHAR column, CHAR."""
        if self.char is None and self.varchar is None:
            return self.type.plain
        return replace(self.type, length=self.char or self.varchar, padded=self.char is not None)


@dataclass(frozen=True)
class ExpressionKey:
    """What makes two expressions of one query equal for GROUP BY, HAVING and ORDER BY: the same translation, whose
    columns are resolved, and the same spelling of each unit. Spark does not treat ``date_trunc('MONTH', t)`` as grouped
    by ``date_trunc('month', t)``.
    """

    sql: str
    units: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceColumn:
    """A column of a relation in FROM. ``type`` is ``None`` if DuckDB does not handle it; ``type_name`` is the type's
    name in that case. All of its values follow ``time_pattern``, if there is one.
    """

    name: str
    sql: str
    type: SqlType | None
    type_name: str = ""
    time_pattern: str | None = None

    def typed(self, name: str | None = None) -> Typed:
        """Returns the column as an expression. Only for a column whose type DuckDB handles."""
        type_ = self.type or VOID
        char, varchar = (type_.length, None) if type_.padded else (None, type_.length)
        return Typed(self.sql, type_.plain, name, char=char, varchar=varchar, time_pattern=self.time_pattern)


@dataclass(frozen=True)
class Source:
    """A relation in FROM, with its columns in the order of ``alias.*``. ``hidden_names`` are the names that USING
    merged into another source's. The first ``qualified_only`` columns of them are reached by ``alias`` alone; the
    others are the columns that USING returns.
    """

    alias: str | None
    columns: tuple[SourceColumn, ...]
    hidden_names: frozenset[str] = frozenset()
    qualified_only: int = 0

    @cached_property
    def columns_by_name(self) -> Mapping[str, Sequence[SourceColumn]]:
        """The columns by their names in lower case."""
        by_name: dict[str, list[SourceColumn]] = {}
        for column in self.columns:
            by_name.setdefault(column.name.lower(), []).append(column)
        return by_name

    def after_using(self, names: Sequence[str], in_result: bool) -> Source:
        """Returns the source after USING of ``names``, whose columns come first in ``alias.*``. If ``in_result``, they
        are the columns that USING itself returns.
        """
        lower_names = [name.lower() for name in names]
        qualified, other_columns = self.columns[: self.qualified_only], self.columns[self.qualified_only :]
        keys = tuple(column for name in lower_names for column in other_columns if column.name.lower() == name)
        rest_columns = tuple(column for column in other_columns if column.name.lower() not in lower_names)
        hidden_names = self.hidden_names | frozenset(lower_names)
        if in_result:
            return replace(self, columns=(*qualified, *keys, *rest_columns), hidden_names=hidden_names)
        return replace(
            self,
            columns=(*keys, *qualified, *rest_columns),
            hidden_names=hidden_names,
            qualified_only=self.qualified_only + len(keys),
        )


@dataclass(frozen=True)
class Scope:
    """A scope of names. ``outer_scope`` is the scope around a subquery, ``queries`` are its common table
    expressions, ``windows`` the windows that the SELECT names, ``variables`` those of the lambdas around an expression,
    by their names in lower case.
    """

    sources: tuple[Source, ...] = ()
    outer_scope: Scope | None = None
    queries: Mapping[str, object] = field(default_factory=dict)
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    variables: Mapping[str, Typed] = field(default_factory=dict)

    def find(self, name: str, qualifier: str | None) -> list[SourceColumn]:
        """Returns the columns that a name can mean, in the innermost scope that has any."""
        matches = self._own_columns(name, qualifier)
        return matches if matches or self.outer_scope is None else self.outer_scope.find(name, qualifier)

    def find_path(self, names: Sequence[str]) -> tuple[list[SourceColumn], Sequence[str]]:
        """Returns the columns that the first names of ``a.b.c`` can mean, and the other names, which are fields. In one
        scope, ``a.b`` is the column ``b`` of the relation ``a`` before it is the field ``b`` of the column ``a``.
        """
        if len(names) > 1 and (matches := self._own_columns(names[1], names[0])):
            return matches, names[2:]
        if matches := self._own_columns(names[0], None):
            return matches, names[1:]
        return ([], ()) if self.outer_scope is None else self.outer_scope.find_path(names)

    def _own_columns(self, name: str, qualifier: str | None) -> list[SourceColumn]:
        return [
            column
            for source in self.sources
            if qualifier is None or (source.alias or "").lower() == qualifier.lower()
            for column in source.columns_by_name.get(name.lower(), ())
            if qualifier is not None or name.lower() not in source.hidden_names
        ]


@dataclass(frozen=True)
class OuterScope(Scope):
    """The scope around a subquery. ``used_names`` are the names that the subquery found in it."""

    used_names: list[str] = field(default_factory=list)

    def find(self, name: str, qualifier: str | None) -> list[SourceColumn]:
        matches = super().find(name, qualifier)
        if matches:
            self.used_names.append(name)
        return matches

    def find_path(self, names: Sequence[str]) -> tuple[list[SourceColumn], Sequence[str]]:
        matches, fields = super().find_path(names)
        if matches:
            self.used_names.append(names[0])
        return matches, fields


#: Translates a subquery in a scope; returns its SQL, its columns' types, and whether it names columns of the scope:
#: Spark lists them in the names of expressions.
_Subquery = Callable[[exp.Expr, Scope], tuple[str, tuple[SqlType, ...], bool]]


class Expressions:
    """Translates expressions of one query text. ``parameters`` are the values of ``:name``; ``used_parameters`` are the
    parameters that occurred. ``allowed`` is the allow-list, and ``entries`` are its lines that were used.
    """

    def __init__(
        self,
        text: SqlText,
        parameters: Mapping[str, object],
        subquery: _Subquery,
        allowed: Mapping[type[exp.Expr] | str, Allowed],
    ) -> None:
        self.text = text
        self.parameters = parameters
        self.used_parameters: dict[str, object] = {}
        self.entries: set[Entry] = set()
        self.subquery = subquery
        self.allowed = allowed

    def translate(self, node: exp.Expr, scope: Scope) -> Typed:
        """Translates an expression to DuckDB's SQL. Raises ``NotSupportedError`` for constructs that are not on the
        list.
        """
        allowed = self.allowed.get(self.text.called(node) or type(node))
        if allowed is None:
            self.refuse(node)
        if allowed.entry is not None:
            self.entries.add(allowed.entry)
        return allowed.translation(self, node, scope)

    def key(self, node: exp.Expr | None, value: Typed) -> ExpressionKey:
        """Returns the key by which an expression, translated to ``value``, equals others. ``node`` is ``None`` for a
        column of ``*``.
        """
        sql = value.sql
        while isinstance(node, exp.Paren):
            node, sql = node.this, sql.removeprefix("(").removesuffix(")")
        if node is None or isinstance(node, exp.Column):
            return ExpressionKey(sql)
        calls = (part for part in node.walk() if self.text.called(part) in _FUNCTIONS_OF_UNITS)
        units = (argument for part in calls for argument in part.expressions if isinstance(argument, exp.Literal))
        return ExpressionKey(sql, tuple(str(unit.this) for unit in units))

    def construct(self, form: str) -> None:
        """Records a construct that is not an expression. ``form`` is its key in ``CONSTRUCTS``."""
        self.entries.add(CONSTRUCTS[form])

    def arguments(self, node: exp.Expr, min_count: int, max_count: int | None = None) -> list[exp.Expr]:
        """Returns the arguments of a call: ``min_count`` to ``max_count`` of them, or exactly
        ``min_count`` if ``max_count`` is not given.
        """
        self.allow_only(node, "this", "expressions")
        call_arguments: list[exp.Expr] = node.expressions
        max_count = min_count if max_count is None else max_count
        if not min_count <= len(call_arguments) <= max_count:
            self.check_arity(node, len(call_arguments))
            expected_count = str(min_count) if min_count == max_count else f"{min_count} to {max_count}"
            name = self.text.called(node) or str(node.key)
            self.refuse(node, f"The function {name} of {len(call_arguments)} arguments, not {expected_count},")
        return call_arguments

    def check_arity(self, node: exp.Expr, count: int) -> None:
        """Raises Spark's error for a call with a number of arguments that the function never has."""
        name = str(self.text.called(node))
        taken = wrong_arity(name, count)
        if taken is not None:
            message = f"The function {name} takes {taken}, not {count}."
            if name == "count":
                self.text.wrong(message, "WRONG_NUM_ARGS.WITH_SUGGESTION", "42605", node, name)
            self.text.wrong(message, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "42605", node, name)

    def test(self, node: exp.Expr, scope: Scope, clause: str) -> Typed:
        """Translates the condition of a clause in which Spark refuses a bare NULL. ``clause`` is a key of
        ``_NO_TESTS``.
        """
        value = self.translate(node, scope)
        if isinstance(node.unnest(), exp.Null) or value.type not in (BOOLEAN, VOID):
            condition, sqlstate = _NO_TESTS[clause]
            self.text.wrong(
                f"The condition of {clause} is a BOOLEAN, not {value.type.shown}.", condition, sqlstate, node
            )
        return _boolean(value)

    def condition(self, node: exp.Expr, scope: Scope) -> Typed:
        """Translates a boolean, or NULL. Like Spark, it refuses numbers and strings."""
        value = self.translate(node, scope)
        if value.type not in (BOOLEAN, VOID):
            self.text.wrong(
                f"A condition is a BOOLEAN, not {value.type.shown}.",
                "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", node,
            )  # fmt: skip
        return _boolean(value)

    def comparable(self, value: Typed, node: exp.Expr, what: str, grouped: bool = False) -> Typed:
        """Returns the value. Refuses a nested value where values are compared: in ``what``. Where values are
        ``grouped``, only equality matters, and arrays and structs without floating-point numbers are equal as in Spark.
        """
        if value.type.is_nested and (not grouped or value.type.leaves & {"map", "float", "double"}):
            if "map" in value.type.leaves and what.startswith("ORDER BY"):
                self._refuse_ordering(value.type, node)
            self.refuse(node, f"{what} of {value.type}")
        return value

    def _refuse_ordering(self, type_: SqlType, node: exp.Expr) -> NoReturn:
        """Raises Spark's error for a comparison of maps."""
        message = f"{self.text.shown(node)} compares values of the type {type_.shown}, and maps cannot be compared."
        self.text.wrong(message, "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "42K09", node)

    def refuse(self, node: exp.Expr, construct: str | None = None) -> NoReturn:
        """Raises the error for a node that is not on the list."""
        if construct is None:
            name = self.text.called(node)
            if name is None and isinstance(node, exp.Func):
                name = self.text.function_name(node)
            if name is not None and self.text.called(node) == name and not is_function(name):
                self._refuse_unknown(name, node)
            construct = f"The expression {self.text.shown(node)}" if name is None else f"The function {name}"
        self.text.refuse(construct, node)

    def _refuse_unknown(self, name: str, node: exp.Expr) -> NoReturn:
        """Raises Spark's error for a function that does not exist, with the nearest one that the list has."""
        similar = similar_function(name, [function for function in self.allowed if isinstance(function, str)])
        hint = "SHOW FUNCTIONS lists all." if similar is None else f"Did you mean {similar}?"
        self.text.wrong(f"There is no function {name}.", "UNRESOLVED_ROUTINE", "42883", node, name, hint)

    def allow_only(self, node: exp.Expr, *translated_keys: str) -> None:
        """Refuses a node that carries an argument which the translation would drop."""
        for key, value in node.args.items():
            if value not in (None, False, []) and key not in translated_keys and not key.startswith("_"):
                self.refuse(node, _CLAUSES.get(key) or f"{key.strip('_').upper()} in {self.text.shown(node)}")

    def cast(self, value: Typed, target: SqlType, node: exp.Expr, tolerant: bool = False) -> str:
        sql = cast(value.sql, value.type, target, tolerant)
        if sql is None:
            self.refuse(node, f"The cast from {value.type} to {target}")
        entry = cast_entry(value.type, target, tolerant)
        if entry is not None:
            self.entries.add(entry)
        return sql

    def cast_to_common_type(
        self, values: Sequence[Typed], node: exp.Expr, binary: bool = False, operands: Sequence[exp.Expr] = ()
    ) -> tuple[list[str], SqlType]:
        """Casts the values to their common type. A string beside another type takes the type that it is promoted to. In
        a comparison (``binary``), a literal integer beside a decimal is as narrow as its digits, and a CHAR column is
        compared elsewhere, or refused. ``operands`` are the values as typed, for errors.
        """
        if binary and any(value.char for value in values):
            self.refuse(node, "A CHAR column in this comparison")
        if any(value.type.is_nested for value in values):
            return self._cast_nested(values, node, binary)
        if binary and any(value.type.is_decimal for value in values):
            values = [narrow_literal(value) for value in values]
        # Spark, too, begins with the strings.
        target, *types = sorted((value.type for value in values), key=lambda type_: type_ != STRING)
        for type_ in types:
            common_type_ = wider_type(target, type_)
            if common_type_ is None:
                self._check_numbers(values, node, operands)
                self.refuse_mixed(target, type_, node, binary)
            target = common_type_
        return [self._read_as(value, target, node, binary) for value in values], target

    def _cast_nested(self, values: Sequence[Typed], node: exp.Expr, binary: bool) -> tuple[list[str], SqlType]:
        """Casts arrays, maps and structs to their common type. Only values of one type are compared, and only by ``=``,
        ``<>`` and ``<=>``: NULLs within them are in another order than Spark's.
        """
        target = values[0].type
        for value in values[1:]:
            wider = wider_type(target, value.type)
            if wider is None:
                self.refuse(node, f"{self.text.shown(node)}, which mixes {target} and {value.type},")
            target = wider
        if binary:
            if "map" in target.leaves:
                self._refuse_ordering(target, node)
            is_equality = isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ | exp.NullSafeNEQ)
            if not is_equality or {value.type for value in values} - {VOID, target}:
                self.refuse(node, f"{self.text.shown(node)}, which compares {target},")
        return [self.cast(value, target, node) for value in values], target

    def _read_as(self, value: Typed, target: SqlType, node: exp.Expr, binary: bool) -> str:
        """Casts a value to the type that it is promoted to. A string constant is read here if its form is usual."""
        if value.text is None or target.name == "string":
            return self.cast(value, target, node)
        if binary and target.is_datetime:
            check_text(value.text, target.name.upper(), self.text.position(node))
        sql = assigned_literal(value.text, target)
        if sql is None and target.is_datetime:
            self.refuse(node, f"Reading the string '{value.text}' as {target}")
        return self.cast(value, target, node) if sql is None else sql

    def refuse_mixed(self, left: SqlType, right: SqlType, node: exp.Expr, binary: bool) -> NoReturn:
        """Raises the error for two types without a common one: Spark's own, unless both are numbers."""
        if left.is_numeric and right.is_numeric:
            self.refuse(node, f"{'Comparing' if binary else 'Mixing'} {left} with {right}")
        is_operator = isinstance(node, exp.Binary | exp.Between)
        verb = "compared" if binary else "combined" if is_operator else "mixed"
        is_time = left.is_datetime is not right.is_datetime and (left.is_integer or right.is_integer)
        self.text.wrong(
            f"{left.shown} and {right.shown} cannot be {verb}.",
            f"DATATYPE_MISMATCH.{'BINARY_OP_DIFF_TYPES' if is_operator else 'DATA_DIFF_TYPES'}",
            "42K09",
            node,
            hint="Write a time in quotes: '2013-07-01'." if is_time else "Convert one of them: CAST(… AS …).",
        )

    def _check_numbers(self, values: Sequence[Typed], node: exp.Expr, operands: Sequence[exp.Expr]) -> None:
        """Refuses a number or a BOOLEAN that is compared with a time, as Spark does."""
        time = next((value.type for value in values if value.type.is_datetime), None)
        for operand, value in zip(operands, values, strict=False):
            if time is not None and (value.type.is_numeric or value.type == BOOLEAN):
                position, kind = self.text.position(operand), str(value.type).upper()
                shown, article = self.text.shown(operand), "an" if kind.startswith("INT") else "a"
                refuse_number(shown, str(time).upper(), f"{article} {kind}", position, is_list=isinstance(node, exp.In))

    def typed_text(self, node: exp.Expr) -> str:
        """Returns the typed text of the node, in lower case, if sqlglot kept its position."""
        if not node._meta or "start" not in node.meta:
            return ""
        return self.text.text[node.meta["start"] : node.meta["end"] + 1].lower()


def _boolean(value: Typed) -> Typed:
    """Returns a boolean; NULL of no type becomes one."""
    return value if value.type == BOOLEAN else Typed("CAST(NULL AS BOOLEAN)", BOOLEAN, value.name)


#: Translates a call, or nodes of one class.
Translation = Callable[[Expressions, exp.Expr, Scope], Typed]


@dataclass(frozen=True)
class Allowed:
    """A translation with its line of the list; ``None`` if the construct's forms have lines of their own."""

    translation: Translation
    entry: Entry | None


def functions(
    section: str, *lines: tuple[str, Translation] | tuple[str, Translation, str]
) -> dict[type[exp.Expr] | str, Allowed]:
    """Functions by name: ``(form, translation, refused)``, where a form is the name and then the arguments."""
    by_name: dict[type[exp.Expr] | str, Allowed] = {}
    for form, translation, *refused in lines:
        by_name[form.partition("(")[0]] = Allowed(translation, Entry(section, form, *refused))
    return by_name


def quoted(name: str, qualifier: str | None = None) -> str:
    """Returns a name as Spark quotes it in messages."""
    return f"`{name}`" if qualifier is None else f"`{qualifier}`.`{name}`"


def call(function: str, *names: str | None) -> str | None:
    """Returns Spark's name of a call's column."""
    argument_names = [name for name in names if name is not None]
    return None if len(argument_names) < len(names) else call_name(function, argument_names)


def infix(operator: str, left: str | None, right: str | None) -> str | None:
    """Returns Spark's name of an operator's column."""
    return None if left is None or right is None else infix_name(operator, left, right)


def narrow_literal(value: Typed) -> Typed:
    """Returns a literal integer as the decimal of exactly its digits, which is its type beside a decimal."""
    digits = value.suffixed if value.digits is None else value.digits
    if digits is None:
        return value
    type_ = decimal(len(str(abs(digits))), 0)
    return Typed(plain_cast(str(digits), type_), type_, value.name)


def as_no_literal(value: Typed) -> Typed:
    """Returns a value that ``narrow_literal`` does not change."""
    return replace(value, digits=None, suffixed=None)
