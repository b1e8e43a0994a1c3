"""Random queries over the cubes of a schema: a grammar of shapes, each with a weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from .blocks import Blocks, offered, requalified
from .expressions import Scope, aggregate, build_expr, condition, counted, predicate
from .queries import (
    Compound,
    Cube,
    Derived,
    Expr,
    Item,
    Join,
    Named,
    Query,
    Select,
    With,
)
from .schemas import quoted

#: Shapes of queries and their weights.
WEIGHTS: Mapping[str, int] = {
    "aggregate": 30, "distinct": 4, "rows": 4, "ordered": 5, "above": 5, "projected": 9, "cte": 5, "cte_twice": 4,
    "compound": 6, "lookup": 10, "supplied": 5, "cubes": 4, "scalar": 3, "inside": 4, "outside": 4, "correlated": 2,
    "window": 2, "grouping_sets": 3, "limited": 3, "above_rows": 3, "above_distinct": 3, "starred": 2,
    "correlated_measure": 1, "valued": 3,
}  # fmt: skip


@dataclass
class Generator(Blocks):
    """Makes random queries. ``weights`` are the weights of the shapes."""

    weights: Mapping[str, int] = field(default_factory=lambda: WEIGHTS)

    def query(self) -> Query:
        """Returns the next random query."""
        shape = self.rng.choices(list(self.weights), list(self.weights.values()))[0]
        return _SHAPES[shape](self)

    # -- shapes ---------------------------------------------------------------------------------------------------

    def aggregated(self) -> Select:
        mention, scope = self.cube()
        return self.block(mention, scope)

    def distinct(self) -> Select:
        mention, scope = self.cube()
        items = tuple(Item(group, f"g{n}") for n, group in enumerate(self.groups(scope, self.rng.choice((1, 2)))))
        items = items or (Item(Expr("int", ("1",)), "one"),)
        return Select(items, mention, where=self.where(scope), distinct=True)

    def rows(self) -> Select:
        """Reads single base rows, so the meaning of time is certain."""
        mention, scope = self.cube()
        if self.rng.random() < 0.2:
            shown = ", ".join(quoted(column.name) for column in scope.columns)
            return Select((Item(Expr("row", ("*",), (shown,), raw=True, rows=True)),), mention, where=self.where(scope))
        columns = scope.columns if self.rng.random() < 0.7 else tuple(scope.free)
        chosen = self.rng.sample(columns, min(3, len(columns)))
        return Select(
            tuple(Item(column.expr, f"c{n}") for n, column in enumerate(chosen)), mention, where=self.where(scope)
        )

    def ordered(self) -> Select:
        block = self.aggregated()
        shadowing = self._shadowing(block) if self.rng.random() < 0.4 else None
        block, first = shadowing or (block, ())
        positions = tuple(f"{n + 1}{self.rng.choice(('', ' DESC'))}" for n in range(len(block.items)))
        return replace(block, order=(*first, *positions))

    def _shadowing(self, block: Select) -> tuple[Select, tuple[str, ...]] | None:
        """Gives a whole number of a block the name of a measure, which HAVING and ORDER BY then use: an alias that is
        also a column.
        """
        numbers = [n for n, item in enumerate(block.items) if item.expr.type == "bigint" and item.alias.startswith("a")]
        names = [column.name for column in self.schema.cubes[0].columns if column.aggregate]
        if not numbers or not names or not block.group or block.grouping:
            return None
        number, name = self.rng.choice(numbers), self.rng.choice(names)
        items = tuple(replace(item, alias=name) if n == number else item for n, item in enumerate(block.items))
        having = (*block.having, Expr("boolean", (f"{quoted(name)} > {self.rng.randrange(-1, 3)}",)))
        return replace(block, items=items, having=having), (f"{quoted(name)} + 1",)

    def limited(self) -> Select:
        """Adds ORDER BY all columns and LIMIT, which makes LIMIT deterministic. An outer subquery may read the
        remaining rows.
        """
        block = replace(self.ordered(), limit=self.rng.randrange(1, 5))
        if self.rng.random() < 0.5:
            return block
        alias = self.name("x")
        items = (self.output(item, alias) for item in block.items)
        number = build_expr("bigint", "COUNT(*)", aggregate=True)
        extremes = (
            build_expr(column.type, "MAX(", column.expr, ")", aggregate=True)
            for column in items
            if column.type != "boolean"
        )
        return Select(
            (Item(number, "n"), *(Item(extreme, f"m{n}") for n, extreme in enumerate(extremes))), Derived(block, alias)
        )

    def above_rows(self) -> Select:
        """Aggregates some base rows: LIMIT is not a projection."""
        rows = _aliased(self.rows())
        while rows.items[0].expr.type == "row":
            rows = _aliased(self.rows())
        order = tuple(str(number + 1) for number in range(len(rows.items)))
        return self.over(replace(rows, order=order, limit=self.rng.randrange(1, 5)))

    def above_distinct(self) -> Select:
        """Aggregates distinct rows with measures."""
        rows = _aliased(self.rows())
        while rows.items[0].expr.type == "row":
            rows = _aliased(self.rows())
        return self.over(replace(rows, distinct=True))

    def starred(self) -> Select:
        """Reads distinct rows through a star that does not show time."""
        mention, scope = self.cube()
        columns = scope.of("dimension", "measure")
        chosen = self.rng.sample(columns, min(3, len(columns)))
        inner = Select(tuple(Item(column.expr, column.name) for column in chosen), mention, where=self.where(scope))
        shown = ", ".join(quoted(column.name) for column in chosen)
        star = Expr("row", ("*",), (shown,), rows=any(column.measure for column in chosen))
        return Select((Item(star),), Derived(inner, self.name("x")), distinct=True)

    def above(self) -> Select:
        """Aggregates aggregates."""
        return self.over(_aliased(self.lookup_join() if self.rng.random() < 0.2 else self.aggregated()))

    def projected(self) -> Select:
        derived, scope = self.projection(self.rng.choice((1, 1, 2, 3)))
        return self.block(derived, scope)

    def cte(self) -> With:
        if self.rng.random() < 0.5:
            block, alias = _aliased(self.aggregated()), self.name("w")
            columns = tuple(self.output(item, alias) for item in block.items)
            return With(((alias, block),), replace(self.block(Named(alias, ""), Scope(columns)), having=()))
        mention, scope = self.cube()
        alias = self.name("w")
        select, outer = self.projecting(mention, scope, alias)
        return With(((alias, select),), self.block(Named(alias, ""), outer))

    def cte_twice(self) -> With:
        """Uses one common table expression in both sides of a set operation, each side with its own range."""
        mention, scope = self.cube()
        alias = self.name("w")
        select, outer = self.projecting(mention, scope, alias)
        left = self.block(Named(alias, ""), outer)
        right = replace(left, where=self.where(outer, strange=False))
        return With(((alias, select),), Compound(left, self.rng.choice(("UNION ALL", "UNION", "EXCEPT")), right))

    def compound(self) -> Compound:
        word = self.rng.choice(("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
        left = _aliased(self.aggregated())
        if self.rng.random() < 0.5:
            return Compound(left, word, replace(left, where=self.rewhere(left)))
        mention, scope = self.cube()
        type_ = self.rng.choice(("string", "int", "date"))
        sides = []
        for relation, offering in ((mention, scope), self.cube()):
            chosen = [c for c in offering.free if c.type == type_]
            expr = chosen[0].expr if chosen else Expr(type_, (f"CAST(NULL AS {type_.upper()})",))
            items = (Item(expr, "g0"), Item(counted(offering, "COUNT(*)", None), "n"))
            sides.append(Select(items, relation, where=self.where(offering, strange=False), group=(expr,)))
        return Compound(sides[0], word, sides[1])

    def rewhere(self, block: Select) -> tuple[Expr, ...]:
        """Returns another WHERE for the same FROM, if that is a cube."""
        if not isinstance(block.relation, Cube):
            return block.where
        mention = block.relation
        cube = next(cube for cube in self.schema.cubes if cube.name == mention.name)
        return self.where(offered(cube, mention.known_as, qualify=True), strange=False)

    def lookup_join(self) -> Select:
        """Joins a cube and the table on a key that both have."""
        mention, scope = self.cube(self.schema.cubes[0])
        scope = requalified(scope, mention)
        table, offering = self.lookup()
        kinds = ("JOIN", "INNER JOIN", "LEFT JOIN", "CROSS JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", ",")
        kind = self.rng.choice(kinds)
        if self.rng.random() < 0.2:
            # The key is the only name that both have.
            both = replace(scope, columns=scope.columns + offering.columns)
            natural = Join(self.rng.choice(("NATURAL JOIN", "NATURAL LEFT JOIN")), table)
            using = Join(self.rng.choice(("JOIN", "LEFT JOIN")), table, using=offering.columns[0].name)
            return self.block(mention, both, (self.rng.choice((natural, using)),))
        both = scope if "SEMI" in kind or "ANTI" in kind else replace(scope, columns=scope.columns + offering.columns)
        on = () if kind in ("CROSS JOIN", ",") else self.on(scope, offering, kind)
        return self.block(mention, both, (Join(kind, table, on),))

    def on(self, scope: Scope, offering: Scope, kind: str) -> tuple[Expr, ...]:
        """Returns the equality of the keys, and sometimes more conditions."""
        rng = self.rng
        key = next(column for column in scope.columns if column.name == self.schema.cubes[0].dimensions[0].name)
        conditions = [build_expr("boolean", key.expr, rng.choice((" = ", " = ", " <=> ")), offering.columns[0].expr)]
        if rng.random() < 0.25:
            conditions.append(condition(rng, rng.choice(offering.columns).expr))
        bounds = self.range(scope)
        if bounds is not None and rng.random() < 0.3:
            inner = kind in ("JOIN", "INNER JOIN")
            supplied = kind.startswith("RIGHT")
            conditions.append(bounds if inner or supplied else replace(bounds, raw=True))
        return tuple(conditions)

    def supplied(self) -> Select:
        """Places the cube on the side of an outer join that supplies NULLs, or on the right of SEMI and ANTI."""
        mention, scope = self.cube(self.schema.cubes[0])
        scope = requalified(scope, mention)
        table, offering = self.lookup()
        both = replace(scope, columns=scope.columns + offering.columns)
        kind = self.rng.choice(("LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"))
        if kind == "RIGHT JOIN":
            return self.block(mention, both, (Join(kind, table, self.on(scope, offering, kind)),))
        on = self.on(scope, offering, "RIGHT JOIN" if kind != "FULL JOIN" else kind)
        if kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN"):
            bounds = self.range(scope)
            on = (*on, *((bounds,) if bounds is not None else ()))
            block = self.block(table, offering, (Join(kind, mention, on),))
            return replace(block, exists=True)
        return self.block(table, both, (Join(kind, mention, on),))

    def cubes(self) -> Select:
        """Joins two cubes, or a cube with itself. Each row of one occurs with many rows of the other."""
        first = self.schema.cubes[0]
        mention, scope = self.cube(first)
        another, offering = self.cube(self.rng.choice(self.schema.cubes))
        mention, another = replace(mention, alias=self.name("a")), replace(another, alias=self.name("b"))
        second = next(cube for cube in self.schema.cubes if cube.name == another.name)
        scope, offering = offered(first, mention.alias, qualify=True), offered(second, another.alias, qualify=True)
        key = first.dimensions[0].name
        left, right = (next(c for c in s.columns if c.name == key) for s in (scope, offering))
        on = (build_expr("boolean", left.expr, " = ", right.expr),)
        bounds = [self.range(scope), self.range(offering)]
        # Only one cube's measures are added up, so that it alone may use rollups. COUNT would have two meanings.
        both = Scope(tuple(c for c in scope.columns if c.role != "time") + tuple(offering.free))
        block = self.block(
            replace(mention, multiplied=False), both, (Join("JOIN", replace(another, multiplied=True), on),)
        )
        items = tuple(item for item in block.items if not _counting(item.expr))
        items = items or (Item(build_expr(left.type, "COUNT(DISTINCT ", left.expr, ")", aggregate=True), "a0"),)
        where = tuple(bound for bound in bounds if bound is not None)
        return replace(block, items=items, where=where, having=())

    def scalar(self) -> Select:
        """Uses a subquery as a value."""
        outer = self.aggregated()
        inner = replace(self.aggregated(), group=(), having=())
        inner = replace(inner, items=tuple(i for i in inner.items if i.named or i.alias.startswith("a"))[:1])
        return replace(outer, items=(*outer.items, Item(build_expr("number", Expr("number", ("(", inner, ")"))), "s")))

    def inside(self) -> Select:
        """Filters the table by the rows of a cube."""
        table, scope = self.lookup()
        mention, offering = self.cube(self.schema.cubes[0])
        key = next(c for c in offering.columns if c.name == self.schema.cubes[0].dimensions[0].name)
        inner = Select((Item(key.expr),), mention, where=self.where(offering, strange=False), exists=True)
        negated = "NOT " if self.rng.random() < 0.3 else ""
        if self.rng.random() < 0.5:
            test = Expr("boolean", (scope.columns[0].text, f" {negated}IN (", inner, ")"))
        else:
            offering = requalified(offering, mention)
            key = next(c for c in offering.columns if c.name == key.name)
            matched = build_expr("boolean", key.expr, " = ", scope.columns[0].expr)
            inner = replace(inner, items=(Item(Expr("int", ("1",))),), where=(*inner.where, matched))
            test = Expr("boolean", (f"{negated}EXISTS (", inner, ")"))
        items = tuple(Item(column.expr, f"c{n}") for n, column in enumerate(scope.columns))
        return Select(items, table, where=(test,))

    def outside(self) -> Select:
        """Filters a cube by the rows of the table, or by another range of the cube."""
        mention, scope = self.cube(self.schema.cubes[0])
        block = self.block(mention, scope)
        key = next(c for c in scope.columns if c.name == self.schema.cubes[0].dimensions[0].name)
        if self.rng.random() < 0.5:
            table, offering = self.lookup()
            inner = Select((Item(offering.columns[0].expr),), table, where=(predicate(self.rng, offering),))
        else:
            relation, offering = self.cube(self.schema.cubes[0])
            matching = next(c for c in offering.columns if c.name == key.name)
            inner = Select((Item(matching.expr),), relation, where=self.where(offering, strange=False), exists=True)
        negated = "NOT " if self.rng.random() < 0.2 else ""
        return replace(block, where=(*block.where, build_expr("boolean", key.expr, _inside(negated, inner))))

    def correlated(self) -> Select:
        """Filters a cube by a subquery over the table that reads the cube's dimension."""
        mention, _ = self.cube(self.schema.cubes[0])
        scope = offered(self.schema.cubes[0], mention.known_as, qualify=True)
        key = next(c for c in scope.columns if c.name == self.schema.cubes[0].dimensions[0].name)
        table, offering = self.lookup()
        matched = build_expr("boolean", offering.columns[0].expr, " = ", key.expr)
        inner = Select((Item(Expr("int", ("1",))),), table, where=(matched, predicate(self.rng, offering)))
        block = self.block(mention, scope)
        negated = "NOT " if self.rng.random() < 0.3 else ""
        return replace(block, where=(*block.where, Expr("boolean", (f"{negated}EXISTS (", inner, ")"))))

    def correlated_measure(self) -> Select:
        """Filters a cube by a subquery over the table that reads a measure."""
        mention, _ = self.cube(self.schema.cubes[0])
        scope = offered(self.schema.cubes[0], mention.known_as, qualify=True)
        numbers = [column for column in scope.of("measure") if column.type in ("int", "bigint", "double")]
        if not numbers:
            return self.correlated()
        table, offering = self.lookup()
        compared = build_expr(
            "boolean", self.rng.choice(numbers).expr, self.rng.choice((" > ", " <= ")), offering.columns[2].expr
        )
        inner = Select((Item(Expr("int", ("1",))),), table, where=(replace(compared, rows=False),))
        block = self.block(mention, scope)
        return replace(block, where=(*block.where, Expr("boolean", ("EXISTS (", inner, ")"), rows=True)))

    def valued(self) -> Select:
        """Uses a correlated subquery as a value: over the cube for each row of the table, or over the table for each
        group.
        """
        cube = self.schema.cubes[0]
        mention = replace(self.cube(cube)[0], alias=self.name("f"))
        scope = offered(cube, mention.alias, qualify=True)
        table, offering = self.lookup()
        key = next(column for column in scope.columns if column.name == cube.dimensions[0].name)
        matched = build_expr("boolean", key.expr, " = ", offering.columns[0].expr)
        if self.rng.random() < 0.5:
            aggregated = aggregate(self.rng, scope, additive=True)
            inner = Select((Item(aggregated, "s"),), mention, where=(*self.where(scope, strange=False), matched))
            items = tuple(Item(column.expr, f"c{n}") for n, column in enumerate(offering.columns))
            return Select((*items, Item(Expr(aggregated.type, ("(", inner, ")")), "s")), table)
        largest = build_expr("int", "MAX(", offering.columns[2].expr, ")", aggregate=True)
        inner = Select((Item(largest, "m"),), table, where=(matched,))
        items = (Item(key.expr, "g0"), Item(aggregate(self.rng, scope, additive=True), "a0"))
        value_ = Item(Expr("int", ("(", inner, ")")), "s")
        return Select((*items, value_), mention, where=self.where(scope, strange=False), group=(key.expr,))

    def window(self) -> Select:
        mention, scope = self.cube()
        numbers = [c for c in scope.of("measure") if c.type in ("bigint", "int", "double")]
        if not numbers or not scope.free:
            return self.aggregated()
        number, by = self.rng.choice(numbers), self.rng.choice(scope.free)
        over = build_expr("number", "SUM(", number.expr, ") OVER (PARTITION BY ", by.expr, ")", rows=True)
        return Select((Item(by.expr, "g0"), Item(over, "w0")), mention, where=self.where(scope, strange=False))

    def grouping_sets(self) -> Select:
        block = self.aggregated()
        if len(block.group) < 1 or any(expr.rows for expr in block.group):
            return block
        kind = self.rng.choice(("ROLLUP", "CUBE", "GROUPING SETS"))
        sets = block.group
        if kind == "GROUPING SETS" and self.rng.random() < 0.7:
            sets = (
                (*sets, Expr("set", ("()",)))
                if len(sets) == 1
                else (sets[0], build_expr("set", "(", sets[1], ", ", sets[0], ")"))
            )
        return replace(block, group=sets, grouping=kind, having=())


_SHAPES: dict[str, Callable[[Generator], Query]] = {
    "aggregate": Generator.aggregated, "distinct": Generator.distinct, "rows": Generator.rows,
    "ordered": Generator.ordered, "above": Generator.above, "projected": Generator.projected, "cte": Generator.cte,
    "cte_twice": Generator.cte_twice, "compound": Generator.compound, "lookup": Generator.lookup_join,
    "supplied": Generator.supplied, "cubes": Generator.cubes, "scalar": Generator.scalar, "inside": Generator.inside,
    "outside": Generator.outside, "correlated": Generator.correlated, "window": Generator.window,
    "grouping_sets": Generator.grouping_sets, "limited": Generator.limited, "above_rows": Generator.above_rows,
    "above_distinct": Generator.above_distinct, "starred": Generator.starred,
    "correlated_measure": Generator.correlated_measure, "valued": Generator.valued,
}  # fmt: skip


def _aliased(select: Select) -> Select:
    """Returns the same SELECT with an alias for every item."""
    return replace(
        select, items=tuple(replace(item, alias=item.alias or f"n{n}") for n, item in enumerate(select.items))
    )


def _counting(expr: Expr) -> bool:
    """Returns True if an expression counts rows, or has another meaning than its text."""
    texts = " ".join(part for part in expr.parts if isinstance(part, str))
    counts = "COUNT(" in texts.upper().replace("COUNT(DISTINCT", "")
    return counts or expr.plain is not None or any(isinstance(p, Expr) and _counting(p) for p in expr.parts)


def _inside(negated: str, inner: Select) -> Expr:
    return Expr("boolean", (f" {negated}IN (", inner, ")"))
