"""Each block of each page of docs/ runs: here, or by the test that ``page_runner.ELSEWHERE`` names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import check_examples, dead_links
from page_runner import DOCS, ELSEWHERE, ROOT, blocks, is_run_elsewhere, run_page
from sqlalchemy.dialects import registry
from warm_commands import command

# As the entry point of an installed package does.
registry.register("rewriter", "rewriter.integrations.sqlalchemy.dialect", "RewriterDialect")

#: Pages whose blocks do not run yet.
PENDING = """
how-to/clusters.md how-to/metastore.md how-to/notebooks.md how-to/object-stores.md
how-to/pictures.md how-to/scheduling.md how-to/spark-cluster.md how-to/streaming.md
""".split()
PAGES = sorted(DOCS.rglob("*.md"))
#: Pages that continue in the directory of the page before them.
SERIES = [["tutorial/first-cube.md", "tutorial/late-data.md", "tutorial/golden-test.md", "tutorial/spark.md"]]
#: Texts of pages, and what stands for them: ``{directory}`` is that of the test.
REPLACEMENTS: dict[str, dict[str, str]] = {}


def _name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def _series() -> list[list[Path]]:
    """Returns the pages in lists that run in one directory."""
    continued = {name for names in SERIES for name in names}
    together = [[DOCS / name for name in names if (DOCS / name).exists()] for names in SERIES]
    return [pages for pages in together if pages] + [[page] for page in PAGES if _name(page) not in continued]


def _is_run_here(page: Path) -> bool:
    """Returns whether the page has blocks that the runner runs."""
    return _name(page) not in PENDING and any(
        block.language not in ("golden", "syntax") and not is_run_elsewhere(_name(page), block)
        for block in blocks(page)
    )


RUN = [pages for pages in _series() if any(map(_is_run_here, pages))]


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("commands")
    with command(directory):
        yield directory


@pytest.mark.share(1)
@pytest.mark.parametrize("pages", RUN, ids=lambda pages: _name(pages[0]))
def test_the_blocks_run(pages: list[Path], tmp_path: Path, commands: Path, request: pytest.FixtureRequest) -> None:
    for page in pages:
        replacements = {
            text: value.format(directory=tmp_path) for text, value in REPLACEMENTS.get(_name(page), {}).items()
        }
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


def test_bash_is_there() -> None:
    assert shutil.which("bash")
