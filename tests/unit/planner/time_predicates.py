"""Random predicates over a time ``t``, in all forms that are read as ranges.

``Words.BOTH`` are understood alike by Spark and, as they stand, by DuckDB; ``Words.SPARK`` are all.
"""

from __future__ import annotations

import random
from enum import Enum, auto


class Words(Enum):
    BOTH = auto()
    SPARK = auto()


TIMES = [
    "TIMESTAMP '2013-02-28 23:59:59.5'", "DATE '2013-03-01'", "DATE '2014-01-01' - INTERVAL 2 MONTH",
    "TIMESTAMP '2013-01-01 00:00:00' + INTERVAL 36 HOUR", "CAST('2012-02-29' AS DATE)",
    "TIMESTAMP '2013-02-01 00:00:00'",
    "TIMESTAMP '2013-01-29 06:00:00'", "DATE '2013-01-28'", "TIMESTAMP '1969-12-31 23:59:59.999999'",
    "date_trunc('month', TIMESTAMP '2013-05-05 05:05:05')", "CAST(DATE '2013-07-01' AS TIMESTAMP)",
]  # fmt: skip
TEXTS = ["'2013-01-29 06:00:00'", "'2013-02-01'", "'2013-12-31'", "'2013-01-29 05:00:00.000001'"]
DATES = ["DATE '2013-02-01'", "DATE '2013-03-04'", "DATE '2013-01-01'", "CAST('2012-12-31' AS DATE)"]
DATE_TEXTS = ["'2013-01-29'", "'2013-02-01'", "'2012-02-29'"]
YEARS = ["2013", "2012", "2014", "2012 + 1", "-5", "2 * 1007 - 1", "20000", "0"]
SHIFTS = ["+ INTERVAL '1' DAY", "- INTERVAL '90' MINUTE", "+ INTERVAL '7' DAY", "- INTERVAL '400' DAY"]

SPARK_TIMES = [
    "DATE '2013-01-31' + INTERVAL '1-2' YEAR TO MONTH", "TIMESTAMP '2013-01-31 05:00:00' + INTERVAL '1 day 2 hours'",
    "DATE '2013-01-31' + 3", "DATE '2013-01-31' - 7", "3 + DATE '2013-01-31'", "date_add(DATE '2013-01-31', 3)",
    "date_sub('2013-01-31 05:00', 3)", "dateadd(MONTH, 1, DATE '2013-01-31')", "add_months(DATE '2013-01-31', 1)",
    "timestampadd(WEEK, -1, '2013-01-31')", "timestampadd(QUARTER, 1, DATE '2013-01-31')", "make_date(2013, 2, 28)",
    "make_timestamp(2013, 2, 3, 4, 5, 6)", "to_timestamp('2013-02-03 5:6:7')", "to_date('2013-1-5')",
    "to_date('20130205', 'yyyyMMdd')", "last_day(TIMESTAMP '2013-02-03 05:00:00')", "trunc(DATE '2013-05-05', 'week')",
    "date_trunc('week', '2013-05-05')", "TIMESTAMP '2013-01-31 05:00:00' - INTERVAL 1 MONTH - INTERVAL 1 DAY",
    "DATE '2013-01-31' + 2 * INTERVAL 3 DAY", "DATE '2013-01-31' - INTERVAL 1 DAY 2 HOURS",
    "DATE '2013-01-31' + INTERVAL '-1 02:03' DAY TO MINUTE",
    "DATE '2013-01-31' + INTERVAL '1 02:03:04.5' DAY TO SECOND",
    "DATE '2013-01-31' - (- INTERVAL 7 DAY)", "TIMESTAMP '2013-01-01 00:00:00+01:00'", "TIMESTAMP '2013-2-1 5:6:7.8 Z'",
    "TIMESTAMP_LTZ '2013-02-01'", "TIMESTAMP_NTZ '2013-02-01 06:00:00'", "DATE '2013-2-1 x'",
    "DATE(TIMESTAMP '2013-02-01 05:00:00')",
    "DATE '2013-01-31' + INTERVAL 1.5 SECOND", "DATE '2013-01-31' + INTERVAL 5 MILLISECONDS",
    "DATE '2013-01-31' + INTERVAL 1 YEAR 2 MONTH", "DATE '2013-01-31' + INTERVAL 24 HOUR",
    "CAST(DATE '2013-01-31' + INTERVAL 5 HOUR AS DATE)", "last_day(DATE '2013-01-31' + INTERVAL 25 HOUR)",
    "DATE '2013-01-31' + (INTERVAL 1 DAY + INTERVAL 2 HOUR)", ":time", ":day",
]  # fmt: skip
SPARK_TEXTS = [
    "'2013'", "'2013-1'", "'2013-1-5'", "' 2013-01-05 '", "'2013-01-05 5'", "'2013-01-05T05:06'",
    "'2013-01-05 05:06:07Z'", "'2013-01-05 05:06:07 +01:00'", "'2013-01-05 5:6:7.123456789'",
    "'2013-01-05 05:06:07-1030'",
    "'2013-01-05 05:06:07+5'", "'2013-01-05 05:06:07 UTC'", ":text",
]  # fmt: skip
#: Texts with some of the fields of a time; the last has a colon.
SORTED_TEXTS = ["'2013'", "'2013-01'", "'2013-02'", "'2013-01-29'", "'2012-02-29'", "'2013-01-29 06'",
                "'2013-01-29 06:00'"]  # fmt: skip
PARAMETER_TEXT = "2013-02-05 06:07:08"

#: Predicates that bound the time, so that months and days within it can be counted.
BOUNDED = (
    "year(t) = 2013", "year(t) IN (2012, 2013)", "t BETWEEN '2012-02-27 05:00' AND '2013-03-02'",
    "(t >= '2013-01-29 06:00' AND t < '2013-03-02')", "CAST(t AS DATE) = DATE '2013-01-31'",
    "(year(t) = 2013 OR t = '2012-02-29')",
    "(year(t) = 2013 AND month(t) < 7)",
)  # fmt: skip


#: Predicates that bound the time so that hours can be counted.
DAYS = (
    "year(t) = 2013 AND month(t) = 2 AND day(t) > 20",
    "CAST(t AS DATE) IN (DATE '2012-02-29', DATE '2013-01-31')",
    "t BETWEEN '2012-02-27 05:00' AND '2012-03-02'",
)


def predicate(rng: random.Random, depth: int, words: Words) -> str:
    """Returns a random predicate."""
    if depth and rng.random() < 0.6:
        kind = rng.choice(["AND", "OR", "AND", "OR", "NOT", "IS"])
        inner = predicate(rng, depth - 1, words)
        if kind == "NOT":
            return f"NOT ({inner})"
        if kind == "IS":
            return f"({inner}) IS {rng.choice(['TRUE', 'FALSE', 'NULL', 'NOT TRUE', 'NOT FALSE', 'NOT NULL'])}"
        return f"({inner} {kind} {predicate(rng, depth - 1, words)})"
    if rng.random() < 0.08:
        return rng.choice(["TRUE", "FALSE", "1 = 0", "1 < 2", "NULL"])
    if rng.random() < 0.1:
        return f"({rng.choice(BOUNDED)} AND {_field(rng)})"
    if rng.random() < 0.03:
        hours = rng.choice(["hour(t)", "extract(HOUR FROM t)"])
        return f"({hours} {rng.choice(['=', '<', '>='])} {rng.randrange(-1, 25)} AND {rng.choice(DAYS)})"
    spark = words is Words.SPARK
    operand, constants = rng.choice(_operands(rng, spark))
    if rng.random() < 0.08:
        constants = [*constants, "NULL"] * 2
    same = "<=>" if spark else "IS NOT DISTINCT FROM"
    negation = rng.choice(["", "", "NOT "])
    if operand == "date_format(t, 'y')":
        return rng.choice(
            [f"{operand} {rng.choice(['=', '<>', same])} {rng.choice(constants)}",
             f"{operand} {negation}IN ({', '.join(rng.choices(constants, k=rng.randrange(1, 4)))})"]
        )  # fmt: skip
    match rng.randrange(6):
        case 0:
            return f"{operand} {negation}BETWEEN {rng.choice(constants)} AND {rng.choice(constants)}"
        case 1:
            return f"{operand} {negation}IN ({', '.join(rng.choices(constants, k=rng.randrange(1, 4)))})"
        case 2:
            return f"{rng.choice(constants)} {rng.choice(['=', '<>', '<', '<=', '>', '>=', same])} {operand}"
        case 3 if rng.random() < 0.3:
            return f"{operand} IS {rng.choice(['', 'NOT '])}NULL"
    return f"{operand} {rng.choice(['=', '<>', '<', '<=', '>', '>=', same])} {rng.choice(constants)}"


def _field(rng: random.Random) -> str:
    """Returns the values that months, quarters or days of the month are compared with, sometimes with a NULL."""
    if rng.random() < 0.2:
        return f"{rng.choice(['', 'NOT '])}({_field(rng)} {rng.choice(['AND', 'OR'])} {_field(rng)})"
    name = rng.choice(["month(t)", "quarter(t)", "day(t)", "dayofmonth(t)", "extract(MONTH FROM t)"])
    name = rng.choice([name, name, "month(CAST(t AS DATE))", "month(date_trunc('day', t))"])
    numbers = [str(rng.choice([*range(-1, 14), 29, 31])) for _ in range(3)]
    numbers += ["NULL"] if rng.random() < 0.1 else []
    negation = rng.choice(["", "NOT "])
    return rng.choice(
        [f"{name} {rng.choice(['=', '<>', '<', '<=', '>', '>='])} {numbers[-1]}", f"{numbers[0]} >= {name}",
         f"{name} {negation}IN ({', '.join(numbers)})", f"{name} {negation}BETWEEN {numbers[0]} AND {numbers[-1]}"]
    )  # fmt: skip


def chain(rng: random.Random) -> str:
    """Returns random nested time-valued functions around t, for Spark."""
    text = "t"
    for _ in range(rng.randrange(1, 5)):
        unit = rng.choice(["year", "quarter", "month", "week", "day", "hour", "minute"])
        count = rng.choice([-40, -12, -7, -3, -1, 1, 2, 3, 6, 12, 24, 30, 90])
        field = rng.choice(["YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"])
        text = rng.choice(
            [
                f"date_trunc('{unit}', {text})", f"date_trunc('{unit}', {text})", f"to_date({text})",
                f"trunc({text}, '{rng.choice(['year', 'quarter', 'month', 'week'])}')", f"CAST({text} AS DATE)",
                f"CAST({text} AS TIMESTAMP)", f"last_day({text})", f"add_months({text}, {count})",
                f"date_add({text}, {count})", f"date_sub({text}, {count})", f"({text} + INTERVAL '{count}' {field})",
                f"({text} - INTERVAL '{count}' {field})", f"timestampadd({field}, {count}, {text})",
                f"(to_date({text}) + {count})", f"timestampadd(QUARTER, {count}, {text})",
            ]
        )  # fmt: skip
    return text


def _operands(rng: random.Random, spark: bool) -> list[tuple[str, list[str]]]:
    unit = rng.choice(["year", "quarter", "month", "week", "day", "hour", "minute"])
    shift = rng.choice(SHIFTS)
    times = [*TIMES, *SPARK_TIMES] if spark else TIMES
    lenient = SPARK_TEXTS if spark else []
    predicates = [
        ("t", [*times, *lenient, *TEXTS]), (f"date_trunc('{unit}', t)", [*times, *lenient]), (f"t {shift}", times),
        ("CAST(t AS DATE)", [*DATES, *DATE_TEXTS]), ("year(t)", YEARS), ("extract(year FROM t)", YEARS),
        (f"year(t {shift})", YEARS), (f"CAST(t {shift} AS DATE)", [*DATES, *DATE_TEXTS]),
        (f"date_trunc('{unit}', t {shift})", times), ("date_trunc('month', date_trunc('day', t))", times),
    ]  # fmt: skip
    if not spark:
        return predicates
    dates = [*times, *DATES, *TEXTS, *SPARK_TEXTS]
    return [
        *predicates,
        ("to_date(t)", dates), ("date_add(t, 3)", [*times, *DATE_TEXTS]), ("to_date(t) + 7", times),
        ("date_sub(to_date(t), 40)", [*times, *DATE_TEXTS]), ("t::date - 1", times),
        ("CAST(t AS DATE) + INTERVAL 24 HOUR", [*times, *DATE_TEXTS, *TEXTS]),
        (f"trunc(t, '{rng.choice(['YEAR', 'quarter', 'MM', 'week'])}')", dates), ("to_timestamp(t)", times),
        ("CAST(CAST(t AS DATE) AS TIMESTAMP)", [*times, *TEXTS]), ("dateadd(HOUR, 30, t)", times),
        ("to_date(date_trunc('month', t))", dates), ("date_part('year', t)", [*YEARS, "'2013'"]),
        ("year(date_add(t, 3))", YEARS), *[(chain(rng), [*dates, *DATE_TEXTS])] * 8, (f"year({chain(rng)})", YEARS),
        ("CAST(t AS TIMESTAMP)", times),
        ("date_format(t, 'y')", ["'2013'", "'2012'"]), ("CAST(t AS STRING)", [*SORTED_TEXTS, "'2013-01-29 06:00:00'"]),
        ("CAST(to_date(t) AS STRING)", SORTED_TEXTS), ("CAST(date_trunc('month', t) AS STRING)", SORTED_TEXTS),
        *[(f"date_format(t, '{pattern}')", SORTED_TEXTS)
          for pattern in ("yyyy", "yyyy-MM", "yyyy-MM-dd", "yyyy-MM-dd HH", "yyyy-MM-dd HH:mm")],
        *[(f"date_format(t, '{pattern}')", [text.replace("-", "").replace(" ", "") for text in SORTED_TEXTS[:-1]])
          for pattern in ("yyyyMM", "yyyyMMdd", "yyyyMMddHH")],
    ]  # fmt: skip
