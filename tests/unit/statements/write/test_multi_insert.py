"""FROM source INSERT … INSERT …: one source, several targets, one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from results import named_rows

from rewriter.catalog import Transaction
from rewriter.errors import CommitUnknownError, ConflictError, Error, NotSupportedError, OperationalError
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement)


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def error(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        session.execute(sql)
    return caught.value


def left_behind(folder: Path) -> set[str]:
    """Returns the files and the directories of writes below a folder, except for the catalog's."""
    paths = [path for path in folder.rglob("*") if path.is_file() or "=" in path.name or path.name.startswith(".")]
    own = ("catalog.db", "warehouse.json")
    return {str(path.relative_to(folder)) for path in paths if not path.name.startswith(own)}


SOURCE = (
    "CREATE TABLE raw (user STRING, amount INT, day STRING)",
    "CREATE TABLE a (user STRING, amount INT) PARTITIONED BY (day STRING)",
    "CREATE TABLE b (n BIGINT, amount BIGINT) PARTITIONED BY (day STRING)",
    "INSERT INTO raw VALUES ('ann', 1, 'd1'), ('bob', 2, 'd1'), ('eve', 3, 'd2')",
)


@pytest.fixture
def tables(session: Session) -> None:
    run(session, *SOURCE)


@pytest.mark.usefixtures("tables")
class TestAllOrNothing:
    BOTH = "FROM raw INSERT INTO a SELECT * INSERT INTO b SELECT COUNT(*), SUM(amount), day GROUP BY day"

    def test_result(self, session: Session) -> None:
        result = session.execute(self.BOTH)
        assert (result.rowcount, result.stats.written_partitions) == (5, 4)
        assert rows(session, "SELECT * FROM b ORDER BY day") == [(2, 3, "d1"), (1, 3, "d2")]
        commits = {event.sequence for event in session.catalog.events() if event.kind == "INSERT"}
        assert len(commits) >= 2

    @pytest.mark.parametrize(
        "second",
        [
            "INSERT INTO b SELECT 1, CAST(user AS BIGINT), day",
            "INSERT INTO b PARTITION (day='x') SELECT 1, 2 / (amount - 3)",
        ],
    )
    def test_the_second_fails_in_the_middle_of_its_work(self, session: Session, tmp_path: Path, second: str) -> None:
        before = left_behind(tmp_path)
        error(session, f"FROM raw INSERT OVERWRITE a PARTITION (day='x') SELECT user, amount {second}")
        error(session, f"FROM (SELECT DISTINCT * FROM raw) r INSERT INTO a SELECT user, amount, day {second}")
        assert rows(session, "SHOW PARTITIONS a") == rows(session, "SHOW PARTITIONS b") == []
        assert left_behind(tmp_path) == before

    def test_too_many_partitions_in_the_second(self, session: Session, tmp_path: Path) -> None:
        before = left_behind(tmp_path)
        session.execute("SET rewriter.max_dynamic_partitions = 2")
        sql = "FROM raw INSERT INTO a PARTITION (day='x') SELECT user, amount INSERT INTO b SELECT 1, 1, user"
        caught = error(session, sql)
        assert (caught.condition, caught.position is not None) == ("TOO_MANY_DYNAMIC_PARTITIONS", True)
        assert left_behind(tmp_path) == before

    def test_a_commit_that_fails(self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = left_behind(tmp_path)

        def failing(*_: object) -> int:
            raise OperationalError("the disk is full")

        monkeypatch.setattr(Transaction, "commit", failing)
        assert "disk" in error(session, self.BOTH).message
        assert left_behind(tmp_path) == before

    def test_a_commit_that_may_have_come_to_pass(
        self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lost(transaction: Transaction, *arguments: object) -> int:
            commit(transaction, *arguments)  # type: ignore[arg-type]
            raise CommitUnknownError("nobody knows")

        commit = Transaction.commit
        monkeypatch.setattr(Transaction, "commit", lost)
        error(session, self.BOTH)
        monkeypatch.undo()
        assert rows(session, "SELECT COUNT(*) FROM a") == [(3,)]

    def test_intos_run_again_after_a_conflict_and_overwrites_do_not(
        self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commit, met = Transaction.commit, []

        def once(transaction: Transaction, *arguments: object) -> int:
            if not met:
                met.append(transaction)
                with Session(tmp_path / "warehouse", "duckdb") as second:
                    second.execute("INSERT OVERWRITE b PARTITION (day='d1') VALUES (7, 7)")
            return commit(transaction, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(Transaction, "commit", once)
        session.execute(self.BOTH)
        assert rows(session, "SELECT n FROM b WHERE day = 'd1' ORDER BY n") == [(2,), (7,)]
        assert rows(session, "SELECT COUNT(*) FROM a") == [(3,)]
        met.clear()
        sql = "FROM raw INSERT OVERWRITE a SELECT user, 0, day INSERT OVERWRITE b PARTITION (day='d1') SELECT 8, 8"
        with pytest.raises(ConflictError):
            session.execute(sql)
        assert rows(session, "SELECT DISTINCT amount > 0 FROM a") == [(True,)]

    def test_if_not_exists_leaves_its_target_alone(self, session: Session) -> None:
        session.execute("INSERT INTO a PARTITION (day='x') VALUES ('old', 0)")
        session.execute(
            "FROM raw INSERT OVERWRITE a PARTITION (day='x') IF NOT EXISTS SELECT user, amount "
            "INSERT OVERWRITE b PARTITION (day='x') IF NOT EXISTS SELECT amount, amount WHERE amount > 2"
        )
        assert rows(session, "SELECT user FROM a") == [("old",)]
        assert rows(session, "SELECT n FROM b") == [(3,)]

    def test_empty_inserts(self, session: Session) -> None:
        session.execute(
            "FROM raw INSERT INTO a PARTITION (day='x') SELECT user, 1 WHERE false "
            "INSERT INTO a PARTITION (day='x') SELECT user, 2 WHERE false INSERT INTO b SELECT 1, 1, day WHERE false"
        )
        assert rows(session, "SHOW PARTITIONS a") == [("day=x",)]
        assert rows(session, "SHOW PARTITIONS b") == []

    def test_parameters(self, session: Session) -> None:
        sql = "FROM raw INSERT INTO a SELECT user, amount, :day INSERT INTO b SELECT 1, :amount, :day"
        session.execute(sql, {"day": "p", "amount": 5})
        assert rows(session, "SELECT DISTINCT amount, day FROM b") == [(5, "p")]
        session.execute("FROM (SELECT DISTINCT user, ? AS n FROM raw) r INSERT INTO a SELECT user, n, ?", [4, "q"])
        assert rows(session, "SELECT DISTINCT amount, day FROM a WHERE day = 'q'") == [(4, "q")]

    def test_an_unpartitioned_target(self, session: Session) -> None:
        session.execute("CREATE TABLE u (user STRING)")
        session.execute("FROM raw INSERT INTO u SELECT user INSERT INTO u SELECT day")
        assert rows(session, "SELECT COUNT(*), COUNT(DISTINCT user) FROM u") == [(6, 5)]
        sql = "FROM u INSERT OVERWRITE u SELECT user INSERT INTO u SELECT user"
        caught = error(session, sql)
        assert (caught.condition, caught.object) == ("CONFLICTING_INSERTS", "u")


@pytest.mark.usefixtures("tables")
class TestSource:
    """A source that may return other rows the next time is computed once. Its rows are in no directory afterwards."""

    def test_a_table_is_read_by_each_insert_as_far_as_it_needs(self, session: Session) -> None:
        session.execute("INSERT INTO a SELECT * FROM raw")
        result = session.execute(
            "FROM a INSERT INTO b SELECT 1, amount, 'x' WHERE day = 'd1' INSERT INTO b SELECT 1, "
            "amount, 'y' WHERE day = 'd2'"
        )
        assert [scan.partitions for scan in result.stats.scans] == [1, 1]

    @pytest.mark.parametrize(
        "source",
        [
            "(SELECT day, MAX(user) AS user, SUM(amount) AS amount FROM raw GROUP BY day) AS s",
            "(SELECT DISTINCT * FROM raw) s",
            "(SELECT * FROM raw LIMIT 2) s",
            "(SELECT *, row_number() OVER (ORDER BY day) AS n FROM raw) s",
            "(SELECT * FROM raw UNION ALL SELECT * FROM raw) s",
            "twice",
            "twice AS s",
            "default.twice s",
        ],
    )
    def test_computed_once(self, session: Session, tmp_path: Path, source: str) -> None:
        session.execute("CREATE VIEW twice AS SELECT user, MAX(amount) AS amount, day FROM raw GROUP BY user, day")
        result = session.execute(
            f"FROM {source} INSERT INTO b SELECT 1, amount, 'x' INSERT INTO b SELECT 2, amount, 'y'"
        )
        assert len(result.stats.scans) == 1
        x, y = (rows(session, f"SELECT amount FROM b WHERE day = '{day}' ORDER BY amount") for day in "xy")
        assert x == y != []
        assert not [name for name in left_behind(tmp_path) if "source" in name]

    @pytest.mark.parametrize(
        "source",
        ["raw", "raw AS s", "raw s JOIN a ON s.user = a.user", "(SELECT * FROM raw WHERE amount > 1) s", "plain",
         "(VALUES ('x', 1, 'd')) AS raw(user, amount, day)"],
    )  # fmt: skip
    def test_read_by_each(self, session: Session, source: str) -> None:
        session.execute("CREATE VIEW plain AS SELECT user, amount + 1 AS amount, day FROM raw")
        session.execute("INSERT INTO a SELECT * FROM raw")
        tables_read = 0 if "VALUES" in source else 2 if "JOIN" in source else 1
        column = "s.amount" if "JOIN" in source else "amount"
        result = session.execute(
            f"FROM {source} INSERT INTO b SELECT 1, {column}, 'x' INSERT INTO b SELECT 2, {column}, 'y'"
        )
        assert len(result.stats.scans) == 2 * tables_read

    def test_cte(self, session: Session) -> None:
        session.execute(
            "WITH some AS (SELECT user FROM raw WHERE amount < 3), days AS (SELECT day, COUNT(*) AS "
            "n FROM raw GROUP BY day) "
            "FROM days INSERT INTO b SELECT n, 0, day WHERE EXISTS (SELECT 1 FROM some) INSERT INTO "
            "a SELECT day, n, 'x'"
        )
        assert rows(session, "SELECT n, day FROM b ORDER BY day") == [(2, "d1"), (1, "d2")]
        assert rows(session, "SELECT user, amount FROM a ORDER BY user") == [("d1", 2), ("d2", 1)]

    def test_no_rows(self, session: Session) -> None:
        result = session.execute(
            "FROM (SELECT day, MIN(amount) AS m, CAST(1.5 AS DECIMAL(5,2)) AS d, DATE '2020-01-01' AS at FROM raw "
            "WHERE amount > 9 GROUP BY day) s INSERT INTO b SELECT 1, m, day INSERT INTO a PARTITION "
            "(day='x') SELECT day, m"
        )
        assert result.rowcount == 0
        assert rows(session, "SHOW PARTITIONS a") == [("day=x",)]

    @pytest.mark.parametrize(
        ("source", "condition"),
        [
            ("(SELECT DISTINCT day FROM raw) d JOIN raw ON d.day = raw.day", "SOURCE_NOT_REPEATABLE"),
            ("raw JOIN a ON raw.day = a.day AND uuid() > 'x'", "SOURCE_NOT_REPEATABLE"),
            ("(SELECT NULL AS x, day FROM raw LIMIT 1) d", "UNSUPPORTED_DATATYPE"),
            ("(SELECT day, DAY FROM raw LIMIT 1) d", "COLUMN_ALREADY_EXISTS"),
            ("(SELECT day FROM raw) TABLESAMPLE (10 PERCENT)", "SOURCE_NOT_REPEATABLE"),
            ("raw TABLESAMPLE (10 PERCENT) CROSS JOIN a", "SOURCE_NOT_REPEATABLE"),
            ("nosuch", "TABLE_OR_VIEW_NOT_FOUND"),
        ],
    )
    def test_refused(self, session: Session, tmp_path: Path, source: str, condition: str) -> None:
        before = left_behind(tmp_path)
        caught = error(session, f"FROM {source} INSERT INTO b SELECT 1, 1, 'x' INSERT INTO b SELECT 2, 2, 'y'")
        assert caught.condition == condition
        assert caught.position is not None
        assert caught.hint
        assert left_behind(tmp_path) == before


FACT = (
    "CREATE TABLE hours (carrier STRING, flights BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE days (carrier STRING, flights BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE months (carrier STRING, flights BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE report (carrier STRING, flights BIGINT) PARTITIONED BY (what STRING)",
    "CREATE CUBE flights (carrier STRING, flights BIGINT MEASURE COUNT, departed TIMESTAMP TIME)",
    """CREATE FACT f OF CUBE flights STORED IN (
         TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH'),
         TABLE days PERIOD DAILY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd'),
         TABLE months PERIOD MONTHLY PARTITIONED BY departed AS (dt = 'yyyy-MM'))""",
    "INSERT INTO hours VALUES ('UA', 2, '2013-01-01-05'), ('AA', 1, '2013-01-01-06'), ('AA', 5, '2013-01-02-00')",
    "ALTER FACT f MARK COMPLETE FROM '2013-01-01' TO '2013-02-01'",
)


class TestCubes:
    @pytest.fixture(autouse=True)
    def fact(self, session: Session) -> None:
        run(session, *FACT)

    def fresh(self, session: Session) -> list[tuple[object, ...]]:
        """Returns the days and months that queries may read, from SHOW TIMELINES."""
        shown = named_rows(session.execute("SHOW TIMELINES OF f"))
        return [(row["period"], row["partitions"]) for row in shown if row["period"] != "HOURLY"]

    def test_rollups_are_fresh_as_from_single_inserts(self, session: Session) -> None:
        session.execute(
            "FROM hours INSERT OVERWRITE days SELECT carrier, SUM(flights), substring(dt, 1, 10) GROUP BY carrier, dt "
            "INSERT OVERWRITE months SELECT carrier, SUM(flights), substring(dt, 1, 7) GROUP BY "
            "carrier, substring(dt, 1, 7)"
        )
        assert self.fresh(session) == [("DAILY", 2), ("MONTHLY", 1)]

    def test_each_target_is_judged_by_what_its_own_insert_has_read(self, session: Session) -> None:
        session.execute(
            "FROM hours INSERT OVERWRITE days SELECT carrier, SUM(flights), substring(dt, 1, 10) GROUP BY carrier, dt "
            "INSERT OVERWRITE months SELECT carrier, SUM(flights), '2013-01' WHERE dt = "
            "'2013-01-01-05' GROUP BY carrier"
        )
        assert self.fresh(session) == [("DAILY", 2), ("MONTHLY", 0)]

    def test_a_source_that_is_computed_once_proves_the_same(self, session: Session) -> None:
        session.execute(
            "FROM (SELECT carrier, substring(dt, 1, 10) AS day, SUM(flights) AS n FROM hours GROUP BY 1, 2) s "
            "INSERT OVERWRITE days SELECT carrier, n, day "
            "INSERT OVERWRITE months SELECT carrier, SUM(n), substring(day, 1, 7) GROUP BY carrier, "
            "substring(day, 1, 7)"
        )
        assert self.fresh(session) == [("DAILY", 2), ("MONTHLY", 1)]
        assert rows(session, "SELECT carrier, flights FROM months ORDER BY carrier") == [("AA", 6), ("UA", 2)]

    def test_two_intos_into_one_rollup_partition_prove_nothing(self, session: Session) -> None:
        session.execute(
            "FROM hours INSERT INTO days PARTITION (dt='2013-01-01') SELECT carrier, flights WHERE "
            "dt = '2013-01-01-05' "
            "INSERT INTO days PARTITION (dt='2013-01-01') SELECT carrier, flights WHERE dt = '2013-01-01-06' "
            "INSERT INTO days PARTITION (dt='2013-01-02') SELECT carrier, flights WHERE dt LIKE '2013-01-02%'"
        )
        assert self.fresh(session)[0] == ("DAILY", 1)

    def test_a_rollup_beside_its_base_is_outdated(self, session: Session) -> None:
        session.execute(
            "FROM report INSERT OVERWRITE hours PARTITION (dt='2013-01-01-05') SELECT 'ZZ', 1 "
            "INSERT OVERWRITE days PARTITION (dt='2013-01-01') SELECT 'ZZ', 1"
        )
        assert self.fresh(session)[0] == ("DAILY", 0)

    def test_a_cube_is_planned_into_each_insert(self, session: Session) -> None:
        where = "departed >= '2013-01-01 05:00' AND departed < '2013-01-01 07:00'"
        result = session.execute(
            f"FROM flights INSERT INTO report PARTITION (what='day') SELECT carrier, COUNT(*) WHERE "
            f"{where} GROUP BY carrier "
            f"INSERT INTO report PARTITION (what='all') SELECT 'all', COUNT(*) WHERE {where} AND carrier <> 'x'"
        )
        assert len(result.coverage.references) == 2
        assert rows(session, "SELECT carrier, flights FROM report ORDER BY 1") == [("AA", 1), ("UA", 2), ("all", 3)]

    @pytest.mark.parametrize("source", ["flights", "(SELECT carrier, departed FROM flights) s"])
    def test_rows_of_a_cube_count_events_in_each_insert(self, session: Session, source: str) -> None:
        where = "departed >= '2013-01-01 05:00' AND departed < '2013-01-01 07:00'"
        session.execute(
            f"FROM {source} INSERT INTO report PARTITION (what='a') SELECT 'all', COUNT(*) WHERE {where} "
            f"INSERT INTO report PARTITION (what='b') SELECT carrier, COUNT(*) WHERE {where} GROUP BY carrier"
        )
        assert rows(session, "SELECT SUM(flights), what FROM report GROUP BY what ORDER BY what") == [
            (3, "a"),
            (3, "b"),
        ]

    def test_an_aggregated_cube_is_computed_once(self, session: Session) -> None:
        result = session.execute(
            "FROM (SELECT carrier, COUNT(*) AS n FROM flights WHERE departed >= '2013-01-01 05:00' "
            "AND departed < '2013-01-01 07:00' "
            "GROUP BY carrier) s INSERT INTO report PARTITION (what='n') SELECT carrier, n "
            "INSERT INTO report PARTITION (what='rows') SELECT 'rows', COUNT(*)"
        )
        assert len(result.stats.scans) == 1
        assert rows(session, "SELECT carrier, flights FROM report ORDER BY 1") == [("AA", 1), ("UA", 2), ("rows", 2)]

    @pytest.mark.parametrize(
        ("source", "condition"),
        [
            ("(SELECT carrier, uuid() AS id, departed FROM flights) s", "AMBIGUOUS_COUNT"),
            (
                "flights s JOIN (SELECT DISTINCT carrier FROM report) r ON s.carrier = r.carrier",
                "SOURCE_NOT_REPEATABLE",
            ),
        ],
    )
    def test_rows_of_a_cube_are_not_computed_once_to_be_counted(
        self, session: Session, source: str, condition: str
    ) -> None:
        caught = error(
            session,
            f"FROM {source} INSERT INTO report PARTITION (what='a') SELECT s.carrier, COUNT(*) GROUP BY s.carrier "
            "INSERT INTO report PARTITION (what='b') SELECT s.carrier, COUNT(*) GROUP BY s.carrier",
        )
        assert isinstance(caught, NotSupportedError)
        assert (caught.condition, caught.position is not None) == (condition, True)

    def test_a_cube_joined_behind_from(self, session: Session) -> None:
        run(
            session,
            "CREATE TABLE names (carrier STRING, name STRING)",
            "INSERT INTO names VALUES ('UA', 'United'), ('ZZ', 'z')",
        )
        body = "departed >= '2013-01-01 05:00' AND departed < '2013-01-01 07:00'"
        session.execute(
            f"FROM names n LEFT JOIN flights f ON n.carrier = f.carrier AND f.{body.replace('AND d', 'AND f.d')} "
            "INSERT INTO report PARTITION (what='a') SELECT n.name, SUM(f.flights) GROUP BY n.name "
            f"INSERT INTO report PARTITION (what='b') SELECT n.name, COUNT(*) WHERE {body} GROUP BY n.name"
        )
        assert rows(session, "SELECT * FROM report ORDER BY what, carrier") == [
            ("United", 2, "a"), ("z", None, "a"), ("United", 2, "b"),
        ]  # fmt: skip

    def test_a_partial_answer_goes_into_no_rollup(self, session: Session) -> None:
        run(session, "ALTER TABLE hours DROP PARTITION (dt = '2013-01-01-07')", "SET rewriter.partial_data = true")
        body = "SELECT carrier, COUNT(*) WHERE departed >= '2013-01-01' AND departed < '2013-01-02' GROUP BY carrier"
        caught = error(
            session,
            f"FROM flights INSERT INTO report PARTITION (what='a') {body} "
            f"INSERT INTO days PARTITION (dt='2013-01-01') {body}",
        )
        assert caught.condition == "PARTIAL_ROLLUP"
        assert rows(session, "SHOW PARTITIONS report") == []
