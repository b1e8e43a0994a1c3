"""What a cache holds: answers under the write ids that they were read under, within a bound of bytes."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from itertools import islice

from rewriter.catalog.cache_questions import DEFINITION, Question
from rewriter.catalog.writeids import ValidWriteIdList

#: Of a longer tuple or mapping so many members are measured, and the others taken for the same.
_SAMPLE = 64
#: What an entry takes beside its answer: the keys, the slots, its place in the order.
_OVERHEAD = 400


@dataclass(frozen=True)
class Entry:
    """An answer. ``ids`` are those of the object that it is about; ``None`` where the answer is about no single one."""

    ids: ValidWriteIdList | None
    value: object
    size: int


class Entries:
    """Answers by object and question, least recently used first out. Not thread-safe. O(1), but for ``forget``."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.bytes = 0
        self.evicted = 0
        self._kept: OrderedDict[tuple[int, Question], Entry] = OrderedDict()
        self._of: dict[int, set[Question]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, object_id: int, question: Question) -> Entry | None:
        """The answer, which is the most recently used one after that."""
        found = self._kept.get((object_id, question))
        if found is not None:
            self._kept.move_to_end((object_id, question))
        return found

    def list_of(self, object_id: int, ids: ValidWriteIdList) -> ValidWriteIdList | None:
        """The list that the object's definition is held under, where it is equal to this one."""
        held = self._kept.get((object_id, DEFINITION))
        return held.ids if held is not None and held.ids == ids else None

    def questions(self, object_id: int) -> tuple[Question, ...]:
        """What is kept of an object."""
        return tuple(self._of.get(object_id, ()))

    def put(self, object_id: int, question: Question, entry: Entry, *, if_room: bool = False) -> bool:
        """Keeps an answer in the place of an earlier one, and lets go what was not used for longest.

        Answers whether it is kept: not where it is larger than everything may be, or where it takes the place of others
        and ``if_room`` forbids that.
        """
        old = self._kept.get((object_id, question))
        left = self.capacity - self.bytes + (0 if old is None else old.size)
        if entry.size > (left if if_room else self.capacity):
            if old is not None and not if_room:
                self._drop(object_id, question)
            return False
        if old is not None:
            self._drop(object_id, question)
        self._kept[object_id, question] = entry
        self._of.setdefault(object_id, set()).add(question)
        self.bytes += entry.size
        while self.bytes > self.capacity:
            self._drop(*next(iter(self._kept)))
            self.evicted += 1
        return True

    def forget(self, object_id: int) -> None:
        """Lets go all that is kept of an object. O(its answers)."""
        for question in self.questions(object_id):
            self._drop(object_id, question)

    def clear(self) -> None:
        """Lets go everything."""
        self._kept.clear()
        self._of.clear()
        self.bytes = 0

    def _drop(self, object_id: int, question: Question) -> None:
        self.bytes -= self._kept.pop((object_id, question)).size
        questions = self._of[object_id]
        questions.remove(question)
        if not questions:
            del self._of[object_id]


def size_of(question: Question, value: object) -> int:
    """About how many bytes an answer takes with its question. What several share is counted for each."""
    return _OVERHEAD + _size(question) + _size(value)


def size_of_ids(ids: ValidWriteIdList) -> int:
    """About how many bytes a list takes."""
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
        # Neighbours are alike, the first and the last may not be.
        step = max(1, len(value) // _SAMPLE)
        measured = list(islice(value, 0, None, step))
        return sys.getsizeof(value) + sum(map(_size, measured)) * len(value) // max(1, len(measured))
    if is_dataclass(value):
        return 56 + 16 * len(fields(value)) + sum(_size(getattr(value, one.name)) for one in fields(value))
    return sys.getsizeof(value)


def _scaled(measured: int, length: int) -> int:
    return measured * length // max(1, min(length, _SAMPLE))
