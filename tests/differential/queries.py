"""Queries as values: the ranges of cubes, and their meaning in plain SQL over base rows.

Both texts are written from one tree. In the meaning a cube is a relation of base rows with the cube's columns and
``WEIGHT``, the number of events that a row represents. So COUNT over a cube is a sum of the weights (and 1 for a row
that an outer join extended with NULLs). A cube with a time zone has ``ZONE_COLUMNS``, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass

from rewriter.timeline.periods import UpdatePeriod

from .schemas import quoted

#: The column of base rows with the number of events of a row.
WEIGHT = "rw_weight"
#: A row's time in the cube's zone: its wall time, and the instants at which the units that contain it begin.
ZONE_COLUMNS = ("rw_wall", "rw_hour", "rw_day", "rw_week", "rw_month", "rw_quarter", "rw_year")


@dataclass(frozen=True)
class Expr:
    """An expression of a type: pieces of text and inner expressions. ``plain`` is its meaning if that differs.

    ``units`` and ``raw`` describe its use of time. ``rows``: its value depends on single base rows, so no rollup may
    serve a block with it. ``aggregate``: it aggregates. ``cuts``: it names parts of base periods, of which only
    complete ones are returned.
    """

    type: str
    parts: tuple[str | Expr | Select | Compound, ...]
    plain: tuple[str | Expr | Select | Compound, ...] | None = None
    units: frozenset[UpdatePeriod] = frozenset()
    raw: bool = False
    rows: bool = False
    aggregate: bool = False
    cuts: bool = False


@dataclass(frozen=True)
class Item:
    """An item of a select list. ``named`` is the column's name if the meaning's own would differ."""

    expr: Expr
    alias: str = ""
    named: str = ""


@dataclass(frozen=True)
class Cube:
    """A cube, or one fact of it, in FROM. ``multiplied``: a join needs its single rows."""

    name: str
    alias: str = ""
    fact: str = ""
    qualified: bool = False
    multiplied: bool = False

    @property
    def known_as(self) -> str:
        return self.alias or self.fact or self.name


@dataclass(frozen=True)
class Named:
    """A table or a common table expression in FROM."""

    name: str
    alias: str


@dataclass(frozen=True)
class Derived:
    """A subquery in FROM."""

    query: Select | Compound | With
    alias: str


@dataclass(frozen=True)
class Join:
    """A join. ``kind`` is the text before the relation: ``LEFT JOIN``, ``CROSS JOIN``, a comma. ``using`` is the column
    of USING, if any.
    """

    kind: str
    relation: Cube | Named | Derived
    on: tuple[Expr, ...] = ()
    using: str = ""


@dataclass(frozen=True)
class Select:
    """One SELECT. ``hidden`` are texts and names of columns that the meaning passes on.

    ``exists``: only the presence of rows matters (IN, EXISTS).
    """

    items: tuple[Item, ...]
    relation: Cube | Named | Derived
    joins: tuple[Join, ...] = ()
    where: tuple[Expr, ...] = ()
    group: tuple[Expr, ...] = ()
    grouping: str = ""
    having: tuple[Expr, ...] = ()
    order: tuple[str, ...] = ()
    limit: int = 0
    distinct: bool = False
    hidden: tuple[tuple[str, str], ...] = ()
    exists: bool = False

    @property
    def aggregates(self) -> bool:
        used = (*(item.expr for item in self.items), *self.having)
        return bool(self.group) or self.distinct or any(_has_aggregate(expr) for expr in used)

    @property
    def projects(self) -> bool:
        """True if it only projects and filters one relation."""
        return not (self.aggregates or self.joins or self.limit or self.order)


@dataclass(frozen=True)
class Compound:
    """Two queries and the operator between them: ``UNION ALL``, ``EXCEPT`` …"""

    left: Select | Compound
    word: str
    right: Select | Compound


@dataclass(frozen=True)
class With:
    """Common table expressions and the query that uses them."""

    ctes: tuple[tuple[str, Select | Compound], ...]
    body: Select | Compound


Query = Select | Compound | With
#: Returns the relation of base rows for the n-th mention of a cube in its m-th use, both from 0.
Base = Callable[[int, int, Cube], str]
Node = Expr | Item | Cube | Named | Derived | Join | Select | Compound | With


@dataclass(frozen=True)
class Written:
    """A text and its mentions of cubes, each with its position."""

    text: str
    mentions: tuple[tuple[int, Cube], ...]


def asked(query: Query) -> Written:
    """Returns the query as it is asked of the cubes."""
    return _Writer(None).written(query)


def meaning(query: Query, base: Base) -> str:
    """Returns the query over base rows. Each use of a common table expression is a subquery of its own, with its own
    range and its own missing part.
    """
    return _Writer(base).written(query).text


@dataclass
class _Writer:
    base: Base | None
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    mentions: list[tuple[int, Cube]] = field(default_factory=list)
    ctes: dict[str, tuple[Select | Compound, int]] = field(default_factory=dict)
    number: int = 0
    uses: Counter[int] = field(default_factory=Counter)

    def written(self, query: Query) -> Written:
        self.query(query)
        return Written("".join(self.pieces), tuple(self.mentions))

    def put(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)

    def query(self, query: Query) -> None:
        if isinstance(query, With) and self.base is not None:
            for name, body in query.ctes:
                self.ctes[name] = (body, self.number)
                self.number += _mentions(body)
            self.query(query.body)
        elif isinstance(query, With):
            for number, (name, body) in enumerate(query.ctes):
                self.put(f"{', ' if number else 'WITH '}{name} AS (")
                self.query(body)
                self.put(")")
            self.put(" ")
            self.query(query.body)
        elif isinstance(query, Compound):
            self.query(query.left)
            self.put(f" {query.word} ")
            self.query(query.right)
        else:
            self.select(query)

    def select(self, select: Select) -> None:
        self.put("SELECT DISTINCT " if select.distinct else "SELECT ")
        for number, item in enumerate(select.items):
            self.put(", " if number else "")
            self.expr(item.expr)
            alias = item.alias or (item.named if self.base else "")
            self.put(f" AS {quoted(alias)}" if alias else "")
        for text, name in select.hidden if self.base else ():
            self.put(f", {text} AS {name}")
        self.put(" FROM ")
        self.relation(select.relation)
        for join in select.joins:
            self.put(", " if join.kind == "," else f" {join.kind} ")
            self.relation(join.relation)
            self.listed(" ON ", join.on, " AND ")
            self.put(f" USING ({quoted(join.using)})" if join.using else "")
        self.listed(" WHERE ", select.where, " AND ")
        if select.group:
            self.listed(f" GROUP BY {select.grouping}(" if select.grouping else " GROUP BY ", select.group, ", ")
            self.put(")" if select.grouping else "")
        self.listed(" HAVING ", select.having, " AND ")
        if select.order:
            self.put(f" ORDER BY {', '.join(select.order)}")
        if select.limit:
            self.put(f" LIMIT {select.limit}")

    def listed(self, before: str, exprs: tuple[Expr, ...], between: str) -> None:
        for number, expr in enumerate(exprs):
            self.put(between if number else before)
            self.expr(expr)

    def expr(self, expr: Expr) -> None:
        for part in expr.parts if self.base is None or expr.plain is None else expr.plain:
            if isinstance(part, str):
                self.put(part)
            elif isinstance(part, Expr):
                self.expr(part)
            else:
                self.query(part)

    def relation(self, relation: Cube | Named | Derived) -> None:
        if isinstance(relation, Derived):
            self.put("(")
            self.query(relation.query)
            self.put(f") AS {quoted(relation.alias)}")
        elif isinstance(relation, Named) and relation.name in self.ctes:
            body, first = self.ctes[relation.name]
            number, self.number = self.number, first
            self.relation(Derived(body, relation.alias or relation.name))
            self.number = number
        elif isinstance(relation, Named):
            self.put(relation.name + (f" AS {quoted(relation.alias)}" if relation.alias else ""))
        elif self.base is not None:
            use = self.uses[self.number]
            self.uses[self.number] += 1
            self.put(f"{self.base(self.number, use, relation)} AS {quoted(relation.known_as)}")
            self.number += 1
        else:
            self.mentions.append((self.length, relation))
            self.put("default." if relation.qualified else "")
            self.put(quoted(relation.fact or relation.name))
            self.put(f" AS {quoted(relation.alias)}" if relation.alias else "")


# -- what a person would say ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expectation:
    """The use of time by a mention: whether rollups are correct for it, and its units."""

    additive: bool
    units: frozenset[UpdatePeriod]


def expectations(query: Query) -> dict[int, tuple[Expectation, ...]]:
    """Returns the expectation for each use of each mention of a cube, by the mention's number in the text. A common
    table expression that is named twice has two uses.
    """
    counter = iter(range(10**6))
    expectations: dict[int, list[Expectation]] = {}
    _expect(query, {}, None, counter, expectations)
    return {number: tuple(some) for number, some in expectations.items()}


@dataclass(frozen=True)
class _Uses:
    additive: bool
    units: frozenset[UpdatePeriod]


_Ctes = Mapping[str, tuple[Select | Compound, int]]


def _expect(
    query: Query, ctes: _Ctes, outer: _Uses | None, counter: Iterator[int], expectations: dict[int, list[Expectation]]
) -> None:
    if isinstance(query, With):
        inner = dict(ctes)
        for name, body in query.ctes:
            if isinstance(body, Select) and body.projects:
                first = next(counter)
                inner[name] = (body, first)
                for _ in range(_mentions(body) - 1):
                    next(counter)
            else:
                _expect(body, inner, None, counter, expectations)
        _expect(query.body, inner, outer, counter, expectations)
    elif isinstance(query, Compound):
        _expect(query.left, ctes, None, counter, expectations)
        _expect(query.right, ctes, None, counter, expectations)
    else:
        _expect_select(query, ctes, outer, counter, expectations)


def _expect_select(
    select: Select, ctes: _Ctes, outer: _Uses | None, counter: Iterator[int], expectations: dict[int, list[Expectation]]
) -> None:
    own = [*select.where, *select.having, *select.group]
    own += [expr for join in select.joins for expr in join.on]
    if outer is None:
        own += [item.expr for item in select.items]
    additive = not any(expr.rows or expr.raw for expr in own)
    units = frozenset(unit for expr in own for unit in expr.units)
    if outer is not None and select.projects:
        uses = _Uses(additive and outer.additive, units | outer.units)
    else:
        uses = _Uses(additive and (select.aggregates or select.exists), units)
    for item in select.items:
        _expect_parts(item.expr, ctes, counter, expectations)
    relations = [select.relation, *(join.relation for join in select.joins)]
    conditions: list[tuple[Expr, ...]] = [(), *(join.on for join in select.joins)]
    for relation, on in zip(relations, conditions, strict=True):
        if isinstance(relation, Cube):
            expected = Expectation(uses.additive and not relation.multiplied, uses.units)
            expectations.setdefault(next(counter), []).append(expected)
        elif isinstance(relation, Derived):
            projects = isinstance(relation.query, Select) and relation.query.projects
            _expect(relation.query, ctes, uses if projects else None, counter, expectations)
        elif relation.name in ctes:
            body, first = ctes[relation.name]
            _expect(body, ctes, uses, iter(range(first, 10**6)), expectations)
        for expr in on:
            _expect_parts(expr, ctes, counter, expectations)
    for expr in (*select.where, *select.group, *select.having):
        _expect_parts(expr, ctes, counter, expectations)


def _expect_parts(expr: Expr, ctes: _Ctes, counter: Iterator[int], expectations: dict[int, list[Expectation]]) -> None:
    for part in expr.parts:
        if isinstance(part, Expr):
            _expect_parts(part, ctes, counter, expectations)
        elif not isinstance(part, str):
            _expect(part, ctes, None, counter, expectations)


def _has_aggregate(expr: Expr) -> bool:
    return expr.aggregate or any(isinstance(part, Expr) and _has_aggregate(part) for part in expr.parts)


def _mentions(query: Query) -> int:
    return sum(isinstance(node, Cube) for node in nodes(query))


def nodes(node: object) -> Iterator[object]:
    """Returns all nodes of a tree, the root first. The meaning of an expression is not included."""
    yield node
    if isinstance(node, tuple):
        children = list(node)
    elif is_dataclass(node):
        children = [getattr(node, child.name) for child in fields(node) if child.name != "plain"]
    else:
        return
    for child in children:
        if not isinstance(child, str | int | bool | None):
            yield from nodes(child)
