"""Literals and calls that Spark refuses for their types or their range: DuckDB refuses them by the same condition."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from rewriter.errors import EngineError, Error, NotSupportedError
from rewriter.session import Session


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path: Path = tmp_path_factory.mktemp("types") / "warehouse"
    with Session(path, "duckdb") as opened:
        yield opened


#: Spark 4.3 raises these conditions.
ARRAYS = "DATATYPE_MISMATCH.BINARY_ARRAY_DIFF_TYPES"
ITEMS = "DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES"
RANGE = "INVALID_NUMERIC_LITERAL_RANGE"


@pytest.mark.parametrize(
    ("expression", "condition"),
    [
        *((f"{function}(array(1.0), array(1.00))", ARRAYS) for function in (
            "array_union", "array_except", "array_intersect", "arrays_overlap"
        )),
        ("array_union(array(1), array(1.00))", ARRAYS),
        ("array_union(array(1), array(CAST(1 AS DECIMAL(11,2))))", ARRAYS),
        ("array_union(array(array(1.0)), array(array(1.00)))", ARRAYS),
        ("array_union(array(struct(1.0)), array(struct(1.00)))", ARRAYS),
        *((f"{function}(array(1.0), 1.00)", ITEMS) for function in (
            "array_position", "array_remove", "array_append", "array_prepend"
        )),
        ("array_append(array(1.0), 1)", ITEMS),
        ("array_position(array(1), 1.0)", ITEMS),
        *((literal, RANGE) for literal in (
            "1e40F", "-1e40F", "3.5e38F", "3.4028236e38F", "3.4028235e38F", "1e400D", "1e400", "-1e400"
        )),
    ],
)  # fmt: skip
def test_refused_as_in_spark(session: Session, expression: str, condition: str) -> None:
    with pytest.raises(EngineError) as caught:
        session.execute(f"SELECT {expression}").fetch()
    assert caught.value.condition == condition
    assert caught.value.sqlstate == ("22003" if condition == RANGE else "42K09")
    assert caught.value.position is not None


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("array_union(array(1), array(CAST(1 AS DECIMAL(12,2))))", [Decimal("1.00")]),
        ("array_union(array(1.0), array(NULL))", [Decimal("1.0"), None]),
        ("array_union(array(1), array(2L))", [1, 2]),
        ("array_append(array(CAST(1 AS DECIMAL(12,2))), 1)", [Decimal("1.00"), Decimal("1.00")]),
        ("array_append(array(1), CAST(1 AS DECIMAL(12,2)))", [Decimal("1.00"), Decimal("1.00")]),
        ("array_append(array(1.0), NULL)", [Decimal("1.0"), None]),
        ("array_position(array(CAST(1 AS DECIMAL(12,2))), 1)", 1),
    ],
)
def test_whole_numbers_become_decimals_that_hold_them(session: Session, expression: str, value: object) -> None:
    assert session.execute(f"SELECT {expression}").fetch() == [(value,)]


def test_array_contains_widens_decimals(session: Session) -> None:
    sql = "SELECT array_contains(array(1.0), 1.00), 3.4028234663852886e38F > 3e38F, 1e-50F, 1.7976931348623157e308"
    assert session.execute(sql).fetch() == [(True, True, 0.0, 1.7976931348623157e308)]


def test_a_function_of_a_database_that_has_none(session: Session) -> None:
    session.execute("CREATE TEMPORARY FUNCTION tempfunc(x INT) RETURNS INT RETURN x + 1")
    assert session.execute("SELECT session.tempfunc(1), tempfunc(2)").fetch() == [(2, 3)]
    with pytest.raises(NotSupportedError) as caught:
        session.execute("SELECT default.tempfunc(1)").fetch()
    assert caught.value.condition == "DUCKDB_UNSUPPORTED"
    assert caught.value.message == (
        "The function default.tempfunc, which is no SQL function of the catalog, is not supported on DuckDB."
    )


@pytest.mark.parametrize("text", ["2024-02-30", "2024-0x-30", "20240-01-01"])
def test_a_text_of_a_csv_file_that_is_no_date_is_named_with_its_place(
    session: Session, tmp_path: Path, text: str
) -> None:
    (tmp_path / "x.csv").write_text(f"a;d\n1;2024-02-28\n2;{text}\n", encoding="utf-8")
    session.execute(
        f"CREATE TABLE texts (a INT, d DATE) USING CSV OPTIONS (header 'true', sep ';') LOCATION '{tmp_path}'"
    )
    with pytest.raises(Error) as caught:
        session.execute("SELECT * FROM texts").fetch()
    assert f"in line 3 of the file {tmp_path}/x.csv" in caught.value.message
    session.execute("DROP TABLE texts")
