"""The connection to the metastore that is imported. It only reads, so a call may be repeated."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from thrift.Thrift import TApplicationException

from rewriter.errors import Error, InterfaceError, OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.wire.interface import ErrorStructure, Method, Structure, interface, reading_less, structure
from rewriter.metastore.wire.requests import Requests

#: Seconds before a call is repeated on a new connection.
PAUSES = (0.2, 1.0, 3.0)
#: Seconds until a connection is open, and until a result begins: a list of many partitions takes minutes.
_CONNECT_SECONDS, _RESULT_SECONDS = 10.0, 600.0
#: The tables of one request.
TABLES = 100
#: The notifications of one request.
EVENTS = 1_000
_EVERYTHING = -1


class Source:
    """A metastore at an address. The connection is opened by the first call, and again after it was lost.

    All methods raise ``OperationalError``: METASTORE_UNAVAILABLE if there is no connection after some attempts, and
    METASTORE_REFUSED if the metastore returns an error. Any thread may use it; one call runs at a time.
    """

    def __init__(self, address: Address, pauses: Sequence[float] = PAUSES) -> None:
        self.address = address
        self._pauses = tuple(pauses)
        self._socket: socket.socket | None = None
        self._requests: Requests | None = None
        self._lock = threading.Lock()
        self._unknown: set[str] = set()

    @property
    def uri(self) -> str:
        """The address as text, which marks what was imported from it."""
        return str(self.address)

    def databases(self) -> list[str]:
        """Returns the names of all databases."""
        return _texts(self._call("get_all_databases"))

    def database(self, name: str) -> Any:
        """Returns a database as Thrift has it."""
        return self._call("get_database", name=name)

    def tables(self, database: str) -> list[str]:
        """Returns the names of the tables and views of a database."""
        return _texts(self._call("get_all_tables", db_name=database))

    def table_objects(self, database: str, names: Sequence[str]) -> list[Any]:
        """Returns those tables and views of a database that exist."""
        return (
            [] if not names else list(self._call("get_table_objects_by_name", dbname=database, tbl_names=list(names)))
        )

    def partition_names(self, database: str, table: str) -> list[str]:
        """Returns the names of all partitions: ``ds=2026-01-01/c=US``."""
        return _texts(self._call("get_partition_names", db_name=database, tbl_name=table, max_parts=_EVERYTHING))

    def partitions(self, database: str, table: str, names: Sequence[str]) -> list[Any]:
        """Returns the named partitions that exist. Their descriptors have no columns."""
        call = {"db_name": database, "tbl_name": table, "names": list(names)}
        return list(self._call("get_partitions_by_names", _slim_partitions(), **call))

    def functions(self, database: str) -> list[str]:
        """Returns the names of the permanent functions of a database."""
        return _texts(self._call("get_functions", dbName=database, pattern="*"))

    def function(self, database: str, name: str) -> Any:
        """Returns a function as Thrift has it."""
        return self._call("get_function", dbName=database, funcName=name)

    def table_statistics(self, database: str, table: str, columns: Sequence[str]) -> list[Any]:
        """Returns the statistics of a table's columns that have any."""
        request = structure("TableStatsRequest")(dbName=database, tblName=table, colNames=list(columns))
        return list(self._call("get_table_statistics_req", request=request).tableStats or ())

    def partition_statistics(
        self, database: str, table: str, columns: Sequence[str], names: Sequence[str]
    ) -> dict[str, list[Any]]:
        """Returns the statistics of columns in the named partitions that have any, by the partitions' names."""
        request = structure("PartitionsStatsRequest")(
            dbName=database, tblName=table, colNames=list(columns), partNames=list(names)
        )
        return dict(self._call("get_partitions_statistics_req", request=request).partStats or {})

    def lacks(self, method: str) -> bool:
        """Returns whether a call showed that the metastore does not have a method. No request."""
        return method in self._unknown

    def last_event(self) -> int:
        """Returns the number of the newest notification; 0 if there is none, or if nothing keeps them."""
        try:
            return int(self._call("get_current_notificationEventId").eventId or 0)
        except OperationalError as error:
            if error.condition != "METASTORE_REFUSED":
                raise
            return 0

    def events(self, after: int) -> list[Any]:
        """Returns the next notifications after that number, ``EVENTS`` at most. The caller checks their order."""
        request = structure("NotificationEventRequest")(lastEvent=after, maxEvents=EVENTS)
        return list(self._call("get_next_notification", rqst=request).events or ())

    def close(self) -> None:
        """Ends the connection. Idempotent; the next call opens another one."""
        connection, self._socket, self._requests = self._socket, None, None
        if connection is not None:
            connection.close()

    def interrupt(self) -> None:
        """Ends the running call of another thread, and repeats no call any more."""
        self._pauses, connection = (), self._socket
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _call(self, method_name: str, result: type[Structure] | None = None, **arguments: Any) -> Any:
        method = interface().methods[method_name]
        with self._lock:
            attempt = 0
            while True:
                try:
                    return self._once(method, result or method.result, arguments)
                except Error:
                    raise
                except (ErrorStructure, TApplicationException) as error:
                    raise self._refused(method, error) from None
                except Exception as error:
                    # Whatever the bytes were that came: what follows them cannot be read.
                    self.close()
                    if attempt >= len(self._pauses):
                        raise self._unavailable(error) from None
                    time.sleep(self._pauses[attempt])
                    attempt += 1

    def _once(self, method: Method, result: type[Structure], arguments: dict[str, Any]) -> Any:
        if self._requests is None:
            address = (self.address.host, self.address.port)
            self._socket = socket.create_connection(address, timeout=_CONNECT_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._requests = Requests(self._socket)
        return self._requests.call(method, method.arguments(**arguments), result, _RESULT_SECONDS)

    def _refused(self, method: Method, error: Exception) -> OperationalError:
        if isinstance(error, TApplicationException) and error.type == TApplicationException.UNKNOWN_METHOD:
            self._unknown.add(method.name)
        text = getattr(error, "message", None) or type(error).__name__
        return OperationalError(
            f"The metastore {self.uri} refuses {method.name}: {text}",
            condition="METASTORE_REFUSED",
            object=self.uri,
            hint="Its log has more about the error.",
        )

    def _unavailable(self, error: Exception) -> OperationalError:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
        return OperationalError(
            f"The metastore {self.uri} cannot be read: {reason}.",
            condition="METASTORE_UNAVAILABLE",
            sqlstate="08001",
            object=self.uri,
            hint="Check its host and port, and that it takes connections without Kerberos and TLS. "
            "Then run the import again: it continues where it was.",
        )


def _texts(values: Any) -> list[str]:
    return [str(value) for value in values]


@cache
def _slim_partitions() -> type[Structure]:
    """Returns the result of get_partitions_by_names without what all partitions repeat."""
    descriptor = structure("StorageDescriptor")
    for name in ("cols", "bucketCols", "sortCols", "parameters", "skewedInfo", "primaryCluster", "secondaryClusters"):
        descriptor = reading_less(descriptor, name)
    partition = reading_less(reading_less(structure("Partition"), "sd", descriptor), "privileges")
    return reading_less(interface().methods["get_partitions_by_names"].result, "success", partition)


# The address of a metastore: ``thrift://host:port``.

_DEFAULT_PORT = 9083
_ADDRESS = re.compile(r"thrift://(?:\[([0-9A-Fa-f:.%]+)\]|([^\s/:\[\]@?#]+))(?::([0-9]{1,5}))?/?", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """The host and the port of a metastore."""

    host: str
    port: int = _DEFAULT_PORT

    @classmethod
    def parse(cls, text: str) -> Address:
        """Returns the address that a URI names, by default with the port 9083. Raises ``InterfaceError``.

        >>> Address.parse("thrift://Metastore.example")
        Address(host='metastore.example', port=9083)
        """
        match = _ADDRESS.fullmatch(text.strip())
        port = int(match[3] or _DEFAULT_PORT) if match else 0
        if match is None or not 0 < port < 65536:
            raise InterfaceError(
                "The address of the metastore is not a URI of the form thrift://host:port.",
                object=text,
                hint="Write the value of hive.metastore.uris, such as thrift://metastore.example:9083. Name one host.",
            )
        return cls((match[1] or match[2]).lower(), port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"
