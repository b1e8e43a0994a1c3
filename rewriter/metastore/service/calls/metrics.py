"""Counters of the calls of a server, under the names that fb303 clients ask for."""

from __future__ import annotations

import threading
from collections import Counter


class CallMetrics:
    """Counts calls, errors and microseconds by method. For any thread. Some microseconds for each call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def record(self, method: str, milliseconds: float, failed: bool) -> None:
        """Counts a call that has ended."""
        with self._lock:
            self._counts[f"{method}.calls"] += 1
            self._counts[f"{method}.microseconds"] += int(milliseconds * 1000)
            if failed:
                self._counts[f"{method}.errors"] += 1

    def counters(self) -> dict[str, int]:
        """Returns all counters by name, such as ``get_table.calls``."""
        with self._lock:
            return dict(self._counts)
