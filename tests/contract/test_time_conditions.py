"""Conditions on the time of a cube, in the forms that people type: rows and errors equal those over a plain table."""

from __future__ import annotations

import pytest

from rewriter.errors import Error
from rewriter.session import Session

#: Conditions, and the time that the cube covers for them.
CONDITIONS = {
    "year(t) = 2013 AND month(t) = 2": "[2013-02-01, 2013-03-01)",
    "month(t) = '02' AND year(t) = '2013'": "[2013-02-01, 2013-03-01)",
    "NOT (year(t) <> 2013 OR month(t) <> 2)": "[2013-02-01, 2013-03-01)",
    "year(t) = 2013 AND month(t) = 2 AND day(t) = 15": "[2013-02-15, 2013-02-16)",
    "hour(t) = 13 AND day(t) = 15 AND month(t) = 2 AND year(t) = 2013": "[2013-02-15T13, 2013-02-15T14)",
    "to_date(t) = '2013-02-15' AND hour(t) >= 13": "[2013-02-15T13, 2013-02-16)",
    "year(t) = 2013 AND month(t) = 2 OR year(t) = 2012 AND month(t) = 12": (
        "[2012-12-01, 2013-01-01) ∪ [2013-02-01, 2013-03-01)"
    ),
    "date_format(t, 'yyyy-MM') = '2013-02'": "[2013-02-01, 2013-03-01)",
    "date_format(t, 'yyyy-MM') >= '2013-02'": "[2013-02-01, 2013-04-01)",
    "date_format(t, 'yyyyMMdd') BETWEEN '20130201' AND '20130215'": "[2013-02-01, 2013-02-16)",
    "date_format(t, 'yyyy-MM-dd') > '2013-02'": "[2013-02-01, 2013-04-01)",
    "CAST(t AS STRING) LIKE '2013%' AND CAST(t AS STRING) >= '2013-02-15'": "[2013-02-15, 2013-04-01)",
    "CAST(t AS STRING) <= '2013-02-15 13:00:00'": "[2012-12-01, 2013-02-15T14)",
    "t >= '2013-02'": "[2013-02-01, 2013-04-01)",
    "t >= '2013'": "[2013-01-01, 2013-04-01)",
    "t >= '2013-2' AND t < '2013-03'": "[2013-02-01, 2013-03-01)",
    "t BETWEEN '2013-02' AND '2013-02-28 23'": "[2013-02-01, 2013-03-01)",
    "to_date(t) < '2013'": "[2012-12-01, 2013-01-01)",
    "t >= DATE '2013-02' AND t < TIMESTAMP '2013-03'": "[2013-02-01, 2013-03-01)",
    "date_trunc('month', t) = '2013-02'": "[2013-02-01, 2013-03-01)",
}
#: Conditions that cannot be evaluated, the error's condition and what its hint says.
MISTAKES = {
    "t >= 2013-07-01": (
        "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "Write '2013-07-01'. Without quotes it is a subtraction, 2005.",
    ),
    "2013-07-01 <= t": ("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "Write '2013-07-01'. "),
    "t BETWEEN '2013-01-01' AND 2013-02-01": ("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "Write '2013-02-01'. "),
    "t <=> 2013": ("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "Write '2013'."),
    "to_date(t) = 20130201": ("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "Write '2013-02-01'."),
    "t > 2013.5": ("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "Write a time in quotes"),
    "t IN ('2013-01-01', 2013-02-01)": ("DATATYPE_MISMATCH.DATA_DIFF_TYPES", "Write '2013-02-01'. "),
    "t >= '2013-02-30'": ("CAST_INVALID_INPUT", "a time that exists"),
    "to_date(t) = '2013-13'": ("CAST_INVALID_INPUT", "a time that exists"),
    "t IN ('2013-02-01', 'February')": ("CAST_INVALID_INPUT", "a time that exists"),
    "t < '2013-02-01 24:00:00'": ("CAST_INVALID_INPUT", "a time that exists"),
    "t < '20130201'": ("CAST_INVALID_INPUT", "a time that exists"),
    "t >= DATE '2013-02-30'": ("INVALID_TYPED_LITERAL", "a time that exists"),
    "t >= TIMESTAMP '2013-02-30 00:00:00'": ("INVALID_TYPED_LITERAL", "a time that exists"),
}  # fmt: skip


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_selects_the_rows_of_the_plain_table(cube_session: Session, condition: str) -> None:
    query = (
        f"SELECT carrier, SUM(flights) AS n, SUM(distance) AS d FROM {{}} WHERE {condition} GROUP BY carrier ORDER BY 1"
    )
    assert cube_session.execute(query.format("c")).fetch() == cube_session.execute(query.format("base")).fetch()


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_is_read_as_a_range(cube_session: Session, condition: str) -> None:
    (reference,) = cube_session.plan(f"SELECT SUM(distance) FROM c WHERE {condition}").coverage.references
    assert reference.calendar.shown(reference.requested) == CONDITIONS[condition]
    assert not reference.missing


@pytest.mark.parametrize("relation", ["c", "base"])
@pytest.mark.parametrize("condition", MISTAKES)
def test_a_mistaken_constant_is_told(
    cube_session: Session, condition: str, relation: str, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(Error) as caught:
        cube_session.execute(f"SELECT SUM(distance) FROM {relation} WHERE {condition}").fetch()
    expected, hint = MISTAKES[condition]
    assert caught.value.condition == expected
    assert caught.value.position is not None
    if relation == "c" or "duckdb" in request.node.name:
        assert hint in str(caught.value.hint)
