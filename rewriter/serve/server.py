"""The HTTP server of the pages: one request a connection, few threads, and limits on time and size."""

from __future__ import annotations

import hmac
import io
import ipaddress
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import parse_qs, urlsplit

from rewriter.display.html.coverage_picture import html_text
from rewriter.display.html.page import json_text, page, resource
from rewriter.errors import Error, OperationalError, foreign, render
from rewriter.serve.views import Value, Views
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT, SECOND
from rewriter.timeline.ranges import TimeRange

if TYPE_CHECKING:
    from rewriter.session import Session


#: The most connections at a time.
MOST_CONNECTIONS = 32
#: Seconds until ``stop`` is noticed.
_PAUSE = 0.1


class WebServer:
    """The pages of a warehouse at an address, from ``start`` to ``stop``. ``url`` has the token that admits a reader.

    ``port`` 0 takes a free one. ``runs_queries`` says whether a reader may run queries over the tables of the
    catalog; without it, one may where only this machine reaches the server. Raises ``OperationalError``
    ADDRESS_UNAVAILABLE, and the errors of ``open_session``.
    """

    def __init__(
        self,
        open_session: Callable[[], Session],
        warehouse: str,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        runs_queries: bool | None = None,
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
        self._views.runs_queries = self.is_local if runs_queries is None else runs_queries
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
        super().__init__((str(address[0]), port), _Handler)
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


# One request: who may ask, what for, and the answer with its headers.

#: The most bytes of a query, with its frame, and the seconds that a request or a response may take on its way.
MOST_BYTES, PATIENCE = 200_000, 10.0
#: The most characters of a query.
_LONGEST = 100_000
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PAGE, _JSON = "text/html; charset=utf-8", "application/json"


class Site(Protocol):
    """The server, as a request sees it."""

    token: str
    warehouse: str
    views: Views

    def is_served(self, host: str) -> bool:
        """Tests a Host header."""
        ...

    def has_read(self, request: socket.socket) -> None:
        """Notes that a request was read."""
        ...


class _Refused(Exception):
    """A request that gets no answer but a status and a reason."""

    def __init__(self, status: HTTPStatus, reason: str, location: str | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.location = status, reason, location


def _window(values: dict[str, str]) -> TimeRange:
    """Returns the time between two values in seconds since 1970. Raises ``_Refused``."""
    with suppress(KeyError, ValueError):
        start, end = (int(values[name]) * SECOND for name in ("from", "to"))
        if MIN_INSTANT <= start < end <= MAX_INSTANT:
            return TimeRange(start, end)
    raise _Refused(HTTPStatus.BAD_REQUEST, "Send from and to, in seconds since 1970.")


class _Handler(BaseHTTPRequestHandler):
    """Reads one request within its time, checks it, and answers it. The connection then ends (HTTP/1.0)."""

    server_version, sys_version = "rewriter", ""

    def setup(self) -> None:
        super().setup()
        self.rfile = cast(io.BufferedReader, io.BufferedReader(_Timely(self.connection, time.monotonic() + PATIENCE)))

    @property
    def _site(self) -> Site:
        return cast(Site, self.server)

    def do_GET(self) -> None:
        """Answers with a page or with JSON."""
        self._answer(self._got)

    def do_HEAD(self) -> None:
        """Answers with the headers of GET."""
        self._answer(self._got)

    def do_POST(self) -> None:
        """Answers what a query would read, and its rows."""
        self._answer(self._posted)

    def _answer(self, respond: Callable[[str, dict[str, str]], tuple[str, str] | None]) -> None:
        """Sends what ``respond`` returns for a path and the values behind it: a type and a text, or no content."""
        try:
            path, values = self._checked()
            answer = respond(path, values)
        except _Refused as refused:
            self._refuse(refused.status, refused.reason, refused.location)
        except OSError:
            raise  # The client has gone, or took too long.
        except Exception as failure:
            error = failure if isinstance(failure, Error) else foreign(failure)
            is_busy = isinstance(error, OperationalError)
            status = HTTPStatus.SERVICE_UNAVAILABLE if is_busy else HTTPStatus.UNPROCESSABLE_ENTITY
            self._refuse(status, render(error))
        else:
            if answer is None:
                self._send(HTTPStatus.NO_CONTENT, _JSON, "")
            else:
                self._send(HTTPStatus.OK, *answer)

    def _checked(self) -> tuple[str, dict[str, str]]:
        """Returns the path below the token, and the values of the URL. Raises ``_Refused`` for who may not read."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not self._site.is_served(hosts[0]):
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST, "The Host header is not an address of this server.")
        if self.headers.get("Transfer-Encoding") is not None:
            raise _Refused(HTTPStatus.NOT_IMPLEMENTED, "Send the length of the content.")
        try:
            url = urlsplit(self.path)
            pairs = parse_qs(url.query, keep_blank_values=True, max_num_fields=5, errors="strict")
        except (ValueError, UnicodeError):
            raise _Refused(HTTPStatus.BAD_REQUEST, "The URL is malformed.") from None
        token, slash, path = url.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(errors="replace"), self._site.token.encode()):
            raise _Refused(HTTPStatus.FORBIDDEN, "Open the URL that the server printed: it has a token.")
        if not slash:
            raise _Refused(HTTPStatus.TEMPORARY_REDIRECT, "The address ends with a slash.", f"/{self._site.token}/")
        return path, {name: found[0] for name, found in pairs.items()}

    def _got(self, path: str, values: dict[str, str]) -> tuple[str, str] | None:
        self._site.has_read(self.connection)
        views, name, since = self._site.views, values.get("name", ""), values.get("since", "")
        if path == "":
            return _PAGE, _facts_page(self._site.warehouse)
        if path == "fact":
            return _PAGE, _fact_page(name)
        if path == "query":
            return _PAGE, _query_page(views.runs_queries)
        reads: dict[str, Callable[[], Value | None]] = {
            "data/facts": lambda: views.overview(since),
            "data/fact": lambda: views.fact(name, since),
            "data/calendar": lambda: views.calendar(name, _window(values)),
            "data/due": lambda: views.due(since),
            "data/examples": views.examples,
        }
        if path not in reads:
            raise _Refused(HTTPStatus.NOT_FOUND, "There is no such page.")
        value = reads[path]()
        return None if value is None else (_JSON, json_text(value))

    def _posted(self, path: str, values: dict[str, str]) -> tuple[str, str]:
        if path != "data/query":
            raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED, "Only queries are posted.")
        # No form of another site can send these headers.
        token = self.headers.get("X-Rewriter-Token", "")
        if not hmac.compare_digest(token.encode(errors="replace"), self._site.token.encode()):
            raise _Refused(HTTPStatus.FORBIDDEN, "The header X-Rewriter-Token lacks the token.")
        if self.headers.get_content_type() != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send JSON.")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "Send the length of the content.")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A query has at most {MOST_BYTES:,} bytes.")
        content = self.rfile.read(int(length))
        self._site.has_read(self.connection)
        try:
            sent = json.loads(content)
            text, runs, tolerates = sent["sql"], sent.get("run", False), sent.get("partial", False)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            text = runs = tolerates = None
        if not isinstance(text, str) or not isinstance(runs, bool) or not isinstance(tolerates, bool):
            raise _Refused(HTTPStatus.BAD_REQUEST, 'Send {"sql": "SELECT …", "run": false, "partial": false}.')
        if runs and not self._site.views.runs_queries:
            raise _Refused(HTTPStatus.FORBIDDEN, "This server plans queries, and runs none.")
        if len(text) > _LONGEST:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A query has at most {_LONGEST:,} characters.")
        return _JSON, json_text(self._site.views.query(text, runs=runs, partial=tolerates))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuses a request that is no HTTP, or has another method."""
        self._refuse(HTTPStatus(code), HTTPStatus(code).phrase)

    def _refuse(self, status: HTTPStatus, reason: str, location: str | None = None) -> None:
        self._send(status, _JSON, json_text({"error": reason}), location)

    def _send(self, status: HTTPStatus, kind: str, text: str, location: str | None = None) -> None:
        data = text.encode("utf-8", "replace")
        self.connection.settimeout(PATIENCE)
        self.request_version = "HTTP/1.0"  # Without a version, no headers would be sent.
        self.send_response_only(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        if location is not None:
            self.send_header("Location", location)
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Writes no log: URLs have the token."""


class _Timely(io.RawIOBase):
    """The bytes of a connection up to a deadline, however slowly they come. Raises ``TimeoutError`` after it."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection, self._deadline = connection, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


# The pages. They have no data: their script fetches it, again and again, and sets it as text.

#: What ``page`` adds to the policy of these pages: the script fetches from this server alone.
_POLICY = ("connect-src 'self'",)
_NO_SCRIPT = "<noscript><p>This page needs scripts: it shows the present state.</p></noscript>"
_STATUS = '<p class="soft" id="status" role="status"></p>'


def _facts_page(warehouse: str) -> str:
    """Returns the page of all facts, what is due, and the recent commits."""
    body = [
        f'<h1>{html_text(warehouse, 300)}</h1><p id="summary"></p>',
        '<h2 id="facts-title">Facts</h2><div id="facts" class="cards" aria-labelledby="facts-title"></div>',
        '<div id="legend"></div><h2>What is due</h2><div id="due"></div>',
        '<details><summary>Recent commits</summary><div class="scroll"><table id="commits"></table></div></details>',
    ]
    return _page(f"Facts of {warehouse}", body, "facts")


def _fact_page(name: str) -> str:
    """Returns the page of a fact, which need not exist: the script shows the error."""
    body = [
        f'<h1 id="title">{html_text(name, 300)}</h1><div id="glance"></div>',
        '<h2>What can be queried now</h2><div id="calendar"></div><div id="legend"></div>',
        '<h2>Partitions</h2><p class="soft" id="cut"></p><div class="chart" id="chart"></div>',
        '<div id="gaps"></div><h2>What is due</h2><div id="due"></div>',
    ]
    return _page(name, body, "fact")


def _query_page(runs: bool) -> str:
    """Returns the page with the text of a query."""
    run = '<button type="submit" class="main" value="run">Run</button> ' if runs else ""
    note = "" if runs else " Queries are planned here, and never run."
    body = [
        f'<h1>Query</h1><p class="soft">One SELECT over a cube or a table.{note}</p>',
        '<form id="query"><p class="row"><label for="example">Examples of this warehouse</label>'
        '<select id="example"></select></p><textarea id="sql" rows="8" aria-label="The query" spellcheck="false" '
        f'autofocus></textarea><p class="row">{run}<button type="submit" value="plan">Plan it</button>'
        '<label><input type="checkbox" id="partial"> even if partitions are missing</label>'
        '<span class="soft">Ctrl+Enter</span></p></form>',
        '<div id="answer" aria-live="polite"></div>',
    ]
    return _page("Query", body, "query")


def _page(title: str, body: Sequence[str], shown: str) -> str:
    links = (("./", "Facts", "facts"), ("query", "Query", "query"))
    navigation = "".join(
        f'<a href="{address}"{" aria-current=page" * (name == shown)}>{text}</a>' for address, text, name in links
    )
    scripts = [resource("chart.js"), resource("live.js", "rewriter.serve")]
    parts = [f"<header><nav>{navigation}</nav>{_STATUS}</header><main>", _NO_SCRIPT, *body, "</main>"]
    return page(title, parts, scripts, policy=_POLICY)
