"""Starts Spark in this process: one JVM, quiet, in UTC, with a directory of its own.

This is the only module that uses features that Spark Connect lacks (the gateway, ``sparkContext``). It launches the JVM
itself so that the JVM's output goes to a file instead of the user's terminal. If the start fails, the end of that file
is the error.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rewriter.errors import EngineError
from rewriter.exec.scratch_directories import ScratchDirectory
from rewriter.exec.spark import single_column_csv, spooled_rows, text_files, writer
from rewriter.exec.spark.java import find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
_LOCAL_SESSION_SETTINGS: Mapping[str, str] = {"spark.sql.shuffle.partitions": "4"}

#: Without stages that are planned one after the other, and in one piece, a query over little takes half of the time.
_SMALL_SESSION_SETTINGS: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}

_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""

_lock = threading.Lock()
_directory: ScratchDirectory | None = None


class StartedSpark:
    """A session, one for small queries, and whether this process's Spark was started for them."""

    def __init__(self, session: SparkSession, small_session: SparkSession, owner: bool) -> None:
        self.session = session
        self.small_session = small_session
        self._owner = owner

    def enter_job(self, session: SparkSession, group: str, description: str) -> None:
        """Adds the jobs of this thread, from now on, to a group that ``cancel`` stops."""
        context = session.sparkContext
        # Data sources are looked up in the session that is active in the thread.
        context._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
        context.setJobGroup(group, description, False)

    def cancel(self, group: str) -> None:
        """Stops the jobs of the group, from any thread. Its queries fail soon after."""
        self.session.sparkContext.cancelJobGroup(group)

    def stop(self) -> None:
        """Stops Spark if it was started for this session. The JVM stays for the next start."""
        if self._owner:
            self.session.sparkContext.stop()


def start(master: str | None, conf: Mapping[str, str]) -> StartedSpark:
    """Returns a new session in the running Spark, or in a Spark that is started now (5 to 30 s).

    A running Spark keeps its master; its sessions, their settings and views are not touched. Raises
    ``JavaNotFoundError`` and ``EngineError``.
    """
    with _lock:
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        from pyspark import SparkContext
        from pyspark.logger import PySparkLogger
        from pyspark.sql import SparkSession

        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
            # They print every failed query with its stack to the terminal.
            PySparkLogger.getLogger(name).disabled = True
        owner = SparkContext._active_spark_context is None
        if owner:
            _start_context(master or "local[*]", conf)
        default = SparkSession.builder.getOrCreate()
        # A session that was started elsewhere keeps its settings and views.
        session = default if owner else default.newSession()
        settings = dict(SESSION_SETTINGS)
        if session.sparkContext.master.startswith("local"):
            settings |= _LOCAL_SESSION_SETTINGS
        _set(session, {**settings, **conf})
        register_data_sources(session)
        small_session = SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
        _set(small_session, {**_SMALL_SESSION_SETTINGS, **conf})
        return StartedSpark(session, small_session, owner)


def register_data_sources(session: SparkSession) -> None:
    """Registers our data sources with a session, unless it has them.

    Spark looks for a data source of the same name in the session that is active in the thread, not in this one.
    """
    from pyspark.errors import AnalysisException

    sessions = session.sparkContext._jvm.org.apache.spark.sql.classic.SparkSession
    earlier = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        for module in (writer, spooled_rows, single_column_csv, text_files):
            try:
                session.dataSource.register(module.data_source())
            except AnalysisException as error:
                if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                    raise
    finally:
        if earlier.isDefined():
            sessions.setActiveSession(earlier.get())
        else:
            sessions.clearActiveSession()


def _set(session: SparkSession, settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)


def _start_context(master: str, settings: Mapping[str, str]) -> None:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False)
    for key, value in (_static_settings(master) | dict(settings)).items():
        conf.set(key, value)
    log = os.path.join(process_directory(), "spark.log")
    gateway: Any = SparkContext._gateway
    try:
        if gateway is None:
            os.environ["JAVA_HOME"] = str(find_java_home())
            # Spark would search the PATH for a python3, which is not always this one.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
            with open(log, "ab") as sink:
                gateway = launch_gateway(conf, {"stdout": sink, "stderr": sink})
        SparkContext(conf=conf, gateway=gateway)
    except EngineError:
        raise
    except Exception as error:
        lines = [line for line in _tail(log) if line.strip() and not line.startswith(("\tat ", "WARNING"))]
        reason = lines[-1].strip() if lines else (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise EngineError(
            f"Spark did not start at {master}: {reason}",
            condition="SPARK_START_FAILED",
            object=master,
            hint="Check the master URL and the memory of this machine.",
        ) from None


def _static_settings(master: str) -> dict[str, str]:
    directory = process_directory()
    logging = os.path.join(directory, "log4j2.properties")
    with open(logging, "w") as file:
        file.write(_LOGGING)
    settings = {
        "spark.master": master,
        "spark.app.name": "rewriter",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{logging} -Dderby.system.home={directory}",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": os.path.join(directory, "warehouse"),
        "spark.local.dir": os.path.join(directory, "local"),
        "spark.speculation": "false",
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        # Checksum files beside data files are useless here, and double the number of files.
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        **SESSION_SETTINGS,
    }
    if master.startswith("local"):
        # Without these, Spark does not start on a machine whose name does not resolve.
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings |= _LOCAL_SESSION_SETTINGS
    return settings


def process_directory() -> str:
    """Returns a directory for this process's Spark, removed when the process ends."""
    global _directory
    if _directory is None:
        _directory = ScratchDirectory("spark")
    return _directory.path


def _tail(path: str, size: int = 8192) -> list[str]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - size))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
