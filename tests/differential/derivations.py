"""Steps that write one rollup partition with or without a proof, and steps with declarations about partitions.

Only the base rows count. The content of these statements may be wrong, and then it must not be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .periods import Period, instant_text
from .schemas import Column, CubeSchema, FactSchema, quoted
from .steps import RollUp, Row, matching, spec, static, within

#: The ways in which the query reads the base, through which its conditions apply.
WAYS = ("table", "view", "derived", "cte", "union")
#: The ways in which it reads the fact itself, with a condition on time that is no range.
CUBE_WAYS = ("fact", "fact inside", "fact outside", "fact call")
#: How much of the base the query reads: half of the period, the period, or the next one, too.
READS = ("half", "whole", "more")
#: Conditions on the cube's time that are no range: they make the content unproven, whatever it is.
TIMED = (
    "minute({t}) % 2 = 0", "hour({t}) % 2 = 0", "date_format({t}, 'HH') <> '05'", "dayofweek({t}) <> 1",
    "date_format({t}, 'EEE') <> 'Sun'", "mod(day({t}), 2) = 1", "NOT (mod(day({t}), 2) = 1)", "dayofyear({t}) % 3 = 0",
    "datediff({t}, DATE '2012-01-01') % 2 = 0", "month(last_day({t})) % 2 = 0", "month({t}) % 2 = 1",
    "unix_timestamp({t}) % 7200 = 0", "CASE WHEN day({t}) = 2 THEN false ELSE true END", "weekofyear({t}) % 2 = 0",
    "(day({t}) % 2 = 0 OR {t} < '2012-01-01')",
)  # fmt: skip
#: Twists that make the content unproven, whatever it is.
TWISTS = ("having", "filter", "case", "distinct", "rows", "copy", "staging", "values")


@dataclass(frozen=True)
class Derive:
    """One rollup partition, written by a static INSERT. ``twist`` is one of ``TWISTS`` or none; on ``CUBE_WAYS`` it is
    one of ``TIMED`` or none.

    A ``copy`` is a table that was created from the base once and never changes. ``staging`` is filled each time.
    ``rows`` are the rows of VALUES.
    """

    cube: CubeSchema
    fact: FactSchema
    period: Period
    target: int
    way: str = "table"
    reads: str = "whole"
    twist: str = ""
    rows: tuple[Row, ...] = ()

    @property
    def ordinals(self) -> range:
        """The base periods that the query asks for."""
        start, end = self.cube.stretch
        existing = range(self.fact.base.ordinal(start), self.fact.base.ordinal(end - 1) + 1)
        last = self.target + (self.reads == "more")
        first, last = (within(self.fact.base, self.period, target) for target in (self.target, last))
        inside = range(max(first.start, existing.start), min(last.stop, existing.stop))
        return inside[: (len(inside) + 1) // 2] if self.reads == "half" else inside

    @property
    def plain(self) -> list[Column]:
        """The columns in the files of the base."""
        return [column for column in self.cube.stored(self.fact, self.fact.base) if not column.time]

    def statements(self) -> list[str]:
        fact, base, table = self.fact, self.fact.table(self.fact.base), self.fact.table(self.period)
        if self.way in CUBE_WAYS:
            return self._over_the_fact()
        if self.twist == "values":
            return [static(self.cube, fact, self.period, "OVERWRITE", self.target, self.rows)]
        copy = f"{self.twist}_of_{base}"
        copying = {
            "copy": [f"CREATE TABLE IF NOT EXISTS {copy} AS SELECT * FROM {base}"],
            "staging": [f"CREATE OR REPLACE TABLE {copy} AS SELECT * FROM {base}"],
        }.get(self.twist, [])
        source = copy if copying else base
        before, relation = "", source
        if self.way == "view":
            copying.append(f"CREATE VIEW IF NOT EXISTS view_of_{source} AS SELECT * FROM {source}")
            relation = f"view_of_{source}"
        elif self.way == "cte":
            before, relation = f"WITH x AS (SELECT * FROM {source}) ", "x"
        elif self.way == "derived":
            relation = f"(SELECT * FROM {source}) AS x"
        elif self.way == "union":
            naming, middle = fact.naming(fact.base), (len(self.ordinals) + 1) // 2
            halves = [half for half in (self.ordinals[:middle], self.ordinals[middle:]) if half]
            branches = [f"SELECT * FROM {source} WHERE {matching(naming, half)}" for half in halves]
            relation = f"({' UNION ALL '.join(branches)}) AS x"
        relation = f"(SELECT DISTINCT * FROM {relation}) AS y" if self.twist == "distinct" else relation
        insert = f"INSERT OVERWRITE {table} {spec(fact, self.period, self.target)}"
        return [*copying, f"{insert} {before}{self._query(relation)}"]

    def _over_the_fact(self) -> list[str]:
        """Returns the INSERT whose query reads the fact by its name, from base partitions alone."""
        fact, time = self.fact, quoted(self.cube.time)
        start, end = (fact.base.start(self.ordinals[0]), fact.base.end(self.ordinals[-1]))
        first, last = (f"'{instant_text(self.cube.zone, bound)}'" for bound in (start, end))
        inside = f"{time} >= {first} AND {time} < {last}"
        condition = self.twist.format(t=time) if self.twist else f"{time} IS NOT NULL"
        relation, where = {
            "fact": (fact.name, f"{inside} AND {condition}"),
            "fact inside": (f"(SELECT * FROM {fact.name} WHERE {condition}) AS x", inside),
            "fact outside": (f"(SELECT * FROM {fact.name} WHERE {inside}) AS x", condition),
            "fact call": (fact.name, f"time_range_in({time}, {first}, {last}) AND {condition}"),
        }[self.way]
        insert = f"INSERT OVERWRITE {fact.table(self.period)} {spec(fact, self.period, self.target)}"
        query = self._select(relation, where, "", "")
        return [f"SET rewriter.periods = {fact.base.name}", f"{insert} {query}", "RESET rewriter.periods"]

    def _query(self, relation: str) -> str:
        naming, ordinals = self.fact.naming(self.fact.base), self.ordinals
        where = matching(naming, ordinals)
        where = f"({where}) AND {quoted(self.plain[0].name)} IS NOT NULL" if self.twist == "rows" else where
        having = " HAVING COUNT(*) > 1" if self.twist == "having" else ""
        return self._select(relation, where, matching(naming, ordinals[:1]), having)

    def _select(self, relation: str, where: str, first: str, having: str) -> str:
        """Returns the query of the plain form, with the twists. ``first`` holds for a part of the rows."""
        carried = [column for column in self.cube.carried(self.fact) if not column.time]
        dimensions = [quoted(column.name) for column in carried if not column.aggregate]
        measures = []
        for column in (column for column in carried if column.aggregate):
            name, function = quoted(column.name), column.aggregate.replace("COUNT", "SUM")
            inner = f"CASE WHEN {first} THEN {name} END" if self.twist == "case" else name
            measure = f"{function}({inner})" + (f" FILTER (WHERE {first})" if self.twist == "filter" else "")
            # A twist may leave groups without a value.
            has_gaps = column.not_null and self.twist in ("case", "filter")
            measures.append(f"COALESCE({measure}, CAST(0 AS {column.type}))" if has_gaps else measure)
        groups = ", ".join(dimensions or ["true"])
        return f"SELECT {', '.join([*dimensions, *measures])} FROM {relation} WHERE {where} GROUP BY {groups}{having}"


@dataclass(frozen=True)
class MarkComplete:
    """The owner declares that nothing happened in the base periods of a stretch that no fact ever had."""

    cube: CubeSchema
    ordinals: range

    def statements(self) -> list[str]:
        base, zone = self.cube.base, self.cube.zone
        start, end = (instant_text(zone, base.start(bound)) for bound in (self.ordinals.start, self.ordinals.stop))
        return [f"ALTER FACT {fact.name} MARK COMPLETE FROM '{start}' TO '{end}'" for fact in self.cube.fine]


@dataclass(frozen=True)
class Accept:
    """Unproven content that agrees with the base is accepted."""

    cube: CubeSchema
    fact: FactSchema

    def statements(self) -> list[str]:
        return [f"CHECK FACT {self.fact.name} ACCEPT"]


@dataclass(frozen=True)
class Retract:
    """A promise is given and taken back at once. Everything is as before."""

    cube: CubeSchema
    fact: FactSchema
    period: Period

    def statements(self) -> list[str]:
        clause = f"ALTER FACT {self.fact.name} TABLE {self.fact.table(self.period)}"
        return [f"{clause} SET TRUSTED", f"{clause} UNSET TRUSTED"]


@dataclass(frozen=True)
class Rely:
    """A rollup that no query computed is promised, a coarser one is computed from it, and the promise is taken back.

    ``rows`` are those of the first one.
    """

    cube: CubeSchema
    fact: FactSchema
    source: Period
    period: Period
    target: int
    rows: tuple[Row, ...] = ()

    @property
    def promised(self) -> Derive:
        """The write of the rollup that is promised."""
        first = self.source.ordinal(self.period.start(self.target))
        return Derive(self.cube, self.fact, self.source, first, twist="values", rows=self.rows)

    def statements(self) -> list[str]:
        given, taken = Retract(self.cube, self.fact, self.source).statements()
        computed = RollUp(self.cube, self.fact, self.source, self.period, (self.target,))
        return [*self.promised.statements(), given, *computed.statements(), taken]


Derivation = Derive | MarkComplete | Accept | Retract | Rely


def derivable(fact: FactSchema) -> Iterable[Period]:
    """Returns the rollup periods of a fact that have one partition each and no promise."""
    return [period for period in fact.periods[1:] if fact.division(period) is None and period not in fact.trusted]
