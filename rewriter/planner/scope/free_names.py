"""Names in a query that no relation offers as a column: parameters of SQL functions, and session variables.

As in Spark, a column comes before such a name: a column of the block or of a block around it, an alias of an earlier
item, and an alias behind GROUP BY, ORDER BY and HAVING.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import AnalysisError, Span
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.text.query_text import QueryText, has_place

if TYPE_CHECKING:
    from rewriter.planner.scope.item_names import Offered, OutputColumns

#: The clauses of a SELECT in which the aliases of its items are names.
_BEHIND_ITEMS = ("group", "order", "having", "qualify", "sort", "cluster", "distribute")
#: The clauses whose own items may be numbers of items.
_ORDINALS = (exp.Group, exp.Order)


@dataclass(frozen=True)
class FreeName:
    """A name that means no column, with its place. ``name`` is in lower case, ``typed`` as typed, without qualifiers.

    ``in_query`` is True in a subquery, ``lambdas`` are the parameters of the lambdas around it, in lower case.
    ``is_ordinal`` is True where a number would be the number of an item.
    """

    span: Span
    name: str
    typed: str
    in_query: bool
    lambdas: frozenset[str]
    is_ordinal: bool


class Meaning(Enum):
    """What a name in an expression is: a column of a relation, none, or unknown, because a relation's columns are."""

    COLUMN = "column"
    FREE = "free"
    UNKNOWN = "unknown"


class NameScopes:
    """The meanings of the names in one query, from the columns that its relations offer."""

    def __init__(self, text: QueryText, columns: OutputColumns) -> None:
        self._text = text
        self._columns = columns

    def free(
        self, names: Collection[str], qualifiers: Sequence[tuple[str, ...]], kind: str = "session variable"
    ) -> Iterator[FreeName]:
        """Yields where one of ``names``, in lower case, stands and means no column: by itself, or behind one of
        ``qualifiers``, of which the last is certain. ``kind`` is for messages.

        Raises ``AnalysisError`` AMBIGUOUS_REFERENCE where it may be a column of a relation whose columns are unknown.
        """
        for node in self._text.find_all(exp.Column):
            parts = _parts(node)
            if parts is None or parts[-1].lower() not in names:
                continue
            qualifier = tuple(part.lower() for part in parts[:-1])
            if qualifier and qualifier not in qualifiers:
                continue
            name = parts[-1].lower()
            span = _span(node)
            meaning = Meaning.FREE if len(qualifier) > 1 else self.meaning(node)
            if meaning is Meaning.UNKNOWN:
                raise _ambiguous(parts[-1], kind, ".".join(qualifiers[-1]), self._text.place(span))
            if meaning is Meaning.FREE:
                yield FreeName(
                    span, name, parts[-1], _in_subquery(node), _lambdas(node), isinstance(_around(node), _ORDINALS)
                )

    def meaning(self, node: exp.Column) -> Meaning:
        """Returns what a name means: a column is one of a relation in scope, or the alias of an item in scope."""
        name, table = node.name.lower(), node.table.lower()
        child: exp.Expr = node
        parent, level = node.parent, 0
        in_argument = False
        while parent is not None:
            in_argument |= isinstance(parent, exp.Table)
            if isinstance(parent, exp.Star | exp.Pivot):
                return Meaning.COLUMN if isinstance(parent, exp.Star) else Meaning.UNKNOWN
            if isinstance(parent, exp.Select) and in_argument:
                in_argument = False  # The arguments of a function in FROM see the columns of blocks around it alone.
            elif isinstance(parent, exp.Select):
                found = self._in_block(parent, child, name, table, level)
                if found is not Meaning.FREE:
                    return found
                level += 1
            elif isinstance(parent, exp.SetOperation) and child.arg_key == "order" and not table:
                found = _offers(self._columns.of_query(parent), name)
                if found is not Meaning.FREE:
                    return found
            elif isinstance(parent, exp.CTE) or _is_derived(parent):
                return Meaning.FREE
            child, parent = parent, parent.parent
        return Meaning.FREE

    def _in_block(self, select: exp.Select, child: exp.Expr, name: str, table: str, level: int) -> Meaning:
        doubt = False
        for alias, offered in self._columns.of_relations(select):
            if table and table != alias:
                # A column that is a struct may have the qualifier's name.
                found = _offers(tuple(column for column in offered if column), table)
            else:
                found = _offers(offered, name)
            if found is Meaning.COLUMN:
                return found
            doubt |= found is Meaning.UNKNOWN
        if doubt:
            return Meaning.UNKNOWN
        items = [item.alias.lower() if isinstance(item, exp.Alias) else "" for item in select.expressions]
        if table or name not in items:
            return Meaning.FREE
        is_seen = child.arg_key in _BEHIND_ITEMS
        if child.arg_key == "expressions":
            is_seen = name in items[: child.index or 0]
        if is_seen and level:
            return Meaning.UNKNOWN  # A subquery sees aliases of the block around it in few places.
        return Meaning.COLUMN if is_seen else Meaning.FREE


def _offers(offered: Offered, name: str) -> Meaning:
    names = [None if column is None or not column.name else column.name.lower() for column in offered]
    if name in names:
        return Meaning.COLUMN
    return Meaning.UNKNOWN if None in names else Meaning.FREE


def _parts(node: exp.Column) -> Sequence[str] | None:
    """Returns the parts of a name as typed; ``None`` for one that has no place, or names a field."""
    parts = [node.args.get(key) for key in ("catalog", "db", "table", "this")]
    present = [part for part in parts if part is not None]
    if not all(has_place(part) for part in present) or isinstance(node.parent, exp.Dot):
        return None
    return [part.name for part in present]


def _span(node: exp.Column) -> Span:
    parts = [part for key in ("catalog", "db", "table", "this") if (part := node.args.get(key)) is not None]
    return Span(parts[0].meta["start"], parts[-1].meta["end"] + 1)


def _in_subquery(node: exp.Expr) -> bool:
    """Tests whether a node of ``SELECT expression`` stands in a query inside of the expression."""
    selects = 0
    parent = node.parent
    while parent is not None:
        selects += isinstance(parent, exp.Query) and not isinstance(parent, exp.Subquery)
        parent = parent.parent
    return selects > 1


def _lambdas(node: exp.Expr) -> frozenset[str]:
    names: set[str] = set()
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.Lambda):
            names |= {parameter.name.lower() for parameter in parent.expressions}
        parent = parent.parent
    return frozenset(names)


def _around(node: exp.Expr) -> exp.Expr | None:
    """Returns the clause that a name is an item of; another node where it is part of an expression."""
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Ordered):
        parent = parent.parent
    return parent


def _is_derived(node: exp.Expr) -> bool:
    """Tests whether a node is a query in FROM or JOIN, which sees no column of the block that it stands in."""
    return isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From | exp.Join)


def _ambiguous(name: str, kind: str, qualifier: str, position: Span) -> AnalysisError:
    return AnalysisError(
        f"{name} may be a column or a {kind}: the columns of a relation are not known before the query runs.",
        condition="AMBIGUOUS_REFERENCE",
        sqlstate="42704",
        position=position,
        object=name,
        hint=f"Write {qualifier}.{name} for the {kind}, or the relation's name before the column.",
    )
