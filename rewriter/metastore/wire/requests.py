"""Calls of a client: arguments are sent, and results read."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TMessageType
from thrift.transport.TTransport import TTransportException

from rewriter.metastore.wire.calls import MOST_ELEMENTS
from rewriter.metastore.wire.transport import MOST_BYTES, SocketTransport

if TYPE_CHECKING:
    from rewriter.metastore.wire.interface import Method, Structure


class Requests:
    """The calls that one end of a connection sends, one after the other."""

    def __init__(self, connection: socket.socket) -> None:
        self._transport = SocketTransport(connection)
        self._protocol = TBinaryProtocolAccelerated(
            self._transport, string_length_limit=MOST_BYTES, container_length_limit=MOST_ELEMENTS
        )
        self._sequence = 0

    def call(self, method: Method, arguments: Structure, result: type[Structure], seconds: float) -> Any:
        """Returns what a method returns, ``None`` if that is nothing. ``result`` is the structure that is read, and
        ``seconds`` the longest time until the first byte of it.

        Raises the exceptions that the method declares, ``TApplicationException`` if the other end has no such method or
        fails, and exceptions of Thrift and of sockets, ``OverflowError`` and others for bytes that are no result: the
        connection cannot be used after these.
        """
        self._sequence += 1
        self._protocol.writeMessageBegin(method.name, TMessageType.CALL, self._sequence)
        arguments.write(self._protocol)
        self._protocol.writeMessageEnd()
        self._transport.flush()
        if not self._transport.wait(seconds):
            raise TTransportException(TTransportException.END_OF_FILE, "the connection has ended")
        name, kind, sequence = self._protocol.readMessageBegin()
        if (name, sequence) != (method.name, self._sequence):
            raise TProtocolException(TProtocolException.INVALID_DATA, "the message is the result of another call")
        if kind == TMessageType.EXCEPTION:
            failure = TApplicationException()
            failure.read(self._protocol)
            self._protocol.readMessageEnd()
            raise failure
        if kind != TMessageType.REPLY:
            raise TProtocolException(TProtocolException.INVALID_DATA, f"a message of type {kind} is no result")
        value = result()
        value.read(self._protocol)
        self._protocol.readMessageEnd()
        for field in method.errors:
            if (error := getattr(value, field)) is not None:
                raise error
        returned = getattr(value, "success", None)
        if method.returns and returned is None:
            raise TProtocolException(TProtocolException.INVALID_DATA, "the result has no value")
        return returned
