"""Predicate pushdown: conditions of outer blocks, rewritten over the relations of an inner block.

``SELECT … FROM (SELECT * FROM t) x WHERE x.dt = '…'`` needs only the rows of ``t`` with that ``dt``. A condition is
pushed through a derived table, a view, a CTE that is named once, and both sides of a UNION, if all its columns are
columns of the relations below, passed on unchanged. It is pushed below an aggregation if its columns are grouping
columns. It stays above LIMIT, windows, and every other clause that combines rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.scope.blocks import modifiers
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.joins import contributes, filters, nullable, relations
from rewriter.planner.scope.projections import own_nodes, substituted


@dataclass(frozen=True)
class PushedCondition:
    """A condition of an outer block, as typed there and over the columns of the inner block's relations."""

    original: exp.Expr
    value: exp.Expr


class Pushdown:
    """Pushes the conditions of one query down. ``nodes`` are all nodes of its tree."""

    def __init__(self, nodes: Sequence[exp.Expr]) -> None:
        self._ctes = CteReferences(nodes)
        self._cte_names = {node.alias.lower() for node in nodes if isinstance(node, exp.CTE)}
        self._users: dict[int, exp.Table] = {}
        self._tops: dict[int, exp.Union | None] = {}
        self._firsts: dict[int, exp.Expr] = {}
        for node in nodes:
            cte = self._ctes.cte_read_once(node) if isinstance(node, exp.Table) else None
            if cte is not None and isinstance(node, exp.Table):
                self._users[id(cte)] = node

    def into(self, select: exp.Select) -> Iterator[PushedCondition]:
        """Yields the conditions of outer blocks that every needed row of a block satisfies."""
        if not _passes_single_rows(select):
            return
        target = self._target(select)
        if target is None:
            return
        outer_select, index, names = target
        relation = relations(outer_select)[index]
        if nullable(outer_select, index) or not contributes(outer_select, index) or modifiers(outer_select):
            return
        passed_columns = _passed_columns(select, names)
        alias = relation.alias_or_name.lower()
        is_only_relation = len(relations(outer_select)) == 1
        conditions = [PushedCondition(condition_, condition_) for condition_ in filters(outer_select, index)]
        for condition in (*conditions, *self.into(outer_select)):
            value = _over_inner_columns(condition.value, passed_columns, alias, is_only_relation)
            if value is not None:
                yield PushedCondition(condition.original, value)

    def _target(self, select: exp.Select) -> tuple[exp.Select, int, Sequence[str] | None] | None:
        """Returns the block that selects from a block's rows, the relation's index there, and the columns' names there.

        The names are ``None`` where the columns keep their own.
        """
        node: exp.Expr = select
        names: Sequence[str] | None = None
        while True:
            parent = node.parent
            if isinstance(parent, exp.Union):
                top = self._top(parent)
                if top is None:
                    return None
                first = self._first(top)
                assert isinstance(first, exp.Select)
                # If both sides have the columns of one table, they have the same names.
                names = None if self._returns_same_columns(first, select) else _names(first)
                node = top
            elif isinstance(parent, exp.CTE):
                user = self._users.get(id(parent))
                if user is None or parent.args["alias"].args.get("columns"):
                    return None
                node = user
                break
            elif isinstance(parent, exp.Subquery):
                if _has_further_arguments(parent, "this", "alias"):
                    return None
                node = parent
                if isinstance(node.parent, exp.From | exp.Join):
                    break
            else:
                return None
        if node.args.get("alias") is not None and node.args["alias"].args.get("columns"):
            return None
        outer_select = node.find_ancestor(exp.Select)
        if outer_select is None:
            return None
        index = next((i for i, relation in enumerate(relations(outer_select)) if relation is node), None)
        return None if index is None else (outer_select, index, names)

    def _top(self, union: exp.Union) -> exp.Union | None:
        """Returns the outermost of the UNIONs directly around a UNION, or itself; ``None`` where one of them has other
        clauses or begins with no SELECT. A union of many sides is a deep tree: each of its nodes is examined once.
        """
        path: list[exp.Union] = []
        node: exp.Expr | None = union
        while isinstance(node, exp.Union) and id(node) not in self._tops:
            path.append(node)
            node = node.parent
        for union_ in reversed(path):
            outer_union = self._tops[id(union_.parent)] if isinstance(union_.parent, exp.Union) else union_
            is_plain = not _has_further_arguments(union_, "this", "expression", "distinct", "with_")
            self._tops[id(union_)] = outer_union if is_plain and isinstance(self._first(union_), exp.Select) else None
        return self._tops[id(union)]

    def _first(self, union: exp.Union) -> exp.Expr:
        """Returns the first side of a UNION that is no UNION itself."""
        path: list[exp.Expr] = []
        node: exp.Expr = union
        while isinstance(node, exp.Union) and id(node) not in self._firsts:
            path.append(node)
            node = node.this
        first = self._firsts.get(id(node), node)
        self._firsts.update((id(side), first) for side in path)
        return first

    def _returns_same_columns(self, first: exp.Select, select: exp.Select) -> bool:
        """Tests whether two sides of a UNION return the columns of one table unchanged: ``SELECT *``."""
        tables = [_only_table(side) for side in (first, select)]
        if None in tables:
            return False
        qualified_names = [(table.name.lower(), table.db.lower(), table.catalog.lower()) for table in tables if table]
        return qualified_names[0] == qualified_names[1] and qualified_names[0][0] not in self._cte_names


def _only_table(select: exp.Select) -> exp.Table | None:
    """Returns the table all of whose columns a block returns unchanged."""
    sources, items = relations(select), select.expressions
    is_star = len(items) == 1 and isinstance(items[0], exp.Star) and not any(items[0].args.values())
    if not is_star or len(sources) != 1 or not isinstance(sources[0], exp.Table) or select.args.get("laterals"):
        return None
    alias = sources[0].args.get("alias")
    renamed = alias is not None and alias.args.get("columns")
    return None if renamed or _has_further_arguments(sources[0], "this", "db", "catalog", "alias") else sources[0]


def _passes_single_rows(select: exp.Select) -> bool:
    group = select.args.get("group")
    if any(select.args.get(key) for key in ("limit", "offset", "qualify", "kind")) or modifiers(select):
        return False
    if group is not None and (
        _has_further_arguments(group, "expressions", "all")
        or any(isinstance(element, exp.Rollup | exp.Cube | exp.GroupingSets) for element in group.expressions)
    ):
        return False
    return not any(isinstance(node, exp.Window) for node in own_nodes(select))


def _has_further_arguments(node: exp.Expr, *names: str) -> bool:
    """Tests whether a node has other parts than the known ones."""
    return any(value and key not in names for key, value in node.args.items())


def _names(select: exp.Select) -> list[str]:
    return [item.alias_or_name.lower() for item in select.expressions]


def _passed_columns(select: exp.Select, names: Sequence[str] | None) -> Mapping[str, exp.Column] | None:
    """Returns the columns that a block passes on unchanged, by their names outside; ``None`` for all of them under
    their own names.
    """
    items = select.expressions
    if any(
        isinstance(element, exp.Star) or (isinstance(element, exp.Column) and isinstance(element.this, exp.Star))
        for element in items
    ):
        is_star = len(items) == 1 and isinstance(items[0], exp.Star) and not any(items[0].args.values())
        # With several relations, any of them may have the name.
        return None if is_star and names is None and len(relations(select)) == 1 else {}
    if names is not None and len(names) != len(items):
        return {}
    columns: dict[str, exp.Column] = {}
    for name, item in zip(names or _names(select), items, strict=True):
        value = item.this if isinstance(item, exp.Alias) else item
        if isinstance(value, exp.Column) and name not in columns:
            columns[name] = value
    return columns


def _over_inner_columns(
    condition: exp.Expr, passed_columns: Mapping[str, exp.Column] | None, alias: str, is_only_relation: bool
) -> exp.Expr | None:
    """Rewrites a condition over the columns of the relations below; ``None`` if a column is not passed on unchanged."""
    if any(isinstance(node, exp.Query | exp.AggFunc | exp.Window) for node in condition.walk()):
        return None
    for column in condition.find_all(exp.Column):
        is_own = column.table.lower() == alias if column.table else is_only_relation
        if not is_own or column.db or isinstance(column.this, exp.Star):
            return None
        if passed_columns is not None and column.name.lower() not in passed_columns:
            return None

    def value_of(column: exp.Column) -> exp.Expr:
        if passed_columns is None:
            return exp.Column(this=column.this.copy())
        return passed_columns[column.name.lower()]

    return substituted(condition, value_of)
