"""Runs Spark SQL statements in a stock PySpark session whose catalog is a Hive metastore, in a process of its own.

``python spark_client.py URI SCRATCH < statements > result.jsonl`` reads statements that are separated by ``;`` at the
end of a line, and prints a line of JSON for each: its line number, its text, and either columns and rows or an error.
The text ``${dir}`` in a statement is the directory SCRATCH, which also contains Spark's warehouse. What Java prints
goes to the standard error.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from statement_texts import statements

from rewriter.exec.spark.java import find_java_home
from rewriter.exec.spark.session import silence

_LOGGING = """\
rootLogger.level = off
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""
#: The condition in the message of an error that PySpark does not convert.
_CONDITION = re.compile(r"\[([A-Z][A-Z_.0-9]+)\]")
#: The condition of every exception of Hive: only its classes, and the conditions in them, say what it is.
_OF_HIVE = "_LEGACY_ERROR_TEMP_3065"
_EXCEPTION = re.compile(r"\b[A-Z]\w*(?:Exception|Error)\b|(?<=\[)[A-Z][A-Z_.0-9]+(?=\])")


def settings(uri: str, scratch: Path) -> dict[str, str]:
    """Returns the session's settings. Only the metastore, the directories and the speed differ from the defaults."""
    logging = scratch / "log4j2.properties"
    return {
        "spark.master": "local[2]",
        "spark.app.name": "metastore-client",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{logging} -XX:TieredStopAtLevel=1",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        # Without these, statements over few rows take a third less time.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.hadoop.hive.metastore.uris": uri,
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
        "spark.hadoop.hive.exec.scratchdir": str(scratch / "hive"),
    }


def start(uri: str, scratch: Path) -> SparkSession:
    """Starts Spark; takes about 5 s. It connects to the metastore at the first statement."""
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "log4j2.properties").write_text(_LOGGING, encoding="utf-8")
    (scratch / "resource.txt").write_text("A file that a function asks for.\n", encoding="utf-8")
    os.environ["JAVA_HOME"] = str(find_java_home())
    os.environ["TZ"] = "UTC"
    silence()
    conf = SparkConf(loadDefaults=False)
    for name, value in settings(uri, scratch).items():
        conf.set(name, value)
    gateway = launch_gateway(conf, {"stdout": sys.stderr, "cwd": str(scratch)})
    return SparkSession(SparkContext(conf=conf, gateway=gateway))


def outcome(spark: SparkSession, text: str) -> dict[str, Any]:
    """Returns the columns and rows of a statement as texts, or its error: its name, and the first line of its message.

    The name is the condition. That of Hive's exceptions is followed by their classes and conditions. The name of an
    error without a condition is its class and the first line of its message.
    """
    try:
        frame = spark.sql(text)
        return {"columns": frame.columns, "rows": [[_cell(value) for value in row] for row in frame.collect()]}
    except PySparkException as error:
        return _failure(error.getCondition(), type(error).__name__, str(error))
    except Py4JJavaError as error:
        thrown = error.java_exception
        return _failure(None, str(thrown.getClass().getSimpleName()), str(thrown.getMessage()))


def _failure(condition: str | None, kind: str, text: str) -> dict[str, Any]:
    line = next(iter(text.strip().splitlines()), "")
    if condition is None:
        found = _CONDITION.search(line)
        condition = found[1] if found else f"{kind}: {line}"
    elif condition == _OF_HIVE:
        condition = " ".join([condition, *dict.fromkeys(_EXCEPTION.findall(line))])
    return {"error": condition, "message": line}


def _cell(value: object) -> str | None:
    return None if value is None else str(value)


def main() -> None:
    """Runs the statements of the standard input. The first line of the result has the directories and the user."""
    uri, scratch = sys.argv[1], Path(sys.argv[2]).resolve()
    spark = start(uri, scratch)
    try:
        home = spark.catalog.getDatabase("default").locationUri
        _print({"dir": str(scratch), "warehouse": home, "user": getpass.getuser()})
        for statement in statements(sys.stdin.read()):
            result = outcome(spark, statement.text.replace("${dir}", str(scratch)))
            _print({"line": statement.line, "statement": statement.text, **result})
    finally:
        spark.stop()


def _print(value: dict[str, Any]) -> None:
    print(json.dumps(value, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
