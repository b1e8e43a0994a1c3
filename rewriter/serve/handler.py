"""One request: who may ask, what for, and the answer with its headers."""

from __future__ import annotations

import hmac
import io
import json
import socket
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol, cast
from urllib.parse import parse_qs, urlsplit

from rewriter.display.html.page import json_text
from rewriter.errors import Error, OperationalError, foreign, render
from rewriter.serve.pages import fact_page, facts_page, query_page
from rewriter.serve.views import Views

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


class Refused(Exception):
    """A request that gets no answer but a status and a reason."""

    def __init__(self, status: HTTPStatus, reason: str, location: str | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.location = status, reason, location


class Handler(BaseHTTPRequestHandler):
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
        """Answers what a query would read."""
        self._answer(self._posted)

    def _answer(self, respond: Callable[[str, dict[str, str]], tuple[str, str] | None]) -> None:
        """Sends what ``respond`` returns for a path and the values behind it: a type and a text, or no content."""
        try:
            path, values = self._checked()
            answer = respond(path, values)
        except Refused as refused:
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
        """Returns the path below the token, and the values of the URL. Raises ``Refused`` for all that may not read."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not self._site.is_served(hosts[0]):
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "The Host header is not an address of this server.")
        if self.headers.get("Transfer-Encoding") is not None:
            raise Refused(HTTPStatus.NOT_IMPLEMENTED, "Send the length of the content.")
        try:
            url = urlsplit(self.path)
            pairs = parse_qs(url.query, keep_blank_values=True, max_num_fields=5, errors="strict")
        except (ValueError, UnicodeError):
            raise Refused(HTTPStatus.BAD_REQUEST, "The URL is malformed.") from None
        token, slash, path = url.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(errors="replace"), self._site.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "Open the URL that the server printed: it has a token.")
        if not slash:
            raise Refused(HTTPStatus.TEMPORARY_REDIRECT, "The address ends with a slash.", f"/{self._site.token}/")
        return path, {name: found[0] for name, found in pairs.items()}

    def _got(self, path: str, values: dict[str, str]) -> tuple[str, str] | None:
        self._site.has_read(self.connection)
        views, name, since = self._site.views, values.get("name", ""), values.get("since", "")
        if path == "":
            return _PAGE, facts_page(self._site.warehouse)
        if path == "fact":
            return _PAGE, fact_page(name)
        if path == "query":
            return _PAGE, query_page()
        if path not in ("data/facts", "data/fact"):
            raise Refused(HTTPStatus.NOT_FOUND, "There is no such page.")
        value = views.overview(since) if path == "data/facts" else views.fact(name, since)
        return None if value is None else (_JSON, json_text(value))

    def _posted(self, path: str, values: dict[str, str]) -> tuple[str, str]:
        if path != "data/query":
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "Only queries are posted.")
        # No form of another site can send these headers.
        token = self.headers.get("X-Rewriter-Token", "")
        if not hmac.compare_digest(token.encode(errors="replace"), self._site.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "The header X-Rewriter-Token lacks the token.")
        if self.headers.get_content_type() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send JSON.")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "Send the length of the content.")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A query has at most {MOST_BYTES:,} bytes.")
        content = self.rfile.read(int(length))
        self._site.has_read(self.connection)
        try:
            text = json.loads(content)["sql"]
        except (ValueError, KeyError, TypeError, RecursionError):
            text = None
        if not isinstance(text, str):
            raise Refused(HTTPStatus.BAD_REQUEST, 'Send {"sql": "SELECT …"}.')
        if len(text) > _LONGEST:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A query has at most {_LONGEST:,} characters.")
        return _JSON, json_text(self._site.views.query(text))

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
