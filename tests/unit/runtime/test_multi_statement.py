"""START TRANSACTION … COMMIT | ROLLBACK: several statements over one snapshot, and one commit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from postgres import on_sqlite

from rewriter import dbapi
from rewriter.catalog import Transaction
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.errors import CommitUnknownError, ConflictError, Error, NotSupportedError, OperationalError
from rewriter.runtime import heartbeat
from rewriter.session import Session

Rows = list[tuple[object, ...]]


class Two:
    """Two sessions over one warehouse, ``one`` and ``other``."""

    def __init__(self, warehouse: Path, url: str | None, stack: ExitStack) -> None:
        self.warehouse = warehouse
        self.one, self.other = (stack.enter_context(Session(warehouse, "duckdb", catalog=url)) for _ in range(2))

    def rows(self, sql: str) -> Rows:
        """Returns the rows that the other session reads."""
        return rows(self.other, sql)

    def files(self) -> set[str]:
        """Returns data files and directories of writes."""
        paths = (path for path in self.warehouse.rglob("*") if path.suffix == ".parquet" or "=" in path.name)
        return {str(path.relative_to(self.warehouse)) for path in paths}


@pytest.fixture
def two(tmp_path: Path, catalog_url: str | None) -> Iterator[Two]:
    with ExitStack() as stack:
        sessions = Two(tmp_path, catalog_url, stack)
        run(sessions.one, "CREATE TABLE t (x INT) PARTITIONED BY (p STRING)", "CREATE TABLE u (x INT)")
        run(sessions.one, "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "INSERT INTO u VALUES (10)")
        assert sessions.rows(U) == [(10,)]  # From now on both have the warehouse open.
        yield sessions


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement)


def rows(session: Session, sql: str) -> Rows:
    return sorted(session.execute(sql).fetch())


def error(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        session.execute(sql)
    return caught.value


T, U = "SELECT x, p FROM t", "SELECT x FROM u"


class TestAllOrNothing:
    WRITES = (
        "INSERT INTO t VALUES (3, 'a'), (4, 'c')",
        "INSERT INTO t PARTITION (p = 'a') VALUES (5)",
        "INSERT OVERWRITE t PARTITION (p = 'b') VALUES (6)",
        "INSERT OVERWRITE u VALUES (11)",
        "CREATE TABLE made AS SELECT 1 AS one",
        "CREATE VIEW seen AS SELECT x FROM u",
    )

    def test_others_see_nothing_before_the_commit_and_all_after_it(self, two: Two) -> None:
        before = two.one.catalog.snapshot().sequence
        run(two.one, "START TRANSACTION", *self.WRITES)
        assert rows(two.other, T) == [(1, "a"), (2, "b")]
        assert rows(two.other, U) == [(10,)]
        assert error(two.other, "SELECT * FROM made").condition == "TABLE_OR_VIEW_NOT_FOUND"
        assert two.one.catalog.snapshot().sequence == before
        run(two.one, "COMMIT")
        assert two.one.catalog.snapshot().sequence == before + 1
        for session in (two.one, two.other):
            assert rows(session, T) == [(1, "a"), (3, "a"), (4, "c"), (5, "a"), (6, "b")]
            assert rows(session, "SELECT * FROM seen") == [(11,)]
            assert rows(session, "SELECT * FROM made") == [(1,)]

    def test_one_write_id_for_each_table(self, two: Two) -> None:
        table = two.one.catalog.snapshot().table("t")
        before = two.one.catalog.snapshot().write_ids(table.id)
        run(two.one, "BEGIN", *self.WRITES, "COMMIT")
        after = two.one.catalog.snapshot().write_ids(table.id)
        assert (after.high_water_mark, after.invalid) == (before.high_water_mark + 1, frozenset())

    def test_rollback_leaves_nothing(self, two: Two) -> None:
        files, before = two.files(), two.one.catalog.events()
        run(two.one, "START TRANSACTION", *self.WRITES)
        assert two.files() > files
        run(two.one, "ROLLBACK")
        assert two.files() == files
        assert two.one.catalog.events() == before
        assert not two.one.catalog.snapshot().transactions.open
        for session in (two.one, two.other):
            assert rows(session, T) == [(1, "a"), (2, "b")]
            assert rows(session, U) == [(10,)]
            assert rows(session, "SHOW VIEWS") == []
        run(two.one, "INSERT INTO t VALUES (9, 'a')")
        assert (9, "a") in rows(two.other, T)

    def test_a_closed_session_rolls_back(self, two: Two) -> None:
        files = two.files()
        run(two.one, "START TRANSACTION", *self.WRITES)
        two.one.close()
        two.one.close()
        assert two.files() == files
        assert not two.other.catalog.snapshot().transactions.open
        assert rows(two.other, T) == [(1, "a"), (2, "b")]

    def test_a_statement_that_fails_leaves_nothing_and_the_transaction_open(self, two: Two) -> None:
        run(two.one, "START TRANSACTION", "INSERT INTO t VALUES (3, 'c')")
        files = two.files()
        cast = "INSERT INTO t SELECT CAST(concat('no', x) AS INT), 'd' FROM u"
        assert error(two.one, cast).condition == "CAST_INVALID_INPUT"
        assert error(two.one, "ALTER TABLE t ADD PARTITION (p = 'a')").condition == "PARTITIONS_ALREADY_EXIST"
        assert error(two.one, "CREATE TABLE u (x INT)").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
        assert error(two.one, "SELEC 1").condition == "PARSE_SYNTAX_ERROR"
        assert two.files() == files
        run(two.one, "COMMIT")
        assert rows(two.other, T) == [(1, "a"), (2, "b"), (3, "c")]

    def test_of_a_table_that_could_not_be_made_nothing_is_committed(self, two: Two) -> None:
        run(two.one, "START TRANSACTION", "INSERT INTO u VALUES (11)")
        run(two.other, "CREATE TABLE made (x INT)")
        assert error(two.one, "CREATE TABLE made AS SELECT 1 AS x").sqlstate == "40001"
        assert error(two.one, "CREATE TABLE wrong AS SELECT CAST('x' AS INT) AS x").condition == "CAST_INVALID_INPUT"
        run(two.one, "CREATE TABLE right AS SELECT 1 AS x", "COMMIT")
        assert two.rows("SELECT x FROM right") == [(1,)]
        assert list(findings(two.one.catalog.database)) == []

    def test_moves_of_partitions(self, two: Two) -> None:
        run(two.one, "CREATE TABLE old LIKE t", "INSERT INTO t VALUES (7, 'd'), (8, 'e')")
        run(
            two.one,
            "START TRANSACTION",
            "ALTER TABLE old EXCHANGE PARTITION (p = 'a') WITH TABLE t",
            "COMMIT",
        )
        assert rows(two.other, "SELECT x, p FROM old") == [(1, "a")]
        for statement in (
            "ALTER TABLE t PARTITION (p = 'b') RENAME TO PARTITION (p = 'z')",
            "TRUNCATE TABLE t PARTITION (p = 'd')",
            "ALTER TABLE t DROP PARTITION (p = 'e')",
        ):
            before = rows(two.one, T)
            run(two.one, "START TRANSACTION", statement)
            assert rows(two.other, T) == before
            run(two.one, "ROLLBACK")
            assert rows(two.one, T) == before
            run(two.one, "START TRANSACTION", statement, "COMMIT")
        assert rows(two.other, T) == [(2, "z")]
        assert rows(two.other, "SHOW PARTITIONS t") == [("p=d",), ("p=z",)]

    def test_loading_and_several_inserts_of_one_source(self, two: Two, tmp_path: Path) -> None:
        run(
            two.one,
            f"CREATE EXTERNAL TABLE source (x INT) LOCATION '{tmp_path}/source'",
            "INSERT INTO source VALUES (5)",
        )
        run(two.one, "START TRANSACTION", f"LOAD DATA INPATH '{tmp_path}/source' INTO TABLE u")
        run(
            two.one,
            "FROM source INSERT INTO t SELECT x, 'a' INSERT INTO t SELECT x + 1, 'a' INSERT INTO u SELECT x + 2",
        )
        assert rows(two.other, U) == [(10,)]
        run(two.one, "COMMIT")
        assert rows(two.other, U) == [(5,), (7,), (10,)]
        assert rows(two.other, T) == [(1, "a"), (2, "b"), (5, "a"), (6, "a")]

    def test_a_table_is_dropped_and_made_anew(self, two: Two) -> None:
        run(two.one, "START TRANSACTION", "DROP TABLE u")
        assert error(two.one, U).condition == "TABLE_OR_VIEW_NOT_FOUND"
        run(two.one, "CREATE TABLE u (y STRING)", "INSERT INTO u VALUES ('new')")
        assert rows(two.other, U) == [(10,)]
        run(two.one, "COMMIT")
        assert rows(two.other, "SELECT y FROM u") == [("new",)]

    def test_a_transaction_without_changes_commits_nothing(self, two: Two) -> None:
        before = two.one.catalog.snapshot().sequence
        run(two.one, "START TRANSACTION", T, "COMMIT")
        assert two.one.catalog.snapshot().sequence == before
        assert not two.one.catalog.snapshot().transactions.open


class TestOneSnapshot:
    def test_all_reads_see_the_state_at_the_start(self, two: Two) -> None:
        run(two.one, "START TRANSACTION")
        run(two.other, "INSERT INTO t VALUES (3, 'c')", "CREATE TABLE later (x INT)", "DROP TABLE u")
        assert rows(two.one, T) == [(1, "a"), (2, "b")]
        assert rows(two.one, U) == [(10,)]
        assert rows(two.one, "SHOW PARTITIONS t") == [("p=a",), ("p=b",)]
        assert {row[0] for row in rows(two.one, "SHOW TABLES")} == {"t", "u"}
        assert "c" not in str(rows(two.one, f"EXPLAIN SCAN {T}"))
        assert "later" not in two.one.plan(U).sql
        run(two.one, "COMMIT")
        assert (3, "c") in rows(two.one, T)

    def test_a_cube_is_read_under_it(self, two: Two) -> None:
        fact(two.one)
        total = "SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-02')"
        run(two.one, "START TRANSACTION")
        run(two.other, "INSERT OVERWRITE hours PARTITION (dt = '2013-01-01-05') VALUES (100)")
        coverage = "SHOW TIMELINES OF f"
        before = rows(two.one, coverage)
        assert rows(two.one, total) == [(24,)]
        assert rows(two.other, total) == [(123,)]
        assert rows(two.other, coverage) != before
        run(two.one, "ROLLBACK")
        assert rows(two.one, total) == [(123,)]

    @pytest.mark.parametrize(
        ("read", "expected"),
        [
            (T, [(1, "a"), (2, "b"), (3, "c")]),
            ("SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM t WHERE p = 'c')", [(1,)]),
            ("SELECT COUNT(*) FROM through", [(3,)]),
            ("SHOW PARTITIONS t", [("p=a",), ("p=b",), ("p=c",)]),
            ("SHOW PARTITIONS t WHERE p = 'c'", [("p=c",)]),
            ("SELECT x FROM t WHERE p = 'c'", [(3,)]),
        ],
    )
    def test_what_the_transaction_has_changed_is_read(self, two: Two, read: str, expected: list[object]) -> None:
        """No result omits the transaction's own rows, whatever was cached before; nobody else has them."""
        run(two.one, "CREATE VIEW through AS SELECT x FROM t")
        before = rows(two.one, read)
        run(two.one, "START TRANSACTION", T, "SHOW PARTITIONS t", T, "INSERT INTO t VALUES (3, 'c')")
        run(two.other, "INSERT INTO t VALUES (4, 'd')")
        assert rows(two.one, read) == expected
        assert rows(two.one, U) == [(10,)]
        run(two.one, "ROLLBACK")
        run(two.other, "ALTER TABLE t DROP PARTITION (p = 'd')")
        assert rows(two.one, read) == before

    @pytest.mark.parametrize(
        ("statement", "left"),
        [
            ("INSERT INTO u SELECT x FROM t", [(1, "a"), (2, "b"), (3, "c")]),
            ("CREATE TABLE w AS SELECT x FROM t", [(1, "a"), (2, "b"), (3, "c")]),
            ("INSERT OVERWRITE t PARTITION (p = 'c') IF NOT EXISTS VALUES (1)", [(1, "a"), (2, "b"), (3, "c")]),
            ("ALTER TABLE t DROP PARTITION (p >= 'b')", [(1, "a")]),
            ("ALTER TABLE t PARTITION (p = 'c') RENAME TO PARTITION (p = 'd')", [(1, "a"), (2, "b"), (3, "d")]),
            ("TRUNCATE TABLE t", []),
            ("INSERT OVERWRITE t SELECT x + 1, p FROM t", [(2, "a"), (3, "b"), (4, "c")]),
        ],
    )
    def test_what_the_transaction_has_changed_is_changed_again(
        self, two: Two, statement: str, left: list[object]
    ) -> None:
        run(two.one, "START TRANSACTION", "INSERT INTO t VALUES (3, 'c')", statement)
        assert rows(two.one, T) == left
        assert rows(two.other, T) == [(1, "a"), (2, "b")]
        run(two.one, "COMMIT")
        assert rows(two.other, T) == left

    def test_a_table_that_the_transaction_has_made_or_written_is_dropped(self, two: Two) -> None:
        run(two.one, "START TRANSACTION", "CREATE TABLE w (x INT)", "INSERT INTO w VALUES (1)", "DROP TABLE w")
        assert error(two.one, "SELECT * FROM w").condition == "TABLE_OR_VIEW_NOT_FOUND"
        run(two.one, "CREATE TABLE w (y STRING)", "INSERT INTO w VALUES ('a')", "INSERT INTO u VALUES (3)")
        assert rows(two.one, "SELECT * FROM w") == [("a",)]
        run(two.one, "DROP TABLE u", "COMMIT")
        assert rows(two.other, "SELECT * FROM w") == [("a",)]
        assert error(two.other, U).condition == "TABLE_OR_VIEW_NOT_FOUND"

    def test_a_cube_is_read_with_what_the_transaction_has_changed(self, two: Two) -> None:
        """A rollup that the transaction's own change of the base has outdated is not taken for fresh."""
        fact(two.one)
        total = "SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-02')"
        assert "days" in two.one.plan(total).sql
        run(two.one, "START TRANSACTION", total, "INSERT OVERWRITE hours PARTITION (dt = '2013-01-01-05') VALUES (100)")
        assert rows(two.one, total) == [(123,)]
        assert "days" not in two.one.plan(total).sql
        assert rows(two.other, total) == [(24,)]
        run(two.one, "INSERT OVERWRITE days SELECT SUM(n), '2013-01-01' FROM hours")
        assert "days" in two.one.plan(total).sql
        assert rows(two.one, total) == [(123,)]
        run(two.one, "COMMIT")
        assert "days" in two.other.plan(total).sql
        assert rows(two.other, total) == [(123,)]
        assert rows(two.other, "REFRESH TIMELINES OF f") == []

    def test_a_rollup_of_own_rows_is_outdated_by_the_base_of_others(self, two: Two) -> None:
        """One number of a commit cannot say: with my own rows, and without those of an earlier commit."""
        fact(two.one)
        total = "SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-02')"
        run(two.one, "START TRANSACTION", "INSERT OVERWRITE hours PARTITION (dt = '2013-01-01-05') VALUES (100)")
        run(two.one, "INSERT OVERWRITE days SELECT SUM(n), '2013-01-01' FROM hours")
        run(two.other, "INSERT INTO hours VALUES (1000, '2013-01-01-07')")
        assert rows(two.one, total) == [(123,)]
        run(two.one, "COMMIT")
        assert rows(two.other, total) == [(1123,)]
        assert rows(two.other, "REFRESH TIMELINES OF f") == []

    @on_sqlite
    def test_what_is_empty_of_a_new_table_is_read(self, two: Two) -> None:
        run(two.one, "START TRANSACTION", "CREATE TABLE w (x INT)")
        assert rows(two.one, "SELECT * FROM w") == []
        assert ("w", "MANAGED", "parquet", "") in rows(two.one, "SHOW TABLES")
        assert error(two.one, "CREATE TABLE W (x INT)").condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
        run(two.one, "ROLLBACK")
        assert error(two.one, "SELECT * FROM w").condition == "TABLE_OR_VIEW_NOT_FOUND"


def fact(session: Session) -> None:
    """Creates hours of one day, each with 1, and the day over them."""
    hours = ", ".join(f"(1, '2013-01-01-{hour:02d}')" for hour in range(24))
    run(
        session,
        "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
        "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))",
        f"INSERT INTO hours VALUES {hours}",
        "INSERT INTO days SELECT SUM(n), '2013-01-01' FROM hours",
    )


class TestFreshness:
    DAY = "INSERT OVERWRITE days PARTITION (dt = '2013-01-01') SELECT SUM(n) FROM hours"
    HOUR = "INSERT OVERWRITE hours PARTITION (dt = '2013-01-01-05') VALUES (100)"

    @on_sqlite
    @pytest.mark.parametrize(
        ("statements", "is_fresh"),
        [
            ((DAY,), True),
            ((DAY, HOUR), False),
            # Each write is judged by what its own query has read.
            ((DAY, "INSERT INTO u SELECT x FROM t"), True),
            (("INSERT INTO u SELECT n FROM hours WHERE dt = '2013-01-01-03'", DAY), True),
            (
                ("INSERT OVERWRITE days PARTITION (dt = '2013-01-01') SELECT n FROM hours WHERE dt = '2013-01-01-03'",),
                False,
            ),
            ((f"{DAY}", "INSERT INTO u SELECT n FROM hours WHERE dt = '2013-01-01-03'"), True),
            # What several INTOs fill is proven by none of them.
            (
                (
                    "ALTER TABLE days DROP PARTITION (dt = '2013-01-01')",
                    "COMMIT",
                    "BEGIN",
                    "INSERT INTO days SELECT SUM(n), '2013-01-01' FROM hours",
                    "INSERT INTO days SELECT SUM(n), '2013-01-01' FROM hours",
                ),
                False,
            ),
        ],
    )
    def test_rollups_are_as_fresh_as_alone(self, two: Two, statements: tuple[str, ...], is_fresh: bool) -> None:
        fact(two.one)
        run(two.one, "START TRANSACTION", *statements, "COMMIT")
        sql = two.one.plan("SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-02')").sql
        assert ("days" in sql) == is_fresh

    @on_sqlite
    def test_a_base_that_came_after_the_start_outdates(self, two: Two) -> None:
        """The rollup is computed from the snapshot at the start, and must not pass for newer."""
        fact(two.one)
        run(two.one, "START TRANSACTION")
        run(two.other, self.HOUR)
        run(two.one, self.DAY, "COMMIT")
        total = "SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-02')"
        assert "days" not in two.one.plan(total).sql
        assert rows(two.one, total) == [(123,)]

    @on_sqlite
    def test_rebuilt_timelines_say_the_same(self, two: Two) -> None:
        fact(two.one)
        run(
            two.one,
            "START TRANSACTION",
            "INSERT INTO hours VALUES (5, '2013-01-02-00')",
            "INSERT INTO days VALUES (11, '2013-01-02')",
        )
        run(two.one, "INSERT INTO hours VALUES (6, '2013-01-02-00')", "COMMIT")
        before = rows(two.one, "SHOW TIMELINES OF f")
        run(two.one, "REFRESH TIMELINES OF f")
        assert rows(two.one, "SHOW TIMELINES OF f") == before

    @on_sqlite
    def test_a_fact_of_later_trusts_no_partition_that_several_intos_filled(self, two: Two) -> None:
        """As two INTOs one after the other: what they add up to is what no query has computed."""
        fact(two.one)
        run(two.one, "DROP FACT f", "ALTER TABLE days DROP PARTITION (dt = '2013-01-01')")
        into = "INSERT INTO days SELECT SUM(n), '2013-01-01' FROM hours"
        run(two.one, "START TRANSACTION", into, into, "COMMIT")
        run(
            two.one,
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
            "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))",
        )
        assert rows(two.one, "SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-02')") == [(24,)]


class TestConflicts:
    @pytest.mark.parametrize("late", [True, False])
    def test_a_lost_update_is_refused(self, two: Two, late: bool) -> None:
        """Both read a partition and rewrite it; the second one gets the conflict, at its write or at its COMMIT."""
        update = "INSERT OVERWRITE t PARTITION (p = 'a') SELECT x + 1 FROM t WHERE p = 'a'"
        run(two.one, "START TRANSACTION")
        run(two.other, "START TRANSACTION")
        run(two.one, update)
        if late:
            run(two.other, update, "INSERT INTO u VALUES (1)")
        files = two.files()
        run(two.one, "COMMIT")
        refused = error(two.other, "COMMIT" if late else update)
        assert isinstance(refused, ConflictError)
        assert (refused.sqlstate, refused.retryable) == ("40001", True)
        assert "START TRANSACTION" in (refused.hint or "")
        if late:
            assert not two.other.in_transaction
            assert two.files() < files
        else:
            run(two.other, "ROLLBACK")
        assert rows(two.one, T) == [(2, "a"), (2, "b")]
        assert rows(two.one, U) == [(10,)]

    def test_intos_of_one_partition_commute(self, two: Two) -> None:
        for session, number in ((two.one, 3), (two.other, 4)):
            run(
                session,
                "START TRANSACTION",
                f"INSERT INTO t VALUES ({number}, 'a')",
                f"INSERT INTO u VALUES ({number})",
            )
        run(two.other, "COMMIT")
        run(two.one, "INSERT INTO t VALUES (5, 'a')", "COMMIT")
        assert rows(two.one, T) == [(1, "a"), (2, "b"), (3, "a"), (4, "a"), (5, "a")]
        assert rows(two.one, U) == [(3,), (4,), (10,)]

    def test_writers_of_different_partitions_do_not_meet(self, two: Two) -> None:
        for session, p in ((two.one, "a"), (two.other, "b")):
            run(session, "START TRANSACTION", f"INSERT OVERWRITE t PARTITION (p = '{p}') VALUES (100)")
        run(two.one, "COMMIT")
        run(two.other, "COMMIT")
        assert rows(two.one, T) == [(100, "a"), (100, "b")]

    def test_an_insert_is_not_run_anew_within(self, two: Two) -> None:
        """Its snapshot is that of the transaction."""
        run(two.one, "START TRANSACTION")
        run(two.other, "INSERT OVERWRITE t PARTITION (p = 'a') VALUES (7)")
        assert error(two.one, "INSERT INTO t SELECT x, 'a' FROM t WHERE p = 'a'").sqlstate == "40001"
        run(two.one, "COMMIT", "INSERT INTO t SELECT x, 'a' FROM t WHERE p = 'a'")
        assert rows(two.one, T) == [(2, "b"), (7, "a"), (7, "a")]

    @on_sqlite
    def test_columns_that_another_has_added(self, two: Two) -> None:
        run(two.one, "START TRANSACTION", "INSERT INTO t VALUES (3, 'c')")
        run(two.other, "ALTER TABLE t ADD COLUMNS (y INT)")
        assert error(two.one, "COMMIT").sqlstate == "40001"
        assert rows(two.other, T) == [(1, "a"), (2, "b")]

    @on_sqlite
    def test_a_table_that_another_has_dropped(self, two: Two) -> None:
        run(two.one, "START TRANSACTION", "INSERT INTO t VALUES (3, 'c')", "INSERT INTO u VALUES (3)")
        run(two.other, "DROP TABLE t")
        assert error(two.one, "COMMIT").sqlstate == "40001"
        assert rows(two.other, U) == [(10,)]

    def test_snapshots_prevent_no_write_skew(self, two: Two) -> None:
        """docs/explanation/consistency.md does not promise this: each reads the other's part, and writes its own."""
        run(two.one, "START TRANSACTION", "INSERT OVERWRITE t PARTITION (p = 'a') SELECT x FROM t WHERE p = 'b'")
        run(two.other, "START TRANSACTION", "INSERT OVERWRITE t PARTITION (p = 'b') SELECT x FROM t WHERE p = 'a'")
        run(two.one, "COMMIT")
        run(two.other, "COMMIT")
        assert rows(two.one, T) == [(1, "b"), (2, "a")]


class TestOfOnePartition:
    @on_sqlite
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("INSERT INTO t VALUES (3, 'a')", "INSERT OVERWRITE t PARTITION (p = 'a') VALUES (4)"),
            ("INSERT OVERWRITE t PARTITION (p = 'a') VALUES (4)", "INSERT INTO t VALUES (3, 'a')"),
            ("INSERT OVERWRITE t VALUES (4, 'a')", "INSERT OVERWRITE t VALUES (4, 'a')"),
            ("ALTER TABLE t DROP PARTITION (p = 'a')", "INSERT INTO t VALUES (3, 'a')"),
            ("ALTER TABLE t DROP PARTITION (p >= 'a')", "INSERT INTO t VALUES (3, 'q')"),
            ("ALTER TABLE t ADD PARTITION (p = 'q')", "INSERT INTO t VALUES (3, 'q')"),
            ("INSERT INTO t VALUES (3, 'q')", "ALTER TABLE t ADD IF NOT EXISTS PARTITION (p = 'q')"),
            ("ALTER TABLE t PARTITION (p = 'a') RENAME TO PARTITION (p = 'q')", "INSERT INTO t VALUES (3, 'q')"),
            ("ALTER TABLE t PARTITION (p = 'a') RENAME TO PARTITION (p = 'q')", "INSERT INTO t VALUES (3, 'a')"),
            ("TRUNCATE TABLE t PARTITION (p = 'a')", "INSERT INTO t VALUES (3, 'a')"),
            ("INSERT INTO u VALUES (1)", "INSERT OVERWRITE u VALUES (1)"),
        ],
    )
    def test_changes_of_one_partition_have_their_order(self, two: Two, first: str, second: str) -> None:
        run(two.one, "START TRANSACTION", first, second)
        before = sorted(rows(two.one, T)), rows(two.one, U), rows(two.one, "SHOW PARTITIONS t")
        run(two.one, "COMMIT")
        expected = sorted(rows(two.other, T)), rows(two.other, U), rows(two.other, "SHOW PARTITIONS t")
        assert before == expected
        run(two.other, "DROP TABLE t", "DROP TABLE u")
        run(two.other, "CREATE TABLE t (x INT) PARTITIONED BY (p STRING)", "CREATE TABLE u (x INT)")
        run(two.other, "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "INSERT INTO u VALUES (10)", first, second)
        assert (sorted(rows(two.other, T)), rows(two.other, U), rows(two.other, "SHOW PARTITIONS t")) == expected

    def test_the_files_of_replaced_rows_are_removed(self, two: Two) -> None:
        run(two.one, "START TRANSACTION", "INSERT INTO t VALUES (3, 'q')")
        run(two.one, "INSERT OVERWRITE t PARTITION (p = 'q') VALUES (4)", "COMMIT")
        snapshot = two.other.catalog.snapshot()
        referred = {file.path for name in "tu" for _, file in snapshot.files(snapshot.table(name))}
        assert {str(path) for path in two.warehouse.rglob("*.parquet")} == referred

    @on_sqlite
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("ALTER TABLE t DROP PARTITION (p = 'a')", "INSERT INTO t VALUES (3, 'b'), (4, 'c')"),
            ("INSERT OVERWRITE t VALUES (3, 'a')", "INSERT INTO t VALUES (3, 'b'), (4, 'c')"),
            ("INSERT INTO t VALUES (3, 'a')", "INSERT INTO t VALUES (4, 'a'), (5, 'c')"),
            ("TRUNCATE TABLE t PARTITION (p = 'a')", "ALTER TABLE t ADD PARTITION (p = 'c')"),
        ],
    )
    def test_other_partitions_of_one_table(self, two: Two, first: str, second: str) -> None:
        run(two.one, "CREATE TABLE one (x INT) PARTITIONED BY (p STRING)", "INSERT INTO one VALUES (1, 'a'), (2, 'b')")
        run(two.one, *(statement.replace(" t ", " one ") for statement in (first, second)))
        run(two.one, "START TRANSACTION", first, second, "COMMIT")
        assert rows(two.one, T) == rows(two.one, "SELECT x, p FROM one")
        assert rows(two.one, "SHOW PARTITIONS t") == rows(two.one, "SHOW PARTITIONS one")


class TestWhatIsNoPart:
    OTHERS: tuple[str, ...] = (
        "ANALYZE TABLE t COMPUTE STATISTICS",
        "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')",
        "ALTER TABLE t ADD COLUMNS (y INT)",
        "ALTER TABLE t RENAME TO other",
        "MSCK REPAIR TABLE outside",
        "ALTER TABLE outside SET LOCATION '/tmp/elsewhere'",
        "CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
        "CREATE DATABASE d",
        "CREATE TEMPORARY TABLE temporary (x INT)",
        "INSERT INTO outside VALUES (1, 'a')",
        "ALTER TABLE outside PARTITION (p = 'q') RENAME TO PARTITION (p = 'r')",
    )

    @on_sqlite
    def test_it_is_refused_and_the_transaction_stays_open(self, two: Two, tmp_path: Path) -> None:
        run(two.one, f"CREATE EXTERNAL TABLE outside (x INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/outside'")
        run(two.one, "INSERT INTO outside VALUES (1, 'q')", "START TRANSACTION", "INSERT INTO u VALUES (3)")
        before = {path for path in (tmp_path / "outside").rglob("*") if not path.name.startswith(".rewriter-staging")}
        events = two.one.catalog.events()
        for statement in self.OTHERS:
            refused = error(two.one, statement)
            assert isinstance(refused, NotSupportedError)
            assert (refused.condition, refused.sqlstate) == ("NOT_IN_TRANSACTION", "25001"), statement
        assert set((tmp_path / "outside").rglob("*")) == before
        assert two.one.catalog.events() == events
        assert rows(two.one, "SELECT x FROM outside") == [(1,)]
        run(two.one, "SET rewriter.partial_data = true", "COMMIT")
        assert rows(two.other, U) == [(3,), (10,)]

    @on_sqlite
    def test_partitions_of_an_external_table_are_added_and_read(self, two: Two, tmp_path: Path) -> None:
        run(two.one, f"CREATE EXTERNAL TABLE outside (x INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/outside'")
        run(two.one, "INSERT INTO outside VALUES (1, 'a'), (2, 'b')", "ALTER TABLE outside DROP PARTITION (p = 'b')")
        run(two.one, "START TRANSACTION", "ALTER TABLE outside ADD PARTITION (p = 'b')")
        for part in ("c", "d", "e"):
            run(two.other, f"ALTER TABLE outside ADD PARTITION (p = '{part}')")
        assert rows(two.one, "SELECT * FROM outside") == [(1, "a"), (2, "b")]
        assert error(two.one, "ALTER TABLE outside DROP PARTITION (p = 'b')").condition == "CHANGED_IN_TRANSACTION"
        run(two.one, "ALTER TABLE outside DROP PARTITION (p = 'a')", "COMMIT")
        assert rows(two.other, "SHOW PARTITIONS outside") == [("p=b",), ("p=c",), ("p=d",), ("p=e",)]

    @on_sqlite
    def test_transactions_do_not_nest(self, two: Two) -> None:
        for statement in ("COMMIT", "ROLLBACK WORK"):
            refused = error(two.one, statement)
            assert (refused.condition, refused.sqlstate) == ("NO_OPEN_TRANSACTION", "25P01")
        run(two.one, "BEGIN TRANSACTION", "INSERT INTO u VALUES (3)")
        refused = error(two.one, "START TRANSACTION")
        assert (refused.condition, refused.sqlstate) == ("TRANSACTION_ALREADY_OPEN", "25001")
        run(two.one, "COMMIT WORK")
        assert rows(two.other, U) == [(3,), (10,)]


class TestTheEnd:
    def test_one_that_others_took_for_dead_cannot_commit(self, two: Two) -> None:
        files = two.files()
        run(two.one, "START TRANSACTION", "INSERT INTO u VALUES (3)")
        assert two.other.catalog.abort_dead(-1.0) == 1
        refused = error(two.one, "INSERT INTO u VALUES (4)")
        assert (refused.condition, refused.sqlstate) == ("TRANSACTION_NOT_OPEN", "40001")
        assert rows(two.one, T) == [(1, "a"), (2, "b")]
        assert error(two.one, "COMMIT").condition == "TRANSACTION_NOT_OPEN"
        assert two.files() == files
        assert rows(two.other, U) == [(10,)]
        run(two.one, "INSERT INTO u VALUES (5)")

    def test_a_session_that_thinks_lives(self, two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
        beats: list[int] = []
        beat = Transaction.heartbeat

        def counted(self: Transaction) -> None:
            beat(self)
            beats.append(self.id)

        monkeypatch.setattr(heartbeat, "_HEARTBEAT_SECONDS", 0.02)
        monkeypatch.setattr(Transaction, "heartbeat", counted)
        run(two.one, "START TRANSACTION", "INSERT INTO u VALUES (3)")
        seen = len(beats)
        for _ in range(500):
            if len(beats) > seen + 2:
                break
            time.sleep(0.02)
        assert len(beats) > seen + 2
        assert two.other.catalog.abort_dead(5.0) == 0
        run(two.one, "COMMIT")
        ended = len(beats)
        time.sleep(0.1)
        assert len(beats) == ended

    @on_sqlite
    @pytest.mark.parametrize("failure", [CommitUnknownError("nobody knows"), KeyboardInterrupt()])
    def test_files_stay_where_the_commit_may_have_come_to_pass(
        self, two: Two, monkeypatch: pytest.MonkeyPatch, failure: BaseException
    ) -> None:
        commit = Transaction.commit

        def lost(self: Transaction, *given: Any, **named: Any) -> int:
            commit(self, *given, **named)
            raise failure

        run(two.one, "START TRANSACTION", "INSERT INTO u VALUES (3)", "INSERT INTO t VALUES (3, 'c')")
        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "commit", lost)
            with pytest.raises(type(failure)):
                two.one.execute("COMMIT")
        assert not two.one.in_transaction
        assert rows(two.one, U) == [(3,), (10,)]
        assert (3, "c") in rows(two.one, T)

    @on_sqlite
    def test_a_commit_that_the_database_refuses_leaves_nothing(self, two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
        files = two.files()

        def failing(*_: Any, **__: Any) -> int:
            raise OperationalError("the disk is full")

        run(two.one, "START TRANSACTION", "INSERT INTO u VALUES (3)", "CREATE TABLE made AS SELECT 1 AS one")
        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "commit", failing)
            assert error(two.one, "COMMIT").message == "the disk is full"
        assert two.files() == files
        assert not two.one.catalog.snapshot().transactions.open
        assert rows(two.one, U) == [(10,)]


def test_of_a_connection(tmp_path: Path) -> None:
    """PEP 249: ``commit`` and ``rollback`` end what START TRANSACTION began; ``close`` rolls back."""
    count = "SELECT COUNT(*) FROM t"
    with dbapi.connect(tmp_path, engine="duckdb") as second:
        connection = dbapi.connect(tmp_path, engine="duckdb")
        connection.execute("CREATE TABLE t (x INT)")
        for end, expected in ((connection.commit, 2), (connection.rollback, 2), (connection.close, 2)):
            connection.execute("START TRANSACTION")
            connection.cursor().executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
            end()
            assert second.execute(count).fetchall() == [(expected,)]
            if end == connection.commit:
                connection.commit()
                connection.rollback()


def test_rollback_removes_only_what_the_transaction_wrote(two: Two, tmp_path: Path) -> None:
    """The directory of a table may hold what somebody else has put there: another catalog that counts as this one."""
    run(
        two.one,
        "START TRANSACTION",
        "CREATE TABLE made AS SELECT 1 AS x",
        "CREATE TABLE empty AS SELECT 1 AS x WHERE false",
    )
    (directory,) = tmp_path.glob("made-*")
    (directory / "theirs").write_text("rows")
    run(two.one, "ROLLBACK")
    assert [path.name for path in directory.iterdir()] == ["theirs"]
    assert list(tmp_path.glob("empty-*")) == []


def test_show_cache_reads_memory_and_may_stand_in_a_transaction(tmp_path: Path) -> None:
    with Session(tmp_path, "duckdb", settings={"rewriter.cache_bytes": 1 << 20}) as session:
        session.execute("CREATE TABLE t (x INT)")
        session.execute("START TRANSACTION")
        rows = session.execute("SHOW CACHE").rows()
        assert next(iter(rows))[:2] == ("capacity_bytes", 1 << 20)
        session.execute("ROLLBACK")
