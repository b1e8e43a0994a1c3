"""A fact over an external table, in random histories of files that others change: what is answered after the files were
compared is what they hold. While directories are absent, a statement that reads them fails, and nothing is lost.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.catalog.commit import external_file_changes
from rewriter.catalog.model.changes import NoteFiles
from rewriter.catalog.model.objects import Partition, Table
from rewriter.catalog.storage import data_files
from rewriter.catalog.storage.data_files import FoundFile, directory
from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery, Write, WrittenFile
from rewriter.runtime.statement_context import Context
from rewriter.session import Session
from rewriter.statements.query import select
from rewriter.statements.show.content_statistics import listed_content
from rewriter.statements.write import external_base_changes, insert, managed_write
from rewriter.statements.write.external_base_changes import Listing, listed_again

DAYS = [date(2013, 2, 1) + timedelta(days=number) for number in range(28)]
WEEKS = {"2013-W06": date(2013, 2, 4), "2013-W07": date(2013, 2, 11), "2013-W08": date(2013, 2, 18)}

Row = tuple[str, int]


class Meddled(DuckDBEngine):
    """DuckDB that lets others change files before or after it reads for a write."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], object] = lambda: None
        self.after: Callable[[], object] = lambda: None

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        act, self.before = self.before, lambda: None
        act()
        files = super().write(query, write)
        act, self.after = self.after, lambda: None
        act()
        return files


class World:
    """An external table of days, and rollups over it. ``places`` says where each day's files lie."""

    def __init__(self, folder: Path, engine: Engine, seed: int) -> None:
        self.rng = random.Random(seed)
        self.engine = engine
        self.folder = folder
        #: Whether others have changed files since they were compared.
        self.meddled = False
        #: How many statements have failed because a directory was absent.
        self.absences = 0
        self.places = {day: folder / "base" / f"d={day}" for day in DAYS}
        for day in DAYS:
            self.put(day, "0.parquet")
        self.session = Session(folder / "warehouse", engine)
        self.run("CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT, v BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        columns = "(k STRING, n BIGINT, v BIGINT)"
        self.run(f"CREATE EXTERNAL TABLE base {columns} PARTITIONED BY (d STRING) LOCATION '{folder}/base'")
        self.run(f"CREATE TABLE weeks {columns} PARTITIONED BY (w STRING)")
        self.run(f"CREATE TABLE months {columns} PARTITIONED BY (m STRING)")
        self.run("MSCK REPAIR TABLE base")
        self.run(
            "CREATE FACT f OF CUBE c STORED IN (TABLE base PERIOD DAILY PARTITIONED BY t AS (d), "
            "TABLE weeks PERIOD WEEKLY PARTITIONED BY t AS (w), TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m))"
        )

    def run(self, sql: str) -> list[tuple[object, ...]]:
        return self.session.execute(sql).fetch()

    # ---- what others do

    def put(self, day: date, name: str, directory: Path | None = None) -> None:
        """A file with a few random rows, in place of one of its name if there is one."""
        rows = [(self.rng.choice("xyz"), 1, self.rng.randrange(100)) for _ in range(self.rng.choice((1, 1, 2)))]
        path = (directory or self.places[day]) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_mtime_ns if path.exists() else 0
        columns = zip(*rows, strict=True)
        pq.write_table(pa.table(dict(zip(("k", "n", "v"), map(list, columns), strict=True))), path)
        if path.stat().st_mtime_ns <= before:
            os.utime(path, ns=(before + 1, before + 1))

    def meddle(self, *, remove: bool = False) -> None:
        """Others change the files of a day. A file that is removed while it is read fails the statement, so there is no
        result.
        """
        day, self.meddled = self.rng.choice(DAYS), True
        names = sorted(path.name for path in self.places[day].glob("*.parquet"))
        kind = self.rng.choice(("change", "change", "add", "remove"))
        if kind == "remove" and names and remove:
            (self.places[day] / self.rng.choice(names)).unlink()
        else:
            self.put(day, self.rng.choice(names) if kind == "change" and names else f"{len(names) + 1}.parquet")

    # ---- what is done with statements

    def roll_up(self, meddled: float = 0.3) -> None:
        """A rollup is computed from the base, perhaps while others change it."""
        if isinstance(self.engine, Meddled) and self.rng.random() < meddled:
            setattr(self.engine, self.rng.choice(("before", "after")), self.meddle)
        week, first = self.rng.choice(list(WEEKS.items()))
        if self.rng.random() < 0.5:
            bounds = f"d >= '{first}' AND d < '{first + timedelta(days=7)}'"
            self.run(
                f"INSERT OVERWRITE weeks PARTITION (w = '{week}') "
                f"SELECT k, SUM(n), SUM(v) FROM base WHERE {bounds} GROUP BY k"
            )
        else:
            self.run("INSERT OVERWRITE months SELECT k, SUM(n), SUM(v), '2013-02' FROM base GROUP BY k")

    def refresh(self) -> None:
        if isinstance(self.engine, Meddled) and self.rng.random() < 0.3:
            setattr(self.engine, self.rng.choice(("before", "after")), self.meddle)
        self.run(f"REFRESH FACT f{self.rng.choice(('', '', ' FORCE'))}")

    def write(self) -> None:
        day = self.rng.choice(DAYS)
        verb = self.rng.choice(("INTO", "OVERWRITE"))
        self.run(f"INSERT {verb} base PARTITION (d = '{day}') VALUES ('x', 1, {self.rng.randrange(100)})")

    def move(self) -> None:
        """A day is read from another directory, with other files."""
        day = self.rng.choice(DAYS)
        directory = self.folder / "elsewhere" / str(self.rng.randrange(1 << 30)) / f"d={day}"
        self.put(day, "0.parquet", directory)
        self.run(f"ALTER TABLE base PARTITION (d = '{day}') SET LOCATION '{directory}'")
        self.places[day] = directory

    def come_back(self) -> None:
        """A day is dropped, changed, and registered again at its default directory."""
        day = self.rng.choice(DAYS)
        self.run(f"ALTER TABLE base DROP PARTITION (d = '{day}')")
        self.places[day] = self.folder / "base" / f"d={day}"
        self.put(day, "0.parquet")
        self.run(f"ALTER TABLE base ADD PARTITION (d = '{day}')")

    def lose(self) -> None:
        """Directories of some days are absent for a while: their rows are in no result, nor are they missed in one."""
        if isinstance(self.engine, Meddled):
            self.engine.before = self.engine.after = lambda: None
        self.compare()
        lost = {day: self.places[day] for day in self.rng.sample(DAYS, self.rng.choice((1, 2, 5)))}
        for day, place in lost.items():
            self.places[day] = place.rename(self.folder / f"lost-{day}")
        missing = [row for row in self.run("SHOW MISSING PARTITIONS OF f") if row[0] == "base"]
        assert sorted(lost) == sorted(
            day for row in missing for day in DAYS if str(row[2]) <= str(day) < str(row[3]) and row[5] == "load"
        )
        assert self.fails("SELECT COUNT(*), MAX(v) FROM base", lost)
        for _ in range(self.rng.randrange(2, 6)):
            self.rng.choice((self.read_rest, self.count_rest, self.roll_up_rest, self.refresh_rest))(lost)
        for day, place in lost.items():
            self.places[day] = self.places[day].rename(place)

    def fails(self, sql: str, lost: Mapping[date, Path]) -> bool:
        """Runs a statement, and returns whether it fails because of one of these directories."""
        failure = None
        try:
            self.run(sql)
        except Error as error:
            failure = error
        if failure is None:
            return False
        assert failure.condition == "PATH_NOT_FOUND"
        assert any(str(place) in failure.message for place in lost.values())
        self.absences += 1
        return True

    def read_rest(self, lost: Mapping[date, Path]) -> None:
        """A query of the cube fails, or rollups hold what it asks for."""
        first, end = sorted(self.rng.sample([*DAYS, date(2013, 3, 1)], 2))
        if not self.fails(f"SELECT SUM(v) FROM c WHERE t >= '{first}' AND t < '{end}'", lost):
            self.compared(first, end)

    def count_rest(self, lost: Mapping[date, Path]) -> None:
        first, end = sorted(self.rng.sample([*DAYS, date(2013, 3, 1)], 2))
        items = self.rng.choice(("COUNT(*)", "MAX(v)", "MIN(d), MAX(d)", "SUM(v)"))
        is_lost = any(first <= day < end for day in lost)
        assert self.fails(f"SELECT {items} FROM base WHERE d >= '{first}' AND d < '{end}'", lost) == is_lost

    def roll_up_rest(self, lost: Mapping[date, Path]) -> None:
        week, first = self.rng.choice(list(WEEKS.items()))
        end = first + timedelta(days=7)
        is_lost = any(first <= day < end for day in lost)
        query = f"SELECT k, SUM(n), SUM(v) FROM base WHERE d >= '{first}' AND d < '{end}' GROUP BY k"
        assert self.fails(f"INSERT OVERWRITE weeks PARTITION (w = '{week}') {query}", lost) == is_lost

    def refresh_rest(self, lost: Mapping[date, Path]) -> None:
        """The rollups that can be computed are computed; the others stay as they are."""
        for row in self.run(f"REFRESH FACT f{self.rng.choice(('', ' FORCE'))}"):
            is_lost = any(str(row[2]) <= str(day) < str(row[3]) for day in lost)
            assert str(row[5]).startswith("skipped: the directory") == is_lost
            self.absences += is_lost

    def compare(self) -> None:
        self.run(self.rng.choice(("MSCK REPAIR TABLE base", "REFRESH TABLE base", "REFRESH FACT f")))
        self.meddled = False

    # ---- what must come out

    def rows(self, first: date, end: date) -> Iterator[Row]:
        """What the files hold, read without any code under test."""
        for day in DAYS:
            for path in self.places[day].glob("*.parquet") if first <= day < end else ():
                for row in pq.read_table(path, partitioning=None).to_pylist():
                    yield row["k"], row["v"]

    def check(self) -> int:
        """Compares results for each rollup's time and for a random range, and returns the number of rollup partitions
        read.
        """
        first, end = sorted(self.rng.sample([*DAYS, date(2013, 3, 1)], 2))
        ranges = [(week, week + timedelta(days=7)) for week in WEEKS.values()]
        return sum(self.compared(*bounds) for bounds in (*ranges, (DAYS[0], date(2013, 3, 1)), (first, end)))

    def compared(self, first: date, end: date) -> int:
        sums, counts = Counter[str](), Counter[str]()
        for k, v in self.rows(first, end):
            sums[k] += v
            counts[k] += 1
        query = f"SELECT k, COUNT(*), SUM(v) FROM c WHERE t >= '{first}' AND t < '{end}' GROUP BY k ORDER BY k"
        assert self.run(query) == [(k, counts[k], sums[k]) for k in sorted(counts)]
        plan = [str(line) for (line,) in self.run(f"EXPLAIN COVER {query}")]
        return sum("f.weeks" in line or "f.months" in line for line in plan)

    def step(self) -> None:
        kinds: dict[Callable[[], object], int] = {
            lambda: self.meddle(remove=True): 8, self.roll_up: 5, self.refresh: 2, self.write: 2, self.move: 1,
            self.come_back: 1, self.lose: 2,
        }  # fmt: skip
        self.rng.choices(list(kinds), list(kinds.values()))[0]()


def history(folder: Path, engine: Engine, seed: int, rounds: int) -> tuple[int, int]:
    """Runs a history, and returns the number of rollup partitions that its queries read, and that of statements that
    failed because a directory was absent.
    """
    world, used = World(folder, engine, seed), 0
    with world.session:
        world.roll_up(meddled=1.0)  # Nothing is known of the files before.
        world.lose()
        used += world.check()
        for _ in range(rounds):
            for _ in range(world.rng.randrange(1, 5)):
                world.step()
            if isinstance(world.engine, Meddled):
                world.engine.before = world.engine.after = lambda: None
            if world.meddled:
                world.compare()
            used += world.check()
            assert world.run("REFRESH TIMELINES OF f") == []
    return used, world.absences


SEEDS = range(3)


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_answered_is_what_the_files_hold(tmp_path: Path, seed: int) -> None:
    engine = Meddled()
    try:
        used, absences = history(tmp_path, engine, seed, 12)
        assert used > 5
        assert absences
    finally:
        engine.close()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1030))
def test_what_is_answered_is_what_the_files_hold_long(tmp_path: Path, seed: int) -> None:
    engine = Meddled()
    try:
        history(tmp_path, engine, seed, 100)
    finally:
        engine.close()


def test_spark_answers_what_the_files_hold(tmp_path: Path, spark: Engine) -> None:
    assert all(history(tmp_path, spark, 1, 3))


def _nothing_is_news(patch: pytest.MonkeyPatch) -> None:
    for module in (external_file_changes, external_base_changes):
        patch.setattr(module, "is_news", lambda listed, known: False)


def _names_tell_all(patch: pytest.MonkeyPatch) -> None:
    """Sizes and times of files do not count."""

    def content(table: Table, partition: Partition, files: Iterable[FoundFile]) -> str:
        return listed_content(table, partition, [FoundFile(file.path, 0, 0) for file in files])

    patch.setattr(external_base_changes, "listed_content", content)


def _nobody_looks_again(patch: pytest.MonkeyPatch) -> None:
    """What changes while a query runs is taken for what it has read."""

    def as_it_is_now(listings: Sequence[Listing], context: Context) -> list[NoteFiles]:
        return [
            replace(note, partitions=tuple(replace(part, before=part.after) for part in note.partitions if part.after))
            for note in listed_again(listings, context)
        ]

    patch.setattr(managed_write, "listed_again", as_it_is_now)


def _own_writes_are_no_news(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(insert, "files_written", lambda table, keys: NoteFiles(table, ()))


def _an_absent_directory_is_empty(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(data_files, "_listed_files", lambda table, listed: data_files._walk(directory(table, listed)) or [])
    patch.setattr(select, "_without_directory", lambda table, partitions: [])


PLANTS = [
    _nothing_is_news, _names_tell_all, _nobody_looks_again, _own_writes_are_no_news, _an_absent_directory_is_empty,
]  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("plant", PLANTS)
def test_a_mistake_would_be_found(
    tmp_path: Path, plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    engine = Meddled()
    detected = 0
    try:
        for seed in range(12):
            try:
                history(tmp_path / str(seed), engine, seed, 4)
            except AssertionError:
                detected += 1
                break
    finally:
        engine.close()
    assert detected
