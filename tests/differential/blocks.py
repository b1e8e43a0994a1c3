"""The parts of random queries: FROM clauses, conditions, blocks of SELECT, and subqueries that project."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from .expressions import NUMBERS, Offered, Scope, aggregate, build_expr, condition, predicate, value
from .queries import WEIGHT, ZONE_COLUMNS, Cube, Derived, Expr, Item, Join, Named, Select
from .ranges import odd_use, second_range, time_range
from .schemas import CubeSchema, Schema, quoted
from .zoned import odd_zoned_use, zoned_range


@dataclass
class Blocks:
    """Makes the blocks of queries over a schema. ``now`` is the pinned present.

    ``additive`` is the share of blocks that rollups should serve. ``single`` names the aggregates of the other blocks
    (empty: all). ``strange`` is how often WHERE has a condition that no rollup serves. ``time`` is a part of the
    functions of time to group by (``""``: all).
    """

    schema: Schema
    rng: random.Random
    now: int
    additive: float = 0.7
    single: tuple[str, ...] = ()
    strange: float = 0.04
    time: str = ""
    _serial: int = field(default=0, init=False)

    # -- FROM -----------------------------------------------------------------------------------------------------

    def cube(self, cube: CubeSchema | None = None) -> tuple[Cube, Scope]:
        """Returns a mention of a cube or of one of its facts, and its scope."""
        rng = self.rng
        cube = cube or (self.schema.cubes[0] if rng.random() < 0.8 else rng.choice(self.schema.cubes))
        complete = [fact for fact in cube.facts if not fact.partial]
        fact = rng.choice(complete).name if rng.random() < 0.06 else ""
        alias = self.name("f") if rng.random() < 0.4 else ""
        mention = Cube(cube.name, alias, fact, qualified=rng.random() < 0.04)
        return mention, offered(cube, mention.known_as, qualify=bool(alias) and rng.random() < 0.6)

    def lookup(self) -> tuple[Named, Scope]:
        """Returns the table that can be joined."""
        alias = self.name("k")
        columns = (Offered(c.name, alias, f"{alias}.{quoted(c.name)}", c.type, "value") for c in self.schema.lookup)
        return Named("lookup", alias), Scope(tuple(columns))

    def name(self, letter: str) -> str:
        self._serial += 1
        return f"{letter}{self._serial}"

    def range(self, scope: Scope) -> Expr | None:
        """Returns a range of time, or ``None`` if the scope has no time."""
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
        """Returns usually a range of time, sometimes also other conditions."""
        rng, conditions = self.rng, []
        bounds = self.range(scope)
        if bounds is not None and rng.random() < 0.92:
            conditions.append(bounds)
        seconds = [column for column in scope.of("time") if column.second]
        if seconds and rng.random() < 0.4:
            column = rng.choice(seconds)
            conditions.append(second_range(rng, column, self.cube_of(column)))
        if rng.random() < 0.3:
            conditions.append(predicate(rng, scope))
        if strange and rng.random() < self.strange and scope.of("measure"):
            conditions.append(condition(rng, rng.choice(scope.of("measure")).expr))
        if strange and rng.random() < self.strange and scope.of("time"):
            column = rng.choice(scope.of("time"))
            used = odd_use if column.zone == "UTC" else odd_zoned_use
            conditions.append(used(rng, column, self.cube_of(column), "'a' = 'b'"))
        rng.shuffle(conditions)
        return tuple(conditions)

    def block(self, relation: Cube | Named | Derived, scope: Scope, joins: tuple[Join, ...] = ()) -> Select:
        """Returns an aggregating SELECT over a FROM clause."""
        rng = self.rng
        additive = rng.random() < self.additive
        groups = tuple(self.groups(scope, rng.choice((0, 1, 1, 2))))
        if not additive and rng.random() < 0.15 and scope.of("measure"):
            groups = (*groups, rng.choice(scope.of("measure")).expr)
        keys = tuple(Item(group, f"g{number}") for number, group in enumerate(groups))
        values = [aggregate(rng, scope, additive=additive, single=self.single) for _ in range(rng.choice((1, 1, 2, 3)))]
        items = (*keys, *(self.item(expr, f"a{number}") for number, expr in enumerate(values)))
        having: tuple[Expr, ...] = ()
        numbers = [expr for expr in values if expr.type in NUMBERS]
        if groups and numbers and rng.random() < 0.15:
            having = (build_expr("boolean", rng.choice(numbers), rng.choice((" > ", " <= ")), "1.3"),)
        return Select(items, relation, joins, self.where(scope), groups, having=having)

    def groups(self, scope: Scope, count: int) -> list[Expr]:
        """Returns different expressions to group by."""
        groups: dict[object, Expr] = {}
        for _ in range(count):
            expr = value(self.rng, scope, self.time)
            if expr.type != "number":
                groups[expr.parts] = expr
        return list(groups.values())

    def item(self, expr: Expr, alias: str) -> Item:
        """Returns an item with an alias. A plain COUNT sometimes has no alias, but still a name."""
        if expr.parts[0] in ("COUNT(*)", "count(1)") and len(expr.parts) == 1 and self.rng.random() < 0.2:
            return Item(expr, "", "count(1)")
        return Item(expr, alias)

    # -- subqueries -----------------------------------------------------------------------------------------------

    def over(self, block: Select) -> Select:
        """Returns an aggregating SELECT over a subquery of plain values."""
        alias = self.name("x")
        columns = tuple(self.output(item, alias) for item in block.items)
        return replace(self.block(Derived(block, alias), Scope(columns)), having=())

    def output(self, item: Item, qualifier: str) -> Offered:
        """Returns a column of an aggregating subquery, which is a plain value."""
        name = item.alias or item.named
        return Offered(name, qualifier, f"{qualifier}.{quoted(name)}", item.expr.type, "value")

    def projection(self, depth: int) -> tuple[Derived, Scope]:
        """Returns a subquery that renames, computes and filters, ``depth`` levels deep."""
        relation: Cube | Derived
        relation, scope = self.cube() if depth <= 1 else self.projection(depth - 1)
        alias = self.name("p")
        select, outer = self.projecting(relation, scope, alias)
        return Derived(select, alias), outer

    def projecting(self, relation: Cube | Derived, scope: Scope, alias: str) -> tuple[Select, Scope]:
        """Returns ``SELECT … FROM relation`` that projects and filters, and its scope under ``alias``."""
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
        zoned = next((column for column in scope.of("time") if column.zone != "UTC"), None)
        hidden += [(zoned.hidden(name), name) for name in ZONE_COLUMNS] if zoned else []
        select = Select(tuple(items), relation, where=where, hidden=tuple(hidden))
        return select, Scope(tuple(columns), f"{alias}.{WEIGHT}" if scope.weight else "", scope.counted)


def offered(cube: CubeSchema, qualifier: str, *, qualify: bool) -> Scope:
    """Returns the scope of a mention of a cube."""
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
    """Returns the same scope with every column qualified, as joins need it."""
    prefix = quoted(mention.known_as)
    return replace(scope, columns=tuple(replace(c, text=f"{prefix}.{quoted(c.name)}") for c in scope.columns))


def _counts(column: Offered, scope: Scope) -> bool:
    """Returns True if a measure counts another one's rows. The other has no average without it."""
    counted_by = {column.measure.counted_by for column in scope.columns if column.measure is not None}
    return column.measure is not None and column.measure.name in counted_by
