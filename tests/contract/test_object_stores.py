"""Managed tables in an object store: every statement has the results that it has on local disk."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from object_store import ObjectStore

from rewriter.catalog.filesystems.options import store_options
from rewriter.cli.main import main
from rewriter.errors import Error
from rewriter.session import Session

#: Formats of tables, each with whether its partitions are packed.
LAYOUTS = [("parquet", True), ("parquet", False), ("csv", False), ("json", False), ("orc", False), ("textfile", False)]

LIFE = """
CREATE TABLE t (a INT, b STRING, x DOUBLE, d DECIMAL(10,2)) PARTITIONED BY (p STRING, q INT) STORED AS {format};
INSERT INTO t VALUES (1, 'x', 1.5, 2.25, 'p/1', 1), (2, NULL, NULL, NULL, 'ä=%', 2), (3, '', 0.0, -1, NULL, 3);
INSERT INTO t PARTITION (p = 'p/1', q) VALUES (4, 'four', 4.0, 4, 4), (5, 'five', 5.0, 5, 1);
SELECT * FROM t ORDER BY a;
SELECT a, p FROM t WHERE p = 'p/1' AND a > 1 ORDER BY a;
SELECT COUNT(*), MAX(a), MIN(b), COUNT(p) FROM t;
SHOW PARTITIONS t;
INSERT OVERWRITE t PARTITION (p = 'p/1', q = 1) VALUES (9, 'nine', 9.0, 9);
SELECT * FROM t ORDER BY a;
CREATE TABLE u STORED AS {format} AS SELECT a * 2 AS a, b FROM t;
SELECT * FROM u ORDER BY a, b;
FROM t INSERT INTO u SELECT a, b INSERT OVERWRITE t PARTITION (p = 'm', q = 7) SELECT a, b, x, d WHERE a > 2;
SELECT * FROM u ORDER BY a, b;
SELECT * FROM t ORDER BY a, p;
ALTER TABLE t DROP PARTITION (q = 2);
ALTER TABLE t PARTITION (p = 'm', q = 7) RENAME TO PARTITION (p = 'n', q = 8);
SELECT a, p, q FROM t ORDER BY a, p;
CREATE TABLE v LIKE t;
ALTER TABLE v EXCHANGE PARTITION (p = 'n', q = 8) WITH TABLE t;
SELECT a, p, q FROM v ORDER BY a;
SELECT a, p, q FROM t ORDER BY a;
CREATE VIEW w AS SELECT p, SUM(a) AS s FROM t GROUP BY p;
SELECT * FROM w ORDER BY p;
INSERT INTO t PARTITION (p = 'p/1', q = 1) VALUES (10, 'ten', 10.0, 10);
INSERT INTO t PARTITION (p = 'p/1', q = 1) VALUES (11, 'eleven', 11.0, 11);
ALTER TABLE t PARTITION (p = 'p/1', q = 1) COMPACT;
SELECT * FROM t ORDER BY a;
ANALYZE TABLE t COMPUTE STATISTICS;
DESCRIBE EXTENDED t PARTITION (p = 'p/1', q = 1);
SHOW CREATE TABLE t;
START TRANSACTION;
INSERT INTO t PARTITION (p = 'in', q = 1) VALUES (20, 'twenty', 20.0, 20);
SELECT COUNT(*) FROM t;
ROLLBACK;
START TRANSACTION;
INSERT INTO t PARTITION (p = 'in', q = 1) VALUES (21, 'twenty-one', 21.0, 21);
INSERT INTO t PARTITION (p = 'in', q = 1) VALUES (22, 'twenty-two', 22.0, 22);
COMMIT;
SELECT a FROM t WHERE p = 'in' ORDER BY a;
SET rewriter.least_retention_hours = 0;
VACUUM RETAIN 0 HOURS DRY RUN;
VACUUM RETAIN 0 HOURS;
SELECT * FROM t ORDER BY a;
DROP TABLE u;
DROP TABLE v;
VACUUM RETAIN 0 HOURS;
SELECT SUM(a), COUNT(b) FROM t
"""

FACTS = """
CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT, s BIGINT MEASURE SUM, at TIMESTAMP TIME);
CREATE TABLE hours (k STRING, n BIGINT, s BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE days (k STRING, n BIGINT, s BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY at AS (dt),
  TABLE days PERIOD DAILY PARTITIONED BY at AS (dt));
INSERT INTO hours SELECT 'x', 1, h.id, concat('2024-05-0', CAST(1 + h.id DIV 24 AS STRING), '-',
  lpad(CAST(h.id % 24 AS STRING), 2, '0')) FROM (SELECT explode(sequence(0, 47)) AS id) AS h;
INSERT OVERWRITE days PARTITION (dt = '2024-05-01') SELECT k, SUM(n), SUM(s) FROM c
  WHERE at >= '2024-05-01' AND at < '2024-05-02' GROUP BY k;
SELECT k, SUM(n), SUM(s) FROM c WHERE at >= '2024-05-01' AND at < '2024-05-03' GROUP BY k;
EXPLAIN COVER SELECT SUM(n) FROM c WHERE at >= '2024-05-01' AND at < '2024-05-02 03:00:00';
REFRESH FACT f;
SELECT SUM(s) FROM c WHERE at >= '2024-05-01' AND at < '2024-05-02 03:00:00';
CHECK FACT f;
SHOW PARTITIONS days
"""


#: Times of files and partitions.
_TIMES = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.+Z]*|transient_lastDdlTime=\d+|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]+ UTC \d+"
)


def outcomes(directory: Path, location: str, script: str, store: ObjectStore) -> list[object]:
    """Returns the rows, warnings or error of each statement, without paths and the times of files."""
    results: list[object] = []
    with Session(directory, "duckdb", filesystems=store_options(store.options, "test")) as session:
        session.execute(f"CREATE DATABASE d LOCATION '{location}'")
        session.execute("USE d")
        for statement in filter(None, map(str.strip, script.split(";"))):
            try:
                result = session.execute(statement)
                outcome: object = (result.fetch(), result.warnings, result.rowcount)
            except Error as error:
                outcome = (error.condition, error.message)
            text = repr(outcome).replace(location, "<root>")
            text = re.sub(r"part-[0-9a-f]{32}", "part-<id>", text)
            results.append((statement, _TIMES.sub("<time>", text)))
    return results


@pytest.mark.share(3)
@pytest.mark.parametrize(("format", "packed"), LAYOUTS)
def test_a_life_in_a_store_is_that_on_disk(
    tmp_path: Path, object_store: ObjectStore, format: str, packed: bool
) -> None:
    script = LIFE.replace("{format}", format)
    if packed:
        properties = "TBLPROPERTIES ('rewriter.packed' = 'true')"
        script = script.replace("STORED AS parquet;", f"STORED AS parquet {properties};", 1)
    on_disk = outcomes(tmp_path / "a", str(tmp_path / "db"), script, object_store)
    in_store = outcomes(tmp_path / "b", f"{object_store.uri}/db", script, object_store)
    assert in_store == on_disk
    errors = [(statement, text) for statement, text in on_disk if text.startswith("('")]
    assert not errors
    assert all(key.startswith("db/t-") for key in object_store.files())


def test_a_fact_in_a_store(tmp_path: Path, object_store: ObjectStore) -> None:
    on_disk = outcomes(tmp_path / "a", str(tmp_path / "db"), FACTS, object_store)
    in_store = outcomes(tmp_path / "b", f"{object_store.uri}/db", FACTS, object_store)
    assert in_store == on_disk
    assert not [text for _, text in on_disk if text.startswith("('")]


def test_a_cluster_in_a_store(tmp_path: Path, object_store: ObjectStore) -> None:
    """Copies are made, found again, changed to be the table's own files, and removed."""
    clusters = {
        "near": {"filesystem": str(tmp_path / "near"), "engine": "duckdb"},
        "far": {"filesystem": f"{object_store.uri}/far", "engine": "duckdb"},
        "own": {"filesystem": f"{object_store.uri}/own", "engine": "duckdb"},
    }
    settings = {"hive.cluster.properties": json.dumps(clusters), "rewriter.least_retention_hours": "0"}
    filesystems = store_options(object_store.options, "test")
    with Session(tmp_path / "w", "duckdb", settings=settings, filesystems=filesystems) as session:
        session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p STRING)")
        session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b=/%'), (3, NULL)")
        session.execute("REPLICATE TABLE t TO CLUSTER far")
        session.execute("USE CLUSTER far")
        assert session.execute("SELECT sum(x) FROM t WHERE x > 0").fetch() == [(6,)]
        session.execute("ALTER TABLE t SET PRIMARY CLUSTER far")
        session.execute("INSERT INTO t VALUES (4, 'a')")
        near = Path(session.snapshot().table("t").copies[0].location)
        location = session.snapshot().table("t").location.removeprefix(f"{object_store.uri}/")
        for key in object_store.files(location):
            object_store.put(key.replace(location, "own/t"), object_store.get(key))
        session.execute(f"ALTER TABLE t ADD CLUSTER own LOCATION '{object_store.uri}/own/t'")
        session.execute("USE CLUSTER own")
        assert session.execute("SELECT sum(x) FROM t").fetch() == [(10,)]
        session.execute("ALTER TABLE t DROP CLUSTER own")
        session.execute("USE CLUSTER far")
        session.execute("ALTER TABLE t DROP CLUSTER near")
        session.execute("VACUUM RETAIN 0 HOURS")
        assert not [key for key in object_store.files() if key.startswith("own/")]
        assert not list(near.rglob("*.parquet"))
        assert session.execute("SELECT * FROM t ORDER BY x").fetch() == [(1, "a"), (2, "b=/%"), (3, None), (4, "a")]


def test_the_command_line_checks_and_copies(
    tmp_path: Path, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``rewriter catalog check`` measures the files, and ``adopt --copy-outside`` copies those of the original."""
    options = "\n".join(
        f"{name} = {json.dumps(value)}" for name, value in object_store.options[object_store.uri].items()
    )
    (tmp_path / "rewriter.toml").write_text(f'[filesystems."{object_store.uri}"]\n{options}\n')
    monkeypatch.chdir(tmp_path)
    original, copy = tmp_path / "a", tmp_path / "b"
    script = (
        f"CREATE DATABASE d LOCATION '{object_store.uri}/db'; CREATE TABLE d.t (a INT) PARTITIONED BY (p INT); "
        "INSERT INTO d.t VALUES (1, 1), (2, 2)"
    )
    assert main(["sql", "-w", str(original), "--engine", "duckdb", "-e", script]) == 0
    assert main(["catalog", "check", "-w", str(original)]) == 0
    shutil.copytree(original, copy)
    assert main(["catalog", "adopt", "-w", str(copy)]) == 1
    assert main(["catalog", "adopt", "-w", str(copy), "--copy-outside"]) == 0
    assert main(["catalog", "check", "-w", str(copy)]) == 0
    before = object_store.files()
    assert main(["sql", "-w", str(copy), "--engine", "duckdb", "-e", "INSERT INTO d.t VALUES (3, 3)"]) == 0
    assert object_store.files() == before
    assert list(copy.rglob("*.parquet"))
    object_store.put(before[0], b"changed")
    capsys.readouterr()
    assert main(["catalog", "check", "-w", str(copy)]) == 0
    assert main(["catalog", "check", "-w", str(original)]) == 1
    assert f"{object_store.uri}/{before[0]} has 7 bytes" in capsys.readouterr().out
