"""External tables and opened files in an object store: their rows are those of the same files on local disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from object_store import ObjectStore

from rewriter.catalog.filesystems.options import store_options
from rewriter.errors import Error, NotSupportedError
from rewriter.session import Session

FORMATS = ["parquet", "csv", "json", "orc", "textfile"]
#: Names of files that a pattern, a URI or SQL could misread.
ODD_NAMES = [
    "a b.parquet",
    "50%.parquet",
    "a+b.parquet",
    "[x]*?.parquet",
    "ä#é.parquet",
    "it's.parquet",
    "a%20b.parquet",
]


@pytest.fixture
def session(tmp_path: Path, object_store: ObjectStore) -> Iterator[Session]:
    options = store_options(object_store.options, "test")
    with Session(tmp_path / "warehouse", "duckdb", filesystems=options) as opened:
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def copy_tree(folder: Path, store: ObjectStore, prefix: str) -> str:
    """Copies the files of a directory, hidden ones too."""
    for path in folder.rglob("*"):
        if path.is_file():
            store.put(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())
    return f"{store.uri}/{prefix}"


def parquet(n: int = 1) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": pa.array([n], pa.int32())}), sink)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("format", FORMATS)
def test_an_external_table(session: Session, tmp_path: Path, object_store: ObjectStore, format: str) -> None:
    local = tmp_path / "files"
    declared = f"(a INT, b STRING) PARTITIONED BY (p STRING, q DATE) STORED AS {format}"
    session.execute(f"CREATE EXTERNAL TABLE near {declared} LOCATION '{local}'")
    session.execute(
        "INSERT INTO near VALUES (1, 'x', 'a/b', DATE'2024-01-01'), (2, NULL, 'ä', DATE'2024-01-02'), "
        "(3, 'z', NULL, DATE'2024-01-03'), (4, 'w', 'a/b', DATE'2024-01-01')"
    )
    (local / "_hidden").write_text("x")
    uri = copy_tree(local, object_store, "ext/far")
    session.execute(f"CREATE EXTERNAL TABLE far {declared} LOCATION '{uri}'")
    found = [row[:2] for row in rows(session, "MSCK REPAIR TABLE far")]
    assert found == [
        ("p=__HIVE_DEFAULT_PARTITION__/q=2024-01-03", "added"),
        ("p=a%2Fb/q=2024-01-01", "added"),
        ("p=ä/q=2024-01-02", "added"),
    ]
    assert rows(session, "MSCK REPAIR TABLE far") == []
    for query in (
        "SELECT * FROM {} ORDER BY a",
        "SELECT a FROM {} WHERE p = 'a/b' ORDER BY a",
        "SELECT COUNT(*), MAX(a), COUNT(b) FROM {}",
        "SELECT p, q FROM {} WHERE q > DATE'2024-01-01' ORDER BY q",
        "SELECT * FROM {} ORDER BY a LIMIT 2",
        "SHOW PARTITIONS {}",
    ):
        assert rows(session, query.format("far")) == rows(session, query.format("near"))
    rows(session, "ANALYZE TABLE far COMPUTE STATISTICS")
    assert rows(session, "SELECT COUNT(*) FROM far") == [(4,)]
    object_store.client.delete_dir(f"{object_store.bucket}/ext/far/p=ä/q=2024-01-02")
    with pytest.raises(Error) as caught:
        rows(session, "SELECT a FROM far ORDER BY a")
    assert (caught.value.condition, caught.value.object) == ("PATH_NOT_FOUND", f"{uri}/p=ä/q=2024-01-02")
    assert [row[:2] for row in rows(session, "MSCK REPAIR TABLE far SYNC PARTITIONS")] == [
        ("p=ä/q=2024-01-02", "dropped")
    ]
    assert rows(session, "SELECT a FROM far ORDER BY a") == [(1,), (3,), (4,)]


def test_discovered_partitions(session: Session, object_store: ObjectStore) -> None:
    for day in ("2024-01-01", "2024-01-02"):
        object_store.put(f"disc/day={day}/f.parquet", parquet(int(day[-1])))
    session.execute(
        f"CREATE EXTERNAL TABLE t (a INT) PARTITIONED BY (day DATE) LOCATION '{object_store.uri}/disc' "
        "TBLPROPERTIES ('rewriter.partitions' = 'discovered')"
    )
    assert rows(session, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]
    object_store.put("disc/day=2024-01-03/f.parquet", parquet(3))
    assert rows(session, "SELECT a FROM t WHERE day > DATE'2024-01-01' ORDER BY a") == [(2,), (3,)]


def test_locations_of_partitions(session: Session, tmp_path: Path, object_store: ObjectStore) -> None:
    """A local table may have a partition in a store. A relative location is below the table's."""
    elsewhere = object_store.put("other/x/f.parquet", parquet(1)).rpartition("/")[0]
    object_store.put("ext/in/f.parquet", parquet(2))
    for name, location in (("near", str(tmp_path / "t")), ("far", f"{object_store.uri}/ext")):
        shared = "TBLPROPERTIES ('rewriter.shared_location' = 'true')"
        session.execute(f"CREATE EXTERNAL TABLE {name} (a INT) PARTITIONED BY (p INT) LOCATION '{location}' {shared}")
        session.execute(f"ALTER TABLE {name} ADD PARTITION (p = 1) LOCATION '{elsewhere.replace('s3:', 's3a:')}/'")
        assert rows(session, f"SELECT * FROM {name}") == [(1, 1)]
    session.execute("ALTER TABLE far ADD PARTITION (p = 2) LOCATION 'in'")
    assert rows(session, "SELECT * FROM far ORDER BY a") == [(1, 1), (2, 2)]
    with pytest.raises(NotSupportedError, match="in an object store") as caught:
        session.execute("INSERT OVERWRITE near PARTITION (p = 1) VALUES (5)")
    assert caught.value.condition == "OBJECT_STORE_WRITE"
    assert rows(session, "SELECT * FROM near") == [(1, 1)]


def test_names_of_files(session: Session, object_store: ObjectStore) -> None:
    for number, name in enumerate(ODD_NAMES):
        object_store.put(f"odd/{name}", parquet(number))
    uri = f"{object_store.uri}/odd"
    session.execute(f"CREATE EXTERNAL TABLE t (a INT) STORED AS PARQUET LOCATION '{uri}'")
    expected = [(number,) for number in range(len(ODD_NAMES))]
    assert rows(session, "SELECT a FROM t ORDER BY a") == expected
    assert rows(session, f"SELECT a FROM parquet.`{uri}` ORDER BY a") == expected
    for number, name in enumerate(ODD_NAMES[:3]):
        assert rows(session, f"SELECT a FROM parquet.`{uri}/{name}`") == [(number,)]


def test_opened_files(session: Session, object_store: ObjectStore) -> None:
    uri = object_store.uri
    object_store.put("o/a.csv", b"x,y\n1,one\n2,\n")
    object_store.put("o/b.json", b'{"x": 1, "y": "one"}\n{"x": 2}\n')
    object_store.put("o/p=1/c.parquet", parquet())
    assert rows(session, f"SELECT * FROM csv.`{uri}/o/a.csv` ORDER BY x") == [("1", "one"), ("2", None)]
    assert rows(session, f"SELECT * FROM json.`{uri}/o/b.json` ORDER BY x") == [(1, "one"), (2, None)]
    for path, condition in (("none", "PATH_NOT_FOUND"), ("o", "UNSUPPORTED"), ("*.parquet", "UNSUPPORTED")):
        with pytest.raises(Error) as caught:
            session.execute(f"SELECT * FROM parquet.`{uri}/{path}`")
        assert caught.value.condition == condition
        assert f"{uri}/{path}" in caught.value.message


def test_files_that_are_loaded(session: Session, object_store: ObjectStore) -> None:
    """They are copied into the table, wherever it is."""
    object_store.put("in/a.parquet", parquet(1))
    object_store.put("in/b.parquet", parquet(2))
    session.execute(f"CREATE DATABASE d LOCATION '{object_store.uri}/db'")
    for table in ("near", "d.far"):
        session.execute(f"CREATE TABLE {table} (a INT) PARTITIONED BY (p INT)")
        session.execute(f"LOAD DATA INPATH '{object_store.uri}/in' INTO TABLE {table} PARTITION (p = 1)")
        session.execute(f"ALTER TABLE {table} ADD PARTITION (p = 2) LOCATION '{object_store.uri}/in'")
        assert rows(session, f"SELECT * FROM {table} ORDER BY p, a") == [(1, 1), (2, 1), (1, 2), (2, 2)]
    with pytest.raises(Error) as caught:
        session.execute(f"ALTER TABLE near ADD PARTITION (p = 3) LOCATION '{object_store.uri}/absent'")
    assert caught.value.condition == "PATH_NOT_FOUND"


def test_a_file_that_changes_is_read_again(session: Session, object_store: ObjectStore) -> None:
    """Within a second, with the same size: only the ETag differs. A directory may look like that of a managed table."""
    for name, folder in (("t", "x"), ("u", "y/rewriter_write_id=1")):
        location = f"{object_store.uri}/{folder.partition('/')[0]}"
        session.execute(f"CREATE EXTERNAL TABLE {name} (a INT) STORED AS PARQUET LOCATION '{location}'")
        for n in range(5):
            object_store.put(f"{folder}/f.parquet", parquet(n))
            assert rows(session, f"SELECT a FROM {name}") == [(n,)]
            assert rows(session, f"SELECT MAX(a) FROM {name}") == [(n,)]
