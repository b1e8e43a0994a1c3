"""Tables on several clusters, through a session: where they lie, what runs where, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.model.changes import Batch
from rewriter.catalog.storage import file_copies
from rewriter.errors import ConflictError, Error, IntegrityError, NotSupportedError, OperationalError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.runtime.statement_context import Context
from rewriter.session import Session
from rewriter.statements.write import insert


def clusters(tmp_path: Path, **more: dict[str, object]) -> str:
    both = {name: {"filesystem": str(tmp_path / name), "engine": "duckdb"} for name in ("c1", "c2")}
    return json.dumps({**both, **more})


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb, settings={"hive.cluster.properties": clusters(tmp_path)}) as opened:
        opened.execute("CREATE TABLE t (x INT) PARTITIONED BY (p INT) ON CLUSTER c1")
        opened.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
        opened.execute("CREATE TABLE other (y INT) ON CLUSTER c2")
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def refused(session: Session, sql: str) -> str | None:
    with pytest.raises(Error) as caught:
        session.execute(sql).fetch()
    assert caught.value.hint
    return caught.value.condition


def runs_on(session: Session, sql: str) -> str | None:
    result = session.execute(sql)
    result.fetch()
    return result.cluster


class TestDefinition:
    def test_a_table_lies_below_the_root_of_its_cluster(self, session: Session, tmp_path: Path) -> None:
        table = session.snapshot().table("t")
        identity = session.catalog.identity[:12]
        assert table.location == f"{tmp_path}/c1/{identity}/t-{table.id}"
        assert table.cluster == "c1"

    def test_databases_have_directories_there(self, session: Session, tmp_path: Path) -> None:
        session.execute("CREATE DATABASE d")
        session.execute("CREATE TABLE d.u (x INT) ON CLUSTER C2")
        table = session.snapshot().table("d.u")
        assert table.location == f"{tmp_path}/c2/{session.catalog.identity[:12]}/d.db/u-{table.id}"
        assert table.cluster == "c2"

    def test_a_plain_table_is_on_the_chosen_or_the_default_cluster(self, session: Session) -> None:
        session.execute("CREATE TABLE a (x INT)")
        session.execute("USE CLUSTER c2")
        session.execute("CREATE TABLE b (x INT)")
        assert [session.snapshot().table(name).cluster for name in "ab"] == ["c1", "c2"]

    def test_a_table_of_a_query_is_where_the_query_ran(self, session: Session) -> None:
        session.execute("CREATE TABLE a AS SELECT * FROM other")
        session.execute("CREATE TABLE b AS SELECT 1 AS x")
        assert [session.snapshot().table(name).cluster for name in "ab"] == ["c2", "c1"]

    def test_on_cluster_requires_the_cluster_of_the_query(self, session: Session) -> None:
        assert refused(session, "CREATE TABLE a ON CLUSTER c2 AS SELECT * FROM t") == "CLUSTER_LACKS_PARTITIONS"
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("CREATE TABLE a ON CLUSTER c2 AS SELECT * FROM t")
        assert session.snapshot().table("a").cluster == "c2"
        assert rows(session, "SELECT count(*) FROM a") == [(3,)]

    def test_like_and_replace(self, session: Session) -> None:
        session.execute("CREATE TABLE a LIKE t ON CLUSTER c2")
        session.execute("CREATE OR REPLACE TABLE other (z INT) ON CLUSTER c1")
        assert [session.snapshot().table(name).cluster for name in ("a", "other")] == ["c2", "c1"]

    def test_an_unknown_cluster_is_refused_at_its_name(self, session: Session) -> None:
        with pytest.raises(Error) as caught:
            session.execute("CREATE TABLE a (x INT) ON CLUSTER c3")
        assert caught.value.condition == "CLUSTER_NOT_FOUND"
        assert caught.value.position is not None
        assert caught.value.position.start == 34
        assert refused(session, "CREATE TEMPORARY TABLE a (x INT) ON CLUSTER c1") == "UNSUPPORTED"

    def test_without_clusters_on_cluster_is_an_error(self, tmp_path: Path, duckdb: DuckDBEngine) -> None:
        with Session(tmp_path / "v", duckdb) as plain:
            assert refused(plain, "CREATE TABLE a (x INT) ON CLUSTER c1") == "CLUSTER_NOT_FOUND"
            plain.execute("CREATE TABLE a (x INT)")
            assert plain.snapshot().table("a").cluster is None

    def test_tables_from_before_clusters_belong_to_the_default_one(self, tmp_path: Path, duckdb: DuckDBEngine) -> None:
        with Session(tmp_path / "v", duckdb) as plain:
            plain.execute("CREATE TABLE old (x INT)")
            plain.execute("INSERT INTO old VALUES (1)")
        with Session(tmp_path / "v", duckdb, settings={"hive.cluster.properties": clusters(tmp_path)}) as later:
            assert runs_on(later, "SELECT * FROM old") == "c1"
            later.execute("SET hive.default.cluster.name = c2")
            assert runs_on(later, "SELECT * FROM old") == "c2"
            later.execute("INSERT INTO old VALUES (2)")
            assert rows(later, "SELECT sum(x) FROM old") == [(3,)]

    def test_a_cluster_that_is_not_defined_any_more(self, session: Session, tmp_path: Path) -> None:
        one = json.dumps({"c2": {"filesystem": str(tmp_path / "c2"), "engine": "duckdb"}})
        session.execute(f"SET hive.cluster.properties = '{one}'")
        assert refused(session, "SELECT * FROM t") == "CLUSTER_NOT_FOUND"
        assert refused(session, "INSERT INTO t VALUES (1, 1)") == "CLUSTER_NOT_FOUND"
        assert rows(session, "SHOW PARTITIONS t") == [("p=1",), ("p=2",), ("p=3",)]


class TestReading:
    def test_queries_without_tables_run_on_the_own_engine(self, session: Session) -> None:
        assert runs_on(session, "SELECT 1") is None
        session.execute("USE CLUSTER c2")
        assert runs_on(session, "SELECT 1") == "c2"

    def test_temporary_tables_and_system_tables_are_everywhere(self, session: Session) -> None:
        session.execute("CREATE TEMPORARY TABLE tmp (x INT)")
        session.execute("INSERT INTO tmp VALUES (1)")
        session.execute("CREATE TEMPORARY VIEW v AS SELECT * FROM other")
        assert runs_on(session, "SELECT * FROM tmp JOIN other") == "c2"
        assert runs_on(session, "SELECT * FROM tmp JOIN t") == "c1"
        assert runs_on(session, "SELECT * FROM v") == "c2"
        session.execute("USE CLUSTER c2")
        session.execute("INSERT INTO tmp SELECT y FROM other")
        assert rows(session, "SELECT count(*) FROM system.timelines") == [(0,)]

    def test_the_default_cluster_comes_first_if_that_is_set(self, session: Session) -> None:
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        assert runs_on(session, "SELECT * FROM t") == "c1"
        session.execute("SET hive.default.cluster.name = c2")
        assert runs_on(session, "SELECT * FROM t") == "c1"
        session.execute("SET hive.use.default.cluster = true")
        assert runs_on(session, "SELECT * FROM t") == "c2"

    def test_only_the_needed_partitions_count(self, session: Session) -> None:
        session.execute("REPLICATE TABLE t PARTITION (p = 2) TO CLUSTER c2")
        session.execute("INSERT INTO other VALUES (9)")
        assert rows(session, "SELECT x, y FROM t JOIN other WHERE p = 2") == [(2, 9)]
        assert rows(session, "SELECT x, y FROM t JOIN other WHERE p + 1 = 3") == [(2, 9)]
        assert refused(session, "SELECT x, y FROM t JOIN other WHERE p <= 2") == "NO_CLUSTER_HAS_EVERYTHING"
        # No partition is needed.
        assert runs_on(session, "SELECT x, y FROM t JOIN other WHERE p = 7") == "c2"

    def test_limits_and_counts_come_from_the_copies(self, session: Session, tmp_path: Path) -> None:
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("USE CLUSTER c2")
        shutil.rmtree(tmp_path / "c1")
        assert len(rows(session, "SELECT * FROM t LIMIT 2")) == 2
        assert rows(session, "SELECT count(*), max(x), max(p) FROM t") == [(3, 3, 3)]
        assert rows(session, "SELECT x FROM t WHERE p = 2") == [(2,)]

    def test_a_missing_copy_is_an_error_and_no_empty_result(self, session: Session, tmp_path: Path) -> None:
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("USE CLUSTER c2")
        for file in (tmp_path / "c2").rglob("*.parquet"):
            file.unlink()
        with pytest.raises(Error):
            rows(session, "SELECT * FROM t")

    def test_kept_plans_follow_the_choice(self, session: Session) -> None:
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        ran = []
        for choice in ("USE CLUSTER c2", "USE CLUSTER c1", "USE CLUSTER", "USE CLUSTER c2"):
            session.execute(choice)
            ran.append(runs_on(session, "SELECT * FROM t"))
        assert ran == ["c2", "c1", "c1", "c2"]


class TestWriting:
    def test_a_write_never_goes_to_a_secondary_cluster(self, session: Session) -> None:
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("USE CLUSTER c2")
        for statement in (
            "INSERT INTO t VALUES (1, 1)",
            "INSERT OVERWRITE t PARTITION (p = 1) SELECT 1",
            "ALTER TABLE t COMPACT",
            "ANALYZE TABLE t PARTITION (p) COMPUTE STATISTICS FOR ALL COLUMNS",
        ):
            assert refused(session, statement) == "CLUSTER_IS_NOT_PRIMARY"

    def test_explain_insert_is_as_strict(self, session: Session) -> None:
        assert refused(session, "INSERT INTO other SELECT x FROM t") == "CLUSTER_LACKS_PARTITIONS"
        assert "other" in "\n".join(str(row[0]) for row in rows(session, "EXPLAIN INSERT INTO other SELECT 1"))

    def test_statements_of_the_catalog_need_no_cluster(self, session: Session) -> None:
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("USE CLUSTER c2")
        session.execute("ALTER TABLE t DROP PARTITION (p = 3)")
        session.execute("ALTER TABLE t PARTITION (p = 2) RENAME TO PARTITION (p = 5)")
        assert rows(session, "SELECT x, p FROM t ORDER BY p") == [(1, 1), (2, 5)]
        session.execute("TRUNCATE TABLE t PARTITION (p = 1)")
        assert refused(session, "SELECT * FROM t") == "CLUSTER_LACKS_PARTITIONS"

    def test_an_exchange_between_clusters_is_refused(self, session: Session) -> None:
        session.execute("CREATE TABLE u LIKE t ON CLUSTER c2")
        assert refused(session, "ALTER TABLE u EXCHANGE PARTITION (p = 1) WITH TABLE t") == "EXCHANGE_BETWEEN_CLUSTERS"
        session.execute("CREATE TABLE v LIKE t ON CLUSTER c1")
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("REPLICATE TABLE v TO CLUSTER c2")
        session.execute("ALTER TABLE v EXCHANGE PARTITION (p = 1) WITH TABLE t")
        session.execute("USE CLUSTER c2")
        assert rows(session, "SELECT x FROM v") == [(1,)]

    def test_a_transaction_reads_what_it_has_written(self, session: Session) -> None:
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("START TRANSACTION")
        session.execute("INSERT INTO t VALUES (10, 1)")
        assert rows(session, "SELECT sum(x) FROM t") == [(16,)]
        assert refused(session, "REPLICATE TABLE t TO CLUSTER c2") == "NOT_IN_TRANSACTION"
        session.execute("USE CLUSTER c2")
        assert refused(session, "SELECT * FROM t") == "CLUSTER_LACKS_PARTITIONS"
        session.execute("COMMIT")
        assert rows(session, "SELECT sum(x) FROM t WHERE p > 1") == [(5,)]

    def test_compact_keeps_the_copies(self, session: Session) -> None:
        session.execute("INSERT INTO t VALUES (4, 1)")
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("ALTER TABLE t COMPACT")
        session.execute("USE CLUSTER c2")
        assert rows(session, "SELECT sum(x) FROM t") == [(10,)]


class TestReplicate:
    def test_what_is_there_is_left_alone(self, session: Session) -> None:
        assert [row[0] for row in rows(session, "REPLICATE TABLE t TO CLUSTER c2")] == ["p=1", "p=2", "p=3"]
        assert rows(session, "REPLICATE TABLE t TO CLUSTER c2") == []
        session.execute("INSERT INTO t VALUES (5, 2), (6, 4)")
        assert [row[0] for row in rows(session, "REPLICATE TABLE t TO CLUSTER c2 ONLY STALE")] == ["p=2"]
        assert [row[0] for row in rows(session, "REPLICATE TABLE t TO CLUSTER c2")] == ["p=4"]

    def test_an_empty_partition_and_an_empty_table(self, session: Session) -> None:
        session.execute("CREATE TABLE e (x INT) PARTITIONED BY (p INT)")
        assert rows(session, "REPLICATE TABLE e TO CLUSTER c2") == []
        session.execute("ALTER TABLE e ADD PARTITION (p = 1)")
        assert rows(session, "REPLICATE TABLE e TO CLUSTER c2") == [("p=1", 0, 0)]
        session.execute("USE CLUSTER c2")
        assert rows(session, "SELECT * FROM e") == []

    def test_an_unpartitioned_table(self, session: Session) -> None:
        session.execute("INSERT INTO other VALUES (1)")
        session.execute("REPLICATE TABLE other TO CLUSTER c1")
        assert rows(session, "SELECT y, x FROM other JOIN t ORDER BY x") == [(1, 1), (1, 2), (1, 3)]

    def test_nulls_and_odd_values(self, session: Session) -> None:
        session.execute("CREATE TABLE odd (x INT) PARTITIONED BY (a STRING, b DATE) ON CLUSTER c1")
        session.execute(
            "INSERT INTO odd VALUES (1, NULL, NULL), (2, 'a/b=%20\"', DATE '2013-01-01'), (3, 'ü''x', NULL)"
        )
        expected = rows(session, "SELECT * FROM odd ORDER BY x")
        session.execute("REPLICATE TABLE odd TO CLUSTER c2")
        session.execute("USE CLUSTER c2")
        assert rows(session, "SELECT * FROM odd ORDER BY x") == expected
        assert rows(session, "SELECT x FROM odd WHERE a IS NULL") == [(1,)]

    def test_an_external_table(self, session: Session, tmp_path: Path) -> None:
        """Other programs change its files, and no copy would show that."""
        session.execute(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (p INT) LOCATION '{tmp_path}/e' ON CLUSTER c1")
        session.execute("INSERT INTO e VALUES (1, 1), (2, 2)")
        assert refused(session, "REPLICATE TABLE e TO CLUSTER c2") == "NOT_REPLICABLE"
        assert refused(session, "ALTER TABLE e ADD CLUSTER c2") == "NOT_REPLICABLE"
        assert refused(session, "ALTER TABLE e SET PRIMARY CLUSTER c2") == "NOT_REPLICABLE"
        session.execute("USE CLUSTER c2")
        assert refused(session, "SELECT * FROM e") == "CLUSTER_LACKS_PARTITIONS"

    @pytest.mark.share(1)
    @pytest.mark.parametrize(
        ("statement", "condition"),
        [
            ("REPLICATE TABLE t TO CLUSTER c1", "CLUSTER_ALREADY_EXISTS"),
            ("REPLICATE TABLE t TO CLUSTER c3", "CLUSTER_NOT_FOUND"),
            ("REPLICATE TABLE nothing TO CLUSTER c2", "TABLE_OR_VIEW_NOT_FOUND"),
            ("REPLICATE TABLE t PARTITION (p = 9) TO CLUSTER c2", "PARTITIONS_NOT_FOUND"),
            ("REPLICATE TABLE t PARTITION (q = 9) TO CLUSTER c2", "PARTITIONS_NOT_FOUND"),
            ("ALTER TABLE t ADD CLUSTER c1", "CLUSTER_ALREADY_EXISTS"),
            ("ALTER TABLE t DROP CLUSTER c2", "CLUSTER_NOT_SECONDARY"),
            ("ALTER TABLE t DROP CLUSTER c1", "CLUSTER_NOT_SECONDARY"),
            ("ALTER TABLE t SET PRIMARY CLUSTER c2", "CLUSTER_NOT_SECONDARY"),
            ("ALTER TABLE t PARTITION (p = 1) ADD CLUSTER c2", "COPY_NOT_FOUND"),
            ("ALTER TABLE t ADD CLUSTER c2 LOCATION '/'", "UNSAFE_LOCATION"),
        ],
    )
    def test_refusals(self, session: Session, statement: str, condition: str) -> None:
        assert refused(session, statement) == condition
        assert session.snapshot().table("t").copies == ()

    def test_tables_without_copies(self, session: Session, tmp_path: Path) -> None:
        session.execute("CREATE TEMPORARY TABLE tmp (x INT)")
        session.execute(f"CREATE EXTERNAL TABLE e (x INT) LOCATION '{tmp_path}/e'")
        for table in ("tmp", "e"):
            with pytest.raises(NotSupportedError) as caught:
                session.execute(f"REPLICATE TABLE {table} TO CLUSTER c2")
            assert caught.value.condition == "NOT_REPLICABLE"

    def test_a_damaged_copy_is_not_registered(self, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        copy_by_system = file_copies._copied_by_system

        def damaged(copy: file_copies.FileCopy) -> None:
            copy_by_system(copy)
            os.truncate(copy.target, copy.bytes - 1)

        monkeypatch.setattr(file_copies, "_copied_by_system", damaged)
        with pytest.raises(OperationalError) as caught:
            session.execute("REPLICATE TABLE t TO CLUSTER c2")
        assert caught.value.condition == "COPY_DIFFERS"
        session.execute("USE CLUSTER c2")
        assert refused(session, "SELECT * FROM t") == "CLUSTER_LACKS_PARTITIONS"

    def test_a_write_meanwhile_is_not_lost(
        self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        copy_by_system = file_copies._copied_by_system

        def slow(copy: file_copies.FileCopy) -> None:
            copy_by_system(copy)
            with Session(tmp_path / "w", "duckdb", settings={"hive.cluster.properties": clusters(tmp_path)}) as writer:
                writer.execute("INSERT INTO t VALUES (100, 2)")

        monkeypatch.setattr(file_copies, "_copied_by_system", slow)
        result = session.execute("REPLICATE TABLE t TO CLUSTER c2")
        assert [row[0] for row in result.fetch()] == ["p=1", "p=3"]
        assert result.warnings == (
            "1 partition was changed while it was copied, and was not registered: p=2. Run the statement again.",
        )
        session.execute("USE CLUSTER c2")
        assert rows(session, "SELECT x FROM t WHERE p <> 2 ORDER BY x") == [(1,), (3,)]
        assert refused(session, "SELECT x FROM t") == "CLUSTER_LACKS_PARTITIONS"

    def test_partitions_that_change_names_meanwhile_are_left_out(
        self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """All three partitions are in one packed file, so their files are the same before and after."""
        copy_by_system = file_copies._copied_by_system

        def slow(copy: file_copies.FileCopy) -> None:
            copy_by_system(copy)
            with Session(tmp_path / "w", "duckdb", settings={"hive.cluster.properties": clusters(tmp_path)}) as writer:
                if writer.execute("SELECT 1 FROM t WHERE p = 9").fetch():
                    return
                writer.execute("ALTER TABLE t PARTITION (p = 1) RENAME TO PARTITION (p = 9)")
                writer.execute("ALTER TABLE t PARTITION (p = 2) RENAME TO PARTITION (p = 1)")

        monkeypatch.setattr(file_copies, "_copied_by_system", slow)
        assert [row[0] for row in rows(session, "REPLICATE TABLE t TO CLUSTER c2")] == ["p=3"]
        assert rows(session, "SELECT * FROM t WHERE p = 1") == [(2, 1)]
        session.execute("USE CLUSTER c2")
        assert refused(session, "SELECT * FROM t WHERE p = 1") == "CLUSTER_LACKS_PARTITIONS"

    def test_a_directory_of_another_catalog_stays(self, session: Session, tmp_path: Path) -> None:
        session.execute("ALTER TABLE t ADD CLUSTER c2")
        location = Path(session.snapshot().table("t").copies[0].location)
        foreign = [location / f"rewriter_write_id={number}" / "part-0.parquet" for number in range(3, 12)]
        for file in foreign:
            file.parent.mkdir(parents=True)
            file.write_bytes(b"theirs")
        assert refused(session, "REPLICATE TABLE t TO CLUSTER c2") == "WRITE_DIRECTORY_EXISTS"
        assert all(file.read_bytes() == b"theirs" for file in foreign)

    def test_vacuum_removes_given_up_copies_and_nothing_else(self, session: Session, tmp_path: Path) -> None:
        session.execute("SET rewriter.least_retention_hours = 0")
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        copies = set((tmp_path / "c2").rglob("*.parquet"))
        session.execute("VACUUM RETAIN 0 HOURS")
        assert set((tmp_path / "c2").rglob("*.parquet")) == copies
        session.execute("ALTER TABLE t DROP CLUSTER c2")
        session.execute("VACUUM RETAIN 0 HOURS")
        assert not set((tmp_path / "c2").rglob("*.parquet")) & copies
        assert rows(session, "SELECT count(*) FROM t") == [(3,)]

    def test_a_dropped_table_loses_its_copies(self, session: Session, tmp_path: Path) -> None:
        session.execute("SET rewriter.least_retention_hours = 0")
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("DROP TABLE t")
        session.execute("VACUUM RETAIN 0 HOURS")
        assert list((tmp_path / "c1").rglob("*.parquet")) == []
        assert list((tmp_path / "c2").rglob("*.parquet")) == []


class TestOwnCopies:
    """ADD CLUSTER over files that were copied by other means."""

    def test_files_that_are_there_are_registered(self, session: Session, tmp_path: Path) -> None:
        location = session.snapshot().table("t").location
        shutil.copytree(location, tmp_path / "own")
        assert session.execute(f"ALTER TABLE t ADD CLUSTER c2 LOCATION '{tmp_path}/own'").warnings == ()
        session.execute("USE CLUSTER c2")
        shutil.rmtree(tmp_path / "c1")
        assert rows(session, "SELECT sum(x) FROM t") == [(6,)]

    def test_a_file_that_differs_is_not(self, session: Session, tmp_path: Path) -> None:
        session.execute("INSERT OVERWRITE t PARTITION (p = 2) SELECT 5")
        shutil.copytree(session.snapshot().table("t").location, tmp_path / "own")
        (changed,) = (tmp_path / "own").glob("rewriter_write_id=3/**/*.parquet")
        content = bytearray(changed.read_bytes())
        content[len(content) // 2] ^= 1
        changed.write_bytes(content)
        result = session.execute(f"ALTER TABLE t ADD CLUSTER c2 LOCATION '{tmp_path}/own'")
        assert result.warnings == ("c2 has 2 of 3 partitions of t",)
        assert refused(session, "ALTER TABLE t PARTITION (p = 2) ADD CLUSTER c2") == "COPY_NOT_FOUND"
        session.execute("USE CLUSTER c2")
        assert rows(session, "SELECT sum(x) FROM t WHERE p <> 2") == [(4,)]

    def test_vacuum_leaves_files_that_the_user_is_putting_there(self, session: Session, tmp_path: Path) -> None:
        session.execute(f"ALTER TABLE t ADD CLUSTER c2 LOCATION '{tmp_path}/own'")
        shutil.copytree(session.snapshot().table("t").location, tmp_path / "own", copy_function=shutil.copyfile)
        assert rows(session, "VACUUM RETAIN 24 HOURS") == []
        session.execute("ALTER TABLE t ADD CLUSTER c2")
        session.execute("USE CLUSTER c2")
        assert rows(session, "SELECT sum(x) FROM t") == [(6,)]

    def test_files_that_were_given_up_are_not_taken_again(self, session: Session) -> None:
        """VACUUM may be removing them at this moment."""
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("ALTER TABLE t DROP CLUSTER c2")
        assert session.execute("ALTER TABLE t ADD CLUSTER c2").warnings == ("c2 has 0 of 3 partitions of t",)
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("USE CLUSTER c2")
        assert rows(session, "SELECT sum(x) FROM t") == [(6,)]

    def test_the_filesystems_of_clusters_are_no_places_for_others(self, session: Session, tmp_path: Path) -> None:
        home = os.path.dirname(session.snapshot().table("t").location)
        for place in (home, f"{home}/u-99", os.path.dirname(home)):
            external = f"CREATE EXTERNAL TABLE e (x INT) LOCATION '{place}'"
            assert refused(session, external) == "UNSAFE_LOCATION"
        session.execute(f"CREATE EXTERNAL TABLE e (x INT) LOCATION '{os.path.dirname(home)}/own'")

    def test_a_location_among_other_files_is_refused(self, session: Session, tmp_path: Path) -> None:
        location = session.snapshot().table("t").location
        for place in (location, os.path.dirname(location), f"{location}/x", str(tmp_path / "w")):
            assert refused(session, f"ALTER TABLE t ADD CLUSTER c2 LOCATION '{place}'") == "UNSAFE_LOCATION"
        session.execute(f"ALTER TABLE t ADD CLUSTER c2 LOCATION '{tmp_path}/own'")
        external = f"CREATE EXTERNAL TABLE e (x INT) LOCATION '{tmp_path}/own/e'"
        assert refused(session, external) == "UNSAFE_LOCATION"
        assert refused(session, f"ALTER TABLE t ADD CLUSTER c2 LOCATION '{tmp_path}/x'") == "CLUSTER_ALREADY_EXISTS"


class TestPrimary:
    def test_it_moves(self, session: Session, tmp_path: Path) -> None:
        session.execute("INSERT INTO other VALUES (0)")
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("ALTER TABLE t SET PRIMARY CLUSTER c2")
        session.execute("INSERT INTO t VALUES (4, 4)")
        assert runs_on(session, "SELECT * FROM t") == "c2"
        assert rows(session, "SELECT sum(x), max(y) FROM t JOIN other") == [(10, 0)]
        session.execute("USE CLUSTER c1")
        assert rows(session, "SELECT sum(x) FROM t WHERE p < 4") == [(6,)]
        session.execute("USE CLUSTER")
        session.execute("SET rewriter.least_retention_hours = 0")
        session.execute("VACUUM RETAIN 0 HOURS")
        assert rows(session, "SELECT sum(x) FROM t") == [(10,)]
        session.execute("ALTER TABLE t SET PRIMARY CLUSTER c2")
        session.execute("REPLICATE TABLE t TO CLUSTER c1")
        session.execute("ALTER TABLE t SET PRIMARY CLUSTER c1")
        assert runs_on(session, "SELECT * FROM t") == "c1"

    def test_a_fact_follows(self, session: Session) -> None:
        session.execute("CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING) ON CLUSTER c1")
        session.execute("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        session.execute("CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))")
        session.execute("INSERT INTO days VALUES (1, '2013-01-01'), (2, '2013-01-02')")
        session.execute("REPLICATE TABLE days TO CLUSTER c2")
        session.execute("ALTER TABLE days SET PRIMARY CLUSTER c2")
        query = "SELECT sum(n) FROM c WHERE t >= '2013-01-01' AND t < '2013-01-03'"
        assert (rows(session, query), runs_on(session, query)) == ([(3,)], "c2")

    def test_it_conflicts_with_a_write(self, session: Session) -> None:
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        session.execute("START TRANSACTION")
        session.execute("INSERT INTO t VALUES (4, 4)")
        with Session(
            session.catalog.warehouse,
            "duckdb",
            settings={"hive.cluster.properties": session.settings.get("hive.cluster.properties")},
        ) as other:
            other.execute("ALTER TABLE t SET PRIMARY CLUSTER c2")
        with pytest.raises(ConflictError):
            session.execute("COMMIT")
        assert rows(session, "SELECT sum(x) FROM t") == [(6,)]

    def test_a_table_without_a_cluster_keeps_the_one_that_was_the_default(
        self, tmp_path: Path, duckdb: DuckDBEngine
    ) -> None:
        with Session(tmp_path / "w", duckdb) as session:
            session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p INT)")
            session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
            three = clusters(tmp_path, c3={"filesystem": str(tmp_path / "c3")}).replace("'", "")
            session.execute(f"SET hive.cluster.properties = '{three}'")
            session.execute("SET hive.default.cluster.name = c1")
            session.execute("REPLICATE TABLE t TO CLUSTER c2")
            session.execute("REPLICATE TABLE t TO CLUSTER c3")
            session.execute("SET hive.default.cluster.name = c3")
            assert session.snapshot().table("t").cluster == "c1"
            session.execute("ALTER TABLE t SET PRIMARY CLUSTER c2")
            copies = session.snapshot().table("t").copies
            assert [copy.cluster for copy in copies] == ["c3", "c1"]
            for cluster in ("c1", "c2", "c3"):
                session.execute(f"USE CLUSTER {cluster}")
                assert rows(session, "SELECT sum(x) FROM t") == [(3,)]

    def test_a_repeated_insert_runs_on_the_new_one(
        self, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session.execute("REPLICATE TABLE t TO CLUSTER c2")
        settings = {"hive.cluster.properties": clusters(tmp_path)}
        attempts = []

        def write(checked: insert.Checked, context: Context, batch: Batch | None = None) -> object:
            attempts.append((context.cluster, checked.target.table.cluster))
            if len(attempts) == 1:
                with Session(tmp_path / "w", "duckdb", settings=settings) as other:
                    other.execute("ALTER TABLE t SET PRIMARY CLUSTER c2")
            return written(checked, context, batch)

        written = insert._write_managed
        monkeypatch.setattr(insert, "_write_managed", write)
        session.execute("INSERT INTO t VALUES (4, 4)")
        assert attempts == [("c1", "c1"), ("c2", "c2")]
        assert rows(session, "SELECT sum(x) FROM t") == [(10,)]

    def test_an_incomplete_cluster_is_refused(self, session: Session) -> None:
        session.execute("REPLICATE TABLE t PARTITION (p = 1) TO CLUSTER c2")
        with pytest.raises(IntegrityError, match="c2 lacks 2 of 3 partitions"):
            session.execute("ALTER TABLE t SET PRIMARY CLUSTER c2")


class TestCubes:
    @pytest.fixture
    def fact(self, session: Session) -> Session:
        session.execute("CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING) ON CLUSTER c1")
        session.execute("CREATE TABLE months (n BIGINT) PARTITIONED BY (dt STRING) ON CLUSTER c2")
        session.execute("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        session.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt), "
            "TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt))"
        )
        days = ", ".join(
            f"(1, '2013-{month:02d}-{day:02d}')" for month in (1, 2) for day in range(1, 32 if month == 1 else 29)
        )
        session.execute(f"INSERT INTO days VALUES {days}, (1, '2013-03-01')")
        return session

    QUERY = "SELECT sum(n) FROM c WHERE t >= '2013-01-01'"

    def test_refresh_needs_the_base_where_the_rollup_is(self, fact: Session) -> None:
        assert refused(fact, "REFRESH FACT f") == "CLUSTER_LACKS_PARTITIONS"
        fact.execute("REPLICATE TABLE days TO CLUSTER c2")
        fact.execute("REFRESH FACT f")
        assert rows(fact, "SELECT count(*) FROM months") == [(2,)]
        assert [row[-2] for row in rows(fact, "CHECK FACT f")] == ["agrees"]

    def test_an_open_end_is_that_of_all_clusters(self, fact: Session) -> None:
        fact.execute("REPLICATE TABLE days TO CLUSTER c2")
        fact.execute("REFRESH FACT f")
        fact.execute("INSERT INTO days VALUES (5, '2013-03-02')")
        # c2 has the cheap months, and lacks the last day: no cover there ends earlier unnoticed.
        assert (rows(fact, self.QUERY), runs_on(fact, self.QUERY)) == ([(65,)], "c1")
        fact.execute("USE CLUSTER c2")
        assert refused(fact, self.QUERY) == "CLUSTER_LACKS_PARTITIONS"

    def test_the_cheapest_cover_on_a_cluster_runs(self, fact: Session) -> None:
        fact.execute("REPLICATE TABLE days TO CLUSTER c2")
        fact.execute("REFRESH FACT f")
        assert (rows(fact, self.QUERY), runs_on(fact, self.QUERY)) == ([(60,)], "c2")
        fact.execute("ALTER TABLE days DROP CLUSTER c2")
        assert (rows(fact, self.QUERY), runs_on(fact, self.QUERY)) == ([(60,)], "c1")
        text = "\n".join(str(row[0]) for row in rows(fact, f"EXPLAIN SCAN {self.QUERY}"))
        assert text.startswith("runs on c1\n  c2 lacks 1 partition of days (dt=2013-03-01)\ndays: 60 partitions")


class TestCopiedWarehouses:
    def test_a_copy_of_a_warehouse_leaves_the_copies_of_its_original(
        self, tmp_path: Path, duckdb: DuckDBEngine
    ) -> None:
        settings = {"hive.cluster.properties": json.dumps({"c1": {}, "c2": {"filesystem": str(tmp_path / "c2")}})}
        with Session(tmp_path / "w", duckdb, settings=settings) as original:
            original.execute("CREATE TABLE t (x INT)")
            original.execute("INSERT INTO t VALUES (1)")
            original.execute("REPLICATE TABLE t TO CLUSTER c2")
        shutil.copytree(tmp_path / "w", tmp_path / "v")
        Catalog.adopt(tmp_path / "v")
        settings["rewriter.least_retention_hours"] = "0"
        with Session(tmp_path / "v", duckdb, settings=settings) as copy:
            assert copy.snapshot().table("t").copies == ()
            copy.execute("DROP TABLE t")
            copy.execute("VACUUM RETAIN 0 HOURS")
            assert list(findings(copy.catalog.database)) == []
        with Session(tmp_path / "w", duckdb, settings=settings) as original:
            original.execute("USE CLUSTER c2")
            assert rows(original, "SELECT * FROM t") == [(1,)]

    def test_a_copy_of_a_warehouse_leaves_the_former_places_of_tables(
        self, tmp_path: Path, duckdb: DuckDBEngine
    ) -> None:
        """The catalog has ended rows of files on a cluster that the table has left."""
        settings = {"hive.cluster.properties": json.dumps({"c1": {}, "c2": {"filesystem": str(tmp_path / "c2")}})}
        with Session(tmp_path / "w", duckdb, settings=settings) as original:
            original.execute("CREATE TABLE t (x INT) PARTITIONED BY (p INT) ON CLUSTER c2")
            original.execute("INSERT INTO t VALUES (1, 1)")
            original.execute("REPLICATE TABLE t TO CLUSTER c1")
            original.execute("ALTER TABLE t SET PRIMARY CLUSTER c1")
        shutil.copytree(tmp_path / "w", tmp_path / "v")
        Catalog.adopt(tmp_path / "v")
        settings["rewriter.least_retention_hours"] = "0"
        with Session(tmp_path / "v", duckdb, settings=settings) as copy:
            assert rows(copy, "SELECT * FROM t") == [(1, 1)]
            copy.execute("VACUUM RETAIN 0 HOURS")
            copy.execute("DROP TABLE t")
            copy.execute("VACUUM RETAIN 0 HOURS")
            assert list(findings(copy.catalog.database)) == []
        with Session(tmp_path / "w", duckdb, settings=settings) as original:
            for cluster in ("c1", "c2"):
                original.execute(f"USE CLUSTER {cluster}")
                assert rows(original, "SELECT * FROM t") == [(1, 1)]
