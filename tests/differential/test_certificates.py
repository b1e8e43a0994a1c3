"""Certificates of random queries over random histories: none is refuted, and those that are understood are accepted.

A certificate that is refuted shows that the planner or the checker is wrong.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import rotation

import rewriter
from rewriter.certificate.evidence import Verdict
from rewriter.errors import Error
from rewriter.statements.query.certificates import check_certificate

from . import campaign
from .checking import Answer, Question, _typed
from .histories import History
from .reference import Reference


def _verdict(question: Question, connection: rewriter.Connection) -> tuple[Verdict, bool] | None:
    """Returns the verdict on a query, and whether a piece is a rollup; ``None`` for a query without a certificate."""
    cursor = connection.cursor()
    try:
        cursor.execute(f"EXPLAIN CERTIFICATE {_typed(question).text}")
    except Error:
        return None
    certificate = json.loads("\n".join(row[0] for row in cursor.fetchall()))
    pieces = [piece for reference in certificate["references"] for piece in reference["pieces"]]
    is_rolled = any(piece["rests_on"][0]["kind"] != "base" for piece in pieces)
    return check_certificate(certificate, connection.session.catalog), is_rolled


def _run(seeds: list[int], queries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    tally: Counter[str] = Counter()
    checked = campaign.check

    def check(
        history: History, reference: Reference, question: Question, asking: rewriter.Connection, *, frames: bool
    ) -> Answer:
        answer = checked(history, reference, question, asking, frames=frames)
        verdict_and_rollups = _verdict(question, asking)
        if verdict_and_rollups is not None:
            verdict, is_rolled = verdict_and_rollups
            tally["accepted" if verdict.is_accepted else "refuted" if verdict.is_refuted else "not understood"] += 1
            tally["rolled and accepted"] += verdict.is_accepted and is_rolled
            told = "\n".join(map(str, verdict.findings))
            assert not verdict.is_refuted, f"{_typed(question).text}\n{told}"
        return answer

    monkeypatch.setattr(campaign, "check", check)
    for seed in seeds:
        result = campaign.run_seed(seed, campaign.Campaign(queries=queries), tmp_path)
        assert not result.failures, result.failures
    return tally


def test_no_certificate_is_refuted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tally = _run(rotation.share(range(40), 20), 24, tmp_path, monkeypatch)
    assert sum(tally.values())


@pytest.mark.long
def test_no_certificate_is_refuted_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tally = _run(list(range(40)), 60, tmp_path, monkeypatch)
    print(tally)
    assert tally["accepted"] > 100
    assert tally["rolled and accepted"] > 10
