"""Starts Spark in this process: one JVM, quiet, in UTC, with a directory of its own.

``connect_session`` makes the sessions of Spark Connect, which lacks the gateway and ``sparkContext``. This module
launches the JVM itself so that the JVM's output goes to a file instead of the user's terminal. If the start fails, the
end of that file is the error.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rewriter.errors import EngineError, NotSupportedError
from rewriter.exec.engine_settings import engine_setting
from rewriter.exec.spark import single_column_csv, worker_files, writer
from rewriter.exec.spark.errors import out_of_memory
from rewriter.exec.spark.installation import check_installed
from rewriter.exec.spark.java import find_java_home
from rewriter.exec.spark.task_progress import tasks_of_group
from rewriter.exec.spark.watch import (
    TIMEOUT_SETTING,
    SparkStopped,
    Watch,
    lost,
    reach,
    says_lost,
    seconds_of,
    unreachable,
)
from rewriter.scratch_directories import ScratchDirectory

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

    from rewriter.exec.engine import EngineQuery
    from rewriter.exec.interrupts import Measured


#: The URL of a standalone master, or of several of which one is active.
_STANDALONE = re.compile(r"spark://(?P<hosts>.+)")
_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""

#: The seconds in which a JVM that is ending writes why.
_ENDING_SECONDS = 2.0

_lock = threading.Lock()
_directory: ScratchDirectory | None = None
#: The JVM that this module launched last.
_process: subprocess.Popen[bytes] | None = None


class StartedSpark:
    """A session, one for small queries, and whether this process's Spark was started for them."""

    def __init__(
        self, session: SparkSession, small_session: SparkSession, owner: bool, given: SparkSession | None = None
    ) -> None:
        self._functions = BorrowedFunctions(given)
        self._given = given
        self._given_has_sources = False
        jvm: Any = session.sparkContext._jvm
        # Each part of a name of the JVM is a call.
        self._set_active_session = jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession
        self._dataset_of_rows = jvm.org.apache.spark.sql.classic.Dataset.ofRows
        self.session = session
        self.small_session = small_session
        self.address = str(session.sparkContext.master)
        self.is_local = self.address.startswith("local")
        #: True if one process computes everything, and it is of this machine: its files are ours.
        self.shares_files = self.is_local
        self._owner = owner
        self._is_own_process = _process is not None and getattr(session.sparkContext._gateway, "proc", None) is _process
        seconds = seconds_of(session.sparkContext.getConf().get(TIMEOUT_SETTING, None))
        count = None if self.is_local else self._count_executors
        self.watch = Watch(self.address, self._is_running, count, seconds)

    def analyze(self, query: EngineQuery, session: SparkSession, arguments: dict[str, Any] | None) -> DataFrame:
        """Returns a query as a DataFrame of one of the sessions. It may call functions of the user's session."""
        return self._functions.analyze(query, session, arguments)

    def enter_job(self, session: SparkSession, group: str, description: str) -> None:
        """Adds the jobs of this thread, from now on, to a group that ``cancel`` stops."""
        context = session.sparkContext
        # Data sources are looked up in the session that is active in the thread.
        self._set_active_session(session._jsparkSession)
        context.setJobGroup(group, description, False)
        # Tasks have the settings of the session only in jobs that Spark itself runs for a query.
        context.setLocalProperty(_BATCH_BYTES, _SESSION_SETTINGS[_BATCH_BYTES])

    def prepare_given(self, query: EngineQuery) -> None:
        """Makes the session that was handed in ready for DataFrames over the relations of a query. Raises
        ``NotSupportedError`` SPARK_SETTING_CHANGES_RESULTS.
        """
        if self._given is not None:
            _check_reading_settings(self._given, query)
            if not self._given_has_sources:
                register_data_sources(self._given)
                self._given_has_sources = True

    def for_user(self, frame: DataFrame) -> DataFrame:
        """Returns an analyzed DataFrame as one of the session that was handed in, if there is one. Its columns are its
        own: two DataFrames over the same files can be told apart in a join.
        """
        from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

        own_frame = frame.toDF(*frame.columns)
        if self._given is None:
            return own_frame
        analyzed = own_frame._jdf.queryExecution().analyzed()
        return ClassicFrame(self._dataset_of_rows(self._given._jsparkSession, analyzed), self._given)

    def cancel(self, group: str) -> None:
        """Stops the jobs of the group, from any thread, and the jobs that it would start. Its queries then fail."""
        # The method of Python leaves the jobs alone that a query starts when it has been planned.
        context: Any = self.session.sparkContext
        context._jsc.sc().cancelJobGroupAndFutureJobs(group)

    def measure(self, group: str) -> Measured | None:
        """Returns the tasks of the group's running stages that are done."""
        return tasks_of_group(self.session, group)

    def is_lost(self, error: BaseException) -> bool:
        """Tests whether an error came because Spark's process or application is gone. About a millisecond."""
        return isinstance(error, SparkStopped) or says_lost(str(error)) or not self._is_running()

    def abandon(self) -> EngineError:
        """Ends a Spark that is gone, as far as it was started for this session, and returns the error for its
        statement.
        """
        output = _end_own_process(self.session.sparkContext) if self._is_own_process else ""
        self.stop()
        return out_of_memory(output) or lost(self.address)

    def stop(self) -> None:
        """Stops Spark if it was started for this session. The JVM stays for the next start."""
        if self._owner:
            with warnings.catch_warnings(), suppress(Exception):  # It may have died.
                warnings.simplefilter("ignore")
                self.session.sparkContext.stop()

    def _is_running(self) -> bool:
        """Tests whether Spark starts jobs. It does not if the thread that schedules them has died of an error."""
        context: Any = self.session.sparkContext
        try:
            return not _is_dead(context) and bool(context._jsc.sc().dagScheduler().eventProcessLoop().isActive())
        except Exception:  # It has died between the calls.
            return False

    def _count_executors(self) -> int:
        context: Any = self.session.sparkContext
        return int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1  # The driver counts.


def start(master: str | None, conf: Mapping[str, str], given: SparkSession | None = None) -> StartedSpark:
    """Returns a new session in the running Spark, or in a Spark that is started now (5 to 30 s). With ``given``, it is
    a new session in the Spark of that session.

    A running Spark keeps its master; its sessions, their settings and views are not touched. Raises
    ``InterfaceError`` SPARK_NOT_FOUND, ``JavaNotFoundError``, and ``EngineError``: ENGINE_UNREACHABLE,
    SPARK_START_FAILED, and SPARK_ALREADY_RUNNING where a Spark of another master runs, unless both are local.
    """
    check_installed()
    with _lock:
        silence()
        from pyspark import SparkContext

        _forget_dead_spark()
        owner = given is None and SparkContext._active_spark_context is None
        if owner:
            _start_context(master or "local[*]", conf)
        elif given is None and master is not None:
            _check_master(master, str(SparkContext._active_spark_context.master))
        elif given is not None and _is_dead(given.sparkContext):
            raise unreachable("Spark", str(given.sparkContext.master), "the session that was handed in has ended")
        try:
            return _started(conf, given, owner)
        except Exception:
            context = SparkContext._active_spark_context if given is None else given.sparkContext
            if context is not None and not _is_dead(context):
                raise
            # Spark notices only now that it has no master.
            _forget_dead_spark()
            raise unreachable("Spark", master or "local[*]", "its application has ended") from None


def _started(conf: Mapping[str, str], given: SparkSession | None, owner: bool) -> StartedSpark:
    from pyspark.sql import SparkSession

    default = SparkSession.builder.getOrCreate() if given is None else given
    # A session that was started elsewhere keeps its settings and views.
    session = default if owner else default.newSession()
    defaults = local_settings(session.sparkContext.master) if given is None else {}
    own = {**own_settings(default, defaults), **conf}
    register_data_sources(session)
    small_session = SparkSession(session.sparkContext, session._jsparkSession.cloneSession())
    apply_settings(session, own, defaults, is_small=False)
    apply_settings(small_session, own, defaults, is_small=True)
    return StartedSpark(session, small_session, owner, given)


def data_sources() -> Iterator[Any]:
    """Yields the classes of the data sources that each session of ours registers."""
    for module in (writer, single_column_csv, worker_files):
        yield module.data_source()


def register_data_sources(session: SparkSession) -> None:
    """Registers our data sources with a session, unless it has them.

    Spark looks for a data source of the same name in the session that is active in the thread, not in this one.
    """
    from pyspark.errors import AnalysisException

    with _active(session):
        for source in data_sources():
            try:
                session.dataSource.register(source)
            except AnalysisException as error:
                if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                    raise


@contextmanager
def _active(session: SparkSession) -> Iterator[None]:
    """Makes a session the one that is active in the thread, whose settings Spark reads."""
    jvm: Any = session.sparkContext._jvm
    sessions = jvm.org.apache.spark.sql.classic.SparkSession
    earlier = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if earlier.isDefined():
            sessions.setActiveSession(earlier.get())
        else:
            sessions.clearActiveSession()


def _check_master(master: str, running: str) -> None:
    if master == running or (master.startswith("local") and running.startswith("local")):
        return
    raise EngineError(
        f"This process runs a Spark of {running}, and can have no other one at {master}.",
        condition="SPARK_ALREADY_RUNNING",
        object=master,
        hint="Use Spark Connect (sc://host:15002) for one of them, or another process; or close the connections of "
        "the first one.",
    )


def _is_dead(context: SparkContext) -> bool:
    try:
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    except Exception:  # Its JVM is gone.
        return True


def _forget_dead_spark() -> None:
    """Removes what PySpark keeps of a Spark that has died, so that another one can start."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is not None and _is_dead(context):
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            context.stop()
        SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None and process.poll() is not None:
        SparkContext._gateway = SparkContext._jvm = None


def _end_own_process(context: SparkContext) -> str:
    """Kills the JVM that this module launched, if no later Spark uses it: while it ends, it may hang. Returns the end
    of its output.
    """
    from pyspark import SparkContext

    if _process is not None and SparkContext._active_spark_context in (None, context):
        with suppress(subprocess.TimeoutExpired):
            _process.wait(_ENDING_SECONDS)
        _process.kill()
        _process.wait()
    return "\n".join(_tail(_log_path()))


def _reach_master(master: str) -> None:
    """Raises ENGINE_UNREACHABLE if no master listens. Spark itself tries for a minute."""
    standalone = _STANDALONE.fullmatch(master)
    if standalone is None:
        return
    hosts = [text.rpartition(":") for text in standalone["hosts"].split(",")]
    if all(host and port.isdigit() for host, _, port in hosts):  # Spark explains other texts.
        reach("The Spark master", [(host, int(port)) for host, _, port in hosts], master)


def _start_context(master: str, settings: Mapping[str, str]) -> None:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    _reach_master(master)

    required = _static_settings(master) | dict(settings)
    conf = SparkConf(loadDefaults=False).setAll(list(required.items()))
    global _process
    log = _log_path()
    gateway: Any = SparkContext._gateway
    try:
        if gateway is None:
            os.environ["JAVA_HOME"] = str(find_java_home())
            # Spark would search the PATH for a python3, which is not always this one.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
            with open(log, "wb") as sink:
                gateway = launch_gateway(conf, {"stdout": sink, "stderr": sink})
            _process = gateway.proc
        # The JVM has read spark-defaults.conf.
        conf = SparkConf(_jvm=gateway.jvm)
        for name, value in _preferred_settings(master).items():
            conf.setIfMissing(name, value)
        SparkContext(conf=conf.setAll(list(required.items())), gateway=gateway)
    except EngineError:
        raise
    except Exception as error:
        lines = [line for line in _tail(log) if line.strip() and not line.startswith(("\tat ", "WARNING"))]
        if says_lost(f"{error}\n" + "\n".join(lines[-20:])):
            raise unreachable("The Spark master", master, "it does not respond as one") from None
        reason = lines[-1].strip() if lines else (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise EngineError(
            f"Spark did not start at {master}: {reason}",
            condition="SPARK_START_FAILED",
            object=master,
            hint="Check the master URL and the memory of this machine.",
        ) from None


def _static_settings(master: str) -> dict[str, str]:
    directory = _process_directory()
    logging = os.path.join(directory, "log4j2.properties")
    with open(logging, "w") as file:
        file.write(_LOGGING)
    return {
        "spark.master": master,
        "spark.app.name": "rewriter",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # They stand before the user's spark.driver.extraJavaOptions. A JVM whose heap is full would lose some of its
        # threads, and wait for them for ever.
        "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile=file:{logging} -Dderby.system.home={directory} "
        "-XX:+ExitOnOutOfMemoryError",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": os.path.join(directory, "warehouse"),
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        # Checksum files beside data files are useless here, and double the number of files.
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        **_SESSION_SETTINGS,
    }


def _preferred_settings(master: str) -> dict[str, str]:
    """Returns settings of a Spark that starts, for those that spark-defaults.conf does not have."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.local.dir": os.path.join(_process_directory(), "local"),
        "spark.speculation": "false",
    }
    if master.startswith("local"):
        # Without these, Spark does not start on a machine whose name does not resolve.
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _process_directory() -> str:
    """Returns a directory for this process's Spark, removed when the process ends."""
    global _directory
    if _directory is None:
        _directory = ScratchDirectory("spark")
    return _directory.path


def _log_path() -> str:
    return os.path.join(_process_directory(), "spark.log")


def _tail(path: str, size: int = 8192) -> list[str]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - size))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []


# The settings of our sessions of Spark: the settings that results need, and the settings of its user for everything
# else.

_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
#: Settings of all our sessions: results depend on them, or the memory that a result takes.
_SESSION_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    # The variables of a text have their values before Spark gets it. Spark would read escaped references, too.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # ORC's reader orders -0.0 before 0.0: it would skip the rows of one where a condition names the other.
    "spark.sql.orc.filterPushdown": "false",
    # Spark cuts a decimal off that is too long for the smaller decimals of a file: it would skip rows, or fail.
    "spark.sql.parquet.filterPushdown.decimal": "false",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # Of rows of a megabyte each, the 10,000 rows of a batch would take the whole memory.
    _BATCH_BYTES: str(4 << 20),
    "spark.sql.pyspark.inferNestedDictAsStruct.enabled": "false",
}
#: Settings that save time. The user's settings are preferred.
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
    our sessions, too. A value of ``defaults`` may be the value of another session of ours, and is none of the user.
    """
    explicit = session.conf.getAll
    return {
        name: value
        for name, value in explicit.items()
        if name not in _SESSION_SETTINGS
        and value != {**_FAST_SETTINGS, **defaults}.get(name)
        and (known := engine_setting(name)) is not None
        and known.accepts(value)
        and session.conf.isModifiable(name)
    }


def apply_settings(session: Any, own: Mapping[str, str], defaults: Mapping[str, str], *, is_small: bool) -> None:
    """Sets what a session can change while Spark runs: ``own`` are settings of the user, ``defaults`` the settings that
    hold without them. Before that, settings that would change results get their defaults: a new session has the
    settings of its Spark, such as ``spark.sql.caseSensitive``.
    """
    for name, value in session.conf.getAll.items():
        known = engine_setting(name)
        if known is not None and not known.accepts(value) and session.conf.isModifiable(name):
            session.conf.unset(name)
    small = _SMALL_SETTINGS if is_small else {}
    for name, value in {**_FAST_SETTINGS, **defaults, **small, **_SESSION_SETTINGS, **own}.items():
        if session.conf.isModifiable(name):
            session.conf.set(name, value)


#: Settings of a session that an analyzed query does not read any more.
_READ_BY_ANALYSIS = (
    "spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.storeAssignmentPolicy",
    "spark.sql.parquet.outputTimestampType", "spark.sql.variable.substitute",
)  # fmt: skip
#: Settings that must be off where files of a format have some types inside of a column: only whole columns are kept
#: from filters (``relations._UNFILTERED_TYPES``).
_NESTED = ("array", "map", "struct")
_PUSHDOWNS = (
    ("spark.sql.orc.filterPushdown", "orc", ("float", "double")),
    ("spark.sql.parquet.filterPushdown.decimal", "parquet", ("decimal",)),
)


def _check_reading_settings(session: SparkSession, query: EngineQuery) -> None:
    """Raises ``NotSupportedError`` SPARK_SETTING_CHANGES_RESULTS where a setting of a classic session would change the
    rows that a query, once it is analyzed, reads of its relations.
    """
    for name, value in _explicit_settings(session).items():
        setting = engine_setting(name)
        is_ours = setting is None or setting.accepts(value) or name in _READ_BY_ANALYSIS
        # Our own sessions have a static setting, too.
        if not is_ours and session.conf.isModifiable(name):
            raise _setting_changes_results(name, value, f'spark.conf.unset("{name}")')
    text = query.sql.lower()
    for name, format, types in _PUSHDOWNS:
        columns = [
            column
            for relation in query.relations
            if relation.format.lower() == format and relation.view is None
            for column in relation.columns
            if column.type.lower().startswith(_NESTED) and ("*" in text or column.name.lower() in text)
        ]
        if any(type_ in column.type.lower() for column in columns for type_ in types):
            value = session.conf.get(name) or ""
            if value.lower() != "false":
                raise _setting_changes_results(name, value, f'spark.conf.set("{name}", "false")')


#: Stands between the settings in a text.
_SEPARATOR = f"\x01{uuid.uuid4().hex}\x01"


def _explicit_settings(session: Any) -> dict[str, str]:
    """Returns ``conf.getAll`` of a classic session in four calls of the JVM, where that takes two for each setting."""
    settings = session._jsparkSession.sessionState().conf().getAllConfs().mkString(_SEPARATOR)
    return dict(setting.split(" -> ", 1) for setting in settings.split(_SEPARATOR) if setting)


def _setting_changes_results(name: str, value: str, remedy: str) -> NotSupportedError:
    return NotSupportedError(
        f"With {name} = {value}, Spark could skip rows of these files, or read other values of them.",
        condition="SPARK_SETTING_CHANGES_RESULTS",
        object=name,
        hint=f"Call {remedy} in your session before you make the DataFrame, and leave it so while you use it.",
    )


class BorrowedFunctions:
    """The temporary functions of a user's session, in sessions of ours while a query is analyzed: each query has them
    as they are then.
    """

    def __init__(self, given: SparkSession | None) -> None:
        self._given: Any = given
        self._borrowed: list[tuple[Any, Any]] = []

    def give_back(self) -> None:
        """Removes them from our sessions."""
        while self._borrowed:
            registry, identifier = self._borrowed.pop()
            registry.dropFunction(identifier)

    def borrow(self, name: str, session: SparkSession) -> bool:
        """Makes the function of a name known to a session of ours. Returns whether there is one: a function of Python,
        or of SQL with a single value.
        """
        if self._given is None:
            return False
        jvm: Any = self._given.sparkContext._jvm
        some = jvm.scala.Some
        identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, some("session"), some("system"))
        source = self._given._jsparkSession.sessionState().functionRegistry()
        target = session._jsparkSession.sessionState().functionRegistry()
        builder, info = source.lookupFunctionBuilder(identifier), source.lookupFunction(identifier)
        if builder.isEmpty() or info.isEmpty() or target.lookupFunctionBuilder(identifier).isDefined():
            return False
        target.registerFunction(identifier, info.get(), builder.get())
        self._borrowed.append((target, identifier))
        return True

    def analyze(self, query: EngineQuery, session: SparkSession, arguments: dict[str, Any] | None) -> DataFrame:
        """Returns a query as a DataFrame of a session of ours. Raises ``NotSupportedError`` where a query of a cube
        calls a function of the user's session.
        """
        from pyspark.errors import AnalysisException

        self.give_back()
        while True:
            try:
                return session.sql(query.sql, args=arguments)
            except AnalysisException as error:
                name = unresolved_function(error)
                if name is None or not self.borrow(name, session):
                    raise
                if query.reads_cube:
                    self.give_back()
                    raise function_over_cube(name) from None


_PLAIN_NAME = re.compile("`([^`]+)`")


def unresolved_function(error: Any) -> str | None:
    """Returns the name of the function, without a schema, that Spark did not find; ``None`` for another error."""
    name = _PLAIN_NAME.fullmatch((error.getMessageParameters() or {}).get("routineName", ""))
    return name[1] if error.getCondition() == "UNRESOLVED_ROUTINE" and name is not None else None


def function_over_cube(name: str) -> NotSupportedError:
    """Returns the error for a query of a cube that calls a function of the user's session."""
    return NotSupportedError(
        f"{name} is a function of the Spark session, and a query of a cube cannot call it: its cover depends on what "
        "each function computes.",
        condition="SPARK_FUNCTION_OVER_CUBE",
        object=name,
        hint=f"Call it on the result: connection.sql('SELECT …').selectExpr('{name}(…)'). On Spark Connect, write the "
        "result into a table first, and query that.",
    )


#: Names of steps of a plan that run Python.
_PYTHON = re.compile("Python|Pandas|InArrow")


def rows_of_frame(frame: DataFrame, session: SparkSession) -> tuple[DataFrame, int, int]:
    """Returns the rows of a DataFrame of a classic Spark as a DataFrame of another session, the number of tasks that
    compute them, and Spark's estimate of their bytes. They are planned and computed under the settings of their own
    session, whenever they are read: shuffles, and all that Python computes, once, when this is called.
    """
    from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

    # Another query each time: one that ran keeps the shuffles of that run.
    own: Any = frame.select("*")
    with _active(own.sparkSession):
        if _PYTHON.search(own._jdf.queryExecution().executedPlan().toString()):
            # Its tasks read the settings of the query that they are a part of.
            own = own.localCheckpoint(eager=True)
        execution = own._jdf.queryExecution()
        rows = execution.toRdd()
        size = int(execution.optimizedPlan().stats().sizeInBytes())
    other: Any = session
    rows_there = other._jsparkSession.internalCreateDataFrame(rows, own._jdf.schema(), False)
    return ClassicFrame(rows_there, session), int(rows.getNumPartitions()), size


def silence() -> None:
    """Ends what PySpark prints to the terminal: a warning about pandas, and each failed query with its stack."""
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
