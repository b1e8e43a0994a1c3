"""FROM: relations, aliases and joins, with the columns that names in the rest of a query can mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.model.stored_paths import READ_FILES
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import NotSupportedError, ParseError
from rewriter.exec.spark_functions import is_function
from rewriter.exec.sql_types import BIGINT, BOOLEAN, STRING, VOID, SqlType, parse_type
from rewriter.exec.translate.aggregate_calls import Aggregate, aggregate_call
from rewriter.exec.translate.aggregates import aggregate
from rewriter.exec.translate.casts import quote, string_literal, wider_type
from rewriter.exec.translate.expressions import Expressions, Scope, Source, SourceColumn, Typed
from rewriter.exec.translate.generators import Generated, generated, is_generator
from rewriter.exec.translate.math_functions import literal_int
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.exec.engine import Relation

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
_Translate = Callable[[exp.Expr, Scope, Ctes], Query]


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

    def __init__(self, expressions: Expressions, relations: Sequence[Relation], translate: _Translate) -> None:
        self.expressions = expressions
        self.text = expressions.text
        self.relations = {relation.name.lower(): relation for relation in relations}
        self.translate = translate
        self._serial = 0
        #: The names of relations and their columns. In a subquery, a column hides a relation of the outer query.
        self._taken_names = {
            *self.relations,
            *(column.name.lower() for relation in relations for column in relation.all_columns),
        }

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
        """Returns a name that no relation has, nor a column of one."""
        self._serial += 1
        while f"s{self._serial}" in self._taken_names:
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
        rows = generated(self.expressions, view.this, scope, self.alias())
        from_.sql += joined_rows(rows, bool(view.args.get("outer")))
        from_.sources.append(self._aliased(view, rows.source.columns, None))

    # -- joins --------------------------------------------------------------------------------------------------

    def _join(self, join: exp.Join, from_: _From, outer_scope: Scope, ctes: Ctes) -> None:
        e = self.expressions
        e.allow_only(join, "this", "side", "kind", "on", "using", "method", "pivots")
        word, method = self._read_join_words(join)
        self._check_join(join, from_, word, method)
        sql, source = (
            self._lateral(join.this, from_, ctes)
            if isinstance(join.this, exp.Lateral)
            else self._relation(join.this, outer_scope, ctes)
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

    def _read_join_words(self, join: exp.Join) -> tuple[str, str]:
        """Returns the kind of a join, such as INNER, LEFT or SEMI, and NATURAL or ''. Refuses other kinds."""
        side, kind, method = (str(join.args.get(key) or "").upper() for key in ("side", "kind", "method"))
        if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI"):
            self.text.refuse(f"{side} {kind} JOIN".replace("  ", " ").strip(), join.this)
        if method not in ("", "NATURAL"):
            self.text.refuse(f"{method} JOIN", join.this)
        return kind if kind in ("SEMI", "ANTI") else side or "INNER", method

    def _check_join(self, join: exp.Join, from_: _From, word: str, method: str) -> None:
        """Refuses joins that sqlglot reads in another way than Spark, and joins that DuckDB does not have."""
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

    def _pivot(self, node: exp.Expr, from_: _From) -> None:
        """Applies PIVOT and UNPIVOT behind a relation or a join to all relations so far."""
        for pivot in node.args.get("pivots") or ():
            result = _translated_pivot(self.expressions, pivot, from_.sql, from_.sources, self.alias)
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
            if before[0].type.is_nested:
                self.text.refuse(f"USING of {name}, {before[0].type},", join.this)
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
            self.expressions.allow_only(node, "this", "alias", "pivots", "sample")
            cte = ctes.get(node.name.lower())
            if cte is not None:
                return f"{self._sampled(node, cte.alias)} AS {alias}", self._source(node, alias, cte.columns, node.name)
            relation = self.relations.get(node.name.lower())
            if relation is None:
                self.text.wrong(
                    f"The table or view `{node.name}` cannot be found.", "TABLE_OR_VIEW_NOT_FOUND", "42P01", node,
                    node.name,
                )  # fmt: skip
            patterns = dict(relation.time_patterns)
            columns = [
                _source_column(column.name, column.type, alias, patterns.get(column.name.lower()), relation.format)
                for column in relation.all_columns
            ]
            sql = self._sampled(node, quote(relation.name))
            return f"{sql} AS {alias}", self._aliased(node, columns, relation.name)
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
            if name is not None and not is_function(name):
                hint = "SHOW USER FUNCTIONS lists the functions of the catalog."
                message = f"There is no table function {name}."
                self.text.wrong(message, "UNRESOLVABLE_TABLE_VALUED_FUNCTION", "42883", node, name, hint)
            self.text.refuse(f"{self.text.shown(node)}" if name is None else f"The table function {name}", node)
        return self.text.refuse(f"{self.text.shown(node)} in FROM", node)

    def _sampled(self, node: exp.Expr, relation: str) -> str:
        """Returns a relation or its TABLESAMPLE: each row with a probability, or the first rows."""
        sample = node.args.get("sample")
        if sample is None:
            return relation
        e = self.expressions
        e.construct("TABLESAMPLE (n PERCENT | n ROWS | BUCKET n OUT OF m) [REPEATABLE (seed)]")
        e.allow_only(sample, "percent", "size", "bucket_numerator", "bucket_denominator", "seed")
        if sample.args.get("size") is not None:
            return f"(SELECT * FROM {relation} LIMIT {literal_int(e, sample.args['size'])})"
        percent = sample.args.get("percent")
        if percent is not None:
            fraction = self._literal_number(sample, percent) / 100
        else:
            total = self._literal_number(sample, sample.args["bucket_denominator"])
            fraction = self._literal_number(sample, sample.args["bucket_numerator"]) / total if total else Decimal(-1)
        if not 0 <= fraction <= 1:
            self.text.wrong(
                f"The fraction of {self.text.shown(sample)} is not between 0 and 1.",
                "INVALID_TABLESAMPLE_FRACTION", "22023", node,
            )  # fmt: skip
        seed = sample.args.get("seed")
        repeatable = "" if seed is None else f" REPEATABLE ({literal_int(e, seed)})"
        return f"(SELECT * FROM {relation} TABLESAMPLE bernoulli({fraction * 100:f} PERCENT){repeatable})"

    def _literal_number(self, sample: exp.Expr, node: exp.Expr) -> Decimal:
        if not isinstance(node, exp.Literal) or node.args.get("is_string"):
            self.text.refuse(self.text.shown(sample), sample)
        return Decimal(str(node.this))

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


def joined_rows(rows: Generated, outer: bool = False) -> str:
    """Returns the join of the relations so far with the rows that a generator makes of each of them."""
    return f" LEFT JOIN {rows.sql} ON true" if outer or rows.is_outer else f" CROSS JOIN {rows.sql}"


def _source_column(name: str, type_name: str, alias: str, time_pattern: str | None, format: str) -> SourceColumn:
    try:
        column_type: SqlType | None = parse_type(type_name)
    except NotSupportedError:
        column_type = None
    if column_type is not None and column_type.is_nested and not DATA_FORMATS[format.lower()].nests_type(type_name):
        column_type = None
    return SourceColumn(name, f"{alias}.{quote(name)}", column_type, type_name, time_pattern)


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


# PIVOT and UNPIVOT in FROM.
#
# Spark groups a PIVOT by all columns that neither an aggregate nor FOR names. If all aggregates are numbers or
# BOOLEANs, a group without rows of a value has NULL in all columns of the value, a COUNT, too. If one of them has
# another type, each aggregate runs over the rows of the value alone, so that such a COUNT is 0.

#: The aggregates that Spark, too, runs over the rows of a value, if one of the aggregates is neither a number nor a
#: BOOLEAN. Of others it drops NULLs, or it refuses their constant arguments.
_OVER_ROWS = frozenset(
    "count sum avg mean min max min_by max_by count_if bool_and every bool_or some any stddev std stddev_samp "
    "stddev_pop variance var_samp var_pop array_agg collect_list collect_set".split()
)
#: The numbers whose text is the literal's text.
_DIGITS = re.compile(r"(0|[1-9]\d*)(\.\d+)?\Z")

_DAY = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)


@dataclass(frozen=True)
class Pivoted:
    """The relation that PIVOT or UNPIVOT makes: its SQL, and the sources that names can mean."""

    sql: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class _Value:
    """A value of IN: the condition that selects its rows, and the name of its columns."""

    test: str
    name: str


@dataclass(frozen=True)
class _Column:
    """An aggregate of PIVOT: its translation, the condition of its FILTER, and its name."""

    aggregate: Aggregate
    function: str
    test: str
    name: str | None


def _translated_pivot(
    e: Expressions, node: exp.Pivot, sql: str, sources: Sequence[Source], new_alias: Callable[[], str]
) -> Pivoted:
    """Translates PIVOT or UNPIVOT of the relation ``sql``, the text after FROM. Raises the errors of ``translate``."""
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        position = e.text.position(alias)
        raise ParseError("Syntax error at '(': names of columns cannot follow PIVOT and UNPIVOT.", position=position)
    rule = _unpivoted if node.args.get("unpivot") else _pivoted
    return rule(e, node, sql, sources, new_alias(), None if alias is None else alias.name)


def _visible(e: Expressions, sources: Sequence[Source], node: exp.Expr) -> list[tuple[Source, SourceColumn]]:
    """Returns the columns of ``*`` with their sources."""
    pairs = [
        (source, column)
        for source in sources
        for column in source.columns
        if column.name.lower() not in source.hidden_names
    ]
    for _, column in pairs:
        if column.type is None:
            e.text.refuse(f"The type {column.type_name} of the column {column.name}", node)
    return pairs


def _used(e: Expressions, nodes: Sequence[exp.Expr], scope: Scope) -> set[str]:
    """Returns the SQL of the columns that expressions name. Refuses names that are not columns."""
    for node in nodes:
        inner = node.find(exp.Lambda, exp.Query)
        if inner is not None:
            e.text.refuse("A lambda or a subquery in PIVOT", inner, "Compute the value in a subquery of FROM.")
    columns = [column for node in nodes for column in node.find_all(exp.Column)]
    return {e.translate(column, scope).sql for column in columns if not isinstance(column.this, exp.Star)}


def _result(
    kept: Sequence[tuple[Source, SourceColumn]], made: Sequence[SourceColumn], alias: str, name: str | None
) -> tuple[Source, ...]:
    """Returns the sources of the result: the columns that it keeps, under their qualifiers, then the new ones."""
    columns = [replace(column, sql=f"{alias}.c{number}") for number, (_, column) in enumerate(kept)]
    if name is not None:
        return (Source(name, (*columns, *made)),)
    sources: list[Source] = []
    for (source, _), column in zip(kept, columns, strict=True):
        if sources and sources[-1].alias == source.alias:
            sources[-1] = replace(sources[-1], columns=(*sources[-1].columns, column))
        else:
            sources.append(Source(source.alias, (column,)))
    return (*sources, Source(None, tuple(made)))


# -- PIVOT ------------------------------------------------------------------------------------------------------------


def _pivoted(
    e: Expressions, node: exp.Pivot, sql: str, sources: Sequence[Source], alias: str, name: str | None
) -> Pivoted:
    e.allow_only(node, "expressions", "fields", "alias", "columns", "identify_pivot_strings", "prefixed_pivot_columns",
                 "pivot_column_naming", "unpivot")  # fmt: skip
    e.construct("PIVOT (f(x), … FOR column IN (value, …))")
    scope = Scope(tuple(sources))
    fields = node.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In):
        e.text.refuse("PIVOT without one FOR", node)
    aggregates = [_aggregate(e, part, scope) for part in node.expressions]
    values = _values(e, fields[0], scope)
    used = _used(e, [*node.expressions, fields[0].this], scope)
    kept = [(source, column) for source, column in _visible(e, sources, node) if column.sql not in used]
    over_rows = not all(
        column.aggregate.type.is_numeric or column.aggregate.type == BOOLEAN for column in aggregates
    )  # fmt: skip
    items, keys = [], []
    for number, (_, column) in enumerate(kept):
        e.comparable(column.typed(), node, "PIVOT beside a column", grouped=True)
        keys.append(column.sql)
        merged = column.type is not None and column.type.is_floating
        items.append(f"{f'({column.sql} + 0)' if merged else column.sql} AS c{number}")
    made: list[SourceColumn] = []
    for value in values:
        for part in aggregates:
            if over_rows and part.function not in _OVER_ROWS:
                e.text.refuse(
                    f"{part.function.upper()} in a PIVOT with an aggregate that is neither a number nor a BOOLEAN",
                    node,
                    "Write a PIVOT for each of them, and join the results.",
                )
            test = f"{value.test} AND {part.test}" if part.test else value.test
            aggregated = part.aggregate.sql(test)
            column_sql = aggregated if over_rows else f"CASE WHEN bool_or({value.test}) THEN {aggregated} END"
            column_name = value.name
            if len(aggregates) > 1:
                if part.name is None:
                    e.text.refuse("An aggregate of PIVOT without a name", node, "Name it: SUM(x) AS total.")
                column_name = f"{value.name}_{part.name}"
            number = len(items)
            items.append(f"{column_sql} AS c{number}")
            made.append(SourceColumn(column_name, f"{alias}.c{number}", part.aggregate.type))
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return Pivoted(f"(SELECT {', '.join(items)} FROM {sql}{grouped}) AS {alias}", _result(kept, made, alias, name))


def _aggregate(e: Expressions, node: exp.Expr, scope: Scope) -> _Column:
    name = node.alias if isinstance(node, exp.Alias) else None
    value = node.this if isinstance(node, exp.Alias) else node
    inner, test, condition_name = value, "", None
    if isinstance(value, exp.Filter):
        e.allow_only(value, "this", "expression")
        condition = e.test(value.expression.this, scope, "FILTER")
        inner, test, condition_name = value.this, condition.sql, condition.name
    call_ = aggregate_call(e, inner)
    translated = aggregate(e, inner, scope)
    if translated is None or call_ is None:
        e.text.refuse(f"{e.text.shown(value)} in PIVOT", value, "Write an aggregate, for example SUM(x).")
    named = translated.name
    if test:
        named = None if named is None or condition_name is None else f"{named} FILTER (WHERE {condition_name})"
    return _Column(translated, call_.function, test, name or named)


def _values(e: Expressions, node: exp.In, scope: Scope) -> list[_Value]:
    columns = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    targets = []
    for column in columns:
        if not isinstance(column, exp.Column) or column.args.get("table"):
            position = e.text.position(column)
            raise ParseError("Syntax error: FOR in PIVOT names a column, without its table.", position=position)
        target = e.comparable(e.translate(column, scope), column, "PIVOT")
        if target.char is not None:
            e.text.refuse("PIVOT by a CHAR column", column, "Cast the column to STRING in a subquery of FROM.")
        targets.append(target)
    return [_value(e, value, targets) for value in node.expressions]


def _value(e: Expressions, node: exp.Expr, targets: Sequence[Typed]) -> _Value:
    value = node.this if isinstance(node, exp.PivotAlias) else node
    parts = value.expressions if isinstance(value, exp.Tuple) else [value]
    if len(parts) != len(targets):
        e.text.wrong(
            f"PIVOT has {len(targets)} columns after FOR, and {len(parts)} values in {e.text.shown(value)}.",
            "PIVOT_VALUE_DATA_TYPE_MISMATCH", "42K09", value,
        )  # fmt: skip
    tests = []
    for part, target in zip(parts, targets, strict=True):
        if part.find(exp.Column) is not None or part.find(exp.Query) is not None:
            e.text.wrong(
                f"The values of PIVOT are literals, not {e.text.shown(part)}.",
                "NON_LITERAL_PIVOT_VALUES", "42K08", part,
            )  # fmt: skip
        literal = e.translate(part, Scope())
        tests.append(f"{target.sql} IS NOT DISTINCT FROM {e.cast(literal, target.type, part)}")
    if isinstance(node, exp.PivotAlias):
        name = node.args["alias"].name
    else:
        texts = [_text(e, part) for part in parts]
        name = f"{{{', '.join(texts)}}}" if isinstance(value, exp.Tuple) else texts[0]
    return _Value(f"({' AND '.join(tests)})", name)


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and bool(node.args.get("is_string"))


def _text(e: Expressions, node: exp.Expr) -> str:
    """Returns a value of PIVOT as the name of its column."""
    sign = "-" if isinstance(node, exp.Neg) else ""
    value = node.this if isinstance(node, exp.Neg) else node
    if isinstance(value, exp.Null):
        return "null"
    if isinstance(value, exp.Boolean) and not sign:
        return "true" if value.this else "false"
    if _is_text(value) and not sign:
        return e.text.string(value)
    typed = e.text.shown(value)
    if isinstance(value, exp.Cast) and not sign and value.to.this == exp.DataType.Type.DATE and _is_text(value.this):
        day = e.text.string(value.this)
        if _DAY.match(day):
            return day
    if isinstance(value, exp.Literal) and _DIGITS.match(typed) and (typed.strip("0.") or not sign):
        return sign + typed
    return e.text.refuse(f"The value {e.text.shown(node)} of PIVOT without a name", node, "Name it: … AS name.")


# -- UNPIVOT ----------------------------------------------------------------------------------------------------------


def _read_unpivoted_columns(
    e: Expressions, options: Sequence[exp.Expr], value_count: int, scope: Scope
) -> tuple[list[list[Typed]], list[str]]:
    """Returns the columns that become each of the rows of UNPIVOT, and the names of these rows."""
    groups: list[list[Typed]] = []
    labels: list[str] = []
    for option in options:
        value = option.this if isinstance(option, exp.PivotAlias) else option
        columns = value.expressions if isinstance(value, exp.Tuple) else [value]
        if len(columns) != value_count:
            e.text.wrong(
                f"UNPIVOT has {value_count} columns of values, but {e.text.shown(value)} has {len(columns)}.",
                "UNPIVOT_VALUE_SIZE_MISMATCH", "428C4", value,
            )  # fmt: skip
        if not all(isinstance(column, exp.Column) for column in columns):
            position = e.text.position(value)
            raise ParseError(f"Syntax error: UNPIVOT names columns, not {e.text.shown(value)}.", position=position)
        groups.append([e.translate(column, scope) for column in columns])
        has_alias = isinstance(option, exp.PivotAlias)
        labels.append(option.args["alias"].name if has_alias else "_".join(column.name for column in columns))
    return groups, labels


def _unpivoted(
    e: Expressions, node: exp.Pivot, sql: str, sources: Sequence[Source], alias: str, name: str | None
) -> Pivoted:
    e.allow_only(node, "expressions", "fields", "alias", "include_nulls", "unpivot")
    e.construct("UNPIVOT [INCLUDE NULLS] (value FOR name IN (column, …))")
    scope = Scope(tuple(sources))
    fields = node.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In) or len(node.expressions) != 1:
        e.text.refuse("UNPIVOT without one FOR", node)
    head = node.expressions[0]
    value_names = [part.name for part in (head.expressions if isinstance(head, exp.Tuple) else [head])]
    groups, labels = _read_unpivoted_columns(e, fields[0].expressions, len(value_names), scope)
    used = {value.sql for group in groups for value in group}
    kept = [(source, column) for source, column in _visible(e, sources, node) if column.sql not in used]
    items = [f"{column.sql} AS c{number}" for number, (_, column) in enumerate(kept)]
    first = len(items)
    items.append(f"unnest([{', '.join(string_literal(label) for label in labels)}]) AS c{first}")
    made = [SourceColumn(fields[0].this.name, f"{alias}.c{first}", STRING)]
    for number, (value_name, values) in enumerate(zip(value_names, zip(*groups, strict=True), strict=True), first + 1):
        type_ = _common_type(e, values, node)
        listed = ", ".join(e.cast(value, type_, node) for value in values)
        items.append(f"unnest([{listed}]) AS c{number}")
        made.append(SourceColumn(value_name, f"{alias}.c{number}", type_))
    names = [column.name.lower() for column in (*(column for _, column in kept), *made)]
    for value_name in value_names:
        if not node.args.get("include_nulls") and names.count(value_name.lower()) > 1:
            e.text.wrong(f"The name `{value_name}` is ambiguous.", "AMBIGUOUS_REFERENCE", "42704", head, value_name)
    unnested = f"SELECT {', '.join(items)} FROM {sql}"
    if not node.args.get("include_nulls"):
        present = " OR ".join(f"c{first + 1 + number} IS NOT NULL" for number in range(len(value_names)))
        unnested = f"SELECT * FROM ({unnested}) WHERE {present}"
    return Pivoted(f"({unnested}) AS {alias}", _result(kept, made, alias, name))


def _common_type(e: Expressions, values: Sequence[Typed], node: exp.Expr) -> SqlType:
    """Returns the type of a column of values. A string has no common type with others."""
    common = values[0].type
    for value in values[1:]:
        wider = wider_type(common, value.type)
        is_mixed = "string" in (common.name, value.type.name) and not {common.name, value.type.name} <= {
            "string", "void",
        }  # fmt: skip
        has_float = "float" in (common.name, value.type.name) and not (common.is_floating and value.type.is_floating)
        if common.is_numeric and value.type.is_numeric and (wider is None or has_float):
            # Of a whole number and a FLOAT, Spark makes a FLOAT here, and a DOUBLE elsewhere.
            e.text.refuse(f"UNPIVOT of {common} and {value.type}", node)
        if wider is None or is_mixed:
            e.text.wrong(
                f"The columns that UNPIVOT makes one have no common type: {common.shown} and {value.type.shown}.",
                "UNPIVOT_VALUE_DATA_TYPE_MISMATCH", "42K09", node, None, "Cast them in a subquery of FROM.",
            )  # fmt: skip
        common = wider
    return common
