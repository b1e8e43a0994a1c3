"""Queries: Spark SQL to DuckDB SQL by an allow-list, with the types and names that Spark answers.

What is not on the list is a ``NotSupportedError`` DUCKDB_UNSUPPORTED that names the construct and its place; never a
different answer. Names are resolved here, so DuckDB's own rules for them do not matter: every relation gets an alias
of ours, every column of a SELECT is ``c0, c1 …``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.exec.casts import common_type, quote
from rewriter.exec.engine import EngineQuery, Relation
from rewriter.exec.expressions import Expressions, Scope, Source, SourceColumn, Typed
from rewriter.exec.select_lists import Item, SelectLists
from rewriter.exec.sqltext import SqlText
from rewriter.exec.sqltypes import VOID, SqlType, duckdb_type, parse_type


@dataclass(frozen=True)
class Translation:
    """DuckDB SQL whose columns, by position, have these names and types; ``parameters`` are those it uses."""

    sql: str
    columns: tuple[tuple[str, SqlType], ...]
    parameters: Mapping[str, object] = field(default_factory=dict)


def translate(query: EngineQuery) -> Translation:
    """The query for DuckDB, where every relation is a view of its name. About 1 ms for a query of ordinary size.

    Raises ``NotSupportedError`` for what is not on the list, ``EngineError`` for names that are not there.
    """
    queries = _Queries(query)
    try:
        found = queries.query(queries.text.tree, Scope(), {})
    except RecursionError:
        queries.text.refuse("A query that nests so deeply")
    # A parameter whose value became a literal (a string compared with a timestamp) stands nowhere any more.
    names = set(re.findall(r"\$(\w+)", found.sql))
    used = {name: value for name, value in queries.expressions.used.items() if name in names}
    return Translation(found.sql, found.columns, used)


@dataclass(frozen=True)
class _Query:
    """A translated query. Its columns are called ``c0, c1 …``."""

    sql: str
    columns: tuple[tuple[str, SqlType], ...]


@dataclass(frozen=True)
class _Cte:
    alias: str
    columns: tuple[tuple[str, SqlType], ...]


_Ctes = Mapping[str, _Cte]


class _Queries:
    def __init__(self, query: EngineQuery) -> None:
        self.text = SqlText(query.sql)
        self.relations: dict[str, Relation] = {relation.name.lower(): relation for relation in query.relations}
        self.expressions = Expressions(self.text, query.parameters, self._subquery)
        self.lists = SelectLists(self.expressions)
        self._serial = 0

    # -- queries ------------------------------------------------------------------------------------------------

    def query(self, node: exp.Expr, outer: Scope, ctes: _Ctes) -> _Query:
        """Any query; ``outer`` is the scope around it, for correlated subqueries."""
        if isinstance(node, exp.Subquery):
            self.expressions.only(node, "this", "order", "limit", "offset", "with_")
            head, ctes = self._with(node, outer, ctes)
            inner = self.query(node.this, outer, ctes)
            if any(node.args.get(key) for key in ("order", "limit", "offset")):
                return self._headed(head, self._sorted(node, inner))
            return self._headed(head, inner)
        if isinstance(node, exp.Select):
            return self._select(node, outer, ctes)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, outer, ctes)
        if isinstance(node, exp.Values):
            return self._values(node)
        return self.text.refuse(f"{type(node).__name__} as a query", node)

    def _subquery(self, node: exp.Expr, scope: Scope) -> tuple[str, tuple[SqlType, ...]]:
        ctes = {name: cte for name, cte in scope.queries.items() if isinstance(cte, _Cte)}
        found = self.query(node, scope, ctes)
        return found.sql, tuple(type_ for _, type_ in found.columns)

    def _with(self, node: exp.Expr, outer: Scope, ctes: _Ctes) -> tuple[str, _Ctes]:
        clause = node.args.get("with_")
        if clause is None:
            return "", ctes
        self.expressions.only(clause, "expressions")
        known = dict(ctes)
        parts = []
        for cte in clause.expressions:
            self.expressions.only(cte, "this", "alias")
            found = self.query(cte.this, outer, known)
            alias = self._alias()
            columns = self._renamed(found.columns, cte.args["alias"], cte)
            known[cte.alias.lower()] = _Cte(alias, columns)
            parts.append(f"{alias} AS ({found.sql})")
        return f"WITH {', '.join(parts)} ", known

    @staticmethod
    def _headed(head: str, query: _Query) -> _Query:
        return replace(query, sql=head + query.sql) if head else query

    def _select(self, node: exp.Select, outer: Scope, ctes: _Ctes) -> _Query:
        e = self.expressions
        e.only(node, "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset",
               "distinct", "with_", "hint")  # fmt: skip
        head, ctes = self._with(node, outer, ctes)
        from_sql, sources = self._from(node, outer, ctes)
        scope = Scope(sources, outer if outer.sources else None, dict(ctes))
        where = f" WHERE {e.condition(node.args['where'].this, scope).sql}" if node.args.get("where") else ""
        items = self.lists.items(node.expressions, scope)
        group = self.lists.group(node.args.get("group"), items, scope)
        having = ""
        if node.args.get("having"):
            having = (
                f" HAVING {e.condition(self.lists.with_aliases(node.args['having'].this, items, scope), scope).sql}"
            )
        distinct = node.args.get("distinct")
        if distinct is not None:
            e.only(distinct)
        selected = ", ".join(f"{item.value.sql} AS c{number}" for number, item in enumerate(items))
        sql = f"SELECT {'DISTINCT ' if distinct else ''}{selected}{from_sql}{where}{group}{having}"
        sql += self.lists.order(node, items, scope, distinct is not None) + self.lists.limits(node)
        columns = tuple((item.name, item.value.type) for item in items)
        return self._headed(head, _Query(sql, columns))

    def _set_operation(self, node: exp.SetOperation, outer: Scope, ctes: _Ctes) -> _Query:
        self.expressions.only(node, "this", "expression", "distinct", "order", "limit", "offset", "with_")
        head, ctes = self._with(node, outer, ctes)
        # A union of many arms is a deep tree on its left side.
        chain: list[exp.SetOperation] = [node]
        while type(chain[-1].this) is type(node) and _plain(chain[-1].this, bool(node.args.get("distinct"))):
            chain.append(chain[-1].this)
        arms = [chain[-1].this, *(operation.expression for operation in reversed(chain))]
        queries = [self.query(arm, outer, ctes) for arm in arms]
        types = self._common_types(queries, node)
        word = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}[type(node)]
        if not node.args.get("distinct"):
            if word != "UNION":
                self.text.refuse(f"{word} ALL", node)
            word = "UNION ALL"
        sql = f" {word} ".join(f"({self._as_types(query, types)})" for query in queries)
        columns = tuple((name, type_) for (name, _), type_ in zip(queries[0].columns, types, strict=True))
        found = _Query(sql, columns)
        if any(node.args.get(key) for key in ("order", "limit", "offset")):
            found = self._sorted(node, found)
        return self._headed(head, found)

    def _common_types(self, queries: Sequence[_Query], node: exp.Expr) -> list[SqlType]:
        types = [type_ for _, type_ in queries[0].columns]
        for query in queries[1:]:
            if len(query.columns) != len(types):
                self.text.wrong(
                    f"The queries of a set operation answer {len(types)} and {len(query.columns)} columns.",
                    "NUM_COLUMNS_MISMATCH", "42826", node,
                )  # fmt: skip
            for index, (_, type_) in enumerate(query.columns):
                common = common_type(types[index], type_)
                if common is None:
                    self.text.refuse(f"A set operation of {types[index]} and {type_}", node)
                types[index] = common
        return types

    def _as_types(self, query: _Query, types: Sequence[SqlType]) -> str:
        if all(found == wanted for (_, found), wanted in zip(query.columns, types, strict=True)):
            return query.sql
        items = []
        for number, ((_, found), wanted) in enumerate(zip(query.columns, types, strict=True)):
            value = Typed(f"c{number}", found)
            items.append(f"{self.expressions.cast(value, wanted, self.text.tree)} AS c{number}")
        return f"SELECT {', '.join(items)} FROM ({query.sql})"

    def _values(self, node: exp.Values) -> _Query:
        self.expressions.only(node, "expressions", "alias")
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        if len({len(row) for row in rows}) != 1:
            self.text.wrong(
                "The rows of VALUES have different numbers of columns.",
                "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH", "42000", node,
            )  # fmt: skip
        columns = []
        for cells in zip(*rows, strict=True):
            columns.append(self.expressions.together([self.expressions.translate(c, Scope()) for c in cells], node))
        names = tuple((f"col{number}", type_) for number, (_, type_) in enumerate(columns, start=1))
        lines = [f"({', '.join(sqls[row] for sqls, _ in columns)})" for row in range(len(rows))]
        items = ", ".join(f"CAST(v{n} AS {duckdb_type(type_)}) AS c{n}" for n, (_, type_) in enumerate(columns))
        alias = ", ".join(f"v{number}" for number in range(len(columns)))
        return _Query(f"SELECT {items} FROM (VALUES {', '.join(lines)}) AS {self._alias()}({alias})", names)

    # -- FROM ---------------------------------------------------------------------------------------------------

    def _from(self, node: exp.Select, outer: Scope, ctes: _Ctes) -> tuple[str, tuple[Source, ...]]:
        clause = node.args.get("from_")
        if clause is None:
            if node.args.get("joins"):
                self.text.refuse("A join without FROM", node)
            return "", ()
        self.expressions.only(clause, "this")
        sql, source = self._relation(clause.this, outer, ctes)
        sources = [source]
        crossed = False
        for join in node.args.get("joins") or ():
            sql, crossed = self._join(join, sql, sources, crossed, outer, ctes)
        return f" FROM {sql}", tuple(sources)

    def _join(
        self, join: exp.Join, left: str, sources: list[Source], crossed: bool, outer: Scope, ctes: _Ctes
    ) -> tuple[str, bool]:
        e = self.expressions
        e.only(join, "this", "side", "kind", "on", "using")
        side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
        if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "OUTER", "CROSS"):
            self.text.refuse(f"{side} {kind} JOIN".strip(), join.this)
        # sqlglot does not tell a comma from CROSS JOIN, and a comma binds looser than these joins.
        if crossed and side in ("RIGHT", "FULL"):
            self.text.refuse(f"{side} JOIN after a comma or CROSS JOIN", join.this)
        sql, source = self._relation(join.this, outer, ctes)
        using = [name.name for name in join.args.get("using") or ()]
        if using:
            if side not in ("", "LEFT"):
                self.text.refuse(f"{side} JOIN with USING", join.this)
            source = replace(source, hidden=frozenset(name.lower() for name in using))
        sources.append(source)
        scope = Scope(tuple(sources), outer if outer.sources else None, dict(ctes))
        if using:
            test = " AND ".join(self._using(name, sources, join) for name in using)
        elif join.args.get("on") is not None:
            test = e.condition(join.args["on"], scope).sql
        elif side:
            test = self.text.refuse(f"{side} JOIN without a condition", join.this)
        else:
            return f"{left} CROSS JOIN {sql}", True
        return f"{left} {side or 'INNER'} JOIN {sql} ON {test}", crossed

    def _using(self, name: str, sources: Sequence[Source], join: exp.Join) -> str:
        before = Scope(tuple(sources[:-1])).find(name, None)
        after = [column for column in sources[-1].columns if column.name.lower() == name.lower()]
        if len(before) != 1 or len(after) != 1 or before[0].type is None or before[0].type != after[0].type:
            self.text.refuse(f"USING of {name}, which is not one column of one type on both sides,", join.this)
        return f"{before[0].sql} = {after[0].sql}"

    def _relation(self, node: exp.Expr, outer: Scope, ctes: _Ctes) -> tuple[str, Source]:
        alias = self._alias()
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            self.expressions.only(node, "this", "alias")
            cte = ctes.get(node.name.lower())
            if cte is not None:
                return f"{cte.alias} AS {alias}", self._source(node, alias, cte.columns, node.name)
            relation = self.relations.get(node.name.lower())
            if relation is None:
                self.text.wrong(
                    f"The table or view `{node.name}` cannot be found.", "TABLE_OR_VIEW_NOT_FOUND", "42P01", node,
                    node.name,
                )  # fmt: skip
            columns = [_source_column(column.name, column.type, alias) for column in relation.all_columns]
            return f"{quote(relation.name)} AS {alias}", self._aliased(node, columns, relation.name)
        if isinstance(node, exp.Subquery):
            self.expressions.only(node, "this", "alias", "order", "limit", "offset", "with_")
            # A relation in FROM sees nothing of its neighbours.
            found = self.query(_without_alias(node), Scope(), ctes)
            return f"({found.sql}) AS {alias}", self._source(node, alias, found.columns, None)
        if isinstance(node, exp.Values):
            found = self._values(node)
            return f"({found.sql}) AS {alias}", self._source(node, alias, found.columns, None)
        if isinstance(node, exp.Table):
            self.text.refuse(f"The table function {node.this.name or node.this.key}", node)
        return self.text.refuse(f"{type(node).__name__} in FROM", node)

    def _source(self, node: exp.Expr, alias: str, columns: Sequence[tuple[str, SqlType]], name: str | None) -> Source:
        found = [SourceColumn(c, f"{alias}.c{number}", type_) for number, (c, type_) in enumerate(columns)]
        return self._aliased(node, found, name)

    def _aliased(self, node: exp.Expr, columns: Sequence[SourceColumn], name: str | None) -> Source:
        """The source under the name and column names that the query gives it."""
        alias = node.args.get("alias")
        if alias is None:
            return Source(name, tuple(columns))
        names = self._renamed([(column.name, VOID) for column in columns], alias, node)
        renamed = (replace(column, name=new) for column, (new, _) in zip(columns, names, strict=True))
        return Source(alias.name or name, tuple(renamed))

    def _renamed(
        self, columns: Sequence[tuple[str, SqlType]], alias: exp.Expr, node: exp.Expr
    ) -> tuple[tuple[str, SqlType], ...]:
        self.expressions.only(alias, "this", "columns")
        names = [identifier.name for identifier in alias.args.get("columns") or ()]
        if not names:
            return tuple(columns)
        if len(names) != len(columns):
            self.text.wrong(
                f"{len(names)} names are given to {len(columns)} columns.",
                "ASSIGNMENT_ARITY_MISMATCH", "42802", node,
            )  # fmt: skip
        return tuple((name, type_) for name, (_, type_) in zip(names, columns, strict=True))

    def _alias(self) -> str:
        """A name that no relation has."""
        self._serial += 1
        while f"s{self._serial}" in self.relations:
            self._serial += 1
        return f"s{self._serial}"

    def _sorted(self, node: exp.Expr, query: _Query) -> _Query:
        """ORDER BY and LIMIT of a set operation or of a query in parentheses: by output columns."""
        alias = self._alias()
        columns = [SourceColumn(name, f"{alias}.c{n}", type_) for n, (name, type_) in enumerate(query.columns)]
        items = [Item(column.name, Typed(column.sql, column.type or VOID), None, True) for column in columns]
        selected = ", ".join(f"{column.sql} AS c{number}" for number, column in enumerate(columns))
        scope = Scope((Source(None, tuple(columns)),))
        tail = self.lists.order(node, items, scope, by_output=False) + self.lists.limits(node)
        return _Query(f"SELECT {selected} FROM ({query.sql}) AS {alias}{tail}", query.columns)


def _source_column(name: str, type_name: str, alias: str) -> SourceColumn:
    try:
        found: SqlType | None = replace(parse_type(type_name), length=None, padded=False)
    except NotSupportedError:
        found = None
    return SourceColumn(name, f"{alias}.{quote(name)}", found, type_name)


def _plain(node: exp.Expr, distinct: bool) -> bool:
    """Whether a set operation can be one link of a chain: no clauses of its own, the same kind."""
    clauses = ("order", "limit", "offset", "with_")
    return bool(node.args.get("distinct")) == distinct and not any(node.args.get(key) for key in clauses)


def _without_alias(node: exp.Subquery) -> exp.Expr:
    copy = exp.Subquery(**{key: value for key, value in node.args.items() if key != "alias"})
    copy.set("this", node.this)
    return copy
