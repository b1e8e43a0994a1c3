"""Conditions of errors: those that Spark has carry Spark's SQLSTATE and are spelled as there."""

from __future__ import annotations

import re

from tests.reference_pages.source_conditions import raised, spark


def test_conditions_of_spark_carry_its_sqlstate() -> None:
    wrong = [
        f"{error.source}: {error.condition} {error.sqlstate}, Spark {spark()[error.main]['sqlState']}"
        for error in raised()
        if error.paired and error.main in spark() and error.sqlstate != spark()[error.main]["sqlState"]
    ]
    assert wrong == []


def test_conditions_of_spark_are_spelled_as_there() -> None:
    wrong = [
        f"{error.source}: {error.condition}"
        for error in raised()
        if error.main in spark() and not _known(error.condition)
    ]
    assert wrong == []


def test_one_condition_has_one_sqlstate() -> None:
    states: dict[str, set[str]] = {}
    for error in raised():
        if error.sqlstate is not None:
            states.setdefault(error.main, set()).add(error.sqlstate)
    assert {name: codes for name, codes in states.items() if len(codes) > 1} == {}


def _known(condition: str) -> bool:
    main, _, sub = condition.partition(".")
    subs = spark()[main].get("subClass", {})
    if not sub:
        return main in spark()
    pattern = ".*".join(map(re.escape, sub.split("{}")))
    return any(re.fullmatch(pattern, subcondition) for subcondition in subs)
