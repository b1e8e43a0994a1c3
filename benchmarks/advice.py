"""RECOMMEND ROLLUPS over 10,000 queries, of a file and of the query log; the set against the best one of its size."""

from __future__ import annotations

import random
import tempfile
import time
import warnings
from pathlib import Path

from benchmarks.timing import Figure, Table, seconds
from rewriter.catalog.store.query_log import LoggedNeed, LoggedReads, add_logged
from rewriter.planner.cover.rollup_search import Limits, find_rollups
from rewriter.planner.model.rollup_needs import RollupNeed
from rewriter.session import Session
from tests.unit.planner.test_rollup_search import DAILY, MONTHLY, YEARLY, best_total, world

QUERIES, TEMPLATES = 10_000, 200
#: How many small lattices are searched; each has 23 candidates.
LATTICES = 60
DIMENSIONS = {
    "site": 5, "page": 400, "country": 60, "device": 3, "browser": 9, "language": 30, "campaign": 25, "plan": 4,
}  # fmt: skip
DAYS, ROWS_OF_DAY = 730, 4_000
_COLUMNS = ", ".join(f"{name} STRING" for name in DIMENSIONS)
#: Values that look random: a multiple of a prime, without its last digits.
_VALUES = ", ".join(
    f"concat('{name}', CAST((id * {prime}) DIV 1000 % {size} AS STRING))"
    for (name, size), prime in zip(DIMENSIONS.items(), (7919, 6271, 5387, 9733, 8663, 4597, 3571, 2749), strict=True)
)
_WORLD = f"""
CREATE CUBE v ({_COLUMNS}, n BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE d ({_COLUMNS}, n BIGINT, ms BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE v STORED IN (TABLE d PERIOD DAILY PARTITIONED BY t AS (dt)) ROLLUPS (MONTHLY);
SET rewriter.now = '2024-01-01 00:00';
INSERT INTO d SELECT {_VALUES}, 1L, id,
  date_format(timestamp_seconds(1640995200 + 86400 * (id DIV {ROWS_OF_DAY})), 'yyyy-MM-dd')
  FROM range({DAYS * ROWS_OF_DAY});
REFRESH FACT f
"""


def _queries() -> list[str]:
    rng = random.Random(7)
    templates = []
    for _ in range(TEMPLATES):
        grouped = rng.sample(list(DIMENSIONS), rng.choice([0, 1, 1, 2, 2, 3]))
        filtered = rng.sample(list(DIMENSIONS), rng.choice([0, 0, 1, 2]))
        unit = rng.choice(["", "", "date_trunc('MONTH', t)", "date_trunc('DAY', t)"])
        keys = ", ".join([*grouped, *([unit] if unit else [])])
        aggregate = rng.choice(["COUNT(*) AS c", "SUM(ms) AS s"])
        items = ", ".join([*grouped, *([f"{unit} AS p"] if unit else []), aggregate])
        templates.append((items, filtered, keys))
    texts = []
    for _ in range(QUERIES):
        items, filtered, keys = templates[min(int(rng.expovariate(0.03)), TEMPLATES - 1)]
        start = f"202{rng.choice('23')}-{rng.randint(1, 9):02d}-{rng.choice([1, 1, rng.randint(1, 28)]):02d}"
        conditions = [f"t >= '{start}'", f"t < '2023-{rng.randint(10, 12)}-01'"]
        conditions += [f"{name} = '{name}{rng.randrange(DIMENSIONS[name])}'" for name in filtered]
        text = f"SELECT {items} FROM v WHERE {' AND '.join(conditions)}"
        texts.append(f"{text} GROUP BY {keys}" if keys else text)
    return texts


def _entries(texts: list[str], session: Session) -> list[LoggedNeed]:
    """Returns the log of the queries, one entry for each: no two have the same text in it."""
    cube, table = session.snapshot().cube("v"), session.snapshot().table("d")
    entries = []
    for number, text in enumerate(texts):
        (reference,) = session.plan(text).coverage.references
        need = RollupNeed.of(reference).as_text()
        reads = {(table.id, "DAILY"): LoggedReads(1, 30, 1.0)}
        entries.append(LoggedNeed(cube.id, f"{number}", need, 1, 1.0, 1.0, reads))
    return entries


def _timed(statement: str, session: Session) -> tuple[float, str]:
    """Returns the time of a statement, and a note: the time of the processor, the number of rows, the sums."""
    began, results = time.process_time(), []
    wall = seconds(lambda: results.append(session.execute(statement)))
    (result,) = results
    cpu = time.process_time() - began
    return wall, f"{cpu:.1f} s of CPU; {len(list(result.rows()))} statements; {result.warnings[0]}"


def measure() -> Table:
    """Returns the figures, on DuckDB and SQLite."""
    texts = _queries()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "queries.sql"
        path.write_text(";\n".join(texts), encoding="utf-8")
        with Session(Path(folder) / "w", engine="duckdb") as session:
            list(session.script(_WORLD))
            by_file, of_file = _timed(f"RECOMMEND ROLLUPS FOR v FROM '{path}'", session)
            entries = _entries(texts, session)
            needs = len({entry.need for entry in entries})
            with session.catalog.database.write() as connection:
                written = seconds(lambda: add_logged(connection, entries))
            by_log, of_log = _timed("RECOMMEND ROLLUPS FOR v", session)
            query = texts[0]
            plain = seconds(lambda: session.execute(query).rows(), 200)
            session.execute("SET rewriter.query_log = on")
            noted = seconds(lambda: session.execute(query).rows(), 200)
    rows = DAYS * ROWS_OF_DAY
    log = f"from the log, {len(entries):,} entries, {needs:,} different needs"
    return Table(
        f"RECOMMEND ROLLUPS for {QUERIES:,} queries over {len(DIMENSIONS)} dimensions, {rows:,} base rows",
        (
            Figure(f"from a file, {TEMPLATES} kinds of queries", by_file, of_file),
            Figure(log, by_log, of_log),
            Figure(f"writing {len(entries):,} new entries into the log", written),
            Figure("a query that is in the session's cache", plain),
            Figure("— noted in the log", noted),
            *_lattices(),
        ),
    )


def _lattices() -> list[Figure]:
    ratios, searched, tried = [], 0.0, 0.0
    for seed in range(LATTICES):
        _, _, model = world(seed, (DAILY, MONTHLY, YEARLY))
        found: list[tuple[int, ...]] = []
        searched += seconds(lambda: found.append(find_rollups(model, Limits(most_rollups=3))))  # noqa: B023
        best: list[float] = []
        tried += seconds(lambda: best.append(best_total(model, len(found[0]))))  # noqa: B023
        ratios.append(model.total(found[0]) / max(best[0], 1e-9))
    note = f"the worst reads {max(ratios):.3f}× the rows of the best set of its size"
    return [
        Figure(f"the search in {LATTICES} small lattices of 23 candidates", searched, note),
        Figure("— all sets of at most its size", tried),
    ]
