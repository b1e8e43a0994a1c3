"""Calls of a connection: their arguments are read, and their results written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TMessageType, TType

from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.wire.transport import MOST_BYTES, SocketTransport

if TYPE_CHECKING:
    from rewriter.metastore.wire.interface import Method, Structure

#: The most elements of a list, set or map.
MOST_ELEMENTS = 1 << 22


@dataclass(frozen=True)
class Message:
    """A call that was read: its number, its name, its method if there is one, and the arguments then."""

    sequence: int
    name: str
    method: Method | None
    arguments: Structure | None


class UnwritableError(Exception):
    """A result that the protocol cannot say."""


class Calls:
    """The calls that come on one connection, one after the other."""

    def __init__(self, transport: SocketTransport, methods: Mapping[str, Method]) -> None:
        self._transport = transport
        self._protocol = TBinaryProtocolAccelerated(
            transport, string_length_limit=MOST_BYTES, container_length_limit=MOST_ELEMENTS
        )
        self._methods = methods

    def next(self) -> Message | None:
        """Waits for a call and reads it. Returns ``None`` at the end of the connection.

        Raises exceptions of Thrift and of sockets, ``OverflowError`` and others for bytes that are no call: what comes
        after them cannot be read.
        """
        if not self._transport.wait():
            return None
        name, kind, sequence = self._protocol.readMessageBegin()
        if kind not in (TMessageType.CALL, TMessageType.ONEWAY):
            raise TProtocolException(TProtocolException.INVALID_DATA, f"a message of type {kind} is no call")
        method = self._methods.get(name)
        arguments: Structure | None = None
        if method is None:
            self._protocol.skip(TType.STRUCT)
        else:
            arguments = method.arguments()
            arguments.read(self._protocol)
        self._protocol.readMessageEnd()
        return Message(sequence, name, method, arguments)

    def reply(self, message: Message, result: Structure) -> None:
        """Sends a result, which may be an exception that the method declares.

        Raises ``UnwritableError`` for a result whose values have other types than its fields: nothing is sent.
        """
        self._send(message, TMessageType.REPLY, result.write)

    def refuse(self, message: Message, kind: int, reason: str) -> None:
        """Sends an exception of Thrift: the method is unknown, or its handler has failed."""
        self._send(message, TMessageType.EXCEPTION, TApplicationException(kind, reason).write)

    def _send(self, message: Message, kind: int, write: Callable[[Any], None]) -> None:
        try:
            self._protocol.writeMessageBegin(message.name, kind, message.sequence)
            write(self._protocol)
            self._protocol.writeMessageEnd()
        except Exception as error:
            self._transport.forget()
            raise UnwritableError(f"{type(error).__name__}: {error}") from error
        self._transport.flush()
