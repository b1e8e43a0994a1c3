"""A fork waits until no other thread is in a call of a database's driver.

SQLite and libpq have locks of their own. A forked child has one thread, so a lock that another thread held at the fork
is never released there, and the child's first call waits for ever. After ``LONGEST_WAIT`` the process forks
nevertheless.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: How long a fork waits for calls of other threads, in seconds.
LONGEST_WAIT = 1.0


class _ForkGuard:
    """The calls in progress, by thread. One exists in a process: ``driver_calls`` enters it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._depths: dict[int, int] = {}
        self._forking = False

    def enter(self) -> None:
        """Counts a call of this thread. A thread without a call waits while another thread forks."""
        thread = threading.get_ident()
        with self._changed:
            if self._forking and thread not in self._depths:
                self._changed.wait_for(lambda: not self._forking, LONGEST_WAIT)
            self._depths[thread] = self._depths.get(thread, 0) + 1

    def leave(self) -> None:
        """Ends the last call that this thread entered."""
        thread = threading.get_ident()
        with self._changed:
            depth = self._depths.get(thread, 0)
            if depth > 1:
                self._depths[thread] = depth - 1
            else:
                self._depths.pop(thread, None)
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Holds new calls back, and waits for the calls of other threads."""
        own_thread = {threading.get_ident()}
        # Released after the fork, so that no thread holds it at the fork.
        self._changed.acquire()
        self._forking = True
        self._changed.wait_for(lambda: self._depths.keys() <= own_thread, LONGEST_WAIT)

    def after_fork(self) -> None:
        """Lets calls begin again, in the parent."""
        self._forking = False
        self._changed.notify_all()
        self._changed.release()

    def in_child(self) -> None:
        """Forgets the threads that the child does not have."""
        thread = threading.get_ident()
        self._changed = threading.Condition()
        self._forking = False
        self._depths = {thread: self._depths[thread]} if thread in self._depths else {}


_GUARD = _ForkGuard()
os.register_at_fork(before=_GUARD.before_fork, after_in_parent=_GUARD.after_fork, after_in_child=_GUARD.in_child)


@contextmanager
def driver_calls() -> Iterator[None]:
    """Encloses calls of a database's driver. It may be nested."""
    _GUARD.enter()
    try:
        yield
    finally:
        _GUARD.leave()
