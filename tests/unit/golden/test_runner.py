"""What each command shows, in which warehouse a file runs, and that a user's warehouse stays as it is."""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
from pathlib import Path

import pytest

from rewriter import statements
from rewriter.errors import InterfaceError, OperationalError
from rewriter.golden.runner import FileRun, UserWarehouse, accept, only_reads, run_file, run_report
from rewriter.runtime.statement_runners import RUNNERS
from rewriter.session import Session

CUBE = (
    "CREATE CUBE c (n BIGINT MEASURE COUNT, t TIMESTAMP TIME);\n"
    "CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);\n"
    "CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt));\n"
    "INSERT INTO days VALUES (3, '2024-01-01'), (4, '2024-01-02')"
)


def run(folder: Path, text: str, warehouse: UserWarehouse | None = None) -> FileRun:
    path = folder / "a.golden"
    path.write_text(text, encoding="utf-8")
    return run_file(path, warehouse)


@pytest.fixture
def user(tmp_path: Path) -> UserWarehouse:
    with Session(tmp_path / "w", "duckdb") as session:
        for statement in CUBE.split(";\n"):
            session.execute(statement)
    return UserWarehouse(str(tmp_path / "w"))


def content(user: UserWarehouse) -> dict[str, str]:
    """Returns the files of a warehouse; of the catalog its dump, because a reader may note its presence in it."""
    files = {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(user.path).rglob("*")
        if path.is_file() and "catalog" not in path.name
    }
    with Session(user.path, "duckdb") as session:
        for name in ("SHOW TABLES", "SHOW VIEWS", "SHOW PARTITIONS days", "SHOW CUBES"):
            files[name] = str(session.execute(name).fetch())
    return files


def test_each_command_shows_its_output(tmp_path: Path) -> None:
    question = "SELECT SUM(n) AS n FROM c WHERE t >= '2024-01-01' AND t < '2024-01-04'"
    inside = question.replace("04'", "03'")
    outcomes = run(
        tmp_path,
        f"setup\n{CUBE}\n----\n\nquery\n{inside};\n----\n\nquery order=sorted format=csv\nVALUES (2), (1)\n----\n\n"
        f"rewrite\n{inside}\n----\n\ncover\n{inside}\n----\n\nscan\n{inside}\n----\n\ncoverage\n{question}\n----\n\n"
        f"error\n{question}\n----\n\nquery\nSHOW TABLES\n----\n\nquery\nSELECT 1; SELECT 2\n----\n\n"
        "cover\nSELECT nope FROM c\n----\n",
    ).outcomes
    setup, query, ordered, rewrite, cover, scan, coverage, error, no_query, two, wrong = outcomes
    assert (setup.actual, setup.failed) == ("", False)
    assert query.actual == "n\n-\n7"
    assert ordered.actual == "col1\n1\n2"
    assert rewrite.actual.startswith("SELECT SUM(n) AS n FROM (SELECT n, to_timestamp(dt, 'yyyy-MM-dd') AS t FROM days")
    assert cover.actual.splitlines()[0] == "c: [2024-01-01, 2024-01-03)"
    assert "2 partitions" in scan.actual or "2 of 2" in scan.actual
    assert coverage.actual.splitlines() == [
        "complete: false",
        "c: [2024-01-01, 2024-01-04)",
        "  f.days DAILY: 2 partitions",
        "  missing: [2024-01-03, 2024-01-04)",
        "  outdated: nothing",
    ]
    assert "MISSING" in error.actual
    assert not error.failed
    assert no_query.failed
    assert "The input of a case query is one query." in no_query.actual
    assert two.failed
    # The caret is below the user's text, not below that of EXPLAIN COVER.
    assert wrong.failed
    assert "line 1: SELECT nope FROM c\n               ^^^^\n" in wrong.actual


def test_a_setup_that_fails_fails_the_file(tmp_path: Path) -> None:
    (outcome,) = run(tmp_path, "setup\nINSERT INTO nowhere VALUES (1)\n----\n").outcomes
    assert outcome.failed
    assert "TABLE_OR_VIEW_NOT_FOUND" in outcome.actual


def test_the_clock_of_a_file_is_fixed(tmp_path: Path) -> None:
    text = (
        "options now=2024-02-03T04:05:06\n\nquery\nSELECT now() AS n, current_date() AS d\n----\n"
        "n                   | d\n--------------------+-----------\n2024-02-03 04:05:06 | 2024-02-03\n\n"
        "sql session=other\nCREATE VIEW v AS SELECT current_timestamp() AS n;\nSELECT * FROM v\n----\n"
        "OK\nn\n-------------------\n2024-02-03 04:05:06\n"
    )
    assert run_report(run(tmp_path, text), rewrite=False) == ""


def test_a_users_warehouse_is_read_and_stays_as_it_is(tmp_path: Path, user: UserWarehouse) -> None:
    before = content(user)
    changes = (
        "INSERT INTO days VALUES (1, '2024-01-03')",
        "CREATE TABLE x (a INT)",
        "CREATE TEMPORARY TABLE x (a INT)",
        "CREATE OR REPLACE VIEW x AS SELECT 1",
        "DROP TABLE days",
        "ALTER TABLE days DROP PARTITION (dt = '2024-01-01')",
        "REFRESH FACT f",
        "CHECK FACT f ACCEPT",
        "VACUUM",
        "SELECT 1; DROP TABLE days",
        "INSERT OVERWRITE DIRECTORY 'out' USING parquet SELECT 1",
    )
    for command in ("sql", "error"):
        for change in changes:
            (outcome,) = run(tmp_path, f"{command}\n{change}\n----\n", user).outcomes
            assert outcome.failed, change
            assert outcome.actual.startswith("Error: [GOLDEN_FILE_READS_ONLY]"), change
            assert "options warehouse=write" in outcome.actual
    reading = run(
        tmp_path,
        "query\nSELECT SUM(n) AS n FROM c\n----\nn\n-\n7\n\nsql\nCREATE TEMPORARY VIEW v AS SELECT 5 AS five;\n"
        "SELECT * FROM v;\nSET rewriter.partial_data = true;\nEXPLAIN DROP TABLE days\n----\n",
        user,
    )
    assert reading.outcomes[0].passed
    assert content(user) == before


def test_a_file_with_setup_has_a_new_warehouse(tmp_path: Path, user: UserWarehouse) -> None:
    before = content(user)
    text = "setup\nCREATE TABLE days (x INT)\n----\n\nsql\nDROP TABLE days;\nSHOW CUBES\n----\n"
    assert not any(outcome.failed for outcome in run(tmp_path, text, user).outcomes)
    assert content(user) == before
    (outcome,) = run(tmp_path, "options warehouse=new\nsql\nCREATE TABLE days (x INT)\n----\nOK\n", user).outcomes
    assert outcome.passed
    assert content(user) == before


def test_a_file_may_say_that_it_writes(tmp_path: Path, user: UserWarehouse) -> None:
    text = "options warehouse=write\nsetup\nINSERT INTO days VALUES (1, '2024-01-03')\n----\n"
    assert not run(tmp_path, text, user).faults(rewrite=False)
    assert "2024-01-03" in str(content(user))


def test_a_missing_warehouse_is_an_error(tmp_path: Path, user: UserWarehouse) -> None:
    with pytest.raises(OperationalError, match="WAREHOUSE_NOT_FOUND"):
        run(tmp_path, "query\nSELECT 1\n----\n", UserWarehouse(str(tmp_path / "absent")))
    assert not (tmp_path / "absent").exists()
    for place in ("read", "write"):
        with pytest.raises(InterfaceError, match="no warehouse is given"):
            run(tmp_path, f"options warehouse={place}\n", None)


def test_an_older_catalog_is_not_upgraded(tmp_path: Path, user: UserWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewriter.catalog.catalog.Catalog.stored_version", lambda *_: 1)
    with pytest.raises(OperationalError, match="run rewriter catalog upgrade"):
        run(tmp_path, "query\nSELECT 1\n----\n", user)


def test_only_statements_that_read_are_allowed() -> None:
    for module in pkgutil.walk_packages(statements.__path__, "rewriter.statements."):
        importlib.import_module(module.name)  # It registers its runners.
    reading = {kind.__name__ for kind in RUNNERS if only_reads(kind.__new__(kind)) if kind.__name__ != "CreateView"}
    assert reading == {
        "Select", "Explain", "ExplainChange", "ExplainScan", "ExplainWrite", "Describe", "DescribeDatabase",
        "DescribeFunction", "DescribeHistory", "DescribeQuery", "ShowCache", "ShowCatalogProperties", "ShowClusters",
        "ShowColumns", "ShowCoverage", "ShowCreate", "ShowCubes",
        "ShowDatabases", "ShowFunctions", "ShowLatest", "ShowPartitions", "ShowStreams", "ShowTableExtended",
        "ShowRollupUse", "ShowTableProperties", "ShowTables", "ShowTimelines", "ShowViews", "ShowWork",
    }  # fmt: skip


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    done = run(tmp_path, "query\nSELECT 1 AS a\n----\n")
    done.path.write_text("query\nSELECT 2 AS a\n----\n")
    with pytest.raises(OperationalError, match="was changed while it ran"):
        accept(done)
    assert done.path.read_text() == "query\nSELECT 2 AS a\n----\n"


def test_plain_sql_becomes_a_golden_file(tmp_path: Path) -> None:
    first = run(tmp_path, "-- One.\nSELECT 1 AS one;\n\nSELECT 2 AS two; -- Two.\n")
    assert "a.golden:2: query\n-- One.\nSELECT 1 AS one;\n--- expected\n+++ actual\n" in run_report(
        first, rewrite=False
    )
    assert accept(first)
    written = (
        "query\n-- One.\nSELECT 1 AS one;\n----\none\n---\n  1\n\n"
        "query\nSELECT 2 AS two; -- Two.\n----\ntwo\n---\n  2\n"
    )
    assert first.path.read_text() == written
    assert not accept(run(tmp_path, written))


def test_a_difference_names_the_lines_of_the_file(tmp_path: Path) -> None:
    text = "# A.\n\nquery\nVALUES (1), (2)\n----\ncol1\n----\n   1\n   3\n"
    shown = run_report(run(tmp_path, text), rewrite=False)
    assert shown.splitlines() == [
        f"{tmp_path}/a.golden:3: query",
        "VALUES (1), (2)",
        "--- expected",
        "+++ actual",
        "@@ -7,3 +7,3 @@",
        " ----",
        "    1",
        "-   3",
        "+   2",
    ]
