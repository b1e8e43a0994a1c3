"""Checks of the user's environment: the configuration, the terminal, and time zones."""

from __future__ import annotations

import codecs
import importlib.metadata
import zoneinfo
from collections.abc import Iterator, Mapping
from pathlib import Path

from rewriter.doctor.check import Check, error, ok, warning
from rewriter.runtime.connection_settings import (
    DEFAULT_PROFILE,
    PROFILE_VARIABLE,
    VARIABLES,
    ConnectionSettings,
    Source,
)
from rewriter.runtime.profiles import profile_files

#: A zone with changes of the clock, which is in each complete set of rules.
_ZONE = "Europe/Berlin"


def configuration(given: Source, settings: ConnectionSettings, environ: Mapping[str, str], directory: Path) -> Check:
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
