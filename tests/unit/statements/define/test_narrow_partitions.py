"""Rollups that ALTER CUBE ADD has given columns: which partitions have them, and what serves until REFRESH FACT."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rewriter.catalog import Catalog
from rewriter.catalog.maintenance.dump import dump
from rewriter.errors import ConflictError, Error, MissingDataError
from rewriter.planner.cover import choose_facts
from rewriter.session import Session
from rewriter.statements.define import alter_cube
from rewriter.statements.maintain import refresh_fact
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline

DAYS = "t >= '2024-01-01' AND t < '2024-01-05'"
OLD = f"SELECT page, SUM(n) FROM v WHERE {DAYS} GROUP BY page"
NEW = f"SELECT city, SUM(n), SUM(ms) FROM v WHERE {DAYS} GROUP BY city"
WIDEN = "ALTER CUBE v ADD (city STRING, ms BIGINT MEASURE SUM)"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A fact with rollups of four days, whose base has two more columns than the cube, with values."""
    with Session(tmp_path / "w", "duckdb") as opened:
        for statement in (
            "SET rewriter.verify = certificate",
            "CREATE CUBE v (page STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE TABLE h (page STRING, n BIGINT, city STRING, ms BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt)) "
            "ROLLUPS (DAILY, DAILY ())",
            "INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-01-05' VALUES "
            "('a', 1, 'rome', 7, '2024-01-01-03'), ('b', 2, NULL, NULL, '2024-01-02-03')",
            "REFRESH FACT f",
        ):
            opened.execute(statement)
        yield opened


def rows(session: Session, statement: str) -> list[tuple[Any, ...]]:
    return sorted(session.execute(statement).rows(), key=str)


def check_numbers(session: Session) -> None:
    """The numbers are those of the base, and a rebuild of the timelines changes nothing."""
    assert rows(session, OLD) == [("a", 1), ("b", 2)]
    assert rows(session, NEW) == [("rome", 1, 7), (None, 2, None)]
    assert rows(session, "REFRESH TIMELINES OF f") == []


def due(session: Session) -> list[tuple[Any, ...]]:
    return [(row[0], *row[2:5], row[6]) for row in session.execute("REFRESH FACT f DRY RUN").rows()]


NARROW = [
    ("f_daily", "2024-01-01", "2024-01-05", "narrow", 4),
    ("f_daily_total", "2024-01-01", "2024-01-05", "narrow", 4),
]


def test_the_base_serves_new_columns_until_rollups_have_them(session: Session) -> None:
    (warning,) = session.execute(WIDEN).warnings
    assert warning.startswith("the existing partitions of f_daily, f_daily_total lack the new columns until REFRESH")
    check_numbers(session)
    assert "FROM f_daily WHERE" in session.plan(OLD).sql
    assert "FROM h WHERE" in session.plan(NEW).sql
    assert due(session) == NARROW
    session.execute("REFRESH FACT f FROM '2024-01-01' TO '2024-01-02'")
    check_numbers(session)
    assert "FROM f_daily WHERE" in session.plan(NEW).sql
    assert "FROM h WHERE" in session.plan(NEW).sql
    session.execute("REFRESH FACT f")
    check_numbers(session)
    assert "FROM h WHERE" not in session.plan(NEW).sql
    assert due(session) == []
    assert {row[8] for row in rows(session, "CHECK FACT f")} == {"agrees"}


def test_a_new_partition_is_wide_at_once(session: Session) -> None:
    session.execute(WIDEN)
    session.execute(
        "INSERT INTO h MARK COMPLETE FROM '2024-01-05' TO '2024-01-06' VALUES ('a', 1, 'x', 3, '2024-01-05-01')"
    )
    session.execute("REFRESH FACT f FROM '2024-01-05' TO '2024-01-06'")
    day = "SELECT city, SUM(ms) FROM v WHERE t >= '2024-01-05' AND t < '2024-01-06' GROUP BY city"
    assert "FROM f_daily WHERE" in session.plan(day).sql
    assert rows(session, day) == [("x", 3)]
    check_numbers(session)


def test_reasons_and_comparisons_name_the_columns(session: Session) -> None:
    session.execute(WIDEN)
    explained = "\n".join(str(row[0]) for row in session.execute(f"EXPLAIN COVER {NEW}").rows())
    assert "f.f_daily DAILY: is narrow at [2024-01-01, 2024-01-05), which finer periods cover " in explained
    assert "(it was computed before the table got city, ms) [PARTITIONS_NARROW]" in explained
    for statement in ("CHECK FACT f", "CHECK FACT f ACCEPT"):
        found = [(row[0], row[8]) for row in session.execute(statement).rows()]
        assert found == [
            ("f_daily", "narrow: compared without city, ms"),
            ("f_daily", "agrees"),
            ("f_daily_total", "narrow: compared without ms"),
            ("f_daily_total", "agrees"),
        ]
    check_numbers(session)
    assert due(session) == NARROW


def test_what_has_no_base_any_more_stays_narrow_and_serves_what_it_can(session: Session) -> None:
    session.execute(WIDEN)
    session.execute("ALTER TABLE h DROP PARTITION (dt < '2024-01-03')")
    assert rows(session, OLD) == [("a", 1), ("b", 2)]
    with pytest.raises(MissingDataError) as caught:
        session.execute(NEW)
    assert "f_daily lacks city, ms, and its base is incomplete" in str(caught.value.hint)
    session.execute("REFRESH FACT f")
    assert due(session) == []
    assert rows(session, OLD) == [("a", 1), ("b", 2)]
    with pytest.raises(MissingDataError):
        session.execute(NEW)
    later = "SELECT city, SUM(ms) FROM v WHERE t >= '2024-01-03' AND t < '2024-01-05' GROUP BY city"
    assert "FROM f_daily WHERE" in session.plan(later).sql
    assert rows(session, "REFRESH TIMELINES OF f") == []


def test_two_widths_are_told_apart(session: Session) -> None:
    session.execute("ALTER CUBE v ADD (city STRING)")
    session.execute("REFRESH FACT f FROM '2024-01-01' TO '2024-01-03'")
    session.execute("ALTER CUBE v ADD (ms BIGINT MEASURE SUM)")
    by_city = f"SELECT city, SUM(n) FROM v WHERE {DAYS} GROUP BY city"
    cover = "\n".join(str(row[0]) for row in session.execute(f"EXPLAIN COVER {by_city}").rows())
    assert "f.f_daily DAILY: 2 partitions" in cover
    assert "f.h HOURLY: 48 partitions" in cover
    assert "FROM f_daily" not in session.plan(NEW).sql
    assert [row[:5] for row in due(session)][:1] == NARROW[:1]
    check_numbers(session)
    session.execute("ALTER CUBE v DROP (ms)")
    assert due(session) == [("f_daily", "2024-01-03", "2024-01-05", "narrow", 2)]
    assert rows(session, by_city) == [("rome", 1), (None, 2)]
    assert rows(session, "REFRESH TIMELINES OF f") == []


def test_a_column_that_comes_back_is_not_the_one_that_was(session: Session) -> None:
    session.execute(WIDEN)
    session.execute("REFRESH FACT f")
    session.execute("ALTER CUBE v DROP (city, ms)")
    assert due(session) == []
    session.execute("ALTER CUBE v ADD (ms BIGINT MEASURE MAX, city STRING)")
    assert due(session) == NARROW
    newest = f"SELECT city, MAX(ms) FROM v WHERE {DAYS} GROUP BY city"
    assert "FROM f_daily" not in session.plan(newest).sql
    assert rows(session, newest) == [("rome", 7), (None, None)]
    session.execute("REFRESH FACT f")
    assert "FROM h WHERE" not in session.plan(newest).sql
    assert rows(session, newest) == [("rome", 7), (None, None)]


def test_names_follow(session: Session) -> None:
    session.execute(WIDEN)
    session.execute("ALTER CUBE v RENAME COLUMN city TO town")
    renamed = NEW.replace("city", "town")
    assert "FROM f_daily" not in session.plan(renamed).sql
    session.execute("REFRESH FACT f FROM '2024-01-01' TO '2024-01-03'")
    assert rows(session, renamed) == [("rome", 1, 7), (None, 2, None)]
    session.execute("ALTER CUBE v RENAME COLUMN town TO city")
    check_numbers(session)
    assert sorted(due(session))[0] == ("f_daily", "2024-01-03", "2024-01-05", "narrow", 2)


def test_widths_outlive_the_declaration(session: Session) -> None:
    session.execute(WIDEN)
    session.execute("REFRESH FACT f FROM '2024-01-01' TO '2024-01-03'")
    texts = [str(text) for kind in ("CUBE v", "FACT f") for (text,) in rows(session, f"SHOW CREATE {kind}")]
    assert "ROLLUPS (\n  DAILY,\n  DAILY ())" in texts[1]
    for statement in ("DROP FACT f", "DROP CUBE v", *texts):
        session.execute(statement)
    check_numbers(session)
    assert sorted(due(session))[0] == ("f_daily", "2024-01-03", "2024-01-05", "narrow", 2)
    session.execute("REFRESH FACT f")
    check_numbers(session)
    assert due(session) == []


def test_widths_are_in_a_dump(session: Session, tmp_path: Path) -> None:
    session.execute(WIDEN)
    session.execute("REFRESH FACT f FROM '2024-01-01' TO '2024-01-03'")
    session.close()
    with closing(Catalog.open(tmp_path / "w")) as catalog:
        lines = list(dump(catalog.database, catalog.warehouse))
    for path in (tmp_path / "w").glob("catalog.db*"):
        path.unlink()
    Catalog.restore(tmp_path / "w", None, lines)
    with Session(tmp_path / "w", "duckdb") as restored:
        check_numbers(restored)
        assert sorted(due(restored))[0] == ("f_daily", "2024-01-03", "2024-01-05", "narrow", 2)


def test_rows_are_not_added_to_a_narrow_partition(session: Session) -> None:
    session.execute(WIDEN)
    with pytest.raises(Error, match="was computed before columns were added to this rollup") as caught:
        session.execute("INSERT INTO f_daily VALUES ('a', 1, 'x', 2, '2024-01-01')")
    assert caught.value.condition == "NARROW_PARTITION"
    check_numbers(session)
    session.execute("INSERT OVERWRITE f_daily VALUES ('a', 1, 'x', 2, '2024-01-01')")
    assert rows(session, "SHOW UNPROVEN PARTITIONS OF f")[0][0] == "f_daily"
    check_numbers(session)


def test_what_is_computed_from_a_narrow_partition_is_unproven(session: Session) -> None:
    session.execute(WIDEN)
    session.execute("ALTER FACT f ADD ROLLUP MONTHLY, MONTHLY (page)")
    session.execute("ALTER FACT f MARK COMPLETE FROM '2024-01-05' TO '2024-02-01'")
    session.execute("REFRESH FACT f FROM '2024-01-05' TO '2024-02-01'")
    session.execute("ALTER TABLE f_monthly DROP IF EXISTS PARTITION (dt = '2024-01')")
    warnings = session.execute(
        "INSERT INTO f_monthly SELECT page, city, SUM(n), SUM(ms), substr(dt, 1, 7) FROM f_daily "
        "GROUP BY page, city, substr(dt, 1, 7)"
    ).warnings
    assert "f_daily dt=2024-01-01, which was computed with fewer columns" in " ".join(warnings)
    month = NEW.replace("'2024-01-05'", "'2024-02-01'")
    assert rows(session, month) == [("rome", 1, 7), (None, 2, None)]


def test_a_copy_of_narrow_partitions_is_outdated(session: Session) -> None:
    session.execute(WIDEN)
    for statement in (
        "CREATE TABLE d2 (page STRING, n BIGINT, city STRING, ms BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE FACT g OF CUBE v STORED IN (TABLE d2 PERIOD DAILY PARTITIONED BY t AS (dt))",
        "INSERT INTO d2 SELECT page, n, city, ms, dt FROM f_daily",
    ):
        session.execute(statement)
    assert rows(session, NEW) == [("rome", 1, 7), (None, 2, None)]
    assert rows(session, "SHOW OUTDATED PARTITIONS OF g")[0][0] == "d2"
    session.execute("REFRESH FACT f")
    session.execute("INSERT OVERWRITE d2 SELECT page, n, city, ms, dt FROM f_daily")
    assert rows(session, "SHOW OUTDATED PARTITIONS OF g") == []
    assert rows(session, NEW) == [("rome", 1, 7), (None, 2, None)]


def test_a_narrow_partition_does_not_stand_in_for_a_wide_one(session: Session) -> None:
    session.execute("ALTER FACT f ADD ROLLUP MONTHLY")
    session.execute("ALTER FACT f MARK COMPLETE FROM '2024-01-05' TO '2024-02-01'")
    session.execute("REFRESH FACT f")
    session.execute(WIDEN)
    session.execute(
        "INSERT OVERWRITE f_monthly (page, n, city, ms, dt) SELECT page, SUM(n), city, SUM(ms), '2024-01' FROM h "
        "WHERE dt >= '2024-01-01' AND dt < '2024-02-01' GROUP BY page, city"
    )
    session.execute("ALTER TABLE h DROP PARTITION (dt < '2024-02')")
    month = NEW.replace("'2024-01-05'", "'2024-02-01'")
    assert rows(session, month) == [("rome", 1, 7), (None, 2, None)]
    with pytest.raises(Error, match="f_monthly has the only copy of"):
        session.execute("ALTER FACT f DROP ROLLUP MONTHLY")
    session.execute("ALTER FACT f DROP ROLLUP DAILY ()")
    assert rows(session, month) == [("rome", 1, 7), (None, 2, None)]


def test_an_exchanged_partition_does_not_become_wide(session: Session) -> None:
    session.execute(WIDEN)
    session.execute("CREATE TABLE copy (page STRING, n BIGINT, city STRING, ms BIGINT) PARTITIONED BY (dt STRING)")
    session.execute("ALTER TABLE copy EXCHANGE PARTITION (dt = '2024-01-01') WITH TABLE f_daily")
    session.execute("ALTER TABLE f_daily EXCHANGE PARTITION (dt = '2024-01-01') WITH TABLE copy")
    session.execute("CHECK FACT f ACCEPT")
    check_numbers(session)


def test_retention_keeps_what_only_the_base_has(session: Session) -> None:
    session.execute(WIDEN)
    session.execute("SET rewriter.now = '2024-02-01'")
    session.execute("ALTER FACT f TABLE h SET RETAIN 2 DAYS")
    kept = [row[:2] + row[7:] for row in session.execute("MAINTAIN FACT f DRY RUN").rows() if row[0] == "retain"]
    assert kept == [("retain", "h", "kept: f_daily has no DAILY period with city over it")]
    session.execute("MAINTAIN FACT f")
    check_numbers(session)
    assert rows(session, "SHOW PARTITIONS h") == []


def test_a_refresh_meanwhile_is_a_conflict(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute("INSERT INTO h VALUES ('a', 1, 'rome', 7, '2024-01-03-03')")
    with Session(tmp_path / "w", "duckdb") as other:
        plain = alter_cube.wide_rollups

        def meanwhile(*arguments: Any) -> Any:
            other.execute("REFRESH FACT f")
            return plain(*arguments)

        monkeypatch.setattr(alter_cube, "wide_rollups", meanwhile)
        with pytest.raises(ConflictError):
            session.execute(WIDEN)
        monkeypatch.undo()
        session.execute(WIDEN)
        assert rows(other, NEW) == [("rome", 2, 14), (None, 2, None)]


@pytest.mark.parametrize("comes_back", [False, True])
def test_what_began_before_the_change_does_not_commit_after_it(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes_back: bool
) -> None:
    """A REFRESH FACT that does not know the new column would leave NULL in it, in a partition that counts as wide."""
    if comes_back:
        session.execute(WIDEN)
        session.execute("ALTER CUBE v DROP (city, ms)")
    session.execute("INSERT INTO h VALUES ('a', 1, 'rome', 7, '2024-01-03-03')")
    plain, changed = refresh_fact._rollup_query, list[str]()

    def meanwhile(*arguments: Any) -> Any:
        if not changed:
            changed.append(WIDEN)
            with Session(tmp_path / "w", "duckdb") as other:
                other.execute(WIDEN)
        return plain(*arguments)

    monkeypatch.setattr(refresh_fact, "_rollup_query", meanwhile)
    with pytest.raises(ConflictError):
        session.execute("REFRESH FACT f")
    assert rows(session, NEW) == [("rome", 2, 14), (None, 2, None)]
    session.execute("REFRESH FACT f")
    assert "FROM h WHERE" not in session.plan(NEW).sql
    assert rows(session, NEW) == [("rome", 2, 14), (None, 2, None)]


def test_the_checker_refuses_a_plan_that_reads_a_column_that_a_partition_lacks(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute(WIDEN)
    nothing = RangesPartitionTimeline()
    monkeypatch.setattr(choose_facts, "split_by_width", lambda source, columns, fresh, reader: (fresh, nothing))
    with pytest.raises(Error, match="was computed before the table had city"):
        session.execute(NEW)


@pytest.mark.parametrize("is_wide", [True, False])
def test_a_declared_table_gets_what_it_has(tmp_path: Path, is_wide: bool) -> None:
    with Session(tmp_path / "w", "duckdb") as session:
        for statement in (
            "CREATE CUBE v (page STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE TABLE h (page STRING, n BIGINT, city STRING, ms BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE TABLE d (page STRING, n BIGINT) PARTITIONED BY (day STRING)",
            "CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt), "
            "TABLE d PERIOD DAILY PARTITIONED BY t AS (day))",
            "INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-01-05' VALUES "
            "('a', 1, 'rome', 7, '2024-01-01-03'), ('b', 2, NULL, NULL, '2024-01-02-03')",
            "REFRESH FACT f",
            f"ALTER TABLE d ADD COLUMNS (city STRING{', ms BIGINT' if is_wide else ''})",
        ):
            session.execute(statement)
        (warning,) = session.execute(WIDEN).warnings
        check_numbers(session)
        session.execute("REFRESH FACT f")
        check_numbers(session)
        assert ("FROM d" in session.plan(NEW).sql) is is_wide
        assert warning.startswith(
            "the existing partitions of d" if is_wide else "these rollups do not have city, ms: d"
        )
