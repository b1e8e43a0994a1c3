"""The work list of ten years of hours with 1,000 holes, beside Dagster's status of the same partitions."""

from __future__ import annotations

import tempfile
from random import Random

from benchmarks.dagster_peer import missing_keys
from benchmarks.lookups import measured
from benchmarks.timing import Figure, Table, ratio
from rewriter.catalog.model.changes import AddPartitions, PartitionWrite
from rewriter.session import Session
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import format_instant
from rewriter.timeline.time_bounds import parse_instant

REPEAT, HOLES = 51, 1_000
FIRST, LAST = "2014-01-01", "2024-01-01"
HOURLY = UpdatePeriod.HOURLY
SETUP = (
    "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE CUBE sales (n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
    "CREATE FACT sales_all OF CUBE sales "
    "STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'))",
)
ROLLUPS = "ALTER FACT sales_all ADD STORAGE days (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt = 'yyyy-MM-dd'))"


def measure() -> Table:
    """Returns the figures of the work lists. Partitions have no files: no list reads one."""
    first, last = (HOURLY.ordinal(parse_instant(bound)) for bound in (FIRST, LAST))
    holes = frozenset(Random(0).sample(range(first, last), HOLES))
    with tempfile.TemporaryDirectory() as directory, Session(directory, "duckdb") as session:
        for statement in SETUP:
            session.execute(statement)
        present = tuple(PartitionWrite((_name(ordinal),)) for ordinal in range(first, last) if ordinal not in holes)
        with session.catalog.begin() as transaction:
            transaction.commit([AddPartitions(transaction.snapshot.table("hours"), present)])
        figures = [_figure("of the hours", session)]
        session.execute(ROLLUPS)
        figures.append(_figure("of the hours and of the days over them", session))
    peer = missing_keys(f"{FIRST}-00:00", f"{LAST}-00:00", [f"{_name(hole)}:00" for hole in sorted(holes)])
    if peer is not None:
        taken, missing = peer
        assert missing == HOLES
        note = f"{missing:,} keys; the work list of the hours takes {ratio(taken.seconds, figures[0].seconds)} less"
        figures.append(taken.figure("— Dagster's missing keys of its stored status of the hours", note))
    return Table(f"Work lists of ten years of hours with {HOLES:,} holes", tuple(figures))


def _name(ordinal: int) -> str:
    date, _, hour = format_instant(HOURLY.start(ordinal)).partition("T")
    return f"{date}-{hour or '00'}"


def _figure(label: str, session: Session) -> Figure:
    statement = f"SHOW MISSING PARTITIONS OF sales_all FROM '{FIRST}' TO '{LAST}'"
    ranges = len(session.execute(statement).fetch())
    taken = measured(lambda: session.execute(statement).fetch(), REPEAT)
    return taken.figure(f"SHOW MISSING PARTITIONS {label}", f"{ranges:,} ranges")
