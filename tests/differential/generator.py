"""Random queries over the cubes of a schema: a grammar of shapes, each with a weight."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from .expressions import NUMBERS, Offered, Scope, aggregate, condition, counted, made, predicate, value
from .queries import (
    WEIGHT,
    ZONE_COLUMNS,
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
from .ranges import odd_use, second_range, time_range
from .schemas import CubeSchema, Schema, quoted
from .zoned import odd_zoned_use, zoned_range

#: Shapes of queries and how often they come.
WEIGHTS: Mapping[str, int] = {
    "aggregate": 30, "distinct": 4, "rows": 4, "ordered": 5, "above": 5, "projected": 9, "cte": 5, "cte_twice": 4,
    "compound": 6, "lookup": 10, "supplied": 5, "cubes": 4, "scalar": 3, "inside": 4, "outside": 4, "correlated": 2,
    "window": 2, "grouping_sets": 3, "limited": 3, "above_rows": 3, "above_distinct": 3, "starred": 2,
    "correlated_measure": 1, "valued": 3,
}  # fmt: skip


@dataclass
class Generator:
    """Makes queries. ``extents`` are the stretches in which the cubes' histories happen, ``now`` the pinned present.

    ``weights`` are those of shapes; ``additive`` is the share of blocks that are meant to be served by rollups, and
    ``single`` names the aggregates of which others make use (none: all). ``strange`` is how often WHERE holds what no
    rollup serves, ``time`` a part of the functions of time to group by (``""``: all).
    """

    schema: Schema
    rng: random.Random
    now: int
    weights: Mapping[str, int] = field(default_factory=lambda: WEIGHTS)
    additive: float = 0.7
    single: tuple[str, ...] = ()
    strange: float = 0.04
    time: str = ""
    _serial: int = 0

    def query(self) -> Query:
        """The next random query."""
        shape = self.rng.choices(list(self.weights), list(self.weights.values()))[0]
        return _SHAPES[shape](self)

    # -- FROM -----------------------------------------------------------------------------------------------------

    def cube(self, cube: CubeSchema | None = None) -> tuple[Cube, Scope]:
        """A mention of a cube or of one of its facts, and what it offers."""
        rng = self.rng
        cube = cube or (self.schema.cubes[0] if rng.random() < 0.8 else rng.choice(self.schema.cubes))
        whole = [fact for fact in cube.facts if not fact.partial]
        fact = rng.choice(whole).name if rng.random() < 0.06 else ""
        alias = self.name("f") if rng.random() < 0.4 else ""
        mention = Cube(cube.name, alias, fact, qualified=rng.random() < 0.04)
        return mention, offered(cube, mention.known_as, qualify=bool(alias) and rng.random() < 0.6)

    def lookup(self) -> tuple[Named, Scope]:
        """The table that can be joined."""
        alias = self.name("k")
        columns = (Offered(c.name, alias, f"{alias}.{quoted(c.name)}", c.type, "value") for c in self.schema.lookup)
        return Named("lookup", alias), Scope(tuple(columns))

    def name(self, letter: str) -> str:
        self._serial += 1
        return f"{letter}{self._serial}"

    def range(self, scope: Scope) -> Expr | None:
        """A range of time, or ``None`` where the scope offers no time."""
        times = [column for column in scope.of("time") if not column.second]
        if not times:
            return None
        column = self.rng.choice(times)
        ranged = time_range if column.zone == "UTC" else zoned_range
        return ranged(self.rng, column, self.cube_of(column), self.now)

    def cube_of(self, column: Offered) -> CubeSchema:
        return column.cube or self.schema.cubes[0]

    # -- clauses --------------------------------------------------------------------------------------------------

    def where(self, scope: Scope, *, strange: bool = True) -> tuple[Expr, ...]:
        """Usually a range of time, now and then conditions."""
        rng, found = self.rng, []
        bounds = self.range(scope)
        if bounds is not None and rng.random() < 0.92:
            found.append(bounds)
        seconds = [column for column in scope.of("time") if column.second]
        if seconds and rng.random() < 0.4:
            column = rng.choice(seconds)
            found.append(second_range(rng, column, self.cube_of(column)))
        if rng.random() < 0.3:
            found.append(predicate(rng, scope))
        if strange and rng.random() < self.strange and scope.of("measure"):
            found.append(condition(rng, rng.choice(scope.of("measure")).expr))
        if strange and rng.random() < self.strange and scope.of("time"):
            column = rng.choice(scope.of("time"))
            used = odd_use if column.zone == "UTC" else odd_zoned_use
            found.append(used(rng, column, self.cube_of(column), "'a' = 'b'"))
        rng.shuffle(found)
        return tuple(found)

    def block(self, relation: Cube | Named | Derived, scope: Scope, joins: tuple[Join, ...] = ()) -> Select:
        """An aggregating SELECT over a FROM clause."""
        rng = self.rng
        additive = rng.random() < self.additive
        groups = tuple(self.groups(scope, rng.choice((0, 1, 1, 2))))
        if not additive and rng.random() < 0.15 and scope.of("measure"):
            groups = (*groups, rng.choice(scope.of("measure")).expr)
        keys = tuple(Item(group, f"g{number}") for number, group in enumerate(groups))
        values = [aggregate(rng, scope, additive=additive, single=self.single) for _ in range(rng.choice((1, 1, 2, 3)))]
        items = (*keys, *(self.item(one, f"a{number}") for number, one in enumerate(values)))
        having: tuple[Expr, ...] = ()
        numbers = [one for one in values if one.type in NUMBERS]
        if groups and numbers and rng.random() < 0.15:
            having = (made("boolean", rng.choice(numbers), rng.choice((" > ", " <= ")), "1.3"),)
        return Select(items, relation, joins, self.where(scope), groups, having=having)

    def groups(self, scope: Scope, count: int) -> list[Expr]:
        """Different expressions to group by."""
        found: dict[object, Expr] = {}
        for _ in range(count):
            one = value(self.rng, scope, self.time)
            if one.type != "number":
                found[one.parts] = one
        return list(found.values())

    def item(self, expr: Expr, alias: str) -> Item:
        """An item with an alias; a plain COUNT now and then has none, and a name all the same."""
        if expr.parts[0] in ("COUNT(*)", "count(1)") and len(expr.parts) == 1 and self.rng.random() < 0.2:
            return Item(expr, "", "count(1)")
        return Item(expr, alias)

    # -- shapes ---------------------------------------------------------------------------------------------------

    def aggregated(self) -> Select:
        mention, scope = self.cube()
        return self.block(mention, scope)

    def distinct(self) -> Select:
        mention, scope = self.cube()
        items = tuple(Item(one, f"g{n}") for n, one in enumerate(self.groups(scope, self.rng.choice((1, 2)))))
        items = items or (Item(Expr("int", ("1",)), "one"),)
        return Select(items, mention, where=self.where(scope), distinct=True)

    def rows(self) -> Select:
        """Base rows themselves, so the meaning of time is certain."""
        mention, scope = self.cube()
        if self.rng.random() < 0.2:
            shown = ", ".join(quoted(one.name) for one in scope.columns)
            return Select((Item(Expr("row", ("*",), (shown,), raw=True, rows=True)),), mention, where=self.where(scope))
        columns = scope.columns if self.rng.random() < 0.7 else tuple(scope.free)
        chosen = self.rng.sample(columns, min(3, len(columns)))
        return Select(tuple(Item(one.expr, f"c{n}") for n, one in enumerate(chosen)), mention, where=self.where(scope))

    def ordered(self) -> Select:
        block = self.aggregated()
        count = len(block.items)
        return replace(block, order=tuple(f"{n + 1}{self.rng.choice(('', ' DESC'))}" for n in range(count)))

    def limited(self) -> Select:
        """ORDER BY all columns makes LIMIT deterministic; an outer subquery reads the remaining rows."""
        block = replace(self.ordered(), limit=self.rng.randrange(1, 5))
        if self.rng.random() < 0.5:
            return block
        alias = self.name("x")
        items = (self.output(item, alias) for item in block.items)
        number = made("bigint", "COUNT(*)", aggregate=True)
        extremes = (made(one.type, "MAX(", one.expr, ")", aggregate=True) for one in items if one.type != "boolean")
        return Select(
            (Item(number, "n"), *(Item(one, f"m{n}") for n, one in enumerate(extremes))), Derived(block, alias)
        )

    def above_rows(self) -> Select:
        """An aggregate over some base rows: LIMIT is not a projection."""
        rows = _aliased(self.rows())
        while rows.items[0].expr.type == "row":
            rows = _aliased(self.rows())
        order = tuple(str(number + 1) for number in range(len(rows.items)))
        return self.over(replace(rows, order=order, limit=self.rng.randrange(1, 5)))

    def above_distinct(self) -> Select:
        """An aggregate over distinct rows, measures among them."""
        rows = _aliased(self.rows())
        while rows.items[0].expr.type == "row":
            rows = _aliased(self.rows())
        return self.over(replace(rows, distinct=True))

    def starred(self) -> Select:
        """Distinct rows, named by a star that does not show time."""
        mention, scope = self.cube()
        columns = scope.of("dimension", "measure")
        chosen = self.rng.sample(columns, min(3, len(columns)))
        inner = Select(tuple(Item(one.expr, one.name) for one in chosen), mention, where=self.where(scope))
        shown = ", ".join(quoted(one.name) for one in chosen)
        star = Expr("row", ("*",), (shown,), rows=any(one.measure for one in chosen))
        return Select((Item(star),), Derived(inner, self.name("x")), distinct=True)

    def over(self, block: Select) -> Select:
        """An aggregating SELECT over a subquery of plain values."""
        alias = self.name("x")
        columns = tuple(self.output(item, alias) for item in block.items)
        return replace(self.block(Derived(block, alias), Scope(columns)), having=())

    def above(self) -> Select:
        """An aggregate of aggregates."""
        return self.over(_aliased(self.lookup_join() if self.rng.random() < 0.2 else self.aggregated()))

    def output(self, item: Item, qualifier: str) -> Offered:
        """A column of an aggregating subquery: a plain value."""
        name = item.alias or item.named
        return Offered(name, qualifier, f"{qualifier}.{quoted(name)}", item.expr.type, "value")

    def projection(self, depth: int) -> tuple[Derived, Scope]:
        """A subquery that renames, computes and filters; as deep as said."""
        relation: Cube | Derived
        relation, scope = self.cube() if depth <= 1 else self.projection(depth - 1)
        alias = self.name("p")
        select, outer = self.projecting(relation, scope, alias)
        return Derived(select, alias), outer

    def projecting(self, relation: Cube | Derived, scope: Scope, alias: str) -> tuple[Select, Scope]:
        """``SELECT … FROM relation`` that projects and filters, and what it offers as ``alias``."""
        rng = self.rng
        items: list[Item] = []
        columns: list[Offered] = []
        for column in scope.columns:
            if column.role != "time" and rng.random() < 0.2 and not (column.measure and _counts(column, scope)):
                continue
            name = column.name if rng.random() < 0.6 else self.name("c")
            items.append(Item(column.expr, name))
            columns.append(replace(column, name=name, qualifier=alias, text=f"{alias}.{quoted(name)}"))
        if rng.random() < 0.5:
            computed, name = value(rng, scope), self.name("c")
            if not computed.raw and computed.type != "number":
                items.append(Item(computed, name))
                text = f"{alias}.{name}"
                columns.append(Offered(name, alias, text, computed.type, "dimension", units=computed.units))
        where = self.where(scope, strange=False) if rng.random() < 0.5 else ()
        hidden = [(scope.weight, WEIGHT)] if scope.weight else []
        zoned = next((one for one in scope.of("time") if one.zone != "UTC"), None)
        hidden += [(zoned.hidden(name), name) for name in ZONE_COLUMNS] if zoned else []
        select = Select(tuple(items), relation, where=where, hidden=tuple(hidden))
        return select, Scope(tuple(columns), f"{alias}.{WEIGHT}" if scope.weight else "", scope.counted)

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
        """One common table expression, used by both sides of a set operation, each with its own range."""
        mention, scope = self.cube()
        alias = self.name("w")
        select, outer = self.projecting(mention, scope, alias)
        one = self.block(Named(alias, ""), outer)
        other = replace(one, where=self.where(outer, strange=False))
        return With(((alias, select),), Compound(one, self.rng.choice(("UNION ALL", "UNION", "EXCEPT")), other))

    def compound(self) -> Compound:
        word = self.rng.choice(("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
        one = _aliased(self.aggregated())
        if self.rng.random() < 0.5:
            return Compound(one, word, replace(one, where=self.rewhere(one)))
        mention, scope = self.cube()
        type_ = self.rng.choice(("string", "int", "date"))
        sides = []
        for relation, offers in ((mention, scope), self.cube()):
            chosen = [c for c in offers.free if c.type == type_]
            expr = chosen[0].expr if chosen else Expr(type_, (f"CAST(NULL AS {type_.upper()})",))
            items = (Item(expr, "g0"), Item(counted(offers, "COUNT(*)", None), "n"))
            sides.append(Select(items, relation, where=self.where(offers, strange=False), group=(expr,)))
        return Compound(sides[0], word, sides[1])

    def rewhere(self, block: Select) -> tuple[Expr, ...]:
        """Another WHERE for the same FROM, if that is a cube."""
        if not isinstance(block.relation, Cube):
            return block.where
        mention = block.relation
        cube = next(one for one in self.schema.cubes if one.name == mention.name)
        return self.where(offered(cube, mention.known_as, qualify=True), strange=False)

    def lookup_join(self) -> Select:
        """A cube and the table, joined on a key that both have."""
        mention, scope = self.cube(self.schema.cubes[0])
        scope = requalified(scope, mention)
        table, other = self.lookup()
        kinds = ("JOIN", "INNER JOIN", "LEFT JOIN", "CROSS JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", ",")
        kind = self.rng.choice(kinds)
        if self.rng.random() < 0.2:
            # The key is the one name that both have.
            both = replace(scope, columns=scope.columns + other.columns)
            natural = Join(self.rng.choice(("NATURAL JOIN", "NATURAL LEFT JOIN")), table)
            using = Join(self.rng.choice(("JOIN", "LEFT JOIN")), table, using=other.columns[0].name)
            return self.block(mention, both, (self.rng.choice((natural, using)),))
        both = scope if "SEMI" in kind or "ANTI" in kind else replace(scope, columns=scope.columns + other.columns)
        on = () if kind in ("CROSS JOIN", ",") else self.on(scope, other, kind)
        return self.block(mention, both, (Join(kind, table, on),))

    def on(self, scope: Scope, other: Scope, kind: str) -> tuple[Expr, ...]:
        """Equality of the keys, and more."""
        rng = self.rng
        key = next(one for one in scope.columns if one.name == self.schema.cubes[0].dimensions[0].name)
        found = [made("boolean", key.expr, rng.choice((" = ", " = ", " <=> ")), other.columns[0].expr)]
        if rng.random() < 0.25:
            found.append(condition(rng, rng.choice(other.columns).expr))
        bounds = self.range(scope)
        if bounds is not None and rng.random() < 0.3:
            inner = kind in ("JOIN", "INNER JOIN")
            supplied = kind.startswith("RIGHT")
            found.append(bounds if inner or supplied else replace(bounds, raw=True))
        return tuple(found)

    def supplied(self) -> Select:
        """The cube is on the side of an outer join that supplies NULLs, or on the right of SEMI and ANTI."""
        mention, scope = self.cube(self.schema.cubes[0])
        scope = requalified(scope, mention)
        table, other = self.lookup()
        both = replace(scope, columns=scope.columns + other.columns)
        kind = self.rng.choice(("LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"))
        if kind == "RIGHT JOIN":
            return self.block(mention, both, (Join(kind, table, self.on(scope, other, kind)),))
        on = self.on(scope, other, "RIGHT JOIN" if kind != "FULL JOIN" else kind)
        if kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN"):
            bounds = self.range(scope)
            on = (*on, *((bounds,) if bounds is not None else ()))
            block = self.block(table, other, (Join(kind, mention, on),))
            return replace(block, exists=True)
        return self.block(table, both, (Join(kind, mention, on),))

    def cubes(self) -> Select:
        """Two cubes, or a cube twice, in one FROM; the rows of each multiply those of the other."""
        first = self.schema.cubes[0]
        one, scope = self.cube(first)
        other, offers = self.cube(self.rng.choice(self.schema.cubes))
        one, other = replace(one, alias=self.name("a")), replace(other, alias=self.name("b"))
        second = next(cube for cube in self.schema.cubes if cube.name == other.name)
        scope, offers = offered(first, one.alias, qualify=True), offered(second, other.alias, qualify=True)
        key = first.dimensions[0].name
        left, right = (next(c for c in s.columns if c.name == key) for s in (scope, offers))
        on = (made("boolean", left.expr, " = ", right.expr),)
        bounds = [self.range(scope), self.range(offers)]
        # Only one cube's measures are added up, so that it alone may use rollups; COUNT would have two meanings.
        both = Scope(tuple(c for c in scope.columns if c.role != "time") + tuple(offers.free))
        block = self.block(replace(one, multiplied=False), both, (Join("JOIN", replace(other, multiplied=True), on),))
        items = tuple(item for item in block.items if not _counting(item.expr))
        items = items or (Item(made(left.type, "COUNT(DISTINCT ", left.expr, ")", aggregate=True), "a0"),)
        where = tuple(bound for bound in bounds if bound is not None)
        return replace(block, items=items, where=where, having=())

    def scalar(self) -> Select:
        """A subquery as a value."""
        outer = self.aggregated()
        inner = replace(self.aggregated(), group=(), having=())
        inner = replace(inner, items=tuple(i for i in inner.items if i.named or i.alias.startswith("a"))[:1])
        return replace(outer, items=(*outer.items, Item(made("number", Expr("number", ("(", inner, ")"))), "s")))

    def inside(self) -> Select:
        """The table, filtered by what a cube has."""
        table, scope = self.lookup()
        mention, offers = self.cube(self.schema.cubes[0])
        key = next(c for c in offers.columns if c.name == self.schema.cubes[0].dimensions[0].name)
        inner = Select((Item(key.expr),), mention, where=self.where(offers, strange=False), exists=True)
        negated = "NOT " if self.rng.random() < 0.3 else ""
        if self.rng.random() < 0.5:
            test = Expr("boolean", (scope.columns[0].text, f" {negated}IN (", inner, ")"))
        else:
            offers = requalified(offers, mention)
            key = next(c for c in offers.columns if c.name == key.name)
            matched = made("boolean", key.expr, " = ", scope.columns[0].expr)
            inner = replace(inner, items=(Item(Expr("int", ("1",))),), where=(*inner.where, matched))
            test = Expr("boolean", (f"{negated}EXISTS (", inner, ")"))
        items = tuple(Item(one.expr, f"c{n}") for n, one in enumerate(scope.columns))
        return Select(items, table, where=(test,))

    def outside(self) -> Select:
        """A cube, filtered by what the table has, or by another range of itself."""
        mention, scope = self.cube(self.schema.cubes[0])
        block = self.block(mention, scope)
        key = next(c for c in scope.columns if c.name == self.schema.cubes[0].dimensions[0].name)
        if self.rng.random() < 0.5:
            table, offers = self.lookup()
            inner = Select((Item(offers.columns[0].expr),), table, where=(predicate(self.rng, offers),))
        else:
            other, offers = self.cube(self.schema.cubes[0])
            found = next(c for c in offers.columns if c.name == key.name)
            inner = Select((Item(found.expr),), other, where=self.where(offers, strange=False), exists=True)
        negated = "NOT " if self.rng.random() < 0.2 else ""
        return replace(block, where=(*block.where, made("boolean", key.expr, _inside(negated, inner))))

    def correlated(self) -> Select:
        """A cube, filtered by a subquery over the table that reads the cube's dimension."""
        mention, _ = self.cube(self.schema.cubes[0])
        scope = offered(self.schema.cubes[0], mention.known_as, qualify=True)
        key = next(c for c in scope.columns if c.name == self.schema.cubes[0].dimensions[0].name)
        table, offers = self.lookup()
        matched = made("boolean", offers.columns[0].expr, " = ", key.expr)
        inner = Select((Item(Expr("int", ("1",))),), table, where=(matched, predicate(self.rng, offers)))
        block = self.block(mention, scope)
        negated = "NOT " if self.rng.random() < 0.3 else ""
        return replace(block, where=(*block.where, Expr("boolean", (f"{negated}EXISTS (", inner, ")"))))

    def correlated_measure(self) -> Select:
        """A cube, filtered by a subquery over the table that reads a measure."""
        mention, _ = self.cube(self.schema.cubes[0])
        scope = offered(self.schema.cubes[0], mention.known_as, qualify=True)
        numbers = [one for one in scope.of("measure") if one.type in ("int", "bigint", "double")]
        if not numbers:
            return self.correlated()
        table, offers = self.lookup()
        compared = made(
            "boolean", self.rng.choice(numbers).expr, self.rng.choice((" > ", " <= ")), offers.columns[2].expr
        )
        inner = Select((Item(Expr("int", ("1",))),), table, where=(replace(compared, rows=False),))
        block = self.block(mention, scope)
        return replace(block, where=(*block.where, Expr("boolean", ("EXISTS (", inner, ")"), rows=True)))

    def valued(self) -> Select:
        """A correlated subquery as a value: of the cube for each row of the table, or of the table for each group."""
        cube = self.schema.cubes[0]
        mention = replace(self.cube(cube)[0], alias=self.name("f"))
        scope = offered(cube, mention.alias, qualify=True)
        table, offers = self.lookup()
        key = next(one for one in scope.columns if one.name == cube.dimensions[0].name)
        matched = made("boolean", key.expr, " = ", offers.columns[0].expr)
        if self.rng.random() < 0.5:
            found = aggregate(self.rng, scope, additive=True)
            inner = Select((Item(found, "s"),), mention, where=(*self.where(scope, strange=False), matched))
            items = tuple(Item(one.expr, f"c{n}") for n, one in enumerate(offers.columns))
            return Select((*items, Item(Expr(found.type, ("(", inner, ")")), "s")), table)
        largest = made("int", "MAX(", offers.columns[2].expr, ")", aggregate=True)
        inner = Select((Item(largest, "m"),), table, where=(matched,))
        items = (Item(key.expr, "g0"), Item(aggregate(self.rng, scope, additive=True), "a0"))
        value_ = Item(Expr("int", ("(", inner, ")")), "s")
        return Select((*items, value_), mention, where=self.where(scope, strange=False), group=(key.expr,))

    def window(self) -> Select:
        mention, scope = self.cube()
        numbers = [c for c in scope.of("measure") if c.type in ("bigint", "int", "double")]
        if not numbers or not scope.free:
            return self.aggregated()
        one, by = self.rng.choice(numbers), self.rng.choice(scope.free)
        over = made("number", "SUM(", one.expr, ") OVER (PARTITION BY ", by.expr, ")", rows=True)
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
                else (sets[0], made("set", "(", sets[1], ", ", sets[0], ")"))
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


def offered(cube: CubeSchema, qualifier: str, *, qualify: bool) -> Scope:
    """What a mention of a cube offers."""
    prefix = f"{quoted(qualifier)}." if qualify else ""
    columns = [
        Offered(c.name, qualifier, prefix + quoted(c.name), c.type, "measure" if c.aggregate else "dimension",
                c if c.aggregate else None)
        for c in cube.columns if not c.time
    ]  # fmt: skip
    for name in (cube.time, *([cube.second.name] if cube.second else [])):
        text = prefix + quoted(name)
        columns.append(Offered(name, qualifier, text, "timestamp", "time", cube=cube, second=name != cube.time))
    return Scope(tuple(columns), f"{quoted(qualifier)}.{WEIGHT}", cube.counter is not None)


def requalified(scope: Scope, mention: Cube) -> Scope:
    """The same scope with every column qualified, as joins need it."""
    prefix = quoted(mention.known_as)
    return replace(scope, columns=tuple(replace(c, text=f"{prefix}.{quoted(c.name)}") for c in scope.columns))


def _aliased(select: Select) -> Select:
    """The same with an alias for every item."""
    return replace(
        select, items=tuple(replace(item, alias=item.alias or f"n{n}") for n, item in enumerate(select.items))
    )


def _counts(column: Offered, scope: Scope) -> bool:
    """Whether a measure counts another's rows, which has no average without it."""
    counted_by = {one.measure.counted_by for one in scope.columns if one.measure is not None}
    return column.measure is not None and column.measure.name in counted_by


def _counting(expr: Expr) -> bool:
    """Whether an expression counts rows, or means something else than its text says."""
    texts = " ".join(part for part in expr.parts if isinstance(part, str))
    counts = "COUNT(" in texts.upper().replace("COUNT(DISTINCT", "")
    return counts or expr.plain is not None or any(isinstance(p, Expr) and _counting(p) for p in expr.parts)


def _inside(negated: str, inner: Select) -> Expr:
    return Expr("boolean", (f" {negated}IN (", inner, ")"))
