"""What DESCRIBE FUNCTION says of DuckDB agrees with what DuckDB runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.spark_functions import function_groups
from rewriter.exec.translate.function_support import _BY_SYNTAX, forms_on_duckdb, runs_on_duckdb
from rewriter.session import Session

#: An expression for each name that is in the allow-list by its syntax.
EXAMPLES = {
    "!": "!true", "!=": "1 != 2", "%": "7 % 2", "*": "2 * 3", "+": "1 + 2", "-": "1 - 2", "/": "1 / 2", "<": "1 < 2",
    "<=": "1 <= 2", "<=>": "1 <=> NULL", "<>": "1 <> 2", "=": "1 = 2", "==": "1 == 2", ">": "1 > 2", ">=": "1 >= 2",
    "||": "'a' || 'b'", "and": "true AND false", "array": "size(array(1, 2))", "between": "1 BETWEEN 0 AND 2",
    "case": "CASE 1 WHEN 1 THEN 2 END", "current_date": "current_date() = current_date", "in": "1 IN (1, 2)",
    "current_timestamp": "current_timestamp() = current_timestamp", "div": "7 div 2",
    "extract": "extract(YEAR FROM DATE '2024-01-01')", "ilike": "'A' ILIKE 'a'", "like": "'a' LIKE 'a%'",
    "&": "6 & 3", "|": "6 | 3", "^": "6 ^ 3", "~": "~6", "<<": "6 << 1", ">>": "6 >> 1", "cast": "CAST('1.5' AS float)",
    "not": "NOT true", "or": "true OR false", "regexp": "'a' regexp 'a'", "rlike": "'a' RLIKE 'a'",
    "current_database": "current_database()", "current_schema": "current_schema()",
    "trim": "trim(' a ')", "uuid": "uuid()", "when": "CASE WHEN true THEN 1 END",
}  # fmt: skip


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("functions") / "w", duckdb) as opened:
        yield opened


def test_each_name_by_syntax_runs(session: Session) -> None:
    assert EXAMPLES.keys() == _BY_SYNTAX
    for expression in EXAMPLES.values():
        session.execute(f"SELECT {expression} AS x").fetch()


def test_a_function_that_is_refused_runs_in_no_simple_form(session: Session) -> None:
    ran = []
    for name in function_groups():
        if runs_on_duckdb(name) or not name.isidentifier():
            continue
        for arguments in ("", "1", "'a'", "1.5D, 2", "'a', 'b'", "DATE '2024-01-01', 1", "array(1)"):
            try:
                session.execute(f"SELECT {name}({arguments}) AS x").fetch()
            except Error:
                continue
            ran.append(f"{name}({arguments})")
    assert ran == []


def test_each_name_is_a_function_of_spark() -> None:
    assert function_groups().keys() >= _BY_SYNTAX


def test_forms_are_those_of_the_page() -> None:
    assert forms_on_duckdb("aes_encrypt") == forms_on_duckdb("window") == ()
    assert forms_on_duckdb("md5") == ("md5(s)",)
    assert forms_on_duckdb("and") == ("a AND b",)
    assert forms_on_duckdb("-") == ("a - b", "-a")
    assert len(forms_on_duckdb("cast")) > 50


def test_each_operator_has_a_form() -> None:
    # The database is no construct of the list: it is replaced before DuckDB reads a query.
    without = [name for name in _BY_SYNTAX if not forms_on_duckdb(name)]
    assert sorted(without) == ["current_database", "current_schema"]
