"""PEP 249: ``connect``, connections and cursors over a session.

Statements commit by themselves, until START TRANSACTION is executed: then ``commit`` or ``rollback`` ends the
transaction. Without one ``commit`` has nothing left to do, ``rollback`` cannot undo and says so.
Parameters are a sequence for ``?`` or a mapping for ``:name``. Timestamps are aware and in UTC; a naive datetime given
as a parameter is taken as UTC.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.planner.plan import Coverage, Plan
    from rewriter.progress import Progress
    from rewriter.result import Result, Row, Stats
    from rewriter.session import Session

apilevel = "2.0"
#: Threads may share the module, but not connections.
threadsafety = 1
paramstyle = "qmark"

Parameters = Sequence[object] | Mapping[str, object] | None


class Warning(Exception):  # PEP 249 wants this name
    """Never raised: warnings are texts in ``Cursor.warnings``."""


class DBAPIType:
    """A group of column types: equal to each type code in it."""

    def __init__(self, name: str, *types: str) -> None:
        self.name = name
        self._types = types

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DBAPIType):
            return self._types == other._types
        return isinstance(other, str) and other.split("(")[0].split("<")[0] in self._types

    def __hash__(self) -> int:
        return hash(self._types)

    def __repr__(self) -> str:
        return self.name


STRING = DBAPIType("STRING", "string", "varchar", "char")
BINARY = DBAPIType("BINARY", "binary")
NUMBER = DBAPIType("NUMBER", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
DATETIME = DBAPIType("DATETIME", "date", "timestamp", "timestamp_ntz")
ROWID = DBAPIType("ROWID")

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """The UTC day of a number of seconds since 1970."""
    return TimestampFromTicks(ticks).date()


def TimeFromTicks(ticks: float) -> datetime.time:
    """The UTC time of day of a number of seconds since 1970."""
    return TimestampFromTicks(ticks).time()


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """The instant of a number of seconds since 1970, aware and in UTC."""
    return datetime.datetime.fromtimestamp(ticks, datetime.UTC)


def connect(
    warehouse: str | os.PathLike[str],
    engine: str = "spark",
    master: str | None = None,
    catalog: str | None = None,
    progress: Callable[[Progress], object] | None = None,
    **settings: object,
) -> Connection:
    """Opens a warehouse directory, which is made where there is none. No engine starts yet.

    ``engine`` is ``spark`` or ``duckdb``; ``master`` is Spark's master URL, ``local[*]`` without. ``catalog`` is the
    URL of the PostgreSQL database that holds the catalog, ``postgresql+psycopg://user@host/database``; without one it
    is a file in the directory. ``progress`` is called with a ``rewriter.progress.Progress`` while INSERT, CREATE TABLE
    … AS and MSCK run, a few times a second at most, from whatever thread. ``settings`` are those of SET, their prefix
    left out: ``connect(d, partial_data=True)``.
    Raises ``InterfaceError``, and ``OperationalError`` where the directory cannot be made, the database cannot be used,
    or one of them holds something else.
    """
    from rewriter.session import Session

    named = {name if "." in name else f"rewriter.{name}": value for name, value in settings.items()}
    return Connection(Session(warehouse, engine, master, named, catalog, progress))


class Connection:
    """A session as PEP 249 sees it."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, session: Session) -> None:
        self._session: Session | None = session

    @property
    def session(self) -> Session:
        """The session below. Raises ``InterfaceError`` after ``close``."""
        if self._session is None:
            raise InterfaceError("The connection is closed.", hint="Open a new one with rewriter.connect.")
        return self._session

    def cursor(self) -> Cursor:
        """A new cursor. Cursors of one connection share its session and its settings."""
        return Cursor(self)

    def execute(self, sql: str, parameters: Parameters = None) -> Cursor:
        """A new cursor that has executed the statement."""
        return self.cursor().execute(sql, parameters)

    def commit(self) -> None:
        """COMMIT of the open transaction; does nothing without one, as every statement has committed by itself."""
        if self.session.in_transaction:
            self.session.execute("COMMIT")

    def rollback(self) -> None:
        """ROLLBACK of the open transaction.

        Without one ``NotSupportedError``: a statement that has committed by itself cannot be undone.
        """
        if self.session.in_transaction:
            self.session.execute("ROLLBACK")
            return
        raise NotSupportedError(
            "Statements outside of a transaction commit by themselves and cannot be rolled back.",
            hint="A statement that fails leaves nothing behind. START TRANSACTION opens a transaction of several.",
        )

    def close(self) -> None:
        """Rolls an open transaction back and closes the session; every further use raises ``InterfaceError``.

        Closing twice is no error.
        """
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def __enter__(self) -> Connection:
        _ = self.session
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Cursor:
    """Executes statements and holds the answer to the last one."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._result: Result | None = None
        self._rowcount = -1
        self._closed = False

    def execute(self, sql: str, parameters: Parameters = None) -> Cursor:
        """Executes one statement and answers the cursor itself."""
        session = self._open_session()
        self._forget()
        self._result = session.execute(sql, parameters)
        self._rowcount = self._result.rowcount
        return self

    def executemany(self, sql: str, seq_of_parameters: Sequence[Sequence[object] | Mapping[str, object]]) -> Cursor:
        """Executes a statement that answers no rows once for each set of parameters; ``rowcount`` is their sum."""
        session = self._open_session()
        self._forget()
        counts: list[int] = []
        for parameters in seq_of_parameters:
            result = session.execute(sql, parameters)
            if result.columns is not None:
                result.close()
                raise ProgrammingError(
                    f"executemany cannot take {result.kind}, which answers rows.", hint="Call execute for each."
                )
            self._result = result
            counts.append(result.rowcount)
        self._rowcount = -1 if not counts or -1 in counts else sum(counts)
        return self

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None:
        """Name and type (Spark's spelling) of each column; ``None`` where the statement answers no rows."""
        if self._result is None or self._result.columns is None:
            return None
        return [(column.name, column.type, None, None, None, None, None) for column in self._result.columns]

    @property
    def rowcount(self) -> int:
        """Rows written by INSERT, or answered where that is known beforehand; otherwise -1."""
        return self._rowcount

    @property
    def coverage(self) -> Coverage | None:
        """What the last statement's cover was, and what is missing from it; ``None`` before the first statement."""
        return None if self._result is None else self._result.coverage

    @property
    def plan(self) -> Plan | None:
        """The plan of the last query or INSERT, ``plan.sql`` among it; ``None`` for other statements."""
        return None if self._result is None else self._result.plan

    @property
    def warnings(self) -> list[str]:
        """What the last statement warns of, such as missing ranges in a partial answer."""
        return [] if self._result is None else list(self._result.warnings)

    @property
    def stats(self) -> Stats | None:
        """What the last statement read and wrote; ``None`` before the first statement."""
        return None if self._result is None else self._result.stats

    def fetchone(self) -> Row | None:
        """The next row, or ``None`` after the last."""
        return next(self._answer().rows(), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next ``size`` (default ``arraysize``) rows, fewer at the end."""
        return self._answer().fetch(self.arraysize if size is None else size)

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        return self._answer().fetch()

    def fetch_arrow_table(self) -> pa.Table:
        """All rows as one Arrow table. Use it instead of the other fetches, not after them."""
        return self._answer().arrow_table()

    def __iter__(self) -> Iterator[Row]:
        return self._answer().rows()

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Does nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Lets go of the answer; every further use raises ``InterfaceError``. Closing twice is no error."""
        self._forget()
        self._closed = True

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_session(self) -> Session:
        if self._closed:
            raise InterfaceError("The cursor is closed.", hint="Make a new one: connection.cursor().")
        return self.connection.session

    def _answer(self) -> Result:
        self._open_session()
        if self._result is None:
            raise InterfaceError("Nothing has been executed yet.", hint="Call execute first.")
        if self._result.columns is None:
            raise InterfaceError(f"{self._result.kind} answers no rows.", hint="Fetch after a query.")
        return self._result

    def _forget(self) -> None:
        result, self._result, self._rowcount = self._result, None, -1
        if result is not None:
            result.close()
