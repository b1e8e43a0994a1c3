"""The settings of our sessions of Spark: those that results need, and those of its user for everything else."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from typing import Any

from rewriter.exec.engine_settings import engine_setting

BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
#: Settings of all our sessions: results depend on them, or the memory that a result takes.
SESSION_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # ORC's reader orders -0.0 before 0.0: it would skip the rows of one where a condition names the other.
    "spark.sql.orc.filterPushdown": "false",
    # Spark cuts a decimal off that is too long for the smaller decimals of a file: it would skip rows, or fail.
    "spark.sql.parquet.filterPushdown.decimal": "false",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # Of rows of a megabyte each, the 10,000 rows of a batch would take the whole memory.
    BATCH_BYTES: str(4 << 20),
    "spark.sql.pyspark.inferNestedDictAsStruct.enabled": "false",
}
#: Settings that save time. Those of the user are preferred.
_FAST_SETTINGS: Mapping[str, str] = {
    # A listing job with a task for each path took 80 s for 6,936 directories; in the driver it takes 2 s.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # Tasks of many tiny files: with the default of 4 MB each, 6,936 files made 220 tasks.
    "spark.sql.files.openCostInBytes": "65536",
}
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
#: Without stages that are planned one after the other, and in one piece, a query over little takes half of the time.
_SMALL_SETTINGS: Mapping[str, str] = {"spark.sql.adaptive.enabled": "false", _SHUFFLE_PARTITIONS: "1"}
#: The fewest pieces of a shuffle in a Spark of one process, and those for each of its cores.
_LEAST_PIECES, _PIECES_PER_CORE = 4, 2

_LOCAL = re.compile(r"local(?:\[(?P<threads>\d+|\*)(?:, *\d+)?\])?")


def local_settings(master: str) -> dict[str, str]:
    """Returns settings for a Spark that runs in one process: Spark's 200 pieces of a shuffle are for clusters.

    >>> local_settings("local[32]"), local_settings("spark://h:7077")
    ({'spark.sql.shuffle.partitions': '64'}, {})
    """
    local = _LOCAL.fullmatch(master)
    if local is None:
        return {}
    cores = os.cpu_count() or 1 if local["threads"] == "*" else int(local["threads"] or 1)
    return {_SHUFFLE_PARTITIONS: str(max(_LEAST_PIECES, _PIECES_PER_CORE * cores))}


def own_settings(session: Any, defaults: Mapping[str, str]) -> dict[str, str]:
    """Returns the settings of a user's session, and of its spark-defaults.conf, that change no result. Each holds in
    our sessions, too. A value of ``defaults`` may be that of another session of ours, and is none of the user.
    """
    explicit = session.conf.getAll
    return {
        name: value
        for name, value in explicit.items()
        if name not in SESSION_SETTINGS
        and value != {**_FAST_SETTINGS, **defaults}.get(name)
        and (known := engine_setting(name)) is not None
        and known.accepts(value)
        and session.conf.isModifiable(name)
    }


def apply_settings(session: Any, own: Mapping[str, str], defaults: Mapping[str, str], *, is_small: bool) -> None:
    """Sets what a session can change while Spark runs: ``own`` are settings of the user, ``defaults`` those that hold
    without them. Before that, settings that would change results get their defaults: a new session has those of its
    Spark, such as ``spark.sql.caseSensitive``.
    """
    for name, value in session.conf.getAll.items():
        known = engine_setting(name)
        if known is not None and not known.accepts(value) and session.conf.isModifiable(name):
            session.conf.unset(name)
    small = _SMALL_SETTINGS if is_small else {}
    for name, value in {**_FAST_SETTINGS, **defaults, **small, **SESSION_SETTINGS, **own}.items():
        if session.conf.isModifiable(name):
            session.conf.set(name, value)


def silence() -> None:
    """Ends what PySpark prints to the terminal: a warning about pandas, and each failed query with its stack."""
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
