"""Random queries over the cube of ``histories``, each with what it means in plain SQL over the base rows."""

from __future__ import annotations

import random
from dataclasses import dataclass

from rewriter.planner.literals import timestamp_literal
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import TimeRange


@dataclass(frozen=True)
class Item:
    """An expression as asked of the cube and as it reads over base rows (the same where not given)."""

    asked: str
    plain: str = ""

    @property
    def meaning(self) -> str:
        return self.plain or self.asked


@dataclass(frozen=True)
class Question:
    """A query over the cube, and the same over tables ``base0``, ``base1`` of base rows, one for each mention of the
    cube.
    """

    asked: str
    plain: str


#: Aggregates: those that rollups serve, and those that only the base serves.
AGGREGATES = (
    Item("SUM(distance)"),
    Item("COUNT(*)", "COALESCE(SUM(flights), 0)"),
    Item("count(1)", "COALESCE(SUM(flights), 0)"),
    Item("COUNT(carrier)", "COALESCE(SUM(CASE WHEN carrier IS NOT NULL THEN flights END), 0)"),
    Item("COUNT(CASE WHEN origin = 'JFK' THEN 1 END)", "COALESCE(SUM(CASE WHEN origin = 'JFK' THEN flights END), 0)"),
    Item("AVG(delay)", "SUM(delay) / NULLIF(SUM(departures), 0)"),
    Item("MAX(worst)"),
    Item("SUM(flights)"),
    Item("SUM(CASE WHEN carrier = 'UA' THEN distance END)"),
    Item("SUM(CASE WHEN carrier = 'UA' THEN distance ELSE 0 END)"),
    Item("SUM(distance * 2)"),
    Item("SUM(distance) FILTER (WHERE origin <> 'JFK')"),
    Item("COUNT(*) FILTER (WHERE carrier = 'AA')", "COALESCE(SUM(flights) FILTER (WHERE carrier = 'AA'), 0)"),
    Item("MIN(carrier)"),
    Item("MAX(origin)"),
    Item("COUNT(DISTINCT carrier)"),
    Item("SUM(distance) + COUNT(*)", "SUM(distance) + COALESCE(SUM(flights), 0)"),
    Item("SUM(distance + 1)"),
    Item("SUM(distance + flights)"),
    Item("COUNT(distance)"),
    Item("MIN(distance)"),
    Item("MIN(worst)"),
    Item("AVG(distance)"),
    Item("SUM(DISTINCT distance)"),
    Item("COUNT(DISTINCT distance)"),
)
GROUPS = (
    "carrier", "origin", "date_trunc('day', departed)", "date_trunc('month', departed)", "year(departed)",
    "quarter(departed)", "month(departed)", "departed", "CAST(departed AS DATE)", "upper(carrier)", "hour(departed)",
)  # fmt: skip
FILTERS = (
    "carrier = 'UA'", "origin IS NOT NULL", "carrier IN ('AA', 'UA')", "distance > 10", "departed IS NOT NULL",
    "month(departed) = 2", "(carrier = 'AA' OR departed < TIMESTAMP '2013-02-01 00:00:00')", "NOT (origin = 'EWR')",
)  # fmt: skip


def question(rng: random.Random, extent: TimeRange) -> Question:
    """A random query; every shape of this list is reached by some seed."""
    bounds = _bounds(rng, extent)
    where = [bounds, *(Item(text) for text in rng.sample(FILTERS, rng.choice([0, 0, 0, 1])))]
    shape = rng.randrange(9)
    if shape == 0:
        return _both("SELECT DISTINCT {0} FROM {from} WHERE {where}", rng.sample(["carrier", "origin"], 1), where)
    if shape == 1:
        return _both("SELECT carrier, distance, departed FROM {from} WHERE {where}", [], where)
    aggregates = rng.sample(AGGREGATES, rng.choice([1, 1, 2, 3]))
    if rng.random() < 0.6:
        aggregates = [item for item in aggregates if AGGREGATES.index(item) < 17] or [AGGREGATES[0]]
    items = [Item(f"{a.asked} AS a{i}", f"{a.meaning} AS a{i}") for i, a in enumerate(aggregates)]
    if shape == 2:
        return _both("SELECT {items} FROM {from} WHERE {where}", [], where, items)
    groups = rng.sample(GROUPS, rng.choice([1, 1, 2]))
    keys = [Item(f"{group} AS g{i}") for i, group in enumerate(groups)]
    text = "SELECT {items} FROM {from} WHERE {where} GROUP BY " + ", ".join(groups)
    if shape == 3:
        having = rng.choice(AGGREGATES[:3])
        return _both(text + " HAVING {having} > 20", [], where, keys + items, having=having)
    if shape == 4:
        asked = _both(text, [], where, keys + items)
        return Question(
            f"SELECT COUNT(*) AS n, MAX(a0) AS m FROM ({asked.asked}) x",
            f"SELECT COUNT(*) AS n, MAX(a0) AS m FROM ({asked.plain}) x",
        )
    if shape == 5:
        asked = _both(text, [], where, keys + items)
        return Question(
            f"WITH c AS ({asked.asked}) SELECT * FROM c WHERE a0 IS NOT NULL",
            f"WITH c AS ({asked.plain}) SELECT * FROM c WHERE a0 IS NOT NULL",
        )
    if shape == 6:
        other = _both(
            "SELECT {items} FROM {from} WHERE {where}", [], [_bounds(rng, extent)], [Item("MAX(worst) AS a0")], index=1
        )
        one = _both("SELECT {items} FROM {from} WHERE {where}", [], where, [Item("MAX(worst) AS a0")])
        return Question(f"{one.asked} UNION ALL {other.asked}", f"{one.plain} UNION ALL {other.plain}")
    return _both(text, [], where, keys + items)


def _both(
    text: str,
    names: list[str],
    where: list[Item],
    items: list[Item] | None = None,
    having: Item | None = None,
    index: int = 0,
) -> Question:
    made = []
    for asked in (True, False):
        chosen = [item.asked if asked else item.meaning for item in items or ()]
        made.append(
            text.replace("{items}", ", ".join(chosen))
            .replace("{from}", "flights" if asked else f"base{index}")
            .replace("{where}", " AND ".join(w.asked if asked else w.meaning for w in where))
            .replace("{having}", (having.asked if asked else having.meaning) if having else "")
            .replace("{0}", names[0] if names else "")
        )
    return Question(*made)


def _bounds(rng: random.Random, extent: TimeRange) -> Item:
    hour = 3_600_000_000
    grid = rng.choice([hour, 24 * hour, 24 * hour])
    ends = _ends(rng, extent, grid)
    a, b = timestamp_literal(ends[0]), timestamp_literal(ends[1])
    hole = timestamp_literal((ends[0] + ends[1]) // 2 // grid * grid)
    texts = [
        f"departed >= {a} AND departed < {b}",
        f"departed BETWEEN {a} AND {b}",
        f"NOT (departed < {a} OR departed >= {b})",
        f"departed >= {a}",
        f"departed < {b}",
        f"(departed < {a} OR departed >= {b})",
        f"departed >= {a} AND departed < {b} AND departed <> {hole}",
        f"CAST(departed AS DATE) >= CAST({a} AS DATE) AND date_trunc('month', departed) <= {b}",
        f"year(departed) = 2013 AND departed < {b}",
    ]
    return Item(rng.choice(texts))


def _ends(rng: random.Random, extent: TimeRange, grid: int) -> list[int]:
    """Two instants: anywhere around the extent, near each other, or on the edges of months, which rollups like."""
    steps = (extent.end - extent.start) // grid
    kind = rng.randrange(3)
    if kind == 0:
        return sorted(extent.start + rng.randrange(-1, steps + 2) * grid for _ in range(2))
    if kind == 1:
        first = extent.start + rng.randrange(steps) * grid
        return [first, first + rng.randrange(1, 1 + max(1, steps // 4)) * grid]
    month = rng.choice([UpdatePeriod.MONTHLY, UpdatePeriod.DAILY, UpdatePeriod.QUARTERLY])
    edges = range(month.ordinal(extent.start), month.ordinal(extent.end - 1) + 2)
    first, last = sorted(rng.sample(edges, 2))
    return [month.start(first), month.start(last)]
