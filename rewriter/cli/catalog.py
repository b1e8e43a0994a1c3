"""``rewriter catalog upgrade|check|dump|restore|adopt|new|set``: administration of the catalog as a whole."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

import click

from rewriter.cli.connection import Connection, connection, connection_options
from rewriter.errors import InterfaceError, OperationalError, disk_full, is_disk_full
from rewriter.terminal_text import printable

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog

_EXIT_FINDINGS = 1
_HINT = "Name its directory with -w, and its catalog database with --catalog if it has one."


@click.group(no_args_is_help=True)
def catalog() -> None:
    """Upgrade, check, dump or restore the catalog of a warehouse."""


@catalog.command()
@connection_options
def upgrade(**options: Any) -> None:
    """Upgrade the schema of the catalog's database to this release."""
    from rewriter.catalog.catalog import Catalog

    named = connection(**options)
    named.require_warehouse(_HINT)
    before = Catalog.stored_version(named.warehouse, named.catalog)
    with _opened(named) as opened:  # Which upgrades it.
        now = opened.database.version
    print(
        f"schema version {now}: nothing to do" if before == now else f"upgraded from schema version {before} to {now}"
    )


@catalog.command()
@connection_options
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="The form of a problem: a line of text, or a JSON object.",
)
def check(form: str, **options: Any) -> int:
    """Check that the catalog agrees with itself and with the files.

    Lists what does not agree, and changes nothing.

    Exit codes: 0 if no problem was found; 1 if there is one.
    """
    from rewriter.catalog.filesystems.registry import using
    from rewriter.catalog.maintenance.consistency_check import findings
    from rewriter.display.terminal.rendering import json_line

    named = connection(**options)
    count = 0
    with using(named.filesystems), _read(named) as opened:
        for finding in findings(opened.database):
            count += 1
            as_json = json_line({"object": finding.object, "problem": finding.problem})
            print(as_json if form == "json" else printable(f"{finding.object}: {finding.problem}"))
    if form == "text":
        print(f"{count} problem{'s' if count > 1 else ''} found" if count else "no problem found")
    return _EXIT_FINDINGS if count else 0


@catalog.command()
@connection_options
@click.argument("file", metavar="[FILE]", default="-")
def dump(file: str, **options: Any) -> None:
    """Write the catalog as text into FILE, or to stdout.

    Data files are not in the dump.
    """
    from rewriter.catalog.maintenance.dump import dump as lines_of

    named = connection(**options)
    with _read(named) as opened:
        _write(file, lines_of(opened.database, opened.warehouse))


def _write(path: str, lines: Iterable[str]) -> None:
    """Writes a file as a whole, or not at all."""
    if path == "-":
        sys.stdout.writelines(lines)
        return
    folder, unfinished = os.path.dirname(os.path.abspath(path)), ""
    try:
        import tempfile

        handle, unfinished = tempfile.mkstemp(prefix=f".{os.path.basename(path)}-", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.remove(unfinished)
        if isinstance(error, OSError) and is_disk_full(error):
            raise disk_full(f"The file {path}", path) from error
        if isinstance(error, OSError):
            raise OperationalError(
                f"The file {path} cannot be written: {error.strerror}.",
                condition="FAILED_WRITE_FILE",
                sqlstate="58030",
                object=path,
                hint="Name a writable file, and check that there is free space.",
            ) from error
        raise


@catalog.command()
@connection_options
@click.argument("file", metavar="FILE")
@click.option("--adopt", "is_adopted", is_flag=True, help="Accept the dump of another warehouse.")
def restore(file: str, is_adopted: bool, **options: Any) -> None:
    """Fill an empty catalog with a dump.

    FILE is the output of rewriter catalog dump; - is stdin.
    """
    from rewriter.catalog.catalog import Catalog

    named = connection(**options)
    hint = "Name a file that `rewriter catalog dump` wrote, or - for stdin."
    with opened_text(file, hint) as lines:
        count = Catalog.restore(named.warehouse, named.catalog, lines, adopt=is_adopted)
    print(f"restored {count:,} rows")


@catalog.command()
@connection_options
@click.option(
    "--copy-outside",
    is_flag=True,
    help="In a copy of a warehouse: copy files of managed tables that are outside of the directory into it.",
)
def adopt(copy_outside: bool, **options: Any) -> None:
    """Declare that this catalog and this directory belong together.

    Both get a new identity. A copy of a warehouse becomes a warehouse of its own.
    """
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.filesystems.registry import using

    named = connection(**options)
    with using(named.filesystems):
        adoption = Catalog.adopt(named.warehouse, named.catalog, copy_outside=copy_outside)
    for table in adoption.copied:
        print(f"copied the files of {table}")
    print(f"the catalog and {named.warehouse} now belong together, with a new identity")


@catalog.command()
@connection_options
def new(**options: Any) -> None:
    """Create an empty catalog, for a warehouse whose catalog is lost.

    Existing files remain, and belong to no table.
    """
    from rewriter.catalog.catalog import Catalog

    named = connection(**options)
    Catalog.create_new(named.warehouse, named.catalog)
    print(f"{named.warehouse} has an empty catalog")


@catalog.command(name="set")
@connection_options
@click.argument("key")
@click.argument("value", required=False)
@click.option("--unset", is_flag=True, help="Remove the property. There is no VALUE then.")
def set_property(key: str, value: str | None, unset: bool, **options: Any) -> None:
    """Set a property of the catalog, for all sessions.

    KEY is hive.cluster.properties, hive.default.cluster.name or hive.use.default.cluster. VALUE is the new value.
    """
    from rewriter.catalog.model.changes import SetCatalogProperty

    if (value is None) != unset:
        raise InterfaceError(
            "Name a value or --unset." if value is None else "A value and --unset exclude each other.",
            object=key,
            hint="Run `rewriter catalog set hive.default.cluster.name c1`.",
        )
    named = connection(**options)
    named.require_warehouse(_HINT)
    with _opened(named) as opened, opened.begin() as transaction:
        transaction.commit([SetCatalogProperty(key, value)])
    print(printable(f"{key} is {'removed' if value is None else 'set'}"))


@contextlib.contextmanager
def opened_text(path: str, hint: str, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Yields a text file; ``-`` is stdin. Raises ``OperationalError`` PATH_NOT_FOUND if it cannot be read, also in the
    block.
    """
    try:
        if path == "-":
            yield sys.stdin
            return
        with open(path, encoding=encoding) as file:
            yield file
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise OperationalError(
            f"The file {path} cannot be read: {reason}.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=path,
            hint=hint,
        ) from None


@contextlib.contextmanager
def _opened(named: Connection) -> Iterator[Catalog]:
    from rewriter.catalog.catalog import Catalog

    with contextlib.closing(Catalog.open(named.warehouse, named.catalog)) as opened:
        yield opened


@contextlib.contextmanager
def _read(named: Connection) -> Iterator[Catalog]:
    """Opens a catalog that exists, and does not upgrade an older one: the release that made it could not open it any
    more, not even to restore a dump of it.
    """
    from rewriter.catalog.catalog import Catalog

    named.require_warehouse(_HINT)
    Catalog.check_current(named.warehouse, named.catalog)
    with _opened(named) as opened:
        yield opened
