"""The SELECTs of transaction lists and lists of write ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.model.qualified_names import PROPERTIES_KEY
from rewriter.catalog.model.write_ids import ValidTxnList, ValidWriteIdList
from rewriter.catalog.store import schema
from rewriter.catalog.store.prepared_statements import fetch, fetch_value, once
from rewriter.catalog.store.server_identity import IDENTITY

#: A list that may see all transactions: the write ids of those that committed are valid.
ALL_COMMITTED = ValidTxnList(schema.NEVER, frozenset())


def transaction_list(connection: sa.Connection) -> tuple[tuple[int, int], int, ValidTxnList, bool]:
    """Returns the version of the schema and the tables' identity, the newest commit's number, the transactions, and
    whether the catalog has properties.

    Runs one statement, so the result is one state of the database.
    """
    rows = fetch(connection, _transactions(connection.dialect))
    newest = {name: value for name, value, *_ in rows}
    open_ids = frozenset(transaction_id for _, _, transaction_id, *_ in rows if transaction_id is not None)
    *_, version, identity, has_properties = rows[0]
    return (version, identity), newest["commit"], ValidTxnList(newest["transaction"], open_ids), bool(has_properties)


@once
def _transactions() -> sa.Select[Any]:
    counter, transaction = schema.counters, schema.transactions
    version = sa.select(schema.schema_version.c.version).scalar_subquery()
    is_live = sa.and_(schema.objects.c.name_key == PROPERTIES_KEY, schema.objects.c.ended == schema.NEVER)
    has_properties = sa.select(schema.objects.c.row_id).where(is_live).exists()
    return (
        sa.select(counter.c.name, counter.c.value, transaction.c.transaction_id, version, IDENTITY, has_properties)
        .select_from(counter.outerjoin(transaction, transaction.c.state == "open"))
        .where(counter.c.name.in_(("commit", "transaction")))
    )


def write_id_list(
    connection: sa.Connection, object_id: int, sequence: int, transactions: ValidTxnList
) -> ValidWriteIdList:
    """Returns the write ids of an object that are valid as of a commit. Two statements."""
    parameters = {"object": object_id, "sequence": sequence}
    high: int | None = fetch_value(connection, _high(connection.dialect), **parameters)
    if high is None:
        return ValidWriteIdList(str(object_id), 0)
    not_seen = fetch(connection, _not_seen(connection.dialect), **parameters, high=high)
    # A transaction that was open at the snapshot stays open for it, whatever its later state.
    aborted = frozenset(w for w, holder, state in not_seen if state == "aborted" and transactions.may_see(holder))
    open_ids = frozenset(w for w, _, _ in not_seen) - aborted
    return ValidWriteIdList(str(object_id), high, open_ids, aborted)


@once
def _high() -> sa.Select[Any]:
    write_id = schema.write_ids.c
    # The addition disables the index on commit numbers: a backward scan of the newest ids finds the result sooner.
    query = sa.select(write_id.write_id).where(
        write_id.object_id == _number("object"), write_id.commit_seq + 0 <= _number("sequence")
    )
    return query.order_by(write_id.write_id.desc()).limit(1)


@once
def _not_seen() -> sa.CompoundSelect[Any]:
    write_ids, transaction = schema.write_ids, schema.transactions
    below = (
        sa.select(write_ids.c.write_id, write_ids.c.transaction_id, transaction.c.state)
        .join_from(write_ids, transaction, transaction.c.transaction_id == write_ids.c.transaction_id)
        .where(write_ids.c.object_id == _number("object"), write_ids.c.write_id + 0 < _number("high"))
    )
    return sa.union_all(
        below.where(write_ids.c.commit_seq.is_(None)), below.where(write_ids.c.commit_seq > _number("sequence"))
    )


def _number(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, 0, sa.BigInteger)


def are_committed(connection: sa.Connection, object_id: int, ids: ValidWriteIdList) -> bool:
    """Returns True if all writes that a list sees were committed, and all that it calls aborted were aborted.

    Runs one statement, or two.
    """
    write_ids, transaction = schema.write_ids, schema.transactions
    query = sa.select(sa.func.count()).where(
        write_ids.c.object_id == object_id,
        write_ids.c.write_id <= ids.high_water_mark,
        write_ids.c.commit_seq.is_not(None),
    )
    if ids.invalid:
        query = query.where(write_ids.c.write_id.not_in(_numbers("invalid", ids.invalid)))
    if connection.execute(query).scalar_one() != ids.count:
        return False
    if not ids.aborted:
        return True
    aborted = (
        sa.select(sa.func.count())
        .join_from(write_ids, transaction, transaction.c.transaction_id == write_ids.c.transaction_id)
        .where(write_ids.c.object_id == object_id, write_ids.c.write_id.in_(_numbers("aborted", ids.aborted)))
        .where(transaction.c.state == "aborted")
    )
    return connection.execute(aborted).scalar_one() == len(ids.aborted)


def _numbers(name: str, numbers: Iterable[int]) -> sa.BindParameter[Any]:
    return sa.bindparam(name, sorted(numbers), expanding=True, literal_execute=True)
