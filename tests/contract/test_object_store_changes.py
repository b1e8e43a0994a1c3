"""Files of an object store that another program replaces while a statement reads them: an error, never rows of both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from object_store import ObjectStore

from rewriter.catalog.filesystems.options import store_options
from rewriter.errors import Error
from rewriter.session import Session

COUNT = 400_000
FACTOR = 10**12


@pytest.fixture
def session(tmp_path: Path, object_store: ObjectStore) -> Iterator[Session]:
    options = store_options(object_store.options, "test")
    with Session(tmp_path / "warehouse", "duckdb", filesystems=options) as opened:
        yield opened


def content(format: str, number: int) -> bytes:
    """Returns a file whose rows have this quotient by ``FACTOR``; files of other numbers have the same size."""
    if format in ("csv", "textfile"):
        return (("a\n" if format == "csv" else "") + f"{number * FACTOR}\n" * COUNT).encode()
    table = pa.table({"a": pa.array(np.full(COUNT, number * FACTOR), pa.int64())})
    sink = pa.BufferOutputStream()
    if format == "orc":
        numbers = np.random.default_rng(0).integers(0, FACTOR, COUNT) + number * FACTOR
        pyarrow.orc.write_table(pa.table({"a": numbers}), sink, stripe_size=1 << 16, compression="uncompressed")
        return bytes(sink.getvalue())
    plain = {"compression": None, "use_dictionary": False, "write_statistics": False}
    pq.write_table(table, sink, row_group_size=COUNT // 4, **plain)
    return bytes(sink.getvalue())


def replace_at(store: ObjectStore, key: str, new: bytes, count: int) -> list[int]:
    """Replaces a file before the ``count``-th request for its bytes. Returns how often that was done."""
    left, done = [count], [0]

    def fault(method: str, path: str) -> None:
        if method == "GET" and path.endswith(key):
            left[0] -= 1
            if not left[0]:
                store.fail(None)
                store.put(key, new)
                done[0] += 1

    store.fail(fault)
    return done


@pytest.mark.parametrize("format", ["parquet", "csv", "textfile", "orc"])
@pytest.mark.parametrize("write", [False, True])
def test_a_query_and_a_write(session: Session, object_store: ObjectStore, format: str, write: bool) -> None:
    """At whatever request the file is replaced, all rows are of one file, or there is an error."""
    uri = object_store.put("ext/f", content(format, 1)).rpartition("/")[0]
    session.execute("CREATE TABLE t (a BIGINT)")
    session.execute(f"CREATE EXTERNAL TABLE e (a BIGINT) STORED AS {format} LOCATION '{uri}'")
    refused = 0
    conditions: list[tuple[str, int]] = []
    for count in range(2, 5):
        object_store.put("ext/f", content(format, 1))
        done = replace_at(object_store, "ext/f", content(format, 2), count)
        try:
            if write:
                session.execute("INSERT OVERWRITE t SELECT a FROM e")
            found = session.execute(f"SELECT DISTINCT a DIV {FACTOR} FROM {'t' if write else 'e'}").fetch()
            assert found in ([(1,)], [(2,)])
        except Error as error:
            conditions.append((error.condition, done[0]))
            refused += "changed while it was read" in error.message
        object_store.fail(None)
    assert set(conditions) <= {("FAILED_READ_FILE", 1)}
    assert refused or format in ("csv", "orc"), "these are read by one request, or their footer is another"


def test_a_file_replaced_before_a_query_is_not_changed(session: Session, object_store: ObjectStore) -> None:
    """Also while another query, which has begun before, is running: only that one fails."""
    uri = object_store.put("ext/f", content("parquet", 1)).rpartition("/")[0]
    session.execute(f"CREATE EXTERNAL TABLE e (a BIGINT) LOCATION '{uri}'")
    begun = session.execute("SELECT a FROM e")
    begun.fetch(1)
    object_store.put("ext/f", content("parquet", 2))
    assert session.execute("SELECT a, count(*) FROM e GROUP BY a").fetch() == [(2 * FACTOR, COUNT)]


def test_loaded_data(session: Session, object_store: ObjectStore) -> None:
    uri = object_store.put("in/f.parquet", content("parquet", 1))
    session.execute("CREATE TABLE t (a BIGINT)")
    done = replace_at(object_store, "in/f.parquet", content("parquet", 2), 3)
    with pytest.raises(Error, match="changed while it was read") as caught:
        session.execute(f"LOAD DATA INPATH '{uri}' INTO TABLE t")
    assert (caught.value.condition, done) == ("FAILED_READ_FILE", [1])
    session.execute(f"LOAD DATA INPATH '{uri}' INTO TABLE t")
    assert session.execute("SELECT a, count(*) FROM t GROUP BY a").fetch() == [(2 * FACTOR, COUNT)]
