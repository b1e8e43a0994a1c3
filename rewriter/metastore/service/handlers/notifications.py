"""The notification log of the catalog, as Hive's clients follow it.

An event has the number that it has in the catalog: they have no gaps. Events that Hive does not know keep the
catalog's names, and clients skip them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rewriter.catalog.following.log_follower import newest_numbers
from rewriter.catalog.model.objects import parts_of
from rewriter.catalog.reading.history import commit_times
from rewriter.metastore.descriptors import CATALOG
from rewriter.metastore.service.calls.names import database_name
from rewriter.metastore.wire.interface import structure

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Event
    from rewriter.metastore.service.calls.call import Call, Handlers

#: The format of the messages: JSON with the catalog's name of the event, and what is known about it.
_FORMAT = "rewriter-1.0"
#: The most events that one call returns. The client asks again after the last one.
MOST_EVENTS = 10_000
_PAGE = 1000

#: Hive's names of the catalog's events. The others have the same name.
_TYPES = {
    "COMMIT": "COMMIT_TXN",
    "CREATE_VIEW": "CREATE_TABLE",
    "DROP_VIEW": "DROP_TABLE",
    "RENAME_TABLE": "ALTER_TABLE",
    "RENAME_VIEW": "ALTER_TABLE",
    "INSERT_OVERWRITE": "INSERT",
    "TRUNCATE": "ALTER_PARTITION",
    "RENAME_PARTITION": "ALTER_PARTITION",
    "EXCHANGE_PARTITION": "ALTER_PARTITION",
    "ACCEPT_PARTITION": "ALTER_PARTITION",
    "REJECT_PARTITION": "ALTER_PARTITION",
    "COMMIT_PARTITION": "ALTER_PARTITION",
    "COMPACT": "ALTER_PARTITION",
    "NOTE_FILES": "ALTER_PARTITION",
    "ANALYZE": "ALTER_PARTITION",
    "ADD_COPIES": "ALTER_PARTITION",
    "DROP_COPIES": "ALTER_PARTITION",
}
#: The names of a payload in the catalog, and in a message.
_DETAILS = {
    "before": "before",
    "names": "partitions",
    "partitions": "partitionCount",
    "write_ids": "writeIds",
    "source": "source",
    "target": "target",
}


def _get_current_notification_event_id(call: Call) -> Any:
    return structure("CurrentNotificationEventId")(eventId=_newest(call))


def _newest(call: Call) -> int:
    """Returns the number of the newest event; 0 before the first. One read."""
    with call.catalog.database.read() as connection:
        return newest_numbers(connection)[0]


def get_next_notification(call: Call) -> Any:
    """Returns the events after a number, oldest first, at most ``MOST_EVENTS``. Two reads."""
    request = call.arguments.rqst
    given = request.maxEvents
    most = MOST_EVENTS if given is None or given < 0 else min(given, MOST_EVENTS)
    events = call.catalog.events(request.lastEvent or 0, most)
    times = commit_times(call.catalog.database, {event.transaction_id for event in events})
    made = [_notification(event, times.get(event.transaction_id, 0.0)) for event in events]
    return structure("NotificationEventResponse")(events=made)


def get_notification_events_count(call: Call) -> Any:
    """Returns the number of events after one, of a database if the client names one. Reads the events then."""
    request = call.arguments.rqst
    wanted = database_name(request.dbName) if request.dbName else None
    position, count = request.fromEventId or 0, 0
    while events := call.catalog.events(position, _PAGE):
        count += sum(1 for event in events if wanted is None or _names_of(event)[0] == wanted)
        position = events[-1].sequence
    return structure("NotificationEventsCountResponse")(eventsCount=count)


def _names_of(event: Event) -> tuple[str | None, str | None]:
    """Returns the database of an event, and the table or view, in lower case; ``None`` for what it has not."""
    name = event.payload.get("name")
    if not isinstance(name, str) or event.kind == "ALTER_PROPERTIES":
        return None, None
    if event.kind.endswith("_DATABASE"):
        return name.lower(), None
    database, short = parts_of(name)
    return database, None if event.kind.endswith("_FUNCTION") else short.lower()


def _notification(event: Event, moment: float) -> Any:
    database, table = _names_of(event)
    return structure("NotificationEvent")(
        eventId=event.sequence,
        eventTime=int(moment),
        eventType=_TYPES.get(event.kind, event.kind),
        dbName=database,
        tableName=table,
        message=_message(event, database, table),
        messageFormat=_FORMAT,
        catName=CATALOG,
    )


def _message(event: Event, database: str | None, table: str | None) -> str:
    values: dict[str, Any] = {"event": event.kind, "txnId": event.transaction_id, "db": database, "table": table}
    if event.kind.endswith("_FUNCTION"):
        values["function"] = parts_of(str(event.payload["name"]))[1]
    values |= {shown: event.payload.get(name) for name, shown in _DETAILS.items()}
    return json.dumps({key: value for key, value in values.items() if value is not None}, ensure_ascii=False)


HANDLERS: Handlers = {
    "get_current_notificationEventId": _get_current_notification_event_id,
    "get_next_notification": get_next_notification,
    "get_notification_events_count": get_notification_events_count,
}
