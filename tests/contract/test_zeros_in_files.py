"""0.0 and -0.0 are equal, also to the filters of a file's reader."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from rewriter.exec.engine import Engine
from rewriter.session import Session
from tests.contract.conftest import parquet

#: Conditions that both zeros satisfy, with ``x`` for the column and ``zero`` for either zero.
CONDITIONS = ("x = zero", "x IN (zero, 5.0D)", "x <=> zero", "x >= zero", "x <= zero", "x BETWEEN zero AND 1.0D")
ZEROS = ("0.0D", "-0.0D")


def check(session: Session, table: str, columns: tuple[str, ...], rows: int) -> None:
    for condition in CONDITIONS:
        for column in columns:
            for zero in ZEROS:
                where = condition.replace("x", column).replace("zero", zero)
                query = f"SELECT COUNT(*) FROM {table} WHERE {where}"
                assert session.execute(query).fetch() == [(rows,)], query


@pytest.mark.share(2, "spark")
@pytest.mark.parametrize("packed", ["true", "false"])
def test_conditions_on_either_zero_keep_the_rows_of_both(engine: Engine, tmp_path: Path, packed: str) -> None:
    with Session(tmp_path / "warehouse", engine) as session:
        session.execute(
            "CREATE TABLE t (d DOUBLE, e DOUBLE, f FLOAT, g FLOAT) PARTITIONED BY (p DOUBLE, q STRING) "
            f"TBLPROPERTIES ('rewriter.packed' = '{packed}')"
        )
        row = "(0.0D, -0.0D, 0.0F, -0.0F, -0.0D, 'a')"
        session.execute(f"INSERT INTO t VALUES {row}, {row}")
        check(session, "t", ("d", "e", "f", "g", "p"), 2)


def test_files_of_others_are_read_by_either_zero(engine: Engine, tmp_path: Path) -> None:
    structs = pa.array([{"z": 0.0}] * 3, pa.struct([("z", pa.float64())]))
    values = {"d": [0.0] * 3, "e": [-0.0] * 3, "f": pa.array([-0.0] * 3, pa.float32()), "s": structs}
    parquet(tmp_path / "files" / "a.parquet", pa.table(values))
    with Session(tmp_path / "warehouse", engine) as session:
        session.execute(
            "CREATE TABLE t (d DOUBLE, e DOUBLE, f FLOAT, s STRUCT<z: DOUBLE>) STORED AS PARQUET "
            f"LOCATION '{tmp_path / 'files'}'"
        )
        check(session, "t", ("d", "e", "f"), 3)
