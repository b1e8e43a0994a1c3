"""How a block sees a cube through subqueries and CTEs that only project and filter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from rewriter.catalog.models import Cube
from rewriter.errors import NotSupportedError
from rewriter.planner.joins import conjuncts, contributes, relations
from rewriter.planner.projections import own_nodes, projection_of, substituted
from rewriter.planner.trees import one_of

#: Where a column of a tree says which source of its block it belongs to.
_MARK = "rewriter_source"


@dataclass(frozen=True, eq=False)
class Level:
    """One inlined subquery. ``alias`` is what its one relation is called in it, ``sees`` what that offers, ``offers``
    what it offers itself: values over the cube's columns, by name in lower case. ``renamed`` says that a list of
    columns stands behind its alias.
    """

    select: exp.Select
    alias: str
    sees: Mapping[str, exp.Expr]
    offers: Mapping[str, exp.Expr]
    renamed: bool

    @property
    def passes_all(self) -> bool:
        """Whether ``*`` passes on whatever its relation offers."""
        return any(_is_star(item, self.alias) for item in self.select.expressions)

    def value_of(self, column: exp.Column) -> exp.Expr | None:
        """What a column in this subquery stands for."""
        if isinstance(column.this, exp.Star) or column.table.lower() not in ("", self.alias.lower()):
            return None
        return self.sees.get(column.name.lower())

    def filters(self) -> Iterator[exp.Expr]:
        """The subquery's own conditions, over the cube's columns."""
        where = self.select.args.get("where")
        if where is not None:
            yield from conjuncts(substituted(where.this, self.value_of))

    def mentioned(self) -> Iterator[exp.Column]:
        """The cube's columns that the subquery's text names."""
        for node in (*self.select.expressions, self.select.args.get("where")):
            if node is not None:
                yield from (c for c in substituted(node, self.value_of).find_all(exp.Column) if belongs(c, None))


class CteReferences:
    """Which names behind FROM are CTEs, and how often each CTE is named."""

    def __init__(self, nodes: Collection[exp.Expr]) -> None:
        """``nodes`` are all those of a tree."""
        self._found: dict[int, exp.CTE] = {}
        self._counts: dict[int, int] = {}
        if not any(isinstance(node, exp.CTE) for node in nodes):
            return
        for node in nodes:
            cte = _cte_of(node) if isinstance(node, exp.Table) else None
            if cte is not None:
                self._found[id(node)] = cte
                self._counts[id(cte)] = self._counts.get(id(cte), 0) + 1

    def of(self, node: exp.Table) -> exp.CTE | None:
        """The CTE that a name means, or ``None``."""
        return self._found.get(id(node))

    def single(self, node: exp.Table) -> exp.CTE | None:
        """The CTE that a name means where it is the only one to do so, and the CTE is not recursive."""
        cte = self.of(node)
        if cte is None or self._counts[id(cte)] != 1 or (cte.parent and cte.parent.args.get("recursive")):
            return None
        return cte


@lru_cache(maxsize=256)
def identity(cube: Cube) -> Mapping[str, exp.Expr]:
    """What a cube offers under its own name: its columns. Who puts one of them into a tree puts a copy there."""
    return {name.lower(): _marked(exp.Column(this=exp.to_identifier(name)), True) for name in cube.column_order}


def of_source(value: exp.Expr, index: int) -> exp.Expr:
    """A copy of a value whose columns say that they belong to the source ``index`` of a block."""
    copied = value.copy()
    for column in copied.find_all(exp.Column):
        if belongs(column, None):
            _marked(column, index)
    return copied


def belongs(column: exp.Column, index: int | None) -> bool:
    """Whether a column is marked as a cube's (of the source ``index`` where one is given)."""
    mark = column._meta.get(_MARK) if column._meta else None
    return mark is not None if index is None else mark is not True and mark == index


def is_marked(column: exp.Column) -> bool:
    """Whether inlining has put a column there."""
    return belongs(column, None)


def _counting(select: exp.Select) -> list[exp.Expr]:
    """The calls of COUNT and AVG in a block that depend on how many rows there are."""
    kinds = (exp.Count, exp.CountIf, exp.Avg)
    return [node for node in own_nodes(select) if isinstance(node, kinds) and not isinstance(node.this, exp.Distinct)]


def refuse_counting(select: exp.Select, relation: exp.Expr, cubes: Mapping[int, Cube], ctes: CteReferences) -> None:
    """Refuses COUNT and AVG in a block over a relation that answers single rows of a cube and is not inlined: they
    would count base rows, where everywhere else they count events. (LIMIT and DISTINCT answer rows that are counted as
    such.)
    """
    counted_over = list(_rows_of(relation, cubes, ctes))
    for node in _counting(select) if counted_over else ():
        for cube in counted_over:
            counted = cube.count_measure is not None
            if any(m.counted_by for m in cube.measures) if isinstance(node, exp.Avg) else counted:
                raise NotSupportedError(
                    f"{node.key.upper()} over a subquery of the cube {cube.name} that does more than project and "
                    "filter it, or is a CTE named more than once, would count rows, not events.",
                    condition="AMBIGUOUS_COUNT",
                    object=cube.name,
                    hint="Aggregate inside it, or sum the measure that counts; write a shared CTE out each time.",
                )


def _rows_of(node: exp.Expr | None, cubes: Mapping[int, Cube], ctes: CteReferences) -> Iterator[Cube]:
    """The cubes of which a relation answers single rows."""
    if isinstance(node, exp.Table):
        if id(node) in cubes:
            yield cubes[id(node)]
        elif (cte := ctes.of(node)) is not None and not (cte.parent and cte.parent.args.get("recursive")):
            yield from _rows_of(cte.this, cubes, ctes)
    elif isinstance(node, exp.Subquery) and not isinstance(node.this, exp.Table):
        yield from _rows_of(node.this, cubes, ctes)
    elif isinstance(node, exp.Union) and not node.args.get("distinct"):
        yield from _rows_of(node.this, cubes, ctes)
        yield from _rows_of(node.expression, cubes, ctes)
    elif isinstance(node, exp.Select) and not _folds(node):
        for index, inner in enumerate(relations(node)):
            if contributes(node, index):
                yield from _rows_of(inner, cubes, ctes)


def _folds(select: exp.Select) -> bool:
    """Whether a SELECT answers something else than the single rows that it reads."""
    if any(select.args.get(key) for key in ("group", "distinct", "limit", "offset", "having")):
        return True
    return any(isinstance(one, exp.AggFunc) and not isinstance(one.parent, exp.Window) for one in own_nodes(select))


def inlined_levels(
    relation: exp.Expr, cubes: Mapping[int, Cube], ctes: CteReferences
) -> tuple[exp.Table | None, tuple[Level, ...]]:
    """The cube's name below a derived table or a CTE that only projects and filters it, and the levels between, or
    ``(None, ())``. ``cubes`` are those of the query, by the identity of their nodes.
    """
    if isinstance(relation, exp.Table):
        cte = ctes.single(relation)
        if cte is None or any(value and key not in ("this", "alias") for key, value in relation.args.items()):
            return None, ()
        select, lists = projection_of(cte.this), (cte.args.get("alias"), relation.args.get("alias"))
    elif isinstance(relation, exp.Subquery):
        select, lists = projection_of(relation), (relation.args.get("alias"), None)
    else:
        return None, ()
    if select is None:
        return None, ()
    inner = relations(select)[0]
    below: tuple[Level, ...] = ()
    table: exp.Table | None
    if id(inner) in cubes:
        assert isinstance(inner, exp.Table)
        alias = inner.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            return None, ()
        table, sees = inner, identity(cubes[id(inner)])
    else:
        table, below = inlined_levels(inner, cubes, ctes)
        if table is None:
            return None, ()
        sees = dict(below[-1].offers)
    named = [one.args["columns"] for one in lists if one is not None and one.args.get("columns")]
    level = Level(select, inner.alias_or_name, sees, {}, bool(named))
    if named and level.passes_all:
        raise NotSupportedError(
            "A list of columns behind a subquery that selects * from a cube is not supported yet.",
            hint="Name the columns in the subquery.",
        )
    offers = dict(_offers(level, [identifier.name for identifier in named[-1]] if named else []))
    return table, (*below, Level(select, level.alias, sees, offers, level.renamed))


_folds_rows = one_of(exp.AggFunc, exp.Window)
_sees_output = one_of(exp.Order, exp.Having)


def shadowed(column: exp.Column) -> bool:
    """Whether an unqualified name in ORDER BY or HAVING means an output column of its SELECT."""
    if column.table:
        return False
    node: exp.Expr | None = column.parent
    found = None
    while node is not None and not isinstance(node, exp.Select):
        if _folds_rows(type(node)):
            return False
        if _sees_output(type(node)) and isinstance(node.parent, exp.Select):
            found = node
        node = node.parent
    if found is None or node is None:
        return False
    name = column.name.lower()
    return any(isinstance(item, exp.Alias) and item.alias.lower() == name for item in node.expressions)


def _offers(level: Level, names: list[str]) -> Iterator[tuple[str, exp.Expr]]:
    """Each output column's name and value; of two with one name neither, which Spark refuses as ambiguous."""
    found: dict[str, exp.Expr | None] = {}
    for index, item in enumerate(level.select.expressions):
        if _is_star(item, level.alias):
            for name, value in level.sees.items():
                found[name] = None if name in found else value
            continue
        plain = isinstance(item, exp.Alias | exp.Column)
        name = names[index].lower() if index < len(names) else item.alias_or_name.lower() if plain else ""
        if name:
            found[name] = None if name in found else substituted(item.unalias(), level.value_of)
    yield from ((name, value) for name, value in found.items() if value is not None)


def _is_star(item: exp.Expr, alias: str) -> bool:
    if isinstance(item, exp.Column):
        return isinstance(item.this, exp.Star) and item.table.lower() == alias.lower()
    return isinstance(item, exp.Star)


def _marked(column: exp.Column, mark: int | bool) -> exp.Column:
    column.meta[_MARK] = mark
    return column


def _cte_of(node: exp.Table) -> exp.CTE | None:
    """The CTE in sight that an unqualified name means."""
    if node.args.get("db") is not None:
        return None
    name, scope = node.name.lower(), node.parent
    while scope is not None:
        with_ = scope.args.get("with_")
        if with_ is not None:
            for cte in with_.expressions:
                inside = _within(node, cte)
                # A CTE sees those before it, and itself only where it is recursive.
                if inside and not with_.args.get("recursive"):
                    break
                if cte.alias.lower() == name:
                    return cte  # type: ignore[no-any-return]
                if inside:
                    break
        scope = scope.parent
    return None


def _within(node: exp.Expr, ancestor: exp.Expr) -> bool:
    parent: exp.Expr | None = node
    while parent is not None:
        if parent is ancestor:
            return True
        parent = parent.parent
    return False
