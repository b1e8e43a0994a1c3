"""A real PostgreSQL for the tests: one server for the whole run, and an empty schema for each test that needs one.

The server comes with the package ``pgserver``, or is the one at the URL in ``REWRITER_TEST_POSTGRES``
(``postgresql://user:password@host/postgres``). Its user creates schemas, databases and roles. Without both, no test is
skipped.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

SERVER = "REWRITER_TEST_POSTGRES"


class PostgresServer:
    """Creates and drops schemas. Each is a separate database for a client that connects by its URL."""

    def __init__(self, url: str) -> None:
        self._url = sa.make_url(url).set(drivername="postgresql+psycopg")
        self._engine = sa.create_engine(self._url, isolation_level="AUTOCOMMIT", pool_size=1)

    def run(self, statement: str) -> None:
        """Runs one statement."""
        with self._engine.connect() as connection:
            connection.exec_driver_sql(statement)

    def create(self) -> str:
        """Creates a schema and returns the URL of its users: ``postgresql+psycopg://…``. Costs a millisecond."""
        name = f"rewriter_test_{uuid.uuid4().hex}"
        self.run(f'CREATE SCHEMA "{name}"')
        url = self._url.update_query_dict({"options": f"-csearch_path={name}"})
        return url.render_as_string(hide_password=False)

    def drop(self, url: str) -> None:
        """Drops a schema of ``create`` with its content."""
        options = sa.make_url(url).query["options"]
        self.run(f'DROP SCHEMA "{str(options).partition("=")[2]}" CASCADE')

    def close(self) -> None:
        """Closes the connection."""
        self._engine.dispose()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Starts the server in a second."""
    given = os.environ.get(SERVER)
    if given:
        server = PostgresServer(given)
        yield server
        server.close()
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Set the directory of its lock.
            import pgserver
    except ImportError:
        pytest.fail(f"pgserver is not installed here: name a PostgreSQL server by {SERVER}=postgresql://…")
    # A short path, which a socket needs, and one that the server's own user may enter.
    directory = tempfile.mkdtemp(prefix="pg")
    started = pgserver.get_server(directory)
    try:
        server = PostgresServer(started.get_uri())
        # None of this must survive a loss of power.
        server.run("ALTER SYSTEM SET fsync = off")
        server.run("ALTER SYSTEM SET full_page_writes = off")
        server.run("SELECT pg_reload_conf()")
        yield server
        server.close()
    finally:
        started.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Returns the URL of an empty schema, which is dropped after the test."""
    url = postgres_server.create()
    yield url
    postgres_server.drop(url)


@pytest.fixture(params=["sqlite", "postgresql"])
def catalog_url(request: pytest.FixtureRequest) -> str | None:
    """Returns the argument of ``Catalog.open`` for each database in turn: ``None`` is SQLite."""
    url: str | None = None if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return url


def seeds(number: int) -> list[tuple[str, int]]:
    """Returns seeds of random histories: all on SQLite, the first one on PostgreSQL, too.

    For ``parametrize(("catalog_url", "seed"), seeds(8), indirect=["catalog_url"])``.
    """
    return [*(("sqlite", seed) for seed in range(number)), ("postgresql", 0)]


#: For long tests that test nothing else of the database than the other tests.
on_sqlite = pytest.mark.parametrize("catalog_url", ["sqlite"], indirect=True)
