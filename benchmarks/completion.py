"""Completion in a warehouse of 10,000 tables and 10⁶ partitions on SQLite: each key at random positions of texts.

A key is what the shell does for it: find the position in the text, and the candidates, with the values of partitions
from the catalog. No values are kept from one key to the next. Beside half of the keys, another process commits tables
and the names are refreshed all the time.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.lookups import Shape, add
from benchmarks.timing import WideTable, shown
from rewriter.catalog import Catalog
from rewriter.catalog.model.changes import CreateObject
from rewriter.catalog.model.objects import Column, Table
from rewriter.grammar.text_pieces import TextPieces
from rewriter.session import Session
from rewriter.shell.completion.candidates import complete
from rewriter.shell.completion.partition_values import PartitionValuesReader
from rewriter.shell.completion.refresher import Refresher, SessionNames

TABLES, KEYS = 10_000, 3_000
SHAPE = Shape(regions=100)
#: Texts with ``|`` at a cursor; ``{name}`` is the name of a table.
TEXTS = {
    "statements": ("cr|", "CREATE FA|", "SHOW PARTITIONS {name} WH|", "ALTER TABLE {name} EX|", "|"),
    "tables": ("SELECT * FROM {start}|", "DROP TABLE {start}|", "SELECT * FROM a JOIN {start}|", "SELECT * FROM |"),
    "tables by some letters": ("SELECT * FROM {letters}|", "SHOW PARTITIONS {letters}|"),
    "columns": (
        "SELECT | FROM {name} a JOIN p b ON a.id = b.x",
        "SELECT a.c| FROM {name} a WHERE a.id > 1",
        "WITH q AS (SELECT * FROM {name}) SELECT q.| FROM q",
        "SELECT 1 FROM (SELECT id, amount AS paid FROM {name}) x WHERE x.p|",
    ),
    "functions": ("SELECT su| FROM {name}", "SELECT date_| FROM {name}"),
    "settings": ("SET |", "SET rewriter.s|", "SET rewriter.sink = |"),
    "values of the first partition column": (
        "SELECT * FROM p WHERE region = '|",
        "SELECT * FROM p WHERE region = 'r0|'",
        "ALTER TABLE p DROP PARTITION (region = '|",
    ),
    "values of the second one, behind a value": (
        "SELECT * FROM p WHERE region = '{region}' AND ds = '|",
        "SHOW PARTITIONS p PARTITION (region = '{region}', ds = '2023-1|",
        "INSERT INTO p PARTITION (region = '{region}', ds = '2024-0|') SELECT 1",
    ),
    "values of the third one, behind two": (
        "SELECT * FROM p WHERE region = '{region}' AND ds = '2023-05-06' AND hr = |",
    ),
    "values of the second one alone": ("SELECT * FROM p WHERE ds = '2023-1|", "SELECT * FROM p WHERE ds = '|"),
    "a text of 1,000 lines": ("{long}\nSELECT a.c| FROM {name} a;\n{long}",),
}
_LONG = "\n".join(
    f"SELECT a{line}, 'x', count(*) FROM t{line} WHERE ds = '2024-01-01' AND c > 5;" for line in range(500)
)


class Key(NamedTuple):
    """What a key took, in seconds: wall time, and the CPU time of its thread."""

    seconds: float
    cpu: float


def measure() -> WideTable:
    """Returns the milliseconds of a key, by what it completes."""
    with tempfile.TemporaryDirectory(prefix="rewriter-completion-") as folder:
        warehouse = Path(folder)
        names = _build(warehouse)
        with Session(warehouse, engine="duckdb") as session:
            return _measured(session, names)


def _build(warehouse: Path) -> list[str]:
    Catalog.open(warehouse).close()
    add((warehouse, None), SHAPE, 100_000)
    generator = random.Random(7)
    words = "order click user page view event sale item visit payment daily hourly raw fact dim stage".split()
    names = [f"{'_'.join(generator.sample(words, 3))}_{number}" for number in range(TABLES - 1)]
    catalog = Catalog.open(warehouse)
    with catalog.begin() as transaction:
        transaction.commit([CreateObject(_table(transaction.allocate_id(), name)) for name in names])
    catalog.close()
    return names


def _table(id: int, name: str) -> Table:
    columns = tuple(Column(f"column_{number}", "string") for number in range(20))
    return Table(id, name, (Column("id", "bigint"), *columns), (Column("ds", "string"),), "parquet", f"/{name}")


def _measured(session: Session, names: list[str]) -> WideTable:
    refresher = Refresher(session.catalog)
    refresher.note(SessionNames.of(session))
    start = time.perf_counter()
    refresher.step()
    first = time.perf_counter() - start
    start = time.perf_counter()
    refresher.step()
    again = time.perf_counter() - start
    times: dict[str, list[Key]] = {label: [] for label in TEXTS}
    alone = _keys(session, refresher, names, times)
    with _changing(session.catalog.warehouse, refresher) as steps:
        beside = _keys(session, refresher, names, times)
        refreshed = steps[0]
    rows = [_row(label, measured) for label, measured in times.items()]
    rows += [_row("all, nothing beside", alone), _row(f"all, beside {refreshed} refreshes", beside)]
    title = f"Completion with {TABLES:,} tables and {SHAPE.size:,} partitions on SQLite, {2 * KEYS:,} keys"
    notes = (
        f"The first read of all names: {shown(first)}; a look that finds no change: {shown(again)}",
        "`python -m benchmarks completion`; the goal is a p99 of 30 ms.",
    )
    return WideTable(title, ("what is completed", "p50", "p99", "max", "p99 of CPU"), tuple(rows), notes)


def _keys(session: Session, refresher: Refresher, names: list[str], times: dict[str, list[Key]]) -> list[Key]:
    generator = random.Random(1)
    everything: list[Key] = []
    known = TextPieces()
    labels = list(TEXTS)
    regions = sorted({region for region, _, _ in SHAPE.values()})
    for _ in range(KEYS):
        label = generator.choice(labels)
        name = generator.choice(names)
        marked = generator.choice(TEXTS[label]).format(
            name=name,
            start=name[: generator.randrange(1, 8)],
            letters="".join(part[:2] for part in name.split("_")),
            region=generator.choice(regions),
            long=_LONG,
        )
        cursor = marked.rindex("|")
        text = marked[:cursor] + marked[cursor + 1 :]
        reader = PartitionValuesReader(session.catalog)
        known.until(text[: cursor - 1], cursor)  # The text before the key.
        start, cpu = time.perf_counter(), time.thread_time()
        complete(text, cursor, refresher.names, reader, known)
        taken = Key(time.perf_counter() - start, time.thread_time() - cpu)
        times[label].append(taken)
        everything.append(taken)
    return everything


@contextmanager
def _changing(warehouse: Path, refresher: Refresher) -> Iterator[list[int]]:
    """Refreshes the names in a thread all the time, while another process commits a table every tenth of a second.
    Yields a list with the number of refreshes.
    """
    steps, ended = [0], threading.Event()

    def refresh() -> None:
        while not ended.wait(0.05):
            refresher.step()
            steps[0] += 1

    thread = threading.Thread(target=refresh)
    with subprocess.Popen([sys.executable, "-m", "benchmarks.completion", str(warehouse)]) as writer:
        thread.start()
        try:
            yield steps
        finally:
            ended.set()
            thread.join()
            writer.terminate()


def _commit_tables(warehouse: Path) -> None:
    """Commits a table every tenth of a second, for ever."""
    with closing(Catalog.open(warehouse)) as catalog:
        for number in itertools.count():
            with catalog.begin() as transaction:
                transaction.commit([CreateObject(_table(transaction.allocate_id(), f"beside_{number}"))])
            time.sleep(0.1)


def _row(label: str, keys: list[Key]) -> tuple[str, ...]:
    def quantile(ordered: list[float], part: float) -> str:
        return shown(ordered[min(len(ordered) - 1, int(len(ordered) * part))])

    walls, cpus = sorted(key.seconds for key in keys), sorted(key.cpu for key in keys)
    return label, *(quantile(walls, part) for part in (0.5, 0.99, 1)), quantile(cpus, 0.99)


if __name__ == "__main__":
    _commit_tables(Path(sys.argv[1]))
