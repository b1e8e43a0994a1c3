"""The log of the catalog as clients of the metastore follow it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pymetastore.hive_metastore.ttypes as hive
import pytest

from rewriter.metastore.service.handlers import notifications

Run = Callable[[str], list[tuple[Any, ...]]]


def following(client: Any, last: int = 0, most: int | None = None) -> list[Any]:
    events: list[Any] = client.get_next_notification(hive.NotificationEventRequest(last, most)).events
    return events


def newest(client: Any) -> int:
    id: int = client.get_current_notificationEventId().eventId
    return id


def test_an_empty_catalog_has_no_events(client: Any) -> None:
    assert newest(client) == 0
    assert following(client) == []


def test_events_of_statements_have_the_names_of_hive(client: Any, sql: Run) -> None:
    expected: list[tuple[str, str | None, str | None]] = []
    for statement, *events in [
        ("CREATE DATABASE Sales", ("CREATE_DATABASE", "sales", None)),
        (
            "CREATE TABLE sales.Orders (n INT, dt STRING) PARTITIONED BY (dt)",
            ("CREATE_TABLE", "sales", "orders"),
        ),
        ("INSERT INTO sales.orders VALUES (1, 'a')", ("INSERT", "sales", "orders")),
        ("INSERT OVERWRITE sales.orders VALUES (1, 'a')", ("INSERT", "sales", "orders")),
        ("ALTER TABLE sales.orders ADD PARTITION (dt = 'b')", ("ADD_PARTITION", "sales", "orders")),
        (
            "ALTER TABLE sales.orders PARTITION (dt = 'b') RENAME TO PARTITION (dt = 'c')",
            ("ALTER_PARTITION", "sales", "orders"),
        ),
        ("ALTER TABLE sales.orders DROP PARTITION (dt = 'c')", ("DROP_PARTITION", "sales", "orders")),
        ("ALTER TABLE sales.orders SET TBLPROPERTIES ('a' = 'b')", ("ALTER_TABLE", "sales", "orders")),
        ("ALTER TABLE sales.orders RENAME TO sales.bills", ("ALTER_TABLE", "sales", "bills")),
        ("CREATE VIEW v AS SELECT 1 AS n", ("CREATE_TABLE", "default", "v")),
        ("DROP VIEW v", ("DROP_TABLE", "default", "v")),
        ("DROP TABLE sales.bills", ("DROP_TABLE", "sales", "bills")),
        ("DROP DATABASE sales", ("DROP_DATABASE", "sales", None)),
    ]:
        sql(statement)
        expected += [*events, ("COMMIT_TXN", None, None)]
    client.create_database(hive.Database("Other"))
    client.alter_database("other", hive.Database("other", "a description"))
    for kind in ("CREATE_DATABASE", "ALTER_DATABASE"):
        expected += [(kind, "other", None), ("COMMIT_TXN", None, None)]
    events = following(client)
    assert [(event.eventType, event.dbName, event.tableName) for event in events] == expected
    assert [event.eventId for event in events] == list(range(1, len(expected) + 1))
    assert {event.messageFormat for event in events} == {"rewriter-1.0"}
    assert all(abs(event.eventTime - time.time()) < 300 for event in events)
    assert newest(client) == len(expected)


def test_messages_say_what_is_known(metastore: Any, client: Any, sql: Run) -> None:
    sql("CREATE TABLE Orders (n INT, dt STRING) PARTITIONED BY (dt)")
    sql("ALTER TABLE orders ADD PARTITION (dt = 'a') PARTITION (dt = 'b')")
    sql("ALTER TABLE orders PARTITION (dt = 'b') RENAME TO PARTITION (dt = 'c')")
    sql("ALTER TABLE orders RENAME TO bills")
    messages = [json.loads(event.message) for event in following(client)]
    by_event = {message["event"]: message for message in messages}
    table_id = metastore.catalog.snapshot().table("bills").id
    added = by_event["ADD_PARTITION"]
    assert (added["db"], added["table"], added["partitionCount"]) == ("default", "orders", 2)
    assert added["writeIds"].startswith(f"{table_id}:2:")
    assert "dt=c" in str(by_event["RENAME_PARTITION"]["partitions"])
    assert by_event["RENAME_TABLE"]["before"] == "Orders"
    assert by_event["COMMIT"]["writeIds"] == {str(table_id): by_event["RENAME_TABLE"]["writeIds"]}
    assert by_event["RENAME_TABLE"]["txnId"] == by_event["COMMIT"]["txnId"]


def test_transactions_of_clients_are_in_the_log(client: Any, sql: Run) -> None:
    sql("CREATE TABLE orders (n INT)")
    last = newest(client)
    (id,) = client.open_txns(hive.OpenTxnRequest(1, "ada", "host")).txn_ids
    client.allocate_table_write_ids(hive.AllocateTableWriteIdsRequest("default", "orders", [id]))
    assert newest(client) == last
    client.commit_txn(hive.CommitTxnRequest(txnid=id))
    (event,) = following(client, last)
    assert (event.eventType, json.loads(event.message)["txnId"]) == ("COMMIT_TXN", id)


def test_pages_of_events(client: Any, sql: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        sql(f"CREATE VIEW v{number} AS SELECT 1 AS n")
    assert [event.eventId for event in following(client, 0, 3)] == [1, 2, 3]
    assert [event.eventId for event in following(client, 3, 3)] == [4, 5, 6]
    assert [event.eventId for event in following(client, 6, -1)] == [7, 8]
    assert following(client, 8) == following(client, 99) == following(client, 0, 0) == []
    monkeypatch.setattr(notifications, "MOST_EVENTS", 5)
    assert [event.eventId for event in following(client, 1)] == [2, 3, 4, 5, 6]


def test_counts_of_events(client: Any, sql: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "_PAGE", 2)
    sql("CREATE DATABASE sales")
    sql("CREATE TABLE sales.orders (n INT)")
    sql("CREATE TABLE other (n INT)")

    def count(after: int, database: str | None = None) -> int:
        request = hive.NotificationEventsCountRequest(fromEventId=after, dbName=database)
        counted: int = client.get_notification_events_count(request).eventsCount
        return counted

    assert [count(0), count(0, "Sales"), count(2, "sales"), count(0, "default"), count(0, "none")] == [6, 2, 1, 1, 0]
