"""The text for an engine lacks what a cover implies: conditions on time, the time of rows, the choice of partitions."""

from __future__ import annotations

from pathlib import Path

import pytest
import rotation

import rewriter
from rewriter.planner import cube_reference, plan_query
from rewriter.planner.model.plan import Plan
from rewriter.statements.query import select

from .campaign import Campaign, run_seed

#: Queries of time alone, and of time in other places, too.
CAMPAIGN = Campaign(queries=30)


@pytest.fixture
def implied(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """Collects the plans that have such a text."""
    plans: list[Plan] = []
    prepared = select._prepared

    def collecting(query: object, plan: Plan, context: object) -> object:
        if plan.engine_template is not None:
            plans.append(plan)
        return prepared(query, plan, context)  # type: ignore[arg-type]

    monkeypatch.setattr(select, "_prepared", collecting)
    return plans


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("seed", rotation.share(range(920, 932), 4))
def test_rows_are_base_rows(
    seed: int, is_kept: bool, implied: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are right where conditions are left out, and where the engine computes all of them."""
    if is_kept:
        monkeypatch.setattr(plan_query, "_engine_template", lambda query: None)
    tally = run_seed(seed, CAMPAIGN, tmp_path)
    assert not tally.failures, "\n\n".join(tally.failures)
    assert bool(implied) is not is_kept


def test_the_campaign_needs_the_check_of_other_uses(
    implied: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If time is used elsewhere, too, one time for all rows returns other rows."""
    monkeypatch.setattr(cube_reference, "_is_only_bounded", lambda query: query.time.bounded)
    for seed in range(920, 932):
        folder = tmp_path / str(seed)
        folder.mkdir()
        if run_seed(seed, CAMPAIGN, folder).failures:
            return
    raise AssertionError("no wrong result")


@pytest.mark.parametrize("is_checked", [True, False])
def test_events_inside_of_periods_need_the_check_of_the_range(
    implied: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_checked: bool
) -> None:
    """An event has a time of its own. Without the check, all events of the hours at both ends are counted, or none."""
    if not is_checked:
        monkeypatch.setattr(cube_reference, "_is_within_range", lambda query: bool(query.arms))
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        for statement in (
            "CREATE TABLE clicks (at TIMESTAMP, n BIGINT) PARTITIONED BY (h STRING)",
            "INSERT INTO clicks SELECT timestamp_seconds(1704067200 + 60 * id), 1, "
            "date_format(timestamp_seconds(1704067200 + 60 * id), 'yyyy-MM-dd-HH') FROM range(600)",
            "CREATE CUBE c (n BIGINT MEASURE SUM, at TIMESTAMP TIME)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE clicks PERIOD HOURLY PARTITIONED BY at AS (h) RAW)",
        ):
            connection.execute(statement)
        query = "SELECT SUM(n) FROM c WHERE at >= '2024-01-01 01:10' AND at < '2024-01-01 05:30'"
        rows = connection.execute(query).fetchall()
        assert (rows == [(260,)]) is is_checked
        query = "SELECT SUM(n) FROM c WHERE at >= '2024-01-01 01:10' AND at < '2024-01-01 05:30' AND minute(at) < 10"
        assert is_checked is False or connection.execute(query).fetchall() == [(40,)]


_WORLD = (
    "CREATE TABLE hours (shop STRING, n BIGINT) PARTITIONED BY (h STRING)",
    "INSERT INTO hours SELECT substring('abc', CAST(1 + id % 3 AS INT), 1), 1, "
    "date_format(timestamp_seconds(1704067200 + 3600 * id), 'yyyy-MM-dd-HH') FROM range(100)",
    "CREATE TABLE shops (shop STRING)",
    "INSERT INTO shops VALUES ('a'), ('b'), ('z')",
    "CREATE CUBE c (shop STRING, n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
    "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (h)) ROLLUPS (DAILY)",
    "REFRESH FACT f",
)
_DAY = "t >= '2024-01-02' AND t < '2024-01-03'"
_HOUR = (
    "t >= TIMESTAMP '2024-01-01 05:00:00' AND t < date_trunc('DAY', TIMESTAMP '2024-01-01 07:00:00') + INTERVAL 6 HOURS"
)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (f"SELECT SUM(n) FROM c WHERE {_HOUR}", [(1,)]),
        (f"SELECT SUM(n) FROM c WHERE {_DAY}", [(24,)]),
        ("SELECT SUM(n) FROM c WHERE t BETWEEN '2024-01-01' AND '2024-01-01 02:00'", [(3,)]),
        ("SELECT SUM(n) FROM c WHERE (t>='2024-01-01')AND(t<'2024-01-01 02:00')", [(2,)]),
        ("SELECT SUM(n) FROM c WHERE time_range_in(t, '2024-01-01', '2024-01-01T02')AND shop <> 'c'", [(2,)]),
        (f"SELECT SUM(n) FROM c WHERE {_DAY} AND (t < '2024-01-02 01:00' OR t >= '2024-01-02 22:00')", [(3,)]),
        (f"SELECT hour(t) AS h, SUM(n) FROM c WHERE {_DAY} GROUP BY hour(t) ORDER BY h LIMIT 2", [(0, 1), (1, 1)]),
        (f"SELECT SUM(n) FROM c WHERE {_DAY} AND hour(t) = 7", [(1,)]),
        ("SELECT SUM(q.n) FROM (SELECT n, t AS s FROM c WHERE t >= '2024-01-02') q WHERE s < '2024-01-03'", [(24,)]),
        (f"SELECT SUM(n) FROM c WHERE {_DAY} AND t < current_timestamp() AND (t<current_date) AND t < NOW() -- end",
         [(24,)]),
        ("SELECT SUM(n) FROM c WHERE t >= '2024-01-02' AND t < (DATE '2024-01-05') LIMIT 1", [(72,)]),
        ("SELECT SUM(n) FROM c WHERE NOT t < '2024-01-02' AND t < '2024-01-03'", [(24,)]),
    ],
)  # fmt: skip
def test_conditions_that_the_cover_implies(tmp_path: Path, query: str, rows: list[tuple[object, ...]]) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        for statement in _WORLD:
            connection.execute(statement)
        assert connection.execute(query).fetchall() == rows


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("t IS NOT NULL", [(3,)]),
        ("t < '0001-02-01' AND t IS NOT NULL", [(1,)]),
        ("time_range_in(t, '0001-01-01', '9999-01-01')", [(3,)]),
    ],
)
def test_the_first_instant_is_a_time(tmp_path: Path, condition: str, rows: list[tuple[object, ...]]) -> None:
    """A literal names the start of year 1, which is the open end of ranges, too."""
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        for statement in (
            "SET rewriter.partial_data = true",
            "CREATE TABLE days (n BIGINT) PARTITIONED BY (d DATE)",
            "INSERT INTO days VALUES (1, DATE '0001-01-01'), (2, DATE '2024-01-01')",
            "CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (d))",
        ):
            connection.execute(statement)
        assert connection.execute(f"SELECT SUM(n) FROM c WHERE {condition}").fetchall() == rows


@pytest.mark.parametrize("is_checked", [True, False])
def test_an_outer_join_needs_the_condition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_checked: bool) -> None:
    """The condition drops the rows of shops without sales."""
    if not is_checked:
        monkeypatch.setattr(cube_reference, "nullable", lambda select, index: False)
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        for statement in _WORLD:
            connection.execute(statement)
        query = f"SELECT s.shop, SUM(n) FROM shops s LEFT JOIN c ON c.shop = s.shop WHERE {_DAY} GROUP BY s.shop"
        assert (sorted(connection.execute(query).fetchall()) == [("a", 8), ("b", 8)]) is is_checked


@pytest.mark.parametrize("is_checked", [True, False])
@pytest.mark.parametrize(
    "query",
    [
        f"SELECT (SELECT SUM(n) FROM c WHERE {_DAY}) + (SELECT SUM(n) FROM c WHERE t < '2024-01-02')",
        f"SELECT (SELECT SUM(n) FROM c WHERE {_DAY}) + (SELECT SUM(n) FROM c_1d)",
    ],
)
def test_a_table_that_is_read_twice_needs_the_choice_of_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_checked: bool, query: str
) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        for statement in _WORLD:
            connection.execute(statement)
        rollup = connection.session.catalog.snapshot().fact("f").tables[1].table
        query = query.replace("c_1d", rollup)
        expected = connection.execute(query).fetchall()
        assert expected == [(24 + (96 if rollup in query else 24),)]
        if not is_checked:
            monkeypatch.setattr(
                plan_query, "_lone_tables", lambda query: {table.id for r in query.planned for table, *_ in r.uses}
            )
            assert connection.execute(f"{query} -- again").fetchall() != expected
