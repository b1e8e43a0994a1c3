"""NaN is the greatest number. A file's minimum and maximum for a column do not include it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.exec.engine import Engine
from rewriter.session import Session

VALUES = (-1.0, 0.0, float("nan"))
#: Conditions, and the values that satisfy them, as texts.
CONDITIONS = {
    "f <= 0": ["-1.0", "0.0"],
    "f < 1": ["-1.0", "0.0"],
    "f > 1": ["nan"],
    "f >= 0": ["0.0", "nan"],
    "NOT f < 1": ["nan"],
    "f <> 0": ["-1.0", "nan"],
    "f BETWEEN -1 AND 1": ["-1.0", "0.0"],
    "f = CAST('NaN' AS DOUBLE)": ["nan"],
    "isnan(f)": ["nan"],
}


def check(session: Session, table: str) -> None:
    for column in ("f", "g"):
        for condition, expected in CONDITIONS.items():
            query = f"SELECT {column} FROM {table} WHERE {condition.replace('f', column, 1)}"
            assert sorted(str(value) for (value,) in session.execute(query).fetch()) == expected, query
        ((least, most),) = session.execute(f"SELECT MIN({column}), MAX({column}) FROM {table}").fetch()
        assert (str(least), str(most)) == ("-1.0", "nan")
        query = f"SELECT {column} FROM {table} GROUP BY {column} HAVING {column} < 1 ORDER BY 1"
        assert session.execute(query).fetch() == [(-1.0,), (0.0,)]


@pytest.mark.share(2)
@pytest.mark.parametrize("form", ["(f DOUBLE, g FLOAT, k STRING)", "(f DOUBLE, g FLOAT) PARTITIONED BY (k STRING)"])
def test_files_that_either_engine_writes_are_read_by_both(
    duckdb: Engine, spark: Engine, form: str, tmp_path: Path
) -> None:
    for writer in (duckdb, spark):
        with Session(tmp_path / "warehouse", writer) as session:
            table = f"from_{type(writer).__name__}"
            session.execute(f"CREATE TABLE {table} {form}")
            rows = "(-1.0D, -1F, 'a'), (0.0D, 0F, 'a'), (CAST('NaN' AS DOUBLE), CAST('NaN' AS DOUBLE), 'a')"
            session.execute(f"INSERT INTO {table} VALUES {rows}")
    for reader in (duckdb, spark):
        with Session(tmp_path / "warehouse", reader) as session:
            for writer in (duckdb, spark):
                check(session, f"from_{type(writer).__name__}")


def test_files_of_others_are_read_by_their_values(duckdb: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    columns = {"f": pa.array(VALUES, pa.float64()), "g": pa.array(VALUES, pa.float32())}
    pq.write_table(pa.table(columns), folder / "one.parquet")
    statistics = pq.read_metadata(folder / "one.parquet").row_group(0).column(0).statistics
    assert statistics.max == 0.0
    with Session(tmp_path / "warehouse", duckdb) as session:
        session.execute(f"CREATE EXTERNAL TABLE t (f DOUBLE, g FLOAT) LOCATION '{folder}'")
        shared = "TBLPROPERTIES ('rewriter.shared_location' = 'true')"
        session.execute(f"CREATE EXTERNAL TABLE wide (f DOUBLE, g DOUBLE) LOCATION '{folder}' {shared}")
        check(session, "t")
        check(session, "wide")
