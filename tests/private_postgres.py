"""A PostgreSQL server for one test, which may stop it, fill it, or use more connections."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from postgres import SERVER


class Server:
    """A server with a given number of connections, which can be stopped and started.

    ``commands`` is the directory of its programs: ``psql``, ``pg_dump``.
    """

    def __init__(self, directory: Path, max_connections: int) -> None:
        import pgserver
        from pgserver._commands import POSTGRES_BIN_PATH

        self._server = pgserver.get_server(directory)
        self.commands, self._directory = POSTGRES_BIN_PATH, directory
        self.url = self._server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
        self.sql(f"ALTER SYSTEM SET max_connections = {max_connections}")
        self.stop("fast")
        self.start()

    def sql(self, statement: str) -> list[Any]:
        """Runs a statement on the database directly."""
        engine = sa.create_engine(self.url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as connection:
            result = connection.exec_driver_sql(statement)
            return list(result) if result.returns_rows else []

    def schema(self, name: str) -> str:
        """Creates a schema and returns its URL."""
        self.sql(f'CREATE SCHEMA "{name}"')
        return self.url_of(name)

    def url_of(self, schema: str, settings: str = "") -> str:
        """Returns the URL of a schema, with settings of its connections."""
        options = {"options": f"-csearch_path={schema} {settings}".rstrip()}
        return sa.make_url(self.url).update_query_dict(options).render_as_string(hide_password=False)

    def stop(self, how: str = "immediate") -> None:
        """Stops it as after a crash, or ``fast``."""
        self._control("stop", "-m", how)

    def start(self) -> None:
        """Starts it again. It recovers."""
        socket = sa.make_url(self.url).query["host"]
        self._control("start", "-l", str(self._directory / "log"), "-o", f'-h "" -k {socket}')

    def close(self) -> None:
        """Stops it, regardless of the process that started it."""
        self.stop()
        self._server.cleanup()

    def _control(self, *arguments: str) -> None:
        owner = self._directory.owner()
        command = [str(self.commands / "pg_ctl"), "-w", "-D", str(self._directory), *arguments]
        subprocess.run(command, check=True, user=owner, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


@contextmanager
def private_server(max_connections: int) -> Iterator[Server]:
    """Starts a server in a few seconds. The test is skipped if a server is given and pgserver is not installed."""
    if find_spec("pgserver") is None:
        if os.environ.get(SERVER):
            pytest.skip("the server that is given serves others, and pgserver, which makes another, is not there")
        pytest.fail("pgserver is not installed here")
    directory = Path(tempfile.mkdtemp(prefix="pg"))
    server = Server(directory, max_connections)
    try:
        yield server
    finally:
        server.close()
        shutil.rmtree(directory, ignore_errors=True)
