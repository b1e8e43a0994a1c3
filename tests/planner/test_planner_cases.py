"""Runs the planner's cases beside this one; ``pytest tests/planner --rewrite`` accepts what came out."""

from pathlib import Path

import pytest
from golden_checks import check_golden_file

from rewriter.golden.runner import golden_files


@pytest.mark.share(1)
@pytest.mark.parametrize("path", golden_files(Path(__file__).parent), ids=lambda path: path.stem)
def test_planner_cases(path: Path, request: pytest.FixtureRequest) -> None:
    check_golden_file(path, request)
