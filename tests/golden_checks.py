"""Runs the golden files of a folder of tests."""

from pathlib import Path

import pytest

from rewriter.golden.runner import accept, run_file, run_report


def check_golden_file(path: Path, request: pytest.FixtureRequest) -> None:
    """Runs a golden file, and fails if one of its cases has another output.

    With ``--rewrite`` the actual output is written into the file.
    """
    run = run_file(path)
    rewrite = request.config.getoption("--rewrite")
    if rewrite:
        accept(run)
    shown = run_report(run, rewrite=rewrite)
    folder = path.parent.relative_to(request.config.rootpath)
    assert not shown, f"\n{shown}\n\npytest {folder} --rewrite accepts the actual output."
