"""Profiles of connections, in files ``rewriter.toml``.

::

    [profiles.default]
    warehouse = "data/warehouse"    # relative to the directory of the file
    engine = "duckdb"

    [profiles.default.settings]
    partial_data = true

    [clusters]
    allowed_addresses = ["sc://spark-a:15002"]    # of the definitions in the catalog
    allowed_options = ["spark.executor.memory"]

Tables ``[filesystems."s3://bucket"]`` have the options of object stores (``catalog.filesystems.options``).

A profile is read from the first file that has it: ``rewriter.toml`` in the working directory or the nearest directory
above it, then ``rewriter/rewriter.toml`` in the directory of the user's configuration (``XDG_CONFIG_HOME``, otherwise
``~/.config``). A directory above the working directory that everybody may write is skipped, because anybody could put a
file there. The table ``[clusters]`` is for all profiles, and is read from the first file that has it.
"""

from __future__ import annotations

import difflib
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewriter.catalog.filesystems.options import StoreOptions, store_options
from rewriter.errors import InterfaceError
from rewriter.runtime.connection_settings import (
    DEFAULT_PROFILE,
    PARTS,
    PROFILE_VARIABLE,
    ConnectionSettings,
    Source,
    combine_sources,
    from_environment,
    is_url,
    source_of,
    with_url,
)

FILE_NAME = "rewriter.toml"
_SETTINGS = "settings"
_SHELL = "shell"
_FILESYSTEMS = "filesystems"
_CLUSTERS = "clusters"
_TABLES = ("profiles", _SHELL, _FILESYSTEMS, _CLUSTERS)
#: The keys of ``[clusters]``, which are settings (``runtime.cluster_engines``).
_ALLOWED = ("allowed_addresses", "allowed_options")


def resolve_connection(given: Source, environ: Mapping[str, str], directory: Path) -> ConnectionSettings:
    """Returns the parts of a connection: the parts that are given, and the others from the URL, profiles and
    environment variables. ``directory`` is the working directory.

    Reads at most two files. Raises ``InterfaceError`` for a profile that does not exist, a file that cannot be read,
    unknown keys, and values that are none of their key; with the name of the file and the key.
    """
    return replace(combine_sources(_sources(given, environ, directory)), filesystems=stores(environ, directory))


def stores(environ: Mapping[str, str], directory: Path) -> dict[str, StoreOptions]:
    """Returns the options of object stores; of a place that several files have, the options of the first. Raises as
    ``resolve_connection``.
    """
    options: dict[str, StoreOptions] = {}
    for path in profile_files(environ, directory):
        tables = _content(path).get(_FILESYSTEMS, {})
        if not isinstance(tables, dict):
            raise _wrong(path, _FILESYSTEMS, "it is no table", f'Write [{_FILESYSTEMS}."s3://bucket"].')
        options = {**store_options(tables, f"The file {path}"), **options}
    return options


def _sources(given: Source, environ: Mapping[str, str], directory: Path) -> Iterator[Source]:
    yield from _of_connection(given, environ, directory)
    yield from _of_clusters(environ, directory)


def _of_clusters(environ: Mapping[str, str], directory: Path) -> Iterator[Source]:
    """Yields the table ``[clusters]`` of the first file that has it, as settings."""
    for path in profile_files(environ, directory):
        table = _content(path).get(_CLUSTERS)
        if table is None:
            continue
        if not isinstance(table, dict):
            raise _wrong(path, _CLUSTERS, "it is no table", f"Write [{_CLUSTERS}].")
        settings = {}
        for key, value in table.items():
            where = f"{_CLUSTERS}.{key}"
            if key not in _ALLOWED:
                raise _unknown(path, where, key, _ALLOWED)
            if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
                raise _wrong(path, where, "it is no list of texts", f'Write {key} = ["…"].')
            settings[key] = ", ".join(value)
        yield source_of(f"[{_CLUSTERS}] of {path}", {}, settings)
        return


def _of_connection(given: Source, environ: Mapping[str, str], directory: Path) -> Iterator[Source]:
    first = list(with_url(given))
    yield from first
    variables = list(with_url(from_environment(environ)))
    name = next((source.profile for source in first if source.profile), None)
    if name is not None:
        yield profile(name, environ, directory)
    yield from variables
    if name is None:
        chosen = next((source.profile for source in variables if source.profile), None) or environ.get(PROFILE_VARIABLE)
        yield profile(chosen or DEFAULT_PROFILE, environ, directory, is_required=bool(chosen))


def profile(name: str, environ: Mapping[str, str], directory: Path, *, is_required: bool = True) -> Source:
    """Returns a profile; one without parts if it need not exist and does not."""
    names: list[str] = []
    paths = list(profile_files(environ, directory))
    for path in paths:
        profiles = _profiles(path)
        if name in profiles:
            return _source(path, name, profiles[name])
        names += profiles
    if not is_required:
        return Source("no profile")
    nearest = difflib.get_close_matches(name, names, 1)
    looked_at = " and ".join(map(str, paths))
    raise InterfaceError(
        f"There is no profile '{name}' in {looked_at}."
        if paths
        else f"There is no profile '{name}', because there is no {FILE_NAME}.",
        object=name,
        hint=f"Did you mean {nearest[0]}?"
        if nearest
        else f"The profiles are {', '.join(sorted(set(names)))}."
        if names
        else f"Write [profiles.{name}] into {FILE_NAME} in this directory, or above it.",
    )


def shell_tables(environ: Mapping[str, str], directory: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yields the tables ``[shell]``, with their files, as they are read. Raises as ``resolve_connection``."""
    for path in profile_files(environ, directory):
        table = _content(path).get(_SHELL, {})
        if not isinstance(table, dict):
            raise _wrong(path, _SHELL, "it is no table", f"Write [{_SHELL}].")
        yield path, table


def profile_files(environ: Mapping[str, str], directory: Path) -> Iterator[Path]:
    """Yields the files that may have profiles, in the order in which they are read."""
    nearest = None
    for folder in (directory, *directory.parents):
        path = folder / FILE_NAME
        try:
            if path.exists() and (folder == directory or not folder.stat().st_mode & stat.S_IWOTH):
                nearest = path
                yield path
                break
        except OSError:
            continue
    home = environ.get("XDG_CONFIG_HOME") or ""
    folder = Path(home) if os.path.isabs(home) else Path(environ.get("HOME") or os.path.expanduser("~"), ".config")
    path = folder / "rewriter" / FILE_NAME
    if path != nearest and path.exists():
        yield path


def _content(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        # Reading from a pipe would wait for a writer.
        raise InterfaceError(
            f"{path} is not a regular file.", object=str(path), hint="Remove it, or write a file of TOML there."
        )
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InterfaceError(
            f"The file {path} cannot be read: {error.strerror}.", object=str(path), hint="Check its permissions."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error).rstrip(".")
        raise InterfaceError(
            f"The file {path} is not TOML: {reason}.",
            object=str(path),
            hint='Write [profiles.default], and below it lines such as warehouse = "/data/warehouse".',
        ) from None
    for key in content:
        if key not in _TABLES:
            raise _unknown(path, key, key, _TABLES)
    return content


def _profiles(path: Path) -> Mapping[str, Any]:
    content = _content(path)
    profiles = content.get("profiles", {})
    if not isinstance(profiles, dict) or not all(isinstance(value, dict) for value in profiles.values()):
        raise _wrong(path, "profiles", "profiles are tables", "Write [profiles.default].")
    return profiles


def _source(path: Path, name: str, content: Mapping[str, Any]) -> Source:
    where = f"profiles.{name}"
    for key, value in content.items():
        if key == _SETTINGS:
            if not isinstance(value, dict):
                raise _wrong(path, f"{where}.{key}", "it is no table", f"Write [{where}.{_SETTINGS}].")
        elif key not in PARTS:
            raise _unknown(path, f"{where}.{key}", key, (*PARTS, _SETTINGS))
        elif not isinstance(value, str):
            raise _wrong(path, f"{where}.{key}", f"it is of the type {type(value).__name__}", f'Write {key} = "…".')
    for key, value in content.get(_SETTINGS, {}).items():
        if not isinstance(value, str | bool | int | float):
            hint = "A setting is a string, a number, true or false. Quote a name with a dot."
            raise _wrong(path, f"{where}.{_SETTINGS}.{key}", f"it is of the type {type(value).__name__}", hint)
    parts = {key: content.get(key) for key in PARTS}
    if parts["warehouse"]:
        if is_url(parts["warehouse"]):
            hint = "Write the path alone, and the other parts as keys."
            raise _wrong(path, f"{where}.warehouse", "it is a URL", hint)
        parts["warehouse"] = str(path.parent / Path(parts["warehouse"]).expanduser())
    return source_of(f"The profile {name} of {path}", parts, content.get(_SETTINGS, {}))


def _unknown(path: Path, key: str, word: str, known: tuple[str, ...]) -> InterfaceError:
    nearest = difflib.get_close_matches(word, known, 1)
    hint = f"Did you mean {nearest[0]}?" if nearest else f"The keys are {', '.join(known)}."
    return InterfaceError(f"The file {path} has an unknown key, {key}.", object=key, hint=hint)


def _wrong(path: Path, key: str, problem: str, hint: str) -> InterfaceError:
    return InterfaceError(f"The file {path} has a wrong value of {key}: {problem}.", object=key, hint=hint)
