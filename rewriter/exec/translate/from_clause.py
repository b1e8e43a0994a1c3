"""FROM: relations, aliases and joins, with the columns that names in the rest of a query can mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.catalog.model.file_names import READ_FILES
from rewriter.errors import NotSupportedError
from rewriter.exec.engine import Relation
from rewriter.exec.sql_types import BIGINT, INT, VOID, SqlType, parse_type
from rewriter.exec.translate.arrays import GENERATOR_ENTRIES, array, element_of, is_generator
from rewriter.exec.translate.casts import quote
from rewriter.exec.translate.expressions import Expressions, Scope, Source, SourceColumn
from rewriter.exec.translate.pivots import pivoted

#: The maximum number of joins in one FROM. DuckDB's time grows faster than with the cube of their number, to about half
#: a minute here.
_MOST_JOINS = 200
#: Functions of other databases that read files, each with the format of these.
_READERS = {
    "parquet_scan": "parquet",
    "read_csv": "csv",
    "read_csv_auto": "csv",
    "read_files": "parquet",
    "read_json": "json",
    "read_json_auto": "json",
    "read_ndjson": "json",
    "read_parquet": "parquet",
}


@dataclass(frozen=True)
class Query:
    """A translated query. Its columns are called ``c0, c1 …``."""

    sql: str
    columns: tuple[tuple[str, SqlType], ...]


@dataclass(frozen=True)
class Cte:
    """A common table expression: its alias in DuckDB's text and its columns, called ``c0, c1 …`` there."""

    alias: str
    columns: tuple[tuple[str, SqlType], ...]


Ctes = Mapping[str, Cte]
#: Translates a query in a scope, under common table expressions.
Translate = Callable[[exp.Expr, Scope, Ctes], Query]


@dataclass
class _From:
    """The relations that have been joined so far. ``has_cross_join`` says that a comma or CROSS JOIN is among the
    joins.
    """

    sql: str
    sources: list[Source]
    has_cross_join: bool = False


class FromClauses:
    """Translates these clauses for the queries of one text."""

    def __init__(self, expressions: Expressions, relations: Sequence[Relation], translate: Translate) -> None:
        self.expressions = expressions
        self.text = expressions.text
        self.relations = {relation.name.lower(): relation for relation in relations}
        self.translate = translate
        self._serial = 0

    def clause(self, node: exp.Select, outer_scope: Scope, ctes: Ctes) -> tuple[str, tuple[Source, ...]]:
        """Returns the clause with its keyword, empty if there is none, and its sources."""
        clause = node.args.get("from_")
        if clause is None:
            if node.args.get("joins"):
                self.text.refuse("A join without FROM", node)
            self.expressions.construct("SELECT without FROM")
            return "", ()
        self.expressions.allow_only(clause, "this")
        self.expressions.construct("SELECT … FROM …")
        sql, source = self._relation(clause.this, outer_scope, ctes)
        from_ = _From(sql, [source])
        self._pivot(clause.this, from_)
        joins = node.args.get("joins") or ()
        if len(joins) > _MOST_JOINS:
            self.text.refuse(f"A query with {len(joins):,} joins, more than {_MOST_JOINS},", node)
        for join in joins:
            self._join(join, from_, outer_scope, ctes)
        for view in node.args.get("laterals") or ():
            self._lateral_view(view, from_, outer_scope, ctes)
        return f" FROM {from_.sql}", tuple(from_.sources)

    def alias(self) -> str:
        """Returns a name that no relation has."""
        self._serial += 1
        while f"s{self._serial}" in self.relations:
            self._serial += 1
        return f"s{self._serial}"

    # -- lateral views and generators ---------------------------------------------------------------------------

    def _lateral_view(self, view: exp.Expr, from_: _From, outer_scope: Scope, ctes: Ctes) -> None:
        """Joins the rows that a generator makes from each row so far."""
        self.expressions.allow_only(view, "this", "view", "outer", "alias")
        if not view.args.get("view") or not is_generator(self.expressions, view.this):
            self.text.refuse(f"LATERAL VIEW of {self.text.shown(view.this)}", view.this)
        self.expressions.construct("LATERAL VIEW [OUTER] explode(array)")
        scope = Scope(tuple(from_.sources), outer_scope if outer_scope.sources else None, dict(ctes))
        is_outer = bool(view.args.get("outer"))
        sql, source = self.generator(view.this, scope, is_outer)
        from_.sql += f" LEFT JOIN {sql} ON true" if is_outer else f" CROSS JOIN {sql}"
        from_.sources.append(self._aliased(view, source.columns, None))

    def generator(self, node: exp.Expr, scope: Scope, outer: bool) -> tuple[str, Source]:
        """Returns the relation that a call of EXPLODE or POSEXPLODE makes from a row, and its columns, under the names
        that an item of a SELECT list gives them.
        """
        call_node = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
        function = str(self.expressions.text.called(call_node))
        (argument,) = self.expressions.arguments(call_node, 1)
        value = array(self.expressions, argument, scope)
        entry = GENERATOR_ENTRIES.get(function)
        if entry is not None:
            self.expressions.entries.add(entry)
        columns = [("col", element_of(value))]
        items = [f"unnest({value.sql})"]
        if function.startswith("pos"):
            columns.insert(0, ("pos", INT))
            items.insert(0, f"CAST(generate_subscripts({value.sql}, 1) - 1 AS INTEGER)")
        if function.endswith("_outer") and not outer:
            self.text.refuse(f"The function {function}", call_node, "Write LATERAL VIEW OUTER explode(…).")
        if isinstance(node, exp.Alias | exp.Aliases):
            names = [node.alias] if isinstance(node, exp.Alias) else [name.name for name in node.expressions]
            if len(names) != len(columns):
                self.text.wrong(
                    f"{len(names)} names are given to {len(columns)} columns.",
                    "UDTF_ALIAS_NUMBER_MISMATCH", "42802", node,
                )  # fmt: skip
            columns = [(name, type_) for name, (_, type_) in zip(names, columns, strict=True)]
        alias = self.alias()
        selected = ", ".join(f"{sql} AS c{number}" for number, sql in enumerate(items))
        sources = [SourceColumn(name, f"{alias}.c{number}", type_) for number, (name, type_) in enumerate(columns)]
        return f"LATERAL (SELECT {selected}) AS {alias}", Source(None, tuple(sources))

    # -- joins --------------------------------------------------------------------------------------------------

    def _join(self, join: exp.Join, from_: _From, outer_scope: Scope, ctes: Ctes) -> None:
        e = self.expressions
        e.allow_only(join, "this", "side", "kind", "on", "using", "method", "pivots")
        side, kind, method = (str(join.args.get(key) or "").upper() for key in ("side", "kind", "method"))
        if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI"):
            self.text.refuse(f"{side} {kind} JOIN".replace("  ", " ").strip(), join.this)
        if method not in ("", "NATURAL"):
            self.text.refuse(f"{method} JOIN", join.this)
        word = kind if kind in ("SEMI", "ANTI") else side or "INNER"
        # sqlglot does not distinguish a comma from CROSS JOIN, and a comma binds looser than these joins.
        if from_.has_cross_join and (word in ("RIGHT", "FULL") or join.args.get("using") or method):
            self.text.refuse(f"{method or word} JOIN after a comma or CROSS JOIN", join.this)
        if join.this.args.get("pivots"):
            # Behind a comma it is of the relation alone, and otherwise of all joins so far.
            hint = "Write it in a subquery: (SELECT * FROM … PIVOT (…)) x."
            self.text.refuse("PIVOT or UNPIVOT of a joined relation", join.this.args["pivots"][0], hint)
        is_lateral = isinstance(join.this, exp.Lateral)
        if is_lateral and (word not in ("INNER", "LEFT") or join.args.get("using") or method):
            self.text.refuse(f"{method or word} JOIN LATERAL", join.this)
        sql, source = (
            self._lateral(join.this, from_, ctes) if is_lateral else self._relation(join.this, outer_scope, ctes)
        )
        names = (
            self._common_names(from_.sources, source, join)
            if method
            else [n.name for n in join.args.get("using") or ()]
        )
        scope = Scope((*from_.sources, source), outer_scope if outer_scope.sources else None, dict(ctes))
        if names:
            e.construct("NATURAL" if method else "USING")
            test = self._using(names, from_.sources, source, word, join)
        elif join.args.get("on") is not None:
            test = e.test(join.args["on"], scope, "ON").sql
        elif method and word not in ("SEMI", "ANTI"):
            # Without a column in common, each row of one side matches each row of the other.
            e.construct("NATURAL")
            test = "" if word == "INNER" else "true"
        elif word != "INNER":
            test = self.text.refuse(f"{word} JOIN without a condition", join.this)
        else:
            test = ""
        if not names and word not in ("SEMI", "ANTI"):
            from_.sources.append(source)
        if test:
            e.construct(f"LEFT {word} JOIN" if word in ("SEMI", "ANTI") else f"{word} JOIN")
            from_.sql = f"{from_.sql} {word} JOIN {sql} ON {test}"
        else:
            e.construct("CROSS JOIN")
            from_.sql, from_.has_cross_join = f"{from_.sql} CROSS JOIN {sql}", True
        self._pivot(join, from_)

    def _pivot(self, node: exp.Expr, from_: _From) -> None:
        """Applies PIVOT and UNPIVOT behind a relation or a join to all relations so far."""
        for pivot in node.args.get("pivots") or ():
            result = pivoted(self.expressions, pivot, from_.sql, from_.sources, self.alias)
            from_.sql, from_.sources, from_.has_cross_join = result.sql, list(result.sources), False

    def _common_names(self, sources: Sequence[Source], source: Source, join: exp.Join) -> list[str]:
        """Returns the columns that both sides of a NATURAL JOIN have, in the left side's order."""
        right = {column.name.lower() for column in source.columns}
        return [
            column.name
            for left in sources
            for column in left.columns
            if column.name.lower() in right and column.name.lower() not in left.hidden_names
        ]

    def _using(self, names: Sequence[str], sources: list[Source], source: Source, word: str, join: exp.Join) -> str:
        """Returns the condition of USING. Puts the merged columns, which come first in ``*``, into a separate source
        before the others, and hides the original columns, which come first in ``t.*``.
        """
        tests, merged_columns = [], []
        for name in names:
            before = Scope(tuple(sources)).find(name, None)
            after = [column for column in source.columns if column.name.lower() == name.lower()]
            if not before or not after:
                offered = source.columns if before else [column for left in sources for column in left.columns]
                self.text.wrong(
                    f"The column `{name}` of USING is not on the {'right' if before else 'left'} side of the join. Its "
                    f"columns are {', '.join(sorted({column.name for column in offered}))}.",
                    "UNRESOLVED_USING_COLUMN_FOR_JOIN", "42703", join.this, name,
                )  # fmt: skip
            if len(before) != 1 or len(after) != 1 or before[0].type is None or before[0].type != after[0].type:
                self.text.refuse(f"USING of {name}, which is not one column of one type on both sides,", join.this)
            if before[0].type.element is not None:
                self.text.refuse(f"USING of {name}, an array,", join.this)
            if before[0].typed().char != after[0].typed().char:
                self.text.refuse(f"USING of {name}, a CHAR of different lengths,", join.this)
            left, right = before[0].sql, after[0].sql
            tests.append(f"{left} = {right}")
            # The result of COALESCE is not a CHAR column.
            sql, type_ = {
                "RIGHT": (right, after[0].type),
                "FULL": (f"coalesce({left}, {right})", before[0].type.plain),
            }.get(word, (left, before[0].type))
            merged_columns.append(SourceColumn(before[0].name, sql, type_))
        sides = [joined_source.after_using(names, word not in ("RIGHT", "FULL")) for joined_source in sources]
        if word not in ("SEMI", "ANTI"):
            sides.append(source.after_using(names, word == "RIGHT"))
        sources[:] = [Source(None, tuple(merged_columns)), *sides]
        return " AND ".join(tests)

    # -- relations ----------------------------------------------------------------------------------------------

    def _lateral(self, node: exp.Expr, from_: _From, ctes: Ctes) -> tuple[str, Source]:
        """Translates LATERAL (subquery), which may refer to the relations before it."""
        self.expressions.allow_only(node, "this", "alias")
        if not isinstance(node.this, exp.Subquery):
            self.text.refuse(
                f"LATERAL {self.text.shown(node.this)}", node.this, "Write LATERAL VIEW explode(…) v AS x."
            )
        self.expressions.construct("LATERAL (SELECT …)")
        alias = self.alias()
        query = self.translate(node.this, Scope(tuple(from_.sources)), ctes)
        return f"LATERAL ({query.sql}) AS {alias}", self._source(node, alias, query.columns, None)

    def _relation(self, node: exp.Expr, outer_scope: Scope, ctes: Ctes) -> tuple[str, Source]:
        alias = self.alias()
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            self.expressions.allow_only(node, "this", "alias", "pivots")
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
            self.expressions.allow_only(node, "this", "alias", "order", "limit", "offset", "with_", "pivots")
            self.expressions.construct("subquery in FROM")
            # A relation in FROM cannot refer to its neighbors, but to the query around a subquery.
            query = self.translate(_without_alias(node), outer_scope, ctes)
            return f"({query.sql}) AS {alias}", self._source(node, alias, query.columns, None)
        if isinstance(node, exp.Values):
            query = self.translate(node, Scope(), ctes)
            return f"({query.sql}) AS {alias}", self._source(node, alias, query.columns, None)
        if isinstance(node, exp.Table):
            name = self.text.called(node.this)
            if name == "range":
                self.expressions.allow_only(node, "this", "alias", "pivots")
                return self._range(node, alias)
            if name is not None and name in _READERS:
                hint = f"{READ_FILES}FROM {_READERS[name]}.`path`."
                self.text.refuse(f"The table function {name}", node, hint)
            self.text.refuse(f"{self.text.shown(node)}" if name is None else f"The table function {name}", node)
        return self.text.refuse(f"{self.text.shown(node)} in FROM", node)

    def _range(self, node: exp.Expr, alias: str) -> tuple[str, Source]:
        """Translates ``range(end)`` and ``range(start, end[, step[, partitions]])``."""
        e = self.expressions
        e.construct("range(end), range(start, end[, step[, partitions]])")
        arguments = e.arguments(node.this, 1, 4)
        numbers = [_whole_number(e, argument) for argument in arguments]
        start, end = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
        step = numbers[2] if len(numbers) > 2 else 1
        if step == 0 or (len(numbers) == 4 and numbers[3] <= 0):
            e.refuse(arguments[2 if step == 0 else 3], f"{e.text.shown(node)} with a step or a number of partitions")
        if not -(2**63) <= end - start < 2**63:
            e.refuse(node.this, f"{e.text.shown(node)}, which is longer than BIGINT,")
        # DuckDB counts past the end of BIGINT before it compares.
        count = max(0, -((start - end) // step))
        rows = f"SELECT CAST({start} + i.range * CAST({step} AS HUGEINT) AS BIGINT) AS c0 FROM range({count}) AS i"
        return f"({rows}) AS {alias}", self._source(node, alias, [("id", BIGINT)], None)

    def _source(self, node: exp.Expr, alias: str, columns: Sequence[tuple[str, SqlType]], name: str | None) -> Source:
        source_columns = [SourceColumn(c, f"{alias}.c{number}", type_) for number, (c, type_) in enumerate(columns)]
        return self._aliased(node, source_columns, name)

    def _aliased(self, node: exp.Expr, columns: Sequence[SourceColumn], name: str | None) -> Source:
        """Returns the source under the name and column names that the query gives it."""
        alias = node.args.get("alias")
        if alias is None:
            return Source(name, tuple(columns))
        names = self.renamed([(column.name, VOID) for column in columns], alias, node)
        renamed = (replace(column, name=new) for column, (new, _) in zip(columns, names, strict=True))
        return Source(alias.name or name, tuple(renamed))

    def renamed(
        self, columns: Sequence[tuple[str, SqlType]], alias: exp.Expr, node: exp.Expr
    ) -> tuple[tuple[str, SqlType], ...]:
        """Returns the columns under the names that ``AS t(a, b)`` gives them."""
        self.expressions.allow_only(alias, "this", "columns")
        names = [identifier.name for identifier in alias.args.get("columns") or ()]
        if not names:
            return tuple(columns)
        if len(names) != len(columns):
            self.text.wrong(
                f"{len(names)} names are given to {len(columns)} columns.",
                "ASSIGNMENT_ARITY_MISMATCH", "42802", node,
            )  # fmt: skip
        return tuple((name, type_) for name, (_, type_) in zip(names, columns, strict=True))


def _source_column(name: str, type_name: str, alias: str) -> SourceColumn:
    try:
        column_type: SqlType | None = parse_type(type_name)
    except NotSupportedError:
        column_type = None
    return SourceColumn(name, f"{alias}.{quote(name)}", column_type, type_name)


def _without_alias(node: exp.Subquery) -> exp.Expr:
    copy = exp.Subquery(**{key: value for key, value in node.args.items() if key not in ("alias", "pivots")})
    copy.set("this", node.this)
    return copy


def _whole_number(e: Expressions, node: exp.Expr) -> int:
    """Returns an argument of a table function: a literal whole number, perhaps negative, or a parameter."""
    sign, literal = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    digits = e.translate(literal, Scope()).digits if isinstance(literal, exp.Literal | exp.Placeholder) else None
    if digits is None or not -(2**63) <= sign * digits < 2**63:
        e.refuse(node, f"The argument {e.text.shown(node)} of range, which is not a literal BIGINT,")
    return sign * digits
