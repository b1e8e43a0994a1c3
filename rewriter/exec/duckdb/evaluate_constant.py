"""Evaluates a constant expression in this process. The allow-list of DuckDB's translation applies on both engines."""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.exec.duckdb.evaluate_predicate import evaluation_database
from rewriter.exec.duckdb.own_errors import own_error
from rewriter.exec.engine import EngineQuery
from rewriter.exec.sql_types import SqlType


def constant_value(expression: str, parameters: Mapping[str, object]) -> tuple[SqlType, object]:
    """Returns the type and the value of an expression in Spark SQL that reads no table. Times are naive, of UTC.

    Raises ``NotSupportedError`` for constructs that are not on DuckDB's allow-list, ``ParseError`` for text that is no
    expression, ``EngineError`` for one that names a column, and ``DataError`` for one that fails. Positions in errors
    are not those of the expression. Costs about 2 ms, and 0.1 s once at the start.
    """
    # The first constant loads the translator: most statements compute none.
    from rewriter.exec.duckdb.engine import SESSION_SETTINGS
    from rewriter.exec.translate.queries import translate

    translation = translate(EngineQuery(f"SELECT ({expression})", (), parameters))
    import duckdb

    database = evaluation_database()
    connection = database.connection.cursor()
    try:
        database.macros.define(translation.sql)
        connection.execute(SESSION_SETTINGS)
        row = connection.execute(translation.sql, dict(translation.parameters)).fetchone()
    except (duckdb.Error, ValueError) as error:
        raise own_error(error) from None
    finally:
        connection.close()
    assert row is not None
    return translation.columns[0][1], row[0]
