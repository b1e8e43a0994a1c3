"""Facts over imported tables follow the import."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_metastore import FakeMetastore
from imported import imported, picture

from rewriter.session import Session

FACT = (
    "CREATE CUBE visits (n BIGINT MEASURE SUM, at TIMESTAMP TIME)",
    "CREATE FACT f OF CUBE visits STORED IN (TABLE days PERIOD DAILY PARTITIONED BY at AS (ds))",
)


def _timeline(warehouse: Path) -> list[tuple[object, ...]]:
    with Session(warehouse, "duckdb") as session:
        return [tuple(row) for row in session.execute("SHOW TIMELINES OF f").rows()]


def test_the_timeline_of_a_fact_has_what_was_imported(tmp_path: Path) -> None:
    metastore = FakeMetastore()
    metastore.add_table("days", {"n": "bigint"}, {"ds": "string"})
    for day in range(1, 8):
        metastore.add_partition("days", f"ds=2026-01-{day:02d}")
    with metastore.serving() as url:
        imported(tmp_path / "a", url)
        with Session(tmp_path / "a", "duckdb") as session:
            for statement in FACT:
                session.execute(statement)
        for day in (8, 9, 11):
            metastore.add_partition("days", f"ds=2026-01-{day:02d}")
        del metastore.partitions["default", "days"]["ds=2026-01-04"]
        assert imported(tmp_path / "a", url, batch=2).is_complete
    # The same partitions, added by statements before the fact, give the same timeline.
    with Session(tmp_path / "b", "duckdb") as session:
        session.execute(f"CREATE EXTERNAL TABLE days (n BIGINT) PARTITIONED BY (ds STRING) LOCATION '{tmp_path}/d'")
        names = (f"PARTITION (ds='2026-01-{day:02d}')" for day in (1, 2, 3, 5, 6, 7, 8, 9, 11))
        session.execute(f"ALTER TABLE days ADD {' '.join(names)}")
        for statement in FACT:
            session.execute(statement)
    assert _timeline(tmp_path / "a") == _timeline(tmp_path / "b")
    assert any("2026-01-11" in str(value) for row in _timeline(tmp_path / "a") for value in row)


def test_a_partition_that_the_fact_refuses_is_refused_alone(tmp_path: Path) -> None:
    metastore = FakeMetastore()
    metastore.add_table("days", {"n": "bigint"}, {"ds": "string"})
    metastore.add_partition("days", "ds=2026-01-01")
    with metastore.serving() as url:
        imported(tmp_path, url)
        with Session(tmp_path, "duckdb") as session:
            for statement in FACT:
                session.execute(statement)
        for name in ("2026-01-02", "nonsense", "2026-01-03", "2026-01-04", "more"):
            metastore.add_partition("days", f"ds={name}")
        report = imported(tmp_path, url)
        assert len(picture(tmp_path)["days"][-1]) == 4
        ((object_, _, count, example, reason),) = _merged(report.rows())
        assert (object_, count, example) == ("days", 2, "ds=nonsense")
        assert "[INVALID_TIME_PARTITION]" in reason
        # The table belongs to the fact: a drop at the source is reported.
        del metastore.tables["default", "days"]
        rows = list(imported(tmp_path, url).rows())
        assert [(row[0], row[1]) for row in rows] == [("days", "table")]
        assert "[TABLE_IN_USE]" in rows[0][4]
        assert "days" in picture(tmp_path)


def _merged(rows: object) -> list[tuple[str, str, int, str | None, str]]:
    """Returns the rows with one object as one, with the first example."""
    listed = list(rows)  # type: ignore[call-overload]
    total = sum(row[2] for row in listed)
    first = next(row for row in listed if row[3] == "ds=nonsense")
    return [(first[0], first[1], total, first[3], first[4])]


@pytest.mark.share(1)
@pytest.mark.parametrize("key", ["numFiles", "totalSize", "transient_lastDdlTime"])
def test_what_is_written_at_the_source_outdates_rollups(tmp_path: Path, key: str) -> None:
    metastore = FakeMetastore()
    metastore.add_table("days", {"n": "bigint"}, {"ds": "string"})
    names = [f"ds=2026-02-{day:02d}" for day in range(1, 29)]
    for name in names:
        (tmp_path / name).mkdir()
        metastore.add_partition("days", name, f"file:{tmp_path}/{name}").parameters = {
            "numFiles": "1",
            "totalSize": "5",
        }
    written = metastore.partitions["default", "days"][names[-1]]
    with metastore.serving() as url:
        imported(tmp_path / "a", url)
        with Session(tmp_path / "a", "duckdb") as session:
            session.execute(FACT[0])
            session.execute("CREATE TABLE months (n BIGINT) PARTITIONED BY (ds STRING)")
            session.execute(
                "CREATE FACT f OF CUBE visits STORED IN (TABLE days PERIOD DAILY PARTITIONED BY at AS (ds), "
                "TABLE months PERIOD MONTHLY PARTITIONED BY at AS (ds))"
            )
            session.execute("INSERT OVERWRITE months PARTITION (ds = '2026-02') SELECT SUM(n) FROM days")
        assert _is_fresh(tmp_path / "a")
        written.parameters = {**written.parameters, "numRows": "7"}
        assert imported(tmp_path / "a", url).summary == "partitions: 0 created, 1 changed, 0 dropped"
        assert _is_fresh(tmp_path / "a")
        written.parameters = {**written.parameters, key: "1800000000"}
        assert imported(tmp_path / "a", url).summary == "partitions: 0 created, 1 changed, 0 dropped"
        assert not _is_fresh(tmp_path / "a")


def _is_fresh(warehouse: Path) -> bool:
    with Session(warehouse, "duckdb") as session:
        query = "EXPLAIN COVER SELECT SUM(n) FROM visits WHERE at >= '2026-02-01' AND at < '2026-03-01'"
        return "f.months MONTHLY: 1 partition" in str(list(session.execute(query).rows()))
