"""Random histories of tables that streams fill under partition commit, against a model of which rows covers may see.

A month of the base is in no cover while a stream fills it, and in all covers of its time from its commit on: that of
its quarter, too. After each step the stored timelines are those that a rebuild makes. Planted faults must be caught.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from rotation import turn

from rewriter.catalog.commit import partition_commits, partition_rows
from rewriter.catalog.commit.completeness import PeriodPartitions
from rewriter.catalog.commit.fact_timelines import FactTimelineUpdate
from rewriter.catalog.commit.partition_commits import CommitClock, PartitionCommits
from rewriter.catalog.commit.stored_timelines import ABSENT
from rewriter.catalog.model.objects import Table
from rewriter.catalog.store import schema
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

#: Months as numbers since January 2020.
MONTHS = range(9)
Key = tuple[int, str]


@dataclass(frozen=True)
class Kind:
    """A form of the base table: the countries of a month's partitions, and the clause that says when it is whole."""

    countries: tuple[str, ...]
    clause: str

    def is_whole(self, countries: set[str]) -> bool:
        needed = {"eu", "us"} if " IN " in self.clause else set()
        return bool(countries) and needed <= countries


KINDS = {
    "plain": Kind(("",), ""),
    "any": Kind(("eu", "us"), "COMPLETE WITH ANY c"),
    "listed": Kind(("eu", "us", "fr"), "COMPLETE WITH c IN ('eu', 'us')"),
}


@dataclass
class Model:
    """What is in the base table: the rows of each partition, and the state of each."""

    kind: Kind
    delay: int
    rows: dict[Key, int] = field(default_factory=dict)
    open: set[Key] = field(default_factory=set)
    retired: set[Key] = field(default_factory=set)
    marks: dict[str, int] = field(default_factory=dict)
    late: int = 0

    def batch(self, stream: str, added: dict[Key, int]) -> None:
        self.marks[stream] = max(self.marks.get(stream, -1), *(month for month, _ in added))
        whole = {month for month, _ in added if self.is_visible(month)}
        for key, rows in added.items():
            if key in self.rows and key not in self.open:
                self.late += 1
            elif key not in self.rows:
                if key in self.retired or (self.kind.clause and key[0] in whole):
                    self.late += 1
                else:
                    self.open.add(key)
            self.retired.discard(key)
            self.rows[key] = self.rows.get(key, 0) + rows
        self.open = {(month, c) for month, c in self.open if month + 1 + self.delay > min(self.marks.values())}

    def insert(self, key: Key, rows: int, overwrite: bool) -> None:
        self.rows[key] = rows if overwrite else self.rows.get(key, 0) + rows
        self.retired.discard(key)

    def drop(self, key: Key) -> None:
        del self.rows[key]
        if key not in self.open:
            self.retired.add(key)
        self.open.discard(key)

    def is_visible(self, month: int) -> bool:
        countries = {c for m, c in self.rows if m == month}
        return self.kind.is_whole(countries) and all((month, c) not in self.open for c in countries)

    def sums(self) -> dict[int, int]:
        """Returns the sum of each month that covers see: those that are whole and have no dropped partition."""
        return {
            month: sum(rows for (m, _), rows in self.rows.items() if m == month)
            for month in MONTHS
            if self.is_visible(month) and not any(m == month for m, _ in self.retired)
        }


class World:
    """A warehouse and its model. Each step changes both and compares them."""

    def __init__(self, folder: Path, engine: DuckDBEngine, kind: Kind, rng: random.Random) -> None:
        self._folder, self._rng, self._kind = folder, rng, kind
        self._files = 0
        self.model = Model(kind, rng.randrange(2))
        self.session = Session(folder / "w", engine)
        columns = "m STRING, c STRING" if kind.clause else "m STRING"
        days = 28 * self.model.delay  # Due once the month after the next begins.
        self.session.execute(
            f"CREATE TABLE months (n BIGINT) PARTITIONED BY ({columns}) TBLPROPERTIES "
            f"('rewriter.partition_commit.trigger' = 'partition time', "
            f"'rewriter.partition_commit.delay' = '{days} days')"
        )
        column = ", c STRING" if kind.clause else ""
        self.session.execute(f"CREATE TABLE quarters (n BIGINT{column}) PARTITIONED BY (q STRING)")
        country = "c STRING, " if kind.clause else ""
        self.session.execute(f"CREATE CUBE c ({country}n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        self.session.execute(
            f"CREATE FACT f OF CUBE c STORED IN (TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m) {kind.clause}, "
            "TABLE quarters PERIOD QUARTERLY PARTITIONED BY t AS (q))"
        )
        self.session.execute("SET rewriter.partial_data = true")

    def step(self) -> str:
        actions: list[tuple[int, Callable[[], str]]] = [
            (8, self._batch), (2, self._insert), (2, self._drop), (1, self._commit), (1, self._truncate),
            (1, self._compact), (3, self._refresh), (2, self._roll_up),
        ]  # fmt: skip
        weights, choices = zip(*actions, strict=True)
        return self._rng.choices(choices, weights)[0]()

    def check(self) -> None:
        model, run = self.model, lambda text: self.session.execute(text).fetch()
        status = {self._name(key): "open" if key in model.open else "committed" for key in model.rows}
        assert dict(run("SHOW PARTITIONS months STATUS")) == status
        assert run("REFRESH TIMELINES OF f") == []
        open_months = {month for month, _ in model.open}
        assert [row[13] for row in run("SHOW TIMELINES OF f") if row[0] == "months"] == [len(open_months)]
        if not self._kind.clause:
            self._check_work()
        assert run("SELECT SUM(n) FROM months")[0][0] == (sum(model.rows.values()) if model.rows else None)
        sums = model.sums()
        by_month = run("SELECT MONTH(t), SUM(n) FROM c WHERE t >= '2020-01-01' AND t < '2020-10-01' GROUP BY MONTH(t)")
        assert {month - 1: total for month, total in by_month} == sums
        for quarter in range(3):
            months = range(3 * quarter, 3 * quarter + 3)
            if any(month in months for month, _ in model.retired):
                continue  # A rollup may hold rows that retention has dropped since.
            start, end = _first(months.start), _first(months.stop)
            ((total,),) = run(f"SELECT SUM(n) FROM c WHERE t >= '{start}' AND t < '{end}'")
            visible = [sums[month] for month in months if month in sums]
            assert total == (sum(visible) if visible else None), f"quarter {quarter}"
        late = {row[0]: row[-1] for row in run("SHOW STREAMS")}
        assert sum(late.values()) == model.late

    def _check_work(self) -> None:
        """Checks what is to be loaded: months that neither exist nor were dropped; streams load those that are open."""
        model = self.model
        expected = {
            month: "wait" if (month, "") in model.open else "load"
            for month in MONTHS
            if (month, "") in model.open or ((month, "") not in model.rows and (month, "") not in model.retired)
        }
        work: dict[int, str] = {}
        text = "SHOW MISSING PARTITIONS OF f FROM '2020-01-01' TO '2020-10-01'"
        for table, _, start, _, periods, action in self.session.execute(text).fetch():
            if table == "months":
                first = int(str(start)[5:7] or 1) - 1
                work |= dict.fromkeys(range(first, first + int(periods)), str(action))
        assert work == expected

    def _batch(self) -> str:
        stream = self._rng.choice("aab")
        newest = self.model.marks.get(stream, 0)
        months = {min(MONTHS[-1], max(0, newest + self._rng.choice((-4, -1, 0, 0, 1, 1, 2)))) for _ in range(2)}
        keys = [(month, c) for month in months for c in self._kind.countries if self._rng.random() < 0.6]
        added = {key: self._rng.randrange(1, 9) for key in keys} or {(newest, self._kind.countries[0]): 1}
        source = self._folder / f"in_{stream}"
        source.mkdir(exist_ok=True)
        self._files += 1
        columns: dict[str, list[Any]] = {"n": list(added.values()), "m": [_text(month) for month, _ in added]}
        if self._kind.clause:
            columns["c"] = [country for _, country in added]
        pq.write_table(pa.table(columns), source / f"{self._files}.parquet")
        self.session.execute(
            f"INSERT INTO months BY NAME SELECT * FROM STREAM parquet.`{source}` "
            f"OPTIONS ('stream' = '{stream}', 'checkpoint' = '{self._folder}/checkpoint_{stream}')"
        )
        self.model.batch(stream, added)
        return f"batch of {stream}: {added}"

    def _insert(self) -> str:
        key, rows, overwrite = self._key(), self._rng.randrange(1, 9), self._rng.random() < 0.5
        verb = "OVERWRITE" if overwrite else "INTO"
        self.session.execute(f"INSERT {verb} months PARTITION ({self._spec(key)}) VALUES ({rows})")
        self.model.insert(key, rows, overwrite)
        return f"insert {verb} {key}"

    def _drop(self) -> str:
        key = self._rng.choice(sorted(self.model.open or self.model.rows)) if self.model.rows else None
        if key is None:
            return "nothing"
        self.session.execute(f"ALTER TABLE months DROP PARTITION ({self._spec(key)})")
        self.model.drop(key)
        return f"drop {key}"

    def _commit(self) -> str:
        if not self.model.rows:
            return "nothing"
        key = self._rng.choice(sorted(self.model.rows))
        self.session.execute(f"ALTER TABLE months COMMIT PARTITION ({self._spec(key)})")
        self.model.open.discard(key)
        return f"commit {key}"

    def _truncate(self) -> str:
        if not self.model.rows:
            return "nothing"
        key = self._rng.choice(sorted(self.model.rows))
        self.session.execute(f"TRUNCATE TABLE months PARTITION ({self._spec(key)})")
        self.session.execute(f"INSERT INTO months PARTITION ({self._spec(key)}) VALUES (1)")
        self.model.insert(key, 1, True)
        return f"truncate {key}"

    def _compact(self) -> str:
        self.session.execute(
            self._rng.choice(("ALTER TABLE months COMPACT", "ANALYZE TABLE months COMPUTE STATISTICS"))
        )
        return "compact"

    def _refresh(self) -> str:
        self.session.execute("REFRESH FACT f")
        return "refresh"

    def _roll_up(self) -> str:
        """Computes rollups from all rows of the table, those of open partitions too."""
        country = ", c" if self._kind.clause else ""
        quarter = "concat(substr(m, 1, 4), '-Q', CAST((CAST(substr(m, 6, 2) AS INT) + 2) DIV 3 AS STRING))"
        self.session.execute(
            f"INSERT OVERWRITE quarters PARTITION (q) SELECT SUM(n){country}, {quarter} FROM months "
            f"GROUP BY {quarter}{country}"
        )
        return "roll up"

    def _key(self) -> Key:
        return self._rng.choice(MONTHS), self._rng.choice(self._kind.countries)

    def _spec(self, key: Key) -> str:
        month, country = key
        return f"m = '{_text(month)}'" + (f", c = '{country}'" if self._kind.clause else "")

    def _name(self, key: Key) -> str:
        return f"m={_text(key[0])}" + (f"/c={key[1]}" if self._kind.clause else "")


def _text(month: int) -> str:
    return f"2020-{month + 1:02}"


def _first(month: int) -> str:
    return f"2020-{month + 1:02}-01"


def history(folder: Path, engine: DuckDBEngine, seed: str, steps: int) -> Iterator[str]:
    """Runs a random history, and yields its steps after their checks."""
    rng = random.Random(seed)
    world = World(folder, engine, KINDS[rng.choice(sorted(KINDS))], rng)
    with world.session:
        for _ in range(steps):
            step = world.step()
            world.check()
            yield step


@pytest.mark.parametrize("part", [*range(4), *(pytest.param(n, marks=pytest.mark.long) for n in range(4, 40))])
def test_a_row_is_in_no_cover_or_in_all(tmp_path: Path, duckdb: DuckDBEngine, part: int) -> None:
    seed = f"{turn()} {part}"
    done: list[str] = []
    try:
        done.extend(history(tmp_path, duckdb, seed, 25))
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, after {done}") from error


def _fastest_stream(connection: sa.Connection, table: Table, _rule: Any, _now: float, own: Mapping[str, int]) -> int:
    row = schema.batches.c
    marks = connection.execute(sa.select(row.watermark).where(row.table_id == table.id)).scalars()
    return max(mark for mark in (*marks, *own.values()) if mark is not None)


def _due_early(clock: CommitClock, slot: Any, written_at: int) -> bool:
    return slot is not None and clock.watermark is not None and slot.start <= clock.watermark


def _opened_as_written(update: FactTimelineUpdate, table: Any, slot: Any) -> None:
    update._set_states(table, slot, frozenset({schema.FRESH}))


@contextmanager
def _dropped_as_retired() -> Iterator[None]:
    """The drop of an open partition leaves no tombstone."""
    with (
        patch.object(partition_rows, "insert_tombstones", lambda *_: None),
        patch.object(FactTimelineUpdate, "note_wiped", FactTimelineUpdate.note_dropped),
    ):
        yield


def _opened_as_absent(update: FactTimelineUpdate, table: Any, slot: Any) -> None:
    update._set_states(table, slot, ABSENT)


@contextmanager
def _silent_commit() -> Iterator[None]:
    """The commit of a partition is no event: rollups over it stay fresh."""
    with patch.object(FactTimelineUpdate, "_note_base_change", lambda *_: None):
        yield


PLANTS: dict[str, Callable[[], Any]] = {
    "the fastest stream decides": lambda: patch.object(partition_commits, "_table_watermark", _fastest_stream),
    "a partition is due when its period begins": lambda: patch.object(CommitClock, "is_due", _due_early),
    "an open partition is in the timeline": lambda: patch.object(FactTimelineUpdate, "note_opened", _opened_as_written),
    "an open partition that is dropped was retention": _dropped_as_retired,
    "an open partition is forgotten": lambda: patch.object(FactTimelineUpdate, "note_opened", _opened_as_absent),
    "a commit is no event": _silent_commit,
    "an open part does not count": lambda: patch.object(
        PeriodPartitions, "base_states", lambda _, binding, parts: frozenset(
            {schema.FRESH} if binding.is_whole({part.combination for part in parts if not part.dropped}) else ()
        )
    ),
    "open partitions stay open": lambda: patch.object(PartitionCommits, "_commit_due", lambda *_: None),
}  # fmt: skip


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_caught(tmp_path: Path, duckdb: DuckDBEngine, plant: str) -> None:
    with PLANTS[plant]():
        for number in range(12):
            try:
                list(history(tmp_path / str(number), duckdb, f"planted {number}", 20))
            except AssertionError:
                return
    pytest.fail("no history shows the fault")
