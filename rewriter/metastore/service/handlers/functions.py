"""Permanent functions. They are the clients': their classes are never loaded here. SQL functions are not shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rewriter.catalog.model.changes import CreateObject, DropObject
from rewriter.catalog.model.objects import Function, full_name, short_name
from rewriter.metastore.functions import catalog_function, thrift_function
from rewriter.metastore.service.calls.names import database_name, pattern
from rewriter.metastore.wire.interface import structure

if TYPE_CHECKING:
    from rewriter.metastore.service.calls.call import Call, Handlers

_NoSuchObject: Any = structure("NoSuchObjectException")
_InvalidOperation: Any = structure("InvalidOperationException")


def get_function(call: Call) -> Any:
    return thrift_function(_existing(call, call.arguments.dbName, call.arguments.funcName))


def _existing(call: Call, database: str | None, name: str | None) -> Function:
    """Returns a function. Raises ``NoSuchObjectException``, with the words by which Spark knows it."""
    full = full_name(database_name(database), str(name or ""))
    function = call.snapshot.find_function(full)
    if function is None or function.sql is not None:
        raise _NoSuchObject(message=f"Function {database_name(database)}.{name} does not exist")
    return function


def get_functions(call: Call) -> list[str]:
    wanted, database = pattern(call.arguments.pattern), database_name(call.arguments.dbName)
    names = [short_name(function.name).lower() for function in _of_clients(call, database)]
    return sorted(name for name in names if wanted.fullmatch(name))


def _of_clients(call: Call, database: str | None) -> list[Function]:
    return [function for function in call.snapshot.functions(database) if function.sql is None]


def get_all_functions(call: Call) -> Any:
    functions = [thrift_function(function) for function in _of_clients(call, None)]
    return structure("GetAllFunctionsResponse")(functions=functions)


def create_function(call: Call) -> None:
    call.check_writable()
    given = call.arguments.func
    with call.catalog.begin(call.snapshot) as transaction:
        transaction.commit([CreateObject(_function(given, transaction.allocate_id(), call))])


def drop_function(call: Call) -> None:
    call.commit([DropObject(_existing(call, call.arguments.dbName, call.arguments.funcName))])


def alter_function(call: Call) -> None:
    """Replaces a function. Its name may change."""
    call.check_writable()
    try:
        before = _existing(call, call.arguments.dbName, call.arguments.funcName)
    except _NoSuchObject as error:
        raise _InvalidOperation(message=str(error)) from None
    with call.catalog.begin(call.snapshot) as transaction:
        after = _function(call.arguments.newFunc, transaction.allocate_id(), call)
        transaction.commit([DropObject(before), CreateObject(after)])


def _function(given: Any, id: int, call: Call) -> Function:
    database = database_name(given.dbName)
    function = catalog_function(given, id, database, int(call.now))
    call.snapshot.database(database)
    return function


HANDLERS: Handlers = {
    "get_function": get_function,
    "get_functions": get_functions,
    "get_all_functions": get_all_functions,
    "create_function": create_function,
    "drop_function": drop_function,
    "alter_function": alter_function,
}
