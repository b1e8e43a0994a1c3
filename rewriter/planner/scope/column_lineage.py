"""Column lineage: traces each output column of a query down to the table or cube that has the rows.

The trace follows projections, conditions and aggregations of one relation, subqueries, CTEs, views and UNION ALL.
Everything else may leave rows out or repeat them (joins, DISTINCT, LIMIT, windows, generators), so it is not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.joins import conjuncts, relations
from rewriter.planner.scope.projections import own_nodes, substituted

#: What a query has that reads nothing.
NO_TABLE = "rows that are not from a table"
#: The columns of a table or cube that a query names, in order.
ColumnsOf = Callable[[exp.Table], Sequence[str]]


class NotFollowed(Exception):
    """A part of a query that lineage cannot follow; the text names it."""


@dataclass(frozen=True)
class Condition:
    """One part of a WHERE: as typed, and over the columns of the reference below."""

    original: exp.Expr
    value: exp.Expr


@dataclass(frozen=True)
class Lineage:
    """The rows of a query that come from one reference.

    ``outputs`` are the values of the output columns, by name in lower case ('' where there is none). ``conditions`` are
    the conditions on the way. Both are over the columns of the reference. ``aggregated`` says that a block on the way
    aggregates; ``grouped`` are the columns, in lower case, that such blocks group by.
    """

    node: exp.Table
    outputs: tuple[tuple[str, exp.Expr], ...]
    conditions: tuple[Condition, ...] = ()
    aggregated: bool = False
    grouped: frozenset[str] = frozenset()


def lineages(query: exp.Expr, ctes: CteReferences, columns_of: ColumnsOf) -> tuple[Lineage, ...]:
    """Returns the lineages of a query, one for each branch of UNION ALL. Raises ``NotFollowed``."""
    if isinstance(query, exp.Subquery):
        return _subquery(query, ctes, columns_of)
    if isinstance(query, exp.SetOperation):
        if not isinstance(query, exp.Union) or query.args.get("distinct") or query.args.get("by_name"):
            raise NotFollowed("a set operation other than UNION ALL")
        _refuse_clauses(query, ("this", "expression", "distinct", "with_", "order"))
        left, right = (lineages(side, ctes, columns_of) for side in (query.this, query.expression))
        names = [name for name, _ in left[0].outputs]
        return (*left, *(_renamed(lineage, names) for lineage in right))
    if not isinstance(query, exp.Select):
        raise NotFollowed(NO_TABLE)
    return tuple(_select(query, inner_lineages) for inner_lineages in _relation(query, ctes, columns_of))


def _relation(select: exp.Select, ctes: CteReferences, columns_of: ColumnsOf) -> tuple[Lineage, ...]:
    if select.args.get("joins"):
        raise NotFollowed("a join, which may drop or repeat rows")
    _refuse_clauses(select, _CLAUSES)
    group = select.args.get("group")
    if group is not None:
        _refuse_clauses(group, ("expressions", "all"))
        if any(isinstance(element, exp.Rollup | exp.Cube | exp.GroupingSets) for element in group.expressions):
            raise NotFollowed("several groupings, which repeat rows")
    sources = relations(select)
    if len(sources) != 1:
        raise NotFollowed(NO_TABLE if not sources else "a join, which may drop or repeat rows")
    source = sources[0]
    if isinstance(source, exp.Subquery):
        return _subquery(source, ctes, columns_of)
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        raise NotFollowed(NO_TABLE)
    _refuse_clauses(source, ("this", "alias", "db", "catalog"))
    cte = ctes.cte_of(source)
    if cte is None:
        inner_lineages: tuple[Lineage, ...] = (
            Lineage(source, tuple((name.lower(), _column(name)) for name in columns_of(source))),
        )
    elif cte.parent is not None and cte.parent.args.get("recursive"):
        raise NotFollowed("a recursive CTE")
    else:
        inner_lineages = _aliased(lineages(cte.this, ctes, columns_of), cte)
    return _aliased(inner_lineages, source)


def _subquery(query: exp.Subquery, ctes: CteReferences, columns_of: ColumnsOf) -> tuple[Lineage, ...]:
    _refuse_clauses(query, ("this", "alias"))
    return _aliased(lineages(query.this, ctes, columns_of), query)


def _aliased(inner_lineages: Sequence[Lineage], relation: exp.Expr) -> tuple[Lineage, ...]:
    """``AS x (a, b)`` gives the columns other names."""
    alias = relation.args.get("alias")
    names = [] if alias is None else [column.name.lower() for column in alias.args.get("columns") or ()]
    return tuple(_renamed(lineage, names) for lineage in inner_lineages) if names else tuple(inner_lineages)


def _renamed(lineage: Lineage, names: Sequence[str]) -> Lineage:
    if len(names) != len(lineage.outputs):
        raise NotFollowed("a column list with the wrong number of names")
    outputs = tuple((name, value) for name, (_, value) in zip(names, lineage.outputs, strict=True))
    return replace(lineage, outputs=outputs)


_CLAUSES = (
    "with_", "expressions", "hint", "from_", "where", "group", "order", "sort", "cluster", "distribute",
    "operation_modifiers",
)  # fmt: skip
_CLAUSE_NAMES = {"from_": "FROM", "laterals": "LATERAL VIEW", "sample": "TABLESAMPLE", "pivots": "PIVOT"}


def _refuse_clauses(node: exp.Expr, allowed_keys: Sequence[str]) -> None:
    for key, value in node.args.items():
        if value and key not in allowed_keys:
            name = _CLAUSE_NAMES.get(key, key.strip("_").replace("_", " ").upper())
            raise NotFollowed(f"{name}, which may drop or repeat rows")


def _select(select: exp.Select, inner_lineage: Lineage) -> Lineage:
    """Returns the lineage of one block over the lineage of its only relation."""
    for node in own_nodes(select):
        _check_node(node)
    values = dict(inner_lineage.outputs)
    source = relations(select)[0]
    alias = (source.alias_or_name if isinstance(source, exp.Table | exp.Subquery) else "").lower()
    where = select.args.get("where")
    conditions = [
        Condition(conjunct, _over_inner_columns(conjunct, values, alias))
        for conjunct in ([] if where is None else conjuncts(where.this))
    ]
    for condition in conditions:
        if next(condition.value.find_all(exp.AggFunc), None) is not None:
            raise NotFollowed("a condition on aggregated values")
    outputs: list[tuple[str, exp.Expr]] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            if any((item.this if isinstance(item, exp.Column) else item).args.values()):
                raise NotFollowed("* EXCEPT")
            outputs += inner_lineage.outputs
            continue
        expression = item.this if isinstance(item, exp.Alias) else item
        outputs.append((item.alias_or_name.lower(), _over_inner_columns(expression, values, alias)))
    group = select.args.get("group")
    aggregated = group is not None or any(isinstance(node, exp.AggFunc) for node in own_nodes(select))
    grouped = inner_lineage.grouped
    if aggregated:
        keys = [value for _, value in outputs if next(value.find_all(exp.AggFunc), None) is None]
        group_items = [
            expression
            for expression in ([] if group is None else group.expressions)
            if not isinstance(expression, exp.Literal)
        ]
        keys += [_over_inner_columns(key, {**dict(outputs), **values}, alias) for key in group_items]
        grouped |= {name for key in keys for name in columns_in(key)}
    all_conditions = (*inner_lineage.conditions, *conditions)
    return Lineage(inner_lineage.node, tuple(outputs), all_conditions, inner_lineage.aggregated or aggregated, grouped)


def _check_node(node: exp.Expr) -> None:
    if isinstance(node, exp.Filter):
        raise NotFollowed("FILTER, which drops rows")
    if isinstance(node, exp.Window):
        raise NotFollowed("a window function")
    if isinstance(node, exp.Query):
        raise NotFollowed("a subquery in an expression")
    if isinstance(node, exp.Anonymous) and node.name.upper() in ("TIME_RANGE_IN", "NOW"):
        return
    if isinstance(node, exp.Func) and not isinstance(node, exp.AggFunc) and not is_scalar(node):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        raise NotFollowed(f"the function {name.lower()}")


def _over_inner_columns(expression: exp.Expr, values: Mapping[str, exp.Expr], alias: str) -> exp.Expr:
    """Rewrites an expression of a block over the columns of the reference below."""
    if any(isinstance(node, exp.Query) for node in expression.walk()):
        raise NotFollowed("a subquery in an expression")

    def value_of(column: exp.Column) -> exp.Expr:
        value = values.get(column.name.lower())
        qualifier = column.table.lower()
        if value is None or qualifier not in ("", alias) or isinstance(column.this, exp.Star):
            raise NotFollowed(f"the column {column.sql(dialect='spark')}")
        return value

    return substituted(expression, value_of)


def _column(name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name))


def unwrapped(value: exp.Expr) -> exp.Expr:
    """Returns an expression without the parentheses around it."""
    while isinstance(value, exp.Paren):
        value = value.this
    return value


def columns_in(value: exp.Expr) -> Iterator[str]:
    """Returns the names, in lower case, of the columns that an expression reads."""
    return (column.name.lower() for column in value.find_all(exp.Column))
