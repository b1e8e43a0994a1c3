"""The parts of a SELECT that go by its list of columns: ``*``, GROUP BY, HAVING, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.exec.expressions import Expressions, Scope, Typed


@dataclass(frozen=True)
class Item:
    """A column of a SELECT list. ``node`` is ``None`` for one that ``*`` stands for; ``declared`` says that its name is
    an alias or a column's.
    """

    name: str
    value: Typed
    node: exp.Expr | None
    declared: bool


@dataclass(frozen=True)
class Grouping:
    """GROUP BY, and the condition that it adds to HAVING."""

    sql: str
    having: str = ""


_SETS: dict[type[exp.Expr], str] = {exp.Rollup: "rollup", exp.Cube: "cube", exp.GroupingSets: "grouping_sets"}


class SelectLists:
    """Translates these parts for the queries of one text."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self.text = expressions.text

    def items(self, nodes: Iterable[exp.Expr], scope: Scope) -> list[Item]:
        items: list[Item] = []
        for node in nodes:
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                items += self._star(node, scope)
            elif isinstance(node, exp.Alias):
                self.expressions.only(node, "this", "alias")
                items.append(Item(node.alias, self.expressions.translate(node.this, scope), node.this, True))
            else:
                value = self.expressions.translate(node, scope)
                # A cast of a column keeps the column's name, but only at the top.
                casts_column = isinstance(node, exp.Cast) and isinstance(node.this, exp.Column)
                name = node.this.name if casts_column else value.name or f"_c{len(items)}"
                items.append(Item(name, value, node, isinstance(node, exp.Column)))
        return items

    def _star(self, node: exp.Expr, scope: Scope) -> list[Item]:
        star = node if isinstance(node, exp.Star) else node.this
        self.expressions.only(star)
        table = node.args.get("table")
        items: list[Item] = []
        for source in scope.sources:
            if table is not None and (source.alias or "").lower() != table.name.lower():
                continue
            for column in source.columns:
                if table is None and column.name.lower() in source.hidden:
                    continue
                if column.type is None:
                    self.text.refuse(f"The type {column.spelled} of the column {column.name}", node)
                items.append(Item(column.name, column.typed(), None, True))
        if not items:
            self.text.wrong(
                f"There is nothing that {table.name + '.' if table else ''}* could stand for.",
                "CANNOT_RESOLVE_STAR_EXPAND", "42704", node,
            )  # fmt: skip
        self.expressions.construct("*, t.*")
        return items

    def group(self, clause: exp.Expr | None, items: Sequence[Item], scope: Scope) -> Grouping:
        """GROUP BY; ROLLUP and its like may be the whole clause, a part of it, or stand behind its keys."""
        if clause is None:
            return Grouping("")
        self.expressions.only(clause, "expressions", "rollup", "cube", "grouping_sets")
        behind = [one for key in _SETS.values() for one in clause.args.get(key) or ()]
        within = [node for node in clause.expressions if type(node) in _SETS]
        if len(behind) + len(within) > 1:
            self.text.refuse("More than one of ROLLUP, CUBE and GROUPING SETS", clause)
        self.expressions.construct("GROUP BY")
        if not behind and not within:
            return Grouping(f" GROUP BY {', '.join(self._key(node, items, scope) for node in clause.expressions)}")
        sets = (*within, *behind)[0]
        # GROUP BY a, b WITH ROLLUP: the keys stand before; and before GROUPING SETS they only list its columns.
        before = [node for node in clause.expressions if node is not sets]
        listed = sets.expressions or before
        keys = [] if behind else [self._key(node, items, scope) for node in before]
        if isinstance(sets, exp.GroupingSets):
            if behind:
                self._only_listed(sets, before)
            self.expressions.construct("GROUP BY GROUPING SETS")
            parts = [self._set(node, items, scope) for node in listed]
            if set(parts) == {"()"}:
                self.text.refuse("GROUPING SETS of nothing but ()", sets)
            keys.append(f"GROUPING SETS ({', '.join(parts)})")
        else:
            word = "ROLLUP" if isinstance(sets, exp.Rollup) else "CUBE"
            self.expressions.construct(f"GROUP BY {word}, WITH {word}")
            keys.append(f"{word} ({', '.join(self._set(node, items, scope) for node in listed)})")
        # Spark answers no total over no rows.
        return Grouping(f" GROUP BY {', '.join(keys)}", "count(*) > 0")

    def _only_listed(self, sets: exp.Expr, keys: Sequence[exp.Expr]) -> None:
        names = {column.sql().lower() for column in sets.find_all(exp.Column)}
        if {key.sql().lower() for key in keys} != names:
            self.text.refuse("GROUPING SETS whose columns are not just the keys before it", sets)

    def _set(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> str:
        if isinstance(node, exp.Tuple):
            return f"({', '.join(self._key(one, items, scope) for one in node.expressions)})"
        if type(node) in _SETS:
            self.text.refuse("One of ROLLUP, CUBE and GROUPING SETS within another", node)
        return self._key(node.this if isinstance(node, exp.Paren) else node, items, scope)

    def _key(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> str:
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            return self._ordinal(node, items).value.sql
        item = None
        if isinstance(node, exp.Column) and not node.args.get("table") and not scope.find(node.name, None):
            item = self._named(node, items)
        return item.value.sql if item is not None else self.expressions.translate(node, scope).sql

    def with_aliases(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> exp.Expr:
        """The condition of HAVING with names of the SELECT list, where no column has them, replaced by what they
        stand for.
        """

        def resolve(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column) or part.args.get("table"):
                return part
            item = self._named(part, items)
            if item is None or not item.declared or item.node is None:
                return part
            if scope.find(part.name, None):
                if isinstance(item.node, exp.Column) and item.node.name.lower() == part.name.lower():
                    return part
                self.text.refuse(f"{part.name} in HAVING, which is both a column and an alias,", part)
            return exp.Paren(this=item.node.copy())

        return node.transform(resolve)

    def _ordinal(self, node: exp.Expr, items: Sequence[Item]) -> Item:
        digits = str(node.this)
        if not digits.isdigit() or not 1 <= int(digits) <= len(items):
            self.text.wrong(
                f"Position {digits} is not in the select list of {len(items)} columns.",
                "GROUP_BY_POS_OUT_OF_RANGE", "42805", node,
            )  # fmt: skip
        return items[int(digits) - 1]

    def _named(self, node: exp.Expr, items: Sequence[Item]) -> Item | None:
        """The item of the SELECT list that has this name; ``None`` where none has."""
        found = [item for item in items if item.name.lower() == node.name.lower()]
        if len({item.value.sql for item in found}) > 1:
            self.text.wrong(f"The name `{node.name}` is ambiguous.", "AMBIGUOUS_REFERENCE", "42704", node, node.name)
        return found[0] if found else None

    def order(self, node: exp.Expr, items: Sequence[Item], scope: Scope, by_output: bool) -> str:
        """ORDER BY: names are those of the SELECT list first, then columns."""
        clause = node.args.get("order")
        if clause is None:
            return ""
        self.expressions.only(clause, "expressions")
        self.expressions.construct("ORDER BY … NULLS FIRST, NULLS LAST")
        keys = []
        for ordered in clause.expressions:
            self.expressions.only(ordered, "this", "desc", "nulls_first")
            target = ordered.this
            item = None
            if isinstance(target, exp.Literal) and not target.args.get("is_string"):
                item = self._ordinal(target, items)
            elif isinstance(target, exp.Column) and not target.args.get("table"):
                item = self._named(target, items)
            if item is not None:
                sql = f"c{items.index(item)}"
            else:
                value = self.expressions.translate(self._output_names(target, items, scope), scope)
                same = [number for number, one in enumerate(items) if one.value.sql == value.sql]
                sql = f"c{same[0]}" if same else value.sql
                if by_output and not same:
                    self.text.refuse("ORDER BY of SELECT DISTINCT by what is not selected", target)
            keys.append(f"{sql} {'DESC' if ordered.args.get('desc') else 'ASC'} NULLS "
                        f"{'FIRST' if ordered.args.get('nulls_first') else 'LAST'}")  # fmt: skip
        return f" ORDER BY {', '.join(keys)}"

    def _output_names(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> exp.Expr:
        """An expression of ORDER BY, refused where a name in it is an alias: what it means depends on rules of
        Spark's that we do not repeat.
        """
        for column in node.find_all(exp.Column):
            if column.args.get("table") or isinstance(column.this, exp.Star):
                continue
            item = self._named(column, items)
            if item is None or not item.declared or item.node is None:
                continue
            if not isinstance(item.node, exp.Column) or item.node.name.lower() != column.name.lower():
                self.text.refuse(f"The alias {column.name} within an expression of ORDER BY", column)
        return node

    def limits(self, node: exp.Expr) -> str:
        out = ""
        for key in ("limit", "offset"):
            clause = node.args.get(key)
            if clause is None:
                continue
            self.expressions.only(clause, "expression")
            self.expressions.construct(key.upper())
            value = clause.expression
            if isinstance(value, exp.Placeholder):
                number = self.expressions.parameters.get(str(value.this))
                text = str(number) if isinstance(number, int) and not isinstance(number, bool) else ""
            else:
                text = str(value.this) if isinstance(value, exp.Literal) else ""
            if not text.isdigit():
                self.text.refuse(f"{key.upper()} {self.text.shown(value)}", value)
            out += f" {key.upper()} {text}"
        return out
