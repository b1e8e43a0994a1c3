"""``rewriter serve``: the coverage of a warehouse in a browser, and its catalog as a Hive metastore."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from rewriter.cli.connection import Connection, connection, connection_options
from rewriter.cli.stop_signals import stop_signals
from rewriter.errors import InterfaceError
from rewriter.terminal_text import printable

if TYPE_CHECKING:
    import ssl

    from rewriter.catalog.catalog import Catalog
    from rewriter.metastore.service.dispatch import Outcome

_WEB_PORT, _METASTORE_PORT = 8080, 9083
_PORT = click.IntRange(0, 65535)
#: The size of the metastore's cache, in bytes, unless the settings of the connection say another one.
_CACHE_BYTES = 256 << 20


@click.command()
@connection_options
@click.option("--web", is_flag=True, help="Serve pages: what can be queried now, what is due, commits, queries.")
@click.option("--metastore", is_flag=True, help="Serve the catalog as a Hive metastore, for Spark, Trino and others.")
@click.option("--host", metavar="HOST", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port", metavar="PORT", type=_PORT, help="The port; 0 is any free one. Default: 8080, or 9083 for a metastore."
)
@click.option(
    "--metastore-port",
    metavar="PORT",
    type=_PORT,
    help="The port of the metastore, where --port is that of --web. Default: 9083.",
)
@click.option(
    "--queries",
    type=click.Choice(["run", "plan"]),
    help="What the pages do with a query: run it on DuckDB in this process, or plan it only. Default: run where only "
    "this machine reaches the pages, otherwise plan.",
)
@click.option("--read-only", is_flag=True, help="The metastore refuses all changes.")
@click.option("--allow-writes", is_flag=True, help="The metastore also takes changes of clients on other machines.")
@click.option(
    "--files-below",
    metavar="DIR",
    multiple=True,
    help="Let the metastore create and remove directories of clients' tables below DIR, too. Repeatable.",
)
@click.option("--tls-certificate", metavar="FILE", help="Encrypt connections, with this certificate of the metastore.")
@click.option("--tls-key", metavar="FILE", help="The private key of the certificate. Both are PEM files.")
@click.option("--access-log", metavar="FILE", help="Write a line for each call of the metastore; - is stderr.")
def serve(
    web: bool,
    metastore: bool,
    host: str,
    port: int | None,
    metastore_port: int | None,
    queries: str | None,
    access_log: str | None,
    **options: Any,
) -> int:
    """Serve pages for a browser, a Hive metastore, or both.

    Runs until Ctrl-C. Prints the URL of each server. Pages are read-only, and a reader needs the token in their URL. A
    metastore has no tokens: it takes all clients of this machine. Clients of other machines need --host,
    --tls-certificate, and for changes --allow-writes.
    """
    if not (web or metastore):
        raise click.UsageError("Say what to serve: --web, --metastore.")
    if metastore_port is not None and port is not None and not web:
        raise click.UsageError("--port and --metastore-port name the same port.")
    own = ("read_only", "allow_writes", "files_below", "tls_certificate", "tls_key")
    given = {name: options.pop(name) for name in own}
    if not metastore and (access_log is not None or metastore_port is not None or any(given.values())):
        raise click.UsageError("These options need --metastore.")
    if queries is not None and not web:
        raise click.UsageError("--queries needs --web.")
    runs_queries = None if queries is None else queries == "run"
    opened = connection(**options)
    shared: Catalog | None = None
    with ExitStack() as servers:
        wait = servers.enter_context(stop_signals())
        if metastore:
            chosen = metastore_port if metastore_port is not None else None if web else port
            number = _METASTORE_PORT if chosen is None else chosen
            log = servers.enter_context(_access_log(access_log))
            url, shared = servers.enter_context(_running_metastore(opened, host, number, log, **given))
            print(url, flush=True)
        if web:
            number = _WEB_PORT if port is None else port
            print(servers.enter_context(_running_web(opened, host, number, shared, runs_queries)), flush=True)
        wait(None)
    return 0


@contextmanager
def _running_web(
    opened: Connection, host: str, port: int, shared: Catalog | None, runs_queries: bool | None
) -> Iterator[str]:
    """Runs the server of the pages, over the catalog of another server of this process if there is one. Yields its
    URL.
    """
    from functools import partial

    from rewriter.serve.server import WebServer

    open_session = partial(opened.reading_session, "Name the warehouse's directory with -w.")
    if shared is not None:
        open_session = partial(opened.session, plans_only=True, shared=shared)
    server = WebServer(open_session, opened.warehouse, host, port, runs_queries=runs_queries)
    try:
        server.start()
        if not server.is_local:
            message = f"Warning: other machines reach {host}, and the connection is not encrypted: the token and all "
            print(printable(f"{message}pages can be read on the way."), file=sys.stderr, flush=True)
        yield server.url
    finally:
        server.stop()


@contextmanager
def _running_metastore(
    opened: Connection,
    host: str,
    port: int,
    observe: Callable[[Outcome], None] | None,
    *,
    read_only: bool,
    allow_writes: bool,
    files_below: tuple[str, ...],
    tls_certificate: str | None,
    tls_key: str | None,
) -> Iterator[tuple[str, Catalog]]:
    """Runs the metastore over the cached catalog of a session. Yields its URL and the catalog.

    Raises ``InterfaceError`` METASTORE_NEEDS_TLS where other machines would reach it without encryption, and
    METASTORE_LIBRARY_NOT_FOUND.
    """
    try:
        from rewriter.metastore.service.calls.call import Service
        from rewriter.metastore.service.server import MetastoreServer
    except ImportError as error:
        raise InterfaceError(
            f"The metastore needs the package thrift: {error}.",
            condition="METASTORE_LIBRARY_NOT_FOUND",
            hint="Run pip install 'rewriter[metastore]'.",
        ) from error
    import os

    context = _encryption(tls_certificate, tls_key)
    session = opened.session(plans_only=True)
    try:
        catalog = session.catalog
        if catalog.cache is None:
            catalog.use_cache(_CACHE_BYTES)
        roots = tuple(os.path.abspath(root) for root in files_below)
        local = Service(catalog, read_only, roots)
        server = MetastoreServer(local, host, port, context, observe)
        try:
            if not server.is_local:
                _check_remote(host, context)
                server.restrict(Service(catalog, read_only or not allow_writes, roots))
            server.start()
            yield server.url, catalog
        finally:
            server.stop()
    finally:
        session.close()


def _check_remote(host: str, context: ssl.SSLContext | None) -> None:
    if context is None:
        raise InterfaceError(
            f"Other machines reach {host}, and the metastore's connections would not be encrypted.",
            condition="METASTORE_NEEDS_TLS",
            object=host,
            hint="Name --tls-certificate and --tls-key, or serve this machine alone.",
        )


def _encryption(certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    """Returns the context of encrypted connections. Raises ``InterfaceError`` INVALID_CERTIFICATE."""
    if certificate is None:
        if key is not None:
            raise click.UsageError("--tls-key needs --tls-certificate.")
        return None
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise InterfaceError(
            f"The certificate {certificate} cannot be used: {error.strerror or error}.",
            condition="INVALID_CERTIFICATE",
            object=certificate,
            hint="Name PEM files: the certificate with --tls-certificate, and its key with --tls-key.",
        ) from error
    return context


@contextmanager
def _access_log(name: str | None) -> Iterator[Callable[[Outcome], None] | None]:
    """Yields the writer of the access log: time, client, user, method, milliseconds, and the error if there is one."""
    if name is None:
        yield None
        return
    import threading

    lock = threading.Lock()

    def write(outcome: Outcome, sink: TextIO) -> None:
        from datetime import UTC, datetime

        client, now = outcome.client, datetime.now(UTC).isoformat(timespec="milliseconds")
        fields = (now, client.address, client.user or "-", outcome.method, f"{outcome.milliseconds:.1f}ms")
        with lock:
            print(*map(printable, fields), outcome.error or "OK", file=sink, flush=True)

    if name == "-":
        yield lambda outcome: write(outcome, sys.stderr)
        return
    try:
        log = open(name, "a", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise InterfaceError(
            f"The access log {name} cannot be written: {error.strerror}.",
            condition="ACCESS_LOG_UNAVAILABLE",
            object=name,
            hint="Name a file in a directory that exists.",
        ) from error
    with log:
        yield lambda outcome: write(outcome, log)
