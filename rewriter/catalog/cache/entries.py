"""The content of a cache: results under the write ids that they were read under, within a bound of bytes."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING

from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.filters.predicates import ScanFilter
    from rewriter.catalog.model.key_ranges import KeyRange
    from rewriter.catalog.model.write_ids import ValidWriteIdList

#: The number of members that are measured of a longer tuple or mapping; the others count as the same.
_SAMPLE = 64
#: The bytes of an entry in addition to its result: the keys, the slots, its position in the order.
_OVERHEAD = 400


@dataclass(frozen=True)
class Entry:
    """A result. ``ids`` are the write ids of the object that it is about; ``None`` if it is about no single one."""

    ids: ValidWriteIdList | None
    value: object
    size: int


class Entries:
    """Results by object and question, least recently used first out. Not thread-safe. O(1), except ``forget``."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.bytes = 0
        self.evicted = 0
        self._entries: OrderedDict[tuple[int, Question], Entry] = OrderedDict()
        self._questions_by_object: dict[int, set[Question]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, object_id: int, question: Question) -> Entry | None:
        """Returns the entry, which becomes the most recently used one."""
        entry = self._entries.get((object_id, question))
        if entry is not None:
            self._entries.move_to_end((object_id, question))
        return entry

    def list_of(self, object_id: int, ids: ValidWriteIdList) -> ValidWriteIdList | None:
        """Returns the list under which the object's definition is cached, if it is equal to this one."""
        definition = self._entries.get((object_id, DEFINITION))
        return definition.ids if definition is not None and definition.ids == ids else None

    def questions(self, object_id: int) -> tuple[Question, ...]:
        """Returns the questions about an object whose results are cached."""
        return tuple(self._questions_by_object.get(object_id, ()))

    def put(self, object_id: int, question: Question, entry: Entry, *, if_room: bool = False) -> bool:
        """Stores a result instead of an earlier one, and evicts the least recently used ones.

        Returns True if it is stored: not if it is larger than the capacity, or if it would evict others and ``if_room``
        forbids that.
        """
        previous = self._entries.get((object_id, question))
        room = self.capacity - self.bytes + (0 if previous is None else previous.size)
        if entry.size > (room if if_room else self.capacity):
            if previous is not None and not if_room:
                self._drop(object_id, question)
            return False
        if previous is not None:
            self._drop(object_id, question)
        self._entries[object_id, question] = entry
        self._questions_by_object.setdefault(object_id, set()).add(question)
        self.bytes += entry.size
        while self.bytes > self.capacity:
            self._drop(*next(iter(self._entries)))
            self.evicted += 1
        return True

    def forget(self, object_id: int) -> None:
        """Drops all results about an object. O(its results)."""
        for question in self.questions(object_id):
            self._drop(object_id, question)

    def clear(self) -> None:
        """Drops everything."""
        self._entries.clear()
        self._questions_by_object.clear()
        self.bytes = 0

    def _drop(self, object_id: int, question: Question) -> None:
        self.bytes -= self._entries.pop((object_id, question)).size
        questions = self._questions_by_object[object_id]
        questions.remove(question)
        if not questions:
            del self._questions_by_object[object_id]


def size_of(question: Question, value: object) -> int:
    """Returns the approximate bytes of a result with its question. Shared parts are counted for each."""
    return _OVERHEAD + _size(question) + _size(value)


def size_of_ids(ids: ValidWriteIdList) -> int:
    """Returns the approximate bytes of a list."""
    return _size(ids) + sys.getsizeof(ids.invalid)


def _size(value: object) -> int:
    if value is None or isinstance(value, bool | Enum | type):
        return 0
    if isinstance(value, str | bytes | int | float):
        return sys.getsizeof(value)
    if isinstance(value, Mapping):
        members = [part for pair in islice(value.items(), _SAMPLE) for part in pair]
        return sys.getsizeof(value) + _scaled(sum(map(_size, members)), len(value))
    if isinstance(value, tuple | list | frozenset):
        # Neighbors are alike, the first and the last may not be.
        step = max(1, len(value) // _SAMPLE)
        measured = list(islice(value, 0, None, step))
        return sys.getsizeof(value) + sum(map(_size, measured)) * len(value) // max(1, len(measured))
    if is_dataclass(value):
        return 56 + 16 * len(fields(value)) + sum(_size(getattr(value, member.name)) for member in fields(value))
    return sys.getsizeof(value)


def _scaled(measured: int, length: int) -> int:
    return measured * length // max(1, min(length, _SAMPLE))


# The questions about an object whose results are cached: a word, and its argument.

Question = tuple[Hashable, ...]

#: The definition of an object; the stored timelines of a table, and all its partitions in key order.
DEFINITION: Question = ("definition",)
TIMELINES: Question = ("timelines",)
PARTITIONS: Question = ("partitions",)


def one_partition(key: bytes) -> Question:
    """Returns the partition with a key."""
    return ("partition", key)


def partitions_in(ranges: tuple[KeyRange, ...]) -> Question:
    """Returns the partitions in key ranges."""
    return ("partitions in", ranges)


def select_partitions(scan_filter: ScanFilter) -> Question:
    """Returns the partitions that satisfy a bound filter."""
    return ("satisfying", scan_filter)


def files_satisfying(scan_filter: ScanFilter) -> Question:
    """Returns the files of the partitions that satisfy a bound filter."""
    return ("files satisfying", scan_filter)


def files_in(ranges: tuple[KeyRange, ...] | None) -> Question:
    """Returns the files of partitions in key ranges."""
    return ("files in", ranges)


# The metrics of a cache.


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
