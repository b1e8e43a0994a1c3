"""Conditions computed on rows at hand: TRUE or not, and unknown where they fail."""

from __future__ import annotations

import random

import pytest

from rewriter.catalog.model.objects import Column, PartitionValues
from rewriter.errors import EngineError, Error, NotSupportedError
from rewriter.exec.duckdb import evaluate_predicate
from rewriter.exec.duckdb.evaluate_predicate import constant_value, evaluate_condition

DAYS = [Column("dt", "string"), Column("Hr", "int")]
ROWS: list[PartitionValues] = [("2024-01-31", "5"), ("2024-02-01", "0"), (None, "23"), ("x", None), ("", "2147483647")]


def truths(condition: str, **parameters: object) -> list[bool | None]:
    return evaluate_condition(condition, "t", DAYS, ROWS, parameters)


@pytest.mark.parametrize(
    ("condition", "wanted"),
    {
        "substr(dt, 1, 7) = '2024-01'": [True, False, False, False, False],
        "t.HR % 2 = 1": [True, False, True, False, True],
        "coalesce(`dt`, 'none') <> 'none' AND hr IS NULL": [False, False, False, True, False],
        "CAST(hr AS STRING) LIKE '2%'": [False, False, True, False, True],
        # It fails for some rows, and for these alone.
        "year(to_date(dt)) = 2024": [True, True, False, None, None],
        "hr + 1 > 5": [True, False, True, False, None],
        "hr + 1 < 5": [False, True, False, False, None],
        "1 / hr < 1": [True, None, True, False, True],
        "TRY_CAST(dt AS DATE) IS NULL": [False, False, True, True, True],
        "CASE WHEN hr > 100 THEN false ELSE hr + 1 > 5 END": [True, False, True, False, False],
        # For every one.
        "CAST('abc' AS INT) = hr": [None] * 5,
        "dt = hr": [None, None, False, None, None],
        "hr = 'a'": [None] * 5,
        "hr = '5'": [True, False, False, False, False],
        "upper(dt) = :dt": [False, False, False, True, False],
    }.items(),
)
def test_each_row_is_judged_by_itself(condition: str, wanted: list[bool | None]) -> None:
    assert truths(condition, dt="X") == wanted


@pytest.mark.parametrize("condition", ["rand() > 0.5", "collation(dt) = 'x'"])
def test_what_is_not_proven_is_refused(condition: str) -> None:
    with pytest.raises(NotSupportedError):
        truths(condition)


def test_a_random_value_is_no_constant() -> None:
    with pytest.raises(NotSupportedError, match="random value"):
        constant_value("rand()", {})


@pytest.mark.parametrize("condition", ["hr", "nosuch = 1", "other.hr = 1", "hr = :nosuch", "substr(dt"])
def test_what_is_wrong_is_an_error(condition: str) -> None:
    with pytest.raises(Error):
        truths(condition)


@pytest.mark.parametrize(
    "condition", ["max(hr) > 0", "count(*) > 2", "row_number() OVER (ORDER BY hr) = 1 OR max(hr) > 1"]
)
def test_what_is_not_about_single_rows_is_an_error(condition: str) -> None:
    with pytest.raises(EngineError):
        truths(condition)


def test_without_rows_nothing_is_true() -> None:
    assert evaluate_condition("hr + 1 = 2", "t", DAYS, [], {}) == []


def test_names_of_any_kind() -> None:
    columns = [Column("a`b", "int"), Column("select", "string")]
    assert evaluate_condition(
        "`odd``name`.`a``b` + 1 = 2 AND upper(`select`) = 'X'", "odd`name", columns, [("1", "x")], {}
    ) == [True]


@pytest.mark.parametrize(
    ("kind", "values", "condition", "wanted"),
    [
        ("double", ["NaN", "-Infinity", "-0.0", "0.1", None], "f + 0.2D > 0.3D", [True, False, False, True, False]),
        ("float", ["0.1", "16777216.0"], "CAST(f AS DOUBLE) = 0.1D", [False, False]),
        ("decimal(6,2)", ["-1.50", "9999.99"], "round(f, 1) = 10000", [False, True]),
        ("timestamp", ["1969-12-31 23:59:59.5", "2024-01-01 00:00:00"], "year(f) = 1969", [True, False]),
        ("date", ["0001-01-01", "9999-12-31"], "date_sub(f, 1) < DATE '2000-01-01'", [True, False]),
        ("boolean", ["true", "false", None], "NOT coalesce(f, true)", [False, True, False]),
        ("char(3)", ["a  ", "abc"], "length(f) = 3 AND f <> 'a'", [False, True]),
        ("varchar(3)", ["a ", "a"], "concat(f, '.') = 'a.'", [False, True]),
        ("tinyint", ["127", "-128"], "-f > 0", [False, None]),
    ],
)
def test_values_of_every_type(kind: str, values: list[str | None], condition: str, wanted: list[bool | None]) -> None:
    assert evaluate_condition(condition, "t", [Column("f", kind)], [(value,) for value in values], {}) == wanted


def test_few_failures_among_many_rows_are_found() -> None:
    bad = set(random.Random(2).sample(range(20_000), 3))
    rows = [("x" if number in bad else str(number),) for number in range(20_000)]
    satisfied = evaluate_condition("CAST(dt AS INT) % 2 = 0", "t", DAYS[:1], rows, {})
    assert {number for number, truth in enumerate(satisfied) if truth is None} == bad
    assert all(truth is (number % 2 == 0) for number, truth in enumerate(satisfied) if number not in bad)


def test_many_failures_cost_no_more_than_the_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    run = evaluate_predicate._Trials._run

    def counted(self: evaluate_predicate._Trials, first: int, last: int) -> list[tuple[int, bool | None]]:
        runs.append((first, last))
        return run(self, first, last)

    monkeypatch.setattr(evaluate_predicate._Trials, "_run", counted)
    rows = [("x" if number % 3 else "7",) for number in range(3000)]
    satisfied = evaluate_condition("CAST(dt AS INT) = 7", "t", DAYS[:1], rows, {})
    assert len(runs) == evaluate_predicate.MOST_TRIALS
    assert set(satisfied) <= {True, None}
