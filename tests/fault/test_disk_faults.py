"""A disk that is full or broken at any call of a statement: a clear error, the old state or the new one, and no waste.

Each n-th call is refused, from one that the commit selects. ``pytest -m long tests/fault/test_disk_faults.py`` refuses
all of them.
"""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from disk_faults import DiskFault, counted_from_here, is_possible, with_fault
from fake_metastore import FakeMetastore
from rotation import turn

from rewriter.catalog import Catalog
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.store import schema
from rewriter.cli.main import main
from rewriter.errors import Error, InternalError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

pytestmark = pytest.mark.skipif(not is_possible(), reason="the kernel has no filters of system calls")

#: What an error says about the cause: our words, the system's, or SQLite's.
CAUSE = re.compile(
    r"no space is left on the disk|No space left on device|Input/output error|disk I/O error|readonly database|"
    r"unable to open database file"
)
FAULTS = {
    "full once": (errno.ENOSPC, False),
    "full": (errno.ENOSPC, True),
    "broken once": (errno.EIO, False),
    "broken": (errno.EIO, True),
}
#: What a query is refused with that needs rows, objects or partitions that are not there.
MISSING = ("CLUSTER_LACKS_PARTITIONS", "MISSING_PARTITIONS", "TABLE_OR_VIEW_NOT_FOUND")
#: What an error says of an external table whose new files cannot be taken back.
LEFT = "of the new files cannot be removed"
#: The parts of a state by name.
State = dict[str, list[str]]
TABLE = "CREATE TABLE t (x INT) PARTITIONED BY (p STRING)"
ROWS = "INSERT INTO t VALUES (1, 'a'), (2, 'b')"
#: Files outside of the warehouse.
EVENTS = (
    "INSERT OVERWRITE DIRECTORY '{folder}/events' STORED AS PARQUET SELECT timestamp_seconds(1704067200 + id * 5000) "
    "AS at, concat('k', id % 3) AS k, CAST(id AS INT) AS n FROM range(100)"
)
CUBE = """
CREATE CUBE v (page STRING, n INT MEASURE SUM, at TIMESTAMP TIME);
CREATE TABLE h (page STRING, n INT) PARTITIONED BY (dt DATE);
CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD DAILY PARTITIONED BY at AS (dt)) ROLLUPS (MONTHLY);
ALTER FACT f SET REFRESH ON COMMIT;
INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-02-01' VALUES ('k', 1, DATE '2024-01-01')
"""


@dataclass(frozen=True)
class Scene:
    """What exists, the statement that meets the fault, and queries of its objects. A statement ``in_steps`` may leave
    some of its steps; ``undone`` are the statements after which it can be repeated then. ``rest`` does what a success
    may leave to be done.
    """

    setup: tuple[str, ...]
    statement: str
    queries: tuple[str, ...] = ()
    in_steps: bool = False
    undone: tuple[str, ...] = ()
    rest: str = ""


SCENES = {
    "INSERT": Scene((TABLE, ROWS), "INSERT INTO t VALUES (3, 'a'), (4, 'c')"),
    "INSERT into unpacked files": Scene(
        (f"{TABLE} TBLPROPERTIES ('rewriter.packed' = 'false')", ROWS), "INSERT INTO t VALUES (3, 'a'), (4, 'c')"
    ),
    "INSERT OVERWRITE": Scene((TABLE, ROWS), "INSERT OVERWRITE t VALUES (3, 'a'), (4, 'c')"),
    "INSERT with a rollup": Scene(
        tuple(CUBE.split(";")),
        "INSERT INTO h VALUES ('k', 2, DATE '2024-01-02')",
        ("SELECT SUM(n) FROM v WHERE at >= '2024-01-01' AND at < '2024-02-01'",),
        rest="REFRESH FACT f",
    ),
    "INSERT into an external table": Scene(
        ("CREATE EXTERNAL TABLE t (x INT) PARTITIONED BY (p STRING) LOCATION '{folder}/outside'", ROWS),
        "INSERT INTO t VALUES (3, 'a'), (4, 'c')",
    ),
    "COMPACT": Scene((TABLE, ROWS, ROWS), "ALTER TABLE t COMPACT"),
    "REPLICATE": Scene((TABLE, ROWS), "REPLICATE TABLE t TO CLUSTER c2", in_steps=True),
    "CREATE CUBE FROM": Scene(
        (TABLE, EVENTS),
        "CREATE CUBE c FROM parquet.`{folder}/events` MEASURES (COUNT(*) AS events, SUM(n) AS n) "
        "ROLLUPS (DAILY (k), MONTHLY)",
        ("SELECT COUNT(*), SUM(n) FROM c WHERE at >= '2024-01-01' AND at < '2024-01-05'",),
        in_steps=True,
        undone=("DROP FACT IF EXISTS c_all CASCADE", "DROP CUBE IF EXISTS c", "DROP TABLE IF EXISTS c_events"),
    ),
    "CREATE TABLE AS": Scene((TABLE, ROWS), "CREATE TABLE u AS SELECT * FROM t"),
    "VACUUM": Scene((TABLE, ROWS, ROWS, "ALTER TABLE t COMPACT"), "VACUUM RETAIN 0 HOURS"),
    "RENAME PARTITION": Scene((TABLE, ROWS), "ALTER TABLE t PARTITION (p = 'a') RENAME TO PARTITION (p = 'z')"),
}


def opened(folder: Path, engine: DuckDBEngine | str) -> Session:
    clusters = {name: {"filesystem": str(folder / name), "engine": "duckdb"} for name in ("c1", "c2")}
    settings = {"rewriter.least_retention_hours": "0", "hive.cluster.properties": json.dumps(clusters)}
    return Session(folder / "w", engine, settings=settings)


def ran(folder: Path, statement: str) -> str:
    """Runs a statement. Returns its error as a person reads it."""
    with opened(folder, "duckdb") as session:
        counted_from_here()
        try:
            session.execute(statement)
        except InternalError:
            raise
        except Error as error:
            return str(error)
    return ""


def commanded(arguments: list[str]) -> str:
    """Runs a command. Returns what it says if it fails."""
    counted_from_here()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code = main(arguments)
    return said.getvalue() if code else ""


def state(session: Session, queries: tuple[str, ...]) -> State:
    """Returns the objects, the files and rows of the tables on each cluster, and the results of queries."""
    found: State = {}
    for kind in ("TABLES", "CUBES", "FACTS"):
        found[kind] = sorted(str(row[0]) for row in session.execute(f"SHOW {kind}").fetch())
    for name in found["TABLES"]:
        table = session.catalog.snapshot().table(name)
        found[f"files of {name}"] = [str(len(session.catalog.snapshot().files(table)))]
        for cluster in ("c1", "c2"):
            session.execute(f"USE CLUSTER {cluster}")
            found[f"{name} on {cluster}"] = result(session, f"SELECT * FROM {name}")
    session.execute("USE CLUSTER")
    return found | {query: result(session, query) for query in queries}


def result(session: Session, query: str) -> list[str]:
    """Returns the rows of a query; the condition where it is refused because something is missing."""
    try:
        return sorted(map(str, session.execute(query).fetch()))
    except Error as error:
        if error.condition not in MISSING:
            raise
        return [error.condition]


def is_between(now: State, old: State, new: State) -> bool:
    """Tests whether each part of a state is old, new, or refused as missing."""
    return all(part in (old.get(name, part), new.get(name, part)) or part[0] in MISSING for name, part in now.items())


def faults_of(text: str, folder: Path) -> list[str]:
    """Returns the faults of the text of an error."""
    needed = {"path": str(folder) in text, "cause": CAUSE.search(text), "hint": "Hint: " in text}
    faults = [f"no {what}: {text}" for what, is_there in needed.items() if not is_there]
    return [*faults, *(f"{word}: {text}" for word in ("Traceback", "INTERNAL_ERROR") if word in text)]


def waste(session: Session, folder: Path) -> list[str]:
    """Returns the files after a VACUUM that the catalog does not name. It does not name those of external tables."""
    session.catalog.abort_dead(-1.0)
    session.execute("VACUUM RETAIN 0 HOURS")
    columns = (schema.files.c.path, schema.copied_files.c.path, schema.streams.c.checkpoint)
    with session.catalog.database.read() as connection:
        named = {os.path.basename(str(path)) for column in columns for (path,) in connection.execute(sa.select(column))}
    kept = {"warehouse.json", "catalog.db", "catalog.db-wal", "catalog.db-shm", "events", "outside", *named}
    on_disk = (Path(place, name).relative_to(folder) for place, _, names in os.walk(folder) for name in names)
    return [str(path) for path in on_disk if not kept.intersection(path.parts)]


def check(folder: Path, engine: DuckDBEngine, scene: Scene, fault: DiskFault, old: State, new: State) -> bool:
    """Runs the statement with a fault. Returns False if it ended before the fault came."""
    statement = scene.statement.format(folder=folder)
    outcome = with_fault(folder, fault, partial(ran, folder, statement))
    assert outcome.raised is None, outcome.trace
    text = outcome.result
    assert not text or not faults_of(text, folder), outcome.refused
    with opened(folder, engine) as session:
        assert [finding.problem for finding in findings(session.catalog.database)] == [], outcome.refused
        if not text and scene.rest:
            session.execute(scene.rest)
        now = state(session, scene.queries)
        is_external = "EXTERNAL" in scene.setup[0]
        if LEFT in text or (is_external and "COMMIT_UNKNOWN" in text):  # The disk refused to undo what it had done.
            assert fault.stays, outcome.refused
            return True
        if not text:
            assert now == new, outcome.refused
        elif "COMMIT_UNKNOWN" in text:
            assert now in (old, new) or scene.in_steps, outcome.refused
        else:
            assert now == old or (scene.in_steps and is_between(now, old, new)), (outcome.refused, text)
        if now != new:
            for undo in scene.undone:
                session.execute(undo)
            session.execute(statement)
            assert state(session, scene.queries) == new, outcome.refused
        left = [path for path in waste(session, folder) if not (fault.stays and "_streams" in path)]
        assert left == [], outcome.refused
    return outcome.refused is not None


def met_by(folder: Path, kind: str, stride: int, check: Callable[[DiskFault], bool]) -> None:
    """Calls a check with each n-th fault of a kind, over the same content of a folder, until one does not come."""
    template, (error, stays) = folder.with_name("template"), FAULTS[kind]
    shutil.copytree(folder, template)
    moments = itertools.count(1 + turn() % stride, stride)
    while check(DiskFault(next(moments), error, stays)):
        shutil.rmtree(folder)
        shutil.copytree(template, folder)
    assert next(moments) > 2 * stride, "no fault came"


def check_statement(folder: Path, engine: DuckDBEngine, name: str, kind: str, stride: int) -> None:
    scene = SCENES[name]
    with opened(folder, engine) as session:
        for text in scene.setup:
            session.execute(text.format(folder=folder))
        old = state(session, scene.queries)
    before = shutil.copytree(folder, folder.with_name("before"))
    with opened(folder, engine) as session:
        session.execute(scene.statement.format(folder=folder))
        new = state(session, scene.queries)
    shutil.rmtree(folder)
    before.rename(folder)
    met_by(folder, kind, stride, lambda fault: check(folder, engine, scene, fault, old, new))


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("name", SCENES)
def test_a_statement(folder: Path, duckdb: DuckDBEngine, name: str, kind: str) -> None:
    check_statement(folder, duckdb, name, kind, 31)


@pytest.mark.long
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("name", SCENES)
def test_every_call_of_a_statement(folder: Path, duckdb: DuckDBEngine, name: str, kind: str) -> None:
    check_statement(folder, duckdb, name, kind, 1)


#: Commands of the catalog, after a dump into ``kept``. They replace it, or need a warehouse without a catalog.
COMMANDS = {
    "dump": ["catalog", "dump", "-w", "{folder}/w", "{folder}/kept"],
    "restore": ["catalog", "restore", "-w", "{folder}/w", "{folder}/kept"],
    "import": ["import", "{url}", "-w", "{folder}/imported"],
}


def check_command(folder: Path, engine: DuckDBEngine, name: str, kind: str, stride: int) -> None:
    with opened(folder, engine) as session:
        for text in (TABLE, ROWS):
            session.execute(text)
    assert commanded(["catalog", "dump", "-w", str(folder / "w"), str(folder / "kept")]) == ""
    kept = (folder / "kept").read_text()
    if name == "restore":
        for path in (folder / "w").glob("catalog.db*"):
            path.unlink()
    metastore = FakeMetastore()
    metastore.add_table("orders", keys={"ds": "date"})
    metastore.add_partition("orders", "ds=2026-01-01")
    with metastore.serving() as url:
        arguments = [word.format(folder=folder, url=url) for word in COMMANDS[name]]

        def met(fault: DiskFault) -> bool:
            outcome = with_fault(folder, fault, partial(commanded, arguments))
            assert outcome.raised is None, outcome.trace
            assert not outcome.result or not faults_of(outcome.result, folder), outcome.refused
            assert (folder / "kept").read_text() == kept, outcome.refused
            if outcome.result:
                said = commanded(arguments)
                # A commit of which SQLite could not say that it failed may be there.
                is_restored = "CATALOG_NOT_EMPTY" in outcome.result and "CATALOG_NOT_EMPTY" in said
                assert not said or is_restored, (outcome.refused, outcome.result, said)
            left = {path.name for path in folder.iterdir()} - {"kept", "w", "c1", "imported"}
            # A broken disk may refuse to remove what it refused to write.
            assert not left or fault.error == errno.EIO, outcome.refused
            with closing(Catalog.open(folder / ("imported" if name == "import" else "w"))) as catalog:
                assert [finding.problem for finding in findings(catalog.database)] == []
            if name == "import":
                with Session(folder / "imported", engine) as session:
                    assert session.execute("SHOW PARTITIONS orders").fetch() == [("ds=2026-01-01",)]
            else:
                with opened(folder, engine) as session:
                    assert sorted(session.execute("SELECT * FROM t").fetch()) == [(1, "a"), (2, "b")]
            return outcome.refused is not None

        met_by(folder, kind, stride, met)


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command(folder: Path, duckdb: DuckDBEngine, name: str, kind: str) -> None:
    check_command(folder, duckdb, name, kind, 17)


@pytest.mark.long
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_call_of_a_command(folder: Path, duckdb: DuckDBEngine, name: str, kind: str) -> None:
    check_command(folder, duckdb, name, kind, 1)
