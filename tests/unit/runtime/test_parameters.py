"""Values for placeholders: their types, lists for IN, and texts that only look like placeholders."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rewriter
from rewriter.runtime.parameters import bind

UTC = dt.UTC
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")


class Color(str, enum.Enum):  # noqa: UP042
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rewriter.dbapi.Connection]:
    with rewriter.connect(tmp_path_factory.mktemp("w"), engine="duckdb") as opened:
        yield opened


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(7), 7),
        (np.uint8(255), 255),
        (np.float64(1.5), 1.5),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.datetime64("2013-01-29"), dt.date(2013, 1, 29)),
        (np.datetime64("2013-01"), dt.date(2013, 1, 1)),
        (np.datetime64("2013-01-29T06:00"), dt.datetime(2013, 1, 29, 6)),
        (np.datetime64("2013-01-29T06:00:00.123456000", "ns"), dt.datetime(2013, 1, 29, 6, 0, 0, 123456, UTC)),
        (np.datetime64("NaT"), None),
        (pd.Timestamp("2013-01-29 06:00"), dt.datetime(2013, 1, 29, 6)),
        (pd.Timestamp("2013-01-29 11:30", tz="Asia/Kolkata"), dt.datetime(2013, 1, 29, 6, tzinfo=UTC)),
        (pd.NaT, None),
        (pd.NA, None),
        (ID, str(ID)),
        (Color.RED, "red"),
        (Number.ONE, 1),
        (Decimal("1.50"), Decimal("1.50")),
    ],
)
def test_values(connection: rewriter.dbapi.Connection, value: object, expected: object) -> None:
    (bound,) = bind("SELECT ?", [value]).parameters.values()
    assert type(bound) is type(expected)
    # A TIMESTAMP is an instant: in a query without a zone, a naive one is that of UTC.
    naive = type(expected) is dt.datetime and expected.tzinfo is None
    result = expected.replace(tzinfo=UTC) if naive else expected  # type: ignore[attr-defined]
    assert connection.execute("SELECT ?", [value]).fetchall() == [(result,)]
    assert connection.execute("SELECT :v", {"v": value}).fetchall() == [(result,)]


@pytest.mark.parametrize(
    "value",
    [
        np.uint64(2**64 - 1),
        np.datetime64("2013-01-29T06:00:00.000000001", "ns"),
        np.datetime64("20000-01-01"),
        np.timedelta64(1, "s"),
        np.longdouble(1),
        pd.Timestamp("2013-01-29 06:00:00.000000001"),
        pd.Timedelta("1s"),
        dt.time(1),
        np.array([[1]]),
        {"a": 1},
        object(),
    ],
)
def test_values_that_are_refused(connection: rewriter.dbapi.Connection, value: object) -> None:
    with pytest.raises(rewriter.DataError) as caught:
        connection.execute("SELECT  ?", [value])
    assert caught.value.position == (8, 9)


ROWS = "(VALUES (1, 'a'), (2, 'it''s'), (3, NULL)) AS t(n, s)"


@pytest.mark.parametrize(
    ("condition", "parameters", "expected"),
    [
        ("n IN (?)", [[1, 3, 9]], [1, 3]),
        ("n IN ?", [(1, 3)], [1, 3]),
        ("n IN (:ids)", {"ids": [1, 3]}, [1, 3]),
        ("n IN :ids", {"ids": {2}}, [2]),
        ("n NOT IN (?)", [[1, 3]], [2]),
        ("n NOT IN (?)", [[1, None]], []),
        ("n IN (?, 3)", [[1]], [1, 3]),
        ("n IN (1, ?, ?)", [[9], 3], [1, 3]),
        ("n IN (n + abs(0), ?)", [[9]], [1, 2, 3]),
        ("n IN (:ids) OR n = :ids_1", {"ids": [1], "ids_1": 3}, [1, 3]),
        ("n IN (:ids) AND n IN (:ids)", {"ids": [1, 2]}, [1, 2]),
        ("s IN (?)", [["it's", "a') OR (1 = 1"]], [2]),
        ("n IN (?)", [np.array([1, 2])], [1, 2]),
        ("n IN (?)", [pd.Series([3])], [3]),
    ],
)
def test_lists(connection: rewriter.dbapi.Connection, condition: str, parameters: object, expected: list[int]) -> None:
    cursor = connection.execute(f"SELECT n FROM {ROWS} WHERE {condition} ORDER BY n", parameters)  # type: ignore[arg-type]
    assert cursor.fetchall() == [(n,) for n in expected]


@pytest.mark.parametrize(
    ("condition", "value", "error"),
    [
        ("n IN (?)", [], "EMPTY_LIST_PARAMETER"),
        ("n = ?", [1], "CAST_INVALID_INPUT"),
        ("n IN (abs(?))", [1], "CAST_INVALID_INPUT"),
        ("n IN ((?))", [1], "CAST_INVALID_INPUT"),
        ("n IN (1 + ?)", [1], "CAST_INVALID_INPUT"),
        ("n IN (?)", [[1]], "CAST_INVALID_INPUT"),
        ("n IN (?)", [object()], "CAST_INVALID_INPUT"),
    ],
)
def test_lists_that_are_refused(
    connection: rewriter.dbapi.Connection, condition: str, value: object, error: str
) -> None:
    text = f"SELECT n FROM {ROWS} WHERE {condition}"
    with pytest.raises(rewriter.DataError) as caught:
        connection.execute(text, [value])
    assert caught.value.condition == error
    assert caught.value.position is not None
    assert text[caught.value.position.start : caught.value.position.end] == "?"


def test_positions_after_a_list(connection: rewriter.dbapi.Connection) -> None:
    text = f"SELECT n FROM {ROWS} WHERE n IN (?) AND missing = 1"
    with pytest.raises(rewriter.DatabaseError) as caught:
        connection.execute(text, [list(range(100))])
    assert caught.value.position is not None
    assert text[caught.value.position.start : caught.value.position.end] == "missing"


def test_what_only_looks_like_a_placeholder(connection: rewriter.dbapi.Connection, tmp_path: Path) -> None:
    text = """SELECT 'a?b:c' AS `x?:y`, "?" AS d, -- :no ?
        /* ? :no */ ? AS e, r'?' AS f, s.a FROM (SELECT 2 AS a) AS s"""
    cursor = connection.execute(text, ["'; DROP TABLE t"])
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["x?:y", "d", "e", "f", "a"]
    assert cursor.fetchall() == [("a?b:c", "?", "'; DROP TABLE t", "?", 2)]
    named = text.replace("*/ ? AS", "*/ :no AS")
    assert connection.execute(named, {"no": 5}).fetchall() == [("a?b:c", "?", 5, "?", 2)]
