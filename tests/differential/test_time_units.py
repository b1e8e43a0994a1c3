"""Each classification of a function of time, proven by evaluation on Spark: over random instants f(t) equals f(start of
t's unit) for the unit that is claimed, and for no coarser one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine
from rewriter.exec.spark_functions import function_groups
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.time.granularity import used_unit
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.time_bounds import parse_instant
from tests.unit.planner.time_predicates import chain

P = UpdatePeriod

#: Expressions and the unit they depend on; ``None`` is raw use.
UNITS: dict[str, UpdatePeriod | None] = {
    "t": None,
    **{f"date_trunc('{u}', t)": P.YEARLY for u in ("YEAR", "yyyy", "YY")},
    "date_trunc('quarter', t)": P.QUARTERLY,
    **{f"date_trunc('{u}', t)": P.MONTHLY for u in ("MONTH", "mm", "MON")},
    "date_trunc('week', t)": P.WEEKLY,
    "date_trunc('day', t)": P.DAILY, "date_trunc('DD', t)": P.DAILY,
    "date_trunc('hour', t)": P.HOURLY, "date_trunc('minute', t)": P.MINUTELY,
    **{f"date_trunc('{u}', t)": None for u in ("second", "millisecond", "microsecond")},
    "trunc(t, 'YEAR')": P.YEARLY, "trunc(t, 'QUARTER')": P.QUARTERLY, "trunc(t, 'MM')": P.MONTHLY,
    "trunc(t, 'WEEK')": P.WEEKLY,
    "year(t)": P.YEARLY, "quarter(t)": P.QUARTERLY, "month(t)": P.MONTHLY, "monthname(t)": P.MONTHLY,
    "weekofyear(t)": P.WEEKLY, "day(t)": P.DAILY, "dayofmonth(t)": P.DAILY, "dayofweek(t)": P.DAILY,
    "dayofyear(t)": P.DAILY, "weekday(t)": P.DAILY, "dayname(t)": P.DAILY, "hour(t)": P.HOURLY,
    "minute(t)": P.MINUTELY, "second(t)": None,
    **{f"extract({f} FROM t)": P.YEARLY for f in ("YEAR", "Y", "YEARS", "YR", "YRS")},
    **{f"extract({f} FROM t)": P.QUARTERLY for f in ("QUARTER", "QTR")},
    **{f"extract({f} FROM t)": P.MONTHLY for f in ("MONTH", "MON", "MONS", "MONTHS")},
    **{f"extract({f} FROM t)": P.WEEKLY for f in ("YEAROFWEEK", "WEEK", "W", "WEEKS")},
    **{f"extract({f} FROM t)": P.DAILY
       for f in ("DAY", "D", "DAYS", "DAYOFWEEK", "DOW", "DAYOFWEEK_ISO", "DOW_ISO", "DOY")},
    **{f"extract({f} FROM t)": P.HOURLY for f in ("HOUR", "H", "HOURS", "HR", "HRS")},
    **{f"extract({f} FROM t)": P.MINUTELY for f in ("MINUTE", "M", "MIN", "MINS", "MINUTES")},
    **{f"extract({f} FROM t)": None for f in ("SECOND", "S", "SEC", "SECONDS", "SECS")},
    "date_part('year', t)": P.YEARLY, "date_part('yearofweek', t)": P.WEEKLY, "datepart('dow', t)": P.DAILY,
    "date_part('SECONDS', t)": None, "datepart('MINS', t)": P.MINUTELY,
    **{f"date_format(t, '{p}')": P.YEARLY for p in ("y", "yy", "yyyy", "G")},
    **{f"date_format(t, '{p}')": P.QUARTERLY for p in ("yyyy-Q", "QQQ", "q")},
    **{f"date_format(t, '{p}')": P.MONTHLY for p in ("yyyy-MM", "M", "MMM yyyy", "MMMM", "LLLL", "yyyyMM")},
    **{f"date_format(t, '{p}')": P.DAILY
       for p in ("yyyy-MM-dd", "d", "D", "DDD", "E", "EEEE", "F", "dd.MM.yyyy")},
    "date_format(t, \"yyyy-MM-dd'T'\")": P.DAILY, "date_format(t, \"yyyy 'of our lord, smhd'\")": P.YEARLY,
    **{f"date_format(t, '{p}')": P.HOURLY for p in ("yyyy-MM-dd HH", "H", "hh a", "k", "K", "a h")},
    **{f"date_format(t, '{p}')": P.MINUTELY for p in ("HH:mm", "yyyyMMddHHmm", "m")},
    **{f"date_format(t, '{p}')": None
       for p in ("HH:mm:ss", "s", "SSS", "SSSSSS", "yyyy.S", "z", "VV", "O", "X", "x", "Z")},
    "to_date(t)": P.DAILY, "to_date(t, 'yyyy')": P.DAILY, "date(t)": P.DAILY, "CAST(t AS DATE)": P.DAILY,
    "t::date": P.DAILY, "TRY_CAST(t AS DATE)": P.DAILY,
    "CAST(t AS STRING)": None, "CAST(t AS BIGINT)": None, "CAST(t AS DOUBLE)": None, "string(t)": None,
    "CAST(t AS TIMESTAMP)": None, "CAST(t AS TIMESTAMP_NTZ)": None,
    "to_timestamp(t)": None, "to_timestamp_ntz(t)": None, "to_timestamp_ltz(t)": None,
    "year(to_timestamp(t))": P.YEARLY, "try_to_timestamp(t)": None, "try_to_date(t)": None,
    "last_day(t)": P.MONTHLY, "add_months(t, 1)": P.DAILY, "date_add(t, 3)": P.DAILY, "date_sub(t, 3)": P.DAILY,
    "dateadd(t, 3)": P.DAILY, "dateadd(DAY, 1, t)": None, "timestampadd(MONTH, 1, t)": None,
    "date_add(HOUR, 1, t)": None,
    "next_day(t, 'TU')": P.DAILY, "next_day(t, 'MON')": P.DAILY,
    "datediff(t, DATE '2013-01-01')": P.DAILY, "date_diff(DATE '2013-01-01', t)": P.DAILY,
    "datediff(DAY, t, TIMESTAMP '2013-01-01 05:00:00')": None,
    "datediff(MONTH, t, TIMESTAMP '2013-01-01 05:00:00')": None,
    "timestampdiff(MONTH, t, TIMESTAMP '2013-01-01 05:00:00')": None,
    "months_between(t, DATE '2013-01-01')": None,
    "unix_date(to_date(t))": P.DAILY, "date_from_unix_date(unix_date(to_date(t)))": P.DAILY,
    "unix_timestamp(t)": None, "to_unix_timestamp(t)": None, "unix_seconds(t)": None, "unix_millis(t)": None,
    "unix_micros(t)": None, "from_unixtime(unix_timestamp(t), 'yyyy')": None,
    "timestamp_seconds(unix_seconds(t))": None, "timestamp_millis(unix_millis(t))": None,
    "timestamp_micros(unix_micros(t))": None,
    "from_utc_timestamp(t, 'Asia/Kolkata')": None, "to_utc_timestamp(t, 'Asia/Tokyo')": None,
    "date_trunc('hour', from_utc_timestamp(t, 'Asia/Kolkata'))": None,
    "convert_timezone('UTC', 'Asia/Kolkata', CAST(t AS TIMESTAMP_NTZ))": None,
    "to_char(t, 'yyyy')": None, "to_varchar(t, 'yyyy')": None,
    "time_bucket(INTERVAL '1' DAY, t)": P.DAILY, "time_bucket(INTERVAL '7' DAY, t)": P.DAILY,
    "time_bucket(INTERVAL '6' HOUR, t)": P.HOURLY, "time_bucket(INTERVAL '15' MINUTE, t)": P.MINUTELY,
    "time_bucket(INTERVAL '30' SECOND, t)": None, "time_bucket(INTERVAL '1' MONTH, t)": P.MONTHLY,
    "time_bucket(INTERVAL '3' MONTH, t)": P.QUARTERLY, "time_bucket(INTERVAL '1' YEAR, t)": P.YEARLY,
    "time_bucket(INTERVAL '5' MONTH, t)": P.MONTHLY, "time_bucket(INTERVAL '2' YEAR, t)": P.YEARLY,
    "time_bucket(INTERVAL '1' DAY, t, TIMESTAMP '1970-01-01 05:00:00')": None,
    # moved before it is cut
    "t + INTERVAL 1 DAY": None, "t - INTERVAL '1' MONTH": None,
    "date_trunc('day', t + INTERVAL 1 DAY)": P.DAILY, "date_trunc('month', t + INTERVAL 1 DAY)": P.DAILY,
    "date_trunc('day', t - INTERVAL 1 HOUR)": P.HOURLY, "date_trunc('day', t + INTERVAL '90' MINUTE)": P.MINUTELY,
    "date_trunc('day', t + INTERVAL '30' SECOND)": None, "date_trunc('minute', t + INTERVAL '30' SECOND)": None,
    "date_trunc('week', t + INTERVAL 7 DAY)": P.WEEKLY, "date_trunc('week', t + INTERVAL 1 DAY)": P.DAILY,
    "date_trunc('month', t + INTERVAL 7 DAY)": P.DAILY,
    "date_trunc('month', t + INTERVAL 1 MONTH)": P.MONTHLY, "year(t + INTERVAL 1 MONTH)": P.MONTHLY,
    "year(t + INTERVAL 3 MONTH)": P.QUARTERLY, "year(t - INTERVAL 1 YEAR)": P.YEARLY,
    "quarter(t + INTERVAL 1 YEAR)": P.QUARTERLY, "date_trunc('week', t + INTERVAL 1 MONTH)": P.DAILY,
    "hour(t + INTERVAL 1 MONTH)": P.HOURLY, "year(date_add(t, 3))": P.DAILY, "month(add_months(t, 1))": P.MONTHLY,
    "year(add_months(t, 12))": P.YEARLY, "to_date(t) + 1": P.DAILY, "1 + to_date(t)": P.DAILY,
    "year(to_date(t) - 1)": P.DAILY, "to_date(dateadd(HOUR, 24, t))": P.DAILY,
    "year(timestampadd(QUARTER, 1, t))": P.QUARTERLY,
    "to_date(t) + INTERVAL 5 HOUR": P.DAILY, "date_trunc('month', INTERVAL 1 DAY + t)": P.DAILY,
    "to_date(t + INTERVAL 1 MONTH - INTERVAL 1 MONTH)": None, "year(t - INTERVAL 1 DAY + INTERVAL 24 HOUR)": P.YEARLY,
    "date_trunc('month', t) + INTERVAL 1 DAY": P.MONTHLY, "year(date_trunc('month', t) - INTERVAL 1 DAY)": P.MONTHLY,
    "last_day(t) + 1": P.MONTHLY, "month(last_day(t) + 1)": P.MONTHLY, "last_day(t + INTERVAL 1 DAY)": P.DAILY,
    # one in another
    "year(to_date(t))": P.YEARLY, "year(date_trunc('week', t))": P.WEEKLY, "month(date_trunc('week', t))": P.WEEKLY,
    "year(last_day(t))": P.YEARLY, "dayofweek(last_day(t))": P.MONTHLY, "hour(to_date(t))": P.DAILY,
    "day(date_trunc('month', t))": P.MONTHLY, "date_trunc('week', date_trunc('month', t))": P.MONTHLY,
    "year(date_trunc('week', date_trunc('month', t)))": P.MONTHLY, "to_date(date_trunc('month', t))": P.MONTHLY,
    "year(to_date(date_trunc('month', t)))": P.YEARLY, "weekofyear(to_date(t))": P.WEEKLY,
    "date_format(to_date(t), 'yyyy')": P.YEARLY, "date_format(date_trunc('week', t), 'yyyy-MM')": P.WEEKLY,
    "weekofyear(date_trunc('month', t + INTERVAL 7 DAY))": P.DAILY,
    "last_day(date_trunc('year', t))": P.YEARLY, "CAST(CAST(t AS DATE) AS TIMESTAMP)": P.DAILY,
    "year(CAST(concat('2', date_format(t, 'ddM')) AS DATE))": P.DAILY,
    # comparisons
    "t >= DATE '2013-02-01'": P.MONTHLY, "t < '2013-01-01'": P.YEARLY,
    "t < TIMESTAMP '2013-04-01 00:00:00'": P.QUARTERLY,
    "t >= '2013-02-04'": P.WEEKLY, "t >= '2013-02-05'": P.DAILY, "t >= '2013-02-05 06:00'": P.HOURLY,
    "t >= '2013-02-05 06:30'": P.MINUTELY, "t >= '2013-02-05 06:30:01'": None, "t > '2013-02-01'": None,
    "t <= '2013-01-31 23:59:59.999999'": P.MONTHLY, "t = '2013-02-01'": None,
    "t BETWEEN '2013-01-01' AND '2013-03-31 23:59:59.999999'": P.QUARTERLY, "to_date(t) <= '2013-01-31'": P.MONTHLY,
    "to_date(t) IN ('2013-02-05', '2013-02-06')": P.DAILY, "date_trunc('month', t) = '2013-02-01'": P.MONTHLY,
    "CASE WHEN t < '2013-02-01' THEN 1 ELSE 2 END": P.MONTHLY,
    "t < current_date()": None, "year(t) = 2013": P.YEARLY, "t - INTERVAL 1 DAY < '2013-01-31'": P.MONTHLY,
    "t < TIMESTAMP '2013-02-01 00:00:00' + INTERVAL 6 HOUR": P.HOURLY,
}  # fmt: skip
#: One to a query, as Spark has it.
WINDOWS: dict[str, UpdatePeriod | None] = {
    "window(t, '1 day')": P.DAILY, "window(t, '7 days')": P.DAILY, "window(t, '6 hours').start": P.HOURLY,
    "window(t, '15 minutes')": P.MINUTELY, "window(t, '10 seconds')": None,
    "window_time(window(t, '1 hour'))": P.HOURLY,
    "window(t, '1 day', '1 day', '3 hours')": None,
}  # fmt: skip
#: Where the unit that is claimed is not the coarsest: the reason.
LOOSE = {
    "next_day(t, 'MON')": "only a Monday's does not depend on the day",
    "date_format(t, 'z')": "the name of the zone", "date_format(t, 'VV')": "the name of the zone",
    "date_format(t, 'O')": "the name of the zone", "date_format(t, 'X')": "the name of the zone",
    "date_format(t, 'x')": "the name of the zone", "date_format(t, 'Z')": "the name of the zone",
    "from_unixtime(unix_timestamp(t), 'yyyy')": "seconds are not followed",
    "to_char(t, 'yyyy')": "sqlglot keeps no more than the pattern; date_format is the usual way",
    "to_varchar(t, 'yyyy')": "as to_char",
    "date_trunc('hour', from_utc_timestamp(t, 'Asia/Kolkata'))": "zones are not followed",
    "try_to_date(t)": "to_date is the usual way", "hour(to_date(t))": "always 0",
    "day(date_trunc('month', t))": "always 1",
    "datediff(MONTH, t, TIMESTAMP '2013-01-01 05:00:00')": "whole units from a moment of the day are not followed",
    "datediff(DAY, t, TIMESTAMP '2013-01-01 05:00:00')": "whole units from a moment of the day are not followed",
    "timestampdiff(MONTH, t, TIMESTAMP '2013-01-01 05:00:00')": "whole units from a moment of the day are not followed",
    "time_bucket(INTERVAL '1' DAY, t, TIMESTAMP '1970-01-01 05:00:00')": "origins are not followed",
    "window(t, '1 day', '1 day', '3 hours')": "origins are not followed",
    "to_date(t + INTERVAL 1 MONTH - INTERVAL 1 MONTH)": "months are not summed",
    "t < current_date()": "the present is no literal",
}  # fmt: skip
#: Functions of Spark's group datetime_funcs that read no timestamp, or none that a cube's time can be.
NO_TIMESTAMP = set(
    """
    curdate current_date current_time current_timestamp current_timezone localtime localtimestamp now
    make_date make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz
    make_ym_interval try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz
    time_diff time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds
    time_trunc to_time try_to_time timestamp_nanos unix_nanos session_window
    """.split()
)


def unit_of(text: str) -> UpdatePeriod | None:
    tree = sqlglot.parse_one(f"SELECT {text}", dialect="spark")
    columns = list(tree.find_all(exp.Column))
    assert len(columns) == 1, text
    return used_unit(columns[0])[0]


EDGES = (
    "2012-02-29",
    "2012-12-31",
    "2013-01-31",
    "2013-02-01",
    "2013-02-01T06",
    "2013-02-05T06:30",
    "2013-02-05T06:30:01",
)


def instants(rng: random.Random, count: int) -> list[int]:
    """Random instants of a few years, and of all years, before 1970 and leap days included."""
    near = [rng.randrange(parse_instant("2011-12-01"), parse_instant("2015-03-01")) for _ in range(count)]
    far = [rng.randrange(parse_instant("1582-10-16"), parse_instant("2400-01-01")) for _ in range(count // 4)]
    edges = [parse_instant(text) for text in EDGES]
    return near + far + [edge + d for edge in edges for d in (-1, 0, 1, 3_600_000_000)]


def evaluated(spark: SparkEngine, moments: Sequence[int], expressions: Sequence[str]) -> list[list[Any]]:
    """The values of the expressions, each as a list over the moments."""
    rows = ", ".join(f"({i}, {moment}L)" for i, moment in enumerate(moments))
    columns = ", ".join(f"{text} AS c{i}" for i, text in enumerate(expressions))
    sql = f"SELECT i, {columns} FROM (SELECT i, timestamp_micros(us) AS t FROM VALUES {rows} v(i, us)) ORDER BY i"
    table = spark.execute(EngineQuery(sql)).read_all()
    assert table.num_rows == len(moments)
    return [column.to_pylist() for column in table.columns[1:]]


def test_the_claimed_units() -> None:
    wrong = {text: (unit_of(text), unit) for text, unit in {**UNITS, **WINDOWS}.items() if unit_of(text) is not unit}
    assert not wrong


def test_units_by_evaluation(spark: SparkEngine) -> None:
    moments = instants(random.Random(20130129), 300)
    floors = [moment if unit is None else unit.floor(moment) for unit in (None, *P) for moment in moments]
    batches = [list(UNITS), *([text] for text in WINDOWS)]
    for batch in batches:
        for text, values in zip(batch, evaluated(spark, floors, batch), strict=True):
            unit = unit_of(text)
            base, *cut = (values[at : at + len(moments)] for at in range(0, len(values), len(moments)))
            agreeing = {period for period, column in zip(P, cut, strict=True) if column == base}
            if unit is not None:
                assert unit in agreeing, f"{text} is no function of its {unit.name}"
            if text not in LOOSE:
                coarser = {
                    period for period in agreeing if unit is None or (unit.nests_in(period) and period is not unit)
                }
                assert not coarser, f"{text} is {unit}, but depends on {coarser} alone"


VALUES = (
    "{}", "year({})", "quarter({})", "month({})", "weekofyear({})", "dayofweek({})", "day({})", "hour({})",
    "minute({})",
    "date_format({}, 'yyyy-MM')", "date_format({}, 'D k')", "extract(YEAROFWEEK FROM {})", "next_day({}, 'SU')",
    "{} < '2013-02-04'", "{} >= '2013-01-01'", "time_bucket(INTERVAL '3' MONTH, CAST({} AS TIMESTAMP))",
)  # fmt: skip


def check_chains(spark: SparkEngine, seed: int, count: int) -> None:
    """Functions in functions: f(t) = f(start of t's unit), whatever the chain."""
    rng = random.Random(seed)
    texts = [rng.choice(VALUES).format(chain(rng)) for _ in range(count)]
    claimed = [(text, unit) for text in texts if (unit := unit_of(text)) is not None]
    moments = instants(rng, 120)
    floors = moments + [unit.floor(moment) for unit in P for moment in moments]
    for at in range(0, len(claimed), 50):
        batch = claimed[at : at + 50]
        for (text, unit), values in zip(batch, evaluated(spark, floors, [text for text, _ in batch]), strict=True):
            start = len(moments) * (1 + list(P).index(unit))
            assert values[: len(moments)] == values[start : start + len(moments)], f"seed {seed}: {text} by {unit.name}"
    assert len(claimed) > count * 0.6


def test_chains_by_evaluation(spark: SparkEngine) -> None:
    check_chains(spark, 20130129, 150)


@pytest.mark.long
def test_chains_by_evaluation_for_long(spark: SparkEngine) -> None:
    for seed in range(10):
        check_chains(spark, seed, 600)


def test_every_function_of_time_is_classified() -> None:
    tried = {name.lower() for text in {**UNITS, **WINDOWS} for name in re.findall(r"(\w+)\s*\(", text)}
    unclassified = {name for name, group in function_groups().items() if group == "datetime_funcs"}
    assert unclassified - tried - NO_TIMESTAMP == set()


def test_no_function_of_spark_is_new(spark: SparkEngine) -> None:
    """A new version of Spark fails here: classify what it brings, then write the list anew."""
    shown = spark.execute(EngineQuery("SHOW FUNCTIONS")).read_all().column(0).to_pylist()
    assert set(shown) == set(function_groups())


#: Deterministic groups, but for what is named in UNSAFE. Operators are no functions here.
SCALAR_GROUPS = {
    f"{group}_funcs"
    for group in ("predicate", "math", "bitwise", "datetime", "string", "conditional", "conversion", "collection",
                  "hash", "json", "csv", "xml", "variant", "map", "struct", "url", "array")
}  # fmt: skip
SCALAR_TOO = set(
    "hmac aes_decrypt try_aes_decrypt typeof bitmap_bit_position bitmap_bucket_number bitmap_count "
    "theta_sketch_estimate theta_union theta_intersection theta_difference".split()
)
UNSAFE = set(
    """
    rand randn random uniform randstr shuffle current_time current_timezone localtime localtimestamp session_window
    json_tuple schema_of_variant_agg
    """.split()
)
#: Pinned by the planner where they are written.
PINNED = {"curdate", "current_date", "current_timestamp", "now"}
#: Operators by name: what they parse into is safe, whatever it is.
OPERATORS = {"and", "or", "not", "in", "like", "ilike", "rlike", "between", "when", "case", "cast", "div"}


def parsed(name: str) -> list[exp.Expr]:
    """The calls of a function with none to seven arguments, as far as they parse."""
    calls = []
    for count in range(8):
        try:
            calls.append(sqlglot.parse_one(f"SELECT {name}({', '.join('abcdefg'[:count])})", dialect="spark"))
        except (sqlglot.errors.SqlglotError, ValueError, IndexError):
            continue
    return [tree.expressions[0] for tree in calls]


def scalar_calls(name: str) -> list[bool]:
    return [all(is_scalar(node) for node in call.walk()) for call in parsed(name)]


def test_scalars_are_sparks_deterministic_functions() -> None:
    for name, group in function_groups().items():
        if not name[0].isalpha() or name in PINNED | OPERATORS:
            continue
        calls = scalar_calls(name)
        if (group in SCALAR_GROUPS or name in SCALAR_TOO) and name not in UNSAFE:
            assert any(calls), f"{name} is deterministic"
        elif group != "lambda_funcs":  # no lambda is a scalar: see test_what_is_no_scalar
            assert not any(calls), f"{name} ({group}) must not pass for a function of single values"


def test_what_is_no_scalar() -> None:
    for text in (
        "unix_timestamp()", "localtimestamp()", "transform(a, x -> x + 1)", "array_sort(a, (x, y) -> x - y)",
        "exists(a, x -> x > 1)", "db.weekday(t)", "db.abs(a)", "unheard_of(a)", "window(t, '1 day', '1 hour')",
        "sum(a)", "explode(a)", "input_file_name()", "monotonically_increasing_id()", "java_method('a', 'b')", "uuid()",
        "(SELECT 1)", "current_user()", "session_user()", "version()", "assert_true(a)",
    ):  # fmt: skip
        tree = sqlglot.parse_one(f"SELECT {text}", dialect="spark").expressions[0]
        assert not all(is_scalar(node) for node in tree.walk()), text


def test_functions_of_a_schema_are_not_sparks() -> None:
    for text in ("db.weekday(t)", "db.year(t)", "db.window(t, '1 day')", "db.date_part('year', t)"):
        assert unit_of(text) is None, text


def test_conditions_are_raw_use() -> None:
    """What did not reduce to a range in WHERE or ON is raw, whatever its bounds; FILTER and CASE only compute."""
    for text, unit in {
        "SELECT 1 FROM x WHERE t < '2013-02-01' OR carrier = 'UA'": None,
        "SELECT 1 FROM x JOIN y ON t < '2013-02-01' OR carrier = 'UA'": None,
        "SELECT sum(d) FILTER (WHERE t < '2013-02-01') FROM x": P.MONTHLY,
        "SELECT sum(d) FROM x GROUP BY t < '2013-02-01'": P.MONTHLY,
        "SELECT sum(d) FROM x GROUP BY t < :p": None,
        "SELECT sum(d) FROM x GROUP BY t < now()": None,
    }.items():
        tree = sqlglot.parse_one(text, dialect="spark")
        column = next(column for column in tree.find_all(exp.Column) if column.name == "t")
        assert used_unit(column)[0] is unit, text
