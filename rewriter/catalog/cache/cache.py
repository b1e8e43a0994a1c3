"""The synchronized cache of one catalog instance (seed 001): results in memory that are never stale.

A result about an object is cached with the list of write ids that it was read under, and returned to readers with an
equivalent list: no write of the object was committed in between, so the store would return the same. A reader with
another list gets the result of the store, which is then cached instead, unless the cache has seen more commits than the
reader. A result that is not about one object (a name that no object has; all objects of a kind) is cached with a commit
number.

The notification log, which a follower reads (``log_follower``), contains the lists themselves: a reader whose snapshot
is not ahead of it needs no call to the database to validate a result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Event, Lock
from typing import Any, TypeVar, cast

from rewriter.catalog.cache.entries import (
    DEFINITION,
    MEANINGS,
    MISSES,
    Entries,
    Entry,
    Miss,
    Question,
    size_of,
    size_of_ids,
)
from rewriter.catalog.cache.log_view import LogEntry, LogView, of_kind, of_name
from rewriter.catalog.model.json_codec import Object, key_of
from rewriter.catalog.model.write_ids import ValidWriteIdList, equivalent
from rewriter.lazy_dataclass import dataclass

_T = TypeVar("_T")

#: The id for results that are not about one object; no object has this id.
_NO_OBJECT = 0
#: The time in seconds for which callers without a list get the last state of the log. If the log is no longer read, or
#: cannot be read, they then get the result of the store.
MAX_LOG_AGE_SECONDS = 30.0
#: A missing result: a result in memory may be ``None``.
_NOTHING = object()


@dataclass(frozen=True)
class _Dated:
    """A result that is not about one object, and the commit at which it was read."""

    sequence: int
    value: object


class CatalogCache:
    """Results in memory, at most ``capacity`` bytes, and the state of the log. Thread-safe.

    The cache never reads the database: callers pass a function that reads, and no lock is held while it runs.
    """

    def __init__(self, capacity: int) -> None:
        self._lock = Lock()
        self._entries = Entries(capacity)
        self._log = LogView()
        self._counts = dict.fromkeys(MEANINGS, 0)
        #: Objects that commits have changed while results about them were in memory.
        self._changed: set[int] = set()
        #: The time when the log was last read to its end, on the clock of ``time.monotonic``.
        self._log_read_at = -MAX_LOG_AGE_SECONDS
        #: Set if a reader saw a commit that the log, as far as it was read, does not contain.
        self.behind = Event()

    def get_or_read(self, object_id: int, question: Question, ids: ValidWriteIdList, read: Callable[[], _T]) -> _T:
        """Returns the result in memory under an equivalent list; otherwise caches and returns what ``read`` returns."""
        cached = self._find(object_id, question, ids)
        if cached is not _NOTHING:
            return cast(_T, cached)
        value = read()
        self.keep(object_id, question, ids, value)
        return value

    def get(self, object_id: int, question: Question, ids: ValidWriteIdList) -> object | None:
        """Returns the result in memory under an equivalent list, counted as a hit; ``None`` if there is none."""
        result = self._find(object_id, question, ids, count_miss=False)
        return None if result is _NOTHING else result

    def _find(self, object_id: int, question: Question, ids: ValidWriteIdList, *, count_miss: bool = True) -> object:
        with self._lock:
            entry = self._entries.get(object_id, question)
            cause = self._miss(object_id, entry, ids)
            if cause is None and entry is not None:
                self._counts["hits"] += 1
                return entry.value
            if cause is not None and count_miss:
                self._counts[MISSES[cause]] += 1
            return _NOTHING

    def _miss(self, object_id: int, entry: Entry | None, ids: ValidWriteIdList) -> Miss | None:
        """Returns the reason why an entry is not valid for a list; ``None`` if it is."""
        if entry is None or entry.ids is None:
            return Miss.ABSENT
        if object_id in self._log.uncommitted:
            return Miss.UNCOMMITTED
        if entry.ids is ids or equivalent(entry.ids, ids):
            return None
        return Miss.OLDER if entry.ids.count > ids.count else Miss.CHANGED

    def keep(
        self, object_id: int, question: Question, ids: ValidWriteIdList, value: object, *, if_room: bool = False
    ) -> bool:
        """Caches a result that was read under a list, unless a newer one is cached. Returns True if it is cached."""
        size = size_of(question, value)
        with self._lock:
            previous = self._entries.get(object_id, question)
            if previous is not None and previous.ids is not None and previous.ids.count > ids.count:
                return False
            # A list may be long, and each caller has parsed a copy: equal lists are stored once.
            equal_list = self._entries.list_of(object_id, ids)
            entry = Entry(ids, value, size + size_of_ids(ids)) if equal_list is None else Entry(equal_list, value, size)
            return self._put(object_id, question, entry, if_room)

    def named(
        self,
        name: str,
        sequence: int,
        write_ids: Callable[[int], ValidWriteIdList],
        read: Callable[[], Object | None],
    ) -> Object | None:
        """Returns the object under a name (``json_codec.key_of``) for a snapshot with the commits up to ``sequence``.

        ``write_ids`` returns the list of an object under the snapshot.
        """
        with self._lock:
            entry = self._entries.get(_NO_OBJECT, ("name", name))
            dated = None if entry is None else cast(_Dated, entry.value)
            if dated is not None and dated.value is None and self._is_current(dated, sequence, of_name(name)):
                self._counts["hits"] += 1
                return None
        if dated is not None and dated.value is not None:
            object_id = cast(int, dated.value)
            definition = self._find(object_id, DEFINITION, write_ids(object_id))
            # An equal list means that the object exists and has this name.
            if definition is not _NOTHING and key_of(cast(Object, definition)) == name:
                return cast(Object, definition)
        else:
            self._count(MISSES[Miss.ABSENT if dated is None else Miss.CHANGED])
        object_ = read()
        if object_ is None:
            self._keep_dated(("name", name), _Dated(sequence, None))
        else:
            self.keep(object_.id, DEFINITION, write_ids(object_.id), object_)
            self._keep_dated(("name", name), _Dated(sequence, object_.id))
        return object_

    def of_kind(self, kind: str, sequence: int, read: Callable[[], tuple[Object, ...]]) -> tuple[Object, ...]:
        """Returns all objects of a kind (``json_codec.kind_of``) for a snapshot with the commits up to ``sequence``."""
        with self._lock:
            entry = self._entries.get(_NO_OBJECT, ("kind", kind))
            dated = None if entry is None else cast(_Dated, entry.value)
            if dated is not None:
                objects = cast(tuple[Object, ...], dated.value)
                if self._is_current(dated, sequence, of_kind(kind), [object_.id for object_ in objects]):
                    self._counts["hits"] += 1
                    return objects
                cause = Miss.OLDER if dated.sequence > sequence else Miss.CHANGED
            else:
                cause = Miss.ABSENT
            self._counts[MISSES[cause]] += 1
        stored_objects = read()
        self._keep_dated(("kind", kind), _Dated(sequence, stored_objects))
        return stored_objects

    def _is_current(self, dated: _Dated, sequence: int, made: str, members: Sequence[int] = ()) -> bool:
        uncommitted = self._log.uncommitted
        return not any(member in uncommitted for member in members) and self._log.unchanged(
            dated.sequence, sequence, made, members
        )

    def _keep_dated(self, question: Question, dated: _Dated) -> None:
        with self._lock:
            previous = self._entries.get(_NO_OBJECT, question)
            if previous is None or cast(_Dated, previous.value).sequence <= dated.sequence:
                self._put(_NO_OBJECT, question, Entry(None, dated, size_of(question, dated)), False)

    def _put(self, object_id: int, question: Question, entry: Entry, if_room: bool) -> bool:
        return self._entries.put(object_id, question, entry, if_room=if_room)

    def write_ids(self, object_id: int, sequence: int) -> ValidWriteIdList | None:
        """Returns the list of an object at a commit; ``None`` if the log lacks it: then read it and call
        ``note_write_ids``.
        """
        with self._lock:
            ids = self._log.write_ids(object_id, sequence)
            if ids is not None:
                self._counts["lists_known"] += 1
        return ids

    def note_write_ids(self, object_id: int, ids: ValidWriteIdList, sequence: int) -> None:
        """Takes over a list that a caller has read from the store."""
        with self._lock:
            self._counts["lists_read"] += 1
            self._log.note_write_ids(object_id, ids, sequence)

    def note_seen_commit(self, sequence: int) -> None:
        """Notes that a commit with this number exists."""
        if sequence > self._log.commit >= 0:
            self.behind.set()

    # ---- the newest state in the log, for callers without a list

    def newest(self, name: str) -> Object | None:
        """Returns the object under a name (``json_codec.key_of``) from memory; ``None`` if it is unknown."""
        with self._lock:
            name_entry = self._entries.get(_NO_OBJECT, ("name", name))
            object_id = None if name_entry is None else cast(_Dated, name_entry.value).value
            if not isinstance(object_id, int) or not self._is_log_current():
                return None
            entry, ids = self._entries.get(object_id, DEFINITION), self._log.newest(object_id)
            if entry is None or ids is None or self._miss(object_id, entry, ids) is not None:
                return None
            object_ = cast(Object, entry.value)
            return object_ if key_of(object_) == name else None

    def newest_ids(self, object_id: int) -> ValidWriteIdList | None:
        """Returns the newest list of an object in the log, if the log was read recently."""
        with self._lock:
            return self._log.newest(object_id) if self._is_log_current() else None

    def _is_log_current(self) -> bool:
        return self._log.commit >= 0 and time.monotonic() - self._log_read_at < MAX_LOG_AGE_SECONDS

    # ---- the follower's side

    @property
    def position(self) -> int:
        """The number of the last event that was applied; -1 before ``restart``."""
        return self._log.position

    @property
    def commit(self) -> int:
        """The number of the last commit that was read completely; -1 before ``restart``."""
        return self._log.commit

    def restart(self, position: int, commit: int, *, was_lost: bool = False) -> None:
        """Continues the log behind this event. Forgets lists; results stay and are checked by lists read from the
        store.

        ``was_lost``: it is another log, in which numbers may have another meaning, so no result stays.
        """
        with self._lock:
            if self._log.position >= 0:
                self._counts["gaps"] += 1
            self._log.restart(position, commit)
            self._changed.clear()
            if was_lost:
                self._entries.clear()

    def apply(self, entries: Sequence[LogEntry]) -> None:
        """Applies the next events, whose numbers are consecutive."""
        with self._lock:
            for entry in entries:
                self._log.apply(entry)
                self._changed.update(object_id for object_id in entry.write_ids if self._entries.questions(object_id))
            self._counts["events"] += len(entries)

    def note_newest(self, newest: int) -> None:
        """Notes the number of the newest event at this moment."""
        with self._lock:
            self._counts["events_behind"] = behind = max(0, newest - self._log.position)
            if not behind:
                self._log_read_at = time.monotonic()

    def take_changed(self) -> tuple[tuple[int, ValidWriteIdList, tuple[Question, ...]], ...]:
        """Returns the objects changed since the last call: newest list, and questions with results in memory."""
        with self._lock:
            changed, self._changed = self._changed, set()
            changed_questions = (
                (object_id, self._log.newest(object_id), self._entries.questions(object_id))
                for object_id in sorted(changed)
            )
            return tuple(
                (object_id, ids, questions)
                for object_id, ids, questions in changed_questions
                if ids is not None and questions
            )

    def room(self, *, if_room: bool) -> int:
        """Returns the maximum bytes of a result; with ``if_room``, without the eviction of other results."""
        with self._lock:
            return self._entries.capacity - (self._entries.bytes if if_room else 0)

    def forget(self, object_id: int) -> None:
        """Drops all results about an object."""
        with self._lock:
            self._entries.forget(object_id)

    def name(self, object_: Object, sequence: int) -> None:
        """Notes by its name an object that was read at a commit."""
        self._keep_dated(("name", key_of(object_)), _Dated(sequence, object_.id))

    def count_refreshed(self, number: int) -> None:
        """Counts results that were renewed in the background."""
        self._count("refreshed", number)

    def last(self, object_id: int, question: Question) -> tuple[ValidWriteIdList, Any] | None:
        """Returns the result in memory under any list, and that list; ``None`` if there is none."""
        with self._lock:
            entry = self._entries.get(object_id, question)
            return None if entry is None or entry.ids is None else (entry.ids, entry.value)

    def metrics(self) -> dict[str, int]:
        """Returns all metrics of ``metrics.MEANINGS``, by name, in its order."""
        with self._lock:
            now = {
                "capacity_bytes": self._entries.capacity,
                "bytes": self._entries.bytes,
                "entries": len(self._entries),
                "evicted": self._entries.evicted,
                "position": self._log.position,
                "commit": self._log.commit,
            }
            return {**self._counts, **now}

    def _count(self, metric: str, number: int = 1) -> None:
        with self._lock:
            self._counts[metric] += number
