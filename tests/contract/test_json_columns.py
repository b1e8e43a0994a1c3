"""Queries of some columns of JSON files: both engines read no others, and refuse the same lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.exec.engine import Engine
from rewriter.session import Session

COLUMNS = "id INT, a ARRAY<INT>, s STRING, n DECIMAL(5,2), d DOUBLE, f FLOAT"
QUERIES = ("count(*)", "count(id)", "id", "s", "id, s", "sum(id) OVER () AS n", "n", "a", "d, f")
#: Lines, and by query the rows; ``None`` is an error. A query that is not named has an error.
LINES: tuple[tuple[str, dict[str, list[tuple[object, ...]]]], ...] = (
    (
        '{"id": 1, "a": "none", "s": "x", "n": 1.5, "d": -0, "f": 1.00000005960464477540}',
        {
            "count(*)": [(1,)], "count(id)": [(1,)], "id": [(1,)], "s": [("x",)], "id, s": [(1, "x")],
            "sum(id) OVER () AS n": [(1,)], "n": [("1.50",)], "d, f": [("-0.0", "1.0000001192092896")],
        },
    ),
    (
        '{"id": "q", "s": 1.50, "n": "q", "a": [1]}',
        {"count(*)": [(1,)], "s": [("1.50",)], "a": [([1],)], "d, f": [(None, None)]},
    ),
    (
        '{"id": 1, "s": "x", "id": 2}',
        {
            "count(*)": [(1,)], "count(id)": [(1,)], "id": [(2,)], "s": [("x",)], "id, s": [(2, "x")],
            "sum(id) OVER () AS n": [(2,)], "n": [(None,)], "a": [(None,)], "d, f": [(None, None)],
        },
    ),
    ('{"id": 1, "s": "x"', {}),
    ("17", {}),
    ('"id"', {}),
)  # fmt: skip


def _rows(session: Session, query: str) -> list[tuple[object, ...]] | None:
    try:
        rows = session.execute(query).fetch()
    except Error:
        return None
    return [tuple(v if v is None or isinstance(v, int | list) else str(v) for v in row) for row in rows]


@pytest.mark.spark
@pytest.mark.parametrize("columns", [COLUMNS, COLUMNS.replace("s STRING, n DECIMAL(5,2), ", "")])
def test_other_columns_are_not_read(engine: Engine, columns: str, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", engine) as session:
        for number, (line, expected) in enumerate(LINES):
            folder = tmp_path / f"files-{number}"
            folder.mkdir()
            (folder / "a.json").write_text(f"{line}\n\n")
            session.execute(f"CREATE TABLE t{number} ({columns}) USING json LOCATION '{folder}'")
            for query in QUERIES:
                if all(f"{name} " in columns for name in query.split(", ") if len(name) == 1):
                    assert _rows(session, f"SELECT {query} FROM t{number}") == expected.get(query), (line, query)


@pytest.mark.spark
@pytest.mark.parametrize("line", ["17", "[]", '"4"', '[{"id": 4}]'])
def test_a_line_of_one_column_is_an_object(engine: Engine, line: str, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.json").write_text(f"{line}\n")
    with Session(tmp_path / "warehouse", engine) as session:
        session.execute(f"CREATE TABLE t (id INT) USING json LOCATION '{tmp_path}/files'")
        rows = _rows(session, "SELECT id FROM t")
        # Spark reads the objects of an array.
        assert rows is None or (engine.name == "spark" and rows == [(4,)] * ("{" in line))


def test_hidden_and_renamed_columns(duckdb: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "files" / "p=1"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"id": 1, "a": "none", "s": "x"}\n')
    with Session(tmp_path / "warehouse", duckdb) as session:
        session.execute(f"CREATE TABLE t ({COLUMNS}) USING json PARTITIONED BY (p INT) LOCATION '{tmp_path}/files'")
        session.execute("MSCK REPAIR TABLE t")
        assert session.execute("SELECT p, count(*) FROM t GROUP BY p").fetch() == [(1, 1)]
        assert session.execute("SELECT t.id, p FROM t JOIN (SELECT 'x' AS s) AS u ON t.s = u.s").fetch() == [(1, 1)]
        assert session.execute("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.s = t.s)").fetch() == [(1,)]
