"""A Hive metastore 2.3.10 on Derby, in a process of its own, started from the jars of PySpark, and its client.

The client is ``pymetastore``'s generated Thrift code (the extra ``bench``), with the binary protocol in C if Thrift has
it.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from rewriter.errors import JavaNotFoundError
from rewriter.exec.spark.java import find_java_home

#: The reason why there is no peer to compare with.
MISSING = "The Hive metastore is not measured: its client pymetastore is missing; pip install -e '.[bench]' brings it"

_START_SECONDS = 300
_OPENED = ("java.net", "java.lang")


def unavailable() -> str | None:
    """Returns the reason why no metastore can be started here, in one line, or ``None``."""
    if find_spec("pymetastore") is None:
        return MISSING
    try:
        find_java_home()
    except JavaNotFoundError as error:
        return f"The Hive metastore is not measured: {error.message}"
    return None


@contextmanager
def running(*, statistics: bool = True) -> Iterator[int]:
    """Starts a metastore with an empty database in a temporary directory, and returns its port on 127.0.0.1. It is
    killed at the end.

    Without ``statistics``, which are not used here, adding partitions lists no directories. Takes twenty seconds on an
    idle machine. Raises ``RuntimeError`` with the end of its log if it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="hive-metastore-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        port = _free_port()
        (home / "hive-site.xml").write_text(_site(home, statistics), encoding="utf-8")
        with open(home / "log", "wb") as log:
            server = subprocess.Popen(_command(home, port), cwd=home, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait(server, port, home / "log")
            yield port
        finally:
            server.kill()
            server.wait()


@contextmanager
def client(port: int) -> Iterator[Any]:
    """Opens a connection over loopback: the generated client, whose methods are ``ThriftHiveMetastore``'s."""
    from pymetastore.hive_metastore.ThriftHiveMetastore import Client
    from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
    from thrift.transport.TSocket import TSocket
    from thrift.transport.TTransport import TBufferedTransport

    transport = TBufferedTransport(TSocket("127.0.0.1", port), 1 << 16)
    transport.open()
    try:
        yield Client(TBinaryProtocolAcceleratedFactory().getProtocol(transport))
    finally:
        transport.close()


def _site(home: Path, statistics: bool) -> str:
    # The default pool of connections is BoneCP, which PySpark lacks: without it, DROP DATABASE ends the connection.
    settings: Mapping[str, str] = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home}/derby;create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
        "hive.metastore.warehouse.dir": f"file://{home}/warehouse",
        "hive.metastore.schema.verification": "false",
        "datanucleus.schema.autoCreateAll": "true",
        "datanucleus.connectionPoolingType": "hikaricp",
        "hive.async.log.enabled": "false",
        "hive.stats.autogather": str(statistics).lower(),
    }
    entries = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value></property>" for name, value in settings.items()
    )
    return f"<configuration>{entries}</configuration>\n"


def _command(home: Path, port: int) -> list[str]:
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    jars = Path(spark.origin).parent / "jars"
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    java = find_java_home() / "bin" / "java"
    where = [f"-Dderby.stream.error.file={home}/derby.log", "-cp", f"{home}:{jars}/*"]
    return [str(java), *opened, *where, "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise RuntimeError(f"the Hive metastore did not come up in {_START_SECONDS} s; its log ends:\n{tail}")
