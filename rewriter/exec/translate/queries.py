"""Queries: Spark SQL to DuckDB SQL by an allow-list, with the types and names of Spark's result.

A construct that is not on the list is a ``NotSupportedError`` DUCKDB_UNSUPPORTED that names the construct and its
position; the result never differs from Spark's. Names are resolved here, so DuckDB's own rules for them do not matter:
every relation gets a generated alias, and every column of a SELECT is ``c0, c1 …``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.exec.sql_types import INT, SqlType, duckdb_type
from rewriter.exec.translate.allowlist import ALLOWED
from rewriter.exec.translate.casts import wider_type
from rewriter.exec.translate.expressions import Expressions, OuterScope, Scope, Source, SourceColumn, Typed
from rewriter.exec.translate.from_clause import Cte, Ctes, FromClauses, Query, joined_rows
from rewriter.exec.translate.generators import generated, is_generator
from rewriter.exec.translate.grouping_sets import ALL_KEYS
from rewriter.exec.translate.literal_tables import NAME, LiteralTable, literal_table
from rewriter.exec.translate.random_values import check_once
from rewriter.exec.translate.select_items import Item
from rewriter.exec.translate.select_lists import SelectLists
from rewriter.exec.translate.sql_text import SqlText
from rewriter.gc_pause import paused
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.text.sqlglot_trees import children

if TYPE_CHECKING:
    from rewriter.exec.engine import EngineQuery
    from rewriter.exec.translate.allowlist_entries import Entry

#: The maximum number of queries in one set operation. DuckDB's time grows with the square of their number, to about a
#: minute here.
_MOST_ARMS = 5_000
#: The LIMIT up to which the rows of a query are few.
_FEW_ROWS = 1_000


@dataclass(frozen=True)
class Translation:
    """DuckDB SQL whose columns, by position, have these names and types. ``parameters`` are those it uses, ``entries``
    the lines of the allow-list. ``literals`` is the table ``literal_tables.NAME`` that it reads, if it reads any.
    ``has_few_rows`` is true if it certainly has at most a thousand rows, by a LIMIT or as one group; ``is_random`` if
    each run returns other values.
    """

    sql: str
    columns: tuple[tuple[str, SqlType], ...]
    parameters: Mapping[str, object] = field(default_factory=dict)
    entries: frozenset[Entry] = frozenset()
    literals: LiteralTable | None = None
    has_few_rows: bool = False
    is_random: bool = False


def translate(query: EngineQuery) -> Translation:
    """Returns the query for DuckDB, where every relation is a view with its name. About 1 ms for a query of ordinary
    size.

    Raises ``NotSupportedError`` for constructs that are not on the list, and ``EngineError`` for unknown names.
    """
    with paused():
        return _translated(query)


def _translated(query: EngineQuery) -> Translation:
    text = SqlText(query.sql, query.tokens)
    literals = literal_table(text)
    if literals is not None:
        columns = tuple((f"col{number}", type_) for number, type_ in enumerate(literals.types, start=1))
        return Translation(
            f"SELECT {', '.join(literals.names)} FROM {NAME}", columns, entries=literals.entries, literals=literals
        )
    queries = _Queries(query, text)
    try:
        translated = queries.query(queries.text.tree, Scope(), {})
    except RecursionError:
        queries.text.refuse("A query that is nested so deeply")
    # A parameter whose value became a literal (a string compared with a timestamp) no longer occurs in the SQL.
    names = set(re.findall(r"\$(\w+)", translated.sql))
    used = {name: value for name, value in queries.expressions.used_parameters.items() if name in names}
    return Translation(
        translated.sql,
        translated.columns,
        used,
        frozenset(queries.expressions.entries),
        has_few_rows=_has_few_rows(queries.text.tree, queries.lists),
        is_random=check_once(queries.text, translated.sql),
    )


def _has_few_rows(query: exp.Expr, lists: SelectLists) -> bool:
    limit = query.args.get("limit")
    size = limit.expression if isinstance(limit, exp.Limit) else None
    if isinstance(size, exp.Literal) and size.is_int and int(size.this) <= _FEW_ROWS:
        return True
    is_one_group = isinstance(query, exp.Select) and not query.args.get("group")
    return is_one_group and any(map(lists.has_aggregate, query.expressions))


class _Queries:
    def __init__(self, query: EngineQuery, text: SqlText) -> None:
        self.text = text
        self.expressions = Expressions(self.text, query.parameters, self._subquery, ALLOWED)
        self.lists = SelectLists(self.expressions)
        self.clauses = FromClauses(self.expressions, query.relations, self.query)
        self._subqueries: list[tuple[Scope, str | None, tuple[str, tuple[SqlType, ...], bool]]] = []

    # -- queries ------------------------------------------------------------------------------------------------

    def query(self, node: exp.Expr, outer_scope: Scope, ctes: Ctes) -> Query:
        """Translates any query. ``outer_scope`` is the scope around it, for correlated subqueries."""
        if isinstance(node, exp.Subquery):
            self.expressions.allow_only(node, "this", "order", "limit", "offset", "with_")
            head, ctes = self._with(node, outer_scope, ctes)
            subquery = self.query(node.this, outer_scope, ctes)
            if any(node.args.get(key) for key in ("order", "limit", "offset")):
                return self._headed(head, self._sorted(node, subquery))
            return self._headed(head, subquery)
        if isinstance(node, exp.Select):
            return self._select(node, outer_scope, ctes)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, outer_scope, ctes)
        if isinstance(node, exp.Values):
            return self._values(node)
        return self.text.refuse(f"The statement {self.text.shown(node)}", node)

    def _subquery(self, node: exp.Expr, scope: Scope) -> tuple[str, tuple[SqlType, ...], bool]:
        """Translates a subquery of an expression. One text has one translation in a scope, so that it can be a key of
        GROUP BY.
        """
        span = self.text.position(node)
        key = None if span is None else self.text.text[span.start : span.end]
        for known_scope, known_key, known in self._subqueries:
            if known_scope is scope and known_key == key is not None:
                return known
        ctes = {name: cte for name, cte in scope.queries.items() if isinstance(cte, Cte)}
        outer_scope = OuterScope(scope.sources, scope.outer_scope, scope.queries, scope.windows)
        query = self.query(node, outer_scope, ctes)
        result = query.sql, tuple(type_ for _, type_ in query.columns), bool(outer_scope.used_names)
        self._subqueries.append((scope, key, result))
        return result

    def _with(self, node: exp.Expr, outer_scope: Scope, ctes: Ctes) -> tuple[str, Ctes]:
        clause = node.args.get("with_")
        if clause is None:
            return "", ctes
        self.expressions.allow_only(clause, "expressions", "recursive")
        self.expressions.construct("WITH")
        visible = dict(ctes)
        names: set[str] = set()
        parts: list[str] = []
        for cte in clause.expressions:
            self.expressions.allow_only(cte, "this", "alias")
            if cte.alias.lower() in names:
                self.text.wrong(
                    f"Two common table expressions have the name `{cte.alias}`.",
                    "DUPLICATED_CTE_NAMES", "42602", cte, cte.alias,
                )  # fmt: skip
            names.add(cte.alias.lower())
            if clause.args.get("recursive") and _names_itself(cte):
                visible[cte.alias.lower()] = self._recursive(cte, outer_scope, visible, parts)
                continue
            query = self.query(cte.this, outer_scope, visible)
            alias = self.clauses.alias()
            columns = self.clauses.renamed(query.columns, cte.args["alias"], cte)
            visible[cte.alias.lower()] = Cte(alias, columns)
            parts.append(f"{alias} AS ({query.sql})")
        return f"WITH {'RECURSIVE ' if clause.args.get('recursive') else ''}{', '.join(parts)} ", visible

    def _recursive(self, cte: exp.Expr, outer_scope: Scope, ctes: Ctes, parts: list[str]) -> Cte:
        """Adds the queries of a recursive common table expression to ``parts``."""
        self.expressions.construct("WITH RECURSIVE name AS (SELECT … UNION ALL SELECT … FROM name …)")
        recursion = _recursive_parts(self.expressions, cte, self.lists.is_aggregate)
        anchor = self.query(recursion.anchor, outer_scope, ctes)
        columns = self.clauses.renamed(anchor.columns, cte.args["alias"], cte)
        rows, read, result = (self.clauses.alias() for _ in range(3))
        inner = Cte(rows, (*columns, (_STEP, _STEP_TYPE)))
        step = self.query(recursion.step, outer_scope, {**ctes, cte.alias.lower(): inner})
        types = [type_ for _, type_ in columns]
        items = ", ".join(_step_items(self.expressions, cte, types, step.columns[:-1]))
        first = ", ".join([*(f"c{number}" for number in range(len(types))), f"0 AS c{len(types)}"])
        parts.append(f"{rows} AS (SELECT {first} FROM ({anchor.sql}) UNION ALL SELECT {items} FROM ({step.sql}))")
        parts.append(f"{read} AS MATERIALIZED (SELECT * FROM {rows})")
        parts.append(f"{result} AS ({limited(read, cte.alias, len(types))})")
        return Cte(result, columns)

    @staticmethod
    def _headed(head: str, query: Query) -> Query:
        return replace(query, sql=head + query.sql) if head else query

    def _select(self, node: exp.Select, outer_scope: Scope, ctes: Ctes) -> Query:
        e = self.expressions
        e.allow_only(node, "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset",
               "distinct", "with_", "hint", "windows", "qualify", "sort", "cluster", "distribute",
               "laterals")  # fmt: skip
        head, ctes = self._with(node, outer_scope, ctes)
        from_sql, sources = self.clauses.clause(node, outer_scope, ctes)
        scope = Scope(sources, outer_scope if outer_scope.sources else None, dict(ctes), _windows(e, node))
        _check_calls(e, node, self.lists.is_aggregate)
        if node.args.get("where"):
            e.construct("WHERE")
        where = f" WHERE {e.test(node.args['where'].this, scope, 'WHERE').sql}" if node.args.get("where") else ""
        generator = self._generator(node)
        made: dict[int, list[Item]] = {}
        if generator is not None:
            rows = generated(e, generator, scope, self.clauses.alias())
            from_sql = (from_sql or " FROM (SELECT 1) AS d") + joined_rows(rows)
            made[id(generator)] = [Item(c.name, c.typed(c.name), None, True) for c in rows.source.columns]
        items = self.lists.items(node.expressions, scope, made)
        group = self.lists.group(node.args.get("group"), items, scope)
        tests = [group.having] if group.having else []
        if node.args.get("having"):
            tests.append(self.lists.having_sql(node.args["having"], items, group, scope))
        having = f" HAVING {' AND '.join(tests)}" if tests else ""
        self.lists.check_grouping(node, group, scope)
        self.lists.check_ungrouped(node, items, group, scope)
        distinct = node.args.get("distinct")
        if distinct is not None:
            e.allow_only(distinct)
            e.construct("SELECT DISTINCT")
            for item in items:
                e.comparable(item.value, node, "SELECT DISTINCT", grouped=True)
        selected = self.lists.selected(items, group, distinct=distinct is not None)
        sql = f"SELECT {'DISTINCT ' if distinct else ''}{selected}{from_sql}{where}{group.sql}{having}"
        sql += self.lists.qualify(node, items, scope)
        sql += self.lists.order(node, items, scope, distinct is not None) + _limits(self.expressions, node)
        if ALL_KEYS in sql and group.set_keys is not None:
            keys = ", ".join(key.sql for key in group.set_keys)
            sql = sql.replace(ALL_KEYS, f"grouping({keys})" if keys else "0")
        columns = tuple((item.name, item.value.declared) for item in items)
        return self._headed(head, Query(sql, columns))

    def _generator(self, node: exp.Select) -> exp.Expr | None:
        """Returns the item of a SELECT list that is a call of EXPLODE or POSEXPLODE, perhaps with names."""
        items = [item for item in node.expressions if is_generator(self.expressions, item)]
        if len(items) > 1:
            self.text.refuse(
                "More than one generator in a SELECT list", items[1], "Write LATERAL VIEW for each of them."
            )
        has_groups = any(node.args.get(key) for key in ("group", "having", "qualify"))
        if items and (has_groups or any(self.lists.has_aggregate_or_window(item) for item in node.expressions)):
            self.text.refuse(f"{self.text.shown(items[0])} beside aggregates or windows", items[0])
        return items[0] if items else None

    def _set_operation(self, node: exp.SetOperation, outer_scope: Scope, ctes: Ctes) -> Query:
        self.expressions.allow_only(node, "this", "expression", "distinct", "order", "limit", "offset", "with_")
        head, ctes = self._with(node, outer_scope, ctes)
        # A union of many arms is a deep tree on its left side.
        chain: list[exp.SetOperation] = [node]
        while type(chain[-1].this) is type(node) and _is_chain_link(chain[-1].this, bool(node.args.get("distinct"))):
            chain.append(chain[-1].this)
        arms = [chain[-1].this, *(operation.expression for operation in reversed(chain))]
        if len(arms) > _MOST_ARMS:
            self.text.refuse(f"A set operation of {len(arms):,} queries, more than {_MOST_ARMS:,},", node)
        queries = [self.query(arm, outer_scope, ctes) for arm in arms]
        types = self._common_types(queries, node)
        word = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}[type(node)]
        form = {"EXCEPT": "EXCEPT, MINUS", "EXCEPT ALL": "EXCEPT ALL, MINUS ALL"}
        word = word if node.args.get("distinct") else f"{word} ALL"
        self.expressions.construct(form.get(word, word))
        sql = f" {word} ".join(f"({self._as_types(query, types)})" for query in queries)
        columns = tuple((name, type_) for (name, _), type_ in zip(queries[0].columns, types, strict=True))
        if word != "UNION ALL" and any(type_.is_floating for type_ in types):
            # Of equal zeros Spark returns 0.0, never -0.0.
            merged_items = (
                f"{f'(c{n} + 0)' if type_.is_floating else f'c{n}'} AS c{n}" for n, type_ in enumerate(types)
            )
            sql = f"SELECT {', '.join(merged_items)} FROM ({sql})"
        union_query = Query(sql, columns)
        if any(node.args.get(key) for key in ("order", "limit", "offset")):
            union_query = self._sorted(node, union_query)
        return self._headed(head, union_query)

    def _common_types(self, queries: Sequence[Query], node: exp.Expr) -> list[SqlType]:
        types = [type_ for _, type_ in queries[0].columns]
        for query in queries[1:]:
            if len(query.columns) != len(types):
                self.text.wrong(
                    f"The queries of a set operation return {len(types)} and {len(query.columns)} columns.",
                    "NUM_COLUMNS_MISMATCH", "42826", node,
                )  # fmt: skip
            for index, (_, type_) in enumerate(query.columns):
                target = wider_type(types[index], type_)
                is_all = isinstance(node, exp.Union) and not node.args.get("distinct")
                nested = types[index] if types[index].is_nested else type_
                if nested.is_nested and (target is None or (not is_all and nested.leaves & {"map", "float", "double"})):
                    self.text.refuse(f"A set operation of {types[index]} and {type_}", node)
                if target is None and types[index].is_numeric and type_.is_numeric:
                    self.text.refuse(f"A set operation of {types[index]} and {type_}", node)
                if target is None:
                    self.text.wrong(
                        f"A set operation of {types[index].shown} and {type_.shown} is not possible.",
                        "INCOMPATIBLE_COLUMN_TYPE", "42825", node,
                    )  # fmt: skip
                types[index] = target
        return types

    def _as_types(self, query: Query, types: Sequence[SqlType]) -> str:
        if all(query_type == type_ for (_, query_type), type_ in zip(query.columns, types, strict=True)):
            return query.sql
        items = []
        for number, ((_, query_type), type_) in enumerate(zip(query.columns, types, strict=True)):
            value = Typed(f"c{number}", query_type)
            items.append(f"{self.expressions.cast(value, type_, self.text.tree)} AS c{number}")
        return f"SELECT {', '.join(items)} FROM ({query.sql})"

    def _values(self, node: exp.Values) -> Query:
        self.expressions.allow_only(node, "expressions", "alias")
        self.expressions.construct("VALUES")
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        if len({len(row) for row in rows}) != 1:
            self.text.wrong(
                "The rows of VALUES have different numbers of columns.",
                "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH", "42000", node,
            )  # fmt: skip
        columns = []
        for cells in zip(*rows, strict=True):
            values = [self.expressions.translate(cell, Scope()) for cell in cells]
            types = {value.type.name for value in values} - {"void"}
            if "string" in types and len(types) > 1:
                self.text.wrong(
                    "The rows of VALUES have a STRING and another type in one column.",
                    "INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE", "42000", node,
                )  # fmt: skip
            columns.append(self.expressions.cast_to_common_type(values, node))
        alias = node.args.get("alias")
        named = [name.name for name in alias.args.get("columns") or ()] if alias is not None else []
        if named and len(named) != len(columns):
            self.text.wrong(
                f"{len(named)} names are given to {len(columns)} columns.",
                "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH", "42000", node,
            )  # fmt: skip
        named = named or [f"col{number}" for number in range(1, len(columns) + 1)]
        names = tuple((name, type_) for name, (_, type_) in zip(named, columns, strict=True))
        lines = [f"({', '.join(sqls[row] for sqls, _ in columns)})" for row in range(len(rows))]
        items = ", ".join(f"CAST(v{n} AS {duckdb_type(type_)}) AS c{n}" for n, (_, type_) in enumerate(columns))
        inner_names = ", ".join(f"v{number}" for number in range(len(columns)))
        return Query(f"SELECT {items} FROM (VALUES {', '.join(lines)}) AS {self.clauses.alias()}({inner_names})", names)

    def _sorted(self, node: exp.Expr, query: Query) -> Query:
        """Translates ORDER BY and LIMIT of a set operation or of a query in parentheses: by output columns."""
        alias = self.clauses.alias()
        columns = [SourceColumn(name, f"{alias}.c{n}", type_) for n, (name, type_) in enumerate(query.columns)]
        items = [Item(column.name, column.typed(), None, True) for column in columns]
        selected = ", ".join(f"{column.sql} AS c{number}" for number, column in enumerate(columns))
        scope = Scope((Source(None, tuple(columns)),))
        tail = self.lists.order(node, items, scope, by_output=False) + _limits(self.expressions, node)
        return Query(f"SELECT {selected} FROM ({query.sql}) AS {alias}{tail}", query.columns)


def _windows(e: Expressions, node: exp.Select) -> dict[str, exp.Expr]:
    """Returns the windows that WINDOW defines, by name. Like Spark, their names are case-sensitive."""
    windows = {window.this.name: window for window in node.args.get("windows") or ()}
    if len(windows) < len(node.args.get("windows") or ()):
        e.refuse(node, "A WINDOW clause that defines a name twice")
    return windows


def _is_chain_link(node: exp.Expr, distinct: bool) -> bool:
    """Tests whether a set operation can be one link of a chain: the same kind, without clauses of its own."""
    clauses = ("order", "limit", "offset", "with_")
    return bool(node.args.get("distinct")) == distinct and not any(node.args.get(key) for key in clauses)


# WITH RECURSIVE: the parts of a recursive common table expression, and its limits.
#
# Spark fails if the 100th step still returns rows, or if there are more than a million of them. So each row has the
# number of its step, and the rows are read through a test of both limits.

#: The name of the column with the number of a step, which no column of a user has.
_STEP = "step of the recursion"
#: Spark's limits: of steps, and of rows.
_MOST_STEPS, _MOST_ROWS = 100, 1_000_000
_WRITE = "Write SELECT … UNION ALL SELECT … FROM name …, where only the second query reads the name."


@dataclass(frozen=True)
class RecursiveParts:
    """The first query of a recursive expression, and the query of a step, which returns the step's number, too."""

    anchor: exp.Expr
    step: exp.Select


def _names_itself(cte: exp.Expr) -> bool:
    """Tests whether the query of a common table expression reads its own name."""
    return bool(_references(cte.this, cte.alias))


def _references(node: exp.Expr, name: str) -> list[exp.Table]:
    return [table for table in node.find_all(exp.Table) if not table.db and table.name.lower() == name.lower()]


def _recursive_parts(e: Expressions, cte: exp.Expr, is_aggregate: Callable[[exp.Expr], bool]) -> RecursiveParts:
    """Returns the parts of an expression that reads itself. Raises Spark's errors for other forms."""
    body, name = cte.this, cte.alias
    is_union = isinstance(body, exp.Union) and not any(body.args.get(key) for key in ("order", "limit", "offset"))
    if not is_union or _references(body.this, name) or not isinstance(body.expression, exp.Select):
        e.text.wrong(
            f"The recursive query {name} is not a first query and a recursive query with UNION ALL between them.",
            "INVALID_RECURSIVE_CTE", "42836", cte, name, _WRITE,
        )  # fmt: skip
    if body.args.get("distinct"):
        e.text.wrong(
            f"The recursive query {name} has UNION. Write UNION ALL.",
            "UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE", "42836", cte, name,
        )  # fmt: skip
    _check_recursive_select(e, body.expression, name, is_aggregate)
    step = body.expression.copy()
    step.append("expressions", exp.Add(this=exp.column(_STEP, quoted=True), expression=exp.Literal.number(1)))
    within_limit = exp.LT(this=exp.column(_STEP, quoted=True), expression=exp.Literal.number(_MOST_STEPS))
    where = step.args.get("where")
    condition = within_limit if where is None else exp.And(this=exp.Paren(this=where.this), expression=within_limit)
    step.set("where", exp.Where(this=condition))
    return RecursiveParts(body.this, step)


def _check_recursive_select(
    e: Expressions, select: exp.Select, name: str, is_aggregate: Callable[[exp.Expr], bool]
) -> None:
    """Refuses clauses that a step cannot compute from the rows of the step before."""
    for key in ("group", "having", "distinct", "order", "limit", "offset", "qualify", "laterals", "with_"):
        if select.args.get(key):
            e.refuse(select, f"{key.strip('_').upper()} in a recursive query")
    joins = select.args.get("joins") or ()
    relations = [clause.this for clause in (select.args.get("from_"), *joins) if clause is not None]
    if len(_references(select, name)) > 1 or _references(select, name)[0] not in relations:
        e.text.refuse(f"The recursive query {name} that reads {name} in a subquery, or twice,", select, _WRITE)
    if any(join.args.get("side") or join.args.get("kind") in ("SEMI", "ANTI") for join in joins):
        e.refuse(select, "A recursive query with other joins than INNER and CROSS JOIN")
    if any(is_aggregate(node) or isinstance(node, exp.Window) for node in select.walk()):
        e.refuse(select, "An aggregate or a window in a recursive query")
    if any(isinstance(item, exp.Star) or isinstance(item.this, exp.Star) for item in select.expressions):
        e.text.refuse("SELECT * in a recursive query", select, "Name the columns.")


def _step_items(
    e: Expressions, node: exp.Expr, types: Sequence[SqlType], columns: Sequence[tuple[str, SqlType]]
) -> list[str]:
    """Returns the columns of a step's query, cast to the types of the first query. ``columns`` are the columns of the
    query without the number of the step.
    """
    if len(types) != len(columns):
        e.text.wrong(
            f"The queries of a recursion return {len(types)} and {len(columns)} columns.",
            "NUM_COLUMNS_MISMATCH", "42826", node,
        )  # fmt: skip
    items = []
    for number, (type_, (_, step_type)) in enumerate(zip(types, columns, strict=True)):
        if type_ != step_type and not (type_.is_integer and step_type.is_integer):
            hint = f"Cast the column of the recursive query: CAST(… AS {type_.shown})."
            e.text.refuse(f"A recursion from {type_} to {step_type}", node, hint)
        if type_ != step_type and wider_type(type_, step_type) != type_:
            e.text.wrong(
                f"The recursive query returns {step_type.shown}, which is wider than {type_.shown} of the first query.",
                "CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE", "42825", node, None,
                f"Cast the column of one of them: CAST(… AS {step_type.shown}).",
            )  # fmt: skip
        items.append(f"CAST(c{number} AS {_integer(type_)}) AS c{number}" if type_ != step_type else f"c{number}")
    return [*items, f"c{len(types)}"]


def _integer(type_: SqlType) -> str:
    return {"tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER"}.get(type_.name, "BIGINT")


def limited(rows: str, name: str, count: int) -> str:
    """Returns the query of the rows of a recursion. ``rows`` is its name, and ``count`` the number of its columns."""
    quoted = name.replace("'", "''")
    steps = f"[RECURSION_LEVEL_LIMIT_EXCEEDED] The recursion {quoted} has rows after {_MOST_STEPS} steps."
    many = f"[RECURSION_ROW_LIMIT_EXCEEDED] The recursion {quoted} has more than {_MOST_ROWS:,} rows."
    columns = ", ".join(f"c{number}" for number in range(count))
    return (
        f"SELECT {columns} FROM {rows} WHERE CASE WHEN (SELECT max(c{count}) FROM {rows}) >= {_MOST_STEPS} "
        f"THEN error('{steps}') WHEN (SELECT count(*) FROM {rows}) > {_MOST_ROWS} THEN error('{many}') ELSE true END"
    )


#: The type of the number of a step.
_STEP_TYPE = INT


# LIMIT and OFFSET: whole numbers, and sums, differences and products of them.

_LARGEST = 2**31 - 1


def _limits(e: Expressions, node: exp.Expr) -> str:
    """Translates LIMIT and OFFSET of a query."""
    sql = ""
    for key in ("limit", "offset"):
        clause = node.args.get(key)
        if clause is None:
            continue
        e.allow_only(clause, "expression")
        e.construct(key.upper())
        value = clause.expression
        if key == "limit" and isinstance(value, exp.Var) and value.name.upper() == "ALL":
            continue
        number = _number(e, value, key.upper())
        if number < 0:
            e.text.wrong(
                f"The operand of {key.upper()} is negative: {e.text.shown(value)}.",
                "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE",
                "42K0E",
                value,
            )
        sql += f" {key.upper()} {number}"
    return sql


def _number(e: Expressions, node: exp.Expr, clause: str) -> int:
    """Returns the value of a constant expression. Raises Spark's error for a column, and for another type."""
    number: int | None = None
    if isinstance(node, exp.Placeholder):
        value = e.parameters.get(str(node.this))
        number = value if isinstance(value, int) and not isinstance(value, bool) else None
    elif isinstance(node, exp.Literal) and str(node.this).isdigit() and not node.args.get("is_string"):
        number = int(str(node.this))
    elif isinstance(node, exp.Paren):
        return _number(e, node.this, clause)
    elif isinstance(node, exp.Neg):
        number = -_number(e, node.this, clause)
    elif isinstance(node, exp.Add | exp.Sub | exp.Mul):
        left, right = _number(e, node.this, clause), _number(e, node.expression, clause)
        number = left + right if isinstance(node, exp.Add) else left - right
        number = left * right if isinstance(node, exp.Mul) else number
        if abs(number) > _LARGEST:
            e.text.wrong(f"{e.text.shown(node)} is too large for an INT.", "ARITHMETIC_OVERFLOW", "22003", node)
    if number is not None and abs(number) <= _LARGEST:
        return number
    if number is not None or isinstance(node, exp.Literal | exp.Boolean | exp.Null):
        e.text.wrong(
            f"{clause} needs a whole number (INT): {e.text.shown(node)}.",
            "INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE",
            "42K0E",
            node,
        )
    if node.find(exp.Column, exp.Query) is not None:
        e.text.wrong(
            f"{clause} needs a constant: {e.text.shown(node)}.",
            "INVALID_LIMIT_LIKE_EXPRESSION.IS_UNFOLDABLE",
            "42K0E",
            node,
        )
    return e.refuse(node, f"{clause} {e.text.shown(node)}")


# Aggregates and window functions where a query cannot have them: the errors are Spark's.


def _check_calls(e: Expressions, select: exp.Select, is_aggregate: Callable[[exp.Expr], bool]) -> None:
    """Raises ``EngineError`` for an aggregate in WHERE, a window function in WHERE or HAVING, an aggregate in the
    argument of another, and an aggregate in the condition of FILTER.
    """
    where, having = (_nodes(select.args.get(clause)) for clause in ("where", "having"))
    for call in (node for node in where if _is_grouping(e, node)):
        e.text.wrong(
            f"{e.text.shown(call)} is about the groups of the query, which do not exist yet in WHERE.",
            "UNSUPPORTED_GROUPING_EXPRESSION", "42K0E", call, None, "Write it in HAVING.",
        )  # fmt: skip
    for call in filter(is_aggregate, where):
        e.text.wrong(
            f"{e.text.shown(call)} is an aggregate, which cannot be in WHERE. Write it in HAVING.",
            "INVALID_WHERE_CONDITION", "42903", call,
        )  # fmt: skip
    for word, clause in (("WHERE", where), ("HAVING", having)):
        for window in filter(_is_window, clause):
            hint = "Write it in QUALIFY, or in a subquery of FROM."
            e.text.wrong(
                f"{e.text.shown(window)} is a window function, which cannot be in {word}.",
                "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE", "42601", window, None, hint,
            )  # fmt: skip
    others = (*select.expressions, select.args.get("order"), select.args.get("qualify"))
    for nodes in (having, *map(_nodes, others)):
        for call in filter(is_aggregate, nodes):
            _check_nested(e, call, is_aggregate)


def _check_nested(e: Expressions, call: exp.Expr, is_aggregate: Callable[[exp.Expr], bool]) -> None:
    for argument in call.iter_expressions():
        for inner in filter(is_aggregate, _nodes(argument)):
            _refuse_aggregated_grouping(e, inner)
            hint = "Compute the inner one in a subquery of FROM."
            e.text.wrong(
                f"The aggregate {e.text.shown(inner)} is in the argument of the aggregate {e.text.shown(call)}.",
                "NESTED_AGGREGATE_FUNCTION", "42607", inner, None, hint,
            )  # fmt: skip
    if isinstance(call.parent, exp.Filter) and call.arg_key == "this":
        for inner in filter(is_aggregate, _nodes(call.parent.expression)):
            _refuse_aggregated_grouping(e, inner)
            e.text.wrong(
                f"The condition of FILTER has the aggregate {e.text.shown(inner)}. Write CASE in an outer query.",
                "INVALID_AGGREGATE_FILTER.CONTAINS_AGGREGATE", "42903", inner,
            )  # fmt: skip


def _refuse_aggregated_grouping(e: Expressions, call: exp.Expr) -> None:
    # Spark takes GROUPING for a key there, and aggregates it.
    if _is_grouping(e, call):
        hint = "Select it in a subquery of FROM, and aggregate that."
        e.text.refuse("GROUPING and GROUPING_ID in an aggregate", call, hint)


def _is_grouping(e: Expressions, node: exp.Expr) -> bool:
    return e.text.called(node) in ("grouping", "grouping_id")


def _is_window(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window)


def _nodes(node: exp.Expr | None) -> list[exp.Expr]:
    """Returns the nodes of an expression but literals, breadth first; of its subqueries, only the outermost node."""
    nodes = [] if node is None else [node]
    for part in nodes:  # which grows meanwhile
        if not isinstance(part, exp.Query):
            nodes += [child for child in children(part) if not isinstance(child, exp.Literal)]
    return nodes
