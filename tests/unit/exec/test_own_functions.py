"""Macros of DuckDB: each is defined when a statement first calls it, with those that it calls."""

from __future__ import annotations

import inspect
import re
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

from rewriter.exec.duckdb.own_errors import own_error
from rewriter.exec.duckdb.own_functions import OwnFunctions
from rewriter.exec.translate import duckdb_macros
from rewriter.exec.translate.duckdb_macros import macros


def _defined(connection: duckdb.DuckDBPyConnection) -> set[str]:
    query = "SELECT function_name FROM duckdb_functions() WHERE starts_with(function_name, 'rw_')"
    return {name for (name,) in connection.execute(query).fetchall()}


@pytest.mark.parametrize("name", sorted(macros()))
def test_each_macro_brings_those_that_it_calls(name: str) -> None:
    with duckdb.connect() as database:
        OwnFunctions(database.cursor()).define(f"SELECT {name}(x) FROM t")
        (definition,) = database.execute(
            "SELECT macro_definition FROM duckdb_functions() WHERE function_name = ?", [name]
        ).fetchall()
        called = {called_name for called_name in macros() if f"{called_name}(" in str(definition[0])} - {name}
        assert called | {name} <= _defined(database)


def test_macros_have_different_names() -> None:
    names = re.findall(r'^    f?"(rw_\w+)\([\w, ]*\) AS ', inspect.getsource(duckdb_macros), re.MULTILINE)
    assert len(names) > 60
    assert sorted(names) == sorted(set(names))


def test_a_statement_without_macros_defines_none() -> None:
    with duckdb.connect() as database:
        definitions = OwnFunctions(database.cursor())
        assert definitions.define("SELECT 'rw_nothing', \"rw_events\", floor(1.5)") == (
            "SELECT 'rw_nothing', \"rw_events\", floor(1.5)"
        )
        assert _defined(database) == set()


def test_threads_may_need_the_same_macros_at_once() -> None:
    with duckdb.connect() as database:
        definitions = OwnFunctions(database.cursor())
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(definitions.define, [f"SELECT {name}('1')" for name in sorted(macros())] * 4))
        assert _defined(database) == set(macros()) | {"rw_other_double_text", "rw_other_float_text"}


def test_a_macro_that_an_interrupted_definition_left_is_no_obstacle() -> None:
    with duckdb.connect() as database:
        database.execute(macros()["rw_bad"])
        OwnFunctions(database.cursor()).define("SELECT rw_bad('x')")
        assert "rw_bad" in _defined(database)


def test_a_lack_of_memory_is_named() -> None:
    error = own_error(duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate data of size 2.0 MiB"))
    assert error.condition == "OUT_OF_MEMORY"
    assert "DuckDB has not enough memory: failed to allocate data" in str(error)
