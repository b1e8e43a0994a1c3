"""The DuckDB engine: in memory, in UTC, Spark SQL through the allow-list of ``translate``."""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rewriter.catalog.models import Column
from rewriter.catalog.values import DEFAULT_PARTITION, canonical, escape
from rewriter.errors import DataError, EngineError, Error, InternalError, NotSupportedError
from rewriter.exec.assignment import DUCKDB, assign, check_arity
from rewriter.exec.casts import quote
from rewriter.exec.duckdb_relations import create_view
from rewriter.exec.engine import EngineQuery, Write, WrittenFile, check_partitions
from rewriter.exec.files import check_written, file_columns
from rewriter.exec.interrupts import interruptible
from rewriter.exec.macros import macros
from rewriter.exec.partition_files import FileList, write_sorted
from rewriter.exec.sqltypes import arrow_type, duckdb_type, parse_type
from rewriter.exec.translate import Translation, translate

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_BATCH_ROWS = 122_880
_OURS = re.compile(r"\[([A-Z][A-Z_.]+)\] (.*)", re.DOTALL)
_SQLSTATES = {
    "CAST_INVALID_INPUT": "22018",
    "CANNOT_PARSE_TIMESTAMP": "22007",
    "DIVIDE_BY_ZERO": "22012",
    "REMAINDER_BY_ZERO": "22012",
    "EXCEED_LIMIT_LENGTH": "54006",
    "ARITHMETIC_OVERFLOW": "22003",
    "DATETIME_FIELD_OUT_OF_BOUNDS": "22023",
    "INSERT_WOULD_ROUND": "22003",
    "PARTITION_VALUE_TOO_LONG": "22001",
    "INVALID_PARTITION_VALUE": "42846",
}


_DECIMAL_RANGE = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
#: Spark's conditions for DuckDB's errors, by DuckDB's words.
_CONDITIONS = (
    (re.compile(r"^Conversion Error: Type INT128 with value .* out of range"), "ARITHMETIC_OVERFLOW", "22003"),
    (re.compile(r"^Conversion Error: Type .* because the value is out of range"), "CAST_OVERFLOW", "22003"),
    (re.compile(r"^Conversion Error: Failed to cast decimal value"), "CAST_OVERFLOW", "22003"),
    (re.compile(r"^Conversion Error: Casting value .* to type DECIMAL"), _DECIMAL_RANGE, "22003"),
    (re.compile(r"^Conversion Error: Could not convert string .* to DECIMAL"), _DECIMAL_RANGE, "22003"),
    (re.compile(r"^Conversion Error: Could not cast value .* to DECIMAL"), _DECIMAL_RANGE, "22003"),
    (re.compile(r"^Conversion Error: (Date|Time) out of range"), "DATETIME_FIELD_OUT_OF_BOUNDS", "22023"),
    (re.compile(r"Could not parse string"), "CANNOT_PARSE_TIMESTAMP", "22007"),
    (re.compile(r"^Conversion Error"), "CAST_INVALID_INPUT", "22018"),
    (re.compile(r"^Out of Range Error"), "ARITHMETIC_OVERFLOW", "22003"),
    (re.compile(r"must appear in the GROUP BY clause"), "MISSING_AGGREGATION", "42803"),
    (re.compile(r"More than one row returned by a subquery"), "SCALAR_SUBQUERY_TOO_MANY_ROWS", "21000"),
)


class DuckDBEngine:
    """Runs queries in this process. Needs no Java and starts in milliseconds."""

    name = "duckdb"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._database: duckdb.DuckDBPyConnection | None = None
        self._spill: str | None = None
        self._closed = False

    def columns(self, query: EngineQuery) -> tuple[Column, ...]:
        translation = translate(query)
        with self._connection(query) as connection:
            _check_types(connection, translation)
        return tuple(Column(name, str(type_)) for name, type_ in translation.columns)

    def execute(self, query: EngineQuery) -> pa.RecordBatchReader:
        """Runs the query. The answer is held in memory."""
        import pyarrow as pa

        translation = translate(query)
        with self._connection(query) as connection:
            table = interruptible(
                lambda: connection.sql(translation.sql, params=_parameters(translation)).to_arrow_table(),
                connection.interrupt,
            )
        return _as_declared(table, translation).to_reader() if table.num_columns else pa.table({}).to_reader()

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        """Runs the query sorted by its dynamic partition columns, and writes a file for each partition."""
        import pyarrow as pa

        check_written(write.format)
        translation = translate(query)
        targets = (*write.columns, *write.dynamic_columns)
        check_arity(len(translation.columns), len(targets))
        items = ", ".join(
            f"{assign(f'q.c{number}', str(type_), column, DUCKDB)} AS {quote(f'w{number}')}"
            for number, ((_, type_), column) in enumerate(zip(translation.columns, targets, strict=True))
        )
        keys = ", ".join(f"w{number}" for number in range(len(write.columns), len(targets)))
        sql = f"SELECT {items} FROM ({translation.sql}) AS q{f' ORDER BY {keys}' if keys else ''}"
        schema = pa.schema([pa.field(column.name, arrow_type(parse_type(column.type))) for column in targets])
        files = FileList(
            write.directory,
            write.format.lower(),
            [escape(column.name) for column in write.partition_columns],
            escapes(),
            DEFAULT_PARTITION,
            write.most_partitions,
        )
        os.makedirs(write.directory, exist_ok=True)
        with self._connection(query) as connection:

            def run() -> None:
                reader = connection.sql(sql, params=_parameters(translation)).to_arrow_reader(_BATCH_ROWS)
                try:
                    batches = (_cast(batch, schema) for batch in reader)
                    write_sorted(batches, len(write.columns), files, write.static, _texts(write.dynamic_columns))
                finally:
                    reader.close()

            interruptible(run, connection.interrupt)
        check_partitions(len({key for _, key, _, _ in files.written}) + files.left, write)
        return tuple(WrittenFile(path, key, rows, size) for path, key, rows, size in files.written)

    def file_columns(self, format: str, path: str, options: Mapping[str, str] | None = None) -> tuple[Column, ...]:
        return file_columns(format, path, options)

    def explain(self, query: EngineQuery) -> str:
        translation = translate(query)
        with self._connection(query) as connection:
            rows = connection.execute(f"EXPLAIN {translation.sql}", _parameters(translation) or None).fetchall()
        return f"{translation.sql}\n\n" + "\n".join(str(row[-1]) for row in rows)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._database is not None:
                self._database.close()
            if self._spill is not None:
                shutil.rmtree(self._spill, ignore_errors=True)
            self._database = self._spill = None

    @contextmanager
    def _connection(self, query: EngineQuery) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of its own for one query, with the query's relations as temporary views."""
        import duckdb

        connection = self._started().cursor()
        try:
            for setting in SESSION_SETTINGS:
                connection.execute(setting)
            for serial, relation in enumerate(query.relations):
                create_view(connection, relation, serial)
            yield connection
        except (duckdb.Error, RuntimeError, OSError, ValueError) as error:
            if "interrupted" in str(error).lower() and isinstance(error, RuntimeError | duckdb.InterruptException):
                raise KeyboardInterrupt from None
            raise _ours(error) from None
        finally:
            connection.close()

    def _started(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        with self._lock:
            if self._closed:
                raise EngineError("The engine is closed.", condition="ENGINE_CLOSED")
            if self._database is None:
                self._spill = tempfile.mkdtemp(prefix="rewriter-duckdb-")
                # Also where nobody closes the engine.
                weakref.finalize(self, shutil.rmtree, self._spill, ignore_errors=True)
                self._database = duckdb.connect(":memory:", config={"temp_directory": self._spill})
                for statement in macros():
                    self._database.execute(statement)
            return self._database


#: Set on every connection, because none of them is inherited for sure.
SESSION_SETTINGS = (
    "SET TimeZone = 'UTC'",
    # It would write into the user's terminal.
    "SET enable_progress_bar = false",
    "SET default_null_order = 'nulls_first_on_asc_last_on_desc'",
    "SET ieee_floating_point_ops = true",
    "SET scalar_subquery_error_on_multiple_rows = true",
)


def escapes() -> dict[str, str]:
    """What stands for each character in a partition's path, where it does not stand for itself."""
    return {char: escape(char) for char in map(chr, range(1, 256)) if escape(char) != char}


def _parameters(translation: Translation) -> dict[str, object]:
    return dict(translation.parameters)


def _check_types(connection: duckdb.DuckDBPyConnection, translation: Translation) -> None:
    """The types that DuckDB answers are those that we promised; otherwise the translator has a bug."""
    found = [str(type_) for type_ in connection.sql(translation.sql, params=_parameters(translation)).types]
    wanted = [duckdb_type(type_) for _, type_ in translation.columns]
    if found != wanted:
        raise InternalError(f"DuckDB answers {found} where {wanted} was promised, for {translation.sql}")


def _as_declared(table: pa.Table, translation: Translation) -> pa.Table:
    """The table with Spark's names and types. Raises ``InternalError`` where a type is not what was promised."""
    import pyarrow as pa

    schema = pa.schema([pa.field(name, arrow_type(type_)) for name, type_ in translation.columns])
    for found, wanted in zip(table.schema, schema, strict=True):
        same = found.type == wanted.type or (pa.types.is_timestamp(wanted.type) and found.type == pa.timestamp("us"))
        if not same:
            raise InternalError(f"DuckDB answers {found.type} where {wanted.type} was promised: {translation.sql}")
    return table.rename_columns(schema.names).cast(schema)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    arrays = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _texts:
    """Canonical texts of the values of partition columns, each value computed once."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        self._known: dict[tuple[int, Any], str | None] = {}

    def __call__(self, index: int, value: Any) -> str | None:
        # 0.0 and -0.0 are one key, and one partition.
        key = (index, value)
        if key not in self._known:
            self._known[key] = canonical(self._columns[index], _plain_text(value))
        return self._known[key]


def _plain_text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat(sep=" ")
        return text.rstrip("0") if "." in text else text
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float):
        return repr(value)
    return str(value)


def _ours(error: Exception) -> Error:
    """DuckDB's error as one of ours: its own words, first line."""
    import duckdb

    text = str(error).strip()
    match = _OURS.search(text)
    if match and match[1] in _SQLSTATES:
        return DataError(match[2].strip(), condition=match[1], sqlstate=_SQLSTATES[match[1]])
    if match and match[1] == "DUCKDB_UNSUPPORTED":
        return NotSupportedError(match[2].strip(), condition=match[1], hint="Use the Spark engine (engine spark).")
    line = (text.splitlines() or [type(error).__name__])[0]
    message = re.sub(r"^[A-Za-z ]+ Error: ", "", line)
    for pattern, condition, state in _CONDITIONS:
        if pattern.search(line):
            kind = DataError if state.startswith("22") else EngineError
            return kind(message, condition=condition, sqlstate=state)
    if isinstance(error, duckdb.IOException | OSError):
        return EngineError(message, condition="FAILED_READ_FILE", sqlstate="KD001")
    return EngineError(message, condition="DUCKDB_ERROR")
