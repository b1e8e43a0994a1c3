"""Retention changes no number: random histories with MAINTAIN FACT, whose queries return what all events say, or fail.

Hours, days and months of random width have random lengths of RETAIN. Events come, also late; rollups are dropped,
spoiled and refreshed; the clock goes on.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rewriter.errors import MissingDataError
from rewriter.session import Session
from rewriter.statements.maintain import maintain_fact
from tests.rotation import share

START = datetime(2024, 1, 1)
Event = tuple[datetime, str, int, int]
#: The columns to group by, and the range of time.
Query = tuple[str, datetime, datetime]


class World:
    """A warehouse, and all events that it was ever given."""

    def __init__(self, session: Session, source: random.Random) -> None:
        self.session, self.source, self.now = session, source, START + timedelta(days=3)
        run = session.execute
        run("CREATE CUBE v (page STRING, u BIGINT, n BIGINT MEASURE COUNT, s BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        run("CREATE TABLE h (page STRING, u BIGINT, n BIGINT, s BIGINT) PARTITIONED BY (dt STRING)")
        kept = [f" RETAIN {source.choice((5, 20, 40))} DAYS" if source.random() < 0.8 else "" for _ in range(3)]
        rollups = [f"DAILY{source.choice(('', ' (page)', ' ()'))}{kept[1]}", f"MONTHLY{source.choice(('', ' (page)'))}"]
        rollups += [f"WEEKLY (u){kept[2]}"] if source.random() < 0.3 else []
        run(
            f"CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt){kept[0]}) "
            f"ROLLUPS ({', '.join(rollups)})"
        )
        self.events: list[Event] = []
        self.complete_until = START
        self.go_on()

    def go_on(self) -> None:
        """Lets time pass, and loads what has happened."""
        self.now += timedelta(days=self.source.randint(1, 25), hours=self.source.randrange(24))
        self.session.execute(f"SET rewriter.now = '{self.now:%Y-%m-%d %H:%M}'")
        end = self.now.replace(minute=0)
        hours = int((end - self.complete_until) / timedelta(hours=1))
        self.insert([self.event(self.complete_until, hours) for _ in range(self.source.randint(1, 6))])
        bounds = f"FROM '{self.complete_until:%Y-%m-%d %H:%M}' TO '{end:%Y-%m-%d %H:%M}'"
        self.session.execute(f"ALTER FACT f MARK COMPLETE {bounds}")
        self.complete_until = end

    def event(self, start: datetime, hours: int) -> Event:
        source = self.source
        at = start + timedelta(hours=source.randrange(max(1, hours)))
        return at, source.choice("ab"), source.randrange(3), source.randrange(100)

    def insert(self, events: list[Event]) -> None:
        values = ", ".join(f"('{page}', {u}, 1, {s}, '{at:%Y-%m-%d-%H}')" for at, page, u, s in events)
        self.session.execute(f"INSERT INTO h VALUES {values}")
        self.events += events

    def step(self) -> None:
        run, source = self.session.execute, self.source
        day = START + timedelta(days=source.randrange((self.now - START).days))
        kind = source.choice(("on", "on", "late", "refresh", "drop", "again"))
        if kind == "on":
            self.go_on()
        elif kind == "late" and source.random() < 0.5:
            recent = max(START, self.complete_until - timedelta(days=source.choice((3, 30))))
            self.insert([self.event(recent, int((self.complete_until - recent) / timedelta(hours=1)))])
        elif kind == "refresh":
            run("REFRESH FACT f")
        elif kind == "drop":
            table = source.choice([str(row[0]) for row in run("SHOW TABLES LIKE 'f_*'").rows()])
            run(f"ALTER TABLE {table} DROP IF EXISTS PARTITION (dt = '{day:%Y-%m-%d}')")
        elif kind == "again":
            ((shown,),) = run("SHOW CREATE FACT f").rows()
            run("DROP FACT f")
            run(str(shown))

    def queries(self) -> Iterator[Query]:
        for days, keys in ((1, "page"), (7, "u"), (31, "page"), (31, "page, u"), (200, "")):
            first = START + timedelta(days=self.source.randrange(0, 200, 1 if days == 1 else 31))
            if days >= 31:
                first = first.replace(day=1)
            yield keys, first, min(first + timedelta(days=days), self.complete_until)
        yield "page", START, self.complete_until

    def results(self, asked: list[Query]) -> list[object]:
        """Returns the results of queries, ``None`` for one that fails; each of the others is that of all events."""
        results: list[object] = []
        for keys, start, end in asked:
            if start >= end:
                results.append([])
                continue
            items, group = (f"{keys}, ", f" GROUP BY {keys}") if keys else ("", "")
            where = f"t >= '{start:%Y-%m-%d %H:%M}' AND t < '{end:%Y-%m-%d %H:%M}'"
            query = f"SELECT {items}SUM(n), SUM(s) FROM v WHERE {where}{group}"
            try:
                rows = sorted(self.session.execute(query).rows())
            except MissingDataError:
                results.append(None)
                continue
            assert rows == self.wanted(keys, start, end), query
            results.append(rows)
        return results

    def wanted(self, keys: str, start: datetime, end: datetime) -> list[tuple[object, ...]]:
        groups: dict[tuple[object, ...], list[int]] = {}
        for at, page, u, s in self.events:
            if start <= at < end:
                key = tuple({"page": page, "u": u}[name] for name in keys.split(", ") if name)
                sums = groups.setdefault(key, [0, 0])
                sums[0] += 1
                sums[1] += s
        if not keys and not groups:
            return [(None, None)]
        return sorted((*key, *sums) for key, sums in groups.items())


def play(seed: int, folder: Path, steps: int = 10) -> tuple[int, int, int]:
    """Returns how many partitions were dropped, how many queries had results afterwards, and how many failed."""
    dropped = right = refused = 0
    with Session(folder / str(seed), engine="duckdb") as session:
        world = World(session, random.Random(seed))
        for _ in range(steps):
            world.step()
            asked = list(world.queries())
            session.execute("REFRESH FACT f")
            before = world.results(asked)
            told = list(session.execute("MAINTAIN FACT f").rows())
            dropped += sum(int(str(row[5])) for row in told if row[7] == "dropped")
            after = world.results(asked)
            assert all(now is None or now == then for then, now in zip(before, after, strict=True)), f"seed {seed}"
            assert not [row for row in session.execute("MAINTAIN FACT f").rows() if row[7] == "dropped"]
            right += sum(result is not None for result in after)
            refused += sum(result is None for result in after)
    return dropped, right, refused


@pytest.mark.parametrize("pool", [8, pytest.param(300, marks=pytest.mark.long)])
def test_numbers_stay_or_are_refused(tmp_path: Path, pool: int) -> None:
    seeds = share(range(40), 5) if pool == 8 else range(100, 100 + pool)
    totals = [play(seed, tmp_path) for seed in seeds]
    dropped, right, refused = (sum(column) for column in zip(*totals, strict=True))
    assert dropped > 50 * len(seeds), totals
    assert right > refused, totals


def test_a_drop_before_the_rollup_is_proven_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintain_fact, "_blocked", lambda *_: [])
    lost = 0
    for seed in range(4):
        _, _, refused = play(seed, tmp_path)
        lost += refused
    monkeypatch.undo()
    kept = sum(play(seed, tmp_path / "right")[2] for seed in range(4))
    assert kept < lost
