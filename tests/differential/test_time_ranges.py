"""Ranges read from predicates, proven by evaluation on Spark: on random instants, on every bound ± 1 µs and for a NULL
time, a predicate is true, false and NULL exactly where it is read so.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, date, datetime

import pytest
import sqlglot

from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine
from rewriter.planner.time.constant_folding import Constants, as_date, as_timestamp
from rewriter.planner.time.time_predicates import Reader, Truth
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.time_bounds import parse_instant
from tests.unit.planner.time_predicates import PARAMETER_TEXT, SPARK_TEXTS, SPARK_TIMES, TEXTS, TIMES, Words, predicate

PARAMETERS = {"time": datetime(2013, 2, 5, 6, 7, 8, 9, UTC), "day": date(2013, 2, 6), "text": PARAMETER_TEXT}
CONSTANTS = Constants(parse_instant("2013-03-01"), PARAMETERS)
EDGES = ("0001-01-01", "0999-12-31", "1969-12-31", "1970-01-01", "2012-12-31", "2013-01-28", "2013-01-29", "2013-02-01",
         "2013-03-01", "2013-03-04", "2014-01-01", "9999-12-31")  # fmt: skip


def read(text: str) -> Truth | None:
    sql = f"SELECT 1 FROM x WHERE {text}"
    tree = sqlglot.parse_one(sql, dialect="spark").args["where"].this

    def pattern_of(call: sqlglot.exp.TimeToStr) -> str:
        return sql[call.meta["end"] :].split("'", 2)[1]

    return Reader(lambda column: column.name == "t", CONSTANTS, lambda call: None, pattern_of=pattern_of).truth(tree)


def truths(spark: SparkEngine, moments: Sequence[int], predicates: Sequence[str]) -> list[list[bool | None]]:
    """For each predicate its values for a NULL time and then for each of the moments."""
    rows = ", ".join(["(-1, CAST(NULL AS BIGINT))", *(f"({i}, {moment}L)" for i, moment in enumerate(moments))])
    columns = ", ".join(f"CAST({text} AS BOOLEAN) AS c{i}" for i, text in enumerate(predicates))
    sql = f"SELECT i, {columns} FROM (SELECT i, timestamp_micros(us) AS t FROM VALUES {rows} v(i, us)) ORDER BY i"
    table = spark.execute(EngineQuery(sql, parameters=PARAMETERS)).read_all()
    return [column.to_pylist() for column in table.columns[1:]]


def check(spark: SparkEngine, seed: int, batches: int, size: int = 40) -> None:
    rng, reduced = random.Random(seed), 0
    for _ in range(batches):
        texts = [predicate(rng, 2, Words.SPARK) for _ in range(size)]
        understood = [(text, truth) for text in texts if (truth := read(text)) is not None]
        reduced += len(understood)
        edges = {
            edge
            for _, truth in understood
            for stretch in (*truth.true, *truth.false)
            for edge in (stretch.start, stretch.end)
        }
        edges |= {parse_instant(edge) for edge in EDGES}
        moments = {edge + d for edge in edges for d in (-1, 0, 1)}
        moments |= {rng.randrange(parse_instant("2011-12-30"), parse_instant("2014-03-01")) for _ in range(60)}
        moments |= {rng.randrange(MIN_INSTANT, MAX_INSTANT) for _ in range(20)}
        ordered = sorted(moment for moment in moments if MIN_INSTANT <= moment < MAX_INSTANT)
        answers = truths(spark, ordered, [text for text, _ in understood])
        for (text, truth), (at_null, *values) in zip(understood, answers, strict=True):
            said = [
                True if truth.true.contains(moment) else False if truth.false.contains(moment) else None
                for moment in ordered
            ]
            wrong = [case for case in zip(ordered, said, values, strict=True) if case[1] is not case[2]]
            assert not wrong, f"seed {seed}: {text}: (instant, read, Spark's) {wrong[:3]}"
            assert at_null is truth.at_null, f"seed {seed}: {text} at a NULL time"
    assert reduced > 0.6 * batches * size, reduced


def test_ranges_agree_with_spark(spark: SparkEngine) -> None:
    check(spark, 20130129, 8)


@pytest.mark.long
def test_ranges_agree_with_spark_for_long(spark: SparkEngine) -> None:
    for seed in range(10):
        check(spark, seed, 30)


def test_constants_fold_as_in_spark(spark: SparkEngine) -> None:
    """Every constant that the generator uses is folded, and to Spark's value."""
    texts = [*TIMES, *SPARK_TIMES]
    columns = [f"unix_micros(CAST({text} AS TIMESTAMP))" for text in texts]
    strings = [*TEXTS, *SPARK_TEXTS]
    columns += [f"unix_micros(CAST({text} AS TIMESTAMP))" for text in strings]
    columns += [f"unix_micros(CAST(CAST({text} AS DATE) AS TIMESTAMP))" for text in strings]
    sql = "SELECT " + ", ".join(f"{text} AS c{i}" for i, text in enumerate(columns))
    expected = list(spark.execute(EngineQuery(sql, parameters=PARAMETERS)).read_all().to_pylist()[0].values())
    folded = [
        CONSTANTS.fold(sqlglot.parse_one(f"SELECT {text}", dialect="spark").expressions[0]) for text in texts + strings
    ]
    values = [as_timestamp(value) for value in folded] + [
        as_timestamp(as_date(value)) for value in folded[len(texts) :]
    ]
    for column, value, number in zip(columns, values, expected, strict=True):
        assert value is not None, column
        assert value.number == number, column


def test_texts_are_cast_as_in_spark(spark: SparkEngine) -> None:
    """Random texts near the forms of dates and times: what is folded is what Spark casts to, as it is or not at all."""
    rng = random.Random(20130129)
    texts = []
    for _ in range(1500):
        text = rng.choice(
            ["2013-01-05 05:06:07.123456Z", "2013-1-5", "2013-01-05T5:6:7+01:00", "2013-02-28 23:59:59", "2013-1"]
        )
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(text) + 1)
            text = (
                text[:at]
                + rng.choice(["", "0", "9", " ", "-", ":", "T", "Z", ".", "+", "1", "60"])
                + text[at + rng.randrange(2) :]
            )
        texts.append(text)
    rows = ", ".join(f"({i}, '{text}')" for i, text in enumerate(texts))
    sql = f"""SELECT unix_micros(try_cast(s AS TIMESTAMP)), try_multiply(unix_date(try_cast(s AS DATE)), 86400000000L)
              FROM VALUES {rows} v(i, s) ORDER BY i"""
    answers = spark.execute(EngineQuery(sql)).read_all()
    folds = 0
    for text, instant, day in zip(texts, *(column.to_pylist() for column in answers.columns), strict=True):
        constant = CONSTANTS.fold(sqlglot.parse_one(f"SELECT '{text}'", dialect="spark").expressions[0])
        for cast, expected in ((as_timestamp(constant), instant), (as_date(constant), day)):
            folds += cast is not None
            assert cast is None or cast.number == expected, text
    assert folds > 600
