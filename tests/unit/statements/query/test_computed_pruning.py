"""Sessions whose queries have conditions on partition columns that are computed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewriter.errors import Error
from rewriter.session import Session
from rewriter.statements.query import computed_pruning


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine="duckdb") as opened:
        opened.execute("CREATE TABLE t (x INT) PARTITIONED BY (dt STRING, hr INT)")
        rows = ", ".join(f"({day * 10 + hour}, '2024-01-0{day}', {hour})" for day in (1, 2, 3) for hour in (4, 5, 6))
        opened.execute(f"INSERT INTO t VALUES {rows}")
        yield opened


def read(session: Session, sql: str, *parameters: object) -> tuple[list[object], int]:
    """Returns the first column of a result in order, and the number of partitions that were read."""
    result = session.execute(sql, parameters or None)
    return sorted(row[0] for row in result.fetch()), result.stats.partitions


@pytest.mark.parametrize(
    ("sql", "rows", "partitions"),
    [
        ("SELECT x FROM t WHERE hr + 1 = 6", [15, 25, 35], 3),
        # In a subquery, a CTE, branches of a union, and beside an alias.
        ("SELECT x FROM (SELECT x FROM t AS u WHERE U.hr + 1 = 6) WHERE x > 20", [25, 35], 3),
        ("WITH c AS (SELECT * FROM t WHERE right(dt, 1) = '2') SELECT x FROM c WHERE hr = 4", [24], 1),
        ("SELECT x FROM t WHERE hr+1 = 6 UNION ALL SELECT x FROM t WHERE hr*6 = 24 AND x=24", [15, 24, 25, 35], 6),
        ("SELECT (SELECT MAX(x) FROM t WHERE hr * 2 = 8) AS m", [34], 3),
        ("SELECT x FROM t a WHERE x IN (SELECT b.x FROM t b WHERE b.hr * 2 = 8) AND hr - 1 < 5", [14, 24, 34], 6),
        # Comments and line breaks inside a condition.
        ("SELECT x FROM t WHERE hr /* the hour */ +\n -- one\n 1 = 6 -- six", [15, 25, 35], 3),
    ],
)  # fmt: skip
def test_conditions_are_computed_wherever_the_table_stands(
    session: Session, sql: str, rows: list[object], partitions: int
) -> None:
    assert read(session, sql) == (rows, partitions)


@pytest.mark.parametrize(
    ("condition", "partitions"),
    [
        ("nullif(hr, 5) IS NOT NULL", 6),
        ("NOT nullif(hr, 5) IS NOT NULL", 3),
        ("hr + 1 NOT IN (5, 6)", 3),
        ("NOT (hr + 1 NOT IN (5, 6))", 6),
        ("right(dt, 2) NOT BETWEEN '02' AND '02'", 6),
        ("right(dt, 5) NOT LIKE '%1'", 6),
        (" OR ".join(f"hr * {n} = 5 * {n}" for n in range(1, 30)), 3),
        (" AND ".join(f"hr * {n} = 5 * {n}" for n in range(1, 30)), 3),
        (" OR ".join(["hr = 4", *(f"hr * {n} = 5 * {n}" for n in range(1, 30))]), 6),
        (" AND ".join(f"hr + {n} <> 4 + {n}" for n in range(1, 60)), 6),
    ],
)
def test_conditions_of_many_parts_and_with_not_inside(session: Session, condition: str, partitions: int) -> None:
    # A table without partitions has nothing that a condition could rule out.
    session.execute("CREATE TABLE flat (x INT, dt STRING, hr INT)")
    session.execute("INSERT INTO flat SELECT x, dt, hr FROM t")
    unpruned = session.execute(f"SELECT x FROM flat WHERE {condition}").fetch()
    assert len(unpruned) == partitions
    assert read(session, f"SELECT x FROM t WHERE {condition}") == (sorted(row[0] for row in unpruned), partitions)


def test_parameters_are_values(session: Session) -> None:
    assert read(session, "SELECT x FROM t WHERE hr + ? = ? AND substr(dt, 1, 10) = ?", 1, 6, "2024-01-02") == ([25], 1)
    assert read(session, "SELECT x FROM t WHERE upper(dt) = ?", "it's") == ([], 0)
    assert read(session, "SELECT x FROM t WHERE hr + 1 = ?", None) == ([], 0)


def test_a_view_is_narrowed_by_its_own_conditions_and_by_those_of_the_query(session: Session) -> None:
    session.execute("CREATE VIEW odd AS SELECT * FROM t WHERE hr % 2 = 1")
    assert read(session, "SELECT x FROM odd") == ([15, 25, 35], 3)
    assert read(session, "SELECT x FROM odd WHERE dt > '2024-01-01'") == ([25, 35], 2)


def test_what_an_insert_reads_is_narrowed(session: Session) -> None:
    session.execute("CREATE TABLE u (x INT)")
    result = session.execute("INSERT INTO u SELECT x FROM t WHERE CAST(dt AS DATE) = DATE '2024-01-02'")
    assert (result.rowcount, result.stats.partitions) == (3, 3)


def test_partitions_of_external_tables_are_narrowed(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (c STRING) LOCATION '{tmp_path / 'e'}'")
    session.execute("INSERT INTO e VALUES (1, 'us'), (2, 'US'), (3, NULL), (4, 'pt')")
    assert read(session, "SELECT x FROM e WHERE lower(c) = 'us'") == ([1, 2], 2)
    assert read(session, "SELECT x FROM e WHERE coalesce(c, 'none') = 'none'") == ([3], 1)


def test_too_many_combinations_rule_nothing_out(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computed_pruning, "MOST_COMBINATIONS", 4)
    sql = "SELECT x FROM t WHERE hr + 1 = 6 AND concat(dt, CAST(hr AS STRING)) = '2024-01-025'"
    assert read(session, sql) == ([25], 3)
    lines = [row[0] for row in session.execute(f"EXPLAIN SCAN {sql}").fetch()]
    assert lines[-1] == (
        "  not used: concat(dt, CAST(hr AS STRING)) = '2024-01-025': it has more than 4 combinations of values"
    )


def test_only_such_conditions_are_computed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[object] = []
    compute = computed_pruning.evaluate_condition

    def recorded(condition: str, *rest: Any) -> Any:
        computed.append(condition)
        return compute(condition, *rest)

    monkeypatch.setattr(computed_pruning, "evaluate_condition", recorded)
    assert read(session, "SELECT x FROM t WHERE hr = 5 AND x + 1 > 20 AND dt LIKE '%3'") == ([35], 1)
    assert computed == []
    assert read(session, "SELECT x FROM t WHERE hr + 0 = 5") == ([15, 25, 35], 3)
    assert computed == ["hr + 0 = 5"]


def test_no_engine_is_started_to_say_what_is_read(tmp_path: Path, session: Session) -> None:
    with Session(tmp_path / "warehouse", engine="spark") as spark_session:
        lines = [row[0] for row in spark_session.execute("EXPLAIN SCAN SELECT x FROM t WHERE hr + 1 = 6").fetch()]
        assert lines[0].startswith("t: 3 of 9 partitions, 1 file,")
        assert spark_session._engine is None


def test_an_error_of_the_condition_is_the_query_s(session: Session) -> None:
    with pytest.raises(Error) as caught:
        session.execute("SELECT x FROM t WHERE hr = 5 AND nosuch(dt) = 3")
    assert caught.value.position is not None
    with pytest.raises(Error) as caught:
        session.execute("SELECT x FROM t WHERE CAST(dt AS INT) > 3")
    assert caught.value.condition == "CAST_INVALID_INPUT"


HOURS = [f"({hour}, '2024-01-0{day}-{hour:02}')" for day in (1, 2) for hour in range(24)]


def test_a_rollup_of_some_partitions_does_not_know_the_others(session: Session) -> None:
    """Partitions that a computed condition rules out have not been read: a day without one of its hours is outdated."""
    for statement in (
        "CREATE CUBE visits (n BIGINT MEASURE COUNT, at TIMESTAMP TIME)",
        "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE TABLE days (n BIGINT) PARTITIONED BY (ds STRING)",
        "CREATE FACT f OF CUBE visits STORED IN ("
        "TABLE hours PERIOD HOURLY PARTITIONED BY at AS (dt = 'yyyy-MM-dd-HH'), "
        "TABLE days PERIOD DAILY PARTITIONED BY at AS (ds = 'yyyy-MM-dd'))",
        f"INSERT INTO hours VALUES {', '.join(HOURS)}",
    ):
        session.execute(statement)
    # How many days are fresh, outdated, unproven and incomplete; and the table that the second day is read from.
    for condition, states, table in (
        ("left(dt, 10) = '2024-01-02' AND right(dt, 2) = '00'", (0, 1, 0, 0), "hours"),
        ("left(dt, 10) = '2024-01-02'", (1, 0, 0, 0), "days"),
        ("right(dt, 5) IN ('01-00', '02-01')", (0, 2, 0, 0), "hours"),
        ("dt < '2025' AND length(dt) = 13", (2, 0, 0, 0), "days"),
    ):
        session.execute(f"INSERT OVERWRITE days SELECT SUM(n), left(dt, 10) FROM hours WHERE {condition} GROUP BY 2")
        (days,) = (row for row in session.execute("SHOW TIMELINES OF f").fetch() if row[0] == "days")
        assert (days[6], *days[10:13]) == states, condition
        rows = session.execute("SHOW COVERAGE OF f FROM '2024-01-02' TO '2024-01-03'").fetch()
        assert [(row[2], row[3]) for row in rows] == [("covered", table)], condition
