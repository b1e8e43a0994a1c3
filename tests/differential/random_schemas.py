"""Random schemas.

Some storage tables are partitioned by a dimension, too, with COMPLETE WITH. Some rollups are TRUSTED. Some facts have
weeks beside months, and some are valid for a part of the time. Some second facts begin with a coarser period than the
first and have the same events. Some facts have only weeks. Some partitions name their time by dates, numbers or several
columns. Some cubes have a second time, some a time zone. Some facts have further rollups over fewer columns.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date
from decimal import Decimal

from rewriter.timeline.periods import UpdatePeriod

from .naming import TYPED_FORMS
from .periods import MINUTE, Period, midnight, period
from .schemas import DECIMAL, VALUES, Column, CubeSchema, Division, FactSchema, Narrow, Schema

P = UpdatePeriod
_Stretch = tuple[UpdatePeriod, str, int, tuple[UpdatePeriod, ...]]
#: Base period, start of the stretch, its length, and the periods of which rollups are drawn.
_STRETCHES: tuple[_Stretch, ...] = (
    (P.DAILY, "2012-12-01", 95, (P.MONTHLY, P.QUARTERLY)),
    (P.DAILY, "2012-01-31", 32, (P.MONTHLY,)),
    (P.DAILY, "2012-02-28", 35, (P.MONTHLY,)),
    (P.HOURLY, "2013-01-30", 75, (P.DAILY, P.MONTHLY)),
    (P.HOURLY, "2013-02-27", 50, (P.DAILY,)),
    (P.MONTHLY, "2011-12-01", 26, (P.QUARTERLY, P.YEARLY)),
    (P.MINUTELY, "2013-01-31", 130, (P.HOURLY, P.DAILY)),
)
#: Only weeks, over ends of months and of a year.
_WEEKS: tuple[_Stretch, ...] = ((P.WEEKLY, "2012-11-26", 14, ()), (P.WEEKLY, "2013-01-28", 9, ()))
#: Stretches in which the clocks of a zone change, or that do not consist of hours of UTC.
_ZONES: tuple[tuple[str, _Stretch], ...] = (
    ("America/New_York", (P.DAILY, "2012-10-20", 70, (P.MONTHLY, P.QUARTERLY))),
    ("America/New_York", (P.HOURLY, "2013-03-08", 74, (P.DAILY, P.MONTHLY))),
    ("America/New_York", (P.MONTHLY, "2011-12-01", 26, (P.QUARTERLY, P.YEARLY))),
    ("America/New_York", (P.WEEKLY, "2012-10-01", 14, ())),
    ("Europe/London", (P.HOURLY, "2013-03-30", 75, (P.DAILY, P.MONTHLY))),
    ("America/Sao_Paulo", (P.HOURLY, "2012-10-20", 60, (P.DAILY,))),
    ("America/Havana", (P.HOURLY, "2012-11-03", 60, (P.DAILY,))),
    ("Asia/Tokyo", (P.HOURLY, "2013-01-30", 75, (P.DAILY, P.MONTHLY))),
    ("Asia/Kolkata", (P.DAILY, "2012-12-20", 60, (P.MONTHLY,))),
    ("Australia/Lord_Howe", (P.DAILY, "2013-03-20", 45, (P.MONTHLY,))),
)
#: How often a cube has only weeks, a zone, or a second time; and how often a fact has names other than texts, or weeks
#: as a rollup of another fact's days.
WEEKS, ZONED, TWICE, TYPED, COARSE_WEEKS = 0.08, 0.2, 0.2, 0.35, 0.15
#: How often a fact has rollups over fewer columns.
NARROW = 0.4
#: Whether a cube may have both a zone and a second time.
ZONED_TWICE = False
_DIMENSIONS = ("carrier", "origin", "größe", "two words", "Kind")
_TIMES = ("departed", "t", "time of day")


def forked_rng(rng: random.Random) -> random.Random:
    """Returns another random generator. The state of ``rng`` determines it and is not changed."""
    return random.Random(repr(rng.getstate()))


def random_schema(rng: random.Random, *, mixed: bool = True, numeric: bool = False) -> Schema:
    """Returns a random schema; the same state of ``rng`` makes the same schema.

    Without ``mixed`` it has neither facts with only weeks, nor partition names other than plain texts, nor second
    times, nor zones. With ``numeric`` the first cube has several COUNT measures, a sum of FLOAT, a dimension with two
    zeros, and measures near the limits of their types, which are wider in rollups.
    """
    first = _cube(rng, "flights", "f", rng.choice(("departed", "departed", *_TIMES)), mixed=mixed)
    if numeric:
        first = _with_numbers(forked_rng(rng), first)
    cubes = [first]
    if rng.random() < 0.4:
        second = _cube(rng, "würfel", "w", rng.choice(_TIMES), like=first, mixed=mixed)
        cubes.append(second)
    key = first.dimensions[0]
    lookup = (Column(key.name, key.type), Column("name", "string"), Column("size", "int"))
    keys = [*VALUES[key.type], None, VALUES[key.type][0]]
    rows = tuple((k, rng.choice(VALUES["string"]), rng.choice(VALUES["int"])) for k in keys if rng.random() < 0.8)
    return Schema(tuple(cubes), lookup, rows or ((keys[0], "x", 1),))


def _cube(
    rng: random.Random, name: str, prefix: str, time: str, like: CubeSchema | None = None, *, mixed: bool
) -> CubeSchema:
    other_stretch = forked_rng(rng)
    zone, stretch = "UTC", rng.choice(_STRETCHES)
    if mixed:
        zone, stretch = _stretch(other_stretch, stretch)
    base, coarser = period(stretch[0], zone), tuple(period(kind, zone) for kind in stretch[3])
    start, count = midnight(zone, date.fromisoformat(stretch[1])), stretch[2]
    dimensions = [
        Column(name, rng.choice(("string", "string", "int", "bigint", "date", "boolean")), not_null=rng.random() < 0.2)
        for name in rng.sample(_DIMENSIONS, rng.choice((1, 2, 2, 3, 4)))
    ]
    if like is not None:
        # The two cubes share a dimension, on which they can be joined.
        shared = like.dimensions[0]
        dimensions = [shared, *(dimension for dimension in dimensions if dimension.name != shared.name)]
    columns = (*dimensions, *_measures(rng))
    first = base.ordinal(start)
    names = tuple(column.name for column in columns)
    rollups = [tuple(sorted(rng.sample(coarser, rng.randrange(bool(coarser), len(coarser) + 1)))) for _ in range(2)]
    form = rng.choice(("default", "default", "compact", "split"))
    facts = [_formed(FactSchema(f"{prefix}1", (base, *rollups[0]), names, shared=rng.random() < 0.3), form)]
    if rng.random() < 0.3:
        facts.append(_second_fact(rng, f"{prefix}2", (base, *rollups[1]), columns))
    forked = forked_rng(rng)
    if len(facts) == 1 and len(coarser) == 2 and forked.random() < 0.3:
        facts = _with_coarse_fact(forked, facts[0], coarser, columns)
    elif mixed and len(facts) == 1 and base.kind is P.DAILY and forked_rng(forked_rng(forked)).random() < COARSE_WEEKS:
        facts = _with_coarse_fact(forked, facts[0], (period(P.WEEKLY, zone),), columns)
    weeks = forked_rng(forked)
    facts = [_with_weeks(weeks, fact) for fact in facts]
    divided = (fact if fact.base is not base else _divided(forked, fact, columns) for fact in facts)
    promised = [_promised(forked, fact) for fact in divided]
    bounded = (_bounded(weeks, fact, base.start(first), base.start(first + count)) for fact in promised)
    cube = CubeSchema(name, time, columns, tuple(bounded), first, count)
    if not mixed:
        return cube
    further = forked_rng(weeks)
    if further.random() < TWICE and (zone == "UTC" or ZONED_TWICE):
        cube = _with_second_time(further, cube)
    typed = [_typed(further, fact) if further.random() < TYPED else fact for fact in cube.facts]
    widths = forked_rng(further)
    narrowed = (_narrowed(widths, cube, fact) if widths.random() < NARROW else fact for fact in typed)
    return replace(cube, facts=tuple(narrowed))


def _narrowed(rng: random.Random, cube: CubeSchema, fact: FactSchema) -> FactSchema:
    """Returns the fact with one or two further tables, each of some dimensions and measures."""
    carried = [column for column in cube.carried(fact) if not column.time]
    dimensions = [column.name for column in carried if not column.aggregate]
    measures = [column for column in carried if column.aggregate]
    tables: list[Narrow] = []
    if fact.division(fact.base) and len(fact.periods) == 1:
        return fact
    for number in range(rng.choice((1, 1, 2)) if dimensions and measures else 0):
        # A table that holds the base period is partitioned as the base is.
        period = rng.choice(fact.periods[1 if fact.division(fact.base) else 0 :])
        kept = rng.sample(dimensions, rng.randrange(len(dimensions)))
        chosen = rng.sample(measures, rng.randint(1, len(measures)))
        counters = [column.counted_by for column in chosen if column.counted_by]
        names = {*kept, *(column.name for column in chosen), *counters}
        columns = tuple(column.name for column in carried if column.name in names)
        tables.append(Narrow(f"{fact.name}_narrow{number}", period, columns))
    return replace(fact, narrow=tuple(tables))


def _with_numbers(rng: random.Random, cube: CubeSchema) -> CubeSchema:
    """Returns the cube with only its first fact, which has its base rows: sums of FLOAT are FLOAT in base rows."""
    depth = Column("depth", "double", chosen=(0.0, -0.0, 0.0, -0.0, 0.5, -1.5))
    # 16777216 and the next odd numbers are no FLOAT together.
    tons = Column("tons", "float", "SUM", not_null=rng.random() < 0.5, chosen=(16777216.0, 1.0, 3.0, 0.5, 0.0))
    limits = (2**31 - 1, 1 - 2**31, 2**31 - 2, 0)
    largest = tuple(map(Decimal, ("99999999.99", "-99999999.99", "99999999.98", "0.01")))
    wide = (
        Column("tall", "int", "SUM", not_null=rng.random() < 0.5, chosen=limits, rollup="bigint"),
        Column("exact", DECIMAL, "SUM", chosen=largest, rollup="decimal(20,2)"),
        Column("lowest", "int", "MIN", chosen=limits, rollup="bigint"),
        Column("highest", DECIMAL, "MAX", chosen=largest, rollup="decimal(38,2)"),
    )
    counters = rng.choice(
        (
            (Column("starts", "bigint", "COUNT"), Column("events", "bigint", "COUNT", events=True)),
            (Column("starts", "bigint", "COUNT"), Column("paid", "bigint", "SUM", counted_by="starts", not_null=True)),
            (Column("starts", "bigint", "COUNT"), Column("paid", "bigint", "SUM", counted_by="starts")),
            (
                Column("starts", "bigint", "COUNT"),
                Column("paid", "bigint", "SUM", counted_by="starts"),
                Column("events", "int", "COUNT", events=True, not_null=True),
            ),
        )
    )
    replaced = ("flights", "departures", "delay")
    kept = [column for column in cube.columns if column.name not in replaced]
    columns = (*(c for c in kept if not c.aggregate), depth, *counters, tons, *wide, *(c for c in kept if c.aggregate))
    names = tuple(column.name for column in columns)
    fact = replace(cube.facts[0], columns=names, partial=False, merged=False, shared=False)
    return replace(cube, columns=columns, facts=(fact,))


def _stretch(rng: random.Random, usual: _Stretch) -> tuple[str, _Stretch]:
    """Returns a zone and a stretch: the usual one in UTC, or another."""
    kind = rng.random()
    if kind < ZONED:
        return rng.choice(_ZONES)
    return "UTC", rng.choice(_WEEKS) if kind < ZONED + WEEKS else usual


def _formed(fact: FactSchema, form: str) -> FactSchema:
    """Returns the fact with texts over two columns or without separators, if the base has the form and a table of its
    own.
    """
    by_form = {"split": (P.HOURLY, "dt string yyyy-MM-dd; hr string HH"), "compact": (P.DAILY, "dt string yyyyMMdd")}
    forms = [by_form[form]] if form in by_form and not fact.shared else []
    return replace(
        fact, forms=tuple((period, text) for kind, text in forms for period in fact.periods if period.kind is kind)
    )


def _typed(rng: random.Random, fact: FactSchema) -> FactSchema:
    """Returns the fact with most periods named by dates, numbers, several columns, or fields in another order."""

    def forms(periods: tuple[Period, ...]) -> tuple[tuple[Period, str], ...]:
        return tuple((period, rng.choice(_typed_forms(period))) for period in periods if rng.random() < 0.85)

    if not fact.shared:
        # A second time that is not a plain text needs a case for each base period, and minutes would need too many.
        second = fact.periods if fact.base.kind > P.MINUTELY else ()
        return replace(fact, forms=forms(fact.periods), second_forms=forms(second))
    if {P.WEEKLY, P.MONTHLY} <= {period.kind for period in fact.periods}:
        # As numbers of six digits they would be the same.
        return fact
    return replace(fact, forms=tuple((period, "dt bigint") for period in fact.periods))


def _typed_forms(period: Period) -> list[str]:
    """Returns the forms of a period. No TIMESTAMP names a zone's days, because it is undefined whether it would be an
    instant.
    """
    instants = period.zone == "UTC" or period.kind < P.DAILY
    return [form for form in TYPED_FORMS[period.kind] if instants or "timestamp" not in form]


def _with_second_time(rng: random.Random, cube: CubeSchema) -> CubeSchema:
    """Lets the first fact, and perhaps others, name a second time. Some of their rollups do not."""
    second = Column("seen", "timestamp", time=True)
    facts = []
    for fact in cube.facts:
        if facts and rng.random() < 0.4:
            facts.append(fact)
            continue
        naming = [period for period in fact.periods if period is fact.base or fact.shared or rng.random() < 0.8]
        # It takes the place of a dimension: only in what does not divide a table by one is it added.
        divisions = tuple((period, Division(second, ())) for period in naming)
        facts.append(replace(fact, columns=(*fact.columns, second.name), divisions=divisions))
    return replace(cube, columns=(*cube.columns, second), facts=tuple(facts))


def _with_weeks(rng: random.Random, fact: FactSchema) -> FactSchema:
    """Sometimes adds weeks to a fact, which overlap its months."""
    if fact.base.kind >= P.WEEKLY or rng.random() > 0.2:
        return fact
    return replace(fact, periods=tuple(sorted((*fact.periods, period(P.WEEKLY, fact.base.zone)))))


def _bounded(rng: random.Random, fact: FactSchema, start: int, end: int) -> FactSchema:
    """Limits some facts to a part of the stretch. The bounds may lie inside periods."""
    if rng.random() > 0.12:
        return fact
    first, last = sorted(rng.randrange(start, end) // MINUTE * MINUTE for _ in range(2))
    if rng.random() < 0.7:
        first, last = fact.base.floor(first), fact.base.ceil(last)
    bounds = (None if rng.random() < 0.4 else first, None if rng.random() < 0.4 else last)
    return fact if first >= last else replace(fact, window=bounds)


def _divided(rng: random.Random, fact: FactSchema, columns: tuple[Column, ...]) -> FactSchema:
    """Sometimes partitions some tables of a fact by one of its dimensions, too."""
    candidates = [c for c in columns if not c.aggregate and c.name in fact.columns]
    if not candidates or rng.random() > 0.3:
        return fact
    column = rng.choice(candidates)
    # An empty text is no value of a partition.
    values = [value for value in VALUES[column.type] if value != ""]
    chosen = tuple(rng.sample(values, rng.choice((1, 2)))) if rng.random() < 0.6 else ()
    if fact.shared:
        periods = fact.periods
    else:
        periods = tuple(period for period in fact.periods if rng.random() < 0.6) or fact.periods[:1]
    return replace(fact, divisions=tuple((period, Division(column, chosen)) for period in periods))


def _promised(rng: random.Random, fact: FactSchema) -> FactSchema:
    """Sometimes declares the rollups of a fact, or some of them, TRUSTED."""
    if rng.random() > 0.25:
        return fact
    rollups = fact.periods[1:]
    if not rollups:
        return fact
    return replace(fact, trusted=rollups if fact.shared else tuple(rng.sample(rollups, rng.randint(1, len(rollups)))))


def _second_fact(rng: random.Random, name: str, periods: tuple[Period, ...], columns: tuple[Column, ...]) -> FactSchema:
    """Returns a fact of the same base period that lacks some columns."""
    fact = FactSchema(name, periods, _some(rng, columns), partial=True, weight=rng.randrange(-2, 3))
    return replace(fact, shared=rng.random() < 0.3, weight=max(0, fact.weight), merged=rng.random() < 0.5)


def _some(rng: random.Random, columns: tuple[Column, ...]) -> tuple[str, ...]:
    """Returns the names of some columns, with those that count for them."""
    needed = {column.counted_by for column in columns}
    kept = tuple(c.name for c in columns if c.name in needed or c.aggregate == "COUNT" or rng.random() < 0.7)
    return kept or (columns[0].name,)


def _with_coarse_fact(
    rng: random.Random, first: FactSchema, periods: tuple[Period, ...], columns: tuple[Column, ...]
) -> list[FactSchema]:
    """Returns the fact, and another fact with all columns and a coarser base period. Only the other may carry some of
    them.
    """
    name, weight = f"{first.name[:-1]}2", rng.randrange(2)
    second = FactSchema(name, periods, first.columns, shared=rng.random() < 0.3, weight=weight)
    if rng.random() < 0.5:
        first = replace(first, columns=_some(rng, columns), partial=True)
    return [first, replace(second, merged=rng.random() < 0.5)]


def _measures(rng: random.Random) -> list[Column]:
    """Returns one to five measures. Most schemas have one that counts events, some an average."""
    measures: list[Column] = []
    if rng.random() < 0.7:
        measures.append(
            Column("flights", rng.choice(("bigint", "bigint", "int")), "COUNT", not_null=rng.random() < 0.5)
        )
    if rng.random() < 0.5:
        measures.append(Column("departures", "bigint", "COUNT", not_null=True))
        measures.append(Column("delay", rng.choice(("double", "bigint")), "SUM", counted_by="departures"))
    kinds = (
        ("distance", "SUM", ("bigint", "bigint", "int", "double", DECIMAL)),
        ("seats", "SUM", ("bigint", "double")),
        ("worst", "MAX", ("double", "int", "date", "string", DECIMAL)),
        ("best", "MIN", ("bigint", "double", "string")),
    )
    for name, aggregate, types in rng.sample(kinds, rng.randrange(1, 5)):
        measures.append(Column(name, rng.choice(types), aggregate, not_null=rng.random() < 0.4))
    return measures[:6]
