"""Transactions of clients, and the write ids of tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from rewriter.catalog.reading.history import aborted_writers
from rewriter.errors import DataError, Error, NotSupportedError
from rewriter.metastore.service.calls.client_transactions import Opener
from rewriter.metastore.service.calls.names import table_name
from rewriter.metastore.wire.interface import structure

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Table
    from rewriter.metastore.service.calls.call import Call, Handlers

_ABORTED, _OPEN = 2, 3
#: The most transactions of one heartbeat.
_MOST_IN_RANGE = 100_000


def open_txns(call: Call) -> Any:
    call.check_writable()
    request = call.arguments.rqst
    _refuse_replication(request)
    opener = Opener(request.user or "", request.hostname or "", request.agentInfo or "")
    ids = call.service.transactions.open(call.catalog, request.num_txns or 0, opener)
    return structure("OpenTxnsResponse")(txn_ids=ids)


def commit_txn(call: Call) -> None:
    _refuse_replication(call.arguments.rqst)
    call.service.transactions.commit(call.arguments.rqst.txnid or 0)


def abort_txn(call: Call) -> None:
    _refuse_replication(call.arguments.rqst)
    call.service.transactions.abort(call.arguments.rqst.txnid or 0)


def abort_txns(call: Call) -> None:
    """Aborts the transactions that are open, as Hive does. The others are no error."""
    for id in call.arguments.rqst.txn_ids or ():
        try:
            call.service.transactions.abort(id)
        except Error as error:
            if error.condition not in ("TRANSACTION_NOT_FOUND", "TRANSACTION_ABORTED"):
                raise


def _refuse_replication(request: Any) -> None:
    if request.replPolicy:
        raise NotSupportedError("Transactions are not replicated from another warehouse.", object="replPolicy")


def get_open_txns(call: Call) -> Any:
    """Returns all open transactions of the catalog, and the aborted ones that hold write ids. Two reads."""
    call.service.transactions.expire()
    transactions = call.snapshot.transactions
    aborted = frozenset(aborted_writers(call.catalog.database, transactions))
    ids = sorted(transactions.open | aborted)
    return structure("GetOpenTxnsResponse")(
        txn_high_water_mark=transactions.high_water_mark,
        open_txns=ids,
        min_open_txn=min(transactions.open, default=None),
        abortedBits=_aborted_bits(ids, aborted),
    )


def get_open_txns_info(call: Call) -> Any:
    """Returns what is known about the transactions of ``get_open_txns``. O(transactions)."""
    call.service.transactions.expire()
    snapshot = call.snapshot
    infos = [
        structure("TxnInfo")(
            id=record.id,
            state=_OPEN if record.state == "open" else _ABORTED,
            user=opener.user,
            hostname=opener.host,
            agentInfo=opener.agent,
            heartbeatCount=heartbeats,
            startedTime=int(record.begun_at * 1000),
            lastHeartbeatTime=int(record.heartbeat_at * 1000),
        )
        for record in snapshot.transaction_records()
        if record.state == "open" or (record.state == "aborted" and record.objects)
        for opener, heartbeats in [call.service.transactions.opener(record.id)]
    ]
    return structure("GetOpenTxnsInfoResponse")(
        txn_high_water_mark=snapshot.transactions.high_water_mark, open_txns=infos
    )


def _aborted_bits(ids: Sequence[int], aborted: Collection[int]) -> bytes:
    """Returns which ids were aborted, by their positions, as Java's ``BitSet.toByteArray`` does.

    >>> _aborted_bits([7, 8, 12], {8})
    b'\\x02'
    """
    bits = sum(1 << position for position, id in enumerate(ids) if id in aborted)
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def get_valid_write_ids(call: Call) -> Any:
    """Returns the write ids of tables in the newest committed state: one state for all of them.

    ``validTxnList`` is not used: a list of an older state would be of no use for the reads that follow, which show the
    newest state of external tables.
    """
    call.service.transactions.expire()
    lists = [_valid_ids(call, name) for name in call.arguments.rqst.fullTableNames or ()]
    return structure("GetValidWriteIdsResponse")(tblValidWriteIds=lists)


def _valid_ids(call: Call, name: str) -> Any:
    ids = call.snapshot.write_ids(_named(call, name).id)
    invalid = sorted(ids.invalid)
    return structure("TableValidWriteIds")(
        fullTableName=name,
        writeIdHighWaterMark=ids.high_water_mark,
        invalidWriteIds=invalid,
        minOpenWriteId=min(ids.open, default=None),
        abortedBits=_aborted_bits(invalid, ids.aborted),
    )


def _named(call: Call, full: str) -> Table:
    database, point, name = full.rpartition(".")
    return call.snapshot.table(table_name(database if point else None, name))


def allocate_table_write_ids(call: Call) -> Any:
    call.check_writable()
    request = call.arguments.rqst
    _refuse_replication(request)
    table = call.snapshot.table(table_name(request.dbName, request.tableName))
    if table.external:
        raise NotSupportedError(
            f"The table {table.name} is external: it has no write ids that clients use.",
            object=table.name,
            hint="Write it without a list of write ids.",
        )
    pairs = call.service.transactions.allocate(request.txnIds or (), table)
    made = [structure("TxnToWriteId")(txnId=id, writeId=write_id) for id, write_id in pairs]
    return structure("AllocateTableWriteIdsResponse")(txnToWriteIds=made)


def heartbeat_txn_range(call: Call) -> Any:
    """Notes the heartbeats of all transactions of a range, and returns the transactions that are not open."""
    request = call.arguments.txns
    first, last = request.min or 0, request.max or 0
    if last - first >= _MOST_IN_RANGE:
        raise DataError(
            f"A heartbeat of {last - first + 1} transactions is refused.",
            condition="INVALID_TRANSACTION_COUNT",
            hint=f"Send one for at most {_MOST_IN_RANGE} of them.",
        )
    aborted: set[int] = set()
    missing: set[int] = set()
    for id in range(first, last + 1):
        try:
            call.service.transactions.heartbeat(id)
        except Error as error:
            if error.condition not in ("TRANSACTION_NOT_FOUND", "TRANSACTION_ABORTED"):
                raise
            (aborted if error.condition == "TRANSACTION_ABORTED" else missing).add(id)
    return structure("HeartbeatTxnRangeResponse")(aborted=aborted, nosuch=missing)


HANDLERS: Handlers = {
    "open_txns": open_txns,
    "commit_txn": commit_txn,
    "abort_txn": abort_txn,
    "abort_txns": abort_txns,
    "get_open_txns": get_open_txns,
    "get_open_txns_info": get_open_txns_info,
    "get_valid_write_ids": get_valid_write_ids,
    "allocate_table_write_ids": allocate_table_write_ids,
    "heartbeat_txn_range": heartbeat_txn_range,
}
