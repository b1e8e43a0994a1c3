"""The metrics of a cache."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Miss(Enum):
    """The reason why a result came from the store."""

    ABSENT = "absent"
    CHANGED = "changed"
    OLDER = "older"
    UNCOMMITTED = "uncommitted"


#: Every metric and its meaning.
MEANINGS: Mapping[str, str] = {
    "capacity_bytes": "memory limit of the cache; 0: no cache",
    "bytes": "approximate memory use of the cached results",
    "entries": "cached results",
    "hits": "reads served from the cache",
    "misses_absent": "reads from the store: the result was not cached, or was evicted",
    "misses_changed": "reads from the store: a commit changed the object after it was cached",
    "misses_older": "reads from the store: the cached result has writes that the reader does not see",
    "misses_uncommitted": "reads from the store: the log was read only partway through a commit",
    "lists_known": "write-id lists taken from the log",
    "lists_read": "write-id lists read from the store",
    "evicted": "results evicted to make room",
    "refreshed": "results refreshed in the background",
    "events": "log events read",
    "events_behind": "log events not yet read, as of the last poll",
    "gaps": "times that log events were missing, and write-id lists were discarded",
    "position": "number of the last event read; -1: none",
    "commit": "number of the last commit read completely; -1: none",
}

#: A metric for each cause.
MISSES = {cause: f"misses_{cause.value}" for cause in Miss}
