"""The parts of a SELECT that depend on its list of columns: ``*``, GROUP BY, HAVING, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewriter.exec.translate.expressions import Expressions, Scope, Typed


@dataclass(frozen=True)
class Item:
    """A column of a SELECT list. ``node`` is ``None`` if it comes from ``*``; ``declared`` says that its name is an
    alias or a column's.
    """

    name: str
    value: Typed
    node: exp.Expr | None
    declared: bool


@dataclass(frozen=True)
class Grouping:
    """GROUP BY, the condition that it adds to HAVING, and its keys. ``set_keys`` are those of ROLLUP, CUBE or GROUPING
    SETS in order; ``None`` without them.
    """

    sql: str
    having: str = ""
    keys: frozenset[str] = frozenset()
    set_keys: tuple[str, ...] | None = None


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
                self.expressions.allow_only(node, "this", "alias")
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
        self.expressions.allow_only(star)
        table = node.args.get("table")
        items: list[Item] = []
        for source in scope.sources:
            if table is not None and (source.alias or "").lower() != table.name.lower():
                continue
            for column in source.columns:
                if table is None and column.name.lower() in source.hidden_names:
                    continue
                if column.type is None:
                    self.text.refuse(f"The type {column.type_name} of the column {column.name}", node)
                items.append(Item(column.name, column.typed(), None, True))
        if not items:
            self.text.wrong(
                f"No columns match {table.name + '.' if table else ''}*.",
                "CANNOT_RESOLVE_STAR_EXPAND", "42704", node,
            )  # fmt: skip
        self.expressions.construct("*, t.*")
        return items

    def group(self, clause: exp.Expr | None, items: Sequence[Item], scope: Scope) -> Grouping:
        """Translates GROUP BY. ROLLUP, CUBE or GROUPING SETS may be the whole clause, a part of it, or follow
        its keys.
        """
        if clause is None:
            return Grouping("")
        self.expressions.allow_only(clause, "expressions", "rollup", "cube", "grouping_sets")
        grouping_sets = [grouping_set for key in _SETS.values() for grouping_set in clause.args.get(key) or ()]
        nested_sets = [node for node in clause.expressions if type(node) in _SETS]
        if len(grouping_sets) + len(nested_sets) > 1:
            self.text.refuse("More than one of ROLLUP, CUBE and GROUPING SETS", clause)
        self.expressions.construct("GROUP BY")
        if not grouping_sets and not nested_sets:
            keys_of_list = [self._key(node, items, scope) for node in clause.expressions]
            return Grouping(f" GROUP BY {', '.join(keys_of_list)}", keys=frozenset(keys_of_list))
        sets = (*nested_sets, *grouping_sets)[0]
        # GROUP BY a, b WITH ROLLUP: the keys come before it. Before GROUPING SETS, they only list its columns.
        before = [node for node in clause.expressions if node is not sets]
        set_nodes = sets.expressions or before
        keys = [] if grouping_sets else [self._key(node, items, scope) for node in before]
        all_keys = [
            key
            for node in (before if grouping_sets else (*before, *set_nodes))
            for key in self._keys(node, items, scope)
        ]
        if isinstance(sets, exp.GroupingSets):
            if grouping_sets:
                self._only_listed(sets, before)
            self.expressions.construct("GROUP BY GROUPING SETS")
            parts = [self._set(node, items, scope) for node in set_nodes]
            if set(parts) == {"()"}:
                self.text.refuse("GROUPING SETS of only ()", sets)
            keys.append(f"GROUPING SETS ({', '.join(parts)})")
        else:
            word = "ROLLUP" if isinstance(sets, exp.Rollup) else "CUBE"
            self.expressions.construct(f"GROUP BY {word}, WITH {word}")
            keys.append(f"{word} ({', '.join(self._set(node, items, scope) for node in set_nodes)})")
        # Spark returns no total over no rows.
        distinct_keys = tuple(dict.fromkeys(all_keys))
        return Grouping(f" GROUP BY {', '.join(keys)}", "count(*) > 0", frozenset(distinct_keys), distinct_keys)

    def selected(self, items: Sequence[Item], group: Grouping, *, distinct: bool) -> str:
        """Returns the SELECT list, as ``c0``, ``c1`` … Of equal zeros that are grouped, Spark returns 0.0,
        never -0.0.
        """
        columns = []
        for number, item in enumerate(items):
            merges_floats = item.value.type.is_floating and (distinct or item.value.sql in group.keys)
            columns.append(f"{f'({item.value.sql} + 0)' if merges_floats else item.value.sql} AS c{number}")
        return ", ".join(columns)

    def check_grouping(self, select: exp.Select, group: Grouping, scope: Scope) -> None:
        """Like Spark, refuses GROUPING and GROUPING_ID of other columns, and without ROLLUP, CUBE or GROUPING SETS."""
        clauses = [select.args.get(key) for key in ("where", "having", "order")]
        for part in (*select.expressions, *(clause for clause in clauses if clause is not None)):
            for call in part.walk(prune=lambda node: isinstance(node, exp.Query)):
                function = self.text.called(call)
                if function not in ("grouping", "grouping_id"):
                    continue
                if group.set_keys is None or part is clauses[0]:
                    self.text.wrong(
                        f"{function}() can only be used with GROUPING SETS, CUBE and ROLLUP.",
                        "UNSUPPORTED_GROUPING_EXPRESSION", "42K0E", call,
                    )  # fmt: skip
                arguments = tuple(self.expressions.translate(argument, scope).sql for argument in call.expressions)
                if function == "grouping" and not set(arguments) <= set(group.set_keys):
                    self.text.wrong(
                        f"{self.text.shown(call)} names an expression that the query does not group by.",
                        "GROUPING_COLUMN_MISMATCH", "42803", call,
                    )  # fmt: skip
                if function == "grouping_id" and arguments != group.set_keys:
                    self.text.wrong(
                        f"{self.text.shown(call)} does not name the columns that the query groups by, in their order.",
                        "GROUPING_ID_COLUMN_MISMATCH", "42803", call,
                    )  # fmt: skip

    def _only_listed(self, sets: exp.Expr, keys: Sequence[exp.Expr]) -> None:
        names = {column.sql().lower() for column in sets.find_all(exp.Column)}
        if {key.sql().lower() for key in keys} != names:
            self.text.refuse("GROUPING SETS whose columns are not just the keys before it", sets)

    def _set(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> str:
        if isinstance(node, exp.Tuple):
            return f"({', '.join(self._key(element, items, scope) for element in node.expressions)})"
        if type(node) in _SETS:
            self.text.refuse("One of ROLLUP, CUBE and GROUPING SETS within another", node)
        return self._key(_without_alias(node), items, scope)

    def _keys(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> list[str]:
        parts = node.expressions if isinstance(node, exp.Tuple) else [node]
        return [
            self._key(element.this if isinstance(element, exp.Paren) else element, items, scope) for element in parts
        ]

    def _key(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> str:
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            return self._ordinal(node, items).value.sql
        item = None
        if isinstance(node, exp.Column) and not node.args.get("table") and not scope.find(node.name, None):
            item = self._item_by_name(node, items)
        return item.value.sql if item is not None else self.expressions.translate(node, scope).sql

    def with_aliases(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> exp.Expr:
        """Returns the condition of HAVING in which names of the SELECT list that no column has are replaced by their
        expressions.
        """

        def resolve(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column) or part.args.get("table"):
                return part
            item = self._item_by_name(part, items)
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

    def _item_by_name(self, node: exp.Expr, items: Sequence[Item]) -> Item | None:
        """Returns the item of the SELECT list that has this name; ``None`` if there is none."""
        matches = [item for item in items if item.name.lower() == node.name.lower()]
        if len({item.value.sql for item in matches}) > 1:
            self.text.wrong(f"The name `{node.name}` is ambiguous.", "AMBIGUOUS_REFERENCE", "42704", node, node.name)
        return matches[0] if matches else None

    def order(self, node: exp.Expr, items: Sequence[Item], scope: Scope, by_output: bool) -> str:
        """Translates ORDER BY. A name means an item of the SELECT list first, then a column."""
        clause = node.args.get("order")
        if clause is None:
            return ""
        self.expressions.allow_only(clause, "expressions")
        self.expressions.construct("ORDER BY … NULLS FIRST, NULLS LAST")
        keys = []
        for sort_key in clause.expressions:
            self.expressions.allow_only(sort_key, "this", "desc", "nulls_first")
            target = sort_key.this
            item = None
            if isinstance(target, exp.Literal) and not target.args.get("is_string"):
                item = self._ordinal(target, items)
            elif isinstance(target, exp.Column) and not target.args.get("table"):
                item = self._item_by_name(target, items)
            if item is not None:
                sql = f"c{items.index(item)}"
            else:
                value = self.expressions.translate(self._output_names(target, items, scope), scope)
                matching_numbers = [number for number, selected in enumerate(items) if selected.value.sql == value.sql]
                sql = f"c{matching_numbers[0]}" if matching_numbers else value.sql
                if by_output and not matching_numbers:
                    self.text.refuse("ORDER BY of SELECT DISTINCT by an expression that is not selected", target)
            keys.append(f"{sql} {'DESC' if sort_key.args.get('desc') else 'ASC'} NULLS "
                        f"{'FIRST' if sort_key.args.get('nulls_first') else 'LAST'}")  # fmt: skip
        return f" ORDER BY {', '.join(keys)}"

    def _output_names(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> exp.Expr:
        """Replaces names of the SELECT list in an expression of ORDER BY. Refuses an expression in which a name is an
        alias: its meaning depends on Spark's rules that we do not reproduce.
        """
        for column in node.find_all(exp.Column):
            if column.args.get("table") or isinstance(column.this, exp.Star):
                continue
            item = self._item_by_name(column, items)
            if item is None or not item.declared or item.node is None:
                continue
            if not isinstance(item.node, exp.Column) or item.node.name.lower() != column.name.lower():
                self.text.refuse(f"The alias {column.name} within an expression of ORDER BY", column)
        return node

    def limits(self, node: exp.Expr) -> str:
        sql = ""
        for key in ("limit", "offset"):
            clause = node.args.get(key)
            if clause is None:
                continue
            self.expressions.allow_only(clause, "expression")
            self.expressions.construct(key.upper())
            value = clause.expression
            if isinstance(value, exp.Placeholder):
                number = self.expressions.parameters.get(str(value.this))
                text = str(number) if isinstance(number, int) and not isinstance(number, bool) else ""
            else:
                text = str(value.this) if isinstance(value, exp.Literal) else ""
            if not text.isdigit():
                self.text.refuse(f"{key.upper()} {self.text.shown(value)}", value)
            sql += f" {key.upper()} {text}"
        return sql


def _without_alias(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Paren) else node
