"""``rewriter catalog upgrade|check|dump|restore``: the catalog as a whole, for whoever looks after it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from rewriter.errors import OperationalError

if TYPE_CHECKING:
    from rewriter.catalog.store import Catalog

_FOUND = 1
_HINT = "Name its directory with -w, and the database of its catalog with --catalog where it has one."


def add_commands(commands: argparse.ArgumentParser, parents: list[argparse.ArgumentParser]) -> None:
    """Adds the four commands to the parser of ``rewriter catalog``."""
    actions = commands.add_subparsers(title="commands", metavar="COMMAND", required=True)
    upgrade = actions.add_parser("upgrade", parents=parents, help="bring the catalog's schema up to this release")
    upgrade.set_defaults(run=_upgrade)
    check = actions.add_parser("check", parents=parents, help="prove what must hold, and name what is off")
    check.add_argument("--format", choices=("text", "json"), default="text", help="a line for each finding")
    check.set_defaults(run=_check)
    dump = actions.add_parser("dump", parents=parents, help="write all rows as text")
    dump.add_argument("file", nargs="?", default="-", metavar="FILE", help="where to; - is stdout (default)")
    dump.set_defaults(run=_dump)
    restore = actions.add_parser("restore", parents=parents, help="fill an empty catalog with a dump")
    restore.add_argument("file", metavar="FILE", help="what dump wrote; - is stdin")
    restore.set_defaults(run=_restore)


def _upgrade(arguments: argparse.Namespace) -> int:
    """Opening is upgrading: this says from which version to which."""
    from rewriter.catalog.store import Catalog

    require_warehouse(arguments, _HINT)
    before = Catalog.stored_version(arguments.warehouse, arguments.catalog)
    with _opened(arguments) as catalog:
        now = catalog.database.version
    print(
        f"schema version {now}: nothing to do" if before == now else f"upgraded from schema version {before} to {now}"
    )
    return 0


def _check(arguments: argparse.Namespace) -> int:
    """Exit code 1 where something is off."""
    from rewriter.catalog.check import findings

    require_warehouse(arguments, _HINT)
    count = 0
    with _opened(arguments) as catalog:
        for found in findings(catalog.database):
            count += 1
            as_json = json.dumps({"object": found.object, "problem": found.problem}, ensure_ascii=False)
            print(as_json if arguments.format == "json" else f"{found.object}: {found.problem}")
    if arguments.format == "text":
        print(f"{count} problem{'s' if count > 1 else ''} found" if count else "no problem found")
    return _FOUND if count else 0


def _dump(arguments: argparse.Namespace) -> int:
    from rewriter.catalog.dump import dump

    require_warehouse(arguments, _HINT)
    with _opened(arguments) as catalog:
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
        if isinstance(error, OSError):
            raise OperationalError(
                f"The file {path} cannot be written: {error.strerror}.",
                condition="FAILED_WRITE_FILE",
                sqlstate="58030",
                object=path,
                hint="Name a file that may be written, and see that there is room.",
            ) from error
        raise


def _restore(arguments: argparse.Namespace) -> int:
    from rewriter.catalog.dump import restore

    hint = "Name a file that `rewriter catalog dump` wrote, or - for stdin."
    with opened_text(arguments.file, hint) as lines, _opened(arguments) as catalog:
        count = restore(catalog.database, catalog.warehouse, lines)
    print(f"restored {count:,} rows")
    return 0


@contextlib.contextmanager
def opened_text(path: str, hint: str, encoding: str = "utf-8") -> Iterator[TextIO]:
    """A text file; ``-`` is stdin. ``OperationalError`` PATH_NOT_FOUND for what cannot be read, also in the block."""
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
    """``OperationalError`` WAREHOUSE_NOT_FOUND: a mistyped name must not make a warehouse."""
    from rewriter.catalog.store import Catalog

    if not Catalog.exists(arguments.warehouse, arguments.catalog):
        raise OperationalError(
            f"There is no warehouse in {arguments.warehouse}.",
            condition="WAREHOUSE_NOT_FOUND",
            object=arguments.warehouse,
            hint=hint,
        )


@contextlib.contextmanager
def _opened(arguments: argparse.Namespace) -> Iterator[Catalog]:
    from rewriter.catalog.store import Catalog

    with contextlib.closing(Catalog.open(arguments.warehouse, arguments.catalog)) as catalog:
        yield catalog
