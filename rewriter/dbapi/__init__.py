"""PEP 249: ``connect``, connections and cursors over a session.

Statements commit by themselves, until START TRANSACTION is executed: then ``commit`` or ``rollback`` ends the
transaction. Without a transaction both do nothing. With ``connection.autocommit = False``, the first statement opens
one. Parameters are a sequence for ``?`` or a mapping for ``:name``. Timestamps are aware and in UTC; a naive datetime
given as a parameter is taken as UTC.
"""

from rewriter.dbapi.connection import Connection, connect
from rewriter.dbapi.cursor import Cursor
from rewriter.dbapi.result_warnings import PartialResultWarning, Warning
from rewriter.dbapi.type_objects import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    DBAPIType,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from rewriter.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)

apilevel = "2.0"
"""The version of the DB-API (PEP 249)."""
threadsafety = 1
"""1: threads may share the module, but not connections."""
paramstyle = "qmark"
"""Placeholders are ``?``. Named ones, ``:name``, work as well."""

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DBAPIType",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "PartialResultWarning",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
