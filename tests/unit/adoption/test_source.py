"""The connection to a metastore: lost connections, and bytes that are no result."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from fake_metastore import FakeMetastore
from thrift.Thrift import TApplicationException

from rewriter.errors import InterfaceError, OperationalError
from rewriter.metastore.adoption.source import Address, Source
from rewriter.metastore.wire.interface import structure


def _source(url: str, *pauses: float) -> Source:
    return Source(Address.parse(url), pauses)


def test_a_lost_connection_is_made_again() -> None:
    metastore = FakeMetastore()
    with metastore.serving() as url, closing(_source(url, 0.0, 0.0)) as source:
        assert source.databases() == ["default"]
        metastore.cut_after = 5
        assert source.databases() == ["default"]
        metastore.cut_after = 0
        assert source.databases() == ["default"]
        assert len(metastore.calls) == 5


def test_after_some_attempts_it_is_unavailable() -> None:
    metastore = FakeMetastore()

    def cut(_method: str, _arguments: Any) -> None:
        metastore.cut_after = 3

    metastore.on_call = cut
    with metastore.serving() as url, closing(_source(url, 0.0, 0.0)) as source:
        with pytest.raises(OperationalError) as raised:
            source.databases()
        assert raised.value.condition == "METASTORE_UNAVAILABLE"
        assert url in raised.value.message
        assert len(metastore.calls) == 3


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(OperationalError) as raised:
        _source(f"thrift://127.0.0.1:{port}").databases()
    assert raised.value.condition == "METASTORE_UNAVAILABLE"
    assert raised.value.hint


def test_an_error_of_the_metastore_is_not_repeated() -> None:
    metastore = FakeMetastore()

    def refuse(method: str, _: Any) -> None:
        if method == "get_all_databases":
            raise structure("MetaException")(message="no\x1b[31m")
        if method == "get_functions":
            raise TApplicationException(TApplicationException.UNKNOWN_METHOD, "unknown")

    metastore.on_call = refuse
    with metastore.serving() as url, closing(_source(url, 0.0)) as source:
        with pytest.raises(OperationalError, match="refuses get_all_databases: no") as raised:
            source.databases()
        assert raised.value.condition == "METASTORE_REFUSED"
        assert len(metastore.calls) == 1
        assert not source.lacks("get_functions")
        with pytest.raises(OperationalError) as raised:
            source.functions("default")
        assert raised.value.condition == "METASTORE_REFUSED"
        assert source.lacks("get_functions")
        assert not source.lacks("get_all_databases")
        # The connection is used on.
        assert source.tables("default") == []


@contextmanager
def _answering(answer: bytes) -> Iterator[str]:
    """Serves connections that get the same bytes for each call."""

    def accept(listener: socket.socket) -> None:
        try:
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(answer)
        except OSError:
            return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield f"thrift://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def _reply(name: bytes, body: bytes, sequence: int = 1, kind: int = 2) -> bytes:
    head = struct.pack(">I", 0x80010000 | kind) + struct.pack(">I", len(name)) + name + struct.pack(">I", sequence)
    return head + body


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00" * 64,
        # A list of two thousand million names, of which none comes.
        _reply(b"get_all_databases", b"\x0f\x00\x00\x0b" + struct.pack(">I", 2_000_000_000)),
        # A name of a gigabyte.
        _reply(b"get_all_databases", b"\x0f\x00\x00\x0b" + struct.pack(">II", 1, 1 << 30)),
        _reply(b"get_all_databases", b"\x0f\x00\x00\x0b" + struct.pack(">I", 0xFFFFFFFF) + b"\x00"),
        _reply(b"get_all_databases", b"\x00"),
        _reply(b"get_all_databases", b"\x0f\x00\x00\x0b" + struct.pack(">I", 0) + b"\x00", sequence=7),
        _reply(b"get_table", b"\x0f\x00\x00\x0b" + struct.pack(">I", 0) + b"\x00"),
        _reply(b"get_all_databases", b"\x0f\x00\x00\x0b" + struct.pack(">I", 0) + b"\x00", kind=1),
    ],
)
def test_bytes_that_are_no_result(answer: bytes) -> None:
    with _answering(answer) as url, pytest.raises(OperationalError) as raised:
        _source(url, 0.0).databases()
    assert raised.value.condition == "METASTORE_UNAVAILABLE"


def test_a_call_is_interrupted() -> None:
    metastore = FakeMetastore()
    waiting, going_on = threading.Event(), threading.Event()

    def wait(_method: str, _arguments: Any) -> None:
        waiting.set()
        going_on.wait(30)

    metastore.on_call = wait
    errors: list[OperationalError] = []

    def call(source: Source) -> None:
        try:
            source.databases()
        except OperationalError as error:
            errors.append(error)

    with metastore.serving() as url, closing(_source(url, 30.0)) as source:
        thread = threading.Thread(target=call, args=(source,))
        thread.start()
        assert waiting.wait(30)
        source.interrupt()
        thread.join(30)
        assert not thread.is_alive()
        going_on.set()
    assert [error.condition for error in errors] == ["METASTORE_UNAVAILABLE"]


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("thrift://Host", "thrift://host:9083"),
        ("THRIFT://10.0.0.1:1/", "thrift://10.0.0.1:1"),
        ("thrift://[::1]:9083", "thrift://[::1]:9083"),
    ],
)
def test_addresses(text: str, uri: str) -> None:
    assert str(Address.parse(text)) == uri
    assert str(Address.parse(uri)) == uri


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        "thrift://",
        "http://host:1",
        "thrift://h:0",
        "thrift://h:65536",
        "thrift://u:p@h:1",
        "thrift://a,b:1/x",
    ],
)
def test_texts_that_are_no_address(text: str) -> None:
    with pytest.raises(InterfaceError) as raised:
        Address.parse(text)
    assert raised.value.hint
    assert "u:p" not in raised.value.message
