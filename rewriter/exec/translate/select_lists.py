"""The parts of a SELECT that depend on its list of columns: ``*``, GROUP BY, HAVING, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import Error
from rewriter.exec.translate.aggregates import is_aggregate
from rewriter.exec.translate.duckdb_macros import lambda_macros
from rewriter.exec.translate.expressions import ExpressionKey
from rewriter.exec.translate.extraction import field, is_field
from rewriter.exec.translate.grouping_sets import GROUPING_ID_COLUMN, key_sets, number_of_sets
from rewriter.exec.translate.literals import is_grouping_column
from rewriter.exec.translate.select_items import (
    Item,
    item_by_name,
    name_over_aliases,
    replace_nodes,
    with_earlier_aliases,
)
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.exec.translate.expressions import Expressions, Scope


@dataclass(frozen=True)
class Grouping:
    """GROUP BY, the condition that it adds to HAVING, and its keys. ``set_keys`` are the keys of ROLLUP, CUBE or
    GROUPING SETS in order; ``None`` without them.
    """

    sql: str
    having: str = ""
    keys: frozenset[ExpressionKey] = frozenset()
    set_keys: tuple[ExpressionKey, ...] | None = None


def _plain_grouping(keys: Sequence[ExpressionKey]) -> Grouping:
    """Returns GROUP BY of keys without ROLLUP, CUBE and GROUPING SETS."""
    sql = f" GROUP BY {', '.join(key.sql for key in keys)}" if keys else ""
    return Grouping(sql, keys=frozenset(keys))


#: The maximum number of grouping sets: the sets of CUBE over 12 keys.
_MOST_SETS = 4096


class SelectLists:
    """Translates these parts for the queries of one text."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self.text = expressions.text

    def items(
        self, nodes: Iterable[exp.Expr], scope: Scope, generated: Mapping[int, Sequence[Item]] | None = None
    ) -> list[Item]:
        """Translates the SELECT list. ``generated`` are the columns of generators in it, by the identity of their
        nodes.
        """
        items: list[Item] = []
        for node in nodes:
            if generated is not None and id(node) in generated:
                items += generated[id(node)]
            elif isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                items += self._star(node, scope)
            elif isinstance(node, exp.Alias):
                self.expressions.allow_only(node, "this", "alias")
                item_node = with_earlier_aliases(self.expressions, node.this, items, scope)
                items.append(Item(node.alias, self.expressions.translate(item_node, scope), item_node, True))
            elif (item_node := with_earlier_aliases(self.expressions, node, items, scope)) is not node:
                value = self.expressions.translate(item_node, scope)
                name = name_over_aliases(self.expressions, node, items, scope) or f"_c{len(items)}"
                items.append(Item(name, value, item_node, False))
            else:
                value = self.expressions.translate(node, scope)
                # A cast of a column keeps the column's name, but only at the top.
                casts_column = isinstance(node, exp.Cast) and isinstance(node.this, exp.Column)
                is_column = casts_column and not is_field(node.this, scope)
                name = node.this.name if is_column else value.name or f"_c{len(items)}"
                name = node.name if isinstance(node, exp.Column) else _last_name(node) or name
                name = GROUPING_ID_COLUMN if is_grouping_column(node, scope) else name
                items.append(Item(name, value, node, isinstance(node, exp.Column)))
        return items

    def _star(self, node: exp.Expr, scope: Scope) -> list[Item]:
        star = node if isinstance(node, exp.Star) else node.this
        self.expressions.allow_only(star, "except_")
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
        if not items and table is not None:
            items = self._fields(node, scope)
        if not items:
            self.text.wrong(
                f"No columns match {table.name + '.' if table else ''}*.",
                "CANNOT_RESOLVE_STAR_EXPAND", "42704", node,
            )  # fmt: skip
        self.expressions.construct("*, t.*")
        return self._without(star.args.get("except_") or (), items)

    def _fields(self, node: exp.Expr, scope: Scope) -> list[Item]:
        """Returns the fields of the struct that ``s.*`` names; none if no column has the name."""
        names = [part.name for part in node.parts[:-1]] if isinstance(node, exp.Column) else []
        matches, path = scope.find_path(names)
        if len(matches) != 1 or matches[0].type is None:
            return []
        value = matches[0].typed(matches[0].name)
        for name in path:
            value = field(self.expressions, value, name, node)
        if value.type.name != "struct":
            return []
        return [Item(name, field(self.expressions, value, name, node), None, True) for name, _ in value.type.parts]

    def _without(self, columns: Sequence[exp.Expr], items: list[Item]) -> list[Item]:
        """Leaves out the columns of EXCEPT."""
        names = [item.name.lower() for item in items]
        left_out: set[str] = set()
        for column in columns:
            name = column.name.lower()
            if not isinstance(column, exp.Column) or column.args.get("table") or names.count(name) > 1:
                self.text.refuse(f"EXCEPT of {self.text.shown(column)}", column, "Name the columns to select.")
            if name not in names:
                self.text.wrong(
                    f"EXCEPT names the column {column.name}, which does not exist.",
                    "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", column, column.name,
                )  # fmt: skip
            if name in left_out:
                self.text.wrong(
                    f"EXCEPT names the column {column.name} twice.", "EXCEPT_OVERLAPPING_COLUMNS", "42702", column
                )
            left_out.add(name)
        if not columns:
            return items
        self.expressions.construct("* EXCEPT (a, …), t.* EXCEPT (a, …)")
        kept = [item for item in items if item.name.lower() not in left_out]
        if not kept:
            self.text.refuse("EXCEPT of all columns", columns[0], "Name the columns to select.")
        return kept

    def group(self, clause: exp.Expr | None, items: Sequence[Item], scope: Scope) -> Grouping:
        """Translates GROUP BY. ROLLUP, CUBE or GROUPING SETS may be the whole clause, a part of it, or follow
        its keys.
        """
        if clause is None:
            return Grouping("")
        if clause.args.get("all"):
            return self._group_by_all(clause, items, scope)
        self.expressions.allow_only(clause, "expressions", "rollup", "cube", "grouping_sets")
        self.expressions.construct("GROUP BY")
        if number_of_sets(clause) > _MOST_SETS:
            self.text.refuse(f"GROUP BY of more than {_MOST_SETS:,} grouping sets", clause)
        if any(isinstance(node, exp.Rollup | exp.Cube) and not node.expressions for node in _nested(clause)):
            self.text.refuse("ROLLUP () and CUBE ()", clause, "Write () for the total.")
        sets = key_sets(clause, lambda node: self._key(node, items, scope))
        if sets is None:
            keys_of_list = [self._key(node, items, scope) for node in clause.expressions]
            return _plain_grouping(keys_of_list)
        for word in sets.words:
            form = "GROUP BY GROUPING SETS" if word == "GROUPING SETS" else f"GROUP BY {word}, WITH {word}"
            self.expressions.construct(form)
        if set().union(*sets.sets) != set(sets.keys):
            self.text.refuse("GROUPING SETS whose columns are not just the keys before it", clause)
        listed = ", ".join(f"({', '.join(key.sql for key in key_set)})" for key_set in sets.sets)
        # Spark returns no total over no rows, unless it is the only set.
        having = "" if sets.sets == ((),) else "count(*) > 0"
        return Grouping(f" GROUP BY GROUPING SETS ({listed})", having, frozenset(sets.keys), sets.keys)

    def has_aggregate(self, node: exp.Expr) -> bool:
        """Tests whether an item aggregates rows. A window does not."""
        return _has(node, self.is_aggregate)

    def has_aggregate_or_window(self, node: exp.Expr) -> bool:
        """Tests whether an item aggregates or has a window."""
        return self.has_aggregate(node) or _has(node, _is_window)

    def _group_by_all(self, clause: exp.Expr, items: Sequence[Item], scope: Scope) -> Grouping:
        """Groups by each item of the SELECT list that has no aggregate."""
        self.expressions.allow_only(clause, "all")
        self._refuse_named_all("GROUP BY ALL", clause, items, scope)
        if any(item.node is not None and _has(item.node, _is_window) for item in items):
            self.text.refuse("GROUP BY ALL beside window functions", clause)
        self.expressions.construct("GROUP BY ALL")
        return _plain_grouping(
            [
                self.expressions.key(
                    item.node, self.expressions.comparable(item.value, clause, "GROUP BY ALL", grouped=True)
                )
                for item in items
                if item.node is None or not _has(item.node, self.is_aggregate)
            ]
        )

    def _refuse_named_all(self, clause: str, node: exp.Expr, items: Sequence[Item], scope: Scope) -> None:
        """Refuses ALL where Spark would take it for the name of a column."""
        if scope.find("all", None) or any(item.name.lower() == "all" for item in items):
            self.text.refuse(f"{clause} with a column `all`", node)

    def is_aggregate(self, node: exp.Expr) -> bool:
        return is_aggregate(self.expressions, node)

    def qualify(self, select: exp.Select, items: Sequence[Item], scope: Scope) -> str:
        """Translates QUALIFY, the condition about window functions."""
        clause = select.args.get("qualify")
        if clause is None:
            return ""
        parts = [*select.expressions, clause.this]
        if select.args.get("group") or select.args.get("having") or any(_has(p, self.is_aggregate) for p in parts):
            self.text.refuse(
                "QUALIFY with aggregates", clause, "Aggregate in a subquery of FROM, and write QUALIFY around it."
            )
        if not any(_has(part, _is_window) for part in parts):
            self.text.wrong(
                "QUALIFY needs a window function, in its condition or in the SELECT list. Write WHERE instead.",
                "QUALIFY_REQUIRES_WINDOW_FUNCTION", "42903", clause,
            )  # fmt: skip
        self.expressions.construct("QUALIFY")
        condition = self._qualified(clause.this, items, scope)
        return f" QUALIFY {self.expressions.test(condition, scope, 'WHERE').sql}"

    def selected(self, items: Sequence[Item], group: Grouping, *, distinct: bool) -> str:
        """Returns the SELECT list, as ``c0``, ``c1`` … Of equal zeros that are grouped, Spark returns 0.0,
        never -0.0.
        """
        columns = []
        for number, item in enumerate(items):
            is_key = distinct or self.expressions.key(item.node, item.value) in group.keys
            merges_floats = item.value.type.is_floating and is_key
            columns.append(f"{f'({item.value.sql} + 0)' if merges_floats else item.value.sql} AS c{number}")
        return ", ".join(columns)

    def check_grouping(self, select: exp.Select, group: Grouping, scope: Scope) -> None:
        """Like Spark, refuses GROUPING and GROUPING_ID of other columns, and without ROLLUP, CUBE or GROUPING SETS."""
        clauses = [select.args.get(key) for key in ("where", "having", "order")]
        for part in (*select.expressions, *(clause for clause in clauses if clause is not None)):
            for call in part.walk(prune=lambda node: isinstance(node, exp.Query)):
                function = self.text.called(call)
                if is_grouping_column(call, scope):
                    function = "grouping_id"
                if function not in ("grouping", "grouping_id"):
                    continue
                if group.set_keys is None or part is clauses[0]:
                    self.text.wrong(
                        f"{function}() can only be used with GROUPING SETS, CUBE and ROLLUP.",
                        "UNSUPPORTED_GROUPING_EXPRESSION", "42K0E", call,
                    )  # fmt: skip
                arguments = tuple(self._expression_key(argument, scope) for argument in call.expressions)
                if function == "grouping" and not set(arguments) <= set(group.set_keys):
                    self.text.wrong(
                        f"{self.text.shown(call)} names an expression that the query does not group by.",
                        "GROUPING_COLUMN_MISMATCH", "42803", call,
                    )  # fmt: skip
                if function == "grouping_id" and arguments and arguments != group.set_keys:
                    self.text.wrong(
                        f"{self.text.shown(call)} does not name the columns that the query groups by, in their order.",
                        "GROUPING_ID_COLUMN_MISMATCH", "42803", call,
                    )  # fmt: skip

    def check_ungrouped(self, select: exp.Select, items: Sequence[Item], group: Grouping, scope: Scope) -> None:
        """Raises the error for a column of a grouped query that is neither grouped nor aggregated."""
        parts = [item.node for item in items if item.node is not None]
        having, order = select.args.get("having"), select.args.get("order")
        if not group.sql and having is None and not any(_has(part, self.is_aggregate) for part in parts):
            return
        if having is not None:
            parts.append(self.having(having.this, items, group, scope))
        names = {item.name.lower() for item in items}
        parts += [
            key for key in (order.expressions if order else ())
            if not any(column.name.lower() in names for column in key.find_all(exp.Column))
        ]  # fmt: skip
        _check_ungrouped(self.expressions, parts, group.keys, scope, grouped=select.args.get("group") is not None)

    def _expression_key(self, node: exp.Expr, scope: Scope) -> ExpressionKey:
        return self.expressions.key(node, self.expressions.translate(node, scope))

    def _key(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> ExpressionKey:
        item = None
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            item = self._ordinal(node, items, "GROUP BY")
        elif isinstance(node, exp.Column) and not node.args.get("table") and not scope.find(node.name, None):
            item = item_by_name(self.text, node, items)
        expression = node if item is None else item.node
        if expression is not None and _has(expression, self.is_aggregate):
            message = f"{self.text.shown(node)} in GROUP BY is an aggregate: {self.text.shown(expression)}."
            if isinstance(node, exp.Literal):
                self.text.wrong(message, "GROUP_BY_POS_AGGREGATE", "42903", node)
            self.text.wrong(message, "GROUP_BY_AGGREGATE", "42903", node)
        value = self.expressions.translate(node, scope) if item is None else item.value
        return self.expressions.key(expression, self.expressions.comparable(value, node, "GROUP BY", grouped=True))

    def having_sql(self, clause: exp.Expr, items: Sequence[Item], group: Grouping, scope: Scope) -> str:
        """Translates the condition of HAVING."""
        self.expressions.construct("HAVING")
        self._refuse_fields_of_items(clause.this, items, scope, "HAVING")
        condition = self.having(clause.this, items, group, scope)
        sql = self.expressions.condition(condition, scope).sql
        if _calls_lambda(sql) and _has(condition, self.is_aggregate):
            self.text.refuse(
                "A function of an aggregate such as MEDIAN or FLOOR(x, 1) in HAVING", clause,
                "Write the condition in an outer query: SELECT … FROM (SELECT … GROUP BY …) WHERE ….",
            )  # fmt: skip
        return sql

    def having(self, condition: exp.Expr, items: Sequence[Item], group: Grouping, scope: Scope) -> exp.Expr:
        """Returns the condition of HAVING in which names of the SELECT list are replaced by their expressions.

        As in Spark, a name within an aggregate is a column's. Elsewhere it is a column's that the query groups by, or
        part of an expression that the query groups by; then an item's of the SELECT list.
        """

        def resolve(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column) or part.args.get("table") or part.find_ancestor(exp.Query):
                return part
            is_column = bool(scope.find(part.name, None))
            if is_column and (
                self._in_aggregate(part) or (not group.set_keys and self._is_grouped(part, group, scope))
            ):
                return part
            item = item_by_name(self.text, part, items)
            if item is None or not item.declared or item.node is None or _is_same_column(item.node, part):
                return part
            if is_column and group.set_keys:
                self.text.refuse(
                    f"{part.name} in HAVING of ROLLUP, CUBE or GROUPING SETS, a column and an alias,", part
                )
            return exp.Paren(this=item.node.copy())

        return replace_nodes(condition, resolve)

    def _in_aggregate(self, node: exp.Expr) -> bool:
        ancestor = node.parent
        while ancestor is not None and not self.is_aggregate(ancestor):
            ancestor = ancestor.parent
        return ancestor is not None

    def _is_grouped(self, column: exp.Expr, group: Grouping, scope: Scope) -> bool:
        """Tests whether a query groups by a column, or by an expression of a condition that contains it."""
        node: exp.Expr | None = column
        while node is not None and not isinstance(node, exp.Connector | exp.Not):
            try:
                if self._expression_key(node, scope) in group.keys:
                    return True
            except Error:
                return False  # not an expression of columns alone
            node = node.parent
        return False

    def _qualified(self, condition: exp.Expr, items: Sequence[Item], scope: Scope) -> exp.Expr:
        """Returns the condition of QUALIFY in which names of the SELECT list that no column has are replaced by their
        expressions.
        """

        def resolve(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column) or part.args.get("table") or part.find_ancestor(exp.Query):
                return part
            item = item_by_name(self.text, part, items)
            if item is None or not item.declared or item.node is None or _is_same_column(item.node, part):
                return part
            if scope.find(part.name, None):
                self.text.refuse(f"{part.name} in QUALIFY, which is both a column and an alias,", part)
            return exp.Paren(this=item.node.copy())

        return replace_nodes(condition, resolve)

    def _ordinal(self, node: exp.Expr, items: Sequence[Item], clause: str) -> Item:
        digits = str(node.this)
        if not digits.isdigit() or not 1 <= int(digits) <= len(items):
            message = f"Position {digits} is not in the select list of {len(items)} columns."
            if clause == "ORDER BY":
                self.text.wrong(message, "ORDER_BY_POS_OUT_OF_RANGE", "42805", node)
            self.text.wrong(message, "GROUP_BY_POS_OUT_OF_RANGE", "42805", node)
        return items[int(digits) - 1]

    def order(self, node: exp.Expr, items: Sequence[Item], scope: Scope, by_output: bool) -> str:
        """Translates ORDER BY. A name means an item of the SELECT list first, then a column."""
        clauses = [key for key in ("order", "sort", "cluster", "distribute") if node.args.get(key)]
        if len(clauses) > 1 and clauses != ["sort", "distribute"]:
            self.text.refuse("More than one of ORDER BY, SORT BY, CLUSTER BY and DISTRIBUTE BY", node)
        if "distribute" in clauses:
            self.expressions.construct("DISTRIBUTE BY")
            self._sort_keys(node.args["distribute"], items, scope, by_output)
        clause = next((node.args[key] for key in clauses if key != "distribute"), None)
        if clause is None:
            return ""
        self.expressions.construct(
            "ORDER BY … NULLS FIRST, NULLS LAST" if clauses[0] == "order" else "SORT BY, CLUSTER BY"
        )
        return f" ORDER BY {', '.join(self._sort_keys(clause, items, scope, by_output))}"

    def _sort_keys(self, clause: exp.Expr, items: Sequence[Item], scope: Scope, by_output: bool) -> list[str]:
        self.expressions.allow_only(clause, "expressions")
        nodes = [key if isinstance(key, exp.Ordered) else exp.Ordered(this=key, nulls_first=True)
                 for key in clause.expressions]  # fmt: skip
        if isinstance(clause, exp.Order) and len(nodes) == 1 and _is_all(nodes[0].this):
            self._refuse_named_all("ORDER BY ALL", clause, items, scope)
            self.expressions.allow_only(nodes[0], "this", "desc", "nulls_first")
            self.expressions.construct("ORDER BY ALL")
            for selected_item in items:
                self.expressions.comparable(selected_item.value, clause, "ORDER BY ALL")
            return [f"c{number} {_direction(nodes[0])}" for number in range(len(items))]
        keys = []
        for sort_key in nodes:
            self.expressions.allow_only(sort_key, "this", "desc", "nulls_first")
            sql = self._sort_value(sort_key.this, items, scope, by_output)
            keys.append(f"{sql} {_direction(sort_key)}")
        return keys

    def _sort_value(self, target: exp.Expr, items: Sequence[Item], scope: Scope, by_output: bool) -> str:
        """Translates the expression of a sort key: an item of the SELECT list by its number, its name or its value."""
        item = None
        self._refuse_fields_of_items(target, items, scope, "ORDER BY")
        if isinstance(target, exp.Literal) and not target.args.get("is_string"):
            item = self._ordinal(target, items, "ORDER BY")
        elif isinstance(target, exp.Column) and not target.args.get("table"):
            item = item_by_name(self.text, target, items)
        if item is not None:
            self.expressions.comparable(item.value, target, "ORDER BY")
            return f"c{items.index(item)}"
        value = self.expressions.translate(self._output_names(target, items, scope), scope)
        self.expressions.comparable(value, target, "ORDER BY")
        key = self.expressions.key(target, value)
        matching_numbers = [
            number for number, item in enumerate(items) if self.expressions.key(item.node, item.value) == key
        ]
        if by_output and not matching_numbers and isinstance(target, exp.Column):
            self.text.wrong(
                f"The column {self.text.shown(target)} is not selected, so that the rows of SELECT DISTINCT "
                "cannot be sorted by it. Select it, too.",
                "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", target, target.name,
            )  # fmt: skip
        if by_output and not matching_numbers:
            self.text.refuse("ORDER BY of SELECT DISTINCT by an expression that is not selected", target)
        return f"c{matching_numbers[0]}" if matching_numbers else value.sql

    def _refuse_fields_of_items(self, node: exp.Expr, items: Sequence[Item], scope: Scope, clause: str) -> None:
        """Refuses ``a.b`` in a clause if ``a`` is an item of the SELECT list, of which Spark takes a field, and means
        something else in FROM.
        """
        for column in node.find_all(exp.Column):
            first = column.parts[0].name.lower()
            own = [item for item in items if item.name.lower() == first and item.value.type.is_nested]
            if len(column.parts) == 1 or not own:
                continue
            matches, fields = scope.find_path([part.name for part in column.parts])
            of_column = matches and len(fields) == len(column.parts) - 1 and matches[0].sql == own[0].value.sql
            if len(own) > 1 or not of_column:
                self.text.refuse(
                    f"{self.text.shown(column)} in {clause}, where {first} is a column of the SELECT list,", column
                )

    def _output_names(self, node: exp.Expr, items: Sequence[Item], scope: Scope) -> exp.Expr:
        """Replaces names of the SELECT list in an expression of ORDER BY by their expressions: an item comes before a
        column. Spark refuses an alias within an aggregate.
        """

        def resolve(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column) or part.args.get("table") or isinstance(part.this, exp.Star):
                return part
            item = item_by_name(self.text, part, items)
            if item is None or not item.declared or item.node is None or _is_same_column(item.node, part):
                return part
            if self._in_aggregate(part) or part.find_ancestor(exp.Window, exp.Query):
                self.text.refuse(f"The alias {part.name} within an aggregate, window or subquery of ORDER BY", part)
            if _has(item.node, self.is_aggregate) and _calls_lambda(item.value.sql):
                self.text.refuse(f"The alias {part.name} of this aggregate within an expression of ORDER BY", part)
            return exp.Paren(this=item.node.copy())

        return replace_nodes(node, resolve)


def _nested(clause: exp.Expr) -> list[exp.Expr]:
    """Returns the elements of GROUP BY, also those within GROUPING SETS."""
    elements = list(clause.expressions)
    for element in elements:
        if isinstance(element, exp.GroupingSets):
            elements += element.expressions
    return elements


def _last_name(node: exp.Expr) -> str | None:
    """Returns ``c`` of ``(a).b.c`` where ``a`` is a column, which Spark reads without parentheses."""
    last, base = node.unnest(), node.unnest()
    while isinstance(base, exp.Dot):
        base = base.this.unnest()
    return last.expression.name if isinstance(last, exp.Dot) and isinstance(base, exp.Column) else None


def _calls_lambda(sql: str) -> bool:
    return "lambda " in sql or any(f"{name}(" in sql for name in lambda_macros())


def _is_same_column(node: exp.Expr, column: exp.Column) -> bool:
    """Tests whether an item of the SELECT list is the column whose name it has."""
    return isinstance(node, exp.Column) and node.name.lower() == column.name.lower()


def _is_all(node: exp.Expr) -> bool:
    return isinstance(node, exp.Var) and node.name.upper() == "ALL"


def _direction(sort_key: exp.Expr) -> str:
    nulls = "FIRST" if sort_key.args.get("nulls_first") else "LAST"
    return f"{'DESC' if sort_key.args.get('desc') else 'ASC'} NULLS {nulls}"


def _is_window(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window)


def _has(node: exp.Expr, test: Callable[[exp.Expr], bool]) -> bool:
    """Tests whether a node of an expression, outside its subqueries, passes a test. An aggregate with OVER is none."""
    nodes = node.walk(prune=lambda part: isinstance(part, exp.Query))
    return any(test(part) and not (isinstance(part.parent, exp.Window) and part.parent.this is part) for part in nodes)


def _without_alias(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Paren) else node


# Columns of a grouped query that are neither grouped nor aggregated: the error names them as they were typed.
#
# DuckDB finds them, too, but calls them by the names of the translation.


def _check_ungrouped(
    e: Expressions, parts: Iterable[exp.Expr], keys: frozenset[ExpressionKey], scope: Scope, *, grouped: bool
) -> None:
    """Raises ``EngineError`` MISSING_AGGREGATION for a column in ``parts`` that is outside the keys of GROUP BY;
    MISSING_GROUP_BY if the query is not ``grouped``, so that it is one group because of an aggregate or HAVING.
    """
    own_columns = {column.sql for source in scope.sources for column in source.columns}
    has_computed_keys = any(key.sql not in own_columns for key in keys)
    for column in (column for part in parts for column in _ungrouped(e, part, keys, scope, has_computed_keys)):
        try:
            sql = e.translate(column, scope).sql
        except Error:
            continue  # no column of this query
        if sql in own_columns and ExpressionKey(sql) not in keys:
            name = e.text.shown(column)
            if not grouped:
                e.text.wrong(
                    f"The column {name} is beside an aggregate or HAVING, in a query without GROUP BY. Write GROUP BY "
                    f"{name}, or MAX({name}).",
                    "MISSING_GROUP_BY", "42803", column, column.name,
                )  # fmt: skip
            e.text.wrong(
                f"The column {name} is neither in GROUP BY nor in an aggregate. Group by it, or write MAX({name}).",
                "MISSING_AGGREGATION", "42803", column, column.name,
            )  # fmt: skip


def _ungrouped(
    e: Expressions, node: exp.Expr, keys: frozenset[ExpressionKey], scope: Scope, has_computed_keys: bool
) -> Iterator[exp.Column]:
    """Returns the columns of an expression outside its subqueries, lambdas, aggregates, and parts that are keys."""
    if isinstance(node, exp.Column):
        if not isinstance(node.this, exp.Star):
            yield node
        return
    if isinstance(node, exp.Query | exp.Lambda) or _aggregates(e, node):
        return
    if has_computed_keys and _is_key(e, node, keys, scope):
        return
    for child in node.iter_expressions():
        yield from _ungrouped(e, child, keys, scope, has_computed_keys)


def _is_key(e: Expressions, node: exp.Expr, keys: frozenset[ExpressionKey], scope: Scope) -> bool:
    try:
        return e.key(node, e.translate(node, scope)) in keys
    except Error:
        return False  # a part that is no expression of its own


def _aggregates(e: Expressions, node: exp.Expr) -> bool:
    """Tests whether a node is an aggregate, perhaps with FILTER, IGNORE NULLS or WITHIN GROUP. One with OVER is a
    function of groups.
    """
    inner = node
    while isinstance(inner, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        inner = inner.this
    is_call = isinstance(inner, exp.Expr) and (is_aggregate(e, inner) or isinstance(inner, exp.AggFunc))
    return is_call and not (isinstance(node.parent, exp.Window) and node.arg_key == "this")
