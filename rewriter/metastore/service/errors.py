"""Errors of the catalog as the exceptions that a method declares."""

from __future__ import annotations

from rewriter.errors import Error
from rewriter.metastore.wire.interface import ErrorStructure, Method

#: The ends of conditions, and the exceptions for them in the order of preference.
_NOT_FOUND = ("NoSuchObjectException", "UnknownTableException", "UnknownDBException", "InvalidObjectException")
_EXISTS = ("AlreadyExistsException", "InvalidOperationException")
_KINDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("TRANSACTION_NOT_FOUND",), ("NoSuchTxnException",)),
    (("TRANSACTION_ABORTED", "TRANSACTION_NOT_OPEN"), ("TxnAbortedException", "NoSuchTxnException")),
    (("LOCK_NOT_FOUND",), ("NoSuchLockException",)),
    (("LOCK_OF_TRANSACTION",), ("TxnOpenException",)),
    (("SCHEMA_NOT_FOUND",), ("UnknownDBException", "NoSuchObjectException", "InvalidObjectException")),
    (("_NOT_FOUND",), _NOT_FOUND),
    (("INVALID_SCHEMA_OR_RELATION_NAME",), ("InvalidObjectException", "InvalidOperationException")),
    (("ALREADY_EXISTS", "ALREADY_EXIST"), _EXISTS),
    (("SCHEMA_NOT_EMPTY", "TABLE_IN_USE", "CUBE_IN_USE"), ("InvalidOperationException",)),
)
#: The most characters of a message: a client may give a name of megabytes.
_LONGEST = 2000
_OTHERS = ("MetaException", "InvalidOperationException", "InvalidObjectException")


def thrift_error(error: Error, method: Method) -> tuple[str, ErrorStructure] | None:
    """Returns the field and the exception of a method's result that say the error; ``None`` if it declares none."""
    preferred = next((names for ends, names in _KINDS if error.condition.endswith(ends)), ())
    by_name = {class_.__name__: (field, class_) for field, class_ in method.errors.items()}
    for name in (*preferred, *_OTHERS):
        if name in by_name:
            field, class_ = by_name[name]
            return field, class_(message=message_of(error))
    return None


def message_of(error: Error) -> str:
    """Returns the text of an error, with its condition and hint."""
    hint = f" {error.hint}" if error.hint else ""
    message = error.message if len(error.message) <= _LONGEST else f"{error.message[:_LONGEST]}…"
    return f"[{error.condition}] {message}{hint}"
