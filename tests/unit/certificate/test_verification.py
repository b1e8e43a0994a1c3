"""``rewriter.verify``, and the certificate and the completeness that results carry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_law import LATE, RANGE, WORLD

import rewriter
from rewriter.catalog.commit.fact_timelines import FactTimelineUpdate
from rewriter.cli import main
from rewriter.dbapi.connection import Connection
from rewriter.statements.query import certificates

QUERY = f"SELECT carrier, SUM(distance) AS distance FROM flights WHERE {RANGE} GROUP BY carrier"
PARTLY = "SELECT COUNT(*) AS n FROM flights WHERE departed >= '2013-02-28' AND departed < '2013-03-05'"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as opened:
        for statement in WORLD.split(";"):
            opened.execute(statement)
        yield opened


def test_a_cursor_makes_the_certificate_of_what_it_read(connection: Connection) -> None:
    cursor = connection.execute(QUERY)
    assert cursor.stats is not None
    assert cursor.stats.verification is None
    connection.execute(LATE)
    certificate = cursor.certificate
    assert certificate is not None
    explained = connection.execute(f"EXPLAIN CERTIFICATE {QUERY}").fetchall()
    later = json.loads("\n".join(str(line) for (line,) in explained))
    assert later["commit"] == certificate["commit"] + 1
    assert [piece["table"] for piece in certificate["references"][0]["pieces"]] == ["months", "hours"]
    assert certificates.check_certificate(certificate, connection.session.catalog).is_accepted


def test_other_statements_have_none(connection: Connection) -> None:
    assert connection.execute("SELECT 1 AS a").certificate is None
    assert connection.execute("SHOW TABLES").certificate is None
    with connection.cursor() as cursor:
        assert cursor.certificate is None


def test_a_transaction_has_none(connection: Connection) -> None:
    connection.execute("SET rewriter.verify = certificate")
    connection.execute("START TRANSACTION")
    connection.execute(LATE)
    cursor = connection.execute(QUERY)
    with pytest.raises(rewriter.NotSupportedError, match="has changed something") as caught:
        _ = cursor.certificate
    assert caught.value.condition == "NO_CERTIFICATE"
    assert cursor.stats is not None
    assert cursor.stats.verification is None


def test_each_planned_query_is_checked(connection: Connection) -> None:
    connection.execute("SET rewriter.verify = certificate")
    for _ in range(2):
        cursor = connection.execute(QUERY)
        assert cursor.stats is not None
        assert cursor.stats.verification is not None
        assert cursor.stats.verification.is_accepted
        assert cursor.certificate is cursor.stats.verification.certificate
    cursor = connection.execute(
        f"WITH a AS (SELECT SUM(distance) AS d FROM flights WHERE {RANGE}) SELECT d + 1 AS e FROM a"
    )
    assert cursor.stats is not None
    assert cursor.stats.verification is not None
    assert not cursor.stats.verification.is_accepted or cursor.stats.verification.findings == ()


def test_a_wrong_cover_is_refused(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog misses that a late event outdates its day and its month."""
    monkeypatch.setattr(FactTimelineUpdate, "_note_base_change", lambda *args: None)
    connection.execute(LATE)
    assert sorted(connection.execute(QUERY).fetchall()) == [("AA", 300), ("UA", 900)]
    connection.execute("SET rewriter.verify = certificate")
    with pytest.raises(rewriter.IntegrityError, match="contradicts the cover") as caught:
        connection.execute(QUERY)
    assert caught.value.condition == "CERTIFICATE_REFUTED"
    with pytest.raises(rewriter.IntegrityError):
        connection.execute(f"CREATE TABLE copy AS {QUERY}")
    connection.execute("SET rewriter.verify = off")
    assert len(connection.execute(QUERY).fetchall()) == 2


def test_a_kept_query_keeps_its_verdict_until_the_next_commit(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("SET rewriter.verify = certificate")
    first, second = connection.execute(QUERY), connection.execute(QUERY)
    assert first.certificate is second.certificate
    other_text = connection.execute(QUERY.replace("distance AS distance", "distance"))
    assert other_text.stats is not None
    assert other_text.stats.verification is not None
    assert other_text.stats.verification.is_accepted
    # Rollups that were checked at this commit are checked again at the next one.
    monkeypatch.setattr(FactTimelineUpdate, "_note_base_change", lambda *args: None)
    connection.execute(LATE)
    for query in (QUERY, QUERY.replace("distance AS distance", "distance")):
        with pytest.raises(rewriter.IntegrityError, match="contradicts the cover"):
            connection.execute(query)


def test_results_say_what_they_lack(connection: Connection) -> None:
    connection.execute("SET rewriter.partial_data = true")
    expected = {"complete": False, "missing": ["[2013-03-02, 2013-03-05)"], "open_begins": [], "open_ends": []}
    with pytest.warns(rewriter.PartialResultWarning):
        table = connection.execute(PARTLY).fetch_arrow_table()
    assert json.loads(table.schema.metadata[b"rewriter"]) == expected
    with pytest.warns(rewriter.PartialResultWarning):
        reader = connection.execute(PARTLY).fetch_record_batches()
    assert json.loads(reader.schema.metadata[b"rewriter"]) == expected
    assert reader.read_all().num_rows == 1
    with pytest.warns(rewriter.PartialResultWarning):
        assert connection.execute(PARTLY).fetch_df().attrs["rewriter"] == expected
    connection.execute("SET rewriter.verify = certificate")
    metadata = connection.execute(QUERY).fetch_df().attrs["rewriter"]
    assert metadata["complete"]
    assert certificates.check_certificate(metadata["certificate"], connection.session.catalog).is_accepted
    assert connection.execute("SELECT 1 AS a").fetch_arrow_table().schema.metadata is None
    assert "rewriter" not in connection.execute("SELECT 1 AS a").fetch_df().attrs


def test_a_command_writes_the_certificate(
    connection: Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, common = tmp_path / "c.json", ["-w", str(tmp_path / "w"), "--engine", "duckdb"]
    assert main.main(["sql", *common, "-e", f"SHOW TABLES; {QUERY}", "--certificate", str(file)]) == 0
    assert main.main(["verify", str(file), "-w", str(tmp_path / "w")]) == 0
    assert "is accepted" in capsys.readouterr().out
    file.unlink()
    assert main.main(["sql", *common, "-e", "SHOW TABLES", "--certificate", str(file)]) == 1
    assert not file.exists()
    assert "No statement was a query over a cube" in capsys.readouterr().err


def test_other_values_are_refused(connection: Connection) -> None:
    for value in ("on", "0%", "''"):
        with pytest.raises(rewriter.DataError, match="no way to verify"):
            connection.execute(f"SET rewriter.verify = {value}")
