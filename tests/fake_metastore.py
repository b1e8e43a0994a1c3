"""A metastore in memory that speaks Thrift, for imports: it may hold what no real one would, and lose connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from thrift.Thrift import TApplicationException

from rewriter.metastore.formats import hive_format
from rewriter.metastore.wire.calls import Calls
from rewriter.metastore.wire.interface import ErrorStructure, interface, structure
from rewriter.metastore.wire.transport import SocketTransport


def descriptor(location: str, columns: Mapping[str, str], format: str = "parquet", **options: str) -> Any:
    """Returns a storage descriptor. ``options`` are those of its serde, with ``_`` for a point."""
    classes = hive_format(format)
    return structure("StorageDescriptor")(
        cols=[structure("FieldSchema")(name=name, type=type) for name, type in columns.items()],
        location=location,
        inputFormat=classes.input,
        outputFormat=classes.output,
        numBuckets=-1,
        serdeInfo=structure("SerDeInfo")(
            serializationLib=classes.serde, parameters={key.replace("_", "."): value for key, value in options.items()}
        ),
    )


class FakeMetastore:
    """Databases, tables and partitions as Thrift structures, which tests change at will.

    ``on_call`` is called with the method and its arguments before each call; it may raise. ``overrides`` return other
    results for a method. ``cut_after`` is the number of bytes of the next result after which the connection is cut.
    """

    def __init__(self) -> None:
        self.databases: dict[str, Any] = {}
        self.tables: dict[tuple[str, str], Any] = {}
        self.partitions: dict[tuple[str, str], dict[str, Any]] = {}
        self.functions: list[Any] = []
        #: Column statistics by the database, the table and the partition, ``None`` for those of the table.
        self.statistics: dict[tuple[str, str, str | None], list[Any]] = {}
        self.events: list[Any] = []
        self.overrides: dict[str, Callable[[Any], Any]] = {}
        self.on_call: Callable[[str, Any], None] = lambda _method, _arguments: None
        self.cut_after: int | None = None
        self.calls: list[str] = []
        self.add_database("default")

    def add_database(self, name: str, **fields: Any) -> None:
        self.databases[name] = structure("Database")(name=name, locationUri=f"file:/hive/{name}.db", **fields)

    def add_table(
        self,
        name: str,
        columns: Mapping[str, str] | None = None,
        keys: Mapping[str, str] | None = None,
        location: str | None = None,
        format: str = "parquet",
        kind: str = "MANAGED_TABLE",
        parameters: Mapping[str, str] | None = None,
        database: str = "default",
        **options: str,
    ) -> Any:
        place = location if location is not None else f"file:/hive/{database}.db/{name}"
        table = structure("Table")(
            tableName=name,
            dbName=database,
            owner="hive",
            createTime=1_700_000_000,
            sd=descriptor(place, columns or {"x": "int"}, format, **options),
            partitionKeys=[structure("FieldSchema")(name=key, type=type) for key, type in (keys or {}).items()],
            parameters=dict(parameters or {}),
            tableType=kind,
        )
        self.tables[database, name] = table
        self.partitions[database, name] = {}
        self.note("CREATE_TABLE", database, name)
        return table

    def add_partition(self, table: str, name: str, location: str | None = None, database: str = "default") -> Any:
        """Adds a partition by its name, whose values have no escapes. Returns it, to be changed."""
        owner = self.tables[database, table]
        values = [level.partition("=")[2] for level in name.split("/")]
        partition = structure("Partition")(
            values=values,
            dbName=database,
            tableName=table,
            createTime=1_700_000_000,
            sd=descriptor(location or f"{owner.sd.location}/{name}", {"x": "int"}),
            parameters={"numRows": "3"},
        )
        partition.sd.inputFormat = owner.sd.inputFormat
        partition.sd.serdeInfo = structure("SerDeInfo")(
            serializationLib=owner.sd.serdeInfo.serializationLib, parameters=dict(owner.sd.serdeInfo.parameters)
        )
        self.partitions[database, table][name] = partition
        self.note("ADD_PARTITION", database, table)
        return partition

    def note(self, kind: str, database: str | None = None, table: str | None = None) -> None:
        """Adds a notification."""
        number = self.events[-1].eventId + 1 if self.events else 1
        event = structure("NotificationEvent")(eventId=number, eventType=kind, dbName=database, tableName=table)
        self.events.append(event)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serves at a free port, and yields the address."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            yield f"thrift://127.0.0.1:{listener.getsockname()[1]}"
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, EOFError), connection:
            transport = _CutTransport(connection, self)
            calls = Calls(transport, interface().methods)
            while (message := calls.next()) is not None:
                method = message.method
                assert method is not None
                self.calls.append(method.name)
                try:
                    self.on_call(method.name, message.arguments)
                    value = self._result(method.name, message.arguments)
                except ErrorStructure as error:
                    field = next(name for name, class_ in method.errors.items() if type(error) is class_)
                    calls.reply(message, method.result(**{field: error}))
                except TApplicationException as error:
                    calls.refuse(message, error.type, error.message)
                else:
                    calls.reply(message, method.result(success=value))

    def _result(self, method: str, arguments: Any) -> Any:
        override = self.overrides.get(method)
        return override(arguments) if override is not None else getattr(self, f"_{method}")(arguments)

    def _get_all_databases(self, _: Any) -> list[str]:
        return list(self.databases)

    def _get_database(self, arguments: Any) -> Any:
        return self.databases[arguments.name]

    def _get_all_tables(self, arguments: Any) -> list[str]:
        return [table for database, table in self.tables if database == arguments.db_name]

    def _get_table_objects_by_name(self, arguments: Any) -> list[Any]:
        names = ((arguments.dbname, name) for name in arguments.tbl_names)
        return [self.tables[name] for name in names if name in self.tables]

    def _get_partition_names(self, arguments: Any) -> list[str]:
        return list(self.partitions[arguments.db_name, arguments.tbl_name])

    def _get_partitions_by_names(self, arguments: Any) -> list[Any]:
        there = self.partitions[arguments.db_name, arguments.tbl_name]
        return [there[name] for name in arguments.names if name in there]

    def _get_functions(self, arguments: Any) -> list[str]:
        return [one.functionName for one in self.functions if one.dbName == arguments.dbName]

    def _get_function(self, arguments: Any) -> Any:
        name = arguments.dbName, arguments.funcName
        found = [one for one in self.functions if (one.dbName, one.functionName) == name]
        if not found:
            raise structure("NoSuchObjectException")(message=f"no function {name}")
        return found[0]

    def _get_table_statistics_req(self, arguments: Any) -> Any:
        return structure("TableStatsResult")(tableStats=self._chosen(arguments.request, None))

    def _get_partitions_statistics_req(self, arguments: Any) -> Any:
        request = arguments.request
        found = {name: self._chosen(request, name) for name in request.partNames}
        return structure("PartitionsStatsResult")(partStats={name: some for name, some in found.items() if some})

    def _chosen(self, request: Any, partition: str | None) -> list[Any]:
        objects = self.statistics.get((request.dbName, request.tblName, partition), [])
        return [one for one in objects if one.colName in request.colNames]

    def _get_current_notificationEventId(self, _: Any) -> Any:
        return structure("CurrentNotificationEventId")(eventId=self.events[-1].eventId if self.events else 0)

    def _get_next_notification(self, arguments: Any) -> Any:
        request = arguments.rqst
        after = [event for event in self.events if event.eventId > request.lastEvent]
        return structure("NotificationEventResponse")(events=after[: request.maxEvents])


class _CutTransport(SocketTransport):
    """Cuts the connection in the middle of a result, if the metastore is to."""

    def __init__(self, connection: socket.socket, metastore: FakeMetastore) -> None:
        super().__init__(connection)
        self._metastore = metastore

    def flush(self) -> None:
        most = self._metastore.cut_after
        if most is None:
            super().flush()
            return
        self._metastore.cut_after = None
        self._connection.sendall(b"".join(self._written)[:most])
        self._connection.shutdown(socket.SHUT_RDWR)
