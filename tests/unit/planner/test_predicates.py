"""Ranges read from predicates: proven by evaluation on DuckDB, where a generated predicate and its reading agree on
every bound ± 1 µs, and what must not be read.
"""

from __future__ import annotations

import random
import time

import duckdb
import pytest
import sqlglot

from rewriter.planner.time.constant_folding import Constants
from rewriter.planner.time.time_predicates import Reader, ranges_of
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import parse_instant

from .time_predicates import Words, predicate

NOW = Constants(parse_instant("2013-03-01"), {})
START, END = parse_instant("2011-12-30"), parse_instant("2014-03-01")


def condition(text: str) -> sqlglot.exp.Expr:
    return sqlglot.parse_one(f"SELECT 1 FROM x WHERE {text}", dialect="spark").args["where"].this


def ranges(text: str, constants: Constants = NOW) -> RangeSet | None:
    return ranges_of(condition(text), Reader(lambda column: column.name == "t", constants, lambda call: None))


def check(connection: duckdb.DuckDBPyConnection, seed: int, batches: int, size: int = 50) -> None:
    rng = random.Random(seed)
    for _ in range(batches):
        texts = [predicate(rng, 3, Words.BOTH) for _ in range(size)]
        truths = [Reader(lambda column: True, NOW, lambda call: None).truth(condition(text)) for text in texts]
        instants = {rng.randrange(START, END) for _ in range(60)}
        for truth in truths:
            assert truth is not None
            edges = {edge for stretch in (*truth.true, *truth.false) for edge in (stretch.start, stretch.end)}
            instants |= {edge + d for edge in edges for d in (-1, 0, 1) if MIN_INSTANT < edge < MAX_INSTANT}
        ordered = sorted(instants)
        values = ", ".join(["(NULL)", *(f"({i})" for i in ordered)])
        columns = ", ".join(f"CAST({text} AS BOOLEAN)" for text in texts)
        source = f"(SELECT u, make_timestamp(u) AS t FROM (VALUES {values}) v(u))"
        rows = connection.execute(f"SELECT u, {columns} FROM {source} ORDER BY u NULLS FIRST").fetchall()
        for index, (text, truth) in enumerate(zip(texts, truths, strict=True), start=1):
            assert truth is not None
            assert rows[0][index] is truth.at_null, f"seed {seed}: {text} at a NULL time"
            for row in rows[1:]:
                said = True if truth.true.contains(row[0]) else False if truth.false.contains(row[0]) else None
                assert row[index] is said, f"seed {seed}: {text} at {row[0]}"


def test_predicates_agree_with_evaluation() -> None:
    check(duckdb.connect(), 20130129, 40)


@pytest.mark.long
def test_predicates_agree_with_evaluation_for_long() -> None:
    for seed in range(20):
        check(duckdb.connect(), seed, 100)


@pytest.mark.parametrize(
    "text",
    [
        "t < '2013-02-01' OR carrier = 'UA'", "minute(t) = 3", "t = other", "t < 5", "t < 1.5", "year(t) = 2013.0",
        "t < 'it''s'", "trunc(t, 'DD') < DATE '2013-01-01'", "t LIKE '2013%'", "t IN (SELECT 1)", "month(t) = 3",
        "date_trunc('XX', t) < '2013'", "t < '2013-13-01'", "t < '2013-01-01 25:00'", "t < (SELECT '2013-01-01')",
        "t + INTERVAL 1 MONTH < '2013-02-01'", "add_months(t, 1) < DATE '2013-02-01'",
        "last_day(t) = DATE '2013-02-28'",
        "t BETWEEN SYMMETRIC '2013' AND '2012'", "t < TIMESTAMP '2013-01-01 00:00:00 Europe/Berlin'", "t < '05:06'",
        "t < 'now'", "t < DATE '2013-01-01' + INTERVAL 1 QUARTER", "t < DATE '2013-01-01' + INTERVAL '1 month 2 days'",
        "t < TIMESTAMP_NTZ '2013-01-01 00:00:00+01:00'", "date_format(t, 'yyyy-MM') >= '2013-01'",
        "date_format(t, 'yyyy-MM') = '2013-1'", "date_format(t, 'MM') = '01'", "date_format(t, 'yyyy') = '0005'",
        "CAST(t AS DATE) IN ('2013-01-31 05:00', TIMESTAMP '2013-01-02 00:00:00')", "CAST(t AS STRING) < '2013-1'",
        "coalesce(t, DATE '2013-01-01') < '2014-01-01'", "t + INTERVAL '1' DAY < t", "db.to_date(t) = '2013-01-01'",
        "date_add(t, :n) < '2013-01-01'", "t < DATE '9999-12-31' + INTERVAL 2 DAY", "t < DATE '2013-01-01' - 900000",
        "year(t) < 2147483647 + 1", "datediff(HOUR, t, DATE '2013-01-01') = 0", "t < '2013' '-01'", "t < :missing",
        "date_trunc('month', t) + INTERVAL 1 DAY < '2013-02-01'", "last_day(t) + 1 < DATE '2013-02-01'",
        "date_trunc('week', date_trunc('month', t)) < '2013-02-01'", "year(date_trunc('week', t)) = 2013",
        "to_date(t) + INTERVAL 24 HOUR < '2013-01-31 05:00'", "dateadd(t, 1) = 5", "t", "(t)", "NOT t",
    ],
)  # fmt: skip
def test_what_does_not_reduce_is_no_range(text: str) -> None:
    assert ranges(text) is None


@pytest.mark.parametrize(
    "text",
    ["t IS NULL", "NOT (t IS NOT NULL)", "TRUE", "1 = 1", "t > '2013' OR TRUE", "NOT (t <=> DATE '2013-01-01')",
     "(t > '2013') IS NOT TRUE", "(t > '2013') IS NULL", "t <=> NULL", "isnull(t)", "t > '2013' OR t IS NULL"],
)  # fmt: skip
def test_what_a_null_time_satisfies_is_no_range(text: str) -> None:
    """A set of instants cannot say that the rows of the NULL partition belong, too."""
    assert ranges(text) is None


@pytest.mark.parametrize(
    "text",
    ["t > NULL", "NOT (t > NULL)", "t NOT IN ('2013-01-01', NULL)", "NOT (t BETWEEN NULL AND NULL)", "FALSE", "NULL",
     "t > '2013' AND 1 = 0", "NOT (t < '2013' OR NULL)  AND t >= :none", "t = :none", "NOT (t = CAST(NULL AS DATE))",
     "year(t) > 9999", "year(t) < -5", "date_trunc('day', t) = '2013-01-01 05:00'", "t > '2013' AND t < '2013'"],
)  # fmt: skip
def test_what_is_never_true_is_empty(text: str) -> None:
    assert ranges(text, Constants(0, {"none": None})) == RangeSet.EMPTY


def test_null_leaves_what_is_true_all_the_same() -> None:
    year = RangeSet.of(TimeRange(parse_instant("2013"), parse_instant("2014")))
    assert ranges("t IN ('2013-01-01', NULL) OR year(t) = 2013") == year
    assert ranges("year(t) = 2013 AND t IS NOT NULL") == year
    assert ranges("t IS NOT NULL") == RangeSet.ALL
    # NOT turns FALSE to TRUE, NULL to NULL.
    assert ranges("NOT (year(t) <> 2013 OR NULL)") == RangeSet.EMPTY
    assert ranges("NOT (year(t) <> 2013 AND NULL)") == year
    assert ranges("NOT (t BETWEEN '2014' AND NULL)") == RangeSet.ALL - RangeSet.of(
        TimeRange(parse_instant("2014"), MAX_INSTANT)
    )


def days(*pairs: tuple[str, str]) -> RangeSet:
    return RangeSet(TimeRange(parse_instant(start), parse_instant(end)) for start, end in pairs)


def test_months_within_a_year_are_a_range() -> None:
    february = days(("2013-02", "2013-03"))
    assert ranges("year(t) = 2013 AND month(t) = 2") == february
    assert ranges("month(t) = 2 AND year(t) = 2013") == february
    assert ranges("extract(YEAR FROM t) = 2013 AND date_part('mon', t) = 2") == february
    assert ranges("year(t) = 2013 AND quarter(t) = 1 AND month(t) NOT IN (1, 3)") == february
    assert ranges("(year(t) = 2012 AND month(t) >= 12) OR (year(t) = 2013 AND month(t) < 2)") == days(
        ("2012-12", "2013-02")
    )
    assert ranges("NOT (year(t) = 2013 AND month(t) = 2)") == RangeSet.ALL - february
    assert ranges("year(t) = 2013 AND month(t) <= 2 AND day(t) = 1") == days(
        ("2013-01-01", "2013-01-02"), ("2013-02-01", "2013-02-02")
    )


def test_hours_and_days_within_a_month_are_a_range() -> None:
    hour = days(("2013-02-15T13", "2013-02-15T14"))
    assert ranges("year(t) = 2013 AND month(t) = 2 AND day(t) = 15 AND hour(t) = 13") == hour
    assert ranges("hour(t) = 13 AND day(t) = '15' AND month(t) = '02' AND year(t) = '2013'") == hour
    assert ranges("NOT (hour(t) <> 13 OR day(t) <> 15 OR month(t) <> 2 OR year(t) <> 2013)") == hour
    assert ranges("to_date(t) IN ('2013-02-15', '2013-02-16') AND extract(HOUR FROM t) >= 22") == days(
        ("2013-02-15T22", "2013-02-16"), ("2013-02-16T22", "2013-02-17")
    )


def typed_pattern(call: sqlglot.exp.TimeToStr) -> str | None:
    return "yyyy-MM" if call.text("format") == "%Y-%mstrict" else None


def test_texts_that_sort_like_times_are_ranges() -> None:
    for text, expected in {
        "CAST(t AS STRING) < '2013'": RangeSet.of(TimeRange(MIN_INSTANT, parse_instant("2013"))),
        "CAST(t AS STRING) > '2013-02-15 13:00:00'": RangeSet.of(
            TimeRange(parse_instant("2013-02-15T13") + 1, MAX_INSTANT)
        ),
        "CAST(t AS STRING) = '2013-02'": RangeSet.EMPTY,
        "CAST(to_date(t) AS STRING) BETWEEN '2013-02-15' AND '2013-02-16'": days(("2013-02-15", "2013-02-17")),
        "date_format(t, 'yyyy-MM') BETWEEN '2013-02' AND '2013-03'": days(("2013-02", "2013-04")),
        "date_format(t, 'yyyy-MM') <= '2013-02-15' AND t >= '2013'": days(("2013", "2013-03")),
        "date_format(t, 'yyyy-MM') < '2013' AND t >= '2012'": days(("2012", "2013")),
    }.items():
        reader = Reader(lambda column: column.name == "t", NOW, lambda call: None, pattern_of=typed_pattern)
        assert ranges_of(condition(text), reader) == expected, text


def test_months_without_ends_are_no_range() -> None:
    """Every February there ever was: the row filter stays, and the range is open."""
    for text in ("t >= '2013-01-01' AND month(t) = 2", "month(t) = 2 OR year(t) = 2013", "NOT (month(t) = 2)",
                 "t BETWEEN '2000-01-01' AND '2014-01-01' AND day(t) = 1", "year(t) = 2013 AND month(t) = '2.0'",
                 "year(t) = 2013 AND hour(t) = 5", "NOT (month(t) <> 2 OR carrier <> 'UA')",
                 "year(t) = 2013 AND month(t + INTERVAL 1 DAY) = 2"):  # fmt: skip
        assert ranges(text) is None


def test_the_ends_of_time() -> None:
    assert ranges("t >= '9999-12-31 23:59:59.999999'") == RangeSet.of(TimeRange(MAX_INSTANT - 1, MAX_INSTANT))
    assert ranges("t > '9999-12-31 23:59:59.999999'") == RangeSet.EMPTY
    assert ranges("t < '0001-01-01'") == RangeSet.EMPTY
    assert ranges("t - INTERVAL 1 DAY < '0001-01-01'") == RangeSet.of(
        TimeRange(MIN_INSTANT, parse_instant("0001-01-02"))
    )
    assert ranges("t + INTERVAL 1 DAY > '9999-12-31'") == RangeSet.of(
        TimeRange(parse_instant("9999-12-30") + 1, MAX_INSTANT)
    )
    assert ranges("year(t + INTERVAL 1 DAY) = 10000") == RangeSet.of(
        TimeRange(parse_instant("9999-12-31"), MAX_INSTANT)
    )
    assert ranges("date_trunc('year', t) > '9998-06-01'") == RangeSet.of(TimeRange(parse_instant("9999"), MAX_INSTANT))
    assert ranges("year(t) >= -2147483647") == RangeSet.ALL


def test_parameters() -> None:
    for value, expected in {"2013-02-01": "2013-02-01", "2013-02-01T05:06": "2013-02-01T05:06"}.items():
        constants = Constants(0, {"p": value, "yes": True, "n": 3})
        wanted = RangeSet.of(TimeRange(parse_instant(expected), MAX_INSTANT))
        assert ranges("t >= :p AND :yes", constants) == wanted
        assert ranges("NOT (t < :p) OR NOT :yes", constants) == wanted
        assert ranges("date_add(t, :n) >= date_add(:p, :n)", constants) == RangeSet.of(
            TimeRange(parse_instant("2013-02-01"), MAX_INSTANT)
        )


def test_long_conditions_are_quick_and_shallow() -> None:
    days = [f"'{1900 + i // 336}-{i // 28 % 12 + 1:02d}-{i % 28 + 1:02d}'" for i in range(3000)]
    started = time.perf_counter()
    chain = ranges(" OR ".join(f"to_date(t) = {day}" for day in days))
    listed = ranges(f"to_date(t) IN ({', '.join(days)})")
    negated = ranges(" AND ".join(f"NOT (to_date(t) = {day})" for day in days))
    assert time.perf_counter() - started < 20
    assert chain == listed
    assert chain is not None
    assert negated == RangeSet.ALL - chain


def test_constants_fold_as_in_spark() -> None:
    """By the present and by a parameter; all other forms are proven on Spark itself."""
    constants = Constants(parse_instant("2013-03-31T06:30:15"), {"p": "x", "n": 2})
    for text, expected in {
        "current_timestamp() - INTERVAL 1 MONTH": "2013-02-28T06:30:15", "current_date - INTERVAL 1 DAY": "2013-03-30",
        "date_trunc('week', now())": "2013-03-25", "current_date() - 7": "2013-03-24", "curdate() + :n": "2013-04-02",
        "now() - INTERVAL '1 day 2 hours'": "2013-03-30T04:30:15", "last_day(current_date)": "2013-03-31",
        "CAST('2013' AS TIMESTAMP)": "2013-01-01", "-(-3) + current_date": "2013-04-03",
    }.items():  # fmt: skip
        folded = constants.fold(sqlglot.parse_one(f"SELECT {text}", dialect="spark").expressions[0])
        assert folded is not None, text
        assert folded.number == parse_instant(expected), text
    for text in (
        "rand()", "1.5", "INTERVAL '1 25' DAY TO HOUR", "INTERVAL '1-12' YEAR TO MONTH", "CAST('x' AS DATE)", "x + 1",
        "INTERVAL 1.5 DAY", "INTERVAL '7'", "INTERVAL ''", "INTERVAL '1 fortnight'",
        "INTERVAL 1 DAY + INTERVAL 1 MONTH",
        "DATE '2013-01-01' + 1.5", "make_date(2013, 2, 30)", "make_date(0, 1, 1)",
        "make_timestamp(2013, 1, 1, 0, 0, 60)",
        "to_date('2013-1-5', 'yyyy-MM-dd')", "to_date('05.01.2013', 'dd.MM.yyyy')", "unix_timestamp()",
        "localtimestamp()",
        "db.make_date(2013, 1, 1)", "2147483647 + 1", "INTERVAL 1 DAY - DATE '2013-01-01'",
        "trunc('2013-05-05', 'day')",
    ):  # fmt: skip
        assert constants.fold(sqlglot.parse_one(f"SELECT {text}", dialect="spark").expressions[0]) is None, text
