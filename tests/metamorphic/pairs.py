"""Pairs of queries that must return the same rows, whatever the rows are: each function makes random ones of a kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from .predicates import predicate
from .worlds import Aggregate, Relation


@dataclass(frozen=True)
class Query:
    """A text and its parameters. ``base`` reads the base period alone; ``fresh`` runs in a session of its own."""

    text: str
    parameters: tuple[object, ...] = ()
    base: bool = False
    fresh: bool = False


@dataclass(frozen=True)
class Pair:
    """Two queries with equal rows in any order.

    With ``keys``, the first columns are unique keys, and the others numbers that may differ in their last digits.
    """

    left: Query
    right: Query
    keys: int | None = None


Maker = Callable[[random.Random, Relation], Pair]


def _pair(left: str, right: str, keys: int | None = None) -> Pair:
    return Pair(Query(left), Query(right), keys)


# -- parts of queries -------------------------------------------------------------------------------------------------


def _range(rng: random.Random, relation: Relation) -> tuple[str, str] | None:
    """Returns the ends of a range of time, most of them over several days."""
    if relation.time is None:
        return None
    low, high = sorted(rng.sample(range(len(relation.bounds)), 2))
    return relation.bounds[low], relation.bounds[high]


def _condition(rng: random.Random, relation: Relation) -> str:
    """Returns the condition that all parts of a query have: its range, or none."""
    ends = _range(rng, relation)
    if ends is None or rng.random() < 0.1:
        return "TRUE" if rng.random() < 0.5 else predicate(rng, relation, 0)
    return f"{relation.time} >= '{ends[0]}' AND {relation.time} < '{ends[1]}'"


def _groups(rng: random.Random, relation: Relation) -> list[str]:
    return rng.sample(relation.groups, rng.choice((0, 1, 1, 2)))


def _aggregates(rng: random.Random, relation: Relation) -> list[Aggregate]:
    return rng.sample(relation.aggregates, rng.choice((1, 2, 3)))


def _grouped(groups: Sequence[str], aggregates: Sequence[Aggregate], source: str, having: str = "") -> str:
    columns = [*groups, *(f"{aggregate.text} AS a{i}" for i, aggregate in enumerate(aggregates))]
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    return f"SELECT {', '.join(columns)} FROM {source}{by}{having}"


def _combined(groups: Sequence[str], aggregates: Sequence[Aggregate], parts: Sequence[str]) -> str:
    """Returns the query that combines aggregates of disjoint parts."""
    columns = [*groups]
    for i, aggregate in enumerate(aggregates):
        combined = f"{aggregate.combined_by}(a{i})"
        columns.append(f"COALESCE({combined}, 0)" if aggregate.text.startswith("COUNT") else combined)
    by = f" GROUP BY {', '.join(groups)}" if groups else ""
    return f"SELECT {', '.join(columns)} FROM ({' UNION ALL '.join(parts)}) AS parts{by}"


def _thirds(source: str, condition: str, where: str) -> list[str]:
    """Returns the rows for which a condition is TRUE, FALSE and NULL."""
    return [f"{source} WHERE {where} AND {part}" for part in (condition, f"NOT {condition}", f"{condition} IS NULL")]


# -- a filter against its condition, computed for each row ------------------------------------------------------------


def filtered_count(rng: random.Random, relation: Relation) -> Pair:
    """NoREC: COUNT of the rows that WHERE keeps, and the sum of the condition over all rows."""
    p, where = predicate(rng, relation), _condition(rng, relation)
    right = rng.choice(
        (
            f"SELECT COALESCE(SUM(r), 0) FROM (SELECT CASE WHEN {p} THEN {relation.counter} ELSE 0 END AS r "
            f"FROM {relation.name} WHERE {where}) AS rows",
            f"SELECT COALESCE(SUM(CASE WHEN p THEN r END), 0) FROM (SELECT {p} AS p, {relation.counter} AS r "
            f"FROM {relation.name} WHERE {where}) AS rows",
            f"SELECT COUNT_IF({p}) FROM {relation.name} WHERE {where}",
            f"SELECT COUNT(*) FILTER (WHERE {p}) FROM {relation.name} WHERE {where}",
        )
    )
    return _pair(f"SELECT COUNT(*) AS n FROM {relation.name} WHERE {where} AND {p}", right)


# -- ternary logic partitioning ---------------------------------------------------------------------------------------


def rows_in_thirds(rng: random.Random, relation: Relation) -> Pair:
    p, where = predicate(rng, relation), _condition(rng, relation)
    columns = ", ".join([*rng.sample(relation.groups, 2), *relation.values])
    select = f"SELECT {columns} FROM {relation.name}"
    return _pair(f"{select} WHERE {where}", " UNION ALL ".join(_thirds(select, p, where)))


def distinct_in_thirds(rng: random.Random, relation: Relation) -> Pair:
    p, where = predicate(rng, relation), _condition(rng, relation)
    select = f"SELECT DISTINCT {', '.join(rng.sample(relation.groups, rng.choice((1, 2))))} FROM {relation.name}"
    return _pair(f"{select} WHERE {where}", rng.choice((" UNION ", " UNION DISTINCT ")).join(_thirds(select, p, where)))


def distinct_counts_in_thirds(rng: random.Random, relation: Relation) -> Pair:
    p, where, column = predicate(rng, relation), _condition(rng, relation), rng.choice(relation.groups)
    parts = " UNION ALL ".join(_thirds(f"SELECT DISTINCT {column} AS q FROM {relation.name}", p, where))
    return _pair(
        f"SELECT COUNT(DISTINCT {column}) FROM {relation.name} WHERE {where}",
        f"SELECT COUNT(DISTINCT q) FROM ({parts}) AS parts",
    )


def aggregates_in_thirds(rng: random.Random, relation: Relation) -> Pair:
    p, where = predicate(rng, relation), _condition(rng, relation)
    groups, aggregates = _groups(rng, relation), _aggregates(rng, relation)
    parts = [_grouped(groups, aggregates, part) for part in _thirds(relation.name, p, where)]
    return _pair(_grouped(groups, aggregates, f"{relation.name} WHERE {where}"), _combined(groups, aggregates, parts))


def averages_in_thirds(rng: random.Random, relation: Relation) -> Pair:
    p, where, average = predicate(rng, relation), _condition(rng, relation), rng.choice(relation.averages)
    group = rng.choice(relation.groups)
    parts = " UNION ALL ".join(
        f"SELECT {group}, CAST(SUM({average.column}) AS DOUBLE) AS s, {average.count} AS n FROM {part} GROUP BY {group}"
        for part in _thirds(relation.name, p, where)
    )
    return _pair(
        f"SELECT {group}, AVG({average.column}) FROM {relation.name} WHERE {where} GROUP BY {group}",
        f"SELECT {group}, SUM(s) / NULLIF(SUM(n), 0) FROM ({parts}) AS parts GROUP BY {group}",
        keys=1,
    )


def having_in_thirds(rng: random.Random, relation: Relation) -> Pair:
    where, aggregates = _condition(rng, relation), _aggregates(rng, relation)
    groups = rng.sample(relation.groups, rng.choice((1, 2)))
    number = rng.choice([each.text for each in relation.aggregates if each.combined_by == "SUM"])
    p = f"({number} {rng.choice(('>', '<=', '<>'))} {rng.choice((0, 1, 5, 40))})"
    whole = _grouped(groups, aggregates, f"{relation.name} WHERE {where}")
    parts = (f"{whole} HAVING {part}" for part in (p, f"NOT {p}", f"{p} IS NULL"))
    return _pair(whole, " UNION ALL ".join(parts))


# -- forms with one meaning -------------------------------------------------------------------------------------------


def membership(rng: random.Random, relation: Relation) -> Pair:
    """IN, EXISTS, a semi-join, and a join with the distinct values."""
    where, aggregates, group = _condition(rng, relation), _aggregates(rng, relation), rng.choice(relation.groups)
    key = rng.choice(("k", "d"))
    q = rng.choice(("TRUE", "label IS NOT NULL", "label > 'c'"))
    name = relation.name
    qualified = where.replace(f"{relation.time} ", f"r.{relation.time} ") if relation.time else where
    others, distinct = (f"(SELECT {how}{key} AS o_key FROM names WHERE {q}) AS o" for how in ("", "DISTINCT "))
    sources = [
        f"{name} AS r WHERE {where} AND {key} IN (SELECT {key} FROM names WHERE {q})",
        f"{name} AS r WHERE {where} AND EXISTS (SELECT 1 FROM names AS o WHERE o.{key} = r.{key} AND {q})",
        f"{name} AS r LEFT SEMI JOIN {others} ON r.{key} = o.o_key WHERE {qualified}",
        f"{name} AS r JOIN {distinct} ON o.o_key = r.{key} WHERE {qualified}",
    ]
    forms = [_grouped([group], aggregates, source) for source in sources]
    left, right = rng.sample(forms, 2)
    return _pair(left, right)


def absence(rng: random.Random, relation: Relation) -> Pair:
    """NOT IN, NOT EXISTS with the NULLs of NOT IN, and NOT EXISTS against an anti-join."""
    where, aggregates, key = _condition(rng, relation), _aggregates(rng, relation), rng.choice(("k", "d"))
    name, q = relation.name, rng.choice((f"{key} IS NOT NULL", "label > 'c'"))
    listed = f"{key} IN (SELECT {key} FROM names WHERE {q})"
    if rng.random() < 0.5:
        forms = (f"NOT {listed}", f"CASE WHEN {listed} THEN FALSE WHEN NOT {listed} THEN TRUE ELSE FALSE END")
        left, right = (_grouped([], aggregates, f"{name} AS r WHERE {where} AND {form}") for form in forms)
        return _pair(left, right)
    absent = f"NOT EXISTS (SELECT 1 FROM names AS o WHERE o.{key} = r.{key} AND {q.replace(key, f'o.{key}')})"
    others = f"(SELECT {key} AS o_key FROM names WHERE {q}) AS o"
    return _pair(
        _grouped([], aggregates, f"{name} AS r WHERE {where} AND {absent}"),
        _grouped([], aggregates, f"{name} AS r LEFT ANTI JOIN {others} ON r.{key} = o.o_key WHERE {where}"),
    )


def spelled_ranges(rng: random.Random, relation: Relation) -> Pair:
    """A range by two comparisons, BETWEEN, time_range_in, and negations."""
    ends = _range(rng, relation)
    assert ends is not None
    low, high = ends
    t = relation.time
    before = datetime.fromisoformat(high) - timedelta(microseconds=1)
    forms = [
        f"{t} >= '{low}' AND {t} < '{high}'",
        f"'{low}' <= {t} AND '{high}' > {t}",
        f"{t} BETWEEN '{low}' AND '{before}'",
        f"{t} BETWEEN '{low}' AND '{high}' AND {t} <> '{high}'",
        f"NOT ({t} < '{low}' OR {t} >= '{high}')",
        f"{t} >= TIMESTAMP '{low}' AND NOT {t} >= TIMESTAMP '{high}'",
        f"{t} >= CAST('{low}' AS TIMESTAMP) AND {t} < '{high}' AND {t} IS NOT NULL",
    ]
    if relation.counter == "n":
        forms.append(f"time_range_in({t}, '{low}', '{high}')")
    if low[11:] == high[11:] == "":
        forms.append(f"to_date({t}) >= '{low}' AND to_date({t}) < DATE '{high}'")
        forms.append(f"date_trunc('DAY', {t}) BETWEEN '{low}' AND TIMESTAMP '{high}' - INTERVAL 1 DAY")
    groups, aggregates = _groups(rng, relation), _aggregates(rng, relation)
    left, right = (_grouped(groups, aggregates, f"{relation.name} WHERE {form}") for form in rng.sample(forms, 2))
    return _pair(left, right)


def named_queries(rng: random.Random, relation: Relation) -> Pair:
    """A view, a subquery, and a CTE."""
    view, text = rng.choice(relation.views)
    where, p = _condition(rng, relation), predicate(rng, relation, 1)
    groups, aggregates = _groups(rng, relation), _aggregates(rng, relation)
    rest = f"WHERE {where} AND {p}"
    forms = [
        _grouped(groups, aggregates, f"{view} {rest}"),
        _grouped(groups, aggregates, f"({text}) AS q {rest}"),
        f"WITH q AS ({text}) {_grouped(groups, aggregates, f'q {rest}')}",
    ]
    left, right = rng.sample(forms, 2)
    return _pair(left, right)


def nested_units(rng: random.Random, relation: Relation) -> Pair:
    """Groups of a unit of time, and the sums of its finer units."""
    inner, outer, outer_of_inner = rng.choice(relation.units)
    where, aggregates = _condition(rng, relation), _aggregates(rng, relation)
    t = relation.time
    columns = ", ".join(f"{aggregate.text} AS a{i}" for i, aggregate in enumerate(aggregates))
    fine = f"SELECT {inner.format(t)} AS u, {columns} FROM {relation.name} WHERE {where} GROUP BY {inner.format(t)}"
    by = outer_of_inner.format("u")
    combined = ", ".join(f"{each.combined_by}(a{i})" for i, each in enumerate(aggregates))
    return _pair(
        f"SELECT {outer.format(t)} AS u, {columns} FROM {relation.name} WHERE {where} GROUP BY {outer.format(t)}",
        f"SELECT {by} AS u, {combined} FROM ({fine}) AS fine GROUP BY {by}",
    )


def averages(rng: random.Random, relation: Relation) -> Pair:
    """AVG, and a sum divided by the number of values."""
    where, p, average = _condition(rng, relation), predicate(rng, relation, 1), rng.choice(relation.averages)
    group = rng.choice(relation.groups)
    rest = f"FROM {relation.name} WHERE {where} AND {p} GROUP BY {group}"
    return _pair(
        f"SELECT {group}, AVG({average.column}) {rest}",
        f"SELECT {group}, CAST(SUM({average.column}) AS DOUBLE) / NULLIF({average.count}, 0) {rest}",
        keys=1,
    )


def exchanged_joins(rng: random.Random, relation: Relation) -> Pair:
    """A join, and the same with its sides exchanged."""
    ends, key = _range(rng, relation), rng.choice(("k", "d"))
    where = f"r.{relation.time} >= '{ends[0]}' AND r.{relation.time} < '{ends[1]}'" if ends else "TRUE"
    value = next(each for each in ("x", "d") if f"SUM({each})" in {each.text for each in relation.aggregates})
    columns = f"label, SUM(r.{value}) AS s, COUNT(*) AS n"
    on = rng.choice((f"r.{key} = o.{key}", f"r.{key} = o.{key} AND o.label IS NOT NULL", f"r.{key} <=> o.{key}"))
    source, other = f"{relation.name} AS r", "names AS o"
    left, right = rng.choice((("JOIN", "JOIN"), ("INNER JOIN", "CROSS JOIN"), ("LEFT JOIN", "RIGHT JOIN")))
    if right == "CROSS JOIN":
        return _pair(
            f"SELECT {columns} FROM {source} {left} {other} ON {on} WHERE {where} GROUP BY label",
            f"SELECT {columns} FROM {other} {right} {source} WHERE {where} AND {on} GROUP BY label",
        )
    return _pair(
        f"SELECT {columns} FROM {source} {left} {other} ON {on} WHERE {where} GROUP BY label",
        f"SELECT {columns} FROM {other} {right} {source} ON {on} WHERE {where} GROUP BY label",
    )


def inlined_functions(rng: random.Random, relation: Relation) -> Pair:
    """Calls of SQL functions, and their bodies."""
    where, aggregates = _condition(rng, relation), _aggregates(rng, relation)
    step = rng.choice((2, 10))
    call, body = rng.choice(
        (
            (f"band(d, {step})", f"CAST(floor(d / {step}) AS INT)"),
            (f"band(step => {step}, a => d)", f"CAST(floor(d / {step}) AS INT)"),
            ("either(k, upper(k))", "COALESCE(k, upper(k), 'none')"),
        )
    )
    condition = rng.choice((("is_ours(k)", "k IN ('UA', 'b ')"), ("NOT is_ours(k)", "NOT k IN ('UA', 'b ')")))
    columns = ", ".join(f"{aggregate.text} AS a{i}" for i, aggregate in enumerate(aggregates))
    sources = (relation.name, relation.name)
    if relation.views and rng.random() < 0.5:
        sources = f"rows_of_{relation.name}('UA')", f"(SELECT * FROM {relation.name} WHERE k = 'UA') AS r"
    left, right = (
        f"SELECT {value} AS q, {columns} FROM {source} WHERE {where} AND {kept} GROUP BY {value}"
        for source, value, kept in zip(sources, (call, body), condition, strict=True)
    )
    return _pair(left, right)


def divided_ranges(rng: random.Random, relation: Relation) -> Pair:
    """A range, and the two ranges at both sides of an instant."""
    low, middle, high = sorted(rng.sample(range(len(relation.bounds)), 3))
    ends = [relation.bounds[i] for i in (low, middle, high)]
    groups, aggregates = _groups(rng, relation), _aggregates(rng, relation)
    t = relation.time

    def over(first: str, end: str) -> str:
        return f"{relation.name} WHERE {t} >= '{first}' AND {t} < '{end}'"

    if rng.random() < 0.3:
        columns = ", ".join([*rng.sample(relation.groups, 2), *relation.values])
        kept = rng.choice((columns, "*"))
        halves = f"SELECT {kept} FROM {over(ends[0], ends[1])} UNION ALL SELECT {kept} FROM {over(ends[1], ends[2])}"
        return _pair(f"SELECT {columns} FROM {over(ends[0], ends[2])}", f"SELECT {columns} FROM ({halves}) AS halves")
    parts = [_grouped(groups, aggregates, over(*part)) for part in (ends[:2], ends[1:])]
    return _pair(_grouped(groups, aggregates, over(ends[0], ends[2])), _combined(groups, aggregates, parts))


def kept_queries(rng: random.Random, relation: Relation) -> Pair:
    """A query that the session has kept, with other parameters each time, and its text in a new session."""
    groups, aggregates = _groups(rng, relation), _aggregates(rng, relation)
    number, ends = rng.choice((0, 1, 2, -3)), _range(rng, relation)
    times = f" AND {relation.time} >= {{}} AND {relation.time} < {{}}" if ends else ""
    text = _grouped(groups, aggregates, f"{relation.name} WHERE d >= {{}}{times}")
    literals = (str(number), *(f"'{end}'" for end in ends or ()))
    is_fresh = rng.random() < 0.02
    right = Query(text.format(*literals) + f" /* {rng.randrange(10**9)} */", fresh=is_fresh)
    return Pair(Query(text.format(*("?" for _ in literals)), (number, *(ends or ()))), right)


def base_periods(rng: random.Random, relation: Relation) -> Pair:
    """A query over any periods, and over the base alone."""
    where, p = _condition(rng, relation), predicate(rng, relation, 1)
    text = _grouped(_groups(rng, relation), _aggregates(rng, relation), f"{relation.name} WHERE {where} AND {p}")
    return Pair(Query(text), Query(text, base=True))


def same_rows(rng: random.Random, relation: Relation) -> Pair:
    """A query over a table, and the same over a cube or a table with the same events."""
    where, p = _condition(rng, relation), predicate(rng, relation)
    groups, aggregates = _groups(rng, relation), _aggregates(rng, relation)
    left, right = (
        _grouped(groups, aggregates, f"{name} WHERE {where} AND {p}") for name in (relation.name, relation.twin)
    )
    return _pair(left, right)


#: Kinds for all relations, for those with a time, for cubes, and for relations with a twin.
ALWAYS: tuple[Maker, ...] = (
    filtered_count, rows_in_thirds, distinct_in_thirds, distinct_counts_in_thirds, aggregates_in_thirds,
    averages_in_thirds, having_in_thirds, membership, absence, named_queries, averages, exchanged_joins,
    inlined_functions, kept_queries,
)  # fmt: skip
OF_TIME: tuple[Maker, ...] = (spelled_ranges, nested_units, divided_ranges)
OF_CUBES: tuple[Maker, ...] = (base_periods,)
OF_TWINS: tuple[Maker, ...] = (same_rows,)


def makers(relation: Relation) -> tuple[Maker, ...]:
    """Returns the kinds of pairs that a relation has. Those that need more than one relation come three times."""
    return (
        *ALWAYS,
        *(OF_TIME if relation.time else ()),
        *(OF_CUBES * 3 if relation.base else ()),
        *(OF_TWINS * 3 if relation.twin else ()),
    )
