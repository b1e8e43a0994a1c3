"""Sessions of Spark as objects: classic ones, and sessions of Spark Connect. Imports nothing of PySpark by itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rewriter.errors import AnalysisError, InterfaceError


def is_spark_session(value: object) -> bool:
    """Tests whether an object is a session of Spark, of either kind."""
    return any(kind.__name__ == "SparkSession" and kind.__module__.startswith("pyspark.") for kind in type(value).mro())


def is_spark_frame(value: object) -> bool:
    """Tests whether an object is a DataFrame of Spark, of either kind.

    >>> is_spark_frame(object())
    False
    """
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.") for kind in type(value).mro()
    )


def check_frame(frame: Any) -> None:
    """Raises ``InterfaceError`` for a streaming DataFrame, and for a column with a collation."""
    if frame.isStreaming:
        raise InterfaceError(
            "A streaming DataFrame has no end.", hint="Use connection.stream(frame).into('t', checkpoint=…)."
        )
    for field in frame.schema.fields:
        type_name = field.dataType.simpleString()
        if " collate " in type_name:
            raise InterfaceError(
                f"The column {field.name} is a {type_name}, and columns of tables have no collation.",
                object=field.name,
                hint=f"Cast it: CAST({field.name} AS STRING COLLATE UTF8_BINARY).",
            )


def is_connect(value: object) -> bool:
    """Tests whether a session, a DataFrame or an exception is one of Spark Connect.

    >>> is_connect(object())
    False
    """
    return type(value).__module__.startswith(("pyspark.sql.connect.", "pyspark.errors.exceptions.connect"))


def temporary_view(session: Any, name: str) -> Any | None:
    """Returns the temporary view of a plain name in a session as a DataFrame; ``None`` if the session has none.

    Raises ``AnalysisError`` for a view that cannot be read.
    """
    quoted = "`" + name.replace("`", "``") + "`"
    try:
        if not session.catalog.getTable(quoted).isTemporary:
            return None
    except Exception:  # It has no table of that name.
        return None
    try:
        frame = session.table(quoted)
        _ = frame.schema  # Spark Connect looks only now.
    except Exception as error:
        raise AnalysisError(
            f"The temporary view {name} of the Spark session cannot be read: {str(error).strip().splitlines()[0]}",
            condition="SPARK_VIEW_UNREADABLE",
            object=name,
            hint="Create it again in the session.",
        ) from None
    return frame


def functions_of(value: object) -> Any:
    """Returns the module of functions whose columns a session or a DataFrame takes.

    ``pyspark.sql.functions`` chooses by the process, which may have sessions of both kinds.
    """
    return import_module("pyspark.sql.connect.functions" if is_connect(value) else "pyspark.sql.functions")
