"""DuckDB returns the results of Spark: every entry of the allow-list, evaluated on both.

Values, types and column names must be equal. All other constructs are refused (``tests/unit/exec``).
"""

from __future__ import annotations

import math
import re

import pyarrow as pa
import pytest
from contract.proof_expressions import CASTS, EDGES, PLAIN, UNNAMED
from contract.proof_queries import ANSWERED, APPROXIMATE, FAILING
from contract.proofs import query, relations

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Relation
from rewriter.exec.spark.engine import SparkEngine


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Relation, ...]:
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
    ],
    ids=["plain", "unnamed", "edges", "casts"],
)
def test_expressions(
    spark: SparkEngine, duckdb: DuckDBEngine, found: tuple[Relation, ...], listed: list[str], source: str
) -> None:
    """All in one query each, because a Spark query costs 0.2 s."""
    sql = f"SELECT {', '.join(listed)} FROM {source}"
    ours, theirs = (engine.execute(query(sql, found)).read_all() for engine in (duckdb, spark))
    different = [
        (expression, mine, other)
        for i, expression in enumerate(listed)
        for mine, other in [
            (
                (table.schema.names[i], str(table.schema.types[i]), repr(table.column(i).to_pylist()))
                for table in (ours, theirs)
            )
        ]
        if mine != other
    ]
    assert different == []


@pytest.mark.share(4)
@pytest.mark.parametrize("sql", ANSWERED)
def test_queries(spark: SparkEngine, duckdb: DuckDBEngine, found: tuple[Relation, ...], sql: str) -> None:
    ours, theirs = (engine.execute(query(sql, found)).read_all() for engine in (duckdb, spark))
    assert ours.schema == theirs.schema
    ordered = re.search(r"order by [^)]*$", sql) is not None
    assert _rows(ours, ordered) == _rows(theirs, ordered)


@pytest.mark.parametrize("sql", APPROXIMATE)
def test_deviations(spark: SparkEngine, duckdb: DuckDBEngine, found: tuple[Relation, ...], sql: str) -> None:
    ours, theirs = (engine.execute(query(sql, found)).read_all() for engine in (duckdb, spark))
    assert ours.schema == theirs.schema
    for mine, other in zip(ours.columns, theirs.columns, strict=True):
        for one, two in zip(mine.to_pylist(), other.to_pylist(), strict=True):
            assert one == two or math.isclose(one, two, rel_tol=1e-12)


@pytest.mark.share(4)
@pytest.mark.parametrize("sql", FAILING)
def test_values_at_fault(spark: SparkEngine, duckdb: DuckDBEngine, found: tuple[Relation, ...], sql: str) -> None:
    conditions = []
    for engine in (duckdb, spark):
        with pytest.raises(Error) as caught:
            engine.execute(query(sql, found)).read_all()
        conditions.append(caught.value.condition.split(".")[0])
    assert conditions[0] == conditions[1]
    assert conditions[0] != "DUCKDB_UNSUPPORTED"
