"""The HTTP server of the pages: one request a connection, few threads, and limits on time and size."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from rewriter.errors import OperationalError
from rewriter.serve.handler import Handler
from rewriter.serve.views import Views

if TYPE_CHECKING:
    from rewriter.session import Session

#: The most connections at a time.
MOST_CONNECTIONS = 32
#: Seconds until ``stop`` is noticed.
_PAUSE = 0.1


class WebServer:
    """The pages of a warehouse at an address, from ``start`` to ``stop``. ``url`` has the token that admits a reader.

    ``port`` 0 takes a free one. Raises ``OperationalError`` ADDRESS_UNAVAILABLE, and the errors of ``open_session``.
    """

    def __init__(
        self, open_session: Callable[[], Session], warehouse: str, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.host = host
        self._views = Views(open_session)
        self._views.open()
        try:
            self._listener = _Listener(host, port, self._views, warehouse)
        except (OSError, OverflowError, UnicodeError) as error:
            self._views.close()
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise OperationalError(
                f"No server can listen at {host}, port {port}: {reason}.",
                condition="ADDRESS_UNAVAILABLE",
                object=host,
                hint="Name another port with --port, or 0 for a free one, and an address of this machine with --host.",
            ) from error
        serve = partial(self._listener.serve_forever, poll_interval=_PAUSE)
        self._thread = threading.Thread(target=serve, name="rewriter-web", daemon=True)

    @property
    def url(self) -> str:
        """Returns the address of the first page. Whoever has it may read."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self._listener.port}/{self._listener.token}/"

    @property
    def is_local(self) -> bool:
        """Returns whether only this machine reaches the server."""
        return _is_loopback(self._listener.address)

    def start(self) -> None:
        """Serves, in threads of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the connections and closes the sessions. Idempotent, also before ``start``."""
        if self._thread.is_alive():
            self._listener.shutdown()
            self._thread.join()
        self._listener.close()
        self._views.close()


class _Listener(ThreadingHTTPServer):
    """Accepts connections. If there are too many, those end that have waited longest for their request."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, host: str, port: int, views: Views, warehouse: str) -> None:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        self.views, self.warehouse = views, warehouse
        self.token = secrets.token_urlsafe(24)
        self._lock = threading.Lock()
        #: The connections whose requests are not read yet, the oldest first, and the number of all.
        self._reading: dict[socket.socket, None] = {}
        self._open: set[socket.socket] = set()
        super().__init__((str(address[0]), port), Handler)
        self.address, self.port = str(self.server_address[0]), int(self.server_address[1])
        self.hosts = _hosts(host, self.address, self.port)

    def server_bind(self) -> None:
        """Binds without the look-up of the host's name that the base class makes."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def is_served(self, host: str) -> bool:
        """Tests a Host header. A server at all addresses of a machine has any address as its name, and no other."""
        if host.lower() in self.hosts:
            return True
        if not ipaddress.ip_address(self.address).is_unspecified:
            return False
        name, _, port = host.rpartition(":")
        with suppress(ValueError):
            ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
            return port == str(self.port)
        return False

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
            self._reading[request] = None
            if len(self._open) > MOST_CONNECTIONS:
                # The new one, if no other one waits.
                _end(next(iter(self._reading)))
                self._reading.pop(next(iter(self._reading)))
        super().process_request(request, client_address)

    def has_read(self, request: socket.socket) -> None:
        """Notes that a request was read: its connection ends by itself."""
        with self._lock:
            self._reading.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._reading.pop(request, None)
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: the client has gone, and the handler returns all other errors to it."""

    def close(self) -> None:
        """Closes the listening socket and ends all connections. Idempotent."""
        self.server_close()
        with self._lock:
            for request in self._open:
                _end(request)


def _end(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


def _hosts(host: str, address: str, port: int) -> frozenset[str]:
    names = {host.lower(), address}
    if _is_loopback(address) or ipaddress.ip_address(address).is_unspecified:
        names |= {"localhost", "127.0.0.1", "::1"}
    bracketed = {f"[{name}]" if ":" in name else name for name in names}
    return frozenset({f"{name}:{port}" for name in bracketed} | (bracketed if port == 80 else set()))


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback
