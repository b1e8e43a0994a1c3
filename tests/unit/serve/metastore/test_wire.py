"""The metastore on the wire: what is no call, what stops half way, what never ends, and many connections."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymetastore.hive_metastore import ttypes
from pymetastore.hive_metastore.ThriftHiveMetastore import Client
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer, TTransportException

from rewriter.metastore.service import dispatch
from rewriter.metastore.service import server as server_module
from rewriter.metastore.service.server import MetastoreServer
from rewriter.metastore.wire import transport

_DEADLINE = 20.0
_MEGABYTE = 1 << 20


@pytest.fixture
def server(metastore: Any) -> Iterator[MetastoreServer]:
    """A second server over the same catalog, which a test may stop."""
    server = MetastoreServer(metastore.service, port=0)
    server.start()
    yield server
    server.stop()


def _dial(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(_DEADLINE)
    return connection


def _head(method: str, kind: int = TMessageType.CALL, sequence: int = 7) -> bytes:
    name = method.encode()
    return struct.pack(">Ii", 0x80010000 | kind, len(name)) + name + struct.pack(">i", sequence)


def _field(type_: int, number: int) -> bytes:
    return struct.pack(">bh", type_, number)


def _text(text: bytes) -> bytes:
    return struct.pack(">i", len(text)) + text


_STATUS = _head("getStatus") + b"\0"


def _receive(connection: socket.socket) -> tuple[str, int, int, Any]:
    """Returns name, kind and number of one reply, and the exception in it. Raises ``EOFError`` at the end."""
    received = b""
    while True:
        part = connection.recv(1 << 16)
        if not part:
            raise EOFError
        received += part
        protocol = TBinaryProtocol(TMemoryBuffer(received))
        try:
            name, kind, sequence = protocol.readMessageBegin()
            failure = None
            if kind == TMessageType.EXCEPTION:
                failure = TApplicationException()
                failure.read(protocol)
            else:
                protocol.skip(TType.STRUCT)
        except EOFError:
            continue
        return name, kind, sequence, failure


def _is_ended(connection: socket.socket) -> bool:
    """Waits for the end of a connection, which sends nothing before it."""
    try:
        return connection.recv(100) == b""
    except ConnectionError:
        return True


def _sent(port: int, message: bytes, ends: bool = False) -> bool:
    """Sends bytes on a connection of their own, and returns whether the server ends it without a word."""
    with contextlib.closing(_dial(port)) as connection:
        try:
            connection.sendall(message)
            if ends:
                connection.shutdown(socket.SHUT_WR)
        except ConnectionError:
            return True
        return _is_ended(connection)


def _until(is_true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _DEADLINE
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.005)
    return is_true()


def _works(client: Any) -> bool:
    return "default" in client.get_all_databases()


def _resident() -> int:
    """Returns the bytes of memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


_DEEP = 1_000_000
_HUGE = struct.pack(">i", (1 << 31) - 1)
_DATABASE = _head("get_database")
_NO_CALLS = {
    "nothing that Thrift sends": b"GET / HTTP/1.1\r\nHost: metastore\r\n\r\n",
    "zeros": bytes(64),
    "a negative name": struct.pack(">Ii", 0x80010001, -1) + bytes(16),
    "a huge name": struct.pack(">I", 0x80010001) + _HUGE,
    "another version": struct.pack(">I", 0x80020001) + _text(b"getStatus") + bytes(5),
    "a reply": _head("getStatus", TMessageType.REPLY) + b"\0",
    "a message of no type": _head("getStatus", 99) + b"\0",
    "a huge text": _DATABASE + _field(TType.STRING, 1) + _HUGE,
    "a negative text": _DATABASE + _field(TType.STRING, 1) + struct.pack(">i", -5) + bytes(8),
    "a huge list": _head("get_partition") + _field(TType.LIST, 3) + bytes([TType.STRING]) + _HUGE,
    "a negative list": _head("get_partition") + _field(TType.LIST, 3) + bytes([TType.STRING]) + b"\xff" * 4,
    "a huge map in an unknown field": _DATABASE + _field(TType.MAP, 77) + bytes([TType.BOOL, TType.BOOL]) + _HUGE,
    "a list of another type": _head("get_partition") + _field(TType.LIST, 3) + b"\x08\0\0\0\1\0\0\0\1\0",
    "a type that does not exist": _DATABASE + _field(77, 1) + bytes(8),
    "lists in lists": _DATABASE + _field(TType.LIST, 77) + b"\x0f\0\0\0\1" * _DEEP,
    "structures in structures": _DATABASE + _field(TType.STRUCT, 77) + _field(TType.STRUCT, 1) * _DEEP + bytes(_DEEP),
    "maps in maps": _DATABASE + _field(TType.MAP, 77) + b"\x08\x0d\0\0\0\1\0\0\0\7" * _DEEP,
    "structures of an unknown method": _head("unheard") + _field(TType.STRUCT, 1) * _DEEP + bytes(_DEEP),
}


@pytest.mark.share(1)
@pytest.mark.parametrize("message", _NO_CALLS.values(), ids=_NO_CALLS)
def test_what_is_no_call_ends_its_connection_alone(metastore: Any, client: Any, message: bytes) -> None:
    before = _resident()
    # The client does not end its side: the server decides by what has come.
    assert _sent(metastore.port, message)
    assert _resident() - before < 100 * _MEGABYTE
    assert _works(client)


def test_a_huge_text_in_an_unknown_field_takes_no_memory(metastore: Any, client: Any) -> None:
    before = _resident()
    with contextlib.closing(_dial(metastore.port)) as connection:
        connection.sendall(_DATABASE + _field(TType.STRING, 77) + _HUGE + bytes(_MEGABYTE))
        assert _works(client)
        assert _resident() - before < 20 * _MEGABYTE
        connection.shutdown(socket.SHUT_WR)
        assert _is_ended(connection)


def test_a_message_has_a_largest_size(metastore: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MOST_BYTES", _MEGABYTE)
    with contextlib.closing(_dial(metastore.port)) as connection:
        connection.sendall(_STATUS)
        assert _receive(connection)[0] == "getStatus"
        connection.sendall(_DATABASE)
        for number in range(1, 40):  # Each text is small, and the message is not.
            with contextlib.suppress(ConnectionError):
                connection.sendall(_field(TType.STRING, number) + _text(bytes(_MEGABYTE // 20)))
        assert _is_ended(connection)
    assert _works(client)


def test_random_bytes(metastore: Any, client: Any) -> None:
    chance = random.Random(4711)
    for _ in range(60):
        assert _sent(metastore.port, chance.randbytes(chance.randrange(1, 300)), ends=True)
    assert client.get_all_databases() == ["default"]


def test_every_truncation_of_a_call(metastore: Any, client: Any) -> None:
    message = _DATABASE + _field(TType.STRING, 1) + _text(b"default") + b"\0"
    for length in range(1, len(message)):
        assert _sent(metastore.port, message[:length], ends=True)
    assert _works(client)


def test_an_unknown_method_is_refused_and_the_connection_goes_on(metastore: Any) -> None:
    with contextlib.closing(_dial(metastore.port)) as connection:
        connection.sendall(_head("get_all_the_tea") + _field(TType.STRING, 1) + _text(b"in China") + b"\0")
        name, kind, sequence, failure = _receive(connection)
        assert (name, kind, sequence) == ("get_all_the_tea", TMessageType.EXCEPTION, 7)
        assert failure.type == TApplicationException.UNKNOWN_METHOD
        connection.sendall(_STATUS)
        assert _receive(connection)[:3] == ("getStatus", TMessageType.REPLY, 7)


@pytest.mark.parametrize(
    "fields",
    [
        _field(TType.I32, 1) + struct.pack(">i", 3),
        _field(TType.LIST, 1) + b"\x08\0\0\0\1\0\0\0\1",
        b"",
    ],
    ids=["a number", "a list", "nothing"],
)
def test_a_name_of_another_type_counts_as_none(metastore: Any, fields: bytes) -> None:
    """As in Hive, a field of another type is skipped."""
    with contextlib.closing(_dial(metastore.port)) as connection:
        connection.sendall(_DATABASE + fields + b"\0" + _STATUS)
        assert _receive(connection)[:2] == ("get_database", TMessageType.REPLY)


def test_unknown_fields_are_skipped(metastore: Any) -> None:
    unknown = (
        _field(TType.STRUCT, 500) + _field(TType.STRING, 1) + _text(b"x") + b"\0",
        _field(TType.MAP, 501)
        + bytes([TType.STRING, TType.LIST])
        + _HUGE[:0]
        + b"\0\0\0\1"
        + _text(b"k")
        + b"\x08\0\0\0\0",
        _field(TType.DOUBLE, -3) + bytes(8),
        _field(TType.BOOL, 502) + b"\1",
    )
    name = _field(TType.STRING, 1) + _text(b"missing")
    with contextlib.closing(_dial(metastore.port)) as connection:
        connection.sendall(_DATABASE + b"".join(unknown[:2]) + name + b"".join(unknown[2:]) + b"\0")
        received = connection.recv(1 << 16)
        assert b"missing" in received
        assert b"SCHEMA_NOT_FOUND" in received


def test_a_structure_that_is_missing_is_a_protocol_error(client: Any) -> None:
    for call in (client.create_database, client.create_table, client.add_partition, client.get_table_req):
        with pytest.raises(TApplicationException) as caught:
            call(None)
        assert caught.value.type == TApplicationException.PROTOCOL_ERROR
    assert client.list_privileges("me", 1, None) == []
    with pytest.raises(TApplicationException) as caught:
        client.alter_table("default", "t", None)
    assert caught.value.type == TApplicationException.PROTOCOL_ERROR
    assert _works(client)


def test_calls_that_come_together_and_in_pieces_are_answered_in_turn(metastore: Any) -> None:
    with contextlib.closing(_dial(metastore.port)) as connection:
        for byte in _STATUS:
            connection.sendall(bytes([byte]))
        assert _receive(connection)[0] == "getStatus"
        connection.sendall(b"".join(_head("getStatus", sequence=number) + b"\0" for number in range(50)))
        received = b""
        reply = len(_head("getStatus")) + len(_field(TType.I32, 0)) + 4 + 1
        while len(received) < 50 * reply:
            received += connection.recv(1 << 16)
        numbers = [struct.unpack(">i", received[at + 17 : at + 21])[0] for at in range(0, 50 * reply, reply)]
        assert numbers == list(range(50))


def test_a_message_that_stops_half_way_ends_at_its_deadline(
    metastore: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MESSAGE_SECONDS", 0.5)
    with contextlib.closing(_dial(metastore.port)) as half, contextlib.closing(_dial(metastore.port)) as drip:
        started = time.monotonic()
        half.sendall(_STATUS[:-3])
        drip.sendall(_DATABASE + _field(TType.STRING, 1) + struct.pack(">i", 10_000))
        assert _works(client)
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - started < _DEADLINE:
                drip.sendall(b"x")  # Bytes that come slowly do not extend the time.
                time.sleep(0.05)
                drip.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    assert drip.recv(1) == b""
                    break
                drip.settimeout(_DEADLINE)
        assert time.monotonic() - started < _DEADLINE
        assert _is_ended(half)
        assert time.monotonic() - started >= 0.4
    # A connection without a message has no deadline.
    assert _works(client)


def test_a_thousand_idle_connections(metastore: Any, client: Any) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(hard, 4096)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        with contextlib.ExitStack() as stack:
            idle = [stack.enter_context(contextlib.closing(_dial(metastore.port))) for _ in range(1000)]
            for _ in range(20):
                assert client.get_all_databases() == ["default"]
            idle[-1].sendall(_STATUS)
            assert _receive(idle[-1])[0] == "getStatus"
            assert len(idle) == 1000
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_one_connection_too_many_is_closed(server: MetastoreServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 3)
    with contextlib.ExitStack() as stack:
        open_ = [stack.enter_context(contextlib.closing(_dial(server.port))) for _ in range(3)]
        assert _until(lambda: server.connections == 3)
        assert _sent(server.port, _STATUS)
        for connection in open_:
            connection.sendall(_STATUS)
            assert _receive(connection)[0] == "getStatus"
        open_[0].close()
        assert _until(lambda: server.connections == 2)
        again = stack.enter_context(contextlib.closing(_dial(server.port)))
        again.sendall(_STATUS)
        assert _receive(again)[0] == "getStatus"


def _large(client: Any, megabytes: int) -> None:
    client.create_database(
        ttypes.Database(name="large", parameters={f"k{n}": "x" * _MEGABYTE for n in range(megabytes)})
    )


_GET_LARGE = _DATABASE + _field(TType.STRING, 1) + _text(b"large") + b"\0"


def test_a_client_that_does_not_read_its_result(
    server: MetastoreServer, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _large(client, 12)
    monkeypatch.setattr(transport, "MESSAGE_SECONDS", 0.5)
    with contextlib.closing(_dial(server.port)) as deaf:
        deaf.sendall(_GET_LARGE)
        assert _until(lambda: server.connections == 1)
        assert _works(client)
        assert _until(lambda: server.connections == 0)


def test_clients_that_end_in_the_middle(server: MetastoreServer, client: Any) -> None:
    _large(client, 12)
    for message in (_STATUS[:9], _GET_LARGE, _GET_LARGE + _STATUS):
        connection = _dial(server.port)
        connection.sendall(message)
        if len(message) > 9:
            assert connection.recv(1000)
        # The end is a reset, not a close.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    assert _until(lambda: server.connections == 0)
    assert len(client.get_database("large").parameters) == 12


class _Recorder(TMemoryBuffer):  # type: ignore[misc]
    """Takes calls, and has no answers."""

    def read(self, sz: int) -> bytes:
        raise TTransportException(TTransportException.END_OF_FILE)


def _recorded() -> list[bytes]:
    """Returns calls with all kinds of fields, as a client sends them."""
    descriptor = ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema("a", "int", "it's")],
        location="",
        serdeInfo=ttypes.SerDeInfo(name="s", parameters={"a": "b"}),
        skewedInfo=ttypes.SkewedInfo(["a"], [["1"]], {}),
        sortCols=[ttypes.Order("a", 1)],
    )
    table = ttypes.Table("t", "default", "me", 1, 2, 3, descriptor, [], {"p": "q"}, tableType="EXTERNAL_TABLE")
    partition = ttypes.Partition(values=["1"], dbName="default", tableName="t", sd=descriptor)
    calls: list[Callable[[Client], Any]] = [
        lambda c: c.get_table("default", "t"),
        lambda c: c.get_partitions_by_filter("default", "t", "a = 1 and b like 'x.*'", -1),
        lambda c: c.get_partitions_by_names("default", "t", ["a=1", "a=2"]),
        lambda c: c.create_table(table),
        lambda c: c.alter_table("default", "t", table),
        lambda c: c.add_partitions([partition, partition]),
        lambda c: c.create_database(ttypes.Database("d", "c", "file:/x", {"a": "b"})),
        lambda c: c.get_table_meta("*", "*", ["MANAGED_TABLE"]),
        lambda c: c.lock(ttypes.LockRequest([ttypes.LockComponent(1, 2, "default", "t")], 0, "me", "here")),
    ]
    messages = []
    for call in calls:
        memory = _Recorder()
        with contextlib.suppress(TTransportException):
            call(Client(TBinaryProtocol(memory)))
        messages.append(memory.getvalue())
    return messages


def test_mutated_calls_do_no_harm(metastore: Any, client: Any) -> None:
    """Each reply is one of Thrift, or the connection ends. The server serves a new client, and its memory stays."""
    chance, before = random.Random(815), _resident()
    recorded = _recorded()
    for _ in range(400):
        message = bytearray(chance.choice(recorded))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(message))
            match chance.randrange(4):
                case 0:
                    message[at] = chance.randrange(256)
                case 1:
                    message[at] ^= 1 << chance.randrange(8)
                case 2:
                    del message[at : at + chance.randint(1, 8)]
                case _:
                    message[at:at] = chance.randbytes(chance.randint(1, 8))
            message = message or bytearray(1)
        with contextlib.closing(_dial(metastore.port)) as connection:
            connection.sendall(message)
            with contextlib.suppress(ConnectionError):
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass
    assert "default" in metastore.connect().get_all_databases()
    assert _resident() - before < 60 * _MEGABYTE


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Makes ``getName`` wait. Returns the event that it has begun, and the one that ends it."""
    begun, go_on = threading.Event(), threading.Event()

    def wait(_: Any) -> str:
        begun.set()
        assert go_on.wait(_DEADLINE)
        return "waited"

    monkeypatch.setitem(dispatch.HANDLERS, "getName", wait)  # type: ignore[arg-type]
    yield begun, go_on
    go_on.set()


def test_stop_lets_a_running_call_end_and_accepts_no_other(
    server: MetastoreServer, held: tuple[threading.Event, threading.Event]
) -> None:
    begun, go_on = held
    running, idle = _dial(server.port), _dial(server.port)
    half = _dial(server.port)
    half.sendall(_STATUS[:5])
    with contextlib.closing(running), contextlib.closing(idle), contextlib.closing(half):
        idle.sendall(_STATUS)
        assert _receive(idle)[0] == "getStatus"
        # A second call waits behind the first one.
        running.sendall(_head("getName") + b"\0" + _STATUS)
        assert begun.wait(_DEADLINE)
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        assert _is_ended(idle)
        assert _is_ended(half)
        with pytest.raises(ConnectionError):
            _dial(server.port)
        assert stopping.is_alive()
        go_on.set()
        received = b""
        with contextlib.suppress(ConnectionError):
            while part := running.recv(1000):
                received += part
        assert b"waited" in received
        assert b"getStatus" not in received
        stopping.join(_DEADLINE)
        assert not stopping.is_alive()
    server.stop()


def test_stop_does_not_wait_for_ever(
    server: MetastoreServer, held: tuple[threading.Event, threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "GRACE_SECONDS", 0.2)
    with contextlib.closing(_dial(server.port)) as running:
        running.sendall(_head("getName") + b"\0")
        assert held[0].wait(_DEADLINE)
        server.stop()
        assert _is_ended(running)


def test_shutdown_stops_nothing_and_has_no_reply(metastore: Any, client: Any) -> None:
    with contextlib.closing(_dial(metastore.port)) as connection:
        for kind in (TMessageType.CALL, TMessageType.ONEWAY):
            connection.sendall(_head("shutdown", kind) + b"\0" + _STATUS)
            assert _receive(connection)[0] == "getStatus"
    assert _works(client)
    assert _works(metastore.connect())


def test_the_server_leaves_no_threads_and_descriptors(metastore: Any) -> None:
    def count() -> tuple[int, int]:
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    assert _works(metastore.connect())
    before = count()
    for _ in range(50):
        assert _sent(metastore.port, b"\x80\x01\xff\xff" * 4)
    assert _until(lambda: count() <= before)
