"""Locks of clients, and the heartbeats of locks and transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rewriter.errors import DataError
from rewriter.metastore.service.calls.locks import Lock, LockComponent, LockRequest, LockType
from rewriter.metastore.service.calls.names import database_name
from rewriter.metastore.wire.interface import structure

if TYPE_CHECKING:
    from rewriter.metastore.service.calls.call import Call, Handlers, Service

_DATABASE, _TABLE, _PARTITION = 1, 2, 3


def lock(call: Call) -> Any:
    """Asks for locks. The client asks again with ``check_lock`` while they wait."""
    request = call.arguments.rqst
    _end_locks(call.service)
    transaction = request.txnid or None
    if transaction is not None:
        call.service.transactions.check_open(transaction)
    made = LockRequest(
        tuple(map(_component, request.component or ())),
        transaction,
        request.user or "",
        request.hostname or "",
        request.agentInfo or "",
    )
    return _response(call.service.locks.acquire(made))


def _component(given: Any) -> LockComponent:
    """Returns a lock as the client describes it. Raises ``DataError`` INVALID_LOCK_REQUEST."""
    if given.type not in list(LockType):
        raise _invalid(f"{given.type} is no type of lock")
    if given.level not in (_DATABASE, _TABLE, _PARTITION):
        raise _invalid(f"{given.level} is no level of a lock")
    if not given.dbname:
        raise _invalid("it names no database")
    table = str(given.tablename or "").lower() if given.level >= _TABLE else None
    partition = _partition(given.partitionname) if given.level == _PARTITION else None
    if table == "" or partition == "":
        raise _invalid("it does not name the table or partition of its level")
    return LockComponent(LockType(given.type), database_name(given.dbname), table, partition)


def _partition(name: str | None) -> str:
    """Returns the name of a partition with its columns in lower case."""
    pairs = (part.partition("=") for part in str(name or "").split("/"))
    return "/".join(f"{column.lower()}{equals}{value}" for column, equals, value in pairs)


def _invalid(reason: str) -> DataError:
    return DataError(
        f"A lock cannot be requested: {reason}.",
        condition="INVALID_LOCK_REQUEST",
        hint="Name a type, a level, and the database, table and partition of that level.",
    )


def check_lock(call: Call) -> Any:
    """Returns the state of a request, and counts as its heartbeat."""
    if call.arguments.rqst.txnid:
        call.service.transactions.check_open(call.arguments.rqst.txnid)
    return _response(_alive(call, call.arguments.rqst.lockid or 0))


def unlock(call: Call) -> None:
    _end_locks(call.service)
    call.service.locks.release(call.arguments.rqst.lockid or 0)


def heartbeat(call: Call) -> None:
    """Notes that the client of a lock, of a transaction, or of both is alive."""
    ids = call.arguments.ids
    if ids.lockid:
        _alive(call, ids.lockid)
    if ids.txnid:
        call.service.transactions.heartbeat(ids.txnid)


def _alive(call: Call, id: int) -> Lock:
    """Notes the heartbeat of a lock, and of its transaction. Raises the error of one that has ended."""
    transaction = call.service.locks.find(id).request.transaction
    if transaction is not None:
        call.service.transactions.heartbeat(transaction)
    _end_locks(call.service)
    return call.service.locks.heartbeat(id)


def show_locks(call: Call) -> Any:
    request = call.arguments.rqst
    _end_locks(call.service)
    shown = [
        element
        for lock in call.service.locks.all()
        for number, component in enumerate(lock.request.components, 1)
        if _is_wanted(component, request)
        for element in [_element(call, lock, component, number)]
    ]
    return structure("ShowLocksResponse")(locks=shown)


def _is_wanted(component: LockComponent, request: Any) -> bool:
    return (
        (not request.dbname or component.database == database_name(request.dbname))
        and (not request.tablename or component.table == request.tablename.lower())
        and (not request.partname or component.partition == _partition(request.partname))
    )


def _element(call: Call, lock: Lock, component: LockComponent, number: int) -> Any:
    request = lock.request
    return structure("ShowLocksResponseElement")(
        lockid=lock.id,
        dbname=component.database,
        tablename=component.table,
        partname=component.partition,
        state=int(lock.state),
        type=int(component.type),
        txnid=request.transaction,
        lastheartbeat=_milliseconds(call, lock.heartbeat_at),
        acquiredat=None if lock.acquired_at is None else _milliseconds(call, lock.acquired_at),
        user=request.user,
        hostname=request.host,
        heartbeatCount=lock.heartbeats,
        agentInfo=request.agent,
        blockedByExtId=lock.blocked_by,
        lockIdInternal=number,
    )


def _milliseconds(call: Call, moment: float) -> int:
    """Returns a moment of the clock of the locks in milliseconds since 1970."""
    return int((call.now - (call.service.locks.clock() - moment)) * 1000)


def _response(lock: Lock) -> Any:
    return structure("LockResponse")(lockid=lock.id, state=int(lock.state))


def _end_locks(service: Service) -> None:
    """Ends the locks of transactions that have ended."""
    service.transactions.expire()
    held_by = service.locks.transactions()
    service.locks.end_transactions([id for id in held_by if not service.transactions.is_open(id)])


HANDLERS: Handlers = {
    "lock": lock,
    "check_lock": check_lock,
    "unlock": unlock,
    "show_locks": show_locks,
    "heartbeat": heartbeat,
}
