"""PEP 249: ``connect``, connections and cursors over a session.

Statements commit by themselves, until START TRANSACTION is executed: then ``commit`` or ``rollback`` ends the
transaction. Without a transaction, ``commit`` does nothing, and ``rollback`` raises, because it cannot undo.
Parameters are a sequence for ``?`` or a mapping for ``:name``. Timestamps are aware and in UTC; a naive datetime
given as a parameter is taken as UTC.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

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

    from rewriter.connectors.table_sink import PartitionableTableSink
    from rewriter.connectors.table_source import PartitionableTableSource
    from rewriter.planner.model.plan import Coverage, Plan
    from rewriter.runtime.progress import Progress
    from rewriter.runtime.result import Result, Row, Stats
    from rewriter.runtime.running_streams import StreamWriter
    from rewriter.session import Session

apilevel = "2.0"
#: Threads may share the module, but not connections.
threadsafety = 1
paramstyle = "qmark"

Parameters = Sequence[object] | Mapping[str, object] | None


class Warning(Exception):  # PEP 249 wants this name
    """Never raised: warnings are texts in ``Cursor.warnings``."""


class DBAPIType:
    """A group of column types: equal to each type code in it. Each type code is equal to one of the five groups.

    ``cursor.description[0][1] == NUMBER`` is true of ``"decimal(10,2)"``.
    """

    def __init__(self, name: str, *types: str) -> None:
        self.name = name
        self._types = types

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DBAPIType):
            return self._types == other._types
        return isinstance(other, str) and _NAME.split(other, 1)[0] in self._types

    def __hash__(self) -> int:
        return hash(self._types)

    def __repr__(self) -> str:
        return self.name


_NAME = re.compile("[(< ]")

#: PEP 249 has no nested types and no type of NULL alone: here they are strings, and booleans are numbers.
STRING = DBAPIType("STRING", "string", "varchar", "char", "array", "map", "struct", "variant", "void")
BINARY = DBAPIType("BINARY", "binary")
NUMBER = DBAPIType("NUMBER", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
DATETIME = DBAPIType("DATETIME", "date", "timestamp", "timestamp_ntz", "interval")
#: No column has row ids.
ROWID = DBAPIType("ROWID")

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """Returns the UTC day of a number of seconds since 1970."""
    return TimestampFromTicks(ticks).date()


def TimeFromTicks(ticks: float) -> datetime.time:
    """Returns the UTC time of day of a number of seconds since 1970."""
    return TimestampFromTicks(ticks).time()


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """Returns the instant of a number of seconds since 1970, aware and in UTC."""
    return datetime.datetime.fromtimestamp(ticks, datetime.UTC)


def connect(
    warehouse: str | os.PathLike[str],
    engine: str = "spark",
    master: str | None = None,
    catalog: str | None = None,
    progress: Callable[[Progress], object] | None = None,
    **settings: object,
) -> Connection:
    """Opens a warehouse directory. The first statement that creates an object makes a missing one. Starts no engine
    yet.

    ``engine`` is ``spark`` or ``duckdb``; ``master`` is Spark's master URL, by default ``local[*]``. ``catalog`` is
    the URL of the PostgreSQL database that holds the catalog, ``postgresql+psycopg://user@host/database``; without
    one it is a file in the directory. ``progress`` is called with a ``rewriter.runtime.progress.Progress`` while
    INSERT, CREATE TABLE … AS and MSCK run, a few times a second at most, from any thread. ``settings`` are those of
    SET, without their prefix: ``connect(d, partial_data=True)``.

    Raises ``InterfaceError``, and ``OperationalError`` where the directory cannot be read, the database cannot be
    used, they do not belong together, or one of them holds something else.
    """
    from rewriter.session import Session

    if not isinstance(warehouse, str | os.PathLike):
        raise InterfaceError(
            f"The warehouse is a {type(warehouse).__name__}.", hint="Pass its directory as a str or a path."
        )
    named = {name if "." in name else f"rewriter.{name}": value for name, value in settings.items()}
    return Connection(Session(warehouse, engine, master, named, catalog, progress))


class Connection:
    """A session with the interface of PEP 249."""

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
        """Returns the underlying session. Raises ``InterfaceError`` after ``close``."""
        if self._session is None:
            raise InterfaceError("The connection is closed.", hint="Open a new one with rewriter.connect.")
        return self._session

    def cursor(self) -> Cursor:
        """Returns a new cursor. Cursors of one connection share its session and its settings.

        Raises ``InterfaceError`` after ``close``, as every use does.
        """
        _ = self.session
        return Cursor(self)

    def execute(self, sql: str, parameters: Parameters = None) -> Cursor:
        """Returns a new cursor that has executed the statement."""
        return self.cursor().execute(sql, parameters)

    def register_source(self, name: str, source: PartitionableTableSource) -> None:
        """Makes the rows of a source readable in queries of this connection as the table ``name``.

        Raises the errors of ``Session.register_source``.
        """
        self.session.register_source(name, source)

    def write(
        self,
        query: str,
        sink: PartitionableTableSink,
        partition: Mapping[str, str] | None = None,
        parameters: Parameters = None,
    ) -> int:
        """Passes the rows of a query to a sink, and returns their number. Raises the errors of ``Session.write``."""
        return self.session.write(query, sink, partition, parameters).rowcount

    def append(self, table: str, data: Any, batch_id: str | None = None) -> Cursor:
        """Appends the rows of Arrow data to a table, by the names of the columns. Returns a cursor with the number of
        rows.

        ``data`` is a pyarrow ``Table``, ``RecordBatch`` or ``RecordBatchReader``, or an object that exports an Arrow
        stream, such as a DataFrame of Polars. A batch whose ``batch_id`` was committed to the table before is skipped,
        with a warning: to be sure of an append, repeat it.
        """
        cursor = self.cursor()
        cursor._hold(self.session.append(table, data, batch_id))
        return cursor

    def stream(self, frame: object) -> StreamWriter:
        """Returns the writer of a streaming DataFrame of Spark: ``connection.stream(frame).into("t", …)``."""
        return self.session.stream(frame)

    def commit(self) -> None:
        """Commits the open transaction. Without one it does nothing: every statement has committed by itself."""
        if self.session.in_transaction:
            self.session.execute("COMMIT")

    def rollback(self) -> None:
        """Rolls back the open transaction.

        Without one, raises ``NotSupportedError``: a statement that has committed by itself cannot be undone.
        """
        if self.session.in_transaction:
            self.session.execute("ROLLBACK")
            return
        raise NotSupportedError(
            "Statements outside a transaction commit automatically and cannot be rolled back.",
            hint="A statement that fails changes nothing. START TRANSACTION opens a transaction of several statements.",
        )

    def close(self) -> None:
        """Rolls an open transaction back and closes the session; every further use raises ``InterfaceError``.

        Closing twice is no error. A statement that another thread executes meanwhile is interrupted, and raises
        ``EngineError`` ENGINE_CLOSED there.
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
    """Executes statements and holds the result of the last one."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._result: Result | None = None
        self._rowcount = -1
        self._closed = False

    def execute(self, sql: str, parameters: Parameters = None) -> Cursor:
        """Executes one statement and returns the cursor itself."""
        session = self._open_session()
        if not isinstance(sql, str):
            raise InterfaceError(f"A statement must be a str, not {type(sql).__name__}.", hint="Pass it as a str.")
        self._forget()
        self._hold(session.execute(sql, parameters))
        return self

    def _hold(self, result: Result) -> None:
        self._result, self._rowcount = result, result.rowcount

    def executemany(self, sql: str, seq_of_parameters: Sequence[Sequence[object] | Mapping[str, object]]) -> Cursor:
        """Executes a statement that returns no rows once for each set of parameters; ``rowcount`` is their sum."""
        session = self._open_session()
        self._forget()
        counts: list[int] = []
        for parameters in seq_of_parameters:
            result = session.execute(sql, parameters)
            if result.columns is not None:
                result.close()
                raise ProgrammingError(
                    f"executemany cannot take {result.kind}, which returns rows.", hint="Call execute for each."
                )
            self._result = result
            counts.append(result.rowcount)
        self._rowcount = -1 if not counts or -1 in counts else sum(counts)
        return self

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None:
        """Returns name and type (Spark's spelling) of each column; ``None`` where the statement returns no rows."""
        if self._result is None or self._result.columns is None:
            return None
        return [(column.name, column.type, None, None, None, None, None) for column in self._result.columns]

    @property
    def rowcount(self) -> int:
        """Returns the number of rows written by INSERT, or returned if that is known beforehand; otherwise -1."""
        return self._rowcount

    @property
    def coverage(self) -> Coverage | None:
        """Returns the last statement's cover, with the ranges it lacks; ``None`` before the first statement."""
        return None if self._result is None else self._result.coverage

    @property
    def plan(self) -> Plan | None:
        """Returns the plan of the last query or INSERT, including ``plan.sql``; ``None`` for other statements."""
        return None if self._result is None else self._result.plan

    @property
    def warnings(self) -> list[str]:
        """Returns the warnings of the last statement, such as missing ranges in a partial result."""
        return [] if self._result is None else list(self._result.warnings)

    @property
    def stats(self) -> Stats | None:
        """Returns the statistics of the last statement's reads and writes; ``None`` before the first statement."""
        return None if self._result is None else self._result.stats

    def fetchone(self) -> Row | None:
        """Returns the next row, or ``None`` after the last."""
        return next(self._answer().rows(), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Returns the next ``size`` (default ``arraysize``) rows, fewer at the end."""
        count = self.arraysize if size is None else size
        if not isinstance(count, int) or count < 0:
            raise InterfaceError(f"{count!r} is not a number of rows.", hint="Pass a whole number of 0 or more.")
        return self._answer().fetch(count)

    def fetchall(self) -> list[Row]:
        """Returns all rows that are left."""
        return self._answer().fetch()

    def fetch_arrow_table(self) -> pa.Table:
        """Returns all rows as one Arrow table. Use it instead of the other fetches, not after them."""
        return self._answer().arrow_table()

    def __iter__(self) -> Iterator[Row]:
        return self._answer().rows()

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Does nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Releases the result; every further use raises ``InterfaceError``. Closing twice is no error."""
        self._forget()
        self._closed = True

    def __enter__(self) -> Cursor:
        self._open_session()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_session(self) -> Session:
        if self._closed:
            raise InterfaceError("The cursor is closed.", hint="Create a new one: connection.cursor().")
        return self.connection.session

    def _answer(self) -> Result:
        self._open_session()
        if self._result is None:
            raise InterfaceError("Nothing has been executed yet.", hint="Call execute first.")
        if self._result.columns is None:
            raise InterfaceError(f"{self._result.kind} returns no rows.", hint="Fetch after a query.")
        return self._result

    def _forget(self) -> None:
        result, self._result, self._rowcount = self._result, None, -1
        if result is not None:
            result.close()
