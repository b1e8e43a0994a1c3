"""Queries: Spark SQL to DuckDB SQL by an allow-list, with the types and names of Spark's result.

A construct that is not on the list is a ``NotSupportedError`` DUCKDB_UNSUPPORTED that names the construct and its
position; the result never differs from Spark's. Names are resolved here, so DuckDB's own rules for them do not matter:
every relation gets a generated alias, and every column of a SELECT is ``c0, c1 …``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rewriter.exec.engine import EngineQuery
from rewriter.exec.sql_types import SqlType, duckdb_type
from rewriter.exec.translate.allowlist import ALLOWED
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.arrays import is_generator
from rewriter.exec.translate.casts import wider_type
from rewriter.exec.translate.expressions import Expressions, OuterScope, Scope, Source, SourceColumn, Typed
from rewriter.exec.translate.from_clause import Cte, Ctes, FromClauses, Query
from rewriter.exec.translate.grouping_sets import ALL_KEYS
from rewriter.exec.translate.literal_tables import NAME, LiteralTable, literal_table
from rewriter.exec.translate.misplaced_calls import check_calls
from rewriter.exec.translate.recursive_ctes import STEP, STEP_TYPE, limited, names_itself, recursive_parts, step_items
from rewriter.exec.translate.row_limits import limits
from rewriter.exec.translate.select_items import Item
from rewriter.exec.translate.select_lists import SelectLists
from rewriter.exec.translate.sql_text import SqlText
from rewriter.gc_pause import paused

#: The maximum number of queries in one set operation. DuckDB's time grows with the square of their number, to about a
#: minute here.
_MOST_ARMS = 5_000


@dataclass(frozen=True)
class Translation:
    """DuckDB SQL whose columns, by position, have these names and types. ``parameters`` are those it uses, ``entries``
    the lines of the allow-list. ``literals`` is the table ``literal_tables.NAME`` that it reads, if it reads any.
    """

    sql: str
    columns: tuple[tuple[str, SqlType], ...]
    parameters: Mapping[str, object] = field(default_factory=dict)
    entries: frozenset[Entry] = frozenset()
    literals: LiteralTable | None = None


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
    return Translation(translated.sql, translated.columns, used, frozenset(queries.expressions.entries))


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
            if clause.args.get("recursive") and names_itself(cte):
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
        recursion = recursive_parts(self.expressions, cte, self.lists.is_aggregate)
        anchor = self.query(recursion.anchor, outer_scope, ctes)
        columns = self.clauses.renamed(anchor.columns, cte.args["alias"], cte)
        rows, read, result = (self.clauses.alias() for _ in range(3))
        inner = Cte(rows, (*columns, (STEP, STEP_TYPE)))
        step = self.query(recursion.step, outer_scope, {**ctes, cte.alias.lower(): inner})
        types = [type_ for _, type_ in columns]
        items = ", ".join(step_items(self.expressions, cte, types, step.columns[:-1]))
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
        check_calls(e, node, self.lists.is_aggregate)
        if node.args.get("where"):
            e.construct("WHERE")
        where = f" WHERE {e.test(node.args['where'].this, scope, 'WHERE').sql}" if node.args.get("where") else ""
        generator = self._generator(node)
        generated: dict[int, list[Item]] = {}
        if generator is not None:
            join, source = self.clauses.generator(generator, scope, outer=False)
            from_sql = f"{from_sql} CROSS JOIN {join}" if from_sql else f" FROM {join}"
            generated[id(generator)] = [Item(c.name, c.typed(c.name), None, True) for c in source.columns]
        items = self.lists.items(node.expressions, scope, generated)
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
                e.comparable(item.value, node, "SELECT DISTINCT")
        selected = self.lists.selected(items, group, distinct=distinct is not None)
        sql = f"SELECT {'DISTINCT ' if distinct else ''}{selected}{from_sql}{where}{group.sql}{having}"
        sql += self.lists.qualify(node, items, scope)
        sql += self.lists.order(node, items, scope, distinct is not None) + limits(self.expressions, node)
        if ALL_KEYS in sql and group.set_keys is not None:
            sql = sql.replace(ALL_KEYS, f"grouping({', '.join(group.set_keys)})" if group.set_keys else "0")
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
                if types[index].element is not None or type_.element is not None:
                    is_all = isinstance(node, exp.Union) and not node.args.get("distinct")
                    if not is_all or types[index] != type_:
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
        tail = self.lists.order(node, items, scope, by_output=False) + limits(self.expressions, node)
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
