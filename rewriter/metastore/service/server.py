"""The server: it listens, and a thread serves each connection."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

from rewriter.errors import OperationalError
from rewriter.metastore.service.calls.call import Client, Service
from rewriter.metastore.service.dispatch import Observer, serve_call
from rewriter.metastore.wire.calls import Calls
from rewriter.metastore.wire.interface import interface
from rewriter.metastore.wire.transport import SocketTransport

#: The most connections at a time. One more is closed at once.
MOST_CONNECTIONS = 4096
#: Seconds in which calls may end after ``stop``.
GRACE_SECONDS = 10.0
_PAUSE = 0.1


class MetastoreServer:
    """The Thrift service of a catalog at an address, from ``start`` to ``stop``.

    ``port`` 0 takes a free one. ``context`` encrypts the connections. ``observe`` gets the outcome of each call, in its
    thread. Raises ``OperationalError`` ADDRESS_UNAVAILABLE.
    """

    def __init__(
        self,
        service: Service,
        host: str = "127.0.0.1",
        port: int = 9083,
        context: ssl.SSLContext | None = None,
        observe: Observer | None = None,
    ) -> None:
        self.host = host
        interface()  # Read before the first client comes.
        try:
            self._listener = _Listener(host, port, service, context, observe or (lambda _: None))
        except (OSError, OverflowError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise OperationalError(
                f"No server can listen at {host}, port {port}: {reason}.",
                condition="ADDRESS_UNAVAILABLE",
                object=host,
                hint="Name another port, or 0 for a free one, and an address of this machine with --host.",
            ) from error
        serve = partial(self._listener.serve_forever, poll_interval=_PAUSE)
        self._thread = threading.Thread(target=serve, name="rewriter-metastore", daemon=True)

    @property
    def port(self) -> int:
        return self._listener.port

    @property
    def url(self) -> str:
        """Returns what clients are given as ``hive.metastore.uris``."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{name}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Returns whether only this machine reaches the server."""
        return ipaddress.ip_address(self._listener.address).is_loopback

    @property
    def connections(self) -> int:
        """Returns the number of open connections."""
        return self._listener.count

    def restrict(self, service: Service) -> None:
        """Serves another service, before ``start``."""
        self._listener.service = service

    def start(self) -> None:
        """Serves, in threads of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Accepts no more connections, lets the running calls end, and closes all. Idempotent."""
        if self._thread.is_alive():
            self._listener.shutdown()
            self._thread.join()
        self._listener.close()


class _Listener(ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 1024

    def __init__(
        self, host: str, port: int, service: Service, context: ssl.SSLContext | None, observe: Observer
    ) -> None:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        self.service, self.context, self.observe = service, context, observe
        self._lock = threading.Condition()
        #: The open connections, and whether a call runs on each.
        self._open: dict[socket.socket, bool] = {}
        self._closing = False
        super().__init__((str(address[0]), port), _Connection)
        self.address, self.port = str(self.server_address[0]), int(self.server_address[1])

    @property
    def count(self) -> int:
        return len(self._open)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._open) >= MOST_CONNECTIONS or self._closing:
                request.close()
                return
            self._open[request] = False
        request.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        try:
            thread.start()
        except RuntimeError:  # The system has no more threads.
            self.shutdown_request(request)

    def running(self, request: Any, is_running: bool) -> bool:
        """Notes that a call begins or has ended. Returns False where the connection is to end."""
        with self._lock:
            if request in self._open:
                self._open[request] = is_running
            self._lock.notify_all()
            return not self._closing

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
            self._lock.notify_all()
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: the client has gone, or sent what is no call."""

    def close(self) -> None:
        """Closes the listening socket, waits for the running calls, and ends all connections. Idempotent."""
        self.server_close()
        with self._lock:
            self._closing = True
            self._end(lambda is_running: not is_running)
            self._lock.wait_for(lambda: not any(self._open.values()), GRACE_SECONDS)
            self._end(lambda _: True)

    def _end(self, chosen: Callable[[bool], bool]) -> None:
        for request, is_running in self._open.items():
            if chosen(is_running):
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)


class _Connection(BaseRequestHandler):
    """Serves one connection until it ends, or sends bytes that are no call."""

    def handle(self) -> None:
        listener: Any = self.server
        stream = self.request
        if listener.context is not None:
            stream.settimeout(30.0)
            stream = listener.context.wrap_socket(stream, server_side=True)
        client = Client(str(self.client_address[0]))
        calls = Calls(SocketTransport(stream), interface().methods)
        while (message := calls.next()) is not None:
            if not listener.running(self.request, True):
                return
            outcome = serve_call(calls, message, listener.service, client)
            listener.observe(outcome)
            if not listener.running(self.request, False):
                return
