"""Commands ``rewriter`` without their imports: a server has the modules, and forks a process for each command.

A command is a process of its own, with its own arguments, environment, directory and streams. It saves the 1.5 s of CPU
time that imports take, in tests that run hundreds of commands. ``command(directory)`` writes the executable.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: Sends its arguments, environment, directory and streams to the server, and signals to the process; exits as it does.
_CLIENT = """#!{python} -SE
import json, os, signal, socket, sys
process, early = 0, []
def forward(number, frame):
    os.kill(process, number) if process else early.append(number)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, forward)
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
server.sendall(request)
lines = server.makefile()  # Under load, the process and its exit code arrive together.
process = int(lines.readline())
for number in early:
    os.kill(process, number)
sys.exit(int(lines.readline() or 1))
"""

#: What a statement on DuckDB imports. None of them may start a thread.
_MODULES = (
    "duckdb",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "rewriter.cli.main",
    "rewriter.exec.duckdb.engine",
    "rewriter.golden.runner",
    "rewriter.planner.plan_query",
    "rewriter.session",
    "rewriter.shell.commands",
    "rewriter.shell.executor",
    "rewriter.statements.query.select",
)


@contextlib.contextmanager
def command(directory: Path) -> Iterator[Path]:
    """Writes an executable ``rewriter`` into the directory, whose commands the server runs until the end.

    They have the effects of the installed one. A prompt on a terminal is not tried.
    """
    address = directory / "socket"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    server = subprocess.Popen(
        [sys.executable, __file__, str(address)], env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        executable = directory / "rewriter"
        executable.write_text(_CLIENT.format(python=sys.executable, address=str(address)), encoding="utf-8")
        executable.chmod(0o755)
        yield executable
    finally:
        server.kill()
        server.wait()


def _serve(address: str) -> None:
    for module in _MODULES:
        __import__(module)
    from rewriter.grammar.parser import parse
    from rewriter.statements.dispatch import runners

    runners()
    parse("SHOW TABLES")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(16)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os._exit(_attend(connection))
        connection.close()


def _attend(connection: socket.socket) -> int:
    """Forks the command, and tells its process and its exit code."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    request = b""
    while len(request) < int.from_bytes(size, "big"):
        request += connection.recv(1 << 16)
    process = os.fork()
    if process == 0:
        connection.close()
        arguments, environment, directory = json.loads(request)
        _become(arguments, environment, directory, streams)
    for stream in streams:
        os.close(stream)
    connection.sendall(b"%d\n" % process)
    _, status = os.waitpid(process, 0)
    with contextlib.suppress(OSError):
        connection.sendall(b"%d\n" % (os.waitstatus_to_exitcode(status) % 256))
    return 0


def _become(arguments: list[str], environment: dict[str, str], directory: str, streams: list[int]) -> None:
    from rewriter.cli.main import main

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["rewriter", *arguments]
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    code = 1
    try:
        code = main()
        sys.stdout.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
