"""The catalog in a PostgreSQL database, which several processes and hosts share.

Readers run in REPEATABLE READ: one state. Writers run in READ COMMITTED and first lock the row of the commit counter,
so they run one after the other, each sees the commits of the one before, and no number is left out. Both are short,
and the server ends a transaction that stops in the middle.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from rewriter.cancellation import waits_for
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import Backend, Purpose
from rewriter.errors import ConflictError, DataError, Error, InterfaceError, OperationalError, disk_full, is_disk_full

#: The parameters of a connection, unless the URL sets them; seconds. They also detect a server whose host is down.
_CONNECTION = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "application_name": "rewriter",
}

#: Settings of a connection; the ``options`` of the URL come after them and win.
_SETTINGS = {
    # The maximum wait of a writer for another one's short transaction, and of any statement for its end.
    "lock_timeout": "60s",
    # Bytes in a statement's text are spelled with a backslash.
    "standard_conforming_strings": "on",
    "statement_timeout": "10min",
    # A writer that stops in the middle of a transaction, or whose host is down, blocks other writers no longer than
    # this.
    "idle_in_transaction_session_timeout": "2min",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}

#: The number of the advisory lock under which the schema is made and upgraded: the letters of "rewriter".
_MIGRATION_LOCK = 0x7265777269746572

#: The statements that take the lock of a purpose: one that returns TRUE if it is free, and one that waits for it.
_LOCK_STATEMENTS = {
    **dict.fromkeys(
        (Purpose.WRITE, Purpose.ANNOUNCE),
        (
            "SELECT true FROM counters WHERE name = 'commit' FOR UPDATE SKIP LOCKED",
            "SELECT true FROM counters WHERE name = 'commit' FOR UPDATE",
        ),
    ),
    Purpose.MIGRATE: (
        f"SELECT pg_try_advisory_xact_lock({_MIGRATION_LOCK})",
        f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})",
    ),
}
#: The most seconds until a wait notices a request that it ends.
_STEP_SECONDS = 0.5

#: The driver's own arguments, which cannot be given as text.
_DRIVER_ARGUMENTS = {
    "row_factory",
    "cursor_factory",
    "autocommit",
    "context",
    "conninfo",
    "prepare_threshold",
    "kwargs",
}

_FORM = "Write postgresql+psycopg://user:password@host:5432/database"


def backend(url: str | sa.URL) -> Backend:
    """Returns the database of a URL. Does not connect yet.

    Raises ``InterfaceError``: INVALID_CATALOG_URL for an invalid URL of PostgreSQL, POSTGRES_DRIVER_NOT_FOUND if
    psycopg is not installed. No error of this module ever contains the password.
    """
    parsed = _parsed(url)
    query = dict(parsed.query)
    extra = query.pop("options", "")
    settings = " ".join(f"-c{name}={value}" for name, value in _SETTINGS.items())
    try:
        engine = sa.create_engine(
            parsed.set(query=query),
            connect_args={
                "client_encoding": "utf8",
                "options": f"{settings} {extra if isinstance(extra, str) else ' '.join(extra)}".rstrip(),
                # Statements are planned for their actual values, and a pooler may be in between.
                "prepare_threshold": None,
                **{name: value for name, value in _CONNECTION.items() if name not in query},
            },
            pool_size=4,
            max_overflow=-1,
            pool_pre_ping=True,
        )
    except ImportError as error:
        raise InterfaceError(
            f"the driver of PostgreSQL cannot be imported: {error}",
            condition="POSTGRES_DRIVER_NOT_FOUND",
            hint="Run pip install 'rewriter[postgres]'.",
        ) from error
    sa.event.listen(engine, "connect", _check_encoding)
    schema.use_partial_indexes_on_postgresql()
    options: Mapping[Purpose, Mapping[str, Any]] = {
        Purpose.READ: {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
        Purpose.WRITE: {"isolation_level": "READ COMMITTED"},
        Purpose.ANNOUNCE: {"isolation_level": "READ COMMITTED"},
        Purpose.MIGRATE: {"isolation_level": "READ COMMITTED"},
    }
    return Backend(_address(parsed), engine, _begin, _translated, options)


def _parsed(url: str | sa.URL) -> sa.URL:
    text = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    try:
        parsed = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        # SQLAlchemy's messages may contain a part of a password.
        raise InterfaceError("the catalog's URL cannot be read", condition=_WRONG_URL, hint=f"{_FORM}.") from None
    if parsed.drivername not in ("postgresql", "postgresql+psycopg"):
        raise InterfaceError(
            f"{parsed.drivername} is not supported for catalogs",
            condition=_WRONG_URL,
            hint=f"{_FORM}, or omit it: the catalog is then a file in the warehouse.",
        )
    if (
        parsed.query.keys() & _DRIVER_ARGUMENTS
        or not str(parsed.query.get("port", "0")).isdigit()
        or "\0" in _parts_text(parsed)
    ):
        raise InterfaceError(
            "the catalog's URL has an option that PostgreSQL does not have, or a port that is not a number",
            condition=_WRONG_URL,
            hint=f"{_FORM}; the part after ? takes libpq's connection parameters.",
        )
    if text.count("@") > 1:
        raise InterfaceError(
            "the catalog's URL has more than one @",
            condition=_WRONG_URL,
            hint="Write @ in a password as %40.",
        )
    return parsed.set(drivername="postgresql+psycopg")


def _parts_text(url: sa.URL) -> str:
    return " ".join(str(part) for part in (url.username, url.password, url.host, url.database, dict(url.query)) if part)


def address(url: str | sa.URL) -> str:
    """Returns a catalog's URL for messages. Raises ``InterfaceError`` INVALID_CATALOG_URL."""
    return _address(_parsed(url))


def _address(url: sa.URL) -> str:
    """Returns a URL for messages: without the password and any other parts."""
    hosts = url.host or url.query.get("host") or ""
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{user}{hosts if isinstance(hosts, str) else ','.join(hosts)}{port}/{url.database or ''}"


def _check_encoding(dbapi: Any, _record: Any) -> None:
    encoding = dbapi.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise OperationalError(
            f"the catalog's database is encoded in {encoding}, which cannot hold all names and values",
            condition="CATALOG_ENCODING",
            hint="CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
        )


def _begin(connection: sa.Connection, purpose: Purpose) -> None:
    if purpose not in _LOCK_STATEMENTS:
        return
    attempt, wait = _LOCK_STATEMENTS[purpose]
    if connection.exec_driver_sql(attempt).scalar():
        return
    _wait(connection, wait, f"another writer of the catalog {_address(connection.engine.url)}")


def _wait(connection: sa.Connection, statement: str, subject: str) -> None:
    """Waits for a lock in steps, because a request to end one long wait could reach the server before the wait does.

    Raises ``OperationalError`` OPERATION_CANCELED, and the server's error after ``lock_timeout``.
    """
    setting = connection.exec_driver_sql("SELECT setting FROM pg_settings WHERE name = 'lock_timeout'").scalar_one()
    limit = int(setting) / 1000 or float("inf")  # 0 waits without an end.
    deadline = time.monotonic() + limit
    driver: Any = connection.connection.driver_connection  # SQLAlchemy rolls back at an error while it begins.
    while True:
        waits_for(subject)
        step = max(1, round(min(_STEP_SECONDS, deadline - time.monotonic()) * 1000))
        try:
            driver.execute("SAVEPOINT waiting")
            driver.execute(f"SET LOCAL lock_timeout = {step}")
            driver.execute(statement)
        except Exception as error:
            if getattr(error, "sqlstate", None) == _LOCK_TIMEOUT and time.monotonic() < deadline:
                driver.execute("ROLLBACK TO SAVEPOINT waiting")
                continue
            if getattr(error, "sqlstate", None) == _LOCK_TIMEOUT:
                driver.execute("ROLLBACK TO SAVEPOINT waiting")
                driver.execute("SET LOCAL lock_timeout = 1")
            connection.exec_driver_sql(statement)  # Raises the error as SQLAlchemy does; or the lock is free now.
        connection.exec_driver_sql("SET LOCAL lock_timeout TO DEFAULT")
        return


#: The SQLSTATE of a statement that was canceled, or took longer than ``statement_timeout``.
_QUERY_CANCELED = "57014"
#: The SQLSTATE of a statement whose lock was not free for ``lock_timeout``.
_LOCK_TIMEOUT = "55P03"


class _Cause(NamedTuple):
    condition: str
    words: str
    hint: str


_NOT_ALLOWED, _NOT_FOUND, _UNAVAILABLE = "CATALOG_ACCESS_DENIED", "CATALOG_DATABASE_NOT_FOUND", "CATALOG_UNAVAILABLE"
_BUSY, _WRONG_URL = "CATALOG_BUSY", "INVALID_CATALOG_URL"
_MORE = "Try again, or give the server more connections, memory or disk."
_DOWN = _Cause(
    _UNAVAILABLE, "cannot be reached", "Check that the server is running, and that host and port are correct."
)

#: By SQLSTATE, or the class of it.
_CAUSES = {
    "25006": _Cause("CATALOG_READ_ONLY", "cannot be written", "Name the primary server, not a standby."),
    "3F000": _Cause(_NOT_FOUND, "has no such schema", "CREATE SCHEMA makes it; search_path names it."),
    "42501": _Cause(
        _NOT_ALLOWED,
        "does not grant this user the required permission",
        "Use the role that owns the catalog's tables, which needs CREATE on their schema; queries need SELECT alone.",
    ),
    "53": _Cause(
        "CATALOG_UNAVAILABLE", "has no resources left for this", "Give the server more connections, memory or disk."
    ),
    "55P03": _Cause(
        _BUSY, "is locked by another process", "Try again; pg_stat_activity shows the process that holds it."
    ),
    _QUERY_CANCELED: _Cause(
        _BUSY, "took too long to respond", "Try again, or set another statement_timeout in the URL."
    ),
}

#: The server ended the connection, or accepts none while it starts.
_ENDED = ("57P01", "57P02", "57P03")

#: By the server's message for refused connections, which come without an SQLSTATE.
_REFUSALS = {
    "authentication failed": _Cause(_NOT_ALLOWED, "refuses this user", "Check the user and the password."),
    "no password supplied": _Cause(_NOT_ALLOWED, "requires a password", "Put it in the URL, PGPASSWORD or ~/.pgpass."),
    "pg_hba.conf": _Cause(_NOT_ALLOWED, "refuses this host", "Allow it in the server's pg_hba.conf."),
    "permission denied|not permitted": _Cause(
        _NOT_ALLOWED, "refuses this user", "GRANT CONNECT, or ALTER ROLE … LOGIN."
    ),
    "role .* does not exist": _Cause(_NOT_ALLOWED, "has no such user", "Check the name, or create the user."),
    "database .* does not exist": _Cause(_NOT_FOUND, "is not there", "Check the name, or create it."),
    "too many|connection slots": _Cause(_UNAVAILABLE, "has no connection left", _MORE),
    "connection option": _Cause(_WRONG_URL, "has no such option", "Correct the part after ? in the URL."),
    "configuration parameter": _Cause(_WRONG_URL, "has no such setting", "Correct the URL's options."),
}


def _translated(catalog_address: str, error: BaseException, lost: bool) -> Error:
    text, state = " ".join(str(error).split()), getattr(error, "sqlstate", None) or ""
    if lost or state in _ENDED or state.startswith("08"):
        return OperationalError(
            f"the connection to the catalog {catalog_address} was lost: {text}",
            condition="CATALOG_CONNECTION_LOST",
            object=catalog_address,
            hint="Check that the server is running, and run the statement again: none of its changes were committed.",
        )
    if state == "53100" or is_disk_full(error):
        return disk_full(f"the catalog {catalog_address}", catalog_address)
    if state in ("40001", "40P01"):
        return ConflictError(
            f"another transaction interfered in the catalog {catalog_address}: {text}",
            condition=_BUSY,
            sqlstate="40001",
            object=catalog_address,
            hint="Run the statement again.",
        )
    if state.startswith("22") or "cannot contain NUL" in text:
        return DataError(
            f"the catalog {catalog_address} cannot hold this: {text}", condition="CATALOG_VALUE", object=catalog_address
        )
    if state.startswith("54"):
        return DataError(
            f"the catalog {catalog_address} cannot hold a value or a name of this length: {text}",
            condition="CATALOG_VALUE",
            object=catalog_address,
            hint="On PostgreSQL, a name, or the values of a partition together, can have at most about 1,300 bytes.",
        )
    cause = _CAUSES.get(state) or _CAUSES.get(state[:2])
    if cause is None and not state:
        cause = next((refusal for words, refusal in _REFUSALS.items() if re.search(words, text)), _DOWN)
    if cause is None:
        cause = _Cause(_UNAVAILABLE, "cannot be read or written", "the server's log may have details")
    return OperationalError(
        f"the catalog {catalog_address} {cause.words}: {text}",
        condition=cause.condition,
        object=catalog_address,
        hint=cause.hint,
    )
