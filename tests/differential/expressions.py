"""Random expressions over the columns of a FROM clause: dimensions, time, predicates and aggregates."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from rewriter.timeline.periods import UpdatePeriod

from .queries import ZONE_COLUMNS, Expr
from .schemas import DECIMAL, VALUES, Column, CubeSchema, literal, quoted

P = UpdatePeriod
NUMBERS = ("int", "bigint", "double", DECIMAL, "number")
#: Types whose products with a coefficient are the same before and after the sum.
_LINEAR = ("bigint", "double")


@dataclass(frozen=True)
class Offered:
    """A column of a FROM clause.

    ``role`` is ``dimension``, ``measure``, ``time`` or ``value`` (of another relation). ``units`` are those in which it
    uses a cube's time. A time is that of ``cube``, and ``second`` if it is not the leading one.
    """

    name: str
    qualifier: str
    text: str
    type: str
    role: str
    measure: Column | None = None
    units: frozenset[P] = frozenset()
    cube: CubeSchema | None = None
    second: bool = False

    @property
    def zone(self) -> str:
        return self.cube.zone if self.cube else "UTC"

    def hidden(self, name: str) -> str:
        """Returns a hidden column of the same relation in the meaning."""
        return f"{quoted(self.qualifier)}.{name}"

    @property
    def expr(self) -> Expr:
        measure, time = self.role == "measure", self.role == "time"
        return Expr(self.type, (self.text,), units=self.units, raw=time, rows=measure)


@dataclass(frozen=True)
class Scope:
    """All columns of a FROM clause. ``weight`` is the text of its only cube's weight column (``""`` without one).
    ``counted`` is True if the cube has a measure that counts events.
    """

    columns: tuple[Offered, ...]
    weight: str = ""
    counted: bool = False

    def of(self, *roles: str) -> list[Offered]:
        return [column for column in self.columns if column.role in roles]

    @property
    def free(self) -> list[Offered]:
        """The columns that may be used anywhere."""
        return self.of("dimension", "value")


def build_expr(type_: str, *parts: str | Expr, rows: bool | None = None, aggregate: bool = False) -> Expr:
    """Returns an expression of these parts, which uses time as they do. ``rows`` overrides that of the parts."""
    inner = [part for part in parts if isinstance(part, Expr)]
    return Expr(
        type_,
        parts,
        units=frozenset(unit for part in inner for unit in part.units),
        raw=any(part.raw for part in inner),
        rows=any(part.rows for part in inner) if rows is None else rows,
        aggregate=aggregate or any(part.aggregate for part in inner),
    )


# -- single values ----------------------------------------------------------------------------------------------------

_TIME_FUNCTIONS: tuple[tuple[str, str, UpdatePeriod | None], ...] = (
    *2 * (("date_trunc('day', {t})", "timestamp", P.DAILY), ("date_trunc('MONTH', {t})", "timestamp", P.MONTHLY)),
    *2 * (("CAST({t} AS DATE)", "date", P.DAILY), ("year({t})", "int", P.YEARLY)),
    ("date_trunc('hour', {t})", "timestamp", P.HOURLY),
    ("date_trunc('quarter', {t})", "timestamp", P.QUARTERLY),
    ("date_trunc('year', {t})", "timestamp", P.YEARLY),
    ("date_trunc('week', {t})", "timestamp", P.WEEKLY),
    ("to_date({t})", "date", P.DAILY),
    ("year(to_date({t}))", "int", P.YEARLY),
    ("quarter({t})", "int", P.QUARTERLY),
    ("month({t})", "int", P.MONTHLY),
    ("day({t})", "int", P.DAILY),
    ("dayofweek({t})", "int", P.DAILY),
    ("hour({t})", "int", P.HOURLY),
    ("minute({t})", "int", P.MINUTELY),
    ("date_format({t}, 'yyyy-MM')", "string", P.MONTHLY),
    ("trunc({t}, 'MM')", "date", P.MONTHLY),
    ("last_day({t})", "date", P.MONTHLY),
    ("extract(YEAR FROM {t})", "int", P.YEARLY),
    ("{t}", "timestamp", None),
    ("date_add({t}, 1)", "date", None),
)


#: The same in a zone: the query and its meaning.
_ZONED_FUNCTIONS: tuple[tuple[str, str, str, UpdatePeriod | None], ...] = (
    ("date_trunc('day', {t})", "{rw_day}", "timestamp", P.DAILY),
    ("date_trunc('MONTH', {t})", "{rw_month}", "timestamp", P.MONTHLY),
    *2 * (("CAST({t} AS DATE)", "CAST({rw_wall} AS DATE)", "date", P.DAILY),),
    *2 * (("year({t})", "year({rw_wall})", "int", P.YEARLY),),
    ("date_trunc('hour', {t})", "{rw_hour}", "timestamp", P.HOURLY),
    ("date_trunc('quarter', {t})", "{rw_quarter}", "timestamp", P.QUARTERLY),
    ("date_trunc('year', {t})", "{rw_year}", "timestamp", P.YEARLY),
    ("date_trunc('week', {t})", "{rw_week}", "timestamp", P.WEEKLY),
    *2 * (("to_date({t})", "to_date({rw_wall})", "date", P.DAILY),),
    ("year(to_date({t}))", "year(to_date({rw_wall}))", "int", P.YEARLY),
    ("quarter({t})", "quarter({rw_wall})", "int", P.QUARTERLY),
    *2 * (("month({t})", "month({rw_wall})", "int", P.MONTHLY),),
    ("day({t})", "day({rw_wall})", "int", P.DAILY),
    ("dayofweek({t})", "dayofweek({rw_wall})", "int", P.DAILY),
    ("hour({t})", "hour({rw_wall})", "int", P.HOURLY),
    ("minute({t})", "minute({rw_wall})", "int", P.MINUTELY),
    *2 * (("date_format({t}, 'yyyy-MM')", "date_format({rw_wall}, 'yyyy-MM')", "string", P.MONTHLY),),
    ("trunc({t}, 'MM')", "trunc({rw_wall}, 'MM')", "date", P.MONTHLY),
    ("last_day({t})", "last_day({rw_wall})", "date", P.MONTHLY),
    ("extract(YEAR FROM {t})", "extract(YEAR FROM {rw_wall})", "int", P.YEARLY),
    ("{t}", "{t}", "timestamp", None),
    ("date_add({t}, 1)", "date_add({rw_wall}, 1)", "date", None),
)


def time_function(rng: random.Random, column: Offered, only: str = "") -> Expr:
    """Returns a function of time whose text contains ``only``."""
    if column.zone != "UTC":
        asked, means, type_, unit = rng.choice([function for function in _ZONED_FUNCTIONS if only in function[0]])
        plain = means.format(t=column.text, **{name: column.hidden(name) for name in ZONE_COLUMNS})
        units = frozenset([unit] if unit else ())
        return Expr(type_, (asked.format(t=column.text),), (plain,), units=units, raw=unit is None)
    text, type_, unit = rng.choice([function for function in _TIME_FUNCTIONS if only in function[0]])
    return Expr(type_, (text.format(t=column.text),), units=frozenset([unit] if unit else ()), raw=unit is None)


def value(rng: random.Random, scope: Scope, time: str = "") -> Expr:
    """Returns a value to group by: of dimensions, of other relations' columns, or of time (by functions that contain
    ``time``).
    """
    times = scope.of("time")
    if not scope.free or (times and (time or rng.random() < 0.35)):
        return time_function(rng, rng.choice(times), time) if times else Expr("int", ("(1 + 0)",))
    column = rng.choice(scope.free)
    if rng.random() < 0.6:
        return column.expr
    return _changed(rng, scope, column)


def _changed(rng: random.Random, scope: Scope, column: Offered) -> Expr:
    c = column.expr
    general = (
        build_expr("string", "CASE WHEN ", predicate(rng, scope), " THEN 'yes' ELSE 'no' END"),
        build_expr("boolean", c, " IS NULL"),
        build_expr(c.type, "coalesce(", c, ", ", some_literal(rng, c.type), ")"),
    )
    special: dict[str, tuple[Expr, ...]] = {
        "string": (
            build_expr("string", "upper(", c, ")"),
            build_expr("int", "length(", c, ")"),
            build_expr("string", "concat(", c, ", '-', ", c, ")"),
            build_expr("string", "substring(", c, ", 1, 1)"),
        ),
        "int": (build_expr("int", c, " + 1"), build_expr("int", c, " % 3"), build_expr("int", "abs(", c, ")")),
        "bigint": (build_expr("bigint", c, " % 7"), build_expr("bigint", "-", c)),
        "date": (build_expr("int", "year(", c, ")"), build_expr("date", "date_add(", c, ", 1)")),
        "boolean": (build_expr("boolean", "NOT ", c),),
    }
    if column.role == "dimension":
        # The two zeros are distinct.
        special["double"] = (build_expr("string", "CAST(", c, " AS STRING)", rows=True),)
    return rng.choice((*general, *special.get(c.type, ()), *special.get(c.type, ())))


def some_literal(rng: random.Random, type_: str) -> Expr:
    """Returns a literal of a type."""
    if type_ == "timestamp":
        return Expr(type_, ("TIMESTAMP '2013-01-31 00:00:00'",))
    if type_ not in VALUES:
        return Expr(type_, (str(rng.choice((0, 1, 20))),))
    chosen = rng.choice(VALUES[type_])
    if isinstance(chosen, str) and rng.random() < 0.2:
        return Expr(type_, (f'"{chosen}"',))
    return Expr(type_, (literal(chosen, type_),))


def predicate(rng: random.Random, scope: Scope, depth: int = 0) -> Expr:
    """Returns a condition on dimensions and other relations' columns."""
    if not scope.free:
        return Expr("boolean", (rng.choice(("1 = 1", "'a' <> 'b'")),))
    if depth < 2 and rng.random() < 0.2:
        word = rng.choice((" AND ", " OR "))
        return build_expr("boolean", "(", predicate(rng, scope, depth + 1), word, predicate(rng, scope, depth + 1), ")")
    if depth < 2 and rng.random() < 0.1:
        return build_expr("boolean", "NOT (", predicate(rng, scope, depth + 1), ")")
    return condition(rng, rng.choice(scope.free).expr)


def condition(rng: random.Random, c: Expr) -> Expr:
    """Returns a comparison of one value."""
    first, second = some_literal(rng, c.type), some_literal(rng, c.type)
    forms = [
        build_expr("boolean", c, " = ", first),
        build_expr("boolean", c, " <> ", first),
        build_expr("boolean", c, " IS NOT NULL"),
        build_expr("boolean", c, " IN (", first, ", ", second, ")"),
        build_expr("boolean", c, " <=> ", first),
    ]
    if c.type != "boolean":
        forms += [build_expr("boolean", c, " > ", first), build_expr("boolean", c, " BETWEEN ", first, " AND ", second)]
    if c.type == "string":
        forms += [build_expr("boolean", c, " LIKE 'U%'"), build_expr("boolean", "lower(", c, ") = 'ua'")]
    return rng.choice(forms)


# -- aggregates -------------------------------------------------------------------------------------------------------


def aggregate(rng: random.Random, scope: Scope, *, additive: bool, single: Collection[str] = ()) -> Expr:
    """Returns an aggregate. If ``additive``, rollups serve it. Otherwise often only base rows serve it; these
    aggregates are those that ``single`` names, or all.
    """
    base_only = [SINGLE[name] for name in single] or list(SINGLE.values())
    makers = list(_ADDITIVE) if additive else base_only if single else [*_ADDITIVE, *base_only, *base_only]
    for _ in range(20):
        expr = rng.choice(makers)(rng, scope)
        if expr is not None and not (additive and expr.rows):
            return expr
    return counted(scope, "COUNT(*)", None)


def counted(scope: Scope, text: str, argument: Expr | None, test: Expr | None = None) -> Expr:
    """Returns a COUNT and its meaning: the sum of the weights of the rows."""
    filtered: tuple[str | Expr, ...] = (" FILTER (WHERE ", test, ")") if test is not None else ()
    parts: tuple[str | Expr, ...] = (text,) if argument is None else ("COUNT(", argument, ")")
    typed = build_expr("bigint", *parts, *filtered, aggregate=True, rows=not scope.counted)
    if not scope.weight:
        return replace(typed, rows=False)
    weight = f"COALESCE({scope.weight}, 1)"
    inner = (
        (f"SUM({weight})",) if argument is None else ("SUM(CASE WHEN (", argument, f") IS NOT NULL THEN {weight} END)")
    )
    return replace(typed, plain=("COALESCE(", *inner, *filtered, ", 0)"))


def _sum(rng: random.Random, scope: Scope) -> Expr | None:
    measure = _measure(rng, scope, "SUM", "COUNT")
    if measure is None:
        return None
    m, type_ = measure.expr, _sum_type(measure.type)
    forms = [build_expr(type_, "SUM(", m, ")", rows=False, aggregate=True)] * 3
    forms.append(
        build_expr(type_, "sum(CASE WHEN ", predicate(rng, scope), " THEN ", m, " END)", rows=False, aggregate=True)
    )
    forms.append(
        build_expr(type_, "SUM(", m, ") FILTER (WHERE ", predicate(rng, scope), ")", rows=False, aggregate=True)
    )
    if measure.type in _LINEAR:
        factors = [Expr("number", (text,)) for text in ("2", "0.5", "(-1)", "1.5")]
        factors += [column.expr for column in scope.free if column.type == "int"]
        factor = rng.choice(factors)
        forms.append(build_expr("number", "SUM(", m, " * ", factor, ")", rows=False, aggregate=True))
        forms.append(build_expr("number", "SUM(", factor, " * ", m, ")", rows=False, aggregate=True))
        tested = predicate(rng, scope)
        forms.append(
            build_expr(type_, "SUM(CASE WHEN ", tested, " THEN ", m, " ELSE 0 END)", rows=False, aggregate=True)
        )
        forms.append(build_expr(type_, "SUM(-", m, ")", rows=False, aggregate=True))
    return rng.choice(forms)


def _extreme(rng: random.Random, scope: Scope) -> Expr | None:
    measure = _measure(rng, scope, "MIN", "MAX")
    if measure is None or measure.measure is None:
        return None
    return build_expr(measure.type, f"{measure.measure.aggregate}(", measure.expr, ")", rows=False, aggregate=True)


def _count(rng: random.Random, scope: Scope) -> Expr | None:
    kind = rng.randrange(5)
    if kind == 0:
        return counted(scope, "count(1)", None)
    if kind == 1:
        return counted(scope, "COUNT(*)", None, predicate(rng, scope))
    if kind == 2 and scope.free:
        return counted(scope, "", rng.choice(scope.free).expr)
    if kind == 3 and scope.free:
        return counted(scope, "", build_expr("int", "CASE WHEN ", predicate(rng, scope), " THEN 1 END"))
    return counted(scope, "COUNT(*)", None)


def _average(rng: random.Random, scope: Scope) -> Expr | None:
    counters = {column.measure.name: column for column in scope.of("measure") if column.measure is not None}
    averaged = [
        column for column in scope.of("measure") if column.measure is not None and column.measure.counted_by in counters
    ]
    if not averaged:
        return None
    column = rng.choice(averaged)
    counter = counters[column.measure.counted_by if column.measure else ""]
    plain = (f"SUM({column.text}) / NULLIF(SUM({counter.text}), 0)",)
    return replace(build_expr("double", "AVG(", column.expr, ")", rows=False, aggregate=True), plain=("(", *plain, ")"))


def _of_dimension(rng: random.Random, scope: Scope) -> Expr | None:
    if not scope.free:
        return None
    c = rng.choice(scope.free).expr
    if rng.random() < 0.4:
        return build_expr("bigint", "COUNT(DISTINCT ", c, ")", aggregate=True)
    if c.type == "boolean":
        return build_expr("boolean", "MAX(", c, ")", aggregate=True)
    return build_expr(c.type, rng.choice(("MIN(", "MAX(")), c, ")", aggregate=True)


def _of_time(rng: random.Random, scope: Scope) -> Expr | None:
    times = scope.of("time")
    return (
        build_expr("number", "COUNT(DISTINCT ", time_function(rng, rng.choice(times)), ")", aggregate=True)
        if times
        else None
    )


def _several_sure(rng: random.Random, scope: Scope) -> Expr | None:
    """Returns a SUM of several measures, which is additive if none is ever NULL."""
    sure = [
        m for m in scope.of("measure") if m.measure and m.measure.not_null and m.measure.aggregate in ("SUM", "COUNT")
    ]
    sure = [m for m in sure if m.type in _LINEAR]
    if len(sure) < 2:
        return None
    first, second = rng.sample(sure, 2)
    return build_expr("number", "SUM(", first.expr, " + 2 * ", second.expr, ")", rows=False, aggregate=True)


def _combined(rng: random.Random, scope: Scope) -> Expr | None:
    total = _sum(rng, scope)
    if total is None or total.type not in ("bigint", "double"):
        return None
    count = counted(scope, "COUNT(*)", None)
    kind = rng.randrange(3)
    if kind == 0:
        return build_expr("number", total, " + ", count)
    if kind == 1:
        return build_expr("double", total, " / NULLIF(", count, ", 0)")
    return build_expr(total.type, "coalesce(", total, ", 0)")


def _nearly(text: str, *aggregates: str, numbers: bool = False) -> Callable[[random.Random, Scope], Expr | None]:
    """Returns a maker of an aggregate of a measure that depends on single rows."""

    def maker(rng: random.Random, scope: Scope) -> Expr | None:
        measure = _measure(rng, scope, *(aggregates or ("SUM", "COUNT", "MIN", "MAX")))
        if measure is None or (numbers and measure.type not in _LINEAR):
            return None
        before, after = text.split("{m}")
        type_ = measure.type if text.startswith(("MIN", "MAX")) else "number"
        return build_expr(type_, before, measure.expr, after, rows=True, aggregate=True)

    return maker


def _two_measures(rng: random.Random, scope: Scope) -> Expr | None:
    measures = [m for m in scope.of("measure") if m.type in _LINEAR and m.measure]
    unsure = [m for m in measures if m.measure and not m.measure.not_null]
    if len(measures) < 2 or not unsure:
        return None
    first = rng.choice(unsure)
    second = rng.choice([m for m in measures if m is not first])
    return build_expr(
        "number", "SUM(", first.expr, rng.choice((" + ", " + 2 * ", " * ")), second.expr, ")", rows=True, aggregate=True
    )


def _sum_of_dimension(rng: random.Random, scope: Scope) -> Expr | None:
    dimensions = [column for column in scope.of("dimension") if column.type == "int"]
    return (
        build_expr("bigint", "SUM(", rng.choice(dimensions).expr, ")", rows=True, aggregate=True)
        if dimensions
        else None
    )


def _overflowing(rng: random.Random, scope: Scope) -> Expr | None:
    """Returns a product of INT that each row's measure allows and the sum of several rows does not."""
    sums = [
        column
        for column in scope.of("measure")
        if column.measure and column.measure.aggregate == "SUM" and column.type == "int"
    ]
    return (
        build_expr("bigint", "SUM(", rng.choice(sums).expr, " * 300000000)", rows=True, aggregate=True)
        if sums
        else None
    )


def _random(rng: random.Random, scope: Scope) -> Expr | None:
    """Returns a sum with a condition that is not deterministic, though its result is always the same."""
    measure = _measure(rng, scope, "SUM")
    if measure is None:
        return None
    total = build_expr(
        _sum_type(measure.type), "SUM(CASE WHEN rand() < 2 THEN ", measure.expr, " END)", rows=True, aggregate=True
    )
    return replace(total, plain=("SUM(", measure.expr, ")"))


def _sum_by_measure(rng: random.Random, scope: Scope) -> Expr | None:
    """Returns a sum of one measure over rows that another measure selects."""
    added, deciding = _measure(rng, scope, "SUM"), _measure(rng, scope, "SUM", "COUNT", "MIN", "MAX")
    if added is None or deciding is None:
        return None
    text = build_expr(
        _sum_type(added.type), "SUM(CASE WHEN ", condition(rng, deciding.expr), " THEN ", added.expr, " END)"
    )
    filtered = build_expr(
        _sum_type(added.type), "SUM(", added.expr, ") FILTER (WHERE ", condition(rng, deciding.expr), ")"
    )
    return replace(rng.choice((text, filtered)), rows=True, aggregate=True)


Maker = Callable[[random.Random, Scope], Expr | None]
_ADDITIVE: tuple[Maker, ...] = (
    _sum, _sum, _sum, _extreme, _extreme, _count, _count, _count, _average, _average, _of_dimension, _of_time,
    _several_sure, _combined,
)  # fmt: skip
#: Aggregates that only base rows serve, by the reason.
SINGLE: Mapping[str, Maker] = {
    "plus_one": _nearly("SUM({m} + 1)", "SUM", "COUNT", numbers=True),
    "modulo": _nearly("SUM({m} % 5)", "SUM", numbers=True),
    "absolute": _nearly("SUM(abs({m}))", "SUM", numbers=True),
    "tested": _nearly("SUM(CASE WHEN {m} > 1 THEN 1 ELSE 0 END)", "SUM", "COUNT", numbers=True),
    "of_extreme": _nearly("SUM({m})", "MIN", "MAX", numbers=True),
    "of_dimension": _sum_of_dimension,
    "count": _nearly("COUNT({m})"),
    "minimum": _nearly("MIN({m})", "SUM", "COUNT", "MAX"),
    "maximum": _nearly("MAX({m})", "SUM", "COUNT", "MIN"),
    "average": _nearly("AVG({m})", "MIN", "MAX", "COUNT", numbers=True),
    "distinct_sum": _nearly("SUM(DISTINCT {m})", "SUM", numbers=True),
    "distinct_count": _nearly("COUNT(DISTINCT {m})"),
    "two_measures": _two_measures,
    "by_measure": _sum_by_measure,
    "overflow": _overflowing,
    "random": _random,
    # For a cube without a COUNT measure.
    "events": _count,
}


def _measure(rng: random.Random, scope: Scope, *aggregates: str) -> Offered | None:
    measures = [
        column
        for column in scope.of("measure")
        if column.measure is not None and column.measure.aggregate in aggregates
    ]
    return rng.choice(measures) if measures else None


def _sum_type(type_: str) -> str:
    return "double" if type_ in ("double", "float") else "number" if type_ == DECIMAL else "bigint"
