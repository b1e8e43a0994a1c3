"""ANALYZE in the midst of random histories changes no timeline: they end as they do without it, rebuilt or not."""

from __future__ import annotations

import random
from pathlib import Path

import rewriter
from rewriter.session import Session

from .histories import NOW_TEXT, begin, load, step
from .random_schemas import random_schema

_Lines = dict[tuple[str, str, str, str], list[tuple[int, int]]]


def _lines(warehouse: Path) -> _Lines:
    """All timelines of a warehouse: by table, period, time and state, the ranges."""
    with Session(warehouse, "duckdb") as session:
        snapshot = session.catalog.snapshot()
        return {
            (stored.table, period.name, time, state): [
                (stretch.start, stretch.end)
                for stretch in getattr(snapshot, state)(stored.table, period, time).ranges()
            ]
            for fact in snapshot.facts()
            for stored in fact.tables
            for period in stored.layouts
            for time in stored.times
            for state in ("timeline", "outdated", "retired", "unproven", "incomplete")
        }


def _partitions(warehouse: Path) -> dict[str, list[tuple[object, ...]]]:
    with Session(warehouse, "duckdb") as session:
        snapshot = session.catalog.snapshot()
        return {
            table.name: [
                (partition.values, partition.rows, partition.files) for partition in snapshot.partitions(table)
            ]
            for table in snapshot.tables()
        }


def _analyze(connection: rewriter.Connection, rng: random.Random) -> int:
    """Analyzes a random table in a random way, and returns the number of noted partitions."""
    catalog = connection.session.catalog
    table = rng.choice(catalog.snapshot().tables())
    last = catalog.snapshot().sequence
    names = ", ".join(f"`{column.name}`" for column in table.partition_columns)
    of = f" PARTITION ({names})" if names and rng.random() < 0.8 else ""
    connection.cursor().execute(f"ANALYZE TABLE {table.name}{of} COMPUTE STATISTICS FOR ALL COLUMNS")
    return sum(
        event.payload["partitions"]
        for event in catalog.events(limit=10**9)
        if event.kind == "ANALYZE" and event.commit_sequence > last
    )


def test_histories_end_as_they_do_without_it(tmp_path: Path) -> None:
    noted = outdated = retired = 0
    for seed in range(2):
        rng = random.Random(f"analyzed {seed}")
        history = begin(random_schema(rng), tmp_path / f"{seed}-plain")
        load(history, rng)
        for _ in range(8):
            step(history, rng)
        analyzed = rewriter.connect(tmp_path / f"{seed}-analyzed", engine="duckdb")
        analyzed.cursor().execute(f"SET rewriter.now = '{NOW_TEXT}'")
        for sql in history.log:
            analyzed.cursor().execute(sql)
            if not sql.startswith("CREATE") and rng.random() < 0.4:
                noted += _analyze(analyzed, rng)
        facts = [fact.name for fact in analyzed.session.catalog.snapshot().facts()]
        wanted = _lines(history.warehouse)
        assert _lines(tmp_path / f"{seed}-analyzed") == wanted, seed
        for fact in facts:
            assert analyzed.cursor().execute(f"REFRESH TIMELINES OF {fact}").fetchall() == [], seed
        assert _lines(tmp_path / f"{seed}-analyzed") == wanted, seed
        assert _partitions(tmp_path / f"{seed}-analyzed") == _partitions(history.warehouse), seed
        outdated += sum(len(ranges) for key, ranges in wanted.items() if key[-1] == "outdated")
        retired += sum(len(ranges) for key, ranges in wanted.items() if key[-1] == "retired")
        history.connection.close()
        analyzed.close()
    assert noted > 30
    assert outdated
    assert retired
