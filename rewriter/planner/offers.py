"""The columns that the relations of a query offer, as far as they can be told without an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from rewriter.catalog.models import Column, Cube, Fact, Table
from rewriter.planner.blocks import CatalogReader, meaning
from rewriter.planner.inlining import CteReferences
from rewriter.planner.joins import relations
from rewriter.planner.scalars import is_scalar

#: Columns in order. A name or a type of '' is not known; ``None`` stands for any number of columns.
Offered = tuple[Column | None, ...]

_UNKNOWN: Offered = (None,)


class Offers:
    """What the relations of one query without views offer. Each SELECT is looked at once."""

    def __init__(self, tree: exp.Expr, reader: CatalogReader) -> None:
        self._reader = reader
        self._ctes = CteReferences(tuple(tree.root().walk()))
        self._found: dict[int, tuple[tuple[str, Offered], ...]] = {}

    def of(self, select: exp.Select) -> tuple[tuple[str, Offered], ...]:
        """Alias, in lower case, and columns of each relation of a SELECT."""
        if id(select) not in self._found:
            self._found[id(select)] = ()  # what a recursive CTE offers itself is not known
            every = [*relations(select), *(select.args.get("laterals") or ())]
            self._found[id(select)] = tuple((one.alias_or_name.lower(), self._columns(one)) for one in every)
        return self._found[id(select)]

    def answered(self, query: exp.Expr) -> Offered:
        """The columns that a query answers."""
        while isinstance(query, exp.Subquery | exp.SetOperation):
            query = query.this
        if not isinstance(query, exp.Select):
            return _UNKNOWN
        return tuple(column for item in query.expressions for column in self._item(item, query))

    def _item(self, item: exp.Expr, select: exp.Select) -> Iterator[Column | None]:
        value = item.unalias()
        star = value.this if isinstance(value, exp.Column) else value
        if isinstance(star, exp.Star):
            alias = value.table.lower() if isinstance(value, exp.Column) else ""
            chosen = [known for name, known in self.of(select) if alias in ("", name)]
            merged = len(chosen) > 1 and any(_merges(join) for join in select.args.get("joins") or ())
            plain = chosen and not merged and not any(star.args.values())  # no * EXCEPT (…)
            yield from (column for known in chosen for column in known) if plain else _UNKNOWN
        elif isinstance(item, exp.Alias | exp.Column):
            yield Column(item.alias_or_name, self._type(value, select))
        elif is_scalar(value) or isinstance(value, exp.AggFunc | exp.Window):
            yield Column("", "")
        else:
            yield None

    def _type(self, value: exp.Expr, select: exp.Select) -> str:
        if not isinstance(value, exp.Column):
            return ""
        alias, name = value.table.lower(), value.name.lower()
        chosen = [known for one, known in self.of(select) if alias in ("", one)]
        if any(None in known for known in chosen):
            return ""
        types = {column.type for known in chosen for column in known if column and column.name.lower() == name}
        return types.pop() if len(types) == 1 else ""

    def _columns(self, relation: exp.Expr) -> Offered:
        alias = relation.args.get("alias")
        if relation.args.get("pivots"):
            return _UNKNOWN
        found = self._unnamed(relation)
        if alias is not None and alias.args.get("columns"):
            return renamed(found, [column.name for column in alias.args["columns"]])
        return found

    def _unnamed(self, relation: exp.Expr) -> Offered:
        if isinstance(relation, exp.Subquery):
            return self.answered(relation.this)
        if not isinstance(relation, exp.Table):
            return _UNKNOWN
        cte = self._ctes.of(relation)
        if cte is not None:
            listed = cte.args["alias"].args.get("columns")
            answer = self.answered(cte.this)
            return renamed(answer, [column.name for column in listed]) if listed else answer
        found = meaning(relation, self._reader)
        if isinstance(found, Table):
            return found.all_columns
        if found is None:
            return _UNKNOWN
        return _cube_columns(self._reader.cube(found.cube) if isinstance(found, Fact) else found)


def renamed(offered: Offered, names: Sequence[str]) -> Offered:
    """The columns under the names of a list."""
    known = len(offered) == len(names) and None not in offered
    types = [column.type for column in offered if column] if known else [""] * len(names)
    return tuple(Column(name, type_) for name, type_ in zip(names, types, strict=True))


def _merges(join: exp.Join) -> bool:
    """Whether a join leaves columns out of ``*``: USING and NATURAL make one of two, SEMI and ANTI drop a side."""
    kind = (join.args.get("kind") or "").upper()
    return bool(join.args.get("using") or join.args.get("method")) or kind in ("SEMI", "ANTI")


def _cube_columns(cube: Cube) -> Offered:
    types = {column.name: column.type for column in cube.dimensions}
    types |= {measure.name: measure.type for measure in cube.measures}
    return tuple(Column(name, types.get(name, "timestamp")) for name in cube.column_order)
