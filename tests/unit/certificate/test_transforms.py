"""The checker over base tables with hidden partition columns: honest plans, and plans that read other rows."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewriter.certificate.evidence import Verdict
from rewriter.session import Session
from rewriter.statements.query.certificates import check_certificate

TRANSFORMS = {"hours": "TIMESTAMP", "days": "TIMESTAMP", "months": "TIMESTAMP", "years": "TIMESTAMP", "dates": "DATE"}
SELECT = (
    "SELECT region, SUM(n) AS n, COUNT(*) AS events FROM c_{} WHERE t >= '2023-11-01' AND t < '2024-02-01 00:00:00'"
)
TAIL = " GROUP BY region"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("transforms") / "w", engine="duckdb") as opened:
        for name, type in TRANSFORMS.items():
            transform = "days" if name == "dates" else name
            for _ in opened.script(
                f"""
                CREATE TABLE events_{name} (n BIGINT, at {type}, region STRING) PARTITIONED BY ({transform}(at));
                CREATE CUBE c_{name} (region STRING, n BIGINT MEASURE SUM, events BIGINT MEASURE COUNT,
                  t TIMESTAMP TIME);
                CREATE FACT f_{name} OF CUBE c_{name} STORED IN (TABLE events_{name} RAW (t AS at));
                INSERT INTO events_{name} MARK COMPLETE FROM '2023-01-01' TO '2025-01-01'
                  SELECT n, CAST(at AS {type}), region FROM VALUES
                  (1, '2023-12-01', 'n'), (2, '2023-12-31 23:59:59.999999', 'n'), (4, '2024-01-01', 's'),
                  (8, '2024-01-31 23:59:59.999999', 's'), (16, '2024-02-01', 's'), (32, NULL, 's') AS v (n, at, region)
                """
            ):
                pass
        yield opened


def certificate_of(session: Session, query: str) -> dict[str, Any]:
    rows = session.execute(f"EXPLAIN CERTIFICATE {query}").rows()
    stated: dict[str, Any] = json.loads("\n".join(str(row[0]) for row in rows))
    return stated


def verdict(session: Session, certificate: dict[str, Any]) -> Verdict:
    return check_certificate(certificate, session.catalog)


def forged(certificate: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Returns the certificate with another text in the place of the cube."""
    changed = copy.deepcopy(certificate)
    start = changed["references"][0]["start"]
    (edit,) = [edit for edit in changed["edits"] if edit[0] == start]
    assert old in edit[2], edit[2]
    made = edit[2].replace(old, new)
    changed["sql"] = changed["sql"].replace(edit[2], made)
    edit[2] = made
    return changed


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(
    "condition",
    [
        "t >= '2023-11-01' AND t < '2024-02-01'",
        "t >= '2023-12-05' AND t < '2024-01-17'",
        "t >= '2023-11-01' AND t < '2024-02-01' AND NOT (t >= '2023-12-05' AND t < '2023-12-08')",
        "t >= '2023-11-01' AND t < '2024-02-01' AND region = 's'",
        "year(t) = 2023",
    ],
)
def test_honest_plans_are_accepted(session: Session, name: str, condition: str) -> None:
    query = f"SELECT region, SUM(n) AS n, COUNT(*) AS events FROM c_{name} WHERE {condition} GROUP BY region"
    checked = verdict(session, certificate_of(session, query))
    assert checked.is_accepted, checked.findings


FIRST_DAY = "2023-11-01 00:00:00"
LIES: dict[str, tuple[str, str]] = {
    "a microsecond later": (FIRST_DAY, "2023-11-01 00:00:00.000001"),
    "a period later": (FIRST_DAY, "2023-12-01 00:00:00"),
    "a part of a period earlier": (FIRST_DAY, "2023-10-31 23:30:00"),
    "without the first moment": ("at >= ", "at > "),
    "no lower bound": (f"at >= TIMESTAMP '{FIRST_DAY}'", "1 = 1"),
    "without the last moment": (".999999", ".999998"),
    "either bound": (" AND at <= ", " OR at <= "),
    "a moment left out": ("at >= ", "at <> TIMESTAMP '2023-12-31 12:00:00' AND at >= "),
    "the times of a list": ("at >= ", "at IN (TIMESTAMP '2023-12-31 12:00:00') AND at >= "),
    "with NULL": ("at >= ", "at IS NULL OR at >= "),
    "a function of the time": ("at >= ", "minute(at) >= 30 AND at >= "),
    "rows of another column": ("at >= ", "n > 1 AND at >= "),
}


@pytest.mark.parametrize("name", ["hours", "days", "months"])
@pytest.mark.parametrize("lie", LIES)
def test_plans_that_read_other_rows_are_not_accepted(session: Session, name: str, lie: str) -> None:
    certificate = certificate_of(session, SELECT.format(name) + TAIL)
    assert verdict(session, certificate).is_accepted
    changed = forged(certificate, *LIES[lie])
    checked = verdict(session, changed)
    assert not checked.is_accepted, changed["sql"]
    # A partition of NULL has no time, which a certificate cannot name.
    is_unknown = lie in ("no lower bound", "a function of the time", "rows of another column", "with NULL")
    assert checked.is_refuted or is_unknown, checked.findings


@pytest.mark.parametrize(("old", "new"), [("2023-11-01", "2023-11-02"), ("2024-01-31", "2024-01-30"), (">=", ">")])
def test_dates_of_events_are_compared_as_days(session: Session, old: str, new: str) -> None:
    certificate = certificate_of(session, SELECT.format("dates") + TAIL)
    assert verdict(session, certificate).is_accepted
    assert verdict(session, forged(certificate, old, new)).is_refuted


@pytest.mark.parametrize("member", ["digest", "rows", "partitions", "ranges"])
def test_other_pieces_are_refuted(session: Session, member: str) -> None:
    certificate = certificate_of(session, SELECT.format("days") + TAIL)
    (piece,) = certificate["references"][0]["pieces"]
    lies = {
        "digest": "0" * 16,
        "rows": 3,
        "partitions": 5,
        "ranges": [["2023-11-01T00:00:00Z", "2024-01-31T00:00:00Z"]],
    }
    piece[member] = lies[member]
    assert verdict(session, certificate).is_refuted


def test_queries_are_verified_before_they_run(tmp_path: Path) -> None:
    with Session(tmp_path / "w", engine="duckdb") as session:
        for _ in session.script(
            """
            CREATE TABLE events (n BIGINT, at TIMESTAMP) PARTITIONED BY (days(at));
            CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
            CREATE FACT f OF CUBE c STORED IN (TABLE events RAW (t AS at)) ROLLUPS (MONTHLY);
            INSERT INTO events MARK COMPLETE FROM '2024-01-01' TO '2024-02-03'
              VALUES (1, TIMESTAMP '2024-01-01 00:00:00'), (2, TIMESTAMP '2024-02-02 12:00:00');
            REFRESH FACT f;
            SET rewriter.verify = certificate
            """
        ):
            pass
        result = session.execute("SELECT SUM(n) FROM c WHERE t >= '2024-01-01' AND t < '2024-02-02 12:00:00'")
        assert result.fetch() == [(1,)]
        tables = [part.table for reference in result.coverage.references for part in reference.parts]
        assert tables == ["f_monthly", "events"]
    checked = result.stats.verification
    assert checked is not None
    assert checked.findings == ()
