"""Adding and finding partitions in the catalog: tables of 10⁴ to 10⁶ partitions, on SQLite and on PostgreSQL.

A table is partitioned by (region, ds, hr): some regions, 417 days, 24 hours. A day of a region is 24 partitions and a
month 744, for every size. Four days of all regions, which the key's order does not support, are 1 % of the table.
"""

from __future__ import annotations

import datetime
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from benchmarks.timing import Figure, Table, shown
from rewriter.catalog import Catalog, Snapshot
from rewriter.catalog.model import objects
from rewriter.catalog.model.changes import AddPartitions, CreateObject, PartitionWrite

SIZES = (1, 10, 100)
DAYS, HOURS = 417, 24
BATCHES = (1_000, 10_000, 100_000)
REPEAT, GETS = 5, 500
#: The note about a text that was run before.
AGAIN = ", the same text again"

EXTRA = "pip install -e '.[bench]' brings it"

#: The warehouse's directory and the URL of its catalog's database (``None``: the file in the directory).
Place = tuple[Path, str | None]


@dataclass(frozen=True)
class Taken:
    """A duration in seconds: wall time, and the CPU time of this process."""

    seconds: float
    cpu: float

    def figure(self, label: str, note: str = "") -> Figure:
        """Returns the row of a table. The CPU time shows the share of waiting for disk, server or other programs."""
        return Figure(label, self.seconds, f"{note}{'; ' if note else ''}CPU {shown(self.cpu)}")


def measured(run: Callable[[], object], repeat: int = 1) -> Taken:
    """Returns the medians of ``repeat`` runs."""
    walls, cpus = [], []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return Taken(statistics.median(walls), statistics.median(cpus))


@dataclass(frozen=True)
class Shape:
    """The partitions of a benchmark's table: each hour of ``days`` days in ``regions`` regions."""

    regions: int
    days: int = DAYS

    @property
    def size(self) -> int:
        """The number of partitions."""
        return self.regions * self.days * HOURS

    def dates(self) -> list[str]:
        """Returns the days, from 2023 on."""
        first = datetime.date(2023, 1, 1)
        return [(first + datetime.timedelta(days=day)).isoformat() for day in range(self.days)]

    def values(self) -> list[tuple[str, str, str]]:
        """Returns the partition values (region, ds, hr), in the order of the keys."""
        return [
            (f"r{region:03d}", ds, str(hour))
            for region in range(self.regions)
            for ds in self.dates()
            for hour in range(HOURS)
        ]

    def filters(self) -> dict[str, str]:
        """Returns the queries, each as a filter that a Hive metastore also accepts."""
        dates, region = self.dates(), f"region = 'r{self.regions // 2:03d}'"
        some = dates[:: max(2, self.days // 100)][:100]
        return {
            "one day": f"{region} and ds = '{dates[20]}'",
            "one month": f"{region} and ds >= '{dates[5]}' and ds <= '{dates[35]}'",
            f"OR of {len(some)} days": f"{region} and ({' or '.join(f'''ds = '{ds}' ''' for ds in some)})",
            "second column only": f"ds >= '{dates[-max(1, self.days // 100)]}'",
        }


def on_sqlite() -> Iterator[Table]:
    """Returns a table of figures for each size."""
    with tempfile.TemporaryDirectory(prefix="rewriter-lookups-") as folder:
        yield from _measure("SQLite", numbered(Path(folder), None))


def no_postgresql() -> str | None:
    """Returns the reason why no PostgreSQL can be started here, in one line, or ``None``."""
    missing = [name for name in ("pgserver", "psycopg") if find_spec(name) is None]
    return f"PostgreSQL is not measured: {' and '.join(missing)} missing; {EXTRA}" if missing else None


def on_postgresql() -> Iterator[Table]:
    """Returns the same on a PostgreSQL server of its own, over a socket."""
    with tempfile.TemporaryDirectory(prefix="rewriter-lookups-") as folder, postgresql_urls() as make:
        yield from _measure("PostgreSQL", numbered(Path(folder), make))


def open_catalog(location: Place) -> Catalog:
    """Opens the catalog of a place."""
    warehouse, url = location
    return Catalog.open(warehouse) if url is None else Catalog.open(warehouse, url=url)


def add(location: Place, shape: Shape, batch: int) -> Taken:
    """Measures adding all partitions to a new table ``p``, ``batch`` of them in each commit."""
    catalog = open_catalog(location)
    with catalog.begin() as transaction:
        table = objects.Table(
            transaction.allocate_id(),
            "p",
            (objects.Column("x", "int"),),
            tuple(objects.Column(name, type) for name, type in (("region", "string"), ("ds", "string"), ("hr", "int"))),
            "parquet",
            str(location[0] / "p"),
        )
        transaction.commit([CreateObject(table)])
    writes = [PartitionWrite(values) for values in shape.values()]

    def run() -> None:
        for start in range(0, len(writes), batch):
            with catalog.begin() as transaction:
                transaction.commit([AddPartitions(table, tuple(writes[start : start + batch]))])

    taken = measured(run)
    catalog.close()
    return taken


def rate(shape: Shape, seconds: float) -> str:
    """Returns ``33,000 partitions/s``."""
    return f"{shape.size / seconds:,.0f} partitions/s"


def gets(snapshot: Snapshot, shape: Shape) -> tuple[Taken, Taken]:
    """Measures the first look-up of one partition by its values, and by a filter."""
    table = snapshot.table("p")
    chosen = random.Random(0).sample(shape.values(), GETS)

    def by_values(values: tuple[str, str, str]) -> None:
        partition = snapshot.partition(table, values)
        assert partition is not None
        assert partition.values == values

    def by_filter(values: tuple[str, str, str]) -> None:
        region, ds, hour = values
        text = f"region = '{region}' and ds = '{ds}' and hr = {hour}"
        assert snapshot.get_partitions_by_filter(table, text)[0].values == values

    return each(by_values, chosen), each(by_filter, chosen)


def each(run: Callable[[tuple[str, str, str]], None], chosen: Sequence[tuple[str, str, str]]) -> Taken:
    """Returns the medians of one call, each for another partition. The first tenth warms up."""
    times = [measured(partial(run, values)) for values in chosen][len(chosen) // 10 :]
    return Taken(statistics.median(t.seconds for t in times), statistics.median(t.cpu for t in times))


def answers(snapshot: Snapshot, shape: Shape) -> Iterator[tuple[str, Taken, int]]:
    """Yields each filter of the shape with the median of some runs after a warm-up, and the number of partitions."""
    table = snapshot.table("p")
    for label, text in shape.filters().items():
        number = len(snapshot.get_partitions_by_filter(table, text))
        # Blanks make another text of it, which is parsed again.
        texts = (text + " " * number for number in range(1, sys.maxsize))
        ask = partial(_ask_next, snapshot, table, texts)
        yield label, measured(ask, REPEAT), number
        if label.startswith("OR"):
            again = measured(partial(snapshot.get_partitions_by_filter, table, text), REPEAT)
            yield f"{label}{AGAIN}", again, number


def _ask_next(snapshot: Snapshot, table: objects.Table, texts: Iterator[str]) -> None:
    snapshot.get_partitions_by_filter(table, next(texts))


def listing(snapshot: Snapshot) -> tuple[Taken, Taken]:
    """Measures the names of all partitions, one by one, and their count."""
    lookup = snapshot.lookup(snapshot.table("p"), None)
    lookup.count()
    return measured(lambda: sum(1 for _ in lookup.names()), 3), measured(lookup.count, 3)


def _measure(database: str, new_place: Callable[[], Place]) -> Iterator[Table]:
    batch = BATCHES[0]
    for regions in SIZES:
        shape, tried, places = Shape(regions), list[tuple[int, Taken]](), list[Place]()
        for size in BATCHES if regions < SIZES[-1] else (batch,):
            if size > shape.size and tried:
                continue
            places.append(new_place())
            tried.append((size, add(places[-1], shape, size)))
        batch = min(tried, key=lambda attempt: attempt[1].seconds)[0]
        figures = [taken.figure(f"add all, {size:,} in a commit", rate(shape, taken.seconds)) for size, taken in tried]
        catalog = open_catalog(places[-1])
        figures += [*_questions(catalog, shape), _names_alone(places[-1], shape)]
        catalog.close()
        yield Table(f"{shape.size:,} partitions on {database}", tuple(figures))


def _questions(catalog: Catalog, shape: Shape) -> Iterator[Figure]:
    snapshot = catalog.snapshot()
    by_values, by_filter = gets(snapshot, shape)
    yield by_values.figure("get one, by its values", "median of hundreds, under one snapshot")
    yield by_filter.figure("get one, by a filter", "the filter's text is parsed each time")
    yield measured(catalog.snapshot, 101).figure("take a snapshot")
    for label, taken, number in answers(snapshot, shape):
        yield taken.figure(label, f"{number:,} partitions")
    names, count = listing(snapshot)
    yield names.figure("names of all, streaming")
    yield count.figure("count of all")


def _names_alone(location: Place, shape: Shape) -> Figure:
    """Returns the maximum memory of a process that only reads the same names."""
    given = json.dumps([str(location[0]), location[1]])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.lookups", given], capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert answer["names"] == shape.size
    note = f"at most {answer['more'] / 1024:,.1f} MB more memory than the {answer['before'] / 1024:,.0f} MB before"
    return Taken(answer["seconds"], answer["cpu"]).figure("— in a process of its own", note)


def numbered(folder: Path, new_url: Callable[[], str] | None) -> Callable[[], Place]:
    """Yields places, each of an empty catalog."""
    numbers = iter(range(sys.maxsize))
    return lambda: (folder / str(next(numbers)), None if new_url is None else new_url())


@contextmanager
def postgresql_urls() -> Iterator[Callable[[], str]]:
    """Starts a PostgreSQL server in a temporary directory, with its defaults, and yields URLs of empty databases."""
    import pgserver

    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(folder)
        numbers = iter(range(sys.maxsize))

        def make() -> str:
            name = f"catalog_{next(numbers)}"
            server.psql(f"CREATE DATABASE {name}")
            return str(server.get_uri(name)).replace("postgresql://", "postgresql+psycopg://", 1)

        try:
            yield make
        finally:
            server.cleanup()


def _child(location: Place) -> None:
    """Prints the time of the names, and the maximum memory (KB) before and after."""
    catalog = open_catalog(location)
    snapshot = catalog.snapshot()
    lookup = snapshot.lookup(snapshot.table("p"), None)
    assert list(lookup.names(limit=1))
    before, count = _peak(), 0

    def run() -> None:
        nonlocal count
        count = sum(1 for _ in lookup.names())

    taken = measured(run)
    catalog.close()
    memory = {"before": before, "more": _peak() - before}
    print(json.dumps({"names": count, "seconds": taken.seconds, "cpu": taken.cpu, **memory}))


def _peak() -> int:
    """Returns the maximum memory of this process (KB). On Linux ``getrusage`` includes the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    _child((Path(given[0]), given[1]))
