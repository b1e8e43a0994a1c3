"""``rewriter catalog check`` finds every kind of damage, and a dump brings back what was dumped, on both databases."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import rotation
import sqlalchemy as sa

from rewriter.catalog import Catalog
from rewriter.catalog.catalog import FILE_NAME
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.maintenance.dump import dump, restore
from rewriter.catalog.model.changes import AddCopies, Batch, CommitBatch, CopiedPartition, SetClusters
from rewriter.catalog.model.objects import ClusterLocation
from rewriter.catalog.store import schema
from rewriter.cli import main
from rewriter.errors import Error
from rewriter.session import Session

SCENE = """
CREATE DATABASE d;
CREATE TABLE d.t (x INT, c STRING) PARTITIONED BY (p STRING, q INT);
INSERT INTO d.t VALUES (1, 'ä', 'a', 1), (2, NULL, NULL, NULL), (3, '\\'', 'b/c', 2);
INSERT INTO d.t VALUES (4, 'x', 'a', 1);
INSERT OVERWRITE d.t PARTITION (p = 'b/c', q = 2) VALUES (5, 'y');
ALTER TABLE d.t PARTITION (p = 'a', q = 1) RENAME TO PARTITION (p = 'n', q = 1);
ALTER TABLE d.t COMPACT;
CREATE TABLE gone AS SELECT 1 AS x;
DROP TABLE gone;
CREATE CUBE c (x BIGINT MEASURE SUM, at TIMESTAMP TIME);
CREATE TABLE hours (x BIGINT) PARTITIONED BY (dt STRING) TBLPROPERTIES ('rewriter.packed' = 'false');
CREATE TABLE days (x BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY at AS (dt),
  TABLE days PERIOD DAILY PARTITIONED BY at AS (dt));
INSERT INTO hours VALUES (1, '2013-01-01-00'), (2, '2013-01-01-01'), (3, '2013-01-02-00');
INSERT INTO days SELECT sum(x), '2013-01-01' FROM hours WHERE dt BETWEEN '2013-01-01-00' AND '2013-01-01-23';
INSERT INTO days VALUES (3, '2013-01-03');
INSERT INTO days SELECT sum(x), '2013-01-02' FROM hours WHERE dt BETWEEN '2013-01-02-00' AND '2013-01-02-23';
INSERT INTO hours VALUES (1, '2013-01-01-05');
ALTER TABLE hours DROP PARTITION (dt = '2013-01-02-00');
ANALYZE TABLE hours COMPUTE STATISTICS;
CREATE VIEW v AS SELECT 1 AS a;
"""

LIVE = f"ended = {schema.NEVER}"
OF_T = f"table_id = (SELECT object_id FROM objects WHERE name = 'd.t' AND {LIVE})"
#: A change to the rows, and the finding that it causes, with its object.
DAMAGE = [
    ("UPDATE counters SET value = value - 1 WHERE name = 'transaction'", "catalog: the counter transaction is"),
    ("UPDATE counters SET value = 1 WHERE name = 'object'", "catalog: the counter object is 1"),
    ("UPDATE counters SET value = value + 1 WHERE name = 'commit'", "catalog: the counter commit is"),
    ("UPDATE counters SET value = value - 1 WHERE name = 'event'", "catalog: the counter event is"),
    ("DELETE FROM counters WHERE name = 'event'", "catalog: the counter event is missing"),
    ("UPDATE counters SET value = 1000 WHERE name = 'vacuumed'", "catalog: VACUUM has removed files up to commit 1000"),
    ("UPDATE transactions SET state = 'lost' WHERE commit_seq = 3", "catalog: transaction 3 is lost"),
    ("UPDATE transactions SET commit_seq = NULL WHERE commit_seq = 3", "and its commit number is None"),
    ("UPDATE transactions SET commit_seq = 3 WHERE commit_seq = 4", "share a commit number"),
    ("DELETE FROM transactions WHERE commit_seq = 3", "of the commits up to"),
    (
        "UPDATE write_ids SET commit_seq = commit_seq + 1 WHERE write_id = 2 AND commit_seq = 3",
        "d.t: the write id 2 belongs to",
    ),
    ("DELETE FROM write_ids WHERE write_id = 2 AND commit_seq = 3", "d.t: it has"),
    ("UPDATE write_ids SET object_id = 77 WHERE write_id = 1 AND commit_seq = 1", "id 77: it has committed write ids"),
    (
        "UPDATE write_ids SET transaction_id = 999 WHERE write_id = 2 AND commit_seq = 3",
        "d.t: the write id 2 belongs to",
    ),
    ("DELETE FROM events WHERE event_seq = 4", "catalog: the log has"),
    (
        "UPDATE events SET kind = 'INSERT' WHERE kind = 'COMMIT' AND commit_seq = 3",
        "does not have exactly one end event",
    ),
    ("UPDATE events SET commit_seq = 2 WHERE event_seq = 7", "catalog: event 7 belongs to commit 2"),
    (f"UPDATE objects SET definition = '{{' WHERE name = 'hours' AND {LIVE}", "hours: row"),
    (f"UPDATE objects SET made = 99 WHERE name = 'v' AND {LIVE}", "v: row"),
    (f"UPDATE objects SET name_key = 'hours' WHERE name = 'v' AND {LIVE}", "2 live objects have the same name"),
    (f"UPDATE objects SET ended = made WHERE kind = 'database' AND {LIVE}", "d.t: there is no database 'd'"),
    (f"UPDATE objects SET ended = made WHERE kind = 'cube' AND {LIVE}", "f: there is no cube 'c'"),
    (f"UPDATE partitions SET made = 99 WHERE {OF_T} AND {LIVE}", "d.t: row"),
    (f"UPDATE partitions SET commit_seq = 99 WHERE {OF_T} AND {LIVE}", "d.t: row"),
    (f"UPDATE partitions SET as_of = 99 WHERE {OF_T} AND {LIVE}", "d.t: row"),
    (
        f"UPDATE partitions SET ended = 99 WHERE {OF_T} AND ended < {schema.NEVER}",
        "and ended by 99, does not match any commit",
    ),
    (f"UPDATE partitions SET ended = {schema.NEVER} WHERE {OF_T}", "several of its rows are live"),
    (f"UPDATE partitions SET bytes = bytes + 1 WHERE {OF_T} AND {LIVE}", "d.t p=n/q=1: it records 1 files of"),
    (f"UPDATE partitions SET files = 7 WHERE {OF_T} AND {LIVE}", "d.t p=n/q=1: it records 7 files"),
    (f"UPDATE partitions SET rows = 7 WHERE {OF_T} AND {LIVE}", "d.t p=n/q=1: it records 7 rows, but its files have 2"),
    (f'UPDATE partitions SET partition_values = \'["z", "1"]\' WHERE {OF_T} AND {LIVE}', "does not match its values"),
    (f"DELETE FROM partitions WHERE {OF_T} AND {LIVE}", "d.t: 3 live files belong to 3 partitions that do not exist"),
    (f"UPDATE partitions SET table_id = 77 WHERE {OF_T} AND {LIVE}", "id 77: it has rows in partitions"),
    (f"UPDATE files SET made = 99 WHERE {LIVE}", "d.t: row"),
    (f"DELETE FROM files WHERE {LIVE}", "d.t p=n/q=1: it records 1 files"),
    (f"UPDATE files SET path = '/nowhere' WHERE {LIVE}", "/nowhere: "),
    (f"UPDATE files SET path = path || 'x' WHERE {LIVE}", "cannot be read: No such file"),
    (f"UPDATE files SET ended = {schema.NEVER}", "live rows name this file: its rows are counted more than once"),
    ("UPDATE files SET key = :key", "catalog: "),
    ("DELETE FROM partition_fields", "entries are missing from its secondary index"),
    (
        "INSERT INTO partition_fields SELECT place, :key FROM partition_fields LIMIT 1",
        "of its secondary index belong to no",
    ),
    (f"UPDATE timeline_ranges SET state = 1 WHERE state = 0 AND {LIVE}", "days: the timeline DAILY of at says fresh"),
    (f"UPDATE timeline_ranges SET state = 1 WHERE state = 3 AND {LIVE}", "days: the timeline DAILY of at says fresh"),
    (f"UPDATE timeline_ranges SET state = 1 WHERE state = 4 AND {LIVE}", "days: the timeline DAILY of at says fresh"),
    (
        "UPDATE partitions SET doubt = NULL WHERE doubt LIKE '%read no table%'",
        "days: the timeline DAILY of at says unp",
    ),
    ("UPDATE partitions SET doubt = NULL WHERE doubt LIKE '%were missing%'", "days: the timeline DAILY of at says inc"),
    (f"UPDATE timeline_ranges SET end_ordinal = end_ordinal + 1 WHERE {LIVE}", "hours: the timeline HOURLY of at says"),
    (f"UPDATE timeline_ranges SET table_id = 99 WHERE {LIVE}", "id 99: it has timelines, but belongs to no fact"),
    ("UPDATE claimed_ranges SET table_id = 99", "id 99: it has rows in claimed_ranges"),
    ("UPDATE claimed_ranges SET commit_seq = 99", "of claimed_ranges belongs to no commit"),
]


@pytest.fixture
def catalog(tmp_path: Path, catalog_url: str | None) -> Iterator[Catalog]:
    """Creates a warehouse with all kinds of rows."""
    with Session(tmp_path, "duckdb", catalog=catalog_url) as session:
        for _ in session.script(SCENE):
            pass
        with session.catalog.begin() as transaction:
            transaction.write_id(session.catalog.snapshot().table("hours"))
        yield session.catalog


def said(catalog: Catalog) -> list[str]:
    return [f"{finding.object}: {finding.problem}" for finding in findings(catalog.database)]


def emptied(catalog: Catalog) -> None:
    """Leaves nothing but the schema."""
    with catalog.database.write() as connection:
        for table in schema.metadata.sorted_tables:
            if table is not schema.schema_version:
                connection.execute(table.delete())


def test_every_kind_of_damage_is_found(catalog: Catalog, catalog_url: str | None) -> None:
    assert said(catalog) == []
    lines, missed = list(dump(catalog.database, catalog.warehouse)), []
    # A dump takes longer to restore on a server.
    for statement, wanted in DAMAGE if catalog_url is None else rotation.share(DAMAGE, 3):
        with catalog.database.write() as connection:
            # A key of no table.
            connection.execute(sa.text(statement), {"key": b"\x01\x80" + b"\x55" * 9} if ":key" in statement else {})
        reported = said(catalog)
        if not any(wanted in line for line in reported):
            missed.append((statement, reported))
        emptied(catalog)
        restore(catalog.database, catalog.warehouse, lines)
    assert missed == []
    assert said(catalog) == []


def test_a_file_that_changed_or_went_is_found(catalog: Catalog) -> None:
    snapshot = catalog.snapshot()
    (_, first), (_, second), *_ = snapshot.files(snapshot.table("hours"))
    Path(first.path).unlink()
    Path(second.path).write_text("x")
    assert said(catalog) == [
        f"hours: the file {first.path} cannot be read: No such file or directory",
        f"hours: the file {second.path} has 1 bytes, but was written with {second.bytes}",
    ]


def test_a_dump_goes_from_one_database_to_the_other_and_back(
    catalog: Catalog, catalog_url: str | None, postgres_url: str, tmp_path: Path
) -> None:
    table = catalog.snapshot().table("hours")
    with catalog.begin() as transaction:
        transaction.commit([CommitBatch(table, Batch("a")), CommitBatch(table, Batch("0", "stream", "checkpoint"))])
    with catalog.begin() as transaction:
        transaction.commit([SetClusters(table, (ClusterLocation("c2", str(catalog.warehouse / "c2" / "hours")),))])
    with catalog.begin() as transaction:
        table = transaction.snapshot.table("hours")
        (partition, file), *_ = transaction.snapshot.files(table)
        copy = file._replace(path=f"{catalog.warehouse}/c2/hours/rewriter_write_id=9/part-0.parquet")
        Path(copy.path).parent.mkdir(parents=True)
        shutil.copyfile(file.path, copy.path)
        content = next(c for c in transaction.snapshot.contents(table) if c.key == partition.key)
        copied = (CopiedPartition(partition.key, content.commit, (file.path,), (copy,)),)
        transaction.commit([AddCopies(table, "c2", transaction.write_id(table), copied)])
    lines = list(dump(catalog.database, catalog.warehouse))
    counted = {table.name: 0 for table in schema.metadata.sorted_tables}
    for line in lines[1:-1]:
        counted[json.loads(line)[0]] += 1
    assert {name for name, count in counted.items() if not count} == {
        "schema_version",
        "leases",
        "refresh_claims",
        "warehouse",
        "foreign_writes",
        "pending_policies",
        "query_log",
        "streams",
    }
    catalog.close()
    (tmp_path / FILE_NAME).rename(tmp_path / "kept.db") if catalog_url is None else emptied(catalog)
    for url in (postgres_url, None) if catalog_url is None else (None, catalog_url):
        assert Catalog.restore(tmp_path, url, lines) == len(lines) - 2
        restored = Catalog.open(tmp_path, url)
        assert list(dump(restored.database, tmp_path))[1:] == lines[1:]
        assert said(restored) == []
        restored.close()
    with Session(tmp_path, "duckdb", catalog=url) as session:
        # New rows get numbers behind those that came along.
        session.execute("INSERT INTO d.t VALUES (9, 'new', 'a', 1)")
        assert session.execute("SELECT SUM(x) FROM d.t").fetch() == [(1 + 2 + 4 + 5 + 9,)]
        assert said(session.catalog) == []


@pytest.mark.parametrize("cached", [0, 1 << 20])
def test_who_has_the_tables_open_that_are_dropped_for_a_restore_is_told(
    postgres_url: str, tmp_path: Path, cached: int
) -> None:
    """Data that was read before the restore would be used for the restored catalog, which has the same numbers."""
    with Session(tmp_path, "duckdb", catalog=postgres_url) as first:
        first.execute("CREATE TABLE t (x INT) PARTITIONED BY (dt STRING)")
        lines = list(dump(first.catalog.database, first.catalog.warehouse))
        first.execute("ALTER TABLE t ADD PARTITION (dt = 'lost')")
    with Session(tmp_path, "duckdb", catalog=postgres_url) as running:
        running.catalog.use_cache(cached, follow=False)
        assert running.execute("SHOW PARTITIONS t").fetch() == [("dt=lost",)]
        engine = sa.create_engine(postgres_url)
        with engine.begin() as connection:
            schema.metadata.drop_all(connection)
        engine.dispose()
        Catalog.restore(tmp_path, postgres_url, lines)
        with Session(tmp_path, "duckdb", catalog=postgres_url) as fresh:
            fresh.execute("ALTER TABLE t ADD PARTITION (dt = 'new')")
        for run in (
            lambda: running.execute("SHOW PARTITIONS t"),
            lambda: running.execute("ALTER TABLE t DROP PARTITION (dt = 'lost')"),
            running.catalog.begin,
            running.catalog.follower.step if running.catalog.follower is not None else running.catalog.snapshot,
        ):
            with pytest.raises(Error) as caught:
                run()
            assert caught.value.condition == "CATALOG_REPLACED"


def test_a_dump_is_restored_as_a_whole_or_not_at_all(catalog: Catalog, tmp_path: Path) -> None:
    lines = list(dump(catalog.database, catalog.warehouse))
    header, version = json.loads(lines[0]), catalog.database.version
    second = Catalog.open(tmp_path / "other")
    wrong = {
        "INVALID_DUMP": [
            [],
            ["hello\n"],
            lines[:-1],
            lines[:-5],
            [*lines[:5], *lines[6:]],
            [*lines, lines[5]],
            [*lines[:-1], '["nothing",1]\n', lines[-1]],
            [*lines[:5], lines[5][:9]],
            [lines[0], lines[-2], *lines[1:]],
            [json.dumps({**header, "columns": {}}), *lines[1:]],
        ],
        "DUMP_OF_ANOTHER_VERSION": [[json.dumps({**header, "version": version + 1}), *lines[1:]]],
        "CATALOG_OF_ANOTHER_WAREHOUSE": [lines],
    }
    for condition, dumps in wrong.items():
        for dumped in dumps:
            with pytest.raises(Error) as caught:
                restore(second.database, second.warehouse, dumped, adopt=condition != "CATALOG_OF_ANOTHER_WAREHOUSE")
            assert caught.value.condition == condition, dumped[:1]
    assert list(dump(second.database, second.warehouse))[1:] == list(dump(_empty(tmp_path).database, tmp_path))[1:]
    with pytest.raises(Error) as caught:
        restore(catalog.database, catalog.warehouse, lines)
    assert caught.value.condition == "CATALOG_NOT_EMPTY"
    assert list(dump(catalog.database, catalog.warehouse)) == lines


def _empty(tmp_path: Path) -> Catalog:
    return Catalog.open(tmp_path / "empty")


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warehouse = tmp_path / "w"
    for command in (["upgrade"], ["check"], ["dump"]):
        assert main.main(["catalog", *command, "-w", str(warehouse)]) == 2
        assert "WAREHOUSE_NOT_FOUND" in capsys.readouterr().err
    assert not warehouse.exists()
    with Session(warehouse, "duckdb") as session:
        session.execute("CREATE TABLE t (x INT)")
        session.execute("INSERT INTO t VALUES (1)")
        version = session.catalog.database.version
    where = ["-w", str(warehouse)]
    assert main.main(["catalog", "upgrade", *where]) == 0
    assert capsys.readouterr().out == f"schema version {version}: nothing to do\n"
    assert main.main(["catalog", "check", *where]) == 0
    assert capsys.readouterr().out == "no problem found\n"
    assert main.main(["catalog", "check", "--format", "json", *where]) == 0
    assert capsys.readouterr().out == ""
    assert main.main(["catalog", "dump", *where]) == 0
    text = capsys.readouterr().out
    assert main.main(["catalog", "dump", *where, str(tmp_path / "dump")]) == 0
    assert (tmp_path / "dump").read_text(encoding="utf-8") == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dump", "w"]
    assert main.main(["catalog", "restore", *where, str(tmp_path / "dump")]) == 1
    assert "CATALOG_NOT_EMPTY" in capsys.readouterr().err
    assert main.main(["catalog", "restore", *where, str(tmp_path / "absent")]) == 1
    assert "PATH_NOT_FOUND" in capsys.readouterr().err
    assert main.main(["catalog", "dump", *where, str(tmp_path / "no" / "dump")]) == 1
    assert "FAILED_WRITE_FILE" in capsys.readouterr().err
    (warehouse / FILE_NAME).unlink()
    assert main.main(["catalog", "check", *where]) == 2
    assert "CATALOG_MISSING" in capsys.readouterr().err
    assert main.main(["catalog", "restore", *where, str(tmp_path / "dump")]) == 0
    assert capsys.readouterr().out == f"restored {text.count(chr(10)) - 2:,} rows\n"
    shutil.rmtree(warehouse / "t-1")
    assert main.main(["catalog", "check", *where]) == 1
    assert "cannot be read: No such file or directory\n1 problem found\n" in capsys.readouterr().out
    assert main.main(["catalog", "check", "--format", "json", *where]) == 1
    assert json.loads(capsys.readouterr().out)["object"] == "t"


def test_functions_transforms_and_options_are_restored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warehouse, where = tmp_path / "w", ["-w", str(tmp_path / "w")]
    statements = (
        "SHOW CREATE TABLE events",
        "SHOW CREATE TABLE texts",
        "SHOW CREATE TABLE keyed",
        "DESCRIBE FUNCTION EXTENDED twice",
        "DESCRIBE FUNCTION EXTENDED above",
        "SELECT * FROM above(1)",
        "SELECT later(n), twice(), n, ts FROM events WHERE ts < '2024-01-02'",
        "EXPLAIN SCAN SELECT n FROM events WHERE ts < '2024-01-02'",
        "SELECT * FROM texts ORDER BY a",
    )
    with Session(warehouse, "duckdb") as session:
        for _ in session.script(
            """
            CREATE FUNCTION twice(x INT DEFAULT 4) RETURNS INT COMMENT 'two times' RETURN x * 2;
            CREATE FUNCTION later(x INT) RETURN twice(x) + 1;
            CREATE TABLE events (n INT, ts TIMESTAMP) PARTITIONED BY (days(ts));
            CREATE TABLE keyed (id INT NOT NULL DEFAULT 7, n INT) PARTITIONED BY (p STRING);
            CREATE FUNCTION above(x INT) RETURNS TABLE (p INT COMMENT 'the number', at TIMESTAMP)
            RETURN SELECT n, ts FROM events WHERE n > x;
            INSERT INTO events VALUES (1, TIMESTAMP '2024-01-01 10:00:00'), (2, TIMESTAMP '2024-01-02 00:00:00');
            CREATE TABLE texts (a INT, b STRING) USING CSV OPTIONS (header 'true', sep ';', nullValue 'NA');
            INSERT INTO texts VALUES (1, 'x;y'), (2, NULL)
            """
        ):
            pass
        before = [session.execute(sql).fetch() for sql in statements]
    assert main.main(["catalog", "dump", *where, str(tmp_path / "dump")]) == 0
    (warehouse / FILE_NAME).unlink()
    assert main.main(["catalog", "restore", *where, str(tmp_path / "dump")]) == 0
    assert main.main(["catalog", "check", *where]) == 0
    assert "no problem found" in capsys.readouterr().out
    with Session(warehouse, "duckdb") as session:
        assert [session.execute(sql).fetch() for sql in statements] == before
        assert before[6][0][:2] == (3, 8)
        session.execute("INSERT INTO events VALUES (3, TIMESTAMP '2024-01-01 11:00:00')")
        assert len(session.execute("SHOW PARTITIONS events").fetch()) == 2
        session.execute("INSERT INTO texts VALUES (3, 'NB')")
        assert session.execute("SELECT * FROM texts ORDER BY a").fetch() == [(1, "x;y"), (2, None), (3, "NB")]
        session.execute("CREATE OR REPLACE FUNCTION twice(x INT DEFAULT 4) RETURNS INT RETURN x * 3")
        assert session.execute("SELECT later(n) FROM events WHERE n = 1").fetch() == [(4,)]


def test_an_older_catalog_is_upgraded_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = Catalog.open(tmp_path)
    version = catalog.database.version
    with catalog.database.write() as connection:
        connection.execute(schema.schema_version.update().values(version=version - 1))
    catalog.close()
    # A dump of the upgraded catalog would be of no use to the release that made it.
    for command in ("check", "dump"):
        assert main.main(["catalog", command, "-w", str(tmp_path)]) == 2
        out, err = capsys.readouterr()
        assert (out, "CATALOG_TOO_OLD" in err) == ("", True)
    assert main.main(["catalog", "upgrade", "-w", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"upgraded from schema version {version - 1} to {version}\n"
    with Catalog.open(tmp_path).database.write() as connection:
        connection.execute(schema.schema_version.update().values(version=version + 1))
    assert main.main(["catalog", "upgrade", "-w", str(tmp_path)]) == 2
    assert "CATALOG_TOO_NEW" in capsys.readouterr().err


def _hostile_values() -> list[object]:
    return [
        *(None, True, -1, 2**63, 10**40, 1.5, float("nan"), float("inf"), "", "x\0y", "\ud800", "9" * 9_000),
        *([], {}, {"hex": "zz"}, {"hex": 5}, {"hex": "00", "a": 1}, {"a": 1}, [[[]]], "{}", "[" * 5_000),
    ]


def test_no_dump_breaks_more_than_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each value of each line exchanged: it is refused, with nothing restored, or the catalog can be read."""
    warehouse, file = tmp_path / "w", tmp_path / "dump"
    with Session(warehouse, "duckdb") as session:
        for _, result in session.script(SCENE):
            result.close()
    assert main.main(["catalog", "dump", "-w", str(warehouse), str(file)]) == 0
    shutil.rmtree(warehouse)
    lines = file.read_text(encoding="utf-8").splitlines()
    random_ = random.Random(15)
    cases: list[bytes] = [
        *(b"", b"\n", bytes(range(256)), b"[1]\n", b"null\n", b"[" * 100_000, "\n".join(lines).encode("utf-16")),
        "\n".join(lines[:-1]).encode(),
        "\n".join(lines[:-1]).encode()[: len("\n".join(lines)) // 2],
        "\n".join([*lines[:-1], lines[2], lines[-1]]).encode(),
        "\n".join([*lines, lines[2]]).encode(),
        "\n".join([lines[0], "[" * 100_000 + "]" * 100_000]).encode(),
        "\n".join([lines[0], '["counters","commit",' + "9" * 6_000 + "]"]).encode(),
        "\n".join(lines).encode().replace("ä".encode(), b"\xe4"),
    ]
    for _ in range(60):
        changed = list(lines)
        number = random_.randrange(len(lines) - 1)
        row = json.loads(lines[number])
        key = random_.choice(list(row) if isinstance(row, dict) else range(len(row)))
        row[key] = random_.choice(_hostile_values())
        changed[number] = json.dumps(row)
        cases.append("\n".join(changed).encode())
    for data in cases:
        file.write_bytes(data)
        code = main.main(["catalog", "restore", "-w", str(warehouse), str(file)])
        err = capsys.readouterr().err
        assert "INTERNAL_ERROR" not in err
        assert "TOO_COMPLEX" not in err
        assert code == 0 or err.startswith("Error: ["), err
        with Session(warehouse, "duckdb") as session:
            for sql in ("SHOW TABLES", "SHOW TABLE EXTENDED LIKE '*'", "SHOW CUBES", "SHOW FACTS", "SHOW VIEWS"):
                rows = session.execute(sql).fetch()
                assert code == 0 or rows == []
        shutil.rmtree(warehouse)
