"""SQLAlchemy 2: the dialect behind ``create_engine("rewriter:///warehouse?engine=duckdb")``.

``dialect.py`` opens connections and has their transactions; ``compiler.py`` writes queries and ``ddl_compiler.py``
definitions in Spark's SQL; ``types.py`` maps the types; ``reflection.py`` reads the catalog for inspectors.
"""

from rewriter.integrations.sqlalchemy.types import TIMESTAMP_NTZ, TINYINT, SparkType

__all__ = ["TIMESTAMP_NTZ", "TINYINT", "SparkType"]
