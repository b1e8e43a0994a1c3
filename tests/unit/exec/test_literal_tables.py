"""Long VALUES as data: the same types, values, names, entries and errors as by the general translation."""

from __future__ import annotations

import decimal

import pytest

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery
from rewriter.exec.translate import literal_tables
from rewriter.exec.translate.queries import translate

#: The cells of one column each, which are repeated; ``True`` where they become a table.
COLUMNS = {
    "INT": (["1", "-2", "0", "007", "2147483647", "-2147483648"], True),
    "BIGINT": (["1", "2147483648", "-9223372036854775807", "9223372036854775807"], True),
    "the least BIGINT": (["-9223372036854775808", "1"], False),
    "BIGINT by its sign": (["-2147483649", "5"], True),
    "decimals": (["1.5", "-0.25", ".5", "10.", "0.00"], True),
    "decimals and integers": (["1.5", "3", "-2147483648", "NULL"], True),
    "the widest decimal": (["1234567890123456789012345678901234567.5"], True),
    "a wide decimal with a sign": (["-12345678901234567890123456789012.345678", "-0.0"], True),
    "decimals too wide together": (["1234567890123456789012345678901234567.5", "0.123456789"], False),
    "an integer beyond BIGINT": (["9223372036854775808"], False),
    "an integer that would be a BIGINT with a sign": (["-9223372036854775809"], False),
    "strings": (
        ["'a'", "''", "'it''s'", '"double ""quoted"""', "r'ra\\w'", "'\\u00e4\\n\\'x'", "NULL", "'a\tb;(,'"],
        True,
    ),
    "strings with a comment's signs": (["'a -- b'", "'/* c'"], False),
    "a string with NUL": (["'a\\0b'"], False),
    "booleans": (["TRUE", "false", "null"], True),
    "only NULL": (["NULL"], False),
    "exponents": (["1e3", "2.5"], False),
    "suffixes": (["1L", "2"], False),
    "strings and numbers": (["'a'", "1"], False),
    "booleans and numbers": (["true", "1"], False),
    "dates": (["DATE '2013-01-01'"], False),
    "sums": (["1 + 1"], False),
}


def rows(cells: list[str], least: int = literal_tables.LEAST) -> str:
    repeated = [cells[row % len(cells)] for row in range(least + len(cells))]
    return f"VALUES {', '.join(f'({cell}, {number})' for number, cell in enumerate(repeated))}"


def outcome(engine: DuckDBEngine, sql: str) -> object:
    try:
        translation = translate(EngineQuery(sql))
        reader = engine.execute(EngineQuery(sql))
        return translation.columns, translation.entries, reader.schema, reader.read_all().to_pylist()
    except Error as error:
        return type(error), error.condition, error.message, error.position, error.hint


@pytest.fixture(scope="module")
def engine() -> DuckDBEngine:
    return DuckDBEngine()


@pytest.mark.parametrize("case", COLUMNS)
def test_a_table_is_what_the_general_translation_returns(
    case: str, engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, is_table = COLUMNS[case]
    sql = rows(cells)
    as_table = outcome(engine, sql)
    try:
        assert (translate(EngineQuery(sql)).literals is not None) == is_table
    except Error:
        assert not is_table
    monkeypatch.setattr(literal_tables, "LEAST", 10**9)
    assert outcome(engine, sql) == as_table


def test_an_escape_that_is_no_character_is_an_error_at_its_place(
    engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = rows(["'fine'", "'\\ud800'"])
    as_table = outcome(engine, sql)
    monkeypatch.setattr(literal_tables, "LEAST", 10**9)
    assert outcome(engine, sql) == as_table


def test_few_rows_stay_text() -> None:
    assert translate(EngineQuery("VALUES (1), (2)")).literals is None


def test_the_plan_of_a_table_is_explained(engine: DuckDBEngine) -> None:
    assert literal_tables.NAME in engine.explain(EngineQuery(rows(["1"])))


def test_the_application_may_round_its_own_decimals(engine: DuckDBEngine) -> None:
    cells = ["-1234567.89", "1234567.89", "-0.01"]
    expected = outcome(engine, rows(cells))
    with decimal.localcontext(prec=3, traps=[decimal.Inexact, decimal.Rounded]):
        assert outcome(engine, rows(cells)) == expected
    assert [row["col1"] for row in expected[3][:2]] == [  # type: ignore[index]
        decimal.Decimal("-1234567.89"),
        decimal.Decimal("1234567.89"),
    ]
