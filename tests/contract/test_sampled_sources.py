"""FROM t TABLESAMPLE (…) INSERT … INSERT …: all targets get rows of the same sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.session import Session


@pytest.mark.parametrize("engine_name", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize(
    ("source", "fewest", "most"),
    [
        ("t TABLESAMPLE (50 PERCENT)", 50, 150),
        ("t TABLESAMPLE (50 PERCENT) AS s", 50, 150),
        ("default.t TABLESAMPLE (10 ROWS) s", 10, 10),
        ("t TABLESAMPLE (50 PERCENT) REPEATABLE (7)", 50, 150),
        ("t /* a sample */ TABLESAMPLE (BUCKET 1 OUT OF 2)", 50, 150),
    ],
)
def test_the_sample_is_drawn_once(
    source: str, fewest: int, most: int, engine_name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with Session(tmp_path / "w", request.getfixturevalue(engine_name)) as session:
        session.execute("CREATE TABLE t (a INT)")
        session.execute(f"INSERT INTO t VALUES {', '.join(f'({number})' for number in range(200))}")
        for name in ("x", "y"):
            session.execute(f"CREATE TABLE {name} (a INT)")
        session.execute(f"FROM {source} INSERT INTO x SELECT a INSERT INTO y SELECT a * 1 WHERE a >= 0")
        drawn, again = (session.execute(f"SELECT a FROM {name} ORDER BY a").fetch() for name in ("x", "y"))
        assert drawn == again
        assert fewest <= len(drawn) <= most
