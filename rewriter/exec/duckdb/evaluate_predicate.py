"""Evaluates conditions on given values in this process: finds the rows of a small table that can satisfy a condition.

The condition is Spark SQL and is translated for DuckDB, so only constructs on the allow-list are evaluated: the
constructs that are proven to be the same on both engines. No engine of a session is started. If the condition fails for
a row, its result for that row is unknown; a query that reads the row gets the error.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import Column, PartitionValues
from rewriter.errors import AnalysisError, EngineError, NotSupportedError
from rewriter.exec.duckdb.own_errors import own_error
from rewriter.exec.engine import EngineQuery, Relation
from rewriter.exec.sql_types import BOOLEAN, SqlType, duckdb_type, parse_type

if TYPE_CHECKING:
    import duckdb

    from rewriter.exec.translate.queries import Translation


#: The maximum number of statements that search for rows on which a condition fails. The result for rows that were not
#: separated by then is unknown.
MOST_TRIALS = 150

_TABLE = "rewriter_values"
_ROW = "rewriter_row"


def evaluate_condition(
    condition: str,
    alias: str,
    columns: Sequence[Column],
    rows: Sequence[PartitionValues],
    parameters: Mapping[str, object],
) -> list[bool | None]:
    """Evaluates a condition for each row of canonical values of ``columns``: True if the condition is TRUE for it,
    False if not, ``None`` if it fails.

    In the condition, the rows' table is called ``alias``. Raises ``NotSupportedError`` for constructs that are not on
    DuckDB's allow-list, ``AnalysisError`` DATATYPE_MISMATCH for another type than BOOLEAN, and ``EngineError`` for
    errors that do not depend on a row. Costs about 2 ms plus 1 µs a row,
    and 0.1 s once at the start.
    """
    # The first condition loads the translator: most statements evaluate none.
    from rewriter.exec.duckdb.engine import SESSION_SETTINGS
    from rewriter.exec.translate.queries import translate

    number = Column(_ROW, "bigint")
    relation = Relation(_TABLE, "parquet", (number, *columns), (), ())
    alias_name = alias.replace("`", "``")
    sql = f"SELECT `{alias_name}`.{_ROW}, ({condition}) FROM {_TABLE} AS `{alias_name}`"
    translation = translate(EngineQuery(sql, (relation,), parameters))
    _refuse_random(translation)
    if translation.columns[1][1] != BOOLEAN:
        raise no_condition(translation.columns[1][1])
    import duckdb

    database = _evaluation_database()
    connection = database.connection.cursor()
    try:
        # The optimizer rewrites ``b + 1 < 7`` as ``b < 6``, which does not fail where the condition does.
        database.own_functions.define(translation.sql)
        connection.execute(f"{SESSION_SETTINGS} PRAGMA disable_optimizer")
        _load(connection, columns, rows)
        return _Trials(connection, translation).satisfied(len(rows))
    except (duckdb.Error, ValueError) as error:
        raise EngineError(str(error).strip().partition("\n")[0]) from None
    finally:
        connection.close()


def _refuse_random(translation: Translation) -> None:
    """Refuses an expression that has another value each time."""
    if translation.is_random:
        raise NotSupportedError(
            "A random value as a constant is not supported.",
            condition="DUCKDB_UNSUPPORTED",
            hint="Write the value itself.",
        )


def no_condition(found: SqlType) -> AnalysisError:
    """Returns the error for an expression of another type in the place of a condition."""
    return AnalysisError(
        f"A condition must be a BOOLEAN, not {found}.",
        condition="DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
        sqlstate="42K09",
        hint="Compare the value with another one.",
    )


class _Trials:
    """Evaluates a condition on ranges of rows, and on shorter ranges where it fails."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, translation: Translation) -> None:
        self._connection = connection
        self._translation = translation
        self._left = MOST_TRIALS

    def satisfied(self, count: int) -> list[bool | None]:
        results: list[bool | None] = [None] * count
        row_ranges = deque([(0, count)] if count else [])
        while row_ranges and self._left:
            first, last = row_ranges.popleft()
            try:
                truths = self._run(first, last)
            except _failures():
                if last - first > 1:
                    middle = (first + last) // 2
                    row_ranges += [(first, middle), (middle, last)]  # The longest ranges are tried first.
                continue
            for row, truth in truths:
                results[row] = truth is True
        return results

    def _run(self, first: int, last: int) -> list[tuple[int, bool | None]]:
        self._left -= 1
        # A separate table: the condition must not be evaluated on other rows.
        self._connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {_TABLE} AS SELECT * FROM rewriter_all WHERE {_ROW} >= $first "
            f"AND {_ROW} < $last",
            {"first": first, "last": last},
        )
        rows: list[tuple[int, bool | None]] = self._connection.execute(
            self._translation.sql, dict(self._translation.parameters)
        ).fetchall()
        if sorted(row for row, _ in rows) != list(range(first, last)):
            raise EngineError("The condition does not apply to single rows.")
        return rows


def _failures() -> tuple[type[Exception], ...]:
    """Returns the exceptions that DuckDB raises for a value, without the exceptions that it raises for a statement."""
    import duckdb

    return (duckdb.DataError, duckdb.InvalidInputException, duckdb.OutOfRangeException, duckdb.ConversionException)


def _load(connection: duckdb.DuckDBPyConnection, columns: Sequence[Column], rows: Sequence[PartitionValues]) -> None:
    import pyarrow as pa

    from rewriter.exec.translate.casts import quote

    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    texts = {_ROW: pa.array(range(len(rows)), pa.int64())}
    texts |= {f"p{number}": pa.array(column_texts, pa.string()) for number, column_texts in enumerate(values)}
    casts = (
        f"CAST(p{number} AS {duckdb_type(parse_type(column.type))}) AS {quote(column.name)}"
        for number, column in enumerate(columns)
    )
    connection.register("rewriter_texts", pa.table(texts))
    connection.execute(f"CREATE TEMP TABLE rewriter_all AS SELECT {_ROW}, {', '.join(casts)} FROM rewriter_texts")
    connection.unregister("rewriter_texts")


class EvaluationDatabase:
    """The database of this process. It holds macros, and the tables of active cursors."""

    def __init__(self) -> None:
        import duckdb

        from rewriter.exec.duckdb.own_functions import OwnFunctions

        self.connection = duckdb.connect(":memory:", config={"threads": 1, "temp_directory": ""})
        self.own_functions = OwnFunctions(self.connection.cursor())


_OPENING = threading.Lock()


def _evaluation_database() -> EvaluationDatabase:
    """Returns the database of this process. The first call opens it."""
    with _OPENING:  # Two threads must not open one each.
        return _new_database()


@cache
def _new_database() -> EvaluationDatabase:
    return EvaluationDatabase()


# Evaluates a constant expression in this process. The allow-list of DuckDB's translation applies on both engines.


def constant_value(expression: str, parameters: Mapping[str, object]) -> tuple[SqlType, object]:
    """Returns the type and the value of an expression in Spark SQL that reads no table. Times are naive, of UTC.

    Raises ``NotSupportedError`` for constructs that are not on DuckDB's allow-list, ``ParseError`` for text that is no
    expression, ``EngineError`` for one that names a column, and ``DataError`` for one that fails. Positions in errors
    are not positions in the expression. Costs about 2 ms, and 0.1 s once at the start.
    """
    # The first constant loads the translator: most statements compute none.
    from rewriter.exec.duckdb.engine import SESSION_SETTINGS
    from rewriter.exec.translate.queries import translate

    translation = translate(EngineQuery(f"SELECT ({expression})", (), parameters))
    _refuse_random(translation)
    import duckdb

    database = _evaluation_database()
    connection = database.connection.cursor()
    try:
        database.own_functions.define(translation.sql)
        connection.execute(SESSION_SETTINGS)
        row = connection.execute(translation.sql, dict(translation.parameters)).fetchone()
    except (duckdb.Error, ValueError) as error:
        raise own_error(error) from None
    finally:
        connection.close()
    assert row is not None
    return translation.columns[0][1], row[0]
