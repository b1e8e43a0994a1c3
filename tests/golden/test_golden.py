"""Runs the golden files beside this one; ``pytest tests/golden --rewrite`` accepts what came out."""

from pathlib import Path

import pytest

from rewriter.golden.runner import accept, golden_files, run_file, run_report

FOLDER = Path(__file__).parent


@pytest.mark.share(1)
@pytest.mark.parametrize("path", golden_files(FOLDER), ids=lambda path: path.stem)
def test_golden_file(path: Path, request: pytest.FixtureRequest) -> None:
    run = run_file(path)
    rewrite = request.config.getoption("--rewrite")
    if rewrite:
        accept(run)
    shown = run_report(run, rewrite=rewrite)
    assert not shown, f"\n{shown}\n\npytest tests/golden --rewrite accepts the actual output."
