"""Each block of each page of docs/ runs: here, or by the test that ``page_runner.ELSEWHERE`` names."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from documents import check_examples, dead_links
from page_runner import DOCS, ELSEWHERE, ROOT, blocks, is_run_elsewhere, run_page
from page_servers import SERVERS
from page_servers import bucket_of_page as bucket_of_page
from page_servers import database_of_page as database_of_page
from sqlalchemy.dialects import registry

from benchmarks.stages import STAGES

# As the entry point of an installed package does.
registry.register("rewriter", "rewriter.integrations.sqlalchemy.dialect", "RewriterDialect")

PAGES = sorted(DOCS.rglob("*.md"))
#: Pages that continue in the directory of the page before them; the last one takes Spark.
TUTORIAL = [DOCS / "tutorial" / f"{name}.md" for name in ("first-cube", "late-data", "golden-test", "spark")]
#: Texts of pages, and what stands for them: ``{directory}`` is that of the test.
REPLACEMENTS: dict[str, dict[str, str]] = {
    "how-to/clusters.md": {"/shared": "{directory}"},
    "how-to/external-tables.md": {"/data": "{directory}"},
    "how-to/scheduling.md": {"/data": "{directory}"},
    "how-to/postgresql.md": {"/shared": "{directory}/shared"},
}


def _name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def _is_run_here(page: Path) -> bool:
    """Returns whether the page has blocks that the runner runs."""
    return any(
        block.language not in ("golden", "syntax") and not is_run_elsewhere(_name(page), block)
        for block in blocks(page)
    )


RUN = [page for page in PAGES if page not in TUTORIAL and _is_run_here(page)]


@pytest.mark.share(1)
@pytest.mark.parametrize("page", RUN, ids=_name)
def test_the_blocks_run(page: Path, tmp_path: Path, commands: Path, request: pytest.FixtureRequest) -> None:
    _run([page], tmp_path, commands, request)


@pytest.mark.spark
def test_the_blocks_of_the_tutorial_run(tmp_path: Path, commands: Path, request: pytest.FixtureRequest) -> None:
    _run(TUTORIAL, tmp_path, commands, request)


def _run(pages: list[Path], tmp_path: Path, commands: Path, request: pytest.FixtureRequest) -> None:
    for page in pages:
        server = SERVERS.get(_name(page))
        replacements: dict[str, str] = request.getfixturevalue(server) if server else {}
        for text, value in REPLACEMENTS.get(_name(page), {}).items():
            replacements[text] = value.format(directory=tmp_path)
        run_page(page, tmp_path, commands, replacements, rewrite=request.config.getoption("--rewrite"))


GOLDEN = [page for page in PAGES if "```golden" in page.read_text(encoding="utf-8")]


@pytest.mark.share(1)
@pytest.mark.parametrize("page", GOLDEN, ids=_name)
def test_the_golden_cases_have_their_output(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if "golden" not in ELSEWHERE.get(_name(page), {}):
        check_examples(page, tmp_path, rewrite=request.config.getoption("--rewrite"))


@pytest.mark.share(1)
@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page) == []


def test_tests_of_other_files_name_the_page() -> None:
    for page, tests in ELSEWHERE.items():
        assert (DOCS / page).exists()
        for test in set(tests.values()):
            assert Path(page).name in (ROOT / test).read_text(encoding="utf-8"), f"{test} does not name {page}"


def test_the_picture_of_a_query_has_the_steps_that_are_measured() -> None:
    (picture,) = [
        block.text for block in blocks(DOCS / "explanation/what-a-query-costs.md") if block.language == "text"
    ]
    steps = {re.split(r" {2,}", line.strip(" │"))[0] for line in picture.splitlines()}
    assert {name for name in STAGES if not name.startswith("DuckDB: ")} <= steps


def test_bash_is_there() -> None:
    assert shutil.which("bash")
