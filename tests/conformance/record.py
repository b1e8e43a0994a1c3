"""Records the results of Apache Spark for the statements of a recording that have none yet.

``python tests/conformance/record.py name …`` runs all statements of ``recorded/name.txt`` in order, on an in-memory
catalog, and replaces the result of each line that begins with ``NEW``. A statement with rows has an ORDER BY.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from recordings import FOLDER, cell


def result(spark: SparkSession, statement: str) -> str:
    """Returns Spark's result of a statement, as the line of a recording."""
    try:
        frame = spark.sql(statement)
        rows = ["|".join(cell(value) for value in row) for row in frame.collect()]
    except PySparkException as error:
        return f"ERR  {statement} => {error.getCondition()} {error.getSqlState()}"
    except Py4JJavaError as error:  # An error at run time that PySpark does not convert.
        condition, state = re.search(r"\[([A-Z_.0-9]+)\]", str(error)), re.search(r"SQLSTATE: (\w+)", str(error))
        return f"ERR  {statement} => {condition and condition[1]} {state and state[1]}"
    return f"OK   {statement} => {rows!r}" if frame.columns else f"OK   {statement} =>"


def main() -> None:
    """Records the named files, each in its own warehouse."""
    with tempfile.TemporaryDirectory() as warehouse:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.sql.warehouse.dir", warehouse)
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        for name in sys.argv[1:]:
            path: Path = FOLDER / "recorded" / f"{name}.txt"
            spark.sql(f"CREATE DATABASE recording_{name.replace('-', '_')}")
            spark.sql(f"USE recording_{name.replace('-', '_')}")
            lines = path.read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines):
                if line.startswith("NEW"):
                    lines[number] = result(spark, line.removeprefix("NEW").removesuffix("=>").strip())
                elif line.startswith(("OK   CREATE TABLE", "OK   INSERT")):
                    spark.sql(line.removeprefix("OK").rpartition("=>")[0].strip())
                path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
