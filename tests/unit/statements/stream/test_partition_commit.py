"""Partition commit: triggers, delays, policies, late rows, SHOW PARTITIONS … STATUS and COMMIT PARTITION."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from clocks import DAY, moved_clock

import rewriter
from rewriter.catalog import Catalog
from rewriter.catalog.maintenance.dump import dump
from rewriter.catalog.model.partition_commit import CommittedPartition
from rewriter.errors import Error, InterfaceError

PREFIX = "rewriter.partition_commit"


class Warehouse:
    """A warehouse with a fact over hours and days, and a directory of new files."""

    def __init__(self, folder: Path, **properties: str) -> None:
        self.folder = folder
        self._files = 0
        (folder / "in").mkdir()
        self.connection = rewriter.connect(folder / "w", engine="duckdb")
        texts = ", ".join(f"'{PREFIX}.{name}' = '{value}'" for name, value in properties.items())
        self.connection.execute(
            f"CREATE TABLE hours (n BIGINT) PARTITIONED BY (h STRING) {f'TBLPROPERTIES ({texts})' if texts else ''}"
        )
        self.connection.execute("CREATE TABLE days (n BIGINT) PARTITIONED BY (d STRING)")
        self.connection.execute("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")

    def fact(self) -> None:
        self.connection.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (h), "
            "TABLE days PERIOD DAILY PARTITIONED BY t AS (d))"
        )

    def load(self, *hours: str, stream: str = "s") -> list[str]:
        """Loads a row for each hour by a stream, and returns the warnings."""
        source = self.folder / "in" / stream
        source.mkdir(exist_ok=True)
        self._files += 1
        rows = {"n": [1 for _ in hours], "h": pa.array([f"2026-01-{hour}" for hour in hours], pa.string())}
        pq.write_table(pa.table(rows), source / f"{self._files}.parquet")
        return self.run(stream)

    def run(self, stream: str = "s") -> list[str]:
        return self.connection.execute(
            f"INSERT INTO hours BY NAME SELECT * FROM STREAM parquet.`{self.folder}/in/{stream}` "
            f"OPTIONS ('stream' = '{stream}', 'checkpoint' = '{self.folder}/checkpoint_{stream}')"
        ).warnings

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(text).fetchall()

    def open(self) -> list[str]:
        return [name[-5:] for name, status in self.rows("SHOW PARTITIONS hours STATUS") if status == "open"]

    def in_cube(self) -> int | None:
        ((total,),) = self.rows("SELECT SUM(n) FROM c")
        return None if total is None else int(total)


@pytest.fixture
def by_time(tmp_path: Path) -> Iterator[Warehouse]:
    warehouse = Warehouse(tmp_path, trigger="partition time")
    warehouse.fact()
    with warehouse.connection:
        yield warehouse


def failure(warehouse: Warehouse, statement: str) -> Error:
    with pytest.raises(Error) as caught:
        warehouse.connection.execute(statement)
    return caught.value


def test_a_partition_is_visible_when_the_stream_has_gone_on(by_time: Warehouse) -> None:
    by_time.load("01-00", "01-00")
    assert (by_time.open(), by_time.in_cube()) == (["01-00"], None)
    by_time.load("01-00", "01-01")
    assert (by_time.open(), by_time.in_cube()) == (["01-01"], 3)


def test_the_slowest_stream_decides(by_time: Warehouse) -> None:
    by_time.load("01-00", stream="slow")
    by_time.load("01-05", stream="fast")
    assert by_time.open() == ["01-00", "01-05"]
    by_time.load("01-03", stream="slow")
    assert by_time.open() == ["01-03", "01-05"]


def test_a_stream_is_waited_for_from_its_first_run_until_it_is_dropped(by_time: Warehouse) -> None:
    (by_time.folder / "in" / "slow").mkdir()
    by_time.run("slow")
    by_time.load("01-00", stream="fast")
    by_time.load("01-05", stream="fast")
    assert by_time.open() == ["01-00", "01-05"]
    by_time.connection.execute("DROP STREAM slow")
    by_time.run("fast")
    assert by_time.open() == ["01-05"]
    assert failure(by_time, "DROP STREAM slow").condition == "STREAM_NOT_FOUND"
    assert [row[0] for row in by_time.rows("SHOW STREAMS")] == ["fast"]


def test_a_dropped_stream_forgets_the_far_future(by_time: Warehouse) -> None:
    source = by_time.folder / "in" / "s"
    source.mkdir()
    pq.write_table(pa.table({"n": [1], "h": ["2999-01-01-01"]}), source / "future.parquet")
    by_time.run()
    by_time.load("01-00")
    assert "01-00" not in by_time.open()
    by_time.connection.execute("DROP STREAM s")
    by_time.load("01-05")
    assert "01-05" in by_time.open()


def test_a_restored_catalog_waits_for_the_same_streams(by_time: Warehouse) -> None:
    by_time.load("01-00", stream="slow")
    by_time.load("01-00", "01-03", stream="fast")
    folder, catalog = by_time.folder / "w", by_time.connection.session.catalog
    lines = list(dump(catalog.database, catalog.warehouse))
    by_time.connection.close()
    for path in folder.glob("catalog.db*"):
        path.unlink()
    Catalog.restore(folder, None, lines)
    by_time.connection = rewriter.connect(folder, engine="duckdb")
    by_time.run("fast")
    assert by_time.open() == ["01-00", "01-03"]


def test_an_idle_stream_is_not_waited_for(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path, trigger="partition time", idle_timeout="4 seconds")
    warehouse.fact()
    warehouse.load("01-00", stream="idle")
    warehouse.load("01-05", stream="busy")
    assert warehouse.open() == ["01-00", "01-05"]
    time.sleep(4.1)
    warehouse.load("01-05", stream="busy")
    assert warehouse.open() == ["01-05"]


def test_a_delay_waits_longer(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path, trigger="Partition  Time", delay="2 Hours")
    warehouse.fact()
    warehouse.load("01-00")
    warehouse.load("01-02")
    assert warehouse.open() == ["01-00", "01-02"]
    warehouse.load("01-03")
    assert warehouse.open() == ["01-02", "01-03"]


def test_the_events_of_a_raw_table_decide(tmp_path: Path) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        connection.execute(
            "CREATE TABLE events (at TIMESTAMP) PARTITIONED BY (d STRING) TBLPROPERTIES "
            f"('{PREFIX}.trigger' = 'partition time', '{PREFIX}.delay' = '2 hours')"
        )
        connection.execute("CREATE CUBE c (n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        connection.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE events PERIOD DAILY PARTITIONED BY t AS (d) RAW (t AS at))"
        )
        (tmp_path / "in").mkdir()
        status = []
        for number, event in enumerate(("2026-01-01 10:00", "2026-01-02 01:59", "2026-01-02 02:00")):
            connection.execute(
                f"INSERT OVERWRITE DIRECTORY '{tmp_path}/in/{number}' USING parquet "
                f"SELECT TIMESTAMP'{event}' AS at, '{event[:10]}' AS d"
            )
            connection.execute(
                f"INSERT INTO events BY NAME SELECT * FROM STREAM parquet.`{tmp_path}/in` "
                f"OPTIONS ('stream' = 's', 'checkpoint' = '{tmp_path}/checkpoint')"
            )
            status.append(dict(connection.execute("SHOW PARTITIONS events STATUS").fetchall())["d=2026-01-01"])
        assert status == ["open", "open", "committed"]


def test_process_time_waits_for_quiet(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path, trigger="process time", delay="1 second")
    warehouse.load("01-00")
    assert warehouse.open() == ["01-00"]
    warehouse.load("01-01")
    assert "01-01" in warehouse.open()
    time.sleep(1.1)
    warehouse.run()
    assert warehouse.open() == []


def test_process_time_of_a_clock_that_was_set_back(tmp_path: Path) -> None:
    """Rows from the future are no reason to wait until the clock is there again."""
    with moved_clock() as clock:
        warehouse = Warehouse(tmp_path, trigger="process time", delay="1 hour")
        clock.offset = 5 * DAY
        warehouse.load("01-00")
        clock.offset = 0
        warehouse.run()
        assert warehouse.open() == []


def test_a_stream_of_a_clock_that_was_set_back_is_idle(tmp_path: Path) -> None:
    with moved_clock() as clock:
        warehouse = Warehouse(tmp_path, trigger="partition time", idle_timeout="1 hour")
        warehouse.fact()
        clock.offset = 5 * DAY
        warehouse.load("01-00", stream="idle")
        clock.offset = 0
        warehouse.load("01-05", stream="busy")
        assert warehouse.open() == ["01-05"]


def test_process_time_waits_for_the_end_of_the_period(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path, trigger="process time")
    warehouse.fact()
    (hour,) = warehouse.rows("SELECT date_format(current_timestamp(), 'yyyy-MM-dd-HH')")[0]
    source = tmp_path / "in" / "s"
    source.mkdir()
    pq.write_table(pa.table({"n": [1, 1], "h": [hour, "2026-01-01-00"]}), source / "a.parquet")
    warehouse.run()
    assert dict(warehouse.rows("SHOW PARTITIONS hours STATUS")) == {f"h={hour}": "open", "h=2026-01-01-00": "committed"}


def test_a_running_stream_commits_without_batches(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path, trigger="process time", delay="1 second")
    (tmp_path / "in" / "s").mkdir()
    pq.write_table(pa.table({"n": [1], "h": ["2026-01-01-00"]}), tmp_path / "in" / "s" / "a.parquet")
    with warehouse.connection:
        warehouse.connection.execute(
            f"INSERT INTO hours BY NAME SELECT * FROM STREAM parquet.`{tmp_path}/in/s` OPTIONS "
            f"('stream' = 's', 'checkpoint' = '{tmp_path}/checkpoint', 'trigger' = '1 second')"
        )
        deadline = time.monotonic() + 30
        while dict(warehouse.rows("SHOW PARTITIONS hours STATUS")) != {"h=2026-01-01-00": "committed"}:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_late_rows_are_visible_at_once_and_outdate_rollups(by_time: Warehouse) -> None:
    by_time.load(*(f"01-{hour:02}" for hour in range(24)))
    by_time.load("02-00")
    by_time.connection.execute("REFRESH FACT f")
    day = "SELECT SUM(n) FROM c WHERE t >= '2026-01-01' AND t < '2026-01-02'"
    assert by_time.rows(day) == [(24,)]
    warnings = by_time.load("01-03", "01-04", "02-00")
    assert warnings == [
        "Late rows came for 2 partitions of hours: committed again, and rollups over them are outdated."
    ]
    assert by_time.rows(day) == [(26,)]
    assert [row[10] for row in by_time.rows("SHOW TIMELINES OF f") if row[0] == "days"] == [1]
    assert [row[-1] for row in by_time.rows("SHOW STREAMS")] == [2]


def test_rows_for_a_dropped_partition_are_late(by_time: Warehouse) -> None:
    by_time.load("01-00", "01-01")
    by_time.connection.execute("ALTER TABLE hours DROP PARTITION (h = '2026-01-01-00')")
    by_time.load("01-00")
    assert (by_time.open(), by_time.in_cube()) == (["01-01"], 1)


@pytest.mark.parametrize("repair", ["REFRESH TIMELINES OF f", "REFRESH FACT f", "SELECT 1"])
def test_a_rollup_of_an_open_partition_that_is_dropped_is_outdated(tmp_path: Path, repair: str) -> None:
    """The other partition of the day makes it whole after the drop, without an event of its own."""
    warehouse = Warehouse(tmp_path, trigger="partition time")
    with warehouse.connection as connection:
        run = connection.execute
        run(
            "CREATE TABLE parts (n BIGINT) PARTITIONED BY (d STRING, c STRING) "
            f"TBLPROPERTIES ('{PREFIX}.trigger' = 'partition time')"
        )
        run("CREATE TABLE months (n BIGINT, c STRING) PARTITIONED BY (m STRING)")
        run("CREATE CUBE sales (c STRING, n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        run(
            "CREATE FACT f OF CUBE sales STORED IN (TABLE parts PERIOD DAILY PARTITIONED BY t AS (d) "
            "COMPLETE WITH ANY c, TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m))"
        )
        days = ", ".join(f"('2026-01-{day:02}', 'eu', 1)" for day in range(1, 31))
        run(f"INSERT INTO parts (d, c, n) VALUES {days}")
        source = tmp_path / "in" / "s"
        source.mkdir()
        pq.write_table(pa.table({"n": [5, 7], "d": ["2026-01-31"] * 2, "c": ["eu", "us"]}), source / "1.parquet")
        run(
            f"INSERT INTO parts BY NAME SELECT * FROM STREAM parquet.`{source}` "
            f"OPTIONS ('stream' = 's', 'checkpoint' = '{tmp_path}/checkpoint')"
        )
        run("ALTER TABLE parts COMMIT PARTITION (d = '2026-01-31', c = 'eu')")
        run("INSERT OVERWRITE months PARTITION (m = '2026-01') SELECT SUM(n), c FROM parts GROUP BY c")
        run("ALTER TABLE parts DROP PARTITION (d = '2026-01-31', c = 'us')")
        run(repair)
        assert warehouse.rows("SELECT SUM(n) FROM sales WHERE t >= '2026-01-01' AND t < '2026-02-01'") == [(35,)]
        assert warehouse.rows("REFRESH TIMELINES OF f") == []


def test_an_open_partition_that_is_dropped_was_never_there(by_time: Warehouse) -> None:
    by_time.load("01-00")
    by_time.connection.execute("ALTER TABLE hours DROP PARTITION (h = '2026-01-01-00')")
    by_time.load("01-00")
    assert by_time.open() == ["01-00"]
    assert by_time.rows("REFRESH TIMELINES OF f") == []


def test_batch_statements_commit_what_they_make(by_time: Warehouse) -> None:
    by_time.connection.execute("INSERT INTO hours VALUES (5, '2026-01-01-00')")
    by_time.connection.append("hours", pa.table({"n": [1], "h": ["2026-01-01-01"]}), batch_id="x")
    assert (by_time.open(), by_time.in_cube()) == ([], 6)


@pytest.mark.parametrize("verb", ["INTO", "OVERWRITE"])
def test_batch_statements_leave_open_what_a_stream_fills(by_time: Warehouse, verb: str) -> None:
    by_time.load("01-00")
    by_time.connection.execute(f"INSERT {verb} hours PARTITION (h = '2026-01-01-00') VALUES (5)")
    assert (by_time.open(), by_time.in_cube()) == (["01-00"], None)
    by_time.load("01-01")
    assert by_time.in_cube() == (6 if verb == "INTO" else 5)


def test_commit_partition_commits_now(by_time: Warehouse) -> None:
    by_time.load("01-00", stream="b")
    by_time.load("01-00", "02-00", stream="a")
    assert by_time.open() == ["01-00", "02-00"]
    by_time.connection.execute("ALTER TABLE hours COMMIT PARTITION (h < '2026-01-02'), PARTITION (h = '2026-01-01-00')")
    assert (by_time.open(), by_time.in_cube()) == (["02-00"], 2)
    missing = failure(by_time, "ALTER TABLE hours COMMIT PARTITION (h = '2027')")
    assert missing.condition == "PARTITIONS_NOT_FOUND"


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE hours PARTITION (h = '2026-01-01-00') RENAME TO PARTITION (h = '2026-01-01-05')",
        "ALTER TABLE other EXCHANGE PARTITION (h = '2026-01-01-00') WITH TABLE hours",
    ],
)
def test_an_open_partition_does_not_move(by_time: Warehouse, statement: str) -> None:
    by_time.connection.execute("CREATE TABLE other (n BIGINT) PARTITIONED BY (h STRING)")
    by_time.load("01-00")
    assert failure(by_time, statement).condition == "PARTITION_OPEN"
    assert by_time.open() == ["01-00"]


def test_the_partition_of_null_time_is_never_open(by_time: Warehouse) -> None:
    source = by_time.folder / "in" / "s"
    source.mkdir()
    pq.write_table(pa.table({"n": [1], "h": pa.array([None], pa.string())}), source / "a.parquet")
    by_time.run()
    assert by_time.open() == []
    assert by_time.rows("SELECT SUM(n) FROM c") == [(1,)]


def test_an_older_state_has_the_status_of_that_time(by_time: Warehouse) -> None:
    by_time.load("01-00")
    with rewriter.connect(by_time.folder / "w", engine="duckdb") as reader:
        reader.execute("START TRANSACTION")
        reader.execute("SHOW PARTITIONS hours STATUS")
        by_time.load("01-01")
        assert reader.execute("SHOW PARTITIONS hours STATUS").fetchall() == [("h=2026-01-01-00", "open")]
        assert reader.execute("SELECT SUM(n) FROM c").fetchall() == [(None,)]


def test_the_next_batch_commits_after_the_trigger_is_removed(by_time: Warehouse) -> None:
    by_time.load("01-00")
    by_time.connection.execute(f"ALTER TABLE hours UNSET TBLPROPERTIES ('{PREFIX}.trigger')")
    assert by_time.open() == ["01-00"]
    by_time.run()
    assert by_time.open() == []
    by_time.load("01-05")
    assert by_time.open() == []


def test_a_missing_range_names_the_open_partitions(by_time: Warehouse) -> None:
    by_time.load("01-00")
    missing = failure(by_time, "SELECT SUM(n) FROM c WHERE t >= '2026-01-01' AND t < '2026-01-01 01:00'")
    assert missing.condition == "MISSING_PARTITIONS"
    assert "a stream still fills hours" in (missing.hint or "")
    text = "SELECT SUM(n) FROM c WHERE t >= '2026-01-01' AND t < '2026-01-01 01:00'"
    plan = "\n".join(str(row[0]) for row in by_time.rows(f"EXPLAIN COVER {text}"))
    assert "[PARTITIONS_OPEN]" in plan


def test_a_fact_that_is_made_later_knows_open_partitions(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path, trigger="process time", delay="1 day")
    warehouse.load("01-00")
    warehouse.connection.execute("INSERT INTO hours VALUES (7, '2026-01-01-01')")
    warehouse.fact()
    assert warehouse.rows("SELECT SUM(n) FROM c") == [(7,)]
    warehouse.connection.execute("ALTER TABLE hours COMMIT PARTITION (h = '2026-01-01-00')")
    assert warehouse.rows("SELECT SUM(n) FROM c") == [(8,)]


def test_mark_complete_reports_open_periods(by_time: Warehouse) -> None:
    by_time.load("01-00", "01-01")
    marked = by_time.rows("ALTER FACT f MARK COMPLETE FROM '2026-01-01' TO '2026-01-01 04:00'")
    assert [row[2:] for row in marked] == [
        ("2026-01-01T02", "2026-01-01T04", "marked", 2), ("2026-01-01T01", "2026-01-01T02", "open", 1),
    ]  # fmt: skip
    assert by_time.open() == ["01-01"]


def test_describe_partition_tells_that_it_is_open(by_time: Warehouse) -> None:
    by_time.load("01-00", "01-01")
    freshness = {}
    for hour in ("00", "01"):
        described = by_time.rows(f"DESCRIBE EXTENDED hours PARTITION (h = '2026-01-01-{hour}')")
        freshness[hour] = [value for name, value, _ in described if name == "Freshness"]
    assert freshness == {"00": ["fresh"], "01": ["open"]}


class TestRollups:
    """A table of rollups that a stream fills, although REFRESH FACT could compute them."""

    @pytest.fixture
    def rollups(self, tmp_path: Path) -> Iterator[rewriter.Connection]:
        (tmp_path / "in").mkdir()
        pq.write_table(pa.table({"n": [5], "q": ["2026-Q1"]}), tmp_path / "in" / "1.parquet")
        with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
            connection.execute("CREATE TABLE months (n BIGINT) PARTITIONED BY (m STRING)")
            connection.execute(
                "CREATE TABLE quarters (n BIGINT) PARTITIONED BY (q STRING) "
                f"TBLPROPERTIES ('{PREFIX}.trigger' = 'partition time')"
            )
            connection.execute("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
            connection.execute(
                "CREATE FACT f OF CUBE c STORED IN (TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m), "
                "TABLE quarters PERIOD QUARTERLY PARTITIONED BY t AS (q))"
            )
            connection.execute("INSERT INTO months VALUES (1, '2026-01'), (2, '2026-02'), (4, '2026-03')")
            connection.execute(
                f"INSERT INTO quarters BY NAME SELECT * FROM STREAM parquet.`{tmp_path}/in` "
                f"OPTIONS ('stream' = 's', 'checkpoint' = '{tmp_path}/checkpoint')"
            )
            yield connection

    def test_the_work_list_waits_for_an_open_rollup(self, rollups: rewriter.Connection) -> None:
        work = rollups.execute("SHOW MISSING PARTITIONS OF f").fetchall()
        assert work == [("quarters", "QUARTERLY", "2026-01-01", "2026-04-01", 1, "wait")]

    @pytest.mark.parametrize("clause", ["", "FORCE", "DRY RUN", "MAX 1 PARTITIONS", "MAX 1 PARTITIONS DRY RUN"])
    def test_a_refresh_leaves_an_open_rollup_alone(self, rollups: rewriter.Connection, clause: str) -> None:
        skipped = [("quarters", "QUARTERLY", "2026-01-01", "2026-04-01", "open", "skipped: a stream still fills it", 1)]
        assert rollups.execute(f"REFRESH FACT f {clause}").fetchall() == skipped
        assert rollups.execute("SELECT n FROM quarters").fetchall() == [(5,)]
        rollups.execute("ALTER TABLE quarters COMMIT PARTITION (q = '2026-Q1')")
        refreshed = rollups.execute("REFRESH FACT f").fetchall()
        assert [row[4:] for row in refreshed] == [("unproven", "refreshed", 1)]
        assert rollups.execute("SELECT n FROM quarters").fetchall() == [(7,)]


class TestPolicies:
    def test_success_files_follow_the_commits(self, tmp_path: Path) -> None:
        warehouse = Warehouse(tmp_path, trigger="partition time", policies="metastore,success-file")
        warehouse.fact()
        marker = tmp_path / "w" / "hours-1" / "h=2026-01-01-00" / "_SUCCESS"
        warehouse.load("01-00")
        assert not marker.exists()
        warehouse.load("01-01")
        assert marker.exists()
        warehouse.connection.execute("ALTER TABLE hours DROP PARTITION (h = '2026-01-01-00')")
        assert not marker.exists()

    @pytest.mark.parametrize(
        "statement",
        [
            "ALTER TABLE hours PARTITION (h = '2026-01-01-00') RENAME TO PARTITION (h = '2026-01-01-09')",
            "ALTER TABLE other EXCHANGE PARTITION (h = '2026-01-01-00') WITH TABLE hours",
        ],
    )
    def test_a_partition_that_moves_away_leaves_no_success_file(self, tmp_path: Path, statement: str) -> None:
        warehouse = Warehouse(tmp_path, trigger="partition time", policies="metastore,success-file")
        warehouse.fact()
        warehouse.connection.execute("CREATE TABLE other (n BIGINT) PARTITIONED BY (h STRING)")
        warehouse.load("01-00", "01-01")
        marker = tmp_path / "w" / "hours-1" / "h=2026-01-01-00" / "_SUCCESS"
        assert marker.exists()
        warehouse.connection.execute(statement)
        assert not marker.exists()

    def test_policies_are_called_in_order_and_again_for_late_rows(self, tmp_path: Path) -> None:
        called: list[tuple[str, tuple[str | None, ...], bool, int | None]] = []

        def policy(name: str) -> Any:
            return lambda p: called.append((name, p.values, p.late, p.rows))

        for name in ("one", "two"):
            rewriter.register_commit_policy(name, policy(name))
        warehouse = Warehouse(tmp_path, trigger="partition time", policies="two, metastore, one")
        warehouse.fact()
        warehouse.load("01-00")
        assert called == []
        warehouse.load("01-01")
        hour = ("2026-01-01-00",)
        assert called == [("two", hour, False, 1), ("one", hour, False, 1)]
        warehouse.load("01-00")
        assert called[2:] == [("two", hour, True, 2), ("one", hour, True, 2)]

    def test_a_policy_that_fails_runs_again(self, tmp_path: Path) -> None:
        calls: list[CommittedPartition] = []

        def fragile(partition: CommittedPartition) -> None:
            calls.append(partition)
            if len(calls) == 1:
                raise RuntimeError("no network")

        rewriter.register_commit_policy("fragile", fragile)
        warehouse = Warehouse(tmp_path, trigger="partition time", policies="metastore, fragile")
        warehouse.fact()
        warehouse.load("01-00")
        with pytest.raises(Error) as caught:
            warehouse.load("01-01")
        assert caught.value.condition == "COMMIT_POLICY_FAILED"
        assert "no network" in str(caught.value)
        assert warehouse.open() == ["01-01"]
        assert [row[2] for row in warehouse.rows("SHOW STREAMS")] == ["failed"]
        warehouse.run()
        assert [partition.commit for partition in calls] == [calls[0].commit] * 2
        warehouse.run()
        assert len(calls) == 2

    def test_a_process_without_the_policy_starts_no_stream(self, tmp_path: Path) -> None:
        warehouse = Warehouse(tmp_path, trigger="partition time", policies="metastore, nowhere")
        warehouse.fact()
        with pytest.raises(Error) as caught:
            warehouse.load("01-00")
        assert caught.value.condition == "UNKNOWN_COMMIT_POLICY"
        assert warehouse.rows("SHOW STREAMS") == []

    @pytest.mark.parametrize(("name", "policy"), [(3, print), ("x", None)])
    def test_only_callables_have_names(self, name: Any, policy: Any) -> None:
        with pytest.raises(InterfaceError):
            rewriter.register_commit_policy(name, policy)

    @pytest.mark.parametrize("name", ["", " ", "a,b", "metastore", "success-file"])
    def test_some_names_are_refused(self, name: str) -> None:
        with pytest.raises(Error) as caught:
            rewriter.register_commit_policy(name, print)
        assert caught.value.condition == "INVALID_PARTITION_COMMIT"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("trigger", "event time"), ("delay", "soon"), ("delay", "-1 hours"), ("delay", "1.5 hours"),
        ("idle_timeout", "1 week"), ("policies", "success-file"), ("policies", "metastore,,x"),
        ("policies", "metastore, metastore"), ("other", "1"),
    ],
)  # fmt: skip
def test_wrong_properties_are_refused(by_time: Warehouse, key: str, value: str) -> None:
    statement = f"ALTER TABLE hours SET TBLPROPERTIES ('{PREFIX}.{key}' = '{value}')"
    error = failure(by_time, statement)
    assert error.condition == "INVALID_PARTITION_COMMIT"
    assert error.position is not None
    assert error.hint


@pytest.mark.parametrize("table", ["plain (n BIGINT)", "far (n BIGINT) PARTITIONED BY (h STRING) LOCATION '{}/far'"])
def test_other_tables_have_no_partition_commit(by_time: Warehouse, table: str) -> None:
    kind = "EXTERNAL TABLE" if "LOCATION" in table else "TABLE"
    statement = f"CREATE {kind} {table.format(by_time.folder)} TBLPROPERTIES ('{PREFIX}.trigger' = 'process time')"
    assert failure(by_time, statement).condition == "INVALID_PARTITION_COMMIT"


def test_partition_time_needs_a_fact(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path, trigger="partition time")
    with pytest.raises(Error) as caught:
        warehouse.load("01-00")
    assert caught.value.condition == "INVALID_PARTITION_COMMIT"
    assert caught.value.position is not None
