"""The adapter of Dagster beside the real package. ``test_dagster.py`` runs this file in an environment that has it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster
import pytest
from page_runner import DOCS, blocks

from rewriter.errors import AnalysisError, DataError, InterfaceError
from rewriter.integrations.dagster import missing_partition_keys, partitions_definition
from rewriter.session import Session

PAGE = DOCS / "how-to" / "scheduling.md"
TABLES = {
    "minutes": "MINUTELY", "hours": "HOURLY", "days": "DAILY", "weeks": "WEEKLY", "months": "MONTHLY",
    "quarters": "QUARTERLY", "years": "YEARLY",
}  # fmt: skip
CUBE = "CREATE CUBE sales (n BIGINT MEASURE COUNT, t TIMESTAMP TIME)"


def _create(session: Session, tables: list[str], cube: str = CUBE) -> None:
    for table in tables:
        session.execute(f"CREATE TABLE {table} (n BIGINT) PARTITIONED BY (dt STRING)")
    session.execute(cube)
    stored = ", ".join(f"TABLE {table} PERIOD {TABLES[table]} PARTITIONED BY t AS (dt)" for table in tables)
    session.execute(f"CREATE FACT f OF CUBE sales STORED IN ({stored})")


def _insert(session: Session, table: str, names: list[str]) -> None:
    session.execute(f"INSERT INTO {table} VALUES " + ", ".join(f"(1, '{name}')" for name in names))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


@pytest.mark.parametrize(
    ("table", "ours"),
    [
        ("hours", dagster.HourlyPartitionsDefinition("2024-02-28-00:00")),
        ("days", dagster.DailyPartitionsDefinition("2024-02-28")),
        ("weeks", dagster.WeeklyPartitionsDefinition("2024-02-28", day_offset=1)),
        ("months", dagster.MonthlyPartitionsDefinition("2024-02-28")),
    ],
)
def test_the_definitions_are_those_that_users_write(
    session: Session, table: str, ours: dagster.TimeWindowPartitionsDefinition
) -> None:
    _create(session, ["minutes", "hours", "days", "weeks", "months"])
    made = partitions_definition(session, "f", table, "2024-02-28")
    assert made.get_partition_keys()[:200] == ours.get_partition_keys()[:200]
    assert (made.cron_schedule, made.timezone, made.fmt) == (ours.cron_schedule, ours.timezone, ours.fmt)
    # A user's own definition serves, too.
    assert missing_partition_keys(session, "f", table, ours)[:3] == ours.get_partition_keys()[:3]


def test_every_period_has_a_definition_whose_first_key_is_its_first_period(session: Session) -> None:
    _create(session, list(TABLES))
    firsts = {
        table: partitions_definition(session, "f", table, "2023-02-28").get_first_partition_key() for table in TABLES
    }
    assert firsts == {
        "minutes": "2023-02-28-00:00",
        "hours": "2023-02-28-00:00",
        "days": "2023-02-28",
        "weeks": "2023-03-06",
        "months": "2023-03-01",
        "quarters": "2023-04-01",
        "years": "2024-01-01",
    }
    for table in TABLES:
        if table != "minutes":
            made = partitions_definition(session, "f", table, "2023-02-28")
            # Nothing is there: each period whose time is over is missing.
            assert missing_partition_keys(session, "f", table, made) == list(made.get_partition_keys())


def test_keys_are_those_of_the_work_lists(session: Session) -> None:
    _create(session, ["hours", "days"])
    hours = partitions_definition(session, "f", "hours", "2024-01-01")
    days = partitions_definition(session, "f", "days", "2024-01-01")
    names = [f"2024-01-{day:02d}-{hour:02d}" for day in range(1, 6) for hour in range(24)]
    _insert(session, "hours", [name for name in names if name not in ("2024-01-02-05", "2024-01-04-23")])
    missing = missing_partition_keys(session, "f", "hours", hours)
    assert missing[:3] == ["2024-01-02-05:00", "2024-01-04-23:00", "2024-01-06-00:00"]
    assert set(missing) < set(hours.get_partition_keys())
    assert missing_partition_keys(session, "f", "days", days)[:6] == [f"2024-01-{day:02d}" for day in range(1, 7)]
    session.execute("REFRESH FACT f")
    assert missing_partition_keys(session, "f", "days", days)[:3] == ["2024-01-02", "2024-01-04", "2024-01-06"]
    _insert(session, "hours", ["2024-01-03-07"])
    states = ("missing", "outdated")
    assert missing_partition_keys(session, "f", "days", days, states=["OUTDATED"]) == ["2024-01-03"]
    assert missing_partition_keys(session, "f", "days", days, states=states)[:3] == [
        "2024-01-02", "2024-01-03", "2024-01-04",
    ]  # fmt: skip


def test_partitions_that_are_not_due_are_not_missing(session: Session) -> None:
    _create(session, ["hours"])
    session.execute("ALTER FACT f SET LATENESS '30 hours'")
    hours = partitions_definition(session, "f", "hours", "now.hour - 48 hours")
    now = datetime.now(UTC)
    late = missing_partition_keys(session, "f", "hours", hours)
    assert 17 <= len(late) <= 19
    assert datetime.strptime(late[-1], hours.fmt).replace(tzinfo=UTC) + timedelta(hours=31) <= now + timedelta(
        seconds=60
    )
    session.execute("ALTER FACT f UNSET LATENESS")
    assert 47 <= len(missing_partition_keys(session, "f", "hours", hours)) <= 49
    future = partitions_definition(session, "f", "hours", "2999-01-01")
    assert missing_partition_keys(session, "f", "hours", future) == []


@pytest.mark.parametrize(
    ("zone", "start", "keys"),
    [
        # Clocks change; the day begins at one o'clock; a date is left out.
        ("America/New_York", "2024-03-09", ["2024-03-09", "2024-03-10", "2024-03-11", "2024-03-12"]),
        ("America/Sao_Paulo", "2018-11-03", ["2018-11-03", "2018-11-04", "2018-11-05", "2018-11-06"]),
        ("Pacific/Apia", "2011-12-28", ["2011-12-28", "2011-12-29", "2011-12-31", "2012-01-01"]),
    ],
)
def test_days_are_those_of_the_cubes_zone(session: Session, zone: str, start: str, keys: list[str]) -> None:
    _create(session, ["hours", "days"], f"{CUBE} TIME ZONE '{zone}'")
    days = partitions_definition(session, "f", "days", start)
    hours = partitions_definition(session, "f", "hours", start)
    assert (days.timezone, hours.timezone) == (zone, "UTC")
    missing = missing_partition_keys(session, "f", "days", days)
    assert missing[:4] == keys
    assert set(missing) <= set(days.get_partition_keys())
    window = days.time_window_for_partition_key(keys[0])
    first_hours = missing_partition_keys(session, "f", "hours", hours)[:2]
    assert first_hours == list(hours.get_partition_keys())[:2]
    assert hours.time_window_for_partition_key(first_hours[0]).start.timestamp() == window.start.timestamp()


def test_the_example_of_the_docs(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE staging (item STRING, n BIGINT, dt STRING)")
    for table in ("hours", "days"):
        session.execute(f"CREATE TABLE {table} (item STRING, n BIGINT) PARTITIONED BY (dt STRING)")
    session.execute("CREATE CUBE sales (item STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
    stored = ", ".join(f"TABLE {table} PERIOD {TABLES[table]} PARTITIONED BY t AS (dt)" for table in ("hours", "days"))
    session.execute(f"CREATE FACT sales_all OF CUBE sales STORED IN ({stored})")
    names = [f"2024-01-01-{hour:02d}" for hour in range(24)]
    session.execute("INSERT INTO staging VALUES " + ", ".join(f"('a', 2, '{name}')" for name in names))
    session.execute("INSERT INTO hours VALUES " + ", ".join(f"('a', 2, '{name}')" for name in names[2:]))
    (block,) = [block.text for block in blocks(PAGE) if block.title == "sales_assets.py"]
    example: dict[str, Any] = {}
    exec(compile(block.replace("/data/warehouse", str(tmp_path / "warehouse")), PAGE.name, "exec"), example)
    requests = list(example["missing_hours"](dagster.build_sensor_context()))
    assert [request.partition_key for request in requests[:3]] == [
        "2024-01-01-00:00", "2024-01-01-01:00", "2024-01-02-00:00",
    ]  # fmt: skip
    assert len(requests) == 100
    for request in requests[:2]:
        assert dagster.materialize([example["sales_hours"]], partition_key=request.partition_key).success
    assert session.execute("SELECT SUM(n), COUNT(*) FROM days").fetch() == [(48, 1)]


def test_an_asset_that_refreshes(session: Session) -> None:
    _create(session, ["hours", "days"])
    days = partitions_definition(session, "f", "days", "2024-01-01")
    names = [f"2024-01-{day:02d}-{hour:02d}" for day in range(1, 4) for hour in range(24)]
    _insert(session, "hours", names)

    @dagster.asset(partitions_def=days)
    def sales(context: dagster.AssetExecutionContext) -> None:
        window = context.partition_time_window
        session.execute(f"REFRESH FACT f FROM '{window.start:%Y-%m-%d}' TO '{window.end:%Y-%m-%d}'")

    wanted = missing_partition_keys(session, "f", "days", days)[:2]
    for key in wanted:
        assert dagster.materialize([sales], partition_key=key).success
    assert wanted == ["2024-01-01", "2024-01-02"]
    assert missing_partition_keys(session, "f", "days", days)[0] == "2024-01-03"
    excluded = dagster.TimeWindowPartitionsDefinition(
        start="2024-01-01", fmt="%Y-%m-%d", cron_schedule="0 0 * * *", exclusions=[datetime(2024, 1, 3)]
    )
    assert missing_partition_keys(session, "f", "days", excluded)[0] == "2024-01-04"


def test_a_fact_in_another_database(session: Session) -> None:
    for statement in ("CREATE DATABASE d", "USE d"):
        session.execute(statement)
    _create(session, ["days"])
    days = partitions_definition(session, "d.f", "d.days", "2024-01-01")
    _insert(session, "days", ["2024-01-01"])
    assert missing_partition_keys(session, "d.f", "d.days", days)[0] == "2024-01-02"
    session.execute("USE default")
    assert missing_partition_keys(session, "d.f", "d.days", days)[0] == "2024-01-02"


def test_mistakes(session: Session) -> None:
    _create(session, ["hours", "days"])
    days = partitions_definition(session, "f", "days", "2024-01-01")
    with pytest.raises(AnalysisError, match="g") as caught:
        partitions_definition(session, "g", "days", "2024-01-01")
    assert caught.value.condition == "FACT_NOT_FOUND"
    with pytest.raises(InterfaceError, match="has no table weeks"):
        partitions_definition(session, "f", "weeks", "2024-01-01")
    with pytest.raises(InterfaceError, match="has not one period HOURLY"):
        partitions_definition(session, "f", "days", "2024-01-01", period="HOURLY")
    with pytest.raises(DataError) as wrong:
        partitions_definition(session, "f", "days", "2024-13")
    assert wrong.value.condition == "INVALID_TIME_BOUND"
    with pytest.raises(InterfaceError, match="has other periods than hours"):
        missing_partition_keys(session, "f", "hours", days)
    sundays = dagster.WeeklyPartitionsDefinition("2024-01-01")
    with pytest.raises(InterfaceError, match="has other periods than days"):
        missing_partition_keys(session, "f", "days", sundays)
    tokyo = dagster.DailyPartitionsDefinition("2024-01-01", timezone="Asia/Tokyo")
    with pytest.raises(InterfaceError, match="Asia/Tokyo"):
        missing_partition_keys(session, "f", "days", tokyo)
