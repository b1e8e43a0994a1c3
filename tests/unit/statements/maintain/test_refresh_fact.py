"""REFRESH FACT and CHECK FACT: which partitions they write and read, and what they leave alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewriter.errors import ConflictError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Write, WrittenFile
from rewriter.runtime.statement_context import Context
from rewriter.session import Session


class Watched(DuckDBEngine):
    """DuckDB that records the files that it was given, and lets others act before it writes."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.before_writing: Callable[[], object] = lambda: None

    def execute(self, query: EngineQuery):  # type: ignore[no-untyped-def]
        self.read += [str(file.values[0]) for relation in query.relations for file in relation.files]
        return super().execute(query)

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        act, self.before_writing = self.before_writing, lambda: None
        act()
        return super().write(query, write)


@pytest.fixture
def engine() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.close()


@pytest.fixture
def session(tmp_path: Path, engine: Watched) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine) as opened:
        opened.execute("CREATE CUBE c (country STRING, a STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        yield opened


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement).fetch()


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def table(session: Session, name: str, partitioned_by: str = "dt STRING", columns: str = "") -> None:
    country = "" if "country" in partitioned_by else "country STRING, "
    session.execute(f"CREATE TABLE {name} ({country}a STRING, n BIGINT{columns}) PARTITIONED BY ({partitioned_by})")


def fact(session: Session, *tables: str, name: str = "f", columns: str = "") -> None:
    session.execute(f"CREATE FACT {name} OF CUBE c {columns} STORED IN ({', '.join(tables)})")


def values(country: str, a: str, n: int, times: list[str]) -> str:
    return ", ".join(f"('{country}', '{a}', {n}, '{time}')" for time in times)


def statuses(session: Session, sql: str) -> list[tuple[object, ...]]:
    """Returns (table, period, was, status, partitions)."""
    return [(row[0], row[1], row[4], row[5], row[6]) for row in rows(session, sql)]


HOURS = [f"2013-01-{day:02d}-{hour:02d}" for day in (1, 2) for hour in range(24)]
MONTHS = [f"2013-{month:02d}" for month in range(1, 13)]


def test_periods_that_share_a_table_are_refreshed_in_the_midst_of_outdated_ones(session: Session) -> None:
    table(session, "everything")
    fact(session, "TABLE everything PERIODS (HOURLY, DAILY) PARTITIONED BY t AS (dt)")
    run(session, f"INSERT INTO everything VALUES {values('us', 'x', 1, HOURS)}")
    first = [("everything", "DAILY", "missing", "refreshed", 2)]
    assert statuses(session, "REFRESH FACT f") == first
    run(session, "INSERT INTO everything VALUES ('us', 'x', 1, '2013-01-01-05'), ('us', 'x', 1, '2013-01-02-05')")
    # The outdated days stand between the hours, but are not read.
    assert statuses(session, "REFRESH FACT f") == [("everything", "DAILY", "outdated", "refreshed", 2)]
    assert rows(session, "SELECT SUM(n) FROM everything WHERE dt = '2013-01-02'") == [(25,)]
    assert statuses(session, "REFRESH FACT f") == []


@pytest.mark.parametrize(
    ("period", "layout", "names"),
    [
        ("QUARTERLY", "dt", ["dt=2013-Q1", "dt=2013-Q2", "dt=2013-Q3", "dt=2013-Q4"]),
        ("QUARTERLY", """dt = "'in 'yyyy'Q'q'!'" """, [f"dt=in 2013Q{number}!" for number in range(1, 5)]),
        ("YEARLY", "dt", ["dt=2013"]),
        ("MONTHLY", "dt = 'yyyy.MM'", [f"dt=2013.{month[5:]}" for month in MONTHS]),
    ],
)
def test_partitions_are_named_as_the_layout_says(session: Session, period: str, layout: str, names: list[str]) -> None:
    table(session, "months")
    table(session, "coarse")
    tables = ("TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt)",)
    rollup = f"TABLE coarse PERIOD {period} PARTITIONED BY t AS ({layout})"
    if period == "MONTHLY":
        table(session, "days")
        tables = ("TABLE days PERIOD DAILY PARTITIONED BY t AS (dt)",)
    fact(session, *tables, rollup)
    if period == "MONTHLY":
        days = [f"2013-{m:02d}-{d:02d}" for m in range(1, 13) for d in range(1, 32)]
        short = [day for day in days if day[5:] not in ("02-29", "02-30", "02-31", "04-31", "06-31", "09-31", "11-31")]
        run(session, f"INSERT INTO days VALUES {values('us', 'x', 1, short)}")
    else:
        run(session, f"INSERT INTO months VALUES {values('us', 'x', 1, MONTHS)}")
    run(session, "REFRESH FACT f")
    assert [row[0] for row in rows(session, "SHOW PARTITIONS coarse")] == names
    assert {row[8] for row in rows(session, "CHECK FACT f")} == {"agrees"}


def test_empty_periods_get_partitions_of_every_listed_value(session: Session) -> None:
    table(session, "hours")
    table(session, "days", "dt STRING, country STRING")
    session.execute("CREATE TABLE any_days (n BIGINT) PARTITIONED BY (dt STRING, country STRING, a STRING)")
    fact(
        session,
        "TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt)",
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt) COMPLETE WITH country IN ('us', 'eu')",
        "TABLE any_days PERIOD DAILY PARTITIONED BY t AS (dt) COMPLETE WITH ANY a "
        "COMPLETE WITH country IN ('us', 'eu')",
    )
    run(session, f"ALTER TABLE hours ADD {' '.join(f'PARTITION (dt = {hour!r})' for hour in HOURS)}")
    run(session, "INSERT INTO hours VALUES ('us', 'x', 1, '2013-01-02-03'), ('jp', 'x', 1, '2013-01-02-03')")
    assert [row[3:] for row in statuses(session, "REFRESH FACT f")] == [("refreshed", 2), ("refreshed", 2)]
    none = "__HIVE_DEFAULT_PARTITION__"
    assert [row[0] for row in rows(session, "SHOW PARTITIONS any_days")] == [
        f"dt=2013-01-01/country=eu/a={none}",
        f"dt=2013-01-01/country=us/a={none}",
        f"dt=2013-01-02/country=eu/a={none}",
        "dt=2013-01-02/country=jp/a=x",
        "dt=2013-01-02/country=us/a=x",
    ]
    assert len(rows(session, "SHOW PARTITIONS days")) == 5
    assert rows(session, "SELECT country, SUM(n) FROM f WHERE t < '2013-01-03' GROUP BY country ORDER BY country") == [
        ("jp", 1),
        ("us", 1),
    ]


def test_what_is_not_ours_to_write_is_skipped_and_told(session: Session, tmp_path: Path) -> None:
    table(session, "hours")
    table(session, "wider", columns=", note STRING")
    table(session, "days", "dt STRING, country STRING")
    run(
        session,
        f"CREATE EXTERNAL TABLE outside (a STRING, n BIGINT) PARTITIONED BY (dt STRING) LOCATION '{tmp_path}/outside'",
        "CREATE TABLE trusted (a STRING, n BIGINT) PARTITIONED BY (dt STRING)",
    )
    fact(
        session,
        "TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt)",
        "TABLE wider PERIOD DAILY PARTITIONED BY t AS (dt)",
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt) COMPLETE WITH ANY country",
        "TABLE outside PERIOD DAILY PARTITIONED BY t AS (dt)",
        "TABLE trusted PERIOD DAILY PARTITIONED BY t AS (dt) TRUSTED",
        columns="(a, n)",
    )
    run(session, f"INSERT INTO hours VALUES {values('us', 'x', 1, HOURS)}")
    run(session, "INSERT INTO wider VALUES ('us', 'x', 24, 'keep me', '2013-01-01')")
    assert statuses(session, "REFRESH FACT f") == [
        ("wider", "DAILY", "missing", "skipped: the fact has no column country", 1),
        ("wider", "DAILY", "unproven", "skipped: the fact has no column country", 1),
        ("days", "DAILY", "missing", "skipped: the fact has no column country", 2),
        ("outside", "DAILY", "missing", "skipped: the table is external", 2),
        ("trusted", "DAILY", "missing", "skipped: the table is TRUSTED", 2),
    ]
    assert rows(session, "SELECT note FROM wider") == [("keep me",)]


def test_a_dry_run_changes_nothing(session: Session, tmp_path: Path) -> None:
    days_and_hours(session)
    before = session.catalog.snapshot().sequence, set(tmp_path.rglob("*"))
    assert statuses(session, "REFRESH FACT f DRY RUN") == [("days", "DAILY", "missing", "to refresh", 2)]
    assert (session.catalog.snapshot().sequence, set(tmp_path.rglob("*"))) == before


def days_and_hours(session: Session) -> None:
    table(session, "hours")
    table(session, "days")
    fact(
        session,
        "TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt)",
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt)",
    )
    run(session, f"INSERT INTO hours VALUES {values('us', 'x', 1, HOURS)}")


def test_what_the_base_got_meanwhile_is_told(session: Session, engine: Watched) -> None:
    days_and_hours(session)
    with Session(session.catalog.warehouse, "duckdb") as other:
        insert = "INSERT INTO hours VALUES ('us', 'x', 1, '2013-01-02-05')"
        engine.before_writing = lambda: run(other, insert)
        assert statuses(session, "REFRESH FACT f") == [
            ("days", "DAILY", "outdated", "outdated again: its base has changed in the meantime", 1),
            ("days", "DAILY", "missing", "refreshed", 1),
        ]


@pytest.mark.parametrize("force", ["", " FORCE"])
def test_a_rollup_keeps_what_retention_drops_before_the_refresh_reads_its_base(
    session: Session, monkeypatch: pytest.MonkeyPatch, force: str
) -> None:
    days_and_hours(session)
    run(session, "REFRESH FACT f")
    days = rows(session, "SELECT * FROM days ORDER BY ALL")
    if not force:
        run(session, "INSERT INTO hours VALUES ('us', 'x', 1, '2013-01-02-05')")
    with Session(session.catalog.warehouse, "duckdb") as other:
        renewed = Context.renewed

        def dropped_before(context: Context) -> Context:
            run(other, "ALTER TABLE hours DROP PARTITION (dt >= '2013-01-02-03')")
            return renewed(context)

        monkeypatch.setattr(Context, "renewed", dropped_before)
        session.execute(f"REFRESH FACT f{force}")
    assert rows(session, "SELECT * FROM days ORDER BY ALL") == days


def test_who_comes_second_is_refused_and_leaves_nothing(session: Session, engine: Watched, tmp_path: Path) -> None:
    days_and_hours(session)
    with Session(session.catalog.warehouse, "duckdb") as other:
        engine.before_writing = lambda: run(other, "REFRESH FACT f")
        with pytest.raises(ConflictError) as caught:
            session.execute("REFRESH FACT f")
    assert caught.value.position is not None
    files = {file.path for _, file in session.catalog.snapshot().files(session.catalog.snapshot().table("days"))}
    assert {str(path) for path in tmp_path.rglob("*.parquet") if "days" in str(path)} == files


def test_check_reads_the_partitions_of_the_range_and_their_base_alone(session: Session, engine: Watched) -> None:
    days_and_hours(session)
    run(session, "REFRESH FACT f")
    engine.read.clear()
    assert {row[8] for row in rows(session, "CHECK FACT f FROM '2013-01-02T03' TO '2013-01-02T04'")} == {"agrees"}
    assert sorted(engine.read) == ["2013-01-02", *HOURS[24:]]


def test_a_base_that_lost_a_country_neither_checks_nor_refreshes(session: Session) -> None:
    table(session, "hours", "dt STRING, country STRING")
    table(session, "days")
    fact(
        session,
        "TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt) COMPLETE WITH ANY country",
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt)",
    )
    both = [f"('x', 1, '{hour}', '{country}')" for hour in HOURS[:24] for country in ("us", "jp")]
    run(session, f"INSERT INTO hours VALUES {', '.join(both)}", "REFRESH FACT f")
    run(session, "ALTER TABLE hours DROP PARTITION (dt = '2013-01-01-07', country = 'jp')")
    assert [row[8] for row in rows(session, "CHECK FACT f")] == [
        "not checked: the base lacks [2013-01-01T07, 2013-01-01T08)",
        "nothing compared",
    ]
    run(session, "INSERT INTO hours VALUES ('x', 1, '2013-01-01-08', 'us')")
    assert statuses(session, "REFRESH FACT f") == [("days", "DAILY", "outdated", "skipped: its base is incomplete", 1)]


def test_a_copy_of_the_base_is_checked_too(session: Session) -> None:
    days_and_hours(session)
    table(session, "again")
    run(session, "DROP FACT f")
    fact(
        session,
        "TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt)",
        "TABLE again PERIODS (HOURLY, DAILY) PARTITIONED BY t AS (dt)",
    )
    run(session, "INSERT INTO again SELECT country, a, n + 1, dt FROM hours WHERE dt = '2013-01-01-07'")
    checks = [(row[0], row[1], row[2], row[5], row[8]) for row in rows(session, "CHECK FACT f")]
    assert checks == [
        ("again", "DAILY", None, None, "nothing compared"),
        ("again", "HOURLY", "2013-01-01T07", "n", "value differs"),
        ("again", "HOURLY", "2013-01-01T07", None, "differs"),
    ]
    # A rollup is computed from the copy that a query would read.
    run(session, "REFRESH FACT f")
    checked = {(row[0], row[1]): row[8] for row in rows(session, "CHECK FACT f")}
    assert checked["again", "DAILY"] == "agrees"


def test_facts_of_other_base_periods_are_compared_in_the_coarser_one(session: Session) -> None:
    days_and_hours(session)
    table(session, "g_days")
    fact(session, "TABLE g_days PERIOD DAILY PARTITIONED BY t AS (dt)", name="g")
    run(session, "INSERT INTO g_days VALUES ('us', 'x', 24, '2013-01-01'), ('us', 'x', 23, '2013-01-02')")
    for name, second in (("f", "g"), ("g", "f")):
        checked = [row for row in rows(session, f"CHECK FACT {name}") if row[0] == f"fact {second}"]
        assert [(row[1], row[2], row[4], row[5], row[8]) for row in checked] == [
            ("DAILY", "2013-01-02", "country='us', a='x'", "n", "value differs"),
            ("DAILY", "2013-01-01", None, None, "differs"),
        ]


def test_facts_without_a_common_dimension_are_compared_by_time(session: Session) -> None:
    days_and_hours(session)
    run(session, "CREATE TABLE g_days (n BIGINT) PARTITIONED BY (dt STRING)")
    fact(session, "TABLE g_days PERIOD DAILY PARTITIONED BY t AS (dt)", name="g", columns="(n)")
    run(session, "INSERT INTO g_days VALUES (24, '2013-01-01'), (25, '2013-01-02')")
    checked = [row for row in rows(session, "CHECK FACT f") if row[0] == "fact g"]
    assert [row[4:9] for row in checked] == [
        (None, "n", "24", "25", "value differs"),
        (None, None, None, None, "differs"),
    ]
