"""Sessions of a Spark Connect server. No Java runs in this process.

The server has to see the files that this process sees, under the same paths: the files of the warehouse, and temporary
files, by which a query learns the files of its tables. A server on this machine does.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rewriter.errors import EngineError, InterfaceError
from rewriter.exec.spark.relations import file_uri
from rewriter.exec.spark.session import apply_settings, data_sources, local_settings, own_settings, silence
from rewriter.exec.spark.task_progress import ConnectTasks
from rewriter.exec.spark.watch import Watch, lost, reach, says_lost, unreachable
from rewriter.scratch_directories import ScratchDirectory

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.session import SparkSession

    from rewriter.exec.interrupts import Measured

SCHEME = "sc://"
_SERVER = "The Spark Connect server"
_DEFAULT_PORT = 15002
#: How often, and after which pauses in milliseconds, a lost connection is tried again: for 12 seconds. The client's own
#: retries take ten minutes.
_RETRIES = {"max_retries": 6, "max_backoff": 4000, "max_server_retry_delay": 10_000}
_ADDRESS = re.compile(r"sc://(?P<host>\[[^\]]*\]|[^:/;]*)(:(?P<port>\d+))?(/.*)?", re.DOTALL)


class ConnectedSpark:
    """Two sessions of a server, one of them for small queries, and copies of the session that was handed in."""

    def __init__(self, session: SparkSession, small_session: SparkSession, given: SparkSession | None = None) -> None:
        self.session = session
        self.small_session = small_session
        self._given = given
        #: A copy for each query that calls functions of the session that was handed in.
        self._copies: list[SparkSession] = []
        #: True if the server computes everything in one process.
        self.master = str(session.conf.get("spark.master", ""))
        self.is_local = self.master.startswith("local")
        #: The server may run on another machine.
        self.shares_files = False
        self.address = _address_of(session)
        #: A client does not see the executors of the server, and its calls fail if the server is gone.
        self.watch = Watch(self.address, lambda: True)
        self._tasks = ConnectTasks()
        for watched in (session, small_session):
            self._tasks.watch(watched)

    def copy_given(self, session: SparkSession) -> SparkSession | None:
        """Returns a copy of the session that was handed in, which has its temporary functions as they are now, with the
        settings and data sources of a session of ours. Returns ``None`` without such a session, and for a server that
        makes no copies. About 0.1 s.
        """
        from grpc import StatusCode
        from pyspark.errors import PySparkException

        if self._given is None:
            return None
        try:
            copy = self._given.cloneSession()
        except PySparkException as error:
            if getattr(error, "getGrpcStatusCode", lambda: None)() is StatusCode.UNIMPLEMENTED:
                return None
            raise
        self._copies.append(copy)
        copy.client.set_retry_policies([_retry_policy()])
        self._tasks.watch(copy)
        _copy_settings(session, copy)
        _register_data_sources(copy)
        return copy

    def end_copy(self, copy: SparkSession) -> None:
        """Ends a copy. The session that was handed in stays."""
        if copy in self._copies:
            self._copies.remove(copy)
            _end(copy)

    def enter_job(self, session: SparkSession, group: str, description: str) -> None:
        """Tags what this thread executes from now on, so that ``cancel`` stops it. The server knows the statement's
        text.
        """
        session.clearTags()
        session.addTag(group)
        self._tasks.enter(group)

    def cancel(self, group: str) -> None:
        """Stops what has the tag, from any thread."""
        for session in (self.session, self.small_session, *self._copies):
            session.interruptTag(group)

    def measure(self, group: str) -> Measured | None:
        """Returns the tasks of the group's query that are done, as the server last reported them."""
        return self._tasks.measured(group)

    def is_lost(self, error: BaseException) -> bool:
        """Tests whether an error came because the server, or what it knew of this session, is gone."""
        return _is_lost(error)

    def abandon(self) -> EngineError:
        """Ends the sessions of a server that is gone, and returns the error for its statement."""
        self.stop()
        return lost(self.address)

    def stop(self) -> None:
        """Ends the sessions; the server goes on."""
        for session in (self.session, self.small_session, *self._copies):
            _end(session)
        self._copies.clear()


def _end(session: SparkSession) -> None:
    # Not ``stop``: it would also end a local server, which belongs to the user.
    with suppress(Exception):  # The server still ends a canceled query, or is gone: then one try is enough.
        session.client.set_retry_policies([_retry_policy(max_retries=0)])
        session.client.release_session()
    with suppress(Exception):
        session.client.close()


def _copy_settings(source: SparkSession, target: SparkSession) -> None:
    """Gives a session the settings of another one of the same server, and no others."""
    settings, others = source.conf.getAll, target.conf.getAll
    for name in others.keys() - settings.keys():
        if target.conf.isModifiable(name):
            target.conf.unset(name)
    for name, value in settings.items():
        if others.get(name) != value and target.conf.isModifiable(name):
            target.conf.set(name, value)


def _register_data_sources(session: SparkSession) -> None:
    for source in data_sources():
        session.dataSource.register(source)


def connect(url: str, conf: Mapping[str, str]) -> ConnectedSpark:
    """Returns sessions of the server at a URL (``sc://host:15002``). No message has its parameters, such as a token.

    Raises ``InterfaceError`` SPARK_CONNECT_NOT_FOUND without the client's packages, and ``EngineError``
    ENGINE_UNREACHABLE for a server that cannot be reached.
    """
    try:
        silence()
        from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        raise InterfaceError(
            f"The client of Spark Connect cannot be imported: {(str(error).strip().splitlines() or ['?'])[0]}",
            condition="SPARK_CONNECT_NOT_FOUND",
            hint="Run pip install 'rewriter[connect]'.",
        ) from error
    reach_server(url)
    first = SparkSession(connection=url)
    first.client.set_retry_policies([_retry_policy()])
    try:
        return _over(first, conf, None)
    finally:
        first.client.close()


def reach_server(url: str) -> None:
    """Raises ``EngineError`` ENGINE_UNREACHABLE unless something listens at the address of a URL, and
    ``InterfaceError`` for a text that is no URL.
    """
    reach(_SERVER, [_host_and_port(url)], f"{SCHEME}{shown_address(url)}")


def shown_address(url: str) -> str:
    """Returns the host and the port of a URL, without its parameters, such as a token."""
    host, port = _host_and_port(url)
    return f"{host}:{port}"


def _host_and_port(url: str) -> tuple[str, int]:
    address = _ADDRESS.fullmatch(url)
    if address is None or not address["host"]:
        raise InterfaceError("The URL of Spark Connect cannot be read.", object="master", hint="Write sc://host:15002.")
    return address["host"], int(address["port"] or _DEFAULT_PORT)


def over(session: SparkSession, conf: Mapping[str, str]) -> ConnectedSpark:
    """Returns new sessions of the same server. The settings and views of ``session`` are not touched.

    Raises ``EngineError`` CONNECT_FILES_NOT_SHARED if the server does not see this process's files, and
    ENGINE_UNREACHABLE if the server is gone.
    """
    return _over(session, conf, session)


def _over(session: SparkSession, conf: Mapping[str, str], given: SparkSession | None) -> ConnectedSpark:
    from pyspark.errors import PySparkException

    silence()
    own_sessions = session.newSession(), session.newSession()
    for own_session in own_sessions:
        own_session.client.set_retry_policies([_retry_policy()])
    try:
        return _prepared(ConnectedSpark(*own_sessions, given), {**own_settings(session, {}), **conf})
    except PySparkException as error:
        address = _address_of(session)
        if _is_lost(error):
            raise unreachable(_SERVER, address, "it does not respond as one") from None
        raise EngineError(
            f"The Spark Connect server at {address} gives no session: {str(error).strip().splitlines()[0]}",
            condition="SPARK_START_FAILED",
            object=address,
            hint="Check the parameters of the URL, and the log of the server.",
        ) from None


def _is_lost(error: BaseException) -> bool:
    """Tests whether an error came because the server, or what it knew of this session, is gone."""
    from grpc import StatusCode

    status = getattr(error, "getGrpcStatusCode", lambda: None)()
    return status is StatusCode.UNAVAILABLE or says_lost(str(error))


def _retry_policy(**options: int) -> Any:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    return DefaultPolicy(**{**_RETRIES, **options})


def _address_of(session: SparkSession) -> str:
    """Returns the address of a session's server, without the parameters of its URL."""
    client: Any = session.client
    return f"{SCHEME}{getattr(client._builder, 'endpoint', client.host)}"


def _prepared(started: ConnectedSpark, own: Mapping[str, str]) -> ConnectedSpark:
    defaults = local_settings(started.master)
    apply_settings(started.session, own, defaults, is_small=False)
    apply_settings(started.small_session, own, defaults, is_small=True)
    _check_files(started.session)
    for own_session in (started.session, started.small_session):
        _register_data_sources(own_session)
    return started


def _check_files(session: SparkSession) -> None:
    """Writes a temporary file, and has the server read it."""
    from pyspark.errors import PySparkException

    scratch, text = ScratchDirectory("connect"), uuid.uuid4().hex
    try:
        path = os.path.join(scratch.path, "probe.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        try:
            lines = [row[0] for row in session.read.text(file_uri(path)).collect()]
        except PySparkException as error:
            if _is_lost(error):
                raise
            lines = []
    finally:
        scratch.remove()
    if lines != [text]:
        raise EngineError(
            f"The Spark Connect server does not see the files of this machine: {path} was not found.",
            condition="CONNECT_FILES_NOT_SHARED",
            object=path,
            hint="Use a server on this machine, or set TMPDIR to a directory that both share under the same path, as "
            "the warehouse has to be.",
        )


def arrow_tables(frame: DataFrame) -> Iterator[pa.Table]:
    """Yields the rows of a query as they arrive: at least one table, which may be empty. The first ``next`` runs it."""
    import pyarrow as pa

    client: Any = frame.sparkSession.client
    plan: Any = frame._plan
    for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(part, pa.Table):
            yield part
