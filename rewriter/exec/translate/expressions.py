"""Expressions: Spark SQL to DuckDB SQL, each with its Spark type and the name that Spark gives its column.

A call is translated only if its name is on the list of ``allowlist``, any other node only if its class is, and only if
the translation handles every argument that it carries. The entries that a query used are recorded, so that a test can
report which entries the differential tests prove.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NoReturn

from sqlglot import exp

from rewriter.exec.sql_types import BOOLEAN, STRING, VOID, SqlType, decimal
from rewriter.exec.translate.allowlist_entries import CONSTRUCTS, Entry
from rewriter.exec.translate.casts import assigned, assigned_type, cast, cast_entry, common_type, plain_cast
from rewriter.exec.translate.sql_text import SqlText

#: Clauses as users name them: sqlglot's names, or the text of a whole query, would not show users what is refused.
_CLAUSES = {
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT",
    "qualify": "QUALIFY",
    "sample": "TABLESAMPLE",
    "sort": "SORT BY",
    "windows": "WINDOW",
}


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
    string constant, which is read as a date when compared with one; ``digits`` is the value of a literal integer.
    ``char`` and ``varchar`` are the length of the CHAR or VARCHAR column that the expression is.
    """

    sql: str
    type: SqlType
    name: str | None = None
    text: str | None = None
    digits: int | None = None
    char: int | None = None
    varchar: int | None = None

    @property
    def declared(self) -> SqlType:
        """The type of a column that consists of exactly this expression: of a CHAR column, CHAR."""
        if self.char is None and self.varchar is None:
            return self.type.plain
        return replace(self.type, length=self.char or self.varchar, padded=self.char is not None)


@dataclass(frozen=True)
class SourceColumn:
    """A column of a relation in FROM. ``type`` is ``None`` if DuckDB does not handle it; ``type_name`` is the type's
    name in that case.
    """

    name: str
    sql: str
    type: SqlType | None
    type_name: str = ""

    def typed(self, name: str | None = None) -> Typed:
        """Returns the column as an expression. Only for a column whose type DuckDB handles."""
        type_ = self.type or VOID
        char, varchar = (type_.length, None) if type_.padded else (None, type_.length)
        return Typed(self.sql, type_.plain, name, char=char, varchar=varchar)


@dataclass(frozen=True)
class Source:
    """A relation in FROM, with its columns in the order of ``alias.*``. ``hidden_names`` are those that USING merged
    into another source's. The first ``qualified_only`` columns of them are reached by ``alias`` alone; the others are
    the columns that USING returns.
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
    expressions.
    """

    sources: tuple[Source, ...] = ()
    outer_scope: Scope | None = None
    queries: Mapping[str, object] = field(default_factory=dict)

    def find(self, name: str, qualifier: str | None) -> list[SourceColumn]:
        """Returns the columns that a name can mean, in the innermost scope that has any."""
        matches = [
            column
            for source in self.sources
            if qualifier is None or (source.alias or "").lower() == qualifier.lower()
            for column in source.columns_by_name.get(name.lower(), ())
            if qualifier is not None or name.lower() not in source.hidden_names
        ]
        return matches if matches or self.outer_scope is None else self.outer_scope.find(name, qualifier)


#: Translates a subquery in a scope; returns its SQL and its columns' types.
Subquery = Callable[[exp.Expr, Scope], tuple[str, tuple[SqlType, ...]]]


class Expressions:
    """Translates expressions of one query text. ``parameters`` are the values of ``:name``; ``used_parameters`` are
    those that occurred. ``allowed`` is the allow-list, and ``entries`` are its lines that were used.
    """

    def __init__(
        self,
        text: SqlText,
        parameters: Mapping[str, object],
        subquery: Subquery,
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
            expected_count = str(min_count) if min_count == max_count else f"{min_count} to {max_count}"
            self.refuse(
                node, f"The function {self.text.called(node)} of {len(call_arguments)} arguments, not {expected_count},"
            )
        return call_arguments

    def test(self, node: exp.Expr, scope: Scope, clause: str) -> Typed:
        """Translates the condition of a clause in which Spark refuses a bare NULL. ``clause`` is a key of
        ``_NO_TESTS``.
        """
        if isinstance(node.unnest(), exp.Null):
            condition, sqlstate = _NO_TESTS[clause]
            self.text.wrong(f"The condition of {clause} is a BOOLEAN, not VOID.", condition, sqlstate, node)
        return self.condition(node, scope)

    def condition(self, node: exp.Expr, scope: Scope) -> Typed:
        """Translates a boolean, or NULL. Like Spark, it refuses numbers and strings."""
        value = self.translate(node, scope)
        if value.type == VOID:
            return Typed("CAST(NULL AS BOOLEAN)", BOOLEAN, value.name)
        if value.type != BOOLEAN:
            self.text.wrong(
                f"A condition is a BOOLEAN, not {value.type}.",
                "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", node,
            )  # fmt: skip
        return value

    def refuse(self, node: exp.Expr, construct: str | None = None) -> NoReturn:
        """Raises the error for a node that is not on the list."""
        if construct is None:
            name = self.text.called(node)
            if name is None and isinstance(node, exp.Func):
                name = self.text.function_name(node)
            construct = f"The expression {self.text.shown(node)}" if name is None else f"The function {name}"
        self.text.refuse(construct, node)

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
        self, values: Sequence[Typed], node: exp.Expr, binary: bool = False
    ) -> tuple[list[str], SqlType]:
        """Casts the values to their common type. In a comparison (``binary``), a string constant takes the other's
        type, and a literal integer beside a decimal is as narrow as its digits. A CHAR column is compared elsewhere, or
        refused.
        """
        if binary and any(value.char for value in values):
            self.refuse(node, "A CHAR column in this comparison")
        if binary and any(value.type.is_decimal for value in values):
            values = [narrow_literal(value) for value in values]
        value_types = [value.type for value in values if value.text is None and value.type != VOID]
        target = (
            value_types[0] if value_types else (STRING if any(value.text is not None for value in values) else VOID)
        )
        for type_ in value_types[1:]:
            common_type_ = common_type(target, type_)
            if common_type_ is None:
                self.refuse(node, f"{'Comparing' if binary else 'Mixing'} {target} with {type_}")
            target = common_type_
        if binary and target.name != "string" and any(value.text is not None for value in values):
            target = assigned_type(target)
        sqls = []
        for value in values:
            if value.text is not None and target.name != "string":
                sql = assigned(value.text, target) if binary else None
                if sql is None:
                    self.refuse(node, f"Reading the string '{value.text}' as {target}")
                sqls.append(sql)
            else:
                sqls.append(self.cast(value, target, node))
        return sqls, target

    def typed_text(self, node: exp.Expr) -> str:
        """Returns the typed text of the node, in lower case, if sqlglot kept its position."""
        if not node._meta or "start" not in node.meta:
            return ""
        return self.text.text[node.meta["start"] : node.meta["end"] + 1].lower()


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
    return None if any(name is None for name in names) else f"{function}({', '.join(str(name) for name in names)})"


def infix(operator: str, left: str | None, right: str | None) -> str | None:
    """Returns Spark's name of an operator's column."""
    return None if left is None or right is None else f"({left} {operator} {right})"


def narrow_literal(value: Typed) -> Typed:
    """Returns a literal integer as the decimal of exactly its digits, which is its type beside a decimal."""
    if value.digits is None:
        return value
    type_ = decimal(len(str(abs(value.digits))), 0)
    return Typed(plain_cast(str(value.digits), type_), type_, value.name)
