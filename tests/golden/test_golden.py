"""Runs the golden files beside this one; ``pytest tests/golden --rewrite`` accepts what came out."""

from pathlib import Path

import pytest

from rewriter.golden import accept, differences, golden_files, run_file

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("path", golden_files(FOLDER), ids=lambda path: path.stem)
def test_golden_file(path: Path, request: pytest.FixtureRequest) -> None:
    outcomes, after = run_file(path)
    rewrite = request.config.getoption("--rewrite")
    if rewrite:
        accept(path, outcomes, after)
    bad = [outcome for outcome in outcomes if (outcome.failed if rewrite else not outcome.passed)]
    report = "\n\n".join(differences(path, outcome) for outcome in bad)
    assert not bad, f"\n{report}\n\npytest tests/golden --rewrite accepts the actual output."
