"""Cursors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from rewriter.dbapi.result_warnings import warn
from rewriter.dbapi.type_objects import ColumnDescription, column_description
from rewriter.errors import Error, InterfaceError, NotSupportedError, ProgrammingError, Span
from rewriter.grammar.families.writes import Insert
from rewriter.grammar.lexer import Token, TokenKind, tokens
from rewriter.grammar.parser import parse
from rewriter.runtime.parameters import bind, parameter_value
from rewriter.scratch_directories import ScratchDirectory

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

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

        session = self._open_session()
        _check_text(sql)
        self._forget()
        sets = list(seq_of_parameters)
        insert = _batched_insert(sql, sets) if len(sets) > 1 else None
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
        is that of the last execution.
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
        """Returns all rows that are left as one Arrow table. Raises as ``fetchone`` does."""
        return self._answer().arrow_table()

    def fetch_record_batches(self) -> pa.RecordBatchReader:
        """Returns a reader of all rows that are left, which holds one batch in memory at a time.

        The rows are computed while they are read. The reader ends with the next statement of the cursor, or ``close``.
        """
        return self._answer().batches().to_reader()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Exports the rows that are left as an Arrow stream: ``pyarrow.table(cursor)``, ``polars.DataFrame(cursor)``.

        pyarrow converts the columns to a requested schema, or raises.
        """
        return self.fetch_record_batches().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str | None:
        """Returns the first rows as HTML, for a notebook; ``None`` without a result. Takes no row from the result."""
        from rewriter.display.html.page import html_of  # Loaded when it is used.

        return html_of(self._result)

    def fetch_df(self) -> pd.DataFrame:
        """Returns all rows that are left as a DataFrame of pandas. Raises ``InterfaceError`` without pandas."""
        if find_spec("pandas") is None:
            raise _missing("pandas")
        return self.fetch_arrow_table().to_pandas()

    def fetch_polars(self) -> pl.DataFrame:
        """Returns all rows that are left as a DataFrame of Polars. Raises ``InterfaceError`` without Polars."""
        if find_spec("polars") is None:
            raise _missing("polars")
        import polars as pl

        return pl.DataFrame(self.fetch_arrow_table())

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


def _check_text(sql: object) -> None:
    if not isinstance(sql, str):
        raise InterfaceError(f"A statement must be a str, not {type(sql).__name__}.", hint="Pass it as a str.")


def _missing(package: str) -> InterfaceError:
    return InterfaceError(f"The package {package} is not installed.", hint=f"Run pip install {package}.")


# ``executemany`` of INSERT … VALUES: the rows of all sets of parameters as one write.
#
# The rows become a Parquet file, and the statement an INSERT … SELECT of it, so that a value is assigned to its
# column as that of a single INSERT is. Values of one placeholder that have different types (an ``int`` and a ``str``)
# must not meet in one column: they would get a common type first. Such rows are separate files and INSERTs, in one
# transaction.

#: Characters of a directory that a path in a query cannot have.
_PATTERN = re.compile(r"[*?\[\]{}`\\]")
_LARGEST_INT = 2**31 - 1
_MOST_DIGITS = 38

#: The types of a row's values; ``None`` for NULL, and the scale for decimals.
_Signature = tuple[object, ...]


@dataclass(frozen=True)
class BatchedInsert:
    """An INSERT of many rows. ``head`` is the statement's text up to VALUES, and ``groups`` have rows of equal types.

    ``cells`` are the cells of VALUES: the text of a literal, or the number of a placeholder.
    """

    text: str
    head: str
    cells: tuple[str | int, ...]
    groups: tuple[Sequence[Sequence[object]], ...]

    def run(self, session: Session) -> tuple[Result, int]:
        """Inserts the rows with one commit. Returns the last result, and the number of rows."""
        spooled = ScratchDirectory("executemany")
        try:
            statements = [
                self._statement(os.path.join(spooled.path, f"{number}.parquet"), rows)
                for number, rows in enumerate(self.groups)
            ]
            results = self._run_all(session, statements)
        finally:
            spooled.remove()
        counts = [result.rowcount for result in results]
        return results[-1], -1 if -1 in counts else sum(counts)

    def _run_all(self, session: Session, statements: Sequence[str]) -> list[Result]:
        if len(statements) == 1 or session.in_transaction or not session.autocommit:
            return [self._execute(session, statement) for statement in statements]
        session.execute("START TRANSACTION")
        try:
            results = [self._execute(session, statement) for statement in statements]
        except NotSupportedError as error:
            session.execute("ROLLBACK")
            if error.condition != "NOT_IN_TRANSACTION":
                raise
            return [self._execute(session, statement) for statement in statements]
        except BaseException:
            session.execute("ROLLBACK")
            raise
        session.execute("COMMIT")
        return results

    def _execute(self, session: Session, statement: str) -> Result:
        try:
            return session.execute(statement)
        except Error as error:
            if error.position is not None and error.position.end > len(self.head):
                error.position = Span(len(self.head), len(self.text))
            raise

    def _statement(self, path: str, rows: Sequence[Sequence[object]]) -> str:
        """Writes the rows into a file, and returns the INSERT of them."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        arrays = {f"v{index}": _array(column) for index, column in enumerate(zip(*rows, strict=True))}
        filled = {name: array for name, array in arrays.items() if array is not None}
        # A column for the number of rows, where all values are NULL.
        filled["n"] = pa.nulls(len(rows), pa.bool_())
        pq.write_table(pa.table(filled), path)
        items = [
            cell if isinstance(cell, str) else f"v{cell}" if f"v{cell}" in filled else "NULL" for cell in self.cells
        ]
        return f"{self.head}SELECT {', '.join(items)} FROM parquet.`{path}`"


def _batched_insert(text: str, sets: Sequence[Sequence[object] | Mapping[str, object]]) -> BatchedInsert | None:
    """Returns the one INSERT of all sets of parameters; ``None`` for a statement that has to run once for each.

    Only ``INSERT INTO … VALUES (…)`` of one row of placeholders and literals can be one write. INSERT OVERWRITE means
    something else then. Raises the errors of ``bind`` and of the parser.
    """
    first = bind(text, sets[0])
    if _PATTERN.search(os.path.realpath(os.environ.get("TMPDIR", ""))):
        return None
    statement = parse(first.text)
    if not isinstance(statement, Insert) or statement.overwrite:
        return None
    start = statement.query.span.start
    marks = [token for token in tokens(text) if token.kind is TokenKind.PARAMETER]
    if not marks or marks[0].start < start:
        return None
    cells = _cells([token for token in tokens(text) if token.start >= start])
    if cells is None:
        return None
    rows = [_values(text, marks, parameters) for parameters in sets]
    groups = tuple(_grouped(rows))
    if any(_digits(column) > _MOST_DIGITS for group in groups for column in zip(*group, strict=True)):
        return None
    return BatchedInsert(text, text[:start], tuple(cells), groups)


def _cells(values: Sequence[Token]) -> list[str | int] | None:
    """Returns the cells of ``VALUES (…)``; ``None`` where they are more rows, or expressions."""
    if values and values[-1].is_operator(";"):
        values = values[:-1]
    if len(values) < 4 or not values[0].is_word("VALUES"):
        return None
    if not values[1].is_operator("(") or not values[-1].is_operator(")"):
        return None
    cells: list[str | int] = []
    placeholders = 0
    inner = [*values[2:-1], Token(TokenKind.OPERATOR, ",", 0, 0)]
    cell: list[Token] = []
    for token in inner:
        if not token.is_operator(","):
            cell.append(token)
            continue
        if len(cell) == 1 and cell[0].kind is TokenKind.PARAMETER:
            cells.append(placeholders)
            placeholders += 1
        elif _is_literal(cell):
            cells.append("".join(part.text for part in cell))
        else:
            return None
        cell = []
    return cells


def _is_literal(cell: Sequence[Token]) -> bool:
    if len(cell) == 2 and cell[0].is_operator("-"):
        return cell[1].kind is TokenKind.NUMBER
    return len(cell) == 1 and (
        cell[0].kind in (TokenKind.STRING, TokenKind.NUMBER) or cell[0].is_word("NULL", "TRUE", "FALSE")
    )


def _values(text: str, marks: Sequence[Token], parameters: Sequence[object] | Mapping[str, object]) -> list[object]:
    """Returns a set's values in the order of the placeholders."""
    is_fitting = (
        all(mark.text[1:] in parameters for mark in marks)
        if isinstance(parameters, Mapping)
        else isinstance(parameters, list | tuple) and len(parameters) == len(marks)
    )
    if not is_fitting or isinstance(parameters, Mapping) != (marks[0].text != "?"):
        bound = bind(text, parameters)  # Raises, or has another kind of sequence.
        return list(bound.parameters.values())
    values = [parameters[mark.text[1:]] for mark in marks] if isinstance(parameters, Mapping) else parameters
    return [parameter_value(value, mark.span) for value, mark in zip(values, marks, strict=True)]


def _grouped(rows: Sequence[Sequence[object]]) -> Iterable[Sequence[Sequence[object]]]:
    """Returns the rows by their types: one group if no column has two."""
    signatures = [tuple(map(_type_of, row)) for row in rows]
    types = [set(column) - {None} for column in zip(*set(signatures), strict=True)]
    if all(len(column) < 2 for column in types):
        return [rows]
    groups: dict[_Signature, list[Sequence[object]]] = {}
    for signature, row in zip(signatures, rows, strict=True):
        groups.setdefault(signature, []).append(row)
    return groups.values()


def _type_of(value: object) -> object:
    if value is None:
        return None
    return ("decimal", _scale(value)) if isinstance(value, Decimal) else type(value)


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def _digits(column: Sequence[object]) -> int:
    """Returns the digits that a column of decimals needs; 0 for other columns."""
    decimals = [value for value in column if isinstance(value, Decimal)]
    return max((max(value.adjusted() + 1, 1) + _scale(value) for value in decimals), default=0)


def _array(column: Sequence[Any]) -> pa.Array | None:
    """Returns the values of one type as an array; ``None`` where all are NULL."""
    import pyarrow as pa

    first = next((value for value in column if value is not None), None)
    if first is None:
        return None
    if isinstance(first, Decimal):
        return pa.array(column, pa.decimal128(_digits(column), _scale(first)))
    if type(first) is int:
        fits = all(value is None or -_LARGEST_INT - 1 <= value <= _LARGEST_INT for value in column)
        return pa.array(column, pa.int32() if fits else pa.int64())
    types = {bool: pa.bool_(), float: pa.float64(), str: pa.string()}
    if type(first) in types:
        return pa.array(column, types[type(first)])
    return pa.array(column, pa.timestamp("us", "UTC") if hasattr(first, "hour") else pa.date32())
