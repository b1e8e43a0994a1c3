"""``SET rewriter.cover_cost = bytes``: the cover that reads the fewest bytes, if the sizes of all candidates are
known.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.catalog.cache import mean_sizes
from rewriter.errors import DataError
from rewriter.planner.cover.cover import Candidate, cover_by_scans
from rewriter.planner.cover.cover import cover as best_cover
from rewriter.planner.plan_query import explain_cover
from rewriter.session import Session
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.periods import UpdatePeriod as P
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import parse_instant
from rewriter.timeline.timeline import OrdinalRange
from tests.unit.planner.fakes import cover_of, plan, reader

JANUARY = "SELECT SUM(flights) FROM flights WHERE departed >= '2013-01-01' AND departed < '2013-02-01'"


SIZES = {("hourly", P.HOURLY): 10, ("daily", P.DAILY): 100, ("monthly", P.MONTHLY): 3_101}


class TestPlanning:
    def test_a_month_that_is_larger_than_its_days_is_left(self) -> None:
        planned = plan(JANUARY, reader(sizes=SIZES), cost_in_bytes=True)
        assert cover_of(planned) == {"daily": 31}
        assert "  cost: about 3,100 bytes" in explain_cover(planned).splitlines()

    def test_at_equal_cost_the_fewest_partitions(self) -> None:
        sizes = {**SIZES, ("monthly", P.MONTHLY): 3_100}
        assert cover_of(plan(JANUARY, reader(sizes=sizes), cost_in_bytes=True)) == {"monthly": 1}

    def test_partitions_are_counted_by_default(self) -> None:
        planned = plan(JANUARY, reader(sizes=SIZES))
        assert cover_of(planned) == {"monthly": 1}
        assert "cost:" not in explain_cover(planned)

    def test_what_one_candidate_does_not_know_makes_all_count_partitions(self) -> None:
        sizes = {pair: size for pair, size in SIZES.items() if pair[0] != "hourly"}
        planned = plan(JANUARY, reader(sizes=sizes), cost_in_bytes=True)
        assert cover_of(planned) == {"monthly": 1}
        expected = "  cost: partitions, because the bytes of hourly HOURLY are unknown"
        assert expected in explain_cover(planned).splitlines()

    def test_a_candidate_that_may_not_serve_need_not_know(self) -> None:
        sizes = {pair: size for pair, size in SIZES.items() if pair[0] != "monthly"}
        asked = JANUARY.replace("SELECT ", "SELECT date_trunc('day', departed), ") + " GROUP BY 1"
        assert cover_of(plan(asked, reader(sizes=sizes), cost_in_bytes=True)) == {"daily": 31}

    def test_missing_time_weighs_more_than_bytes(self) -> None:
        covered = {("hourly", P.HOURLY): [], ("daily", P.DAILY): [("2013-01-01", "2013-01-31")]}
        covered |= {("monthly", P.MONTHLY): [("2013-01-01", "2013-02-01")]}
        planned = plan(JANUARY, reader(sizes=SIZES, covered=covered), cost_in_bytes=True)
        assert cover_of(planned) == {"monthly": 1}


class TestWork:
    """Each table that is read costs as much as ``scan_bytes``."""

    MIXED = "SELECT SUM(flights) FROM flights WHERE departed >= '2013-01-01' AND departed < '2013-02-03 05:00'"
    #: A month of 3,100 bytes, days of 100, hours of 10: by bytes, 3,100 or 3,300, and 50 for five hours.

    @pytest.mark.parametrize(
        ("scan_bytes", "expected", "cost"),
        [
            (0, {"daily": 33, "hourly": 5}, "  cost: about 3,350 bytes"),
            (1, {"daily": 33, "hourly": 5}, "  cost: about 3,352 bytes, 2 of them for 2 tables"),
            (4_619, {"daily": 33, "hourly": 5}, "  cost: about 12,588 bytes, 9,238 of them for 2 tables"),
            (4_621, {"hourly": 797}, "  cost: about 12,591 bytes, 4,621 of them for 1 table"),
            (1_000_000, {"hourly": 797}, "  cost: about 1,007,970 bytes, 1,000,000 of them for 1 table"),
        ],
    )
    def test_fewer_tables_may_cost_less(self, scan_bytes: int, expected: dict[str, int], cost: str) -> None:
        planned = plan(self.MIXED, reader(sizes=SIZES), cost_in_bytes=True, scan_bytes=scan_bytes)
        assert cover_of(planned) == expected
        assert cost in explain_cover(planned).splitlines()

    def test_missing_time_weighs_more_than_tables(self) -> None:
        covered = {("hourly", P.HOURLY): [("2013-02-03", "2013-02-04")]}
        covered |= {("daily", P.DAILY): [("2013-01-01", "2013-02-03")], ("monthly", P.MONTHLY): []}
        planned = plan(self.MIXED, reader(sizes=SIZES, covered=covered), cost_in_bytes=True, scan_bytes=10**12)
        assert cover_of(planned) == {"daily": 33, "hourly": 5}

    def test_what_one_candidate_does_not_know_makes_all_count_partitions(self) -> None:
        sizes = {pair: size for pair, size in SIZES.items() if pair[0] != "hourly"}
        planned = plan(self.MIXED, reader(sizes=sizes), cost_in_bytes=True, scan_bytes=10**12)
        assert cover_of(planned) == {"monthly": 1, "daily": 2, "hourly": 5}

    @pytest.mark.parametrize("seed", range(40))
    def test_no_set_of_tables_has_a_better_cover(self, seed: int) -> None:
        """Beside all sets, with random holes and sizes, by the covers of each set alone."""
        rng = random.Random(seed)
        day, hour, month = P.DAILY, P.HOURLY, P.MONTHLY
        start, end = (parse_instant(text) for text in ("2013-01-01", "2013-03-04 07:00"))
        candidates = []
        for number, period in enumerate((hour, hour, day, day, month)):
            ordinals = range(period.ordinal(start), period.ordinal(end - 1) + 1)
            kept = [ordinal for ordinal in ordinals if rng.random() < rng.choice((0.5, 0.97))]
            line = RangesPartitionTimeline([OrdinalRange(ordinal, ordinal + 1) for ordinal in kept])
            size = rng.choice((1, 10, 1_000)) * rng.randrange(1, 30)
            candidates.append(Candidate("f", "s", f"t{number}", period, line, cost=size))
        target, scan_cost = RangeSet.of(TimeRange(start, end)), rng.choice((1, 500, 20_000))
        best = cover_by_scans(target, candidates, scan_cost)
        parted = [best_cover(target, subset) for n in range(1, 6) for subset in itertools.combinations(candidates, n)]
        badness = [
            (sum(r.end - r.start for r in each.missing), each.cost + scan_cost * len({p.table for p in each.parts}))
            for each in parted
        ]
        assert best.badness[:2] == min(badness)
        assert (
            len({part.table for part in best.parts}) * scan_cost
            + sum(part.partitions * candidates[int(part.table[1:])].cost for part in best.parts)
            == best.cost
        )


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """Creates a month whose partition has a row per flight, over days with one row each; some are in one table."""
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        for statement in (
            "CREATE CUBE flights (plane STRING, flights BIGINT MEASURE COUNT, departed TIMESTAMP TIME)",
            "CREATE TABLE days (plane STRING, flights BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE TABLE months (plane STRING, flights BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE FACT log OF CUBE flights STORED IN (TABLE days PERIOD DAILY PARTITIONED BY departed AS (dt),"
            " TABLE months PERIODS (MONTHLY, YEARLY) PARTITIONED BY departed AS (dt) TRUSTED)",
        ):
            opened.execute(statement)
        days = ", ".join(f"('all', 100, '2013-01-{day:02d}')" for day in range(1, 32))
        opened.execute(f"INSERT INTO days PARTITION (dt) VALUES {days}")
        planes = ", ".join(f"('{number * 7919:032x}', 1, '2013-01')" for number in range(3100))
        opened.execute(f"INSERT INTO months PARTITION (dt) VALUES {planes}")
        yield opened


def cover(session: Session) -> list[str]:
    lines = (
        str(line).strip()
        for (text,) in session.execute("EXPLAIN COVER " + JANUARY).fetch()
        for line in str(text).splitlines()
    )
    return [line for line in lines if "partition" in line or "cost" in line]


class TestSession:
    def test_the_sizes_are_those_of_the_files(self, session: Session) -> None:
        assert any("months MONTHLY: 1 partition" in line for line in cover(session))
        session.execute("SET rewriter.cover_cost = BYTES")
        day, month = (session.catalog.snapshot().mean_bytes(*of) for of in (("days", P.DAILY), ("months", P.MONTHLY)))
        if day is None or month is None:
            pytest.fail("a managed table knows its bytes")
        lines = cover(session)
        if month <= 31 * day:
            assert any("months MONTHLY: 1 partition" in line for line in lines)
            assert f"cost: about {month:,} bytes" in lines
        else:
            assert any("days DAILY: 31 partitions" in line for line in lines)
            assert f"cost: about {31 * day:,} bytes" in lines
        assert session.execute(JANUARY).fetch() == [(3100,)]

    def test_a_write_is_seen_at_once(self, session: Session) -> None:
        session.execute("SET rewriter.cover_cost = bytes")
        before = session.catalog.snapshot().mean_bytes("months", P.MONTHLY)
        assert before is not None
        assert session.catalog.snapshot().mean_bytes("months", P.MONTHLY) == before
        session.execute("INSERT OVERWRITE months PARTITION (dt = '2013-01') VALUES ('all', 3100)")
        after = session.catalog.snapshot().mean_bytes("months", P.MONTHLY)
        assert after is not None
        assert after < before
        assert any("months MONTHLY: 1 partition" in line for line in cover(session))

    def test_the_mean_is_that_of_the_period_alone(self, session: Session) -> None:
        month = session.catalog.snapshot().mean_bytes("months", P.MONTHLY)
        assert session.catalog.snapshot().mean_bytes("months", P.YEARLY) is None
        session.execute("INSERT INTO months PARTITION (dt = '2012') VALUES ('all', 1)")
        year = session.catalog.snapshot().mean_bytes("months", P.YEARLY)
        assert year is not None
        assert month == session.catalog.snapshot().mean_bytes("months", P.MONTHLY)
        assert month is not None
        assert year < month

    def test_show_coverage_is_what_a_query_would_use(self, session: Session) -> None:
        session.execute("SET rewriter.cover_cost = bytes")
        day, month = (session.catalog.snapshot().mean_bytes(*of) for of in (("days", P.DAILY), ("months", P.MONTHLY)))
        assert day is not None
        assert month is not None
        shown = {row[3] for row in session.execute("SHOW COVERAGE OF log FROM '2013-01' TO '2013-02'").fetch()}
        assert shown == ({"months"} if month <= 31 * day else {"days"})

    def test_sizes_take_no_more_room_than_they_may(self, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = [("days", P.DAILY), ("months", P.MONTHLY)]
        expected = [session.catalog.snapshot().mean_bytes(*of) for of in asked]
        monkeypatch.setattr(mean_sizes, "MAX_RESULTS", 1)
        assert [session.catalog.snapshot().mean_bytes(*of) for of in asked * 2] == expected * 2
        assert len(session.catalog._database.volumes._results) == 2  # Kept before there was less room.
        session.execute("INSERT INTO days PARTITION (dt = '2013-02-01') VALUES ('all', 1)")
        assert session.catalog.snapshot().mean_bytes("days", P.DAILY) is not None
        assert len(session.catalog._database.volumes._results) == 1

    def test_work_reads_one_table_of_small_ones(self, session: Session) -> None:
        session.execute("INSERT INTO days PARTITION (dt) VALUES ('all', 100, '2013-02-01')")
        asked = JANUARY.replace("'2013-02-01'", "'2013-02-02'")
        session.execute("SET rewriter.cover_cost = work")
        text = str(session.execute(f"EXPLAIN COVER {asked}").fetch())
        assert "days DAILY: 32 partitions" in text
        assert "500,000 of them for 1 table" in text
        session.execute("SET rewriter.scan_bytes = 1")
        assert "1 of them for 1 table" in str(session.execute(f"EXPLAIN COVER {JANUARY}").fetch())
        shown = {row[3] for row in session.execute("SHOW COVERAGE OF log FROM '2013-01' TO '2013-02-02'").fetch()}
        session.execute("SET rewriter.scan_bytes = 500000")
        shown_by_work = {
            row[3] for row in session.execute("SHOW COVERAGE OF log FROM '2013-01' TO '2013-02-02'").fetch()
        }
        assert (len(shown), shown_by_work) in ((2, {"days"}), (1, {"days"}))
        assert session.execute(asked).fetch() == [(3200,)]

    def test_another_word_is_an_error(self, session: Session) -> None:
        with pytest.raises(DataError, match="'rows' is not a cover cost"):
            session.execute("SET rewriter.cover_cost = rows")
