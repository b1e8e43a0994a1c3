"""SIGKILL at database calls and steps on disk of COMPACT and VACUUM: the state is that before or after, and readers are
not affected.

Every n-th moment is tried. ``pytest -m long`` tries all of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import sqlalchemy as sa
from kills import killed_at

from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.store import schema
from rewriter.session import Session

COMPACT = "ALTER TABLE t COMPACT"
VACUUM = "VACUUM RETAIN 50 HOURS"


def scene(warehouse: Path, packed: bool) -> None:
    """Creates two partitions of three files each, two files that were replaced long ago, and one that a dead writer
    left. In packed files, each file has a part of both partitions.
    """
    with Session(warehouse, "duckdb") as session:
        properties = f"TBLPROPERTIES ('rewriter.packed' = '{str(packed).lower()}')"
        session.execute(f"CREATE TABLE t (x INT) PARTITIONED BY (p STRING) {properties}")
        session.execute("INSERT INTO t VALUES (0, 'a'), (0, 'b')")
        session.execute("INSERT OVERWRITE t VALUES (1, 'a'), (2, 'b')")
        for number in (3, 4):
            session.execute(f"INSERT INTO t VALUES ({number}, 'a'), ({number}, 'b')")
        with session.catalog.begin() as transaction:
            table = session.catalog.snapshot().table("t")
            folder = Path(table.location) / f"rewriter_write_id={transaction.write_id(table)}"
        folder.mkdir()
        (folder / "part-0.parquet").write_text("x")
        later(session)


def later(session: Session) -> None:
    row = schema.transactions
    with session.catalog.database.write() as connection:
        connection.execute(sa.update(row).values(heartbeat_at=row.c.heartbeat_at - 100 * 3600))


def content(session: Session) -> list[tuple[object, ...]]:
    """Returns the rows from the files that the catalog names, and checks the catalog."""
    assert [finding.problem for finding in findings(session.catalog.database)] == []
    return sorted(session.execute("SELECT * FROM t").fetch())


def counts(session: Session) -> tuple[int, int]:
    """Returns the number of files that readers see, by partition, and the number on disk."""
    snapshot = session.catalog.snapshot()
    table = snapshot.table("t")
    return len(snapshot.files(table)), sum(len(names) for _, _, names in os.walk(table.location))


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_compact_is_before_or_after(tmp_path: Path, stride: int, packed: bool) -> None:
    scene(tmp_path, packed)
    moment, seen = 1, {"before": 0, "after": 0}
    with Session(tmp_path, "duckdb") as reader:
        wanted = content(reader)
        while killed_at(tmp_path, COMPACT, moment):
            assert content(reader) == wanted, f"moment {moment}"
            files = counts(reader)[0]
            assert files in (6, 2), f"moment {moment}"
            seen["before" if files == 6 else "after"] += 1
            if files == 2:  # Killed after the commit: two more files for each partition, as before.
                reader.execute("INSERT OVERWRITE t VALUES (1, 'a'), (2, 'b')")
                for number in (3, 4):
                    reader.execute(f"INSERT INTO t VALUES ({number}, 'a'), ({number}, 'b')")
            moment += stride
        assert content(reader) == wanted
        assert counts(reader)[0] == 2
        assert seen["before"] > 30 // stride
        # The files of killed writers are removed, and no others.
        later(reader)
        reader.execute(VACUUM)
        assert counts(reader) == (2, 1 if packed else 2)
        assert content(reader) == wanted


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_vacuum_takes_nothing_that_is_needed(tmp_path: Path, stride: int, packed: bool) -> None:
    scene(tmp_path, packed)
    needed, removed = (3, 2) if packed else (6, 3)  # files on disk
    moment, seen = 1, set()
    with Session(tmp_path, "duckdb") as reader:
        wanted, old = content(reader), reader.catalog.snapshot()
        kept = old.files(old.table("t"))
        assert counts(reader) == (6, needed + removed)
        while killed_at(tmp_path, VACUUM, moment):
            assert content(reader) == wanted, f"moment {moment}"
            assert all(os.path.exists(file.path) for _, file in kept)
            seen.add(counts(reader))
            moment += stride
        assert content(reader) == wanted
        assert counts(reader) == (6, needed)
        assert moment > 20
        assert reader.execute(VACUUM).fetch() == []
        with reader.catalog.database.read() as connection:
            assert connection.execute(sa.select(sa.func.count()).select_from(schema.files)).scalar() == 6
        # Files were removed one after the other, and none of those that readers see.
        assert stride > 1 or seen >= {(6, needed + number) for number in range(removed + 1)}
