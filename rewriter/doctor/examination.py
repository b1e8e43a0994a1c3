"""All checks, in the order in which a problem would show: the program, the machine, the warehouse."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from rewriter.doctor import engines, environment, installation, storage
from rewriter.doctor.catalog import catalog
from rewriter.doctor.check import Check, failed, guarded, skipped
from rewriter.errors import Error
from rewriter.exec.spark.connect_session import SCHEME
from rewriter.exec.spark.installation import is_installed
from rewriter.runtime.connection_settings import (
    ConnectionSettings,
    Source,
    combined,
    default_engine,
    from_environment,
    with_url,
)
from rewriter.runtime.profiles import resolved
from rewriter.shell.configuration import configuration

#: The directory of the warehouse where nothing names one.
DEFAULT_WAREHOUSE = "warehouse"


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
    of ``directory``, the working directory. ``encoding`` is that of the terminal, by default of standard output.
    ``start_spark`` starts Spark, which takes half a minute; all others take two seconds.
    """
    yield from guarded("Python", installation.python)
    yield from guarded("Packages", installation.packages)
    yield from guarded("Terminal", lambda: environment.terminal(encoding or sys.stdout.encoding))
    yield from guarded("Time zones", environment.time_zones)
    settings: ConnectionSettings | None = None
    try:
        settings = resolved(given, environ, directory)
        configuration(environ, directory)  # The settings of the shell.
        yield environment.configuration(given, settings, environ, directory)
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
    warehouse = (directory / Path(settings.warehouse or DEFAULT_WAREHOUSE).expanduser()).absolute()
    url = settings.catalog
    yield from guarded("Warehouse", lambda: storage.directory(warehouse))
    yield from guarded("Catalog", lambda: catalog(warehouse, url))


def _given_alone(given: Source, environ: Mapping[str, str]) -> ConnectionSettings | None:
    """Returns the warehouse that options name, with its catalog, without profiles; ``None`` if they name none, or
    cannot be read.
    """
    try:
        first = list(with_url(given))
        sources = [*first, *with_url(from_environment(environ))] if any(part.warehouse for part in first) else []
    except Error:
        return None
    return combined(replace(source, engine=None, master=None) for source in sources) if sources else None


def _engines(settings: ConnectionSettings | None, environ: Mapping[str, str], start_spark: bool) -> Iterator[Check]:
    master = None if settings is None else settings.master
    is_spark = (default_engine() if settings is None else settings.engine) == "spark"
    is_java_needed = is_installed() and (start_spark or (is_spark and not (master or "").startswith(SCHEME)))
    yield from guarded("Java", lambda: installation.java(is_java_needed, environ))
    yield from guarded("DuckDB", engines.duckdb)
    yield from guarded("Spark", lambda: engines.spark(master, is_started=start_spark, is_chosen=is_spark))
