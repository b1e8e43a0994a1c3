"""Faults of a disk: the kernel refuses the n-th call with which a process changes files below a directory.

A filter of system calls (seccomp) asks this process about each call of its child, from whichever library it comes:
Python, DuckDB, Arrow, SQLite. Neither root nor a file system of its own is needed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import gc
import os
import pickle
import platform
import select
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Number of a call on x86-64 → its name, and the argument that holds the changed file: a descriptor, or a path after
#: the descriptor of its directory (``None`` for the working directory).
_BY_DESCRIPTOR = {
    1: ("write", 0), 18: ("pwrite", 0), 20: ("writev", 0), 296: ("pwritev", 0), 328: ("pwritev2", 0),
    40: ("sendfile", 0), 326: ("copy_file_range", 2), 77: ("ftruncate", 0), 285: ("fallocate", 0),
    74: ("fsync", 0), 75: ("fdatasync", 0),
}  # fmt: skip
_BY_PATH = {
    2: ("open", None, 0), 257: ("open", 0, 1), 85: ("creat", None, 0), 76: ("truncate", None, 0),
    82: ("rename", None, 1), 264: ("rename", 2, 3), 316: ("rename", 2, 3), 86: ("link", None, 1), 265: ("link", 2, 3),
    88: ("symlink", None, 1), 266: ("symlink", 1, 2), 83: ("mkdir", None, 0), 258: ("mkdir", 0, 1),
    84: ("rmdir", None, 0), 87: ("unlink", None, 0), 263: ("unlink", 0, 1),
}  # fmt: skip
#: The calls that give room back: a full disk does not refuse them.
_REMOVING = frozenset({"unlink", "rmdir", "truncate", "ftruncate"})
#: The argument that holds the flags of a call that opens a file, and the flags with which it may change the file.
_FLAGS_OF_OPEN = {2: 1, 257: 2}
_CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

_SECCOMP, _PRCTL_NO_NEW_PRIVILEGES = 317, 38
_SET_FILTER, _ACTION_AVAILABLE, _WITH_LISTENER = 1, 2, 8
_ASK, _ALLOW = 0x7FC00000, 0x7FFF0000
_RECEIVE, _RESPOND, _CONTINUE = 0xC0502100, 0xC0182101, 1


def is_possible() -> bool:
    """Tests whether this system has such filters: Linux 5.5 or later, on x86-64."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    library = ctypes.CDLL(None)
    return bool(library.syscall(_SECCOMP, _ACTION_AVAILABLE, 0, ctypes.byref(ctypes.c_uint32(_ASK))) == 0)


@dataclass(frozen=True)
class DiskFault:
    """The error number of the call number ``moment``, counted from 1. If the fault ``stays``, all later calls have it,
    but for those that give room back to a full disk.
    """

    moment: int
    error: int
    stays: bool = False


@dataclass(frozen=True)
class Outcome:
    """The refused call, and its path; ``None`` if the work ended before. ``raised`` is the exception of the work,
    ``trace`` its traceback.
    """

    refused: str | None
    calls: int
    result: Any = None
    raised: BaseException | None = None
    trace: str = ""


def with_fault(root: Path, fault: DiskFault, run: Callable[[], Any]) -> Outcome:
    """Returns the outcome of ``run`` in a child process, whose calls below ``root`` have the fault. It calls
    ``counted_from_here``.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        # The child lacks the threads of engines that other tests started. The objects of these engines must not be
        # collected.
        gc.disable()
        try:
            socket.send_fds(theirs, [b"."], [_install_filter()])
            try:
                outcome = (run(), None, "")
            except BaseException as error:
                outcome = (None, error, traceback.format_exc())
            try:
                content = pickle.dumps(outcome)
            except Exception:
                content = pickle.dumps((None, RuntimeError(outcome[2]), outcome[2]))
            theirs.sendall(content)
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        _, (listener,), _, _ = socket.recv_fds(ours, 1, 1)
        content, refused, calls = _supervised(listener, ours, os.path.realpath(root), fault)
    os.waitpid(child, 0)
    assert content, "the child died"
    return Outcome(refused, calls, *pickle.loads(content))


def _install_filter() -> int:
    """Returns the descriptor on which the kernel asks about calls of this thread and those that it starts."""
    load, equal, some_bit, give = 0x20, 0x15, 0x45, 0x06
    always = [number for number in (*_BY_DESCRIPTOR, *_BY_PATH) if number not in _FLAGS_OF_OPEN]
    program = [(load, 0, 0, 0)]
    for number in always:
        program += [(equal, 0, 1, number), (give, 0, 0, _ASK)]
    for number, argument in _FLAGS_OF_OPEN.items():
        program += [(equal, 0, 4, number), (load, 0, 0, 16 + 8 * argument), (some_bit, 0, 1, _CHANGING)]
        program += [(give, 0, 0, _ASK), (give, 0, 0, _ALLOW)]
    program.append((give, 0, 0, _ALLOW))
    code = b"".join(struct.pack("=HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    library = ctypes.CDLL(None, use_errno=True)
    assert library.prctl(_PRCTL_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    descriptor = library.syscall(_SECCOMP, _SET_FILTER, _WITH_LISTENER, header)
    assert descriptor >= 0, os.strerror(ctypes.get_errno())
    return int(descriptor)


def _supervised(listener: int, ours: socket.socket, root: str, fault: DiskFault) -> tuple[bytes, str | None, int]:
    """Decides about the calls until the child ends. Returns what it sent, the first refused call, and their number."""
    content, refused, calls, is_counted = b"", None, 0, False
    poll = select.poll()
    for descriptor in (listener, ours.fileno()):
        poll.register(descriptor, select.POLLIN)
    while True:
        ready = dict(poll.poll())
        if ours.fileno() in ready:
            piece = ours.recv(1 << 16)
            content += piece
            if not piece:
                os.close(listener)
                return content, refused, calls
        if not ready.get(listener, 0) & select.POLLIN:
            continue
        question = bytearray(80)
        try:
            fcntl.ioctl(listener, _RECEIVE, question)
        except FileNotFoundError:
            continue
        id, thread, _, number, _, _, *arguments = struct.unpack("=QIIiIQ6Q", question)
        name, path = _call(thread, number, arguments)
        number_of_error = 0
        if path == _BEGINNING:
            is_counted = True
        elif is_counted and path is not None and (path + "/").startswith(root + "/"):
            calls += 1
            is_due = calls >= fault.moment if fault.stays else calls == fault.moment
            if is_due and not (fault.error == errno.ENOSPC and name in _REMOVING):
                refused = refused or f"{name} {os.path.relpath(path, root)}"
                number_of_error = fault.error
        response = struct.pack("=QqiI", id, 0, -number_of_error, 0 if number_of_error else _CONTINUE)
        try:
            fcntl.ioctl(listener, _RESPOND, response)
        except FileNotFoundError:  # The thread is gone.
            continue


def _call(thread: int, number: int, arguments: list[int]) -> tuple[str, str | None]:
    """Returns the name of a call, and the path that it changes; ``None`` if it has none."""
    try:
        if number in _BY_DESCRIPTOR:
            name, place = _BY_DESCRIPTOR[number]
            return name, os.readlink(f"/proc/{thread}/fd/{arguments[place]}")
        name, folder, place = _BY_PATH[number]
        with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
            memory.seek(arguments[place])
            text = os.fsdecode(memory.read(4096).split(b"\0", 1)[0])
        is_below_working = folder is None or ctypes.c_int(arguments[folder]).value == -100
        above = f"/proc/{thread}/cwd" if is_below_working else f"/proc/{thread}/fd/{arguments[folder or 0]}"
        return name, os.path.normpath(os.path.join(os.readlink(above), text))
    except OSError:
        return "", None


#: A file that no test has: to remove it begins the count.
_BEGINNING = "/no-file-but-the-beginning-of-a-count"


def counted_from_here() -> None:
    """Lets the calls of ``with_fault`` be counted from this moment on."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_BEGINNING)
