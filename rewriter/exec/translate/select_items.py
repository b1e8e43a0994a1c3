"""The columns of a SELECT list, and the names by which later items and clauses mean them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.exec.translate.aggregates import is_aggregate
from rewriter.exec.translate.expressions import Expressions, Scope, Source, SourceColumn, Typed
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.exec.translate.sql_text import SqlText

_EARLIER_ALIAS = "an alias of an item before it in the SELECT list"


@dataclass(frozen=True)
class Item:
    """A column of a SELECT list. ``node`` is ``None`` if it comes from ``*``; ``declared`` says that its name is an
    alias or a column's.
    """

    name: str
    value: Typed
    node: exp.Expr | None
    declared: bool


def with_earlier_aliases(e: Expressions, node: exp.Expr, items: Sequence[Item], scope: Scope) -> exp.Expr:
    """Returns an item in which names of items before it, which no column has, are replaced by their expressions; the
    item itself without such names. As in Spark, no aggregate and no window may contain such a name.
    """
    names = [column for column in node.find_all(exp.Column) if _earlier_item(e, column, items, scope) is not None]
    if not names:
        return node
    for name in names:
        if name.find_ancestor(exp.Window) is not None:
            _refuse_alias(e, name, "IN_WINDOW", "a window")
        if _in_aggregate(e, name):
            _refuse_alias(e, name, "IN_AGGREGATE_FUNC", "an aggregate")
    if node.find(exp.Query):
        e.text.refuse(f"An alias of the same SELECT list in {e.text.shown(node)}", node)
    e.construct(_EARLIER_ALIAS)

    def resolve(part: exp.Expr) -> exp.Expr:
        item = _earlier_item(e, part, items, scope)
        return part if item is None or item.node is None else exp.Paren(this=item.node.copy())

    return replace_nodes(node, resolve)


def name_over_aliases(e: Expressions, node: exp.Expr, items: Sequence[Item], scope: Scope) -> str | None:
    """Returns Spark's name of an item that names items before it: ``(lateralAliasReference(s) * 2)``."""
    columns: list[SourceColumn] = []
    whole = _earlier_item(e, node, items, scope)
    if whole is not None:
        return whole.name

    def resolve(part: exp.Expr) -> exp.Expr:
        item = _earlier_item(e, part, items, scope)
        if item is None:
            return part
        name = f"lateralAliasReference({part.name})"
        columns.append(SourceColumn(name, item.value.sql, item.value.type))
        return exp.column(exp.to_identifier(name, quoted=True))

    renamed = replace_nodes(node, resolve)
    by_name = {column.name.lower(): column for column in columns}
    sources = (*scope.sources, Source(None, tuple(by_name.values())))
    return e.translate(renamed, replace(scope, sources=sources)).name


def _earlier_item(e: Expressions, column: exp.Expr, items: Sequence[Item], scope: Scope) -> Item | None:
    """Returns the item that a name means; ``None`` for the name of a column."""
    if not isinstance(column, exp.Column) or column.args.get("table") or scope.find(column.name, None):
        return None
    named = [item for item in items if item.name.lower() == column.name.lower() and item.declared]
    if len(named) > 1:
        e.text.wrong(
            f"The alias `{column.name}` is ambiguous: {len(named)} items before it have this name.",
            "AMBIGUOUS_LATERAL_COLUMN_ALIAS", "42702", column, column.name,
        )  # fmt: skip
    return named[0] if named and named[0].node is not None else None


def _in_aggregate(e: Expressions, node: exp.Expr) -> bool:
    ancestor = node.parent
    while ancestor is not None and not is_aggregate(e, ancestor):
        ancestor = ancestor.parent
    return ancestor is not None


def _refuse_alias(e: Expressions, name: exp.Expr, condition: str, place: str) -> None:
    e.text.wrong(
        f"The alias {name.name} of the same SELECT list cannot stand in {place}.",
        f"UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_{condition}", "0A000", name, name.name,
        "Write its expression, or name it in a subquery of FROM.",
    )  # fmt: skip


def item_by_name(text: SqlText, node: exp.Expr, items: Sequence[Item]) -> Item | None:
    """Returns the item of the SELECT list that has this name; ``None`` if there is none."""
    matches = [item for item in items if item.name.lower() == node.name.lower()]
    if len({item.value.sql for item in matches}) > 1:
        text.wrong(f"The name `{node.name}` is ambiguous.", "AMBIGUOUS_REFERENCE", "42704", node, node.name)
    return matches[0] if matches else None


def replace_nodes(node: exp.Expr, resolve: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Returns a copy of an expression in which nodes are replaced. It keeps its place in the query."""
    copy = node.transform(resolve)
    copy.parent, copy.arg_key = node.parent, node.arg_key
    return copy
