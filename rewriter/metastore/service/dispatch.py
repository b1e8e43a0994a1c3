"""Runs the calls of a connection with the handlers of their methods."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from thrift.Thrift import TApplicationException, TType

from rewriter.errors import ConflictError, Error
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.service.calls.call import Call, Client, Handler, Handlers, Service
from rewriter.metastore.service.handlers import (
    databases,
    functions,
    locks,
    notifications,
    partitions,
    sessions,
    statistics,
    tables,
    transactions,
)
from rewriter.metastore.wire.calls import Calls, Message, UnwritableError
from rewriter.metastore.wire.interface import ErrorStructure, Method, Structure

_FAMILIES = (sessions, databases, tables, partitions, functions, statistics, transactions, locks, notifications)
#: All handlers, by the name of their method.
HANDLERS: Handlers = {name: handler for family in _FAMILIES for name, handler in family.HANDLERS.items()}
#: How often a call is repeated that conflicts with another one.
_MOST_REPEATS = 5
#: The structures that a call may leave out.
_OPTIONAL = ("environment_context", "hiveObject")


@dataclass(frozen=True)
class Outcome:
    """How a call has ended, for the log: its method, milliseconds, and the name of an error."""

    client: Client
    method: str
    milliseconds: float
    error: str | None


#: Gets the outcome of each call.
Observer = Callable[[Outcome], None]


def serve_call(calls: Calls, message: Message, service: Service, client: Client) -> Outcome:
    """Runs a call and sends its result. A handler that fails in an unexpected way is an internal error of Thrift."""
    started = time.perf_counter()
    error = _run(calls, message, service, client)
    outcome = Outcome(client, message.name, (time.perf_counter() - started) * 1000, error)
    # A client may make up names without end.
    name = message.name if message.method is not None else "unknown"
    service.metrics.record(name, outcome.milliseconds, error is not None)
    return outcome


def _run(calls: Calls, message: Message, service: Service, client: Client) -> str | None:
    method, arguments = message.method, message.arguments
    handler = HANDLERS.get(message.name)
    if method is None or handler is None or arguments is None:
        calls.refuse(message, TApplicationException.UNKNOWN_METHOD, f"Invalid method name: '{message.name}'")
        return "UNKNOWN_METHOD"
    missing = next((name for name in _required(method) if getattr(arguments, name) is None), None)
    if missing is not None:
        calls.refuse(message, TApplicationException.PROTOCOL_ERROR, f"The call has no argument {missing}.")
        return "PROTOCOL_ERROR"
    try:
        value = _handled(handler, service, client, arguments)
    except ErrorStructure as error:
        return _send_error(calls, message, method, error)
    except Error as error:
        declared = _thrift_error(error, method)
        if declared is None:
            calls.refuse(message, TApplicationException.INTERNAL_ERROR, _message_of(error))
            return error.condition
        field, exception = declared
        calls.reply(message, method.result(**{field: exception}))
        return error.condition
    except Exception as error:
        calls.refuse(message, TApplicationException.INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        return "INTERNAL_ERROR"
    if not method.oneway:
        try:
            calls.reply(message, method.result(success=value) if method.returns else method.result())
        except UnwritableError as error:
            calls.refuse(message, TApplicationException.INTERNAL_ERROR, str(error))
            return "INTERNAL_ERROR"
    return None


def _handled(handler: Handler, service: Service, client: Client, arguments: Structure) -> Any:
    """Runs a handler, again if another commit came between: clients of a metastore expect that it takes turns.

    A caller with a list of write ids has seen the state before that commit: its call is not repeated.
    """
    requests = (arguments, *(value for value in vars(arguments).values() if isinstance(value, Structure)))
    has_list = any(getattr(request, "validWriteIdList", None) is not None for request in requests)
    repeats = 0 if has_list else _MOST_REPEATS
    while True:
        try:
            return handler(Call(service, client, arguments))
        except ConflictError:
            if repeats == 0:
                raise
            repeats -= 1


def _required(method: Method) -> list[str]:
    """Returns the arguments without which a method has no meaning: its structures."""
    fields = (field for field in method.arguments.thrift_spec if field is not None)
    return [name for _, kind, name, _, _ in fields if kind == TType.STRUCT and name not in _OPTIONAL]


def _send_error(calls: Calls, message: Message, method: Method, error: ErrorStructure) -> str:
    field = next((name for name, class_ in method.errors.items() if type(error) is class_), None)
    if field is None:
        calls.refuse(message, TApplicationException.INTERNAL_ERROR, str(error))
    else:
        calls.reply(message, method.result(**{field: error}))
    return type(error).__name__


# Errors of the catalog as the exceptions that a method declares.

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


def _thrift_error(error: Error, method: Method) -> tuple[str, ErrorStructure] | None:
    """Returns the field and the exception of a method's result that say the error; ``None`` if it declares none."""
    preferred = next((names for ends, names in _KINDS if error.condition.endswith(ends)), ())
    by_name = {class_.__name__: (field, class_) for field, class_ in method.errors.items()}
    for name in (*preferred, *_OTHERS):
        if name in by_name:
            field, class_ = by_name[name]
            return field, class_(message=_message_of(error))
    return None


def _message_of(error: Error) -> str:
    """Returns the text of an error, with its condition and hint."""
    hint = f" {error.hint}" if error.hint else ""
    message = error.message if len(error.message) <= _LONGEST else f"{error.message[:_LONGEST]}…"
    return f"[{error.condition}] {message}{hint}"
