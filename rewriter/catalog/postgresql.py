"""The catalog in a PostgreSQL database, which several processes and hosts share.

Readers run in REPEATABLE READ: one state. Writers run in READ COMMITTED and first lock the row of the commit counter,
so they come one after the other, each sees what the one before it has committed, and no number is left out. Both are
short, and the server ends who stops in the middle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from rewriter.catalog.backend import Backend, Purpose
from rewriter.errors import ConflictError, DataError, Error, InterfaceError, OperationalError

#: How connections are opened, unless the URL says otherwise; seconds. A server whose host has gone is noticed, too.
CONNECTION = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "application_name": "rewriter",
}

#: Settings of a connection; what stands in the ``options`` of the URL comes after them and wins.
SETTINGS = {
    # How long a writer waits for another one's short transaction, and any statement for its end.
    "lock_timeout": "60s",
    # Bytes in a statement's text are spelled with a backslash.
    "standard_conforming_strings": "on",
    "statement_timeout": "10min",
    # A writer that stops in the middle of a transaction, or whose host has gone, blocks the others no longer than this.
    "idle_in_transaction_session_timeout": "2min",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}

#: The number of the advisory lock under which the schema is made and upgraded: the letters of "rewriter".
_MIGRATION_LOCK = 0x7265777269746572

_ALONE = {
    **dict.fromkeys((Purpose.WRITE, Purpose.ANNOUNCE), "SELECT value FROM counters WHERE name = 'commit' FOR UPDATE"),
    Purpose.MIGRATE: f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})",
}

#: Arguments of the driver's own, which a text cannot be.
_OURS = {"row_factory", "cursor_factory", "autocommit", "context", "conninfo", "prepare_threshold", "kwargs"}

_FORM = "write postgresql+psycopg://user:password@host:5432/database"


def backend(url: str | sa.URL) -> Backend:
    """The database that a URL names. Nothing is connected yet.

    Raises ``InterfaceError``: INVALID_CATALOG_URL for what is no URL of PostgreSQL, POSTGRES_DRIVER_NOT_FOUND where
    psycopg is not installed. No error of this module ever holds the password.
    """
    parsed = _parsed(url)
    query = dict(parsed.query)
    given = query.pop("options", "")
    settings = " ".join(f"-c{name}={value}" for name, value in SETTINGS.items())
    try:
        engine = sa.create_engine(
            parsed.set(query=query),
            connect_args={
                "client_encoding": "utf8",
                "options": f"{settings} {given if isinstance(given, str) else ' '.join(given)}".rstrip(),
                # Statements are planned for the values that they are run with, and a pooler may stand in between.
                "prepare_threshold": None,
                **{name: value for name, value in CONNECTION.items() if name not in query},
            },
            pool_size=4,
            max_overflow=-1,
            pool_pre_ping=True,
        )
    except ImportError as error:
        raise InterfaceError(
            f"the driver of PostgreSQL cannot be imported: {error}",
            condition="POSTGRES_DRIVER_NOT_FOUND",
            hint="pip install 'rewriter[postgres]'",
        ) from error
    sa.event.listen(engine, "connect", _check_encoding)
    options: Mapping[Purpose, Mapping[str, Any]] = {
        Purpose.READ: {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
        Purpose.WRITE: {"isolation_level": "READ COMMITTED"},
        Purpose.ANNOUNCE: {"isolation_level": "READ COMMITTED"},
        Purpose.MIGRATE: {"isolation_level": "READ COMMITTED"},
    }
    return Backend(_place(parsed), engine, _begin, _translated, options)


def _parsed(url: str | sa.URL) -> sa.URL:
    text = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    try:
        parsed = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        # What stands in their messages may be a part of a password.
        raise InterfaceError("the catalog's URL cannot be read", condition=_WRONG_URL, hint=_FORM) from None
    if parsed.drivername not in ("postgresql", "postgresql+psycopg"):
        raise InterfaceError(
            f"a catalog is not kept in {parsed.drivername}",
            condition=_WRONG_URL,
            hint=f"{_FORM}, or leave it out: the catalog is then a file in the warehouse",
        )
    if parsed.query.keys() & _OURS or not str(parsed.query.get("port", "0")).isdigit() or "\0" in _all_of(parsed):
        raise InterfaceError(
            "the catalog's URL has an option that is not one of PostgreSQL's, or a port that is no number",
            condition=_WRONG_URL,
            hint=f"{_FORM}; what may stand behind ? are libpq's connection parameters",
        )
    if text.count("@") > 1:
        raise InterfaceError(
            "the catalog's URL has more than one @",
            condition=_WRONG_URL,
            hint="write @ in a password as %40",
        )
    return parsed.set(drivername="postgresql+psycopg")


def _all_of(url: sa.URL) -> str:
    return " ".join(str(part) for part in (url.username, url.password, url.host, url.database, dict(url.query)) if part)


def _place(url: sa.URL) -> str:
    """The URL as messages name it: without the password and whatever else it carries."""
    hosts = url.host or url.query.get("host") or ""
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{user}{hosts if isinstance(hosts, str) else ','.join(hosts)}{port}/{url.database or ''}"


def _check_encoding(dbapi: Any, _record: Any) -> None:
    found = dbapi.info.parameter_status("server_encoding")
    if found != "UTF8":
        raise OperationalError(
            f"the catalog's database is encoded in {found}, which cannot hold all names and values",
            condition="CATALOG_ENCODING",
            hint="CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )


def _begin(connection: sa.Connection, purpose: Purpose) -> None:
    if purpose in _ALONE:
        connection.exec_driver_sql(_ALONE[purpose])


class _Cause(NamedTuple):
    condition: str
    words: str
    hint: str


_NOT_ALLOWED, _NOT_FOUND, _UNAVAILABLE = "CATALOG_ACCESS_DENIED", "CATALOG_DATABASE_NOT_FOUND", "CATALOG_UNAVAILABLE"
_BUSY, _WRONG_URL = "CATALOG_BUSY", "INVALID_CATALOG_URL"
_MORE = "try again, or give the server more connections, memory or disk"
_DOWN = _Cause(_UNAVAILABLE, "cannot be reached", "see that the server runs, and that host and port are right")

#: By SQLSTATE, or the class of it.
_CAUSES = {
    "25006": _Cause("CATALOG_READ_ONLY", "cannot be written", "name the primary server, not a standby"),
    "3F000": _Cause(_NOT_FOUND, "has no such schema", "CREATE SCHEMA makes it; search_path names it"),
    "42501": _Cause(_NOT_ALLOWED, "may not be used so by this user", "GRANT the user CREATE on the schema"),
    "53": _Cause(
        "CATALOG_UNAVAILABLE", "has no room left for this", "give the server more connections, memory or disk"
    ),
    "55P03": _Cause(_BUSY, "is locked by another process", "try again; pg_stat_activity shows who holds it"),
    "57014": _Cause(_BUSY, "took too long to answer", "try again, or write another statement_timeout into the URL"),
}

#: The server ended the connection, or lets nobody in while it starts.
_ENDED = ("57P01", "57P02", "57P03")

#: By what the server says of connections that it refuses, which come without an SQLSTATE.
_REFUSALS = {
    "authentication failed": _Cause(_NOT_ALLOWED, "refuses this user", "see that user and password are right"),
    "no password supplied": _Cause(_NOT_ALLOWED, "wants a password", "write it into the URL, PGPASSWORD or ~/.pgpass"),
    "pg_hba.conf": _Cause(_NOT_ALLOWED, "refuses this host", "allow it in the server's pg_hba.conf"),
    "permission denied|not permitted": _Cause(
        _NOT_ALLOWED, "refuses this user", "GRANT CONNECT, or ALTER ROLE … LOGIN"
    ),
    "role .* does not exist": _Cause(_NOT_ALLOWED, "does not know this user", "see that it is right, or make it"),
    "database .* does not exist": _Cause(_NOT_FOUND, "is not there", "see that its name is right, or create it"),
    "too many|connection slots": _Cause(_UNAVAILABLE, "has no connection left", _MORE),
    "connection option": _Cause(_WRONG_URL, "has no such option", "correct what stands behind ? in the URL"),
    "configuration parameter": _Cause(_WRONG_URL, "has no such setting", "correct the URL's options"),
}


def _translated(place: str, error: BaseException, lost: bool) -> Error:
    text, state = " ".join(str(error).split()), getattr(error, "sqlstate", None) or ""
    if lost or state in _ENDED or state.startswith("08"):
        return OperationalError(
            f"the connection to the catalog {place} was lost: {text}",
            condition="CATALOG_CONNECTION_LOST",
            object=place,
            hint="see that the server runs, and run the statement again: nothing of it was committed",
        )
    if state in ("40001", "40P01"):
        return ConflictError(
            f"another transaction came between in the catalog {place}: {text}",
            condition=_BUSY,
            sqlstate="40001",
            object=place,
            hint="run the statement again",
        )
    if state.startswith("22") or "cannot contain NUL" in text:
        return DataError(f"the catalog {place} cannot hold this: {text}", condition="CATALOG_VALUE", object=place)
    if state.startswith("54"):
        return DataError(
            f"the catalog {place} cannot hold a value or a name of this length: {text}",
            condition="CATALOG_VALUE",
            object=place,
            hint="on PostgreSQL names, and the values of a partition together, take at most about 1,300 bytes",
        )
    cause = _CAUSES.get(state) or _CAUSES.get(state[:2])
    if cause is None and not state:
        cause = next((known for words, known in _REFUSALS.items() if re.search(words, text)), _DOWN)
    if cause is None:
        cause = _Cause(_UNAVAILABLE, "cannot be read or written", "the server's log may tell more")
    return OperationalError(
        f"the catalog {place} {cause.words}: {text}", condition=cause.condition, object=place, hint=cause.hint
    )
