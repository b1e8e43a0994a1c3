"""Records what the scripts of this folder return on plain Spark, with Hive's clauses and the settings of each script.

``python tests/convert/record.py [NAME…]`` runs the scripts, and writes the rows of each query into ``rows/NAME.txt``. A
script of Hive runs without ANSI mode. A statement that Spark refuses is left out; a DELETE, which Spark has not for
these tables, becomes the rows that EXCEPT ALL leaves.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from converted_scripts import is_query, printed, script_statements  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


#: Clauses of Hive that Spark does not know, and that change no row.
_UNKNOWN_CLAUSES = re.compile(
    r"\s+NOT NULL|,\s*PRIMARY KEY \(\w+\) DISABLE NOVALIDATE|SKEWED BY \(\w+\) ON \([^)]*\)( STORED AS DIRECTORIES)?"
)


def started() -> SparkSession:
    from pyspark.sql import SparkSession

    directory = tempfile.mkdtemp()
    os.chdir(directory)  # Derby's files.
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", directory + "/warehouse")
        .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
        .enableHiveSupport()
        .getOrCreate()
    )


def recorded(session: SparkSession, path: Path) -> str:
    """Runs a script in a database of its own, and returns the rows of its queries."""
    is_hive = path.suffix == ".hql"
    session.sql(f"CREATE DATABASE r_{path.stem}")
    session.sql(f"USE r_{path.stem}")
    session.conf.set("spark.sql.ansi.enabled", str(not is_hive).lower())
    session.conf.set("spark.sql.parser.quotedRegexColumnNames", str(is_hive).lower())
    session.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
    session.conf.set("hive.exec.dynamic.partition.mode", "nonstrict")
    parts = []
    for line, text in script_statements(path.read_text(encoding="utf-8")):
        deleted = re.fullmatch(r"DELETE\s+FROM\s+(\w+)(.*)", text, re.IGNORECASE | re.DOTALL)
        if text.upper().startswith("USE DEFAULT"):
            continue
        try:
            if deleted:
                _delete(session, deleted[1], deleted[2] if deleted[2].strip() else "WHERE TRUE")
                continue
            rows = session.sql(text).toArrow() if is_query(text) else session.sql(_UNKNOWN_CLAUSES.sub("", text))
        except Exception as error:
            print(f"{path.name}:{line}: {str(error).splitlines()[0][:150]}")
            continue
        if is_query(text):
            columns = [column.to_pylist() for column in rows.columns]
            lines = [printed(row) for row in zip(*columns, strict=True)]
            parts.append("\n".join([f"-- line {line}: {', '.join(rows.schema.names)}", *lines]) + "\n")
    session.sql("USE default")
    return "\n".join(parts)


def _delete(session: SparkSession, table: str, rest: str) -> None:
    session.sql(f"CREATE TABLE kept AS SELECT * FROM {table} EXCEPT ALL SELECT * FROM {table} {rest}")
    session.sql(f"TRUNCATE TABLE {table}")
    session.sql(f"INSERT INTO {table} SELECT * FROM kept")
    session.sql("DROP TABLE kept")


if __name__ == "__main__":
    names = sys.argv[1:]
    spark = started()
    spark.sparkContext.setLogLevel("OFF")
    for script in sorted((HERE / "scripts").iterdir()):
        if not names or script.stem in names:
            (HERE / "rows" / f"{script.stem}.txt").write_text(recorded(spark, script), encoding="utf-8")
    spark.stop()
