"""``rewriter catalog upgrade|check|dump|restore|adopt|new``: administration of the catalog as a whole."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from rewriter.errors import OperationalError, disk_full, is_disk_full
from rewriter.terminal_text import printable

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog

_EXIT_FINDINGS = 1
_HINT = "Name its directory with -w, and its catalog database with --catalog if it has one."


def add_commands(commands: argparse.ArgumentParser, parents: list[argparse.ArgumentParser]) -> None:
    """Adds the commands to the parser of ``rewriter catalog``."""
    actions = commands.add_subparsers(title="commands", metavar="COMMAND", required=True)
    upgrade = actions.add_parser("upgrade", parents=parents, help="upgrade the catalog's schema to this release")
    upgrade.set_defaults(run=_upgrade)
    check = actions.add_parser(
        "check", parents=parents, help="check the invariants of the catalog, and list violations"
    )
    check.add_argument("--format", choices=("text", "json"), default="text", help="one line for each finding")
    check.set_defaults(run=_check)
    dump = actions.add_parser("dump", parents=parents, help="write all rows as text")
    dump.add_argument("file", nargs="?", default="-", metavar="FILE", help="output file; - is stdout (default)")
    dump.set_defaults(run=_dump)
    restore = actions.add_parser("restore", parents=parents, help="fill an empty catalog with a dump")
    restore.add_argument("file", metavar="FILE", help="output of dump; - is stdin")
    restore.add_argument("--adopt", action="store_true", help="even if the dump is from another warehouse")
    restore.set_defaults(run=_restore)
    adopt = actions.add_parser(
        "adopt",
        parents=parents,
        help="declare that catalog and directory belong together, after one was copied or has another identity",
    )
    adopt.add_argument(
        "--copy-outside",
        action="store_true",
        help="copy files of managed tables outside the warehouse into a copy of it",
    )
    adopt.set_defaults(run=_adopt)
    new = actions.add_parser("new", parents=parents, help="create an empty catalog; existing files remain, unused")
    new.set_defaults(run=_new)


def _upgrade(arguments: argparse.Namespace) -> int:
    """Upgrades the catalog by opening it, and prints the versions before and after."""
    from rewriter.catalog.catalog import Catalog

    require_warehouse(arguments, _HINT)
    before = Catalog.stored_version(arguments.warehouse, arguments.catalog)
    with _open_catalog(arguments) as catalog:
        now = catalog.database.version
    print(
        f"schema version {now}: nothing to do" if before == now else f"upgraded from schema version {before} to {now}"
    )
    return 0


def _check(arguments: argparse.Namespace) -> int:
    """Prints the findings. Returns exit code 1 where there are any."""
    from rewriter.catalog.maintenance.consistency_check import findings
    from rewriter.terminal.rendering import json_line

    require_warehouse(arguments, _HINT)
    count = 0
    with _open_catalog(arguments) as catalog:
        for finding in findings(catalog.database):
            count += 1
            as_json = json_line({"object": finding.object, "problem": finding.problem})
            print(as_json if arguments.format == "json" else printable(f"{finding.object}: {finding.problem}"))
    if arguments.format == "text":
        print(f"{count} problem{'s' if count > 1 else ''} found" if count else "no problem found")
    return _EXIT_FINDINGS if count else 0


def _dump(arguments: argparse.Namespace) -> int:
    from rewriter.catalog.maintenance.dump import dump

    require_warehouse(arguments, _HINT)
    with _open_catalog(arguments) as catalog:
        _write(arguments.file, dump(catalog.database, catalog.warehouse))
    return 0


def _write(path: str, lines: Iterable[str]) -> None:
    """Writes a file as a whole, or not at all."""
    if path == "-":
        sys.stdout.writelines(lines)
        return
    folder, unfinished = os.path.dirname(os.path.abspath(path)), ""
    try:
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


def _restore(arguments: argparse.Namespace) -> int:
    from rewriter.catalog.catalog import Catalog

    hint = "Name a file that `rewriter catalog dump` wrote, or - for stdin."
    with opened_text(arguments.file, hint) as lines:
        count = Catalog.restore(arguments.warehouse, arguments.catalog, lines, adopt=arguments.adopt)
    print(f"restored {count:,} rows")
    return 0


def _adopt(arguments: argparse.Namespace) -> int:
    from rewriter.catalog.catalog import Catalog

    adoption = Catalog.adopt(arguments.warehouse, arguments.catalog, copy_outside=arguments.copy_outside)
    for table in adoption.copied:
        print(f"copied the files of {table}")
    print(f"the catalog and {arguments.warehouse} now belong together, with a new identity")
    return 0


def _new(arguments: argparse.Namespace) -> int:
    from rewriter.catalog.catalog import Catalog

    Catalog.create_new(arguments.warehouse, arguments.catalog)
    print(f"{arguments.warehouse} has an empty catalog")
    return 0


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


def require_warehouse(arguments: argparse.Namespace, hint: str) -> None:
    """Raises ``OperationalError`` WAREHOUSE_NOT_FOUND: a mistyped name must not make a warehouse."""
    from rewriter.catalog.catalog import Catalog, not_found

    if not Catalog.exists(arguments.warehouse, arguments.catalog):
        # If the directory has files of a warehouse, this error gives more details.
        Catalog.open(arguments.warehouse, arguments.catalog, create=False).close()
        raise not_found(arguments.warehouse, hint)


@contextlib.contextmanager
def _open_catalog(arguments: argparse.Namespace) -> Iterator[Catalog]:
    from rewriter.catalog.catalog import Catalog

    with contextlib.closing(Catalog.open(arguments.warehouse, arguments.catalog)) as catalog:
        yield catalog
