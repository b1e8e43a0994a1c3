"""``rewriter serve --metastore`` beside a Hive metastore 2.3.10 on Derby, in one run: calls per second, and their p99.

Both are processes of their own. The clients are threads of this process with a connection each. A client sends a call
that was encoded before, and reads the bytes of its reply, whose number the first reply shows: so the clients take
little of the processors.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import hive_metastore
from benchmarks.timing import WideTable, ratio, shown

#: Seconds of each measurement, and the numbers of clients.
SECONDS, CLIENTS = 3.0, (1, 16)
#: Java compiles meanwhile what is called often.
WARM_SECONDS = 2.0
#: The partitions of the table that is read: hours of days.
READ = 2_016
BATCH = 1_000
_PARQUET = "org.apache.hadoop.hive.ql.io.parquet"
OURS, THEIRS = "rewriter", "Hive 2.3.10"


@dataclass(frozen=True)
class Server:
    """A running metastore: its name, port and process, and the seconds of its start."""

    name: str
    port: int
    process: int
    start_seconds: float


@dataclass(frozen=True)
class Load:
    """Calls per second of all clients together, and the 99th percentile of one call in seconds."""

    rate: float
    p99: float

    def text(self) -> str:
        return f"{self.rate:,.0f}/s, p99 {shown(self.p99)}"


def measure(many: int) -> Iterator[WideTable]:
    """Yields the table of both, and the table of ours alone with ``many`` partitions."""
    with tempfile.TemporaryDirectory(prefix="rewriter-thrift-") as folder, running(Path(folder, "w")) as ours:
        started = time.perf_counter()
        with hive_metastore.running(statistics=False) as port:
            theirs = Server(THEIRS, port, _listener(port), time.perf_counter() - started)
            compared = _compared(ours, theirs, Path(folder))
        with hive_metastore.running() as port:
            plain = Server("as it comes", port, 0, 0.0)
            adds = [fill(server, "plain", Path(folder, f"plain of {server.name}"), BATCH) for server in (ours, plain)]
        row = ("add 1,000, Hive as it comes", *(f"{rate:,.0f} partitions/s" for rate in adds), ratio(*adds))
        yield replace(compared, rows=(*compared.rows[:2], row, *compared.rows[2:]))
        yield _alone(ours, Path(folder), many)


@contextmanager
def running(warehouse: Path) -> Iterator[Server]:
    """Serves the catalog of a warehouse as a metastore in a process of its own, and yields the server."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "rewriter", "serve", "--metastore", "--port", "0", "-w", str(warehouse)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        yield Server(OURS, port, process.pid, time.perf_counter() - started)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _compared(ours: Server, theirs: Server, folder: Path) -> WideTable:
    rows: list[tuple[str, ...]] = [
        (
            "start",
            shown(ours.start_seconds),
            shown(theirs.start_seconds),
            ratio(theirs.start_seconds, ours.start_seconds),
        )
    ]
    adds = [fill(server, "t", folder / server.name, READ) for server in (ours, theirs)]
    rows.append(("add 1,000 partitions", *(f"{rate:,.0f} partitions/s" for rate in adds), ratio(adds[0], adds[1])))
    calls: dict[str, tuple[str, tuple[Any, ...]]] = {
        "get_table": ("get_table", ("default", "t")),
        "one day by filter (24)": ("get_partitions_by_filter", ("default", "t", 'dt = "2024-01-02"', -1)),
        "names of all (2,016)": ("get_partition_names", ("default", "t", -1)),
    }
    for label, (method, arguments) in calls.items():
        for clients in CLIENTS:
            loads = [_load(server, method, arguments, clients) for server in (ours, theirs)]
            title = f"{label}, {clients} client{'s' * (clients > 1)}"
            rows.append((title, *(load.text() for load in loads), ratio(loads[0].rate, loads[1].rate)))
    rows.append((f"memory, {READ:,} partitions", *(f"{_megabytes(server)} MB" for server in (ours, theirs)), ""))
    notes = (
        "The last column is how many times more ours does, or less it takes.",
        "Statistics of Hive are off, and the directories of its partitions exist before. As it comes, it makes and "
        "lists a directory for each partition.",
    )
    return WideTable("The Thrift service of the metastore", ("what", OURS, THEIRS, "ratio"), tuple(rows), notes)


def _alone(ours: Server, folder: Path, many: int) -> WideTable:
    added = fill(ours, "big", folder / "big", many)
    with hive_metastore.client(ours.port) as client:
        started = time.perf_counter()
        assert len(client.get_partition_names("default", "big", -1)) == many
        names = time.perf_counter() - started
        started = time.perf_counter()
        assert len(client.get_partitions("default", "big", -1)) == many
        every = time.perf_counter() - started
    rows = (
        ("add, 1,000 in a call", f"{added:,.0f} partitions/s"),
        ("names of all", shown(names)),
        ("all, with the client's decoding", shown(every)),
        ("memory", f"{_megabytes(ours)} MB"),
    )
    return WideTable(f"The Thrift service over {many:,} partitions", ("what", OURS), rows)


def fill(server: Server, name: str, folder: Path, count: int) -> float:
    """Creates a table with partitions, and returns how many a second were added."""
    from pymetastore.hive_metastore import ttypes as t

    serde = t.SerDeInfo(serializationLib=f"{_PARQUET}.serde.ParquetHiveSerDe", parameters={})
    columns = [t.FieldSchema(f"c{number}", "int", "") for number in range(10)]

    def descriptor(path: Path) -> Any:
        return t.StorageDescriptor(
            cols=columns,
            location=f"file:{path}",
            inputFormat=f"{_PARQUET}.MapredParquetInputFormat",
            outputFormat=f"{_PARQUET}.MapredParquetOutputFormat",
            numBuckets=-1,
            serdeInfo=serde,
            bucketCols=[],
            sortCols=[],
            parameters={},
        )

    keys = [t.FieldSchema("dt", "string", ""), t.FieldSchema("hr", "int", "")]
    table = t.Table(
        tableName=name,
        dbName="default",
        owner="bench",
        sd=descriptor(folder),
        partitionKeys=keys,
        parameters={"EXTERNAL": "TRUE"},
        tableType="EXTERNAL_TABLE",
    )
    spent = 0.0
    with hive_metastore.client(server.port) as client:
        client.create_table(table)
        for first in range(0, count, BATCH):
            batch = []
            for number in range(first, min(first + BATCH, count)):
                day, hour = divmod(number, 24)
                values = [f"{2024 + day // 336}-{1 + day % 336 // 28:02}-{1 + day % 28:02}", str(hour)]
                place = folder / f"dt={values[0]}" / f"hr={values[1]}"
                if server.name == THEIRS:
                    place.mkdir(parents=True, exist_ok=True)
                batch.append(
                    t.Partition(values=values, dbName="default", tableName=name, sd=descriptor(place), parameters={})
                )
            started = time.perf_counter()
            client.add_partitions(batch)
            spent += time.perf_counter() - started
    return count / spent


def _load(server: Server, method: str, arguments: tuple[Any, ...], clients: int) -> Load:
    """Calls a method from some clients at once."""
    request = _encoded(method, arguments)
    times: list[list[float]] = [[] for _ in range(clients)]
    ready = threading.Barrier(clients)
    threads = [threading.Thread(target=_client, args=(server, request, ready, own)) for own in times]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = sorted(seconds for own in times for seconds in own)
    return Load(len(every) / SECONDS, every[int(len(every) * 0.99)])


def _client(server: Server, request: bytes, ready: threading.Barrier, times: list[float]) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        length = _first_reply(connection, request)
        buffer = memoryview(bytearray(length))
        warm = time.perf_counter() + WARM_SECONDS
        while time.perf_counter() < warm:
            _call(connection, request, buffer)
        ready.wait()
        end = time.perf_counter() + SECONDS
        while (started := time.perf_counter()) < end:
            _call(connection, request, buffer)
            times.append(time.perf_counter() - started)


def _call(connection: socket.socket, request: bytes, buffer: memoryview) -> None:
    connection.sendall(request)
    received = 0
    while received < len(buffer):
        received += connection.recv_into(buffer[received:])


def _first_reply(connection: socket.socket, request: bytes) -> int:
    """Returns the number of bytes of a reply: what comes until nothing comes for half a second."""
    connection.sendall(request)
    connection.settimeout(60)
    length = len(connection.recv(1 << 16))
    connection.settimeout(0.5)
    try:
        while received := len(connection.recv(1 << 20)):
            length += received
    except TimeoutError:
        pass
    connection.settimeout(None)
    return length


def _encoded(method: str, arguments: tuple[Any, ...]) -> bytes:
    from pymetastore.hive_metastore.ThriftHiveMetastore import Client
    from thrift.protocol.TBinaryProtocol import TBinaryProtocol
    from thrift.transport.TTransport import TMemoryBuffer

    buffer = TMemoryBuffer()
    getattr(Client(TBinaryProtocol(buffer)), f"send_{method}")(*arguments)
    encoded: bytes = buffer.getvalue()
    return encoded


def _megabytes(server: Server) -> int:
    pages = int(Path(f"/proc/{server.process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def _listener(port: int) -> int:
    """Returns the process that was started last, if its command names the port of the metastore."""
    for entry in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: -int(path.name)):
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if b"HiveMetaStore" in command and str(port).encode() in command:
            return int(entry.name)
    raise RuntimeError("the Hive metastore has no process")
