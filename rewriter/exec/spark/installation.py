"""Whether PySpark is installed: the extra ``spark`` brings it. Imports nothing of it."""

from __future__ import annotations

from importlib.util import find_spec

from rewriter.errors import InterfaceError

#: What installs Spark.
INSTALL = "pip install 'rewriter[spark]'"


def is_installed() -> bool:
    """Tests whether this Python finds PySpark. One search of the import path."""
    try:
        return find_spec("pyspark") is not None
    except (ImportError, ValueError):  # ValueError: the module was loaded without a specification.
        return False


def check_installed() -> None:
    """Raises ``InterfaceError`` SPARK_NOT_FOUND without PySpark."""
    if not is_installed():
        raise InterfaceError(
            "Spark is not installed.", condition="SPARK_NOT_FOUND", hint=f"Run {INSTALL}, or use the engine duckdb."
        )
