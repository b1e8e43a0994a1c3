"""Queries around the one that names a cube: merged into one where it only projects and filters, or read for their
conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from rewriter.certificate.evidence import NotUnderstood
from rewriter.certificate.periods import FIRST, LAST, Range, intersection, union

#: Expressions that compute a value from values alone.
_PURE = (
    exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT,
    exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Between, exp.In, exp.Like, exp.ILike, exp.Is, exp.Case, exp.If,
    exp.Coalesce, exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Concat, exp.DPipe, exp.Length, exp.Add, exp.Sub,
    exp.Mul, exp.Neg, exp.Abs, exp.Identifier, exp.Tuple, exp.Cast, exp.DataType, exp.Alias, exp.Ordered, exp.Var,
    exp.Round, exp.Floor, exp.Ceil, exp.Sign, exp.Sqrt, exp.Ln, exp.Exp, exp.Pow, exp.Mod, exp.Nullif, exp.Greatest,
    exp.Least, exp.Left, exp.Right, exp.Pad, exp.Replace, exp.RegexpLike, exp.RegexpExtract, exp.RegexpReplace,
    exp.StartsWith, exp.EndsWith, exp.Contains, exp.Initcap, exp.Reverse, exp.StrPosition, exp.Distinct,
    exp.Array, exp.BitmapCount, exp.Hex, exp.TsOrDsToDate, exp.TsOrDsAdd, exp.DateDiff, exp.StrToUnix,
)  # fmt: skip
#: Functions of sketches that compute a value from values alone, which sqlglot does not know.
_OF_SKETCHES = frozenset(("theta_sketch_estimate", "theta_union", "theta_intersection", "theta_difference"))
#: Aggregates for which a value counts once, however often it occurs, with the kind of measure that each adds up.
_IDEMPOTENT: Mapping[type[exp.Expr], str] = {
    exp.Max: "MAX", exp.Min: "MIN", exp.LogicalAnd: "BOOL_AND", exp.LogicalOr: "BOOL_OR", exp.Any: "BOOL_OR",
    exp.BitwiseAndAgg: "BIT_AND", exp.BitwiseOrAgg: "BIT_OR", exp.BitmapOrAgg: "BITMAP_OR",
}  # fmt: skip
#: What the query of a repeated WITH may have in it, beside expressions that compute a value from values alone.
PROJECTION = (
    exp.Select, exp.From, exp.Where, exp.Table, exp.TableAlias, exp.Star, exp.TimestampTrunc, exp.DateTrunc, exp.Year,
    exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear, exp.Hour, exp.Minute, exp.WeekOfYear,
    exp.LastDay, exp.TimeToStr, exp.TimeStrToTime, exp.TsOrDsToTimestamp, exp.Extract, exp.Interval, exp.Subquery,
)  # fmt: skip


def is_pure(node: exp.Expr) -> bool:
    """Tests whether an expression computes a value from values alone."""
    is_call = isinstance(node, exp.Anonymous) and not isinstance(node.parent, exp.Dot)
    return isinstance(node, _PURE) or (is_call and node.name.lower() in _OF_SKETCHES)


def clauses_of(node: exp.Expr) -> set[str]:
    """Returns the names of the parts that a node has."""
    return {name for name, value in node.args.items() if value}


def enclosing_nodes(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Returns the nodes of a kind around a node, the nearest one first."""
    ancestor = node.find_ancestor(kind)
    while ancestor is not None:
        yield ancestor
        ancestor = ancestor.find_ancestor(kind)


def offset_of_name(table: exp.Table) -> int | None:
    """Returns the offset of a table's name in the text; ``None`` for one that is not in it."""
    first = table.args.get("catalog") or table.args.get("db") or table.this
    start: int | None = first.meta.get("start") if first is not None else None
    return start


def may_read(select: exp.Expr, source: exp.Expr, name: str) -> bool:
    """Tests whether a query may read the column ``name``, in lower case, of its source: it names it anywhere, or reads
    columns that it does not name.
    """
    alias = source.alias_or_name.lower()
    for node in select.walk(prune=lambda node: node is source):
        if node is source:
            continue
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
            return True
        if isinstance(node, exp.Columns) or (isinstance(node, exp.Anonymous) and node.name.lower() == "identifier"):
            return True
        if isinstance(node, exp.Join) and node.method:
            return True
        if isinstance(node, exp.Column) and not node.table and node.name.lower() == alias:
            return True  # A struct of all columns.
        if isinstance(node, exp.Identifier) and not isinstance(node.parent, exp.Table | exp.TableAlias):
            is_given = isinstance(node.parent, exp.Alias) and node.arg_key == "alias"
            if not is_given and ("(" in node.name or node.name.lower() == name):
                return True
    return False


def counterpart(block: exp.Expr, executed: exp.Expr) -> exp.Expr:
    """Returns the node of the executed text in the place of one of the query's."""
    path = [block]
    while path[-1].parent is not None:
        path.append(path[-1].parent)
    for node in reversed(path[:-1]):
        value = executed.args.get(node.arg_key or "")
        if isinstance(value, list):
            value = value[node.index or 0] if (node.index or 0) < len(value) else None
        if not isinstance(value, exp.Expr):
            raise NotUnderstood("an executed text of another form than the query")
        # An edit may have given an item its name.
        executed = value.this if isinstance(value, exp.Alias) and not isinstance(node, exp.Alias) else value
    return executed


class Projection:
    """A query that only projects and filters ``source``, and the place ``use`` in the query ``outer`` that names it."""

    def __init__(self, source: exp.Expr, use: exp.Expr, inner: exp.Select, outer: exp.Select) -> None:
        self._source, self._use, self._inner, self._outer = source, use, inner, outer
        self._name = use.alias_or_name or source.alias_or_name
        self._is_alone = not outer.args.get("joins")
        #: Values of columns, by name, and whether all other columns of the source are columns, too.
        self._has_all = any(isinstance(item, exp.Star) for item in inner.expressions)
        self._items = [item for item in inner.expressions if not isinstance(item, exp.Star)]
        names = use.alias_column_names or [item.alias_or_name for item in self._items]
        self._values = {
            name.lower(): self._qualified(item.unalias()) for name, item in zip(names, self._items, strict=False)
        }

    @classmethod
    def of(cls, source: exp.Expr) -> Projection | None:
        """Returns the query of a source, if it can be merged into the one around it."""
        inner = source.find_ancestor(exp.Select)
        if inner is None or source.parent is not inner.args.get("from_"):
            return None
        clauses = clauses_of(inner) - {"expressions", "from_", "where"}
        more = clauses_of(source) - {"this", "db", "alias"}
        parts = [*inner.expressions, *filter(None, [inner.args.get("where")])]
        nodes = [node for part in parts for node in part.walk()]
        is_plain = all(
            (is_pure(node) or isinstance(node, PROJECTION)) and not isinstance(node, exp.Query) for node in nodes
        )
        is_plain &= not any(any(node.args.values()) for node in nodes if isinstance(node, exp.Star))
        names = ("", source.alias_or_name.lower())
        is_plain &= all(n.table.lower() in names and not n.db for n in nodes if isinstance(n, exp.Column))
        use = _place_of(inner)
        if clauses or more or not is_plain or use is None or source.alias_column_names:
            return None
        outer = use.find_ancestor(exp.Select)
        if outer is None or clauses_of(use) - {"this", "alias"} or outer.args.get("laterals"):
            return None
        joins: list[exp.Join] = outer.args.get("joins") or []
        is_first = use.parent is outer.args["from_"]
        is_joined = any(j is use.parent and j.side == "" and j.kind in ("", "INNER", "CROSS") for j in joins)
        keeps = all(j.side in ("", "LEFT") and not j.method and not j.args.get("using") for j in joins)
        projection = cls(source, use, inner, outer)
        return projection if (is_first or is_joined) and keeps and projection._is_mergeable() else None

    def _is_mergeable(self) -> bool:
        names = len(self._use.alias_column_names)
        if len(self._values) != len(self._items) or (names and (names != len(self._items) or self._has_all)):
            return False
        output = {item.alias.lower() for item in self._outer.expressions if item.alias}
        for node in self._own_nodes():
            is_nested = isinstance(node, exp.Table | exp.Subquery) and node.find_ancestor(exp.Select) is not self._outer
            if is_nested and node.alias_or_name.lower() == self._name.lower():
                return False
            is_all = isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count) and not self._has_all
            if is_all and not (self._is_alone and node.parent is self._outer):
                return False
            if not isinstance(node, exp.Column):
                continue
            is_known = self._has_all or node.name.lower() in self._values
            if node.table.lower() == self._name.lower() and not (is_known and not isinstance(node.this, exp.Star)):
                return False
            is_own = not node.table and is_known
            is_outer = node.find_ancestor(exp.Select) is self._outer
            is_ordered = node.find_ancestor(exp.Order) is not None
            is_of_output = node.name.lower() in output and (self._is_alone or is_ordered)
            if is_outer and not node.table and not is_known and not is_of_output:
                return False
            is_value = is_known and node.table.lower() in ("", self._name.lower())
            value = self._values.get(node.name.lower()) if is_value else None
            if isinstance(value, exp.Literal) and node.find_ancestor(exp.Order, exp.Group) is not None:
                return False  # It would be the number of an item.
            if is_own and node.find_ancestor(exp.Select) is not self._outer:
                return False
            clause = node.find_ancestor(exp.Group, exp.Having)
            if is_own and clause is not None and node.name.lower() in output:
                return False
        return True

    def _own_nodes(self) -> Iterator[exp.Expr]:
        """Yields the nodes of the outer query that may name columns of this one: not those of other queries in FROM."""
        return self._outer.walk(
            prune=lambda node: (
                node is self._use
                or "is_source" in node.meta
                or isinstance(node, exp.With)
                or (isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From | exp.Join))
            )
        )

    def _qualified(self, value: exp.Expr) -> exp.Expr:
        value = value.copy()
        for column in value.find_all(exp.Column):
            column.set("table", exp.to_identifier(self._name))
        return value

    def merge(self) -> None:
        """Puts the source in the place of the query, and the values of its columns in the places of their names."""
        output = {item.alias.lower() for item in self._outer.expressions if item.alias}
        for node in [*self._own_nodes()]:
            if isinstance(node, exp.Star) and node.parent is self._outer and not self._has_all:
                names = self._use.alias_column_names or [item.alias_or_name for item in self._items]
                items = [exp.alias_(self._values[name.lower()].copy(), name) for name in names]
                self._outer.set(
                    "expressions", [i for item in self._outer.expressions for i in (items if item is node else [item])]
                )
            if not isinstance(node, exp.Column) or node.name.lower() not in self._values:
                continue
            is_of_result = node.find_ancestor(exp.Order) is not None and node.name.lower() in output
            if node.table.lower() == self._name.lower() or not (node.table or is_of_result):
                value = self._values[node.name.lower()].copy()
                node.replace(exp.alias_(value, node.name) if node.parent is self._outer else value)
        where = self._inner.args.get("where")
        if where is not None:
            own, condition = self._outer.args.get("where"), self._qualified(where.this)
            both = condition if own is None else exp.And(this=condition, expression=own.this)
            self._outer.set("where", exp.Where(this=both))
        query = self._use.parent if isinstance(self._use, exp.Subquery) else self._inner.parent
        self._source.meta.setdefault("names", []).append(self._source.alias_or_name)
        columns = {column.name.lower() for column in self._inner.find_all(exp.Column)}
        self._source.meta.setdefault("columns", set()).update(columns)
        self._source.set("alias", exp.TableAlias(this=exp.to_identifier(self._name)))
        self._use.replace(self._source)
        if isinstance(query, exp.CTE):
            scope = query.parent
            query.pop()
            if isinstance(scope, exp.With) and not scope.expressions:
                scope.pop()


def _place_of(query: exp.Select) -> exp.Expr | None:
    """Returns the only place in FROM or JOIN that uses the rows of a query; ``None`` where there is none."""
    parent = query.parent
    if isinstance(parent, exp.Subquery):
        return parent if isinstance(parent.parent, exp.From | exp.Join) else None
    if not isinstance(parent, exp.CTE) or parent.alias_column_names:
        return None
    name, root = parent.alias.lower(), query.root()
    uses = [table for table in root.find_all(exp.Table) if table.name.lower() == name]
    is_unique = sum(cte.alias.lower() == name for cte in root.find_all(exp.CTE)) == 1
    is_only = is_unique and len(uses) == 1 and not uses[0].db and parent not in enclosing_nodes(uses[0], exp.CTE)
    return uses[0] if is_only and isinstance(uses[0].parent, exp.From | exp.Join) else None


class EnclosingQueries:
    """Reads the conditions of the queries around a block on the times that the block's columns give them.

    A row that such a condition drops may as well be left out of the block: its columns have the values that the
    condition is about, and no condition that is read is true for NULL.
    """

    def __init__(
        self, select: exp.Select, source: exp.Table, time: str, read: Callable[[exp.Expr], tuple[list[Range], bool]]
    ) -> None:
        """``read`` returns the times that a condition on columns of the block leaves, and whether that is all."""
        self._select, self._source, self._time, self._read = select, source, time, read

    def ranges(self) -> list[Range]:
        """Returns times that contain all whose rows the queries around the block use."""
        name = self._source.alias_or_name
        if clauses_of(self._source) - {"this", "db", "catalog", "alias"}:
            return [(FIRST, LAST)]
        return self._around(self._select, _output(self._select, name, {self._time: exp.column(self._time, name)}))

    def _around(self, query: exp.Select, columns: Mapping[str, exp.Expr]) -> list[Range]:
        """``columns`` are the values of those columns of the query that are functions of the block's, by name."""
        has_own_order = query.args.get("limit") or query.args.get("offset") or query.args.get("laterals")
        parent = query.parent
        if not columns or has_own_order or query.find(exp.Window) or not isinstance(parent, exp.Subquery | exp.CTE):
            return [(FIRST, LAST)]
        uses: list[exp.Expr] = [parent]
        if isinstance(parent, exp.CTE):
            if parent.alias_column_names:
                return [(FIRST, LAST)]
            name, root = parent.alias.lower(), query.root()
            uses = [table for table in root.find_all(exp.Table) if table.name.lower() == name]
            is_unique = sum(cte.alias.lower() == name for cte in root.find_all(exp.CTE)) == 1
            if not is_unique or any(parent in enclosing_nodes(table, exp.CTE) for table in uses):
                return [(FIRST, LAST)]
        return union([range_ for use in uses for range_ in self._in_use(use, columns)])

    def _in_use(self, source: exp.Expr, columns: Mapping[str, exp.Expr]) -> list[Range]:
        """Returns the times that a query leaves of one of its sources."""
        select = source.find_ancestor(exp.Select)
        is_source = isinstance(source.parent, exp.From | exp.Join) and source.parent.parent is select
        clauses = {name for name, value in source.args.items() if value} - {"this", "alias"}
        if select is None or not is_source or clauses or source.alias_column_names or select.args.get("laterals"):
            return [(FIRST, LAST)]
        ranges, name = [(FIRST, LAST)], source.alias_or_name
        where = select.args.get("where")
        for condition in conditions_in(where.this) if where is not None else ():
            value = _in_terms_of(condition, select, name, columns)
            if value is not None:
                ranges = intersection(ranges, self._read(value)[0])
        return intersection(ranges, self._around(select, _output(select, name, columns)))


def conditions_in(condition: exp.Expr) -> Iterator[exp.Expr]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from conditions_in(condition.this)
        yield from conditions_in(condition.expression)
    else:
        yield condition


def _output(select: exp.Select, source: str, columns: Mapping[str, exp.Expr]) -> dict[str, exp.Expr]:
    """Returns the values of a query's output columns, by name, where they are functions of columns of a source."""
    values: dict[str, exp.Expr] = {}
    names: list[str] = []
    for item in select.expressions:
        if item.is_star:
            is_whole = isinstance(item, exp.Star) and not select.args.get("joins") and set(item.args.values()) <= {None}
            if not is_whole:
                return {}
            names += columns
            values |= columns
            continue
        names.append(item.alias_or_name.lower())
        value = _in_terms_of(item.unalias(), select, source, columns)
        if value is not None:
            values[names[-1]] = value
    return {name: value for name, value in values.items() if names.count(name) == 1}


def _in_terms_of(node: exp.Expr, select: exp.Select, source: str, columns: Mapping[str, exp.Expr]) -> exp.Expr | None:
    """Returns an expression of a query with the values of a source's columns in their places; ``None`` where it uses
    anything else.
    """
    is_alone = not select.args.get("joins")
    for part in node.walk():
        if isinstance(part, exp.AggFunc | exp.Window | exp.Query):
            return None
        if isinstance(part, exp.Column):
            is_own = part.table.lower() == source.lower() if part.table else is_alone
            if not is_own or part.name.lower() not in columns:
                return None
    return node.copy().transform(lambda n: columns[n.name.lower()].copy() if isinstance(n, exp.Column) else n)


def idempotent_kind(node: exp.Expr) -> str | None:
    """Returns the kind of measure that MAX, EVERY and the like add up; ``None`` for any other expression. Measures have
    no THETA_SKETCH: it is of dimensions.
    """
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 1:
        return {"every": "BOOL_AND", "some": "BOOL_OR"}.get(node.name.lower())
    if isinstance(node, exp.AnonymousAggFunc):
        return {"theta_union_agg": "THETA_UNION", "theta_sketch_agg": "THETA_SKETCH"}.get(node.name.lower())
    return None if node.expressions and isinstance(node, exp.AggFunc) else _IDEMPOTENT.get(type(node))


def is_aggregate(node: exp.Expr) -> bool:
    """Tests for an aggregate. EVERY, SOME and ANY are none to sqlglot; after an operator, ANY is none: LIKE ANY."""
    is_operand = isinstance(node, exp.Any) and isinstance(node.parent, exp.Binary) and node.arg_key == "expression"
    return isinstance(node, exp.AggFunc) or (idempotent_kind(node) is not None and not is_operand)


def keeps_precision(node: exp.Expr, measure: Sequence[Any]) -> bool:
    """Tests whether THETA_UNION_AGG keeps no more hashes than rollups of the measure have; true for other aggregates. A
    measure is a list of the catalog: its precision is the tenth element.
    """
    if not isinstance(node, exp.AnonymousAggFunc):
        return True
    precision = node.expressions[1].unnest() if len(node.expressions) == 2 else exp.Literal.number(12)
    is_literal = isinstance(precision, exp.Literal) and not precision.is_string and precision.name.isdigit()
    return len(measure) > 9 and is_literal and int(precision.name) <= measure[9]


def is_of_series(node: exp.Expr, measure: Sequence[Any] | None, order: Sequence[Any] | None) -> bool:
    """Tests for MAX_BY of a LAST measure by its own time, and for MIN_BY of a FIRST one. A measure is a list of the
    catalog: its kind is the third element, and the eighth names the measure with its time.
    """
    if measure is None or order is None or node.expressions or len(measure) < 8:
        return False
    kind = "LAST" if isinstance(node, exp.ArgMax) else "FIRST"
    return bool(measure[2] == kind and order[0].lower() == str(measure[7]).lower())
