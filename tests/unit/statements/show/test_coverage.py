"""Timelines through statements: queries have the same results with every class, and a failing class is named."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

import rewriter
from rewriter.catalog.store import schema
from rewriter.errors import Error
from rewriter.session import Session
from rewriter.timeline.kinds import registry
from rewriter.timeline.kinds.registry import timeline_class
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.timeline import OrdinalRange

KEY = "cube.storagetable.partition.timeline.cache"
SETUP = """
CREATE CUBE flights (carrier STRING, flights BIGINT MEASURE COUNT, departed TIMESTAMP TIME);
CREATE TABLE hours (carrier STRING, flights BIGINT) PARTITIONED BY (d STRING, h STRING);
CREATE TABLE rollups (carrier STRING, flights BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE flights
  STORED IN STORAGE hot (TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (d = 'yyyy-MM-dd', h = 'HH'))
  STORED IN STORAGE cold (TABLE rollups PERIODS (DAILY, MONTHLY) PARTITIONED BY departed AS (dt))
  START '2013-01-01' END '2013-01-03';
INSERT INTO hours VALUES ('UA', 1, '2013-01-01', '00'), ('UA', 2, '2013-01-01', '05'), ('UA', 4, '2013-01-02', '00'),
  ('UA', 8, '2013-01-03', '00');
ALTER FACT f MARK COMPLETE FROM '2013-01-01' TO '2013-01-04';
INSERT OVERWRITE rollups PARTITION (dt) SELECT carrier, SUM(flights), d FROM hours GROUP BY carrier, d;
INSERT INTO hours VALUES ('UA', 16, '2013-01-02', '01');
ALTER TABLE hours DROP PARTITION (d = '2013-01-01')
"""
QUESTIONS = """
SELECT SUM(flights) FROM f WHERE departed >= '2013-01-01' AND departed < '2013-01-02 02:00';
SELECT SUM(flights) FROM f WHERE time_range_in(departed, '2013-01-02', '2013-01-02T02');
SHOW COVERAGE OF f;
SHOW LATEST OF f;
CHECK FACT f
"""


class Kept(RangesPartitionTimeline):
    """A user's timeline that keeps the contract."""


class Narrow(RangesPartitionTimeline):
    """One that counts in sixteen bits, which no trial with small ordinals finds."""

    @property
    def latest(self) -> int | None:
        latest = super().latest
        return None if latest is None else min(latest, 32767)


class Brittle(RangesPartitionTimeline):
    """One that fails in the century in which it is used."""

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        assert abs(ordinals.end) < 1000, "too late"
        return super().covered(ordinals)


class Stillborn(RangesPartitionTimeline):
    """One that cannot be made of what there is."""

    def __init__(self, ranges: object = ()) -> None:
        super().__init__(ranges)  # type: ignore[arg-type]
        if self.count and abs(self.ranges()[0].start) > 1000:
            raise RuntimeError("no room")


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers these classes, for one test."""
    monkeypatch.setattr(registry, "_registered", {})
    for kind in (Kept, Narrow, Brittle, Stillborn):
        monkeypatch.setattr(kind, "__module__", "mine")
        rewriter.register_timeline(f"mine.{kind.__name__}", kind)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        list(opened.script(SETUP))
        yield opened


def answers(session: Session) -> list[list[tuple[object, ...]]]:
    return [result.fetch() for _, result in session.script(QUESTIONS)]


def choose(session: Session, kind: str) -> None:
    for table, periods, column in (("hours", ["HOURLY"], "H"), ("rollups", ["DAILY", "MONTHLY"], "departed")):
        for period in periods:
            session.execute(f"ALTER TABLE {table} SET TIMELINE {period} FOR {column} TO '{kind}'")


def error(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        list(session.execute(sql).rows())
    return caught.value


def test_every_class_answers_alike(session: Session, mine: None) -> None:
    expected = answers(session)
    assert expected[0] == [(23,)]  # of 1 January only the day is left
    for kind in ("Ranges", "StoreAll", "bitmap", "mine.Kept", "mine:Kept", "EndsAndHolesPartitionTimeline"):
        choose(session, kind)
        assert answers(session) == expected, kind
        shown = {row[3] for row in session.execute("SHOW TIMELINES OF f").rows()}
        assert shown == {"mine.Kept" if "mine" in kind else timeline_class(kind).__name__}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("Narrow", "latest returned 32767, not"),
        ("Brittle", "covered raises AssertionError: too late"),
        ("Stillborn", "__init__ raises RuntimeError: no room"),
    ],
)
def test_a_class_that_fails_is_named(session: Session, mine: None, kind: str, words: str) -> None:
    expected = answers(session)
    choose(session, f"mine.{kind}")
    for sql in ("SELECT SUM(flights) FROM f WHERE departed >= '2013-01-01'", "SHOW COVERAGE OF f"):
        caught = error(session, sql)
        assert (caught.condition, caught.object) == ("TIMELINE_FAILED", f"mine.{kind}")
        assert words in caught.message
        assert "SET TIMELINE" in str(caught.hint)
    choose(session, "EndsAndHoles")
    assert answers(session) == expected


def test_a_class_that_is_gone_is_named_and_can_be_left(
    session: Session, mine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(session, "mine.Kept")
    monkeypatch.setattr(registry, "_registered", {})
    caught = error(session, "SELECT SUM(flights) FROM f WHERE departed >= '2013-01-01'")
    assert (caught.condition, caught.object) == ("UNKNOWN_TIMELINE", "mine.Kept")
    # What is stored does not depend on the class: it can be rebuilt, and another class reads it.
    assert session.execute("REFRESH TIMELINES OF f").fetch() == []
    session.execute(f"ALTER TABLE hours UNSET TBLPROPERTIES ('{KEY}.hourly.H.storage.class')")
    for period in ("DAILY", "MONTHLY"):
        session.execute(f"ALTER TABLE rollups SET TIMELINE {period} FOR dt TO 'Ranges'")
    assert answers(session)[0] == [(23,)]


def test_a_name_from_the_catalog_is_not_imported(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_planted_module.py").write_text("raise SystemExit('was imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    caught = error(session, "ALTER TABLE hours SET TIMELINE HOURLY FOR h TO 'a_planted_module.Kept'")
    assert caught.condition == "UNKNOWN_TIMELINE"
    # An older catalog has it stored.
    session.execute("ALTER TABLE hours SET TIMELINE HOURLY FOR h TO 'Bitmap'")
    with closing(sqlite3.connect(session.catalog.warehouse / "catalog.db")) as connection, connection:
        connection.execute(
            "UPDATE objects SET definition = replace(definition, '\"Bitmap\"', '\"a_planted_module.Kept\"')"
        )
    with Session(session.catalog.warehouse, "duckdb") as reader:
        for sql in (*QUESTIONS.split(";")[:4], "SHOW TIMELINES OF f", "SELECT * FROM f", "REFRESH FACT f DRY RUN"):
            with suppress(Error):
                reader.execute(sql).fetch()
        assert error(reader, "SHOW TIMELINES OF f").condition == "UNKNOWN_TIMELINE"
    assert "a_planted_module" not in sys.modules


def test_nothing_changes_where_one_property_of_several_is_wrong(session: Session) -> None:
    before = session.catalog.snapshot()
    for wrong in (
        f"'{KEY}.DAILY.dt.storage.class' = 'nosuch'",
        f"'{KEY}.HOURLY.dt.storage.class' = 'Ranges'",
        f"'{KEY}.DAILY.carrier.storage.class' = 'Ranges'",
        f"'{KEY}.present' = 'no'",
    ):
        sql = f"ALTER TABLE rollups SET TBLPROPERTIES (team = 'x', {wrong})"
        caught = error(session, sql)
        assert caught.position is not None
        assert sql[caught.position.start : caught.position.end] == wrong.split(" =")[0]
    assert session.catalog.snapshot().sequence == before.sequence


def test_refresh_tells_what_stood_otherwise(session: Session) -> None:
    expected = answers(session)
    with closing(sqlite3.connect(session.catalog.warehouse / "catalog.db")) as connection, connection:
        connection.execute("DELETE FROM timeline_ranges WHERE ended = ? AND state = 2", (schema.NEVER,))
        table = session.catalog.snapshot().table("rollups")
        names = "table_id, period, time_key, state, start_ordinal, end_ordinal, made, ended, commit_seq"
        for period, start, end in ((4, 15740, 15742), (99, 10**17, 10**17 + 1), (7, 10**17, 10**17 + 1)):
            values = (table.id, period, "departed", 1, start, end, 1, schema.NEVER, 1)
            connection.execute(f"INSERT INTO timeline_ranges ({names}) VALUES ({', '.join('?' * 9)})", values)
    result = session.execute("REFRESH TIMELINES OF f")
    assert [column.name for column in result.columns] == [
        "table", "period", "time", "from", "to", "was", "now", "partitions"
    ]  # fmt: skip
    assert result.fetch() == [
        ("hours", "HOURLY", "departed", "2013-01-01", "2013-01-02", "missing", "retired", 24),
        ("rollups", "99", "departed", str(10**17), str(10**17 + 1), "fresh", "missing", 1),
        ("rollups", "YEARLY", "departed", "∞", "∞", "fresh", "missing", 1),
        ("rollups", "WEEKLY", "departed", "2271-08-28", "2271-09-11", "fresh", "missing", 2),
    ]
    assert session.execute("REFRESH TIMELINES OF f").fetch() == []
    assert answers(session) == expected
