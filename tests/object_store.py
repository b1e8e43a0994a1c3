"""An S3 server on the loopback interface, in threads of this process: moto behind a layer that counts requests, and
injects faults.
"""

from __future__ import annotations

import logging
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs
import pytest

#: The environment variables that the options of a test's store name.
CREDENTIALS = {"REWRITER_TEST_KEY": "key-of-tests", "REWRITER_TEST_SECRET": "secret-of-tests"}


class Request(NamedTuple):
    """A request: its method, the path ``/bucket/key``, the query string, and the bytes that the response has."""

    method: str
    path: str
    query: str
    bytes: int

    @property
    def is_listing(self) -> bool:
        return self.method == "GET" and "list-type" in self.query


#: What happens to a request, if anything: "403", "503", "cut" (no response), "cut body" (half of it), "short" (HEAD:
#: another size), or seconds to wait.
Fault = Callable[[str, str], "str | float | None"]


@dataclass
class ObjectStore:
    """A bucket of its own for one test."""

    endpoint: str
    bucket: str
    layer: _Layer
    client: Any = field(repr=False)

    @property
    def uri(self) -> str:
        return f"s3://{self.bucket}"

    @property
    def options(self) -> Mapping[str, Mapping[str, object]]:
        """The options of ``filesystems``, for this bucket."""
        return {
            self.uri: {
                "endpoint": self.endpoint,
                "region": "us-east-1",
                "allow_http": True,
                "access_key_env": "REWRITER_TEST_KEY",
                "secret_key_env": "REWRITER_TEST_SECRET",
            }
        }

    @property
    def requests(self) -> list[Request]:
        """The requests for this bucket since the last ``forget``."""
        return [request for request in self.layer.requests if request.path.startswith(f"/{self.bucket}")]

    def forget(self) -> None:
        self.layer.requests.clear()

    def fail(self, fault: Fault | None) -> None:
        """Injects faults: ``fault`` is asked for each request with its method and path."""
        self.layer.fault = fault

    def files(self, prefix: str = "") -> list[str]:
        """Returns the keys of all files whose key begins so. Markers of directories are no files."""
        infos = self.client.get_file_info(pyarrow.fs.FileSelector(self.bucket, recursive=True))
        keys = [info.path.removeprefix(f"{self.bucket}/") for info in infos if info.is_file]
        return sorted(key for key in keys if key.startswith(prefix))

    def put(self, key: str, content: bytes) -> str:
        """Stores a file, and returns its URI."""
        with self.client.open_output_stream(f"{self.bucket}/{key}") as stream:
            stream.write(content)
        return f"{self.uri}/{key}"

    def get(self, key: str) -> bytes:
        with self.client.open_input_file(f"{self.bucket}/{key}") as file:
            return bytes(file.read())

    def delete(self, key: str) -> None:
        self.client.delete_file(f"{self.bucket}/{key}")


class _Layer:
    """A WSGI layer around the server."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.requests: list[Request] = []
        self.fault: Fault | None = None

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], unquote(environ["PATH_INFO"])
        fault = None if self.fault is None else self.fault(method, path)
        if isinstance(fault, float | int):
            time.sleep(fault)
        if fault in ("403", "503"):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            self.requests.append(Request(method, path, environ["QUERY_STRING"], 0))
            start_response("503 Slow Down" if fault == "503" else "403 Forbidden", [("Content-Length", "0")])
            return []
        if fault == "cut":
            environ["wsgi.input"].read(min(1000, int(environ.get("CONTENT_LENGTH") or 0)))
            self.requests.append(Request(method, path, environ["QUERY_STRING"], 0))
            return _cut(environ)
        return self._answered(environ, start_response, method, path, fault)

    def _answered(
        self, environ: dict[str, Any], start_response: Any, method: str, path: str, fault: object
    ) -> Iterable[bytes]:
        started: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
            started[:] = [status, headers]
            return lambda piece: None

        body = b"".join(self._app(environ, start))
        status, headers = started
        self.requests.append(Request(method, path, environ["QUERY_STRING"], len(body)))
        if fault == "short" and method == "HEAD":
            headers = [(name, "7" if name.lower() == "content-length" else value) for name, value in headers]
        start_response(status, headers)
        if fault == "cut body":
            return _half(environ, body)
        return [body]


def _cut(environ: dict[str, Any]) -> Iterator[bytes]:
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    yield b""


def _half(environ: dict[str, Any], body: bytes) -> Iterator[bytes]:
    yield body[: len(body) // 2]
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="session")
def object_server() -> Iterator[tuple[str, Any]]:
    """Starts the server, which takes a second, and stops it at the end of the run."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    layer = _Layer(server._server.app)
    server._server.app = layer
    yield f"http://{host}:{port}", layer
    server.stop()


@pytest.fixture
def object_store(object_server: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """An empty bucket."""
    endpoint, layer = object_server
    for variable, value in CREDENTIALS.items():
        monkeypatch.setenv(variable, value)
    client = pa.fs.S3FileSystem(
        access_key=CREDENTIALS["REWRITER_TEST_KEY"],
        secret_key=CREDENTIALS["REWRITER_TEST_SECRET"],
        region="us-east-1",
        endpoint_override=endpoint,
        allow_bucket_creation=True,
        allow_bucket_deletion=True,
    )
    bucket = f"tests-{uuid.uuid4().hex[:12]}"
    client.create_dir(bucket)
    store = ObjectStore(endpoint, bucket, layer, client)
    store.forget()
    yield store
    store.fail(None)
