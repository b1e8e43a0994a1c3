"""The pipelines of docs/how-to/ci.md: their commands run in a repository that has the files of the page."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from page_runner import DOCS, ROOT, Block, blocks

PAGE = DOCS / "how-to" / "ci.md"
PIPELINES = {block.title: block for block in blocks(PAGE) if block.language == "yaml"}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files of the page, and its production."""
    directory = tmp_path_factory.mktemp("repository")
    for block in blocks(PAGE):
        if block.title:
            path = directory / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text + "\n", encoding="utf-8")
    (made,) = re.findall(r"^\$ (rewriter sql -w production .*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert _run(made, directory) == 0
    return directory


def _run(command: str, directory: Path, environment: dict[str, str] | None = None) -> int:
    own = f'rewriter() {{ {shlex.quote(sys.executable)} -m rewriter "$@"; }}\n'
    variables = {name: os.environ[name] for name in os.environ if not name.startswith(("PYTEST_", "REWRITER_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables |= {"PATH": path, "PYTHONPATH": str(ROOT), **(environment or {})}
    return subprocess.run(["bash", "-c", own + command], cwd=directory, env=variables, timeout=300).returncode


def _parsed(block: Block) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(block.text)
    return parsed


def _checked(commands: list[str]) -> list[str]:
    """Returns the commands but for those of pip, which install packages that exist, with extras that exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for command in commands:
        for name, extra in re.findall(r"(?<= )'?([\w-]+)(?:\[(\w+)\])?", command if "pip install" in command else ""):
            assert name in ("install", "rewriter", "pytest")
            assert not extra or extra in project["optional-dependencies"]
    return [command for command in commands if "pip install" not in command]


@pytest.mark.share(1)
@pytest.mark.parametrize("title", [title for title in PIPELINES if title.startswith(".github/workflows/")])
def test_the_workflows_of_github_run(title: str, repository: Path) -> None:
    workflow = _parsed(PIPELINES[title])
    assert workflow[True]  # YAML 1.1 reads the key `on` so; GitHub does not.
    (job,) = workflow["jobs"].values()
    assert job["runs-on"]
    commands = _checked([step["run"] for step in job["steps"] if "run" in step])
    assert commands
    for command in commands:
        assert _run(command, repository, job.get("env")) == 0


def test_the_pipeline_of_gitlab_runs(repository: Path) -> None:
    (job,) = _parsed(PIPELINES[".gitlab-ci.yml"]).values()
    commands = _checked(job["script"])
    assert commands
    for command in commands:
        assert _run(command, repository) == 0
    assert (repository / job["artifacts"]["reports"]["junit"]).exists()


def test_the_hook_of_pre_commit_runs(repository: Path) -> None:
    ((repo,),) = _parsed(PIPELINES[".pre-commit-config.yaml"]).values()
    (hook,) = repo["hooks"]
    changed = [str(path.relative_to(repository)) for path in repository.rglob("*") if path.is_file()]
    files = [path for path in changed if re.search(hook["files"], path) and path.startswith("queries/")]
    assert files == ["queries/flights.golden"]
    assert _run(f"{hook['entry']} {' '.join(files)}", repository) == 0


def test_all_pipelines_are_tried() -> None:
    assert len(PIPELINES) == 4
