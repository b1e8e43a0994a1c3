"""DuckDB returns the results of Spark: every entry of the allow-list, evaluated on both.

Values, types and column names must be equal. All other constructs are refused (``tests/unit/exec``).
"""

from __future__ import annotations

import math
import re

import pyarrow as pa
import pytest
from contract import proof_clauses, proof_nested, proof_time_types
from contract.proof_expressions import CASTS, COERCED, EDGES, PLAIN, UNNAMED
from contract.proof_nested import NESTED
from contract.proof_queries import ANSWERED, APPROXIMATE, FAILING
from contract.proof_scalar_functions import AGGREGATES, FAILING_SCALARS, SCALARS
from contract.proofs import query, relations

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Relation
from rewriter.exec.spark.engine import SparkEngine


@pytest.fixture(scope="module")
def proof_relations(tmp_path_factory: pytest.TempPathFactory) -> tuple[Relation, ...]:
    return relations(tmp_path_factory.mktemp("translation"))


def _rows(table: pa.Table, ordered: bool) -> list[str]:
    rows = [repr(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]
    return rows if ordered else sorted(rows)


@pytest.mark.parametrize(
    ("listed", "source"),
    [
        (PLAIN, "t ORDER BY t.id"),
        ([f"{expression} AS u{i}" for i, expression in enumerate(UNNAMED)], "t ORDER BY t.id"),
        (EDGES, "e ORDER BY e.r"),
        (CASTS, "e ORDER BY e.r"),
        (COERCED, "e ORDER BY e.r"),
        (SCALARS, "e ORDER BY e.r"),
        (NESTED, "v ORDER BY v.r"),
        (proof_time_types.EXPRESSIONS, "e ORDER BY e.r"),
    ],
    ids=["plain", "unnamed", "edges", "casts", "coerced", "scalars", "nested", "time types"],
)
def test_expressions(
    spark: SparkEngine, duckdb: DuckDBEngine, proof_relations: tuple[Relation, ...], listed: list[str], source: str
) -> None:
    """Evaluates a list in one query, because a Spark query costs 0.2 s."""
    sql = f"SELECT {', '.join(listed)} FROM {source}"
    duckdb_table, spark_table = (engine.execute(query(sql, proof_relations)).read_all() for engine in (duckdb, spark))
    different = [
        (expression, duckdb_column, spark_column)
        for i, expression in enumerate(listed)
        for duckdb_column, spark_column in [
            (
                (table.schema.names[i], str(table.schema.types[i]), repr(table.column(i).to_pylist()))
                for table in (duckdb_table, spark_table)
            )
        ]
        if duckdb_column != spark_column
    ]
    assert different == []


@pytest.mark.share(6)
@pytest.mark.parametrize(
    "sql",
    [*ANSWERED, *AGGREGATES, *proof_clauses.ANSWERED, *proof_nested.QUERIES, *proof_time_types.QUERIES],
)
def test_queries(spark: SparkEngine, duckdb: DuckDBEngine, proof_relations: tuple[Relation, ...], sql: str) -> None:
    duckdb_table, spark_table = (engine.execute(query(sql, proof_relations)).read_all() for engine in (duckdb, spark))
    assert duckdb_table.schema == spark_table.schema
    ordered = re.search(r"order by [^)]*$", sql) is not None
    assert _rows(duckdb_table, ordered) == _rows(spark_table, ordered)


@pytest.mark.parametrize("sql", APPROXIMATE)
def test_deviations(spark: SparkEngine, duckdb: DuckDBEngine, proof_relations: tuple[Relation, ...], sql: str) -> None:
    duckdb_table, spark_table = (engine.execute(query(sql, proof_relations)).read_all() for engine in (duckdb, spark))
    assert duckdb_table.schema == spark_table.schema
    for duckdb_column, spark_column in zip(duckdb_table.columns, spark_table.columns, strict=True):
        for duckdb_value, spark_value in zip(duckdb_column.to_pylist(), spark_column.to_pylist(), strict=True):
            assert duckdb_value == spark_value or math.isclose(duckdb_value, spark_value, rel_tol=1e-12)


@pytest.mark.share(6)
@pytest.mark.parametrize(
    "sql",
    [*FAILING, *FAILING_SCALARS, *proof_clauses.FAILING, *proof_nested.FAILING, *proof_time_types.FAILING],
)
def test_values_at_fault(
    spark: SparkEngine, duckdb: DuckDBEngine, proof_relations: tuple[Relation, ...], sql: str
) -> None:
    conditions = []
    for engine in (duckdb, spark):
        with pytest.raises(Error) as caught:
            engine.execute(query(sql, proof_relations)).read_all()
        conditions.append(caught.value.condition.split(".")[0])
    assert conditions[0] == conditions[1]
    assert conditions[0] != "DUCKDB_UNSUPPORTED"
