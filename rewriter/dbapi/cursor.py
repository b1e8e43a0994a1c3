"""Cursors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from rewriter.dbapi.result_warnings import warn
from rewriter.dbapi.type_objects import ColumnDescription, column_description
from rewriter.errors import InterfaceError, ProgrammingError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from rewriter.exec.engine import OpenFrame, SparkDataFrame
    from rewriter.planner.model.plan import Coverage, Plan
    from rewriter.runtime.result import Result, Row, Stats
    from rewriter.session import Session


Parameters = Sequence[object] | Mapping[str, object] | None


class SessionOwner(Protocol):
    """A connection, as its cursors see it."""

    @property
    def session(self) -> Session: ...


class Cursor:
    """Executes statements and holds the result of the last one. ``Connection.cursor`` makes it.

    ``connection`` is the connection, and ``arraysize`` the number of rows of ``fetchmany``: 1 unless set. A cursor is
    an iterator of its rows, and an Arrow stream: ``pyarrow.table(cursor)``, ``polars.DataFrame(cursor)``. ``with``
    closes it.
    """

    def __init__(self, connection: SessionOwner) -> None:
        self.connection = connection
        self.arraysize = 1
        self._result: Result | None = None
        self._rowcount = -1
        self._query_id: str | None = None
        self._closed = False
        self._frames: list[OpenFrame] = []

    def execute(self, sql: str, parameters: Parameters = None) -> Cursor:
        """Executes one statement and returns the cursor itself. The rows of a query are computed while they are read.

        ``parameters`` are a sequence for ``?`` or a mapping for ``:name``. Raises errors of ``rewriter.errors``, with
        positions in ``sql``; ``MissingDataError`` if a query lacks ranges.

        Examples:
            >>> import rewriter
            >>> with rewriter.connect("unused", engine="duckdb") as connection:
            ...     connection.cursor().execute("SELECT :n + 1 AS next", {"n": 41}).fetchone()
            (42,)
        """
        session = self._open_session()
        _check_text(sql)
        self._forget()
        try:
            result = session.execute(sql, parameters)
        finally:
            self._query_id = session.query_id
        self._hold(result)
        return self

    def _hold(self, result: Result) -> None:
        self._result, self._rowcount, self._query_id = result, result.rowcount, result.query_id
        warn(result)

    def executemany(self, sql: str, seq_of_parameters: Iterable[Sequence[object] | Mapping[str, object]]) -> Cursor:
        """Executes a statement that returns no rows once for each set of parameters; ``rowcount`` is their sum.

        ``INSERT INTO t VALUES (…)`` is one write of all rows, with one commit: all of them are inserted, or none. Its
        values are placeholders and literals. Any other statement is executed once for each set, and the sets before
        one that fails stay executed. Raises ``ProgrammingError`` for a statement that returns rows.
        """
        from rewriter.dbapi.batched_inserts import batched_insert

        session = self._open_session()
        _check_text(sql)
        self._forget()
        sets = list(seq_of_parameters)
        insert = batched_insert(sql, sets) if len(sets) > 1 else None
        try:
            if insert is not None:
                self._result, self._rowcount = insert.run(session)
                warn(self._result)
            else:
                self._rowcount = self._execute_each(session, sql, sets)
        finally:
            if sets:
                self._query_id = session.query_id
        return self

    def _execute_each(self, session: Session, sql: str, sets: Iterable[Sequence[object] | Mapping[str, object]]) -> int:
        """Executes a statement once for each set of parameters, and returns the sum of the numbers of rows."""
        counts: list[int] = []
        for parameters in sets:
            result = session.execute(sql, parameters)
            if result.columns is not None:
                result.close()
                raise ProgrammingError(
                    f"executemany cannot take {result.kind}, which returns rows.", hint="Call execute for each."
                )
            self._result = result
            warn(result)
            counts.append(result.rowcount)
        return -1 if not counts or -1 in counts else sum(counts)

    @property
    def description(self) -> list[ColumnDescription] | None:
        """Returns name and type (Spark's spelling) of each column, with precision and scale of decimals; ``None`` where
        the statement returns no rows.

        Examples:
            >>> import rewriter
            >>> with rewriter.connect("unused", engine="duckdb") as connection:
            ...     connection.execute("SELECT 1.5 AS price").description
            [('price', 'decimal(2,1)', None, None, 2, 1, None)]
        """
        if self._result is None or self._result.columns is None:
            return None
        return [column_description(column.name, column.type) for column in self._result.columns]

    @property
    def rowcount(self) -> int:
        """Returns the number of rows written by INSERT, or returned if that is known beforehand; otherwise -1."""
        return self._rowcount

    @property
    def query_id(self) -> str | None:
        """Returns the id of the last execution, also of one that failed; ``None`` before the first and after ``close``.

        It is a UUID that no other execution has. Spark shows it with the jobs of the statement. Of ``executemany``, it
        is the id of the last execution.
        """
        return self._query_id

    @property
    def rewritten_sql(self) -> str | None:
        """Returns the text of the last query, or of the query of an INSERT, over tables instead of cubes and views, as
        ``rewriter rewrite`` prints it; ``None`` for other statements.
        """
        return None if self.plan is None else self.plan.sql

    @property
    def coverage(self) -> Coverage | None:
        """Returns the last statement's cover, with the ranges it lacks; ``None`` before the first statement."""
        return None if self._result is None else self._result.coverage

    @property
    def plan(self) -> Plan | None:
        """Returns the plan of the last query or INSERT, including ``plan.sql``; ``None`` for other statements."""
        return None if self._result is None else self._result.plan

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """Returns the certificate of the last query: what its numbers rest on, as EXPLAIN CERTIFICATE shows it, of the
        commit that the query read. ``None`` if it read no cube.

        It is made when it is asked for, unless ``rewriter.verify`` has made it. Raises ``NotSupportedError``
        NO_CERTIFICATE in a transaction that has changed something.
        """
        self._open_session()
        return None if self._result is None or self._result.certify is None else self._result.certify()

    @property
    def warnings(self) -> list[str]:
        """Returns the warnings of the last statement, such as missing ranges in a partial result.

        They are warnings of Python, too: ``rewriter.Warning``, and ``rewriter.PartialResultWarning`` if the result
        lacks ranges.
        """
        return [] if self._result is None else list(self._result.warnings)

    @property
    def stats(self) -> Stats | None:
        """Returns the statistics of the last statement's reads and writes; ``None`` before the first statement."""
        return None if self._result is None else self._result.stats

    def fetchone(self) -> Row | None:
        """Returns the next row, or ``None`` after the last. Raises ``InterfaceError`` without a query, and the errors
        of the engine.
        """
        return next(self._answer().rows(), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Returns the next ``size`` (default ``arraysize``) rows, fewer at the end. Raises as ``fetchone`` does."""
        count = self.arraysize if size is None else size
        if not isinstance(count, int) or count < 0:
            raise InterfaceError(f"{count!r} is not a number of rows.", hint="Pass a whole number of 0 or more.")
        return self._answer().fetch(count)

    def fetchall(self) -> list[Row]:
        """Returns all rows that are left, as Python values in memory. Raises as ``fetchone`` does."""
        return self._answer().fetch()

    def fetch_arrow_table(self) -> pa.Table:
        """Returns all rows that are left as one Arrow table. Raises as ``fetchone`` does.

        The metadata of its schema have the key ``rewriter`` for a query over a cube: JSON with ``complete``,
        ``missing``, ``open_begins`` and ``open_ends``, and the ``certificate`` that ``rewriter.verify`` asks for.
        """
        result = self._answer()
        table = result.arrow_table()
        metadata = _arrow_metadata(result)
        return table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata}) if metadata else table

    def fetch_record_batches(self) -> pa.RecordBatchReader:
        """Returns a reader of all rows that are left, which holds one batch in memory at a time.

        The rows are computed while they are read. The reader ends with the next statement of the cursor, or ``close``.
        Its schema has the metadata of ``fetch_arrow_table``.
        """
        result = self._answer()
        return result.batches().to_reader(_arrow_metadata(result))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Exports the rows that are left as an Arrow stream: ``pyarrow.table(cursor)``, ``polars.DataFrame(cursor)``.

        pyarrow converts the columns to a requested schema, or raises.
        """
        return self.fetch_record_batches().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str | None:
        """Returns the first rows as HTML, for a notebook; ``None`` without a result. Takes no row from the result."""
        from rewriter.display.html.display import html_of  # Loaded when it is used.

        return html_of(self._result)

    def fetch_df(self) -> pd.DataFrame:
        """Returns all rows that are left as a DataFrame of pandas. Raises ``InterfaceError`` without pandas.

        ``attrs["rewriter"]`` has the metadata of ``fetch_arrow_table`` as a dict.
        """
        if find_spec("pandas") is None:
            raise _missing("pandas")
        result = self._answer()
        frame, metadata = result.arrow_table().to_pandas(), result.metadata()
        if metadata:
            frame.attrs[_METADATA] = metadata
        return frame

    def fetch_polars(self) -> pl.DataFrame:
        """Returns all rows that are left as a DataFrame of Polars. Raises ``InterfaceError`` without Polars."""
        if find_spec("polars") is None:
            raise _missing("polars")
        import polars as pl

        return pl.DataFrame(self.fetch_arrow_table())

    def to_spark(self) -> SparkDataFrame:
        """Returns the query as a DataFrame of Spark, as ``Connection.sql`` does: over the files that the query read,
        whether or not its rows were fetched.

        Raises ``NotSupportedError`` on DuckDB, in a transaction that has changed something, for queries of sources and
        system tables, and SPARK_SETTING_CHANGES_RESULTS where a setting of the Spark session would change the rows.
        """
        session = self._open_session()
        if self._result is None:
            raise InterfaceError("Nothing has been executed yet.", hint="Call execute first.")
        opened = session.open_frame(self._result)
        self._frames.append(opened)
        opened.frame.rewriter = self
        return opened.frame

    def __iter__(self) -> Iterator[Row]:
        return self._answer().rows()

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Does nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Releases the result; every further use raises ``InterfaceError``, except of ``rowcount``. Closing twice is no
        error.
        """
        rowcount = self._rowcount
        self._forget()
        self._rowcount, self._closed = rowcount, True

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
        result, self._result, self._rowcount, self._query_id = self._result, None, -1, None
        if result is not None:
            result.close()
        while self._frames:
            self._frames.pop().close()


#: The key of what a result carries beside its rows.
_METADATA = "rewriter"


def _arrow_metadata(result: Result) -> dict[str, str]:
    metadata = result.metadata()
    return {_METADATA: json.dumps(metadata, ensure_ascii=False)} if metadata else {}


def _check_text(sql: object) -> None:
    if not isinstance(sql, str):
        raise InterfaceError(f"A statement must be a str, not {type(sql).__name__}.", hint="Pass it as a str.")


def _missing(package: str) -> InterfaceError:
    return InterfaceError(f"The package {package} is not installed.", hint=f"Run pip install {package}.")
