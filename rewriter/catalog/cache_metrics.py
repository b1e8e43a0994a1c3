"""What a cache counts of itself."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Miss(Enum):
    """Why an answer came from the store."""

    ABSENT = "absent"
    CHANGED = "changed"
    OLDER = "older"
    UNCOMMITTED = "uncommitted"


#: Every metric and what it says.
MEANINGS: Mapping[str, str] = {
    "capacity_bytes": "the most that answers may take; 0: there is no cache",
    "bytes": "what the answers in memory take, about",
    "entries": "answers in memory",
    "hits": "answers from memory",
    "misses_absent": "answers from the store: not in memory, or not any more",
    "misses_changed": "answers from the store: a commit has changed the object since",
    "misses_older": "answers from the store: the reader does not see what memory holds",
    "misses_uncommitted": "answers from the store: the log was read into the middle of a commit",
    "lists_known": "lists of write ids that the log had told",
    "lists_read": "lists of write ids that were read from the store",
    "evicted": "answers that had to go for others",
    "refreshed": "answers that were renewed in the background",
    "events": "events of the log that were read",
    "events_behind": "events of the log that were not read yet, when last seen",
    "gaps": "times that the log had lost events, and lists were forgotten",
    "position": "the number of the last event that was read; -1: none",
    "commit": "the number of the last commit that was read whole; -1: none",
}

#: A metric for each cause.
MISSES = {cause: f"misses_{cause.value}" for cause in Miss}
