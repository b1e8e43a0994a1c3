"""Resolves names behind FROM to CTEs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from sqlglot import exp

from rewriter.errors import Span
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.text.query_text import QueryText, has_place
from rewriter.planner.text.sqlglot_trees import children


class CteReferences:
    """The names behind FROM that are CTEs, and the number of references to each CTE."""

    def __init__(self, nodes: Collection[exp.Expr]) -> None:
        """``nodes`` are all nodes of a tree, its root first. Linear in their number."""
        self._cte_of: dict[int, exp.CTE] = {}
        self._references: dict[int, list[exp.Table]] = {}
        self._root: exp.Expr | None = next((node for node in nodes if isinstance(node, exp.CTE)), None)
        if self._root is None:
            return
        self._root = next(iter(nodes))
        scopes = _CteScopes()
        for node in nodes:
            cte = scopes.cte_of(node) if isinstance(node, exp.Table) else None
            if cte is not None and isinstance(node, exp.Table):
                self._cte_of[id(node)] = cte
                self._references.setdefault(id(cte), []).append(node)

    def cte_of(self, node: exp.Table) -> exp.CTE | None:
        """Returns the CTE that a name denotes, or ``None``."""
        return self._cte_of.get(id(node))

    def cte_read_once(self, node: exp.Table) -> exp.CTE | None:
        """Returns the CTE that a name denotes if this is its only reference and the CTE is not recursive."""
        cte = self.cte_of(node)
        if cte is None or len(self._references[id(cte)]) != 1 or (cte.parent and cte.parent.args.get("recursive")):
            return None
        return cte

    def references_to(self, cte: exp.CTE) -> Sequence[exp.Table]:
        """Returns the names that denote a CTE."""
        return self._references.get(id(cte), ())

    @cached_property
    def in_order(self) -> tuple[exp.CTE, ...]:
        """The CTEs, each after the CTEs that it names (except itself).

        A caller that processes them in this order and keeps the results needs no deeper stack for a longer chain.
        """
        ctes: list[exp.CTE] = []
        stack = [] if self._root is None else [self._root]
        while stack:
            node = stack.pop()
            if isinstance(node, exp.CTE):
                ctes.append(node)
            # The list is reversed at the end: the last node taken off the stack comes first.
            with_ = node.args.get("with_")
            stack += [] if with_ is None else [with_]
            stack += [child for child in children(node) if child is not with_]
        return tuple(reversed(ctes))


@dataclass(frozen=True, eq=False)
class _CteScope:
    """The CTEs of one WITH that are in scope at a place: the first ``count``. ``enclosing`` are the CTEs of the
    enclosing WITHs.
    """

    with_: exp.With
    first: Mapping[str, int]
    count: int
    enclosing: _CteScope | None


class _CteScopes:
    """The CTEs in scope at each place, cached for every requested place and the places around it."""

    def __init__(self) -> None:
        self._scopes: dict[int, _CteScope | None] = {}

    def cte_of(self, node: exp.Table) -> exp.CTE | None:
        """Returns the CTE in scope that an unqualified name denotes."""
        if node.args.get("db") is not None:
            return None
        name, scope = node.name.lower(), self._at(node)
        while scope is not None:
            index = scope.first.get(name)
            if index is not None and index < scope.count:
                return scope.with_.expressions[index]  # type: ignore[no-any-return]
            scope = scope.enclosing
        return None

    def _at(self, position_node: exp.Expr) -> _CteScope | None:
        path: list[exp.Expr] = []
        node: exp.Expr | None = position_node
        while node is not None and id(node) not in self._scopes:
            path.append(node)
            node = node.parent
        scope = None if node is None else self._scopes[id(node)]
        for node in reversed(path):
            with_ = node.args.get("with_")
            if isinstance(with_, exp.With):
                first: dict[str, int] = {}
                for index, cte in enumerate(with_.expressions):
                    first.setdefault(cte.alias.lower(), index)
                scope = _CteScope(with_, first, len(with_.expressions), scope)
            elif isinstance(node, exp.CTE) and scope is not None and node.parent is scope.with_:
                # A CTE sees those before it, and itself only where it is recursive.
                count = _index(node) + bool(scope.with_.args.get("recursive"))
                scope = _CteScope(scope.with_, scope.first, count, scope.enclosing)
            self._scopes[id(node)] = scope
        return scope


def _index(cte: exp.CTE) -> int:
    """Returns the position of a CTE in its WITH."""
    index = cte.index
    assert index is not None
    return index


def names_in(text: QueryText) -> Iterator[tuple[exp.Table, Span]]:
    """Yields the names behind FROM and JOIN that are not CTEs, with their places."""
    ctes = CteReferences(text.nodes)
    for node in text.find_all(exp.Table):
        if isinstance(node.this, exp.Identifier) and ctes.cte_of(node) is None and not text.in_hint(node):
            parts = [part for part in (node.args.get("catalog"), node.args.get("db"), node.this) if part is not None]
            # A name without a place is looked up, and refused, with all others.
            if all(has_place(part) for part in parts):
                yield node, Span(parts[0].meta["start"], parts[-1].meta["end"] + 1)
