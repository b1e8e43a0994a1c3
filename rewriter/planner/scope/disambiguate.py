"""Disambiguates tables of the same name in several databases.

``FROM a.t JOIN b.t`` names both relations ``t``, and ``a.t.x`` says which one is meant. The relation that replaces a
table belongs to no database. Where one name is ambiguous, both relations get an alias that contains the database, and
the columns that name the database get the same alias. This happens in the text before anything else. A query without
such names is unchanged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from sqlglot import exp

from rewriter.errors import NotSupportedError, Span
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.blocks import Key, is_file, key_of, meant
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.joins import relations
from rewriter.planner.text.derived_text import DerivedText, Piece, Replacement, replaced
from rewriter.planner.text.query_text import QueryText, has_place

#: The parts that a name that gets an alias may have; behind any other part the alias would be in the wrong place.
_PARTS = ("this", "db", "catalog", "joins", "laterals")

#: The tables that a query names, with their keys, by name and identity of the node.
_TablesByName = dict[str, dict[int, tuple[exp.Table, Key]]]


def disambiguated(text: QueryText, current: str, is_temporary: Callable[[str], bool] = lambda _: False) -> QueryText:
    """Returns the query with an alias for each of several relations of one name, where needed; otherwise ``text``
    itself.

    ``current`` is the database of names without one, except for names of temporary tables, which are in no database.
    Raises ``NotSupportedError`` where a column names its table by an ambiguous name alone, and for names that cannot
    have an alias. Costs two walks over the nodes.
    """
    if not any(node.args.get("db") for kind in (exp.Table, exp.Column) for node in text.find_all(kind)):
        return text
    tables_by_name, unqualified_names = _gather_relations(text, current, is_temporary)
    if not tables_by_name:
        return text
    qualified, qualifiers = _gather_columns(text, tables_by_name)
    ambiguous_names = _ambiguous_names(text, tables_by_name)
    replacements: list[Replacement] = []
    for name, nodes in tables_by_name.items():
        keys = {key for _, key in nodes.values()}
        if name in ambiguous_names or (qualified[name] and (len(keys) > 1 or name in unqualified_names)):
            if name in qualifiers or not all(_takes_alias(node) for node, _ in nodes.values()):
                raise _refusal(text, name, keys, next(iter(nodes.values()))[0])
            replacements += (_aliased(node, key) for node, key in nodes.values())
            replacements += (_requalified(column, key) for column, key in qualified[name])
    if not replacements:
        return text
    return DerivedText(text, replaced(text, Span(0, len(text.text)), replacements), {})


def _gather_relations(
    text: QueryText, current: str, is_temporary: Callable[[str], bool]
) -> tuple[_TablesByName, set[str]]:
    """Returns the tables that are known by their database's name, too, and the names of all other relations."""
    ctes = CteReferences(text.nodes)
    tables_by_name: _TablesByName = defaultdict(dict)
    unqualified_names: set[str] = set()
    for node in text.nodes:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not text.in_hint(node):
            key = key_of(node, current)
            is_temporary_name = node.args.get("db") is None and is_temporary(node.name)
            if key is None or is_temporary_name or node.alias or is_file(node) or ctes.cte_of(node) is not None:
                unqualified_names.add(node.alias_or_name.lower())
            else:
                tables_by_name[key[1]][id(node)] = (node, key)
        elif isinstance(node, exp.Subquery | exp.Values | exp.Lateral | exp.Unnest):
            unqualified_names.add(node.alias_or_name.lower())
    return tables_by_name, unqualified_names


def _gather_columns(
    text: QueryText, tables_by_name: _TablesByName
) -> tuple[dict[str, list[tuple[exp.Column, Key]]], set[str]]:
    """Returns the columns that name the database of one of the tables, by the table's name, and the names by which the
    other columns name their table.
    """
    qualified: dict[str, list[tuple[exp.Column, Key]]] = defaultdict(list)
    qualifiers: set[str] = set()
    for column in text.find_all(exp.Column):
        key = meant(text, column)
        if key is not None and key in {key_ for _, key_ in tables_by_name.get(key[1], {}).values()}:
            qualified[key[1]].append((column, key))
        elif column.table and not column.args.get("db"):
            qualifiers.add(column.table.lower())
    return qualified, qualifiers


def _ambiguous_names(text: QueryText, tables_by_name: _TablesByName) -> set[str]:
    """Returns the names that one block gives to tables of several databases."""
    names: set[str] = set()
    for select in text.find_all(exp.Select):
        key_of_name: dict[str, Key] = {}
        for relation in relations(select):
            name = relation.alias_or_name.lower()
            if id(relation) in tables_by_name.get(name, {}):
                key = tables_by_name[name][id(relation)][1]
                if key_of_name.setdefault(name, key) != key:
                    names.add(name)
    return names


def _takes_alias(node: exp.Table) -> bool:
    return has_place(node.this) and not any(value and key not in _PARTS for key, value in node.args.items())


def _alias(key: Key) -> str:
    return quote_identifier(".".join(key))


def _aliased(node: exp.Table, key: Key) -> Replacement:
    end = node.this.meta["end"] + 1
    return Replacement(Span(end, end), (Piece(f" AS {_alias(key)}", Span(node.this.meta["start"], end)),))


def _requalified(column: exp.Column, key: Key) -> Replacement:
    first, last = column.args.get("catalog") or column.args["db"], column.args["table"]
    span = Span(first.meta["start"], last.meta["end"] + 1)
    return Replacement(span, (Piece(_alias(key), span),))


def _refusal(text: QueryText, name: str, keys: set[Key], node: exp.Table) -> NotSupportedError:
    relation_names = (
        " and ".join(sorted(".".join(key) for key in keys)) if len(keys) > 1 else f"{'.'.join(*keys)} and another"
    )
    span = Span(node.this.meta["start"], node.this.meta["end"] + 1) if has_place(node.this) else Span(0, len(text.text))
    return NotSupportedError(
        f"Several relations have the name {name} here, {relation_names}, so a column reference is ambiguous.",
        condition="AMBIGUOUS_REFERENCE",
        sqlstate="42704",
        position=text.place(span),
        object=name,
        hint="Give each of them a different alias, and qualify their columns with it.",
    )
