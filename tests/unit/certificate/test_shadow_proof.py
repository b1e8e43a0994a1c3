"""Shadow proofs: ``SET rewriter.verify = n%`` compares rollups that queries have read with their base."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import rewriter
from rewriter.cli import main
from rewriter.dbapi.connection import Connection
from rewriter.dbapi.cursor import Cursor
from rewriter.runtime import shadow_proofs
from rewriter.runtime.program_statements import ProveRollups
from rewriter.runtime.result import ShadowProof
from rewriter.runtime.settings import ShadowProofSettings
from rewriter.runtime.shadow_proofs import ShadowProofs
from rewriter.statements.maintain import shadow_proof

WORLD = """
CREATE CUBE parcels (depot STRING, n BIGINT MEASURE COUNT, weight DOUBLE MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE hours (depot STRING, n BIGINT, weight DOUBLE) PARTITIONED BY (h STRING);
CREATE TABLE days (depot STRING, n BIGINT, weight DOUBLE) PARTITIONED BY (d DATE);
CREATE FACT log OF CUBE parcels STORED IN (
  TABLE hours PERIOD HOURLY PARTITIONED BY t AS (h), TABLE days PERIOD DAILY PARTITIONED BY t AS (d));
INSERT INTO hours MARK COMPLETE FROM '2024-01-01' TO '2024-02-10'
  SELECT depot, n, weight, date_format(date_add(DATE '2024-01-01', CAST(id AS INT)), 'yyyy-MM-dd') || '-07'
  FROM range(40) CROSS JOIN (VALUES ('east', 1L, 0.1D), ('west', 2L, 0.3D)) AS v (depot, n, weight);
REFRESH FACT log
"""
QUERY = (
    "SELECT depot, SUM(n) AS n FROM parcels WHERE t >= '2024-01-01' AND t < '2024-02-10' GROUP BY depot ORDER BY depot"
)
RIGHT, WRONG = [("east", 40), ("west", 80)], [("east", 47), ("west", 80)]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as opened:
        for statement in WORLD.split(";"):
            opened.execute(statement)
        opened.execute("SET rewriter.verify_seconds = 300")
        yield opened


class SlowSession:
    """A session whose proofs take a twentieth of a second."""

    def __init__(self) -> None:
        self.proofs = 0

    def prove(self, statement: ProveRollups) -> None:
        self.proofs += 1
        time.sleep(0.05)

    def cancel(self) -> None:
        raise AssertionError("a proof that ends in time is not canceled")

    def close(self) -> None:
        pass


def test_proofs_of_a_part_of_the_queries_take_twice_the_time_of_the_queries_on_average() -> None:
    session = SlowSession()
    proofs = ShadowProofs(lambda: session)
    part: Any = object()

    def start(percent: float) -> None:
        proof = ShadowProof()
        proofs.start([part], ShadowProofSettings(percent, seconds=60.0), proof)
        assert proof.wait(60)

    proofs.note_query(0.001)
    start(50)
    assert session.proofs == 1
    # Ten more earn 0.02 s, and the first proof took 0.05.
    for _ in range(10):
        start(50)
    assert session.proofs == 1
    proofs.note_query(10.0)
    start(50)
    assert session.proofs == 2
    # With 100 %, the user asks for each.
    for _ in range(3):
        start(100)
    assert session.proofs == 5
    proofs.close()


def corrupt(connection: Connection) -> None:
    """Changes one number in one day of the rollup, in the file itself."""
    path = next(Path(connection.session.catalog.warehouse).rglob("days-*/**/*.parquet"))
    rows = pq.read_table(path)
    is_first_east = pa.array([place == rows["depot"].to_pylist().index("east") for place in range(rows.num_rows)])
    n = pc.if_else(is_first_east, pc.add(rows["n"], 7), rows["n"])
    pq.write_table(rows.set_column(rows.schema.get_field_index("n"), "n", n), path)


def proof_of(cursor: Cursor) -> ShadowProof:
    assert cursor.stats is not None
    assert cursor.stats.shadow_proof is not None
    return cursor.stats.shadow_proof


@pytest.mark.filterwarnings("ignore:days DAILY")
def test_a_wrong_row_is_found_after_the_query_that_read_it(connection: Connection) -> None:
    corrupt(connection)
    connection.execute("SET rewriter.verify = 100%")
    cursor = connection.execute(QUERY)
    assert cursor.fetchall() == WRONG
    proof = proof_of(cursor)
    assert proof.wait(300)
    assert (proof.compared, proof.partitions, proof.error) == (40, 40, None)
    assert proof.differing == ("days DAILY 2024-01-01",)
    assert proof.first_difference == "DAILY 2024-01-01, depot='east': n is 8, the base has 1"
    later = connection.execute(QUERY)
    assert later.fetchall() == RIGHT
    assert later.warnings == [
        "days DAILY 2024-01-01 differs from the base, and is not used until REFRESH FACT has computed it again. "
        "DAILY 2024-01-01, depot='east': n is 8, the base has 1",
    ]
    assert proof_of(later).wait(300)
    assert connection.execute("SHOW TABLES").warnings == []


@pytest.mark.filterwarnings("ignore:days DAILY")
def test_what_differs_is_shown_and_mended(connection: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    corrupt(connection)
    connection.execute("SET rewriter.verify = 100%")
    connection.execute("SET rewriter.verify_when = before")
    cursor = connection.execute(QUERY)
    assert cursor.fetchall() == RIGHT
    assert proof_of(cursor).differing == ("days DAILY 2024-01-01",)
    assert connection.execute("SHOW UNPROVEN PARTITIONS OF log").fetchall() == [
        ("days", "DAILY", "2024-01-01", "2024-01-02", 1, "refresh")
    ]
    reasons = [row[-1] for row in connection.execute("SHOW TIMELINES OF log").fetchall()]
    assert reasons == [None, "the shadow proof of a query found that it differs from the base"]
    capsys.readouterr()
    assert main.main(["doctor", "-w", str(connection.session.catalog.warehouse)]) == 1
    assert "partitions that differ from their base: days 1" in capsys.readouterr().out
    connection.execute("REFRESH FACT log")
    assert connection.execute("SHOW UNPROVEN PARTITIONS OF log").fetchall() == []
    cursor = connection.execute(QUERY)
    assert cursor.fetchall() == RIGHT
    assert (proof_of(cursor).compared, proof_of(cursor).differing) == (40, ())


def test_a_script_ends_with_the_warning_of_its_last_proof(
    connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    corrupt(connection)
    warehouse = str(connection.session.catalog.warehouse)
    settings = "SET rewriter.verify = 100%; SET rewriter.verify_seconds = 300"
    assert main.main(["sql", "-w", warehouse, "--engine", "duckdb", "-e", f"{settings}; {QUERY}"]) == 0
    assert capsys.readouterr().err.splitlines()[-1].startswith("Warning: days DAILY 2024-01-01 differs from the base")


def test_a_transaction_and_a_query_of_no_cube_have_none(connection: Connection) -> None:
    connection.execute("SET rewriter.verify = 100%")
    connection.execute("START TRANSACTION")
    cursor = connection.execute(QUERY)
    assert cursor.stats is not None
    assert cursor.stats.shadow_proof is None
    connection.execute("ROLLBACK")
    plain = connection.execute("SELECT COUNT(*) FROM hours")
    plain.fetchall()
    proof = proof_of(plain)
    assert proof.wait(300)
    assert (proof.compared, proof.partitions) == (0, 0)


def test_base_partitions_are_not_compared(connection: Connection) -> None:
    connection.execute("SET rewriter.verify = 100%")
    connection.execute("SET rewriter.verify_when = before")
    connection.execute("SET rewriter.periods = HOURLY")
    cursor = connection.execute(QUERY)
    assert cursor.fetchall() == RIGHT
    assert proof_of(cursor).partitions == 0


def test_a_query_that_fails_or_is_not_drawn_has_no_proof(connection: Connection) -> None:
    connection.execute("SET rewriter.verify = 0.000001%")
    cursor = connection.execute(QUERY)
    assert cursor.stats is not None
    assert cursor.stats.shadow_proof is None
    connection.execute("SET rewriter.verify = off")
    cursor = connection.execute(QUERY)
    assert cursor.stats is not None
    assert cursor.stats.shadow_proof is None


def test_closing_a_cursor_or_the_connection_early_waits_for_the_proof(connection: Connection, tmp_path: Path) -> None:
    corrupt(connection)
    warehouse = connection.session.catalog.warehouse
    with rewriter.connect(warehouse, engine="duckdb") as other:
        other.execute("SET rewriter.verify = 100%")
        other.execute("SET rewriter.verify_seconds = 300")
        other.execute(QUERY).close()
    assert connection.execute(QUERY).fetchall() == RIGHT


def test_a_lost_base_file_fails_the_proof_and_not_the_query(connection: Connection) -> None:
    next(Path(connection.session.catalog.warehouse).rglob("hours-*/**/*.parquet")).unlink()
    connection.execute("SET rewriter.verify = 100%")
    cursor = connection.execute(QUERY)
    assert cursor.fetchall() == RIGHT
    proof = proof_of(cursor)
    assert proof.wait(300)
    assert proof.error is not None
    with pytest.warns(rewriter.Warning, match="shadow proof of a query failed"):
        connection.execute("SHOW TABLES")


def test_an_outdated_rollup_is_not_called_wrong(connection: Connection) -> None:
    """The base changes between the query and its proof."""
    connection.execute("SET rewriter.verify = 100%")
    cursor = connection.execute(QUERY)
    connection.execute("INSERT INTO hours VALUES ('east', 1, 0.1, '2024-01-01-08')")
    assert cursor.fetchall() == RIGHT
    proof = proof_of(cursor)
    assert proof.wait(300)
    assert (proof.partitions, proof.compared, proof.differing) == (40, 39, ())


def test_a_trusted_rollup_that_differs_is_told(connection: Connection) -> None:
    connection.execute("ALTER FACT log TABLE days SET TRUSTED")
    connection.execute("INSERT OVERWRITE days VALUES ('east', 9, 0.1, DATE '2024-01-03')")
    connection.execute("SET rewriter.verify = 100%")
    connection.execute("SET rewriter.verify_when = before")
    with pytest.warns(rewriter.Warning, match="2024-01-03 differs .* used on the word of the owner"):
        cursor = connection.execute(QUERY)
    assert cursor.fetchall() == [("east", 48), ("west", 78)]
    connection.execute("ALTER FACT log TABLE days UNSET TRUSTED")
    assert connection.execute(QUERY).fetchall() == RIGHT


def test_sums_of_doubles_may_differ_in_the_last_digits(connection: Connection) -> None:
    connection.execute("SET rewriter.verify = 100%")
    connection.execute("SET rewriter.verify_when = before")
    connection.execute("INSERT INTO hours VALUES ('east', 1, 0.2, '2024-01-03-08'), ('east', 1, 0.7, '2024-01-03-08')")
    connection.execute("REFRESH FACT log")
    assert proof_of(connection.execute(QUERY)).differing == ()


@pytest.mark.parametrize(
    ("value", "shown"), [("1%", "1%"), ("'0.5 %'", "0.5%"), ("100.000%", "100%"), ("CERTIFICATE", "certificate")]
)
def test_the_setting_is_shown_in_one_form(connection: Connection, value: str, shown: str) -> None:
    connection.execute(f"SET rewriter.verify = {value}")
    assert connection.execute("SET rewriter.verify").fetchall() == [("rewriter.verify", shown)]


@pytest.mark.parametrize("value", ["0%", "101%", "-1%", "%", "1", "1e1%", "0.0000001%", "always"])
def test_other_values_are_refused(connection: Connection, value: str) -> None:
    with pytest.raises(rewriter.DataError, match="no way to verify"):
        connection.execute(f"SET rewriter.verify = '{value}'")


def test_a_proof_compares_the_rollups_of_all_tables(tmp_path: Path) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        for statement in (
            "CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE TABLE h (k STRING, n BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt)) "
            "ROLLUPS (DAILY, MONTHLY)",
            "INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-02-04' VALUES ('a', 2, '2024-01-05-03')",
            "REFRESH FACT f",
            "SET rewriter.verify = 100%",
        ):
            connection.execute(statement)
        cursor = connection.execute("SELECT SUM(n) FROM c WHERE t >= '2024-01-01' AND t < '2024-02-04'")
        cursor.fetchall()
        assert proof_of(cursor).wait(300)
        assert (proof_of(cursor).compared, proof_of(cursor).partitions) == (4, 4)


@pytest.mark.filterwarnings("ignore:days DAILY")
def test_a_proof_of_some_of_the_queries_compares_a_part(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three proofs compare all forty: a sixth of them would be less than the first comparison has."""
    monkeypatch.setattr(shadow_proofs, "_QUERIES_PER_PROOF", 1_000_000)
    corrupt(connection)
    connection.execute("SET rewriter.verify = 99.999%")
    compared = []
    for _ in range(3):
        cursor = connection.execute(QUERY)
        cursor.fetchall()
        assert proof_of(cursor).wait(300)
        compared.append(proof_of(cursor).compared)
    assert compared == [16, 16, 16]
    assert connection.execute(QUERY).fetchall() == RIGHT


@pytest.mark.filterwarnings("ignore:days DAILY")
def test_proofs_compare_other_partitions_each_time(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """With time for one comparison of 16 partitions, three proofs compare all forty."""
    monkeypatch.setattr(shadow_proof, "_GROWTH", 0)
    corrupt(connection)
    connection.execute("SET rewriter.verify = 100%")
    compared = []
    for _ in range(3):
        cursor = connection.execute(QUERY)
        cursor.fetchall()
        assert proof_of(cursor).wait(300)
        compared.append(proof_of(cursor).compared)
    assert compared == [16, 16, 16]
    assert connection.execute(QUERY).fetchall() == RIGHT


@pytest.mark.parametrize("suffix", ["", " FROM '2024-01-01' TO '2024-02-10'"])
def test_check_fact_compares_a_sample(connection: Connection, suffix: str) -> None:
    rows = connection.execute(f"CHECK FACT log{suffix} SAMPLE 5 PERCENT").fetchall()
    assert [(row[0], row[-2], row[-1]) for row in rows] == [("days", "agrees", 2)]
    rows = connection.execute(f"CHECK FACT log{suffix} SAMPLE 0.01 PERCENT").fetchall()
    assert [(row[0], row[-2], row[-1]) for row in rows] == [("days", "agrees", 1)]


def test_check_fact_accepts_what_it_has_sampled_alone(connection: Connection) -> None:
    connection.execute(
        "INSERT OVERWRITE days SELECT depot, n, weight, d FROM days WHERE d < DATE '2024-01-21' AND n > 0"
    )
    rows = connection.execute("CHECK FACT log SAMPLE 10 PERCENT ACCEPT").fetchall()
    accepted = sum(int(row[-1]) for row in rows if row[-2] == "accepted")
    unproven = sum(int(row[4]) for row in connection.execute("SHOW UNPROVEN PARTITIONS OF log").fetchall())
    assert accepted + unproven == 20


def test_check_fact_refuses_no_sample(connection: Connection) -> None:
    for percent in ("0", "101", "1e1"):
        with pytest.raises(rewriter.ProgrammingError, match=f"SAMPLE {percent} PERCENT is no part"):
            connection.execute(f"CHECK FACT log SAMPLE {percent} PERCENT")


@pytest.mark.filterwarnings("ignore:depots.days DAILY")
def test_in_another_database(tmp_path: Path) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        connection.execute("CREATE DATABASE depots")
        connection.execute("USE depots")
        for statement in WORLD.split(";"):
            connection.execute(statement)
        corrupt(connection)
        connection.execute("SET rewriter.verify = 100%")
        connection.execute("SET rewriter.verify_seconds = 300")
        connection.execute("SET rewriter.verify_when = before")
        cursor = connection.execute(QUERY)
        assert cursor.fetchall() == RIGHT
        assert proof_of(cursor).differing == ("depots.days DAILY 2024-01-01",)


def test_a_difference_is_told_where_the_catalog_cannot_be_written(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise rewriter.OperationalError("The catalog cannot be written.")

    corrupt(connection)
    monkeypatch.setattr(shadow_proof, "reject", refuse)
    connection.execute("SET rewriter.verify = 100%")
    connection.execute("SET rewriter.verify_when = before")
    with pytest.warns(rewriter.Warning, match=r"2024-01-01 differs .* still used, because the commit failed \(The cat"):
        assert connection.execute(QUERY).fetchall() == WRONG


@pytest.mark.filterwarnings("ignore:days DAILY")
@pytest.mark.parametrize("moment", ["after", "before"])
@pytest.mark.parametrize(
    "statement", ["INSERT INTO billed SELECT depot, n FROM ({}) AS q", "CREATE OR REPLACE TABLE billed AS {}"]
)
def test_rows_that_are_written_get_a_proof(connection: Connection, statement: str, moment: str) -> None:
    """Before the statement, a wrong row is never written; after it, the statement says so."""
    connection.execute("CREATE TABLE billed (depot STRING, n BIGINT)")
    corrupt(connection)
    connection.execute("SET rewriter.verify = 100%")
    connection.execute(f"SET rewriter.verify_when = {moment}")
    proof = proof_of(connection.execute(statement.format(QUERY.partition(" ORDER BY")[0])))
    assert proof.wait(300)
    assert proof.differing == ("days DAILY 2024-01-01",)
    rows = connection.execute("SELECT depot, n FROM billed ORDER BY depot").fetchall()
    assert rows == (RIGHT if moment == "before" else WRONG)
