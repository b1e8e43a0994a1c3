"""The settings of our sessions of Spark, whatever those of its other users or of a server are."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from rewriter.exec.engine_settings import engine_setting

#: Settings of a session, which can change while Spark is running.
SESSION_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # ORC's reader orders -0.0 before 0.0: it would skip the rows of one where a condition names the other.
    "spark.sql.orc.filterPushdown": "false",
    # Spark cuts a decimal off that is too long for the smaller decimals of a file: it would skip rows, or fail.
    "spark.sql.parquet.filterPushdown.decimal": "false",
    # A listing job with a task for each path took 80 s for 6,936 directories; in the driver it takes 2 s.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # Tasks of many tiny files: with the default of 4 MB each, 6,936 files made 220 tasks.
    "spark.sql.files.openCostInBytes": "65536",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.pyspark.inferNestedDictAsStruct.enabled": "false",
}
#: Tables this small are shuffled in few pieces; only if Spark runs in this process.
LOCAL_SESSION_SETTINGS: Mapping[str, str] = {"spark.sql.shuffle.partitions": "4"}

#: Without stages that are planned one after the other, and in one piece, a query over little takes half of the time.
SMALL_SESSION_SETTINGS: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


def apply_settings(session: Any, settings: Mapping[str, str]) -> None:
    """Sets what a session can change while Spark runs. Before that, settings that would change results get their
    defaults: a new session has those of its Spark, such as ``spark.sql.caseSensitive``.
    """
    for name, value in session.conf.getAll.items():
        known = engine_setting(name)
        if known is not None and not known.accepts(value) and session.conf.isModifiable(name):
            session.conf.unset(name)
    for name, value in settings.items():
        if session.conf.isModifiable(name):
            session.conf.set(name, value)


def silence() -> None:
    """Ends what PySpark prints to the terminal: a warning about pandas, and each failed query with its stack."""
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
