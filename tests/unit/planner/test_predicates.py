"""Ranges read from predicates, proven by evaluation: a generated predicate and its ranges agree on every boundary ± 1
µs.
"""

from __future__ import annotations

import random

import duckdb
import sqlglot
from sqlglot import exp

from rewriter.planner.constants import Constants
from rewriter.planner.predicates import ranges_of
from rewriter.timeline.bounds import parse_instant
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT

CONSTANTS = [
    "'2013-01-29 06:00'", "'2013-02-01'", "TIMESTAMP '2013-02-28 23:59:59.5'", "DATE '2013-03-01'", "'2013-12-31'",
    "DATE '2014-01-01' - INTERVAL 2 MONTH", "TIMESTAMP '2013-01-01 00:00:00' + INTERVAL 36 HOUR",
    "CAST('2012-02-29' AS DATE)", "TIMESTAMP '2013-02-01 00:00:00'", "'2013-01-29 05:00:00.000001'",
]  # fmt: skip
DATES = ["DATE '2013-02-01'", "'2013-01-29'", "DATE '2013-03-04'", "DATE '2013-01-01'"]


def predicate(rng: random.Random, depth: int) -> str:
    """A random predicate over t, in words that Spark and DuckDB read alike."""
    if depth and rng.random() < 0.6:
        kind = rng.choice(["AND", "OR", "NOT"])
        if kind == "NOT":
            return f"NOT ({predicate(rng, depth - 1)})"
        return f"({predicate(rng, depth - 1)} {kind} {predicate(rng, depth - 1)})"
    operand, constants = rng.choice(
        [
            ("t", CONSTANTS),
            ("CAST(t AS DATE)", DATES),
            (f"date_trunc('{rng.choice(['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute'])}', t)",
             [c for c in CONSTANTS if c.startswith(("TIMESTAMP", "DATE '"))]),
            ("year(t)", ["2013", "2012", "2014"]),
        ]
    )  # fmt: skip
    form = rng.randrange(4)
    if form == 0:
        return f"{operand} BETWEEN {rng.choice(constants)} AND {rng.choice(constants)}"
    if form == 1:
        return f"{operand} IN ({rng.choice(constants)}, {rng.choice(constants)})"
    op = rng.choice(["=", "<>", "<", "<=", ">", ">="])
    if form == 2:
        return f"{rng.choice(constants)} {op} {operand}"
    return f"{operand} {op} {rng.choice(constants)}"


def test_ranges_agree_with_evaluation() -> None:
    rng = random.Random(20130129)
    connection = duckdb.connect()
    constants = Constants(parse_instant("2013-03-01"), {})
    start, end = parse_instant("2011-12-30"), parse_instant("2014-03-01")
    for case in range(400):
        text = predicate(rng, 3)
        tree = sqlglot.parse_one(f"SELECT 1 FROM x WHERE {text}", dialect="spark").args["where"].this
        ranges = ranges_of(tree, lambda column: True, constants, lambda call: None)
        assert ranges is not None, text
        instants = {rng.randrange(start, end) for _ in range(30)}
        for one in ranges:
            instants |= {
                edge + d for edge in (one.start, one.end) if MIN_INSTANT < edge < MAX_INSTANT for d in (-1, 0, 1)
            }
        for edge in (
            "2013-01-01",
            "2013-02-01",
            "2013-01-29T06",
            "2013-03-01",
            "2014-01-01",
            "2013-01-28",
            "2013-03-04",
        ):
            instants |= {parse_instant(edge) + d for d in (-1, 0, 1)}
        values = ", ".join(f"({i})" for i in sorted(instants))
        rows = connection.execute(
            f"SELECT u, {text} FROM (SELECT u, make_timestamp(u) AS t FROM (VALUES {values}) v(u))"
        ).fetchall()
        wrong = [(u, truth) for u, truth in rows if bool(truth) != ranges.contains(u)]
        assert not wrong, f"case {case}: {text}: {wrong[:3]} against {ranges}"


def test_what_does_not_reduce_is_no_range() -> None:
    constants = Constants(0, {})
    for text in (
        "t < '2013-02-01' OR carrier = 'UA'", "minute(t) = 3", "t = other", "t IS NULL", "t < '2013-1-1'", "t < 5",
        "CAST(t AS DATE) < '2013-02-01 05:00'", "t + INTERVAL 1 DAY < '2013-02-01'", "year(t) = '2013'",
        "t <=> '2013-01-01'",
        "t < 'it''s'", "trunc(t, 'DD') < DATE '2013-01-01'", "t LIKE '2013%'", "t IN (SELECT 1)",
        "date_trunc('XX', t) < '2013'",
        "t < '2013-13-01'", "t < '2013-01-01 25:00'", "month(t) = 3",
    ):  # fmt: skip
        tree = sqlglot.parse_one(f"SELECT 1 FROM x WHERE {text}", dialect="spark").args["where"].this
        assert ranges_of(tree, lambda c: c.name == "t", constants, lambda call: None) is None, text


def test_constants_fold_as_in_spark() -> None:
    constants = Constants(parse_instant("2013-03-31T06:30:15"), {"p": "x"})
    for text, expected in {
        "current_timestamp() - INTERVAL 1 MONTH": "2013-02-28T06:30:15",
        "current_date - INTERVAL 1 DAY": "2013-03-30",
        "date_trunc('week', now())": "2013-03-25",
        "CAST('2013' AS TIMESTAMP)": "2013-01-01",
        "TIMESTAMP '2013-01-31 01:00:00' + INTERVAL 1 YEAR - INTERVAL '90' MINUTE": "2014-01-30T23:30",
        "to_date('2013-05-06')": "2013-05-06",
    }.items():
        node = sqlglot.parse_one(f"SELECT {text}", dialect="spark").expressions[0]
        folded = constants.fold(node)
        assert folded is not None, text
        assert folded.number == parse_instant(expected), text
    for text in ("rand()", "1.5", "INTERVAL '1 2' DAY TO HOUR", "CAST('x' AS DATE)", "1 + 1"):
        node = sqlglot.parse_one(f"SELECT {text}", dialect="spark").expressions[0]
        assert constants.fold(node) is None or isinstance(node, exp.Interval), text
