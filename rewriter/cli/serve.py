"""``rewriter serve --web``: the coverage of a warehouse, live in a browser."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

import click

from rewriter.cli.connection import connection, connection_options
from rewriter.terminal_text import printable


@click.command()
@connection_options
@click.option("--web", is_flag=True, help="Serve pages that show all facts, commits, and what a query would read.")
@click.option("--host", metavar="HOST", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port", metavar="PORT", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes a free one."
)
def serve(web: bool, host: str, port: int, **options: Any) -> int:
    """Serve a warehouse, read-only, until Ctrl-C. Prints the URL, which has a token: whoever has it may read."""
    if not web:
        raise click.UsageError("Say what to serve: --web.")
    from functools import partial

    from rewriter.serve.web.server import WebServer

    opened = connection(**options)
    open_session = partial(opened.reading_session, "Name the warehouse's directory with -w.")
    server = WebServer(open_session, opened.warehouse, host, port)
    stopped = threading.Event()

    def stop(*_: object) -> None:
        # A second signal ends the process at once.
        restore()
        stopped.set()

    handlers = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    try:
        server.start()
        if not server.is_local:
            message = f"Warning: other machines reach {host}, and the connection is not encrypted: the token and all "
            print(printable(f"{message}pages can be read on the way."), file=sys.stderr, flush=True)
        print(server.url, flush=True)
        stopped.wait()
    finally:
        server.stop()
        restore()
    return 0
