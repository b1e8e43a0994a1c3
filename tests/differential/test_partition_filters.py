"""Partition filters mean in Spark what they mean in the catalog: ``WHERE <filter>`` over a table finds the rows of the
partitions that ``SHOW PARTITIONS … WHERE <filter>`` lists.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.objects import Column
from rewriter.exec.engine import EngineQuery, Relation
from rewriter.exec.spark.engine import SparkEngine
from rewriter.grammar import filters as f
from rewriter.grammar.terms import Literal
from rewriter.grammar.unparse import render_filter
from rewriter.session import Session
from tests.contract.conftest import parquet, scan_file
from tests.unit.catalog.filter_model import DOMAINS

#: CHAR is left out: a filter pads it to its length before it compares, and to the engines it is a text like any other.
COLUMNS = tuple(Column(f"p{number}", type) for number, type in enumerate(DOMAINS) if not type.startswith("char"))
PATTERNS = ("a%", "%b", "_", "%", "a", "é%", r"A\%")
ROWS, FILTERS = 40, 250
#: Spark folds the comparison without reading the BIGINT: TRUE also for NULL. Filters return NULL.
BEYOND = ("number", str(2**63))


def tree(rng: random.Random, depth: int = 2) -> f.Filter:
    if depth and rng.random() < 0.6:
        parts = tuple(tree(rng, depth - 1) for _ in range(rng.randint(2, 3)))
        drawn = rng.choice([f.conjunction, f.disjunction])(parts)
    else:
        drawn = predicate(rng, rng.choice(COLUMNS))
    return f.negation(drawn) if rng.random() < 0.25 else drawn


def predicate(rng: random.Random, column: Column) -> f.Filter:
    def literal() -> Literal:
        literals = [literal for literal in DOMAINS[column.type][1] if literal != BEYOND]
        return Literal("null", "") if rng.random() < 0.05 else Literal(*rng.choice(literals))

    kind = rng.randrange(5)
    if kind == 0:
        return f.InList(column.name, tuple(literal() for _ in range(rng.randint(1, 4))))
    if kind == 1:
        return f.Between(column.name, literal(), literal())
    if kind == 2 and column.type.startswith(("string", "varchar")):
        return f.Like(column.name, Literal("string", rng.choice(PATTERNS)))
    if kind == 3:
        return f.IsNull(column.name)
    return f.Comparison(column.name, rng.choice(["=", "<>", "<", "<=", ">", ">="]), literal())


def test_filters_find_in_spark_what_show_partitions_lists(tmp_path: Path, spark: SparkEngine) -> None:
    rng = random.Random(7)
    drawn: set[tuple[str | None, ...]] = {(None,) * len(COLUMNS)}
    while len(drawn) < ROWS:
        drawn.add(tuple(None if rng.random() < 0.2 else rng.choice(DOMAINS[c.type][0]) for c in COLUMNS))
    values = sorted(drawn, key=repr)
    filters = [tree(rng) for _ in range(FILTERS)]
    listed = _listed(tmp_path / "warehouse", values, filters)
    files = [
        scan_file(parquet(tmp_path / f"{row}.parquet", {"x": pa.array([row], pa.int64())}), key)
        for row, key in enumerate(values)
    ]
    relation = Relation("t", "parquet", (Column("x", "bigint"),), COLUMNS, tuple(files))
    items = ", ".join(f"({render_filter(filter_)}) <=> true AS c{number}" for number, filter_ in enumerate(filters))
    answers = spark.execute(EngineQuery(f"SELECT x, {items} FROM t", (relation,))).read_all()
    rows, *truths = (column.to_pylist() for column in answers.columns)
    names = [partition_name(COLUMNS, key) for key in values]
    wrong = [
        render_filter(filter_)
        for filter_, listing, truth in zip(filters, listed, truths, strict=True)
        if listing != {names[row] for row, true in zip(rows, truth, strict=True) if true}
    ]
    assert wrong == []


def _listed(warehouse: Path, values: Sequence[tuple[str | None, ...]], filters: Sequence[f.Filter]) -> list[set[str]]:
    """What SHOW PARTITIONS lists for each filter. No engine starts."""
    columns = ", ".join(f"{column.name} {column.type}" for column in COLUMNS)
    with Session(warehouse) as session:
        session.execute(f"CREATE EXTERNAL TABLE t (x BIGINT) PARTITIONED BY ({columns}) LOCATION '{warehouse}/t'")
        specs = " ".join(f"PARTITION ({', '.join(map(_item, COLUMNS, key))})" for key in values)
        session.execute(f"ALTER TABLE t ADD {specs}")
        return [
            {name for (name,) in session.execute(f"SHOW PARTITIONS t WHERE {render_filter(filter_)}").fetch()}
            for filter_ in filters
        ]


def _item(column: Column, value: str | None) -> str:
    text = "NULL" if value is None else "'" + value.replace("\\", "\\\\") + "'"
    return f"{column.name} = {text}"
