"""The options that name a warehouse and an engine. The environment and profiles complete them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from rewriter.errors import InterfaceError

if TYPE_CHECKING:
    from rewriter.runtime.connection_settings import ConnectionSettings

_DEFAULT_WAREHOUSE = "warehouse"


def add_connection_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of a command that opens a warehouse. ``complete`` gives them their values."""
    command.add_argument(
        "-w",
        "--warehouse",
        metavar="DIR",
        help="the warehouse directory, or rewriter:///path?engine=… (default: $REWRITER_WAREHOUSE, the profile, "
        "./warehouse)",
    )
    command.add_argument(
        "--catalog",
        metavar="URL",
        help="the PostgreSQL database of the catalog (default: $REWRITER_CATALOG, the profile, a file in DIR)",
    )
    add_profile_option(command)
    command.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting, such as rewriter.partial_data=true"
    )
    command.set_defaults(takes_connection=True)


def add_engine_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of a command that runs queries."""
    command.add_argument(
        "--engine",
        metavar="ENGINE",
        help="spark, duckdb, or a master URL of Spark (default: $REWRITER_ENGINE, the profile, spark)",
    )
    command.add_argument("--master", metavar="URL", help="Spark's master (default: local[*])")
    command.set_defaults(takes_connection=True)


def add_profile_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--profile", metavar="NAME", help="a profile of rewriter.toml (default: $REWRITER_PROFILE, otherwise default)"
    )


def complete(arguments: argparse.Namespace) -> None:
    """Gives the options of a connection their values: ``warehouse``, ``engine``, ``master``, ``catalog``, ``settings``.

    Raises the errors of ``connection_settings``.
    """
    parts = connection_settings(arguments)
    arguments.warehouse = parts.warehouse or _DEFAULT_WAREHOUSE
    arguments.engine, arguments.master = parts.engine, parts.master
    arguments.catalog, arguments.settings = parts.catalog, parts.settings


def connection_settings(arguments: argparse.Namespace) -> ConnectionSettings:
    """Returns what the options, the environment and profiles name.

    Raises the errors of ``runtime.profiles.resolved``, and ``InterfaceError`` for a setting without a value.
    """
    from rewriter.runtime.connection_settings import Source
    from rewriter.runtime.profiles import resolved

    options = vars(arguments)
    given = Source(
        "",
        options.get("warehouse"),
        options.get("engine"),
        options.get("master"),
        options.get("catalog"),
        dict(map(_key_value, options.get("set", ()))),
        options.get("profile"),
    )
    return resolved(given, os.environ, Path.cwd())


def _key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InterfaceError(
            f"--set {text} has no value.", object=text, hint="Write --set key=value, as in rewriter.partial_data=true."
        )
    return key.strip(), value.strip()
