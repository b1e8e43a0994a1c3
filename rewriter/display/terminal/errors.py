"""Errors as a person reads them on stderr, and the exit codes of commands."""

from __future__ import annotations

import sys
import traceback
from typing import TextIO

from rewriter.errors import Error, InterfaceError, InternalError, render
from rewriter.terminal_text import printable

#: Exit codes: a statement or a check failed; wrong usage, or no connection; Ctrl-C.
FAILED, NOT_CONNECTED, INTERRUPTED = 1, 2, 130
#: The conditions of errors that are about the connection, and not about a statement.
_OF_CONNECTIONS = frozenset(
    {
        "CATALOG_ACCESS_DENIED",
        "CATALOG_CONNECTION_LOST",
        "CATALOG_DATABASE_NOT_FOUND",
        "CATALOG_ENCODING",
        "CATALOG_MISSING",
        "CATALOG_OF_ANOTHER_WAREHOUSE",
        "CATALOG_REPLACED",
        "CATALOG_TOO_NEW",
        "CATALOG_TOO_OLD",
        "CATALOG_UNAVAILABLE",
        "CONNECT_FILES_NOT_SHARED",
        "ENGINE_UNREACHABLE",
        "METASTORE_UNAVAILABLE",
        "SPARK_ALREADY_RUNNING",
        "SPARK_CONNECT_NOT_FOUND",
        "SPARK_NOT_FOUND",
        "SPARK_START_FAILED",
        "WAREHOUSE_COPIED",
        "WAREHOUSE_NOT_FOUND",
    }
)


def is_of_connection(error: Error) -> bool:
    """Tests whether an error is about the connection to a warehouse or an engine, and not about a statement."""
    return error.condition in _OF_CONNECTIONS


def exit_code(error: Error) -> int:
    """Returns 2 for wrong usage and for errors of the connection, otherwise 1."""
    return NOT_CONNECTED if isinstance(error, InterfaceError) or is_of_connection(error) else FAILED


def write_error(error: Error, text: str | None, debug: bool, stream: TextIO | None = None) -> None:
    """Writes an error with a caret under ``text``. A traceback is written only if the error is a bug of ours, and
    ``debug`` asks for it.
    """
    stream = sys.stderr if stream is None else stream
    if isinstance(error, InternalError):
        if debug:
            print(printable("".join(traceback.format_exception(error))), file=stream)
        else:
            error.hint = f"{error.hint or ''} --debug shows where it happened.".lstrip()
    print(render(error, text), file=stream, flush=True)
