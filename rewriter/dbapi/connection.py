"""``connect``, and connections."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from rewriter.dbapi.cursor import Cursor, Parameters
from rewriter.dbapi.result_warnings import Warning, warn
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
    only_ours,
)

if TYPE_CHECKING:
    from rewriter.connectors.table_sink import PartitionableTableSink
    from rewriter.connectors.table_source import PartitionableTableSource
    from rewriter.exec.engine import Engine, SparkDataFrame
    from rewriter.runtime.progress import Progress
    from rewriter.runtime.running_streams import StreamWriter
    from rewriter.session import Session


def connect(
    warehouse: str | os.PathLike[str] | None = None,
    engine: str | Engine | Any = None,
    master: str | None = None,
    catalog: str | None = None,
    progress: Callable[[Progress], object] | None = None,
    autocommit: bool = True,
    profile: str | None = None,
    filesystems: Mapping[str, Mapping[str, object]] | None = None,
    **settings: object,
) -> Connection:
    """Opens a warehouse directory. The first statement that creates an object makes a missing one. Starts no engine
    yet.

    ``warehouse`` is a directory, or a URL such as ``rewriter:///path?engine=duckdb``. ``engine`` is ``spark`` (the
    default), ``duckdb``, a session of Spark, or a master URL of Spark, which may be passed as ``master`` instead; by
    default it is ``local[*]``, and ``sc://host:15002`` is a Spark Connect server. ``catalog`` is the URL of the
    PostgreSQL database that holds the catalog, ``postgresql+psycopg://user@host/database``; without one it is a file in
    the directory. ``progress`` is called with a ``rewriter.runtime.progress.Progress`` while statements run and rows
    are read, a few times a second at most, from any thread. ``autocommit`` is the connection's ``autocommit``.
    ``settings`` are the settings of SET, without their prefix: ``connect(d, partial_data=True)``. ``filesystems`` are
    the options of object stores by bucket, as ``rewriter.toml`` has them:
    ``{"s3://bucket": {"region": "eu-central-1"}}``.

    What no argument names comes from the URL, the ``profile``, the environment variables ``REWRITER_WAREHOUSE``,
    ``REWRITER_ENGINE`` and ``REWRITER_CATALOG``, or the profile ``default``.

    Raises ``InterfaceError``, and ``OperationalError`` where the directory cannot be read, the database cannot be
    used, they do not belong together, or one of them holds something else.

    Examples:
        >>> with connect("warehouse", engine="duckdb") as connection:
        ...     _ = connection.execute("CREATE TABLE flights (carrier STRING) PARTITIONED BY (dt STRING)")
        ...     _ = connection.execute("INSERT INTO flights VALUES (?, ?)", ["UA", "2013-01-01"])
        ...     connection.execute("SELECT * FROM flights").fetchall()
        [('UA', '2013-01-01')]
    """
    from rewriter.catalog.filesystems.options import store_options
    from rewriter.display.html.display import display_as_html
    from rewriter.runtime.connection_settings import Source, setting_name, setting_text
    from rewriter.runtime.profiles import resolve_connection
    from rewriter.session import Session

    if not isinstance(warehouse, str | os.PathLike | None):
        raise InterfaceError(
            f"The warehouse is a {type(warehouse).__name__}.", hint="Pass its directory as a str or a path."
        )
    given = Source(
        "",
        None if warehouse is None else os.fspath(warehouse),
        engine if isinstance(engine, str) else None,
        master,
        catalog,
        {setting_name(name): setting_text(value) for name, value in settings.items()},
        profile,
    )
    with only_ours():
        parts = resolve_connection(given, os.environ, Path.cwd())
        stores = {**parts.filesystems, **store_options(filesystems or {}, "connect")}
    if parts.warehouse is None:
        raise InterfaceError(
            "No warehouse is named.",
            object="warehouse",
            hint="Pass its directory, set REWRITER_WAREHOUSE, or write a profile into rewriter.toml.",
        )
    if engine is None or isinstance(engine, str):
        engine, master = parts.engine, parts.master
    display_as_html()
    connection = Connection(Session(parts.warehouse, engine, master, parts.settings, parts.catalog, progress, stores))
    connection.autocommit = autocommit
    return connection


class Connection:
    """A session with the interface of PEP 249, which ``connect`` returns. One thread at a time, except ``cancel``.

    ``with`` commits the open transaction at its end, or rolls it back after an exception, and closes the connection.
    The exceptions of PEP 249 are attributes, as ``connection.OperationalError``.
    """

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

    @property
    def autocommit(self) -> bool:
        """Whether each statement commits by itself, as ``Session.autocommit``; True unless set."""
        return self.session.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise InterfaceError(f"autocommit is a {type(value).__name__}.", hint="Use True or False.")
        self.session.autocommit = value

    def cursor(self) -> Cursor:
        """Returns a new cursor. Cursors of one connection share its session and its settings.

        Raises ``InterfaceError`` after ``close``, as every use does.
        """
        _ = self.session
        return Cursor(self)

    def execute(self, sql: str, parameters: Parameters = None) -> Cursor:
        """Returns a new cursor that has executed the statement. Raises the errors of ``Cursor.execute``."""
        return self.cursor().execute(sql, parameters)

    def sql(self, query: str, parameters: Parameters = None) -> SparkDataFrame:
        """Returns a query as a DataFrame of Spark, which computes nothing until it is used.

        The DataFrame belongs to the session of Spark that was passed to ``connect``, if it is a classic one, else to
        the connection's own session. It reads exactly the files and conditions of the query's plan, of the commit at
        this time, whatever is committed later: joins, writes, caches and streams of it are ordinary Spark. Its
        attribute ``rewriter`` is a cursor without rows, with ``coverage``, ``certificate``, ``warnings`` and
        ``rewritten_sql``; ``frame.rewriter.close()`` lets VACUUM remove the files, as ``close`` of the connection does.

        Raises the errors of ``Cursor.execute`` and ``Cursor.to_spark``; ``MissingDataError`` if ranges are missing.
        """
        cursor = self.cursor()
        cursor._hold(self.session.plan_frame(query, parameters))
        return cursor.to_spark()

    def register_source(self, name: str, source: PartitionableTableSource | Any) -> None:
        """Makes the rows of a source readable in queries of this connection as the table ``name``.

        ``source`` is a DataFrame of Spark, pandas or Polars, Arrow data, or an object with the methods of a
        ``PartitionableTableSource``. The rows of a DataFrame of the connection's own classic Spark are read in place,
        whenever a query runs; they do not pass through Python.

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
        """Passes the rows of a query to a sink, and returns their number. ``partition`` has the values of the static
        partition columns. Raises the errors of ``Session.write``.
        """
        result = self.session.write(query, sink, partition, parameters)
        warn(result)
        return result.rowcount

    def append(self, table: str, data: Any, batch_id: str | None = None) -> Cursor:
        """Appends the rows of Arrow data to a table, by the names of the columns. Returns a cursor with the number of
        rows.

        ``data`` is a DataFrame of Spark, pandas or Polars, a pyarrow ``Table``, ``RecordBatch`` or
        ``RecordBatchReader``, or another object that exports an Arrow stream. The rows of a DataFrame of the
        connection's own classic Spark do not pass through Python. A batch whose ``batch_id`` was committed to the table
        before is skipped, with a warning: to be sure of an append, repeat it.

        Examples:
            >>> import pyarrow as pa
            >>> with connect("appended", engine="duckdb") as connection:
            ...     _ = connection.execute("CREATE TABLE numbers (n BIGINT)")
            ...     connection.append("numbers", pa.table({"n": [1, 2]})).rowcount
            2
        """
        cursor = self.cursor()
        cursor._hold(self.session.append(table, data, batch_id))
        return cursor

    def overwrite(
        self,
        table: str,
        data: Any,
        partition: Mapping[str, str | int | date | None] | None = None,
        partitions: Literal["dynamic", "static"] | None = None,
    ) -> Cursor:
        """Replaces partitions of a table by the rows of data, as INSERT OVERWRITE … BY NAME does. Returns a cursor with
        the number of rows.

        ``data`` is as in ``append``. ``partition`` has the values of static partition columns, which the data does not
        have. ``partitions`` is the mode of this statement: ``dynamic`` replaces the partitions that get rows,
        ``static`` all that ``partition`` selects; without it, ``rewriter.partition_overwrite_mode`` decides.
        """
        cursor, settings, mode = self.cursor(), self.session.settings, "rewriter.partition_overwrite_mode"
        former = settings.get(mode)
        settings.set(mode, former if partitions is None else str(partitions))
        try:
            cursor._hold(self.session.overwrite(table, data, partition or {}))
        finally:
            settings.set(mode, former)
        return cursor

    def create_table(self, table: str, data: Any, partitioned_by: Sequence[str] = ()) -> Cursor:
        """Creates a managed table of the rows of data, as CREATE TABLE … AS does, with the partition columns
        ``partitioned_by``. ``data`` is as in ``append``.

        Examples:
            >>> import pyarrow as pa
            >>> with connect("created", engine="duckdb") as connection:
            ...     _ = connection.create_table("codes", pa.table({"code": ["AA"], "day": ["2024-01-01"]}), ["day"])
            ...     connection.execute("SELECT code, day FROM codes").fetchall()
            [('AA', '2024-01-01')]
        """
        cursor = self.cursor()
        cursor._hold(self.session.create_table(table, data, partitioned_by))
        return cursor

    def stream(self, frame: object) -> StreamWriter:
        """Returns the writer of a streaming DataFrame of Spark: ``connection.stream(frame).into("t", …)``."""
        return self.session.stream(frame)

    def cancel(self) -> None:
        """Ends the statement that another thread executes on this connection, and results whose rows are not all
        fetched: they raise ``OperationalError`` OPERATION_CANCELED. A statement leaves no changes and no files.
        """
        self.session.cancel()

    def commit(self) -> None:
        """Commits the open transaction. Without one it does nothing: every statement has committed by itself.

        Raises ``ConflictError`` if another transaction has written the same, and ``CommitUnknownError``.
        """
        if self.session.in_transaction:
            warn(self.session.execute("COMMIT"))

    def rollback(self) -> None:
        """Rolls back the open transaction. Without one it does nothing: a statement that has committed by itself
        cannot be undone.
        """
        if self.session.in_transaction:
            self.session.execute("ROLLBACK")

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
        try:
            if kind is None and self._session is not None:
                self.commit()
        finally:
            self.close()
