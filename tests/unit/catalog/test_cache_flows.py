"""The flows of the seed, and others, step by step; ``pytest --rewrite`` on this file accepts what came out."""

from pathlib import Path

import pytest

from .cache_flows import run_file

FOLDER = Path(__file__).parent / "cache_flows"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.flow")), ids=lambda path: path.stem)
def test_flow(path: Path, tmp_path: Path, catalog_url: str | None, request: pytest.FixtureRequest) -> None:
    actual = run_file(path, tmp_path, catalog_url)
    if request.config.getoption("--rewrite"):
        path.write_text(actual, encoding="utf-8")
    assert actual == path.read_text(encoding="utf-8")
