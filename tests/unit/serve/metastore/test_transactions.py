"""Transactions, write ids and locks as clients of the metastore use them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pymetastore.hive_metastore.ttypes as hive
import pytest
from thrift.Thrift import TApplicationException

from rewriter.catalog.commit.transaction import Transaction
from rewriter.catalog.metastore_writes import NO_WRITES, CachedCatalog
from rewriter.catalog.model.objects import Column, Table
from rewriter.errors import CommitUnknownError
from rewriter.metastore.service.calls.locks import TIMEOUT_SECONDS

READ, WRITE, EXCLUSIVE = 1, 2, 3
DATABASE, TABLE, PARTITION = 1, 2, 3
ACQUIRED, WAITING = 1, 2
Run = Callable[[str], list[tuple[Any, ...]]]


def opened(client: Any, count: int = 1) -> list[int]:
    ids: list[int] = client.open_txns(hive.OpenTxnRequest(count, "ada", "host", "tests")).txn_ids
    return ids


def commit(client: Any, id: int) -> None:
    client.commit_txn(hive.CommitTxnRequest(txnid=id))


def abort(client: Any, id: int) -> None:
    client.abort_txn(hive.AbortTxnRequest(txnid=id))


def allocated(client: Any, ids: list[int], table: str = "events", database: str = "default") -> dict[int, int]:
    request = hive.AllocateTableWriteIdsRequest(database, table, ids)
    return {pair.txnId: pair.writeId for pair in client.allocate_table_write_ids(request).txnToWriteIds}


def valid(client: Any, name: str = "default.events") -> Any:
    request = hive.GetValidWriteIdsRequest(fullTableNames=[name], validTxnList="")
    (ids,) = client.get_valid_write_ids(request).tblValidWriteIds
    return ids


def hive_text(ids: Any) -> str:
    """Returns the text that ``ValidReaderWriteIdList.writeToString`` gives for what a client was sent."""
    bits = int.from_bytes(ids.abortedBits, "little")
    aborted = [id for index, id in enumerate(ids.invalidWriteIds) if bits >> index & 1]
    open_ids = [id for index, id in enumerate(ids.invalidWriteIds) if not bits >> index & 1]
    least = 9223372036854775807 if ids.minOpenWriteId is None else ids.minOpenWriteId
    lists = (",".join(map(str, part)) for part in (open_ids, aborted))
    return ":".join((ids.fullTableName, str(ids.writeIdHighWaterMark), str(least), *lists))


def lock(client: Any, type: int, *names: str, transaction: int = 0) -> Any:
    component = hive.LockComponent(type, len(names), *names)
    return client.lock(hive.LockRequest([component], transaction, "ada", "host"))


def check(client: Any, id: int) -> int:
    state: int = client.check_lock(hive.CheckLockRequest(lockid=id)).state
    return state


@pytest.fixture
def events(sql: Run) -> None:
    sql("CREATE TABLE events (n INT, dt STRING) PARTITIONED BY (dt)")


class TestTransactions:
    def test_a_transaction_is_open_in_the_catalog_until_it_ends(self, metastore: Any, client: Any) -> None:
        committed, aborted, left = opened(client, 3)
        assert metastore.catalog.snapshot().transactions.open == {committed, aborted, left}
        commit(client, committed)
        abort(client, aborted)
        assert metastore.catalog.snapshot().transactions.open == {left}
        states = {record.id: record.state for record in metastore.catalog.snapshot().transaction_records()}
        assert states == {committed: "committed", aborted: "aborted", left: "open"}

    def test_an_end_can_be_repeated_but_not_changed(self, client: Any) -> None:
        committed, aborted = opened(client, 2)
        for _ in range(2):
            commit(client, committed)
            abort(client, aborted)
        with pytest.raises(hive.TxnAbortedException, match="TRANSACTION_ABORTED"):
            commit(client, aborted)
        with pytest.raises(hive.NoSuchTxnException, match="was committed"):
            abort(client, committed)

    def test_transactions_of_others_are_none_of_this_server(self, metastore: Any, client: Any) -> None:
        with metastore.catalog.begin() as transaction:
            for call in (commit, abort):
                with pytest.raises(hive.NoSuchTxnException, match="TRANSACTION_NOT_FOUND"):
                    call(client, transaction.id)
            assert client.get_open_txns().open_txns == [transaction.id]

    def test_two_clients_share_the_transactions(self, metastore: Any, client: Any) -> None:
        (id,) = opened(client)
        other = metastore.connect()
        other.heartbeat(hive.HeartbeatRequest(txnid=id))
        commit(other, id)
        with pytest.raises(hive.NoSuchTxnException):
            client.heartbeat(hive.HeartbeatRequest(txnid=id))

    def test_aborts_of_several_skip_those_that_have_ended(self, metastore: Any, client: Any) -> None:
        ids = opened(client, 4)
        commit(client, ids[0])
        abort(client, ids[1])
        client.abort_txns(hive.AbortTxnsRequest([*ids[:3], 99]))
        assert metastore.catalog.snapshot().transactions.open == {ids[3]}

    def test_a_transaction_without_heartbeats_times_out(self, metastore: Any, client: Any, events: None) -> None:
        silent, alive = opened(client, 2)
        allocated(client, [silent, alive])
        metastore.clock.now += TIMEOUT_SECONDS
        client.heartbeat(hive.HeartbeatRequest(txnid=alive))
        metastore.clock.now += 1
        assert client.get_open_txns().min_open_txn == alive
        with pytest.raises(hive.TxnAbortedException):
            client.heartbeat(hive.HeartbeatRequest(txnid=silent))
        with pytest.raises(hive.TxnAbortedException):
            commit(client, silent)
        with pytest.raises(hive.TxnAbortedException):
            allocated(client, [alive, silent])
        commit(client, alive)
        records = {record.id: record.state for record in metastore.catalog.snapshot().transaction_records()}
        assert (records[silent], records[alive]) == ("aborted", "committed")

    def test_a_transaction_that_another_process_has_aborted(self, metastore: Any, client: Any, events: None) -> None:
        first, second = opened(client, 2)
        metastore.catalog.abort_dead(-1.0)
        with pytest.raises(hive.TxnAbortedException):
            commit(client, first)
        with pytest.raises(hive.TxnAbortedException):
            allocated(client, [second])
        abort(client, second)

    def test_a_heartbeat_of_a_range_says_which_have_ended(self, client: Any) -> None:
        first, _, third = opened(client, 3)
        commit(client, first)
        abort(client, third)
        response = client.heartbeat_txn_range(hive.HeartbeatTxnRangeRequest(min=first, max=third + 1))
        assert (response.aborted, response.nosuch) == ({third}, {first, third + 1})
        with pytest.raises(TApplicationException, match="INVALID_TRANSACTION_COUNT"):
            client.heartbeat_txn_range(hive.HeartbeatTxnRangeRequest(min=1, max=1 << 40))

    def test_the_open_and_aborted_transactions(self, metastore: Any, client: Any, events: None) -> None:
        ids = opened(client, 4)
        allocated(client, ids[:3])
        commit(client, ids[0])
        abort(client, ids[1])
        abort(client, ids[3])
        response = client.get_open_txns()
        # The last one has no write id: nothing of it can be seen.
        assert response.open_txns == [ids[1], ids[2]]
        assert (response.txn_high_water_mark, response.min_open_txn) == (ids[3], ids[2])
        assert response.abortedBits == b"\x01"
        client.heartbeat(hive.HeartbeatRequest(txnid=ids[2]))
        infos = client.get_open_txns_info().open_txns
        assert [(info.id, info.state) for info in infos] == [(ids[1], 2), (ids[2], 3)]
        assert (infos[1].user, infos[1].hostname, infos[1].agentInfo) == ("ada", "host", "tests")
        assert infos[1].heartbeatCount == 1
        assert infos[1].startedTime > 1_500_000_000_000

    def test_clients_that_end_one_transaction_at_once(self, metastore: Any, client: Any) -> None:
        def end(commits: bool, id: int) -> str:
            try:
                (commit if commits else abort)(metastore.connect(), id)
            except hive.TxnAbortedException:
                return "aborted"
            except hive.NoSuchTxnException:
                return "committed"
            return "committed" if commits else "aborted"

        with ThreadPoolExecutor(8) as pool:
            for id in opened(client, 5):
                ends = set(pool.map(end, [True, False] * 4, [id] * 8))
                (record,) = (one for one in metastore.catalog.snapshot().transaction_records() if one.id == id)
                assert ends == {record.state}

    def test_a_commit_without_confirmation_can_be_repeated(
        self, metastore: Any, client: Any, events: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, second = opened(client, 2)
        allocated(client, [first, second])
        real = Transaction.commit

        def unconfirmed(transaction: Transaction, changes: Any) -> None:
            real(transaction, changes)
            raise CommitUnknownError("the database is gone")

        with monkeypatch.context() as patched:
            patched.setattr(Transaction, "commit", unconfirmed)
            for id in (first, second):
                with pytest.raises(TApplicationException, match="the database is gone"):
                    commit(client, id)
        commit(client, first)
        with pytest.raises(hive.NoSuchTxnException, match="was committed"):
            abort(client, second)
        assert valid(client).invalidWriteIds == []

    @pytest.mark.parametrize("count", [0, -1])
    def test_a_number_of_transactions_that_cannot_be_opened(self, client: Any, count: int) -> None:
        with pytest.raises(TApplicationException, match="INVALID_TRANSACTION_COUNT"):
            opened(client, count)

    def test_replication_is_refused(self, client: Any) -> None:
        with pytest.raises(TApplicationException, match="replicated"):
            client.open_txns(hive.OpenTxnRequest(1, "ada", "host", replPolicy="x"))

    def test_a_read_only_server_opens_none(self, start: Any, tmp_path: Path) -> None:
        served = start(tmp_path / "w")
        object.__setattr__(served.service, "read_only", True)
        with pytest.raises(TApplicationException, match="READ_ONLY_SERVER"):
            opened(served.connect())

    def test_the_limit_of_one_call_is_that_of_hive(self, metastore: Any, client: Any, monkeypatch: Any) -> None:
        monkeypatch.setattr("rewriter.metastore.service.calls.client_transactions.MOST_AT_ONCE", 2)
        assert len(opened(client, 5)) == 2


class TestWriteIds:
    def test_a_new_table_has_the_write_of_its_creation(self, client: Any, events: None) -> None:
        ids = valid(client)
        assert (ids.fullTableName, ids.writeIdHighWaterMark, ids.invalidWriteIds) == ("default.events", 1, [])
        assert ids.minOpenWriteId is None
        assert hive_text(ids) == "default.events:1:9223372036854775807::"

    def test_the_list_of_the_seed(
        self, metastore: Any, client: Any, sql: Run, events: None, send: Callable[..., Any]
    ) -> None:
        """High-water mark 13, 7 and 12 open, 8 aborted; the session of SQL sees the same."""
        transactions = opened(client, 12)
        held = allocated(client, transactions)
        assert sorted(held.values()) == list(range(2, 14))
        by_write_id = {write_id: id for id, write_id in held.items()}
        assert allocated(metastore.connect(), transactions[:1]) == {transactions[0]: held[transactions[0]]}
        for write_id in (2, 3, 4, 5, 6, 9, 10, 11, 13):
            commit(client, by_write_id[write_id])
        abort(client, by_write_id[8])
        ids = valid(client)
        assert hive_text(ids) == "default.events:13:7:7,12:8"
        own = CachedCatalog(metastore.catalog).valid_write_id_list("events")
        assert own.partition(":")[2] == "13:7:7,12:8"
        table = send(client, "get_table", dbname="default", tbl_name="events", validWriteIdList=hive_text(ids))
        assert table.tableName == "events"
        commit(client, by_write_id[12])
        assert hive_text(valid(client)) == "default.events:13:7:7:8"
        abort(client, by_write_id[7])
        assert hive_text(valid(client)) == "default.events:13:9223372036854775807::7,8"

    def test_many_open_and_aborted_ids(self, client: Any, events: None) -> None:
        """The bits of the aborted ones take several bytes."""
        transactions = opened(client, 20)
        held = allocated(client, transactions)
        for id in (transactions[1], transactions[9], transactions[18]):
            abort(client, id)
        commit(client, transactions[19])
        ids = valid(client)
        aborted = ",".join(str(held[transactions[index]]) for index in (1, 9, 18))
        assert hive_text(ids).split(":")[4] == aborted
        assert ids.abortedBits == b"\x02\x02\x04"

    def test_on_both_databases(self, start: Any, tmp_path: Path, catalog_url: str | None) -> None:
        served = start(tmp_path / "w", catalog_url)
        client = served.connect()
        given = Table(0, "events", (Column("n", "int"),), (), "parquet", "")
        CachedCatalog(served.catalog).create_table(given, NO_WRITES)
        first, second, third, _ = opened(client, 4)
        assert allocated(client, [third, first, second]) == {first: 2, second: 3, third: 4}
        abort(client, first)
        client.heartbeat(hive.HeartbeatRequest(txnid=second))
        commit(client, third)
        assert hive_text(valid(client)) == "default.events:4:3:3:2"
        response = client.get_open_txns()
        assert (response.open_txns, response.abortedBits) == ([first, second, second + 2], b"\x01")
        assert [info.state for info in client.get_open_txns_info().open_txns] == [2, 3, 3]
        events = client.get_next_notification(hive.NotificationEventRequest(0)).events
        assert [event.eventType for event in events] == ["CREATE_TABLE", "COMMIT_TXN", "COMMIT_TXN"]
        assert events[0].eventTime > 1_500_000_000
        assert client.get_current_notificationEventId().eventId == 3

    def test_old_lists_see_old_partitions(self, client: Any, sql: Run, events: None, send: Callable[..., Any]) -> None:
        sql("INSERT INTO events VALUES (1, 'a')")
        before = hive_text(valid(client))
        sql("INSERT INTO events VALUES (2, 'b')")
        after = hive_text(valid(client))
        sql("ALTER TABLE events DROP PARTITION (dt = 'a')")
        where = {"db_name": "default", "tbl_name": "events", "max_parts": -1}
        assert send(client, "get_partition_names", **where, validWriteIdList=before) == ["dt=a"]
        assert send(client, "get_partition_names", **where, validWriteIdList=after) == ["dt=a", "dt=b"]
        newest = hive_text(valid(client))
        assert send(client, "get_partition_names", **where, validWriteIdList=newest) == ["dt=b"]
        one = {"db_name": "default", "tbl_name": "events", "part_vals": ["a"]}
        assert send(client, "get_partition", **one, validWriteIdList=before).values == ["a"]

    def test_both_forms_of_a_list_give_the_same(
        self, metastore: Any, client: Any, sql: Run, send: Callable[..., Any]
    ) -> None:
        sql("CREATE DATABASE sales")
        sql("CREATE TABLE sales.Orders (n INT)")
        own = CachedCatalog(metastore.catalog).valid_write_id_list("sales.orders")
        for text in (own, hive_text(valid(client, "sales.orders")), "SALES.Orders:1", "@hive#sales.orders:1:2"):
            table = send(client, "get_table", dbname="sales", tbl_name="orders", validWriteIdList=text)
            assert (table.dbName, table.tableName) == ("sales", "orders")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            ":",
            "default.events",
            "default.events:",
            "default.events:x",
            "default.events:-1",
            "default.events:3:1::",
            "default.events:3:2:3:",
            "default.events:3:2:2,2:",
            "default.events:3:2:2:2",
            "default.events:3:2:,2:",
            "default.events:3:9223372036854775807::0",
            "default.events:3:9223372036854775807:::",
            "default.events:99999999999999999999::",
            "default.events:1:9223372036854775807::x",
            "default.events:²",
            "other.events:1:9223372036854775807::",
            "default.other:1:9223372036854775807::",
            "default.events:5:9223372036854775807::",
            "default.events:1:9223372036854775807::1",
        ],
    )
    def test_a_list_that_is_none(self, client: Any, events: None, send: Callable[..., Any], text: str) -> None:
        arguments = {"dbname": "default", "tbl_name": "events", "validWriteIdList": text}
        with pytest.raises(Exception, match="INVALID_WRITE_ID_LIST") as failure:
            send(client, "get_table", **arguments)
        assert type(failure.value).__name__ == "MetaException"

    def test_the_list_of_a_writer_has_its_own_write_id(
        self, client: Any, events: None, send: Callable[..., Any]
    ) -> None:
        """As in the seed: the list before the write, with the writer's id as the high-water mark."""
        (id,) = opened(client)
        own = allocated(client, [id])[id]
        text = f"default.events:{own}:9223372036854775807::"
        arguments = {"dbname": "default", "tbl_name": "events", "validWriteIdList": text}
        assert send(client, "get_table", **arguments).tableName == "events"
        abort(client, id)
        with pytest.raises(Exception, match="INVALID_WRITE_ID_LIST"):
            send(client, "get_table", **arguments)

    def test_ids_above_the_high_water_mark_are_not_seen_anyway(
        self, client: Any, events: None, send: Callable[..., Any]
    ) -> None:
        arguments = {"dbname": "default", "tbl_name": "events", "validWriteIdList": "default.events:1:4:4:3"}
        assert send(client, "get_table", **arguments).tableName == "events"

    def test_no_write_ids_are_taken_unless_all_transactions_are_open(self, client: Any, events: None) -> None:
        first, second = opened(client, 2)
        commit(client, second)
        with pytest.raises(hive.NoSuchTxnException):
            allocated(client, [first, second])
        commit(client, first)
        assert valid(client).writeIdHighWaterMark == 1

    def test_tables_without_write_ids_of_clients(self, client: Any, sql: Run, tmp_path: Path) -> None:
        sql(f"CREATE EXTERNAL TABLE outside (n INT) LOCATION '{tmp_path}/outside'")
        (id,) = opened(client)
        with pytest.raises(hive.MetaException, match="external"):
            allocated(client, [id], "outside")
        with pytest.raises(hive.MetaException, match="TABLE_OR_VIEW_NOT_FOUND"):
            allocated(client, [id], "missing")
        with pytest.raises(hive.MetaException, match="TABLE_OR_VIEW_NOT_FOUND"):
            valid(client, "default.missing")

    def test_several_tables_in_one_state(self, client: Any, sql: Run, events: None) -> None:
        sql("CREATE DATABASE sales")
        sql("CREATE TABLE sales.orders (n INT)")
        request = hive.GetValidWriteIdsRequest(fullTableNames=["sales.orders", "events"], validTxnList="1:2:")
        lists = client.get_valid_write_ids(request).tblValidWriteIds
        assert [ids.fullTableName for ids in lists] == ["sales.orders", "events"]


class TestLocks:
    def test_a_lock_waits_and_gets_its_turn(self, metastore: Any, client: Any) -> None:
        other = metastore.connect()
        held = lock(client, EXCLUSIVE, "sales", "orders")
        waiting = lock(other, READ, "sales", "orders", "dt=1")
        assert (held.state, waiting.state) == (ACQUIRED, WAITING)
        assert check(other, waiting.lockid) == WAITING
        client.unlock(hive.UnlockRequest(held.lockid))
        assert check(other, waiting.lockid) == ACQUIRED
        with pytest.raises(hive.NoSuchLockException):
            check(client, held.lockid)

    def test_locks_of_a_transaction_end_with_it(self, metastore: Any, client: Any) -> None:
        other = metastore.connect()
        for end in (commit, abort):
            (id,) = opened(client)
            held = lock(client, EXCLUSIVE, "sales", transaction=id)
            waiting = lock(other, WRITE, "sales", "orders")
            assert (held.state, waiting.state) == (ACQUIRED, WAITING)
            with pytest.raises(hive.TxnOpenException):
                client.unlock(hive.UnlockRequest(held.lockid))
            end(client, id)
            assert check(other, waiting.lockid) == ACQUIRED
            other.unlock(hive.UnlockRequest(waiting.lockid))

    def test_locks_of_a_silent_transaction_end_with_it(self, metastore: Any, client: Any) -> None:
        other = metastore.connect()
        (id,) = opened(client)
        held = lock(client, EXCLUSIVE, "sales", transaction=id)
        waiting = lock(other, READ, "sales")
        metastore.clock.now += TIMEOUT_SECONDS
        assert check(other, waiting.lockid) == WAITING
        metastore.clock.now += 1
        with pytest.raises(hive.TxnAbortedException):
            client.check_lock(hive.CheckLockRequest(lockid=held.lockid, txnid=id))
        assert check(other, waiting.lockid) == ACQUIRED

    def test_a_heartbeat_of_a_lock_keeps_it_and_its_transaction(self, metastore: Any, client: Any) -> None:
        (id,) = opened(client)
        held, plain = lock(client, READ, "sales", transaction=id), lock(client, READ, "sales")
        for _ in range(3):
            metastore.clock.now += TIMEOUT_SECONDS - 1
            client.heartbeat(hive.HeartbeatRequest(lockid=held.lockid, txnid=id))
            client.heartbeat(hive.HeartbeatRequest(lockid=plain.lockid))
        commit(client, id)
        metastore.clock.now += TIMEOUT_SECONDS + 1
        with pytest.raises(hive.NoSuchLockException):
            client.heartbeat(hive.HeartbeatRequest(lockid=plain.lockid))

    def test_the_end_of_a_connection_releases_nothing(self, metastore: Any, client: Any) -> None:
        other = metastore.connect()
        lock(other, EXCLUSIVE, "sales")
        other._iprot.trans.close()
        waiting = lock(client, READ, "sales")
        assert waiting.state == WAITING
        metastore.clock.now += TIMEOUT_SECONDS
        assert check(client, waiting.lockid) == WAITING
        metastore.clock.now += 1
        assert check(client, waiting.lockid) == ACQUIRED

    def test_a_lock_of_a_transaction_that_has_ended(self, client: Any) -> None:
        committed, aborted = opened(client, 2)
        commit(client, committed)
        abort(client, aborted)
        with pytest.raises(hive.NoSuchTxnException):
            lock(client, READ, "sales", transaction=committed)
        with pytest.raises(hive.TxnAbortedException):
            lock(client, READ, "sales", transaction=aborted)

    def test_a_list_of_the_locks(self, metastore: Any, client: Any) -> None:
        (id,) = opened(client)
        held = lock(client, WRITE, "Sales", "Orders", "DT=A", transaction=id)
        waiting = lock(client, EXCLUSIVE, "sales")
        lock(client, READ, "other")
        shown = client.show_locks(hive.ShowLocksRequest(dbname="sales")).locks
        assert [(one.lockid, one.state, one.type) for one in shown] == [
            (held.lockid, ACQUIRED, WRITE),
            (waiting.lockid, WAITING, EXCLUSIVE),
        ]
        first, second = shown
        assert (first.dbname, first.tablename, first.partname) == ("sales", "orders", "dt=A")
        assert (first.txnid, first.user, first.hostname) == (id, "ada", "host")
        assert second.blockedByExtId == held.lockid
        assert first.acquiredat > 1_500_000_000_000
        assert len(client.show_locks(hive.ShowLocksRequest()).locks) == 3
        wanted = hive.ShowLocksRequest(dbname="sales", tablename="orders", partname="dt=A")
        assert [one.lockid for one in client.show_locks(wanted).locks] == [held.lockid]

    @pytest.mark.parametrize(
        "component",
        [
            hive.LockComponent(9, DATABASE, "d"),
            hive.LockComponent(READ, 9, "d"),
            hive.LockComponent(READ, DATABASE, ""),
            hive.LockComponent(READ, TABLE, "d"),
            hive.LockComponent(READ, PARTITION, "d", "t"),
            None,
        ],
    )
    def test_a_request_that_names_no_lock(self, client: Any, component: Any) -> None:
        components = [] if component is None else [component]
        with pytest.raises(TApplicationException, match="INVALID_LOCK_REQUEST"):
            client.lock(hive.LockRequest(components, 0, "ada", "host"))
