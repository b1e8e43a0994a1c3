"""A metastore over an empty warehouse, and connections to it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pymetastore.hive_metastore.ThriftHiveMetastore import Client
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
from thrift.Thrift import TApplicationException, TMessageType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

import rewriter
from rewriter.catalog.catalog import Catalog
from rewriter.metastore.service.calls.call import Service
from rewriter.metastore.service.calls.client_transactions import ClientTransactions
from rewriter.metastore.service.calls.locks import Locks
from rewriter.metastore.service.server import MetastoreServer
from rewriter.metastore.wire.interface import interface


class Clock:
    """The clock of transactions and locks: it stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Metastore:
    """A server in this process. Its transactions and locks follow ``clock``."""

    def __init__(self, catalog: Catalog, connections: contextlib.ExitStack, clock: Clock) -> None:
        self.catalog, self.clock = catalog, clock
        self.service = Service(catalog, transactions=ClientTransactions(clock), locks=Locks(clock))
        self._connections = connections
        self._server = MetastoreServer(self.service, port=0)
        self._server.start()
        connections.callback(self._server.stop)

    @property
    def port(self) -> int:
        return self._server.port

    def connect(self) -> Any:
        """Returns a client of its own connection, which ends with the test."""
        transport = TBufferedTransport(TSocket("127.0.0.1", self.port), 1 << 16)
        transport.open()
        self._connections.callback(transport.close)
        return Client(TBinaryProtocolAcceleratedFactory().getProtocol(transport))


@pytest.fixture
def start() -> Iterator[Callable[..., Metastore]]:
    """Starts a metastore over the warehouse in a directory, with a catalog there or at a URL."""
    with contextlib.ExitStack() as stack:

        def started(directory: Path, url: str | None = None) -> Metastore:
            catalog = stack.enter_context(contextlib.closing(Catalog.open(directory, url)))
            return Metastore(catalog, stack, Clock())

        yield started


@pytest.fixture
def metastore(start: Callable[..., Metastore], tmp_path: Path) -> Metastore:
    return start(tmp_path / "warehouse")


@pytest.fixture
def client(metastore: Metastore) -> Any:
    return metastore.connect()


def call_with(client: Any, method: str, **arguments: Any) -> Any:
    """Calls a method with fields that the generated client does not have, such as ``validWriteIdList``.

    Raises the exception that the server declares, as the structure of our interface.
    """
    known, protocol = interface().methods[method], client._oprot
    protocol.writeMessageBegin(method, TMessageType.CALL, 0)
    known.arguments(**arguments).write(protocol)
    protocol.writeMessageEnd()
    protocol.trans.flush()
    _, kind, _ = client._iprot.readMessageBegin()
    if kind == TMessageType.EXCEPTION:
        failure = TApplicationException()
        failure.read(client._iprot)
        client._iprot.readMessageEnd()
        raise failure
    result = known.result()
    result.read(client._iprot)
    client._iprot.readMessageEnd()
    for name in known.errors:
        if getattr(result, name) is not None:
            raise getattr(result, name)
    return getattr(result, "success", None)


@pytest.fixture
def send() -> Callable[..., Any]:
    return call_with


@pytest.fixture
def sql(metastore: Metastore) -> Iterator[Callable[[str], list[tuple[Any, ...]]]]:
    """Runs statements of a session of SQL over the warehouse of the metastore."""
    with contextlib.closing(rewriter.connect(metastore.catalog.warehouse, engine="duckdb")) as connection:

        def run(statement: str) -> list[tuple[Any, ...]]:
            cursor = connection.cursor()
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

        yield run
