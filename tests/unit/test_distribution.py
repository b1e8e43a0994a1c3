"""The sdist and the wheel: the version, the files and the metadata; the wheel in an environment of its own."""

from __future__ import annotations

import email.message
import email.parser
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import rewriter
from rewriter.cli.main import main

ROOT = Path(__file__).parents[2]
PACKAGES = ("rewriter", "rewriter_pytest")
#: The name of a file in an archive, and its bytes.
Files = dict[str, bytes]

_BUILD = """
import sys
from setuptools import build_meta
# A build changes the arguments.
_, output, *wanted = sys.argv
build_meta.build_wheel(output)
if "sdist" in wanted:
    build_meta.build_sdist(output)
"""


def _setuptools_is_new_enough() -> bool:
    try:
        return int(importlib.metadata.version("setuptools").split(".")[0]) >= 77
    except importlib.metadata.PackageNotFoundError:
        return False


def _build(tree: Path, output: Path, *wanted: str) -> None:
    """Builds a wheel from a tree, and an sdist if it is wanted, without a network."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", _BUILD, str(output), *wanted]
    built = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies the project: a build leaves directories in the tree that it builds."""
    if not _setuptools_is_new_enough():
        pytest.skip("needs setuptools 77 or newer")
    copy = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*")
    for name in (*PACKAGES, "docs", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for file in (
        *ROOT.glob("*.md"),
        *(ROOT / name for name in ("LICENSE", "MANIFEST.in", "conftest.py", "mkdocs.yml", "mkdocs_hooks.py")),
    ):
        shutil.copy(file, copy)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


@pytest.fixture(scope="module")
def built(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with the sdist and the wheel."""
    output = tmp_path_factory.mktemp("built")
    _build(tree, output, "sdist")
    return output


def _wheel_files(directory: Path) -> Files:
    (path,) = directory.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _sdist_files(directory: Path) -> Files:
    """Returns the files of the sdist, without the directory that contains all of them."""
    (path,) = directory.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        members = [(member, archive.extractfile(member)) for member in archive.getmembers()]
        return {member.name.partition("/")[2]: file.read() for member, file in members if file}


def _package_files() -> Files:
    """Returns all files of the packages in the tree, with their paths."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    return {
        str(path.relative_to(ROOT)): path.read_bytes()
        for path in paths
        if path.suffix not in (".pyc", ".pyo")
        and not any(part.startswith(".") for part in path.parts[len(ROOT.parts) :])
    }


def _metadata(files: Files) -> email.message.Message:
    (name,) = (name for name in files if name.endswith(".dist-info/METADATA"))
    return email.parser.Parser().parsestr(files[name].decode())


def _newest_version_of_the_changelog() -> str:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.findall(r"^## \[(\d[^\]]*)\]", text, flags=re.MULTILINE)[0]


def test_the_changelog_begins_with_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert _newest_version_of_the_changelog() == rewriter.__version__
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rewriter {rewriter.__version__}\n"


def test_the_wheel_has_the_version(built: Path) -> None:
    assert _metadata(_wheel_files(built))["Version"] == rewriter.__version__
    assert {path.name for path in built.iterdir()} == {
        f"rewriter-{rewriter.__version__}.tar.gz",
        f"rewriter-{rewriter.__version__}-py3-none-any.whl",
    }


def test_the_wheel_has_all_files_of_the_packages_and_no_others(built: Path) -> None:
    wheel = _wheel_files(built)
    assert {name: data for name, data in wheel.items() if ".dist-info/" not in name} == _package_files()
    (license_name,) = (name for name in wheel if name.endswith("/licenses/LICENSE"))
    assert wheel[license_name] == (ROOT / "LICENSE").read_bytes()


def test_the_sdist_has_the_packages_the_pages_and_the_tests(built: Path) -> None:
    sdist = _sdist_files(built)
    assert {name: sdist.get(name) for name in _package_files()} == _package_files()
    named = ["LICENSE", "pyproject.toml", "conftest.py", *(path.name for path in ROOT.glob("*.md"))]
    named += [str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")]
    named += [str(Path(__file__).relative_to(ROOT))]
    assert [name for name in named if sdist.get(name) != (ROOT / name).read_bytes()] == []
    assert [name for name in sdist if "__pycache__" in name or name.endswith(".pyc")] == []


def test_a_wheel_of_the_sdist_is_that_of_the_tree(built: Path, tmp_path: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path / "unpacked")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    _build(unpacked, tmp_path)
    assert _wheel_files(tmp_path) == _wheel_files(built)


def test_the_metadata_are_complete(built: Path) -> None:
    metadata = _metadata(_wheel_files(built))
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata["Summary"]
    assert metadata["Keywords"]
    classifiers = metadata.get_all("Classifier") or []
    assert "Typing :: Typed" in classifiers
    # A license expression and a classifier of a license exclude each other.
    assert not [classifier for classifier in classifiers if classifier.startswith("License")]
    assert str(metadata.get_payload()) == (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_wheel_runs_in_an_environment_of_its_own(built: Path, tmp_path: Path) -> None:
    """Installs the wheel without an extra, and runs it from another directory. It takes some minutes."""
    (wheel,) = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    programs, elsewhere = tmp_path / "environment" / "bin", tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run([programs / "python", "-m", "pip", "install", "-q", wheel], check=True, cwd=elsewhere)
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "REWRITER"))}

    def run(program: str, *words: str) -> str:
        done = subprocess.run(
            [programs / program, *words], cwd=elsewhere, env=inherited, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("python", "-m", "pip", "check")
    assert run("rewriter", "--version") == f"rewriter {rewriter.__version__}\n"
    imported = run("python", "-c", "import rewriter; print(rewriter.__file__)").strip()
    assert Path(imported).is_relative_to(tmp_path / "environment")
    script = "CREATE TABLE t (x INT) PARTITIONED BY (p STRING); INSERT INTO t VALUES (1, 'a'), (2, 'b')"
    run("rewriter", "sql", "-w", "warehouse", "--engine", "duckdb", "-e", script)
    query = "SELECT SUM(x) AS x FROM t"
    result = run("rewriter", "sql", "-w", "warehouse", "--engine", "duckdb", "--format", "jsonl", "-e", query)
    assert json.loads(result) == {"x": 3}
    checks = json.loads(run("rewriter", "doctor", "-w", "warehouse", "--engine", "duckdb", "--json"))
    assert [check for check in checks if check["status"] == "error"] == []
    assert "SELECT" in run("rewriter", "rewrite", "-w", "warehouse", query)
