"""COMPACT on both engines: each reads the same rows after the other has merged files."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.exec.engine import Engine
from rewriter.session import Session

SCENE = """
CREATE TABLE t (i INT, c CHAR(3), v VARCHAR(4), m DECIMAL(9,2), f DOUBLE, d DATE, at TIMESTAMP, b BOOLEAN)
  USING {form} PARTITIONED BY (p STRING, q TIMESTAMP) {properties};
INSERT INTO t VALUES (1, 'a', 'b ', 1.5, -0.0D, DATE '2013-01-01', TIMESTAMP '2013-03-10 02:30:00.123456', true,
  'x/y', TIMESTAMP '2013-03-10 02:30:00'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
ALTER TABLE t ADD COLUMNS (late STRING);
INSERT INTO t VALUES (3, 'abc', '', -0.01, 1e300D, NULL, NULL, false, '', 'x/y', TIMESTAMP '2013-03-10 02:30:00'),
  (4, '', NULL, NULL, NULL, NULL, NULL, NULL, 'new', NULL, NULL),
  (5, 'z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'one', NULL)
"""


@pytest.mark.parametrize(
    ("form", "properties", "merged"),
    [
        ("parquet", "", [(2, 1), (1, 1), (2, 1)]),
        ("parquet", "TBLPROPERTIES ('rewriter.packed' = 'false')", [(2, 1), (2, 1)]),
        ("csv", "", [(2, 1), (2, 1)]),
    ],
)
def test_both_engines_read_what_one_has_merged(
    engine: Engine, duckdb: Engine, tmp_path: Path, form: str, properties: str, merged: list[tuple[int, int]]
) -> None:
    with Session(tmp_path, duckdb) as writer, Session(tmp_path, engine) as session:
        for _ in writer.script(SCENE.format(form=form, properties=properties)):
            pass
        before = [sorted(map(repr, reader.execute("SELECT * FROM t").fetch())) for reader in (writer, session)]
        told = session.execute("ALTER TABLE t COMPACT").fetch()
        assert [row[1:3] for row in told] == merged
        assert [sorted(map(repr, reader.execute("SELECT * FROM t").fetch())) for reader in (writer, session)] == before
        assert list(findings(session.catalog.database)) == []
