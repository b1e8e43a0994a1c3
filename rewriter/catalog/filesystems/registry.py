"""The store of a URI, by the configuration of the running session.

Whatever reads or writes a URI, in any folder, asks ``store_of`` instead of passing a configuration down. A session sets
its own for its statements (``using``); other threads that work for a statement get it by ``current`` and ``using``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from rewriter.catalog.filesystems.object_files import ObjectFiles
from rewriter.catalog.filesystems.options import StoreOptions
from rewriter.errors import NotSupportedError, OperationalError
from rewriter.uris import is_in_store, root_and_levels, shown

#: In seconds: to connect, and without a byte.
_CONNECT_SECONDS, _SILENT_SECONDS = 10, 30
#: How often the client itself tries a request.
_REQUEST_ATTEMPTS = 3

Stores = Mapping[str, StoreOptions]

_current: ContextVar[Stores] = ContextVar("stores", default=MappingProxyType({}))
_lock = threading.Lock()
#: The clients of this process, by the options and environment that they were made with.
_clients: dict[tuple[StoreOptions, tuple[str | None, ...]], ObjectFiles] = {}


def current() -> Stores:
    """Returns the configuration of this thread's statement: options by bucket (``s3://bucket``) or scheme."""
    return _current.get()


@contextmanager
def using(stores: Stores) -> Iterator[None]:
    """Gives a configuration to the statements in the block."""
    token = _current.set(stores)
    try:
        yield
    finally:
        _current.reset(token)


def store_of(uri: str, stores: Stores | None = None) -> ObjectFiles:
    """Returns the store of a URI: by the options of its bucket, else of its scheme, else by the environment.

    Connects to nothing; costs 10 ms when a store is used first. Raises ``OperationalError``
    FILESYSTEM_CREDENTIALS_MISSING if a variable that the options name is not set, and ``NotSupportedError``
    UNSUPPORTED_FILESYSTEM for a location of another kind, which a client of the metastore may have given.
    """
    if not is_in_store(uri):
        raise NotSupportedError(
            f"Files of {shown(uri)} are not supported.",
            condition="UNSUPPORTED_FILESYSTEM",
            object=shown(uri),
            hint="Local directories and S3 (s3://bucket/directory) are.",
        )
    configured = current() if stores is None else stores
    bucket = root_and_levels(uri)[0]
    options = configured.get(bucket) or configured.get(f"{bucket.partition('://')[0]}://") or StoreOptions()
    key = options, options.environment()
    with _lock:
        if key not in _clients:
            _clients[key] = ObjectFiles(_s3_client(options, bucket))
        return _clients[key]


def _s3_client(options: StoreOptions, bucket: str) -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    endpoint = options.endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    arguments: dict[str, Any] = {}
    if options.access_key_env is not None and options.secret_key_env is not None:
        arguments["access_key"] = _credential(options.access_key_env, bucket)
        arguments["secret_key"] = _credential(options.secret_key_env, bucket)
        if options.session_token_env is not None:
            arguments["session_token"] = _credential(options.session_token_env, bucket)
    region = options.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region:
        arguments["region"] = region
    return S3FileSystem(
        anonymous=options.anonymous,
        endpoint_override=endpoint,
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_SILENT_SECONDS,
        allow_delayed_open=True,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_REQUEST_ATTEMPTS),
        **arguments,
    )


def _credential(variable: str, bucket: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise OperationalError(
            f"The environment variable {variable}, which holds a credential for {bucket}, is not set.",
            condition="FILESYSTEM_CREDENTIALS_MISSING",
            object=variable,
            hint="Set it before this process starts.",
        )
    return value


def _forget() -> None:
    """Drops the clients in a forked process: their threads are its parent's."""
    global _lock
    _lock = threading.Lock()
    _clients.clear()


os.register_at_fork(after_in_child=_forget)
