"""One end of a connection, as Thrift's library reads and writes it: with limits on the size and time of a message."""

from __future__ import annotations

import socket
import time
from io import BytesIO

from thrift.transport.TTransport import CReadableTransport, TTransportBase, TTransportException

#: The most bytes of a message, and of a text in it.
MOST_BYTES = 1 << 28
#: Seconds from the first byte of a message to its last one, and for the other end to take a message.
MESSAGE_SECONDS = 120.0
_CHUNK = 1 << 16


class SocketTransport(TTransportBase, CReadableTransport):  # type: ignore[misc]
    """Reads the messages of the other end, and sends the messages of this one.

    The other end may be silent between messages for as long as it likes, but not inside one: then
    ``TTransportException`` is raised, as it is at the end of the connection and for a message that is too large. Memory
    grows with the bytes that have come, not with the lengths that they announce.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._read = BytesIO()
        self._written: list[bytes] = []
        self._left = 0
        self._deadline = 0.0

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the first byte of a message, ``seconds`` at most. Returns False at the end of the connection.

        Raises ``TimeoutError``.
        """
        rest = self._read.read()
        if not rest:
            self._connection.settimeout(seconds)
            rest = self._connection.recv(_CHUNK)
        self._read = BytesIO(rest)
        self._left = MOST_BYTES - len(rest)
        self._deadline = time.monotonic() + MESSAGE_SECONDS
        return bool(rest)

    def read(self, sz: int) -> bytes:
        """Returns some of the next bytes: at least one, and at most ``sz``."""
        received = self._read.read(sz)
        if not received:
            self._read = BytesIO(self._receive(sz))
            received = self._read.read(sz)
        return received

    @property
    def cstringio_buf(self) -> BytesIO:
        """The bytes that have come, for the decoder in C."""
        return self._read

    def cstringio_refill(self, partialread: bytes, reqlen: int) -> BytesIO:
        """Returns a buffer that begins with the bytes read before, and has as many as the decoder needs."""
        parts, count = [partialread], len(partialread)
        while count < reqlen:
            parts.append(self._receive(reqlen - count))
            count += len(parts[-1])
        self._read = BytesIO(b"".join(parts))
        return self._read

    def _receive(self, wanted: int) -> bytes:
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise TTransportException(TTransportException.TIMED_OUT, "the message is not complete")
        if self._left <= 0:
            raise TTransportException(TTransportException.SIZE_LIMIT, f"the message has more than {MOST_BYTES} bytes")
        self._connection.settimeout(seconds)
        received = self._connection.recv(min(max(wanted, _CHUNK), 1 << 20))
        if not received:
            raise TTransportException(TTransportException.END_OF_FILE, "the connection has ended")
        self._left -= len(received)
        return received

    def write(self, buf: bytes) -> None:
        self._written.append(buf)

    def forget(self) -> None:
        """Drops what was written and not sent."""
        self._written = []

    def flush(self) -> None:
        """Sends what was written."""
        message, self._written = b"".join(self._written), []
        self._connection.settimeout(MESSAGE_SECONDS)
        self._connection.sendall(message)
