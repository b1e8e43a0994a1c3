"""The options that name a warehouse and an engine. The environment and profiles complete them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewriter.errors import InterfaceError
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.filesystems.registry import Stores
    from rewriter.runtime.connection_settings import ConnectionSettings, Source
    from rewriter.runtime.progress import Progress
    from rewriter.session import Session

_DEFAULT_WAREHOUSE = "warehouse"

Command = Callable[..., Any]


@dataclass(frozen=True)
class Connection:
    """The parts of a connection, complete. ``master`` is Spark's master, ``catalog`` a URL of PostgreSQL, ``note`` the
    note of ``ConnectionSettings``.
    """

    warehouse: str
    engine: str
    master: str | None = field(repr=False)
    catalog: str | None = field(repr=False)
    settings: Mapping[str, str]
    filesystems: Stores = field(default_factory=dict, repr=False)
    note: str = ""

    def session(
        self,
        *,
        plans_only: bool = False,
        progress: Callable[[Progress], object] | None = None,
        shared: Catalog | None = None,
    ) -> Session:
        """Opens the warehouse, or a session over a catalog that is open. A session that only plans never starts
        Spark.
        """
        from rewriter.session import Session

        engine, master = ("duckdb", None) if plans_only else (self.engine, self.master)
        catalog = self.catalog if shared is None else shared
        return Session(self.warehouse, engine, master, self.settings, catalog, progress, self.filesystems)

    def require_warehouse(self, hint: str) -> None:
        """Raises ``OperationalError`` WAREHOUSE_NOT_FOUND: a mistyped name must not make a warehouse."""
        from rewriter.catalog.catalog import Catalog, not_found

        if not Catalog.exists(self.warehouse, self.catalog):
            # If the directory has files of a warehouse, this error gives more details.
            Catalog.open(self.warehouse, self.catalog, create=False).close()
            raise not_found(self.warehouse, hint)

    def reading_session(self, hint: str) -> Session:
        """Opens the warehouse for plans, and changes nothing in it: an older catalog is not upgraded.

        Raises ``OperationalError`` WAREHOUSE_NOT_FOUND and CATALOG_TOO_OLD.
        """
        from rewriter.catalog.catalog import Catalog

        Catalog.check_current(self.warehouse, self.catalog)
        self.require_warehouse(hint)
        return self.session(plans_only=True)


def connection_options(command: Command) -> Command:
    """Adds the options of a command that opens a warehouse."""
    return _with(
        command,
        click.option(
            "-w",
            "--warehouse",
            metavar="DIR",
            help="The directory of the warehouse, or a URL such as rewriter:///path?engine=duckdb. Default: "
            "$REWRITER_WAREHOUSE, the profile, ./warehouse.",
        ),
        click.option(
            "--catalog",
            metavar="URL",
            help="The PostgreSQL database of the catalog, as postgresql+psycopg://user@host/database. Default: "
            "$REWRITER_CATALOG, the profile, a SQLite file in DIR.",
        ),
        profile_option,
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="A setting of the session, as the statement SET has it: rewriter.partial_data=true. Repeatable.",
        ),
        debug_option,
    )


def engine_options(command: Command) -> Command:
    """Adds the options of a command that runs queries."""
    return _with(
        command,
        click.option(
            "--engine",
            metavar="ENGINE",
            help="What runs queries: spark, duckdb, or an address of Spark, as local[4], spark://host:7077 or "
            "sc://host:15002. Default: $REWRITER_ENGINE, the profile, spark if it is installed, duckdb.",
        ),
        click.option(
            "--master", metavar="URL", help="The address of Spark's master, beside --engine spark. Default: local[*]."
        ),
    )


def profile_option(command: Command) -> Command:
    return click.option(
        "--profile",
        metavar="NAME",
        help="The table [profiles.NAME] of rewriter.toml: a warehouse, an engine, a catalog and settings. Default: "
        "$REWRITER_PROFILE, otherwise default.",
    )(command)


def debug_option(command: Command) -> Command:
    """``--debug``, which ``main`` reads: commands do not get it."""
    return click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an internal error.")(
        command
    )


def _with(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def connection(**options: Any) -> Connection:
    """Returns the connection that the options of ``given_source``, the environment and profiles name.

    Raises as ``connection_settings``.
    """
    parts = connection_settings(**options)
    return Connection(
        parts.warehouse or _DEFAULT_WAREHOUSE,
        parts.engine,
        parts.master,
        parts.catalog,
        parts.settings,
        parts.filesystems,
        parts.note,
    )


def connection_settings(**options: Any) -> ConnectionSettings:
    """Returns what the options of ``given_source``, the environment and profiles name.

    Raises the errors of ``runtime.profiles.resolve_connection``, and ``InterfaceError`` for a setting without a value.
    """
    from rewriter.runtime.profiles import resolve_connection

    return resolve_connection(given_source(**options), os.environ, Path.cwd())


def given_source(
    warehouse: str | None = None,
    catalog: str | None = None,
    profile: str | None = None,
    settings: Sequence[str] = (),
    engine: str | None = None,
    master: str | None = None,
) -> Source:
    """Returns what the options alone name. Raises ``InterfaceError`` for an unknown setting and one without a value."""
    from rewriter.runtime.connection_settings import Source, source_of

    checked = source_of("--set", {}, dict(map(_key_value, settings))).settings if settings else {}
    return Source("", warehouse, engine, master, catalog, checked, profile)


def _key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InterfaceError(
            f"--set {text} has no value.", object=text, hint="Write --set key=value, as in rewriter.partial_data=true."
        )
    return key.strip(), value.strip()
