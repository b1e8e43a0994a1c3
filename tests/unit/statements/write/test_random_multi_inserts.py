"""Random multi-inserts against a model that keeps partitions in a dictionary: the same rows, or the same refusal."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.session import Session

#: By table and partition (c, d): the ids in it.
State = dict[tuple[str, tuple[int, int]], list[int]]

IDS = range(8)
SOURCES = (
    "raw s",
    "(SELECT * FROM raw WHERE id >= 0) s",
    "(SELECT DISTINCT * FROM raw) AS s",
    "(SELECT id, MAX(c) AS c, MIN(d) AS d FROM raw GROUP BY id) s",
)


@dataclass(frozen=True)
class One:
    """One INSERT: the target, the values of (c, d) that PARTITION gives, and which ids it takes."""

    table: str
    overwrite: bool
    static: tuple[int | None, int | None]
    modulus: int
    rest: int

    @property
    def sql(self) -> str:
        c, d = self.static
        given = [f"{name}={value}" for name, value in (("c", c), ("d", d)) if value is not None]
        columns = ["id"] + [name for name, value in (("c", c), ("d", d)) if value is None]
        partition = f" PARTITION ({', '.join(given)})" if given else ""
        how = "INSERT OVERWRITE TABLE" if self.overwrite else "INSERT INTO"
        where = f"WHERE s.id % {self.modulus} = {self.rest}"
        return f"{how} {self.table}{partition} SELECT {', '.join(columns)} {where}"

    def partitions(self) -> dict[tuple[int, int], list[int]]:
        """Returns the written rows by partition; a static partition is always included."""
        by_partition: dict[tuple[int, int], list[int]] = {}
        c, d = self.static
        if c is not None and d is not None:
            by_partition[c, d] = []
        for id in IDS:
            if id % self.modulus == self.rest:
                key = (id % 3 if c is None else c, id % 2 if d is None else d)
                by_partition.setdefault(key, []).append(id)
        return by_partition

    def wipes(self, key: tuple[int, int], static_mode: bool) -> bool:
        """Returns True if it removes a partition that it does not write."""
        c, d = self.static
        if not (self.overwrite and static_mode) or (c is not None and d is not None):
            return False
        return c is None or key[0] == c


def after(state: State, inserts: Sequence[One], static_mode: bool) -> State | None:
    """Returns the state after the inserts, or ``None`` if one of them overwrites what another one writes."""
    written = [insert.partitions() for insert in inserts]
    for insert, mine in zip(inserts, written, strict=True):
        for key in [
            key for key, ids in mine.items() if not ids and not insert.overwrite and (insert.table, key) in state
        ]:
            del mine[key]  # to add nothing to what is there is no write
    for i, insert in enumerate(inserts):
        for j, earlier in enumerate(inserts):
            if i == j or insert.table != earlier.table or not insert.overwrite:
                continue
            if any(key in written[i] or insert.wipes(key, static_mode) for key in written[j]):
                return None
    after = {key: list(ids) for key, ids in state.items()}
    for insert, mine in zip(inserts, written, strict=True):
        for table, key in list(after):
            if table == insert.table and (insert.wipes(key, static_mode) or (insert.overwrite and key in mine)):
                del after[table, key]
    for insert, mine in zip(inserts, written, strict=True):
        for key, ids in mine.items():
            after.setdefault((insert.table, key), []).extend(ids)
    return after


def content(session: Session) -> State:
    state: State = {}
    for table in ("a", "b"):
        for (name,) in session.execute(f"SHOW PARTITIONS {table}").fetch():
            c, d = (int(level.split("=")[1]) for level in str(name).split("/"))
            state[table, (c, d)] = []
        for id, c, d in session.execute(f"SELECT * FROM {table}").fetch():
            assert isinstance(id, int)
            assert isinstance(c, int)
            assert isinstance(d, int)
            state[table, (c, d)].append(id)
    return {key: sorted(ids) for key, ids in state.items()}


def random_insert(rng: random.Random, static_mode: bool) -> One:
    c, d = (rng.choice((None, rng.randrange(3))) for _ in "cd")
    overwrite = rng.random() < 0.4
    if static_mode and overwrite and c is None:
        d = None  # refused otherwise
    modulus = rng.randrange(1, 6)
    return One(rng.choice("ab"), overwrite, (c, d), modulus, rng.randrange(modulus + 1))


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(3))
def test_as_the_model(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    kept = refused = 0
    with Session(tmp_path / "warehouse", "duckdb") as session:
        session.execute("CREATE TABLE raw (id INT, c INT, d INT)")
        session.execute(f"INSERT INTO raw VALUES {', '.join(f'({id}, {id % 3}, {id % 2})' for id in IDS)}")
        for table in ("a", "b"):
            session.execute(f"CREATE TABLE {table} (id INT) PARTITIONED BY (c INT, d INT)")
        state: State = {}
        for number in range(15):
            static_mode = rng.random() < 0.3
            session.execute(f"SET rewriter.partition_overwrite_mode = {'static' if static_mode else 'dynamic'}")
            inserts = [random_insert(rng, static_mode) for _ in range(rng.randrange(2, 5))]
            sql = " ".join((f"FROM {rng.choice(SOURCES)}", *(insert.sql for insert in inserts)))
            expected = after(state, inserts, static_mode)
            told = f"seed {seed}, statement {number}, static {static_mode}: {sql}"
            if expected is None:
                try:
                    pytest.fail(f"{session.execute(sql).rowcount} rows were written: {told}")
                except Error as error:
                    condition = error.condition
                assert condition == "CONFLICTING_INSERTS", told
                refused += 1
            else:
                rows = session.execute(sql).rowcount
                assert rows == sum(len(ids) for insert in inserts for ids in insert.partitions().values()), told
                state = {key: sorted(ids) for key, ids in expected.items()}
                kept += 1
            assert content(session) == state, told
    assert kept > refused > 0
